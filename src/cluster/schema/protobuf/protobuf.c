/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message is a sequence of (number, kind of value, value). The table of its type maps numbers to
 * fields; the schema of the field determines the encoding of the value. Lists and maps are repeated
 * fields.
 */
#include "cluster/schema/protobuf/protobuf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/builtin.h"
#include "cluster/schema/ceilings.h"
#include "cluster/schema/check.h"
#include "cluster/schema/protobuf/rows.h"
#include "core/base/base64.h"
#include "core/base/collection/vec.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

#define MAX_NAME 256u
#define MAX_DEPTH 64u /* of messages; the JSON is at most twice as deep */

/* ---- the numbers ---- */

struct number {
    const char
        *name; /* with a capital letter: a struct klet_node_owner fields are the object's own */
    uint32_t n;
};

struct type {
    const char *name; /* "io.k8s.api.core.v1.PodSpec" */
    const struct number *numbers;
    uint32_t n;
};

struct sl_protobuf {
    struct sl_arena arena;
    SL_VEC(struct type) types; /* by name */
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct type *)a)->name, ((const struct type *)b)->name);
}

static const struct type *type_of(const struct sl_protobuf *w, const char *name) {
    struct type key = {.name = name};

    return name ? bsearch(&key, w->types.v, w->types.n, sizeof key, by_name) : NULL;
}

/* "TYPE name=1 other=2" */
static void read_type(struct sl_protobuf *w, const char *package, const char *line, size_t len) {
    struct number found[SL_TYPES_MAX_FIELDS];
    uint32_t n = 0;
    size_t at = 0;

    while (at < len && line[at] != ' ')
        at++;
    struct type t = {.name = sl_arena_printf(&w->arena, "%s.%.*s", package, (int)at, line)};
    while (at < len && n < SL_LEN(found)) {
        const char *word = line + ++at;
        const char *is = memchr(word, '=', len - at);
        sl_assert(is);
        found[n].name = sl_arena_strndup(&w->arena, word, (size_t)(is - word));
        found[n++].n = (uint32_t)strtoul(is + 1, NULL, 10);
        while (at < len && line[at] != ' ')
            at++;
    }
    struct number *kept = sl_arena_alloc(&w->arena, n * sizeof *kept + 1);
    memcpy(kept, found, n * sizeof *kept);
    t.numbers = kept;
    t.n = n;
    *sl_vec_push(&w->types) = t;
}

int sl_protobuf_new(struct sl_protobuf **ret, struct sl_err *err) {
    static const char package_is[] = "package ";
    struct sl_protobuf *w = sl_alloc0(1, sizeof *w);
    const char *package = NULL;

    sl_arena_init(&w->arena, SCHEMA_PROTOBUF_ARENA);
    for (const char *p = schema_builtin_numbers[0].text, *end; *p; p = end + 1) {
        end = strchrnul(p, '\n');
        if (strncmp(p, package_is, strlen(package_is)) == 0)
            package = sl_arena_strndup(&w->arena, p + strlen(package_is),
                                       (size_t)(end - p) - strlen(package_is));
        else if (*p != '#' && package)
            read_type(w, package, p, (size_t)(end - p));
        if (!*end)
            break;
    }
    if (w->types.n == 0) {
        sl_protobuf_free(w);
        return sl_err_set(err, SL_EINVAL, "no field numbers");
    }
    qsort(w->types.v, w->types.n, sizeof w->types.v[0], by_name);
    *ret = w;
    return SL_OK;
}

void sl_protobuf_free(struct sl_protobuf *w) {
    if (!w)
        return;
    sl_vec_free(&w->types);
    sl_arena_done(&w->arena);
    sl_freep(&w);
}

/* ---- values ---- */

struct reader {
    const struct sl_protobuf *w;
    yyjson_mut_doc *doc;
    struct sl_err *err;
    uint32_t depth;
};

static yyjson_mut_val *string(struct reader *r, struct schema_bytes s) {
    size_t n = schema_bytes_len(s);
    return n ? yyjson_mut_strncpy(r->doc, (const char *)s.at, n) : yyjson_mut_str(r->doc, "");
}

static yyjson_mut_val *base64(struct reader *r, struct schema_bytes s) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(schema_bytes_len(s) * 2 + 8);

    if (schema_bytes_len(s))
        sl_base64_encode(&b, (const char *)s.at, schema_bytes_len(s));
    return yyjson_mut_strncpy(r->doc, sl_buf_str(&b), b.len);
}

/* Seconds and nanoseconds. An empty message is the time that means none. */
static int point(struct reader *r, struct schema_bytes s, bool micro, yyjson_mut_val **ret) {
    static const struct schema_row_part parts[] = {{"Seconds", VARINT}, {"Nanos", VARINT}};
    struct schema_row found[SL_ROW_PARTS];
    char out[SL_STAMP_TEXT];

    if (s.at == s.end)
        return SL_OK;
    int e = schema_row_parts(s, "Timestamp", parts, SL_LEN(parts), found, r->err);
    if (e < 0)
        return e;
    int64_t sec = (int64_t)found[0].num, nano = micro ? (int32_t)found[1].num : 0;
    if (sec < INT64_MIN / SL_SEC + 4 || sec > INT64_MAX / SL_SEC - 4)
        return sl_err_set(r->err, SL_EINVAL, "proto: the time is out of range");
    sl_time t = sec * SL_SEC + nano;
    *ret = yyjson_mut_strcpy(r->doc, micro ? sl_stamp_micro(t, out) : sl_stamp(t, out));
    return SL_OK;
}

static bool is_deeper(yyjson_val *v, uint32_t left) {
    yyjson_val *key, *item;
    size_t i, n;

    if (left == 0 && yyjson_is_ctn(v))
        return true;
    if (yyjson_is_arr(v)) {
        yyjson_arr_foreach (v, i, n, item) {
            if (is_deeper(item, left - 1))
                return true;
        }
    } else if (yyjson_is_obj(v)) {
        sl_obj_foreach (v, i, n, key, item) {
            if (is_deeper(item, left - 1))
                return true;
        }
    }
    return false;
}

/* Embedded JSON: RawExtension, FieldsV1. If it is malformed, it counts as absent. The whole is no
 * deeper than other JSON that is read. */
static int raw_json(struct reader *r, struct schema_bytes s, yyjson_mut_val **ret) {
    static const struct schema_row_part parts[] = {{"Raw", BYTES}};
    struct schema_row found[SL_ROW_PARTS];
    yyjson_doc *d = NULL;
    int e = schema_row_parts(s, "RawExtension", parts, SL_LEN(parts), found, r->err);

    if (e < 0 || schema_bytes_len(found[0].bytes) == 0 ||
        sl_json_read((const char *)found[0].bytes.at, schema_bytes_len(found[0].bytes), &d, NULL) <
            0)
        return e;
    if (is_deeper(yyjson_doc_get_root(d), SL_JSON_MAX_DEPTH - 2 * r->depth))
        e = sl_err_set(r->err, SL_ELIMIT, "proto: exceeded max depth");
    else
        *ret = yyjson_val_mut_copy(r->doc, yyjson_doc_get_root(d));
    yyjson_doc_free(d);
    return e;
}

static int int_or_string(struct reader *r, struct schema_bytes s, yyjson_mut_val **ret) {
    static const struct schema_row_part parts[] = {
        {"Type", VARINT}, {"IntVal", VARINT}, {"StrVal", BYTES}};
    struct schema_row found[SL_ROW_PARTS];
    int e = schema_row_parts(s, "IntOrString", parts, SL_LEN(parts), found, r->err);

    if (e < 0)
        return e;
    if (found[0].num > 1)
        return sl_err_set(r->err, SL_EINVAL, "proto: IntOrString: impossible type");
    *ret = found[0].num == 1 ? string(r, found[2].bytes)
                             : yyjson_mut_sint(r->doc, (int32_t)found[1].num);
    return SL_OK;
}

static int quantity(struct reader *r, struct schema_bytes s, yyjson_mut_val **ret) {
    static const struct schema_row_part parts[] = {{"String_", BYTES}};
    struct schema_row found[SL_ROW_PARTS];
    int e = schema_row_parts(s, "Quantity", parts, SL_LEN(parts), found, r->err);

    if (e >= 0)
        *ret = found[0].n ? string(r, found[0].bytes) : yyjson_mut_str(r->doc, "0");
    return e;
}

/* Lists of texts that are values of a map: a message of one field. */
static int texts(struct reader *r, struct schema_bytes s, yyjson_mut_val **ret) {
    struct schema_row row;
    int e;

    *ret = yyjson_mut_arr(r->doc);
    while ((e = schema_row_next(&s, "ExtraValue", &row, r->err)) > 0) {
        if (row.n == 1 && row.wire != BYTES)
            return schema_row_wrong(&row, "Items", r->err);
        if (row.n == 1)
            (void)yyjson_mut_arr_append(*ret, string(r, row.bytes));
    }
    return e;
}

static int message(struct reader *r, const struct type *t, const struct sl_schema *s,
                   struct schema_bytes bytes, yyjson_mut_val *object);

static bool is_go(const struct sl_schema *s, const char *go) {
    return s->go && strcmp(s->go, go) == 0;
}

static enum schema_row_wire wire_of(const struct sl_schema *s) {
    switch (s->type) {
    case SL_T_BOOL:
    case SL_T_INT:
        return VARINT;
    case SL_T_NUMBER:
        return FIXED64;
    default:
        return BYTES;
    }
}

static int read_text(struct reader *r, const struct sl_schema *s, struct schema_bytes bytes,
                     yyjson_mut_val **ret) {
    if (is_go(s, "v1.Time") || is_go(s, "v1.MicroTime"))
        return point(r, bytes, is_go(s, "v1.MicroTime"), ret);
    *ret = s->format && strcmp(s->format, "byte") == 0 ? base64(r, bytes) : string(r, bytes);
    return SL_OK;
}

/* The value of one row, which has the right type; *ret is NULL if it is empty. 'before': the object
 * that an earlier row has begun; NULL: none. */
static int read_value(struct reader *r, const struct sl_schema *s, const struct schema_row *row,
                      yyjson_mut_val *before, yyjson_mut_val **ret) {
    double number;

    *ret = NULL;
    switch (s->type) {
    case SL_T_BOOL:
        *ret = yyjson_mut_bool(r->doc, row->num != 0);
        return SL_OK;
    case SL_T_INT:
        *ret = yyjson_mut_sint(r->doc, s->format && strcmp(s->format, "int32") == 0
                                           ? (int32_t)row->num
                                           : (int64_t)row->num);
        return SL_OK;
    case SL_T_NUMBER:
        memcpy(&number, &row->num, sizeof number);
        *ret = yyjson_mut_real(r->doc, number);
        return SL_OK;
    case SL_T_QUANTITY:
        return quantity(r, row->bytes, ret);
    case SL_T_INT_OR_STRING:
        return int_or_string(r, row->bytes, ret);
    case SL_T_ANY:
        return raw_json(r, row->bytes, ret);
    case SL_T_STRING:
        return read_text(r, s, row->bytes, ret);
    case SL_T_OBJECT:
        if (is_go(s, "v1.FieldsV1"))
            return raw_json(r, row->bytes, ret);
        *ret = before ? before : yyjson_mut_obj(r->doc);
        return message(r, type_of(r->w, s->name), s, row->bytes, *ret);
    case SL_T_LIST:
        return texts(r, row->bytes, ret);
    case SL_T_MAP: /* of maps: there are none */
        return SL_OK;
    }
    return SL_OK;
}

/* ---- fields ---- */

/* Structs are filled from messages, and there an empty value is none. */
static bool is_default(const struct sl_schema_field *f, yyjson_mut_val *v) {
    if (f->pointer || f->always)
        return false;
    return yyjson_mut_equals_strn(v, "", 0) || yyjson_mut_is_false(v) ||
           (yyjson_mut_is_int(v) && yyjson_mut_get_sint(v) == 0);
}

/* As the field of the struct is called, which it nearly always is. */
static int wrong_field(struct reader *r, const struct sl_schema_field *f,
                       const struct schema_row *row) {
    char name[MAX_NAME];

    sl_fmt(name, sizeof name, "%s", strcmp(f->name, "metadata") == 0 ? "objectMeta" : f->name);
    name[0] = (char)toupper((unsigned char)name[0]);
    return schema_row_wrong(row, name, r->err);
}

static int list_item(struct reader *r, const struct sl_schema_field *f, struct schema_row row,
                     yyjson_mut_val *list) {
    const struct sl_schema *items = f->schema->items;
    struct schema_bytes packed = row.bytes;
    yyjson_mut_val *v;
    int e = SL_OK;

    if (row.wire == BYTES && wire_of(items) == VARINT) {
        while (packed.at < packed.end) {
            if ((e = schema_row_varint(&packed, &row.num, r->err)) < 0 ||
                (e = read_value(r, items, &row, NULL, &v)) < 0)
                return e;
            (void)yyjson_mut_arr_append(list, v);
        }
        return SL_OK;
    }
    if (row.wire != wire_of(items))
        return wrong_field(r, f, &row);
    e = read_value(r, items, &row, NULL, &v);
    if (e >= 0 && v)
        (void)yyjson_mut_arr_append(list, v);
    return e;
}

/* A key that comes again stands twice at first: sl_strict_keep_last. */
static int map_item(struct reader *r, const struct sl_schema_field *f, const struct schema_row *row,
                    yyjson_mut_val *map) {
    const struct sl_schema *items = f->schema->items;
    const struct schema_row_part parts[] = {{"key", BYTES}, {"value", wire_of(items)}};
    struct schema_row found[SL_ROW_PARTS];
    yyjson_mut_val *v;

    if (row->wire != BYTES)
        return wrong_field(r, f, row);
    int e = schema_row_parts(row->bytes, f->name, parts, SL_LEN(parts), found, r->err);
    if (e < 0)
        return e;
    e = read_value(r, items, &found[1], NULL, &v);
    if (e >= 0 && v)
        (void)yyjson_mut_obj_add(map, string(r, found[0].bytes), v);
    return e;
}

static int field(struct reader *r, const struct sl_schema_field *f, const struct schema_row *row,
                 yyjson_mut_val *object) {
    const struct sl_schema *s = f->schema;
    yyjson_mut_val *before = yyjson_mut_obj_get(object, f->name), *v;

    if (s->type == SL_T_LIST || s->type == SL_T_MAP) { /* each row is an item */
        bool list = s->type == SL_T_LIST;
        if (!before) {
            before = list ? yyjson_mut_arr(r->doc) : yyjson_mut_obj(r->doc);
            (void)yyjson_mut_obj_add_val(r->doc, object, f->name, before);
        }
        return list ? list_item(r, f, *row, before) : map_item(r, f, row, before);
    }
    if (row->wire != wire_of(s))
        return wrong_field(r, f, row);
    int e = read_value(r, s, row, before, &v);
    if (e < 0 || v == before)
        return e;
    if (before) /* the last one counts */
        (void)yyjson_mut_obj_remove_key(object, f->name);
    if (v && !is_default(f, v))
        (void)yyjson_mut_obj_add_val(r->doc, object, f->name, v);
    return SL_OK;
}

/* ---- messages ---- */

/* The struct without a name in JSON that a type holds: of the same package. */
static const struct type *part_of(const struct sl_protobuf *w, const struct type *t,
                                  const char *part) {
    char name[MAX_NAME];

    sl_fmt(name, sizeof name, "%.*s.%s", (int)(strrchr(t->name, '.') - t->name), t->name, part);
    return type_of(w, name);
}

static const char *name_of(const struct type *t, uint32_t n) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->numbers[i].n == n)
            return t->numbers[i].name;
    return NULL;
}

static int message(struct reader *r, const struct type *t, const struct sl_schema *s,
                   struct schema_bytes bytes, yyjson_mut_val *object) {
    struct schema_row row;
    int e;

    if (!t) /* its fields are unknown, and so it is ignored like an unknown field */
        return SL_OK;
    if (++r->depth > MAX_DEPTH)
        return sl_err_set(r->err, SL_ELIMIT, "proto: exceeded max depth");
    while ((e = schema_row_next(&bytes, strrchr(t->name, '.') + 1, &row, r->err)) > 0) {
        const char *name = name_of(t, row.n);
        const struct sl_schema_field *f = name ? sl_schema_field(s, name, strlen(name)) : NULL;
        if (f)
            e = field(r, f, &row, object);
        else if (name && isupper((unsigned char)*name) && row.wire != BYTES)
            e = schema_row_wrong(&row, name, r->err);
        else if (name && isupper((unsigned char)*name))
            e = message(r, part_of(r->w, t, name), s, row.bytes, object);
        if (e < 0)
            return e;
    }
    r->depth--;
    return e;
}

/* ---- the whole ---- */

/* A kind by its apiVersion. Options come with the version of what they are for. */
static const struct sl_schema *schema_of(const struct sl_schemas *set, const char *api_version,
                                         const char *kind) {
    static const char *const options[] = {"DeleteOptions", "CreateOptions", "UpdateOptions",
                                          "PatchOptions"};
    const char *slash = strchr(api_version, '/'), *version = slash ? slash + 1 : api_version;
    size_t group = slash ? (size_t)(slash - api_version) : 0;
    const struct sl_schema *s;
    char name[MAX_NAME];

    for (size_t i = 0; i < SL_LEN(options); i++)
        if (strcmp(kind, options[i]) == 0) {
            sl_fmt(name, sizeof name, "io.k8s.apimachinery.pkg.apis.meta.v1.%s", options[i]);
            return sl_schemas_find(set, name);
        }
    for (uint32_t i = 0; (s = sl_schemas_each(set, &i));) {
        const char *last = strrchr(s->name, '.');
        if (s->group && strlen(s->group) == group && strncmp(s->group, api_version, group) == 0 &&
            strcmp(s->version, version) == 0 && last && strcmp(last + 1, kind) == 0)
            return s;
    }
    return NULL;
}

static int short_text(struct schema_bytes s, char out[SL_PROTOBUF_NAME], struct sl_err *err) {
    if (schema_bytes_len(s) >= SL_PROTOBUF_NAME ||
        (schema_bytes_len(s) && memchr(s.at, '\0', schema_bytes_len(s))))
        return sl_err_set(err, SL_EINVAL, "proto: TypeMeta: no apiVersion or kind looks like this");
    if (schema_bytes_len(s))
        memcpy(out, s.at, schema_bytes_len(s));
    out[schema_bytes_len(s)] = '\0';
    return SL_OK;
}

int sl_protobuf_open(const char *bytes, size_t len, struct sl_protobuf_body *ret,
                     struct sl_err *err) {
    static const char magic[] = {'k', '8', 's', '\0'};
    static const struct schema_row_part parts[] = {{"TypeMeta", BYTES},
                                                   {"Raw", BYTES},
                                                   {"ContentEncoding", BYTES},
                                                   {"ContentType", BYTES}},
                                        meta[] = {{"APIVersion", BYTES}, {"Kind", BYTES}};
    struct schema_row found[SL_ROW_PARTS], what[SL_ROW_PARTS];
    int e;

    if (len == 0)
        return sl_err_set(err, SL_EINVAL, "empty data");
    if (len < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
        return sl_err_set(err, SL_EINVAL,
                          "provided data does not appear to be a protobuf message, expected prefix "
                          "[107 56 115 0]");
    if (len == sizeof magic)
        return sl_err_set(err, SL_EINVAL, "empty body");
    struct schema_bytes all = {(const unsigned char *)bytes + sizeof magic,
                               (const unsigned char *)bytes + len};
    if ((e = schema_row_parts(all, "Unknown", parts, SL_LEN(parts), found, err)) < 0 ||
        (e = schema_row_parts(found[0].bytes, "TypeMeta", meta, SL_LEN(meta), what, err)) < 0 ||
        (e = short_text(what[0].bytes, ret->api_version, err)) < 0 ||
        (e = short_text(what[1].bytes, ret->kind, err)) < 0)
        return e;
    ret->raw = found[1].n ? found[1].bytes.at : all.end;
    ret->len = schema_bytes_len(found[1].bytes);
    return SL_OK;
}

static int finish_document(yyjson_mut_doc *doc, yyjson_doc **ret, struct sl_err *err) {
    yyjson_write_err why;
    size_t n;

    sl_strict_keep_last(yyjson_mut_doc_get_root(doc));
    char *json = yyjson_mut_write_opts(doc, 0, NULL, &n, &why);
    if (!json)
        return sl_err_set(err, SL_EINVAL, "proto: %s",
                          why.code == YYJSON_WRITE_ERROR_INVALID_STRING
                              ? "string field contains invalid UTF-8"
                              : why.msg);
    *ret = yyjson_read(json, n, 0);
    free(json);
    return *ret ? SL_OK : sl_err_set(err, SL_ELIMIT, "proto: too large");
}

int sl_protobuf_read(const struct sl_protobuf *w, const struct sl_schemas *set,
                     const struct sl_protobuf_body *body, yyjson_doc **ret, struct sl_err *err) {
    const struct sl_schema *s = schema_of(set, body->api_version, body->kind);

    if (!s)
        return sl_err_set(err, SL_ENOENT, "no kind \"%.60s\" is registered for version \"%.60s\"",
                          body->kind, body->api_version);
    const struct type *t = type_of(w, s->name);
    if (!t)
        return sl_err_set(err, SL_EMISMATCH, "%s has no protobuf form here", body->kind);
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct reader r = {.w = w, .doc = doc, .err = err};
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, object);
    (void)yyjson_mut_obj_add_strcpy(doc, object, "kind", body->kind);
    (void)yyjson_mut_obj_add_strcpy(doc, object, "apiVersion", body->api_version);
    int e = message(&r, t, s, (struct schema_bytes){body->raw, body->raw + body->len}, object);
    return e < 0 ? e : finish_document(doc, ret, err);
}
