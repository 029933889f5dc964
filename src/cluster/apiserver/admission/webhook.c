/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered webhooks: MutatingWebhookConfigurations and ValidatingWebhookConfigurations. They are
 * reloaded when one of them changes; a write in progress continues with those it began with.
 *
 * Each address has a client of its own (kube/client/client.h), from the configuration: URL, name
 * for TLS, CA. A service is resolved through its EndpointSlices, or Endpoints, when it is called.
 */
#include <string.h>

#include "cluster/apiserver/admission/admission.h"
#include "kube/client/client.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/secret.h"
#include "lib/doc/doc.h"
#include "lib/json/writer.h"

#define CLIENTS 64u
#define USER_AGENT "kube-apiserver-admission"

struct hook {
    const char *name;
    yyjson_val *v;
    bool mutates, ignores, reinvokes, effects;
    uint32_t timeout_s;
};

struct api_hook_set {
    uint32_t refs;
    SL_VEC(yyjson_doc *) docs;
    SL_VEC(struct hook) hooks;
};

/* Where a webhook is. */
struct target {
    const char *server, *path, *tls_name, *ca;
};

/* The endpoint. */
struct place {
    char *server, *tls_name, *ca;
    struct sl_curl_client *client;
    sl_time used;
    uint32_t waiting; /* calls that are under way */
};

struct api_hooks {
    struct sl_apiserver *s;
    struct api_hook_set *sets[2]; /* by phase; NULL: none */
    bool dirty;
    struct place places[CLIENTS];
};

struct api_hook_call {
    struct sl_apiserver *s;
    sl_api_call rq;
    uint32_t hook;
    const struct api_kind_version *version;
    struct place *place;
    sl_kube_call call;
    uv_timer_t timer;
    const char *url; /* in the request's arena */
};

/* ---- the sets ---- */

void api_hook_set_unref(struct api_hook_set *set) {
    if (!set || --set->refs)
        return;
    for (uint32_t i = 0; i < set->docs.n; i++)
        yyjson_doc_free(set->docs.v[i]);
    sl_vec_free(&set->docs);
    sl_vec_free(&set->hooks);
    sl_freep(&set);
}

uint32_t api_hook_set_size(const struct api_hook_set *set) {
    return set->hooks.n;
}

bool api_hook_reinvokes(const struct api_hook_set *set, uint32_t i) {
    return set->hooks.v[i].reinvokes;
}

static void add_hooks(struct api_hook_set *set, yyjson_doc *doc, bool mutates) {
    yyjson_val *hook;
    size_t i, n;

    *sl_vec_push(&set->docs) = doc;
    yyjson_arr_foreach (sl_json_get(yyjson_doc_get_root(doc), "webhooks"), i, n, hook) {
        const char *effects = sl_json_str(hook, "sideEffects");
        *sl_vec_push(&set->hooks) = (struct hook){
            .name = sl_json_str(hook, "name"),
            .v = hook,
            .mutates = mutates,
            .ignores = strcmp(sl_json_str(hook, "failurePolicy"), "Ignore") == 0,
            .reinvokes = strcmp(sl_json_str(hook, "reinvocationPolicy"), "IfNeeded") == 0,
            .effects = strcmp(effects, "None") != 0 && strcmp(effects, "NoneOnDryRun") != 0,
            .timeout_s = (uint32_t)sl_json_int(hook, "timeoutSeconds", 10),
        };
    }
}

static struct api_hook_set *read_set(struct sl_apiserver *s, enum api_admit_phase phase) {
    const struct api_kind *k =
        api_kind_find(s, "admissionregistration.k8s.io",
                      phase == SL_ADMIT_MUTATE ? "mutatingwebhookconfigurations"
                                               : "validatingwebhookconfigurations");
    struct api_hook_set *set = NULL;

    for (struct sl_store_object *o = k ? sl_store_seek(s->store, k->number, "", "") : NULL; o;
         o = sl_store_next(s->store, o)) {
        yyjson_doc *doc = yyjson_read(o->text, o->len, 0);
        if (!set) {
            set = sl_alloc0(1, sizeof *set);
            set->refs = 1;
        }
        if (doc)
            add_hooks(set, doc, phase == SL_ADMIT_MUTATE);
    }
    return set;
}

struct api_hook_set *api_hooks_set(struct sl_apiserver *s, enum api_admit_phase phase) {
    struct api_hooks *h = s->hooks;

    if (h->dirty) {
        h->dirty = false;
        for (int i = 0; i < 2; i++) {
            api_hook_set_unref(h->sets[i]);
            h->sets[i] = read_set(s, (enum api_admit_phase)i);
        }
    }
    if (h->sets[phase])
        h->sets[phase]->refs++;
    return h->sets[phase];
}

void api_hooks_changed(struct sl_apiserver *s, const struct api_kind *k) {
    if (strcmp(k->group, "admissionregistration.k8s.io") == 0)
        s->hooks->dirty = true;
}

/* ---- calling ---- */

static enum api_hook_result failed(struct api_write *w, const struct hook *h, const char *why) {
    if (h->ignores)
        return SL_HOOK_PASSED;
    api_rq_fail(
        w->rq, 500, "InternalError",
        "Internal error occurred: failed calling webhook \"%s\": failed to call webhook: %s",
        h->name, why);
    return SL_HOOK_REFUSED;
}

static void place_drop(struct place *p) {
    if (p->client)
        sl_curl_client_free(p->client);
    sl_freep(&p->server);
    sl_freep(&p->tls_name);
    sl_freep(&p->ca);
    *p = (struct place){0};
}

static int place_connect(struct sl_apiserver *s, struct place *p, struct sl_err *err) {
    _cleanup_(sl_doc_freep) struct sl_doc *d = NULL;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(API_WEBHOOK_TEXT);
    struct sl_kubeconfig *k = NULL;
    int r;

    struct sl_jw j = SL_JW(&b);
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "apiVersion", "v1");
    sl_jw_str(&j, "kind", "Config");
    sl_jw_str(&j, "current-context", "x");
    sl_jw_raw(&j, "contexts",
              SL_JSON_CONST([ {"name" : "x", "context" : {"cluster" : "x", "user" : "x"}} ]));
    sl_jw_raw(&j, "users", SL_JSON_CONST([ {"name" : "x", "user" : {}} ]));
    sl_jw_array(&j, "clusters");
    sl_jw_object(&j, NULL);
    sl_jw_str(&j, "name", "x");
    sl_jw_object(&j, "cluster");
    sl_jw_str(&j, "server", p->server);
    if (*p->ca)
        sl_jw_str(&j, "certificate-authority-data", p->ca);
    if (*p->tls_name)
        sl_jw_str(&j, "tls-server-name", p->tls_name);
    sl_jw_end_to(&j, 0);
    r = sl_doc_json("webhook", 1, sl_buf_str(&b), b.len, &d, err);
    if (r >= 0)
        r = sl_kubeconfig_resolve(&d, 1, NULL, &k, err);
    return r < 0 ? r : sl_curl_client_new(s->loop, k, USER_AGENT, &p->client, err);
}

/* The least recently used one without pending calls is evicted. */
static int place_of(struct sl_apiserver *s, const struct target *t, struct place **ret,
                    struct sl_err *err) {
    struct place *p = NULL, *at;
    int r;

    for (at = s->hooks->places; at < s->hooks->places + CLIENTS; at++) {
        if (at->client && strcmp(at->server, t->server) == 0 &&
            strcmp(at->tls_name, t->tls_name) == 0 && strcmp(at->ca, t->ca) == 0) {
            at->used = s->mono;
            *ret = at;
            return SL_OK;
        }
        if (!at->waiting && (!p || (p->client && (!at->client || at->used < p->used))))
            p = at;
    }
    if (!p)
        return sl_err_set(err, SL_ELIMIT, "more than %u webhook addresses in use", CLIENTS);
    place_drop(p);
    *p = (struct place){.server = sl_strdup(t->server),
                        .tls_name = sl_strdup(t->tls_name),
                        .ca = sl_strdup(t->ca),
                        .used = s->mono};
    r = place_connect(s, p, err);
    if (r < 0)
        place_drop(p);
    else
        *ret = p;
    return r;
}

/* ---- where ---- */

static yyjson_val *port_named(yyjson_val *ports, const char *name) {
    yyjson_val *p;
    size_t i, n;

    yyjson_arr_foreach (ports, i, n, p) {
        if (strcmp(sl_json_str(p, "name"), name) == 0)
            return p;
    }
    return NULL;
}

/* "10.0.0.1:8443" of a ready endpoint in a slice or a subset; NULL. */
static const char *endpoint_in(struct api_rq *rq, yyjson_val *addresses, bool slice,
                               yyjson_val *port) {
    yyjson_val *a;
    size_t i, n;

    yyjson_arr_foreach (addresses, i, n, a) {
        const char *ip = slice ? sl_json_text(yyjson_arr_get_first(sl_json_get(a, "addresses")))
                               : sl_json_str(a, "ip");
        if (!*ip || !port || !sl_json_bool(a, "conditions.ready", true))
            continue;
        return sl_arena_printf(&rq->arena, strchr(ip, ':') ? "[%s]:%lld" : "%s:%lld", ip,
                               (long long)sl_json_int(port, "port", 443));
    }
    return NULL;
}

static const char *find_endpoint(struct api_rq *rq, const char *ns, const char *name,
                                 const char *port) {
    struct sl_apiserver *s = rq->s;
    const struct api_kind *slices = api_kind_find(s, "discovery.k8s.io", "endpointslices");
    const struct api_kind *whole = api_kind_find(s, "", "endpoints");
    const char *found = NULL;
    size_t i, n;
    yyjson_val *subset;

    for (struct sl_store_object *o = slices ? sl_store_seek(s->store, slices->number, ns, "")
                                            : NULL;
         o && !found && strcmp(o->ns, ns) == 0; o = sl_store_next(s->store, o)) {
        _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(o->text, o->len, 0);
        yyjson_val *v = doc ? yyjson_doc_get_root(doc) : NULL;
        const char *of = v ? sl_json_label_opt(v, "kubernetes.io/service-name") : NULL;
        if (of && strcmp(of, name) == 0)
            found = endpoint_in(rq, sl_json_get(v, "endpoints"), true,
                                port_named(sl_json_get(v, "ports"), port));
    }
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        found || !whole ? NULL : api_kind_read(s, whole, ns, name);
    yyjson_arr_foreach (doc ? sl_json_get(yyjson_doc_get_root(doc), "subsets") : NULL, i, n,
                        subset) {
        if (!found)
            found = endpoint_in(rq, sl_json_get(subset, "addresses"), false,
                                port_named(sl_json_get(subset, "ports"), port));
    }
    return found;
}

static int service_target(struct api_rq *rq, yyjson_val *ref, struct target *t,
                          struct sl_err *err) {
    const char *ns = sl_json_str(ref, "namespace"), *name = sl_json_str(ref, "name"),
               *path = sl_json_str(ref, "path");
    int64_t number = sl_json_int(ref, "port", 443);
    _cleanup_(sl_json_docp) yyjson_doc *doc =
        api_kind_read(rq->s, api_kind_find(rq->s, "", "services"), ns, name);
    yyjson_val *p;
    size_t i, n;

    if (!doc)
        return sl_err_set(err, SL_ENOENT, "service \"%.120s\" not found", name);
    yyjson_arr_foreach (sl_json_at(yyjson_doc_get_root(doc), "spec.ports"), i, n, p) {
        const char *at = sl_json_int(p, "port", 0) == number
                             ? find_endpoint(rq, ns, name, sl_json_str(p, "name"))
                             : NULL;
        if (!at)
            continue;
        t->server = sl_arena_printf(&rq->arena, "https://%s", at);
        t->tls_name = sl_arena_printf(&rq->arena, "%s.%s.svc", name, ns);
        t->path = sl_arena_printf(&rq->arena, "%s%s", *path == '/' ? "" : "/", path);
        return SL_OK;
    }
    return sl_err_set(err, SL_ENOENT, "no endpoints available for service \"%.120s\"", name);
}

static int find_target(struct api_rq *rq, const struct hook *h, struct target *t,
                       struct sl_err *err) {
    yyjson_val *config = sl_json_get(h->v, "clientConfig");
    const char *url = sl_json_str(config, "url");

    *t = (struct target){.tls_name = "", .ca = sl_json_str(config, "caBundle")};
    if (!*url)
        return service_target(rq, sl_json_get(config, "service"), t, err);
    const char *host = strstr(url, "://");
    const char *path = host ? strpbrk(host + 3, "/?") : NULL;
    if (!host)
        return sl_err_set(err, SL_EINVAL, "\"%.200s\" is no URL", url);
    t->server = path ? sl_arena_strndup(&rq->arena, url, (size_t)(path - url)) : url;
    t->path = path ? path : "/";
    return SL_OK;
}

/* ---- a question on its way ---- */

static void on_timer_closed(uv_handle_t *h) {
    struct api_hook_call *c = h->data;
    sl_freep(&c);
}

static void call_free(struct api_hook_call *c) {
    c->place->waiting--;
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

void api_hook_cancel(struct api_hook_call *c) {
    if (!c)
        return;
    sl_kube_cancel(sl_curl_client_interface(c->place->client), c->call);
    call_free(c);
}

/* What came of it; 'why' if nothing did. */
static void webhook_answered(struct api_hook_call *c, const struct sl_kube_reply *r,
                             const char *why) {
    struct api_rq *rq = api_rq_find(c->s, c->rq);
    struct api_write *w = rq->write;
    struct api_admission *a = w->admission;
    const struct hook *h = &a->set->hooks.v[c->hook];
    const char *url = c->url;
    const struct api_kind_version *version = c->version;
    struct sl_err err = {.text = ""};

    sl_assert(r || why);
    sl_api_turn(c->s);
    a->call = NULL;
    call_free(c);
    if (api_kind_find(rq->s, rq->group, rq->plural) !=
        rq->kind) { /* its definition went meanwhile */
        rq->kind = NULL;
        api_rq_not_found_text(rq);
        return;
    }
    if (!why && r->status == 0)
        why = sl_arena_printf(&rq->arena, "Post \"%s\": %s", url, r->text);
    else if (!why && r->status != 200)
        why = sl_arena_printf(&rq->arena, "Post \"%s\": the server answered with status %d", url,
                              r->status);
    if (!why) {
        int taken = api_review_take(w, version, h->name, a->uid, r->body, r->len, &err);
        if (taken == 0)
            return;
        if (taken < 0)
            why = sl_arena_strdup(&rq->arena, err.text);
    }
    if (why && failed(w, h, why) == SL_HOOK_REFUSED)
        return;
    a->seen[c->hook] = a->changes + 1;
    api_admit_continue(w);
}

static void on_reply(void *ctx, const struct sl_kube_reply *r) {
    struct api_hook_call *c = ctx;
    struct api_rq *rq = api_rq_find(c->s, c->rq);

    c->call.v = 0;
    webhook_answered(c, r, NULL);
    api_rq_rest(rq);
}

static void on_late(uv_timer_t *t) {
    struct api_hook_call *c = t->data;
    struct api_rq *rq = api_rq_find(c->s, c->rq);

    sl_kube_cancel(sl_curl_client_interface(c->place->client), c->call);
    webhook_answered(c, NULL,
                     sl_arena_printf(&rq->arena, "Post \"%s\": context deadline exceeded", c->url));
    api_rq_rest(rq);
}

static enum api_hook_result call_webhook(struct api_write *w, uint32_t i,
                                         const struct api_kind_version *v) {
    struct api_rq *rq = w->rq;
    const struct hook *h = &w->admission->set->hooks.v[i];
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(SL_REVIEW_MAX);
    struct place *place = NULL;
    struct target t;
    struct sl_err err;

    if (find_target(rq, h, &t, &err) < 0 || place_of(rq->s, &t, &place, &err) < 0)
        return failed(w, h, err.text);
    if (!api_review_print(w, v, w->admission->uid, &b) || sl_buf_full(&b))
        return failed(w, h, "the object cannot be sent");
    struct api_hook_call *c = sl_alloc0(1, sizeof *c);
    *c = (struct api_hook_call){.s = rq->s, .rq = rq->id, .hook = i, .version = v, .place = place};
    place->waiting++;
    const char *path = sl_arena_printf(&rq->arena, "%s%stimeout=%us", t.path,
                                       strchr(t.path, '?') ? "&" : "?", h->timeout_s);
    c->url = sl_arena_printf(&rq->arena, "%s%s", t.server, path);
    (void)uv_timer_init(rq->s->loop, &c->timer);
    c->timer.data = c;
    (void)uv_timer_start(&c->timer, on_late, h->timeout_s * UINT64_C(1000), 0);
    w->admission->call = c;
    sl_curl_client_clock(place->client);
    c->call = sl_kube_request(
        sl_curl_client_interface(place->client),
        &(struct sl_kube_request){
            .method = SL_POST, .path = path, .content_type = SL_JSON, .body = b.s, .len = b.len},
        on_reply, c);
    return SL_HOOK_WAIT;
}

enum api_hook_result api_hook_call(struct api_write *w, uint32_t i) {
    struct api_rq *rq = w->rq;
    const struct hook *h = &w->admission->set->hooks.v[i];
    const char *name = "";
    struct sl_err err;

    if (strcmp(rq->kind->group, "admissionregistration.k8s.io") == 0)
        return SL_HOOK_PASSED;
    const struct api_kind_version *v = api_hook_version(w, h->v);
    if (!v || !api_hook_selects(w, h->v))
        return SL_HOOK_PASSED;
    int holds = api_hook_conditions(w, h->v, v, &name, &err);
    if (holds < 0 && !h->ignores) {
        api_rq_forbidden(rq, w->name, "match condition \"%s\" of webhook \"%s\": %s", name, h->name,
                         err.text);
        return SL_HOOK_REFUSED;
    }
    if (holds <= 0)
        return SL_HOOK_PASSED;
    if (w->c.dry_run && h->effects) {
        api_rq_bad(rq, "admission webhook \"%s\" does not support dry run", h->name);
        return SL_HOOK_REFUSED;
    }
    return call_webhook(w, i, v);
}

/* ---- life ---- */

struct api_hooks *api_hooks_new(struct sl_apiserver *s) {
    struct api_hooks *h = sl_alloc0(1, sizeof *h);

    h->s = s;
    h->dirty = true;
    return h;
}

void api_hooks_free(struct api_hooks *h) {
    for (int i = 0; i < 2; i++)
        api_hook_set_unref(h->sets[i]);
    for (uint32_t i = 0; i < CLIENTS; i++)
        place_drop(&h->places[i]);
    sl_freep(&h);
}
