# SPDX-License-Identifier: Apache-2.0
"""The walk-through of tests/e2e/kube, on a real control plane and on `sluice up`: the same script, the same transcript.

What kubectl was asked and printed is compared line by line, without what is each cluster's own: names that were
generated, uids, versions, times and ages, how long something took, names of nodes, addresses, the order of rows that is
by any of these, and space that only aligns.
"""

import concurrent.futures
import difflib
import itertools
import os
import re
import subprocess

import pytest

from sluice import ROOT, say

TIME_LIMIT = 400
SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"  # of a name that the API server made
ANY_ORDER = r" (AGE )?(Normal|Warning) | \S+-(NAME|HASH) "  # rows that kubectl sorts by time or by such a name
PERHAPS = r" (AGE )?Normal (Suspended|Resumed) Job/"  # rows of events that depend on who is quicker
OWN = [  # what is each cluster's own, and what stands for it
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"(Resource Version: *|resourceVersion: *\"?)\d+", r"\1N"),
    (r"(job-[\w-]+?)-[0-9a-f]{5}\b", r"\1-HASH"),
    (rf"\b([a-z][a-z0-9-]*?)-{SUFFIX}\b(?=[ /-]|$)", r"\1-NAME"),
    (rf"(-NAME-\d+)-{SUFFIX}\b", r"\1-NAME"),
    (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"\b\d+(\.\d+)?(s|m|m\d+s)\b", "AGE"),
    (r"\bsim-(\d+)\b", lambda m: f"node-{int(m[1]) + 1}"),
    (r"^# after .*? s: ", "# "),
    (r"^ok - (\w+) .*", r"ok - \1"),
    (r"^# ready after .*", "# ready"),
    (r"^(\d+ passed) in .*", r"\1"),
    (r" +", " "),
    (r"-{3,}", "---"),
]


def on(where):
    """The exit status and the transcript."""
    ran = subprocess.run(
        [ROOT / "tests/e2e/run", "kube/test_walkthrough.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "SL_ON": where},
    )
    return ran.returncode, ran.stdout


@pytest.fixture(scope="module")
def ran():
    """On both, at the same time."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip(("kube", "up"), pool.map(on, ("kube", "up"))))


def plain(text):
    lines = text.splitlines()
    for pattern, word in OWN:
        lines = [re.sub(pattern, word, line) for line in lines]
    lines = [line.rstrip() for line in lines if not re.match(PERHAPS, line)]
    runs = itertools.groupby(lines, lambda line: bool(re.match(ANY_ORDER, line)))
    return [line for free, run in runs for line in (sorted(run) if free else run)]


def test_both(ran):
    """the script passes on both"""
    for where, (code, text) in ran.items():
        if code == 77:
            say(f"# {where}: skipped")
        _, _, failures = text.partition("= FAILURES =")
        assert code in (0, 77), f"{where}: exit {code}\n{(failures or text)[-6000:]}"


def test_same(ran):
    """the same transcript"""
    kube, up = (plain(ran[where][1]) for where in ("kube", "up"))
    differ = list(difflib.unified_diff(kube, up, "a control plane", "sluice up", "", "", 1, ""))
    say(f"# {len(kube)} lines")
    assert not differ, "\n".join(differ[:200])
