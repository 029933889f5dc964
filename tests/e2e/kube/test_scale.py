# SPDX-License-Identifier: Apache-2.0
"""How long Sluice takes to be ready when there is a lot in the API, against the bare list of it, and its size.

    SL_SCALE=100000 tests/e2e/run kube/test_scale.py  # so many workloads and as many pods; 2000 without it

The objects are what a busy cluster has: workloads of Jobs that wait, run and are finished, with pod templates of
their own; pods on nodes, with all that a kubelet writes, some of them gated. They go straight into etcd (store.py).
A bare client that lists the same kinds in the same pages at the same time, and `sluice serve` from its start until
it has understood everything, take turns; medians are compared. Prints one JSON line for each number.
"""

import json
import os
import statistics
import subprocess
import time

import pytest

from kube import Cluster, Failure, until
from sluice import KUEUE, Sluice, install_kinds, program, say
from store import Store

COUNT = int(os.environ.get("SL_SCALE") or 2000)
TURNS = 3
FULL = COUNT >= 100000
# What must hold at the full size. A small one has a fixed cost: the start of a process, its connections.
MAX_RATIO, MAX_MB = 1.5, 300
SLACK_MB = 0 if FULL else 40
PAGE = 500
TEAMS = 10
SHAPES = 50  # different pod templates
CPUS, MIB = 2, 4096  # of a pod
# In objects, each replaced by text of the same length.
TEAM, SHAPE, NODE, NUMBER, OWNER = "team-0t", "rev-0r", "node-0nod", "0number", "0owner"
KINDS = {"workloads": f"{KUEUE}/workloads", "pods": "/api/v1/pods"}
WHEN = "2026-01-01T00:00:00Z"

TIME_LIMIT = 200
READY_SECONDS = 300  # the API server reads everything before it is ready
GOGC = "100"  # it needs most of a machine's memory for a hundred thousand objects
cluster = sluice = None


def report(name, value, unit):
    say(json.dumps({"name": name, "value": round(value, 3), "unit": unit, "objects": COUNT}))


def team_of(n):
    return n // 10 % TEAMS


def state_of(n):
    """Of ten workloads in a row four wait, three run and three are finished."""
    return ("waits", "waits", "waits", "waits", "runs", "runs", "runs", "finished", "finished", "finished")[n % 10]


# ---- the objects ----


def owner():
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": f"train-{NUMBER}",
            "controller": True,
            "blockOwnerDeletion": True,
            "uid": f"6c2b6f4e-93ad-4c51-8f0e-{OWNER}{OWNER}",
        }
    ]


def pod_spec():
    """As a Job of a user would have it."""
    amounts = {"cpu": str(CPUS), "memory": f"{MIB}Mi"}
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "nobody",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000},
        "containers": [
            {
                "name": "trainer",
                "image": f"registry.example.com/research/trainer:{SHAPE}",
                "command": ["/bin/sh", "-c"],
                "args": ["exec python3 -m trainer --epochs=90 --data=/data --out=/out"],
                "env": [{"name": f"TRAINER_OPTION_{i}", "value": f"value-of-option-{i}"} for i in range(10)]
                + [
                    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                ],
                "resources": {"requests": amounts, "limits": amounts},
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "readOnly": True},
                    {"name": "out", "mountPath": "/out"},
                ],
            }
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "dataset", "readOnly": True}},
            {"name": "out", "emptyDir": {"sizeLimit": "10Gi"}},
        ],
    }


def condition(type, status, reason, message):
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": 1,
        "lastTransitionTime": WHEN,
    }


def workload(state):
    """Made by the controller of Jobs; then what has been written to its status."""
    made = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": f"job-train-{NUMBER}-1f0c7",
            "namespace": TEAM,
            "ownerReferences": owner(),
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "labels": {"kueue.x-k8s.io/job-uid": owner()[0]["uid"]},
        },
        "spec": {
            "queueName": "main",
            "priority": 0,
            "active": True,
            "podSets": [
                {
                    "name": "main",
                    "count": 1,
                    "template": {"metadata": {"labels": {"app": "trainer", "revision": SHAPE}}, "spec": pod_spec()},
                }
            ],
        },
    }
    if state == "waits":
        return made, {
            "conditions": [
                condition(
                    "QuotaReserved",
                    "False",
                    "Pending",
                    "couldn't assign flavors to pod set main: insufficient unused quota for "
                    f"cpu in flavor plain, {CPUS} more needed, insufficient unused quota for memory in flavor plain, "
                    f"{MIB // 1024}Gi more needed",
                )
            ],
            "resourceRequests": [{"name": "main", "resources": {"cpu": str(CPUS), "memory": f"{MIB}Mi"}}],
        }
    status = {
        "admission": {
            "clusterQueue": TEAM,
            "podSetAssignments": [
                {
                    "name": "main",
                    "count": 1,
                    "flavors": {"cpu": "plain", "memory": "plain"},
                    "resourceUsage": {"cpu": str(CPUS), "memory": f"{MIB}Mi"},
                }
            ],
        },
        "conditions": [
            condition("QuotaReserved", "True", "QuotaReserved", f"Quota reserved in ClusterQueue {TEAM}"),
            condition("Admitted", "True", "Admitted", "The workload is admitted"),
            condition("PodsReady", "True", "Started", "All pods reached readiness and the workload is running"),
        ],
    }
    if state == "finished":
        status["conditions"].append(condition("Finished", "True", "Succeeded", "Job finished successfully"))
    return made, status


def pod(gated):
    """Of a Job; on a node, with the status that its kubelet wrote; or still behind a gate."""
    labels = {
        "batch.kubernetes.io/controller-uid": owner()[0]["uid"],
        "batch.kubernetes.io/job-name": f"train-{NUMBER}",
        "controller-uid": owner()[0]["uid"],
        "job-name": f"train-{NUMBER}",
        "app": "trainer",
        "revision": SHAPE,
        "kueue.x-k8s.io/podset": "main",
    }
    spec = dict(
        pod_spec(),
        serviceAccountName="default",
        enableServiceLinks=True,
        preemptionPolicy="PreemptLowerPriority",
        tolerations=[
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ],
    )
    spec["volumes"] = spec["volumes"] + [
        {
            "name": "kube-api-access-x2x4z",
            "projected": {
                "defaultMode": 420,
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    {
                        "downwardAPI": {
                            "items": [
                                {
                                    "path": "namespace",
                                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                }
                            ]
                        }
                    },
                ],
            },
        }
    ]
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"train-{NUMBER}-8kqzp",
            "namespace": TEAM,
            "labels": labels,
            "ownerReferences": owner(),
            "annotations": {
                "batch.kubernetes.io/job-completion-index": "0",
                "kueue.x-k8s.io/workload": f"job-train-{NUMBER}-1f0c7",
            },
        },
        "spec": spec,
    }
    if gated:
        spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/topology"}]
        return made, {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "SchedulingGated",
                    "lastTransitionTime": WHEN,
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                }
            ],
        }
    spec["nodeName"] = NODE

    def true(type):
        return {"type": type, "status": "True", "lastProbeTime": None, "lastTransitionTime": WHEN}

    return made, {
        "phase": "Running",
        "qosClass": "Guaranteed",
        "hostIP": "10.0.7.19",
        "hostIPs": [{"ip": "10.0.7.19"}],
        "podIP": "10.244.7.31",
        "podIPs": [{"ip": "10.244.7.31"}],
        "startTime": WHEN,
        "conditions": [
            true(t) for t in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": "trainer",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "lastState": {},
                "state": {"running": {"startedAt": WHEN}},
                "image": f"registry.example.com/research/trainer:{SHAPE}",
                "imageID": "registry.example.com/research/trainer@sha256:" + "5e" * 32,
                "containerID": "containerd://" + "ab" * 26 + OWNER + OWNER,
            }
        ],
    }


def marks(n):
    return {
        TEAM: f"team-{team_of(n):02}",
        SHAPE: f"rev-{n // 10 % SHAPES:02}",
        NODE: f"node-{n % 1000:04}",
        NUMBER: f"{n:07}",
        OWNER: f"{n:06}",
    }


def template(store, key, path, thing):
    """Makes an object through the API as its controllers would, and takes its bytes out of etcd."""
    made, status = thing
    name = made["metadata"]["name"]
    found = cluster.request("POST", f"{path}?fieldManager=job-controller", made)
    kind = {"apiVersion": made["apiVersion"], "kind": made["kind"], "metadata": {"name": name}}
    cluster.request(
        "PATCH",
        f"{path}/{name}/status?fieldManager=status-writer&force=true",
        {**kind, "status": status},
        "application/apply-patch+yaml",
    )
    return store.template(f"{key}/{TEAM}/{name}", found["metadata"]["uid"])


def fill(store, what, make):
    began = time.monotonic()
    size = store.fill(make, COUNT)
    say(f"# {COUNT} {what} in {time.monotonic() - began:.1f} s, {size / COUNT:.0f} bytes each in etcd")


def listed(what):
    """Are all there? Asks for what the API server has in its own memory, as the lists do that are measured."""
    try:
        now = cluster.get(f"{KINDS[what]}?limit=1")["metadata"]["resourceVersion"]
        found = cluster.get(f"{KINDS[what]}?limit=1&resourceVersion={now}&resourceVersionMatch=NotOlderThan")
    except (Failure, OSError):
        return False
    return len(found["items"]) + found["metadata"].get("remainingItemCount", 0) == COUNT


# ---- the measured ----


def touch():
    """Writes to one object of each kind, as somebody does all the time in a cluster of this size: an API server keeps
    what it needs to answer pages from its memory only since the last write, and for some minutes."""
    for path in (
        f"{KUEUE}/namespaces/team-00/workloads/job-train-{0:07}-1f0c7",
        f"/api/v1/namespaces/team-00/pods/train-{0:07}-8kqzp",
    ):
        cluster.request(
            "PATCH",
            path,
            {"metadata": {"annotations": {"touched": str(time.monotonic())}}},
            "application/merge-patch+json",
        )


def bare():
    """Seconds that all lists take at the same time, on a connection each, and how many bytes they are."""
    pki, began = cluster.dir / "pki", time.monotonic()
    lists = [
        subprocess.Popen(
            [
                program().parent / "tests/e2e/kube/barelist",
                pki / "ca.crt",
                pki / "admin.crt",
                pki / "admin.key",
                cluster.url + path,
                str(PAGE),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for path in KINDS.values()
    ]
    sizes = [int(each.communicate()[0] or 0) for each in lists]
    assert not any(each.returncode for each in lists), "a list failed"
    return time.monotonic() - began, sum(sizes)


def started():
    """Seconds from the start until everything has been understood, and the most memory it had by then."""
    sluice.start()
    # Lists that do not come keep it from being ready only for a while; but then it says so.
    until(lambda: sluice._http("health", "/readyz")[1] == "ok", 300, "all lists")
    return time.monotonic() - sluice.began, sluice.rss_mb("VmHWM")


@pytest.fixture(scope="module", autouse=True)
def full():
    """An API server with queues that are full, and as many workloads and pods as asked for."""
    global cluster, sluice
    if not (program().parent / "tests/e2e/kube/barelist").exists():  # make builds the program alone
        subprocess.run(
            ["ninja", "-C", program().parent, "tests/e2e/kube/barelist"], check=True, stdout=subprocess.DEVNULL
        )
    # Nobody is served fairly here: there is one client at a time.
    flags = ["--enable-priority-and-fairness=false"]
    with Cluster(only="api", apiserver_flags=flags, gogc=GOGC, ready_seconds=READY_SECONDS) as cluster:
        make_queues()
        fill_all()
        sluice = Sluice(cluster, install=False, controllers="core,scheduler,tas,elasticjobs")
        sluice.prepare()
        yield
        sluice.kill9()


def make_queues():
    install_kinds(cluster)
    # Nobody asks for the old version here, and an API server keeps everything once for each that is served.
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/workloads.kueue.x-k8s.io"
    kind = cluster.get(path)
    for version in kind["spec"]["versions"]:
        version["served"] = version["storage"]
    cluster.request("PUT", path, kind)

    def post(path, version, kind, name, spec):
        return cluster.request(
            "POST",
            path,
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": name},
                **({"spec": spec} if spec is not None else {}),
            },
        )

    post(f"{KUEUE}/resourceflavors", "kueue.x-k8s.io/v1beta2", "ResourceFlavor", "plain", {})
    for team in [TEAM] + [f"team-{i:02}" for i in range(TEAMS)]:
        runs = sum(1 for n in range(COUNT) if state_of(n) == "runs" and f"team-{team_of(n):02}" == team)
        post("/api/v1/namespaces", "v1", "Namespace", team, None)
        post(
            f"{KUEUE}/clusterqueues",
            "kueue.x-k8s.io/v1beta2",
            "ClusterQueue",
            team,
            {
                "namespaceSelector": {},
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu", "memory"],
                        "flavors": [
                            {
                                "name": "plain",
                                "resources": [
                                    {"name": "cpu", "nominalQuota": str(runs * CPUS)},
                                    {"name": "memory", "nominalQuota": f"{runs * MIB}Mi"},
                                ],
                            }
                        ],
                    }
                ],
            },
        )
        post(
            f"{KUEUE}/namespaces/{team}/localqueues",
            "kueue.x-k8s.io/v1beta2",
            "LocalQueue",
            "main",
            {"clusterQueue": team},
        )


def fill_all():
    store = Store(cluster)
    workloads = {
        state: template(
            store, "/registry/kueue.x-k8s.io/workloads", f"{KUEUE}/namespaces/{TEAM}/workloads", workload(state)
        )
        for state in ("waits", "runs", "finished")
    }
    pods = [template(store, "/registry/pods", f"/api/v1/namespaces/{TEAM}/pods", pod(gated)) for gated in (False, True)]
    cluster.kill9("kube-apiserver")  # it reads all of it at its start, which is quicker than to follow
    fill(store, "workloads", lambda n: workloads[state_of(n)].copy(marks(n)))
    fill(store, "pods", lambda n: pods[n % 20 == 0].copy(marks(n)))
    cluster.restart("kube-apiserver")
    for what in KINDS:
        until(lambda: listed(what), 120, f"all {what} in the API")


def test_ready():
    """sluice is ready soon after it could have read everything, and stays small"""
    lists, starts, sizes = [], [], []
    touch()
    bare()  # an API server that has just started is slow at first
    for _ in range(TURNS):
        touch()
        seconds, size = bare()
        lists.append(seconds)
        sluice.kill9()
        touch()
        seconds, most = started()
        starts.append(seconds)
        sizes.append(most)
        say(f"# {size / 1e6:.0f} MB listed in {lists[-1]:.2f} s; ready after {seconds:.2f} s with {most:.0f} MB")
    lists, starts, most = statistics.median(lists), statistics.median(starts), max(sizes)
    report("start/list", lists, "s")
    report("start/ready", starts, "s")
    report("start/ready-over-list", starts / lists, "ratio")
    report("start/rss-mb", most, "MB")
    slack = 0 if FULL else max(2, 2 * lists)  # seconds; on a slow machine all of it takes longer
    assert starts <= MAX_RATIO * lists + slack, f"ready after {starts:.2f} s, the lists alone took {lists:.2f} s"
    assert most <= MAX_MB * min(COUNT / 100000, 1) + SLACK_MB, f"{most:.0f} MB at most"


def test_complete():
    """all workloads that run are counted in their queues"""
    if not sluice.alive():
        started()
    metrics = sluice.metrics()
    for team in range(TEAMS):
        want = sum(1 for n in range(COUNT) if state_of(n) == "runs" and team_of(n) == team)
        found = sum(
            value
            for series, value in metrics.items()
            if series.startswith("kueue_reserving_active_workloads{") and f'cluster_queue="team-{team:02}"' in series
        )
        assert found == want, f"team-{team:02}: {found} run, not {want}"
