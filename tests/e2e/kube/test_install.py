# SPDX-License-Identifier: Apache-2.0
"""Installs Sluice as docs/install.md says, and runs it with the rights of its own service account.

A real API server takes deploy/manifests.yaml in both ways of kubectl apply, and calls the webhooks
through their Service, by the certificates that Sluice made: where the pods would be there is one
process on this machine.
"""

import base64
import collections
import json
import os
import re
import socket
import ssl
import subprocess
import urllib.error
import urllib.request

import pytest

import kube
from kube import Cluster, Failure, until

ROOT = kube.HERE.parents[2]
PROGRAM = os.environ.get("SL_PROGRAM", ROOT / "build" / "sluice")
DEPLOY = ROOT / "deploy"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VISIBILITY = "/apis/apiregistration.k8s.io/v1/apiservices/{}.visibility.kueue.x-k8s.io"
SYSTEM = "/api/v1/namespaces/kueue-system"
CONVERTED = [
    *(f"{kind}.kueue.x-k8s.io" for kind in ("clusterqueues", "cohorts", "localqueues", "multikueueclusters")),
    "miniclusters.flux-framework.org",
    "workloads.kueue.x-k8s.io",
]

PATIENCE = 90  # seconds; everything takes a fraction of one on a quiet machine

TIME_LIMIT = 300
cluster = sluice = None


class Sluice:
    """The manager, as its pod would run it."""

    def __init__(self):
        self.webhook, self.health, self.metrics, self.visibility = kube.free_ports(4)
        self.log_path = cluster.dir / "log" / "sluice.log"
        self.process = None
        config = cluster.get(f"{SYSTEM}/configmaps/kueue-manager-config")["data"]["controller_manager_config.yaml"]
        for ours, theirs in (
            (":8081", f"127.0.0.1:{self.health}"),
            (":8443", f"127.0.0.1:{self.metrics}"),
            ("9443", str(self.webhook)),
        ):
            assert config.count(ours) == 1, ours
            config = config.replace(ours, theirs)
        self.config = cluster.dir / "log" / "controller_manager_config.yaml"
        self.config.write_text(f"{config}visibilityServer: {{bindPort: {self.visibility}}}\n")
        self.kubeconfig = cluster.dir / "manager.kubeconfig"
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "c",
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                    "clusters": [
                        {
                            "name": "c",
                            "cluster": {
                                "server": cluster.url,
                                "certificate-authority": str(cluster.dir / "pki" / "ca.crt"),
                            },
                        }
                    ],
                    "users": [{"name": "u", "user": {"token": token("kueue-controller-manager")}}],
                }
            )
        )

    def start(self):
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen(
                [
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    PROGRAM,
                    "serve",
                    f"--config={self.config}",
                    f"--kubeconfig={self.kubeconfig}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(self.ready, PATIENCE, "readiness; it says:\n" + self.log_path.read_text()[-2000:])

    def ready(self):
        assert self.process.poll() is None, self.log_path.read_text()[-2000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/readyz", timeout=60) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(PATIENCE)
            self.process = None

    def log(self, lines=40):
        return "\n".join(self.log_path.read_text().splitlines()[-lines:])


def token(account):
    return cluster.kubectl("create", "token", account, "-n", "kueue-system", "--duration=1h").strip()


def own_address():
    """An address of this machine that an endpoint may have, which loopback may not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            address = probe.getsockname()[0]
        except OSError:
            address = "127.0.0.1"
    if address.startswith("127."):
        raise kube.Unavailable("this machine has no address but loopback")
    return address


def apply(*flags):
    """Applies the manifests; returns what kubectl says of each object."""
    return cluster.kubectl("apply", "-f", DEPLOY / "manifests.yaml", *flags).split("\n")[:-1]


def versions():
    """The resourceVersions of everything that was installed."""
    return cluster.kubectl(
        "get",
        "-f",
        DEPLOY / "manifests.yaml",
        "-o",
        "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{'\\n'}{end}",
    )


MERGE = "application/merge-patch+json"


def refused(method, path, body, type="application/json"):
    """The API server's words, which it must have."""
    try:
        cluster.request(method, path, body, type)
    except Failure as failure:
        return str(failure)
    raise AssertionError(f"{method} {path} was not refused")


def reviewed(path, body):
    """Makes it, or returns None: the API server takes a moment to see a new certificate authority."""
    try:
        return cluster.request("POST", path, body)
    except Failure as failure:
        assert "failed calling webhook" in str(failure), failure
        return None


def thing(kind, name, **spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def cluster_queue(name, **spec):
    return thing("ClusterQueue", name, **{"namespaceSelector": {}, **spec})


def group(quota):
    return {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "plain", "resources": [{"name": "cpu", "nominalQuota": quota}]}],
    }


def named(name, queue, spec):
    return {"metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {}}, "spec": spec}


def pod_spec(**more):
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {"restartPolicy": "Never", "containers": [container], **more}


def job(name, queue=None):
    return {"apiVersion": "batch/v1", "kind": "Job", **named(name, queue, {"template": {"spec": pod_spec()}})}


def jobs(namespace="default"):
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def pod(name, queue=None):
    return {"apiVersion": "v1", "kind": "Pod", **named(name, queue, pod_spec())}


def pods(namespace="default"):
    return f"/api/v1/namespaces/{namespace}/pods"


def server(kind, name, queue=None):
    """A Deployment or a StatefulSet."""
    app = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        **named(
            name,
            queue,
            {
                "selector": {"matchLabels": app},
                "template": {"metadata": {"labels": app}, "spec": pod_spec(restartPolicy="Always")},
                **({"serviceName": name} if kind == "StatefulSet" else {}),
            },
        ),
    }


def servers(kind, namespace="default"):
    return f"/apis/apps/v1/namespaces/{namespace}/{kind.lower()}s"


def gone(path):
    try:
        cluster.get(path)
    except Failure:
        return True
    return False


def gates(pod):
    return [gate["name"] for gate in pod["spec"].get("schedulingGates") or []]


def bundles():
    """Every caBundle there is."""
    for kind in ("mutating", "validating"):
        for hook in cluster.get(f"{HOOKS}/{kind}webhookconfigurations/kueue-{kind}-webhook-configuration")["webhooks"]:
            yield hook["clientConfig"].get("caBundle")
    for version in ("v1beta1", "v1beta2"):
        yield cluster.get(f"{VISIBILITY.format(version)}")["spec"].get("caBundle")
    for name in CONVERTED:
        crd = cluster.get(f"{CRDS}/{name}")
        yield crd["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle")


def endpoints(service, name, number):
    """Where the pods of a Service would be."""
    port = {"name": name, "port": number, "protocol": "TCP"}
    cluster.request(
        "POST",
        f"{SYSTEM}/endpoints",
        {"metadata": {"name": service}, "subsets": [{"addresses": [{"ip": own_address()}], "ports": [port]}]},
    )
    cluster.request(
        "POST",
        "/apis/discovery.k8s.io/v1/namespaces/kueue-system/endpointslices",
        {
            "metadata": {"name": service, "labels": {"kubernetes.io/service-name": service}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [own_address()], "conditions": {"ready": True}}],
            "ports": [port],
        },
    )


# ---- tests ----


@pytest.fixture(scope="module", autouse=True)
def installed():
    """Applied in both ways, and started with its own rights: what kubectl said, and what that changed, by the way."""
    global cluster, sluice
    own_address()
    # Services are resolved to their endpoints, as there is no kube-proxy.
    with Cluster(only="api", apiserver_flags=["--enable-aggregator-routing=true"]) as cluster:
        done = {}
        for flags in (), ("--server-side",):
            said, before = apply(*flags), versions()
            apply(*flags)  # kubectl says "configured" of some whose patch changes nothing
            done[flags] = said, before, versions()
        sluice = Sluice()
        endpoints("kueue-webhook-service", "webhook", sluice.webhook)
        endpoints("kueue-visibility-server", "https", sluice.visibility)
        try:
            sluice.start()
            yield done
        finally:
            sluice.stop()


@pytest.fixture(scope="module")
def flavored(installed):
    until(lambda: reviewed(f"{KUEUE}/resourceflavors", thing("ResourceFlavor", "plain")), PATIENCE, "a ResourceFlavor")


@pytest.fixture(scope="module")
def team(flavored):
    """The ClusterQueue `team`, and the LocalQueue `main` to it."""
    return queue("team", "main")


def queue(name, local, namespace="default"):
    """Makes a ClusterQueue and a LocalQueue; returns the former."""
    body = cluster_queue(name, cohortName="all", resourceGroups=[group("4")])
    made = until(lambda: reviewed(f"{KUEUE}/clusterqueues", body), PATIENCE, "a ClusterQueue")
    path = f"{KUEUE}/namespaces/{namespace}/localqueues"
    cluster.request("POST", path, thing("LocalQueue", local, clusterQueue=name))
    return made


def test_client_side(installed):
    said, before, after = installed[()]
    assert len(said) > 50 and all(line.endswith(" created") for line in said), said
    assert after == before


def test_server_side(installed):
    said, before, after = installed["--server-side",]
    assert len(said) > 50 and all(line.endswith(" serverside-applied") for line in said), said
    assert after == before


def test_certificates():
    data = cluster.get(f"{SYSTEM}/secrets/kueue-webhook-server-cert")["data"]
    assert set(data) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    found = list(bundles())
    assert len(found) > 12 and set(found) == {data["ca.crt"]}, found
    context = ssl.create_default_context(cadata=base64.b64decode(data["ca.crt"]).decode())
    with socket.create_connection((own_address(), sluice.webhook), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname="kueue-webhook-service.kueue-system.svc"):
            pass


def test_webhooks(team):
    assert team["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"], team
    words = refused(
        "POST",
        f"{KUEUE}/clusterqueues",
        cluster_queue(
            "bad",
            namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]},
            resourceGroups=[group("4")],
        ),
    )
    assert "vclusterqueue.kb.io" in words and "spec.namespaceSelector.matchExpressions[0].operator" in words, words


def test_conversion(team):
    # As with the other webhooks, our certificates may not be known at once.
    old = until(lambda: cluster._try("/apis/kueue.x-k8s.io/v1beta1/clusterqueues/team"), PATIENCE, "the older version")
    assert old["spec"]["cohort"] == "all" and "cohortName" not in old["spec"], old


def reviews():
    """How often each webhook has been asked."""
    asked = collections.Counter()
    pattern = r'^apiserver_admission_webhook_request_total\{.*?name="([^"]+)".*\} (\d+)'
    for name, count in re.findall(pattern, cluster.request("GET", "/metrics"), re.M):
        asked[name] += int(count)
    return asked


def test_queueing(team):
    """Every write that a Job's way to admission takes is within the rights, and none comes back to us as a review."""
    before = reviews()
    until(lambda: "main" in cluster.kubectl("get", "localqueue", "main", "-o", "name"), PATIENCE)
    made = cluster.request("POST", jobs(), job("queued", "main"))
    assert made["spec"]["suspend"] is True, made
    until(lambda: not cluster.get(f"{jobs()}/queued")["spec"]["suspend"], PATIENCE, "the start of the job")
    found = cluster.get(f"{KUEUE}/namespaces/default/workloads")["items"]
    (workload,) = (w for w in found if w["metadata"]["name"].startswith("job-queued-"))
    assert workload["status"]["admission"]["clusterQueue"] == "team", workload
    until(
        lambda: cluster.get(f"{KUEUE}/clusterqueues/team").get("status", {}).get("admittedWorkloads") == 1,
        PATIENCE,
        "the count of the queue",
    )
    until(lambda: cluster.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"], PATIENCE, "events")
    asked = reviews() - before
    assert asked["vjob.kb.io"] and not asked["mworkload.kb.io"] and not asked["vworkload.kb.io"], asked
    within_rights()


def test_visibility(team):
    """The API server passes requests on to us, by our certificates; we know it by its own."""
    for version in ("v1beta1", "v1beta2"):
        until(
            lambda: any(
                c["type"] == "Available" and c["status"] == "True"
                for c in cluster.get(VISIBILITY.format(version)).get("status", {}).get("conditions", [])
            ),
            PATIENCE,
            f"{version} of the visibility API",
        )
        for which in ("clusterqueues/team", "namespaces/default/localqueues/main"):
            path = f"/apis/visibility.kueue.x-k8s.io/{version}/{which}/pendingworkloads"
            found = until(lambda: cluster._try(path), PATIENCE, path)
            assert found["items"] == [] and found["kind"] == "PendingWorkloadsSummary", found
    within_rights()


def within_rights():
    text = sluice.log_path.read_text()
    assert '"status":403' not in text and "forbidden" not in text, text[-3000:]


def test_pods(flavored):
    """A pod with a queue waits, runs, and goes when its Workload is put aside; others are left alone."""
    queue("pods", "pods")
    made = cluster.request("POST", pods(), pod("free"))
    assert not gates(made) and "finalizers" not in made["metadata"] and not made["metadata"].get("labels"), made
    made = cluster.request("POST", pods(), pod("queued", "pods"))
    assert gates(made) == ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"], made
    assert made["metadata"]["finalizers"] == ["kueue.x-k8s.io/managed"], made
    assert made["metadata"]["labels"]["kueue.x-k8s.io/managed"] == "true", made
    until(lambda: not gates(cluster.get(f"{pods()}/queued")), PATIENCE, "the start of the pod")
    (workload,) = (
        w["metadata"]["name"]
        for w in cluster.get(f"{KUEUE}/namespaces/default/workloads")["items"]
        if w["metadata"]["name"].startswith("pod-")
    )
    cluster.request("PATCH", f"{KUEUE}/namespaces/default/workloads/{workload}", {"spec": {"active": False}}, MERGE)
    until(lambda: gone(f"{pods()}/queued"), PATIENCE, "the end of the pod")
    words = refused(
        "POST",
        pods(),
        {
            **pod("bad", "main"),
            "metadata": {
                "name": "bad",
                "labels": {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/pod-group-name": "g"},
            },
        },
    )
    assert "vpod.kb.io" in words and "pod-group-total-count" in words, words
    within_rights()


def test_servers():
    """What waits by its pods is marked, and each of them is gated, with a label or without."""
    for kind in ("Deployment", "StatefulSet"):
        made = cluster.request("POST", servers(kind), server(kind, "free"))
        assert not made["spec"]["template"]["metadata"].get("annotations"), made
        made = cluster.request("POST", servers(kind), server(kind, "queued", "main"))
        marks = made["spec"]["template"]["metadata"]["annotations"]
        assert marks == {"kueue.x-k8s.io/pod-suspending-parent": kind.lower()}, made
    made = cluster.request("POST", pods(), {**pod("of-set"), "metadata": {"name": "of-set", "annotations": marks}})
    assert gates(made) == ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"], made
    assert "finalizers" not in made["metadata"], made
    cluster.request("DELETE", f"{pods()}/of-set", {"gracePeriodSeconds": 0})
    for kind in ("Deployment", "StatefulSet"):
        cluster.request("DELETE", f"{servers(kind)}/queued", {"propagationPolicy": "Background"})
    within_rights()


def metrics(bearer=None):
    """The status of a request for the metrics, and the text."""
    data = cluster.get(f"{SYSTEM}/secrets/kueue-webhook-server-cert")["data"]
    context = ssl.create_default_context(cadata=base64.b64decode(data["ca.crt"]).decode())
    context.check_hostname = False  # it is for the Service
    request = urllib.request.Request(f"https://127.0.0.1:{sluice.metrics}/metrics")
    if bearer:
        request.add_header("Authorization", f"Bearer {bearer}")
    try:
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_metrics():
    cluster.kubectl("create", "serviceaccount", "collector", "-n", "kueue-system")
    cluster.kubectl("create", "serviceaccount", "stranger", "-n", "kueue-system")
    cluster.kubectl(
        "create",
        "clusterrolebinding",
        "collector",
        "--clusterrole=kueue-metrics-reader",
        "--serviceaccount=kueue-system:collector",
    )
    assert metrics()[0] == 401
    assert metrics("nonsense")[0] == 401
    assert metrics(token("stranger"))[0] == 403
    bearer = token("collector")
    until(lambda: metrics(bearer)[0] == 200, PATIENCE, "that the API server knows of the new right")
    for _ in range(2):  # asked of the API server, then remembered
        status, text = metrics(bearer)
        assert status == 200 and "kueue_admitted_workloads_total" in text, (status, text[:500])


def test_unlabelled_on_request(flavored):
    cluster.kubectl("create", "namespace", "research")
    cluster.kubectl("label", "namespace", "research", "kueue-managed=true")
    queue("research", "default", "research")
    cluster.kubectl("apply", "-f", DEPLOY / "manage-unlabelled.yaml")
    path = f"{HOOKS}/mutatingwebhookconfigurations/kueue-mutating-webhook-configuration-unlabelled"
    until(lambda: cluster.get(path)["webhooks"][0]["clientConfig"].get("caBundle"), PATIENCE, "caBundle")

    # Until the API server has seen the new configuration, and Sluice the queue, nobody puts it there.
    def named_queue(made):
        return made and made["metadata"].get("labels", {}).get("kueue.x-k8s.io/queue-name")

    until(
        lambda: named_queue(reviewed(jobs("research") + "?dryRun=All", job("plain"))) == "default",
        PATIENCE,
        "a Job in the default queue",
    )
    made = cluster.request("POST", jobs("research"), job("plain"))
    assert named_queue(made) == "default", made
    made = cluster.request("POST", pods("research"), pod("plain"))
    assert made["metadata"]["labels"] == {"kueue.x-k8s.io/managed": "true", "kueue.x-k8s.io/queue-name": "default"}
    assert gates(made), made
    made = cluster.request("POST", servers("Deployment", "research"), server("Deployment", "plain"))
    assert made["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "default"}, made
    assert made["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default", made
    assert (
        "suspend" not in cluster.request("POST", jobs(), job("elsewhere"))["spec"]
        or not cluster.get(f"{jobs()}/elsewhere")["spec"]["suspend"]
    )


def test_applied_again():
    """An upgrade leaves the certificates alone."""
    before = list(bundles())
    apply()
    apply("--server-side")
    assert list(bundles()) == before


def test_outage(flavored):
    """Nothing but what is queued is held up, and that can still go."""
    queue("outage", "outage")
    cluster.request("POST", pods(), pod("waits", "nowhere"))
    cluster.request("POST", pods(), pod("bystander"))
    cluster.request("POST", jobs(), job("goes", "outage"))
    sluice.stop()
    cluster.request("POST", jobs(), job("free"))
    words = refused("POST", jobs(), job("held", "outage"))
    assert "mjob.kb.io" in words, words
    cluster.request("DELETE", f"{pods()}/bystander", {"gracePeriodSeconds": 0})
    cluster.request("POST", pods(), pod("bystander"))
    cluster.request("PATCH", f"{pods()}/bystander", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert "mpod.kb.io" in refused("POST", pods(), pod("held", "outage"))
    assert "vpod.kb.io" in refused("PATCH", f"{pods()}/waits", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    cluster.request("PATCH", f"{pods()}/waits/status", {"status": {"message": "m"}}, MERGE)
    cluster.request("DELETE", f"{pods()}/waits", {"gracePeriodSeconds": 0})
    cluster.request("PATCH", f"{pods()}/waits", {"metadata": {"finalizers": None}}, MERGE)
    assert gone(f"{pods()}/waits")
    for kind in ("Deployment", "StatefulSet"):
        cluster.request("POST", servers(kind), server(kind, "also-free"))
        assert f"m{kind.lower()}.kb.io" in refused("POST", servers(kind), server(kind, "held", "outage"))
    # What shall go can go.
    cluster.request("DELETE", f"{jobs()}/goes", {"propagationPolicy": "Background"})
    cluster.request("DELETE", f"{KUEUE}/clusterqueues/outage")
    cluster.request("PATCH", f"{KUEUE}/clusterqueues/outage", {"metadata": {"finalizers": None}}, MERGE)
    sluice.start()
    until(lambda: reviewed(jobs(), job("held", "outage")), PATIENCE, "a queued Job")
