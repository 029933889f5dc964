/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/merge/typed.h"

#include "cluster/merge/parts.h"
#include "lib/json/json.h"

/* ---- the fields of an object ---- */

static void fields_of(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                      struct merge_fields *at, unsigned depth);

static void fields_of_map(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                          struct merge_fields *at, unsigned depth) {
    yyjson_mut_val *key, *value;
    size_t i, max;

    yyjson_mut_obj_foreach (v, i, max, key, value) {
        struct sl_text name = sl_json_mut_view(key);
        bool named = s && s->type == SL_T_OBJECT && sl_schema_field(s, name.s, name.n);
        struct merge_fields n = {0};
        fields_of(a, s ? sl_schema_at(s, name.s, name.n) : NULL, value, &n, depth + 1);
        if (!named || yyjson_mut_is_null(value) ||
            (yyjson_mut_is_obj(value) && yyjson_mut_obj_size(value) == 0))
            n.mark = SL_F_IN;
        if (n.mark || n.below)
            merge_fields_push(a, &at->below, merge_element_field(a, name.s, name.n), n.mark)
                ->below = n.below;
    }
}

/* Duplicate items are one value: nothing below has fields of its own. */
static void fields_of_list(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                           struct merge_fields *at, unsigned depth) {
    struct merge_parts p;

    merge_parts_of_list(a, s, v, &p);
    for (uint32_t i = 0; i < p.n; i++) {
        if (!p.v[i].text.s || p.v[i].first != i)
            continue;
        struct merge_fields *n = merge_fields_push(a, &at->below, p.v[i].text, SL_F_IN);
        if (p.v[i].count == 1)
            fields_of(a, s->items, p.v[i].v, n, depth + 1);
        n->mark = SL_F_IN;
    }
    merge_parts_done(&p);
}

static void fields_of(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                      struct merge_fields *at, unsigned depth) {
    enum merge_shape shape = merge_shape(s, (yyjson_val *)v);

    if (depth > SL_FIELDS_DEPTH || merge_is_atomic(s, shape))
        at->mark = SL_F_IN;
    else if (shape == SL_SHAPE_MAP)
        fields_of_map(a, s, v, at, depth);
    else
        fields_of_list(a, s, v, at, depth);
}

struct merge_fields *merge_typed_fields(struct sl_arena *a, const struct sl_schema *s,
                                        yyjson_mut_val *v) {
    struct merge_fields root = {0};
    fields_of(a, s, v, &root, 0);
    merge_fields_sort(&root.below);
    return root.below;
}

/* ---- one object over another ---- */

struct merge {
    struct sl_arena *a;
    yyjson_mut_doc *doc;
};

static void merge_into(const struct merge *m, const struct sl_schema *s, yyjson_mut_val *into,
                       yyjson_mut_val *over, unsigned depth);

static void merge_maps(const struct merge *m, const struct sl_schema *s, yyjson_mut_val *into,
                       yyjson_mut_val *over, unsigned depth) {
    struct merge_parts p;
    yyjson_mut_val *key, *value;
    size_t i, max;

    merge_parts_of_map(m->a, into, 0, &p);
    yyjson_mut_obj_foreach (over, i, max, key, value) {
        struct sl_text name = sl_json_mut_view(key);
        uint32_t at = merge_parts_find(&p, name.s, name.n);
        if (at != SL_MAP_NONE)
            merge_into(m, s ? sl_schema_at(s, name.s, name.n) : NULL, p.v[at].v, value, depth + 1);
        else
            (void)yyjson_mut_obj_add(into, yyjson_mut_strncpy(m->doc, name.s, name.n),
                                     yyjson_mut_val_mut_copy(m->doc, value));
    }
    merge_parts_done(&p);
}

/* Two lists becoming one. Items of both stand in the order of 'over'; between them, items that
 * only 'into' has keep their place behind those they followed. */
struct lists {
    const struct merge *m;
    const struct sl_schema *items;
    struct merge_parts l, r;
    bool *taken;     /* of r */
    uint32_t shared; /* the next of r that is in l too */
    yyjson_mut_val *out;
    unsigned depth;
};

static void next_shared(struct lists *x) {
    while (++x->shared < x->r.n) {
        const struct merge_part *p = &x->r.v[x->shared];
        if (p->text.s && merge_parts_find(&x->l, p->text.s, p->text.len) != SL_MAP_NONE)
            return;
    }
}

static uint32_t in_right(const struct lists *x, uint32_t l) {
    const struct merge_part *p = &x->l.v[l];
    return p->text.s ? merge_parts_find(&x->r, p->text.s, p->text.len) : SL_MAP_NONE;
}

static void take_right(struct lists *x, uint32_t r) {
    const struct merge_part *p = &x->r.v[r];
    uint32_t l = p->text.s ? merge_parts_find(&x->l, p->text.s, p->text.len) : SL_MAP_NONE;
    yyjson_mut_val *v;

    x->taken[r] = true;
    if (l != SL_MAP_NONE && x->l.v[l].count == 1) { /* of several none is the one that is meant */
        v = x->l.v[l].v;
        merge_into(x->m, x->items, v, p->v, x->depth + 1);
    } else {
        v = yyjson_mut_val_mut_copy(x->m->doc, p->v);
    }
    (void)yyjson_mut_arr_append(x->out, v);
}

static void zip_lists(struct lists *x) {
    uint32_t l = 0, r = 0;

    while (l < x->l.n || r < x->r.n) {
        uint32_t same = l < x->l.n ? in_right(x, l) : SL_MAP_NONE;
        if (l < x->l.n && r < x->r.n) {
            if (same == r) {
                take_right(x, r++);
                l++;
                next_shared(x);
                continue;
            }
            if (same != SL_MAP_NONE && x->shared < x->r.n && same != x->shared) {
                l++; /* comes when its turn is on the right */
                continue;
            }
        }
        if (l < x->l.n) {
            if (same == SL_MAP_NONE) {
                (void)yyjson_mut_arr_append(x->out, x->l.v[l++].v);
                continue;
            }
            l += x->taken[same];
        }
        if (r < x->r.n) {
            bool was_next = r == x->shared;
            take_right(x, r++);
            if (was_next)
                next_shared(x);
        }
    }
}

static void merge_lists(const struct merge *m, const struct sl_schema *s, yyjson_mut_val *into,
                        yyjson_mut_val *over, unsigned depth) {
    struct lists x = {.m = m, .items = s->items, .shared = UINT32_MAX, .depth = depth};

    x.out = yyjson_mut_arr(m->doc);
    merge_parts_of_list(m->a, s, into, &x.l);
    merge_parts_of_list(m->a, s, over, &x.r);
    x.taken = sl_arena_alloc0(m->a, x.r.n + 1, sizeof *x.taken);
    next_shared(&x);
    zip_lists(&x);
    merge_assign(into, x.out);
    merge_parts_done(&x.l);
    merge_parts_done(&x.r);
}

static void merge_into(const struct merge *m, const struct sl_schema *s, yyjson_mut_val *into,
                       yyjson_mut_val *over, unsigned depth) {
    enum merge_shape shape = merge_shape(s, (yyjson_val *)over);
    bool empty = shape == SL_SHAPE_MAP    ? yyjson_mut_obj_size(into) == 0
                 : shape == SL_SHAPE_LIST ? yyjson_mut_arr_size(into) == 0
                                          : true;

    if (empty || merge_is_atomic(s, shape) || depth > SL_FIELDS_DEPTH)
        merge_assign(into, yyjson_mut_val_mut_copy(m->doc, over));
    else if (shape == SL_SHAPE_MAP)
        merge_maps(m, s, into, over, depth);
    else
        merge_lists(m, s, into, over, depth);
}

void merge_typed_merge(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_doc *doc,
                       yyjson_mut_val *into, yyjson_mut_val *over) {
    merge_into(&(struct merge){a, doc}, s, into, over, 0);
}

/* ---- without some fields ---- */

static void remove_from(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                        const struct merge_fields *set, unsigned depth);

static bool is_empty(yyjson_mut_val *v) {
    return yyjson_mut_is_ctn(v) && sl_json_mut_size(v) == 0;
}

/* An empty container becomes null: a manager still owns it. */
static void remove_parts(struct sl_arena *a, const struct sl_schema *s, struct merge_parts *p,
                         const struct merge_fields *set, unsigned depth) {
    for (const struct merge_fields *n = set; n; n = n->next) {
        unsigned kind = n->text[0] == 'f' ? 2 : 0; /* keys stand without it */
        uint32_t at = merge_parts_find(p, n->text + kind, n->len - kind);
        for (uint32_t i = at; i != SL_MAP_NONE && i < p->n; i++) {
            struct merge_part *x = &p->v[i];
            if (x->first != at || x->gone)
                continue;
            x->gone = n->mark;
            if (!x->gone && n->below && !is_empty(x->v)) {
                remove_from(a, merge_fields_schema(s, n), x->v, n->below, depth + 1);
                if (is_empty(x->v))
                    (void)yyjson_mut_set_null(x->v);
            }
            if (p->v[at].count == 1)
                break;
        }
    }
}

static void remove_from(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                        const struct merge_fields *set, unsigned depth) {
    enum merge_shape shape = merge_shape(s, (yyjson_val *)v);
    struct merge_parts p;

    if (!yyjson_mut_is_ctn(v) || merge_is_atomic(s, shape) || depth > SL_FIELDS_DEPTH)
        return;
    if (yyjson_mut_is_obj(v))
        merge_parts_of_map(a, v, 0, &p);
    else
        merge_parts_of_list(a, s, v, &p);
    remove_parts(a, s, &p, set, depth);
    merge_parts_write(&p, v);
    merge_parts_done(&p);
}

void merge_typed_remove(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                        const struct merge_fields *set) {
    if (set)
        remove_from(a, s, v, set, 0);
}
