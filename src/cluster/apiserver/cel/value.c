/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/cel/value.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/cel/functions.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

struct api_value api_cel_error(struct api_run *x, const char *fmt, ...) {
    char text[sizeof(x->err->text)];
    va_list ap;

    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)sl_err_set(x->err, SL_EINVAL, "%s", text);
    return (struct api_value){.kind = V_ERROR};
}

struct api_value api_cel_no_overload(struct api_run *x) {
    return api_cel_error(x, "no such overload");
}

struct api_value api_cel_too_costly(struct api_run *x) {
    x->steps = x->max + 1; /* and nothing more is */
    return api_cel_error(x, "operation cancelled: actual cost limit exceeded");
}

void *api_cel_make(struct api_run *x, size_t bytes) {
    if (!api_cel_charge(x, bytes / 64 + 1) || bytes > API_CEL_MADE ||
        x->arena.used + bytes > API_CEL_MADE)
        return NULL;
    return sl_arena_alloc(&x->arena, bytes ? bytes : 1);
}

struct api_value api_cel_optional(struct api_run *x, const struct api_value *some) {
    struct api_value *copy = some ? api_cel_make(x, sizeof(*copy)) : NULL;

    if (some && !copy)
        return api_cel_too_costly(x);
    if (copy)
        *copy = *some;
    return (struct api_value){.kind = V_OPTIONAL, .some = copy};
}

struct api_value api_cel_text_copy(struct api_run *x, const char *s, size_t len) {
    char *copy = api_cel_make(x, len + 1);

    if (!copy)
        return api_cel_too_costly(x);
    if (len)
        memcpy(copy, s, len);
    copy[len] = '\0';
    return api_cel_text(copy, len);
}

/* ---- JSON ---- */

static struct api_value of_plain(struct api_run *x, yyjson_val *v,
                                 const struct api_cel_type *type) {
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_BOOL:
        return api_cel_bool(yyjson_get_bool(v));
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(v))
            return api_cel_real(yyjson_get_real(v));
        return api_cel_int(
            yyjson_is_uint(v) && yyjson_get_uint(v) > INT64_MAX ? INT64_MAX : yyjson_get_sint(v));
    case YYJSON_TYPE_STR: {
        struct sl_text t = sl_json_view(v);
        return api_cel_text(t.s, t.n);
    }
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ:
        return (struct api_value){.kind = V_JSON, .json = v, .type = type};
    default:
        (void)x;
        return (struct api_value){.kind = V_NULL};
    }
}

/* A text of a format. */
static struct api_value of_text(struct api_run *x, yyjson_val *v, const struct api_cel_type *type) {
    struct sl_text t = sl_json_view(v);
    struct api_value ret = {.kind = V_ERROR};
    const char *what = type->kind == T_BYTES ? "byte" : type->date ? "date" : "date-time";

    if (type->kind == T_DURATION) {
        sl_span d;
        return api_cel_charge(x, t.n / 8) && sl_span_parse(t.s, t.n, &d, NULL) == 0
                   ? api_cel_span(d)
                   : api_cel_error(x, "Invalid duration %.*s", (int)(t.n < 60 ? t.n : 60), t.s);
    }
    if (type->kind == T_TIME ? api_cel_time_parse(t.s, t.n, type->date, &ret)
                             : api_cel_base64(x, t.s, t.n, &ret))
        return ret;
    return api_cel_error(x, "Invalid %s formatted string %.*s", what, (int)(t.n < 60 ? t.n : 60),
                         t.s);
}

struct api_value api_cel_of_json(struct api_run *x, yyjson_val *v,
                                 const struct api_cel_type *type) {
    if (!type)
        return of_plain(x, v, NULL);
    if (!v || yyjson_is_null(v))
        return type->nullable
                   ? (struct api_value){.kind = V_NULL}
                   : api_cel_error(x, "invalid data, got null for schema with nullable=false");
    switch (type->kind) {
    case T_BYTES:
    case T_DURATION:
    case T_TIME:
        if (yyjson_is_str(v))
            return of_text(x, v, type);
        break;
    case T_REAL:
        if (yyjson_is_num(v))
            return api_cel_real(yyjson_get_num(v));
        break;
    case T_INT:
        if (yyjson_is_int(v))
            return of_plain(x, v, type);
        break;
    case T_STR:
        if (yyjson_is_str(v))
            return of_plain(x, v, type);
        break;
    case T_BOOL:
        if (yyjson_is_bool(v))
            return of_plain(x, v, type);
        break;
    case T_LIST:
        if (yyjson_is_arr(v))
            return of_plain(x, v, type);
        break;
    case T_MAP:
    case T_OBJECT:
        if (yyjson_is_obj(v))
            return of_plain(x, v, type);
        break;
    case T_DYN:
        if (!type->number_or_text || yyjson_is_str(v) || yyjson_is_int(v))
            return of_plain(x, v, NULL);
        return api_cel_error(x,
                             "invalid data, expected XIntOrString value to be either a string or "
                             "integer");
    default:
        return of_plain(x, v, NULL);
    }
    return api_cel_error(x, "invalid data, expected %s", api_cel_kind_name(type->kind));
}

bool api_cel_is_list(const struct api_value *v) {
    return v->kind == V_LIST || (v->kind == V_JSON && yyjson_is_arr(v->json));
}

bool api_cel_is_map(const struct api_value *v) {
    return v->kind == V_MAP || (v->kind == V_JSON && yyjson_is_obj(v->json));
}

size_t api_cel_size(const struct api_value *v) {
    return v->kind == V_JSON
               ? yyjson_is_arr(v->json) ? yyjson_arr_size(v->json) : yyjson_obj_size(v->json)
               : v->n;
}

static const struct api_cel_type *elem_of(const struct api_value *v) {
    return v->type && (v->type->kind == T_LIST || v->type->kind == T_MAP) ? v->type->elem : NULL;
}

struct api_value api_cel_item(struct api_run *x, const struct api_value *list, size_t at) {
    if (list->kind == V_LIST)
        return list->items[at];
    if (!api_cel_charge(x, yyjson_arr_size(list->json) > 8 ? at / 4 : 0))
        return api_cel_too_costly(x);
    return api_cel_of_json(x, yyjson_arr_get(list->json, at), elem_of(list));
}

static bool find_json(struct api_run *x, const struct api_value *map, const struct api_value *key,
                      struct api_value *ret) {
    const struct api_cel_type *type = elem_of(map);
    const char *name = key->s;
    size_t len = key->len;

    if (key->kind != V_STR) {
        *ret = api_cel_no_overload(x);
        return true;
    }
    if (map->type && map->type->kind == T_OBJECT) {
        int32_t at = api_cel_type_shown(map->type, name, len);
        if (at < 0)
            return false;
        name = map->type->names[at];
        len = strlen(name);
        type = map->type->fields[at];
    }
    if (!api_cel_charge(x, yyjson_obj_size(map->json) / 4)) {
        *ret = api_cel_too_costly(x);
        return true;
    }
    yyjson_val *v = yyjson_obj_getn(map->json, name, len);
    if (!v || (map->type && map->type->kind == T_OBJECT && yyjson_is_null(v)))
        return false;
    *ret = api_cel_of_json(x, v, type);
    return true;
}

bool api_cel_find(struct api_run *x, const struct api_value *map, const struct api_value *key,
                  struct api_value *ret) {
    if (map->kind == V_JSON)
        return find_json(x, map, key, ret);
    for (size_t i = 0; i < map->n && x->steps <= x->max; i++) {
        if (!api_cel_equal(x, &map->items[2 * i], key))
            continue;
        *ret = map->items[2 * i + 1];
        return true;
    }
    if (x->steps <= x->max)
        return false;
    *ret = api_cel_too_costly(x);
    return true;
}

bool api_cel_walk_begin(struct api_walk *w, const struct api_value *of) {
    *w = (struct api_walk){.of = of};
    if (of->kind == V_JSON && yyjson_is_arr(of->json))
        w->in_list = yyjson_arr_iter_with(of->json);
    else if (of->kind == V_JSON)
        w->in_map = yyjson_obj_iter_with(of->json);
    else if (of->kind != V_LIST && of->kind != V_MAP)
        return false;
    return true;
}

/* Of an object with fields of its own: those that expressions can see, by their names there. */
static bool next_field(struct api_run *x, struct api_walk *w, struct api_value *ret_key,
                       struct api_value *ret) {
    const struct api_cel_type *type = w->of->type, *of = elem_of(w->of);
    yyjson_val *key;

    while ((key = yyjson_obj_iter_next(&w->in_map))) {
        struct sl_text name = sl_json_view(key);
        if (!api_cel_charge(x, 1)) {
            *ret = *ret_key = api_cel_too_costly(x);
            return true;
        }
        if (type && type->kind == T_OBJECT) {
            uint32_t i = 0;
            while (i < type->n_fields && strcmp(type->names[i], name.s) != 0)
                i++;
            if (i == type->n_fields || !type->shown[i] || type->fields[i]->kind == T_NONE)
                continue;
            name = sl_text_of(type->shown[i]);
            of = type->fields[i];
        }
        *ret_key = api_cel_text(name.s, name.n);
        *ret = api_cel_of_json(x, yyjson_obj_iter_get_val(key), of);
        return true;
    }
    return false;
}

bool api_cel_walk_next(struct api_run *x, struct api_walk *w, struct api_value *ret_key,
                       struct api_value *ret) {
    const struct api_value *of = w->of;

    if (of->kind == V_JSON && yyjson_is_obj(of->json))
        return next_field(x, w, ret_key, ret);
    if (of->kind == V_JSON) {
        yyjson_val *v = yyjson_arr_iter_next(&w->in_list);
        if (!v)
            return false;
        *ret_key = api_cel_int((int64_t)w->at++);
        *ret = api_cel_of_json(x, v, elem_of(of));
        return true;
    }
    if (w->at == of->n)
        return false;
    if (of->kind == V_MAP) {
        *ret_key = of->items[2 * w->at];
        *ret = of->items[2 * w->at + 1];
    } else {
        *ret_key = api_cel_int((int64_t)w->at);
        *ret = of->items[w->at];
    }
    w->at++;
    return true;
}

/* ---- equality and order ---- */

/* Sets are equal in any order, lists of objects with keys by those. */
static bool equal_lists(struct api_run *x, const struct api_value *a, const struct api_value *b) {
    size_t n = api_cel_size(a);
    const struct api_cel_type *type = a->type ? a->type : b->type;
    bool ordered = !type || type->kind != T_LIST || type->list == LIST_ATOMIC;

    if (n != api_cel_size(b))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct api_value item = api_cel_item(x, a, i);
        bool found = false;
        for (size_t j = ordered ? i : 0; j < (ordered ? i + 1 : n) && !found; j++) {
            struct api_value other = api_cel_item(x, b, j);
            found = api_cel_equal(x, &item, &other);
            if (x->steps > x->max)
                return false;
        }
        if (!found)
            return false;
    }
    return true;
}

static bool equal_maps(struct api_run *x, const struct api_value *a, const struct api_value *b) {
    struct api_value key, value, other;
    struct api_walk w;

    if (api_cel_size(a) != api_cel_size(b))
        return false;
    if (a->kind == V_JSON && b->kind == V_JSON && a->type == b->type)
        return sl_json_equal(a->json, b->json, &x->steps);
    (void)api_cel_walk_begin(&w, a);
    while (api_cel_walk_next(x, &w, &key, &value)) {
        if (x->steps > x->max || !api_cel_find(x, b, &key, &other) ||
            !api_cel_equal(x, &value, &other))
            return false;
    }
    return true;
}

static bool is_number(const struct api_value *v) {
    return v->kind == V_INT || v->kind == V_UINT || v->kind == V_REAL;
}

static int order(double a, double b) {
    return (a > b) - (a < b);
}

/* Exactly, also between integers and reals. */
static int compare_numbers(const struct api_value *a, const struct api_value *b) {
    if (a->kind == V_REAL && b->kind == V_REAL)
        return order(a->real, b->real);
    if (b->kind == V_REAL)
        return -compare_numbers(b, a);
    const __int128 n = b->kind == V_INT ? (__int128)b->num : (__int128)b->unum;
    if (a->kind != V_REAL) {
        const __int128 m = a->kind == V_INT ? (__int128)a->num : (__int128)a->unum;
        return (m > n) - (m < n);
    }
    if (a->real >= 0x1p64 || a->real < -0x1p63)
        return a->real > 0 ? 1 : -1;
    const __int128 whole = (__int128)a->real;
    return whole != n ? (whole > n) - (whole < n) : order(a->real - (double)whole, 0);
}

static bool is_nan(const struct api_value *v) {
    return v->kind == V_REAL && isnan(v->real);
}

bool api_cel_compare(struct api_run *x, const struct api_value *a, const struct api_value *b,
                     int *ret) {
    if (is_number(a) && is_number(b)) {
        *ret = is_nan(a) || is_nan(b) ? 2 : compare_numbers(a, b);
        return true;
    }
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case V_BOOL:
        *ret = a->yes - b->yes;
        return true;
    case V_DURATION:
        *ret = (a->num > b->num) - (a->num < b->num);
        return true;
    case V_TIME:
        *ret = a->sec != b->sec ? (a->sec > b->sec) - (a->sec < b->sec)
                                : (a->nsec > b->nsec) - (a->nsec < b->nsec);
        return true;
    case V_STR:
    case V_BYTES: {
        size_t len = a->len < b->len ? a->len : b->len;
        if (!api_cel_charge(x, len / 16)) {
            *ret = 0;
            return true;
        }
        int c = len ? memcmp(a->s, b->s, len) : 0;
        *ret = c ? (c > 0) - (c < 0) : (a->len > b->len) - (a->len < b->len);
        return true;
    }
    default:
        return false;
    }
}

bool api_cel_equal(struct api_run *x, const struct api_value *a, const struct api_value *b) {
    int c;

    if (!api_cel_charge(x, 1))
        return false;
    if (api_cel_is_list(a) || api_cel_is_list(b))
        return api_cel_is_list(a) && api_cel_is_list(b) && equal_lists(x, a, b);
    if (api_cel_is_map(a) || api_cel_is_map(b))
        return api_cel_is_map(a) && api_cel_is_map(b) && equal_maps(x, a, b);
    if (a->kind == V_STR && b->kind == V_STR && a->len != b->len)
        return false;
    if (api_cel_compare(x, a, b, &c))
        return c == 0;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case V_NULL:
        return true;
    case V_TYPE:
        return a->num == b->num;
    case V_OPTIONAL:
        return a->some && b->some ? api_cel_equal(x, a->some, b->some) : a->some == b->some;
    case V_IP:
    case V_CIDR:
        return a->family == b->family && a->bits == b->bits &&
               memcmp(a->address, b->address, sizeof(a->address)) == 0;
    case V_QUANTITY:
        return *a->quantity == *b->quantity;
    case V_URL:
        return api_cel_url_equal(a->url, b->url);
    case V_FORMAT:
        return a->num == b->num;
    case V_SEMVER:
        return api_cel_semver_compare(a->semver, b->semver) == 0;
    default:
        return false;
    }
}

/* ---- types ---- */

enum api_cel_kind api_cel_kind(const struct api_value *v) {
    static const enum api_cel_kind kinds[] = {
        [V_ERROR] = T_NONE,        [V_NULL] = T_NULL,     [V_BOOL] = T_BOOL,
        [V_INT] = T_INT,           [V_UINT] = T_UINT,     [V_REAL] = T_REAL,
        [V_STR] = T_STR,           [V_BYTES] = T_BYTES,   [V_DURATION] = T_DURATION,
        [V_TIME] = T_TIME,         [V_LIST] = T_LIST,     [V_MAP] = T_MAP,
        [V_JSON] = T_MAP,          [V_TYPE] = T_TYPE,     [V_OPTIONAL] = T_OPTIONAL,
        [V_URL] = T_URL,           [V_IP] = T_IP,         [V_CIDR] = T_CIDR,
        [V_QUANTITY] = T_QUANTITY, [V_FORMAT] = T_FORMAT, [V_SEMVER] = T_SEMVER,
    };

    return api_cel_is_list(v) ? T_LIST : kinds[v->kind];
}

const char *api_cel_kind_name(enum api_cel_kind kind) {
    static const char *const names[T_KINDS] = {
        [T_NONE] = "error",
        [T_DYN] = "dyn",
        [T_NULL] = "null_type",
        [T_BOOL] = "bool",
        [T_INT] = "int",
        [T_UINT] = "uint",
        [T_REAL] = "double",
        [T_STR] = "string",
        [T_BYTES] = "bytes",
        [T_DURATION] = "google.protobuf.Duration",
        [T_TIME] = "google.protobuf.Timestamp",
        [T_LIST] = "list",
        [T_MAP] = "map",
        [T_OBJECT] = "map",
        [T_TYPE] = "type",
        [T_OPTIONAL] = "optional_type",
        [T_URL] = "kubernetes.URL",
        [T_IP] = "net.IP",
        [T_CIDR] = "net.CIDR",
        [T_QUANTITY] = "kubernetes.Quantity",
        [T_FORMAT] = "kubernetes.NamedFormat",
        [T_SEMVER] = "kubernetes.Semver",
    };
    return names[kind];
}

size_t api_cel_characters(const char *s, size_t len) {
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += (s[i] & 0xc0) != 0x80;
    return n;
}
