# SPDX-License-Identifier: Apache-2.0
"""docs/masterqueue.md, "On one machine", as a newcomer follows it: every command as it stands there, but for the ports,
and what they print compared with what the page shows.
"""

import os
import re
import shlex
import signal
import subprocess

import pytest

import kube
import natsd
from kube import Failure, until
from sluice import ROOT, program, say

TIME_LIMIT = 200
PAGE = ROOT / "docs" / "masterqueue.md"
NOT_HERE = ("make", "apt")  # what is built and installed already
STAYS = ("nats-server", "build/sluice up", "build/sluice pool publish")  # each on a terminal of its own
PATIENCE = 60


def section(title):
    return PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def blocks(text):
    """The indented blocks, each a list of (command, lines that it prints or None)."""
    for block in re.findall(r"(?:^    .*\n)+", text, re.M):
        listed = []
        shows = False
        for line in re.sub(r"\\\n *", "", re.sub(r"^    ", "", block, flags=re.M)).splitlines():
            if shows and not line.startswith("$ "):
                listed[-1][1].append(line)
                continue
            shows = line.startswith("$ ")
            command = re.sub(r"\s+# .*", "", line.removeprefix("$ "))
            listed.append((command, [] if shows else None))
        yield listed


def cells(line):
    """Of a line of a table, without the last cell: the age."""
    return re.split(r"\s{2,}", line.strip())[:-1]


class Clone:
    """A folder like a clone of Sluice, and terminals in it."""

    def __init__(self, folder):
        self.dir, self.terminals = folder, {}
        self.nats, self.port = kube.free_ports(2)
        (folder / "build").mkdir()
        (folder / "build" / "sluice").symlink_to(program())
        examples = folder / "examples" / "masterqueue"
        examples.mkdir(parents=True)
        for path in (ROOT / "examples" / "masterqueue").iterdir():
            (examples / path.name).write_text(self.here(path.read_text()))
        path = [str(kube.build()), os.path.dirname(natsd.program()), os.environ["PATH"]]
        self.env = {**os.environ, "PATH": ":".join(path), "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
        self.env.pop("KUBECONFIG", None)

    def here(self, text):
        return text.replace(":4222", f":{self.nats}")

    def stay(self, command):
        """On a terminal of its own."""
        more = {"nats-server": f" -p {self.nats}", "build/sluice up": f" --port={self.port}"}
        command = self.here(command) + next((more[key] for key in more if command.startswith(key)), "")
        say(f"& {command}")
        log = self.dir / f"terminal-{len(self.terminals)}"
        with open(log, "w") as out:
            process = kube._spawner.submit(
                subprocess.Popen,
                ["setpriv", "--pdeathsig", "KILL", *shlex.split(command)],
                cwd=self.dir,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            ).result()
        self.terminals[command] = process, log
        return process, log

    def run(self, command, quiet=False):
        """Returns what it printed, errors and warnings too."""
        done = subprocess.run(
            ["bash", "-c", self.here(command)],
            cwd=self.dir,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if not quiet:
            say(f"$ {command}\n{done.stdout}")
        if done.returncode != 0:
            raise Failure(f"{command}: exit {done.returncode}\n{done.stdout}")
        return done.stdout

    def shows(self, command, expected):
        """Until the command prints the page's table, but for ages."""
        want, last = [cells(line) for line in expected], ""

        def same():
            nonlocal last
            last = self.run(command, quiet=True)
            return [cells(line) for line in last.splitlines()] == want

        try:
            until(same, PATIENCE, command)
        except Failure:
            raise Failure(f"{command} prints\n{last}and on the page it is\n" + "\n".join(expected)) from None
        say(f"$ {command}\n{last}")

    def interrupt(self, words):
        """Ctrl-C."""
        process, _ = next(entry for command, entry in self.terminals.items() if words in command)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130, -signal.SIGINT), process.returncode

    def end(self):
        for process, _ in self.terminals.values():
            process.kill()
            process.wait()

    def log(self, lines=20):
        return "\n".join("\n".join(log.read_text().splitlines()[-lines:]) for _, log in self.terminals.values())


@pytest.fixture
def clone(tmp_path, request):
    made = Clone(tmp_path)
    request.module.logs = made.log
    try:
        yield made
    finally:
        made.end()


def begin(clone, command):
    """A command that stays; returns when it is of use."""
    process, log = clone.stay(command)

    def ready():
        if process.poll() is not None:
            raise Failure(f"{command} ended with {process.returncode}\n{log.read_text()}")
        if command.startswith("nats-server"):
            return "Server is ready" in log.read_text()
        if command.startswith("build/sluice pool list"):
            return "connected to" in log.read_text()
        if command.startswith("build/sluice up"):
            return re.search(r"^ *export (KUBECONFIG)=(\S+)", log.read_text(), re.M)
        return True

    found = until(ready, PATIENCE, command)
    if found is not True:
        clone.env[found[1]] = found[2]
        say(log.read_text())
    return process, log


def test_one_machine(clone):
    """every command of the section, in its order, and what the text around them says"""
    text = section("On one machine")
    start, empty, providers, two, jobs = blocks(text)
    for command, _ in start:
        if command.startswith(STAYS):
            begin(clone, command)
        elif not command.startswith(NOT_HERE):
            applied = clone.run(command)
    warnings = [line for line in applied.splitlines() if line.startswith("Warning:")]
    assert len(warnings) == 2 and "natsConnector" in applied and "poolTimeout" in applied, applied
    for command, shown in empty:
        clone.shows(command, shown)
    described = clone.run("kubectl get clusterqueues -o yaml", quiet=True)
    assert "non-existing-flavor" in described and "stopPolicy: Hold" in described and "group1" not in described
    (listing,) = re.findall(r"`(sluice pool list --connector … --subject \S+)`", text)
    connector = re.search(r"--connector (\S+)", providers[0][0])[1]
    lists = begin(clone, "build/" + listing.replace("…", connector))  # before they do, so that it hears them at once
    for command, _ in providers:
        begin(clone, command)
    for command, shown in two:
        clone.shows(command, shown)
    outputs = [clone.run(command) for command, _ in jobs]
    assert "job.batch/sample-job-1" in outputs[1], outputs[1]

    def runs():
        pods = clone.run(jobs[3][0], quiet=True)
        return pods if re.search(r" Running .* interlink ", pods) else None

    say(until(runs, PATIENCE, "a pod on the node interlink"))
    (line,) = clone.run(jobs[2][0]).split("\n\n")[0].splitlines()[1:]
    assert " group1 " in line and " True " in line, line
    flavor = clone.run("kubectl get workloads -o jsonpath={..flavors.pods}", quiet=True)
    assert flavor == "masterqueue-interlink-podman-firenze", flavor
    goes(clone, jobs, lists)


def goes(clone, jobs, lists):
    """one provider ends, the job completes, what was published is listed, and all goes"""
    clone.interrupt("--pool podman-firenze")
    assert "within 35 seconds `LIVE` is 1" in section("On one machine")
    until(lambda: clone.run("kubectl get mq", quiet=True).split()[-4:-1] == ["1", "2", "True"], 35 + 10, "LIVE 1")
    say(clone.run("kubectl get mq"))
    for queue in ("masterqueue", "group1"):
        left = clone.run(f"kubectl get clusterqueue {queue} -o jsonpath={{..flavors[*].name}}", quiet=True)
        assert left == "masterqueue-interlink-slurm-cineca", left
    until(lambda: " Completed " in clone.run(jobs[3][0], quiet=True), PATIENCE, "the end of the job")
    process, log = lists
    assert "listens for 35 seconds" in section("On one machine") and process.wait(35) == 0
    say(log.read_text())
    assert re.search(r"podman-firenze +85 +1Ti +123 +28 +site=firenze", log.read_text()), log.read_text()
    assert "slurm-cineca" in log.read_text()
    (command,) = re.findall(r"In the end: `([^`]*)`", section("On one machine"))
    clone.run(command)
    until(lambda: "No resources" in clone.run("kubectl get clusterqueues,resourceflavors"), PATIENCE, "nothing")
    for words in ("--pool slurm-cineca", "build/sluice up", "nats-server"):
        clone.interrupt(words)
