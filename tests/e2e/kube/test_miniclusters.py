# SPDX-License-Identifier: Apache-2.0
"""What the real Flux Operator makes of MiniClusters that use every field of v1alpha2 (miniclusters.py), and that it is
the same each time: so what another operator makes may be compared with it.
"""

import pytest

import miniclusters
from miniclusters import API, CASES, NAME, REFUSED, Made, differences
from operators import Operator
from sluice import say

TIME_LIMIT = 600
SHOWN = 40  # differences that a failure names
cluster = operator = theirs = None


def logs():
    return f"--- flux-operator, the last that it logged\n{operator.log(30)}" if operator else ""


@pytest.fixture(scope="module", autouse=True)
def made(api_cluster):
    """Nothing runs beside the API server, so what is there was made by the operator."""
    global cluster, operator, theirs
    cluster = api_cluster
    with Operator("flux-operator", cluster) as operator:
        first = Made(cluster, "theirs")
        first.create()
        first.settled()
        first.resize()
        theirs = first.settled()
        yield


def told(found):
    return "\n".join(f"{path}:\n  - {one!r}\n  + {other!r}" for path, one, other in found[:SHOWN])


def test_fields():
    """the cases name every field that v1alpha2 has"""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/miniclusters.flux-framework.org"
    (version,) = (v for v in cluster.get(path)["spec"]["versions"] if v["name"] == "v1alpha2")
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    everything = set(miniclusters.fields(schema))
    named = {path for spec, *_ in CASES.values() for path in miniclusters.named(spec, schema)}
    assert len(everything) > 100 and everything == named, sorted(everything ^ named)


def test_made():
    """each has its objects, those that contradict themselves have none"""
    for case, objects in theirs.items():
        kinds = {name.partition("/")[0] for name in objects}
        wanted = {"minicluster"} if case in REFUSED else {"minicluster", "configmaps", "services", "jobs"}
        wanted |= {"pods"} if case == "services" else set()
        assert kinds == wanted, f"{case}: {sorted(objects)}"
    say(f"# {sum(len(objects) - 1 for objects in theirs.values())} objects of {len(CASES)} MiniClusters")


def test_again():
    """made once more in other namespaces they are the same, in the form in which they are compared"""
    second = Made(cluster, "again")
    second.create()
    second.settled()
    second.resize()
    found = list(differences(theirs, second.settled()))
    assert not found, f"{len(found)} differences:\n{told(found)}"


def test_seen():
    """a difference of one word is found, and where it is"""
    path = f"{API}/namespaces/theirs-smallest/miniclusters/{NAME}"
    cluster.request("PATCH", path, {"spec": {"tasks": 7}}, "application/merge-patch+json")
    (found,) = differences(theirs["smallest"], Made(cluster, "theirs").objects("smallest"))
    assert found == ("minicluster.spec.tasks", 1, 7)
