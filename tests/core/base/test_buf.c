/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing text: content, ceiling, JSON strings.
 */
#include "core/base/buf.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    assert_false(sl_buf_full(&b));
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
        assert_true(sl_buf_full(&b));
        assert_int_equal(b.len, ceiling);
        assert_int_equal(strlen(sl_buf_str(&b)), ceiling);
        assert_int_equal(strncmp(sl_buf_str(&b), all, ceiling), 0);
        sl_buf_putc(&b, 'x');
        sl_buf_json(&b, "x");
        assert_int_equal(b.len, ceiling);
        sl_buf_clear(&b);
        assert_false(sl_buf_full(&b));
        sl_buf_done(&b);
    }
    sl_buf_init(&b, 12);
    sl_buf_puts(&b, "hello ");
    sl_buf_printf(&b, "%s!", "world");
    assert_false(sl_buf_full(&b));
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

static int cuts;

static void count_cut(const char *where, size_t ceiling_bytes) {
    assert_non_null(strstr(where, "test_buf.c:"));
    assert_int_equal(ceiling_bytes, 4);
    cuts++;
}

static void fill(struct sl_buf *b) {
    sl_buf_puts(b, "more than four");
}

/* A check acknowledges it, texts for users may be cut, and a cut may be undone. */
static void test_cuts_that_are_seen(void **state) {
    struct sl_buf asked = SL_BUF(4), people = SL_BUF_SHORT(4), back = SL_BUF(4), early = SL_BUF(20);

    (void)state;
    sl_buf_observe(count_cut);
    fill(&asked);
    assert_true(sl_buf_full(&asked));
    fill(&asked); /* not whole before, not whole now */
    sl_buf_done(&asked);
    fill(&people);
    sl_buf_done(&people);
    fill(&back);
    sl_buf_truncate(&back, 2);
    assert_string_equal(back.s, "mo");
    assert_false(sl_buf_full(&back));
    sl_buf_done(&back);
    fill(&early);
    assert_false(sl_buf_full(&early));
    sl_buf_done(&early);
    assert_int_equal(cuts, 0);
    sl_buf_observe(NULL);
}

/* A cut that was not checked ends a sanitised build, and is reported to the observer of others. */
static void test_cuts_that_nobody_saw(void **state) {
    (void)state;
    for (int clear = 0; clear < 2; clear++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct sl_buf b = SL_BUF(4);
            (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
            sl_buf_observe(count_cut);
            assert_false(sl_buf_full(&b)); /* too early */
            fill(&b);
            if (clear)
                sl_buf_clear(&b);
            else
                sl_buf_done(&b);
            _exit(cuts);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_cuts_that_are_seen),
        cmocka_unit_test(test_cuts_that_nobody_saw),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_of_bytes),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
