/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The earliest time with enough nodes, or slots. Each node (or place, see top_slots.c) produces
 * intervals in which a start would get something of it, always as much, one after the other and
 * lazily, from the profile of its block. Two heaps, by the begin of the next interval and by the
 * end of the present one, give the first moment at which all together have enough.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

#define QUICK_TYPES 4u

struct candidate { /* a node or place */
    uint32_t pos;
    int64_t from, to, amount; /* the stretch */
    bool quick;               /* its free children are counted by masks of one word */
    uint64_t way;             /* what must not be exclusive then */
    uint64_t masks[QUICK_TYPES];
    uint32_t per[QUICK_TYPES];
};

struct heap {
    const struct candidate *nodes;
    uint32_t *v, n;
    bool by_end;
};

static int64_t key(const struct heap *h, uint32_t node) {
    return h->by_end ? h->nodes[node].to : h->nodes[node].from;
}

static void sift_down(struct heap *h, uint32_t i) {
    for (uint32_t next; (next = 2 * i + 1) < h->n; i = next) {
        next += next + 1 < h->n && key(h, h->v[next + 1]) < key(h, h->v[next]);
        if (key(h, h->v[i]) <= key(h, h->v[next]))
            return;
        uint32_t other = h->v[i];
        h->v[i] = h->v[next];
        h->v[next] = other;
    }
}

static void push(struct heap *h, uint32_t node) {
    uint32_t i = h->n++;
    h->v[i] = node;
    for (; i > 0 && key(h, h->v[i]) < key(h, h->v[(i - 1) / 2]); i = (i - 1) / 2) {
        uint32_t other = h->v[i];
        h->v[i] = h->v[(i - 1) / 2];
        h->v[(i - 1) / 2] = other;
    }
}

static uint32_t pop(struct heap *h) {
    uint32_t node = h->v[0];
    h->v[0] = h->v[--h->n];
    sift_down(h, 0);
    return node;
}

/* ---- a node or place ---- */

/* Are children counted by masks? Then what has to be free of each type is known beforehand. */
static void prepare(const struct graph_walk *w, struct candidate *a) {
    const struct sl_match *m = w->m;
    const struct graph_block *b = &m->blocks.v[m->spots[a->pos].block];
    uint32_t inner = m->spots[a->pos].inner;
    a->quick =
        (w->tops || w->is_plain) && inner != GRAPH_NONE && w->plain.n <= QUICK_TYPES && b->n <= 64;
    a->way = UINT64_C(1);
    for (uint32_t pos = a->pos; pos > b->pos && a->quick;
         pos = sl_graph_vertex(m->g, graph_vertex_at(m, pos)->parent)->pos)
        a->way |= UINT64_C(1) << (pos - b->pos);
    /* 'plain' is filled in only then. */
    for (uint32_t i = 0; a->quick && i < w->plain.n; i++) {
        const struct graph_run *run = graph_plain_run(m, inner, w->plain.of[i].type);
        const uint64_t none = 0;
        a->quick = run && run->way != 0;
        if (!a->quick)
            break;
        graph_plain_free(w, inner, run, &none, &none, &a->masks[i]);
        a->per[i] = graph_plain_per(run, w->plain.of[i].per);
    }
}

static uint32_t quick_slots(const struct graph_walk *w, const struct candidate *a, uint64_t x,
                            uint64_t s) {
    const struct graph_req *r = &w->r->reqs.v[w->variant->top];
    uint32_t slots = UINT32_MAX;
    if (x & a->way || ((x | s) && (r->exclusive == SL_TRUE || w->m->policy.node_exclusive)))
        return 0;
    for (uint32_t i = 0; i < w->plain.n; i++) {
        uint32_t n = sl_bits_count(a->masks[i] & ~(x | s)) / a->per[i];
        slots = n < slots ? n : slots;
    }
    return slots;
}

/* What can be had of it if these were taken: slots of a place; a node counts as its size. */
static int64_t amount(struct graph_walk *w, const struct candidate *a, const uint64_t *x,
                      const uint64_t *s) {
    uint32_t block = w->m->spots[a->pos].block, n = graph_block_words(&w->m->blocks.v[block]);
    uint32_t inner = w->m->spots[a->pos].inner;
    if (w->tops) {
        return a->quick                          ? quick_slots(w, a, x[0], s[0])
               : graph_tops_open(w, inner, x, s) ? graph_plain_slots(w, inner, x, s)
                                                 : 0;
    }
    int64_t size = graph_vertex_at(w->m, a->pos)->size;
    if (a->quick)
        return quick_slots(w, a, x[0], s[0]) >= w->plain.least ? size : 0;
    struct graph_list found = {0};
    memcpy(w->x, x, n * sizeof(*x));
    memcpy(w->s, s, n * sizeof(*s));
    w->masked = block;
    sl_arena_clear(&w->m->scratch);
    return graph_walk_one(w, a->pos, &found) ? size : 0;
}

struct masks {
    uint64_t x[BLOCK_WORDS], s[BLOCK_WORDS];
};

static void add_segment(struct masks *k, const struct graph_profile *p, uint32_t i, uint32_t n) {
    const uint64_t *v = &p->bits[(size_t)i * 2 * n];
    for (uint32_t w = 0; w < n; w++) {
        k->x[w] |= v[w];
        k->s[w] |= v[n + w];
    }
}

static void clear(struct masks *k, uint32_t n) {
    memset(k->x, 0, n * sizeof(*k->x));
    memset(k->s, 0, n * sizeof(*k->s));
}

/* Where the window of a start at t ends. */
static int64_t end_of_window(const struct graph_walk *w, int64_t t) {
    int64_t d = w->r->duration, to;
    return d == 0 || __builtin_add_overflow(t, d, &to) || to > w->m->end ? w->m->end : to;
}

/* Segments that a window from t meets: from the one that holds t on. */
static uint32_t first_segment(const struct graph_profile *p, int64_t t) {
    uint32_t i = graph_profile_find(p, t);
    return i - (i > 0);
}

/* How long starts may go on after a good one at t whose window ends before segment j. */
static int64_t last_start(struct graph_walk *w, const struct candidate *a,
                          const struct graph_profile *p, uint32_t n, uint32_t j) {
    struct masks k;
    int64_t d = w->r->duration;
    if (d == 0)
        return SL_PLAN_NEVER;
    for (; j < p->n && p->at[j] < w->m->end; j++) {
        int64_t t = p->at[j] - d + 1; /* the first start that meets segment j */
        clear(&k, n);
        for (uint32_t i = first_segment(p, t); i <= j; i++)
            add_segment(&k, p, i, n);
        if (amount(w, a, k.x, k.s) == 0)
            return t;
    }
    return SL_PLAN_NEVER;
}

/* The same for places, where more counts too: the first start after t that gets another amount. */
static int64_t next_change(struct graph_walk *w, const struct candidate *a,
                           const struct graph_profile *p, uint32_t n, int64_t t, uint32_t j) {
    struct masks k;
    int64_t d = w->r->duration, end = w->m->end;
    for (uint32_t i = graph_profile_find(p, t);;) {
        bool meets = d > 0 && j < p->n && p->at[j] < end;
        int64_t left = i < p->n ? p->at[i] : SL_PLAN_NEVER; /* a segment is left behind */
        int64_t met = meets ? p->at[j] - d + 1 : SL_PLAN_NEVER;
        t = left < met ? left : met;
        if (t >= end)
            return SL_PLAN_NEVER;
        i += left == t;
        j += met == t;
        int64_t to = end_of_window(w, t);
        clear(&k, n);
        for (uint32_t of = first_segment(p, t); of < p->n && p->at[of] < to; of++)
            add_segment(&k, p, of, n);
        if (amount(w, a, k.x, k.s) != a->amount)
            return t;
    }
}

/* The next stretch at or after a time; false if there is none. */
static bool next_stretch(struct graph_walk *w, struct candidate *a, int64_t t) {
    struct sl_match *m = w->m;
    struct graph_block *b = &m->blocks.v[m->spots[a->pos].block];
    const struct graph_profile none = {0}, *p = b->profile ? &m->profiles.v[b->profile] : &none;
    uint32_t n = graph_block_words(b);
    struct masks k;
    while (t < m->end) {
        int64_t to = end_of_window(w, t);
        uint32_t first = first_segment(p, t), j = first;
        clear(&k, n);
        for (; j < p->n && p->at[j] < to; j++)
            add_segment(&k, p, j, n);
        a->amount = amount(w, a, k.x, k.s);
        if (a->amount > 0) {
            a->from = t;
            a->to = w->tops ? next_change(w, a, p, n, t, j) : last_start(w, a, p, n, j);
            return true;
        }
        /* From behind: the last segment that may not be in the window. */
        clear(&k, n);
        uint32_t bad = j;
        do {
            if (bad == first)
                break;
            add_segment(&k, p, --bad, n);
        } while (amount(w, a, k.x, k.s) > 0);
        if (bad + 1 >= p->n || amount(w, a, k.x, k.s) > 0)
            return false; /* it would not do even if it were free */
        t = p->at[bad + 1];
    }
    return false;
}

/* ---- all of them ---- */

static uint32_t n_candidates(const struct graph_walk *w) {
    return w->tops ? w->tops->by.n : w->m->index.order.n;
}

/* The position of the i-th, NONE if nothing can ever be had of it. */
static uint32_t candidate(const struct graph_walk *w, uint32_t i) {
    static const uint64_t none[BLOCK_WORDS];
    const struct sl_match *m = w->m;
    if (w->tops) {
        uint32_t inner = w->tops->by.places[i].inner;
        return graph_tops_open(w, inner, none, none) ? m->inners.v[inner].pos : GRAPH_NONE;
    }
    uint32_t pos = m->index.order.v[i];
    return !m->spots[pos].down && (!w->allowed || sl_bits_get(m->allowed_ranks, i)) ? pos
                                                                                    : GRAPH_NONE;
}

bool graph_later_find(struct graph_walk *w, int64_t now, int64_t *ret_at) {
    struct sl_match *m = w->m;
    const struct graph_req *r = &w->r->reqs.v[w->variant->top];
    int64_t least = graph_req_least(r), have = 0;
    uint32_t n = n_candidates(w), n_nodes = 0;
    struct candidate *nodes = sl_alloc((n + 1) * sizeof(*nodes));
    struct heap waiting = {nodes, sl_alloc((n + 1) * sizeof(uint32_t)), 0, false};
    struct heap within = {nodes, sl_alloc((n + 1) * sizeof(uint32_t)), 0, true};
    struct graph_window any = {.when = WHEN_FUTURE, .from = now, .to = m->end};
    bool found = false;
    graph_walk_at(w, &any);
    for (uint32_t i = 0; i < n; i++) {
        nodes[n_nodes].pos = candidate(w, i);
        if (nodes[n_nodes].pos == GRAPH_NONE)
            continue;
        prepare(w, &nodes[n_nodes]);
        if (next_stretch(w, &nodes[n_nodes], now + 1))
            push(&waiting, n_nodes++);
    }
    for (int64_t at = graph_hold_first_end(m, now); at < m->end;) {
        while (within.n > 0 && key(&within, within.v[0]) <= at) {
            uint32_t i = pop(&within);
            have -= nodes[i].amount;
            if (next_stretch(w, &nodes[i], nodes[i].to))
                push(&waiting, i);
        }
        while (waiting.n > 0 && key(&waiting, waiting.v[0]) <= at) {
            uint32_t i = pop(&waiting);
            if (nodes[i].to > at) {
                push(&within, i);
                have += nodes[i].amount;
            } else if (next_stretch(w, &nodes[i], nodes[i].to)) {
                push(&waiting, i);
            }
        }
        found = have >= least;
        if (found) {
            *ret_at = at;
            break;
        }
        /* Nothing gets better before a stretch begins, of a place also at the end of one. */
        int64_t next = waiting.n > 0 ? key(&waiting, waiting.v[0]) : SL_PLAN_NEVER;
        if (w->tops && within.n > 0 && key(&within, within.v[0]) < next)
            next = key(&within, within.v[0]);
        if (next == SL_PLAN_NEVER)
            break;
        at = graph_hold_next_end(m, next - 1 > at ? next - 1 : at);
    }
    memset(m->fits, 0, ((size_t)m->blocks.n / 64 + 1) * sizeof(*m->fits));
    for (uint32_t i = 0; i < within.n && found && !w->tops; i++)
        sl_bits_set(m->fits, m->spots[nodes[within.v[i]].pos].block);
    sl_freep(&nodes);
    sl_freep(&waiting.v);
    sl_freep(&within.v);
    return found;
}
