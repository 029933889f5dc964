# SPDX-License-Identifier: Apache-2.0
"""From kueue-nats to Sluice, as docs/masterqueue.md says: queues and flavors that kueue-nats left are taken over as
they are, and the work in them runs on. On a control plane with `sluice serve`, and on `sluice up`.
"""

import re
import time

from kube import until
from natsd import payload
from pools import GRACE, JOBS, MASTERS, NODE, PATIENCE, POOL, RESOURCES, TIMEOUT, V1BETA1, VIRTUAL, took
from sluice import KUEUE, ROOT, condition, say, show

TIME_LIMIT = 150
KOPF = "kopf.zalando.org/KopfFinalizerMarker"
NOTE = "masterqueues.vk.io/pool"  # the annotation in which Sluice keeps what a pool published
LABELS = {"team": "infra"}  # of the MasterQueues: kueue-nats copies them
sluice = None


# ---- what kueue-nats leaves ----


def master(bed, name, nats, timeout, lend):
    source = {"natsConnector": nats.connector, "natsSubject": name, "virtualNode": NODE, "poolRegExp": ".*"}
    group = {"name": "g", "natsFlavor": {**source, "poolTimeout": timeout}, "nominalQuota": {"pods": 100}}
    group["canLendTo"] = [{"queue": lend, "lendingLimit": {"pods": 30}}]
    meta = {"name": name, "labels": LABELS, "finalizers": [KOPF]}
    spec = {"template": {"cohort": name}, "flavors": [group]}
    bed.create(MASTERS, {"apiVersion": "vk.io/v1", "kind": "MasterQueue", "metadata": meta, "spec": spec})
    bed.local_queue(lend)


def owned(bed, name, labels):
    """The metadata of an object that kopf has adopted."""
    of = {"apiVersion": "vk.io/v1", "kind": "MasterQueue", "name": name, "uid": bed.state(name)["metadata"]["uid"]}
    return {"labels": {**labels, **LABELS}, "ownerReferences": [{**of, "controller": True, "blockOwnerDeletion": True}]}


def put(bed, plural, name, meta, spec):
    """Creates an object, or replaces one but for its identity."""
    kind = {"resourceflavors": "ResourceFlavor", "clusterqueues": "ClusterQueue"}[plural]
    thing = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}
    there = bed.get(f"{V1BETA1}/{plural}/{name}")
    if not there:
        bed.create(f"{V1BETA1}/{plural}", thing)
        return
    for key in ("resourceVersion", "uid", "finalizers"):  # finalizers: of the queue manager
        if key in there["metadata"]:
            thing["metadata"][key] = there["metadata"][key]
    bed.api.request("PUT", f"{V1BETA1}/{plural}/{name}", thing)


def left_flavor(bed, name, pool, said):
    taints = [{"key": VIRTUAL, "value": "true", "effect": "NoSchedule"}]
    spec = {"nodeLabels": {"kubernetes.io/hostname": NODE}, "nodeTaints": taints}
    spec["tolerations"] = [{"key": POOL, "value": pool, "effect": "NoSchedule"}]
    labels = dict(label.split("=") for label in said["labels"])
    put(bed, "resourceflavors", f"{name}-g-{pool}", owned(bed, name, labels), spec)


def left_queue(bed, name, queue, pools, borrows):
    """pools: what each publishes, in the order in which they were heard first."""

    def resources(said):
        for resource in RESOURCES:
            amount = said["quotas"][resource]
            if borrows:
                limit = {"borrowingLimit": 30} if resource == "pods" else {}
                yield {"name": resource, "nominalQuota": 0, **limit}
            else:
                yield {"name": resource, "nominalQuota": amount}

    flavors = [{"name": f"{name}-g-{pool}", "resources": list(resources(said))} for pool, said in pools.items()]
    spec = {"cohort": name, "stopPolicy": "None", "queueingStrategy": "BestEffortFIFO", "namespaceSelector": {}}
    spec["resourceGroups"] = [{"coveredResources": RESOURCES, "flavors": flavors}]
    put(bed, "clusterqueues", queue, owned(bed, name, {}), spec)


def leave(bed, name, lend, pools):
    for pool, said in pools.items():
        left_flavor(bed, name, pool, said)
    left_queue(bed, name, name, pools, False)
    left_queue(bed, name, lend, pools, True)


# ---- the change ----


def paths(name, *pools):
    queues = [f"{KUEUE}/clusterqueues/{queue}" for queue in (name, f"{name}-team")]
    return queues + [f"{KUEUE}/resourceflavors/{name}-g-{pool}" for pool in pools]


def generations(bed, name, *pools):
    return [bed.api.get(path)["metadata"]["generation"] for path in paths(name, *pools)]


def note(bed, flavor):
    return bed.flavor(flavor)["metadata"].get("annotations", {}).get(NOTE)


def test_taken_over(bed, nats, providers):
    """work runs on and is admitted, no queue is held before its time, and what is right is not written"""
    said = {
        "taken": {"early": payload(pods=2, labels=["site=one"]), "late": payload(pods=2)},
        "turned": {"z": payload(pods=2), "a": payload(pods=2)},  # heard in this order
        "silent": {"p": payload(pods=2)},
    }
    for name, pools in said.items():
        for pool, what in pools.items():
            providers.publish(f"{name}.{pool}", what)
        master(bed, name, nats, 3 if name == "silent" else 30, f"{name}-team")
    for name, pools in said.items():
        bed.await_flavors(f"{name}-team", *(f"{name}-g-{pool}" for pool in sorted(pools)))
        bed.submit(f"{name}-runs", f"{name}-team")
        bed.await_running(f"{name}-runs")
    with bed.undisturbed(*(queue for name in ("taken", "turned") for queue in (name, f"{name}-team"))):
        with bed.without_masterqueues():
            for name, pools in said.items():
                providers.silence(*(f"{name}.{pool}" for pool in pools))
                leave(bed, name, f"{name}-team", pools)
            left_flavor(bed, "taken", "dead", payload())  # of a pool that is no more: never deleted there
            assert note(bed, "taken-g-early") is None and note(bed, "taken-g-late") is None
            before = generations(bed, "taken", "early", "late")
            versions = bed.versions(*paths("taken", "early", "late"))
        began = time.monotonic()

        # Before any message: all as it was, and what waits is admitted.
        for name in said:
            bed.await_condition(name, "NatsConnected", "True")
        assert bed.has("taken-team", "taken-g-early", "taken-g-late")
        assert bed.has("turned-team", "turned-g-z", "turned-g-a")
        for name in ("taken", "turned"):
            bed.submit(f"{name}-waits", f"{name}-team")
            bed.await_admitted(f"{name}-waits")
        assert generations(bed, "taken", "early", "late") == before
        assert bed.versions(*paths("taken", "early", "late")[2:]) == versions[2:]
        said_so = condition(bed.state("taken"), "Ready")
        assert said_so["status"] == "True" and "stay unchanged" in said_so["message"], said_so

        # A pool that stays silent is dropped after its time, not before; what runs there goes on.
        until(lambda: not bed.has("silent", "silent-g-p"), PATIENCE, "a queue without pools")
        took(began, "dropped")
        assert time.monotonic() - began >= TIMEOUT + GRACE - 1
        assert bed.queue("silent")["spec"]["stopPolicy"] == "Hold"
        assert len(bed.running("silent-runs")) == 1 and bed.flavor("silent-g-p")

        # They publish: nothing changes but the annotation, and the order where it was that of the first messages.
        for name in ("taken", "turned"):
            for pool, what in said[name].items():
                providers.publish(f"{name}.{pool}", what)
        until(lambda: note(bed, "taken-g-early") and note(bed, "taken-g-late"), PATIENCE, "the annotations")
        bed.await_flavors("turned", "turned-g-a", "turned-g-z")
        bed.await_flavors("turned-team", "turned-g-a", "turned-g-z")
        bed.gone(f"{KUEUE}/resourceflavors/taken-g-dead")
        assert bed.flavor("taken-g-early")["metadata"]["labels"] == {"site": "one", **LABELS}
        assert generations(bed, "taken", "early", "late") == before
        assert generations(bed, "turned")[0] >= 2
        for name in ("taken", "turned"):
            assert bed.get(f"{JOBS}/{name}-runs")["status"].get("failed", 0) == 0
            assert len(bed.running(f"{name}-runs")) == 1
    finish(bed, said)


def finish(bed, said):
    """the finalizer of kopf, with the command of the page"""
    bed.finish(*(f"{name}-runs" for name in said), "taken-waits", "turned-waits")
    page = (ROOT / "docs" / "masterqueue.md").read_text()
    command = re.search(r"`kubectl (patch mq NAME [^`]*)`", page)[1]
    for name in said:
        bed.delete(f"{MASTERS}/{name}")
    time.sleep(1)
    for name in said:
        assert bed.state(name)["metadata"]["finalizers"] == [KOPF]
        words = command.replace("NAME", name).replace("'", "").split()
        show(bed.api, *words)
    for name in said:
        bed.gone(f"{MASTERS}/{name}", *paths(name, *said[name]))
    say("# nothing is left")
