/* SPDX-License-Identifier: Apache-2.0 */
/* A queue with an index by subject. */
#include "lib/nats/mailbox.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/nats/port.h"

void natsc_mailbox_init(struct natsc_mailbox *m) {
    *m = (struct natsc_mailbox){0};
    TAILQ_INIT(&m->waiting);
}

static size_t weight(const struct natsc_message *msg) {
    return sizeof *msg + strlen(msg->subject) + 1 + (msg->data ? msg->len : 0);
}

static struct natsc_message *message_new(uint32_t conn, uint32_t sid, uint64_t hash,
                                         struct sl_text subject, const char *data, size_t len) {
    size_t name = subject.n + 1, body = len <= SL_NATS_MAX_MESSAGE ? len : 0;
    struct natsc_message *msg = sl_alloc(sizeof *msg + name + body + 1);

    *msg = (struct natsc_message){.conn = conn, .sid = sid, .hash = hash, .len = len};
    memcpy(msg->subject, subject.s, subject.n);
    msg->subject[subject.n] = '\0';
    if (body < len)
        return msg;
    char *copy = msg->subject + name;
    if (len > 0)
        memcpy(copy, data, len);
    copy[len] = '\0';
    msg->data = copy;
    return msg;
}

static struct natsc_message *find(const struct natsc_mailbox *m, uint32_t conn, uint64_t hash,
                                  struct sl_text subject) {
    sl_map_foreach (i, &m->index, hash) {
        struct natsc_message *msg = m->slots.v[i];
        if (msg->conn == conn && sl_text_is(subject, msg->subject))
            return msg;
    }
    return NULL;
}

static void add(struct natsc_mailbox *m, struct natsc_message *msg) {
    if (m->spare.n > 0) {
        msg->slot = sl_vec_pop(&m->spare);
    } else {
        msg->slot = m->slots.n;
        *sl_vec_push(&m->slots) = NULL; /* pointers are meant: NOLINT(bugprone-sizeof-expression) */
    }
    m->slots.v[msg->slot] = msg;
    sl_map_add(&m->index, msg->hash, msg->slot);
    TAILQ_INSERT_TAIL(&m->waiting, msg, next);
    m->n++;
    m->bytes += weight(msg);
}

static void drop(struct natsc_mailbox *m, struct natsc_message *msg) {
    (void)sl_map_del(&m->index, msg->hash, msg->slot);
    m->slots.v[msg->slot] = NULL;
    *sl_vec_push(&m->spare) = msg->slot;
    TAILQ_REMOVE(&m->waiting, msg, next);
    m->n--;
    m->bytes -= weight(msg);
}

/* The newer one stands where the older one stood. */
static void replace(struct natsc_mailbox *m, struct natsc_message *old, struct natsc_message *msg) {
    if (old->sid != msg->sid)
        msg->sid = 0;
    msg->slot = old->slot;
    m->slots.v[msg->slot] = msg;
    TAILQ_INSERT_BEFORE(old, msg, next);
    TAILQ_REMOVE(&m->waiting, old, next);
    m->bytes += weight(msg) - weight(old);
    sl_freep(&old);
}

void natsc_mailbox_put(struct natsc_mailbox *m, uint32_t conn, uint32_t sid, struct sl_text subject,
                       const char *data, size_t len) {
    uint64_t hash = sl_hash_bytes(conn, subject.s, subject.n);
    struct natsc_message *old = find(m, conn, hash, subject);
    struct natsc_message *msg = message_new(conn, sid, hash, subject, data, len);

    if (m->bytes - (old ? weight(old) : 0) + weight(msg) > SL_NATS_MAX_WAITING_BYTES ||
        (!old && m->n >= SL_NATS_MAX_WAITING)) {
        m->dropped++;
        sl_freep(&msg);
    } else if (old) {
        replace(m, old, msg);
    } else {
        add(m, msg);
    }
}

struct natsc_message *natsc_mailbox_take(struct natsc_mailbox *m) {
    struct natsc_message *msg = TAILQ_FIRST(&m->waiting);

    if (msg)
        drop(m, msg);
    return msg;
}

void natsc_mailbox_purge(struct natsc_mailbox *m, uint32_t conn, uint32_t sid) {
    struct natsc_message *msg = TAILQ_FIRST(&m->waiting), *following;

    for (; msg; msg = following) {
        following = TAILQ_NEXT(msg, next);
        if (msg->conn != conn || (sid && msg->sid != sid))
            continue;
        drop(m, msg);
        sl_freep(&msg);
    }
}

void natsc_mailbox_done(struct natsc_mailbox *m) {
    struct natsc_message *msg;

    while ((msg = natsc_mailbox_take(m)))
        sl_freep(&msg);
    sl_map_done(&m->index);
    sl_vec_free(&m->slots);
    sl_vec_free(&m->spare);
}
