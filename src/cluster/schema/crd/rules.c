/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A structural schema specifies the shape of every field outside of allOf, anyOf, oneOf and not;
 * these may only add rules on values whose shape is known. So shapes can be determined without
 * solving anything: pruning, defaults and merging need nothing else.
 */
#include "cluster/schema/crd/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/ceilings.h"
#include "cluster/schema/schema.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "lib/pattern/pattern.h"

#define PRESERVE "x-kubernetes-preserve-unknown-fields"
#define INT_OR_STRING "x-kubernetes-int-or-string"
#define EMBEDDED "x-kubernetes-embedded-resource"
#define LIST_TYPE "x-kubernetes-list-type"
#define LIST_KEYS "x-kubernetes-list-map-keys"
#define MAP_TYPE "x-kubernetes-map-type"
#define RULES "x-kubernetes-validations"

enum level { ROOT, ITEM, FIELD };

static bool is_true(yyjson_val *v, const char *name) {
    return yyjson_is_true(yyjson_obj_get(v, name));
}

static const char *text_of(yyjson_val *v, const char *name) {
    return sl_json_text(yyjson_obj_get(v, name));
}

static bool is_type(yyjson_val *v, const char *type) {
    return strcmp(text_of(v, "type"), type) == 0;
}

/* A schema there? NULL if there is none, or not one. */
static yyjson_val *schema_at(yyjson_val *v, const char *name) {
    yyjson_val *x = yyjson_obj_get(v, name);
    return yyjson_is_obj(x) ? x : NULL;
}

/* ---- structure ---- */

static void check_nested(yyjson_val *v, bool skip_any_of, enum level level,
                         const struct sl_path *at, struct sl_field_errs *errs);

/* The ways in which rules may be joined. */
static const char *const joins[] = {"anyOf", "allOf", "oneOf"};

/* {type: integer} or {type: string}, in this order and nothing else. */
static bool is_int_or_string_pair(yyjson_val *list) {
    yyjson_val *a = yyjson_arr_get(list, 0), *b = yyjson_arr_get(list, 1);
    return yyjson_arr_size(list) == 2 && yyjson_obj_size(a) == 1 && yyjson_obj_size(b) == 1 &&
           is_type(a, "integer") && is_type(b, "string");
}

/* 'skip': anyOf is the pair that goes with x-kubernetes-int-or-string. 'first': it is so in
 * allOf[0]. */
static void check_values(yyjson_val *v, bool skip, bool first, enum level level,
                         const struct sl_path *at, struct sl_field_errs *errs) {
    const char *pattern = text_of(v, "pattern");
    struct sl_pattern *p = NULL;
    struct sl_err err;
    size_t i, max;
    yyjson_val *item;

    for (size_t j = 0; j < SL_LEN(joins); j++) {
        if (j == 0 && skip)
            continue;
        yyjson_arr_foreach (yyjson_obj_get(v, joins[j]), i, max, item) {
            check_nested(item, j == 1 && i == 0 && first, level,
                         SL_PATH_AT(SL_PATH(at, joins[j]), i), errs);
        }
    }
    check_nested(schema_at(v, "not"), false, level, SL_PATH(at, "not"), errs);
    if (*pattern && sl_pattern_new(pattern, &p, &err) < 0)
        sl_field_invalid(errs, SL_PATH(at, "pattern"), sl_field_value_str(pattern),
                         "must be a valid regular expression, but isn't: %s", err.text);
    sl_pattern_free(p);
}

/* What is forbidden within allOf and the like, and the message. */
static const struct {
    const char *name, *words;
} forbidden[] = {
    {"type", "must be empty to be structural"},
    {"additionalProperties", "must be undefined to be structural"},
    {"default", "must be undefined to be structural"},
    {"title", "must be empty to be structural"},
    {"description", "must be empty to be structural"},
    {"nullable", "must be false to be structural"},
    {PRESERVE, "must be false to be structural"},
    {EMBEDDED, "must be false to be structural"},
    {INT_OR_STRING, "must be false to be structural"},
    {LIST_KEYS, "must be empty to be structural"},
    {LIST_TYPE, "must be undefined to be structural"},
    {MAP_TYPE, "must be undefined to be structural"},
    {RULES, "must be empty to be structural"},
};

static bool has_default(yyjson_val *v) {
    yyjson_val *x = yyjson_obj_get(v, "default");
    return x && !yyjson_is_null(x);
}

/* As absent, for Go. */
static bool means_nothing(yyjson_val *v) {
    return !v || yyjson_is_null(v) || yyjson_is_false(v) ||
           (yyjson_is_str(v) && sl_json_view(v).n == 0) ||
           (yyjson_is_arr(v) && yyjson_arr_size(v) == 0);
}

static void check_nested(yyjson_val *v, bool skip_any_of, enum level level,
                         const struct sl_path *at, struct sl_field_errs *errs) {
    size_t i, max;
    yyjson_val *key, *item;

    if (!v)
        return;
    check_values(v, skip_any_of, false, level, at, errs);
    check_nested(schema_at(v, "items"), false, level, SL_PATH(at, "items"), errs);
    sl_obj_foreach (schema_crd_properties(v), i, max, key, item) {
        check_nested(item, false, FIELD, SL_PATH_KEY(SL_PATH(at, "properties"), sl_json_text(key)),
                     errs);
    }
    for (i = 0; i < SL_LEN(forbidden); i++) {
        item = yyjson_obj_get(v, forbidden[i].name);
        bool there = strcmp(forbidden[i].name, "default") == 0 ? has_default(v)
                     : strcmp(forbidden[i].name, "additionalProperties") == 0
                         ? item != NULL
                         : !means_nothing(item);
        if (there)
            sl_field_forbidden(errs, SL_PATH(at, forbidden[i].name), "%s", forbidden[i].words);
    }
    if (yyjson_obj_get(yyjson_obj_get(v, "properties"), "metadata"))
        sl_field_forbidden(errs, SL_PATH_KEY(SL_PATH(at, "properties"), "metadata"),
                           "must not be specified in a nested context");
}

static void check_meta(yyjson_val *v, enum level level, bool checked, const struct sl_path *at,
                       struct sl_field_errs *errs) {
    yyjson_val *props = schema_crd_properties(v);
    size_t i, max, names = 0;
    yyjson_val *key, *item;

    if (checked && !is_type(v, "object"))
        sl_field_invalid(errs, SL_PATH(at, "type"), sl_field_value_str(text_of(v, "type")),
                         "must be object");
    if (level != ROOT)
        return;
    names += yyjson_obj_get(props, "name") != NULL;
    names += yyjson_obj_get(props, "generateName") != NULL;
    bool other = yyjson_obj_size(props) != names;
    sl_obj_foreach (v, i, max, key, item) {
        static const char *const fine[] = {"type", "properties", "default"};
        bool known = means_nothing(item);
        for (size_t k = 0; k < SL_LEN(fine); k++)
            known |= yyjson_equals_str(key, fine[k]);
        other |= !known;
    }
    if (other)
        sl_field_forbidden(errs, at,
                           "must not specify anything other than name and generateName, but "
                           "metadata is implicitly specified");
}

static void check_type(yyjson_val *v, enum level level, const struct sl_path *at,
                       struct sl_field_errs *errs) {
    static const char *const where[] = {
        [ROOT] = "must not be empty at the root",
        [ITEM] = "must not be empty for specified array items",
        [FIELD] = "must not be empty for specified object fields",
    };
    static const char embedded[] = "must be object if x-kubernetes-embedded-resource is true";
    const char *type = text_of(v, "type");
    const struct sl_path *here = SL_PATH(at, "type");

    if (is_true(v, EMBEDDED) && strcmp(type, "object") != 0) {
        if (!*type)
            sl_field_required(errs, here, embedded);
        else
            sl_field_invalid(errs, here, sl_field_value_str(type), "%s", embedded);
    } else if (!*type && !is_true(v, INT_OR_STRING) && !is_true(v, PRESERVE)) {
        sl_field_required(errs, here, where[level]);
    }
    if (level == ROOT && *type && strcmp(type, "object") != 0)
        sl_field_invalid(errs, here, sl_field_value_str(type), "must be object at the root");
    if (is_true(v, INT_OR_STRING) && is_true(v, PRESERVE))
        sl_field_invalid(errs, SL_PATH(at, PRESERVE),
                         sl_field_value_json(yyjson_obj_get(v, PRESERVE)),
                         "must be false if x-kubernetes-int-or-string is true");
    if (is_true(v, INT_OR_STRING) && is_true(v, EMBEDDED))
        sl_field_invalid(errs, SL_PATH(at, EMBEDDED),
                         sl_field_value_json(yyjson_obj_get(v, EMBEDDED)),
                         "must be false if x-kubernetes-int-or-string is true");
}

static void check_known_fields(yyjson_val *v, enum level level, const struct sl_path *at,
                               struct sl_field_errs *errs) {
    static const char *const texts[] = {"kind", "apiVersion"};
    yyjson_val *props = schema_crd_properties(v);
    const struct sl_path *here = SL_PATH(at, "properties");
    bool checked = level == ROOT || is_true(v, EMBEDDED);

    for (size_t i = 0; i < SL_LEN(texts) && checked; i++) {
        yyjson_val *x = yyjson_obj_get(props, texts[i]);
        if (x && !is_type(x, "string"))
            sl_field_invalid(errs, SL_PATH(SL_PATH_KEY(here, texts[i]), "type"),
                             sl_field_value_str(text_of(x, "type")), "must be string");
    }
    yyjson_val *meta = schema_at(props, "metadata");
    if (meta)
        check_meta(meta, level, checked, SL_PATH_KEY(here, "metadata"), errs);
    if (is_true(v, EMBEDDED) && !is_true(v, PRESERVE) && yyjson_obj_size(props) == 0)
        sl_field_required(errs, here,
                          "must not be empty if x-kubernetes-embedded-resource is true without "
                          "x-kubernetes-preserve-unknown-fields");
}

static void check_invariants(yyjson_val *v, enum level level, const struct sl_path *at,
                             struct sl_field_errs *errs) {
    yyjson_val *any = yyjson_obj_get(v, "anyOf"), *all = yyjson_obj_get(v, "allOf");
    yyjson_val *more = yyjson_obj_get(v, "additionalProperties"), *key, *item;
    size_t i, max;

    if (!v)
        return;
    if (is_type(v, "array") && !yyjson_obj_get(v, "items"))
        sl_field_required(errs, SL_PATH(at, "items"), "must be specified");
    check_invariants(schema_at(v, "items"), ITEM, SL_PATH(at, "items"), errs);
    sl_obj_foreach (schema_crd_properties(v), i, max, key, item) {
        check_invariants(item, FIELD, SL_PATH_KEY(SL_PATH(at, "properties"), sl_json_text(key)),
                         errs);
    }
    if (more && level == ROOT)
        sl_field_forbidden(errs, SL_PATH(at, "additionalProperties"),
                           "must not be used at the root");
    if (more && is_true(v, EMBEDDED))
        sl_field_forbidden(errs, SL_PATH(at, "additionalProperties"),
                           "must not be used if x-kubernetes-embedded-resource is set");
    check_invariants(schema_at(v, "additionalProperties"), FIELD,
                     SL_PATH(at, "additionalProperties"), errs);
    bool in_all = is_int_or_string_pair(yyjson_obj_get(yyjson_arr_get(all, 0), "anyOf"));
    check_values(v, is_int_or_string_pair(any), in_all, level, at, errs);
    check_type(v, level, at, errs);
    check_known_fields(v, level, at, errs);
}

/* Fields that rules refer to must exist: 's' has the shape. */
static void check_complete(yyjson_val *v, yyjson_val *s, const struct sl_path *s_at,
                           const struct sl_path *at, struct sl_field_errs *errs);

static void missing(const struct sl_path *s_at, const struct sl_path *at,
                    struct sl_field_errs *errs) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SCHEMA_PATH);

    sl_buf_puts(&text, "because it is defined in ");
    sl_path_print(at, &text);
    sl_field_required(errs, s_at, sl_buf_str(&text));
}

static void check_joins(yyjson_val *v, yyjson_val *s, const struct sl_path *s_at,
                        const struct sl_path *at, struct sl_field_errs *errs) {
    size_t i, max;
    yyjson_val *item;

    check_complete(schema_at(v, "not"), s, s_at, SL_PATH(at, "not"), errs);
    for (size_t j = 0; j < SL_LEN(joins); j++) {
        yyjson_arr_foreach (yyjson_obj_get(v, joins[j]), i, max, item) {
            check_complete(item, s, s_at, SL_PATH_AT(SL_PATH(at, joins[j]), i), errs);
        }
    }
}

static void check_complete(yyjson_val *v, yyjson_val *s, const struct sl_path *s_at,
                           const struct sl_path *at, struct sl_field_errs *errs) {
    const struct sl_path *s_props = SL_PATH(s_at, "properties"), *props = SL_PATH(at, "properties");
    size_t i, max;
    yyjson_val *key, *item;

    if (!v)
        return;
    if (!s) {
        missing(s_at, at, errs);
        return;
    }
    check_joins(v, s, s_at, at, errs);
    check_complete(schema_at(v, "items"), schema_at(s, "items"), SL_PATH(s_at, "items"),
                   SL_PATH(at, "items"), errs);
    sl_obj_foreach (schema_crd_properties(v), i, max, key, item) {
        const char *name = sl_json_text(key);
        yyjson_val *shape = schema_at(yyjson_obj_get(s, "properties"), name);
        if (shape)
            check_complete(item, shape, SL_PATH_KEY(s_props, name), SL_PATH_KEY(props, name), errs);
        else
            missing(SL_PATH_KEY(s_props, name), SL_PATH_KEY(props, name), errs);
    }
}

static int by_text(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

void schema_crd_check_structure(yyjson_val *v, const struct sl_path *at,
                                struct sl_field_errs *errs) {
    uint32_t from = errs->n;

    check_invariants(v, ROOT, at, errs);
    check_joins(v, v, at, at, errs);
    qsort(errs->text + from, errs->n - from, sizeof(*errs->text), by_text);
}

/* ---- keywords ---- */

struct where {
    bool root, in_meta;
    const char *no_defaults; /* why; NULL: they may be there */
};

static void check_supported(yyjson_val *v, const struct where *w, const struct sl_path *at,
                            struct sl_field_errs *errs) {
    static const char *const types[] = {"array",  "boolean", "integer",
                                        "number", "object",  "string"};
    static const char *const no[] = {"id",          "additionalItems", "patternProperties",
                                     "definitions", "dependencies",    "$ref"};
    const char *type = text_of(v, "type");
    bool known = !*type;

    for (size_t i = 0; i < SL_LEN(types); i++)
        known |= strcmp(type, types[i]) == 0;
    if (!known)
        sl_field_unsupported(errs, SL_PATH(at, "type"), sl_field_value_str(type), types,
                             SL_LEN(types));
    if (w->no_defaults && has_default(v))
        sl_field_forbidden(errs, SL_PATH(at, "default"), "must not be set%s", w->no_defaults);
    for (size_t i = 0; i < SL_LEN(no); i++)
        if (!means_nothing(yyjson_obj_get(v, no[i])))
            sl_field_forbidden(errs, SL_PATH(at, no[i]), "%s is not supported", no[i]);
    if (strcmp(type, "null") == 0)
        sl_field_forbidden(errs, SL_PATH(at, "type"),
                           "type cannot be set to null, use nullable as an alternative");
    if (yyjson_arr_size(yyjson_obj_get(v, "items")) > 0)
        sl_field_forbidden(errs, SL_PATH(at, "items"),
                           "items must be a schema object and not an array");
    if (w->in_meta && is_true(v, EMBEDDED))
        sl_field_forbidden(errs, SL_PATH(at, EMBEDDED), "must not be used inside of resource meta");
    if (is_true(v, "uniqueItems"))
        sl_field_forbidden(errs, SL_PATH(at, "uniqueItems"),
                           "uniqueItems cannot be set to true since the runtime complexity becomes "
                           "quadratic");
}

/* A list or map type goes with one type only. */
static void check_goes_with(yyjson_val *v, const char *name, const char *type,
                            const char *const *words, size_t n, const struct sl_path *at,
                            struct sl_field_errs *errs) {
    const char *word = text_of(v, name), *own = text_of(v, "type");
    char detail[80];
    bool known = !*word;

    sl_fmt_short(detail, sizeof(detail), "must be %s if %s is specified", type, name);
    if (*word && !*own)
        sl_field_required(errs, SL_PATH(at, "type"), detail);
    else if (*word && strcmp(own, type) != 0)
        sl_field_invalid(errs, SL_PATH(at, "type"), sl_field_value_str(own), "%s", detail);
    for (size_t i = 0; i < n; i++)
        known |= strcmp(word, words[i]) == 0;
    if (!known)
        sl_field_unsupported(errs, SL_PATH(at, name), sl_field_value_str(word), words, n);
}

static bool names(yyjson_val *list, const char *word) {
    size_t i, max;
    yyjson_val *item;

    yyjson_arr_foreach (list, i, max, item) {
        if (yyjson_equals_str(item, word))
            return true;
    }
    return false;
}

static void check_key(yyjson_val *keys, size_t at_key, yyjson_val *items, const struct sl_path *at,
                      struct sl_field_errs *errs) {
    const char *k = sl_json_text(yyjson_arr_get(keys, at_key));
    yyjson_val *prop = schema_at(yyjson_obj_get(items, "properties"), k);
    const struct sl_path *here = SL_PATH_KEY(SL_PATH(SL_PATH(at, "items"), "properties"), k);

    if (!prop)
        sl_field_invalid(errs, SL_PATH(at, LIST_KEYS), sl_field_value_json(keys),
                         "entries must all be names of item properties");
    else if (is_type(prop, "array") || is_type(prop, "object"))
        sl_field_invalid(errs, SL_PATH(here, "type"), sl_field_value_str(text_of(items, "type")),
                         "must be a scalar type if parent array's x-kubernetes-list-type is map");
    for (size_t i = 0; i < at_key; i++)
        if (sl_json_equal(yyjson_arr_get(keys, i), yyjson_arr_get(keys, at_key), NULL))
            sl_field_invalid(errs, SL_PATH(at, LIST_KEYS), sl_field_value_json(keys),
                             "must not contain duplicate entries");
    if (!prop)
        return;
    if (!names(yyjson_obj_get(items, "required"), k) && !has_default(prop))
        sl_field_required(errs, SL_PATH(here, "default"),
                          "this property is in x-kubernetes-list-map-keys, so it must have a "
                          "default or be a required property");
    if (is_true(prop, "nullable"))
        sl_field_forbidden(
            errs, SL_PATH(here, "nullable"),
            "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
}

static void check_keyed(yyjson_val *v, const struct sl_path *at, struct sl_field_errs *errs) {
    yyjson_val *keys = yyjson_obj_get(v, LIST_KEYS), *items = schema_at(v, "items");

    if (yyjson_arr_size(keys) == 0)
        sl_field_required(errs, SL_PATH(at, LIST_KEYS),
                          "must not be empty if x-kubernetes-list-type is map");
    if (!yyjson_obj_get(v, "items"))
        sl_field_required(errs, SL_PATH(at, "items"),
                          "must have a schema if x-kubernetes-list-type is map");
    else if (!items)
        sl_field_invalid(errs, SL_PATH(at, "items"),
                         sl_field_value_json(yyjson_obj_get(v, "items")),
                         "must only have a single schema if x-kubernetes-list-type is map");
    else if (!is_type(items, "object"))
        sl_field_invalid(errs, SL_PATH(SL_PATH(at, "items"), "type"),
                         sl_field_value_str(text_of(items, "type")),
                         "must be object if parent array's x-kubernetes-list-type is map");
    else if (yyjson_arr_size(keys) > SL_SCHEMA_KEYS_MAX)
        sl_field_too_many(errs, SL_PATH(at, LIST_KEYS), yyjson_arr_size(keys), SL_SCHEMA_KEYS_MAX);
    else
        for (size_t i = 0; i < yyjson_arr_size(keys); i++)
            check_key(keys, i, items, at, errs);
}

static void check_list_type(yyjson_val *v, const struct sl_path *at, struct sl_field_errs *errs) {
    static const char *const lists[] = {"atomic", "set", "map"};
    static const char *const maps[] = {"atomic", "granular"};
    static const char atomic[] = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const char *list = text_of(v, LIST_TYPE);
    yyjson_val *items = schema_at(v, "items");
    const struct sl_path *below = SL_PATH(at, "items");

    check_goes_with(v, MAP_TYPE, "object", maps, SL_LEN(maps), at, errs);
    check_goes_with(v, LIST_TYPE, "array", lists, SL_LEN(lists), at, errs);
    if (strcmp(list, "set") == 0 && is_type(items, "array") && *text_of(items, LIST_TYPE) &&
        strcmp(text_of(items, LIST_TYPE), "atomic") != 0)
        sl_field_invalid(errs, SL_PATH(below, LIST_TYPE),
                         sl_field_value_str(text_of(items, LIST_TYPE)), "%s", atomic);
    if (strcmp(list, "set") == 0 && is_type(items, "object") &&
        strcmp(text_of(items, MAP_TYPE), "atomic") != 0)
        sl_field_invalid(errs, SL_PATH(below, MAP_TYPE),
                         sl_field_value_json(yyjson_obj_get(items, LIST_TYPE)), "%s", atomic);
    if (yyjson_arr_size(yyjson_obj_get(v, LIST_KEYS)) > 0 && strcmp(list, "map") != 0) {
        static const char must[] = "must be map if x-kubernetes-list-map-keys is non-empty";
        if (!*list)
            sl_field_required(errs, SL_PATH(at, LIST_TYPE), must);
        else
            sl_field_invalid(errs, SL_PATH(at, LIST_TYPE), sl_field_value_str(list), "%s", must);
    }
    if (strcmp(list, "map") == 0)
        check_keyed(v, at, errs);
    if ((strcmp(list, "map") == 0 || strcmp(list, "set") == 0) && is_true(items, "nullable"))
        sl_field_forbidden(errs, SL_PATH(below, "nullable"),
                           "cannot be nullable when x-kubernetes-list-type is %s", list);
}

static void check_keywords(yyjson_val *v, struct where w, const struct sl_path *at,
                           struct sl_field_errs *errs) {
    yyjson_val *more = yyjson_obj_get(v, "additionalProperties"), *key, *item;
    yyjson_val *props = schema_crd_properties(v);
    struct where below = {.in_meta = w.in_meta, .no_defaults = w.no_defaults};
    size_t i, max;

    if (!v)
        return;
    check_supported(v, &w, at, errs);
    if (more && yyjson_obj_size(props) > 0 && !yyjson_is_true(more))
        sl_field_forbidden(errs, SL_PATH(at, "additionalProperties"),
                           "additionalProperties and properties are mutual exclusive");
    struct where in_map = below;
    in_map.no_defaults = " inside additionalProperties applying to object metadata";
    check_keywords(schema_at(v, "additionalProperties"), w.in_meta ? in_map : below,
                   SL_PATH(at, "additionalProperties"), errs);
    sl_obj_foreach (props, i, max, key, item) {
        struct where inside = below;
        const char *name = sl_json_text(key);
        bool meta = strcmp(name, "metadata") == 0 || strcmp(name, "apiVersion") == 0 ||
                    strcmp(name, "kind") == 0;
        if (meta && (w.root || is_true(v, EMBEDDED))) {
            inside.in_meta = true;
            if (w.root)
                inside.no_defaults = sl_arena_printf(errs->arena, " in top-level %s", name);
        }
        check_keywords(item, inside, SL_PATH_KEY(SL_PATH(at, "properties"), name), errs);
    }
    check_keywords(schema_at(v, "not"), below, SL_PATH(at, "not"), errs);
    for (size_t j = 0; j < SL_LEN(joins); j++) {
        yyjson_arr_foreach (yyjson_obj_get(v, joins[j]), i, max, item) {
            check_keywords(item, below, SL_PATH_AT(SL_PATH(at, joins[j]), i), errs);
        }
    }
    check_keywords(schema_at(v, "items"), below, SL_PATH(at, "items"), errs);
    if (yyjson_is_false(yyjson_obj_get(v, PRESERVE)))
        sl_field_invalid(errs, SL_PATH(at, PRESERVE),
                         sl_field_value_json(yyjson_obj_get(v, PRESERVE)),
                         "must be true or undefined");
    check_list_type(v, at, errs);
}

void schema_crd_check_words(yyjson_val *v, const struct sl_path *at, struct sl_field_errs *errs) {
    if (is_true(v, "nullable"))
        sl_field_forbidden(errs, SL_PATH(at, "nullable"), "nullable cannot be true at the root");
    check_keywords(v, (struct where){.root = true}, at, errs);
}
