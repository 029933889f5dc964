/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the manager. Counters and histograms change with decisions (metrics.c); gauges are
 * computed on a scrape (gauges.c, sl_manager_refresh_metrics). Private.
 */
#ifndef SL_MANAGER_CONTROLLERS_METRICS_METRICS_H
#define SL_MANAGER_CONTROLLERS_METRICS_METRICS_H

#include "manager/controllers/workload/workload.h"

void mgr_metrics_new(struct sl_manager *m);
void mgr_metrics_end(struct sl_manager *m);
void mgr_count_write(struct sl_manager *m, const struct sl_rec *r, enum sl_written how);
/* Around one run of the engine. */
void mgr_count_cycle_begins(struct sl_manager *m);
void mgr_count_cycle(struct sl_manager *m, const struct sl_effects *x);
/* One decision of the engine about a workload; before it is performed on the record. */
void mgr_count_effect(struct sl_manager *m, const struct mgr_rec_wl *w, const struct sl_effect *x);
void mgr_count_finished(struct sl_manager *m, const struct mgr_rec_wl *w);
void mgr_count_replaced(struct sl_manager *m, const struct mgr_rec_wl *w);
/* Its pods are ready: how long that took. */
void mgr_count_ready(struct sl_manager *m, const struct mgr_rec_wl *w);
/* A Workload was made for a job: how long the job waited for it. */
void mgr_count_created(struct sl_manager *m, const struct sl_rec *job);
/* A pod of an admitted Workload has lost this gate: how long that took. */
void mgr_count_ungated(struct sl_manager *m, const struct mgr_rec_wl *w, const char *gate,
                       bool group);

/* ---- series come and go with their objects ---- */
/* A fact was passed to the engine. */
void mgr_note_fact(struct sl_manager *m, const struct sl_fact *f);
void mgr_drop_cq_series(struct sl_manager *m, const char *cq);
/* A priority class is gone. */
void mgr_drop_class_series(struct sl_manager *m, const char *class);
void mgr_drop_cohort_series(struct sl_manager *m, const char *cohort);
void mgr_drop_lq_series(struct sl_manager *m, const char *ns, const char *name);
/* Whether the LocalQueue has series of its own may have changed. */
void mgr_lq_choose(struct sl_manager *m, struct sl_rec *lq, yyjson_val *o);

/* Seconds from a point to now, not less than 0. */
static inline double mgr_seconds_since(const struct sl_manager *m, sl_time at) {
    return at < m->spec.client->wall ? (double)(m->spec.client->wall - at) / (double)SL_SEC : 0;
}

#endif
