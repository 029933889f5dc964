/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a replica last knew all that there was: what happened since then excuses what it decided.
 * The newest times are remembered, 100 ms apart.
 */
#ifndef SL_TESTS_MANAGER_KNOWN_H
#define SL_TESTS_MANAGER_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/time.h"

#define KNOWN 1024u
#define KNOWN_SLACK (15 * SL_SEC) /* under faults a decision may wait for so long to be written */
#define KNOWN_SLACK_SLOW (60 * SL_SEC) /* where requests are long on their way */

struct known {
    sl_time v[KNOWN]; /* a ring */
    uint32_t n;
};

static inline void known_note(struct known *k, sl_time now) {
    if (!k->n || now >= k->v[(k->n - 1) % KNOWN] + 100 * SL_MSEC)
        k->v[k->n++ % KNOWN] = now;
}

/* The last time before 'at' when it knew everything; 0: not remembered. */
static inline sl_time known_before(const struct known *k, sl_time at) {
    for (uint32_t i = k->n; i > 0 && i + KNOWN > k->n; i--)
        if (k->v[(i - 1) % KNOWN] <= at)
            return k->v[(i - 1) % KNOWN];
    return 0;
}

#endif
