/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind the table of kinds. Private. */
#ifndef SL_CONTROLLERS_KINDS_H
#define SL_CONTROLLERS_KINDS_H

#include "controllers/job.h"
#include "controllers/rec.h"

#define STATUS_DELAY (20 * SL_MSEC)
#define STATUS_PAUSE (150 * SL_MSEC)

struct rec_event {
    struct rec rec;
    char *body;           /* until it is written */
    uint64_t key;         /* what it says of what */
    uint32_t count, told; /* how often it happened, and what the API knows of that */
    sl_time last;
};
void event_changed(struct sl_manager *m, struct rec *r);
bool event_build(struct sl_manager *m, struct rec *r, struct sl_write *w);
void event_written(struct sl_manager *m, struct rec *r, const struct sl_write *w,
                   enum sl_written how, const struct sl_reply *reply);
void event_done(struct rec *r);

/*
 * Objects of which there are few are kept as they are written: the parts that matter as JSON, from
 * which facts and statuses are made.
 */
struct rec_conf {
    struct rec rec;
    char *text;           /* apiVersion, kind, metadata (name, namespace, labels, ...), spec, ... */
    uint64_t hash, told;  /* of the text; what the engine knows */
    uint64_t status;      /* of the status as it stands */
    sl_time active_since; /* lastTransitionTime of condition Active */
    bool active;          /* its status */
    bool has_active;
    char *others;       /* other conditions, as JSON with commas */
    sl_time written_at; /* mono: the last write of its status */
    sl_sym refers; /* LocalQueue: its ClusterQueue; ClusterQueue: its cohort; flavor: its topology;
                    * check: its ProvisioningRequestConfig */
    int64_t value; /* priority classes */
    bool chosen;   /* PriorityClass: globalDefault; LocalQueue: has series of its own; check: it is
                    * performed here (prov.h) */
    bool stopped;  /* LocalQueue */
    bool unanswered; /* check: it was told that it has no controller */
    bool had_reserving,
        had_admitted; /* ClusterQueue: these gauges appear with the first workload */
    struct {
        uint32_t finished;
        sl_time oldest; /* since when its longest waiting workload waits; 0: none waits */
    } tally;            /* of the metrics, while they are read out */
};
static inline struct rec_conf *conf_of(struct rec *r) {
    return (struct rec_conf *)(void *)r;
}
bool conf_decode(struct sl_manager *m, struct rec *r, yyjson_val *o);
void conf_done(struct rec *r);
/* To be told again, although it says the same. */
void conf_again(struct sl_manager *m, struct rec *r);
void ns_changed(struct sl_manager *m, struct rec *r);
void class_changed(struct sl_manager *m, struct rec *r);
void limits_changed(struct sl_manager *m, struct rec *r);
void runtime_changed(struct sl_manager *m, struct rec *r);
void flavor_changed(struct sl_manager *m, struct rec *r);
void check_changed(struct sl_manager *m, struct rec *r);
void cohort_changed(struct sl_manager *m, struct rec *r);
void cq_changed(struct sl_manager *m, struct rec *r);
void lq_changed(struct sl_manager *m, struct rec *r);
void ns_gone(struct sl_manager *m, struct rec *r);
void limits_gone(struct sl_manager *m, struct rec *r);
void runtime_gone(struct sl_manager *m, struct rec *r);
void class_gone(struct sl_manager *m, struct rec *r);
void flavor_gone(struct sl_manager *m, struct rec *r);
void check_gone(struct sl_manager *m, struct rec *r);
void cohort_gone(struct sl_manager *m, struct rec *r);
void cq_gone(struct sl_manager *m, struct rec *r);
void lq_gone(struct sl_manager *m, struct rec *r);
bool in_use_build(struct sl_manager *m, struct rec *r, struct sl_write *w);
bool check_build(struct sl_manager *m, struct rec *r, struct sl_write *w);
bool cohort_build(struct sl_manager *m, struct rec *r, struct sl_write *w);
bool cq_build(struct sl_manager *m, struct rec *r, struct sl_write *w);
bool lq_build(struct sl_manager *m, struct rec *r, struct sl_write *w);

bool wl_decode(struct sl_manager *m, struct rec *r, yyjson_val *o);
void wl_changed(struct sl_manager *m, struct rec *r);
void wl_gone(struct sl_manager *m, struct rec *r);
void wl_done(struct rec *r);
bool wl_build(struct sl_manager *m, struct rec *r, struct sl_write *w);
void wl_written(struct sl_manager *m, struct rec *r, const struct sl_write *out,
                enum sl_written how, const struct sl_reply *reply);

#endif
