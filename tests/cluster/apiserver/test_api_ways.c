/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways in that test_api_time does not take: bodies in protobuf, collections that are deleted, scale
 * and binding, patches that put lists in order, and objects that a thousand have written. Each is
 * answered in time, whatever the answer is.
 */
#include "timed.h"

#include <stdio.h>
#include <string.h>

#include "cluster/schema/protobuf/protobuf.h"
#include "samples.h"

#define CONFIGS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define THINGS "/apis/example.com/v1/namespaces/default/things"
#define LARGE ((size_t)1400 << 10)
#define DENSE ((size_t)400 << 10) /* of values of two bytes */
#define DRY "dryRun=All&fieldManager=m"
#define LISTED 1000 /* items of a list of Kubernetes' own kinds, just below what is refused */

/* The answer to the last one, which must be what is tested: one that is refused for another reason
 * takes no time. */
static void assert_answer(int status, const char *what) {
    if (timed.answer.status != status)
        fail_msg("%s: %d instead of %d: %.300s", what, timed.answer.status, status,
                 sl_buf_str(&timed.answer.body));
}

/* 'status' 0: any. */
static void hold(const char *method, const char *path, const char *query, const char *type,
                 struct sl_buf *body, size_t stored, const char *what, int status) {
    assert_false(body && sl_buf_full(body));
    timed_hold(&(struct request){.method = method,
                                 .path = path,
                                 .query = query,
                                 .type = type,
                                 .body = body ? sl_buf_str(body) : NULL,
                                 .len = body ? body->len : 0},
               stored, what, type ? type : "");
    if (status)
        assert_answer(status, what);
}

/* Stores it, and returns its size. */
static size_t store(const char *path, struct sl_buf *body) {
    assert_false(sl_buf_full(body));
    (void)timed_post(path, sl_buf_str(body));
    assert_answer(201, path);
    sl_buf_clear(body);
    return timed.answer.body.len;
}

/* ---- protobuf ---- */

static void put_varint(struct sl_buf *b, uint64_t v) {
    for (; v > 127; v >>= 7)
        sl_buf_putc(b, (char)(v | 128));
    sl_buf_putc(b, (char)v);
}

static void put_bytes(struct sl_buf *b, unsigned field, const char *s, size_t len) {
    put_varint(b, field << 3 | 2);
    put_varint(b, len);
    sl_buf_add(b, s, len);
}

static void put_text(struct sl_buf *b, unsigned field, const char *s) {
    put_bytes(b, field, s, strlen(s));
}

/* In 'item' "@" is its number and "=" the same text for all; in 'path' stand the fields above. */
struct wired {
    const char *what, *kind, *path;
    unsigned fields[3];
    unsigned field;
    enum { TEXTS, ENTRIES, ALIKE, NAMED, EMPTY, NUMBERS } item;
    int64_t most;
};

static const struct wired wired[] = {
    {"data", "ConfigMap", CONFIGS, {0}, 2, ENTRIES, 0},
    {"data of one key", "ConfigMap", CONFIGS, {0}, 2, ALIKE, 0},
    {"empty data", "ConfigMap", CONFIGS, {0}, 2, EMPTY, 0},
    {"metadata again", "ConfigMap", CONFIGS, {0}, 1, EMPTY, 0},
    {"unknown fields", "ConfigMap", CONFIGS, {0}, 100, NUMBERS, 0},
    {"unknown messages", "ConfigMap", CONFIGS, {0}, 100, EMPTY, 0},
    {"finalizers", "ConfigMap", CONFIGS, {1}, 14, TEXTS, 0},
    {"labels", "ConfigMap", CONFIGS, {1}, 11, ENTRIES, 0},
    {"annotations", "ConfigMap", CONFIGS, {1}, 12, ENTRIES, 0},
    {"owners", "ConfigMap", CONFIGS, {1}, 13, EMPTY, 0},
    {"managers", "ConfigMap", CONFIGS, {1}, 17, EMPTY, 0},
    {"containers", "Pod", PODS, {2}, 2, NAMED, LISTED},
    {"more containers", "Pod", PODS, {2}, 2, NAMED, 0},
    {"empty containers", "Pod", PODS, {2}, 2, EMPTY, 0},
    {"specs", "Pod", PODS, {0}, 2, EMPTY, 0},
    {"arguments", "Pod", PODS, {2, 2}, 4, TEXTS, 0},
    {"empty arguments", "Pod", PODS, {2, 2}, 4, EMPTY, 0},
    {"environment", "Pod", PODS, {2, 2}, 7, NAMED, LISTED},
    {"empty environment", "Pod", PODS, {2, 2}, 7, EMPTY, 0},
    {"node selector", "Pod", PODS, {2}, 7, ENTRIES, 0},
};

static void put_item(struct sl_buf *b, const struct wired *w, int64_t i) {
    struct sl_buf one = SL_BUF(200);
    char text[32];

    (void)snprintf(text, sizeof text, "k%lld", (long long)(w->item == ALIKE ? 0 : i));
    switch (w->item) {
    case TEXTS:
        put_text(b, w->field, text);
        break;
    case NUMBERS:
        put_varint(b, w->field << 3);
        put_varint(b, 1);
        break;
    case ENTRIES:
    case ALIKE:
    case NAMED:
        put_text(&one, 1, text);
        put_text(&one, 2, "v");
        put_bytes(b, w->field, one.s, one.len);
        break;
    case EMPTY:
        put_bytes(b, w->field, "", 0);
        break;
    }
    sl_buf_done(&one);
}

static void protobuf(void **state) {
    struct sl_buf in = SL_BUF(BODY_BYTES), out = SL_BUF(BODY_BYTES), meta = SL_BUF(200);
    uint32_t slow = timed.too_slow, asked = 0;

    (void)state;
    put_text(&meta, 1, "p");
    put_text(&meta, 3, "default");
    for (size_t i = 0; i < SL_LEN(wired); i++) {
        const struct wired *w = &wired[i];
        sl_buf_clear(&in);
        if (w->fields[0] == 1) {
            put_text(&in, 1, "p");
        } else if (w->fields[1]) { /* a container */
            put_text(&in, 1, "c");
            put_text(&in, 2, "i");
        } else if (!w->fields[0]) {
            put_bytes(&in, 1, meta.s, meta.len);
        }
        const size_t bytes = w->item == EMPTY ? DENSE : LARGE;
        for (int64_t k = 0; in.len < bytes && (!w->most || k < w->most); k++)
            put_item(&in, w, k);
        for (int f = 2; f >= 0; f--) {
            if (!w->fields[f])
                continue;
            sl_buf_clear(&out);
            if (f == 0 && w->fields[0] != 1)
                put_bytes(&out, 1, meta.s, meta.len);
            put_bytes(&out, w->fields[f], in.s, in.len);
            struct sl_buf swap = in;
            in = out;
            out = swap;
        }
        struct sl_buf type = SL_BUF(200);
        put_text(&type, 1, "v1");
        put_text(&type, 2, w->kind);
        sl_buf_clear(&out);
        sl_buf_add(&out, "k8s", 4);
        put_bytes(&out, 1, type.s, type.len);
        put_bytes(&out, 2, in.s, in.len);
        sl_buf_done(&type);
        hold("POST", w->path, DRY, SL_PROTOBUF_TYPE, &out, 0, w->what, 0);
        asked += timed.answer.status == 201;
    }
    assert_true(asked >= 6); /* they are what they are meant to be */
    sl_buf_done(&in);
    sl_buf_done(&out);
    sl_buf_done(&meta);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- collections that are deleted ---- */

/* Bytes that the deletion of one object may take as long as, besides its own. */
#define A_WRITE 512

/* Options that are long, and must not be read once for each object. */
static const struct {
    const char *what, *begin, *again, *end;
    int status;
} long_options[] = {
    {"a long precondition", "{\"dryRun\":[\"All\"],\"preconditions\":{\"uid\":\"", "u", "\"}}",
     409},
    {"dry over and over", "{\"dryRun\":[\"All\"", ",\"All\"", "]}", 200},
    {"an unknown precondition", "{\"dryRun\":[\"All\"],\"preconditions\":{\"junk\":\"", "u", "\"}}",
     200},
    {"grace that is an object", "{\"dryRun\":[\"All\"],\"gracePeriodSeconds\":{\"junk\":\"", "u",
     "\"}}", 200},
    {"a long version", "{\"dryRun\":[\"All\"],\"apiVersion\":\"", "v", "\"}", 200},
    {"a long kind", "{\"dryRun\":[\"All\"],\"kind\":\"", "k", "\"}", 400},
    {"orphans that are a list", "{\"dryRun\":[\"All\"],\"orphanDependents\":[0", ",0", "]}", 200},
};

static void deleted_collections(void **state) {
    struct sl_buf b = SL_BUF(BODY_BYTES), query = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;
    size_t stored = 0;
    const int many = 2000;

    (void)state;
    for (int i = 0; i < many; i++) {
        sl_buf_printf(
            &b,
            "{\"metadata\":{\"name\":\"many-%d\",\"labels\":{\"n\":\"n%d\",\"a\":\"b\"}%s}"
            ",\"data\":{\"a\":\"b\"}}",
            i, i, i % 2 ? ",\"finalizers\":[\"a.b/c\"]" : "");
        stored += store(CONFIGS, &b) + A_WRITE;
    }
    hold("DELETE", CONFIGS, "dryRun=All", NULL, NULL, stored, "all of them", 200);
    hold("DELETE", CONFIGS, "dryRun=All&labelSelector=n%3Dnone", NULL, NULL, stored, "none", 200);
    hold("DELETE", CONFIGS, "dryRun=All&fieldSelector=metadata.name!%3Dmany-7", NULL, NULL, stored,
         "all but one", 200);
    sl_buf_puts(&query, "dryRun=All&labelSelector=n+in+(x");
    for (int i = 0; i < 200; i++)
        sl_buf_printf(&query, ",n%d", i + 1000);
    sl_buf_puts(&query, ")");
    hold("DELETE", CONFIGS, sl_buf_str(&query), NULL, NULL, stored + query.len, "200 values", 200);
    hold("GET", CONFIGS, sl_buf_str(&query) + strlen("dryRun=All&"), NULL, NULL, stored + query.len,
         "200 values", 200);
    sl_buf_clear(&query);
    sl_buf_puts(&query, "dryRun=All&labelSelector=a");
    for (int i = 0; i < 60; i++)
        sl_buf_printf(&query, ",!x%d", i);
    hold("DELETE", CONFIGS, sl_buf_str(&query), NULL, NULL, stored + query.len, "60 terms", 200);
    for (size_t i = 0; i < SL_LEN(long_options); i++) {
        sl_buf_clear(&b);
        sl_buf_puts(&b, long_options[i].begin);
        while (b.len < LARGE)
            sl_buf_puts(&b, long_options[i].again);
        sl_buf_puts(&b, long_options[i].end);
        hold("DELETE", CONFIGS, "", JSON, &b, stored, long_options[i].what, long_options[i].status);
    }
    /* For good, once: there is no second try on a busy machine. */
    int64_t took = timed_ask(&(struct request){.method = "DELETE", .path = CONFIGS});
    assert_int_equal(timed.answer.status, 200);
    assert_true(took < (20000 + 100 * 1000 * (int64_t)(stored >> 10) / 1024) * SLOWER * 4);
    sl_buf_done(&b);
    sl_buf_done(&query);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- managers ---- */

/* So many, each with so many fields of its own below 'under'. */
static void put_managers(struct sl_buf *b, int managers, int fields, bool applied,
                         const char *version, const char *under, bool shared) {
    sl_buf_puts(b, "\"managedFields\":[");
    for (int i = 0; i < managers; i++) {
        sl_buf_printf(
            b,
            "%s{\"manager\":\"m%d\",\"operation\":\"%s\",\"apiVersion\":\"%s\",\"time\":"
            "\"2024-01-01T00:%02d:%02dZ\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"%s\":"
            "{",
            i ? "," : "", i, applied ? "Apply" : "Update", version, i / 60 % 60, i % 60, under);
        for (int k = 0; k < fields; k++)
            sl_buf_printf(b, "%s\"f:k%07d\":{}", k ? "," : "",
                          shared ? k : k * managers + (i * 7) % managers);
        sl_buf_puts(b, "}}}");
    }
    sl_buf_puts(b, "]");
}

static void many_managers(void **state) {
    static const struct {
        const char *name;
        int managers, fields;
        bool applied, shared;
    } cases[] = {
        {"updates", 1000, 60, false, false},     {"applies", 1000, 60, true, false},
        {"same-updates", 1000, 60, false, true}, {"same-applies", 1000, 60, true, true},
        {"few", 10, 6000, false, false},
    };
    struct sl_buf b = SL_BUF(BODY_BYTES), base = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char path[200];
        (void)snprintf(path, sizeof path, "%s/%s", CONFIGS, cases[i].name);
        sl_buf_clear(&base);
        sl_buf_printf(&base,
                      "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                      "\"%s\",",
                      cases[i].name);
        put_managers(&base, cases[i].managers, cases[i].fields, cases[i].applied, "v1", "f:data",
                     cases[i].shared);
        sl_buf_puts(&base, "},\"data\":{");
        sl_buf_clear(&b);
        sl_buf_text(&b, (struct sl_text){base.s, base.len});
        for (int k = 0; k < 20000; k++)
            sl_buf_printf(&b, "%s\"k%07d\":\"\"", k ? "," : "", k);
        sl_buf_puts(&b, "}}");
        hold("POST", CONFIGS, DRY, JSON, &b, 0, cases[i].name, 201);
        size_t stored = store(CONFIGS, &b);
        sl_buf_text(&b, (struct sl_text){base.s, base.len});
        for (int k = 19999; k >= 0; k--)
            sl_buf_printf(&b, "%s\"k%07d\":\"x\"", k < 19999 ? "," : "", k);
        sl_buf_puts(&b, "}}");
        hold("PUT", path, DRY, JSON, &b, stored, cases[i].name, 200);
        hold("PATCH", path, DRY, MERGE, &b, stored, cases[i].name, 200);
        sl_buf_clear(&b);
        sl_buf_puts(&b, "{\"data\":{\"k0000007\":\"x\"}}");
        hold("PATCH", path, DRY, MERGE, &b, stored, cases[i].name, 200);
        hold("PATCH", path, DRY, STRATEGIC, &b, stored, cases[i].name, 200);
        sl_buf_clear(&b);
        sl_buf_printf(&b,
                      "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                      "\"%s\"},\"data\":{",
                      cases[i].name);
        for (int k = 0; k < 20000; k++)
            sl_buf_printf(&b, "%s\"k%07d\":\"y\"", k ? "," : "", k);
        sl_buf_puts(&b, "}}");
        hold("PATCH", path, DRY, APPLY, &b, stored, "conflicts with all", 409);
        hold("PATCH", path, DRY "&force=true", APPLY, &b, stored, "takes from all", 200);
        sl_buf_clear(&b);
        sl_buf_printf(&b,
                      "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                      "\"%s\"},\"data\":{\"k0000001\":\"z\"}}",
                      cases[i].name);
        hold("PATCH", path, DRY "&force=true", APPLY, &b, stored, "takes one", 200);
        hold("GET", path, NULL, NULL, NULL, stored, "shown", 200);
        hold("DELETE", path, "dryRun=All", NULL, NULL, stored, "deleted", 200);
        sl_buf_clear(&b);
    }
    sl_buf_done(&b);
    sl_buf_done(&base);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- scale and binding ---- */

static void put_long_meta(struct sl_buf *b, const char *name) {
    sl_buf_printf(b, "\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\",\"labels\":{", name);
    for (int i = 0; b->len < LARGE / 2; i++)
        sl_buf_printf(b, "%s\"k%d\":\"\"", i ? "," : "", i);
    sl_buf_puts(b, "},\"annotations\":{");
    for (int i = 0; b->len < LARGE; i++)
        sl_buf_printf(b, "%s\"a%d\":\"\"", i ? "," : "", i);
    sl_buf_puts(b, "}}");
}

static void scaled(const char *root, const char *group, struct sl_buf *b, size_t stored) {
    bool custom = strcmp(root, THINGS) == 0;
    char path[200];
    static const char *const types[] = {MERGE, STRATEGIC, APPLY};

    (void)snprintf(path, sizeof path, "%s/s/scale", root);
    hold("GET", path, NULL, NULL, NULL, stored, "scale", 200);
    for (int large = 0; large < 2; large++) {
        sl_buf_clear(b);
        sl_buf_printf(b, "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\",");
        if (large)
            put_long_meta(b, "s");
        else
            sl_buf_puts(b, "\"metadata\":{\"name\":\"s\",\"namespace\":\"default\"}");
        sl_buf_puts(b, ",\"spec\":{\"replicas\":3}}");
        hold("PUT", path, DRY, JSON, b, stored, large ? "a long scale" : "scale", 200);
        for (size_t i = 0; i < SL_LEN(types); i++)
            hold("PATCH", path, strcmp(types[i], APPLY) == 0 ? DRY "&force=true" : DRY, types[i], b,
                 stored, large ? "a long scale" : "scale",
                 custom && strcmp(types[i], STRATEGIC) == 0 ? 415 : 200);
    }
    sl_buf_clear(b);
    sl_buf_puts(b, "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":0}");
    for (int i = 1; i < 9999; i++)
        sl_buf_printf(b, ",{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":%d}", i);
    sl_buf_puts(b, "]");
    hold("PATCH", path, DRY, JSON_PATCH, b, stored, group, 200);
    sl_buf_clear(b);
}

static void scale_and_binding(void **state) {
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;

    (void)state;
    (void)timed_post(CRDS, sample_definition);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"s\",");
    put_managers(&b, 1000, 40, true, "apps/v1", "f:spec", true);
    sl_buf_puts(&b, "},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"a\"}},"
                    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"a\"}},\"spec\":{"
                    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    scaled(DEPLOYMENTS, "a deployment", &b, store(DEPLOYMENTS, &b));
    sl_buf_puts(&b, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":"
                    "\"s\",");
    put_managers(&b, 1000, 20, false, "example.com/v1", "f:spec", true);
    sl_buf_puts(&b, "},\"spec\":{\"replicas\":2,\"map\":{");
    for (int i = 0; b.len < LARGE / 2; i++)
        sl_buf_printf(&b, "%s\"k%d\":\"\"", i ? "," : "", i);
    sl_buf_puts(&b, "}}}");
    scaled(THINGS, "a thing", &b, store(THINGS, &b));

    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"b\",");
    put_managers(&b, 1000, 40, true, "v1", "f:spec", true);
    sl_buf_puts(&b, "},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    size_t stored = store(PODS, &b);
    static const char *const paths[] = {PODS "/b/binding", "/api/v1/namespaces/default/bindings"};
    for (size_t i = 0; i < SL_LEN(paths); i++) {
        sl_buf_clear(&b);
        sl_buf_puts(&b, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"b\","
                        "\"annotations\":{");
        for (int k = 0; k < 15000; k++) /* of 256 KiB in all */
            sl_buf_printf(&b, "%s\"a%d\":\"\"", k ? "," : "", k);
        sl_buf_puts(&b, "}},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}");
        hold("POST", paths[i], DRY, JSON, &b, stored, "a binding", 201);
        sl_buf_clear(&b);
        sl_buf_puts(&b, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",");
        put_long_meta(&b, "b");
        sl_buf_puts(&b, ",\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}");
        hold("POST", paths[i], DRY, JSON, &b, stored, "a long binding", 422);
    }
    sl_buf_done(&b);
    assert_int_equal(timed.too_slow, slow);
}

/* ---- lists with an order set by a patch ---- */

/* {"name":"c7"},... of n items from 'from' on, or the numbers alone. */
static void put_items(struct sl_buf *b, const char *item, int from, int n, bool reversed) {
    for (int i = 0; i < n; i++) {
        sl_buf_puts(b, i ? "," : "");
        for (const char *p = item; *p; p++) {
            if (*p == '@')
                sl_buf_printf(b, "%d", from + (reversed ? n - 1 - i : i));
            else
                sl_buf_putc(b, *p);
        }
    }
}

static void ordered_lists(void **state) {
    static const char before[] = "{\"spec\":{\"template\":{\"spec\":{";
    struct sl_buf b = SL_BUF(BODY_BYTES);
    uint32_t slow = timed.too_slow;
    static const struct {
        const char *what;
        const char *order; /* item of the order */
        int order_from, order_n;
        bool order_reversed;
        const char *list;
        int from, n;
        bool reversed;
        int status;
    } cases[] = {
#define NAME "{\"name\":\"c@\"}"
#define IMAGE "{\"name\":\"c@\",\"image\":\"j\"}"
        {"all again", NAME, 0, LISTED, false, IMAGE, 0, LISTED, false, 200},
        {"in reverse", NAME, 0, LISTED, true, IMAGE, 0, LISTED, true, 200},
        {"an order alone", NAME, 0, LISTED, true, NULL, 0, 0, false, 200},
        {"others", NAME, 5000, LISTED, true, IMAGE, 5000, LISTED, true, 422},
        {"an order that does not fit", NAME, 0, LISTED, false, IMAGE, 0, LISTED, true, 500},
        {"a long order of others", NAME, 100000, 60000, true, NULL, 0, 0, false, 200},
        {"a long order", NAME, 0, 60000, true, NULL, 0, 0, false, 200},
        {"a long order and list", NAME, 0, 30000, true, IMAGE, 0, 20000, true, 422},
        {"one name over and over", "{\"name\":\"c1\"}", 0, 60000, false, NULL, 0, 0, false, 200},
        {"all deleted", NAME, 0, 1, false, "{\"$patch\":\"delete\",\"name\":\"c@\"}", 1, LISTED - 1,
         true, 200},
        {"deleted that are not there", NAME, 0, LISTED, true,
         "{\"$patch\":\"delete\",\"name\":\"c@\"}", 20000, 30000, true, 200},
    };

    (void)state;
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"o\"},\"spec\":{\"selector\":{\"matchLabels\":{"
                    "\"app\":\"a\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"a\"}},"
                    "\"spec\":{\"containers\":[");
    put_items(&b, "{\"name\":\"c@\",\"image\":\"i\"}", 0, LISTED, false);
    sl_buf_puts(&b, "]}}}}");
    size_t stored = store(DEPLOYMENTS, &b);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        sl_buf_clear(&b);
        sl_buf_puts(&b, before);
        sl_buf_puts(&b, "\"$setElementOrder/containers\":[");
        put_items(&b, cases[i].order, cases[i].order_from, cases[i].order_n,
                  cases[i].order_reversed);
        sl_buf_puts(&b, "]");
        if (cases[i].list) {
            sl_buf_puts(&b, ",\"containers\":[");
            put_items(&b, cases[i].list, cases[i].from, cases[i].n, cases[i].reversed);
            sl_buf_puts(&b, "]");
        }
        sl_buf_puts(&b, "}}}}");
        hold("PATCH", DEPLOYMENTS "/o", DRY, STRATEGIC, &b, stored, cases[i].what, cases[i].status);
    }

    /* Lists of strings. */
    static const struct {
        const char *what, *directive;
        int from, n;
        bool reversed;
        int list_from, list_n;
        int status;
    } words[] = {
        {"words in reverse", "$setElementOrder", 0, 40000, true, 0, 40000, 422},
        {"words alone", "$setElementOrder", 0, 40000, true, 0, 0, 200},
        {"other words", "$setElementOrder", 50000, 40000, true, 50000, 40000, 422},
        {"all words deleted", "$deleteFromPrimitiveList", 0, 40000, true, 0, 0, 200},
        {"other words deleted", "$deleteFromPrimitiveList", 50000, 40000, true, 0, 0, 200},
        {"deleted and set", "$deleteFromPrimitiveList", 0, 40000, true, 20000, 40000, 422},
    };
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"metadata\":{\"name\":\"words\",\"finalizers\":[");
    put_items(&b, "\"a.b/f@\"", 0, LISTED, false);
    sl_buf_puts(&b, "]},\"data\":{\"k1\":\"a\",\"z\":\"\"}}");
    stored = store(CONFIGS, &b);
    for (size_t i = 0; i < SL_LEN(words); i++) {
        sl_buf_clear(&b);
        sl_buf_printf(&b, "{\"metadata\":{\"%s/finalizers\":[", words[i].directive);
        put_items(&b, "\"a.b/f@\"", words[i].from, words[i].n, words[i].reversed);
        sl_buf_puts(&b, "]");
        if (words[i].list_n) {
            sl_buf_puts(&b, ",\"finalizers\":[");
            put_items(&b, "\"a.b/f@\"", words[i].list_from, words[i].list_n, words[i].reversed);
            sl_buf_puts(&b, "]");
        }
        sl_buf_puts(&b, "}}");
        hold("PATCH", CONFIGS "/words", DRY, STRATEGIC, &b, stored, words[i].what, words[i].status);
    }
    sl_buf_clear(&b);
    sl_buf_puts(&b, "{\"data\":{\"$retainKeys\":[");
    put_items(&b, "\"k@\"", 0, 60000, true);
    sl_buf_puts(&b, "],\"k1\":\"\"}}");
    hold("PATCH", CONFIGS "/words", DRY, STRATEGIC, &b, stored, "retained keys", 200);
    sl_buf_done(&b);
    assert_int_equal(timed.too_slow, slow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protobuf),      cmocka_unit_test(deleted_collections),
        cmocka_unit_test(many_managers), cmocka_unit_test(scale_and_binding),
        cmocka_unit_test(ordered_lists),
    };
    return cmocka_run_group_tests_name("api_ways", tests, timed_set_up, timed_tear_down);
}
