/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred responses. While there is nothing to send, the connection is suspended: the library has
 * it in no list that it walks and in no epoll. A reply or a piece resumes this one connection.
 *
 * A suspended connection does not notice that its peer has disconnected, so those that stream are
 * also in an epoll of our own, which reports hang-ups only; TCP keep-alive turns a vanished peer
 * into a hang-up. Other requests are too short for that to be worth two system calls.
 */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "lib/http/answer.h"
#include "lib/http/server_int.h"

/* The library allocates as much for each response, and needs it only for HTTP/1.0 clients: others
 * are sent chunks from the connection's memory. */
#define BLOCK_BYTES ((size_t)1 << 10)
#define SENT_BYTES                                                                                 \
    ((size_t)64 << 10) /* so much of what was sent is kept before the rest, and then dropped */
#define KEEP_BYTES ((size_t)1 << 10) /* of a buffer that has been sent */
#define HANGUPS 64
/* Only lists are so large. A write that is done is never answered as if it were not. */
#define LARGE_ANSWER ((size_t)4 << 20)

void sl_httpd_call_unref(struct sl_http_call *c) {
    if (--c->refs)
        return;
    sl_buf_done(&c->out);
    sl_freep(&c);
}

struct sl_http_call *sl_http_hold(const struct sl_http_request *rq, void (*gone)(void *ctx),
                                  void *ctx) {
    struct http_conn *conn = sl_httpd_conn(rq->priv);
    struct sl_http_call *c = sl_alloc0(1, sizeof *c);

    sl_assert(!conn->call);
    *c = (struct sl_http_call){.conn = conn, .refs = 1, .gone = gone, .ctx = ctx};
    sl_buf_init(&c->out, SL_HTTP_STREAM);
    conn->call = c;
    return c;
}

enum MHD_Result sl_httpd_call_send(struct http_conn *conn) {
    struct sl_http_call *c = conn->call;

    if (!c->response) { /* spurious wake-up */
        sl_httpd_suspend(conn);
        return MHD_YES;
    }
    enum MHD_Result r = sl_httpd_queue(conn->server, conn->mhd, c->status, c->response);
    MHD_destroy_response(TAKE_PTR(c->response));
    return r;
}

void sl_httpd_call_end(struct http_conn *conn) {
    struct sl_http_call *c = TAKE_PTR(conn->call);
    void (*gone)(void *) = TAKE_PTR(c->gone);

    if (conn->listens)
        (void)epoll_ctl(conn->server->h->hangups, EPOLL_CTL_DEL, conn->fd, NULL);
    conn->listens = false;
    if (c->up)
        sl_httpd_upgrade_stop(c);
    else
        http_share_taken(c, c->out.len - c->sent);
    c->conn = NULL;
    if (c->response)
        MHD_destroy_response(TAKE_PTR(c->response));
    if (gone)
        gone(c->ctx);
    sl_httpd_call_unref(c);
}

/* ---- one answer ---- */

/* Without memory for it the connection ends, and that is an answer too. */
static void send_response(struct sl_http_call *c, int status, const char *content_type,
                          const char *const *headers, struct MHD_Response *r) {
    c->status = status;
    if (r && http_answer_headers(r, content_type, headers)) {
        c->response = r;
        sl_httpd_resume(c->conn);
        return;
    }
    if (r)
        MHD_destroy_response(r);
    sl_httpd_cut(c->conn);
}

/* Backpressure: too much is queued for clients that do not read. */
static void refuse_reply(struct sl_http_call *c) {
    static const char *const headers[] = {"Retry-After", "1", NULL};
    const struct sl_httpd_spec *spec = &c->conn->server->h->spec;
    struct sl_http_answer a = {.status = 429, .content_type = "text/plain; charset=utf-8"};

    sl_buf_init(&a.body, 4096);
    if (spec->refusal)
        spec->refusal(spec->ctx, 429, "too many responses are unread, retry later", &a);
    send_response(c, 429, a.content_type, headers,
                  MHD_create_response_from_buffer(a.body.len, (void *)sl_buf_str(&a.body),
                                                  MHD_RESPMEM_MUST_COPY));
    sl_buf_done(&a.body);
}

void sl_http_reply(struct sl_http_call *c, int status, const char *content_type,
                   const char *const *headers, const char *body, size_t len) {
    sl_assert(!c->streams && !c->response && c->gone);
    c->gone = NULL;
    if (!http_share_answer(c->conn, len, LARGE_ANSWER)) {
        refuse_reply(c);
        return;
    }
    send_response(c, status, content_type, headers,
                  MHD_create_response_from_buffer(len, (void *)body, MHD_RESPMEM_MUST_COPY));
}

/* ---- streams ---- */

/* Only a client that has something to take can be late. */
static void set_deadline(struct sl_http_call *c) {
    struct sl_httpd *h = c->conn->server->h;

    c->conn->deadline_ms =
        c->sent < c->out.len || c->ended ? uv_now(h->loop) + h->spec.request_ms : UINT64_MAX;
}

void sl_httpd_call_sent(struct sl_http_call *c, size_t n) {
    if (n && !c->up)
        http_share_taken(c, n);
    c->sent += n;
    if (c->sent < c->out.len)
        return;
    if (c->out.cap > KEEP_BYTES)
        sl_buf_done(&c->out);
    sl_buf_clear(&c->out);
    c->sent = 0;
}

bool sl_httpd_call_add(struct sl_http_call *c, const char *bytes, size_t len) {
    if (!c->up && (len > c->out.ceiling - (c->out.len - c->sent) || !http_share_wait(c, len))) {
        sl_buf_fail(&c->out);
        return !sl_buf_full(&c->out);
    }
    if (c->sent > SENT_BYTES && c->sent > c->out.len / 2) {
        memmove(c->out.s, c->out.s + c->sent, c->out.len - c->sent);
        c->out.len -= c->sent;
        c->sent = 0;
    }
    sl_buf_add(&c->out, bytes, len);
    return !sl_buf_full(&c->out);
}

static ssize_t on_read(void *cls, uint64_t pos, char *buf, size_t max) {
    struct sl_http_call *c = cls;
    size_t left = c->out.len - c->sent, n = left < max ? left : max;

    (void)pos;
    if (!c->conn || c->conn->late)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (left == 0 && c->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    memcpy(buf, c->out.s ? c->out.s + c->sent : "", n);
    sl_httpd_call_sent(c, n);
    set_deadline(c);
    if (n == 0)
        sl_httpd_suspend(c->conn);
    return (ssize_t)n;
}

static void on_read_end(void *cls) {
    sl_httpd_call_unref(cls);
}

static void listen_for_hangup(struct http_conn *conn) {
    struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = conn};

    conn->listens = epoll_ctl(conn->server->h->hangups, EPOLL_CTL_ADD, conn->fd, &ev) == 0;
}

void sl_http_begin(struct sl_http_call *c, const char *content_type) {
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, c, on_read_end);

    sl_assert(!c->streams && !c->response && c->gone);
    c->refs += r != NULL;
    c->streams = true;
    listen_for_hangup(c->conn);
    send_response(c, 200, content_type, NULL, r);
}

bool sl_http_piece(struct sl_http_call *c, const char *bytes, size_t len) {
    sl_assert((c->streams || c->up) && c->gone);
    bool waits = c->sent < c->out.len;
    if (!sl_httpd_call_add(c, bytes, len))
        return false;
    if (c->up) {
        sl_httpd_upgrade_more(c);
    } else if (!waits && len > 0) {
        set_deadline(c);
        sl_httpd_resume(c->conn);
    }
    return true;
}

void sl_http_end(struct sl_http_call *c) {
    sl_assert((c->streams || c->up) && c->gone);
    c->gone = NULL;
    c->ended = true;
    if (sl_buf_full(&c->out))
        sl_httpd_cut(c->conn); /* half a line is worse than none */
    set_deadline(c);
    if (c->up)
        sl_httpd_upgrade_more(c);
    else
        sl_httpd_resume(c->conn);
}

/* ---- hang-ups ---- */

static void on_hangups(uv_poll_t *p, int status, int events) {
    struct sl_httpd *h = p->data;
    struct epoll_event v[HANGUPS];
    int n = epoll_wait(h->hangups, v, HANGUPS, 0);

    (void)status;
    (void)events;
    for (int i = 0; i < n; i++)
        sl_httpd_cut(v[i].data.ptr);
}

static void on_closed(uv_handle_t *u) {
    struct sl_httpd *h = u->data;

    (void)close(h->hangups);
    sl_httpd_unref(h);
}

void sl_httpd_hangups_start(struct sl_httpd *h) {
    h->hangups = epoll_create1(EPOLL_CLOEXEC);
    if (h->hangups < 0 || uv_poll_init(h->loop, &h->hangup, h->hangups) < 0) {
        /* Then disconnected clients are noticed when something is sent to them. */
        if (h->hangups >= 0)
            (void)close(h->hangups);
        h->hangups = -1;
        return;
    }
    h->hangup.data = h;
    h->n_handles++;
    (void)uv_poll_start(&h->hangup, UV_READABLE, on_hangups);
}

void sl_httpd_hangups_stop(struct sl_httpd *h) {
    if (h->hangups >= 0)
        uv_close((uv_handle_t *)&h->hangup, on_closed);
}
