/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/schema/crd/crd.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/schema/ceilings.h"
#include "cluster/schema/check.h"
#include "cluster/schema/crd/rules.h"
#include "cluster/schema/value.h"
#include "core/base/collection/vec.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "lib/pattern/pattern.h"

struct sl_crd_schema {
    struct sl_arena arena;
    yyjson_doc *doc; /* the text that names, defaults and enums are in */
    SL_VEC(struct sl_pattern *) patterns;
    const struct sl_schema *meta, *root;
    uint32_t nodes;
};

static const struct sl_schema any_schema = {.type = SL_T_ANY};
static const struct sl_schema string_schema = {.type = SL_T_STRING};

static const struct {
    const char *word;
    enum sl_schema_type type;
} types[] = {
    {"object", SL_T_OBJECT}, {"array", SL_T_LIST},    {"string", SL_T_STRING},
    {"integer", SL_T_INT},   {"number", SL_T_NUMBER}, {"boolean", SL_T_BOOL},
};

static const char *text_of(yyjson_val *v, const char *name) {
    return sl_json_text(yyjson_obj_get(v, name));
}

static uint32_t len_of(yyjson_val *v, const char *name) {
    return (uint32_t)strlen(text_of(v, name));
}

static bool is_true(yyjson_val *v, const char *name) {
    return yyjson_is_true(yyjson_obj_get(v, name));
}

/* ---- rules ---- */

static const struct sl_schema *build_schema(struct sl_crd_schema *c, yyjson_val *v, bool nested,
                                            bool root);

static const struct sl_schema *const *build_list(struct sl_crd_schema *c, yyjson_val *list,
                                                 uint32_t *ret_n) {
    size_t i, max;
    yyjson_val *item;
    const struct sl_schema **of = sl_arena_alloc0(&c->arena, yyjson_arr_size(list), sizeof(void *));

    *ret_n = 0;
    yyjson_arr_foreach (list, i, max, item) {
        of[(*ret_n)++] = build_schema(c, item, true, false);
    }
    return of;
}

static int64_t bound(yyjson_val *v, const char *name) {
    yyjson_val *x = yyjson_obj_get(v, name);
    return yyjson_is_int(x) ? yyjson_get_sint(x) : -1;
}

static const struct sl_schema_rules *build_rules(struct sl_crd_schema *c, yyjson_val *v) {
    struct sl_schema_rules r = {
        .words = yyjson_obj_get(v, "enum"),
        .has_min = yyjson_is_num(yyjson_obj_get(v, "minimum")),
        .has_max = yyjson_is_num(yyjson_obj_get(v, "maximum")),
        .exclusive_min = is_true(v, "exclusiveMinimum"),
        .exclusive_max = is_true(v, "exclusiveMaximum"),
        .min = yyjson_get_num(yyjson_obj_get(v, "minimum")),
        .max = yyjson_get_num(yyjson_obj_get(v, "maximum")),
        .multiple_of = yyjson_get_num(yyjson_obj_get(v, "multipleOf")),
        .letters = {bound(v, "minLength"), bound(v, "maxLength")},
        .items = {bound(v, "minItems"), bound(v, "maxItems")},
        .fields = {bound(v, "minProperties"), bound(v, "maxProperties")},
    };
    struct sl_pattern *p = NULL;
    yyjson_val *none = yyjson_obj_get(v, "not");

    if (*text_of(v, "pattern") && sl_pattern_new(text_of(v, "pattern"), &p, NULL) == 0) {
        *sl_vec_push(&c->patterns) = p;
        r.pattern = text_of(v, "pattern");
        r.compiled = p;
    }
    r.all_of = build_list(c, yyjson_obj_get(v, "allOf"), &r.n_all_of);
    /* The pair that goes with x-kubernetes-int-or-string repeats the type. */
    if (!is_true(v, "x-kubernetes-int-or-string"))
        r.any_of = build_list(c, yyjson_obj_get(v, "anyOf"), &r.n_any_of);
    r.one_of = build_list(c, yyjson_obj_get(v, "oneOf"), &r.n_one_of);
    if (yyjson_is_obj(none))
        r.none_of = build_schema(c, none, true, false);
    bool any = yyjson_arr_size(r.words) > 0 || r.has_min || r.has_max || r.multiple_of > 0 ||
               r.compiled || r.n_all_of + r.n_any_of + r.n_one_of > 0 || r.none_of ||
               r.letters.min >= 0 || r.letters.max >= 0 || r.items.min >= 0 || r.items.max >= 0 ||
               r.fields.min >= 0 || r.fields.max >= 0;
    if (!any)
        return NULL;
    struct sl_schema_rules *kept = sl_arena_alloc(&c->arena, sizeof(*kept));
    *kept = r;
    return kept;
}

/* ---- fields ---- */

/* A field may be named twice: by its schema and as required, or by us. The last schema counts. */
struct draft {
    struct sl_schema_field f; /* schema NULL: only 'required' is known */
    uint32_t rank;
};

static int by_name(const void *a, const void *b) {
    const struct draft *x = a, *y = b;
    int r = strcmp(x->f.name, y->f.name);
    return r != 0 ? r : x->rank < y->rank ? -1 : 1;
}

static void settle_fields(struct sl_crd_schema *c, struct sl_schema *s, struct draft *drafts,
                          uint32_t n) {
    struct sl_schema_field *fields = sl_arena_alloc0(&c->arena, n, sizeof(*fields));
    uint32_t kept = 0;

    if (n > 0)
        qsort(drafts, n, sizeof(*drafts), by_name);
    for (uint32_t i = 0; i < n; i++) {
        const struct sl_schema_field *f = &drafts[i].f;
        bool again = kept > 0 && strcmp(fields[kept - 1].name, f->name) == 0;
        struct sl_schema_field *to = &fields[again ? kept - 1 : kept++];
        bool required = f->required || (again && to->required);
        if (!again || f->schema)
            *to = *f;
        to->required = required;
    }
    for (uint32_t i = 0; i < kept; i++)
        if (!fields[i].schema)
            fields[i].schema = &any_schema;
    s->fields = fields;
    s->n_fields = kept;
    sl_schema_finish(s, &c->arena);
}

/* 'object': one of the API, with what all of those have. */
static void build_fields(struct sl_crd_schema *c, struct sl_schema *s, yyjson_val *v, bool nested,
                         bool object) {
    yyjson_val *props = schema_crd_properties(v), *required = yyjson_obj_get(v, "required");
    const struct {
        const char *name, *doc;
        const struct sl_schema *schema;
    } common[] = {{"apiVersion", SL_DOC_API_VERSION, &string_schema},
                  {"kind", SL_DOC_KIND, &string_schema},
                  {"metadata", SL_DOC_METADATA, c->meta}};
    size_t i, max, capacity = yyjson_obj_size(props) + yyjson_arr_size(required) + SL_LEN(common);
    struct draft *drafts = sl_alloc0(capacity, sizeof(*drafts));
    yyjson_val *key, *item;
    uint32_t n = 0;

    sl_obj_foreach (props, i, max, key, item) {
        yyjson_val *deflt = yyjson_obj_get(item, "default");
        drafts[n].f = (struct sl_schema_field){.name = sl_json_text(key),
                                               .schema = build_schema(c, item, nested, false),
                                               .doc = text_of(item, "description"),
                                               .doc_len = len_of(item, "description"),
                                               .deflt = yyjson_is_null(deflt) ? NULL : deflt,
                                               .pointer = true};
        drafts[n].rank = n;
        n++;
    }
    yyjson_arr_foreach (required, i, max, item) {
        if (!yyjson_is_str(item))
            continue;
        drafts[n].f = (struct sl_schema_field){
            .name = sl_json_text(item), .doc = "", .required = true, .pointer = true};
        drafts[n].rank = n;
        n++;
    }
    for (i = 0; i < SL_LEN(common) && object; i++) {
        drafts[n].f = (struct sl_schema_field){.name = common[i].name,
                                               .schema = common[i].schema,
                                               .doc = common[i].doc,
                                               .doc_len = (uint32_t)strlen(common[i].doc),
                                               .pointer = true};
        drafts[n].rank = n;
        n++;
    }
    settle_fields(c, s, drafts, n);
    free(drafts);
}

static void build_merge(struct sl_crd_schema *c, struct sl_schema *s, yyjson_val *v) {
    const char *list = text_of(v, "x-kubernetes-list-type");
    yyjson_val *keys = yyjson_obj_get(v, "x-kubernetes-list-map-keys");
    size_t i, max;
    yyjson_val *key;

    if (s->type == SL_T_LIST)
        s->merge = strcmp(list, "set") == 0   ? SL_MERGE_SET
                   : strcmp(list, "map") == 0 ? SL_MERGE_KEYED
                                              : SL_MERGE_ATOMIC;
    else if (strcmp(text_of(v, "x-kubernetes-map-type"), "atomic") == 0)
        s->merge = SL_MERGE_ATOMIC;
    if (s->merge != SL_MERGE_KEYED)
        return;
    const char **names = sl_arena_alloc0(&c->arena, yyjson_arr_size(keys), sizeof(*names));
    yyjson_arr_foreach (keys, i, max, key) {
        names[i] = sl_json_text(key);
    }
    s->keys = names;
    s->n_keys = (uint32_t)max;
}

/* Unknown formats have no effect. */
static const char *format_of(enum sl_schema_type type, const char *format) {
    static const char *const numbers[] = {"int32", "int64", "float", "double"};

    for (size_t i = 0; i < SL_LEN(numbers); i++)
        if (strcmp(format, numbers[i]) == 0)
            return type == SL_T_INT || type == SL_T_NUMBER ? format : NULL;
    return schema_value_format_known(format) ? format : NULL;
}

/* 'nested': within allOf and the like, where only rules are allowed. */
static const struct sl_schema *build_schema(struct sl_crd_schema *c, yyjson_val *v, bool nested,
                                            bool root) {
    yyjson_val *more = yyjson_obj_get(v, "additionalProperties"),
               *items = yyjson_obj_get(v, "items");
    struct sl_schema *s = sl_arena_alloc0(&c->arena, 1, sizeof(*s));
    const char *type = text_of(v, "type");

    if (++c->nodes > SCHEMA_CRD_NODES)
        return &any_schema; /* and the whole is refused */
    s->doc = text_of(v, "description");
    s->doc_len = len_of(v, "description");
    s->nullable = is_true(v, "nullable");
    s->keeps_unknown = is_true(v, "x-kubernetes-preserve-unknown-fields");
    s->embedded = is_true(v, "x-kubernetes-embedded-resource");
    s->type = SL_T_ANY;
    for (size_t i = 0; i < SL_LEN(types) && !nested; i++)
        if (strcmp(types[i].word, type) == 0)
            s->type = types[i].type;
    if (is_true(v, "x-kubernetes-int-or-string") && !nested)
        s->type = SL_T_INT_OR_STRING;
    s->format = format_of(s->type, text_of(v, "format"));
    if (yyjson_is_obj(items))
        s->items = build_schema(c, items, nested, false);
    if (s->type == SL_T_LIST && !s->items)
        s->items = &any_schema;
    if (s->type == SL_T_OBJECT && (yyjson_is_obj(more) || yyjson_is_true(more)) &&
        !yyjson_obj_get(v, "properties")) {
        s->type = SL_T_MAP;
        s->items = yyjson_is_obj(more) ? build_schema(c, more, nested, false) : &any_schema;
    } else {
        s->keeps_unknown |= yyjson_is_true(more);
        build_fields(c, s, v, nested, s->embedded || root);
    }
    s->rules = build_rules(c, v);
    build_merge(c, s, v);
    return s;
}

/* ---- defaults ---- */

static void check_default(const struct sl_schema *s, yyjson_val *deflt, const struct sl_path *at,
                          struct sl_field_errs *errs) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    const struct sl_path *here = SL_PATH(at, "default");

    sl_assert(doc);
    yyjson_mut_val *pruned = yyjson_val_mut_copy(doc, deflt),
                   *whole = yyjson_val_mut_copy(doc, deflt);
    sl_schema_prune(s, doc, pruned, NULL);
    if (!sl_json_mut_equal(pruned, whole))
        sl_field_invalid(errs, here, sl_field_value_json(deflt), "must not have unknown fields");
    yyjson_mut_doc_free(doc);
    sl_schema_check(s, deflt, here, errs);
}

static void check_defaults(const struct sl_schema *s, const struct sl_path *at,
                           struct sl_field_errs *errs) {
    if (s->items && s->type == SL_T_LIST)
        check_defaults(s->items, SL_PATH(at, "items"), errs);
    for (uint32_t i = 0; i < s->n_fields; i++) {
        const struct sl_schema_field *f = &s->fields[i];
        const struct sl_path *here = SL_PATH_KEY(SL_PATH(at, "properties"), f->name);
        if (f->schema->go)
            continue;
        if (f->deflt)
            check_default(f->schema, f->deflt, here, errs);
        check_defaults(f->schema, here, errs);
    }
}

/* ---- the whole ---- */

void sl_crd_schema_new(yyjson_val *v, const struct sl_path *at, const struct sl_schema *meta,
                       struct sl_field_errs *errs, struct sl_crd_schema **ret) {
    uint32_t before = errs->n + errs->dropped;
    struct sl_crd_schema *c = sl_alloc0(1, sizeof(*c));
    yyjson_mut_doc *copy = yyjson_mut_doc_new(NULL);

    *ret = NULL;
    sl_assert(copy);
    sl_arena_init(&c->arena, SCHEMA_CRD_ARENA);
    c->meta = meta;
    yyjson_mut_doc_set_root(copy, yyjson_val_mut_copy(copy, v));
    c->doc = yyjson_mut_doc_imut_copy(copy, NULL);
    yyjson_mut_doc_free(copy);
    sl_assert(c->doc);
    schema_crd_check_structure(v, at, errs);
    if (errs->n + errs->dropped == before) {
        c->root = build_schema(c, yyjson_doc_get_root(c->doc), false, true);
        if (c->nodes > SCHEMA_CRD_NODES)
            sl_field_forbidden(errs, at, "must not have more than %u schemas", SCHEMA_CRD_NODES);
        else if (sl_arena_full(&c->arena))
            sl_field_forbidden(errs, at, "must not take more than %zu bytes of memory",
                               SCHEMA_CRD_ARENA);
        else
            check_defaults(c->root, at, errs);
    }
    schema_crd_check_words(v, at, errs);
    if (errs->n + errs->dropped == before)
        *ret = c;
    else
        sl_crd_schema_free(c);
}

void sl_crd_schema_free(struct sl_crd_schema *c) {
    if (!c)
        return;
    for (uint32_t i = 0; i < c->patterns.n; i++)
        sl_pattern_free(c->patterns.v[i]);
    sl_vec_free(&c->patterns);
    yyjson_doc_free(c->doc);
    sl_arena_done(&c->arena);
    free(c);
}

const struct sl_schema *sl_crd_schema_root(const struct sl_crd_schema *c) {
    return c->root;
}
