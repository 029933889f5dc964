/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words, each once.
 */
#include "core/base/collection/wordset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_empty(void **state) {
    struct sl_wordset s = {0};

    (void)state;
    assert_false(sl_wordset_has(&s, ""));
    assert_int_equal(sl_wordset_find(&s, "a"), SL_MAP_NONE);
    assert_true(sl_wordset_add(&s, ""));
    assert_false(sl_wordset_add(&s, ""));
    assert_true(sl_wordset_has(&s, ""));
    sl_wordset_done(&s);
    assert_false(sl_wordset_has(&s, ""));
    sl_wordset_done(&s);
}

static void test_many(void **state) {
    enum { MANY = 5000 };
    static char words[MANY][8];
    struct sl_wordset s = {0};

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        (void)snprintf(words[i], sizeof words[i], "w%u", i);
        assert_true(sl_wordset_add(&s, words[i]));
    }
    for (uint32_t i = 0; i < MANY; i++) {
        char same[8];
        memcpy(same, words[i], sizeof same);
        assert_int_equal(sl_wordset_find(&s, same), i); /* in the order in which they came */
        assert_false(sl_wordset_add(&s, same));
        assert_ptr_equal(s.words.v[i], words[i]);
    }
    assert_int_equal(s.words.n, MANY);
    assert_false(sl_wordset_has(&s, "w5000"));
    sl_wordset_done(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_empty), cmocka_unit_test(test_many)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
