/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The earliest time with enough nodes, or slots. Each node (or place, see top_slots.c) produces
 * intervals in which a start would get something of it, always as much, one after the other and
 * lazily, from the profile of its block. Something can begin now and when something ends; of these
 * times each has a list of the nodes whose present interval begins by then, and of those whose
 * interval is over by then. The first time at which all together have enough is the answer.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/match/match_int.h"

#define QUICK_TYPES 4u
#define NONE GRAPH_NONE

struct candidate { /* a node or place */
    const struct graph_profile *profile;
    uint32_t pos, n_words;
    uint32_t next;            /* in the list that it is in */
    bool quick;               /* its free children are counted by masks of one word */
    bool whole;               /* it is taken whole: free if nothing of it is taken */
    int64_t from, to, amount; /* the stretch */
    int64_t size;
    uint64_t way;             /* what must not be exclusive then */
    uint64_t masks[QUICK_TYPES];
    uint32_t per[QUICK_TYPES];
};

/* ---- a node or place ---- */

/* Are children counted by masks? Then what has to be free of each type is known beforehand. */
static void prepare(const struct graph_walk *w, struct candidate *a) {
    static const struct graph_profile none;
    const struct sl_match *m = w->m;
    const struct graph_block *b = &m->blocks.v[m->spots[a->pos].block];
    uint32_t inner = m->spots[a->pos].inner;
    a->profile = b->profile ? &m->profiles.v[b->profile] : &none;
    a->n_words = graph_block_words(b);
    a->size = graph_vertex_at(m, a->pos)->size;
    a->whole = !w->tops && w->nodes_in_slot && w->r->reqs.v[w->nodes].n_with == 0;
    a->quick = !a->whole && (w->tops || w->is_plain) && inner != NONE &&
               w->plain.n <= QUICK_TYPES && b->n <= 64;
    a->way = UINT64_C(1);
    for (uint32_t pos = a->pos; pos > b->pos && a->quick;
         pos = sl_graph_vertex(m->g, graph_vertex_at(m, pos)->parent)->pos)
        a->way |= UINT64_C(1) << (pos - b->pos);
    /* 'plain' is filled in only then. */
    for (uint32_t i = 0; a->quick && i < w->plain.n; i++) {
        const struct graph_run *run = graph_plain_run(m, inner, w->plain.of[i].type);
        const uint64_t taken = 0;
        a->quick = run && run->way != 0;
        if (!a->quick)
            break;
        graph_plain_free(w, inner, run, &taken, &taken, &a->masks[i]);
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

static bool is_free(const uint64_t *bits, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (bits[i])
            return false;
    return true;
}

/* What can be had of it if these were taken: slots of a place; a node counts as its size. */
static int64_t amount(struct graph_walk *w, const struct candidate *a, const uint64_t *x,
                      const uint64_t *s) {
    uint32_t inner = w->m->spots[a->pos].inner, n = a->n_words;
    if (w->tops) {
        return a->quick                          ? quick_slots(w, a, x[0], s[0])
               : graph_tops_open(w, inner, x, s) ? graph_plain_slots(w, inner, x, s)
                                                 : 0;
    }
    if (a->whole)
        return is_free(x, n) && is_free(s, n) ? a->size : 0;
    if (a->quick)
        return quick_slots(w, a, x[0], s[0]) >= w->plain.least ? a->size : 0;
    struct graph_list found = {0};
    memcpy(w->x, x, n * sizeof(*x));
    memcpy(w->s, s, n * sizeof(*s));
    w->masked = w->m->spots[a->pos].block;
    sl_arena_clear(&w->m->scratch);
    return graph_walk_one(w, a->pos, &found) ? a->size : 0;
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

/* How long starts may go on after a good one at t whose window ends before segment j. What is after
 * 'until' does not matter. */
static int64_t last_start(struct graph_walk *w, const struct candidate *a, uint32_t j,
                          int64_t until) {
    const struct graph_profile *p = a->profile;
    struct masks k _unset_;
    int64_t d = w->r->duration;
    if (d == 0)
        return SL_PLAN_NEVER;
    for (; j < p->n && p->at[j] < w->m->end; j++) {
        int64_t t = p->at[j] - d + 1; /* the first start that meets segment j */
        if (t > until)
            return t;
        clear(&k, a->n_words);
        for (uint32_t i = first_segment(p, t); i <= j; i++)
            add_segment(&k, p, i, a->n_words);
        if (amount(w, a, k.x, k.s) == 0)
            return t;
    }
    return SL_PLAN_NEVER;
}

/* The same for places, where more counts too: the first start after t that gets another amount. */
static int64_t next_change(struct graph_walk *w, const struct candidate *a, int64_t t, uint32_t j,
                           int64_t until) {
    const struct graph_profile *p = a->profile;
    struct masks k _unset_;
    int64_t d = w->r->duration, end = w->m->end;
    for (uint32_t i = graph_profile_find(p, t);;) {
        bool leaves = i < p->n, meets = d > 0 && j < p->n && p->at[j] < end;
        int64_t left = leaves ? p->at[i] : SL_PLAN_NEVER; /* a segment is left behind */
        int64_t met = meets ? p->at[j] - d + 1 : SL_PLAN_NEVER;
        t = left < met ? left : met;
        if (t >= end)
            return SL_PLAN_NEVER;
        if (t > until)
            return t;
        i += left == t;
        j += met == t;
        int64_t to = end_of_window(w, t);
        clear(&k, a->n_words);
        for (uint32_t of = first_segment(p, t); of < p->n && p->at[of] < to; of++)
            add_segment(&k, p, of, a->n_words);
        if (amount(w, a, k.x, k.s) != a->amount)
            return t;
    }
}

/* The next stretch at or after a time; false if there is none until then. */
static bool next_stretch(struct graph_walk *w, struct candidate *a, int64_t t, int64_t until) {
    const struct graph_profile *p = a->profile;
    uint32_t n = a->n_words;
    struct masks k _unset_;
    while (t < w->m->end && t <= until) {
        int64_t to = end_of_window(w, t);
        uint32_t first = first_segment(p, t), j = first;
        clear(&k, n);
        for (; j < p->n && p->at[j] < to; j++)
            add_segment(&k, p, j, n);
        a->amount = amount(w, a, k.x, k.s);
        if (a->amount > 0) {
            a->from = t;
            a->to = w->tops ? next_change(w, a, t, j, until) : last_start(w, a, j, until);
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
        return graph_tops_open(w, inner, none, none) ? m->inners.v[inner].pos : NONE;
    }
    uint32_t pos = m->index.order.v[i];
    return !m->spots[pos].down && (!w->allowed || sl_bits_get(m->allowed_ranks, i)) ? pos : NONE;
}

struct moment {
    int64_t at;
    uint32_t begin, end; /* the first candidates whose stretch begins, or is over, by then */
};

struct calendar {
    struct candidate *nodes;
    struct moment *moments;
    uint32_t n;
    int64_t until;
};

/* The first moment at or after a time; n if there is none. */
static uint32_t moment_at(const struct calendar *c, uint32_t from, int64_t t) {
    uint32_t lo = from, hi = c->n;
    if (lo < hi && c->moments[lo].at >= t)
        return lo;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->moments[mid].at < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The first stretch, at or after t, that a moment from 'from' on is in. */
static void enter(struct graph_walk *w, struct calendar *c, uint32_t i, uint32_t from, int64_t t) {
    struct candidate *a = &c->nodes[i];
    for (; next_stretch(w, a, t, c->until); t = a->to) {
        from = moment_at(c, from, a->from);
        if (from == c->n)
            break;
        if (a->to > c->moments[from].at) {
            a->next = c->moments[from].begin;
            c->moments[from].begin = i;
            return;
        }
    }
    a->from = a->to = SL_PLAN_NEVER;
}

static void leave(struct calendar *c, uint32_t i, uint32_t from) {
    uint32_t at = moment_at(c, from, c->nodes[i].to);
    if (at == c->n)
        return;
    c->nodes[i].next = c->moments[at].end;
    c->moments[at].end = i;
}

static bool find_moment(struct graph_walk *w, struct calendar *c, int64_t least, int64_t *ret_at) {
    int64_t have = 0;
    for (uint32_t k = 0; k < c->n; k++) {
        for (uint32_t i = c->moments[k].end, next; i != NONE; i = next) {
            next = c->nodes[i].next;
            have -= c->nodes[i].amount;
            enter(w, c, i, k, c->nodes[i].to);
        }
        for (uint32_t i = c->moments[k].begin, next; i != NONE; i = next) {
            next = c->nodes[i].next;
            have += c->nodes[i].amount;
            leave(c, i, k + 1);
        }
        *ret_at = c->moments[k].at;
        if (have >= least)
            return true;
    }
    return false;
}

bool graph_later_find(struct graph_walk *w, int64_t now, int64_t until, int64_t *ret_at) {
    struct sl_match *m = w->m;
    uint32_t n = n_candidates(w), n_nodes = 0;
    struct graph_window any = {.when = WHEN_FUTURE, .from = now, .to = m->end};
    struct calendar c = {.nodes = sl_alloc((n + 1) * sizeof(*c.nodes)),
                         .moments = sl_alloc((m->ends.n + 1) * sizeof(*c.moments)),
                         .until = until};
    for (int64_t at = graph_hold_first_end(m, now); at < m->end && at <= until;
         at = graph_hold_next_end(m, at))
        c.moments[c.n++] = (struct moment){at, NONE, NONE};
    graph_walk_at(w, &any);
    for (uint32_t i = 0; i < n; i++) {
        c.nodes[n_nodes].pos = candidate(w, i);
        if (c.nodes[n_nodes].pos == NONE)
            continue;
        prepare(w, &c.nodes[n_nodes]);
        enter(w, &c, n_nodes++, 0, now + 1);
    }
    bool found =
        find_moment(w, &c, graph_req_least(&w->r->reqs.v[w->variant->top]), ret_at);
    memset(m->fits, 0, ((size_t)m->blocks.n / 64 + 1) * sizeof(*m->fits));
    for (uint32_t i = 0; i < n_nodes && found && !w->tops; i++)
        if (c.nodes[i].from <= *ret_at && *ret_at < c.nodes[i].to)
            sl_bits_set(m->fits, m->spots[c.nodes[i].pos].block);
    sl_freep(&c.nodes);
    sl_freep(&c.moments);
    return found;
}
