# SPDX-License-Identifier: Apache-2.0
"""Random histories of writes from several clients, with kill -9 between: nothing that was acknowledged is lost.

    SL_HISTORIES=1000 tests/e2e/run up/test_crashes.py  # 25 without it
    SL_SEED=17 SL_HISTORIES=1                           # the first seed; each history is one

In each history three clients create, change and delete objects of their own, and a fourth watches, until the server is
killed at a moment of the seed's choice. Then it starts again on the same file, and

- each object is what its client was last told, or what the request without an answer would have made it;
- versions went on from where they were: none is given twice, or goes back, also of what was deleted;
- the watcher heard nothing that is not so, takes up its stream where it was cut, and what it heard in all is the list.
"""

import http.client
import json
import os
import random
import threading
import time

import pytest

from kube import Failure
from sluice import say
from up import Up

COUNT = int(os.environ.get("SL_HISTORIES") or 25)
SEED = int(os.environ.get("SL_SEED") or 1)
CLIENTS = 3
MAPS = "/api/v1/namespaces/default/configmaps"
LABEL = "tests.sluice/mine=yes"
MERGE = "application/merge-patch+json"
TIME_LIMIT = 300
server = None
broken = (OSError, http.client.HTTPException, ValueError)
highest = 0  # of all versions that anybody was told
acknowledged = 0


class Api:
    def __init__(self, timeout=60):
        self.connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=timeout, context=server.tls)

    def ask(self, method, path, body=None, type="application/json"):
        self.connection.request(
            method,
            path,
            None if body is None else json.dumps(body),
            {"Content-Type": type, "Accept": "application/json", **server.headers},
        )
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


def version(o):
    return int(o["metadata"]["resourceVersion"])


class Writer(threading.Thread):
    """A client with a few objects.

    'known' is what it was told of each: (version, number), or None if it is gone; 'perhaps' is what the request without
    an answer would have made of one: (name, number or None)."""

    def __init__(self, seed, number, known):
        super().__init__(daemon=True)
        self.rng, self.number, self.known, self.perhaps, self.fault, self.count = (
            random.Random(seed * 10 + number),
            number,
            known,
            None,
            None,
            0,
        )

    def run(self):
        try:
            api = Api()
            while True:
                self.once(api)
        except broken:
            pass
        except Exception as error:
            self.fault = repr(error)

    def once(self, api):
        global highest
        rng, name = self.rng, f"m-{self.number}-{self.rng.randint(0, 4)}"
        now, value = self.known.get(name), rng.randint(1, 10**9)
        body = {
            "metadata": {"name": name, "labels": {"tests.sluice/mine": "yes"}},
            "data": {"n": str(value), "pad": "x" * rng.randint(0, 3000)},
        }
        if now is None:
            self.perhaps = name, value
            status, o = api.ask("POST", MAPS, body)
        elif rng.random() < 0.25:
            self.perhaps = name, None
            status, o = api.ask("DELETE", f"{MAPS}/{name}")
        elif rng.random() < 0.5:
            self.perhaps = name, value
            status, o = api.ask("PATCH", f"{MAPS}/{name}", {"data": {"n": str(value)}}, MERGE)
        else:
            self.perhaps = name, value
            body["metadata"]["resourceVersion"] = str(now[0])
            status, o = api.ask("PUT", f"{MAPS}/{name}", body)
        if status not in (200, 201):
            raise AssertionError(f"{name}: {status} {o}")
        if self.perhaps[1] is None:
            self.known[name] = None
        else:
            assert version(o) > (now[0] if now else 0), f"{name}: {version(o)} after {now}"
            self.known[name] = version(o), int(o["data"]["n"])
            highest = max(highest, version(o))
        self.perhaps = None
        self.count += 1


class Watcher(threading.Thread):
    """Follows from where it was."""

    def __init__(self, state, since):
        super().__init__(daemon=True)
        self.state, self.since, self.fault = state, since, None

    def run(self):
        global highest
        try:
            api = Api()
            api.connection.request(
                "GET",
                f"{MAPS}?watch=true&allowWatchBookmarks=true&labelSelector={LABEL}&resourceVersion={self.since}",
                headers={"Accept": "application/json", **server.headers},
            )
            for line in api.connection.getresponse():
                event = json.loads(line)
                o = event["object"]
                if event["type"] == "ERROR":
                    self.fault = f"ERROR {o}"
                    return
                at = version(o)
                if at <= self.since and event["type"] != "BOOKMARK" or at < self.since:
                    self.fault = f"{event['type']} {at} after {self.since}"
                self.since = at
                highest = max(highest, at)
                if event["type"] == "DELETED":
                    self.state.pop(o["metadata"]["name"], None)
                elif event["type"] != "BOOKMARK":
                    self.state[o["metadata"]["name"]] = at, int(o["data"]["n"])
        except broken:
            pass


def listed(api):
    status, found = api.ask("GET", f"{MAPS}?labelSelector={LABEL}")
    assert status == 200, found
    return int(found["metadata"]["resourceVersion"]), {
        o["metadata"]["name"]: (version(o), int(o["data"]["n"])) for o in found["items"]
    }


def history(seed, known):
    global acknowledged
    rng = random.Random(seed)
    at, state = listed(Api())
    watcher = Watcher(state, at)
    watcher.start()
    writers = [Writer(seed, i, known[i]) for i in range(CLIENTS)]
    for w in writers:
        w.start()
    time.sleep(rng.uniform(0.02, 0.4))
    server.kill9()
    for t in [*writers, watcher]:
        t.join(60)
        assert not t.is_alive(), "a client hangs on the connection of a server that is gone"
        assert not t.fault, t.fault
    told = highest
    server.start()
    api = Api()
    at, now = listed(api)
    assert at >= told, f"the list says version {at}; {told} had been told before"
    for w in writers:
        acknowledged += w.count
        names = set(w.known) | ({w.perhaps[0]} if w.perhaps else set())
        for name in names:
            want, is_ = w.known.get(name), now.get(name)
            if is_ == want:
                continue
            if w.perhaps and w.perhaps[0] == name and (is_[1] if is_ else None) == w.perhaps[1]:
                w.known[name] = is_
                continue
            raise AssertionError(f"{name} is {is_}; its client was told {want}, and had asked for {w.perhaps}")
    for name, heard in state.items():
        if name not in now:  # a deletion that the watcher was not told of in time
            continue
        assert now[name][0] >= heard[0], f"{name} is {now[name]}, and the watcher had heard of {heard}"
    # The stream goes on where it was cut.
    again = Watcher(state, watcher.since)
    again.start()
    status, made = api.ask(
        "POST", MAPS, {"metadata": {"name": f"last-{seed}", "labels": {"tests.sluice/mine": "yes"}}, "data": {"n": "1"}}
    )
    assert status == 201 and version(made) > told, f"{made}: {told} had been told before"
    end = time.monotonic() + 60
    while state != (want := listed(api)[1]) and not again.fault and time.monotonic() < end:
        time.sleep(0.01)
    assert not again.fault, again.fault
    assert state == want, f"heard {state}, listed {want}"
    status, _ = api.ask("DELETE", f"{MAPS}/last-{seed}")
    assert status == 200, status


@pytest.fixture(scope="module", autouse=True)
def alone():
    """Our server alone."""
    global server
    with Up(controllers=False) as server:
        yield


def test_crashes():
    """nothing acknowledged is lost, streams equal lists, versions never go back"""
    known = [{} for _ in range(CLIENTS)]
    kills = 0
    while (
        kills < COUNT or acknowledged <= 5 * COUNT and kills < 10 * COUNT
    ):  # a slow machine gets to fewer writes between two
        try:
            history(SEED + kills, known)
        except AssertionError as error:
            raise Failure(f"seed {SEED + kills}: {error}") from error
        kills += 1
    say(f"# {kills} kills; {acknowledged} writes were acknowledged, and every stream went on")
    assert acknowledged > 5 * COUNT, acknowledged


def logs():
    return server.log(15)
