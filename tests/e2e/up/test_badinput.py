# SPDX-License-Identifier: Apache-2.0
"""Clients that send nonsense, too much, or nothing at all to `sluice up`: a right answer for them, and others do not
notice.

    SL_WATCHES=1000 tests/e2e/run up/test_badinput.py  # idle watches; or 10,000, or as many as can be had in 20 s
"""

import http.client
import json
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import sys
import time

import pytest

import kube
from kube import Failure, Unavailable, until
from sluice import say
from up import Up

WATCHES = int(os.environ.get("SL_WATCHES") or 10000)
WATCHERS = 4  # processes that hold them
OPENING = 20  # seconds, or without end if the number was asked for
FEW = 250  # by each process in any case
WATCH_KB = 50  # the most that one may cost the server
PODS, CONNECTIONS = 100, 50  # beside 256 descriptors, four for each pod
FIT = (192 - 40) // 4  # pods at least, if 40 of those that are not in reserve are for all else
PATIENCE = 120
MAPS = "/api/v1/namespaces/default/configmaps"
YAML = "application/yaml"
JSON = "application/json"
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
)
TIME_LIMIT = 200
up = None


def ask(method, path, body=None, type=JSON, headers=None, timeout=30):
    connection = http.client.HTTPSConnection("127.0.0.1", up.port, timeout=timeout, context=up.tls)
    try:
        connection.request(method, path, body, {"Content-Type": type, "Accept": JSON, **up.headers, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()


def well():
    """The server is as it was: somebody else's write and read take their usual time."""
    began = time.monotonic()
    name = f"well-{time.monotonic_ns()}"
    status, text = ask("POST", MAPS, json.dumps({"metadata": {"name": name}, "data": {"a": "b"}}))
    assert status == 201, text
    status, text = ask("GET", f"{MAPS}/{name}")
    assert status == 200 and json.loads(text)["data"] == {"a": "b"}, text
    assert ask("DELETE", f"{MAPS}/{name}")[0] == 200
    return time.monotonic() - began


@pytest.fixture(scope="module", autouse=True)
def alone():
    """Our server alone, which takes as many files as it may by itself."""
    global up
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    with Up(controllers=False) as up:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        well()
        yield


def request(server, method, path, *lines):
    """The head of a request by somebody who has the token."""
    head = (f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: {server.headers['Authorization']}", *lines)
    return "\r\n".join((*head, "", "")).encode()


# method, path, type, body, status, what the message says
NONSENSE = [
    ("POST", MAPS, JSON, "{", 400, ""),
    ("POST", MAPS, JSON, "", 400, ""),
    ("POST", MAPS, JSON, "\x00\x01", 400, ""),
    ("POST", MAPS, JSON, "[" * 100000, 400, ""),
    ("POST", MAPS, JSON, '{"a":' * 50000 + "1" + "}" * 50000, 400, ""),
    ("POST", MAPS, JSON, '{"metadata":{"name":"\ud800"}}'.encode("utf-8", "surrogatepass"), 400, ""),
    ("POST", MAPS, JSON, '{"metadata":{"name":"x"},"data":{"a":' + "9" * 100000 + "}}", 400, ""),
    ("POST", MAPS, JSON, '{"metadata":{"name":"' + "x" * 100000 + '"}}', 422, "must be no more than|must be no more"),
    ("POST", MAPS, YAML, BOMB, 400, ""),
    ("POST", MAPS, YAML, "a: b: c", 400, ""),
    ("POST", MAPS, YAML, "\t- x", 400, ""),
    ("POST", MAPS, YAML, "--- {}\n--- {}\n", (400, 422), ""),
    ("POST", MAPS, YAML, "kind: ConfigMap\napiVersion: v1\nmetadata: {name: &x yaml, labels: {a: *x}}\n", 201, ""),
    ("POST", MAPS, JSON, "x" * (10 << 20), 413, "too large"),
    ("PATCH", f"{MAPS}/none", "application/merge-patch+json", "x" * (10 << 20), 413, "too large"),
    ("POST", MAPS, "text/html", "<p>", 415, ""),
    ("PATCH", f"{MAPS}/none", "application/octet-stream", "x", 415, ""),
    ("POST", MAPS, "application/vnd.kubernetes.protobuf", "k8s\x00nonsense", (400, 415), ""),
    ("GET", "/api/v1/nothings", JSON, None, 404, "could not find the requested resource|page not found"),
    ("GET", "/apis/x.y/v1/z", JSON, None, 404, ""),
    ("GET", "/api/v1/namespaces/default/configmaps/a/b/c/d", JSON, None, 404, ""),
    ("GET", "/../../etc/passwd", JSON, None, (403, 404, 400), ""),
    ("GET", "/api/v1/%00", JSON, None, (404, 400), ""),
    ("GET", "/" + "x/" * 4000, JSON, None, (404, 414, 431), ""),
    ("GET", f"{MAPS}?labelSelector=" + "a," * 3000, JSON, None, (400, 414, 431), ""),
    ("GET", f"{MAPS}?limit=99999999999999999999", JSON, None, (200, 400), ""),
    ("GET", f"{MAPS}?continue=" + "A" * 4000, JSON, None, (400, 410), ""),
    ("GET", f"{MAPS}?watch=true&resourceVersion=99999999999999999999999", JSON, None, (400, 500), "Invalid value"),
    ("GET", f"{MAPS}?watch=true&timeoutSeconds=-5&resourceVersion=x", JSON, None, (400, 500), "Invalid value"),
    ("BREW", MAPS, JSON, None, (405, 400, 501), ""),
    ("POST", f"{MAPS}?dryRun=Some", JSON, '{"metadata":{"name":"x"}}', (400, 422), ""),
    (
        "PATCH",
        f"{MAPS}/none",
        "application/json-patch+json",
        json.dumps([{"op": "add", "path": "/x", "value": 1}] * 20000),
        (404, 413),
        "",
    ),
    ("POST", MAPS, JSON, json.dumps({"metadata": {"name": "large"}, "data": {"a": "x" * (2 << 20)}}), (413, 422), ""),
]


def test_nonsense():
    """each gets a Status with a code, a reason and a message"""
    wrong = []
    for method, path, type, body, want, says in NONSENSE:
        try:
            status, text = ask(method, path, body, type)
        except (OSError, http.client.HTTPException) as error:  # some are cut off while they still send
            status, text = 0, repr(error)
            if not body or len(body) < 5 << 20:
                wrong.append(f"{method} {path[:60]} {str(body)[:40]}: {text}")
            continue
        want = want if isinstance(want, tuple) else (want,)
        if status not in want or not re.search(says, text):
            wrong.append(f"{method} {path[:60]} {type} {str(body)[:40]}: {status}, not {want}: {text[:300]}")
        elif status >= 400 and text.startswith("{"):
            said = json.loads(text)
            if said.get("kind") != "Status" or said.get("code") != status or not said.get("message"):
                wrong.append(f"{method} {path[:60]}: no proper Status: {text[:300]}")
    assert not wrong, "\n".join(wrong)
    well()


def test_long_lists():
    """objects of megabytes whose items have to be compared with each other"""
    pods, services, quotas = (f"/api/v1/namespaces/default/{kind}" for kind in ("pods", "services", "resourcequotas"))
    full, many = range(1024), range(30000)

    def pod(containers, **spec):
        return {"metadata": {"name": "long"}, "spec": {"containers": containers, **spec}}

    def each(n, **more):
        return [{"name": f"c{i}", "image": "none", **more} for i in range(n)]

    def one(**more):
        return each(1, **more)

    mounts, devices = (
        [{"name": f"v{i}", "mountPath": f"/{i}"} for i in full],
        [{"name": f"w{i}", "devicePath": f"/w{i}"} for i in full],
    )
    volumes = [{"name": f"v{i}", "emptyDir": {}} for i in full]
    files = [{"configMap": {"name": "c", "items": [{"key": "k", "path": f"{k}-{i}"} for i in full]}} for k in range(60)]
    for what, path, body, status, text in (
        ("containers", pods, pod(each(30000)), 422, "spec.containers: Too many: 30000: must have at most 1024 items"),
        ("gates", pods, pod(one(), schedulingGates=[{"name": f"a.b/c{i}"} for i in many]), 422, "Too many"),
        (
            "limits",
            pods,
            pod(one(resources={"limits": {f"a.b/c{i}": "1" for i in many}})),
            422,
            "containers\\[0\\].resources.limits: Too many",
        ),
        (
            "ports of a service",
            services,
            {
                "metadata": {"name": "long"},
                "spec": {"type": "NodePort", "ports": [{"name": f"p{i}", "port": i + 1} for i in many]},
            },
            422,
            "Too many",
        ),
        (
            "scopes",
            quotas,
            {"metadata": {"name": "long"}, "spec": {"scopes": [f"S{i}" for i in many]}},
            422,
            "unsupported scope",
        ),
        ("mounts", pods, pod(each(20, volumeMounts=mounts), volumes=volumes), 201, ""),
        ("too many mounts", pods, pod(each(60, volumeMounts=mounts), volumes=volumes), 413, "more than 131072 fields"),
        (
            "mounts and devices",
            pods,
            pod(each(14, volumeMounts=mounts, volumeDevices=devices), volumes=volumes),
            422,
            "volumeDevices",
        ),
        ("files", pods, pod(one(), volumes=[{"name": "v", "projected": {"sources": files}}]), 201, ""),
        ("arguments", pods, pod(one(args=[f"{i}" for i in range(200000)])), 201, ""),
    ):
        began = time.monotonic()
        body = json.dumps(body)
        got, answer = ask("POST", path + "?dryRun=All", body)
        say(f"# {what}: {len(body)} bytes, {got} after {time.monotonic() - began:.2f} s")
        assert got == status and re.search(text, answer), f"{what}: {got} {answer[:500]}"
        well()


def test_strangers():
    """without the token there is nothing to see"""
    for headers in (
        {},
        {"Authorization": "Bearer x"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": up.headers["Authorization"][:-1]},
    ):
        connection = http.client.HTTPSConnection("127.0.0.1", up.port, timeout=60, context=up.tls)
        connection.request("GET", MAPS, headers=headers)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        assert (answer.status, said["reason"], said["code"]) == (401, "Unauthorized", 401), said
    assert os.stat(up.kubeconfig).st_mode & 0o777 == 0o600, oct(os.stat(up.kubeconfig).st_mode)


def test_ignored_fields():
    """whoever asks for isolation that there is none of is warned"""
    pod = {
        "metadata": {"name": "w"},
        "spec": {
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "hostUsers": False,
            "containers": [
                {
                    "name": "a",
                    "image": "x",
                    "securityContext": {"privileged": True, "procMount": "Default", "runAsUser": 7},
                }
            ],
        },
    }
    connection = http.client.HTTPSConnection("127.0.0.1", up.port, timeout=30, context=up.tls)
    connection.request(
        "POST",
        "/api/v1/namespaces/default/pods?dryRun=All",
        json.dumps(pod),
        {"Content-Type": JSON, "Accept": JSON, **up.headers},
    )
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    warnings = " ".join(answer.headers.get_all("Warning") or [])
    for field in (
        "spec.securityContext.seccompProfile",
        "spec.hostUsers",
        "spec.containers[0].securityContext.privileged",
        "spec.containers[0].securityContext.procMount",
    ):
        assert f"{field}: sluice up ignores this field" in warnings, warnings
    assert "runAsUser" not in warnings, warnings
    connection.close()
    well()


def test_half_open():
    """connections that say half of something, or nothing, hold up nobody"""
    beginnings = [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n", b"\x00" * 100]
    open_ = []
    for i in range(400):
        s = socket.create_connection(("127.0.0.1", up.port), timeout=60)
        s.sendall(beginnings[i % len(beginnings)])
        open_.append(s)
    inside = []
    for i in range(50):  # through TLS, and then they stop in the middle
        s = up.tls.wrap_socket(
            socket.create_connection(("127.0.0.1", up.port), timeout=60), server_hostname="127.0.0.1"
        )
        s.sendall((request(up, "POST", MAPS, "Content-Length: 1000") + b"{")[: 40 + 5 * i])
        inside.append(s)
    took = [well() for _ in range(10)]
    say(f"# beside 450 of them: {statistics.median(took) * 1000:.1f} ms")
    assert max(took) < 5, took
    for s in open_ + inside:
        s.close()
    well()


def test_strangers_bodies():
    """bodies of those who have no token are not read at all, however many they are"""
    body, held = b"x" * (3 * 1000 * 1000), []
    for _ in range(40):
        s = up.tls.wrap_socket(
            socket.create_connection(("127.0.0.1", up.port), timeout=60), server_hostname="127.0.0.1"
        )
        s.sendall(
            f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )
        try:
            s.sendall(body[:-1])
        except OSError:  # it has been sent away
            pass
        held.append(s)
    status, text = ask(
        "POST", MAPS, json.dumps({"metadata": {"name": "owner"}, "data": {"a": "x" * 500000}}), timeout=120
    )
    assert status == 201, (status, text[:300])  # 503 if theirs had been taken
    assert ask("DELETE", f"{MAPS}/owner")[0] == 200
    for s in held:
        s.close()
    s = up.tls.wrap_socket(socket.create_connection(("127.0.0.1", up.port), timeout=60), server_hostname="127.0.0.1")
    s.sendall(f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n".encode())
    text = hears(s, [b'"code":401'])  # before there is any of the body
    assert text.startswith(b"HTTP/1.1 401") and b"Connection: close" in text, text
    well()


def test_framing():
    """what can be read in two ways is refused, and what stands behind it is no request"""
    for lines in (
        "Content-Length: 0\r\nContent-Length: 44",
        "Content-Length: 44\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: identity",
        "Content-Length: 0\r\nX: a\r\n b",
        "Content-Length: 0\r\nX: a\0b",
        "Content-Length: 0\nX: a",
        "Content-Length: 0\r\nX: a\rb",
    ):
        s = dial(up)
        s.sendall(
            f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: {up.headers['Authorization']}\r\n{lines}\r\n\r\n"
            f"GET /version HTTP/1.1\r\nHost: x\r\nAuthorization: {up.headers['Authorization']}\r\n\r\n".encode()
        )
        text = hears(s, [b"gitVersion"])  # until it is closed
        assert text.startswith(b"HTTP/1.1 400") and text.count(b"Date: ") == 1, (lines, text)
        s.close()
    well()


def test_no_utf8():
    """bytes that are no UTF-8 where words end up in objects"""
    agents = {
        b"a\xff\xfeb/1": "a\ufffd\ufffdb",
        b"\xc3\xa9" * 100: "\u00e9" * 64,
        b"x" * 127 + b"\xe2\x82\xac": "x" * 127,
        b"\xed\xa0\x80": "\ufffd" * 3,
    }
    for agent, manager in agents.items():
        for query, headers, wanted in (
            ("", b"User-Agent: " + agent, manager),
            ("?fieldManager=m%FF", b"User-Agent: x", "m\ufffd"),
            ("", b"User-Agent: y\r\nImpersonate-User: u\xff\r\nImpersonate-Group: g\xff", "y"),
        ):
            s, body = dial(up), json.dumps({"metadata": {"generateName": "utf-"}, "data": {"a": "b"}}).encode()
            head = request(up, "POST", MAPS + query, f"Content-Type: {JSON}", f"Content-Length: {len(body)}")
            s.sendall(head.removesuffix(b"\r\n") + headers + b"\r\nConnection: close\r\n\r\n" + body)
            text = hears(s, [b"never"])
            assert text.startswith(b"HTTP/1.1 201"), (agent, text)
            assert json.loads(text.split(b"\r\n\r\n", 1)[1])["metadata"]["managedFields"][0]["manager"] == wanted, (
                wanted,
                text,
            )
            s.close()
    well()


def test_unread_watches():
    """watches that are opened and never read cost little, and others do not notice"""
    for i in range(20):
        status, text = ask("POST", MAPS, json.dumps({"metadata": {"name": f"big-{i}"}, "data": {"a": "x" * 1000000}}))
        assert status == 201, text[:300]
    reads = watch(up, "seen")
    assert b"200 OK" in hears(reads, [b"\r\n\r\n"])
    before, most, held = rss_kb(), 0, []
    for i in range(60):  # half of them watches, half of them lists
        s = dial(up)
        s.sendall(request(up, "GET", MAPS + ("?watch=true" if i % 2 else "")))
        held.append(s)
        most = max(most, rss_kb())
    well()
    most = max(most, rss_kb())
    say(f"# 60 that do not read what they asked for, 20 MB each: {(most - before) // 1024} MiB")
    assert most - before < 800 << 10, (most, before)  # without ceilings it is 1,200
    assert ask("POST", MAPS, json.dumps({"metadata": {"name": "seen"}}))[0] == 201
    assert b'"seen"' in hears(reads, [b'"seen"'])  # who reads was not ended
    for s in (reads, *held):
        s.close()
    for name in ("seen", *(f"big-{i}" for i in range(20))):
        assert ask("DELETE", f"{MAPS}/{name}")[0] == 200


def dial(server):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server.tls.wrap_socket(s, server_hostname="127.0.0.1")


def watch(server, name):
    s = dial(server)
    s.sendall(request(server, "GET", f"{MAPS}?watch=true&fieldSelector=metadata.name%3D{name}"))
    return s


def hears(s, words):
    """What comes until all of the words are there, or nothing more does."""
    text = b""
    s.settimeout(30)
    try:
        while not all(w in text for w in words) and (more := s.recv(65536)):
            text += more
    except OSError:
        pass
    return text


def hold_watches(folder, port, first, n):
    """A process of test_watches: opens watches of a name each, and says so. When it is told to, it counts those that
    hear of an object."""
    server = Up(controllers=False)
    server.dir, server.port = pathlib.Path(folder), port
    server.trust()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    end = time.monotonic() + OPENING
    held = [
        watch(server, f"heard-{first + i}")
        for i in range(n)
        if time.monotonic() < end or i < FEW or "SL_WATCHES" in os.environ
    ]
    begun = sum(hears(s, [b"\r\n\r\n"]).startswith(b"HTTP/1.1 200") for s in held)
    print(len(held), begun, flush=True)
    if not sys.stdin.readline():
        return
    print(
        sum(
            hears(s, [b'"ADDED"', f'"heard-{first + i}"'.encode()]).count(b'"type"') == 1
            for i, s in enumerate(held)
            if i % 50 == 0
        ),
        flush=True,
    )
    sys.stdin.readline()


def rss_kb():
    return int(open(f"/proc/{up.process.pid}/status").read().split("VmRSS:")[1].split()[0])


def create(names):
    """By a client that stays connected; the milliseconds that the server computes for each, in the part where it is
    least: other work on this machine makes it more, and may begin and end at any moment."""
    connection = http.client.HTTPSConnection("127.0.0.1", up.port, timeout=30, context=up.tls)
    connection.connect()

    def spent():
        return int(open(f"/proc/{up.process.pid}/schedstat").read().split()[0]) / 1e6

    costs = []
    for part in (names[i : i + 50] for i in range(0, len(names), 50)):
        began = spent()
        for name in part:
            connection.request(
                "POST", MAPS, json.dumps({"metadata": {"name": name}}), {"Content-Type": JSON, **up.headers}
            )
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201, answer.status
        costs.append((spent() - began) / len(part))
    return min(costs)


def test_watches():
    """idle watches cost little, hold up nobody, and hear what happens"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    room = (
        WATCHES if hard == resource.RLIM_INFINITY else min(WATCHES, hard - 1000)
    )  # of the server; ours are shared out
    each = room // WATCHERS
    one = watch(up, "none")
    hears(one, [b"\r\n\r\n"])
    alone, before = create([f"alone-{i}" for i in range(300)]), rss_kb()
    began = time.monotonic()
    held = [
        subprocess.Popen(
            [sys.executable, __file__, str(up.dir), str(up.port), str(i * each), str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(kube.HERE)},
        )
        for i in range(WATCHERS)
    ]
    try:
        opened, begun = zip(*(map(int, p.stdout.readline().split() or (0, 0)) for p in held))
        took, kb, beside = (
            time.monotonic() - began,
            (rss_kb() - before) / max(1, sum(opened)),
            create([f"beside-{i}" for i in range(300)]),
        )
        others = [well() for _ in range(20)]
        say(
            f"# {sum(begun)} watches in {took:.1f} s, {kb:.1f} kB each; a create costs {beside:.2f} ms beside them, "
            f"{alone:.2f} alone; others take {statistics.median(others) * 1000:.1f} ms"
        )
        assert begun == opened and min(opened) >= min(each, FEW), (begun, opened)
        assert kb < WATCH_KB, kb
        assert beside < 1.5 * alone + 0.2, (beside, alone)
        assert max(others) < 5, others
        create([f"heard-{i * each + k}" for i, n in enumerate(opened) for k in range(0, n, 50)])
        for p in held:
            p.stdin.write("\n")
            p.stdin.flush()
        heard = [int(p.stdout.readline() or 0) for p in held]
        assert heard == [len(range(0, n, 50)) for n in opened], heard
    finally:
        for p in held:
            p.stdin.close()
            p.wait(60)
        one.close()
    until(lambda: rss_kb() and well() < 5, what="a server that is as it was")


def test_too_many_watches():
    """who comes when all places for watches are taken is told to come again, and who only asks something is served"""
    small = Up(controllers=False, under=["prlimit", "--nofile=1200:1200"])
    try:
        small.start()
        held, refused = [], None
        for _ in range(1000):
            s = watch(small, "none")
            text = hears(s, [b"\r\n\r\n"])
            if not text.startswith(b"HTTP/1.1 200"):
                refused = text + hears(s, [b'"code":429']) if b'"code":429' not in text else text
                break
            held.append(s)
        say(f"# {len(held)} watches fit into 1,200 files")
        assert len(held) > 500 and refused, (len(held), refused)
        head, _, body = refused.decode().partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 429") and "Retry-After: 1" in head, head
        assert (json.loads(body)["reason"], json.loads(body)["kind"]) == ("TooManyRequests", "Status"), body
        for i in range(150):  # more than there are places besides
            small.request("POST", MAPS, {"metadata": {"name": f"m-{i}"}})
        for s in held[:100]:
            s.close()
        held = held[100:]

        def fits():
            s = watch(small, "none")
            held.append(s)
            return hears(s, [b"\r\n\r\n"]).startswith(b"HTTP/1.1 200")

        until(fits, what="a watch in the place of one that ended")
        for s in held:
            s.close()
    finally:
        small.stop()


def test_pods_and_descriptors():
    """pods do not take the last descriptors: connections get them, and pods beyond wait and say why"""
    with Up(under=["prlimit", "--nofile=256:256"]) as small:
        pods = "/api/v1/namespaces/default/pods"
        for i in range(PODS):
            container = {"name": "c", "image": "x", "command": ["sleep", "1000"]}
            small.request("POST", pods, {"metadata": {"name": f"p-{i}"}, "spec": {"containers": [container]}})

        def said():
            """How many run, and how many wait for descriptors; all of them do either."""
            states = [p["status"].get("containerStatuses", [{}])[0].get("state", {}) for p in small.get(pods)["items"]]
            run = sum("running" in state for state in states)
            wait = sum("Too many open files" in state.get("waiting", {}).get("message", "") for state in states)
            return run + wait == PODS and (run, wait)

        run, wait = until(said, PATIENCE, "pods that run or say why not")
        say(f"# {run} pods run, {wait} wait")
        assert run >= FIT and wait, (run, wait)
        opened = [socket.create_connection(("127.0.0.1", small.port), timeout=30) for _ in range(CONNECTIONS)]
        for s in opened:
            with small.tls.wrap_socket(s, server_hostname="127.0.0.1") as secure:
                secure.sendall(request(small, "GET", "/version", "Connection: close"))
                assert b"gitVersion" in hears(secure, [b"gitVersion"])
        # Those that waited start when others have ended; how many depends on the connections that are open then.
        running = [
            p["metadata"]["name"]
            for p in small.get(pods)["items"]
            if "running" in p["status"]["containerStatuses"][0]["state"]
        ]
        for name in running:
            small.request("DELETE", f"{pods}/{name}?gracePeriodSeconds=0")

        def started():
            states = [p["status"].get("containerStatuses", [{}])[0].get("state", {}) for p in small.get(pods)["items"]]
            return sum("running" in state for state in states) >= min(FIT, wait)

        until(started, PATIENCE, "pods that had waited")


def test_full_disk():
    """writes are refused, reads go on, nothing that was acknowledged is lost, and with room all is well again"""
    folder = up.dir / "small"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", folder], capture_output=True
    ).returncode:
        raise Unavailable("no file system can be mounted here")
    small = Up(controllers=False)
    small.dir, small.port = folder, 0
    (small.port,) = kube.free_ports(1)
    try:
        small.start()
        made, refused = [], None
        for i in range(2000):
            try:
                small.request("POST", MAPS, {"metadata": {"name": f"m-{i}"}, "data": {"a": f"{i}" + "x" * 8000}})
                made.append(f"m-{i}")
            except Failure as error:
                refused = str(error)
                break
        assert refused and re.search(r": 5\d\d .*\"kind\":\"Status\"", refused), refused
        say(f"# full after {len(made)} objects: {refused[refused.index('message') :][:160]}")
        assert len(small.get(MAPS)["items"]) == len(made)
        small.kill9()
        subprocess.run(["mount", "-o", "remount,size=30m", folder], check=True)
        small.start()
        assert sorted(o["metadata"]["name"] for o in small.get(MAPS)["items"]) == sorted(made)
        small.request("POST", MAPS, {"metadata": {"name": "again"}})
    finally:
        small.kill9()
        subprocess.run(["umount", "-l", folder], check=True)
    well()


if __name__ == "__main__":
    hold_watches(sys.argv[1], *map(int, sys.argv[2:]))
