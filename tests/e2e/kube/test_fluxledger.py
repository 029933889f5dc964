# SPDX-License-Identifier: Apache-2.0
"""The ledger of the queue on the resource graph in a real PostgreSQL server: what the seeds ask of it, and what is left
of it when the server and Sluice are killed."""

import os
import time

import pytest

from kube import until
from postgres import Postgres
from sluice import Sluice, say
from test_fluxqueue import PODS, Bed, pod

TIME_LIMIT = 300
PATIENCE = 90
JOBS = 200
sluice = None


@pytest.fixture(scope="module")
def server():
    with Postgres() as server:
        yield server


@pytest.fixture(scope="module")
def bed(node_cluster, server, tmp_path_factory):
    global sluice
    node_cluster.add_nodes(4, cpu="8")
    os.environ["STATE_DIRECTORY"] = str(tmp_path_factory.mktemp("state"))
    with Sluice(node_cluster, flags=[f"--ledger={server.url}"]) as sluice:
        node_cluster.kubectl("label", "namespace", "default", "fluxqueue/managed=true", "--overwrite")
        yield Bed("serve", node_cluster, sluice)
        node_cluster.kubectl("label", "namespace", "default", "fluxqueue/managed-")
    del os.environ["STATE_DIRECTORY"]


def test_questions(bed, server):
    """the tables that the seeds look at, while jobs run and wait and after they have ended"""
    for i in range(5):
        bed.api.request("POST", PODS, pod(f"run-{i}", cpu="6", sleep="600", duration=3600))
    until(lambda: server.query("SELECT count(*) FROM jobs WHERE started IS NOT NULL") == [["4"]], PATIENCE, "starts")
    until(lambda: server.query("SELECT count(*) FROM pending_queue") == [["1"]], PATIENCE, "one that waits")
    (waiting,) = server.query("SELECT namespace, flux_job_name, name, type, reservation, size FROM pending_queue")
    say(f"# pending_queue: {waiting}")
    assert waiting[0] == "default" and waiting[1].endswith("-pod") and waiting[5] == "1", waiting
    until(lambda: len(server.query("SELECT name, flux_id FROM reservations")) == 1, PATIENCE, "its reservation")
    assert server.query("SELECT group_name, group_size FROM pods_provisional") is not None
    for i in range(5):
        bed.api.request("DELETE", f"{PODS}/run-{i}")
    bed.none_left()
    until(lambda: server.query("SELECT count(*) FROM jobs WHERE ended IS NULL") == [["0"]], PATIENCE, "ends")


def test_killed(bed, server):
    """both are killed in the middle of many jobs: nothing is lost, nothing is there twice"""
    for i in range(JOBS):
        bed.api.request("POST", PODS, pod(f"many-{i:03}", cpu="1", sleep="1"))
        if i == JOBS // 3:
            server.kill9()
        if i == JOBS // 2:
            bed.sluice.kill9()
            bed.sluice.start()
    time.sleep(2)
    server.start()
    until(
        lambda: all(bed.state(f"many-{i:03}-pod") == "Completed" for i in (0, JOBS // 2, JOBS - 1)),
        PATIENCE,
        "the ends",
    )

    def counted(what):
        return int(server.query(f"SELECT count(*) FROM jobs WHERE name LIKE 'many-%' AND {what}")[0][0])

    until(lambda: counted("ended IS NOT NULL") == JOBS, PATIENCE, "all jobs in the ledger")
    assert counted("started IS NULL") == 0
    assert server.query("SELECT count(*) FROM jobs GROUP BY namespace, name HAVING count(*) > 1") == []
    for i in range(JOBS):
        bed.api.request("DELETE", f"{PODS}/many-{i:03}")
    bed.none_left()
