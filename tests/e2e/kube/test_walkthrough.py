# SPDX-License-Identifier: Apache-2.0
"""Sluice from the user's side: Jobs wait, run, borrow, are sent back and run again, seen through kubectl.

A whole control plane with nodes, so that pods go through their phases.
"""

import json
import re
import time

import pytest

import sluice as bed
from kube import Failure, until
from sluice import KUEUE, condition, holds, say, steps

PATIENCE = 90  # seconds; everything takes a fraction of one on a quiet machine
TIME_LIMIT = 400
cluster = sluice = None

# As the walk-through of Kueue with the Flux operator has it, in the older version of the API.
SETUP = """apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: default-flavor
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: cluster-queue
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu", "memory"]
    flavors:
    - name: default-flavor
      resources:
      - name: cpu
        nominalQuota: 9
      - name: memory
        nominalQuota: 36Gi
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  namespace: default
  name: user-queue
spec:
  clusterQueue: cluster-queue
"""
# The Job that the operator makes from a MiniCluster of size 1.
MINICLUSTER = """apiVersion: batch/v1
kind: Job
metadata:
  generateName: flux-sample-kueue-
  namespace: default
  labels:
    kueue.x-k8s.io/queue-name: user-queue
spec:
  completionMode: Indexed
  completions: 1
  parallelism: 1
  template:
    spec:
      restartPolicy: OnFailure
      setHostnameAsFQDN: false
      subdomain: flux-service
      containers:
      - name: flux-sample
        image: ghcr.io/flux-framework/flux-restful-api:latest
        command: [sleep, "12"]
        resources:
          requests:
            cpu: 4
            memory: 200Mi
"""


# ---- words of the tests ----


def show(*args, **more):
    return bed.show(cluster, *args, **more)


def apply(text):
    return show("apply", "-f", "-", input=text)


def namespace(name, labels=""):
    show("create", "namespace", name)
    if labels:
        show("label", "namespace", name, labels)
    until(lambda: cluster._try(f"/api/v1/namespaces/{name}/serviceaccounts/default"), PATIENCE, "the service account")


def flavor(name="on-demand"):
    apply(f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {{name: {name}}}\n")


def cluster_queue(name, cpu, flavor="on-demand", selector="{}", **spec):
    more = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in spec.items())
    apply(f"""apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {selector}
{more}  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: {flavor}
      resources: [{{name: cpu, nominalQuota: {cpu}}}]
""")


def local_queue(ns, name, cq):
    apply(
        f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {{namespace: {ns}, name: {name}}}\n"
        f"spec: {{clusterQueue: {cq}}}\n"
    )


def job(ns, name, queue, pods=1, cpu=1, sleep="infinity", labels="", annotations="", completions=None):
    apply(f"""apiVersion: batch/v1
kind: Job
metadata:
  namespace: {ns}
  name: {name}
  labels: {{kueue.x-k8s.io/queue-name: {queue}{labels and ", " + labels}}}
  annotations: {{{annotations}}}
spec:
  parallelism: {pods}
  completions: {completions or pods}
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: none, command: [sleep, "{sleep}"], resources: {{requests: {{cpu: {cpu}}}}}}}
""")


def patch(kind, name, spec, ns=None):
    show(*(["-n", ns] if ns else []), "patch", kind, name, "--type=merge", "-p", json.dumps(spec))


def the_job(ns, name):
    return cluster.get(f"/apis/batch/v1/namespaces/{ns}/jobs/{name}")


def running(ns, name):
    found = cluster.get(f"/api/v1/namespaces/{ns}/pods?labelSelector=job-name={name}")["items"]
    return sum(p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"] for p in found)


def pods(ns, name):
    return len(cluster.get(f"/api/v1/namespaces/{ns}/pods?labelSelector=job-name={name}")["items"])


def workload(ns, name):
    """The Workload of a Job, or None."""
    found = [
        w
        for w in cluster.get(f"{KUEUE}/namespaces/{ns}/workloads")["items"]
        if any(o["name"] == name for o in w["metadata"].get("ownerReferences", []))
    ]
    assert len(found) < 2, f"{name} has {len(found)} workloads"
    return found[0] if found else None


def told(ns, name):
    """What the workload of a Job says of itself, for messages."""
    w = workload(ns, name)
    if not w:
        return f"{ns}/{name} has no workload"
    return (
        "\n".join(
            f"  {c['type']}={c['status']} {c['reason']}: {c['message']}"
            for c in w.get("status", {}).get("conditions") or []
        )
        or "  no conditions"
    )


def eventually(question, what, ns=None, name=None):
    began = time.monotonic()
    try:
        answer = until(question, PATIENCE, what)
    except Failure as error:
        raise Failure(
            f"{error}"
            + (
                f"\n{ns}/{name} says\n{told(ns, name)}\n  suspend: {the_job(ns, name)['spec'].get('suspend')}"
                if name
                else ""
            )
        ) from None
    say(f"# after {time.monotonic() - began:.1f} s: {what}")
    return answer


def waits(ns, name, text, type="QuotaReserved"):
    """Until a Job's workload says why it waits; then shows that."""

    def question():
        w = workload(ns, name)
        c = condition(w, type) if w else None
        return c and c["status"] == "False" and re.search(text, c["message"]) and c

    c = eventually(question, f"{name} waits", ns, name)
    say(f"#   {c['reason']}: {c['message']}")
    found = the_job(ns, name)
    assert found["spec"]["suspend"] and running(ns, name) == 0, f"{name} runs: {found['spec']}"
    return c


def runs(ns, name, n=1):
    eventually(
        lambda: not the_job(ns, name)["spec"]["suspend"] and running(ns, name) == n,
        f"{name} runs with {n} pods",
        ns,
        name,
    )


def suspended(ns, name):
    eventually(
        lambda: the_job(ns, name)["spec"]["suspend"] and pods(ns, name) == 0,
        f"{name} is suspended and its pods are gone",
        ns,
        name,
    )


def stopped(name, reason):
    """Until a ClusterQueue says that it is inactive for this reason, maybe after its workloads do; then shows it."""

    def asked():
        return condition(cluster.get(f"{KUEUE}/clusterqueues/{name}"), "Active")

    c = eventually(
        lambda: (c := asked())["status"] == "False" and c["reason"] == reason and c, f"queue {name} is inactive"
    )
    say(f"#   the queue: {c['reason']}: {c['message']}")
    return c


def happened(ns, name, *reasons):
    """Until there are events of these reasons about an object: they come beside what they are about, or after it."""

    def missing():
        found = cluster.get(f"/api/v1/namespaces/{ns}/events")["items"]
        return set(reasons) - {e["reason"] for e in found if e["involvedObject"]["name"] == name}

    eventually(lambda: not missing(), f"events tell of {', '.join(reasons)}")


def rows(text):
    """A table of kubectl, by the names of its columns."""
    head, *lines = text.rstrip().splitlines()
    starts = [m.start() for m in re.finditer(r"\S+(?: \S+)*", head)]

    def cut(line):
        return [line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]

    return [dict(zip(cut(head), cut(line))) for line in lines]


# ---- the tests ----


@pytest.fixture(scope="module", autouse=True)
def queueing():
    """The cluster, our kinds, and sluice beside it."""
    global cluster, sluice
    bed.program()
    cluster, sluice = bed.beds(nodes=4, cpu="32")
    with cluster:
        sluice.prepare()
        try:
            sluice.start()
            say(f"# ready after {sluice.ready_after:.2f} s")
            yield
        finally:
            sluice.kill9()


def test_walkthrough():
    """a queue and a Job as in the walk-through with Flux"""
    apply(SETUP)
    eventually(
        lambda: holds(cluster.get(f"{KUEUE}/namespaces/default/localqueues/user-queue"), "Active"),
        "user-queue is ready",
    )
    table = rows(show("get", "queues"))
    assert table == [
        {"NAME": "user-queue", "CLUSTERQUEUE": "cluster-queue", "PENDING WORKLOADS": "0", "ADMITTED WORKLOADS": "0"}
    ], table
    name = re.match(r"job.batch/(\S+) created", show("create", "-f", "-", input=MINICLUSTER))[1]
    runs("default", name)
    eventually(
        lambda: (
            cluster.get(f"{KUEUE}/namespaces/default/localqueues/user-queue")["status"].get("admittedWorkloads") == 1
        ),
        "user-queue counts it",
    )
    table = rows(show("get", "queues"))
    assert (table[0]["PENDING WORKLOADS"], table[0]["ADMITTED WORKLOADS"]) == ("0", "1"), table
    table = rows(show("-n", "default", "get", "workloads"))
    assert len(table) == 1 and re.fullmatch(rf"job-{name}-[0-9a-f]{{5}}", table[0]["NAME"]), table
    assert (table[0]["QUEUE"], table[0]["RESERVED IN"], table[0]["ADMITTED"]) == (
        "user-queue",
        "cluster-queue",
        "True",
    ), table
    eventually(lambda: holds(workload("default", name), "Finished"), "its workload is finished", "default", name)
    happened("default", table[0]["NAME"], "QuotaReserved", "Admitted")
    text = show("describe", "workload", table[0]["NAME"])
    for line in (
        r"Kind: +Workload",
        r"Queue Name: +user-queue",
        r"Cluster Queue: +cluster-queue",
        r"Cpu: +default-flavor",
        r"Memory: +default-flavor",
        r"Memory: +200Mi",
        r"Cpu: +4",
        r"Type: +QuotaReserved",
        r"Type: +Admitted",
        r"Reason: +Admitted",
        r"Type: +Finished",
        r"Message: +Reached expected number of succeeded pods",
        r"Normal +QuotaReserved .* kueue-admission +Quota reserved in ClusterQueue cluster-queue, wait time "
        r"since queued was \d+s",
        r"Normal +Admitted .* kueue-admission +Admitted by ClusterQueue cluster-queue, wait time since "
        r"reservation was \d+s",
    ):
        assert re.search(line, text), f"{line} is not in that"
    # Suspended and Resumed are told only if the Job's own controller saw it suspended in time: test_stop_policy.
    words = ("CreatedWorkload", "Started", "SuccessfulCreate", "FinishedWorkload", "Completed")
    happened("default", name, *words)
    events = show("events", "--for", f"job/{name}")
    for word in words:
        assert word in events, f"no event {word}"
    eventually(
        lambda: (
            cluster.get(f"{KUEUE}/namespaces/default/localqueues/user-queue")["status"].get("admittedWorkloads", 0) == 0
        ),
        "user-queue is empty again",
    )

    def waiting():
        return {
            k: v
            for k, v in sluice.metrics().items()
            if k.startswith("kueue_pending_workloads{") and 'cluster_queue="cluster-queue"' in k
        }

    say(f"# {eventually(lambda: (now := waiting()) and not any(now.values()) and now, 'so do the metrics')}")


def test_cohort():
    """two queues of a cohort"""
    steps(borrows_and_takes_back, borrowing_both_ways)


def borrows_and_takes_back():
    """two queues borrow from each other, and take back by preemption"""
    flavor()
    namespace("teams")
    for team in "ab":
        cluster_queue(f"team-{team}", 4, cohortName="all-teams", preemption={"reclaimWithinCohort": "Any"})
        local_queue("teams", team, f"team-{team}")
    job("teams", "wide", "a", pods=8)
    runs("teams", "wide", 8)

    def used():
        return cluster.get(f"{KUEUE}/clusterqueues/team-a")["status"]["flavorsUsage"][0]["resources"][0]

    eventually(lambda: (used()["total"], used()["borrowed"]) == ("8", "4"), "8 cores are in use, 4 of them borrowed")
    show("get", "clusterqueue", "team-a", "-o", "jsonpath={.status.flavorsUsage}{'\\n'}")
    job("teams", "owner", "b", pods=4, sleep="10")
    suspended("teams", "wide")
    runs("teams", "owner", 4)
    waits("teams", "wide", "insufficient unused quota for cpu in flavor on-demand, 4 more needed")
    show("-n", "teams", "get", "workloads")
    w = workload("teams", "wide")
    say(told("teams", "wide"))
    assert condition(w, "Evicted")["reason"] == "Preempted", w["status"]
    assert condition(w, "Preempted")["reason"] == "InCohortReclamation", w["status"]
    assert "admission" not in w["status"] or not w["status"]["admission"], w["status"]
    happened(
        "teams", w["metadata"]["name"], "QuotaReserved", "Admitted", "Preempted", "EvictedDueToPreempted", "Pending"
    )
    show("-n", "teams", "events", "--for", f"workload/{w['metadata']['name']}")
    eventually(lambda: holds(the_job("teams", "owner"), "Complete"), "owner is complete", "teams", "owner")
    runs("teams", "wide", 8)
    assert the_job("teams", "wide")["spec"]["parallelism"] == 8
    show("-n", "teams", "delete", "job", "wide", "owner")
    eventually(lambda: not cluster.get(f"{KUEUE}/namespaces/teams/workloads")["items"], "no workload is left")


def borrowing_both_ways():
    """the other queue borrows as well, and its lender takes only what is his"""
    job("teams", "guest", "b", pods=6)
    runs("teams", "guest", 6)
    job("teams", "small", "a", pods=2)
    runs("teams", "small", 2)
    assert running("teams", "guest") == 6, "guest was sent away without need"
    job("teams", "rest", "a", pods=2)
    suspended("teams", "guest")
    runs("teams", "rest", 2)
    show("-n", "teams", "get", "workloads")
    show("-n", "teams", "delete", "jobs", "--all")


def test_partial_admission():
    """job-min-parallelism: fewer pods now; the old number when it is stopped"""
    flavor()
    namespace("partial")
    cluster_queue("partial", 4)
    local_queue("partial", "main", "partial")
    job("partial", "six", "main", pods=6, annotations='kueue.x-k8s.io/job-min-parallelism: "2"')
    runs("partial", "six", 4)
    show("-n", "partial", "get", "job", "six", "-o", "jsonpath={.spec.parallelism} of {.spec.completions}{'\\n'}")
    found = the_job("partial", "six")["spec"]
    assert (found["parallelism"], found["completions"]) == (4, 6), found
    assert workload("partial", "six")["status"]["admission"]["podSetAssignments"][0]["count"] == 4
    patch("clusterqueue", "partial", {"spec": {"stopPolicy": "HoldAndDrain"}})
    suspended("partial", "six")
    eventually(
        lambda: the_job("partial", "six")["spec"]["parallelism"] == 6, "its parallelism is 6 again", "partial", "six"
    )
    patch("clusterqueue", "partial", {"spec": {"stopPolicy": "None"}})
    runs("partial", "six", 4)
    show("-n", "partial", "delete", "job", "six")


def test_stop_policy():
    """Hold keeps what runs; HoldAndDrain does not; None lets all run"""
    flavor()
    namespace("stop")
    cluster_queue("stop", 4)
    local_queue("stop", "main", "stop")
    job("stop", "first", "main", pods=2)
    runs("stop", "first", 2)
    patch("clusterqueue", "stop", {"spec": {"stopPolicy": "Hold"}})
    job("stop", "second", "main", pods=2)
    waits("stop", "second", "ClusterQueue stop is inactive")
    stopped("stop", "Stopped")
    assert running("stop", "first") == 2
    eventually(lambda: holds(the_job("stop", "second"), "Suspended"), "its own controller knows", "stop", "second")
    patch("clusterqueue", "stop", {"spec": {"stopPolicy": "None"}})
    runs("stop", "second", 2)
    happened("stop", "second", "Suspended", "Resumed")
    assert running("stop", "first") == 2
    patch("clusterqueue", "stop", {"spec": {"stopPolicy": "HoldAndDrain"}})
    for name in ("first", "second"):
        suspended("stop", name)
        c = condition(workload("stop", name), "Evicted")
        assert c["reason"] == "ClusterQueueStopped", told("stop", name)
    waits("stop", "first", "ClusterQueue stop is inactive")
    patch("clusterqueue", "stop", {"spec": {"stopPolicy": "None"}})
    runs("stop", "first", 2)
    runs("stop", "second", 2)
    say("# the same for the LocalQueue")
    patch("localqueue", "main", {"spec": {"stopPolicy": "HoldAndDrain"}}, "stop")
    for name in ("first", "second"):
        suspended("stop", name)
        assert condition(workload("stop", name), "Evicted")["reason"] == "LocalQueueStopped", told("stop", name)
    waits("stop", "first", "LocalQueue main is inactive")
    patch("localqueue", "main", {"spec": {"stopPolicy": "None"}}, "stop")
    runs("stop", "first", 2)
    runs("stop", "second", 2)
    show("-n", "stop", "delete", "jobs", "--all")


def test_wakes_quota_raised():
    """waits for quota; more quota is given"""
    flavor()
    namespace("quota")
    cluster_queue("quota", 3)
    local_queue("quota", "main", "quota")
    job("quota", "holder", "main", pods=2)
    runs("quota", "holder", 2)
    job("quota", "waiter", "main", pods=2)
    waits("quota", "waiter", "insufficient unused quota for cpu in flavor on-demand, 1 more needed")
    job("quota", "giant", "main", pods=9)
    waits("quota", "giant", r"insufficient quota for cpu in flavor on-demand, .*request \(9\) > maximum capacity \(3\)")
    show("-n", "quota", "get", "workloads")
    eventually(
        lambda: cluster.get(f"{KUEUE}/clusterqueues/quota")["status"]["pendingWorkloads"] == 2, "the queue counts both"
    )
    show("get", "clusterqueue", "quota")
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "on-demand", "resources": [{"name": "cpu", "nominalQuota": "4"}]}],
    }
    patch("clusterqueue", "quota", {"spec": {"resourceGroups": [group]}})
    runs("quota", "waiter", 2)
    show("-n", "quota", "delete", "job", "holder", "waiter")
    group["flavors"][0]["resources"][0]["nominalQuota"] = "9"
    patch("clusterqueue", "quota", {"spec": {"resourceGroups": [group]}})
    runs("quota", "giant", 9)
    show("-n", "quota", "delete", "jobs", "--all")


def test_reason_follows_quota():
    """a quota that is raised too little does not wake what waits, but the reason has the new number"""
    flavor()
    namespace("reason")
    cluster_queue("reason", 3)
    local_queue("reason", "main", "reason")
    job("reason", "giant", "main", pods=9)
    waits("reason", "giant", r"request \(9\) > maximum capacity \(3\)")
    cluster_queue("reason", 5)
    waits("reason", "giant", r"request \(9\) > maximum capacity \(5\)")
    show("-n", "reason", "delete", "jobs", "--all")


def test_wakes_local_queue_created():
    """the LocalQueue comes after the Job"""
    flavor()
    namespace("lq")
    cluster_queue("lq", 3)
    job("lq", "early", "main")
    waits("lq", "early", "LocalQueue main doesn't exist")
    local_queue("lq", "main", "lq")
    runs("lq", "early")
    show("-n", "lq", "delete", "jobs", "--all")


def test_wakes_cluster_queue_created():
    """the ClusterQueue comes after the LocalQueue and the Job"""
    flavor()
    namespace("cq")
    local_queue("cq", "main", "cq")
    job("cq", "early", "main")
    waits("cq", "early", "ClusterQueue cq doesn't exist")
    cluster_queue("cq", 3)
    runs("cq", "early")
    show("-n", "cq", "delete", "jobs", "--all")


def test_wakes_flavor_created():
    """the flavor comes after the queue"""
    namespace("flavor")
    cluster_queue("flavor", 3, flavor="later")
    local_queue("flavor", "main", "flavor")
    job("flavor", "early", "main")
    waits("flavor", "early", "ClusterQueue flavor is inactive")
    assert "references missing ResourceFlavor(s): later" in stopped("flavor", "FlavorNotFound")["message"]
    flavor("later")
    runs("flavor", "early")
    show("-n", "flavor", "delete", "jobs", "--all")


def test_wakes_namespace_label():
    """the namespace gets the label that the queue selects by"""
    flavor()
    namespace("label")
    cluster_queue("label", 3, selector="{matchLabels: {team: red}}")
    local_queue("label", "main", "label")
    job("label", "outsider", "main")
    waits("label", "outsider", "workload namespace doesn't match ClusterQueue selector")
    show("label", "namespace", "label", "team=red")
    runs("label", "outsider")
    show("-n", "label", "delete", "jobs", "--all")


def priority_class(name, value):
    apply(
        f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n"
    )


def test_wakes_priority():
    """what waits becomes more important than what runs"""
    steps(class_raised, other_class)


def class_raised():
    """the class of what waits becomes more important than what runs"""
    flavor()
    namespace("priority")
    cluster_queue("priority", 2, preemption={"withinClusterQueue": "LowerPriority"})
    local_queue("priority", "main", "priority")
    priority_class("ordinary", 100)
    priority_class("special", 100)
    job("priority", "holder", "main", pods=2, labels="kueue.x-k8s.io/priority-class: ordinary")
    runs("priority", "holder", 2)
    job("priority", "waiter", "main", pods=2, labels="kueue.x-k8s.io/priority-class: special")
    waits("priority", "waiter", "insufficient unused quota for cpu in flavor on-demand, 2 more needed")
    priority_class("special", 1000)
    suspended("priority", "holder")
    runs("priority", "waiter", 2)
    waits("priority", "holder", "insufficient unused quota for cpu in flavor on-demand, 2 more needed")
    say(told("priority", "holder"))
    assert condition(workload("priority", "holder"), "Preempted")["reason"] == "InClusterQueue"
    assert workload("priority", "waiter")["spec"]["priority"] == 1000


def other_class():
    """what waits is given a more important class"""
    priority_class("urgent", 5000)
    show("-n", "priority", "label", "--overwrite", "job", "holder", "kueue.x-k8s.io/priority-class=urgent")
    suspended("priority", "waiter")
    runs("priority", "holder", 2)
    assert workload("priority", "holder")["spec"]["priority"] == 5000
    show("-n", "priority", "delete", "jobs", "--all")


def test_wakes_admission_check_removed():
    """a check that nobody answers is taken away from the queue"""
    flavor()
    namespace("checks")
    apply(
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: budget}\n"
        "spec: {controllerName: example.com/budget}\n"
    )
    cluster_queue("checks", 3, admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]})
    local_queue("checks", "main", "checks")
    job("checks", "asks", "main")
    waits("checks", "asks", "ClusterQueue checks is inactive")
    stopped("checks", "AdmissionCheckInactive")
    show(
        "patch",
        "admissioncheck",
        "budget",
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
                            "message": "ready",
                            "lastTransitionTime": "2026-01-01T00:00:00Z",
                        }
                    ]
                }
            }
        ),
    )
    eventually(lambda: holds(workload("checks", "asks"), "QuotaReserved"), "asks has quota", "checks", "asks")
    eventually(
        lambda: (
            [(c["name"], c["state"]) for c in workload("checks", "asks")["status"].get("admissionChecks", [])]
            == [("budget", "Pending")]
        ),
        "it waits for the check",
        "checks",
        "asks",
    )
    say(told("checks", "asks"))
    assert not holds(workload("checks", "asks"), "Admitted")
    assert the_job("checks", "asks")["spec"]["suspend"]
    patch("clusterqueue", "checks", {"spec": {"admissionChecksStrategy": None}})
    runs("checks", "asks")
    show("-n", "checks", "delete", "jobs", "--all")


def test_deactivated():
    """a workload that is set inactive stops; set active, it runs"""
    namespace("active")
    flavor()
    cluster_queue("active", 3)
    local_queue("active", "main", "active")
    job("active", "toggle", "main")
    runs("active", "toggle")
    name = workload("active", "toggle")["metadata"]["name"]
    patch("workload", name, {"spec": {"active": False}}, "active")
    suspended("active", "toggle")
    eventually(
        lambda: (
            condition(workload("active", "toggle"), "Requeued")["status"] == "False"
            and condition(workload("active", "toggle"), "PodsReady")["reason"] == "WaitForStart"
        ),
        "its quota is given back",
        "active",
        "toggle",
    )
    say(told("active", "toggle"))
    assert condition(workload("active", "toggle"), "Evicted")["reason"] == "Deactivated"
    patch("workload", name, {"spec": {"active": True}}, "active")
    runs("active", "toggle")
    show("-n", "active", "delete", "jobs", "--all")


def test_elastic():
    """an elastic Job grows, shrinks, and asks for more than there is: its new pods wait for the grant"""
    flavor()
    namespace("elastic")
    cluster_queue("elastic", 4)
    local_queue("elastic", "main", "elastic")

    def in_use():
        return cluster.get(f"{KUEUE}/clusterqueues/elastic")["status"]["flavorsUsage"][0]["resources"][0]["total"]

    def slices():
        return cluster.get(f"{KUEUE}/namespaces/elastic/workloads")["items"]

    def gated():
        return [
            p["metadata"]["name"]
            for p in cluster.get("/api/v1/namespaces/elastic/pods")["items"]
            if p["spec"].get("schedulingGates") == [{"name": "kueue.x-k8s.io/elastic-job"}]
        ]

    job("elastic", "rubber", "main", pods=1, completions=9, annotations='kueue.x-k8s.io/elastic-job: "true"')
    runs("elastic", "rubber", 1)
    patch("job", "rubber", {"spec": {"parallelism": 3}}, "elastic")
    runs("elastic", "rubber", 3)
    eventually(
        lambda: sorted(condition(w, "Finished")["reason"] for w in slices()) == ["", "WorkloadSliceReplaced"],
        "a second slice has taken the place of the first",
    )
    show("-n", "elastic", "get", "workloads")
    eventually(lambda: in_use() == "3", "3 cores are in use")
    patch("job", "rubber", {"spec": {"parallelism": 2}}, "elastic")
    runs("elastic", "rubber", 2)
    eventually(lambda: in_use() == "2", "2 cores are in use")
    assert len(slices()) == 2 and not gated(), (slices(), gated())
    patch("job", "rubber", {"spec": {"parallelism": 5}}, "elastic")
    eventually(
        lambda: len(gated()) == 3 and len(slices()) == 3 and pods("elastic", "rubber") == 5,
        "3 pods and their slice wait",
    )
    time.sleep(1)  # nothing is to come of it
    show("-n", "elastic", "get", "pods")
    assert running("elastic", "rubber") == 2 and len(gated()) == 3, gated()
    cluster_queue("elastic", 5)
    runs("elastic", "rubber", 5)
    assert not gated(), gated()
    show("-n", "elastic", "delete", "jobs", "--all")


RACKS = """apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: datacenter}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: racked}
spec: {nodeLabels: {example.com/pool: racked}, topologyName: datacenter}
"""
# Behind all others in the order of names; the last label is for `sluice up`, to which it is nobody's node otherwise.
NODE = """apiVersion: v1
kind: Node
metadata:
  name: west-5
  labels:
    kubernetes.io/hostname: west-5
    example.com/pool: racked
    example.com/rack: right
    sluice.dev/simulated: "true"
status:
  capacity: {cpu: "32", memory: 128Gi, pods: "110"}
  allocatable: {cpu: "32", memory: 128Gi, pods: "110"}
"""


def racked_job(name, pods, cpu):
    apply(f"""apiVersion: batch/v1
kind: Job
metadata: {{namespace: racks, name: {name}, labels: {{kueue.x-k8s.io/queue-name: main}}}}
spec:
  completionMode: Indexed
  parallelism: {pods}
  completions: {pods}
  template:
    metadata: {{annotations: {{kueue.x-k8s.io/podset-required-topology: example.com/rack}}}}
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: none, command: [sleep, infinity], resources: {{requests: {{cpu: {cpu}}}}}}}
""")


def stands(name):
    """The nodes of a Job's pods, in the order of their indexes."""
    found = cluster.get(f"/api/v1/namespaces/racks/pods?labelSelector=job-name={name}")["items"]
    found.sort(key=lambda p: int(p["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]))
    return [p["spec"]["nodeName"] for p in found]


def test_topology():
    """Jobs that need a rack: one fills it, one waits until its rack has grown"""

    # Pods end after their Jobs, and until they have the nodes are fuller than this test says.
    def here():
        return [
            p for p in cluster.get("/api/v1/pods")["items"] if p["status"].get("phase") not in ("Succeeded", "Failed")
        ]

    eventually(lambda: not here(), "no pod is left of others")
    nodes = sorted(
        n["metadata"]["name"]
        for n in cluster.get("/api/v1/nodes")["items"]
        if re.search(r"-\d+$", n["metadata"]["name"])
    )
    first, second, third, fourth = nodes
    for node, rack in zip(nodes, ("left", "left", "right", "right")):
        show("label", "node", node, "example.com/pool=racked", f"example.com/rack={rack}")
    namespace("racks")
    cluster_queue("racks", 1000, flavor="racked")
    local_queue("racks", "main", "racks")
    apply(RACKS)
    racked_job("whole", 4, 16)
    runs("racks", "whole", 4)
    show("-n", "racks", "get", "pods", "-o", "wide")
    assert stands("whole") == [first, first, second, second], stands("whole")
    racked_job("three", 3, 20)
    waits("racks", "three", 'topology "datacenter" allows to fit only 2 out of 3 pod')
    apply(NODE)
    runs("racks", "three", 3)
    show("-n", "racks", "get", "pods", "-o", "wide")
    assert stands("three") == [third, fourth, "west-5"], stands("three")
    place = workload("racks", "three")["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
    say(f"# {json.dumps(place, sort_keys=True)}")
    assert place["levels"] == ["kubernetes.io/hostname"] and place["slices"][0]["domainCount"] == 3, place
    template = the_job("racks", "three")["spec"]["template"]["spec"]
    assert template["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}], template
    racked_job("late", 2, 20)
    waits("racks", "late", 'topology "datacenter" .*fit')
    show("-n", "racks", "delete", "job", "whole")
    runs("racks", "late", 2)
    assert stands("late") == [first, second], stands("late")
    patch("clusterqueue", "racks", {"spec": {"stopPolicy": "HoldAndDrain"}})
    suspended("racks", "late")
    eventually(
        lambda: "schedulingGates" not in the_job("racks", "late")["spec"]["template"]["spec"],
        "its template is as it was",
        "racks",
        "late",
    )
    show("-n", "racks", "delete", "jobs", "--all")
    eventually(lambda: not cluster.get("/api/v1/namespaces/racks/pods")["items"], "no pod is left")
    show("delete", "node", "west-5")


def test_state_survives():
    """after all of that: a fresh process holds the same state"""

    def quiet():
        return not any("deletionTimestamp" in w["metadata"] for w in cluster.get(f"{KUEUE}/workloads")["items"])

    eventually(quiet, "nothing is being deleted")
    before = bed.at_rest(sluice)
    assert sluice.stop() == 0
    sluice.start()
    say(f"# ready after {sluice.ready_after:.2f} s")
    eventually(lambda: sluice.state() == before, "it holds the same state")
