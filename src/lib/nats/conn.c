/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of one connection. It makes what is as what the loop asks for, one step at a time:
 * connect, subscribe, unsubscribe, publish; and it waits when there is nothing to do. All static
 * functions here are called with the client's lock, and release it around calls of the library.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/fmt.h"
#include "lib/nats/client_int.h"

/* A connection that ends sooner counts as another failure. */
#define SETTLED (10 * SL_SEC)
#define FLUSH_MS 2000
#define LAST_FLUSH_MS 500
#define STUCK_MS 100 /* the library is about to report the end of the connection */

static void lock(struct natsc_conn *c) {
    (void)pthread_mutex_lock(&c->client->lock);
}

static void unlock(struct natsc_conn *c) {
    (void)pthread_mutex_unlock(&c->client->lock);
}

static sl_time now(void) {
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SL_SEC + t.tv_nsec;
}

/* ---- connecting ---- */

/* Exponential, between half and all of it: those who lost the same server come back one by one. */
static uint32_t back_off(struct natsc_conn *c) {
    uint64_t ms = c->pace.retry;

    for (uint32_t i = 0; i < c->failures && ms < c->pace.longest; i++)
        ms *= 2;
    if (ms > c->pace.longest)
        ms = c->pace.longest;
    return (uint32_t)(ms / 2 + sl_prng_below(&c->dice, ms / 2 + 1));
}

static void pause_for(struct natsc_conn *c, uint32_t ms) {
    sl_time until = now() + ms * SL_MSEC;
    struct timespec t = {until / SL_SEC, until % SL_SEC};

    while (!c->closing && pthread_cond_timedwait(&c->wake, &c->client->lock, &t) != ETIMEDOUT)
        ;
}

static natsStatus connect_by(struct natsc_conn *c, natsOptions *o, bool *ret_late) {
    sl_time begin = now();
    timer_t guard;
    bool guarded = natsc_guard_begin(c->pace.connect + c->pace.connect / 5, &guard);
    natsStatus s = natsConnection_Connect(&c->nc, o);

    if (guarded)
        natsc_guard_end(guard);
    *ret_late = now() - begin >= c->pace.connect * SL_MSEC;
    return s;
}

/* One attempt, without the lock. */
static bool try_server(struct natsc_conn *c, const struct natsc_server *s, struct natsc_link *link,
                       char why[NATSC_TEXT]) {
    natsOptions *o = NULL;
    struct sl_err err;
    bool late;

    if (natsc_options_new(&c->who, s, &c->pace, link, &o, &err) < 0) {
        sl_fmt_short(why, NATSC_TEXT, "%s", err.text);
        return false;
    }
    natsStatus status = connect_by(c, o, &late);
    natsOptions_Destroy(o);
    if (status == NATS_OK)
        return true;
    if (late)
        natsc_reason(NATS_TIMEOUT, NULL, why);
    else if (status == NATS_NO_SERVER)
        natsc_reason_of_host(s, c->pace.connect, why);
    else
        natsc_reason(status, nats_GetLastError(NULL), why);
    c->nc = NULL;
    return false;
}

static bool attempt(struct natsc_conn *c, const struct natsc_server *s, char text[NATSC_TEXT]) {
    struct natsc_link *link = natsc_link_new(c, 2); /* ours and that of the last callback */
    char why[NATSC_TEXT], name[300];

    c->connecting = true;
    unlock(c);
    bool up = try_server(c, s, link, why);
    natsc_server_name(s, name, sizeof name);
    lock(c);
    c->connecting = false;
    if (up) {
        c->link = link;
        sl_fmt_short(text, NATSC_TEXT, "%s", name);
        return true;
    }
    sl_fmt_short(text, NATSC_TEXT, "%s: %s", name, why);
    link->conn = NULL;
    natsc_link_unref(link, 2);
    lock(c);
    return false;
}

/* Tries each server once, that of the last connection last. */
static void connect_once(struct natsc_conn *c) {
    char text[NATSC_TEXT] = "";

    for (uint32_t i = 0, n = c->n_servers; i < n && !c->closing; i++) {
        c->at = (c->at + 1) % n;
        if (!attempt(c, &c->servers[c->at], text))
            continue;
        c->up_since = now();
        c->link->moved = true;
        natsc_note(c, SL_NATS_UP, text);
        return;
    }
    if (c->closing)
        return;
    natsc_note(c, SL_NATS_DOWN, text);
    pause_for(c, back_off(c));
    c->failures++;
}

/* ---- servers that a server announces ---- */

static bool is_known(const struct natsc_conn *c, const struct sl_nats_server *s) {
    for (uint32_t i = 0; i < c->n_servers; i++)
        if (c->servers[i].port == s->port && strcmp(c->servers[i].host, s->host) == 0)
            return true;
    return false;
}

static bool is_address(const char *host) {
    return strchr(host, ':') || host[strspn(host, "0123456789.")] == '\0';
}

/* Addresses that are announced have the certificate of the name that was connected to. */
static void add_server(struct natsc_conn *c, const struct sl_nats_server *s, const char *tls_name) {
    struct natsc_server *own = &c->servers[c->n_servers];

    if (is_known(c, s) || c->n_servers - c->n_named >= NATSC_MAX_DISCOVERED)
        return;
    *own = (struct natsc_server){.port = s->port};
    sl_fmt(own->host, sizeof own->host, "%s", s->host);
    if (is_address(s->host) && !is_address(tls_name))
        sl_fmt(own->tls_name, sizeof own->tls_name, "%s", tls_name);
    c->n_servers++;
}

static void take_servers(struct natsc_conn *c, char **list, int n) {
    const struct natsc_server at = c->servers[c->at];
    _cleanup_(sl_arena_done) struct sl_arena a = SL_ARENA((size_t)1 << 20);
    struct sl_nats_connector one;

    if (n > 0)
        c->n_servers = c->n_named;
    for (int i = 0; i < n; i++)
        if (sl_nats_connector_parse(list[i], strlen(list[i]), &a, &one, NULL) >= 0 && one.n == 1)
            add_server(c, &one.servers[0], at.tls_name[0] ? at.tls_name : at.host);
    c->at = 0; /* the present one may have gone; then the order is that of the list */
    for (uint32_t i = 0; i < c->n_servers; i++)
        if (c->servers[i].port == at.port && strcmp(c->servers[i].host, at.host) == 0)
            c->at = i;
}

static void learn_servers(struct natsc_conn *c) {
    char **list = NULL;
    int n = 0;

    c->link->moved = false;
    unlock(c);
    if (natsConnection_GetDiscoveredServers(c->nc, &list, &n) != NATS_OK)
        n = 0;
    take_servers(c, list, n);
    for (int i = 0; i < n; i++)
        free(list[i]); /* the library's */
    free(list);
    lock(c);
}

/* ---- the end of a connection ---- */

static void disconnect(struct natsc_conn *c) {
    struct natsc_link *link = c->link;

    natsSubscription *subs[SL_NATS_MAX_SUBJECTS];
    uint32_t n = c->wants.n;

    for (uint32_t i = 0; i < n; i++)
        subs[i] = TAKE_PTR(c->wants.v[i].sub);
    c->link = NULL;
    link->conn = NULL;
    natsc_link_unref(link, 1);
    for (uint32_t i = 0; i < n; i++)
        natsSubscription_Destroy(subs[i]);
    natsConnection_Destroy(TAKE_PTR(c->nc));
    lock(c);
}

static void lose(struct natsc_conn *c) {
    char name[300], text[NATSC_TEXT];

    natsc_server_name(&c->servers[c->at], name, sizeof name);
    sl_fmt_short(text, sizeof text, "%s: %s", name, c->link->why);
    natsc_note(c, SL_NATS_DOWN, text);
    disconnect(c);
    if (now() - c->up_since > SETTLED)
        c->failures = 0;
    pause_for(c, c->failures ? back_off(c) : (uint32_t)sl_prng_below(&c->dice, c->pace.retry + 1));
    c->failures++;
}

/* ---- subjects ---- */

static void remove_want(struct natsc_conn *c, uint32_t i) {
    sl_freep(&c->wants.v[i].subject);
    c->wants.v[i] = sl_vec_pop(&c->wants);
}

static void unsubscribe(struct natsc_conn *c, uint32_t i) {
    natsSubscription *sub = TAKE_PTR(c->wants.v[i].sub);

    if (sub) {
        unlock(c);
        (void)natsSubscription_Unsubscribe(sub); /* fails if the connection is closed */
        natsSubscription_Destroy(sub);
        lock(c);
    }
    remove_want(c, i);
}

/* False: the connection is about to end. */
static bool subscribe(struct natsc_conn *c, uint32_t i) {
    struct natsc_link *link = c->link;
    _cleanup_(sl_freep) char *subject = sl_strdup(c->wants.v[i].subject);
    uint32_t id = c->wants.v[i].id;
    natsSubscription *sub = NULL;
    struct sl_err err;

    unlock(c);
    int r = natsc_link_subscribe(link, c->nc, subject, id, &sub, &err);
    lock(c);
    c->wants.v[i].sub = sub;
    if (r != SL_EINVAL)
        return r >= 0;
    c->wants.v[i].refused = true;
    natsc_note(c, SL_NATS_ERROR, err.text);
    return true;
}

static bool subscribe_or_wait(struct natsc_conn *c, uint32_t i) {
    if (!subscribe(c, i))
        pause_for(c, STUCK_MS);
    return true;
}

/* ---- publishing ---- */

/* Without the lock: the server has it, or the connection is to blame (NATS_OK, other). */
static natsStatus send_one(struct natsc_conn *c, const struct natsc_sending *s, int64_t ms) {
    natsStatus status = natsConnection_Publish(c->nc, s->subject, s->data, (int)s->len);

    return status == NATS_OK ? natsConnection_FlushTimeout(c->nc, ms) : status;
}

static bool is_newer_waiting(const struct natsc_conn *c, const struct natsc_sending *s) {
    const struct natsc_sending *other;

    TAILQ_FOREACH(other, &c->sending, next)
    if (strcmp(other->subject, s->subject) == 0)
        return true;
    return false;
}

/* What is not confirmed is sent again, on this connection or the next. */
static void publish(struct natsc_conn *c, int64_t ms) {
    struct natsc_sending *s = TAILQ_FIRST(&c->sending);
    char why[NATSC_TEXT];

    TAILQ_REMOVE(&c->sending, s, next);
    unlock(c);
    natsStatus status = send_one(c, s, ms);
    lock(c);
    bool refused = status == NATS_MAX_PAYLOAD || status == NATS_INVALID_SUBJECT;
    if (refused) {
        natsc_reason(status, NULL, why);
        natsc_note(c, SL_NATS_ERROR, why);
    }
    if (status != NATS_OK && !refused && !is_newer_waiting(c, s)) {
        TAILQ_INSERT_HEAD(&c->sending, s, next);
        pause_for(c, STUCK_MS);
        return;
    }
    sl_freep(&s);
    c->n_sending--;
    natsc_wake(c->client);
}

/* ---- the thread ---- */

/* One step; false: there is nothing to do. */
static bool work(struct natsc_conn *c) {
    for (uint32_t i = 0; i < c->wants.n; i++) {
        const struct natsc_want *w = &c->wants.v[i];
        if (!w->wanted) {
            unsubscribe(c, i);
            return true;
        }
        if (!w->sub && !w->refused)
            return subscribe_or_wait(c, i);
    }
    if (TAILQ_EMPTY(&c->sending))
        return false;
    publish(c, FLUSH_MS);
    return true;
}

static void step(struct natsc_conn *c) {
    if (!c->nc)
        connect_once(c);
    else if (c->link->lost)
        lose(c);
    else if (c->link->moved)
        learn_servers(c);
    else if (!work(c))
        (void)pthread_cond_wait(&c->wake, &c->client->lock);
}

void *natsc_conn_main(void *conn) {
    struct natsc_conn *c = conn;

    natsc_guard_mask(NULL);
    lock(c);
    while (!c->closing)
        step(c);
    while (c->nc && !c->link->lost && !TAILQ_EMPTY(&c->sending) && c->n_sending > 0) {
        uint32_t before = c->n_sending;
        publish(c, LAST_FLUSH_MS);
        if (c->n_sending == before)
            break;
    }
    if (c->nc)
        disconnect(c);
    unlock(c);
    nats_ReleaseThreadMemory();
    natsc_conn_ended(c);
    return NULL;
}
