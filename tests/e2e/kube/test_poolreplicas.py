# SPDX-License-Identifier: Apache-2.0
"""Two replicas of `sluice serve`, of which one leads: when that is killed the other takes over what pools publish. No
queue is held, no work is evicted, and ClusterQueues and ResourceFlavors are not written.
"""

import time

import pytest

import pools
from kube import until
from natsd import payload
from pools import PATIENCE, Bed, Watch, pool_of, took
from sluice import KUEUE, Sluice, install_kinds, say

TIME_LIMIT = 120
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io"
replicas = []


class Replicated(Bed):
    """No Service points to whoever lives, so nobody reviews: what is written here is complete."""

    def _start(self):
        install_kinds(self.api)
        self._namespace("kueue-system")
        for r in replicas:
            r.__enter__()
        self._virtual_node()

    def __exit__(self, *_):
        for r in replicas:
            r.kill9()

    def leader(self):
        """The replica that leads, by its metrics of queues, and its name in the lease."""
        leads = [r for r in replicas if r.alive() and 'replica_role="leader"' in "".join(r.metrics())]
        # After the metrics: a lease that was read before may name the one before.
        name = ((self.get(LEASE) or {}).get("spec") or {}).get("holderIdentity", "")
        return (leads[0], name) if len(leads) == 1 and name else None


@pytest.fixture(scope="module")
def bed(node_cluster):
    replicas[:] = [Sluice(node_cluster, install=False, webhooks=False, elect=True) for _ in range(2)]
    with Replicated("serve", node_cluster, None) as bed:
        yield bed


def logs():
    return "\n".join(f"--- sluice {r.number}, the last that it logged\n{r.log(20)}" for r in replicas)


def generations(bed, *paths):
    return {path: bed.api.get(path)["metadata"]["generation"] for path in paths}


def test_leader_is_killed(bed, nats, providers):
    """while pools publish: the other one has them all, with what they published last and publish now"""
    for pool in ("a", "b"):
        providers.publish(f"led.{pool}", payload(pods=2))
    bed.master("led", nats, "led", {"led-team": {}})
    both = ["led-g-a", "led-g-b"]
    bed.await_flavors("led-team", *both)
    for pool in ("a", "b"):
        bed.await_pool("led", pool, state="Live")
    first, name = until(bed.leader, PATIENCE, "a leader")
    for i in range(2):
        bed.submit(f"led-{i}", "led-team")
        bed.await_admitted(f"led-{i}")
        bed.await_running(f"led-{i}")
    paths = [f"{KUEUE}/clusterqueues/led", f"{KUEUE}/clusterqueues/led-team"]
    paths += [f"{KUEUE}/resourceflavors/{flavor}" for flavor in both]
    before = generations(bed, *paths)
    flavors_before = bed.versions(*paths[2:])
    with bed.undisturbed("led", "led-team"), Watch(bed.api, pools.MASTERS) as watch:
        watch.await_list()
        began = time.monotonic()
        first.kill9()
        second, other = until(bed.leader, PATIENCE, "another leader")
        took(began, f"{other} leads after {name}")
        assert second is not first and other != name
        providers.publish("led.b", payload(pods=2, labels=["heard=yes"]))  # by nobody before
        until(lambda: "heard" in bed.flavor("led-g-b")["metadata"].get("labels", {}), PATIENCE, "what is published")
        took(began, "heard")
        bed.await_condition("led", "NatsConnected", "True")
        assert generations(bed, *paths) == before
        assert bed.versions(paths[2]) == flavors_before[:1]
        assert all(len(bed.running(f"led-{i}")) == 1 for i in range(2))
        bed.submit("led-2", "led-team")
        bed.await_admitted("led-2")
    states = {pool_of(m, pool).get("state") for m in watch.seen for pool in ("a", "b")}
    say(f"# states of both pools meanwhile: {states}")
    assert states <= {"Live", "Late"}, states
    assert generations(bed, *paths) == before
    first.start()
    bed.remove("led", jobs=["led-0", "led-1", "led-2"])
