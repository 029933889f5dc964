/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: the only input of a decision. Each states that something is now true; facts are
 * idempotent. Strings are borrowed for the call.
 */
#ifndef SL_CORE_MODEL_FACT_H
#define SL_CORE_MODEL_FACT_H

#include "core/model/specs.h"

enum sl_fact_kind {
    SL_FACT_CONFIG,
    SL_FACT_FLAVOR,
    SL_FACT_COHORT,
    SL_FACT_CLUSTER_QUEUE,
    SL_FACT_LOCAL_QUEUE,
    SL_FACT_NAMESPACE,
    SL_FACT_CHECK,
    SL_FACT_FLAVOR_GONE,
    SL_FACT_COHORT_GONE,
    SL_FACT_CLUSTER_QUEUE_GONE,
    SL_FACT_LOCAL_QUEUE_GONE,
    SL_FACT_NAMESPACE_GONE,
    SL_FACT_CHECK_GONE,
    SL_FACT_WORKLOAD,      /* a workload exists with this content */
    SL_FACT_WORKLOAD_GONE, /* deleted */
    SL_FACT_ADMISSION,     /* it holds this reservation (found on restart, or given by another) */
    SL_FACT_FINISHED,      /* it ran to its end */
    SL_FACT_RELEASED,      /* evicted and now stopped: its quota is free */
    SL_FACT_ADMIT_FAILED,  /* our reservation could not be written */
    SL_FACT_PODS_READY,    /* readiness changed */
    SL_FACT_CHECK_STATE,   /* an admission check spoke about this workload */
    SL_FACT_RECLAIMABLE,   /* this many pods of each podset are no longer needed */
    SL_FACT_PAST,          /* earlier evictions in its status (found on restart) */
    SL_FACT_COUNT,
};

/* One podset of an existing admission. */
struct sl_podset_admission {
    int32_t count;
    const char *const *resources; /* n pairs: resource -> flavor, amount for the whole podset */
    const char *const *flavors;
    const sl_amount *usage;
    uint32_t n;
};

struct sl_fact {
    enum sl_fact_kind kind;
    sl_time at;
    sl_wl_id wl; /* facts about a workload; SL_FACT_WORKLOAD finds by ns/name and sets *ret_wl */
    union {
        struct sl_config config;
        struct sl_flavor_spec flavor;
        struct sl_cohort_spec cohort;
        struct sl_cq_spec cq;
        struct sl_lq_spec lq;
        struct sl_ns_spec ns;
        struct sl_check_spec check;
        struct {
            const char *ns, *name; /* ns only for local queues */
        } gone;
        struct sl_workload_spec workload;
        struct {
            const char *cq;
            const struct sl_podset_admission *podsets;
            uint32_t n;
            sl_time reserved_at, admitted_at; /* admitted_at 0: not yet admitted */
            bool evicted;
            enum sl_evict reason;
        } admission;
        bool already_written; /* RELEASED: recorded in its status already, there is nothing to write
                               */
        bool ready;
        struct {
            const char *name;
            enum sl_check_state state;
            const char *message;
            int64_t requeue_after_s; /* 0: none */
        } check_state;
        struct {
            const int32_t *counts; /* one per podset */
            uint32_t n;
        } reclaimable;
        struct {
            int32_t requeues; /* requeueState */
            sl_time requeue_at;
            enum sl_evict reason; /* of the last eviction, still Evicted=True; NONE: it is not */
            enum sl_cause cause;
            sl_time evicted_at;
            const char *text; /* its message */
            bool held_back;   /* Requeued=False */
            int64_t past_exec_s;
        } past;
    };
};

const char *sl_fact_name(enum sl_fact_kind k);

#endif
