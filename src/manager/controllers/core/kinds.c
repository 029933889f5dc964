/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds that the manager reads and writes, in one table. */
#include "manager/controllers/core/kinds.h"

#include "manager/controllers/job/job.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/pod/pod.h"
#include "manager/controllers/provisioning/provisioning.h"
#include "manager/controllers/serving/serving.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload.h"

#define KUEUE "kueue.x-k8s.io/v1beta2"
#define TRAINER "trainer.kubeflow.org/v1alpha1"
#define IN_USE "kueue.x-k8s.io/resource-in-use"

/* A kind with few objects, which are cached as text. */
#define TEXT                                                                                       \
    .size = sizeof(struct mgr_rec_conf), .decode = mgr_conf_decode, .free = mgr_conf_done,         \
    .hold = mgr_conf_hold_names
/* A set of pods that is served. */
#define SET                                                                                        \
    .size = sizeof(struct mgr_rec_set), .decode = mgr_serving_decode,                              \
    .reconcile = mgr_serving_changed, .deleted = mgr_serving_gone, .free = mgr_serving_done,       \
    .hold = mgr_serving_hold_names, .build = mgr_serving_build, .written = mgr_serving_written

/* Lanes: decisions first; then what is only informative. */
const struct sl_rec_kind mgr_kinds[REC_KINDS] = {
    [REC_NAMESPACE] = {SL_REC_CORE_API("namespaces", "Namespace"), TEXT,
                       .reconcile = mgr_ns_changed, .deleted = mgr_ns_gone},
    [REC_PRIORITY_CLASS] = {SL_REC_API("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass"),
                            TEXT, .reconcile = mgr_class_changed, .deleted = mgr_class_gone},
    [REC_WORKLOAD_PRIORITY_CLASS] = {SL_REC_API(KUEUE, "workloadpriorityclasses",
                                                "WorkloadPriorityClass"),
                                     TEXT, .reconcile = mgr_class_changed,
                                     .deleted = mgr_class_gone},
    [REC_LIMIT_RANGE] = {SL_REC_CORE_API("limitranges", "LimitRange"), .namespaced = true, TEXT,
                         .reconcile = mgr_limits_changed, .deleted = mgr_limits_gone},
    [REC_RUNTIME_CLASS] = {SL_REC_API("node.k8s.io/v1", "runtimeclasses", "RuntimeClass"), TEXT,
                           .reconcile = mgr_runtime_changed, .deleted = mgr_runtime_gone},
    [REC_NODE] = {SL_REC_CORE_API("nodes", "Node"), .size = sizeof(struct mgr_rec_node),
                  .decode = mgr_node_decode, .deleted = mgr_node_gone},
    [REC_TOPOLOGY] = {SL_REC_API(KUEUE, "topologies", "Topology"), .finalizer = IN_USE, .lane = 1,
                      TEXT, .reconcile = mgr_topology_changed, .deleted = mgr_topology_gone,
                      .build = mgr_topology_build},
    [REC_FLAVOR] = {SL_REC_API(KUEUE, "resourceflavors", "ResourceFlavor"), .finalizer = IN_USE,
                    .lane = 1, TEXT, .reconcile = mgr_flavor_changed, .deleted = mgr_flavor_gone,
                    .build = mgr_in_use_build},
    [REC_CHECK] = {SL_REC_API(KUEUE, "admissionchecks", "AdmissionCheck"), .finalizer = IN_USE,
                   .lane_of = mgr_conf_lane, TEXT, .reconcile = mgr_check_changed,
                   .deleted = mgr_check_gone, .build = mgr_check_build},
    [REC_PROV_CONFIG] = {SL_REC_API(KUEUE, "provisioningrequestconfigs",
                                    "ProvisioningRequestConfig"),
                         TEXT, .reconcile = mgr_prov_config_changed,
                         .deleted = mgr_prov_config_gone},
    [REC_COHORT] = {SL_REC_API(KUEUE, "cohorts", "Cohort"), .finalizer = IN_USE, .lane = 1, TEXT,
                    .reconcile = mgr_cohort_changed, .deleted = mgr_cohort_gone,
                    .build = mgr_cohort_build},
    [REC_CLUSTER_QUEUE] = {SL_REC_API(KUEUE, "clusterqueues", "ClusterQueue"), .finalizer = IN_USE,
                           .lane_of = mgr_conf_lane, TEXT, .reconcile = mgr_cq_changed,
                           .deleted = mgr_cq_gone, .build = mgr_cq_build},
    [REC_LOCAL_QUEUE] = {SL_REC_API(KUEUE, "localqueues", "LocalQueue"), .namespaced = true,
                         .finalizer = IN_USE, .lane_of = mgr_conf_lane, TEXT,
                         .reconcile = mgr_lq_changed, .deleted = mgr_lq_gone,
                         .build = mgr_lq_build},
    [REC_PROV_REQUEST] = {SL_REC_API(PROV_API, "provisioningrequests", "ProvisioningRequest"),
                          .namespaced = true, .size = sizeof(struct mgr_rec_prov),
                          .decode = mgr_prov_decode, .reconcile = mgr_prov_changed,
                          .deleted = mgr_prov_gone, .free = mgr_prov_done,
                          .hold = mgr_prov_hold_names, .build = mgr_prov_build,
                          .written = mgr_prov_written, .served = mgr_prov_api_changed},
    [REC_WORKLOAD] = {SL_REC_API(KUEUE, "workloads", "Workload"), .namespaced = true,
                      .finalizer = IN_USE, .lane_of = mgr_wl_lane,
                      .size = sizeof(struct mgr_rec_wl), .decode = mgr_wl_decode,
                      .reconcile = mgr_wl_changed, .deleted = mgr_wl_gone, .free = mgr_wl_done,
                      .hold = mgr_wl_hold_names, .build = mgr_wl_build, .written = mgr_wl_written},
    [REC_JOB_KINDS] = {SL_REC_CORE_API("configmaps", "ConfigMap"), .namespaced = true,
                       .optional = true, .query = "labelSelector=sluice.dev%2Fjob-kinds%3Dtrue",
                       TEXT, .reconcile = mgr_job_rows_changed, .deleted = mgr_job_rows_gone},
    [REC_CLUSTER_TRAINING_RUNTIME] = {SL_REC_API(TRAINER, "clustertrainingruntimes",
                                                 "ClusterTrainingRuntime"),
                                      TEXT, .reconcile = mgr_train_changed},
    [REC_TRAINING_RUNTIME] = {SL_REC_API(TRAINER, "trainingruntimes", "TrainingRuntime"),
                              .namespaced = true, TEXT, .reconcile = mgr_train_changed},
    [REC_JOB] = {SL_REC_API("batch/v1", "jobs", "Job"), .namespaced = true,
                 .size = sizeof(struct mgr_rec_job), .decode = mgr_job_decode,
                 .reconcile = mgr_job_changed, .deleted = mgr_job_gone, .free = mgr_job_done,
                 .hold = mgr_job_hold_names, .build = mgr_job_build, .written = mgr_job_written},
    [REC_STATEFULSET] = {SL_REC_API("apps/v1", "statefulsets", "StatefulSet"), .namespaced = true,
                         SET},
    [REC_LWS] = {SL_REC_API("leaderworkerset.x-k8s.io/v1", "leaderworkersets", "LeaderWorkerSet"),
                 .namespaced = true, SET},
    [REC_POD] = {SL_REC_CORE_API("pods", "Pod"), .namespaced = true, .finalizer = GROUP_MANAGED,
                 .size = sizeof(struct mgr_rec_pod), .wanted = mgr_pod_wanted,
                 .decode = mgr_pod_decode, .reconcile = mgr_pod_changed, .deleted = mgr_pod_gone,
                 .free = mgr_pod_done, .hold = mgr_pod_hold_names, .build = mgr_pod_build,
                 .written = mgr_pod_written},
};
