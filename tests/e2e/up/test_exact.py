# SPDX-License-Identifier: Apache-2.0
"""Quota and exact nodes in one decision, on `sluice up`: Jobs of a ClusterQueue that asks for exact nodes start on
nodes that are theirs, wait where quota is enough and no node is, and have the same nodes after a kill -9.
"""

import pytest

from kube import until
from up import Up

TIME_LIMIT = 120
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
GPU = "nvidia.com/gpu"
up = None


def create(kind, path, meta, spec):
    thing = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, "spec": spec}
    up.request("POST", KUEUE + path, thing)


@pytest.fixture(scope="module", autouse=True)
def serving():
    global up
    with Up(flags=["--nodes=4", "--node-gpu=8"]) as up:
        create("ResourceFlavor", "/resourceflavors", {"name": "f"}, {})
        quota = [{"name": "cpu", "nominalQuota": "100"}, {"name": GPU, "nominalQuota": "64"}]
        group = {"coveredResources": ["cpu", GPU], "flavors": [{"name": "f", "resources": quota}]}
        meta = {"name": "cq", "annotations": {"sluice.dev/exact-nodes": "true"}}
        preemption = {"withinClusterQueue": "LowerPriority"}
        spec = {"namespaceSelector": {}, "resourceGroups": [group], "preemption": preemption}
        create("ClusterQueue", "/clusterqueues", meta, spec)
        create("LocalQueue", "/namespaces/default/localqueues", {"name": "q"}, {"clusterQueue": "cq"})
        yield


def job(name, gpus, pods=1):
    resources = {"requests": {"cpu": "1", GPU: gpus}, "limits": {GPU: gpus}}
    template = {
        "metadata": {"annotations": {"sluice.dev/run-for": "1h"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "busybox", "resources": resources}],
        },
    }
    meta = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    spec = {"suspend": True, "parallelism": pods, "completions": pods, "template": template}
    up.request("POST", JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})


def workload(name):
    for w in up.get(KUEUE + "/namespaces/default/workloads")["items"]:
        if any(o["name"] == name for o in w["metadata"].get("ownerReferences", [])):
            return w
    return None


def reason(name):
    for c in (workload(name) or {}).get("status", {}).get("conditions", []):
        if c["type"] == "QuotaReserved":
            return c["message"] if c["status"] == "False" else ""
    return ""


def evicted(name):
    conditions = workload(name)["status"].get("conditions", [])
    return any(c["type"] == "Evicted" and c["status"] == "True" for c in conditions)


def running_on(name):
    """The nodes of its pods that run."""
    pods = up.get(f"/api/v1/namespaces/default/pods?labelSelector=job-name%3D{name}")["items"]
    return sorted(p["spec"]["nodeName"] for p in pods if p["status"].get("phase") == "Running")


def assigned(name):
    """What its Workload says about them."""
    nodes = []
    for a in workload(name)["status"]["admission"]["podSetAssignments"]:
        assert a["topologyAssignment"]["levels"] == ["kubernetes.io/hostname"]
        for s in a["topologyAssignment"]["slices"]:
            level, counts = s["valuesPerLevel"][0], s["podCounts"]
            for i in range(s["domainCount"]):
                i_th = level.get("individual", {})
                value = level.get("universal") or i_th.get("prefix", "") + i_th["roots"][i] + i_th.get("suffix", "")
                nodes += [value] * (counts["universal"] if "universal" in counts else counts["individual"][i])
    return sorted(nodes)


def test_eight_free_in_four_places():
    """kueue 5243: two GPUs are free on each of four nodes, and a pod of eight waits, evicts nobody and says why"""
    for i in range(4):
        job(f"low{i}", "6")
    until(lambda: all(running_on(f"low{i}") for i in range(4)), 60, "four jobs")
    before = {f"low{i}": running_on(f"low{i}") for i in range(4)}
    assert len({node for nodes in before.values() for node in nodes}) == 4, before
    for name, nodes in before.items():
        assert assigned(name) == nodes
    job("big", "8")
    until(lambda: "no set of nodes has room for 1 pod(s)" in reason("big"), 60, "the reason")
    up.kill9()
    up.start()
    assert "no set of nodes has room for 1 pod(s)" in reason("big")
    for name, nodes in before.items():
        assert not evicted(name) and running_on(name) == nodes == assigned(name)
    up.request("DELETE", f"{JOBS}/low2?propagationPolicy=Background")
    until(lambda: running_on("big"), 60, "the job of eight")
    assert running_on("big") == before["low2"] == assigned("big")


def test_gang():
    """five pods have nodes for all of them, or for none"""
    for name in ("low0", "low1", "low3", "big"):
        up.request("DELETE", f"{JOBS}/{name}?propagationPolicy=Background")
    job("fill", "7", pods=4)
    until(lambda: len(running_on("fill")) == 4, 60, "a job on every node")
    job("gang", "1", pods=5)
    until(lambda: "only for 4 of them" in reason("gang"), 60, "the reason")
    assert running_on("gang") == []
    up.request("DELETE", f"{JOBS}/fill?propagationPolicy=Background")
    until(lambda: len(running_on("gang")) == 5, 60, "the gang")
    assert running_on("gang") == assigned("gang")
