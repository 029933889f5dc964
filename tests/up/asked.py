"""Random histories of requests to a Kubernetes API, and how the answers of two servers are made comparable.

A history is a list of steps that depends on its seed alone: which server answers it, and how, changes nothing. Names
are fixed, so that steps meet the same objects again. What belongs to a server (the version of an object, now or some
steps ago, or its uid) stands in bodies and paths as @rv:KIND/NAME@, @old:KIND/NAME@ and @uid:KIND/NAME@ and is put in when the step
is made.
"""
import json
import random
import re

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Values that kube-apiserver tells with the names of its own structures, and how it tells what of a pod's spec changed.
INSIDE = re.compile(r"(?<=value: )\{(?:(?!value: ).)*?(?=: (?:field is immutable|supported values|requires indexed|must be empty|cannot be specified|disallowed on))")
TWICE = re.compile(r"(?<=Duplicate value: )\{.*?\}")
DIFFERENCE = re.compile(r"\n@@ .*\n", re.DOTALL)
WHOLE = re.compile(r'(?<=value: )"[\[{](?:[^"\\]|\\.)*"')  # an object that is told as a text: the order of its keys is each server's own
ADDRESS, PORT = re.compile(r"\b10\.\d+\.\d+\.\d+\b"), re.compile(r"\b3[012]\d{3}\b")  # of services: each server's own
MARK = re.compile(r"@(rv|old|uid):(\w+)/([\w.-]+)@")
JSON, MERGE = "application/json", "application/merge-patch+json"
PATCH, STRATEGIC, APPLY = "application/json-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
NAMES = ("a", "b", "c")

# kind: (path of the collection below the namespace, apiVersion)
KINDS = {
    "configmaps": ("/api/v1/namespaces/{ns}/configmaps", "v1", "ConfigMap"),
    "secrets": ("/api/v1/namespaces/{ns}/secrets", "v1", "Secret"),
    "pods": ("/api/v1/namespaces/{ns}/pods", "v1", "Pod"),
    "podtemplates": ("/api/v1/namespaces/{ns}/podtemplates", "v1", "PodTemplate"),
    "services": ("/api/v1/namespaces/{ns}/services", "v1", "Service"),
    "jobs": ("/apis/batch/v1/namespaces/{ns}/jobs", "batch/v1", "Job"),
    "cronjobs": ("/apis/batch/v1/namespaces/{ns}/cronjobs", "batch/v1", "CronJob"),
    "deployments": ("/apis/apps/v1/namespaces/{ns}/deployments", "apps/v1", "Deployment"),
    "leases": ("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", "coordination.k8s.io/v1", "Lease"),
    "limitranges": ("/api/v1/namespaces/{ns}/limitranges", "v1", "LimitRange"),
    "widgets": ("/apis/tests.sluice/v1/namespaces/{ns}/widgets", "tests.sluice/v1", "Widget"),
}

# A kind of the users' own, with everything that a schema can say.
WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.tests.sluice"},
    "spec": {"group": "tests.sluice", "scope": "Namespaced", "names": {
        "plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {
            "status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.replicas"},
                                         {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1}],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "required": ["color"], "properties": {
                    "color": {"type": "string", "enum": ["red", "green", "blue"]},
                    "replicas": {"type": "integer", "minimum": 0, "maximum": 10, "default": 1},
                    "tag": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
                    "port": {"x-kubernetes-int-or-string": True},
                    "maybe": {"type": "string", "nullable": True},
                    "parts": {"type": "array", "maxItems": 4, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                              "items": {"type": "object", "required": ["id"], "properties": {
                                  "id": {"type": "string"}, "n": {"type": "integer", "default": 7}}}},
                    "words": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "map": {"type": "object", "additionalProperties": {"type": "integer"}}}},
                "status": {"type": "object", "properties": {
                    "replicas": {"type": "integer"}, "note": {"type": "string"}}}}}}}]}}


def container(rng):
    c = {"name": rng.choice(("main", "side")), "image": rng.choice(("busybox", "busybox:1.36", "example.com/x@sha256:" + "a" * 64))}
    if rng.random() < 0.5:
        c["command"] = ["sleep", "1"]
    if rng.random() < 0.4:
        c["env"] = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    if rng.random() < 0.4:
        c["ports"] = [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}]
    if rng.random() < 0.5:
        c["resources"] = rng.choice(({"requests": {"cpu": "100m"}}, {"limits": {"cpu": 1, "memory": "1Gi"}},
                                     {"requests": {"cpu": "0.5", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}))
    return c


def pod_spec(rng, restart=None):
    # The account is named, because the real server is told not to put it in.
    spec = {"containers": [container(rng)], "serviceAccountName": "default", "schedulingGates": [{"name": "tests.sluice/wait"}]}
    if restart or rng.random() < 0.3:
        spec["restartPolicy"] = restart or rng.choice(("Never", "OnFailure"))
    if rng.random() < 0.3:
        spec["nodeSelector"] = {"disk": "ssd"}
    if rng.random() < 0.3:
        spec["tolerations"] = [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}]
    if rng.random() < 0.2:
        spec["volumes"] = [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "a"}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    if rng.random() < 0.2:
        spec["initContainers"] = [{"name": "first", "image": "busybox", "command": ["true"]}]
    return spec


def template(rng, restart=None, labels=None):
    spec = pod_spec(rng, restart)
    del spec["schedulingGates"], spec["serviceAccountName"]
    return {"metadata": {"labels": labels or {"app": "x"}}, "spec": spec}


MAKE = {
    "configmaps": lambda rng: {"data": {rng.choice("xyz"): rng.choice(("1", "two\nlines", "ü")) for _ in range(rng.randint(0, 3))}},
    "secrets": lambda rng: rng.choice(({"stringData": {"k": "v"}}, {"data": {"k": "dg=="}, "type": "Opaque"}, {"data": {"k": "dg=="}, "immutable": True})),
    "pods": lambda rng: {"spec": pod_spec(rng)},
    "podtemplates": lambda rng: {"template": template(rng)},
    "services": lambda rng: {"spec": {"clusterIP": "None", "selector": {"app": "x"}, "ports": [{"port": 80, "targetPort": rng.choice((8080, "http"))}]}},
    "jobs": lambda rng: {"spec": {"suspend": True, "template": template(rng, rng.choice(("Never", "OnFailure"))), **rng.choice((
        {}, {"completions": 3, "parallelism": 2}, {"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1},
        {"ttlSecondsAfterFinished": 60}, {"backoffLimit": 0}, {"activeDeadlineSeconds": 30}))}},
    "cronjobs": lambda rng: {"spec": {"suspend": True, "schedule": rng.choice(("0 3 * * *", "@hourly", "*/5 1-3 * * mon")),
                                      "jobTemplate": {"spec": {"template": template(rng, "Never")}}}},
    "deployments": lambda rng: {"spec": {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template(rng), **rng.choice((
        {}, {"strategy": {"type": "Recreate"}}, {"strategy": {"rollingUpdate": {"maxSurge": "50%"}}}, {"minReadySeconds": 3}))}},
    "leases": lambda rng: {"spec": {"holderIdentity": rng.choice(("me", "you")), "leaseDurationSeconds": 15}},
    "limitranges": lambda rng: {"spec": {"limits": [{"type": "Container", "max": {"memory": "2Gi"}, "defaultRequest": {"cpu": "50m"}}]}},
    "widgets": lambda rng: {"spec": {"color": rng.choice(("red", "blue")), **rng.choice((
        {}, {"replicas": 3}, {"tag": "abc", "port": 80}, {"port": "http", "maybe": None}, {"parts": [{"id": "x"}, {"id": "y", "n": 1}]},
        {"words": ["one", "two"]}, {"free": {"any": [1, {"x": None}]}}, {"map": {"a": 1}}))}},
}

# What users get wrong: a path into the object, and what stands there then (None: it is taken away).
WRONG = {
    "*": [("metadata.name", "Not_A_Name"), ("metadata.name", "x" * 300), ("metadata.labels", {"bad key!": "x"}), ("metadata.labels", {"k": "bad value!"}),
          ("metadata.labels", "text"), ("metadata.annotations", {"a": 1}), ("metadata.namespace", "elsewhere"), ("metadata.finalizers", ["nonsense"]),
          ("metadata.ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "x"}]), ("metadata.generateName", "gen-"),
          ("kind", "Other"), ("apiVersion", "v9"), ("metadata.uid", "1-2-3"), ("metadata.resourceVersion", "7"), ("unknownField", 1),
          ("metadata.unknownField", 1), ("metadata", None), ("metadata.labels", {"a": "b", "c": ""})],
    "configmaps": [("data", {"bad key": "x"}), ("data", {"k": 1}), ("data", ["x"]), ("binaryData", {"k": "%%"}), ("immutable", "yes"), ("immutable", True)],
    "secrets": [("data", {"k": "not base64!"}), ("type", 5), ("type", "kubernetes.io/tls")],
    "pods": [("spec.containers", []), ("spec.containers", None), ("spec.containers.0.name", None), ("spec.containers.0.name", "Bad_Name"), ("spec.containers.0.image", None),
             ("spec.restartPolicy", "Sometimes"), ("spec.containers.0.ports", [{"containerPort": 70000}]), ("spec.containers.0.env", [{"name": ""}]),
             ("spec.containers.0.resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}), ("spec.containers.0.resources", {"requests": {"cpu": "much"}}),
             ("spec.containers.0.resources", {"requests": {"cpu": "-1"}}), ("spec.volumes", [{"name": "v"}, {"name": "v"}]), ("spec.priorityClassName", "nobody"),
             ("spec.containers.0.volumeMounts", [{"name": "nowhere", "mountPath": "/x"}]), ("spec.terminationGracePeriodSeconds", -5), ("spec.activeDeadlineSeconds", 0),
             ("spec", None), ("spec", "text"), ("spec.nodeSelector", {"a": 5}), ("spec.dnsPolicy", "Never"), ("spec.containers.0.imagePullPolicy", "Perhaps"),
             ("spec.tolerations", [{"operator": "Exists", "value": "x"}]), ("spec.hostNetwork", "maybe"), ("spec.containers.0.command", "sleep 1"), ("status", {"phase": "Running"})],
    "jobs": [("spec.template", None), ("spec.template.spec.restartPolicy", "Always"), ("spec.template.spec.restartPolicy", None), ("spec.parallelism", -1), ("spec.completions", "three"),
             ("spec.completionMode", "Odd"), ("spec.backoffLimit", -1), ("spec.selector", {"matchLabels": {"a": "b"}}), ("spec.ttlSecondsAfterFinished", -1), ("spec.managedBy", "bad value")],
    "cronjobs": [("spec.schedule", "every day"), ("spec.schedule", ""), ("spec.schedule", "61 * * * *"), ("spec.concurrencyPolicy", "Maybe"), ("spec.timeZone", "Mars/Base"), ("spec.startingDeadlineSeconds", -1)],
    "deployments": [("spec.selector", None), ("spec.selector.matchLabels", {"app": "other"}), ("spec.replicas", -1), ("spec.strategy", {"type": "Odd"}), ("spec.template", None),
                    ("spec.strategy", {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}), ("spec.template.spec.restartPolicy", "Never"), ("spec.minReadySeconds", -1)],
    "services": [("spec.ports", []), ("spec.ports.0.port", 0), ("spec.type", "Odd"), ("spec.ports.0.protocol", "XYZ"), ("spec.clusterIP", "not an address")],
    "leases": [("spec.leaseDurationSeconds", 0), ("spec.renewTime", "yesterday"), ("spec.leaseTransitions", -1)],
    "limitranges": [("spec.limits.0.type", "Odd"), ("spec.limits.0.max", {"memory": "x"}), ("spec.limits.0.min", {"memory": "3Gi"})],
    "widgets": [("spec.color", "pink"), ("spec.color", None), ("spec.replicas", 11), ("spec.replicas", "3"), ("spec.replicas", 1.5), ("spec.tag", "ABC"), ("spec.tag", "abcdefghij"), ("spec.port", 1.5),
                ("spec.parts", [{"id": "x"}, {"id": "x"}]), ("spec.parts", [{"n": 1}]), ("spec.parts", [{"id": str(i)} for i in range(5)]), ("spec.words", ["a", "a"]), ("spec.map", {"a": "x"}), ("spec", []), ("spec.other", 1)],
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


class Step:
    def __init__(self, method, path, body=None, type=JSON, accept=JSON):
        self.method, self.path, self.body, self.type, self.accept = method, path, body, type, accept

    def __str__(self):
        return f"{self.method} {self.path}" + (f" {self.type.split('/')[1]} {self.body}" if self.body is not None else "") + (
            "" if self.accept == JSON else f" as {self.accept}")


class History:
    """The steps of a seed."""

    def __init__(self, seed, steps=40):
        self.seed, self.ns = seed, f"history-{seed}"
        self.rng = random.Random(seed)
        self.kinds = self.rng.sample(list(KINDS), 3)
        self.steps = [self._step() for _ in range(steps)]

    def at(self, kind, name=None, part=""):
        return KINDS[kind][0].format(ns=self.ns) + (f"/{name}" if name else "") + part

    def object(self, kind, name):
        body = {"apiVersion": KINDS[kind][1], "kind": KINDS[kind][2], "metadata": {"name": name}, **MAKE[kind](self.rng)}
        if self.rng.random() < 0.5:
            body["metadata"]["labels"] = {"team": self.rng.choice("rgb")}
        if self.rng.random() < 0.15:
            body["metadata"]["finalizers"] = ["tests.sluice/hold"]
        return body

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
        op, = rng.choices(list(self.OPS), [w for w, _ in self.OPS.values()])
        return self.OPS[op][1](self, kind, name)

    # -- the steps --

    def create(self, kind, name):
        return Step("POST", self.at(kind) + self._query(), json.dumps(self.object(kind, name)))

    def wrong(self, kind, name):
        body = self.object(kind, name)
        put(body, *self.rng.choice(WRONG["*"] + 3 * WRONG.get(kind, [])))
        if kind == "limitranges":  # without a name it gets one at random, and lists have another order on each server
            body.setdefault("metadata", {"name": name})
        return Step("POST", self.at(kind) + self._query(), json.dumps(body))

    def broken(self, kind, name):
        text = self.rng.choice(("", "{", "[]", "null", '"x"', "{}", '{"kind": 5}', '{"metadata": {"name": "a"}, "metadata": {"name": "b"}}', "a: b: c",
                                json.dumps(self.object(kind, name))[:-3], "\x00", '{"apiVersion":"v1"}'))
        return Step(self.rng.choice(("POST", "PUT")), self.at(kind, name if self.rng.random() < 0.5 else None), text)

    def generated(self, kind, name):
        body = self.object(kind, name)
        body["metadata"] = {"generateName": "gen-"}
        return Step("POST", self.at(kind) + "?dryRun=All", json.dumps(body))

    def read(self, kind, name):
        accept = self.rng.choice((JSON, JSON, JSON, TABLE, PARTIAL))
        return Step("GET", self.at(kind, name), accept=accept)

    def list(self, kind, name):
        query = self.rng.choice(("", "labelSelector=team=r", "labelSelector=team%20in%20(r,g)", "labelSelector=!team", "labelSelector=team!=b", "limit=1", "limit=2",
                                 "fieldSelector=metadata.name=a", "fieldSelector=metadata.name!=a", "fieldSelector=spec.nowhere=1", "labelSelector=a%20b%20c", "resourceVersion=0",
                                 "fieldSelector=metadata.namespace=x", "labelSelector=team,team%20notin%20(g)", "limit=-1", "continue=nonsense", "resourceVersion=x"))
        return Step("GET", self.at(kind) + ("?" + query if query else ""), accept=self.rng.choice((JSON, JSON, TABLE)))

    def update(self, kind, name):
        body = self.object(kind, name)
        version = self.rng.choice((None, "rv", "rv", "old"))
        if version:
            body["metadata"]["resourceVersion"] = f"@{version}:{kind}/{name}@"
        if self.rng.random() < 0.2:
            body["metadata"]["uid"] = f"@uid:{kind}/{name}@"
        if self.rng.random() < 0.2:
            put(body, *self.rng.choice(WRONG["*"] + 3 * WRONG.get(kind, [])))
        return Step("PUT", self.at(kind, name) + self._query(), json.dumps(body))

    def merge(self, kind, name):
        rng = self.rng
        body = rng.choice(({"metadata": {"labels": {"team": rng.choice("rgb")}}}, {"metadata": {"labels": None}}, {"metadata": {"annotations": {"note": "x", "gone": None}}},
                           {"metadata": {"finalizers": None}}, {"metadata": {"resourceVersion": f"@old:{kind}/{name}@", "labels": {"z": "1"}}}, {}, [],
                           {"metadata": {"name": "other"}}, {"metadata": {"uid": "x"}}, MAKE[kind](rng), {"status": {"x": 1}}, {"spec": None}))
        type = rng.choice((MERGE, MERGE, STRATEGIC))
        return Step("PATCH", self.at(kind, name) + self._query(), json.dumps(body), type)

    def operations(self, kind, name):
        rng = self.rng
        some = [{"op": "add", "path": "/metadata/labels", "value": {"team": "r"}}, {"op": "replace", "path": "/metadata/labels/team", "value": "g"},
                {"op": "remove", "path": "/metadata/labels/team"}, {"op": "test", "path": "/metadata/name", "value": name}, {"op": "test", "path": "/metadata/name", "value": "no"},
                {"op": "remove", "path": "/metadata/nowhere"}, {"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/copied"}, {"op": "odd", "path": "/x"}]
        body = rng.choice((rng.sample(some, rng.randint(1, 2)), rng.sample(some[:4], 2), {}, "x"))
        return Step("PATCH", self.at(kind, name) + self._query(), json.dumps(body), PATCH)

    def strategic(self, kind, name):
        rng = self.rng
        body = rng.choice(({"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}, {"spec": {"tolerations": [{"key": "y", "operator": "Exists"}]}},
                           {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "new", "env": [{"name": "A", "value": "2"}]}]}}}},
                           {"metadata": {"finalizers": ["tests.sluice/hold"]}}, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["tests.sluice/hold"]}},
                           {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}}, {"data": {"$patch": "replace", "only": "1"}}, {"spec": {"ports": [{"port": 81}]}}))
        return Step("PATCH", self.at(kind, name) + self._query(), json.dumps(body), STRATEGIC)

    def apply(self, kind, name):
        body = self.object(kind, name)
        if self.rng.random() < 0.3:
            body = {**{k: body[k] for k in ("apiVersion", "kind")}, "metadata": {"name": name, "labels": {"team": self.rng.choice("rgb")}}}
        query = [f"fieldManager={self.rng.choice(('one', 'two'))}"] if self.rng.random() < 0.95 else []
        query += ["force=true"] * (self.rng.random() < 0.3)
        return Step("PATCH", self.at(kind, name) + ("?" + "&".join(query) if query else ""), json.dumps(body), APPLY)

    def status(self, kind, name):
        rng = self.rng
        body = rng.choice(({"status": {"note": "x", "replicas": 2}}, {"status": {"phase": "Running"}}, {"status": {"conditions": []}}, {"spec": {"replicas": 5}}, {"status": {"active": 1}},
                           {"metadata": {"labels": {"by": "status"}}}, {"status": {"observedGeneration": 1}}))
        return Step("PATCH", self.at(kind, name, "/status") + self._query(), json.dumps(body), MERGE)

    def scale(self, kind, name):
        rng = self.rng
        if rng.random() < 0.4:
            return Step("GET", self.at(kind, name, "/scale"))
        return Step("PATCH", self.at(kind, name, "/scale"), json.dumps({"spec": {"replicas": rng.choice((0, 2, -1))}}), MERGE)

    def delete(self, kind, name):
        rng = self.rng
        body = rng.choice((None, None, {}, {"propagationPolicy": "Orphan"}, {"propagationPolicy": "Foreground"}, {"gracePeriodSeconds": 0}, {"preconditions": {"uid": "1-2"}},
                           {"preconditions": {"resourceVersion": f"@old:{kind}/{name}@"}}, {"dryRun": ["All"]}, {"propagationPolicy": "Odd"}, {"preconditions": {"uid": f"@uid:{kind}/{name}@"}}))
        return Step("DELETE", self.at(kind, name), None if body is None else json.dumps({"apiVersion": "v1", "kind": "DeleteOptions", **body}))

    def empty(self, kind, name):
        return Step("DELETE", self.at(kind) + self.rng.choice(("?labelSelector=team=r", "?labelSelector=team=none", "?fieldSelector=metadata.name=c")))

    def release(self, kind, name):
        return Step("PATCH", self.at(kind, name), json.dumps({"metadata": {"finalizers": None}}), MERGE)

    def odd(self, kind, name):
        return self.rng.choice((Step("GET", "/api/v1/namespaces/{}/nothings".format(self.ns)), Step("GET", "/apis/nowhere.example.com/v1/things"), Step("POST", self.at(kind, name), "{}"),
                                Step("DELETE", "/version"), Step("GET", self.at(kind, name, "/nothing")), Step("PATCH", self.at(kind, name), "{}", "text/plain"), Step("GET", "/nowhere"),
                                Step("POST", self.at(kind), "x", "application/xml"), Step("GET", self.at(kind), accept="application/xml"), Step("PUT", self.at(kind), "{}"),
                                Step("POST", self.at(kind).replace(self.ns, "missing-namespace"), json.dumps(self.object(kind, name)))))

    OPS = {"create": (10, create), "wrong": (8, wrong), "broken": (1, broken), "generated": (1, generated), "read": (5, read), "list": (5, list), "update": (6, update), "merge": (5, merge),
           "operations": (3, operations), "strategic": (3, strategic), "apply": (6, apply), "status": (3, status), "scale": (1, scale), "delete": (4, delete), "empty": (1, empty),
           "release": (2, release), "odd": (1, odd)}


def meant(object, key, value):
    """Whether servers may differ in this, as the table in docs/up.md says."""
    if key == "description" and "priority" in object:  # of a column of a table: the words are our own
        return True
    if key == "message" and isinstance(value, str) and value.startswith(("406: ", "only the following media types")):  # there it is said that answers can be in protobuf
        return True
    return key in ("serviceAccount", "serviceAccountName") and value == "default"  # the real one is told not to care


def in_order(match):
    """An object in a message, its keys in order."""
    try:
        return json.dumps(json.dumps(json.loads(json.loads(match[0])), sort_keys=True))
    except ValueError:
        return match[0]


class Memory:
    """What a server said of the objects of one history: for the next steps, and to make its words comparable."""

    def __init__(self):
        self.versions = {}  # (kind, name): resourceVersions, the newest last
        self.uids = {}      # uid: a name that both servers share
        self.uid_of = {}

    def fill(self, text):
        def one(match):
            what, kind, name = match.groups()
            if what == "uid":
                return self.uid_of.get((kind, name), "00000000-0000-0000-0000-000000000000")
            known = self.versions.get((kind, name)) or ["1"]
            return known[-1] if what == "rv" else known[max(0, len(known) - 3)]
        return MARK.sub(one, text)

    def note(self, path, object):
        """After an answer: remembers versions and uids."""
        meta = object.get("metadata") if isinstance(object, dict) else None
        if not isinstance(meta, dict) or object.get("kind") in (None, "Status", "Scale") or "uid" not in meta:
            return
        kind = path.split("?")[0].split("/")
        kind = next((k for k in KINDS if k in kind), None)
        key = kind, meta.get("name")
        known = self.versions.setdefault(key, [])
        if not known or known[-1] != meta.get("resourceVersion"):
            known.append(meta.get("resourceVersion") or "")  # what a dry run made has none
        self.uid_of[key] = meta["uid"]

    def plain(self, value, key=""):
        """The same, without what may differ between two servers."""
        if isinstance(value, dict):
            return {k: self.plain(v, k) for k, v in sorted(value.items()) if not meant(value, k, v)}
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
        if key in ("resourceVersion", "continue"):
            return "*" if value else value
        value = PORT.sub("PORT", ADDRESS.sub("ADDRESS", TIME.sub("TIME", WHOLE.sub(in_order, value))))
        value = re.sub(r'(?<=\()\d+(?=\))|(?<=resourceVersion":")\d+|(?<=resourceVersion\\":\\")\d+|(?<=resourceVersion\\": \\")\d+', "*", value)  # in words
        value = INSIDE.sub("{}", TWICE.sub("{}", DIFFERENCE.sub("", value)))
        value = re.sub(r"^\d+(s|m)$", "AGE", value)
        value = re.sub(r"\bgen-[a-z0-9]{5}\b", "gen-*", value)
        return UID.sub(lambda m: self.uids.setdefault(m[0], f"uid-{len(self.uids) + 1}"), value)
