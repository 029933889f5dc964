/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: attempts to connect, one server after the other, with pauses that grow, for ever;
 * and its life until the port closes it.
 */
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/nats/client_int.h"

#include <sys/random.h>

/* A connection that ends sooner counts as another failure. */
#define SETTLED_MS 10000u
#define LAST_FLUSH_MS 500u
#define MAX_SILENT 2u
#define SOME_BYTES 4096u  /* between pings: whoever sends less, and nothing whole, is not there */
#define MAX_ADDRESSES 16u /* of a server */
/* A resolver asks one name server after the other, 5 s each as a rule. */
#define LOOKUP_MS 20000u
/* What is read in a second, and at once: a server that sends more has to wait, and does not hold up
 * the loop. */
#define MAX_RATE ((int64_t)16 << 20)
#define MAX_BURST ((int64_t)1 << 20)

static void on_timer(uv_timer_t *t);

/* ---- time ---- */

static void wait_for(struct natsc_conn *c, enum natsc_state state, uint64_t ms) {
    c->state = state;
    (void)uv_timer_start(&c->timer, on_timer, ms, 0);
}

/* Exponential, between half and all of it: those who lost the same server come back one by one. */
static uint32_t back_off(struct natsc_conn *c) {
    uint64_t ms = c->pace.retry;

    for (uint32_t i = 0; i < c->failures && ms < c->pace.longest; i++)
        ms *= 2;
    if (ms > c->pace.longest)
        ms = c->pace.longest;
    return (uint32_t)(ms / 2 + sl_prng_below(&c->prng, ms / 2 + 1));
}

static void forgive(struct natsc_conn *c) {
    if (c->state == NATSC_UP && uv_now(c->client->loop) - c->up_since > SETTLED_MS)
        c->failures = 0;
}

/* Of the attempts of a round, the one that came farthest says most. */
static void keep_reason(struct natsc_conn *c, const char *why) {
    char name[300];

    if (c->state < c->farthest)
        return;
    c->farthest = c->state;
    natsc_server_name(natsc_servers_at(&c->servers), name, sizeof name);
    sl_fmt_short(c->why, sizeof c->why, "%s: %s", name, why);
}

static void pause_round(struct natsc_conn *c) {
    bool was_up = c->state == NATSC_UP;

    natsc_note(c, SL_NATS_DOWN, c->why);
    c->farthest = NATSC_PAUSE;
    forgive(c);
    bool soon = was_up && c->failures == 0;
    wait_for(c, NATSC_PAUSE,
             soon ? (uint32_t)sl_prng_below(&c->prng, c->pace.retry + 1) : back_off(c));
    c->failures++;
    c->tried = 0;
}

/* ---- how much is read ---- */

static void refill(struct natsc_conn *c) {
    uint64_t now = uv_now(c->client->loop);
    int64_t ms = now - c->counted < 1000 ? (int64_t)(now - c->counted) : 1000;

    c->budget += ms * MAX_RATE / 1000;
    if (c->budget > MAX_BURST)
        c->budget = MAX_BURST;
    c->counted = now;
}

static void on_throttled(uv_timer_t *t) {
    struct natsc_conn *c = t->data;
    struct sl_err err;

    refill(c);
    if (c->socket && natsc_socket_read(c->socket, &err) < 0)
        natsc_conn_lose(c, err.text);
}

static void spend(struct natsc_conn *c, size_t n) {
    refill(c);
    c->budget -= (int64_t)n;
    if (c->budget >= 0)
        return;
    natsc_socket_stop_reading(c->socket);
    (void)uv_timer_start(&c->throttle, on_throttled, (uint64_t)(-c->budget * 1000 / MAX_RATE) + 1,
                         0);
}

/* ---- the socket ---- */

static void drop_attempt(struct natsc_conn *c) {
    natsc_socket_close(TAKE_PTR(c->socket));
    (void)uv_timer_stop(&c->throttle);
    natsc_parser_done(&c->parser);
    natsc_parser_init(&c->parser);
    for (uint32_t i = 0; i < c->subscriptions.n; i++)
        c->subscriptions.v[i].asked = false;
    struct natsc_sending *s;
    TAILQ_FOREACH(s, &c->sending, next)
    s->ping = 0;
    c->pings = c->pongs = 0;
    c->max_payload = 0;
    c->silent = 0;
    c->budget = MAX_BURST;
}

static void on_connected(void *arg) {
    struct natsc_conn *c = arg;

    c->state = NATSC_GREETING; /* until the same time */
}

static void on_secured(void *arg) {
    natsc_protocol_login(arg);
}

static void on_received(void *arg, size_t n) {
    struct natsc_conn *c = arg;

    spend(c, n);
    c->unfinished += n;
    if (c->unfinished >= SOME_BYTES) { /* a long message is on its way */
        c->unfinished = 0;
        c->silent = 0;
    }
}

static void on_data(void *arg, struct sl_text in) {
    natsc_protocol_data(arg, in);
}

static void on_sent(void *arg) {
    natsc_protocol_pump(arg);
}

static void on_lost(void *arg, const char *why) {
    natsc_conn_lose(arg, why);
}

static const struct natsc_socket_events on_socket = {
    .connected = on_connected,
    .secured = on_secured,
    .received = on_received,
    .data = on_data,
    .sent = on_sent,
    .lost = on_lost,
};

/* ---- attempts ---- */

/* Not at once: attempts that fail without waiting would be within each other. */
static void fail_soon(struct natsc_conn *c, const char *why) {
    sl_fmt_short(c->failure, sizeof c->failure, "%s", why);
    wait_for(c, c->state, 0);
}

static void dial(struct natsc_conn *c) {
    struct sl_err err;

    c->dialled++;
    wait_for(c, NATSC_DIAL, c->pace.connect);
    c->socket = natsc_socket_new(c->client->loop, c->client->buffer, &on_socket, c);
    if (natsc_socket_connect(c->socket, c->address->ai_addr, &err) < 0)
        fail_soon(c, err.text);
}

static void on_addresses(void *arg) {
    struct natsc_conn *c = arg;
    const char *why;

    c->address = natsc_lookup_found(c->lookup, &why);
    if (c->address)
        dial(c);
    else
        natsc_conn_lose(c, why);
}

/* The next one: that of the last connection comes last. */
static void try_server(struct natsc_conn *c) {
    struct sl_err err;

    natsc_servers_next(&c->servers, c->tried++);
    const struct natsc_server *s = natsc_servers_at(&c->servers);
    c->dialled = 0;
    wait_for(c, NATSC_LOOKUP, LOOKUP_MS);
    if (natsc_lookup_start(c->client->loop, s->host, s->port, on_addresses, c, &c->lookup, &err) <
        0)
        fail_soon(c, err.text);
}

/* A host that answers at one address and is mute at another is there. */
static bool next_address(struct natsc_conn *c) {
    if (c->state == NATSC_UP || !c->address || c->dialled == MAX_ADDRESSES)
        return false;
    c->address = c->address->ai_next;
    return c->address != NULL;
}

static void drop_addresses(struct natsc_conn *c) {
    natsc_lookup_end(TAKE_PTR(c->lookup));
    c->address = NULL;
}

void natsc_conn_lose(struct natsc_conn *c, const char *why) {
    keep_reason(c, why);
    drop_attempt(c);
    if (c->closing) {
        natsc_conn_end(c);
    } else if (next_address(c)) {
        dial(c);
    } else {
        drop_addresses(c);
        if (c->state == NATSC_UP || c->tried >= c->servers.n)
            pause_round(c);
        else
            try_server(c);
    }
}

void natsc_conn_move(struct natsc_conn *c, const char *why) {
    forgive(c);
    if (c->closing || c->servers.n < 2 || c->failures > 0) {
        natsc_conn_lose(c, why);
        return;
    }
    c->failures++; /* one server after the other could ask for it */
    drop_attempt(c);
    try_server(c);
}

void natsc_conn_up(struct natsc_conn *c) {
    char name[300];

    drop_addresses(c);
    c->farthest = NATSC_PAUSE;
    c->up_since = uv_now(c->client->loop);
    c->tried = 0;
    natsc_server_name(natsc_servers_at(&c->servers), name, sizeof name);
    natsc_note(c, SL_NATS_UP, name);
    wait_for(c, NATSC_UP, c->pace.ping);
    natsc_protocol_pump(c);
}

static const char *const too_late[] = {
    [NATSC_LOOKUP] = "looking up the name takes too long",
    [NATSC_DIAL] = "no answer in time",
    [NATSC_GREETING] = "no answer in time: no NATS server, or one that begins with TLS",
    [NATSC_HANDSHAKE] = "no answer in time within TLS",
    [NATSC_LOGIN] = "no answer in time",
};

static void on_timer(uv_timer_t *t) {
    struct natsc_conn *c = t->data;

    if (c->closing) {
        natsc_conn_end(c);
    } else if (c->state == NATSC_PAUSE) {
        try_server(c);
    } else if (c->state != NATSC_UP) {
        char why[NATSC_TEXT];
        sl_fmt_short(why, sizeof why, "%s", c->failure[0] ? c->failure : too_late[c->state]);
        c->failure[0] = '\0';
        natsc_conn_lose(c, why);
    } else if (c->silent >= MAX_SILENT) {
        natsc_conn_lose(c, "the server does not answer pings");
    } else {
        c->silent++;
        c->unfinished = 0;
        wait_for(c, NATSC_UP, c->pace.ping);
        natsc_protocol_ping(c);
    }
}

/* ---- its life ---- */

static void init_timer(struct natsc_conn *c, uv_timer_t *t) {
    sl_assert(uv_timer_init(c->client->loop, t) == 0);
    t->data = c;
    c->n_handles++;
}

int natsc_conn_new(struct sl_nats_client *client, const struct sl_nats_connector *from,
                   const struct sl_nats_credentials *with, struct natsc_conn **ret,
                   struct sl_err *err) {
    struct natsc_conn *c = sl_alloc0(1, sizeof *c);
    uint64_t seed = 0;
    int r = natsc_identity_init(&c->who, from, with, err);

    if (r < 0) {
        sl_freep(&c);
        return r;
    }
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)(uintptr_t)c; /* for jitter, that will do */
    sl_prng_init(&c->prng, seed);
    natsc_servers_init(&c->servers, from, &c->prng);
    TAILQ_INIT(&c->sending);
    c->client = client;
    c->pace = client->pace;
    client->refs++;
    init_timer(c, &c->timer);
    init_timer(c, &c->throttle);
    natsc_parser_init(&c->parser);
    drop_attempt(c);
    wait_for(c, NATSC_PAUSE, 0); /* no event comes from within a call */
    *ret = c;
    return SL_OK;
}

static void on_closed(uv_handle_t *h) {
    struct natsc_conn *c = h->data;

    if (--c->n_handles > 0)
        return;
    natsc_client_unref(c->client);
    sl_freep(&c);
}

static void drop_requests(struct natsc_conn *c) {
    struct natsc_sending *s;

    while ((s = TAILQ_FIRST(&c->sending))) {
        TAILQ_REMOVE(&c->sending, s, next);
        sl_freep(&s);
    }
    for (uint32_t i = 0; i < c->subscriptions.n; i++)
        sl_freep(&c->subscriptions.v[i].subject);
    sl_vec_free(&c->subscriptions);
}

void natsc_conn_end(struct natsc_conn *c) {
    TAILQ_REMOVE(&c->client->leaving, c, next);
    drop_attempt(c);
    drop_addresses(c);
    natsc_parser_done(&c->parser);
    drop_requests(c);
    natsc_identity_done(&c->who);
    uv_close((uv_handle_t *)&c->timer, on_closed);
    uv_close((uv_handle_t *)&c->throttle, on_closed);
}

void natsc_conn_close(struct natsc_conn *c) {
    struct sl_nats_client *client = c->client;

    client->n_notes -= c->n_note + c->n_errors;
    c->n_note = c->n_errors = 0;
    natsc_mailbox_purge(&client->box, c->id, 0);
    TAILQ_REMOVE(&client->conns, c, next);
    TAILQ_INSERT_TAIL(&client->leaving, c, next);
    client->n_conns--;
    c->closing = true;
    if (c->state == NATSC_UP && c->n_sending > 0)
        wait_for(c, NATSC_UP, LAST_FLUSH_MS);
    else
        natsc_conn_end(c);
}
