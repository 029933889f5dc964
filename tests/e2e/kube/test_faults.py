# SPDX-License-Identifier: Apache-2.0
"""Thousands of workloads while everything around Sluice, and Sluice itself, is killed, cut off and refused.

SL_FAULTS_WORKLOADS says how many; the default fits into `make check`, 5000 is the full size. At the end every
workload is finished, none was admitted twice or lost, the quota was never exceeded, and the process that lived
through all of it holds the same state as one that was just started.

Steps of the clock are not tried here: they would move it for the whole machine. tests/manager/faults/faults, which runs
the same controllers over a simulated API, has them.
"""

import difflib
import json
import os
import queue
import threading
import time

import pytest

from kube import Cluster, Failure, until
from sluice import (
    KUEUE,
    Api,
    Sluice,
    Watch,
    at_once,
    at_rest,
    install_kinds,
    program,
    proxy_ended,
    say,
    small_queue,
    small_workload,
    steps,
    through,
)

COUNT = int(os.environ.get("SL_FAULTS_WORKLOADS") or 800)
QUOTA = 16  # small enough that it is reached: as many start as the API server takes writes, whatever COUNT is
NAMESPACE = "default"
WORKLOADS = f"{KUEUE}/namespaces/{NAMESPACE}/workloads"
RUNNERS = 4
TIME_LIMIT = 400
cluster = sluice = watch = None
started = queue.Queue()  # (when to finish it, name)
broken = []
began = 0.0
gate = 0.55  # the share of all workloads that may be made by now: so that each fault meets some


def runner():
    """Plays the jobs: what is admitted is finished 50 ms later."""
    api = Api(cluster)
    while True:
        at, name = started.get()
        time.sleep(max(0, at - time.monotonic()))
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        end = {
            "type": "Finished",
            "status": "True",
            "reason": "Succeeded",
            "message": "done",
            "lastTransitionTime": now,
        }
        try:
            api.patiently(
                "PATCH",
                f"{WORKLOADS}/{name}/status",
                [{"op": "add", "path": "/status/conditions/-", "value": end}],
                "application/json-patch+json",
                120,
            )
        except Failure as error:
            # Twice in the list is refused: then the answer to the first attempt was lost.
            if error.status != 422:
                broken.append(f"the runner: {error}")


def creator():
    def work(api, n):
        while n >= gate * COUNT:
            time.sleep(0.02)
        api.patiently("POST", WORKLOADS, small_workload(f"w-{n:05}", "main"), seconds=120)

    try:
        at_once(cluster, list(range(COUNT)), work, 3)
    except Exception as error:
        broken.append(f"the creator: {error}")


def progress(share, seconds=900):
    """Until this share of the workloads is finished; complains if nothing happens for a minute."""
    last, since = watch.finished, time.monotonic()
    end = since + seconds
    while watch.finished < share * COUNT:
        if broken:
            raise Failure("; ".join(broken[:5]))
        if watch.finished != last:
            last, since = watch.finished, time.monotonic()
        elif time.monotonic() > since + 60:
            raise Failure(f"nothing happens any more: {told()}")
        if time.monotonic() > end:
            raise Failure(f"too slow: {told()}")
        if not sluice.alive():
            raise Failure(f"sluice ended with {sluice.process.returncode}")
        time.sleep(0.05)


def open_gate(share):
    global gate
    gate = share


def told():
    return (
        f"{time.monotonic() - began:.1f} s: {len(watch.seen)} made, {len(watch.admitted)} admitted, "
        f"{watch.finished} finished, {watch.used} cpus in use"
    )


def after(what, share):
    """Says what was done, and waits until work has gone on by that share of it all."""
    say(f"# {told()}: {what}")
    was = watch.finished
    progress(min(gate, was / COUNT + share))
    say(f"# {told()}")


@pytest.fixture(scope="module", autouse=True)
def busy():
    """An API server, sluice, and somebody who makes and somebody who finishes workloads."""
    global cluster, sluice, watch, began
    program()
    with Cluster(only="api") as cluster:
        install_kinds(cluster)
        small_queue(cluster, QUOTA)
        watch = Watch(cluster, NAMESPACE, QUOTA, lambda name: started.put((time.monotonic() + 0.05, name)))
        with Sluice(cluster, install=False, controllers="core,scheduler") as sluice, watch:
            for _ in range(RUNNERS):
                threading.Thread(target=runner, daemon=True).start()
            began = time.monotonic()
            threading.Thread(target=creator, daemon=True).start()
            progress(0.08)
            say(f"# {told()}")
            yield


def test_faults():
    """one fault after the other, and in the end nothing is lost"""
    steps(kill_sluice, kill_api_server, kill_etcd, cut_connections, writes_fail_once, without_connection)
    steps(all_finish, none_twice, queue_is_empty, same_state)


def kill_sluice():
    """kill -9 of sluice, three times"""
    for _ in range(3):
        sluice.kill9()
        sluice.start()
        after(f"sluice was killed, and is ready again after {sluice.ready_after:.2f} s", 0.04)


def kill_api_server():
    """kill -9 of the API server"""
    cluster.kill9("kube-apiserver")
    say(f"# {told()}: the API server is gone")
    time.sleep(1)
    cluster.restart("kube-apiserver")
    after("and is back", 0.1)


def kill_etcd():
    """kill -9 of etcd"""
    cluster.kill9("etcd")
    say(f"# {told()}: etcd is gone")
    time.sleep(1)
    cluster.restart("etcd")
    after("and is back", 0.1)


def cut_connections():
    """all of sluice's connections are cut every second, for 10 s"""
    sluice.kubeconfig, process = through(cluster, "cut")
    sluice.restart()
    say(f"# {told()}: sluice goes through the proxy")
    open_gate(0.75)
    time.sleep(10)
    say(f"# {told()}")
    after("and through it still", 0.05)
    was = proxy_ended(process)
    sluice.kubeconfig = None
    say(f"# {told()}: the proxy counted {was}")
    assert json.loads(was)["cuts"] >= 5, was
    sluice.restart()


def writes_fail_once():
    """the first attempt of each write is answered with 500; half of them were carried out"""
    cert, key = cluster.certificate("proxy", "proxy", hosts=["127.0.0.1", "localhost"])
    pki = cluster.dir / "pki"
    sluice.kubeconfig, process = through(
        cluster, "fail", cert, key, pki / "ca.crt", pki / "admin.crt", pki / "admin.key"
    )
    sluice.restart()
    open_gate(1)
    after("sluice goes through the proxy", 0.15)
    was = proxy_ended(process)
    sluice.kubeconfig = None
    say(f"# {told()}: the proxy counted {was}")
    assert min(json.loads(was)["failed " + when] for when in ("before", "after")) > 0.02 * COUNT, was


def without_connection():
    """the proxy is gone, so sluice cannot reach anybody; restarted, it goes on"""
    time.sleep(1)
    assert sluice.alive()
    sluice.restart()
    after("sluice is connected again", 0.02)


def all_finish():
    """every workload is finished, none is lost"""
    progress(1)
    say(f"# {told()}")
    things = Api(cluster).patiently("GET", WORKLOADS)["items"]
    assert len(things) == COUNT == len(watch.seen), (len(things), len(watch.seen))
    assert not broken, broken[:5]


def none_twice():
    """nobody was admitted twice, and the quota was never exceeded"""
    twice = {n: times for n, times in watch.reservations.items() if times != 1}
    say(f"# {watch.events} events, {watch.lists} lists; at most {watch.most} of {QUOTA} cpus in use")
    assert not watch.faults, watch.faults[:10]
    assert not twice, f"{len(twice)} had quota more than once: {list(twice.items())[:5]}"
    assert watch.most > QUOTA / 2, watch.most


def queue_is_empty():
    """the statuses of the queues say so, too"""

    def question():
        cq = cluster.get(f"{KUEUE}/clusterqueues/main")["status"]
        lq = cluster.get(f"{KUEUE}/namespaces/{NAMESPACE}/localqueues/main")["status"]
        keys = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
        numbers = [s.get(k, 0) for s in (cq, lq) for k in keys]
        return not any(numbers)

    until(question, what="empty queues")


def same_state():
    """a fresh process holds the same state as the one that was there"""
    before = at_rest(sluice)
    sluice.restart()
    say(f"# {len(before)} bytes; a fresh one is ready after {sluice.ready_after:.2f} s, {sluice.rss_mb():.0f} MB")
    try:
        until(lambda: sluice.state() == before, what="the same state")
    except Failure:
        diff = list(difflib.unified_diff(before.splitlines(), sluice.state().splitlines(), "before", "fresh", n=0))
        raise Failure("\n".join(line[:400] for line in diff[:60])) from None
    say(f"# {told()} in all")


def logs():
    """For a failure: who is not finished, and what it says."""
    names = [n for n, (_, _, finished) in watch.seen.items() if not finished]
    text = f"{len(names)} are not finished\n"
    state = sluice.state().splitlines()
    known = sum(line.startswith(f'"{NAMESPACE}/w-') for line in state)
    text += f"sluice knows {known} of {len(watch.seen)}\n"
    text += "\n".join(line[:600] for line in state if not line.startswith(f'"{NAMESPACE}/w-')) + "\n"
    for name in names[:2]:
        found = cluster._try(f"{WORKLOADS}/{name}") or {}
        text += f"{name}: {json.dumps(found.get('status'))}\n"
        text += "\n".join(line for line in state if name in line and line.startswith('"'))[:600] + "\n"
    return text
