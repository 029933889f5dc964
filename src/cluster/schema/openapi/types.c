/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions. A named type is defined once and referred to; others are inline. Version 2 has
 * neither null nor values of several types: such a value has no type there, so that clients do not
 * reject it.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/openapi/openapi_int.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"

#define QUANTITY "io.k8s.apimachinery.pkg.api.resource.Quantity"
#define INT_OR_STRING "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
#define MAX_DEPTH 128u

static void ref(struct sl_openapi *w, const char *name, const char *suffix) {
    sl_jw_strf(&w->j, "$ref", "#/%s/%s%s", w->v3 ? "components/schemas" : "definitions", name,
               suffix);
}

/* "org.example.v1.Toy": the group from its end. */
static void kind_name(const struct sl_openapi_kind *k, struct sl_buf *out) {
    const char *end = k->group + strlen(k->group);

    if (k->schema->name) {
        sl_buf_puts(out, k->schema->name);
        return;
    }
    while (end > k->group) {
        const char *dot = memrchr(k->group, '.', (size_t)(end - k->group));
        const char *from = dot ? dot + 1 : k->group;
        sl_buf_add(out, from, (size_t)(end - from));
        sl_buf_putc(out, '.');
        end = dot ? dot : k->group;
    }
    sl_buf_printf(out, "%s.%s", k->version, k->kind);
}

void sl_openapi_ref(struct sl_openapi *w, const char *key, const struct sl_openapi_kind *k,
                    const char *suffix) {
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF(1024);

    kind_name(k, &name);
    sl_jw_object(&w->j, key);
    ref(w, sl_buf_str(&name), suffix);
    sl_jw_end(&w->j);
}

void sl_openapi_gvk(struct sl_openapi *w, const char *group, const char *version, const char *kind,
                    const char *suffix, bool in_list) {
    static const char key[] = "x-kubernetes-group-version-kind";

    if (in_list)
        sl_jw_array(&w->j, key);
    sl_jw_object(&w->j, in_list ? NULL : key);
    sl_jw_str(&w->j, "group", group);
    sl_jw_strf(&w->j, "kind", "%s%s", kind, suffix);
    sl_jw_str(&w->j, "version", version);
    sl_jw_end(&w->j);
    if (in_list)
        sl_jw_end(&w->j);
}

/* ---- a schema ---- */

static void schema(struct sl_openapi *w, const char *key, const struct sl_schema *s,
                   const struct sl_schema_field *f, uint32_t depth);

/* NULL: of several types. */
static const char *const type_words[] = {
    [SL_T_ANY] = NULL,          [SL_T_OBJECT] = "object", [SL_T_MAP] = "object",
    [SL_T_LIST] = "array",      [SL_T_STRING] = "string", [SL_T_INT] = "integer",
    [SL_T_NUMBER] = "number",   [SL_T_BOOL] = "boolean",  [SL_T_INT_OR_STRING] = NULL,
    [SL_T_QUANTITY] = "string",
};

static void fields(struct sl_openapi *w, const struct sl_schema *s, uint32_t depth) {
    bool any = false;

    sl_jw_object(&w->j, "properties");
    for (uint32_t i = 0; i < s->n_fields; i++) {
        any |= s->fields[i].required;
        schema(w, s->fields[i].name, s->fields[i].schema, &s->fields[i], depth + 1);
    }
    sl_jw_end(&w->j);
    if (!any)
        return;
    sl_jw_array(&w->j, "required");
    for (uint32_t i = 0; i < s->n_fields; i++)
        if (s->fields[i].required)
            sl_jw_str(&w->j, NULL, s->fields[i].name);
    sl_jw_end(&w->j);
}

static void merging(struct sl_openapi *w, const struct sl_schema *s) {
    static const char *const lists[] = {[SL_MERGE_DEEP] = NULL,
                                        [SL_MERGE_ATOMIC] = "atomic",
                                        [SL_MERGE_SET] = "set",
                                        [SL_MERGE_KEYED] = "map"};

    if (s->type == SL_T_LIST) {
        sl_jw_str(&w->j, "x-kubernetes-list-type", lists[s->merge]);
    } else if (s->merge == SL_MERGE_ATOMIC) {
        sl_jw_str(&w->j, "x-kubernetes-map-type", "atomic");
    }
    if (s->merge != SL_MERGE_KEYED)
        return;
    sl_jw_array(&w->j, "x-kubernetes-list-map-keys");
    for (uint32_t i = 0; i < s->n_keys; i++)
        sl_jw_str(&w->j, NULL, s->keys[i]);
    sl_jw_end(&w->j);
}

static void put_true(struct sl_openapi *w, const char *key, bool is) {
    if (is)
        sl_jw_bool(&w->j, key, true);
}

/* Members of the object that describes it, without its description. */
static void body(struct sl_openapi *w, const struct sl_schema *s, uint32_t depth) {
    bool vague = !w->v3 && s->nullable; /* has no type, since it may be null */
    bool object = s->type == SL_T_ANY && s->format;

    put_true(w, "x-kubernetes-preserve-unknown-fields",
             s->keeps_unknown || (s->type == SL_T_ANY && !object));
    put_true(w, "x-kubernetes-embedded-resource", s->embedded);
    put_true(w, "x-kubernetes-int-or-string", s->type == SL_T_INT_OR_STRING);
    put_true(w, "nullable", w->v3 && s->nullable);
    if (vague)
        return;
    if (object || type_words[s->type])
        sl_jw_str(&w->j, "type", object ? "object" : type_words[s->type]);
    if (s->format && !object)
        sl_jw_str(&w->j, "format", s->format);
    if (s->rules && s->rules->words)
        sl_jw_val(&w->j, "enum", s->rules->words);
    if (depth >= MAX_DEPTH)
        return;
    if (s->type == SL_T_OBJECT && s->n_fields > 0 && (w->v3 || !s->keeps_unknown))
        fields(w, s, depth);
    if (s->type == SL_T_LIST || s->type == SL_T_MAP)
        schema(w, s->type == SL_T_LIST ? "items" : "additionalProperties", s->items, NULL,
               depth + 1);
    merging(w, s);
}

static void patching(struct sl_openapi *w, const struct sl_schema_field *f) {
    if (f->patch_key)
        sl_jw_str(&w->j, "x-kubernetes-patch-merge-key", f->patch_key);
    if (f->patch_merge || f->retain_keys)
        sl_jw_str(&w->j, "x-kubernetes-patch-strategy",
                  f->patch_merge && f->retain_keys ? "merge,retainKeys"
                  : f->patch_merge                 ? "merge"
                                                   : "retainKeys");
}

/* The name it is defined by; NULL: it stands where it is used. */
static const char *name_of(const struct sl_schema *s) {
    if (s->type == SL_T_QUANTITY)
        return QUANTITY;
    if (s->type == SL_T_INT_OR_STRING && s->go)
        return INT_OR_STRING;
    return s->name;
}

/* Where it is used: as a field, or NULL. */
static void schema(struct sl_openapi *w, const char *key, const struct sl_schema *s,
                   const struct sl_schema_field *f, uint32_t depth) {
    const char *name = name_of(s);
    bool own = f && f->doc_len > 0;
    bool more = own || (f && (f->deflt || f->patch_merge || f->retain_keys));

    sl_jw_object(&w->j, key);
    if (own)
        sl_openapi_doc(w, f->doc, f->doc_len);
    else if (!name)
        sl_openapi_doc(w, s->doc, s->doc_len);
    if (!name) {
        body(w, s, depth);
    } else if (w->v3 && more) {
        sl_jw_array(&w->j, "allOf");
        sl_jw_object(&w->j, NULL);
        ref(w, name, "");
        sl_jw_end(&w->j);
        sl_jw_end(&w->j);
    } else {
        ref(w, name, "");
    }
    if (f && f->deflt && w->v3)
        sl_jw_val(&w->j, "default", f->deflt);
    if (f)
        patching(w, f);
    sl_jw_end(&w->j);
}

/* ---- all of them ---- */

struct types {
    SL_VEC(const struct sl_schema *) all; /* with a name */
    struct sl_map seen;
};

static void collect_types(struct types *t, const struct sl_schema *s, uint32_t depth) {
    if (depth >= MAX_DEPTH)
        return;
    if (s->name) {
        uint64_t h = sl_hash_str(0, s->name);
        if (sl_map_get(&t->seen, h) != SL_MAP_NONE)
            return;
        sl_map_add(&t->seen, h, t->all.n);
        *sl_vec_push(&t->all) = s;
    }
    if (s->items)
        collect_types(t, s->items, depth + 1);
    for (uint32_t i = 0; i < s->n_fields; i++)
        collect_types(t, s->fields[i].schema, depth + 1);
}

static int by_name(const void *a, const void *b) {
    const struct sl_schema *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void define(struct sl_openapi *w, const char *name, const struct sl_schema *s,
                   const char *group, const char *version, const char *kind) {
    sl_jw_object(&w->j, name);
    sl_openapi_doc(w, s->doc, s->doc_len);
    body(w, s, 0);
    if (group)
        sl_openapi_gvk(w, group, version, kind, "", true);
    sl_jw_end(&w->j);
}

static void property(struct sl_openapi *w, const char *name, const char *doc) {
    sl_jw_object(&w->j, name);
    sl_jw_str(&w->j, "description", doc);
    sl_jw_str(&w->j, "type", "string");
    sl_jw_end(&w->j);
}

/* A list has no type of its own, so its description is here. */
static void define_list(struct sl_openapi *w, const struct sl_openapi_kind *k,
                        const struct sl_schema *meta) {
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF(1024);

    kind_name(k, &name);
    sl_buf_puts(&name, "List");
    struct sl_jw *j = &w->j;
    sl_jw_object(j, sl_buf_str(&name));
    sl_jw_strf(j, "description", "A list of %s.", k->plural);
    sl_jw_str(j, "type", "object");
    sl_jw_array(j, "required");
    sl_jw_str(j, NULL, "items");
    sl_jw_end(j);
    sl_jw_object(j, "properties");
    property(w, "apiVersion", SL_DOC_API_VERSION);
    sl_jw_object(j, "items");
    sl_jw_strf(j, "description", "The %s.", k->plural);
    sl_jw_str(j, "type", "array");
    sl_openapi_ref(w, "items", k, "");
    sl_jw_end(j);
    property(w, "kind", SL_DOC_KIND);
    schema(w, "metadata", meta,
           &(struct sl_schema_field){.doc = meta->doc, .doc_len = meta->doc_len}, 0);
    sl_jw_end(j);
    sl_openapi_gvk(w, k->group, k->version, k->kind, "List", true);
    sl_jw_end(j);
}

/* A type of version 3 is one of these two; in version 2 it is a string. */
static void one_of(struct sl_openapi *w, const char *a, const char *b) {
    if (!w->v3) {
        sl_jw_str(&w->j, "type", "string");
        return;
    }
    sl_jw_array(&w->j, "oneOf");
    for (int i = 0; i < 2; i++) {
        sl_jw_object(&w->j, NULL);
        sl_jw_str(&w->j, "type", i == 0 ? a : b);
        sl_jw_end(&w->j);
    }
    sl_jw_end(&w->j);
}

/* The two types that are read in ways of their own. */
static void define_common(struct sl_openapi *w) {
    sl_jw_object(&w->j, QUANTITY);
    sl_jw_str(&w->j, "description", "An amount such as 500m, 2 or 4Gi.");
    one_of(w, "string", "number");
    sl_jw_end(&w->j);
    sl_jw_object(&w->j, INT_OR_STRING);
    sl_jw_str(&w->j, "description", "A number or a text.");
    one_of(w, "integer", "string");
    sl_jw_str(&w->j, "format", "int-or-string");
    sl_jw_end(&w->j);
}

void sl_openapi_definitions(struct sl_openapi *w, const char *key,
                            const struct sl_openapi_api *api) {
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF(1024);
    struct types t = {0};

    collect_types(&t, api->list_meta, 0);
    for (size_t i = 0; i < api->n; i++)
        collect_types(&t, api->kinds[i].schema, 0);
    if (t.all.n > 0)
        qsort(t.all.v, t.all.n, sizeof(void *), by_name);
    sl_jw_object(&w->j, key);
    for (uint32_t i = 0; i < t.all.n; i++) {
        const struct sl_schema *s = t.all.v[i];
        define(w, s->name, s, s->group, s->version, strrchr(s->go, '.') + 1);
    }
    for (size_t i = 0; i < api->n; i++) {
        const struct sl_openapi_kind *k = &api->kinds[i];
        sl_buf_clear(&name);
        kind_name(k, &name);
        if (!k->schema->name)
            define(w, sl_buf_str(&name), k->schema, k->group, k->version, k->kind);
        if (k->verbs & SL_OPENAPI_LIST)
            define_list(w, k, api->list_meta);
    }
    define_common(w);
    sl_jw_end(&w->j);
    sl_vec_free(&t.all);
    sl_map_done(&t.seen);
}
