# SPDX-License-Identifier: Apache-2.0
"""Backfilling for real: jobs of a trace on 64 nodes of a control plane, under each policy, beside `sluice sim`.

    SL_BACKFILL=2000 tests/e2e/run kube/test_backfill.py  # the whole trace (make bench-backfill): an hour; or 60 jobs
    tests/e2e/run kube/test_backfill.py -k easy           # one policy

The trace is examples/trace/sample.swf, made shorter: SPEED seconds of it are one, nothing is shorter than SHORTEST, and
arrivals are as far apart as the load asks for. That is more than there are nodes for, so that jobs wait all the time.
A job of the trace is a Job whose pods take a node each. It requests its run time (`fluxqueue/duration`) with SLACK for
what that does not count: the second that has begun when a job starts, because the queues count in whole ones, and the
news of its start and its end. The requested times of the trace are not used: with these a tenth of a second more for
each job moves the mean wait by a tenth, so that no two runs agree.

The run time is counted from the start that the API shows, whenever the pods of a Job come to be bound and to run: here
is the kubelet that ends them. It does so COUNTED before the time is over, because the Job controller counts pods that
have ended a second later, and only then the job gives its nodes back. What a control plane adds to a job, or takes from
it, is the news of its start and of its end. What a job had its nodes for, with that, is written down as a trace, in
hundredths of a second, and `sluice sim` decides on it when each starts, with the queues in steps of a second, as they
count here: utilisation and mean wait of the two agree within TOLERANCE. (Without these steps fewer jobs fit before a
reservation, and the mean wait is some per cent longer.) The same trace as it was meant is simulated, too.

Backfilling is chaotic: where one job ends a moment later, another does not fit before a reservation, and from then on
everything is in another order. Moved by SHAKE, which is less than anybody can know of these times, the same trace
has a mean wait that differs by some hundredths from one simulation to the next under easy and conservative. So it is
simulated SHAKEN times, and the live run is to be within TOLERANCE of what the simulator says, from least to most.

What was promised is what the API showed as the estimated start (the ledger has all of them). A job that starts later
than that, in whole seconds, was delayed. It has an event StartDelayed; and the reason must be a job that had not ended
when its requested time was over: under conservative at any time since the promise, since the reservations behind one
that cannot be kept are made again. In the simulation no job overruns, so nobody may be late there.
"""

import collections
import concurrent.futures
import dataclasses
import heapq
import http.client
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import tempfile
import threading
import time

import pytest

import kube
from kube import Failure, Unavailable
from sluice import ROOT, Api, Sluice, program, say

COUNT = int(os.environ.get("SL_BACKFILL") or 60)
FULL = COUNT >= 2000
SPEED = int(os.environ.get("SL_BACKFILL_SPEED") or 720)  # an hour is five seconds
SLOWER = max(1, 720 / SPEED)
NODES, PROCESSORS = 64, 8  # as the trace has them
LOAD = 1.2
SHORTEST, SLACK = round(2 * SLOWER), round(4 * SLOWER)  # seconds
COUNTED = 1.1  # seconds
TOLERANCE = 0.05
UNIT = 100  # of the trace that is simulated, in a second
SHAKE, SHAKEN = 0.02, 16  # seconds, simulations
MAX_OVERRUN = 0.01  # of the jobs: with more the queues decide on times that the simulator does not know
SMALL_WAIT = 0.5 * SLOWER  # seconds, that the mean wait of a few jobs may differ by
DEPTH = 2000  # all that wait are considered
CONNECTIONS = 8
PROGRESS = 30  # seconds
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
FLUXJOBS = "/apis/jobs.converged-computing.org/v1alpha1/namespaces/default/fluxjobs"
LEAST_TIME = 200
TIME_LIMIT = (4800 if FULL else 500) * SLOWER

cluster = sluice = None


def report(name, value, unit, **more):
    say(json.dumps({"name": f"backfill/{name}", "value": round(value, 4), "unit": unit, "jobs": COUNT, **more}))


# ---- the trace ----


@dataclasses.dataclass
class Job:
    name: str
    submit: float
    run: float
    limit: int
    nodes: int
    # What became of it, by the wall clock.
    submitted: float = 0
    started: float = 0
    ended: float = 0
    held: float = 0  # seconds that it had a node for, on average: its pods are not all counted at once
    promises: list = dataclasses.field(default_factory=list)  # (when it was made, start)
    pods: dict = dataclasses.field(default_factory=dict)  # name: whether it was ended
    state: str = ""
    released: float = 0  # when the API first showed that it does not run any more

    @property
    def planned_end(self):
        """As the queues count: in whole seconds."""
        return int(self.started) + self.limit


def read_trace():
    jobs = []
    for line in (ROOT / "examples/trace/sample.swf").read_text().splitlines():
        if line.startswith(";") or len(jobs) == COUNT:
            continue
        number, submit, _, run, _, _, _, processors, limit = map(int, line.split()[:9])
        run = max(SHORTEST, round(min(run, limit) / SPEED))
        jobs.append(Job(f"job-{number}", submit, run, run + SLACK, max(1, round(processors / PROCESSORS))))
    work = sum(j.run * j.nodes for j in jobs)
    stretch = work / (NODES * LOAD) / (jobs[-1].submit - jobs[0].submit)
    for j in jobs:
        j.submit = round((j.submit - jobs[0].submit) * stretch, 2)
    return jobs


def simulate(jobs, policy):
    """What `sluice sim` says of jobs with these times; all in seconds."""
    first = min(j.submit for j in jobs)
    lines = [f"; SPDX-License-Identifier: Apache-2.0\n; MaxNodes: {NODES}\n; MaxProcs: {NODES}\n"]
    for j in sorted(jobs, key=lambda j: j.submit):
        number = j.name.removeprefix("job-")
        submit, run, limit = (round(t * UNIT) for t in (j.submit - first, j.run, max(j.run, j.limit)))
        lines.append(f"{number} {submit} -1 {run} {j.nodes} -1 -1 {j.nodes} {limit} -1 1 1 1 -1 1 1 -1 -1\n")
    with tempfile.TemporaryDirectory(prefix="sluice-backfill-") as folder:
        path = f"{folder}/trace.swf"
        with open(path, "w") as file:
            file.writelines(lines)
        run = subprocess.run(
            [
                program(),
                "sim",
                "--json",
                "--one-queue",
                f"--policy={policy}",
                f"--depth={DEPTH}",
                f"--resolution={UNIT}",
                path,
            ],
            capture_output=True,
            text=True,
        )
    if run.returncode:
        raise Failure(f"sluice sim: {run.stderr}")
    found = json.loads(run.stdout)
    if found["killed"] or found["not_run"]:
        raise Failure(f"sluice sim left out jobs: {found}")
    (found,) = found["policies"]
    return {
        "utilisation": found["utilisation"],
        "mean_wait_s": found["mean_wait_s"] / UNIT,
        "makespan_s": found["makespan_s"] / UNIT,
        "backfilled": found["backfilled"],
        "late": found["late"],
    }


# ---- the live run ----


class Run:
    """The jobs on the control plane: submitted when it is time, watched, and ended when they have run long enough."""

    def __init__(self, jobs):
        self.jobs = {j.name: j for j in jobs}
        self.due, self.changed = [], threading.Condition()
        self.pool = concurrent.futures.ThreadPoolExecutor(CONNECTIONS)
        self.local = threading.local()
        self.over = False
        self.failure = None
        self.count = collections.Counter()
        version = cluster.get(f"{FLUXJOBS}?limit=1")["metadata"]["resourceVersion"]
        for what, path, query in (
            (self.on_fluxjob, FLUXJOBS, ""),
            (self.on_pod, PODS, "&fieldSelector=spec.nodeName!=,status.phase!=Succeeded"),
        ):
            threading.Thread(target=self.guard, args=(self.follow, what, path, query, version), daemon=True).start()
        threading.Thread(target=self.guard, args=(self.end_jobs,), daemon=True).start()

    def guard(self, work, *args):
        try:
            work(*args)
        except Exception as reason:  # the test is to fail and not to wait
            self.failure = self.failure or reason

    def api(self):
        if not hasattr(self.local, "api"):
            self.local.api = Api(cluster)
        return self.local.api

    def follow(self, note, path, query, version):
        while not self.over:
            connection = http.client.HTTPSConnection("127.0.0.1", cluster.port, timeout=600, context=cluster.tls)
            try:
                connection.request("GET", f"{path}?watch=1&resourceVersion={version}{query}")
                for line in connection.getresponse():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise Failure(f"{path}: {line}")
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] in ("ADDED", "MODIFIED"):
                        note(event["object"])
            except (OSError, http.client.HTTPException):
                pass  # it goes on where it was
            finally:
                connection.close()

    def on_fluxjob(self, thing):
        job, state = self.jobs[thing["spec"]["name"]], thing.get("status", {}).get("state", "")
        if state == job.state:
            return
        self.count[job.state] -= 1
        self.count[state] += 1
        was, job.state = job.state, state
        if was == "Running":
            job.released = job.released or time.time()
        if state == "Running" and was not in ("Running", "Completed"):
            with self.changed:
                heapq.heappush(self.due, (time.time() + job.run - COUNTED, job.name))
                self.changed.notify()

    def on_pod(self, thing):
        owner = thing["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name")
        if owner in self.jobs:
            self.jobs[owner].pods.setdefault(thing["metadata"]["name"], False)

    def end_jobs(self):
        while not self.over:
            with self.changed:
                while not self.over and (not self.due or self.due[0][0] > time.time()):
                    self.changed.wait(min(1, max(0, self.due[0][0] - time.time())) if self.due else 1)
                if self.over:
                    return
                job = self.jobs[heapq.heappop(self.due)[1]]
                pods = [p for p, ended in job.pods.items() if not ended]
                for p in pods:
                    job.pods[p] = True
                if len(job.pods) < job.nodes:  # some are late: they end when they are there
                    heapq.heappush(self.due, (time.time() + 0.02, job.name))
            for p in pods:
                self.pool.submit(self.guard, self.end_pod, p)

    def end_pod(self, pod):
        """As a kubelet says that it has ended."""
        self.api().patiently(
            "PATCH", f"{PODS}/{pod}/status", {"status": {"phase": "Succeeded"}}, "application/merge-patch+json"
        )

    def play(self):
        """Returns when all have ended."""
        api = Api(cluster)
        began = time.time() + 1
        told, late = began, 0.0
        limit = began + LEAST_TIME + 3 * max(j.submit + j.run for j in self.jobs.values())
        waiting = collections.deque(self.jobs.values())
        while self.count["Completed"] < len(self.jobs):
            now = time.time()
            if self.failure:
                raise self.failure
            if now > limit:
                raise Failure(f"not all have ended: {dict(self.count)}")
            if now - told > PROGRESS:
                told = now
                say(f"# {now - began:.0f} s: {len(waiting)} to come, {dict(+self.count)}")
            if not waiting or began + waiting[0].submit > now + 0.5:
                time.sleep(0.2)
                continue
            job = waiting.popleft()
            time.sleep(max(0, began + job.submit - now))
            late = max(late, time.time() - began - job.submit)
            api.patiently("POST", JOBS, manifest(job))
        self.over = True
        self.pool.shutdown()
        say(f"# all have ended after {time.time() - began:.0f} s; created {late:.2f} s late at most")


def manifest(job):
    main = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job.name, "annotations": {"fluxqueue/duration": str(job.limit)}},
        "spec": {
            "parallelism": job.nodes,
            "completions": job.nodes,
            "backoffLimit": 0,
            "template": {
                "metadata": {"annotations": {"tests.sluice/run-seconds": "infinity"}},
                "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [main]},
            },
        },
    }


def read_ledger(jobs, path):
    """When each was submitted, started and ended, and what it was promised."""
    by_name = {j.name: j for j in jobs}
    starts = collections.Counter()
    with sqlite3.connect(path) as ledger:
        rows = ledger.execute("SELECT name, kind, time_ns, estimated_start_ns FROM events ORDER BY time_ns, id")
        for name, kind, at, estimate in rows.fetchall():
            job = by_name.get(name)
            if kind == "submit":
                job.submitted = at / 1e9
            elif kind == "reserve":
                job.promises.append((at / 1e9, estimate // 10**9))
            elif kind == "start":
                job.started = at / 1e9
                starts[name] += 1
            elif kind == "end":
                # All of its pods may have been counted before the Job was said to be complete.
                job.ended = min(at / 1e9, job.released or at / 1e9)
        for name, seconds in ledger.execute("SELECT name, pod_seconds FROM jobs"):
            if name in by_name:
                by_name[name].held = seconds / by_name[name].nodes
    again = [name for name, n in starts.items() if n != 1]
    if again or len(starts) != len(jobs):
        raise Failure(f"{len(starts)} of {len(jobs)} jobs started; not once: {again}")


# ---- what it comes to ----


def measured(jobs):
    span = max(j.ended for j in jobs) - min(j.submitted for j in jobs)
    return {
        "utilisation": sum(j.nodes * j.held for j in jobs) / (NODES * span),
        "mean_wait_s": sum(j.started - j.submitted for j in jobs) / len(jobs),
        "makespan_s": span,
    }


def overrun(jobs, at):
    """Nodes that jobs have at this second though their requested time is over."""
    return sum(j.nodes for j in jobs if j.started < at + 1 and j.planned_end <= at < j.ended)


def delayed(jobs, policy):
    """Jobs that started later than promised, and how much; those that an overrun does not explain. Of several promises
    the best counts."""
    late, unexplained = {}, []
    for j in jobs:
        if not j.promises:
            continue
        best = min(start for _, start in j.promises)
        if int(j.started) <= best:
            continue
        late[j.name] = int(j.started) - best
        since = int(max(made for made, start in j.promises if start == best)) if policy == "conservative" else best
        if not any(overrun(jobs, at) for at in range(since, int(j.started) + 1)):
            unexplained.append(j.name)
    return late, unexplained


def told_of():
    """Jobs that have an event StartDelayed."""
    found = cluster.request("GET", f"{EVENTS}?fieldSelector=reason=StartDelayed", timeout=120)["items"]
    return {re.sub("-job$", "", e["involvedObject"]["name"]) for e in found}


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_policy(policy):
    """the jobs of the trace: as many nodes in use and as long a wait as simulated, and nobody later than promised"""
    global cluster, sluice
    jobs = read_trace()
    fast = ["--kube-api-qps=5000", "--kube-api-burst=10000", "--concurrent-job-syncs=16"]
    config = f"fluxqueue: {{queuePolicy: {policy}, queueDepth: {DEPTH}}}"
    with (
        kube.Cluster(nodes=NODES, cpu="1", controller_flags=fast) as cluster,
        tempfile.TemporaryDirectory(prefix="sluice-ledger-") as folder,
        Sluice(cluster, controllers="fluxqueue", config=config, flags=[f"--ledger={folder}/db"]) as sluice,
    ):
        cluster.kubectl("label", "namespace", "default", "fluxqueue/managed=true", "--overwrite")
        Run(jobs).play()
        told = told_of()
        sluice.stop()
        read_ledger(jobs, f"{folder}/db")
    compare(policy, jobs, told)


def as_it_was(jobs, seed=None):
    """The jobs with the times that they had. With a seed each time is moved, by less than it is known."""
    some = random.Random(seed)

    def move(seconds):
        return seconds if seed is None else max(0, seconds + some.uniform(-SHAKE, SHAKE))

    return [dataclasses.replace(j, submit=move(j.submitted), run=move(j.held)) for j in jobs]


def distance(value, least, most):
    """How far it is out of this range, as a part of what it is next to."""
    bound = min(max(value, least), most)
    return value / bound - 1 if bound else value


def compare(policy, jobs, told):
    live = measured(jobs)
    meant = simulate(jobs, policy)
    said = [simulate(as_it_was(jobs, seed), policy) for seed in (None, *range(SHAKEN))]
    simulated = said[0]
    added = sorted(j.held - j.run for j in jobs)
    say(f"# {policy}: live      {live}")
    say(f"# {policy}: simulated {simulated}")
    say(f"# {policy}: as meant  {meant}")
    say(f"# {policy}: added to a run time: median {added[len(added) // 2]:.3f} s, most {added[-1]:.3f} s")
    late, unexplained = delayed(jobs, policy)
    say(f"# {policy}: {sum(bool(j.promises) for j in jobs)} were promised a start, late: {late}, told: {len(told)}")
    apart = {}
    for key, unit in (("utilisation", "ratio"), ("mean_wait_s", "s")):
        values = sorted(s[key] for s in said)
        apart[key] = distance(live[key], values[0], values[-1])
        report(
            f"{policy}-{key}",
            live[key],
            unit,
            simulated=round(simulated[key], 4),
            apart=round(distance(live[key], simulated[key], simulated[key]), 4),
            least=round(values[0], 4),
            median=round(statistics.median(values), 4),
            most=round(values[-1], 4),
            beyond=round(apart[key], 4),
        )
    report(f"{policy}-late", len(late), "jobs", simulated=simulated["late"], unexplained=len(unexplained))
    over = [j.name for j in jobs if j.ended > j.planned_end]
    if len(over) > MAX_OVERRUN * len(jobs):
        raise Unavailable(f"too busy a machine: {len(over)} jobs had their nodes for longer than they requested")
    enough = SMALL_WAIT / max(simulated["mean_wait_s"], 1e-9) if not FULL else 0
    assert abs(apart["utilisation"]) <= TOLERANCE, "utilisation differs"
    assert abs(apart["mean_wait_s"]) <= max(TOLERANCE, enough), "mean wait differs"
    assert set(late) <= told, "a start was delayed, and nobody was told"
    assert not unexplained, f"a start was delayed for no reason: {unexplained}"
    assert not any(s["late"] for s in said), "a start was delayed in the simulation, where no job overruns"
