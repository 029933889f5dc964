# SPDX-License-Identifier: Apache-2.0
"""The real Flux Operator with Sluice's queue in front of it: it makes the objects of MiniClusters, and Sluice queues
their Jobs and says so.
"""

import pytest

from kube import until
from operators import Operator
from sluice import KUEUE, ROOT, Sluice, holds, show

PATIENCE = 120
TIME_LIMIT = 400
CLUSTERS = "/apis/flux-framework.org/v1alpha2/namespaces/default/miniclusters"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue"
MERGE = "application/merge-patch+json"
cluster = sluice = operator = None


def logs():
    return f"--- flux-operator, the last that it logged\n{operator.log(30)}" if operator else ""


@pytest.fixture(scope="module", autouse=True)
def queueing(node_cluster):
    global cluster, sluice, operator
    cluster = node_cluster
    cluster.add_nodes(1, cpu="9")
    config = "miniCluster: {controller: FluxOperator}"
    with Operator("flux-operator", cluster) as operator, Sluice(cluster, install="again", config=config) as sluice:
        show(cluster, "apply", "-f", "-", input=(ROOT / "examples" / "minicluster" / "queues.yaml").read_text())
        until(lambda: holds(cluster.get(f"{KUEUE}/namespaces/default/localqueues/user-queue"), "Active"), PATIENCE)
        yield


def post(name, seconds, **spec):
    """Its pods run that long: the kubelet here does not look into scripts."""
    container = {"image": "busybox", "command": f"sleep {seconds}", "resources": {"requests": {"cpu": 1}}}
    pod = {"annotations": {"tests.sluice/run-seconds": str(seconds)}}
    spec = {"jobLabels": {"kueue.x-k8s.io/queue-name": "user-queue"}, "pod": pod, "containers": [container], **spec}
    thing = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": name}}
    cluster.request("POST", CLUSTERS, {**thing, "spec": spec})


def conditions(name):
    found = cluster.get(f"{CLUSTERS}/{name}").get("status", {}).get("conditions", [])
    return {c["type"]: (c["status"], c["reason"]) for c in found}


def job(name):
    return cluster._try(f"{JOBS}/{name}")


def runs(name, size):
    spec = job(name)["spec"]
    return not spec["suspend"] and spec["parallelism"] == size and job(name)["status"].get("ready") == size


def test_admitted_resized_preempted():
    """what Sluice does is the queue's part alone"""
    post("theirs", 300, size=3)
    until(lambda: job("theirs"), PATIENCE, "the Job")
    until(lambda: runs("theirs", 3), PATIENCE, "three pods")
    makers = {
        entry["manager"] for entry in job("theirs")["metadata"]["managedFields"] if entry["operation"] == "Update"
    }
    assert "sluice-minicluster" not in makers, makers
    until(lambda: conditions("theirs").get("ControlledBySluice") == ("False", "FluxOperator"), PATIENCE, "it is told")
    assert conditions("theirs")["JobMiniClusterReady"][0] == "True"

    cluster.request("PATCH", f"{CLUSTERS}/theirs", {"spec": {"size": 2}}, MERGE)
    until(lambda: runs("theirs", 2), PATIENCE, "two pods")

    cluster.request("PATCH", QUEUE, {"spec": {"stopPolicy": "HoldAndDrain"}}, MERGE)
    until(lambda: job("theirs")["spec"]["suspend"], PATIENCE, "it is stopped")
    cluster.request("PATCH", QUEUE, {"spec": {"stopPolicy": "None"}}, MERGE)
    until(lambda: runs("theirs", 2), PATIENCE, "it is back")
    version = cluster.get(f"{CLUSTERS}/theirs")["metadata"]["resourceVersion"]
    assert conditions("theirs")["ControlledBySluice"] == ("False", "FluxOperator")
    until(lambda: cluster.get(f"{CLUSTERS}/theirs")["metadata"]["resourceVersion"] == version, 10, "nobody writes")


def test_finished():
    """a cluster ends, and leaves its queue"""
    post("short", 1, size=1)
    until(lambda: job("short") and holds(job("short"), "Complete"), PATIENCE, "its end")
    path = f"{KUEUE}/namespaces/default/workloads"

    def finished():
        mine = [w for w in cluster.get(path)["items"] if w["metadata"]["name"].startswith("job-short-")]
        return mine and all(holds(w, "Finished") for w in mine)

    until(finished, PATIENCE, "its workload is finished")
