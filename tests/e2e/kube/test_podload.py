# SPDX-License-Identifier: Apache-2.0
"""How fast pods get through a queue, against what the API server takes for the same writes from a bare client.

    SL_PODLOAD=5000 tests/e2e/run kube/test_podload.py  # so many plain pods, and a tenth as many groups of ten; or 100

All pods exist, gated, before the clock starts. Sluice's time runs from the start of the process until the last pod
has lost its gate; the API server's metrics say what was written meanwhile. The bare client (barewrite.c) then makes
the same writes to the same kinds of objects: as many of each, with the bodies that a proxy noted when Sluice
admitted a few pods, other names, uids and versions put in. The two take turns, the bare client first and last, each
on an API server that holds nothing else. Prints one JSON line for each number.
"""

import collections
import json
import os
import re
import resource
import statistics
import subprocess
import time

import pytest

from kube import Failure, until
from sluice import KUEUE, Sluice, install_kinds, program, proxy_ended, say, small_queue, through
from store import Store

COUNT = int(os.environ.get("SL_PODLOAD") or 100)
GROUPS, SIZE = COUNT // 10, 10
FULL = COUNT >= 5000
TURNS = 2 if FULL else 1
MIN_RATIO = 0.85  # of the bare client's throughput, at full size
CONNECTIONS = 32  # of the bare client: more are no quicker
PODS = "/api/v1/namespaces/default/pods"
WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
OURS = ("pods", "workloads", "clusterqueues", "localqueues", "cohorts", "events")
PREFIX = "kueue.x-k8s.io/"
RESOURCE = re.compile(r"/(?:apis/[^/]+|api)/v\w+/(?:namespaces/[^/]+/)?(\w+)(?:/[^/?]+(?:/(\w+))?)?(?:\?.*)?$")
SAMPLE = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.M)

TIME_LIMIT = 400
cluster = sluice = store = None
recipe = {}  # "p" and "g": the writes for a plain pod and for a group; "others": for queues, and an event


def report(name, value, unit):
    say(json.dumps({"name": f"pods/{name}", "value": round(value, 3), "unit": unit, "pods": COUNT, "groups": GROUPS}))


# ---- objects ----


def names():
    """Of all pods, plain ones first; of a group they begin with its name."""
    return [f"p-{n:07}" for n in range(COUNT)] + [f"g-{n:07}-{i}" for n in range(GROUPS) for i in range(SIZE)]


def pod(name):
    """As the webhooks leave it."""
    metadata = {
        "name": name,
        "labels": {PREFIX + "queue-name": "main", PREFIX + "managed": "true", "app": "trainer"},
        "finalizers": [PREFIX + "managed"],
        "annotations": {PREFIX + "role-hash": "5ab2e08c"},
    }
    if name.startswith("g"):
        metadata["labels"][PREFIX + "pod-group-name"] = name[:9]
        metadata["annotations"][PREFIX + "pod-group-total-count"] = str(SIZE)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 30,
            "schedulingGates": [{"name": PREFIX + "admission"}, {"name": PREFIX + "topology"}],
            "containers": [
                {
                    "name": "trainer",
                    "image": "registry.example.com/research/trainer:v7",
                    "command": ["/bin/sh", "-c"],
                    "args": ["exec python3 -m trainer --epochs=90 --data=/data --out=/out"],
                    "env": [{"name": f"TRAINER_OPTION_{i}", "value": f"value-of-option-{i}"} for i in range(6)],
                    "resources": {"requests": {"cpu": "1"}},
                }
            ],
        },
    }


def gated():
    """The pods that have not been let go."""
    return [
        p["metadata"]["name"]
        for p in cluster.request("GET", PODS, timeout=120)["items"]
        if p["spec"].get("schedulingGates")
    ]


def wipe():
    """All pods, workloads and events go, without anybody's finalizers."""
    for what in ("pods", "kueue.x-k8s.io/workloads", "events"):
        store.delete(f"/registry/{what}/default/")
    # Also in the API server's own memory, which lists are served from.
    until(
        lambda: not any(cluster.get(f"{path}?resourceVersion=0")["items"] for path in (PODS, WORKLOADS)),
        60,
        "an empty API",
    )


# ---- the bare client ----


def line(chain, write):
    return "\t".join((chain, write["method"], write["path"], write["type"], write["body"])) + "\n"


def bare(lines):
    """Seconds that these writes take."""
    path, pki = cluster.dir / "writes", cluster.dir / "pki"
    path.write_text("".join(lines))
    ran = subprocess.run(
        [
            program().parent / "tests/e2e/kube/barewrite",
            pki / "ca.crt",
            pki / "admin.crt",
            pki / "admin.key",
            cluster.url,
            path,
            str(CONNECTIONS),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    path.unlink()
    assert ran.returncode == 0, f"the bare client: {ran.stdout}"
    return json.loads(ran.stdout)["seconds"]


def fill(which):
    """Makes pods of these names."""
    seconds = bare(
        line(name, {"method": "POST", "path": PODS, "type": "application/json", "body": json.dumps(pod(name))})
        for name in which
    )
    say(f"# {len(which)} gated pods in {seconds:.1f} s")


def stored():
    """The uids and versions of all pods, by name."""
    return {
        p["metadata"]["name"]: (p["metadata"]["uid"], p["metadata"]["resourceVersion"])
        for p in cluster.request("GET", PODS, timeout=120)["items"]
    }


# ---- what is written ----


def kind_of(method, path, type=""):
    """How the API server counts a write."""
    resource, part = RESOURCE.match(path).groups()
    return "APPLY" if "apply-patch" in type else method, resource, part or ""


def counted():
    """The writes that the API server has taken so far, by verb, resource and part; ours, and those that failed."""
    good, bad = collections.Counter(), collections.Counter()
    for labels, value in SAMPLE.findall(cluster.request("GET", "/metrics", timeout=60)):
        of = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if of["resource"] in OURS and of["verb"] in ("POST", "PUT", "PATCH", "APPLY", "DELETE"):
            (good if of["code"].startswith("2") else bad)[of["verb"], of["resource"], of["subresource"]] += int(
                float(value)
            )
    return good, bad


def plural(kinds):
    return ", ".join(f"{n} {' '.join(k).strip()}" for k, n in sorted(kinds.items()) if n) or "none"


def learn(notes, base, members, workload):
    """The noted writes for one workload, to be made again for another: those to it first, as what follows them is
    written with its version."""
    seen = {name: uid for name, (uid, _) in members.items()}
    mine = [
        n
        for n in notes
        if f"/workloads/{workload}" in n["path"]
        or any(n["path"].split("?")[0].endswith(f"/pods/{name}") for name in seen)
        or kind_of(n["method"], n["path"])[:2] == ("POST", "workloads")
        and f'"{workload}"' in n["body"]
    ]
    return {"base": base, "uids": list(seen.values()), "writes": sorted(mine, key=lambda n: "/pods/" in n["path"])}


def made_for(which, number, found):
    """The writes of a recipe for other pods: number, and what is stored of them by name."""
    r = recipe[which]
    base = f"{which}-{number:07}"
    for write in r["writes"]:
        path, body = (text.replace(r["base"], base) for text in (write["path"], write["body"]))
        member = "/pods/" in path
        version = found[path.split("?")[0].rsplit("/", 1)[1]][1] if member else "@VERSION@"
        body = re.sub(r'("resourceVersion":)"\d+"', rf'\1"{version}"', body)
        if not member and kind_of(write["method"], path)[0] != "POST":
            body = re.sub(r'^(.*?"uid":)"[^"]+"', r'\1"@UID@"', body)
        for i, old in enumerate(r["uids"]):
            new = f"{base}-{i}" if which == "g" else base
            body = body.replace(old, found[new][0])
        yield {**write, "path": path, "body": body}


def plan(made, found):
    """What the bare client is to write so that it is what was made: lines, and what could not be had."""
    left, lines = collections.Counter(made), []
    for which, count in ("p", COUNT), ("g", GROUPS):
        for number in range(count):
            for write in made_for(which, number, found):
                kind = kind_of(write["method"], write["path"], write["type"])
                if left[kind] > 0:  # else it was written later, or not at all
                    left[kind] -= 1
                    lines.append(line(f"{which}{number}", write))
    chains = []
    for write in recipe["others"]:
        kind = kind_of(write["method"], write["path"], write["type"])
        n, left[kind] = left[kind], 0
        for i in range(n):
            body = re.sub(r'("resourceVersion":)"\d+"', r'\1"@VERSION@"', write["body"])
            if kind[1] == "events":
                body = re.sub(r'("name":"[^"]*)\.[0-9a-f]+"', rf'\1.{i:016x}"', body, count=1)
                chains.append([line(f"e{i}", {**write, "body": body})])
            else:  # the same again would not be stored; the object is only touched for its version
                body = re.sub(r'("pendingWorkloads":)\d+', rf"\g<1>{i + 1}", body)
                here = line(kind[1], {**write, "body": body})
                if i == 0:
                    chains.append(
                        [
                            line(
                                kind[1],
                                {
                                    "method": "PATCH",
                                    "path": write["path"].split("/status")[0],
                                    "type": "application/merge-patch+json",
                                    "body": "{}",
                                },
                            )
                        ]
                    )
                chains[-1].append(here)
    return [text for chain in chains for text in chain] + lines, +left


# ---- the measured ----


def cpu(pid):
    """Seconds of CPU that a process has used."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def burnt():
    return {name: cpu(cluster.running[name][0]) for name in ("kube-apiserver", "etcd")}


def spent(before, more):
    now = burnt()
    return ", ".join(f"{k} {v:.1f}" for k, v in {**{k: now[k] - before[k] for k in now}, **more}.items())


def let_go():
    """How many pods Sluice has taken the gate off. The API server is not asked: that would cost it time."""
    return sum(
        v for k, v in sluice.metrics().items() if k.startswith("kueue_pod_scheduling_gate_removal_seconds_count")
    )


def await_all():
    end = time.monotonic() + 60 + COUNT / 10
    while let_go() < COUNT + GROUPS * SIZE:
        if time.monotonic() > end:
            raise Failure(f"{let_go()} pods have lost their gate, and then nothing")
        time.sleep(0.5 if FULL else 0.1)  # each look costs Sluice a walk over all workloads


def with_sluice():
    """Seconds from its start until no pod is gated, and what was written by then."""
    good, bad = counted()
    before = burnt()
    sluice.start()
    await_all()
    seconds = time.monotonic() - sluice.began
    used = spent(before, {"sluice": cpu(sluice.process.pid)})
    sluice.kill9()  # what it would write from now on does not count
    now_good, now_bad = counted()
    say(f"# sluice: {seconds:.2f} s, ready after {sluice.ready_after:.2f} s; seconds of CPU: {used}")
    assert not gated(), f"still gated: {gated()[:5]}"
    say(f"#   written: {plural(now_good - good)}; refused: {plural(now_bad - bad)}")
    return seconds, now_good - good


def with_bare(made):
    lines, missing = plan(made, stored())
    many = sum(made.values())
    assert sum(missing.values()) <= many / 100, f"not noted, but written: {plural(missing)}"
    before, mine = burnt(), resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = bare(lines)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    say(
        f"# bare client: {seconds:.2f} s for {len(lines)} writes; seconds of CPU: "
        + spent(before, {"client": used.ru_utime + used.ru_stime - mine.ru_utime - mine.ru_stime})
    )
    assert not gated(), "the bare client left pods gated"
    return seconds


@pytest.fixture(scope="module", autouse=True)
def noted(api_cluster):
    """An API server and a queue, and what Sluice writes for a plain pod and for a group."""
    global cluster, sluice, store
    tool = program().parent / "tests/e2e/kube/barewrite"
    if not tool.exists():  # make builds the program alone
        subprocess.run(
            ["ninja", "-C", program().parent, "tests/e2e/kube/barewrite"], check=True, stdout=subprocess.DEVNULL
        )
    cluster = api_cluster
    install_kinds(cluster)
    small_queue(cluster, 2 * (COUNT + GROUPS * SIZE))
    store = Store(cluster)
    sluice = Sluice(cluster, install=False, controllers="core,scheduler,pod", frameworks=["pod"])
    sluice.prepare()
    note()
    yield
    sluice.kill9()


def note():
    cert, key = cluster.certificate("proxy", "proxy", hosts=["127.0.0.1", "localhost"])
    pki, path = cluster.dir / "pki", cluster.dir / "notes"
    few = [f"p-{n:07}" for n in range(2)] + [f"g-{0:07}-{i}" for i in range(SIZE)]
    fill(few)
    sluice.kubeconfig, process = through(
        cluster, "note", cert, key, pki / "ca.crt", pki / "admin.crt", pki / "admin.key", path
    )
    before = stored()
    sluice.start()
    until(lambda: not gated(), what="the first pods without a gate")

    def written():
        return path.read_text() if path.exists() else ""

    until(lambda: written().count("/events") > 5, what="events")
    for queue in "clusterqueues", "localqueues":  # are told later
        until(lambda: f"/{queue}/main/status" in written(), what=f"what is written to {queue}")
    time.sleep(1.5)
    sluice.kill9()
    proxy_ended(process)
    sluice.kubeconfig = None
    notes = [json.loads(text) for text in path.read_text().splitlines()]
    workloads = {w["metadata"]["name"]: w for w in cluster.get(WORKLOADS)["items"]}
    plain = next(name for name in workloads if f"-{few[0]}-" in name)
    recipe["p"] = learn(notes, few[0], {few[0]: before[few[0]]}, plain)
    recipe["g"] = learn(notes, few[2][:9], {name: before[name] for name in few[2:]}, few[2][:9])
    recipe["others"] = [
        *{
            kind_of(n["method"], n["path"], n["type"]): n
            for n in notes
            if kind_of(n["method"], n["path"])[1] not in ("pods", "workloads")
        }.values()
    ]
    for which, what in ("p", "a plain pod"), ("g", f"a group of {SIZE}"), ("others", "besides"):
        writes = recipe[which] if which == "others" else recipe[which]["writes"]
        say(f"# {what}: " + plural(collections.Counter(kind_of(w["method"], w["path"], w["type"]) for w in writes)))
    wipe()


def test_noted():
    """there is something to write for a plain pod, and for each pod of a group"""
    assert recipe["p"]["writes"] and len(recipe["g"]["writes"]) >= SIZE + 2


def test_throughput():
    """Sluice is nearly as fast as the API server"""
    many = names()
    fill(many)
    bare_seconds, seconds = [], []
    first, made = with_sluice()  # warms the API server, and tells what there is to write
    say(f"# not counted: {first:.2f} s")
    for turn in range(TURNS + 1):
        wipe()
        fill(many)
        bare_seconds.append(with_bare(made))
        if turn < TURNS:
            wipe()
            fill(many)
            took, made = with_sluice()
            seconds.append(took)
    writes = sum(made.values())
    ours, theirs = statistics.median(seconds), statistics.mean(bare_seconds)
    ratio = theirs / ours
    report("sluice", ours, "s")
    report("bare-client", theirs, "s")
    report("writes", writes, "writes")
    report("writes-per-second", writes / ours, "1/s")
    report("admitted-pods-per-second", len(many) / ours, "1/s")
    report("throughput-ratio", ratio, "ratio")
    slack = 0 if FULL else max(2, theirs)  # the start of a process is no throughput, and takes longer on a slow machine
    assert (ours - slack) * MIN_RATIO <= theirs, f"{ours:.2f} s against {theirs:.2f} s"
