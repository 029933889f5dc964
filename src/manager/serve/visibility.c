/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/serve/visibility.h"

#include <string.h>

#include "core/base/mem.h"
#include "lib/http/server.h"
#include "lib/log/log.h"
#include "manager/serve/authz.h"
#include "manager/serve/front_proxy.h"
#include "manager/serve/limits.h"
#include "manager/visibility/api.h"

#define LISTEN_AGAIN (5 * SL_SEC)
#define MAX_BODY ((size_t)64 << 10) /* nothing is sent to us that we would read */
#define MAX_USER ((size_t)64 << 10)

struct serve_visibility {
    struct serve_visibility_spec spec;
    char *host;
    struct sl_httpd *httpd; /* NULL: not yet */
    struct serve_authz *authz;
    struct serve_front_proxy *front;
    struct sl_cert cert;
    bool cert_fresh;       /* and not yet served with */
    uint64_t front_served; /* the generation of its authorities that is */
    bool authz_changed;    /* requests that wait may go on */
    bool complained;       /* about the port */
    sl_time listen_at;     /* mono */
};

/* ---- requests ---- */

static void on_authz_changed(void *ctx) {
    ((struct serve_visibility *)ctx)->authz_changed = true;
}

static enum serve_authz_result authorize(struct serve_visibility *v,
                                         const struct sl_visibility_target *t,
                                         const struct sl_http_request *rq) {
    _cleanup_(sl_buf_done) struct sl_buf user = SL_BUF(MAX_USER);
    _cleanup_(sl_buf_done) struct sl_buf what = SL_BUF(MAX_USER);
    sl_visibility_attributes(t, rq->path, &what);
    enum serve_authz_result result =
        sl_buf_full(&what) ? SL_AUTHZ_FORBIDDEN
        : serve_front_proxy_user(v->front, rq, &user)
            ? serve_authz_check_user(v->authz, sl_buf_str(&user), sl_buf_str(&what))
            : serve_authz_check(v->authz, rq->from, rq->header(rq, "Authorization"),
                                sl_buf_str(&what));
    return result;
}

static void serve(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct serve_visibility *v = ctx;
    struct sl_visibility_target t;
    sl_visibility_target(rq->path, &t);
    switch (authorize(v, &t, rq)) {
    case SL_AUTHZ_ALLOWED:
        sl_visibility_answer(v->spec.manager, &t, rq, a);
        break;
    case SL_AUTHZ_WAIT:
        sl_http_defer(rq);
        break;
    case SL_AUTHZ_UNKNOWN:
        sl_visibility_status(a, 401, "Unauthorized");
        break;
    case SL_AUTHZ_FORBIDDEN:
        sl_visibility_forbid(&t, rq->path, a);
        break;
    case SL_AUTHZ_FAILED:
        sl_visibility_status(a, 503, "authentication or authorization by the API server failed");
        break;
    }
}

/* ---- listening ---- */

static void listen_now(struct serve_visibility *v) {
    struct sl_err err;
    struct sl_httpd_spec spec = {.host = v->host,
                                 .port = v->spec.http_port,
                                 .cert_pem = v->cert.cert_pem,
                                 .key_pem = v->cert.key_pem,
                                 .client_cas = serve_front_proxy_cas(v->front),
                                 .max_body = MAX_BODY,
                                 .max_connections = SL_VISIBILITY_CONNECTIONS,
                                 .all_bodies = SL_SMALL_BODIES,
                                 .all_answers = SL_VISIBILITY_ANSWERS,
                                 .max_answer = SL_VISIBILITY_ANSWERS,
                                 .handler = serve,
                                 .ctx = v};
    if (sl_httpd_start(v->spec.loop, &spec, &v->httpd, &err) >= 0) {
        v->cert_fresh = false;
        v->front_served = serve_front_proxy_generation(v->front);
        sl_log(SL_LOG_INFO, "listening", SL_S("server", "visibility"),
               SL_S("host", *v->host ? v->host : "*"), SL_I("port", sl_httpd_port(v->httpd)));
        return;
    }
    /* Nothing else depends on it: the queues go on without. */
    sl_log(v->complained ? SL_LOG_DEBUG : SL_LOG_WARN, "visibility API not listening, retrying",
           SL_S("error", err.text));
    v->complained = true;
    v->listen_at = sl_time_add(v->spec.client->mono, LISTEN_AGAIN);
}

static void serve_with(struct serve_visibility *v) {
    struct sl_err err;
    v->cert_fresh = false;
    v->front_served = serve_front_proxy_generation(v->front);
    if (sl_httpd_certificate(v->httpd, v->cert.cert_pem, v->cert.key_pem,
                             serve_front_proxy_cas(v->front), &err) < 0)
        sl_log(SL_LOG_ERROR,
               "visibility API certificate or client CA rejected, previous ones in use",
               SL_S("error", err.text));
}

/* ---- for the owner ---- */

struct serve_visibility *serve_visibility_new(const struct serve_visibility_spec *spec) {
    struct serve_visibility *v = sl_alloc0(1, sizeof *v);
    v->spec = *spec;
    v->host = sl_strdup(spec->host);
    v->spec.host = v->host;
    v->authz = serve_authz_new(spec->client, on_authz_changed, v);
    v->front = serve_front_proxy_new(spec->client, spec->seed);
    return v;
}

void serve_visibility_free(struct serve_visibility *v) {
    if (!v)
        return;
    sl_httpd_stop(v->httpd);
    serve_authz_free(v->authz);
    serve_front_proxy_free(v->front);
    sl_cert_done(&v->cert);
    sl_freep(&v->host);
    sl_freep(&v);
}

void serve_visibility_certificate(struct serve_visibility *v, const struct sl_cert *c) {
    sl_cert_done(&v->cert);
    v->cert =
        (struct sl_cert){.cert_pem = sl_strdup(c->cert_pem), .key_pem = sl_strdup(c->key_pem)};
    v->cert_fresh = true;
}

void serve_visibility_tick(struct serve_visibility *v) {
    serve_front_proxy_tick(v->front);
    if (!v->httpd && v->cert.cert_pem && v->spec.client->mono >= v->listen_at)
        listen_now(v);
    else if (v->httpd &&
             (v->cert_fresh || v->front_served != serve_front_proxy_generation(v->front)))
        serve_with(v);
    if (v->authz_changed && v->httpd) {
        v->authz_changed = false;
        sl_httpd_wake(v->httpd);
    }
}

sl_time serve_visibility_next(const struct serve_visibility *v) {
    sl_time next = serve_front_proxy_next(v->front);
    return !v->httpd && v->cert.cert_pem && v->listen_at < next ? v->listen_at : next;
}
