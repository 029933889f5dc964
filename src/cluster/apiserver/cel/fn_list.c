/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of lists, and of lists as sets. */
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

/* All items, which the caller may change; NULL: *ret_bad is the result. */
static struct api_value *items_of(struct api_cel_call *c, uint32_t arg, size_t *ret_n,
                                  struct api_value *ret_bad) {
    const struct api_value *list = &c->args[arg];
    struct api_value *items = api_cel_make(c->run, api_cel_size(list) * sizeof(*items)), key;
    struct api_walk w;
    size_t n = 0;

    if (!items) {
        *ret_bad = api_cel_too_costly(c->run);
        return NULL;
    }
    (void)api_cel_walk_begin(&w, list);
    while (api_cel_walk_next(c->run, &w, &key, &items[n])) {
        if (!api_cel_charge(c->run, 1))
            items[n] = api_cel_too_costly(c->run);
        if (items[n].kind == V_ERROR) {
            *ret_bad = items[n];
            return NULL;
        }
        n++;
        if (n == api_cel_size(list))
            break;
    }
    *ret_n = n;
    return items;
}

static struct api_value is_sorted(struct api_cel_call *c) {
    struct api_value bad, *items;
    size_t n;
    int order;

    if (!(items = items_of(c, 0, &n, &bad)))
        return bad;
    for (size_t i = 1; i < n; i++) {
        if (!api_cel_compare(c->run, &items[i - 1], &items[i], &order))
            return api_cel_no_overload(c->run);
        if (order == 1)
            return api_cel_bool(false);
    }
    return api_cel_bool(true);
}

enum { LEAST, MOST };

static struct api_value extreme(struct api_cel_call *c) {
    struct api_value bad, *items;
    size_t n, at = 0;
    int order;

    if (!(items = items_of(c, 0, &n, &bad)))
        return bad;
    if (n == 0)
        return api_cel_error(c->run, "%s called on empty list", c->how == LEAST ? "min" : "max");
    for (size_t i = 1; i < n; i++) {
        if (!api_cel_compare(c->run, &items[at], &items[i], &order))
            return api_cel_no_overload(c->run);
        if (order == (c->how == LEAST ? 1 : -1))
            at = i;
    }
    return items[at];
}

static struct api_value sum(struct api_cel_call *c) {
    struct api_value bad, *items, all = api_cel_int(0);
    size_t n;

    if (!(items = items_of(c, 0, &n, &bad)))
        return bad;
    for (size_t i = 0; i < n; i++) {
        bool over = false;
        if (i == 0) {
            all = items[0];
            over = all.kind != V_INT && all.kind != V_UINT && all.kind != V_REAL &&
                   all.kind != V_DURATION;
            if (over)
                return api_cel_no_overload(c->run);
            continue;
        }
        if (items[i].kind != all.kind)
            return api_cel_no_overload(c->run);
        if (all.kind == V_REAL)
            all.real += items[i].real;
        else
            over = all.kind == V_UINT ? __builtin_add_overflow(all.unum, items[i].unum, &all.unum)
                                      : __builtin_add_overflow(all.num, items[i].num, &all.num);
        if (over)
            return api_cel_error(c->run, "%s overflow",
                                 all.kind == V_UINT  ? "unsigned integer"
                                 : all.kind == V_INT ? "integer"
                                                     : "duration");
    }
    return all;
}

enum { FIRST, LAST };

static struct api_value index_of(struct api_cel_call *c) {
    struct api_value bad, *items;
    int64_t found = -1;
    size_t n;

    if (!(items = items_of(c, 0, &n, &bad)))
        return bad;
    for (size_t i = 0; i < n && (c->how == LAST || found < 0); i++)
        if (api_cel_equal(c->run, &items[i], &c->args[1]))
            found = (int64_t)i;
    return c->run->steps > c->run->max ? api_cel_too_costly(c->run) : api_cel_int(found);
}

static struct api_value slice(struct api_cel_call *c) {
    const int64_t from = c->args[1].num, to = c->args[2].num;
    struct api_value bad, *items;
    size_t n;

    if (from < 0 || to < 0)
        return api_cel_error(c->run, "cannot slice(%lld, %lld), negative indexes not supported",
                             (long long)from, (long long)to);
    if (from > to)
        return api_cel_error(
            c->run,
            "cannot slice(%lld, %lld), start index must be less than or equal to end "
            "index",
            (long long)from, (long long)to);
    if (!(items = items_of(c, 0, &n, &bad)))
        return bad;
    if ((uint64_t)to > n)
        return api_cel_error(c->run, "cannot slice(%lld, %lld), list is length %zu",
                             (long long)from, (long long)to, n);
    return api_cel_list(items + from, (size_t)(to - from));
}

struct flat {
    struct api_cel_call *call;
    struct api_value *items;
    size_t n, room;
    struct api_value bad;
};

static bool flatten_into(struct flat *f, const struct api_value *list, int64_t depth) {
    struct api_run *x = f->call->run;
    struct api_value key, v;
    struct api_walk w;

    (void)api_cel_walk_begin(&w, list);
    while (api_cel_walk_next(x, &w, &key, &v)) {
        if (v.kind == V_ERROR || !api_cel_charge(x, 1)) {
            f->bad = v.kind == V_ERROR ? v : api_cel_too_costly(x);
            return false;
        }
        if (api_cel_is_list(&v) && depth > 0) {
            if (!flatten_into(f, &v, depth - 1))
                return false;
            continue;
        }
        if (f->n == f->room) {
            f->room = f->room ? 2 * f->room : 16;
            struct api_value *more = api_cel_make(x, f->room * sizeof(*more));
            if (!more) {
                f->bad = api_cel_too_costly(x);
                return false;
            }
            if (f->n)
                memcpy(more, f->items, f->n * sizeof(*more));
            f->items = more;
        }
        f->items[f->n++] = v;
    }
    return true;
}

static struct api_value flatten(struct api_cel_call *c) {
    const int64_t depth = c->n > 1 ? c->args[1].num : 1;
    struct flat f = {.call = c};

    if (depth < 0)
        return api_cel_error(c->run, "level must be non-negative");
    return flatten_into(&f, &c->args[0], depth < SL_CEL_MAX_DEPTH ? depth : SL_CEL_MAX_DEPTH)
               ? api_cel_list(f.items, f.n)
               : f.bad;
}

static struct api_value range(struct api_cel_call *c) {
    const int64_t n = c->args[0].num > 0 ? c->args[0].num : 0;
    struct api_value *items =
        n < (1 << 24) ? api_cel_make(c->run, (size_t)n * sizeof(*items)) : NULL;

    if (!items)
        return api_cel_too_costly(c->run);
    for (int64_t i = 0; i < n; i++)
        items[i] = api_cel_int(i);
    return api_cel_list(items, (size_t)n);
}

static struct api_value reverse(struct api_cel_call *c) {
    struct api_value bad, *items;
    size_t n;

    if (!(items = items_of(c, 0, &n, &bad)))
        return bad;
    for (size_t i = 0; i < n / 2; i++) {
        struct api_value v = items[i];
        items[i] = items[n - 1 - i];
        items[n - 1 - i] = v;
    }
    return api_cel_list(items, n);
}

static struct api_value distinct(struct api_cel_call *c) {
    struct api_value bad, *items;
    size_t n, kept = 0;

    if (!(items = items_of(c, 0, &n, &bad)))
        return bad;
    for (size_t i = 0; i < n && c->run->steps <= c->run->max; i++) {
        size_t k = 0;
        while (k < kept && !api_cel_equal(c->run, &items[k], &items[i]))
            k++;
        if (k == kept)
            items[kept++] = items[i];
    }
    return c->run->steps > c->run->max ? api_cel_too_costly(c->run) : api_cel_list(items, kept);
}

/* Stable, by insertion from behind: what it moves is charged. */
static struct api_value sort(struct api_cel_call *c) {
    struct api_value bad, *items;
    size_t n;
    int order = 0;

    if (!(items = items_of(c, 0, &n, &bad)))
        return bad;
    for (size_t i = 1; i < n; i++) {
        struct api_value v = items[i];
        size_t k = i;
        if (v.kind != items[0].kind)
            return api_cel_error(c->run, "list elements must have the same type");
        for (; k > 0; k--) {
            if (!api_cel_charge(c->run, 1))
                return api_cel_too_costly(c->run);
            if (!api_cel_compare(c->run, &items[k - 1], &v, &order))
                return api_cel_error(c->run, "list elements must be comparable");
            if (order != 1)
                break;
            items[k] = items[k - 1];
        }
        items[k] = v;
    }
    return api_cel_list(items, n);
}

/* ---- sets ---- */

enum { CONTAINS, EQUIVALENT, INTERSECTS };

static bool has(struct api_cel_call *c, const struct api_value *items, size_t n,
                const struct api_value *v) {
    for (size_t i = 0; i < n && c->run->steps <= c->run->max; i++)
        if (api_cel_equal(c->run, &items[i], v))
            return true;
    return false;
}

static struct api_value sets(struct api_cel_call *c) {
    struct api_value bad, *a, *b;
    size_t n, m, common = 0;
    bool all = true;

    if (!(a = items_of(c, 0, &n, &bad)) || !(b = items_of(c, 1, &m, &bad)))
        return bad;
    for (size_t i = 0; i < m; i++)
        common += has(c, a, n, &b[i]);
    for (size_t i = 0; c->how == EQUIVALENT && i < n && all; i++)
        all = has(c, b, m, &a[i]);
    if (c->run->steps > c->run->max)
        return api_cel_too_costly(c->run);
    return api_cel_bool(c->how == INTERSECTS ? common > 0 : common == m && all);
}

const struct api_cel_function api_cel_functions_list[] = {
    {"isSorted", true, "l", 'b', is_sorted, 0},
    {"sum", true, "l", 'e', sum, 0},
    {"min", true, "l", 'e', extreme, LEAST},
    {"max", true, "l", 'e', extreme, MOST},
    {"indexOf", true, "l*", 'i', index_of, FIRST},
    {"lastIndexOf", true, "l*", 'i', index_of, LAST},
    {"slice", true, "lii", '0', slice, 0},
    {"flatten", true, "l", 'l', flatten, 0},
    {"flatten", true, "li", 'l', flatten, 0},
    {"lists.range", false, "i", 'N', range, 0},
    {"reverse", true, "l", '0', reverse, 0},
    {"distinct", true, "l", '0', distinct, 0},
    {"sort", true, "l", '0', sort, 0},
    {"sets.contains", false, "ll", 'b', sets, CONTAINS},
    {"sets.equivalent", false, "ll", 'b', sets, EQUIVALENT},
    {"sets.intersects", false, "ll", 'b', sets, INTERSECTS},
    {0},
};
