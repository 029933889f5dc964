/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job has, as a list of vertices: depth-first, with those on the way from the root, which
 * are shared.
 */
#include <stdlib.h>

#include "core/graph/match/match_int.h"

void sl_grant_done(struct sl_grant *g) {
    sl_vec_free(&g->picks);
    sl_vec_free(&g->ways);
}

sl_vtx sl_grant_parent(const struct sl_graph *g, const struct sl_grant *a, sl_vtx v) {
    uint32_t lo = 0, hi = a->ways.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (a->ways.v[mid].v < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < a->ways.n && a->ways.v[lo].v == v ? a->ways.v[lo].parent
                                                  : sl_graph_vertex(g, v)->parent;
}

/* Of a divisible pool: all of it, and not an amount that others may be added to. */
#define WHOLE INT64_MAX

/* Picks hold positions until sl_grant_finish, which sorts them. */
static void add_bits(const struct sl_match *m, const struct graph_block *b, const uint64_t *bits,
                     struct sl_grant *ret) {
    uint32_t n = graph_block_words(b);
    for (uint32_t w = 0; w < n; w++)
        for (uint64_t left = bits[w] | bits[n + w]; left; left &= left - 1) {
            uint32_t i = (uint32_t)__builtin_ctzll(left), pos = b->pos + w * 64 + i;
            bool whole = m->spots[pos].divisible && (bits[w] >> i & 1);
            *sl_vec_push(&ret->picks) = (struct sl_pick){
                pos, whole ? WHOLE : graph_vertex_at(m, pos)->size, bits[w] >> i & 1};
        }
}

static int by_pos(const void *a, const void *b) {
    const struct sl_pick *x = a, *y = b;
    return x->v < y->v ? -1 : x->v > y->v;
}

/* Two claims may name the same vertex: parts of a pool in several slots, or a node that is taken
 * whole because of each of them. Beside an amount, that it is also shared is redundant. */
static void merge_equal(const struct sl_match *m, struct sl_grant *g) {
    uint32_t n = 0;
    bool sorted = true;
    for (uint32_t i = 1; i < g->picks.n && sorted; i++)
        sorted = g->picks.v[i - 1].v < g->picks.v[i].v;
    if (sorted)
        return;
    qsort(g->picks.v, g->picks.n, sizeof(*g->picks.v), by_pos);
    for (uint32_t i = 0; i < g->picks.n; i++) {
        struct sl_pick *last = n > 0 ? &g->picks.v[n - 1] : NULL;
        if (last && last->v == g->picks.v[i].v) {
            const struct sl_pick *more = &g->picks.v[i];
            if (last->exclusive != more->exclusive) {
                *last = more->exclusive ? *more : *last;
            } else if (m->spots[last->v].divisible && more->exclusive) {
                bool whole = last->needs == WHOLE || more->needs == WHOLE;
                last->needs = whole ? WHOLE : last->needs + more->needs;
            }
        } else {
            g->picks.v[n++] = g->picks.v[i];
        }
    }
    g->picks.n = n;
}

/* Amounts of pools that are all of it. */
static void size_wholes(const struct sl_match *m, struct sl_grant *g) {
    for (uint32_t i = 0; i < g->picks.n; i++)
        if (g->picks.v[i].needs == WHOLE)
            g->picks.v[i].needs = graph_vertex_at(m, g->picks.v[i].v)->size;
}

void sl_grant_finish(const struct sl_match *m, const struct graph_chain *c,
                     const struct graph_job *j, struct sl_grant *g) {
    SL_VEC(struct sl_pick) all = {0};
    uint32_t way[SL_GRAPH_MAX_DEPTH], depth = 0, up[SL_GRAPH_MAX_DEPTH];
    merge_equal(m, g);
    sl_vec_clear(&g->ways);
    if (m->n_more > 0) {
        size_wholes(m, g);
        graph_joint_finish(m, c, j, g);
        return;
    }
    sl_vec_reserve(&all, g->picks.n + g->picks.n / 4 + SL_GRAPH_MAX_DEPTH);
    for (uint32_t i = 0; i < g->picks.n; i++) {
        uint32_t pos = g->picks.v[i].v, n = 0;
        while (depth > 0 && graph_end_of(m, way[depth - 1]) <= pos)
            depth--;
        for (sl_vtx p = graph_vertex_at(m, pos)->parent; p != SL_VTX_NONE;
             p = sl_graph_vertex(m->g, p)->parent) {
            uint32_t at = sl_graph_vertex(m->g, p)->pos;
            if (depth > 0 && way[depth - 1] == at)
                break;
            up[n++] = at;
        }
        while (n > 0) {
            way[depth++] = up[--n];
            *sl_vec_push(&all) =
                (struct sl_pick){m->spots[up[n]].v, graph_vertex_at(m, up[n])->size, false};
        }
        way[depth++] = pos;
        int64_t needs = g->picks.v[i].needs;
        *sl_vec_push(&all) = (struct sl_pick){
            m->spots[pos].v, needs == WHOLE ? graph_vertex_at(m, pos)->size : needs,
            g->picks.v[i].exclusive};
    }
    sl_vec_free(&g->picks);
    g->picks.v = all.v;
    g->picks.n = all.n;
    g->picks.cap = all.cap;
}

void sl_grant_of_chain(const struct sl_match *m, const struct graph_chain *c,
                       struct sl_grant *ret) {
    sl_vec_clear(&ret->picks);
    ret->n_slots = c->n_slots;
    for (const struct graph_claim *k = c->claims; k; k = k->next) {
        if (k->amount)
            *sl_vec_push(&ret->picks) = (struct sl_pick){m->pools.v[k->block].pos, k->amount, true};
        else
            add_bits(m, &m->blocks.v[k->block], k->bits, ret);
    }
    sl_grant_finish(m, c, NULL, ret);
}

void sl_grant_of_job(const struct sl_match *m, const struct graph_job *j, struct sl_grant *ret) {
    sl_vec_clear(&ret->picks);
    ret->state = j->state;
    ret->at = j->from;
    ret->duration = j->to - j->from;
    ret->n_slots = j->n_slots;
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job) {
        const struct graph_span *s = &m->spans.v[i];
        add_bits(m, &m->blocks.v[s->block], &m->words.v[s->bits], ret);
    }
    for (uint32_t i = j->shares; i; i = m->shares.v[i].next_of_job)
        *sl_vec_push(&ret->picks) =
            (struct sl_pick){m->pools.v[m->shares.v[i].pool].pos, m->shares.v[i].amount, true};
    sl_grant_finish(m, NULL, j, ret);
}
