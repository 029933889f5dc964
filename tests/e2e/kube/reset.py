# SPDX-License-Identifier: Apache-2.0
"""A control plane that several test modules share, one after the other: each finds it as it was when it had started.

    beginning = Beginning(cluster)        # of a cluster that has just started
    ...                                   # a module makes namespaces, kinds, webhooks, pods, nodes
    beginning.restore()                   # all of that is gone, or Failure says what is left

Objects go straight from etcd, past finalizers, webhooks and graces; whoever watches hears of it as of any deletion.
"""

import re
import shutil
import time

from kube import Failure, until
from store import Store

SECONDS = 60  # for everything to be gone; it takes one or two
LOOKS = 3  # so often in a row nothing is left: controllers may still make what they had begun
# What the control plane writes for itself, whenever it likes.
OWN = re.compile(
    r"compact_rev_key$|/registry/(?!.*kueue|leases/kube-node-lease/)"
    r"(.*(kube-|system:)|(events|leases|masterleases|ranges|servicecidrs)/|health|clusterroles/(admin|edit|view)$)"
)
# Kinds go after their objects; their APIServices are taken away by whoever made them.
KINDS = "/registry/apiextensions.k8s.io/"
SERVICES = "/registry/apiregistration.k8s.io/"


class Beginning:
    def __init__(self, cluster):
        self.cluster, self.store = cluster, Store(cluster)
        self.groups = self._groups()
        self.stored = {key: entry for key, entry in self.store.all(values=True).items() if not OWN.match(key)}

    def _groups(self):
        return {group["name"] for group in self.cluster.get("/apis")["groups"]}

    def _more(self):
        """The keys that were not there, and of what was there those that are gone or changed."""
        now = {key: entry for key, entry in self.store.all().items() if not OWN.match(key)}
        changed = [
            key
            for key, entry in self.stored.items()
            if not key.startswith(SERVICES) and (key not in now or now[key].version != entry.version)
        ]
        return [key for key in now if key not in self.stored], changed

    def _once(self):
        """Returns what was not as it had been."""
        more, changed = self._more()
        for key in changed:
            self.stored[key].version = self.store.put(key, self.stored[key].value)
        kinds = [key for key in more if key.startswith(KINDS)]
        services = [key for key in more if key.startswith(SERVICES)]
        objects = [key for key in more if key not in kinds and key not in services]
        self.store.delete_all(objects or kinds or services)
        return more + changed

    def restore(self):
        began, quiet, left = time.monotonic(), 0, []
        while quiet < LOOKS:
            now = self._once()
            quiet, left = (0, now) if now else (quiet + 1, left)
            if time.monotonic() > began + SECONDS:
                raise Failure(f"the control plane is not as it was after {SECONDS} s: {left}")
            time.sleep(0.1)
        until(lambda: self._groups() == self.groups, SECONDS, "the groups of the beginning, and no others")
        self.store.delete("/registry/events/")  # of anything, by anybody
        shutil.rmtree(self.cluster.dir / "cache", ignore_errors=True)  # in which kubectl keeps what kinds there are
        print(f"# the control plane is as it was, after {time.monotonic() - began:.1f} s", flush=True)
