/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop, one thread: responses of the API server, webhook calls and probes are handled as they
 * arrive; after each loop iteration the election, the certificates and the manager do what is due,
 * and a timer is set for the next deadline.
 */
#include "manager/serve/serve.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "kube/client/client.h"
#include "kube/client/lease.h"
#include "lib/doc/doc.h"
#include "lib/http/cert.h"
#include "lib/http/server.h"
#include "lib/json/writer.h"
#include "lib/log/log.h"
#include "lib/memory/memory.h"
#include "lib/nats/client.h"
#include "manager/admission/convert.h"
#include "manager/admission/review.h"
#include "manager/config/settings_file.h"
#include "manager/controllers/core/parts.h"
#include "manager/fluxqueue/fluxqueue.h"
#include "manager/masterqueue/masterqueue.h"
#include "manager/minicluster/minicluster.h"
#include "manager/serve/authz.h"
#include "manager/serve/certs.h"
#include "manager/serve/limits.h"
#include "manager/serve/visibility.h"

#define STATE_DIR "/var/lib/sluice" /* without $STATE_DIRECTORY */
#define OWN_NAMESPACE_FILE "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
#define LISTEN_TRIES 40u
#define LISTEN_PAUSE_US 50000u
#define MAX_PEM ((size_t)1 << 20)
#define MAX_PEER 256u
#define LISTS_PATIENCE (20 * SL_SEC)

struct serve {
    const struct sl_serve_options *o;
    uv_loop_t loop;
    uv_prepare_t before; /* runs before each wait for I/O */
    uv_timer_t timer;    /* the next thing to do */
    uv_signal_t on_term, on_int;
    struct sl_curl_client *client;
    struct sl_kube_client *kube;
    struct sl_settings *settings;
    struct sl_metrics *metrics;
    struct sl_manager *manager;
    struct sl_nats_client *nats;
    struct sl_masterqueues *masterqueues; /* NULL: not among --controllers */
    struct sl_miniclusters *miniclusters; /* the same */
    struct sl_fluxqueue *fluxqueue;       /* the same */
    struct sl_ledger *ledger;             /* NULL: none */
    struct sl_lease *lease;
    struct serve_certs *certs; /* NULL: provided by others, in webhook.certDir */
    uint64_t certs_shown;      /* the generation that is served with */
    sl_time served_at;         /* mono: since when webhooks can be answered */
    struct serve_authz *authz; /* of the metrics; NULL: no authorization is needed */
    bool authz_changed;        /* requests for them may go on */
    struct sl_httpd *health, *metrics_http, *webhook;
    struct serve_visibility *visibility; /* NULL: it is not wanted */
    struct sl_arena arena;
    char own_ns[254], identity[300];
    bool leads, ending;
    sl_time files_at; /* mono: next check of files */
    sl_time trim_at;  /* mono: memory is given back */
    struct sl_settings_file file;
    struct timespec cert_time, cas_time;
    struct sl_cert cert; /* that is served with */
    char *client_cas;    /* CAs of clients that may call webhooks; NULL: all may */
};

/* ---- files ---- */

static void own_namespace(char ret[254]) {
    char *text = NULL;
    size_t len = 0;
    struct sl_err err;
    sl_fmt(ret, 254, "kueue-system");
    if (sl_file_read(OWN_NAMESPACE_FILE, 253, &text, &len, &err) >= 0 && len) {
        text[strcspn(text, " \n")] = '\0';
        sl_fmt(ret, 254, "%s", text);
    }
    sl_freep(&text);
}

/* Which integrations act, as controllers and as webhooks, follows from the settings unless the
 * command line names them. */
static void use_settings(struct serve *s, const struct sl_settings *settings) {
    struct sl_manager_parts parts = sl_manager_parts_parse(s->o->controllers, settings);
    sl_manager_configure(s->manager, settings, &parts);
    sl_manager_webhooks_parse(s->o->webhooks, settings, sl_manager_view(s->manager)->webhook);
    if (s->fluxqueue)
        sl_fluxqueue_configure(s->fluxqueue, settings);
    if (s->miniclusters)
        sl_miniclusters_configure(s->miniclusters, settings);
}

static void reload_settings(struct serve *s) {
    struct sl_settings *fresh = sl_settings_file_reload(&s->file);
    if (!fresh)
        return;
    use_settings(s, fresh);
    sl_settings_free(s->settings);
    s->settings = fresh;
}

/* ---- certificates ---- */

static bool read_cert(struct serve *s, struct sl_cert *ret) {
    char crt[4352], key[4352];
    size_t n;
    struct sl_err err;
    *ret = (struct sl_cert){0};
    sl_fmt(crt, sizeof crt, "%s/tls.crt", s->settings->webhook.cert_dir);
    sl_fmt(key, sizeof key, "%s/tls.key", s->settings->webhook.cert_dir);
    if (!sl_settings_file_changed(crt, &s->cert_time))
        return false;
    if (sl_file_read(crt, MAX_PEM, &ret->cert_pem, &n, &err) >= 0 &&
        sl_file_read(key, MAX_PEM, &ret->key_pem, &n, &err) >= 0)
        return true;
    sl_log(SL_LOG_ERROR, "reading the webhook certificate failed", SL_S("error", err.text));
    sl_cert_done(ret);
    return false;
}

/* A certificate of a temporary CA, which no client trusts: with it the server starts, until there
 * is a better one. */
static int make_cert(struct serve *s, struct sl_cert *ret, struct sl_err *err) {
    struct sl_cert ca = {0};
    const char *const names[] = {"localhost", "127.0.0.1"};
    int r = sl_cert_ca("kueue-ca", s->kube->wall, INT64_C(365) * 24 * SL_HOUR, &ca, err);
    if (r >= 0)
        r = sl_cert_serving(&ca, names, SL_LEN(names), s->kube->wall, INT64_C(365) * 24 * SL_HOUR,
                            ret, err);
    sl_cert_done(&ca);
    return r;
}

static void show_cert(struct serve *s, const struct sl_cert *c) {
    struct sl_httpd *const servers[] = {s->webhook,
                                        s->o->insecure_metrics ? NULL : s->metrics_http};
    struct sl_err err;
    for (size_t i = 0; i < SL_LEN(servers); i++)
        if (servers[i] &&
            sl_httpd_certificate(servers[i], c->cert_pem, c->key_pem,
                                 servers[i] == s->webhook ? s->client_cas : NULL, &err) < 0) {
            sl_log(SL_LOG_ERROR, "webhook certificate rejected, previous one in use",
                   SL_S("error", err.text));
            return;
        }
    sl_cert_done(&s->cert);
    s->cert =
        (struct sl_cert){.cert_pem = sl_strdup(c->cert_pem), .key_pem = sl_strdup(c->key_pem)};
    if (s->visibility)
        serve_visibility_certificate(s->visibility, &s->cert);
    sl_log(SL_LOG_INFO, "webhook certificate loaded");
}

/* The CAs of clients that may call webhooks. */
static int read_client_cas(const struct serve *s, char **ret, struct sl_err *err) {
    const char *path = s->settings->webhook.client_ca;
    size_t n;
    sl_time end;
    int r = sl_file_read(path, MAX_PEM, ret, &n, err);
    if (r >= 0)
        r = sl_cert_expiry(*ret, &end, err);
    if (r < 0) {
        sl_freep(ret);
        return sl_err_wrap(err, r, "webhook.clientCAFile %s", path);
    }
    return 0;
}

/* A file that cannot be used changes nothing: the previous CAs stay in use. */
static void renew_client_cas(struct serve *s) {
    const char *path = s->settings->webhook.client_ca;
    char *fresh = NULL;
    struct sl_err err;
    if (!s->client_cas || !*path || !sl_settings_file_changed(path, &s->cas_time))
        return;
    if (read_client_cas(s, &fresh, &err) < 0 ||
        sl_httpd_certificate(s->webhook, s->cert.cert_pem, s->cert.key_pem, fresh, &err) < 0) {
        sl_log(SL_LOG_ERROR, "reloading the webhook client CA failed", SL_S("error", err.text));
        sl_freep(&fresh);
        return;
    }
    sl_freep(&s->client_cas);
    s->client_cas = fresh;
    sl_log(SL_LOG_INFO, "webhook client CA reloaded");
}

/* From the folder. */
static void renew_cert(struct serve *s) {
    struct sl_cert c;
    if (s->certs || !read_cert(s, &c))
        return;
    show_cert(s, &c);
    sl_cert_done(&c);
}

/* Certificates that we issue ourselves. */
static void tend_certs(struct serve *s) {
    if (!s->certs)
        return;
    serve_certs_tick(s->certs);
    if (s->certs_shown == serve_certs_generation(s->certs))
        return;
    if (!s->certs_shown)
        s->served_at = s->kube->mono;
    s->certs_shown = serve_certs_generation(s->certs);
    show_cert(s, serve_certs_serving(s->certs));
}

/* Why no webhook call should come here yet; NULL if they may. */
static const char *unready(const struct serve *s) {
    if (s->certs && !s->certs_shown)
        return "the webhooks' certificate is not trusted yet";
    /* Objects that are stored in an older version can only be listed through our own conversion
     * webhook, which is called only if we are ready. So lists that do not arrive delay readiness
     * for a while, but not for ever. */
    if (!sl_manager_ready(s->manager) && s->kube->mono < s->served_at + LISTS_PATIENCE)
        return "lists are not in yet";
    return NULL;
}

/* For the metrics: decisions never see it. */
static sl_time stopwatch(void) {
    return (sl_time)uv_hrtime();
}

/* ---- what is served ---- */

static void answer_text(struct sl_http_answer *a, int status, const char *text) {
    a->status = status;
    a->content_type = "text/plain; charset=utf-8";
    sl_buf_puts(&a->body, text);
}

static bool is_get(const struct sl_http_request *rq) {
    return strcmp(rq->method, "GET") == 0 || strcmp(rq->method, "HEAD") == 0;
}

static void serve_health(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct serve *s = ctx;
    if (strcmp(rq->path, s->settings->live_path) == 0)
        answer_text(a, 200, "ok");
    else if (strcmp(rq->path, s->settings->ready_path) == 0)
        answer_text(a, unready(s) ? 503 : 200,
                    unready(s)                     ? unready(s)
                    : sl_manager_ready(s->manager) ? "ok"
                                                   : "ok, but lists are not in yet");
    else
        answer_text(a, 404, "not found\n");
}

static bool is_loopback(const char *host) {
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

/* A foreign web page can make a browser on this machine send requests here, and through DNS
 * rebinding also read the responses. Both are detectable: a browser sends Origin or Sec-Fetch-Site,
 * and the host name is not one of this machine. */
static bool is_foreign(const struct sl_http_request *rq) {
    const char *host = rq->header(rq, "Host");
    char name[256];
    if (rq->header(rq, "Origin") || rq->header(rq, "Sec-Fetch-Site") || !host)
        return true;
    size_t skip = *host == '[', n = strcspn(host + skip, skip ? "]" : ":");
    if (n >= sizeof name)
        return true;
    sl_fmt(name, sizeof name, "%.*s", (int)n, host + skip);
    bool number = strspn(name, "0123456789.") == n;
    return strcmp(name, "localhost") != 0 && strcmp(name, "::1") != 0 &&
           !(number && is_loopback(name));
}

static void set_gates(struct serve *s, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct sl_warnings w;
    sl_warnings_init(&w);
    sl_settings_gates(s->settings, rq->body, &w);
    for (uint32_t i = 0; i < w.v.n; i++)
        sl_log(SL_LOG_WARN, "feature gate ignored", SL_S("error", w.v.v[i].text));
    sl_warnings_done(&w);
    use_settings(s, s->settings);
    answer_text(a, 200, "ok\n");
}

static void on_authz_changed(void *ctx) {
    struct serve *s = ctx;
    s->authz_changed = true; /* requests go on in the turn, not in a callback of the API client */
}

/* Authorizes a request for metrics. False: it is deferred until the review is done, or has been
 * answered. */
static bool authorize_metrics(struct serve *s, const struct sl_http_request *rq,
                              struct sl_http_answer *a) {
    static const char what[] =
        SL_JSON_CONST({"nonResourceAttributes" : {"verb" : "get", "path" : "/metrics"}});
    const char *token = rq->header(rq, "Authorization");
    switch (s->authz ? serve_authz_check(s->authz, rq->from, token, what) : SL_AUTHZ_ALLOWED) {
    case SL_AUTHZ_ALLOWED:
        return true;
    case SL_AUTHZ_WAIT:
        sl_http_defer(rq);
        return false;
    case SL_AUTHZ_UNKNOWN:
        answer_text(a, 401, "Unauthorized\n");
        return false;
    case SL_AUTHZ_FORBIDDEN:
        answer_text(a, 403, "Forbidden\n");
        return false;
    case SL_AUTHZ_FAILED:
        break;
    }
    answer_text(a, 503, "authentication by the API server failed\n");
    return false;
}

static void serve_metrics(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct serve *s = ctx;
    bool debug = s->o->insecure_metrics && is_loopback(s->settings->metrics.host);
    if (!authorize_metrics(s, rq, a))
        return;
    if (strcmp(rq->path, "/metrics") == 0 && is_get(rq)) {
        a->content_type = "text/plain; version=0.0.4; charset=utf-8";
        sl_manager_refresh_metrics(s->manager);
        sl_ledger_metrics(s->ledger, s->metrics);
        sl_metrics_print(s->metrics, &a->body);
    } else if (debug && strncmp(rq->path, "/debug/", 7) == 0 && is_foreign(rq)) {
        answer_text(a, 403, "not from a web page\n");
    } else if (debug && strcmp(rq->path, "/debug/feature-gates") == 0 &&
               strcmp(rq->method, "POST") == 0) {
        set_gates(s, rq, a);
    } else if (debug && strcmp(rq->path, "/debug/state") == 0 && is_get(rq)) {
        sl_manager_dump(s->manager, &a->body);
    } else {
        answer_text(a, 404, "not found\n");
    }
}

/* Without a Content-Type the body is JSON. */
static bool is_json(const struct sl_http_request *rq) {
    static const char json[] = "application/json";
    const char *type = rq->header(rq, "Content-Type");
    return !type ||
           (strncasecmp(type, json, strlen(json)) == 0 && strchr("; \t", type[strlen(json)]));
}

/* Before the body is read. Conversions need no client certificate: an API server can be given one
 * for admission webhooks and has none for these; they keep no state and disclose nothing. */
static bool refuse_webhook(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    const struct serve *s = ctx;
    char name[MAX_PEER];
    if (!s->client_cas || strcmp(rq->path, SL_CONVERT_PATH) == 0 || rq->peer(rq, name, sizeof name))
        return false;
    answer_text(a, 403, "webhooks are called with a certificate\n");
    return true;
}

static void serve_webhook(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *a) {
    struct serve *s = ctx;
    if (refuse_webhook(ctx, rq, a))
        return;
    if (strcmp(rq->method, "POST") != 0) {
        answer_text(a, sl_review_path(sl_manager_view(s->manager), rq->path) ? 405 : 404,
                    "POST a review\n");
        return;
    }
    if (!is_json(rq)) {
        answer_text(a, 415, "a review is application/json\n");
        return;
    }
    a->status = sl_review(sl_manager_view(s->manager), rq->path, rq->body, rq->len, &a->body);
    if (a->status != 200)
        a->content_type = "text/plain; charset=utf-8";
}

static int listen_on(struct serve *s, const char *what, struct sl_httpd_spec spec,
                     const struct sl_cert *cert, struct sl_httpd **ret, struct sl_err *err) {
    const char *host = *spec.host ? spec.host : "*";
    spec.cert_pem = cert ? cert->cert_pem : NULL;
    spec.key_pem = cert ? cert->key_pem : NULL;
    spec.ctx = s;
    int r = sl_httpd_start(&s->loop, &spec, ret, err);
    /* The one before us may still be going. */
    for (uint32_t i = 0; r < 0 && i < LISTEN_TRIES; i++) {
        (void)usleep(LISTEN_PAUSE_US);
        r = sl_httpd_start(&s->loop, &spec, ret, err);
    }
    if (r < 0)
        return sl_err_wrap(err, r, "%s on %s:%u", what, host, spec.port);
    sl_log(SL_LOG_INFO, "listening", SL_S("server", what), SL_S("host", host),
           SL_I("port", sl_httpd_port(*ret)));
    return 0;
}

static int start_servers(struct serve *s, struct sl_err *err) {
    const struct sl_settings *c = s->settings;
    int r = 0;
    if (c->certs.enable) {
        r = make_cert(s, &s->cert, err); /* until there is one that the API server trusts */
    } else if (!read_cert(s, &s->cert)) {
        sl_log(SL_LOG_WARN, "no webhook certificate, serving a self-signed one",
               SL_S("dir", c->webhook.cert_dir));
        r = make_cert(s, &s->cert, err);
    }
    if (r >= 0 && *c->webhook.client_ca) {
        (void)sl_settings_file_changed(c->webhook.client_ca, &s->cas_time);
        r = read_client_cas(s, &s->client_cas, err);
    }
    struct sl_httpd_spec webhooks = {.host = c->webhook.host,
                                     .port = c->webhook.port,
                                     .client_cas = s->client_cas,
                                     .early = refuse_webhook,
                                     .max_body = SL_REVIEW_MAX_BYTES,
                                     .large_path = SL_CONVERT_PATH,
                                     .large_body = SL_CONVERT_BODY_BYTES,
                                     .max_connections = SL_WEBHOOK_CONNECTIONS,
                                     .all_bodies = SL_WEBHOOK_BODIES,
                                     .all_answers = SL_WEBHOOK_ANSWERS,
                                     .max_answer = SL_WEBHOOK_ANSWERS,
                                     .handler = serve_webhook};
    struct sl_httpd_spec metrics = {.host = c->metrics.host,
                                    .port = c->metrics.port,
                                    .max_body = 65536,
                                    .max_connections = SL_METRICS_CONNECTIONS,
                                    .all_bodies = SL_SMALL_BODIES,
                                    .all_answers = SL_METRICS_ANSWERS,
                                    .max_answer = SL_METRICS_ANSWERS,
                                    .handler = serve_metrics};
    struct sl_httpd_spec probes = {.host = c->health.host,
                                   .port = c->health.port,
                                   .max_body = 4096,
                                   .max_connections = SL_PROBE_CONNECTIONS,
                                   .all_bodies = SL_PROBE_BODIES,
                                   .all_answers = SL_PROBE_ANSWERS,
                                   .max_answer = SL_PROBE_ANSWERS,
                                   .handler = serve_health};
    if (r >= 0)
        r = listen_on(s, "webhooks", webhooks, &s->cert, &s->webhook, err);
    if (r >= 0 && !c->metrics.off)
        r = listen_on(s, "metrics", metrics, s->o->insecure_metrics ? NULL : &s->cert,
                      &s->metrics_http, err);
    if (r >= 0 && !c->health.off)
        r = listen_on(s, "probes", probes, NULL, &s->health, err);
    return r;
}

/* A process with only some of the controllers, for a test or beside another manager, does not bind
 * the port. */
static void tend_visibility(struct serve *s) {
    bool wanted = !s->o->controllers && s->settings->gates[SL_G_VISIBILITY_ON_DEMAND];
    if (wanted && !s->visibility) {
        struct serve_visibility_spec spec = {.loop = &s->loop,
                                             .client = s->kube,
                                             .manager = s->manager,
                                             .host = s->settings->visibility_host,
                                             .http_port = s->settings->visibility_port,
                                             .seed = uv_hrtime()};
        s->visibility = serve_visibility_new(&spec);
        serve_visibility_certificate(s->visibility, &s->cert);
    } else if (!wanted) {
        serve_visibility_free(s->visibility);
        s->visibility = NULL;
    }
    if (s->visibility)
        serve_visibility_tick(s->visibility);
}

/* ---- the turn ---- */

static void lead(struct serve *s, bool leads) {
    if (s->leads == leads)
        return;
    s->leads = leads;
    sl_log(SL_LOG_INFO, leads ? "acquired leadership" : "lost leadership",
           SL_S("identity", s->identity),
           SL_S("holder", s->lease ? sl_lease_holder(s->lease) : ""));
    sl_metrics_role(s->metrics, leads ? "leader" : "follower");
    sl_manager_lead(s->manager, leads);
    if (s->masterqueues)
        sl_masterqueues_lead(s->masterqueues, leads);
    if (s->miniclusters)
        sl_miniclusters_lead(s->miniclusters, leads);
    if (s->fluxqueue)
        sl_fluxqueue_lead(s->fluxqueue, leads);
}

static bool ended(const struct serve *s) {
    return s->ending && (!s->lease || sl_lease_released(s->lease));
}

static void on_timer(uv_timer_t *t) {
    (void)t; /* it only makes the loop turn */
}

static void turn(uv_prepare_t *h) {
    struct serve *s = h->data;
    sl_curl_client_clock(s->client);
    if (s->lease) {
        sl_lease_tick(s->lease);
        lead(s, sl_lease_held(s->lease) && !s->ending);
    }
    if (ended(s)) {
        uv_stop(&s->loop);
        return;
    }
    if (s->kube->mono >= s->files_at) {
        s->files_at = s->kube->mono + SL_FILES_EVERY;
        reload_settings(s);
        renew_cert(s);
        renew_client_cas(s);
    }
    if (s->kube->mono >= s->trim_at) {
        s->trim_at = s->kube->mono + SL_MEMORY_EVERY;
        sl_memory_trim();
    }
    tend_certs(s);
    if (s->authz_changed && s->metrics_http) {
        s->authz_changed = false;
        sl_httpd_wake(s->metrics_http);
    }
    if (s->masterqueues)
        sl_masterqueues_tick(s->masterqueues);
    if (s->miniclusters)
        sl_miniclusters_tick(s->miniclusters);
    if (s->fluxqueue)
        sl_fluxqueue_tick(s->fluxqueue);
    sl_manager_tick(s->manager);
    tend_visibility(s);
    sl_time next = sl_manager_next(s->manager);
    if (s->masterqueues)
        next = sl_time_min(next, sl_masterqueues_next(s->masterqueues));
    if (s->miniclusters)
        next = sl_time_min(next, sl_miniclusters_next(s->miniclusters));
    if (s->fluxqueue)
        next = sl_time_min(next, sl_fluxqueue_next(s->fluxqueue));
    if (s->visibility && serve_visibility_next(s->visibility) < next)
        next = serve_visibility_next(s->visibility);
    if (s->certs && serve_certs_next(s->certs) < next)
        next = serve_certs_next(s->certs);
    if (s->lease && sl_lease_next(s->lease) < next)
        next = sl_lease_next(s->lease);
    if (s->files_at < next)
        next = s->files_at;
    sl_time wait = next > s->kube->mono ? next - s->kube->mono : 0;
    (void)uv_timer_start(&s->timer, on_timer, (uint64_t)((wait + SL_MSEC - 1) / SL_MSEC), 0);
}

static void on_signal(uv_signal_t *h, int number) {
    struct serve *s = h->data;
    if (s->ending) {
        uv_stop(&s->loop); /* the second signal: at once */
        return;
    }
    sl_log(SL_LOG_INFO, "shutting down", SL_S("signal", number == SIGINT ? "SIGINT" : "SIGTERM"));
    s->ending = true;
    if (s->lease)
        sl_lease_release(s->lease);
}

/* ---- life ---- */

static bool flavor_used(void *ctx, const char *flavor) {
    const struct serve *s = ctx;
    return sl_manager_flavor_used(s->manager, flavor);
}

static int start_masterqueues(struct serve *s, struct sl_err *err) {
    int r = sl_nats_client_new(&s->loop, &s->nats, err);
    if (r < 0)
        return r;
    s->masterqueues =
        sl_masterqueues_new(&(struct sl_masterqueues_spec){.client = s->kube,
                                                           .nats = sl_nats_client_port(s->nats),
                                                           .metrics = s->metrics,
                                                           .own_ns = s->own_ns,
                                                           .instance = s->identity,
                                                           .seed = uv_hrtime(),
                                                           .standby = !s->leads,
                                                           .flavor_used = flavor_used,
                                                           .ctx = s});
    return 0;
}

static void start_miniclusters(struct serve *s) {
    s->miniclusters = sl_miniclusters_new(&(struct sl_miniclusters_spec){.client = s->kube,
                                                                         .settings = s->settings,
                                                                         .instance = s->identity,
                                                                         .seed = uv_hrtime(),
                                                                         .standby = !s->leads});
}

static sl_span retention_of(const struct sl_settings *s) {
    return s->flux.retention == SL_TIME_NEVER ? 0 : s->flux.retention;
}

static int start_fluxqueue(struct serve *s, struct sl_err *err) {
    const char *ledger = s->o->ledger ? s->o->ledger : s->settings->flux.ledger;
    const char *dir = getenv("STATE_DIRECTORY");
    char spool[PATH_MAX];
    sl_fmt_short(spool, sizeof spool, "%s/ledger.spool", dir && *dir ? dir : STATE_DIR);
    if (*ledger) {
        int r = sl_ledger_open(&(struct sl_ledger_spec){.url = ledger,
                                                        .spool = spool,
                                                        .retention = retention_of(s->settings)},
                               &s->ledger, err);
        if (r < 0)
            return sl_err_wrap(err, r, "ledger");
    }
    s->fluxqueue = sl_fluxqueue_new(&(struct sl_fluxqueue_spec){.client = s->kube,
                                                                .settings = s->settings,
                                                                .ledger = s->ledger,
                                                                .instance = s->identity,
                                                                .seed = uv_hrtime(),
                                                                .standby = !s->leads});
    return 0;
}

static int start_serving(struct serve *s, struct sl_err *err) {
    struct sl_kubeconfig *k = NULL;
    int r = sl_kubeconfig_load(s->o->kubeconfig, NULL, &k, err);
    if (r < 0)
        return r;
    sl_log(SL_LOG_INFO, "starting", SL_S("version", SL_VERSION),
           SL_S("server", sl_kubeconfig_server(k)));
    r = sl_curl_client_new(&s->loop, k, "kueue/v0.19.0 sluice/" SL_VERSION, &s->client, err);
    if (r < 0)
        return r;
    s->kube = sl_curl_client_interface(s->client);
    sl_curl_client_clock(s->client);
    char host[128] = "";
    (void)gethostname(host, sizeof host - 1);
    sl_fmt(s->identity, sizeof s->identity, "%s_%016llx", host, (unsigned long long)uv_hrtime());
    s->leads = !s->settings->lease.enable;
    struct sl_manager_spec spec = {
        .client = s->kube,
        .settings = s->settings,
        .parts = sl_manager_parts_parse(s->o->controllers, s->settings),
        .annotations_to_copy = sl_manager_words_parse(s->o->annotations_to_copy, &s->arena),
        .metrics = s->metrics,
        .stopwatch = stopwatch,
        .instance = s->identity,
        .seed = uv_hrtime(),
        .standby = !s->leads,
    };
    s->manager = sl_manager_new(&spec);
    sl_manager_webhooks_parse(s->o->webhooks, s->settings, sl_manager_view(s->manager)->webhook);
    if (spec.parts.masterqueue) {
        r = start_masterqueues(s, err);
        if (r < 0)
            return r;
    }
    if (spec.parts.minicluster)
        start_miniclusters(s);
    if (spec.parts.fluxqueue) {
        r = start_fluxqueue(s, err);
        if (r < 0)
            return r;
        sl_manager_nodes(s->manager, s->fluxqueue);
    }
    if (s->settings->lease.enable) {
        struct sl_lease_spec l = {s->settings->lease.ns,
                                  s->settings->lease.name,
                                  s->identity,
                                  s->settings->lease.duration,
                                  s->settings->lease.renew_deadline,
                                  s->settings->lease.retry_period};
        sl_metrics_role(s->metrics, "follower");
        s->lease = sl_lease_new(s->kube, &l, uv_hrtime());
    }
    if (!s->o->insecure_metrics)
        s->authz = serve_authz_new(s->kube, on_authz_changed, s);
    s->served_at = s->kube->mono;
    if (s->settings->certs.enable)
        s->certs = serve_certs_new(s->kube, s->settings, uv_hrtime());
    return start_servers(s, err);
}

static void close_handle(uv_handle_t *h, void *arg) {
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

static void finish(struct serve *s) {
    if (s->before.data)
        (void)uv_prepare_stop(&s->before); /* what it turns is about to go */
    sl_httpd_stop(s->webhook);
    sl_httpd_stop(s->metrics_http);
    sl_httpd_stop(s->health);
    serve_visibility_free(s->visibility);
    sl_masterqueues_free(s->masterqueues);
    sl_miniclusters_free(s->miniclusters);
    if (s->manager)
        sl_manager_nodes(s->manager, NULL);
    sl_fluxqueue_free(s->fluxqueue);
    sl_ledger_close(s->ledger);
    sl_nats_client_free(s->nats);
    sl_manager_free(s->manager);
    sl_lease_free(s->lease);
    serve_certs_free(s->certs);
    serve_authz_free(s->authz);
    sl_curl_client_free(s->client);
    (void)uv_run(&s->loop, UV_RUN_NOWAIT);
    uv_walk(&s->loop, close_handle, NULL);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&s->loop);
    sl_cert_done(&s->cert);
    sl_freep(&s->client_cas);
    sl_settings_free(s->settings);
    sl_metrics_free(s->metrics);
    sl_arena_done(&s->arena);
}

int sl_serve(const struct sl_serve_options *o, struct sl_err *err) {
    struct serve s = {.o = o};
    (void)signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&s.loop) < 0)
        return sl_err_set(err, SL_EIO, "cannot create the event loop");
    sl_arena_init(&s.arena, (size_t)1 << 20);
    s.metrics = sl_metrics_new();
    sl_metrics_build_info(s.metrics);
    own_namespace(s.own_ns);
    s.file = (struct sl_settings_file){
        .path = o->config, .own_ns = s.own_ns, .gates = o->gates, .metrics = s.metrics};
    int r = sl_settings_file_load(&s.file, &s.settings, err);
    if (r >= 0) {
        s.before.data = s.on_term.data = s.on_int.data = &s;
        (void)uv_prepare_init(&s.loop, &s.before);
        (void)uv_prepare_start(&s.before, turn);
        (void)uv_timer_init(&s.loop, &s.timer);
        (void)uv_timer_start(&s.timer, on_timer, 0, 0);
        (void)uv_signal_init(&s.loop, &s.on_term);
        (void)uv_signal_start(&s.on_term, on_signal, SIGTERM);
        (void)uv_signal_init(&s.loop, &s.on_int);
        (void)uv_signal_start(&s.on_int, on_signal, SIGINT);
        r = start_serving(&s, err);
    }
    if (r >= 0)
        (void)uv_run(&s.loop, UV_RUN_DEFAULT);
    finish(&s);
    return r;
}
