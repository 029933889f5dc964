# SPDX-License-Identifier: Apache-2.0
"""FluxJob: what a Pod, Job, set or pod group asks of the resource graph, and where it runs.

The kind is fluxqueue's: every object that its own definition accepts is accepted here. So no field is required, and
src/manager/admission/flux/fluxjob.c checks what the schema does not.
"""

from .shapes import (
    REASON,
    V1ALPHA1,
    array,
    flag,
    int32,
    int64,
    record,
    strings,
    text,
    time,
    word,
)

MAX_NAME = 253
MAX_JOBSPEC = 65536
MAX_OBJECT = 1 << 20
MAX_NODES = 10000
MAX_NODE_LIST = 256


def _spec():
    return record(
        "Desired state of the FluxJob.",
        {
            "jobspec": text("Flux jobspec (RFC 14) as YAML or JSON.", max=MAX_JOBSPEC),
            "type": int32(
                "What is wrapped. 0: Pod, 1: Job, 2: Deployment, 3: ReplicaSet, 4: StatefulSet, 5: pod group.",
            )
            | {"enum": [0, 1, 2, 3, 4, 5]},
            "name": text("Name of the wrapped object.", max=MAX_NAME),
            "nodes": int32("Number of pods. fluxqueue counted a node for each."),
            "queue": text("Name of the queue. Unset: the default queue.", max=MAX_NAME),
            "priority": int32("Jobs of higher priority come first."),
            "beginTime": time("Not to be started before this time."),
            "duration": int32("Maximum run time in seconds. 0: not known."),
            "reservation": flag("Resources may be reserved for a later time."),
            "resources": record(
                "Assigned resources. Not used; see status.nodes.",
                {"nodes": strings("Names of nodes.", each=text("", max=MAX_NAME), max=MAX_NODES)},
            ),
            "object": text("Wrapped object. Not used.", form="byte", max=MAX_OBJECT),
        },
    )


def _status():
    node = record(
        "Pods on a node.",
        {
            "name": text("Name of the node.", max=MAX_NAME),
            "pods": int32("Number of pods.", min=0),
            "slot": int32("Kind of slot, if the jobspec has several: its index, from 0.", min=0),
        },
        need=["name"],
    )
    pods = record(
        "Numbers of pods.",
        {
            "expected": int32("Pods of the job.", min=0),
            "bound": int32("Pods that are bound to a node and have not ended.", min=0),
            "finished": int32("Pods that have ended.", min=0),
        },
    )
    return record(
        "Observed state of the FluxJob.",
        {
            "state": word(
                "Pending: not yet in the queue. Waiting: in the queue. Reserved: has nodes at a later time. Running: "
                "has its nodes. Completed, Failed: has ended. Cancelled: withdrawn. Rejected: can never run.",
                "Pending",
                "Waiting",
                "Reserved",
                "Running",
                "Completed",
                "Failed",
                "Cancelled",
                "Rejected",
            ),
            "reason": text("Machine-readable reason of the state, in CamelCase.", max=1024, like=REASON),
            "message": text("Human-readable details of the state.", max=32768),
            "jobid": int64("Number of the job on the resource graph."),
            "queue": text("Name of the queue.", max=MAX_NAME),
            "queuePosition": int32("Position in the queue; 1 is the first.", min=0),
            "estimatedStart": time("Estimated time of the start."),
            "reservation": flag("Resources are reserved from estimatedStart on."),
            "selection": word(
                "How the job was selected. immediate: as the first of its queue. backfill: ahead of others, without "
                "delaying a reservation. reserved: at the time of its reservation.",
                "immediate",
                "backfill",
                "reserved",
            ),
            "nodes": array("Nodes of the job.", node, max=MAX_NODES),
            "nodeList": text("Nodes of the job as a host list, cut where it is long.", max=MAX_NODE_LIST),
            "pods": pods,
            "submittedAt": time("Time of the submission."),
            "startedAt": time("Time of the start."),
            "finishedAt": time("Time of the end."),
            "submitStatus": text(
                "State in terms of fluxqueue: statusNew, statusSubmit, statusError or statusCancel.", max=1024
            ),
            "observedGeneration": int64("Generation of the spec that the status is about.", min=0),
        },
    )


FLUX_JOB = {
    "group": "jobs.converged-computing.org",
    "versions": [V1ALPHA1],
    "storage": V1ALPHA1,
    "kind": "FluxJob",
    "about": "A Pod, Job, set or pod group in the queue of the resource graph.",
    "plural": "fluxjobs",
    "short": ["fj"],
    "scope": "Namespaced",
    "status": True,
    # Start is no date: kubectl prints those as an age, and this time is to come.
    "columns": lambda version: [
        ("State", "string", ".status.state"),
        ("Job ID", "integer", ".status.jobid"),
        ("Pods", "integer", ".status.pods.expected"),
        ("Nodes", "string", ".status.nodeList"),
        ("Position", "integer", ".status.queuePosition"),
        ("Start", "string", ".status.estimatedStart"),
        ("Reason", "string", ".status.reason"),
        ("Queue", "string", ".status.queue", True),
        ("Bound", "integer", ".status.pods.bound", True),
        ("Finished", "integer", ".status.pods.finished", True),
        ("Message", "string", ".status.message", True),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
    "fields": lambda version: {"spec": _spec(), "status": _status()},
}
