/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading an object into the types of its kind and writing it again does to it: what no field
 * names is gone, what means nothing is gone, and each value has its one spelling. Custom resources
 * are not read into types, so that they only lose what their schema does not name.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cluster/schema/ceilings.h"
#include "cluster/schema/check.h"
#include "cluster/schema/value.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/map.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "lib/json/json.h"

#define FEW 12u /* keys of which each is compared with each */

/* ---- warnings ---- */

static void add_warning(struct sl_strict *st, const char *what, const struct sl_path *at) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(SCHEMA_PATH);

    if (!st || st->n == SL_STRICT_MAX || st->comparisons == SL_STRICT_LOOKS)
        return;
    st->comparisons++;
    sl_buf_printf(&text, "%s field \"", what);
    sl_path_print(at, &text);
    sl_buf_putc(&text, '"');
    for (uint32_t i = 0; i < st->n; i++)
        if (strcmp(st->text[i], sl_buf_str(&text)) == 0)
            return;
    st->text[st->n++] = sl_arena_strdup(st->arena, sl_buf_str(&text));
}

/* The keys of an object, to be found by their text. */
struct keys {
    struct {
        const char *s;
        size_t len;
    } * v;
    uint32_t n;
    struct sl_map map; /* by hash; in use if there may be more than FEW */
    bool many;
};

static void keys_init(struct keys *k, size_t max) {
    *k = (struct keys){.v = sl_alloc0(max + 1, sizeof(*k->v)), .many = max > FEW};
}

static void keys_done(struct keys *k) {
    sl_map_done(&k->map);
    sl_freep(&k->v);
}

/* Where it stood before, or SL_MAP_NONE. The newest place is kept. */
static uint32_t keys_add(struct keys *k, const char *s, size_t len) {
    uint64_t h = k->many ? sl_hash_bytes(0, s, len) : 0;
    uint32_t cursor, i = k->many ? sl_map_first(&k->map, h, &cursor) : k->n - 1, at = k->n++;

    while (i != SL_MAP_NONE && (k->v[i].len != len || memcmp(k->v[i].s, s, len) != 0))
        i = k->many ? sl_map_next(&k->map, h, &cursor) : i - 1; /* before 0 comes none */
    if (k->many && i != SL_MAP_NONE)
        sl_map_del(&k->map, h, i);
    if (k->many)
        sl_map_add(&k->map, h, at);
    k->v[at].s = s;
    k->v[at].len = len;
    return i;
}

/* An unknown field is reported once, and not descended into. */
static bool duplicates(struct sl_strict *st, const struct sl_schema *s, yyjson_val *v,
                       const struct sl_path *at) {
    size_t i, max;
    yyjson_val *key, *item;
    struct keys keys;
    bool any = false;

    if (yyjson_is_arr(v)) {
        yyjson_arr_foreach (v, i, max, item) {
            any |= duplicates(st, s ? s->items : NULL, item, SL_PATH_AT(at, i));
        }
        return any;
    }
    if (!yyjson_is_obj(v))
        return false;
    keys_init(&keys, yyjson_obj_size(v));
    sl_obj_foreach (v, i, max, key, item) {
        struct sl_text name = sl_json_view(key);
        const struct sl_path *here = SL_PATH(at, name.s);
        const struct sl_schema *of = s ? sl_schema_at(s, name.s, name.n) : NULL;
        bool again = keys_add(&keys, name.s, name.n) != SL_MAP_NONE;
        any |= again;
        if (s && s->go && !of) {
            add_warning(st, "unknown", here);
            continue;
        }
        if (again)
            add_warning(st, "duplicate", here);
        any |= duplicates(st, of, item, here);
    }
    keys_done(&keys);
    return any;
}

bool sl_strict_duplicates(struct sl_strict *st, const struct sl_schema *s, yyjson_val *object) {
    return duplicates(st, s, object, NULL);
}

void sl_strict_keep_last(yyjson_mut_val *v) {
    size_t i, max;
    yyjson_mut_val *key, *item;
    struct keys keys;

    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach (v, i, max, item) {
            sl_strict_keep_last(item);
        }
        return;
    }
    if (!yyjson_mut_is_obj(v))
        return;
    bool *gone = sl_alloc0(yyjson_mut_obj_size(v) + 1, sizeof(*gone));
    keys_init(&keys, yyjson_mut_obj_size(v));
    yyjson_mut_obj_foreach (v, i, max, key, item) {
        struct sl_text name = sl_json_mut_view(key);
        uint32_t before = keys_add(&keys, name.s, name.n);
        if (before != SL_MAP_NONE)
            gone[before] = true;
        sl_strict_keep_last(item);
    }
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
    for (i = 0; yyjson_mut_obj_iter_next(&it); i++)
        if (gone[i])
            yyjson_mut_obj_iter_remove(&it);
    keys_done(&keys);
    sl_freep(&gone);
}

/* ---- pruning ---- */

struct pruning {
    yyjson_mut_doc *doc;
    struct sl_strict *st;
};

static bool is_empty(yyjson_mut_val *v) {
    switch (yyjson_mut_get_type(v)) {
    case YYJSON_TYPE_STR:
        return sl_json_mut_view(v).n == 0;
    case YYJSON_TYPE_NUM:
        return yyjson_mut_get_num(v) == 0;
    case YYJSON_TYPE_BOOL:
        return yyjson_mut_is_false(v);
    case YYJSON_TYPE_ARR:
        return yyjson_mut_arr_size(v) == 0;
    case YYJSON_TYPE_OBJ:
        return yyjson_mut_obj_size(v) == 0;
    default:
        return false;
    }
}

static void set_text(struct pruning *p, yyjson_mut_val *v, const char *text) {
    yyjson_mut_val *copy = yyjson_mut_strcpy(p->doc, text);
    sl_assert(copy);
    struct sl_text t = sl_json_mut_view(copy);
    yyjson_mut_set_strn(v, t.s, t.n);
}

static bool is_resource_list(const struct sl_schema *s) {
    return s->go && strcmp(s->go, "v1.ResourceList") == 0;
}

/* A value with one canonical spelling gets it. What cannot be decoded stays as it is:
 * sl_schema_decodes has reported it. */
static void spell(struct pruning *p, const struct sl_schema *s, yyjson_mut_val *v, bool milli) {
    char number[32], quantity[SL_QUANTITY_TEXT], time[SL_VALUE_TIME];
    struct sl_text t = sl_json_mut_view(v);

    if (s->type == SL_T_QUANTITY && yyjson_mut_is_num(v)) {
        if (yyjson_mut_is_real(v))
            sl_fmt(number, sizeof(number), "%.15g", yyjson_mut_get_num(v));
        else
            sl_fmt(number, sizeof(number), "%lld", (long long)yyjson_mut_get_sint(v));
        t = sl_text_of(number);
    } else if (!yyjson_mut_is_str(v)) {
        return;
    }
    if (s->type == SL_T_QUANTITY && schema_value_quantity(t.s, t.n, milli, quantity, NULL) == 0)
        set_text(p, v, quantity);
    if (s->type == SL_T_STRING && s->format && strcmp(s->format, "date-time") == 0) {
        bool micro = strcmp(s->go, "v1.MicroTime") == 0;
        if (schema_value_time(t.s, t.n, micro, time, NULL) == 0)
            set_text(p, v, time);
    }
}

/* What null means where there has to be a value. */
static void set_zero(const struct sl_schema *s, yyjson_mut_val *v) {
    switch (s->type) {
    case SL_T_OBJECT:
        yyjson_mut_set_obj(v);
        return;
    case SL_T_STRING:
        if (!s->format)
            yyjson_mut_set_str(v, "");
        return;
    case SL_T_INT:
    case SL_T_NUMBER:
    case SL_T_INT_OR_STRING:
        yyjson_mut_set_uint(v, 0);
        return;
    case SL_T_BOOL:
        yyjson_mut_set_bool(v, false);
        return;
    case SL_T_QUANTITY:
        yyjson_mut_set_str(v, "0");
        return;
    case SL_T_ANY:
    case SL_T_MAP:
    case SL_T_LIST:
        return;
    }
}

static void prune(struct pruning *p, const struct sl_schema *s, yyjson_mut_val *v,
                  const struct sl_path *at, bool native);

static void prune_fields(struct pruning *p, const struct sl_schema *s, yyjson_mut_val *v,
                         const struct sl_path *at) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
    yyjson_mut_val *key;

    while ((key = yyjson_mut_obj_iter_next(&it))) {
        yyjson_mut_val *item = yyjson_mut_obj_iter_get_val(key);
        struct sl_text name = sl_json_mut_view(key);
        const struct sl_schema_field *f = sl_schema_field(s, name.s, name.n);
        if (!f && !s->keeps_unknown) {
            add_warning(p->st, "unknown", SL_PATH(at, name.s));
            yyjson_mut_obj_iter_remove(&it);
        } else if (f && yyjson_mut_is_null(item) &&
                   (s->go || (!f->schema->nullable && !f->deflt))) {
            yyjson_mut_obj_iter_remove(&it);
        } else if (f) {
            prune(p, f->schema, item, SL_PATH(at, name.s), s->go);
            /* No text is not the number 0. */
            bool text = f->schema->type == SL_T_INT_OR_STRING && yyjson_mut_is_str(item);
            if (s->go && !f->pointer && !text && is_empty(item))
                yyjson_mut_obj_iter_remove(&it);
        }
    }
}

static void prune_values(struct pruning *p, const struct sl_schema *s, yyjson_mut_val *v,
                         const struct sl_path *at, bool native) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
    yyjson_mut_val *key;

    while ((key = yyjson_mut_obj_iter_next(&it))) {
        yyjson_mut_val *item = yyjson_mut_obj_iter_get_val(key);
        if (yyjson_mut_is_null(item) && !native && !s->items->nullable) {
            yyjson_mut_obj_iter_remove(&it);
            continue;
        }
        if (yyjson_mut_is_null(item) && native)
            set_zero(s->items, item);
        if (native && s->items->type == SL_T_QUANTITY)
            spell(p, s->items, item, is_resource_list(s));
        else
            prune(p, s->items, item, SL_PATH(at, sl_json_mut_text(key)), native);
    }
}

/* 'native': the value stands in a type that objects are read into. */
static void prune(struct pruning *p, const struct sl_schema *s, yyjson_mut_val *v,
                  const struct sl_path *at, bool native) {
    size_t i, max;
    yyjson_mut_val *item;

    if (s->type == SL_T_OBJECT && yyjson_mut_is_obj(v)) {
        prune_fields(p, s, v, at);
    } else if (s->type == SL_T_MAP && yyjson_mut_is_obj(v)) {
        prune_values(p, s, v, at, native);
    } else if (s->type == SL_T_LIST && yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach (v, i, max, item) {
            if (native && yyjson_mut_is_null(item))
                set_zero(s->items, item);
            prune(p, s->items, item, SL_PATH_AT(at, i), native);
        }
    } else if (s->type != SL_T_QUANTITY && yyjson_mut_is_real(v) &&
               trunc(yyjson_mut_get_real(v)) == yyjson_mut_get_real(v) &&
               fabs(yyjson_mut_get_real(v)) < 0x1p53) {
        yyjson_mut_set_sint(v, (int64_t)yyjson_mut_get_real(v)); /* 2.0 is written as 2 */
    } else if (native) {
        spell(p, s, v, false);
    }
}

void sl_schema_prune(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_mut_val *object,
                     struct sl_strict *st) {
    struct pruning p = {.doc = doc, .st = st};
    prune(&p, s, object, NULL, s->go);
}

/* ---- defaults ---- */

struct filling {
    yyjson_mut_doc *doc;
    uint32_t left; /* values that may still be put in */
};

/* The value of a field: in place of the null that is there, or at the end. */
static bool put_field(struct filling *f, yyjson_mut_val *object, const char *name,
                      yyjson_mut_val *there, yyjson_mut_val *value) {
    yyjson_mut_val *key = there ? NULL : yyjson_mut_str(f->doc, name);

    sl_assert(value && (there || key));
    if (there) {
        yyjson_mut_val *next = there->next;
        *there = *value;
        there->next = next;
    } else {
        (void)yyjson_mut_obj_add(object, key, value);
    }
    return f->left > 0 && f->left-- > 0;
}

/* The values of an object by the number of their field; NULL: there are few to look for. */
static yyjson_mut_val **by_field(const struct sl_schema *s, yyjson_mut_val *object) {
    size_t i, max;
    yyjson_mut_val *key, *item;

    if (s->n_filled <= FEW)
        return NULL;
    yyjson_mut_val **there = sl_alloc0(s->n_fields, sizeof(yyjson_mut_val *));
    yyjson_mut_obj_foreach (object, i, max, key, item) {
        struct sl_text name = sl_json_mut_view(key);
        const struct sl_schema_field *f = sl_schema_field(s, name.s, name.n);
        if (f && !there[f - s->fields])
            there[f - s->fields] = item;
    }
    return there;
}

static bool fill_fields(struct filling *in, const struct sl_schema *s, yyjson_mut_val *object) {
    yyjson_mut_val **there = by_field(s, object);
    bool done = true;

    for (uint32_t i = 0; done && i < s->n_filled; i++) {
        const struct sl_schema_field *f = &s->fields[s->filled[i]];
        bool zero = s->go && f->always && !f->pointer;
        if (!f->deflt && !zero)
            continue;
        yyjson_mut_val *v = there ? there[s->filled[i]] : yyjson_mut_obj_get(object, f->name);
        bool absent = !v || (yyjson_mut_is_null(v) && !f->schema->nullable);
        if (absent && f->deflt) {
            done = put_field(in, object, f->name, v, yyjson_val_mut_copy(in->doc, f->deflt));
        } else if (!v) {
            yyjson_mut_val *none = yyjson_mut_null(in->doc);
            set_zero(f->schema, none);
            done = put_field(in, object, f->name, NULL, none);
        }
    }
    sl_freep(&there);
    return done;
}

static bool fill_defaults(struct filling *in, const struct sl_schema *s, yyjson_mut_val *v) {
    size_t i, max;
    yyjson_mut_val *key, *item;
    bool done = true;

    if (s->type == SL_T_OBJECT && yyjson_mut_is_obj(v)) {
        done = fill_fields(in, s, v);
        yyjson_mut_obj_foreach (v, i, max, key, item) {
            struct sl_text name = sl_json_mut_view(key);
            const struct sl_schema_field *f = sl_schema_field(s, name.s, name.n);
            done = done && (!f || fill_defaults(in, f->schema, item));
        }
    } else if (s->type == SL_T_MAP && yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_foreach (v, i, max, key, item) {
            done = done && fill_defaults(in, s->items, item);
        }
    } else if (s->type == SL_T_LIST && yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach (v, i, max, item) {
            done = done && fill_defaults(in, s->items, item);
        }
    }
    return done;
}

bool sl_schema_default(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_mut_val *object) {
    struct filling f = {.doc = doc, .left = SL_DEFAULTS_MAX};
    return fill_defaults(&f, s, object);
}
