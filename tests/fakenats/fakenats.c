/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers, clients and their connections. A connection that is not up tries again and again; each
 * try is an event, and so is the end of whatever makes them fail. What is the case is asked when
 * something is due, so nothing has to be taken back.
 */
#include "fakenats.h"

#include <stdio.h>
#include <string.h>

#include "fakenats_int.h"

#define FIRST_PAUSE (500 * SL_MSEC)
#define LONGEST_PAUSE (20 * SL_SEC)
#define ANSWER (5 * SL_MSEC) /* a server's, to what it was sent */

struct conn *fn_conn(const struct client *c, uint32_t id) {
    for (uint32_t i = 0; id && i < MAX_CONNS; i++)
        if (c->conns[i].id == id)
            return (struct conn *)&c->conns[i];
    return NULL;
}

bool fn_is_silent(const struct fakenats *n, const struct server *s) {
    return fakeapi_now(n->api) < s->silent_until;
}

bool fn_is_away(const struct fakenats *n, const struct client *c, const struct server *s) {
    return fakeapi_now(n->api) < s->down_until || fakeapi_now(n->api) < c->cut_until;
}

/* ---- events for 'next' ---- */

void fn_waiting_done(struct waiting *w) {
    sl_freep(&w->subject);
    sl_freep(&w->data);
}

static struct sl_nats_event as_event(const struct waiting *w) {
    return (struct sl_nats_event){.kind = w->kind,
                                  .conn = {w->conn},
                                  .text = w->text,
                                  .subject = w->subject,
                                  .data = w->data,
                                  .len = w->len};
}

static void report(struct client *c, const struct waiting *w) {
    struct sl_nats_event e = as_event(w);

    if (c->n->on_event)
        c->n->on_event(c->n->on_event_ctx, (uint32_t)(c - c->n->clients), &e);
}

void fn_put(struct client *c, const struct conn *k, enum sl_nats_event_kind kind,
            const char *text) {
    struct waiting w = {.kind = kind, .conn = k->id};

    (void)snprintf(w.text, sizeof w.text, "%s", text);
    *sl_vec_push(&c->queue) = w;
    c->n->stats.ups += kind == SL_NATS_UP;
    c->n->stats.downs += kind == SL_NATS_DOWN;
    report(c, &w);
}

/* The newest of a subject takes the place of the one that waits. */
static struct waiting *same_subject(struct client *c, uint32_t conn, const char *subject) {
    for (uint32_t i = 0; i < c->queue.n; i++) {
        struct waiting *w = &c->queue.v[i];
        if (w->kind == SL_NATS_MESSAGE && w->conn == conn && strcmp(w->subject, subject) == 0)
            return w;
    }
    return NULL;
}

void fn_put_message(struct client *c, struct conn *k, const char *subject, const char *data,
                    size_t len) {
    struct waiting *old = same_subject(c, k->id, subject);
    struct waiting w = {.kind = SL_NATS_MESSAGE, .conn = k->id, .subject = sl_strdup(subject)};

    if (!old && c->messages == SL_NATS_MAX_WAITING) {
        c->port.dropped++;
        fn_waiting_done(&w);
        return;
    }
    w.len = len;
    if (len <= SL_NATS_MAX_MESSAGE) {
        w.data = sl_alloc(len + 1);
        memcpy(w.data, data, len);
        w.data[len] = '\0';
    }
    if (old) {
        fn_waiting_done(old);
        *old = w;
        c->n->stats.replaced++;
    } else {
        *sl_vec_push(&c->queue) = w;
        c->messages++;
    }
    c->n->stats.delivered++;
    report(c, &w);
}

static bool port_next(struct sl_nats_port *p, struct sl_nats_event *ret) {
    struct client *c = (struct client *)p;

    fn_waiting_done(&c->last);
    if (c->queue.n == 0)
        return false;
    c->last = c->queue.v[0];
    memmove(c->queue.v, c->queue.v + 1, --c->queue.n * sizeof *c->queue.v);
    c->messages -= c->last.kind == SL_NATS_MESSAGE;
    *ret = as_event(&c->last);
    return true;
}

/* ---- permissions ---- */

static uint64_t id_of(const struct client *c, const struct conn *k) {
    return (uint64_t)(c - c->n->clients) << 32 | k->id;
}

static void report_refused(void *ctx, uint64_t arg) {
    struct fakenats *n = ctx;
    struct client *c = &n->clients[arg >> 32];
    struct conn *k = fn_conn(c, (uint32_t)arg);
    char text[TEXT_BYTES];

    for (uint32_t i = 0; k && k->server != NO_SERVER && i < k->subjects.n; i++) {
        struct subject *s = &k->subjects.v[i];
        if (!s->refused || s->told)
            continue;
        s->told = true;
        (void)snprintf(text, sizeof text, "Permissions Violation for Subscription to \"%s\"",
                       s->name);
        fn_put(c, k, SL_NATS_ERROR, text);
    }
}

/* The server reads that it is subscribed to. */
static void ask_for(struct client *c, const struct conn *k, struct subject *s) {
    const char *forbidden = c->n->servers[k->server].forbidden;

    *s = (struct subject){s->name, forbidden && strcmp(forbidden, s->name) == 0, false};
    if (s->refused)
        fakeapi_at(c->n->api, fakeapi_now(c->n->api) + ANSWER, report_refused, c->n, id_of(c, k));
}

/* ---- connecting ---- */

static void try_now(void *ctx, uint64_t arg);

static void try_later(struct client *c, struct conn *k) {
    sl_span pause = FIRST_PAUSE << (k->tries < 6 ? k->tries : 6);
    struct fakenats *n = c->n;

    pause = pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE;
    k->tries++;
    fakeapi_at(n->api, fakeapi_now(n->api) + sl_prng_range(&n->prng, pause / 2, pause), try_now, n,
               id_of(c, k));
}

static bool same_secret(const char *expected, const char *given) {
    return !expected || (given && strcmp(expected, given) == 0);
}

/* Why the server does not let it in; NULL: it does. */
static const char *refusal(const struct fakenats *n, const struct client *c, const struct conn *k,
                           const struct server *s) {
    if (fn_is_away(n, c, s))
        return "connection refused";
    if (fn_is_silent(n, s))
        return "timeout";
    if (k->tls && !s->s.tls)
        return "secure connection not available";
    if (fakeapi_now(n->api) < s->denied_until || !same_secret(s->s.user, k->user) ||
        !same_secret(s->s.password, k->password) || !same_secret(s->s.token, k->token))
        return "authorization violation";
    return NULL;
}

static bool is_named(const struct conn *k, const struct server *s) {
    for (uint32_t i = 0; i < k->n; i++)
        if (strcmp(k->hosts[i], s->s.host) == 0 && k->ports[i] == s->s.port)
            return true;
    return false;
}

/* A server that lets it in, beginning anywhere; NO_SERVER, and why. */
static uint32_t find_server(struct client *c, const struct conn *k, const char **ret_why) {
    struct fakenats *n = c->n;
    uint32_t first = n->n_servers ? (uint32_t)sl_prng_below(&n->prng, n->n_servers) : 0;

    *ret_why = "no such host";
    for (uint32_t i = 0; i < n->n_servers; i++) {
        uint32_t at = (first + i) % n->n_servers;
        const struct server *s = &n->servers[at];
        if (!is_named(k, s) && s->s.cluster != k->cluster)
            continue;
        const char *why = refusal(n, c, k, s);
        if (!why)
            return at;
        *ret_why = why;
    }
    return NO_SERVER;
}

static void try_now(void *ctx, uint64_t arg) {
    struct fakenats *n = ctx;
    struct client *c = &n->clients[arg >> 32];
    struct conn *k = fn_conn(c, (uint32_t)arg);
    char text[TEXT_BYTES];
    const char *why;

    if (!k || k->server != NO_SERVER)
        return; /* closed */
    uint32_t at = find_server(c, k, &why);
    if (at == NO_SERVER) {
        /* The same reason is reported once, or now and then. */
        if (!k->told || strcmp(k->why, why) != 0 || sl_prng_one_in(&n->prng, 4))
            fn_put(c, k, SL_NATS_DOWN, why);
        k->told = true;
        (void)snprintf(k->why, sizeof k->why, "%s", why);
        try_later(c, k);
        return;
    }
    k->server = at;
    k->cluster = n->servers[at].s.cluster;
    k->epoch++;
    k->tries = 0;
    k->told = true;
    (void)snprintf(text, sizeof text, "nats://%s:%u (%u)", n->servers[at].s.host,
                   n->servers[at].s.port, n->servers[at].moved);
    fn_put(c, k, SL_NATS_UP, text);
    for (uint32_t i = 0; i < k->subjects.n; i++)
        ask_for(c, k, &k->subjects.v[i]);
}

static void end_conn(struct client *c, struct conn *k, const char *why) {
    k->server = NO_SERVER;
    k->epoch++;
    (void)snprintf(k->why, sizeof k->why, "%s", why);
    fn_put(c, k, SL_NATS_DOWN, why);
    try_later(c, k);
}

static void end_conns(struct fakenats *n, const struct server *s, const struct client *only,
                      const char *why) {
    for (uint32_t i = 0; i < FAKENATS_CLIENTS; i++)
        for (uint32_t j = 0; j < MAX_CONNS; j++) {
            struct client *c = &n->clients[i];
            struct conn *k = &c->conns[j];
            if (k->id && k->server != NO_SERVER && (!s || &n->servers[k->server] == s) &&
                (!only || c == only))
                end_conn(c, k, why);
        }
}

/* ---- the port ---- */

static void conn_done(struct conn *k) {
    for (uint32_t i = 0; i < k->subjects.n; i++)
        sl_freep(&k->subjects.v[i].name);
    sl_vec_free(&k->subjects);
    sl_freep(&k->user);
    sl_freep(&k->password);
    sl_freep(&k->token);
    *k = (struct conn){0};
}

static char *either(const char *wins, const char *other) {
    return wins ? sl_strdup(wins) : other ? sl_strdup(other) : NULL;
}

static int port_open(struct sl_nats_port *p, const struct sl_nats_connector *from,
                     const struct sl_nats_credentials *with, sl_nats_conn *ret,
                     struct sl_err *err) {
    static const struct sl_nats_credentials none = {0};
    struct client *c = (struct client *)p;
    struct conn *k = NULL;

    with = with ? with : &none;
    sl_assert(from->n > 0);
    if (strcmp(from->servers[0].host, FAKENATS_NEVER) == 0)
        return sl_err_set(err, SL_EINVAL, "cannot connect to %s", FAKENATS_NEVER);
    if (c->cannot_open)
        return sl_err_set(err, SL_EIO, "%s", c->cannot_open);
    for (uint32_t i = 0; i < MAX_CONNS && !k; i++)
        k = c->conns[i].id ? NULL : &c->conns[i];
    sl_assert(k); /* or it leaks them */
    *k = (struct conn){.id = ++c->n->ids,
                       .server = NO_SERVER,
                       .cluster = NO_SERVER,
                       .n = from->n,
                       .tls = from->tls};
    for (uint32_t i = 0; i < from->n; i++) {
        (void)snprintf(k->hosts[i], sizeof k->hosts[i], "%s", from->servers[i].host);
        k->ports[i] = from->servers[i].port;
    }
    k->user = either(with->user, from->user);
    k->password = either(with->password, from->password);
    k->token = either(with->token, from->token);
    fakeapi_at(c->n->api, fakeapi_now(c->n->api) + sl_prng_range(&c->n->prng, 0, 50 * SL_MSEC),
               try_now, c->n, id_of(c, k));
    *ret = (sl_nats_conn){k->id};
    return 0;
}

static uint32_t find_subject(const struct conn *k, const char *subject) {
    uint32_t i = 0;

    while (i < k->subjects.n && strcmp(k->subjects.v[i].name, subject) != 0)
        i++;
    return i;
}

static void port_subscribe(struct sl_nats_port *p, sl_nats_conn id, const char *subject) {
    struct conn *k = fn_conn((struct client *)p, id.v);

    sl_assert(k && find_subject(k, subject) == k->subjects.n);
    *sl_vec_push(&k->subjects) = (struct subject){.name = sl_strdup(subject)};
    if (k->server != NO_SERVER)
        ask_for((struct client *)p, k, &k->subjects.v[k->subjects.n - 1]);
}

static void port_unsubscribe(struct sl_nats_port *p, sl_nats_conn id, const char *subject) {
    struct conn *k = fn_conn((struct client *)p, id.v);

    sl_assert(k);
    uint32_t i = find_subject(k, subject);
    sl_assert(i < k->subjects.n);
    sl_freep(&k->subjects.v[i].name);
    k->subjects.v[i] = sl_vec_pop(&k->subjects);
}

/* What waits of the connection goes with it. */
static void port_close(struct sl_nats_port *p, sl_nats_conn id) {
    struct client *c = (struct client *)p;
    struct conn *k = fn_conn(c, id.v);
    uint32_t kept = 0;

    sl_assert(k);
    for (uint32_t i = 0; i < c->queue.n; i++) {
        if (c->queue.v[i].conn != id.v) {
            c->queue.v[kept++] = c->queue.v[i];
            continue;
        }
        c->messages -= c->queue.v[i].kind == SL_NATS_MESSAGE;
        fn_waiting_done(&c->queue.v[i]);
    }
    c->queue.n = kept;
    conn_done(k);
}

static const struct sl_nats_ops port_ops = {.open = port_open,
                                            .subscribe = port_subscribe,
                                            .unsubscribe = port_unsubscribe,
                                            .close = port_close,
                                            .next = port_next};

/* ---- life ---- */

struct fakenats *fakenats_new(struct fakeapi *a, uint64_t seed) {
    struct fakenats *n = sl_alloc0(1, sizeof *n);

    n->api = a;
    sl_prng_init(&n->prng, seed);
    for (uint32_t i = 0; i < FAKENATS_CLIENTS; i++)
        n->clients[i] = (struct client){.port.ops = &port_ops, .n = n};
    return n;
}

void fakenats_kill(struct fakenats *n, uint32_t client) {
    struct client *c = &n->clients[client];

    for (uint32_t i = 0; i < c->queue.n; i++)
        fn_waiting_done(&c->queue.v[i]);
    fn_waiting_done(&c->last);
    sl_vec_free(&c->queue);
    c->messages = 0;
    c->port.dropped = 0;
    for (uint32_t i = 0; i < MAX_CONNS; i++)
        if (c->conns[i].id)
            conn_done(&c->conns[i]);
}

void fakenats_free(struct fakenats *n) {
    if (!n)
        return;
    for (uint32_t i = 0; i < FAKENATS_CLIENTS; i++)
        fakenats_kill(n, i);
    for (uint32_t i = 0; i < n->flights.n; i++) {
        sl_freep(&n->flights.v[i].subject);
        sl_freep(&n->flights.v[i].data);
    }
    sl_vec_free(&n->flights);
    sl_vec_free(&n->free_flights);
    sl_freep(&n->poison);
    sl_freep(&n);
}

struct sl_nats_port *fakenats_port(struct fakenats *n, uint32_t client) {
    sl_assert(client < FAKENATS_CLIENTS);
    return &n->clients[client].port;
}

bool fakenats_pending(const struct fakenats *n, uint32_t client) {
    return n->clients[client].queue.n > 0;
}

uint32_t fakenats_open(const struct fakenats *n, uint32_t client) {
    uint32_t open = 0;

    for (uint32_t i = 0; i < MAX_CONNS; i++)
        open += n->clients[client].conns[i].id != 0;
    return open;
}

bool fakenats_is_up(const struct fakenats *n, uint32_t client, sl_nats_conn c) {
    const struct conn *k = fn_conn(&n->clients[client], c.v);

    return k && k->server != NO_SERVER;
}

uint32_t fakenats_cluster(const struct fakenats *n, uint32_t client, sl_nats_conn c) {
    const struct conn *k = fn_conn(&n->clients[client], c.v);

    return k ? k->cluster : NO_SERVER;
}

void fakenats_on_event(struct fakenats *n, fakenats_fn fn, void *ctx) {
    n->on_event = fn;
    n->on_event_ctx = ctx;
}

void fakenats_stats(const struct fakenats *n, struct fakenats_stats *ret) {
    *ret = n->stats;
}

/* ---- servers ---- */

uint32_t fakenats_serve(struct fakenats *n, const struct fakenats_server *s) {
    sl_assert(n->n_servers < FAKENATS_SERVERS);
    n->servers[n->n_servers] = (struct server){.s = *s};
    return n->n_servers++;
}

void fakenats_outage(struct fakenats *n, uint32_t server, sl_time until) {
    n->servers[server].down_until = until;
    if (until > fakeapi_now(n->api))
        end_conns(n, &n->servers[server], NULL, "connection reset");
}

/* The end of a silence: what was connected all the time may notice. */
static void silence_over(void *ctx, uint64_t server) {
    struct fakenats *n = ctx;

    if (!fn_is_silent(n, &n->servers[server]) && sl_prng_one_in(&n->prng, 2))
        end_conns(n, &n->servers[server], NULL, "stale connection");
}

void fakenats_silence(struct fakenats *n, uint32_t server, sl_time until) {
    n->servers[server].silent_until = until;
    fakeapi_at(n->api, until, silence_over, n, server);
}

void fakenats_deny(struct fakenats *n, uint32_t server, sl_time until) {
    n->servers[server].denied_until = until;
    if (until > fakeapi_now(n->api))
        end_conns(n, &n->servers[server], NULL, "authorization violation");
}

void fakenats_move(struct fakenats *n, uint32_t server, sl_time until) {
    n->servers[server].moved++;
    fakenats_outage(n, server, until);
}

void fakenats_forbid(struct fakenats *n, uint32_t server, const char *subject) {
    n->servers[server].forbidden = subject;
}

void fakenats_complain(struct fakenats *n, uint32_t server, const char *text) {
    for (uint32_t i = 0; i < FAKENATS_CLIENTS; i++)
        for (uint32_t j = 0; j < MAX_CONNS; j++)
            if (n->clients[i].conns[j].id && n->clients[i].conns[j].server == server)
                fn_put(&n->clients[i], &n->clients[i].conns[j], SL_NATS_ERROR, text);
}

void fakenats_cannot_open(struct fakenats *n, uint32_t client, const char *why) {
    n->clients[client].cannot_open = why;
}

void fakenats_cut(struct fakenats *n, uint32_t server) {
    end_conns(n, &n->servers[server], NULL, "connection reset");
}

void fakenats_partition(struct fakenats *n, uint32_t client, sl_time until) {
    struct client *c = &n->clients[client];

    c->cut_until = until;
    if (until > fakeapi_now(n->api))
        end_conns(n, NULL, c, "no route to host");
}
