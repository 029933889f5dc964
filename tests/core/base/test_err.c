/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors in words: set, wrapped, cut.
 */
#include "core/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_set(void **state) {
    struct sl_err e;

    (void)state;
    assert_int_equal(sl_err_set(&e, SL_EINVAL, "queue \"%s\": %d", "a", 5), SL_EINVAL);
    assert_int_equal(e.code, SL_EINVAL);
    assert_string_equal(e.text, "queue \"a\": 5");
    assert_int_equal(sl_err_set(NULL, SL_EIO, "x"), SL_EIO);
    /* An argument may point into the error itself. */
    assert_int_equal(sl_err_set(&e, SL_EIO, "again: %s", e.text), SL_EIO);
    assert_string_equal(e.text, "again: queue \"a\": 5");
}

static void test_wrap(void **state) {
    struct sl_err e;

    (void)state;
    int r = sl_err_set(&e, SL_ENOENT, "no such flavor");
    assert_int_equal(sl_err_wrap(&e, r, "line %d", 7), SL_ENOENT);
    assert_string_equal(e.text, "line 7: no such flavor");
    assert_int_equal(sl_err_wrap(&e, r, "%s", "file.yaml"), SL_ENOENT);
    assert_string_equal(e.text, "file.yaml: line 7: no such flavor");
    assert_int_equal(e.code, SL_ENOENT);
    assert_int_equal(sl_err_wrap(NULL, SL_EIO, "x"), SL_EIO);
}

static void test_cut(void **state) {
    char big[1000];
    struct sl_err e;

    (void)state;
    memset(big, 'x', sizeof big);
    big[sizeof big - 1] = '\0';
    assert_int_equal(sl_err_set(&e, SL_EINVAL, "%s", big), SL_EINVAL);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sl_err_wrap(&e, SL_EINVAL, "context %d", i), SL_EINVAL);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    assert_int_equal(strncmp(e.text, "context 4: context 3: ", 22), 0);
    assert_int_equal(sl_err_wrap(&e, SL_EINVAL, "%s", big), SL_EINVAL);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);

    /* A cut never leaves half a character: the text below ends at, or just before, the limit. */
    static const char *const letters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x9a\xb0"};
    for (size_t k = 0; k < SL_LEN(letters); k++)
        for (size_t pad = 0; pad < 5; pad++) {
            size_t n = strlen(letters[k]), at = pad;
            memset(big, 'x', pad);
            for (; at + n < sizeof big; at += n)
                memcpy(big + at, letters[k], n);
            big[at] = '\0';
            (void)sl_err_set(&e, SL_EINVAL, "%s", big);
            size_t len = strlen(e.text);
            assert_true(len <= sizeof e.text - 1 && len + n > sizeof e.text - 1);
            assert_int_equal((len - pad) % n, 0);
        }
}

static void test_names(void **state) {
    (void)state;
    for (int a = SL_EMISMATCH; a <= SL_OK; a++) {
        assert_string_not_equal(sl_code_name(a), "unknown error");
        for (int b = SL_EMISMATCH; b < a; b++)
            assert_string_not_equal(sl_code_name(a), sl_code_name(b));
    }
    assert_string_equal(sl_code_name(SL_ENOENT), "not found");
    assert_string_equal(sl_code_name(-1000), "unknown error");
    assert_string_equal(sl_code_name(1), "unknown error");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
