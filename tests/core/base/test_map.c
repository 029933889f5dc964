/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash map against a plain list of pairs.
 */
#include "core/base/collection/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../seed_key.h"
#include "core/base/prng.h"

static void test_empty(void **state) {
    struct sl_map m = {0};
    uint32_t c = 77;

    (void)state;
    assert_int_equal(sl_map_get(&m, 5), SL_MAP_NONE);
    assert_int_equal(sl_map_first(&m, 5, &c), SL_MAP_NONE);
    assert_int_equal(sl_map_next(&m, 5, &c), SL_MAP_NONE);
    assert_false(sl_map_del(&m, 5, 1));
    sl_map_add(&m, 5, 1);
    assert_int_equal(sl_map_get(&m, 5), 1);
    assert_int_equal(sl_map_get(&m, 6), SL_MAP_NONE);
    assert_false(sl_map_del(&m, 5, 2));
    assert_false(sl_map_del(&m, 5, SL_MAP_NONE));
    assert_true(sl_map_del(&m, 5, 1));
    assert_false(sl_map_del(&m, 5, 1));
    assert_int_equal(sl_map_get(&m, 5), SL_MAP_NONE);
    assert_int_equal(m.n, 0);
    sl_map_done(&m);
    assert_int_equal(sl_map_get(&m, 5), SL_MAP_NONE);
    sl_map_done(&m);
}

struct pair {
    uint64_t key;
    uint32_t value;
};

/* All values under the key, each once, in the order in which they were added. */
static void assert_under_key(const struct sl_map *m, uint64_t key, const struct pair *v,
                             uint32_t n) {
    uint32_t c, x = sl_map_first(m, key, &c);

    for (uint32_t i = 0; i < n; i++)
        if (v[i].key == key) {
            assert_int_equal(x, v[i].value);
            x = sl_map_next(m, key, &c);
        }
    assert_int_equal(x, SL_MAP_NONE);
    assert_int_equal(sl_map_next(m, key, &c), SL_MAP_NONE); /* asking again is harmless */
}

static void test_model(void **state) {
    /* How many different keys, and their shape: from one for all to all different. */
    static const struct {
        uint64_t keys, stride;
    } shapes[] = {{1, 1},    {3, 1},          {50, UINT64_C(1) << 32}, {50, UINT64_C(1) << 61},
                  {5000, 1}, {5000, 1 << 20}, {UINT64_MAX, 1},         {50, 8}};

    (void)state;
    for (uint64_t seed = 0; seed < 3 * SL_LEN(shapes); seed++) {
        const uint64_t keys = shapes[seed % SL_LEN(shapes)].keys,
                       stride = shapes[seed % SL_LEN(shapes)].stride;
        static struct pair v[600];
        struct sl_map m = {0};
        struct sl_prng rng;
        uint32_t n = 0;

        seed_key(seed);
        sl_prng_init(&rng, seed);
        for (uint32_t step = 0; step < 4000; step++) {
            uint64_t key = sl_prng_below(&rng, keys) * stride;
            bool grow = step / 1000 % 2 == 0 ? !sl_prng_one_in(&rng, 3) : sl_prng_one_in(&rng, 3);
            if (n == 0 || (grow && n < SL_LEN(v))) {
                v[n++] = (struct pair){key, step};
                sl_map_add(&m, key, step);
            } else {
                uint32_t i = (uint32_t)sl_prng_below(&rng, n);
                assert_true(sl_map_del(&m, v[i].key, v[i].value));
                assert_false(sl_map_del(&m, v[i].key, v[i].value));
                memmove(&v[i], &v[i + 1], (--n - i) * sizeof *v);
            }
            assert_int_equal(m.n, n);
            assert_under_key(&m, key, v, n);
            if (n > 0)
                assert_under_key(&m, v[sl_prng_below(&rng, n)].key, v, n);
        }
        for (uint32_t i = 0; i < n; i++)
            assert_under_key(&m, v[i].key, v, n);
        sl_map_done(&m);
    }
}

static void test_many(void **state) {
    struct sl_map m = {0};

    (void)state;
    for (uint32_t i = 0; i < 300000; i++)
        sl_map_add(&m, i, i); /* plain numbers as keys are fine */
    for (uint32_t i = 0; i < 300000; i++)
        assert_int_equal(sl_map_get(&m, i), i);
    for (uint32_t i = 0; i < 300000; i += 2)
        assert_true(sl_map_del(&m, i, i));
    for (uint32_t i = 0; i < 300000; i++)
        assert_int_equal(sl_map_get(&m, i), i % 2 ? i : SL_MAP_NONE);
    sl_map_done(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
