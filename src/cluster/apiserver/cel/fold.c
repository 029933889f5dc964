/* SPDX-License-Identifier: Apache-2.0 */
/* Macros: expressions that are evaluated for each item of a list or each entry of a map. */
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

struct fold {
    struct api_run *run;
    const struct api_cel_node *node;
    struct api_value *made; /* items, or keys and values */
    size_t n, room, found;
    bool failed;
    struct sl_err first; /* the error */
};

/* Room for one more of what is made. */
static struct api_value *more(struct fold *f, size_t values) {
    if (f->n + values > f->room) {
        size_t room = f->room ? 2 * f->room : 16;
        struct api_value *bigger = api_cel_make(f->run, room * sizeof(*bigger));
        if (!bigger)
            return NULL;
        if (f->n)
            memcpy(bigger, f->made, f->n * sizeof(*bigger));
        f->made = bigger;
        f->room = room;
    }
    f->n += values;
    return &f->made[f->n - values];
}

/* All keys of an entry are new in the map. */
static struct api_value add_entries(struct fold *f, const struct api_value *entries) {
    struct api_run *x = f->run;
    struct api_value key, v, before;
    struct api_walk w;

    if (!api_cel_is_map(entries))
        return api_cel_no_overload(x);
    (void)api_cel_walk_begin(&w, entries);
    while (api_cel_walk_next(x, &w, &key, &v)) {
        const struct api_value made = {.kind = V_MAP, .items = f->made, .n = f->n / 2};
        if (key.kind == V_ERROR || v.kind == V_ERROR)
            return (struct api_value){.kind = V_ERROR};
        if (api_cel_find(x, &made, &key, &before))
            return x->steps > x->max   ? before
                   : key.kind == V_STR ? api_cel_error(x, "insert failed: key %.*s already exists",
                                                       (int)(key.len < 60 ? key.len : 60), key.s)
                                       : api_cel_error(x, "insert failed: key already exists");
        struct api_value *to = more(f, 2);
        if (!to)
            return api_cel_too_costly(x);
        to[0] = key;
        to[1] = v;
    }
    return api_cel_bool(true);
}

/* What was evaluated for an item. V_ERROR ends all; true: go on; false: the result is known. */
static struct api_value take(struct fold *f, const struct api_value *key,
                             const struct api_value *item, const struct api_value *v) {
    struct api_run *x = f->run;
    struct api_value *to;

    switch (f->node->fold) {
    case FOLD_MAP:
    case FOLD_SORT:
    case FOLD_TO_MAP:
        if (v->kind == V_ERROR)
            return *v;
        if (!(to = more(f, f->node->fold == FOLD_MAP ? 1 : 2)))
            return api_cel_too_costly(x);
        to[0] = f->node->fold == FOLD_MAP ? *v : f->node->fold == FOLD_SORT ? *item : *key;
        if (f->node->fold != FOLD_MAP)
            to[1] = *v;
        return api_cel_bool(true);
    case FOLD_ENTRIES:
        return v->kind == V_ERROR ? *v : add_entries(f, v);
    default:
        break;
    }
    if (v->kind != V_BOOL) {
        if (v->kind != V_ERROR)
            (void)api_cel_no_overload(x);
        if (!f->failed)
            f->first = *x->err;
        f->failed = true; /* another item may still decide */
        return f->node->fold == FOLD_ONE || f->node->fold == FOLD_FILTER
                   ? (struct api_value){.kind = V_ERROR}
                   : api_cel_bool(true);
    }
    if (v->yes && f->node->fold == FOLD_FILTER) {
        if (!(to = more(f, 1)))
            return api_cel_too_costly(x);
        *to = *item;
    }
    f->found += v->yes;
    return api_cel_bool(!(f->node->fold == FOLD_ALL && !v->yes) &&
                        !(f->node->fold == FOLD_EXISTS && v->yes));
}

/* ---- sortBy ---- */

struct sorting {
    struct api_run *run;
    bool failed;
};

/* Stable, so that equal keys stay in their order: by merging. */
static void merge_sort(struct sorting *s, struct api_value *pairs, struct api_value *aside,
                       size_t n) {
    size_t half = n / 2, i = 0, j = half, k = 0;
    int c;

    if (n < 2 || s->failed)
        return;
    merge_sort(s, pairs, aside, half);
    merge_sort(s, pairs + 2 * half, aside, n - half);
    while (!s->failed && i < half && j < n) {
        if (!api_cel_charge(s->run, 2) ||
            !api_cel_compare(s->run, &pairs[2 * i + 1], &pairs[2 * j + 1], &c)) {
            s->failed = true;
            return;
        }
        memcpy(&aside[2 * k++], &pairs[2 * (c == 1 ? j++ : i++)], 2 * sizeof(*pairs));
    }
    for (; i < half; i++)
        memcpy(&aside[2 * k++], &pairs[2 * i], 2 * sizeof(*pairs));
    memcpy(pairs, aside, 2 * k * sizeof(*pairs));
}

static struct api_value sorted(struct fold *f) {
    struct api_run *x = f->run;
    size_t n = f->n / 2;
    struct api_value *aside = api_cel_make(x, f->n * sizeof(*aside));
    struct sorting s = {.run = x};

    if (!aside)
        return api_cel_too_costly(x);
    for (size_t i = 0; i < n; i++)
        if (f->made[2 * i + 1].kind != f->made[1].kind)
            return api_cel_error(x, "list elements must have the same type");
    merge_sort(&s, f->made, aside, n);
    if (s.failed)
        return x->steps > x->max ? api_cel_too_costly(x)
                                 : api_cel_error(x, "list elements must be comparable");
    for (size_t i = 0; i < n; i++)
        aside[i] = f->made[2 * i];
    return api_cel_list(aside, n);
}

/* ---- all of them ---- */

static struct api_value result(struct fold *f) {
    switch (f->node->fold) {
    case FOLD_MAP:
    case FOLD_FILTER:
        return api_cel_list(f->made, f->n);
    case FOLD_TO_MAP:
    case FOLD_ENTRIES:
        return (struct api_value){.kind = V_MAP, .items = f->made, .n = f->n / 2};
    case FOLD_SORT:
        return sorted(f);
    case FOLD_ALL:
        return api_cel_bool(true);
    case FOLD_ONE:
        return api_cel_bool(f->found == 1);
    default:
        return api_cel_bool(false);
    }
}

/* x.optMap(v, expr): of what is in it, if anything is. */
static struct api_value eval_optional(struct api_run *x, const struct api_cel_node *n,
                                      const struct api_value *of) {
    if (of->kind != V_OPTIONAL)
        return api_cel_no_overload(x);
    if (!of->some)
        return *of;
    x->vars[n->at] = *of->some;
    struct api_value v = api_cel_eval(x, n->c);
    if (v.kind == V_ERROR || n->fold == FOLD_OPT_FLAT)
        return v.kind == V_ERROR || v.kind == V_OPTIONAL ? v : api_cel_no_overload(x);
    return api_cel_optional(x, &v);
}

struct api_value api_cel_eval_fold(struct api_run *x, const struct api_cel_node *n) {
    struct api_value of = api_cel_eval(x, n->a), key, item, v;
    struct fold f = {.run = x, .node = n};
    bool map;
    struct api_walk w;

    if (of.kind == V_ERROR)
        return of;
    if (n->fold == FOLD_OPT_MAP || n->fold == FOLD_OPT_FLAT)
        return eval_optional(x, n, &of);
    if (!api_cel_walk_begin(&w, &of))
        return api_cel_no_overload(x);
    map = api_cel_is_map(&of);
    while (api_cel_walk_next(x, &w, &key, &item)) {
        /* One variable: an item, or a key. */
        x->vars[n->at] = n->two || map ? key : item;
        if (n->two)
            x->vars[n->at + 1] = item;
        if (x->vars[n->at].kind == V_ERROR || (n->two && item.kind == V_ERROR))
            return (struct api_value){.kind = V_ERROR};
        v = n->b ? api_cel_eval(x, n->b) : api_cel_bool(true);
        if (v.kind != V_BOOL)
            return v.kind == V_ERROR ? v : api_cel_no_overload(x);
        if (!v.yes)
            continue;
        v = api_cel_eval(x, n->c);
        if (x->steps > x->max)
            return api_cel_too_costly(x);
        v = take(&f, &key, n->two || !map ? &item : &key, &v);
        if (v.kind == V_ERROR)
            return v;
        if (!v.yes)
            return api_cel_bool(n->fold == FOLD_EXISTS);
    }
    if (f.failed) {
        *x->err = f.first;
        return (struct api_value){.kind = V_ERROR};
    }
    return result(&f);
}
