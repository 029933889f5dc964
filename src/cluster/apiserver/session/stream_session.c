/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/session/stream_session.h"

#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "lib/stream/websocket.h"

/* ---- which protocol ---- */

struct protocol {
    const char *name;
    bool websocket, forward;
    enum sl_streams_kind kind;
    uint32_t version;
};

/* "": the client names none. */
static const struct protocol protocols[] = {
    {"v5.channel.k8s.io", true, false, SL_STREAMS_CHANNELS, 5},
    {"v4.channel.k8s.io", true, false, SL_STREAMS_CHANNELS, 4},
    {"channel.k8s.io", true, false, SL_STREAMS_CHANNELS, 1},
    {"", true, false, SL_STREAMS_CHANNELS, 1},
    {"v4.channel.k8s.io", false, false, SL_STREAMS_SPDY, 4},
    {"v3.channel.k8s.io", false, false, SL_STREAMS_SPDY, 3},
    {"v2.channel.k8s.io", false, false, SL_STREAMS_SPDY, 2},
    {"channel.k8s.io", false, false, SL_STREAMS_SPDY, 1},
    {"", false, false, SL_STREAMS_SPDY, 1},
    {"SPDY/3.1+portforward.k8s.io", true, true, SL_STREAMS_TUNNEL, 1},
    {"v4.channel.k8s.io", true, true, SL_STREAMS_CHANNELS, 4},
    {"portforward.k8s.io", false, true, SL_STREAMS_SPDY, 1},
    {"", false, true, SL_STREAMS_SPDY, 1},
};

static const struct protocol *find_protocol(const char *name, size_t len, bool websocket,
                                            bool forward) {
    for (size_t i = 0; i < SL_LEN(protocols); i++)
        if (protocols[i].websocket == websocket && protocols[i].forward == forward &&
            strlen(protocols[i].name) == len && strncmp(protocols[i].name, name, len) == 0)
            return &protocols[i];
    return NULL;
}

/* The first of those that the client lists, by its own order. */
static const struct protocol *choose(const char *list, bool websocket, bool forward) {
    if (!*list)
        return find_protocol("", 0, websocket, forward);
    while (*list) {
        list += strspn(list, ", \t");
        size_t len = strcspn(list, ", \t");
        const struct protocol *p = len ? find_protocol(list, len, websocket, forward) : NULL;
        if (p)
            return p;
        list += len;
    }
    return NULL;
}

static void add_header(struct api_session *c, const char *name, const char *value) {
    uint32_t n = 0;

    while (c->headers[n])
        n += 2;
    sl_assert(n + 2 < SL_LEN(c->headers));
    c->headers[n] = name;
    c->headers[n + 1] = value;
}

static const char *served(struct api_rq *rq, bool websocket, bool forward) {
    const char *text = "";

    for (size_t i = 0; i < SL_LEN(protocols); i++)
        if (protocols[i].websocket == websocket && protocols[i].forward == forward &&
            *protocols[i].name)
            text = sl_arena_printf(&rq->arena, "%s%s%s", text, *text ? " " : "", protocols[i].name);
    return text;
}

struct api_session *api_session_new(struct api_rq *rq, const struct api_session_ops *ops,
                                    void *own) {
    const struct sl_api_upgrade *up = rq->upgrade;
    const bool websocket = up && strcasecmp(up->to, "websocket") == 0;
    const bool forward = rq->sub->upgrade == SL_SUB_FORWARD;
    char accept[SL_WS_ACCEPT];

    if (!up || !rq->sink.upgrade || (!websocket && strcasecmp(up->to, "SPDY/3.1") != 0)) {
        api_rq_bad(rq, "Upgrade request required");
        return NULL;
    }
    if (websocket && (strcmp(rq->method, "GET") != 0 || strcmp(up->version, "13") != 0 ||
                      !sl_ws_accept(up->key, accept))) {
        api_rq_bad(rq,
                   "the WebSocket handshake is wrong: it is a GET with Sec-WebSocket-Version 13 "
                   "and a Sec-WebSocket-Key");
        return NULL;
    }
    const char *wanted = websocket ? up->protocols : up->streams;
    const struct protocol *p = choose(wanted, websocket, forward);
    if (!p) {
        api_rq_fail(rq, websocket ? 400 : 403, websocket ? "BadRequest" : "Forbidden",
                    "unable to upgrade: unable to negotiate protocol: client supports [%s], server "
                    "accepts [%s]",
                    wanted, served(rq, websocket, forward));
        return NULL;
    }
    struct api_session *c = sl_alloc0(1, sizeof *c);
    c->rq = rq;
    c->ops = ops;
    c->own = own;
    c->kind = p->kind;
    c->version = p->version;
    c->streams = sl_streams_new(p->kind, &ops->events, c);
    add_header(c, "Connection", "Upgrade");
    add_header(c, "Upgrade", websocket ? "websocket" : "SPDY/3.1");
    if (websocket)
        add_header(c, "Sec-WebSocket-Accept", sl_arena_strdup(&rq->arena, accept));
    if (*p->name)
        add_header(c, websocket ? "Sec-WebSocket-Protocol" : "X-Stream-Protocol-Version", p->name);
    return c;
}

/* ---- the wire ---- */

void api_session_turn(struct api_session *c) {
    struct api_rq *rq = c->rq;
    struct sl_buf *out = sl_streams_out(c->streams);
    bool ok = !sl_buf_full(out);

    rq->busy = true;
    if (ok && out->len > 0 && !rq->gone)
        ok = rq->sink.piece(rq->sink.ctx, out->s, out->len);
    sl_buf_clear(out);
    (void)api_rq_settle(rq, ok && !c->over);
}

void api_session_hold(struct api_session *c, bool hold) {
    c->rq->sink.hold(c->rq->sink.ctx, hold);
}

bool api_session_full(const struct api_session *c) {
    return c->rq->sink.waiting(c->rq->sink.ctx) + sl_streams_out(c->streams)->len >
           API_SESSION_HIGH;
}

void api_session_finish(struct api_session *c) {
    sl_streams_close(c->streams);
    c->over = true;
}

static void on_bytes(void *ctx, const char *bytes, size_t len) {
    struct api_session *c = ctx;

    sl_api_turn(c->rq->s);
    if (!c->over && !sl_streams_take(c->streams, bytes, len))
        c->over = true;
    api_session_turn(c);
}

static void on_writable(void *ctx) {
    struct api_session *c = ctx;

    sl_api_turn(c->rq->s);
    c->ops->writable(c);
}

void api_session_upgrade(struct api_session *c) {
    struct api_rq *rq = c->rq;

    rq->session = c;
    rq->streams = true;
    api_rq_done(rq, sl_store_version(rq->s->store));
}

void api_session_begin(struct api_rq *rq) {
    static const struct sl_api_upgrade_events wire = {.bytes = on_bytes, .writable = on_writable};

    rq->busy = true;
    rq->sink.upgrade(rq->sink.ctx, rq->session->headers, &wire, rq->session);
    if (!rq->gone)
        rq->session->ops->begin(rq->session);
    api_session_turn(rq->session);
}

void api_session_end(struct api_rq *rq) {
    struct api_session *c = rq->session;

    if (!c)
        return;
    rq->session = NULL;
    c->ops->release(c);
    sl_streams_free(c->streams);
    sl_freep(&c);
}

/* ---- the target ---- */

bool api_session_flag(const char *value) {
    return strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0;
}

void api_session_start(struct api_rq *rq) {
    struct sl_store_object *o = sl_store_get(rq->s->store, rq->kind->number, rq->ns, rq->name);

    if (!o) {
        api_rq_not_found(rq, rq->kind, rq->name);
        return;
    }
    _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(o->text, o->len, 0);
    if (rq->sub->upgrade == SL_SUB_FORWARD)
        api_forward_start(rq, yyjson_doc_get_root(doc));
    else
        api_exec_start(rq, yyjson_doc_get_root(doc));
}
