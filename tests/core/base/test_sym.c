/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned names.
 */
#include "core/base/collection/sym.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"

static void test_names(void **state) {
    struct sl_syms t;
    char name[32];

    (void)state;
    sl_syms_init(&t);
    assert_int_equal(sl_sym_put(&t, NULL), 0);
    assert_int_equal(sl_sym_put(&t, ""), 0);
    assert_int_equal(sl_sym_find(&t, ""), 0);
    assert_int_equal(sl_sym_find(&t, NULL), 0);
    assert_string_equal(sl_sym_str(&t, 0), "");
    assert_int_equal(sl_sym_find(&t, "cpu"), SL_MAP_NONE);
    assert_int_equal(sl_sym_put(&t, "cpu"), 1); /* numbers in order of appearance */
    assert_int_equal(sl_sym_put(&t, "memory"), 2);
    assert_int_equal(sl_sym_put(&t, "cpu"), 1);
    assert_int_equal(sl_sym_find(&t, "memory"), 2);
    const char *kept = sl_sym_str(&t, 1);
    for (uint32_t i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "queue-%u", i);
        assert_int_equal(sl_sym_put(&t, name), i + 3);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "queue-%u", i);
        assert_int_equal(sl_sym_find(&t, name), i + 3);
        assert_string_equal(sl_sym_str(&t, i + 3), name);
    }
    assert_ptr_equal(sl_sym_str(&t, 1), kept); /* the text never moves */
    assert_string_equal(kept, "cpu");
    sl_syms_done(&t);
}

/* Names of all lengths around words, each found under the hash of every other one: a name is only
 * found if it is the one. */
static void test_collisions(void **state) {
    enum { LONGEST = 26 };
    struct sl_syms t;

    (void)state;
    for (size_t i = 1; i <= LONGEST; i++)
        for (size_t k = 1; k <= LONGEST; k++)
            for (int last = 'x'; last <= 'y'; last++) {
                char kept[LONGEST + 1] = {0}, *asked = sl_alloc0(k + 1, 1);
                memset(kept, 'x', i);
                memset(asked, 'x', k);
                asked[k - 1] = (char)last;
                sl_syms_init(&t);
                sl_sym y = sl_sym_put(&t, kept);
                sl_map_add(&t.by_hash, sl_hash_bytes(0, asked, k), y);
                bool same = i == k && last == 'x';
                assert_int_equal(sl_sym_find(&t, asked), same ? y : SL_MAP_NONE);
                assert_int_equal(sl_sym_put(&t, asked), same ? y : y + 1);
                assert_int_equal(sl_sym_find(&t, asked), same ? y : y + 1);
                assert_string_equal(sl_sym_str(&t, y), kept);
                sl_syms_done(&t);
                sl_freep(&asked);
            }
}

static void test_forgetting(void **state) {
    struct sl_syms t;
    char name[32];

    (void)state;
    sl_syms_init(&t);
    for (uint32_t i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "name-%u", i);
        (void)sl_sym_put(&t, name);
    }
    assert_true(sl_syms_due(&t));
    sl_sym kept = sl_sym_find(&t, "name-7"), gone = sl_sym_find(&t, "name-8");
    const char *text = sl_sym_str(&t, kept);
    sl_syms_begin(&t);
    sl_sym_hold(&t, kept);
    sl_syms_sweep(&t);
    assert_int_equal(t.n, 1);
    assert_int_equal(sl_sym_find(&t, "name-7"), kept);
    assert_ptr_equal(sl_sym_str(&t, kept), text); /* and its text has not moved */
    assert_int_equal(sl_sym_find(&t, "name-8"), SL_MAP_NONE);
    assert_null(t.names.v[gone]);
    for (uint32_t i = 0; i < 1999; i++) {
        snprintf(name, sizeof name, "other-%u", i);
        sl_sym y = sl_sym_put(&t, name);
        assert_true(SL_SYMS_STRICT ? y > 2000 : y <= 2000); /* numbers are given out again */
        assert_true(y != kept);
    }
    sl_syms_done(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_forgetting),
    };
    return cmocka_run_group_tests_name("sym", tests, NULL, NULL);
}
