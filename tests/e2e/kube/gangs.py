# SPDX-License-Identifier: Apache-2.0
"""Many gangs through one queue while they are resized and deleted and Sluice is killed, and what may never be then.

    run = Run(cluster, sluice, "minicluster", count=500, size=8, held=20, kills=5)
    run.go()                        # a Failure says what was wrong
    run.seconds, run.writes, ...    # what it took

The queue holds `held` gangs of that size at a time. Each 5th gang is resized twice, half of these elastically: first
when it is admitted, and again when it is with the new size, or at once if it became smaller. Each 25th is deleted when
it is admitted. Sluice is killed after equal parts of all have ended, and started again.

Every change of a pod and of a Workload is noted with its resourceVersion, which orders those of both kinds as they were
stored. faults() replays such a history: it is what decides, and knows nothing of who made it.
"""

import collections
import http.client
import json
import os
import pathlib
import queue
import re
import threading
import time

from kube import Failure, until
from sluice import KUEUE, Api, at_once, holds, say, small_queue

NAMESPACE = "/namespaces/default"
PATHS = {
    "job": f"/apis/batch/v1{NAMESPACE}/jobs",
    "minicluster": f"/apis/flux-framework.org/v1alpha2{NAMESPACE}/miniclusters",
    "pod": f"/api/v1{NAMESPACE}/pods",
    "workload": f"{KUEUE}{NAMESPACE}/workloads",
}
# What goes with a gang. What the control plane itself has there stays.
PIECES = [
    *PATHS.values(),
    *(f"/api/v1{NAMESPACE}/{p}" for p in ("configmaps", "services", "secrets", "persistentvolumeclaims")),
    f"/apis/discovery.k8s.io/v1{NAMESPACE}/endpointslices",
]
STAYS = ("kube-root-ca.crt", "kubernetes")
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
MERGE = "application/merge-patch+json"
PATIENCE = 1800  # for the end of all
GRACE = 60  # until the pods of a gang are there, or gone: Sluice may be down meanwhile
RESIZED, DELETED = 5, 25  # each so many-th
SECONDS, LONGER = 2, 6  # how long pods run, and those of gangs that are resized
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
BESIDE = ("leases", "nodes", "tokenreviews", "subjectaccessreviews")  # written whether there are gangs or not
SAMPLE = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.M)


# ---- a history, and what may never be in it ----

# `job` is the name of the Job. A pod is live from when it has no gate until it ends or is deleted. A workload that
# is `gone` was deleted; cpus: what it holds.
Pod = collections.namedtuple("Pod", "version when uid job index live done")
Workload = collections.namedtuple("Workload", "version when uid job cpus count admitted finished gone")


def pod_event(version, when, thing, gone):
    meta, phase = thing["metadata"], thing.get("status", {}).get("phase")
    labels = meta.get("labels", {})
    job = labels.get("batch.kubernetes.io/job-name")
    if not job:
        return None
    gated = thing["spec"].get("schedulingGates") and phase == "Pending"
    live = not gone and not gated and phase in ("Pending", "Running") and not meta.get("deletionTimestamp")
    index = int(labels["batch.kubernetes.io/job-completion-index"])
    return Pod(version, when, meta["uid"], job, index, live, phase == "Succeeded")


def given(thing):
    """Of each podset that has quota: its cpus, how many pods it is for, and how many of these hold them still. One that
    became smaller has given back the rest at once, and pods that have ended theirs."""
    asked = {p["name"]: p["count"] for p in thing["spec"]["podSets"]}
    ended = {p["name"]: p["count"] for p in thing["status"].get("reclaimablePods") or []}
    for podset in thing["status"].get("admission", {}).get("podSetAssignments", []):
        usage = podset.get("resourceUsage", {}).get("cpu", "0")
        cpus = int(usage[:-1]) / 1000 if usage.endswith("m") else int(usage)
        count = min(podset["count"], asked[podset["name"]])
        yield cpus / max(1, podset["count"]), count, max(0, count - ended.get(podset["name"], 0))


def workload_event(version, when, thing, gone):
    meta = thing["metadata"]
    job = next((o["name"] for o in meta.get("ownerReferences", []) if o["kind"] == "Job"), None)
    if not job:
        return None
    finished = holds(thing, "Finished")
    reserved = holds(thing, "QuotaReserved") and not finished and not gone
    podsets = list(given(thing)) if reserved else []
    return Workload(
        version,
        when,
        meta["uid"],
        job,
        sum(cpus * holding for cpus, _, holding in podsets),
        sum(count for _, count, _ in podsets),
        reserved and holds(thing, "Admitted"),
        finished,
        gone,
    )


class Gang:
    """What is known of one Job at some moment of a history."""

    def __init__(self):
        self.pods, self.workloads = {}, {}
        self.admitted = False  # ever
        self.state, self.since = None, 0  # in part: how, and since when

    def cpus(self):
        """A slice of an elastic Job that replaces another one has what that has, and more."""
        return max((w.cpus for w in self.workloads.values()), default=0)

    def wanted(self):
        return max((w.count for w in self.workloads.values() if w.admitted), default=0)

    def in_part(self):
        """None if it is whole, or wholly gone; else how many pods there are, and how many there are to be."""
        wanted = self.wanted()
        live = {p.index for p in self.pods.values() if p.live}
        there = live | {p.index for p in self.pods.values() if p.done and p.index < wanted}
        return None if there == set(range(wanted)) or not wanted and not live else (len(there), wanted)


def faults(history, quota, grace=GRACE):
    """What may never be: a list of texts, and the longest time that a gang was there in part."""
    gangs, found, used, longest = collections.defaultdict(Gang), [], 0, 0

    def over(gang, when, job):
        nonlocal longest
        longest = max(longest, when - gang.since)
        if when - gang.since > grace:
            there, wanted = gang.state
            found.append(f"{job}: {there} pods of {wanted} for {when - gang.since:.1f} s")

    end = 0
    for event in sorted(history, key=lambda e: e.version):
        gang = gangs[event.job]
        end = max(end, event.when)
        if isinstance(event, Pod):
            gang.pods[event.uid] = event
            if event.live and not gang.admitted:
                found.append(f"{event.job}: pod {event.index} came before any admission")
        else:
            used -= gang.cpus()
            gang.workloads[event.uid] = event
            gang.admitted |= event.admitted
            used += gang.cpus()
            if used > quota + 1e-6:
                holders = ", ".join(f"{job} {g.cpus():g}" for job, g in gangs.items() if g.cpus())
                found.append(f"{used:g} cpus in use when {event.job} came, of {quota}: {holders}")
        state = gang.in_part()
        if gang.state and (state is None or state[1] != gang.state[1]):
            over(gang, event.when, event.job)
            gang.state = None
        if state and not gang.state:
            gang.since = event.when
        gang.state = state
    for job, gang in gangs.items():
        if gang.state:
            over(gang, end, job)
            found.append(f"{job}: in the end {gang.state[0]} pods of {gang.state[1]}")
    return found, longest


class History:
    """Follows all pods and Workloads; `told` is called with each event of a Workload, from a thread of this."""

    def __init__(self, cluster, told):
        self.cluster, self.told = cluster, told
        self.events, self.broken = [], []
        self._end = False
        versions = {kind: cluster.get(PATHS[kind])["metadata"]["resourceVersion"] for kind in MAKERS}
        self._threads = [threading.Thread(target=self._run, args=(k, v), daemon=True) for k, v in versions.items()]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end = True
        for thread in self._threads:
            thread.join(60)

    def _run(self, kind, version):
        while not self._end:
            try:
                version = self._follow(kind, version)
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            except Exception as error:  # without its events nothing can be said
                self.broken.append(f"the watch of {kind}s: {error!r}")
                return

    def _follow(self, kind, version):
        """Returns the version up to which it has seen everything."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.cluster.port, timeout=60, context=self.cluster.tls)
        try:
            path = f"{PATHS[kind]}?watch=1&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion={version}"
            connection.request("GET", path)
            answer = connection.getresponse()
            if answer.status != 200:
                raise Failure(f"{answer.status} {answer.read()[:200]}")
            for line in answer:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise Failure(f"{event['object']}")
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    continue
                noted = MAKERS[kind](int(version), time.monotonic(), event["object"], event["type"] == "DELETED")
                if noted:
                    self.events.append(noted)
                    if kind == "workload":
                        self.told(noted)
            return version
        finally:
            connection.close()


MAKERS = {"pod": pod_event, "workload": workload_event}


# ---- gangs ----


def pod_seconds(i):
    return LONGER if i % RESIZED == 0 else SECONDS


def annotations(i):
    return {"kueue.x-k8s.io/elastic-job": "true"} if i % (2 * RESIZED) == 0 else {}


def minicluster(name, i, size):
    """Its service has a name of its own: clusters of several pods cannot share one."""
    run = {"tests.sluice/run-seconds": str(pod_seconds(i))}  # the kubelet of the tests does not look into scripts
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": name, "annotations": annotations(i)},
        "spec": {
            "size": size,
            "minSize": smaller(size),
            "maxSize": larger(size),
            "jobLabels": {QUEUE_NAME: "main"},
            "network": {"headlessName": name},
            "pod": {"annotations": run},
            "containers": [{"image": "busybox", "command": "sleep 1", "resources": {"requests": {"cpu": 1}}}],
        },
    }


def job(name, i, size):
    container = {"name": "c", "image": "busybox", "command": ["sleep", str(pod_seconds(i))]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {QUEUE_NAME: "main"}, "annotations": annotations(i)},
        "spec": {
            "suspend": True,
            "parallelism": size,
            "completions": size,
            "completionMode": "Indexed",
            "template": {
                "spec": {
                    "restartPolicy": "OnFailure",
                    "containers": [{**container, "resources": {"requests": {"cpu": "1"}}}],
                }
            },
        },
    }


KINDS = {  # how it is made, and the patch that gives it a size
    "minicluster": (minicluster, lambda size: {"spec": {"size": size}}),
    "job": (job, lambda size: {"spec": {"parallelism": size, "completions": size}}),
}


def larger(size):
    return size + (size + 1) // 2


def smaller(size):
    return max(1, size // 2)


def sizes(i, size):
    """Those that it gets, one after the other: up and down, or down and up."""
    both = [larger(size), smaller(size)]
    return both if i // RESIZED % 4 < 2 else both[::-1]


# ---- the run ----


class Run:
    def __init__(self, cluster, sluice, kind, count, size, held, kills):
        self.cluster, self.sluice, self.kind = cluster, sluice, kind
        self.count, self.size, self.kills = count, size, kills
        self.quota = held * size
        self.names = [f"gang-{i:04}" for i in range(count)]
        self.left = {self.names[i]: sizes(i, size) for i in range(0, count, RESIZED)}
        self.to_delete = {self.names[i] for i in range(7, count, DELETED)}
        self.deleted, self.resizes = set(), 0
        self.known = collections.defaultdict(dict)  # the workloads of each job
        self.work, self.errors = queue.Queue(), []
        self.cpu = self.rss = self.longest = 0

    def go(self):
        """The whole of it. A Failure says what was wrong."""
        if not self.cluster._try(f"{KUEUE}/clusterqueues/main"):
            small_queue(self.cluster, self.quota)
        until(lambda: holds(self.cluster.get(f"{KUEUE}{NAMESPACE}/localqueues/main"), "Active"), 60, "the queue")
        good, bad = self.counted()
        with History(self.cluster, self.told) as history:
            began = time.monotonic()
            helpers = [threading.Thread(target=target, daemon=True) for target in (self.create, self.act)]
            for helper in helpers:
                helper.start()
            self.kill_and_wait(history)
            self.seconds = time.monotonic() - began
            self.work.put(None)
            for helper in helpers:
                helper.join(PATIENCE)
            self.take_usage()
            now_good, now_bad = self.counted()
            wrong = self.ended_well()
            began = time.monotonic()
            self.delete_all()
            wrong += self.remains()
            self.going = time.monotonic() - began
        self.writes = now_good - good
        found, self.longest = faults(history.events, self.quota)
        done = f"{self.resizes} resizes, {len(self.deleted)} deleted early, {self.kills} kills"
        say(f"# {self.kind}: {done}, {len(history.events)} changes of pods and Workloads")
        say(f"#   at most {self.longest:.1f} s in part; all were gone {self.going:.1f} s after their deletion")
        say(f"#   written: {plural(self.writes)}; refused: {plural(now_bad - bad)}")
        wrong += self.errors + history.broken + found
        if wrong:
            raise Failure(f"{self.kind}: {len(wrong)} faults:\n" + "\n".join(map(str, wrong[:40])))

    # ---- what is done to them ----

    def create(self):
        def one(api, i):
            api.patiently("POST", PATHS[self.kind], KINDS[self.kind][0](self.names[i], i, self.size), seconds=300)

        try:
            at_once(self.cluster, range(self.count), one)
        except Exception as error:
            self.errors.append(f"create: {error}")

    def told(self, event):
        """A Workload has changed: is there something to do?"""
        was = self.known[event.job].get(event.uid)
        if event.gone:
            self.known[event.job].pop(event.uid, None)
        else:
            self.known[event.job][event.uid] = event
        if event.admitted and not (was and was.admitted):
            if event.job in self.to_delete - self.deleted:
                self.deleted.add(event.job)
                self.work.put((event.job, None))
            elif self.left.get(event.job):
                self.work.put((event.job, self.left[event.job].pop(0)))

    def act(self):
        api = Api(self.cluster)
        while item := self.work.get():
            name, size = item
            path = f"{PATHS[self.kind]}/{name}"
            try:
                if size is None:
                    api.patiently("DELETE", f"{path}?propagationPolicy=Background")
                else:
                    api.patiently("PATCH", path, KINDS[self.kind][1](size), MERGE, seconds=300)
                    self.resizes += 1
            except Failure as error:  # a Job that has ended has the size that it has
                if self.kind != "job" or error.status != 422:
                    self.errors.append(f"{name}: {error}")
        api.close()

    def kill_and_wait(self, history):
        done, told, end = 0, 0, time.monotonic() + PATIENCE
        while (ended := self.ended()) < self.count:
            wrong = self.errors + history.broken
            if wrong or time.monotonic() > end:
                raise Failure(f"{self.kind}: {ended} of {self.count} have ended: {wrong}\n{self.open()}")
            if done < self.kills and ended >= done * self.count // self.kills:
                self.take_usage()
                self.sluice.kill9()
                self.sluice.start()
                done += 1
            if ended >= told + max(1, self.count // 10):
                told = ended
                say(f"# {ended} of {self.count} have ended")
            time.sleep(0.2)

    def ended(self):
        known = dict(self.known)
        return sum(
            bool(name in self.deleted or name in known and known[name])
            and all(w.finished for w in list(known[name].values()))
            for name in self.names
        )

    def open(self):
        """Of gangs that have not ended: the first few."""
        known = dict(self.known)
        left = [n for n in self.names if not known.get(n) or not all(w.finished for w in list(known[n].values()))]
        return "\n".join(f"{n}: {list(known.get(n, {}).values())}" for n in left[:5])

    def delete_all(self):
        def one(api, name):
            api.patiently("DELETE", f"{PATHS[self.kind]}/{name}?propagationPolicy=Background", seconds=300)

        at_once(self.cluster, self.names, one)

    # ---- what is there in the end ----

    def ended_well(self):
        """Each Job has succeeded with all its pods, and its MiniCluster says so."""
        wrong, resized = [], 0
        for job in self.cluster.request("GET", PATHS["job"], timeout=300)["items"]:
            name, spec, status = job["metadata"]["name"], job["spec"], job["status"]
            if name in self.deleted:
                continue
            resized += spec["completions"] != self.size
            if not holds(job, "Complete") or not spec["parallelism"] == spec["completions"] == status.get("succeeded"):
                wrong.append(f"{name}: {spec['parallelism']}, {spec['completions']}, {status}")
        if not resized:
            wrong.append("no Job has another size than it was made with")
        if self.kind == "minicluster":

            def unfinished():
                found = self.cluster.request("GET", PATHS[self.kind], timeout=300)["items"]
                return [m["metadata"]["name"] for m in found if not holds(m, "JobFinished")]

            try:
                until(lambda: not unfinished(), GRACE, "JobFinished of all")
            except Failure:
                wrong.append(f"not JobFinished: {unfinished()[:10]}")
        return wrong

    def leftovers(self):
        found = []
        for path in PIECES:
            for thing in self.cluster.request("GET", path, timeout=300)["items"]:
                if thing["metadata"]["name"] not in STAYS:
                    found.append(f"{path.rsplit('/', 1)[1]}/{thing['metadata']['name']}")
        return found

    def remains(self):
        """What is left behind, and what the queue still counts."""
        end = time.monotonic() + 60 + self.count
        while (left := self.leftovers()) and time.monotonic() < end:
            time.sleep(1)
        wrong = [f"left behind: {len(left)}: {left[:10]}"] if left else []

        def idle():
            status = self.cluster.get(f"{KUEUE}/clusterqueues/main").get("status", {})
            used = [r["total"] for f in status.get("flavorsUsage", []) for r in f["resources"]]
            counts = [status.get(k, 0) for k in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")]
            return not any(counts) and set(used) <= {"0"}

        try:
            until(idle, GRACE, "an idle queue")
        except Failure:
            wrong.append(f"the queue: {self.cluster.get(f'{KUEUE}/clusterqueues/main')['status']}")
        return wrong

    # ---- what it takes ----

    def take_usage(self):
        """Of the process that runs now; to be called before it is killed."""
        words = pathlib.Path(f"/proc/{self.sluice.process.pid}/stat").read_text().rpartition(")")[2].split()
        self.cpu += sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")
        self.rss = max(self.rss, self.sluice.rss_mb("VmHWM"))

    def counted(self):
        """The writes that the API server has taken so far, by resource, and those that it refused."""
        good, bad = collections.Counter(), collections.Counter()
        for labels, value in SAMPLE.findall(self.cluster.request("GET", "/metrics", timeout=60)):
            of = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if of["verb"] in WRITES and of["resource"] not in BESIDE:
                (good if of["code"].startswith("2") else bad)[of["resource"]] += int(float(value))
        return good, bad


def plural(counts):
    return ", ".join(f"{n} {what or 'others'}" for what, n in sorted(counts.items()) if n) or "none"
