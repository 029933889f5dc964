/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns: those of Go, those of Python by the table that Python itself is compared with
 * (compare), and that none of them takes for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../pace.h"
#include "lib/json/json.h"
#include "lib/pattern/pattern.h"

static const char *table;

static bool found(const struct sl_pattern *p, const char *text, size_t len) {
    return sl_pattern_matches(p, text, len, &(uint64_t){SL_PATTERN_BUDGET});
}

static void patterns_end(void **state) {
    struct sl_pattern *p;
    struct sl_err err;
    char text[40];

    (void)state;
    assert_int_equal(sl_pattern_new("^(a+)+$", &p, &err), 0);
    memset(text, 'a', sizeof(text));
    assert_true(found(p, text, 20));
    text[39] = 'b';
    assert_false(found(p, text, sizeof(text))); /* without taking for ever */
    assert_false(found(p, "a\n", 2));
    sl_pattern_free(p);
    assert_int_equal(sl_pattern_new("b", &p, &err), 0);
    assert_true(found(p, "abc", 3));
    assert_false(found(p, "", 0));
    sl_pattern_free(p);
    assert_int_equal(sl_pattern_new("(", &p, &err), SL_EINVAL);
}

static void matches_have_places(void **state) {
    struct sl_pattern *p;
    struct sl_err err;
    size_t from = 9, to = 9;

    (void)state;
    assert_int_equal(sl_pattern_new("a+", &p, &err), 0);
    assert_true(sl_pattern_find(p, "baab a", 6, 0, &from, &to, &(uint64_t){SL_PATTERN_BUDGET}));
    assert_int_equal(from, 1);
    assert_int_equal(to, 3);
    assert_true(sl_pattern_find(p, "baab a", 6, 3, &from, &to, &(uint64_t){SL_PATTERN_BUDGET}));
    assert_int_equal(from, 5);
    assert_int_equal(to, 6);
    assert_false(sl_pattern_find(p, "baab a", 6, 6, &from, &to, &(uint64_t){SL_PATTERN_BUDGET}));
    assert_int_equal(from, 5); /* untouched */
    sl_pattern_free(p);
}

/* The answer of one line, as the table has it. */
static const char *answer_of(struct sl_text pattern, struct sl_text text) {
    struct sl_pattern *p = NULL;
    struct sl_err err;

    if (sl_pattern_new_python(pattern, &p, &err) < 0)
        return *err.text ? "error" : "an error without a message";
    const char *answer = found(p, text.s, text.n) ? "true" : "false";
    sl_pattern_free(p);
    return answer;
}

static const char *expected_of(yyjson_val *v) {
    return yyjson_is_bool(v) ? (yyjson_get_bool(v) ? "true" : "false") : sl_json_text(v);
}

static void as_python_has_them(void **state) {
    FILE *f = fopen(table, "r");
    char *line = NULL;
    size_t cap = 0, rows = 0;

    (void)state;
    assert_non_null(f);
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0; rows++) {
        yyjson_doc *doc = sl_json_doc(line, (size_t)n);
        yyjson_val *row = yyjson_doc_get_root(doc);
        assert_int_equal(sl_json_size(row), 3);
        const char *is =
            answer_of(sl_json_view(yyjson_arr_get(row, 0)), sl_json_view(yyjson_arr_get(row, 1)));
        if (strcmp(is, expected_of(yyjson_arr_get(row, 2))) != 0)
            fail_msg("%s is %s", line, is);
        yyjson_doc_free(doc);
    }
    free(line);
    assert_int_equal(fclose(f), 0);
    assert_true(rows > 100);
}

/* Each takes exponential or at least cubic time where nothing bounds it. */
static void catastrophes_are_bounded(void **state) {
    static const char *const patterns[] = {
        "(a+)+$",      "(a|aa)+$",           "(a*)*b",
        "(a|a)*b",     "(.*a){12}b",         "^(([a-z])+.)+[A-Z]",
        "(?=(a+))*b",  "(?:a?){40}a{40}b",   "(a+)+\\1+b",
        "((a*)*)*b",   "(?i)(a|A|aA)*?\\Z1", "(\\w+\\s?)*!",
        ".*.*.*.*.*b", "(?<!a)(a+)*b",
    };
    char text[1024];

    (void)state;
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < SL_LEN(patterns); i++) {
        uint64_t budget = SL_PATTERN_BUDGET;
        struct sl_pattern *p;
        struct sl_err err;
        int64_t begun = pace_cpu_us();
        assert_int_equal(sl_pattern_new_python(sl_text_of(patterns[i]), &p, &err), 0);
        (void)sl_pattern_matches(p, text, sizeof(text), &budget);
        int64_t took = pace_cpu_us() - begun;
        if (took > 300000 * SLOWER)
            fail_msg("%s: %lld us", patterns[i], (long long)took);
        sl_pattern_free(p);
    }
}

/* So does what is large once it is compiled. */
static void compiling_is_bounded(void **state) {
    static const char *const pieces[] = {"(",     "(a",     "(?:",      "[a", "a|",
                                         "(?=a)", "\\w{9}", "a{65535}", "é",  "(?i:"};
    char text[SL_PATTERN_MAX_PYTHON + 1];

    (void)state;
    for (size_t i = 0; i < SL_LEN(pieces); i++) {
        struct sl_pattern *p = NULL;
        struct sl_err err;
        size_t n = 0;
        for (; n + strlen(pieces[i]) <= SL_PATTERN_MAX_PYTHON; n += strlen(pieces[i]))
            memcpy(text + n, pieces[i], strlen(pieces[i]));
        int64_t begun = pace_cpu_us();
        int r = sl_pattern_new_python((struct sl_text){text, n}, &p, &err);
        int64_t took = pace_cpu_us() - begun;
        if (r >= 0)
            sl_pattern_free(p);
        if (took > 50000 * SLOWER)
            fail_msg("%s: %lld us", pieces[i], (long long)took);
    }
    memset(text, 'a', sizeof(text));
    struct sl_pattern *p;
    struct sl_err err;
    assert_int_equal(sl_pattern_new_python((struct sl_text){text, sizeof(text)}, &p, &err),
                     SL_ELIMIT);
    assert_string_equal(err.text, "more than 4096 bytes");
}

static void errors_have_a_place(void **state) {
    static const struct {
        const char *pattern, *message;
    } cases[] = {
        {"podman-[", "unterminated character set at byte 8"},
        {"a**", "multiple repeat at byte 2"},
        {"(a", "missing ), unterminated subpattern at byte 2"},
        {"\\N{DIGIT ONE}", "\\N{NAME} is not supported, use \\u at byte 2"},
        {"a{70000}", "error parsing regexp: number too big in {} quantifier"},
        {"a\xff", "no UTF-8 at byte 1"},
        {"[\xc3]", "no UTF-8 at byte 1"},
        {"\xed\xa0\x80", "error parsing regexp: disallowed Unicode code point (>= 0xd800 && <= "
                         "0xdfff)"},
    };
    struct sl_pattern *p;
    struct sl_err err;

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        assert_int_equal(sl_pattern_new_python(sl_text_of(cases[i].pattern), &p, &err), SL_EINVAL);
        assert_string_equal(err.text, cases[i].message);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_end),         cmocka_unit_test(matches_have_places),
        cmocka_unit_test(as_python_has_them),   cmocka_unit_test(catastrophes_are_bounded),
        cmocka_unit_test(compiling_is_bounded), cmocka_unit_test(errors_have_a_place),
    };
    table = argc > 1 ? argv[1] : "tests/lib/pattern/python.jsonl";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
