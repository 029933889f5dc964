/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter observes facts and effects: wait times, usage and borrowing, evictions and repeated
 * work, and capacity. It is fed the same way by a simulation, a replay and a what-if, so their
 * numbers compare.
 *
 * Live workloads are in a dense array under the index inside their sl_wl_id; each fact or effect
 * costs O(1). What grows with the length of a run is one sample (16 bytes) per finished workload.
 */
#ifndef SL_CMD_SIM_METER_METER_H
#define SL_CMD_SIM_METER_METER_H

#include "cmd/sim/meter/timeline.h"
#include "core/base/collection/sym.h"
#include "core/model/effect.h"
#include "core/model/fact.h"

#define SL_METER_MAX_RESOURCES 16u /* those named first are counted */
#define SL_METER_NONE UINT32_MAX

/* ---- results ---- */

struct sl_meter_waits {
    sl_span mean, p50, p99, max;
};

struct sl_meter_class_result {
    const char *name;
    uint64_t arrived, admitted, finished, evictions;
    struct sl_meter_waits last, first; /* to the last and to the first admission, from creation */
};

struct sl_meter_queue_result {
    const char *name, *cohort; /* cohort "": none */
    uint64_t arrived, admitted, finished, evictions;
    sl_span mean_wait, max_wait;
    sl_amount nominal;     /* of the main resource; UNLIMITED possible */
    double used, borrowed; /* means over the run, in units of the main resource */
};

struct sl_meter_result {
    sl_span makespan;     /* from the first arrival to the last finish */
    sl_span work_bound;   /* -1: there is work and no capacity for it; 0: nothing limits it */
    double utilisation;   /* used over capacity, of the main resource, during the makespan */
    double redone;        /* the part of it that evictions threw away */
    const char *resource; /* the main one: cpu if there is any, else the first; "" if none */
    sl_amount capacity;   /* of the main resource, the most there was */
    uint64_t arrived, admitted, finished, evictions, preemptions, deactivated, refusals;
    uint64_t never_admitted, running; /* at the end */
    struct sl_meter_class_result *classes;
    uint32_t n_classes;
    struct sl_meter_queue_result *queues;
    uint32_t n_queues;
};

void sl_meter_result_done(struct sl_meter_result *r);

/* ---- the meter ---- */

struct sl_meter;

struct sl_meter *sl_meter_new(bool timeline);
void sl_meter_free(struct sl_meter *m);
void sl_meter_freep(struct sl_meter **m);

/* Finds or adds. Names are copied. */
uint32_t sl_meter_class(struct sl_meter *m, const char *name);
/* A LocalQueue that was added before, or SL_METER_NONE. */
uint32_t sl_meter_local_queue(const struct sl_meter *m, const char *ns, const char *name);

/* Queues, cohorts and local queues, as they are applied. Other facts are ignored. */
void sl_meter_config(struct sl_meter *m, const struct sl_fact *f);
/* A workload was created. Idempotent. */
void sl_meter_arrive(struct sl_meter *m, sl_time now, sl_wl_id id, sl_time created, uint32_t klass,
                     uint32_t local_queue);
/* FINISHED, RELEASED, ADMIT_FAILED and WORKLOAD_GONE. */
void sl_meter_fact(struct sl_meter *m, const struct sl_fact *f);
/* The effects from index 'from' on. */
void sl_meter_effects(struct sl_meter *m, sl_time now, const struct sl_effects *x, uint32_t from);
/* When the running run of a workload began; 0: it does not run. */
sl_time sl_meter_started(const struct sl_meter *m, sl_wl_id id);
uint64_t sl_meter_finished(const struct sl_meter *m);

/* Ends the measurement. Strings of the result live as long as the meter. */
void sl_meter_end(struct sl_meter *m, sl_time now, struct sl_meter_result *ret);

/* ---- for pictures; only with a timeline, after sl_meter_end ---- */

const struct sl_timeline *sl_meter_timeline(const struct sl_meter *m);
/* The name of the root cohort of the i-th queue of the result, or of the queue itself. */
const char *sl_meter_root(const struct sl_meter *m, uint32_t queue);
/* The main resource in the quotas of all queues and cohorts under that root. */
sl_amount sl_meter_root_capacity(const struct sl_meter *m, uint32_t queue);

#endif
