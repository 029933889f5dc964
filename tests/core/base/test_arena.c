/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena: alignment, no overlap, reuse, ceiling.
 */
#include "core/base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/prng.h"

static void test_no_overlap(void **state) {
    enum { N = 3000 };
    static struct {
        unsigned char *p;
        size_t n;
    } got[N];
    struct sl_arena a;
    struct sl_prng rng;

    (void)state;
    sl_prng_init(&rng, 5);
    sl_arena_init(&a, SIZE_MAX / 4);
    for (int round = 0; round < 3; round++) {
        size_t sum = 0;
        for (int i = 0; i < N; i++) {
            got[i].n = (size_t)sl_prng_below(&rng, sl_prng_one_in(&rng, 100) ? 600000 : 300);
            got[i].p = sl_arena_alloc(&a, got[i].n);
            assert_int_equal((uintptr_t)got[i].p % 16, 0);
            memset(got[i].p, i & 0xff, got[i].n);
            sum += got[i].n;
        }
        assert_true(a.used >= sum);
        for (int i = 0; i < N; i++)
            for (size_t j = 0; j < got[i].n; j++)
                if (got[i].p[j] != (i & 0xff))
                    fail_msg("allocation %d was overwritten", i);
        sl_arena_clear(&a);
        assert_int_equal(a.used, 0);
    }
    sl_arena_done(&a);
    assert_null(a.block);
    sl_arena_done(&a);
}

static void test_reuse(void **state) {
    struct sl_arena a;

    (void)state;
    sl_arena_init(&a, 4096);
    void *first = sl_arena_alloc(&a, 100);
    sl_arena_clear(&a);
    assert_ptr_equal(sl_arena_alloc(&a, 10), first); /* the block was kept */
    /* A cleared arena never grows: the same cycle fits the ceiling for ever. */
    for (int i = 0; i < 1000; i++) {
        sl_arena_clear(&a);
        (void)sl_arena_alloc(&a, 4096);
    }
    sl_arena_done(&a);
    sl_arena_init(&a, 100);
    sl_arena_clear(&a);
    sl_arena_done(&a);
}

static void test_words(void **state) {
    struct sl_arena a;

    (void)state;
    sl_arena_init(&a, 1 << 20);
    uint64_t *z = sl_arena_alloc0(&a, 100, sizeof *z);
    for (int i = 0; i < 100; i++)
        assert_int_equal(z[i], 0);
    assert_string_equal(sl_arena_strdup(&a, ""), "");
    assert_string_equal(sl_arena_strdup(&a, "queue"), "queue");
    assert_string_equal(sl_arena_strndup(&a, "queue", 3), "que");
    assert_string_equal(sl_arena_strndup(&a, "queue", 30), "queue");
    assert_string_equal(sl_arena_printf(&a, "%s-%d", "x", 42), "x-42");
    char big[5000];
    memset(big, 'y', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    assert_string_equal(sl_arena_printf(&a, "%s", big), big);
    assert_non_null(sl_arena_alloc(&a, 0));
    sl_arena_done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_overlap),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
