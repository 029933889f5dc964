/* SPDX-License-Identifier: Apache-2.0 */
/* Names of facts, as logs and the journal spell them. */
#include "core/model/fact.h"

static const char *const names[SL_FACT_COUNT] = {
    [SL_FACT_CONFIG] = "config",
    [SL_FACT_FLAVOR] = "flavor",
    [SL_FACT_COHORT] = "cohort",
    [SL_FACT_CLUSTER_QUEUE] = "cluster-queue",
    [SL_FACT_LOCAL_QUEUE] = "local-queue",
    [SL_FACT_NAMESPACE] = "namespace",
    [SL_FACT_CHECK] = "check",
    [SL_FACT_FLAVOR_GONE] = "flavor-gone",
    [SL_FACT_COHORT_GONE] = "cohort-gone",
    [SL_FACT_CLUSTER_QUEUE_GONE] = "cluster-queue-gone",
    [SL_FACT_LOCAL_QUEUE_GONE] = "local-queue-gone",
    [SL_FACT_NAMESPACE_GONE] = "namespace-gone",
    [SL_FACT_CHECK_GONE] = "check-gone",
    [SL_FACT_WORKLOAD] = "workload",
    [SL_FACT_WORKLOAD_GONE] = "workload-gone",
    [SL_FACT_ADMISSION] = "admission",
    [SL_FACT_FINISHED] = "finished",
    [SL_FACT_RELEASED] = "released",
    [SL_FACT_ADMIT_FAILED] = "admit-failed",
    [SL_FACT_PODS_READY] = "pods-ready",
    [SL_FACT_CHECK_STATE] = "check-state",
    [SL_FACT_PAST] = "past",
    [SL_FACT_RECLAIMABLE] = "reclaimable",
};

const char *sl_fact_name(enum sl_fact_kind k) {
    return (size_t)k < SL_FACT_COUNT ? names[k] : "?";
}
