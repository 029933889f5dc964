# SPDX-License-Identifier: Apache-2.0
"""Two replicas: when the leader is killed the other one goes on within 6 s; when it is asked to end, at once."""

import http.client
import json
import threading
import time

import pytest

from installed import promptly
from kube import until
from sluice import KUEUE, Api, Sluice, Watch, install_kinds, say, small_queue, small_workload, steps

NAMESPACE = "default"
LIMIT = 6  # seconds without decisions
TIME_LIMIT = 200
cluster = watch = None
replicas = []
made = {}  # name: when its creation was answered
ending, made_all = threading.Event(), threading.Event()
took = []


def creator():
    api, n = Api(cluster), 0
    while not ending.wait(0.05):
        n += 1
        api.patiently("POST", f"{KUEUE}/namespaces/{NAMESPACE}/workloads", small_workload(f"w-{n:05}", "main"))
        made[f"w-{n:05}"] = time.monotonic()
    made_all.set()


def holder():
    lease = cluster._try("/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io")
    return (lease or {}).get("spec", {}).get("holderIdentity", "")


def leader():
    """The replica that says that it leads, by its metrics."""
    for r in replicas:
        if r.alive():
            try:
                if any('replica_role="leader"' in series for series in r.metrics()):
                    return r
            except (OSError, http.client.HTTPException):
                pass
    return None


def flows():
    """Until workloads are admitted as they come."""
    count = len(watch.admitted)
    until(lambda: len(watch.admitted) > count + 5, what="admissions")


def silence(act):
    """Seconds from act() until something is admitted that did not exist then."""
    before = time.monotonic()
    act()
    first = until(
        lambda: [t for name, t in list(watch.admitted.items()) if made.get(name, 0) > before],
        what="an admission by the other one",
    )
    return min(first) - before


@pytest.fixture(scope="module", autouse=True)
def replicated(api_cluster):
    """An API server, two replicas that want to lead, and somebody who makes workloads."""
    global cluster, watch
    cluster = api_cluster
    install_kinds(cluster)
    cluster.kubectl("create", "namespace", "kueue-system")
    small_queue(cluster, 1000000)
    replicas[:] = [Sluice(cluster, install=False, elect=True, controllers="core,scheduler") for _ in range(2)]
    watch = Watch(cluster, NAMESPACE)
    makes = threading.Thread(target=creator, daemon=True)
    try:
        for r in replicas:
            r.prepare()
            r.start()
            say(f"# replica {r.number} is ready after {r.ready_after:.2f} s")
        with watch:
            makes.start()
            until(leader, what="a leader")
            flows()
            say(f"# replica {leader().number} leads: {holder()}")
            yield
    finally:
        ending.set()
        for r in replicas:
            r.kill9()


def test_failover():
    """three times kill -9 of the leader, once SIGTERM"""
    steps(kill9_once, kill9_twice, kill9_thrice, sigterm, none_twice)


def fail_over(how, act, limit):
    first = until(leader, what="a leader")
    was = holder()
    flows()
    say(f"# {how} of replica {first.number}, {was}")
    seconds = silence(lambda: act(first))
    second = next(r for r in replicas if r is not first)
    until(lambda: holder() not in ("", was), what="a new holder of the lease")
    say(f"# replica {second.number} admits after {seconds:.2f} s: {holder()}")
    took.append((how, seconds))
    if not first.alive():
        first.start()
    assert seconds < promptly(limit), f"{seconds:.2f} s without decisions"


def kill9_once():
    """kill -9 of the leader"""
    fail_over("kill -9", Sluice.kill9, LIMIT)


def kill9_twice():
    """kill -9 of the other one"""
    fail_over("kill -9", Sluice.kill9, LIMIT)


def kill9_thrice():
    """and once more"""
    fail_over("kill -9", Sluice.kill9, LIMIT)


def sigterm():
    """SIGTERM: the lease is handed over"""
    fail_over("SIGTERM", lambda r: r.process.terminate(), LIMIT)
    slow = min(s for how, s in took if how == "kill -9")
    quick = took[-1][1]
    assert quick < slow, f"{quick:.2f} s, and {slow:.2f} s after kill -9"


def none_twice():
    """all that was made is admitted, once"""
    ending.set()
    until(lambda: made_all.is_set(), what="the end of the creator")
    until(lambda: len(watch.admitted) == len(made), what="the admission of all workloads")
    twice = [n for n, times in watch.reservations.items() if times != 1]
    say(f"# {len(made)} workloads, all admitted once")
    assert not twice and not watch.faults, (twice, watch.faults)
    for how, seconds in took:
        say(json.dumps({"name": "failover/" + how.replace(" ", ""), "value": round(seconds, 3), "unit": "s"}))


def logs():
    return "\n".join(f"--- sluice {r.number}, the last that it logged\n{r.log(20)}" for r in replicas)
