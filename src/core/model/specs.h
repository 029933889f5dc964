/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of objects, as plain records over borrowed strings. The engine copies what it
 * retains. Amounts are already in their resource's unit (see core/base/amount.h); an absent limit
 * is SL_AMOUNT_NONE. Limits are Kueue's own where it has one.
 */
#ifndef SL_CORE_MODEL_SPECS_H
#define SL_CORE_MODEL_SPECS_H

#include "core/base/quantity.h"
#include "core/base/time.h"
#include "core/model/ids.h"
#include "core/model/labels.h"
#include "core/model/words.h"

#define SL_MAX_PODSETS 18
#define SL_MAX_GROUPS 16
#define SL_MAX_GROUP_FLAVORS 64
#define SL_MAX_GROUP_RESOURCES 64
#define SL_MAX_PODSET_RESOURCES 64
#define SL_MAX_CHECKS 8        /* per workload */
#define SL_MAX_QUEUE_CHECKS 64 /* per ClusterQueue */
#define SL_MAX_COUNT INT32_MAX /* pods of one podset */
#define SL_MAX_NAME 253
#define SL_WEIGHT_ONE SL_NANO /* weights are nano-units: 1 is 1e9 */

struct sl_flavor_spec {
    const char *name;
    struct sl_labels labels;
    const struct sl_taint *taints;
    uint32_t n_taints;
    const struct sl_toleration *tolerations;
    uint32_t n_tolerations;
    const char *topology;      /* that it names, where places are given; NULL or "": none */
    const char *const *levels; /* of that topology; none: it does not exist */
    uint32_t n_levels;
};

struct sl_quota {
    sl_amount nominal, borrow_limit, lend_limit;
};

struct sl_flavor_quotas {
    const char *flavor;
    const struct sl_quota *quotas; /* one per resource of the group */
};

struct sl_group_spec {
    const char *const *resources;
    uint32_t n_resources;
    const struct sl_flavor_quotas *flavors;
    uint32_t n_flavors;
};

struct sl_groups {
    const struct sl_group_spec *v;
    uint32_t n;
};

struct sl_cohort_spec {
    const char *name, *parent; /* parent "" for a root */
    struct sl_groups groups;
    int64_t weight_nano;
};

struct sl_check_ref {
    const char *name;
    const char *const *flavors; /* none: all flavors of the queue */
    uint32_t n_flavors;
};

struct sl_cq_spec {
    const char *name, *cohort; /* cohort "" for none */
    struct sl_groups groups;
    enum sl_strategy strategy;
    enum sl_within within;
    enum sl_reclaim reclaim;
    enum sl_borrow_within borrow_within;
    bool has_borrow_threshold;
    int32_t borrow_threshold; /* maxPriorityThreshold */
    enum sl_when when_can_borrow, when_can_preempt;
    enum sl_preference preference;
    enum sl_stop stop;
    bool terminating;
    bool usage_based; /* admissionScope: UsageBasedAdmissionFairSharing */
    bool exact_nodes; /* its workloads need a placement, whatever their flavors */
    struct sl_selector namespaces;
    const struct sl_check_ref *checks;
    uint32_t n_checks;
    int64_t weight_nano;
};

struct sl_lq_spec {
    const char *ns, *name, *cq;
    enum sl_stop stop;
    int64_t weight_nano;
};

struct sl_ns_spec {
    const char *name;
    struct sl_labels labels;
};

struct sl_check_spec {
    const char *name, *controller;
    bool active;
};

struct sl_request {
    const char *resource;
    sl_quantity q; /* per pod */
};

struct sl_podset_spec {
    const char *name;
    int32_t count, min_count; /* min_count 0: no partial admission */
    const struct sl_request *requests;
    uint32_t n_requests;
    struct sl_labels node_selector;
    struct sl_affinity affinity;
    const struct sl_toleration *tolerations;
    uint32_t n_tolerations;
    const char *group; /* podSetGroupName, "" for none */
    /* topologyRequest */
    const char *topology;      /* all of it, for comparison; NULL or "": none */
    const char *const *levels; /* that it names */
    uint32_t n_levels;
    bool wants_place; /* it explicitly requests a topology */
};

struct sl_workload_spec {
    const char *ns, *name, *uid, *queue;
    const char *job_uid; /* of the job behind it, "" if unknown */
    sl_shape_id shape;   /* from sl_engine_shape */
    int32_t priority, boost;
    sl_time created;
    bool inactive;         /* spec.active = false */
    const char *gated_by;  /* admission-gated-by annotation, or the dependencies it waits for */
    bool preemption_gated; /* a preemption gate is closed: it may not preempt */
    const char *replaces;  /* the slice that it replaces: a workload of its namespace, "" */
    bool on_hold;          /* an integration holds it back */
    int64_t max_exec_s;    /* 0: no limit */
    const char *invalid;   /* found unfit before queueing (limits, LimitRange): the message */
};

/* The slice that a key "namespace/name" means to a workload of this namespace: its name, within the
 * key, or "" if it is elsewhere. */
const char *sl_slice_name(const char *ns, const char *key);

/* ---- configuration of the whole scheduler ---- */

struct sl_transform_output {
    const char *resource;
    sl_quantity factor;
};

struct sl_transform {
    const char *input, *multiply_by; /* multiply_by "" for none */
    bool replace;                    /* drop the input; else keep it */
    const struct sl_transform_output *outputs;
    uint32_t n_outputs;
};

struct sl_resource_weight {
    const char *resource;
    int64_t weight_nano;
};

struct sl_config {
    uint32_t gates;    /* bit per enum sl_gate */
    bool no_admission; /* another controller admits and preempts; the rest of the lifecycle is done
                          here */
    bool no_lifecycle; /* another controller does that, too: only follow what is reported */
    bool fair_sharing;
    enum sl_fair_strategy fair[2];
    uint32_t n_fair;
    /* admission fair sharing */
    bool afs;
    sl_span afs_half_life, afs_sampling;
    const struct sl_resource_weight *afs_weights;
    uint32_t n_afs_weights;
    /* waitForPodsReady */
    bool pods_ready;
    bool block_admission;
    sl_span ready_timeout, recovery_timeout;
    bool order_by_creation; /* requeuingStrategy.timestamp = Creation */
    int64_t backoff_base_s, backoff_max_s;
    int32_t backoff_limit; /* -1: none */
    /* resources */
    const char *const *exclude_prefixes;
    uint32_t n_exclude;
    const struct sl_transform *transforms;
    uint32_t n_transforms;
    bool ignore_undeclared;
};

/* Kueue's defaults, except that waiting for pods is off until readiness is reported. */
extern const struct sl_config sl_config_default;

#endif
