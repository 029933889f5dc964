/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/stamp.h"

#define FEW_FIELDS 8u /* which are not worth an index */

/* What a text will need, found out before anything is allocated. yyjson reads any depth, but
 * writes, copies and compares by recursion, and so do we. What stands within strings does not
 * count. */
struct extent {
    uint32_t depth;
    size_t values; /* at least as many as there are */
};

static struct extent measure(const char *text, size_t len) {
    struct extent most = {.values = 1};
    bool in_string = false;
    uint32_t depth = 0;

    for (const char *p = text, *end = text + len; p < end; p++) {
        if (in_string) {
            if (*p == '\\')
                p++;
            else if (*p == '"')
                in_string = false;
        } else if (*p == '"') {
            in_string = true;
        } else if (*p == ',' || *p == ':') {
            most.values++;
        } else if (*p == '[' || *p == '{') {
            most.values++;
            if (++depth > most.depth)
                most.depth = depth;
        } else if ((*p == ']' || *p == '}') && depth > 0) {
            depth--;
        }
    }
    return most;
}

bool sl_json_too_deep(const char *text, size_t len) {
    return measure(text, len).depth > SL_JSON_MAX_DEPTH;
}

bool sl_json_too_many(const char *text, size_t len, size_t max_values) {
    return measure(text, len).values > max_values;
}

static bool deeper(yyjson_mut_val *v, uint32_t levels) {
    yyjson_mut_val *key, *item;
    size_t i, n;

    if (!yyjson_mut_is_ctn(v))
        return false;
    if (levels == 0)
        return true;
    yyjson_mut_arr_foreach (v, i, n, item) {
        if (deeper(item, levels - 1))
            return true;
    }
    yyjson_mut_obj_foreach (v, i, n, key, item) {
        if (deeper(item, levels - 1))
            return true;
    }
    return false;
}

bool sl_json_mut_too_deep(yyjson_mut_val *v) {
    return deeper(v, SL_JSON_MAX_DEPTH);
}

/* The values of a document stand one after the other. */
static bool too_wide(yyjson_doc *doc) {
    yyjson_val *v = yyjson_doc_get_root(doc);

    for (size_t n = yyjson_doc_get_val_count(doc); n > 0; n--, v++)
        if (yyjson_is_obj(v) && unsafe_yyjson_get_len(v) > SL_JSON_MAX_FIELDS)
            return true;
    return false;
}

int sl_json_read(const char *text, size_t len, yyjson_doc **ret, struct sl_err *err) {
    return sl_json_read_within(text, len, SL_JSON_MAX_VALUES, ret, err);
}

yyjson_doc *sl_json_doc(const char *text, size_t len) {
    yyjson_doc *doc = NULL;

    return text && sl_json_read(text, len, &doc, NULL) == 0 ? doc : NULL;
}

static int read_with(yyjson_read_flag flags, const char *text, size_t len, size_t max_values,
                     yyjson_doc **ret, struct sl_err *err) {
    struct extent most = measure(text, len);
    yyjson_read_err e;

    if (most.depth > SL_JSON_MAX_DEPTH)
        return sl_err_set(err, SL_ELIMIT, "JSON is nested deeper than %u levels",
                          SL_JSON_MAX_DEPTH);
    if (most.values > max_values)
        return sl_err_set(err, SL_ELIMIT, "JSON has more than %zu values", max_values);
    /* Without YYJSON_READ_INSITU the text is only read, despite the type. */
    yyjson_doc *doc = yyjson_read_opts((char *)text, len, flags, NULL, &e);
    if (!doc)
        return sl_err_set(err, SL_EINVAL, "JSON is not well-formed at byte %zu: %s", e.pos, e.msg);
    if (too_wide(doc)) {
        yyjson_doc_free(doc);
        return sl_err_set(err, SL_ELIMIT, "a JSON object has more than %u fields",
                          SL_JSON_MAX_FIELDS);
    }
    *ret = doc;
    return 0;
}

int sl_json_read_within(const char *text, size_t len, size_t max_values, yyjson_doc **ret,
                        struct sl_err *err) {
    return read_with(0, text, len, max_values, ret, err);
}

int sl_json_read_raw(const char *text, size_t len, size_t max_values, yyjson_doc **ret,
                     struct sl_err *err) {
    return read_with(YYJSON_READ_NUMBER_AS_RAW, text, len, max_values, ret, err);
}

static void *budget_realloc(void *ctx, void *p, size_t old_size, size_t size) {
    struct sl_json_budget *b = ctx;

    if (size > old_size && size - old_size > b->ceiling - b->used)
        return NULL;
    void *moved = realloc(p, size > 0 ? size : 1);
    if (moved)
        b->used = b->used - old_size + size;
    return moved;
}

static void *budget_malloc(void *ctx, size_t size) {
    return budget_realloc(ctx, NULL, 0, size);
}

static void budget_free(void *ctx, void *p) {
    (void)ctx;
    free(p);
}

yyjson_alc sl_json_budget_alc(struct sl_json_budget *b) {
    return (yyjson_alc){budget_malloc, budget_realloc, budget_free, b};
}

uint32_t sl_json_line(const char *text, size_t len, size_t pos) {
    uint32_t line = 1;

    for (size_t i = 0; i < pos && i < len; i++)
        line += text[i] == '\n';
    return line;
}

void sl_json_docp(yyjson_doc **d) {
    yyjson_doc_free(*d);
    *d = NULL;
}

void sl_json_mut_docp(yyjson_mut_doc **d) {
    yyjson_mut_doc_free(*d);
    *d = NULL;
}

static yyjson_val *not_null(yyjson_val *v) {
    return yyjson_is_null(v) ? NULL : v;
}

yyjson_val *sl_json_get(yyjson_val *v, const char *key) {
    return not_null(yyjson_obj_get(v, key));
}

yyjson_val *sl_json_at(yyjson_val *v, const char *path) {
    while (v && *path) {
        size_t n = strcspn(path, ".");
        v = yyjson_obj_getn(v, path, n);
        path += n + (path[n] == '.');
    }
    return not_null(v);
}

/* The values of a container stand behind it one after the other. */
bool sl_json_has_nul(yyjson_val *v) {
    if (!v)
        return false;
    for (yyjson_val *end = unsafe_yyjson_get_next(v); v < end; v++)
        if (yyjson_is_str(v) && sl_text_has_nul(sl_json_view(v)))
            return true;
    return false;
}

size_t sl_json_bytes(yyjson_val *v) {
    size_t n = 0;

    if (!v)
        return 0;
    for (yyjson_val *end = unsafe_yyjson_get_next(v); v < end; v++)
        n += sl_json_view(v).n;
    return n;
}

struct sl_text sl_json_raw(yyjson_val *v) {
    if (!yyjson_is_raw(v))
        return SL_TEXT("");
    return (struct sl_text){unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v)};
}

/* NULL if a NUL would cut it. */
static const char *text_without_nul(struct sl_text t) {
    return sl_text_has_nul(t) ? NULL : t.s;
}

const char *sl_json_opt(yyjson_val *v) {
    return yyjson_is_str(v) ? text_without_nul(sl_json_view(v)) : NULL;
}

const char *sl_json_mut_opt(yyjson_mut_val *v) {
    return yyjson_mut_is_str(v) ? text_without_nul(sl_json_mut_view(v)) : NULL;
}

const char *sl_json_text(yyjson_val *v) {
    const char *s = sl_json_opt(v);
    return s ? s : "";
}

const char *sl_json_mut_text(yyjson_mut_val *v) {
    const char *s = sl_json_mut_opt(v);
    return s ? s : "";
}

const char *sl_json_str(yyjson_val *v, const char *path) {
    return sl_json_text(sl_json_at(v, path));
}

int64_t sl_json_int(yyjson_val *v, const char *path, int64_t fallback) {
    yyjson_val *at = sl_json_at(v, path);

    if (yyjson_is_uint(at) && yyjson_get_uint(at) > INT64_MAX)
        return INT64_MAX;
    return yyjson_is_int(at) ? yyjson_get_sint(at) : fallback;
}

int32_t sl_json_int32(yyjson_val *v, const char *path, int32_t fallback) {
    int64_t n = sl_json_int(v, path, fallback);
    return n >= 0 && n <= INT32_MAX ? (int32_t)n : fallback;
}

bool sl_json_bool(yyjson_val *v, const char *path, bool fallback) {
    yyjson_val *at = sl_json_at(v, path);
    return yyjson_is_bool(at) ? yyjson_get_bool(at) : fallback;
}

sl_time sl_json_time(yyjson_val *v, const char *path) {
    sl_time t;

    return sl_stamp_parse(sl_json_str(v, path), &t) ? t : 0;
}

bool sl_json_quantity(yyjson_val *v, sl_quantity *ret) {
    if (yyjson_is_str(v)) {
        struct sl_text t = sl_json_view(v);
        return sl_quantity_parse(t.s, t.n, ret, NULL) == 0;
    }
    if (!yyjson_is_int(v))
        return false;
    *ret = (sl_quantity)sl_json_int(v, "", 0) * SL_NANO;
    return true;
}

size_t sl_json_size(yyjson_val *v) {
    return yyjson_is_ctn(v) ? unsafe_yyjson_get_len(v) : 0;
}

size_t sl_json_count(yyjson_val *v) {
    return v ? (size_t)(unsafe_yyjson_get_next(v) - v) : 0;
}

size_t sl_json_mut_size(yyjson_mut_val *v) {
    return yyjson_mut_is_ctn(v) ? unsafe_yyjson_get_len(v) : 0;
}

yyjson_val *sl_json_same_key(yyjson_val *object, yyjson_val *key) {
    struct sl_text t = sl_json_view(key);
    return yyjson_obj_getn(object, t.s, t.n);
}

/* ---- many fields of one object ---- */

static int by_key(const void *a, const void *b) {
    return sl_text_cmp(sl_json_view(*(yyjson_val *const *)a),
                       sl_json_view(*(yyjson_val *const *)b));
}

static int by_name(const void *name, const void *key) {
    return sl_text_cmp(*(const struct sl_text *)name, sl_json_view(*(yyjson_val *const *)key));
}

struct sl_json_fields sl_json_fields_of(yyjson_val *object) {
    if (yyjson_obj_size(object) == 0)
        return (struct sl_json_fields){0};
    return (struct sl_json_fields){.object = object,
                                   .next = unsafe_yyjson_get_first(object),
                                   .end = unsafe_yyjson_get_next(object)};
}

void sl_json_fields_done(struct sl_json_fields *f) {
    sl_freep(&f->keys);
}

static void sort_keys(struct sl_json_fields *f) {
    size_t i, n;
    yyjson_val *key, *val;

    f->keys = sl_alloc0(yyjson_obj_size(f->object) + 1, sizeof(*f->keys));
    sl_obj_foreach (f->object, i, n, key, val)
        f->keys[i] = key;
    qsort(f->keys, n, sizeof(*f->keys), by_key);
}

static yyjson_val *find_key(struct sl_json_fields *f, struct sl_text name) {
    size_t i, n;
    yyjson_val *key, *val;

    if (yyjson_obj_size(f->object) <= FEW_FIELDS) {
        sl_obj_foreach (f->object, i, n, key, val)
            if (sl_text_eq(sl_json_view(key), name))
                return key;
        return NULL;
    }
    if (!f->keys)
        sort_keys(f);
    yyjson_val **found =
        bsearch(&name, f->keys, yyjson_obj_size(f->object), sizeof(*f->keys), by_name);
    return found ? *found : NULL;
}

yyjson_val *sl_json_field(struct sl_json_fields *f, struct sl_text name) {
    yyjson_val *found = f->next;

    if (f->next == f->end || !sl_text_eq(sl_json_view(found), name))
        found = find_key(f, name);
    if (!found)
        return NULL;
    f->next = unsafe_yyjson_get_next(found + 1); /* a value follows its key */
    return found + 1;
}

yyjson_val *sl_json_find(yyjson_val *array, const char *key, const char *word) {
    size_t i, n;
    yyjson_val *item;

    yyjson_arr_foreach (array, i, n, item) {
        if (yyjson_equals_str(yyjson_obj_get(item, key), word))
            return item;
    }
    return NULL;
}

static yyjson_val *in_metadata(yyjson_val *object, const char *map, const char *key) {
    return yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(object, "metadata"), map), key);
}

const char *sl_json_label(yyjson_val *object, const char *key) {
    return sl_json_text(in_metadata(object, "labels", key));
}

const char *sl_json_annotation(yyjson_val *object, const char *key) {
    return sl_json_text(in_metadata(object, "annotations", key));
}

const char *sl_json_label_opt(yyjson_val *object, const char *key) {
    return sl_json_opt(in_metadata(object, "labels", key));
}

const char *sl_json_annotation_opt(yyjson_val *object, const char *key) {
    return sl_json_opt(in_metadata(object, "annotations", key));
}

bool sl_json_condition(yyjson_val *object, const char *type) {
    yyjson_val *c = sl_json_find(sl_json_at(object, "status.conditions"), "type", type);
    return yyjson_equals_str(yyjson_obj_get(c, "status"), "True");
}

/* ---- as text ---- */

/* What yyjson wrote, and its memory goes. */
static void put_written(struct sl_buf *b, char *json, size_t n) {
    if (json)
        sl_buf_add(b, json, n);
    else
        sl_buf_puts(b, "null");
    free(json);
}

void sl_json_put(struct sl_buf *b, yyjson_val *v) {
    size_t n = 0;
    char *json = yyjson_val_write(v, 0, &n);

    put_written(b, json, n);
}

void sl_json_mut_put(struct sl_buf *b, yyjson_mut_val *v) {
    size_t n = 0;
    char *json = yyjson_mut_val_write(v, 0, &n);

    put_written(b, json, n);
}

/* ---- meaning ---- */

/* Maps from resource names to quantities, wherever they stand. */
static bool holds_quantities(yyjson_val *key) {
    static const char *const names[] = {"requests", "limits",   "resourceUsage",
                                        "overhead", "capacity", "resources"};

    for (size_t i = 0; i < SL_LEN(names); i++)
        if (yyjson_equals_str(key, names[i]))
            return true;
    return false;
}

/* Whatever a typed reader would take for a field that is not there. */
static bool is_empty(yyjson_val *v) {
    size_t i, n;
    yyjson_val *key, *val;

    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
    case YYJSON_TYPE_ARR:
        return unsafe_yyjson_get_len(v) == 0;
    case YYJSON_TYPE_NUM:
        return yyjson_get_num(v) == 0;
    case YYJSON_TYPE_BOOL:
        return !yyjson_get_bool(v);
    case YYJSON_TYPE_OBJ:
        sl_obj_foreach (v, i, n, key, val) {
            if (!is_empty(val))
                return false;
        }
        return true;
    default:
        return true; /* absent, null */
    }
}

static bool values_same(yyjson_val *a, yyjson_val *b, bool quantities);

static bool skipped(yyjson_val *key, const char *const *skip) {
    for (; skip && *skip; skip++)
        if (yyjson_equals_str(key, *skip))
            return true;
    return false;
}

/* quantities: the fields are a map of quantities, not a record. */
static bool same_fields(yyjson_val *a, yyjson_val *b, const char *const *skip, bool quantities) {
    _cleanup_(sl_json_fields_done) struct sl_json_fields in_b = sl_json_fields_of(b);
    _cleanup_(sl_json_fields_done) struct sl_json_fields in_a = sl_json_fields_of(a);
    size_t i, n;
    yyjson_val *key, *val;

    sl_obj_foreach (a, i, n, key, val) {
        yyjson_val *other = sl_json_field(&in_b, sl_json_view(key));
        if (!skipped(key, skip) && !values_same(val, other, quantities || holds_quantities(key)))
            return false;
    }
    sl_obj_foreach (b, i, n, key, val) {
        if (!sl_json_field(&in_a, sl_json_view(key)) && !skipped(key, skip) && !is_empty(val))
            return false;
    }
    return true;
}

static bool same_items(yyjson_val *a, yyjson_val *b) {
    yyjson_arr_iter in_b = yyjson_arr_iter_with(b);
    size_t i, n;
    yyjson_val *item;

    if (yyjson_arr_size(a) != yyjson_arr_size(b))
        return false;
    yyjson_arr_foreach (a, i, n, item) {
        if (!values_same(item, yyjson_arr_iter_next(&in_b), false))
            return false;
    }
    return true;
}

static bool values_same(yyjson_val *a, yyjson_val *b, bool quantities) {
    sl_quantity qa, qb;

    /* Two objects are compared field by field, which is right for empty ones as well. To check on
     * each level whether it is empty would walk what is below once for each level above. */
    if (yyjson_is_obj(a) && yyjson_is_obj(b))
        return same_fields(a, b, NULL, quantities);
    if (is_empty(a) || is_empty(b))
        return is_empty(a) && is_empty(b);
    if (yyjson_is_arr(a) && yyjson_is_arr(b))
        return same_items(a, b);
    if (yyjson_is_num(a) && yyjson_is_num(b) && !(yyjson_is_int(a) && yyjson_is_int(b)))
        return yyjson_get_num(a) == yyjson_get_num(b);
    if (yyjson_equals(a, b))
        return true;
    return quantities && sl_json_quantity(a, &qa) && sl_json_quantity(b, &qb) && qa == qb;
}

bool sl_json_same(yyjson_val *a, yyjson_val *b) {
    return values_same(a, b, false);
}

bool sl_json_same_but(yyjson_val *a, yyjson_val *b, const char *const *skip) {
    return yyjson_is_obj(a) && yyjson_is_obj(b) ? same_fields(a, b, skip, false)
                                                : values_same(a, b, false);
}
