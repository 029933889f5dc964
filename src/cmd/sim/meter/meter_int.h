/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter, inside: shared by the part that counts (meter.c) and the part that sums up at the end
 * (summary.c).
 */
#ifndef SL_CMD_SIM_METER_METER_INT_H
#define SL_CMD_SIM_METER_METER_INT_H

#include "cmd/sim/meter/meter.h"

typedef __int128 sl_meter_wide;

/* A ClusterQueue or a Cohort. */
struct sl_meter_node {
    const char *name;
    uint32_t parent; /* index of a cohort, or NONE */
    bool observed;   /* its object was observed; else only its name */
    sl_amount nominal[SL_METER_MAX_RESOURCES];
    sl_amount most[SL_METER_MAX_RESOURCES]; /* the largest nominal it ever had */
};

/* What only a ClusterQueue has. */
struct sl_meter_queue {
    struct sl_meter_node node;
    sl_amount used[SL_METER_MAX_RESOURCES];
    uint32_t pending;
    sl_time since;                              /* the sums below are right up to here */
    sl_meter_wide used_ns, over_ns;             /* main resource: used and borrowed, times time */
    sl_meter_wide work[SL_METER_MAX_RESOURCES]; /* of finished runs */
    uint64_t arrived, admitted, finished, evictions;
    sl_meter_wide wait_sum;
    sl_span wait_max;
    uint64_t waits;
};

struct sl_meter_class {
    const char *name;
    uint64_t arrived, admitted, evictions, finished;
    SL_VEC(sl_span) last;
    SL_VEC(sl_span) first;
};

/* A live workload. */
struct sl_meter_live {
    uint64_t id;                   /* 0: none */
    sl_time created, first, start; /* first, start: SL_TIME_NEVER if not yet */
    uint32_t klass, queue, hold;
    bool admitted;
};

/* What one reservation charges. */
struct sl_meter_hold {
    sl_amount a[SL_METER_MAX_RESOURCES];
    uint32_t next_free;
};

struct sl_meter {
    struct sl_syms names;
    SL_VEC(struct sl_meter_queue) queues;
    SL_VEC(struct sl_meter_node) cohorts;
    SL_VEC(uint32_t) queue_of;  /* by name: index, or NONE */
    SL_VEC(uint32_t) cohort_of; /* by name */
    SL_VEC(uint32_t) lq_cq;     /* by name "ns/name": index of its queue, or NONE */
    bool reparented;
    bool capacity_stale; /* quotas changed since they were summed up */

    const char *resources[SL_METER_MAX_RESOURCES];
    uint32_t n_resources, main;
    bool main_fixed;

    SL_VEC(struct sl_meter_live) live;
    SL_VEC(struct sl_meter_hold) holds;
    uint32_t free_hold;
    SL_VEC(struct sl_meter_class) classes;

    bool began;
    sl_time first_arrival, last_finish, since;
    sl_meter_wide used_ns, capacity_ns;               /* main resource, from the first arrival on */
    sl_meter_wide finish_used_ns, finish_capacity_ns; /* the same, at the last finish */
    sl_amount used, capacity, most;                   /* main resource, now; the most there was */
    uint64_t arrived, admitted, finished, evictions, preemptions, deactivated, refusals;

    bool has_timeline;
    struct sl_timeline timeline;
};

/* Brings the sums over time up to now; for the whole, and for one queue before it changes. */
void sl_meter_advance(struct sl_meter *m, sl_time now);
void sl_meter_queue_touch(struct sl_meter *m, struct sl_meter_queue *q, sl_time now);
/* The waits of a workload that was admitted: last is when its last run began. */
void sl_meter_sample(struct sl_meter *m, const struct sl_meter_live *w, sl_time last);

#endif
