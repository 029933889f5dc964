/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of values against schemas. Which rules apply depends on the type of the value: a
 * string that should have been a number is an error, and is still validated by the rules for
 * strings, as the API server does.
 */
#include "cluster/schema/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/ceilings.h"
#include "cluster/schema/value.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "lib/pattern/pattern.h"

#define MAX_WORDS 256u /* of an enum, in a message */

struct checking {
    struct sl_field_errs *errs;
    const struct sl_path *base; /* path of the object; its own fields are below it */
    bool quiet;    /* only whether it is valid is needed, so that nothing is checked twice */
    uint32_t seen; /* values that were checked: of several schemas that fail, the one that fits best
                      has seen most */
    uint64_t *budget; /* of patterns */
    uint64_t
        *steps; /* of all else that may be checked for one value many times; 0: nothing more is */
};

/* What a definition may require of an object: values of enums and alternative schemas that a value
 * is compared with, and comparison with the stored value, on each level. */
#define STEPS ((uint64_t)4 << 20)
#define STEPS_PER_VALUE 16u
#define SUB_STEPS 16u /* a value held against one of several schemas */

static bool charge_steps(struct checking *c, uint64_t n) {
    *c->steps = *c->steps > n ? *c->steps - n : 0;
    return *c->steps > 0;
}

/* ---- messages ---- */

static const char *path_text(struct checking *c, const struct sl_path *at) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SCHEMA_PATH);
    _cleanup_(sl_buf_done) struct sl_buf base = SL_BUF_SHORT(SCHEMA_PATH);

    if (c->quiet || c->errs->n == SL_FIELD_ERRS_MAX)
        return "";
    if (at)
        sl_path_print(at, &text);
    if (c->base)
        sl_path_print(c->base, &base);
    const char *below = sl_buf_str(&text) + (base.len < text.len ? base.len : text.len);
    return sl_arena_strdup(c->errs->arena, *below == '.' ? below + 1 : below);
}

/* Go's name of what is at no path. */
#define NOWHERE SL_PATH(NULL, "<nil>")
#define PLACE(at) ((at) ? (at) : NOWHERE)
#define INVALID(c, at, bad, fmt, ...)                                                              \
    sl_field_invalid((c)->errs, PLACE(at), bad, "%s in body " fmt, path_text(c, at), __VA_ARGS__)

static const char *const type_words[] = {
    [SL_T_ANY] = "",
    [SL_T_OBJECT] = "object",
    [SL_T_MAP] = "object",
    [SL_T_LIST] = "array",
    [SL_T_STRING] = "string",
    [SL_T_INT] = "integer",
    [SL_T_NUMBER] = "number",
    [SL_T_BOOL] = "boolean",
    [SL_T_INT_OR_STRING] = "integer,string",
    [SL_T_QUANTITY] = "integer,string",
};

static const char *type_name_of(yyjson_val *v) {
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_NULL:
        return "null";
    case YYJSON_TYPE_BOOL:
        return "boolean";
    case YYJSON_TYPE_NUM:
        return yyjson_is_real(v) ? "number" : "integer";
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_ARR:
        return "array";
    default:
        return "object";
    }
}

static bool is_whole(yyjson_val *v) {
    return yyjson_is_int(v) ||
           (yyjson_is_real(v) && trunc(yyjson_get_real(v)) == yyjson_get_real(v));
}

static bool has_type(const struct sl_schema *s, yyjson_val *v) {
    switch (s->type) {
    case SL_T_ANY:
        return true;
    case SL_T_OBJECT:
    case SL_T_MAP:
        return yyjson_is_obj(v);
    case SL_T_LIST:
        return yyjson_is_arr(v);
    case SL_T_STRING:
        return yyjson_is_str(v);
    case SL_T_INT:
        return is_whole(v);
    case SL_T_NUMBER:
        return yyjson_is_num(v);
    case SL_T_BOOL:
        return yyjson_is_bool(v);
    case SL_T_INT_OR_STRING:
    case SL_T_QUANTITY:
        return yyjson_is_str(v) || is_whole(v);
    }
    return false;
}

/* ---- types ---- */

static void wrong_type(struct checking *c, const struct sl_path *at, const char *want,
                       const char *got) {
    sl_field_invalid(c->errs, PLACE(at), sl_field_value_str(got),
                     "%s in body must be of type %s: \"%s\"", path_text(c, at), want, got);
}

static void check_type(struct checking *c, const struct sl_schema *s, yyjson_val *v,
                       const struct sl_path *at) {
    bool formatted = s->format && s->type != SL_T_ANY;

    if (yyjson_is_null(v)) {
        if (s->type != SL_T_ANY && !s->nullable)
            wrong_type(c, at, type_words[s->type], "null");
    } else if (has_type(s, v)) {
        return;
    } else if (formatted && !yyjson_is_str(v) && !yyjson_is_arr(v)) {
        wrong_type(c, at, s->format,
                   yyjson_is_real(v)  ? "float64"
                   : yyjson_is_int(v) ? "int64"
                                      : "");
    } else if (!formatted || s->type == SL_T_INT || s->type == SL_T_NUMBER) {
        wrong_type(c, at, type_words[s->type], type_name_of(v));
    }
}

/* ---- rules ---- */

static bool is_one_of(yyjson_val *words, yyjson_val *v) {
    size_t i, max;
    yyjson_val *word;

    yyjson_arr_foreach (words, i, max, word) {
        if (sl_json_equal(word, v, NULL) ||
            (yyjson_is_num(word) && yyjson_is_num(v) && yyjson_get_num(word) == yyjson_get_num(v)))
            return true;
    }
    return false;
}

static void check_enum(struct checking *c, yyjson_val *words, yyjson_val *v,
                       const struct sl_path *at) {
    const char *text[MAX_WORDS];
    size_t i, max, n = 0;
    yyjson_val *word;

    if (!charge_steps(c, yyjson_arr_size(words)) || is_one_of(words, v))
        return;
    if (c->quiet) {
        c->errs->dropped++;
        return;
    }
    yyjson_arr_foreach (words, i, max, word) {
        if (n < MAX_WORDS && yyjson_is_str(word)) {
            text[n++] = sl_json_text(word);
        } else if (n < MAX_WORDS) {
            char *json = yyjson_val_write(word, 0, NULL);
            text[n++] = sl_arena_strdup(c->errs->arena, json ? json : "");
            free(json);
        }
    }
    sl_field_unsupported(
        c->errs, PLACE(at),
        yyjson_is_str(v) ? sl_field_value_text(sl_json_view(v)) : sl_field_value_json(v), text, n);
}

static int64_t letters(struct sl_text t) {
    int64_t n = 0;

    for (size_t i = 0; i < t.n; i++)
        n += (t.s[i] & 0xc0) != 0x80;
    return n;
}

/* The first that does not hold. */
static void check_text(struct checking *c, const struct sl_schema_rules *r, yyjson_val *v,
                       const struct sl_path *at) {
    struct sl_text t = sl_json_view(v);
    int64_t n = letters(t);

    if (r->letters.max >= 0 && n > r->letters.max)
        sl_field_too_long(c->errs, PLACE(at), (size_t)r->letters.max);
    else if (n < r->letters.min)
        INVALID(c, at, sl_field_value_text(t), "should be at least %lld chars long",
                (long long)r->letters.min);
    else if (r->compiled && !sl_pattern_matches(r->compiled, t.s, t.n, c->budget))
        INVALID(c, at, sl_field_value_text(t), "should match '%s'", r->pattern);
}

/* The shortest digits that mean this number, as Go prints it. */
static const char *number_text(double d, bool whole, char out[40]) {
    if (whole) {
        sl_fmt(out, 40, "%lld", (long long)d);
        return out;
    }
    for (int digits = 1; digits <= 17; digits++) {
        sl_fmt(out, 40, "%.*g", digits, d);
        if (strtod(out, NULL) == d)
            break;
    }
    return out;
}

static bool is_multiple(double d, double of) {
    double times = of < 1 ? 1 / of * d : d / of;
    return fabs(times - round(times)) <= 1e-9;
}

static void check_number(struct checking *c, const struct sl_schema *s, yyjson_val *v,
                         const struct sl_path *at) {
    const struct sl_schema_rules *r = s->rules;
    double d = yyjson_get_num(v);
    bool whole = yyjson_is_int(v);
    char text[40];

    bool narrow = s->format && strcmp(s->format, "int32") == 0;
    if (s->type == SL_T_INT && (!is_whole(v) || (narrow && (d > INT32_MAX || d < INT32_MIN)) ||
                                d >= 0x1p63 || d < -0x1p63))
        sl_field_invalid(c->errs, NOWHERE, sl_field_value_str(""),
                         "Checked value must be of type integer %s%s in %s",
                         s->format ? "with format " : "(default format)",
                         s->format ? s->format : "", path_text(c, at));
    if (!r)
        return;
    if (r->multiple_of > 0 && !is_multiple(d, r->multiple_of))
        INVALID(c, at, sl_field_value_json(v), "should be a multiple of %s",
                number_text(r->multiple_of, whole, text));
    if (r->has_min && (r->exclusive_min ? d <= r->min : d < r->min))
        INVALID(c, at, sl_field_value_json(v), "should be greater than %s%s",
                r->exclusive_min ? "" : "or equal to ", number_text(r->min, whole, text));
    if (r->has_max && (r->exclusive_max ? d >= r->max : d > r->max))
        INVALID(c, at, sl_field_value_json(v), "should be less than %s%s",
                r->exclusive_max ? "" : "or equal to ", number_text(r->max, whole, text));
}

/* ---- several schemas ---- */

static void check_value(struct checking *c, const struct sl_schema *s, yyjson_val *v,
                        yyjson_val *old, const struct sl_path *at);

/* Is it valid? Errors are discarded. */
static bool value_holds(struct checking *c, const struct sl_schema *s, yyjson_val *v,
                        const struct sl_path *at, uint32_t *ret_seen) {
    struct sl_field_errs errs;
    struct checking sub = {
        .errs = &errs, .base = c->base, .quiet = true, .budget = c->budget, .steps = c->steps};

    errs.arena = NULL; /* of the texts, of which there are none, only the number is set */
    errs.n = errs.dropped = 0;
    errs.silent = true;
    check_value(&sub, s, v, NULL, at);
    *ret_seen = sub.seen;
    return errs.dropped == 0;
}

/* How many of them hold; *ret_best: the one that fits best of those that do not. */
static uint32_t how_many_hold(struct checking *c, const struct sl_schema *const *of, uint32_t n,
                              yyjson_val *v, const struct sl_path *at,
                              const struct sl_schema **ret_best) {
    uint32_t good = 0, seen, most = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (value_holds(c, of[i], v, at, &seen)) {
            good++;
        } else if (seen > most) {
            most = seen;
            *ret_best = of[i];
        }
    }
    return good;
}

static void check_all_of(struct checking *c, const struct sl_schema_rules *r, yyjson_val *v,
                         const struct sl_path *at) {
    uint32_t good = 0;

    for (uint32_t i = 0; i < r->n_all_of; i++) {
        uint32_t before = c->errs->n + c->errs->dropped;
        (void)charge_steps(c, SUB_STEPS);
        check_value(c, r->all_of[i], v, NULL, at);
        good += c->errs->n + c->errs->dropped == before;
    }
    if (good < r->n_all_of)
        sl_field_invalid(c->errs, NOWHERE, sl_field_value_str(""),
                         "\"%s\" must validate all the schemas (allOf)%s", path_text(c, at),
                         good == 0 ? ". None validated" : "");
}

static void check_logic(struct checking *c, const struct sl_schema_rules *r, yyjson_val *v,
                        const struct sl_path *at) {
    const struct sl_schema *best = NULL;
    uint32_t good, seen;

    if (r->n_any_of > 0 && how_many_hold(c, r->any_of, r->n_any_of, v, at, &best) == 0) {
        sl_field_invalid(c->errs, NOWHERE, sl_field_value_str(""),
                         "\"%s\" must validate at least one schema (anyOf)", path_text(c, at));
        if (!c->quiet)
            check_value(c, best, v, NULL, at);
    }
    if (r->n_one_of > 0 && (good = how_many_hold(c, r->one_of, r->n_one_of, v, at, &best)) != 1) {
        char found[48] = "Found none valid";
        if (good > 0)
            sl_fmt(found, sizeof(found), "Found %u valid alternatives", good);
        sl_field_invalid(c->errs, NOWHERE, sl_field_value_str(""),
                         "\"%s\" must validate one and only one schema (oneOf). %s",
                         path_text(c, at), found);
        if (good == 0 && !c->quiet)
            check_value(c, best, v, NULL, at);
    }
    check_all_of(c, r, v, at);
    if (r->none_of && value_holds(c, r->none_of, v, at, &seen))
        sl_field_invalid(c->errs, NOWHERE, sl_field_value_str(""),
                         "\"%s\" must not validate the schema (not)", path_text(c, at));
}

/* ---- lists and objects ---- */

static void check_items(struct checking *c, const struct sl_schema *s, yyjson_val *v,
                        yyjson_val *old, const struct sl_path *at) {
    const struct sl_schema_rules *r = s->rules;
    int64_t n = (int64_t)yyjson_arr_size(v);
    size_t i, max;
    yyjson_val *item;

    if (s->items && s->type != SL_T_MAP) {
        struct sl_json_seek before;
        sl_json_seek_items(&before, old, s->keys, s->merge == SL_MERGE_KEYED ? s->n_keys : 0);
        yyjson_arr_foreach (v, i, max, item) {
            check_value(c, s->items, item, sl_json_seek_item(&before, item), SL_PATH_AT(at, i));
        }
        sl_json_seek_done(&before);
    }
    if (r && n < r->items.min)
        INVALID(c, at, sl_field_value_int(n), "should have at least %lld items",
                (long long)r->items.min);
    if (r && r->items.max >= 0 && n > r->items.max)
        sl_field_too_many(c->errs, PLACE(at), (size_t)n, (size_t)r->items.max);
}

static void check_embedded(struct checking *c, yyjson_val *v, const struct sl_path *at) {
    static const char *const names[] = {"apiVersion", "kind"};

    for (size_t i = 0; i < SL_LEN(names); i++) {
        yyjson_val *x = yyjson_obj_get(v, names[i]);
        if (!x)
            sl_field_required(c->errs, SL_PATH(at, names[i]), "");
        else if (yyjson_is_str(x) && sl_json_view(x).n == 0)
            sl_field_invalid(c->errs, SL_PATH(at, names[i]), sl_field_value_str(""),
                             "must not be empty");
    }
}

static void report_missing(struct checking *c, const struct sl_schema *s, yyjson_val *v,
                           const struct sl_path *at) {
    if (c->quiet) {
        c->errs->dropped++;
        return;
    }
    bool *there = sl_alloc0(s->n_fields, sizeof(*there));
    size_t i, max;
    yyjson_val *key, *item;

    sl_obj_foreach (v, i, max, key, item) {
        const struct sl_schema_field *f =
            sl_schema_field(s, sl_json_view(key).s, sl_json_view(key).n);
        if (f)
            there[f - s->fields] = true;
    }
    for (uint32_t f = 0; f < s->n_fields; f++)
        if (s->fields[f].required && !there[f])
            sl_field_required(c->errs, SL_PATH(at, s->fields[f].name), "");
    sl_freep(&there);
}

static void check_fields(struct checking *c, const struct sl_schema *s, yyjson_val *v,
                         yyjson_val *old, const struct sl_path *at) {
    const struct sl_schema_rules *r = s->rules;
    int64_t n = (int64_t)yyjson_obj_size(v);
    size_t i, max;
    yyjson_val *key, *item;

    if (r && n < r->fields.min)
        INVALID(c, at, sl_field_value_int(n), "should have at least %lld properties",
                (long long)r->fields.min);
    if (r && r->fields.max >= 0 && n > r->fields.max)
        sl_field_too_many(c->errs, PLACE(at), (size_t)n, (size_t)r->fields.max);
    _cleanup_(sl_json_fields_done) struct sl_json_fields before = sl_json_fields_of(old);
    uint32_t required = 0;
    sl_obj_foreach (v, i, max, key, item) {
        struct sl_text name = sl_json_view(key);
        const struct sl_schema_field *f = sl_schema_field(s, name.s, name.n);
        const struct sl_schema *of = f ? f->schema : s->type == SL_T_MAP ? s->items : NULL;
        required += f && f->required;
        if (of && !of->go)
            check_value(c, of, item, sl_json_field(&before, name), SL_PATH(at, name.s));
    }
    if (required < s->n_required)
        report_missing(c, s, v, at);
    if (s->embedded && at != c->base)
        check_embedded(c, v, at);
}

static void check_value(struct checking *c, const struct sl_schema *s, yyjson_val *v,
                        yyjson_val *old, const struct sl_path *at) {
    const struct sl_schema_rules *r = s->rules;

    uint64_t cost = c->quiet ? SUB_STEPS : 1;

    c->seen++;
    if (c->errs->n == SL_FIELD_ERRS_MAX || *c->steps == 0 ||
        (old && sl_json_equal(v, old, &cost)) || !charge_steps(c, cost))
        return; /* the list of errors is full, or nothing changed */
    check_type(c, s, v, at);
    if (!yyjson_is_null(v)) {
        if (r)
            check_logic(c, r, v, at);
        if (r && yyjson_is_str(v))
            check_text(c, r, v, at);
        if (yyjson_is_str(v) && s->format && s->type != SL_T_LIST &&
            !schema_value_format(s->format, sl_json_view(v).s, sl_json_view(v).n))
            INVALID(c, at, sl_field_value_text(sl_json_view(v)), "must be of type %s: \"%s\"",
                    s->format, sl_json_text(v));
        if (yyjson_is_num(v))
            check_number(c, s, v, at);
        if (yyjson_is_arr(v))
            check_items(c, s, v, old, at);
    }
    if (r && r->words)
        check_enum(c, r->words, v, at);
    if (yyjson_is_obj(v))
        check_fields(c, s, v, old, at);
}

/* ---- sets and keyed lists ---- */

/* What an item is known by: itself, or its keys. */
static yyjson_mut_val *identity(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_val *item) {
    if (s->merge == SL_MERGE_SET)
        return yyjson_val_mut_copy(doc, item);
    yyjson_mut_val *keys = yyjson_mut_obj(doc);
    for (uint32_t k = 0; k < s->n_keys; k++) {
        yyjson_val *v = yyjson_obj_get(item, s->keys[k]);
        if (v)
            yyjson_mut_obj_add_val(doc, keys, s->keys[k], yyjson_val_mut_copy(doc, v));
    }
    return keys;
}

/* A value as bytes: type, length, content. They are equal if and only if the values are; of
 * objects, whose fields are taken in their order, only if. */
static void put_bytes(struct sl_buf *out, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);
    uint32_t len = (uint32_t)t.n;
    size_t n = 0;
    char *json;

    sl_buf_putc(out, (char)yyjson_get_tag(v)); /* 0: there is none */
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        sl_buf_add(out, (const char *)&len, sizeof(len));
        sl_buf_add(out, t.s, t.n);
        break;
    case YYJSON_TYPE_NUM:
        sl_buf_add(out, (const char *)&v->uni, sizeof(v->uni.u64));
        break;
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ:
        json = yyjson_val_write(v, 0, &n);
        sl_buf_add(out, json ? json : "", n);
        free(json);
        break;
    default:
        break;
    }
}

struct known {
    yyjson_val *item;
    const char *bytes; /* of its identity */
    size_t from, len, at;
};

static int by_bytes(const void *a, const void *b) {
    const struct known *x = a, *y = b;
    int r = x->len != y->len ? (x->len < y->len ? -1 : 1) : memcmp(x->bytes, y->bytes, x->len);
    return r != 0 ? r : x->at < y->at ? -1 : 1;
}

static int by_place(const void *a, const void *b) {
    const struct known *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void report_double(struct sl_field_errs *errs, const struct sl_schema *s,
                          const struct known *k, const struct sl_path *at) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    sl_assert(doc);
    yyjson_doc *copy = yyjson_mut_val_imut_copy(identity(s, doc, k->item), NULL);
    yyjson_val *v = yyjson_doc_get_root(copy);
    bool text = yyjson_is_str(v);
    sl_field_duplicate(errs, SL_PATH_AT(at, k->at),
                       text ? sl_field_value_text(sl_json_view(v)) : sl_field_value_json(v), "");
    yyjson_doc_free(copy);
    yyjson_mut_doc_free(doc);
}

/* The second of equal items is reported; further ones are not. */
static void report_doubles(struct sl_field_errs *errs, const struct sl_schema *s,
                           struct known *known, size_t n, const struct sl_path *at) {
    size_t copy = 0;

    qsort(known, n, sizeof(*known), by_bytes);
    for (size_t i = 1, run = 1; i < n; i++) {
        bool same = known[i].len == known[i - 1].len &&
                    memcmp(known[i].bytes, known[i - 1].bytes, known[i].len) == 0;
        run = same ? run + 1 : 1;
        if (run == 2)
            known[copy++] = known[i];
    }
    qsort(known, copy, sizeof(*known), by_place);
    for (size_t i = 0; i < copy && errs->n < SL_FIELD_ERRS_MAX; i++)
        report_double(errs, s, &known[i], at);
}

static void check_doubles(struct sl_field_errs *errs, const struct sl_schema *s, yyjson_val *list,
                          const struct sl_path *at) {
    _cleanup_(sl_buf_done) struct sl_buf bytes = SL_BUF(SCHEMA_IDENTITIES);
    size_t i, max, n = yyjson_arr_size(list);
    struct known *known = sl_alloc0(n, sizeof(*known));
    yyjson_val *item;

    yyjson_arr_foreach (list, i, max, item) {
        known[i] = (struct known){.item = item, .from = bytes.len, .at = i};
        if (s->merge == SL_MERGE_SET)
            put_bytes(&bytes, item);
        for (uint32_t k = 0; s->merge != SL_MERGE_SET && k < s->n_keys; k++)
            put_bytes(&bytes, yyjson_obj_get(item, s->keys[k]));
        known[i].len = bytes.len - known[i].from;
    }
    for (i = 0; i < n; i++)
        known[i].bytes = sl_buf_str(&bytes) + known[i].from;
    if (sl_buf_full(&bytes))
        sl_field_too_long(errs, PLACE(at), SCHEMA_IDENTITIES);
    else
        report_doubles(errs, s, known, n, at);
    sl_freep(&known);
}

static void check_lists(struct sl_field_errs *errs, const struct sl_schema *s, yyjson_val *v,
                        const struct sl_path *at) {
    size_t i, max;
    yyjson_val *key, *item;

    if (s->type == SL_T_LIST && yyjson_is_arr(v)) {
        bool keyed = s->merge == SL_MERGE_KEYED;
        yyjson_arr_foreach (v, i, max, item) {
            if (keyed && !yyjson_is_obj(item) && !yyjson_is_null(item)) {
                sl_field_invalid(errs, SL_PATH_AT(at, i), sl_field_value_json(item),
                                 "must be an object for an array of list-type map");
                return;
            }
        }
        if (yyjson_arr_size(v) > 1 && (keyed || s->merge == SL_MERGE_SET))
            check_doubles(errs, s, v, at);
        yyjson_arr_foreach (v, i, max, item) {
            check_lists(errs, s->items, item, SL_PATH_AT(at, i));
        }
    } else if (s->type == SL_T_MAP && yyjson_is_obj(v)) {
        sl_obj_foreach (v, i, max, key, item) {
            check_lists(errs, s->items, item, SL_PATH_KEY(at, sl_json_text(key)));
        }
    } else if (s->type == SL_T_OBJECT && yyjson_is_obj(v)) {
        sl_obj_foreach (v, i, max, key, item) {
            struct sl_text name = sl_json_view(key);
            const struct sl_schema_field *f = sl_schema_field(s, name.s, name.n);
            if (f && !f->schema->go)
                check_lists(errs, f->schema, item, SL_PATH(at, f->name));
        }
    }
}

void sl_schema_check_update(const struct sl_schema *s, yyjson_val *object, yyjson_val *old,
                            const struct sl_path *at, struct sl_field_errs *errs) {
    uint64_t budget = SL_PATTERN_BUDGET;
    uint64_t steps = STEPS + STEPS_PER_VALUE * (sl_json_count(object) + sl_json_count(old));
    struct checking c = {.errs = errs, .base = at, .budget = &budget, .steps = &steps};

    if (s->go)
        return;
    check_value(&c, s, object, old, at);
    if (steps == 0)
        sl_field_invalid(errs, NOWHERE, sl_field_value_json(NULL),
                         "validation failed due to running out of cost budget, no further "
                         "validation rules will be run");
    check_lists(errs, s, object, at);
}

void sl_schema_check(const struct sl_schema *s, yyjson_val *object, const struct sl_path *at,
                     struct sl_field_errs *errs) {
    sl_schema_check_update(s, object, NULL, at, errs);
}
