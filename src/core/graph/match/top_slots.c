/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots that may come from anywhere: the top of the request is a slot of plain children, so many
 * cores and gpus, or so much of one divisible pool of each type. Every vertex at which it can be
 * formed is a place with a row of slots in the order of the policy, and a request for n slots gets
 * the first n of all rows merged. A tree over the places finds the best next slot.
 *
 * For the present the tree is cached from one request to the next, for a few shapes. It considers
 * allocations alone. Reservations can only make a place's next slot worse, so they are evaluated
 * when a place wins; if its slot is then as in the tree, none is better.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

/* ---- a place ---- */

static uint32_t pos_above(const struct sl_match *m, uint32_t pos) {
    return sl_graph_vertex(m->g, graph_vertex_at(m, pos)->parent)->pos;
}

bool graph_tops_open(const struct graph_walk *w, uint32_t inner, const uint64_t *x,
                     const uint64_t *s) {
    const struct sl_match *m = w->m;
    uint32_t pos = m->inners.v[inner].pos;
    const struct graph_block *b = &m->blocks.v[m->spots[pos].block];
    if (m->spots[pos].down && !w->w.any_status)
        return false;
    for (;; pos = pos_above(m, pos)) {
        if (sl_bits_get(x, pos - b->pos) ||
            (m->spots[pos].constrained && w->allowed && !sl_bits_get(w->allowed, pos)))
            return false;
        if (pos == b->pos)
            break;
    }
    for (uint32_t k = 0; k < graph_block_words(b) && m->policy.node_exclusive; k++)
        if (x[k] | s[k])
            return false;
    return true;
}

static uint32_t pull(uint64_t *word, int way) {
    uint32_t bit =
        way > 0 ? (uint32_t)__builtin_ctzll(*word) : 63 - (uint32_t)__builtin_clzll(*word);
    *word &= ~(UINT64_C(1) << bit);
    return bit;
}

/* The scores of so many vertices behind the first ones, in the order of their run; the first of
 * them is returned. False if there are not so many. */
static bool sum_scores(const struct sl_match *m, const struct graph_block *b,
                       const struct graph_run *run, const uint64_t *have, uint32_t skip,
                       uint32_t take, int64_t *score, uint32_t *ret_first) {
    uint32_t n = graph_block_words(b);
    *ret_first = GRAPH_NONE;
    for (uint32_t i = 0; i < n && take > 0; i++) {
        uint32_t k = run->way > 0 ? i : n - 1 - i, in_word = sl_bits_count(have[k]);
        uint64_t left = have[k];
        if (skip >= in_word) {
            skip -= in_word;
            continue;
        }
        for (; skip > 0; skip--)
            (void)pull(&left, run->way);
        for (; left && take > 0; take--) {
            uint32_t pos = b->pos + k * 64 + pull(&left, run->way);
            *score += graph_layout_score(m, pos);
            if (*ret_first == GRAPH_NONE)
                *ret_first = pos;
        }
    }
    return take == 0;
}

/* Has a divisible pool enough for that many slots, in the window or as far as it is allocated? */
static bool pool_has(const struct graph_walk *w, const struct graph_block *b,
                     const struct graph_pool *p, const uint64_t *x, bool in_window, uint32_t slots,
                     uint32_t per) {
    const struct sl_match *m = w->m;
    int64_t have = in_window ? graph_window_free(m, &w->w, p) : sl_plan_total(p->plan) - p->held;
    if (sl_bits_get(x, p->pos - b->pos) || (graph_vertex_at(m, p->pos)->down && !w->w.any_status))
        return false;
    return have > 0 && (uint64_t)have / per >= slots;
}

/* The next slot of a place, by masks of its block. */
static void find_next_slot(const struct graph_walk *w, struct graph_place *p, const uint64_t *x,
                           const uint64_t *s, bool in_window) {
    const struct sl_match *m = w->m;
    const struct graph_block *b = &m->blocks.v[m->spots[m->inners.v[p->inner].pos].block];
    uint64_t have[BLOCK_WORDS] _unset_;
    p->first = GRAPH_NONE;
    p->score = 1;
    if (!graph_tops_open(w, p->inner, x, s))
        return;
    for (uint32_t i = 0; i < w->plain.n; i++) {
        const struct graph_run *run = graph_plain_run(m, p->inner, w->plain.of[i].type);
        const struct graph_pool *pool = run->pool ? &m->pools.v[run->pool - 1] : NULL;
        uint32_t per = pool ? w->plain.of[i].per : graph_plain_per(run, w->plain.of[i].per), first;
        bool good;
        if (pool) {
            first = pool->pos;
            p->score += graph_layout_score(m, first);
            good = pool_has(w, b, pool, x, in_window, p->taken + 1, per);
        } else {
            graph_plain_free(w, p->inner, run, x, s, have);
            good = sum_scores(m, b, run, have, p->taken * per, per, &p->score, &first);
        }
        if (!good) {
            p->first = GRAPH_NONE;
            return;
        }
        if (i == 0)
            p->first = first;
    }
}

static void next_in_window(struct graph_walk *w, struct graph_place *p) {
    graph_walk_mask(w, w->m->spots[w->m->inners.v[p->inner].pos].block);
    find_next_slot(w, p, w->x, w->s, true);
}

static void next_at_present(const struct graph_walk *w, struct graph_place *p) {
    const struct sl_match *m = w->m;
    const struct graph_block *b = &m->blocks.v[m->spots[m->inners.v[p->inner].pos].block];
    find_next_slot(w, p, &m->held[b->held], &m->held[b->held + graph_block_words(b)], false);
}

/* ---- the tree ---- */

static uint32_t better(const struct sl_match *m, const struct graph_winners *by, uint32_t a,
                       uint32_t b) {
    const struct graph_place *p = a == GRAPH_NONE ? NULL : &by->places[a];
    const struct graph_place *q = b == GRAPH_NONE ? NULL : &by->places[b];
    if (!p || !q || p->first == GRAPH_NONE || q->first == GRAPH_NONE)
        return p && p->first != GRAPH_NONE ? a : b;
    return graph_layout_compare(m, p->score, p->first, q->score, q->first) < 0 ? a : b;
}

static void climb(const struct sl_match *m, struct graph_winners *by, uint32_t place) {
    for (uint32_t at = (by->leaves + place) / 2; at >= 1; at /= 2) {
        uint32_t before = by->best[at];
        by->best[at] = better(m, by, by->best[(size_t)2 * at], by->best[(size_t)2 * at + 1]);
        if (by->best[at] == before && before != place)
            return; /* nor does anything change above */
    }
}

static void climb_all(const struct sl_match *m, struct graph_winners *by) {
    for (uint32_t i = 0; i < by->leaves; i++)
        by->best[by->leaves + i] = i < by->n ? i : GRAPH_NONE;
    for (uint32_t at = by->leaves; at-- > 1;)
        by->best[at] = better(m, by, by->best[(size_t)2 * at], by->best[(size_t)2 * at + 1]);
}

/* ---- what is kept of a shape ---- */

/* Above a node, no constraint is evaluated, and it is not in another. */
static bool stands_free(const struct sl_match *m, uint32_t pos) {
    for (sl_vtx v = graph_vertex_at(m, pos)->parent; v != SL_VTX_NONE;
         v = sl_graph_vertex(m->g, v)->parent)
        if (m->spots[sl_graph_vertex(m->g, v)->pos].constrained)
            return false;
    return true;
}

static bool is_good_place(const struct graph_walk *w, uint32_t inner) {
    const struct sl_match *m = w->m;
    const struct graph_block *b = &m->blocks.v[m->spots[m->inners.v[inner].pos].block];
    if (b->n == 1 || !stands_free(m, b->pos))
        return false;
    for (uint32_t i = 0; i < w->plain.n; i++) {
        const struct graph_run *run = graph_plain_run(m, inner, w->plain.of[i].type);
        if (!run || (run->way == 0 && !run->pool))
            return false;
    }
    return true;
}

/* A slot that takes shape at a vertex is not looked for below it. */
static void find_places(const struct graph_walk *w, struct graph_tops *t) {
    const struct sl_match *m = w->m;
    const struct graph_req *slot = &w->r->reqs.v[w->variant->top];
    SL_VEC(struct graph_place) found = {0};
    t->good = true;
    for (uint32_t i = 0, end = 0; i < m->inners.n && t->good; i++) {
        uint32_t pos = m->inners.v[i].pos;
        if (pos >= m->n_tree || pos < end || !graph_walk_shape_one(w, slot, i))
            continue;
        end = graph_end_of(m, pos);
        t->good = is_good_place(w, i);
        *sl_vec_push(&found) = (struct graph_place){.inner = i};
    }
    sl_vec_fit(&found);
    t->by.places = found.v;
    t->by.n = found.n;
    for (t->by.leaves = 1; t->by.leaves < found.n;)
        t->by.leaves *= 2;
}

static void clear_tops(struct graph_tops *t) {
    sl_freep(&t->constraint);
    sl_freep(&t->by.places);
    sl_freep(&t->by.best);
    sl_freep(&t->is_stale);
    sl_vec_free(&t->stale);
    *t = (struct graph_tops){0};
}

void graph_tops_free(struct sl_match *m) {
    for (uint32_t i = 0; i < TOPS; i++)
        clear_tops(&m->tops[i]);
}

static void make_places(const struct graph_walk *w, struct graph_tops *t) {
    const struct sl_match *m = w->m;
    const struct sl_match_request *r = w->r;
    clear_tops(t);
    t->made = true;
    t->of = w->plain;
    t->layout_generation = m->layout_generation;
    t->constraint_len = r->key_len - r->constraint_at;
    t->constraint = sl_alloc(t->constraint_len + 1);
    memcpy(t->constraint, r->key + r->constraint_at, t->constraint_len);
    find_places(w, t);
}

static bool is_of(const struct graph_walk *w, const struct graph_tops *t) {
    const struct sl_match_request *r = w->r;
    if (!t->made || t->of.n != w->plain.n || t->layout_generation != w->m->layout_generation ||
        t->constraint_len != r->key_len - r->constraint_at ||
        memcmp(t->constraint, r->key + r->constraint_at, t->constraint_len) != 0)
        return false;
    for (uint32_t i = 0; i < t->of.n; i++)
        if (t->of.of[i].type != w->plain.of[i].type || t->of.of[i].per != w->plain.of[i].per)
            return false;
    return true;
}

void graph_tops_find(struct graph_walk *w) {
    struct sl_match *m = w->m;
    struct graph_tops *t = &m->tops[0];
    w->tops = NULL;
    if (w->variant->n_top != 1 || w->aux || m->n_more > 0 || !m->nodes_are_blocks ||
        (m->policy.node_exclusive && m->pools.n > 0) ||
        !graph_plain_slot(w, w->variant->top, &w->plain))
        return;
    for (uint32_t i = 0; i < TOPS && !is_of(w, t); i++)
        t = &m->tops[i];
    if (!is_of(w, t)) {
        for (uint32_t i = 0; i < TOPS; i++)
            if (m->tops[i].used < t->used)
                t = &m->tops[i];
        make_places(w, t);
    }
    t->used = ++m->tops_used;
    if (t->good)
        w->tops = t;
}

/* Parts of pools that are allocated only from later on are not in the tree. */
bool graph_tops_may(const struct graph_walk *w) {
    const struct sl_match *m = w->m;
    if (w->w.when == WHEN_PRESENT && w->w.from < m->latest_share)
        return false;
    return w->tops && (m->n_above == 0 || w->w.when == WHEN_EMPTY) && !m->policy.stop_early &&
           !m->policy.locality;
}

/* ---- keeping it true ---- */

static void touch(struct graph_tops *t, uint32_t block) {
    if (!t->by.best || sl_bits_get(t->is_stale, block))
        return;
    sl_bits_set(t->is_stale, block);
    *sl_vec_push(&t->stale) = block;
}

void graph_tops_touch(struct sl_match *m, uint32_t block) {
    for (uint32_t i = 0; i < TOPS; i++)
        touch(&m->tops[i], block);
}

/* The first place at or after a position. */
static uint32_t place_at(const struct sl_match *m, const struct graph_winners *by, uint32_t pos) {
    uint32_t lo = 0, hi = by->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->inners.v[by->places[mid].inner].pos < pos)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void build_tree(const struct graph_walk *w, struct graph_tops *t) {
    t->by.best = sl_alloc((size_t)2 * t->by.leaves * sizeof(*t->by.best));
    t->is_stale = sl_alloc0((size_t)w->m->blocks.n / 64 + 1, sizeof(*t->is_stale));
    for (uint32_t i = 0; i < t->by.n; i++)
        next_at_present(w, &t->by.places[i]);
    climb_all(w->m, &t->by);
}

static void refresh(const struct graph_walk *w, struct graph_tops *t) {
    const struct sl_match *m = w->m;
    struct graph_winners *by = &t->by;
    if (!by->best)
        build_tree(w, t);
    for (uint32_t i = 0; i < t->stale.n; i++) {
        const struct graph_block *b = &m->blocks.v[t->stale.v[i]];
        t->is_stale[t->stale.v[i] / 64] = 0;
        for (uint32_t p = place_at(m, by, b->pos);
             p < by->n && m->inners.v[by->places[p].inner].pos < b->pos + b->n; p++) {
            next_at_present(w, &by->places[p]);
            climb(m, by, p);
        }
    }
    t->stale.n = 0;
}

/* For another time than the present: a tree for this search alone, of places that have something
 * then, as far as that is known. */
static struct graph_winners next_of_all(struct graph_walk *w, const struct graph_winners *kept) {
    const struct sl_match *m = w->m;
    struct graph_winners by = {.leaves = 1};
    by.places = sl_arena_alloc(&w->m->scratch, (kept->n + 1) * sizeof(*by.places));
    for (uint32_t i = 0; i < kept->n; i++) {
        uint32_t inner = kept->places[i].inner;
        if (w->use_fits && !sl_bits_get(m->fits, m->spots[m->inners.v[inner].pos].block))
            continue;
        by.places[by.n] = (struct graph_place){.inner = inner, .in_window = true};
        next_in_window(w, &by.places[by.n++]);
    }
    while (by.leaves < by.n)
        by.leaves *= 2;
    by.best = sl_arena_alloc(&w->m->scratch, (size_t)2 * by.leaves * sizeof(*by.best));
    climb_all(m, &by);
    return by;
}

/* ---- a search ---- */

static bool is_same(const struct graph_place *a, const struct graph_place *b) {
    return a->first == b->first && a->score == b->score;
}

/* The best of all others. */
static uint32_t runner_up(const struct sl_match *m, const struct graph_winners *by,
                          uint32_t place) {
    uint32_t best = GRAPH_NONE;
    for (uint32_t at = by->leaves + place; at > 1; at /= 2)
        best = better(m, by, best, by->best[at ^ 1]);
    return best;
}

/* All slots of a place, or as many as are wanted, if the last of them is still better than the best
 * of all others: the row is in order. */
static bool pick_row(struct graph_walk *w, struct graph_winners *by, uint32_t p, uint32_t most,
                     struct graph_picks *ret) {
    struct graph_place *place = &by->places[p], was = *place;
    uint32_t slots, left = most - ret->slots.n;
    if (left < 2)
        return false;
    graph_walk_mask(w, w->m->spots[w->m->inners.v[place->inner].pos].block);
    slots = graph_plain_slots(w, place->inner, w->x, w->s);
    if (slots == GRAPH_NONE || slots < place->taken + 2)
        return false;
    slots -= place->taken;
    left = slots < left ? slots : left;
    place->taken += left - 1;
    next_in_window(w, place);
    if (better(w->m, by, p, runner_up(w->m, by, p)) != p) {
        *place = was;
        return false;
    }
    place->taken++;
    for (uint32_t i = 0; i < left; i++)
        *sl_vec_push(&ret->slots) = p;
    return true;
}

/* The places of the best slots, one after the other, each as often as it gives one. */
static void pick(struct graph_walk *w, struct graph_winners *by, uint32_t most,
                 struct graph_picks *ret) {
    bool in_rows = true; /* where one ended behind others, the next one will, unless one goes on */
    for (uint32_t p, last = GRAPH_NONE; ret->slots.n < most && (p = by->best[1]) != GRAPH_NONE;) {
        struct graph_place *place = &by->places[p];
        if (place->first == GRAPH_NONE)
            break;
        if (!place->in_window) {
            struct graph_place was = *place;
            place->in_window = true;
            *sl_vec_push(&ret->in_window) = p;
            next_in_window(w, place);
            if (!is_same(place, &was)) {
                climb(w->m, by, p);
                continue;
            }
        }
        in_rows = (in_rows || p == last) && pick_row(w, by, p, most, ret);
        if (!in_rows) {
            *sl_vec_push(&ret->slots) = p;
            place->taken++;
        }
        next_in_window(w, place);
        climb(w->m, by, p);
        last = p;
    }
}

bool graph_tops_run(struct graph_walk *w, struct graph_chain *ret) {
    struct sl_match *m = w->m;
    const struct graph_req *r = &w->r->reqs.v[w->variant->top];
    struct graph_tops *t = w->tops;
    struct graph_picks *k = &m->picks;
    bool present = w->w.when == WHEN_PRESENT;
    k->slots.n = k->in_window.n = 0;
    if (present)
        refresh(w, t);
    struct graph_winners by = present ? t->by : next_of_all(w, &t->by);
    pick(w, &by, r->most, k);
    uint32_t want = sl_req_count_take(&r->count, k->slots.n);
    for (uint32_t i = 0; i < k->slots.n; i++)
        by.places[k->slots.v[i]].taken = 0;
    for (uint32_t i = 0; i < want; i++)
        by.places[k->slots.v[i]].taken++;
    for (uint32_t i = 0; i < want; i++) {
        struct graph_place *p = &by.places[k->slots.v[i]];
        if (p->taken == 0)
            continue; /* with an earlier one */
        graph_walk_mask(w, m->spots[m->inners.v[p->inner].pos].block);
        graph_plain_take(w, p->inner, p->taken, ret);
        p->taken = 0;
    }
    for (uint32_t i = 0; i < k->in_window.n; i++) {
        struct graph_place *p = &by.places[k->in_window.v[i]];
        p->in_window = false;
        touch(t, m->spots[m->inners.v[p->inner].pos].block);
    }
    return want > 0;
}
