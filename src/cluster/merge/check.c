/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of an applied configuration by its schema, with the API server's messages; all errors
 * except those that another one hides.
 */
#include <string.h>

#include "cluster/merge/gotext.h"
#include "cluster/merge/typed.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "lib/json/json.h"

#define MAX_FAULTS 100u

struct check {
    struct sl_arena *a;
    struct sl_buf path;   /* of the present value */
    struct sl_buf faults; /* "  path: message" each, on lines of their own */
    uint32_t n;
};

static struct sl_buf *add_error(struct check *c) {
    if (c->n++)
        sl_buf_putc(&c->faults, '\n');
    sl_buf_puts(&c->faults, "  ");
    if (c->path.len)
        sl_buf_printf(&c->faults, "%s: ", sl_buf_str(&c->path));
    return &c->faults;
}

static void check_at(struct check *c, const struct sl_schema *s, yyjson_mut_val *v, unsigned depth);

static void check_below(struct check *c, const struct sl_schema *s, struct merge_element text,
                        yyjson_mut_val *v, unsigned depth) {
    size_t len = c->path.len;
    merge_element_print(&c->path, text.s, text.len);
    if (s)
        check_at(c, s, v, depth + 1);
    else
        sl_buf_puts(add_error(c), "field not declared in schema");
    c->path.len = len;
    if (c->path.s)
        c->path.s[len] = '\0';
}

static void check_map(struct check *c, const struct sl_schema *s, yyjson_mut_val *v,
                      unsigned depth) {
    /* Fields of every object of the API, also where a schema omits them. */
    static const struct sl_schema text = {.type = SL_T_STRING}, any = {.type = SL_T_ANY};
    static const struct {
        const char *name;
        const struct sl_schema *schema;
    } known[] = {{"apiVersion", &text}, {"kind", &text}, {"metadata", &any}};
    yyjson_mut_val *key, *value;
    size_t i, max;

    if (!yyjson_mut_is_obj(v)) {
        struct sl_buf *b = add_error(c);
        sl_buf_puts(b, "expected map, got &{");
        sl_go_text(c->a, b, v);
        sl_buf_putc(b, '}');
        return;
    }
    yyjson_mut_obj_foreach (v, i, max, key, value) {
        struct sl_text name = sl_json_mut_view(key);
        const struct sl_schema *below = sl_schema_at(s, name.s, name.n);
        for (size_t k = 0; !below && (depth == 0 || s->embedded) && k < SL_LEN(known); k++)
            below = sl_text_is(name, known[k].name) ? known[k].schema : NULL;
        check_below(c, below, merge_element_field(c->a, name.s, name.n), value, depth);
        if (!below)
            return;
    }
}

static void check_list(struct check *c, const struct sl_schema *s, yyjson_mut_val *v,
                       unsigned depth) {
    struct sl_map seen = {0};
    bool named = !merge_is_atomic(s, SL_SHAPE_LIST);
    yyjson_mut_val *item;
    size_t i, max;

    if (!yyjson_mut_is_arr(v)) {
        struct sl_buf *b = add_error(c);
        sl_buf_puts(b, "expected list, got &{");
        sl_go_text(c->a, b, v);
        sl_buf_putc(b, '}');
        return;
    }
    yyjson_mut_arr_foreach (v, i, max, item) {
        const char *why = NULL;
        if (c->n >= MAX_FAULTS)
            break;
        struct merge_element text;
        if (named) {
            text = merge_element_item_mut(c->a, s, item, &why);
        } else {
            const char *index = sl_arena_printf(c->a, "i:%zu", i);
            text = (struct merge_element){index, (uint32_t)strlen(index)};
        }
        if (!text.s) {
            sl_buf_printf(add_error(c), "element %zu: ", i);
            sl_buf_puts(&c->faults, why ? why
                                        : "associative list with keys has an element that "
                                          "omits all key fields");
            break;
        }
        uint64_t h = sl_hash_bytes(0, text.s, text.len);
        if (named && sl_map_get(&seen, h) != SL_MAP_NONE) {
            sl_buf_puts(add_error(c), "duplicate entries for key ");
            merge_element_print(&c->faults, text.s, text.len);
        } else if (named) {
            sl_map_add(&seen, h, 0);
        }
        check_below(c, s->items ? s->items : s, text, item, depth);
    }
    sl_map_done(&seen);
}

static void check_scalar(struct check *c, const struct sl_schema *s, yyjson_mut_val *v) {
    bool is_text = yyjson_mut_is_str(v), is_number = yyjson_mut_is_num(v),
         is_bool = yyjson_mut_is_bool(v);

    switch (s->type) {
    case SL_T_STRING:
        if (is_text)
            return;
        sl_buf_puts(add_error(c), "expected string, got &value.valueUnstructured{Value:");
        sl_go_syntax(c->a, &c->faults, v);
        break;
    case SL_T_INT:
    case SL_T_NUMBER:
        if (!is_number)
            sl_buf_printf(add_error(c), "expected numeric (int or float), got %s", sl_go_type(v));
        return;
    case SL_T_BOOL:
        if (is_bool)
            return;
        sl_buf_puts(add_error(c), "expected boolean, got &{");
        sl_go_text(c->a, &c->faults, v);
        break;
    default:
        if (is_text || is_number || is_bool)
            return;
        sl_buf_puts(add_error(c), "expected any scalar, got &{");
        sl_go_text(c->a, &c->faults, v);
    }
    sl_buf_putc(&c->faults, '}');
}

static void check_at(struct check *c, const struct sl_schema *s, yyjson_mut_val *v,
                     unsigned depth) {
    if (yyjson_mut_is_null(v) || s->type == SL_T_ANY || depth > SL_FIELDS_DEPTH ||
        c->n >= MAX_FAULTS)
        return;
    switch (merge_shape(s, (yyjson_val *)v)) {
    case SL_SHAPE_MAP:
        check_map(c, s, v, depth);
        break;
    case SL_SHAPE_LIST:
        check_list(c, s, v, depth);
        break;
    default:
        check_scalar(c, s, v);
    }
}

bool merge_typed_check(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                       struct sl_buf *out) {
    struct check c = {.a = a};

    sl_buf_init(&c.path, MERGE_PATH);
    sl_buf_short(&c.path);
    sl_buf_init(&c.faults, MERGE_TEXT);
    sl_buf_short(&c.faults);
    check_at(&c, s, v, 0);
    if (c.n == 1)
        sl_buf_puts(out, sl_buf_str(&c.faults) + 2);
    else if (c.n)
        sl_buf_printf(out, "errors:\n%s", sl_buf_str(&c.faults));
    sl_buf_done(&c.path);
    sl_buf_done(&c.faults);
    return c.n == 0;
}
