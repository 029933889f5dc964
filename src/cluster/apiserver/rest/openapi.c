/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /openapi/v2 and /openapi/v3. The documents are built on the first request, and cached until a
 * kind is added or removed: at most one per group and version.
 */
#include "cluster/schema/openapi/openapi.h"
#include "cluster/apiserver/ceilings.h"

#include <string.h>

#include "cluster/apiserver/server.h"
#include "core/base/fmt.h"

#define PROTOBUF_V2 "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#define PROTOBUF_V2_SAID                                                                           \
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" /* '@' is no letter of a type */
#define PROTOBUF_V3 "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"

struct document {
    char *name; /* "v2", "v2.pb", "v3", "v3/apis/batch/v1" */
    struct sl_buf text;
};

struct api_documents {
    uint64_t gen; /* of the kinds they were made from */
    SL_VEC(struct document) v;
};

void api_documents_free(struct api_documents *d) {
    for (uint32_t i = 0; d && i < d->v.n; i++) {
        sl_freep(&d->v.v[i].name);
        sl_buf_done(&d->v.v[i].text);
    }
    if (d)
        sl_vec_free(&d->v);
    sl_freep(&d);
}

static struct api_documents *documents(struct sl_apiserver *s) {
    if (s->documents && s->documents->gen != s->kinds_gen) {
        api_documents_free(s->documents);
        s->documents = NULL;
    }
    if (!s->documents) {
        s->documents = sl_alloc0(1, sizeof *s->documents);
        s->documents->gen = s->kinds_gen;
    }
    return s->documents;
}

/* All that is served, freed with sl_freep. */
static struct sl_openapi_kind *served(struct sl_apiserver *s, size_t *ret_n) {
    struct sl_openapi_kind *v = sl_alloc0(s->n_kinds * SL_KIND_VERSIONS + 1, sizeof *v);
    struct api_kind *k;

    *ret_n = 0;
    for (uint32_t i = 0; (k = api_kind_each(s, &i));)
        for (uint32_t j = 0; j < k->n_versions; j++) {
            const struct api_kind_version *kv = &k->versions[j];
            if (kv->served && kv->schema)
                v[(*ret_n)++] = (struct sl_openapi_kind){.group = k->group,
                                                         .version = kv->name,
                                                         .kind = k->kind,
                                                         .plural = k->plural,
                                                         .namespaced = k->namespaced,
                                                         .has_status = kv->has_status,
                                                         .has_scale = kv->has_scale,
                                                         .verbs = k->verbs,
                                                         .schema = kv->schema};
        }
    return v;
}

/* False: there is no such document. */
static bool make_document(struct sl_apiserver *s, const char *name, struct sl_buf *out) {
    _cleanup_(sl_freep) struct sl_openapi_kind *kinds = NULL;
    const char *rest = name + 3; /* behind "v3/" */
    struct sl_openapi_api api = {
        .release = s->version,
        .list_meta = sl_schemas_find(s->schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta")};
    struct sl_err err;

    kinds = served(s, &api.n);
    api.kinds = kinds;
    if (strcmp(name, "v2.pb") == 0) {
        struct sl_buf json;
        sl_buf_init(&json, SL_OPENAPI_MAX_BYTES);
        sl_openapi_v2(&api, &json);
        bool ok = !sl_buf_full(&json) && sl_openapi_v2_protobuf(json.s, json.len, out, &err) >= 0;
        sl_buf_done(&json);
        return ok;
    }
    if (strcmp(name, "v2") == 0) {
        sl_openapi_v2(&api, out);
        return true;
    }
    if (strcmp(name, "v3") == 0) {
        sl_openapi_v3_index(&api, out);
        return true;
    }
    if (strncmp(rest, "api/", 4) == 0)
        return sl_openapi_v3(&api, "", rest + 4, out);
    const char *slash = strncmp(rest, "apis/", 5) == 0 ? strchr(rest + 5, '/') : NULL;
    char group[256];
    if (!slash || (size_t)(slash - rest - 5) >= sizeof group) /* no group has such a name */
        return false;
    sl_fmt(group, sizeof group, "%.*s", (int)(slash - rest - 5), rest + 5);
    return sl_openapi_v3(&api, group, slash + 1, out);
}

static const struct sl_buf *find_document(struct sl_apiserver *s, const char *name) {
    struct api_documents *d = documents(s);
    struct document made = {.name = NULL};

    for (uint32_t i = 0; i < d->v.n; i++)
        if (strcmp(d->v.v[i].name, name) == 0)
            return &d->v.v[i].text;
    sl_buf_init(&made.text, SL_OPENAPI_MAX_BYTES);
    if (!make_document(s, name, &made.text) || sl_buf_full(&made.text) || d->v.n == API_DOCUMENTS) {
        sl_buf_done(&made.text);
        return NULL;
    }
    made.name = sl_strdup(name);
    *sl_vec_push(&d->v) = made;
    return &sl_vec_last(&d->v).text;
}

bool api_openapi(struct api_rq *rq, const char *const *parts, uint32_t n, const char *accept) {
    const char *name = parts[1];
    bool v2 = n == 2 && strcmp(name, "v2") == 0;
    const char *proto = strstr(accept, v2 ? PROTOBUF_V2 : PROTOBUF_V3),
               *json = strstr(accept, SL_JSON);
    /* Old clients take no JSON of version 2 at all; of version 3 they all do. */
    bool binary = v2 && proto && (!json || proto < json);

    if (!v2 && strcmp(name, "v3") != 0)
        return false;
    if (!v2 && proto && !json && !strstr(accept, "*/*")) {
        api_rq_status(
            rq, &(struct api_status){
                    .code = 406,
                    .reason = "NotAcceptable",
                    .message = "only the following media types are accepted: application/json",
                    .no_details = true});
        return true;
    }
    for (uint32_t i = 2; i < n; i++)
        name = sl_arena_printf(&rq->arena, "%s/%s", name, parts[i]);
    const struct sl_buf *text = find_document(rq->s, binary ? "v2.pb" : name);
    if (!text)
        return false;
    rq->type = binary ? PROTOBUF_V2_SAID : SL_JSON;
    sl_buf_add(&rq->out, text->s, text->len);
    api_rq_answer(rq, 200);
    return true;
}
