/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selectors, taints and tolerations: tables of cases with the answers Kubernetes gives. Texts of
 * selectors are also read from blocks without a terminator, as they arrive from a request.
 */
#include "core/model/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct sl_label node[] = {
    {"zone", "a"},    {"cpus", "64"}, {"empty", ""}, {"example.com/gpu", "h100"},
    {"word", "many"}, {"low", "-5"},  {"in", "x"},
};
static const struct sl_labels labels = {node, SL_LEN(node)};

static void get_finds_by_exact_key(void **state) {
    (void)state;
    assert_string_equal(sl_labels_get(&labels, "zone"), "a");
    assert_string_equal(sl_labels_get(&labels, "empty"), "");
    assert_null(sl_labels_get(&labels, "Zone"));
    assert_null(sl_labels_get(&(struct sl_labels){0}, "zone"));
}

static int parse(const char *text, struct sl_arena *a, struct sl_selector *s, struct sl_err *err) {
    size_t len = strlen(text);
    char *exact = malloc(len > 0 ? len : 1); /* ASan sees a read past its end */
    assert_non_null(exact);
    for (size_t i = 0; i < len; i++)
        exact[i] = text[i];
    int r = sl_selector_parse(exact, len, a, s, err);
    free(exact);
    return r;
}

static void texts_match_as_kubectl_does(void **state) {
    static const struct {
        const char *text;
        bool matches;
    } cases[] = {
        {"", true},
        {"   ", true},
        {"zone=a", true},
        {"zone==a", true},
        {"zone = a", true},
        {" zone\t=\na ", true},
        {"zone=b", false},
        {"zone!=a", false},
        {"zone!=b", true},
        {"absent!=b", true},
        {"absent=b", false},
        {"zone", true},
        {"absent", false},
        {"!zone", false},
        {"! absent", true},
        {"empty=", true},
        {"empty==", true},
        {"empty!=", false},
        {"zone=", false},
        {"empty=,zone=a", true},
        {"zone in (a)", true},
        {"zone in (b,a)", true},
        {"zone in ( b , c )", false},
        {"zone in (b,)", false},
        {"empty in (b,)", true},
        {"empty in (,b)", true},
        {"empty in (,)", true},
        {"empty notin (,)", false},
        {"zone notin (a)", false},
        {"zone notin (b,c)", true},
        {"absent notin (a)", true},
        {"absent in (a)", false},
        {"zone in(a)", true},
        {"zone in (in,notin,a)", true},
        {"cpus>63", true},
        {"cpus > 64", false},
        {"cpus<65", true},
        {"cpus<64", false},
        {"word>1", false},
        {"absent<1", false},
        {"low<0", true},
        {"example.com/gpu=h100", true},
        {"example.com/gpu in (a100,h100),zone=a,!absent,cpus>2", true},
        {"example.com/gpu in (a100,h100),zone=a,absent,cpus>2", false},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_arena a;
        struct sl_selector s;
        struct sl_err err;
        sl_arena_init(&a, 1 << 20);
        if (parse(cases[i].text, &a, &s, &err) < 0)
            fail_msg("\"%s\": %s", cases[i].text, err.text);
        if (sl_selector_matches(&s, &labels) != cases[i].matches)
            fail_msg("\"%s\": expected %d", cases[i].text, cases[i].matches);
        sl_arena_done(&a);
    }
}

static void errors_name_what_was_expected(void **state) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"a=b,", "a label key after ','"},
        {",a=b", "a label key"},
        {"a,,b", "a label key after ','"},
        {"a=b c", "','"},
        {"a b", "one of = == != > < in notin"},
        {"a in", "'('"},
        {"a in b", "'('"},
        {"a in ()", "at least one value"},
        {"a in (b", "',' or ')'"},
        {"a in (b c)", "',' or ')'"},
        {"a in (b))", "','"},
        {"a in (b=c)", "',' or ')'"},
        {"a=(b)", "a value"},
        {"a===b", "a value"},
        {"!a=b", "','"},
        {"!", "a label key"},
        {"!!a", "a label key"},
        {"in=x", "a label key"},
        {"a>b", "a whole number after >"},
        {"a>", "a whole number after >"},
        {"a<-5", "a label value"},
        {"a<1.5", "a whole number after <"},
        {"-a", "a label key"},
        {"a/b/c", "a label key"},
        {"/a", "a label key"},
        {"a/", "a label key"},
        {"Upper.com/a", "a label key"},
        {"a..b/c", "a label key"},
        {"-a.b/c", "a label key"},
        {"a=-b", "a label value"},
        {"a=b\001", "a label value"},
        {"a0123456789012345678901234567890123456789012345678901234567890123", "a label key"},
        {"a=a0123456789012345678901234567890123456789012345678901234567890123", "a label value"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_arena a;
        struct sl_selector s;
        struct sl_err err;
        sl_arena_init(&a, 1 << 20);
        if (parse(cases[i].text, &a, &s, &err) != SL_EINVAL)
            fail_msg("\"%s\" was taken", cases[i].text);
        if (!strstr(err.text, cases[i].words))
            fail_msg("\"%s\": expected \"%s\" in: %s", cases[i].text, cases[i].words, err.text);
        sl_arena_done(&a);
    }
}

static void selectors_have_ceilings(void **state) {
    static char text[16 * SL_SELECTOR_MAX_VALUES];
    struct sl_selector s;
    struct sl_arena a;
    struct sl_err err;
    size_t n;

    (void)state;
    sl_arena_init(&a, 16 << 20);
    n = 0;
    for (int i = 0; i < SL_SELECTOR_MAX_RULES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%sa", i > 0 ? "," : "");
    assert_int_equal(sl_selector_parse(text, n, &a, &s, &err), 0);
    assert_int_equal(s.n, SL_SELECTOR_MAX_RULES);
    n += (size_t)snprintf(text + n, sizeof text - n, ",a");
    assert_int_equal(sl_selector_parse(text, n, &a, &s, &err), SL_ELIMIT);

    n = (size_t)snprintf(text, sizeof text, "a in (");
    for (int i = 1; i < SL_SELECTOR_MAX_VALUES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "b,");
    text[n] = ')';
    assert_int_equal(sl_selector_parse(text, n + 1, &a, &s, &err), 0);
    assert_int_equal(s.v[0].n_values, SL_SELECTOR_MAX_VALUES);
    n += (size_t)snprintf(text + n, sizeof text - n, ",)");
    assert_int_equal(sl_selector_parse(text, n, &a, &s, &err), SL_ELIMIT);
    sl_arena_done(&a);
}

static void rules_outside_the_grammar(void **state) {
    static const char *const huge[] = {"9223372036854775808"}, *const two[] = {"1", "2"};
    static const struct sl_label_rule bad[] = {
        {.key = "cpus", .op = SL_OP_GT, .values = huge, .n_values = 1},
        {.key = "cpus", .op = SL_OP_GT, .values = two, .n_values = 2},
        {.key = "cpus", .op = SL_OP_GT},
        {.key = "empty", .op = SL_OP_LT, .values = two, .n_values = 1},
        {.key = "cpus", .op = SL_OP_IN},
        {.key = "cpus", .op = (enum sl_label_op)99},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(bad); i++)
        assert_false(sl_label_rule_matches(&bad[i], &labels));
    assert_true(
        sl_label_rule_matches(&(struct sl_label_rule){.key = "cpus", .op = SL_OP_NOT_IN}, &labels));
    assert_false(sl_selector_matches(&(struct sl_selector){.nothing = true}, &labels));
    assert_true(sl_selector_matches(&(struct sl_selector){0}, &labels));
}

static void tolerations(void **state) {
    static const struct {
        struct sl_taint taint;
        struct sl_toleration toleration;
        bool tolerated;
    } cases[] = {
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"k", "v", false, SL_TAINT_NO_SCHEDULE}, true},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"k", "v", false, SL_TAINT_ANY}, true},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"k", "w", false, SL_TAINT_ANY}, false},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"k", "w", true, SL_TAINT_ANY}, true},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"k", "v", false, SL_TAINT_NO_EXECUTE}, false},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"l", "v", false, SL_TAINT_ANY}, false},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"l", NULL, true, SL_TAINT_ANY}, false},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"", "", true, SL_TAINT_ANY}, true},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {NULL, NULL, true, SL_TAINT_NO_EXECUTE}, false},
        {{"k", "v", SL_TAINT_NO_SCHEDULE}, {"", "v", false, SL_TAINT_ANY}, true},
        {{"k", NULL, SL_TAINT_NO_SCHEDULE}, {"k", "", false, SL_TAINT_ANY}, true},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        if (sl_taint_tolerated(&cases[i].taint, &cases[i].toleration, 1) != cases[i].tolerated)
            fail_msg("case %zu: expected %d", i, cases[i].tolerated);
    assert_false(sl_taint_tolerated(&cases[0].taint, NULL, 0));
    struct sl_toleration both[] = {cases[2].toleration, cases[0].toleration};
    assert_true(sl_taint_tolerated(&cases[0].taint, both, 2));
}

static void effects_have_names(void **state) {
    static const char *const names[] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute"};
    struct sl_err err;
    enum sl_taint_effect e;

    (void)state;
    for (size_t i = 0; i < SL_LEN(names); i++) {
        assert_int_equal(sl_taint_effect_parse(names[i], &e, &err), 0);
        assert_int_equal(e, i);
        assert_string_equal(sl_taint_effect_name(e), names[i]);
    }
    assert_int_equal(sl_taint_effect_parse("noschedule", &e, &err), SL_EINVAL);
    assert_string_equal(err.text, "expected NoSchedule, PreferNoSchedule or NoExecute, got "
                                  "\"noschedule\"");
    assert_string_equal(sl_taint_effect_name((enum sl_taint_effect)9), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(get_finds_by_exact_key),
        cmocka_unit_test(texts_match_as_kubectl_does),
        cmocka_unit_test(errors_name_what_was_expected),
        cmocka_unit_test(selectors_have_ceilings),
        cmocka_unit_test(rules_outside_the_grammar),
        cmocka_unit_test(tolerations),
        cmocka_unit_test(effects_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
