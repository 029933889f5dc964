/*
 * The listening socket is ours; behind it stands a libmicrohttpd daemon that never listens and gets
 * each accepted connection handed over. Its epoll descriptor is nested in the loop. A new
 * certificate is a new daemon: the old one keeps its connections until they end.
 *
 *     uv_poll(listener) -> accept -> MHD_add_connection
 *     uv_poll(daemon's epoll), uv_timer(MHD_get_timeout) -> MHD_run -> on_request -> the handler
 *
 * Deadlines are ours too, since the library only knows an idle time, which a client that sends a
 * byte now and then never reaches. A late connection is shut down as a socket, and the library then
 * finds it closed.
 *
 * An answer that streams (a watch, server-sent events) will be a response with a content reader,
 * suspended while it has nothing to say, on a connection without a deadline that beats at least
 * every 15 s, because a suspended connection does not notice that its peer has left.
 */
#include "httpd/httpd.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "httpd/answer.h"
#include "httpd/cert.h"
#include "httpd/listen.h"
#include "httpd/peer.h"
#include "log/log.h"

#define HEADER_BYTES ((size_t)32 << 10) /* a connection's memory besides the body */
#define REQUEST_MS 30000
#define IDLE_MS 120000
#define SWEEP_MS 1000 /* how late a deadline may be noticed */
#define ACCEPTS 64    /* in one turn of the loop */

/* TLS 1.2 and 1.3 with forward secrecy and authenticated encryption, as all of today's clients
 * have. */
#define TLS_PRIORITIES                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:"      \
    "+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"

struct server;

struct conn {
    TAILQ_ENTRY(conn) entry; /* idle ones are among themselves in the order of their last answer */
    struct server *server;
    struct MHD_Connection *mhd;
    int fd; /* the library's */
    bool idle;
    bool waiting; /* suspended until somebody wakes it */
    bool late;    /* shut down; to be closed at the next occasion */
    uint64_t deadline_ms;
};

/* One daemon of the library. */
struct server {
    struct sl_httpd *h;
    struct MHD_Daemon *mhd;
    uv_poll_t poll;
    uv_timer_t timer;
    uint32_t n_conns;
    uint32_t n_handles;   /* not yet closed by the loop */
    char last_words[160]; /* of the library's log */
};

struct sl_httpd {
    uv_loop_t *loop;
    struct sl_httpd_spec spec; /* without host and certificate */
    bool tls;
    int fd;
    uint16_t port;
    uv_poll_t listener;
    uv_timer_t sweep;
    uint32_t n_handles;
    bool listening; /* the listener is polled */
    bool starved;   /* accept found no descriptor or memory; the next sweep tries again */
    bool busy;      /* inside the library */
    struct server *now, *old;
    TAILQ_HEAD(, conn) conns;
    uint32_t n_conns, n_idle;
    size_t bodies; /* bytes of all that are in memory */
};

/* A request whose headers are complete. */
struct request {
    struct sl_buf body;
    size_t seen;  /* of the body, also what was over the ceiling */
    size_t taken; /* of the room for all bodies */
    bool crowded; /* there was none left */
};

/* ---- answers ---- */

static enum MHD_Result send_answer(struct server *s, struct MHD_Connection *c,
                                   struct sl_http_answer *a) {
    struct MHD_Response *r = sl_answer_response(a);

    if (!r)
        return MHD_NO;
    bool ok = MHD_add_response_header(r, "Content-Type", a->content_type) == MHD_YES;
    if (s != s->h->now) /* its certificate is out of date: let the client come again */
        ok = ok && MHD_add_response_header(r, "Connection", "close") == MHD_YES;
    ok = ok && MHD_queue_response(c, (unsigned)a->status, r) == MHD_YES;
    MHD_destroy_response(r);
    return ok ? MHD_YES : MHD_NO;
}

static enum MHD_Result refuse(struct server *s, struct MHD_Connection *c, int status,
                              const char *words) {
    struct sl_http_answer a = {.status = status, .content_type = "text/plain; charset=utf-8"};

    sl_buf_init(&a.body, 1024);
    sl_buf_printf(&a.body, "%s\n", words);
    enum MHD_Result r = send_answer(s, c, &a);
    sl_buf_done(&a.body);
    return r;
}

static const char *look_up(const struct sl_http_request *rq, enum MHD_ValueKind kind,
                           const char *key) {
    const char *value = NULL;
    size_t len;

    if (MHD_lookup_connection_value_n(rq->priv, kind, key, strlen(key), &value, &len) != MHD_YES)
        return NULL;
    return value ? value : "";
}

static const char *find_query(const struct sl_http_request *rq, const char *key) {
    return look_up(rq, MHD_GET_ARGUMENT_KIND, key);
}

static const char *find_header(const struct sl_http_request *rq, const char *name) {
    return look_up(rq, MHD_HEADER_KIND, name);
}

struct header_walk {
    void (*each)(void *ctx, const char *name, const char *value);
    void *ctx;
};

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 const char *value) {
    struct header_walk *w = cls;

    (void)kind;
    w->each(w->ctx, name, value ? value : "");
    return MHD_YES;
}

static void walk_headers(const struct sl_http_request *rq,
                         void (*each)(void *ctx, const char *name, const char *value), void *ctx) {
    struct header_walk w = {each, ctx};

    (void)MHD_get_connection_values(rq->priv, MHD_HEADER_KIND, on_header, &w);
}

static bool find_peer(const struct sl_http_request *rq, char *out, size_t size) {
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(rq->priv, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return i && sl_peer_name(i->tls_session, out, size);
}

static struct conn *conn_of(struct MHD_Connection *c) {
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void sl_http_defer(const struct sl_http_request *rq) {
    conn_of(rq->priv)->waiting = true;
}

/* Suspended, a connection does not notice anything; resumed, it asks the handler again. */
static void resume(struct conn *c) {
    if (c->waiting)
        MHD_resume_connection(c->mhd);
    c->waiting = false;
}

static enum MHD_Result handle(struct server *s, struct MHD_Connection *c, const char *method,
                              const char *path, const struct request *rq) {
    const struct sl_http_request request = {
        .method = method,
        .path = path,
        .body = sl_buf_str(&rq->body),
        .len = rq->body.len,
        .query = find_query,
        .header = find_header,
        .headers = walk_headers,
        .peer = find_peer,
        .priv = c,
    };
    struct sl_http_answer a = {.status = 200, .content_type = "application/json"};
    enum MHD_Result r;

    sl_buf_init(&a.body, SL_HTTP_ANSWER);
    s->h->spec.handler(s->h->spec.ctx, &request, &a);
    sl_assert(a.status >= 200 && a.status <= 599);
    if (a.more && strcmp(method, "HEAD") == 0) { /* the library would send the end of a body */
        a.drop(a.ctx);
        a.more = NULL;
    }
    if (conn_of(c)->waiting) {
        MHD_suspend_connection(c);
        r = MHD_YES;
    } else if (a.body.overflow) {
        sl_log(SL_LOG_ERROR, "answer too large", SL_S("path", path));
        r = refuse(s, c, 500, "the answer is too large");
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

/* Is there room for so much more? */
static bool take_room(struct sl_httpd *h, struct request *rq, size_t n) {
    size_t largest = h->spec.large_path ? h->spec.large_body : h->spec.max_body;

    if (h->bodies + n > 4 * largest)
        return false;
    h->bodies += n;
    rq->taken += n;
    return true;
}

static void drop_body(struct sl_httpd *h, struct request *rq) {
    sl_buf_done(&rq->body);
    h->bodies -= rq->taken;
    rq->taken = 0;
}

/* Called with the headers (*state is NULL then), with each piece of the body, and at the end. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *path,
                                  const char *method, const char *version, const char *piece,
                                  size_t *piece_len, void **state) {
    struct server *s = cls;
    struct request *rq = *state;
    size_t max = body_ceiling(&s->h->spec, path);

    (void)version;
    if (!rq) {
        if (announced_length(c) > max)
            return refuse(s, c, 413, "the body is too large");
        *state = rq = sl_alloc0(1, sizeof *rq);
        sl_buf_init(&rq->body, max);
        return MHD_YES;
    }
    if (*piece_len > 0) {
        rq->seen += *piece_len;
        rq->crowded |= !take_room(s->h, rq, *piece_len);
        if (rq->crowded)
            drop_body(s->h, rq);
        else
            sl_buf_add(&rq->body, piece, *piece_len);
        *piece_len = 0;
        /* Of a body that did not announce its length the rest is swallowed, so that the client
         * can read our answer; but not without end. */
        return rq->seen / 2 > max ? MHD_NO : MHD_YES;
    }
    if (rq->body.overflow)
        return refuse(s, c, 413, "the body is too large");
    if (rq->crowded)
        return refuse(s, c, 503, "too much is being sent at once, come again");
    if (conn_of(c)->late)
        return MHD_NO;
    return handle(s, c, method, path, rq);
}

/* The connection has begun or ended a request. */
static void turn(struct server *s, struct MHD_Connection *c, bool idle) {
    struct sl_httpd *h = s->h;
    struct conn *conn = conn_of(c);

    h->n_idle += (uint32_t)idle - (uint32_t)conn->idle;
    conn->idle = idle;
    conn->deadline_ms = uv_now(h->loop) + (idle ? h->spec.idle_ms : h->spec.request_ms);
    if (idle) {
        TAILQ_REMOVE(&h->conns, conn, entry);
        TAILQ_INSERT_TAIL(&h->conns, conn, entry);
    }
}

static void *on_request_line(void *cls, const char *uri, struct MHD_Connection *c) {
    (void)uri;
    turn(cls, c, false);
    return NULL; /* the first *state of on_request */
}

static void on_completed(void *cls, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode how) {
    struct request *rq = *state;

    (void)how;
    turn(cls, c, true);
    if (rq) {
        drop_body(((struct server *)cls)->h, rq);
        sl_freep(&rq);
    }
    *state = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what) {
    struct server *s = cls;
    struct sl_httpd *h = s->h;
    struct conn *conn = *context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        conn = sl_alloc0(1, sizeof *conn);
        conn->server = s;
        conn->mhd = c;
        conn->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        conn->deadline_ms = uv_now(h->loop) + h->spec.request_ms;
        TAILQ_INSERT_TAIL(&h->conns, conn, entry);
        h->n_conns++;
        s->n_conns++;
    } else {
        TAILQ_REMOVE(&h->conns, conn, entry);
        h->n_conns--;
        s->n_conns--;
        h->n_idle -= conn->idle;
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
    struct server *s = cls;

    (void)vsnprintf(s->last_words, sizeof s->last_words, fmt, ap);
    s->last_words[strcspn(s->last_words, "\n")] = '\0';
    sl_log(SL_LOG_DEBUG, "httpd", SL_I("port", s->h->port), SL_S("says", s->last_words));
}

/* ---- the loop ---- */

static void tend(struct sl_httpd *h);

static void on_server_closed(uv_handle_t *u) {
    struct server *s = u->data;

    if (--s->n_handles == 0)
        sl_freep(&s);
}

static void server_stop(struct server *s) {
    struct conn *c;

    TAILQ_FOREACH(c, &s->h->conns, entry)
    if (c->server == s)
        resume(c); /* the library does not end with suspended ones */
    uv_close((uv_handle_t *)&s->poll, on_server_closed); /* before its descriptor is closed */
    uv_close((uv_handle_t *)&s->timer, on_server_closed);
    MHD_stop_daemon(s->mhd);
    s->mhd = NULL;
}

static void on_server_timer(uv_timer_t *t);

static void server_run(struct server *s) {
    struct sl_httpd *h = s->h;
    MHD_UNSIGNED_LONG_LONG ms;

    h->busy = true;
    (void)MHD_run(s->mhd);
    h->busy = false;
    /* Without asking each time, bytes that TLS has buffered would sleep. */
    if (MHD_get_timeout(s->mhd, &ms) == MHD_YES)
        (void)uv_timer_start(&s->timer, on_server_timer, ms, 0);
    else
        (void)uv_timer_stop(&s->timer);
    tend(h);
}

static void on_server_timer(uv_timer_t *t) {
    server_run(t->data);
}

static void on_server_poll(uv_poll_t *p, int status, int events) {
    (void)status;
    (void)events;
    server_run(p->data);
}

static int server_start(struct sl_httpd *h, const char *cert_pem, const char *key_pem,
                        const char *client_cas, struct server **ret, struct sl_err *err) {
    unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                     MHD_USE_ERROR_LOG | (h->tls ? MHD_USE_TLS : 0);
    int r = h->tls ? sl_cert_pair(cert_pem, key_pem, err) : SL_OK; /* it has the better words */
    sl_time end;
    if (r >= 0 && client_cas)
        r = sl_cert_expiry(client_cas, &end,
                           err); /* the library takes any text, and trusts nobody */
    if (r < 0)
        return r;
    struct server *s = sl_alloc0(1, sizeof *s);
    s->h = h;
    /* clang-format off */
    s->mhd = MHD_start_daemon(flags, 0, NULL, NULL, on_request, s,
        MHD_OPTION_EXTERNAL_LOGGER, on_log, s, /* first, or it misses what goes wrong */
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADER_BYTES,
        MHD_OPTION_CONNECTION_LIMIT, h->spec.max_connections,
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
                       s->last_words[0] ? s->last_words : strerror(errno));
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
    s->poll.data = s->timer.data = s;
    s->n_handles = 2;
    (void)uv_poll_start(&s->poll, UV_READABLE, on_server_poll);
    *ret = s;
    return SL_OK;
}

/* Closes the connection that has been idle longest. */
static void make_room(struct sl_httpd *h) {
    struct conn *c;

    TAILQ_FOREACH(c, &h->conns, entry)
    if (c->idle)
        break;
    if (!c)
        return;
    (void)shutdown(c->fd, SHUT_RDWR);
    server_run(c->server); /* finds it closed */
}

static void on_listener(uv_poll_t *p, int status, int events) {
    struct sl_httpd *h = p->data;
    struct sockaddr_storage from;

    (void)status;
    (void)events;
    if (h->n_conns == h->spec.max_connections)
        make_room(h);
    uint32_t room = h->spec.max_connections - h->n_conns;
    for (uint32_t i = 0; i < ACCEPTS && i < room; i++) {
        socklen_t len = sizeof from;
        int fd = accept4(h->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            /* The rest are passing troubles of one connection, or there is none. */
            h->starved = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
            if (h->starved)
                sl_log(SL_LOG_WARN, "cannot accept", SL_I("port", h->port),
                       SL_S("error", strerror(errno)));
            break;
        }
        /* Owns the descriptor, also if it fails. */
        (void)MHD_add_connection(h->now->mhd, fd, (struct sockaddr *)&from, len);
    }
    server_run(h->now); /* since 0.9.77 it looks at them only there */
}

static void on_sweep(uv_timer_t *t) {
    struct sl_httpd *h = t->data;
    uint64_t now = uv_now(h->loop);
    struct conn *c;

    h->starved = false;
    TAILQ_FOREACH(c, &h->conns, entry)
    if (c->deadline_ms <= now) {
        (void)shutdown(c->fd, SHUT_RDWR);
        c->late = true;
        resume(c); /* the library's own signal makes it run */
    }
    tend(h);
}

/* After anything happened: ends an old daemon that has no connections left, listens while there is
 * room, sweeps while there is something to sweep. */
static void tend(struct sl_httpd *h) {
    if (h->old && h->old->n_conns == 0)
        server_stop(TAKE_PTR(h->old));
    bool listening = (h->n_conns < h->spec.max_connections || h->n_idle > 0) && !h->starved;
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

int sl_httpd_start(struct uv_loop_s *loop, const struct sl_httpd_spec *spec, struct sl_httpd **ret,
                   struct sl_err *err) {
    struct sl_httpd *h = sl_alloc0(1, sizeof *h);
    int r;

    sl_assert(spec->handler && spec->max_connections > 0 && !spec->cert_pem == !spec->key_pem);
    h->loop = loop;
    h->spec = *spec;
    h->spec.host = h->spec.cert_pem = h->spec.key_pem = h->spec.client_cas = NULL;
    h->spec.request_ms = spec->request_ms ? spec->request_ms : REQUEST_MS;
    h->spec.idle_ms = spec->idle_ms ? spec->idle_ms : IDLE_MS;
    h->tls = spec->cert_pem;
    TAILQ_INIT(&h->conns);
    r = sl_listen(spec->host, spec->port, &h->fd, &h->port, err);
    if (r < 0) {
        sl_freep(&h);
        return r;
    }
    r = server_start(h, spec->cert_pem, spec->key_pem, spec->client_cas, &h->now, err);
    if (r < 0) {
        (void)close(h->fd);
        sl_freep(&h);
        return r;
    }
    r = uv_poll_init(loop, &h->listener, h->fd);
    if (r < 0) {
        server_stop(h->now);
        (void)close(h->fd);
        sl_freep(&h);
        return sl_err_set(err, SL_EIO, "cannot start the server: %s", uv_strerror(r));
    }
    (void)uv_timer_init(loop, &h->sweep);
    h->listener.data = h->sweep.data = h;
    h->n_handles = 2;
    tend(h);
    *ret = h;
    return SL_OK;
}

uint16_t sl_httpd_port(const struct sl_httpd *h) {
    return h->port;
}

int sl_httpd_certificate(struct sl_httpd *h, const char *cert_pem, const char *key_pem,
                         const char *client_cas, struct sl_err *err) {
    struct server *s = NULL;

    sl_assert(h->tls && !h->busy);
    int r = server_start(h, cert_pem, key_pem, client_cas, &s, err);
    if (r < 0)
        return r;
    if (h->old) /* two generations are enough */
        server_stop(h->old);
    h->old = h->now;
    h->now = s;
    tend(h);
    return SL_OK;
}

void sl_httpd_wake(struct sl_httpd *h) {
    struct conn *c;
    bool woken = false;

    sl_assert(!h->busy);
    TAILQ_FOREACH(c, &h->conns, entry) {
        woken |= c->waiting;
        resume(c);
    }
    if (woken && h->old)
        server_run(h->old);
    if (woken)
        server_run(h->now);
}

static void on_closed(uv_handle_t *u) {
    struct sl_httpd *h = u->data;

    if (--h->n_handles == 0)
        sl_freep(&h);
}

void sl_httpd_stop(struct sl_httpd *h) {
    if (!h)
        return;
    sl_assert(!h->busy);
    uv_close((uv_handle_t *)&h->listener, on_closed);
    uv_close((uv_handle_t *)&h->sweep, on_closed);
    (void)close(h->fd);
    if (h->old)
        server_stop(h->old);
    server_stop(h->now);
}
