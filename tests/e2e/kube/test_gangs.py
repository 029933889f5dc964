# SPDX-License-Identifier: Apache-2.0
"""Gangs through one queue with resizes, deletions and kills of Sluice (gangs.py): a few of what bench/kinds/run does
with hundreds, and that a history with a fault in it is told from one without.
"""

import pytest

from gangs import Pod, Run, Workload, faults
from sluice import Sluice, say

COUNT, SIZE, HELD, KILLS = 10, 4, 4, 2
TIME_LIMIT = 150
cluster = sluice = None


@pytest.fixture(scope="module")
def queueing(node_cluster):
    global cluster, sluice
    cluster = node_cluster
    cluster.add_nodes(4, cpu="32")
    with Sluice(cluster, install="again") as sluice:
        yield


def test_miniclusters(queueing):
    """every gang is whole or gone, and nothing of it stays"""
    run = Run(cluster, sluice, "minicluster", COUNT, SIZE, HELD, KILLS)
    run.go()
    say(f"# {run.seconds:.1f} s, {run.writes.total() / COUNT:.0f} writes for each")


# ---- histories ----


def workload(at, name="a", count=2, admitted=True, finished=False, gone=False, uid=None):
    held = count if admitted else 0
    return Workload(at, at, uid or f"w-{name}", name, held, count, admitted, finished, gone)


def pod(at, index, name="a", live=True, done=False):
    return Pod(at, at, f"p-{name}-{index}", name, index, live, done)


GOOD = [
    workload(1, admitted=False),
    workload(2),
    pod(3, 0),
    pod(4, 1),
    pod(20, 0, live=False, done=True),
    pod(21, 1, live=False, done=True),
    workload(22, admitted=False, finished=True),
]


def test_whole():
    """a gang that comes and ends, and one that grows by a slice"""
    assert faults(GOOD, quota=2, grace=5) == ([], 2)
    grown = [*GOOD[:4], workload(5, count=3, uid="slice"), workload(6, admitted=False, finished=True), pod(7, 2)]
    assert faults(grown, quota=3, grace=5) == ([], 2)


@pytest.mark.parametrize(
    "history, what",
    [
        ([pod(1, 0), *GOOD[1:]], "pod 0 came before any admission"),
        ([e for e in GOOD if e.version != 4], "1 pods of 2 for 19.0 s"),
        (GOOD[:2], "in the end 0 pods of 2"),
        (
            [*GOOD[:4], workload(5, admitted=False), pod(6, 0, live=False), pod(19, 1, live=False)],
            "1 pods of 0 for 14.0 s",
        ),
        ([*GOOD[:4], workload(5, gone=True, admitted=False)], "in the end 2 pods of 0"),
        ([*GOOD[:4], pod(5, 2), pod(15, 2, live=False)], "3 pods of 2 for 10.0 s"),
        ([*GOOD[:4], workload(5, "b", count=1), pod(6, 0, "b")], "3 cpus in use when b came, of 2"),
    ],
)
def test_in_part(history, what):
    """what may never be is found"""
    found, _ = faults(history, quota=2, grace=5)
    assert any(what in text for text in found), found
