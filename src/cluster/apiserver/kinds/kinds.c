/* SPDX-License-Identifier: Apache-2.0 */
/* From the tables to the registry. */
#include "cluster/apiserver/kinds/kinds.h"

#include <string.h>

#include "cluster/apiserver/crd/crd_int.h"
#include "cluster/apiserver/server.h"
#include "cluster/apiserver/table/cells.h"
#include "core/base/mem.h"
#include "lib/json/json.h"

#define WORDS_MAX 8u

/* A kind with the texts that are its own. */
struct owned {
    struct api_kind kind;
    struct sl_arena arena;
};

/* "a,b" as a list. */
static const char *const *split_list(struct sl_arena *a, const char *words) {
    const char **list;
    size_t n = 0;

    if (!words)
        return NULL;
    list = sl_arena_alloc0(a, WORDS_MAX + 1, sizeof(*list));
    for (; *words && n < WORDS_MAX; n++) {
        size_t len = strcspn(words, ",");
        list[n] = sl_arena_strndup(a, words, len);
        words += len + (words[len] == ',');
    }
    return list;
}

static const char *lower(struct sl_arena *a, const char *s) {
    char *out = sl_arena_strdup(a, s);

    for (char *p = out; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return out;
}

/* "io.k8s.api.batch.v1.Job": the package follows from the first label of the group. */
static const struct sl_schema *find_schema(struct sl_arena *a, struct sl_schemas *set,
                                           const struct api_builtin *b, const char *version) {
    const char *group = b->group && *b->group ? b->group : "core";
    const char *base =
        strcmp(group, "apiextensions.k8s.io") == 0     ? "io.k8s.apiextensions-apiserver.pkg.apis"
        : strcmp(group, "apiregistration.k8s.io") == 0 ? "io.k8s.kube-aggregator.pkg.apis"
                                                       : "io.k8s.api";

    return sl_schemas_find(set, sl_arena_printf(a, "%s.%.*s.%s.%s", base, (int)strcspn(group, "."),
                                                group, version, b->kind));
}

static int add_builtin(struct sl_apiserver *s, struct sl_schemas *set, const struct api_builtin *b,
                       struct sl_err *err) {
    struct owned *o = sl_alloc0(1, sizeof(*o));
    struct api_kind *k = &o->kind;
    struct api_kind_version *v = &k->versions[0];
    struct api_columns columns = api_columns_of(b->kind);
    int r;

    sl_arena_init(&o->arena, (size_t)64 << 10);
    *k = (struct api_kind){
        .group = b->group ? b->group : "",
        .plural = b->plural,
        .singular = lower(&o->arena, b->kind),
        .kind = b->kind,
        .list_kind = sl_arena_printf(&o->arena, "%sList", b->kind),
        .short_names = split_list(&o->arena, b->shorts),
        .categories = split_list(&o->arena, b->categories),
        .namespaced = b->namespaced,
        .verbs = b->verbs ? b->verbs : SL_V_ALL,
        .n_versions = 1,
        .strategy = b->strategy,
        .selectable = b->selectable,
        .review = b->review,
    };
    if (b->shares)
        k->shares = api_kind_find(s, "", b->shares);
    *v = (struct api_kind_version){
        .name = b->version,
        .schema = find_schema(&o->arena, set, b, b->version),
        .served = true,
        .deprecated = b->deprecation != NULL,
        .deprecation = b->deprecation,
        .columns = columns.v,
        .n_columns = columns.n,
        .has_status = b->status,
        .has_scale = b->scale,
    };
    if (b->scale) {
        v->spec_replicas = ".spec.replicas";
        v->status_replicas = ".status.replicas";
        v->label_selector = ".spec.selector";
    }
    if (b->older) {
        k->convert = b->convert;
        k->versions[k->n_versions] = *v;
        k->versions[k->n_versions].name = b->older;
        k->versions[k->n_versions++].schema = find_schema(&o->arena, set, b, b->older);
    }
    r = v->schema && k->versions[k->n_versions - 1].schema
            ? api_kind_add(s, k, err)
            : sl_err_set(err, SL_ENOENT, "no schema for %s/%s %s", k->group, b->version, b->kind);
    if (r < 0) {
        sl_arena_done(&o->arena);
        sl_freep(&o);
    }
    return r;
}

int api_kinds_builtin(struct sl_apiserver *s, struct sl_schemas *set, struct sl_err *err) {
    const struct api_builtin *const tables[] = {
        api_builtin_core,        api_builtin_batch,      api_builtin_apps,
        api_builtin_misc,        api_builtin_networking, api_builtin_storage,
        api_builtin_autoscaling, api_builtin_resource,   api_builtin_certificates,
        api_builtin_flowcontrol, api_builtin_policies,   api_builtin_aggregation};

    for (size_t t = 0; t < SL_LEN(tables); t++) {
        for (const struct api_builtin *b = tables[t]; b->kind; b++) {
            int r = add_builtin(s, set, b, err);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

void api_kinds_done(struct sl_apiserver *s) {
    for (; s->n_kinds > 0; s->n_kinds--) {
        struct api_kind *k = s->kinds[s->n_kinds - 1];
        if (k->crd) {
            api_crd_free(k->crd);
        } else {
            struct owned *o = SL_CONTAINER_OF(k, struct owned, kind);
            sl_arena_done(&o->arena);
            sl_freep(&o);
        }
    }
    while (s->retired_crds) {
        struct api_crd *next = s->retired_crds->next_retired;
        api_crd_free(s->retired_crds);
        s->retired_crds = next;
    }
}

yyjson_doc *api_kind_pick(struct sl_apiserver *s, const struct api_kind *k, const char *ns,
                          bool (*pick)(yyjson_val *object, void *ctx), void *ctx) {
    struct sl_store_object *o = sl_store_seek(s->store, k->number, ns, "");

    for (; o && strcmp(o->ns, ns) == 0; o = sl_store_next(s->store, o)) {
        yyjson_doc *doc = yyjson_read(o->text, o->len, 0);
        if (doc && pick(yyjson_doc_get_root(doc), ctx))
            return doc;
        yyjson_doc_free(doc);
    }
    return NULL;
}

void api_status_keeps_meta(struct api_change *c) {
    static const char *const fields[] = {"labels", "annotations", "finalizers", "ownerReferences"};
    yyjson_mut_val *meta = sl_json_mut_get(c->object, "metadata");

    for (size_t i = 0; strcmp(c->subresource, "status") == 0 && i < SL_LEN(fields); i++)
        sl_json_mut_keep(c->doc, meta, fields[i], sl_json_get(c->old, "metadata"));
}
