/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job loses a part of what it has, or gets more: partial cancel, update, growing.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

/* The part of a block that lies in a range of positions, as bits. False if there is none. */
static bool range_bits(const struct graph_block *b, uint32_t from, uint32_t to, uint64_t *ret) {
    memset(ret, 0, graph_block_words(b) * sizeof(*ret));
    if (from >= b->pos + b->n || to <= b->pos)
        return false;
    for (uint32_t p = from > b->pos ? from : b->pos; p < to && p < b->pos + b->n; p++)
        ret[(p - b->pos) / 64] |= UINT64_C(1) << (p - b->pos) % 64;
    return true;
}

static bool has_part(const struct sl_match *m, const struct graph_job *j, uint32_t from,
                     uint32_t to) {
    uint64_t bits[BLOCK_WORDS];
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job) {
        const struct graph_span *s = &m->spans.v[i];
        const struct graph_block *b = &m->blocks.v[s->block];
        uint32_t n = graph_block_words(b);
        if (!range_bits(b, from, to, bits))
            continue;
        for (uint32_t k = 0; k < n; k++)
            if (bits[k] & (m->words.v[s->bits + k] | m->words.v[s->bits + n + k]))
                return true;
    }
    for (uint32_t i = j->shares; i; i = m->shares.v[i].next_of_job) {
        uint32_t pos = m->pools.v[m->shares.v[i].pool].pos;
        if (pos >= from && pos < to)
            return true;
    }
    return false;
}

static void lose_part(struct sl_match *m, struct graph_job *j, uint32_t from, uint32_t to) {
    uint64_t bits[BLOCK_WORDS];
    for (uint32_t i = j->spans, next; i; i = next) {
        next = m->spans.v[i].next_of_job;
        if (range_bits(&m->blocks.v[m->spans.v[i].block], from, to, bits))
            graph_hold_less(m, i, bits);
    }
    for (uint32_t i = j->shares, next; i; i = next) {
        uint32_t pos = m->pools.v[m->shares.v[i].pool].pos;
        next = m->shares.v[i].next_of_job;
        if (pos >= from && pos < to)
            graph_hold_share_less(m, i);
    }
}

static int cancel_part(struct sl_match *m, int64_t jobid, const sl_vtx *v, uint32_t n,
                       bool *ret_all, struct sl_err *err) {
    struct graph_job *j = graph_hold_job(m, jobid);
    char name[SL_VERTEX_NAME];
    if (!j)
        return sl_err_set(err, SL_ENOENT, "nonexistent job %lld", (long long)jobid);
    if (j->state != SL_JOB_ALLOCATED)
        return sl_err_set(err, SL_EINVAL, "job %lld is only reserved", (long long)jobid);
    if (m->n_more > 0 && !graph_joint_lose(m, j, v, n))
        return sl_err_set(err, SL_EINVAL, "job %lld has not all of that", (long long)jobid);
    for (uint32_t i = 0; i < n && m->n_more == 0; i++) {
        const struct sl_vertex *x = sl_graph_vertex(m->g, v[i]);
        if (x->removed || !has_part(m, j, x->pos, x->end))
            return sl_err_set(err, SL_EINVAL, "job %lld has nothing of %.80s", (long long)jobid,
                              sl_vertex_name(m->g, v[i], name));
    }
    for (uint32_t i = 0; i < n && m->n_more == 0; i++) {
        const struct sl_vertex *x = sl_graph_vertex(m->g, v[i]);
        lose_part(m, j, x->pos, x->end);
        /* what is above is not all the job's any more: it is only the way to the rest */
        for (sl_vtx u = x->parent; u != SL_VTX_NONE; u = sl_graph_vertex(m->g, u)->parent)
            lose_part(m, j, sl_graph_vertex(m->g, u)->pos, sl_graph_vertex(m->g, u)->pos + 1);
    }
    *ret_all = graph_hold_empty(j);
    if (*ret_all)
        graph_hold_drop(m, j);
    m->generation += n > 0;
    return 0;
}

int sl_match_cancel_part(struct sl_match *m, int64_t jobid, const sl_vtx *v, uint32_t n,
                         bool *ret_all, struct sl_err *err) {
    int r = cancel_part(m, jobid, v, n, ret_all, err);
    for (uint32_t i = 0; i < m->peers.n && r >= 0; i++) {
        bool all;
        sl_assert(cancel_part(m->peers.v[i], jobid, v, n, &all, err) >= 0 && all == *ret_all);
    }
    return r;
}

/* ---- update ---- */

static int by_pos(const void *a, const void *b, void *m) {
    uint32_t x = sl_graph_vertex(((struct sl_match *)m)->g, ((const struct sl_pick *)a)->v)->pos;
    uint32_t y = sl_graph_vertex(((struct sl_match *)m)->g, ((const struct sl_pick *)b)->v)->pos;
    return x < y ? -1 : x > y;
}

static bool has_bits(const struct sl_match *m, const struct graph_window *w, uint32_t from,
                     uint32_t to, bool shared_too) {
    uint64_t x[BLOCK_WORDS], s[BLOCK_WORDS], bits[BLOCK_WORDS];
    for (uint32_t i = m->spots[from].block; i < m->blocks.n && m->blocks.v[i].pos < to; i++) {
        const struct graph_block *b = &m->blocks.v[i];
        if (!b->spans || !range_bits(b, from, to, bits))
            continue;
        graph_window_masks(m, w, b, x, s);
        for (uint32_t k = 0; k < graph_block_words(b); k++)
            if (bits[k] & (shared_too ? x[k] | s[k] : x[k]))
                return true;
    }
    return false;
}

/* Does anybody use one of these? */
static bool is_range_used(const struct sl_match *m, const struct graph_window *w, uint32_t from,
                          uint32_t to) {
    if (has_bits(m, w, from, to, true))
        return true;
    for (uint32_t i = 0; i < m->pools.n; i++)
        if (m->pools.v[i].pos >= from && m->pools.v[i].pos < to &&
            graph_window_free(m, w, &m->pools.v[i]) < sl_plan_total(m->pools.v[i].plan))
            return true;
    return false;
}

static bool is_used_below(const struct sl_match *m, const struct graph_window *w, uint32_t pos) {
    if (!graph_joint_leads_out(m, pos))
        return is_range_used(m, w, pos, graph_end_of(m, pos));
    struct graph_ranges below = {0};
    bool used = false;
    graph_joint_below(m, pos, &below);
    for (uint32_t i = 0; i < below.n && !used; i++)
        used = is_range_used(m, w, below.v[i].from, below.v[i].to);
    sl_vec_free(&below);
    return used;
}

/* What an update lists, if there are vertices with several parents: a bit per position, and one per
 * position that leads to another one. */
struct listed {
    uint64_t *bits, *leads;
};

static uint32_t parent_of(const struct sl_match *m, const struct listed *l, uint32_t pos) {
    sl_vtx v = graph_vertex_at(m, pos)->parent;
    if (l->bits)
        return graph_joint_listed_parent(m, l->bits, pos);
    return v == SL_VTX_NONE ? GRAPH_NONE : sl_graph_vertex(m->g, v)->pos;
}

static void list_picks(const struct sl_match *m, const struct sl_pick *v, uint32_t n,
                       struct listed *ret) {
    if (m->n_more == 0)
        return;
    ret->bits = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*ret->bits));
    ret->leads = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*ret->leads));
    for (uint32_t i = 0; i < n; i++)
        if (!sl_graph_vertex(m->g, v[i].v)->removed)
            sl_bits_set(ret->bits, sl_graph_vertex(m->g, v[i].v)->pos);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pos = sl_graph_vertex(m->g, v[i].v)->pos;
        if (sl_graph_vertex(m->g, v[i].v)->removed)
            continue;
        while ((pos = parent_of(m, ret, pos)) != GRAPH_NONE)
            sl_bits_set(ret->leads, pos);
    }
}

/* Adds one pick to a chain; false: it is taken. */
static bool claim_pick(struct graph_walk *w, const struct sl_pick *p, const struct listed *l,
                       bool last_of_way, struct graph_chain *c) {
    const struct sl_match *m = w->m;
    const struct sl_vertex *x = sl_graph_vertex(m->g, p->v);
    struct graph_pool *pool = graph_pool_at(m, x->pos);
    for (uint32_t pos = x->pos; pos != GRAPH_NONE; pos = parent_of(m, l, pos)) {
        if (has_bits(m, &w->w, pos, pos + 1, false))
            return false;
        if (m->spots[pos].joint)
            graph_joint_add(w, c, pos, parent_of(m, l, pos));
    }
    if (pool && graph_window_free(m, &w->w, pool) < (p->exclusive ? p->needs : 1))
        return false; /* shared use takes nothing of a pool */
    if (pool && p->exclusive) {
        struct graph_group g = {.pos = x->pos, .whole = true, .divisible = true, .exclusive = true};
        graph_chain_group(w, c, &g, p->needs);
        return true;
    }
    if (p->exclusive && is_used_below(m, &w->w, x->pos))
        return false;
    if (p->exclusive || last_of_way)
        graph_chain_range(w, c, x->pos, x->pos + 1, p->exclusive);
    return true;
}

static int put_job(struct sl_match *m, int64_t jobid, enum sl_match_job_state state,
                   const struct sl_pick *v, uint32_t n, int64_t at, int64_t duration,
                   struct sl_err *err) {
    int64_t to;
    char name[SL_VERTEX_NAME];
    if (graph_hold_job(m, jobid))
        return sl_err_set(err, SL_EEXIST, "job %lld is there already", (long long)jobid);
    if (at < m->start || duration <= 0 || __builtin_add_overflow(at, duration, &to) || to > m->end)
        return sl_err_set(err, SL_EINVAL, "invalid time (%lld, %lld)", (long long)at,
                          (long long)duration);
    enum graph_when when = state == SL_JOB_ALLOCATED ? WHEN_PRESENT : WHEN_FUTURE;
    struct graph_walk w = {.m = m, .w = {.when = when, .from = at, .to = to}};
    struct graph_chain c = {0};
    struct sl_pick *sorted = sl_alloc((size_t)(n + 1) * sizeof(*sorted));
    int r = 0;
    sl_arena_clear(&m->scratch);
    if (n > 0)
        memcpy(sorted, v, n * sizeof(*v));
    qsort_r(sorted, n, sizeof(*sorted), by_pos, m);
    struct listed l = {0};
    list_picks(m, sorted, n, &l);
    for (uint32_t i = 0; i < n && r >= 0; i++) {
        const struct sl_vertex *x = sl_graph_vertex(m->g, sorted[i].v);
        bool last = i + 1 == n || sl_graph_vertex(m->g, sorted[i + 1].v)->pos >= x->end;
        if (l.leads)
            last = !sl_bits_get(l.leads, x->pos);
        if (i > 0 && sorted[i - 1].v == sorted[i].v)
            r = sl_err_set(err, SL_EINVAL, "%.80s is listed twice",
                           sl_vertex_name(m->g, sorted[i].v, name));
        else if (x->removed || sorted[i].needs < 1 || sorted[i].needs > x->size)
            r = sl_err_set(err, SL_EINVAL, "%.80s does not have %lld",
                           sl_vertex_name(m->g, sorted[i].v, name), (long long)sorted[i].needs);
        else if (!claim_pick(&w, &sorted[i], &l, last, &c))
            r = sl_err_set(err, SL_EEXIST, "%.80s is in use",
                           sl_vertex_name(m->g, sorted[i].v, name));
    }
    if (r >= 0 && !c.claims)
        r = sl_err_set(err, SL_EINVAL, "a job without resources");
    for (uint32_t i = 0; i <= m->peers.n && r >= 0; i++) {
        struct sl_match *k = graph_peer(m, i);
        graph_hold_chain(k, graph_hold_new(k, jobid, state, at, to), &c);
        graph_index_visit(k, &c, true);
    }
    sl_freep(&sorted);
    sl_freep(&l.bits);
    sl_freep(&l.leads);
    return r;
}

int sl_match_update(struct sl_match *m, int64_t jobid, const struct sl_pick *v, uint32_t n,
                    int64_t at, int64_t duration, struct sl_err *err) {
    return put_job(m, jobid, SL_JOB_ALLOCATED, v, n, at, duration, err);
}

int sl_match_update_later(struct sl_match *m, int64_t jobid, const struct sl_pick *v, uint32_t n,
                          int64_t at, int64_t duration, struct sl_err *err) {
    return put_job(m, jobid, SL_JOB_RESERVED, v, n, at, duration, err);
}

/* What it had shared, and now has something below of, is only the way there. */
static void forget_ways(struct sl_match *m, struct graph_job *j) {
    for (uint32_t i = j->spans, next; i; i = next) {
        const struct graph_block *b = &m->blocks.v[m->spans.v[i].block];
        uint64_t ways[BLOCK_WORDS] = {0}, any = 0;
        uint32_t n = graph_block_words(b);
        next = m->spans.v[i].next_of_job;
        for (uint32_t k = 0; k < n; k++) {
            for (uint64_t left = m->words.v[m->spans.v[i].bits + n + k]; left; left &= left - 1) {
                uint32_t pos = b->pos + k * 64 + (uint32_t)__builtin_ctzll(left);
                if (has_part(m, j, pos + 1, graph_end_of(m, pos)))
                    ways[k] |= left & -left;
            }
            any |= ways[k];
        }
        if (any)
            graph_hold_less(m, i, ways);
    }
}

int sl_match_grow_job(struct sl_match *m, int64_t jobid, const struct sl_match_request *r,
                      int64_t now, enum sl_match_verdict *ret_verdict, struct sl_grant *ret,
                      struct sl_err *err) {
    struct graph_job *j = graph_hold_job(m, jobid);
    struct graph_chain c = {0};
    if (!j)
        return sl_err_set(err, SL_ENOENT, "nonexistent job %lld", (long long)jobid);
    if (j->state != SL_JOB_ALLOCATED || now < j->from || now >= j->to)
        return sl_err_set(err, SL_EINVAL, "job %lld does not run now", (long long)jobid);
    int64_t to = j->to; /* jobs may move while slots are searched */
    struct graph_window w = {.when = WHEN_PRESENT, .from = now, .to = to};
    m->cut_short = false;
    *ret_verdict = graph_search_at(m, r, &w, &c) ? SL_MATCHED : SL_BUSY;
    if (*ret_verdict == SL_BUSY)
        return graph_slots_cut_short(m, err);
    if (ret) {
        ret->state = SL_JOB_ALLOCATED;
        ret->at = now;
        ret->duration = to - now;
        sl_grant_of_chain(m, &c, ret);
    }
    for (uint32_t i = 0; i <= m->peers.n; i++) {
        struct sl_match *k = graph_peer(m, i);
        j = graph_hold_job(k, jobid);
        if (k->n_more > 0)
            graph_joint_more(k, j, &c);
        graph_hold_chain(k, j, &c);
        graph_index_visit(k, &c, true);
        if (k->n_more > 0)
            graph_joint_forget_ways(k, j);
        else
            forget_ways(k, j);
    }
    return 0;
}
