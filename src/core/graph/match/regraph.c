/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing and shrinking the graph: allocations are recorded by vertices, the layout is rebuilt, and
 * the allocations are restored. A copy of a matcher is made the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph/match/match_int.h"

/* The parents of all that it has: others may come. */
static void take_ways(const struct sl_match *m, const struct graph_job *j,
                      struct graph_holdings *ret) {
    struct graph_holder *holder = &sl_vec_last(&ret->jobs);
    struct sl_grant g = {0};
    holder->first_way = ret->ways.n;
    sl_grant_of_job(m, j, &g);
    for (uint32_t i = 0; i < g.picks.n; i++)
        *sl_vec_push(&ret->ways) =
            (struct sl_grant_way){g.picks.v[i].v, sl_grant_parent(m->g, &g, g.picks.v[i].v)};
    holder->n_ways = ret->ways.n - holder->first_way;
    sl_grant_done(&g);
}

static void take_job(const struct sl_match *m, const struct graph_job *j,
                     struct graph_holdings *ret) {
    *sl_vec_push(&ret->jobs) = (struct graph_holder){.job = *j, .first = ret->v.n};
    for (uint32_t k = j->spans; k; k = m->spans.v[k].next_of_job) {
        const struct graph_span *s = &m->spans.v[k];
        const struct graph_block *b = &m->blocks.v[s->block];
        uint32_t n = graph_block_words(b);
        for (uint32_t w = 0; w < 2 * n; w++)
            for (uint64_t left = m->words.v[s->bits + w]; left; left &= left - 1) {
                uint32_t pos = graph_block_pos(b, w, left);
                *sl_vec_push(&ret->v) = (struct graph_holding){
                    .v = m->spots[pos].v,
                    .exclusive = w < n,
                    .divisible = graph_pool_at(m, pos) != NULL,
                };
            }
    }
    for (uint32_t k = j->shares; k; k = m->shares.v[k].next_of_job)
        *sl_vec_push(&ret->v) = (struct graph_holding){
            .v = m->spots[m->pools.v[m->shares.v[k].pool].pos].v,
            .amount = m->shares.v[k].amount,
            .exclusive = true,
            .divisible = true,
        };
    sl_vec_last(&ret->jobs).n = ret->v.n - sl_vec_last(&ret->jobs).first;
    if (m->n_more > 0)
        take_ways(m, j, ret);
}

void graph_holdings_take(const struct sl_match *m, struct graph_holdings *ret) {
    *ret = (struct graph_holdings){0};
    for (uint32_t i = 0; i < m->jobs.n; i++)
        if (m->jobs.v[i].used)
            take_job(m, &m->jobs.v[i], ret);
}

void graph_holdings_take_job(const struct sl_match *m, const struct graph_job *j,
                             struct graph_holdings *ret) {
    *ret = (struct graph_holdings){0};
    take_job(m, j, ret);
}

void graph_holdings_done(struct graph_holdings *h) {
    sl_vec_free(&h->jobs);
    sl_vec_free(&h->v);
    sl_vec_free(&h->ways);
}

void graph_holdings_put(struct sl_match *m, const struct graph_holdings *h) {
    struct graph_walk w = {.m = m};
    for (uint32_t i = 0; i < h->jobs.n; i++) {
        const struct graph_holder *holder = &h->jobs.v[i];
        struct graph_chain c = {.n_slots = holder->job.n_slots};
        sl_arena_clear(&m->scratch);
        for (uint32_t k = holder->first; k < holder->first + holder->n; k++) {
            const struct sl_vertex *x = sl_graph_vertex(m->g, h->v.v[k].v);
            if (x->removed)
                continue;
            if (h->v.v[k].amount) {
                struct graph_group g = {
                    .pos = x->pos, .whole = true, .divisible = true, .exclusive = true};
                graph_chain_group(&w, &c, &g, h->v.v[k].amount);
            } else {
                graph_chain_range(&w, &c, x->pos, x->pos + 1, h->v.v[k].exclusive);
            }
        }
        if (!c.claims)
            continue;
        struct graph_job *j =
            graph_hold_new(m, holder->job.id, holder->job.state, holder->job.from, holder->job.to);
        graph_hold_chain(m, j, &c);
        if (m->n_more > 0)
            graph_joint_put(m, j, h->ways.v + holder->first_way, holder->n_ways);
    }
}

void graph_regraph_forget(struct sl_match *m) {
    graph_layout_free(m);
    graph_profiles_free(m);
    sl_vec_free(&m->spans);
    sl_vec_free(&m->words);
    sl_vec_free(&m->shares);
    sl_vec_free(&m->ways);
    sl_vec_free(&m->jobs);
    sl_vec_free(&m->free_jobs);
    sl_map_done(&m->by_id);
    m->by_id = (struct sl_map){0};
    sl_ordset_done(&m->ends);
    m->ends = (struct sl_ordset){0};
    m->free_span = m->free_share = m->free_way = m->n_jobs = m->n_above = 0;
    m->latest_share = 0;
    memset(m->free_words, 0, sizeof(m->free_words));
    sl_freep(&m->allowed);
    sl_freep(&m->allowed_key);
    sl_freep(&m->allowed_ranks);
}

int graph_regraph_layout(struct sl_match *m, struct sl_err *err) {
    graph_regraph_forget(m);
    m->generation++;
    m->layout_generation++;
    return graph_layout_build(m, err);
}

static int relayout(struct sl_match *m, struct sl_err *err) {
    struct graph_holdings h;
    graph_holdings_take(m, &h);
    int r = graph_regraph_layout(m, err);
    if (r >= 0)
        graph_holdings_put(m, &h);
    graph_holdings_done(&h);
    return r;
}

/* A matcher of such a graph; it is not laid out yet. */
static struct sl_match *copy_settings(const struct sl_match *m, struct sl_graph *g) {
    struct sl_match *c = sl_alloc0(1, sizeof(*c));
    c->g = g;
    c->policy = m->policy;
    c->start = m->start;
    c->end = m->end;
    c->fluxion = m->fluxion;
    sl_arena_init(&c->tables, SIZE_MAX / 4);
    sl_arena_init(&c->scratch, SIZE_MAX / 4);
    for (uint32_t i = 0; i < m->filters.n; i++)
        *sl_vec_push(&c->filters) = m->filters.v[i];
    for (uint32_t i = 0; i < m->subsystems.n; i++)
        *sl_vec_push(&c->subsystems) = m->subsystems.v[i];
    return c;
}

struct sl_match *graph_regraph_empty(const struct sl_match *m) {
    struct sl_match *c = copy_settings(m, sl_graph_clone(m->g));
    struct sl_err err;
    for (sl_vtx v = 0; v < sl_graph_count(c->g); v++)
        sl_graph_set_down(c->g, v, false);
    sl_assert(graph_layout_build(c, &err) == 0);
    return c;
}

/* It is laid out, and has the jobs and the results of the other. */
static void copy_state(struct sl_match *c, const struct sl_match *m) {
    struct graph_holdings h;
    struct sl_err err;
    for (uint32_t i = 0; i < m->visited.n; i++)
        *sl_vec_push(&c->visited) = m->visited.v[i];
    sl_assert(graph_layout_build(c, &err) == 0); /* it could be built before */
    graph_holdings_take(m, &h);
    graph_holdings_put(c, &h);
    graph_holdings_done(&h);
}

struct sl_match *graph_regraph_peer(struct sl_match *m, const struct sl_match_policy *p) {
    struct sl_match *c = copy_settings(m, m->g);
    c->borrows = true;
    c->policy = *p;
    copy_state(c, m);
    return c;
}

struct sl_match *sl_match_clone(const struct sl_match *m) {
    struct sl_match *c = copy_settings(m, sl_graph_clone(m->g));
    c->stats = m->stats;
    copy_state(c, m);
    for (uint32_t i = 0; i < m->peers.n; i++) {
        struct sl_match *peer = copy_settings(m->peers.v[i], c->g);
        peer->borrows = true;
        copy_state(peer, m->peers.v[i]);
        *sl_vec_push(&c->peers) = peer;
    }
    return c;
}

struct sl_graph *sl_match_grow(struct sl_match *m) {
    return m->g;
}

/* A divisible pool that is in use stays one: nothing may be put into it. */
static int check_pools(const struct sl_match *m, const struct graph_holdings *h,
                       struct sl_err *err) {
    char name[SL_VERTEX_NAME];
    for (uint32_t i = 0; i < h->v.n; i++)
        if (h->v.v[i].divisible && !sl_graph_is_leaf(m->g, h->v.v[i].v))
            return sl_err_set(err, SL_EINVAL,
                              "%.80s is divisible and in use: nothing can be put into it",
                              sl_vertex_name(m->g, h->v.v[i].v, name));
    for (sl_vtx v = 0; v < sl_graph_count(m->g); v++) {
        const struct sl_vertex *x = sl_graph_vertex(m->g, v);
        if (x->size == 0 && !x->removed && !sl_graph_is_leaf(m->g, v))
            return sl_err_set(err, SL_EINVAL, "%.80s is a pool of nothing: it can contain nothing",
                              sl_vertex_name(m->g, v, name));
    }
    return 0;
}

/* Lays out all of them, but for itself if it is already, and puts back what jobs have. */
static void lay_out_all(struct sl_match *m, bool done, const struct graph_holdings *h) {
    struct sl_err ignored;
    for (uint32_t i = 0; i <= m->peers.n; i++) {
        struct sl_match *k = graph_peer(m, i);
        k->g = m->g;
        sl_assert((i == 0 && done) || graph_regraph_layout(k, &ignored) == 0);
        graph_holdings_put(k, h);
    }
}

int sl_match_regraph(struct sl_match *m, struct sl_graph *before, struct sl_err *err) {
    struct graph_holdings h;
    graph_holdings_take(m, &h);
    int r = sl_graph_seal(m->g, err);
    if (r >= 0)
        r = check_pools(m, &h, err);
    if (r >= 0)
        r = graph_regraph_layout(m, err);
    if (r < 0) {
        sl_graph_free(m->g);
        m->g = before;
    } else {
        sl_graph_free(before);
    }
    lay_out_all(m, r >= 0, &h);
    graph_holdings_done(&h);
    return r;
}

int sl_match_shrink(struct sl_match *m, const sl_vtx *v, uint32_t n, struct sl_err *err) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == sl_graph_root(m->g))
            return sl_err_set(err, SL_EINVAL, "the root cannot be removed");
    struct sl_graph *before = sl_graph_clone(m->g);
    struct graph_holdings h;
    graph_holdings_take(m, &h);
    for (uint32_t i = 0; i < n; i++)
        if (!sl_graph_vertex(m->g, v[i])->removed)
            sl_graph_remove(m->g, v[i]);
    int r = sl_graph_seal(m->g, err);
    if (r < 0) {
        sl_graph_free(m->g);
        m->g = before;
    } else {
        sl_graph_free(before);
    }
    lay_out_all(m, false, &h);
    graph_holdings_done(&h);
    return r;
}

/* ---- status and properties ---- */

void sl_match_set_down(struct sl_match *m, sl_vtx v, bool down) {
    uint32_t pos = sl_graph_vertex(m->g, v)->pos;
    sl_graph_set_down(m->g, v, down);
    for (uint32_t i = 0; i <= m->peers.n; i++) {
        struct sl_match *k = graph_peer(m, i);
        graph_layout_status(k, pos);
        graph_index_status(k, pos, graph_end_of(k, pos));
        k->generation++;
    }
}

int sl_match_resize(struct sl_match *m, sl_vtx v, int64_t size, struct sl_err *err) {
    char name[SL_VERTEX_NAME];
    const struct sl_vertex *x = sl_graph_vertex(m->g, v);
    const struct graph_pool *p = x->removed ? NULL : graph_pool_at(m, x->pos);
    if (!p)
        return sl_err_set(err, SL_EINVAL, "%.80s is not a divisible pool: expected %s",
                          sl_vertex_name(m->g, v, name), SL_GRAPH_DIVISIBLE);
    if (size < 0 || size > SL_GRAPH_MAX_SIZE)
        return sl_err_set(err, SL_EINVAL, "%.80s: expected a size from 0 to %lld, got %lld",
                          sl_vertex_name(m->g, v, name), (long long)SL_GRAPH_MAX_SIZE,
                          (long long)size);
    int64_t more = size - x->size;
    if (more == 0)
        return 0;
    sl_graph_set_size(m->g, v, size);
    for (uint32_t i = 0; i <= m->peers.n; i++) {
        struct sl_match *k = graph_peer(m, i);
        sl_plan_set_total(graph_pool_at(k, x->pos)->plan, size);
        graph_index_resize(k, x->pos, more);
        k->generation++;
    }
    return 0;
}

/* Does the layout depend on it? */
static bool shapes_layout(const struct sl_match *m, const char *key) {
    return strcmp(key, SL_GRAPH_DIVISIBLE) == 0 ||
           (m->policy.variation && strcmp(key, "perf_class") == 0);
}

static bool in_use(const struct sl_match *m, sl_vtx v) {
    uint32_t pos = sl_graph_vertex(m->g, v)->pos;
    const struct graph_pool *p = graph_pool_at(m, pos);
    const struct graph_block *b = &m->blocks.v[m->spots[pos].block];
    uint32_t bit = pos - b->pos;
    for (uint32_t i = b->spans; i; i = m->spans.v[i].next)
        if ((m->words.v[m->spans.v[i].bits + bit / 64] |
             m->words.v[m->spans.v[i].bits + graph_block_words(b) + bit / 64]) >>
                bit % 64 &
            1)
            return true;
    return p && p->shares;
}

static int check_prop(const struct sl_match *m, sl_vtx v, const char *key, struct sl_err *err) {
    if (strcmp(key, SL_GRAPH_DIVISIBLE) == 0 && sl_graph_is_leaf(m->g, v) && in_use(m, v))
        return sl_err_set(err, SL_EINVAL, "%s cannot change while the pool is in use", key);
    if (strcmp(key, SL_GRAPH_DIVISIBLE) == 0 && sl_graph_vertex(m->g, v)->size == 0)
        return sl_err_set(err, SL_EINVAL, "%s cannot change while the pool has nothing", key);
    return 0;
}

int sl_match_set_prop(struct sl_match *m, sl_vtx v, const char *key, const char *value,
                      struct sl_err *err) {
    int r = check_prop(m, v, key, err);
    if (r >= 0)
        r = sl_vertex_set_prop(m->g, v, key, value, err);
    for (uint32_t i = 0; i <= m->peers.n; i++) {
        struct sl_match *k = graph_peer(m, i);
        k->generation++;
        k->layout_generation++;
        if (r >= 0 && shapes_layout(k, key))
            r = relayout(k, err);
    }
    return r;
}

bool sl_match_del_prop(struct sl_match *m, sl_vtx v, const char *key) {
    struct sl_err err;
    if (check_prop(m, v, key, &err) < 0 || !sl_vertex_del_prop(m->g, v, key))
        return false;
    for (uint32_t i = 0; i <= m->peers.n; i++) {
        struct sl_match *k = graph_peer(m, i);
        k->generation++;
        k->layout_generation++;
        if (shapes_layout(k, key))
            sl_assert(relayout(k, &err) == 0); /* of a graph that was laid out before */
    }
    return true;
}
