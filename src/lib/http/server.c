/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening socket is ours; behind it is a libmicrohttpd daemon that never listens and gets
 * each accepted connection handed over. Its epoll descriptor is nested in the loop. Many
 * connections share several daemons. A new certificate is a new daemon: old ones keep their
 * connections until these end.
 *
 *     uv_poll(listener) -> accept -> MHD_add_connection
 *     uv_poll(daemon's epoll), uv_timer(MHD_get_timeout) -> MHD_run -> on_request -> the handler
 *
 * Deadlines are ours too, since the library only has an idle timeout, which a client that sends a
 * byte now and then never reaches. A late connection is shut down as a socket, and the library then
 * finds it closed.
 *
 * Deferred and streamed responses are in call.c.
 */
#include "lib/http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/http/answer.h"
#include "lib/http/cert.h"
#include "lib/http/server_int.h"
#include "lib/log/log.h"

/* A connection's memory besides the body. Above 32 KiB the library takes pages of its own for it,
 * of which only those count that are touched. */
#define HEADER_BYTES (((size_t)32 << 10) + 1)
#define HEADER_MS 10000
#define BODY_MS 10000
#define REQUEST_MS 30000
#define IDLE_MS 120000
#define STILL_MS 1000
/* How slow a body may come, once it has had its first seconds. */
#define BODY_RATE ((uint64_t)32 << 10) /* bytes a second */
#define BODY_GRACE_MS 5000u
#define SMALL_ANSWER ((size_t)16 << 10) /* that each connection may have besides */
#define TLS_BYTES ((size_t)31 << 10)    /* of a session, measured: 25 */
_Static_assert(HEADER_BYTES + SMALL_ANSWER + TLS_BYTES <= SL_HTTP_CONNECTION_BYTES, "a connection");
#define SWEEP_MS 1000 /* how late a deadline may be noticed */
#define ACCEPTS 64    /* in one turn of the loop */
#define SERVER_CONNS 256u
#define SHOWN_ARGS 64u /* more of them in a query are in raw_query only */

/* TLS 1.2 and 1.3 with forward secrecy and authenticated encryption, as all of today's clients
 * have. */
#define TLS_PRIORITIES                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:"      \
    "+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"

/* ---- answers ---- */

enum MHD_Result sl_httpd_queue(struct http_server *s, struct MHD_Connection *c, int status,
                               struct MHD_Response *r) {
    /* If its certificate is out of date: let the client come again. */
    bool last = s->generation != s->h->generation || sl_httpd_conn(c)->last;

    if (last && MHD_add_response_header(r, "Connection", "close") != MHD_YES)
        return MHD_NO;
    return MHD_queue_response(c, (unsigned)status, r);
}

static enum MHD_Result send_answer(struct http_server *s, struct MHD_Connection *c,
                                   struct sl_http_answer *a) {
    struct MHD_Response *r = http_answer_response(a);

    if (!r)
        return MHD_NO;
    enum MHD_Result sent = MHD_NO;
    if (http_answer_headers(r, a->content_type, a->headers))
        sent = sl_httpd_queue(s, c, a->status, r);
    MHD_destroy_response(r);
    return sent;
}

static enum MHD_Result refuse_request(struct http_server *s, struct MHD_Connection *c, int status,
                                      const char *message) {
    struct sl_http_answer a = {.status = status, .content_type = "text/plain; charset=utf-8"};

    sl_buf_init(&a.body, 4096);
    sl_buf_short(&a.body);
    if (s->h->spec.refusal)
        s->h->spec.refusal(s->h->spec.ctx, status, message, &a);
    else
        sl_buf_printf(&a.body, "%s\n", message);
    enum MHD_Result r = send_answer(s, c, &a);
    sl_buf_done(&a.body);
    return r;
}

static enum MHD_Result refuse_large(struct http_server *s, struct MHD_Connection *c,
                                    size_t ceiling) {
    char message[80];

    sl_fmt(message, sizeof message, "the answer is larger than %zu bytes", ceiling);
    return refuse_request(s, c, 500, message);
}

struct http_conn *sl_httpd_conn(struct MHD_Connection *c) {
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void sl_http_defer(const struct sl_http_request *rq) {
    sl_httpd_conn(rq->priv)->waiting = true;
}

void sl_httpd_suspend(struct http_conn *c) {
    c->waiting = true;
    MHD_suspend_connection(c->mhd);
}

static void on_server_timer(uv_timer_t *t);

void sl_httpd_resume(struct http_conn *c) {
    if (!c->waiting)
        return;
    c->waiting = false;
    MHD_resume_connection(c->mhd);
    /* The library sees to all of them together when it runs next. */
    c->server->woken = true;
    (void)uv_timer_start(&c->server->timer, on_server_timer, 0, 0);
}

static struct sl_http_request request_of(struct MHD_Connection *c, const char *method,
                                         const char *path, const struct http_request *rq) {
    struct sl_http_request request = {
        .method = method,
        .path = path,
        .raw_query = rq->query ? rq->query : "",
        .body = sl_buf_str(&rq->body),
        .len = rq->body.len,
        .priv = c,
        .from = sl_httpd_conn(c)->peer->key,
    };

    sl_httpd_lookups(&request);
    return request;
}

/* True: it was answered before its body is here, or the answer failed. */
static bool answer_early(struct http_server *s, struct MHD_Connection *c, const char *method,
                         const char *path, const struct http_request *rq, enum MHD_Result *ret) {
    struct sl_http_request request = request_of(c, method, path, rq);
    struct sl_http_answer a = {.status = 200, .content_type = "application/json"};

    if (!s->h->spec.early)
        return false;
    sl_buf_init(&a.body, http_share_capacity(s->h, SMALL_ANSWER));
    bool answered = s->h->spec.early(s->h->spec.ctx, &request, &a);
    if (answered) {
        sl_httpd_conn(c)->last = true;
        *ret = send_answer(s, c, &a);
    }
    sl_buf_done(&a.body);
    return answered;
}

static enum MHD_Result handle(struct http_server *s, struct MHD_Connection *c, const char *method,
                              const char *path, struct http_request *rq) {
    struct http_conn *conn = sl_httpd_conn(c);
    struct sl_http_request request = request_of(c, method, path, rq);
    struct sl_http_answer a = {.status = 200, .content_type = "application/json"};
    enum MHD_Result r;

    const size_t capacity = http_share_capacity(s->h, SMALL_ANSWER), most = s->h->spec.max_answer;
    sl_buf_init(&a.body, capacity);
    s->h->spec.handler(s->h->spec.ctx, &request, &a);
    sl_assert(a.status >= 200 && a.status <= 599);
    if (a.more)
        a.body.ceiling = most;                   /* of a piece: one is there at a time */
    if (a.more && strcmp(method, "HEAD") == 0) { /* the library would send the end of a body */
        a.drop(a.ctx);
        a.more = NULL;
    }
    if (conn->waiting || conn->call) {
        if (conn->call) /* the handler will not be called again */
            http_share_give_back(conn, rq);
        sl_httpd_suspend(conn);
        r = MHD_YES;
    } else if (sl_buf_full(&a.body) && capacity == most) {
        sl_log(SL_LOG_ERROR, "response too large", SL_S("path", path), SL_I("limit", most));
        r = refuse_large(s, c, most);
    } else if (sl_buf_full(&a.body) || !http_share_answer(conn, a.body.len, SMALL_ANSWER)) {
        r = refuse_request(s, c, 503, "too many responses are unread, retry later");
    } else {
        r = send_answer(s, c, &a);
    }
    if (a.more)
        a.drop(a.ctx);
    sl_buf_done(&a.body);
    return r;
}

/* ---- what the library calls ---- */

static uint64_t announced_length(struct MHD_Connection *c) {
    const char *v = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");

    return v ? strtoull(v, NULL, 10) : 0; /* the library has checked the digits */
}

static size_t body_ceiling(const struct sl_httpd_spec *spec, const char *path) {
    return spec->large_path && strcmp(path, spec->large_path) == 0 ? spec->large_body
                                                                   : spec->max_body;
}

/* Until when the body has to be here, by what of it is. */
static void set_body_deadline(struct http_conn *conn, const struct http_request *rq) {
    const struct sl_httpd_spec *spec = &conn->server->h->spec;
    uint64_t ms = BODY_GRACE_MS + rq->seen * 1000 / BODY_RATE;

    conn->deadline_ms = rq->from_ms + (ms < spec->body_ms ? ms : spec->body_ms);
}

/* The headers are complete. */
static enum MHD_Result begin_request(struct http_server *s, struct MHD_Connection *c,
                                     const char *method, const char *path, const char *version,
                                     struct http_request *rq) {
    struct http_conn *conn = sl_httpd_conn(c);
    size_t max = body_ceiling(&s->h->spec, path);
    bool chunked;
    const char *problem = sl_httpd_framing(c, method, version, rq->uri_end, &chunked);
    enum MHD_Result r;

    rq->begun = true;
    rq->announced = problem ? 0 : announced_length(c);
    rq->from_ms = conn->moved_ms = uv_now(s->h->loop);
    sl_buf_init(&rq->body, rq->announced && rq->announced < max ? (size_t)rq->announced : max);
    conn->last = problem || chunked;
    if (problem)
        return refuse_request(s, c, 400, problem);
    if ((rq->announced || chunked) && answer_early(s, c, method, path, rq, &r))
        return r;
    if (rq->announced > max)
        return refuse_request(s, c, 413, "the body is too large");
    set_body_deadline(conn, rq);
    return MHD_YES;
}

static enum MHD_Result take_piece(struct http_conn *conn, struct http_request *rq, size_t max,
                                  const char *piece, size_t n) {
    rq->seen += n;
    rq->over_limit = rq->over_limit || !http_share_take(conn, rq, n);
    if (rq->over_limit)
        http_share_give_back(conn, rq);
    else
        sl_buf_add(&rq->body, piece, n);
    set_body_deadline(conn, rq);
    /* Of a body that did not announce its length the rest is swallowed, so that the client can read
     * our answer; but not without end. */
    return rq->seen / 2 > max ? MHD_NO : MHD_YES;
}

/* Called with the headers, with each piece of the body, at the end, and when it is resumed then. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *path,
                                  const char *method, const char *version, const char *piece,
                                  size_t *piece_len, void **state) {
    struct http_server *s = cls;
    struct http_request *rq = *state;
    struct http_conn *conn = sl_httpd_conn(c);

    if (!rq->begun)
        return begin_request(s, c, method, path, version, rq);
    if (*piece_len > 0) {
        size_t n = *piece_len;
        *piece_len = 0;
        return take_piece(conn, rq, body_ceiling(&s->h->spec, path), piece, n);
    }
    if (conn->state == CONN_RECEIVING) {
        http_share_turn(conn, CONN_BUSY);
        conn->deadline_ms = uv_now(s->h->loop) + s->h->spec.request_ms;
    }
    if (sl_buf_full(&rq->body))
        return refuse_request(s, c, 413, "the body is too large");
    if (rq->over_limit)
        return refuse_request(s, c, 503, "too many request bodies at once, retry later");
    if (conn->late)
        return MHD_NO;
    if (conn->call)
        return sl_httpd_call_send(conn);
    return handle(s, c, method, path, rq);
}

/* The connection has begun or ended a request. */
static void conn_turn(struct http_server *s, struct MHD_Connection *c, bool idle) {
    struct sl_httpd *h = s->h;
    struct http_conn *conn = sl_httpd_conn(c);

    http_share_turn(conn, idle ? CONN_IDLE : CONN_RECEIVING);
    conn->deadline_ms = uv_now(h->loop) + (idle ? h->spec.idle_ms : h->spec.header_ms);
}

/* The library keeps a record of each argument in the memory for headers, and does not respond at
 * all once that is full. It reads them, up to a NUL, only after this call: of a long query it sees
 * none, and handlers read the raw one. The memory is the connection's own and may be written to:
 * the library itself cuts the arguments there. */
static void hide_many(const char *query) {
    size_t n = 0;

    for (const char *p = query; *p; p++)
        n += *p == '&';
    if (n >= SHOWN_ARGS)
        *(char *)(uintptr_t)query = '\0';
}

static void *on_request_line(void *cls, const char *uri, struct MHD_Connection *c) {
    struct http_request *rq = sl_alloc0(1, sizeof *rq);
    const char *query = strchr(uri, '?');

    conn_turn(cls, c, false);
    rq->query = query ? sl_strdup(query + 1) : NULL;
    rq->uri_end = uri + strlen(uri);
    if (query)
        hide_many(query + 1);
    sl_httpd_conn(c)->rq = rq;
    return rq; /* the first *state of on_request */
}

static void on_completed(void *cls, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode how) {
    struct http_request *rq = *state;

    (void)how;
    conn_turn(cls, c, true);
    http_share_answered(sl_httpd_conn(c));
    if (sl_httpd_conn(c)->call)
        sl_httpd_call_end(sl_httpd_conn(c));
    sl_httpd_conn(c)->rq = NULL;
    if (rq) {
        http_share_give_back(sl_httpd_conn(c), rq);
        sl_freep(&rq->query);
        sl_freep(&rq);
    }
    *state = NULL;
}

/* A peer that vanished is noticed within a minute, also when we have nothing to send. */
static void keep_alive(int fd) {
    static const struct {
        int level, name, value;
    } table[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                 {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                 {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                 {IPPROTO_TCP, TCP_KEEPCNT, 3}};

    for (size_t i = 0; i < SL_LEN(table); i++)
        (void)setsockopt(fd, table[i].level, table[i].name, &table[i].value, sizeof(int));
}

static void on_connection(void *cls, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    struct http_server *s = cls;
    struct sl_httpd *h = s->h;
    struct http_conn *conn = *context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        conn = sl_alloc0(1, sizeof *conn);
        conn->server = s;
        conn->mhd = c;
        conn->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        conn->deadline_ms = uv_now(h->loop) + h->spec.header_ms;
        http_share_join(
            conn, MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
        keep_alive(conn->fd);
        TAILQ_INSERT_TAIL(&h->conns, conn, entry);
        h->n_conns++;
        s->n_conns++;
    } else {
        TAILQ_REMOVE(&h->conns, conn, entry);
        h->n_conns--;
        s->n_conns--;
        http_share_leave(conn);
        sl_freep(&conn);
    }
    *context = conn;
}

/* A decoded NUL would end the path before its end, and one route would pass for another. */
static size_t unescape(void *cls, struct MHD_Connection *c, char *s) {
    size_t n = MHD_http_unescape(s);

    (void)cls;
    (void)c;
    for (char *nul = s; (nul = memchr(nul, '\0', n - (size_t)(nul - s)));)
        *nul = '?';
    return n;
}

static _printf_(2, 0) void on_log(void *cls, const char *fmt, va_list ap) {
    struct http_server *s = cls;

    sl_vfmt_short(s->last_error, sizeof s->last_error, fmt, ap);
    s->last_error[strcspn(s->last_error, "\n")] = '\0';
    sl_log(SL_LOG_DEBUG, "HTTP library message", SL_I("port", s->h->port),
           SL_S("error", s->last_error));
}

/* ---- the loop ---- */

static void tend_servers(struct sl_httpd *h);

static void on_server_closed(uv_handle_t *u) {
    struct http_server *s = u->data;

    if (--s->n_handles == 0)
        sl_freep(&s);
}

static void server_stop(struct http_server *s) {
    struct http_conn *c;

    TAILQ_REMOVE(&s->h->servers, s, entry);
    TAILQ_FOREACH(c, &s->h->conns, entry)
    if (c->server == s)
        sl_httpd_resume(c); /* the library does not end with suspended ones */
    uv_close((uv_handle_t *)&s->poll, on_server_closed); /* before its descriptor is closed */
    uv_close((uv_handle_t *)&s->timer, on_server_closed);
    uv_close((uv_handle_t *)&s->again, on_server_closed);
    MHD_stop_daemon(s->mhd);
    s->mhd = NULL;
}

static void on_server_again(uv_idle_t *u);

static void server_run(struct http_server *s) {
    struct sl_httpd *h = s->h;
    MHD_UNSIGNED_LONG_LONG ms;

    h->busy = true;
    s->woken = false;
    (void)MHD_run(s->mhd);
    h->busy = false;
    /* Unless checked each time, bytes that TLS has buffered would not be processed; nor would a
     * connection that was resumed by another's request, which not every version of the library
     * reports. */
    bool more = MHD_get_timeout(s->mhd, &ms) == MHD_YES;
    if (s->woken || (more && ms == 0))
        (void)uv_idle_start(&s->again, on_server_again);
    else
        (void)uv_idle_stop(&s->again);
    if (more && ms > 0)
        (void)uv_timer_start(&s->timer, on_server_timer, ms, 0);
    else
        (void)uv_timer_stop(&s->timer);
    tend_servers(h);
}

static void on_server_timer(uv_timer_t *t) {
    server_run(t->data);
}

static void on_server_again(uv_idle_t *u) {
    server_run(u->data);
}

static void on_server_poll(uv_poll_t *p, int status, int events) {
    (void)status;
    (void)events;
    server_run(p->data);
}

/* One more for connections from now on. */
static int server_start(struct sl_httpd *h, struct sl_err *err) {
    const char *cert_pem = h->pem[CERT], *key_pem = h->pem[KEY], *client_cas = h->pem[CAS];
    unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | (h->tls ? MHD_USE_TLS : 0);
    int r = h->tls ? sl_cert_pair(cert_pem, key_pem, err) : SL_OK; /* it has the better message */
    sl_time end;
    if (r >= 0 && client_cas)
        r = sl_cert_expiry(client_cas, &end,
                           err); /* the library accepts any text, and would then trust no client */
    if (r < 0)
        return r;
    struct http_server *s = sl_alloc0(1, sizeof *s);
    s->h = h;
    /* clang-format off */
    s->mhd = MHD_start_daemon(flags, 0, NULL, NULL, on_request, s,
        MHD_OPTION_EXTERNAL_LOGGER, on_log, s, /* first, or it misses what goes wrong */
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADER_BYTES,
        MHD_OPTION_CONNECTION_LIMIT, 2 * h->spec.max_connections, /* ours is lower */
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_URI_LOG_CALLBACK, on_request_line, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        h->tls ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, cert_pem, /* plain ends here */
        MHD_OPTION_HTTPS_MEM_KEY, key_pem,
        MHD_OPTION_HTTPS_PRIORITIES, TLS_PRIORITIES,
        client_cas ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, client_cas,
        MHD_OPTION_END);
    /* clang-format on */
    if (!s->mhd) {
        r = sl_err_set(err, SL_EINVAL, "cannot start the server: %s",
                       s->last_error[0] ? s->last_error : strerror(errno));
        sl_freep(&s);
        return r;
    }
    int epoll_fd = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    r = uv_poll_init(h->loop, &s->poll, epoll_fd);
    if (r < 0) {
        MHD_stop_daemon(s->mhd);
        sl_freep(&s);
        return sl_err_set(err, SL_EIO, "cannot start the server: %s", uv_strerror(r));
    }
    (void)uv_timer_init(h->loop, &s->timer);
    (void)uv_idle_init(h->loop, &s->again);
    s->poll.data = s->timer.data = s->again.data = s;
    s->n_handles = 3;
    (void)uv_poll_start(&s->poll, UV_READABLE, on_server_poll);
    s->generation = h->generation;
    TAILQ_INSERT_TAIL(&h->servers, s, entry);
    h->now = s;
    return SL_OK;
}

/* Closes one connection for a new one, if there is one that yields to that address. */
static bool evict_connection(struct sl_httpd *h, const struct sockaddr *from) {
    struct http_conn *c = http_share_victim(h, http_share_find(h, from));

    if (!c)
        return false;
    sl_httpd_cut(c);
    server_run(c->server); /* finds it closed */
    return true;
}

/* Resuming one connection costs the library a walk over all of its suspended ones, so none gets
 * many. If no further daemon can be had, the last one takes more. */
static struct http_server *choose(struct sl_httpd *h) {
    struct http_server *s;

    if (h->now->n_conns < SERVER_CONNS)
        return h->now;
    TAILQ_FOREACH(s, &h->servers, entry)
    if (s->generation == h->generation && s->n_conns < SERVER_CONNS)
        return h->now = s;
    (void)!server_start(h, NULL);
    return h->now;
}

static void on_listener(uv_poll_t *p, int status, int events) {
    struct sl_httpd *h = p->data;
    struct sockaddr_storage from;
    uint32_t used = h->n_conns; /* since 0.9.77 the library counts new ones later */

    (void)status;
    (void)events;
    for (uint32_t i = 0; i < ACCEPTS && (!http_share_full(h, used) || http_share_has_capacity(h));
         i++) {
        socklen_t len = sizeof from;
        int fd = accept4(h->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            /* The rest are passing troubles of one connection, or there is none. */
            h->starved = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
            if (h->starved)
                sl_log(SL_LOG_WARN, "accept failed", SL_I("port", h->port),
                       SL_S("error", strerror(errno)));
            break;
        }
        if (http_share_full(h, used) && evict_connection(h, (struct sockaddr *)&from)) {
            used = h->n_conns;
        } else if (!http_share_spare(h, used)) {
            (void)close(fd); /* its address has too many that wait already */
            continue;
        }
        struct http_server *s = choose(h);
        /* Owns the descriptor, also if it fails. */
        (void)MHD_add_connection(s->mhd, fd, (struct sockaddr *)&from, len);
        used = h->n_conns > used ? h->n_conns : used + 1;
        /* since 0.9.77 it checks them only there */
        (void)uv_timer_start(&s->timer, on_server_timer, 0, 0);
    }
    tend_servers(h);
}

void sl_httpd_cut(struct http_conn *c) {
    (void)shutdown(c->fd, SHUT_RDWR);
    c->late = true;
    /* With a time of its own it is in the list that the library looks through in each run;
     * otherwise one whose answer ends in an error may be closed and never cleared away. */
    (void)MHD_set_connection_option(c->mhd, MHD_CONNECTION_OPTION_TIMEOUT, 1u);
    sl_httpd_resume(c);
}

static void on_sweep(uv_timer_t *t) {
    struct sl_httpd *h = t->data;
    uint64_t now = uv_now(h->loop);
    struct http_conn *c;

    h->starved = false;
    TAILQ_FOREACH(c, &h->conns, entry)
    if (c->deadline_ms <= now)
        sl_httpd_cut(c);
    http_share_sweep(h);
    tend_servers(h);
}

/* After anything happened: ends daemons that have no connections left, listens while there is
 * capacity, sweeps while there is something to sweep. */
static void tend_servers(struct sl_httpd *h) {
    struct http_server *next;

    for (struct http_server *s = TAILQ_FIRST(&h->servers); s; s = next) {
        next = TAILQ_NEXT(s, entry);
        if (s != h->now && s->n_conns == 0)
            server_stop(s);
    }
    bool listening = http_share_has_capacity(h) && !h->starved;
    if (listening && !h->listening)
        (void)uv_poll_start(&h->listener, UV_READABLE, on_listener);
    else if (!listening && h->listening)
        (void)uv_poll_stop(&h->listener);
    h->listening = listening;
    bool sweeping = h->n_conns > 0 || h->starved;
    if (sweeping && !uv_is_active((uv_handle_t *)&h->sweep))
        (void)uv_timer_start(&h->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    else if (!sweeping)
        (void)uv_timer_stop(&h->sweep);
}

/* ---- the public face ---- */

static void set_pem(struct sl_httpd *h, const char *const pem[PEMS]) {
    for (uint32_t i = 0; i < PEMS; i++) {
        if (h->pem[i])
            explicit_bzero(h->pem[i], strlen(h->pem[i]));
        sl_freep(&h->pem[i]);
        h->pem[i] = pem[i] ? sl_strdup(pem[i]) : NULL;
    }
}

void sl_httpd_unref(struct sl_httpd *h) {
    static const char *const none[PEMS] = {0};

    if (--h->n_handles)
        return;
    set_pem(h, none);
    sl_freep(&h);
}

static void on_closed(uv_handle_t *u) {
    sl_httpd_unref(u->data);
}

static int listen_at(struct sl_httpd *h, const struct sl_httpd_spec *spec, struct sl_err *err) {
    static const char prefix[] = HTTP_UNIX_PREFIX;
    size_t n = sizeof prefix - 1;

    if (spec->host && strncmp(spec->host, prefix, n) == 0)
        return http_listen_unix(spec->host + n, &h->file, &h->fd, err);
    return http_listen(spec->host, spec->port, &h->fd, &h->port, err);
}

int sl_httpd_start(struct uv_loop_s *loop, const struct sl_httpd_spec *spec, struct sl_httpd **ret,
                   struct sl_err *err) {
    const char *const pem[PEMS] = {spec->cert_pem, spec->key_pem, spec->client_cas};
    struct sl_httpd *h = sl_alloc0(1, sizeof *h);

    sl_assert(spec->handler && spec->max_connections > 0 && !spec->cert_pem == !spec->key_pem);
    h->loop = loop;
    h->spec = *spec;
    h->spec.host = h->spec.cert_pem = h->spec.key_pem = h->spec.client_cas = NULL;
    h->spec.request_ms = spec->request_ms ? spec->request_ms : REQUEST_MS;
    h->spec.idle_ms = spec->idle_ms ? spec->idle_ms : IDLE_MS;
    h->spec.still_ms = spec->still_ms ? spec->still_ms : STILL_MS;
    h->spec.header_ms = spec->header_ms ? spec->header_ms : HEADER_MS;
    h->spec.body_ms = spec->body_ms ? spec->body_ms : BODY_MS;
    h->spec.all_answers = spec->all_answers ? spec->all_answers : SL_HTTP_ANSWERS;
    h->spec.max_answer = spec->max_answer ? spec->max_answer : SL_HTTP_ANSWER;
    if (h->spec.header_ms > h->spec.request_ms)
        h->spec.header_ms = h->spec.request_ms;
    if (h->spec.body_ms > h->spec.request_ms)
        h->spec.body_ms = h->spec.request_ms;
    h->tls = spec->cert_pem;
    h->n_handles = 1; /* us, until all stands */
    set_pem(h, pem);
    TAILQ_INIT(&h->conns);
    TAILQ_INIT(&h->peers);
    TAILQ_INIT(&h->servers);
    int r = listen_at(h, spec, err);
    if (r < 0) {
        sl_httpd_unref(h);
        return r;
    }
    r = server_start(h, err);
    if (r >= 0 && (r = uv_poll_init(loop, &h->listener, h->fd)) < 0) {
        r = sl_err_set(err, SL_EIO, "cannot start the server: %s", uv_strerror(r));
        server_stop(h->now);
    }
    if (r < 0) {
        http_unlink_unix(&h->file);
        (void)close(h->fd);
        sl_httpd_unref(h);
        return r;
    }
    (void)uv_timer_init(loop, &h->sweep);
    h->listener.data = h->sweep.data = h;
    h->n_handles = 2;
    sl_httpd_hangups_start(h);
    tend_servers(h);
    *ret = h;
    return SL_OK;
}

uint16_t sl_httpd_port(const struct sl_httpd *h) {
    return h->port;
}

int sl_httpd_certificate(struct sl_httpd *h, const char *cert_pem, const char *key_pem,
                         const char *client_cas, struct sl_err *err) {
    const char *const pem[PEMS] = {cert_pem, key_pem, client_cas};
    char *before[PEMS];

    sl_assert(h->tls && !h->busy);
    for (uint32_t i = 0; i < PEMS; i++)
        before[i] = h->pem[i] ? sl_strdup(h->pem[i]) : NULL;
    set_pem(h, pem);
    h->generation++;
    int r = server_start(h, err);
    if (r < 0) {
        h->generation--;
        set_pem(h, (const char *const *)before);
    }
    for (uint32_t i = 0; i < PEMS; i++) {
        if (before[i])
            explicit_bzero(before[i], strlen(before[i]));
        sl_freep(&before[i]);
    }
    struct http_server *next;
    for (struct http_server *s = TAILQ_FIRST(&h->servers); s; s = next) {
        next = TAILQ_NEXT(s, entry);
        if (s->generation + 1 < h->generation) /* two generations are enough */
            server_stop(s);
    }
    tend_servers(h);
    return r;
}

void sl_httpd_wake(struct sl_httpd *h) {
    struct http_conn *c;

    sl_assert(!h->busy);
    TAILQ_FOREACH(c, &h->conns, entry)
    if (!c->call) /* those are resumed alone */
        sl_httpd_resume(c);
}

void sl_httpd_stop(struct sl_httpd *h) {
    if (!h)
        return;
    sl_assert(!h->busy);
    uv_close((uv_handle_t *)&h->listener, on_closed);
    uv_close((uv_handle_t *)&h->sweep, on_closed);
    http_unlink_unix(&h->file);
    (void)close(h->fd);
    while (!TAILQ_EMPTY(&h->servers))
        server_stop(TAILQ_FIRST(&h->servers));
    sl_httpd_hangups_stop(h);
}
