# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server in a folder of its own, on loopback: with Postgres() as server: server.query("SELECT 1")."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import kube
from kube import Failure, until

USER, DATABASE, PASSWORD = "sluice", "sluice", "secret"


def folder():
    """Where the programs of the server are; None: it is not installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Postgres:
    """`url` may be read."""

    def __init__(self):
        self.bin, self.process = folder(), None
        if not self.bin:
            raise Failure("PostgreSQL is not installed: tools/setup")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sluice-postgres-"))
        (self.port,) = kube.free_ports(1)
        self.url = f"postgres://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{DATABASE}"
        # root may not run the server
        self.as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []

    def __enter__(self):
        try:
            if self.as_user:
                shutil.chown(self.dir, "nobody", "nogroup")
            (self.dir / "password").write_text(PASSWORD)
            (self.dir / "password").chmod(0o644)
            self._run(
                f"{self.bin}/initdb", "-D", f"{self.dir}/data", "-U", USER, f"--pwfile={self.dir}/password",
                "--auth=scram-sha-256", "--encoding=UTF8", "--no-sync",
            )  # fmt: skip
            self.start()
            self._psql("postgres", f"CREATE DATABASE {DATABASE}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.kill9()
        shutil.rmtree(self.dir, ignore_errors=True)

    def _run(self, *command):
        done = subprocess.run(
            [*self.as_user, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.dir
        )
        if done.returncode:
            raise Failure(f"{command[0]}: {done.stdout}")

    def start(self):
        with open(self.dir / "log", "a") as log:
            self.process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL"), *self.as_user[1:], f"{self.bin}/postgres",
                    *("-D", f"{self.dir}/data", "-p", str(self.port), "-h", "127.0.0.1", "-k", str(self.dir)),
                    *("-c", "fsync=off", "-c", "max_connections=20"),
                ],  # fmt: skip
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir, start_new_session=True,
            )  # fmt: skip
        until(lambda: self._answers("postgres"), 60, "PostgreSQL")

    def kill9(self):
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _answers(self, database):
        try:
            return self._psql(database, "SELECT 1") == "1"
        except Failure:
            return False

    def _psql(self, database, text):
        done = subprocess.run(
            ["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text],
            env={
                **os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": USER, "PGPASSWORD": PASSWORD,
                "PGDATABASE": database,
            },
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if done.returncode:
            raise Failure(done.stdout.strip())
        return done.stdout.strip()

    def query(self, text):
        """Rows as lists of texts."""
        return [line.split("|") for line in self._psql(DATABASE, text).splitlines()]
