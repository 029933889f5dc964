/*
 * Growing text: content, ceiling, JSON strings.
 */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_write(void **state) {
    struct sl_buf b;

    (void)state;
    sl_buf_init(&b, 1000);
    assert_string_equal(sl_buf_str(&b), "");
    sl_buf_puts(&b, "");
    sl_buf_puts(&b, "one ");
    sl_buf_putc(&b, '2');
    sl_buf_add(&b, " three and more", 6);
    sl_buf_printf(&b, " %d%s", 4, "");
    assert_string_equal(sl_buf_str(&b), "one 2 three 4");
    assert_int_equal(b.len, 13);
    for (int i = 0; i < 20; i++)
        sl_buf_printf(&b, " %030d", i); /* through several growths */
    assert_int_equal(b.len, 13 + 20 * 31);
    assert_string_equal(sl_buf_str(&b) + b.len - 5, "00019");
    assert_false(b.overflow);
    sl_buf_clear(&b);
    assert_string_equal(sl_buf_str(&b), "");
    sl_buf_done(&b);
    assert_string_equal(sl_buf_str(&b), "");
}

static void test_ceiling(void **state) {
    struct sl_buf b;

    (void)state;
    for (size_t ceiling = 0; ceiling < 12; ceiling++) {
        const char *all = "hello world!";
        sl_buf_init(&b, ceiling);
        sl_buf_puts(&b, "hello ");
        sl_buf_printf(&b, "%s!", "world");
        assert_true(b.overflow);
        assert_int_equal(b.len, ceiling);
        assert_int_equal(strlen(sl_buf_str(&b)), ceiling);
        assert_int_equal(strncmp(sl_buf_str(&b), all, ceiling), 0);
        sl_buf_putc(&b, 'x');
        sl_buf_json(&b, "x");
        assert_int_equal(b.len, ceiling);
        sl_buf_clear(&b);
        assert_false(b.overflow);
        sl_buf_done(&b);
    }
    sl_buf_init(&b, 12);
    sl_buf_puts(&b, "hello ");
    sl_buf_printf(&b, "%s!", "world");
    assert_false(b.overflow);
    assert_string_equal(sl_buf_str(&b), "hello world!");
    sl_buf_done(&b);
}

static void test_json(void **state) {
    static const struct {
        const char *in, *want;
    } t[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\r\t", "\"\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xb0", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\xb0\""},
#define R "\xef\xbf\xbd"
        {"\xff", "\"" R "\""},
        {"a\x80z", "\"a" R "z\""},
        {"\xc3", "\"" R "\""},       /* cut short */
        {"\xe2\x82", "\"" R R "\""}, /* cut short: one for each byte */
        {"\xe2\x82x", "\"" R R "x\""},
        {"\xc0\x80", "\"" R R "\""}, /* overlong NUL */
        {"\xc1\xbf", "\"" R R "\""},
        {"\xe0\x9f\xbf", "\"" R R R "\""},       /* overlong */
        {"\xed\xa0\x80", "\"" R R R "\""},       /* surrogate */
        {"\xf4\x90\x80\x80", "\"" R R R R "\""}, /* beyond U+10FFFF */
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},
        {"\xf0\x8f\xbf\xbf", "\"" R R R R "\""},
        {"\xf5", "\"" R "\""},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        struct sl_buf b;
        sl_buf_init(&b, 1000);
        sl_buf_json(&b, t[i].in);
        assert_string_equal(sl_buf_str(&b), t[i].want);
        sl_buf_done(&b);
    }
}

static void test_json_of_bytes(void **state) {
    static const char text[] = "a\"b\xc3\xa9z";
    static const struct {
        size_t n;
        const char *want;
    } t[] = {
        {0, "\"\""},
        {1, "\"a\""},
        {3, "\"a\\\"b\""},
        {4, "\"a\\\"b" R "\""}, /* cut short, though the rest of the letter follows */
        {5, "\"a\\\"b\xc3\xa9\""},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        struct sl_buf b;
        sl_buf_init(&b, 1000);
        sl_buf_json_n(&b, text, t[i].n);
        assert_string_equal(sl_buf_str(&b), t[i].want);
        sl_buf_done(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_of_bytes),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
