# SPDX-License-Identifier: Apache-2.0
"""`sluice up` refuses MasterQueues that break a rule, with path and reason, as a cluster with our webhook does (the
table is tests/e2e/kube/badrules.py), and shows them to kubectl.
"""

import http.client
import json

import pytest

from badrules import CREATE, GOOD, place, put, refused, whole
from up import Up

KIND = "MasterQueue"
TIME_LIMIT = 60
up = None


@pytest.fixture(scope="module", autouse=True)
def serving():
    global up
    with Up() as up:
        status, text, _ = send("POST", place(KIND), whole(KIND, "good", GOOD[KIND]))
        assert status == 201, text
        yield


def send(method, path, thing=None):
    """Status, text and warnings."""
    connection = http.client.HTTPSConnection("127.0.0.1", up.port, timeout=30, context=up.tls)
    try:
        head = {"Content-Type": "application/json", "Accept": "application/json", **up.headers}
        connection.request(method, path, thing and json.dumps(thing), head)
        answer = connection.getresponse()
        return answer.status, answer.read(), " ".join(answer.headers.get_all("Warning") or [])
    finally:
        connection.close()


def stored(name):
    status, text, _ = send("GET", f"{place(KIND)}/{name}")
    return json.loads(text) if status == 200 else None


def test_rules():
    """each rule is broken by one that is created, and by one that is updated; nothing is stored of either"""
    good, wrong = stored("good"), []
    for number, (change, path, words, *only) in enumerate(CREATE[KIND]):
        name = f"bad-{number}"
        asked = [("POST", place(KIND), put(whole(KIND, name, GOOD[KIND]), change))]
        asked += [] if only else [("PUT", f"{place(KIND)}/good", put(stored("good"), change))]
        for method, where, thing in asked:
            status, text, warnings = send(method, where, thing)
            if status == 409:  # its status was written meanwhile
                status, text, warnings = send(method, where, put(stored("good"), change))
            fault = refused(status, text, path, words)
            if not fault and (b"sesame" in text or "sesame" in warnings or stored(name)):
                fault = f"said {text} and {warnings}, or stored it"
            if fault:
                wrong.append(f"{method} {list(change)}: {fault}")
    assert stored("good")["spec"] == good["spec"]
    assert not wrong, "\n".join(wrong)


def test_defaults():
    """as kueue-nats' own definition has them: nested ones where the object around them is given"""
    spec = stored("good")["spec"]
    assert spec["template"] == {
        "cohort": "all",
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "None",
    }
    (group,) = spec["flavors"]
    assert group["natsFlavor"]["poolTimeout"] == 60
    assert group["nominalQuota"] == {"cpu": "1M", "memory": "1Ei", "pods": 100, "nvidia.com/gpu": 10000}


def test_kubectl():
    """columns and explanations"""
    head = up.kubectl("get", "mq").splitlines()[0].split()
    assert head == ["NAME", "POOLS", "LIVE", "QUEUES", "READY", "AGE"], head
    said = " ".join(up.kubectl("explain", "mq.spec.flavors.natsFlavor.poolRegExp").split())
    assert "Regular expression in Python's syntax" in said, said


def test_warnings():
    """they name the field, and show no password"""
    nats = {"natsConnector": "nats://user:sesame@nats.nats:4222", "poolTimeout": 30}
    change = {f"spec flavors 0 natsFlavor {key}": value for key, value in nats.items()}
    status, text, warnings = send("POST", place(KIND) + "?dryRun=All", put(whole(KIND, "warned", GOOD[KIND]), change))
    assert status == 201, text
    for field in nats:
        assert f"spec.flavors[0].natsFlavor.{field}: " in warnings, warnings
    assert "sesame" not in warnings
