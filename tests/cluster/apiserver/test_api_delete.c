/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletion: preconditions, finalizers, grace periods, what becomes of dependents, and namespaces
 * that end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "api.h"

#define CM "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"

static void test_plain(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, CM, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_int_equal(api_delete(&a, CM "/none", NULL), 404);
    assert_int_equal(api_delete(&a, CM "/a", "{\"preconditions\":{\"uid\":\"x\"}}"), 409);
    assert_int_equal(api_delete(&a, CM "/a", "{\"preconditions\":{\"resourceVersion\":\"1\"}}"),
                     409);
    assert_int_equal(api_delete(&a, CM "/a", "{\"propagationPolicy\":\"Foo\"}"), 422);
    assert_int_equal(
        api_delete(&a, CM "/a", "{\"propagationPolicy\":\"Orphan\",\"orphanDependents\":true}"),
        422);
    assert_int_equal(api_delete(&a, CM "/a", "[]"), 400);
    assert_int_equal(api_delete(&a, CM "/a?dryRun=All", NULL), 200);
    assert_int_equal(api_get(&a, CM "/a"), 200);
    assert_int_equal(api_delete(&a, CM "/a", NULL), 200);
    assert_string_equal(api_at(&a, "status"), "Success");
    assert_string_equal(api_at(&a, "details.kind"), "configmaps");
    assert_int_equal(strlen(api_at(&a, "details.uid")), 36);
    assert_int_equal(api_get(&a, CM "/a"), 404);
    api_done(&a);
}

static void test_finalizers(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, CM, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x/y\"]}}"),
                     201);
    assert_int_equal(api_delete(&a, CM "/a", NULL), 200);
    assert_string_equal(api_at(&a, "kind"), "ConfigMap");
    assert_true(*api_at(&a, "metadata.deletionTimestamp"));
    assert_string_equal(api_at(&a, "metadata.deletionGracePeriodSeconds"), "0");
    assert_int_equal(
        api_patch(&a, CM "/a", "merge", "{\"metadata\":{\"finalizers\":[\"x/y\",\"x/z\"]}}"), 422);
    assert_int_equal(api_patch(&a, CM "/a", "merge", "{\"metadata\":{\"deletionTimestamp\":null}}"),
                     200);
    assert_true(*api_at(&a, "metadata.deletionTimestamp"));
    struct stream *s = api_watch(&a, "GET " CM "?watch=true");
    assert_int_equal(api_patch(&a, CM "/a", "merge", "{\"metadata\":{\"finalizers\":null}}"), 200);
    api_turn(&a, 3);
    assert_string_equal(stream_event(s, s->lines.n - 1), "DELETED a");
    assert_int_equal(api_get(&a, CM "/a"), 404);
    stream_free(s);
    api_done(&a);
}

static void test_propagation(void **state) {
    static const struct {
        const char *options, *finalizer;
    } rows[] = {
        {"{\"propagationPolicy\":\"Foreground\"}", "foregroundDeletion"},
        {"{\"propagationPolicy\":\"Orphan\"}", "orphan"},
        {"{\"orphanDependents\":true}", "orphan"},
    };
    struct api a;

    (void)state;
    api_init(&a);
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        assert_int_equal(api_post(&a, CM, "{\"metadata\":{\"name\":\"a\"}}"), 201);
        assert_int_equal(api_delete(&a, CM "/a", rows[i].options), 200);
        assert_string_equal(api_at(&a, "metadata.finalizers.0"), rows[i].finalizer);
        assert_int_equal(api_delete(&a, CM "/a?propagationPolicy=Background", NULL), 200);
        assert_int_equal(api_get(&a, CM "/a"), 404);
    }
    api_done(&a);
}

static void test_grace(void **state) {
    static const char pod[] = "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\","
                              "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";
    struct api a;
    char later[64];

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, PODS, pod), 201);
    assert_int_equal(api_delete(&a, PODS "/p", NULL), 200);
    assert_string_equal(api_at(&a, "metadata.deletionGracePeriodSeconds"), "30");
    (void)snprintf(later, sizeof later, "%s", api_at(&a, "metadata.deletionTimestamp"));
    assert_int_equal(api_delete(&a, PODS "/p", "{\"gracePeriodSeconds\":5}"), 200);
    assert_string_equal(api_at(&a, "metadata.deletionGracePeriodSeconds"), "5");
    assert_true(strcmp(api_at(&a, "metadata.deletionTimestamp"), later) < 0);
    assert_int_equal(api_delete(&a, PODS "/p", "{\"gracePeriodSeconds\":60}"), 200);
    assert_string_equal(api_at(&a, "metadata.deletionGracePeriodSeconds"), "5");
    assert_int_equal(api_delete(&a, PODS "/p", "{\"gracePeriodSeconds\":0}"), 200);
    assert_int_equal(api_get(&a, PODS "/p"), 404);
    api_done(&a);
}

/* More seconds than there are in any calendar. */
static void test_endless_grace(void **state) {
    static const char pod[] = "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\","
                              "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";
    struct api a;

    (void)state;
    for (int i = 0; i < 2; i++) {
        api_init(&a);
        assert_int_equal(api_post(&a, PODS, pod), 201);
        assert_int_equal(
            i ? api_delete(&a, PODS "/p", "{\"gracePeriodSeconds\":9223372036854775807}")
              : api_delete(&a, PODS "/p?gracePeriodSeconds=9223372036854775807", NULL),
            200);
        assert_string_equal(api_at(&a, "metadata.deletionGracePeriodSeconds"), "2147483647");
        assert_int_equal(strlen(api_at(&a, "metadata.deletionTimestamp")), 20);
        assert_true(strcmp(api_at(&a, "metadata.deletionTimestamp"), "2090") > 0);
        assert_int_equal(api_delete(&a, PODS "/p?gracePeriodSeconds=0", NULL), 200);
        api_done(&a);
    }
}

static void test_many(void **state) {
    struct api a;
    char body[200];

    (void)state;
    api_init(&a);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(body, sizeof body,
                       "{\"metadata\":{\"name\":\"c%d\",\"labels\":{\"odd\":\"%d\"}%s}}", i, i % 2,
                       i == 3 ? ",\"finalizers\":[\"x/y\"]" : "");
        assert_int_equal(api_post(&a, CM, body), 201);
    }
    assert_int_equal(api_delete(&a, CM "?labelSelector=odd%3D1", NULL), 200);
    assert_string_equal(api_at(&a, "kind"), "ConfigMapList");
    assert_int_equal(api_size(&a, "items"), 10);
    assert_int_equal(api_get(&a, CM), 200);
    assert_int_equal(api_size(&a, "items"), 11);
    assert_int_equal(api_delete(&a, CM, NULL), 200);
    assert_int_equal(api_get(&a, CM), 200);
    assert_int_equal(api_size(&a, "items"), 1);
    assert_int_equal(api_delete(&a, CM "?labelSelector=nobody", NULL), 200);
    assert_int_equal(api_size(&a, "items"), 0);
    api_done(&a);
}

/* ---- many, a few at a time ---- */

#define COLLECTION 100

struct asked {
    bool is;
    int status;
};

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    *(struct asked *)ctx = (struct asked){true, a->status};
}

static sl_api_call start_request(struct api *a, const char *method, const char *path,
                                 const char *type, const char *body, struct asked *ret) {
    return sl_apiserver_call(a->server,
                             &(struct sl_api_request){.method = method,
                                                      .path = path,
                                                      .query = "",
                                                      .content_type = type,
                                                      .user_agent = "test/1",
                                                      .user = "admin",
                                                      .body = body,
                                                      .len = body ? strlen(body) : 0},
                             &(struct sl_api_sink){.ctx = ret, .answer = on_answer});
}

static uint64_t open_calls(struct api *a) {
    struct sl_apiserver_stats st;

    sl_apiserver_stats(a->server, &st);
    return st.open;
}

static void put_collection(struct api *a) {
    char body[100];

    for (int i = 0; i < COLLECTION; i++) {
        (void)snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"c%02d\"}}", i);
        assert_int_equal(api_post(a, CM, body), 201);
    }
}

static void test_slices(void **state) {
    struct asked asked = {0};
    uint64_t most = 0, open;
    struct api a;

    (void)state;
    api_init(&a);
    put_collection(&a);
    (void)start_request(&a, "DELETE", CM, "", NULL, &asked);
    while (!asked.is) {
        open = open_calls(&a);
        most = open > most ? open : most;
        (void)uv_run(&a.loop, UV_RUN_ONCE);
    }
    assert_int_equal(asked.status, 200);
    assert_int_equal(most, 1 + API_MANY_CALLS);
    assert_int_equal(api_get(&a, CM), 200);
    assert_int_equal(api_size(&a, "items"), 0);
    api_done(&a);
}

/* After a failure, and when the client has gone, no more are deleted. */
static void test_slices_end(void **state) {
    struct asked asked = {0};
    struct api a;
    char body[200];

    (void)state;
    api_init(&a);
    put_collection(&a);
    assert_int_equal(api_get(&a, CM "/c99"), 200);
    (void)snprintf(body, sizeof body, "{\"preconditions\":{\"uid\":\"%s\"}}",
                   api_at(&a, "metadata.uid"));
    assert_int_equal(api_delete(&a, CM, body), 409);
    assert_int_equal(api_get(&a, CM), 200);
    assert_int_equal(api_size(&a, "items"), COLLECTION);
    sl_apiserver_cancel(a.server, start_request(&a, "DELETE", CM, "", NULL, &asked));
    while (open_calls(&a))
        (void)uv_run(&a.loop, UV_RUN_ONCE);
    assert_false(asked.is);
    assert_int_equal(api_get(&a, CM), 200);
    assert_int_equal(api_size(&a, "items"), COLLECTION - (int)API_MANY_CALLS);
    /* ... and the server ends with such a request under way. */
    (void)start_request(&a, "DELETE", CM, "", NULL, &asked);
    api_done(&a);
}

/* A call that waits for the disk keeps its answer, not what it was made from. */
static void test_waiting(void **state) {
    static struct asked asked[32];
    char path[200];
    struct sl_buf b = SL_BUF(SL_STORE_MAX_OBJECT);
    struct api a;
    bool all = false;

    (void)state;
    api_init(&a);
    for (size_t i = 0; i < SL_LEN(asked); i++) {
        sl_buf_clear(&b);
        sl_buf_printf(&b, "{\"metadata\":{\"name\":\"c%zu\"},\"data\":{", i);
        for (int k = 0; b.len < (512 << 10); k++)
            sl_buf_printf(&b, "%s\"k%d\":\"\"", k ? "," : "", k);
        sl_buf_puts(&b, "}}");
        assert_int_equal(api_post(&a, CM, sl_buf_str(&b)), 201);
    }
    const size_t text = a.len; /* managed fields included */
    api_turn(&a, 10);
    struct mallinfo2 before = mallinfo2();
    for (size_t i = 0; i < SL_LEN(asked); i++) {
        (void)snprintf(path, sizeof path, CM "/c%zu", i);
        (void)start_request(&a, "PATCH", path, "application/merge-patch+json",
                            "{\"data\":{\"new\":\"x\"}}", &asked[i]);
    }
    assert_int_equal(open_calls(&a), SL_LEN(asked));
    struct mallinfo2 after = mallinfo2(); /* under a sanitiser nothing is counted */
    assert_in_range(after.uordblks + after.hblkhd, 0,
                    before.uordblks + before.hblkhd + SL_LEN(asked) * 3 * text);
    while (!all) {
        all = true;
        for (size_t i = 0; i < SL_LEN(asked); i++)
            all = all && asked[i].is;
        (void)uv_run(&a.loop, all ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    }
    for (size_t i = 0; i < SL_LEN(asked); i++)
        assert_int_equal(asked[i].status, 200);
    sl_buf_done(&b);
    api_done(&a);
}

/* Nothing new in a namespace that ends, and it ends when its finalizers are gone. */
static void test_namespace(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"t\"}}"), 201);
    assert_string_equal(api_at(&a, "status.phase"), "Active");
    assert_int_equal(api_delete(&a, "/api/v1/namespaces/t", NULL), 200);
    assert_string_equal(api_at(&a, "status.phase"), "Terminating");
    assert_int_equal(
        api_post(&a, "/api/v1/namespaces/t/configmaps", "{\"metadata\":{\"name\":\"a\"}}"), 403);
    assert_string_equal(
        api_at(&a, "message"),
        "configmaps \"a\" is forbidden: unable to create new content in namespace t because it "
        "is being terminated");
    assert_string_equal(api_at(&a, "details.causes.0.reason"), "NamespaceTerminating");
    assert_int_equal(api_put(&a, "/api/v1/namespaces/t/finalize",
                             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                             "\"t\"},\"spec\":{}}"),
                     200);
    assert_int_equal(api_get(&a, "/api/v1/namespaces/t"), 404);
    assert_int_equal(api_delete(&a, "/api/v1/namespaces/default", NULL), 403);
    api_done(&a);
}

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

/* With a definition go all objects of its kind: also more than may wait for the disk at a time. */
static void test_crowded_definition(void **state) {
    enum { MANY = 16500 };
    struct sl_apiserver_stats before, now = {.objects = UINT32_MAX};
    char body[200];
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(
        api_post(&a, CRDS,
                 "{\"metadata\":{\"name\":\"things.example.com\"},\"spec\":{\"group\":"
                 "\"example.com\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"things\","
                 "\"kind\":\"Thing\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
                 "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}"),
        201);
    sl_apiserver_stats(a.server, &before);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(body, sizeof body,
                       "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{"
                       "\"name\":\"t%d\"%s}}",
                       i, i ? "" : ",\"finalizers\":[\"x/y\"]");
        assert_int_equal(api_post(&a, "/apis/example.com/v1/things", body), 201);
    }
    assert_int_equal(api_delete(&a, CRDS "/things.example.com", NULL), 200);
    for (int i = 0; i < 10 * MANY && now.objects > before.objects + 1; i++) {
        api_turn(&a, 1);
        sl_apiserver_stats(a.server, &now);
    }
    assert_int_equal(api_get(&a, "/apis/example.com/v1/things"), 200);
    assert_int_equal(api_size(&a, "items"), 1); /* the one that is held */
    assert_int_equal(api_patch(&a, "/apis/example.com/v1/things/t0", "merge",
                               "{\"metadata\":{\"finalizers\":null}}"),
                     200);
    api_turn(&a, 5);
    assert_int_equal(api_get(&a, CRDS "/things.example.com"), 404);
    api_done(&a);
}

/* Its objects cannot be addressed any more, and yet they are deleted. */
static void test_unserved_definition(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(
        api_post(&a, CRDS,
                 "{\"metadata\":{\"name\":\"things.example.com\"},\"spec\":{\"group\":"
                 "\"example.com\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"things\","
                 "\"kind\":\"Thing\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
                 "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}"),
        201);
    assert_int_equal(api_post(&a, "/apis/example.com/v1/things",
                              "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{"
                              "\"name\":\"t\"}}"),
                     201);
    assert_int_equal(api_patch(&a, CRDS "/things.example.com", "json",
                               "[{\"op\":\"replace\",\"path\":\"/spec/versions/0/served\","
                               "\"value\":false}]"),
                     200);
    assert_int_equal(api_delete(&a, "/apis/example.com/v1/things/t", NULL), 404);
    assert_int_equal(api_delete(&a, CRDS "/things.example.com", NULL), 200);
    api_turn(&a, 10);
    assert_int_equal(api_get(&a, CRDS "/things.example.com"), 404);
    api_done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_finalizers),
        cmocka_unit_test(test_propagation),
        cmocka_unit_test(test_grace),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_slices_end),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_namespace),
        cmocka_unit_test(test_endless_grace),
        cmocka_unit_test(test_crowded_definition),
        cmocka_unit_test(test_unserved_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
