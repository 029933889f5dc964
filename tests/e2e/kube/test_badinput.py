# SPDX-License-Identifier: Apache-2.0
"""Bad input: what breaks a rule is refused with the field and the reason, and what is no review at all gets
a clean answer of HTTP.

The rules are in badrules.py. Objects go through the API server, our schemas and our webhooks; no controller
runs, so that they stay as they were put.
"""

import http.client
import json
import socket
import ssl
import threading
import time

import pytest

import sluice as bed
from badrules import CREATE, DROP, GOOD, OLD, OLD_UPDATE, UPDATE, place, put, refused, whole
from kube import Failure, until
from sluice import Api, Sluice, at_once, say

REVIEW_MAX = 8 << 20
TIME_LIMIT = 120
cluster = sluice = None


# ---- objects ----


def done(api, method, path, thing):
    """A request that must succeed."""
    status, text = api.send(method, path, thing)
    assert status in (200, 201), f"{method} {path}: {status} {text.decode()}\n{json.dumps(thing)}"
    return json.loads(text)


def without_status(change, but=False):
    return {k: v for k, v in change.items() if k.startswith("status ") == but}


class Rules:
    """Tries rules and collects what was not as it should be."""

    def __init__(self):
        self.faults, self.tried = [], 0

    def judge(self, what, api, at, before, answer, path, words):
        """Looks at an answer, and at what is stored now."""
        self.tried += 1
        fault = refused(*answer, path, words)
        status, text = api.send("GET", at)
        stored = json.loads(text) if status == 200 else None
        if stored != before:
            fault = (fault or "it was refused") + "\n    but the stored object is another one now"
        if fault:
            self.faults.append(f"{what}: {fault}")

    def close(self):
        say(f"# {self.tried} bad objects")
        assert not self.faults, f"{len(self.faults)} of {self.tried}:\n" + "\n".join(self.faults)


@pytest.fixture(scope="module", autouse=True)
def reviewing(api_cluster):
    """An API server, our kinds, and sluice beside it."""
    global cluster, sluice
    cluster = api_cluster
    with Sluice(
        cluster,
        controllers="",
        flags=["--feature-gates=ConcurrentAdmission=true,PriorityBoost=true"],
        frameworks=["batch/job", "pod", "deployment", "statefulset"],
    ) as sluice:
        yield


def test_create():
    """each rule is broken by an object that is created, and by one that is updated"""
    rules, good = Rules(), {}
    api = Api(cluster)
    for kind in CREATE:
        good[kind] = done(api, "POST", place(kind), whole(kind, "good", GOOD[kind]))
    # What the server adds after the answer (a managed field, a default) is not to pass for a change.
    good = {kind: json.loads(api.send("GET", place(kind) + "/good")[1]) for kind in good}
    api.close()

    def attempt(api, item):
        number, kind, change, path, words, *only = item
        what = f"{kind}, {list(change)}"
        name = f"bad-{number}"
        answer = api.send("POST", place(kind), put(whole(kind, name, GOOD[kind]), change))
        rules.judge("create " + what, api, f"{place(kind)}/{name}", None, answer, path, words)
        # Of a topology nothing may change, whatever it becomes.
        if not only and kind != "Topology":
            at = place(kind) + "/good"
            answer = api.send("PUT", at, put(good[kind], change))
            rules.judge("update " + what, api, at, good[kind], answer, path, words)

    rows = [(kind, *rule) for kind in CREATE for rule in CREATE[kind]]
    at_once(cluster, [(i, *row) for i, row in enumerate(rows)], attempt, 4)
    rules.close()


def test_update():
    """each rule about what may change is broken by an update"""
    rules = Rules()

    def attempt(api, item):
        number, kind, version, good, given, change, path, words = item
        name = f"change-{number}"
        at = f"{place(kind, version)}/{name}"
        thing = done(api, "POST", place(kind, version), put(whole(kind, name, good, version), without_status(given)))
        # Again, since what is created may have been changed on its way in.
        thing = done(api, "PUT", at, put(thing, without_status(given)))
        if status := without_status(given, but=True):
            thing = done(api, "PUT", at + "/status", put(thing, status))
        thing = json.loads(api.send("GET", at)[1])
        where = "/status" if all(k.startswith("status ") for k in change) else ""
        rules.judge(
            f"{kind} {version}, {list(change)} after {list(given)}",
            api,
            at,
            thing,
            api.send("PUT", at + where, put(thing, change)),
            path,
            words,
        )

    rows = [(kind, "v1beta2", GOOD[kind], *rule) for kind in UPDATE for rule in UPDATE[kind]]
    rows += [(*row[:3], *rule) for row in OLD_UPDATE for rule in row[3]]
    at_once(cluster, [(i, *row) for i, row in enumerate(rows)], attempt, 4)
    rules.close()


def test_older_versions():
    """the same rules hold for objects of the older versions, through conversion"""
    rules, api = Rules(), Api(cluster)
    for kind, version, good, rows in OLD:
        at = place(kind, version)
        done(api, "POST", at, whole(kind, f"good-{version}", good, version))
        for number, (change, path, words) in enumerate(rows):
            name = f"bad-{version}-{number}"
            answer = api.send("POST", at, put(whole(kind, name, good, version), change))
            rules.judge(f"{kind} {version}, {list(change)}", api, f"{at}/{name}", None, answer, path, words)
    api.close()
    rules.close()


def test_default_queue():
    """in a namespace with a default queue a Job or a pod keeps its queue name"""
    ns = "with-default"
    cluster.kubectl("create", "namespace", ns)
    cluster.request("POST", place("LocalQueue", ns=ns), whole("LocalQueue", "default", GOOD["LocalQueue"]))
    api, rules = Api(cluster), Rules()
    for kind in ("Job", "Pod"):
        at = place(kind, ns=ns) + "/keeps"
        done(api, "POST", place(kind, ns=ns), whole(kind, "keeps", GOOD[kind]))
        made = json.loads(api.send("GET", at)[1])
        blank = put(made, {"metadata labels kueue.x-k8s.io/queue-name": DROP})
        until(lambda: api.send("PUT", at + "?dryRun=All", blank)[0] == 403, 20, "sluice knows of the queue")
        rules.judge(
            f"blank queue name of a {kind}",
            api,
            at,
            made,
            api.send("PUT", at, blank),
            "metadata.labels[kueue.x-k8s.io/queue-name]",
            "queue-name must not be empty in namespace with default queue",
        )
    api.close()
    rules.close()


def test_kubectl():
    """what a user sees"""
    bad = put(
        whole("ClusterQueue", "bad", GOOD["ClusterQueue"]),
        {"spec resourceGroups 0 flavors 0 resources 0 nominalQuota": -1},
    )
    try:
        bed.show(cluster, "apply", "-f", "-", input=json.dumps(bad), quiet=True)
    except Failure as error:
        say(f"{error}")
        assert (
            'admission webhook "vclusterqueue.kb.io" denied the request: spec.resourceGroups[0].flavors[0]'
            ".resources[0].nominalQuota: Invalid value: " in str(error)
        ), error
    else:
        raise AssertionError("kubectl applied it")


# ---- bytes that are no review ----

VALIDATE = "/validate-kueue-x-k8s-io-v1beta2-clusterqueue"
JSON = "application/json"


def review(**request):
    thing = whole("ClusterQueue", "x", GOOD["ClusterQueue"])
    return json.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {"uid": "u", "operation": "CREATE", "object": thing, **request},
        }
    ).encode()


def trusted():
    return ssl.create_default_context(cafile=cluster.dir / "pki" / "ca.crt")


def ask(method, path, body=b"", type=JSON):
    """One request to the webhook server: the status, the type and the text of its answer."""
    connection = http.client.HTTPSConnection("127.0.0.1", sluice.ports["webhook"], timeout=20, context=trusted())
    try:
        try:
            connection.request(method, path, body, {"Content-Type": type})
        except (ConnectionError, ssl.SSLError):
            pass  # a body that is too large is not heard to its end
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()
    finally:
        connection.close()


def goes_on():
    """It answers a good review, and quickly."""
    began = time.monotonic()
    status, type, text = ask("POST", VALIDATE, review())
    assert (status, type) == (200, JSON) and json.loads(text)["response"]["allowed"] is True, text
    assert time.monotonic() - began < 5, "it was held up"


def raw(head, body=b""):
    """A connection on which a request was begun."""
    sock = socket.create_connection(("127.0.0.1", sluice.ports["webhook"]), timeout=20)
    sock = trusted().wrap_socket(sock, server_hostname="127.0.0.1")
    sock.sendall(head.replace(b"\n", b"\r\n") + body)
    return sock


def first_line(sock):
    """Of the answer; empty if the connection was closed without one."""
    try:
        return sock.recv(4096).partition(b"\r\n")[0].decode()
    except (ConnectionError, ssl.SSLError):
        return ""


def pieces(n):
    """The answer to a body of n MB that did not announce its length."""
    sock = raw(POST + b"Transfer-Encoding: chunked\n\n")
    try:
        for _ in range(n):
            sock.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
        sock.sendall(b"0\r\n\r\n")
    except (ConnectionError, ssl.SSLError):
        pass
    return first_line(sock)


POST = f"POST {VALIDATE} HTTP/1.1\nHost: x\nContent-Type: {JSON}\n".encode()
NO_REVIEW = "expected an AdmissionReview"
BODIES = [  # what is posted, where; the status and words that come back
    ("an empty body", VALIDATE, b"", JSON, 400, ""),
    ("no JSON", VALIDATE, b"hello", JSON, 400, ""),
    ("half of a review", VALIDATE, review()[:200], JSON, 400, ""),
    ("two reviews", VALIDATE, review() * 2, JSON, 400, ""),
    ("a wrong byte", VALIDATE, review().replace(b'"x"', b'"\xff"'), JSON, 400, ""),
    ("deep nesting", VALIDATE, b"[" * 100000 + b"]" * 100000, JSON, 400, ""),
    (
        "deep nesting in an object",
        VALIDATE,
        review(object=None).replace(b"null", b'{"a":' * 100000 + b"1" + b"}" * 100000),
        JSON,
        400,
        "",
    ),
    ("no object", VALIDATE, b"[]", JSON, 400, NO_REVIEW),
    ("another kind", VALIDATE, review().replace(b"AdmissionReview", b"ConversionReview"), JSON, 400, NO_REVIEW),
    ("another version", VALIDATE, review().replace(b"k8s.io/v1", b"k8s.io/v1beta1"), JSON, 400, NO_REVIEW),
    ("no uid", VALIDATE, review(uid=""), JSON, 400, NO_REVIEW),
    ("no request", VALIDATE, b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', JSON, 400, NO_REVIEW),
    ("a review to convert", "/convert", review(), JSON, 400, "ConversionReview"),
    ("8 MB and a byte", VALIDATE, b" " * (REVIEW_MAX + 1), JSON, 413, "too large"),
    ("20 MB", VALIDATE, b" " * (20 << 20), JSON, 413, "too large"),
    ("YAML", VALIDATE, review(), "application/yaml", 415, JSON),
    ("a form", VALIDATE, b"a=b", "application/x-www-form-urlencoded", 415, JSON),
    ("an unknown path", "/validate-nothing", review(), JSON, 404, "no such path"),
    ("the root", "/", review(), JSON, 404, "no such path"),
]


def test_bad_bodies():
    """each gets its status and a reason, and the next review is answered"""
    for what, path, body, type, status, words in BODIES:
        got, of, text = ask("POST", path, body, type)
        say(f"# {what}: {got} {text.strip()[:100]}")
        assert got == status and words in text and text.strip() and of.startswith("text/plain"), (what, got, of, text)
        assert "\n" not in text.strip(), f"{what}: more than a line"
        goes_on()


def test_wrong_methods():
    """a review is posted"""
    for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert ask(method, VALIDATE)[0] == 405, method
        assert ask(method, "/nothing")[0] == 404, method
    goes_on()


def test_odd_objects():
    """a review whose object is not one of the kind is refused in words of the review"""
    for request, code in (
        ({"object": None}, 400),
        ({"object": []}, 400),
        ({"object": "x"}, 400),
        ({"operation": "UPDATE"}, 400),
    ):
        status, _, text = ask("POST", VALIDATE, review(**request))
        answer = json.loads(text)["response"]
        assert status == 200 and answer["uid"] == "u" and answer["allowed"] is False, text
        assert answer["status"]["code"] == code and answer["status"]["message"], text
    for thing in (
        {},
        {"spec": 7},
        {"spec": {"resourceGroups": 7}},
        {"spec": {"resourceGroups": [7, None, []]}},
        {"metadata": [], "spec": {"resourceGroups": [{"flavors": [{"resources": {}}]}]}},
    ):
        status, _, text = ask("POST", VALIDATE, review(object=thing))
        assert status == 200 and json.loads(text)["response"]["uid"] == "u", text
    goes_on()


def test_odd_conversions():
    """what cannot be converted is told in the review"""
    good = whole("LocalQueue", "x", GOOD["LocalQueue"])
    for to, thing in (
        ("v9", good),
        ("v1beta1", {**good, "kind": "Other"}),
        ("v1beta1", {}),
        ("v1beta1", None),
        ("v1beta1", {**good, "apiVersion": "example.com/v1"}),
    ):
        status, _, text = ask(
            "POST",
            "/convert",
            json.dumps(
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "ConversionReview",
                    "request": {"uid": "u", "desiredAPIVersion": f"kueue.x-k8s.io/{to}", "objects": [good, thing]},
                }
            ).encode(),
        )
        answer = json.loads(text)["response"]
        assert status == 200 and answer["uid"] == "u", text
        assert answer["result"]["status"] == "Failure" and "no conversion of" in answer["result"]["message"], text
        assert "convertedObjects" not in answer, text
    goes_on()


def test_broken_requests():
    """bodies that are cut, late, or of no announced length; headers that are too long; no HTTP at all"""
    body = review()
    for cut in (0, 1, len(body) // 2, len(body) - 1):  # the client goes away before the end
        raw(POST + b"Content-Length: %d\n\n" % len(body), body[:cut]).close()
    goes_on()
    sock = raw(POST + b"Content-Length: nine\n\n", body)
    assert " 400 " in first_line(sock)
    sock = raw(POST + b"X: " + b"x" * 40000 + b"\n\n")
    assert " 431 " in first_line(sock)
    sock = raw(b"hello\n\n")
    assert " 400 " in first_line(sock) or not first_line(sock)
    sock = raw(POST + b"Content-Length: %d\n\n" % (20 << 20))
    assert " 413 " in first_line(sock)  # before the body
    assert " 413 " in pieces(12)
    assert pieces(40) == ""  # it has heard enough
    plain = socket.create_connection(("127.0.0.1", sluice.ports["webhook"]), timeout=20)
    plain.sendall(b"GET / HTTP/1.1\r\n\r\n")  # without TLS
    plain.settimeout(20)
    assert b" 200 " not in (plain.recv(4096) or b""), "it answers without TLS"
    plain.close()
    goes_on()


def test_slow_bodies():
    """slow clients get their answer and hold nobody up"""
    body, lines = review(), []

    def slow():
        sock = raw(POST + b"Content-Length: %d\n\n" % len(body))
        for i in range(0, len(body), len(body) // 20 + 1):
            sock.sendall(body[i : i + len(body) // 20 + 1])
            time.sleep(0.1)
        lines.append(first_line(sock))

    threads = [threading.Thread(target=slow) for _ in range(20)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        goes_on()
    assert len(lines) == 20 and all(" 200 " in line for line in lines), lines


def test_alive():
    """after all of that the same process reviews, and the API still refuses"""
    assert sluice.alive() and sluice.is_ready()
    goes_on()
    try:
        cluster.request("POST", place("Cohort"), whole("Cohort", "last", {"spec": {"fairSharing": {"weight": -1}}}))
    except Failure as error:
        assert error.status == 403, error
    else:
        raise AssertionError("a weight of -1 was taken")
