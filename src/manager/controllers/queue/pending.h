/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the visibility API: pending workloads of a queue, in the order of the engine, each
 * with its positions, the reason why it is pending, and when it may start if that is known.
 * Read-only over records and engine, so a standby responds as the leader does.
 */
#ifndef SL_MANAGER_CONTROLLERS_QUEUE_PENDING_H
#define SL_MANAGER_CONTROLLERS_QUEUE_PENDING_H

#include "manager/controllers/core/manager.h"

#define SL_MANAGER_PENDING_LIMIT 1000u              /* by default */
#define SL_MANAGER_PENDING_MOST 100000u             /* the most that is given */
#define SL_MANAGER_PENDING_BYTES ((size_t)64 << 20) /* a list ends sooner than be longer */

struct sl_manager_pending_query {
    const char *version; /* of the group, as requested */
    const char *ns;      /* of a LocalQueue; NULL: of a ClusterQueue */
    const char *queue;
    uint32_t limit, offset;
};

/*
 * A PendingWorkloadsSummary, in pieces: a long one must not block the loop. The set and the order
 * are as of the opening; the details of each are as of its piece, and those removed meanwhile are
 * omitted.
 */
struct sl_manager_pending;
/* NULL: there is no such queue. */
struct sl_manager_pending *sl_manager_pending_open(const struct sl_manager *m,
                                                   const struct sl_manager_pending_query *q);
/* Writes the next piece; false: that was the last one. */
bool sl_manager_pending_more(struct sl_manager_pending *p, struct sl_buf *out);
void sl_manager_pending_free(struct sl_manager_pending *p);

#endif
