/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk finds, and what is chosen from it: lists of groups by request, their order by policy,
 * and chains of what is claimed.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph/match/match_int.h"

/* ---- lists, groups, chains ---- */

struct list *sl_walk_lists(struct walk *w, uint32_t n) {
    return sl_arena_alloc0(&w->m->scratch, n, sizeof(struct list));
}

void sl_list_push(struct list *l, struct group *g) {
    g->next = NULL;
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

static struct claim *new_claim(struct walk *w, uint32_t block, uint32_t n_words) {
    struct claim *c =
        sl_arena_alloc0(&w->m->scratch, 1, sizeof(*c) + (size_t)2 * n_words * sizeof(c->bits[0]));
    c->block = block;
    return c;
}

struct claim *sl_chain_claim(struct walk *w, struct chain *c, uint32_t block) {
    struct claim *k = c->claims;
    if (!k || k->amount || k->block != block) {
        k = new_claim(w, block, block_words(&w->m->blocks.v[block]));
        k->next = c->claims;
        c->claims = k;
    }
    return k;
}

void sl_chain_range(struct walk *w, struct chain *c, uint32_t from, uint32_t to, bool exclusive) {
    const struct sl_match *m = w->m;
    for (uint32_t p = from; p < to;) {
        uint32_t i = m->spots[p].block;
        const struct block *b = &m->blocks.v[i];
        uint32_t n = block_words(b), end = b->pos + b->n < to ? b->pos + b->n : to;
        struct claim *k = sl_chain_claim(w, c, i);
        for (; p < end; p++)
            k->bits[(exclusive ? 0 : n) + (p - b->pos) / 64] |= UINT64_C(1) << (p - b->pos) % 64;
    }
}

void sl_chain_group(struct walk *w, struct chain *c, const struct group *g, int64_t amount) {
    if (!g->whole) {
        struct claim *last = g->chain.claims;
        c->n_slots += g->chain.n_slots;
        while (last && last->next)
            last = last->next;
        if (last) {
            last->next = c->claims;
            c->claims = g->chain.claims;
        }
    } else if (g->divisible && g->exclusive) {
        struct claim *k = new_claim(w, (uint32_t)(sl_pool_at(w->m, g->pos) - w->m->pools.v), 0);
        k->amount = amount;
        /* Behind the first, so that bits go on being added to that one. */
        struct claim **at = c->claims ? &c->claims->next : &c->claims;
        k->next = *at;
        *at = k;
    } else {
        sl_chain_range(w, c, g->pos, g->all ? end_of(w->m, g->pos) : g->pos + 1, g->exclusive);
    }
}

/* ---- order and choice ---- */

static int by_policy(const void *a, const void *b, void *ctx) {
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
    int c = sl_layout_compare(ctx, x->score, x->uniq, x->pos, y->score, y->uniq, y->pos);
    return c ? c : x->item < y->item ? -1 : x->item > y->item;
}

static int by_score(const void *a, const void *b) {
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
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
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;
    const struct stretches *s = ctx;
    const struct stretch *p = stretch_of(s->v, s->n, x->score);
    const struct stretch *q = stretch_of(s->v, s->n, y->score);
    int64_t long_p = p->last - p->first, long_q = q->last - q->first;
    if (long_p != long_q)
        return long_p > long_q ? -1 : 1;
    return by_policy(a, b, (void *)s->m);
}

/* Those first whose scores stand in the longest row of consecutive ones. */
static void order_by_stretch(struct walk *w, struct group **v, uint32_t n) {
    struct stretch *all = sl_arena_alloc(&w->m->scratch, n * sizeof(*all));
    struct stretches s = {w->m, all, 0};
    qsort(v, n, sizeof(struct group *), by_score); /* ties do not matter yet */
    for (uint32_t i = 0; i < n; i++) {
        if (s.n > 0 && v[i]->score <= all[s.n - 1].last + 1)
            all[s.n - 1].last = v[i]->score;
        else
            all[s.n++] = (struct stretch){v[i]->score, v[i]->score};
    }
    qsort_r(v, n, sizeof(struct group *), by_stretch, &s);
}

struct group **sl_walk_order(struct walk *w, const struct list *l, bool top) {
    struct group **v = sl_arena_alloc(&w->m->scratch, (l->n + 1) * sizeof(struct group *));
    uint32_t n = 0;
    bool sorted = true;
    for (struct group *g = l->first; g; g = g->next) {
        sorted = sorted && (n == 0 || by_policy(&v[n - 1], &g, w->m) < 0);
        v[n++] = g;
    }
    if (w->aux && w->m->policy.stop_early)
        return v; /* as they were found */
    if (top && w->m->policy.locality)
        order_by_stretch(w, v, n);
    else if (!sorted)
        qsort_r(v, n, sizeof(struct group *), by_policy, w->m);
    return v;
}

bool sl_walk_choose(struct walk *w, const struct list *l, const struct req *r, bool top,
                    struct chain *ret) {
    int64_t want = sl_count_take(&r->count, (uint64_t)l->total);
    if (w->aux)
        return sl_aux_choose(w, sl_walk_order(w, l, top), l->n, r, ret);
    if (want == 0)
        return false;
    struct group **v = sl_walk_order(w, l, top);
    for (uint32_t i = 0; want > 0; i++) {
        sl_chain_group(w, ret, v[i], v[i]->count < want ? v[i]->count : want);
        want -= v[i]->count;
    }
    return true;
}
