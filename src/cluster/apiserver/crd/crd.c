/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of CustomResourceDefinitions. A struct api_crd owns a kind with its schemas, rules and
 * columns; it is rebuilt when the definition changes, and the old one is retained as long as
 * requests that wait for webhooks, or are being answered, still refer to it.
 */
#include "cluster/apiserver/crd/crd.h"

#include <stdio.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/crd/crd_int.h"
#include "cluster/apiserver/server.h"
#include "cluster/apiserver/table/cells.h"
#include "cluster/apiserver/table/jsonpath.h"
#include "cluster/merge/gotext.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "manager/admission/convert.h"

#define META_TYPE "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#define COLUMNS_MAX 100u

/* ---- objects of such kinds ---- */

/* What scale reads is a count; 'path' begins with '.', and is reported unchanged. */
static void replicas_check(struct api_change *c, const char *path) {
    const struct sl_path *at = SL_PATH(NULL, path);
    const char *p = path;
    yyjson_mut_val *v = c->object;

    while (*p == '.' && yyjson_mut_is_obj(v)) {
        size_t len = strcspn(++p, ".");
        v = yyjson_mut_obj_getn(v, p, len);
        p += len;
    }
    if (!v || yyjson_mut_is_null(v))
        return;
    if (*p == '.' || !yyjson_mut_is_int(v)) {
        bool way = *p == '.'; /* then it is named with what was looked for in it */
        int len = (int)(p - path) + (way ? 1 + (int)strcspn(p + 1, ".") : 0);
        struct sl_buf b;
        sl_buf_init(&b, SL_FIELD_VALUE_MAX_BYTES);
        sl_buf_short(&b);
        sl_go_text(c->arena, &b, v);
        sl_field_invalid(c->errs, at, sl_field_value_int(0),
                         "%.*s accessor error: %s is of the type %s, expected %s", len, path,
                         sl_buf_str(&b), sl_go_type(v), way ? "map[string]interface{}" : "int64");
        sl_buf_done(&b);
    } else if (yyjson_mut_get_sint(v) < 0) {
        sl_field_invalid(c->errs, at, sl_field_value_int(yyjson_mut_get_sint(v)),
                         "should be a non-negative integer");
    } else if (yyjson_mut_get_sint(v) > INT32_MAX) {
        sl_field_invalid(c->errs, at, sl_field_value_int(yyjson_mut_get_sint(v)),
                         "should be less than or equal to %d", INT32_MAX);
    }
}

/* A finalizer without a domain may collide with another. */
static void finalizers_warn(struct api_change *c, yyjson_val *object) {
    yyjson_val *was = sl_json_at(c->old, "metadata.finalizers"), *v, *other;
    size_t i, n, j, m;

    yyjson_arr_foreach (sl_json_at(object, "metadata.finalizers"), i, n, v) {
        const char *name = sl_json_text(v);
        bool known = strchr(name, '/') || strcmp(name, "orphan") == 0 ||
                     strcmp(name, "foregroundDeletion") == 0 || strcmp(name, "kubernetes") == 0;
        yyjson_arr_foreach (was, j, m, other) {
            known = known || strcmp(sl_json_text(other), name) == 0;
        }
        if (!known)
            api_change_warn(c,
                            "metadata.finalizers: \"%s\": prefer a domain-qualified finalizer name "
                            "%sto avoid accidental conflicts with other finalizer writers",
                            name, strchr(name, '.') ? "including a path (/) " : "");
    }
}

static void cr_validate(struct api_change *c, yyjson_val *object) {
    const struct api_kind_version *v = &c->kind->versions[c->kind->storage];

    if (v->has_scale && strcmp(c->subresource, "status") != 0)
        replicas_check(c, v->spec_replicas);
    if (v->has_scale)
        replicas_check(c, v->status_replicas);
    api_rules_check(c->kind->crd->rules[c->kind->storage], object, c->old, c, c->errs);
    if (c->errs->n == 0)
        finalizers_warn(c, object);
}

/* The last object of a kind that is going has gone: so does its definition. */
static void cr_after(struct sl_apiserver *s, struct api_kind *k, yyjson_val *old, yyjson_val *now) {
    (void)old;
    if (!now && k->going && sl_store_count(s->store, k->number) == 0)
        api_crd_finish(s, k->crd->name);
}

static const struct api_strategy cr_strategy = {
    .validate = cr_validate, .after = cr_after, .needs_version = true};

/* ---- from definition to kind ---- */

static const char *const *copy_strings(struct sl_arena *a, yyjson_val *list) {
    const char **words;
    size_t i, n;
    yyjson_val *v;

    if (sl_json_size(list) == 0)
        return NULL;
    words = sl_arena_alloc0(a, sl_json_size(list) + 1, sizeof(*words));
    yyjson_arr_foreach (list, i, n, v) {
        words[i] = sl_arena_strdup(a, sl_json_text(v));
    }
    return words;
}

static void make_columns(struct sl_arena *a, yyjson_val *list, struct api_kind_version *v) {
    struct api_column *columns;
    size_t i, n;
    yyjson_val *c;

    v->columns = api_columns_crd;
    v->n_columns = SL_LEN(api_columns_crd);
    if (sl_json_size(list) == 0 || sl_json_size(list) > COLUMNS_MAX)
        return;
    columns = sl_arena_alloc0(a, sl_json_size(list) + 1, sizeof(*columns));
    columns[0] = api_columns_crd[0];
    v->columns = columns;
    v->n_columns = 1;
    yyjson_arr_foreach (list, i, n, c) {
        const char *doc = sl_json_str(c, "description");
        const struct api_jsonpath *path;
        /* As kube-apiserver has it: one that cannot be read is no error of the definition, and no
         * column from there on is shown. */
        if (api_jsonpath_new(sl_json_str(c, "jsonPath"), a, &path, NULL) < 0)
            return;
        columns[i + 1] = (struct api_column){
            .name = sl_arena_strdup(a, sl_json_str(c, "name")),
            .type = sl_arena_strdup(a, sl_json_str(c, "type")),
            .format = sl_arena_strdup(a, sl_json_str(c, "format")),
            .doc = *doc ? sl_arena_strdup(a, doc)
                        : sl_arena_printf(
                              a, "Custom resource definition column (in JSONPath format): %s",
                              sl_json_str(c, "jsonPath")),
            .priority = (int)sl_json_int(c, "priority", 0),
            .path = path,
        };
        v->n_columns++;
    }
}

static const char *copy_path(struct sl_arena *a, yyjson_val *v, const char *path) {
    const char *s = sl_json_str(v, path);
    return *s ? sl_arena_strdup(a, s) : NULL;
}

static void make_version(struct api_crd *d, uint32_t i, yyjson_val *def,
                         const struct sl_schema *meta, const struct sl_path *at,
                         struct sl_field_errs *errs) {
    /* With a single version, kube-apiserver's message is that of an older form without a list of
     * versions. */
    const struct sl_path *only = SL_PATH(SL_PATH(NULL, "spec"), "validation");
    const struct sl_path *schema_at =
        SL_PATH(d->kind.n_versions == 1 ? only : SL_PATH(at, "schema"), "openAPIV3Schema");
    yyjson_val *schema = sl_json_at(def, "schema.openAPIV3Schema"),
               *scale = sl_json_at(def, "subresources.scale");
    struct api_kind_version *v = &d->kind.versions[i];
    const char *group = d->kind.group, *name = sl_json_str(def, "name"),
               *warning = sl_json_str(def, "deprecationWarning");

    *v = (struct api_kind_version){
        .name = sl_arena_strdup(&d->arena, name),
        .served = sl_json_bool(def, "served", false),
        .deprecated = sl_json_bool(def, "deprecated", false),
        .has_status = sl_json_at(def, "subresources.status") != NULL,
        .has_scale = scale != NULL,
        .spec_replicas = copy_path(&d->arena, scale, "specReplicasPath"),
        .status_replicas = copy_path(&d->arena, scale, "statusReplicasPath"),
        .label_selector = copy_path(&d->arena, scale, "labelSelectorPath"),
    };
    if (v->deprecated)
        v->deprecation = *warning ? sl_arena_strdup(&d->arena, warning)
                                  : sl_arena_printf(&d->arena, "%s/%s %s is deprecated", group,
                                                    name, d->kind.kind);
    make_columns(&d->arena, sl_json_get(def, "additionalPrinterColumns"), v);
    if (!schema) {
        sl_field_required(errs, SL_PATH(SL_PATH(at, "schema"), "openAPIV3Schema"), "");
        return;
    }
    sl_crd_schema_new(schema, schema_at, meta, errs, &d->schemas[i]);
    if (d->schemas[i])
        v->schema = sl_crd_schema_root(d->schemas[i]);
    d->rules[i] = api_rules_new(schema, schema_at, &d->arena, errs);
}

/* selectableFields of the version that is stored, without their dots. */
static const char *const *make_selectable(struct sl_arena *a, yyjson_val *list) {
    const char **paths;
    size_t i, n, count = 0;
    yyjson_val *v;

    if (sl_json_size(list) == 0)
        return NULL;
    paths = sl_arena_alloc0(a, SL_KIND_SELECTABLE + 1, sizeof(*paths));
    yyjson_arr_foreach (list, i, n, v) {
        const char *path = sl_json_str(v, "jsonPath");
        if (count < SL_KIND_SELECTABLE)
            paths[count++] = sl_arena_strdup(a, path + (*path == '.'));
    }
    return paths;
}

/* v10 before v2 before v1 before v1beta1: the order in which versions are preferred. */
static int version_rank(const char *s, long *major, int *stage, long *minor) {
    const char *p = s;

    *major = *minor = 0;
    *stage = 0;
    if (*p++ != 'v' || *p < '1' || *p > '9')
        return 0;
    for (; *p >= '0' && *p <= '9' && *major < 100000; p++)
        *major = *major * 10 + (*p - '0');
    if (*p == '\0') {
        *stage = 3;
        return 1;
    }
    *stage = strncmp(p, "beta", 4) == 0 ? 2 : strncmp(p, "alpha", 5) == 0 ? 1 : 0;
    p += *stage == 2 ? 4 : 5;
    if (*stage == 0 || *p < '1' || *p > '9')
        return 0;
    for (; *p >= '0' && *p <= '9' && *minor < 100000; p++)
        *minor = *minor * 10 + (*p - '0');
    return *p == '\0';
}

static int by_preference(const char *a, const char *b) {
    long am, an, bm, bn;
    int as, bs, ra = version_rank(a, &am, &as, &an), rb = version_rank(b, &bm, &bs, &bn);

    if (ra != rb)
        return rb - ra;
    if (!ra)
        return strcmp(a, b);
    if (as != bs)
        return bs - as;
    if (am != bm)
        return am < bm ? 1 : -1;
    return an == bn ? 0 : an < bn ? 1 : -1;
}

struct api_crd *api_crd_new(struct sl_apiserver *s, yyjson_val *def, struct sl_field_errs *errs) {
    yyjson_val *spec = sl_json_get(def, "spec"), *names = sl_json_get(spec, "names"),
               *versions = sl_json_get(spec, "versions"), *v;
    const struct sl_schema *meta = sl_schemas_find(s->schemas, META_TYPE);
    const struct sl_path *at = SL_PATH(SL_PATH(NULL, "spec"), "versions");
    yyjson_val *order[SL_KIND_VERSIONS];
    size_t place[SL_KIND_VERSIONS], i, n;
    struct api_crd *d = sl_alloc0(1, sizeof(*d));
    struct api_kind *k = &d->kind;
    struct sl_arena *a = &d->arena;

    sl_arena_init(a, API_CRD_ARENA);
    d->name = sl_arena_strdup(a, sl_json_str(def, "metadata.name"));
    *k = (struct api_kind){
        .group = sl_arena_strdup(a, sl_json_str(spec, "group")),
        .plural = sl_arena_strdup(a, sl_json_str(names, "plural")),
        .singular = sl_arena_strdup(a, sl_json_str(names, "singular")),
        .kind = sl_arena_strdup(a, sl_json_str(names, "kind")),
        .list_kind = sl_arena_strdup(a, sl_json_str(names, "listKind")),
        .short_names = copy_strings(a, sl_json_get(names, "shortNames")),
        .categories = copy_strings(a, sl_json_get(names, "categories")),
        .namespaced = strcmp(sl_json_str(spec, "scope"), "Namespaced") == 0,
        .verbs = SL_V_ALL,
        .strategy = &cr_strategy,
        .crd = d,
    };
    if (!sl_syntax_check_size(errs, at, versions, SL_KIND_VERSIONS))
        return d;
    yyjson_arr_foreach (versions, i, n, v) {
        uint32_t to = k->n_versions++;
        for (; to > 0 &&
               by_preference(sl_json_str(v, "name"), sl_json_str(order[to - 1], "name")) < 0;
             to--) {
            order[to] = order[to - 1];
            place[to] = place[to - 1];
        }
        order[to] = v;
        place[to] = i;
    }
    for (uint32_t j = 0; j < k->n_versions; j++) {
        make_version(d, j, order[j], meta, SL_PATH_AT(at, place[j]), errs);
        if (!sl_json_bool(order[j], "storage", false))
            continue;
        k->storage = j;
        k->selectable = make_selectable(a, sl_json_get(order[j], "selectableFields"));
    }
    if (sl_arena_full(a))
        sl_field_forbidden(errs, at, "must not take more than %zu bytes of memory", API_CRD_ARENA);
    return d;
}

void api_crd_free(struct api_crd *d) {
    if (!d)
        return;
    for (uint32_t i = 0; i < SL_KIND_VERSIONS; i++)
        if (d->schemas[i])
            sl_crd_schema_free(d->schemas[i]);
    sl_arena_done(&d->arena);
    sl_freep(&d);
}

/* ---- following definitions ---- */

static void stop_serving(struct sl_apiserver *s, struct api_kind *k) {
    api_kind_remove(s, k);
    k->crd->next_retired = s->retired_crds;
    s->retired_crds = k->crd;
}

void api_crds_free_retired(struct sl_apiserver *s) {
    struct api_crd **at, *d;

    for (d = s->retired_crds; d; d = d->next_retired)
        d->referenced = false;
    for (uint32_t i = 0; s->retired_crds && i < s->slots.n; i++) {
        const struct api_rq *rq = s->slots.v[i].rq;
        if (rq && rq->kind && rq->kind->crd)
            rq->kind->crd->referenced = true;
    }
    for (at = &s->retired_crds; (d = *at);) {
        if (d->referenced || !api_kind_forget(s, d->kind.number)) {
            at = &d->next_retired;
            continue;
        }
        *at = d->next_retired;
        api_crd_free(d);
    }
}

/* Other fields may be selectable now. */
static void index_anew(struct sl_apiserver *s, const struct api_kind *k) {
    struct sl_store_object *o = sl_store_seek(s->store, k->number, "", "");

    for (; o; o = sl_store_next(s->store, o)) {
        api_object_unindex(s, o);
        (void)api_object_index(s, o); /* the store goes on with the bytes it has counted */
    }
}

static void start_serving(struct sl_apiserver *s, yyjson_val *def, bool going) {
    struct api_kind *old =
        api_kind_find(s, sl_json_str(def, "spec.group"), sl_json_str(def, "spec.names.plural"));
    struct sl_field_errs errs = {0};
    _cleanup_(sl_arena_done) struct sl_arena words = SL_ARENA(API_CRD_ARENA);
    struct api_crd *d;

    if (old && !old->crd)
        return; /* validation does not let this come so far */
    errs.arena = &words;
    d = api_crd_new(s, def, &errs);
    if (old)
        stop_serving(s, old);
    d->kind.going = going;
    if (errs.n || d->kind.n_versions == 0 || api_kind_add(s, &d->kind, NULL) < 0)
        api_crd_free(d);
    else if (old)
        index_anew(s, &d->kind);
}

static void no_answer(void *ctx, const struct sl_api_answer *a) {
    (void)ctx;
    (void)a;
}

static void crd_request(struct sl_apiserver *s, const char *method, const char *path,
                        const char *type, const char *body) {
    struct sl_api_sink sink = {.answer = no_answer};

    (void)sl_apiserver_call(
        s,
        &(struct sl_api_request){.method = method,
                                 .path = path,
                                 .query = "",
                                 .accept = "",
                                 .content_type = type,
                                 .user_agent = "sluice",
                                 .user = "system:apiserver",
                                 .groups = (const char *const[]){"system:masters", NULL},
                                 .body = body,
                                 .len = strlen(body)},
        &sink);
}

void api_crd_finish(struct sl_apiserver *s, const char *name) {
    char path[512];

    sl_fmt(path, sizeof(path), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s", name);
    crd_request(s, "PATCH", path, SL_MERGE_PATCH,
                SL_JSON_CONST({"metadata" : {"finalizers" : null}}));
}

/* All objects of the kind are deleted; those with finalizers go when their owners let them. */
static void sweep(struct sl_apiserver *s, struct api_kind *k) {
    if (sl_store_count(s->store, k->number) == 0)
        api_crd_finish(s, k->crd->name);
    else
        api_delete_kind(s, k);
}

void api_crd_after(struct sl_apiserver *s, struct api_kind *crds, yyjson_val *old,
                   yyjson_val *now) {
    struct api_kind *k;

    (void)crds;
    if (now && !sl_json_at(now, "metadata.deletionTimestamp")) {
        if (!old || !sl_json_same(sl_json_get(old, "spec"), sl_json_get(now, "spec")))
            start_serving(s, now, false);
        return;
    }
    k = api_kind_find(s, sl_json_str(now ? now : old, "spec.group"),
                      sl_json_str(now ? now : old, "spec.names.plural"));
    if (now && !old) { /* found so on start: what was begun is ended */
        start_serving(s, now, true);
        k = api_kind_find(s, sl_json_str(now, "spec.group"), sl_json_str(now, "spec.names.plural"));
    }
    if (!k || !k->crd)
        return;
    if (!now) {
        stop_serving(s, k);
    } else if (!old || !sl_json_at(old, "metadata.deletionTimestamp")) {
        k->going = true;
        sweep(s, k);
    }
}

/* ---- conversion ---- */

/* core/v1 and events.k8s.io/v1: the same things under other names. */
static const char *const event_names[][2] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

static yyjson_mut_val *convert_event(yyjson_val *object, bool to_core, yyjson_mut_doc *doc) {
    yyjson_mut_val *out = yyjson_mut_obj(doc);
    size_t i, n;
    yyjson_val *key, *v;

    sl_obj_foreach (object, i, n, key, v) {
        const char *name = sl_json_text(key);
        for (size_t e = 0; e < SL_LEN(event_names); e++) {
            if (strcmp(name, event_names[e][to_core]) == 0) {
                name = event_names[e][!to_core];
                break;
            }
        }
        if (!to_core && strncmp(name, "reporting", 9) == 0 && sl_json_view(v).n == 0)
            continue; /* core has them even if they are empty */
        yyjson_mut_obj_add(out, yyjson_mut_strcpy(doc, name), yyjson_val_mut_copy(doc, v));
    }
    return out;
}

int api_kind_convert(const struct api_kind *k, yyjson_val *object, const char *api_version,
                     yyjson_mut_doc *doc, yyjson_mut_val **ret, struct sl_err *err) {
    const char *from = sl_json_str(object, "apiVersion");

    if (strcmp(from, api_version) == 0 || !yyjson_is_obj(object)) {
        *ret = yyjson_val_mut_copy(doc, object);
        return 0;
    }
    if (k->crd && sl_convert_knows(k->group)) {
        struct sl_convert cv = {.doc = doc, .room_bytes = SL_CONVERT_MAX_BYTES, .err = err};
        return sl_convert_object(&cv, object, api_version, ret);
    }
    *ret = k->shares    ? convert_event(object, strcmp(api_version, "v1") == 0, doc)
           : k->convert ? k->convert(object, api_version, doc)
                        : yyjson_val_mut_copy(doc, object);
    yyjson_mut_obj_put(*ret, yyjson_mut_str(doc, "apiVersion"),
                       yyjson_mut_strcpy(doc, api_version));
    return 0;
}

/* ---- our own ---- */

const char *api_crd_builtin(uint32_t i, size_t *ret_len) {
    const char *p = api_builtin_crds[0].text, *end = p + api_builtin_crds[0].len;

    for (; p < end; i--) {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        if (!line)
            line = end;
        if (i == 0) {
            *ret_len = (size_t)(line - p);
            return p;
        }
        p = line + 1;
    }
    return NULL;
}
