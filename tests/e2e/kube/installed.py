# SPDX-License-Identifier: Apache-2.0
"""Sluice installed as docs/install.md says, beside a control plane that has nodes.

    cluster = Cluster(nodes=2, apiserver_flags=installed.FLAGS)
    cluster.start()
    sluice = Installed(cluster)
    sluice.install()
    sluice.start()

deploy/manifests.yaml is applied as it is, but for two things: where the pods of the Deployment would be
there is one process on this machine, so the Deployment has no replicas and the Services no selectors.
The process runs with the rights of its service account and is called through the Services, by the
certificates that it made itself. The ConfigMap becomes its configuration file where a kubelet would
mount it: project().
"""

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import kube
import sluice as bed
from kube import Failure, until

MANIFESTS = bed.ROOT / "deploy" / "manifests.yaml"
CAPACITY = bed.ROOT / "deploy" / "provisioningrequest-crd.yaml"
SYSTEM = "/api/v1/namespaces/kueue-system"
KEY = "controller_manager_config.yaml"
_numbers = itertools.count(1)
FLAGS = ["--enable-aggregator-routing=true"]  # Services are resolved to endpoints, as there is no kube-proxy


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


def promptly(seconds):
    """So many seconds on a machine that has time for us, and more where others work, too."""
    return seconds * max(1, os.getloadavg()[0] / os.cpu_count())


def manifests():
    """deploy/manifests.yaml without pods."""
    text, n = re.subn(r"^  replicas: \d+$", "  replicas: 0", MANIFESTS.read_text(), flags=re.M)
    assert n == 1, n
    parts = re.split(r"^---\n", text, flags=re.M)
    for i, part in enumerate(parts):
        if re.search(r"^kind: Service$", part, re.M):
            parts[i] = re.sub(r"^  selector:\n(?:    .*\n)+", "", part, flags=re.M)
    return "---\n".join(parts)


class Installed:
    """The manager. `process`, `config` (a path) and `ports` (by the port in the configuration) may be read."""

    def __init__(self, cluster):
        self.cluster, self.number = cluster, next(_numbers)
        self.process = None
        self.ports = {}

    @property
    def log_path(self):
        return self.cluster.dir / "log" / f"sluice-installed-{self.number}.log"

    def install(self):
        """Applies the manifests and makes what the process needs; does not start it."""
        self.program = bed.program()
        address = own_address()
        self.config = self.cluster.dir / "log" / KEY
        self.ports = dict(zip(("8081", "8443", "9443", "8082"), kube.free_ports(4)))
        bed.say(f"$ kubectl apply --server-side -f {MANIFESTS.relative_to(bed.ROOT)}")
        self.cluster.kubectl("apply", "--server-side", "-f", "-", input=manifests())
        bed.show(self.cluster, "create", "-f", CAPACITY)
        for service in self.cluster.get(f"{SYSTEM}/services")["items"]:
            self._endpoints(service, address)
        token = self.cluster.kubectl(
            "create", "token", "kueue-controller-manager", "-n", "kueue-system", "--duration=1h"
        ).strip()
        self.kubeconfig = self.cluster.dir / "manager.kubeconfig"
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
                                "server": self.cluster.url,
                                "certificate-authority": str(self.cluster.dir / "pki" / "ca.crt"),
                            },
                        }
                    ],
                    "users": [{"name": "u", "user": {"token": token}}],
                }
            )
        )
        self.project()

    def _endpoints(self, service, address):
        name = service["metadata"]["name"]
        ports = [
            {"name": p["name"], "port": self.ports[str(p["targetPort"])], "protocol": "TCP"}
            for p in service["spec"]["ports"]
            if str(p["targetPort"]) in self.ports
        ]
        self.cluster.request(
            "POST",
            "/apis/discovery.k8s.io/v1/namespaces/kueue-system/endpointslices",
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
                "ports": ports,
            },
        )
        self.cluster.request(
            "POST",
            f"{SYSTEM}/endpoints",
            {"metadata": {"name": name}, "subsets": [{"addresses": [{"ip": address}], "ports": ports}]},
        )

    def project(self):
        """Writes the ConfigMap to the file, as a kubelet does within a minute or so of a change. The ports
        are those of this machine, and the only process leads: a lease is lost where seconds are scarce."""
        text = self.cluster.get(f"{SYSTEM}/configmaps/kueue-manager-config")["data"][KEY]
        for said, ours in (("8081", f"127.0.0.1:{self.ports['8081']}"), ("8443", f"127.0.0.1:{self.ports['8443']}")):
            text, n = re.subn(rf'(?<=[ "]):{said}\b', ours, text)
            assert n == 1, text
        for said, ours in ((r"\b9443\b", str(self.ports["9443"])), (r"(?<=leaderElect)(\"?: )true", r"\1false")):
            text, n = re.subn(said, ours, text)
            assert n == 1, text
        assert "visibilityServer" not in text, text
        if text.startswith("{"):  # as some tools write it
            text = text.replace("{", f'{{"visibilityServer": {{"bindPort": {self.ports["8082"]}}},', 1)
        else:
            text += f"visibilityServer: {{bindPort: {self.ports['8082']}}}\n"
        new = self.config.with_suffix(".new")
        new.write_text(text)
        new.replace(self.config)

    def start(self, seconds=120):
        with open(self.log_path, "a") as log:
            self.process = kube._spawner.submit(
                subprocess.Popen,
                [
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    str(self.program),
                    "serve",
                    f"--config={self.config}",
                    f"--kubeconfig={self.kubeconfig}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            ).result()
        until(self.ready, seconds, "readiness; it says:\n" + self.log())
        return self

    def ready(self):
        if self.process.poll() is not None:
            raise Failure(f"sluice ended with {self.process.returncode}; the last that it logged:\n{self.log()}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['8081']}/readyz", timeout=60) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def stop(self):
        """Ends it as a rollout does."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Failure(f"sluice runs 60 s after SIGTERM; the last that it logged:\n{self.log()}") from None

    def kill9(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def log(self, lines=40):
        return (
            "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:]) if self.log_path.exists() else ""
        )

    def await_log(self, words, since, seconds=60):
        """Until it has logged these words after the byte `since` of the log."""
        until(lambda: words in self.log_path.read_text(errors="replace")[since:], seconds, f"'{words}' in the log")

    def logged(self):
        """How long the log is now."""
        return len(self.log_path.read_text(errors="replace")) if self.log_path.exists() else 0
