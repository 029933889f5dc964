/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/serve/visibility.h"

#include <string.h>

#include "core/base/mem.h"
#include "lib/http/server.h"
#include "lib/log/log.h"
#include "manager/serve/authz.h"
#include "manager/serve/front_proxy.h"
#include "manager/serve/limits.h"
#include "manager/serve/visibility_api.h"

#define LISTEN_AGAIN (5 * SL_SEC)
#define MAX_BODY ((size_t)64 << 10) /* nothing is sent to us that we would read */
#define MAX_USER ((size_t)64 << 10)

struct sl_visibility {
    struct sl_visibility_spec spec;
    char *host;
    struct sl_httpd *httpd; /* NULL: not yet */
    struct sl_authz *authz;
    struct sl_front *front;
    struct sl_cert cert;
    bool cert_fresh;       /* and not yet served with */
    uint64_t front_served; /* the generation of its authorities that is */
    bool heard;            /* requests that wait may go on */
    bool complained;       /* about the port */
    sl_time listen_at;     /* mono */
};

/* ---- requests ---- */

static void on_heard(void *ctx) {
    ((struct sl_visibility *)ctx)->heard = true;
}

static enum sl_authz_says ask(struct sl_visibility *v, const struct visibility_target *t,
                              const struct sl_http_request *rq) {
    struct sl_buf user, what;
    sl_buf_init(&user, MAX_USER);
    sl_buf_init(&what, MAX_USER);
    visibility_attributes(t, rq->path, &what);
    enum sl_authz_says says =
        sl_buf_full(&what) ? SL_AUTHZ_FORBIDDEN
        : sl_front_user(v->front, rq, &user)
            ? sl_authz_ask_user(v->authz, sl_buf_str(&user), sl_buf_str(&what))
            : sl_authz_ask(v->authz, rq->from, rq->header(rq, "Authorization"), sl_buf_str(&what));
    sl_buf_done(&user);
    sl_buf_done(&what);
    return says;
}

static void serve(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct sl_visibility *v = ctx;
    struct visibility_target t;
    visibility_target(rq->path, &t);
    switch (ask(v, &t, rq)) {
    case SL_AUTHZ_ALLOWED:
        visibility_answer(v->spec.manager, &t, rq, a);
        break;
    case SL_AUTHZ_WAIT:
        sl_http_defer(rq);
        break;
    case SL_AUTHZ_UNKNOWN:
        visibility_status(a, 401, "Unauthorized");
        break;
    case SL_AUTHZ_FORBIDDEN:
        visibility_forbid(&t, rq->path, a);
        break;
    case SL_AUTHZ_FAILED:
        visibility_status(a, 503, "authentication or authorization by the API server failed");
        break;
    }
}

/* ---- listening ---- */

static void listen_now(struct sl_visibility *v) {
    struct sl_err err;
    struct sl_httpd_spec spec = {.host = v->host,
                                 .port = v->spec.http_port,
                                 .cert_pem = v->cert.cert_pem,
                                 .key_pem = v->cert.key_pem,
                                 .client_cas = sl_front_cas(v->front),
                                 .max_body = MAX_BODY,
                                 .max_connections = SL_VISIBILITY_CONNECTIONS,
                                 .all_bodies = SL_SMALL_BODIES,
                                 .all_answers = SL_VISIBILITY_ANSWERS,
                                 .max_answer = SL_VISIBILITY_ANSWERS,
                                 .handler = serve,
                                 .ctx = v};
    if (sl_httpd_start(v->spec.loop, &spec, &v->httpd, &err) >= 0) {
        v->cert_fresh = false;
        v->front_served = sl_front_generation(v->front);
        sl_log(SL_LOG_INFO, "listening", SL_S("server", "visibility"),
               SL_S("host", *v->host ? v->host : "*"), SL_I("port", sl_httpd_port(v->httpd)));
        return;
    }
    /* Nothing else depends on it: the queues go on without. */
    sl_log(v->complained ? SL_LOG_DEBUG : SL_LOG_WARN, "visibility API not listening, retrying",
           SL_S("error", err.text));
    v->complained = true;
    v->listen_at = sl_time_add(v->spec.port->mono, LISTEN_AGAIN);
}

static void serve_with(struct sl_visibility *v) {
    struct sl_err err;
    v->cert_fresh = false;
    v->front_served = sl_front_generation(v->front);
    if (sl_httpd_certificate(v->httpd, v->cert.cert_pem, v->cert.key_pem, sl_front_cas(v->front),
                             &err) < 0)
        sl_log(SL_LOG_ERROR,
               "visibility API certificate or client CA rejected, previous ones in use",
               SL_S("error", err.text));
}

/* ---- for the owner ---- */

struct sl_visibility *sl_visibility_new(const struct sl_visibility_spec *spec) {
    struct sl_visibility *v = sl_alloc0(1, sizeof *v);
    v->spec = *spec;
    v->host = sl_strdup(spec->host);
    v->spec.host = v->host;
    v->authz = sl_authz_new(spec->port, on_heard, v);
    v->front = sl_front_new(spec->port, spec->seed);
    return v;
}

void sl_visibility_free(struct sl_visibility *v) {
    if (!v)
        return;
    sl_httpd_stop(v->httpd);
    sl_authz_free(v->authz);
    sl_front_free(v->front);
    sl_cert_done(&v->cert);
    sl_freep(&v->host);
    sl_freep(&v);
}

void sl_visibility_certificate(struct sl_visibility *v, const struct sl_cert *c) {
    sl_cert_done(&v->cert);
    v->cert =
        (struct sl_cert){.cert_pem = sl_strdup(c->cert_pem), .key_pem = sl_strdup(c->key_pem)};
    v->cert_fresh = true;
}

void sl_visibility_tick(struct sl_visibility *v) {
    sl_front_tick(v->front);
    if (!v->httpd && v->cert.cert_pem && v->spec.port->mono >= v->listen_at)
        listen_now(v);
    else if (v->httpd && (v->cert_fresh || v->front_served != sl_front_generation(v->front)))
        serve_with(v);
    if (v->heard && v->httpd) {
        v->heard = false;
        sl_httpd_wake(v->httpd);
    }
}

sl_time sl_visibility_next(const struct sl_visibility *v) {
    sl_time next = sl_front_next(v->front);
    return !v->httpd && v->cert.cert_pem && v->listen_at < next ? v->listen_at : next;
}

uint16_t sl_visibility_port(const struct sl_visibility *v) {
    return v->httpd ? sl_httpd_port(v->httpd) : 0;
}
