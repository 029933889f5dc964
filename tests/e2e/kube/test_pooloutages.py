# SPDX-License-Identifier: Apache-2.0
"""NATS servers and Sluice are killed, and MasterQueues deleted: no queue is held that need not be, no work is evicted,
and nothing is left. test_pools.py says what the numbers in the names of tests are.
"""

import time

import pytest

import natsd
from kube import until
from natsd import Providers, Server, payload
from pools import GRACE, JOBS, MASTERS, PATIENCE, TIMEOUT, Watch, pool_of, took
from sluice import KUEUE, holds

TIME_LIMIT = 240
sluice = None


@pytest.fixture
def own():
    """One that a test may kill."""
    with Server() as own:
        yield own


def test_4_server_away(bed, own):
    """the NATS server is killed and comes back: no queue is held and nothing is evicted"""
    with Providers(own) as providers:
        providers.publish("away.p", payload())
        bed.master("away", own, "away", {"away-team": {}})
        bed.await_flavors("away-team", "away-g-p")
        bed.submit("away-a", "away-team")
        bed.await_admitted("away-a")
        with bed.undisturbed("away", "away-team"):
            own.kill9()
            assert own.address in bed.await_condition("away", "NatsConnected", "False")["message"]
            time.sleep(TIMEOUT + GRACE + 3)  # longer than a pool may be silent
            assert bed.has("away", "away-g-p")
            bed.submit("away-b", "away-team")  # what is known still holds
            bed.await_admitted("away-b")
            own.start()
            bed.await_condition("away", "NatsConnected", "True")
            bed.await_pool("away", "p", state="Live")
            providers.publish("away.p", payload(pods=7))
            until(lambda: bed.quota("away", "away-g-p") == "7", PATIENCE, "what is published now")
        events = [e for e in bed.api.get("/api/v1/events")["items"] if e["involvedObject"].get("name") == "away"]
        warned = [(e["reason"], e.get("count") or 1) for e in events if e["type"] == "Warning"]
        assert warned and len(dict(warned)) == len(warned) and {n for _, n in warned} == {1}, warned  # each once
    bed.remove("away", jobs=["away-a", "away-b"])


def test_4_server_moved(bed):
    """of a cluster of three the one that is connected to is killed; the others were announced by it"""
    with natsd.servers(3) as three, Providers(three[2]) as providers:
        providers.publish("moved.p", payload())
        bed.master("moved", three[0], "moved", {"moved-team": {}})  # only the first is named
        bed.await_flavors("moved-team", "moved-g-p")
        bed.submit("moved-a", "moved-team")
        bed.await_admitted("moved-a")
        assert three[0].clients() == 1
        with bed.undisturbed("moved", "moved-team"):
            three[0].kill9()
            until(lambda: three[1].clients() + three[2].clients() == 1, PATIENCE, "a connection to another")
            bed.await_condition("moved", "NatsConnected", "True")
            providers.publish("moved.p", payload(pods=7))
            until(lambda: bed.quota("moved", "moved-g-p") == "7", PATIENCE, "what is published now")
            time.sleep(TIMEOUT + GRACE)
            assert len(bed.running("moved-a")) == 1
        bed.remove("moved", jobs=["moved-a"])


def test_4_server_in_lame_duck_mode(bed):
    """of a cluster of three the one that is connected to asks its clients to leave: the connection moves before it is
    closed; pools stay live, no queue is held and nothing is written but the status"""
    with natsd.servers(3) as three, Providers(three[2]) as providers:
        providers.publish("duck.p", payload())
        bed.master("duck", three[0], "duck", {"duck-team": {}})
        bed.await_flavors("duck-team", "duck-g-p")
        bed.await_pool("duck", "p", state="Live")
        paths = [f"{KUEUE}/clusterqueues/duck", f"{KUEUE}/clusterqueues/duck-team", f"{KUEUE}/resourceflavors/duck-g-p"]
        until(lambda: holds(bed.queue("duck-team"), "Active"), PATIENCE, "an active queue")
        before = bed.versions(*paths)
        with bed.undisturbed("duck", "duck-team"), Watch(bed.api, MASTERS) as watch:
            watch.await_list()
            assert three[0].clients() == 1
            began = time.monotonic()
            three[0].lame_duck()
            until(lambda: three[1].clients() + three[2].clients() == 1, PATIENCE, "a connection to another")
            took(began, "moved")
            # The server notices later that the connection is closed, and closes none itself before 10 s.
            until(lambda: three[0].clients() == 0, 8, "the end of the old connection")
            assert three[0].process.poll() is None
            other = next(one for one in three if one.clients())
            bed.await_condition("duck", "NatsConnected", "True", words=other.address)
            assert bed.versions(*paths) == before
            providers.publish("duck.p", payload(pods=7))  # it is heard there
            until(lambda: bed.quota("duck", "duck-g-p") == "7", PATIENCE, "what is published now")
        states = {pool_of(m, "p").get("state") for m in watch.seen if m["metadata"]["name"] == "duck"}
        assert states == {"Live"}, states
        bed.remove("duck")


def test_5_killed(bed, nats, providers):
    """Sluice is killed: when it is back no pool is missing, also while the providers have not published yet"""
    providers.publish("killed.p", payload(pods=5))
    bed.master("killed", nats, "killed", {"killed-team": {}}, timeout=30)
    bed.await_flavors("killed-team", "killed-g-p")
    bed.submit("killed-a", "killed-team")
    bed.await_running("killed-a")
    with bed.undisturbed("killed", "killed-team"):
        providers.silence("killed.p")  # a provider that publishes every 30 s
        bed.restart()
        bed.await_condition("killed", "NatsConnected", "True")
        time.sleep(3)
        assert bed.has("killed", "killed-g-p")
        assert bed.quota("killed", "killed-g-p") == "5"
        bed.submit("killed-b", "killed-team")
        bed.await_admitted("killed-b", "killed-g-p")
        assert pool_of(bed.state("killed"), "p")["published"]["pods"] == "5"
        assert bed.get(f"{JOBS}/killed-a")["status"].get("failed", 0) == 0
    bed.remove("killed", jobs=["killed-a", "killed-b"])


def test_deleted(bed, nats, providers):
    """a MasterQueue is deleted: its queues and flavors go, its work ends in peace; made again, it works"""
    providers.publish("deleted.p", payload())
    made = bed.master("deleted", nats, "deleted", {"deleted-team": {}})
    for turn in range(2):
        if turn:
            bed.create(MASTERS, {**made, "metadata": {"name": "deleted"}})
        bed.await_flavors("deleted-team", "deleted-g-p")
        name = f"deleted-{turn}"
        bed.submit(name, "deleted-team", sleep=4)
        bed.await_running(name)
        with bed.undisturbed():
            bed.delete(f"{MASTERS}/deleted")
            bed.gone(f"{MASTERS}/deleted")
            until(lambda name=name: bed.complete(name), PATIENCE, "the end of the job")
            bed.gone(*(f"{KUEUE}/clusterqueues/{queue}" for queue in ("deleted", "deleted-team")))
            bed.gone(f"{KUEUE}/resourceflavors/deleted-g-p")
        bed.delete(f"{JOBS}/{name}")


def test_12_leaks(bed, own):
    """one connection for all MasterQueues of a server, edited or not; none after the last; no flavor of a group that
    was removed"""
    with Providers(own) as providers:
        providers.publish("leaks.p", payload())
        for name in ("leaks", "leaks-too"):
            bed.master(name, own, "leaks" if name == "leaks" else "leaks-too", {f"{name}-team": {}})
        providers.publish("leaks-too.p", payload())
        bed.await_flavors("leaks", "leaks-g-p")
        bed.await_flavors("leaks-too", "leaks-too-g-p")
        assert own.clients() == 1
        for turn in range(5):
            bed.edit("leaks", lambda groups: groups[0]["natsFlavor"].update(poolTimeout=20 + turn))
        bed.edit("leaks", lambda groups: groups[0].update(name="renamed"))
        bed.await_flavors("leaks", "leaks-renamed-p")
        bed.gone(f"{KUEUE}/resourceflavors/leaks-g-p")
        assert own.clients() == 1
        bed.remove("leaks")
        assert own.clients() == 1
        bed.remove("leaks-too")
        until(lambda: own.clients() == 0, PATIENCE, "no connection")
