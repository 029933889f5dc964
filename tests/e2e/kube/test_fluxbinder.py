# SPDX-License-Identifier: Apache-2.0
"""The queue on the resource graph with kube-scheduler as the binder: pods are bound where they were meant, also on a
node without labels, and one that kube-scheduler refuses there comes back with its reason."""

import pytest

from kube import until
from sluice import Sluice
from test_fluxqueue import DEPLOYMENTS, PATIENCE, PODS, Bed, pod, template

TIME_LIMIT = 200
APP = {"app": "web"}
sluice = None


@pytest.fixture(scope="module")
def bed(node_cluster):
    global sluice
    node_cluster.add_nodes(3, cpu="4")
    with Sluice(node_cluster, config="fluxqueue: {binder: KubeScheduler}") as sluice:
        node_cluster.kubectl("label", "namespace", "default", "fluxqueue/managed=true", "--overwrite")
        yield Bed("serve", node_cluster, sluice)
        node_cluster.kubectl("label", "namespace", "default", "fluxqueue/managed-")


@pytest.fixture
def guarded(bed):
    """A pod of others on the first node, beside which kube-scheduler puts no pod with the label."""
    guard = pod("guard", cpu="100m")
    guard["metadata"]["labels"] = {"fluxqueue/managed": "false"}
    guard["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "node-1"}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": APP}}
    guard["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    bed.api.request("POST", PODS, guard)
    until(lambda: bed.api.get(f"{PODS}/guard")["spec"].get("nodeName") == "node-1", PATIENCE, "the guard")
    yield
    if bed.api._try(f"{PODS}/guard"):
        bed.gone(PODS, "guard")


def reason(bed, name):
    return bed.job(name).get("status", {}).get("reason")


def test_by_name(bed):
    """the node is given by its name, beside the affinity that the pod has"""
    bed.api.kubectl("label", "node", "node-1", "kubernetes.io/hostname-", "disk=fast")
    body = pod("named")
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    body["spec"]["affinity"] = {"nodeAffinity": required}
    bed.api.request("POST", PODS, body)
    until(lambda: bed.api.get(f"{PODS}/named")["spec"].get("nodeName") == "node-1", PATIENCE, "the pod to be bound")
    spec = bed.api.get(f"{PODS}/named")["spec"]
    (now,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    named = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
    assert now == {**term, "matchFields": [named]}, now
    assert spec["schedulerName"] == "default-scheduler" and not spec.get("nodeSelector"), spec
    until(lambda: reason(bed, "named-pod") == "Allocated", PATIENCE, "the FluxJob")
    bed.api.kubectl("label", "node", "node-1", "kubernetes.io/hostname=node-1", "disk-")
    bed.gone(PODS, "named")
    bed.none_left()


def test_comes_again(bed, guarded):
    """a pod of a Deployment that kube-scheduler refuses: its FluxJob says why, and the next one goes elsewhere"""
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": APP},
            "template": {"metadata": {"labels": APP}, "spec": {**template("1", "600"), "restartPolicy": "Always"}},
        },
    }
    bed.api.request("POST", DEPLOYMENTS, body)
    until(lambda: reason(bed, "web-deployment") == "Unschedulable", PATIENCE, "the FluxJob to say it")
    status = bed.job("web-deployment")["status"]
    assert status["nodeList"] == "node-1" and "anti-affinity" in status["message"], status
    (first,) = bed.pods("app=web")

    def elsewhere():
        found = [p for p in bed.pods("app=web") if p["metadata"]["uid"] != first["metadata"]["uid"]]
        return len(found) == 1 and found[0]["spec"].get("nodeName")

    node = until(elsewhere, PATIENCE, "another pod to be bound")
    assert node != "node-1"
    until(lambda: list(bed.nodes("web-deployment")) == [node], PATIENCE, "its place")
    until(lambda: reason(bed, "web-deployment") == "Allocated", PATIENCE, "the FluxJob to be well")
    bed.gone(DEPLOYMENTS, "web")
    bed.none_left()


def test_alone(bed, guarded):
    """a pod that nobody would make again stays, says why, and is bound when that is possible"""
    body = pod("alone")
    body["metadata"]["labels"] = APP
    bed.api.request("POST", PODS, body)
    until(lambda: reason(bed, "alone-pod") == "Unschedulable", PATIENCE, "the FluxJob to say it")
    bed.gone(PODS, "guard")
    until(lambda: bed.api.get(f"{PODS}/alone")["spec"].get("nodeName") == "node-1", PATIENCE, "the pod to be bound")
    until(lambda: reason(bed, "alone-pod") == "Allocated", PATIENCE, "the FluxJob to be well")
    bed.gone(PODS, "alone")
    bed.none_left()
