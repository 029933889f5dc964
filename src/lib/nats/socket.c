/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/nats/socket.h"

#include "core/base/mem.h"

struct natsc_socket {
    uv_tcp_t tcp;
    uv_connect_t connecting;
    uv_write_t write;
    char *buffer; /* of NATSC_READ bytes */
    const struct natsc_socket_events *on;
    void *arg;
    struct natsc_tls *tls; /* NULL: in clear */
    struct sl_buf out;     /* put, in clear */
    struct sl_buf sending; /* what the loop is writing, or will next */
    struct sl_buf waiting; /* that of TLS, while the loop writes */
    bool writing, secured, closing;
};

/* In the words of the system, which libuv's numbers are those of. */
static const char *words_for(int status) {
    return status == UV_EOF ? "the server closed the connection" : strerror(-status);
}

/* ---- its life ---- */

struct natsc_socket *natsc_socket_new(uv_loop_t *loop, char *buffer,
                                      const struct natsc_socket_events *on, void *arg) {
    struct natsc_socket *s = sl_alloc0(1, sizeof *s);

    sl_assert(uv_tcp_init(loop, &s->tcp) == 0);
    s->tcp.data = s->connecting.data = s->write.data = s;
    s->buffer = buffer;
    s->on = on;
    s->arg = arg;
    s->out = SL_BUF(NATSC_MAX_OUT);
    s->sending = SL_BUF(NATSC_MAX_UNSENT_BYTES);
    s->waiting = SL_BUF(NATSC_MAX_UNSENT_BYTES);
    return s;
}

/* Credentials were in them. */
static void wipe(struct sl_buf *b) {
    if (b->s)
        explicit_bzero(b->s, b->cap);
    (void)sl_buf_full(b);
    sl_buf_done(b);
}

static void on_closed(uv_handle_t *h) {
    struct natsc_socket *s = h->data;

    natsc_tls_free(s->tls);
    wipe(&s->out);
    wipe(&s->sending);
    wipe(&s->waiting);
    sl_freep(&s);
}

void natsc_socket_close(struct natsc_socket *s) {
    if (!s || s->closing)
        return;
    s->closing = true;
    uv_close((uv_handle_t *)&s->tcp, on_closed);
}

static void lose(struct natsc_socket *s, const char *why) {
    if (!s->closing)
        s->on->lost(s->arg, why);
}

/* ---- writing ---- */

static void on_written(uv_write_t *w, int status) {
    struct natsc_socket *s = w->data;
    struct sl_err err;

    s->writing = false;
    if (s->closing)
        return;
    explicit_bzero(s->sending.s, s->sending.len);
    sl_buf_clear(&s->sending);
    if (status < 0)
        lose(s, words_for(status));
    else if (natsc_socket_flush(s, &err) < 0)
        lose(s, err.text);
    else if (!s->writing)
        s->on->sent(s->arg);
}

/* One write at a time: what comes meanwhile goes with the next. */
static int write_on(struct natsc_socket *s, struct sl_err *err) {
    if (s->writing || s->waiting.len == 0)
        return SL_OK;
    struct sl_buf empty = s->sending;
    s->sending = s->waiting;
    s->waiting = empty;
    uv_buf_t b = {.base = s->sending.s, .len = s->sending.len};
    int r = uv_write(&s->write, (uv_stream_t *)&s->tcp, &b, 1, on_written);
    if (r < 0)
        return sl_err_set(err, SL_EIO, "%s", words_for(r));
    s->writing = true;
    return SL_OK;
}

struct sl_buf *natsc_socket_out(struct natsc_socket *s) {
    return &s->out;
}

size_t natsc_socket_unsent(const struct natsc_socket *s) {
    return s->out.len + s->waiting.len + s->sending.len;
}

/* Puts what is in clear where it is sent from. */
static int encrypt(struct natsc_socket *s, struct sl_err *err) {
    int r = SL_OK;

    if (!s->tls)
        sl_buf_add(&s->waiting, sl_buf_str(&s->out), s->out.len);
    else if (s->secured)
        r = natsc_tls_write(s->tls, (struct sl_text){sl_buf_str(&s->out), s->out.len}, err);
    if (s->out.s)
        explicit_bzero(s->out.s, s->out.len);
    sl_buf_clear(&s->out);
    if (s->tls)
        natsc_tls_drain(s->tls, &s->waiting);
    return r;
}

int natsc_socket_flush(struct natsc_socket *s, struct sl_err *err) {
    bool full = sl_buf_full(&s->out);
    int r = full ? SL_OK : encrypt(s, err);

    if (r < 0)
        return r;
    if (full || sl_buf_full(&s->waiting))
        return sl_err_set(err, SL_ELIMIT, "the server does not read what it is sent");
    return write_on(s, err);
}

/* ---- reading ---- */

static void on_space(uv_handle_t *h, size_t suggested, uv_buf_t *ret) {
    struct natsc_socket *s = h->data;

    (void)suggested;
    *ret = (uv_buf_t){.base = s->buffer, .len = NATSC_READ};
}

/* False: it is lost or closed. */
static bool handshake(struct natsc_socket *s) {
    struct sl_err err;
    int done = natsc_tls_handshake(s->tls, &err), r = done;

    if (done >= 0)
        r = natsc_socket_flush(s, &err);
    if (r < 0) {
        lose(s, err.text);
        return false;
    }
    if (done == 0)
        return true;
    s->secured = true;
    s->on->secured(s->arg);
    return !s->closing;
}

static void handle_tls(struct natsc_socket *s, struct sl_text in) {
    struct sl_err err;
    size_t n = 1;

    natsc_tls_feed(s->tls, in);
    if (!s->secured && (!handshake(s) || !s->secured))
        return;
    /* The bytes are TLS's own by now, so the buffer is free again. */
    while (!s->closing && n > 0) {
        if (natsc_tls_read(s->tls, s->buffer, NATSC_READ, &n, &err) < 0) {
            lose(s, err.text);
            return;
        }
        if (n > 0)
            s->on->data(s->arg, (struct sl_text){s->buffer, n});
    }
    /* It may have answered by itself, to a change of keys. */
    if (!s->closing && natsc_socket_flush(s, &err) < 0)
        lose(s, err.text);
}

static void on_read(uv_stream_t *h, ssize_t n, const uv_buf_t *b) {
    struct natsc_socket *s = h->data;

    if (n == 0 || s->closing)
        return;
    if (n < 0) {
        lose(s, words_for((int)n));
        return;
    }
    struct sl_text in = {b->base, (size_t)n};
    s->on->received(s->arg, in.n);
    if (s->tls)
        handle_tls(s, in);
    else
        s->on->data(s->arg, in);
}

void natsc_socket_stop_reading(struct natsc_socket *s) {
    (void)uv_read_stop((uv_stream_t *)&s->tcp);
}

int natsc_socket_read(struct natsc_socket *s, struct sl_err *err) {
    int r = uv_read_start((uv_stream_t *)&s->tcp, on_space, on_read);

    return r < 0 ? sl_err_set(err, SL_EIO, "%s", words_for(r)) : SL_OK;
}

/* ---- the beginning ---- */

static void on_connected(uv_connect_t *c, int status) {
    struct natsc_socket *s = c->data;
    struct sl_err err;

    if (s->closing)
        return;
    (void)uv_tcp_nodelay(&s->tcp, 1);
    if (status < 0)
        lose(s, words_for(status));
    else if (natsc_socket_read(s, &err) < 0)
        lose(s, err.text);
    else
        s->on->connected(s->arg);
}

int natsc_socket_connect(struct natsc_socket *s, const struct sockaddr *to, struct sl_err *err) {
    int r = uv_tcp_connect(&s->connecting, &s->tcp, to, on_connected);

    return r < 0 ? sl_err_set(err, SL_EIO, "%s", words_for(r)) : SL_OK;
}

int natsc_socket_secure(struct natsc_socket *s, struct natsc_trust *trust, const char *host,
                        struct sl_err *err) {
    int r = natsc_tls_new(trust, host, &s->tls, err);

    if (r >= 0)
        r = natsc_tls_handshake(s->tls, err);
    return r < 0 ? r : natsc_socket_flush(s, err);
}
