/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol: what the server says, and what it is told. */
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "lib/nats/client_int.h"

/* What is put at a time; the rest follows when it is sent. */
#define BATCH ((size_t)32 << 10)
#define MAX_INFO_VALUES 4096u

/* ---- sending ---- */

static void flush(struct natsc_conn *c) {
    struct sl_err err;

    if (natsc_socket_flush(c->socket, &err) < 0)
        natsc_conn_lose(c, err.text);
}

static void put_ping(struct natsc_conn *c) {
    c->pings++;
    sl_buf_puts(natsc_socket_out(c->socket), "PING\r\n");
}

void natsc_protocol_ping(struct natsc_conn *c) {
    put_ping(c);
    flush(c);
}

static bool has_room(const struct natsc_conn *c) {
    return natsc_socket_unsent(c->socket) < BATCH;
}

static void ask(struct natsc_conn *c) {
    for (uint32_t i = 0; i < c->subscriptions.n && has_room(c); i++) {
        struct natsc_subscription *w = &c->subscriptions.v[i];
        if (!w->asked)
            sl_buf_printf(natsc_socket_out(c->socket), "SUB %s %u\r\n", w->subject, w->id);
        w->asked = true;
    }
}

static void forget(struct natsc_conn *c, struct natsc_sending *s) {
    TAILQ_REMOVE(&c->sending, s, next);
    c->n_sending--;
    sl_freep(&s);
}

static void refuse_to_send(struct natsc_conn *c, struct natsc_sending *s) {
    char text[NATSC_TEXT];

    sl_fmt_short(text, sizeof text, "the server takes no message of more than %lld bytes",
                 (long long)c->max_payload);
    natsc_note(c, SL_NATS_ERROR, text);
    forget(c, s);
}

static void send_one(struct natsc_conn *c, struct natsc_sending *s) {
    struct sl_buf *out = natsc_socket_out(c->socket);

    sl_buf_printf(out, "PUB %s %zu\r\n", s->subject, s->len);
    sl_buf_add(out, s->data, s->len);
    sl_buf_puts(out, "\r\n");
    s->ping = c->pings + 1;
}

static void send_messages(struct natsc_conn *c) {
    struct natsc_sending *s = TAILQ_FIRST(&c->sending), *following;
    bool sent = false;

    for (; s && has_room(c); s = following) {
        following = TAILQ_NEXT(s, next);
        if (s->ping)
            continue;
        if (c->max_payload > 0 && s->len > (uint64_t)c->max_payload) {
            refuse_to_send(c, s);
            continue;
        }
        send_one(c, s);
        sent = true;
    }
    if (sent)
        put_ping(c); /* its answer confirms them all */
}

void natsc_protocol_pump(struct natsc_conn *c) {
    if (c->state != NATSC_UP)
        return;
    ask(c);
    send_messages(c);
    flush(c);
}

void natsc_protocol_unsubscribe(struct natsc_conn *c, uint32_t sid) {
    if (c->state != NATSC_UP)
        return;
    sl_buf_printf(natsc_socket_out(c->socket), "UNSUB %u\r\n", sid);
    flush(c);
}

/* ---- the beginning ---- */

void natsc_protocol_login(struct natsc_conn *c) {
    struct sl_err err;

    c->state = NATSC_LOGIN; /* until the same time */
    if (natsc_identity_connect(&c->who, sl_text_of(c->nonce), natsc_socket_out(c->socket), &err) <
        0) {
        natsc_conn_lose(c, err.text);
        return;
    }
    natsc_protocol_ping(c);
}

/* The authorities of the system are read when they are needed first, for all connections. */
static int find_trust(struct natsc_conn *c, struct natsc_trust **ret, struct sl_err *err) {
    struct sl_nats_client *client = c->client;
    int r = SL_OK;

    if (!c->who.trust && !client->system)
        r = natsc_trust_new(NULL, NULL, NULL, &client->system, err);
    *ret = c->who.trust ? c->who.trust : client->system;
    return r;
}

static void secure(struct natsc_conn *c) {
    const struct natsc_server *s = natsc_servers_at(&c->servers);
    const char *host = s->tls_name[0] ? s->tls_name : s->host;
    struct natsc_trust *trust = NULL;
    struct sl_err err;

    c->state = NATSC_HANDSHAKE; /* until the same time */
    int r = find_trust(c, &trust, &err);
    if (r >= 0)
        r = natsc_socket_secure(c->socket, trust, host, &err);
    if (r < 0)
        natsc_conn_lose(c, err.text);
}

/* Their names are shown, so they must not be credentials. */
static void announce(struct natsc_conn *c, yyjson_val *info, bool believed) {
    yyjson_val *urls = sl_json_get(info, "connect_urls"), *url;
    size_t i, n;

    yyjson_arr_foreach (urls, i, n, url)
        if (i < NATSC_MAX_ANNOUNCED && natsc_identity_shows(&c->who, sl_json_view(url)))
            return;
    natsc_servers_announce(&c->servers, urls, believed);
}

static void greet(struct natsc_conn *c, yyjson_val *info, bool more) {
    bool demands = sl_json_bool(info, "tls_required", false);
    bool offers = demands || sl_json_bool(info, "tls_available", false);
    bool tls = c->who.tls || demands;
    struct sl_text nonce = sl_json_view(sl_json_get(info, "nonce"));

    if (nonce.n > NATSC_MAX_NONCE || sl_text_has_nul(nonce)) {
        natsc_conn_lose(c, "this is no NATS server: a strange nonce");
        return;
    }
    memcpy(c->nonce, nonce.s, nonce.n);
    c->nonce[nonce.n] = '\0';
    /* In clear, anybody could name a host of their own, with a certificate of a public authority.
     */
    announce(c, info, !tls || c->who.own_ca);
    if (c->who.tls && !offers)
        natsc_conn_lose(c, "the server offers no TLS, which tls:// demands");
    else if (tls && more) /* it would pass for what comes within TLS */
        natsc_conn_lose(c, "the server does not wait for TLS to begin");
    else if (tls)
        secure(c);
    else
        natsc_protocol_login(c);
}

/* ---- hearing ---- */

static void handle_info(struct natsc_conn *c, const struct natsc_frame *frame, bool more) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;

    if (sl_json_read_within(frame->text.s, frame->text.n, MAX_INFO_VALUES, &doc, NULL) < 0 ||
        !yyjson_is_obj(yyjson_doc_get_root(doc))) {
        natsc_conn_lose(c, "this is no NATS server: a malformed INFO");
        return;
    }
    yyjson_val *info = yyjson_doc_get_root(doc);
    c->max_payload = sl_json_int(info, "max_payload", c->max_payload);
    if (c->state == NATSC_GREETING) {
        greet(c, info, more);
        return;
    }
    announce(c, info, true);
    if (c->state == NATSC_UP && c->servers.n > 1 && sl_json_bool(info, "ldm", false))
        natsc_conn_move(c, "the server is about to shut down");
}

static void handle_message(struct natsc_conn *c, const struct natsc_frame *frame) {
    for (uint32_t i = 0; i < c->subscriptions.n && !c->closing; i++)
        if (c->subscriptions.v[i].id == frame->sid) {
            natsc_mailbox_put(&c->client->box, c->id, c->subscriptions.v[i].id, frame->subject,
                              frame->data, frame->len);
            return;
        }
}

static void handle_error(struct natsc_conn *c, struct sl_text text) {
    bool stays = c->state == NATSC_UP && natsc_is_refusal(text);
    char why[NATSC_TEXT];

    if (natsc_identity_shows(&c->who, text)) /* it sends back what it was told */
        text = SL_TEXT("the server reports an error with credentials in it");
    natsc_reason(text, why);
    if (stays)
        natsc_note(c, SL_NATS_ERROR, why);
    else
        natsc_conn_lose(c, why);
}

static void confirm(struct natsc_conn *c) {
    struct natsc_sending *s = TAILQ_FIRST(&c->sending), *following;

    for (; s; s = following) {
        following = TAILQ_NEXT(s, next);
        if (s->ping && s->ping <= c->pongs)
            forget(c, s);
    }
    if (c->closing && c->n_sending == 0)
        natsc_conn_end(c);
}

static void handle_pong(struct natsc_conn *c) {
    if (c->pongs == c->pings)
        return; /* nobody asked */
    c->pongs++;
    if (c->state == NATSC_LOGIN)
        natsc_conn_up(c);
    else
        confirm(c);
}

static void handle(struct natsc_conn *c, const struct natsc_frame *frame, bool more) {
    c->silent = 0;
    if (c->state == NATSC_GREETING && frame->op != NATSC_INFO && frame->op != NATSC_ERR) {
        natsc_conn_lose(c, "this is no NATS server: it does not introduce itself");
        return;
    }
    switch (frame->op) {
    case NATSC_INFO:
        handle_info(c, frame, more);
        break;
    case NATSC_MSG:
        handle_message(c, frame);
        break;
    case NATSC_PING:
        sl_buf_puts(natsc_socket_out(c->socket), "PONG\r\n");
        flush(c);
        break;
    case NATSC_PONG:
        handle_pong(c);
        break;
    case NATSC_ERR:
        handle_error(c, frame->text);
        break;
    case NATSC_OK:
        break;
    }
}

void natsc_protocol_data(struct natsc_conn *c, struct sl_text in) {
    const struct natsc_socket *socket = c->socket;
    struct natsc_frame frame;
    struct sl_err err;
    int r = 1;

    while (r > 0 && c->socket == socket) {
        r = natsc_parser_read(&c->parser, &in, &frame, &err);
        if (r > 0)
            handle(c, &frame, in.n > 0);
    }
    if (r < 0 && c->socket == socket)
        natsc_conn_lose(c, err.text);
}
