/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What needs most time for its length: the largest and densest bodies, definitions whose schemas
 * cost, and long patches and YAML. Each is answered in time, whatever the answer is.
 */
#include "timed.h"

#include <stdio.h>
#include <string.h>

#include "samples.h"

#define SOME (SLOWER > 1 ? 4 : 1) /* slow builds try every fourth of the largest bodies */

/* ---- the largest bodies ---- */

#define THINGS "/apis/example.com/v1/namespaces/default/things"
#define CONFIGS "/api/v1/namespaces/default/configmaps"
#define THING(name)                                                                                \
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"" name "\"},"
#define STORED_BYTES ((size_t)1400 << 10)
#define DENSE_BYTES ((size_t)400 << 10) /* with as many values as larger ones may have */

/* 'before', items until there are so many bytes, 'after'. In an item "@" is its number, and "~" the
 * number from the other end. */
static void fill(struct sl_buf *b, const char *before, const char *item, const char *after,
                 size_t bytes, int64_t most) {
    int64_t n = (int64_t)(bytes / (strlen(item) + 5)) + 1;

    if (most && n > most)
        n = most;
    sl_buf_clear(b);
    sl_buf_puts(b, before);
    for (int64_t i = 0; i < n && b->len + strlen(after) + 64 < bytes; i++) {
        sl_buf_puts(b, i ? "," : "");
        for (const char *p = item; *p;) {
            size_t len = strcspn(p, "@~");
            sl_buf_add(b, p, len);
            p += len;
            if (*p)
                sl_buf_printf(b, "%lld", (long long)(*p++ == '@' ? i : n - 1 - i));
        }
    }
    sl_buf_puts(b, after);
    assert_false(sl_buf_full(b));
}

/* Values of which most fit into a body, each with an error. */
static const struct dense {
    const char *field, *item;
    char open, close;
    int64_t most; /* 0: any number; where each has defaults, there may be so many */
} densest[] = {
    {"any\":{\"a", "0", '[', ']', 0},
    {"any\":{\"a", "[]", '[', ']', 0},
    {"any\":{\"a", "{}", '[', ']', 0},
    {"any\":{\"a", "{\"a\":0}", '[', ']', 0},
    {"any", "\"@\":0", '{', '}', 0},
    {"any", "\"a\":0", '{', '}', 0},
    {"numbers", "@", '[', ']', 0},
    {"numbers", "1", '[', ']', 0},
    {"set", "\"@\"", '[', ']', 0},
    {"set", "\"\"", '[', ']', 0},
    {"atomic", "{}", '[', ']', 0},
    {"plain", "[\"a\",\"b\"]", '[', ']', 0},
    {"plain", "[]", '[', ']', 0},
    {"unique", "1", '[', ']', 0},
    {"some", "{\"a\":@}", '[', ']', 0},
    {"map", "\"@\":\"\"", '{', '}', 0},
    {"map", "\"~\":\"\"", '{', '}', 0},
    {"maps", "\"@\":{\"a\":1}", '{', '}', 0},
    {"keyed", "{\"k\":\"@\"}", '[', ']', 20000},
    {"keyed", "{\"k\":\"~\",\"port\":2,\"v\":\"\",\"in\":{}}", '[', ']', 0},
    {"keyed", "{\"k\":\"\"}", '[', ']', 20000},
    {"pod", "\"a@\":0", '{', '}', 0},
    {"nobody", "0", '[', ']', 0}, /* is not in the schema */
};

static void put_dense(struct sl_buf *b, const struct dense *d, const char *head, size_t bytes) {
    char before[300], after[8];

    (void)snprintf(before, sizeof before, "%s\"spec\":{\"%s\":%c", head, d->field, d->open);
    (void)snprintf(after, sizeof after, "%c%s}}", d->close, strchr(d->field, ':') ? "}" : "");
    fill(b, before, d->item, after, bytes, d->most);
}

static void the_densest_bodies(void **state) {
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;

    (void)state;
    (void)timed_post(CRDS, sample_definition);
    (void)timed_post(THINGS, THING("dense") "\"spec\":{}}");
    for (size_t i = 0; i < SL_LEN(densest); i++) {
        const struct dense *d = &densest[i];
        if (i % SOME)
            continue;
        char what[60];
        (void)snprintf(what, sizeof what, "%s of %s", d->field, d->item);
        static const struct {
            const char *method, *path, *type, *query;
        } ways[] = {
            {"POST", THINGS, JSON, "dryRun=All"},
            {"PATCH", THINGS "/dense", MERGE, "dryRun=All"},
            {"PATCH", THINGS "/dense", APPLY, "dryRun=All&fieldManager=m"},
        };
        for (size_t k = 0; k < SL_LEN(ways); k++) {
            put_dense(&b, d, k ? THING("dense") : THING("denser"), DENSE_BYTES);
            timed_hold(&(struct request){.method = ways[k].method,
                                         .path = ways[k].path,
                                         .query = ways[k].query,
                                         .type = ways[k].type,
                                         .body = sl_buf_str(&b),
                                         .len = b.len},
                       0, what, "largest");
        }
    }
    sl_buf_done(&b);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- definitions that cost ---- */

/* Held too: "@" is the name of the kind. Its schema is that of spec. */
static int define(const char *plural, const struct sl_buf *schema) {
    struct sl_buf b = SL_BUF(BODY_BYTES);

    sl_buf_printf(&b,
                  "{\"metadata\":{\"name\":\"%s.time.io\"},\"spec\":{\"group\":\"time.io\","
                  "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},"
                  "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
                  "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":",
                  plural, plural, plural);
    sl_buf_puts(&b, sl_buf_str(schema));
    sl_buf_puts(&b, "}}}}]}}");
    assert_false(sl_buf_full(&b));
    timed_hold(&(struct request){.method = "POST",
                                 .path = CRDS,
                                 .query = "dryRun=All",
                                 .type = JSON,
                                 .body = sl_buf_str(&b),
                                 .len = b.len},
               0, plural, "its definition");
    const int status = timed_post(CRDS, sl_buf_str(&b));
    sl_buf_done(&b);
    return status;
}

struct costly {
    const char *name;
    /* The schema of spec, filled with as many items as there may be. */
    const char *before, *item, *after;
    int64_t many;
    /* What spec is then, likewise. */
    const char *spec_before, *spec_item, *spec_after;
    bool refused; /* such a definition is, in time */
};

#define FAR "{\"minimum\":1000000000},"
#define FAR4 FAR FAR FAR FAR
#define OBJECTS "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\",\"items\":{"
static const struct costly costly[] = {
    {"wides", OBJECTS "\"type\":\"object\",\"properties\":{", "\"property@\":{\"type\":\"string\"}",
     "}}}}}", 5000, "{\"l\":[", "{}", "]}", false},
    {"defaulted", OBJECTS "\"type\":\"object\",\"properties\":{",
     "\"property@\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":"
     "\"b\"}}}",
     "}}}}}", 3000, "{\"l\":[", "{}", "]}", false},
    {"needed", OBJECTS "\"type\":\"object\",\"required\":[", "\"property@\"",
     "],\"properties\":{\"a\":{\"type\":\"string\"}}}}}}", 5000, "{\"l\":[", "{}", "]}", false},
    {"words", OBJECTS "\"type\":\"string\",\"enum\":[", "\"word-@\"", "]}}}}", 20000, "{\"l\":[",
     "\"word-1999\"", "]}", false},
    {"longwords", OBJECTS "\"type\":\"string\",\"enum\":[", "\"e@\"", "]}}}}", 60000, "{\"l\":[",
     "\"e59999\"", "]}", false},
    {"nested", OBJECTS "\"type\":\"integer\",\"anyOf\":[",
     "{\"anyOf\":[" FAR4 FAR4 FAR4 FAR4 FAR4 FAR4 FAR4 FAR4 "{\"minimum\":1000000000}]}",
     ",{\"maximum\":5}]}}}}", 1000, "{\"l\":[", "0", "]}", false},
    {"choices",
     OBJECTS "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
             "\"anyOf\":[",
     "{\"required\":[\"a@\"]}", "]}}}}", 1000, "{\"l\":[", "{\"a999\":1}", "]}", false},
    {"ones", OBJECTS "\"type\":\"string\",\"oneOf\":[", "{\"enum\":[\"a@\"]}", "]}}}}", 1000,
     "{\"l\":[", "\"a77\"", "]}", false},
    {"alls", OBJECTS "\"type\":\"string\",\"allOf\":[", "{\"maxLength\":1@}", "]}}}}", 1000,
     "{\"l\":[", "\"a77\"", "]}", false},
    {"patterns", OBJECTS "\"type\":\"string\",\"allOf\":[", "{\"pattern\":\"a*b?@?\"}", "]}}}}",
     1000, "{\"l\":[", "\"a77\"", "]}", false},
    {"keys",
     OBJECTS
     "\"type\":\"string\"}},\"w\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
     "\"x-kubernetes-list-map-keys\":[\"a0\",\"a1\",\"a2\",\"a3\",\"a4\",\"a5\",\"a6\",\"a7\","
     "\"a8\",\"a9\",\"a10\",\"a11\",\"a12\",\"a13\",\"a14\",\"a15\"],\"items\":{\"type\":"
     "\"object\",\"properties\":{",
     "\"a@\":{\"type\":\"string\",\"default\":\"b\"}", "}}}}}", 16, "{\"w\":[",
     "{\"a15\":\"@\",\"a3\":\"~\"}", "]}", false},
    {"manykeys",
     OBJECTS
     "\"type\":\"string\"}},\"w\":{\"type\":\"array\",\"x-kubernetes-list-type\":"
     "\"map\",\"items\":{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
     "\"string\"}}},\"x-kubernetes-list-map-keys\":[",
     "\"a@\"", "]}}}", 50000, "", "", "", true},
    {"ruled",
     OBJECTS "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
             "\"properties\":{",
     "\"p@\":{\"type\":\"string\",\"x-kubernetes-validations\":[{\"rule\":\"self != 'q'\"}]}",
     "}}}}}", 3000, "{\"l\":[{", "\"u@\":1", "}]}", false},
};

static void definitions_that_cost(void **state) {
    struct sl_buf b = SL_BUF(BODY_BYTES), schema = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;

    (void)state;
    for (size_t i = 0; i < SL_LEN(costly); i++) {
        const struct costly *c = &costly[i];
        if (i % SOME)
            continue;
        char path[200], before[400];
        fill(&schema, c->before, c->item, c->after, STORED_BYTES, c->many);
        assert_int_equal(define(c->name, &schema), c->refused ? 422 : 201);
        if (c->refused)
            continue;
        (void)snprintf(path, sizeof path, "/apis/time.io/v1/namespaces/default/%s", c->name);
        (void)snprintf(before, sizeof before,
                       "{\"apiVersion\":\"time.io/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":"
                       "\"t\"},\"spec\":%s",
                       c->name, c->spec_before);
        char after[60];
        (void)snprintf(after, sizeof after, "%s}", c->spec_after);
        fill(&b, before, c->spec_item, after, STORED_BYTES, 0);
        timed_hold(&(struct request){.method = "POST",
                                     .path = path,
                                     .query = "dryRun=All",
                                     .type = JSON,
                                     .body = sl_buf_str(&b),
                                     .len = b.len},
                   schema.len, c->name, "an object");
    }
    sl_buf_done(&b);
    sl_buf_done(&schema);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- long keys ---- */

#define KEY_BYTES ((size_t)500 << 10)

/* 'before', a long key, 'after', items, 'end'. */
static void fill_below(struct sl_buf *b, const char *before, const char *after, const char *item,
                       const char *end) {
    struct sl_buf head = SL_BUF(2 * KEY_BYTES);

    sl_buf_puts(&head, before);
    for (size_t i = 0; i < KEY_BYTES; i++)
        sl_buf_putc(&head, 'k');
    sl_buf_puts(&head, after);
    assert_false(sl_buf_full(&head));
    fill(b, sl_buf_str(&head), item, end, STORED_BYTES, 0);
    sl_buf_done(&head);
}

/* The path of each field with an error begins with the key. */
static void keys_that_cost(void **state) {
    static const char schema[] =
        "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"properties\":{"
        "\"a\":{\"type\":\"string\"}}}}";
    static const char head[] = "{\"apiVersion\":\"time.io/v1\",\"kind\":\"longkeys\",\"metadata\":"
                               "{\"name\":\"t\"},\"spec\":{\"";
    static const char *const items[] = {"\"u@\":0", "\"a\":\"\"", "\"a\":0", "\"u\":{}"};
    static const char *const modes[] = {"dryRun=All&fieldValidation=Warn",
                                        "dryRun=All&fieldValidation=Strict"};
    struct sl_buf b = SL_BUF(BODY_BYTES), s = SL_BUF(4096);
    uint32_t slow = timed.too_slow;

    (void)state;
    sl_buf_puts(&s, schema);
    assert_int_equal(define("longkeys", &s), 201);
    (void)timed_post(CONFIGS, "{\"metadata\":{\"name\":\"long\"}}");
    for (size_t i = 0; i < SL_LEN(items); i++) {
        fill_below(&b, head, "\":{", items[i], "}}}");
        for (size_t k = 0; k < SL_LEN(modes); k++)
            timed_hold(&(struct request){.method = "POST",
                                         .path = "/apis/time.io/v1/namespaces/default/longkeys",
                                         .query = modes[k],
                                         .type = JSON,
                                         .body = sl_buf_str(&b),
                                         .len = b.len},
                       0, items[i], "below a long key");
        fill_below(&b, "{\"", "\":{", items[i], "}}");
        timed_hold(&(struct request){.method = "PATCH",
                                     .path = CONFIGS "/long",
                                     .query = "dryRun=All",
                                     .type = MERGE,
                                     .body = sl_buf_str(&b),
                                     .len = b.len},
                   0, items[i], "a patch below a long key");
    }
    sl_buf_done(&b);
    sl_buf_done(&s);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- what is being deleted ---- */

/* Nothing new may hold it, and what is new is reported. */
static void finalizers_that_cost(void **state) {
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;

    (void)state;
    (void)timed_post(CONFIGS, "{\"metadata\":{\"name\":\"held\",\"finalizers\":[\"x/y\"]}}");
    (void)timed_ask(&(struct request){.method = "DELETE", .path = CONFIGS "/held"});
    assert_non_null(strstr(sl_buf_str(&timed.answer.body), "deletionTimestamp"));
    for (int many = 0; many < 2; many++) {
        fill(&b, "{\"metadata\":{\"name\":\"held\",\"finalizers\":[\"x/y\",", "\"x/f@\"", "]}}",
             STORED_BYTES, many ? 0 : 1000);
        timed_hold(&(struct request){.method = "PUT",
                                     .path = CONFIGS "/held",
                                     .type = JSON,
                                     .body = sl_buf_str(&b),
                                     .len = b.len},
                   0, "finalizers", "of what is being deleted");
        assert_int_equal(timed.answer.status, 422);
    }
    sl_buf_done(&b);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- columns ---- */

/* As many columns as there may be, each of which reads all of an object. */
static void columns_that_cost(void **state) {
    static const char *const paths[] = {".spec.l[*].a", ".spec.l[?(@.b!=1)].a",
                                        ".spec.l[?(@.b=='x')]", ".spec.l[*].z[*].y", ".spec.*.a"};
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;

    (void)state;
    sl_buf_puts(&b,
                "{\"metadata\":{\"name\":\"columns.time.io\"},\"spec\":{\"group\":\"time.io\","
                "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"columns\",\"kind\":"
                "\"Column\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"
                "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}},"
                "\"additionalPrinterColumns\":[");
    for (int i = 0; i < 100; i++)
        sl_buf_printf(&b, "%s{\"name\":\"c%d\",\"type\":\"string\",\"jsonPath\":\"%s\"}",
                      i ? "," : "", i, paths[(size_t)i % SL_LEN(paths)]);
    sl_buf_puts(&b, "]}]}}");
    assert_int_equal(timed_post(CRDS, sl_buf_str(&b)), 201);
    fill(&b,
         "{\"apiVersion\":\"time.io/v1\",\"kind\":\"Column\",\"metadata\":{\"name\":\"t\"},"
         "\"spec\":{\"l\":[",
         "{\"b\":[]}", "]}}", STORED_BYTES / 2, 0);
    assert_int_equal(timed_post("/apis/time.io/v1/namespaces/default/columns", sl_buf_str(&b)),
                     201);
    timed_hold(&(struct request){.method = "GET",
                                 .path = "/apis/time.io/v1/namespaces/default/columns",
                                 .accept = TABLE},
               b.len, "an object", "as a row of a table");
    /* Those that are found with little effort are shown nevertheless. */
    assert_int_equal(timed.answer.status, 200);
    assert_non_null(strstr(sl_buf_str(&timed.answer.body), "\"cells\":[\"t\","));
    sl_buf_done(&b);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- webhooks ---- */

/* Each has a condition that is evaluated on the review that it would be sent. */
static void conditions_that_cost(void **state) {
    static const char path[] =
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    static const char *const conditions[] = {
        "object.kind == 'x'",
        "object.data.exists(a, object.data.exists(b, a == b + 'q'))",
    };
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;
    char item[600];

    (void)state;
    for (size_t i = 0; i < SL_LEN(conditions); i++) {
        (void)snprintf(
            item, sizeof item,
            "{\"name\":\"h@.example.com\",\"admissionReviewVersions\":[\"v1\"],\"clientConfig\":{"
            "\"url\":\"https://127.0.0.1:1/\"},\"sideEffects\":\"None\",\"failurePolicy\":"
            "\"Ignore\",\"rules\":[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":["
            "\"*\"],\"resources\":[\"configmaps\"]}],\"matchConditions\":[{\"name\":\"c\","
            "\"expression\":\"%s\"}]}",
            conditions[i]);
        fill(&b, "{\"metadata\":{\"name\":\"h\"},\"webhooks\":[", item, "]}", STORED_BYTES, 1000);
        assert_int_equal(timed_post(path, sl_buf_str(&b)), 201);
        size_t stored = timed.answer.body.len;
        fill(&b, "{\"metadata\":{\"name\":\"c\"},\"data\":{", "\"k@\":\"\"", "}}", DENSE_BYTES, 0);
        timed_hold(&(struct request){.method = "POST",
                                     .path = CONFIGS,
                                     .query = "dryRun=All",
                                     .type = JSON,
                                     .body = sl_buf_str(&b),
                                     .len = b.len},
                   stored, "1,000 webhooks", conditions[i]);
        assert_int_equal(timed.answer.status, 201);
        (void)timed_ask(&(struct request){
            .method = "DELETE",
            .path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/h"});
    }
    sl_buf_done(&b);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- patches and YAML that cost ---- */

static void patches_that_cost(void **state) {
    static const char *const ops[] = {
        "{\"op\":\"add\",\"path\":\"/spec/any/a/0\",\"value\":1}",
        "{\"op\":\"add\",\"path\":\"/spec/map/k@\",\"value\":\"\"}",
        "{\"op\":\"remove\",\"path\":\"/spec/any/a/-1\"}",
        "{\"op\":\"test\",\"path\":\"/spec/any/a/99999\",\"value\":0}",
        "{\"op\":\"replace\",\"path\":\"/spec/map/2@\",\"value\":\"\"}",
        "{\"op\":\"move\",\"from\":\"/spec/any/a/0\",\"path\":\"/spec/any/a/-\"}",
        "{\"op\":\"copy\",\"from\":\"/spec/any\",\"path\":\"/spec/any/b@\"}",
    };
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;

    (void)state;
    (void)timed_post(CRDS, sample_definition);
    sl_buf_puts(&b, THING("patched") "\"spec\":{\"map\":{");
    for (int i = 0; i < 20000; i++)
        sl_buf_printf(&b, "%s\"%d\":\"\"", i ? "," : "", i);
    sl_buf_puts(&b, "},\"any\":{\"a\":[0");
    for (int i = 0; i < 250000; i++)
        sl_buf_puts(&b, ",0");
    sl_buf_puts(&b, "]}}}");
    assert_int_equal(timed_post(THINGS, sl_buf_str(&b)), 201);
    size_t stored = timed.answer.body.len;
    for (size_t i = 0; i < SL_LEN(ops); i++) {
        fill(&b, "[", ops[i], "]", BODY_BYTES / 4, 10000);
        timed_hold(&(struct request){.method = "PATCH",
                                     .path = THINGS "/patched",
                                     .query = "dryRun=All",
                                     .type = JSON_PATCH,
                                     .body = sl_buf_str(&b),
                                     .len = b.len},
                   stored, ops[i], "10,000 operations");
    }
    sl_buf_done(&b);
    assert_int_equal(timed.too_slow, slow);
}

static void yaml_that_costs(void **state) {
    static const struct {
        const char *before, *item, *after;
        int64_t most;
    } texts[] = {
        {"# no JSON\n[", "0", "]", 0},
        {"a: [", "&a@ 0", "]", 4000},
        {"a: [", "{<<: *m}", "]\n", 30},
        {"", "\n%TAG !a@! a", "\n--- {}\n", 0},
    };
    struct sl_buf b = SL_BUF(BODY_BYTES), anchors = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;

    (void)state;
    for (size_t i = 0; i < SL_LEN(texts); i++) {
        const char *before = texts[i].before;
        if (i == 2) { /* a map of 4,000 keys, merged into others */
            fill(&anchors, "m: &m {", "k@: 0", "}\n", STORED_BYTES, 4000);
            sl_buf_puts(&anchors, texts[i].before);
            before = sl_buf_str(&anchors);
        }
        fill(&b, before, texts[i].item, texts[i].after, STORED_BYTES, texts[i].most);
        if (i == 1) { /* and aliases of the last */
            b.len--;
            for (int k = 0; k < 100000; k++)
                sl_buf_puts(&b, ",*a0");
            sl_buf_puts(&b, "]\n");
        }
        timed_hold(&(struct request){.method = "POST",
                                     .path = CONFIGS,
                                     .query = "dryRun=All",
                                     .type = YAML,
                                     .body = sl_buf_str(&b),
                                     .len = b.len},
                   0, texts[i].item, "YAML");
    }
    sl_buf_done(&b);
    sl_buf_done(&anchors);
    assert_int_equal(timed.too_slow, slow);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_densest_bodies), cmocka_unit_test(definitions_that_cost),
        cmocka_unit_test(keys_that_cost),     cmocka_unit_test(finalizers_that_cost),
        cmocka_unit_test(columns_that_cost),  cmocka_unit_test(conditions_that_cost),
        cmocka_unit_test(patches_that_cost),  cmocka_unit_test(yaml_that_costs),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("api_cost", tests, timed_set_up, timed_tear_down);
}
