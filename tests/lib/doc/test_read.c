/* SPDX-License-Identifier: Apache-2.0 */
/* Typed getters: what each takes, what it says about the rest, and that the first error is kept. */
#include "lib/doc/read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct sl_doc *doc;
    struct sl_arena arena;
    struct sl_err err;
    struct sl_read rd;
};

static void open_text(struct fixture *x, const char *text) {
    if (sl_doc_yaml("f.yaml", text, strlen(text), &x->doc, &x->err) < 0)
        fail_msg("%s", x->err.text);
    sl_arena_init(&x->arena, 1 << 20);
    x->err = (struct sl_err){0};
    x->rd = (struct sl_read){.file = "f.yaml", .arena = &x->arena, .err = &x->err};
}

static void close_text(struct fixture *x) {
    sl_doc_freep(&x->doc);
    sl_arena_done(&x->arena);
}

static void all_types(void **state) {
    struct fixture x;
    struct sl_doc_fields f;
    uint32_t n;

    (void)state;
    open_text(
        &x, "name: a\ncount: 3\non-hold: yes\nrun: 1m30s\nzero: 0\ncpu: 1500m\nhalf: 0.5\n"
            "many: 0x10\nbig: 18446744073709551616\nstop: Hold\nwhen: 2026-03-01T00:00:00.5+01:00\n"
            "list: [a, b]\nnone: ~\nkind: beta\nmap: {k: v}\n");
    sl_doc_fields_open(&f, &x.rd, &x.doc->roots[0], "a thing");
    assert_string_equal(sl_doc_field_str(&f, "name", NULL), "a");
    assert_string_equal(sl_doc_field_str(&f, "none", "otherwise"), "otherwise");
    assert_string_equal(sl_doc_field_str(&f, "absent", ""), "");
    assert_int_equal(sl_doc_field_int(&f, "count", 1, 1, 3), 3);
    assert_int_equal(sl_doc_field_int(&f, "absent2", 7, 0, 3), 7);
    assert_true(sl_doc_field_bool(&f, "on-hold", false));
    assert_true(sl_doc_field_bool(&f, "absent3", true));
    assert_true(sl_doc_field_span(&f, "run", 0) == 90 * SL_SEC);
    assert_true(sl_doc_field_span(&f, "zero", 5) == 0);
    assert_true(sl_doc_field_span(&f, "absent4", 5) == 5);
    assert_true(sl_doc_field_quantity(&f, "cpu", 0) == (sl_quantity)1500 * 1000000);
    assert_true(sl_doc_field_quantity(&f, "half", 0) == SL_NANO / 2);
    assert_true(sl_doc_field_quantity(&f, "many", 0) == (sl_quantity)16 * SL_NANO);
    assert_true(sl_doc_field_quantity(&f, "big", 0) == SL_QUANTITY_MAX);
    assert_true(sl_doc_field_quantity(&f, "absent5", 3) == 3);
    assert_int_equal(sl_doc_field_word(&f, "stop", SL_VOCAB_STOP, 0), SL_STOP_HOLD);
    assert_int_equal(sl_doc_field_word(&f, "absent6", SL_VOCAB_STOP, 2), 2);
    assert_true(sl_doc_field_time(&f, "when", 0) == 1772319600 * SL_SEC + SL_SEC / 2);
    const char *const *strs = sl_doc_field_strs(&f, "list", 2, &n);
    assert_int_equal(n, 2);
    assert_string_equal(strs[1], "b");
    assert_null(sl_doc_field_list(&f, "absent7", 5, &n));
    assert_int_equal(n, 0);
    static const char *const kinds[] = {"alpha", "beta", NULL};
    assert_int_equal(sl_read_choice(&x.rd, sl_doc_field_need(&f, "kind"), "kind", kinds), 1);
    sl_doc_field_skip(&f, "map");
    sl_doc_fields_close(&f);
    assert_int_equal(x.rd.code, 0);

    struct sl_doc_fields none;
    sl_doc_fields_open(&none, &x.rd, NULL, "nothing");
    assert_int_equal(sl_doc_field_int(&none, "x", 4, 0, 9), 4);
    sl_doc_fields_close(&none);
    assert_int_equal(x.rd.code, 0);
    close_text(&x);
}

enum type { STR, NEED, BOOL, INT, COUNT, ANY, SPAN, TIME, QUANTITY, WORD, CHOICE, LIST, STRS, MAP };

static void errors(void **state) {
    static const struct {
        enum type type;
        const char *text, *want;
    } cases[] = {
        {STR, "v: 5", "f.yaml:1: v: expected a string (put it in quotes), got 5"},
        {STR, "v: yes", "f.yaml:1: v: expected a string (put it in quotes), got yes"},
        {STR, "v: 1.5", "f.yaml:1: v: expected a string (put it in quotes), got 1.5"},
        {STR, "v: []", "f.yaml:1: v: expected a string, got a list"},
        {STR, "v: {}", "f.yaml:1: v: expected a string, got a map"},
        {NEED, "w: 1", "f.yaml:1: expected the field \"v\" in a thing"},
        {NEED, "w: 1\nv: ~", "f.yaml:1: expected the field \"v\" in a thing"},
        {BOOL, "\nv: 'yes'", "f.yaml:2: v: expected true or false, got \"yes\""},
        {INT, "v: 11", "f.yaml:1: v: expected a whole number from -1 to 10, got 11"},
        {INT, "v: -2", "f.yaml:1: v: expected a whole number from -1 to 10, got -2"},
        {INT, "v: 1.5", "f.yaml:1: v: expected a whole number from -1 to 10, got 1.5"},
        {INT, "v: '1'", "f.yaml:1: v: expected a whole number from -1 to 10, got \"1\""},
        {COUNT, "v: 0", "f.yaml:1: v: expected a whole number from 1 on, got 0"},
        {ANY, "v: x", "f.yaml:1: v: expected a whole number, got \"x\""},
        {SPAN, "v: fast", "f.yaml:1: v: expected a duration such as 250ms, got \"fast\""},
        {SPAN, "v: 10", "f.yaml:1: v: expected a duration such as 250ms, got 10"},
        {TIME, "v: 2026-02-29T00:00:00Z",
         "f.yaml:1: v: expected a time such as 2026-01-31T12:00:00Z, got \"2026-02-29T00:00:00Z\""},
        {QUANTITY, "v: 4Gb",
         "f.yaml:1: v: expected a quantity such as 500m, 2 or 4Gi, got \"4Gb\""},
        {QUANTITY, "v: .inf", "f.yaml:1: v: expected a quantity such as 500m, 2 or 4Gi, got .inf"},
        {QUANTITY, "v: ''", "f.yaml:1: v: expected a quantity such as 500m, 2 or 4Gi, got \"\""},
        {QUANTITY, "v: []", "f.yaml:1: v: expected a quantity such as 500m, 2 or 4Gi, got a list"},
        {WORD, "v: hold", "f.yaml:1: v: expected None, Hold or HoldAndDrain, got \"hold\""},
        {WORD, "v: 3", "f.yaml:1: v: expected None, Hold or HoldAndDrain, got \"3\""},
        {CHOICE, "v: x", "f.yaml:1: v: expected a, b or c, got \"x\""},
        {LIST, "v: x", "f.yaml:1: v: expected a list, got \"x\""},
        {LIST, "v: [1, 2, 3]", "f.yaml:1: v: expected at most 2 items, got 3"},
        {STRS, "v:\n- a\n- 1", "f.yaml:3: v: expected a string (put it in quotes), got 1"},
        {MAP, "v:\n  - x", "f.yaml:2: expected a part (a map), got a list"},
        {STR, "v: x\nother: 1", "f.yaml:2: unknown field \"other\" in a thing"},
        {STR, "v: x\nV: 1", "f.yaml:2: unknown field \"V\" in a thing; did you mean \"v\"?"},
        {ANY, "v: 0123456789012345678901234567890123456789012345678901234567890123456789x",
         "f.yaml:1: v: expected a whole number, got "
         "\"012345678901234567890123456789012345678901234567890123456789...\""},
    };
    static const char *const words[] = {"a", "b", "c", NULL};

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fixture x;
        struct sl_doc_fields f, part;
        uint32_t n;

        open_text(&x, cases[i].text);
        sl_doc_fields_open(&f, &x.rd, &x.doc->roots[0], "a thing");
        const struct sl_doc_node *v =
            cases[i].type == NEED ? sl_doc_field_need(&f, "v") : sl_doc_field(&f, "v");
        switch (cases[i].type) {
        case STR:
            (void)sl_read_str(&x.rd, v, "v");
            break;
        case NEED:
            assert_null(v);
            break;
        case BOOL:
            assert_false(sl_read_bool(&x.rd, v, "v"));
            break;
        case INT:
            assert_int_equal(sl_read_int(&x.rd, v, "v", -1, 10), 0);
            break;
        case COUNT:
            assert_int_equal(sl_read_int(&x.rd, v, "v", 1, INT64_MAX), 1);
            break;
        case ANY:
            (void)sl_read_int(&x.rd, v, "v", INT64_MIN, INT64_MAX);
            break;
        case SPAN:
            assert_int_equal(sl_read_span(&x.rd, v, "v"), 0);
            break;
        case TIME:
            assert_int_equal(sl_read_time(&x.rd, v, "v"), 0);
            break;
        case QUANTITY:
            assert_true(sl_read_quantity(&x.rd, v, "v") == 0);
            break;
        case WORD:
            assert_int_equal(sl_read_word(&x.rd, v, "v", SL_VOCAB_STOP), 0);
            break;
        case CHOICE:
            assert_int_equal(sl_read_choice(&x.rd, v, "v", words), 0);
            break;
        case LIST:
            assert_null(sl_read_list(&x.rd, v, "v", 2, &n));
            break;
        case STRS:
            assert_string_equal(sl_read_strs(&x.rd, v, "v", 2, &n)[1], "");
            break;
        case MAP:
            sl_doc_fields_open(&part, &x.rd, v, "a part");
            assert_null(sl_doc_field(&part, "x"));
            sl_doc_fields_close(&part);
            break;
        }
        sl_doc_fields_close(&f);
        assert_int_equal(x.rd.code, SL_EINVAL);
        if (strncmp(x.err.text, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("%s\nexpected %s\ngot      %s", cases[i].text, cases[i].want, x.err.text);
        close_text(&x);
    }
}

static void the_first_error_is_kept(void **state) {
    struct fixture x;

    (void)state;
    open_text(&x, "a: 1");
    sl_read_fail(&x.rd, 3, "first %d", 1);
    sl_read_fail(&x.rd, 4, "second");
    assert_string_equal(x.err.text, "f.yaml:3: first 1");
    close_text(&x);
}

static void times(void **state) {
    static const struct {
        const char *text;
        int64_t seconds;
        bool good;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0, true},
        {"1970-01-01t00:00:01z", 1, true},
        {"1969-12-31T23:59:59Z", -1, true},
        {"2000-02-29T12:00:00Z", 951825600, true},
        {"1900-02-28T00:00:00Z", -2203977600, true},
        {"1900-02-29T00:00:00Z", 0, false},
        {"2024-01-01T00:00:00-02:30", 1704076200, true},
        {"2024-13-01T00:00:00Z", 0, false},
        {"2024-01-32T00:00:00Z", 0, false},
        {"2024-01-01T24:00:00Z", 0, false},
        {"2024-01-01 00:00:00Z", 0, false},
        {"2024-01-01T00:00:00", 0, false},
        {"2024-01-01T00:00:00.Z", 0, false},
        {"2024-01-01T00:00:00Zx", 0, false},
        {"2024-01-01T00:00:00+1:00", 0, false},
        {"9999-01-01T00:00:00Z", 0, false},
        {"24-01-01T00:00:00Z", 0, false},
        {"", 0, false},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_err err;
        struct sl_read rd = {.file = "f", .err = &err};
        struct sl_doc_node n = {
            .kind = SL_DOC_NODE_STR, .text = cases[i].text, .n = (uint32_t)strlen(cases[i].text)};
        sl_time t = sl_read_time(&rd, &n, "t");
        if ((rd.code == 0) != cases[i].good || t != cases[i].seconds * SL_SEC)
            fail_msg("%s: %lld", cases[i].text, (long long)t);
    }
}

static void nearest(void **state) {
    static const char *const fields[] = {
        "name",       "nominalQuota", "borrowingLimit",  "lendingLimit",
        "cohortName", "stopPolicy",   "coveredResources"};
    static const struct {
        const char *word, *want;
    } cases[] = {
        {"nmae", "name"},
        {"Name", "name"},
        {"nominalQouta", "nominalQuota"},
        {"nominalquota", "nominalQuota"},
        {"cohort", "cohortName"},
        {"borowingLimits", "borrowingLimit"},
        {"lendingLimitBytes", "lendingLimit"},
        {"stopPolicies", "stopPolicy"},
        {"x", NULL},
        {"", NULL},
        {"completelyDifferent", NULL},
        {"a012345678901234567890123456789012345678901234567890123456789012345", NULL},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        const char *got = sl_read_nearest(cases[i].word, fields, SL_LEN(fields));
        if ((got == NULL) != (cases[i].want == NULL) || (got && strcmp(got, cases[i].want) != 0))
            fail_msg("%s: expected %s, got %s", cases[i].word,
                     cases[i].want ? cases[i].want : "none", got ? got : "none");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types),
        cmocka_unit_test(errors),
        cmocka_unit_test(the_first_error_is_kept),
        cmocka_unit_test(times),
        cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
