# SPDX-License-Identifier: Apache-2.0
"""Random histories of pods and groups, many side by side, while Sluice is killed now and then.

    SL_HISTORIES=200 tests/e2e/run kube/test_podhistories.py  # 6 without it
    SL_SEED=17 SL_HISTORIES=1                                 # the first seed; each history is one

Each history has a namespace, a LocalQueue and a ClusterQueue of its own; some share a cohort, some have an admission
check that this program answers, well and badly. Users make pods and groups, whole and in parts, lose, replace, delete
and finish them at any moment; queues are stopped, quota changes, workloads are deactivated and deleted. Then the users
settle down: quota is enough, checks are Ready, what misses members gets them. In the end nobody is forgotten, no group
is half admitted, no finalizer is left, and usage is the sum of what is admitted. All versions of all pods and workloads
are kept and looked through in their order: no pod ever loses its gate before its whole workload is admitted.
"""

import collections
import http.client
import json
import os
import random
import threading
import time

import pytest

from kube import Failure, until
from sluice import KUEUE, Sluice, at_once, at_rest, condition, holds, say, steps

COUNT = int(os.environ.get("SL_HISTORIES") or 6)
SEED = int(os.environ.get("SL_SEED") or 1)
STEPS = 24
PACE = 0.25  # seconds between two steps of a history, at least
THREADS = 6
PATIENCE = 150 + 2 * COUNT  # seconds; a tenth of it on a quiet machine
ENOUGH = 1000  # cpus, when users have settled down
PREFIX = "kueue.x-k8s.io/"
MANAGED = PREFIX + "managed"
CHECK = "tests-check"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
TIME_LIMIT = 400
cluster = sluice = None


# ---- what the API has stored ----


class World:
    """Follows pods and workloads: what there is now, and every version that there was."""

    def __init__(self):
        self.now = {"pods": {}, "workloads": {}}  # (namespace, name): object
        self.past = []  # (version, what, whether it is gone, a few words of the object)
        self.changed = time.monotonic()
        self.lock = threading.Lock()
        self.end = False

    def start(self):
        for what, path in ("pods", "/api/v1/pods"), ("workloads", f"{KUEUE}/workloads"):
            threading.Thread(target=self._follow, args=(what, path), daemon=True).start()

    def of(self, what, ns):
        with self.lock:
            return [o for (n, _), o in self.now[what].items() if n == ns]

    def workload(self, ns, name):
        return self.now["workloads"].get((ns, name))

    def _follow(self, what, path):
        version = "0"
        while not self.end:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", cluster.ports["kube-apiserver"], timeout=60, context=cluster.tls
            )
            try:
                connection.request("GET", f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}")
                answer = connection.getresponse()
                while not self.end and (text := answer.readline()):
                    event = json.loads(text)
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._take(what, event["type"] == "DELETED", event["object"])
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)
            finally:
                connection.close()

    def _take(self, what, gone, thing):
        meta = thing["metadata"]
        meta.pop("managedFields", None)
        key = meta["namespace"], meta["name"]
        with self.lock:
            self.changed = time.monotonic()
            if gone:
                self.now[what].pop(key, None)
            else:
                self.now[what][key] = thing
            self.past.append((int(meta["resourceVersion"]), what, gone, key, words(what, thing)))


def words(what, thing):
    """What the checks of the past need to know of a version."""
    meta = thing["metadata"]
    if what == "pods":
        return {
            "uid": meta["uid"],
            "gated": is_gated(thing),
            "group": group_of(thing),
            "live": is_live(thing),
            "phase": thing.get("status", {}).get("phase"),
            "role": meta.get("annotations", {}).get(PREFIX + "role-hash"),
            "finalizers": len(meta.get("finalizers", [])),
        }
    counts = [a.get("count", 0) for a in (thing.get("status", {}).get("admission") or {}).get("podSetAssignments", [])]
    return {
        "uid": meta["uid"],
        "admitted": holds(thing, "Admitted") and not holds(thing, "Finished"),
        "owners": {o["uid"] for o in meta.get("ownerReferences", [])},
        "counts": sum(counts),
        "evicted": holds(thing, "Evicted"),
    }


def is_gated(pod):
    return any(g["name"] == PREFIX + "admission" for g in pod["spec"].get("schedulingGates", []))


def is_deleting(thing):
    return "deletionTimestamp" in thing["metadata"]


def is_over(pod):
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_live(pod):
    return not is_over(pod) and not is_deleting(pod)


def has_failed(pod):
    return pod.get("status", {}).get("phase") == "Failed"


def group_of(pod):
    return pod["metadata"].get("labels", {}).get(PREFIX + "pod-group-name")


def cpus(spec):
    return int(spec["containers"][0]["resources"]["requests"]["cpu"])


def name_of(thing):
    return thing["metadata"]["name"]


def when():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


world = World()


# ---- one history ----


class History:
    """A namespace, its queue, and what its users do."""

    def __init__(self, seed):
        self.seed, self.rng = seed, random.Random(seed)
        self.ns = f"history-{seed}"
        self.checked = self.rng.random() < 0.4
        self.cohort = f"cohort-{seed // 2}" if seed // 2 % 3 == 0 else None
        self.quota = self.rng.randint(3, 8)
        self.serial = 0
        self.groups = {}  # name: roles (the cpus of each member), made, annotations, and whether it is beyond repair
        self.done = []
        self.settled = False
        self.next = 0

    def at(self, what, name=""):
        base = "/api/v1" if what == "pods" else KUEUE
        return f"{base}/namespaces/{self.ns}/{what}" + (f"/{name}" if name else "")

    # -- words of the users --

    def spec(self, quota, stop="None"):
        return {
            "namespaceSelector": {},
            "stopPolicy": stop,
            **({"cohortName": self.cohort} if self.cohort else {}),
            "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
            **({"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}} if self.checked else {}),
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [{"name": "plain", "resources": [{"name": "cpu", "nominalQuota": str(quota)}]}],
                }
            ],
        }

    def prepare(self, api):
        def thing(version, kind, name, spec):
            return {
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": name},
                **spec,
            }

        kueue = "kueue.x-k8s.io/v1beta2"
        api.patiently("POST", "/api/v1/namespaces", thing("v1", "Namespace", self.ns, {}))
        api.patiently(
            "POST", f"{KUEUE}/clusterqueues", thing(kueue, "ClusterQueue", self.ns, {"spec": self.spec(self.quota)})
        )
        api.patiently(
            "POST", self.at("localqueues"), thing(kueue, "LocalQueue", "main", {"spec": {"clusterQueue": self.ns}})
        )
        until(
            lambda: api.send("GET", f"/api/v1/namespaces/{self.ns}/serviceaccounts/default")[0] == 200,
            60,
            "the service account",
        )

    def say(self, text):
        self.done.append(f"{time.monotonic() - began:.2f} {text}")

    def pod(self, api, name, cpu, group=None):
        rng = self.rng
        labels = {PREFIX + "queue-name": "main"}
        annotations = {
            "tests.sluice/run-seconds": str(rng.choice(["infinity", "infinity", 0.3, 1, 2])),
            "tests.sluice/exit-code": str(int(rng.random() < 0.2)),
        }
        if self.settled:
            annotations = {"tests.sluice/run-seconds": "infinity", "tests.sluice/exit-code": "0"}
        if rng.random() < 0.5:
            labels[PREFIX + "priority-class"] = rng.choice(("low", "high"))
        if group:
            labels[PREFIX + "pod-group-name"] = group
            labels.pop(PREFIX + "priority-class", None)  # of all members, or of none
            annotations.update(self.groups[group]["annotations"])
        self.say(
            f"creates {name} ({cpu} cpu, {annotations['tests.sluice/run-seconds']} s, exit "
            f"{annotations['tests.sluice/exit-code']})"
        )
        api.patiently(
            "POST",
            self.at("pods"),
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": labels, "annotations": annotations},
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": rng.choice((1, 30)),
                    "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}],
                },
            },
        )

    def number(self):
        self.serial += 1
        return self.serial

    def pods(self, group=None):
        return sorted((p for p in world.of("pods", self.ns) if group is None or group_of(p) == group), key=name_of)

    def workloads(self):
        return sorted(world.of("workloads", self.ns), key=name_of)

    def member(self, api, group, role):
        g = self.groups[group]
        g["made"] += 1
        self.pod(api, f"{group}-{self.number()}", role, group)

    def missing(self, group):
        """The roles of members that a whole group has, and that nobody plays. Which ones a group has is said by its
        Workload, if there is one: an excess member may have come before another."""
        w, roles = world.workload(self.ns, group), self.groups[group]["roles"]
        pods = [p for p in self.pods(group) if not has_failed(p) and not is_deleting(p)]
        if w and not holds(w, "Finished"):
            roles = [cpus(p["template"]["spec"]) for p in w["spec"]["podSets"] for _ in range(p["count"])]
            pods = [
                p for p in pods if is_live(p) or MANAGED in p["metadata"].get("finalizers", [])
            ]  # else of one before
        else:
            w = None
        left = list(roles)
        for p in pods:
            if cpus(p["spec"]) in left:
                left.remove(cpus(p["spec"]))
        return left if w else left[: max(0, len(roles) - len(pods))]

    def finished(self, group):
        w = world.workload(self.ns, group)
        return bool(w and holds(w, "Finished"))

    # -- what they may do --

    def op_plain(self, api):
        self.pod(api, f"plain-{self.number()}", self.rng.randint(1, 3))

    def op_group(self, api):
        rng, name = self.rng, f"group-{self.number()}"
        roles = [rng.choice((1, 1, 2)) for _ in range(rng.randint(2, 4))]
        annotations = {PREFIX + "pod-group-total-count": str(len(roles))}
        if rng.random() < 0.3:
            annotations[PREFIX + "retriable-in-group"] = "false"
        if rng.random() < 0.15:
            annotations[PREFIX + "pod-group-fast-admission"] = "true"
            roles = [1] * len(roles)
        self.groups[name] = {"roles": roles, "annotations": annotations, "made": 0, "odd": False}
        for role in roles[:-1] if rng.random() < 0.3 else roles:
            self.member(api, name, role)

    def some_group(self):
        alive = [g for g in self.groups if any(is_live(p) for p in self.pods(g)) and not self.finished(g)]
        return self.rng.choice(alive) if alive else None

    def op_complete(self, api):
        group = self.some_group()
        for role in self.missing(group) if group else []:
            self.member(api, group, role)

    def op_excess(self, api):
        group = self.some_group()
        if group:
            self.member(api, group, self.rng.choice(self.groups[group]["roles"]))

    def op_again(self, api):
        """A group that is over is made once more, with the same name."""
        over = [g for g in self.groups if self.pods(g) and all(is_over(p) for p in self.pods(g)) and self.finished(g)]
        if over:
            group = self.rng.choice(over)
            for role in self.groups[group]["roles"]:
                self.member(api, group, role)

    def op_delete(self, api):
        pods = [p for p in self.pods() if not is_deleting(p)]
        if pods:
            p = self.rng.choice(pods)
            group = group_of(p)
            if group and is_over(p):
                self.groups[group]["odd"] = True
            grace = self.rng.choice((None, 0))
            self.say(f"deletes {name_of(p)}, grace {grace}")
            api.patiently("DELETE", self.at("pods", name_of(p)), {} if grace is None else {"gracePeriodSeconds": 0})

    def op_fail(self, api):
        pods = [p for p in self.pods() if p["status"].get("phase") == "Running" and not is_deleting(p)]
        if pods:
            p = self.rng.choice(pods)
            self.say(f"fails {name_of(p)}")
            self.perhaps(api, "PATCH", self.at("pods", name_of(p)) + "/status", {"status": {"phase": "Failed"}}, MERGE)

    def perhaps(self, api, method, path, body, type="application/json"):
        """Something that may be gone, or changed by somebody else, at that moment."""
        try:
            api.patiently(method, path, body, type)
        except Failure as error:
            if error.status not in (404, 409, 422, 403):
                raise

    def op_workload(self, api):
        if self.workloads():
            w, what = self.rng.choice(self.workloads()), self.rng.choice(("off", "off", "on", "delete"))
            self.say(f"{what} {name_of(w)}")
            if what == "delete":
                self.perhaps(api, "DELETE", self.at("workloads", name_of(w)), {})
            else:
                self.perhaps(api, "PATCH", self.at("workloads", name_of(w)), {"spec": {"active": what == "on"}}, MERGE)

    def op_flip(self, api):
        admitted = [w for w in self.workloads() if self.checked and holds(w, "Admitted") and not holds(w, "Finished")]
        if admitted:
            self.answer(api, self.rng.choice(admitted), self.rng.choice(("Retry", "Retry", "Rejected", "Pending")))

    def op_queue(self, api):
        stop = self.rng.choice(("None", "None", "Hold", "HoldAndDrain"))
        self.queue(api, self.quota, stop)

    def op_quota(self, api):
        self.quota = self.rng.randint(2, 9)
        self.queue(api, self.quota, "None")

    def queue(self, api, quota, stop):
        self.say(f"quota {quota}, stopPolicy {stop}")
        api.patiently("PATCH", f"{KUEUE}/clusterqueues/{self.ns}", {"spec": self.spec(quota, stop)}, MERGE)

    OPS = [
        ("plain", 4),
        ("group", 5),
        ("complete", 4),
        ("excess", 1),
        ("again", 2),
        ("delete", 4),
        ("fail", 3),
        ("workload", 2),
        ("flip", 2),
        ("queue", 1),
        ("quota", 1),
    ]

    def step(self, api):
        (op,) = self.rng.choices([o for o, _ in self.OPS], [w for _, w in self.OPS])
        getattr(self, "op_" + op)(api)

    # -- the check's own controller --

    def answer(self, api, w, state):
        self.say(f"answers {state} for {name_of(w)}")
        check = {"name": CHECK, "state": state, "message": f"the test says {state}", "lastTransitionTime": when()}
        if state == "Ready":
            check["podSetUpdates"] = [
                {"name": p["name"], "annotations": {"tests.sluice/checked": "yes"}} for p in w["spec"]["podSets"]
            ]
        self.perhaps(
            api,
            "PATCH",
            self.at("workloads", name_of(w)) + "/status?fieldManager=tests&force=true",
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "metadata": {"name": name_of(w)},
                "status": {"admissionChecks": [check]},
            },
            APPLY,
        )

    def check(self, api):
        for w in self.workloads() if self.checked else []:
            pending = [c for c in w.get("status", {}).get("admissionChecks") or [] if c["state"] == "Pending"]
            if pending and holds(w, "QuotaReserved") and not holds(w, "Finished") and not holds(w, "Evicted"):
                odds = (1, 0, 0, 0) if self.settled else (6, 2, 1, 4)
                (state,) = self.rng.choices(("Ready", "Retry", "Rejected", ""), odds)
                if state:
                    self.answer(api, w, state)

    # -- the end --

    def settle(self, api):
        """What sensible users do about what they see. May be called again and again."""
        self.check(api)
        for w in self.workloads():
            if w["spec"].get("active") is False and not holds(w, "Finished") and not is_deleting(w):
                self.say(f"on {name_of(w)}")
                self.perhaps(api, "PATCH", self.at("workloads", name_of(w)), {"spec": {"active": True}}, MERGE)
        for group, g in self.groups.items():
            waiting = [p for p in self.pods(group) if is_live(p) and is_gated(p)]
            if not waiting:
                if not self.pods(group) or self.finished(group) or self.fill(api, group, g):
                    continue
                w = world.workload(self.ns, group)
                if w and not holds(w, "Admitted") and all(is_over(p) for p in self.pods(group)):
                    # It waits for members of which nobody knows that they are missing: the group is taken back.
                    self.say(f"takes back {group}")
                    for p in self.pods(group):
                        api.patiently("DELETE", self.at("pods", name_of(p)), {})
            elif (
                g["odd"]
                or PREFIX + "retriable-in-group" in g["annotations"]
                and any(is_over(p) for p in self.pods(group))
                or self.finished(group)
                and len(waiting) < len(g["roles"])
            ):
                # Who deletes what was over, or adds to what may be over, cannot know how many are missing.
                for p in waiting:
                    self.say(f"gives up {name_of(p)}")
                    api.patiently("DELETE", self.at("pods", name_of(p)), {})
            else:
                self.fill(api, group, g)

    def fill(self, api, group, g):
        """Makes the members that are missing, as far as their user can tell; returns whether there were some."""
        if g["odd"] or PREFIX + "retriable-in-group" in g["annotations"] and any(is_over(p) for p in self.pods(group)):
            return False
        if any(is_deleting(p) for p in self.pods(group)):
            return True
        missing = self.missing(group)
        for role in missing:
            self.member(api, group, role)
        return bool(missing)

    def unsettled(self):
        """What is not as it has to be in the end, in words."""
        faults = []
        holder = {o["uid"]: w for w in self.workloads() for o in w["metadata"].get("ownerReferences", [])}
        for p in self.pods():
            w = world.workload(self.ns, group_of(p)) if group_of(p) else holder.get(p["metadata"]["uid"])
            if is_deleting(p):
                faults.append(f"{name_of(p)} is being deleted, and is still there: {p['metadata'].get('finalizers')}")
            elif is_over(p):  # what ended counts until its group has
                if MANAGED in p["metadata"].get("finalizers", []) and (
                    not group_of(p) or not w or holds(w, "Finished")
                ):
                    faults.append(f"{name_of(p)} is over, and so is its workload, and it keeps its finalizer")
            elif is_gated(p):
                faults.append(f"{name_of(p)} is gated")
            elif not w or not holds(w, "Admitted"):
                faults.append(f"{name_of(p)} runs, and has no admitted workload")
        for w in self.workloads():
            if not holds(w, "Finished") and not holds(w, "Admitted"):
                faults.append(f"{name_of(w)} waits: {condition(w, 'QuotaReserved')['message']}")
        return faults

    def miscounted(self, status):
        """Whether the ClusterQueue says something else than its workloads."""
        mine = [w for w in self.workloads() if holds(w, "QuotaReserved") and not holds(w, "Finished")]
        used = 0
        for w in mine:
            over = {r["name"]: r["count"] for r in w["status"].get("reclaimablePods") or []}  # these gave theirs back
            counts = {p["name"]: p["count"] - over.get(p["name"], 0) for p in w["spec"]["podSets"]}
            used += sum(
                int(a["resourceUsage"]["cpu"]) * min(a["count"], counts[a["name"]]) // a["count"]
                for a in w["status"]["admission"]["podSetAssignments"]
                if a["count"]
            )
        want = {"pendingWorkloads": 0, "reservingWorkloads": len(mine), "admittedWorkloads": len(mine)}
        said = {k: status.get(k, 0) for k in want}
        total = {
            key: sum(int(r.get("total", 0)) for f in status.get(key) or [] for r in f["resources"])
            for key in ("flavorsReservation", "flavorsUsage")
        }
        want, said = {**want, **dict.fromkeys(total, used)}, {**said, **total}
        return None if want == said else f"the queue says {said}, its workloads {want}"


histories = [History(SEED + i) for i in range(COUNT)]
began = time.monotonic()
kills = 0


def reaper(rng, end):
    """Kills Sluice now and then."""
    global kills
    while not end.wait(rng.uniform(2, 5)):
        sluice.restart()
        kills += 1


def in_turns(work, steps=1):
    """Each history is taken on, step by step, beside all others."""

    def some(api, mine):
        for _ in range(steps):
            for h in mine:
                time.sleep(max(0, h.next - time.monotonic()))
                h.next = time.monotonic() + PACE
                work(h, api)

    at_once(cluster, [histories[i::THREADS] for i in range(THREADS)], some, THREADS)


def everything(question, seconds, what, meanwhile=None):
    """Until no history has a complaint."""
    end = time.monotonic() + seconds
    while True:
        faults = {h: f for h in histories if (f := question(h))}
        if not faults:
            return
        if not sluice.alive():
            raise Failure(f"sluice ended with {sluice.process.returncode}")
        if time.monotonic() > end:
            raise Failure(
                f"{what}: {len(faults)} of {COUNT} histories\n"
                + "\n".join(story(h, f) for h, f in list(faults.items())[:3])
            )
        if meanwhile:
            meanwhile()
        time.sleep(0.2)


def story(h, faults):
    lines = [f"--- seed {h.seed}"] + [f"  {f}" for f in ([faults] if isinstance(faults, str) else faults)[:8]]
    for w in h.workloads()[:6]:
        lines.append(
            f"  workload {name_of(w)} active {w['spec'].get('active')}: "
            + "; ".join(
                f"{c['type']}={c['status']} {c['reason']} {c['message'][:80]}"
                for c in w.get("status", {}).get("conditions", [])
            )
        )
    for p in h.pods()[:12]:
        lines.append(
            f"  pod {name_of(p)} {p['status'].get('phase')}"
            + " gated" * is_gated(p)
            + " deleting" * is_deleting(p)
            + f" {p['metadata'].get('finalizers', [])}"
        )
    lines += [f"  did: {d}" for d in h.done[-40:]]
    for name in {f.split(" ")[0].rsplit("-", 1)[0] for f in faults if not isinstance(faults, str)}:
        past = [e for e in sorted(world.past, key=lambda e: e[0]) if e[3][0] == h.ns and e[3][1].startswith(name)]
        lines += [f"  was: {e[0]} {e[3][1]}" + " gone" * e[2] + f" {e[4]}" for e in past[-40:]]
    return "\n".join(lines)


@pytest.fixture(scope="module", autouse=True)
def queueing(node_cluster):
    """A control plane, and a queue for each history."""
    global cluster, sluice
    cluster = node_cluster
    cluster.add_nodes(8, cpu="1000", memory="1000Gi", pods="2000")
    with Sluice(cluster, frameworks=["batch/job", "pod"]) as sluice:
        make_queues()
        world.start()
        yield
        world.end = True


def test_histories():
    """users and faults, and then users who settle down"""
    steps(deeds, settled, usage, past, same_state, gone)


def make_queues():
    def post(path, kind, name, more):
        return cluster.request(
            "POST",
            f"{KUEUE}/{path}",
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, **more},
        )

    post("resourceflavors", "ResourceFlavor", "plain", {})
    for name, value in ("low", -10), ("high", 10):
        post("workloadpriorityclasses", "WorkloadPriorityClass", name, {"value": value})
    post("admissionchecks", "AdmissionCheck", CHECK, {"spec": {"controllerName": "tests.sluice/check"}})
    cluster.request(
        "PATCH",
        f"{KUEUE}/admissionchecks/{CHECK}/status",
        {
            "status": {
                "conditions": [
                    {
                        "type": "Active",
                        "status": "True",
                        "reason": "Active",
                        "message": "somebody answers",
                        "lastTransitionTime": when(),
                        "observedGeneration": 1,
                    }
                ]
            }
        },
        MERGE,
    )
    at_once(cluster, histories, lambda api, h: h.prepare(api))


def deeds():
    """users and faults"""
    global began
    began = time.monotonic()
    end = threading.Event()
    killer = threading.Thread(target=reaper, args=(random.Random(SEED), end), daemon=True)
    killer.start()
    in_turns(lambda h, api: (h.step(api), h.check(api)), STEPS)
    end.set()
    killer.join()
    if not kills:
        sluice.restart()
    done = collections.Counter(d.split(" ")[1] for h in histories for d in h.done)
    say(
        f"# {COUNT} histories, {sum(done.values())} deeds in {time.monotonic() - began:.1f} s, {kills} kills: "
        + ", ".join(f"{n} {what}" for what, n in sorted(done.items()))
    )


def settled():
    """nobody is forgotten, no group is half admitted, nothing keeps its finalizer"""
    was = time.monotonic()

    def enough(h, api):
        h.settled = True
        h.queue(api, ENOUGH, "None")

    in_turns(enough)
    everything(History.unsettled, PATIENCE, "not settled", lambda: in_turns(lambda h, api: h.settle(api)))
    live = sum(is_live(p) for h in histories for p in h.pods())
    say(
        f"# settled after {time.monotonic() - was:.1f} s: {live} pods run, "
        f"{sum(len(h.workloads()) for h in histories)} workloads"
    )


def usage():
    """the queues say what their workloads say"""

    def question(h):
        return h.miscounted(cluster.get(f"{KUEUE}/clusterqueues/{h.ns}").get("status", {}))

    everything(question, PATIENCE, "miscounted")


def past():
    """no pod ever lost its gate before its whole workload was admitted, and none ran beside those that count"""
    faults, gates, pods, workloads, owner, ungated = [], {}, {}, {}, {}, 0
    for version, what, gone, key, thing in sorted(world.past, key=lambda e: e[0]):
        if what == "workloads":
            if gone:
                workloads.pop(key, None)
            else:
                workloads[key] = thing
                owner.update((uid, key) for uid in thing["owners"])
            continue
        was = gates.get(thing["uid"])
        gates[thing["uid"]] = thing["gated"]
        pods.pop(key, None) if gone else pods.__setitem__(key, thing)
        if not was or thing["gated"] or gone:
            continue
        ungated += 1
        w = workloads.get((key[0], thing["group"]) if thing["group"] else owner.get(thing["uid"]))
        if not w or not w["admitted"]:
            faults.append(f"{key} lost its gate at {version}, and its workload was not admitted: {w}")
        elif thing["group"]:
            out = sum(
                p["group"] == thing["group"] and p["live"] and not p["gated"] for k, p in pods.items() if k[0] == key[0]
            )
            if out > w["counts"]:
                faults.append(f"{key} lost its gate at {version} as number {out} of {w['counts']}")
    say(f"# {len(world.past)} versions; {ungated} gates were taken off")
    assert not faults, "\n".join(faults[:10])
    assert ungated > COUNT, ungated


def same_state():
    """a fresh process holds the same state as the one that was there"""
    until(lambda: time.monotonic() - world.changed > 2, 60, "rest")
    before = at_rest(sluice)
    sluice.restart()
    until(lambda: sluice.state() == before, PATIENCE, "the same state")


def gone():
    """when everything is deleted nothing stays"""
    at_once(
        cluster,
        histories,
        lambda api, h: api.patiently("DELETE", h.at("pods"), {"gracePeriodSeconds": 0} if h.seed % 2 else {}),
    )

    def left(h):
        return [f"{name_of(o)}: {o['metadata'].get('finalizers')}" for o in h.pods() + h.workloads()]

    everything(left, PATIENCE, "still there")
    everything(
        lambda h: h.miscounted(cluster.get(f"{KUEUE}/clusterqueues/{h.ns}").get("status", {})), PATIENCE, "miscounted"
    )
