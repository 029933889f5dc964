# SPDX-License-Identifier: Apache-2.0
"""Workload, and WorkloadPriorityClass."""

from .shapes import (
    V1BETA1,
    V1BETA2,
    amounts,
    array,
    conditions,
    dns_label,
    flag,
    int32,
    keyed,
    labels,
    record,
    rule,
    strings,
    subdomain,
    table,
    text,
    time,
    toleration,
    tolerations,
    unchanged,
    word,
)

MAX_PODSETS = 18


# ---- the pods ----


def _pod_template():
    """Only what decides is spelled out: all of a pod would be 700 kB of schema, twice. The rest is kept as it is
    and checked when pods are made of it."""
    needs = record(
        "What it needs.",
        {
            "requests": amounts("What it is given."),
            "limits": amounts("What it may use; also the request, where there is none."),
        },
        open=True,
    )
    container = record(
        "A container.",
        {
            "name": text("Its name."),
            "resources": needs,
        },
        need=["name"],
        open=True,
    )
    return record(
        "The pods, as in the template of a Job.",
        {
            "metadata": record(
                "Their metadata.",
                {
                    "name": text("A name."),
                    "namespace": text("A namespace."),
                    "labels": labels("Labels."),
                    "annotations": labels("Annotations."),
                    "finalizers": strings("Finalizers."),
                },
            ),
            "spec": record(
                "Their spec, as of a Pod.",
                {
                    "containers": keyed("The containers.", container, by="name"),
                    "initContainers": keyed("Containers that run before.", container, by="name"),
                    "resources": needs,
                    "overhead": amounts("What the runtime itself takes."),
                    "nodeSelector": labels("Labels of the nodes to run on."),
                    "tolerations": array("Taints that are tolerated.", toleration("One toleration.")),
                    "priorityClassName": text("A PriorityClass."),
                },
                need=["containers"],
                open=True,
            ),
        },
    )


def _topology_request(version):
    new = version == V1BETA2

    def name(description, max=63):
        return text(description, max=max if new else None)

    fields = {
        "required": name("The level at which all pods must be in one domain."),
        "preferred": name("The level at which they should be."),
        "unconstrained": flag("Any place will do, but the places are planned."),
        "podIndexLabel": name("The label with the index of a pod.", 317),
        "subGroupIndexLabel": name("The label with the index of a group of pods (replicated jobs).", 317),
        "subGroupCount": int32("How many such groups there are."),
        "podSetGroupName": name("Podsets of one group name share flavor and domain.", 256),
        "podSetSliceRequiredTopology": name("The level at which each slice of the podset must be in one domain."),
        "podSetSliceSize": int32("How many pods a slice has."),
    }
    if new:
        layer = record(
            "One layer.",
            {
                "topology": text("The level.", max=63, min=1),
                "size": int32("How many pods a slice of it has.", min=1),
            },
            need=["size", "topology"],
        )
        fields["podsetSliceRequiredTopologyConstraints"] = array("Slices within slices, from the widest.", layer, max=3)
    return record("How near to each other the pods must be.", fields)


def _podset(version):
    return record(
        "Some number of pods made from one template.",
        {
            "name": dns_label("The name of the podset.", default="main"),
            "template": _pod_template(),
            "count": int32("How many pods.", min=0, default=1),
            "minCount": int32(
                "The least number of pods it can run with, if fewer than count will do (partial "
                "admission). For one podset of a workload only.",
                min=1,
            ),
            "topologyRequest": _topology_request(version),
        },
        need=["template"] + (["count"] if version == V1BETA1 else []),
        rules=[
            rule(
                "!has(self.minCount) || self.minCount <= self.count",
                "minCount should be positive and less or equal to count",
            ),
        ],
    )


# ---- spec ----


def _priority_class_ref():
    return record(
        "The class that the priority comes from.",
        {
            "group": word("Its group.", "kueue.x-k8s.io", "scheduling.k8s.io"),
            "kind": word("Its kind.", "WorkloadPriorityClass", "PriorityClass"),
            "name": subdomain("Its name.", min=1),
        },
        need=["group", "kind", "name"],
        rules=[
            rule(
                "self.group != 'scheduling.k8s.io' || self.kind == 'PriorityClass'",
                "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
            ),
            rule(
                "self.group != 'kueue.x-k8s.io' || self.kind == 'WorkloadPriorityClass'",
                "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
            ),
        ],
    )


def _spec(version):
    fields = {
        "podSets": keyed(
            "The sets of pods that run, and wait, together.", _podset(version), by="name", min=1, max=MAX_PODSETS
        ),
        "queueName": subdomain("The LocalQueue. It cannot be changed while quota is reserved."),
        "priority": int32("Workloads with a higher priority go first; with preemption, at the cost of others."),
        "active": flag("False: not to be admitted, and evicted if it runs.", default=True),
        "maximumExecutionTimeSeconds": int32("How long it may run before it is stopped for good.", min=1),
    }
    if version == V1BETA1:
        fields["priorityClassName"] = subdomain("The class that the priority comes from.")
        fields["priorityClassSource"] = word(
            "What sort of class that is.",
            "kueue.x-k8s.io/workloadpriorityclass",
            "scheduling.k8s.io/priorityclass",
            "",
            default="",
        )
        return record(
            "What is to run, and in which queue.",
            fields,
            need=["podSets"],
            rules=[
                rule(
                    "!has(self.priorityClassName) || has(self.priority)",
                    "priority should not be nil when priorityClassName is set",
                ),
            ],
        )
    fields["priorityClassRef"] = _priority_class_ref()
    gate = record("One gate.", {"name": text("Its name.", max=63, min=1)}, need=["name"])
    fields["preemptionGates"] = keyed(
        "While one of these is closed, the workload preempts nobody.", gate, by="name", max=8
    )
    return record(
        "What is to run, and in which queue.",
        fields,
        rules=[
            rule(
                "!has(self.priorityClassRef) || has(self.priority)",
                "priority should not be nil when priorityClassRef is set",
            ),
        ],
    )


# ---- where the pods stand ----


def _one_of(a, b):
    return rule(f"has(self.{a}) != has(self.{b})", f"exactly one of the fields in [{a} {b}] must be set")


def _domains():
    domain = record(
        "One domain.",
        {
            "values": strings("Its value at each level.", min=1, max=16),
            "count": int32("How many pods.", min=1),
        },
        need=["count", "values"],
    )
    return record(
        "Where the pods stand.",
        {
            "levels": strings("Node labels.", min=1, max=16),
            "domains": array("Domain by domain.", domain),
        },
        need=["domains", "levels"],
    )


def _slices():
    def part(description):
        return text(description, max=63)

    values = record(
        "The values of one level.",
        {
            "universal": part("One value for all domains."),
            "individual": record(
                "A value each: prefix, root and suffix joined.",
                {
                    "prefix": part("What all begin with."),
                    "suffix": part("What all end with."),
                    "roots": strings("What differs, one per domain.", each=part(""), min=1, max=100000),
                },
                need=["roots"],
            ),
        },
        rules=[_one_of("universal", "individual")],
    )
    counts = record(
        "Pods per domain.",
        {
            "universal": int32("The same in all.", min=1),
            "individual": array(
                "One per domain.", {"type": "integer", "format": "int32", "minimum": 1}, min=1, max=100000
            ),
        },
        rules=[_one_of("universal", "individual")],
    )
    piece = record(
        "Domains that have something in common.",
        {
            "domainCount": int32("How many.", min=1),
            "valuesPerLevel": array("One entry per level.", values, min=1, max=16),
            "podCounts": counts,
        },
        need=["domainCount", "podCounts", "valuesPerLevel"],
        rules=[
            rule(
                "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
                "podCounts.individual must have length equal to domainCount",
            ),
            rule(
                "self.valuesPerLevel.all(v, !has(v.individual) || size(v.individual.roots) == self.domainCount)",
                "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this "
                "TopologyAssignmentSlice",
            ),
        ],
    )
    return record(
        "Where the pods stand.",
        {
            "levels": strings("Node labels.", each=text("", max=317), min=1, max=16),
            "slices": array("All domains, some at a time.", piece, max=1000),
        },
        need=["levels", "slices"],
        rules=[
            rule(
                "self.slices.all(s, size(s.valuesPerLevel) == size(self.levels))",
                "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment",
            ),
        ],
    )


# ---- status ----


def _admission(version):
    new = version == V1BETA2
    delayed = "Whether the topology is decided later, by a second look."
    assignment = record(
        "What one podset got.",
        {
            "name": dns_label("The podset.", default="main"),
            "flavors": table("The flavor of each resource.", subdomain("")),
            "resourceUsage": amounts("What all pods of it take."),
            "count": int32("How many pods were admitted.", min=0),
            "topologyAssignment": _slices() if new else _domains(),
            "delayedTopologyRequest": word(delayed, "Pending", "Ready", max=7) if new else text(delayed),
        },
        need=[] if new else ["name"],
    )
    return record(
        "The quota that is reserved for it.",
        {
            "clusterQueue": subdomain("The ClusterQueue that gave it."),
            "podSetAssignments": keyed("Podset by podset.", assignment, by="name", max=MAX_PODSETS),
        },
        need=[] if new else ["clusterQueue", "podSetAssignments"],
    )


def _admission_checks(version):
    update = record(
        "What pods of one podset get.",
        {
            "name": dns_label("The podset."),
            "labels": labels("Labels."),
            "annotations": labels("Annotations."),
            "nodeSelector": labels("Node selector."),
            "tolerations": tolerations("Tolerations."),
        },
        need=["name"],
    )
    check = record(
        "One check.",
        {
            "name": text("The AdmissionCheck.", max=316, min=1 if version == V1BETA2 else None),
            "state": word("Retry gives the quota back, Rejected deactivates.", "Pending", "Ready", "Retry", "Rejected"),
            "lastTransitionTime": time("When the state last changed."),
            "message": text("For people.", max=32768),
            "podSetUpdates": array("What the check wants of the pods.", update, max=MAX_PODSETS),
            "requeueAfterSeconds": int32("How long to wait after Retry.", min=0),
            "retryCount": int32("How often it was tried again.", min=0),
        },
        need=["lastTransitionTime", "message", "name", "state"],
    )
    return keyed("The admission checks that this workload has to pass.", check, by="name", max=8)


def _status(version):
    new = version == V1BETA2

    def cluster(description):
        return text(description, max=256 if new else None)

    spent = "accumulatedPastExecutionTimeSeconds" if new else "accumulatedPastExexcutionTimeSeconds"
    eviction = record(
        "One sort.",
        {
            "reason": text("Why.", max=316),
            "underlyingCause": text("What was behind it.", max=316),
            "count": int32("How often.", min=0),
        },
        need=["count", "reason", "underlyingCause"],
    )
    named = ["name"]
    node = record("One node.", {"name": text("Its name.", max=63 if new else None)}, need=named)
    nodes = "Nodes that failed under it and are to be replaced."
    fields = {
        "conditions": conditions(
            version, "QuotaReserved, Admitted, PodsReady, Evicted, Preempted, Requeued, Finished and others."
        ),
        "admission": _admission(version),
        "admissionChecks": _admission_checks(version),
        "requeueState": record(
            "Waiting after an eviction.",
            {
                "count": int32("How often it was put back.", min=0),
                "requeueAt": time("When it may be tried again."),
            },
        ),
        "reclaimablePods": keyed(
            "Pods that need their quota no longer.",
            record(
                "Of one podset.",
                {
                    "name": dns_label("The podset."),
                    "count": int32("How many.", min=0),
                },
                need=["count", "name"],
            ),
            by="name",
            max=MAX_PODSETS,
        ),
        "resourceRequests": keyed(
            "What was asked for, as it is counted, while it waits.",
            record(
                "Of one podset.",
                {
                    "name": dns_label("The podset."),
                    "resources": amounts("What all pods of it take."),
                },
                need=named,
            ),
            by="name",
            max=MAX_PODSETS,
        ),
        spent: int32("How long it ran before evictions."),
        "schedulingStats": record(
            "What it went through.",
            {
                "evictions": keyed(
                    "Evictions by reason.", eviction, by="reason underlyingCause", max=256 if new else None
                ),
            },
        ),
        "unhealthyNodes": keyed(nodes, node, by="name", max=8) if new else array(nodes, node),
        "nominatedClusterNames": strings("MultiKueue: clusters that may take it.", each=cluster(""), max=20),
        "clusterName": cluster("MultiKueue: the cluster that took it."),
    }
    if new:
        gate = record(
            "One gate.",
            {
                "name": text("Its name.", max=63, min=1),
                "position": word("Where it stands.", "Closed", "Open"),
                "lastTransitionTime": time("Since when."),
            },
            need=["lastTransitionTime", "name", "position"],
        )
        fields["preemptionGates"] = keyed("How the preemption gates stand.", gate, by="name", max=8)
    return record(
        "How far it is.",
        fields,
        rules=[
            rule(
                "!has(self.clusterName) || !has(oldSelf.clusterName) || self.clusterName == oldSelf.clusterName",
                "clusterName is immutable once set",
            ),
            rule(
                "!has(self.clusterName) || !has(self.nominatedClusterNames) || size(self.nominatedClusterNames) == 0",
                "clusterName and nominatedClusterNames are mutually exclusive",
            ),
        ],
    )


# ---- rules over the whole object ----


def _lacks(who, condition):
    """Written out, since the API server estimates what an optional list costs without its maxItems."""
    return (
        f"!has({who}.status) || !has({who}.status.conditions) || !{who}.status.conditions.exists(c, "
        f"c.type == '{condition}' && c.status == 'True')"
    )


def _before(condition, then):
    return f"{_lacks('oldSelf', condition)} || {then}"


def _before_and_after(condition, then):
    return _before(condition, f"{_lacks('self', condition)} || {then}")


def _class_rules(version):
    suffix = "is immutable while workload quota reserved"
    if version == V1BETA1:
        both = "has(self.spec.{0}) && has(oldSelf.spec.{0})"
        source = both.format("priorityClassSource")
        name = both.format("priorityClassName")
        return [
            rule(
                _before(
                    "QuotaReserved", f"!({source}) || self.spec.priorityClassSource == oldSelf.spec.priorityClassSource"
                ),
                f"priorityClassSource {suffix}",
            ),
            rule(
                _before(
                    "QuotaReserved",
                    f"!({source} && {name}) || self.spec.priorityClassSource == "
                    "'kueue.x-k8s.io/workloadpriorityclass' || self.spec.priorityClassName == "
                    "oldSelf.spec.priorityClassName",
                ),
                f"priorityClassName {suffix} and priorityClassSource is not equal to "
                "kueue.x-k8s.io/workloadpriorityclass",
            ),
        ]
    ref = "has(self.spec.priorityClassRef)", "has(oldSelf.spec.priorityClassRef)"
    either_not = f"!{ref[0]} || !{ref[1]}"

    def frozen(part):
        return f"{either_not} || self.spec.priorityClassRef.{part} == oldSelf.spec.priorityClassRef.{part}"

    return [
        rule(_before("QuotaReserved", f"{ref[0]} == {ref[1]}"), f"priorityClassRef {suffix}"),
        rule(_before("QuotaReserved", frozen("group")), f"priorityClassRef.group {suffix}"),
        rule(_before("QuotaReserved", frozen("kind")), f"priorityClassRef.kind {suffix}"),
        rule(
            _before(
                "QuotaReserved",
                f"{frozen('name')} || self.spec.priorityClassRef.group != 'scheduling.k8s.io' || "
                "self.spec.priorityClassRef.kind != 'PriorityClass'",
            ),
            "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved",
        ),
    ]


def _rules(version):
    return [
        rule(
            f"{_lacks('self', 'QuotaReserved')} || !has(self.status.admission) || "
            "size(self.spec.podSets) == size(self.status.admission.podSetAssignments)",
            "podSetAssignments must have the same number of podSets as the spec",
        ),
        *_class_rules(version),
        rule(
            _before_and_after("QuotaReserved", unchanged("spec.queueName")),
            "queueName is immutable while workload quota reserved",
        ),
        rule(
            _before_and_after("Admitted", unchanged("spec.maximumExecutionTimeSeconds")),
            "maximumExecutionTimeSeconds is immutable while workload quota reserved",
        ),
    ]


WORKLOAD = {
    "kind": "Workload",
    "about": "What a job asks of the queue. Mostly made by Kueue's job controllers.",
    "plural": "workloads",
    "short": ["wl", "kwl", "kueueworkload", "kueueworkloads"],
    "scope": "Namespaced",
    "status": True,
    "conversion": "Webhook",
    "columns": lambda version: [
        ("Queue", "string", ".spec.queueName"),
        ("Reserved in", "string", ".status.admission.clusterQueue"),
        ("Admitted", "string", ".status.conditions[?(@.type=='Admitted')].status"),
        ("Finished", "string", ".status.conditions[?(@.type=='Finished')].status"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
    "selectable": lambda version: [".status.admission.clusterQueue"] if version == V1BETA2 else [],
    "fields": lambda version: {"spec": _spec(version), "status": _status(version)},
    "rules": _rules,
}

PRIORITY_CLASS = {
    "kind": "WorkloadPriorityClass",
    "about": "A priority with a name, for workloads only: pods keep the priority they have.",
    "plural": "workloadpriorityclasses",
    "short": ["wpc"],
    "columns": lambda version: [("Value", "integer", ".value")],
    "fields": lambda version: {
        "value": int32("The priority: the higher, the sooner."),
        "description": text("When to use it.", max=2048 if version == V1BETA2 else None),
    },
    "need": ["value"],
}
