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
from sluice import Sluice, condition, holds, say, small_queue

TIME_LIMIT = 900
PATIENCE = 120  # seconds; each takes some three on a quiet machine
CHOSEN = chosen()
KINDS = [kind for kind, job in JOBS.items() if CHOSEN.issuperset(job.operators)]
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
CLASSES = "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses"
CONFIG = "miniCluster: {controller: FluxOperator}"  # the real one makes the objects
cluster = operators = sluice = None


def logs():
    return operators.logs() if operators else ""


@pytest.fixture(scope="module", autouse=True)
def running(node_cluster):
    """An operator runs as long as its kinds are tested."""
    global cluster, operators, sluice
    cluster = node_cluster
    cluster.add_nodes(2)
    frameworks = {"batch/job", "pod", *(JOBS[kind].framework for kind in KINDS)}
    with Operators(cluster) as operators, Sluice(cluster, frameworks=sorted(frameworks), config=CONFIG) as sluice:
        for name, value in (("low", 1), ("high", 10)):
            thing = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": value}
            cluster.request("POST", CLASSES, {**thing, "metadata": {"name": name}})
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_alone(kind):
    """a job runs and ends, and nothing of it is left"""
    job = JOBS[kind]
    operators.need(job)
    name = f"alone-{kind.lower()}"
    job.create(cluster, name, seconds=2)
    [ran] = job.ran(cluster, PATIENCE, name)
    assert len(ran) == job.pods, f"these ran: {sorted(ran)}"
    job.delete(cluster, name)
    until(lambda: not job.its_pods(cluster, name), PATIENCE, "no pods")
    say(f"# {kind}: {job.pods} pods ran, it ended, and they are gone")


def workload(name):
    """Of a job: its name has that of the job in it."""
    found = [w for w in cluster.get(WORKLOADS)["items"] if f"-{name}-" in w["metadata"]["name"]]
    assert len(found) <= 1, [w["metadata"]["name"] for w in found]
    return found[0] if found else {}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not JOBS[kind].by_job])  # see test_minicluster_operator
def test_queued(kind):
    """one waits for another, one of more importance stops it, and it comes back and ends"""
    job, queue = JOBS[kind], f"queue-{kind.lower()}"
    operators.need(job)
    small_queue(cluster, job.pods, name=queue, preempting=True)
    one, two, three = (f"{word}-{kind.lower()}" for word in ("first", "second", "third"))

    def stays(name):
        return job.running(cluster, name) if job.gated else job.its_pods(cluster, name)

    job.create(cluster, one, seconds=12, queue=queue, priority="low")
    until(lambda: len(job.running(cluster, one)) == job.pods, PATIENCE, f"the pods of {one}")
    assert holds(workload(one), "Admitted")
    job.create(cluster, two, seconds=6, queue=queue, priority="low")
    until(lambda: condition(workload(two), "QuotaReserved")["reason"] == "Pending", PATIENCE, f"{two} to wait")
    assert not stays(two), f"{two} was not admitted, and has pods"
    job.create(cluster, three, seconds=6, queue=queue, priority="high")
    until(lambda: holds(workload(one), "Preempted") and not stays(one), PATIENCE, f"{one} to be stopped")
    assert [len(pods) for pods in job.ran(cluster, PATIENCE, three)] == [job.pods]
    job.delete(cluster, three)
    assert [len(pods) for pods in job.ran(cluster, 2 * PATIENCE, one, two)] == [job.pods] * 2
    for name in (one, two):
        if not job.gated:
            until(lambda: holds(workload(name), "Finished"), PATIENCE, f"the Workload of {name} to be finished")
        job.delete(cluster, name)
    for name in (one, two, three):
        until(lambda: not workload(name) and not job.its_pods(cluster, name), PATIENCE, f"nothing left of {name}")
