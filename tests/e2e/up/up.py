# SPDX-License-Identifier: Apache-2.0
"""`sluice up`, and what tests of it share. It stands where tests/e2e/kube has a control plane and `sluice serve`, and
has the same words as both.

    with Up() as up:                      # one process: API server, controllers, scheduler, queues, runtime
        up.kubectl("get", "nodes")
        up.kill9()
        up.start()                        # the same file, the same port

    Up(controllers=False)                 # the API server alone, as tests/e2e/up/apionly.c has it
    Up(under=["nice"])                    # started by another program

The program under test is the one that SL_PROGRAM names, else build/sluice of the repository.
"""

import base64
import json
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "kube"))
import kube
from kube import Failure, until
from sluice import program, samples


class Up(kube.Administrator):
    """One process. `port`, `tls`, `headers`, `dir`, `process` and `ready_after` may be read."""

    def __init__(self, controllers=True, flags=(), config="", under=()):
        self.controllers, self.flags, self.config, self.under = controllers, list(flags), config, list(under)
        self.dir = self.process = self.tls = None
        self.port, self.headers, self.ready_after, self.bin = 0, {}, None, None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    @property
    def kubeconfig(self):
        return self.dir / "kubeconfig"

    def start(self, seconds=120):
        if not self.dir:
            self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-up-"))
            (self.port,) = kube.free_ports(1)
        self.bin = kube.build()
        server = [str(program()), "up"] if self.controllers else [str(program().parent / "tests/e2e/up/apionly")]
        command = [
            *self.under,
            "setpriv",
            "--pdeathsig",
            "KILL",
            *server,
            f"--dir={self.dir}",
            f"--port={self.port}",
            *self.flags,
        ]
        if self.config:
            (self.dir / "config.yaml").write_text(self.config)
            command.append(f"--config={self.dir / 'config.yaml'}")
        began = time.monotonic()
        with open(self.dir / "log", "a") as log:
            self.process = kube._spawner.submit(
                subprocess.Popen, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            ).result()
        until(self._ready, seconds, "readiness")
        self.ready_after = time.monotonic() - began
        return self

    def _ready(self):
        if self.process.poll() is not None:
            raise Failure(f"it ended with {self.process.returncode}; the last that it said:\n{self.log()}")
        if not self.kubeconfig.exists():
            return False
        return self.trust() and self._try("/readyz") is not None

    def trust(self):
        """Takes certificate and token from the kubeconfig; False: they are not there yet."""
        text = self.kubeconfig.read_text()
        authority = re.search(r"certificate-authority-data: (\S+)", text)
        token = re.search(r"token: (\S+)", text)
        if not authority or not token:
            return False
        self.authority = base64.b64decode(authority[1]).decode()
        self.tls = ssl.create_default_context(cadata=self.authority)
        self.headers = {"Authorization": f"Bearer {token[1]}"}
        return True

    def finish(self):
        """Ends it as a user does; returns its exit status."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill9()
                raise Failure(f"it runs 60 s after SIGTERM; the last that it said:\n{self.log()}") from None
            if self.process.returncode < 0:
                raise Failure(f"it ended by signal {-self.process.returncode}; the last that it said:\n{self.log()}")
        return self.process.returncode if self.process else None

    def stop(self):
        """The same, and removes the folder."""
        self.finish()
        if self.dir:
            shutil.rmtree(self.dir, ignore_errors=True)

    def kill9(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def log(self, lines=40):
        path = self.dir / "log" if self.dir else None
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path and path.exists() else ""


class Queueing:
    """The part of it that `sluice serve` is beside a control plane."""

    def __init__(self, up):
        self.up = up

    def prepare(self):
        """Our kinds are there from the beginning."""

    def start(self):
        if self.up.process.poll() is not None:
            self.up.start()

    def stop(self):
        return self.up.finish()

    def kill9(self):
        self.up.kill9()

    def log(self, lines=40):
        return self.up.log(lines)

    @property
    def ready_after(self):
        return self.up.ready_after

    def metrics(self):
        return samples(self.up.get("/metrics"))

    def state(self):
        return json.dumps(self.up.get("/debug/state"))
