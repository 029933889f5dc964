/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of the HTTP client: a small HTTP(S) server in threads of this process, certificates
 * made on the spot, and a loop that runs until so many answers came.
 *
 * A connection has a thread, which reads one request after the other and gives each to the test's
 * handler. The handler answers with server_write, or returns false to have the connection cut.
 */
#ifndef SL_TESTS_KUBE_CLIENT_CLIENT_FIXTURE_H
#define SL_TESTS_KUBE_CLIENT_CLIENT_FIXTURE_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <uv.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "kube/client/client_int.h"
#include "kube/client/secret.h"

/* ---- certificates ---- */

struct pair {
    X509 *cert;
    EVP_PKEY *key;
};

static inline void pair_done(struct pair *p) {
    X509_free(p->cert);
    EVP_PKEY_free(p->key);
}

static inline void add_extension(X509 *cert, int nid, const char *value) {
    X509_EXTENSION *e = X509V3_EXT_nconf_nid(NULL, NULL, nid, value);
    assert_non_null(e);
    assert_int_equal(X509_add_ext(cert, e, -1), 1);
    X509_EXTENSION_free(e);
}

/* issuer NULL: a certificate authority. names: as "IP:127.0.0.1,DNS:x", NULL for a client's. */
static inline struct pair pair_new(const char *name, const struct pair *issuer, const char *names) {
    static long serial = 1;
    struct pair p = {X509_new(), EVP_EC_gen("P-256")};
    X509_NAME *subject = X509_get_subject_name(p.cert);

    assert_true(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
                                           -1, -1, 0) == 1);
    X509_set_version(p.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(p.cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(p.cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(p.cert), 3600);
    X509_set_issuer_name(p.cert, issuer ? X509_get_subject_name(issuer->cert) : subject);
    X509_set_pubkey(p.cert, p.key);
    add_extension(p.cert, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
    if (names)
        add_extension(p.cert, NID_subject_alt_name, names);
    assert_true(X509_sign(p.cert, issuer ? issuer->key : p.key, EVP_sha256()) > 0);
    return p;
}

/* PEM of the certificate or of the key, to be freed. */
static inline char *pair_pem(const struct pair *p, bool key) {
    BIO *b = BIO_new(BIO_s_mem());
    char *data, *out;

    if (key)
        assert_int_equal(PEM_write_bio_PrivateKey(b, p->key, NULL, NULL, 0, NULL, NULL), 1);
    else
        assert_int_equal(PEM_write_bio_X509(b, p->cert), 1);
    long n = BIO_get_mem_data(b, &data);
    out = sl_alloc((size_t)n + 1);
    memcpy(out, data, (size_t)n);
    out[n] = '\0';
    BIO_free(b);
    return out;
}

/* ---- server ---- */

#define MAX_CONNS 256

struct server;
struct conn {
    struct server *server;
    int fd;
    SSL *tls;
    pthread_t thread;
    unsigned n; /* requests before this one */
};

struct ask {
    char method[16], path[256];
    const char *head; /* the header lines */
    const char *body;
    size_t len;
};

struct server {
    bool (*handler)(struct conn *c, const struct ask *a);
    SSL_CTX *tls; /* NULL: plain */
    int fd, port;
    pthread_t thread;
    atomic_uint accepted, asked, at_once, most_at_once;
    pthread_mutex_t lock;
    struct conn conns[MAX_CONNS];
    unsigned n_conns;
    char token[64]; /* under the lock: what is let in */
};

static inline bool server_write(struct conn *c, const char *s, size_t n) {
    while (n > 0) {
        ssize_t done = c->tls ? SSL_write(c->tls, s, (int)n) : send(c->fd, s, n, MSG_NOSIGNAL);
        if (done <= 0)
            return false;
        s += done;
        n -= (size_t)done;
    }
    return true;
}

static inline bool server_puts(struct conn *c, const char *s) {
    return server_write(c, s, strlen(s));
}

/* headers: "" or whole lines with their ends. */
static inline bool server_reply(struct conn *c, int status, const char *headers, const char *body,
                                size_t len) {
    struct sl_buf b;

    sl_buf_init(&b, (size_t)64 << 20);
    sl_buf_printf(&b, "HTTP/1.1 %d Word\r\n%sContent-Length: %zu\r\n\r\n", status, headers, len);
    sl_buf_add(&b, body, len);
    bool ok = server_write(c, b.s, b.len);
    sl_buf_done(&b);
    return ok;
}

/* Reads until the other side has closed. */
static inline void server_wait(struct conn *c) {
    char byte;
    while ((c->tls ? SSL_read(c->tls, &byte, 1) : (int)read(c->fd, &byte, 1)) > 0)
        ;
}

static inline bool more(struct conn *c, struct sl_buf *b) {
    char chunk[65536];
    ssize_t n = c->tls ? SSL_read(c->tls, chunk, sizeof chunk) : read(c->fd, chunk, sizeof chunk);

    if (n > 0)
        sl_buf_add(b, chunk, (size_t)n);
    return n > 0;
}

static inline bool serve_one(struct conn *c, struct sl_buf *b) {
    struct ask a;
    const char *end, *length;
    size_t head, want = 0;

    while (!(end = b->len > 0 ? strstr(b->s, "\r\n\r\n") : NULL))
        if (!more(c, b))
            return false;
    head = (size_t)(end - b->s) + 4;
    length = strcasestr(b->s, "\r\nContent-Length:");
    if (length && length < end)
        want = strtoul(length + 17, NULL, 10);
    while (b->len < head + want)
        if (!more(c, b))
            return false;
    if (sscanf(b->s, "%15s %255s", a.method, a.path) != 2)
        return false;
    b->s[head - 2] = '\0';
    a.head = b->s;
    a.body = b->s + head;
    a.len = want;
    unsigned now = atomic_fetch_add(&c->server->at_once, 1) + 1;
    if (now > atomic_load(&c->server->most_at_once))
        atomic_store(&c->server->most_at_once, now);
    atomic_fetch_add(&c->server->asked, 1);
    bool go_on = c->server->handler(c, &a);
    atomic_fetch_sub(&c->server->at_once, 1);
    c->n++;
    size_t used = head + want;
    memmove(b->s, b->s + used, b->len - used + 1);
    b->len -= used;
    return go_on;
}

static inline void *serve_conn(void *arg) {
    struct conn *c = arg;
    struct sl_buf b;

    sl_buf_init(&b, (size_t)64 << 20);
    if (c->server->tls) {
        c->tls = SSL_new(c->server->tls);
        SSL_set_fd(c->tls, c->fd);
    }
    if (!c->tls || SSL_accept(c->tls) == 1)
        while (serve_one(c, &b))
            ;
    if (c->tls)
        SSL_free(c->tls);
    (void)shutdown(c->fd, SHUT_RDWR); /* closed by server_stop, so that its number stays its own */
    sl_buf_done(&b);
    return NULL;
}

static inline void *serve_all(void *arg) {
    struct server *s = arg;
    int fd;

    while ((fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        int on = 1; /* or small writes wait for an acknowledgement */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        atomic_fetch_add(&s->accepted, 1);
        pthread_mutex_lock(&s->lock);
        sl_assert(s->n_conns < MAX_CONNS);
        struct conn *c = &s->conns[s->n_conns];
        *c = (struct conn){.server = s, .fd = fd};
        sl_assert(pthread_create(&c->thread, NULL, serve_conn, c) == 0);
        s->n_conns++;
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

static inline void server_start(struct server *s,
                                bool (*handler)(struct conn *, const struct ask *),
                                const struct pair *tls) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    memset(s, 0, sizeof *s);
    s->handler = handler;
    pthread_mutex_init(&s->lock, NULL);
    if (tls) {
        s->tls = SSL_CTX_new(TLS_server_method());
        assert_int_equal(SSL_CTX_use_certificate(s->tls, tls->cert), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(s->tls, tls->key), 1);
    }
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 512), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
    s->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve_all, s), 0);
}

static inline void server_stop(struct server *s) {
    (void)shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->n_conns; i++)
        (void)shutdown(s->conns[i].fd, SHUT_RDWR);
    for (unsigned i = 0; i < s->n_conns; i++) {
        pthread_join(s->conns[i].thread, NULL);
        (void)close(s->conns[i].fd);
    }
    (void)close(s->fd);
    SSL_CTX_free(s->tls);
    pthread_mutex_destroy(&s->lock);
}

/* ---- client ---- */

struct fx {
    uv_loop_t loop;
    uv_timer_t guard;
    struct sl_curl_client *c;
    struct sl_kube_client *p;
    int done; /* answers */
    bool late;
};

/* What came of one call. */
struct got {
    struct fx *x;
    int n, status;
    sl_span retry_after;
    struct sl_buf body, lines; /* lines with '|' behind each */
    char text[400];
    sl_time wall, mono;
    /* A hook of the test, at every line and at the end. */
    void (*at_line)(struct got *g);
    void (*at_end)(struct got *g);
    sl_kube_call call, other;
};

static inline void on_guard(uv_timer_t *t) {
    struct fx *x = t->data;
    x->late = true;
}

static inline void on_reply(void *ctx, const struct sl_kube_reply *r) {
    struct got *g = ctx;

    g->n++;
    g->x->done++;
    g->status = r->status;
    g->retry_after = r->retry_after;
    sl_buf_init(&g->body, (size_t)512 << 20);
    sl_buf_add(&g->body, r->body, r->len);
    (void)snprintf(g->text, sizeof g->text, "%s", r->text);
    if (g->x->p) {
        g->wall = g->x->p->wall;
        g->mono = g->x->p->mono;
    }
    if (g->at_end)
        g->at_end(g);
}

static inline void on_line(void *ctx, const char *line, size_t len) {
    struct got *g = ctx;

    if (g->lines.ceiling == 0)
        sl_buf_init(&g->lines, (size_t)128 << 20);
    sl_buf_add(&g->lines, line, len);
    sl_buf_putc(&g->lines, '|');
    if (g->at_line)
        g->at_line(g);
}

static inline void got_done(struct got *g) {
    sl_buf_done(&g->body);
    sl_buf_done(&g->lines);
}

static inline void fx_new(struct fx *x) {
    memset(x, 0, sizeof *x);
    assert_int_equal(uv_loop_init(&x->loop), 0);
    assert_int_equal(uv_timer_init(&x->loop, &x->guard), 0);
    x->guard.data = x;
}

/* A client for the kubeconfig text; NULL and words if it cannot be made. */
static inline void fx_client(struct fx *x, const char *kubeconfig, struct sl_err *err) {
    struct sl_kubeconfig *k = NULL;
    struct sl_doc *d = NULL;

    if (sl_doc_yaml("/tmp/test", kubeconfig, strlen(kubeconfig), &d, err) < 0 ||
        sl_kubeconfig_resolve(&d, 1, NULL, &k, err) < 0)
        fail_msg("%s", err->text);
    sl_doc_free(d);
    x->c = NULL;
    x->p = NULL;
    if (sl_curl_client_new(&x->loop, k, "sluice/test", &x->c, err) == 0)
        x->p = sl_curl_client_interface(x->c);
}

/* cluster and user: the fields besides the server, as flow mappings without braces. */
static inline void fx_connect(struct fx *x, const char *server, const char *cluster,
                              const char *user) {
    struct sl_buf b;
    struct sl_err err;

    sl_buf_init(&b, (size_t)1 << 20);
    sl_buf_printf(
        &b,
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: '%s'%s%s}}]\nusers: [{name: u, user: {%s}}]\n",
        server, *cluster ? ", " : "", cluster, user);
    fx_client(x, sl_buf_str(&b), &err);
    if (!x->c)
        fail_msg("%s", err.text);
    sl_buf_done(&b);
}

static inline const char *url_of(const struct server *s) {
    static char url[64];

    (void)snprintf(url, sizeof url, "http%s://127.0.0.1:%d", s->tls ? "s" : "", s->port);
    return url;
}

static inline void fx_request(struct fx *x, struct got *g, enum sl_kube_method m, const char *path,
                              const char *type, const char *body) {
    struct sl_kube_request rq = {.method = m,
                                 .path = path,
                                 .content_type = type,
                                 .body = body,
                                 .len = body ? strlen(body) : 0};
    int before = x->done;

    g->x = x;
    g->call = sl_kube_request(x->p, &rq, on_reply, g);
    assert_true(g->call.v != 0);
    assert_int_equal(x->done, before); /* never before the call has returned */
}

static inline void fx_get(struct fx *x, struct got *g, const char *path) {
    fx_request(x, g, SL_GET, path, NULL, NULL);
}

static inline void fx_watch(struct fx *x, struct got *g, const char *path) {
    g->x = x;
    g->call = sl_kube_watch(x->p, path, on_line, on_reply, g);
}

/* The guard repeats: one that is over when a turn of the loop begins has run before the loop
 * sleeps, which then would be for ever. */
static inline void fx_guard(struct fx *x, uint64_t ms) {
    x->late = false;
    uv_update_time(&x->loop);
    (void)uv_timer_start(&x->guard, on_guard, ms, ms);
}

/* Runs until so many answers came in all. */
static inline void fx_run(struct fx *x, int done) {
    fx_guard(x, 60000);
    while (x->done < done && !x->late)
        (void)uv_run(&x->loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&x->guard);
    if (x->late)
        fail_msg("%d answers did not come, only %d", done, x->done);
}

/* Runs for a while, whatever comes. */
static inline void fx_run_ms(struct fx *x, uint64_t ms) {
    fx_guard(x, ms);
    while (!x->late)
        (void)uv_run(&x->loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&x->guard);
}

static inline void fx_disconnect(struct fx *x) {
    if (x->c)
        sl_curl_client_free(x->c);
    x->c = NULL;
    x->p = NULL;
}

static inline void fx_done(struct fx *x) {
    fx_disconnect(x);
    uv_close((uv_handle_t *)&x->guard, NULL);
    (void)uv_run(&x->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&x->loop), 0);
}

#endif
