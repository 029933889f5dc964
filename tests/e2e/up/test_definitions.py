# SPDX-License-Identifier: Apache-2.0
"""What operators and their clients ask of an API server, asked of a real kube-apiserver and of ours: printer columns
of definitions, field selectors, tables of scale, groups of impersonated users.

    SL_SHOW=1 tests/e2e/run up/test_definitions.py -k columns   # all answers
"""

import concurrent.futures
import http.client
import json
import os

import pytest

from kube import Cluster, until
from sluice import say
from up import Up

TIME_LIMIT = 240
SHOW = bool(os.environ.get("SL_SHOW"))
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
real = ours = None


@pytest.fixture(scope="module", autouse=True)
def both():
    """A real API server, and ours."""
    global real, ours
    with Cluster(only="api") as real, Up(controllers=False) as ours:
        yield


def logs():
    return ours.log(15)


def ask(server, method, path, body=None, accept="application/json", type="application/json", **headers):
    """Status and answer."""
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=server.tls)
    try:
        head = {"Accept": accept, "Content-Type": type, **server.headers, **headers}
        connection.request(method, path, body and json.dumps(body), head)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    try:
        return answer.status, json.loads(text)
    except ValueError:
        return answer.status, text


def asked_both(*args, **more):
    answers = [ask(server, *args, **more) for server in (real, ours)]
    if SHOW:
        say(f"# {args[:2]}: {json.dumps(answers[0])[:1500]}")
    return answers


def make(server, path, thing):
    status, said = ask(server, "POST", path, thing)
    assert status == 201, said
    return said


def definition(plural, version=(), **schema):
    kind = plural.capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.tests.sluice"},
        "spec": {
            "group": "tests.sluice",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                    },
                    **dict(version),
                }
            ],
        },
    }


def place(plural):
    return f"/apis/tests.sluice/v1/namespaces/default/{plural}"


def define(plural, version=(), **schema):
    for server in real, ours:
        make(server, DEFINITIONS, definition(plural, version, **schema))
        until(lambda: ask(server, "GET", place(plural))[0] == 200, what=plural)


def cells(table):
    return [[c["name"] for c in table["columnDefinitions"]], [row["cells"] for row in table["rows"]]]


# ---- printer columns ----

PATHS = """
.spec.name  .spec.n  .spec.real  .spec.whole  .spec.big  .spec.yes  .spec.no  .spec.null  .spec.none  .spec.list
.spec.map  .spec.empty  .spec.nothing  .spec.deep.a.b  .spec.name.more  .spec  .  .spec.list[0]  .spec.list[2]
.spec.list[3]  .spec.list[-1]  .spec.list[-3]  .spec.list[-4]  .spec.list[1:]  .spec.list[-1:]  .spec.list[:2]
.spec.list[:]  .spec.list[::2]  .spec.list[1:3:2]  .spec.list[2:1]  .spec.list[1:1]  .spec.list[0:9]  .spec.list[::0]
.spec.list[]  .spec.list[0,2]  .spec.list[2,0]  .spec.list[0,9]  .spec.list[*]  .spec.empty[0]  .spec.empty[-1]
.spec.empty[-1:]  .spec.empty[*]  .spec.empty[:1]  .spec.name[0]  .spec.map[0]  .spec['name']  .spec['deep.a.b']
.spec['a\\.b']  .spec['none']  .spec.a\\.b  .spec.deep.*  .spec.list.*  .spec.name.*  .spec.n.*
.status.conditions[?(@.type=="Ready")].status  .status.conditions[?(@.type=='Ready')].status
.status.conditions[?(@.type!="Ready")].type  .status.conditions[?(@.type=="None")].status
.status.conditions[?(@.n>1)].type  .status.conditions[?(@.n>=2)].type  .status.conditions[?(@.n<2)].type
.status.conditions[?(@.n<=1)].type  .status.conditions[?(@.n==2)].type  .status.conditions[?(@.n=="2")].type
.status.conditions[?(@.ok==true)].type  .status.conditions[?(@.ok<true)].type  .status.conditions[?(@.ok)].type
.status.conditions[?(@.none)].type  .status.conditions[?(@.type)].status  .status.conditions[?(@.list[0]==1)].type
.status.conditions[?(@.type=="a)b")].status  .status.conditions[?(@.type==@.same)].status
.status.conditions[?(@.type>"Q")].status  .status.conditions[-1:].type  .status.conditions[*].type
.status.conditions[0,1].type  .status.conditions[?(@.type=="Ready")].list[*]  .spec[?(@.a=="b")]
.spec.list[?(@=="y")]  .spec.list[?(@>"x")]  ..type  .status..status  .spec..b  ..none  ..conditions[0].type
.spec..  .status.conditions..n  .spec.@.name  .$.spec.name  .spec.name$  .spec.list[0]"x"  .spec"x"
.metadata.name  .metadata.labels.a\\.b/c  .spec.text  .spec.float  .spec.small  .spec.huge
.status.conditions[?(@.type=~"R")].type
""".split()
# With a space inside, or what no list of words can hold.
PATHS += [
    ".spec .name",
    ".spec.list[0, 2]",
    ".status.conditions[?( @.type == 'Ready' )].status",
    ".spec.deep.a} {.spec",
]
# These cannot be read: they and all columns behind them are not shown.
UNREADABLE = r""".spec.list[ .spec.list[a] .spec["name"] .spec.list[1 .spec] .spec,name .spec{name
.status[?(@.a=="b" .status[?(@.a==)]
.... .spec....a .spec.list[?(@.a=="b"&&@.c)] .spec.list[1:2:3:4] .spec.*[?(@.a="b")] .spec.list[99999999999999999999]
.spec.list[-] ..* .spec.list[?(@.a==b)] .spec.list[?()] .spec.%a .spec[%]""".split()
OBJECT = {
    "metadata": {"name": "a", "labels": {"a.b/c": "label"}},
    "spec": {
        "name": "text",
        "n": 42,
        "real": 1.5,
        "whole": 2.0,
        "big": 12345678901,
        "float": 1234567.5,
        "small": 0.00000123,
        "huge": 1e30,
        "yes": True,
        "no": False,
        "null": None,
        "list": ["x", "y", "z"],
        "map": {"z": 1, "a": {"c": "<&>"}},
        "empty": [],
        "nothing": {},
        "deep": {"a": {"b": "found"}},
        "a.b": "dotted",
        "text": 'quo"te\nline',
    },
    "status": {
        "conditions": [
            {"type": "Other", "status": "no", "n": 1, "ok": True, "list": [2]},
            {"type": "Ready", "status": "yes", "n": 2, "same": "Ready", "list": [1, 2]},
            {"type": "a)b", "status": "odd", "n": 3},
        ]
    },
}


def column(path, type="string"):
    return {"name": path, "type": type, "jsonPath": path}


def test_columns():
    """JSONPath in printer columns: what is accepted, and what is shown"""
    groups = [PATHS[i : i + 60] for i in range(0, len(PATHS), 60)]
    wrong = []
    for number, group in enumerate(groups):
        define(f"columns{number}s", {"additionalPrinterColumns": [column(p) for p in group]})
    for type in "integer", "number", "boolean", "date":
        define(f"{type}s", {"additionalPrinterColumns": [column(p, type) for p in PATHS[:12]]})
    for plural in [f"columns{n}s" for n in range(len(groups))] + ["integers", "numbers", "booleans", "dates"]:
        for server in real, ours:
            thing = {"apiVersion": "tests.sluice/v1", "kind": plural.capitalize(), **OBJECT}
            make(server, place(plural), thing)
        (_, a), (_, b) = asked_both("GET", place(plural), accept=TABLE)
        (heads, (row,)), (other_heads, (other,)) = cells(a), cells(b)
        assert heads == other_heads
        wrong += [f"{plural} {h}: {x!r} there, {y!r} here" for h, x, y in zip(heads, row, other) if x != y]
    assert not wrong, "\n".join(wrong)


def test_unreadable_columns():
    """what kube-apiserver accepts and cannot read: it shows the columns before it"""

    def show(number, path):
        plural = f"unreadable{number}s"
        columns = [column(".spec.name"), {**column(".spec.n"), "jsonPath": path}, column(".spec.yes")]
        define(plural, {"additionalPrinterColumns": columns})
        for server in real, ours:
            thing = {"apiVersion": "tests.sluice/v1", "kind": plural.capitalize(), **OBJECT}
            make(server, place(plural), thing)
        (_, a), (_, b) = asked_both("GET", place(plural), accept=TABLE)
        return cells(a) != cells(b) and f"{path}: {cells(a)} there, {cells(b)} here"

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        wrong = [text for text in pool.map(show, range(len(UNREADABLE)), UNREADABLE) if text]
    assert not wrong, "\n".join(wrong)


BAD_COLUMNS = [
    {"name": "", "type": "string", "jsonPath": ".a"},
    {"name": "a", "type": "", "jsonPath": ".a"},
    {"name": "a", "type": "text", "jsonPath": ".a"},
    {"name": "a", "type": "string", "format": "wide", "jsonPath": ".a"},
    {"name": "a", "type": "string", "jsonPath": ""},
    {"name": "a", "type": "string", "jsonPath": "spec.a"},
    {"name": "a", "type": "string", "jsonPath": "{.spec.a}"},
]
SCALES = [
    {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
    {"specReplicasPath": ".spec['n']", "statusReplicasPath": ".status.n[0]", "labelSelectorPath": ".spec.s"},
    {"specReplicasPath": "spec.n", "statusReplicasPath": ".status.n"},
    {"specReplicasPath": ".status.n", "statusReplicasPath": ".spec.n", "labelSelectorPath": ".metadata.n"},
    {"specReplicasPath": "", "statusReplicasPath": ""},
]


def test_definitions():
    """what is refused in columns and in scale, with the same words"""
    wrong = []
    changes = [{"additionalPrinterColumns": [c]} for c in BAD_COLUMNS]
    changes += [{"subresources": {"scale": s}} for s in SCALES]
    for change in changes:
        thing = definition("changes", change)
        (code, a), (other_code, b) = asked_both("POST", DEFINITIONS + "?dryRun=All", thing)
        if code != other_code or a.get("message") != b.get("message"):
            wrong.append(f"{change}: {code} {a.get('message')} there, {other_code} {b.get('message')} here")
    assert not wrong, "\n".join(wrong)


def test_conversion():
    """a conversion webhook that nothing needs, since only the stored version is served"""
    thing = definition("olds")
    old = {**thing["spec"]["versions"][0], "name": "v1alpha1", "served": False, "storage": False}
    thing["spec"]["versions"].append(old)
    hook = {"clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"]}
    thing["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook}
    assert [code for code, _ in asked_both("POST", DEFINITIONS, thing)] == [201, 201]
    for server in real, ours:
        until(lambda: ask(server, "GET", place("olds"))[0] == 200, what="olds")
        make(server, place("olds"), {"apiVersion": "tests.sluice/v1", "kind": "Olds", "metadata": {"name": "a"}})
        assert ask(server, "GET", place("olds") + "/a")[0] == 200
    # What would need it is refused here, with the way out.
    path, type = DEFINITIONS + "/olds.tests.sluice", "application/json-patch+json"
    serve = [{"op": "replace", "path": "/spec/versions/1/served", "value": True}]
    code, said = ask(ours, "PATCH", path, serve, type=type)
    assert code == 422 and "conversion by webhooks is not offered" in said["message"], said


# ---- field selectors ----

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "a"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
}
SELECTORS = [
    ("batch/v1", "jobs", "status.successful=1"),
    ("batch/v1", "jobs", "status.successful=0"),
    ("batch/v1", "jobs", "status.successful!=0"),
    ("batch/v1", "jobs", "status.succeeded=0"),
    ("batch/v1", "cronjobs", "status.successful=0"),
    ("v1", "pods", "status.podIP="),
    ("v1", "pods", "status.podIPs="),
    ("v1", "pods", "status.podIPs=1.2.3.4"),
    ("v1", "pods", "spec.host=n"),
    ("v1", "pods", "spec.nodeName=n"),
    ("v1", "pods", "spec.hostNetwork=false"),
    ("v1", "pods", "spec.hostIPC=false"),
    ("v1", "pods", "spec.serviceAccountName=default"),
    ("v1", "services", "spec.type=NodePort"),
    ("v1", "secrets", "type=Opaque"),
    ("apps/v1", "deployments", "status.replicas=0"),
]


def test_field_selectors():
    """which fields select, and what"""
    for server in real, ours:
        make(server, "/apis/batch/v1/namespaces/default/jobs", JOB)
        make(server, "/apis/batch/v1/namespaces/default/jobs", {**JOB, "metadata": {"name": "b"}})
        until(lambda: ask(server, "GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] < 500, what="default")
        done = {"status": {"succeeded": 1}}
        merge = "application/merge-patch+json"
        status, said = ask(server, "PATCH", "/apis/batch/v1/namespaces/default/jobs/a/status", done, type=merge)
        assert status == 200, said
    wrong = []
    for version, plural, selector in SELECTORS:
        base = "/api" if version == "v1" else "/apis"
        path = f"{base}/{version}/namespaces/default/{plural}?fieldSelector={selector.replace('=', '%3D')}"
        (code, a), (other_code, b) = asked_both("GET", path)
        names = [[i["metadata"]["name"] for i in x.get("items", [])] for x in (a, b)]
        if code != other_code or names[0] != names[1] or a.get("message") != b.get("message"):
            wrong.append(f"{plural} {selector}: {code} {a.get('message')} {names[0]} there, {other_code} {b} here")
    assert not wrong, "\n".join(wrong)


# ---- scale ----


def test_scale_tables():
    """`kubectl get --subresource=scale`"""
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    define("scales", {"subresources": {"status": {}, "scale": scale}})
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    custom = {"apiVersion": "tests.sluice/v1", "kind": "Scales"}
    for server in real, ours:
        make(server, "/apis/apps/v1/namespaces/default/deployments", deployment)
        make(server, place("scales"), {**custom, "metadata": {"name": "a"}, "spec": {"n": 2}})
        make(server, place("scales"), {**custom, "metadata": {"name": "none"}, "spec": {}})
    for path in (
        "/apis/apps/v1/namespaces/default/deployments/a/scale",
        place("scales") + "/a/scale",
        place("scales") + "/none/scale",
    ):
        (code, a), (other_code, b) = asked_both("GET", path, accept=TABLE)
        assert code == other_code and (code == 200 or a["message"] == b["message"]), (path, a, b)
        if code != 200:
            continue
        for table in a, b:
            for c in table["columnDefinitions"]:
                del c["description"]
            for row in table["rows"]:
                row["cells"][-1] = "AGE"
        assert a["columnDefinitions"] == b["columnDefinitions"]
        assert cells(a) == cells(b)


# ---- users ----

USERS = [
    ("x", ()),
    ("x", ("a", "b")),
    ("x", ("a", "a")),
    ("x", ("system:authenticated",)),
    ("x", ("system:unauthenticated",)),
    ("x", ("system:masters", "a")),
    ("system:anonymous", ()),
    ("system:anonymous", ("a",)),
    ("system:anonymous", ("system:unauthenticated",)),
    ("system:serviceaccount:default:sa", ()),
    ("system:serviceaccount:default:sa", ("a",)),
    ("system:serviceaccount:default:sa", ("system:serviceaccounts",)),
]


def test_impersonated_groups():
    """kubectl --as=USER --as-group=GROUP: exactly these groups"""
    wrong = []
    for server in real, ours:  # RBAC is enforced there: everybody may ask who he is
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
        role.update(metadata={"name": "anybody"}, subjects=[{"kind": "Group", "name": "system:unauthenticated"}])
        role["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:basic-user"}
        ask(server, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", role)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

    def groups(server, user, given):
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=server.tls)
        connection.putrequest("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews")
        body = json.dumps(review).encode()
        for name, value in {**server.headers, "Content-Type": "application/json"}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.putheader("Impersonate-User", user)
        for group in given:
            connection.putheader("Impersonate-Group", group)
        connection.endheaders(body)
        said = json.loads(connection.getresponse().read())
        connection.close()
        return said.get("status", {}).get("userInfo", said).get("groups", said)

    for user, given in USERS:
        a, b = groups(real, user, given), groups(ours, user, given)
        if a != b:
            wrong.append(f"{user} {given}: {a} there, {b} here")
    assert not wrong, "\n".join(wrong)


# ---- health ----


def test_health():
    """/readyz and /livez, whole and check by check; which checks there are is each server's own"""
    for path in "/readyz", "/livez", "/healthz", "/readyz/ping", "/livez/etcd", "/livez/none", "/readyz/log":
        (code, a), (other_code, b) = asked_both("GET", path)
        assert (code, a if code == 200 else "") == (other_code, b if code == 200 else ""), path
    for path in "/readyz?verbose", "/livez?verbose=true":
        (_, a), (_, b) = asked_both("GET", path)
        checks = [[line for line in text.splitlines() if line.startswith("[+]")] for text in (a, b)]
        assert checks[1] and set(checks[1]) <= set(checks[0]), checks
        assert a.splitlines()[-1] == b.splitlines()[-1] and b.endswith("passed\n")
