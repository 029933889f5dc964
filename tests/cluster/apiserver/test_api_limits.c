/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is within all limits when it arrives and is made into something that is not: by patches that
 * copy, by webhooks, by rules that cost more than they look. Each test is what somebody may send.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "cluster/store/store.h"
#include "kube/client/secret.h"
#include "lib/json/json.h"

#define CM "/api/v1/namespaces/default/configmaps"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define THINGS "/apis/example.com/v1/namespaces/default/things"

/* A definition of things; 'version' is put into its version, 'schema' is that of spec. */
static void define(struct api *a, const char *version, const char *schema) {
    struct sl_buf b = SL_BUF((size_t)1 << 20);

    sl_buf_printf(
        &b,
        "{\"metadata\":{\"name\":\"things.example.com\"},\"spec\":{\"group\":\"example.com\","
        "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"things\",\"kind\":\"Thing\"},"
        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true%s,"
        "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
        "\"spec\":%s,\"status\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}",
        version, schema);
    if (api_post(a, CRDS, sl_buf_str(&b)) != 201)
        print_error("%s\n", a->body);
    assert_int_equal(a->status, 201);
    sl_buf_done(&b);
    while (api_get(a, THINGS) == 404)
        ;
}

static const char any_object[] =
    "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}";

#define THING(name, rest)                                                                          \
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"" name         \
    "\"}" rest "}"

/* ---- scale ---- */

static void test_scale_has_a_selector(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    define(&a,
           ",\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.replicas\","
           "\"statusReplicasPath\":\".status.replicas\","
           "\"labelSelectorPath\":\".status.selector\"}}",
           any_object);
    assert_int_equal(api_post(&a, THINGS, THING("t", ",\"spec\":{\"replicas\":3}")), 201);
    assert_int_equal(api_get(&a, THINGS "/t/scale"), 200); /* there is none */
    assert_string_equal(api_at(&a, "spec.replicas"), "3");
    assert_string_equal(api_at(&a, "status.selector"), "");
    assert_int_equal(
        api_patch(&a, THINGS "/t/status", "merge",
                  "{\"status\":{\"replicas\":2,\"selector\":\"app=x,tier in (a,b)\"}}"),
        200);
    assert_int_equal(api_get(&a, THINGS "/t/scale"), 200);
    assert_string_equal(api_at(&a, "status.replicas"), "2");
    assert_string_equal(api_at(&a, "status.selector"), "app=x,tier in (a,b)");
    assert_int_equal(api_patch(&a, THINGS "/t/status", "merge",
                               "{\"status\":{\"selector\":{\"matchLabels\":{\"app\":\"y\"}}}}"),
                     200);
    assert_int_equal(api_get(&a, THINGS "/t/scale"), 200);
    assert_string_equal(api_at(&a, "status.selector"), "app=y");
    assert_int_equal(api_patch(&a, THINGS "/t/scale", "merge", "{\"spec\":{\"replicas\":5}}"), 200);
    assert_string_equal(api_at(&a, "spec.replicas"), "5");
    assert_string_equal(api_at(&a, "status.selector"), "app=y");
    api_done(&a);
}

/* ---- patches that expand ---- */

/* "/spec/a/a/a" with n times "/a". */
static void put_path(struct sl_buf *b, uint32_t n) {
    sl_buf_puts(b, "/spec");
    for (uint32_t i = 0; i < n; i++)
        sl_buf_puts(b, "/a");
}

/* Each operation puts a copy of all that there is under its own deepest place. */
static void put_doubling(struct sl_buf *b, uint32_t n) {
    sl_buf_putc(b, '[');
    for (uint32_t i = 0, depth = 1; i < n; i++, depth *= 2) {
        sl_buf_printf(b, "%s{\"op\":\"copy\",\"from\":\"/spec\",\"path\":\"", i ? "," : "");
        put_path(b, depth);
        sl_buf_puts(b, "\"}");
    }
    sl_buf_putc(b, ']');
}

static void test_no_patch_makes_it_deep(void **state) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    struct api a;

    (void)state;
    api_init(&a);
    define(&a, "", any_object);
    assert_int_equal(api_post(&a, THINGS, THING("t", ",\"spec\":{}")), 201);
    put_doubling(&b, 18);
    assert_int_equal(api_patch(&a, THINGS "/t", "json", sl_buf_str(&b)), 422);
    sl_buf_clear(&b);
    put_doubling(&b, 5); /* few levels are no harm */
    assert_int_equal(api_patch(&a, THINGS "/t", "json", sl_buf_str(&b)), 200);

    /* step by step: each adds what is allowed */
    sl_buf_clear(&b);
    sl_buf_puts(&b, "[{\"op\":\"replace\",\"path\":\"/spec\",\"value\":{}}");
    for (uint32_t depth = 1; depth < 2000; depth += 50) {
        sl_buf_puts(&b, ",{\"op\":\"add\",\"path\":\"");
        put_path(&b, depth);
        sl_buf_puts(&b, "\",\"value\":");
        for (int i = 0; i < 50; i++)
            sl_buf_puts(&b, "{\"a\":");
        sl_buf_puts(&b, "{}");
        for (int i = 0; i < 50; i++)
            sl_buf_puts(&b, "}");
        sl_buf_puts(&b, "}");
    }
    sl_buf_puts(&b, "]");
    assert_int_equal(api_patch(&a, THINGS "/t", "json", sl_buf_str(&b)), 422);

    /* or moves what is there below itself */
    sl_buf_clear(&b);
    sl_buf_puts(&b, "[{\"op\":\"replace\",\"path\":\"/spec\",\"value\":{\"a\":{}}}");
    for (int i = 0; i < 3000; i++)
        sl_buf_puts(&b, ",{\"op\":\"move\",\"from\":\"/spec/a\",\"path\":\"/spec/b\"},"
                        "{\"op\":\"add\",\"path\":\"/spec/a\",\"value\":{}},"
                        "{\"op\":\"move\",\"from\":\"/spec/b\",\"path\":\"/spec/a/a\"}");
    sl_buf_puts(&b, "]");
    assert_int_equal(api_patch(&a, THINGS "/t", "json", sl_buf_str(&b)), 422);
    assert_int_equal(api_get(&a, THINGS "/t"), 200);
    api_done(&a);
    sl_buf_done(&b);
}

/* managedFields are deeper than the field itself. */
static void test_no_account_makes_it_deep(void **state) {
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    struct api a;

    (void)state;
    api_init(&a);
    define(&a, "", any_object);
    for (int levels = 100; levels <= 126; levels += 26) {
        sl_buf_clear(&b);
        sl_buf_puts(&b, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{"
                        "\"name\":\"t\"},\"spec\":");
        for (int i = 0; i < levels; i++)
            sl_buf_puts(&b, "{\"a\":");
        sl_buf_puts(&b, "1");
        for (int i = 0; i < levels; i++)
            sl_buf_puts(&b, "}");
        sl_buf_puts(&b, "}");
        assert_int_equal(api_post(&a, THINGS, sl_buf_str(&b)), levels == 100 ? 201 : 400);
        assert_int_equal(api_post(&a, THINGS "?dryRun=All", sl_buf_str(&b)),
                         levels == 100 ? 409 : 400);
        assert_int_equal(api_delete(&a, THINGS "/t", NULL), levels == 100 ? 200 : 404);
    }
    api_done(&a);
    sl_buf_done(&b);
}

static void test_no_patch_makes_it_large(void **state) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    struct api a;

    (void)state;
    api_init(&a);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"");
    for (int i = 0; i < 100000; i++)
        sl_buf_puts(&b, "x");
    sl_buf_puts(&b, "\"}}");
    assert_int_equal(api_post(&a, CM, sl_buf_str(&b)), 201);
    sl_buf_clear(&b);
    for (int i = 0; i < 20; i++)
        sl_buf_printf(&b, "%c{\"op\":\"copy\",\"from\":\"/data/a\",\"path\":\"/data/b%d\"}",
                      i ? ',' : '[', i);
    sl_buf_puts(&b, "]");
    assert_int_equal(api_patch(&a, CM "/c", "json", sl_buf_str(&b)), 422);
    assert_int_equal(api_patch(&a, CM "/c?dryRun=All", "json", sl_buf_str(&b)), 422);
    sl_buf_clear(&b);
    for (int i = 0; i < 40; i++)
        sl_buf_printf(&b, "%c{\"op\":\"copy\",\"from\":\"/data/a\",\"path\":\"/data/b\"}",
                      i ? ',' : '[');
    sl_buf_puts(&b, "]");
    assert_int_equal(api_patch(&a, CM "/c", "json", sl_buf_str(&b)), 422);

    /* many operations on many keys */
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"many\"},\"data\":{\"k\":\"\"");
    for (int i = 0; i < 100000; i++)
        sl_buf_printf(&b, ",\"%d\":\"\"", i);
    sl_buf_puts(&b, "}}");
    assert_int_equal(api_do(&a, "POST " CM "?fieldManager=x", NULL, NULL, sl_buf_str(&b)), 413);
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"many\"},\"data\":{\"k\":\"\"");
    for (int i = 0; i < 40000; i++)
        sl_buf_printf(&b, ",\"%d\":\"\"", i);
    sl_buf_puts(&b, "}}");
    assert_int_equal(api_post(&a, CM, sl_buf_str(&b)), 201);
    sl_buf_clear(&b);
    for (int i = 0; i < 9999; i++)
        sl_buf_printf(&b, "%c{\"op\":\"move\",\"from\":\"/data/%d\",\"path\":\"/data/%d\"}",
                      i ? ',' : '[', 39999 - i, 100000 + i);
    sl_buf_puts(&b, "]");
    assert_int_equal(api_patch(&a, CM "/many", "json", sl_buf_str(&b)), 413);
    api_done(&a);
    sl_buf_done(&b);
}

static void test_a_path_has_no_nul(void **state) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, CM, "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"b\"}}"),
                     201);
    sl_buf_puts(&b, "[{\"op\":\"add\",\"path\":\"/data/\\u0000");
    for (int i = 0; i < 100; i++)
        sl_buf_puts(&b, "~1/AAAA");
    sl_buf_puts(&b, "\",\"value\":\"x\"}]");
    for (int i = 0; i < 5; i++)
        assert_int_equal(api_patch(&a, CM "/c", "json", sl_buf_str(&b)), 422);
    assert_null(strstr(a.body, "AAAA"));
    api_done(&a);
    sl_buf_done(&b);
}

/* ---- managers ---- */

static void put_managed(struct sl_buf *b, int managers, int keys) {
    sl_buf_puts(b, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\","
                   "\"managedFields\":[");
    for (int i = 0; i < managers; i++)
        sl_buf_printf(b,
                      "%s{\"manager\":\"m%d\",\"operation\":\"Apply\",\"apiVersion\":\"v1\","
                      "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:k%d\":{}}}}",
                      i ? "," : "", i, i % keys);
    sl_buf_puts(b, "]},\"data\":{");
    for (int i = 0; i < keys; i++)
        sl_buf_printf(b, "%s\"k%d\":\"v\"", i ? "," : "", i);
    sl_buf_puts(b, "}}");
}

static void test_many_managers(void **state) {
    static const char apply[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                "\"name\":\"c\"},\"data\":{\"mine\":\"x\"}}";
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    char path[100];
    struct api a;

    (void)state;
    api_init(&a);
    put_managed(&b, 0, 500);
    assert_int_equal(api_post(&a, CM, sl_buf_str(&b)), 201);
    sl_buf_clear(&b);
    put_managed(&b, 1000, 500);
    assert_int_equal(api_put(&a, CM "/c", sl_buf_str(&b)), 200);
    assert_int_equal(api_size(&a, "metadata.managedFields"), 1000);
    for (int i = 0; i < 5; i++) { /* each is one more */
        (void)snprintf(path, sizeof path, CM "/c?fieldManager=new%d", i);
        assert_int_equal(api_patch(&a, path, "apply", apply), 200);
        assert_int_equal(api_size(&a, "metadata.managedFields"), 1000);
    }
    assert_int_equal(api_patch(&a, CM "/c", "merge", "{\"data\":{\"k1\":\"w\"}}"), 200);
    assert_true(api_size(&a, "metadata.managedFields") <= 1000);
    assert_int_equal(api_patch(&a, CM "/c?fieldManager=new1", "apply", apply), 200);
    /* more than are read: as if it had no managers */
    sl_buf_clear(&b);
    put_managed(&b, 1020, 500);
    assert_int_equal(api_put(&a, CM "/c", sl_buf_str(&b)), 200);
    assert_true(api_size(&a, "metadata.managedFields") <= 1000);
    assert_int_equal(api_patch(&a, CM "/c?fieldManager=new9", "apply", apply), 200);
    api_done(&a);
    sl_buf_done(&b);
}

/* Every field in conflict is reported with its path, and one long key may be in all paths. */
static void test_long_conflicts(void **state) {
    enum { FIELDS = 2000, KEY = 200 << 10 };
    struct sl_buf b = SL_BUF((size_t)2 << 20);
    char path[100];
    struct api a;

    (void)state;
    api_init(&a);
    define(&a, "",
           "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\","
           "\"additionalProperties\":{\"type\":\"string\"}}}");
    for (int i = 0; i < 2; i++) {
        sl_buf_clear(&b);
        sl_buf_puts(&b, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{"
                        "\"name\":\"t\"},\"spec\":{\"");
        for (int k = 0; k < KEY; k++)
            sl_buf_putc(&b, 'k');
        sl_buf_puts(&b, "\":{");
        for (int k = 0; k < FIELDS; k++)
            sl_buf_printf(&b, "%s\"f%d\":\"%d\"", k ? "," : "", k, i);
        sl_buf_puts(&b, "}}}");
        (void)snprintf(path, sizeof path, THINGS "/t?fieldManager=m%d", i);
        assert_int_equal(api_patch(&a, path, "apply", sl_buf_str(&b)), i ? 409 : 201);
    }
    assert_ptr_equal(strstr(api_at(&a, "message"), "Apply failed with 2000 conflicts"),
                     api_at(&a, "message"));
    assert_true(api_size(&a, "details.causes") >= 1);
    assert_in_range(a.len, 1, 4 << 20);
    api_done(&a);
    sl_buf_done(&b);
}

/* What kubectl applied is written into an annotation, where a letter may take six. */
static void test_a_long_annotation(void **state) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, CM,
                              "{\"metadata\":{\"name\":\"c\",\"annotations\":{\"kubectl.kubernetes."
                              "io/last-applied-configuration\":\"{}\"}}}"),
                     201);
    sl_buf_puts(&b, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},"
                    "\"data\":{\"a\":\"");
    for (int i = 0; i < 2900 << 10; i++)
        sl_buf_putc(&b, '<');
    sl_buf_puts(&b, "\"}}");
    int status = api_patch(&a, CM "/c?fieldManager=kubectl&force=true", "apply", sl_buf_str(&b));
    assert_true(status == 413 || status == 422);
    api_done(&a);
    sl_buf_done(&b);
}

/* The annotation has what kubectl applied client-side, and a client may write anything into it. */
static void test_a_deep_annotation(void **state) {
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    struct api a;

    (void)state;
    api_init(&a);
    sl_buf_puts(&b,
                "{\"metadata\":{\"name\":\"c\",\"annotations\":{"
                "\"kubectl.kubernetes.io/last-applied-configuration\":"
                "\"{\\\"apiVersion\\\":\\\"v1\\\",\\\"kind\\\":\\\"ConfigMap\\\",\\\"data\\\":");
    for (int i = 0; i < 120000; i++)
        sl_buf_putc(&b, '[');
    for (int i = 0; i < 120000; i++)
        sl_buf_putc(&b, ']');
    sl_buf_puts(&b, "}\"}},\"data\":{\"a\":\"b\"}}");
    assert_int_equal(api_post(&a, CM "?fieldManager=kubectl-client-side-apply", sl_buf_str(&b)),
                     201);
    assert_int_equal(api_patch(&a, CM "/c?fieldManager=kubectl", "apply",
                               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                               "\"name\":\"c\"},\"data\":{\"a\":\"c\"}}"),
                     409);
    api_done(&a);
    sl_buf_done(&b);
}

/* ---- rules and patterns that cost ---- */

static double cpu_seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define PATTERNS                                                                                   \
    "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\",\"items\":{"                   \
    "\"type\":\"string\",\"pattern\":\"%s\"}}}}"
#define RULES(fields, rule)                                                                        \
    "{\"type\":\"object\",\"properties\":{" fields                                                 \
    "},\"x-kubernetes-validations\":[{\"rule\":\"" rule "\",\"message\":\"m\"}]}"
#define TEXTS "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define MAPS                                                                                       \
    "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":{"          \
    "\"type\":\"string\"}}}"

/* n items, each a text of 'len' times 'a' with an end, or a map of so many. */
static void put_items(struct sl_buf *b, uint32_t n, uint32_t len, bool maps, const char *end) {
    sl_buf_puts(b, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{"
                   "\"name\":\"t\"},\"spec\":{\"l\":[");
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_puts(b, i ? "," : "");
        sl_buf_putc(b, maps ? '{' : '"');
        for (uint32_t k = 0; k < len; k++) {
            if (maps) /* backwards in every second */
                sl_buf_printf(b, "%s\"%u\":\"\"", k ? "," : "", i % 2 ? len - k : k + 1);
            else
                sl_buf_putc(b, 'a');
        }
        sl_buf_puts(b, maps ? "}" : end);
    }
    sl_buf_puts(b, "]}}");
}

static void test_costly_rules(void **state) {
    static const struct {
        const char *schema;
        uint32_t n, len;
        bool maps;
    } cases[] = {
        {RULES(TEXTS, "!self.l.exists(x, x.matches('^(a+)+$'))"), 100, 940, false},
        {RULES(TEXTS, "!self.l.exists(x, x.matches('(a+)+b'))"), 100, 940, false},
        {RULES(TEXTS, "!self.l.exists(x, x.matches('(a|a)*c' + x))"), 100, 940, false},
        {RULES(TEXTS, "!self.l.exists(x, x.matches('^(a+)+$'))"), 1, 94000, false},
        {RULES(TEXTS, "self.l.all(x, self.l.all(y, size(x) + size(y) >= 0))"), 100, 10000, false},
        {RULES(TEXTS, "self.l.all(x, self.l.all(y, !(x + y).contains('b')))"), 100, 10000, false},
        {RULES(TEXTS, "self.l.all(x, self.l.all(y, x == y && x <= y && x in [y]))"), 100, 10000,
         false},
        {RULES(TEXTS, "self.l.all(x, self.l.all(y, self.l.all(z, x == z)))"), 1000, 10, false},
        {RULES(MAPS, "self.l.all(x, self.l.all(y, x == y))"), 10, 10000, true},
        {RULES(MAPS, "self.l.all(x, x.all(k, x[k] == '' && has(x.a) == false))"), 10, 10000, true},
    };
    static const char *const patterns[] = {"^(a+)+$", "(a+)+b", "(a|a)*c", "a*a*a*c"};
    struct sl_buf b = SL_BUF((size_t)4 << 20), schema = SL_BUF(4096);

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases) + SL_LEN(patterns); i++) {
        bool rule = i < SL_LEN(cases);
        struct api a;

        sl_buf_clear(&b);
        sl_buf_clear(&schema);
        if (rule) {
            put_items(&b, cases[i].n, cases[i].len, cases[i].maps, "!\"");
            sl_buf_puts(&schema, cases[i].schema);
        } else {
            put_items(&b, 1000, 940, false, "!\"");
            sl_buf_printf(&schema, PATTERNS, patterns[i - SL_LEN(cases)]);
        }
        api_init(&a);
        define(&a, "", sl_buf_str(&schema));
        double before = cpu_seconds();
        int status = api_post(&a, THINGS, sl_buf_str(&b));
        double took = cpu_seconds() - before;
        if (took > 1.0)
            print_error("%s: %d after %.2f s\n", sl_buf_str(&schema), status, took);
        if (getenv("SL_TEST_TIMES"))
            print_message("%.3f s %d %s\n", took, status, sl_buf_str(&schema));
        assert_true(getenv("SL_MEMCHECK") || took < 1.0); /* far less; sanitised builds are slow */
        assert_true(status == 201 || status == 422);
        api_done(&a);
    }
    sl_buf_done(&b);
    sl_buf_done(&schema);
}

/* What takes the square of their length takes 1.8 s in a release build. */
#if defined(__OPTIMIZE__) && !SL_SANITISED
#define LISTS_SECONDS 0.6
#else
#define LISTS_SECONDS 2.0
#endif

/* Lists and maps that are found by their keys, in an update that turns them round. */
static void test_long_lists_are_compared(void **state) {
    struct sl_buf b = SL_BUF((size_t)4 << 20);
    struct api a;

    (void)state;
    api_init(&a);
    define(&a, "",
           "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\","
           "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"k\"],"
           "\"items\":{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{"
           "\"k\":{\"type\":\"string\"},\"v\":{\"type\":\"string\"}},"
           "\"x-kubernetes-validations\":[{\"rule\":\"oldSelf.k == self.k\"}]}},"
           "\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\","
           "\"x-kubernetes-validations\":[{\"rule\":\"oldSelf != self\"}]}}}}");
    for (int turned = 0; turned < 2; turned++) {
        const int n = 8000;
        sl_buf_clear(&b);
        sl_buf_puts(&b, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{"
                        "\"name\":\"t\",\"managedFields\":[{}]},\"spec\":{\"l\":[");
        for (int i = 0; i < n; i++)
            sl_buf_printf(&b, "%s{\"k\":\"%d\",\"v\":\"%d\"}", i ? "," : "", turned ? n - i : i + 1,
                          turned);
        sl_buf_puts(&b, "],\"m\":{");
        for (int i = 0; i < n; i++)
            sl_buf_printf(&b, "%s\"%d\":\"%d\"", i ? "," : "", turned ? n - i : i + 1, turned);
        sl_buf_puts(&b, "}}}");
        double before = cpu_seconds();
        int status = turned ? api_patch(&a, THINGS "/t", "merge", sl_buf_str(&b))
                            : api_post(&a, THINGS, sl_buf_str(&b));
        double took = cpu_seconds() - before;
        if (status > 201 || took > 1.0)
            print_error("%d after %.2f s: %.300s\n", status, took, a.body);
        assert_int_equal(status, turned ? 200 : 201);
        assert_true(getenv("SL_MEMCHECK") || took < LISTS_SECONDS);
    }
    api_done(&a);
    sl_buf_done(&b);
}

/* ---- answers of webhooks ---- */

struct hook {
    const char *patch;    /* plain; NULL: none */
    const char *response; /* instead of all that */
};

static int review(void *ctx, const char *path, const char *body, size_t len, struct sl_buf *out) {
    const struct hook *h = ctx;
    yyjson_doc *doc = yyjson_read(body, len, 0);
    const char *uid = sl_json_str(yyjson_doc_get_root(doc), "request.uid");

    if (h->response) {
        const char *at = strstr(h->response, "UID");
        sl_buf_add(out, h->response, at ? (size_t)(at - h->response) : strlen(h->response));
        if (at)
            sl_buf_printf(out, "%s%s", uid, at + 3);
    } else {
        sl_buf_printf(out, "{\"response\":{\"uid\":\"%s\",\"allowed\":true", uid);
        if (h->patch && strncmp(path, "/mutate", 7) == 0) {
            sl_buf_puts(out, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
            sl_base64_encode(out, h->patch, strlen(h->patch));
            sl_buf_putc(out, '"');
        }
        sl_buf_puts(out, "}}");
    }
    yyjson_doc_free(doc);
    return 200;
}

#define JOB(name)                                                                                  \
    "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}},"      \
    "\"spec\":{\"suspend\":true,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","              \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"

static void test_webhooks_make_objects(void **state) {
    static const struct {
        const char *patch;
        int status;
    } cases[] = {
        {"[{\"op\":\"replace\",\"path\":\"/metadata/labels\",\"value\":[1,2,3]}]", 500},
        {"[{\"op\":\"replace\",\"path\":\"/metadata/labels\",\"value\":{\"a\":1}}]", 500},
        {"[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":\"x\"}]", 500},
        {"[{\"op\":\"replace\",\"path\":\"/metadata\",\"value\":7}]", 500},
        {"[{\"op\":\"replace\",\"path\":\"/spec\",\"value\":[]}]", 500},
        {"[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers\",\"value\":{}}]", 500},
        {"[{\"op\":\"replace\",\"path\":\"\",\"value\":[]}]", 500},
        {"[{\"op\":\"replace\",\"path\":\"/kind\",\"value\":\"Pod\"}]", 500},
        {"[{\"op\":\"replace\",\"path\":\"/apiVersion\",\"value\":\"v1\"}]", 500},
        {"[{\"op\":\"replace\",\"path\":\"/metadata/name\",\"value\":\"other\"}]", 201},
        {"[{\"op\":\"replace\",\"path\":\"/metadata/uid\",\"value\":\"other\"}]", 201},
        {"[{\"op\":\"add\",\"path\":\"/metadata/labels/a\",\"value\":\"not a label\"}]", 422},
        {"{}", 500},
        {"[[]]", 500},
        {"[{\"op\":\"add\",\"path\":\"/metadata/labels/a\",\"value\":\"b\"}]", 201},
    };
    struct hook h = {0};
    struct api a;

    (void)state;
    api_init_spec(&a, (struct sl_apiserver_spec){.review = review, .ctx = &h});
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        h.patch = cases[i].patch;
        int status = api_post(&a, JOBS, JOB("j"));
        if (status != cases[i].status)
            print_error("%s: %d %s\n", h.patch, status, a.body);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(api_get(&a, JOBS "?labelSelector=kueue.x-k8s.io/queue-name"), 200);
        if (status == 201)
            assert_int_equal(api_delete(&a, JOBS "/j?propagationPolicy=Background", NULL), 200);
    }

    /* deep, and large */
    struct sl_buf b = SL_BUF((size_t)16 << 20);
    sl_buf_puts(&b, "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":");
    for (int i = 0; i < 200000; i++)
        sl_buf_putc(&b, '[');
    for (int i = 0; i < 200000; i++)
        sl_buf_putc(&b, ']');
    sl_buf_puts(&b, "}]");
    h.patch = sl_buf_str(&b);
    assert_int_equal(api_post(&a, JOBS, JOB("j")), 500);
    sl_buf_clear(&b);
    sl_buf_puts(&b, "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"a\":\"");
    for (int i = 0; i < 4 << 20; i++)
        sl_buf_putc(&b, 'x');
    sl_buf_puts(&b, "\"}}]");
    h.patch = sl_buf_str(&b);
    assert_int_equal(api_post(&a, JOBS, JOB("j")), 422);
    api_done(&a);
    sl_buf_done(&b);
}

static void test_answers_of_webhooks(void **state) {
    static const struct {
        const char *response;
        int status;
    } cases[] = {
        {"", 500},
        {"null", 500},
        {"[]", 500},
        {"{\"response\":[]}", 500},
        {"{\"response\":{\"allowed\":true}}", 500},
        {"{\"response\":{\"uid\":[],\"allowed\":true}}", 500},
        {"{\"response\":{\"uid\":\"other\",\"allowed\":true}}", 500},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":\"yes\"}}", 500},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":false,\"status\":[]}}", 500},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":false,\"status\":{\"code\":99999999999}}}",
         400},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":false,\"status\":{\"code\":404,\"message\":7}}"
         "}",
         404},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":true,\"patch\":{}}}", 500},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":true,\"patch\":\"%%%\"}}", 500},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":true,\"patchType\":\"Other\",\"patch\":\"W10="
         "\"}}",
         500},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":true,\"patch\":\"AAAA\"}}", 500},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":true,\"warnings\":{\"a\":1}}}", 500},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":true,\"warnings\":[1,[],\"w\\u0000x\"]}}",
         201},
        {"{\"response\":{\"uid\":\"UID\",\"allowed\":true}}", 201},
    };
    struct hook h = {0};
    struct api a;

    (void)state;
    api_init_spec(&a, (struct sl_apiserver_spec){.review = review, .ctx = &h});
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        h.response = cases[i].response;
        int status = api_post(&a, JOBS, JOB("j"));
        if (status != cases[i].status)
            print_error("%s: %d %s\n", h.response, status, a.body);
        assert_int_equal(status, cases[i].status);
        if (status == 201)
            assert_int_equal(api_delete(&a, JOBS "/j?propagationPolicy=Background", NULL), 200);
    }
    api_done(&a);
}

/* ---- definitions that come and go ---- */

/* What is kept of labels, for selectors, counts as stored. */
static void test_labels_are_counted(void **state) {
    struct sl_buf b = SL_BUF(SL_STORE_MAX_OBJECT);
    struct sl_apiserver_stats stats[3];
    struct api a;

    (void)state;
    api_init(&a);
    sl_apiserver_stats(a.server, &stats[0]);
    for (int i = 0; i < 2; i++) {
        sl_buf_clear(&b);
        sl_buf_printf(&b, "{\"metadata\":{\"name\":\"c%d\",\"%s\":{", i,
                      i ? "labels" : "annotations");
        for (int k = 0; k < 10000; k++)
            sl_buf_printf(&b, "%s\"k%d\":\"\"", k ? "," : "", k);
        sl_buf_puts(&b, "}}}");
        assert_int_equal(api_post(&a, CM, sl_buf_str(&b)), 201);
        sl_apiserver_stats(a.server, &stats[1 + i]);
    }
    assert_true(stats[2].bytes - stats[1].bytes >
                stats[1].bytes - stats[0].bytes + 10000 * 2 * sizeof(char *));
    sl_buf_done(&b);
    api_done(&a);
}

/* More of them than there may be at a time, each with an object. */
static void test_ever_new_definitions(void **state) {
    struct sl_buf b = SL_BUF((size_t)1 << 20);
    struct sl_apiserver_stats before = {0}, after = {0};
    char path[200];
    struct api a;

    (void)state;
    api_init(&a);
    for (uint32_t i = 0; i < SL_STORE_RESOURCES + 10; i++) {
        sl_buf_clear(&b);
        sl_buf_printf(&b,
                      "{\"metadata\":{\"name\":\"things%u.example.com\"},\"spec\":{\"group\":"
                      "\"example.com\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"things%u\","
                      "\"kind\":\"Thing%u\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
                      "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
                      i, i, i);
        assert_int_equal(api_post(&a, CRDS, sl_buf_str(&b)), 201);
        (void)snprintf(path, sizeof path, "/apis/example.com/v1/things%u", i);
        sl_buf_clear(&b);
        sl_buf_printf(&b,
                      "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing%u\",\"metadata\":{"
                      "\"name\":\"x\"}}",
                      i);
        assert_int_equal(api_post(&a, path, sl_buf_str(&b)), 201);
        (void)snprintf(path, sizeof path, CRDS "/things%u.example.com", i);
        assert_int_equal(api_delete(&a, path, NULL), 200);
        api_turn(&a, 3);
        if (i == 2000) /* the past of definitions is as long as it gets */
            sl_apiserver_stats(a.server, &before);
    }
    sl_apiserver_stats(a.server, &after);
    assert_in_range(after.bytes, 1, before.bytes + before.bytes / 50);
    sl_buf_done(&b);
    api_done(&a);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_are_counted),
        cmocka_unit_test(test_scale_has_a_selector),
        cmocka_unit_test(test_no_patch_makes_it_deep),
        cmocka_unit_test(test_no_account_makes_it_deep),
        cmocka_unit_test(test_no_patch_makes_it_large),
        cmocka_unit_test(test_a_path_has_no_nul),
        cmocka_unit_test(test_many_managers),
        cmocka_unit_test(test_long_conflicts),
        cmocka_unit_test(test_a_long_annotation),
        cmocka_unit_test(test_a_deep_annotation),
        cmocka_unit_test(test_costly_rules),
        cmocka_unit_test(test_long_lists_are_compared),
        cmocka_unit_test(test_webhooks_make_objects),
        cmocka_unit_test(test_answers_of_webhooks),
        cmocka_unit_test(test_ever_new_definitions),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("api_limits", tests, NULL, NULL);
}
