# SPDX-License-Identifier: Apache-2.0
"""NATS servers for tests, Debian's nats-server, on loopback and in a folder of their own; and who publishes there.

    with Server() as nats, Providers(nats) as pools:
        pools.publish("interlink.resources.podman", payload(cpu="8"))   # now, and again and again
        pools.silence("interlink.resources.podman")
        nats.kill9()
        nats.start()                            # the same port

    Server(user="u", password="p"), Server(token="t"), Server(tls=True), Server(mutual=True)
    with servers(3) as three:                   # a cluster of them
        three[0].lame_duck()                    # it asks its clients to leave
    Connection(nats).send("a.subject", b"any bytes")

The protocol is NATS' own text: INFO, CONNECT, PUB, PING. No client library has a part in it.
"""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import urllib.parse

import kube
from kube import Failure, Unavailable, until

PERIOD = 0.5  # seconds between two messages of a pool
PROVIDER = "provider"  # what those call themselves


def program():
    """Debian has it in a folder that not everybody's PATH names."""
    path = shutil.which("nats-server") or "/usr/sbin/nats-server"
    if not os.access(path, os.X_OK):
        raise Unavailable("nats-server is not installed (the package of that name)")
    return path


def openssl(*args):
    run = subprocess.run(["openssl", *map(str, args)], capture_output=True, text=True)
    if run.returncode != 0:
        raise Failure(f"openssl {args[0]}: {run.stderr}")


def certificates(folder, hosts=()):
    """An authority that nobody knows, and certificates of it: for the loopback address and more names of a server, and
    of a client."""
    (folder / "openssl.cnf").write_text("[req]\ndistinguished_name = dn\n[dn]\n")
    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "365"]
    new += ["-config", folder / "openssl.cnf"]
    ca, key = folder / "ca.crt", folder / "ca.key"
    openssl(*new, "-subj", "/CN=private", "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", key, "-out", ca)
    names = ",".join(["subjectAltName=IP:127.0.0.1", *(f"DNS:{host}" for host in ("localhost", *hosts))])
    signed = ["-CA", ca, "-CAkey", key, "-addext", "basicConstraints=CA:FALSE"]
    for name, extension in (("tls", names), ("client", "extendedKeyUsage=clientAuth")):
        own = ["-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt", "-addext", extension]
        openssl(*new, "-subj", f"/CN={name}", *signed, *own)


class Server:
    """One. `port`, `connector`, `process` and, with TLS, `authority` and `client` (certificate and key; all in PEM)
    may be read."""

    def __init__(self, user=None, password=None, token=None, tls=False, mutual=False, cluster=(), routes=()):
        """mutual: TLS, and clients need a certificate. cluster: its name and the port of its own route; routes: the
        ports of all of them."""
        self.user, self.password, self.token, self.encrypted = user, password, token, tls or mutual
        self.mutual, self.client = mutual, None
        self.cluster, self.routes = cluster, list(routes)
        self.dir = self.process = self.authority = self.context = None
        self.port, self.monitor = kube.free_ports(2)

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.kill9()
        if self.dir:
            shutil.rmtree(self.dir, ignore_errors=True)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def connector(self):
        """As a MasterQueue names it."""
        who = ":".join(urllib.parse.quote(word, safe="") for word in (self.user, self.password, self.token) if word)
        return f"{'tls' if self.encrypted else 'nats'}://{who + '@' if who else ''}{self.address}"

    def _config(self):
        lines = [f'listen: "{self.address}"', f'http: "127.0.0.1:{self.monitor}"', f'server_name: "n{self.port}"']
        if self.user:
            lines.append(f"authorization {{ user: {json.dumps(self.user)}, password: {json.dumps(self.password)} }}")
        if self.token:
            lines.append(f"authorization {{ token: {json.dumps(self.token)} }}")
        if self.encrypted:
            demands = f', ca_file: "{self.dir}/ca.crt", verify: true' if self.mutual else ""
            lines.append(f'tls {{ cert_file: "{self.dir}/tls.crt", key_file: "{self.dir}/tls.key"{demands} }}')
        if self.cluster:
            routes = ", ".join(f'"nats-route://127.0.0.1:{port}"' for port in self.routes)
            name, port = self.cluster
            lines.append(f'cluster {{ name: {name}, listen: "127.0.0.1:{port}", routes: [{routes}] }}')
        return "\n".join(lines) + "\n"

    def start(self):
        if not self.dir:
            self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-nats-"))
            if self.encrypted:
                certificates(self.dir)
                self.authority = (self.dir / "ca.crt").read_text()
                self.client = tuple((self.dir / f"client.{part}").read_text() for part in ("crt", "key"))
                self.context = ssl.create_default_context(cadata=self.authority)
                self.context.load_cert_chain(self.dir / "client.crt", self.dir / "client.key")
            (self.dir / "nats.conf").write_text(self._config())
        command = ["setpriv", "--pdeathsig", "KILL", program(), "-c", str(self.dir / "nats.conf")]
        with open(self.dir / "log", "a") as log:
            self.process = kube._spawner.submit(
                subprocess.Popen, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            ).result()
        until(self._listening, 30, "a NATS server")
        return self

    def _listening(self):
        if self.process.poll() is not None:
            raise Failure(f"nats-server ended with {self.process.returncode}:\n{self.log()}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill9(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def lame_duck(self):
        """It asks its clients to leave, accepts none, and closes what is left from 10 s later on."""
        self.process.send_signal(signal.SIGUSR2)

    def clients(self):
        """How many connections it has besides those of providers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.monitor, timeout=10)
        try:
            connection.request("GET", "/connz?limit=1000")
            listed = json.loads(connection.getresponse().read())["connections"]
        finally:
            connection.close()
        return sum(c.get("name") != PROVIDER for c in listed)

    def log(self, lines=20):
        path = self.dir / "log" if self.dir else None
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path and path.exists() else ""


@contextlib.contextmanager
def servers(count):
    """A cluster of so many, each of which tells its clients about the others."""
    routes = kube.free_ports(count)
    with contextlib.ExitStack() as stack:
        all_of_them = [Server(cluster=("test", port), routes=routes) for port in routes]
        for one in all_of_them:
            stack.enter_context(one)

        def joined(one):
            with contextlib.closing(Connection(one)) as connection:
                return len(connection.info.get("connect_urls") or []) == count

        for one in all_of_them:
            until(lambda one=one: joined(one), 30, "the cluster of NATS servers")
        yield all_of_them


class Connection:
    """Of a publisher."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 10)
        self._lines = self.socket.makefile("rb")
        self.info = json.loads(self._line().partition(b" ")[2])
        if self.info.get("tls_required"):
            self.socket = server.context.wrap_socket(self.socket, server_hostname="localhost")
            self._lines = self.socket.makefile("rb")
        who = {"user": server.user, "pass": server.password, "auth_token": server.token}
        options = {"verbose": False, "pedantic": False, "lang": "test", "version": "1", "name": PROVIDER}
        self._write("CONNECT", json.dumps({**options, **{key: value for key, value in who.items() if value}}))
        self.flush()

    def _write(self, *words, payload=None):
        data = " ".join(words).encode() + b"\r\n"
        self.socket.sendall(data if payload is None else data + payload + b"\r\n")

    def _line(self):
        line = self._lines.readline()
        if not line:
            raise OSError("the NATS server closed the connection")
        return line.rstrip()

    def send(self, subject, payload):
        self._write("PUB", subject, str(len(payload)), payload=payload)

    def flush(self):
        """Returns when the server has taken everything."""
        self._write("PING")
        while (line := self._line()) != b"PONG":
            if line.startswith(b"-ERR"):
                raise Failure(f"the NATS server says {line.decode()}")
            if line == b"PING":
                self._write("PONG")

    def close(self):
        self.socket.close()


def payload(cpu="8", memory="32Gi", pods=10, gpu=0, labels=(), taints=(), **more):
    """What a provider says of its pool."""
    quotas = {"cpu": cpu, "memory": memory, "pods": pods, "nvidia.com/gpu": gpu, **more}
    return {"quotas": quotas, "labels": list(labels), "taints": list(taints)}


class Providers:
    """Publish what each pool has, again and again; connect again when the server was away."""

    def __init__(self, server, period=PERIOD):
        self.server, self.period = server, period
        self.said = {}  # subject: bytes
        self._new, self._end, self._guard = threading.Event(), False, threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end = True
        self._new.set()
        self._thread.join(30)

    def publish(self, subject, what):
        """From now on, beginning at once. what: a payload, or bytes of any kind."""
        with self._guard:
            self.said[subject] = what if isinstance(what, bytes) else json.dumps(what).encode()
        self._new.set()

    def silence(self, *subjects):
        with self._guard:
            for subject in subjects:
                self.said.pop(subject, None)

    def move(self, server):
        self.server = server

    def _run(self):
        connection = used = None
        while not self._end:
            try:
                if not connection or used is not self.server:
                    used = self.server
                    connection = Connection(used)
                with self._guard:
                    said = list(self.said.items())
                for subject, text in said:
                    connection.send(subject, text)
                connection.flush()
            except (OSError, ValueError, Failure):
                connection = None
            self._new.wait(self.period)
            self._new.clear()
        if connection:
            connection.close()
