# SPDX-License-Identifier: Apache-2.0
"""Messages that are none, queues that somebody else made, and MasterQueues that cannot work: said once, and nobody
else is disturbed. test_pools.py says what the numbers in the names of tests are.
"""

import json
import time

import pytest

from kube import Failure, until
from natsd import Connection, payload
from pools import MASTERS, PATIENCE, flavors, pool_of
from sluice import KUEUE, holds, say

TIME_LIMIT = 200
sluice = None


def queue_of_somebody(name):
    resources = [{"name": "cpu", "nominalQuota": 1}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "somebodys", "resources": resources}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": groups}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize("which", ["master", "borrower", "flavor"])
def test_9_foreign(bed, nats, providers, which):
    """a queue or flavor of the name that somebody else made is left alone, and said; when it goes, ours comes"""
    master, team = f"foreign-{which}", f"foreign-{which}-team"
    providers.publish(f"{master}.p", payload())
    providers.publish(f"{master}.q", payload())
    if which == "flavor":
        path = f"{KUEUE}/resourceflavors/{master}-g-p"
        bed.make_flavor(f"{master}-g-p", mine="yes")
    else:
        path = f"{KUEUE}/clusterqueues/{master if which == 'master' else team}"
        bed.create(f"{KUEUE}/clusterqueues", queue_of_somebody(path.rpartition("/")[2]))
    before = bed.api.get(path)["spec"]
    bed.master(master, nats, master, {team: {}})
    if which == "flavor":  # the other pool is not disturbed
        bed.await_flavors(team, f"{master}-g-q")
        said = until(lambda: pool_of(bed.state(master), "p").get("message"), PATIENCE, "a word about it")
    else:
        said = bed.await_condition(master, "Ready", "False", path.rpartition("/")[2])["message"]
    assert path.rpartition("/")[2] in said, said
    time.sleep(2)
    assert bed.api.get(path)["spec"] == before
    assert "ownerReferences" not in bed.api.get(path)["metadata"]
    bed.delete(path)
    bed.await_condition(master, "Ready", "True")
    bed.await_flavors(master, f"{master}-g-p", f"{master}-g-q")
    bed.await_flavors(team, f"{master}-g-p", f"{master}-g-q")
    bed.remove(master)


def test_9_missing(bed, nats, providers):
    """queues and flavors that somebody deleted are made again"""
    providers.publish("missing.p", payload())
    bed.master("missing", nats, "missing", {"missing-team": {}})
    paths = [f"{KUEUE}/clusterqueues/missing", f"{KUEUE}/clusterqueues/missing-team"]
    bed.await_flavors("missing-team", "missing-g-p")
    for path in paths:
        was = bed.api.get(path)["metadata"]["uid"]
        bed.delete(path)
        until(
            lambda: (bed.get(path) or {"metadata": {"uid": was}})["metadata"]["uid"] != was, PATIENCE, f"a new {path}"
        )
        bed.await_flavors(path.rpartition("/")[2], "missing-g-p")
    path = f"{KUEUE}/clusterqueues/missing"
    bed.patch(path, {"spec": {"stopPolicy": "Hold"}})  # changed by hand: as the MasterQueue has it
    bed.await_flavors("missing", "missing-g-p")
    bed.remove("missing")


@pytest.mark.parametrize(
    "what, words",
    [
        (lambda g: g[0]["canLendTo"].append({"queue": "refused"}), "refused"),
        (lambda g: g[0]["canLendTo"].append({"queue": "refused-team"}), "refused-team"),
        (lambda g: g[0]["natsFlavor"].update(pools=["a"]), "pool"),
        (lambda g: g[0]["natsFlavor"].update(poolRegExp="("), "poolRegExp"),
        (lambda g: g[0].update(localFlavor={}), "localFlavor"),
        (lambda g: g[0].update(name="Not_A_Name"), "name"),
    ],
    ids=["master", "twice", "pools", "pattern", "local", "name"],
)
def test_9_refused(bed, nats, what, words):
    """what cannot work is refused when it is written, with the path"""
    groups = [
        {
            "name": "g",
            "natsFlavor": {"natsConnector": nats.connector, "natsSubject": "refused", "poolRegExp": ".*"},
            "canLendTo": [{"queue": "refused-team"}],
        }
    ]
    what(groups)
    spec = {"template": {"cohort": "refused"}, "flavors": groups}
    thing = {"apiVersion": "vk.io/v1", "kind": "MasterQueue", "metadata": {"name": "refused"}, "spec": spec}
    with pytest.raises(Failure) as refused:
        bed.create(MASTERS, thing)
    assert refused.value.status in (400, 403, 422), refused.value
    assert words in str(refused.value) and "spec.flavors" in str(refused.value), refused.value


# ---- poison ----

DEEP = b'{"quotas":' + b"[" * 5000 + b"]" * 5000 + b"}"
POISON = {
    "no JSON": b"\x00\xff not JSON",
    "nothing": b"",
    "huge": b'{"quotas":{"cpu":"' + b"9" * (100 << 10) + b'"}}',
    "deep": DEEP,
    "a list": b"[]",
    "wrong types": b'{"quotas":[1,2],"labels":{},"taints":7}',
    "negative": b'{"quotas":{"cpu":"-1","pods":-3}}',
    "NaN": b'{"quotas":{"cpu":NaN}}',
    "no number": b'{"quotas":{"cpu":"lots","pods":{}}}',
    "twice": b'{"quotas":{"cpu":"1","cpu":"2"}}',
    "many taints": json.dumps(payload(taints=[f"k{i}=v:NoSchedule" for i in range(20)])).encode(),
}
ODD = {  # taken, without what Kubernetes does not take
    "labels null": b'{"quotas":{"cpu":"1"},"labels":null,"taints":null}',
    "no value": b'{"quotas":{"cpu":"1"},"labels":["bare","=x","a b=c"]}',
    "odd effect": b'{"quotas":{"cpu":"1"},"taints":["a=b:Sometimes","c=d","e"]}',
    "flat": b'{"cpu":"1","memory":"1Gi","pods":1,"nvidia.com/gpu":0}',  # as providers were before 2025
}


def test_6_poison(bed, nats, providers):
    """messages and names of pools of every bad kind: said, and nobody else is disturbed"""
    providers.publish("poison.good", payload(pods=4))
    bed.master("poison", nats, "poison", {"poison-team": {}})
    bed.await_flavors("poison-team", "poison-g-good")
    before = bed.versions(f"{KUEUE}/resourceflavors/poison-g-good")
    with bed.undisturbed("poison", "poison-team"):
        for i, text in enumerate(POISON.values()):
            providers.publish(f"poison.bad-{i}", text)
        for i, text in enumerate(ODD.values()):
            providers.publish(f"poison.odd-{i}", text)
        # No name of a flavor; no value of a label, which that of the toleration has to be.
        for name in ("Upper", "under_score", "x" * 250, "-dash", "y" * 64):
            providers.publish(f"poison.{name}", payload())
        bed.await_flavors("poison", "poison-g-good", *(f"poison-g-odd-{i}" for i in range(len(ODD))))
        providers.publish("poison.good", payload(pods=6))
        until(lambda: bed.quota("poison", "poison-g-good") == "6", PATIENCE, "what the good one publishes")
        for i, why in enumerate(POISON):
            pool = bed.await_pool("poison", f"bad-{i}", state="Refused")
            assert pool["message"], (why, pool)
            say(f"# {why}: {pool['message']}")
        bed.submit("poison-a", "poison-team")
        bed.await_admitted("poison-a")
        # One that was good and says nonsense now keeps what it had, until its time is over.
        providers.publish("poison.odd-3", b"nonsense")
        time.sleep(1)
        assert bed.has("poison", "poison-g-good", *(f"poison-g-odd-{i}" for i in range(len(ODD))))
    assert bed.versions(f"{KUEUE}/resourceflavors/poison-g-good") != before  # the annotation has the last payload
    assert len(bed.flavor("poison-g-odd-2")["spec"]["nodeTaints"]) == 1  # that of the virtual node
    assert holds(bed.queue("poison"), "Active")
    bed.remove("poison", jobs=["poison-a"])


def test_6_flood(bed, nats, providers):
    """10,000 pools from one publisher: counted, and those that were there before stay"""
    for pool in ("a", "z"):
        providers.publish(f"flood.{pool}", payload())
    bed.master("flood", nats, "flood", {"flood-team": {}}, timeout=30)
    bed.await_flavors("flood-team", "flood-g-a", "flood-g-z")
    bed.submit("flood-a", "flood-team")
    flavor = bed.await_admitted("flood-a")
    connection = Connection(nats)
    text = json.dumps(payload(cpu="1", pods=1)).encode()
    for i in range(10000):
        connection.send(f"flood.b{i}", text)
    connection.flush()
    connection.close()
    until(lambda: bed.state("flood")["status"].get("ignoredPools", 0) >= 1000, PATIENCE, "their count")
    status = bed.state("flood")["status"]
    assert len(status["pools"]) <= 256, len(status["pools"])
    names = flavors(bed.queue("flood"))
    assert {"flood-g-a", "flood-g-z"} <= set(names) and len(names) <= 64, names
    assert len(bed.running("flood-a")) == 1 and bed.admitted("flood-a") == flavor
    providers.publish("flood.a", payload(pods=3))
    until(lambda: bed.quota("flood", "flood-g-a") == "3", PATIENCE, "what is published now")
    bed.remove("flood", jobs=["flood-a"])
