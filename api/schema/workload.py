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
    """Only fields that scheduling uses are specified: the schema of a whole pod would be 700 kB, twice. Other
    fields are preserved and validated when pods are created from the template."""
    needs = record(
        "Resource requests and limits.",
        {
            "requests": amounts("Requested amount of each resource."),
            "limits": amounts("Maximum amount of each resource; also the default of the request."),
        },
        open=True,
    )
    container = record(
        "A container of the pod.",
        {
            "name": text("Name of the container."),
            "resources": needs,
        },
        need=["name"],
        open=True,
    )
    return record(
        "Pod template, as in a Job.",
        {
            "metadata": record(
                "Metadata of the pods.",
                {
                    "name": text("Name."),
                    "namespace": text("Namespace."),
                    "labels": labels("Labels."),
                    "annotations": labels("Annotations."),
                    "finalizers": strings("Finalizers."),
                },
            ),
            "spec": record(
                "Spec of the pods.",
                {
                    "containers": keyed("Containers.", container, by="name"),
                    "initContainers": keyed("Init containers.", container, by="name"),
                    "resources": needs,
                    "overhead": amounts("Resource overhead of the runtime."),
                    "nodeSelector": labels("Labels that a node must have."),
                    "tolerations": array("Tolerations.", toleration("A toleration.")),
                    "priorityClassName": text("Name of the PriorityClass."),
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
        "required": name("Level at which all pods must be in one domain."),
        "preferred": name("Level at which all pods should be in one domain."),
        "unconstrained": flag("No constraint on domains, but pods are assigned to them."),
        "podIndexLabel": name("Pod label with the index of the pod.", 317),
        "subGroupIndexLabel": name("Pod label with the index of the subgroup (replicated job).", 317),
        "subGroupCount": int32("Number of subgroups."),
        "podSetGroupName": name("Pod sets with the same group name are assigned the same flavor and domain.", 256),
        "podSetSliceRequiredTopology": name("Level at which each slice of the pod set must be in one domain."),
        "podSetSliceSize": int32("Number of pods in a slice."),
    }
    if new:
        layer = record(
            "A layer of slices.",
            {
                "topology": text("Topology level.", max=63, min=1),
                "size": int32("Number of pods in a slice of this layer.", min=1),
            },
            need=["size", "topology"],
        )
        fields["podsetSliceRequiredTopologyConstraints"] = array("Nested slices, from the largest.", layer, max=3)
    return record("Topology request of the pod set.", fields)


def _podset(version):
    return record(
        "A set of pods with the same template.",
        {
            "name": dns_label("Name of the pod set.", default="main"),
            "template": _pod_template(),
            "count": int32("Number of pods.", min=0, default=1),
            "minCount": int32(
                "Minimum number of pods for partial admission. Allowed for one pod set of a workload.", min=1
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
        "Class that the priority is set from.",
        {
            "group": word("API group of the class.", "kueue.x-k8s.io", "scheduling.k8s.io"),
            "kind": word("Kind of the class.", "WorkloadPriorityClass", "PriorityClass"),
            "name": subdomain("Name of the class.", min=1),
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
            "Sets of pods that are admitted together.", _podset(version), by="name", min=1, max=MAX_PODSETS
        ),
        "queueName": subdomain("Name of the LocalQueue. Immutable while quota is reserved."),
        "priority": int32("Priority; higher values are admitted first and may preempt lower ones."),
        "active": flag(
            "Whether the workload may be admitted. If set to false, an admitted workload is evicted.", default=True
        ),
        "maximumExecutionTimeSeconds": int32(
            "Maximum execution time in seconds, after which the workload is deactivated.", min=1
        ),
    }
    if version == V1BETA1:
        fields["priorityClassName"] = subdomain("Name of the class that the priority is set from.")
        fields["priorityClassSource"] = word(
            "Type of the class.",
            "kueue.x-k8s.io/workloadpriorityclass",
            "scheduling.k8s.io/priorityclass",
            "",
            default="",
        )
        return record(
            "Desired pods, queue and priority.",
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
    gate = record("A preemption gate.", {"name": text("Name of the gate.", max=63, min=1)}, need=["name"])
    fields["preemptionGates"] = keyed(
        "Gates that prevent the workload from preempting others while any of them is closed.", gate, by="name", max=8
    )
    return record(
        "Desired pods, queue and priority.",
        fields,
        rules=[
            rule(
                "!has(self.priorityClassRef) || has(self.priority)",
                "priority should not be nil when priorityClassRef is set",
            ),
        ],
    )


# ---- topology assignment ----


def _one_of(a, b):
    return rule(f"has(self.{a}) != has(self.{b})", f"exactly one of the fields in [{a} {b}] must be set")


def _domains():
    domain = record(
        "A topology domain.",
        {
            "values": strings("Values of the node labels, by level.", min=1, max=16),
            "count": int32("Number of pods in the domain.", min=1),
        },
        need=["count", "values"],
    )
    return record(
        "Assignment of the pods to topology domains.",
        {
            "levels": strings("Node labels of the levels.", min=1, max=16),
            "domains": array("Assigned domains.", domain),
        },
        need=["domains", "levels"],
    )


def _slices():
    def part(description):
        return text(description, max=63)

    values = record(
        "Values of a level.",
        {
            "universal": part("Value that all domains share."),
            "individual": record(
                "Value of each domain: prefix, root and suffix concatenated.",
                {
                    "prefix": part("Common prefix."),
                    "suffix": part("Common suffix."),
                    "roots": strings("Distinct part, by domain.", each=part(""), min=1, max=100000),
                },
                need=["roots"],
            ),
        },
        rules=[_one_of("universal", "individual")],
    )
    counts = record(
        "Number of pods per domain.",
        {
            "universal": int32("Number that all domains share.", min=1),
            "individual": array(
                "Number of each domain.", {"type": "integer", "format": "int32", "minimum": 1}, min=1, max=100000
            ),
        },
        rules=[_one_of("universal", "individual")],
    )
    piece = record(
        "A compact representation of domains.",
        {
            "domainCount": int32("Number of domains.", min=1),
            "valuesPerLevel": array("Values by level.", values, min=1, max=16),
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
        "Assignment of the pods to topology domains.",
        {
            "levels": strings("Node labels of the levels.", each=text("", max=317), min=1, max=16),
            "slices": array("Slices of the assigned domains.", piece, max=1000),
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
    delayed = "Whether the topology assignment is delayed to a second scheduling pass."
    assignment = record(
        "Assignment of a pod set.",
        {
            "name": dns_label("Name of the pod set.", default="main"),
            "flavors": table("Assigned flavor of each resource.", subdomain("")),
            "resourceUsage": amounts("Total resource usage of the pod set."),
            "count": int32("Number of admitted pods.", min=0),
            "topologyAssignment": _slices() if new else _domains(),
            "delayedTopologyRequest": word(delayed, "Pending", "Ready", max=7) if new else text(delayed),
        },
        need=[] if new else ["name"],
    )
    return record(
        "Quota reservation of the workload.",
        {
            "clusterQueue": subdomain("Name of the ClusterQueue."),
            "podSetAssignments": keyed("Assignments by pod set.", assignment, by="name", max=MAX_PODSETS),
        },
        need=[] if new else ["clusterQueue", "podSetAssignments"],
    )


def _admission_checks(version):
    update = record(
        "Modifications of the pods of a pod set.",
        {
            "name": dns_label("Name of the pod set."),
            "labels": labels("Labels to add."),
            "annotations": labels("Annotations to add."),
            "nodeSelector": labels("Node selector to add."),
            "tolerations": tolerations("Tolerations to add."),
        },
        need=["name"],
    )
    check = record(
        "State of an admission check.",
        {
            "name": text("Name of the AdmissionCheck.", max=316, min=1 if version == V1BETA2 else None),
            "state": word(
                "State of the check. Retry releases the quota, Rejected deactivates the workload.",
                "Pending",
                "Ready",
                "Retry",
                "Rejected",
            ),
            "lastTransitionTime": time("Time of the last transition of the state."),
            "message": text("Human-readable details.", max=32768),
            "podSetUpdates": array("Modifications of the pods.", update, max=MAX_PODSETS),
            "requeueAfterSeconds": int32("Number of seconds until the workload is requeued after Retry.", min=0),
            "retryCount": int32("Number of retries.", min=0),
        },
        need=["lastTransitionTime", "message", "name", "state"],
    )
    return keyed("Admission checks of the workload.", check, by="name", max=8)


def _status(version):
    new = version == V1BETA2

    def cluster(description):
        return text(description, max=256 if new else None)

    spent = "accumulatedPastExecutionTimeSeconds" if new else "accumulatedPastExexcutionTimeSeconds"
    eviction = record(
        "Evictions with a common reason.",
        {
            "reason": text("Reason of the evictions.", max=316),
            "underlyingCause": text("Underlying cause.", max=316),
            "count": int32("Number of evictions.", min=0),
        },
        need=["count", "reason", "underlyingCause"],
    )
    named = ["name"]
    node = record("A failed node.", {"name": text("Name of the node.", max=63 if new else None)}, need=named)
    nodes = "Failed nodes that must be replaced in the topology assignment."
    fields = {
        "conditions": conditions(
            version,
            "Observed conditions: QuotaReserved, Admitted, PodsReady, Evicted, Preempted, "
            "Requeued, Finished and others.",
        ),
        "admission": _admission(version),
        "admissionChecks": _admission_checks(version),
        "requeueState": record(
            "Requeue back-off after an eviction.",
            {
                "count": int32("Number of requeues.", min=0),
                "requeueAt": time("Time at which the workload may be admitted again."),
            },
        ),
        "reclaimablePods": keyed(
            "Pods that no longer need their quota.",
            record(
                "Values of a pod set.",
                {
                    "name": dns_label("Name of the pod set."),
                    "count": int32("Number of pods.", min=0),
                },
                need=["count", "name"],
            ),
            by="name",
            max=MAX_PODSETS,
        ),
        "resourceRequests": keyed(
            "Resource requests of a pending workload, as counted against quota.",
            record(
                "Values of a pod set.",
                {
                    "name": dns_label("Name of the pod set."),
                    "resources": amounts("Total resource usage of the pod set."),
                },
                need=named,
            ),
            by="name",
            max=MAX_PODSETS,
        ),
        spent: int32("Execution time in seconds before evictions."),
        "schedulingStats": record(
            "Scheduling statistics.",
            {
                "evictions": keyed(
                    "Evictions by reason.", eviction, by="reason underlyingCause", max=256 if new else None
                ),
            },
        ),
        "unhealthyNodes": keyed(nodes, node, by="name", max=8) if new else array(nodes, node),
        "nominatedClusterNames": strings("MultiKueue: candidate clusters.", each=cluster(""), max=20),
        "clusterName": cluster("MultiKueue: cluster that the workload was dispatched to."),
    }
    if new:
        gate = record(
            "State of a preemption gate.",
            {
                "name": text("Name of the gate.", max=63, min=1),
                "position": word("Position of the gate.", "Closed", "Open"),
                "lastTransitionTime": time("Time of the last transition of the position."),
            },
            need=["lastTransitionTime", "name", "position"],
        )
        fields["preemptionGates"] = keyed("States of the preemption gates.", gate, by="name", max=8)
    return record(
        "Observed state of the workload.",
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
    "about": "A unit of admission: the resource requests of a job. Usually created by the job controllers.",
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
    "about": "A named priority for workloads. It does not affect the priority of pods.",
    "plural": "workloadpriorityclasses",
    "short": ["wpc"],
    "columns": lambda version: [("Value", "integer", ".value")],
    "fields": lambda version: {
        "value": int32("The priority; higher values are admitted first."),
        "description": text("When to use the class.", max=2048 if version == V1BETA2 else None),
    },
    "need": ["value"],
}
