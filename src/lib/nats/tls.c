/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/nats/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/nats/connector.h"

#define MAX_CERTIFICATES 512 /* of a text */

struct natsc_trust {
    SSL_CTX *ctx;
};

struct natsc_tls {
    SSL *ssl;
    BIO *in, *out; /* of 'ssl' */
};

/* ---- PEM ---- */

/* Keys that ask for a pass phrase are refused: nobody is there to answer. */
static int no_phrase(char *buf, int size, int writing, void *arg) {
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

/* The certificates of a text, each handed to 'take', which owns it then: all of them, or none. */
static bool read_certificates(const char *pem, bool (*take)(SSL_CTX *, X509 *, int), SSL_CTX *ctx) {
    BIO *b = BIO_new_mem_buf(pem, -1);
    X509 *x = NULL;
    bool ok = b != NULL;
    int n = 0;

    ERR_clear_error();
    for (; ok && (x = PEM_read_bio_X509(b, NULL, no_phrase, NULL)); n++) {
        ok = n < MAX_CERTIFICATES;
        if (ok)
            ok = take(ctx, x, n);
        else
            X509_free(x);
    }
    if (ok) /* else one of them is malformed */
        ok = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    BIO_free(b);
    ERR_clear_error();
    return ok && n > 0;
}

static bool take_authority(SSL_CTX *ctx, X509 *x, int i) {
    bool ok = X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x) == 1;

    (void)i;
    X509_free(x);
    return ok;
}

static bool take_own(SSL_CTX *ctx, X509 *x, int i) {
    if (i > 0 && SSL_CTX_add0_chain_cert(ctx, x) == 1)
        return true;
    bool ok = i == 0 && SSL_CTX_use_certificate(ctx, x) == 1;
    X509_free(x);
    return ok;
}

static bool use_key(SSL_CTX *ctx, const char *pem) {
    BIO *b = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = b ? PEM_read_bio_PrivateKey(b, NULL, no_phrase, NULL) : NULL;
    bool ok = key && SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;

    EVP_PKEY_free(key);
    BIO_free(b);
    ERR_clear_error();
    return ok;
}

/* ---- whom to trust ---- */

static int set_trust(SSL_CTX *ctx, const char *ca, struct sl_err *err) {
    if (!ca)
        (void)SSL_CTX_set_default_verify_paths(ctx); /* none: then no certificate is accepted */
    ERR_clear_error();
    if (!ca)
        return SL_OK;
    if (!read_certificates(ca, take_authority, ctx))
        return sl_err_set(err, SL_EINVAL,
                          "the CA is no PEM certificate, or one of it is malformed");
    /* A CA that is not a root is trusted as it is given. */
    if (X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_PARTIAL_CHAIN) != 1)
        return sl_err_set(err, SL_EIO, "cannot set up TLS");
    return SL_OK;
}

static int set_up(SSL_CTX *ctx, const char *ca, const char *certificate, const char *key,
                  struct sl_err *err) {
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_default_passwd_cb(ctx, no_phrase);
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1)
        return sl_err_set(err, SL_EIO, "cannot set up TLS");
    if (certificate && (!read_certificates(certificate, take_own, ctx) || !use_key(ctx, key)))
        return sl_err_set(err, SL_EINVAL,
                          "client certificate and key are no PEM, or do not belong together");
    return set_trust(ctx, ca, err);
}

int natsc_trust_new(const char *ca, const char *certificate, const char *key,
                    struct natsc_trust **ret, struct sl_err *err) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    if (!ctx)
        return sl_err_set(err, SL_EIO, "cannot set up TLS");
    int r = set_up(ctx, ca, certificate, key, err);
    if (r < 0) {
        SSL_CTX_free(ctx);
        return r;
    }
    *ret = sl_alloc0(1, sizeof **ret);
    (*ret)->ctx = ctx;
    return SL_OK;
}

void natsc_trust_free(struct natsc_trust *t) {
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    sl_freep(&t);
}

/* ---- a connection ---- */

/* The dot at the end of a whole name is the resolver's alone. */
static bool expect_host(SSL *ssl, const char *host) {
    if (sl_nats_is_address(host))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    char name[256];
    size_t n = strlen(host);

    sl_fmt_short(name, sizeof name, "%.*s", (int)(n > 0 && host[n - 1] == '.' ? n - 1 : n), host);
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

int natsc_tls_new(struct natsc_trust *trust, const char *host, struct natsc_tls **ret,
                  struct sl_err *err) {
    struct natsc_tls *t = sl_alloc0(1, sizeof *t);

    t->ssl = SSL_new(trust->ctx);
    t->in = BIO_new(BIO_s_mem());
    t->out = BIO_new(BIO_s_mem());
    if (!t->ssl || !t->in || !t->out || !expect_host(t->ssl, host)) {
        BIO_free(t->in);
        BIO_free(t->out);
        SSL_free(t->ssl);
        sl_freep(&t);
        ERR_clear_error();
        return sl_err_set(err, SL_EIO, "cannot set up TLS");
    }
    SSL_set_bio(t->ssl, t->in, t->out); /* takes both */
    SSL_set_connect_state(t->ssl);
    *ret = t;
    return SL_OK;
}

void natsc_tls_free(struct natsc_tls *t) {
    if (!t)
        return;
    SSL_free(t->ssl);
    sl_freep(&t);
}

void natsc_tls_feed(struct natsc_tls *t, struct sl_text in) {
    sl_assert(in.n <= INT32_MAX);
    if (in.n > 0)
        sl_assert(BIO_write(t->in, in.s, (int)in.n) == (int)in.n);
}

/* What a server answers that asks for a certificate, and gets none or not one that it knows. */
static const char *reason_of(unsigned long error) {
    switch (ERR_GET_REASON(error)) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "the server does not accept the client's certificate, or that there is none";
    default:
        return ERR_reason_error_string(error);
    }
}

static int refuse(const struct natsc_tls *t, struct sl_err *err) {
    long verified = SSL_get_verify_result(t->ssl);
    const char *why = reason_of(ERR_peek_last_error());

    ERR_clear_error();
    if (verified != X509_V_OK)
        return sl_err_set(err, SL_EIO, "the server's certificate is not accepted: %s",
                          X509_verify_cert_error_string(verified));
    return sl_err_set(err, SL_EIO, "TLS: %s", why ? why : "failed");
}

/* The result of a call that did not do what it should: 0 if it waits for the server. */
static int waits(const struct natsc_tls *t, int result, struct sl_err *err) {
    int why = SSL_get_error(t->ssl, result);

    if (why == SSL_ERROR_ZERO_RETURN)
        return sl_err_set(err, SL_EIO, "the server closed the connection");
    return why == SSL_ERROR_WANT_READ ? 0 : refuse(t, err);
}

int natsc_tls_handshake(struct natsc_tls *t, struct sl_err *err) {
    ERR_clear_error();
    int r = SSL_do_handshake(t->ssl);
    return r == 1 ? 1 : waits(t, r, err);
}

int natsc_tls_read(struct natsc_tls *t, char *out, size_t size, size_t *ret, struct sl_err *err) {
    *ret = 0;
    ERR_clear_error();
    int r = SSL_read_ex(t->ssl, out, size, ret);
    return r == 1 ? SL_OK : waits(t, r, err);
}

int natsc_tls_write(struct natsc_tls *t, struct sl_text clear, struct sl_err *err) {
    size_t n = 0;

    if (clear.n == 0)
        return SL_OK;
    ERR_clear_error();
    /* The buffer behind it takes any number of bytes, so it never waits. */
    return SSL_write_ex(t->ssl, clear.s, clear.n, &n) == 1 && n == clear.n ? SL_OK : refuse(t, err);
}

void natsc_tls_drain(struct natsc_tls *t, struct sl_buf *out) {
    char *data = NULL;
    long n = BIO_get_mem_data(t->out, &data);

    if (n > 0)
        sl_buf_add(out, data, (size_t)n);
    (void)BIO_reset(t->out);
}
