/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the network and the reader. Of a connection and subject only the newest waits,
 * at the place of the first: a publisher that floods its subject takes one place and delays nobody.
 * What finds no place is counted.
 */
#ifndef SL_LIB_NATS_MAILBOX_H
#define SL_LIB_NATS_MAILBOX_H

#include <sys/queue.h>

#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"
#include "core/base/text.h"

struct natsc_message {
    TAILQ_ENTRY(natsc_message) next;
    uint32_t conn;
    uint32_t sid; /* the subscription that it came by; 0: several */
    uint32_t slot;
    uint64_t hash;
    size_t len;       /* of the data, also if it is too long to be here */
    const char *data; /* NULL: too long */
    char subject[];   /* the data is behind it */
};

TAILQ_HEAD(natsc_messages, natsc_message);

struct natsc_mailbox {
    struct natsc_messages waiting;
    SL_VEC(struct natsc_message *) slots; /* NULL: free */
    SL_VEC(uint32_t) spare;               /* free slots */
    struct sl_map index;                  /* hash of connection and subject -> slot */
    uint32_t n;
    size_t bytes;
    uint64_t dropped;
};

void natsc_mailbox_init(struct natsc_mailbox *m);
void natsc_mailbox_done(struct natsc_mailbox *m);
/* Copies subject and data. */
void natsc_mailbox_put(struct natsc_mailbox *m, uint32_t conn, uint32_t sid, struct sl_text subject,
                       const char *data, size_t len);
/* The one that waits longest, handed over (sl_freep), or NULL. */
struct natsc_message *natsc_mailbox_take(struct natsc_mailbox *m);
/* Drops what came by a subscription; sid 0: all of the connection. */
void natsc_mailbox_purge(struct natsc_mailbox *m, uint32_t conn, uint32_t sid);

#endif
