/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constraints on many vertices at once: the same answers as vertex by vertex and term by term, and
 * steps that do not multiply terms by vertices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/arena.h"
#include "core/base/collection/bits.h"
#include "core/base/fmt.h"
#include "core/base/prng.h"
#include "core/graph/request_int.h"

#define TERMS 2000u
#define NODES 10000u

static sl_vtx add_node(struct sl_graph *g, uint32_t i, int64_t rank) {
    char name[32];
    struct sl_err err;
    sl_vtx v;
    sl_fmt(name, sizeof name, "n%u", i);
    assert_int_equal(
        sl_graph_add(
            g,
            &(struct sl_vertex_spec){
                .type = "node", .name = name, .id = -1, .uniq_id = -1, .rank = rank, .size = 1},
            &v, &err),
        0);
    return v;
}

static void set(struct sl_graph *g, sl_vtx v, const char *format, uint32_t i) {
    char key[32];
    struct sl_err err;
    sl_fmt(key, sizeof key, format, i);
    assert_int_equal(sl_vertex_set_prop(g, v, key, "", &err), 0);
}

/* ---- the same answers ---- */

static bool holds(const struct sl_constraint *t, const struct sl_graph *g, sl_vtx v) {
    char text[SL_VERTEX_NAME];
    int64_t rank = sl_graph_vertex(g, v)->rank;
    bool all = true, any = false;
    for (uint32_t i = 0; i < t->n_terms + t->n_names + t->n_ranks; i++) {
        bool is, without = t->n_names && *t->names[i] == '^';
        if (t->n_terms)
            is = holds(&t->terms[i], g, v);
        else if (t->n_ranks)
            is = rank >= t->ranks[i].first && rank <= t->ranks[i].last;
        else if (t->kind == SL_CONSTRAINT_HOSTS)
            is = strcmp(t->names[i], sl_vertex_name(g, v, text)) == 0;
        else
            is = (sl_vertex_prop(g, v, t->names[i] + without) != NULL) != without;
        all &= is;
        any |= is;
    }
    switch (t->kind) {
    case SL_CONSTRAINT_ALL:
    case SL_CONSTRAINT_AND:
    case SL_CONSTRAINT_PROPERTIES:
        return all;
    case SL_CONSTRAINT_NOT:
        return !all;
    case SL_CONSTRAINT_OR:
        return any || t->n_terms == 0;
    case SL_CONSTRAINT_HOSTS:
    case SL_CONSTRAINT_RANKS:
        return any;
    }
    return false;
}

static uint32_t below(struct sl_prng *p, uint32_t n) {
    return (uint32_t)sl_prng_below(p, n);
}

/* Properties that few have, and many: both forms of a set; and names that nobody has. */
static struct sl_constraint random_term(struct sl_prng *p, struct sl_arena *a, uint32_t depth) {
    struct sl_constraint t = {.kind = (enum sl_constraint_kind)below(p, 7)};
    uint32_t n = below(p, 5);
    if (depth == 3 && t.kind < SL_CONSTRAINT_PROPERTIES)
        t.kind = SL_CONSTRAINT_PROPERTIES;
    struct sl_constraint *terms = sl_arena_alloc0(a, n + 1, sizeof *terms);
    const char **names = sl_arena_alloc0(a, n + 1, sizeof *names);
    struct sl_constraint_ranks *ranks = sl_arena_alloc0(a, n + 1, sizeof *ranks);
    bool leaf = t.kind == SL_CONSTRAINT_ALL || t.kind >= SL_CONSTRAINT_PROPERTIES;
    for (uint32_t i = 0; i < n; i++) {
        if (!leaf)
            terms[i] = random_term(p, a, depth + 1);
        names[i] = t.kind == SL_CONSTRAINT_HOSTS
                       ? sl_arena_printf(a, "n%u", below(p, 400))
                       : sl_arena_printf(a, "%s%c%u", below(p, 3) ? "" : "^",
                                         below(p, 2) ? 'm' : 'f', below(p, 12));
        ranks[i].first = (int64_t)below(p, 80) - 10;
        ranks[i].last = below(p, 9) ? ranks[i].first + below(p, 30) : INT64_MAX;
    }
    t.terms = terms;
    t.names = names;
    t.ranks = ranks;
    t.n_terms = leaf ? 0 : n;
    t.n_names = t.kind == SL_CONSTRAINT_PROPERTIES || t.kind == SL_CONSTRAINT_HOSTS ? n : 0;
    t.n_ranks = t.kind == SL_CONSTRAINT_RANKS ? n : 0;
    return t;
}

static void test_same_as_one_by_one(void **state) {
    enum { VERTICES = 300 };
    sl_vtx v[VERTICES];
    (void)state;
    for (uint32_t seed = 0; seed < 40; seed++) {
        struct sl_prng p;
        struct sl_graph *g = sl_graph_new();
        sl_prng_init(&p, seed);
        for (uint32_t i = 0; i < VERTICES; i++) {
            v[i] = add_node(g, below(&p, VERTICES), (int64_t)below(&p, 60) - 1);
            for (uint32_t k = 0; k < 10; k++) {
                if (below(&p, 3))
                    set(g, v[i], "m%u", k);
                if (below(&p, 90) == 0)
                    set(g, v[i], "f%u", k);
            }
        }
        for (uint32_t n = 0; n < 50; n++) {
            struct sl_arena a = SL_ARENA((size_t)1 << 20);
            struct sl_constraint t = random_term(&p, &a, 0);
            uint32_t asked = below(&p, VERTICES + 1);
            uint64_t got[VERTICES / 64 + 1] = {0};
            (void)sl_constraint_eval(&t, g, v, asked, got);
            for (uint32_t i = 0; i < asked; i++)
                assert_int_equal(sl_bits_get(got, i), holds(&t, g, v[i]));
            sl_arena_done(&a);
        }
        sl_graph_free(g);
    }
}

/* ---- steps ---- */

struct wide {
    struct sl_arena arena;
    struct sl_graph *g;
    sl_vtx *v;
    uint64_t properties;
};

/* Nodes with a label of their own, one that all have, and some that many have. */
static void make(struct wide *w) {
    *w = (struct wide){.arena = SL_ARENA((size_t)64 << 20), .g = sl_graph_new()};
    w->v = sl_arena_alloc(&w->arena, NODES * sizeof *w->v);
    for (uint32_t i = 0; i < NODES; i++) {
        w->v[i] = add_node(w->g, i, i);
        set(w->g, w->v[i], "host=%u", i);
        set(w->g, w->v[i], "all", 0);
        for (uint32_t k = 0; k < 8; k++)
            set(w->g, w->v[i], "some=%u", i % (k + 2) * 8 + k);
        w->properties += 10;
    }
}

static uint64_t steps(struct wide *w, const struct sl_constraint *terms, uint32_t n) {
    struct sl_constraint t = {.kind = SL_CONSTRAINT_OR, .terms = terms, .n_terms = n};
    uint64_t *got = sl_arena_alloc0(&w->arena, NODES / 64 + 1, sizeof *got);
    uint64_t taken = sl_constraint_eval(&t, w->g, w->v, NODES, got);
    assert_int_equal(sl_bits_get(got, 3), 1);
    return taken;
}

/* "host=I", or with "^none": also something to be joined. */
static struct sl_constraint *or_of(struct wide *w, enum sl_constraint_kind kind, const char *format,
                                   const char *also) {
    struct sl_constraint *terms = sl_arena_alloc0(&w->arena, TERMS, sizeof *terms);
    for (uint32_t i = 0; i < TERMS; i++) {
        const char **names = sl_arena_alloc0(&w->arena, 2, sizeof *names);
        struct sl_constraint_ranks *ranks = sl_arena_alloc0(&w->arena, 1, sizeof *ranks);
        names[0] = sl_arena_printf(&w->arena, format, i);
        names[1] = also;
        *ranks = (struct sl_constraint_ranks){i, NODES};
        terms[i] = (struct sl_constraint){.kind = kind, .names = names, .ranks = ranks};
        terms[i].n_names = kind == SL_CONSTRAINT_RANKS ? 0 : also ? 2 : 1;
        terms[i].n_ranks = kind == SL_CONSTRAINT_RANKS;
    }
    return terms;
}

/* 10,000 nodes with 10 properties: 2,000 terms one by one would look at up to 2 * 10^8. */
static void test_steps_of_a_wide_or(void **state) {
    struct wide w;
    (void)state;
    make(&w);
    uint64_t read = 2 * (w.properties + NODES), words = NODES / 32 + 1;
    assert_true(steps(&w, or_of(&w, SL_CONSTRAINT_PROPERTIES, "host=%u", NULL), TERMS) <=
                read + 4 * TERMS + 4 * words);
    uint64_t most = read + TERMS * (5 * words + 4);
    assert_true(steps(&w, or_of(&w, SL_CONSTRAINT_PROPERTIES, "host=%u", "^none"), TERMS) <= most);
    assert_true(steps(&w, or_of(&w, SL_CONSTRAINT_PROPERTIES, "host=%u", "all"), TERMS) <= most);
    assert_true(steps(&w, or_of(&w, SL_CONSTRAINT_HOSTS, "n%u", NULL), TERMS) <= most);
    assert_true(steps(&w, or_of(&w, SL_CONSTRAINT_RANKS, "", NULL), TERMS) <= most);
    assert_true(most < 5 * 1000 * 1000);
    sl_graph_free(w.g);
    sl_arena_done(&w.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_one_by_one),
        cmocka_unit_test(test_steps_of_a_wide_or),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
