/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a sealed graph to arrays for walks: the vertex at each position, the blocks, the children of
 * each vertex by type in the order of the policy, and the types with sums.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/graph_int.h"
#include "core/graph/match/match_int.h"

#define PERF_CLASS "perf_class"
#define PERF_WORST 9999

/* ---- order ---- */

static int64_t perf_class(const struct sl_match *m, sl_vtx v) {
    const char *s = sl_vertex_prop(m->g, v, PERF_CLASS);
    int64_t n = 0;
    if (!s || !*s)
        return PERF_WORST;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || n > PERF_WORST)
            return PERF_WORST;
        n = n * 10 + (*s - '0');
    }
    return n < PERF_WORST ? n : PERF_WORST;
}

static int64_t node_factor(const struct sl_vertex *x) {
    int64_t tie = x->uniq_id % 10000 - 1;
    return (x->id + 2) * 10000 + (tie < 0 ? -tie : tie);
}

int64_t graph_layout_score(const struct sl_match *m, uint32_t pos) {
    const struct sl_vertex *x = graph_vertex_at(m, pos);
    if (m->policy.variation)
        return 1 + perf_class(m, m->spots[pos].v);
    int64_t factor = 0;
    if (x->parent != SL_VTX_NONE)
        factor = m->inners.v[m->spots[sl_graph_vertex(m->g, x->parent)->pos].inner].factor;
    return 2 + x->id + factor;
}

int graph_layout_compare(const struct sl_match *m, int64_t score_a, uint32_t pos_a, int64_t score_b,
                         uint32_t pos_b) {
    bool low = m->policy.low || m->policy.variation;
    if (score_a != score_b)
        return (score_a < score_b) == low ? -1 : 1;
    return pos_a < pos_b ? -1 : pos_a > pos_b;
}

static int compare_spots(const struct sl_match *m, uint32_t a, uint32_t b) {
    const struct graph_spot *x = &m->spots[a], *y = &m->spots[b];
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    int64_t score_a, score_b;
    if (m->policy.variation) {
        score_a = perf_class(m, x->v);
        score_b = perf_class(m, y->v);
    } else { /* the factor of siblings is the same */
        score_a = graph_vertex_at(m, a)->id;
        score_b = graph_vertex_at(m, b)->id;
    }
    return graph_layout_compare(m, score_a, a, score_b, b);
}

static int by_type_and_policy(const void *a, const void *b, void *m) {
    return compare_spots(m, *(const uint32_t *)a, *(const uint32_t *)b);
}

static int by_uniq(const void *a, const void *b, void *ctx) {
    const struct sl_match *m = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t p = graph_vertex_at(m, x)->uniq_id, q = graph_vertex_at(m, y)->uniq_id;
    return p != q ? (p > q ? -1 : 1) : x > y ? -1 : x < y;
}

static void sort(struct sl_match *m, uint32_t *v, uint32_t n,
                 int (*compare)(const void *, const void *, void *)) {
    bool sorted = true, reversed = true;
    for (uint32_t i = 1; i < n && (sorted || reversed); i++) {
        int c = compare(&v[i - 1], &v[i], m);
        sorted = sorted && c < 0;
        reversed = reversed && c > 0;
    }
    if (reversed && !sorted) /* usual for high policies */
        for (uint32_t i = 0; i < n / 2; i++) {
            uint32_t other = v[n - 1 - i];
            v[n - 1 - i] = v[i];
            v[i] = other;
        }
    else if (!sorted)
        qsort_r(v, n, sizeof(*v), compare, m);
}

/* ---- positions, types, blocks ---- */

uint32_t graph_layout_type(const struct sl_match *m, sl_sym type) {
    for (uint32_t i = 0; i < m->types.n; i++)
        if (m->types.v[i].sym == type)
            return i;
    return GRAPH_NONE;
}

static int place_spots(struct sl_match *m, struct sl_err *err) {
    const struct sl_syms *syms = sl_graph_syms(m->g);
    sl_sym node = sl_sym_find(syms, "node"), storage = sl_sym_find(syms, "storage_node");
    uint32_t *type_of = sl_alloc0((size_t)syms->names.n + 1, sizeof(*type_of)); /* and one */
    int r = 0;
    m->node = node;
    m->n_spots = sl_graph_live(m->g);
    m->spots = sl_alloc0((size_t)m->n_spots + 1, sizeof(*m->spots));
    m->n_more = sl_graph_n_more(m->g);
    m->kids = sl_alloc0((size_t)m->n_spots + m->n_more + 1, sizeof(*m->kids));
    const sl_vtx *kids = sl_graph_kids(m->g);
    for (uint32_t pos = 0; pos < m->n_spots && r >= 0; pos++) {
        sl_vtx v = sl_graph_at(m->g, pos);
        const struct sl_vertex *x = sl_graph_vertex(m->g, v);
        bool top = x->parent == SL_VTX_NONE, leaf = x->n_kids == 0;
        if (leaf && m->n_more > 0)
            leaf = sl_graph_is_leaf(m->g, v);
        m->n_tree += !top || pos == 0;
        if (type_of[x->type] == 0) {
            if (m->types.n >= UINT16_MAX)
                r = sl_err_set(err, SL_ELIMIT, "more than %u types of resources", UINT16_MAX);
            *sl_vec_push(&m->types) = (struct graph_type){x->type, TYPES_MAX, true};
            type_of[x->type] = m->types.n;
        }
        m->spots[pos] = (struct graph_spot){
            .v = v,
            .inner = GRAPH_NONE,
            .type = (uint16_t)(type_of[x->type] - 1),
            .down = x->down || (!top && m->spots[sl_graph_vertex(m->g, x->parent)->pos].down),
            .divisible = x->divisible && leaf,
            .is_node = x->type == node,
            .constrained = x->type == node || x->type == storage,
        };
        m->nodes_up += m->spots[pos].is_node && !m->spots[pos].down && pos < m->n_tree;
        if (x->size != 1 || m->spots[pos].divisible)
            m->types.v[m->spots[pos].type].alike = false;
        if (m->spots[pos].constrained)
            *sl_vec_push(&m->constrained) = pos;
        if (m->spots[pos].divisible)
            *sl_vec_push(&m->pools) =
                (struct graph_pool){.pos = pos, .plan = sl_plan_new(m->start, m->end, x->size)};
        if (leaf)
            continue;
        m->spots[pos].inner = m->inners.n;
        *sl_vec_push(&m->inners) = (struct graph_inner){
            .pos = pos,
            .kids = x->kids,
            .n_kids = x->n_kids,
            .up = x->parent == SL_VTX_NONE ? GRAPH_NONE
                                           : m->spots[sl_graph_vertex(m->g, x->parent)->pos].inner,
        };
        for (uint32_t k = 0; k < x->n_kids; k++)
            m->kids[x->kids + k] = sl_graph_vertex(m->g, kids[x->kids + k])->pos;
    }
    sl_freep(&type_of);
    if (r >= 0 && m->n_more > 0)
        graph_joint_layout(m);
    return r;
}

static void place_blocks(struct sl_match *m) {
    uint32_t n_words = 0;
    for (uint32_t pos = 0; pos < m->n_spots;) {
        uint32_t n = 1;
        if (m->spots[pos].is_node && graph_end_of(m, pos) - pos <= BLOCK_MAX)
            n = graph_end_of(m, pos) - pos;
        for (uint32_t k = 0; k < n; k++)
            m->spots[pos + k].block = m->blocks.n;
        struct graph_block *b = sl_vec_push(&m->blocks);
        *b = (struct graph_block){.pos = pos, .n = n, .held = n_words};
        n_words += 2 * graph_block_words(b);
        pos += n;
    }
    m->held = sl_alloc0((size_t)n_words + 1, sizeof(*m->held));
    m->fits = sl_alloc0((size_t)m->blocks.n / 64 + 1, sizeof(*m->fits));
}

/* Children that are alike, have none themselves and stand in one block with their parent are plain:
 * which of them are free is a matter of masks. */
static void find_plain(struct sl_match *m, const struct graph_inner *in, struct graph_run *run) {
    const struct graph_block *b = &m->blocks.v[m->spots[in->pos].block];
    run->uniform = true;
    for (uint32_t i = 0; i < run->n && run->uniform; i++)
        run->uniform = !m->spots[m->kids[run->at + i]].divisible &&
                       graph_vertex_at(m, m->kids[run->at + i])->size ==
                           graph_vertex_at(m, m->kids[run->at])->size;
    run->size = graph_vertex_at(m, m->kids[run->at])->size;
    bool up = true, down = true, by_uniq_too = true;
    uint32_t n = graph_block_words(b);
    if (b->n == 1 || m->n_more > 0)
        return;
    if (run->n == 1 && m->spots[m->kids[run->at]].divisible)
        run->pool = (uint32_t)(graph_pool_at(m, m->kids[run->at]) - m->pools.v) + 1;
    for (uint32_t i = 0; i < run->n; i++) {
        uint32_t pos = m->kids[run->at + i], before = i > 0 ? m->kids[run->at + i - 1] : pos;
        const struct graph_spot *s = &m->spots[pos];
        if (s->inner != GRAPH_NONE || s->constrained || !run->uniform || run->size < 1)
            return;
        up = up && (i == 0 || before < pos);
        down = down && (i == 0 || before > pos);
        by_uniq_too = by_uniq_too && (i == 0 || by_uniq(&before, &pos, m) < 0);
    }
    if (m->masks.n == 0)
        *sl_vec_push(&m->masks) = 0;
    run->mask = m->masks.n;
    for (uint32_t i = 0; i < n; i++)
        *sl_vec_push(&m->masks) = 0;
    for (uint32_t i = 0; i < run->n; i++)
        sl_bits_set(&m->masks.v[run->mask], m->kids[run->at + i] - b->pos);
    if (!m->policy.stop_early || by_uniq_too)
        run->way = (int8_t)(up ? 1 : down ? -1 : 0);
}

static void place_kids(struct sl_match *m) {
    if (m->policy.stop_early)
        m->kids_by_uniq = sl_alloc0((size_t)m->n_spots + m->n_more + 1, sizeof(*m->kids_by_uniq));
    for (uint32_t i = 0; i < m->inners.n; i++) {
        struct graph_inner *in = &m->inners.v[i];
        const struct sl_vertex *x = graph_vertex_at(m, in->pos);
        uint32_t *kids = &m->kids[in->kids];
        if (m->policy.stop_early) {
            memcpy(&m->kids_by_uniq[in->kids], kids, in->n_kids * sizeof(*kids));
            sort(m, &m->kids_by_uniq[in->kids], in->n_kids, by_uniq);
        }
        sort(m, kids, in->n_kids, by_type_and_policy);
        in->runs = m->runs.n;
        for (uint32_t k = 0; k < in->n_kids; k++) {
            uint16_t type = m->spots[kids[k]].type;
            if (k == 0 || sl_vec_last(&m->runs).type != type)
                *sl_vec_push(&m->runs) = (struct graph_run){.at = in->kids + k, .type = type};
            sl_vec_last(&m->runs).n++;
            in->kid_types |= graph_type_bit(type);
        }
        in->n_runs = m->runs.n - in->runs;
        for (uint32_t k = in->runs; k < m->runs.n; k++)
            find_plain(m, in, &m->runs.v[k]);
        if (in->up != GRAPH_NONE)
            in->factor = m->inners.v[in->up].factor;
        if (m->policy.node_centric && m->spots[in->pos].is_node)
            in->factor += node_factor(x);
    }
    for (uint32_t i = m->inners.n; i-- > 0;) {
        struct graph_inner *in = &m->inners.v[i];
        in->below |= in->kid_types;
        if (in->up != GRAPH_NONE)
            m->inners.v[in->up].below |= in->below;
    }
}

/* ---- filters ---- */

#define FILTERS_MAX 256u

int graph_filters_parse(struct sl_match *m, const char *text, struct sl_err *err) {
    /* types that the graph does not have may come with later vertices */
    struct sl_syms *syms = &m->g->syms;
    for (const char *s = text; *s;) {
        size_t len = strcspn(s, ",");
        const char *colon = memchr(s, ':', len);
        char at[SL_VERTEX_NAME], of[SL_VERTEX_NAME];
        size_t n_at = colon ? (size_t)(colon - s) : 0, n_of = colon ? len - n_at - 1 : 0;
        if (n_at == 0 || n_of == 0 || n_at >= sizeof(at) || n_of >= sizeof(of) ||
            memchr(colon + 1, ':', n_of))
            return sl_err_set(err, SL_EINVAL, "expected TYPE:TYPE or ALL:TYPE, got '%.*s'",
                              (int)(len < 60 ? len : 60), s);
        memcpy(at, s, n_at);
        at[n_at] = '\0';
        memcpy(of, colon + 1, n_of);
        of[n_of] = '\0';
        struct graph_filter f = {strcmp(at, "ALL") == 0 ? 0 : sl_sym_put(syms, at),
                                 sl_sym_put(syms, of)};
        for (uint32_t i = 0; i < m->filters.n; i++)
            if (m->filters.v[i].at == f.at && m->filters.v[i].of == f.of)
                return sl_err_set(err, SL_EINVAL, "%s:%s is given twice", at, of);
        if (m->filters.n >= FILTERS_MAX)
            return sl_err_set(err, SL_ELIMIT, "more than %u filters", FILTERS_MAX);
        *sl_vec_push(&m->filters) = f;
        s += len + (s[len] == ',');
    }
    return 0;
}

uint32_t graph_layout_filters(const struct sl_match *m, uint32_t pos, sl_sym *ret, uint32_t max) {
    sl_sym type = graph_vertex_at(m, pos)->type;
    uint32_t n = 0;
    for (uint32_t i = 0; i < 2 * m->all_filters.n; i++) {
        bool all = i >= m->all_filters.n; /* those of its type, then those of all */
        const struct graph_filter *f = &m->all_filters.v[i % m->all_filters.n];
        bool seen = false;
        if (all ? f->at != 0 || f->of == type : f->at != type)
            continue;
        for (uint32_t k = 0; k < n && k < max; k++)
            seen = seen || ret[k] == f->of;
        if (seen)
            continue;
        if (n < max)
            ret[n] = f->of;
        n++;
    }
    return n;
}

static void count_type(struct sl_match *m, sl_sym type) {
    uint32_t i = graph_layout_type(m, type);
    if (i != GRAPH_NONE && m->types.v[i].counted == TYPES_MAX && m->n_counted < TYPES_MAX)
        m->types.v[i].counted = (uint8_t)m->n_counted++;
}

static void place_filters(struct sl_match *m) {
    sl_sym cluster = sl_sym_find(sl_graph_syms(m->g), "cluster");
    uint64_t *leaf = sl_alloc0((size_t)m->types.n + 1, sizeof(*leaf));
    for (uint32_t i = 0; i < m->filters.n; i++)
        *sl_vec_push(&m->all_filters) = m->filters.v[i];
    for (uint32_t pos = 0; pos < m->n_tree; pos++) {
        uint16_t type = m->spots[pos].type;
        if (m->spots[pos].inner != GRAPH_NONE || leaf[type])
            continue;
        leaf[type] = 1;
        bool named = false;
        for (uint32_t i = 0; i < m->filters.n && !named; i++)
            named = m->filters.v[i].of == m->types.v[type].sym;
        if (!named)
            *sl_vec_push(&m->all_filters) = (struct graph_filter){cluster, m->types.v[type].sym};
    }
    for (uint32_t i = 0; i < m->all_filters.n; i++)
        count_type(m, m->all_filters.v[i].of);
    for (uint32_t i = 0; i < m->pools.n; i++) {
        uint8_t t = m->types.v[m->spots[m->pools.v[i].pos].type].counted;
        if (t < TYPES_MAX)
            m->pool_types |= UINT32_C(1) << t;
    }
    sl_freep(&leaf);
}

/* ---- auxiliary subsystems ---- */

static bool is_matched(const struct sl_match *m, sl_sym subsystem) {
    for (uint32_t i = 0; i < m->subsystems.n; i++)
        if (m->subsystems.v[i] == subsystem)
            return true;
    return false;
}

/* Edges by target, in the order of linking. */
static void place_aux(struct sl_match *m) {
    uint32_t n, at = 0;
    const struct sl_graph_edge *e = sl_graph_edges(m->g, &n);
    m->aux_types = sl_alloc0((size_t)m->types.n + 1, 1);
    m->aux_first = sl_alloc0((size_t)m->n_spots + 2, sizeof(*m->aux_first));
    for (uint32_t i = 0; i < n; i++)
        if (is_matched(m, e[i].subsystem))
            m->aux_first[sl_graph_vertex(m->g, e[i].to)->pos + 1]++;
    for (uint32_t pos = 0; pos <= m->n_spots; pos++)
        m->aux_first[pos] = at += m->aux_first[pos];
    m->aux_from = sl_alloc0((size_t)at + 1, sizeof(*m->aux_from));
    uint32_t *next = sl_alloc0((size_t)m->n_spots + 1, sizeof(*next));
    for (uint32_t i = 0; i < n; i++) {
        if (!is_matched(m, e[i].subsystem))
            continue;
        uint32_t from = sl_graph_vertex(m->g, e[i].from)->pos;
        uint32_t to = sl_graph_vertex(m->g, e[i].to)->pos;
        m->aux_from[m->aux_first[to] + next[to]++] = from;
        m->aux_types[m->spots[from].type] = 1;
    }
    sl_freep(&next);
}

/* ---- all of it ---- */

/* Children that are down by themselves are nothing for masks. */
static void find_downs(struct sl_match *m, struct graph_inner *in) {
    in->some_down = false;
    for (uint32_t i = 0; i < in->n_kids && !in->some_down; i++)
        in->some_down = graph_vertex_at(m, m->kids[in->kids + i])->down;
}

int graph_layout_build(struct sl_match *m, struct sl_err *err) {
    int r = place_spots(m, err);
    if (r < 0)
        return r;
    place_blocks(m);
    place_kids(m);
    place_filters(m);
    for (uint32_t i = 0; i < m->inners.n; i++)
        find_downs(m, &m->inners.v[i]);
    sl_vec_fit(&m->inners);
    sl_vec_fit(&m->runs);
    sl_vec_fit(&m->masks);
    sl_vec_fit(&m->blocks);
    sl_vec_fit(&m->constrained);
    if (m->subsystems.n > 0)
        place_aux(m);
    graph_index_build(m);
    return 0;
}

void graph_layout_free(struct sl_match *m) {
    graph_index_free(m);
    graph_tops_free(m);
    for (uint32_t i = 0; i < m->pools.n; i++)
        sl_plan_free(m->pools.v[i].plan);
    sl_vec_free(&m->pools);
    sl_vec_free(&m->types);
    sl_vec_free(&m->all_filters);
    sl_vec_free(&m->inners);
    sl_vec_free(&m->runs);
    sl_vec_free(&m->masks);
    sl_vec_free(&m->blocks);
    sl_vec_free(&m->constrained);
    sl_freep(&m->spots);
    sl_freep(&m->kids);
    sl_freep(&m->kids_by_uniq);
    sl_freep(&m->linked);
    sl_freep(&m->aux_types);
    sl_freep(&m->aux_first);
    sl_freep(&m->aux_from);
    sl_freep(&m->held);
    sl_freep(&m->fits);
    m->n_spots = m->n_tree = m->n_counted = m->pool_types = m->nodes_up = m->n_more = 0;
}

void graph_layout_status(struct sl_match *m, uint32_t pos) {
    sl_vtx parent = graph_vertex_at(m, pos)->parent;
    if (parent != SL_VTX_NONE)
        find_downs(m, &m->inners.v[m->spots[sl_graph_vertex(m->g, parent)->pos].inner]);
    for (uint32_t p = pos; p < graph_end_of(m, pos); p++) {
        const struct sl_vertex *x = graph_vertex_at(m, p);
        bool counts = m->spots[p].is_node && p < m->n_tree;
        m->nodes_up -= counts && !m->spots[p].down;
        m->spots[p].down = x->down || (x->parent != SL_VTX_NONE &&
                                       m->spots[sl_graph_vertex(m->g, x->parent)->pos].down);
        m->nodes_up += counts && !m->spots[p].down;
    }
}
