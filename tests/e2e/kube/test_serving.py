# SPDX-License-Identifier: Apache-2.0
"""Deployments, StatefulSets and LeaderWorkerSets in a queue, made larger and smaller than the quota allows.

The pods of the first two are made by the control plane itself, those of the third by the test.
"""

import json
import time

import pytest

import sluice as bed
from kube import HERE, Failure, until
from sluice import KUEUE, Sluice, condition, holds, say, steps

PATIENCE = 90  # seconds; each takes one or two on a quiet machine
QUOTA = 4
LWS = "leaderworkerset.sigs.k8s.io"
SETS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"
TIME_LIMIT = 200
cluster = sluice = None
FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: plain}\n"


def show(*args, **more):
    return bed.show(cluster, *args, **more)


def queue(name):
    """A ClusterQueue of its own, and the LocalQueue to it."""
    show(
        "apply",
        "-f",
        "-",
        input=f"""apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: plain
      resources: [{{name: cpu, nominalQuota: {QUOTA}}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{namespace: default, name: {name}}}
spec: {{clusterQueue: {name}}}
""",
        quiet=True,
    )


def a_set(kind, name, replicas, more=""):
    show(
        "apply",
        "-f",
        "-",
        input=f"""apiVersion: apps/v1
kind: {kind}
metadata:
  name: {name}
  labels: {{kueue.x-k8s.io/queue-name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
{more}  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {{name: main, image: none, command: [sleep, infinity], resources: {{requests: {{cpu: 1}}}}}}
""",
    )


def pods(name, label="app"):
    return cluster.get(f"/api/v1/namespaces/default/pods?labelSelector={label}={name}")["items"]


def runs(pod):
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def gated(pod):
    return bool(pod["spec"].get("schedulingGates"))


def uids(name):
    return {p["metadata"]["uid"] for p in pods(name) if runs(p)}


def workloads(name):
    return [
        w for w in cluster.get(f"{KUEUE}/namespaces/default/workloads")["items"] if w["spec"].get("queueName") == name
    ]


def used(name):
    """What the queue counts, in cpus."""
    found = cluster.get(f"{KUEUE}/clusterqueues/{name}").get("status", {}).get("flavorsReservation") or []
    return sum(int(r["total"]) for f in found for r in f["resources"])


def tell(name, label="app"):
    sizes = [
        (
            w["spec"]["podSets"][0]["count"],
            condition(w, "QuotaReserved")["reason"],
            condition(w, "QuotaReserved")["message"],
        )
        for w in workloads(name)
    ]
    return (
        f"{[(p['metadata']['name'], p['status'].get('phase'), gated(p)) for p in pods(name, label)]}\n"
        f"{sizes}\n{used(name)} used"
    )


def settles(name, running, waiting, quota, label="app"):
    """Until so many pods run and so many wait, and the queue counts as much."""

    def question():
        found = pods(name, label)
        return (sum(map(runs, found)), sum(map(gated, found)), len(found), used(name)) == (
            running,
            waiting,
            running + waiting,
            quota,
        )

    began = time.monotonic()
    try:
        until(question, PATIENCE, f"{running} running and {waiting} waiting pods of {name}, {quota} cpus in use")
    except Failure as error:
        raise Failure(f"{error}\n{tell(name, label)}") from None
    say(f"# after {time.monotonic() - began:.1f} s: {running} pods of {name} run, {waiting} wait, {quota} cpus in use")


def scale(kind, name, n):
    show("scale", kind, name, f"--replicas={n}")


# ---- the tests ----


@pytest.fixture(scope="module", autouse=True)
def serving(node_cluster):
    """The cluster, our kinds, and sluice beside it."""
    global cluster, sluice
    cluster = node_cluster
    cluster.add_nodes(2)
    frameworks = ["deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"]
    with Sluice(cluster, frameworks=frameworks) as sluice:
        show("apply", "-f", "-", input=FLAVOR)
        yield


def test_statefulset():
    """a set grows and shrinks, rolls over, and goes"""
    steps(sizes, by_apply, deleted)


def sizes():
    """3 -> 5 -> 1 -> 0 -> 2, with room for 4: what runs goes on, what does not fit waits as a whole"""
    queue("web")
    a_set("StatefulSet", "web", 3, "  serviceName: web\n")
    settles("web", 3, 0, 3)
    before = uids("web")
    scale("statefulset", "web", 5)
    settles("web", 3, 1, 3)  # the fifth is not made before the fourth is ready

    def waits():
        return [
            (w["spec"]["podSets"][0]["count"], condition(w, "QuotaReserved")["message"])
            for w in workloads("web")
            if not holds(w, "QuotaReserved")
        ]

    why = until(
        lambda: len(now := waits()) == 1 and now[0][0] == 2 and now[0][1],
        PATIENCE,
        "one that waits for two, with a reason",
    )
    say(f"# {why}")
    assert uids("web") == before, "a pod that ran was replaced"
    scale("statefulset", "web", 1)
    settles("web", 1, 0, 1)
    assert uids("web") <= before
    scale("statefulset", "web", 0)
    settles("web", 0, 0, 0)
    held = until(
        lambda: (
            len(now := workloads("web")) == 1 and condition(now[0], "QuotaReserved")["reason"] == "OnHold" and now[0]
        ),
        PATIENCE,
        "one that is on hold",
    )
    scale("statefulset", "web", 2)
    settles("web", 2, 0, 2)
    again = until(lambda: len(now := workloads("web")) == 1 and now[0], PATIENCE, "one Workload")
    assert again["metadata"]["uid"] == held["metadata"]["uid"] and again["spec"]["podSets"][0]["count"] == 2, again
    show("get", "workloads")


def by_apply():
    """the size may be changed in the object, too; pods roll over to another image within their quota"""
    a_set("StatefulSet", "web", 4, "  serviceName: web\n")
    settles("web", 4, 0, 4)
    before = uids("web")
    show("set", "image", "statefulset/web", "main=other")
    until(lambda: len(uids("web")) == 4 and not uids("web") & before, PATIENCE, "four new pods")
    settles("web", 4, 0, 4)


def deleted():
    """with the set its Workloads go, and the quota with its pods"""
    show("delete", "statefulset", "web", "--wait=false")
    settles("web", 0, 0, 0)
    until(lambda: not workloads("web"), PATIENCE, "no Workload of web")


def test_deployment():
    """3 -> 5 -> 1 -> 0 -> 2, with room for 4: each pod waits for itself"""
    queue("app")
    a_set("Deployment", "app", 3)
    settles("app", 3, 0, 3)
    scale("deployment", "app", 5)
    settles("app", 4, 1, 4)
    assert not any(p["metadata"].get("finalizers") for p in pods("app"))
    scale("deployment", "app", 1)
    settles("app", 1, 0, 1)
    scale("deployment", "app", 0)
    settles("app", 0, 0, 0)
    scale("deployment", "app", 2)
    settles("app", 2, 0, 2)
    show("delete", "deployment", "app", "--wait=false")
    settles("app", 0, 0, 0)
    until(lambda: not workloads("app"), PATIENCE, "no Workload of app")


def member(group, i):
    """A pod as the controller of LeaderWorkerSets makes it, but without the sets in between."""
    template = cluster.get(f"{SETS}/llm")["spec"]["leaderWorkerTemplate"]["workerTemplate" if i else "leaderTemplate"]
    meta = template["metadata"]
    leader = {f"{LWS}/leader-name": f"llm-{group}"} if i else {}
    cluster.request(
        "POST",
        "/api/v1/namespaces/default/pods",
        {
            "metadata": {
                "name": f"llm-{group}" + (f"-{i}" if i else ""),
                "labels": {
                    **meta["labels"],
                    f"{LWS}/name": "llm",
                    f"{LWS}/group-index": str(group),
                    f"{LWS}/worker-index": str(i),
                },
                "annotations": {**meta["annotations"], **leader},
            },
            "spec": template["spec"],
        },
    )


def test_leaderworkerset():
    """its API comes while we run; a Workload for each group, started as a whole"""
    cluster.kubectl("apply", "-f", HERE / "leaderworkerset.yaml")
    until(lambda: cluster._try(SETS), PATIENCE, "the API of LeaderWorkerSets")
    queue("llm")
    pod = {
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {
                    "name": "main",
                    "image": "none",
                    "command": ["sleep", "infinity"],
                    "resources": {"requests": {"cpu": "1"}},
                }
            ],
        }
    }
    show(
        "apply",
        "-f",
        "-",
        input=json.dumps(
            {
                "apiVersion": "leaderworkerset.x-k8s.io/v1",
                "kind": "LeaderWorkerSet",
                "metadata": {"name": "llm", "labels": {"kueue.x-k8s.io/queue-name": "llm"}},
                "spec": {
                    "replicas": 2,
                    "leaderWorkerTemplate": {"size": 3, "leaderTemplate": pod, "workerTemplate": pod},
                },
            }
        ),
        quiet=True,
    )
    until(lambda: len(workloads("llm")) == 2, PATIENCE, "two Workloads")
    podsets = [[(p["name"], p["count"]) for p in w["spec"]["podSets"]] for w in workloads("llm")]
    assert podsets == [[("leader", 1), ("worker", 2)]] * 2, podsets
    for group in range(2):
        for i in range(3):
            member(group, i)
    settles("llm", 3, 3, 3, f"{LWS}/name")
    show("get", "workloads")
    show("scale", "leaderworkerset", "llm", "--replicas=1")
    first = next(p for p in pods("llm", f"{LWS}/name") if runs(p))["metadata"]["labels"][f"{LWS}/group-index"]
    show("delete", "pods", "-l", f"{LWS}/name=llm,{LWS}/group-index=1", "--wait=false")
    until(lambda: len(workloads("llm")) == 1, PATIENCE, "one Workload")
    settles("llm", 3, 0, 3, f"{LWS}/name")
    say(f"# group {first} was the one that ran first")
    show("delete", "leaderworkerset", "llm", "--wait=false")
    show("delete", "pods", "-l", f"{LWS}/name=llm", "--wait=false")
    settles("llm", 0, 0, 0, f"{LWS}/name")
    until(lambda: not workloads("llm"), PATIENCE, "no Workload of llm")
