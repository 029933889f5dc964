/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start of a server: its built-in kinds, checks of stored objects, and the objects that every
 * cluster has.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/crd/crd.h"
#include "cluster/apiserver/firsts.h"
#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"
#include "lib/json/writer.h"

static const struct {
    const char *path, *name;
    int64_t value;           /* of a PriorityClass */
    const char *description; /* the same; NULL: it has neither */
} firsts[] = {
    {"/api/v1/namespaces", "default", 0, NULL},
    {"/api/v1/namespaces", "kube-node-lease", 0, NULL},
    {"/api/v1/namespaces", "kube-public", 0, NULL},
    {"/api/v1/namespaces", "kube-system", 0, NULL},
    {"/apis/scheduling.k8s.io/v1/priorityclasses", "system-cluster-critical", 2000000000,
     "Used for system critical pods that must run in the cluster, but can be moved to another node "
     "if necessary."},
    {"/apis/scheduling.k8s.io/v1/priorityclasses", "system-node-critical", 2000001000,
     "Used for system critical pods that must not be moved from their current node."},
};

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    (void)ctx;
    (void)a;
}

/* The write is done when the call returns; its answer, which leaves later, is of no interest unless
 * it is a refusal. */
static int bootstrap_request(struct sl_apiserver *s, const char *method, const char *path,
                             const char *type, const char *body, size_t len, struct sl_err *err) {
    struct sl_api_sink sink = {.answer = on_answer};
    sl_api_call id = sl_apiserver_call(s,
                                       &(struct sl_api_request){.method = method,
                                                                .path = path,
                                                                .content_type = type,
                                                                .user_agent = "sluice",
                                                                .user = "system:apiserver",
                                                                .body = body,
                                                                .len = len},
                                       &sink);
    const struct api_rq *rq = api_rq_find(s, id);

    if (rq && rq->status >= 400 && rq->status != 409)
        return sl_err_set(err, SL_EINVAL, "%s %s: %.150s", method, path, sl_buf_str(&rq->out));
    return 0;
}

static int make_firsts(struct sl_apiserver *s, struct sl_err *err) {
    for (size_t i = 0; i < SL_LEN(firsts); i++) {
        _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(API_FIRST);
        struct sl_jw w = SL_JW(&body);
        sl_jw_object(&w, NULL);
        sl_jw_object(&w, "metadata");
        sl_jw_str(&w, "name", firsts[i].name);
        sl_jw_end(&w);
        if (firsts[i].description) {
            sl_jw_int(&w, "value", firsts[i].value);
            sl_jw_str(&w, "description", firsts[i].description);
        }
        sl_jw_end(&w);
        sl_assert(!sl_buf_full(&body));
        int r = bootstrap_request(s, "POST", firsts[i].path, SL_JSON, body.s, body.len, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A definition that is built in: made, or given its present spec. */
static int make_definition(struct sl_apiserver *s, const char *text, size_t len,
                           struct sl_err *err) {
    static const char base[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(text, len, 0), *have = NULL;
    yyjson_val *v = doc ? yyjson_doc_get_root(doc) : NULL;
    const char *name = sl_json_str(v, "metadata.name");
    char path[400];

    have = api_kind_read(s, api_kind_find(s, "apiextensions.k8s.io", "customresourcedefinitions"),
                         "", name);
    if (!have)
        return bootstrap_request(s, "POST", base, SL_JSON, text, len, err);
    if (sl_json_same(sl_json_get(yyjson_doc_get_root(have), "spec"), sl_json_get(v, "spec")))
        return 0;
    sl_fmt(path, sizeof path, "%s/%s", base, name);
    return bootstrap_request(s, "PATCH", path, SL_MERGE_PATCH, text, len, err);
}

static int make_definitions(struct sl_apiserver *s, struct sl_err *err) {
    const char *text;
    size_t len;

    for (uint32_t i = 0; (text = api_crd_builtin(i, &len)); i++) {
        int r = make_definition(s, text, len, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Kinds are notified of objects stored before: CRDs register theirs. */
static void report_stored(struct sl_apiserver *s) {
    SL_VEC(struct api_kind *) reported = {0};
    struct api_kind *k;

    for (uint32_t i = 0; (k = api_kind_each(s, &i));)
        if (k->strategy && k->strategy->after && !k->shares && !k->review)
            *sl_vec_push(&reported) = k;
    for (uint32_t i = 0; i < reported.n; i++) {
        k = reported.v[i];
        for (struct sl_store_object *o = sl_store_seek(s->store, k->number, "", ""); o;
             o = sl_store_next(s->store, o)) {
            _cleanup_(sl_json_docp) yyjson_doc *doc = yyjson_read(o->text, o->len, 0);
            if (doc)
                k->strategy->after(s, k, NULL, yyjson_doc_get_root(doc));
        }
    }
    sl_vec_free(&reported);
}

/* ---- the Service of this server ---- */

#define DEFAULT_NS "/namespaces/default/"

struct own {
    const char *collection, *api_version, *kind;
    /* The rest of the object. */
    void (*put)(struct sl_jw *w, const char *ip, int64_t port);
};

static void put_port(struct sl_jw *w, int64_t port) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "name", "https");
    sl_jw_int(w, "port", port);
    sl_jw_str(w, "protocol", "TCP");
    sl_jw_end(w);
}

static void put_list(struct sl_jw *w, const char *key, const char *only) {
    sl_jw_array(w, key);
    sl_jw_str(w, NULL, only);
    sl_jw_end(w);
}

static void put_service(struct sl_jw *w, const char *ip, int64_t port) {
    (void)ip;
    sl_jw_object(w, "spec");
    sl_jw_str(w, "type", "ClusterIP");
    sl_jw_str(w, "clusterIP", "10.96.0.1");
    put_list(w, "clusterIPs", "10.96.0.1");
    put_list(w, "ipFamilies", "IPv4");
    sl_jw_str(w, "ipFamilyPolicy", "SingleStack");
    sl_jw_str(w, "sessionAffinity", "None");
    sl_jw_array(w, "ports");
    sl_jw_object(w, NULL);
    sl_jw_str(w, "name", "https");
    sl_jw_str(w, "protocol", "TCP");
    sl_jw_int(w, "port", 443);
    sl_jw_int(w, "targetPort", port);
    sl_jw_end(w);
    sl_jw_end(w);
    sl_jw_end(w);
}

static void put_endpoints(struct sl_jw *w, const char *ip, int64_t port) {
    sl_jw_array(w, "subsets");
    sl_jw_object(w, NULL);
    sl_jw_array(w, "addresses");
    sl_jw_object(w, NULL);
    sl_jw_str(w, "ip", ip);
    sl_jw_end(w);
    sl_jw_end(w);
    sl_jw_array(w, "ports");
    put_port(w, port);
    sl_jw_end(w);
    sl_jw_end(w);
    sl_jw_end(w);
}

static void put_slice(struct sl_jw *w, const char *ip, int64_t port) {
    sl_jw_str(w, "addressType", strchr(ip, ':') ? "IPv6" : "IPv4");
    sl_jw_array(w, "endpoints");
    sl_jw_object(w, NULL);
    put_list(w, "addresses", ip);
    sl_jw_object(w, "conditions");
    sl_jw_bool(w, "ready", true);
    sl_jw_end(w);
    sl_jw_end(w);
    sl_jw_end(w);
    sl_jw_array(w, "ports");
    put_port(w, port);
    sl_jw_end(w);
}

static void put_own_labels(struct sl_jw *w, const char *kind) {
    sl_jw_object(w, "labels");
    if (strcmp(kind, "Service") == 0) {
        sl_jw_str(w, "component", "apiserver");
        sl_jw_str(w, "provider", "kubernetes");
    } else if (strcmp(kind, "Endpoints") == 0) {
        sl_jw_str(w, "endpointslice.kubernetes.io/skip-mirror", "true");
    } else {
        sl_jw_str(w, "kubernetes.io/service-name", "kubernetes");
    }
    sl_jw_end(w);
}

/* Made, or given the present address, as the objects of an earlier run have another one. */
static int make_own(struct sl_apiserver *s, const struct own *o, const char *ip, int64_t port,
                    struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf body = SL_BUF(API_FIRST);
    struct sl_jw w = SL_JW(&body);
    char path[160];

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "apiVersion", o->api_version);
    sl_jw_str(&w, "kind", o->kind);
    sl_jw_object(&w, "metadata");
    sl_jw_str(&w, "name", "kubernetes");
    sl_jw_str(&w, "namespace", "default");
    put_own_labels(&w, o->kind);
    sl_jw_end(&w);
    o->put(&w, ip, port);
    sl_jw_end(&w);
    sl_assert(!sl_buf_full(&body));
    int r = bootstrap_request(s, "POST", o->collection, SL_JSON, body.s, body.len, err);
    sl_fmt(path, sizeof path, "%s/kubernetes", o->collection);
    return r < 0 ? r : bootstrap_request(s, "PATCH", path, SL_MERGE_PATCH, body.s, body.len, err);
}

/* Service, Endpoints and EndpointSlice "kubernetes": where clients in pods find the API. */
static int make_own_service(struct sl_apiserver *s, struct sl_err *err) {
    static const struct own owns[] = {
        {"/api/v1" DEFAULT_NS "services", "v1", "Service", put_service},
        {"/api/v1" DEFAULT_NS "endpoints", "v1", "Endpoints", put_endpoints},
        {"/apis/discovery.k8s.io/v1" DEFAULT_NS "endpointslices", "discovery.k8s.io/v1",
         "EndpointSlice", put_slice},
    };
    const char *port = strrchr(s->address, ':');
    char ip[64];

    if (!port)
        return SL_OK;
    bool six = *s->address == '[';
    size_t len = (size_t)(port - s->address) - 2 * six;
    sl_fmt(ip, sizeof ip, "%.*s", len < sizeof ip ? (int)len : 0, s->address + six);
    for (size_t i = 0; i < SL_LEN(owns); i++) {
        int r = make_own(s, &owns[i], ip, strtoll(port + 1, NULL, 10), err);
        if (r < 0)
            return r;
    }
    return SL_OK;
}

int api_bootstrap(struct sl_apiserver *s, const char *ca, struct sl_err *err) {
    int r = sl_schemas_builtin(&s->schemas, err);

    if (r < 0)
        return r;
    s->starting = true;
    r = api_kinds_builtin(s, s->schemas, err);
    if (r >= 0) {
        report_stored(s);
        r = make_firsts(s, err);
    }
    if (r >= 0)
        r = api_firsts_make(s, ca, bootstrap_request, err);
    if (r >= 0)
        r = make_definitions(s, err);
    if (r >= 0)
        r = make_own_service(s, err);
    s->starting = false;
    return r;
}
