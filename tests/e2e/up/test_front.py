# SPDX-License-Identifier: Apache-2.0
"""Attacks on the front ends of `sluice serve`, which has `sluice up` for its API server: floods, bodies that never end,
requests that can be read in two ways, strangers without a certificate, web pages. Others are served in spite of them.
"""

import http.client
import json
import resource
import socket
import ssl
import subprocess
import time

import pytest

import kube
from kube import Failure, until
from sluice import program, say
from up import Up

FLOOD = 600  # more than any front end has connections
IN_TIME = 60  # seconds. Unless room is made, hundreds wait before a newcomer for one deadline after the other; that no
# deadline is needed at all is what tests/lib/http/test_httpd_share shows.
MISSES, WINDOW = 32, 10  # so many tokens of nobody are asked about for an address, in so many seconds
REVIEW = "/validate-kueue-x-k8s-io-v1beta2-resourceflavor"
BODY = json.dumps(
    {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "operation": "CREATE",
            "name": "f",
            "object": {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ResourceFlavor",
                "metadata": {"name": "f"},
                "spec": {},
            },
        },
    }
)
TIME_LIMIT = 120
up = serve = ours = theirs = None


class Serve:
    """One replica on `up`. lines: more of its configuration's webhook section."""

    def __init__(self, name, lines="", flags=("--metrics-secure=false",)):
        self.dir, self.lines, self.flags, self.process = up.dir / name, lines, flags, None

    def start(self):
        self.dir.mkdir()
        self.ports = dict(zip(("webhook", "health", "metrics", "visibility"), kube.free_ports(4)))
        for n in ("tls.crt", "tls.key"):
            (self.dir / n).write_bytes((up.dir / "pki" / n.replace("tls", "server")).read_bytes())
        (self.dir / "config.yaml").write_text(f"""apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
webhook: {{host: 127.0.0.1, port: {self.ports["webhook"]}, certDir: {self.dir}{self.lines}}}
health: {{healthProbeBindAddress: "127.0.0.1:{self.ports["health"]}"}}
metrics: {{bindAddress: "127.0.0.1:{self.ports["metrics"]}"}}
visibilityServer: {{bindAddress: 127.0.0.1, bindPort: {self.ports["visibility"]}}}
leaderElection: {{leaderElect: false}}
internalCertManagement: {{enable: false}}
""")
        command = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            "prlimit",
            "--nofile=1024:1024",
            str(program()),
            "serve",
            f"--kubeconfig={up.kubeconfig}",
            f"--config={self.dir / 'config.yaml'}",
            *self.flags,
        ]
        with open(self.dir / "log", "w") as log:
            self.process = kube._spawner.submit(
                subprocess.Popen, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            ).result()
        until(lambda: self.alive() and self.probe()[0] == 200, 60, "readiness of serve")
        return self

    def alive(self):
        if self.process.poll() is not None:
            raise Failure(f"serve ended with {self.process.returncode}:\n{self.log()}")
        return True

    def log(self):
        return "\n".join((self.dir / "log").read_text(errors="replace").splitlines()[-15:])

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)

    def ask(self, where, method, path, body=None, headers=None, tls=None, source="127.0.0.1"):
        """(status, text), or (0, why) if nobody answers."""
        secure = where in ("webhook", "visibility")
        kind, more = (
            (http.client.HTTPSConnection, {"context": tls or trusting()})
            if secure
            else (http.client.HTTPConnection, {})
        )
        connection = kind("127.0.0.1", self.ports[where], timeout=20, source_address=(source, 0), **more)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error)
        finally:
            connection.close()

    def probe(self, path="/readyz"):
        return self.ask("health", "GET", path)

    def review(self, **more):
        return self.ask("webhook", "POST", REVIEW, BODY, **more)

    def served(self, what):
        """How long it takes until that is answered with 200; a client that is sent away comes again."""
        began = time.monotonic()
        while (answer := what())[0] != 200:
            assert time.monotonic() - began < IN_TIME, answer
        return time.monotonic() - began


def trusting():
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return tls


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def authority(name):
    key, cert = up.dir / "pki" / f"{name}.key", up.dir / "pki" / f"{name}.crt"
    openssl(
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        key,
        "-out",
        cert,
        "-days",
        "1",
        "-subj",
        f"/CN={name}",
    )
    return key, cert


def signed(name, by, usage):
    key, cert, ask, more = (up.dir / "pki" / f"{name}.{end}" for end in ("key", "crt", "csr", "ext"))
    openssl(
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        key,
        "-out",
        ask,
        "-subj",
        f"/CN={name}",
    )
    more.write_text(f"extendedKeyUsage={usage}\nsubjectAltName=IP:127.0.0.1\n")
    openssl(
        "x509",
        "-req",
        "-in",
        ask,
        "-CA",
        by[1],
        "-CAkey",
        by[0],
        "-CAcreateserial",
        "-days",
        "1",
        "-extfile",
        more,
        "-out",
        cert,
    )
    tls = trusting()
    tls.load_cert_chain(cert, key)
    return tls


@pytest.fixture(scope="module", autouse=True)
def serving():
    """Both, with the files that a process gets where nobody has set a limit."""
    global up, serve, ours, theirs
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Up(controllers=False) as up:
        (up.dir / "pki").mkdir(exist_ok=True)
        ours, theirs = authority("ours"), authority("theirs")
        signed("server", ours, "serverAuth")
        serve = Serve("serve")
        try:
            serve.start()
            assert serve.review()[0] == 200, serve.review()
            yield
        finally:
            serve.stop()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_floods():
    """600 connections to each front end, silent or with half of something: probes and reviews get through"""
    for words in (
        b"",
        b"\x16\x03\x01\x02",
        b"GET /readyz HTTP/1.1\r\n",
        b"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
    ):
        held = []
        for where in "webhook", "metrics", "visibility", "health":
            for _ in range(FLOOD):
                s = socket.socket()
                s.settimeout(20)
                s.bind(("127.0.0.9", 0))
                s.connect(("127.0.0.1", serve.ports[where]))
                s.sendall(words)
                held.append(s)
        took = [
            serve.served(what)
            for what in (
                serve.probe,
                lambda: serve.probe("/healthz"),
                serve.review,
                lambda: serve.ask("metrics", "GET", "/metrics"),
                lambda: serve.review(source="127.0.0.9"),
                lambda: serve.ask("health", "GET", "/readyz", source="127.0.0.9"),
            )
        ]
        say(f"# beside {len(held)} with {words[:20]}: {max(took) * 1000:.0f} ms at most")
        for s in held:
            s.close()
    serve.alive()


def test_held_bodies():
    """bodies that are announced and stop a byte short: reviews and large conversions go on"""
    n, held = 12 << 20, []
    for _ in range(8):
        s = trusting().wrap_socket(
            socket.create_connection(("127.0.0.1", serve.ports["webhook"]), 20, ("127.0.0.9", 0))
        )
        s.sendall(
            b"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % n
        )
        try:
            s.sendall(b" " * (n - 1))
        except OSError:
            pass
        held.append(s)
    serve.served(serve.review)
    large = json.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {
                "uid": "u",
                "desiredAPIVersion": "kueue.x-k8s.io/v1beta1",
                "objects": [
                    {
                        "apiVersion": "kueue.x-k8s.io/v1beta2",
                        "kind": "ResourceFlavor",
                        "metadata": {"name": "f", "annotations": {"a": "x" * 200000}},
                        "spec": {},
                    }
                    for i in range(20)
                ],
            },
        }
    )
    serve.served(lambda: serve.ask("webhook", "POST", "/convert", large))
    for s in held:
        s.close()
    serve.alive()


def test_framing():
    """what can be read in two ways is refused, and what stands behind it is no request"""
    for lines in (
        "Content-Length: 0\r\nContent-Length: 50",
        "Content-Length: 50\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "X: a\r\n b",
        "X: a\0b",
        "X: a\rb",
    ):
        s = socket.create_connection(("127.0.0.1", serve.ports["health"]), 20)
        s.sendall(
            f"GET /readyz HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        )
        text = b""
        while more := s.recv(65536):
            text += more
        assert text.startswith(b"HTTP/1.1 400") and text.count(b"Date: ") == 1, (lines, text)
        s.close()


def test_web_pages():
    """/debug is not for web pages, whatever they make a browser on this machine send"""
    path, port = "/debug/feature-gates", serve.ports["metrics"]
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": f"evil.example:{port}"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[::2]"},
    ):
        for method, where in ("POST", path), ("GET", "/debug/state"):
            status, text = serve.ask(
                "metrics",
                method,
                where,
                "FlavorFungibility=false" if method == "POST" else None,
                {"Content-Type": "text/plain", **headers},
            )
            assert status == 403, (headers, status, text)
    for headers in {}, {"Host": f"localhost:{port}"}, {"Host": f"[::1]:{port}"}:
        assert serve.ask("metrics", "POST", path, "FlavorFungibility=true", headers)[0] == 200
        assert serve.ask("metrics", "GET", "/debug/state", headers=headers)[0] == 200


def test_client_certificates():
    """where an authority of clients is configured, webhooks answer to nobody else; a new one is taken while it runs"""
    cas = up.dir / "pki" / "clients.pem"
    cas.write_bytes(ours[1].read_bytes())
    good, server, foreign = (
        signed("kube-apiserver", ours, "clientAuth"),
        signed("a-server", ours, "serverAuth"),
        signed("stranger", theirs, "clientAuth"),
    )
    guarded = Serve("guarded", lines=f", clientCAFile: {cas}").start()
    try:
        assert guarded.review(tls=good)[0] == 200, guarded.review(tls=good)
        for tls in None, server, foreign:
            status, text = guarded.review(tls=tls)
            assert status in (0, 403) and "allowed" not in text, (status, text)
            status, text = guarded.ask("webhook", "POST", "/convert", "{}", tls=tls)
            assert status in (0, 400), (status, text)  # an API server has no certificate for these
        s = trusting().wrap_socket(socket.create_connection(("127.0.0.1", guarded.ports["webhook"]), 20))
        s.sendall(f"POST {REVIEW} HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n".encode())
        assert s.recv(65536).startswith(b"HTTP/1.1 403")  # before there is any of the body
        s.close()
        assert guarded.probe()[0] == 200  # these are for everybody
        cas.write_text("nonsense")
        time.sleep(3)
        assert guarded.review(tls=good)[0] == 200 and guarded.review(tls=foreign)[0] in (0, 403)
        cas.write_bytes(theirs[1].read_bytes())
        until(lambda: guarded.review(tls=foreign)[0] == 200, 20, "the new authority")
        assert guarded.review(tls=good)[0] in (0, 403)
    finally:
        guarded.stop()
    bad = Serve("bad", lines=f", clientCAFile: {up.dir / 'none'}")
    try:
        bad.start()
        raise AssertionError("it serves without the authority")
    except Failure as why:
        assert "clientCAFile" in str(why), why


def test_invented_tokens():
    """tokens that somebody makes up do not keep others from the metrics"""
    secure = Serve("secure", flags=())
    tls = trusting()

    def metrics(token, source):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", secure.ports["metrics"], timeout=20, context=tls, source_address=(source, 0)
        )
        try:
            connection.request("GET", "/metrics", headers={"Authorization": token})
            return connection.getresponse().status, ""
        except (OSError, http.client.HTTPException) as error:
            return 0, repr(error)
        finally:
            connection.close()

    secure.start()
    try:
        seen, began = {}, time.monotonic()
        for i in range(200):
            status, _ = metrics(f"Bearer invented-{i}", "127.0.0.9")
            seen[status] = seen.get(status, 0) + 1
        took = time.monotonic() - began
        most = MISSES * (int(took / WINDOW) + 2)  # the first and the last window may have been short
        say(f"# 200 invented tokens: {seen} in {took:.1f} s")
        assert set(seen) <= {401, 503} and seen.get(401, 0) <= most, (seen, most)
        assert metrics("Bearer invented-0", "127.0.0.1")[0] in (401, 503)  # its answer may have been kept
        assert metrics("Bearer of-somebody-else", "127.0.0.1")[0] == 401  # others are asked about
    finally:
        secure.stop()


def logs():
    return "--- serve, the last that it logged\n" + serve.log()
