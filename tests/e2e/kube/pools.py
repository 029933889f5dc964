# SPDX-License-Identifier: Apache-2.0
"""What tests of MasterQueues share: where they run, and the words for queues, pools and jobs.

    bed = on("up")                      # `sluice up` with a virtual node
    bed = on("serve", cluster)          # `sluice serve` beside a control plane, to which a virtual node is added
    with bed:
        bed.master("m", nats, "some.subject", lend={"team": {"pods": 30}})
        with bed.undisturbed("m", "team"):      # Failure if one of the queues is held or work is evicted meanwhile
            ...

Times are short, so that a test need not wait: a pool is dropped TIMEOUT + GRACE after its last message.
"""

import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time

import kube
from installed import Installed
from kube import Failure, until
from sluice import KUEUE, ROOT, Sluice, condition, holds, program, say

sys.path.insert(0, str(ROOT / "tests" / "e2e" / "up"))
import up as single  # noqa: E402

MASTERS = "/apis/vk.io/v1/masterqueues"
V1BETA1 = "/apis/kueue.x-k8s.io/v1beta1"  # as InterLink's users read and write
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
SECRETS = "/api/v1/namespaces/kueue-system/secrets"
NODE = "interlink"
VIRTUAL = "virtual-node.interlink/no-schedule"
POOL = "pool.vk.io"
NO_FLAVOR = "non-existing-flavor-proxy-for-inactive-pools"
RESOURCES = ["cpu", "memory", "pods", "nvidia.com/gpu"]
TIMEOUT, GRACE = 3, 5  # poolTimeout of the tests' queues, and what is added to it
PATIENCE = 60


def quantities(resources):
    """name: amount as text, of the resources of a flavor in a queue."""
    return {r["name"]: str(r["nominalQuota"]) for r in resources}


def flavors(queue):
    """Names of the flavors of a ClusterQueue, in their order."""
    return [f["name"] for group in queue["spec"]["resourceGroups"] for f in group["flavors"]]


def flavor_of(queue, name):
    """One of them."""
    return next(f for group in queue["spec"]["resourceGroups"] for f in group["flavors"] if f["name"] == name)


def pool_of(master, name):
    """What the status says of a pool; empty: nothing."""
    return next((p for p in master.get("status", {}).get("pools") or [] if p["name"] == name), {})


def says(said, fields):
    """Whether a part of a status says this. Of amounts those that are zero may be missing."""

    def same(one, other):
        if not isinstance(other, dict):
            return one == other
        return {k: v for k, v in (one or {}).items() if v != "0"} == other

    return all(same(said.get(key), value) for key, value in fields.items())


def job(name, queue, pods=1, cpu="100m", sleep="infinity", remote=True, **requests):
    """A Job of pods that sleep, for a virtual node or, if not remote, for any other."""
    tolerations = [{"key": VIRTUAL, "operator": "Exists", "effect": "NoSchedule"}] if remote else []
    container = {"name": "main", "image": "host", "command": ["sleep", str(sleep)]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 0,
                    "tolerations": tolerations,
                    "containers": [{**container, "resources": {"requests": {"cpu": cpu, **requests}}}],
                }
            },
        },
    }


def wait(question, seconds, what, now):
    """As until(), and a failure says what is there instead."""
    try:
        return until(question, seconds, what)
    except Failure as reason:
        raise Failure(f"{reason}; now: {json.dumps(now())}") from None


class Bed:
    """A cluster with queues. `api` (an Administrator), `sluice` and `kind` may be read."""

    def __init__(self, kind, api, sluice):
        self.kind, self.api, self.sluice = kind, api, sluice

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        if self.kind == "up":
            self.api.start()
        elif isinstance(self.sluice, Installed):
            self.sluice.install()
            self.sluice.start()
        else:
            self.sluice.__enter__()
        if self.kind != "up":
            self._virtual_node()
        self._namespace("kueue-system")
        until(lambda: self.api._try(f"{MASTERS}?limit=1"), PATIENCE, "MasterQueues in the API")

    def __exit__(self, *_):
        if self.kind == "up":
            self.api.stop()
        else:
            self.sluice.kill9()

    def _namespace(self, name):
        try:
            self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        except Failure as reason:
            if reason.status != 409:
                raise

    def _virtual_node(self):
        """As `sluice up --virtual-node` makes it; the fake kubelet keeps it ready."""
        amounts = {"cpu": "10000", "memory": "2Ei", "pods": "10000", "nvidia.com/gpu": "10000"}
        labels = {"kubernetes.io/hostname": NODE, "virtual-node.interlink/type": "virtual-kubelet"}
        node = {
            "metadata": {"name": NODE, "labels": labels},
            "spec": {"taints": [{"key": VIRTUAL, "value": "true", "effect": "NoSchedule"}]},
            "status": {"capacity": amounts, "allocatable": amounts},
        }
        self.api.request("POST", "/api/v1/nodes", node)
        self.api.add_nodes(1)
        until(
            lambda: (
                holds(self.api.get(f"/api/v1/nodes/{NODE}"), "Ready")
                and len(self.api.get(f"/api/v1/nodes/{NODE}")["spec"]["taints"]) == 1
            ),
            PATIENCE,
            "the virtual node",
        )

    def restart(self):
        """Kills Sluice without a warning, and starts it again."""
        self.sluice.kill9()
        self.sluice.start()

    @contextlib.contextmanager
    def without_masterqueues(self):
        """Meanwhile all runs but what reconciles MasterQueues; under `sluice up` nothing but the API server does."""
        self._reconcile(False)
        try:
            yield
        finally:
            self._reconcile(True)

    def _reconcile(self, masterqueues):
        self.sluice.kill9()
        if self.kind == "up":
            self.api.controllers = masterqueues
        else:
            self.sluice.set_controllers(None if masterqueues else "core,scheduler,batch/job")
        self.sluice.start()

    # ---- objects ----

    def get(self, path):
        """None: there is none."""
        try:
            return self.api.get(path)
        except Failure as reason:
            if reason.status != 404:
                raise
            return None

    def create(self, path, thing):
        return self.api.request("POST", path, thing)

    def delete(self, path, **options):
        return self.api.request("DELETE", path, options or {"propagationPolicy": "Background"})

    def patch(self, path, change):
        return self.api.request("PATCH", path, change, "application/merge-patch+json")

    def master(self, name, nats, subject, lend, group="g", limit=None, timeout=TIMEOUT, more=(), **flavor):
        """Makes a MasterQueue of one group of pools, and a LocalQueue for each borrower. nats: a server or a
        connector; more: further groups; flavor: what else natsFlavor says."""
        connector = nats if isinstance(nats, str) else nats.connector
        which = {} if "pools" in flavor or "poolRegExp" in flavor else {"poolRegExp": ".*"}
        source = {
            "natsConnector": connector,
            "natsSubject": subject,
            "virtualNode": NODE,
            "poolTimeout": timeout,
            **which,
            **flavor,
        }
        first = {
            "name": group,
            "natsFlavor": source,
            "nominalQuota": limit or {},
            "canLendTo": [{"queue": queue, "lendingLimit": most} for queue, most in lend.items()],
        }
        spec = {"template": {"cohort": name}, "flavors": [first, *more]}
        made = self.create(
            MASTERS, {"apiVersion": "vk.io/v1", "kind": "MasterQueue", "metadata": {"name": name}, "spec": spec}
        )
        for queue in lend:
            self.local_queue(queue)
        return made

    def local_queue(self, name, of=None):
        thing = {"metadata": {"name": name}, "spec": {"clusterQueue": of or name}}
        path = f"{KUEUE}/namespaces/default/localqueues"
        self.create(path, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", **thing})

    def make_flavor(self, name, **labels):
        """A ResourceFlavor of an administrator."""
        thing = {"metadata": {"name": name}, "spec": {"nodeLabels": labels}}
        path = f"{KUEUE}/resourceflavors"
        self.create(path, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", **thing})

    def state(self, name):
        """The MasterQueue."""
        return self.api.get(f"{MASTERS}/{name}")

    def queue(self, name):
        return self.get(f"{KUEUE}/clusterqueues/{name}")

    def flavor(self, name):
        return self.get(f"{KUEUE}/resourceflavors/{name}")

    def has(self, name, *names):
        """Whether a ClusterQueue has exactly these flavors, in this order, and is not held."""
        queue = self.queue(name)
        return queue and flavors(queue) == list(names) and queue["spec"].get("stopPolicy", "None") == "None"

    def await_flavors(self, name, *names, seconds=PATIENCE):
        def now():
            queue = self.queue(name)
            return queue and [queue["spec"].get("stopPolicy"), *flavors(queue)]

        wait(lambda: self.has(name, *names), seconds, f"flavors {names} in {name}", now)

    def await_condition(self, name, type, status, words="", seconds=PATIENCE):
        """Of a MasterQueue, with these words in its message; returns it."""

        def said():
            found = condition(self.state(name), type)
            return found if found["status"] == status and words in found["message"] else None

        return wait(said, seconds, f"{type} {status} of {name}", lambda: self.state(name).get("status"))

    def await_pool(self, name, pool, seconds=PATIENCE, **fields):
        """Until the status says this of a pool; returns all that it says."""

        def said():
            found = pool_of(self.state(name), pool)
            return found if found and says(found, fields) else None

        return wait(said, seconds, f"{fields} of the pool {pool}", lambda: self.state(name).get("status"))

    def gone(self, *paths, seconds=PATIENCE):
        for path in paths:
            wait(lambda: self.get(path) is None, seconds, f"the end of {path}", lambda: self.get(path))

    # ---- jobs ----

    def submit(self, name, queue, **more):
        return self.create(JOBS, job(name, queue, **more))

    def workloads(self, *names):
        """Those of Jobs."""
        listed = self.api.get(f"{KUEUE}/namespaces/default/workloads")["items"]
        return [w for w in listed if any(o["name"] in names for o in w["metadata"].get("ownerReferences", []))]

    def workload(self, name):
        """Of a Job; empty: there is none yet."""
        return next(iter(self.workloads(name)), {})

    def admitted(self, name):
        """The flavor that a Job was admitted to; None: it was not."""
        w = self.workload(name)
        if not holds(w, "Admitted"):
            return None
        return w["status"]["admission"]["podSetAssignments"][0]["flavors"]["pods"]

    def await_admitted(self, name, flavor=None, seconds=PATIENCE):
        got = wait(lambda: self.admitted(name), seconds, f"the admission of {name}", lambda: self.workload(name))
        if flavor and got != flavor:
            raise Failure(f"{name} was admitted to {got}, not to {flavor}")
        return got

    def pods(self, job):
        return self.api.get(f"{PODS}?labelSelector=job-name%3D{job}")["items"]

    def running(self, job):
        return [p for p in self.pods(job) if p["status"].get("phase") == "Running"]

    def await_running(self, job, count=1, seconds=PATIENCE):
        until(lambda: len(self.running(job)) >= count, seconds, f"{count} running pods of {job}")
        return self.running(job)

    def complete(self, job):
        return holds(self.api.get(f"{JOBS}/{job}"), "Complete")

    def finish(self, *jobs):
        """Ends Jobs that would run for ever."""
        workloads = self.workloads(*jobs)
        for name in jobs:
            self.delete(f"{JOBS}/{name}")
        if self.kind != "up":  # where the garbage collector looks for new kinds, such as ours, once in 30 s
            self.gone(*(f"{JOBS}/{name}" for name in jobs))
            for w in workloads:
                with contextlib.suppress(Failure):  # it was quicker
                    self.delete(f"{KUEUE}/namespaces/default/workloads/{w['metadata']['name']}")
        until(lambda: not self.workloads(*jobs), PATIENCE, f"the end of the workloads of {jobs}")

    # ---- what tests do again and again ----

    def edit(self, name, change):
        """Calls change with the list of groups of a MasterQueue, which it may change in place."""
        groups = self.state(name)["spec"]["flavors"]
        change(groups)
        return self.patch(f"{MASTERS}/{name}", {"spec": {"flavors": groups}})

    def remove(self, *masters, jobs=()):
        """Ends Jobs, then deletes MasterQueues."""
        self.finish(*jobs)
        for name in masters:
            self.delete(f"{MASTERS}/{name}")
        self.gone(*(f"{MASTERS}/{name}" for name in masters))

    def quota(self, queue, flavor, resource="pods"):
        """What a ClusterQueue owns of it, as text."""
        return quantities(flavor_of(self.queue(queue), flavor)["resources"])[resource]

    # ---- what may not be ----

    @contextlib.contextmanager
    def undisturbed(self, *queues):
        """Fails if meanwhile one of these ClusterQueues is held or loses all its flavors, or a Workload is evicted."""
        with Watch(self.api, f"{KUEUE}/clusterqueues") as held, Watch(self.api, f"{KUEUE}/workloads") as evicted:
            held.await_list()
            evicted.await_list()
            yield
        faults = [
            f"{q['metadata']['name']} has {q['spec'].get('stopPolicy')} and {flavors(q)}"
            for q in held.seen
            if q["metadata"]["name"] in queues
            and (q["spec"].get("stopPolicy", "None") != "None" or NO_FLAVOR in flavors(q))
        ]
        faults += [f"{w['metadata']['name']} was evicted" for w in evicted.seen if holds(w, "Evicted")]
        if faults:
            raise Failure("\n".join(faults))

    def versions(self, *paths):
        return [self.api.get(path)["metadata"]["resourceVersion"] for path in paths]


class Watch:
    """All states of all objects at a path, in `seen`, as the API server stored them; through restarts of it."""

    def __init__(self, api, path):
        self.api, self.path, self.seen = api, path, []
        self._listed, self._end = threading.Event(), False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end = True
        self._thread.join(30)

    def await_list(self):
        if not self._listed.wait(PATIENCE):
            raise Failure(f"no list of {self.path}")

    def _run(self):
        version = None
        while not self._end:
            try:
                if version is None:
                    version = self._list()
                version = self._follow(version)
            except (OSError, http.client.HTTPException, ValueError, Failure):
                time.sleep(0.1)
        with contextlib.suppress(OSError, http.client.HTTPException, Failure):
            self._list()  # what the stream has not brought yet

    def _list(self):
        found = self.api.request("GET", self.path)
        self.seen += found["items"]
        self._listed.set()
        return found["metadata"]["resourceVersion"]

    def _follow(self, version):
        connection = http.client.HTTPSConnection("127.0.0.1", self.api.port, timeout=1, context=self.api.tls)
        try:
            path = f"{self.path}?watch=1&resourceVersion={version}"
            connection.request("GET", path, headers=dict(self.api.headers))
            answer = connection.getresponse()
            if answer.status != 200:
                return None
            while not self._end and (line := answer.readline()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return None
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self.seen.append(event["object"])
        except (TimeoutError, OSError, http.client.HTTPException):
            pass  # nothing came for a second, or the server was killed: from here again
        finally:
            connection.close()
        return version


def on(kind, cluster=None, installed=False):
    """A bed. installed: Sluice is installed as docs/install.md says, with the rights of its service account."""
    if kind == "up":
        api = single.Up(flags=[f"--virtual-node={NODE}"])
        return Bed(kind, api, single.Queueing(api))
    return Bed(kind, cluster, Installed(cluster) if installed else Sluice(cluster))


def secret(bed, name, **keys):
    """In the manager's own namespace; instead of one of that name, if there is one."""
    if bed.get(f"{SECRETS}/{name}"):
        bed.delete(f"{SECRETS}/{name}")
    bed.create(SECRETS, {"metadata": {"name": name}, "stringData": {k.replace("_", "."): v for k, v in keys.items()}})


def took(since, what):
    say(f"# after {time.monotonic() - since:.2f} s: {what}")


class Publish:
    """`sluice pool publish`, which plays a provider until the end."""

    def __init__(self, nats, subject, pool, *options):
        command = ["setpriv", "--pdeathsig", "KILL", str(program()), "pool", "publish", f"--connector={nats.connector}"]
        command += [f"--subject={subject}", f"--pool={pool}", "--every=1s", *options]
        self.process = kube._spawner.submit(
            subprocess.Popen, command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        ).result()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
