/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the records and the engine: observed state becomes facts, decisions become pending
 * changes. Private.
 */
#ifndef SL_MANAGER_CONTROLLERS_CORE_BRIDGE_H
#define SL_MANAGER_CONTROLLERS_CORE_BRIDGE_H

#include "manager/controllers/workload/workload.h"

/* ---- workload/observe.c: from a record to facts ---- */
/* Brings the state of a workload in the engine in line with the API. */
void mgr_wl_observe(struct sl_manager *m, struct mgr_rec_wl *w);

/* ---- decide.c: facts in; from effects to pending changes ---- */
/* Passes a fact to the engine. A rejection is logged and false. */
bool mgr_apply_fact(struct sl_manager *m, struct sl_fact *f, sl_wl_id *ret_wl);
/* Runs the engine once and takes its effects in. */
void mgr_run_cycle(struct sl_manager *m);
/* The engine tracks the state of its queues, also if it does not decide. */
void mgr_refresh_engine(struct sl_manager *m);
/* Another slice has taken its place: it is finished. */
void mgr_wl_replaced(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_rec_wl *by);

/* ---- queue/objects.c ---- */
/* Counters of this queue may have changed. */
void mgr_cq_touch(struct sl_manager *m, const char *cq);
void mgr_lq_touch(struct sl_manager *m, sl_sym ns, const char *lq);

/* ---- workload/workload.c ---- */
/* Requests may count differently now (LimitRange, RuntimeClass): reads the object again. */
void mgr_wl_decode_again(struct mgr_rec_wl *w);

/* ---- view.c ---- */
void mgr_view_init(struct sl_manager *m);

#endif
