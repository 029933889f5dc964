/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ordered set against a plain sorted array: every answer after every change, for orders of
 * arrival that lead through each way of growing, splitting, joining and shrinking. Also compiled by
 * test_ordset_small.c over a set with a small fan-out.
 */
#include "core/base/collection/ordset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/prng.h"

#ifndef SL_ORDSET_CHUNK
#define CHUNK 128u
#endif

/* The tie order of the tests: ids backwards. It also checks that only living ids are asked about.
 */
struct world {
    bool alive[1 << 16];
    bool checked;
};

static int by_id_backwards(const void *ctx, uint32_t a, uint32_t b) {
    const struct world *w = ctx;

    if (w->checked)
        assert_true(w->alive[a] && w->alive[b]);
    return a > b ? -1 : a < b;
}

static struct sl_ordkey key(int64_t at, uint64_t tie, uint32_t id) {
    return (struct sl_ordkey){.at = at, .tie = tie, .id = id, .aux = id ^ 0xffu};
}

struct model {
    struct sl_ordkey v[1 << 16];
    uint32_t n;
};

static uint32_t model_rank(const struct model *m, const struct sl_ordkey *k,
                           const struct world *w) {
    uint32_t lo = 0, hi = m->n;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (sl_ordkey_cmp(&m->v[mid], k, by_id_backwards, w) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void model_add(struct model *m, const struct sl_ordkey *k, const struct world *w) {
    uint32_t i = model_rank(m, k, w);

    memmove(m->v + i + 1, m->v + i, (m->n - i) * sizeof *m->v);
    m->v[i] = *k;
    m->n++;
}

static void model_del(struct model *m, uint32_t i) {
    memmove(m->v + i, m->v + i + 1, (m->n - i - 1) * sizeof *m->v);
    m->n--;
}

static void assert_same_key(const struct sl_ordkey *a, const struct sl_ordkey *b) {
    assert_non_null(a);
    assert_true(a->at == b->at && a->tie == b->tie && a->id == b->id && a->aux == b->aux);
}

static void assert_same(const struct sl_ordset *s, const struct model *m) {
    const struct sl_ordkey *k;
    uint32_t i, n;

    assert_int_equal(s->n, m->n);
    for (i = 0; (k = sl_ordset_run(s, i, &n)); i += n)
        for (uint32_t j = 0; j < n; j++)
            assert_same_key(&k[j], &m->v[i + j]);
    assert_int_equal(i, m->n);
    assert_int_equal(n, 0);
    assert_null(sl_ordset_at(s, m->n));
    if (m->n > 0)
        assert_same_key(sl_ordset_first(s), &m->v[0]);
    else
        assert_null(sl_ordset_first(s));
}

static void test_empty(void **state) {
    struct sl_ordset s = {0};
    struct world *w = calloc(1, sizeof *w);
    struct sl_ordkey k = key(1, 2, 3);

    (void)state;
    assert_null(sl_ordset_first(&s));
    assert_null(sl_ordset_at(&s, 0));
    assert_int_equal(sl_ordset_rank(&s, &k, by_id_backwards, w), 0);
    assert_false(sl_ordset_del(&s, &k, by_id_backwards, w));
    sl_ordset_add(&s, &k, by_id_backwards, w);
    assert_int_equal(s.cap, 1); /* one key, one slot */
    assert_same_key(sl_ordset_first(&s), &k);
    struct sl_ordkey got = sl_ordset_pop(&s);
    assert_same_key(&got, &k);
    assert_null(s.keys); /* an empty set owns nothing */
    sl_ordset_done(&s);
    sl_ordset_done(&s);
    free(w);
}

static void test_order(void **state) {
    static const struct {
        struct sl_ordkey a, b;
        int want;
    } t[] = {
        {{1, 0, 0, 0}, {2, 0, 0, 0}, -1},
        {{INT64_MIN, UINT64_MAX, 9, 0}, {INT64_MAX, 0, 0, 0}, -1},
        {{-1, 0, 0, 0}, {1, 0, 0, 0}, -1},
        {{5, UINT64_MAX, 0, 0}, {5, 1, 0, 0}, 1},
        {{5, 1, 1, 0}, {5, 1, 2, 0}, 1}, /* the caller's order: backwards */
        {{5, 1, 2, 7}, {5, 1, 2, 8}, 0}, /* aux is not compared */
    };
    struct world *w = calloc(1, sizeof *w);

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        assert_int_equal(sl_ordkey_cmp(&t[i].a, &t[i].b, by_id_backwards, w), t[i].want);
        assert_int_equal(sl_ordkey_cmp(&t[i].b, &t[i].a, by_id_backwards, w), -t[i].want);
    }
    free(w);
}

/* n keys in, in some pattern, then out, in some pattern; compared at every power-like size. */
#ifdef SL_ORDSET_CHUNK
#define FEW 1500u
#define MANY 3000u
#else
#define FEW 2000u
#define MANY 18000u
#endif
enum pattern { UP, DOWN, RANDOM, EQUAL, OUTSIDE_IN, N_PATTERNS };
enum drain { POP, DEL_FIRST, DEL_LAST, DEL_RANDOM, DEL_MIDDLE, N_DRAINS };

static void fill_and_drain(enum pattern in, enum drain out, uint32_t n) {
    struct sl_ordset s = {0};
    struct model *m = calloc(1, sizeof *m);
    struct world *w = calloc(1, sizeof *w);
    struct sl_prng rng;

    sl_prng_init(&rng, 42 + (uint64_t)in * 8 + (uint64_t)out);
    w->checked = true;
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = in == UP       ? (int64_t)i
                     : in == DOWN   ? -(int64_t)i
                     : in == RANDOM ? sl_prng_range(&rng, INT64_MIN, INT64_MAX)
                     : in == EQUAL  ? (int64_t)sl_prng_below(&rng, 3)
                     : i % 2        ? (int64_t)(n - i)
                                    : -(int64_t)(n - i);
        struct sl_ordkey k = key(at, in == EQUAL ? sl_prng_below(&rng, 3) : 7, i);
        w->alive[i] = true;
        assert_int_equal(sl_ordset_rank(&s, &k, by_id_backwards, w), model_rank(m, &k, w));
        sl_ordset_add(&s, &k, by_id_backwards, w);
        model_add(m, &k, w);
        if (i % 1021 == 0 || (i < 400 && i % 7 == 0))
            assert_same(&s, m);
    }
    assert_same(&s, m);
    while (m->n > 0) {
        uint32_t i = out == POP || out == DEL_FIRST ? 0
                     : out == DEL_LAST              ? m->n - 1
                     : out == DEL_MIDDLE            ? m->n / 2
                                                    : (uint32_t)sl_prng_below(&rng, m->n);
        struct sl_ordkey k = m->v[i];
        assert_int_equal(sl_ordset_rank(&s, &k, by_id_backwards, w), i);
        if (out == POP) {
            struct sl_ordkey got = sl_ordset_pop(&s);
            assert_same_key(&got, &k);
        } else {
            assert_true(sl_ordset_del(&s, &k, by_id_backwards, w));
        }
        model_del(m, i);
        assert_false(sl_ordset_del(&s, &k, by_id_backwards, w));
        w->alive[k.id] = false;
        if (m->n % 1021 == 0 || (m->n < 400 && m->n % 7 == 0))
            assert_same(&s, m);
    }
    assert_null(s.keys);
    sl_ordset_done(&s);
    free(m);
    free(w);
}

static void test_patterns(void **state) {
    (void)state;
    for (int in = 0; in < N_PATTERNS; in++)
        for (int out = 0; out < N_DRAINS; out++)
            fill_and_drain((enum pattern)in, (enum drain)out, FEW);
    fill_and_drain(UP, POP, MANY);
    fill_and_drain(RANDOM, DEL_RANDOM, MANY);
}

/* Everything mixed, around sizes where the set changes shape. */
static void test_random_walk(void **state) {
    static const uint32_t around[] = {1, 3, 60, 128, 200, 1000, 8000};

    (void)state;
    for (uint64_t seed = 0; seed < SL_LEN(around) * 3; seed++) {
        struct sl_ordset s = {0};
        struct model *m = calloc(1, sizeof *m);
        struct world *w = calloc(1, sizeof *w);
        struct sl_prng rng;
        uint32_t target = around[seed % SL_LEN(around)];
        int64_t span = seed < SL_LEN(around) ? 10 : INT64_C(1) << 40, clock = 0;

        sl_prng_init(&rng, seed);
        w->checked = true;
        for (uint32_t step = 0; step < 12000 + 3 * target; step++) {
            bool grow =
                m->n == 0 || (m->n < 2 * target && sl_prng_below(&rng, m->n + target) < target);
            if (grow) {
                uint32_t id = (uint32_t)sl_prng_below(&rng, SL_LEN(w->alive));
                while (w->alive[id])
                    id = (id + 1) % (uint32_t)SL_LEN(w->alive);
                /* Mostly new work at the end, some anywhere. */
                int64_t at = sl_prng_one_in(&rng, 3) ? sl_prng_range(&rng, 0, span) : clock++;
                struct sl_ordkey k = key(at, sl_prng_below(&rng, 4), id);
                w->alive[id] = true;
                sl_ordset_add(&s, &k, by_id_backwards, w);
                model_add(m, &k, w);
            } else if (sl_prng_one_in(&rng, 2)) {
                struct sl_ordkey k = sl_ordset_pop(&s);
                assert_same_key(&k, &m->v[0]);
                model_del(m, 0);
                w->alive[k.id] = false;
            } else {
                uint32_t i = (uint32_t)sl_prng_below(&rng, m->n);
                struct sl_ordkey k = m->v[i];
                assert_same_key(sl_ordset_at(&s, i), &k);
                assert_true(sl_ordset_del(&s, &k, by_id_backwards, w));
                model_del(m, i);
                w->alive[k.id] = false;
            }
            assert_int_equal(s.n, m->n);
            if (sl_prng_one_in(&rng, 50 + m->n / 4))
                assert_same(&s, m);
        }
        assert_same(&s, m);
        sl_ordset_done(&s); /* with keys in it: the leak checker watches */
        assert_int_equal(s.n, 0);
        free(m);
        free(w);
    }
}

/* Keys that come in order fill the chunks; a thinned-out set gives its memory back. */
static void test_density(void **state) {
    struct sl_ordset s = {0};
    struct world *w = calloc(1, sizeof *w);
    uint32_t runs = 0, n = 0;

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        struct sl_ordkey k = key(i, 0, i);
        sl_ordset_add(&s, &k, by_id_backwards, w);
    }
    for (uint32_t i = 0; sl_ordset_run(&s, i, &n); i += n)
        runs++;
    assert_int_equal(runs, (100000 + CHUNK - 1) / CHUNK);
    for (uint32_t i = 0; i < 100000; i++) {
        struct sl_ordkey k = key(i, 0, i);
        if (i % 50 != 0)
            assert_true(sl_ordset_del(&s, &k, by_id_backwards, w));
    }
    assert_int_equal(s.n, 2000);
    runs = 0;
    for (uint32_t i = 0; sl_ordset_run(&s, i, &n); i += n)
        runs++;
    assert_true(runs <= 2000 / (CHUNK / 5));
    sl_ordset_done(&s);
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),    cmocka_unit_test(test_order),
        cmocka_unit_test(test_patterns), cmocka_unit_test(test_random_walk),
        cmocka_unit_test(test_density),
    };
    return cmocka_run_group_tests_name("ordset", tests, NULL, NULL);
}
