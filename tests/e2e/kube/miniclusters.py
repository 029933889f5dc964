# SPDX-License-Identifier: Apache-2.0
"""MiniClusters that together use every field of v1alpha2, and what an operator makes of them, in a form that two
operators may agree on.

    made = Made(cluster, "theirs")
    made.create()                 # each of CASES in a namespace of its own
    made.settled()                # once the operator has nothing left to do: by case, its objects by kind and name

What differs from one run to the next is left out of that form: times, uids, versions, addresses, the manager of fields,
and the order in which maps were walked.
"""

import json
import re
import time

from kube import Failure, until

API = "/apis/flux-framework.org/v1alpha2"
NAME = "sample"
KINDS = {  # what an operator makes, by path
    "/api/v1": ("configmaps", "services", "pods", "secrets", "persistentvolumeclaims"),
    "/apis/batch/v1": ("jobs",),
    "/apis/networking.k8s.io/v1": ("ingresses",),
}
# What a namespace has by itself.
OWN = {("configmaps", "kube-root-ca.crt")}


def container(**more):
    return {"image": "example.org/app:1", "command": "hostname", **more}


SIDECAR = {"name": "side", "image": "example.org/side:1", "command": "serve --all"}
SERVICE = {"name": "db", "image": "example.org/db:1"}


def alone(**more):
    """A spec with one container."""
    return {"size": 1, "containers": [container()], **more}


def runs(**more):
    """A spec whose one container has more."""
    return {"size": 1, "containers": [container(**more)]}


def beside(**more):
    """A spec with a sidecar."""
    return {"size": 2, "containers": [container(runFlux=True), {**SIDECAR, **more}]}


VOLUMES = {
    "claimed": {"claimName": "data", "path": "/data"},
    "hidden": {"secretName": "keys", "path": "/keys", "readOnly": True},
    "local": {"hostPath": "/srv", "path": "/srv"},
    "settings": {"configMapName": "settings", "path": "/settings", "items": {"a": "a.txt", "b": "sub/b.txt"}},
}
COMMANDS = {
    "init": "echo init",
    "pre": "echo pre\necho more",
    "brokerPre": "echo broker",
    "workerPre": "echo worker",
    "post": "echo post",
    "prefix": "strace -f",
}

# name: spec, and the sizes that it is given afterwards
CASES = {
    "smallest": (alone(),),
    "nothing": ({"containers": [{}]},),
    "sizes": (alone(size=4, tasks=8, minSize=2, maxSize=6), 6, 2),
    "too-large": (alone(size=2), 9),
    "beyond": (alone(size=2, maxSize=3), 9),
    "shrunk": (alone(size=3), 1),
    "deadline": (alone(size=2, deadlineSeconds=60, cleanup=True),),
    "labels": (
        alone(
            jobLabels={"kueue.x-k8s.io/queue-name": "user-queue", "team": "a"},
            pod={"labels": {"app": "x"}, "annotations": {"note": "y"}},
        ),
    ),
    "pod": (
        alone(
            size=2,
            pod={
                "serviceAccountName": "worker",
                "schedulerName": "default-scheduler",
                "nodeSelector": {"disk": "ssd", "zone": "a"},
            },
        ),
    ),
    "resources": (
        runs(
            resources={
                "requests": {"cpu": 2, "memory": "2Gi", "example.org/gpu": 1},
                "limits": {"cpu": "2500m", "memory": "4Gi", "example.org/gpu": 1},
            }
        ),
    ),
    "interactive": (alone(size=2, interactive=True, shareProcessNamespace=True),),
    "logging": (alone(logging={"quiet": True, "strict": True, "debug": True, "zeromq": True, "timed": True}),),
    "verbose": (alone(logging={"timed": True}, flux={"logLevel": 9, "optionFlags": "-ompi=openmpi"}),),
    "archive": (alone(archive={"path": "/archive/state.tar.gz"}),),
    "network": (alone(size=3, network={"headlessName": "my-network", "disableAffinity": True}),),
    "minimal": (alone(size=3, flux={"minimalService": True}),),
    "view": (
        alone(
            flux={
                "container": {
                    "name": "my-view",
                    "image": "example.org/view:2",
                    "mountPath": "/opt/flux-view",
                    "workingDir": "/work",
                    "pullAlways": True,
                    "pythonPath": "/opt/python",
                    "imagePullSecret": "pull-view",
                    "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": 1, "memory": "1Gi"}},
                }
            }
        ),
    ),
    "no-view": (alone(size=2, flux={"container": {"disable": True}}),),
    "broker": (
        alone(
            flux={
                "connectTimeout": "30s",
                "wrap": "strace,-e,network",
                "submitCommand": "flux run -N1",
                "arch": "arm64",
                "noWaitSocket": True,
                "completeWorkers": True,
                "mungeSecret": "munge",
            }
        ),
    ),
    "written": (alone(flux={"brokerConfig": "[bootstrap]\ndefault_port = 9000\n", "curveCert": "curve\n    x = 1\n"}),),
    "easy": (alone(flux={"scheduler": {"queuePolicy": "easy"}}),),
    "bursting": (alone(size=2, flux={"bursting": {"clusters": [{"name": "burst-0", "size": 4}, {"name": "b"}]}}),),
    "burst-to": (
        alone(
            size=2,
            flux={"bursting": {"leadBroker": {"address": "192.0.2.7", "name": "lead", "size": 4, "port": 8060}}},
        ),
    ),
    "hostlist": (alone(flux={"bursting": {"hostlist": "a-[0-3],b"}}),),
    "commands": (runs(commands=COMMANDS, workingDir="/work", logs="/tmp/logs", environment={"A": "1", "B": "x y"}),),
    "script": (runs(command="", commands={"script": "#!/bin/bash\necho one\necho two\n"}),),
    "launcher": (runs(launcher=True, command="nextflow run x", pullAlways=True, imagePullSecret="pull"),),
    "batch": (runs(batch=True, batchRaw=False, command="echo one\necho two"),),
    "raw-batch": (runs(batch=True, batchRaw=True, command="flux submit echo one\nflux queue drain"),),
    "secrets": (
        runs(
            secrets={"TOKEN": {"name": "keys", "key": "token"}, "USER": {"name": "keys", "key": "user"}},
            securityContext={"privileged": True, "addCapabilities": ["SYS_PTRACE", "NET_ADMIN"]},
            lifeCycle={"postStartExec": "echo up", "preStopExec": "echo down"},
        ),
    ),
    "volumes": (runs(volumes=VOLUMES, ports=[5000]),),
    "overhead": (alone(pod={"resources": {"cpu": 1, "memory": "64Mi"}}),),
    "sidecar": (beside(ports=[8000, 9000], volumes={"scratch": {"hostPath": "/scratch", "path": "/scratch"}}),),
    "sidecar-commands": (beside(commands={"servicePre": "echo service", "pre": "echo pre"}, environment={"C": "3"}),),
    "sidecar-plain": (beside(noWrapEntrypoint=True, workingDir="/srv"),),
    "services": (
        {
            "size": 2,
            "containers": [container()],
            "pod": {"serviceAccountName": "worker", "nodeSelector": {"disk": "ssd"}, "annotations": {"note": "y"}},
            "services": [
                {
                    **SERVICE,
                    "command": "postgres",
                    "workingDir": "/srv",
                    "pullAlways": True,
                    "imagePullSecret": "pull-db",
                    "ports": [5432],
                    "environment": {"A": "1"},
                    "secrets": {"PASSWORD": {"name": "db", "key": "password"}},
                    "volumes": VOLUMES,
                    "resources": {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}},
                    "lifeCycle": {"postStartExec": "echo up", "preStopExec": "echo down"},
                    "securityContext": {"privileged": True, "addCapabilities": ["SYS_ADMIN"]},
                    "noWrapEntrypoint": True,
                },
                {
                    "name": "cache",
                    "image": "example.org/cache:1",
                    "commands": {"init": "i", "post": "p", "prefix": "x", "servicePre": "s", "script": "echo"},
                    "logs": "/tmp/logs",
                    "launcher": True,
                    "batch": False,
                    "batchRaw": False,
                    "runFlux": False,
                },
            ],
        },
    ),
    # What makes nothing at all.
    "empty": (alone(size=0),),
    "below": (alone(size=4, maxSize=2),),
    "no-runner": ({"size": 1, "containers": [container(name="a"), container(name="b")]},),
    "two-runners": ({"size": 1, "containers": [container(runFlux=True), container(runFlux=True)]},),
    "contradiction": (runs(launcher=True, batch=True),),
    "two-commands": (runs(commands={"script": "echo"}),),
    "no-path": (runs(volumes={"data": {"claimName": "data"}}),),
    "pre-service": (
        {**alone(), "services": [{**SERVICE, "commands": {"brokerPre": "echo", "workerPre": "w", "pre": "p"}}]},
    ),
}
# A size that is not taken where maxSize says so, and is taken back where it does not.
IGNORED = ("beyond",)
REFUSED = tuple(list(CASES)[list(CASES).index("empty") :])


def fields(schema, path=()):
    """The leaves of a schema, as the paths of an object; keys of maps are *."""
    if schema.get("type") == "object" and schema.get("properties"):
        for key, below in schema["properties"].items():
            yield from fields(below, (*path, key))
    elif schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        yield from fields(schema["additionalProperties"], (*path, "*"))
    elif schema.get("type") == "array":
        yield from fields(schema["items"], path)
    else:
        yield path


def named(thing, schema, path=()):
    """The leaves that an object has of it."""
    if isinstance(thing, list):
        for one in thing:
            yield from named(one, schema["items"], path)
    elif isinstance(thing, dict):
        for key, below in thing.items():
            known = schema.get("properties", {}).get(key)
            yield from named(below, known or schema["additionalProperties"], (*path, key if known else "*"))
    else:
        yield path


# ---- one form for both ----


def in_order(thing):
    """Without what differs from run to run. Lists that come of maps are in the order of their names."""
    if isinstance(thing, dict):
        return {key: in_order(below) for key, below in sorted(thing.items())}
    if isinstance(thing, list):
        inner = [in_order(below) for below in thing]
        keyed = [key for key in ("name", "key") if inner and all(isinstance(e, dict) and key in e for e in inner)]
        return sorted(inner, key=lambda e: (e[keyed[0]], json.dumps(e))) if keyed else inner
    return thing


def bare(thing, ns):
    """What is to be equal of an object: namespaces are called alike, owners have no uid."""
    metadata = thing["metadata"]
    kept = {key: metadata[key] for key in ("name", "labels", "annotations") if metadata.get(key)}
    owners = metadata.get("ownerReferences", [])
    kept["owners"] = [{key: value for key, value in owner.items() if key != "uid"} for owner in owners]
    rest = {key: below for key, below in thing.items() if key not in ("metadata", "apiVersion", "kind", "status")}
    text = json.dumps({"metadata": kept, **rest})
    text = re.sub(rf"\b{re.escape(ns)}\b", "NAMESPACE", text)
    bare = json.loads(text.replace(metadata["uid"], "UID"))
    spec = bare.get("spec", {})
    for key in ("clusterIP", "clusterIPs"):  # given by the API server
        if spec.get(key) not in (None, "None", ["None"]):
            spec[key] = "given"
    # Which job it is, as the API server says it in labels.
    labels = spec.get("template", {}).get("metadata", {})
    labels.pop("creationTimestamp", None)
    return in_order(bare)


def status(thing):
    """Of a MiniCluster, without times."""
    said = dict(thing.get("status") or {})
    said["conditions"] = {
        c["type"]: [c["status"], c.get("reason"), c.get("message")] for c in said.get("conditions", [])
    }
    return said


class Made:
    """What one operator makes of all cases."""

    def __init__(self, cluster, prefix):
        self.cluster, self.prefix = cluster, prefix

    def ns(self, case):
        return f"{self.prefix}-{case}"

    def create(self):
        for case, (spec, *_) in CASES.items():
            ns = self.ns(case)
            self.cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": ns}})
            thing = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": NAME}}
            self.make(case, {**thing, "spec": spec})

    def make(self, case, thing):
        self.cluster.request("POST", f"{API}/namespaces/{self.ns(case)}/miniclusters", thing)

    def give(self, path, size):
        self.cluster.request("PATCH", path, {"spec": {"size": size}}, "application/merge-patch+json")

    def resize(self, seconds=120):
        """Gives each the sizes of its case, one after the other."""
        for case, (_, *sizes) in CASES.items():
            for size in sizes:
                path = f"{API}/namespaces/{self.ns(case)}/miniclusters/{NAME}"
                self.give(path, size)

                def answered():
                    now = self.cluster.get(path)["spec"]["size"]
                    job = self.cluster.get(f"/apis/batch/v1/namespaces/{self.ns(case)}/jobs/{NAME}")
                    return now == job["spec"]["parallelism"]

                if case not in IGNORED:
                    until(answered, seconds, f"{case} to have {size} or the most that it may")

    def objects(self, case):
        ns, found = self.ns(case), {}
        for path, plurals in KINDS.items():
            for plural in plurals:
                for thing in self.cluster.get(f"{path}/namespaces/{ns}/{plural}")["items"]:
                    if (plural, thing["metadata"]["name"]) not in OWN:
                        found[f"{plural}/{thing['metadata']['name']}"] = bare(thing, ns)
        thing = self.cluster.get(f"{API}/namespaces/{ns}/miniclusters/{NAME}")
        found["minicluster"] = in_order({"spec": thing["spec"], "status": status(thing)})
        return found

    def settled(self, quiet=3, seconds=180):
        """Everything that there is, once it has not changed for some seconds."""
        end, was, since = time.monotonic() + seconds, None, 0.0
        while True:
            now = {case: self.objects(case) for case in CASES}
            if now != was:
                was, since = now, time.monotonic()
            elif time.monotonic() > since + quiet:
                return now
            if time.monotonic() > end:
                raise Failure(f"the objects still change after {seconds} s")
            time.sleep(0.5)


def differences(one, other, path=""):
    """Where two things differ, as (path, in the one, in the other); texts of several lines by line."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from differences(one.get(key), other.get(key), f"{path}.{key}" if path else key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other)):
            yield from differences(a, b, f"{path}[{i}]")
    elif isinstance(one, str) and isinstance(other, str) and ("\n" in one or "\n" in other):
        yield from differences(one.split("\n"), other.split("\n"), f"{path}:")
    elif one != other:
        yield path, one, other
