/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks of the library, in its threads. They copy what they bring and wake somebody. Each has a
 * reference to its link: the one about the end of a connection is the last of that connection, and
 * each subscription reports that no message follows.
 */
#include <string.h>

#include "core/base/fmt.h"
#include "lib/nats/client_int.h"

void natsc_on_closed(natsConnection *nc, void *link) {
    struct natsc_link *l = link;
    struct sl_nats_client *client = l->client;
    char why[NATSC_TEXT];
    const char *text = NULL;

    natsStatus s = natsConnection_GetLastError(nc, &text);
    natsc_reason(s == NATS_OK ? NATS_CONNECTION_CLOSED : s, text, why);
    (void)pthread_mutex_lock(&client->lock);
    l->lost = true;
    if (!l->why[0])
        sl_fmt(l->why, sizeof l->why, "%s", why);
    if (l->conn)
        (void)pthread_cond_signal(&l->conn->wake);
    natsc_link_unref(l, 1);
}

void natsc_on_discovered(natsConnection *nc, void *link) {
    struct natsc_link *l = link;

    (void)nc;
    (void)pthread_mutex_lock(&l->client->lock);
    l->moved = true;
    if (l->conn)
        (void)pthread_cond_signal(&l->conn->wake);
    (void)pthread_mutex_unlock(&l->client->lock);
}

/* The library counts from the start of a subscription. */
static void count_dropped(struct natsc_link *l, int64_t sub, int64_t dropped) {
    struct natsc_tap *t;

    LIST_FOREACH(t, &l->taps, next) {
        if (t->sub != sub || dropped <= t->dropped)
            continue;
        l->client->box.dropped += (uint64_t)(dropped - t->dropped);
        t->dropped = dropped;
    }
}

void natsc_on_error(natsConnection *nc, natsSubscription *sub, natsStatus s, void *link) {
    struct natsc_link *l = link;
    char why[NATSC_TEXT];
    const char *text = nats_GetLastError(NULL);
    int64_t dropped = 0;

    if (!text || !*text)
        (void)natsConnection_GetLastError(nc, &text);
    natsc_reason(s, text, why);
    if (s == NATS_SLOW_CONSUMER && natsSubscription_GetDropped(sub, &dropped) != NATS_OK)
        dropped = 0;
    int64_t id = sub ? natsSubscription_GetID(sub) : 0;
    (void)pthread_mutex_lock(&l->client->lock);
    count_dropped(l, id, dropped);
    if (s == NATS_CONNECTION_AUTH_FAILED) /* the server closes it; this is why */
        sl_fmt(l->why, sizeof l->why, "%s", why);
    else if (l->conn)
        natsc_note(l->conn, SL_NATS_ERROR, why);
    (void)pthread_mutex_unlock(&l->client->lock);
}

/* ---- subscriptions ---- */

static bool is_wanted(const struct natsc_conn *c, uint32_t want) {
    for (uint32_t i = 0; i < c->wants.n; i++)
        if (c->wants.v[i].id == want)
            return c->wants.v[i].wanted;
    return false;
}

static void on_message(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure) {
    const struct natsc_tap *t = closure;
    struct sl_nats_client *client = t->link->client;
    int len = natsMsg_GetDataLength(msg);

    (void)nc;
    (void)sub;
    (void)pthread_mutex_lock(&client->lock);
    struct natsc_conn *c = t->link->conn;
    if (c && !c->closing && is_wanted(c, t->want)) {
        natsc_mailbox_put(&client->box, c->id, t->want, natsMsg_GetSubject(msg),
                          natsMsg_GetData(msg), len > 0 ? (size_t)len : 0);
        natsc_wake(client);
    }
    (void)pthread_mutex_unlock(&client->lock);
    natsMsg_Destroy(msg);
}

static void on_last_message(void *closure) {
    struct natsc_tap *t = closure;
    struct natsc_link *l = t->link;

    (void)pthread_mutex_lock(&l->client->lock);
    LIST_REMOVE(t, next);
    sl_freep(&t);
    natsc_link_unref(l, 1);
}

int natsc_link_subscribe(struct natsc_link *l, natsConnection *nc, const char *subject,
                         uint32_t want, natsSubscription **ret, struct sl_err *err) {
    struct natsc_tap *t = sl_alloc0(1, sizeof *t);
    natsSubscription *sub = NULL;

    t->link = l;
    t->want = want;
    (void)pthread_mutex_lock(&l->client->lock);
    l->refs++;
    LIST_INSERT_HEAD(&l->taps, t, next);
    (void)pthread_mutex_unlock(&l->client->lock);
    natsStatus s = natsConnection_Subscribe(&sub, nc, subject, on_message, t);
    if (s != NATS_OK) {
        on_last_message(t);
        return sl_err_set(err, s == NATS_INVALID_SUBJECT ? SL_EINVAL : SL_EIO,
                          "cannot subscribe to %.80s: %s", subject, natsStatus_GetText(s));
    }
    int64_t id = natsSubscription_GetID(sub);
    (void)pthread_mutex_lock(&l->client->lock);
    t->sub = id;
    (void)pthread_mutex_unlock(&l->client->lock);
    /* If these fail, the connection is being closed. The tap then stays until the client ends. */
    (void)natsSubscription_SetOnCompleteCB(sub, on_last_message, t);
    (void)natsSubscription_SetPendingLimits(sub, (int)SL_NATS_MAX_PENDING,
                                            (int)SL_NATS_MAX_PENDING_BYTES);
    *ret = sub;
    return SL_OK;
}
