# SPDX-License-Identifier: Apache-2.0
"""MiniClusters as docs/minicluster.md walks through them, on a control plane and on `sluice up`: set-up of a queue, a
MiniCluster of either version, what kubectl shows, resizes, the end.

described.txt is what `kubectl describe workload` showed in July 2023, with the Flux Operator and Kueue 0.3.2 in the
places of Sluice. DIFFERENT has each line of it that is another one today, and why.
"""

import contextlib
import difflib
import json
import os
import re

import pytest

import up as single
from installed import Installed
from kube import HERE, Failure, until
from sluice import KUEUE, ROOT, holds, say, show, steps

PATIENCE = 90
TIME_LIMIT = 400
EXAMPLES = ROOT / "examples" / "minicluster"
CLUSTERS = "/apis/flux-framework.org/v1alpha2/namespaces/default/miniclusters"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
PIECES = ("configmaps", "services", "pods", "persistentvolumeclaims")
cluster = sluice = None

# What is another line today, and why. -: only in 2023, +: only today.
DIFFERENT = (
    ("-", "Labels: <none>", "a Workload is labelled with the uid of its Job since Kueue 0.4"),
    ("+", "Labels: kueue.x-k8s.io/job-uid=.*", "the same"),
    ("-", "API Version: kueue.x-k8s.io/v1beta1", "v1beta2 is the version of today"),
    ("+", "API Version: kueue.x-k8s.io/v1beta2", "the same"),
    ("+", "Active: true", "spec.active came with Kueue 0.5"),
    ("+", "Labels:", "labels of the template are copied since Kueue 0.4"),
    ("+", "app.kubernetes.io/name: NAME", "the same: those of the pods"),
    ("+", "batch.kubernetes.io/job-name: NAME", "the same"),
    ("+", "Hpa - Selector: NAME", "the same"),
    ("+", "Namespace: default", "the same: a label, and the template's own"),
    ("+", "Name: NAME", "the name of the template"),
    ("+", "Topology Request:", "Indexed Jobs say the label of their index since Kueue 0.10"),
    ("+", "Pod Index Label: batch.kubernetes.io/job-completion-index", "the same"),
    ("+", "Count: 1", "an admission has counts since Kueue 0.4"),
    ("+", "Observed Generation: 1", "conditions have it since Kueue 0.8"),
    ("+", "Message: Quota reserved in ClusterQueue cluster-queue", "quota is reserved before the admission since 0.4"),
    ("+", "Reason: QuotaReserved", "the same"),
    ("+", "Type: QuotaReserved", "the same"),
    ("+", "(Last Transition Time: TIME|Status: True)", "of conditions that are new"),
    ("-", "Message: Admitted by ClusterQueue cluster-queue", "the message has changed with Kueue 0.4"),
    ("+", "Message: The workload is admitted", "the same"),
    ("-", "Message: Job finished successfully", "since Kueue 0.8 it is the Job's own"),
    ("-", "Reason: JobFinished", "the same"),
    ("+", "Message: Reached expected number of succeeded pods", "the same"),
    ("+", "Reason: Succeeded", "the same"),
    ("+", "(Message: All pods reached readiness and the workload is running|Reason: Started|Type: PodsReady)",
     "pods are waited for since Kueue 0.13"),
    ("-", "Normal Admitted AGE kueue-admission Admitted by ClusterQueue cluster-queue, wait time was 1s",
     "the event has changed with Kueue 0.4"),
    ("+", "Normal Admitted AGE kueue-admission Admitted by ClusterQueue cluster-queue, wait time since reservation "
          r"was \d+s", "the same"),
    ("+", r"Normal QuotaReserved AGE kueue-admission Quota reserved in ClusterQueue cluster-queue, wait time since "
          r"queued was \d+s", "the same"),
)  # fmt: skip


def api():
    return cluster


def kubectl(*args, **more):
    return show(cluster, *args, **more)


@pytest.fixture(scope="module", params=["serve", "up"], autouse=True)
def queueing(request):
    """A control plane with a node of 9 cpus, and Sluice with the rights that it ships with; or `sluice up`."""
    global cluster, sluice
    with contextlib.ExitStack() as stack:
        if request.param == "serve":
            cluster = request.getfixturevalue("node_cluster")
            cluster.add_nodes(1, cpu="9")
            sluice = Installed(cluster)
            sluice.install()
            stack.callback(sluice.kill9)
            sluice.start()
        else:
            cluster = stack.enter_context(single.Up())
            sluice = single.Queueing(cluster)
        apply((EXAMPLES / "queues.yaml").read_text())
        until(lambda: active(), PATIENCE, "user-queue is ready")
        yield request.param


def active():
    return holds(cluster.get(f"{KUEUE}/namespaces/default/localqueues/user-queue"), "Active")


def apply(text):
    return kubectl("apply", "-f", "-", input=text)


def fitting(text, kind):
    """Processes get no more than this machine has."""
    return text.replace("cpu: 4", f"cpu: {min(4, os.cpu_count())}") if kind == "up" else text


def rows(table):
    head, *lines = table.rstrip().splitlines()
    starts = [m.start() for m in re.finditer(r"\S+( \S+)*", head)]
    ends = [*starts[1:], None]
    return [{head[a:b].strip(): line[a:b].strip() for a, b in zip(starts, ends)} for line in lines if line.strip()]


def create(text):
    return re.match(r"minicluster.flux-framework.org/(\S+) created", kubectl("create", "-f", "-", input=text))[1]


def delete(name):
    cluster.request("DELETE", f"{CLUSTERS}/{name}")
    until(lambda: not left(name), PATIENCE, f"nothing left of {name}")


def left(name):
    """What is there of a MiniCluster and of its Job."""
    things = [cluster._try(f"{CLUSTERS}/{name}"), cluster._try(f"{JOBS}/{name}")]
    for plural in PIECES:
        for thing in cluster.get(f"/api/v1/namespaces/default/{plural}")["items"]:
            owners = [owner["name"] for owner in thing["metadata"].get("ownerReferences", [])]
            things.append(thing if name in owners else None)
    return [f"{t.get('kind', '')}/{t['metadata']['name']}" for t in things if t]


def says(name, type, status="True"):
    found = cluster.get(f"{CLUSTERS}/{name}").get("status", {}).get("conditions", [])
    return any(c["type"] == type and c["status"] == status for c in found)


def await_says(name, type, status="True"):
    until(lambda: says(name, type, status), PATIENCE, f"{type} of {name} is {status}")


def pods(name):
    listed = cluster.get(f"{PODS}?labelSelector=hpa-selector%3D{name}")["items"]
    return [p for p in listed if not p["metadata"].get("deletionTimestamp")]


def plain(text, name, hash):
    """Lines of a description, without what differs from run to run."""
    text = re.sub(r"  Managed Fields:\n(?:    .*\n)+", "", text)
    text = text.replace(f"job-{name}-{hash}", "WORKLOAD").replace(name, "NAME")
    text = re.sub(r"(UID: +)\S+", r"\1UID", text)
    text = re.sub(r"(Resource Version: +)\d+", r"\1N", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r"(?m)^(  (?:Normal|Warning) +\w+ +)\S+( \(x\d+ over \S+\))? ", r"\1AGE ", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip() and not set(line) <= set("- ")]


def compared(text, name, cpu):
    """Each line that is another one is in the table; each line of the table is met. 2023 asked for 4 cpus."""
    hash = re.search(rf"job-{name}-([0-9a-f]+)", text)[1]
    old = (HERE / "described.txt").read_text().replace("Cpu:     4\n", f"Cpu:     {cpu}\n")
    then, now = plain(old, "flux-sample-kueue-6sd5z", "84717"), plain(text, name, hash)
    assert len(then) > 90
    unknown, met = [], set()
    for line in difflib.ndiff(then, now):
        sign, rest = line[0], line[2:]
        here = {i for i, (s, like, _) in enumerate(DIFFERENT) if sign == s and re.fullmatch(like, rest)}
        met |= here
        if sign in "+-" and not here:
            unknown.append(line)
    assert not unknown, "\n".join(unknown)
    unmet = [DIFFERENT[i] for i in range(len(DIFFERENT)) if i not in met]
    assert not unmet, unmet


@pytest.mark.parametrize("example", ["minicluster.yaml", "minicluster-v1alpha2.yaml"])
def test_walkthrough(example, queueing):
    """from the queue to the log, as the page has it"""
    name = workload = None
    text = fitting((EXAMPLES / example).read_text(), queueing)
    cpu = re.search(r"cpu: (\d+)", text)[1]

    def the_queue_is_empty():
        until(lambda: queue()["ADMITTED WORKLOADS"] == "0", PATIENCE, "an empty queue")
        assert queue() == {
            "NAME": "user-queue",
            "CLUSTERQUEUE": "cluster-queue",
            "PENDING WORKLOADS": "0",
            "ADMITTED WORKLOADS": "0",
        }

    def the_cluster_is_made():
        nonlocal name
        name = create(text)
        assert re.fullmatch(r"flux-sample-kueue-\w{5}", name)

    def it_is_admitted():
        nonlocal workload
        until(lambda: queue()["ADMITTED WORKLOADS"] == "1", PATIENCE, "an admitted workload")
        (row,) = [r for r in rows(kubectl("-n", "default", "get", "workloads")) if name in r["NAME"]]
        workload = row["NAME"]
        assert re.fullmatch(rf"job-{name}-[0-9a-f]{{5}}", workload)
        assert (row["QUEUE"], row["RESERVED IN"], row["ADMITTED"]) == ("user-queue", "cluster-queue", "True")

    def its_objects():
        job = cluster.get(f"{JOBS}/{name}")
        assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "user-queue"}
        assert job["spec"]["completionMode"] == "Indexed" and job["spec"]["suspend"] is False
        await_says(name, "JobMiniClusterReady")
        until(lambda: all("job-index" in p["metadata"]["labels"] for p in pods(name)), PATIENCE, "labels of the pods")
        assert [p["metadata"]["labels"]["job-index"] for p in pods(name)] == ["0"]
        version = "v1alpha1" if example == "minicluster.yaml" else "v1alpha2"
        path = f"/apis/flux-framework.org/{version}/namespaces/default/miniclusters/{name}"
        assert cluster.get(path)["metadata"].get("annotations") in (None, {}), "what the version has no field for"

    def it_ends():
        await_says(name, "JobFinished")
        until(lambda: holds(cluster.get(f"{KUEUE}/namespaces/default/workloads/{workload}"), "Finished"), PATIENCE)

    def what_describe_shows():
        said = kubectl("describe", "workload", workload)
        if example == "minicluster.yaml":
            compared(said, name, cpu)
        else:
            assert "/flux_operator/wait-0.sh" in said and "flux-view" in said

    def its_log():
        if queueing != "up":
            return
        (pod,) = pods(name)
        log = kubectl("logs", "-n", "default", pod["metadata"]["name"])
        assert "Flux is not installed here: the command runs alone, without a Flux instance." in log, log

    def nothing_is_left():
        delete(name)
        until(lambda: cluster._try(f"{KUEUE}/namespaces/default/workloads/{workload}") is None, PATIENCE, "no workload")

    steps(
        the_queue_is_empty,
        the_cluster_is_made,
        it_is_admitted,
        its_objects,
        it_ends,
        what_describe_shows,
        its_log,
        nothing_is_left,
    )


def queue():
    (row,) = rows(kubectl("get", "queues"))
    return row


def spec(**more):
    container = {"image": "busybox", "command": "sleep 300", "resources": {"requests": {"cpu": "100m"}}}
    pod = {"annotations": {"tests.sluice/run-seconds": "300"}}  # the kubelet of the tests does not look into scripts
    return {"jobLabels": {"kueue.x-k8s.io/queue-name": "user-queue"}, "pod": pod, "containers": [container], **more}


def post(name, **more):
    thing = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": name}}
    return cluster.request("POST", CLUSTERS, {**thing, "spec": spec(**more)})


def has_size(name, size, alone=False):
    """alone: without Flux pods other than the first end at once."""
    job, mc = cluster.get(f"{JOBS}/{name}"), cluster.get(f"{CLUSTERS}/{name}")
    return (
        job["spec"]["parallelism"] == job["spec"]["completions"] == size
        and mc["spec"]["size"] == size
        and mc["status"]["size"] == size
        and (alone or len(pods(name)) == size)
    )


def test_resize(queueing):
    """by kubectl scale, between minSize and maxSize; what is beyond is taken back, or refused"""
    post("elastic", size=2, minSize=2, maxSize=4)
    await_says("elastic", "JobMiniClusterReady")
    until(lambda: has_size("elastic", 2, queueing == "up"), PATIENCE, "two pods")
    for asked, got in ((4, 4), (9, 4), (3, 3), (1, 2)):
        kubectl("scale", "minicluster", "elastic", f"--replicas={asked}")
        until(lambda: has_size("elastic", got, queueing == "up"), PATIENCE, f"{got} pods, of {asked}")
    for asked, why in ((0, "greater than or equal to 1"), (9, "spec.size: Invalid value: 9: must not be greater than")):
        with pytest.raises(Failure) as refused:
            patch = {"spec": {"size": asked}}
            cluster.request("PATCH", f"{CLUSTERS}/elastic", patch, "application/merge-patch+json")
        assert why in str(refused.value)
    selector = cluster.get(f"{CLUSTERS}/elastic/scale")["status"]["selector"]
    assert selector == "hpa-selector=elastic"
    delete("elastic")


def test_stopped_and_back(queueing):
    """its queue stops it whole, and it comes back"""
    size = 1 if queueing == "up" else 3  # without Flux the others end at once
    post("whole", size=size)
    await_says("whole", "JobRunning")
    change = {"spec": {"stopPolicy": "HoldAndDrain"}}
    path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue"
    cluster.request("PATCH", path, change, "application/merge-patch+json")
    await_says("whole", "JobWaitingForResources")
    until(lambda: not pods("whole"), PATIENCE, "no pods")
    cluster.request("PATCH", path, {"spec": {"stopPolicy": "None"}}, "application/merge-patch+json")
    await_says("whole", "JobRunning")
    assert len(pods("whole")) == size
    delete("whole")


def restart():
    sluice.kill9()
    sluice.start()


def test_killed(queueing):
    """the controller is killed whenever: each cluster is whole, nothing is left of those that go"""
    for i in range(6):
        post(f"killed-{i}", size=2)
        restart()
    for i in range(6):
        await_says(f"killed-{i}", "JobMiniClusterReady")
        until(lambda i=i: has_size(f"killed-{i}", 2, queueing == "up"), PATIENCE, f"two pods of killed-{i}")
    for i in range(6):
        cluster.request("DELETE", f"{CLUSTERS}/killed-{i}")
        restart()
    for i in range(6):
        until(lambda i=i: not left(f"killed-{i}"), PATIENCE, f"nothing left of killed-{i}")


def test_cleanup():
    """a cluster with cleanup goes when its lead broker has ended"""
    container = {"image": "busybox", "command": "sleep 2", "resources": {"requests": {"cpu": "100m"}}}
    pod = {"annotations": {"tests.sluice/run-seconds": "2"}}
    post("passing", size=1, cleanup=True, containers=[container], pod=pod)
    until(lambda: not left("passing"), PATIENCE, "nothing left of passing")


def test_converted():
    """what one version has no field for comes back through the other"""
    v1alpha1 = CLUSTERS.replace("v1alpha2", "v1alpha1")
    thing = {
        "apiVersion": "flux-framework.org/v1alpha1",
        "kind": "MiniCluster",
        "metadata": {"name": "both"},
        "spec": {
            "containers": [{"command": "hostname", "preCommand": "true", "fluxUser": {"name": "ana", "uid": 2000}}],
            "users": [{"name": "bob"}],
        },
    }
    made = cluster.request("POST", v1alpha1, thing)
    assert made["spec"]["users"] == [{"name": "bob"}]
    new = cluster.get(f"{CLUSTERS}/both")
    assert "users" not in new["spec"] and "preCommand" not in new["spec"]["containers"][0]
    kept = json.loads(new["metadata"]["annotations"]["flux-framework.org/v1alpha1"])
    assert kept["createdAs"] == "v1alpha1"
    cluster.request("PATCH", f"{CLUSTERS}/both", {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")
    old = cluster.get(f"{v1alpha1}/both")
    assert old["spec"] == made["spec"] and not old["metadata"].get("annotations")
    with pytest.raises(Failure, match="spec.users\\[0\\].password: Too long"):
        patch = {"spec": {"users": [{"name": "bob", "password": "123456789"}]}}
        cluster.request("PATCH", f"{v1alpha1}/both", patch, "application/merge-patch+json")
    delete("both")
    say("# both versions show what they were given")
