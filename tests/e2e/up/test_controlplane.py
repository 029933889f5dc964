# SPDX-License-Identifier: Apache-2.0
"""kube-controller-manager and kube-scheduler of Kubernetes in place of those of `sluice up`, which are switched off."""

import time

import pytest

from kube import until
from operators import Component
from sluice import say
from up import Up

TIME_LIMIT = 300
PATIENCE = 120
GRACE = 20  # seconds without a heartbeat, and the node is taken for dead
CORE, APPS, BATCH = "/api/v1/namespaces", "/apis/apps/v1/namespaces", "/apis/batch/v1/namespaces"
up = manager = scheduler = None


def logs():
    return "\n".join(f"--- {one.name}, the last that it logged\n{one.log(30)}" for one in (manager, scheduler) if one)


@pytest.fixture(scope="module", autouse=True)
def running():
    """An API server with the runtime, and nothing of ours besides."""
    global up, manager, scheduler
    with (
        Up(flags=["--nodes=2", "--controllers=-kube-scheduler"]) as up,
        Component("kube-controller-manager", up, [f"--node-monitor-grace-period={GRACE}s"]) as manager,
        Component("kube-scheduler", up) as scheduler,
    ):
        began = time.monotonic()
        yield
        say(f"# both ran for {time.monotonic() - began:.0f} s")


def template(policy, lasts):
    return {
        "metadata": {"labels": {"app": "web"}, "annotations": {"sluice.dev/run-for": lasts}},
        "spec": {
            "restartPolicy": policy,
            "nodeSelector": {"sluice.dev/simulated": "true"},
            "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
        },
    }


def pods(ns, prefix):
    found = up.get(f"{CORE}/{ns}/pods")["items"]
    return [pod for pod in found if pod["metadata"]["name"].startswith(prefix)]


def test_leases():
    """each leads by a Lease"""
    for name in ("kube-controller-manager", "kube-scheduler"):
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}"
        until(lambda: (up._try(path) or {}).get("spec", {}).get("holderIdentity"), PATIENCE, f"the lease of {name}")


def test_deployment():
    """its pods are made, bound and replaced, its Service has slices, and all of it goes with its owner"""
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template("Always", "1h")}
    path = f"{APPS}/default/deployments"
    up.request("POST", path, {"metadata": {"name": "web"}, "spec": spec})
    service = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    up.request("POST", f"{CORE}/default/services", {"metadata": {"name": "web"}, "spec": service})
    until(lambda: up.get(f"{path}/web")["status"].get("readyReplicas") == 3, PATIENCE, "3 ready replicas")
    assert len(pods("default", "web-")) == 3
    assert len(up.get(f"{APPS}/default/replicasets")["items"]) == 1, "ours acts, too"
    events = up.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    bound = [event for event in events if event["reason"] == "Scheduled"]
    assert bound and all("default-scheduler" in str(event) for event in bound)

    def endpoints():
        slices = up.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices")["items"]
        mine = [s for s in slices if s["metadata"]["labels"].get("kubernetes.io/service-name") == "web"]
        return sum(len(s.get("endpoints") or []) for s in mine)

    until(lambda: endpoints() == 3, PATIENCE, "3 endpoints")
    gone = pods("default", "web-")[0]["metadata"]["name"]
    up.request("DELETE", f"{CORE}/default/pods/{gone}")
    until(
        lambda: up.get(f"{path}/web")["status"].get("readyReplicas") == 3 and gone not in str(pods("default", "web-")),
        PATIENCE,
        "another pod in its place",
    )
    up.request("DELETE", f"{path}/web", {"propagationPolicy": "Background"})
    until(lambda: not pods("default", "web-"), PATIENCE, "no pods")


def test_jobs():
    """a Job runs in a namespace that is then deleted with everything in it"""
    up.request("POST", CORE, {"metadata": {"name": "team"}})
    account = f"{CORE}/team/serviceaccounts/default"
    until(lambda: up._try(account), PATIENCE, "the service account of a new namespace")
    spec = {"completions": 4, "parallelism": 2, "template": template("Never", "1s")}
    up.request("POST", f"{BATCH}/team/jobs", {"metadata": {"name": "count"}, "spec": spec})
    until(lambda: up.get(f"{BATCH}/team/jobs/count")["status"].get("succeeded") == 4, PATIENCE, "4 pods that succeeded")
    up.request("DELETE", f"{CORE}/team")
    until(lambda: not up._try(f"{CORE}/team"), PATIENCE, "the end of the namespace")


def test_daemons():
    """a DaemonSet has a pod on each node that it chooses"""
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template("Always", "1h")}
    path = f"{APPS}/default/daemonsets"
    up.request("POST", path, {"metadata": {"name": "each"}, "spec": spec})
    until(lambda: up.get(f"{path}/each")["status"].get("numberReady") == 2, PATIENCE, "2 ready pods")
    assert len({pod["spec"]["nodeName"] for pod in pods("default", "each-")}) == 2
    up.request("DELETE", f"{path}/each", {"propagationPolicy": "Background"})
    until(lambda: not pods("default", "each-"), PATIENCE, "no pods")


def test_nodes():
    """nodes that send heartbeats are not taken for dead"""
    time.sleep(GRACE + 10)
    for node in up.get("/api/v1/nodes")["items"]:
        (ready,) = (c for c in node["status"]["conditions"] if c["type"] == "Ready")
        assert ready["status"] == "True", f"{node['metadata']['name']}: {ready}"
