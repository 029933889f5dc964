/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vertices with several parents in containment (joints). Positions, sums and scores go by the first
 * parent. The walk follows the edges of the others as well, so what a walk or a job has of such a
 * vertex comes with a note of the parent through which it was found; all else follows from what is
 * held. Graphs with joints have no indices: requests are walked, in the order of linking.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

/* ---- layout ---- */

static void find_leads_out(struct sl_match *m, sl_vtx from) {
    for (sl_vtx v = from; v != SL_VTX_NONE; v = sl_graph_vertex(m->g, v)->parent) {
        struct graph_inner *in = &m->inners.v[m->spots[sl_graph_vertex(m->g, v)->pos].inner];
        if (in->leads_out)
            return; /* and so do those above it */
        in->leads_out = true;
    }
}

void graph_joint_layout(struct sl_match *m) {
    const sl_vtx *tree = sl_graph_kids(m->g), *more;
    for (uint32_t pos = 0; pos < m->n_tree; pos++) {
        sl_vtx v = m->spots[pos].v;
        m->spots[pos].joint = sl_graph_more_parents(m->g, v, &more) > 0;
        if (sl_graph_more_kids(m->g, v, &more) > 0)
            find_leads_out(m, v);
    }
    m->linked = sl_alloc0((size_t)m->n_spots + m->n_more + 1, sizeof(*m->linked));
    for (uint32_t i = 0, at = 0; i < m->inners.n; i++) {
        struct graph_inner *in = &m->inners.v[i];
        const struct sl_vertex *x = graph_vertex_at(m, in->pos);
        uint32_t n_more = sl_graph_more_kids(m->g, m->spots[in->pos].v, &more);
        in->kids = at;
        in->n_kids = x->n_kids + n_more;
        for (uint32_t k = 0; k < in->n_kids; k++)
            m->linked[at++] =
                sl_graph_vertex(m->g, k < x->n_kids ? tree[x->kids + k] : more[k - x->n_kids])->pos;
        memcpy(&m->kids[in->kids], &m->linked[in->kids], in->n_kids * sizeof(*m->kids));
    }
}

/* The subtree of a vertex, and those of the children of further parents in it, and so on. */
void graph_joint_below(const struct sl_match *m, uint32_t pos, struct graph_ranges *ret) {
    ret->n = 0;
    *sl_vec_push(ret) = (struct graph_range){pos, graph_end_of(m, pos)};
    if (m->spots[pos].inner == GRAPH_NONE || !m->inners.v[m->spots[pos].inner].leads_out)
        return;
    uint64_t *seen = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*seen));
    for (uint32_t i = 0; i < ret->n; i++) {
        struct graph_range r = ret->v[i];
        for (uint32_t p = r.from; p < r.to; p++) {
            uint32_t inner = m->spots[p].inner;
            const struct graph_inner *in = inner == GRAPH_NONE ? NULL : &m->inners.v[inner];
            if (!in || !in->leads_out)
                continue;
            for (uint32_t k = graph_vertex_at(m, p)->n_kids; k < in->n_kids; k++) {
                uint32_t kid = m->linked[in->kids + k];
                if (sl_bits_get(seen, kid))
                    continue;
                sl_bits_set(seen, kid);
                *sl_vec_push(ret) = (struct graph_range){kid, graph_end_of(m, kid)};
            }
        }
    }
    sl_freep(&seen);
}

/* ---- ways ---- */

void graph_joint_add(struct graph_walk *w, struct graph_chain *c, uint32_t pos, uint32_t parent) {
    struct graph_way *x = sl_arena_alloc(&w->m->scratch, sizeof(*x));
    *x = (struct graph_way){.pos = pos, .parent = parent};
    if (c->last_way)
        c->last_way->next = x;
    else
        c->ways = x;
    c->last_way = x;
}

void graph_joint_merge(struct graph_walk *w, struct graph_chain *c, const struct graph_way *from) {
    for (; from; from = from->next)
        graph_joint_add(w, c, from->pos, from->parent);
}

void graph_joint_pass(struct graph_walk *w, struct graph_group *g, uint32_t pos, uint32_t parent) {
    struct graph_way *x = sl_arena_alloc(&w->m->scratch, sizeof(*x));
    *x = (struct graph_way){.next = g->passed, .pos = pos, .parent = parent};
    g->passed = x;
}

static uint32_t first_parent(const struct sl_match *m, uint32_t pos) {
    sl_vtx v = graph_vertex_at(m, pos)->parent;
    return v == SL_VTX_NONE ? GRAPH_NONE : sl_graph_vertex(m->g, v)->pos;
}

void graph_joint_pass_first(struct graph_walk *w, struct graph_group *g, uint32_t pos) {
    g->from = first_parent(w->m, pos);
    for (uint32_t up = g->from; w->m->n_more > 0 && up != GRAPH_NONE; up = first_parent(w->m, up))
        if (w->m->spots[up].joint)
            graph_joint_pass(w, g, up, first_parent(w->m, up));
}

/* What something is known to have: exclusively, and the parents that were noted. */
struct family {
    const struct sl_match *m;
    uint64_t *exclusive;
    uint32_t *parent; /* by position; NONE: not noted */
};

static void family_init(struct family *f, const struct sl_match *m) {
    f->m = m;
    f->exclusive = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*f->exclusive));
    f->parent = sl_alloc((size_t)(m->n_spots + 1) * sizeof(*f->parent));
    memset(f->parent, 0xff, (size_t)(m->n_spots + 1) * sizeof(*f->parent));
}

static void family_done(struct family *f) {
    sl_freep(&f->exclusive);
    sl_freep(&f->parent);
}

/* Of two notes the first counts. */
static void family_note(struct family *f, uint32_t pos, uint32_t parent) {
    if (f->parent[pos] == GRAPH_NONE)
        f->parent[pos] = parent;
}

/* What the walk did not meet is part of something that is taken whole: it is among the children of
 * the first of its parents that are exclusive. */
static uint32_t family_parent(const struct family *f, uint32_t pos) {
    const struct sl_match *m = f->m;
    const sl_vtx *more;
    uint32_t first = first_parent(m, pos);
    if (!m->spots[pos].joint)
        return first;
    if (f->parent[pos] != GRAPH_NONE)
        return f->parent[pos];
    if (sl_bits_get(f->exclusive, first))
        return first;
    uint32_t n = sl_graph_more_parents(m->g, m->spots[pos].v, &more);
    for (uint32_t i = 0; i < n; i++)
        if (sl_bits_get(f->exclusive, sl_graph_vertex(m->g, more[i])->pos))
            return sl_graph_vertex(m->g, more[i])->pos;
    return first;
}

static void family_of_chain(struct family *f, const struct sl_match *m,
                            const struct graph_chain *c) {
    family_init(f, m);
    for (const struct graph_claim *k = c->claims; k; k = k->next) {
        const struct graph_block *b = &m->blocks.v[k->block];
        for (uint32_t i = 0; !k->amount && i < graph_block_words(b); i++)
            for (uint64_t left = k->bits[i]; left; left &= left - 1)
                sl_bits_set(f->exclusive, graph_block_pos(b, i, left));
    }
    for (const struct graph_way *x = c->ways; x; x = x->next)
        family_note(f, x->pos, x->parent);
}

/* ---- results ---- */

static int by_vertex(const void *a, const void *b) {
    const struct sl_grant_way *x = a, *y = b;
    return x->v < y->v ? -1 : x->v > y->v;
}

struct listing {
    const struct sl_match *m;
    const uint32_t *at, *parent; /* by position: its pick, and its parent */
    const struct sl_pick *picks;
    struct sl_grant *ret;
};

/* A vertex and what is among its children, and theirs. */
static void list_picks(const struct listing *l, uint32_t pos) {
    const struct sl_match *m = l->m;
    uint32_t inner = m->spots[pos].inner, first = first_parent(m, pos);
    struct sl_pick p = l->picks[l->at[pos]];
    p.v = m->spots[pos].v;
    *sl_vec_push(&l->ret->picks) = p;
    if (l->parent[pos] != first)
        *sl_vec_push(&l->ret->ways) = (struct sl_grant_way){p.v, m->spots[l->parent[pos]].v};
    for (uint32_t k = 0; inner != GRAPH_NONE && k < m->inners.v[inner].n_kids; k++) {
        uint32_t kid = m->linked[m->inners.v[inner].kids + k];
        if (l->at[kid] != GRAPH_NONE && l->parent[kid] == pos)
            list_picks(l, kid);
    }
}

/* From picks by position, each once, to all of them in order. */
static void finish(const struct family *f, struct sl_grant *g) {
    const struct sl_match *m = f->m;
    SL_VEC(struct sl_pick) all = {0};
    uint32_t *at = sl_alloc((size_t)(m->n_spots + 1) * sizeof(*at));
    uint32_t *parent = sl_alloc((size_t)(m->n_spots + 1) * sizeof(*parent));
    memset(at, 0xff, (size_t)(m->n_spots + 1) * sizeof(*at));
    for (uint32_t i = 0; i < g->picks.n; i++) {
        at[g->picks.v[i].v] = i;
        *sl_vec_push(&all) = g->picks.v[i];
    }
    for (uint32_t i = 0; i < all.n; i++) {
        uint32_t up = parent[all.v[i].v] = family_parent(f, all.v[i].v);
        if (up == GRAPH_NONE || at[up] != GRAPH_NONE)
            continue;
        at[up] = all.n;
        *sl_vec_push(&all) = (struct sl_pick){up, graph_vertex_at(m, up)->size, false};
    }
    sl_vec_clear(&g->picks);
    sl_vec_clear(&g->ways);
    struct listing l = {m, at, parent, all.v, g};
    for (uint32_t pos = 0; pos < m->n_spots; pos++)
        if (at[pos] != GRAPH_NONE && parent[pos] == GRAPH_NONE)
            list_picks(&l, pos);
    if (g->ways.n > 0)
        qsort(g->ways.v, g->ways.n, sizeof(*g->ways.v), by_vertex);
    sl_vec_free(&all);
    sl_freep(&at);
    sl_freep(&parent);
}

void graph_joint_finish(const struct sl_match *m, const struct graph_chain *c,
                        const struct graph_job *j, struct sl_grant *g) {
    struct family f;
    family_init(&f, m);
    for (uint32_t i = 0; i < g->picks.n; i++)
        if (g->picks.v[i].exclusive)
            sl_bits_set(f.exclusive, g->picks.v[i].v);
    for (const struct graph_way *x = c ? c->ways : NULL; x; x = x->next)
        family_note(&f, x->pos, x->parent);
    for (uint32_t i = j ? j->ways : 0; i; i = m->ways.v[i].next)
        family_note(&f, m->ways.v[i].pos, m->ways.v[i].parent);
    finish(&f, g);
    family_done(&f);
}

/* Of nodes on the way the topmost; NONE: there is none. */
static uint32_t top_node(const struct family *f, uint32_t pos) {
    uint32_t node = GRAPH_NONE;
    for (; pos != GRAPH_NONE; pos = family_parent(f, pos))
        if (f->m->spots[pos].is_node)
            node = pos;
    return node;
}

void graph_joint_whole_nodes(struct graph_walk *w, struct graph_chain *c) {
    const struct sl_match *m = w->m;
    struct graph_chain whole = {.n_slots = c->n_slots, .ways = c->ways, .last_way = c->last_way};
    uint64_t *taken = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*taken));
    struct family f;
    family_of_chain(&f, m, c);
    for (struct graph_claim *k = c->claims, *next; k; k = next) {
        const struct graph_block *b = k->amount ? NULL : &m->blocks.v[k->block];
        uint32_t pool = k->amount ? m->pools.v[k->block].pos : 0, node;
        uint32_t n = b ? graph_block_words(b) : 0;
        next = k->next;
        node = k->amount ? top_node(&f, pool) : GRAPH_NONE;
        if (k->amount && (node == GRAPH_NONE || node == pool)) { /* it may be a pool itself */
            k->next = whole.claims;
            whole.claims = k;
        } else if (k->amount && !sl_bits_get(taken, node)) {
            sl_bits_set(taken, node);
            graph_chain_subtree(w, &whole, node);
        }
        for (uint32_t i = 0; i < 2 * n; i++)
            for (uint64_t left = k->bits[i]; left; left &= left - 1) {
                uint32_t pos = graph_block_pos(b, i, left);
                node = top_node(&f, pos);
                if (node == GRAPH_NONE) {
                    graph_chain_range(w, &whole, pos, pos + 1, i < n);
                } else if (!sl_bits_get(taken, node)) {
                    sl_bits_set(taken, node);
                    graph_chain_subtree(w, &whole, node);
                }
            }
    }
    family_done(&f);
    sl_freep(&taken);
    *c = whole;
}

void graph_joint_tidy(const struct sl_match *m, struct graph_chain *c) {
    struct family f;
    if (m->pools.n == 0)
        return;
    family_of_chain(&f, m, c);
    for (struct graph_claim **at = &c->claims; *at;) {
        if ((*at)->amount && sl_bits_get(f.exclusive, m->pools.v[(*at)->block].pos))
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    family_done(&f);
}

/* ---- jobs ---- */

static void note_way(struct sl_match *m, struct graph_job *j, uint32_t pos, uint32_t parent) {
    uint32_t i = m->free_way;
    if (i) {
        m->free_way = m->ways.v[i].next;
    } else {
        if (m->ways.n == 0)
            (void)sl_vec_push(&m->ways);
        i = m->ways.n;
        (void)sl_vec_push(&m->ways);
    }
    m->ways.v[i] = (struct graph_job_way){pos, parent, j->ways};
    j->ways = i;
}

static uint64_t *noted_ways(const struct sl_match *m, const struct graph_job *j) {
    uint64_t *noted = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*noted));
    for (uint32_t i = j->ways; i; i = m->ways.v[i].next)
        sl_bits_set(noted, m->ways.v[i].pos);
    return noted;
}

static uint32_t noted_parent(const struct sl_match *m, const struct graph_job *j, uint32_t pos) {
    uint32_t i = j->ways;
    while (i && m->ways.v[i].pos != pos)
        i = m->ways.v[i].next;
    return i ? m->ways.v[i].parent : GRAPH_NONE;
}

/* The first way to a vertex counts. A later one, of a job that grows, leads to its last parent. */
void graph_joint_hold(struct sl_match *m, struct graph_job *j, const struct graph_chain *c) {
    struct graph_walk w = {.m = m};
    struct graph_chain others = {0};
    if (!c->ways)
        return;
    uint64_t *noted = noted_ways(m, j);
    for (const struct graph_way *x = c->ways; x; x = x->next) {
        if (!sl_bits_get(noted, x->pos)) {
            sl_bits_set(noted, x->pos);
            note_way(m, j, x->pos, x->parent);
        } else if (x->parent != GRAPH_NONE && x->parent != noted_parent(m, j, x->pos)) {
            graph_chain_range(&w, &others, x->parent, x->parent + 1, false);
        }
    }
    sl_freep(&noted);
    if (others.claims)
        graph_hold_chain(m, j, &others);
}

void graph_joint_drop(struct sl_match *m, struct graph_job *j) {
    while (j->ways) {
        uint32_t i = j->ways;
        j->ways = m->ways.v[i].next;
        m->ways.v[i].next = m->free_way;
        m->free_way = i;
    }
}

static uint32_t pos_of(const struct sl_match *m, sl_vtx v) {
    return v == SL_VTX_NONE ? GRAPH_NONE : sl_graph_vertex(m->g, v)->pos;
}

static uint32_t parent_in(const struct sl_match *m, const struct sl_grant *g, sl_vtx v) {
    return pos_of(m, sl_grant_parent(m->g, g, v));
}

/* Notes the parents of exactly those that it has. */
static void note_all(struct sl_match *m, struct graph_job *j) {
    struct sl_grant g = {0};
    sl_grant_of_job(m, j, &g);
    graph_joint_drop(m, j);
    for (uint32_t i = 0; i < g.picks.n; i++) {
        uint32_t pos = pos_of(m, g.picks.v[i].v);
        if (m->spots[pos].joint)
            note_way(m, j, pos, parent_in(m, &g, g.picks.v[i].v));
    }
    sl_grant_done(&g);
}

/* Notes the parents of what it has and of what it is to get: what is exclusive of both together
 * may say others. */
void graph_joint_more(struct sl_match *m, struct graph_job *j, const struct graph_chain *c) {
    struct sl_grant g = {0};
    note_all(m, j);
    uint64_t *noted = noted_ways(m, j);
    sl_grant_of_chain(m, c, &g);
    for (uint32_t i = 0; i < g.picks.n; i++) {
        uint32_t pos = pos_of(m, g.picks.v[i].v);
        if (m->spots[pos].joint && !sl_bits_get(noted, pos))
            note_way(m, j, pos, parent_in(m, &g, g.picks.v[i].v));
    }
    sl_grant_done(&g);
    sl_freep(&noted);
}

void graph_joint_put(struct sl_match *m, struct graph_job *j, const struct sl_grant_way *v,
                     uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct sl_vertex *x = sl_graph_vertex(m->g, v[i].v);
        const sl_vtx *more;
        if (x->removed || !m->spots[x->pos].joint)
            continue;
        uint32_t n_more = sl_graph_more_parents(m->g, v[i].v, &more), k = 0;
        while (k < n_more && more[k] != v[i].parent)
            k++;
        note_way(m, j, x->pos, pos_of(m, k < n_more ? more[k] : x->parent));
    }
    note_all(m, j);
}

bool graph_joint_lose(struct sl_match *m, struct graph_job *j, const sl_vtx *v, uint32_t n) {
    enum { GONE = 1, ABOVE = 2, HAS = 4 };
    struct sl_grant g = {0};
    uint8_t *mark = sl_alloc0((size_t)m->n_spots + 1, 1);
    bool good = true;
    sl_grant_of_job(m, j, &g);
    for (uint32_t i = 0; i < g.picks.n; i++)
        mark[pos_of(m, g.picks.v[i].v)] |= HAS;
    for (uint32_t i = 0; i < n && good; i++)
        good = !sl_graph_vertex(m->g, v[i])->removed && mark[pos_of(m, v[i])] & HAS;
    for (uint32_t i = 0; i < n && good; i++) {
        mark[pos_of(m, v[i])] |= GONE;
        for (uint32_t up = parent_in(m, &g, v[i]); up != GRAPH_NONE;
             up = parent_in(m, &g, m->spots[up].v))
            mark[up] |= ABOVE;
    }
    for (uint32_t i = 0; i < g.picks.n && good; i++) { /* parents come first */
        uint32_t pos = pos_of(m, g.picks.v[i].v), up = parent_in(m, &g, g.picks.v[i].v);
        if (up != GRAPH_NONE)
            mark[pos] |= mark[up] & GONE;
    }
    if (good)
        note_all(m, j); /* what is exclusive no longer says it */
    for (uint32_t i = j->spans, next; i && good; i = next) {
        const struct graph_block *b = &m->blocks.v[m->spans.v[i].block];
        uint64_t bits[BLOCK_WORDS] = {0};
        next = m->spans.v[i].next_of_job;
        for (uint32_t k = 0; k < b->n; k++)
            if (mark[b->pos + k] & (GONE | ABOVE))
                sl_bits_set(bits, k);
        graph_hold_less(m, i, bits);
    }
    for (uint32_t i = j->shares, next; i && good; i = next) {
        next = m->shares.v[i].next_of_job;
        if (mark[m->pools.v[m->shares.v[i].pool].pos] & GONE)
            graph_hold_share_less(m, i);
    }
    if (good)
        note_all(m, j);
    sl_grant_done(&g);
    sl_freep(&mark);
    return good;
}

/* What it had shared, and now has something below of, is only the way there. */
void graph_joint_forget_ways(struct sl_match *m, struct graph_job *j) {
    struct sl_grant g = {0};
    uint64_t *leads = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*leads));
    sl_grant_of_job(m, j, &g);
    for (uint32_t i = 0; i < g.picks.n; i++) {
        uint32_t up = parent_in(m, &g, g.picks.v[i].v);
        if (up != GRAPH_NONE)
            sl_bits_set(leads, up);
    }
    for (uint32_t i = j->spans, next; i; i = next) {
        const struct graph_block *b = &m->blocks.v[m->spans.v[i].block];
        uint32_t n = graph_block_words(b);
        uint64_t ways[BLOCK_WORDS] = {0}, any = 0;
        next = m->spans.v[i].next_of_job;
        for (uint32_t k = 0; k < n; k++) {
            for (uint64_t left =
                     m->words.v[m->spans.v[i].bits + n + k] & ~m->words.v[m->spans.v[i].bits + k];
                 left; left &= left - 1)
                if (sl_bits_get(leads, graph_block_pos(b, k, left)))
                    ways[k] |= left & -left;
            any |= ways[k];
        }
        if (any)
            graph_hold_less(m, i, ways);
    }
    sl_freep(&leads);
    sl_grant_done(&g);
}

/* ---- weights ---- */

void graph_joint_visit(struct sl_match *m, const struct graph_chain *c, bool kept) {
    struct sl_grant g = {0};
    uint64_t *below = sl_alloc0((size_t)m->n_spots / 64 + 1, sizeof(*below));
    sl_grant_of_chain(m, c, &g);
    for (uint32_t i = g.picks.n; i-- > 0;) {
        uint32_t pos = pos_of(m, g.picks.v[i].v), up = parent_in(m, &g, g.picks.v[i].v);
        if (up != GRAPH_NONE && (g.picks.v[i].exclusive || sl_bits_get(below, pos)))
            sl_bits_set(below, up);
    }
    for (uint32_t i = 0; i < g.picks.n; i++) {
        uint32_t pos = pos_of(m, g.picks.v[i].v), inner = m->spots[pos].inner;
        if (inner != GRAPH_NONE && pos < m->n_tree)
            graph_index_visit_one(m, inner, kept && sl_bits_get(below, pos));
    }
    sl_freep(&below);
    sl_grant_done(&g);
}

/* ---- updates ---- */

/* The first of the parents that are listed, or the first. */
uint32_t graph_joint_listed_parent(const struct sl_match *m, const uint64_t *listed, uint32_t pos) {
    const sl_vtx *more;
    uint32_t first = first_parent(m, pos);
    if (!m->spots[pos].joint || sl_bits_get(listed, first))
        return first;
    uint32_t n = sl_graph_more_parents(m->g, m->spots[pos].v, &more);
    for (uint32_t i = 0; i < n; i++)
        if (sl_bits_get(listed, pos_of(m, more[i])))
            return pos_of(m, more[i]);
    return first;
}
