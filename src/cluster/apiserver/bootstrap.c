/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start of a server: its built-in kinds, checks of stored objects, and the objects that every
 * cluster has.
 */
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
    s->starting = false;
    return r;
}
