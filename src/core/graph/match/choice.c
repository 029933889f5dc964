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

void graph_list_push(struct graph_list *l, struct graph_group *g) {
    g->next = NULL;
    g->turn = l->n;
    if (l->last)
        l->last->next = g;
    else
        l->first = g;
    l->last = g;
    l->n++;
    l->total += g->count;
    if (l->per == 0)
        return;
    l->gathered += g->count;
    if (l->gathered < l->per)
        return;
    l->bundles += g->divisible ? (uint32_t)(l->gathered / l->per) : 1;
    l->gathered = g->divisible ? l->gathered % l->per : 0;
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

static int by_score(const void *a, const void *b) {
    const struct graph_group *x = *(struct graph_group *const *)a,
                             *y = *(struct graph_group *const *)b;
    return x->score < y->score ? -1 : x->score > y->score;
}

struct stretch {
    int64_t first, last; /* consecutive scores */
};

static const struct stretch *stretch_of(const struct stretch *v, uint32_t n, int64_t score) {
    uint32_t lo = 0, hi = n;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (v[mid].first <= score)
            lo = mid;
        else
            hi = mid;
    }
    return &v[lo];
}

struct stretches {
    const struct sl_match *m;
    const struct stretch *v;
    uint32_t n;
};

static int by_stretch(const void *a, const void *b, void *ctx) {
    const struct graph_group *x = *(struct graph_group *const *)a,
                             *y = *(struct graph_group *const *)b;
    const struct stretches *s = ctx;
    const struct stretch *p = stretch_of(s->v, s->n, x->score);
    const struct stretch *q = stretch_of(s->v, s->n, y->score);
    return p != q ? (p > q ? -1 : 1) : by_turn(s->m, x, y);
}

/* By intervals of consecutive scores, the highest first; in one, as they were found. */
static void order_by_stretch(struct graph_walk *w, struct graph_group **v, uint32_t n) {
    struct stretch *all = sl_arena_alloc(&w->m->scratch, n * sizeof(*all));
    struct stretches s = {w->m, all, 0};
    qsort(v, n, sizeof(struct graph_group *), by_score); /* ties do not matter yet */
    for (uint32_t i = 0; i < n; i++) {
        if (s.n > 0 && v[i]->score <= all[s.n - 1].last + 1)
            all[s.n - 1].last = v[i]->score;
        else
            all[s.n++] = (struct stretch){v[i]->score, v[i]->score};
    }
    qsort_r(v, n, sizeof(struct graph_group *), by_stretch, &s);
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
    if (top && w->m->policy.locality)
        order_by_stretch(w, v, n);
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
