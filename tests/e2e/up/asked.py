# SPDX-License-Identifier: Apache-2.0
"""Random histories of requests to a Kubernetes API, and how the answers of two servers are made comparable.

A history is a list of steps that depends on its seed alone: which server answers it, and how, changes nothing. Names
are fixed, so that steps meet the same objects again. What belongs to a server (the version of an object, now or some
steps ago, its uid, or where the last list of a kind goes on) stands in bodies and paths as @rv:KIND/NAME@,
@old:KIND/NAME@, @uid:KIND/NAME@ and @go:KIND/list@ and is put in when the step is made.
"""

import copy
import json
import random
import re

from faults import CHANGES, FAULTS, GOOD
from objects import KINDS, MAKE, SAME, WHOLE_CLUSTER, WRONG

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Values that kube-apiserver tells with the names of its own structures, and how it tells what of a pod's spec changed.
INSIDE = re.compile(r"(?<=value: )\{(?:(?!value: ).)*?(?=: (?:field is immutable|supported values))")
STRUCTURE = re.compile(r"(?<=Invalid value: )(?=\{)")
TWICE = re.compile(r"(?<=Duplicate value: )\{.*?\}")
DIFFERENCE = re.compile(r"\n@@ .*\n", re.DOTALL)
WHOLE = re.compile(
    r'(?<=value: )"[\[{](?:[^"\\]|\\.)*"'
)  # an object that is told as a text: the order of its keys is each server's own
ADDRESS, PORT = re.compile(r"\b10\.\d+\.\d+\.\d+\b"), re.compile(r"\b3[012]\d{3}\b")  # of services: each server's own
MARK = re.compile(r"@(rv|old|uid|go):(\w+)/([\w.-]+)@")
JSON, MERGE = "application/json", "application/merge-patch+json"
PATCH, STRATEGIC, APPLY = (
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
NAMES = ("a", "b", "c")
TEMPLATES = {
    "podtemplates": "template.",
    "jobs": "spec.template.",
    "deployments": "spec.template.",
    "replicasets": "spec.template.",
    "statefulsets": "spec.template.",
    "daemonsets": "spec.template.",
    "replicationcontrollers": "spec.template.",
    "cronjobs": "spec.jobTemplate.spec.template.",
}


def put(object, path, value):
    """Sets, or takes away, what is at a path; a path that leads nowhere changes nothing."""
    *way, last = path.split(".")
    for word in way:
        if isinstance(object, list) and object:
            object = object[int(word)]
        elif isinstance(object, dict) and isinstance(object.get(word), (dict, list)):
            object = object[word]
        else:
            return
    if isinstance(object, dict):
        if value is None:
            object.pop(last, None)
        else:
            object[last] = value


def spoil(object, fault):
    """Puts a fault in: path, value, path, value ..."""
    for path, value in zip(fault[::2], fault[1::2]):
        put(object, path, copy.deepcopy(value))


def faults_of(kind):
    """What can be wrong in an object of the kind, rule by rule; in pods also where they are templates."""
    if kind in TEMPLATES:
        return [tuple(w if i % 2 else TEMPLATES[kind] + w for i, w in enumerate(f)) for f in FAULTS["pods"]]
    return FAULTS.get(kind, [])


class Step:
    def __init__(self, method, path, body=None, type=JSON, accept=JSON):
        self.method, self.path, self.body, self.type, self.accept = method, path, body, type, accept

    def __str__(self):
        return (
            f"{self.method} {self.path}"
            + (f" {self.type.split('/')[1]} {self.body}" if self.body is not None else "")
            + ("" if self.accept == JSON else f" as {self.accept}")
        )


class History:
    """The steps of a seed."""

    def __init__(self, seed, steps=40):
        self.seed, self.ns = seed, f"history-{seed}"
        self.rng = random.Random(seed)
        self.kinds = self.rng.sample(list(KINDS), 3)
        self.steps = [self._step() for _ in range(steps)]

    def at(self, kind, name=None, part=""):
        return {**KINDS, **WHOLE_CLUSTER}[kind][0].format(ns=self.ns) + (f"/{name}" if name else "") + part

    def mark(self, what, kind, name):
        if what == "old" and any(
            k in self.kinds and SAME[k] in self.kinds for k in SAME
        ):  # each server has its own versions: who manages changes, or not
            what = "rv"
        return f"@{what}:{SAME.get(kind, kind)}/{name}@"

    def object(self, kind, name):
        body = {
            "apiVersion": KINDS[kind][1],
            "kind": KINDS[kind][2],
            "metadata": {"name": name},
            **MAKE[kind](self.rng),
        }
        if self.rng.random() < 0.5:
            body["metadata"]["labels"] = {"team": self.rng.choice("rgb")}
        if self.rng.random() < 0.15:
            body["metadata"]["finalizers"] = ["tests.sluice/hold"]
        return json.loads(json.dumps(body).replace("@ns@", self.ns))

    def spoil(self, kind, body):
        rules = faults_of(kind) if self.rng.random() < 0.4 else []
        spoil(body, self.rng.choice(rules or WRONG["*"] + 3 * WRONG.get(kind, [])))

    def _query(self, *more):
        rng = self.rng
        words = [w for w in more if w]
        if rng.random() < 0.1:
            words.append("dryRun=All")
        if rng.random() < 0.2:
            words.append("fieldValidation=" + rng.choice(("Strict", "Warn", "Ignore")))
        if rng.random() < 0.2:
            words.append("fieldManager=" + rng.choice(("one", "two")))
        return "?" + "&".join(words) if words else ""

    def _step(self):
        rng = self.rng
        kind, name = rng.choice(self.kinds), rng.choice(NAMES)
        (op,) = rng.choices(list(self.OPS), [w for w, _ in self.OPS.values()])
        return self.OPS[op][1](self, kind, name)

    # -- the steps --

    def create(self, kind, name):
        return Step("POST", self.at(kind) + self._query(), json.dumps(self.object(kind, name)))

    def wrong(self, kind, name):
        body = self.object(kind, name)
        self.spoil(kind, body)
        if self.rng.random() < 0.3 and kind != "widgets":  # whose faults kube-apiserver tells in no order
            self.spoil(kind, body)
        if kind == "limitranges":  # without a name it gets one at random, and lists have another order on each server
            body.setdefault("metadata", {"name": name})
        return Step("POST", self.at(kind) + self._query(), json.dumps(body))

    def broken(self, kind, name):
        text = self.rng.choice(
            (
                "",
                "{",
                "[]",
                "null",
                '"x"',
                "{}",
                '{"kind": 5}',
                '{"metadata": {"name": "a"}, "metadata": {"name": "b"}}',
                "a: b: c",
                json.dumps(self.object(kind, name))[:-3],
                "\x00",
                '{"apiVersion":"v1"}',
            )
        )
        return Step(self.rng.choice(("POST", "PUT")), self.at(kind, name if self.rng.random() < 0.5 else None), text)

    def generated(self, kind, name):
        body = self.object(kind, name)
        body["metadata"] = {"generateName": "gen-"}
        return Step("POST", self.at(kind) + "?dryRun=All", json.dumps(body))

    def read(self, kind, name):
        accept = self.rng.choice((JSON, JSON, JSON, TABLE, PARTIAL))
        return Step("GET", self.at(kind, name), accept=accept)

    def list(self, kind, name):
        query = self.rng.choice(
            (
                "",
                "labelSelector=team=r",
                "labelSelector=team%20in%20(r,g)",
                "labelSelector=!team",
                "labelSelector=team!=b",
                "limit=1",
                "limit=2",
                "fieldSelector=metadata.name=a",
                "fieldSelector=metadata.name!=a",
                "fieldSelector=spec.nowhere=1",
                "labelSelector=a%20b%20c",
                "resourceVersion=0",
                "fieldSelector=metadata.namespace=x",
                "labelSelector=team,team%20notin%20(g)",
                "limit=-1",
                "continue=nonsense",
                "resourceVersion=x",
                f"limit=1&continue={self.mark('go', kind, 'list')}",
                f"limit=2&continue={self.mark('go', kind, 'list')}",
                f"continue={self.mark('go', kind, 'list')}",
            )
        )
        return Step("GET", self.at(kind) + ("?" + query if query else ""), accept=self.rng.choice((JSON, JSON, TABLE)))

    def update(self, kind, name):
        body = self.object(kind, name)
        version = self.rng.choice((None, "rv", "rv", "old"))
        if version:
            body["metadata"]["resourceVersion"] = self.mark(version, kind, name)
        if self.rng.random() < 0.2:
            body["metadata"]["uid"] = self.mark("uid", kind, name)
        if self.rng.random() < 0.2:
            self.spoil(kind, body)
        return Step("PUT", self.at(kind, name) + self._query(), json.dumps(body))

    def merge(self, kind, name):
        rng = self.rng
        body = rng.choice(
            (
                {"metadata": {"labels": {"team": rng.choice("rgb")}}},
                {"metadata": {"labels": None}},
                {"metadata": {"annotations": {"note": "x", "gone": None}}},
                {"metadata": {"finalizers": None}},
                {"metadata": {"resourceVersion": self.mark("old", kind, name), "labels": {"z": "1"}}},
                {},
                [],
                {"metadata": {"name": "other"}},
                {"metadata": {"uid": "x"}},
                MAKE[kind](rng),
                {"status": {"x": 1}},
                {"spec": None},
            )
        )
        type = rng.choice((MERGE, MERGE, STRATEGIC))
        return Step("PATCH", self.at(kind, name) + self._query(), json.dumps(body), type)

    def operations(self, kind, name):
        rng = self.rng
        some = [
            {"op": "add", "path": "/metadata/labels", "value": {"team": "r"}},
            {"op": "replace", "path": "/metadata/labels/team", "value": "g"},
            {"op": "remove", "path": "/metadata/labels/team"},
            {"op": "test", "path": "/metadata/name", "value": name},
            {"op": "test", "path": "/metadata/name", "value": "no"},
            {"op": "remove", "path": "/metadata/nowhere"},
            {"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/copied"},
            {"op": "odd", "path": "/x"},
        ]
        body = rng.choice((rng.sample(some, rng.randint(1, 2)), rng.sample(some[:4], 2), {}, "x"))
        return Step("PATCH", self.at(kind, name) + self._query(), json.dumps(body), PATCH)

    def strategic(self, kind, name):
        rng = self.rng
        body = rng.choice(
            (
                {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}},
                {"spec": {"tolerations": [{"key": "y", "operator": "Exists"}]}},
                {
                    "spec": {
                        "template": {
                            "spec": {
                                "containers": [{"name": "side", "image": "new", "env": [{"name": "A", "value": "2"}]}]
                            }
                        }
                    }
                },
                {"metadata": {"finalizers": ["tests.sluice/hold"]}},
                {"metadata": {"$deleteFromPrimitiveList/finalizers": ["tests.sluice/hold"]}},
                {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}},
                {"data": {"$patch": "replace", "only": "1"}},
                {"spec": {"ports": [{"port": 81}]}},
            )
        )
        return Step("PATCH", self.at(kind, name) + self._query(), json.dumps(body), STRATEGIC)

    def apply(self, kind, name):
        body = self.object(kind, name)
        if self.rng.random() < 0.3:
            body = {
                **{k: body[k] for k in ("apiVersion", "kind")},
                "metadata": {"name": name, "labels": {"team": self.rng.choice("rgb")}},
            }
        query = [f"fieldManager={self.rng.choice(('one', 'two'))}"] if self.rng.random() < 0.95 else []
        query += ["force=true"] * (self.rng.random() < 0.3)
        if any(
            SAME.get(k) in (kind, SAME.get(kind)) for k in self.kinds if k in SAME
        ):  # whose fields they are is told in the form that is kept
            return Step("PUT", self.at(kind, name), json.dumps(body))
        return Step("PATCH", self.at(kind, name) + ("?" + "&".join(query) if query else ""), json.dumps(body), APPLY)

    def status(self, kind, name):
        rng = self.rng
        body = rng.choice(
            (
                {"status": {"note": "x", "replicas": 2}},
                {"status": {"phase": "Running"}},
                {"status": {"conditions": []}},
                {"spec": {"replicas": 5}},
                {"status": {"active": 1}},
                {"metadata": {"labels": {"by": "status"}}},
                {"status": {"observedGeneration": 1}},
            )
        )
        return Step("PATCH", self.at(kind, name, "/status") + self._query(), json.dumps(body), MERGE)

    def scale(self, kind, name):
        rng = self.rng
        if rng.random() < 0.4:
            return Step("GET", self.at(kind, name, "/scale"))
        return Step(
            "PATCH", self.at(kind, name, "/scale"), json.dumps({"spec": {"replicas": rng.choice((0, 2, -1))}}), MERGE
        )

    def delete(self, kind, name):
        rng = self.rng
        body = rng.choice(
            (
                None,
                None,
                {},
                {"propagationPolicy": "Orphan"},
                {"propagationPolicy": "Foreground"},
                {"gracePeriodSeconds": 0},
                {"preconditions": {"uid": "1-2"}},
                {"preconditions": {"resourceVersion": self.mark("old", kind, name)}},
                {"dryRun": ["All"]},
                {"propagationPolicy": "Odd"},
                {"preconditions": {"uid": self.mark("uid", kind, name)}},
                {
                    "preconditions": {"resourceVersion": self.mark("rv", kind, name)},
                    "propagationPolicy": rng.choice(("Foreground", "Background")),
                },
                {"orphanDependents": rng.choice((True, False))},
                {"orphanDependents": True, "propagationPolicy": "Foreground"},
                {"preconditions": {"uid": self.mark("uid", kind, name)}, "propagationPolicy": "Orphan"},
                {"gracePeriodSeconds": 5},
            )
        )
        return Step(
            "DELETE",
            self.at(kind, name),
            None if body is None else json.dumps({"apiVersion": "v1", "kind": "DeleteOptions", **body}),
        )

    def empty(self, kind, name):
        query = self.rng.choice(
            ("?labelSelector=team=r", "?labelSelector=team=none", "?fieldSelector=metadata.name=c", "?dryRun=All", "")
        )
        body = self.rng.choice(
            (
                None,
                None,
                {"propagationPolicy": "Foreground"},
                {"gracePeriodSeconds": 0},
                {"propagationPolicy": "Odd"},
                {"dryRun": ["All"]},
            )
        )
        return Step("DELETE", self.at(kind) + query, None if body is None else json.dumps(body))

    def replace_status(self, kind, name):
        if kind == "services":  # what is not there would be made by that
            return self.status(kind, name)
        body = self.object(kind, name)
        body["status"] = self.rng.choice(({"replicas": 1}, {"phase": "Running"}, {"note": "x"}, {"active": 2}, {}))
        if self.rng.random() < 0.6:
            body["metadata"]["resourceVersion"] = self.mark("rv", kind, name)
        return Step("PUT", self.at(kind, name, "/status") + self._query(), json.dumps(body))

    def replace_scale(self, kind, name):
        body = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": name},
            "spec": {"replicas": self.rng.choice((0, 3, -1))},
        }
        return Step("PUT", self.at(kind, name, "/scale"), json.dumps(body))

    def act(self, kind, name):
        """Of pods and accounts: what is asked of them."""
        rng = self.rng
        if kind == "serviceaccounts":
            spec = rng.choice(
                (
                    {},
                    {"audiences": ["x"]},
                    {"expirationSeconds": 3600},
                    {"expirationSeconds": 5},
                    {"audiences": ["x"], "boundObjectRef": {"kind": "Odd", "name": "x"}},
                )
            )
            return Step(
                "POST",
                self.at(kind, name, "/token"),
                json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}),
            )
        if kind != "pods":
            return self.odd(kind, name)
        return rng.choice(
            (
                Step(
                    "POST",
                    self.at(kind, name, "/eviction") + rng.choice(("", "?dryRun=All")),
                    json.dumps(
                        {
                            "apiVersion": "policy/v1",
                            "kind": "Eviction",
                            "metadata": {"name": rng.choice((name, "other"))},
                            **rng.choice(({}, {"deleteOptions": {"gracePeriodSeconds": 0}})),
                        }
                    ),
                ),
                Step(
                    "POST",
                    self.at(kind, name, "/binding"),
                    json.dumps(
                        {
                            "apiVersion": "v1",
                            "kind": "Binding",
                            "metadata": {"name": name},
                            "target": rng.choice(({"kind": "Node", "name": "n"}, {"kind": "Odd", "name": "n"}, {})),
                        }
                    ),
                ),
                Step(
                    "POST",
                    f"/api/v1/namespaces/{self.ns}/bindings",
                    json.dumps(
                        {
                            "apiVersion": "v1",
                            "kind": "Binding",
                            "metadata": {"name": name},
                            "target": {"kind": "Node", "name": "n"},
                        }
                    ),
                ),
            )
        )

    def release(self, kind, name):
        return Step("PATCH", self.at(kind, name), json.dumps({"metadata": {"finalizers": None}}), MERGE)

    def odd(self, kind, name):
        return self.rng.choice(
            (
                Step("GET", f"/api/v1/namespaces/{self.ns}/nothings"),
                Step("GET", "/apis/nowhere.example.com/v1/things"),
                Step("POST", self.at(kind, name), "{}"),
                Step("DELETE", "/version"),
                Step("GET", self.at(kind, name, "/nothing")),
                Step("PATCH", self.at(kind, name), "{}", "text/plain"),
                Step("GET", "/nowhere"),
                Step("POST", self.at(kind), "x", "application/xml"),
                Step("GET", self.at(kind), accept="application/xml"),
                Step("PUT", self.at(kind), "{}"),
                Step("POST", self.at(kind).replace(self.ns, "missing-namespace"), json.dumps(self.object(kind, name))),
            )
        )

    OPS = {
        "create": (10, create),
        "wrong": (8, wrong),
        "broken": (1, broken),
        "generated": (1, generated),
        "read": (5, read),
        "list": (5, list),
        "update": (6, update),
        "merge": (5, merge),
        "operations": (3, operations),
        "strategic": (3, strategic),
        "apply": (6, apply),
        "status": (3, status),
        "scale": (1, scale),
        "delete": (4, delete),
        "empty": (1, empty),
        "release": (2, release),
        "odd": (1, odd),
        "replace_status": (1.5, replace_status),
        "replace_scale": (0.5, replace_scale),
        "act": (1, act),
    }


class Rules:
    """Every fault of a kind once, in objects that are good otherwise; or one object and what it may become. To be gone
    through like a history."""

    def __init__(self, kind, part, steps):
        self.seed, self.ns, self.kinds, self.steps = f"{kind}/{part}", f"rules-{kind}-{part}", [kind], steps

    at = History.at

    @classmethod
    def all(cls, seed, pairs, size=60):
        made = []
        for kind in FAULTS:
            for of, prefix in [(kind, "")] + [("podtemplates", "template.")] * (kind == "pods"):
                for i in range(0, len(FAULTS[kind]), size):
                    made.append(cls(of, i, []))
                    made[-1].steps = [made[-1].faulty(kind, prefix, f) for f in FAULTS[kind][i : i + size]]
        for kind in sorted(WRONG.keys() & KINDS.keys()):
            rules = cls(kind, "known", [])
            rules.steps = [rules.spoiled(kind, [f]) for f in WRONG[kind] + WRONG["*"]]
            made.append(rules)
        for kind in sorted(FAULTS.keys() & KINDS.keys() | TEMPLATES.keys()):
            rng, rules = random.Random(f"{kind} {seed}"), cls(kind, "pairs", [])
            some = faults_of(kind) + 3 * WRONG.get(kind, [])
            rules.steps = [rules.spoiled(kind, rng.sample(some, 2)) for _ in range(pairs)]
            made.append(rules)
        for kind in CHANGES:
            made.append(cls(kind, "changes", []))
            for i, (begins, changes) in enumerate(CHANGES[kind]):
                made[-1].steps += made[-1].changed(kind, f"change-{i}", begins, changes)
        return made

    def object(self, kind, body):
        path, version, name = {**KINDS, **WHOLE_CLUSTER}[kind]
        body = copy.deepcopy(body)
        return {"apiVersion": version, "kind": name, **body, "metadata": {"name": "fault", **body.get("metadata", {})}}

    def spoiled(self, kind, faults):
        """In an object as histories have them."""
        body = self.object(kind, MAKE[kind](random.Random(7)))
        for fault in faults:
            spoil(body, fault)
        return Step("POST", self.at(kind) + "?dryRun=All", json.dumps(body).replace("@ns@", self.ns))

    def changed(self, kind, name, begins, changes):
        body = self.object(kind, {**GOOD[kind], **begins})
        body["metadata"]["name"] = name
        return [
            Step("POST", self.at(kind), json.dumps(body)),
            *(Step("PATCH", self.at(kind, name), json.dumps(c), MERGE) for c in changes),
        ]

    def faulty(self, kind, prefix, fault):
        body = self.object(kind, GOOD[kind])
        spoil(body, fault)
        if prefix:
            body = self.object(
                "podtemplates", {"template": {"metadata": {"labels": {"a": "b"}}, "spec": body.get("spec")}}
            )
        return Step("POST", self.at("podtemplates" if prefix else kind) + "?dryRun=All", json.dumps(body))


def meant(object, key, value):
    """Whether servers may differ in this, as the table in docs/up.md says."""
    if key == "description" and "priority" in object:  # of a column of a table: the words are our own
        return True
    if (
        key == "message" and isinstance(value, str) and value.startswith(("406: ", "only the following media types"))
    ):  # there it is said that answers can be in protobuf
        return True
    if key == "extra" and "authentication.kubernetes.io/credential-id" in value:  # of a certificate; ours is a token
        return True
    if key == "f:internalTrafficPolicy":  # of a service that is now an ExternalName
        return True
    if (
        key == "internalTrafficPolicy" and object.get("type") == "ExternalName"
    ):  # hidden there, but for answers to who writes the status
        return True
    return key in ("serviceAccount", "serviceAccountName") and value == "default"  # the real one is told not to care


def in_order(match):
    """An object in a message, its keys in order."""
    try:
        value = json.loads(json.loads(match[0]))
    except ValueError:
        return match[0]
    if isinstance(value, dict) and value.get("kind") == "Event" and isinstance(value.get("metadata"), dict):
        value["metadata"].pop("managedFields", None)
    return json.dumps(json.dumps(value, sort_keys=True))


def lowered(value):
    """The same with the names of the API for those of Go's structures, and without what is nothing."""
    if isinstance(value, list):
        return [lowered(v) for v in value]
    if isinstance(value, dict):
        value = {k.lower(): lowered(v) for k, v in value.items()}
        return {k: v for k, v in sorted(value.items()) if v not in (None, "", 0, False, [], {})}
    return value


def lower_structures(text):
    """All structures that a message quotes as values."""
    parts = STRUCTURE.split(text)
    for i, part in enumerate(parts[1:], 1):
        try:
            value, end = json.JSONDecoder().raw_decode(part)
            parts[i] = json.dumps(lowered(value)) + part[end:]
        except ValueError:
            pass
    return "".join(parts)


class Memory:
    """What a server said of the objects of one history: for the next steps, and to make its words comparable."""

    def __init__(self):
        self.versions = {}  # (kind, name): resourceVersions, the newest last
        self.uids = {}  # uid: a name that both servers share
        self.uid_of = {}
        self.said = {}  # (kind, name): the object, as it was last seen
        self.unmanaged = False  # managedFields are left out
        self.goes_on = {}  # kind: the token of the last list that was cut

    def fill(self, text):
        def one(match):
            what, kind, name = match.groups()
            if what == "uid":
                return self.uid_of.get((kind, name), "00000000-0000-0000-0000-000000000000")
            if what == "go":
                return self.goes_on.get(kind, "")
            known = self.versions.get((kind, name)) or ["1"]
            return known[-1] if what == "rv" else known[max(0, len(known) - 3)]

        return MARK.sub(one, text)

    def note(self, path, object):
        """After an answer: remembers versions and uids."""
        meta = object.get("metadata") if isinstance(object, dict) else None
        if isinstance(meta, dict) and "continue" in meta:
            self.goes_on[next((k for k in KINDS if k in path.split("?")[0].split("/")), None)] = meta["continue"]
        if not isinstance(meta, dict) or object.get("kind") in (None, "Status", "Scale") or "uid" not in meta:
            return
        kind = path.split("?")[0].split("/")
        kind = next((k for k in KINDS if k in kind), None)
        key = kind, meta.get("name")
        known, said = self.versions.setdefault(key, []), self.plain(object)
        if self.said.get(key) == said:  # written, and yet the same
            known[-1] = meta.get("resourceVersion") or ""
        elif not known or known[-1] != meta.get("resourceVersion"):
            known.append(meta.get("resourceVersion") or "")  # what a dry run made has none
        self.said[key] = said
        self.uid_of[key] = meta["uid"]

    def plain(self, value, key=""):
        """The same, without what may differ between two servers."""
        if isinstance(value, dict):
            return {
                k: self.plain(v, k)
                for k, v in sorted(value.items())
                if not meant(value, k, v) and not (self.unmanaged and k == "managedFields")
            }
        if isinstance(value, list):
            value = [self.plain(v) for v in value]
            if key == "managedFields":  # the older first: each server has its own time
                value.sort(key=lambda v: (v.get("manager", ""), v.get("operation", ""), v.get("subresource", "")))
            if key == "causes" and all(v.get("reason") == "FieldManagerConflict" for v in value):
                value.sort(key=lambda v: (v["message"], v["field"]))  # kube-apiserver has no order of managers
            return value
        if key in ("nodePort", "healthCheckNodePort") and value in range(30000, 32800):
            return "PORT"
        if not isinstance(value, str):
            return value
        if key == "token" and value.count(".") >= 2:
            return "TOKEN"
        if key in ("resourceVersion", "continue"):
            return "*" if value else value
        value = PORT.sub("PORT", ADDRESS.sub("ADDRESS", TIME.sub("TIME", WHOLE.sub(in_order, value))))
        value = re.sub(
            r'(?<=\()\d+(?=\))|(?<=resourceVersion":")\d+'
            r'|(?<=resourceVersion\\":\\")\d+|(?<=resourceVersion\\": \\")\d+',
            "*",
            value,
        )  # in words
        value = lower_structures(INSIDE.sub("{}", TWICE.sub("{}", DIFFERENCE.sub("", value))))
        value = re.sub(r"^\d+(s|m)$", "AGE", value)
        value = re.sub(r"\bgen-[a-z0-9]{5}\b", "gen-*", value)
        return UID.sub(lambda m: self.uids.setdefault(m[0], f"uid-{len(self.uids) + 1}"), value)
