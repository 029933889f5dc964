/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assignment of pods to domains, once it is known how many fit where.
 *
 * Level: the domain at the requested level that holds all and has least to spare; else one level up
 * (preferred), or several domains (from the top, or if no level was requested), or none (required).
 * Descent: down to the level of slices the children of all domains chosen so far are one pool, from
 * which as few as possible are taken; below it each domain distributes its pods among its own
 * children. BestFit takes the domain with most free capacity first and at last the one with least
 * to spare; LeastFreeCapacity takes the fullest first.
 *
 * What sum_children computes for a domain, its children can hold: so the descent never fails.
 */
#include <stdlib.h>

#include "core/topo/state.h"

struct rank {
    int64_t first, then; /* ascending */
    uint32_t dom;
};

struct ranks {
    struct rank *v;
    uint32_t n, cap;
};

static int by_rank(const void *a, const void *b) {
    const struct rank *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->then != y->then)
        return x->then < y->then ? -1 : 1;
    return x->dom < y->dom ? -1 : x->dom > y->dom;
}

/* ---- lumps of pods: slices, or whatever stands together at a lower level ---- */

static int32_t lump(const struct topo_query *a, uint32_t level) {
    return level <= a->slice_level ? a->size : a->unit[level];
}

static int64_t lumps(const struct topo_query *a, uint32_t level, uint32_t dom) {
    const struct topo_count *c = &a->tree->counts[dom];
    return level <= a->slice_level ? c->slices : c->pods / a->unit[level];
}

static int64_t lumps_beside(const struct topo_query *a, uint32_t level, uint32_t dom) {
    const struct topo_count *c = &a->tree->counts[dom];
    return level <= a->slice_level ? c->slices_l : c->pods_l / a->unit[level];
}

static int64_t lumps_of(int32_t pods, int32_t size) {
    return ((int64_t)pods + size - 1) / size;
}

/* ---- one domain ---- */

/* Holds all, the leader included, with least to spare. */
static uint32_t smallest_fit(const struct topo_query *a, uint32_t level, int64_t need) {
    const struct topo_count *best = NULL;
    for (uint32_t i = a->tree->first[level]; i < a->tree->first[level + 1]; i++) {
        const struct topo_count *c = &a->tree->counts[i];
        if (c->slices_l < need || (a->leader && !c->leader))
            continue;
        if (!best || c->slices_l < best->slices_l ||
            (c->slices_l == best->slices_l && c->pods_l < best->pods_l))
            best = c;
    }
    return best ? (uint32_t)(best - a->tree->counts) : UINT32_MAX;
}

/* ---- several domains ---- */

/* Below the level of slices no domain has any, and the fullest comes first. */
static void rank_add(const struct topo_query *a, struct ranks *r, uint32_t from, uint32_t n) {
    for (uint32_t i = from; i < from + n; i++) {
        const struct topo_count *c = &a->tree->counts[i];
        *sl_vec_push(r) =
            (struct rank){.first = a->least ? c->slices : -c->slices, .then = c->pods, .dom = i};
    }
}

/* Where the leader goes: where all pods fit beside it, with least to spare; else where most of them
 * do (LeastFreeCapacity: fewest), as long as the others can take the rest. */
static uint32_t leader_at(const struct topo_query *a, uint32_t level, const struct ranks *r,
                          int64_t need) {
    int64_t total = 0;
    struct rank best = {.dom = UINT32_MAX};
    bool alone = false;
    for (uint32_t i = 0; i < r->n; i++)
        total += lumps(a, level, r->v[i].dom);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t dom = r->v[i].dom;
        int64_t beside = lumps_beside(a, level, dom);
        bool all = beside >= need;
        if (!a->tree->counts[dom].leader || total - lumps(a, level, dom) + beside < need ||
            (alone && !all))
            continue;
        struct rank k = {.first = all || a->least ? beside : -beside,
                         .then = a->tree->counts[dom].pods_l,
                         .dom = dom};
        if (best.dom == UINT32_MAX || all > alone || by_rank(&k, &best) < 0)
            best = k;
        alone |= all;
    }
    return best.dom;
}

struct spread {
    const struct topo_query *a;
    uint32_t level;
    int64_t need; /* lumps */
    int32_t pods; /* as many, but the last lump may be smaller */
    struct topo_shares *out;
};

static void give_share(struct spread *s, uint32_t dom, int64_t n, bool leader) {
    int32_t size = lump(s->a, s->level);
    n = n < s->need ? n : s->need;
    int32_t pods = n == s->need ? s->pods : (int32_t)(n * size);
    if (pods > 0 || leader)
        *sl_vec_push(s->out) = (struct topo_share){.dom = dom, .pods = pods, .leader = leader};
    s->need -= n;
    s->pods -= pods;
}

/* Shares pods among the domains, in their order. Returns whether they all have a place. */
static bool spread_pods(const struct topo_query *a, uint32_t level, struct ranks *r, int32_t pods,
                        bool leader, struct topo_shares *out) {
    struct spread s = {.a = a, .level = level, .pods = pods, .out = out};
    uint32_t head = UINT32_MAX;
    s.need = lumps_of(pods, lump(a, level));
    if (r->n > 1)
        qsort(r->v, r->n, sizeof *r->v, by_rank);
    if (leader) {
        head = leader_at(a, level, r, s.need);
        if (head == UINT32_MAX)
            return false;
        give_share(&s, head, lumps_beside(a, level, head), true);
    }
    for (uint32_t i = 0; i < r->n && s.need > 0; i++) {
        uint32_t dom = r->v[i].dom;
        if (dom == head)
            continue;
        for (uint32_t k = i; !a->least && k < r->n && lumps(a, level, dom) >= s.need; k++) {
            int64_t n = r->v[k].dom == head ? 0 : lumps(a, level, r->v[k].dom);
            if (n >= s.need && n < lumps(a, level, dom))
                dom = r->v[k].dom;
        }
        give_share(&s, dom, lumps(a, level, dom), false);
    }
    return s.need == 0;
}

/* ---- messages ---- */

static int64_t slices_below(const struct topo_query *a, uint32_t dom, uint32_t level,
                            uint32_t target, int32_t size) {
    const struct topo_dom *d = &a->tree->doms[dom];
    int64_t n = 0;
    if (level == target)
        return a->tree->counts[dom].pods / size;
    for (uint32_t i = 0; i < d->n_children; i++)
        n += slices_below(a, d->child + i, level + 1, target, size);
    return n;
}

uint32_t topo_level_of(const struct topo_query *a, const char *name) {
    const struct topo_levels *l = a->tree->levels;
    sl_sym y = sl_sym_find(&a->t->syms, name);
    uint32_t i = 0;
    while (i < l->n && (!y || l->v[i] != y))
        i++;
    return i;
}

/* Several layers of slices: how far each gets in the best domain. */
static const char *no_layers(const struct topo_query *a, uint32_t level, struct sl_arena *mem) {
    const struct sl_topo_request *q = &a->p->request;
    uint32_t best = a->tree->first[level];
    const char *text = sl_arena_printf(mem, "topology \"%s\" doesn't allow to fit",
                                       sl_sym_str(&a->t->syms, a->f->topology));
    for (uint32_t i = best; i < a->tree->first[level + 1]; i++)
        if (a->tree->counts[i].slices > a->tree->counts[best].slices)
            best = i;
    for (uint32_t i = 0; i < q->n_slices; i++)
        text = sl_arena_printf(mem, "%s; %lld/%d slice(s) fit on level %s", text,
                               (long long)slices_below(a, best, level,
                                                       topo_level_of(a, q->slices[i].level),
                                                       q->slices[i].size),
                               a->count / q->slices[i].size, q->slices[i].level);
    return sl_arena_printf(mem, "%s%s", text, topo_reasons_text(a, mem));
}

static const char *no_capacity(const struct topo_query *a, uint32_t level, int64_t fit,
                               struct sl_arena *mem) {
    const char *name = sl_sym_str(&a->t->syms, a->f->topology);
    const char *what = a->size == 1 ? "pod" : "slice";
    long long all = lumps_of(a->count, a->size);
    if (a->p->request.n_slices > 1)
        return no_layers(a, level, mem);
    if (fit == 0)
        return sl_arena_printf(mem, "topology \"%s\" doesn't allow to fit any of %lld %s(s)%s",
                               name, all, what, topo_reasons_text(a, mem));
    return sl_arena_printf(mem, "topology \"%s\" allows to fit only %lld out of %lld %s(s)%s", name,
                           (long long)fit, all, what, topo_reasons_text(a, mem));
}

/* What the best domain holds: the first by the leader, then by what fits beside it. */
static int64_t best_of(const struct topo_query *a, uint32_t level) {
    const struct topo_count *best = NULL;
    for (uint32_t i = a->tree->first[level]; i < a->tree->first[level + 1]; i++) {
        const struct topo_count *c = &a->tree->counts[i];
        if (!best || c->leader > best->leader ||
            (c->leader == best->leader &&
             (c->slices_l > best->slices_l ||
              (c->slices_l == best->slices_l && c->pods_l < best->pods_l))))
            best = c;
    }
    return best ? best->slices : 0;
}

/* What all domains hold together. */
static int64_t total_of(const struct topo_query *a, uint32_t level) {
    int64_t total = 0, cost = INT64_MAX;
    for (uint32_t i = a->tree->first[level]; i < a->tree->first[level + 1]; i++) {
        const struct topo_count *c = &a->tree->counts[i];
        total += c->slices;
        if (c->leader && c->slices - c->slices_l < cost)
            cost = c->slices - c->slices_l;
    }
    return !a->leader ? total : cost == INT64_MAX ? 0 : total - cost;
}

/* ---- the way up and the way down ---- */

static const char *find_level(const struct topo_query *a, struct sl_arena *mem, struct ranks *ranks,
                              uint32_t *level, struct topo_shares *ret) {
    int64_t need = lumps_of(a->count, a->size);
    for (*level = a->level;; --*level) {
        uint32_t from = a->tree->first[*level], n = a->tree->first[*level + 1] - from;
        if (n == 0)
            return sl_arena_printf(mem, "no topology domains at level: %s",
                                   sl_sym_str(&a->t->syms, a->tree->levels->v[*level]));
        uint32_t one = smallest_fit(a, *level, need);
        if (one != UINT32_MAX) {
            *sl_vec_push(ret) =
                (struct topo_share){.dom = one, .pods = a->count, .leader = a->leader};
            return NULL;
        }
        if (a->required)
            return no_capacity(a, *level, best_of(a, *level), mem);
        if (a->climbs && *level > 0)
            continue;
        rank_add(a, ranks, from, n);
        if (spread_pods(a, *level, ranks, a->count, a->leader, ret))
            return NULL;
        return no_capacity(a, *level, total_of(a, *level), mem);
    }
}

static void descend(const struct topo_query *a, struct ranks *ranks, uint32_t level,
                    struct topo_shares *cur, struct topo_shares *next) {
    sl_vec_clear(next);
    sl_vec_clear(ranks);
    if (level + 1 <= a->slice_level) {
        for (uint32_t i = 0; i < cur->n; i++) {
            const struct topo_dom *d = &a->tree->doms[cur->v[i].dom];
            rank_add(a, ranks, d->child, d->n_children);
        }
        sl_assert(spread_pods(a, level + 1, ranks, a->count, a->leader, next));
        return;
    }
    for (uint32_t i = 0; i < cur->n; i++) {
        const struct topo_dom *d = &a->tree->doms[cur->v[i].dom];
        sl_vec_clear(ranks);
        rank_add(a, ranks, d->child, d->n_children);
        sl_assert(spread_pods(a, level + 1, ranks, cur->v[i].pods, cur->v[i].leader, next));
    }
}

const char *topo_find_leaves(struct topo_query *a, struct sl_arena *mem, struct topo_shares *ret) {
    struct ranks ranks = {0};
    struct topo_shares next = {0};
    uint32_t level;
    const char *why = find_level(a, mem, &ranks, &level, ret);
    for (; !why && level + 1 < a->tree->levels->n; level++) {
        descend(a, &ranks, level, ret, &next);
        struct topo_shares was = *ret;
        *ret = next;
        next = was;
    }
    sl_vec_free(&ranks);
    sl_vec_free(&next);
    return why;
}
