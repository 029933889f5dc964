/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upgraded connections. The library could do that, too, but for TLS it would copy every byte
 * through a pair of sockets and not report disconnects. So the connection stays suspended, where
 * the library does not touch it, and we read and write on its descriptor, or through its TLS
 * session, until it is resumed to be closed.
 *
 * At the end our half is closed and the peer's close is awaited, for as long as a request may take:
 * closing while bytes are unread would make the peer lose the last bytes sent.
 */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "core/base/mem.h"
#include "lib/http/server_int.h"

#define READ_BYTES ((size_t)64 << 10) /* at a time */
#define WRITES 16                     /* in one turn of the loop */

struct http_upgrade {
    struct sl_http_call *call;
    const struct sl_http_upgrade_events *wire;
    uv_poll_t poll;
    gnutls_session_t tls; /* NULL: plain */
    bool held;
    bool filled;   /* more than the mark waited */
    bool stuck;    /* TLS has a record that is only partly sent */
    bool shut;     /* our half is closed */
    bool stopped;  /* the loop has let go */
    bool reenters; /* inside the owner's callback */
};

static void on_poll(uv_poll_t *p, int status, int events);

static bool reads_enabled(const struct http_upgrade *u) {
    return !u->held || u->call->ended;
}

/* Bytes that TLS has in memory make no descriptor readable. */
static bool pending(const struct http_upgrade *u) {
    return u->tls && gnutls_record_check_pending(u->tls) > 0;
}

static void watch(struct http_upgrade *u) {
    struct sl_http_call *c = u->call;
    int events = UV_DISCONNECT;

    if (u->stopped || c->conn->late)
        return;
    if (reads_enabled(u))
        events |= UV_READABLE;
    if (c->sent < c->out.len || (c->ended && !u->shut) || (reads_enabled(u) && pending(u)))
        events |= UV_WRITABLE;
    (void)uv_poll_start(&u->poll, events, on_poll);
}

/* The peer is gone, or has closed its side. */
static void cut_connection(struct http_upgrade *u) {
    if (!u->stopped)
        (void)uv_poll_stop(&u->poll);
    sl_httpd_cut(u->call->conn);
}

/* As read and write of files: a number of bytes, 0 at the end, -1 and EAGAIN. */
static ssize_t read_bytes(struct http_upgrade *u, char *buf, size_t max) {
    if (!u->tls)
        return recv(u->call->conn->fd, buf, max, 0);
    ssize_t n = gnutls_record_recv(u->tls, buf, max);
    if (n >= 0)
        return n;
    errno = gnutls_error_is_fatal((int)n) ? EIO : EAGAIN;
    return -1;
}

static ssize_t write_bytes(struct http_upgrade *u, const char *s, size_t len) {
    if (!u->tls)
        return send(u->call->conn->fd, s, len, MSG_NOSIGNAL);
    /* What it could not send whole it has buffered: the rest is flushed by a call without data. */
    ssize_t n = gnutls_record_send(u->tls, u->stuck ? NULL : s, u->stuck ? 0 : len);
    u->stuck = n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED;
    if (n >= 0)
        return n;
    errno = u->stuck ? EAGAIN : EIO;
    return -1;
}

static bool passing(void) {
    return errno == EAGAIN || errno == EINTR;
}

/* False: the connection is broken. */
static bool send_some(struct http_upgrade *u) {
    struct sl_http_call *c = u->call;

    for (int i = 0; i < WRITES && c->sent < c->out.len; i++) {
        ssize_t n = write_bytes(u, c->out.s + c->sent, c->out.len - c->sent);
        if (n < 0)
            return passing();
        sl_httpd_call_sent(c, (size_t)n);
    }
    if (c->sent < c->out.len || !c->ended || u->shut)
        return true;
    u->shut = true;
    if (u->tls)
        (void)gnutls_bye(u->tls, GNUTLS_SHUT_WR);
    (void)shutdown(c->conn->fd, SHUT_WR);
    return true;
}

/* False: that was all that comes. */
static bool receive(struct http_upgrade *u) {
    struct sl_http_call *c = u->call;
    char buf[READ_BYTES];

    ssize_t n = read_bytes(u, buf, sizeof buf);
    if (n == 0)
        return false;
    if (n < 0)
        return passing();
    if (c->gone) /* after the end it is only thrown away */
        u->wire->bytes(c->ctx, buf, (size_t)n);
    return true;
}

static void on_poll(uv_poll_t *p, int status, int events) {
    struct http_upgrade *u = p->data;
    struct sl_http_call *c = u->call;
    bool ok = status == 0;

    c->refs++; /* the owner may end it */
    u->reenters = true;
    if (ok && (events & UV_WRITABLE))
        ok = send_some(u);
    if (ok && u->filled && sl_http_waiting(c) < SL_HTTP_UPGRADE_LOW_WATER && c->gone) {
        u->filled = false;
        u->wire->writable(c->ctx);
    }
    if (ok && c->conn && !u->stopped) {
        if (reads_enabled(u))
            ok = (!(events & (UV_READABLE | UV_DISCONNECT)) && !pending(u)) || receive(u);
        else /* reads are paused: only a hang-up counts */
            ok = !(events & UV_DISCONNECT);
    }
    u->reenters = false;
    if (c->conn && !u->stopped) {
        if (ok)
            watch(u);
        else
            cut_connection(u);
    }
    sl_httpd_call_unref(c);
}

static void on_closed(uv_handle_t *h) {
    struct http_upgrade *u = h->data;
    struct sl_http_call *c = u->call;

    c->up = NULL;
    sl_freep(&u);
    sl_httpd_call_unref(c);
}

void sl_httpd_upgrade_stop(struct sl_http_call *c) {
    bool polled = !c->up->stopped;

    c->up->stopped = true;
    if (polled)
        uv_close((uv_handle_t *)&c->up->poll, on_closed);
    else /* it never was */
        on_closed((uv_handle_t *)&c->up->poll);
}

void sl_httpd_upgrade_more(struct sl_http_call *c) {
    struct http_upgrade *u = c->up;

    if (c->out.len - c->sent > SL_HTTP_UPGRADE_LOW_WATER)
        u->filled = true;
    if (!u->reenters)
        watch(u);
}

void sl_http_hold_input(struct sl_http_call *c, bool hold) {
    struct http_upgrade *u = c->up;

    u->held = hold;
    if (!u->reenters)
        watch(u);
}

size_t sl_http_waiting(const struct sl_http_call *c) {
    return c->out.len - c->sent;
}

void sl_http_upgrade(struct sl_http_call *c, const char *const *headers,
                     const struct sl_http_upgrade_events *wire) {
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(c->conn->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    struct http_upgrade *u = sl_alloc0(1, sizeof *u);

    sl_assert(!c->streams && !c->response && !c->up && c->gone && c->conn->waiting);
    sl_buf_done(&c->out);
    sl_buf_init(&c->out, SL_HTTP_UPGRADE_MAX);
    u->call = c;
    u->wire = wire;
    u->tls = i && c->conn->server->h->tls ? i->tls_session : NULL;
    c->conn->deadline_ms = UINT64_MAX;
    /* What is typed comes byte by byte, and each is to be seen at once. */
    (void)setsockopt(c->conn->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    c->up = u;
    c->refs++;
    u->poll.data = u;
    if (uv_poll_init(c->conn->server->h->loop, &u->poll, c->conn->fd) < 0) {
        u->stopped = true;
        sl_httpd_cut(c->conn);
        return;
    }
    sl_buf_puts(&c->out, "HTTP/1.1 101 Switching Protocols\r\n");
    for (; headers[0]; headers += 2)
        sl_buf_printf(&c->out, "%s: %s\r\n", headers[0], headers[1]);
    sl_buf_puts(&c->out, "\r\n");
    watch(u);
}
