# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes control plane for tests: on loopback, in a folder of its own, gone afterwards.

    from kube import Cluster

    with Cluster(nodes=4) as cluster:
        cluster.kubectl("apply", "-f", "-", input=manifest)
        cluster.kill9("kube-apiserver")
        cluster.restart("kube-apiserver")       # the same port, the same data

Cluster(only="api") has etcd and kube-apiserver alone and is up in a few seconds; nothing runs, binds
or collects there, and a deleted namespace stays. The programs come from tests/e2e/kube/build, the nodes
from the fake kubelet in tests/e2e/kube/kubelet, which says how pods are told how long to run.

What was started dies with the process that started it, however that ends; detached clusters, which
the program tests/e2e/kube/cluster makes, stay until they are stopped.
"""

import base64
import concurrent.futures
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
COMPONENTS = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "fakelet"]
READY_SECONDS = 180
PREFIX = "sluice-kube-"

# A child is killed when the thread that made it ends, so one thread that lives as long as the
# process makes them all: a cluster may be started and restarted from any thread of a test.
_spawner = concurrent.futures.ThreadPoolExecutor(max_workers=1)


class Unavailable(Exception):
    """A cluster cannot be had on this machine; a test that meets this is skipped."""


class Failure(Exception):
    """A component, kubectl or the API server did not do what was asked for."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status  # of HTTP, where that was the answer


def build():
    """The folder of programs; builds them if they are not there yet, which takes minutes."""
    if not shutil.which("openssl"):
        raise Unavailable("openssl is not installed (the package of that name)")
    run = subprocess.run([HERE / "build"], stdout=subprocess.PIPE, text=True)
    if run.returncode == 77:
        raise Unavailable("tests/e2e/kube/build says that Kubernetes cannot be built here")
    if run.returncode != 0:
        raise Failure("tests/e2e/kube/build failed")
    return pathlib.Path(run.stdout.strip())


def until(question, seconds=60, what="it"):
    """Asks until the answer is true and returns it."""
    end = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > end:
            raise Failure(f"waited {seconds} s in vain: {what}")
        time.sleep(0.05)
    return answer


_claims = []  # sockets with the names of ports


def free_ports(count):
    """Ports that nobody uses, and that no outgoing connection gets while a component is down.

    Between this and the moment when a component listens, and while it is down, another test may look for
    ports, too: each is claimed by a name in the kernel for as long as this process lives."""
    ports = []
    while len(ports) < count:
        port = random.randrange(20000, 32000)  # below what Linux gives to outgoing connections
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0sluice-tests-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        ports.append(port)
    return ports


@contextlib.contextmanager
def claimed(port, who, seconds=120):
    """A port that a program insists on: waits until nobody else of us has it."""
    with socket.socket(socket.AF_UNIX) as claim, socket.socket() as probe:

        def free():
            with contextlib.suppress(OSError):
                claim.bind(f"\0sluice-tests-port-{port}")
                return True

        def unused():
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return True

        until(free, seconds, f"port {port}, on which {who} insists, from another test")
        if not unused():
            raise Unavailable(f"port {port} is in use, and {who} insists on it")
        probe.close()
        yield


def began(pid):
    """When a process began, in the kernel's ticks: with its id this names it for ever. None: gone."""
    try:
        state, *fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else int(fields[18])


def sweep():
    """Removes the folders of tests that were killed: those whose lock nobody holds any more."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        try:
            with open(folder / "lock") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass  # in use, not ours, or just being made


class Administrator:
    """Somebody who may do everything: through an API server that has `port`, `tls` and `headers`, or by kubectl with
    `kubeconfig`, a program in the folder `bin`; `dir` is for its cache."""

    headers = {}

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def kubectl(self, *args, input=None, check=True):
        """Runs kubectl as administrator and returns its standard output."""
        run = subprocess.run(
            [
                self.bin / "kubectl",
                f"--kubeconfig={self.kubeconfig}",
                f"--cache-dir={self.dir / 'cache'}",
                *map(str, args),
            ],
            input=input,
            capture_output=True,
            text=True,
        )
        if check and run.returncode != 0:
            raise Failure(f"kubectl {' '.join(map(str, args))}: exit {run.returncode}\n{run.stderr}")
        return run.stdout

    def request(self, method, path, body=None, type="application/json", timeout=60):
        """One request to the API server, as administrator; returns the object it answers with."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)
        try:
            answer, text = self._answer(connection, method, path, None if body is None else json.dumps(body), type)
        finally:
            connection.close()
        return self._said(answer, text, f"{method} {path}")

    def _answer(self, connection, method, path, body=None, type="application/json"):
        headers = {"Content-Type": type, "Accept": "application/json", **self.headers}
        end = time.monotonic() + 15
        while True:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
            # A definition has just changed, say its CA: whoever asks is to come back, as any client does.
            if answer.status != 429 or "(re)initializing" not in text or time.monotonic() > end:
                return answer, text
            time.sleep(0.3)

    def _said(self, answer, text, what):
        if answer.status >= 400:
            raise Failure(f"{what}: {answer.status} {text}", answer.status)
        return json.loads(text) if text.startswith(("{", "[")) else text

    def get(self, path):
        """Over a connection that stays open, one for each thread: tests ask again and again until something is so, and
        most of the work would be to connect."""
        kept = self.__dict__.setdefault("_kept", threading.local())
        where = self.port, self.tls
        for last in (False, True):
            if getattr(kept, "where", None) != where:
                kept.connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.tls)
                kept.where = where
            try:
                return self._said(*self._answer(kept.connection, "GET", path), f"GET {path}")
            except (OSError, http.client.HTTPException):
                kept.connection.close()
                kept.where = None
                if last:
                    raise

    def _try(self, path):
        """What is at a path, or None, also if the API server does not answer."""
        try:
            return self.get(path)
        except (Failure, OSError, http.client.HTTPException):
            return None


# A quarter of what these programs do is collecting garbage; memory is there for the minutes that a test takes.
GOGC = "300"


class Cluster(Administrator):
    """One control plane. `dir`, `bin`, `kubeconfig` and `ports` (by component) may be read."""

    def __init__(
        self,
        dir=None,
        nodes=0,
        only=None,
        cpu="32",
        memory="128Gi",
        pods="110",
        resources=(),
        apiserver_flags=(),
        controller_flags=(),
        detached=False,
        gogc=GOGC,
        ready_seconds=READY_SECONDS,
    ):
        """only="api": etcd and kube-apiserver alone. resources: more of each node, as NAME=AMOUNT."""
        if only not in (None, "api"):
            raise ValueError("only: 'api' is all there is")
        self.dir = pathlib.Path(dir).resolve() if dir else None
        self.detached, self.gogc, self.ready_seconds = detached, gogc, ready_seconds
        self.components = COMPONENTS[:2] if only == "api" else COMPONENTS
        self.node_flags = [f"--nodes={nodes}", f"--cpu={cpu}", f"--memory={memory}", f"--pods={pods}"]
        self.node_flags += [f"--resource={r}" for r in resources]
        self.nodes = nodes
        self.apiserver_flags = list(apiserver_flags)
        self.controller_flags = list(controller_flags)
        self.bin = None
        self.ports = {}
        self.running = {}  # component: [process id, when it began]
        self._children = {}
        self.tls = None
        self._temporary = dir is None
        self._lock = None

    @classmethod
    def attach(cls, dir):
        """The detached cluster that was started in a folder."""
        self = cls(dir, detached=True)
        saved = json.loads((self.dir / "cluster.json").read_text())
        self.bin = pathlib.Path(saved.pop("bin"))
        vars(self).update(saved)
        if self.kubeconfig.exists():
            self._load_tls()
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    @property
    def kubeconfig(self):
        return self.dir / "admin.kubeconfig"

    @property
    def port(self):
        return self.ports["kube-apiserver"]

    @property
    def authority(self):
        """Who signed its certificate, in PEM."""
        return (self.dir / "pki" / "ca.crt").read_text()

    # ---- start and stop ----

    def start(self):
        self.bin = build()
        sweep()
        if self._temporary:
            new = pathlib.Path(tempfile.mkdtemp(prefix="new-" + PREFIX))
            self._lock = open(new / "lock", "w")
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            # Has the name that sweep() looks for only now that it is locked.
            self.dir = new.rename(new.with_name(new.name.removeprefix("new-")))
        else:
            self.dir.mkdir(parents=True, exist_ok=True)
            if any(self.dir.iterdir()):  # what is there would be removed in the end
                raise Failure(f"{self.dir} is not empty")
        try:
            names = ["etcd", "etcd-peer"] + self.components[1:4]
            self.ports = dict(zip(names, free_ports(len(names))))
            self._certificates()
            self._launch("etcd")
            self._await("etcd")
            self._launch("kube-apiserver")
            self._await("kube-apiserver")
            for name in self.components[2:]:
                self._launch(name)
            for name in self.components[2:]:
                self._await(name)
            if len(self.components) > 2:  # without it no pod is accepted in the namespace
                until(
                    lambda: self._try("/api/v1/namespaces/default/serviceaccounts/default"),
                    READY_SECONDS,
                    "the service account of the namespace default",
                )
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self, keep=False):
        """Ends everything; with keep the folder stays as it is. May be called again."""
        for name in reversed(list(self.running)):
            self.kill9(name)
        if self.dir and not keep:
            for path in ("etcd", "pki", "log", "cache"):
                shutil.rmtree(self.dir / path, ignore_errors=True)
            for path in [*self.dir.glob("*.kubeconfig"), self.dir / "cluster.json", self.dir / "lock"]:
                path.unlink(missing_ok=True)
            try:
                self.dir.rmdir()
            except OSError:
                pass  # the caller keeps something there
        if self._lock:  # only now, or sweep() of another test would clear away beside us
            self._lock.close()
            self._lock = None

    def kill9(self, name):
        """Kills a component without a warning, and returns when it is gone."""
        pid, at = self.running.pop(name, (None, None))
        self._save()
        if pid is None or began(pid) != at:
            return
        os.kill(pid, signal.SIGKILL)
        if name in self._children:
            self._children.pop(name).wait()
        else:
            until(lambda: began(pid) != at, what=f"the end of {name}")

    def restart(self, name):
        """Starts a component again, after killing it if it runs, and waits until it is ready."""
        self.kill9(name)
        self._launch(name)
        self._await(name)
        if name == "etcd" and self.alive("kube-apiserver"):  # which has to find it again
            self._await("kube-apiserver")

    def alive(self, name):
        pid, at = self.running.get(name, (None, None))
        return pid is not None and began(pid) == at

    # ---- use ----

    def certificate(self, name, common_name, organization=None, hosts=(), authority="ca"):
        """A certificate of the cluster's authority, or of another one, or (None) a new authority; returns the
        paths of it and of its key."""
        pki = self.dir / "pki"
        cert, key = pki / f"{name}.crt", pki / f"{name}.key"
        subject = (f"/O={organization}" if organization else "") + f"/CN={common_name}"
        issuer = ["-CA", pki / f"{authority}.crt", "-CAkey", pki / f"{authority}.key"] if authority else []
        extensions = ["basicConstraints=critical,CA:" + ("FALSE" if issuer else "TRUE")]
        if hosts:
            extensions.append(
                "subjectAltName=" + ",".join(("IP:" if h.replace(".", "").isdigit() else "DNS:") + h for h in hosts)
            )
        config = pki / "openssl.cnf"  # the machine's own may add anything
        config.write_text("[req]\ndistinguished_name = dn\n[dn]\n")
        self._openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-config",
            config,
            "-subj",
            subject,
            "-days",
            "3650",
            *issuer,
            *(word for e in extensions for word in ("-addext", e)),
            "-keyout",
            key,
            "-out",
            cert,
        )
        return cert, key

    def user(self, name, common_name, organization=None):
        """Makes NAME.kubeconfig for a user; what the user may do is a matter of RBAC."""
        cert, key = self.certificate(name, common_name, organization)
        inline = {
            path: base64.b64encode(path.read_bytes()).decode() for path in (self.dir / "pki" / "ca.crt", cert, key)
        }
        path = self.dir / f"{name}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(f"""apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {{cluster: test, user: {name}}}
clusters:
- name: test
  cluster:
    server: {self.url}
    certificate-authority-data: {inline[self.dir / "pki" / "ca.crt"]}
users:
- name: {name}
  user:
    client-certificate-data: {inline[cert]}
    client-key-data: {inline[key]}
""")
        return path

    def add_nodes(self, count, cpu="32", memory="128Gi", pods="110"):
        """Makes node-1 to node-N, which the fake kubelet looks after, and waits until pods can be bound to them."""
        offered = {"cpu": cpu, "memory": memory, "pods": pods}
        for name in (f"node-{i + 1}" for i in range(count)):
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
            node = {
                "metadata": {"name": name, "labels": labels},
                "status": {"capacity": offered, "allocatable": offered},
            }
            self.request("POST", "/api/v1/nodes", node)
        until(lambda: self._nodes_ready(count), self.ready_seconds, f"{count} nodes")

    def log(self, name, lines=20):
        """The last lines that a component logged."""
        path = self.dir / "log" / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    # ---- inside ----

    def _openssl(self, *args):
        run = subprocess.run(["openssl", *map(str, args)], capture_output=True, text=True)
        if run.returncode != 0:
            raise Failure(f"openssl {args[0]}: {run.stderr}")

    def _certificates(self):
        pki = self.dir / "pki"
        pki.mkdir(mode=0o700, exist_ok=True)
        (self.dir / "log").mkdir(exist_ok=True)
        self.certificate("ca", "test-authority", authority=None)
        self.certificate("front-proxy-ca", "front-proxy-authority", authority=None)
        self.certificate("front-proxy", "front-proxy", authority="front-proxy-ca")
        self.certificate(
            "kube-apiserver",
            "kube-apiserver",
            hosts=["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1"],
        )
        self._openssl(
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-out",
            pki / "service-accounts.key",
        )
        self._openssl("pkey", "-in", pki / "service-accounts.key", "-pubout", "-out", pki / "service-accounts.pub")
        self.user("admin", "admin", "system:masters")
        for name in self.components[2:4]:
            self.user(name, f"system:{name}")
        self._load_tls()

    def _load_tls(self):
        pki = self.dir / "pki"
        self.tls = ssl.create_default_context(cafile=pki / "ca.crt")
        self.tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def _command(self, name):
        pki, port = self.dir / "pki", self.ports.get(name)
        kubeconfig = self.dir / f"{name}.kubeconfig"
        # Not for a fleet: nobody else wants to lead, and tests are not to wait for a client's modesty.
        controller = [
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            "--leader-elect=false",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ]
        if name == "etcd":
            client, peer = (f"http://127.0.0.1:{self.ports[p]}" for p in ("etcd", "etcd-peer"))
            # What was written outlives a killed process without fsync, and a machine that loses power
            # is nothing that a test wants to live through.
            flags = [
                f"--data-dir={self.dir / 'etcd'}",
                "--unsafe-no-fsync",
                "--log-level=warn",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--quota-backend-bytes=8589934592",
            ]
        elif name == "kube-apiserver":
            flags = [
                f"--etcd-servers=http://127.0.0.1:{self.ports['etcd']}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={port}",
                f"--tls-cert-file={pki / 'kube-apiserver.crt'}",
                f"--tls-private-key-file={pki / 'kube-apiserver.key'}",
                f"--client-ca-file={pki / 'ca.crt'}",
                "--authorization-mode=Node,RBAC",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={pki / 'service-accounts.pub'}",
                f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--allow-privileged=true",
                # What it shows to the servers of aggregated APIs.
                f"--requestheader-client-ca-file={pki / 'front-proxy-ca.crt'}",
                "--requestheader-allowed-names=front-proxy",
                "--requestheader-username-headers=X-Remote-User",
                "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                f"--proxy-client-cert-file={pki / 'front-proxy.crt'}",
                f"--proxy-client-key-file={pki / 'front-proxy.key'}",
                "--endpoint-reconciler-type=none",
            ]  # an endpoint may not be on loopback
            if len(self.components) == 2:  # nobody makes the accounts that this one asks for
                flags.append("--disable-admission-plugins=ServiceAccount")
            flags += self.apiserver_flags
        elif name == "kube-controller-manager":
            flags = (
                controller
                + [
                    "--use-service-account-credentials=true",
                    f"--root-ca-file={pki / 'ca.crt'}",
                    f"--service-account-private-key-file={pki / 'service-accounts.key'}",
                ]
                + self.controller_flags
            )
        elif name == "kube-scheduler":
            flags = controller + [f for f in self.controller_flags if f.startswith("--kube-api-")]
        else:
            flags = [f"--kubeconfig={self.kubeconfig}"] + self.node_flags
        return [str(self.bin / name)] + flags

    def _launch(self, name):
        command = self._command(name)
        if not self.detached:
            command = ["setpriv", "--pdeathsig", "KILL"] + command
        with open(self.dir / "log" / f"{name}.log", "a") as log:
            # A session of its own: what ends the test from a terminal is not to end this first.
            child = _spawner.submit(
                subprocess.Popen,
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.dir,
                start_new_session=True,
                env={"GOGC": self.gogc, **os.environ},
            ).result()
        self._children[name] = child
        self.running[name] = [child.pid, began(child.pid)]
        self._save()

    def _save(self):
        """Notes what attach() needs, as soon as there is something to stop."""
        if not self.dir or not self.dir.exists():
            return
        keys = ("components", "node_flags", "nodes", "apiserver_flags", "controller_flags", "ports", "running")
        text = json.dumps({"bin": str(self.bin), **{k: getattr(self, k) for k in keys}}, indent=1)
        new = self.dir / "cluster.json.new"
        new.write_text(text)
        new.replace(self.dir / "cluster.json")

    def _await(self, name):
        end = time.monotonic() + self.ready_seconds
        while not self._ready(name):
            gone = not self.alive(name)
            if gone or time.monotonic() > end:
                words = "ended" if gone else f"was not ready after {self.ready_seconds} s"
                raise Failure(f"{name} {words}; the last that it logged:\n{self.log(name)}")
            time.sleep(0.05)

    def _ready(self, name):
        if name == "fakelet":
            return self._nodes_ready(self.nodes)
        if name == "kube-apiserver":
            return self._try("/readyz") and self._try("/api/v1/namespaces/default")
        if name == "etcd":
            connection = http.client.HTTPConnection("127.0.0.1", self.ports[name], timeout=30)
            path = "/readyz"
        else:  # these make a certificate of their own as they start
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.ports[name], timeout=30, context=ssl._create_unverified_context()
            )
            path = "/readyz" if name == "kube-scheduler" else "/healthz"
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _nodes_ready(self, count):
        """Whether pods can be bound to so many nodes."""
        if not count:
            return True
        nodes = (self._try("/api/v1/nodes") or {"items": []})["items"]
        taken = [n for n in nodes if not n["spec"].get("taints")]
        conditions = [n["status"].get("conditions") or [] for n in taken]
        ready = [n for n in conditions if any(c["type"] == "Ready" and c["status"] == "True" for c in n)]
        return len(ready) >= count
