/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The in-memory API against what the real one does: requests in a row and what each must answer.
 * Expected bodies are parts: every field they name must be there and equal; null means absent; a
 * list must be equal in length.
 */
#include "fakeapi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yyjson.h>

#include "core/base/collection/vec.h"
#include "core/base/prng.h"
#include "lib/json/json.h"

#define JOBS "/apis/batch/v1/namespaces/a/jobs"
#define PODS "/api/v1/namespaces/a/pods"
#define WLS "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads"
#define CQS "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
#define FLAVORS "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"
#define UID1 "9e3779b1-0000-4000-8000-000000000001"
#define UID2 "3c6ef362-0000-4000-8000-000000000002"

struct step {
    enum sl_kube_method method;
    const char *path, *type, *body;
    int status;
    const char *expect; /* NULL: not looked at */
};

static bool contains(yyjson_val *have, yyjson_val *want) {
    size_t i, n;
    yyjson_val *k, *v;

    if (yyjson_is_null(want))
        return have == NULL;
    if (yyjson_is_obj(want)) {
        sl_obj_foreach (want, i, n, k, v) {
            if (!contains(yyjson_obj_get(have, yyjson_get_str(k)), v))
                return false;
        }
        return yyjson_is_obj(have);
    }
    if (yyjson_is_arr(want)) {
        if (yyjson_arr_size(have) != yyjson_arr_size(want))
            return false;
        yyjson_arr_foreach (want, i, n, v) {
            if (!contains(yyjson_arr_get(have, i), v))
                return false;
        }
        return yyjson_is_arr(have);
    }
    return have && yyjson_equals(have, want);
}

static void run(struct fakeapi *a, const struct step *steps, size_t n) {
    struct sl_buf out;

    sl_buf_init(&out, 1u << 20);
    for (size_t i = 0; i < n; i++) {
        const struct step *s = &steps[i];
        int status = fakeapi_do(a, s->method, s->path, s->type, s->body, &out);
        if (status != s->status)
            fail_msg("step %zu: %s: %d: %s", i, s->path, status, sl_buf_str(&out));
        yyjson_doc *have = yyjson_read(sl_buf_str(&out), out.len, 0);
        assert_non_null(have);
        if (s->expect) {
            yyjson_doc *want = yyjson_read(s->expect, strlen(s->expect), 0);
            assert_non_null(want);
            if (!contains(yyjson_doc_get_root(have), yyjson_doc_get_root(want)))
                fail_msg("step %zu: %s: got %s, want %s", i, s->path, sl_buf_str(&out), s->expect);
            yyjson_doc_free(want);
        }
        yyjson_doc_free(have);
    }
    sl_buf_done(&out);
}

#define RUN(...)                                                                                   \
    do {                                                                                           \
        static const struct step steps_[] = {__VA_ARGS__};                                         \
        struct fakeapi *a_ = fakeapi_new(1);                                                       \
        run(a_, steps_, SL_LEN(steps_));                                                           \
        fakeapi_free(a_);                                                                          \
    } while (0)

#define GET(path, status, expect)                                                                  \
    { SL_GET, path, NULL, NULL, status, expect }
#define POST(path, body, status, expect)                                                           \
    { SL_POST, path, SL_JSON, body, status, expect }
#define PUT(path, body, status, expect)                                                            \
    { SL_PUT, path, SL_JSON, body, status, expect }
#define PATCH(path, body, status, expect)                                                          \
    { SL_PATCH, path, SL_MERGE_PATCH, body, status, expect }
#define APPLY(path, body, status, expect)                                                          \
    { SL_PATCH, path, SL_APPLY_PATCH, body, status, expect }
#define DELETE(path, body, status, expect)                                                         \
    { SL_DELETE, path, SL_JSON, body, status, expect }
#define NAMED(name) "{\"metadata\":{\"name\":\"" name "\"}}"

static void test_create(void **state) {
    (void)state;
    RUN(POST(JOBS,
             "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":null,\"uid\":\"mine\","
             "\"generation\":7},"
             "\"spec\":{\"suspend\":true,\"n\":null},\"status\":{\"active\":3}}",
             201,
             "{\"apiVersion\":\"batch/"
             "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"x\",\"namespace\":\"a\","
             "\"uid\":\"" UID1 "\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"generation\":1,"
             "\"resourceVersion\":\"2\"},\"spec\":{\"suspend\":true,\"n\":null},\"status\":{"
             "\"active\":null}}"),
        GET(JOBS "/x", 200, "{\"spec\":{\"suspend\":true}}"),
        POST(JOBS, NAMED("x"), 409,
             "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"AlreadyExists\",\"code\":"
             "409}"),
        GET(JOBS "/y", 404, "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}"),
        POST(JOBS, "{\"metadata\":{\"name\":\"y\",\"resourceVersion\":\"2\"}}", 400, NULL),
        POST(JOBS, "{\"metadata\":{\"name\":\"y\",\"namespace\":\"b\"}}", 400, NULL),
        POST(JOBS, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"y\"}}", 400, NULL),
        POST(JOBS, NAMED("Not a name"), 422, "{\"reason\":\"Invalid\"}"),
        POST(JOBS, "{}", 422, NULL), POST(JOBS, "[]", 400, NULL), POST(JOBS, "{", 400, NULL),
        POST(JOBS "/x", NAMED("x"), 405, NULL), POST("/apis/batch/v1/jobs", NAMED("x"), 405, NULL),
        POST(PODS, NAMED("p"), 201, "{\"apiVersion\":\"v1\",\"status\":{\"phase\":\"Pending\"}}"),
        POST(CQS, "{\"metadata\":{\"name\":\"q\"},\"status\":{\"x\":1}}", 201,
             "{\"metadata\":{\"namespace\":null},\"status\":null}"),
        /* no status subresource: it is an ordinary field */
        POST(FLAVORS, "{\"metadata\":{\"name\":\"f\"},\"status\":{\"x\":1}}", 201,
             "{\"status\":{\"x\":1}}"),
        PATCH(FLAVORS "/f/status", "{}", 404, NULL));
}

static void test_paths(void **state) {
    (void)state;
    RUN(GET("/apis/batch/v2/jobs", 404, NULL), GET("/apis/none/v1/jobs", 404, NULL),
        GET("/", 404, NULL), GET("/api", 404, NULL), GET("", 404, NULL),
        GET("/apis/batch/v1", 404, NULL),
        GET("/apis/batch/v1/jobs", 200,
            "{\"kind\":\"JobList\",\"apiVersion\":\"batch/v1\",\"items\":[],"
            "\"metadata\":{\"resourceVersion\":\"1\",\"continue\":null}}"),
        GET("/apis/batch/v1/jobs/x", 404, NULL), GET(JOBS "/x/log", 404, NULL),
        GET(JOBS "/x/status/y", 404, NULL), GET("/api/v1/namespaces/a/namespaces", 404, NULL),
        POST("/api/v1/namespaces", NAMED("a"), 201, "{\"status\":{\"phase\":\"Active\"}}"),
        PATCH("/api/v1/namespaces/a/status", "{\"status\":{\"phase\":\"Terminating\"}}", 200,
              "{\"status\":{\"phase\":\"Terminating\"}}"),
        POST(JOBS, NAMED("x%zz"), 422, NULL), GET(JOBS "/%78", 404, NULL),
        GET(JOBS "/%zz", 404, NULL), GET(JOBS "?labelSelector=%zz", 400, NULL),
        GET(JOBS "?labelSelector=a%3D", 200, NULL), GET(JOBS "?labelSelector=a%20b", 400, NULL),
        GET(JOBS "?fieldSelector=spec.x%3D1", 400, NULL),
        POST(JOBS "?dryRun=All", NAMED("x"), 400, NULL), GET(JOBS "?watch=1", 405, NULL),
        DELETE(JOBS, NULL, 200, NULL));
}

static void test_generate_name(void **state) {
    struct fakeapi *a = fakeapi_new(1);
    struct sl_buf one, two;

    (void)state;
    sl_buf_init(&one, 4096);
    sl_buf_init(&two, 4096);
    assert_int_equal(
        fakeapi_do(a, SL_POST, PODS, SL_JSON, "{\"metadata\":{\"generateName\":\"w-\"}}", &one),
        201);
    assert_int_equal(
        fakeapi_do(a, SL_POST, PODS, SL_JSON, "{\"metadata\":{\"generateName\":\"w-\"}}", &two),
        201);
    assert_non_null(strstr(sl_buf_str(&one), "\"name\":\"w-"));
    assert_int_equal(fakeapi_each(a, PODS, NULL, NULL), 2);
    sl_buf_done(&one);
    sl_buf_done(&two);
    fakeapi_free(a);
}

static void test_update(void **state) {
    (void)state;
    RUN(POST(JOBS, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"l\":\"1\"}},\"spec\":{\"p\":1}}",
             201, NULL),
        /* status by its own door only */
        PUT(JOBS "/x",
            "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"p\":2},\"status\":{\"active\":1}}", 200,
            "{\"metadata\":{\"generation\":2,\"resourceVersion\":\"3\",\"labels\":null,\"uid\":"
            "\"" UID1 "\"},"
            "\"spec\":{\"p\":2},\"status\":{\"active\":null}}"),
        PUT(JOBS "/x/status",
            "{\"metadata\":{\"name\":\"x\",\"labels\":{\"l\":\"2\"}},\"spec\":{\"p\":3},\"status\":"
            "{\"active\":1}}",
            200,
            "{\"metadata\":{\"generation\":2,\"resourceVersion\":\"4\",\"labels\":null},\"spec\":{"
            "\"p\":2},"
            "\"status\":{\"active\":1}}"),
        /* nothing new: no new version */
        PUT(JOBS "/x/status", "{\"status\":{\"active\":1}}", 200,
            "{\"metadata\":{\"resourceVersion\":\"4\"}}"),
        PUT(JOBS "/x", "{\"spec\":{\"p\":2},\"metadata\":{\"name\":\"x\"}}", 200,
            "{\"metadata\":{\"resourceVersion\":\"4\"}}"),
        /* metadata alone is no new generation */
        PUT(JOBS "/x",
            "{\"spec\":{\"p\":2},\"metadata\":{\"name\":\"x\",\"labels\":{\"l\":\"3\"}}}", 200,
            "{\"metadata\":{\"resourceVersion\":\"5\",\"generation\":2,\"labels\":{\"l\":\"3\"}}}"),
        PUT(JOBS "/x", "{\"metadata\":{\"resourceVersion\":\"4\"},\"spec\":{}}", 409,
            "{\"reason\":\"Conflict\",\"code\":409}"),
        PUT(JOBS "/x", "{\"metadata\":{\"uid\":\"" UID2 "\"},\"spec\":{}}", 409, NULL),
        PUT(JOBS "/x", "{\"metadata\":{\"name\":\"y\"},\"spec\":{}}", 400, NULL),
        PUT(JOBS "/x",
            "{\"metadata\":{\"resourceVersion\":\"5\",\"uid\":\"" UID1 "\"},\"spec\":{}}", 200,
            "{\"metadata\":{\"generation\":3}}"),
        PUT(JOBS "/y", NAMED("y"), 404, NULL));
}

static void test_patch(void **state) {
    (void)state;
    RUN(POST(WLS,
             "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"1\",\"b\":\"2\"}},\"spec\":{\"l\":["
             "1,2],\"m\":{\"x\":1}}}",
             201, NULL),
        PATCH(WLS "/x",
              "{\"metadata\":{\"labels\":{\"a\":null,\"c\":\"3\"}},\"spec\":{\"l\":[3],\"m\":{"
              "\"y\":2}}}",
              200,
              "{\"metadata\":{\"labels\":{\"a\":null,\"b\":\"2\",\"c\":\"3\"},\"generation\":2},"
              "\"spec\":{\"l\":[3],\"m\":{\"x\":1,\"y\":2}},\"status\":null}"),
        PATCH(WLS "/x/status", "{\"status\":{\"conditions\":[{\"type\":\"A\"}]},\"spec\":null}",
              200,
              "{\"metadata\":{\"generation\":2,\"resourceVersion\":\"4\"},\"spec\":{\"l\":[3]},"
              "\"status\":{\"conditions\":[{\"type\":\"A\"}]}}"),
        PATCH(WLS "/x", "{\"status\":null}", 200,
              "{\"metadata\":{\"resourceVersion\":\"4\"},\"status\":{}}"),
        PATCH(WLS "/x/status", "{\"metadata\":{\"resourceVersion\":\"3\"},\"status\":{}}", 409,
              NULL),
        PATCH(WLS "/x/status", "{\"metadata\":{\"resourceVersion\":\"4\"},\"status\":{\"n\":1}}",
              200, "{\"metadata\":{\"resourceVersion\":\"5\"},\"status\":{\"n\":1}}"),
        PATCH(WLS "/x", "{\"metadata\":{\"uid\":\"" UID2 "\"}}", 409, NULL),
        PATCH(WLS "/x", "{\"metadata\":{\"name\":\"y\"}}", 400, NULL),
        PATCH(WLS "/x", "[]", 400, NULL), PATCH(WLS "/y", "{}", 404, NULL),
        {SL_PATCH, WLS "/x", "application/strategic-merge-patch+json", "{}", 415, NULL},
        {SL_PATCH, WLS "/x", "application/json-patch+json", "{}", 400, NULL},
        {SL_PATCH, WLS "/x", "application/json-patch+json",
         "[{\"op\":\"replace\",\"path\":\"/spec/none\",\"value\":1}]", 422, NULL},
        {SL_PATCH, WLS "/x", "application/json-patch+json",
         "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"3\"},"
         "{\"op\":\"replace\",\"path\":\"/spec/l/0\",\"value\":4}]",
         409, NULL},
        {SL_PATCH, WLS "/x", "application/json-patch+json",
         "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"5\"},"
         "{\"op\":\"replace\",\"path\":\"/spec/l/0\",\"value\":4}]",
         200, "{\"spec\":{\"l\":[4]}}"},
        /* apply: a forced merge, and it creates */
        APPLY(WLS "/x?fieldManager=m&force=true", "{\"spec\":{\"m\":{\"z\":3}}}", 200,
              "{\"spec\":{\"m\":{\"x\":1,\"z\":3}}}"),
        APPLY(WLS "/n?fieldManager=m&force=true", "{\"spec\":{\"m\":1}}", 201,
              "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"m\":1}}"),
        APPLY(WLS "/n/status", "{\"status\":{\"a\":1,\"b\":{\"x\":1}}}", 200,
              "{\"spec\":{\"m\":1},\"status\":{\"a\":1,\"b\":{\"x\":1}}}"),
        APPLY(WLS "/n/status", "{\"status\":{\"b\":{\"y\":2}}}", 200,
              "{\"spec\":{\"m\":1},\"status\":{\"a\":null,\"b\":{\"x\":null,\"y\":2}}}"),
        APPLY(WLS "/m/status", "{\"status\":{}}", 404, NULL));
}

static void test_finalizers(void **state) {
    (void)state;
    RUN(POST(WLS, "{\"metadata\":{\"name\":\"x\",\"finalizers\":[\"f/a\",\"f/b\"]}}", 201, NULL),
        DELETE(WLS "/x", "{\"preconditions\":{\"uid\":\"" UID2 "\"}}", 409, NULL),
        DELETE(WLS "/x", "{\"preconditions\":{\"resourceVersion\":\"1\"}}", 409, NULL),
        DELETE(WLS "/x", "{\"preconditions\":{\"uid\":\"" UID1 "\",\"resourceVersion\":\"2\"}}",
               200,
               "{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"resourceVersion\":"
               "\"3\",\"generation\":2}}"),
        DELETE(WLS "/x", NULL, 200, "{\"metadata\":{\"resourceVersion\":\"3\"}}"),
        POST(WLS, NAMED("x"), 409, NULL),
        PATCH(WLS "/x", "{\"metadata\":{\"finalizers\":[\"f/a\",\"f/b\",\"f/c\"]}}", 422, NULL),
        PATCH(WLS "/x", "{\"metadata\":{\"deletionTimestamp\":null,\"finalizers\":[\"f/b\"]}}", 200,
              "{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"f/"
              "b\"]}}"),
        PATCH(WLS "/x", "{\"metadata\":{\"finalizers\":null}}", 200,
              "{\"metadata\":{\"finalizers\":null}}"),
        GET(WLS "/x", 404, NULL), DELETE(WLS "/x", NULL, 404, NULL),
        POST(WLS, NAMED("x"), 201, "{\"metadata\":{\"uid\":\"" UID2 "\"}}"),
        DELETE(WLS "/x", NULL, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}"),
        GET(WLS "/x", 404, NULL));
}

static void test_graceful(void **state) {
    (void)state;
    RUN(POST(PODS, NAMED("new"), 201, NULL),
        DELETE(PODS "/new", NULL, 200, "{\"status\":\"Success\"}"),
        POST(PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\"}}", 201, NULL),
        DELETE(PODS "/p", NULL, 200, "{\"metadata\":{\"deletionGracePeriodSeconds\":30}}"),
        DELETE(PODS "/p?gracePeriodSeconds=60", NULL, 200,
               "{\"metadata\":{\"deletionGracePeriodSeconds\":30}}"),
        DELETE(PODS "/p", "{\"gracePeriodSeconds\":5}", 200,
               "{\"metadata\":{\"deletionGracePeriodSeconds\":5}}"),
        DELETE(PODS "/p", "{\"gracePeriodSeconds\":0}", 200, "{\"status\":\"Success\"}"),
        GET(PODS "/p", 404, NULL),
        POST(PODS,
             "{\"metadata\":{\"name\":\"q\",\"finalizers\":[\"f/"
             "a\"]},\"spec\":{\"nodeName\":\"n\"}}",
             201, NULL),
        DELETE(PODS "/q?gracePeriodSeconds=9", NULL, 200, NULL),
        PATCH(PODS "/q", "{\"metadata\":{\"finalizers\":null}}", 200, NULL),
        GET(PODS "/q", 200, NULL), DELETE(PODS "/q?gracePeriodSeconds=0", NULL, 200, NULL),
        GET(PODS "/q", 404, NULL),
        POST(PODS, "{\"metadata\":{\"name\":\"r\"},\"spec\":{\"nodeName\":\"n\"}}", 201, NULL),
        PATCH(PODS "/r/status", "{\"status\":{\"phase\":\"Succeeded\"}}", 200, NULL),
        DELETE(PODS "/r", NULL, 200, "{\"status\":\"Success\"}"));
}

static void test_lists(void **state) {
    (void)state;
    RUN(POST("/apis/batch/v1/namespaces/b/jobs", NAMED("z"), 201, NULL),
        POST(JOBS, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"k\":\"1\"}}}", 201, NULL),
        POST(JOBS, "{\"metadata\":{\"name\":\"w\",\"labels\":{\"k\":\"2\"}}}", 201, NULL),
        POST("/apis/batch/v1/namespaces/a-b/jobs", NAMED("y"), 201, NULL),
        GET(JOBS, 200,
            "{\"items\":[{\"metadata\":{\"name\":\"w\"}},{\"metadata\":{\"name\":\"x\"}}]}"),
        GET(JOBS "?labelSelector=k%3D1", 200, "{\"items\":[{\"metadata\":{\"name\":\"x\"}}]}"),
        GET(JOBS "?labelSelector=k!%3D1", 200, "{\"items\":[{\"metadata\":{\"name\":\"w\"}}]}"),
        GET("/apis/batch/v1/jobs?fieldSelector=metadata.name%3Dz", 200,
            "{\"items\":[{\"metadata\":{\"name\":\"z\"}}]}"),
        GET("/apis/batch/v1/jobs?fieldSelector=metadata.namespace%3Da-b", 200,
            "{\"items\":[{\"metadata\":{\"name\":\"y\"}}]}"),
        /* etcd's order: '-' stands before '/' */
        GET("/apis/batch/v1/jobs?limit=2", 200,
            "{\"items\":[{\"metadata\":{\"name\":\"y\"}},{\"metadata\":{\"name\":\"w\"}}],"
            "\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"5:a/w\"}}"),
        DELETE(JOBS "/x?propagationPolicy=Background", NULL, 200, NULL),
        POST(JOBS, NAMED("xx"), 201, NULL),
        PATCH("/apis/batch/v1/namespaces/b/jobs/z", "{\"spec\":{\"new\":1}}", 200, NULL),
        /* the second page is of the same moment as the first */
        GET("/apis/batch/v1/jobs?limit=2&continue=5%3Aa%2Fw", 200,
            "{\"items\":[{\"metadata\":{\"name\":\"x\"}},{\"metadata\":{\"name\":\"z\"},\"spec\":"
            "null}],"
            "\"metadata\":{\"resourceVersion\":\"5\",\"continue\":null}}"),
        GET("/apis/batch/v1/jobs?continue=what", 400, NULL));
}

#define OWNED(name, uid, more)                                                                     \
    "{\"metadata\":{\"name\":\"" name                                                              \
    "\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","        \
    "\"uid\":\"" uid "\"" more "}]}}"

static int status_of(struct fakeapi *a, const char *path) {
    return fakeapi_do(a, SL_GET, path, NULL, NULL, NULL);
}

static void later(struct fakeapi *a) {
    fakeapi_advance(a, fakeapi_now(a) + SL_SEC);
}

static void test_collected(void **state) {
    static const struct {
        const char *query;
        int pod, wl; /* afterwards */
    } cases[] = {
        {"", 200, 200}, /* batch/v1's default is to leave them */
        {"?propagationPolicy=Background", 404, 404},
        {"?propagationPolicy=Foreground", 404, 404},
        {"?propagationPolicy=Orphan", 200, 200},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct fakeapi *a = fakeapi_new(i);
        char path[200];
        static const struct step make[] = {
            POST(JOBS, NAMED("j"), 201, NULL),
            POST(PODS, OWNED("p", UID1, ",\"blockOwnerDeletion\":true"), 201, NULL),
            POST(WLS, OWNED("w", UID1, ""), 201, NULL),
            POST(WLS, OWNED("stray", "none", ""), 201, NULL),
        };
        run(a, make, SL_LEN(make));
        later(a);
        assert_int_equal(status_of(a, WLS "/stray"), 404);
        (void)snprintf(path, sizeof path, JOBS "/j%s", cases[i].query);
        assert_int_equal(fakeapi_do(a, SL_DELETE, path, NULL, NULL, NULL), 200);
        later(a);
        assert_int_equal(status_of(a, JOBS "/j"), 404);
        assert_int_equal(status_of(a, PODS "/p"), cases[i].pod);
        assert_int_equal(status_of(a, WLS "/w"), cases[i].wl);
        if (cases[i].pod == 200)
            assert_null(yyjson_obj_get(yyjson_obj_get(fakeapi_get(a, PODS "/p"), "metadata"),
                                       "ownerReferences"));
        fakeapi_free(a);
    }
}

/* In the foreground the owner waits for the pod, and the pod for its node. */
static void test_foreground_waits(void **state) {
    struct fakeapi *a = fakeapi_new(3);
    static const struct step make[] = {
        POST(JOBS, NAMED("j"), 201, NULL),
        POST(PODS, OWNED("p", UID1, ",\"blockOwnerDeletion\":true"), 201, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"nodeName\":\"n\"}}", 200, NULL),
        DELETE(JOBS "/j?propagationPolicy=Foreground", NULL, 200,
               "{\"metadata\":{\"finalizers\":[\"foregroundDeletion\"]}}"),
    };
    static const struct step wait[] = {
        GET(JOBS "/j", 200, NULL),
        GET(PODS "/p", 200, "{\"metadata\":{\"deletionGracePeriodSeconds\":30}}"),
        DELETE(PODS "/p?gracePeriodSeconds=0", NULL, 200, NULL),
    };

    (void)state;
    run(a, make, SL_LEN(make));
    later(a);
    run(a, wait, SL_LEN(wait));
    later(a);
    assert_int_equal(status_of(a, JOBS "/j"), 404);
    fakeapi_free(a);
}

/* ---- through the port ---- */

struct seen {
    SL_VEC(char *) lines;
    int ended; /* -1: not yet */
    uint32_t replies;
};

static void on_line(void *ctx, const char *line, size_t len) {
    struct seen *s = ctx;
    char *copy = sl_alloc(len + 1);

    memcpy(copy, line, len);
    copy[len] = '\0';
    *sl_vec_push(&s->lines) = copy;
}

static void on_done(void *ctx, const struct sl_kube_reply *r) {
    struct seen *s = ctx;

    s->replies++;
    s->ended = r->status;
}

static void free_seen(struct seen *s) {
    for (uint32_t i = 0; i < s->lines.n; i++)
        sl_freep(&s->lines.v[i]);
    sl_vec_free(&s->lines);
}

static void assert_line(const struct seen *s, uint32_t i, const char *type, const char *name) {
    assert_true(i < s->lines.n);
    yyjson_doc *d = yyjson_read(s->lines.v[i], strlen(s->lines.v[i]), 0);
    yyjson_val *root = yyjson_doc_get_root(d), *o = yyjson_obj_get(root, "object");

    assert_string_equal(yyjson_get_str(yyjson_obj_get(root, "type")), type);
    if (name)
        assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_obj_get(o, "metadata"), "name")),
                            name);
    yyjson_doc_free(d);
}

static void test_watch(void **state) {
    struct fakeapi *a = fakeapi_new(1);
    struct sl_kube_client *p = fakeapi_port(a, 0);
    struct seen s = {.ended = -1}, one = {.ended = -1}, old = {.ended = -1};
    static const struct step first[] = {POST(JOBS, NAMED("x"), 201, NULL)};
    static const struct step more[] = {
        POST(JOBS, NAMED("y"), 201, NULL),
        PATCH(JOBS "/x", "{\"metadata\":{\"labels\":{\"k\":\"1\"}}}", 200, NULL),
        PATCH(JOBS "/x", "{\"metadata\":{\"labels\":{\"k\":\"1\"}}}", 200, NULL), /* nothing */
        PATCH(JOBS "/x/status", "{\"status\":{\"active\":1}}", 200, NULL),
        PATCH(JOBS "/x", "{\"metadata\":{\"labels\":{\"k\":\"2\"}}}", 200, NULL),
        POST("/apis/batch/v1/namespaces/b/jobs", NAMED("z"), 201, NULL),
        DELETE(JOBS "/y?propagationPolicy=Background", NULL, 200, NULL),
    };

    (void)state;
    run(a, first, SL_LEN(first));
    (void)sl_kube_watch(
        p, JOBS "?watch=1&resourceVersion=2&allowWatchBookmarks=true&timeoutSeconds=100", on_line,
        on_done, &s);
    (void)sl_kube_watch(p, "/apis/batch/v1/jobs?watch=true&resourceVersion=1&labelSelector=k%3D1",
                        on_line, on_done, &one);
    assert_int_equal(s.lines.n, 0);
    later(a);
    run(a, more, SL_LEN(more));
    later(a);
    assert_int_equal(s.lines.n, 5);
    assert_line(&s, 0, "ADDED", "y");
    assert_line(&s, 1, "MODIFIED", "x");
    assert_line(&s, 2, "MODIFIED", "x");
    assert_line(&s, 3, "MODIFIED", "x");
    assert_line(&s, 4, "DELETED", "y");
    assert_int_equal(one.lines.n, 3);
    assert_line(&one, 0, "ADDED", "x");
    assert_line(&one, 1, "MODIFIED", "x");
    assert_line(&one, 2, "DELETED", "x"); /* left the selector */
    fakeapi_advance(a, 70 * SL_SEC);
    assert_int_equal(s.lines.n, 6);
    assert_line(&s, 5, "BOOKMARK", NULL);
    assert_int_equal(one.lines.n, 3);
    assert_int_equal(s.ended, -1);
    fakeapi_advance(a, 110 * SL_SEC);
    assert_int_equal(s.ended, 200);
    fakeapi_compact(a);
    run(a, &more[3], 1);
    run(a, first, 0);
    (void)sl_kube_watch(p, JOBS "?watch=1&resourceVersion=2", on_line, on_done, &old);
    later(a);
    assert_true(old.ended == 410 || (old.ended == 200 && old.lines.n == 1));
    if (old.lines.n)
        assert_line(&old, 0, "ERROR", NULL);
    assert_int_equal(fakeapi_do(a, SL_GET, "/apis/batch/v1/jobs?continue=3%3Aa", NULL, NULL, NULL),
                     410);
    free_seen(&s);
    free_seen(&one);
    free_seen(&old);
    fakeapi_free(a);
}

static void test_calls(void **state) {
    struct fakeapi *a = fakeapi_new(1);
    struct sl_kube_client *p = fakeapi_port(a, 0);
    struct seen s = {.ended = -1};
    struct sl_kube_request rq = {.method = SL_POST,
                                 .path = JOBS,
                                 .content_type = SL_JSON,
                                 .body = NAMED("x"),
                                 .len = strlen(NAMED("x"))};

    (void)state;
    sl_kube_call c = sl_kube_request(p, &rq, on_done, &s);
    assert_int_equal(s.replies, 0);
    later(a);
    assert_int_equal(s.ended, 201);
    sl_kube_cancel(p, c); /* long over */
    /* Cancelled on the way: arrives, but nobody hears of it. */
    rq.body = NAMED("y");
    sl_kube_cancel(p, sl_kube_request(p, &rq, on_done, &s));
    later(a);
    assert_int_equal(s.replies, 1);
    assert_int_equal(status_of(a, JOBS "/y"), 200);
    /* Cut off: never arrives. */
    fakeapi_partition(a, 0, fakeapi_now(a) + 20 * SL_SEC);
    rq.body = NAMED("z");
    (void)sl_kube_request(p, &rq, on_done, &s);
    fakeapi_advance(a, fakeapi_now(a) + 15 * SL_SEC);
    assert_int_equal(s.ended, 0);
    assert_int_equal(status_of(a, JOBS "/z"), 404);
    /* Dead: no callback. */
    (void)sl_kube_request(p, &rq, on_done, &s);
    (void)sl_kube_watch(p, JOBS "?watch=1&resourceVersion=2", on_line, on_done, &s);
    fakeapi_kill(a, 0);
    fakeapi_advance(a, fakeapi_now(a) + SL_MINUTE);
    assert_int_equal(s.replies, 2);
    assert_int_equal(s.lines.n, 0);
    fakeapi_free(a);
}

static void count_change(void *ctx, const struct fakeapi_change *c) {
    uint32_t *n = ctx;

    assert_string_equal(c->kind->plural, "jobs");
    assert_string_equal(c->key, "a/x");
    n[!c->before ? 0 : c->now ? 1 : 2]++;
}

static void keep_change(void *ctx, const struct fakeapi_change *c) {
    *(struct fakeapi_change *)ctx = *c;
}

/* A request that was sent has its effect, however late, and the effect says whose it is. */
static void test_sender(void **state) {
    struct fakeapi *a = fakeapi_new(1);
    struct fakeapi_change last = {0};
    struct sl_kube_request rq = {.method = SL_POST, .path = JOBS, .content_type = SL_JSON};

    (void)state;
    fakeapi_on_change(a, keep_change, &last);
    assert_int_equal(fakeapi_do(a, SL_POST, JOBS, SL_JSON, NAMED("y"), NULL), 201);
    assert_int_equal(last.client, FAKEAPI_NOBODY);
    fakeapi_advance(a, SL_SEC);
    rq.body = NAMED("x");
    rq.len = strlen(rq.body);
    (void)sl_kube_request(fakeapi_port(a, 2), &rq, NULL, NULL);
    fakeapi_kill(a, 2);
    fakeapi_advance(a, SL_MINUTE);
    assert_int_equal(last.client, 2);
    assert_int_equal(last.sent, SL_SEC);
    assert_int_equal(fakeapi_do(a, SL_DELETE, JOBS "/x", SL_JSON, NULL, NULL), 200);
    assert_int_equal(last.client, FAKEAPI_NOBODY);
    fakeapi_free(a);
}

static void add_one(void *ctx, uint64_t arg) {
    *(uint64_t *)ctx += arg;
}

static void test_hooks(void **state) {
    struct fakeapi *a = fakeapi_new(1);
    uint32_t n[3] = {0};
    uint64_t sum = 0;
    static const struct step steps[] = {
        POST(JOBS, NAMED("x"), 201, NULL),
        PATCH(JOBS "/x", "{\"spec\":{\"a\":1}}", 200, NULL),
        PATCH(JOBS "/x", "{\"spec\":{\"a\":1}}", 200, NULL),
        DELETE(JOBS "/x?propagationPolicy=Background", NULL, 200, NULL),
    };

    (void)state;
    fakeapi_on_change(a, count_change, n);
    run(a, steps, SL_LEN(steps));
    assert_int_equal(n[0], 1);
    assert_int_equal(n[1], 1);
    assert_int_equal(n[2], 1);
    assert_null(fakeapi_get(a, JOBS "/x"));
    fakeapi_at(a, 5 * SL_SEC, add_one, &sum, 7);
    assert_int_equal(fakeapi_next(a), 5 * SL_SEC);
    assert_false(fakeapi_step(a, 4 * SL_SEC));
    assert_int_equal(fakeapi_port(a, 3)->mono, 4 * SL_SEC);
    assert_true(fakeapi_step(a, 5 * SL_SEC));
    assert_int_equal(sum, 7);
    fakeapi_install(a, "batch", "jobs", false);
    assert_int_equal(status_of(a, "/apis/batch/v1/jobs"), 404);
    fakeapi_install(a, "batch", "jobs", true);
    assert_int_equal(status_of(a, "/apis/batch/v1/jobs"), 200);
    fakeapi_step_clock(a, 1, SL_HOUR);
    assert_int_equal(fakeapi_port(a, 1)->wall - fakeapi_port(a, 0)->wall, SL_HOUR);
    fakeapi_free(a);
}

#define GATED                                                                                      \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"schedulingGates\":[{\"name\":\"g/a\"},{"           \
    "\"name\":\"g/b\"}],\"nodeSelector\":{\"a\":\"1\"},\"priority\":1}}"

/* What may change of a pod's spec, and when. */
static void test_pod_rules(void **state) {
    (void)state;
    RUN(POST(PODS, GATED, 201, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"schedulingGates\":[{\"name\":\"g/c\"}]}}", 422, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"nodeName\":\"n\"}}", 422, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"priority\":2}}", 422, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"more\":2}}", 422, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"nodeSelector\":{\"a\":\"2\"}}}", 422, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"nodeSelector\":{\"a\":null}}}", 422, NULL),
        PATCH(PODS "/p",
              "{\"spec\":{\"schedulingGates\":[{\"name\":\"g/b\"}],\"nodeSelector\":{\"b\":\"2\"},"
              "\"tolerations\":[{\"key\":\"t\"}]}}",
              200, "{\"spec\":{\"nodeSelector\":{\"a\":\"1\",\"b\":\"2\"}}}"),
        PATCH(PODS "/p", "{\"spec\":{\"schedulingGates\":null}}", 200, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"nodeSelector\":{\"c\":\"3\"}}}", 422, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"tolerations\":null}}", 422, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"nodeName\":\"n\"}}", 200, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"nodeName\":\"o\"}}", 422, NULL));
}

#define ONE(list, key) "\"" list "\":[{\"key\":\"" key "\",\"operator\":\"Exists\"}]"
#define AFFINITY(terms, more)                                                                      \
    "{\"spec\":{\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution"  \
    "\":{\"nodeSelectorTerms\":[" terms "]}}" more "}}}"
#define ADDED "{" ONE("matchExpressions", "a") "," ONE("matchFields", "b") "}"

/* The same of its affinity. */
static void test_pod_affinity(void **state) {
    (void)state;
    RUN(POST(PODS, GATED, 201, NULL),
        PATCH(PODS "/p", AFFINITY("", ",\"podAntiAffinity\":{\"a\":1}"), 422, NULL),
        PATCH(PODS "/p", AFFINITY("{" ONE("matchExpressions", "a") "},{}", ""), 200, NULL),
        PATCH(PODS "/p", AFFINITY("{" ONE("matchExpressions", "a") "}", ""), 422, NULL),
        PATCH(PODS "/p", AFFINITY("{" ONE("matchExpressions", "b") "},{}", ""), 422, NULL),
        PATCH(PODS "/p", AFFINITY("{" ONE("matchExpressions", "a") "}," ADDED, ""), 422, NULL),
        PATCH(PODS "/p", AFFINITY(ADDED ",{}", ""), 200, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"schedulingGates\":null}}", 200, NULL),
        PATCH(PODS "/p", "{\"spec\":{\"affinity\":null}}", 422, NULL));
}

/* A pod's status has several writers. */
static void test_shared_status(void **state) {
    (void)state;
    RUN(POST(PODS, NAMED("p"), 201, NULL),
        PATCH(PODS "/p/status",
              "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
              "\"True\"},{\"type\":\"T\",\"status\":\"False\"}]}}",
              200, NULL),
        APPLY(PODS "/p/status?fieldManager=m&force=true",
              "{\"status\":{\"conditions\":[{\"type\":\"T\",\"status\":\"True\"}]}}", 200,
              "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
              "\"True\"},{\"type\":\"T\",\"status\":\"True\"}]}}"));
}

/* The end of its time is told, and its name is not free before it is gone. */
static void test_terminating(void **state) {
    (void)state;
    RUN(POST(PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\"}}", 201, NULL),
        DELETE(PODS "/p", NULL, 200,
               "{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:30Z\"}}"),
        POST(PODS, NAMED("p"), 409,
             "{\"message\":\"object is being deleted: pods \\\"p\\\" already exists\"}"),
        DELETE(PODS "/p?gracePeriodSeconds=5", NULL, 200,
               "{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:05Z\"}}"));
}

static int deny_b(void *ctx, const struct fakeapi_write *w, struct sl_buf *why) {
    yyjson_mut_val *o = yyjson_mut_doc_get_root(w->now);
    uint32_t *asked = ctx;

    asked[w->old ? 1 : 0]++;
    if (yyjson_mut_obj_get(yyjson_mut_obj_get(o, "spec"), "b")) {
        sl_buf_puts(why, "no b");
        return 403;
    }
    yyjson_mut_obj_put(o, yyjson_mut_str(w->now, "touched"), yyjson_mut_true(w->now));
    return 0;
}

static void test_admission(void **state) {
    static const struct step steps[] = {
        POST(JOBS, NAMED("x"), 201, "{\"touched\":true}"),
        PATCH(JOBS "/x", "{\"spec\":{\"b\":1}}", 403, "{\"reason\":\"Forbidden\"}"),
        GET(JOBS "/x", 200, "{\"spec\":null}"),
        POST(JOBS, "{\"metadata\":{\"name\":\"y\"},\"spec\":{\"b\":1}}", 403, NULL),
        GET(JOBS "/y", 404, NULL),
    };
    struct fakeapi *a = fakeapi_new(1);
    uint32_t asked[2] = {0, 0};

    (void)state;
    fakeapi_on_write(a, deny_b, asked);
    run(a, steps, SL_LEN(steps));
    assert_int_equal(asked[0], 2);
    assert_int_equal(asked[1], 1);
    fakeapi_free(a);
}

/* The answer's text, in the place of lines. */
static void on_text(void *ctx, const struct sl_kube_reply *r) {
    on_line(ctx, r->body, r->len);
    on_done(ctx, r);
}

/* Metadata alone, and which kinds there are. */
static void test_forms(void **state) {
    static const struct step steps[] = {
        POST(JOBS, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"secret\":1}}", 201, NULL)};
    static const struct {
        const char *path, *accept, *has;
    } cases[] = {
        {JOBS, SL_AS_METADATA_LIST, "\"name\":\"x\""},
        {JOBS "/x", SL_AS_METADATA, "PartialObjectMetadata"},
        {"/api", SL_AS_DISCOVERY, "\"resource\":\"pods\""},
        {"/apis", SL_AS_DISCOVERY, "\"kind\":\"Job\""},
    };
    struct fakeapi *a = fakeapi_new(1);
    struct sl_kube_client *p = fakeapi_port(a, 0);
    struct seen w = {.ended = -1};

    (void)state;
    run(a, steps, SL_LEN(steps));
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct seen s = {.ended = -1};
        (void)sl_kube_request(p,
                              &(struct sl_kube_request){.method = SL_GET,
                                                        .path = cases[i].path,
                                                        .accept = cases[i].accept},
                              on_text, &s);
        later(a);
        assert_int_equal(s.ended, 200);
        assert_non_null(strstr(s.lines.v[0], cases[i].has));
        assert_null(strstr(s.lines.v[0], "secret\":1"));
        free_seen(&s);
    }
    (void)p->ops->watch(p,
                        &(struct sl_kube_request){.method = SL_GET,
                                                  .path = JOBS "?watch=1&resourceVersion=1",
                                                  .accept = SL_AS_METADATA},
                        on_line, on_done, &w);
    later(a);
    assert_line(&w, 0, "ADDED", "x");
    assert_null(strstr(w.lines.v[0], "secret\":1"));
    free_seen(&w);
    fakeapi_free(a);
}

/* A server alone: namespaces wait for their controller, and nobody collects garbage. */
static void test_bare(void **state) {
    static const struct step steps[] = {
        POST("/api/v1/namespaces/a/secrets", NAMED("x"), 404, NULL),
        POST("/api/v1/namespaces", NAMED("a"), 201, "{\"spec\":{\"finalizers\":[\"kubernetes\"]}}"),
        POST("/api/v1/namespaces/a/secrets", NAMED("x"), 201, NULL),
        POST("/api/v1/namespaces/a/secrets",
             "{\"metadata\":{\"name\":\"y\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
             "\"Secret\",\"name\":\"z\",\"uid\":\"u\"}]}}",
             201, NULL),
        DELETE("/api/v1/namespaces/a", NULL, 200, "{\"status\":{\"phase\":\"Terminating\"}}"),
        POST("/api/v1/namespaces/a/secrets", NAMED("w"), 403, NULL),
        PUT("/api/v1/namespaces/a/finalize", "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409,
            NULL),
    };
    static const struct step after[] = {
        GET("/api/v1/namespaces/a/secrets/y", 200, NULL),
        DELETE("/api/v1/namespaces/a/secrets", NULL, 200, NULL),
        GET("/api/v1/namespaces/a/secrets", 200, "{\"items\":[]}"),
        PUT("/api/v1/namespaces/a/finalize", "{\"spec\":{\"finalizers\":[]}}", 200, NULL),
        GET("/api/v1/namespaces/a", 404, NULL),
    };
    struct fakeapi *a = fakeapi_new(1);

    (void)state;
    fakeapi_bare(a);
    run(a, steps, SL_LEN(steps));
    fakeapi_advance(a, SL_MINUTE);
    run(a, after, SL_LEN(after));
    fakeapi_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),         cmocka_unit_test(test_bare),
        cmocka_unit_test(test_create),        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_generate_name), cmocka_unit_test(test_update),
        cmocka_unit_test(test_patch),         cmocka_unit_test(test_finalizers),
        cmocka_unit_test(test_graceful),      cmocka_unit_test(test_lists),
        cmocka_unit_test(test_collected),     cmocka_unit_test(test_foreground_waits),
        cmocka_unit_test(test_watch),         cmocka_unit_test(test_calls),
        cmocka_unit_test(test_hooks),         cmocka_unit_test(test_sender),
        cmocka_unit_test(test_pod_rules),     cmocka_unit_test(test_pod_affinity),
        cmocka_unit_test(test_shared_status), cmocka_unit_test(test_terminating),
        cmocka_unit_test(test_admission),
    };
    return cmocka_run_group_tests_name("fakeapi", tests, NULL, NULL);
}
