# SPDX-License-Identifier: Apache-2.0
"""Real operators on a real control plane, each with a job of its kinds.

    SL_OPERATORS=all tests/e2e/run kube/test_operators.py           # those that `make check` leaves out, too
    SL_OPERATORS="kuberay lws" tests/e2e/run kube/test_operators.py

Which there are says operators.modules, what their jobs look like jobkinds.py.
"""

import pytest

from jobkinds import JOBS
from kube import until
from operators import Operators, chosen
from sluice import say

TIME_LIMIT = 900
PATIENCE = 120  # seconds; each takes some three on a quiet machine
CHOSEN = chosen()
KINDS = [kind for kind, job in JOBS.items() if CHOSEN.issuperset(job.operators)]
cluster = operators = None


def logs():
    return operators.logs() if operators else ""


@pytest.fixture(scope="module", autouse=True)
def running(node_cluster):
    """An operator runs as long as its kinds are tested."""
    global cluster, operators
    cluster = node_cluster
    cluster.add_nodes(2)
    with Operators(cluster) as operators:
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_alone(kind):
    """a job runs and ends, and nothing of it is left"""
    job = JOBS[kind]
    operators.need(job)
    name = f"alone-{kind.lower()}"
    job.create(cluster, name, seconds=2)
    ran = job.ran(cluster, name, PATIENCE)
    assert len(ran) == job.pods, f"these ran: {sorted(ran)}"
    job.delete(cluster, name)
    until(lambda: not job.its_pods(cluster, name), PATIENCE, "no pods")
    say(f"# {kind}: {job.pods} pods ran, it ended, and they are gone")
