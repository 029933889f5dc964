# SPDX-License-Identifier: Apache-2.0
"""Admission checks on a whole control plane: one that somebody else performs, by the commands of
docs/admission-checks.md; and ProvisioningRequests, answered by Sluice from the nodes there are.
"""

import json
import pathlib
import time

import pytest

import sluice as bed
from installed import promptly
from kube import until
from sluice import KUEUE, Sluice, condition, holds, say, steps

PATIENCE = 90  # seconds; everything takes a fraction of one on a quiet machine
ROOT = pathlib.Path(__file__).resolve().parents[3]
CRD = ROOT / "deploy" / "provisioningrequest-crd.yaml"
REQUESTS = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
NOW = "2026-01-01T00:00:00Z"
TIME_LIMIT = 300
cluster = sluice = None


# ---- words of the tests ----


def show(*args, **more):
    return bed.show(cluster, *args, **more)


def apply(text):
    return show("apply", "-f", "-", input=text)


def eventually(question, what, seconds=PATIENCE):
    return until(question, seconds, what)


def check(name, controller, parameters=""):
    apply(
        f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {{name: {name}}}\n"
        f"spec: {{controllerName: {controller}{parameters}}}\n"
    )


def queue(name, *checks, cpu=100):
    listed = ", ".join(f"{{name: {c}}}" for c in checks)
    apply(f"""apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  admissionChecksStrategy: {{admissionChecks: [{listed}]}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{{name: any, resources: [{{name: cpu, nominalQuota: {cpu}}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{namespace: default, name: {name}}}
spec: {{clusterQueue: {name}}}
""")


def job(name, queue, pods=1, cpu=1, annotations=""):
    apply(f"""apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{kueue.x-k8s.io/queue-name: {queue}}}
  annotations: {{{annotations}}}
spec:
  parallelism: {pods}
  completions: {pods}
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: none, command: [sleep, infinity], resources: {{requests: {{cpu: {cpu}}}}}}}
""")


def workload(name):
    """The Workload of a Job; None: there is none yet."""
    for w in cluster.get(f"{KUEUE}/namespaces/default/workloads")["items"]:
        if any(o["name"] == name for o in w["metadata"].get("ownerReferences", [])):
            return w
    return None


def state(name, check):
    w = workload(name)
    for c in (w or {}).get("status", {}).get("admissionChecks", []):
        if c["name"] == check:
            return c
    return {}


def active(kind, name):
    return condition(cluster.get(f"{KUEUE}/{kind}/{name}"), "Active") or {}


def running(name):
    pods = cluster.get(f"/api/v1/namespaces/default/pods?labelSelector=job-name%3D{name}")["items"]
    return [p for p in pods if p["status"].get("phase") == "Running"]


def answer(name, check, says):
    """As the documentation tells other controllers to."""
    w = workload(name)
    entry = {
        "name": check,
        "message": "",
        "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **says,
    }
    show(
        "apply",
        "--server-side",
        "--subresource=status",
        "--force-conflicts",
        f"--field-manager=example.com/{check}",
        "-f",
        "-",
        input=json.dumps(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "metadata": {"name": w["metadata"]["name"], "namespace": "default"},
                "status": {"admissionChecks": [entry]},
            }
        ),
    )


# ---- tests ----


@pytest.fixture(scope="module", autouse=True)
def queueing(node_cluster):
    """A control plane with two nodes, and Sluice."""
    global cluster, sluice
    cluster = node_cluster
    cluster.add_nodes(2, cpu="4")
    with Sluice(cluster) as sluice:
        apply("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: any}\n")
        yield


def test_performed_by_others():
    """two checks of others: nobody performs them, both are ready, one changes its mind"""
    steps(unknown_controller, two_checks, retry)


def unknown_controller():
    """a check that nobody performs stops its queue, and says so; it is left alone"""
    check("budget", "example.com/budget")
    check("licence", "example.com/licence")
    queue("own", "budget", "licence")
    eventually(lambda: active("clusterqueues", "own").get("reason") == "AdmissionCheckInactive", "the queue is closed")
    assert not cluster.get(f"{KUEUE}/admissionchecks/budget").get("status", {}).get("conditions")
    job("a", "own")
    for name in ("budget", "licence"):
        show(
            "patch",
            "admissioncheck",
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            json.dumps(
                {
                    "status": {
                        "conditions": [
                            {
                                "type": "Active",
                                "status": "True",
                                "reason": "Active",
                                "message": "it is looked after",
                                "lastTransitionTime": NOW,
                            }
                        ]
                    }
                }
            ),
        )
    eventually(lambda: active("clusterqueues", "own").get("status") == "True", "the queue is open")


def two_checks():
    """the job starts when both are ready, with what they say of its pods"""
    eventually(lambda: workload("a") and holds(workload("a"), "QuotaReserved"), "quota is reserved")
    eventually(
        lambda: all(state("a", c).get("state") == "Pending" for c in ("budget", "licence")), "both checks are awaited"
    )
    answer(
        "a",
        "budget",
        {
            "state": "Ready",
            "message": "project 42 pays",
            "podSetUpdates": [{"name": "main", "labels": {"project": "42"}}],
        },
    )
    time.sleep(1)
    assert state("a", "budget")["state"] == "Ready" and state("a", "licence")["state"] == "Pending"
    assert not holds(workload("a"), "Admitted")
    answer("a", "licence", {"state": "Ready"})
    eventually(lambda: len(running("a")) == 1, "it runs")
    assert running("a")[0]["metadata"]["labels"]["project"] == "42"
    assert state("a", "budget")["message"] == "project 42 pays"


def retry():
    """a check that changes its mind: back-off, and another try"""
    answer("a", "licence", {"state": "Retry", "message": "all taken", "requeueAfterSeconds": 3})
    eventually(lambda: state("a", "licence").get("retryCount") == 1, "it is tried again")
    eventually(
        lambda: holds(workload("a"), "QuotaReserved") and not holds(workload("a"), "Evicted") and not running("a"),
        "it was evicted, and has quota again",
    )
    # That it was evicted is told for three seconds, and after them in the past tense.
    evicted, counts = condition(workload("a"), "Evicted"), workload("a")["status"]["schedulingStats"]["evictions"]
    assert "all taken" in evicted["message"] and [(c["reason"], c["count"]) for c in counts] == [
        ("AdmissionCheck", 1)
    ], (evicted, counts)
    assert state("a", "budget")["message"] == "Reset to Pending after eviction. Previously: Ready"
    answer("a", "licence", {"state": "Ready"})
    answer("a", "budget", {"state": "Rejected", "message": "no money"})
    eventually(lambda: workload("a")["spec"].get("active") is False, "it is deactivated")
    eventually(
        lambda: (
            (c := condition(workload("a"), "Evicted"))["reason"] == "DeactivatedDueToAdmissionCheck"
            and "no money" in c["message"]
        ),
        "it says why",
    )
    show("delete", "job", "a")


@pytest.fixture(scope="module")
def machines(queueing):
    """Without ProvisioningRequests the check says what to do; when they come, it works."""
    check(
        "machines",
        "kueue.x-k8s.io/provisioning-request",
        ", parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: machines}",
    )
    eventually(lambda: active("admissionchecks", "machines").get("reason") == "BadParametersRef", "no configuration")
    apply(
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ProvisioningRequestConfig\nmetadata: {name: machines}\n"
        "spec: {provisioningClassName: check-capacity.autoscaling.x-k8s.io}\n"
    )
    eventually(lambda: active("admissionchecks", "machines").get("reason") == "APINotInstalled", "no API")
    say("# " + active("admissionchecks", "machines")["message"])
    queue("asks", "machines")
    show("create", "-f", str(CRD))
    out = show("create", "-f", str(CRD), check=False)  # it is there: that is left alone
    assert "created" not in out, out
    eventually(lambda: active("admissionchecks", "machines").get("status") == "True", "the check is active")
    eventually(lambda: active("clusterqueues", "asks").get("status") == "True", "the queue is open")


@pytest.fixture
def asks(machines):
    """The queue `asks`; what a test has put there goes, and the node that it has added."""
    yield
    show("delete", "jobs", "--all")
    show("delete", "node", "node-3", "--ignore-not-found")
    eventually(lambda: not cluster.get("/api/v1/namespaces/default/pods")["items"], "the nodes are empty")


def test_no_api(machines):
    """the check and its queue are active once the API is there"""
    assert active("admissionchecks", "machines").get("status") == "True"
    assert active("clusterqueues", "asks").get("status") == "True"


def test_room(asks):
    """what fits starts at once; its pods say whose room they take"""
    job("b", "asks", pods=4)
    eventually(lambda: len(running("b")) == 4, "it runs")
    show("get", "provisioningrequests")
    name = f"{workload('b')['metadata']['name']}-machines-1"
    request = cluster.get(f"{REQUESTS}/{name}")
    assert condition(request, "Provisioned")["reason"] == "CapacityIsFound", request
    assert request["status"]["provisioningClassDetails"] == {"answeredBy": "sluice"}, request
    template = cluster.get(f"/api/v1/namespaces/default/podtemplates/ppt-{name}-main")
    assert template["metadata"]["ownerReferences"][0]["kind"] == "ProvisioningRequest", template["metadata"]
    notes = running("b")[0]["metadata"]["annotations"]
    assert notes["autoscaling.x-k8s.io/consume-provisioning-request"] == name, notes


def test_no_room(asks):
    """what does not fit waits with its reason, and starts when a node is added"""
    job("holder", "asks", pods=4)
    eventually(lambda: len(running("holder")) == 4, "half of the room is taken")
    job("c", "asks", pods=3, cpu=2)
    eventually(lambda: "find no place" in state("c", "machines").get("message", ""), "it says why")
    say("# " + state("c", "machines")["message"])
    assert "of 2 nodes" in state("c", "machines")["message"] and "lack" in state("c", "machines")["message"]
    assert holds(workload("c"), "QuotaReserved") and not holds(workload("c"), "Admitted")
    began = time.monotonic()
    room = '{cpu: "4", memory: 128Gi, pods: "110"}'
    apply(
        "apiVersion: v1\nkind: Node\nmetadata: {name: node-3, labels: {kubernetes.io/hostname: node-3}}\n"
        f"status: {{capacity: {room}, allocatable: {room}}}\n"
    )

    def ready():
        node = cluster._try("/api/v1/nodes/node-3")
        return node and not node["spec"].get("taints") and holds(node, "Ready")

    eventually(ready, "the node is ready")
    ready_after = time.monotonic() - began
    eventually(lambda: holds(workload("c"), "Admitted"), "it is admitted")
    took = time.monotonic() - began - ready_after
    eventually(lambda: len(running("c")) == 3, "it runs")
    say(f"# the node was ready after {ready_after:.2f} s, the workload was admitted {took:.2f} s after that")
    assert took < promptly(2), took


def test_promised_once(asks):
    """two that fit one by one, not both: one starts, and the other when that is gone"""
    job("d", "asks", pods=2, cpu=4)
    job("e", "asks", pods=2, cpu=4)
    eventually(lambda: len(running("d")) + len(running("e")) == 2, "one of them runs")
    first, second = ("d", "e") if running("d") else ("e", "d")
    eventually(lambda: (w := workload(second)) and holds(w, "QuotaReserved"), "the other waits with its quota")
    time.sleep(1)
    assert not holds(workload(second), "Admitted")
    sluice.restart()
    time.sleep(1)
    assert not holds(workload(second), "Admitted")
    show("delete", "job", first)
    eventually(lambda: len(running(second)) == 2, "the other runs")
    show("delete", "job", second)
    eventually(lambda: not cluster.get(REQUESTS)["items"], "no request is left")
    eventually(lambda: not cluster.get("/api/v1/namespaces/default/podtemplates")["items"], "no template is left")


def test_limited_hold(asks):
    """a request that may only look so long gives the quota back"""
    job("f", "asks", pods=1, cpu=30, annotations='provreq.kueue.x-k8s.io/ValidUntilSeconds: "2"')
    eventually(lambda: state("f", "machines").get("retryCount") == 1, "it was evicted to try later")
    assert state("f", "machines")["requeueAfterSeconds"] == 60
    eventually(lambda: not holds(workload("f"), "QuotaReserved"), "it has given its quota back")
