/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/merge/gotext.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 200u

const char *sl_go_type(yyjson_mut_val *v) {
    switch (yyjson_mut_get_type(v)) {
    case YYJSON_TYPE_OBJ:
        return "map[string]interface {}";
    case YYJSON_TYPE_ARR:
        return "[]interface {}";
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_BOOL:
        return "bool";
    case YYJSON_TYPE_NUM:
        return yyjson_mut_is_real(v) ? "float64" : "int64";
    default:
        return "<nil>";
    }
}

const char *sl_go_word(const yyjson_val *v) {
    switch (yyjson_get_type((yyjson_val *)v)) {
    case YYJSON_TYPE_OBJ:
        return "object";
    case YYJSON_TYPE_ARR:
        return "array";
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_BOOL:
        return "bool";
    case YYJSON_TYPE_NUM:
        return "number";
    default:
        return "null";
    }
}

/* The fewest digits that are read as the same number. */
static int shortest(double v, char *out, size_t size) {
    int digits = 0;

    do
        sl_fmt(out, size, "%.*e", digits, v);
    while (++digits < 18 && strtod(out, NULL) != v);
    return digits - 1;
}

const char *sl_go_real(double v, bool json, char out[SL_GO_REAL]) {
    if (isnan(v) || isinf(v)) {
        sl_fmt(out, SL_GO_REAL, "%s", isnan(v) ? "NaN" : v < 0 ? "-Inf" : "+Inf");
        return out;
    }
    int digits = shortest(v, out, SL_GO_REAL);
    char *e = strchr(out, 'e');
    const int exponent = (int)strtol(e + 1, NULL, 10);
    const bool plain = json ? exponent >= -6 && exponent < 21 : exponent >= -4 && exponent < 6;
    if (plain || v == 0)
        sl_fmt(out, SL_GO_REAL, "%.*f", digits > exponent ? digits - exponent : 0, v);
    else if (json && e[1] == '-' && e[2] == '0')
        memmove(e + 2, e + 3, strlen(e + 3) + 1);
    return out;
}

/* The three ways to write a value differ in names and punctuation only. */
enum style { TEXT, SYNTAX, JSON };
static const struct {
    const char *map, *list, *gap, *null;
    char map_end, list_end;
} styles[] = {
    [TEXT] = {"map[", "[", " ", "<nil>", ']', ']'},
    [SYNTAX] = {"map[string]interface {}{", "[]interface {}{", ", ", "interface {}(nil)", '}', '}'},
    [JSON] = {"{", "[", ",", "null", '}', ']'},
};

static int by_key(const void *x, const void *y) {
    yyjson_mut_val *const *p = x, *const *q = y;
    return sl_text_cmp(sl_json_mut_view(*p), sl_json_mut_view(*q));
}

static void print(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v, enum style style,
                  unsigned depth);

static void print_string(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v,
                         enum style style) {
    struct sl_text t = sl_json_mut_view(v);

    if (style == TEXT) {
        sl_buf_text(out, t);
    } else {
        size_t n = sl_go_string(NULL, t.s, t.n);
        char *quoted = sl_arena_alloc(a, n);
        (void)sl_go_string(quoted, t.s, t.n);
        sl_buf_add(out, quoted, n);
    }
}

static void print_map(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v, enum style style,
                      unsigned depth) {
    size_t n = yyjson_mut_obj_size(v), i, max;
    yyjson_mut_val **keys = sl_arena_alloc(a, (n + 1) * sizeof(yyjson_mut_val *)), *key, *value;

    yyjson_mut_obj_foreach (v, i, max, key, value)
        keys[i] = key;
    qsort(keys, n, sizeof(yyjson_mut_val *), by_key);
    sl_buf_puts(out, styles[style].map);
    for (i = 0; i < n; i++) {
        sl_buf_puts(out, i ? styles[style].gap : "");
        print_string(a, out, keys[i], style);
        sl_buf_putc(out, ':');
        print(a, out, keys[i]->next, style, depth + 1);
    }
    sl_buf_putc(out, styles[style].map_end);
}

static void print_list(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v, enum style style,
                       unsigned depth) {
    yyjson_mut_val *item;
    size_t i, max;

    sl_buf_puts(out, styles[style].list);
    yyjson_mut_arr_foreach (v, i, max, item) {
        sl_buf_puts(out, i ? styles[style].gap : "");
        print(a, out, item, style, depth + 1);
    }
    sl_buf_putc(out, styles[style].list_end);
}

static void print(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v, enum style style,
                  unsigned depth) {
    char real[SL_GO_REAL];

    if (depth > MAX_DEPTH)
        return;
    switch (yyjson_mut_get_type(v)) {
    case YYJSON_TYPE_OBJ:
        print_map(a, out, v, style, depth);
        break;
    case YYJSON_TYPE_ARR:
        print_list(a, out, v, style, depth);
        break;
    case YYJSON_TYPE_STR:
        print_string(a, out, v, style);
        break;
    case YYJSON_TYPE_BOOL:
        sl_buf_puts(out, yyjson_mut_get_bool(v) ? "true" : "false");
        break;
    case YYJSON_TYPE_NUM:
        if (yyjson_mut_is_real(v))
            sl_buf_puts(out, sl_go_real(yyjson_mut_get_real(v), style == JSON, real));
        else if (yyjson_mut_is_sint(v))
            sl_buf_printf(out, "%lld", (long long)yyjson_mut_get_sint(v));
        else
            sl_buf_printf(out, "%llu", (unsigned long long)yyjson_mut_get_uint(v));
        break;
    default:
        sl_buf_puts(out, styles[style].null);
    }
}

void sl_go_text(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v) {
    print(a, out, v, TEXT, 0);
}

void sl_go_syntax(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v) {
    print(a, out, v, SYNTAX, 0);
}

void sl_go_json(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v) {
    print(a, out, v, JSON, 0);
}
