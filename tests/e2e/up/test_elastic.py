# SPDX-License-Identifier: Apache-2.0
"""An elastic MiniCluster on `sluice up`: a resize asks its queue for the difference alone, and gives back at once."""

import pytest

from kube import until
from sluice import KUEUE, ROOT, holds
from up import Up

PATIENCE = 60
TIME_LIMIT = 120
CLUSTERS = "/apis/flux-framework.org/v1alpha2/namespaces/default/miniclusters"
PODS = "/api/v1/namespaces/default/pods?labelSelector=hpa-selector%3Delastic"
up = None


@pytest.fixture(scope="module", autouse=True)
def cluster():
    global up
    gate = "--feature-gates=ElasticJobsViaWorkloadSlices=true"
    with Up(flags=["--nodes=2", "--node-cpu=9", gate]) as up:
        up.kubectl("apply", "-f", ROOT / "examples" / "minicluster" / "queues.yaml")
        until(lambda: holds(up.get(f"{KUEUE}/namespaces/default/localqueues/user-queue"), "Active"), PATIENCE)
        yield


def running():
    """The uids of pods that run, by index."""
    pods = [p for p in up.get(PODS)["items"] if not p["metadata"].get("deletionTimestamp")]
    return {
        p["metadata"]["labels"].get("job-index", ""): p["metadata"]["uid"]
        for p in pods
        if p["status"].get("phase") == "Running"
    }


def in_use():
    usage = up.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue")["status"]["flavorsUsage"]
    return {r["name"]: r["total"] for r in usage[0]["resources"]}["cpu"]


def test_resize_of_an_elastic_cluster():
    """pods that run stay the same, and usage is what the size asks for"""
    container = {"image": "x", "command": "sleep 300", "resources": {"requests": {"cpu": 1}}}
    thing = {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": "elastic", "annotations": {"kueue.x-k8s.io/elastic-job": "true"}},
        "spec": {
            "size": 2,
            "maxSize": 6,
            "jobLabels": {"kueue.x-k8s.io/queue-name": "user-queue"},
            "pod": {"annotations": {"sluice.dev/run-for": "300s"}},
            "containers": [container],
        },
    }
    up.request("POST", CLUSTERS, thing)
    until(lambda: sorted(running()) == ["0", "1"], PATIENCE, "two pods")
    first = running()
    for size in (4, 3, 6, 2):
        up.kubectl("scale", "minicluster", "elastic", f"--replicas={size}")
        indexes = [str(i) for i in range(size)]
        until(lambda indexes=indexes: sorted(running()) == indexes, PATIENCE, f"{size} pods")
        until(lambda size=size: in_use() == str(size), PATIENCE, f"{size} cpus in use")
        now = running()
        assert {"0": now["0"], "1": now["1"]} == first, "a pod was made anew"
    assert not up.get("/apis/batch/v1/namespaces/default/jobs/elastic")["spec"]["suspend"]
