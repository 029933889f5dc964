# SPDX-License-Identifier: Apache-2.0
"""What stands over each container of `sluice up`: it knows nothing of the server's objects, is started from no file,
and ends its container when the server is killed.
"""

import os
import pathlib
import shutil
import tempfile
import time

import pytest

import up as module
from kube import until
from sluice import program, say
from up import Up

PODS = "/api/v1/namespaces/default/pods"
SECRET = "of-somebody-else-" + "planted"
LARGE = 100  # ConfigMaps of 800 kB
SMALL_KB = 4096  # more than a supervisor has
PATIENCE = 120
TIME_LIMIT = 120
scratch = up = None
marker = f"{900000 + os.getpid()}.{time.monotonic_ns() % 1000000}"


def status(name):
    return up.get(f"{PODS}/{name}").get("status", {})


def children():
    """The processes that the server has started."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == up.process.pid:
                found.append(path.parent)
        except OSError:
            pass
    return found


def memory(process):
    """All that it can read of its own memory."""
    with open(process / "mem", "rb", 0) as mem:
        for line in (process / "maps").read_text().splitlines():
            span, rights = line.split()[:2]
            begin, end = (int(n, 16) for n in span.split("-"))
            if rights[0] == "r" and "[v" not in line:
                mem.seek(begin)
                yield mem.read(end - begin)


def alive(marker):
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes().split(b"\0"):
                return True
        except OSError:
            pass
    return False


def runs(process):
    """False also of one that has ended and for which nobody has waited."""
    try:
        return (process / "cmdline").read_bytes() != b""
    except OSError:
        return False


@pytest.fixture(scope="module", autouse=True)
def crowded():
    """A server with many objects, and a pod beside them. Its program is a file of its own."""
    global scratch, up
    with tempfile.TemporaryDirectory(prefix="sluice-copy-") as folder, pytest.MonkeyPatch.context() as patch:
        scratch = pathlib.Path(folder)
        shutil.copy(program(), scratch / "sluice")
        patch.setattr(module, "program", lambda: scratch / "sluice")
        with Up() as up:
            make_objects()
            yield


def make_objects():
    for i in range(LARGE):
        data = {"k": (SECRET + "x" * 783) * 1000}
        up.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": f"m-{i}"}, "data": data})
    container = {"name": "c", "image": "x", "command": ["sleep", marker]}
    up.request("POST", PODS, {"metadata": {"name": "a"}, "spec": {"containers": [container]}})
    until(lambda: status("a").get("phase") == "Running", PATIENCE, "the pod")


def test_knows_nothing():
    """no text of other objects is in a supervisor"""
    (supervisor,) = children()
    server = pathlib.Path(f"/proc/{up.process.pid}")
    kb = {p: int((p / "status").read_text().split("VmRSS:")[1].split()[0]) for p in (server, supervisor)}
    say(f"# resident: the server {kb[server]} kB, the supervisor {kb[supervisor]} kB")
    assert kb[server] > 60000 and kb[supervisor] < SMALL_KB
    assert any(SECRET.encode() in part for part in memory(server)), "it would not be found"
    assert not any(SECRET.encode() in part for part in memory(supervisor))
    assert sorted(int(p.name) for p in (supervisor / "fd").iterdir()) == [0, 1, 2, 3]
    assert (supervisor / "environ").read_bytes() == b""


def test_file_goes():
    """the file of the program is replaced while it runs: pods and sessions start as before"""
    (scratch / "sluice").unlink()
    (scratch / "sluice").write_text("#!/bin/false\n")
    up.request(
        "POST",
        PODS,
        {
            "metadata": {"name": "b"},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x", "command": ["true"]}]},
        },
    )
    until(lambda: status("b").get("phase") == "Succeeded", PATIENCE, "the pod")
    assert up.kubectl("exec", "a", "--", "echo", "here") == "here\n"
    (scratch / "sluice").unlink()
    shutil.copy(program(), scratch / "sluice")


def test_killed():
    """kill -9 of the server ends the container; the next server finds it lost and starts it again"""
    (supervisor,) = children()
    up.kill9()
    until(lambda: not alive(marker) and not runs(supervisor), PATIENCE, "the end of the container")
    up.start()

    def again():
        one = status("a")["containerStatuses"][0]
        return one if one["restartCount"] == 1 and one["state"].get("running") else None

    last = until(again, PATIENCE, "another start")["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (137, "ContainerStatusUnknown"), last
    assert alive(marker)
