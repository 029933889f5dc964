/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From walks to results. Requests for nodes do not walk: nodes are tried in the order of the
 * policy, and those that cannot have enough are skipped by the tree over their sums. Nor do
 * requests for plain slots (top_slots.c). For a later time see later.c.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

bool graph_search_window(const struct sl_match *m, const struct sl_match_request *r, int64_t at,
                         enum graph_when when, struct graph_window *ret) {
    int64_t to;
    if (at < m->start || at >= m->end)
        return false;
    if (r->duration == 0 || __builtin_add_overflow(at, r->duration, &to) || to > m->end)
        to = m->end;
    *ret = (struct graph_window){.when = when, .from = at, .to = to};
    return true;
}

/* ---- constraints ---- */

/* A bit per position that the constraint allows; NULL if there is none. */
static const uint64_t *allowed(struct sl_match *m, const struct sl_match_request *r) {
    if (r->constraint.kind == SL_CONSTRAINT_ALL)
        return NULL;
    const char *key = r->key + r->constraint_at;
    uint32_t len = r->key_len - r->constraint_at;
    if (m->allowed && m->allowed_generation == m->layout_generation && m->allowed_len == len &&
        memcmp(m->allowed_key, key, len) == 0)
        return m->allowed;
    sl_freep(&m->allowed);
    sl_freep(&m->allowed_key);
    sl_freep(&m->allowed_ranks);
    m->allowed_ranks = sl_alloc0((size_t)m->index.order.n / 64 + 1, sizeof(*m->allowed_ranks));
    m->allowed = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*m->allowed));
    m->allowed_key = sl_alloc(len + 1);
    memcpy(m->allowed_key, key, len);
    m->allowed_len = len;
    m->allowed_generation = m->layout_generation;
    uint32_t n = m->constrained.n;
    sl_vtx *v = sl_alloc((n + 1) * sizeof(*v));
    uint64_t *holds = sl_alloc0((size_t)n / 64 + 1, sizeof(*holds));
    for (uint32_t i = 0; i < n; i++)
        v[i] = m->spots[m->constrained.v[i]].v;
    sl_match_request_admits(r, m->g, v, n, holds);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pos = m->constrained.v[i];
        if (!sl_bits_get(holds, i))
            continue;
        sl_bits_set(m->allowed, pos);
        uint32_t rank = m->index.rank[m->spots[pos].block];
        if (rank != GRAPH_NONE && m->index.order.v[rank] == pos)
            sl_bits_set(m->allowed_ranks, rank);
    }
    sl_freep(&holds);
    sl_freep(&v);
    return m->allowed;
}

uint32_t graph_search_nodes_free(struct sl_match *m, const struct sl_match_request *r,
                                 const struct graph_window *w) {
    const uint64_t *may = allowed(m, r);
    uint64_t x[BLOCK_WORDS], s[BLOCK_WORDS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->constrained.n; i++) {
        uint32_t pos = m->constrained.v[i];
        const struct graph_block *b = &m->blocks.v[m->spots[pos].block];
        if (!m->spots[pos].is_node || pos >= m->n_tree || (may && !sl_bits_get(may, pos)) ||
            (m->spots[pos].down && !w->any_status))
            continue;
        graph_window_masks(m, w, b, x, s);
        n += !sl_bits_get(x, pos - b->pos);
    }
    return n;
}

/* ---- nodes in order ---- */

/* The top may be nodes, or slots of one node each. */
static void find_nodes(struct graph_walk *w) {
    const struct graph_variant *v = w->variant;
    const struct sl_match *m = w->m;
    const struct graph_req *r = &w->r->reqs.v[v->top];
    w->nodes = REQ_NONE;
    w->nodes_in_slot = false;
    if (v->n_top != 1 || m->index.order.n == 0 || w->aux || m->n_more > 0)
        return;
    if (r->kind == SL_REQ_RESOURCE && r->type == m->node) {
        w->nodes = v->top;
    } else if (r->kind == SL_REQ_SLOT && r->n_with == 1 && m->nodes_are_level) {
        const struct graph_req *q = &w->r->reqs.v[r->with];
        w->nodes_in_slot = q->type == m->node && graph_req_is_fixed(q) && q->most == 1 &&
                           m->types.v[w->types[r->with]].alike;
        w->nodes = w->nodes_in_slot ? r->with : REQ_NONE;
    }
}

static bool nodes_indexed(const struct graph_walk *w) {
    return w->nodes != REQ_NONE && (w->m->n_above == 0 || w->w.when == WHEN_EMPTY);
}

/* The next node, at or after a place in the order, that is worth evaluating. */
static uint32_t next_node(const struct graph_walk *w, uint32_t i, const int64_t *need) {
    const struct sl_match *m = w->m;
    bool present = w->w.when == WHEN_PRESENT;
    if (w->use_fits) { /* what is not allowed does not */
        while (i < m->index.order.n && !sl_bits_get(m->fits, m->spots[m->index.order.v[i]].block))
            i++;
        return i < m->index.order.n ? i : GRAPH_NONE;
    }
    if (!w->allowed)
        return present ? graph_index_next(m, i, need) : i < m->index.order.n ? i : GRAPH_NONE;
    /* Word by word: the tree does not cover constraints. */
    for (; i < m->index.order.n; i++) {
        uint64_t left = m->allowed_ranks[i / 64] >> i % 64;
        if (left == 0) {
            i |= 63;
            continue;
        }
        i += (uint32_t)__builtin_ctzll(left);
        if (!present || graph_index_may(m, i, need))
            return i;
    }
    return GRAPH_NONE;
}

/* Evaluates nodes in the order of the policy until there are enough. */
static bool search_nodes(struct graph_walk *w, struct graph_chain *ret) {
    struct sl_match *m = w->m;
    const struct graph_req *r = &w->r->reqs.v[w->variant->top];
    const int64_t *need = &w->need[(size_t)w->nodes * m->n_counted];
    struct graph_list found = {0};
    for (uint32_t i = 0; found.total < r->most; i++) {
        i = next_node(w, i, need);
        if (i == GRAPH_NONE)
            break;
        (void)graph_walk_one(w, m->index.order.v[i], &found);
    }
    if (!graph_walk_choose(w, &found, r, true, ret))
        return false;
    if (w->nodes_in_slot)
        ret->n_slots += sl_req_count_take(&r->count, (uint64_t)found.total);
    return true;
}

/* With policies that give out whole nodes, the nodes on the way to what was chosen are taken. */
static void take_whole_nodes(struct graph_walk *w, struct graph_chain *c) {
    const struct sl_match *m = w->m;
    struct graph_chain whole = {.n_slots = c->n_slots};
    if (m->n_more > 0) {
        graph_joint_whole_nodes(w, c);
        return;
    }
    for (struct graph_claim *k = c->claims, *next; k; k = next) {
        uint32_t pos = k->amount ? m->pools.v[k->block].pos : m->blocks.v[k->block].pos;
        uint32_t node = GRAPH_NONE;
        for (sl_vtx v = m->spots[pos].v; v != SL_VTX_NONE; v = sl_graph_vertex(m->g, v)->parent)
            if (m->spots[sl_graph_vertex(m->g, v)->pos].is_node)
                node = sl_graph_vertex(m->g, v)->pos;
        next = k->next;
        if (node != GRAPH_NONE && !(k->amount && node == pos)) { /* it may be a pool itself */
            graph_chain_range(w, &whole, node, graph_end_of(m, node), true);
        } else {
            k->next = whole.claims;
            whole.claims = k;
        }
    }
    *c = whole;
}

/* Is less allocated to nobody than the one top request needs at least? */
static bool is_short(const struct graph_walk *w) {
    const struct sl_match *m = w->m;
    uint32_t top = w->variant->top, root = m->spots[0].inner;
    int64_t least = graph_req_least(&w->r->reqs.v[top]);
    bool enough = w->w.when != WHEN_PRESENT || root == GRAPH_NONE;
    for (uint32_t t = 0; t < m->n_counted && !enough; t++) {
        int64_t need = w->need[(size_t)top * m->n_counted + t];
        if (need > 0 && (__builtin_mul_overflow(need, least, &need) ||
                         m->free_amounts[(size_t)root * m->n_counted + t] < need))
            return true;
    }
    return false;
}

static bool search_or_walk(struct graph_walk *w, struct graph_chain *ret) {
    bool by_nodes = nodes_indexed(w) && !w->m->policy.stop_early && !w->m->policy.locality,
         by_tops = !by_nodes && graph_tops_may(w);
    *ret = (struct graph_chain){0};
    sl_arena_clear(&w->m->scratch);
    if ((by_nodes || by_tops) && is_short(w))
        return false;
    bool found = by_nodes  ? search_nodes(w, ret)
                 : by_tops ? graph_tops_run(w, ret)
                           : graph_walk_run(w, ret);
    if (found && w->m->policy.node_exclusive)
        take_whole_nodes(w, ret);
    if (found && w->m->n_more > 0)
        graph_joint_tidy(w->m, ret);
    return found;
}

static void begin_walk(struct graph_walk *w, struct sl_match *m, const struct sl_match_request *r,
                       const struct graph_variant *v) {
    graph_walk_init(w, m, r, v);
    w->allowed = allowed(m, r);
    find_nodes(w);
    graph_tops_find(w);
}

static bool search_variant(struct sl_match *m, const struct sl_match_request *r,
                           const struct graph_variant *v, const struct graph_window *win,
                           struct graph_chain *ret) {
    struct graph_walk w;
    begin_walk(&w, m, r, v);
    graph_walk_at(&w, win);
    bool found = search_or_walk(&w, ret);
    graph_walk_done(&w);
    return found;
}

bool graph_search_count(struct sl_match *m, const struct sl_match_request *r,
                        const struct graph_variant *v, const struct graph_window *win, bool try,
                        struct graph_visits *count) {
    struct graph_walk w;
    struct graph_chain c = {0};
    sl_arena_clear(&m->tables);
    sl_arena_clear(&m->scratch);
    graph_walk_init(&w, m, r, v);
    w.allowed = allowed(m, r);
    w.is_plain = false;
    w.in_full = true;
    w.count = count;
    graph_walk_at(&w, win);
    bool found = (!try || graph_visits_may(&w)) && graph_walk_run(&w, &c);
    graph_walk_done(&w);
    return found;
}

/* ---- several slots at the top ---- */

#define ORDERS_MAX 120u /* of slots that are tried */

/* Adds a copy of a chain that outlives the next walk. */
static void add_copy(struct sl_match *m, const struct graph_chain *c, struct graph_chain *ret) {
    for (const struct graph_claim *k = c->claims; k; k = k->next) {
        size_t words = k->amount ? 0 : (size_t)2 * graph_block_words(&m->blocks.v[k->block]);
        struct graph_claim *copy =
            sl_arena_alloc(&m->tables, sizeof(*copy) + words * sizeof(copy->bits[0]));
        memcpy(copy, k, sizeof(*copy) + words * sizeof(copy->bits[0]));
        copy->next = ret->claims;
        ret->claims = copy;
    }
    ret->n_slots += c->n_slots;
    for (const struct graph_way *x = c->ways; x; x = x->next) {
        struct graph_way *copy = sl_arena_alloc(&m->tables, sizeof(*copy));
        *copy = (struct graph_way){.pos = x->pos, .parent = x->parent};
        if (ret->last_way)
            ret->last_way->next = copy;
        else
            ret->ways = copy;
        ret->last_way = copy;
    }
}

/* One after the other in this order. What was found is held while the next ones are looked for, as
 * if a job had it. */
static bool search_in_order(struct sl_match *m, const struct sl_match_request *r,
                            const struct graph_alternative *a, const uint32_t *order,
                            const struct graph_window *win, struct graph_chain *ret) {
    bool found = true, present = win->when == WHEN_PRESENT;
    int64_t id = INT64_MIN;
    struct graph_job *j = NULL;
    struct sl_match_stats stats = m->stats;
    *ret = (struct graph_chain){0};
    while (graph_hold_job(m, id))
        id++;
    for (uint32_t i = 0; i < a->n && found; i++) {
        struct graph_chain c;
        found = search_variant(m, r, &r->variants.v[a->first + order[i]], win, &c);
        if (!found)
            break;
        add_copy(m, &c, ret);
        if (!j)
            j = graph_hold_new(m, id, present ? SL_JOB_ALLOCATED : SL_JOB_RESERVED, win->from,
                               win->to);
        if (i + 1 < a->n)
            graph_hold_chain(m, j, &c);
    }
    if (j)
        graph_hold_drop(m, j);
    m->stats.taken = stats.taken;
    return found;
}

/* The next order of the alphabet; false: that was the last. */
static bool next_order(uint32_t *v, uint32_t n) {
    uint32_t i = n - 1, k = n - 1;
    while (i > 0 && v[i - 1] > v[i])
        i--;
    if (i == 0)
        return false;
    while (v[k] < v[i - 1])
        k--;
    for (uint32_t first = i - 1, last = k, step = 0; step == 0 || first < last; step++) {
        uint32_t other = v[first];
        v[first] = v[last];
        v[last] = other;
        first = step == 0 ? i : first + 1;
        last = step == 0 ? n - 1 : last - 1;
    }
    return true;
}

static bool search_several(struct sl_match *m, const struct sl_match_request *r,
                           const struct graph_alternative *a, const struct graph_window *win,
                           struct graph_chain *ret) {
    uint32_t order[SL_REQ_MAX], tried = 0;
    for (uint32_t i = 0; i < a->n; i++)
        order[i] = i;
    do {
        if (search_in_order(m, r, a, order, win, ret))
            return true;
    } while (++tried < ORDERS_MAX && next_order(order, a->n));
    return false;
}

static bool has_several(const struct sl_match_request *r) {
    for (uint32_t i = 0; i < r->alternatives.n; i++)
        if (r->alternatives.v[i].n > 1)
            return true;
    return false;
}

/* Jobs do not count then, so that what is found cannot be held: it is searched in a matcher that
 * has none. */
static bool search_empty(struct sl_match *m, const struct sl_match_request *r,
                         struct graph_chain *ret) {
    struct graph_window any = {.when = WHEN_PRESENT, .from = m->start, .to = m->end};
    uint64_t generation = sl_graph_generation(m->g);
    if (!m->empty || m->empty_generation != generation) {
        sl_match_free(m->empty);
        m->empty = graph_regraph_empty(m);
        m->empty_generation = generation;
    }
    m->empty->cut_short = false;
    bool found = graph_search_at(m->empty, r, &any, ret);
    m->cut_short = m->cut_short || m->empty->cut_short;
    return found;
}

bool graph_search_at(struct sl_match *m, const struct sl_match_request *r,
                     const struct graph_window *win, struct graph_chain *ret) {
    if (win->when == WHEN_EMPTY && has_several(r))
        return search_empty(m, r, ret);
    sl_arena_clear(&m->tables);
    for (uint32_t i = 0; i < r->alternatives.n; i++) {
        const struct graph_alternative *a = &r->alternatives.v[i];
        if (a->n == 1 ? search_variant(m, r, &r->variants.v[a->first], win, ret)
                      : search_several(m, r, a, win, ret))
            return true;
    }
    return false;
}

/* ---- a later time ---- */

/* Pools of nodes may be shared in time by amounts, which stretches of spans do not show. */
static bool can_search_spans(const struct graph_walk *w) {
    return (w->nodes != REQ_NONE || w->tops) && w->m->n_above == 0 && w->m->pools.n == 0 &&
           w->m->nodes_are_blocks;
}

bool graph_search_later(struct sl_match *m, const struct sl_match_request *r, int64_t now,
                        int64_t until, struct graph_window *ret_w, struct graph_chain *ret) {
    struct graph_walk w;
    sl_arena_clear(&m->tables);
    if (r->variants.n == 1) { /* one alternative, and one slot */
        int64_t at;
        begin_walk(&w, m, r, &r->variants.v[0]);
        if (can_search_spans(&w)) {
            bool found = graph_later_find(&w, now, until, &at) &&
                         graph_search_window(m, r, at, WHEN_FUTURE, ret_w);
            if (found) {
                graph_walk_at(&w, ret_w);
                w.use_fits = w.nodes != REQ_NONE || graph_tops_may(&w);
                found = search_or_walk(&w, ret);
            }
            graph_walk_done(&w);
            return found;
        }
        graph_walk_done(&w);
    }
    for (int64_t at = graph_hold_first_end(m, now); at < m->end && at <= until;
         at = graph_hold_next_end(m, at)) {
        if (!graph_search_window(m, r, at, WHEN_FUTURE, ret_w))
            return false;
        if (graph_search_at(m, r, ret_w, ret))
            return true;
    }
    return false;
}
