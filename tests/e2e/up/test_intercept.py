# SPDX-License-Identifier: Apache-2.0
"""`sluice up` makes what opted in wait for the queue on the resource graph, by a label of the object or of its
namespace, as a cluster with our webhooks does. Dry runs show what is made of an object, and leave nothing behind.
"""

import pytest

from kube import Failure
from up import Up

TIME_LIMIT = 60
POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}
LATER = {"fluxqueue/begin-time": "2100-01-01T00:00:00Z"}
PATHS = {
    "Pod": ("v1", "/api/v1", "pods"),
    "Job": ("batch/v1", "/apis/batch/v1", "jobs"),
    "Deployment": ("apps/v1", "/apis/apps/v1", "deployments"),
    "ReplicaSet": ("apps/v1", "/apis/apps/v1", "replicasets"),
    "StatefulSet": ("apps/v1", "/apis/apps/v1", "statefulsets"),
}
up = None


@pytest.fixture(scope="module", autouse=True)
def serving():
    global up
    with Up() as up:
        for name, labels in ("hpc", {"fluxqueue/managed": "true"}), ("other", {}):
            up.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        yield


def where(kind, namespace, name=""):
    _, base, plural = PATHS[kind]
    return f"{base}/namespaces/{namespace}/{plural}{'/' + name if name else ''}"


def made(kind, namespace, labels=None, annotations=None, dry=True, name="a"):
    spec = dict(POD)
    if kind != "Pod":
        app = {"app": "a"}
        spec = {"template": {"metadata": {"labels": app}, "spec": POD}}
        if kind != "Job":
            spec["template"]["spec"] = {**POD, "restartPolicy": "Always"}
            spec["selector"] = {"matchLabels": app}
    meta = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    thing = {"apiVersion": PATHS[kind][0], "kind": kind, "metadata": meta, "spec": spec}
    return up.request("POST", where(kind, namespace) + ("?dryRun=All" if dry else ""), thing)


def seen(thing):
    return thing["metadata"].get("labels", {}).get("fluxqueue.seen") == "yes"


@pytest.mark.parametrize("kind", PATHS)
def test_who_opted_in(kind):
    """by the namespace or by the object, and nobody else"""
    assert seen(made(kind, "hpc"))
    assert seen(made(kind, "other", {"fluxqueue/managed": "true"}))
    for thing in (
        made(kind, "other"),
        made(kind, "hpc", {"fluxqueue/managed": "false"}),
        made(kind, "hpc", {"kueue.x-k8s.io/queue-name": "q"}),
        made(kind, "kube-system", {"fluxqueue/managed": "true"}),
    ):
        assert not seen(thing), thing
        pod = thing if kind == "Pod" else thing["spec"]["template"]
        assert pod["spec"]["schedulerName"] == "default-scheduler", thing
    assert not up.get(where(kind, "hpc"))["items"]
    assert not up.get("/apis/jobs.converged-computing.org/v1alpha1/fluxjobs")["items"]


def test_what_is_made_of_them():
    pod = made("Pod", "hpc")
    assert pod["spec"]["schedulingGates"] == [{"name": "fluxqueue"}]
    assert pod["spec"]["schedulerName"] == "FluxionScheduler"
    job = made("Job", "hpc")
    assert job["spec"]["suspend"] is True and "schedulingGates" not in job["spec"]["template"]["spec"]
    for kind in "Deployment", "ReplicaSet", "StatefulSet":
        template = made(kind, "hpc")["spec"]["template"]
        assert template["spec"]["schedulingGates"] == [{"name": "fluxqueue"}], template
        assert template["metadata"]["labels"]["fluxqueue.selector"] == f"{kind.lower()}-a-hpc", template


def test_not_started_by_hand():
    """and any other update passes"""
    made("Job", "hpc", annotations=LATER, dry=False)
    made("Pod", "hpc", annotations=LATER, dry=False)

    def patch(kind, body):
        return up.request("PATCH", where(kind, "hpc", "a"), body, type="application/merge-patch+json")

    for kind, spec in ("Job", {"suspend": False}), ("Pod", {"schedulingGates": None}):
        with pytest.raises(Failure, match="waits in the queue") as refusal:
            patch(kind, {"spec": spec})
        assert refusal.value.status == 403
        assert patch(kind, {"metadata": {"labels": {"a": "b"}}})["metadata"]["labels"]["a"] == "b"
        up.request("DELETE", where(kind, "hpc", "a"))


def test_jobspecs():
    """one that cannot be read is refused with its line"""
    for jobspec in ("version: 1\nresources: 5\n", "{"):
        thing = {
            "apiVersion": "jobs.converged-computing.org/v1alpha1",
            "kind": "FluxJob",
            "metadata": {"name": "a"},
            "spec": {"jobspec": jobspec},
        }
        with pytest.raises(Failure, match="spec.jobspec: Invalid value: jobspec:") as refusal:
            up.request("POST", "/apis/jobs.converged-computing.org/v1alpha1/namespaces/hpc/fluxjobs", thing)
        assert refusal.value.status == 403
        with pytest.raises(Failure, match="Invalid value: jobspec:"):
            made("Pod", "hpc", annotations={"fluxqueue/jobspec": jobspec})


def test_kubectl():
    """columns and explanations"""
    thing = {"apiVersion": "jobs.converged-computing.org/v1alpha1", "kind": "FluxJob", "metadata": {"name": "a"}}
    up.request("POST", "/apis/jobs.converged-computing.org/v1alpha1/namespaces/default/fluxjobs", thing)
    head = up.kubectl("get", "fluxjobs.jobs.converged-computing.org").splitlines()[0].split()
    assert head == ["NAME", "STATE", "JOB", "ID", "PODS", "NODES", "POSITION", "START", "REASON", "AGE"], head
    assert "Flux jobspec (RFC 14)" in " ".join(up.kubectl("explain", "fj.spec.jobspec").split())
