/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk finds, and what is chosen from it: lists of groups by request, their order by policy,
 * and chains of what is claimed.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph/match/match_int.h"

/* ---- lists, groups, chains ---- */

struct graph_list *graph_walk_lists(struct graph_walk *w, uint32_t n) {
    return sl_arena_alloc0(&w->m->scratch, n, sizeof(struct graph_list));
}

void graph_list_count(struct graph_list *l, int64_t count, bool divisible) {
    l->n++;
    l->total += count;
    if (l->per == 0)
        return;
    l->gathered += count;
    if (l->gathered < l->per)
        return;
    l->bundles += divisible ? (uint32_t)(l->gathered / l->per) : 1;
    l->gathered = divisible ? l->gathered % l->per : 0;
}

void graph_list_push(struct graph_list *l, struct graph_group *g) {
    g->next = NULL;
    g->turn = l->n;
    if (l->last)
        l->last->next = g;
    else
        l->first = g;
    l->last = g;
    graph_list_count(l, g->count, g->divisible);
}

static struct graph_claim *new_claim(struct graph_walk *w, uint32_t block, uint32_t n_words) {
    struct graph_claim *c =
        sl_arena_alloc0(&w->m->scratch, 1, sizeof(*c) + (size_t)2 * n_words * sizeof(c->bits[0]));
    c->block = block;
    return c;
}

struct graph_claim *graph_chain_claim(struct graph_walk *w, struct graph_chain *c, uint32_t block) {
    struct graph_claim *k = c->claims;
    if (!k || k->amount || k->block != block) {
        k = new_claim(w, block, graph_block_words(&w->m->blocks.v[block]));
        k->next = c->claims;
        c->claims = k;
    }
    return k;
}

void graph_chain_range(struct graph_walk *w, struct graph_chain *c, uint32_t from, uint32_t to,
                       bool exclusive) {
    const struct sl_match *m = w->m;
    for (uint32_t p = from; p < to;) {
        uint32_t i = m->spots[p].block;
        const struct graph_block *b = &m->blocks.v[i];
        uint32_t n = graph_block_words(b), end = b->pos + b->n < to ? b->pos + b->n : to;
        struct graph_claim *k = graph_chain_claim(w, c, i);
        for (; p < end; p++)
            k->bits[(exclusive ? 0 : n) + (p - b->pos) / 64] |= UINT64_C(1) << (p - b->pos) % 64;
    }
}

void graph_chain_subtree(struct graph_walk *w, struct graph_chain *c, uint32_t pos) {
    struct graph_ranges below = {0};
    if (!graph_joint_leads_out(w->m, pos)) {
        graph_chain_range(w, c, pos, graph_end_of(w->m, pos), true);
        return;
    }
    graph_joint_below(w->m, pos, &below);
    for (uint32_t i = 0; i < below.n; i++)
        graph_chain_range(w, c, below.v[i].from, below.v[i].to, true);
    sl_vec_free(&below);
}

void graph_chain_group(struct graph_walk *w, struct graph_chain *c, const struct graph_group *g,
                       int64_t amount) {
    if (w->m->n_more > 0) {
        graph_joint_merge(w, c, g->chain.ways);
        graph_joint_merge(w, c, g->passed);
    }
    if (!g->whole) {
        struct graph_claim *last = g->chain.claims;
        c->n_slots += g->chain.n_slots;
        while (last && last->next)
            last = last->next;
        if (last) {
            last->next = c->claims;
            c->claims = g->chain.claims;
        }
    } else if (g->divisible && g->exclusive) {
        struct graph_claim *k =
            new_claim(w, (uint32_t)(graph_pool_at(w->m, g->pos) - w->m->pools.v), 0);
        k->amount = amount;
        /* Behind the first, so that bits go on being added to that one. */
        struct graph_claim **at = c->claims ? &c->claims->next : &c->claims;
        k->next = *at;
        *at = k;
    } else if (g->all) {
        graph_chain_subtree(w, c, g->pos);
    } else {
        graph_chain_range(w, c, g->pos, g->pos + 1, g->exclusive);
    }
}

/* ---- order and choice ---- */

/* Which was found first: in the walk, which goes depth first unless weights lead it. Siblings are
 * not walked in their order, though, unless there are further parents. */
static int by_turn(const struct sl_match *m, const struct graph_group *x,
                   const struct graph_group *y) {
    if (x->place != y->place && !m->policy.stop_early && m->n_more == 0)
        return x->place < y->place ? -1 : 1;
    return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static int by_policy(const void *a, const void *b, void *ctx) {
    const struct graph_group *x = *(struct graph_group *const *)a,
                             *y = *(struct graph_group *const *)b;
    return x->score != y->score ? graph_layout_compare(ctx, x->score, 0, y->score, 0)
                                : by_turn(ctx, x, y);
}

/* ---- locality ---- */

/* Up to so many equal ones keep their order. */
#define FEW 16u

struct keyed {
    int64_t key; /* high first */
    struct graph_group *g;
};

static int by_key(const void *a, const void *b) {
    const struct keyed *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static int keyed_by_turn(const void *a, const void *b, void *ctx) {
    const struct keyed *x = a, *y = b;
    return by_turn(ctx, x->g, y->g);
}

static int keyed_by_both(const void *a, const void *b, void *ctx) {
    return by_key(b, a) ? by_key(b, a) : keyed_by_turn(a, b, ctx);
}

static void swap_keyed(struct keyed *a, struct keyed *b) {
    struct keyed c = *a;
    *a = *b;
    *b = c;
}

/* Divides them by the median of the second, the middle and the last one, which comes first. Returns
 * where the lower part begins. */
static uint32_t divide(struct keyed *v, uint32_t n) {
    struct keyed *a = v + 1, *b = v + n / 2, *c = v + n - 1;
    uint32_t lo = 1, hi = n;
    if (a->key > b->key)
        swap_keyed(v, b->key > c->key ? b : a->key > c->key ? c : a);
    else
        swap_keyed(v, a->key > c->key ? a : b->key > c->key ? c : b);
    for (;; lo++) {
        while (v[lo].key > v->key)
            lo++;
        do
            hi--;
        while (v->key > v[hi].key);
        if (lo >= hi)
            return lo;
        swap_keyed(&v[lo], &v[hi]);
    }
}

/* They are divided as the sort of Fluxion's library does, since that is what decides between equal
 * ones there; what was divided too often to be of use is ordered by turn. */
static void divide_all(struct keyed *v, uint32_t n, uint32_t depth, struct sl_match *m) {
    for (; n > FEW && depth > 0; depth--) {
        uint32_t at = divide(v, n);
        divide_all(v + at, n - at, depth - 1, m);
        n = at;
    }
    if (n > FEW)
        qsort_r(v, n, sizeof(*v), keyed_by_both, m);
}

static void sort_keyed(struct keyed *v, uint32_t n, struct sl_match *m) {
    uint32_t depth = 0;
    for (uint32_t i = n; i > 1; i /= 2)
        depth += 2;
    divide_all(v, n, depth, m);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && v[k].key > v[k - 1].key; k--)
            swap_keyed(&v[k], &v[k - 1]);
}

/* At the top by intervals of consecutive scores, the highest first; inside by score. Of equal ones
 * the one that was found first comes first, unless Fluxion's answers are wanted. */
static void order_by_intervals(struct graph_walk *w, struct graph_group **v, uint32_t n, bool top) {
    struct keyed *k = sl_arena_alloc(&w->m->scratch, (n + 1) * sizeof(*k));
    for (uint32_t i = 0; i < n; i++)
        k[i] = (struct keyed){v[i]->score, v[i]};
    if (top)
        qsort(k, n, sizeof(*k), by_key); /* ties do not matter yet */
    for (uint32_t i = 1; i < n && top; i++)
        if (k[i].key <= k[i - 1].g->score + 1)
            k[i].key = k[i - 1].key;
    qsort_r(k, n, sizeof(*k), w->m->fluxion ? keyed_by_turn : keyed_by_both, w->m);
    if (w->m->fluxion)
        sort_keyed(k, n, w->m);
    for (uint32_t i = 0; i < n; i++)
        v[i] = k[i].g;
}

struct graph_group **graph_walk_order(struct graph_walk *w, const struct graph_list *l, bool top) {
    struct graph_group **v =
        sl_arena_alloc(&w->m->scratch, (l->n + 1) * sizeof(struct graph_group *));
    uint32_t n = 0;
    bool sorted = true;
    for (struct graph_group *g = l->first; g; g = g->next) {
        sorted = sorted && (n == 0 || by_policy(&v[n - 1], &g, w->m) < 0);
        v[n++] = g;
    }
    if (w->aux && w->m->policy.stop_early)
        return v; /* as they were found */
    if (w->m->policy.locality && (top || w->m->fluxion))
        order_by_intervals(w, v, n, top);
    else if (!sorted)
        qsort_r(v, n, sizeof(struct graph_group *), by_policy, w->m);
    return v;
}

bool graph_walk_choose(struct graph_walk *w, const struct graph_list *l, const struct graph_req *r,
                       bool top, struct graph_chain *ret) {
    int64_t want = sl_req_count_take(&r->count, (uint64_t)l->total);
    if (w->aux)
        return graph_aux_choose(w, graph_walk_order(w, l, top), l->n, r, ret);
    if (want == 0)
        return false;
    struct graph_group **v = graph_walk_order(w, l, top);
    for (uint32_t i = 0; want > 0; i++) {
        int64_t amount = v[i]->count < want ? v[i]->count : want;
        if (w->notes)
            graph_aux_note(w, v[i], amount);
        graph_chain_group(w, ret, v[i], amount);
        want -= v[i]->count;
    }
    return true;
}
