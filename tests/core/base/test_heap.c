/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The indexed heap against a plain search for the smallest.
 */
#include "core/base/collection/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/prng.h"

enum { N = 300 };

struct world {
    int64_t key[N];
    uint32_t place[N];
    bool in[N];
};

static bool less(const void *ctx, uint32_t a, uint32_t b) {
    const struct world *w = ctx;

    return w->key[a] != w->key[b] ? w->key[a] < w->key[b] : a < b;
}

static uint32_t *place(void *ctx, uint32_t item) {
    return &((struct world *)ctx)->place[item];
}

static void assert_consistent(const struct sl_heap *h, const struct world *w) {
    uint32_t n = 0, best = UINT32_MAX;

    for (uint32_t i = 0; i < N; i++) {
        if (!w->in[i]) {
            assert_int_equal(w->place[i], SL_HEAP_OUT);
            continue;
        }
        n++;
        assert_true(w->place[i] < h->items.n && h->items.v[w->place[i]] == i);
        if (best == UINT32_MAX || less(w, i, best))
            best = i;
    }
    assert_int_equal(h->items.n, n);
    assert_true(sl_heap_empty(h) == (n == 0));
    if (n > 0)
        assert_int_equal(sl_heap_top(h), best);
}

static void start_heap(struct sl_heap *h, struct world *w) {
    memset(w, 0, sizeof *w);
    for (uint32_t i = 0; i < N; i++)
        w->place[i] = SL_HEAP_OUT;
    sl_heap_init(h, less, place, w);
}

static void test_model(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sl_heap h;
        struct world w;
        struct sl_prng rng;
        int64_t range = seed % 2 ? 10 : INT64_MAX;

        start_heap(&h, &w);
        sl_prng_init(&rng, seed);
        for (int step = 0; step < 3000; step++) {
            uint32_t item = (uint32_t)sl_prng_below(&rng, N);
            switch (sl_prng_below(&rng, 8)) {
            case 0:
            case 1:
            case 2: /* add, or move */
                w.key[item] = sl_prng_range(&rng, -range, range);
                w.in[item] = true;
                sl_heap_fix(&h, item);
                break;
            case 3: /* unchanged key */
                w.in[item] = true;
                sl_heap_fix(&h, item);
                break;
            case 4:
                w.in[item] = false;
                if (w.place[item] == SL_HEAP_OUT)
                    w.key[item] = 0;
                sl_heap_remove(&h, item);
                break;
            case 5:
                if (!sl_heap_empty(&h)) {
                    uint32_t top = sl_heap_top(&h);
                    assert_int_equal(sl_heap_pop(&h), top);
                    w.in[top] = false;
                }
                break;
            case 6:
                if (sl_prng_one_in(&rng, 10)) {
                    for (uint32_t i = 0; i < N; i++)
                        w.key[i] = sl_prng_range(&rng, -range, range);
                    sl_heap_rebuild(&h);
                }
                break;
            default:
                if (sl_prng_one_in(&rng, 300)) {
                    sl_heap_clear(&h);
                    memset(w.in, 0, sizeof w.in);
                }
            }
            assert_consistent(&h, &w);
        }
        sl_heap_done(&h);
    }
}

static void test_sorts(void **state) {
    struct sl_heap h;
    struct world w;
    struct sl_prng rng;
    uint32_t last = UINT32_MAX;

    (void)state;
    start_heap(&h, &w);
    sl_prng_init(&rng, 1);
    for (uint32_t i = 0; i < N; i++) {
        w.key[i] = sl_prng_range(&rng, 0, 50);
        sl_heap_fix(&h, i);
    }
    for (uint32_t i = 0; i < N; i++) {
        uint32_t item = sl_heap_pop(&h);
        if (last != UINT32_MAX)
            assert_true(less(&w, last, item));
        last = item;
    }
    assert_true(sl_heap_empty(&h));
    sl_heap_done(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_sorts),
    };
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
