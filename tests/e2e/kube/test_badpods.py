# SPDX-License-Identifier: Apache-2.0
"""Pods, groups and checks that make no sense, in a cluster where no webhook refused them.

Each is put beside pods that are in order. What is wrong is said where its user looks, in an event or a condition, with
the way out of it; whoever is in order is admitted as ever, and nothing is written for ever. Prints what was put and
what was said.
"""

import re
import time

import pytest

from kube import Failure, until
from sluice import KUEUE, Sluice, condition, say, small_queue

PATIENCE = 90  # seconds; what is wrong is said after five
PREFIX = "kueue.x-k8s.io/"
PODS = "/api/v1/namespaces/default/pods"
WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
VERSION = "kueue.x-k8s.io/v1beta2"
TIME_LIMIT = 150
cluster = sluice = None
bystanders = {}  # name: version, of pods that nothing more is to happen to


# ---- objects ----


def pod(
    name,
    group=None,
    count=None,
    queue="main",
    gates=("admission", "topology"),
    cpu="1",
    role="5ab2e08c",
    labels=(),
    annotations=(),
    managed=True,
):
    labels = {
        **({PREFIX + "managed": "true"} if managed else {}),
        **({PREFIX + "queue-name": queue} if queue else {}),
        **({PREFIX + "pod-group-name": group} if group else {}),
        **dict(labels),
    }
    annotations = {
        PREFIX + "role-hash": role,
        **({PREFIX + "pod-group-total-count": count} if count else {}),
        **dict(annotations),
    }
    return cluster.request(
        "POST",
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": labels,
                "annotations": annotations,
                **({"finalizers": [PREFIX + "managed"]} if managed else {}),
            },
            "spec": {
                "restartPolicy": "Never",
                "schedulingGates": [{"name": g if "/" in g else PREFIX + g} for g in gates],
                "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}],
            },
        },
    )


def make(path, kind, name, spec, **more):
    return cluster.request(
        "POST",
        f"{KUEUE}/{path}",
        {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name, **more}, "spec": spec},
    )


def queue(name, checks):
    """A ClusterQueue with checks, and a LocalQueue of the same name."""
    make(
        "clusterqueues",
        "ClusterQueue",
        name,
        {
            "namespaceSelector": {},
            "admissionChecksStrategy": {"admissionChecks": [{"name": c} for c in checks]},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [{"name": "plain", "resources": [{"name": "cpu", "nominalQuota": "100"}]}],
                }
            ],
        },
    )
    make("namespaces/default/localqueues", "LocalQueue", name, {"clusterQueue": name})


def check(name, controller, parameters=None):
    make(
        "admissionchecks",
        "AdmissionCheck",
        name,
        {"controllerName": controller, **({"parameters": parameters} if parameters else {})},
    )


# ---- what is said ----


def get(name):
    return cluster.get(f"{PODS}/{name}")


def gates(name):
    return [g["name"] for g in get(name)["spec"].get("schedulingGates", [])]


def workload(name):
    """The Workload of a plain pod."""
    uid = get(name)["metadata"]["uid"]
    return next(
        (
            w
            for w in cluster.get(WORKLOADS)["items"]
            if any(o["uid"] == uid for o in w["metadata"].get("ownerReferences", []))
        ),
        None,
    )


def events(kind, name):
    found = cluster.get("/apis/events.k8s.io/v1/events")["items"]
    return [e for e in found if e["regarding"]["kind"] == kind and re.fullmatch(name, e["regarding"]["name"])]


def told(kind, name, reason, *words, warning=True):
    """An event about an object (a pattern of its name) with this reason, whose note has all these words."""

    def question():
        return next(
            (e for e in events(kind, name) if e["reason"] == reason and all(re.search(w, e["note"]) for w in words)),
            None,
        )

    try:
        e = until(question, PATIENCE, f"{reason} about {name}: {words}")
    except Failure as error:
        raise Failure(
            f"{error}; said was: " + "; ".join(f"{e['reason']}: {e['note']}" for e in events(kind, name))
        ) from None
    say(f"#   {e['type']} {e['reason']} on {kind} {e['regarding']['name']}: {e['note']}")
    assert (e["type"] == "Warning") == warning, e["type"]


def states(what, path, type, reason, *words):
    """A condition that is not True, with this reason and all these words in its message."""

    def question():
        thing = path() if callable(path) else cluster._try(path)
        c = condition(thing or {}, type)
        return c["status"] == "False" and c["reason"] == reason and all(re.search(w, c["message"]) for w in words) and c

    try:
        c = until(question, PATIENCE, f"{what}: {type} {reason} {words}")
    except Failure as error:
        thing = path() if callable(path) else cluster._try(path)
        raise Failure(f"{error}; is {condition(thing or {}, type)}") from None
    say(f"#   {what}: {type}=False {c['reason']}: {c['message']}")


def waits(*names):
    """These are there, gated, and nobody deletes them."""
    for name in names:
        p = get(name)
        assert PREFIX + "admission" in gates(name), f"{name} has no gate any more"
        assert "deletionTimestamp" not in p["metadata"], f"{name} is being deleted"


def no_workload(name):
    assert not cluster._try(f"{WORKLOADS}/{name}"), f"there is a workload {name}"


def in_order(tag):
    """A pod and a group that are as they should be are admitted beside all this."""
    began = time.monotonic()
    names = [f"fine-{tag}"] + [f"fine-group-{tag}-{i}" for i in range(3)]
    pod(names[0])
    for name in names[1:]:
        pod(name, f"fine-group-{tag}", "3")
    until(lambda: not any(gates(name) for name in names), PATIENCE, f"{names} without gates")
    say(f"#   a pod and a group beside it are admitted after {time.monotonic() - began:.1f} s")
    return names


# ---- the tests ----

WRONG_COUNTS = {"missing": None, "words": "three", "zero": "0", "negative": "-1", "beyond": "99999999999999999999"}


@pytest.fixture(scope="module", autouse=True)
def wrong(api_cluster):
    """A queue without webhooks, some pods that are in order, and then all that is wrong at once."""
    global cluster, sluice
    cluster = api_cluster
    sluice = Sluice(cluster, webhooks=False, frameworks=["batch/job", "pod"])
    sluice.prepare()
    small_queue(cluster, 100)
    with sluice:
        put_all()
        yield


def put_all():
    names = in_order("first")

    def versions():
        return {name: get(name)["metadata"]["resourceVersion"] for name in names}

    def quiet(before):
        return time.sleep(2) or versions() == before

    until(lambda: quiet(versions()), PATIENCE, "nothing more that happens to these")
    bystanders.update(versions())
    for name, put in list(globals().items()):  # each test has made its part of it
        if name.startswith("put_") and put is not put_all:
            put()


def put_queues():
    pod("queues-a", "queues", "2")
    pod("queues-b", "queues", "2", queue="other")


def test_queues():
    """members of a group in different queues; the way out is to give them the same"""
    told("Pod", "queues-.", "ErrWorkloadCompose", "queues-a", "queues-b", "main!=other", "same queue")
    waits("queues-a", "queues-b")
    no_workload("queues")
    cluster.request(
        "PATCH",
        f"{PODS}/queues-b",
        {"metadata": {"labels": {PREFIX + "queue-name": "main"}}},
        "application/merge-patch+json",
    )
    until(lambda: not gates("queues-a") and not gates("queues-b"), PATIENCE, "the group admitted")


def put_counts():
    pod("counts-a", "counts", "2")
    pod("counts-b", "counts", "3")
    for name, count in WRONG_COUNTS.items():
        pod(f"count-{name}", f"count-{name}-group", count)


def test_counts():
    """members that name different counts, or one that is missing, no number, zero, negative, or beyond all numbers"""
    told("Pod", "counts-.", "ErrWorkloadCompose", "counts-a", "counts-b", "2!=3", "same number")
    waits("counts-a", "counts-b")
    no_workload("counts")
    for name in WRONG_COUNTS:
        told("Pod", f"count-{name}", "ErrWorkloadCompose", "pod-group-total-count", "number of pods")
        waits(f"count-{name}")


def put_absurd_total():
    pod("absurd", "absurd-group", "2147483647")
    pod("absurd-fast", "absurd-fast-group", "2147483647", annotations={PREFIX + "pod-group-fast-admission": "true"})


def test_absurd_total():
    """a group of two thousand million, of which one is there"""
    told("Pod", "absurd", "ErrWorkloadCompose", "fewer runnable pods than expected", "1 of 2147483647", "create")
    states("workload", f"{WORKLOADS}/absurd-fast-group", "QuotaReserved", "Pending", "cpu", "maximum capacity")
    waits("absurd", "absurd-fast")


def put_too_few():
    pod("few-a", "few", "3")
    pod("few-b", "few", "3")


def test_too_few():
    """two of three"""
    told("Pod", "few-.", "ErrWorkloadCompose", "fewer runnable pods than expected", "2 of 3", "create")
    waits("few-a", "few-b")
    no_workload("few")


def put_too_many():
    pod("many-a", "many", "2")
    pod("many-b", "many", "2")


def test_too_many():
    """three of two: the youngest goes, and the others stay admitted"""
    until(lambda: not gates("many-a") and not gates("many-b"), PATIENCE, "the first two admitted")
    pod("many-c", "many", "2")
    told("Pod", "many-c", "ExcessPodDeleted", "Excess pod deleted", warning=False)
    until(lambda: not cluster._try(f"{PODS}/many-c"), PATIENCE, "many-c gone")
    assert "deletionTimestamp" not in get("many-a")["metadata"] and "deletionTimestamp" not in get("many-b")["metadata"]


def put_roles():
    for i in range(19):
        pod(f"roles-{i:02}", "roles", "19", role=f"{i:08x}", cpu=str(i + 1))


def test_roles():
    """a group of nineteen different pods"""
    told("Pod", "roles-..", "ErrWorkloadCompose", "can't include more than 18 roles", "19", "several groups")
    waits("roles-00", "roles-18")


def put_index():
    pod("index-a", "index", "2", labels={PREFIX + "pod-group-pod-index": "7"})
    pod("index-b", "index", "2", labels={PREFIX + "pod-group-pod-index": "1"})


def test_index():
    """a rank that is not below the count"""
    told("Pod", "index-.", "ErrWorkloadCompose", "pod-group-pod-index", "below the total count")
    waits("index-a", "index-b")


def put_taken():
    owner = cluster.request(
        "POST",
        "/api/v1/namespaces/default/configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "somebody"}},
    )
    make(
        "namespaces/default/workloads",
        "Workload",
        "taken",
        {
            "queueName": "nowhere",
            "podSets": [
                {
                    "name": "main",
                    "count": 1,
                    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}},
                }
            ],
        },
        ownerReferences=[
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "somebody",
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ],
    )
    pod("taken-a", "taken", "1")


def test_taken():
    """a group that is named as somebody else's workload"""
    told("Pod", "taken-a", "WorkloadNameConflict", "'taken'", "rename the group")
    waits("taken-a")
    found = cluster.get(f"{WORKLOADS}/taken")
    assert found["spec"]["queueName"] == "nowhere" and len(found["metadata"]["ownerReferences"]) == 1, found


def put_priority_class():
    pod("classless", labels={PREFIX + "priority-class": "nowhere"})
    pod("classless-a", "classless-group", "1", labels={PREFIX + "priority-class": "nowhere"})


def test_priority_class():
    """a priority class that does not exist; the way out is to make it"""
    for name in ("classless", "classless-a"):
        told("Pod", name, "ErrWorkloadCompose", "WorkloadPriorityClass", "nowhere", "create it")
        waits(name)
    cluster.request(
        "POST",
        f"{KUEUE}/workloadpriorityclasses",
        {"apiVersion": VERSION, "kind": "WorkloadPriorityClass", "metadata": {"name": "nowhere"}, "value": 7},
    )
    until(lambda: not gates("classless") and not gates("classless-a"), PATIENCE, "both admitted once it is there")


def put_no_queue():
    pod("queueless", queue="nowhere")
    pod("unbuilt", labels={PREFIX + "prebuilt-workload-name": "nowhere"})


def test_no_queue():
    """a queue, and a prebuilt workload, that do not exist"""
    states(
        "workload", lambda: workload("queueless"), "QuotaReserved", "Inadmissible", "LocalQueue nowhere doesn't exist"
    )
    told("Pod", "unbuilt", "ErrWorkloadCompose", "'nowhere'", "create it")
    waits("queueless", "unbuilt")


def put_foreign_gate():
    pod("held", gates=("admission", "example.com/hold"))
    p = pod("not-ours", queue=None, gates=("example.com/hold",), managed=False)
    bystanders["not-ours"] = p["metadata"]["resourceVersion"]


def test_foreign_gate():
    """gates of others stay, and who is held by them is told so; pods that are not ours are left alone"""
    until(lambda: gates("held") == ["example.com/hold"], PATIENCE, "only the other's gate")
    told("Pod", "held", "Started", "Admitted by clusterQueue main", "example.com/hold", warning=False)


def put_absurd_amount():
    pod("greedy", cpu="9000000000000000000")


def test_absurd_amount():
    """more cpus than there are atoms"""
    states("workload", lambda: workload("greedy"), "QuotaReserved", "Pending", "cpu", "maximum capacity")
    waits("greedy")


def put_unknown_check():
    check("nobodys", "example.com/nobody")
    queue("unchecked", ["nobodys"])
    queue("checkless", ["nowhere"])
    for name in ("unchecked", "checkless"):
        pod(f"{name}-pod", queue=name)


def test_unknown_check():
    """a check that nobody performs, and one that is not there"""
    states("ClusterQueue", f"{KUEUE}/clusterqueues/unchecked", "Active", "AdmissionCheckInactive", "nobodys")
    states("ClusterQueue", f"{KUEUE}/clusterqueues/checkless", "Active", "AdmissionCheckNotFound", "nowhere")
    for name in ("unchecked", "checkless"):
        states(
            "workload",
            lambda: workload(f"{name}-pod"),
            "QuotaReserved",
            "Inadmissible",
            f"ClusterQueue {name} is inactive",
        )
        waits(f"{name}-pod")
    told("AdmissionCheck", "nobodys", "NoController", "example.com/nobody", "Active", "install")


def put_check_parameters():
    controller, group = PREFIX + "provisioning-request", "kueue.x-k8s.io"
    check("bare", controller)
    check("odd", controller, {"apiGroup": group, "kind": "Unheard", "name": "of"})
    check("lost", controller, {"apiGroup": group, "kind": "ProvisioningRequestConfig", "name": "nowhere"})
    for name in ("bare", "odd", "lost"):
        queue(f"with-{name}", [name])


def test_check_parameters():
    """provisioning checks without parameters, with those of another kind, and with some that are not there"""
    for name, words in (
        ("bare", "missing parameters"),
        ("odd", "ProvisioningRequestConfig"),
        ("lost", "nowhere.* not found"),
    ):
        states(f"AdmissionCheck {name}", f"{KUEUE}/admissionchecks/{name}", "Active", "BadParametersRef", words)
        states("ClusterQueue", f"{KUEUE}/clusterqueues/with-{name}", "Active", "AdmissionCheckInactive", name)
        assert not events("AdmissionCheck", name), "a check that is performed here has a controller"


def test_nobody_else():
    """whoever is in order is admitted as ever, and was left alone"""
    in_order("last")
    for name, version in bystanders.items():
        assert get(name)["metadata"]["resourceVersion"] == version, f"{name} was written"
    assert sluice.alive()


def test_rest():
    """and then nothing is written any more"""

    def writes():
        text = cluster.request("GET", "/metrics")
        return sum(
            float(v)
            for labels, v in re.findall(r"^apiserver_request_total\{(.*)\} (\S+)$", text, re.M)
            if re.search(r'verb="(POST|PUT|PATCH|APPLY|DELETE)"', labels) and 'resource="leases"' not in labels
        )

    def rest():
        before = writes()
        time.sleep(4)
        say(f"# {writes() - before:.0f} writes in four seconds")
        return writes() - before <= 2

    until(rest, PATIENCE, "an end of writing: something is written again and again")
