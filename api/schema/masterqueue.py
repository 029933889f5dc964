# SPDX-License-Identifier: Apache-2.0
"""MasterQueue: resource pools that are published over NATS, as flavors of ClusterQueues.

The kind is kueue-nats': whatever its own definition accepts is accepted here, with the same defaults. So there are
ceilings, but no syntax of names and amounts: src/manager/admission/masterqueue.c checks those.
"""

from .shapes import (
    V1BETA2,
    array,
    bare_amount,
    conditions,
    empty,
    int32,
    int64,
    preemption,
    record,
    rule,
    selector,
    strings,
    table,
    text,
    time,
    word,
)

V1 = "v1"
MAX_NAME = 253
MAX_GROUPS = 64
MAX_BORROWERS = 64
MAX_RESOURCES = 32
MAX_POOLS = 256
MAX_STATUS_POOLS = 256
MAX_COVERED = 64  # resources of a ClusterQueue


def _template():
    return record(
        "Policies of all generated ClusterQueues.",
        {
            "cohort": text("Name of the Cohort of all generated ClusterQueues.", max=MAX_NAME),
            "flavorFungibility": record(
                "Whether to try the next flavor before borrowing or preempting in the current one.",
                {
                    "whenCanBorrow": word(
                        "What to do if the workload fits in a flavor with borrowing.",
                        "Borrow",
                        "TryNextFlavor",
                        default="Borrow",
                    ),
                    "whenCanPreempt": word(
                        "What to do if the workload fits in a flavor after preemption.",
                        "Preempt",
                        "TryNextFlavor",
                        default="TryNextFlavor",
                    ),
                },
            ),
            "preemption": preemption(
                record(
                    "Preemption of workloads in other ClusterQueues of the cohort while borrowing. Ignored "
                    "if reclaimWithinCohort is Never.",
                    {
                        "policy": word(
                            "Whether workloads of lower priority may be preempted.",
                            "Never",
                            "LowerPriority",
                            default="LowerPriority",
                        ),
                        "maxPriorityThreshold": int64("Maximum priority of workloads that may be preempted."),
                    },
                ),
            ),
            "stopPolicy": word(
                "None: active. Hold, or Stop: no new workloads are admitted, admitted ones keep running. "
                "HoldAndDrain, or StopAndHold: admitted workloads are evicted too.",
                "None",
                "Hold",
                "HoldAndDrain",
                "Stop",
                "StopAndHold",
                default="None",
            ),
            "queueingStrategy": word(
                "StrictFIFO: the first workload blocks those behind it. BestEffortFIFO: workloads "
                "behind one that does not fit may be admitted.",
                "BestEffortFIFO",
                "StrictFIFO",
                default="BestEffortFIFO",
            ),
            "namespaceSelector": selector("Selects the namespaces whose workloads may be admitted. Empty selects all.")
            | {"default": {}},
        },
        need=["cohort"],
    )


def _nats_flavor():
    return record(
        "Resource pools that publish their resources over NATS. Each pool that is alive becomes a ResourceFlavor "
        "named MASTERQUEUE-GROUP-POOL.",
        {
            "natsConnector": text(
                "NATS servers: nats://[USER:PASSWORD@]HOST[:PORT], nats://TOKEN@HOST, tls://HOST, or several "
                "of them separated by commas. Prefer natsSecret for credentials.",
                max=4096,
            ),
            "natsSecret": record(
                "Secret with credentials for the NATS servers. They take precedence over those in natsConnector.",
                {
                    "name": text(
                        "Name of a Secret in the namespace of the controller manager. Keys: username, password, "
                        "token, user.creds, ca.crt, tls.crt, tls.key. The manager may read masterqueue-nats "
                        "unless its role names others.",
                        max=MAX_NAME,
                    ),
                },
                need=["name"],
            ),
            "natsSubject": text(
                "Subject under which pools publish: the pool POOL on SUBJECT.POOL. No wildcards.", max=1024
            ),
            "virtualNode": text(
                "Name of the virtual node that runs the pods of the pools. Unset: the scheduler is free to choose.",
                max=MAX_NAME,
            ),
            "pools": strings("Names of the pools of the group.", each=text("", max=MAX_NAME), max=MAX_POOLS),
            "poolRegExp": text(
                "Regular expression in Python's syntax. Pools in whose name it is found, anywhere unless it is "
                "anchored, belong to the group.",
                max=1024,
            ),
            "poolTimeout": int64(
                "Seconds of silence, and 5 more, after which the flavor of a pool is dropped. Providers publish "
                "every 30 seconds.",
                default=60,
            ),
        },
        need=["natsConnector", "natsSubject"],
        rules=[
            rule("has(self.pools) != has(self.poolRegExp)", "exactly one of pools and poolRegExp must be set"),
        ],
    )


def _group():
    quotas = record(
        "Ceilings of the quota of each pool, by resource: the smaller of this and what the pool publishes is in "
        "force. Of a localFlavor it is the quota. Further resources may be named.",
        {
            "cpu": bare_amount("CPU.", default="1M"),
            "memory": bare_amount("Memory.", default="1Ei"),
            "pods": bare_amount("Number of pods.", default=100000),
            "nvidia.com/gpu": bare_amount("Number of GPUs.", default=10000),
        },
        open=True,
    ) | {"maxProperties": MAX_RESOURCES}
    borrower = record(
        "A ClusterQueue that borrows.",
        {
            "queue": text("Name of the ClusterQueue. It is generated.", max=MAX_NAME),
            "lendingLimit": table(
                "Maximum amounts that the queue may borrow from each pool, by resource; unlimited where unset.",
                bare_amount(""),
                max=MAX_RESOURCES,
            )
            | {"default": {}},
        },
        need=["queue"],
    )
    return record(
        "A group of equivalent flavors: either natsFlavor or localFlavor.",
        {
            "name": text(
                "Name of the group. With localFlavor, the name of the ResourceFlavor.",
                max=MAX_NAME,
            ),
            "natsFlavor": _nats_flavor(),
            "localFlavor": empty("The ResourceFlavor of the name of the group. It is not generated."),
            "nominalQuota": quotas,
            "canLendTo": array("ClusterQueues that may borrow from the group.", borrower, max=MAX_BORROWERS),
        },
        need=["name"],
    )


def _amounts(description):
    return table(description, bare_amount(""), max=MAX_COVERED)


def _status():
    pool = record(
        "State of a pool.",
        {
            "name": text("Name of the pool.", max=MAX_NAME),
            "group": text("Group of the pool.", max=MAX_NAME),
            "flavor": text("Name of its ResourceFlavor.", max=MAX_NAME),
            "state": word(
                "Live: published in time. Late: silent, and not dropped yet. Expired: dropped. Refused: no flavor "
                "can be made of it, see message.",
                "Live",
                "Late",
                "Expired",
                "Refused",
            ),
            "lastSeen": time("Time of the last message."),
            "periodSeconds": int32("Observed seconds between messages.", min=0),
            "published": _amounts("Amounts in the last message."),
            "quotas": _amounts("Quotas in force."),
            "usage": _amounts("Amounts that admitted workloads use."),
            "message": text("Human-readable details.", max=1024),
        },
        need=["name"],
    )
    return record(
        "Observed state of the MasterQueue.",
        {
            "observedGeneration": int64("Generation of the spec that the status is about.", min=0),
            "conditions": conditions(
                V1BETA2,
                "Observed conditions. NatsConnected reports whether the NATS servers are connected, Ready whether "
                "the ClusterQueues are as the spec and the pools require.",
            ),
            "pools": array("Pools in the order of their flavors.", pool, max=MAX_STATUS_POOLS),
            "poolCount": int32("Number of known pools.", min=0),
            "livePools": int32("Number of pools with a flavor in the ClusterQueues.", min=0),
            "queueCount": int32("Number of generated ClusterQueues.", min=0),
            "ignoredPools": int32("Number of pools beyond those that are kept.", min=0),
            "servers": text("NATS servers, without credentials.", max=16384),
        },
    )


def _master_queue(version):
    return {
        "spec": record(
            "Desired pools and queues.",
            {
                "template": _template(),
                "flavors": array(
                    "Groups of flavors, in the order in which they are tried.",
                    _group(),
                    max=MAX_GROUPS,
                ),
            },
        ),
        "status": _status(),
    }


MASTER_QUEUE = {
    "group": "vk.io",
    "versions": [V1],
    "storage": V1,
    "kind": "MasterQueue",
    "about": "Resource pools of other sites, published over NATS, as flavors of a ClusterQueue that lends to others.",
    "plural": "masterqueues",
    "short": ["mq"],
    "status": True,
    "columns": lambda version: [
        ("Pools", "integer", ".status.poolCount"),
        ("Live", "integer", ".status.livePools"),
        ("Queues", "integer", ".status.queueCount"),
        ("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ],
    "fields": _master_queue,
}
