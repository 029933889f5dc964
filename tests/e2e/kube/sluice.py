# SPDX-License-Identifier: Apache-2.0
"""`sluice serve` beside a real control plane, and what tests of it share.

    from kube import Cluster
    from sluice import Sluice

    with Cluster(nodes=4) as cluster, Sluice(cluster) as sluice:
        sluice.kill9()
        sluice.start()                          # the same ports, the same configuration

The program under test is the one that SL_PROGRAM names, else build/sluice of the repository.
"""

import base64
import concurrent.futures
import http.client
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import kube
from kube import Failure, Unavailable, until

ROOT = kube.HERE.parents[2]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
SERVICE = re.compile(r"^( *)service:\n +name: kueue-webhook-service\n +namespace: kueue-system\n +path: (\S+)\n", re.M)
CONVERSION = re.compile(r"^( *)conversion:\n(?:\1 +.*\n)+", re.M)
_numbers = itertools.count(1)


def program():
    """The program under test."""
    path = pathlib.Path(os.environ.get("SL_PROGRAM") or ROOT / "build" / "sluice").resolve()
    if not os.access(path, os.X_OK):
        raise Unavailable(f"{path} is not built")
    return path


def install_kinds(cluster, webhook=None, again=False):
    """Makes our kinds known. webhook: the (address, authority in PEM) that converts and reviews; without
    one objects are stored as they come, and only v1beta2 is of use. again: they may be known already."""
    parts = sorted((ROOT / "api").glob("*.yaml"))
    texts = [p.read_text() for p in parts]
    if webhook:
        documents = (ROOT / "deploy" / "manifests.yaml").read_text().split("\n---\n")
        texts += [d + "\n" for d in documents if "WebhookConfiguration\nmetadata:" in d]
    text = "---\n".join(texts)
    if webhook:
        bundle = base64.b64encode(webhook[1].encode()).decode()
        text = SERVICE.sub(lambda m: f"{m[1]}url: {webhook[0]}{m[2]}\n{m[1]}caBundle: {bundle}\n", text)
    else:
        text = CONVERSION.sub(lambda m: f"{m[1]}conversion: {{strategy: None}}\n", text)
    how = ("apply", "--server-side", "--force-conflicts") if again else ("create",)
    cluster.kubectl(*how, "-f", "-", input=text)

    until(lambda: established(cluster), 60, "our kinds in the API")
    for plural in ("workloads", "clusterqueues", "localqueues"):
        until(lambda: cluster._try(f"{KUEUE}/{plural}?limit=1"), 60, f"an answer about {plural}")


def established(cluster):
    """All kinds that there are definitions of are served."""
    found = cluster.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    return all(holds(definition, "Established") for definition in found)


def at_rest(sluice, seconds=2):
    """The state of Sluice, once it has not changed for so long."""
    was, since = None, 0.0

    def stays():
        nonlocal was, since
        now = sluice.state()
        if now != was:
            was, since = now, time.monotonic()
        return time.monotonic() - since > seconds

    until(stays, what="a state that stays as it is")
    return was


def samples(text):
    """Values by series, from Prometheus' text."""
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line[:1] not in ("#", "")
    }


def beds(nodes, cpu):
    """A control plane and Sluice beside it; with SL_ON=up `sluice up`, which is both. Both have nodes of that size."""
    if os.environ.get("SL_ON") != "up":
        cluster = kube.Cluster(nodes=nodes, cpu=cpu)
        return cluster, Sluice(cluster)
    sys.path.insert(0, str(ROOT / "tests" / "e2e" / "up"))
    import up

    cluster = up.Up(flags=[f"--nodes={nodes}", f"--node-cpu={cpu}"])
    return cluster, up.Queueing(cluster)


class Sluice:
    """One replica. `ports` (webhook, health, metrics, visibility) and `process` may be read."""

    def __init__(
        self,
        cluster,
        install=True,
        webhooks=True,
        controllers=None,
        elect=False,
        config="",
        flags=(),
        kubeconfig=None,
        frameworks=("batch/job",),
    ):
        """install=False: somebody else did that; "again": perhaps. webhooks=False: nobody reviews or converts.
        config: more lines of the Configuration. frameworks: the integrations."""
        self.cluster = cluster
        self.install = install
        self.webhooks = webhooks
        self.number = next(_numbers)
        self.kubeconfig = kubeconfig
        self.process = None
        self.ports = {}
        self._config = config
        self._frameworks = list(frameworks)
        self._elect = elect
        self._flags = list(flags)
        self.set_controllers(controllers)

    def set_controllers(self, names):
        """Which of them run when it starts next; None: all."""
        self._controllers = [] if names is None else [f"--controllers={names}"]

    def __enter__(self):
        if not self.ports:
            self.prepare()
        return self.start()

    def __exit__(self, *_):
        self.kill9()

    @property
    def dir(self):
        return self.cluster.dir / "log" / f"sluice-{self.number}"

    @property
    def log_path(self):
        return self.cluster.dir / "log" / f"sluice-{self.number}.log"

    def prepare(self):
        """Writes the configuration and installs our kinds."""
        self.program = program()
        self.dir.mkdir(exist_ok=self.install == "again")
        self.ports = dict(zip(("webhook", "health", "metrics", "visibility"), kube.free_ports(4)))
        cert, key = self.cluster.certificate(
            f"sluice-{self.number}",
            "sluice",
            hosts=["127.0.0.1", "localhost", "kueue-visibility-server.kueue-system.svc"],
        )
        (self.dir / "tls.crt").write_bytes(cert.read_bytes())
        (self.dir / "tls.key").write_bytes(key.read_bytes())
        (self.dir / "config.yaml").write_text(f"""apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
webhook: {{host: 127.0.0.1, port: {self.ports["webhook"]}, certDir: {self.dir}}}
health: {{healthProbeBindAddress: "127.0.0.1:{self.ports["health"]}"}}
metrics: {{bindAddress: "127.0.0.1:{self.ports["metrics"]}"}}
visibilityServer: {{bindAddress: 127.0.0.1, bindPort: {self.ports["visibility"]}}}
leaderElection: {{leaderElect: {str(self._elect).lower()}}}
internalCertManagement: {{enable: false}}
integrations: {{frameworks: {json.dumps(self._frameworks)}}}
{self._config}
""")
        if self.install:
            authority = (self.cluster.dir / "pki" / "ca.crt").read_text()
            install_kinds(
                self.cluster,
                (f"https://127.0.0.1:{self.ports['webhook']}", authority) if self.webhooks else None,
                again=self.install == "again",
            )

    # ---- life ----

    def start(self, ready=120):
        """Starts it and waits until it is ready, which is noted in `ready_after`; ready=0 does not wait."""
        command = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            str(self.program),
            "serve",
            f"--kubeconfig={self.kubeconfig or self.cluster.kubeconfig}",
            f"--config={self.dir / 'config.yaml'}",
            "--metrics-secure=false",
            *self._flags,
            *self._controllers,
        ]
        with open(self.log_path, "a") as log:
            self.began = time.monotonic()
            self.process = kube._spawner.submit(
                subprocess.Popen, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            ).result()
        if ready:
            self.await_ready(ready)
        return self

    def await_ready(self, seconds=120):
        end = self.began + seconds
        while not self.is_ready():
            if self.process.poll() is not None:
                raise Failure(f"sluice ended with {self.process.returncode}; the last that it logged:\n{self.log()}")
            if time.monotonic() > end:
                raise Failure(f"sluice was not ready after {seconds} s; the last that it logged:\n{self.log()}")
            time.sleep(0.01)
        self.ready_after = time.monotonic() - self.began

    def is_ready(self):
        try:
            return self._http("health", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, seconds=60):
        """Ends it as an administrator would; returns its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(seconds)
            if status < 0:
                raise Failure(f"sluice ended by signal {-status}; the last that it logged:\n{self.log()}")
            return status
        except subprocess.TimeoutExpired:
            raise Failure(f"sluice runs {seconds} s after SIGTERM; the last that it logged:\n{self.log()}") from None

    def kill9(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def restart(self):
        self.kill9()
        return self.start()

    # ---- what it says ----

    def _http(self, which, path, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[which], timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metrics(self):
        """Values by series, written as Prometheus writes them."""
        return samples(self._http("metrics", "/metrics")[1])

    def state(self):
        """All that it holds, as text: one object a line."""
        status, text = self._http("metrics", "/debug/state")
        if status != 200:
            raise Failure(f"/debug/state: {status} {text}")
        return text

    def rss_mb(self, which="VmRSS"):
        """Its resident memory; VmHWM: the most that it ever was."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(which + r":\s+(\d+)", text)[1]) / 1024

    def log(self, lines=40):
        path = self.log_path
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""


class Api:
    """A connection that stays open: many requests, one at a time. For each thread one of its own."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.connection = None

    def send(self, method, path, body=None, type="application/json"):
        """Returns the status and the text of the answer; tries again once if the connection was gone."""
        for last in (False, True):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection(
                        "127.0.0.1", self.cluster.ports["kube-apiserver"], timeout=30, context=self.cluster.tls
                    )
                self.connection.request(
                    method,
                    path,
                    None if body is None else json.dumps(body),
                    {"Content-Type": type, "Accept": "application/json"},
                )
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if last:
                    raise

    def patiently(self, method, path, body=None, type="application/json", seconds=60):
        """As send(), but for as long as the API server is away; what it refuses is a failure. Something
        that exists already or is gone was done before, by an attempt whose answer was lost."""
        end = time.monotonic() + seconds
        while True:
            status, text = 0, b"no connection"
            try:
                status, text = self.send(method, path, body, type)
            except (OSError, http.client.HTTPException):
                pass
            done = {"POST": 409, "DELETE": 404}.get(method)
            if 200 <= status < 300 or status == done:
                return json.loads(text) if text.startswith(b"{") else text
            if 400 <= status < 500 and status not in (429, 409, 403, 401) or time.monotonic() > end:
                raise Failure(f"{method} {path}: {status} {text[:500]}", status)
            time.sleep(0.1)

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def at_once(cluster, items, work, connections=6):
    """Calls work(api, item) for all items, over some connections at a time."""

    def some(part):
        api = Api(cluster)
        try:
            for item in part:
                work(api, item)
        finally:
            api.close()

    with concurrent.futures.ThreadPoolExecutor(connections) as pool:
        for done in [pool.submit(some, items[i::connections]) for i in range(connections)]:
            done.result()


def through(cluster, name, *command):
    """A proxy (see proxy.py), and the kubeconfig that leads through it."""
    (port,) = kube.free_ports(1)
    text = cluster.kubeconfig.read_text().replace(
        f"server: {cluster.url}\n", f"server: https://127.0.0.1:{port}\n    tls-server-name: localhost\n"
    )
    path = cluster.dir / f"{name}.kubeconfig"
    path.write_text(text)
    full = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        sys.executable,
        str(kube.HERE / "proxy.py"),
        name,
        str(port),
        str(cluster.ports["kube-apiserver"]),
        *map(str, command),
    ]
    process = kube._spawner.submit(
        subprocess.Popen, full, stdout=subprocess.PIPE, text=True, start_new_session=True
    ).result()

    def listening():
        with kube.socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(listening, what="the proxy")
    return path, process


def proxy_ended(process):
    """Ends a proxy; returns what it counted."""
    process.terminate()
    return process.communicate(timeout=60)[0].strip()


class Watch:
    """Follows all workloads of a namespace in the order in which the API server stored them, and notes what
    may never be: an admission that is replaced without having been given back, more in use than there is.

    admitted(name) is called once for each workload when it is admitted for the first time, from this thread."""

    def __init__(self, cluster, ns, limit=None, admitted=None):
        self.cluster, self.limit, self.on_admitted = cluster, limit, admitted or (lambda name: None)
        self.path = f"{KUEUE}/namespaces/{ns}/workloads"
        self.seen = {}  # name: (reserved, admission, finished)
        self.admitted = {}  # name: when, on the monotonic clock
        self.reservations = {}  # name: how often it got quota
        self.finished = 0
        self.used = self.most = 0
        self.events = self.lists = 0
        self.faults = []
        self._end = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end = True

    def _run(self):
        api, version = Api(self.cluster), None
        while not self._end:
            try:
                if version is None:
                    version = self._list(api)
                version = self._follow(version)
            except (OSError, http.client.HTTPException, ValueError, Failure):
                time.sleep(0.1)

    def _list(self, api):
        found = api.patiently("GET", self.path)
        self.lists += 1
        # Who holds less than before comes first: what happened in between has no order.
        for thing in sorted(found["items"], key=lambda w: holds(w, "QuotaReserved") and not holds(w, "Finished")):
            self._note(thing)
        return found["metadata"]["resourceVersion"]

    def _follow(self, version):
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.cluster.ports["kube-apiserver"], timeout=30, context=self.cluster.tls
        )
        try:
            connection.request("GET", f"{self.path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}")
            answer = connection.getresponse()
            if answer.status == 410:
                return None
            if answer.status != 200:
                raise Failure(f"watch: {answer.status}", answer.status)
            while not self._end and (line := answer.readline()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return None
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] == "DELETED":
                    self._gone(event["object"])
                elif event["type"] != "BOOKMARK":
                    self.events += 1
                    self._note(event["object"])
            return version
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
            return version
        finally:
            connection.close()

    def _gone(self, thing):
        self.faults.append(f"{thing['metadata']['name']} was deleted")

    def _note(self, thing):
        name = thing["metadata"]["name"]
        admission = thing.get("status", {}).get("admission")
        now = (holds(thing, "QuotaReserved"), admission, holds(thing, "Finished"))
        was = self.seen.get(name, (False, None, False))
        self.seen[name] = now
        if now[0] and not was[0]:
            self.reservations[name] = self.reservations.get(name, 0) + 1
        if now[0] and not admission:
            self.faults.append(f"{name} has quota but no admission")
        if was[0] and now[0] and was[1] != now[1]:
            self.faults.append(f"{name}: {was[1]} became {now[1]}")
        if was[2] and not now[2]:
            self.faults.append(f"{name} was finished and no longer is")
        self.used += amount(now) - amount(was)
        self.most = max(self.most, self.used)
        if self.limit is not None and self.used > self.limit:
            self.faults.append(f"{self.used} in use when {name} came, of {self.limit}")
        self.finished += now[2] - was[2]
        if holds(thing, "Admitted") and name not in self.admitted:
            self.admitted[name] = time.monotonic()
            self.on_admitted(name)


def amount(seen):
    """The cpus that a workload holds."""
    reserved, admission, finished = seen
    if not reserved or finished or not admission:
        return 0
    return sum(int(p["resourceUsage"]["cpu"]) for p in admission["podSetAssignments"])


def small_workload(name, queue, cpu=1):
    """A Workload that belongs to nobody."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name},
        "spec": {
            "queueName": queue,
            "podSets": [
                {
                    "name": "main",
                    "count": 1,
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [
                                {"name": "c", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}
                            ],
                        }
                    },
                }
            ],
        },
    }


def small_queue(cluster, cpu, ns="default", name="main", preempting=False):
    """The flavor `plain`, a ClusterQueue, and a LocalQueue of the same name. preempting: what has less priority."""

    def post(path, kind, name, spec):
        thing = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}
        cluster.request("POST", f"{KUEUE}/{path}", thing)

    flavor = {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": str(cpu)}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [flavor]}]
    if not cluster._try(f"{KUEUE}/resourceflavors/plain"):
        post("resourceflavors", "ResourceFlavor", "plain", {})
    preemption = {"preemption": {"withinClusterQueue": "LowerPriority"}} if preempting else {}
    post("clusterqueues", "ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **preemption})
    post(f"namespaces/{ns}/localqueues", "LocalQueue", name, {"clusterQueue": name})


def condition(thing, type):
    """A condition of an object, or an empty one."""
    return next(
        (c for c in thing.get("status", {}).get("conditions") or [] if c["type"] == type),
        {"type": type, "status": "", "reason": "", "message": ""},
    )


def holds(thing, type):
    return condition(thing, type)["status"] == "True"


def say(text=""):
    print(text, flush=True)


def steps(*functions):
    """The parts of a scenario, in their order."""
    for function in functions:
        say(f"\n--- {function.__name__}: {(function.__doc__ or '').strip()}")
        function()


def show(cluster, *args, input=None, check=True, quiet=False):
    """kubectl as somebody at a terminal sees it; returns what it printed."""
    say("$ kubectl " + " ".join(f"'{a}'" if re.search(r"[\s{}\"$*]", str(a)) else str(a) for a in args))
    if input and not quiet:
        say("\n".join("  < " + line for line in input.strip().splitlines()))
    out = cluster.kubectl(*args, input=input, check=check)
    say("\n".join("  " + line for line in out.rstrip().splitlines()))
    return out
