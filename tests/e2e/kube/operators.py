# SPDX-License-Identifier: Apache-2.0
"""Real operators beside a control plane or `sluice up`: built from their modules, installed by their own manifests,
run as one process each with the rights of their service account.

    with Cluster(nodes=2) as cluster, Operator("jobset", cluster) as jobset:
        jobset.restart()
        jobset.log()

Which there are and where each comes from says operators.modules; RECIPES says how each is run. Of the manifests
everything is applied but the Deployments, whose place a process on this machine takes. It serves its webhooks on
loopback, and their configurations name that address where they name a Service.
"""

import base64
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import string
import subprocess
import tempfile

import kube
import natsd
from kube import Failure, Unavailable, until
from sluice import established

SERVICE = re.compile(r"^( *)service:\n +name: (\S+)\n +namespace: (\S+)\n +path: (\S+)\n", re.M)
READY_SECONDS = 120
PRIVATE = {"HOME": "/tmp", "TMPDIR": "/tmp", "KUBECONFIG": "/tmp/kubeconfig"}
CONTROLLER_RUNTIME = ("--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:$health")
# What they are told in a file of their own; JobSet and LeaderWorkerSet have the same form.
CONFIG = """apiVersion: config.$group/v1alpha1
kind: Configuration
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "127.0.0.1:$health"}
webhook: {host: 127.0.0.1, port: $webhook, certDir: $certs}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
"""
TRAINER = """apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "127.0.0.1:$health"}
webhook: {host: 127.0.0.1, port: $webhook}
leaderElection: {leaderElect: false}
certManagement: {enable: false}
"""
APPWRAPPER = """controllerManager: {health: {bindAddress: "127.0.0.1:$health"}, metrics: {bindAddress: "0"}}
certManagement: {certificateDir: $certs}
"""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How an operator is run. $dir, $certs, $health and $webhook stand for what is known when it starts."""

    manifests: tuple  # folders of its module of which kustomize makes objects
    account: tuple  # the namespace and the name of its service account
    flags: tuple = ()
    config: str = ""  # $dir/config.yaml
    environment: dict = dataclasses.field(default_factory=dict)
    namespace: str = ""  # that the folders leave open
    without: tuple = ()  # names of objects that another operator has
    changed: dict = dataclasses.field(default_factory=dict)  # the data of its ConfigMaps, by path
    ready: str = "/readyz"  # which path says that it is, or what it logs
    ports: dict = dataclasses.field(default_factory=dict)  # those that it has no flag for
    private_tmp: bool = False  # it looks for its certificates in /tmp, wherever TMPDIR is


RECIPES = {
    "flux-operator": Recipe(
        ("config/default",), ("operator-system", "operator-controller-manager"), CONTROLLER_RUNTIME
    ),
    "jobset": Recipe(
        ("config/default",),
        ("jobset-system", "jobset-controller-manager"),
        ("--config=$dir/config.yaml",),
        CONFIG.replace("$group", "jobset.x-k8s.io"),
    ),
    "lws": Recipe(
        ("config/default",),
        ("lws-system", "lws-controller-manager"),
        ("--config=$dir/config.yaml",),
        CONFIG.replace("$group", "lws.x-k8s.io"),
    ),
    "mpi-operator": Recipe(
        ("manifests/base",),
        ("kubeflow", "mpi-operator"),
        ("--lock-namespace=kubeflow", "--kube-api-qps=100", "--kube-api-burst=200"),
        ready="Leading started",
        ports={"health": 8080},
    ),
    "kwok": Recipe(
        ("kustomize/kwok", "kustomize/stage/fast"),
        ("kube-system", "kwok-controller"),
        (
            "--kubeconfig=$dir/kubeconfig",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--enable-crds=Stage",
            "--server-address=127.0.0.1:$health",
            "--node-ip=127.0.0.1",
        ),
        ready="/healthz",
    ),
    "kuberay": Recipe(
        ("config/default",),
        ("default", "kuberay-operator"),
        ("--metrics-addr=0", "--health-probe-bind-address=127.0.0.1:$health", "--enable-leader-election=false"),
    ),
    "training-operator": Recipe(
        ("manifests/overlays/standalone",),
        ("kubeflow", "training-operator"),
        (
            *CONTROLLER_RUNTIME,
            "--webhook-server-port=$webhook",
            # All but MPIJob, which the MPI operator has in a later version.
            *(f"--enable-scheme={kind}job" for kind in ("tf", "pytorch", "xgboost", "paddle", "jax")),
        ),
        without=("mpijobs.kubeflow.org",),
        private_tmp=True,
    ),
    "trainer": Recipe(
        ("manifests/base/crds", "manifests/base/rbac", "manifests/base/webhook"),
        ("kubeflow-system", "kubeflow-trainer-controller-manager"),
        ("--config=$dir/config.yaml",),
        TRAINER,
        namespace="kubeflow-system",
    ),
    "appwrapper": Recipe(
        ("config/default",),
        ("appwrapper-system", "appwrapper-controller-manager"),
        environment={"NAMESPACE": "appwrapper-system"},
        changed={"appwrapper-system/configmaps/appwrapper-operator-config": {"config.yaml": APPWRAPPER}},
        ports={"webhook": 9443},
    ),
    "workflow-controller": Recipe(
        ("manifests/cluster-install",),
        ("argo", "argo"),
        ("--executor-image=none",),
        environment={"LEADER_ELECTION_DISABLE": "true"},
        changed={"argo/configmaps/workflow-controller-configmap": {"metricsConfig": "enabled: false"}},
        ready="/healthz",
        ports={"health": 6060},
    ),
}


def chosen():
    """The names of those that are to be tested: SL_OPERATORS, or those that `make check` runs."""
    rows = [line.split() for line in (kube.HERE / "operators.modules").read_text().splitlines() if line[:1] != "#"]
    assert {row[0] for row in rows} == set(RECIPES)
    said = os.environ.get("SL_OPERATORS", "").split()
    if said == ["all"]:
        return set(RECIPES)
    if unknown := set(said) - set(RECIPES):
        raise Failure(f"SL_OPERATORS: {sorted(unknown)}; there are {sorted(RECIPES)}, and 'all'")
    return set(said) or {row[0] for row in rows if row[-1] == "check"}


def build(name):
    """The program and the folder of its module; builds it if it is not there yet, which takes a minute or so."""
    run = subprocess.run([kube.HERE / "build", name], stdout=subprocess.PIPE, text=True)
    if run.returncode == 77:
        raise Unavailable(f"tests/e2e/kube/build says that {name} cannot be built here")
    if run.returncode != 0:
        raise Failure(f"tests/e2e/kube/build {name} failed")
    bin = pathlib.Path(run.stdout.strip())
    return bin / name, bin.parent / "source"


class Process:
    """One of a program that works with the API: in a folder of its own, gone afterwards. `process`, `dir` and `ports`
    may be read."""

    ready_at = "/readyz"  # which path says that it is ready, or what it logs

    def __init__(self, name, cluster):
        self.name, self.cluster = name, cluster
        self.dir = self.process = None
        self.ports, self._kept = {}, contextlib.ExitStack()

    def __enter__(self):
        try:
            self.install()
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            self._kept.close()
            if self.dir:
                shutil.rmtree(self.dir, ignore_errors=True)

    def install(self):
        """Makes what the process needs; does not start it."""
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix=f"sluice-{self.name}-"))
        self.ports = dict(zip(("health", "webhook"), kube.free_ports(2)))

    def command(self):
        """What is started, and its environment."""
        raise NotImplementedError

    def start(self, seconds=READY_SECONDS):
        command, environment = self.command()
        with open(self.dir / "log", "a") as log:
            self._from = log.tell()
            self.process = kube._spawner.submit(
                subprocess.Popen,
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.dir,
                env={"GOGC": kube.GOGC, **os.environ, **environment},
                start_new_session=True,
            ).result()
        try:
            until(self.ready, seconds, "readiness")
        except Failure as why:
            raise Failure(f"{self.name}: {why}; the last that it logged:\n{self.log()}") from None
        return self

    def ready(self):
        if self.process.poll() is not None:
            raise Failure(f"it ended with {self.process.returncode}")
        if not self.ready_at.startswith("/"):
            return self.ready_at in (self.dir / "log").read_text(errors="replace")[self._from :]
        connection = self.connection()
        try:
            connection.request("GET", self.ready_at)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.ports["health"], timeout=10)

    def stop(self, seconds=30):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        self.kill9()

    def kill9(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def restart(self):
        self.kill9()
        return self.start()

    def log(self, lines=40):
        path = self.dir / "log" if self.dir else None
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path and path.exists() else ""


class Component(Process):
    """kube-controller-manager or kube-scheduler, as administrator of another API server."""

    ready_at = "/healthz"

    def __init__(self, name, cluster, flags=()):
        super().__init__(name, cluster)
        self.flags = list(flags)

    def command(self):
        config = self.cluster.kubeconfig
        flags = [
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports['health']}",
            f"--cert-dir={self.dir}",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
            *self.flags,
        ]
        return ["setpriv", "--pdeathsig", "KILL", str(self.cluster.bin / self.name), *flags], {}

    def connection(self):
        insecure = ssl._create_unverified_context()  # it has made its certificate itself
        return http.client.HTTPSConnection("127.0.0.1", self.ports["health"], timeout=10, context=insecure)


class Operator(Process):
    """One of RECIPES."""

    def __init__(self, name, cluster, environment=None):
        """environment: more than the recipe has."""
        super().__init__(name, cluster)
        self.recipe, self.environment = RECIPES[name], environment or {}
        self.ready_at = self.recipe.ready

    def install(self):
        """Applies its manifests, too."""
        self.program, self.source = build(self.name)
        super().install()
        for name, port in self.recipe.ports.items():
            self._kept.enter_context(kube.claimed(port, self.name))
            self.ports[name] = port
        self.certs = self.dir / "k8s-webhook-server" / "serving-certs"
        self.certs.mkdir(parents=True)
        objects = self._objects()
        for chosen in (True, False):  # first the kinds, of which the others may be
            some = [text for kind, _, text in objects if (kind == "CustomResourceDefinition") == chosen]
            self._apply("\n---\n".join(some))
            if chosen:
                until(lambda: established(self.cluster), READY_SECONDS, f"the kinds of {self.name}")
        for path, data in self.recipe.changed.items():
            data = {key: self._filled(text) for key, text in data.items()}
            self.cluster.request("PATCH", f"/api/v1/namespaces/{path}", {"data": data}, "application/merge-patch+json")
        (self.dir / "config.yaml").write_text(self._filled(self.recipe.config))
        self._kubeconfig()

    def _apply(self, text):
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)

    def _filled(self, text):
        known = {name: str(port) for name, port in self.ports.items()}
        return string.Template(text).substitute(known, dir=self.dir, certs=self.certs)

    def _rendered(self):
        """What kustomize makes of its folders."""
        folder = self.dir / "manifests"
        folder.mkdir()
        source = self.source.resolve()
        lines = ["resources:", *(f"- {os.path.relpath(source / part, folder)}" for part in self.recipe.manifests)]
        if self.recipe.namespace:
            lines.append(f"namespace: {self.recipe.namespace}")
        (folder / "kustomization.yaml").write_text("\n".join(lines) + "\n")
        return self.cluster.kubectl("kustomize", folder)

    def _objects(self):
        """All of its manifests but the Deployments, as (kind, name, text)."""
        namespace = self.recipe.account[0]
        found = [("Namespace", namespace, f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {namespace}\n")]
        for text in re.split(r"^---\n", self._rendered(), flags=re.M):
            kind, name = (re.search(form, text, re.M)[1] for form in (r"^kind: (\S+)$", r"^  name: (\S+)$"))
            if kind not in ("Deployment", "Namespace") and name not in self.recipe.without:
                found.append((kind, name, text))
        services = {
            f"{m[2]}.{m[3]}.svc" for kind, _, text in found if "Webhook" in kind for m in SERVICE.finditer(text)
        }
        if not services:
            return found
        natsd.certificates(self.certs, services)
        bundle = base64.b64encode((self.certs / "ca.crt").read_bytes()).decode()
        where = f"https://127.0.0.1:{self.ports['webhook']}"

        def called(text):
            return SERVICE.sub(lambda m: f"{m[1]}url: {where}{m[4]}\n{m[1]}caBundle: {bundle}\n", text)

        return [
            (
                kind,
                name,
                called(text) if "Webhook" in kind else self._with_certificate(text) if kind == "Secret" else text,
            )
            for kind, name, text in found
        ]

    def _with_certificate(self, text):
        """The Secret in which an operator keeps the certificate that it would make for itself: ours is as good."""
        names = ("ca.crt", "ca.key", "tls.crt", "tls.key")
        data = {name: base64.b64encode((self.certs / name).read_bytes()).decode() for name in names}
        return text.rstrip() + f"\ndata: {json.dumps(data)}\n"

    def _kubeconfig(self):
        namespace, account = self.recipe.account
        token = self.cluster.kubectl("create", "token", account, "-n", namespace, "--duration=2h").strip()
        authority = base64.b64encode(self.cluster.authority.encode()).decode()
        text = json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
                "clusters": [
                    {"name": "c", "cluster": {"server": self.cluster.url, "certificate-authority-data": authority}}
                ],
                "users": [{"name": "u", "user": {"token": token}}],
            }
        )
        path = self.dir / "kubeconfig"
        path.touch(mode=0o600)
        path.write_text(text)

    def command(self):
        flags = [self._filled(flag) for flag in self.recipe.flags]
        environment = {
            "HOME": str(self.dir),
            "TMPDIR": str(self.dir),
            "KUBECONFIG": str(self.dir / "kubeconfig"),
            **self.recipe.environment,
            **self.environment,
        }
        if self.recipe.private_tmp:
            return self._privately(flags), {**environment, **PRIVATE}
        return ["setpriv", "--pdeathsig", "KILL", str(self.program), *flags], environment

    def _privately(self, flags):
        """Its folder is its /tmp, in a mount namespace of its own."""
        (self.dir / "program").touch()
        script = 'mount --bind "$1" "$2/program" && mount --bind "$2" /tmp && shift 2 && cd /tmp && exec "$@"'
        own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
        if subprocess.run([*own, "true"], capture_output=True).returncode:
            raise Unavailable(f"{self.name} needs a mount namespace of its own, and {' '.join(own)} is refused here")
        started = ["setpriv", "--pdeathsig", "KILL", "/tmp/program", *flags]
        return [*own, "sh", "-c", script, "sh", str(self.program), str(self.dir), *started]


class Operators:
    """Those that run, by name, beside one cluster: what a test needs, and no others."""

    def __init__(self, cluster):
        self.cluster, self.running, self._prepared = cluster, {}, set()
        self._kept = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self._kept:
            self.only()

    def only(self, *names, environment=None):
        """Ends all others, and starts those that do not run, in this order."""
        for name in [name for name in self.running if name not in names]:
            self.running.pop(name).__exit__()
        for name in names:
            if name not in self.running:
                self.running[name] = Operator(name, self.cluster, environment=environment).__enter__()

    def need(self, job):
        """Those of a job's kind (jobkinds.py), and what it needs besides."""
        if not set(job.operators) <= set(self.running):
            environment = self._kept.enter_context(job.outside())
            self.only(*job.operators, environment=environment)
        if job.kind not in self._prepared:
            job.prepare(self.cluster)
            self._prepared.add(job.kind)

    def logs(self):
        return "\n".join(f"--- {name}, the last that it logged\n{one.log(30)}" for name, one in self.running.items())
