# SPDX-License-Identifier: Apache-2.0
"""What Sluice makes of MiniClusters that use every field of v1alpha2, beside what the real Flux Operator makes of them
on the same control plane. They are equal but for what MEANT lists, each with its reason; docs/minicluster.md has the
same list.
"""

import re
import tomllib

import pytest

from kube import Failure
from miniclusters import CASES, IGNORED, REFUSED, Made, differences
from operators import Operator
from sluice import Sluice, say

TIME_LIMIT = 600
SHOWN = 60
cluster = sluice = operator = theirs = ours = None
REFUSALS = {}  # case: what Sluice answered

# (cases, path, why): what may differ. An entry that nothing meets is a failure, too.
MEANT = (
    (".*", r"configmaps/sample-entrypoint\.data\..*", "scripts are Sluice's own; their broker.toml is compared"),
    (".*", r"minicluster\.status\.size", "is set from the beginning, and not only by a resize"),
    (".*", r"minicluster\.status\.jobid", "is the uid of the Job"),
    (".*", r"minicluster\.status\.conditions\.ControlledBySluice", "says who makes the objects"),
    (".*", r"minicluster\.spec\.containers\[0\]\.runFlux", "is filled in when the object is made"),
    ("sidecar", r"services/side", "several ports need names: the operator's Service is refused"),
    ("sidecar", r"minicluster\.status\.conditions\.(JobRequested|JobMiniClusterReady).*", "the same: never ready"),
    ("services", r".*securityContext\.privileged", "of several containers the operator takes that of the last"),
    ("labels", r"jobs/sample\.spec\.suspend", "it has the label of a queue, and waits there"),
    ("labels", r"minicluster\.status\.conditions\.(JobWaitingForResources|JobMiniClusterReady).*", "and says so"),
)


def logs():
    return f"--- flux-operator, the last that it logged\n{operator.log(30)}" if operator else ""


class Ours(Made):
    """Cases that are wrong are refused, sizes that are too large as well."""

    def make(self, case, thing):
        try:
            super().make(case, thing)
        except Failure as refusal:
            REFUSALS[case] = str(refusal)

    def give(self, path, size):
        try:
            super().give(path, size)
        except Failure as refusal:
            REFUSALS[f"{path} {size}"] = str(refusal)

    def objects(self, case):
        return {} if case in REFUSALS else super().objects(case)


@pytest.fixture(scope="module", autouse=True)
def made(api_cluster):
    global cluster, sluice, operator, theirs, ours
    cluster = api_cluster
    with Operator("flux-operator", cluster) as operator:
        first = Made(cluster, "theirs")
        first.create()
        first.settled()
        first.resize()
        theirs = first.settled()
    with Sluice(cluster, install="again") as sluice:
        second = Ours(cluster, "ours")
        second.create()
        second.settled()
        second.resize()
        ours = second.settled()
        yield


def is_meant(case, path):
    return [i for i, (cases, paths, _) in enumerate(MEANT) if re.fullmatch(cases, case) and re.fullmatch(paths, path)]


def test_equal():
    """every object, field by field"""
    found, met = [], set()
    for case in CASES:
        if case in REFUSED or case in IGNORED:
            continue
        for path, one, other in differences(theirs[case], ours[case]):
            meant = is_meant(case, path)
            met |= set(meant)
            if not meant:
                found.append(f"{case}: {path}:\n  - {one!r}\n  + {other!r}")
    say(f"# {sum(len(objects) for objects in ours.values())} objects of {len(CASES)} MiniClusters")
    assert not found, f"{len(found)} differences that are not meant:\n" + "\n".join(found[:SHOWN])
    unused = [MEANT[i] for i in range(len(MEANT)) if i not in met]
    assert not unused, f"never met: {unused}"


def broker_config(objects):
    """broker.toml as an init script has it."""
    data = next(o["data"] for name, o in objects.items() if name == "configmaps/sample-entrypoint")
    for script in data.values():
        for quoted in re.findall(r"^mc_broker_config='(.*?)'$", script, re.M | re.S) + re.findall(
            r"<<\s*EOT\s*>>[^\n]*broker\.toml\n(.*?)\nEOT", script, re.S
        ):
            return tomllib.loads(quoted)
    raise AssertionError(f"no broker.toml in {list(data)}")


def test_broker_config():
    """brokers are configured alike; the operator writes no port of a lead broker"""
    compared = 0
    for case in CASES:
        if case in REFUSED or case in IGNORED or case == "burst-to":
            continue
        one, other = broker_config(theirs[case]), broker_config(ours[case])
        if case == "bursting":  # a cluster without a size has that of this one
            assert one["bootstrap"].pop("hosts") == [{"host": "sample-[0-1],burst-0-[0-3],b-[0--1]"}]
            assert other["bootstrap"].pop("hosts") == [{"host": "sample-[0-1],burst-0-[0-3],b-[0-1]"}]
        assert one == other, case
        compared += 1
    assert compared >= 30
    assert broker_config(ours["burst-to"])["bootstrap"]["hosts"] == [
        {"host": "192.0.2.7", "bind": "tcp://eth0:8060", "connect": "tcp://192.0.2.7:8060"},
        {"host": "lead-[1-3]"},
    ]
    assert "%!s" in broker_config(theirs["burst-to"])["bootstrap"]["hosts"][0]["connect"]


def test_keys():
    """the ConfigMap has the same keys, and a certificate of the same form"""
    form = re.compile(r'curve\n +public-key = "[!-~]{40}"\n +secret-key = "[!-~]{40}"\n')
    for case in CASES:
        if case in REFUSED or case in IGNORED:
            continue
        one, other = (made[case]["configmaps/sample-entrypoint"]["data"] for made in (theirs, ours))
        assert sorted(one) == sorted(other), case
        if case != "written":
            assert form.search(other["curve.cert"]), other["curve.cert"]


def test_refused():
    """what the operator ignores is refused, with field and reason"""
    for case in REFUSED:
        assert list(theirs[case]) == ["minicluster"], case
        assert "spec." in REFUSALS[case], f"{case}: {REFUSALS.get(case)}"
    say("".join(f"# {case}: {text}\n" for case, text in REFUSALS.items()))
