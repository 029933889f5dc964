/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the records and the engine: what was seen becomes facts, what was decided becomes wishes.
 * Private.
 */
#ifndef SL_CONTROLLERS_BRIDGE_H
#define SL_CONTROLLERS_BRIDGE_H

#include "controllers/wl.h"

/* Tells the engine. A refusal is logged and false. */
bool tell(struct sl_manager *m, struct sl_fact *f, sl_wl_id *ret_wl);

/* ---- observe.c: from a record to facts ---- */
/* Brings the engine's idea of a workload in line with what the API says of it. */
void wl_observe(struct sl_manager *m, struct rec_wl *w);

/* ---- decide.c: from effects to wishes ---- */
/* Runs the engine once and takes its effects in. */
void decide(struct sl_manager *m);
/* The engine knows how its queues stand, also if it is not to decide. */
void catch_up(struct sl_manager *m);
/* Another slice has taken its place: it is finished. */
void wl_replaced(struct sl_manager *m, struct rec_wl *w, const struct rec_wl *by);

/* ---- queues.c ---- */
/* Counters of this queue may have changed. */
void cq_touch(struct sl_manager *m, const char *cq);
void lq_touch(struct sl_manager *m, sl_sym ns, const char *lq);

/* ---- wl.c ---- */
/* Requests may count differently now (LimitRange, RuntimeClass): reads the object again. */
void wl_reread(struct sl_manager *m, struct rec_wl *w);

/* ---- view.c ---- */
void view_init(struct sl_manager *m);

/* ---- templates.c ---- */
void templates_done(struct sl_manager *m);

#endif
