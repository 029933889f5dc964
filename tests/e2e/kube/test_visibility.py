# SPDX-License-Identifier: Apache-2.0
"""The visibility API: who waits in a queue and why, asked through the API server and at our own port.

etcd, kube-apiserver and `sluice serve`; the API server finds it by a Service of type ExternalName.
"""

import base64
import http.client
import json
import socket
import ssl
import subprocess

import pytest

import sluice as bed
from kube import Failure, until
from sluice import KUEUE, Sluice, holds, say, small_queue, small_workload

PATIENCE = 120  # seconds; an API server looks after a server that was away only after half a minute
GROUP = "visibility.kueue.x-k8s.io"
VERSIONS = ("v1beta1", "v1beta2")
TIME_LIMIT = 150
cluster = sluice = None


# ---- words of the tests ----


def show(*args, **more):
    return bed.show(cluster, *args, **more)


def path(queue, ns=None, version="v1beta2", query=""):
    where = f"namespaces/{ns}/localqueues" if ns else "clusterqueues"
    return f"/apis/{GROUP}/{version}/{where}/{queue}/pendingworkloads{query}"


def pending(queue, ns=None, **more):
    """The items, through kubectl."""
    found = json.loads(cluster.kubectl("get", "--raw", path(queue, ns, **more)))
    assert found["kind"] == "PendingWorkloadsSummary", found
    assert found["apiVersion"] == f"{GROUP}/{more.get('version', 'v1beta2')}", found
    return found["items"]


def places(items):
    """(name, place in the ClusterQueue, place in the LocalQueue) of each."""
    return [(w["metadata"]["name"], w["positionInClusterQueue"], w["positionInLocalQueue"]) for w in items]


def workload(name, ns="default", queue="main", priority=0):
    body = small_workload(name, queue)
    body["spec"]["priority"] = priority
    cluster.request("POST", f"{KUEUE}/namespaces/{ns}/workloads", body)
    # One after the other, also by the clock of the API, which counts seconds; what was told is what counts.
    until(lambda: f'"{ns}/{name}"' in sluice.state(), PATIENCE, f"{name} in the state of sluice")


def admitted(name, ns="default"):
    until(
        lambda: holds(cluster.get(f"{KUEUE}/namespaces/{ns}/workloads/{name}"), "Admitted"),
        PATIENCE,
        f"{name} is admitted",
    )


def refused(code, url):
    """The Status that the API server passes on."""
    try:
        cluster.get(url)
    except Failure as failure:
        status = json.loads(str(failure)[str(failure).index("{") :])
        say(f"#   {url}: {failure.status} {status['message']}")
        assert failure.status == code and status["kind"] == "Status" and status["code"] == code, failure
        return status
    raise AssertionError(f"{url} was answered")


def direct(url, headers=None, certificate=None):
    """Asked at our own port, past the API server; returns the status and the object."""
    tls = ssl.create_default_context(cafile=cluster.dir / "pki" / "ca.crt")
    if certificate:
        tls.load_cert_chain(*certificate)
    connection = http.client.HTTPSConnection("127.0.0.1", sluice.ports["visibility"], timeout=60, context=tls)
    try:
        connection.request("GET", url, headers=headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    return answer.status, json.loads(text)


def account(name):
    """A service account; returns its token as a header."""
    show("create", "serviceaccount", name)
    return {"Authorization": "Bearer " + cluster.kubectl("create", "token", name).strip()}


# ---- the tests ----


@pytest.fixture(scope="module", autouse=True)
def serving(api_cluster):
    """Sluice, and the two APIServices"""
    global cluster, sluice
    cluster = api_cluster
    with Sluice(cluster, webhooks=False) as sluice:
        register()
        yield


def register():
    small_queue(cluster, 2)
    show("create", "namespace", "team")
    show("create", "namespace", "kueue-system")
    bundle = base64.b64encode((cluster.dir / "pki" / "ca.crt").read_bytes()).decode()
    services = "---\n".join(
        f"""apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: {version}.{GROUP}}}
spec:
  group: {GROUP}
  version: {version}
  groupPriorityMinimum: 100
  versionPriority: 100
  caBundle: {bundle}
  service: {{namespace: kueue-system, name: kueue-visibility-server, port: {sluice.ports["visibility"]}}}
"""
        for version in VERSIONS
    )
    # An endpoint may not be on loopback, but a name may lead there.
    show(
        "apply",
        "-f",
        "-",
        quiet=True,
        input=f"""apiVersion: v1
kind: Service
metadata: {{namespace: kueue-system, name: kueue-visibility-server}}
spec: {{type: ExternalName, externalName: localhost}}
---
{services}""",
    )
    for version in VERSIONS:
        until(
            lambda: holds(cluster.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{version}.{GROUP}"), "Available"),
            PATIENCE,
            f"{version} is available",
        )
    show("get", "apiservices", "-l", "!kube-aggregator.kubernetes.io/automanaged")


@pytest.fixture(autouse=True)
def answered(serving):
    """The test before may have restarted Sluice; the API server finds it again after a while."""
    until(lambda: cluster._try(path("main")), PATIENCE, "an answer")


def populated(queue):
    """Two that are admitted, which is all that the queue has for them, and five that wait."""
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": f"{queue}-side"}}
    cluster.request("POST", f"{KUEUE}/namespaces/team/localqueues", {**body, "spec": {"clusterQueue": queue}})
    for name in ("a", "b"):
        workload(f"{queue}-{name}", queue=queue)
        admitted(f"{queue}-{name}")
    for name, team in (("c", False), ("d", True), ("e", False), ("f", True)):
        workload(f"{queue}-{name}", "team" if team else "default", f"{queue}-side" if team else queue)
    workload(f"{queue}-urgent", "team", f"{queue}-side", priority=7)
    show("get", "--raw", path(queue))
    # Same second, same order by uid: what is asked of the rest is that both ways to ask agree.
    until(lambda: all(w["message"] for w in pending(queue)), PATIENCE, "a reason for each")


@pytest.fixture(scope="module")
def waiting(serving):
    until(lambda: cluster._try(path("main")), PATIENCE, "an answer")
    populated("main")


def test_discovery():
    """the group among all others, its resources, and its documents"""
    until(
        lambda: {f"{GROUP}/{v}" for v in VERSIONS} <= set(cluster.kubectl("api-versions").split()),
        PATIENCE,
        "the group among all",
    )
    show("api-versions")
    for version in VERSIONS:
        found = until(lambda: cluster._try(f"/apis/{GROUP}/{version}"), PATIENCE, "its resources")
        assert [(r["name"], r["namespaced"], r["verbs"]) for r in found["resources"]] == [
            ("clusterqueues", False, []),
            ("clusterqueues/pendingworkloads", False, ["get"]),
            ("localqueues", True, []),
            ("localqueues/pendingworkloads", True, ["get"]),
        ], found
        document = f"apis/{GROUP}/{version}"
        url = until(lambda: cluster.get("/openapi/v3")["paths"].get(document), PATIENCE, "the OpenAPI document")
        schema = cluster.get(url["serverRelativeURL"])["components"]["schemas"]
        assert any("expectedStartTime" in json.dumps(s) for s in schema.values()), schema
    errors = [
        line for line in cluster.log("kube-apiserver", 100000).splitlines() if GROUP in line and line.startswith("E")
    ]
    say(f"# the API server's errors about the group: {errors}")
    show("get", "clusterqueues")  # ours of this name do not stand before Kueue's


def test_empty():
    """a queue in which nobody waits"""
    small_queue(cluster, 2, name="empty")
    until(
        lambda: cluster._try(path("empty")) and cluster._try(path("empty", "default")), PATIENCE, "the queue is known"
    )
    for version in VERSIONS:
        assert pending("empty", version=version) == [] == pending("empty", "default", version=version)


def test_places(waiting):
    """both kinds of queues, both versions: the order, the places and the reasons"""
    line = places(pending("main"))
    names = [f"main-{name}" for name in ("c", "d", "e", "f", "urgent")]
    assert line[0] == ("main-urgent", 0, 0) and sorted(n for n, _, _ in line) == names, line
    assert [p for _, p, _ in line] == [0, 1, 2, 3, 4], line
    items = pending("main")
    for version in VERSIONS:
        assert pending("main", version=version) == items
        for queue, ns in (("main", "default"), ("main-side", "team")):
            mine = [w for w in items if w["metadata"]["namespace"] == ns]
            assert pending(queue, ns, version=version) == mine
            assert [w["positionInLocalQueue"] for w in mine] == list(range(len(mine))), mine
    first = items[0]
    assert first["priority"] == 7 and first["localQueueName"] == "main-side", first
    assert first["metadata"]["creationTimestamp"].endswith("Z"), first
    for w in items:
        assert w["reason"] == "Pending", w
        assert "insufficient unused quota for cpu in flavor plain, 1 more needed" in w["message"], w
        assert "expectedStartTime" not in w, w


def test_pages(waiting):
    """limit and offset"""
    whole = pending("main")
    assert pending("main", query="?limit=2") == whole[:2]
    assert pending("main", query="?offset=3") == whole[3:]
    assert pending("main", query="?limit=2&offset=1", version="v1beta1") == whole[1:3]
    assert pending("main", query="?limit=0") == whole  # as if it were not there
    assert pending("main", query="?limit=999999999999") == whole
    assert pending("main", query="?limit=-1") == [] == pending("main", query="?offset=5")
    side = pending("main-side", "team")
    assert pending("main-side", "team", query="?limit=1&offset=1") == side[1:2]


def test_refused(waiting):
    """what is not there, and what cannot be asked"""
    assert refused(404, path("nowhere"))["details"] == {"name": "nowhere", "group": GROUP, "kind": "clusterqueue"}
    assert refused(404, path("main", "team"))["reason"] == "NotFound"
    assert refused(404, path("main-side", "default", "v1beta1"))["details"]["kind"] == "localqueue"
    assert refused(400, path("main", query="?limit=many"))["reason"] == "BadRequest"
    assert refused(400, path("main", query="?offset=1e3"))["reason"] == "BadRequest"
    assert refused(405, f"/apis/{GROUP}/v1beta2/clusterqueues")["reason"] == "MethodNotAllowed"
    assert refused(405, f"/apis/{GROUP}/v1beta2/namespaces/team/localqueues/main-side")["code"] == 405
    assert refused(404, path("main") + "/more")["code"] == 404


def test_rights(waiting):
    """somebody without rights, at the API server and at our own port"""
    config = cluster.user("mallory", "mallory")
    asked = subprocess.run(
        [cluster.bin / "kubectl", f"--kubeconfig={config}", "get", "--raw", path("main")],
        capture_output=True,
        text=True,
    )
    say(f"# mallory: {asked.stderr.strip()}")
    assert asked.returncode == 1 and "Forbidden" in asked.stderr, asked
    status, body = direct(path("main"))
    assert status == 401 and body["kind"] == "Status" and body["reason"] == "Unauthorized", body
    headers = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
    assert direct(path("main"), headers)[0] == 401
    pki = cluster.dir / "pki"
    mallory = (pki / "mallory.crt", pki / "mallory.key")
    assert direct(path("main"), headers, mallory)[0] == 401  # by another authority than the front proxy's
    other = cluster.certificate("other-proxy", "other-proxy", authority="front-proxy-ca")
    assert direct(path("main"), headers, other)[0] == 401  # by the right one, for a name that is not listed
    proxy = (pki / "front-proxy.crt", pki / "front-proxy.key")
    assert direct(path("main"), headers, proxy)[0] == 200
    assert direct(path("main"), {}, proxy)[0] == 401  # passes on a request that is nobody's
    assert direct(path("main"), {"X-Remote-User": "mallory"}, proxy)[0] == 403
    assert direct(path("main"), {"Authorization": "Bearer nonsense"})[0] == 401
    token = account("viewer")
    status, body = direct(path("main"), token)
    say(f"# viewer, before: {status} {body['message']}")
    assert status == 403 and body["reason"] == "Forbidden" and body["details"]["name"] == "main", body
    show("create", "clusterrole", "see-pending", "--verb=get", f"--resource=localqueues.{GROUP}/pendingworkloads")
    show(
        "-n",
        "team",
        "create",
        "rolebinding",
        "see-pending",
        "--clusterrole=see-pending",
        "--serviceaccount=default:viewer",
    )
    # A refusal is remembered for 10 s, for what was asked; this is another question.
    until(lambda: direct(path("main-side", "team"), token)[0] == 200, PATIENCE, "the viewer sees the queue of the team")
    assert direct(path("main", "default"), token)[0] == 403


def test_moves():
    """an admission moves everybody else up"""
    small_queue(cluster, 2, name="moves")
    populated("moves")
    before = places(pending("moves"))
    show("delete", "workload", "moves-a", "--wait=false")
    admitted("moves-urgent", "team")
    after = until(lambda: len(now := pending("moves")) == 4 and now, PATIENCE, "one less waits")
    up = ("moves-d", "moves-f")  # of the queue of the one that was admitted
    assert places(after) == [(n, p - 1, q - 1 if n in up else q) for n, p, q in before[1:]], (before, after)
    show("patch", "clusterqueue", "moves", "--type=merge", "-p", '{"spec":{"stopPolicy":"Hold"}}')
    held = until(
        lambda: (now := pending("moves")) and "inactive" in now[0]["message"] and now, PATIENCE, "the reason follows"
    )
    say(f"# {held[0]['reason']}: {held[0]['message']}")


def test_port_taken():
    """a port that somebody else has holds up nothing, and is taken when it is free"""
    small_queue(cluster, 0, name="taken")
    assert sluice.stop() == 0
    with socket.create_server(("127.0.0.1", sluice.ports["visibility"])):
        sluice.start()
        until(lambda: "visibility API not listening, retrying" in sluice.log(), PATIENCE, "a warning")
        workload("g", queue="taken")
    until(lambda: cluster._try(path("taken")), PATIENCE, "an answer")
    assert "g" in [w["metadata"]["name"] for w in pending("taken")]


def test_gate():
    """without the gate nobody answers, and the queues go on"""
    assert sluice.stop() == 0
    config = sluice.dir / "config.yaml"
    before = config.read_text()
    config.write_text(before + "featureGates: {VisibilityOnDemand: false}\n")
    sluice.start()
    try:
        direct(path("main"))
        raise AssertionError("it was answered")
    except ConnectionRefusedError:
        pass
    finally:
        config.write_text(before)
        sluice.restart()


def logs():
    lines = [line for line in cluster.log("kube-apiserver", 100000).splitlines() if GROUP in line]
    return "--- kube-apiserver about the group\n" + "\n".join(lines)[-3000:]
