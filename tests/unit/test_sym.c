/*
 * Interned names.
 */
#include "base/sym.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("sym", tests, NULL, NULL);
}
