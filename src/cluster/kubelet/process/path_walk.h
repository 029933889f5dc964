/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a path of the machine component by component on descriptors: a user with write access to a
 * directory on the way, such as a container, must not be able to redirect the rest by a symbolic
 * link. Used by the runtime for missing parts of a hostPath, and by the supervisor for mount
 * points.
 */
#ifndef SL_CLUSTER_KUBELET_PROCESS_PATH_WALK_H
#define SL_CLUSTER_KUBELET_PROCESS_PATH_WALK_H

#include "core/base/macros.h"

struct klet_walk {
    /* False: only links that no other user than root can have created. Any other is -ELOOP. */
    bool any_link;
    /* Creates what is missing in *at, which may be replaced; last: nothing follows it. It may have
     * been created concurrently, as anything: the result is checked as if it had existed. A
     * descriptor or -errno. */
    int (*make)(void *ctx, int *at, const char *name, bool last);
    void *ctx;
};

/* From "/". A descriptor or -errno. */
int klet_walk_to(const struct klet_walk *w, const char *to);
/* The directory "/", and an entry of a directory that may be a link: descriptors or -errno. */
int klet_walk_root(void);
int klet_walk_part(int at, const char *name);

#endif
