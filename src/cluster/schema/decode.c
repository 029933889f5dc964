/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can an object be decoded into the types of its kind? The first value that cannot is reported with
 * Go's message: the struct and the path of fields (without indices and keys), and the type of the
 * value. The result of a strategic merge patch is decoded by another decoder of Go's, which reports
 * the kinds of value found and expected, but not where.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/check.h"
#include "cluster/schema/value.h"
#include "core/base/buf.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define PATH_MAX_BYTES ((size_t)1 << 10)
#define TYPE_MAX_BYTES ((size_t)256)

/* Where we are: fields only. */
struct place {
    const struct place *up;
    const struct sl_schema *in; /* the struct */
    const struct sl_schema_field *field;
};

static void print_place(const struct place *at, struct sl_buf *out) {
    if (at->up) {
        print_place(at->up, out);
        sl_buf_putc(out, '.');
    }
    if (at->field->part)
        sl_buf_printf(out, "%s.", at->field->part);
    sl_buf_puts(out, at->field->name);
}

static void print_type(const struct sl_schema *s, struct sl_buf *out) {
    if (s->go) {
        sl_buf_puts(out, s->go);
        return;
    }
    sl_buf_puts(out, s->type == SL_T_LIST ? "[]" : "map[string]");
    if (s->items)
        print_type(s->items, out);
}

static const char *value_word(yyjson_val *v) {
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_NUM:
        return "number";
    case YYJSON_TYPE_BOOL:
        return "bool";
    case YYJSON_TYPE_ARR:
        return "array";
    default:
        return "object";
    }
}

/* As it was written, which is how out-of-range numbers are reported. */
static const char *number_text(yyjson_val *v, char out[64]) {
    size_t len = 0;
    char *s = yyjson_val_write(v, 0, &len);

    sl_fmt_short(out, 64, "number %s", s ? s : "");
    free(s);
    return out;
}

/* The decoder, and its error. A value of the wrong type is recorded, the first one counts, and
 * decoding goes on; a value with its own decoder (a quantity, a time) ends it, and its error is
 * reported. */
struct reading {
    struct sl_err *err;
    bool converts; /* the other reader, which ends at once */
    bool self;     /* a value that reads itself */
    bool noted;    /* something is wrong already */
};

/* Is this error to be reported? */
static bool first(struct reading *in) {
    bool yes = !in->noted;

    in->noted = true;
    return yes;
}

/* What to do after an error that was reported, or was not the first. */
static int go_on(const struct reading *in, int r) {
    return in->converts || in->self ? r : 0;
}

static const char *kind_word(yyjson_val *v) {
    if (yyjson_is_arr(v) || yyjson_is_obj(v))
        return yyjson_is_arr(v) ? "slice" : "map";
    return yyjson_is_real(v) ? "float64" : yyjson_is_num(v) ? "int64" : value_word(v);
}

static int not_converted(const struct sl_schema *s, yyjson_val *v, struct sl_err *err) {
    _cleanup_(sl_buf_done) struct sl_buf type = SL_BUF_SHORT(TYPE_MAX_BYTES);
    const char *have = kind_word(v);

    if (s->type == SL_T_OBJECT)
        return sl_err_set(err, SL_EINVAL, "cannot restore struct from: %s", have);
    if (s->type == SL_T_MAP || s->type == SL_T_LIST)
        return sl_err_set(err, SL_EINVAL, "cannot restore %s from %s",
                          s->type == SL_T_MAP ? "map" : "slice", have);
    if (s->format && strcmp(s->format, "byte") == 0)
        return sl_err_set(err, SL_EINVAL, "cannot restore slice from %s", have);
    print_type(s, &type);
    if ((s->type == SL_T_STRING && yyjson_is_int(v)) || (s->type == SL_T_INT && yyjson_is_real(v)))
        return sl_err_set(err, SL_EINVAL, "cannot convert %s to %s", have, sl_buf_str(&type));
    return sl_err_set(err, SL_EINVAL, "unrecognized type: %s",
                      s->type == SL_T_STRING ? "string"
                      : s->type == SL_T_BOOL ? "bool"
                                             : sl_buf_str(&type));
}

static int mismatch(const struct sl_schema *s, yyjson_val *v, const struct place *at, bool number,
                    struct reading *in) {
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF_SHORT(PATH_MAX_BYTES);
    _cleanup_(sl_buf_done) struct sl_buf type = SL_BUF_SHORT(TYPE_MAX_BYTES);
    struct sl_err *err = in->err;
    char text[64];

    if (in->converts)
        return not_converted(s, v, err);
    if (!in->self && !first(in))
        return 0;
    print_type(s, &type);
    const char *word = number ? number_text(v, text) : value_word(v);
    if (!at)
        return go_on(in, sl_err_set(err, SL_EINVAL,
                                    "json: cannot unmarshal %s into Go value of type %s", word,
                                    sl_buf_str(&type)));
    print_place(at, &path);
    const char *dot = strrchr(at->in->go, '.');
    return go_on(in, sl_err_set(err, SL_EINVAL,
                                "json: cannot unmarshal %s into Go struct field %s.%s of type %s",
                                word, dot ? dot + 1 : "", sl_buf_str(&path), sl_buf_str(&type)));
}

static int decode_int(const struct sl_schema *s, yyjson_val *v, const struct place *at,
                      struct reading *in) {
    bool narrow = s->format && strcmp(s->format, "int32") == 0;

    if (!yyjson_is_num(v))
        return mismatch(s, v, at, false, in);
    if (yyjson_is_uint(v) && yyjson_get_uint(v) > (narrow ? (uint64_t)INT32_MAX : INT64_MAX))
        return mismatch(s, v, at, true, in);
    if (yyjson_is_sint(v) && narrow && yyjson_get_sint(v) < INT32_MIN)
        return mismatch(s, v, at, true, in);
    return yyjson_is_real(v) ? mismatch(s, v, at, true, in) : 0;
}

static int decode_int_or_string(yyjson_val *v, const struct place *at, struct reading *in) {
    static const struct sl_schema int32 = {.type = SL_T_INT, .format = "int32", .go = "int32"};
    struct reading self = {.err = in->err, .self = true}; /* and has no path */

    if (yyjson_is_str(v))
        return 0;
    return decode_int(&int32, v, in->converts ? NULL : at, &self);
}

static int decode_quantity(yyjson_val *v, struct sl_err *err) {
    char out[SL_QUANTITY_TEXT], number[64] = "";
    struct sl_text t = sl_json_view(v);

    if (yyjson_is_num(v))
        t = sl_text_of(number_text(v, number) + strlen("number "));
    return schema_value_quantity(t.s, t.n, false, out, err);
}

static int decode_time(const struct sl_schema *s, yyjson_val *v, const struct place *at,
                       struct reading *in) {
    static const struct sl_schema string = {.type = SL_T_STRING, .go = "string"};
    struct reading self = {.err = in->err, .self = true};
    char out[SL_VALUE_TIME];

    if (!yyjson_is_str(v))
        return mismatch(&string, v, in->converts ? NULL : at, false, &self);
    struct sl_text t = sl_json_view(v);
    return schema_value_time(t.s, t.n, strcmp(s->go, "v1.MicroTime") == 0, out, in->err);
}

static int decode_string(const struct sl_schema *s, yyjson_val *v, const struct place *at,
                         struct reading *in) {
    if (s->format && strcmp(s->format, "date-time") == 0)
        return decode_time(s, v, at, in);
    if (!yyjson_is_str(v))
        return mismatch(s, v, at, false, in);
    if (s->format && strcmp(s->format, "byte") == 0) {
        struct sl_text t = sl_json_view(v);
        int64_t fault = schema_value_base64(t.s, t.n);
        if (fault >= 0 && (in->converts || first(in)))
            return go_on(
                in, sl_err_set(in->err, SL_EINVAL, "%sillegal base64 data at input byte %lld",
                               in->converts ? "error decoding from json: " : "", (long long)fault));
    }
    return 0;
}

static int decode(const struct sl_schema *s, yyjson_val *v, const struct place *at,
                  struct reading *in);

static int decode_fields(const struct sl_schema *s, yyjson_val *v, const struct place *at,
                         struct reading *in) {
    size_t i, max;
    yyjson_val *key, *item;

    if (!yyjson_is_obj(v))
        return s->go && !s->keeps_unknown ? mismatch(s, v, at, false, in) : 0;
    sl_obj_foreach (v, i, max, key, item) {
        struct sl_text name = sl_json_view(key);
        const struct sl_schema_field *f = sl_schema_field(s, name.s, name.n);
        /* Custom resources are not read into types, but their metadata is, by itself. */
        if (!f || (!s->go && !f->schema->go))
            continue;
        const struct place here = {.up = at, .in = s, .field = f};
        int r = decode(f->schema, item, s->go ? &here : NULL, in);
        if (r < 0)
            return r;
    }
    return 0;
}

static int decode_items(const struct sl_schema *s, yyjson_val *v, const struct place *at,
                        struct reading *in) {
    size_t i, max;
    yyjson_val *key, *item;
    int r = 0;

    if (s->type == SL_T_LIST ? !yyjson_is_arr(v) : !yyjson_is_obj(v))
        return mismatch(s, v, at, false, in);
    if (yyjson_is_arr(v)) {
        yyjson_arr_foreach (v, i, max, item) {
            r = decode(s->items, item, at, in);
            if (r < 0)
                return r;
        }
        return 0;
    }
    sl_obj_foreach (v, i, max, key, item) {
        r = decode(s->items, item, at, in);
        if (r < 0)
            return r;
    }
    return 0;
}

static int decode(const struct sl_schema *s, yyjson_val *v, const struct place *at,
                  struct reading *in) {
    if (yyjson_is_null(v))
        return 0;
    switch (s->type) {
    case SL_T_ANY:
        return 0;
    case SL_T_OBJECT:
        return decode_fields(s, v, at, in);
    case SL_T_MAP:
    case SL_T_LIST:
        return decode_items(s, v, at, in);
    case SL_T_STRING:
        return decode_string(s, v, at, in);
    case SL_T_INT:
        return decode_int(s, v, at, in);
    case SL_T_NUMBER:
        return yyjson_is_num(v) ? 0 : mismatch(s, v, at, false, in);
    case SL_T_BOOL:
        return yyjson_is_bool(v) ? 0 : mismatch(s, v, at, false, in);
    case SL_T_INT_OR_STRING:
        return decode_int_or_string(v, at, in);
    case SL_T_QUANTITY:
        return decode_quantity(v, in->err);
    }
    return 0;
}

int sl_schema_decodes(const struct sl_schema *s, yyjson_val *object, struct sl_err *err) {
    struct reading in = {.err = err};
    int r = decode(s, object, NULL, &in);

    return r < 0 ? r : in.noted ? SL_EINVAL : 0;
}

int sl_schema_converts(const struct sl_schema *s, yyjson_val *object, struct sl_err *err) {
    return decode(s, object, NULL, &(struct reading){.err = err, .converts = true});
}
