# SPDX-License-Identifier: Apache-2.0
"""SkyPilot's own code on Sluice: the package from PyPI renders a cluster's configuration and provisions, asks after,
and tears down its pods, against a real control plane with a fake kubelet.

The package is installed once, into the cache folder. What runs of it is all of `sky launch` between the optimizer and
the first command in a pod: backend_utils.write_cluster_config, provisioner.bulk_provision (bootstrap_instances,
run_instances: it creates the pods and waits until they run), query_instances, teardown_cluster. What does not: the
set-up of Ray over `kubectl exec`, as nothing is executed in these pods, and the port forwarding to them, so the two
tools for that (socat, nc) are empty.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import site
import statistics
import subprocess
import sys
import threading
import time

import pytest

import sluice as bed
from installed import Installed, promptly
from kube import HERE, Failure, Unavailable, until
from sluice import KUEUE, ROOT, Api, condition, holds, say

REQUIREMENTS = HERE / "skypilot-requirements.txt"
INSTALL_SECONDS = 400

PATIENCE = 90
EXAMPLES = ROOT / "examples" / "skypilot"
Q = "kueue.x-k8s.io/"
TEAMS = ("team1", "team2")
TIME_LIMIT = 900
cluster = sluice = None
sky = None  # the modules of the package that are used, after load()


# ---- the package ----


def cache():
    return pathlib.Path(
        os.environ.get("SLUICE_KUBE_CACHE")
        or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "sluice")
    )


def package():
    """The folder of modules of an environment that has the package; made if it is not there yet."""
    mark = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache() / f"skypilot-{mark}"
    python, modules = folder / "bin" / "python", "lib/python*/site-packages"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "complete").exists():
            return next(folder.glob(modules))
        began = time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        for command in (
            [sys.executable, "-m", "venv", folder],
            [python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", "-r", REQUIREMENTS],
        ):
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise Unavailable(f"the package cannot be had: {error}") from None
            if done.returncode:
                shutil.rmtree(folder, ignore_errors=True)
                words = (done.stderr or done.stdout).strip().splitlines()
                raise Unavailable(f"the package cannot be had: {words[-1] if words else command}")
        (folder / "complete").touch()
        say(f"# installed into the cache after {time.monotonic() - began:.0f} s")
    return next(folder.glob(modules))


class Quiet(io.TextIOBase):
    """Standard output without the lines that drive SkyPilot's spinner; Task.heard() has what that says."""

    def __init__(self, out):
        self.out, self.rest = out, ""

    def write(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            if "<sky-payload>" not in line:
                self.out.write(line + "\n")
        return len(text)

    def flush(self):
        self.out.flush()


class Modules:
    """What a launch uses, once there is a home folder and a kubeconfig."""

    def __init__(self):
        import sky
        from sky import backends, clouds, global_user_state, provision, skypilot_config
        from sky.backends import backend_utils
        from sky.provision import provisioner
        from sky.utils import resources_utils

        self.version, self.Resources = sky.__version__, sky.Resources
        self.backends, self.clouds, self.global_user_state = backends, clouds, global_user_state
        self.provision, self.skypilot_config, self.backend_utils = provision, skypilot_config, backend_utils
        self.provisioner, self.resources_utils = provisioner, resources_utils


@contextlib.contextmanager
def loaded(modules):
    """Gives SkyPilot a home of its own, in which each team's API server has its context, and loads it."""
    global sky
    home = cluster.dir / "log" / "home"
    tools = home / "bin"
    tools.mkdir(parents=True)
    for name in ("socat", "nc"):
        (tools / name).write_text("#!/bin/sh\n")
        (tools / name).chmod(0o755)
    (home / "wheel").touch()
    (home / ".sky").mkdir()
    text = cluster.kubeconfig.read_text()
    contexts = "".join(f"- name: {t}\n  context: {{cluster: test, user: admin, namespace: {t}}}\n" for t in TEAMS)
    (home / "kubeconfig").write_text(text.replace("contexts:\n", "contexts:\n" + contexts))
    before, paths, out = dict(os.environ), list(sys.path), sys.stdout
    others = {name: module for name, module in sys.modules.items() if (modules / name.partition(".")[0]).exists()}
    os.environ.update(
        HOME=str(home),
        KUBECONFIG=str(home / "kubeconfig"),
        SKYPILOT_DISABLE_USAGE_COLLECTION="1",
        PATH=f"{tools}:{cluster.bin}:{os.environ['PATH']}",
    )
    began = time.monotonic()
    site.addsitedir(str(modules))
    # Its own versions of everything come first, also of what pytest has loaded.
    sys.path[:] = [p for p in sys.path if p not in paths] + paths
    for name in others:
        del sys.modules[name]
    sys.stdout = Quiet(sys.stdout)
    try:
        sky = Modules()
        say(f"# skypilot {sky.version}, loaded in {time.monotonic() - began:.1f} s")
        yield
    finally:
        sys.stdout, sys.path[:] = out, paths
        sys.modules.update(others)
        os.environ.clear()
        os.environ.update(before)


def configure(text):
    """SkyPilot's configuration, as `helm --set-file apiService.config` gives it to a team's API server. What these
    pods are to do is said to the fake kubelet by an annotation; the script in them mentions all kinds of sleep."""
    import yaml

    wanted = yaml.safe_load(text)
    meta = wanted.setdefault("kubernetes", {}).setdefault("pod_config", {}).setdefault("metadata", {})
    meta.setdefault("annotations", {})["tests.sluice/run-seconds"] = "infinity"
    path = pathlib.Path(os.environ["HOME"]) / ".sky" / "config.yaml"
    path.write_text(yaml.safe_dump(wanted))
    say("\n".join(f"  | {line}" for line in text.strip().splitlines()))
    sky.skypilot_config.reload_config()


def seed_mode(team):
    configure((EXAMPLES / f"skypilot-{team}-config.yaml").read_text())


def queue_mode(team, more=""):
    configure(f"kubernetes:\n  kueue:\n    local_queue_name: skypilot-local-queue-{team}\n{more}")


def labels(**more):
    """Lines of a configuration: further labels for the pods."""
    return "  pod_config:\n    metadata:\n      labels:\n" + "".join(
        f"        {Q}{k.replace('_', '-')}: {v}\n" for k, v in more.items()
    )


class Task:
    """A SkyPilot cluster for a task of so many nodes, in a team's context, with the configuration of now."""

    def __init__(self, team, name, nodes=2, cpus=2, controller=False):
        self.team, self.name, self.nodes = team, name, nodes
        self.resources = sky.Resources(
            infra=f"kubernetes/{team}", instance_type=f"{cpus}CPU--2GB", image_id="docker:ubuntu:22.04"
        )
        without_queue = sky.skypilot_config.remove_queue_name_from_config() if controller else contextlib.nullcontext()
        with without_queue:
            made = sky.backend_utils.write_cluster_config(
                self.resources,
                nodes,
                "kubernetes-ray.yml.j2",
                name,
                pathlib.Path(os.environ["HOME"]) / "wheel",
                "0",
                sky.clouds.Region(team),
                None,
                keep_launch_fields_in_existing_config=False,
            )
        self.yaml, self.on_cloud = made["ray"], made["cluster_name_on_cloud"]
        self.config = sky.global_user_state.get_cluster_yaml_dict(self.yaml)
        self.names = [f"{self.on_cloud}-head"] + [f"{self.on_cloud}-worker{i}" for i in range(1, nodes)]
        self.thread = self.record = self.error = None

    @property
    def manifest(self):
        return self.config["available_node_types"][self.config["head_node_type"]]["node_config"]

    def _both_names(self):
        return sky.resources_utils.ClusterName(self.name, self.on_cloud)

    def _provision(self):
        try:
            handle = sky.backends.CloudVmRayResourceHandle(
                cluster_name=self.name,
                cluster_name_on_cloud=self.on_cloud,
                cluster_yaml=self.yaml,
                launched_nodes=self.nodes,
                launched_resources=self.resources,
            )
            sky.global_user_state.add_or_update_cluster(
                self.name, handle, requested_resources={self.resources}, ready=False
            )
            self.record = sky.provisioner.bulk_provision(
                sky.clouds.Kubernetes(),
                sky.clouds.Region(self.team),
                None,
                self._both_names(),
                self.nodes,
                self.yaml,
                False,
                os.environ["HOME"] + "/logs",
            )
        except Exception as error:  # the test asks for it
            self.error = error

    def launch(self):
        """Begins; wait() tells how it ended."""
        say(f"# sky launch -c {self.name} --num-nodes {self.nodes} --infra kubernetes/{self.team}")
        self.record = self.error = None
        self.thread = threading.Thread(target=self._provision, daemon=True)
        self.thread.start()
        return self

    def wait(self, seconds=PATIENCE):
        """Until all pods run, as SkyPilot sees it."""
        began = time.monotonic()
        self.thread.join(seconds)
        if self.thread.is_alive():
            raise Failure(f"{self.name} is not up after {seconds} s\n{self.told()}")
        if self.error:
            raise Failure(f"{self.name}: {self.error!r}\n{self.told()}")
        made = sorted(self.record.created_instance_ids)
        say(f"# {self.name} is up after {time.monotonic() - began:.2f} s more: {made}")
        assert sorted(self.query()) == sorted(self.names), self.query()
        return self

    def query(self, all=False):
        """As `sky status --refresh` asks: {pod: (status, reason)}."""
        return {
            k: (v[0].value if v[0] else None, v[1])
            for k, v in sky.provision.query_instances(
                "kubernetes", self.name, self.on_cloud, self.config["provider"], non_terminated_only=not all
            ).items()
        }

    def down(self):
        say(f"# sky down {self.name}")
        sky.provisioner.teardown_cluster("kubernetes", self._both_names(), True, self.config["provider"])

    def gone(self):
        """Nothing of it is left, and nobody holds quota for it."""
        eventually(
            lambda: not self.pods() and not self.holds_quota(), f"nothing is left of {self.name}", self, promptly(2)
        )

    def pods(self):
        return cluster.get(f"/api/v1/namespaces/{self.team}/pods?labelSelector=skypilot-cluster-name={self.on_cloud}")[
            "items"
        ]

    def workloads(self):
        names = {self.on_cloud, *self.names}
        return [
            w
            for w in cluster.get(f"{KUEUE}/namespaces/{self.team}/workloads")["items"]
            if w["metadata"]["name"] in names
            or any(o["name"] in names for o in w["metadata"].get("ownerReferences", []))
        ]

    def holds_quota(self):
        return any(holds(w, "QuotaReserved") and not holds(w, "Finished") for w in self.workloads())

    def gated(self):
        """How many of its pods wait."""
        return sum({"name": f"{Q}admission"} in p["spec"].get("schedulingGates", []) for p in self.pods())

    def running(self):
        return sum(
            p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"] for p in self.pods()
        )

    def waits(self, text, check=False):
        """Until its workloads say why they wait and every pod is gated."""

        def question():
            found = self.workloads()
            words = (
                [
                    c["message"]
                    for w in found
                    for c in w.get("status", {}).get("admissionChecks") or []
                    if c["state"] == "Pending"
                ]
                if check
                else [condition(w, "QuotaReserved")["message"] for w in found]
            )
            return found and self.gated() == self.nodes and next((m for m in words if re.search(text, m)), None)

        said = eventually(question, f"{self.name} waits", self)
        say(f"#   {said}")
        said = eventually(
            lambda: next((e for e in self.heard() if "waiting for queue admission" in e), None),
            "SkyPilot says so",
            self,
        )
        say(f"#   {said}")
        assert self.thread.is_alive(), self.error

    def heard(self):
        """What SkyPilot said while it launched."""
        state = sky.global_user_state
        return state.get_cluster_events(self.name, None, state.ClusterEventType.LAUNCH_PROGRESS)

    def told(self):
        lines = []
        for w in self.workloads():
            lines.append(f"  {w['metadata']['name']}")
            lines += [
                f"    {c['type']}={c['status']} {c['reason']}: {c['message']}"
                for c in w.get("status", {}).get("conditions") or []
            ]
            lines += [
                f"    check {c['name']}: {c['state']}: {c['message']}"
                for c in w.get("status", {}).get("admissionChecks") or []
            ]
        lines += [
            f"  {p['metadata']['name']}: {p['status'].get('phase')} "
            f"{[g['name'] for g in p['spec'].get('schedulingGates', [])]}"
            f"{' deleting' if 'deletionTimestamp' in p['metadata'] else ''} {p['metadata'].get('finalizers', '')}"
            for p in self.pods()
        ]
        return "\n".join(lines)


# ---- words of the tests ----


def show(*args, **more):
    return bed.show(cluster, *args, **more)


def eventually(question, what, task=None, seconds=PATIENCE):
    began = time.monotonic()
    try:
        answer = until(question, seconds, what)
    except Failure as error:
        raise Failure(f"{error}\n{task.told() if task else ''}") from None
    say(f"# after {time.monotonic() - began:.2f} s: {what}")
    return answer


def quota(team, cpu):
    show(
        "patch",
        "clusterqueue",
        f"skypilot-cluster-queue-{team}",
        "--type=json",
        "-p",
        json.dumps(
            [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": str(cpu)}]
        ),
    )


# ---- the tests ----


@pytest.fixture(scope="module", autouse=True)
def installed(node_cluster):
    """The package, Sluice with pods enabled, and both teams' queues; in the end nothing is left in them."""
    global cluster, sluice
    bed.program()
    modules = package()
    cluster = node_cluster
    cluster.add_nodes(4, cpu="8", memory="32Gi")
    sluice = Installed(cluster)
    sluice.install()
    try:
        sluice.start()
        make_queues()
        with loaded(modules):
            yield
            leaves_nothing()
    finally:
        sluice.kill9()


@pytest.fixture(autouse=True)
def four(installed):
    quota("team1", 4)


def make_queues():
    for team in TEAMS:
        show("create", "namespace", team)
    for name in ("kueue-resource-flavor", "kueue-admission-check", "kueue-two-cluster-queues"):
        show("apply", "-f", EXAMPLES / f"{name}.yaml")
    for team in TEAMS:
        # Each team lives from its own quota, so that the numbers below are the whole truth.
        show(
            "patch",
            "clusterqueue",
            f"skypilot-cluster-queue-{team}",
            "--type=merge",
            "-p",
            json.dumps({"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}),
        )
        eventually(
            lambda: holds(cluster.get(f"{KUEUE}/clusterqueues/skypilot-cluster-queue-{team}"), "Active"),
            f"the queue of {team} is active",
        )
    for name, value in ("low", 10), ("high", 1000):
        show(
            "apply",
            "-f",
            "-",
            quiet=True,
            input=f"apiVersion: kueue.x-k8s.io/v1beta1\nkind: WorkloadPriorityClass\n"
            f"metadata: {{name: {name}}}\nvalue: {value}\n",
        )
    quota("team2", 0)


def test_seed_mode():
    """a two-node task with the queue's label alone: a workload for each pod"""
    seed_mode("team1")
    task = Task("team1", "seed")
    meta = task.manifest["metadata"]
    assert meta["labels"][f"{Q}queue-name"] == "skypilot-local-queue-team1", meta
    assert f"{Q}pod-group-name" not in meta["labels"], meta
    task.launch().wait()
    assert len(task.workloads()) == 2, task.told()
    show("-n", "team1", "get", "pods,workloads")
    task.down()
    task.gone()
    show("-n", "team1", "get", "pods,services,workloads")
    assert not [s for s in cluster.get("/api/v1/namespaces/team1/services")["items"]], "Services are left"


def test_queue_mode():
    """kueue.local_queue_name: one workload, named as the cluster; both pods are admitted together"""
    queue_mode("team1")
    task = Task("team1", "pair")
    meta = task.manifest["metadata"]
    assert meta["labels"][f"{Q}pod-group-name"] == task.on_cloud, meta
    assert meta["annotations"][f"{Q}pod-group-total-count"] == "2", meta
    assert meta["annotations"][f"{Q}retriable-in-group"] == "false", meta
    quota("team1", 3)
    task.launch()
    task.waits(
        r"insufficient quota for cpu in flavor default-flavor.* current podset request \(4\) > maximum capacity \(3\)"
    )
    (w,) = task.workloads()
    assert w["metadata"]["name"] == task.on_cloud and [s["count"] for s in w["spec"]["podSets"]] == [2], w
    say(f"#   its workload has {len(json.dumps(w)) // 1024} kB")
    time.sleep(1.5)
    assert task.gated() == 2, task.told()  # one would fit
    quota("team1", 4)
    task.wait()
    show("-n", "team1", "get", "pods,workloads")
    task.down()
    task.gone()


def test_down_while_gated():
    """a cluster that never got its quota goes at once, in both modes"""
    quota("team1", 1)
    for mode in (seed_mode, queue_mode):
        mode("team1")
        task = Task("team1", "never").launch()
        task.waits("insufficient")
        task.down()
        task.gone()


def test_preemption():
    """a more important task takes the quota; SkyPilot says so, and relaunches under the same names"""
    queue_mode("team1", labels(priority_class="low"))
    low = Task("team1", "lowly").launch().wait()
    uids = {p["metadata"]["uid"] for p in low.pods()}
    for p in low.pods():
        show("-n", "team1", "annotate", "pod", p["metadata"]["name"], "tests.sluice/stop-seconds=5")
    queue_mode("team1", labels(priority_class="high"))
    high = Task("team1", "lofty").launch()
    reasons = eventually(
        lambda: (
            (found := low.query(all=True))
            and all(r[1] and "Preempted by Kueue" in r[1] for r in found.values())
            and found
        ),
        "SkyPilot sees the preemption",
        low,
    )
    for name, (status, reason) in sorted(reasons.items()):
        say(f"#   {name}: {status}: {reason}")
        assert "WorkloadEvictedDueToPreempted" in reason and "Preempted to accommodate a workload" in reason, reason
    eventually(lambda: not low.pods(), "its pods are gone", low)
    eventually(lambda: not high.gated(), "their quota is the other's", high, promptly(2))
    high.wait()

    def said():
        return {
            e["reason"]
            for e in cluster.get("/apis/events.k8s.io/v1/namespaces/team1/events")["items"]
            if e["regarding"]["name"] in low.names
        }

    eventually(lambda: {"Started", "Stopped"} <= said(), "events tell of it", low)
    low.down()  # as a managed job does before it launches again
    low.launch()
    low.waits("insufficient")
    assert not uids & {p["metadata"]["uid"] for p in low.pods()}
    high.down()
    low.wait()
    low.down()
    low.gone()


def test_relaunch():
    """down, and a second later up again under the same names, again and again"""
    queue_mode("team1")
    task = Task("team1", "again")
    for _ in range(3):
        task.launch().wait()
        task.down()
        time.sleep(1)
    say("# and after the pods have ended by themselves")
    task.launch().wait()
    for p in task.pods():
        show("-n", "team1", "annotate", "--overwrite", "pod", p["metadata"]["name"], "tests.sluice/run-seconds=0")
    eventually(lambda: not task.holds_quota(), "its quota is free", task)
    time.sleep(1)
    task.launch().wait()
    task.down()
    task.gone()


def test_worker_replaced():
    """one worker is deleted; the next launch makes it anew, and the head runs on"""
    for mode in (queue_mode, seed_mode):
        mode("team1")
        task = Task("team1", "mended").launch().wait()
        head = next(p["metadata"]["uid"] for p in task.pods() if p["metadata"]["name"] == task.names[0])
        show("-n", "team1", "delete", "pod", task.names[1], "--wait=false")
        eventually(lambda: len(task.pods()) == 1, "it is gone", task)
        task.launch().wait()
        assert task.record.created_instance_ids == [task.names[1]], task.record
        assert head in {p["metadata"]["uid"] for p in task.pods()}, "the head is another"
        task.down()
        task.gone()


def test_controller():
    """the controller of managed jobs has no queue: it runs while there is no quota"""
    quota("team1", 0)
    queue_mode("team1")
    task = Task("team1", "sky-jobs-controller-0", nodes=1, controller=True)
    assert f"{Q}queue-name" not in task.manifest["metadata"]["labels"], task.manifest["metadata"]
    task.launch().wait()
    assert not task.workloads(), task.told()
    task.down()
    task.gone()


def test_capacity():
    """quota for everything and nodes too small: it waits with the reason, and starts when a node is added"""
    quota("team1", 1000000000)
    queue_mode("team1")
    task = Task("team1", "wide", cpus=12).launch()
    task.waits(r"\S", check=True)
    for i in (1, 2):
        show(
            "apply",
            "-f",
            "-",
            quiet=True,
            input=f"""apiVersion: v1
kind: Node
metadata: {{name: large-{i}, labels: {{kubernetes.io/hostname: large-{i}, kubernetes.io/os: linux}}}}
status:
  capacity: {{cpu: "14", memory: 64Gi, pods: "110"}}
  allocatable: {{cpu: "14", memory: 64Gi, pods: "110"}}
""",
        )
        if i == 1:
            time.sleep(1.5)
            assert task.gated() == 2, task.told()  # room for one of the two
    eventually(lambda: task.running() == 2, "both run", task)
    task.wait()
    task.down()
    task.gone()
    show("delete", "node", "large-1", "large-2")


def test_latency():
    """how long a pod of SkyPilot's size waits for a queue with room, in seed mode"""
    quota("team1", 1000000000)
    seed_mode("team1")
    manifest = Task("team1", "quick", nodes=1).manifest
    accounts = "/api/v1/namespaces/team1/serviceaccounts"
    if not cluster._try(f"{accounts}/skypilot-service-account"):  # the first launch makes it
        cluster.request("POST", accounts, {"metadata": {"name": "skypilot-service-account"}})
    api, path, took = Api(cluster), "/api/v1/namespaces/team1/pods", {True: [], False: []}
    for i in range(24):
        queued, body = i % 2 == 0, json.loads(json.dumps(manifest))
        body["metadata"]["name"] = f"quick-{i}"
        if not queued:
            del body["metadata"]["labels"][f"{Q}queue-name"]
        began = time.monotonic()
        api.patiently("POST", path, body)
        until(lambda: "schedulingGates" not in api.patiently("GET", f"{path}/quick-{i}")["spec"], PATIENCE, "its gate")
        took[queued].append(time.monotonic() - began)
        api.patiently("DELETE", f"{path}/quick-{i}?gracePeriodSeconds=0")
    for queued in took:
        took[queued].sort()
        say(
            f"# {'queued, until the gate is open' if queued else 'not queued, until it is there'}: "
            f"{statistics.median(took[queued]):.3f} s, at most {took[queued][-1]:.3f} s "
            f"({len(json.dumps(manifest)) // 1024} kB each)"
        )
    # What is not queued says what the machine takes for a pod now.
    assert took[True][-1] < promptly(1) + 5 * took[False][-1], took


def leaves_nothing():
    """no pod, no Workload that holds anything, no request for capacity, and no right that was missing"""
    for team in TEAMS:
        eventually(lambda: not cluster.get(f"/api/v1/namespaces/{team}/pods")["items"], f"{team} has no pods")
        eventually(lambda: not cluster.get(f"{KUEUE}/namespaces/{team}/workloads")["items"], f"{team} has no workloads")
    for path in ("/apis/autoscaling.x-k8s.io/v1/provisioningrequests", "/api/v1/podtemplates"):
        eventually(lambda: not (cluster._try(path) or {"items": []})["items"], f"nothing is left at {path}")
    refused = [
        line for line in sluice.log_path.read_text().splitlines() if '"status":403' in line or "forbidden" in line
    ]
    assert not refused, "\n".join(refused[:10])
