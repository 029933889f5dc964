/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kueue's feature gates, all 77 of v0.19.0, as one table: the number that code uses, the name, the
 * default, and the stage (Alpha, Beta, GA, Deprecated). A locked gate keeps its default in any
 * case. Eight of them change decisions of the engine, which has them as enum sl_gate.
 */
#ifndef SL_MANAGER_CONFIG_GATES_H
#define SL_MANAGER_CONFIG_GATES_H

#include "core/base/macros.h"
#include "core/model/words.h"

/* X(upper snake, name, ON or OFF, stage), in the order of the names. */
#define SL_FEATURE_GATE_TABLE(X)                                                                   \
    X(ADMISSION_FAIR_SHARING, AdmissionFairSharing, ON, BETA)                                      \
    X(ADMISSION_GATED_BY, AdmissionGatedBy, ON, BETA)                                              \
    X(ASSIGN_QUEUE_LABELS_FOR_PODS, AssignQueueLabelsForPods, ON, BETA)                            \
    X(CLEANUP_PROVISIONING_REQUESTS_ON_EVICTION, CleanupProvisioningRequestsOnEviction, ON, BETA)  \
    X(CONCURRENT_ADMISSION, ConcurrentAdmission, OFF, ALPHA)                                       \
    X(CUSTOM_METRIC_LABELS, CustomMetricLabels, OFF, ALPHA)                                        \
    X(DEFER_RAY_SERVICE_FINALIZATION_FOR_REDIS_CLEANUP,                                            \
      DeferRayServiceFinalizationForRedisCleanup, ON, BETA)                                        \
    X(DISABLE_WAIT_FOR_PODS_READY, DisableWaitForPodsReady, OFF, ALPHA)                            \
    X(ELASTIC_JOBS_VIA_WORKLOAD_SLICES, ElasticJobsViaWorkloadSlices, ON, BETA)                    \
    X(ELASTIC_JOBS_VIA_WORKLOAD_SLICES_WITH_TAS, ElasticJobsViaWorkloadSlicesWithTAS, OFF, ALPHA)  \
    X(FAILURE_RECOVERY_POLICY, FailureRecoveryPolicy, OFF, ALPHA)                                  \
    X(FAIR_SHARING_PREEMPT_WITHIN_NOMINAL, FairSharingPreemptWithinNominal, ON, BETA)              \
    X(FAIR_SHARING_PRIORITIZE_NON_BORROWING, FairSharingPrioritizeNonBorrowing, ON, BETA)          \
    X(FAST_QUOTA_RELEASE_IN_POD_INTEGRATION, FastQuotaReleaseInPodIntegration, OFF, ALPHA)         \
    X(FINISH_ORPHANED_WORKLOADS, FinishOrphanedWorkloads, ON, BETA)                                \
    X(FLAVOR_FUNGIBILITY, FlavorFungibility, ON, BETA)                                             \
    X(HIERARCHICAL_COHORTS, HierarchicalCohorts, ON, GA)                                           \
    X(KUEUE_DRA_INTEGRATION, KueueDRAIntegration, ON, BETA)                                        \
    X(KUEUE_DRA_INTEGRATION_CONSUMABLE_CAPACITY, KueueDRAIntegrationConsumableCapacity, OFF,       \
      ALPHA)                                                                                       \
    X(KUEUE_DRA_INTEGRATION_EXTENDED_RESOURCE, KueueDRAIntegrationExtendedResource, ON, BETA)      \
    X(KUEUE_DRA_INTEGRATION_PARTITIONABLE_DEVICES, KueueDRAIntegrationPartitionableDevices, ON,    \
      BETA)                                                                                        \
    X(KUEUE_DRA_REJECT_WORKLOADS_WHEN_DRA_DISABLED, KueueDRARejectWorkloadsWhenDRADisabled, ON,    \
      BETA)                                                                                        \
    X(LOCAL_QUEUE_METRICS, LocalQueueMetrics, ON, BETA)                                            \
    X(MANAGED_JOBS_NAMESPACE_SELECTOR_ALWAYS_RESPECTED,                                            \
      ManagedJobsNamespaceSelectorAlwaysRespected, ON, GA)                                         \
    X(METRIC_FOR_WORKLOAD_CREATION_LATENCY, MetricForWorkloadCreationLatency, ON, BETA)            \
    X(METRICS_FOR_COHORTS, MetricsForCohorts, ON, BETA)                                            \
    X(MULTI_KUEUE, MultiKueue, ON, BETA)                                                           \
    X(MULTI_KUEUE_ADAPTERS_FOR_CUSTOM_JOBS, MultiKueueAdaptersForCustomJobs, ON, BETA)             \
    X(MULTI_KUEUE_ALLOW_INSECURE_KUBECONFIGS, MultiKueueAllowInsecureKubeconfigs, OFF,             \
      DEPRECATED_LOCKED)                                                                           \
    X(MULTI_KUEUE_CLUSTER_PROFILE, MultiKueueClusterProfile, OFF, ALPHA)                           \
    X(MULTI_KUEUE_INCREMENTAL_DISPATCHER_CONFIG, MultiKueueIncrementalDispatcherConfig, ON, BETA)  \
    X(MULTI_KUEUE_INCREMENTAL_DISPATCHER_RESPECT_CONFIG_ORDER,                                     \
      MultiKueueIncrementalDispatcherRespectConfigOrder, ON, BETA)                                 \
    X(MULTI_KUEUE_KUBE_CONFIG_PATH_VALIDATION, MultiKueueKubeConfigPathValidation, OFF, ALPHA)     \
    X(MULTI_KUEUE_MANAGER_QUOTA_AUTOMATION, MultiKueueManagerQuotaAutomation, OFF, ALPHA)          \
    X(MULTI_KUEUE_ORCHESTRATED_PREEMPTION, MultiKueueOrchestratedPreemption, OFF, ALPHA)           \
    X(MULTI_KUEUE_REDO_ADMISSION_ON_EVICTION_IN_WORKER, MultiKueueRedoAdmissionOnEvictionInWorker, \
      ON, GA)                                                                                      \
    X(MULTI_KUEUE_WAIT_FOR_WORKLOAD_ADMITTED, MultiKueueWaitForWorkloadAdmitted, ON, GA)           \
    X(OBJECT_RETENTION_POLICIES, ObjectRetentionPolicies, ON, GA)                                  \
    X(PARTIAL_ADMISSION, PartialAdmission, ON, BETA)                                               \
    X(PRIORITY_BOOST, PriorityBoost, OFF, ALPHA)                                                   \
    X(PRIORITY_SORTING_WITHIN_COHORT, PrioritySortingWithinCohort, ON, BETA)                       \
    X(PROPAGATE_BATCH_JOB_LABELS_TO_WORKLOAD, PropagateBatchJobLabelsToWorkload, ON, GA)           \
    X(QUOTA_CHECK_STRATEGY, QuotaCheckStrategy, ON, BETA)                                          \
    X(RECLAIMABLE_PODS, ReclaimablePods, ON, BETA)                                                 \
    X(REJECT_UPDATES_TO_CQ_WITH_INVALID_ON_FLAVORS, RejectUpdatesToCQWithInvalidOnFlavors, OFF,    \
      ALPHA)                                                                                       \
    X(REMOVE_FINALIZERS_WITH_STRICT_PATCH, RemoveFinalizersWithStrictPatch, ON, BETA)              \
    X(SCHEDULER_LIBRARY_INTEGRATION, SchedulerLibraryIntegration, OFF, ALPHA)                      \
    X(SCHEDULER_LONG_REQUEUE_INTERVAL, SchedulerLongRequeueInterval, OFF, ALPHA)                   \
    X(SCHEDULER_TIMESTAMP_PREEMPTION_BUFFER, SchedulerTimestampPreemptionBuffer, OFF, ALPHA)       \
    X(SCHEDULING_EQUIVALENCE_HASHING, SchedulingEquivalenceHashing, ON, BETA)                      \
    X(SHORT_WORKLOAD_NAMES, ShortWorkloadNames, OFF, ALPHA)                                        \
    X(SKIP_FINALIZERS_FOR_PODS_SUSPENDED_BY_PARENT, SkipFinalizersForPodsSuspendedByParent, ON,    \
      GA)                                                                                          \
    X(SKIP_REASSIGNMENT_FOR_POD_OWNED_WORKLOADS, SkipReassignmentForPodOwnedWorkloads, ON, BETA)   \
    X(SPARK_APPLICATION_INTEGRATION, SparkApplicationIntegration, OFF, ALPHA)                      \
    X(TAS_ASSIGNMENTS_ENCODING_BY_HOSTNAME_PREFIX, TASAssignmentsEncodingByHostnamePrefix, ON,     \
      BETA)                                                                                        \
    X(TAS_BALANCED_PLACEMENT, TASBalancedPlacement, OFF, ALPHA)                                    \
    X(TAS_CACHE_NODE_MATCH_RESULTS, TASCacheNodeMatchResults, ON, BETA)                            \
    X(TAS_CACHING_REMAINING_RESOURCES, TASCachingRemainingResources, ON, BETA)                     \
    X(TAS_FAILED_NODE_REPLACEMENT, TASFailedNodeReplacement, ON, BETA)                             \
    X(TAS_FAILED_NODE_REPLACEMENT_FAIL_FAST, TASFailedNodeReplacementFailFast, ON, BETA)           \
    X(TAS_HANDLE_OVERLAPPING_FLAVORS, TASHandleOverlappingFlavors, ON, BETA)                       \
    X(TAS_MULTI_LAYER_TOPOLOGY, TASMultiLayerTopology, ON, BETA)                                   \
    X(TAS_PROFILE_MIXED, TASProfileMixed, ON, BETA)                                                \
    X(TAS_RECOMPUTE_ASSIGNMENT_WITHIN_SCHEDULING_CYCLE,                                            \
      TASRecomputeAssignmentWithinSchedulingCycle, ON, BETA)                                       \
    X(TAS_REPLACE_NODE_DUE_TO_NOT_READY_OVER_FIXED_TIME, TASReplaceNodeDueToNotReadyOverFixedTime, \
      OFF, DEPRECATED)                                                                             \
    X(TAS_REPLACE_NODE_ON_NODE_TAINTS, TASReplaceNodeOnNodeTaints, ON, BETA)                       \
    X(TAS_REPLACE_NODE_ON_POD_TERMINATION, TASReplaceNodeOnPodTermination, ON, BETA)               \
    X(TAS_RESPECT_NODE_AFFINITY_PREFERRED, TASRespectNodeAffinityPreferred, OFF, ALPHA)            \
    X(TLS_OPTIONS, TLSOptions, ON, BETA)                                                           \
    X(TOPOLOGY_AWARE_SCHEDULING, TopologyAwareScheduling, ON, BETA)                                \
    X(UNADMITTED_WORKLOADS_EXPLICIT_STATUS, UnadmittedWorkloadsExplicitStatus, OFF, BETA)          \
    X(UNADMITTED_WORKLOADS_OBSERVABILITY, UnadmittedWorkloadsObservability, OFF, BETA)             \
    X(VECTORIZED_RESOURCE_REQUESTS, VectorizedResourceRequests, ON, BETA)                          \
    X(VISIBILITY_ON_DEMAND, VisibilityOnDemand, ON, BETA)                                          \
    X(WORKLOAD_IDENTIFIER_ANNOTATIONS, WorkloadIdentifierAnnotations, ON, BETA)                    \
    X(WORKLOAD_PRIORITY_CLASS_DEFAULTING, WorkloadPriorityClassDefaulting, OFF, ALPHA)             \
    X(WORKLOAD_REQUEST_USE_MERGE_PATCH, WorkloadRequestUseMergePatch, OFF, ALPHA)

enum sl_feature_stage {
    SL_STAGE_ALPHA,
    SL_STAGE_BETA,
    SL_STAGE_GA, /* locked */
    SL_STAGE_DEPRECATED,
    SL_STAGE_DEPRECATED_LOCKED,
};

#define SL_FEATURE_GATE_ENTRY(id, name, on, stage) SL_G_##id,
enum sl_feature_gate { SL_FEATURE_GATE_TABLE(SL_FEATURE_GATE_ENTRY) SL_GATES };
#undef SL_FEATURE_GATE_ENTRY

/* "FlavorFungibility" ...; "?" out of range. */
const char *sl_feature_gate_name(enum sl_feature_gate g);
/* SL_GATES if v0.19 has no such gate. */
enum sl_feature_gate sl_feature_gate_find(const char *name);
/* In v0.19.0. */
bool sl_feature_gate_default(enum sl_feature_gate g);
bool sl_feature_gate_locked(enum sl_feature_gate g);
/* "Alpha", "Beta", "GA", "Deprecated". */
const char *sl_feature_gate_stage_name(enum sl_feature_gate g);
/* The engine's gate of that name, SL_GATE_COUNT if the engine has none. */
enum sl_gate sl_feature_gate_engine(enum sl_feature_gate g);
/* The gate that a mistyped name most likely meant, or NULL. */
const char *sl_feature_gate_nearest(const char *name);

#endif
