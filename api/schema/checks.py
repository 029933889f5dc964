# SPDX-License-Identifier: Apache-2.0
"""Admission checks and what they are told: AdmissionCheck, ProvisioningRequestConfig, MultiKueue."""

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
            "Who performs the check: kueue.x-k8s.io/provisioning-request, kueue.x-k8s.io/multikueue "
            "or a controller of one's own.",
            max=253 if version == V1BETA2 else None,
            min=min,
            rules=[IMMUTABLE],
        ),
        "parameters": record(
            "An object with the details.",
            {
                "apiGroup": subdomain("Its group.", min=min),
                "kind": text("Its kind.", max=63, min=min, like="(?i)[a-z]([-a-z0-9]*[a-z0-9])?"),
                "name": dns_label("Its name.", min=min),
            },
            need=["apiGroup", "kind", "name"],
        ),
    }
    if version == V1BETA1:
        spec["retryDelayMinutes"] = int64("Not used.", default=15)
    return {
        "spec": record("What is checked, by whom.", spec, need=["controllerName"]),
        "status": record(
            "Whether it works.",
            {
                "conditions": conditions(version, "Active says whether the controller is ready to check."),
            },
        ),
    }


ADMISSION_CHECK = {
    "kind": "AdmissionCheck",
    "about": "Something besides quota that must be right before a workload starts.",
    "plural": "admissionchecks",
    "short": ["ac"],
    "status": True,
    "fields": _admission_check,
}


def _provisioning(version):
    new = version == V1BETA2
    selector = record(
        "One label.",
        {
            "key": label_key("The label.", max=317, min=1),
            "valueFromProvisioningClassDetail": text(
                "The detail of the request's status that has the value.", max=32768, min=1
            ),
        },
        need=["key", "valueFromProvisioningClassDetail"],
    )
    selectors = "Node labels that pods get."
    retry = {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
    return {
        "spec": record(
            "How a ProvisioningRequest is made.",
            {
                "provisioningClassName": subdomain("Its provisioning class.", min=1 if new else None),
                "parameters": table("Its parameters.", text("", max=255), max=100),
                "managedResources": strings(
                    "Podsets that request none of these need no request. Empty: all do.", max=100, kind="set"
                ),
                "retryStrategy": record(
                    "What to do when it fails.",
                    {
                        "backoffLimitCount": int32("How often it is tried again.", default=3),
                        "backoffBaseSeconds": int32("How long to wait the first time; doubles each time.", default=60),
                        "backoffMaxSeconds": int32("The longest wait.", default=1800),
                    },
                    default=retry,
                ),
                "podSetUpdates": record(
                    "What pods get from the answer.",
                    {
                        "nodeSelector": (
                            keyed(selectors, selector, by="key", max=8) if new else array(selectors, selector, max=8)
                        ),
                    },
                ),
                "podSetMergePolicy": word(
                    "Which podsets count as one.", "IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"
                ),
            },
            need=["provisioningClassName"],
        ),
    }


def _provisioning_request(version):
    fixed = [rule("self == oldSelf", "Value is immutable")]
    reference = record("The PodTemplate, in the same namespace.", {"name": subdomain("Its name.")}, need=["name"])
    podset = record(
        "Pods of one kind.",
        {
            "podTemplateRef": reference,
            "count": int32("How many.", min=1),
        },
        need=["count", "podTemplateRef"],
    )
    return {
        "spec": record(
            "What is asked for. To change it, delete it and make another.",
            {
                "provisioningClassName": text(
                    "Who is asked, and for what: check-capacity.autoscaling.x-k8s.io (is there "
                    "room now?), best-effort-atomic-scale-up.autoscaling.x-k8s.io (make room), or "
                    "a class of the cloud.",
                    max=253,
                    like=SUBDOMAIN,
                    rules=fixed,
                ),
                "parameters": table("What the class wants to know besides.", text("", max=255), max=100)
                | {"x-kubernetes-validations": fixed},
                "podSets": array("The pods that want room, all or none.", podset, min=1, max=32, rules=fixed),
            },
            need=["podSets", "provisioningClassName"],
        ),
        "status": record(
            "What was answered.",
            {
                "conditions": conditions(version, "Accepted, Provisioned, Failed, BookingExpired, CapacityRevoked."),
                "provisioningClassDetails": table("What the class has to say besides.", text("", max=32768), max=64),
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
    "about": "Pods that will want room: is there any?",
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
    "about": "How the provisioning-request check asks the cluster autoscaler for nodes.",
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
                "The name of the Secret (key kubeconfig) in the manager's namespace, or the path.",
                max=256 if new else None,
                min=1 if new else None,
            ),
            "locationType": word("Which of the two.", "Secret", "Path", default="Secret"),
        },
        need=["location"] + ([] if new else ["locationType"]),
    )
    profile = record("A ClusterProfile.", {"name": text("Its name.", max=256, min=1)}, need=["name"])
    ways = {"kubeConfig": config, "clusterProfileRef": profile}
    if new:
        spec = record(
            "Where the cluster is.",
            {
                "clusterSource": record(
                    "How to reach it: one of the two.",
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
        spec = record("Where the cluster is.", ways, need=["kubeConfig"])
    return {
        "spec": spec,
        "status": record(
            "Whether it answers.",
            {
                "conditions": conditions(version, "Active says whether there is a connection."),
            },
        ),
    }


MULTI_KUEUE_CLUSTER = {
    "kind": "MultiKueueCluster",
    "about": "Another cluster that workloads may be sent to.",
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
                "Which clusters.",
                {
                    "clusters": strings(about, min=1, max=20, kind="set"),
                },
                need=["clusters"],
            )
        }
    return {
        "spec": record(
            "Which clusters.",
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
                    "Who sets the quota of the queues in this cluster (alpha).", "Manual", "Automated"
                ),
            },
            need=["clusters"],
        )
    }


MULTI_KUEUE_CONFIG = {
    "kind": "MultiKueueConfig",
    "about": "The clusters that a MultiKueue check sends workloads to.",
    "plural": "multikueueconfigs",
    "short": ["mkconf"],
    "quiet": True,  # Kueue forgot to call its v1beta1 deprecated
    "fields": _multi_kueue_config,
}
