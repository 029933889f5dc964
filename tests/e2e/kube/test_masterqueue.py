# SPDX-License-Identifier: Apache-2.0
"""MasterQueues as docs/masterqueue.md walks through them, with real NATS servers: on a control plane where Sluice is
installed with its own rights, and on `sluice up` with a virtual node.

docs/masterqueue.md has the list of what kueue-nats is known to get wrong. By its numbers, here:
7 local flavors without quota or without their object; 8 stop policies and templates; 13 further resources;
15 no password where somebody reads; and in test_pools.py the others that need real servers.
"""

import contextlib
import json
import re
import time

import pytest

from kube import Failure, until
from natsd import Providers, Server, payload
from pools import (
    MASTERS,
    NO_FLAVOR,
    NODE,
    PATIENCE,
    POOL,
    RESOURCES,
    V1BETA1,
    VIRTUAL,
    Publish,
    flavor_of,
    flavors,
    pool_of,
    quantities,
    secret,
)
from sluice import KUEUE, ROOT, condition, holds, say, show, steps

TIME_LIMIT = 300
EXAMPLES = ROOT / "examples" / "masterqueue"
CONNECTOR = re.compile(r'natsConnector: "[^"]*"')
FIRENZE, CINECA = "masterqueue-interlink-podman-firenze", "masterqueue-interlink-slurm-cineca"
INSTALLED = True
NATS = {"user": "user", "password": "password"}  # as in the example
sluice = None


def example(name, nats):
    return CONNECTOR.sub(f'natsConnector: "{nats.connector}"', (EXAMPLES / name).read_text())


def owned_by(thing, master):
    (owner,) = thing["metadata"]["ownerReferences"]
    return owner == {
        "apiVersion": "vk.io/v1",
        "kind": "MasterQueue",
        "name": master["metadata"]["name"],
        "uid": master["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


# ---- the page, step by step ----

TAINT = {"key": VIRTUAL, "value": "true", "effect": "NoSchedule"}
FLAVORS = {
    FIRENZE: ({"site": "firenze"}, [TAINT], "podman-firenze"),
    CINECA: ({}, [TAINT, {"key": "slurm", "value": "true", "effect": "NoSchedule"}], "slurm-cineca"),
}
QUOTAS = {
    FIRENZE: {"cpu": "85", "memory": "1Ti", "pods": "100", "nvidia.com/gpu": "28"},
    CINECA: {"cpu": "2k", "memory": "8Ti", "pods": "50", "nvidia.com/gpu": "0"},
}
LOCAL = {"cpu": "1M", "memory": "1Ei", "pods": "100", "nvidia.com/gpu": "10k"}
SAME = {"2000": "2k", "10000": "10k"}  # both spellings are the same amount


def spelled(amounts):
    return {name: SAME.get(amount, amount) for name, amount in amounts.items()}


def check_flavor(bed, name, master):
    labels, taints, pool = FLAVORS[name]
    flavor = bed.get(f"{V1BETA1}/resourceflavors/{name}")
    assert flavor["metadata"].get("labels", {}) == labels, flavor
    assert flavor["spec"]["nodeLabels"] == {"kubernetes.io/hostname": NODE}
    assert flavor["spec"]["nodeTaints"] == taints
    (toleration,) = flavor["spec"]["tolerations"]
    assert toleration.pop("operator", "Equal") == "Equal"
    assert toleration == {"key": POOL, "value": pool, "effect": "NoSchedule"}
    assert owned_by(flavor, master), flavor["metadata"]


def check_queue(bed, name, master, expected, borrowing):
    """expected: quotas by flavor. borrowing: limits by resource; None: it owns its quota."""
    queue = bed.get(f"{V1BETA1}/clusterqueues/{name}")
    spec = queue["spec"]
    assert (spec["cohort"], spec["stopPolicy"], spec["queueingStrategy"]) == ("masterqueue", "None", "BestEffortFIFO")
    assert spec["namespaceSelector"] == {}
    (group,) = spec["resourceGroups"]
    assert group["coveredResources"] == RESOURCES
    assert flavors(queue) == list(expected)
    zeros = dict.fromkeys(RESOURCES, "0")
    for flavor in group["flavors"]:
        assert [r["name"] for r in flavor["resources"]] == RESOURCES
        quotas = zeros if borrowing is not None else expected[flavor["name"]]
        assert spelled(quantities(flavor["resources"])) == quotas, flavor
        limits = {r["name"]: str(r["borrowingLimit"]) for r in flavor["resources"] if "borrowingLimit" in r}
        assert limits == (borrowing or {}), flavor
        assert not any("lendingLimit" in r for r in flavor["resources"])
    assert owned_by(queue, master), queue["metadata"]


def test_seed(bed, nats):
    """the page, with its manifests: pools appear, a job goes to one, the status tells all of it"""
    api = bed.api
    stack = contextlib.ExitStack()
    name = None

    def before_any_message():
        """one flavor that does not exist, nothing to have, and no borrower"""
        show(api, "apply", "-f", "-", input=example("masterqueue.yaml", nats))
        show(api, "apply", "-f", "-", input=example("localqueue.yaml", nats))
        until(lambda: bed.queue("masterqueue"), PATIENCE, "the ClusterQueue")
        queue = bed.get(f"{V1BETA1}/clusterqueues/masterqueue")
        assert flavors(queue) == [NO_FLAVOR]
        assert queue["spec"]["stopPolicy"] == "Hold"
        assert quantities(flavor_of(queue, NO_FLAVOR)["resources"]) == dict.fromkeys(RESOURCES, "0")
        assert bed.queue("group1") is None
        assert owned_by(queue, bed.state("masterqueue"))
        bed.await_condition("masterqueue", "NatsConnected", "True")

    def two_pools():
        """of two providers, that `sluice pool publish` plays"""
        subject = "interlink.resources"
        amounts = ["--cpu=85", "--memory=1Ti", "--pods=123", "--gpu=28", "--label=site=firenze"]
        stack.enter_context(Publish(nats, subject, "podman-firenze", *amounts))
        amounts = ["--cpu=2000", "--memory=8Ti", "--pods=50", "--gpu=0", "--taint=slurm=true:NoSchedule"]
        stack.enter_context(Publish(nats, subject, "slurm-cineca", *amounts))
        bed.await_flavors("masterqueue", FIRENZE, CINECA)
        bed.await_flavors("group1", FIRENZE, CINECA)
        master = bed.state("masterqueue")
        for flavor in FLAVORS:
            check_flavor(bed, flavor, master)
        check_queue(bed, "masterqueue", master, QUOTAS, None)
        check_queue(bed, "group1", master, QUOTAS, {"pods": "30"})
        until(lambda: holds(bed.queue("group1"), "Active"), PATIENCE, "an active group1")

    def a_job():
        """that tolerates the virtual node and not Slurm"""
        nonlocal name
        manifest = example("job.yaml", nats).replace("sleep 30", "sleep 12")  # as long as the other steps take
        name = show(api, "create", "-f", "-", "-o", "name", input=manifest).strip().partition("/")[2]
        bed.await_admitted(name, FIRENZE)
        (pod,) = bed.await_running(name)
        assert pod["spec"]["nodeName"] == NODE
        assert pod["spec"]["nodeSelector"]["kubernetes.io/hostname"] == NODE
        (toleration,) = [t for t in pod["spec"]["tolerations"] if t.get("key") == POOL]
        assert toleration["value"] == "podman-firenze", toleration

    def what_kubectl_shows():
        """columns, the pools, and no password"""
        bed.await_condition("masterqueue", "Ready", "True")
        until(lambda: bed.state("masterqueue")["status"].get("livePools") == 2, PATIENCE, "two live pools")
        heads, row = show(api, "get", "mq").splitlines()
        assert heads.split() == ["NAME", "POOLS", "LIVE", "QUEUES", "READY", "AGE"]
        assert row.split()[:5] == ["masterqueue", "2", "2", "2", "True"]
        bed.await_pool("masterqueue", "podman-firenze", usage={"cpu": "1", "memory": "200Mi", "pods": "1"})
        status = bed.state("masterqueue")["status"]
        assert "password" not in json.dumps(status), status
        assert nats.address in status["servers"], status
        assert status["observedGeneration"] == bed.state("masterqueue")["metadata"]["generation"]
        assert [p["name"] for p in status["pools"]] == ["podman-firenze", "slurm-cineca"]
        pool = pool_of(bed.state("masterqueue"), "podman-firenze")
        assert (pool["group"], pool["flavor"], pool["state"]) == ("interlink", FIRENZE, "Live")
        assert spelled(pool["published"]) == {"cpu": "85", "memory": "1Ti", "pods": "123", "nvidia.com/gpu": "28"}
        assert spelled(pool["quotas"]) == QUOTAS[FIRENZE]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", pool["lastSeen"]), pool
        # In the spec, yes: who may read the object may read it. Not in what is generated from it.
        described = show(api, "describe", "mq", "masterqueue", quiet=True)
        assert "password" not in described.partition("Status:")[2], described

    def local_flavor_added():
        """one more, behind those of pools, for work that may not leave"""
        spec = bed.state("masterqueue")["spec"]
        show(api, "create", "-f", "-", input=(EXAMPLES / "local-flavor.yaml").read_text().partition("---")[0])
        local = {"name": "local-cpu", "localFlavor": {}, "nominalQuota": {"pods": 100}}
        local["canLendTo"] = spec["flavors"][0]["canLendTo"]
        with bed.undisturbed("masterqueue", "group1"):
            bed.patch(f"{MASTERS}/masterqueue", {"spec": {"flavors": [*spec["flavors"], local]}})
            bed.await_flavors("group1", FIRENZE, CINECA, "local-cpu")
        check_queue(bed, "masterqueue", bed.state("masterqueue"), {**QUOTAS, "local-cpu": LOCAL}, None)
        check_queue(bed, "group1", bed.state("masterqueue"), {**QUOTAS, "local-cpu": LOCAL}, {"pods": "30"})
        bed.submit("stays", "gr1", remote=False)
        bed.await_admitted("stays", "local-cpu")
        (pod,) = bed.await_running("stays")
        assert pod["spec"]["nodeName"] != NODE
        bed.finish("stays")

    def local_flavor_alone():
        """the last manifest of the page; the job that runs in a pool does not notice"""
        show(api, "apply", "-f", "-", input=example("local-flavor.yaml", nats))
        bed.await_flavors("masterqueue", "local-cpu")
        bed.await_flavors("group1", "local-cpu")
        (pod,) = bed.pods(name)
        assert pod["status"]["phase"] in ("Running", "Succeeded"), pod["status"]
        bed.gone(f"{KUEUE}/resourceflavors/{CINECA}")

    def local_flavor_removed():
        """as it was before"""
        show(api, "apply", "-f", "-", input=example("masterqueue.yaml", nats))
        bed.await_flavors("masterqueue", FIRENZE, CINECA)
        bed.await_flavors("group1", FIRENZE, CINECA)
        assert bed.flavor("local-cpu"), "a flavor of the administrator is not ours to delete"

    def completes():
        """when its time is over"""
        until(lambda: bed.complete(name), PATIENCE, "the end of the job")

    def deleted():
        """and nothing is left"""
        show(api, "delete", "mq", "masterqueue")
        bed.gone(*(f"{KUEUE}/clusterqueues/{queue}" for queue in ("masterqueue", "group1")))
        bed.gone(*(f"{KUEUE}/resourceflavors/{flavor}" for flavor in FLAVORS))

    with stack:
        steps(
            before_any_message,
            two_pools,
            a_job,
            what_kubectl_shows,
            local_flavor_added,
            local_flavor_alone,
            local_flavor_removed,
            completes,
            deleted,
        )


def test_limit_is_per_pool(bed, nats, providers):
    """30 pods may be borrowed from each of two pools: of 61 jobs 60 run"""
    bed.master("perpool", nats, "perpool", {"borrower": {"pods": 30}}, limit={"pods": 100})
    for pool in ("a", "b"):
        providers.publish(f"perpool.{pool}", payload(cpu="1000", pods=123))
    bed.await_flavors("borrower", "perpool-g-a", "perpool-g-b")
    names = [f"each-{i:02}" for i in range(61)]
    for name in names:
        bed.submit(name, "borrower")

    def admitted():
        listed = bed.api.get(f"{KUEUE}/namespaces/default/workloads")["items"]
        return [w for w in listed if w["spec"].get("queueName") == "borrower" and holds(w, "Admitted")]

    until(lambda: len(admitted()) == 60, PATIENCE, "60 admitted")
    bed.await_pool("perpool", "a", usage={"cpu": "3", "pods": "30"})
    bed.await_pool("perpool", "b", usage={"cpu": "3", "pods": "30"})
    time.sleep(1)
    assert len(admitted()) == 60
    assert {w["status"]["admission"]["podSetAssignments"][0]["flavors"]["pods"] for w in admitted()} == {
        "perpool-g-a",
        "perpool-g-b",
    }
    admitted_now = {o["name"] for w in admitted() for o in w["metadata"]["ownerReferences"]}
    left = next(name for name in names if name not in admitted_now)
    first = next(name for name in names if name != left)
    bed.finish(first)
    bed.await_admitted(left)
    bed.remove("perpool", jobs=[name for name in names if name != first])


# ---- connectors ----


SECRET = "masterqueue-nats"  # the one that the manager may read


@pytest.mark.parametrize("how", ["open", "password", "token", "secret", "authority", "certificate"])
def test_connectors(bed, how):
    """every way to say who connects, with a real server that insists on it"""
    name = f"via-{how}"
    server = {
        "open": Server(),
        "password": Server(user="us er", password="p@ss:w/rd%"),
        "token": Server(token="t0ken"),
        "secret": Server(user="u", password="hidden", tls=True),  # by an authority that nobody knows
        "authority": Server(user="u", password="p@ss", tls=True),  # and the connector says who
        "certificate": Server(user="u", password="hidden", mutual=True),
    }[how]
    with server, Providers(server) as providers:
        providers.publish(f"{name}.pool", payload())
        keys = {
            "secret": {"username": "u", "password": "hidden", "ca_crt": server.authority},
            "authority": {"ca_crt": server.authority},
            "certificate": {
                "username": "u",
                "password": "hidden",
                "ca_crt": server.authority,
                **dict(zip(("tls_crt", "tls_key"), server.client or ())),
            },
        }.get(how, {})
        connector, more = server.connector, {"natsSecret": {"name": SECRET}} if keys else {}
        if how in ("secret", "certificate"):
            connector = f"tls://{server.address}"
        if keys:
            secret(bed, SECRET, **keys)
        bed.master(name, connector, name, {f"{name}-team": {}}, **more)
        bed.await_condition(name, "NatsConnected", "True")
        bed.await_flavors(f"{name}-team", f"{name}-g-pool")
        status = json.dumps(bed.state(name)["status"])
        for word in ("p@ss", "p%40ss", "t0ken", "hidden"):
            assert word not in status, status
            assert word not in sluice.log(10000)
        if "@" not in connector:
            assert "hidden" not in bed.api.kubectl("describe", "mq", name)
        bed.delete(f"{MASTERS}/{name}")
        bed.gone(f"{MASTERS}/{name}", f"{KUEUE}/clusterqueues/{name}", f"{KUEUE}/resourceflavors/{name}-g-pool")
        until(lambda: server.clients() == 0, PATIENCE, "no connection")


def test_certificate_is_missing(bed):
    """a server that demands one of its clients refuses who has none, and that is said"""
    with Server(mutual=True) as server, Providers(server) as providers:
        providers.publish("uncertified.pool", payload())
        secret(bed, SECRET, ca_crt=server.authority)
        bed.master("uncertified", server, "uncertified", {"uncertified-team": {}}, natsSecret={"name": SECRET})
        said = bed.await_condition("uncertified", "NatsConnected", "False")["message"]
        say(f"# {said}")
        assert server.address in said and "the client's certificate" in said, said
        bed.remove("uncertified")


def test_connector_is_wrong(bed, nats, providers):
    """who is refused says so, without the password, and others are not disturbed; mended, it connects"""
    providers.publish("wrong.pool", payload())
    wrong = nats.connector.replace("password", "guessed")
    bed.master("wrong", wrong, "wrong", {"wrong-team": {}})
    bed.master("right", nats, "wrong", {"right-team": {}}, group="r")
    refused = bed.await_condition("wrong", "NatsConnected", "False")
    assert "guessed" not in json.dumps(bed.state("wrong")["status"]), refused
    assert nats.address in refused["message"], refused
    assert condition(bed.state("wrong"), "Ready")["status"] == "False"
    bed.await_condition("right", "NatsConnected", "True")
    bed.delete(f"{MASTERS}/right")
    source = bed.state("wrong")["spec"]["flavors"][0]
    source["natsFlavor"]["natsConnector"] = nats.connector
    bed.patch(f"{MASTERS}/wrong", {"spec": {"flavors": [source]}})
    bed.await_condition("wrong", "NatsConnected", "True")
    bed.await_flavors("wrong", "wrong-g-pool")
    bed.delete(f"{MASTERS}/wrong")


def test_connector_by_websocket(bed):
    """that it is not spoken is said when it is written, with the way out"""
    with pytest.raises(Failure) as refused:
        bed.master("web", "wss://user:password@127.0.0.1:443/release", "web", {"web-team": {}})
    assert "nats://" in str(refused.value) and "password" not in str(refused.value), refused.value


# ---- templates, resources, local flavors ----


def test_7_local_flavor(bed, nats, providers):
    """without nominalQuota, and while its ResourceFlavor is missing: the pools go on"""
    providers.publish("seven.pool", payload())
    local = {"name": "seven-local", "localFlavor": {}, "canLendTo": [{"queue": "seven-team"}]}
    bed.master("seven", nats, "seven", {"seven-team": {}}, more=[local])
    bed.await_flavors("seven", "seven-g-pool")
    until(lambda: holds(bed.queue("seven"), "Active"), PATIENCE, "a queue that works")
    assert "seven-local" in bed.await_condition("seven", "Ready", "False")["message"]
    bed.submit("seven-a", "seven-team")
    bed.await_admitted("seven-a", "seven-g-pool")
    bed.make_flavor("seven-local")
    bed.await_condition("seven", "Ready", "True")
    bed.await_flavors("seven", "seven-g-pool", "seven-local")
    bed.finish("seven-a")
    bed.delete(f"{MASTERS}/seven")


@pytest.mark.parametrize(
    "name, template, expected",
    [
        ("stop", {"stopPolicy": "Stop"}, {"stopPolicy": "Hold"}),
        ("stopandhold", {"stopPolicy": "StopAndHold"}, {"stopPolicy": "HoldAndDrain"}),
        ("drain", {"stopPolicy": "HoldAndDrain"}, {"stopPolicy": "HoldAndDrain"}),
        ("within", {"preemption": {"borrowWithinCohort": {}}}, {"stopPolicy": "None"}),
        ("none", None, {"stopPolicy": "None"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_8_templates(bed, nats, providers, name, template, expected):
    """templates that gave ClusterQueues which Kueue refuses"""
    name = f"eight-{name}"
    providers.publish(f"{name}.pool", payload())
    source = {"natsConnector": nats.connector, "natsSubject": name, "poolRegExp": ".*", "poolTimeout": 3}
    lend = [{"queue": f"{name}-team", "lendingLimit": {"pods": 3}}]
    spec = {"flavors": [{"name": "g", "natsFlavor": source, "nominalQuota": {}, "canLendTo": lend}]}
    if template is not None:
        spec["template"] = {"cohort": name, **template}
    thing = {"apiVersion": "vk.io/v1", "kind": "MasterQueue", "metadata": {"name": name}, "spec": spec}
    bed.create(MASTERS, thing)
    for queue in (name, f"{name}-team"):
        until(lambda: bed.queue(queue), PATIENCE, f"the ClusterQueue {queue}: {bed.state(name).get('status')}")
        until(lambda: flavors(bed.queue(queue)) == [f"{name}-g-pool"], PATIENCE, "its flavor")
        spec = bed.queue(queue)["spec"]
        assert {key: spec.get(key) for key in expected} == expected, spec
    assert bed.flavor(f"{name}-g-pool")["spec"].get("nodeLabels", {}) == {}  # no virtualNode
    bed.delete(f"{MASTERS}/{name}")


def test_13_further_resources(bed, nats, providers):
    """ephemeral-storage, that a provider publishes and a pod requests"""
    more = {"ephemeral-storage": "100Gi", "amd.com/gpu": 2}
    providers.publish("thirteen.pool", payload(**more))
    limit = {"ephemeral-storage": "50Gi", "amd.com/gpu": 8}
    bed.master("thirteen", nats, "thirteen", {"thirteen-team": {"ephemeral-storage": "10Gi"}}, limit=limit)
    bed.await_flavors("thirteen", "thirteen-g-pool")
    bed.await_flavors("thirteen-team", "thirteen-g-pool")
    amounts = quantities(flavor_of(bed.queue("thirteen"), "thirteen-g-pool")["resources"])
    assert (amounts["ephemeral-storage"], amounts["amd.com/gpu"]) == ("50Gi", "2"), amounts
    bed.submit("thirteen-a", "thirteen-team", **{"ephemeral-storage": "4Gi"})
    bed.await_admitted("thirteen-a", "thirteen-g-pool")
    bed.submit("thirteen-b", "thirteen-team", **{"ephemeral-storage": "7Gi"})
    until(lambda: condition(bed.workload("thirteen-b"), "QuotaReserved")["message"], PATIENCE, "why not")
    say("# " + condition(bed.workload("thirteen-b"), "QuotaReserved")["message"])
    assert not bed.admitted("thirteen-b")
    bed.finish("thirteen-a", "thirteen-b")
    bed.delete(f"{MASTERS}/thirteen")
