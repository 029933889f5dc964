/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the visibility API answers: who waits in a queue, in the order in which the engine will take
 * them, each with its places, why it waits, and when it may start if that is known. Reads records
 * and engine and changes nothing, so a standby answers as the leader does.
 */
#ifndef SL_CONTROLLERS_VISIBLE_H
#define SL_CONTROLLERS_VISIBLE_H

#include "controllers/controllers.h"

#define SL_PENDING_LIMIT 1000u              /* unless another is asked for */
#define SL_PENDING_MOST 100000u             /* the most that is given */
#define SL_PENDING_BYTES ((size_t)64 << 20) /* a list ends sooner than be longer */

struct sl_pending_query {
    const char *version; /* of the group, as it was asked for */
    const char *ns;      /* of a LocalQueue; NULL: of a ClusterQueue */
    const char *queue;
    uint32_t limit, offset;
};

/*
 * A PendingWorkloadsSummary, in pieces: a long one is not to hold up everything else. Who waits,
 * and where in line, is as of the opening; what is said of each is as of its piece, and whoever is
 * gone meanwhile is left out.
 */
struct sl_pending;
/* NULL: there is no such queue. */
struct sl_pending *sl_pending_open(const struct sl_manager *m, const struct sl_pending_query *q);
/* Writes the next piece; false: that was the last one. */
bool sl_pending_more(struct sl_pending *p, struct sl_buf *out);
void sl_pending_free(struct sl_pending *p);

#endif
