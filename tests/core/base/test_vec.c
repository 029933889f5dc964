/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed growing arrays.
 */
#include "core/base/collection/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct item {
    uint64_t a;
    char b[17];
};

static void test_push_pop(void **state) {
    SL_VEC(struct item) v = {0};

    (void)state;
    for (uint32_t i = 0; i < 10000; i++) {
        struct item *p = sl_vec_push(&v);
        *p = (struct item){.a = i};
        assert_int_equal(v.n, i + 1);
        assert_true(v.cap >= v.n && v.cap < 2 * v.n + 4);
        assert_ptr_equal(p, &sl_vec_last(&v));
    }
    for (uint32_t i = 10000; i-- > 0;)
        assert_int_equal(sl_vec_pop(&v).a, i);
    assert_int_equal(v.n, 0);
    sl_vec_free(&v);
    assert_null(v.v);
    assert_int_equal(v.cap, 0);
    sl_vec_free(&v);
}

static void test_reserve(void **state) {
    SL_VEC(uint32_t) v = {0};

    (void)state;
    sl_vec_reserve(&v, 1000u);
    assert_int_equal(v.cap, 1000);
    uint32_t *before = v.v;
    for (uint32_t i = 0; i < 1000; i++)
        *sl_vec_push(&v) = i;
    assert_ptr_equal(v.v, before);
    sl_vec_reserve(&v, 10u);
    assert_ptr_equal(v.v, before);
    sl_vec_clear(&v);
    assert_int_equal(v.n, 0);
    assert_int_equal(v.cap, 1000);
    *sl_vec_push(&v) = 7;
    assert_int_equal(sl_vec_last(&v), 7);
    sl_vec_free(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_pop),
        cmocka_unit_test(test_reserve),
    };
    return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}
