/* How facts reach the engine's parts: one function per kind, see apply.c for the table. */
#ifndef SL_ENGINE_APPLY_H
#define SL_ENGINE_APPLY_H

#include "engine/state.h"

typedef int (*apply_fn)(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);

int check_name(const char *kind, const char *name, struct sl_err *err);

int apply_config(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);
int apply_flavor(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);
int apply_cohort(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);
int apply_cq(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);
int apply_lq(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);
int apply_ns(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);
int apply_check(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);
int apply_gone(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);

#endif
