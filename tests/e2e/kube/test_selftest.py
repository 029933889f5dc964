# SPDX-License-Identifier: Apache-2.0
"""Tests the test bed: a whole cluster comes up, runs jobs, lives through kill -9, and leaves nothing."""

import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import pytest

import kube
from kube import Cluster, until

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
PATIENCE = 60  # seconds; everything takes one or two on a quiet machine
TIME_LIMIT = 300
cluster = None


def job(name, command, annotations=None, **spec):
    """Makes a Job."""
    container = {
        "name": "main",
        "image": "none",
        "command": command,
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    template = {
        "metadata": {"annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return cluster.request(
        "POST",
        JOBS,
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}},
    )


def ended(name, condition):
    """Waits until a Job has a condition; returns the Job and its pods."""

    def holds():
        found = cluster.get(f"{JOBS}/{name}")
        return (
            found
            if any(c["type"] == condition and c["status"] == "True" for c in found["status"].get("conditions", []))
            else None
        )

    found = until(holds, PATIENCE, f"condition {condition} of job {name}")
    return found, pods(name)


def pods(name):
    """The pods of a Job."""
    return cluster.get(f"{PODS}?labelSelector=job-name={name}")["items"]


def pod(name, annotations=None, **spec):
    """Makes a pod that is nobody's."""
    cluster.request(
        "POST",
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never", **spec},
        },
    )


def phase(name):
    return cluster.get(f"{PODS}/{name}")["status"]["phase"]


def with_path(path):
    """The processes that were given this path."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(path).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


@pytest.fixture(scope="module", autouse=True)
def started():
    """A cluster with two nodes; in the end nothing is left of it."""
    global cluster
    with Cluster(nodes=2, cpu="4", memory="8Gi", resources=["example.com/gpu=2"]) as cluster:
        yield
    until(lambda: not with_path(cluster.dir), PATIENCE, "the end of all processes")
    assert not cluster.dir.exists(), f"{cluster.dir} is still there"


def test_comes_up():
    version = cluster.get("/version")["gitVersion"]
    assert version in (kube.HERE / "go.mod").read_text(), f"reports {version}"
    nodes = cluster.get("/api/v1/nodes")["items"]
    offered = [{k: n["status"]["allocatable"][k] for k in ("cpu", "memory", "example.com/gpu")} for n in nodes]
    assert offered == [{"cpu": "4", "memory": "8Gi", "example.com/gpu": "2"}] * 2, offered


def test_job_completes():
    job("three", ["sleep", "2"], parallelism=3, completions=3)
    done, made = ended("three", "Complete")
    assert done["status"]["succeeded"] == 3, done["status"]
    assert len(made) == 3 and all(p["spec"]["nodeName"] in ("node-1", "node-2") for p in made), made
    for each in made:
        end = each["status"]["containerStatuses"][0]["state"]["terminated"]
        assert end["exitCode"] == 0 and end["startedAt"] < end["finishedAt"], end
        assert each["status"]["phase"] == "Succeeded", each["status"]


def test_job_fails():
    job("bad", ["false"], {"tests.sluice/exit-code": "3", "tests.sluice/run-seconds": "0.2"}, backoffLimit=0)
    _, made = ended("bad", "Failed")
    assert [p["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] for p in made] == [3], made


def test_too_many_wait():
    job("many", ["sleep", "infinity"], parallelism=9, completions=9)  # 8 fit

    def phases():
        return sorted(p["status"]["phase"] for p in pods("many"))

    until(lambda: phases() == ["Pending"] + ["Running"] * 8, PATIENCE, "8 running pods and one that waits")
    cluster.request("DELETE", f"{JOBS}/many?propagationPolicy=Foreground")
    until(lambda: not pods("many"), PATIENCE, "the end of the pods")


def test_deletion_takes_its_time():
    job("stopped", ["sleep", "infinity"], {"tests.sluice/stop-seconds": "1.5"})
    until(lambda: [p["status"]["phase"] for p in pods("stopped")] == ["Running"], PATIENCE, "a running pod")
    began = time.monotonic()
    cluster.request("DELETE", f"{JOBS}/stopped?propagationPolicy=Background")
    until(lambda: not pods("stopped"), PATIENCE, "the end of the pod")
    assert time.monotonic() - began > 1.5, time.monotonic() - began


def test_ready_later():
    for name, seconds in ("soon", "1.5"), ("never", "infinity"):
        pod(name, {"tests.sluice/ready-seconds": seconds, "tests.sluice/run-seconds": "infinity"})
    began = time.monotonic()

    def ready(name):
        return {c["type"]: c["status"] for c in cluster.get(f"{PODS}/{name}")["status"].get("conditions", [])}.get(
            "Ready"
        ) == "True"

    for name in "soon", "never":
        until(lambda: phase(name) == "Running", PATIENCE, f"{name} runs")
    until(lambda: ready("soon"), PATIENCE, "a ready pod")
    assert time.monotonic() - began > 1, "it was ready too soon"
    assert phase("never") == "Running" and not ready("never"), cluster.get(f"{PODS}/never")["status"]


def test_restart_on_failure():
    pod("again", {"tests.sluice/exit-code": "1", "tests.sluice/run-seconds": "0.2"}, restartPolicy="OnFailure")
    until(
        lambda: cluster.get(f"{PODS}/again")["status"].get("containerStatuses", [{}])[0].get("restartCount", 0) > 1,
        PATIENCE,
        "a second restart",
    )


def test_node_that_is_down():
    def down(value):
        return cluster.request(
            "PATCH",
            "/api/v1/nodes/node-1",
            {"metadata": {"annotations": {"tests.sluice/down": value}}},
            "application/merge-patch+json",
        )

    down("true")
    tries = itertools.count()

    def stays():
        """The name of a pod that does not begin to run; the fake kubelet may not know of it when the first comes."""
        name = f"lost-{next(tries)}"
        pod(name, nodeName="node-1")
        time.sleep(1.5)
        return phase(name) == "Pending" and name

    lost = until(stays, PATIENCE, "a pod that stays as it is")
    down(None)
    until(lambda: phase(lost) == "Succeeded", PATIENCE, "the end of the pod")


def test_kill9():
    job("kept", ["sleep", "0.5"], parallelism=3, completions=3)
    ended("kept", "Complete")
    before = cluster.get(f"{JOBS}/kept")["metadata"]["uid"]
    cluster.kill9("kube-apiserver")
    cluster.kill9("etcd")
    assert not cluster.alive("etcd") and not cluster.alive("kube-apiserver")
    try:
        cluster.get("/version")
        raise AssertionError("the API server answers")
    except OSError:
        pass
    cluster.restart("etcd")
    cluster.restart("kube-apiserver")
    assert cluster.get(f"{JOBS}/kept")["metadata"]["uid"] == before
    assert len(pods("kept")) == 3
    job("later", ["sleep", "0.5"], parallelism=3, completions=3)
    ended("later", "Complete")


def test_killed_owner_takes_all_along():
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import kube, time; c = kube.Cluster(only='api').start(); print(c.dir, flush=True); time.sleep(300)",
        ],
        stdout=subprocess.PIPE,
        text=True,
        cwd=kube.HERE,
    )
    try:
        folder = pathlib.Path(owner.stdout.readline().strip())
        assert len(with_path(folder)) == 2, with_path(folder)
    finally:
        owner.kill()
        owner.wait()
    until(lambda: not with_path(folder), PATIENCE, "the end of all processes")
    # A test beside this one may be sweeping it up at the moment.
    until(lambda: kube.sweep() or not folder.exists(), PATIENCE, f"the end of {folder}")


def serve(folder):
    command = [kube.HERE / "cluster", "--dir", folder, "serve", "--", "--verbose"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert "ready" in server.stdout.readline()
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 0


def test_by_hand():
    with tempfile.TemporaryDirectory() as parent:
        folder = f"{parent}/cluster"

        def run(*args):
            return subprocess.run(
                [kube.HERE / "cluster", "--dir", folder, *args], check=True, capture_output=True, text=True
            ).stdout

        try:
            assert folder in run("up", "--only", "api")
            run("kubectl", "create", "configmap", "kept")
            run("kill", "etcd")
            run("restart", "etcd")
            assert "kept" in run("kubectl", "get", "configmaps", "-o", "name")
            for _ in range(2):  # the second time on the kinds that are there
                serve(folder)
        finally:
            run("down")
        assert not with_path(folder) and not os.path.exists(folder)
