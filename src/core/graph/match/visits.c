/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many vertices Fluxion's walk would visit. It has no indices: it enters each child of what it
 * walks, and leaves out only what is below a vertex whose filter has less of a type than the
 * request needs there, at some moment of the window. So the graph is walked in full, once for each
 * time, and what filters know is added up for the window before.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph/match/match_int.h"

/* ---- what filters know ---- */

/* A job comes, or goes. */
struct event {
    int64_t at;
    uint32_t job;
    bool goes;
};

static int by_time(const void *a, const void *b) {
    const struct event *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->goes != y->goes)
        return x->goes ? -1 : 1; /* what is given back can be had at once */
    return x->job < y->job ? -1 : x->job > y->job;
}

struct sums {
    const struct sl_match *m;
    int64_t *held, *most;
};

static void add_above(const struct sums *s, uint32_t pos, int64_t amount) {
    const struct sl_match *m = s->m;
    uint8_t t = m->types.v[m->spots[pos].type].counted;
    if (t == TYPES_MAX || pos >= m->n_tree)
        return;
    for (sl_vtx v = graph_vertex_at(m, pos)->parent; v != SL_VTX_NONE;
         v = sl_graph_vertex(m->g, v)->parent) {
        size_t at = (size_t)m->spots[sl_graph_vertex(m->g, v)->pos].inner * m->n_counted + t;
        s->held[at] += amount;
        if (s->held[at] > s->most[at])
            s->most[at] = s->held[at];
    }
}

static void add_job(const struct sums *s, const struct graph_job *j, int sign) {
    const struct sl_match *m = s->m;
    for (uint32_t i = j->spans; i; i = m->spans.v[i].next_of_job) {
        const struct graph_block *b = &m->blocks.v[m->spans.v[i].block];
        for (uint32_t k = 0; k < graph_block_words(b); k++)
            for (uint64_t left = m->words.v[m->spans.v[i].bits + k]; left; left &= left - 1) {
                uint32_t pos = graph_block_pos(b, k, left);
                add_above(s, pos, sign * graph_vertex_at(m, pos)->size);
            }
    }
    for (uint32_t i = j->shares; i; i = m->shares.v[i].next_of_job)
        add_above(s, m->pools.v[m->shares.v[i].pool].pos, sign * m->shares.v[i].amount);
}

/* The most that is held below each vertex at any moment of a window, by times alone. */
static void find_most(const struct sl_match *m, const struct graph_window *w, int64_t *ret) {
    size_t n = (size_t)m->inners.n * m->n_counted;
    struct sums s = {m, sl_alloc0(n + 1, sizeof(*s.held)), ret};
    SL_VEC(struct event) events = {0};
    memset(ret, 0, n * sizeof(*ret));
    for (uint32_t i = 0; i < m->jobs.n && w->when != WHEN_EMPTY; i++) {
        const struct graph_job *j = &m->jobs.v[i];
        if (!j->used || j->from >= w->to || j->to <= w->from)
            continue;
        *sl_vec_push(&events) = (struct event){j->from > w->from ? j->from : w->from, i, false};
        if (j->to < w->to)
            *sl_vec_push(&events) = (struct event){j->to, i, true};
    }
    if (events.n > 0)
        qsort(events.v, events.n, sizeof(*events.v), by_time);
    for (uint32_t i = 0; i < events.n; i++)
        add_job(&s, &m->jobs.v[events.v[i].job], events.v[i].goes ? -1 : 1);
    sl_vec_free(&events);
    sl_freep(&s.held);
}

/* Is there less of these amounts, by counted type, than a vertex has? */
static bool has_less(const struct graph_walk *w, uint32_t inner, const int64_t *need) {
    const struct sl_match *m = w->m;
    uint32_t n = graph_layout_filters(m, m->inners.v[inner].pos, w->count->types, m->all_filters.n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t type = graph_layout_type(m, w->count->types[i]);
        uint8_t t = type == GRAPH_NONE ? TYPES_MAX : m->types.v[type].counted;
        size_t at = (size_t)inner * m->n_counted + t;
        if (t < TYPES_MAX && need[t] > m->total[at] - w->count->most[at])
            return true;
    }
    return false;
}

bool graph_visits_prune(const struct graph_walk *w, uint32_t inner, uint32_t req) {
    return has_less(w, inner, &w->need[(size_t)req * w->m->n_counted]);
}

bool graph_visits_may(const struct graph_walk *w) {
    const struct sl_match *m = w->m;
    int64_t need[TYPES_MAX] = {0};
    uint32_t inner = m->spots[0].inner;
    for (uint32_t i = w->variant->top; i < w->variant->top + w->variant->n_top; i++) {
        const struct graph_req *q = &w->r->reqs.v[i];
        uint8_t t = w->types[i] == UINT16_MAX ? TYPES_MAX : m->types.v[w->types[i]].counted;
        for (uint32_t c = 0; c < m->n_counted; c++) {
            int64_t more;
            if (__builtin_mul_overflow((int64_t)graph_req_least(q),
                                       w->need[(size_t)i * m->n_counted + c] + (c == t), &more) ||
                __builtin_add_overflow(need[c], more, &need[c]))
                return false;
        }
    }
    return inner == GRAPH_NONE || !has_less(w, inner, need);
}

/* ---- walks ---- */

struct counter {
    struct sl_match *m;
    const struct sl_match_request *r;
    struct graph_visits v;
};

static bool count_at(struct counter *c, const struct graph_window *w, bool try) {
    find_most(c->m, w, c->v.most);
    c->v.n = (struct sl_match_visits){0};
    for (uint32_t i = 0; i < c->r->variants.n; i++)
        if (graph_search_count(c->m, c->r, &c->r->variants.v[i], w, try, &c->v))
            return true;
    return false;
}

static void add(struct sl_match_visits *v, const struct counter *c) {
    v->entered += c->v.n.entered;
    v->succeeded += c->v.n.succeeded;
}

/* At the end of the graph's time, whatever is down. */
static struct graph_window end_window(const struct sl_match *m, const struct sl_match_request *r) {
    int64_t longest = m->end - m->start, d = r->duration ? r->duration : longest;
    int64_t from = d < longest ? m->end - d - 1 : m->start;
    return (struct graph_window){WHEN_FUTURE, from, from + d, true};
}

static void count_later(struct counter *c, int64_t now, struct sl_match_visits *v) {
    const struct sl_match *m = c->m;
    struct graph_window w;
    for (int64_t at = graph_hold_first_end(m, now); at < m->end; at = graph_hold_next_end(m, at)) {
        if (!graph_search_window(m, c->r, at, WHEN_FUTURE, &w))
            return;
        bool found = count_at(c, &w, true);
        add(v, c);
        if (found)
            return;
    }
}

static void count_request(struct counter *c, enum sl_match_op op, int64_t now,
                          struct sl_match_visits *v) {
    struct sl_match *m = c->m;
    bool keeps = op <= SL_MATCH_ALLOCATE_OR_RESERVE;
    struct graph_window w = end_window(m, c->r);
    if (op == SL_MATCH_SATISFIABILITY) {
        (void)count_at(c, &w, false);
        *v = c->v.n;
        return;
    }
    if (m->fluxion && keeps && !graph_match_has_nodes(m, c->r, op, now))
        return;
    if (!graph_search_window(m, c->r, now, WHEN_PRESENT, &w))
        return;
    if (count_at(c, &w, false)) {
        *v = c->v.n;
    } else if (op == SL_MATCH_ALLOCATE_SATISFIABLE) {
        w = end_window(m, c->r);
        (void)count_at(c, &w, false);
        add(v, c);
    } else if (op == SL_MATCH_ALLOCATE_OR_RESERVE || op == SL_MATCH_WITHOUT_FUTURE) {
        count_later(c, now, v);
    }
}

void sl_match_count_visits(struct sl_match *m, const struct sl_match_request *r,
                           enum sl_match_op op, int64_t now, struct sl_match_visits *v) {
    struct counter c = {.m = m, .r = r};
    struct sl_match_stats stats = m->stats;
    if (r->duration < 0 || r->duration > m->end - m->start)
        return;
    c.v.most = sl_alloc((size_t)(m->inners.n * m->n_counted + 1) * sizeof(*c.v.most));
    c.v.types = sl_alloc((m->all_filters.n + 1) * sizeof(*c.v.types));
    count_request(&c, op, now, v);
    m->stats = stats;
    sl_freep(&c.v.most);
    sl_freep(&c.v.types);
}
