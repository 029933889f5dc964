/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers. A handle is set up once, and again in part when the credential has changed; a call
 * then only sets its URL, method and body. The connection, the TLS session and the resolved name
 * are libcurl's to keep.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "kube/client/client_int.h"

#define KEEP_IDLE 64u                  /* handles */
#define KEEP_BUFFER ((size_t)16 << 10) /* bytes of an empty one */
#define READ_BUFFER (64L << 10)
#define IDLE_SECONDS 60L /* kube-apiserver closes after 90 */

/* Setting an option fails when memory is out, or when libcurl cannot do what it was built to do. */
#define SET(x, option, value) sl_assert(curl_easy_setopt((x)->easy, (option), (value)) == CURLE_OK)

/* ---- bytes that come back ---- */

/* For the next use; what a large object took is given back. */
static void empty(struct kube_xfer *x) {
    x->client->reply_bytes -= x->body.len;
    sl_buf_clear(&x->body);
    if (x->body.cap > KEEP_BUFFER)
        sl_buf_done(&x->body);
}

/* False: it, or all of them together, would be too long. */
static bool add_body(struct kube_xfer *x, const char *p, size_t n) {
    struct sl_curl_client *c = x->client;
    x->too_long = n > x->body.ceiling - x->body.len;
    x->over_limit = n > c->max_replies - c->reply_bytes; /* by others: it may come in later */
    if (x->too_long || x->over_limit)
        return false;
    sl_buf_add(&x->body, p, n);
    c->reply_bytes += n;
    return true;
}

/* Hands over every whole line; the rest stays in x->body. False: the stream is to be ended. */
static bool split_lines(struct kube_xfer *x, const char *p, size_t n) {
    struct kube_xcall *call = x->call;

    while (n > 0) {
        const char *end = memchr(p, '\n', n);
        size_t len = end ? (size_t)(end - p) : n;
        const char *line = p;
        size_t line_len = len;
        if (!end || x->body.len > 0) {
            if (!add_body(x, p, len))
                return false;
            line = x->body.s;
            line_len = x->body.len;
        }
        if (!end)
            return true;
        if (line_len > 0)
            call->line(call->ctx, line, line_len);
        if (call->cancelled)
            return false;
        empty(x);
        p = end + 1;
        n -= len + 1;
    }
    return true;
}

static size_t on_bytes(char *p, size_t size, size_t count, void *ctx) {
    struct kube_xfer *x = ctx;
    size_t n = size * count;

    if (x->call->cancelled)
        return CURL_WRITEFUNC_ERROR;
    if (x->status == 0)
        (void)curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->status);
    if (x->call->line && x->status == 200)
        return split_lines(x, p, n) ? n : CURL_WRITEFUNC_ERROR;
    return add_body(x, p, n) ? n : CURL_WRITEFUNC_ERROR;
}

/* ---- handles ---- */

static void set_up(const struct sl_curl_client *c, struct kube_xfer *x) {
    const struct sl_kubeconfig *k = c->k;

    SET(x, CURLOPT_WRITEFUNCTION, on_bytes);
    SET(x, CURLOPT_WRITEDATA, x);
    SET(x, CURLOPT_ERRORBUFFER, x->curl_error);
    SET(x, CURLOPT_NOSIGNAL, 1L);
    SET(x, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(x, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(x, CURLOPT_PATH_AS_IS, 1L); /* paths come escaped; nothing is to be tidied up */
    SET(x, CURLOPT_USERAGENT, c->user_agent);
    SET(x, CURLOPT_SHARE, c->share);
    SET(x, CURLOPT_BUFFERSIZE, READ_BUFFER);
    SET(x, CURLOPT_TCP_NODELAY, 1L);
    SET(x, CURLOPT_CONNECTTIMEOUT_MS, SL_CURL_CLIENT_CONNECT_TIMEOUT_MS);
    SET(x, CURLOPT_MAXAGE_CONN, IDLE_SECONDS);
    SET(x, CURLOPT_SOCKOPTFUNCTION, kube_loop_opened);
    SET(x, CURLOPT_SOCKOPTDATA, c);
    SET(x, CURLOPT_CLOSESOCKETFUNCTION, kube_loop_closed);
    SET(x, CURLOPT_CLOSESOCKETDATA, c);
    if (k->insecure) {
        SET(x, CURLOPT_SSL_VERIFYPEER, 0L);
        SET(x, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (c->connect_to)
        SET(x, CURLOPT_CONNECT_TO, c->connect_to);
    if (*k->username || *k->password) {
        SET(x, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        SET(x, CURLOPT_USERNAME, k->username);
        SET(x, CURLOPT_PASSWORD, k->password);
    }
    /* Else it is the environment's proxy; but, as for kubectl, none to this machine. */
    if (strncmp(k->proxy_url, "socks5:", 7) == 0) { /* Go's lets the proxy look up the name */
        char url[5000];
        sl_fmt(url, sizeof url, "socks5h:%s", k->proxy_url + 7);
        SET(x, CURLOPT_PROXY, url);
    } else if (*k->proxy_url || k->loopback) {
        SET(x, CURLOPT_PROXY, k->proxy_url);
    }
}

static void set_blob(struct kube_xfer *x, CURLoption option, struct sl_auth_bytes b) {
    union { /* it is only copied, but libcurl's type has no const */
        const char *in;
        void *out;
    } unwritten = {.in = b.p};
    struct curl_blob blob = {.data = unwritten.out, .len = b.n, .flags = CURL_BLOB_COPY};

    SET(x, option, b.n > 0 ? &blob : NULL);
}

static void add_header(struct kube_xfer *x, const char *name, const char *value) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF((size_t)1 << 20);
    sl_buf_printf(&b, "%s%s", name, value);
    struct curl_slist *more = curl_slist_append(x->headers, sl_buf_str(&b));
    sl_assert(more && !sl_buf_full(&b));
    x->headers = more;
}

static void set_credential(const struct sl_curl_client *c, struct kube_xfer *x) {
    const struct sl_auth_cred *cred = sl_auth_cred(c->auth);
    const struct sl_kubeconfig *k = c->k;

    if (x->gen == cred->gen)
        return;
    x->gen = cred->gen;
    set_blob(x, CURLOPT_CAINFO_BLOB, cred->ca);
    if (cred->ca.n > 0) /* it alone is trusted, and not those of the system beside it */
        SET(x, CURLOPT_CAPATH, NULL);
    set_blob(x, CURLOPT_SSLCERT_BLOB, cred->cert);
    set_blob(x, CURLOPT_SSLKEY_BLOB, cred->key);

    curl_slist_free_all(x->headers);
    x->headers = NULL;
    add_header(x, "Accept-Encoding: ", "identity");
    add_header(x, "Expect:", ""); /* removes it: never wait for a 100 */
    if (*cred->token)
        add_header(x, "Authorization: Bearer ", cred->token);
    if (*k->as)
        add_header(x, "Impersonate-User: ", k->as);
    if (*k->as_uid)
        add_header(x, "Impersonate-Uid: ", k->as_uid);
    for (uint32_t i = 0; i < k->n_as_groups; i++)
        add_header(x, "Impersonate-Group: ", k->as_groups[i]);
    if (c->connect_to) /* "::host:port"; the URL carries the name for TLS instead */
        add_header(x, "Host: ", c->connect_to->data + 2);
}

static void set_method(struct kube_xfer *x, const struct kube_xcall *call) {
    static const char *const names[] = {
        [SL_GET] = NULL,      [SL_POST] = NULL,       [SL_PUT] = "PUT",
        [SL_PATCH] = "PATCH", [SL_DELETE] = "DELETE",
    };
    bool with_body = call->body || (call->method != SL_GET && call->method != SL_DELETE);

    if (with_body) {
        SET(x, CURLOPT_POST, 1L);
        SET(x, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->len);
        SET(x, CURLOPT_POSTFIELDS, call->body ? call->body : "");
    } else {
        SET(x, CURLOPT_HTTPGET, 1L);
    }
    SET(x, CURLOPT_CUSTOMREQUEST,
        with_body && call->method == SL_GET ? "GET" : names[call->method]);
    sl_fmt(x->type_text, sizeof x->type_text, "Content-Type:%s%s", *call->content_type ? " " : "",
           call->content_type);
    sl_fmt(x->accept_text, sizeof x->accept_text, "Accept: %s", call->accept);
    x->accept = (struct curl_slist){.data = x->accept_text, .next = x->headers};
    x->type = (struct curl_slist){.data = x->type_text, .next = &x->accept};
    SET(x, CURLOPT_HTTPHEADER, &x->type);
}

static struct kube_xfer *take_transfer(struct sl_curl_client *c) {
    struct kube_xfer *x = SLIST_FIRST(&c->idle);

    if (x) {
        SLIST_REMOVE_HEAD(&c->idle, link);
        c->n_idle--;
        return x;
    }
    x = sl_alloc0(1, sizeof *x);
    x->easy = curl_easy_init();
    sl_assert(x->easy);
    x->client = c;
    sl_buf_init(&x->body, 0);
    set_up(c, x);
    return x;
}

void kube_xfer_begin(struct sl_curl_client *c, struct kube_xcall *call) {
    struct kube_xfer *x = take_transfer(c);
    sl_span left = call->deadline - c->client.mono;

    x->call = call;
    call->x = x;
    set_credential(c, x);
    call->gen = x->gen;
    x->status = 0;
    x->curl_error[0] = '\0';
    x->too_long = x->over_limit = false;
    x->body.ceiling = call->line ? c->max_line : c->max_reply;
    SET(x, CURLOPT_PRIVATE, call);
    SET(x, CURLOPT_URL, call->url);
    SET(x, CURLOPT_TIMEOUT_MS, call->line ? 0L : left > SL_MSEC ? (long)(left / SL_MSEC) : 1L);
    set_method(x, call);
}

/* ---- the outcome ---- */

static const char *explain(const struct sl_curl_client *c, struct kube_xfer *x, CURLcode result) {
    const char *why = x->curl_error[0] ? x->curl_error : curl_easy_strerror(result);
    const char *help = "";

    if (x->too_long) {
        sl_fmt_short(x->text, sizeof x->text, "%s: %s longer than %zu MiB", c->k->server,
                     x->call->line ? "a line of a watch is" : "the answer is",
                     x->body.ceiling >> 20);
        return x->text;
    }
    if (x->over_limit) {
        sl_fmt_short(x->text, sizeof x->text, "%s: more than %zu MiB come in at once", c->k->server,
                     c->max_replies >> 20);
        return x->text;
    }
    if (result == CURLE_PEER_FAILED_VERIFICATION)
        help = " (is the certificate-authority of the kubeconfig the server's?)";
    else if (result == CURLE_SSL_CERTPROBLEM)
        help = " (see the client-certificate and client-key of the kubeconfig)";
    sl_fmt_short(x->text, sizeof x->text, "%.200s: %s%s", c->k->server, why, help);
    return x->text;
}

void kube_xfer_reply(const struct sl_curl_client *c, struct kube_xfer *x, CURLcode result,
                     struct sl_kube_reply *ret) {
    curl_off_t seconds = 0;
    long status = 0;

    *ret = (struct sl_kube_reply){.body = "", .text = ""};
    if (result != CURLE_OK) {
        ret->text = explain(c, x, result);
        ret->too_long = x->too_long;
        return;
    }
    (void)curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(x->easy, CURLINFO_RETRY_AFTER, &seconds);
    if (x->call->line && status == 200 && x->body.len > 0) {
        /* Half a line is no line: the watch is to be taken up from the last whole one. */
        ret->text = "the stream ended within a line";
        return;
    }
    ret->status = (int)status;
    ret->body = sl_buf_str(&x->body);
    ret->len = x->body.len;
    if (seconds > 0)
        ret->retry_after = seconds < SL_CURL_CLIENT_MAX_RETRY_AFTER / SL_SEC
                               ? seconds * SL_SEC
                               : SL_CURL_CLIENT_MAX_RETRY_AFTER;
}

void kube_xfer_end(struct sl_curl_client *c, struct kube_xfer *x) {
    x->call = NULL;
    empty(x);
    if (c->n_idle >= KEEP_IDLE) {
        kube_xfer_free(x);
        return;
    }
    SLIST_INSERT_HEAD(&c->idle, x, link);
    c->n_idle++;
}

void kube_xfer_free(struct kube_xfer *x) {
    x->client->reply_bytes -= x->body.len;
    curl_easy_cleanup(x->easy);
    curl_slist_free_all(x->headers);
    sl_buf_done(&x->body);
    sl_freep(&x);
}
