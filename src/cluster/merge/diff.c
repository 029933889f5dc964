/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference of two objects. Both are walked in parallel: as long as keys are in the same
 * order, which is nearly always, nothing is looked up; the rest is sorted. The schema is only
 * needed for objects and lists, since a scalar is one value anyway.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/merge/merge.h"
#include "cluster/merge/typed.h"
#include "lib/json/json.h"

static yyjson_val unborn = {.tag = YYJSON_TYPE_NULL};

yyjson_val *merge_absent(void) {
    return &unborn;
}

enum merge_shape merge_shape(const struct sl_schema *s, const yyjson_val *v) {
    switch (s ? s->type : SL_T_ANY) {
    case SL_T_ANY:
        break;
    case SL_T_OBJECT:
    case SL_T_MAP:
        return SL_SHAPE_MAP;
    case SL_T_LIST:
        return SL_SHAPE_LIST;
    default:
        return SL_SHAPE_SCALAR;
    }
    yyjson_type t = yyjson_get_type((yyjson_val *)v);
    return t == YYJSON_TYPE_ARR                            ? SL_SHAPE_LIST
           : t == YYJSON_TYPE_OBJ || t == YYJSON_TYPE_NULL ? SL_SHAPE_MAP
                                                           : SL_SHAPE_SCALAR;
}

bool merge_is_atomic(const struct sl_schema *s, enum merge_shape shape) {
    if (shape == SL_SHAPE_SCALAR)
        return true;
    if (shape == SL_SHAPE_LIST)
        return !s || s->type != SL_T_LIST ||
               (s->merge != SL_MERGE_SET && s->merge != SL_MERGE_KEYED);
    return s && s->merge == SL_MERGE_ATOMIC;
}

/* ---- two objects, key by key ---- */

struct pair {
    const char *key;
    size_t len;
    yyjson_val *l;
    yyjson_mut_val *r;
};

/* Keys of both, one after the other. */
struct zip {
    struct sl_arena *a;
    yyjson_obj_iter l;
    yyjson_mut_obj_iter r;
    struct pair *rest; /* sorted; NULL as long as the keys are the same */
    size_t at, n;
};

static void zip_init(struct zip *z, struct sl_arena *a, yyjson_val *l, yyjson_mut_val *r) {
    *z = (struct zip){.a = a};
    (void)yyjson_obj_iter_init(l, &z->l);
    (void)yyjson_mut_obj_iter_init(r, &z->r);
}

static int by_key(const void *x, const void *y) {
    const struct pair *p = x, *q = y;
    int c = memcmp(p->key, q->key, p->len < q->len ? p->len : q->len);
    if (c != 0)
        return c;
    if (p->len != q->len)
        return p->len < q->len ? -1 : 1;
    return (p->r != NULL) - (q->r != NULL);
}

static struct pair pair_of(struct sl_text key, yyjson_val *l, yyjson_mut_val *r) {
    return (struct pair){key.s, key.n, l, r};
}

static void zip_rest(struct zip *z, struct pair *first, size_t n_first) {
    size_t n = 0, max = n_first + (z->l.max - z->l.idx) + (z->r.max - z->r.idx);
    struct pair *p = sl_arena_alloc(z->a, (max + 1) * sizeof *p);

    for (; n < n_first; n++)
        p[n] = first[n];
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&z->l));)
        p[n++] = pair_of(sl_json_view(key), yyjson_obj_iter_get_val(key), NULL);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&z->r));)
        p[n++] = pair_of(sl_json_mut_view(key), NULL, yyjson_mut_obj_iter_get_val(key));
    qsort(p, n, sizeof *p, by_key);
    size_t to = 0;
    for (size_t i = 0; i < n; i++) { /* equal keys become one */
        if (to > 0 && p[to - 1].len == p[i].len && memcmp(p[to - 1].key, p[i].key, p[i].len) == 0) {
            p[to - 1].l = p[i].l ? p[i].l : p[to - 1].l;
            p[to - 1].r = p[i].r ? p[i].r : p[to - 1].r;
        } else {
            p[to++] = p[i];
        }
    }
    z->rest = p;
    z->n = to;
}

static bool zip_next(struct zip *z, struct pair *ret) {
    if (!z->rest) {
        yyjson_val *l = yyjson_obj_iter_next(&z->l);
        yyjson_mut_val *r = yyjson_mut_obj_iter_next(&z->r);
        if (!l && !r)
            return false;
        struct pair p[2];
        size_t n = 0;
        if (l)
            p[n++] = pair_of(sl_json_view(l), yyjson_obj_iter_get_val(l), NULL);
        if (r)
            p[n++] = pair_of(sl_json_mut_view(r), NULL, yyjson_mut_obj_iter_get_val(r));
        if (n == 2 && p[0].len == p[1].len && memcmp(p[0].key, p[1].key, p[0].len) == 0) {
            *ret = p[0];
            ret->r = p[1].r;
            return true;
        }
        zip_rest(z, p, n);
    }
    if (z->at == z->n)
        return false;
    *ret = z->rest[z->at++];
    return true;
}

/* ---- equality ---- */

static bool scalar_equal(yyjson_val *x, yyjson_val *y) {
    yyjson_type t = yyjson_get_type(x);
    if (t != yyjson_get_type(y))
        return false;
    switch (t) {
    case YYJSON_TYPE_STR:
        return sl_text_eq(sl_json_view(x), sl_json_view(y));
    case YYJSON_TYPE_BOOL:
        return yyjson_get_bool(x) == yyjson_get_bool(y);
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(x) || yyjson_is_real(y))
            return yyjson_get_num(x) == yyjson_get_num(y);
        return yyjson_is_sint(x) == yyjson_is_sint(y)
                   ? yyjson_get_uint(x) == yyjson_get_uint(y)
                   : yyjson_get_sint(x) == yyjson_get_sint(y) && yyjson_get_sint(x) >= 0;
    default:
        return true;
    }
}

static bool equal(struct sl_arena *a, yyjson_val *x, yyjson_mut_val *y, unsigned depth) {
    if (depth > SL_FIELDS_DEPTH || yyjson_get_type(x) != yyjson_mut_get_type(y))
        return false;
    if (yyjson_is_arr(x)) {
        if (yyjson_arr_size(x) != yyjson_mut_arr_size(y))
            return false;
        yyjson_arr_iter i = yyjson_arr_iter_with(x);
        yyjson_mut_arr_iter j = yyjson_mut_arr_iter_with(y);
        for (yyjson_val *v; (v = yyjson_arr_iter_next(&i));) {
            if (!equal(a, v, yyjson_mut_arr_iter_next(&j), depth + 1))
                return false;
        }
        return true;
    }
    if (!yyjson_is_obj(x))
        return scalar_equal(x, (yyjson_val *)y);
    if (yyjson_obj_size(x) != yyjson_mut_obj_size(y))
        return false;
    struct zip z;
    zip_init(&z, a, x, y);
    for (struct pair p; zip_next(&z, &p);) {
        if (!p.l || !p.r || !equal(a, p.l, p.r, depth + 1))
            return false;
    }
    return true;
}

bool merge_typed_equal(struct sl_arena *a, yyjson_val *x, yyjson_mut_val *y) {
    return equal(a, x, y, 0);
}

/* The zero value of a field of a struct. */
static bool is_nothing(yyjson_val *v) {
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        return sl_json_view(v).n == 0;
    case YYJSON_TYPE_NUM:
        return yyjson_get_num(v) == 0;
    case YYJSON_TYPE_BOOL:
        return !yyjson_get_bool(v);
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ:
        return sl_json_size(v) == 0;
    default:
        return true;
    }
}

/* ---- the walk ---- */

static void diff_at(struct sl_arena *a, const struct sl_schema *s, yyjson_val *l, yyjson_mut_val *r,
                    struct merge_fields *at, unsigned depth);

/* One element below 'up': a field with this name (text NULL), or an item. */
static void diff_below(struct sl_arena *a, const struct sl_schema *s, const struct pair *p,
                       const struct merge_element *item, struct merge_fields *up, unsigned depth) {
    struct merge_fields n = {0};
    diff_at(a, s, p->l, p->r, &n, depth + 1);
    if (!n.mark && !n.below)
        return;
    struct merge_element text = item ? *item : merge_element_field(a, p->key, p->len);
    merge_fields_push(a, &up->below, text, n.mark)->below = n.below;
}

static void diff_leaf(struct sl_arena *a, yyjson_val *l, yyjson_mut_val *r,
                      struct merge_fields *at) {
    if (!l)
        at->mark |= SL_F_IN;
    else if (!r)
        at->mark |= SL_F_REMOVED;
    else if (l == &unborn ? !is_nothing((yyjson_val *)r) : !merge_typed_equal(a, l, r))
        at->mark |= SL_F_CHANGED;
}

static bool is_container(yyjson_val *v) {
    return yyjson_is_obj(v) || yyjson_is_arr(v);
}

static bool is_one_of(const char *const *names, const char *key, size_t len) {
    for (; names && *names; names++) {
        if (strncmp(*names, key, len) == 0 && (*names)[len] == '\0')
            return true;
    }
    return false;
}

static void diff_map(struct sl_arena *a, const struct sl_schema *s, yyjson_val *l,
                     yyjson_mut_val *r, const char *const *skip, struct merge_fields *at,
                     unsigned depth) {
    struct zip z;

    zip_init(&z, a, l, r);
    for (struct pair p; zip_next(&z, &p);) {
        if (is_one_of(skip, p.key, p.len))
            continue;
        if (p.l && p.r && !is_container(p.l) && !yyjson_mut_is_ctn(p.r) && !yyjson_is_null(p.l) &&
            !yyjson_mut_is_null(p.r)) {
            if (!scalar_equal(p.l, (yyjson_val *)p.r))
                (void)merge_fields_push(a, &at->below, merge_element_field(a, p.key, p.len),
                                        SL_F_CHANGED);
            continue;
        }
        const struct sl_schema *below = s ? sl_schema_at(s, p.key, p.len) : NULL;
        if (l == &unborn && s && s->type == SL_T_OBJECT) {
            const struct sl_schema_field *f = sl_schema_field(s, p.key, p.len);
            p.l = f && f->always ? &unborn : NULL;
        }
        diff_below(a, below, &p, NULL, at, depth);
    }
}

/* ---- lists whose items have names ---- */

struct item {
    struct merge_element text;
    yyjson_val *l;
    yyjson_mut_val *r;
    uint32_t place;
};

static int by_text(const void *x, const void *y) {
    const struct item *p = x, *q = y;
    if (p->text.len != q->text.len)
        return p->text.len < q->text.len ? -1 : 1;
    int c = memcmp(p->text.s, q->text.s, p->text.len);
    return c != 0 ? c : (p->place > q->place) - (p->place < q->place);
}

static bool same_text(const struct item *x, const struct item *y) {
    return x->text.len == y->text.len && memcmp(x->text.s, y->text.s, x->text.len) == 0;
}

/* Items with one name, nl on the left and nr on the right: normally at most one each. If a name is
 * there more than once, all that have it are one value. */
static void diff_group(struct sl_arena *a, const struct sl_schema *s, struct item *g, uint32_t nl,
                       uint32_t nr, struct merge_fields *at, unsigned depth) {
    struct pair p = {.l = nl == 1 ? g[0].l : NULL, .r = nr == 1 ? g[nl].r : NULL};
    bool same = nl == nr;

    if (p.l || p.r)
        diff_below(a, s, &p, &g->text, at, depth);
    if (nl <= 1 && nr <= 1)
        return;
    for (uint32_t i = 0; same && i < nl; i++)
        same = merge_typed_equal(a, g[i].l, g[nl + i].r);
    if (!same)
        (void)merge_fields_push(a, &at->below, g->text,
                                nl < 2   ? SL_F_IN
                                : nr < 2 ? SL_F_REMOVED
                                         : SL_F_CHANGED);
}

static void diff_list(struct sl_arena *a, const struct sl_schema *s, yyjson_val *l,
                      yyjson_mut_val *r, struct merge_fields *at, unsigned depth) {
    size_t max = yyjson_arr_size(l) + yyjson_mut_arr_size(r), i, size;
    struct item *items = sl_arena_alloc(a, (max + 1) * sizeof *items);
    uint32_t n = 0;
    const char *why;
    yyjson_val *lv;
    yyjson_mut_val *rv;

    yyjson_arr_foreach (l, i, size, lv) {
        items[n] = (struct item){merge_element_item(a, s, lv, &why), lv, NULL, n};
        n += items[n].text.s != NULL;
    }
    yyjson_mut_arr_foreach (r, i, size, rv) {
        items[n] = (struct item){merge_element_item_mut(a, s, rv, &why), NULL, rv, n};
        n += items[n].text.s != NULL;
    }
    qsort(items, n, sizeof *items, by_text);
    for (uint32_t from = 0, nl, nr; from < n; from += nl + nr) {
        nl = nr = 0;
        for (uint32_t k = from; k < n && same_text(&items[from], &items[k]); k++)
            nl += items[k].l != NULL, nr += items[k].r != NULL;
        diff_group(a, s->items, &items[from], nl, nr, at, depth);
    }
}

/* True: it was compared as one value. */
static bool diff_as(struct sl_arena *a, enum merge_shape shape, const struct sl_schema *s,
                    yyjson_val *l, yyjson_mut_val *r, struct merge_fields *at, unsigned depth) {
    size_t size = 0;

    if (shape == SL_SHAPE_MAP)
        size = yyjson_obj_size(l) + yyjson_mut_obj_size(r);
    else if (shape == SL_SHAPE_LIST)
        size = yyjson_arr_size(l) + yyjson_mut_arr_size(r);
    /* Where both are empty, null and empty are distinguished. */
    if (size == 0 || merge_is_atomic(s, shape) || depth > SL_FIELDS_DEPTH) {
        diff_leaf(a, l, r, at);
        return true;
    }
    if (shape == SL_SHAPE_MAP)
        diff_map(a, s, l, r, NULL, at, depth);
    else
        diff_list(a, s, l, r, at, depth);
    return false;
}

static void diff_at(struct sl_arena *a, const struct sl_schema *s, yyjson_val *l, yyjson_mut_val *r,
                    struct merge_fields *at, unsigned depth) {
    enum merge_shape ls = merge_shape(s, l), rs = merge_shape(s, (yyjson_val *)r);
    if (l && r && ls != rs) /* as if what was there went and something else came */
        (void)diff_as(a, ls, s, l, r, at, depth);
    if (!diff_as(a, r ? rs : ls, s, l, r, at, depth) && (!l || !r))
        at->mark |= l ? SL_F_REMOVED : SL_F_IN;
}

struct merge_fields *merge_typed_diff(struct sl_arena *a, const struct sl_schema *s,
                                      yyjson_val *old, yyjson_mut_val *now,
                                      const char *const *skip) {
    struct merge_fields root = {0};

    diff_map(a, s, old, now, skip, &root, 0);
    merge_fields_sort(&root.below);
    merge_fields_index(root.below);
    return root.below;
}

/* ---- how many ---- */

static bool count_fields(const struct sl_schema *s, yyjson_val *v, uint32_t *left, unsigned depth) {
    enum merge_shape shape = merge_shape(s, v);
    size_t i, max, n = sl_json_size(v);
    yyjson_val *key, *in;

    if (!is_container(v) || merge_is_atomic(s, shape) || depth > SL_FIELDS_DEPTH)
        return true;
    if (n > *left)
        return false;
    *left -= (uint32_t)n;
    if (yyjson_is_arr(v)) {
        yyjson_arr_foreach (v, i, max, in) {
            if (is_container(in) && !count_fields(s->items, in, left, depth + 1))
                return false;
        }
        return true;
    }
    sl_obj_foreach (v, i, max, key, in) {
        struct sl_text name = sl_json_view(key);
        const struct sl_schema *below =
            is_container(in) && s ? sl_schema_at(s, name.s, name.n) : NULL;
        if (below && !count_fields(below, in, left, depth + 1))
            return false;
    }
    return true;
}

bool sl_manage_fits(const struct sl_schema *s, yyjson_val *object) {
    uint32_t left = SL_MANAGED_MAX;
    return count_fields(s, object, &left, 0);
}
