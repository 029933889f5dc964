# SPDX-License-Identifier: Apache-2.0
"""helm against `sluice up`. It is built from source, which takes minutes the first time: see ../kube/build."""

import os
import pathlib
import subprocess

import kube
from kube import Unavailable
from up import Up

TIME_LIMIT = 900
TEMPLATES = """apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-settings'}
data: {color: '{{ .Values.color }}'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}-web'}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: host, command: [sleep, "1000"]}
"""


def test_helm(tmp_path):
    """a chart is installed, upgraded, rolled back and removed"""
    built = subprocess.run([kube.HERE / "build", "helm"], stdout=subprocess.PIPE, text=True)
    if built.returncode:
        raise Unavailable("helm cannot be built here")
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: sample\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text("color: blue\nreplicas: 1\n")
    (chart / "templates" / "all.yaml").write_text(TEMPLATES)
    homes = {f"HELM_{name}_HOME": str(tmp_path / "helm") for name in ("CACHE", "CONFIG", "DATA")}

    with Up() as up:

        def helm(*args):
            ran = subprocess.run(
                [pathlib.Path(built.stdout.strip()) / "helm", f"--kubeconfig={up.kubeconfig}", *args],
                capture_output=True,
                text=True,
                timeout=300,
                env={**os.environ, **homes},
            )
            assert ran.returncode == 0, f"helm {' '.join(args)}: {ran.stdout}\n{ran.stderr}"
            return ran.stdout

        def color():
            return up.get("/api/v1/namespaces/default/configmaps/one-settings")["data"]["color"]

        assert "STATUS: deployed" in helm("install", "one", str(chart), "--wait", "--timeout=120s")
        assert color() == "blue"
        upgraded = helm("upgrade", "one", str(chart), "--set=color=red,replicas=2", "--wait", "--timeout=120s")
        assert "REVISION: 2" in upgraded
        assert color() == "red"
        helm("rollback", "one", "1", "--wait", "--timeout=120s")
        assert color() == "blue" and "one" in helm("list")
        assert "uninstalled" in helm("uninstall", "one", "--wait", "--timeout=120s")
        assert not up._try("/api/v1/namespaces/default/configmaps/one-settings")
