/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind the table of kinds. Private. */
#ifndef SL_MANAGER_CONTROLLERS_CORE_KINDS_H
#define SL_MANAGER_CONTROLLERS_CORE_KINDS_H

#include "manager/controllers/core/records.h"
#include "manager/controllers/job/job.h"

#define STATUS_DELAY (20 * SL_MSEC)
#define STATUS_PAUSE (150 * SL_MSEC)

/*
 * Kinds with few objects are cached as text: the relevant parts as JSON, from which facts and
 * statuses are made.
 */
struct mgr_rec_conf {
    struct sl_rec rec;
    char *text; /* apiVersion, kind, metadata (name, namespace, labels, ...), spec, ... */
    uint64_t hash, applied; /* of the text; of the fact in the engine */
    uint64_t status;        /* of the observed status */
    sl_time active_since;   /* lastTransitionTime of condition Active */
    bool active;            /* its status */
    bool has_active;
    char *others;       /* other conditions, an array of JSON; NULL: none */
    sl_time written_at; /* mono: the last write of its status */
    sl_sym refers; /* LocalQueue: its ClusterQueue; ClusterQueue: its cohort; flavor: its topology;
                    * check: its ProvisioningRequestConfig */
    int64_t value; /* priority classes */
    bool chosen;   /* PriorityClass: globalDefault; LocalQueue: has series of its own; check: it is
                    * performed here (provisioning/provisioning.h) */
    bool stopped;  /* LocalQueue */
    uint8_t exact; /* ClusterQueue: its annotation about exact nodes (topology/exact.c) */
    bool unanswered; /* check: the absence of a controller was reported */
    bool had_reserving,
        had_admitted; /* ClusterQueue: these gauges appear with the first workload */
    struct {
        uint32_t finished;
        sl_time oldest; /* since when its longest waiting workload waits; 0: none waits */
    } tally;            /* of the metrics, while they are read out */
};
static inline struct mgr_rec_conf *mgr_conf_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mgr_rec_conf, rec);
}
bool mgr_conf_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mgr_conf_done(struct sl_rec *r);
void mgr_conf_hold_names(struct sl_syms *t, struct sl_rec *r);
/* A first status is awaited by others. */
uint32_t mgr_conf_lane(const struct sl_rec *r);
/* To be applied to the engine again, although it is unchanged. */
void mgr_conf_resync(struct sl_rec *r);
void mgr_ns_changed(void *ctx, struct sl_rec *r);
void mgr_class_changed(void *ctx, struct sl_rec *r);
void mgr_limits_changed(void *ctx, struct sl_rec *r);
void mgr_runtime_changed(void *ctx, struct sl_rec *r);
void mgr_flavor_changed(void *ctx, struct sl_rec *r);
void mgr_check_changed(void *ctx, struct sl_rec *r);
void mgr_cohort_changed(void *ctx, struct sl_rec *r);
void mgr_cq_changed(void *ctx, struct sl_rec *r);
void mgr_lq_changed(void *ctx, struct sl_rec *r);
void mgr_ns_gone(void *ctx, struct sl_rec *r);
void mgr_limits_gone(void *ctx, struct sl_rec *r);
void mgr_runtime_gone(void *ctx, struct sl_rec *r);
void mgr_class_gone(void *ctx, struct sl_rec *r);
void mgr_flavor_gone(void *ctx, struct sl_rec *r);
void mgr_check_gone(void *ctx, struct sl_rec *r);
void mgr_cohort_gone(void *ctx, struct sl_rec *r);
void mgr_cq_gone(void *ctx, struct sl_rec *r);
void mgr_lq_gone(void *ctx, struct sl_rec *r);
bool mgr_in_use_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool mgr_check_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool mgr_cohort_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool mgr_cq_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool mgr_lq_build(void *ctx, struct sl_rec *r, struct sl_write *w);

bool mgr_wl_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mgr_wl_changed(void *ctx, struct sl_rec *r);
void mgr_wl_gone(void *ctx, struct sl_rec *r);
void mgr_wl_done(struct sl_rec *r);
void mgr_wl_hold_names(struct sl_syms *t, struct sl_rec *r);
bool mgr_wl_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void mgr_wl_written(void *ctx, struct sl_rec *r, const struct sl_write *out, enum sl_written how,
                    const struct sl_kube_reply *reply);

#endif
