/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator: known numbers, bounds, and no gross bias.
 */
#include "core/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* xoshiro256** over splitmix64 from 0, as in the authors' reference code. */
static void test_fixed(void **state) {
    struct sl_prng p;

    (void)state;
    sl_prng_init(&p, 0);
    assert_true(sl_prng_next(&p) == UINT64_C(0x99ec5f36cb75f2b4));
    assert_true(sl_prng_next(&p) == UINT64_C(0xbf6e1f784956452a));
    assert_true(sl_prng_next(&p) == UINT64_C(0x1a5f849d4933e6e0));
}

static void test_bounds(void **state) {
    struct sl_prng p;
    uint32_t seen[6] = {0};

    (void)state;
    sl_prng_init(&p, 1);
    for (int i = 0; i < 60000; i++) {
        uint64_t v = sl_prng_below(&p, 6);
        assert_true(v < 6);
        seen[v]++;
        assert_int_equal(sl_prng_below(&p, 1), 0);
        int64_t r = sl_prng_range(&p, -3, 3);
        assert_true(r >= -3 && r <= 3);
        r = sl_prng_range(&p, INT64_MAX - 1, INT64_MAX);
        assert_true(r >= INT64_MAX - 1);
        assert_int_equal(sl_prng_range(&p, INT64_MIN, INT64_MIN), INT64_MIN);
        (void)sl_prng_range(&p, INT64_MIN, INT64_MAX);
        assert_true(sl_prng_below(&p, UINT64_MAX) < UINT64_MAX);
        assert_true(sl_prng_below(&p, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
        assert_true(sl_prng_one_in(&p, 1));
    }
    for (int i = 0; i < 6; i++)
        assert_true(seen[i] > 9500 && seen[i] < 10500);
}

static void test_seeds(void **state) {
    struct sl_prng a, b;

    (void)state;
    sl_prng_init(&a, 5);
    sl_prng_init(&b, 5);
    for (int i = 0; i < 100; i++)
        assert_true(sl_prng_next(&a) == sl_prng_next(&b));
    sl_prng_init(&b, 6);
    assert_true(sl_prng_next(&a) != sl_prng_next(&b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests_name("prng", tests, NULL, NULL);
}
