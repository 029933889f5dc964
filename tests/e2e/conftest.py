# SPDX-License-Identifier: Apache-2.0
"""What the tests of both folders share: control planes as fixtures, the time a module may take, and how a run is told.

A module says how many seconds it may take, `TIME_LIMIT`. Its functions do not depend on each other: --reverse runs them
in reversed order. What they need in common is made by a fixture of the module, which puts it into the module's names
`cluster`, `sluice` or `up`; when a test fails the ends of their logs are shown, and what the module's logs() gives.

A module that only uses a control plane asks for `api_cluster` or `node_cluster`, which all modules of a run share and
which is restored after each (kube/reset.py). One that kills it, measures seconds, or needs flags of its own starts its
own Cluster (kube/kube.py).
"""

import os
import pathlib
import signal
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "kube"), str(HERE / "up")]

import installed  # noqa: E402
import kube  # noqa: E402
import natsd  # noqa: E402
import pools  # noqa: E402
from reset import Beginning  # noqa: E402
from sluice import say  # noqa: E402

NOTHING_RAN = 77  # the exit status of a run in which everything was skipped
# Only under Meson, and as it does with its own limits: the machine may be busy. By hand somebody may ask for more.
TIME_FACTOR = int(os.environ.get("SL_TIMEOUT_MULTIPLIER") or 1) if "MESON_TEST_ITERATION" in os.environ else 1000
took = {}  # module: seconds
told = {}  # what a fixture failed with, and has been shown: the test that met it first


# ---- control planes ----


@pytest.fixture(scope="session")
def api_beginning():
    with kube.Cluster(only="api") as cluster:
        yield Beginning(cluster)


@pytest.fixture(scope="module")
def api_cluster(api_beginning):
    """etcd and kube-apiserver. Nothing runs, binds or collects there."""
    yield api_beginning.cluster
    api_beginning.restore()


@pytest.fixture(scope="session")
def node_beginning():
    with kube.Cluster(apiserver_flags=installed.FLAGS) as cluster:
        yield Beginning(cluster)


@pytest.fixture(scope="module")
def node_cluster(node_beginning):
    """A whole control plane, to which a module adds the nodes that it needs: add_nodes()."""
    yield node_beginning.cluster
    node_beginning.restore()


# ---- MasterQueues ----


@pytest.fixture(scope="module", params=["serve", "up"])
def bed(request):
    """Where MasterQueues are tried (kube/pools.py). INSTALLED of the module: with the rights that Sluice ships with."""
    cluster = request.getfixturevalue("node_cluster") if request.param == "serve" else None
    with pools.on(request.param, cluster, getattr(request.module, "INSTALLED", False)) as bed:
        request.module.sluice = bed.sluice
        yield bed


@pytest.fixture(scope="module")
def nats(request):
    """A NATS server that stays; with a user and a password, if NATS of the module says which."""
    with natsd.Server(**getattr(request.module, "NATS", {})) as server:
        request.module.logs = lambda: f"--- nats-server, the last that it logged\n{server.log()}"
        yield server


@pytest.fixture
def providers(nats):
    """Who publishes there, until the test ends."""
    with natsd.Providers(nats) as providers:
        yield providers


# ---- the run ----


def pytest_addoption(parser):
    parser.addoption("--reverse", action="store_true", help="run everything in reversed order")


def pytest_configure():
    # As if the test had ended: so that processes and folders go also when somebody ends the run.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("ended by SIGTERM", 1))


def pytest_collection_modifyitems(config, items):
    if config.getoption("reverse"):
        items.reverse()


def limited(item):
    """As a part of a hook: what it does counts as time of the module, and is ended when that is over."""
    limit, spent = item.module.TIME_LIMIT * TIME_FACTOR, took.get(item.module, 0)

    def over(*_):
        raise kube.Failure(f"{item.module.__name__} takes longer than {limit} s")

    began = time.monotonic()
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, max(1, limit - spent))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    took[item.module] = spent + time.monotonic() - began


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    yield from limited(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    yield from limited(item)


# ---- what is told ----


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    say(f"\n=== {item.name}: {(item.function.__doc__ or '').strip().partition(chr(10))[0]}")


def logs(module):
    """The last that was logged by what a module runs."""
    parts = [module.logs()] if hasattr(module, "logs") else []
    for name in ("sluice", "up"):
        if getattr(module, name, None):
            parts.append(f"--- {name}, the last that it logged\n{getattr(module, name).log(30)}")
    if getattr(module, "cluster", None) and getattr(module.cluster, "ports", None):
        parts.append("--- kube-apiserver, the last that it logged\n" + module.cluster.log("kube-apiserver", 6))
    return "\n".join(parts)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report, error = outcome.get_result(), call.excinfo and call.excinfo.value
    if isinstance(error, kube.Unavailable):
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, f"Skipped: {error}")
        say(f"SKIPPED - {item.name}: {error}")
    elif report.skipped:
        say(f"SKIPPED - {item.name}")
    elif report.failed and error in told:
        report.longrepr = f"as {told[error]}: {error}"
        say(f"not ok - {item.name}: as {told[error]}")
    elif report.failed:
        told[error] = item.name
        say(f"not ok - {item.name} ({call.duration:.1f} s): {error}")
        try:
            report.sections.append(("logs", logs(item.module)))
        except Exception as reason:
            report.sections.append(("no logs", str(reason)))
    elif report.when == "call":
        say(f"ok - {item.name} ({call.duration:.1f} s)")


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report):
    """Counted as ever, and told above, not by a letter."""
    if report.when == "call" or report.skipped:
        return report.outcome, "", report.outcome.upper() if report.failed else ""
    return ("error", "", "ERROR") if report.failed else ("", "", "")


def counts(reporter):
    count = {key: len(reporter.stats.get(key, [])) for key in ("passed", "failed", "error", "skipped")}
    return count["passed"], count["failed"] + count["error"], count["skipped"]


def pytest_terminal_summary(terminalreporter):
    """The line that tools/run-tests counts."""
    say("{} passed, {} failed, {} skipped".format(*counts(terminalreporter)))


def pytest_sessionfinish(session):
    passed, failed, skipped = counts(session.config.pluginmanager.get_plugin("terminalreporter"))
    if skipped and not passed and not failed:
        session.exitstatus = NOTHING_RAN
