/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of free resources: of each counted type below each inner vertex ('free_amounts'). From it
 * follow the weights by which early-stopping policies walk, and the tree over all nodes that finds
 * the next one that may have enough, so that full nodes cost nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

/* ---- the tree over nodes ---- */

static void index_leaf(struct sl_match *m, uint32_t rank) {
    struct graph_index *x = &m->index;
    uint32_t pos = x->order.v[rank], inner = m->spots[pos].inner, n = m->n_counted;
    int64_t *leaf = &x->most[(size_t)(x->leaves + rank) * n];
    bool gone = m->spots[pos].down || (m->held[m->blocks.v[m->spots[pos].block].held] & 1);
    for (uint32_t t = 0; t < n; t++) {
        int64_t free_amount = inner == GRAPH_NONE ? 0 : m->free_amounts[(size_t)inner * n + t];
        leaf[t] = gone ? -1 : free_amount > 0 ? free_amount : 0; /* pools may be overdrawn */
    }
}

static void index_up(struct sl_match *m, uint32_t at) {
    struct graph_index *x = &m->index;
    uint32_t n = m->n_counted;
    for (; at >= 1; at /= 2) {
        int64_t *p = &x->most[(size_t)at * n], *l = p + (size_t)at * n, *r = l + n;
        bool same = true;
        for (uint32_t t = 0; t < n; t++) {
            int64_t most = l[t] > r[t] ? l[t] : r[t];
            same = same && p[t] == most;
            p[t] = most;
        }
        if (same)
            break;
    }
}

static void index_fix(struct sl_match *m, uint32_t block) {
    uint32_t rank = m->index.rank[block];
    if (rank == GRAPH_NONE)
        return;
    index_leaf(m, rank);
    index_up(m, (m->index.leaves + rank) / 2);
}

static int by_policy(const void *a, const void *b, void *ctx) {
    const struct sl_match *m = ctx;
    uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    return graph_layout_compare(m, graph_layout_score(m, p), p, graph_layout_score(m, q), q);
}

static bool has_nodes(const struct sl_match *m, sl_vtx v) {
    uint32_t inner = m->spots[sl_graph_vertex(m->g, v)->pos].inner;
    return (m->inners.v[inner].kid_types &
            graph_type_bit((uint16_t)graph_layout_type(m, m->node))) != 0;
}

static void build_tree(struct sl_match *m) {
    struct graph_index *x = &m->index;
    m->nodes_are_blocks = m->nodes_are_level = true;
    x->rank = sl_alloc((size_t)(m->blocks.n + 1) * sizeof(*x->rank));
    memset(x->rank, 0xff, (size_t)(m->blocks.n + 1) * sizeof(*x->rank));
    for (uint32_t i = 0; i < m->blocks.n; i++) {
        const struct graph_block *b = &m->blocks.v[i];
        const struct sl_vertex *v = graph_vertex_at(m, b->pos);
        bool nested = false; /* a node in a node is not met by a walk */
        for (sl_vtx u = v->parent; u != SL_VTX_NONE && !nested;
             u = sl_graph_vertex(m->g, u)->parent)
            nested = m->spots[sl_graph_vertex(m->g, u)->pos].is_node;
        if (!m->spots[b->pos].is_node || b->pos >= m->n_tree || nested)
            continue;
        *sl_vec_push(&x->order) = b->pos;
        m->nodes_are_blocks = m->nodes_are_blocks && v->end - v->pos == b->n;
        m->nodes_are_level = m->nodes_are_level && v->parent != SL_VTX_NONE;
        for (sl_vtx u = v->parent; u != SL_VTX_NONE && m->nodes_are_level;) {
            u = sl_graph_vertex(m->g, u)->parent;
            m->nodes_are_level = u == SL_VTX_NONE || !has_nodes(m, u);
        }
    }
    if (x->order.n > 1)
        qsort_r(x->order.v, x->order.n, sizeof(*x->order.v), by_policy, m);
    for (x->leaves = 1; x->leaves < x->order.n;)
        x->leaves *= 2;
    size_t n = (size_t)2 * x->leaves * m->n_counted;
    x->most = sl_alloc((n + 1) * sizeof(*x->most));
    for (size_t i = 0; i < n; i++)
        x->most[i] = -1;
    for (uint32_t i = 0; i < x->order.n; i++) {
        x->rank[m->spots[x->order.v[i]].block] = i;
        index_leaf(m, i);
    }
    for (uint32_t at = x->leaves; at-- > 1;)
        for (uint32_t t = 0; t < m->n_counted; t++) {
            int64_t l = x->most[(size_t)2 * at * m->n_counted + t];
            int64_t r = x->most[(size_t)(2 * at + 1) * m->n_counted + t];
            x->most[(size_t)at * m->n_counted + t] = l > r ? l : r;
        }
}

static bool may_have(const int64_t *most, const int64_t *need, uint32_t n) {
    for (uint32_t t = 0; t < n; t++)
        if (most[t] < need[t])
            return false;
    return true;
}

bool graph_index_may(const struct sl_match *m, uint32_t rank, const int64_t *need) {
    return may_have(&m->index.most[(size_t)(m->index.leaves + rank) * m->n_counted], need,
                    m->n_counted);
}

uint32_t graph_index_next(const struct sl_match *m, uint32_t from, const int64_t *need) {
    const struct graph_index *x = &m->index;
    uint32_t n = m->n_counted, at = x->leaves + from;
    if (from >= x->order.n)
        return GRAPH_NONE;
    for (;;) {
        if (may_have(&x->most[(size_t)at * n], need, n)) {
            if (at >= x->leaves)
                return at - x->leaves < x->order.n ? at - x->leaves : GRAPH_NONE;
            at *= 2;
            continue;
        }
        while (at & 1)
            at /= 2;
        if (at == 0)
            return GRAPH_NONE;
        at++;
    }
}

/* ---- weights ---- */

/* What was never in a result is heaviest, and so is what has no filter. Only policies that stop
 * early have weights. */
static int64_t weight(const struct sl_match *m, uint32_t inner) {
    const struct graph_inner *in = &m->inners.v[inner];
    if (in->weigh == WEIGH_NOT || !sl_bits_get(m->visited.v, m->spots[in->pos].v))
        return INT64_MAX;
    return in->weigh == WEIGH_NOTHING ? 0
                                      : m->free_amounts[(size_t)inner * m->n_counted + in->weigh];
}

int64_t graph_index_weight(const struct sl_match *m, uint32_t pos) {
    uint32_t inner = m->spots[pos].inner;
    return inner == GRAPH_NONE ? INT64_MAX : weight(m, inner);
}

static int by_position(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return a > b ? -1 : a < b;
}

static struct sl_ordkey weight_key(const struct sl_match *m, uint32_t pos, int64_t w) {
    return (struct sl_ordkey){
        .at = -w, .tie = UINT64_MAX - (uint64_t)graph_vertex_at(m, pos)->uniq_id, .id = pos};
}

static void reweigh(struct sl_match *m, uint32_t inner, int64_t before) {
    const struct graph_inner *in = &m->inners.v[inner];
    struct sl_ordset *s = in->up == GRAPH_NONE ? NULL : &m->heavy[in->up];
    int64_t now = weight(m, inner);
    if (now == before || !s || s->n == 0) /* siblings may not be weighed */
        return;
    struct sl_ordkey old = weight_key(m, in->pos, before), new = weight_key(m, in->pos, now);
    sl_assert(sl_ordset_del(s, &old, by_position, NULL));
    sl_ordset_add(s, &new, by_position, NULL);
}

/* What its weight is of: the last type of its filter. */
static uint8_t find_weigh(const struct sl_match *m, const struct graph_inner *in) {
    uint8_t weigh = WEIGH_NOT;
    sl_sym type = graph_vertex_at(m, in->pos)->type;
    for (int all = 0; all < 2; all++)
        for (uint32_t k = 0; k < m->all_filters.n; k++) {
            const struct graph_filter *f = &m->all_filters.v[k];
            if (all ? f->at != 0 || f->of == type : f->at != type)
                continue;
            uint32_t of = graph_layout_type(m, f->of);
            weigh = of == GRAPH_NONE ? WEIGH_NOTHING : m->types.v[of].counted;
        }
    return weigh;
}

static void find_weighs(struct sl_match *m) {
    for (uint32_t i = 0; i < m->inners.n; i++)
        m->inners.v[i].weigh = find_weigh(m, &m->inners.v[i]);
    for (uint32_t i = 0; i < m->inners.n; i++) {
        struct graph_inner *in = &m->inners.v[i];
        for (uint32_t k = 0; k < in->n_kids; k++) {
            uint32_t kid = m->spots[m->kids[in->kids + k]].inner;
            uint8_t t = kid == GRAPH_NONE ? WEIGH_NOT : m->inners.v[kid].weigh;
            in->kids_weigh = t < TYPES_MAX && (k == 0 || in->kids_weigh == t) ? t : WEIGH_NOT;
            if (in->kids_weigh == WEIGH_NOT)
                break;
        }
    }
}

static void build_weights(struct sl_match *m) {
    while (m->visited.n < sl_graph_count(m->g) / 64 + 1)
        *sl_vec_push(&m->visited) = 0;
    find_weighs(m);
    m->heavy = sl_alloc0((size_t)m->inners.n + 1, sizeof(*m->heavy));
    for (uint32_t i = 0; i < m->inners.n; i++) {
        const struct graph_inner *in = &m->inners.v[i];
        bool some = false; /* a child of several has no place in the set of each */
        for (uint32_t k = 0; k < in->n_kids && !some && m->n_more == 0; k++)
            some = m->spots[m->kids_by_uniq[in->kids + k]].inner != GRAPH_NONE;
        for (uint32_t k = 0; k < in->n_kids && some; k++) {
            uint32_t pos = m->kids_by_uniq[in->kids + k];
            struct sl_ordkey key = weight_key(m, pos, graph_index_weight(m, pos));
            sl_ordset_add(&m->heavy[i], &key, by_position, NULL);
        }
    }
}

/* ---- sums ---- */

static uint32_t inner_of_parent(const struct sl_match *m, uint32_t pos) {
    sl_vtx parent = graph_vertex_at(m, pos)->parent;
    return parent == SL_VTX_NONE ? GRAPH_NONE : m->spots[sl_graph_vertex(m->g, parent)->pos].inner;
}

void graph_index_build(struct sl_match *m) {
    uint32_t n = m->n_counted;
    size_t all = (size_t)m->inners.n * n;
    m->free_amounts = sl_alloc0(all + 1, sizeof(*m->free_amounts));
    m->total = sl_alloc0(all + 1, sizeof(*m->total));
    for (uint32_t pos = 0; pos < m->n_tree; pos++) {
        uint8_t t = m->types.v[m->spots[pos].type].counted;
        uint32_t up = inner_of_parent(m, pos);
        if (t < TYPES_MAX && up != GRAPH_NONE)
            m->total[(size_t)up * n + t] += graph_vertex_at(m, pos)->size;
    }
    for (uint32_t i = m->inners.n; i-- > 0;) {
        uint32_t up = m->inners.v[i].up;
        for (uint32_t t = 0; t < n && up != GRAPH_NONE; t++)
            m->total[(size_t)up * n + t] += m->total[(size_t)i * n + t];
    }
    if (all > 0)
        memcpy(m->free_amounts, m->total, all * sizeof(*m->free_amounts));
    build_tree(m);
    if (m->policy.stop_early)
        build_weights(m);
}

void graph_index_free(struct sl_match *m) {
    for (uint32_t i = 0; m->heavy && i < m->inners.n; i++)
        sl_ordset_done(&m->heavy[i]);
    sl_freep(&m->heavy);
    sl_freep(&m->free_amounts);
    sl_freep(&m->total);
    sl_vec_free(&m->index.order);
    sl_freep(&m->index.rank);
    sl_freep(&m->index.most);
}

/* Above a block, for all that changed in it at once. */
static void add_above(struct sl_match *m, uint32_t pos, const int64_t *more) {
    uint32_t n = m->n_counted;
    for (uint32_t up = inner_of_parent(m, pos); up != GRAPH_NONE; up = m->inners.v[up].up) {
        uint8_t of = m->inners.v[up].weigh;
        bool moves = m->heavy && of < TYPES_MAX && more[of] != 0;
        int64_t before = moves ? weight(m, up) : 0;
        for (uint32_t t = 0; t < n; t++)
            m->free_amounts[(size_t)up * n + t] += more[t];
        if (moves)
            reweigh(m, up, before);
    }
}

void graph_index_mask(struct sl_match *m, const struct graph_block *b, const uint64_t *bits,
                      int sign) {
    uint32_t n = m->n_counted, first = m->spots[b->pos].inner, n_inner = 0;
    int64_t more[TYPES_MAX] = {0}, few[8];
    if (b->pos >= m->n_tree)
        return;
    bool has_inner = b->n > 1 && first != GRAPH_NONE;
    /* Inner vertices of a block stand side by side, and their weights change once. */
    if (has_inner && m->heavy)
        while (first + n_inner < m->inners.n && m->inners.v[first + n_inner].pos < b->pos + b->n)
            n_inner++;
    int64_t *before = few;
    if (n_inner > SL_LEN(few))
        before = sl_alloc(n_inner * sizeof(*before));
    for (uint32_t i = 0; i < n_inner; i++)
        before[i] = weight(m, first + i);
    uint64_t plain[BLOCK_WORDS] = {0}; /* these are counted by masks */
    uint32_t n_words = graph_block_words(b);
    for (uint32_t k = 0; has_inner && k < m->inners.v[first].n_runs; k++) {
        const struct graph_run *run = &m->runs.v[m->inners.v[first].runs + k];
        uint8_t t = m->types.v[run->type].counted;
        if (run->mask == 0)
            continue;
        int64_t count = 0;
        for (uint32_t w = 0; w < n_words; w++) {
            plain[w] |= m->masks.v[run->mask + w];
            count += sl_bits_count(bits[w] & m->masks.v[run->mask + w]);
        }
        if (t == TYPES_MAX || count == 0)
            continue;
        more[t] += sign * count * run->size;
        m->free_amounts[(size_t)first * n + t] += sign * count * run->size;
    }
    for (uint32_t w = 0; w < n_words; w++)
        for (uint64_t left = bits[w] & ~plain[w]; left; left &= left - 1) {
            uint32_t pos = b->pos + w * 64 + (uint32_t)__builtin_ctzll(left);
            uint8_t t = m->types.v[m->spots[pos].type].counted;
            if (t == TYPES_MAX)
                continue;
            int64_t size = sign * graph_vertex_at(m, pos)->size;
            more[t] += size;
            for (uint32_t p = pos; p != b->pos;) {
                uint32_t up = inner_of_parent(m, p);
                m->free_amounts[(size_t)up * n + t] += size;
                p = m->inners.v[up].pos;
            }
        }
    for (uint32_t i = 0; i < n_inner; i++)
        reweigh(m, first + i, before[i]);
    if (before != few)
        sl_freep(&before);
    add_above(m, b->pos, more);
    index_fix(m, (uint32_t)(b - m->blocks.v));
    graph_tops_touch(m, (uint32_t)(b - m->blocks.v));
}

void graph_index_amount(struct sl_match *m, uint32_t pos, int64_t amount) {
    uint8_t t = m->types.v[m->spots[pos].type].counted;
    int64_t more[TYPES_MAX] = {0};
    graph_tops_touch(m, m->spots[pos].block);
    if (t == TYPES_MAX || pos >= m->n_tree)
        return;
    more[t] = amount;
    add_above(m, pos, more);
    index_fix(m, m->spots[pos].block);
}

void graph_index_resize(struct sl_match *m, uint32_t pos, int64_t more) {
    uint8_t t = m->types.v[m->spots[pos].type].counted;
    const struct graph_block *b = &m->blocks.v[m->spots[pos].block];
    if (t < TYPES_MAX && pos < m->n_tree)
        for (uint32_t up = inner_of_parent(m, pos); up != GRAPH_NONE; up = m->inners.v[up].up)
            m->total[(size_t)up * m->n_counted + t] += more;
    /* A job that has it with all that contains it has all of it, however much that is. */
    graph_index_amount(m, pos, sl_bits_get(&m->held[b->held], pos - b->pos) ? 0 : more);
}

/* ---- what was in results ---- */

/* Does it still have the greatest weight that it can lose? */
static bool is_unvisited(const struct sl_match *m, uint32_t inner) {
    const struct graph_inner *in = &m->inners.v[inner];
    return in->weigh != WEIGH_NOT && !sl_bits_get(m->visited.v, m->spots[in->pos].v);
}

/* One of which the type of its weight is not there at all is visited only by jobs that have
 * something below it. */
static void visit(struct sl_match *m, uint32_t inner, bool kept_below) {
    const struct graph_inner *in = &m->inners.v[inner];
    bool nothing =
        in->weigh == WEIGH_NOTHING || m->total[(size_t)inner * m->n_counted + in->weigh] == 0;
    if (nothing && !kept_below)
        return;
    int64_t before = weight(m, inner);
    sl_bits_set(m->visited.v, m->spots[in->pos].v);
    reweigh(m, inner, before);
}

void graph_index_visit_one(struct sl_match *m, uint32_t inner, bool kept_below) {
    if (is_unvisited(m, inner))
        visit(m, inner, kept_below);
}

/* Most have been visited long ago, so what the claim has is looked at late. */
static void visit_claim(struct sl_match *m, const struct graph_claim *c, bool kept) {
    const struct graph_block *b = c->amount ? NULL : &m->blocks.v[c->block];
    uint32_t pos = b ? b->pos : m->pools.v[c->block].pos;
    if (pos >= m->n_tree)
        return;
    for (uint32_t i = b ? m->spots[pos].inner : GRAPH_NONE;
         i != GRAPH_NONE && i < m->inners.n && m->inners.v[i].pos < pos + b->n; i++) {
        if (!is_unvisited(m, i))
            continue;
        uint32_t at = m->inners.v[i].pos, from = at - pos, to = graph_end_of(m, at) - pos;
        to = to < b->n ? to : b->n;
        if (from == 0 || sl_bits_any(c->bits, from, to) ||
            sl_bits_any(c->bits + graph_block_words(b), from, to))
            visit(m, i, kept && sl_bits_any(c->bits, from + 1, to));
    }
    for (uint32_t up = inner_of_parent(m, pos); up != GRAPH_NONE; up = m->inners.v[up].up)
        if (is_unvisited(m, up))
            visit(m, up, kept && (!b || sl_bits_any(c->bits, 0, b->n)));
}

void graph_index_visit(struct sl_match *m, const struct graph_chain *c, bool kept) {
    if (m->n_more > 0 && m->policy.stop_early)
        graph_joint_visit(m, c, kept);
    for (const struct graph_claim *k = c->claims; k && m->policy.stop_early && m->n_more == 0;
         k = k->next)
        visit_claim(m, k, kept);
}

void graph_index_status(struct sl_match *m, uint32_t from, uint32_t to) {
    for (uint32_t b = m->spots[from].block; b < m->blocks.n && m->blocks.v[b].pos < to; b++) {
        index_fix(m, b);
        graph_tops_touch(m, b);
    }
}
