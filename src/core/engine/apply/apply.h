/* SPDX-License-Identifier: Apache-2.0 */
/* How facts reach the engine's parts: one function per kind, see apply.c for the table. */
#ifndef SL_CORE_ENGINE_APPLY_APPLY_H
#define SL_CORE_ENGINE_APPLY_APPLY_H

#include "core/engine/state.h"

typedef int (*eng_apply_fn)(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err);

int eng_check_name(const char *kind, const char *name, struct sl_err *err) _must_check_;

/* Digests of the content of an object; 0 is never one of them. */
uint64_t eng_spec_digest_cohort(const struct sl_cohort_spec *s);
uint64_t eng_spec_digest_cq(const struct sl_cq_spec *s);
uint64_t eng_spec_digest_lq(const struct sl_lq_spec *s);
uint64_t eng_spec_digest_flavor(const struct sl_flavor_spec *s);
uint64_t eng_spec_digest_ns(const struct sl_ns_spec *s);
uint64_t eng_spec_digest_check(const struct sl_check_spec *s);

int eng_apply_config(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) _must_check_;
int eng_apply_flavor(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) _must_check_;
int eng_apply_cohort(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) _must_check_;
int eng_apply_cq(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) _must_check_;
int eng_apply_lq(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) _must_check_;
int eng_apply_ns(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) _must_check_;
int eng_apply_check(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) _must_check_;
int eng_apply_gone(struct sl_engine *e, const struct sl_fact *f, struct sl_err *err) _must_check_;

#endif
