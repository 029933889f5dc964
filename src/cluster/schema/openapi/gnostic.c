/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenAPI version 2 as a protobuf message (gnostic's openapi.v2.Document), for old kubectls, which
 * accept nothing else. Tables map members of each object of the document to fields; members that
 * are in no table are omitted.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/openapi/openapi.h"
#include "lib/json/json.h"

enum how {
    TEXT,
    TEXTS,
    TRUTH,
    ANY,        /* a value as YAML, which JSON is */
    ANYS,       /* a list of those */
    MESSAGE,    /* an object */
    NAMED,      /* an object whose members have any name: a message with a list of pairs */
    PARAMETERS, /* a list of objects of several types */
};

struct message;

struct field {
    const char *key;
    uint32_t number;
    enum how how;
    const struct message *of;
    /* The value is not the field itself, but stands in this field of a message there. 0: it is. */
    uint32_t inside;
    uint32_t pairs; /* NAMED: the field that is the list */
};

struct message {
    const struct field *fields;
    size_t n;
    uint32_t extensions; /* the field for x-...; 0: there is none */
};

/* ---- tables ---- */

static const struct message schema;

static const struct field schema_fields[] = {
    {"$ref", 1, TEXT, NULL, 0, 0},
    {"format", 2, TEXT, NULL, 0, 0},
    {"description", 4, TEXT, NULL, 0, 0},
    {"default", 5, ANY, NULL, 0, 0},
    {"required", 19, TEXTS, NULL, 0, 0},
    {"enum", 20, ANYS, NULL, 0, 0},
    {"additionalProperties", 21, MESSAGE, &schema, 1, 0},
    {"type", 22, TEXT, NULL, 1, 0},
    {"items", 23, MESSAGE, &schema, 1, 0},
    {"properties", 25, NAMED, &schema, 0, 1},
};
static const struct message schema = {schema_fields, SL_LEN(schema_fields), 31};

static const struct field query_fields[] = {
    {"in", 2, TEXT, NULL, 0, 0},
    {"name", 4, TEXT, NULL, 0, 0},
    {"type", 6, TEXT, NULL, 0, 0},
};
static const struct message query = {query_fields, SL_LEN(query_fields), 0};

static const struct field path_parameter_fields[] = {
    {"required", 1, TRUTH, NULL, 0, 0},
    {"in", 2, TEXT, NULL, 0, 0},
    {"name", 4, TEXT, NULL, 0, 0},
    {"type", 5, TEXT, NULL, 0, 0},
};
static const struct message path_parameter = {path_parameter_fields, SL_LEN(path_parameter_fields),
                                              0};

static const struct field response_fields[] = {
    {"description", 1, TEXT, NULL, 0, 0},
    {"schema", 2, MESSAGE, &schema, 1, 0},
};
static const struct message response = {response_fields, SL_LEN(response_fields), 0};

static const struct field operation_fields[] = {
    {"operationId", 5, TEXT, NULL, 0, 0},
    {"parameters", 8, PARAMETERS, NULL, 0, 0},
    {"responses", 9, NAMED, &response, 1, 1},
};
static const struct message operation = {operation_fields, SL_LEN(operation_fields), 13};

static const struct field item_fields[] = {
    {"get", 2, MESSAGE, &operation, 0, 0},   {"put", 3, MESSAGE, &operation, 0, 0},
    {"post", 4, MESSAGE, &operation, 0, 0},  {"delete", 5, MESSAGE, &operation, 0, 0},
    {"patch", 8, MESSAGE, &operation, 0, 0}, {"parameters", 9, PARAMETERS, NULL, 0, 0},
};
static const struct message path_item = {item_fields, SL_LEN(item_fields), 0};

static const struct field info_fields[] = {
    {"title", 1, TEXT, NULL, 0, 0},
    {"version", 2, TEXT, NULL, 0, 0},
};
static const struct message info = {info_fields, SL_LEN(info_fields), 0};

static const struct field document_fields[] = {
    {"swagger", 1, TEXT, NULL, 0, 0},
    {"info", 2, MESSAGE, &info, 0, 0},
    {"paths", 8, NAMED, &path_item, 0, 2},
    {"definitions", 9, NAMED, &schema, 0, 1},
};
static const struct message document = {document_fields, SL_LEN(document_fields), 0};

/* ---- bytes ---- */

static void varint(struct sl_buf *out, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        sl_buf_putc(out, (char)(v | 0x80));
    sl_buf_putc(out, (char)v);
}

static void bytes(struct sl_buf *out, uint32_t number, const char *s, size_t len) {
    varint(out, (uint64_t)number << 3 | 2);
    varint(out, len);
    sl_buf_add(out, s, len);
}

static void put_text(struct sl_buf *out, uint32_t number, struct sl_text t) {
    bytes(out, number, t.s, t.n);
}

/* A message as a field, within a further one if 'inside'. */
static void put_message(struct sl_buf *out, uint32_t number, uint32_t inside, const char *s,
                        size_t len) {
    _cleanup_(sl_buf_done) struct sl_buf in = SL_BUF(SL_OPENAPI_MAX_BYTES);

    if (inside) {
        bytes(&in, inside, s, len);
        s = in.s;
        len = in.len;
    }
    bytes(out, number, s, len);
}

/* ---- values ---- */

static void write_message(struct sl_buf *out, const struct message *m, yyjson_val *v);

static void write_any(struct sl_buf *out, uint32_t number, yyjson_val *v) {
    size_t len = 0;
    char *text = yyjson_val_write(v, 0, &len);

    if (text)
        put_message(out, number, 2, text, len);
    free(text);
}

static void write_part(struct sl_buf *out, const struct field *f, const struct message *m,
                       yyjson_val *v) {
    _cleanup_(sl_buf_done) struct sl_buf part = SL_BUF(SL_OPENAPI_MAX_BYTES);

    write_message(&part, m, v);
    put_message(out, f->number, f->inside, sl_buf_str(&part), part.len);
}

/* The field is a message with a list of pairs: 1 is the name, 2 the value. */
static void write_named(struct sl_buf *out, const struct field *f, yyjson_val *v) {
    const struct field second = {.number = 2, .inside = f->inside};
    _cleanup_(sl_buf_done) struct sl_buf list = SL_BUF(SL_OPENAPI_MAX_BYTES);
    _cleanup_(sl_buf_done) struct sl_buf pair = SL_BUF(SL_OPENAPI_MAX_BYTES);
    size_t i, max;
    yyjson_val *key, *item;

    sl_obj_foreach (v, i, max, key, item) {
        sl_buf_clear(&pair);
        put_text(&pair, 1, sl_json_view(key));
        write_part(&pair, &second, f->of, item);
        bytes(&list, f->pairs, pair.s, pair.len);
    }
    bytes(out, f->number, sl_buf_str(&list), list.len);
}

/* Of parameters there are sorts, each in messages of its own: in the query 3, in the path 4. */
static void write_parameter(struct sl_buf *out, uint32_t number, yyjson_val *v) {
    bool in_path = yyjson_equals_str(yyjson_obj_get(v, "in"), "path");
    _cleanup_(sl_buf_done) struct sl_buf part = SL_BUF(SL_OPENAPI_MAX_BYTES);
    _cleanup_(sl_buf_done) struct sl_buf sort = SL_BUF(SL_OPENAPI_MAX_BYTES);

    write_message(&part, in_path ? &path_parameter : &query, v);
    put_message(&sort, 2, in_path ? 4 : 3, sl_buf_str(&part), part.len);
    put_message(out, number, 1, sl_buf_str(&sort), sort.len);
}

static void write_list(struct sl_buf *out, const struct field *f, yyjson_val *list) {
    size_t i, max;
    yyjson_val *v;

    yyjson_arr_foreach (list, i, max, v) {
        struct sl_text t = sl_json_view(v);
        if (f->how == TEXTS && yyjson_is_str(v))
            put_message(out, f->number, f->inside, t.s, t.n);
        else if (f->how == ANYS)
            write_any(out, f->number, v);
        else if (f->how == PARAMETERS)
            write_parameter(out, f->number, v);
    }
}

static void write_field(struct sl_buf *out, const struct field *f, yyjson_val *v) {
    struct sl_text t = sl_json_view(v);

    switch (f->how) {
    case TEXT:
        if (yyjson_is_str(v))
            put_message(out, f->number, f->inside, t.s, t.n);
        return;
    case TRUTH:
        varint(out, (uint64_t)f->number << 3);
        varint(out, yyjson_is_true(v));
        return;
    case ANY:
        write_any(out, f->number, v);
        return;
    case MESSAGE:
        if (yyjson_is_obj(v))
            write_part(out, f, f->of, v);
        return;
    case NAMED:
        write_named(out, f, v);
        return;
    case TEXTS:
    case ANYS:
    case PARAMETERS:
        write_list(out, f, v);
        return;
    }
}

static void write_extension(struct sl_buf *out, uint32_t number, yyjson_val *key, yyjson_val *v) {
    _cleanup_(sl_buf_done) struct sl_buf pair = SL_BUF(SL_OPENAPI_MAX_BYTES);

    put_text(&pair, 1, sl_json_view(key));
    write_any(&pair, 2, v);
    bytes(out, number, pair.s, pair.len);
}

static void write_message(struct sl_buf *out, const struct message *m, yyjson_val *v) {
    size_t i, max;
    yyjson_val *key, *item;

    sl_obj_foreach (v, i, max, key, item) {
        const struct field *f = m->fields, *end = m->fields + m->n;
        while (f < end && !yyjson_equals_str(key, f->key))
            f++;
        if (f < end)
            write_field(out, f, item);
        else if (m->extensions && strncmp(sl_json_text(key), "x-", 2) == 0)
            write_extension(out, m->extensions, key, item);
    }
}

int sl_openapi_v2_protobuf(const char *json, size_t len, struct sl_buf *out, struct sl_err *err) {
    yyjson_doc *doc = yyjson_read(json, len, 0);

    if (!doc)
        return sl_err_set(err, SL_EINVAL, "the OpenAPI document is not JSON");
    write_message(out, &document, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return sl_buf_full(out) ? sl_err_set(err, SL_ELIMIT, "the OpenAPI document is too long") : 0;
}
