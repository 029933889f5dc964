/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits by cgroup v2, where the machine delegates a directory to us: cpu.max and memory.max of
 * each container. Where it does not, nothing is limited, which is logged once.
 */
#ifndef SL_CLUSTER_KUBELET_PROCESS_CGROUP_H
#define SL_CLUSTER_KUBELET_PROCESS_CGROUP_H

#include "cluster/kubelet/limits.h"
#include "core/base/err.h"

/* Processes and threads of one container: a fork bomb is its own. */

struct klet_cgroups;

/* root: the directory of our own cgroup; NULL: detect it. Never NULL. */
struct klet_cgroups *klet_cgroups_new(const char *root);
void klet_cgroups_free(struct klet_cgroups *g);
bool klet_cgroups_on(const struct klet_cgroups *g);
/* Creates one and returns a descriptor of its cgroup.procs, and its directory; -1: none. 0 is no
 * limit. */
int klet_cgroup_make(struct klet_cgroups *g, const char *name, int64_t cpu_milli,
                     int64_t memory_bytes, char **ret_folder);
/* The same of one that is there. */
int klet_cgroup_open(const char *folder);
/* Whether one of its processes was OOM-killed. */
bool klet_cgroup_oom(const char *folder);
void klet_cgroup_remove(const char *folder);

#endif
