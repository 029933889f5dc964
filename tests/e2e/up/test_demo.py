# SPDX-License-Identifier: Apache-2.0
"""`make run` as it is seen: on a terminal it shows a job on its way and keeps serving until Ctrl-C, elsewhere it ends
by itself.
"""

import concurrent.futures
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import termios
import time
import uuid

import pytest

import kube
from kube import Failure, until
from sluice import ROOT, program

TIME_LIMIT = 120
folder = tools = None
STEPS = [
    "sluice up serves https://127.0.0.1:",
    "  queued",
    "  admitted",
    "  running: 0 of 3 done",
    "  finished: 3 of 3 done",
    "hello from hello-",
    "Go on with:",
]
LAST = "It serves until Ctrl-C"


class Demo:
    """One that runs; its processes are known by a word in their environment."""

    def __init__(self, terminal):
        self.mark = f"SL_DEMO_MARK={uuid.uuid4()}"
        self.home = folder / self.mark[-12:]
        self.home.mkdir()
        key, _, value = self.mark.partition("=")
        env = {
            **os.environ,
            key: value,
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "PATH": f"{tools}:{os.environ['PATH']}",
        }
        env.pop("XDG_DATA_HOME", None)
        env.pop("KUBECONFIG", None)
        self.text, self.fd = "", None
        if terminal:
            self.fd, inner = pty.openpty()
            self.process = subprocess.Popen(
                [ROOT / "tools/demo", program(), "--port=0"],
                cwd=ROOT,
                env=env,
                stdin=inner,
                stdout=inner,
                stderr=inner,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
            os.close(inner)
        else:
            self.process = subprocess.Popen(
                [ROOT / "tools/demo", program()],
                cwd=ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def read(self, words, seconds=120):
        """What stands on the terminal, once the words do."""
        end = time.monotonic() + seconds
        while words not in self.text:
            if time.monotonic() > end or self.process.poll() is not None:
                raise Failure(f"'{words}' never came:\n{self.text}")
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace").replace("\r\n", "\n")
                except OSError:  # nobody has it open any more
                    time.sleep(0.05)
        return self.text

    def type(self, keys):
        os.write(self.fd, keys)

    def ends(self, seconds=60):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"it still runs after {seconds} s:\n{self.text}") from None

    def left(self):
        """Command lines of the processes of it."""
        found = []
        for p in pathlib.Path("/proc").iterdir():
            try:
                if p.name.isdigit() and self.mark.encode() in (p / "environ").read_bytes().split(b"\0"):
                    line = (p / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found += [(int(p.name), line)] if line else []  # without one it has ended
            except OSError:
                pass
        return found

    def kill(self):
        for pid, _ in self.left():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass


def in_order(text, words):
    at = 0
    for w in words:
        next = text.find(w, at)
        assert next >= 0, f"'{w}' is not there, or not after the others:\n{text}"
        at = next + len(w)


def printed_commands(text):
    """Those that it says one may go on with, in their order."""
    return re.findall(r"^  ((?:export|kubectl|\S*sluice) .*)$", text[text.index("Go on with:") :], re.M)


def on_a_terminal():
    d = Demo(True)
    try:
        in_order(d.read(LAST), [*STEPS, LAST])
        commands = printed_commands(d.text)
        assert commands[0] == f"export KUBECONFIG={d.home}/.local/share/sluice/kubeconfig", commands
        gets = [c for c in commands if c.startswith("kubectl get ")]
        assert gets and any(c.startswith("kubectl create ") for c in commands), commands
        typed = subprocess.run(
            ["sh", "-ec", f"PATH={tools}:$PATH\n{commands[0]}\n{gets[0]}"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        assert typed.returncode == 0, typed.stdout
        in_order(typed.stdout, ["job.batch/hello-", "Complete", "workload.kueue.x-k8s.io/job-hello-", "pod/hello-"])
        assert d.process.poll() is None and len(d.left()) >= 2, d.left()
        d.type(b"\x03")
        assert d.ends() == 0, d.process.returncode
        until(lambda: not d.left(), 60, f"the end of {d.left()}")
        assert (d.home / ".local/share/sluice/objects.db").exists(), "what was made is for the next time"
        assert not list(d.home.glob("sluice-demo*")), list(d.home.iterdir())
    finally:
        d.kill()
        os.close(d.fd)


def interrupted():
    d = Demo(True)
    try:
        d.read("  queued")
        d.type(b"\x03")
        assert d.ends() == 0, d.process.returncode
        until(lambda: not d.left(), 60, f"the end of {d.left()}")
    finally:
        d.kill()
        os.close(d.fd)


def elsewhere():
    d = Demo(False)
    try:
        text = d.process.communicate(timeout=240)[0].decode()
        assert d.process.returncode == 0, text
        in_order(text, STEPS)
        assert LAST not in text, text
        assert re.search(r"sluice up +# this one ends here", printed_commands(text)[0]), text
        until(lambda: not d.left(), 60, f"the end of {d.left()}")
        assert all(p.name == ".kube" for p in d.home.iterdir()), list(d.home.iterdir())  # kubectl's own
    finally:
        d.kill()


@pytest.fixture(scope="module")
def runs():
    """All three at once, each with a folder and a port of its own."""
    global folder, tools
    tools = pathlib.Path(shutil.which("kubectl") or kube.build() / "kubectl").parent
    program()
    with (
        tempfile.TemporaryDirectory(prefix="sluice-demo-test-", ignore_cleanup_errors=True) as made,
        concurrent.futures.ThreadPoolExecutor(3) as pool,
    ):
        folder = pathlib.Path(made)
        yield {f: pool.submit(f) for f in (on_a_terminal, interrupted, elsewhere)}


def test_terminal(runs):
    """on a terminal: progress, commands that work as they are printed, serving until Ctrl-C, nothing left"""
    runs[on_a_terminal].result()


def test_interrupted(runs):
    """Ctrl-C before the job has finished: exit status 0, nothing left"""
    runs[interrupted].result()


def test_elsewhere(runs):
    """not on a terminal: the same progress, then it ends with 0 and leaves nothing behind"""
    runs[elsewhere].result()
