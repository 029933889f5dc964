# SPDX-License-Identifier: Apache-2.0
"""Real operators with `sluice up` in place of a cluster.

    SL_OPERATORS=all tests/e2e/run up/test_hosted.py         # those that `make check` leaves out, too
    SL_OPERATORS=kwok tests/e2e/run up/test_hosted.py

Which there are says kube/operators.modules, what their jobs look like kube/jobkinds.py.
"""

import pytest

from jobkinds import JOBS
from kube import until
from operators import Operators, chosen
from sluice import say
from up import Up

TIME_LIMIT = 900
PATIENCE = 120  # seconds; each takes some three on a quiet machine
CHOSEN = chosen() & {"flux-operator", "jobset", "kwok", "mpi-operator"}  # those that work here
KINDS = [kind for kind, job in JOBS.items() if CHOSEN.issuperset(job.operators)]
PODS = "/api/v1/namespaces/default/pods"
up = operators = None


def logs():
    return operators.logs() if operators else ""


@pytest.fixture(scope="module", autouse=True)
def running():
    """An operator runs as long as tests need it."""
    global up, operators
    with Up(flags=["--nodes=2"]) as up, Operators(up) as operators:
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_job(kind):
    """a job runs and ends, and nothing of it is left"""
    job = JOBS[kind]
    operators.need(job)
    name = f"alone-{kind.lower()}"
    job.create(up, name, seconds=2)
    [ran] = job.ran(up, PATIENCE, name)
    assert len(ran) == job.pods, f"these ran: {sorted(ran)}"
    job.delete(up, name)
    until(lambda: not job.its_pods(up, name), PATIENCE, "no pods")
    say(f"# {kind}: {job.pods} pods ran, it ended, and they are gone")


def phases(prefix):
    found = [pod for pod in up.get(PODS)["items"] if pod["metadata"]["name"].startswith(prefix)]
    return sorted(pod["status"].get("phase", "") for pod in found)


if "kwok" in CHOSEN:

    def test_kwok():
        """nodes that kwok plays are ready, and run the pods of a Deployment and of a Job"""
        operators.only("kwok")
        for i in range(2):
            metadata = {
                "name": f"kwok-{i}",
                "annotations": {"kwok.x-k8s.io/node": "fake"},
                "labels": {"kubernetes.io/hostname": f"kwok-{i}", "type": "kwok"},
            }
            up.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})

        def ready(name):
            conditions = up.get(f"/api/v1/nodes/{name}")["status"].get("conditions") or []
            return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

        until(lambda: ready("kwok-0") and ready("kwok-1"), PATIENCE, "kwok's nodes to be ready")
        spec = {
            "nodeSelector": {"type": "kwok"},
            "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
        }
        template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
        deployment = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
        path = "/apis/apps/v1/namespaces/default/deployments"
        up.request("POST", path, {"metadata": {"name": "web"}, "spec": deployment})
        until(lambda: up.get(f"{path}/web")["status"].get("readyReplicas") == 3, PATIENCE, "3 ready replicas")
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        job = {"completions": 2, "parallelism": 2, "template": {"spec": {**spec, "restartPolicy": "Never"}}}
        up.request("POST", jobs, {"metadata": {"name": "once"}, "spec": job})
        until(lambda: up.get(f"{jobs}/once")["status"].get("succeeded") == 2, PATIENCE, "2 pods that succeeded")
        up.request("DELETE", f"{path}/web", {"propagationPolicy": "Background"})
        until(lambda: not phases("web-"), PATIENCE, "no pods of the Deployment")


WORKFLOW = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "metadata": {"name": "two"},
    "spec": {
        "entrypoint": "main",
        "podMetadata": {"annotations": {"sluice.dev/run-for": "1s"}},
        "templates": [
            {
                "name": "main",
                "dag": {
                    "tasks": [
                        {"name": "first", "template": "step"},
                        {"name": "second", "template": "step", "dependencies": ["first"]},
                    ]
                },
            },
            {"name": "step", "container": {"image": "none", "command": ["work"]}},
        ],
    },
}

if "workflow-controller" in CHOSEN:

    def test_argo():
        """the steps of a workflow run one after the other"""
        operators.only("workflow-controller")
        path = "/apis/argoproj.io/v1alpha1/namespaces/default/workflows"
        up.request("POST", path, WORKFLOW)
        until(lambda: up.get(f"{path}/two").get("status", {}).get("phase") == "Succeeded", PATIENCE, "the workflow")
        nodes = up.get(f"{path}/two")["status"]["nodes"].values()
        steps = {node["displayName"]: node for node in nodes if node["type"] == "Pod"}
        assert sorted(steps) == ["first", "second"] and steps["first"]["finishedAt"] <= steps["second"]["startedAt"]
        up.request("DELETE", f"{path}/two", {"propagationPolicy": "Background"})
        until(lambda: not phases("two-"), PATIENCE, "no pods")
