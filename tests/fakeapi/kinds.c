/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a new API knows.
 */
#include "fakeapi_int.h"

#define NS FAKEAPI_NAMESPACED
#define ST FAKEAPI_STATUS
#define KUEUE "kueue.x-k8s.io", "v1beta2"

const struct fakeapi_kind fakeapi_kinds[] = {
    {"", "v1", "namespaces", "Namespace", ST, "{\"phase\":\"Active\"}"},
    {"", "v1", "nodes", "Node", ST, NULL},
    {"", "v1", "pods", "Pod", NS | ST | FAKEAPI_GRACEFUL | FAKEAPI_SHARED,
     "{\"phase\":\"Pending\"}"},
    {"", "v1", "podtemplates", "PodTemplate", NS, NULL},
    {"", "v1", "limitranges", "LimitRange", NS, NULL},
    {"", "v1", "configmaps", "ConfigMap", NS, NULL},
    {"", "v1", "secrets", "Secret", NS, NULL},
    {"", "v1", "serviceaccounts", "ServiceAccount", NS, NULL},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", NS | ST, NULL},
    {"", "v1", "events", "Event", NS, NULL},
    {"", "v1", "services", "Service", NS | ST, NULL},
    {"", "v1", "endpoints", "Endpoints", NS, NULL},
    {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", NS, NULL},
    {"batch", "v1", "jobs", "Job", NS | ST | FAKEAPI_ORPHANS, "{}"},
    {"batch", "v1", "cronjobs", "CronJob", NS | ST, NULL},
    {"apps", "v1", "deployments", "Deployment", NS | ST, "{}"},
    {"apps", "v1", "replicasets", "ReplicaSet", NS | ST, "{}"},
    {"apps", "v1", "statefulsets", "StatefulSet", NS | ST, "{}"},
    {"apps", "v1", "daemonsets", "DaemonSet", NS | ST, "{}"},
    {"", "v1", "replicationcontrollers", "ReplicationController", NS | ST, "{}"},
    {"apps", "v1", "controllerrevisions", "ControllerRevision", NS, NULL},
    {"leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", NS | ST, NULL},
    {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", 0, NULL},
    {"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", 0, NULL},
    {"coordination.k8s.io", "v1", "leases", "Lease", NS, NULL},
    {"events.k8s.io", "v1", "events", "Event", NS, NULL},
    {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
     "ValidatingWebhookConfiguration", 0, NULL},
    {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
     "MutatingWebhookConfiguration", 0, NULL},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", ST,
     NULL},
    {"autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest", NS | ST, NULL},
    {KUEUE, "clusterqueues", "ClusterQueue", ST, NULL},
    {KUEUE, "localqueues", "LocalQueue", NS | ST, NULL},
    {KUEUE, "resourceflavors", "ResourceFlavor", 0, NULL},
    {KUEUE, "cohorts", "Cohort", ST, NULL},
    {KUEUE, "workloads", "Workload", NS | ST, NULL},
    {KUEUE, "workloadpriorityclasses", "WorkloadPriorityClass", 0, NULL},
    {KUEUE, "admissionchecks", "AdmissionCheck", ST, NULL},
    {KUEUE, "topologies", "Topology", 0, NULL},
    {KUEUE, "provisioningrequestconfigs", "ProvisioningRequestConfig", 0, NULL},
    {KUEUE, "multikueueconfigs", "MultiKueueConfig", 0, NULL},
    {KUEUE, "multikueueclusters", "MultiKueueCluster", ST, NULL},
};
const uint32_t fakeapi_n_kinds = SL_LEN(fakeapi_kinds);
