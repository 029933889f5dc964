/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes' syntax rules, and how errors and paths are printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kube/types/syntax.h"
#include "lib/json/json.h"

#define S63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define S253                                                                                       \
    S63 "." S63 "." S63 "."                                                                        \
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

#define KEY_NAME                                                                                   \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

struct word {
    const char *s;
    const char *faults[3];
};

static void check_words(const struct word *words, size_t n,
                        struct sl_syntax_errors (*syntax)(const char *, size_t)) {
    for (size_t i = 0; i < n; i++) {
        struct sl_syntax_errors f = syntax(words[i].s, strlen(words[i].s));
        for (uint32_t k = 0; k < SL_LEN(words[i].faults); k++) {
            const char *want = words[i].faults[k], *got = k < f.n ? f.v[k] : NULL;
            if ((want == NULL) != (got == NULL) || (want && strcmp(want, got) != 0))
                fail_msg("%s: fault %u is %s", words[i].s, k, got ? got : "not there");
        }
    }
}

static void names_of_labels(void **state) {
    static const struct word words[] = {
        {"a", {0}},
        {"A-b_c.9", {0}},
        {"nvidia.com/gpu", {0}},
        {S253 "/" S63, {0}},
        {"", {"name part must be non-empty", KEY_NAME}},
        {"a/", {"name part must be non-empty", KEY_NAME}},
        {"/a", {"prefix part must be non-empty"}},
        {"-a", {KEY_NAME}},
        {"a b", {KEY_NAME}},
        {"a.", {KEY_NAME}},
        {S63 "a", {"name part must be no more than 63 bytes"}},
        {"Example.com/a", {"prefix part " SUBDOMAIN}},
        {"a..b/c", {"prefix part " SUBDOMAIN}},
        {"a-.b/c", {"prefix part " SUBDOMAIN}},
        {"a" S253 "/c", {"prefix part must be no more than 253 bytes"}},
        {"@foo", {KEY_NAME}},
        {"a/b/c",
         {"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must "
          "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
          "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') "
          "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"}},
    };

    (void)state;
    check_words(words, SL_LEN(words), sl_syntax_label_key);
    assert_int_equal(sl_syntax_label_key("a\0b", 3).n, 1);
}

static void values_of_labels(void **state) {
    static const char wrong[] =
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    const struct word words[] = {
        {"", {0}},
        {"a_b-C.9", {0}},
        {"a b", {wrong}},
        {"_a", {wrong}},
        {"@" S63, {"must be no more than 63 bytes", wrong}},
    };

    (void)state;
    check_words(words, SL_LEN(words), sl_syntax_label_value);
}

static void subdomains(void **state) {
    static const struct word words[] = {
        {"a", {0}},
        {"a.b-c.9", {0}},
        {S253, {0}},
        {"", {SUBDOMAIN}},
        {".", {SUBDOMAIN}},
        {"a.", {SUBDOMAIN}},
        {".a", {SUBDOMAIN}},
        {"a..b", {SUBDOMAIN}},
        {"-a", {SUBDOMAIN}},
        {"a-", {SUBDOMAIN}},
        {"a-.b", {SUBDOMAIN}},
        {"a.-b", {SUBDOMAIN}},
        {"A", {SUBDOMAIN}},
        {"a" S253, {"must be no more than 253 characters"}},
    };

    (void)state;
    check_words(words, SL_LEN(words), sl_syntax_subdomain);
}

/* ---- errors ---- */

struct list {
    struct sl_arena arena;
    struct sl_field_errs errs;
    struct sl_buf text;
};

static int setup(void **state) {
    struct list *l = calloc(1, sizeof(*l));

    assert_non_null(l);
    sl_arena_init(&l->arena, (size_t)64 << 20);
    l->errs.arena = &l->arena;
    sl_buf_init(&l->text, (size_t)64 << 20);
    *state = l;
    return 0;
}

static int teardown(void **state) {
    struct list *l = *state;

    sl_buf_done(&l->text);
    sl_arena_done(&l->arena);
    free(l);
    return 0;
}

static const char *printed(struct list *l) {
    sl_buf_clear(&l->text);
    sl_field_errs_print(&l->errs, &l->text);
    return sl_buf_str(&l->text);
}

static void no_error_prints_nothing(void **state) {
    assert_string_equal(printed(*state), "");
}

static void errors_print_as_in_kubernetes(void **state) {
    static const char *const words[] = {"a", "b\"c"};
    struct list *l = *state;
    struct sl_field_errs *e = &l->errs;
    const struct sl_path *spec = SL_PATH(NULL, "spec");
    const struct sl_path *item = SL_PATH_AT(SL_PATH(spec, "list"), 3);
    yyjson_doc *doc = yyjson_read("{\"a\":[1,\"x\"]}", 13, 0);

    sl_field_invalid(e, SL_PATH_KEY(item, "k/1"), sl_field_value_str("a\"\n\x01"), "must be %d", 7);
    assert_string_equal(printed(l),
                        "spec.list[3][k/1]: Invalid value: \"a\\\"\\n\\x01\": must be 7");
    sl_field_invalid(e, spec, sl_field_value_int(-3), "%s", "");
    sl_field_invalid(e, spec, sl_field_value_json(yyjson_doc_get_root(doc)), "no");
    sl_field_invalid(e, spec, sl_field_value_json(NULL), "no");
    sl_field_duplicate(e, spec, sl_field_value_str("x"), "");
    sl_field_duplicate(e, spec, sl_field_value_str("x"), "");
    sl_field_duplicate(e, spec, sl_field_value_str("x"), "twice");
    sl_field_required(e, spec, "");
    sl_field_required(e, spec, "say it");
    sl_field_forbidden(e, spec, "not %s", "now");
    sl_field_not_found(e, spec, sl_field_value_str("x"));
    sl_field_unsupported(e, spec, sl_field_value_str("x"), words, SL_LEN(words));
    sl_field_unsupported(e, spec, sl_field_value_str("x"), NULL, 0);
    sl_field_too_long(e, spec, 63);
    sl_field_too_many(e, spec, 3, 1);
    assert_string_equal(printed(l),
                        "[spec.list[3][k/1]: Invalid value: \"a\\\"\\n\\x01\": must be 7, "
                        "spec: Invalid value: -3, "
                        "spec: Invalid value: {\"a\":[1,\"x\"]}: no, "
                        "spec: Invalid value: null: no, "
                        "spec: Duplicate value: \"x\", "
                        "spec: Duplicate value: \"x\": twice, "
                        "spec: Required value, "
                        "spec: Required value: say it, "
                        "spec: Forbidden: not now, "
                        "spec: Not found: \"x\", "
                        "spec: Unsupported value: \"x\": supported values: \"a\", \"b\\\"c\", "
                        "spec: Unsupported value: \"x\", "
                        "spec: Too long: may not be more than 63 bytes, "
                        "spec: Too many: 3: must have at most 1 item]");
    yyjson_doc_free(doc);
}

static void errors_have_ceilings(void **state) {
    struct list *l = *state;
    char *long_text = malloc(100001);

    assert_non_null(long_text);
    memset(long_text, 'x', 100000);
    long_text[100000] = '\0';
    for (uint32_t i = 0; i < SL_FIELD_ERRS_MAX + 5; i++)
        sl_field_invalid(&l->errs, SL_PATH_AT(NULL, i), sl_field_value_str(long_text), "%s",
                         long_text);
    free(long_text);
    assert_int_equal(l->errs.n, SL_FIELD_ERRS_MAX);
    assert_non_null(strstr(printed(l), ", and 5 more]"));
    assert_true(l->text.len < (size_t)3 * SL_FIELD_ERRS_MAX * SL_FIELD_VALUE_MAX_BYTES);
}

/* A cut text ends where a character ends. */
static void values_are_cut_between_characters(void **state) {
    struct list *l = *state;
    char *text = malloc(3 * SL_FIELD_VALUE_MAX_BYTES + 2);

    assert_non_null(text);
    text[0] = 'x';
    for (size_t i = 0; i < SL_FIELD_VALUE_MAX_BYTES; i++)
        memcpy(text + 1 + 3 * i, "\xe2\x89\xa4", 3); /* ≤ */
    text[3 * SL_FIELD_VALUE_MAX_BYTES + 1] = '\0';
    sl_field_invalid(&l->errs, SL_PATH(NULL, "a"), sl_field_value_str(text), "too long");
    free(text);
    const char *end = strstr(printed(l), "\": too long");
    assert_non_null(end);
    assert_memory_equal(end - 3, "\xe2\x89\xa4", 3);
}

static void domain_paths(void **state) {
    static const struct {
        const char *s, *message;
    } cases[] = {
        {"acme.io/foo", ""},
        {"a/b/c~!$&'()*+,;=:%", ""},
        {"", "a: Required value"},
        {"foo",
         "a: Invalid value: \"foo\": must be a domain-prefixed path (such as \"acme.io/foo\")"},
        {"/foo",
         "a: Invalid value: \"/foo\": must be a domain-prefixed path (such as \"acme.io/foo\")"},
        {"foo/",
         "a: Invalid value: \"foo/\": must be a domain-prefixed path (such as \"acme.io/foo\")"},
        {"A/b", "a: Invalid value: \"A\": " SUBDOMAIN},
        {"a/b c", "a: Invalid value: \"b c\": Invalid path (regex used for validation is "
                  "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"},
    };
    struct list *l = *state;

    for (size_t i = 0; i < SL_LEN(cases); i++) {
        l->errs.n = 0;
        sl_syntax_check_domain_path(&l->errs, SL_PATH(NULL, "a"), cases[i].s, strlen(cases[i].s));
        assert_string_equal(printed(l), cases[i].message);
    }
}

static void faults_of_a_subdomain_can_be_joined(void **state) {
    struct list *l = *state;

    sl_syntax_check_subdomain(&l->errs, SL_PATH(NULL, "a"), "A" S253, ",");
    assert_string_equal(printed(l), "a: Invalid value: \"A" S253
                                    "\": must be no more than 253 characters," SUBDOMAIN);
    sl_syntax_check_subdomain(&l->errs, SL_PATH(NULL, "b"), "A", NULL);
    assert_int_equal(l->errs.n, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_labels),
        cmocka_unit_test(values_of_labels),
        cmocka_unit_test(subdomains),
        cmocka_unit_test_setup_teardown(no_error_prints_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_print_as_in_kubernetes, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_have_ceilings, setup, teardown),
        cmocka_unit_test_setup_teardown(values_are_cut_between_characters, setup, teardown),
        cmocka_unit_test_setup_teardown(domain_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(faults_of_a_subdomain_can_be_joined, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
