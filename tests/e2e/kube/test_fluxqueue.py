# SPDX-License-Identifier: Apache-2.0
"""The queue on the resource graph as docs/fluxqueue.md walks through it: on a control plane with `sluice serve` beside
it, and on `sluice up`."""

import json
import sys
import time

import pytest

from kube import Failure, until
from sluice import ROOT, Sluice, say, show

sys.path.insert(0, str(ROOT / "tests" / "e2e" / "up"))
import up as single  # noqa: E402

TIME_LIMIT = 400
PATIENCE = 60
EXAMPLES = ROOT / "examples" / "fluxqueue"
FLUXJOBS = "/apis/jobs.converged-computing.org/v1alpha1/namespaces/default/fluxjobs"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
NODES, CPU = 4, 4
sluice = None


class Bed:
    """A cluster whose namespace default has opted in."""

    def __init__(self, kind, api, sluice):
        self.kind, self.api, self.sluice = kind, api, sluice

    def job(self, name):
        """The FluxJob, or an empty one."""
        return self.api._try(f"{FLUXJOBS}/{name}") or {}

    def state(self, name):
        return self.job(name).get("status", {}).get("state")

    def await_state(self, name, state):
        try:
            until(lambda: self.state(name) == state, PATIENCE, f"{name} to be {state}")
        except Failure as reason:
            raise Failure(f"{reason}; now: {json.dumps(self.job(name).get('status'))}") from None
        return self.job(name)["status"]

    def nodes(self, name):
        """name of a node: how many pods of the FluxJob are to be there."""
        return {n["name"]: n["pods"] for n in self.job(name)["status"].get("nodes", [])}

    def pods(self, selector=""):
        return self.api.get(f"{PODS}?labelSelector={selector}")["items"]

    def gone(self, path, name):
        self.api.request("DELETE", f"{path}/{name}?propagationPolicy=Background")
        until(lambda: self.api._try(f"{path}/{name}") is None, PATIENCE, f"{name} to be gone")

    def none_left(self):
        until(lambda: not self.api.get(FLUXJOBS)["items"], PATIENCE, "no FluxJob to be left")
        until(lambda: not self.pods("fluxqueue.seen"), PATIENCE, "no pod to be left")


@pytest.fixture(scope="module", params=["serve", "up"])
def bed(request):
    global sluice
    if request.param == "serve":
        cluster = request.getfixturevalue("node_cluster")
        cluster.add_nodes(NODES, cpu=str(CPU))
        with Sluice(cluster) as sluice:
            cluster.kubectl("label", "namespace", "default", "fluxqueue/managed=true", "--overwrite")
            yield Bed("serve", cluster, sluice)
            cluster.kubectl("label", "namespace", "default", "fluxqueue/managed-")
    else:
        with single.Up(flags=[f"--nodes={NODES}", f"--node-cpu={CPU}"]) as cluster:
            sluice = single.Queueing(cluster)
            cluster.kubectl("label", "namespace", "default", "fluxqueue/managed=true", "--overwrite")
            yield Bed("up", cluster, sluice)


def pod(name, cpu="1", sleep="600", **annotations):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "annotations": {f"fluxqueue/{k.replace('_', '-')}": str(v) for k, v in annotations.items()},
        },
        "spec": template(cpu, sleep),
    }


def template(cpu, sleep):
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {},
        "containers": [
            {
                "name": "main",
                "image": "busybox",
                "command": ["sleep", str(sleep)],
                "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}},
            }
        ],
    }


# ---- the page ----


def test_seed(bed):
    """the seed's commands: a Job is suspended, a pod is gated, each is wrapped, runs where the graph says, and ends"""
    show(bed.api, "apply", "-f", EXAMPLES / "job.yaml")
    show(bed.api, "apply", "-f", EXAMPLES / "pod.yaml")
    bed.await_state("pod-pod", "Running")
    bed.await_state("job-job", "Running")
    listing = show(bed.api, "get", "fluxjobs.jobs.converged-computing.org")
    assert listing.split()[0] == "NAME" and "job-job" in listing and "pod-pod" in listing, listing
    until(lambda: bed.api.get(f"{PODS}/pod")["spec"].get("nodeName"), PATIENCE, "the pod to be bound")
    the_pod = bed.api.get(f"{PODS}/pod")
    assert [the_pod["spec"]["nodeName"]] == list(bed.nodes("pod-pod"))
    assert the_pod["spec"]["schedulerName"] == "FluxionScheduler"
    assert the_pod["metadata"]["labels"]["fluxqueue/jobid"] == str(bed.job("pod-pod")["status"]["jobid"])
    jobspec = bed.job("job-job")["spec"]["jobspec"]
    assert "type: slot" in jobspec and "version: 1" in jobspec, jobspec
    (owner,) = bed.job("job-job")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Job", "job")

    def bound():
        found = bed.pods("job-name=job")
        return len(found) == 2 and all(p["spec"].get("nodeName") for p in found) and found

    found = until(bound, PATIENCE, "the pods of the Job")
    counts = {}
    for p in found:
        counts[p["spec"]["nodeName"]] = counts.get(p["spec"]["nodeName"], 0) + 1
    assert counts == bed.nodes("job-job"), (counts, bed.job("job-job")["status"])
    bed.await_state("pod-pod", "Completed")
    bed.await_state("job-job", "Completed")
    assert bed.nodes("job-job") == counts and bed.job("job-job")["status"]["pods"]["expected"] == 2, bed.job("job-job")
    show(bed.api, "get", "fluxjobs")
    show(bed.api, "delete", "-f", EXAMPLES / "job.yaml")
    show(bed.api, "delete", "-f", EXAMPLES / "pod.yaml")
    bed.none_left()


# ---- interception ----


def test_nobody_else(bed):
    """what did not opt in is left alone, and a dry run leaves nothing behind"""
    bed.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "others"}})
    bed.api.request("POST", "/api/v1/namespaces/others/pods", pod("free", cpu="10m", sleep="1"))
    free = bed.api.get("/api/v1/namespaces/others/pods/free")
    assert free["spec"]["schedulerName"] == "default-scheduler" and not free["spec"].get("schedulingGates")
    bed.api.request("POST", f"{PODS}?dryRun=All", pod("dry"))
    time.sleep(1)
    assert not bed.job("dry-pod")
    refused = pod("out")
    refused["metadata"]["labels"] = {"fluxqueue/managed": "false"}
    refused["spec"]["containers"][0]["command"] = ["sleep", "1"]
    bed.api.request("POST", PODS, refused)
    assert bed.api.get(f"{PODS}/out")["spec"]["schedulerName"] == "default-scheduler"
    bed.gone(PODS, "out")
    bed.api.request("DELETE", "/api/v1/namespaces/others")


def test_labels_stay(bed):
    """what is intercepted keeps the labels by which the queue knows it, and its template too; all else changes"""
    later = {"annotations": {"fluxqueue/begin-time": "2100-01-01T00:00:00Z"}}
    bed.api.request("POST", PODS, pod("kept", begin_time="2100-01-01T00:00:00Z"))
    spec = {"template": {"metadata": {"labels": {"app": "kept"}}, "spec": template("1", "600")}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "kept", **later}, "spec": spec}
    bed.api.request("POST", JOBS, job)
    spec = json.loads(json.dumps({**spec, "selector": {"matchLabels": {"app": "kept"}}, "replicas": 1}))
    spec["template"]["spec"]["restartPolicy"] = "Always"
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kept", **later}, "spec": spec}
    bed.api.request("POST", DEPLOYMENTS, web)

    def patch(path, body):
        return bed.api.request("PATCH", f"{path}/kept", body, type="application/merge-patch+json")

    off = {"metadata": {"labels": {"fluxqueue.seen": None}}}
    refused = [(path, off) for path in (PODS, JOBS, DEPLOYMENTS)]
    refused += [(path, {"metadata": {"labels": {"fluxqueue/managed": "false"}}}) for path in (PODS, JOBS, DEPLOYMENTS)]
    refused += [(JOBS, {"spec": {"template": off}})]
    refused += [(JOBS, {**off, "spec": {"suspend": False}}), (PODS, {**off, "spec": {"schedulingGates": None}})]
    for path, body in refused:
        with pytest.raises(Failure, match="to run it without the queue") as refusal:
            patch(path, body)
        assert refusal.value.status == 403, refusal.value
    for path in PODS, JOBS, DEPLOYMENTS:
        assert patch(path, {"metadata": {"labels": {"a": "b"}}})["metadata"]["labels"]["fluxqueue.seen"] == "yes"
    patch(DEPLOYMENTS, {"spec": {"replicas": 2}})
    spec["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    made = bed.api.request("PUT", f"{DEPLOYMENTS}/kept", web)
    assert made["metadata"]["labels"]["fluxqueue.seen"] == "yes", made
    assert made["spec"]["template"]["spec"]["schedulingGates"] == [{"name": "fluxqueue"}], made
    for name in "kept-pod", "kept-job", "kept-deployment":
        assert bed.await_state(name, "Waiting")["reason"] == "BeginTime"
    bed.gone(PODS, "kept")
    bed.gone(JOBS, "kept")
    bed.gone(DEPLOYMENTS, "kept")
    bed.none_left()


# ---- waiting ----


def test_waits_and_backfills(bed):
    """a job that does not fit has a reservation, what ends before it is backfilled, the rest waits"""
    everything = NODES + 8  # more nodes than that are not there: `up` has its own node besides
    for i in range(everything):
        bed.api.request("POST", PODS, pod(f"full-{i:02}", cpu=str(CPU - 1), duration=3600))

    def settled():
        states = [bed.state(f"full-{i:02}-pod") for i in range(everything)]
        return all(s in ("Running", "Waiting", "Reserved") for s in states) and states.count("Running") >= NODES

    until(settled, PATIENCE, "the cluster to be full")
    bed.api.request("POST", PODS, pod("short", cpu="500m", duration=60))
    status = bed.await_state("short-pod", "Running")
    assert status["selection"] in ("backfill", "immediate"), status
    reserved = [i for i in range(everything) if bed.state(f"full-{i:02}-pod") == "Reserved"]
    assert len(reserved) == 1, reserved
    first = bed.job(f"full-{reserved[0]:02}-pod")["status"]
    say(f"# reserved: {first['estimatedStart']}, position {first.get('queuePosition')}")
    assert first["reservation"] and first["estimatedStart"]
    for i in range(everything):
        bed.api.request("DELETE", f"{PODS}/full-{i:02}")
    bed.api.request("DELETE", f"{PODS}/short")
    bed.none_left()


def test_never(bed):
    """what can never fit is told so at once"""
    bed.api.request("POST", PODS, pod("giant", cpu="100000"))
    status = bed.await_state("giant-pod", "Rejected")
    assert status["reason"] == "Unsatisfiable" and status["message"], status
    wrong = pod("wrong", duration="soon")
    bed.api.request("POST", PODS, wrong)

    def told():
        events = bed.api.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=wrong")["items"]
        return any(e["reason"] == "InvalidJobspec" for e in events)

    until(told, PATIENCE, "an event that says what is wrong")
    status = bed.await_state("wrong-pod", "Rejected")
    assert status["reason"] == "InvalidJobspec" and "fluxqueue/duration" in status["message"], status
    bed.gone(PODS, "giant")
    bed.gone(PODS, "wrong")
    bed.none_left()


# ---- groups ----


def test_group(bed):
    """pods of a group wait for each other, start together as one job, and those with a host port on different nodes"""

    def member(name, cpu):
        body = pod(name, cpu=cpu, group_size=2)
        body["metadata"]["labels"] = {"fluxqueue/group-name": "pair"}
        body["spec"]["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
        return body

    def nodes():
        return [bed.api.get(f"{PODS}/pair-{i}")["spec"].get("nodeName") for i in range(2)]

    bed.api.request("POST", PODS, member("pair-0", "1"))
    until(lambda: bed.job("pair-group").get("status", {}).get("reason") == "WaitingForMembers", PATIENCE, "a FluxJob")
    assert not bed.api.get(f"{PODS}/pair-0")["spec"].get("nodeName")
    bed.api.request("POST", PODS, member("pair-1", "500m"))
    bed.await_state("pair-group", "Running")
    until(lambda: all(nodes()), PATIENCE, "both to be bound")
    assert len(set(nodes())) == 2 and sorted(nodes()) == sorted(bed.nodes("pair-group")), nodes()
    assert not bed.job("pair-0-pod")
    bed.gone(PODS, "pair-0")
    bed.gone(PODS, "pair-1")
    bed.none_left()
    show(bed.api, "apply", "-f", EXAMPLES / "group.yaml")
    bed.await_state("gang-group", "Completed")
    show(bed.api, "delete", "-f", EXAMPLES / "group.yaml")
    bed.none_left()


# ---- sets ----


def test_deployment(bed):
    """a Deployment runs where the graph says, grows, is replaced and shrinks to nothing"""
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {**template("1", "600"), "restartPolicy": "Always"},
            },
        },
    }
    bed.api.request("POST", DEPLOYMENTS, body)

    def bound(n):
        found = [p for p in bed.pods("app=web") if not p["metadata"].get("deletionTimestamp")]
        return found if len(found) == n and all(p["spec"].get("nodeName") for p in found) else None

    def updated():
        found = bound(3)
        return found and all(p["spec"]["containers"][0].get("env") for p in found)

    until(lambda: bound(2), PATIENCE, "two pods")
    bed.await_state("web-deployment", "Running")
    show(bed.api, "scale", "deployment/web", "--replicas=3")
    until(lambda: bound(3), PATIENCE, "three pods")
    until(lambda: sum(bed.nodes("web-deployment").values()) == 3, PATIENCE, "three places")
    show(bed.api, "delete", "pod", until(lambda: bound(3), PATIENCE, "three pods")[0]["metadata"]["name"])
    until(lambda: bound(3), PATIENCE, "a pod in place of the one that was deleted")
    show(bed.api, "set", "env", "deployment/web", "A=b")
    until(updated, PATIENCE, "a rolling update")
    until(lambda: sum(bed.nodes("web-deployment").values()) == 3, PATIENCE, "three places")
    show(bed.api, "scale", "deployment/web", "--replicas=0")
    until(lambda: bed.job("web-deployment")["status"].get("reason") == "ScaledToZero", PATIENCE, "no places")
    bed.gone(DEPLOYMENTS, "web")
    bed.none_left()


# ---- restarts ----


def test_killed(bed):
    """the queue is killed while jobs run and wait: ids, places and the order are as they were, and it goes on"""
    for i in range(3):
        bed.api.request("POST", PODS, pod(f"stay-{i}", cpu="1"))
    for i in range(3):
        bed.await_state(f"stay-{i}-pod", "Running")
    before = {f"stay-{i}-pod": bed.job(f"stay-{i}-pod")["status"] for i in range(3)}
    bed.sluice.kill9()
    bed.sluice.start()
    bed.api.request("POST", PODS, pod("after", cpu="1"))
    bed.await_state("after-pod", "Running")
    for name, status in before.items():
        now = bed.job(name)["status"]
        assert (now["jobid"], now["nodes"]) == (status["jobid"], status["nodes"]), (now, status)
    assert bed.job("after-pod")["status"]["jobid"] > max(s["jobid"] for s in before.values())
    for name in ("stay-0", "stay-1", "stay-2", "after"):
        bed.api.request("DELETE", f"{PODS}/{name}")
    bed.none_left()
