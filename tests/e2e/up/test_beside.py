# SPDX-License-Identifier: Apache-2.0
"""The real kube-controller-manager and kube-scheduler against `sluice up` with all of its own controllers left out:
they do everything, and their node lifecycle controller takes the simulated nodes for alive.
"""

import subprocess
import time

import pytest

import kube
from kube import until
from up import Up

TIME_LIMIT = 300
GRACE = 55  # more than the 50 s after which a node without a renewed Lease is taken for dead
NODES = 300
up = None
POD = {"containers": [{"name": "c", "image": "pause", "ports": [{"name": "http", "containerPort": 80}]}]}


@pytest.fixture(scope="module", autouse=True)
def serving():
    global up
    with Up(flags=["--controllers=-job-controller", f"--nodes={NODES}"]) as up:
        others = [
            start("kube-controller-manager", f"--service-account-private-key-file={up.dir / 'sa.key'}"),
            start("kube-scheduler"),
        ]
        try:
            yield
        finally:
            for process in others:
                process.kill()
                process.wait()


def start(program, *flags):
    with open(up.dir / f"{program}.log", "w") as log:
        return kube._spawner.submit(
            subprocess.Popen,
            ["setpriv", "--pdeathsig", "KILL", str(kube.build() / program), f"--kubeconfig={up.kubeconfig}"]
            + ["--leader-elect=false", *flags],
            stdout=log,
            stderr=log,
        ).result()


def unready():
    return [
        node["metadata"]["name"]
        for node in up.get("/api/v1/nodes")["items"]
        if not any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
    ]


def test_they_do_it_all():
    """a Deployment, its Service and a DaemonSet, without any of ours"""
    began = time.monotonic()
    app, every = {"app": "web"}, {"app": "every"}
    base = "/apis/apps/v1/namespaces/default"
    until(lambda: up.get("/api/v1/namespaces/default/serviceaccounts")["items"], 60, "a service account")
    web = {"replicas": 5, "selector": {"matchLabels": app}, "template": {"metadata": {"labels": app}, "spec": POD}}
    each = {"selector": {"matchLabels": every}, "template": {"metadata": {"labels": every}, "spec": POD}}
    up.request("POST", f"{base}/deployments", {"metadata": {"name": "web"}, "spec": web})
    up.request("POST", f"{base}/daemonsets", {"metadata": {"name": "every"}, "spec": each})
    service = {"selector": app, "ports": [{"port": 80, "targetPort": "http"}]}
    up.request("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "web"}, "spec": service})
    until(lambda: up.get(f"{base}/deployments/web")["status"].get("availableReplicas") == 5, 60, "the Deployment")
    until(lambda: up.get(f"{base}/daemonsets/every")["status"].get("numberAvailable") == NODES, 90, "the DaemonSet")
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name=web"

    def endpoints():
        return [e for s in up.get(slices)["items"] for e in s["endpoints"] or ()]

    until(lambda: len(endpoints()) == 5, 30, "endpoints")
    assert len(up.get(f"{base}/replicasets")["items"]) == 1
    while time.monotonic() - began < GRACE:
        assert not unready()
        time.sleep(2)


def test_leases_are_renewed():
    """and so no node was ever taken for dead"""
    leases = up.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")["items"]
    assert len(leases) == NODES + 1
    assert not unready()
    events = up.get("/api/v1/events?fieldSelector=reason=NodeNotReady")["items"]
    assert not events
