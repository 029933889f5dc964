/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON within its ceilings, equality of meaning, and patches from differences.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/prng.h"
#include "lib/json/json.h"
#include "manager/admission/patch.h"

static yyjson_doc *read_json(const char *text) {
    yyjson_doc *doc = NULL;
    struct sl_err err;

    if (sl_json_read(text, strlen(text), &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static void nesting_and_width_have_ceilings(void **state) {
    char *text = malloc(200000);
    yyjson_doc *doc = NULL;
    struct sl_err err;

    (void)state;
    assert_non_null(text);
    for (size_t depth = SL_JSON_MAX_DEPTH; depth <= SL_JSON_MAX_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        int r = sl_json_read(text, 2 * depth, &doc, &err);
        assert_int_equal(r, depth > SL_JSON_MAX_DEPTH ? SL_ELIMIT : 0);
        sl_json_docp(&doc);
    }
    memset(text, '[', 100000);
    assert_int_equal(sl_json_read(text, 100000, &doc, &err), SL_ELIMIT);

    struct sl_buf wide;
    sl_buf_init(&wide, 1 << 20);
    for (uint32_t n = SL_JSON_MAX_FIELDS; n <= SL_JSON_MAX_FIELDS + 1; n++) {
        sl_buf_clear(&wide);
        for (uint32_t i = 0; i < n; i++)
            sl_buf_puts(&wide, i == 0 ? "{\"a\":1" : ",\"a\":1");
        sl_buf_putc(&wide, '}');
        assert_false(sl_buf_full(&wide));
        int r = sl_json_read(wide.s, wide.len, &doc, &err);
        assert_int_equal(r, n > SL_JSON_MAX_FIELDS ? SL_ELIMIT : 0);
        sl_json_docp(&doc);
    }
    sl_buf_done(&wide);
    assert_int_equal(sl_json_read("{\"[[[[\":1", 9, &doc, &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "at byte"));
    free(text);
}

/* Values are counted before they are read: two bytes can be one. */
static void values_have_a_ceiling(void **state) {
    static const struct {
        const char *text;
        size_t values;
    } cases[] = {{"0", 1}, {"[0,0,0]", 4}, {"{\"a\":1,\"b\":[{}]}", 6}, {"\"a,b:[{\\\",\"", 1}};
    yyjson_doc *doc = NULL;
    struct sl_err err;

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        const char *s = cases[i].text;
        size_t n = cases[i].values;
        assert_int_equal(sl_json_read_within(s, strlen(s), n + 1, &doc, &err), 0);
        assert_true(yyjson_doc_get_val_count(doc) <= n + 1);
        sl_json_docp(&doc);
        if (n > 1)
            assert_int_equal(sl_json_read_within(s, strlen(s), n - 1, &doc, &err), SL_ELIMIT);
    }
}

static void memory_has_a_budget(void **state) {
    struct sl_json_budget b = {.ceiling = 1000};
    yyjson_alc alc = sl_json_budget_alc(&b);
    char text[] = "[1,2,3]", many[1001];
    yyjson_read_err err;

    (void)state;
    yyjson_doc *doc = yyjson_read_opts(text, strlen(text), 0, &alc, &err);
    assert_non_null(doc);
    assert_true(b.used > 0 && b.used <= b.ceiling);
    yyjson_doc_free(doc);
    for (size_t i = 0; i < sizeof(many) - 1; i += 2)
        memcpy(many + i, i == 0 ? "[1" : ",1", 2);
    many[sizeof(many) - 1] = ']';
    b.used = 0;
    assert_null(yyjson_read_opts(many, sizeof(many), 0, &alc, &err));
    assert_int_equal(err.code, YYJSON_READ_ERROR_MEMORY_ALLOCATION);
    assert_int_equal(sl_json_line("a\nb\nc", 5, 0), 1);
    assert_int_equal(sl_json_line("a\nb\nc", 5, 2), 2);
    assert_int_equal(sl_json_line("a\nb\nc", 5, 99), 3);
    assert_null(sl_json_doc(NULL, 0));
    assert_null(sl_json_doc("{", 1));
    doc = sl_json_doc("{}", 2);
    assert_non_null(doc);
    yyjson_doc_free(doc);
}

/* In any order, and those that are not there. */
static void fields_are_found(void **state) {
    struct sl_prng rng;
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(1 << 20);

    (void)state;
    sl_prng_init(&rng, 7);
    for (size_t n = 0; n < 40; n++) {
        sl_buf_clear(&text);
        sl_buf_putc(&text, '{');
        for (size_t i = 0; i < n; i++)
            sl_buf_printf(&text, "%s\"%zu\":{\"v\":[%zu]}", i ? "," : "", i * 7 % 41, i * 7 % 41);
        sl_buf_putc(&text, '}');
        yyjson_doc *d = read_json(sl_buf_str(&text)),
                   *keys = read_json("[\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"10\",\"20\",\"30\","
                                     "\"39\",\"40\",\"x\",\"\"]");
        yyjson_val *object = yyjson_doc_get_root(d), *list = yyjson_doc_get_root(keys);
        _cleanup_(sl_json_fields_done) struct sl_json_fields f = sl_json_fields_of(object);
        for (int i = 0; i < 200; i++) {
            yyjson_val *key = yyjson_arr_get(list, sl_prng_below(&rng, yyjson_arr_size(list)));
            assert_ptr_equal(sl_json_field(&f, sl_json_view(key)),
                             yyjson_obj_get(object, sl_json_text(key)));
        }
        yyjson_doc_free(d);
        yyjson_doc_free(keys);
    }
}

static void what_is_absent_reads_as_nothing(void **state) {
    yyjson_doc *doc = read_json(
        "{\"metadata\":{\"labels\":{\"a.b/c\":\"x\"},\"annotations\":null},"
        "\"n\":5,\"u\":18446744073709551615,\"t\":true,\"s\":\"w\",\"l\":[{\"name\":\"p\"},7],"
        "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},"
        "{\"type\":\"Done\",\"status\":\"False\"}]}}");
    yyjson_val *v = yyjson_doc_get_root(doc);

    (void)state;
    assert_string_equal(sl_json_label(v, "a.b/c"), "x");
    assert_null(sl_json_label_opt(v, "a"));
    assert_null(sl_json_annotation_opt(v, "a"));
    assert_string_equal(sl_json_label(v, "a"), "");
    assert_string_equal(sl_json_annotation(v, "a"), "");
    assert_null(sl_json_at(v, "metadata.annotations"));
    assert_null(sl_json_at(v, "n.m"));
    assert_string_equal(sl_json_str(v, "s"), "w");
    assert_string_equal(sl_json_str(v, "n"), "");
    assert_int_equal(sl_json_int(v, "n", 1), 5);
    assert_int_equal(sl_json_int(v, "s", 1), 1);
    assert_int_equal(sl_json_int(v, "u", 1), INT64_MAX);
    assert_true(sl_json_bool(v, "t", false));
    assert_true(sl_json_bool(v, "x", true));
    assert_int_equal(sl_json_size(sl_json_get(v, "l")), 2);
    assert_int_equal(sl_json_size(sl_json_get(v, "n")), 0);
    assert_non_null(sl_json_find(sl_json_get(v, "l"), "name", "p"));
    assert_null(sl_json_find(sl_json_get(v, "l"), "name", "q"));
    assert_null(sl_json_find(NULL, "name", "q"));
    assert_true(sl_json_condition(v, "Ready"));
    assert_false(sl_json_condition(v, "Done"));
    assert_false(sl_json_condition(v, "Other"));
    yyjson_doc_free(doc);
}

static void only_objects_have_fields(void **state) {
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {{NULL, 0},
                 {"null", 0},
                 {"[1,2]", 0},
                 {"\"a\"", 0},
                 {"{}", 0},
                 {"{\"a\":1}", 1},
                 {"{\"a\":{\"b\":[2]},\"c\":[{}],\"d\":3}", 3}};

    (void)state;
    for (size_t c = 0; c < SL_LEN(cases); c++) {
        yyjson_doc *d = cases[c].text ? read_json(cases[c].text) : NULL;
        yyjson_val *key, *val;
        size_t i, n, seen = 0;
        sl_obj_foreach (yyjson_doc_get_root(d), i, n, key, val) {
            assert_ptr_equal(val, yyjson_obj_get(yyjson_doc_get_root(d), yyjson_get_str(key)));
            seen++;
        }
        assert_int_equal(seen, cases[c].n);
        yyjson_doc_free(d);
    }
}

static void meaning_is_compared(void **state) {
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1}", true},
        {"{\"a\":1}", "{\"a\":2}", false},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":1}", "{\"a\":\"1\"}", false},
        {"{\"a\":1}", "{\"a\":1.0}", true},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"{}", "{\"a\":null,\"b\":\"\",\"c\":0,\"d\":false,\"e\":[],\"f\":{\"g\":{}}}", true},
        {"{\"f\":{\"g\":{}}}", "{}", true},
        {"{\"a\":[{}]}", "{}", false},
        {"{\"requests\":{\"cpu\":\"1\"}}", "{\"requests\":{\"cpu\":\"1000m\"}}", true},
        {"{\"requests\":{\"cpu\":1}}", "{\"requests\":{\"cpu\":\"1\"}}", true},
        {"{\"limits\":{\"memory\":\"1Gi\"}}", "{\"limits\":{\"memory\":\"1G\"}}", false},
        {"{\"labels\":{\"cpu\":\"1\"}}", "{\"labels\":{\"cpu\":\"1000m\"}}", false},
        {"{\"requests\":{\"cpu\":\"x\"}}", "{\"requests\":{\"cpu\":\"y\"}}", false},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        yyjson_doc *a = read_json(cases[i].a), *b = read_json(cases[i].b);
        yyjson_val *va = yyjson_doc_get_root(a), *vb = yyjson_doc_get_root(b);
        if (sl_json_same(va, vb) != cases[i].same || sl_json_same(vb, va) != cases[i].same)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        yyjson_doc_free(a);
        yyjson_doc_free(b);
    }
}

static void fields_can_be_left_out_of_a_comparison(void **state) {
    static const char *const skip[] = {"a", "c", NULL};
    yyjson_doc *a = read_json("{\"a\":1,\"b\":2}"), *b = read_json("{\"b\":2,\"c\":3}");
    yyjson_doc *d = read_json("{\"b\":3}");

    (void)state;
    assert_true(sl_json_same_but(yyjson_doc_get_root(a), yyjson_doc_get_root(b), skip));
    assert_false(sl_json_same_but(yyjson_doc_get_root(a), yyjson_doc_get_root(d), skip));
    assert_false(sl_json_same_but(yyjson_doc_get_root(a), NULL, skip));
    yyjson_doc_free(a);
    yyjson_doc_free(b);
    yyjson_doc_free(d);
}

/* ---- patches ---- */

static void diff_to(const char *a, const char *b, struct sl_buf *out) {
    yyjson_doc *from = read_json(a), *to = read_json(b);

    sl_buf_clear(out);
    adm_patch_diff(yyjson_doc_get_root(from), yyjson_doc_get_root(to), out);
    yyjson_doc_free(from);
    yyjson_doc_free(to);
}

static void a_patch_says_what_changed(void **state) {
    static const struct {
        const char *from, *to, *patch;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":1}", "[]"},
        {"{\"a\":1}", "{\"a\":2}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":2}]"},
        {"{\"a\":1}", "{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]"},
        {"{}", "{\"a/b~\":[]}", "[{\"op\":\"add\",\"path\":\"/a~1b~0\",\"value\":[]}]"},
        {"{\"l\":[1,2]}", "{\"l\":[1,3,4]}",
         "[{\"op\":\"replace\",\"path\":\"/l/1\",\"value\":3},"
         "{\"op\":\"add\",\"path\":\"/l/2\",\"value\":4}]"},
        {"{\"l\":[1,2,3]}", "{\"l\":[1]}",
         "[{\"op\":\"remove\",\"path\":\"/l/2\"},{\"op\":\"remove\",\"path\":\"/l/1\"}]"},
        {"{\"l\":[1]}", "{\"l\":{}}", "[{\"op\":\"replace\",\"path\":\"/l\",\"value\":{}}]"},
    };
    struct sl_buf out;

    (void)state;
    sl_buf_init(&out, 1 << 20);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        diff_to(cases[i].from, cases[i].to, &out);
        assert_string_equal(sl_buf_str(&out), cases[i].patch);
    }
    sl_buf_done(&out);
}

static void random_json(struct sl_prng *p, int depth, struct sl_buf *out) {
    uint64_t n = sl_prng_below(p, 4), kind = sl_prng_below(p, depth > 0 ? 5 : 3);

    if (kind < 3) {
        static const char *const leaves[] = {"1", "true", "\"x\""};
        sl_buf_puts(out, leaves[kind]);
        return;
    }
    sl_buf_putc(out, kind == 3 ? '[' : '{');
    for (uint64_t i = 0; i < n; i++) {
        /* Keys without repetition, not always the same ones. */
        if (i > 0)
            sl_buf_putc(out, ',');
        if (kind == 4)
            sl_buf_printf(out, "\"%c%s\":", (char)('a' + 2 * i + sl_prng_below(p, 2)),
                          i % 2 ? "/~" : "");
        random_json(p, depth - 1, out);
    }
    sl_buf_putc(out, kind == 3 ? ']' : '}');
}

/* What comes out of any difference, applied by yyjson's own patch, gives the other side. */
static void patches_lead_from_one_to_the_other(void **state) {
    struct sl_buf a, b, patch;
    struct sl_prng prng;

    (void)state;
    sl_prng_init(&prng, 7);
    sl_buf_init(&a, 1 << 20);
    sl_buf_init(&b, 1 << 20);
    sl_buf_init(&patch, 1 << 20);
    for (int i = 0; i < 3000; i++) {
        sl_buf_clear(&a);
        sl_buf_clear(&b);
        random_json(&prng, 4, &a);
        random_json(&prng, 4, &b);
        diff_to(sl_buf_str(&a), sl_buf_str(&b), &patch);
        yyjson_doc *from = read_json(sl_buf_str(&a)), *to = read_json(sl_buf_str(&b));
        yyjson_doc *ops = read_json(sl_buf_str(&patch));
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *got =
            yyjson_patch(doc, yyjson_doc_get_root(from), yyjson_doc_get_root(ops), NULL);
        yyjson_mut_val *want = yyjson_val_mut_copy(doc, yyjson_doc_get_root(to));
        if (!got || !yyjson_mut_equals(got, want))
            fail_msg("%s to %s by %s", sl_buf_str(&a), sl_buf_str(&b), sl_buf_str(&patch));
        yyjson_mut_doc_free(doc);
        yyjson_doc_free(ops);
        yyjson_doc_free(from);
        yyjson_doc_free(to);
    }
    sl_buf_done(&a);
    sl_buf_done(&b);
    sl_buf_done(&patch);
}

static void a_patch_that_finds_no_room_says_so(void **state) {
    struct sl_buf out;

    (void)state;
    sl_buf_init(&out, 20);
    diff_to("{}", "{\"a\":\"0123456789012345678901234567890123456789\"}", &out);
    assert_true(sl_buf_full(&out));
    sl_buf_done(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting_and_width_have_ceilings),
        cmocka_unit_test(values_have_a_ceiling),
        cmocka_unit_test(memory_has_a_budget),
        cmocka_unit_test(fields_are_found),
        cmocka_unit_test(what_is_absent_reads_as_nothing),
        cmocka_unit_test(only_objects_have_fields),
        cmocka_unit_test(meaning_is_compared),
        cmocka_unit_test(fields_can_be_left_out_of_a_comparison),
        cmocka_unit_test(a_patch_says_what_changed),
        cmocka_unit_test(patches_lead_from_one_to_the_other),
        cmocka_unit_test(a_patch_that_finds_no_room_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
