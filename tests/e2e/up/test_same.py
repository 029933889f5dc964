# SPDX-License-Identifier: Apache-2.0
"""The same random requests to a real kube-apiserver and to ours: the same codes, reasons, objects and watch events.

    SL_HISTORIES=500 tests/e2e/run up/test_same.py  # 40 without it
    SL_SEED=17 SL_HISTORIES=1                       # the first seed; each history is one
    SL_SHOW=1                                       # all steps with their answers
    SL_RULES=pods                                   # only these rules are asked for
    SL_PAIRS=2000                                   # so many pairs of faults in one object, for each kind; or 150
    SL_TOLD=100                                     # so many differences, and not only the first few

What differs and is meant to is in docs/up.md, in one table, which MEANT below repeats as code. uids, times and versions
are each server's own.
"""

import concurrent.futures
import difflib
import http.client
import itertools
import json
import os
import threading

import pytest

from asked import APPLY, JSON, History, Memory, Rules
from kube import Cluster, until
from objects import KINDS, WIDGETS
from sluice import say
from up import Up

COUNT = int(os.environ.get("SL_HISTORIES") or 40)
SEED = int(os.environ.get("SL_SEED") or 1)
SHOW = bool(os.environ.get("SL_SHOW"))
ONLY = os.environ.get("SL_RULES") or ""
PAIRS = int(os.environ.get("SL_PAIRS") or 150)
THREADS = 12
TOLD = int(os.environ.get("SL_TOLD") or 6)  # differences that are shown
TIME_LIMIT = 300
# Nobody counts, nobody lets go of a claim, and nobody takes away the taint of a new node: see the table.
LEFT_OUT = "--disable-admission-plugins=ResourceQuota,StorageObjectInUseProtection,TaintNodesByCondition"
real = ours = None
histories = [History(SEED + i) for i in range(COUNT)]
marks = itertools.count(1)
marking = threading.Lock()


def of_its_own(o):
    """kube-apiserver looks after addresses every three minutes, and says so in Events that nobody asked for."""
    return "ipallocator-repair-controller" in (o.get("reportingComponent"), o.get("reportingController"))


class Client:
    """One connection to a server, and what it said."""

    def __init__(self, server):
        self.server, self.memory = server, Memory()
        self.connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=server.tls)

    def ask(self, method, path, body=None, type=JSON, accept=JSON):
        headers = {"Accept": accept, "User-Agent": "tests/1", **self.server.headers}
        if body is not None:
            headers["Content-Type"] = type
        self.connection.request(method, path, body if body is None else body.encode(), headers)
        answer = self.connection.getresponse()
        text = answer.read().decode(errors="replace")
        if "chunked" in (answer.getheader("Connection") or "") or answer.getheader("Connection") == "close":
            self.connection.close()
        warnings = [w for w in answer.headers.get_all("Warning") or [] if "sluice up ignores" not in w]
        return answer.status, answer.getheader("Content-Type") or "", sorted(warnings), text

    def step(self, step):
        """What a step is answered with, in comparable form."""
        self.memory.unmanaged = "/events" in step.path  # fields of events are kept in the form of core/v1
        status, type, warnings, text = self.ask(
            step.method, self.memory.fill(step.path), step.body and self.memory.fill(step.body), step.type, step.accept
        )
        try:
            said = json.loads(text)
        except ValueError:
            said = text
        if step.method != "DELETE":
            self.memory.note(step.path, said)
        if "/limitranges" in step.path and step.method != "GET" and self.server is real:
            self.limits_count()
        return {"code": status, "type": type.split(";")[0], "warnings": warnings, "body": self.memory.plain(said)}

    def limits_count(self):
        """Until the limit ranges that are stored count: kube-apiserver looks at what it was told of them.

        It is told in the order in which they were written, so a last one is written elsewhere, and a pod shows when
        that is known."""
        with marking:
            mark = next(marks)
            status, _, _, text = self.ask(
                "PATCH",
                "/api/v1/namespaces/marks/limitranges/mark?fieldManager=tests&force=true",
                json.dumps(
                    {
                        "apiVersion": "v1",
                        "kind": "LimitRange",
                        "metadata": {"name": "mark"},
                        "spec": {
                            "limits": [
                                {"type": "Container", "defaultRequest": {"cpu": f"{mark}m"}, "default": {"cpu": "9"}}
                            ]
                        },
                    }
                ),
                APPLY,
            )
        assert status < 300, text
        pod = json.dumps({"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "main", "image": "none"}]}})

        def known():
            status, _, _, text = self.ask("POST", "/api/v1/namespaces/marks/pods?dryRun=All", pod)
            assert status == 201, text
            said = json.loads(text)["spec"]["containers"][0]["resources"].get("requests", {}).get("cpu", "0m")
            return millis(said) >= mark

        until(known, what="limit ranges that count")

    def follow(self, path, version, seconds):
        """Events since a version, as they come within so many seconds."""
        *_, text = self.ask("GET", f"{path}?watch=true&resourceVersion={version}&timeoutSeconds={seconds}")
        self.memory.unmanaged = path.endswith("/events")
        events, last = [], {}
        for event in (self.memory.plain(json.loads(line)) for line in text.splitlines()):
            if of_its_own(event["object"]):
                continue
            name = event["object"].get("metadata", {}).get("name")
            if (
                event["type"] != "MODIFIED" or last.get(name) != event["object"]
            ):  # kube-apiserver writes a claim that did not change
                events.append(event)
            last[name] = event["object"]
        return events


def millis(cpu):
    return int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)


def lines(answer):
    return json.dumps(answer, indent=1, sort_keys=True).splitlines()


def compare(history):
    """The differences in a history, in words. It goes on after one if both servers did, or both did not, as asked."""
    clients = [Client(real), Client(ours)]
    begun = []
    for c in clients:
        status, _, _, text = c.ask("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": history.ns}}))
        assert status == 201, text
        begun.append(
            {k: json.loads(c.ask("GET", history.at(k))[3])["metadata"]["resourceVersion"] for k in history.kinds}
        )
    done, found = [], []

    def differ(what, answers):
        text = "\n".join(
            f"    {line}"
            for line in difflib.unified_diff(*map(lines, answers), "kube-apiserver", "sluice", "", "", 2, "")
        )
        found.append(
            f"--- seed {history.seed}: {what}\n{text}\n  before it:\n" + "\n".join(f"    {d}" for d in done[-3:])
        )

    for step in history.steps:
        answers = [c.step(step) for c in clients]
        done.append(f"{step} -> {answers[0]['code']}")
        if SHOW:
            say(f"# {done[-1]}\n{json.dumps(answers[0]['body'])[:600]}")
        if answers[0] != answers[1]:
            differ(str(step), answers)
            for c in clients:
                c.memory.uids.clear()  # one may have made what the other did not
            if (answers[0]["code"] < 300) != (answers[1]["code"] < 300) and "dryRun=All" not in step.path:
                return found
    for kind in history.kinds if not found else ():
        for seconds in 1, 5, 20:  # a busy server may not have told all after the first
            events = [c.follow(history.at(kind), version[kind], seconds) for c, version in zip(clients, begun)]
            if events[0] == events[1]:
                break
        else:
            differ(f"the events of {kind}", events)
    return found


@pytest.fixture(scope="module", autouse=True)
def both():
    """A real API server, and ours."""
    global real, ours
    with Cluster(only="api", apiserver_flags=[LEFT_OUT]) as real, Up(controllers=False) as ours:
        make_kinds()
        yield


def make_kinds():
    for server in real, ours:
        c = Client(server)
        status, _, _, text = c.ask(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(WIDGETS)
        )
        assert status == 201, text
        until(lambda: c.ask("GET", KINDS["widgets"][0].format(ns="default"))[0] == 200, what="the users' own kind")
    real.kubectl("create", "namespace", "marks")


def test_same():
    """the same answers to the same requests"""
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(compare, histories))
    asked, differ = sum(len(h.steps) for h in histories), sum(map(bool, found))
    say(f"# {COUNT} histories, {asked} requests to each; {sum(map(len, found))} answers differ, in {differ} histories")
    told = [text for texts in found for text in texts]
    assert not told, "\n".join(told[:TOLD])


def test_rules():
    """each rule that an object can break, asked for once"""
    rules = [r for r in Rules.all(SEED, PAIRS) if ONLY in r.seed]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(compare, rules))
    say(f"# {sum(len(r.steps) for r in rules)} requests to each; {sum(map(len, found))} answers differ")
    told = [text for texts in found for text in texts]
    assert not told, "\n".join(told[:TOLD])


def logs():
    return ours.log(15)
