# SPDX-License-Identifier: Apache-2.0
"""Pools come, grow, shrink, fall silent and return, and MasterQueues are edited: on a control plane with
`sluice serve`, and on `sluice up`.

docs/masterqueue.md has the list of what kueue-nats is known to get wrong. Tests are named by its numbers:

 1  an edit loses all pools                         test_1_2_edited
 2  the same with a local flavor                    test_1_2_edited
 3  pools flap when poolTimeout is the period       test_3_period_of_the_timeout
 4  deaf for ever after an outage                   test_pooloutages.py: test_4_server_away, _moved, _in_lame_duck_mode
 5  a restart holds the queues                      test_pooloutages.py: test_5_killed
 6  one poisonous pool stops all                    test_badpools.py: test_6_poison, test_6_flood
 7  local flavors without quota or object           test_masterqueue.py: test_7_local_flavor
 8  templates that make invalid queues              test_masterqueue.py: test_8_templates
 9  queues that are missing, or not ours            test_badpools.py: test_9_missing, test_9_foreign, test_9_refused
10  a pool that two groups match                    test_10_counted_once
11  a write every two seconds                       test_11_no_writes
12  connections and flavors that stay               test_pooloutages.py: test_12_leaks, test_deleted
13  only four resources                             test_masterqueue.py: test_13_further_resources
14  more pools than a queue may have flavors        test_14_many_pools
15  passwords that everybody reads                  test_masterqueue.py: test_seed, test_connectors
16  the same borrower twice                         test_badpools.py: test_9_refused
17  what providers do not do                        docs/masterqueue.md
"""

import time

from installed import promptly
from kube import until
from natsd import Providers, payload
from pools import GRACE, PATIENCE, TIMEOUT, Watch, flavors, pool_of, took
from sluice import KUEUE, condition, say

TIME_LIMIT = 300
sluice = None


def test_grows(bed, nats, providers):
    """who waits for a pool that grew starts within a second"""
    providers.publish("grow.p", payload(pods=1))
    bed.master("grow", nats, "grow", {"grow-team": {}})
    bed.await_flavors("grow-team", "grow-g-p")
    bed.submit("grow-a", "grow-team")
    bed.await_admitted("grow-a", "grow-g-p")
    bed.submit("grow-b", "grow-team")
    until(lambda: condition(bed.workload("grow-b"), "QuotaReserved")["message"], PATIENCE, "why it waits")
    assert not bed.admitted("grow-b")
    time.sleep(1)  # a second change within a second waits for that
    began = time.monotonic()
    providers.publish("grow.p", payload(pods=2))
    bed.await_admitted("grow-b", "grow-g-p")
    took(began, "admitted")
    assert time.monotonic() - began < promptly(1)
    bed.remove("grow", jobs=["grow-a", "grow-b"])


def test_shrinks(bed, nats, providers):
    """what runs in a pool that shrank below it stays; the status shows it; who comes later waits"""
    providers.publish("shrink.p", payload(pods=3))
    bed.master("shrink", nats, "shrink", {"shrink-team": {}})
    bed.await_flavors("shrink-team", "shrink-g-p")
    names = [f"shrink-{i}" for i in range(3)]
    for name in names:
        bed.submit(name, "shrink-team")
    for name in names:
        bed.await_admitted(name, "shrink-g-p")
    with bed.undisturbed("shrink", "shrink-team"):
        providers.publish("shrink.p", payload(pods=1))
        until(lambda: bed.quota("shrink", "shrink-g-p") == "1", PATIENCE, "the smaller quota")
        until(lambda: pool_of(bed.state("shrink"), "p").get("message"), PATIENCE, "a word about it")
        pool = bed.await_pool("shrink", "p", state="Live", usage={"cpu": "300m", "pods": "3"})
        assert (pool["published"]["pods"], pool["quotas"]["pods"]) == ("1", "1"), pool
        bed.submit("shrink-late", "shrink-team")
        bed.finish(names[0], names[1])
        time.sleep(1)
        assert not bed.admitted("shrink-late")
        assert len(bed.running(names[2])) == 1
        bed.finish(names[2])
        bed.await_admitted("shrink-late", "shrink-g-p")
    bed.remove("shrink", jobs=["shrink-late"])


def test_silent(bed, nats, providers):
    """a silent pool leaves the queues after its time, its work runs on, and its flavor goes when that ends"""
    for pool in ("a", "b", "c"):
        providers.publish(f"silent.{pool}", payload(pods=1))
    bed.master("silent", nats, "silent", {"silent-team": {}})
    three = ["silent-g-a", "silent-g-b", "silent-g-c"]
    bed.await_flavors("silent-team", *three)
    for i in range(3):
        bed.submit(f"silent-{i}", "silent-team")
    where = {bed.await_admitted(f"silent-{i}"): f"silent-{i}" for i in range(3)}
    runs = where["silent-g-b"]
    with bed.undisturbed("silent", "silent-team"):
        began = time.monotonic()
        providers.silence("silent.b")
        bed.await_pool("silent", "b", state="Late")
        assert bed.has("silent", *three) and time.monotonic() - began >= TIMEOUT - 1
        bed.await_flavors("silent", "silent-g-a", "silent-g-c")
        bed.await_flavors("silent-team", "silent-g-a", "silent-g-c")
        took(began, "left")
        assert TIMEOUT + GRACE - 1 <= time.monotonic() - began < TIMEOUT + GRACE + promptly(2)
        assert bed.await_pool("silent", "b", state="Expired")["flavor"] == "silent-g-b"
        assert bed.state("silent")["status"]["livePools"] == 2
        assert bed.flavor("silent-g-b"), "work uses it"
        assert len(bed.running(runs)) == 1
        bed.finish(runs)
        bed.gone(f"{KUEUE}/resourceflavors/silent-g-b")
        providers.publish("silent.b", payload(pods=1))
        bed.await_flavors("silent", *three)  # where it was
        bed.await_flavors("silent-team", *three)
    providers.silence("silent.a", "silent.b", "silent.c")
    both = ("silent", "silent-team")
    until(lambda: all(bed.queue(q)["spec"]["stopPolicy"] == "Hold" for q in both), PATIENCE, "queues on hold")
    others = [name for name in where.values() if name != runs]
    assert all(len(bed.running(name)) == 1 for name in others)
    providers.publish("silent.a", payload(pods=1))
    bed.await_flavors("silent-team", "silent-g-a")
    bed.remove("silent", jobs=others)


def test_3_period_of_the_timeout(bed, nats):
    """a provider that publishes when its time is over stays, in its place, and the status warns"""
    timeout = 5  # so that two periods are longer than it and the grace together
    with Providers(nats, period=timeout + 0.1) as slow, Providers(nats) as quick:
        slow.publish("period.a", payload())
        quick.publish("period.b", payload())
        bed.master("period", nats, "period", {"period-team": {}}, timeout=timeout)
        bed.await_flavors("period", "period-g-a", "period-g-b")
        with Watch(bed.api, f"{KUEUE}/clusterqueues") as watch:
            watch.await_list()
            warned = until(lambda: pool_of(bed.state("period"), "a").get("message"), PATIENCE, "a warning")
            time.sleep(timeout + 1)
        say(f"# {warned}")
        mine = [q for q in watch.seen if q["metadata"]["name"] == "period"]
        assert all(flavors(q) == ["period-g-a", "period-g-b"] for q in mine), mine
        assert pool_of(bed.state("period"), "a")["periodSeconds"] == timeout
        assert not pool_of(bed.state("period"), "b").get("message")
    bed.remove("period")


def test_1_2_edited(bed, nats, providers):
    """a MasterQueue is edited while 200 pools publish, with a local flavor and without: never on hold"""
    bed.make_flavor("edited-local")
    local = {"name": "edited-local", "localFlavor": {}, "nominalQuota": {"pods": 5}, "canLendTo": []}
    expected = [f"edited-g-p{i:03}" for i in range(60)]  # as many as there is place for, and one local one
    for i in range(200):
        providers.publish(f"edited.p{i:03}", payload(labels=["site=here"], taints=["a=b:NoSchedule"]))
    bed.master("edited", nats, "edited", {"edited-team": {"pods": 3}}, poolRegExp="^p0[0-5]")
    bed.await_flavors("edited-team", *expected)
    with bed.undisturbed("edited", "edited-team"):
        for turn in range(6):

            def change(groups, turn=turn):
                groups[0]["nominalQuota"] = {"pods": 3 + turn}
                groups[0]["natsFlavor"]["poolTimeout"] = 30 + turn
                groups[1:] = [local] if turn % 2 else []

            bed.edit("edited", change)
            bed.await_flavors("edited", *expected, *(["edited-local"] if turn % 2 else []))
            until(
                lambda turn=turn: bed.quota("edited", "edited-g-p000") == str(min(10, 3 + turn)),
                PATIENCE,
                "the edited quota",
            )
    taints = bed.flavor("edited-g-p003")["spec"]["nodeTaints"]
    assert len(taints) == 2, taints
    bed.remove("edited")


def test_10_counted_once(bed, nats, providers):
    """a pool that two groups match belongs to the first; of two MasterQueues one has it"""
    providers.publish("once.p", payload())
    providers.publish("once.only-first", payload())
    source = {"natsConnector": nats.connector, "natsSubject": "once", "poolTimeout": TIMEOUT, "poolRegExp": "^p$"}
    second = {"name": "h", "natsFlavor": source, "canLendTo": [{"queue": "once-team"}]}
    bed.master("once", nats, "once", {"once-team": {}}, more=[second])
    bed.await_flavors("once", "once-g-only-first", "once-g-p")
    bed.await_flavors("once-team", "once-g-only-first", "once-g-p")
    assert bed.flavor("once-h-p") is None
    bed.master("once-more", nats, "once", {"once-more-team": {}})
    for pool in ("p", "only-first"):
        said = bed.await_pool("once-more", pool, state="Refused")["message"]
        assert "once" in said, said
    assert flavors(bed.queue("once-more")) != ["once-more-g-p"]
    bed.remove("once")
    bed.await_flavors("once-more", "once-more-g-only-first", "once-more-g-p")  # the first is gone
    bed.remove("once-more")


def test_11_no_writes(bed, nats, providers):
    """nothing is written while nothing changes, however often pools publish and however they spell it"""
    providers.publish("quiet.p", payload(cpu="2", memory="1Gi"))
    bed.master("quiet", nats, "quiet", {"quiet-team": {"cpu": "1000m"}}, limit={"cpu": "4000m"})
    bed.await_flavors("quiet-team", "quiet-g-p")
    paths = [f"{KUEUE}/clusterqueues/quiet", f"{KUEUE}/clusterqueues/quiet-team", f"{KUEUE}/resourceflavors/quiet-g-p"]
    time.sleep(2)
    before = bed.versions(*paths)
    for turn in range(8):
        providers.publish("quiet.p", payload(cpu=["2", "2000m"][turn % 2], memory=["1Gi", "1024Mi"][turn % 2]))
        time.sleep(0.4)
    assert bed.versions(*paths) == before
    bed.remove("quiet")


def test_14_many_pools(bed, nats, providers):
    """70 pools: 64 flavors, which is what a queue may have, in the order of their names; the rest is in the status"""
    for i in range(70):
        providers.publish(f"many.p{i:02}", payload())
    bed.master("many", nats, "many", {"many-team": {}})

    def used():
        queue = bed.queue("many")
        names = flavors(queue) if queue else []
        return names if len(names) == 64 and bed.has("many-team", *names) else None

    first = until(used, PATIENCE, "64 flavors")
    assert first == sorted(first)
    bed.await_pool("many", "p69", state="Live")
    status = bed.state("many")["status"]
    assert (status["poolCount"], status["livePools"], len(status["pools"])) == (70, 70, 70), status["conditions"]
    said = bed.await_condition("many", "Ready", "False")
    assert "64" in said["message"] and "6 live pools" in said["message"], said
    bed.submit("many-a", "many-team")
    bed.await_admitted("many-a")
    lost = first[-1]
    providers.silence("many." + lost.rpartition("-")[2])
    after = until(lambda: lost not in (used() or [lost]) and used(), PATIENCE, "another one in its place")
    assert len(set(after) - set(first)) == 1, (first, after)
    bed.remove("many", jobs=["many-a"])
