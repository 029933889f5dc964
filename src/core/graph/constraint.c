/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constraints, for many vertices at once. A name that a constraint has becomes the set of the
 * vertices that have it, by one pass over the properties of all of them, and terms join such sets
 * word by word. That takes properties + terms * vertices / 32 steps; to ask each vertex term by
 * term would take terms * properties, and a job may bring thousands of terms for thousands of
 * nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/bits.h"
#include "core/graph/graph_int.h"
#include "core/graph/request_int.h"

/* Vertices that have one name, by their places, which are numbers below n: a list of them in
 * ascending order, or a bit for each place where that is shorter. */
struct set {
    size_t first; /* among the members of all sets */
    uint32_t n, filled;
};

struct place {
    int32_t rank;
    uint32_t of; /* the vertices that are asked of */
};

struct eval {
    const struct sl_graph *g;
    const sl_vtx *v;
    uint32_t n, words;
    struct place *order; /* by rank if the constraint has ranks: a range of them is one of places */
    uint64_t *wanted;    /* a bit per symbol of the graph: a property that the constraint has */
    struct sl_map set_of; /* such a symbol -> its set */
    struct sl_syms hosts; /* names of vertices that the constraint has */
    uint32_t host_sets;   /* the set of the first of these */
    bool has_hosts, has_ranks;
    SL_VEC(struct set) sets;
    uint32_t *members;
    uint64_t steps;
};

enum how { ADD, KEEP, DROP };

/* ---- what the constraint has ---- */

static sl_sym property(const struct eval *e, const char *name) {
    return sl_sym_find(&e->g->syms, name + (*name == '^'));
}

static void collect(struct eval *e, const struct sl_constraint *t) {
    e->has_ranks |= t->kind == SL_CONSTRAINT_RANKS;
    e->has_hosts |= t->kind == SL_CONSTRAINT_HOSTS;
    for (uint32_t i = 0; i < t->n_terms; i++)
        collect(e, &t->terms[i]);
    for (uint32_t i = 0; i < t->n_names; i++) {
        if (t->kind == SL_CONSTRAINT_HOSTS) {
            (void)sl_sym_put(&e->hosts, t->names[i]);
            continue;
        }
        sl_sym y = property(e, t->names[i]);
        if (y == SL_MAP_NONE || sl_bits_get(e->wanted, y))
            continue;
        sl_bits_set(e->wanted, y);
        sl_map_add(&e->set_of, y, e->sets.n);
        *sl_vec_push(&e->sets) = (struct set){0};
    }
    e->steps += t->n_names;
}

/* ---- sets ---- */

static bool is_dense(const struct eval *e, const struct set *s) {
    return s->n > e->words;
}

/* First they are counted, then filled in. */
static void put(struct eval *e, uint32_t set, uint32_t at, bool fill) {
    struct set *s = &e->sets.v[set];
    uint32_t *members = e->members + s->first;
    if (!fill)
        s->n++;
    else if (is_dense(e, s))
        members[at / 32] |= UINT32_C(1) << at % 32;
    else
        members[s->filled++] = at;
}

static void read_vertices(struct eval *e, bool fill) {
    char text[SL_VERTEX_NAME];
    for (uint32_t at = 0; at < e->n; at++) {
        sl_vtx v = e->v[e->order[at].of];
        const struct graph_props *p = &e->g->props.v[e->g->v.v[v].props];
        for (uint32_t i = 0; i < p->n; i++)
            if (sl_bits_get(e->wanted, p->keys[i]))
                put(e, sl_map_get(&e->set_of, p->keys[i]), at, fill);
        sl_sym host =
            e->has_hosts ? sl_sym_find(&e->hosts, sl_vertex_name(e->g, v, text)) : SL_MAP_NONE;
        if (host != SL_MAP_NONE)
            put(e, e->host_sets + host, at, fill);
        e->steps += p->n + 1;
    }
}

static void make_sets(struct eval *e) {
    size_t total = 0;
    e->host_sets = e->sets.n;
    for (uint32_t i = 0; i < e->hosts.names.n; i++)
        *sl_vec_push(&e->sets) = (struct set){0};
    read_vertices(e, false);
    for (uint32_t i = 0; i < e->sets.n; i++) {
        e->sets.v[i].first = total;
        total += e->sets.v[i].n < e->words ? e->sets.v[i].n : e->words;
    }
    e->members = sl_alloc0(total + 1, sizeof(*e->members));
    read_vertices(e, true);
}

/* ---- terms ---- */

static void fill(const struct eval *e, uint32_t *out, bool on) {
    memset(out, on ? 0xff : 0, e->words * sizeof(*out));
}

static void join_list(const struct eval *e, uint32_t *out, const uint32_t *v, uint32_t n,
                      enum how how) {
    if (how == KEEP) {
        uint32_t i = 0;
        for (uint32_t w = 0; w < e->words; w++) {
            uint32_t kept = 0;
            for (; i < n && v[i] / 32 == w; i++)
                kept |= UINT32_C(1) << v[i] % 32;
            out[w] &= kept;
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bit = UINT32_C(1) << v[i] % 32;
        out[v[i] / 32] = how == ADD ? out[v[i] / 32] | bit : out[v[i] / 32] & ~bit;
    }
}

static void join_bits(const struct eval *e, uint32_t *out, const uint32_t *v, enum how how) {
    for (uint32_t w = 0; w < e->words; w++)
        out[w] = how == ADD ? out[w] | v[w] : out[w] & (how == KEEP ? v[w] : ~v[w]);
}

/* SL_MAP_NONE: of nobody. */
static void join(struct eval *e, uint32_t *out, uint32_t set, enum how how) {
    static const struct set nobody;
    const struct set *s = set == SL_MAP_NONE ? &nobody : &e->sets.v[set];
    const uint32_t *members = e->members + s->first;
    bool dense = is_dense(e, s);
    if (dense)
        join_bits(e, out, members, how);
    else
        join_list(e, out, members, s->n, how);
    e->steps += dense || how == KEEP ? e->words : s->n;
}

static uint32_t set_of_property(const struct eval *e, const char *name) {
    sl_sym y = property(e, name);
    return y == SL_MAP_NONE ? SL_MAP_NONE : sl_map_get(&e->set_of, y);
}

static void join_property(struct eval *e, uint32_t *out, const char *name) {
    join(e, out, set_of_property(e, name), *name == '^' ? DROP : KEEP);
}

static void add_host(struct eval *e, uint32_t *out, const char *name) {
    sl_sym y = sl_sym_find(&e->hosts, name);
    join(e, out, y == SL_MAP_NONE ? SL_MAP_NONE : e->host_sets + y, ADD);
}

/* The first place of this rank or a higher one. */
static uint32_t first_of_rank(const struct eval *e, int64_t rank) {
    uint32_t low = 0, high = e->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (e->order[mid].rank < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void add_ranks(struct eval *e, uint32_t *out, int64_t first, int64_t last) {
    uint32_t from = first_of_rank(e, first);
    uint32_t to = last < INT32_MAX ? first_of_rank(e, last + 1) : e->n;
    for (uint32_t i = from; i < to; e->steps++) {
        uint32_t n = 32 - i % 32 < to - i ? 32 - i % 32 : to - i;
        out[i / 32] |= (UINT32_MAX >> (32 - n)) << i % 32;
        i += n;
    }
}

static void evaluate(struct eval *e, const struct sl_constraint *t, uint32_t *out);

static void join_term(struct eval *e, const struct sl_constraint *t, uint32_t *out, enum how how) {
    if (how == ADD && t->kind == SL_CONSTRAINT_PROPERTIES && t->n_names == 1 && **t->names != '^') {
        join(e, out, set_of_property(e, *t->names), ADD); /* only those that have it */
        return;
    }
    uint32_t *term = sl_alloc(e->words * sizeof(*term));
    evaluate(e, t, term);
    join_bits(e, out, term, how);
    sl_freep(&term);
    e->steps += 2 * (uint64_t)e->words;
}

/* The words of all places; what is behind the last one does not matter. */
static void evaluate(struct eval *e, const struct sl_constraint *t, uint32_t *out) {
    bool any = t->kind == SL_CONSTRAINT_HOSTS || t->kind == SL_CONSTRAINT_RANKS ||
               (t->kind == SL_CONSTRAINT_OR && t->n_terms > 0);
    fill(e, out, !any);
    for (uint32_t i = 0; i < t->n_terms; i++)
        join_term(e, &t->terms[i], out, any ? ADD : KEEP);
    for (uint32_t i = 0; i < t->n_names; i++)
        if (any)
            add_host(e, out, t->names[i]);
        else
            join_property(e, out, t->names[i]);
    for (uint32_t i = 0; i < t->n_ranks; i++)
        add_ranks(e, out, t->ranks[i].first, t->ranks[i].last);
    for (uint32_t w = 0; t->kind == SL_CONSTRAINT_NOT && w < e->words; w++)
        out[w] = ~out[w];
}

static int by_rank(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->of < y->of ? -1 : x->of > y->of;
}

uint64_t sl_constraint_eval(const struct sl_constraint *t, const struct sl_graph *g,
                            const sl_vtx *v, uint32_t n, uint64_t *ret) {
    struct eval e = {.g = g, .v = v, .n = n, .words = n / 32 + 1};
    e.order = sl_alloc((n + 1) * sizeof(*e.order));
    e.wanted = sl_alloc0((size_t)g->syms.names.n / 64 + 1, sizeof(*e.wanted));
    sl_syms_init(&e.hosts);
    collect(&e, t);
    for (uint32_t i = 0; i < n; i++)
        e.order[i] = (struct place){g->v.v[v[i]].rank, i};
    if (e.has_ranks)
        qsort(e.order, n, sizeof(*e.order), by_rank);
    make_sets(&e);
    uint32_t *all = sl_alloc(e.words * sizeof(*all));
    evaluate(&e, t, all);
    for (uint32_t i = 0; i < n; i++)
        if (all[i / 32] >> i % 32 & 1)
            sl_bits_set(ret, e.order[i].of);
    sl_freep(&all);
    sl_freep(&e.members);
    sl_vec_free(&e.sets);
    sl_syms_done(&e.hosts);
    sl_map_done(&e.set_of);
    sl_freep(&e.wanted);
    sl_freep(&e.order);
    return e.steps;
}
