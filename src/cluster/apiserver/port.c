/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port for our own parts: requests become those of sl_apiserver_call, and lines of a watch are
 * handed over as they are. The number of a call is the server's own.
 */
#include <string.h>

#include "cluster/apiserver/server.h"
#include "core/base/mem.h"

struct incall {
    TAILQ_ENTRY(incall) link;
    struct api_local_client *p;
    sl_kube_line_fn line; /* NULL: a request */
    sl_kube_reply_fn done;
    void *ctx;
};
TAILQ_HEAD(incalls, incall);

struct api_local_client {
    struct sl_kube_client client; /* first: the port is this */
    struct sl_apiserver *s;
    char *user, *user_agent;
    const char *groups[3];
    struct incalls open;
};

static void incall_free(struct incall *c) {
    TAILQ_REMOVE(&c->p->open, c, link);
    sl_freep(&c);
}

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    struct incall *c = ctx;
    sl_kube_reply_fn done = c->done;
    void *to = c->ctx;

    incall_free(c);
    done(to, &(struct sl_kube_reply){.status = a->status,
                                     .body = a->body,
                                     .len = a->len,
                                     .retry_after = a->retry_after * SL_SEC,
                                     .text = ""});
}

static void on_begin(void *ctx, const char *type) {
    (void)ctx;
    (void)type;
}

static bool on_piece(void *ctx, const char *bytes, size_t len) {
    struct incall *c = ctx;

    c->line(c->ctx, bytes,
            len - 1); /* a whole line; it may cancel the call, so c is not touched any more */
    return true;
}

static void on_end(void *ctx) {
    struct incall *c = ctx;
    sl_kube_reply_fn done = c->done;
    void *to = c->ctx;

    incall_free(c);
    done(to, &(struct sl_kube_reply){.status = 200, .body = "", .text = ""});
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The path without its query, decoded. */
static char *decoded(const char *path, size_t len) {
    char *out = sl_alloc(len + 1), *p = out;

    for (size_t i = 0; i < len; i++) {
        int hi = path[i] == '%' && i + 2 < len ? hex(path[i + 1]) : -1,
            lo = hi >= 0 ? hex(path[i + 2]) : -1;
        if (lo >= 0) {
            *p++ = (char)(hi << 4 | lo);
            i += 2;
        } else {
            *p++ = path[i];
        }
    }
    *p = '\0';
    return out;
}

static sl_kube_call start_call(struct api_local_client *p, const struct sl_kube_request *rq,
                               sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    static const char *const methods[] = {[SL_GET] = "GET",
                                          [SL_POST] = "POST",
                                          [SL_PUT] = "PUT",
                                          [SL_PATCH] = "PATCH",
                                          [SL_DELETE] = "DELETE"};
    struct incall *c = sl_alloc(sizeof *c);
    size_t len = strcspn(rq->path, "?");
    _cleanup_(sl_freep) char *path = decoded(rq->path, len);
    const struct sl_api_sink sink = {
        .ctx = c, .answer = on_answer, .begin = on_begin, .piece = on_piece, .end = on_end};

    *c = (struct incall){.p = p, .line = line, .done = done, .ctx = ctx};
    TAILQ_INSERT_TAIL(&p->open, c, link);
    struct sl_api_request in = {.method = methods[rq->method],
                                .path = path,
                                .query = rq->path[len] ? rq->path + len + 1 : "",
                                .accept = rq->accept ? rq->accept : SL_JSON,
                                .content_type = rq->content_type,
                                .user_agent = p->user_agent,
                                .user = p->user,
                                .groups = p->groups,
                                .body = rq->body,
                                .len = rq->len};
    return (sl_kube_call){sl_apiserver_call(p->s, &in, &sink).v};
}

static sl_kube_call on_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                               sl_kube_reply_fn done, void *ctx) {
    return start_call((struct api_local_client *)p, rq, NULL, done, ctx);
}

static sl_kube_call on_watch(struct sl_kube_client *p, const struct sl_kube_request *rq,
                             sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    return start_call((struct api_local_client *)p, rq, line, done, ctx);
}

static void on_cancel(struct sl_kube_client *p, sl_kube_call id) {
    struct sl_apiserver *s = ((struct api_local_client *)p)->s;
    struct api_rq *rq = api_rq_find(s, (sl_api_call){id.v});

    if (!rq)
        return;
    incall_free(rq->sink.ctx);
    sl_apiserver_cancel(s, (sl_api_call){id.v});
}

struct sl_kube_client *sl_apiserver_client(struct sl_apiserver *s, const char *user,
                                           const char *user_agent) {
    static const struct sl_kube_client_ops ops = {on_request, on_watch, on_cancel};
    struct api_local_client *p = sl_alloc0(1, sizeof *p);

    sl_assert(s->n_ports < SL_API_PORTS);
    p->client = (struct sl_kube_client){.ops = &ops, .wall = s->wall, .mono = s->mono};
    p->s = s;
    p->user = sl_strdup(user);
    p->user_agent = sl_strdup(user_agent);
    p->groups[0] = "system:serviceaccounts";
    p->groups[1] = "system:authenticated";
    TAILQ_INIT(&p->open);
    s->ports[s->n_ports++] = p;
    return &p->client;
}

void api_local_clients_clock(struct sl_apiserver *s) {
    for (uint32_t i = 0; i < s->n_ports; i++) {
        s->ports[i]->client.wall = s->wall;
        s->ports[i]->client.mono = s->mono;
    }
}

void api_local_clients_free(struct sl_apiserver *s) {
    struct incall *c;

    for (uint32_t i = 0; i < s->n_ports; i++) {
        struct api_local_client *p = s->ports[i];
        while ((c = TAILQ_FIRST(&p->open)))
            incall_free(c);
        sl_freep(&p->user);
        sl_freep(&p->user_agent);
        sl_freep(&p);
    }
    s->n_ports = 0;
}
