/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/seek.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"
#include "lib/json/json.h"

#define FEW 16u /* are walked */

/* ---- items ---- */

static uint64_t scalar_hash(uint64_t h, yyjson_val *v) {
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        return sl_hash_bytes(h, sl_json_view(v).s, sl_json_view(v).n);
    case YYJSON_TYPE_NUM:
    case YYJSON_TYPE_BOOL:
        return sl_hash_u64(h, yyjson_is_bool(v) ? yyjson_get_bool(v) : yyjson_get_uint(v));
    default:
        return sl_hash_u64(h, v ? 1 : 0);
    }
}

static uint64_t item_hash(const struct sl_json_seek *s, yyjson_val *item) {
    uint64_t h = 1;

    for (uint32_t k = 0; k < s->n_keys; k++)
        h = scalar_hash(h, yyjson_obj_get(item, s->keys[k]));
    return h;
}

static bool same_keys(const struct sl_json_seek *s, yyjson_val *x, yyjson_val *y) {
    for (uint32_t k = 0; k < s->n_keys; k++) {
        yyjson_val *a = yyjson_obj_get(x, s->keys[k]), *b = yyjson_obj_get(y, s->keys[k]);
        if (a != b && (!a || !b || !sl_json_equal(a, b, NULL)))
            return false;
    }
    return true;
}

void sl_json_seek_items(struct sl_json_seek *s, yyjson_val *list, const char *const *keys,
                        uint32_t n_keys) {
    yyjson_val *item;
    size_t i, n;

    *s = (struct sl_json_seek){.in = list, .keys = keys, .n_keys = n_keys};
    if (!n_keys || yyjson_arr_size(list) <= FEW)
        return;
    s->v = sl_alloc0(yyjson_arr_size(list), sizeof(yyjson_val *));
    yyjson_arr_foreach (list, i, n, item) {
        uint64_t h = item_hash(s, item);
        s->v[i] = item;
        if (sl_map_get(&s->map, h) == SL_MAP_NONE || !sl_json_seek_item(s, item))
            sl_map_add(&s->map, h, (uint32_t)i);
    }
}

yyjson_val *sl_json_seek_item(struct sl_json_seek *s, yyjson_val *like) {
    yyjson_val *item;
    size_t i, n;
    uint32_t at;

    if (!s->n_keys)
        return NULL;
    if (!s->v) {
        yyjson_arr_foreach (s->in, i, n, item) {
            if (same_keys(s, item, like))
                return item;
        }
        return NULL;
    }
    uint64_t h = item_hash(s, like);
    uint32_t k = sl_map_first(&s->map, h, &at);
    while (k != SL_MAP_NONE && !same_keys(s, s->v[k], like))
        k = sl_map_next(&s->map, h, &at);
    return k == SL_MAP_NONE ? NULL : s->v[k];
}

void sl_json_seek_done(struct sl_json_seek *s) {
    sl_freep(&s->v);
    sl_map_done(&s->map);
}

/* ---- equality ---- */

static bool equal(yyjson_val *a, yyjson_val *b, uint64_t *cost, unsigned depth);

static bool equal_lists(yyjson_val *a, yyjson_val *b, uint64_t *cost, unsigned depth) {
    yyjson_arr_iter i = yyjson_arr_iter_with(a), j = yyjson_arr_iter_with(b);

    if (yyjson_arr_size(a) != yyjson_arr_size(b))
        return false;
    for (yyjson_val *v; (v = yyjson_arr_iter_next(&i));)
        if (!equal(v, yyjson_arr_iter_next(&j), cost, depth + 1))
            return false;
    return true;
}

static bool equal_objects(yyjson_val *a, yyjson_val *b, uint64_t *cost, unsigned depth) {
    _cleanup_(sl_json_fields_done) struct sl_json_fields in_b = sl_json_fields_of(b);
    bool same = yyjson_obj_size(a) == yyjson_obj_size(b);

    if (!same || yyjson_obj_size(a) == 0)
        return same;
    yyjson_obj_iter i = yyjson_obj_iter_with(a);
    for (yyjson_val *key; same && (key = yyjson_obj_iter_next(&i));) {
        yyjson_val *v = sl_json_field(&in_b, sl_json_view(key));
        *cost += 1 + sl_json_view(key).n / 16;
        same = v && equal(yyjson_obj_iter_get_val(key), v, cost, depth + 1);
    }
    return same;
}

static bool equal(yyjson_val *a, yyjson_val *b, uint64_t *cost, unsigned depth) {
    yyjson_type t = yyjson_get_type(a);

    ++*cost;
    if (t != yyjson_get_type(b) || depth > SL_JSON_MAX_DEPTH)
        return false;
    if (t == YYJSON_TYPE_ARR)
        return equal_lists(a, b, cost, depth);
    if (t == YYJSON_TYPE_OBJ)
        return equal_objects(a, b, cost, depth);
    if (t == YYJSON_TYPE_STR)
        *cost += sl_json_view(a).n / 16;
    return yyjson_equals(a, b);
}

bool sl_json_equal(yyjson_val *a, yyjson_val *b, uint64_t *cost) {
    uint64_t uncounted = 0;

    return equal(a, b, cost ? cost : &uncounted, 0);
}

/* ---- equality of what is being made ---- */

static bool mut_equal(yyjson_mut_val *a, yyjson_mut_val *b, unsigned depth);

static int by_key(const void *x, const void *y) {
    return sl_text_cmp(sl_json_mut_view(*(yyjson_mut_val *const *)x),
                       sl_json_mut_view(*(yyjson_mut_val *const *)y));
}

/* The keys from this one on, of which there are n. */
static yyjson_mut_val **sorted(yyjson_mut_val *key, size_t n) {
    yyjson_mut_val **keys = sl_alloc0(n, sizeof(yyjson_mut_val *));

    for (size_t i = 0; i < n; i++, key = key->next->next)
        keys[i] = key;
    qsort(keys, n, sizeof *keys, by_key);
    return keys;
}

static bool equal_sorted(yyjson_mut_val *a, yyjson_mut_val *b, size_t n, unsigned depth) {
    yyjson_mut_val **x = sorted(a, n), **y = sorted(b, n);
    bool same = true;

    for (size_t i = 0; same && i < n; i++)
        same = by_key(&x[i], &y[i]) == 0;
    for (size_t i = 0; same && i < n; i++)
        same = mut_equal(x[i]->next, y[i]->next, depth + 1);
    sl_freep(&x);
    sl_freep(&y);
    return same;
}

static bool mut_equal_objects(yyjson_mut_val *a, yyjson_mut_val *b, unsigned depth) {
    yyjson_mut_obj_iter i = yyjson_mut_obj_iter_with(a), j = yyjson_mut_obj_iter_with(b);
    size_t left = yyjson_mut_obj_size(a);

    if (left != yyjson_mut_obj_size(b))
        return false;
    for (; left > 0; left--) {
        yyjson_mut_val *x = yyjson_mut_obj_iter_next(&i), *y = yyjson_mut_obj_iter_next(&j);
        if (by_key(&x, &y) != 0)
            return equal_sorted(x, y, left, depth);
        if (!mut_equal(x->next, y->next, depth + 1))
            return false;
    }
    return true;
}

static bool mut_equal(yyjson_mut_val *a, yyjson_mut_val *b, unsigned depth) {
    yyjson_type t = yyjson_mut_get_type(a);

    if (t != yyjson_mut_get_type(b) || depth > SL_JSON_MAX_DEPTH)
        return false;
    if (t == YYJSON_TYPE_OBJ)
        return mut_equal_objects(a, b, depth);
    if (t != YYJSON_TYPE_ARR)
        return yyjson_mut_equals(a, b);
    if (yyjson_mut_arr_size(a) != yyjson_mut_arr_size(b))
        return false;
    yyjson_mut_arr_iter i = yyjson_mut_arr_iter_with(a), j = yyjson_mut_arr_iter_with(b);
    for (yyjson_mut_val *v; (v = yyjson_mut_arr_iter_next(&i));)
        if (!mut_equal(v, yyjson_mut_arr_iter_next(&j), depth + 1))
            return false;
    return true;
}

bool sl_json_mut_equal(yyjson_mut_val *a, yyjson_mut_val *b) {
    return mut_equal(a, b, 0);
}

/* ---- many fields at once ---- */

struct sl_json_mut_fields sl_json_mut_fields_of(yyjson_mut_val *object) {
    struct sl_json_mut_fields f = {.n = yyjson_mut_obj_size(object)};

    if (f.n) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(object);
        f.keys = sorted(yyjson_mut_obj_iter_next(&it), f.n);
    }
    return f;
}

void sl_json_mut_fields_done(struct sl_json_mut_fields *f) {
    sl_freep(&f->keys);
}

yyjson_mut_val *sl_json_mut_same_key(const struct sl_json_mut_fields *f, yyjson_mut_val *key) {
    yyjson_mut_val **is = f->n ? bsearch(&key, f->keys, f->n, sizeof *f->keys, by_key) : NULL;

    return is ? (*is)->next : NULL;
}

/* Is there a later one with its name (or an earlier one, if it is not 'last' that counts)? */
static bool counts(yyjson_mut_val **keys, size_t n, size_t i, bool last) {
    return last ? i + 1 == n || by_key(&keys[i], &keys[i + 1]) != 0
                : i == 0 || by_key(&keys[i], &keys[i - 1]) != 0;
}

struct placed_key {
    yyjson_mut_val *key;
    size_t place;
};

static int by_key_and_place(const void *x, const void *y) {
    const struct placed_key *p = x, *q = y;
    int c = by_key(&p->key, &q->key);
    return c ? c : (p->place > q->place) - (p->place < q->place);
}

static int by_place(const void *x, const void *y) {
    const struct placed_key *p = x, *q = y;
    return (p->place > q->place) - (p->place < q->place);
}

/* The keys of 'from', each once, in their order. */
static yyjson_mut_val **each_once(yyjson_mut_val *from, bool last, size_t *ret_n) {
    size_t n = yyjson_mut_obj_size(from), i, max, left = 0;
    struct placed_key *p = sl_alloc0(n, sizeof *p);
    yyjson_mut_val **keys = sl_alloc0(n, sizeof(yyjson_mut_val *)), *key, *v;

    yyjson_mut_obj_foreach (from, i, max, key, v)
        p[i] = (struct placed_key){key, i};
    qsort(p, n, sizeof *p, by_key_and_place);
    for (i = 0; i < n; i++)
        keys[i] = p[i].key;
    for (i = 0; i < n; i++)
        if (counts(keys, n, i, last))
            p[left++] = p[i];
    qsort(p, left, sizeof *p, by_place);
    for (i = 0; i < left; i++)
        keys[i] = p[i].key;
    sl_freep(&p);
    *ret_n = left;
    return keys;
}

void sl_json_mut_fill(yyjson_mut_doc *doc, yyjson_mut_val *into, yyjson_mut_val *from, bool over) {
    size_t have = yyjson_mut_obj_size(into), n = 0;

    if (!yyjson_mut_is_obj(into) || yyjson_mut_obj_size(from) == 0)
        return;
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(into);
    yyjson_mut_val **there = have ? sorted(yyjson_mut_obj_iter_next(&it), have) : NULL,
                   **keys = each_once(from, over, &n);
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_val **is = have ? bsearch(&keys[i], there, have, sizeof *there, by_key) : NULL;
        if (is && !over && !yyjson_mut_is_null((*is)->next))
            continue;
        yyjson_mut_val *v = yyjson_mut_val_mut_copy(doc, keys[i]->next);
        if (is) { /* the value becomes another one in its place */
            yyjson_mut_val *next = (*is)->next->next;
            *(*is)->next = *v;
            (*is)->next->next = next;
        } else {
            (void)yyjson_mut_obj_add(into, yyjson_mut_val_mut_copy(doc, keys[i]), v);
        }
    }
    sl_freep(&there);
    sl_freep(&keys);
}
