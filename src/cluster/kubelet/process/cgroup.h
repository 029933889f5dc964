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

struct cgroups;

/* root: the directory of our own cgroup; NULL: detect it. Never NULL. */
struct cgroups *cgroups_new(const char *root);
void cgroups_free(struct cgroups *g);
bool cgroups_on(const struct cgroups *g);
/* Creates one and returns a descriptor of its cgroup.procs, and its directory; -1: none. 0 is no
 * limit. */
int cgroup_make(struct cgroups *g, const char *name, int64_t cpu_milli, int64_t memory_bytes,
                char **ret_folder);
/* The same of one that is there. */
int cgroup_open(const char *folder);
/* Whether one of its processes was OOM-killed. */
bool cgroup_oom(const char *folder);
void cgroup_remove(const char *folder);

#endif
