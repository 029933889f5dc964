# SPDX-License-Identifier: Apache-2.0
"""The ledger of the queue on the resource graph in a real PostgreSQL server: what the seeds ask of it, and what is left
of it when the server and Sluice are killed. SL_LEDGER_JOBS: so many jobs then."""

import calendar
import os
import threading
import time

import pytest

from kube import Failure, until
from postgres import Postgres
from sluice import Sluice, Watch, at_once, say
from test_fluxqueue import FLUXJOBS, PODS, Bed, pod

JOBS = int(os.environ.get("SL_LEDGER_JOBS", "200"))
TIME_LIMIT = 400 + JOBS // 2
PATIENCE = 180 + JOBS // 5
KILLS = 3  # of each
AWAY = 2  # seconds
sluice = None


@pytest.fixture(scope="module")
def server():
    with Postgres() as server:
        yield server


@pytest.fixture(scope="module")
def bed(node_cluster, server, tmp_path_factory):
    global sluice
    node_cluster.add_nodes(4, cpu="8")
    os.environ["STATE_DIRECTORY"] = str(tmp_path_factory.mktemp("state"))
    with Sluice(node_cluster, flags=[f"--ledger={server.url}"]) as sluice:
        node_cluster.kubectl("label", "namespace", "default", "fluxqueue/managed=true", "--overwrite")
        yield Bed("serve", node_cluster, sluice)
        node_cluster.kubectl("label", "namespace", "default", "fluxqueue/managed-")
    del os.environ["STATE_DIRECTORY"]


QUESTION = "SELECT group_name, group_size from pods_provisional;"  # of the seeds


def test_questions(bed, server):
    """the tables that the seeds look at, while jobs run and wait and after they have ended"""
    for i in range(5):
        bed.api.request("POST", PODS, pod(f"run-{i}", cpu="6", sleep="600", duration=3600))
    until(lambda: server.query("SELECT count(*) FROM jobs WHERE started IS NOT NULL") == [["4"]], PATIENCE, "starts")
    until(lambda: len(server.query("SELECT name FROM reservations")) == 1, PATIENCE, "one that waits")
    (shown,) = (j for j in bed.api.get(FLUXJOBS)["items"] if j["status"]["state"] != "Running")
    name = shown["spec"]["name"]
    waiting = server.query(
        "SELECT namespace, flux_job_name, name, type, reservation, duration, size, queue FROM pending_queue"
    )
    say(f"# pending_queue: {waiting}")
    assert waiting == [["default", f"{name}-pod", name, "Pod", "1", "3600", "1", "default"]]
    assert server.query("SELECT name, flux_id FROM reservations") == [[name, str(shown["status"]["jobid"])]]
    assert server.query(QUESTION) == [[name, "1"]]
    tables = [row[1] for row in server.query("\\dt")]
    assert {"events", "job_state", "sluice_schema"} <= set(tables), tables
    # a group that waits for a member
    gang = pod("gang-0", group_size=2)
    gang["metadata"]["labels"] = {"fluxqueue/group-name": "gang"}
    bed.api.request("POST", PODS, gang)
    until(lambda: sorted(server.query(QUESTION)) == [["gang", "2"], [name, "1"]], PATIENCE, "the group")
    assert server.query("SELECT name FROM pending_queue") == [[name]]
    bed.api.request("DELETE", f"{PODS}/gang-0")
    until(lambda: server.query(QUESTION) == [[name, "1"]], PATIENCE, "the end of the group")
    for i in range(5):
        bed.api.request("DELETE", f"{PODS}/run-{i}")
    bed.none_left()
    until(lambda: server.query("SELECT count(*) FROM jobs WHERE ended IS NULL") == [["0"]], PATIENCE, "ends")
    assert server.query(QUESTION) == []
    # one pod each: the time that they ran is that of their pods
    used = server.query("SELECT name, run_seconds - pod_seconds FROM jobs WHERE started IS NOT NULL")
    assert len(used) >= 4 and all(abs(float(row[1])) < 0.001 for row in used), used


# ---- what the API server has seen ----


def seconds(stamp):
    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")) if stamp else None


WAITS = {"Pending", "Waiting", "Reserved"}


class Seen(Watch):
    """Follows FluxJobs: of each uid the times and places that its status has ever shown, in their order, and for when
    it was promised a start; 0: it was not any more."""

    def __init__(self, cluster):
        super().__init__(cluster, "default")
        self.path = FLUXJOBS
        self.jobs = {}  # uid: {field: values}
        self.ended = set()  # names

    def _note(self, thing):
        meta, status = thing["metadata"], thing.get("status", {})
        job = self.jobs.setdefault(meta["uid"], {"name": thing["spec"]["name"], "gone": False, "promised": [0]})
        promised = seconds(status.get("estimatedStart")) if status.get("reservation") else 0
        if status.get("state") in WAITS and promised != job["promised"][-1]:
            job["promised"].append(promised)
        for field in ("jobid", "submittedAt", "startedAt", "finishedAt", "nodeList"):
            seen = job.setdefault(field, [])
            if status.get(field) and status[field] not in seen:
                seen.append(status[field])
        if status.get("state") in ("Completed", "Failed"):
            self.ended.add(job["name"])

    def _gone(self, thing):
        self._note(thing)
        self.jobs[thing["metadata"]["uid"]]["gone"] = True


def recorded(server):
    """uid: its events in the order of the ledger."""
    found = {}
    for uid, *event in server.query(
        "SELECT uid, kind, time_ns / 1000000000, coalesce(jobid, 0), coalesce(nodes, ''), number,"
        " coalesce(estimated_start_ns / 1000000000, 0) FROM events"
        " WHERE flux_job_name LIKE 'many-%' OR name LIKE 'many-%' ORDER BY id"
    ):
        kind, at, jobid, nodes, number, start = event
        found.setdefault(uid, []).append((kind, int(at), int(jobid), nodes, number, int(start)))
    return found


LAST = {"end", "cancel"}
STATES = {**dict.fromkeys(WAITS, "pending"), "Running": "running", "Completed": "ended", "Failed": "ended"}


def as_shown(bed):
    """uid: the state of its job now, and the second of its reservation."""
    found = {}
    for job in bed.api.get(FLUXJOBS)["items"]:
        status = job.get("status", {})
        promised = str(seconds(status["estimatedStart"])) if status.get("reservation") else ""
        found[job["metadata"]["uid"]] = (STATES.get(status.get("state")), promised)
    return found


def as_recorded(server):
    """The same of those that are there, as the ledger has it."""
    rows = server.query(
        "SELECT uid, state, CASE WHEN reservation = 1 THEN estimated_start_ns / 1000000000 END FROM job_state"
        " WHERE name LIKE 'many-%' AND state <> 'cancelled'"
    )
    return {uid: (state, promised) for uid, state, promised in rows}


def is_part(few, many):
    """Are these, in their order, some of those?"""
    rest = iter(many)
    return all(x in rest for x in few)


def differences(seen, ledger):
    """What the ledger has otherwise than the API server, as texts."""
    wrong = [f"{uid}: not in the API" for uid in ledger.keys() - seen.keys()]
    for uid, job in seen.items():
        events = ledger.get(uid, [])
        by = {}
        for kind, *rest in events:
            by.setdefault(kind, []).append(rest)
        name = f"{job['name']} ({[e[0] for e in events]}, {job})"
        if not job["submittedAt"]:  # deleted before anybody queued it
            wrong += [f"{name}: recorded, and never submitted"] if events else []
            continue
        order = [e[0] for e in events if e[0] in {"submit", "start"} | LAST]
        expected = ["submit"] + ["start"] * bool(job["startedAt"]) + ["end" if "end" in by else "cancel"]
        if order != expected:
            wrong.append(f"{name}: expected {expected}")
            continue
        for kind, field in (("submit", "submittedAt"), ("start", "startedAt"), (order[-1], "finishedAt")):
            times = [seconds(stamp) for stamp in job[field]]
            if times and [e[0] for e in by.get(kind, [])] != times:
                wrong.append(f"{name}: {kind} at {by.get(kind)}, expected {times}")
        if any(e[1] != job["jobid"][0] for kind in order for e in by[kind]) or len(job["jobid"]) != 1:
            wrong.append(f"{name}: another job id")
        # Statuses that follow each other closely may be recorded as the last of them.
        promised = [0] + [e[5] if e[0] == "reserve" else 0 for e in events if e[0] in ("reserve", "unreserve")]
        if not is_part(promised, job["promised"]) or any(a == b for a, b in zip(promised, promised[1:])):
            wrong.append(f"{name}: promised {promised}")
        # One that was deleted before its start could be shown has none.
        if job["startedAt"] and [e[2] for e in by["start"] if e[2]] != job["nodeList"]:
            wrong.append(f"{name}: started on {by['start']}")
        if order[-1] == "end" and [e[2] for e in by.get("pod_bind", [])] != job["nodeList"]:
            wrong.append(f"{name}: bound to {by.get('pod_bind')}")
    return wrong


# ---- kills ----


EVERY = 20


def is_large(i):
    return i % EVERY == 7


def delete(api, i):
    api.patiently("DELETE", f"{PODS}/many-{i:04}", seconds=PATIENCE)


def create(api, i):
    """Small ones end by themselves. A large one is deleted with the fifth after it: the last of these has to wait."""
    large = is_large(i)
    if large and i >= 5 * EVERY:
        delete(api, i - 5 * EVERY)
    size = {"cpu": "7", "sleep": "600", "duration": 600} if large else {"cpu": "100m", "sleep": "1", "duration": 20}
    api.patiently("POST", PODS, pod(f"many-{i:04}", **size), seconds=PATIENCE)


def kill(bed, server, seen):
    """Each of them several times while jobs end, in turn and at the same moment."""
    small = sum(not is_large(i) for i in range(JOBS))
    for i in range(KILLS):
        done = small * (i + 1) // (KILLS + 2)
        try:
            until(lambda at=done: len(seen.ended) >= at, PATIENCE, f"the end of {done} jobs")
        except Failure as reason:
            states = [j.get("status", {}).get("state") for j in bed.api.get(FLUXJOBS)["items"]]
            raise Failure(f"{reason}; states: { {s: states.count(s) for s in states} }") from None
        say(f"# after {len(seen.ended)} jobs: kill -9 of {['the server', 'Sluice', 'both'][i % 3]}")
        if i % 3 != 1:
            server.kill9()
        if i % 3 != 0:
            bed.sluice.kill9()
            bed.sluice.start()
        if i % 3 != 1:
            time.sleep(AWAY)
            if i % 3 == 0:  # and while it is away
                bed.sluice.kill9()
                bed.sluice.start()
            server.start()


def test_killed(bed, server):
    """both are killed in the middle of many jobs: each submission, start, end and cancellation is there once"""
    began = time.monotonic()
    with Seen(bed.api) as seen:
        until(lambda: seen.lists, PATIENCE, "the watch")
        creators = threading.Thread(target=at_once, args=(bed.api, range(JOBS), create, 4), daemon=True)
        creators.start()
        kill(bed, server, seen)
        creators.join(PATIENCE)
        assert not creators.is_alive()
        small = sum(not is_large(i) for i in range(JOBS))
        until(lambda: len(seen.ended) >= small, PATIENCE, "all jobs to end")
        # the last large ones run, but for one that waits
        until(lambda: as_shown(bed) == as_recorded(server), 60, "the ledger to be as the FluxJobs are")
        states = [state for state, _ in as_shown(bed).values()]
        assert states.count("running") == 4 and states.count("pending") == 1, states
        assert any(promised for _, promised in as_shown(bed).values())
        at_once(bed.api, [i for i in range(max(0, JOBS - 5 * EVERY), JOBS) if is_large(i)], delete, 1)
        until(
            lambda: all(j["gone"] for j in list(seen.jobs.values()) if is_large(int(j["name"][5:]))),
            PATIENCE,
            "what was deleted to be gone",
        )
        caught_up = time.monotonic()
        until(lambda: not differences(seen.jobs, recorded(server)) or time.monotonic() > caught_up + 60, 90, "it")
        wrong = differences(seen.jobs, recorded(server))
        assert not wrong, f"{len(wrong)}: " + "; ".join(wrong[:3])
        ledger = recorded(server)
        say(
            f"# {len(seen.jobs)} FluxJobs, {sum(map(len, ledger.values()))} events in {time.monotonic() - began:.0f} s,"
            f" {time.monotonic() - caught_up:.1f} s after the last end; Sluice {bed.sluice.rss_mb('VmHWM'):.0f} MB"
        )
        assert small <= len(seen.jobs) <= JOBS and len(ledger) <= len(seen.jobs)
        cancelled = sum(events[-1][0] == "cancel" for events in ledger.values())
        say(f"# {cancelled} of them cancelled")
        assert cancelled > 0
        # that they are removed is not news
        at_once(bed.api, [i for i in range(JOBS) if not is_large(i)], delete, 4)
        until(lambda: not bed.api.get(f"{FLUXJOBS}?limit=1")["items"], PATIENCE, "no FluxJob to be left")
        bed.sluice.kill9()  # also not if it is killed before it could be
        bed.sluice.start()
        time.sleep(1)
        assert recorded(server) == ledger
    bed.none_left()
