/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a cycle, one request at a time, all of it again every half minute:
 *
 *     LOOK at the Secret -> missing: CREATE -> LOOK
 *                        -> has to change: CHANGE (with its resourceVersion) -> LOOK
 *                        -> good: for each caller READ -> other caBundle: PATCH
 *          after the last caller: serve with the certificate of the Secret, and pause
 *
 * Why no caller ever meets a certificate that it does not trust: tls.crt is signed by one of the
 * CAs in ca.crt, always; all callers have all of ca.crt before a replica begins to serve with
 * tls.crt; and a CA is removed from ca.crt only when no replica can serve with a certificate of it.
 * A new CA is therefore introduced in steps, each decided on the present Secret, whichever replica
 * did the step before:
 *
 *     ca.crt: old        tls.crt by old      a third of the CA's lifetime is left
 *     ca.crt: new, old   tls.crt by old      the callers get the new one
 *     ca.crt: new, old   tls.crt by new      replicas change over
 *     ca.crt: new        tls.crt by new      an hour later
 *
 * Between them ca.crt settles: a replica that read it before the change may for STALE still write
 * the older ca.crt into a caller, so only a round that began later than that, and found nothing to
 * write, proves that all callers have it. (Where the CA or the Secret is lost there is no time for
 * steps; the old CA is then retained beside the new one if it is known.)
 *
 * The first CA of ca.crt is the one whose key is in ca.key. Callbacks of the API client only record
 * the response and decide; every request starts in 'tick'.
 */
#include "manager/serve/certs.h"

#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include "core/base/buf.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "kube/client/secret.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/log/log.h"

#define DAY (24 * SL_HOUR)
#define CA_LIFE (3650 * DAY)
#define SERVING_LIFE (365 * DAY)
#define CHANGED_OVER                                                                               \
    SL_HOUR /* all replicas have looked since, with room for clocks that differ                    \
             */
#define REST (30 * SL_SEC)
#define PATIENCE (10 * SL_SEC) /* with a request */
#define STALE (20 * SL_SEC)    /* how old the Secret may be that callers are patched from */
#define SETTLED (STALE + PATIENCE + REST)
#define FIRST_PAUSE (500 * SL_MSEC)
#define LONGEST_PAUSE (30 * SL_SEC)
#define MAX_BODY_BYTES ((size_t)8 << 20)
#define MAX_PATH_BYTES 2048u
#define MAX_VERSION_BYTES 256u
#define MAX_NAME_BYTES 640u
#define FIELD_MANAGER "?fieldManager=kueue"
#define END_OF_PEM "-----END CERTIFICATE-----"

#define WEBHOOKS "/apis/admissionregistration.k8s.io/v1/"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
#define API_SERVICES "/apis/apiregistration.k8s.io/v1/apiservices/"
#define VISIBILITY_SERVICE "kueue-visibility-server"

/* Objects that configure our callers: webhooks, conversion, the visibility API. One that does not
 * exist is skipped. */
static const char *const callers[] = {
    WEBHOOKS "mutatingwebhookconfigurations/kueue-mutating-webhook-configuration",
    WEBHOOKS "validatingwebhookconfigurations/kueue-validating-webhook-configuration",
    WEBHOOKS "mutatingwebhookconfigurations/kueue-mutating-webhook-configuration-unlabelled",
    WEBHOOKS "validatingwebhookconfigurations/kueue-validating-webhook-configuration-unlabelled",
    CRDS "clusterqueues.kueue.x-k8s.io",
    CRDS "cohorts.kueue.x-k8s.io",
    CRDS "localqueues.kueue.x-k8s.io",
    CRDS "miniclusters.flux-framework.org",
    CRDS "multikueueclusters.kueue.x-k8s.io",
    CRDS "workloads.kueue.x-k8s.io",
    API_SERVICES "v1beta1.visibility.kueue.x-k8s.io",
    API_SERVICES "v1beta2.visibility.kueue.x-k8s.io",
};

enum step { LOOK, CREATE, CHANGE, READ, PATCH };

/* What the Secret holds, as PEM. A part that is missing or no base64 is NULL. */
struct keys {
    char *cas; /* ca.crt */
    char *ca_key;
    struct sl_cert tls;
};

struct serve_certs {
    struct sl_kube_client *client;
    char *ns, *secret;
    char name[MAX_NAME_BYTES];       /* SERVICE.NS.svc: the name that the API server verifies */
    char visibility[MAX_NAME_BYTES]; /* the name it verifies when it proxies a visibility request */
    char others[4][MAX_NAME_BYTES];
    struct sl_prng prng;
    enum step step; /* in flight if there is a call, else what to do at 'due' */
    uint32_t caller;
    sl_kube_call call;
    sl_time due;       /* to begin the step, or to give the call up */
    uint32_t failures; /* in a row */
    struct sl_buf path, body, version;
    struct keys found, draft; /* in the Secret; to be in it */
    char *known;              /* the last ca.crt that was in the Secret */
    sl_time known_since;      /* mono */
    sl_time looked;           /* when the look of this round was sent */
    bool clean;               /* this round found nothing to write */
    bool settled;             /* all callers have 'known', and none will lose it */
    struct sl_buf fine;       /* the version of the Secret that was last found good */
    sl_time fine_at;          /* wall: when that was */
    bool fine_settled;        /* 'settled' then */
    uint32_t refused;         /* a bit for each caller that we may not read or write */
    struct sl_cert serving;
    uint64_t generation;
    bool ready;
};

static void keys_done(struct keys *k) {
    struct sl_cert ca = {.key_pem = k->ca_key};

    sl_cert_done(&ca); /* wipes the key */
    k->ca_key = NULL;
    sl_freep(&k->cas);
    sl_cert_done(&k->tls);
}

/* Keys pass through it, in base64. */
static void wipe(struct sl_buf *b) {
    if (b->s)
        explicit_bzero(b->s, b->cap);
    sl_buf_clear(b);
}

static bool same(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0;
}

/* ---- when ---- */

static void plan(struct serve_certs *c, enum step step, sl_span wait) {
    c->step = step;
    c->due = sl_time_add(c->client->mono, wait);
}

/* A caller that fails is tried again by itself: of a whole round something fails too easily. */
static void retry(struct serve_certs *c, sl_span retry_after) {
    enum step again = c->step == READ || c->step == PATCH ? READ : LOOK;
    sl_span pause = FIRST_PAUSE << (c->failures < 6 ? c->failures : 6);

    c->failures++;
    pause = sl_prng_range(&c->prng, pause / 2, pause);
    if (pause < retry_after)
        pause = retry_after;
    plan(c, again, pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE);
}

/* Statuses that a retry may change; the others need an operator. */
static bool passing(int status) {
    return status == 0 || status == 409 || status == 429 || status >= 500;
}

static void complain(struct serve_certs *c, const char *what, const char *object,
                     const struct sl_kube_reply *r) {
    bool again = c->failures > 0 && c->failures % 32 != 0;

    sl_log(again || passing(r->status) ? SL_LOG_DEBUG : SL_LOG_ERROR, what, SL_S("object", object),
           SL_I("status", r->status), SL_S("error", r->text));
}

/* ---- certificates ---- */

/* Where the first certificate of the text ends; at its end if it is not whole. */
static size_t first_length(const char *pem) {
    const char *end = strstr(pem, END_OF_PEM);

    if (!end)
        return strlen(pem);
    end += strlen(END_OF_PEM);
    return (size_t)(end - pem) + strspn(end, "\r\n");
}

static char *first_of(const char *pem) {
    size_t n = first_length(pem);
    char *s = sl_alloc(n + 1);

    memcpy(s, pem, n);
    s[n] = '\0';
    return s;
}

/* The new one, then the first of the old ones. */
static char *joined(const char *fresh, const char *old) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(2 * SL_CERT_PEM);
    sl_buf_puts(&b, fresh);
    if (old && strstr(old, END_OF_PEM))
        sl_buf_add(&b, old, first_length(old));
    char *s = sl_strdup(sl_buf_str(&b));
    return s;
}

/* How long the first certificate is still valid; 0 if it is not, or is none. */
static sl_span left(const struct serve_certs *c, const char *pem) {
    sl_time end;

    if (!pem || sl_cert_expiry(pem, &end, NULL) < 0 || end <= c->client->wall)
        return 0;
    return end - c->client->wall;
}

/* A serving certificate under the CA of the draft, which must be there. */
static int draft_serving(struct serve_certs *c, struct sl_err *err) {
    const char *const names[] = {c->name,      c->others[0], c->others[1],
                                 c->others[2], c->others[3], c->visibility};
    struct sl_cert ca = {.cert_pem = c->draft.cas, .key_pem = c->draft.ca_key};

    sl_cert_done(&c->draft.tls);
    return sl_cert_serving(&ca, names, SL_LEN(names), c->client->wall, SERVING_LIFE, &c->draft.tls,
                           err);
}

/* A CA in front of the one that was there. */
static int draft_ca(struct serve_certs *c, const char *old, struct sl_err *err) {
    struct sl_cert ca = {0};
    int r = sl_cert_ca("kueue-ca", c->client->wall, CA_LIFE, &ca, err);

    if (r < 0)
        return r;
    keys_done(&c->draft);
    c->draft.cas = joined(ca.cert_pem, old);
    c->draft.ca_key = TAKE_PTR(ca.key_pem);
    sl_cert_done(&ca);
    return 0;
}

static void draft_copy(struct serve_certs *c, bool all_cas) {
    const struct keys *f = &c->found;

    keys_done(&c->draft);
    c->draft.cas = all_cas ? sl_strdup(f->cas) : first_of(f->cas);
    c->draft.ca_key = sl_strdup(f->ca_key);
    if (f->tls.cert_pem)
        c->draft.tls.cert_pem = sl_strdup(f->tls.cert_pem);
    if (f->tls.key_pem)
        c->draft.tls.key_pem = sl_strdup(f->tls.key_pem);
}

/* One step on the way of the Secret, as the head of this file has them. *ret_why: why it has to
 * change, with the draft filled in; NULL if it is good as it is. */
static int improve(struct serve_certs *c, const char **ret_why, struct sl_err *err) {
    const struct keys *f = &c->found;
    int r = 0;
    bool ca_good =
        f->cas && f->ca_key && sl_cert_pair(f->cas, f->ca_key, NULL) >= 0 && left(c, f->cas) > 0;
    sl_span tls_left = left(c, f->tls.cert_pem);
    bool tls_good = tls_left > 0 && sl_cert_fits(&f->tls, f->cas, c->name) &&
                    sl_cert_fits(&f->tls, f->cas, c->visibility);

    *ret_why = NULL;
    if (!ca_good || (!tls_good && left(c, f->cas) < CA_LIFE / 3)) {
        /* Others may still serve with what was there before, or we ourselves. */
        *ret_why = "no usable CA certificate";
        r = draft_ca(c, f->cas ? f->cas : c->known, err);
        return r < 0 ? r : draft_serving(c, err);
    }
    if (left(c, f->cas) < CA_LIFE / 3) {
        *ret_why = "CA certificate near expiry";
        r = draft_ca(c, f->cas, err);
        if (r >= 0) {
            c->draft.tls.cert_pem = sl_strdup(f->tls.cert_pem);
            c->draft.tls.key_pem = sl_strdup(f->tls.key_pem);
        }
        return r;
    }
    char *first = first_of(f->cas);
    bool by_first = tls_good && sl_cert_fits(&f->tls, first, c->name);
    bool several = strcmp(first, f->cas) != 0;
    sl_freep(&first);
    if (!tls_good)
        *ret_why = "unusable serving certificate";
    else if (tls_left < SERVING_LIFE / 3)
        *ret_why = "serving certificate near expiry";
    else if (!by_first && c->settled)
        *ret_why = "serving certificate issued by the previous CA";
    if (*ret_why) {
        draft_copy(c, true);
        return draft_serving(c, err);
    }
    if (several && by_first && c->settled && tls_left < SERVING_LIFE - CHANGED_OVER) {
        draft_copy(c, false);
        *ret_why = "previous CA certificate no longer needed";
    }
    return 0;
}

/* ---- the Secret ---- */

/* The text of a value; NULL if there is none that can be read. */
static char *decoded(yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    if (!yyjson_is_str(v) || t.n > 2 * SL_CERT_PEM)
        return NULL;
    char *out = sl_alloc(t.n / 4 * 3 + 1);
    int64_t n = sl_base64_decode(t.s, t.n, out);
    if (n <= 0 || memchr(out, '\0', (size_t)n))
        sl_freep(&out);
    return out;
}

/* The version that a patch is decided on; false if the answer is no object. */
static bool take_version(struct serve_certs *c, yyjson_val *root) {
    const char *s =
        sl_json_opt(yyjson_obj_get(yyjson_obj_get(root, "metadata"), "resourceVersion"));

    sl_buf_clear(&c->version);
    if (!s || strlen(s) > MAX_VERSION_BYTES)
        return false;
    sl_buf_puts(&c->version, s);
    return true;
}

static yyjson_doc *parsed(struct serve_certs *c, const struct sl_kube_reply *r) {
    yyjson_doc *doc = r->len <= MAX_BODY_BYTES ? sl_json_doc(r->body, r->len) : NULL;

    if (doc && take_version(c, yyjson_doc_get_root(doc)))
        return doc;
    yyjson_doc_free(doc);
    return NULL;
}

/* Was this very Secret good a moment ago? Reading keys is not cheap. */
static bool still_fine(const struct serve_certs *c) {
    return c->fine.len > 0 && same(sl_buf_str(&c->fine), sl_buf_str(&c->version)) &&
           c->settled == c->fine_settled && c->client->wall >= c->fine_at &&
           c->client->wall - c->fine_at < CHANGED_OVER / 4;
}

/* 'found' is what the Secret holds now, or nothing. */
static void decide(struct serve_certs *c, bool exists) {
    struct sl_err err;
    const char *why = NULL;
    bool known = exists && still_fine(c);
    int r = known ? 0 : improve(c, &why, &err);

    if (r < 0) {
        sl_log(SL_LOG_ERROR, "certificate generation failed", SL_S("error", err.text));
        retry(c, 0);
    } else if (why) {
        sl_log(SL_LOG_INFO, "renewing certificates", SL_S("reason", why), SL_S("name", c->name),
               SL_S("secret", c->secret));
        plan(c, exists ? CHANGE : CREATE, 0);
    } else {
        if (!known) {
            sl_buf_clear(&c->fine);
            sl_buf_puts(&c->fine, sl_buf_str(&c->version));
            c->fine_at = c->client->wall;
            c->fine_settled = c->settled;
        }
        c->caller = 0;
        c->clean = true;
        plan(c, READ, 0);
    }
}

static void on_look(void *ctx, const struct sl_kube_reply *r) {
    struct serve_certs *c = ctx;
    yyjson_doc *doc = r->status == 200 ? parsed(c, r) : NULL;

    c->call = (sl_kube_call){0};
    if (r->status != 404 && !doc) {
        complain(c, "reading the certificate Secret failed", c->secret, r);
        retry(c, r->retry_after);
        return;
    }
    yyjson_val *data = yyjson_obj_get(yyjson_doc_get_root(doc), "data");
    keys_done(&c->found);
    c->found = (struct keys){.cas = decoded(yyjson_obj_get(data, "ca.crt")),
                             .ca_key = decoded(yyjson_obj_get(data, "ca.key")),
                             .tls = {.cert_pem = decoded(yyjson_obj_get(data, "tls.crt")),
                                     .key_pem = decoded(yyjson_obj_get(data, "tls.key"))}};
    yyjson_doc_free(doc);
    if (c->found.cas && !same(c->known, c->found.cas)) {
        sl_freep(&c->known);
        c->known = sl_strdup(c->found.cas);
        c->known_since = c->client->mono;
        c->settled = false;
    }
    decide(c, r->status == 200);
}

static void on_secret_written(void *ctx, const struct sl_kube_reply *r) {
    struct serve_certs *c = ctx;

    c->call = (sl_kube_call){0};
    wipe(&c->body);
    keys_done(&c->draft);
    if ((r->status >= 200 && r->status < 300) || (r->status == 409 && c->failures == 0)) {
        /* Written, by us or by another: what counts is what stands there. */
        c->failures += r->status == 409;
        plan(c, LOOK, 0);
        return;
    }
    complain(c, "writing the certificate Secret failed", c->secret, r);
    retry(c, r->retry_after);
}

static void put_data(struct sl_jw *w, const char *key, const char *pem) {
    sl_jw_base64(w, key, pem, strlen(pem));
}

static void put_secret(struct serve_certs *c, bool create) {
    struct sl_jw *w = &SL_JW(&c->body);

    sl_buf_clear(&c->body);
    sl_jw_object(w, NULL);
    if (create) {
        sl_jw_str(w, "apiVersion", "v1");
        sl_jw_str(w, "kind", "Secret");
        sl_jw_str(w, "type", "Opaque");
        sl_jw_object(w, "metadata");
        sl_jw_object(w, "labels");
        sl_jw_str(w, "app.kubernetes.io/name", "kueue");
        sl_jw_end(w);
        sl_jw_str(w, "name", c->secret);
    } else {
        sl_jw_object(w, "metadata");
        sl_jw_str(w, "resourceVersion", sl_buf_str(&c->version));
    }
    sl_jw_end(w);
    sl_jw_object(w, "data");
    put_data(w, "ca.crt", c->draft.cas);
    put_data(w, "ca.key", c->draft.ca_key);
    put_data(w, "tls.crt", c->draft.tls.cert_pem);
    put_data(w, "tls.key", c->draft.tls.key_pem);
    sl_jw_end_to(w, 0);
}

/* ---- callers ---- */

/* All callers have ca.crt: the certificate may be served. */
static void serve_with(struct serve_certs *c) {
    c->failures = 0;
    c->settled = c->clean && c->looked >= sl_time_add(c->known_since, SETTLED);
    if (!same(c->serving.cert_pem, c->found.tls.cert_pem) ||
        !same(c->serving.key_pem, c->found.tls.key_pem)) {
        sl_cert_done(&c->serving);
        c->serving = (struct sl_cert){.cert_pem = sl_strdup(c->found.tls.cert_pem),
                                      .key_pem = sl_strdup(c->found.tls.key_pem)};
        c->generation++;
    }
    c->ready = true;
    plan(c, LOOK, sl_prng_range(&c->prng, REST * 3 / 4, REST));
}

static void next_caller(struct serve_certs *c) {
    if (++c->caller < SL_LEN(callers))
        plan(c, READ, 0);
    else
        serve_with(c);
}

/* Up to what is to be changed. */
static struct sl_jw begin_patch(struct serve_certs *c) {
    struct sl_jw w = SL_JW(&c->body);

    sl_buf_clear(&c->body);
    sl_jw_object(&w, NULL);
    sl_jw_object(&w, "metadata");
    sl_jw_str(&w, "resourceVersion", sl_buf_str(&c->version));
    sl_jw_end(&w);
    return w;
}

/* A merge patch replaces lists whole, so the whole list goes back with what was read of it. True if
 * an entry had another bundle. */
static bool patch_webhooks(struct serve_certs *c, yyjson_val *root, const char *bundle) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *list = yyjson_val_mut_copy(doc, yyjson_obj_get(root, "webhooks")), *hook;
    size_t i, n;
    bool differs = false;

    yyjson_mut_arr_foreach (list, i, n, hook) {
        yyjson_mut_val *config = yyjson_mut_obj_get(hook, "clientConfig");
        if (!yyjson_mut_is_obj(config) ||
            yyjson_mut_equals_str(yyjson_mut_obj_get(config, "caBundle"), bundle))
            continue;
        differs = true;
        (void)yyjson_mut_obj_put(config, yyjson_mut_str(doc, "caBundle"),
                                 yyjson_mut_str(doc, bundle));
    }
    if (differs) {
        struct sl_jw w = begin_patch(c);
        sl_jw_mut_val(&w, "webhooks", list);
        sl_jw_end_to(&w, 0);
    }
    yyjson_mut_doc_free(doc);
    return differs;
}

static bool patch_conversion(struct serve_certs *c, yyjson_val *root, const char *bundle) {
    yyjson_val *conversion = yyjson_obj_get(yyjson_obj_get(root, "spec"), "conversion");
    yyjson_val *config = yyjson_obj_get(yyjson_obj_get(conversion, "webhook"), "clientConfig");

    if (!yyjson_is_obj(config) || yyjson_equals_str(yyjson_obj_get(config, "caBundle"), bundle))
        return false;
    struct sl_jw w = begin_patch(c);
    sl_jw_object(&w, "spec");
    sl_jw_object(&w, "conversion");
    sl_jw_object(&w, "webhook");
    sl_jw_object(&w, "clientConfig");
    sl_jw_str(&w, "caBundle", bundle);
    sl_jw_end_to(&w, 0);
    return true;
}

/* An APIService that skips verification (Kueue's does) gets our CA and verifies. */
static bool patch_api_service(struct serve_certs *c, yyjson_val *root, const char *bundle) {
    yyjson_val *spec = yyjson_obj_get(root, "spec");
    yyjson_val *service = yyjson_obj_get(spec, "service");
    bool careless = yyjson_get_bool(yyjson_obj_get(spec, "insecureSkipTLSVerify"));

    if (!yyjson_equals_str(yyjson_obj_get(service, "name"), VISIBILITY_SERVICE) ||
        !yyjson_equals_str(yyjson_obj_get(service, "namespace"), c->ns) ||
        (!careless && yyjson_equals_str(yyjson_obj_get(spec, "caBundle"), bundle)))
        return false;
    struct sl_jw w = begin_patch(c);
    sl_jw_object(&w, "spec");
    sl_jw_bool(&w, "insecureSkipTLSVerify", false);
    sl_jw_str(&w, "caBundle", bundle);
    sl_jw_end_to(&w, 0);
    return true;
}

/* Without permission for it an operator has to do it: the round goes on, and the error is logged
 * once. */
static void pass_over(struct serve_certs *c, const struct sl_kube_reply *r) {
    uint32_t bit = UINT32_C(1) << c->caller;

    if (!(c->refused & bit))
        sl_log(SL_LOG_ERROR, "CA bundle injection failed", SL_S("object", callers[c->caller]),
               SL_I("status", r->status));
    c->refused |= bit;
    next_caller(c);
}

static void on_read(void *ctx, const struct sl_kube_reply *r) {
    struct serve_certs *c = ctx;
    yyjson_doc *doc = r->status == 200 ? parsed(c, r) : NULL;

    c->call = (sl_kube_call){0};
    if (r->status == 404) {
        next_caller(c);
        return;
    }
    if (!doc) {
        if (r->status == 200 || passing(r->status))
            retry(c, r->retry_after);
        else
            pass_over(c, r);
        return;
    }
    _cleanup_(sl_buf_done) struct sl_buf bundle = SL_BUF(3 * SL_CERT_PEM);
    sl_base64_encode(&bundle, c->found.cas, strlen(c->found.cas));
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool service = strncmp(callers[c->caller], API_SERVICES, strlen(API_SERVICES)) == 0;
    bool differs =
        (service                            ? patch_api_service
         : yyjson_obj_get(root, "webhooks") ? patch_webhooks
                                            : patch_conversion)(c, root, sl_buf_str(&bundle));
    c->refused &= ~(UINT32_C(1) << c->caller);
    c->clean = c->clean && !differs;
    if (differs)
        plan(c, c->client->mono < c->looked + STALE ? PATCH : LOOK, 0);
    else
        next_caller(c);
    yyjson_doc_free(doc);
}

static void on_patched(void *ctx, const struct sl_kube_reply *r) {
    struct serve_certs *c = ctx;

    c->call = (sl_kube_call){0};
    if (r->status >= 200 && r->status < 300) {
        next_caller(c);
    } else if (r->status == 404 || (r->status == 409 && c->failures == 0)) {
        c->failures += r->status == 409;
        plan(c, READ, 0); /* the same one, as it is now */
    } else if (passing(r->status)) {
        retry(c, r->retry_after);
    } else {
        pass_over(c, r);
    }
}

/* ---- for the owner ---- */

static void start_request(struct serve_certs *c) {
    static const sl_kube_reply_fn done[] = {[LOOK] = on_look,
                                            [CREATE] = on_secret_written,
                                            [CHANGE] = on_secret_written,
                                            [READ] = on_read,
                                            [PATCH] = on_patched};
    static const enum sl_kube_method methods[] = {[LOOK] = SL_GET,
                                                  [CREATE] = SL_POST,
                                                  [CHANGE] = SL_PATCH,
                                                  [READ] = SL_GET,
                                                  [PATCH] = SL_PATCH};
    struct sl_kube_request rq = {.method = methods[c->step]};
    bool of_secret = c->step == LOOK || c->step == CREATE || c->step == CHANGE;

    sl_buf_clear(&c->path);
    if (of_secret)
        sl_buf_printf(&c->path, "/api/v1/namespaces/%s/secrets", c->ns);
    else
        sl_buf_puts(&c->path, callers[c->caller]);
    if (c->step == LOOK || c->step == CHANGE)
        sl_buf_printf(&c->path, "/%s", c->secret);
    if (rq.method != SL_GET) {
        sl_buf_puts(&c->path, FIELD_MANAGER);
        if (of_secret)
            put_secret(c, c->step == CREATE);
        rq.content_type = rq.method == SL_POST ? SL_JSON : SL_MERGE_PATCH;
        rq.body = sl_buf_str(&c->body);
        rq.len = c->body.len;
    }
    sl_assert(!sl_buf_full(&c->path) && !sl_buf_full(&c->body));
    rq.path = sl_buf_str(&c->path);
    if (c->step == LOOK)
        c->looked = c->client->mono;
    c->due = c->client->mono + PATIENCE;
    c->call = sl_kube_request(c->client, &rq, done[c->step], c);
}

struct serve_certs *serve_certs_new(struct sl_kube_client *client, const struct sl_settings *s,
                                    uint64_t seed) {
    struct serve_certs *c = sl_alloc0(1, sizeof *c);
    const char *service = s->certs.service;

    c->client = client;
    c->ns = sl_strdup(s->ns);
    c->secret = sl_strdup(s->certs.secret);
    sl_fmt(c->name, sizeof c->name, "%s.%s.svc", service, s->ns);
    sl_fmt(c->others[0], sizeof c->others[0], "%s.%s.svc.cluster.local", service, s->ns);
    sl_fmt(c->others[1], sizeof c->others[1], "%s.%s", service, s->ns);
    sl_fmt(c->others[2], sizeof c->others[2], "%s", service);
    /* The same certificate stands before the metrics. */
    sl_fmt(c->others[3], sizeof c->others[3], "kueue-controller-manager-metrics-service.%s.svc",
           s->ns);
    sl_fmt(c->visibility, sizeof c->visibility, VISIBILITY_SERVICE ".%s.svc", s->ns);
    sl_prng_init(&c->prng, seed);
    sl_buf_init(&c->path, MAX_PATH_BYTES);
    sl_buf_init(&c->body, MAX_BODY_BYTES);
    sl_buf_init(&c->version, MAX_VERSION_BYTES);
    sl_buf_init(&c->fine, MAX_VERSION_BYTES);
    plan(c, LOOK, 0);
    return c;
}

void serve_certs_free(struct serve_certs *c) {
    if (!c)
        return;
    sl_kube_cancel(c->client, c->call);
    wipe(&c->body);
    sl_buf_done(&c->body);
    sl_buf_done(&c->path);
    sl_buf_done(&c->version);
    sl_buf_done(&c->fine);
    keys_done(&c->found);
    keys_done(&c->draft);
    sl_cert_done(&c->serving);
    sl_freep(&c->known);
    sl_freep(&c->ns);
    sl_freep(&c->secret);
    sl_freep(&c);
}

void serve_certs_tick(struct serve_certs *c) {
    if (c->client->mono < c->due)
        return;
    if (c->call.v) {
        sl_kube_cancel(c->client, c->call);
        c->call = (sl_kube_call){0};
        wipe(&c->body);
        retry(c, 0);
        return;
    }
    start_request(c);
}

sl_time serve_certs_next(const struct serve_certs *c) {
    return c->due;
}

bool serve_certs_ready(const struct serve_certs *c) {
    return c->ready;
}

const struct sl_cert *serve_certs_serving(const struct serve_certs *c) {
    return c->generation ? &c->serving : NULL;
}

uint64_t serve_certs_generation(const struct serve_certs *c) {
    return c->generation;
}
