/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of the client. A call waits in one of two queues (requests, watches), runs on a
 * transfer, and ends with its 'done'. Everything but queueing and cancelling happens in iterations
 * of the loop, so that no callback runs before the call that started it has returned.
 *
 * The number of a call is its slot and the generation of the slot; the slot is free again before
 * 'done' is called, so a cancel from there, or later, has no effect.
 */
#include "kube/client/client.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kube/client/client_int.h"

enum { REQUESTS, WATCHES };

static size_t kind_of(const struct kube_xcall *call) {
    return call->line ? WATCHES : REQUESTS;
}

/* ---- time ---- */

static sl_time clock_ns(clockid_t id) {
    struct timespec t;

    (void)clock_gettime(id, &t);
    return (sl_time)t.tv_sec * SL_SEC + t.tv_nsec;
}

void sl_curl_client_clock(struct sl_curl_client *c) {
    c->client.wall = clock_ns(CLOCK_REALTIME);
    c->client.mono = clock_ns(CLOCK_MONOTONIC);
    c->clock_read = true;
}

void sl_curl_client_turn(struct sl_curl_client *c) {
    if (!c->clock_read)
        sl_curl_client_clock(c);
}

/* ---- numbers ---- */

static sl_kube_call give_number(struct sl_curl_client *c, struct kube_xcall *call) {
    uint32_t i;

    if (c->free_slots.n > 0) {
        i = sl_vec_pop(&c->free_slots);
    } else {
        i = c->slots.n;
        *sl_vec_push(&c->slots) = (struct kube_slot){0};
    }
    c->slots.v[i].call = call;
    return (sl_kube_call){(uint64_t)c->slots.v[i].gen << 32 | (i + 1)};
}

static struct kube_xcall *find_call(const struct sl_curl_client *c, sl_kube_call id) {
    uint32_t i = (uint32_t)id.v - 1; /* 0 becomes a number that no slot has */

    return i < c->slots.n && c->slots.v[i].gen == (uint32_t)(id.v >> 32) ? c->slots.v[i].call
                                                                         : NULL;
}

static void take_number(struct sl_curl_client *c, const struct kube_xcall *call) {
    uint32_t i = (uint32_t)call->id.v - 1;

    c->call_bytes -= call->cost;
    c->slots.v[i].call = NULL;
    c->slots.v[i].gen++;
    *sl_vec_push(&c->free_slots) = i;
}

/* ---- beginning ---- */

static const char *request_error(const struct sl_curl_client *c, const struct sl_kube_request *rq) {
    if (c->n_waiting >= SL_CURL_CLIENT_MAX_WAITING)
        return "too many requests are waiting";
    if (rq->path[0] != '/' || strlen(rq->path) > SL_CURL_CLIENT_MAX_PATH ||
        strpbrk(rq->path, " \t\r\n"))
        return "not a valid request path";
    if (rq->content_type && strlen(rq->content_type) > SL_CURL_CLIENT_MAX_TYPE)
        return "too long a content type";
    if (rq->len > SL_CURL_CLIENT_MAX_BODY)
        return "the body is too large";
    if (c->call_bytes + SL_CURL_CLIENT_MAX_PATH + rq->len > SL_CURL_CLIENT_MAX_CALL_BYTES)
        return "too many requests are waiting";
    return NULL;
}

/* Copies what is borrowed, in one piece. */
static struct kube_xcall *new_call(const struct sl_curl_client *c,
                                   const struct sl_kube_request *rq) {
    const char *why = request_error(c, rq), *type = rq->content_type ? rq->content_type : "";
    size_t base = why ? 0 : strlen(c->base), path = why ? 0 : strlen(rq->path);
    size_t type_len = why ? 0 : strlen(type), body = why || !rq->body ? 0 : rq->len;
    const size_t cost = sizeof(struct kube_xcall) + base + path + 1 + type_len + 1 + body;
    struct kube_xcall *call = sl_alloc(cost);
    char *p = call->text;

    *call = (struct kube_xcall){.method = rq->method,
                                .refusal = why,
                                .len = body,
                                .cost = why ? 0 : cost,
                                .accept = rq->accept ? rq->accept : SL_JSON};
    call->url = p;
    memcpy(p, c->base, base);
    memcpy(p + base, rq->path, path);
    p += base + path;
    *p++ = '\0';
    call->content_type = p;
    memcpy(p, type, type_len);
    p += type_len;
    *p++ = '\0';
    if (body > 0) {
        memcpy(p, rq->body, body);
        call->body = p;
    }
    return call;
}

/* At the end, or again at the front. */
static void join_line(struct sl_curl_client *c, struct kube_xcall *call, bool again) {
    struct kube_xcalls *line = &c->waiting[kind_of(call)];

    if (again)
        TAILQ_INSERT_HEAD(line, call, link);
    else
        TAILQ_INSERT_TAIL(line, call, link);
    c->n_waiting++;
    kube_loop_kick(c);
}

static void leave_line(struct sl_curl_client *c, struct kube_xcall *call) {
    TAILQ_REMOVE(&c->waiting[kind_of(call)], call, link);
    c->n_waiting--;
}

static sl_kube_call queue(struct sl_curl_client *c, struct kube_xcall *call) {
    sl_assert(!c->closing);
    call->serial = ++c->serial;
    call->deadline = sl_time_add(c->client.mono, c->timeout);
    call->id = give_number(c, call);
    c->call_bytes += call->cost;
    join_line(c, call, false);
    return call->id;
}

static sl_kube_call on_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                               sl_kube_reply_fn done, void *ctx) {
    struct sl_curl_client *c = SL_CONTAINER_OF(p, struct sl_curl_client, client);
    struct kube_xcall *call = new_call(c, rq);

    sl_curl_client_turn(c);
    call->done = done;
    call->ctx = ctx;
    return queue(c, call);
}

static sl_kube_call on_watch(struct sl_kube_client *p, const struct sl_kube_request *rq,
                             sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    struct sl_curl_client *c = SL_CONTAINER_OF(p, struct sl_curl_client, client);
    struct kube_xcall *call = new_call(c, rq);

    sl_curl_client_turn(c);
    call->line = line;
    call->done = done;
    call->ctx = ctx;
    return queue(c, call);
}

/* ---- the lines ---- */

static void fail_call(struct sl_curl_client *c, struct kube_xcall *call, const char *why) {
    leave_line(c, call);
    take_number(c, call);
    call->done(call->ctx, &(struct sl_kube_reply){.body = "", .text = why});
    sl_freep(&call);
}

static void start_call(struct sl_curl_client *c, struct kube_xcall *call) {
    leave_line(c, call);
    TAILQ_INSERT_TAIL(&c->running, call, link);
    c->n_running[kind_of(call)]++;
    kube_xfer_begin(c, call);
    kube_loop_start(c, call);
}

/* Why this call ends without having been sent; NULL if it does not. */
static const char *unsent_reason(const struct sl_curl_client *c, const struct kube_xcall *call,
                                 enum sl_auth_state auth, const char *why) {
    if (call->refusal)
        return call->refusal;
    if (auth == SL_AUTH_FAILED)
        return why;
    if (c->client.mono < call->deadline)
        return NULL;
    return auth == SL_AUTH_WAIT ? "the exec plugin did not answer in time"
                                : "no connection was free in time";
}

/* Serves one line in its order. Calls that callbacks add meanwhile ('last' is the newest one
 * before) are left for the next turn. */
static void serve(struct sl_curl_client *c, size_t kind, enum sl_auth_state auth, const char *why,
                  uint64_t last) {
    static const uint32_t most[] = {SL_CURL_CLIENT_MAX_REQUESTS, SL_CURL_CLIENT_MAX_WATCHES};
    struct kube_xcall *call;

    while (!c->closing && (call = TAILQ_FIRST(&c->waiting[kind])) && call->serial <= last) {
        const char *end = unsent_reason(c, call, auth, why);
        if (end)
            fail_call(c, call, end);
        else if (auth == SL_AUTH_READY && c->n_running[kind] < most[kind])
            start_call(c, call);
        else
            return;
    }
}

void sl_curl_client_flush(struct sl_curl_client *c) {
    sl_time next = SL_TIME_NEVER;
    uint64_t last = c->serial;
    const char *why = NULL;

    if (c->n_waiting == 0)
        return;
    enum sl_auth_state auth = sl_auth_get(c->auth, c->client.wall, c->client.mono, &why);
    serve(c, WATCHES, auth, why, last);
    serve(c, REQUESTS, auth, why, last);
    if (c->closing)
        return;
    kube_loop_act(c, CURL_SOCKET_TIMEOUT, 0); /* new handles are due at once */
    if (c->closing)
        return;
    for (size_t i = 0; i < SL_LEN(c->waiting); i++) {
        const struct kube_xcall *call = TAILQ_FIRST(&c->waiting[i]);
        if (call && call->deadline < next)
            next = call->deadline;
    }
    kube_loop_deadline(c, next);
}

static sl_time on_credential(void *ctx) {
    struct sl_curl_client *c = ctx;

    sl_curl_client_turn(c);
    kube_loop_kick(c);
    return c->client.mono;
}

/* ---- the end ---- */

static void leave_running(struct sl_curl_client *c, struct kube_xcall *call) {
    kube_loop_stop(c, call);
    TAILQ_REMOVE(&c->running, call, link);
    c->n_running[kind_of(call)]--;
    if (c->n_waiting > 0)
        kube_loop_kick(c);
}

void sl_curl_client_finish(struct sl_curl_client *c, struct kube_xcall *call, CURLcode result) {
    struct kube_xfer *x = call->x;
    struct sl_kube_reply reply;

    kube_xfer_reply(c, x, result, &reply);
    leave_running(c, call);
    call->x = NULL;
    /* Nothing has happened on the server, so a retry with a newer credential is safe. */
    if (reply.status == 401 && !call->retried &&
        sl_auth_refused(c->auth, call->gen, c->client.mono)) {
        call->retried = true;
        kube_xfer_end(c, x);
        join_line(c, call, true);
        return;
    }
    take_number(c, call);
    call->done(call->ctx, &reply);
    kube_xfer_end(c, x);
    sl_freep(&call);
}

void sl_curl_client_reap(struct sl_curl_client *c) {
    struct kube_xcall *call, *next;

    if (!c->to_reap || c->closing)
        return;
    c->to_reap = false;
    c->reaping = true;
    for (call = TAILQ_FIRST(&c->running); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (!call->cancelled)
            continue;
        leave_running(c, call);
        kube_xfer_end(c, call->x);
        sl_freep(&call);
    }
    c->reaping = false;
}

static void on_cancel(struct sl_kube_client *p, sl_kube_call id) {
    struct sl_curl_client *c = SL_CONTAINER_OF(p, struct sl_curl_client, client);
    struct kube_xcall *call = find_call(c, id);

    if (!call)
        return;
    take_number(c, call);
    if (!call->x) {
        leave_line(c, call);
        sl_freep(&call);
        return;
    }
    call->cancelled = true;
    c->to_reap = true;
    if (!c->in_curl)
        sl_curl_client_reap(c);
}

/* ---- life ---- */

/* The server's name for TLS goes into the URL, and libcurl is given the address to connect to. */
static void name_server(struct sl_curl_client *c) {
    const struct sl_kubeconfig *k = c->k;
    struct sl_buf b;

    if (!k->https || !*k->tls_server_name) {
        c->base = sl_strdup(k->server);
        return;
    }
    sl_buf_init(&b, (size_t)64 << 10);
    sl_buf_printf(&b, "::%s:%s", k->host, k->port);
    c->connect_to = curl_slist_append(NULL, sl_buf_str(&b));
    sl_assert(c->connect_to);
    sl_buf_clear(&b);
    sl_buf_printf(&b, "https://%s:%s%s", k->tls_server_name, k->port, k->prefix);
    c->base = TAKE_PTR(b.s);
}

/* Writing to a connection that the peer has closed must be an error, not a signal. */
static void ignore_sigpipe(void) {
    struct sigaction now;

    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
}

int sl_curl_client_new(struct uv_loop_s *loop, struct sl_kubeconfig *k, const char *user_agent,
                       struct sl_curl_client **ret, struct sl_err *err) {
    static const struct sl_kube_client_ops ops = {on_request, on_watch, on_cancel};
    struct sl_curl_client *c = sl_alloc0(1, sizeof *c);
    int r;

    *c = (struct sl_curl_client){.client.ops = &ops,
                                 .loop = loop,
                                 .k = k,
                                 .max_reply = SL_CURL_CLIENT_MAX_REPLY,
                                 .max_line = SL_CURL_CLIENT_MAX_LINE,
                                 .max_replies = SL_CURL_CLIENT_MAX_REPLIES,
                                 .timeout = SL_CURL_CLIENT_TIMEOUT};
    sl_curl_client_clock(c);
    r = sl_auth_new(loop, k, c->client.mono, on_credential, c, &c->auth, err);
    if (r < 0) {
        sl_kubeconfig_free(k);
        sl_freep(&c);
        return r;
    }
    sl_assert(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    ignore_sigpipe();
    c->user_agent = sl_strdup(user_agent);
    name_server(c);
    TAILQ_INIT(&c->waiting[REQUESTS]);
    TAILQ_INIT(&c->waiting[WATCHES]);
    TAILQ_INIT(&c->running);
    SLIST_INIT(&c->idle);
    c->share = curl_share_init();
    sl_assert(c->share);
    (void)curl_share_setopt(c->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    kube_loop_init(c);
    *ret = c;
    return 0;
}

struct sl_kube_client *sl_curl_client_interface(struct sl_curl_client *c) {
    return &c->client;
}

/* May come from a callback, and from within libcurl: what is still in use goes in
 * sl_curl_client_destroy. */
void sl_curl_client_free(struct sl_curl_client *c) {
    struct kube_xcall *call;

    if (!c)
        return;
    sl_assert(!c->closing);
    c->closing = true;
    sl_vec_clear(&c->slots); /* a late cancel finds nothing */
    for (size_t i = 0; i < SL_LEN(c->waiting); i++)
        while ((call = TAILQ_FIRST(&c->waiting[i]))) {
            leave_line(c, call);
            sl_freep(&call);
        }
    TAILQ_FOREACH(call, &c->running, link)
    call->cancelled = true;
    sl_auth_free(c->auth);
    kube_loop_close(c);
}

void sl_curl_client_destroy(struct sl_curl_client *c) {
    struct kube_xcall *call;
    struct kube_xfer *x;

    while ((call = TAILQ_FIRST(&c->running))) {
        leave_running(c, call);
        kube_xfer_end(c, call->x);
        sl_freep(&call);
    }
    while ((x = SLIST_FIRST(&c->idle))) {
        SLIST_REMOVE_HEAD(&c->idle, link);
        kube_xfer_free(x);
    }
    (void)curl_multi_cleanup(c->multi);
    (void)curl_share_cleanup(c->share);
    curl_slist_free_all(c->connect_to);
    curl_global_cleanup();
    sl_kubeconfig_free(c->k);
    sl_vec_free(&c->slots);
    sl_vec_free(&c->free_slots);
    sl_vec_free(&c->socks);
    sl_freep(&c->user_agent);
    sl_freep(&c->base);
    sl_freep(&c);
}
