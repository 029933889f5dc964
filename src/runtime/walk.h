/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path of the machine, walked to part by part on descriptors: whoever may write in a folder on
 * the way, a container as another user, shall not say by a link where the rest is looked for or
 * made. Used by the runtime for what a hostPath lacks, and by the supervisor for mount points.
 */
#ifndef SL_RUNTIME_WALK_H
#define SL_RUNTIME_WALK_H

#include "base/macros.h"

struct walk {
    /* False: only links that nobody but root can have put there. Any other is -ELOOP. */
    bool any_link;
    /* What is missing in *at, which may be replaced; last: nothing follows it. Somebody else may
     * have been quicker, with anything: what is returned is looked at as if it had been there. A
     * descriptor or -errno. */
    int (*make)(void *ctx, int *at, const char *name, bool last);
    void *ctx;
};

/* From "/". A descriptor or -errno. */
int walk_to(const struct walk *w, const char *to);
/* The folder "/", and a part of a folder that may be a link: descriptors or -errno. */
int walk_root(void);
int walk_part(int at, const char *name);

#endif
