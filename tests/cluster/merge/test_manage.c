/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field management, case by case: what test_replay's histories seldom or never do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/merge/merge.h"
#include "cluster/schema/types.h"

static struct sl_schemas *types;

static int setup(void **state) {
    struct sl_err err = {0};
    (void)state;
    return sl_schemas_builtin(&types, &err);
}

static int teardown(void **state) {
    (void)state;
    sl_schemas_free(types);
    return 0;
}

static const struct sl_schema *config_map(void) {
    return sl_schemas_find(types, "io.k8s.api.core.v1.ConfigMap");
}

static const struct sl_schema *deployment(void) {
    return sl_schemas_find(types, "io.k8s.api.apps.v1.Deployment");
}

static struct sl_manage_id manager(const char *name, int seconds) {
    return (struct sl_manage_id){
        .name = name, .api_version = "v1", .subresource = "", .now = seconds * SL_SEC};
}

/* An object over its life: each step gets its text and leaves the next. */
struct life {
    char *text;
    struct sl_patch_err err;
    yyjson_mut_doc *doc; /* of the last failure */
};

static void life_free(struct life *l) {
    free(l->text);
    if (l->doc)
        sl_buf_done(&l->err.text);
    yyjson_mut_doc_free(l->doc);
}

static void update(struct life *l, const struct sl_schema *s, struct sl_manage_id by,
                   const char *text) {
    yyjson_doc *old = l->text ? yyjson_read(l->text, strlen(l->text), 0) : NULL;
    yyjson_doc *said = yyjson_read(text, strlen(text), 0);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    assert_non_null(said);
    yyjson_mut_val *v = yyjson_val_mut_copy(doc, yyjson_doc_get_root(said));
    sl_manage_update(s, &by, doc, yyjson_doc_get_root(old), v);
    free(l->text);
    l->text = yyjson_mut_val_write(v, 0, NULL);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(said);
    yyjson_doc_free(old);
}

static int apply(struct life *l, const struct sl_schema *s, struct sl_manage_id by, bool force,
                 const char *text) {
    yyjson_doc *old = l->text ? yyjson_read(l->text, strlen(l->text), 0) : NULL;
    yyjson_doc *said = yyjson_read(text, strlen(text), 0);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct sl_patch_err err = {0};
    yyjson_mut_val *v = NULL;
    assert_non_null(said);
    sl_buf_init(&err.text, (size_t)1 << 16);
    int r = sl_manage_apply(s, &by, force, doc, yyjson_doc_get_root(old), yyjson_doc_get_root(said),
                            &v, &err);
    if (r == 0) {
        free(l->text);
        l->text = yyjson_mut_val_write(v, 0, NULL);
        sl_buf_done(&err.text);
        yyjson_mut_doc_free(doc);
    } else {
        if (l->doc)
            sl_buf_done(&l->err.text);
        yyjson_mut_doc_free(l->doc);
        l->err = err;
        l->doc = doc;
    }
    yyjson_doc_free(said);
    yyjson_doc_free(old);
    return r;
}

/* "name operation{fields} ..." of all managers. */
static void expect_managers(const struct life *l, const char *want) {
    yyjson_doc *d = yyjson_read(l->text, strlen(l->text), 0);
    yyjson_val *entry;
    size_t i, max;
    struct sl_buf b;
    sl_buf_init(&b, (size_t)1 << 16);
    yyjson_val *list =
        yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(d), "metadata"), "managedFields");
    yyjson_arr_foreach (list, i, max, entry) {
        char *fields = yyjson_val_write(yyjson_obj_get(entry, "fieldsV1"), 0, NULL);
        sl_buf_printf(&b, "%s%s %c%s", i ? " " : "",
                      yyjson_get_str(yyjson_obj_get(entry, "manager")),
                      yyjson_get_str(yyjson_obj_get(entry, "operation"))[0], fields);
        free(fields);
    }
    assert_string_equal(sl_buf_str(&b), want);
    sl_buf_done(&b);
    yyjson_doc_free(d);
}

#define CM(meta, data)                                                                             \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"" meta              \
    "},\"data\":{" data "}}"

static void test_words(void **state) {
    struct life l = {0};
    (void)state;
    update(&l, config_map(), manager("m", 1), CM("", "\"a\":\"1\",\"b\":\"1\""));
    assert_string_equal(
        strstr(l.text, "\"managedFields\""),
        "\"managedFields\":[{\"manager\":\"m\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
        "\"time\":\"1970-01-01T00:00:01Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{"
        "\".\":{},\"f:a\":{},\"f:b\":{}}}}]},\"data\":{\"a\":\"1\",\"b\":\"1\"}}");
    assert_true(apply(&l, config_map(), manager("k", 2), false, CM("", "\"a\":\"2\"")) < 0);
    assert_int_equal(l.err.status, 409);
    assert_string_equal(l.err.reason, "Conflict");
    assert_string_equal(sl_buf_str(&l.err.text),
                        "Apply failed with 1 conflict: conflict with \"m\" using v1: .data.a");
    assert_true(apply(&l, config_map(), manager("k", 2), false, CM("", "\"a\":\"2\",\"b\":\"2\"")) <
                0);
    assert_string_equal(sl_buf_str(&l.err.text),
                        "Apply failed with 2 conflicts: conflicts with \"m\" using v1:\n- "
                        ".data.a\n- .data.b");
    assert_int_equal(yyjson_mut_arr_size(l.err.causes), 2);
    assert_int_equal(apply(&l, config_map(), manager("k", 2), true, CM("", "\"a\":\"2\"")), 0);
    expect_managers(&l, "k A{\"f:data\":{\"f:a\":{}}} m U{\"f:data\":{\".\":{},\"f:b\":{}}}");
    life_free(&l);
}

static void test_no_name(void **state) {
    struct life l = {0};
    (void)state;
    update(&l, config_map(), manager("", 1), CM("", "\"a\":\"1\""));
    expect_managers(&l, "unknown U{\"f:data\":{\".\":{},\"f:a\":{}}}");
    life_free(&l);
}

static void test_reset(void **state) {
    static const char *const resets[] = {CM(",\"managedFields\":[]", "\"a\":\"1\""),
                                         CM(",\"managedFields\":[{}]", "\"a\":\"2\"")};
    (void)state;
    for (size_t i = 0; i < SL_LEN(resets); i++) {
        struct life l = {0};
        update(&l, config_map(), manager("m", 1), CM("", "\"a\":\"1\""));
        update(&l, config_map(), manager("m", 2), resets[i]);
        assert_null(strstr(l.text, "managedFields"));
        update(&l, config_map(), manager("m", 3), CM("", "\"a\":\"3\""));
        assert_null(strstr(l.text, "managedFields")); /* nobody begins anew by updating */
        assert_int_equal(apply(&l, config_map(), manager("k", 4), false, CM("", "\"b\":\"1\"")), 0);
        expect_managers(&l, "k A{\"f:data\":{\"f:b\":{}}} before-first-apply "
                            "U{\"f:data\":{\".\":{},\"f:a\":{}}}");
        life_free(&l);
    }
}

/* What the request says counts if it can be read. */
static void test_said(void **state) {
    struct life l = {0};
    (void)state;
    update(&l, config_map(), manager("m", 1), CM("", "\"a\":\"1\""));
    update(&l, config_map(), manager("n", 2),
           CM(",\"managedFields\":[{\"manager\":\"x\"}]", "\"a\":\"1\",\"b\":\"1\""));
    expect_managers(&l, "m U{\"f:data\":{\".\":{},\"f:a\":{}}} n U{\"f:data\":{\"f:b\":{}}}");
    update(&l, config_map(), manager("n", 3),
           CM(",\"managedFields\":[{\"manager\":\"x\",\"operation\":\"Update\",\"apiVersion\":"
              "\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:b\":{},\"f:a\":{},"
              "\"z:?\":{}}}}]",
              "\"a\":\"1\",\"b\":\"2\""));
    expect_managers(&l, "x U{\"f:data\":{\"f:a\":{}}} n U{\"f:data\":{\"f:b\":{}}}");
    life_free(&l);
}

/* Elements that only others write. What a set reads as and is written as was asked of the API
 * server's own library (structured-merge-diff 6.3.3); NULL: it cannot read it, and whoever managed
 * the object before still does. */
static void test_odd_elements(void **state) {
    static const struct {
        const char *said, *kept;
    } cases[] = {
        {"{\"k:{\\\"name\\\":null}\":{\"f:x\":{}}}", "{\"k:{\\\"name\\\":null}\":{\"f:x\":{}}}"},
        {"{\"k:{}\":{}}", "{\"k:{}\":{}}"},
        {"{\"k:null\":{}}", "{\"k:{}\":{}}"},
        {"{\"k:\":{}}", NULL},
        {"{\"k:[]\":{}}", NULL},
        {"{\"k:{\\\"n\\\":{\\\"b\\\":[1,2.50],\\\"a\\\":{}},\\\"m\\\":[]}\":{}}",
         "{\"k:{\\\"m\\\":[],\\\"n\\\":{\\\"a\\\":{},\\\"b\\\":[1,2.5]}}\":{}}"},
        {"{\"k:{\\\"n\\\":1e3}\":{},\"k:{\\\"n\\\":1000}\":{\"f:y\":{}}}",
         "{\"k:{\\\"n\\\":1000}\":{\".\":{},\"f:y\":{}}}"},
        {"{\"v:null\":{},\"v:{}\":{},\"v:[2,1]\":{},\"v:[2]\":{},\"v:true\":{},\"v:\\\"s\\\"\":{},"
         "\"v:1.50\":{},\"v:{\\\"b\\\":1}\":{},\"v:{\\\"a\\\":2}\":{}}",
         "{\"v:1.5\":{},\"v:\\\"s\\\"\":{},\"v:true\":{},\"v:[2]\":{},\"v:[2,1]\":{},\"v:{}\":{},"
         "\"v:{\\\"a\\\":2}\":{},\"v:{\\\"b\\\":1}\":{},\"v:null\":{}}"},
        {"{\"v:\":{}}", NULL},
        {"{\"v: 1 x\":{},\"k:{\\\"n\\\":1}x\":{}}", "{\"k:{\\\"n\\\":1}\":{},\"v:1\":{}}"},
        {"{\"i:+5\":{},\"i:07\":{},\"i:12345678901\":{},\"i:-1\":{}}",
         "{\"i:-1\":{},\"i:5\":{},\"i:7\":{},\"i:12345678901\":{}}"},
        {"{\"i:99999999999999999999\":{}}", NULL},
        {"{\"i:\":{}}", NULL},
        {"{\"i: 5\":{}}", NULL},
        {"{\"f:a\":null,\"f:b\":{\"f:c\":null}}", "{\"f:a\":{},\"f:b\":{\"f:c\":{}}}"},
        {"{\"f:a\":5}", NULL},
        {"{\"f:a\":{\".\":5}}", "{\"f:a\":{}}"},
        {"{\"x\":{}}", NULL},
        {"{\"\":{}}", NULL},
        {"{\"f:\":{}}", "{\"f:\":{}}"},
        {"{\"z:q\":7,\"f:b\":{}}", "{\"f:b\":{}}"},
        {"{\"v:1e16\":{},\"v:1e21\":{},\"v:1e-7\":{},\"v:0.000001\":{},"
         "\"v:123456789012345678901\":{},\"v:1.5e300\":{},\"v:0.1\":{}}",
         "{\"v:1e-07\":{},\"v:0.000001\":{},\"v:0.1\":{},\"v:10000000000000000\":{},"
         "\"v:123456789012345680000\":{},\"v:1e+21\":{},\"v:1.5e+300\":{}}"},
        {"{\"v:5e-324\":{},\"v:-1e-310\":{},\"v:4.94065645841247e-322\":{},"
         "\"v:2.2250738585072011e-308\":{},\"v:2.2250738585072014e-308\":{}}",
         "{\"v:-1e-310\":{},\"v:5e-324\":{},\"v:4.94e-322\":{},"
         "\"v:2.225073858507201e-308\":{},\"v:2.2250738585072014e-308\":{}}"},
        {"{\"k:{\\\"a\\\":1,\\\"a\\\":2}\":{}}", "{\"k:{\\\"a\\\":1,\\\"a\\\":2}\":{}}"},
        {"{\"k:{\\\"a\\\":{\\\"b\\\":1,\\\"b\\\":2}}\":{}}",
         "{\"k:{\\\"a\\\":{\\\"b\\\":2}}\":{}}"},
        {"{\"k:{\\\"b\\\":1,\\\"a\\\":1,\\\"c\\\":1,\\\"d\\\":1,\\\"e\\\":1,\\\"f\\\":1,"
         "\\\"g\\\":1,\\\"h\\\":1,\\\"i\\\":1}\":{}}",
         "{\"k:{\\\"a\\\":1,\\\"b\\\":1,\\\"c\\\":1,\\\"d\\\":1,\\\"e\\\":1,\\\"f\\\":1,"
         "\\\"g\\\":1,\\\"h\\\":1,\\\"i\\\":1}\":{}}"},
        {"{\"v:1e999\":{}}", NULL},
        {"{\"v:01\":{}}", NULL},
        {"{\"k:{\\\"n\\\":[1,{\\\"a\\\":null,\\\"b\\\":[true,\\\"x\\\"]}]}\":{}}",
         "{\"k:{\\\"n\\\":[1,{\\\"a\\\":null,\\\"b\\\":[true,\\\"x\\\"]}]}\":{}}"},
        /* As they would be written, and nearly so. */
        {"{\"k:{\\\"a\\\":\\\"x\\\",\\\"aa\\\":0,\\\"b\\\":\\\"123 "
         "!#$%'()*+,-./:;=?@[]^_`{|}~\\\"}\":{},\"v:123456789012345\":{},\"v:\\\"\\\"\":{}}",
         "{\"k:{\\\"a\\\":\\\"x\\\",\\\"aa\\\":0,\\\"b\\\":\\\"123 "
         "!#$%'()*+,-./:;=?@[]^_`{|}~\\\"}\":{},\"v:123456789012345\":{},\"v:\\\"\\\"\":{}}"},
        {"{\"v:1234567890123456\":{}}", "{\"v:1234567890123456\":{}}"},
        {"{\"k:{\\\"\\\":\\\"\\\"}\":{}}", "{\"k:{\\\"\\\":\\\"\\\"}\":{}}"},
        {"{\"k:{\\\"b\\\":\\\"x\\\",\\\"a\\\":\\\"y\\\"}\":{}}",
         "{\"k:{\\\"a\\\":\\\"y\\\",\\\"b\\\":\\\"x\\\"}\":{}}"},
        {"{\"k:{\\\"aa\\\":\\\"x\\\",\\\"a\\\":\\\"y\\\"}\":{}}",
         "{\"k:{\\\"a\\\":\\\"y\\\",\\\"aa\\\":\\\"x\\\"}\":{}}"},
        {"{\"k:{\\\"a\\\": \\\"x\\\"}\":{}}", "{\"k:{\\\"a\\\":\\\"x\\\"}\":{}}"},
        {"{\"k:{\\\"a\\\":\\\"<\\\"}\":{},\"v:\\\"&\\\"\":{}}",
         "{\"k:{\\\"a\\\":\\\"\\\\u003c\\\"}\":{},\"v:\\\"\\\\u0026\\\"\":{}}"},
        {"{\"v:\\\"\\\\u0061\\\"\":{}}", "{\"v:\\\"a\\\"\":{}}"},
        {"{\"k:{\\\"a\\\":-1}\":{}}", "{\"k:{\\\"a\\\":-1}\":{}}"},
        {"{\"k:{\\\"a\\\":\\\"x\\\"\":{}}", NULL},
        {"{\"k:{\\\"a\\\":\\\"x\\\",}\":{}}", NULL},
        {"{\"k:{\\\"a\\\":01}\":{}}", NULL},
        {"{\"k:{\\\"a\\\"}\":{}}", NULL},
        {"{\"k:{\\\"a\\\":}\":{}}", NULL},
        {"{\"k:{\":{}}", NULL},
        {"{\"k:{\\\"\":{}}", NULL},
        {"{\"v:\\\"\":{}}", NULL},
        {"{\"v:\\\"x\":{}}", NULL},
        {"{\"k:{a:1}\":{}}", NULL},
    };
    char text[2048], want[1024];
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct life l = {0};
        update(&l, config_map(), manager("m", 1), CM("", "\"a\":\"1\""));
        for (int with = 0; with < 2; with++) { /* the second time with what the first left */
            (void)snprintf(text, sizeof text,
                           CM(",\"managedFields\":[{\"manager\":\"x\",\"operation\":\"Update\","
                              "\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
                              "\"f:q\":%s}}]",
                              "\"a\":\"1\",\"b\":\"%d\""),
                           with && cases[i].kept ? cases[i].kept : cases[i].said, with);
            update(&l, config_map(), manager("n", 2), text);
            if (cases[i].kept)
                (void)snprintf(want, sizeof want, "x U{\"f:q\":%s} n U{\"f:data\":{\"f:b\":{}}}",
                               cases[i].kept);
            else
                (void)snprintf(
                    want, sizeof want,
                    "m U{\"f:data\":{\".\":{},\"f:a\":{}}} n U{\"f:data\":{\"f:b\":{}}}");
            expect_managers(&l, want);
        }
        life_free(&l);
    }
}

/* No fields at all, or null: an entry that owns nothing goes, and the others stay. */
static void test_no_fields(void **state) {
    static const char *const none[] = {"", ",\"fieldsV1\":null", ",\"fieldsV1\":{}"};
    char text[1024];
    (void)state;
    for (size_t i = 0; i < SL_LEN(none); i++) {
        struct life l = {0};
        (void)snprintf(text, sizeof text,
                       CM(",\"managedFields\":[{\"manager\":\"x\",\"operation\":\"Update\","
                          "\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\"%s},{\"manager\":\"y\","
                          "\"operation\":\"Update\",\"apiVersion\":\"v1\",\"fieldsType\":"
                          "\"FieldsV1\",\"fieldsV1\":{\"f:q\":{}}}]",
                          "\"a\":\"1\""),
                       none[i]);
        update(&l, config_map(), manager("m", 1), text);
        expect_managers(&l, "y U{\"f:q\":{}} m U{\"f:data\":{\".\":{},\"f:a\":{}}}");
        life_free(&l);
    }
}

/* Elements that are nested deeper than any object are not read, and take no stack. */
static void test_deep_elements(void **state) {
    struct life l = {0};
    struct sl_buf b;
    (void)state;
    update(&l, config_map(), manager("m", 1), CM("", "\"a\":\"1\""));
    sl_buf_init(&b, (size_t)1 << 20);
    sl_buf_puts(&b, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\","
                    "\"managedFields\":[{\"manager\":\"x\",\"operation\":\"Update\","
                    "\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"v:");
    for (int i = 0; i < 200000; i++)
        sl_buf_putc(&b, '[');
    for (int i = 0; i < 200000; i++)
        sl_buf_putc(&b, ']');
    sl_buf_puts(&b, "\":{}}}]},\"data\":{\"a\":\"1\",\"b\":\"1\"}}");
    assert_false(sl_buf_full(&b));
    update(&l, config_map(), manager("n", 2), sl_buf_str(&b));
    expect_managers(&l, "m U{\"f:data\":{\".\":{},\"f:a\":{}}} n U{\"f:data\":{\"f:b\":{}}}");
    sl_buf_done(&b);
    life_free(&l);
}

static void test_ancient_changes(void **state) {
    struct life l = {0};
    char text[512], name[24];
    (void)state;
    update(&l, config_map(), manager("m", 1), CM("", "\"k\":\"0\""));
    for (int i = 0; i < 12; i++) {
        int n = snprintf(text, sizeof text,
                         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                         "\"metadata\":{\"name\":\"c\"},\"data\":{\"k\":\"0\"");
        for (int k = 0; k <= i; k++)
            n += snprintf(text + n, sizeof text - (size_t)n, ",\"k%c\":\"0\"", 'a' + k);
        (void)snprintf(text + n, sizeof text - (size_t)n, "}}");
        (void)snprintf(name, sizeof name, "n%d", i);
        update(&l, config_map(), manager(name, 2 + i), text);
    }
    /* The three oldest of 13 became one, with the time of the last of them. */
    assert_non_null(strstr(
        l.text, "{\"manager\":\"ancient-changes\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
                "\"time\":\"1970-01-01T00:00:04Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
                "\"f:data\":{\".\":{},\"f:k\":{},\"f:ka\":{},\"f:kb\":{},\"f:kc\":{}}}}"));
    life_free(&l);
}

#define LAST "kubectl.kubernetes.io/last-applied-configuration"

/* kubectl goes over from applying by itself to applying on the server. */
static void test_kubectl(void **state) {
    struct life l = {0};
    (void)state;
    update(&l, config_map(), manager("kubectl-client-side-apply", 1),
           CM(",\"annotations\":{\"" LAST
              "\":\"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"a\\\":\\\"1\\\",\\\"b\\\":"
              "\\\"1\\\"},\\\"kind\\\":\\\"ConfigMap\\\",\\\"metadata\\\":{\\\"name\\\":\\\"c\\\"}}"
              "\"}",
              "\"a\":\"1\",\"b\":\"1\",\"c\":\"1\""));
    /* Others may not, and it may not take what it had not applied. */
    assert_true(apply(&l, config_map(), manager("other", 2), false, CM("", "\"a\":\"2\"")) < 0);
    assert_true(apply(&l, config_map(), manager("kubectl", 2), false,
                      CM("", "\"a\":\"2\",\"c\":\"2\"")) < 0);
    assert_string_equal(sl_buf_str(&l.err.text), "Apply failed with 1 conflict: conflict with "
                                                 "\"kubectl-client-side-apply\" using v1: .data.c");
    assert_int_equal(
        apply(&l, config_map(), manager("kubectl", 2), false, CM("", "\"b\":\"<\",\"a\":\"2\"")),
        0);
    expect_managers(&l, "kubectl A{\"f:data\":{\"f:a\":{},\"f:b\":{}}} kubectl-client-side-apply "
                        "U{\"f:data\":{\".\":{},\"f:c\":{}},\"f:metadata\":{\"f:annotations\":{"
                        "\".\":{},\"f:" LAST "\":{}}}}");
    assert_non_null(strstr(l.text,
                           "\"" LAST "\":\"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"a\\\":"
                           "\\\"2\\\",\\\"b\\\":\\\"\\\\u003c\\\"},\\\"kind\\\":"
                           "\\\"ConfigMap\\\",\\\"metadata\\\":{\\\"name\\\":\\\"c\\\"}}"
                           "\\n\""));
    life_free(&l);
}

/* An applied object that is none of its kind. */
static void test_refused(void **state) {
    static const struct {
        const char *body;
        int status;
        const char *text;
    } cases[] = {
#define D(rest)                                                                                    \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\"}" rest "}"
#define POD(spec) D(",\"spec\":{\"template\":{\"spec\":{" spec "}}}")
#define TYPED "failed to create typed patch object (/d; apps/v1, Kind=Deployment): "
        {D(",\"spec\":{\"foo\":1}"), 500, TYPED ".spec.foo: field not declared in schema"},
        {D(",\"spec\":{\"replicas\":\"x\"}"), 500,
         TYPED ".spec.replicas: expected numeric (int or float), got string"},
        {D(",\"spec\":{\"paused\":1}"), 500, TYPED ".spec.paused: expected boolean, got &{1}"},
        {D(",\"spec\":[\"a\"]"), 500, TYPED ".spec: expected map, got &{[a]}"},
        {POD("\"hostname\":1"), 500,
         TYPED ".spec.template.spec.hostname: expected string, got "
               "&value.valueUnstructured{Value:1}"},
        {POD("\"hostname\":{\"a\":1}"), 500,
         TYPED ".spec.template.spec.hostname: expected string, got "
               "&value.valueUnstructured{Value:map[string]interface {}{\"a\":1}}"},
        {POD("\"containers\":{\"a\":1}"), 500,
         TYPED ".spec.template.spec.containers: expected list, got &{map[a:1]}"},
        {POD("\"containers\":[null]"), 500,
         TYPED ".spec.template.spec.containers: element 0: associative list with keys may not have "
               "a null element"},
        {POD("\"containers\":[{\"name\":\"a\"},{\"name\":\"a\"}]"), 500,
         TYPED ".spec.template.spec.containers: duplicate entries for key [name=\"a\"]"},
        {POD("\"containers\":[{\"name\":\"a\",\"x\":1}],\"hostname\":1"), 500,
         TYPED "errors:\n  .spec.template.spec.containers[name=\"a\"].x: field not declared in "
               "schema\n  .spec.template.spec.hostname: expected string, got "
               "&value.valueUnstructured{Value:1}"},
        {"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"managedFields\":[]}}",
         400, "metadata.managedFields must be nil"},
        {"{\"apiVersion\":\"apps/v2\",\"kind\":\"Deployment\"}", 400,
         "invalid object type: apps/v2, Kind=Deployment"},
        {"{\"kind\":\"Deployment\"}", 400, "invalid object type: /, Kind=Deployment"},
        {"[1]", 400,
         "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
         "unmarshal "
         "array into Go value of type map[string]interface {}"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct life l = {0};
        struct sl_manage_id by = manager("k", 1);
        by.api_version = "apps/v1";
        assert_true(apply(&l, deployment(), by, false, cases[i].body) < 0);
        assert_string_equal(sl_buf_str(&l.err.text), cases[i].text);
        assert_int_equal(l.err.status, cases[i].status);
        life_free(&l);
    }
}

/* Elements in the API server's order, whatever their texts look like. */
static void test_order(void **state) {
    struct life l = {0};
    struct sl_manage_id by = manager("k", 1);
    (void)state;
    by.api_version = "apps/v1";
    assert_int_equal(
        apply(&l, deployment(), by, false,
              POD("\"containers\":[{\"name\":\"a b\"},{\"name\":\"a\"},{\"name\":\"a\\\"\"},"
                  "{\"name\":\"c\",\"ports\":[{\"containerPort\":443},{\"containerPort\":80},"
                  "{\"containerPort\":80,\"protocol\":\"UDP\"}]}]")),
        0);
    expect_managers(&l, "k A{\"f:spec\":{\"f:template\":{\"f:spec\":{\"f:containers\":{"
                        "\"k:{\\\"name\\\":\\\"a\\\"}\":{\".\":{},\"f:name\":{}},"
                        "\"k:{\\\"name\\\":\\\"a b\\\"}\":{\".\":{},\"f:name\":{}},"
                        "\"k:{\\\"name\\\":\\\"a\\\\\\\"\\\"}\":{\".\":{},\"f:name\":{}},"
                        "\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:name\":{},\"f:ports\":{"
                        "\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},"
                        "\"f:containerPort\":{}},"
                        "\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"UDP\\\"}\":{\".\":{},"
                        "\"f:containerPort\":{},\"f:protocol\":{}},"
                        "\"k:{\\\"containerPort\\\":443,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},"
                        "\"f:containerPort\":{}}}}}}}}}");
    life_free(&l);
}

/* Times alone are no reason to write. */
static void test_settle(void **state) {
    struct life l = {0};
    (void)state;
    update(&l, config_map(), manager("m", 1), CM("", "\"a\":\"1\""));
    yyjson_doc *old = yyjson_read(l.text, strlen(l.text), 0);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *v = yyjson_val_mut_copy(doc, yyjson_doc_get_root(old));
    yyjson_mut_val *meta = yyjson_mut_obj_get(v, "metadata");
    yyjson_mut_val *entry = yyjson_mut_arr_get_first(yyjson_mut_obj_get(meta, "managedFields"));

    (void)yyjson_mut_set_str(yyjson_mut_obj_get(entry, "time"), "2026-01-01T00:00:00Z");
    (void)yyjson_mut_obj_add_str(doc, meta, "resourceVersion", "5");
    assert_true(sl_manage_settle(doc, yyjson_doc_get_root(old), v));
    entry = yyjson_mut_arr_get_first(yyjson_mut_obj_get(meta, "managedFields"));
    assert_string_equal(yyjson_mut_get_str(yyjson_mut_obj_get(entry, "time")),
                        "1970-01-01T00:00:01Z");

    (void)yyjson_mut_set_str(yyjson_mut_obj_get(entry, "time"), "2026-01-01T00:00:00Z");
    (void)yyjson_mut_obj_add_str(doc, meta, "resourceVersion", "5");
    (void)yyjson_mut_obj_add_str(doc, yyjson_mut_obj_get(v, "data"), "b", "2");
    assert_false(sl_manage_settle(doc, yyjson_doc_get_root(old), v));
    entry = yyjson_mut_arr_get_first(yyjson_mut_obj_get(meta, "managedFields"));
    assert_string_equal(yyjson_mut_get_str(yyjson_mut_obj_get(entry, "time")),
                        "2026-01-01T00:00:00Z");
    assert_string_equal(yyjson_mut_get_str(yyjson_mut_obj_get(meta, "resourceVersion")), "5");
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(old);
    life_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),           cmocka_unit_test(test_no_name),
        cmocka_unit_test(test_reset),           cmocka_unit_test(test_said),
        cmocka_unit_test(test_ancient_changes), cmocka_unit_test(test_kubectl),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_order),
        cmocka_unit_test(test_settle),          cmocka_unit_test(test_odd_elements),
        cmocka_unit_test(test_no_fields),       cmocka_unit_test(test_deep_elements),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
