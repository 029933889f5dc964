/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the records and the engine: observed state becomes facts, decisions become pending
 * changes. Private.
 */
#ifndef SL_MANAGER_CONTROLLERS_CORE_BRIDGE_H
#define SL_MANAGER_CONTROLLERS_CORE_BRIDGE_H

#include "manager/controllers/workload/workload.h"

/* Passes a fact to the engine. A rejection is logged and false. */
bool tell(struct sl_manager *m, struct sl_fact *f, sl_wl_id *ret_wl);

/* ---- workload/observe.c: from a record to facts ---- */
/* Brings the state of a workload in the engine in line with the API. */
void wl_observe(struct sl_manager *m, struct rec_wl *w);

/* ---- decide.c: from effects to pending changes ---- */
/* Runs the engine once and takes its effects in. */
void decide(struct sl_manager *m);
/* The engine tracks the state of its queues, also if it does not decide. */
void catch_up(struct sl_manager *m);
/* Another slice has taken its place: it is finished. */
void wl_replaced(struct sl_manager *m, struct rec_wl *w, const struct rec_wl *by);

/* ---- queues.c ---- */
/* Counters of this queue may have changed. */
void cq_touch(struct sl_manager *m, const char *cq);
void lq_touch(struct sl_manager *m, sl_sym ns, const char *lq);

/* ---- workload/workload.c ---- */
/* Requests may count differently now (LimitRange, RuntimeClass): reads the object again. */
void wl_reread(struct rec_wl *w);

/* ---- view.c ---- */
void view_init(struct sl_manager *m);

/* ---- templates.c ---- */
void templates_done(struct sl_manager *m);

#endif
