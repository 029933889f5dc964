/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks `sluice serve`, and what it is told about that: the ConfigMap by which requests that the
 * API server passes on are known, their headers, the answers to TokenReviews and
 * SubjectAccessReviews, the Secret with the webhooks' certificates and those who call them
 * (stage_fz.h says how; collections below). Besides, after any letter:
 *
 *     h PEER|NAME: VALUE|...   a request of this client certificate, with these headers
 *     q STATUS JSON            the answer to the next review; none: it is denied
 *     t                        a minute passes
 *
 * Certificates are made and renewed if the first letter is not a.
 *
 * A user is always one that can be asked about, nobody is allowed whom no answer allows, and what
 * is served with is a certificate and its key.
 */
#include <stdlib.h>
#include <strings.h>

#include "lib/json/json.h"
#include "manager/config/config.h"
#include "manager/serve/authz.h"
#include "manager/serve/certs.h"
#include "manager/serve/front_proxy.h"
#include "stage_fz.h"

#define MAX_HEADERS 100u
#define MAX_ANSWERS 16u
#define MAX_USER ((size_t)64 << 10)
#define MAX_TURNS 2000u
#define WHAT "{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/metrics\"}}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const collections[] = {
    "/api/v1/namespaces/kube-system/configmaps",
    "/api/v1/namespaces/kueue-system/secrets",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
};
static const char *const objects[] = {
    "extension-apiserver-authentication",
    "kueue-webhook-server-cert",
    "kueue-mutating-webhook-configuration",
    "kueue-validating-webhook-configuration",
    "workloads.kueue.x-k8s.io",
};

/* ---- reviews: a port that answers from the input ---- */

struct reviews {
    struct sl_kube_client client;
    sl_kube_reply_fn done; /* of the request in flight; NULL: none */
    void *ctx;
    uint64_t calls;
    struct {
        int status;
        const char *body;
        size_t len;
    } v[MAX_ANSWERS];
    uint32_t n, at;
    bool allows; /* a response allowed it */
};

struct world {
    struct stage stage; /* the first */
    struct serve_front_proxy *front;
    struct serve_certs *certs; /* NULL: the input has none of them, and keys are slow to make */
    struct serve_authz *authz;
    struct reviews reviews;
};

static sl_kube_call on_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                               sl_kube_reply_fn done, void *ctx) {
    struct reviews *r = SL_CONTAINER_OF(p, struct reviews, client);
    yyjson_doc *doc = yyjson_read(rq->body, rq->len, 0);

    sl_assert(doc); /* whatever he calls himself, the question can be read */
    sl_assert(!r->done);
    yyjson_doc_free(doc);
    r->done = done;
    r->ctx = ctx;
    return (sl_kube_call){++r->calls};
}

static sl_kube_call on_watch(struct sl_kube_client *p, const struct sl_kube_request *rq,
                             sl_kube_line_fn line, sl_kube_reply_fn done, void *ctx) {
    (void)p, (void)rq, (void)line, (void)done, (void)ctx;
    sl_assert(false); /* reviews are not watched */
    return (sl_kube_call){0};
}

static void on_cancel(struct sl_kube_client *p, sl_kube_call c) {
    struct reviews *r = SL_CONTAINER_OF(p, struct reviews, client);

    if (c.v == r->calls)
        r->done = NULL;
}

static void on_heard(void *ctx) {
    (void)ctx;
}

static void answer(struct reviews *r) {
    sl_kube_reply_fn done = r->done;
    struct sl_kube_reply reply = {.status = 403, .body = "{}", .len = 2, .text = "denied"};

    r->done = NULL;
    if (r->at < r->n) {
        reply.status = r->v[r->at].status;
        reply.body = r->v[r->at].body;
        reply.len = r->v[r->at].len;
        r->at++;
    }
    done(r->ctx, &reply);
}

/* ---- a request ---- */

struct pair {
    const char *name, *value;
};

struct ask {
    const char *peer;
    struct pair headers[MAX_HEADERS + 1];
};

static const char *on_header(const struct sl_http_request *rq, const char *name) {
    for (const struct pair *v = ((const struct ask *)rq->priv)->headers; v->name; v++)
        if (strcasecmp(v->name, name) == 0)
            return v->value;
    return NULL;
}

static void on_headers(const struct sl_http_request *rq,
                       void (*each)(void *ctx, const char *name, const char *value), void *ctx) {
    for (const struct pair *v = ((const struct ask *)rq->priv)->headers; v->name; v++)
        each(ctx, v->name, v->value);
}

static bool on_peer(const struct sl_http_request *rq, char *out, size_t size) {
    const char *peer = ((const struct ask *)rq->priv)->peer;

    if (strlen(peer) >= size)
        return false;
    memcpy(out, peer, strlen(peer) + 1);
    return *peer;
}

static void read_request(char *text, struct ask *a) {
    char *rest = NULL, *part = strtok_r(text, "|", &rest);
    uint32_t n = 0;

    a->peer = part ? part : "";
    while (n < MAX_HEADERS && (part = strtok_r(NULL, "|", &rest))) {
        char *colon = strchr(part, ':');
        if (colon)
            *colon++ = '\0';
        a->headers[n++] = (struct pair){part, colon ? colon + strspn(colon, " ") : ""};
    }
}

static void request(struct world *w, char *text) {
    static const uint8_t from[SL_HTTP_FROM] = "someone";
    struct ask a = {0};
    const struct sl_http_request rq = {
        .header = on_header, .headers = on_headers, .peer = on_peer, .priv = &a, .from = from};
    struct sl_buf user = SL_BUF(MAX_USER);
    enum serve_authz_result says = SL_AUTHZ_WAIT;

    read_request(text, &a);
    bool known = serve_front_proxy_user(w->front, &rq, &user);
    if (known) {
        yyjson_doc *doc = yyjson_read(user.s, user.len, 0);
        sl_assert(doc && *sl_json_str(yyjson_doc_get_root(doc), "user"));
        sl_assert(*a.peer);
        yyjson_doc_free(doc);
    }
    for (uint32_t i = 0; i < 4 && says == SL_AUTHZ_WAIT; i++) {
        says = known ? serve_authz_check_user(w->authz, sl_buf_str(&user), WHAT)
                     : serve_authz_check(w->authz, from, on_header(&rq, "Authorization"), WHAT);
        if (says == SL_AUTHZ_WAIT && w->reviews.done)
            answer(&w->reviews);
    }
    sl_assert(says != SL_AUTHZ_ALLOWED || w->reviews.allows);
    sl_buf_done(&user);
}

/* ---- the stage ---- */

static void run(struct stage *g, sl_span d) {
    struct world *w = SL_CONTAINER_OF(g, struct world, stage);
    sl_time until = fakeapi_now(g->a) + d;

    for (uint32_t i = 0; i < MAX_TURNS; i++) {
        serve_front_proxy_tick(w->front);
        sl_time wish = serve_front_proxy_next(w->front);
        if (w->certs) {
            serve_certs_tick(w->certs);
            sl_time next = serve_certs_next(w->certs);
            wish = next < wish ? next : wish;
        }
        if (!fakeapi_step(g->a, wish < until ? wish : until) && fakeapi_now(g->a) >= until)
            break;
    }
    const struct sl_cert *c = w->certs ? serve_certs_serving(w->certs) : NULL;
    if (c)
        sl_assert(sl_cert_pair(c->cert_pem, c->key_pem, NULL) >= 0);
}

static bool own(struct stage *g, const char *s, size_t len) {
    struct world *w = SL_CONTAINER_OF(g, struct world, stage);
    struct reviews *r = &w->reviews;

    if (s[1] == 't') {
        r->client.mono += SL_MINUTE;
    } else if (s[1] == 'q' && r->n < MAX_ANSWERS) {
        const char *body = memchr(s, ' ', len);
        body = body ? body + 1 : s + len;
        r->v[r->n].status = (int)strtol(s + 2, NULL, 10);
        r->v[r->n].body = body;
        r->v[r->n].len = (size_t)(s + len - body);
        r->allows |= memmem(body, r->v[r->n].len, "true", 4) != NULL;
        r->n++;
    } else if (s[1] == 'h') {
        char *text = strndup(s + 2, len - 2);
        sl_assert(text);
        request(w, text);
        free(text);
    } else {
        return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct sl_kube_client_ops ops = {on_request, on_watch, on_cancel};
    static struct sl_settings *settings;
    struct world w = {.stage = {.collections = collections,
                                .objects = objects,
                                .n_collections = SL_LEN(collections),
                                .max_made = 64,
                                .run = run,
                                .own = own},
                      .reviews = {.client = {.ops = &ops, .mono = SL_HOUR}}};
    struct sl_err err;

    if (!settings)
        sl_assert(sl_settings_load(NULL, NULL, NULL, &settings, NULL, &err) >= 0);
    char *text = strndup((const char *)data, size); /* ends with a zero, for numbers */
    sl_assert(text);
    stage_init(&w.stage, false);
    w.front = serve_front_proxy_new(fakeapi_port(w.stage.a, 0), 1);
    if (size > 0 && *text != 'a')
        w.certs = serve_certs_new(fakeapi_port(w.stage.a, 1), settings, 1);
    w.authz = serve_authz_new(&w.reviews.client, on_heard, NULL);
    run(&w.stage, SL_SEC);
    stage_play(&w.stage, (const uint8_t *)text, strlen(text));
    serve_authz_free(w.authz);
    serve_front_proxy_free(w.front);
    if (w.certs)
        serve_certs_free(w.certs);
    fakeapi_free(w.stage.a);
    free(text);
    return 0;
}
