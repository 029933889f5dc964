# SPDX-License-Identifier: Apache-2.0
"""What operators need that run as pods of `sluice up`: the API, with the account of their pod, and webhooks by Service.
The client in the pod is kubectl, which finds the API as client-go does where there is no kubeconfig.
"""

import base64
import json
import subprocess
import sys

import pytest

import kube
from kube import Failure, until
from up import Up

TIME_LIMIT = 240
up = None
HOOK = """
import http.server, json, ssl, sys
class Review(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        thing = review["request"]["object"]
        answer = {"uid": review["request"]["uid"], "allowed": thing["data"].get("k") != "bad"}
        if not answer["allowed"]:
            answer["status"] = {"message": "the hook has refused it at " + self.path.split("?")[0]}
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("", int(sys.argv[1])), Review)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("/certs/tls.crt", "/certs/tls.key")
server.socket = tls.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@pytest.fixture(scope="module", autouse=True)
def serving():
    global up
    with Up() as up:
        up.request("POST", "/api/v1/namespaces", {"metadata": {"name": "ops"}})
        yield


def account(name):
    up.request("POST", "/api/v1/namespaces/ops/serviceaccounts", {"metadata": {"name": name}})


def run(name, script, **spec):
    """Runs a shell script as a pod and returns its output."""
    script = "export HOME=$PWD\n" + script  # nobody's kubeconfig is there
    container = {"name": "c", "image": "host", "command": ["sh", "-c", script]}
    path = "/api/v1/namespaces/ops/pods"
    body = {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [container], **spec}}
    up.request("POST", path, body)
    until(
        lambda: up.get(f"{path}/{name}")["status"]["phase"] in ("Succeeded", "Failed"), 60, f"the end of the pod {name}"
    )
    return up.kubectl("logs", "-n", "ops", name)


def claims(token):
    middle = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))


def review(token, **more):
    thing = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token, **more}}
    return up.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", thing)["status"]


def refused(token):
    """What the API says to the bearer of a token."""
    own, up.headers = up.headers, {"Authorization": f"Bearer {token}"}
    try:
        with pytest.raises(Failure) as why:
            up.request("GET", "/api/v1/pods")
    finally:
        up.headers = own
    return str(why.value)


def test_client_in_a_pod():
    """finds the API by itself, as its service account, in its namespace"""
    account("operator")
    kubectl = kube.build() / "kubectl"
    said = run(
        "client",
        f"{kubectl} auth whoami -o json && {kubectl} create configmap made --from-literal=a=b && cat "
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
        serviceAccountName="operator",
    )
    assert '"username": "system:serviceaccount:ops:operator"' in said
    assert up.get("/api/v1/namespaces/ops/configmaps/made")["data"] == {"a": "b"}
    token = said.split()[-1]
    own = claims(token)
    pod = up.get("/api/v1/namespaces/ops/pods/client")
    assert own["sub"] == "system:serviceaccount:ops:operator"
    assert own["kubernetes.io"]["pod"] == {"name": "client", "uid": pod["metadata"]["uid"]}
    assert own["kubernetes.io"]["node"]["name"] == pod["spec"]["nodeName"]
    assert own["exp"] - own["iat"] == 365 * 86400 and own["kubernetes.io"]["warnafter"] - own["iat"] == 3607
    seen = review(token)
    assert seen["authenticated"] and seen["user"]["extra"]["authentication.kubernetes.io/pod-name"] == ["client"]
    up.request("DELETE", "/api/v1/namespaces/ops/pods/client?gracePeriodSeconds=0")
    until(lambda: not review(token).get("authenticated"), 10, "the end of the token with its pod")


def test_tokens_with_audiences():
    """as many as the pod asks for; each is for its audience alone, and none after a restart is forgotten"""
    source = {"serviceAccountToken": {"audience": "vault", "expirationSeconds": 700, "path": "sub/vault"}}
    volume = {"name": "v", "projected": {"sources": [source]}}
    script = 'cat "$SLUICE_VOLUME_V/sub/vault"; test -e /var/run/secrets/kubernetes.io/serviceaccount && echo mounted'
    said = run("audience", script, volumes=[volume], automountServiceAccountToken=False)
    token = said.split()[0]
    assert "mounted" not in said and claims(token)["aud"] == ["vault"]
    assert claims(token)["exp"] - claims(token)["iat"] == 700
    assert review(token, audiences=["vault", "x"])["audiences"] == ["vault"]
    assert not review(token).get("authenticated")
    assert "Unauthorized" in refused(token)
    up.kill9()
    up.start()
    assert review(token, audiences=["vault"])["authenticated"]
    keys = up.get("/openid/v1/jwks")["keys"]
    assert keys[0]["alg"] == "ES256" and up.get("/.well-known/openid-configuration")["issuer"] == claims(token)["iss"]


def test_services_in_the_environment():
    """of the namespace, unless the pod wants none"""
    ports = [{"name": "web", "port": 80}, {"name": "more", "port": 81, "protocol": "UDP"}]
    service = {"metadata": {"name": "my-db"}, "spec": {"selector": {"app": "db"}, "ports": ports}}
    ip = up.request("POST", "/api/v1/namespaces/ops/services", service)["spec"]["clusterIP"]
    said = run("linked", "env").split("\n")
    for line in (
        f"MY_DB_SERVICE_HOST={ip}",
        "MY_DB_SERVICE_PORT=80",
        "MY_DB_SERVICE_PORT_MORE=81",
        f"MY_DB_PORT=tcp://{ip}:80",
        f"MY_DB_PORT_81_UDP=udp://{ip}:81",
        "KUBERNETES_SERVICE_HOST=127.0.0.1",
        f"KUBERNETES_SERVICE_PORT={up.port}",
    ):
        assert line in said, line
    said = run("unlinked", "env", enableServiceLinks=False)
    assert "MY_DB" not in said and "KUBERNETES_SERVICE_HOST" in said


def test_unknown_account():
    """is refused, as on a cluster"""
    with pytest.raises(Failure, match="serviceaccount .*nobody.* not found"):
        run("nobody", "true", serviceAccountName="nobody")


def test_webhook_by_service(tmp_path):
    """the Service's endpoints follow from its pod, by a named port, and so the webhook is called"""
    (port,) = kube.free_ports(1)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        + ["-subj", "/CN=hook", "-addext", "subjectAltName=DNS:hook.ops.svc", "-keyout", "tls.key", "-out", "tls.crt"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    files = {name: base64.b64encode((tmp_path / name).read_bytes()).decode() for name in ("tls.key", "tls.crt")}
    base = "/api/v1/namespaces/ops"
    up.request("POST", f"{base}/secrets", {"metadata": {"name": "certs"}, "data": files})
    up.request("POST", f"{base}/configmaps", {"metadata": {"name": "code"}, "data": {"hook.py": HOOK}})
    container = {
        "name": "hook",
        "image": "python3",
        "command": [sys.executable, "/code/hook.py", str(port)],
        "ports": [{"name": "https", "containerPort": port}],
        "volumeMounts": [{"name": "certs", "mountPath": "/certs"}, {"name": "code", "mountPath": "/code"}],
        "readinessProbe": {"tcpSocket": {"port": "https"}, "periodSeconds": 1},
    }
    volumes = [
        {"name": "certs", "secret": {"secretName": "certs"}},
        {"name": "code", "configMap": {"name": "code"}},
    ]
    app = {"app": "hook"}
    spec = {"containers": [container], "volumes": volumes}
    body = {"selector": {"matchLabels": app}, "template": {"metadata": {"labels": app}, "spec": spec}}
    up.request("POST", "/apis/apps/v1/namespaces/ops/deployments", {"metadata": {"name": "hook"}, "spec": body})
    service = {"selector": app, "ports": [{"port": 443, "targetPort": "https"}]}
    up.request("POST", f"{base}/services", {"metadata": {"name": "hook"}, "spec": service})
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": "hook.example.com",
        "clientConfig": {
            "service": {"namespace": "ops", "name": "hook", "path": "/check"},
            "caBundle": files["tls.crt"],
        },
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    slices = "/apis/discovery.k8s.io/v1/namespaces/ops/endpointslices?labelSelector=kubernetes.io/service-name=hook"

    def ready():
        return any(e["conditions"]["ready"] for s in up.get(slices)["items"] for e in s["endpoints"] or ())

    until(ready, 60, "a ready endpoint of the webhook")
    up.request("POST", path, {"metadata": {"name": "hook"}, "webhooks": [hook]})
    up.request("POST", f"{base}/configmaps", {"metadata": {"name": "good"}, "data": {"k": "good"}})
    with pytest.raises(Failure, match="the hook has refused it at /check"):
        up.request("POST", f"{base}/configmaps", {"metadata": {"name": "bad"}, "data": {"k": "bad"}})
    assert up.kubectl("get", "endpoints", "-n", "ops", "hook", "-o", "name").strip() == "endpoints/hook"
    up.request("DELETE", f"{path}/hook")
