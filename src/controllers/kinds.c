/* The kinds that the manager reads and writes, in one table. */
#include "controllers/kinds.h"

#include "controllers/wl.h"

#define KUEUE "kueue.x-k8s.io/v1beta2"

const struct kind kinds[REC_KINDS] = {
    [REC_NAMESPACE] = {.path = "/api/v1", .plural = "namespaces", .kind = "Namespace", .api_version = "v1",
        .size = sizeof(struct rec_conf), .decode = conf_decode, .changed = ns_changed, .gone = ns_gone, .done = conf_done},
    [REC_PRIORITY_CLASS] = {.path = "/apis/scheduling.k8s.io/v1", .plural = "priorityclasses", .kind = "PriorityClass",
        .api_version = "scheduling.k8s.io/v1", .size = sizeof(struct rec_conf), .decode = conf_decode,
        .changed = class_changed, .gone = class_gone, .done = conf_done},
    [REC_WORKLOAD_PRIORITY_CLASS] = {.path = "/apis/" KUEUE, .plural = "workloadpriorityclasses",
        .kind = "WorkloadPriorityClass", .api_version = KUEUE, .size = sizeof(struct rec_conf), .decode = conf_decode,
        .changed = class_changed, .gone = class_gone, .done = conf_done},
    [REC_LIMIT_RANGE] = {.path = "/api/v1", .plural = "limitranges", .kind = "LimitRange", .api_version = "v1",
        .namespaced = true, .size = sizeof(struct rec_conf), .decode = conf_decode, .changed = limits_changed,
        .gone = limits_gone, .done = conf_done},
    [REC_RUNTIME_CLASS] = {.path = "/apis/node.k8s.io/v1", .plural = "runtimeclasses", .kind = "RuntimeClass",
        .api_version = "node.k8s.io/v1", .size = sizeof(struct rec_conf), .decode = conf_decode,
        .changed = runtime_changed, .gone = runtime_gone, .done = conf_done},
    [REC_FLAVOR] = {.path = "/apis/" KUEUE, .plural = "resourceflavors", .kind = "ResourceFlavor", .api_version = KUEUE,
        .size = sizeof(struct rec_conf), .decode = conf_decode, .changed = flavor_changed, .gone = flavor_gone,
        .done = conf_done, .build = in_use_build},
    [REC_CHECK] = {.path = "/apis/" KUEUE, .plural = "admissionchecks", .kind = "AdmissionCheck", .api_version = KUEUE,
        .size = sizeof(struct rec_conf), .decode = conf_decode, .changed = check_changed, .gone = check_gone,
        .done = conf_done, .build = in_use_build},
    [REC_COHORT] = {.path = "/apis/" KUEUE, .plural = "cohorts", .kind = "Cohort", .api_version = KUEUE,
        .size = sizeof(struct rec_conf), .decode = conf_decode, .changed = cohort_changed, .gone = cohort_gone,
        .done = conf_done, .build = cohort_build},
    [REC_CLUSTER_QUEUE] = {.path = "/apis/" KUEUE, .plural = "clusterqueues", .kind = "ClusterQueue",
        .api_version = KUEUE, .size = sizeof(struct rec_conf), .decode = conf_decode, .changed = cq_changed,
        .gone = cq_gone, .done = conf_done, .build = cq_build},
    [REC_LOCAL_QUEUE] = {.path = "/apis/" KUEUE, .plural = "localqueues", .kind = "LocalQueue", .api_version = KUEUE,
        .namespaced = true, .size = sizeof(struct rec_conf), .decode = conf_decode, .changed = lq_changed,
        .gone = lq_gone, .done = conf_done, .build = lq_build},
    [REC_WORKLOAD] = {.path = "/apis/" KUEUE, .plural = "workloads", .kind = "Workload", .api_version = KUEUE,
        .namespaced = true, .size = sizeof(struct rec_wl), .decode = wl_decode, .changed = wl_changed, .gone = wl_gone,
        .done = wl_done, .build = wl_build, .written = wl_written},
    [REC_JOB] = {.path = "/apis/batch/v1", .plural = "jobs", .kind = "Job", .api_version = "batch/v1",
        .namespaced = true, .size = sizeof(struct rec_job), .decode = job_decode, .changed = job_changed,
        .gone = job_gone, .done = job_done, .build = job_build, .written = job_written},
    [REC_EVENT] = {.path = "/apis/events.k8s.io/v1", .plural = "events", .kind = "Event",
        .api_version = "events.k8s.io/v1", .namespaced = true, .size = sizeof(struct rec_event), .changed = event_changed, .done = event_done,
        .build = event_build, .written = event_written},
};
