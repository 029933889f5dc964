/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spellings of quantities and times, base64, formats, patterns; and ceilings of what objects can
 * ask for. What quantities become is what a real kube-apiserver made of them.
 */
#include "cluster/schema/crd/crd.h"
#include "cluster/schema/value.h"
#include "schema_fixture.h"

static void quantities_have_one_spelling(void **state) {
    static const struct {
        const char *from, *to;
    } cases[] = {{"0", "0"},
                 {"1", "1"},
                 {"1000", "1k"},
                 {"1024", "1024"},
                 {"1500", "1500"},
                 {"0.5", "500m"},
                 {"0.05", "50m"},
                 {"100m", "100m"},
                 {"1000m", "1"},
                 {"1500m", "1500m"},
                 {"1k", "1k"},
                 {"1000k", "1M"},
                 {"1.5k", "1500"},
                 {"1Ki", "1Ki"},
                 {"1024Ki", "1Mi"},
                 {"1.5Ki", "1536"},
                 {"0.5Ki", "512"},
                 {"0.001Ki", "1024m"},
                 {"1Mi", "1Mi"},
                 {"1536Mi", "1536Mi"},
                 {"1.5Gi", "1536Mi"},
                 {"1e3", "1e3"},
                 {"1E3", "1E3"},
                 {"15e2", "1500"},
                 {"1.5e3", "1500"},
                 {"100e-3", "100e-3"},
                 {"1e-9", "1e-9"},
                 {"1n", "1n"},
                 {"1u", "1u"},
                 {"1500u", "1500u"},
                 {"0.1n", "1n"},
                 {"123456789", "123456789"},
                 {"1000000", "1M"},
                 {"12345.678", "12345.678"},
                 {"9223372036854775807", "9223372036854775807"},
                 {"1Ei", "1Ei"},
                 {"8Ei", "9223372036854775807"},
                 {"10E", "10E"},
                 {"+5", "+5"},
                 {"5.", "5."},
                 {".5", "500m"},
                 {"0.1234567891", "123456790n"},
                 {"1Ti", "1Ti"},
                 {"999Ki", "999Ki"},
                 {"2e6", "2e6"},
                 {"12e0", "12e0"},
                 {"1023Mi", "1023Mi"},
                 {"0Ki", "0"},
                 {"0e3", "0"},
                 {"-0", "0"}};
    char out[SL_QUANTITY_TEXT];

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        assert_int_equal(
            schema_value_quantity(cases[i].from, strlen(cases[i].from), false, out, NULL), 0);
        assert_string_equal(out, cases[i].to);
        /* And it is what it becomes. */
        char again[SL_QUANTITY_TEXT];
        assert_int_equal(schema_value_quantity(out, strlen(out), false, again, NULL), 0);
        assert_string_equal(again, cases[i].to);
    }
}

static void amounts_of_resources_are_rounded_up(void **state) {
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"1n", "1m"},           {"1500u", "2m"}, {"0.1234567", "124m"}, {"-1500u", "-2m"},
        {"2.1234567", "2124m"}, {"1Ki", "1Ki"},  {"0.001Ki", "1024m"},  {"100m", "100m"},
    };
    char out[SL_QUANTITY_TEXT];

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        assert_int_equal(
            schema_value_quantity(cases[i].from, strlen(cases[i].from), true, out, NULL), 0);
        assert_string_equal(out, cases[i].to);
    }
}

static void times_are_utc(void **state) {
    static const struct {
        const char *from, *to;
        bool micro;
    } cases[] = {
        {"2024-05-05T01:02:03Z", "2024-05-05T01:02:03Z", false},
        {"2024-05-05T01:02:03.999999999+02:00", "2024-05-04T23:02:03Z", false},
        {"2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z", false},
        {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", false},
        {"2024-05-05T01:02:03.000100-00:30", "2024-05-05T01:32:03.000100Z", true},
    };
    static const char *const bad[] = {"",
                                      "2024",
                                      "2024-02-30T00:00:00Z",
                                      "2023-02-29T00:00:00Z",
                                      "2024-05-05T24:00:00Z",
                                      "2024-05-05T01:02:03",
                                      "2024-05-05T01:02:03+2:00",
                                      "2024-05-05T01:02:03Z ",
                                      "2024-05-05 01:02:03Z"};
    char out[SL_VALUE_TIME];

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        assert_int_equal(
            schema_value_time(cases[i].from, strlen(cases[i].from), cases[i].micro, out, NULL), 0);
        assert_string_equal(out, cases[i].to);
    }
    for (size_t i = 0; i < SL_LEN(bad); i++)
        assert_int_equal(schema_value_time(bad[i], strlen(bad[i]), false, out, NULL), SL_EINVAL);
    assert_int_equal(schema_value_time("2024-05-05T01:02:03.12345Z", 26, true, out, NULL),
                     SL_EINVAL);
}

static void base64_is_looked_through(void **state) {
    static const struct {
        const char *text;
        int64_t fault;
    } cases[] = {
        {"", -1}, {"aGk=", -1},  {"aGkh", -1},    {"YQ==", -1}, {"aG\nk=", -1},
        {"a", 0}, {"aGk", 0},    {"aGk=x", 4},    {"a*==", 1},  {"YQ=", 3},
        {"=", 0}, {"aGkhYQ", 4}, {"YQ==YQ==", 4},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++)
        if (schema_value_base64(cases[i].text, strlen(cases[i].text)) != cases[i].fault)
            fail_msg("%s: %lld", cases[i].text,
                     (long long)schema_value_base64(cases[i].text, strlen(cases[i].text)));
}

static void formats_are_known(void **state) {
    static const struct {
        const char *format, *good, *bad;
    } cases[] = {
        {"uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-c456-426614174000"},
        {"uuid5", "123e4567e89b52d3a456426614174000", "123e4567e89b42d3a456426614174000"},
        {"uuid3", "123e4567-e89b-32d3-c456-426614174000", "123e4567-e89b-42d3-c456-426614174000"},
        {"hexcolor", "#aabbcc", "#aabbc"},
        {"ssn", "111-11-1111", "1111-11-111"},
        {"hostname", "a-b.example", "a..b"},
        {"hostname", "localhost", ""},
        {"email", "a.b@c", "a@b@c"},
        {"uri", "/path?x=1", "%zz/"},
        {"cidr", "::/0", "1.2.3.4"},
        {"duration", "1h30m", "1 hour"},
        {"password", "", NULL},
        {"nobody knows", "anything", NULL},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        const char *f = cases[i].format, *good = cases[i].good, *bad = cases[i].bad;
        if (!schema_value_format(f, good, strlen(good)) ||
            (bad && schema_value_format(f, bad, strlen(bad))))
            fail_msg("%s: %s, %s", f, good, bad ? bad : "");
    }
    assert_false(schema_value_format("ipv4", "1.2.3.4\0x", 9));
}

/* A list of objects whose default is a list of objects, and so on. */
static void defaults_of_defaults_have_a_ceiling(void **state) {
    struct sl_arena arena;
    struct sl_buf text;
    struct sl_crd_schema *c;

    (void)state;
    sl_arena_init(&arena, 64 << 20);
    struct sl_field_errs errs = {.arena = &arena};
    sl_buf_init(&text, 1 << 20);
    sl_buf_puts(&text, "{'type':'object'");
    for (int i = 0; i < 4; i++) {
        sl_buf_puts(&text, ",'properties':{'a':{'type':'array','default':[{}");
        for (int k = 0; k < 100; k++)
            sl_buf_puts(&text, ",{}");
        sl_buf_puts(&text, "],'items':{'type':'object'");
    }
    for (int i = 0; i < 4; i++)
        sl_buf_puts(&text, "}}}");
    sl_buf_puts(&text, "}");
    yyjson_doc *doc = fx_json(sl_buf_str(&text));
    sl_crd_schema_new(yyjson_doc_get_root(doc), SL_PATH(NULL, "s"),
                      fx_kind("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), &errs, &c);
    if (!c)
        fail_msg("%s", errs.text[0]);
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(m);
    assert_false(sl_schema_default(sl_crd_schema_root(c), m, object));
    yyjson_mut_doc_free(m);
    sl_crd_schema_free(c);
    yyjson_doc_free(doc);
    sl_buf_done(&text);
    sl_arena_done(&arena);
}

/* Alternatives in alternatives: each is looked at a few times, not twice as often per level. */
static void alternatives_end(void **state) {
    struct sl_arena arena;
    struct sl_buf text;
    struct sl_crd_schema *c;

    (void)state;
    sl_arena_init(&arena, 64 << 20);
    struct sl_field_errs errs = {.arena = &arena};
    sl_buf_init(&text, 1 << 20);
    sl_buf_puts(&text, "{'type':'object','properties':{'a':{'type':'string'");
    for (int i = 0; i < 30; i++)
        sl_buf_puts(&text, ",'anyOf':[{'maxLength':0},{'minLength':9");
    for (int i = 0; i < 30; i++)
        sl_buf_puts(&text, "}]");
    sl_buf_puts(&text, "}}}");
    yyjson_doc *doc = fx_json(sl_buf_str(&text)), *object = fx_json("{'a':'xyz'}");
    sl_crd_schema_new(yyjson_doc_get_root(doc), SL_PATH(NULL, "s"),
                      fx_kind("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), &errs, &c);
    if (!c)
        fail_msg("%s", errs.text[0]);
    sl_schema_check(sl_crd_schema_root(c), yyjson_doc_get_root(object), NULL, &errs);
    assert_true(errs.n > 0);
    sl_crd_schema_free(c);
    yyjson_doc_free(object);
    yyjson_doc_free(doc);
    sl_buf_done(&text);
    sl_arena_done(&arena);
}

static void the_last_of_equal_keys_counts(void **state) {
    struct sl_arena arena;
    struct sl_buf text;

    (void)state;
    sl_arena_init(&arena, 16 << 20);
    struct sl_strict st = {.arena = &arena};
    sl_buf_init(&text, 1 << 20);
    sl_buf_puts(&text, "{'x':{'a':1,'b':[{'c':1,'c':2}],'a':3},'y':{");
    for (int i = 0; i < 2000; i++)
        sl_buf_printf(&text, "'k%d':%d,", i % 1000, i);
    sl_buf_puts(&text, "'z':0}}");
    yyjson_doc *doc = fx_json(sl_buf_str(&text));
    assert_true(sl_strict_duplicates(&st, NULL, yyjson_doc_get_root(doc)));
    assert_int_equal(st.n, SL_STRICT_MAX);
    assert_string_equal(st.text[0], "duplicate field \"x.b[0].c\"");
    assert_string_equal(st.text[1], "duplicate field \"x.a\"");
    assert_string_equal(st.text[2], "duplicate field \"y.k0\"");

    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *v = yyjson_val_mut_copy(m, yyjson_doc_get_root(doc));
    sl_strict_keep_last(v);
    yyjson_mut_val *x = yyjson_mut_obj_get(v, "x"), *y = yyjson_mut_obj_get(v, "y");
    assert_int_equal(yyjson_mut_obj_size(x), 2);
    assert_int_equal(yyjson_mut_get_int(yyjson_mut_obj_get(x, "a")), 3);
    assert_int_equal(yyjson_mut_obj_size(y), 1001);
    assert_int_equal(yyjson_mut_get_int(yyjson_mut_obj_get(y, "k7")), 1007);
    yyjson_doc_free(doc);
    doc = fx_json("{'a':{'a':1},'b':[{'a':1},{'a':1}]}");
    assert_false(sl_strict_duplicates(NULL, NULL, yyjson_doc_get_root(doc)));
    yyjson_doc_free(doc);
    yyjson_mut_doc_free(m);
    sl_buf_done(&text);
    sl_arena_done(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_have_one_spelling),
        cmocka_unit_test(amounts_of_resources_are_rounded_up),
        cmocka_unit_test(times_are_utc),
        cmocka_unit_test(base64_is_looked_through),
        cmocka_unit_test(formats_are_known),
        cmocka_unit_test(defaults_of_defaults_have_a_ceiling),
        cmocka_unit_test(alternatives_end),
        cmocka_unit_test(the_last_of_equal_keys_counts),
    };
    return cmocka_run_group_tests(tests, fx_setup, fx_teardown);
}
