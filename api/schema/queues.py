# SPDX-License-Identifier: Apache-2.0
"""Queues and quotas: ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology."""

from .shapes import (
    EFFECT_RULE,
    EFFECTS,
    IMMUTABLE,
    V1ALPHA1,
    V1BETA1,
    V1BETA2,
    array,
    conditions,
    fair_sharing,
    fair_sharing_status,
    int32,
    keyed,
    label_key,
    labels,
    preemption,
    record,
    resource_groups,
    rule,
    selector,
    stop_policy,
    strings,
    subdomain,
    taints,
    text,
    time,
    tolerations,
    unchanged,
    usage,
    word,
)


def _counts():
    return {
        "pendingWorkloads": int32("Number of pending workloads."),
        "reservingWorkloads": int32("Number of workloads with a quota reservation that have not finished."),
        "admittedWorkloads": int32("Number of admitted workloads that have not finished."),
    }


# ---- ClusterQueue ----


def _preemption():
    return preemption(
        record(
            "Preemption of workloads in other ClusterQueues of the cohort while borrowing.",
            {
                "policy": word(
                    "LowerPriority requires reclaimWithinCohort.", "Never", "LowerPriority", default="Never"
                ),
                "maxPriorityThreshold": int32("Maximum priority of workloads that may be preempted."),
            },
            default={},
        ),
        default={},
        rules=[
            rule(
                "self.reclaimWithinCohort != 'Never' || !has(self.borrowWithinCohort) || "
                "self.borrowWithinCohort.policy == 'Never'",
                "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
            ),
        ],
    )


def _fungibility(version):
    legacy = version == V1BETA1
    return record(
        "Whether to try the next flavor before borrowing or preempting in the current one.",
        {
            "whenCanBorrow": word(
                "What to do if the workload fits in a flavor with borrowing.",
                "MayStopSearch",
                "TryNextFlavor",
                *(["Borrow"] if legacy else []),
                default="MayStopSearch",
            ),
            "whenCanPreempt": word(
                "What to do if the workload fits in a flavor after preemption.",
                "MayStopSearch",
                "TryNextFlavor",
                *(["Preempt"] if legacy else []),
                default="TryNextFlavor",
            ),
            "preference": word(
                "Preference after all flavors were tried. Requires TryNextFlavor for whenCanBorrow and whenCanPreempt.",
                "BorrowingOverPreemption",
                "PreemptionOverBorrowing",
            ),
        },
        default={},
        rules=[
            rule(
                "!has(self.preference) || [self.whenCanBorrow, self.whenCanPreempt].all(w, w == 'TryNextFlavor')",
                "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
            ),
        ],
    )


def _checks_strategy(version):
    new = version == V1BETA2
    check = record(
        "An admission check of the queue.",
        {
            "name": text("Name of the AdmissionCheck.", max=316, min=1 if new else None),
            "onFlavors": strings(
                "Flavors that the check applies to. Empty: all.",
                each=subdomain(""),
                max=64 if new else None,
                kind="set" if new else "atomic",
            ),
        },
        need=["name"],
    )
    checks = "Checks that must be ready before a workload with a quota reservation is admitted."
    return record(
        "Admission checks, for all or for selected flavors.",
        {
            "admissionChecks": keyed(checks, check, by="name", min=1, max=64) if new else array(checks, check),
        },
        need=["admissionChecks"] if new else [],
    )


def _concurrent_admission():
    return record(
        "Concurrent admission: several flavors are tried at the same time (alpha).",
        {
            "migration": record(
                "Migration after the first admission.",
                {
                    "mode": word(
                        "Whether to migrate to a preferred flavor or to retain the first admission.",
                        "TryPreferredFlavors",
                        "RetainFirstAdmission",
                        max=253,
                    ),
                    "constraints": record(
                        "Limits of TryPreferredFlavors.",
                        {
                            "lastAcceptableFlavorName": subdomain(
                                "Last flavor in order of preference that may be used."
                            ),
                        },
                    ),
                },
                need=["mode"],
            ),
        },
        need=["migration"],
    )


def _cluster_queue(version):
    cohort = "cohortName" if version == V1BETA2 else "cohort"
    spec = {
        cohort: subdomain("Name of the Cohort with which unused quota is shared. A Cohort object is not required."),
        "resourceGroups": resource_groups("Quotas of the queue."),
        "namespaceSelector": selector(
            "Selects the namespaces whose workloads may be admitted. Unset selects none, empty selects all."
        ),
        "queueingStrategy": word(
            "StrictFIFO: the first workload blocks those behind it. BestEffortFIFO: workloads "
            "behind one that does not fit may be admitted.",
            "StrictFIFO",
            "BestEffortFIFO",
            default="BestEffortFIFO",
        ),
        "preemption": _preemption(),
        "flavorFungibility": _fungibility(version),
        "admissionChecksStrategy": _checks_strategy(version),
        "fairSharing": fair_sharing(),
        "stopPolicy": stop_policy("the queue"),
    }
    mode = "How admission is ordered among the LocalQueues."
    modes = ["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]
    spec["admissionScope"] = record(
        "Admission fair sharing among the LocalQueues of this queue.",
        {
            "admissionMode": word(mode, *modes) if version == V1BETA2 else text(mode),
        },
        need=["admissionMode"],
    )
    status = {
        "conditions": conditions(version, "Observed conditions. Active reports whether the queue admits workloads."),
        **_counts(),
        "flavorsReservation": usage("Quota reserved by workloads, by flavor.", borrowed=True),
        "flavorsUsage": usage("Quota used by admitted workloads, by flavor.", borrowed=True),
        "fairSharing": fair_sharing_status(usage=version == V1BETA1),
    }
    if version == V1BETA2:
        spec["concurrentAdmissionPolicy"] = _concurrent_admission()
    else:
        spec["admissionChecks"] = strings(
            "Admission checks for all flavors. See also admissionChecksStrategy.", each=text("", max=316)
        )
        pending = record(
            "Reference to a pending workload.",
            {
                "name": text("Name of the workload."),
                "namespace": text("Namespace of the workload."),
            },
            need=["name", "namespace"],
        )
        status["pendingWorkloadsStatus"] = record(
            "Deprecated: no longer set.",
            {
                "clusterQueuePendingWorkload": array("First pending workloads.", pending),
                "lastChangeTime": time("Time of the last update."),
            },
            need=["lastChangeTime"],
        )
    return {
        "spec": record(
            "Desired quotas and policies of the queue.",
            spec,
            rules=[
                rule(
                    f"has(self.{cohort}) || !has(self.resourceGroups) || self.resourceGroups.all(g, g.flavors.all(f, "
                    "f.resources.all(r, !has(r.borrowingLimit))))",
                    "borrowingLimit must be nil when cohort is empty",
                ),
            ],
        ),
        "status": record("Observed state of the queue.", status),
    }


CLUSTER_QUEUE = {
    "kind": "ClusterQueue",
    "about": "A cluster-wide queue with quotas.",
    "plural": "clusterqueues",
    "short": ["cq"],
    "status": True,
    "conversion": "Webhook",
    "columns": lambda version: [
        ("Cohort", "string", ".spec.cohortName" if version == V1BETA2 else ".spec.cohort"),
        ("Strategy", "string", ".spec.queueingStrategy", "wide"),
        ("Pending Workloads", "integer", ".status.pendingWorkloads"),
        ("Admitted Workloads", "integer", ".status.admittedWorkloads", "wide"),
    ],
    "fields": _cluster_queue,
}


# ---- Cohort ----


def _cohort(version):
    parent = "parent" if version == V1ALPHA1 else "parentName"
    return {
        "spec": record(
            "Parent and shared quotas of the cohort.",
            {
                parent: subdomain("Name of the parent cohort; none by default. A Cohort object is not required."),
                "resourceGroups": resource_groups("Quotas shared by all members."),
                "fairSharing": fair_sharing(),
            },
        ),
        "status": record(
            "Observed state of the cohort.", {"fairSharing": fair_sharing_status(usage=version != V1BETA2)}
        ),
    }


COHORT = {
    "kind": "Cohort",
    "about": "A group of ClusterQueues and cohorts that share unused quota.",
    "plural": "cohorts",
    "short": ["co"],
    "status": True,
    "oldest": V1ALPHA1,
    "conversion": "Webhook",
    "fields": _cohort,
}


# ---- LocalQueue ----


def _exposed_flavors():
    flavor = record(
        "A flavor.",
        {
            "name": subdomain("Name of the ResourceFlavor."),
            "resources": strings("Resources of the flavor.", max=64, kind="set"),
            "nodeLabels": labels("Node labels of the flavor.", max=8, atomic=True),
            "nodeTaints": taints("Taints of the flavor."),
            "topology": record(
                "Topology of the flavor.",
                {
                    "name": subdomain("Name of the Topology."),
                    "levels": strings("Node labels, from the highest level to the lowest.", min=1, max=16),
                },
                need=["levels", "name"],
            ),
        },
        need=["name"],
    )
    return keyed("Deprecated: no longer set.", flavor, by="name", max=64)


def _local_queue(version):
    used = "flavorsUsage" if version == V1BETA2 else "flavorUsage"
    status = {
        "conditions": conditions(version, "Observed conditions. Active reports whether workloads are accepted."),
        **_counts(),
        "flavorsReservation": usage("Quota reserved by workloads of this queue, by flavor.", borrowed=False),
        used: usage("Quota used by admitted workloads of this queue, by flavor.", borrowed=False),
        "fairSharing": fair_sharing_status(usage=True),
    }
    if version == V1BETA1:
        status["flavors"] = _exposed_flavors()
    return {
        "spec": record(
            "ClusterQueue and policies of the queue.",
            {
                "clusterQueue": subdomain("Name of the ClusterQueue. Immutable.", rules=[IMMUTABLE]),
                "stopPolicy": stop_policy("the queue"),
                "fairSharing": fair_sharing(),
            },
        ),
        "status": record("Observed state of the queue.", status),
    }


LOCAL_QUEUE = {
    "kind": "LocalQueue",
    "about": "A queue in a namespace that submits to a ClusterQueue; jobs select it with the label "
    "kueue.x-k8s.io/queue-name.",
    "plural": "localqueues",
    "short": ["queue", "queues", "lq"],
    "scope": "Namespaced",
    "status": True,
    "conversion": "Webhook",
    "columns": lambda version: [
        ("ClusterQueue", "string", ".spec.clusterQueue"),
        ("Pending Workloads", "integer", ".status.pendingWorkloads"),
        ("Admitted Workloads", "integer", ".status.admittedWorkloads"),
    ],
    "fields": _local_queue,
}


# ---- ResourceFlavor ----


def _frozen(field, verb):
    return rule(
        f"!has(oldSelf.topologyName) || {unchanged(field)}", f"{field} {verb} immutable when topologyName is set"
    )


def _resource_flavor(version):
    return {
        "spec": record(
            "Nodes of the flavor.",
            {
                "nodeLabels": labels(
                    "Labels of the nodes; added to the node selector of admitted pods.", max=8, atomic=True
                ),
                "nodeTaints": taints(
                    "Taints of the nodes; a workload must tolerate them to use the flavor.",
                    rules=[
                        rule(f"self.all(t, t.effect in {EFFECTS})", EFFECT_RULE),
                    ],
                ),
                "tolerations": tolerations("Tolerations added to pods that are admitted with this flavor."),
                "topologyName": subdomain("Name of the Topology of the nodes, for topology-aware scheduling."),
            },
            rules=[
                rule(
                    "!has(self.topologyName) || (has(self.nodeLabels) && size(self.nodeLabels) > 0)",
                    "at least one nodeLabel is required when topology is set",
                ),
                _frozen("nodeLabels", "are"),
                _frozen("tolerations", "are"),
                _frozen("topologyName", "is"),
            ],
        ),
    }


RESOURCE_FLAVOR = {
    "kind": "ResourceFlavor",
    "about": "A variation of resources, such as a type of nodes, for which quotas are defined.",
    "plural": "resourceflavors",
    "short": ["flavor", "flavors", "rf"],
    "fields": _resource_flavor,
}


# ---- Topology ----


def _topology(version):
    level = record(
        "A level of the topology.",
        {
            "nodeLabel": label_key("Node label whose values identify the domains.", min=1),
        },
        need=["nodeLabel"],
    )
    return {
        "spec": record(
            "Levels of the topology.",
            {
                "levels": array(
                    "Levels from the highest (such as a block) to the lowest (such as a rack or host).",
                    level,
                    min=1,
                    max=16,
                    rules=[
                        IMMUTABLE,
                        rule("self.all(a, self.exists_one(b, b == a))", "must be unique"),
                        rule(
                            "self.all(l, l.nodeLabel != 'kubernetes.io/hostname' || l == self[size(self) - 1])",
                            "the kubernetes.io/hostname label can only be used at the lowest level of topology",
                        ),
                    ],
                ),
            },
            need=["levels"],
        ),
    }


TOPOLOGY = {
    "kind": "Topology",
    "about": "The hierarchy of topology domains of nodes.",
    "plural": "topologies",
    "short": ["topo"],
    "oldest": V1ALPHA1,
    "fields": _topology,
}
