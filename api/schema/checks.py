# SPDX-License-Identifier: Apache-2.0
"""Admission checks and their configuration: AdmissionCheck, ProvisioningRequestConfig, MultiKueue."""

from .shapes import (
    IMMUTABLE,
    SUBDOMAIN,
    V1BETA1,
    V1BETA2,
    array,
    conditions,
    dns_label,
    int32,
    int64,
    keyed,
    label_key,
    record,
    rule,
    strings,
    subdomain,
    table,
    text,
    word,
)


def _admission_check(version):
    min = 1 if version == V1BETA2 else None
    spec = {
        "controllerName": text(
            "Controller that performs the check: kueue.x-k8s.io/provisioning-request, "
            "kueue.x-k8s.io/multikueue or a custom controller. Immutable.",
            max=253 if version == V1BETA2 else None,
            min=min,
            rules=[IMMUTABLE],
        ),
        "parameters": record(
            "Reference to an object with parameters of the check.",
            {
                "apiGroup": subdomain("API group of the object.", min=min),
                "kind": text("Kind of the object.", max=63, min=min, like="(?i)[a-z]([-a-z0-9]*[a-z0-9])?"),
                "name": dns_label("Name of the object.", min=min),
            },
            need=["apiGroup", "kind", "name"],
        ),
    }
    if version == V1BETA1:
        spec["retryDelayMinutes"] = int64("Deprecated and ignored.", default=15)
    return {
        "spec": record("Controller and parameters.", spec, need=["controllerName"]),
        "status": record(
            "Observed state of the check.",
            {
                "conditions": conditions(
                    version, "Observed conditions. Active reports whether the controller is ready."
                ),
            },
        ),
    }


ADMISSION_CHECK = {
    "kind": "AdmissionCheck",
    "about": "A condition besides quota that a workload must meet to be admitted.",
    "plural": "admissionchecks",
    "short": ["ac"],
    "status": True,
    "fields": _admission_check,
}


def _provisioning(version):
    new = version == V1BETA2
    selector = record(
        "A node label.",
        {
            "key": label_key("Key of the label.", max=317, min=1),
            "valueFromProvisioningClassDetail": text(
                "Key in provisioningClassDetails of the request whose value is used.", max=32768, min=1
            ),
        },
        need=["key", "valueFromProvisioningClassDetail"],
    )
    selectors = "Node selector to add to the pods."
    retry = {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
    return {
        "spec": record(
            "Template of ProvisioningRequests.",
            {
                "provisioningClassName": subdomain("Provisioning class of the requests.", min=1 if new else None),
                "parameters": table("Parameters of the requests.", text("", max=255), max=100),
                "managedResources": strings(
                    "Resources for which a request is created; pod sets that use none of them are skipped. Empty: all.",
                    max=100,
                    kind="set",
                ),
                "retryStrategy": record(
                    "Retries after a failed request.",
                    {
                        "backoffLimitCount": int32("Maximum number of retries.", default=3),
                        "backoffBaseSeconds": int32("First back-off in seconds; doubled with each retry.", default=60),
                        "backoffMaxSeconds": int32("Maximum back-off in seconds.", default=1800),
                    },
                    default=retry,
                ),
                "podSetUpdates": record(
                    "Modifications of the pods from the status of the request.",
                    {
                        "nodeSelector": (
                            keyed(selectors, selector, by="key", max=8) if new else array(selectors, selector, max=8)
                        ),
                    },
                ),
                "podSetMergePolicy": word(
                    "Which pod sets are merged in a request.",
                    "IdenticalPodTemplates",
                    "IdenticalWorkloadSchedulingRequirements",
                ),
            },
            need=["provisioningClassName"],
        ),
    }


def _provisioning_request(version):
    fixed = [rule("self == oldSelf", "Value is immutable")]
    reference = record(
        "Reference to a PodTemplate in the same namespace.",
        {"name": subdomain("Name of the PodTemplate.")},
        need=["name"],
    )
    podset = record(
        "A set of pods.",
        {
            "podTemplateRef": reference,
            "count": int32("Number of pods.", min=1),
        },
        need=["count", "podTemplateRef"],
    )
    return {
        "spec": record(
            "Requested capacity. Immutable.",
            {
                "provisioningClassName": text(
                    "Provisioning class: check-capacity.autoscaling.x-k8s.io checks existing capacity, "
                    "best-effort-atomic-scale-up.autoscaling.x-k8s.io adds nodes; cloud providers "
                    "may define others.",
                    max=253,
                    like=SUBDOMAIN,
                    rules=fixed,
                ),
                "parameters": table("Parameters of the class.", text("", max=255), max=100)
                | {"x-kubernetes-validations": fixed},
                "podSets": array("Pods to provision capacity for, all or none.", podset, min=1, max=32, rules=fixed),
            },
            need=["podSets", "provisioningClassName"],
        ),
        "status": record(
            "Observed state of the request.",
            {
                "conditions": conditions(
                    version, "Observed conditions: Accepted, Provisioned, Failed, BookingExpired, CapacityRevoked."
                ),
                "provisioningClassDetails": table("Details reported by the class.", text("", max=32768), max=64),
            },
        ),
    }


# Not ours: the cluster autoscaler's, where that is installed. So it has a file of its own, and stands in no other.
PROVISIONING_REQUEST = {
    "group": "autoscaling.x-k8s.io",
    "versions": ["v1beta1", "v1"],
    "storage": "v1",
    "file": "../deploy/provisioningrequest-crd.yaml",
    "kind": "ProvisioningRequest",
    "about": "A request to provision capacity for pods.",
    "plural": "provisioningrequests",
    "short": ["provreq", "provreqs"],
    "scope": "Namespaced",
    "status": True,
    "quiet": True,
    "columns": lambda version: [
        ("Class", "string", ".spec.provisioningClassName"),
        ("Accepted", "string", ".status.conditions[?(@.type=='Accepted')].status"),
        ("Provisioned", "string", ".status.conditions[?(@.type=='Provisioned')].status"),
        ("Failed", "string", ".status.conditions[?(@.type=='Failed')].status"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
    "fields": _provisioning_request,
}


PROVISIONING_REQUEST_CONFIG = {
    "kind": "ProvisioningRequestConfig",
    "about": "Configuration of the provisioning-request check, which requests capacity from the cluster autoscaler.",
    "plural": "provisioningrequestconfigs",
    "short": ["prc"],
    "fields": _provisioning,
}


def _multi_kueue_cluster(version):
    new = version == V1BETA2
    config = record(
        "A kubeconfig file.",
        {
            "location": text(
                "Name of a Secret (key kubeconfig) in the namespace of the manager, or a path.",
                max=256 if new else None,
                min=1 if new else None,
            ),
            "locationType": word("Type of the location.", "Secret", "Path", default="Secret"),
        },
        need=["location"] + ([] if new else ["locationType"]),
    )
    profile = record(
        "Reference to a ClusterProfile.", {"name": text("Name of the ClusterProfile.", max=256, min=1)}, need=["name"]
    )
    ways = {"kubeConfig": config, "clusterProfileRef": profile}
    if new:
        spec = record(
            "Connection to the cluster.",
            {
                "clusterSource": record(
                    "Source of the credentials. Exactly one field is set.",
                    ways,
                    rules=[
                        rule(
                            "has(self.kubeConfig) != has(self.clusterProfileRef)",
                            "exactly one of the fields in [kubeConfig clusterProfileRef] must be set",
                        ),
                    ],
                ),
            },
            need=["clusterSource"],
        )
    else:
        spec = record("Connection to the cluster.", ways, need=["kubeConfig"])
    return {
        "spec": spec,
        "status": record(
            "Observed state of the connection.",
            {
                "conditions": conditions(
                    version, "Observed conditions. Active reports whether the cluster is connected."
                ),
            },
        ),
    }


MULTI_KUEUE_CLUSTER = {
    "kind": "MultiKueueCluster",
    "about": "A worker cluster that workloads may be dispatched to.",
    "plural": "multikueueclusters",
    "short": ["mkc"],
    "status": True,
    "conversion": "Webhook",
    "columns": lambda version: [
        ("Connected", "string", ".status.conditions[?(@.type=='Active')].status"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
    "fields": _multi_kueue_cluster,
}


def _multi_kueue_config(version):
    about = "Names of MultiKueueClusters, in the order in which they are tried."
    if version == V1BETA1:
        return {
            "spec": record(
                "Worker clusters.",
                {
                    "clusters": strings(about, min=1, max=20, kind="set"),
                },
                need=["clusters"],
            )
        }
    return {
        "spec": record(
            "Worker clusters.",
            {
                "clusters": strings(
                    about,
                    each=text("", max=256),
                    min=1,
                    max=20,
                    rules=[
                        rule("self.all(a, self.exists_one(b, b == a))", "must be unique"),
                    ],
                ),
                "quotaManagement": word(
                    "How the quota of the queues in this cluster is managed (alpha).", "Manual", "Automated"
                ),
            },
            need=["clusters"],
        )
    }


MULTI_KUEUE_CONFIG = {
    "kind": "MultiKueueConfig",
    "about": "The clusters that a MultiKueue check dispatches workloads to.",
    "plural": "multikueueconfigs",
    "short": ["mkconf"],
    "quiet": True,  # Kueue does not mark its v1beta1 as deprecated
    "fields": _multi_kueue_config,
}
