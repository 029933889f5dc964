# SPDX-License-Identifier: Apache-2.0
"""Queues and what they give out: ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology."""

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
        "pendingWorkloads": int32("Workloads that wait."),
        "reservingWorkloads": int32("Workloads that hold quota."),
        "admittedWorkloads": int32("Workloads that are admitted and not finished."),
    }


# ---- ClusterQueue ----


def _preemption():
    return record(
        "Which workloads may be evicted for a waiting one that fits in no other way.",
        {
            "withinClusterQueue": word(
                "Of the same queue.", "Never", "LowerPriority", "LowerOrNewerEqualPriority", default="Never"
            ),
            "reclaimWithinCohort": word(
                "Of other queues of the cohort that borrow what is this queue's.",
                "Never",
                "LowerPriority",
                "Any",
                default="Never",
            ),
            "borrowWithinCohort": record(
                "Of other queues of the cohort, while borrowing oneself.",
                {
                    "policy": word(
                        "LowerPriority needs reclaimWithinCohort.", "Never", "LowerPriority", default="Never"
                    ),
                    "maxPriorityThreshold": int32("Only workloads with this priority or a lower one."),
                },
                default={},
            ),
        },
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
        "When to try the next flavor rather than to borrow or to preempt in this one.",
        {
            "whenCanBorrow": word(
                "What to do with a flavor in which the workload fits if it borrows.",
                "MayStopSearch",
                "TryNextFlavor",
                *(["Borrow"] if legacy else []),
                default="MayStopSearch",
            ),
            "whenCanPreempt": word(
                "What to do with a flavor in which it fits after preemption.",
                "MayStopSearch",
                "TryNextFlavor",
                *(["Preempt"] if legacy else []),
                default="TryNextFlavor",
            ),
            "preference": word(
                "What is better if all flavors were tried. Only if both of the above are TryNextFlavor.",
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
        "One check.",
        {
            "name": text("An AdmissionCheck.", max=316, min=1 if new else None),
            "onFlavors": strings(
                "Only for workloads that get one of these flavors. Empty: for all.",
                each=subdomain(""),
                max=64 if new else None,
                kind="set" if new else "atomic",
            ),
        },
        need=["name"],
    )
    checks = "The checks that must be ready before a workload with quota is admitted."
    return record(
        "Admission checks, for all flavors or for some.",
        {
            "admissionChecks": keyed(checks, check, by="name", min=1, max=64) if new else array(checks, check),
        },
        need=["admissionChecks"] if new else [],
    )


def _concurrent_admission():
    return record(
        "Tries several flavors at a time (alpha).",
        {
            "migration": record(
                "What happens once one of them admits.",
                {
                    "mode": word(
                        "Go on trying for a better flavor, or stay.",
                        "TryPreferredFlavors",
                        "RetainFirstAdmission",
                        max=253,
                    ),
                    "constraints": record(
                        "Limits of TryPreferredFlavors.",
                        {
                            "lastAcceptableFlavorName": subdomain("The last flavor that may be used."),
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
        cohort: subdomain("The Cohort that it shares unused quota with. There need not be an object of that name."),
        "resourceGroups": resource_groups("What this queue may give to workloads."),
        "namespaceSelector": selector("The namespaces whose workloads are taken. Not set: none. Empty: all."),
        "queueingStrategy": word(
            "StrictFIFO: nobody overtakes. BestEffortFIFO: those that fit may overtake one that does not.",
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
    mode = "What decides whose turn it is among the LocalQueues."
    modes = ["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]
    spec["admissionScope"] = record(
        "Fair sharing among the LocalQueues of this queue.",
        {
            "admissionMode": word(mode, *modes) if version == V1BETA2 else text(mode),
        },
        need=["admissionMode"],
    )
    status = {
        "conditions": conditions(version, "Active says whether the queue admits workloads."),
        **_counts(),
        "flavorsReservation": usage("Quota held by workloads.", borrowed=True),
        "flavorsUsage": usage("Quota held by workloads that are admitted.", borrowed=True),
        "fairSharing": fair_sharing_status(usage=version == V1BETA1),
    }
    if version == V1BETA2:
        spec["concurrentAdmissionPolicy"] = _concurrent_admission()
    else:
        spec["admissionChecks"] = strings(
            "Checks for all flavors; admissionChecksStrategy says more.", each=text("", max=316)
        )
        pending = record(
            "A workload.", {"name": text("Its name."), "namespace": text("Its namespace.")}, need=["name", "namespace"]
        )
        status["pendingWorkloadsStatus"] = record(
            "No longer written.",
            {
                "clusterQueuePendingWorkload": array("The first that wait.", pending),
                "lastChangeTime": time("When it was written."),
            },
            need=["lastChangeTime"],
        )
    return {
        "spec": record(
            "What the queue gives out, and how.",
            spec,
            rules=[
                rule(
                    f"has(self.{cohort}) || !has(self.resourceGroups) || self.resourceGroups.all(g, g.flavors.all(f, "
                    "f.resources.all(r, !has(r.borrowingLimit))))",
                    "borrowingLimit must be nil when cohort is empty",
                ),
            ],
        ),
        "status": record("How full it is.", status),
    }


CLUSTER_QUEUE = {
    "kind": "ClusterQueue",
    "about": "A queue of the whole cluster with quotas of its own.",
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
            "Where the cohort stands, and what it adds.",
            {
                parent: subdomain("The cohort above. Not set: none. There need not be an object of that name."),
                "resourceGroups": resource_groups("Quota that belongs to all members together."),
                "fairSharing": fair_sharing(),
            },
        ),
        "status": record("Its share.", {"fairSharing": fair_sharing_status(usage=version != V1BETA2)}),
    }


COHORT = {
    "kind": "Cohort",
    "about": "ClusterQueues and cohorts that lend each other what they do not use.",
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
        "One flavor.",
        {
            "name": subdomain("The ResourceFlavor."),
            "resources": strings("What it is used for.", max=64, kind="set"),
            "nodeLabels": labels("Its node labels.", max=8, atomic=True),
            "nodeTaints": taints("Its taints."),
            "topology": record(
                "Its topology.",
                {
                    "name": subdomain("The Topology."),
                    "levels": strings("Labels from the widest level to the narrowest.", min=1, max=16),
                },
                need=["levels", "name"],
            ),
        },
        need=["name"],
    )
    return keyed("No longer written.", flavor, by="name", max=64)


def _local_queue(version):
    used = "flavorsUsage" if version == V1BETA2 else "flavorUsage"
    status = {
        "conditions": conditions(version, "Active says whether workloads are taken."),
        **_counts(),
        "flavorsReservation": usage("Quota held by workloads of this queue.", borrowed=False),
        used: usage("Quota held by workloads of this queue that are admitted.", borrowed=False),
        "fairSharing": fair_sharing_status(usage=True),
    }
    if version == V1BETA1:
        status["flavors"] = _exposed_flavors()
    return {
        "spec": record(
            "Where its workloads go.",
            {
                "clusterQueue": subdomain("The ClusterQueue that serves it. It cannot be changed.", rules=[IMMUTABLE]),
                "stopPolicy": stop_policy("the queue"),
                "fairSharing": fair_sharing(),
            },
        ),
        "status": record("How full it is.", status),
    }


LOCAL_QUEUE = {
    "kind": "LocalQueue",
    "about": "The entry of a namespace to a ClusterQueue; jobs name it in the label kueue.x-k8s.io/queue-name.",
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
            "The nodes that it means.",
            {
                "nodeLabels": labels("Labels of these nodes; pods get them as node selector.", max=8, atomic=True),
                "nodeTaints": taints(
                    "Taints of these nodes, which a workload must tolerate to use the flavor.",
                    rules=[
                        rule(f"self.all(t, t.effect in {EFFECTS})", EFFECT_RULE),
                    ],
                ),
                "tolerations": tolerations("Tolerations that pods get with this flavor."),
                "topologyName": subdomain("The Topology of these nodes, for topology-aware scheduling."),
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
    "about": "A sort of nodes: what quotas are counted in.",
    "plural": "resourceflavors",
    "short": ["flavor", "flavors", "rf"],
    "fields": _resource_flavor,
}


# ---- Topology ----


def _topology(version):
    level = record(
        "One level.",
        {
            "nodeLabel": label_key("The node label whose value names the domain.", min=1),
        },
        need=["nodeLabel"],
    )
    return {
        "spec": record(
            "The levels.",
            {
                "levels": array(
                    "From the widest (a block, say) to the narrowest (a rack, or a host).",
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
    "about": "How nodes stand together, level by level.",
    "plural": "topologies",
    "short": ["topo"],
    "oldest": V1ALPHA1,
    "fields": _topology,
}
