# SPDX-License-Identifier: Apache-2.0
"""Two SkyPilot teams share a cluster, as docs/skypilot.md tells it: everything by kubectl, with the manifests of
examples/skypilot, on Sluice installed from deploy/manifests.yaml.

The pods are those that SkyPilot makes, without SkyPilot; tests/e2e/kube/test_skypilot_package.py runs its own code.
"""

import json
import os
import re
import shutil
import subprocess
import time

import pytest

import sluice as bed
from installed import SYSTEM, Installed, promptly
from kube import Failure, until
from sluice import KUEUE, ROOT, condition, holds, say, steps

PATIENCE = 90  # seconds; everything takes a fraction of one on a quiet machine
EXAMPLES = ROOT / "examples" / "skypilot"
Q = "kueue.x-k8s.io/"
TEAMS = ("team1", "team2")
TIME_LIMIT = 300
cluster = sluice = None

# As the page has it, with a folder of this test in the place of /tmp.
EDIT = """\
kubectl -n kueue-system get cm kueue-manager-config -o jsonpath={.data.controller_manager_config\\\\.yaml} | \
yq '.integrations.frameworks += ["pod"]' > $DIR/kueueconfig.yaml
kubectl -n kueue-system create cm kueue-manager-config \
--from_file=controller_manager_config.yaml=$DIR/kueueconfig.yaml --dry-run=client -o yaml | \
kubectl -n kueue-system apply -f -
"""
RESTART = """\
kubectl -n kueue-system rollout restart deployment kueue-controller-manager
kubectl -n kueue-system rollout status deployment kueue-controller-manager
"""
# In the place of yq, where there is none: the list is the last thing in the shipped file.
NO_YQ = """#!/bin/sh
cat
echo '  - pod'
"""


# ---- words of the tests ----


def show(*args, **more):
    return bed.show(cluster, *args, **more)


def apply(text, quiet=True):
    return show("apply", "-f", "-", input=text, quiet=quiet)


def shell(script):
    """Lines as somebody types them."""
    folder = cluster.dir / "log" / "shell"
    folder.mkdir(exist_ok=True)
    if not shutil.which("yq"):
        (folder / "yq").write_text(NO_YQ)
        (folder / "yq").chmod(0o755)
    for line in script.strip().splitlines():
        say(f"$ {line}")
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", line],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "KUBECONFIG": str(cluster.kubeconfig),
                "PATH": f"{cluster.bin}:{os.environ['PATH']}:{folder}",
                "DIR": str(folder),
            },
        )
        say("\n".join("  " + word for word in (done.stdout + done.stderr).rstrip().splitlines()))
        if done.returncode:
            raise Failure(f"exit {done.returncode}")


def frameworks():
    """What the ConfigMap lists."""
    text = cluster.get(f"{SYSTEM}/configmaps/kueue-manager-config")["data"]["controller_manager_config.yaml"]
    found = re.search(r"\"?frameworks\"?:\s*((?:\n? *- .*\n?|[^\n]*#.*\n)+|\[[^]]*\])", text)
    return re.findall(r"[a-z][a-z0-9./-]+", re.sub(r"#.*", "", found[1]))


def namespace(name):
    show("create", "namespace", name)
    until(lambda: cluster._try(f"/api/v1/namespaces/{name}/serviceaccounts/default"), PATIENCE, "the service account")


def queue(team):
    return f"skypilot-local-queue-{team}"


def pod_text(team, name, cpu=1, labels="", annotations="", sleep="infinity", queued=True):
    label = f"{Q}queue-name: {queue(team)}" if queued else "plain: 'true'"
    return f"""apiVersion: v1
kind: Pod
metadata:
  namespace: {team}
  name: {name}
  labels: {{{label}{labels and ", " + labels}}}
  annotations: {{{annotations}}}
spec:
  restartPolicy: Never
  containers:
  - {{name: ray-node, image: none, command: [sleep, "{sleep}"], resources: {{requests: {{cpu: {cpu}, memory: 1G}}}}}}
"""


def pod(team, name, *args, **more):
    apply(pod_text(team, name, *args, **more))


def group_text(team, name, size, cpu, labels=""):
    return "---\n".join(
        pod_text(
            team,
            f"{name}-{'head' if i == 0 else f'worker{i}'}",
            cpu,
            f"{Q}pod-group-name: {name}{labels and ', ' + labels}",
            f'{Q}pod-group-total-count: "{size}", {Q}retriable-in-group: "false"',
        )
        for i in range(size)
    )


def the_pod(team, name):
    return cluster._try(f"/api/v1/namespaces/{team}/pods/{name}")


def pods(team, name=""):
    return [
        p for p in cluster.get(f"/api/v1/namespaces/{team}/pods")["items"] if p["metadata"]["name"].startswith(name)
    ]


def is_gated(p):
    return {"name": f"{Q}admission"} in p["spec"].get("schedulingGates", [])


def is_running(p):
    return p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]


def workload(team, name):
    """The Workload of a pod or a group, or None."""
    found = [
        w
        for w in cluster.get(f"{KUEUE}/namespaces/{team}/workloads")["items"]
        if w["metadata"]["name"] == name or any(o["name"] == name for o in w["metadata"].get("ownerReferences", []))
    ]
    return found[0] if found else None


def told(team, name):
    w = workload(team, name)
    if not w:
        return f"  {team}/{name} has no workload"
    lines = [
        f"  {c['type']}={c['status']} {c['reason']}: {c['message']}"
        for c in w.get("status", {}).get("conditions") or []
    ]
    lines += [
        f"  check {c['name']}: {c['state']}: {c['message']}" for c in w.get("status", {}).get("admissionChecks") or []
    ]
    return "\n".join(lines) or "  no conditions"


def eventually(question, what, team=None, name=None, seconds=PATIENCE):
    began = time.monotonic()
    try:
        answer = until(question, seconds, what)
    except Failure as error:
        more = f"\n{team}/{name}:\n{told(team, name)}" if name else ""
        raise Failure(f"{error}{more}\n{cluster.kubectl('get', 'workloads,pods', '-A', check=False)}") from None
    say(f"# after {time.monotonic() - began:.2f} s: {what}")
    return answer


def runs(team, name):
    eventually(lambda: (p := the_pod(team, name)) and is_running(p), f"{name} runs", team, name)


def waits(team, name, text, check=None):
    """Until the workload says why; returns the words. check: it is this check that keeps it."""

    def question():
        w = workload(team, name)
        if not w:
            return None
        words = (
            [c["message"] for c in w.get("status", {}).get("admissionChecks") or [] if c["state"] == "Pending"]
            if check
            else [condition(w, "QuotaReserved")["message"]]
        )
        return next((m for m in words if re.search(text, m)), None)

    said = eventually(question, f"{name} waits", team, name)
    say(f"#   {said}")
    p = the_pod(team, name)
    assert p is None or is_gated(p), f"{name} is not gated"
    return said


def delete(team, *names):
    show("-n", team, "delete", "pod", *names, "--wait=false")
    for name in names:
        eventually(lambda: the_pod(team, name) is None, f"{name} is gone", team, name)


def clean(*teams):
    for team in teams:
        show("-n", team, "delete", "pods", "--all", "--wait=false")
    for team in teams:
        eventually(lambda: not pods(team), f"no pod is left in {team}")
        eventually(
            lambda: (
                not any(
                    holds(w, "QuotaReserved") and not holds(w, "Finished")
                    for w in cluster.get(f"{KUEUE}/namespaces/{team}/workloads")["items"]
                )
            ),
            "nobody holds quota",
        )


def quota(name, cpu, **more):
    """The quota that the page calls infinite becomes a number."""
    show(
        "patch",
        "clusterqueue",
        name,
        "--type=json",
        "-p",
        json.dumps(
            [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": str(cpu)}]
        ),
    )
    if more:
        show("patch", "clusterqueue", name, "--type=merge", "-p", json.dumps({"spec": more}))


def active(name):
    eventually(lambda: holds(cluster.get(f"{KUEUE}/clusterqueues/{name}"), "Active"), f"ClusterQueue {name} is active")


def managed(name):
    """Whether a pod that is made now is queued. One that is not runs at once."""
    pod("team1", name)
    answer = is_gated(the_pod("team1", name))
    say(f"# {name} is {'gated' if answer else 'none of our business'}")
    return answer


# ---- the tests ----


@pytest.fixture(scope="module", autouse=True)
def installed(node_cluster):
    """Sluice from its manifests, on nodes, and two teams."""
    global cluster, sluice
    bed.program()
    cluster = node_cluster
    cluster.add_nodes(4, cpu="8", memory="32Gi")
    sluice = Installed(cluster)
    sluice.install()
    try:
        sluice.start()
        for team in TEAMS:
            namespace(team)
        say(f"# the frameworks are {frameworks()}")
        yield
    finally:
        sluice.kill9()


@pytest.fixture
def shared_objects():
    """The flavor, the admission check and the classes of priority; in the end every object of the page goes."""
    for name in ("kueue-resource-flavor", "kueue-admission-check"):
        show("apply", "-f", EXAMPLES / f"{name}.yaml")
    for name, value in ("low", 10), ("middle", 100), ("high", 1000):
        apply(
            f"apiVersion: kueue.x-k8s.io/v1beta1\nkind: WorkloadPriorityClass\nmetadata: {{name: {name}}}\n"
            f"value: {value}\n"
        )


def test_configuration():
    """the ConfigMap edit of the page"""
    steps(edit_and_restart, edit_again, edit_without_restart)


def test_one_queue(shared_objects):
    """one queue for both teams"""
    steps(one_cluster_queue, priorities, preemption, one_gang, infeasible_in_one)
    leaves_nothing("kueue-one-cluster-queue")


def test_two_queues(shared_objects):
    """a queue for each team"""
    steps(two_cluster_queues, priorities_apart, gang_apart, infeasible_apart)
    leaves_nothing("kueue-two-cluster-queues")


def without_pods():
    """The ConfigMap of somebody who has no pods queued yet."""
    text = cluster.get(f"{SYSTEM}/configmaps/kueue-manager-config")["data"]["controller_manager_config.yaml"]
    show(
        "-n",
        "kueue-system",
        "patch",
        "configmap",
        "kueue-manager-config",
        "--type=merge",
        "-p",
        json.dumps(
            {"data": {"controller_manager_config.yaml": re.sub(r"\n *- \"?pod\"?(?=\n)|,\s*\"pod\"", "", text)}}
        ),
    )
    assert "pod" not in frameworks(), frameworks()


def reread():
    """A kubelet has written the file anew, and the process has seen it."""
    since = sluice.logged()
    sluice.project()
    sluice.await_log("configuration reloaded", since)


def edit_and_restart():
    """the ConfigMap edit of the page, and the restart"""
    without_pods()
    reread()
    assert not managed("before")
    shell(EDIT)
    assert frameworks().count("pod") == 1, frameworks()
    shell(RESTART)
    sluice.stop()
    sluice.project()
    sluice.start()
    assert managed("after-restart")


def edit_again():
    """the same edit once more: "pod" stands there twice, at which Kueue does not start any more"""
    shell(EDIT)
    assert frameworks().count("pod") == 2, frameworks()
    reread()
    assert "Duplicate value" in sluice.log(), sluice.log()
    assert managed("twice")
    sluice.stop()
    sluice.start()
    assert managed("twice-and-restarted")


def edit_without_restart():
    """taken back and made again: the process reads it as it runs"""
    pid = sluice.process.pid
    without_pods()
    reread()
    assert not managed("while-off")
    shell(EDIT)
    reread()
    assert managed("while-on")
    assert sluice.process.pid == pid and sluice.process.poll() is None
    clean("team1")


def one_cluster_queue():
    """a pod of each team runs"""
    show("apply", "-f", EXAMPLES / "kueue-one-cluster-queue.yaml")
    active("skypilot-cluster-queue")
    for team in TEAMS:
        pod(team, "hello")
    for team in TEAMS:
        runs(team, "hello")
    show("get", "workloads", "-A")
    show("-n", "team1", "get", "provisioningrequests", check=False)
    clean(*TEAMS)


def priorities():
    """pods of two teams wait in one line; the more important one goes first, whoever's it is"""
    quota("skypilot-cluster-queue", 4)
    pod("team1", "holder", 4)
    runs("team1", "holder")
    line = (("team1", "low"), ("team2", "high"), ("team1", "middle"))
    for team, name in line:
        pod(team, name, 4, f"{Q}priority-class: {name}")
    for team, name in line:
        waits(team, name, "insufficient unused quota for cpu in flavor default-flavor, 4 more needed")
    show("get", "workloads", "-A")
    last = ("team1", "holder")
    for team, name in (("team2", "high"), ("team1", "middle"), ("team1", "low")):
        delete(*last)
        runs(team, name)
        behind = [n for t, n in line if (p := the_pod(t, n)) and is_gated(p)]
        say(f"#   behind it: {behind}")
        last = (team, name)
    clean(*TEAMS)


def preemption():
    """a running pod gives way, and SkyPilot reads in it why"""
    quota("skypilot-cluster-queue", 4, preemption={"withinClusterQueue": "LowerPriority"})
    pod("team1", "low", 4, f"{Q}priority-class: low", "tests.sluice/stop-seconds: '5'")
    runs("team1", "low")
    uid = the_pod("team1", "low")["metadata"]["uid"]
    pod("team2", "high", 4, f"{Q}priority-class: high")

    def target():
        p = the_pod("team1", "low")
        return p and condition(p, "TerminationTarget")["status"] == "True" and condition(p, "TerminationTarget")

    c = eventually(target, "low is told", "team1", "low")
    say(f"#   {c['type']} {c['reason']}: {c['message']}")
    assert c["reason"] == "WorkloadEvictedDueToPreempted", c
    assert re.match(
        r"Preempted to accommodate a workload \(UID: [-0-9a-f]+, JobUID: [-0-9a-f]+\) due to prioritization "
        r"in the ClusterQueue",
        c["message"],
    ), c
    runs("team2", "high")
    eventually(
        lambda: (p := the_pod("team1", "low")) is None or p["metadata"]["uid"] != uid, "low is gone", "team1", "low"
    )
    show("-n", "team1", "events", "--for", "pod/low")
    pod("team1", "low", 4, f"{Q}priority-class: low")  # relaunched under the same name
    waits("team1", "low", "insufficient unused quota")
    delete("team2", "high")
    runs("team1", "low")
    clean(*TEAMS)
    quota("skypilot-cluster-queue", 1000000000, preemption={"withinClusterQueue": "Never"})


def gang(team, cq):
    """Eight or none, with room for seven and then for eight."""
    quota(cq, 8)
    pod(team, "small", 1)
    runs(team, "small")
    apply(group_text(team, "gang", 8, 1))
    waits(team, "gang", r"insufficient unused quota for cpu in flavor default-flavor, 1 more needed")
    found = pods(team, "gang-")
    assert len(found) == 8 and all(map(is_gated, found)), [p["metadata"]["name"] for p in found if not is_gated(p)]
    show("-n", team, "get", "pods,workloads")
    w = workload(team, "gang")
    assert [s["count"] for s in w["spec"]["podSets"]] == [8] and w["metadata"]["name"] == "gang", w
    delete(team, "small")
    eventually(lambda: sum(map(is_running, pods(team, "gang-"))) == 8, "all eight run", team, "gang")
    show("-n", team, "get", "pods,workloads")
    show("-n", team, "delete", "pods", *[p["metadata"]["name"] for p in pods(team, "gang-")], "--wait=false")
    eventually(lambda: not pods(team), "no pod is left")
    eventually(lambda: not (w := workload(team, "gang")) or holds(w, "Finished"), "its quota is free", team, "gang")
    apply(group_text(team, "gang", 8, 1))  # the next task of the same name
    eventually(lambda: sum(map(is_running, pods(team, "gang-"))) == 8, "all eight of the next run", team, "gang")
    clean(team)
    quota(cq, 1000000000)


def one_gang():
    """a pod group of eight is admitted whole"""
    gang("team1", "skypilot-cluster-queue")


def infeasible(team, node, cpu=12):
    """Quota is infinite and the nodes are too small: it waits, says why, and starts when there is a node."""
    pod(team, "wide", cpu)
    said = waits(team, "wide", r"\S", check="skypilot-kueue-prov")
    assert re.search(r"nodes?|capacity|Insufficient|insufficient", said), said
    show("-n", team, "describe", "workload", workload(team, "wide")["metadata"]["name"])
    apply(f"""apiVersion: v1
kind: Node
metadata: {{name: {node}, labels: {{kubernetes.io/hostname: {node}, kubernetes.io/os: linux}}}}
status:
  capacity: {{cpu: "{cpu + 1}", memory: 64Gi, pods: "110"}}
  allocatable: {{cpu: "{cpu + 1}", memory: 64Gi, pods: "110"}}
""")

    def ready():
        return (n := cluster._try(f"/api/v1/nodes/{node}")) and holds(n, "Ready") and not n["spec"].get("taints")

    until(ready, PATIENCE, "the node")
    began = time.monotonic()
    runs(team, "wide")
    took = time.monotonic() - began
    say(f"# {took:.2f} s after the node was ready")
    assert took < promptly(2), took
    assert the_pod(team, "wide")["spec"]["nodeName"] == node
    clean(team)
    show("delete", "node", node)


def infeasible_in_one():
    """a pod that no node can take waits with its reason, and starts when a node is added"""
    infeasible("team2", "large-1")


def two_cluster_queues():
    """a queue for each team, in a Cohort of v1alpha1"""
    show("apply", "-f", EXAMPLES / "kueue-two-cluster-queues.yaml")
    show("get", "cohorts.v1alpha1.kueue.x-k8s.io", check=False)
    for team in TEAMS:
        active(f"skypilot-cluster-queue-{team}")
    for team in TEAMS:
        pod(team, "hello")
    for team in TEAMS:
        runs(team, "hello")
    show("get", "workloads", "-A")
    clean(*TEAMS)


def priorities_apart():
    """each team has its own line: what is important to one does not push the other's"""
    for team in TEAMS:
        quota(f"skypilot-cluster-queue-{team}", 2)
        pod(team, "holder", 2)
    for team in TEAMS:
        runs(team, "holder")
    line = (("team1", "low"), ("team1", "middle"), ("team2", "high"))
    for team, name in line:
        pod(team, name, 2, f"{Q}priority-class: {name}")
    for team, name in line:
        waits(team, name, "insufficient unused quota")
    delete("team1", "holder")
    runs("team1", "middle")
    assert is_gated(the_pod("team1", "low")) and is_gated(the_pod("team2", "high"))
    clean(*TEAMS)
    for team in TEAMS:
        quota(f"skypilot-cluster-queue-{team}", 1000000000)


def gang_apart():
    """the pod group of eight in the second team's queue; the first lends nothing it has"""
    quota("skypilot-cluster-queue-team1", 0)
    gang("team2", "skypilot-cluster-queue-team2")
    quota("skypilot-cluster-queue-team1", 1000000000)


def infeasible_apart():
    """the pod that no node can take, in the first team's queue"""
    infeasible("team1", "large-2")


def leaves_nothing(queues):
    """every object of the page goes when it is deleted, and the rights were enough"""
    for name in (queues, "kueue-admission-check", "kueue-resource-flavor"):
        show("delete", "-f", EXAMPLES / f"{name}.yaml", "--timeout=90s")
    for plural in ("clusterqueues", "admissionchecks", "resourceflavors"):
        assert not cluster.get(f"{KUEUE}/{plural}")["items"], plural
    for path in ("/apis/autoscaling.x-k8s.io/v1/provisioningrequests", "/api/v1/podtemplates"):
        eventually(lambda: not (cluster._try(path) or {"items": []})["items"], f"nothing is left at {path}")
    refused = [
        line for line in sluice.log_path.read_text().splitlines() if '"status":403' in line or "forbidden" in line
    ]
    assert not refused, "\n".join(refused[:10])
