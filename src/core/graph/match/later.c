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

/* What nodes that are built alike have in common, if children are counted by masks of one word. */
struct shape {
    uint32_t inner; /* of the first of them */
    bool quick;
    uint64_t way; /* what must not be exclusive then */
    uint64_t masks[QUICK_TYPES];
    uint32_t per[QUICK_TYPES];  /* of a slot */
    uint64_t need[QUICK_TYPES]; /* of a node */
};

struct candidate { /* a node or place */
    const struct graph_profile *profile;
    const struct shape *shape;
    uint32_t pos, n_words;
    uint32_t next;                  /* in the list that it is in */
    int64_t from, to, amount, size; /* the stretch; what a node counts as */
};

struct moment {
    int64_t at;
    uint32_t begin, end; /* the first candidates whose stretch begins, or is over, by then */
};

struct search {
    struct graph_walk *w;
    int64_t until; /* later starts are of no use */
    bool whole;    /* nodes are taken whole: nothing of them may be taken */
    bool alone;    /* slots are in what nothing is taken of */
    struct candidate *nodes;
    struct shape *shapes;
    struct moment *moments;
    uint32_t n_nodes, n_shapes, n_moments;
};

struct masks {
    uint64_t x[BLOCK_WORDS], s[BLOCK_WORDS];
};

/* ---- a node or place ---- */

/* Is what the masks of a shape are made of the same? */
static bool is_alike(const struct sl_match *m, uint32_t a, uint32_t b) {
    const struct graph_inner *x = &m->inners.v[a], *y = &m->inners.v[b];
    const struct graph_block *at = &m->blocks.v[m->spots[x->pos].block],
                             *bt = &m->blocks.v[m->spots[y->pos].block];
    bool alike = x->n_runs == y->n_runs && !x->some_down && !y->some_down && at->n == bt->n &&
                 at->pos == x->pos && bt->pos == y->pos;
    for (uint32_t i = 0; i < x->n_runs && alike; i++) {
        const struct graph_run *p = &m->runs.v[x->runs + i], *q = &m->runs.v[y->runs + i];
        alike = p->type == q->type && p->way == q->way && p->size == q->size && p->mask &&
                q->mask && m->masks.v[p->mask] == m->masks.v[q->mask];
    }
    return alike;
}

/* Are children counted by masks? Then what has to be free of each type is known beforehand. */
static void make_shape(const struct search *f, uint32_t inner, struct shape *h) {
    const struct graph_walk *w = f->w;
    const struct sl_match *m = w->m;
    const struct graph_block *b = &m->blocks.v[m->spots[m->inners.v[inner].pos].block];
    h->inner = inner;
    h->quick = (w->tops || w->is_plain) && w->plain.n <= QUICK_TYPES && b->n <= 64;
    h->way = UINT64_C(1);
    for (uint32_t pos = m->inners.v[inner].pos; pos > b->pos && h->quick;
         pos = sl_graph_vertex(m->g, graph_vertex_at(m, pos)->parent)->pos)
        h->way |= UINT64_C(1) << (pos - b->pos);
    /* 'plain' is filled in only then. */
    for (uint32_t i = 0; h->quick && i < w->plain.n; i++) {
        const struct graph_run *run = graph_plain_run(m, inner, w->plain.of[i].type);
        const uint64_t taken = 0;
        h->quick = run && run->way != 0;
        if (!h->quick)
            break;
        graph_plain_free(w, inner, run, &taken, &taken, &h->masks[i]);
        h->per[i] = graph_plain_per(run, w->plain.of[i].per);
        h->need[i] = (uint64_t)h->per[i] * w->plain.least;
    }
}

/* Most nodes are like the one before. */
static const struct shape *find_shape(struct search *f, uint32_t inner) {
    static const struct shape slow = {.inner = NONE};
    if (inner == NONE)
        return &slow;
    struct shape *last = f->n_shapes > 0 ? &f->shapes[f->n_shapes - 1] : NULL;
    if (!last || !is_alike(f->w->m, last->inner, inner)) {
        last = &f->shapes[f->n_shapes++];
        make_shape(f, inner, last);
    }
    return last;
}

static uint32_t quick_slots(const struct search *f, const struct shape *h, uint64_t free_bits) {
    uint32_t slots = UINT32_MAX;
    for (uint32_t i = 0; i < f->w->plain.n; i++) {
        uint32_t n = sl_bits_count(h->masks[i] & free_bits);
        n = h->per[i] > 1 ? n / h->per[i] : n;
        slots = n < slots ? n : slots;
    }
    return slots;
}

static bool quick_fits(const struct search *f, const struct shape *h, uint64_t free_bits) {
    for (uint32_t i = 0; i < f->w->plain.n; i++)
        if (sl_bits_count(h->masks[i] & free_bits) < h->need[i])
            return false;
    return true;
}

static bool is_free(const uint64_t *bits, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (bits[i])
            return false;
    return true;
}

static int64_t slow_amount(const struct search *f, const struct candidate *a,
                           const struct masks *k) {
    struct graph_walk *w = f->w;
    uint32_t inner = w->m->spots[a->pos].inner;
    struct graph_list found = {0};
    if (w->tops)
        return graph_tops_open(w, inner, k->x, k->s) ? graph_plain_slots(w, inner, k->x, k->s) : 0;
    memcpy(w->x, k->x, a->n_words * sizeof(*w->x));
    memcpy(w->s, k->s, a->n_words * sizeof(*w->s));
    w->masked = w->m->spots[a->pos].block;
    sl_arena_clear(&w->m->scratch);
    return graph_walk_one(w, a->pos, &found) ? a->size : 0;
}

/* What can be had of it if these were taken: slots of a place; a node counts as its size. */
static inline int64_t amount(const struct search *f, const struct candidate *a,
                             const struct masks *k, uint32_t n) {
    if (f->whole)
        return is_free(k->x, n) && is_free(k->s, n) ? a->size : 0;
    if (!a->shape->quick)
        return slow_amount(f, a, k);
    uint64_t taken = k->x[0] | k->s[0];
    if (k->x[0] & a->shape->way || (taken && f->alone))
        return 0;
    return f->w->tops                        ? quick_slots(f, a->shape, ~taken)
           : quick_fits(f, a->shape, ~taken) ? a->size
                                             : 0;
}

/* ---- its stretches ---- */

static inline void add_segment(struct masks *k, const struct graph_profile *p, uint32_t i,
                               uint32_t n) {
    const uint64_t *v = &p->bits[(size_t)i * 2 * n];
    for (uint32_t w = 0; w < n; w++) {
        k->x[w] |= v[w];
        k->s[w] |= v[n + w];
    }
}

static inline void clear(struct masks *k, uint32_t n) {
    for (uint32_t w = 0; w < n; w++)
        k->x[w] = k->s[w] = 0;
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

/* How long starts may go on after a good one whose window ends before segment j. */
static inline int64_t last_start(const struct search *f, const struct candidate *a, uint32_t j,
                                 uint32_t n) {
    const struct graph_profile *p = a->profile;
    struct masks k _unset_;
    int64_t d = f->w->r->duration;
    if (d == 0)
        return SL_PLAN_NEVER;
    for (; j < p->n && p->at[j] < f->w->m->end; j++) {
        int64_t t = p->at[j] - d + 1; /* the first start that meets segment j */
        if (t > f->until)
            return t;
        clear(&k, n);
        for (uint32_t i = first_segment(p, t); i <= j; i++)
            add_segment(&k, p, i, n);
        if (amount(f, a, &k, n) == 0)
            return t;
    }
    return SL_PLAN_NEVER;
}

/* The same for places, where more counts too: the first start after t that gets another amount. */
static int64_t next_change(const struct search *f, const struct candidate *a, int64_t t, uint32_t j,
                           uint32_t n) {
    const struct graph_profile *p = a->profile;
    struct masks k _unset_;
    int64_t d = f->w->r->duration, end = f->w->m->end;
    for (uint32_t i = graph_profile_find(p, t);;) {
        bool meets = d > 0 && j < p->n && p->at[j] < end;
        int64_t left = i < p->n ? p->at[i] : SL_PLAN_NEVER; /* a segment is left behind */
        int64_t met = meets ? p->at[j] - d + 1 : SL_PLAN_NEVER;
        t = left < met ? left : met;
        if (t > f->until)
            return t;
        i += left == t;
        j += met == t;
        int64_t to = end_of_window(f->w, t);
        clear(&k, n);
        for (uint32_t of = first_segment(p, t); of < p->n && p->at[of] < to; of++)
            add_segment(&k, p, of, n);
        if (amount(f, a, &k, n) != a->amount)
            return t;
    }
}

/* Do all segments from 'first' to before j leave something? Otherwise *ret_bad is the last one that
 * may not be among them. With masks it is found on the way; a walk may find more in less. */
static inline bool leave_some(const struct search *f, struct candidate *a, uint32_t first,
                              uint32_t j, uint32_t n, uint32_t *ret_bad) {
    const struct graph_profile *p = a->profile;
    struct masks k _unset_;
    clear(&k, n);
    if (first == j || !(f->whole || a->shape->quick)) {
        for (uint32_t i = first; i < j; i++)
            add_segment(&k, p, i, n);
        a->amount = amount(f, a, &k, n);
        *ret_bad = j;
        if (a->amount > 0 || first == j)
            return a->amount > 0;
        clear(&k, n);
    }
    do {
        add_segment(&k, p, --j, n);
        a->amount = amount(f, a, &k, n);
    } while (a->amount > 0 && j > first);
    *ret_bad = j;
    return a->amount > 0;
}

static inline bool stretch_of(const struct search *f, struct candidate *a, int64_t t, uint32_t n) {
    const struct graph_profile *p = a->profile;
    while (t <= f->until) {
        int64_t to = end_of_window(f->w, t);
        uint32_t first = first_segment(p, t), j = first, bad;
        while (j < p->n && p->at[j] < to)
            j++;
        if (leave_some(f, a, first, j, n, &bad)) {
            a->from = t;
            a->to = f->w->tops ? next_change(f, a, t, j, n) : last_start(f, a, j, n);
            return true;
        }
        if (bad + 1 >= p->n)
            return false;
        t = p->at[bad + 1];
    }
    return false;
}

/* The next stretch at or after a time; false if there is none in time. */
static bool next_stretch(const struct search *f, struct candidate *a, int64_t t) {
    return a->n_words == 1 ? stretch_of(f, a, t, 1) : stretch_of(f, a, t, a->n_words);
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

/* The first moment, from one on, at or after a time; all of them if there is none. */
static uint32_t moment_at(const struct search *f, uint32_t from, int64_t t) {
    uint32_t lo = from, hi = f->n_moments;
    if (lo < hi && f->moments[lo].at >= t)
        return lo;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (f->moments[mid].at < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The first stretch, at or after t, that a moment from 'from' on is in. */
static void enter(struct search *f, uint32_t i, uint32_t from, int64_t t) {
    struct candidate *a = &f->nodes[i];
    for (; next_stretch(f, a, t); t = a->to) {
        from = moment_at(f, from, a->from);
        if (from == f->n_moments)
            break;
        if (a->to > f->moments[from].at) {
            a->next = f->moments[from].begin;
            f->moments[from].begin = i;
            return;
        }
    }
    a->from = a->to = SL_PLAN_NEVER;
}

static void leave(struct search *f, uint32_t i, uint32_t from) {
    uint32_t at = moment_at(f, from, f->nodes[i].to);
    if (at == f->n_moments)
        return;
    f->nodes[i].next = f->moments[at].end;
    f->moments[at].end = i;
}

static bool find_moment(struct search *f, int64_t least, int64_t *ret_at) {
    int64_t have = 0;
    for (uint32_t k = 0; k < f->n_moments; k++) {
        for (uint32_t i = f->moments[k].end, next; i != NONE; i = next) {
            next = f->nodes[i].next;
            have -= f->nodes[i].amount;
            enter(f, i, k, f->nodes[i].to);
        }
        for (uint32_t i = f->moments[k].begin, next; i != NONE; i = next) {
            next = f->nodes[i].next;
            have += f->nodes[i].amount;
            leave(f, i, k + 1);
        }
        *ret_at = f->moments[k].at;
        if (have >= least)
            return true;
    }
    return false;
}

static void add_candidate(struct search *f, uint32_t pos, int64_t from) {
    static const struct graph_profile none;
    const struct sl_match *m = f->w->m;
    const struct graph_block *b = &m->blocks.v[m->spots[pos].block];
    f->nodes[f->n_nodes] = (struct candidate){
        .profile = b->profile ? &m->profiles.v[b->profile] : &none,
        .shape = f->whole ? NULL : find_shape(f, m->spots[pos].inner),
        .pos = pos,
        .n_words = graph_block_words(b),
        .size = graph_vertex_at(m, pos)->size,
    };
    enter(f, f->n_nodes++, 0, from);
}

bool graph_later_find(struct graph_walk *w, int64_t now, int64_t until, int64_t *ret_at) {
    struct sl_match *m = w->m;
    const struct graph_req *r = &w->r->reqs.v[w->variant->top];
    uint32_t n = n_candidates(w), pos;
    struct search f = {
        .w = w,
        .until = until < m->end ? until : m->end - 1,
        .whole = !w->tops && w->nodes_in_slot && w->r->reqs.v[w->nodes].n_with == 0,
        .alone = r->exclusive == SL_TRUE || m->policy.node_exclusive,
        .nodes = sl_alloc((n + 1) * sizeof(*f.nodes)),
        .shapes = sl_alloc((n + 1) * sizeof(*f.shapes)),
        .moments = sl_alloc((m->ends.n + 1) * sizeof(*f.moments)),
    };
    struct graph_window any = {.when = WHEN_FUTURE, .from = now, .to = m->end};
    for (int64_t at = graph_hold_first_end(m, now); at <= f.until; at = graph_hold_next_end(m, at))
        f.moments[f.n_moments++] = (struct moment){at, NONE, NONE};
    graph_walk_at(w, &any);
    for (uint32_t i = 0; i < n; i++)
        if ((pos = candidate(w, i)) != NONE)
            add_candidate(&f, pos, now + 1);
    bool found = find_moment(&f, graph_req_least(r), ret_at);
    memset(m->fits, 0, ((size_t)m->blocks.n / 64 + 1) * sizeof(*m->fits));
    for (uint32_t i = 0; i < f.n_nodes && found; i++)
        if (f.nodes[i].from <= *ret_at && *ret_at < f.nodes[i].to)
            sl_bits_set(m->fits, m->spots[f.nodes[i].pos].block);
    sl_freep(&f.nodes);
    sl_freep(&f.shapes);
    sl_freep(&f.moments);
    return found;
}
