/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches: where they begin, what enters and leaves a selection, bookmarks, and how they end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

#define CM "/api/v1/namespaces/default/configmaps"

static int make_configmap(struct api *a, const char *name, const char *label) {
    char body[200];

    (void)snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"l\":\"%s\"}}}",
                   name, label);
    return api_post(a, CM, body);
}

static void test_events(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(make_configmap(&a, "old", "x"), 201);
    struct stream *all = api_watch(&a, "GET " CM "?watch=true");
    struct stream *other = api_watch(&a, "GET /api/v1/namespaces/kube-public/configmaps?watch=1");
    struct stream *one = api_watch(&a, "GET /api/v1/watch/namespaces/default/configmaps/b");
    assert_int_equal(make_configmap(&a, "b", "x"), 201);
    assert_int_equal(api_patch(&a, CM "/b", "merge", "{\"data\":{\"k\":\"v\"}}"), 200);
    assert_int_equal(api_delete(&a, CM "/b", NULL), 200);
    assert_int_equal(api_delete(&a, CM "/old", NULL), 200);
    api_turn(&a, 3);
    static const char *const wanted[] = {"ADDED old", "ADDED b", "MODIFIED b", "DELETED b",
                                         "DELETED old"};
    assert_int_equal(all->lines.n, SL_LEN(wanted));
    for (uint32_t i = 0; i < SL_LEN(wanted); i++)
        assert_string_equal(stream_event(all, i), wanted[i]);
    assert_int_equal(other->lines.n, 0);
    assert_int_equal(one->lines.n, 3);
    assert_string_equal(stream_event(one, 2), "DELETED b");
    /* each line is whole, and ends with a newline */
    for (uint32_t i = 0; i < all->lines.n; i++)
        assert_string_equal(strchr(all->lines.v[i], '\n'), "\n");
    stream_free(all);
    stream_free(other);
    stream_free(one);
    api_done(&a);
}

static void test_selection(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    struct stream *x = api_watch(&a, "GET " CM "?watch=true&labelSelector=l%3Dx");
    assert_int_equal(make_configmap(&a, "b", "y"), 201);
    assert_int_equal(api_patch(&a, CM "/b", "merge", "{\"metadata\":{\"labels\":{\"l\":\"x\"}}}"),
                     200);
    assert_int_equal(api_patch(&a, CM "/b", "merge", "{\"data\":{\"k\":\"v\"}}"), 200);
    assert_int_equal(api_patch(&a, CM "/b", "merge", "{\"metadata\":{\"labels\":{\"l\":\"z\"}}}"),
                     200);
    char version[40];
    (void)snprintf(version, sizeof version, "\"resourceVersion\":\"%s\"",
                   api_at(&a, "metadata.resourceVersion"));
    assert_int_equal(api_patch(&a, CM "/b", "merge", "{\"data\":{\"k\":\"w\"}}"), 200);
    assert_int_equal(api_delete(&a, CM "/b", NULL), 200);
    api_turn(&a, 3);
    assert_int_equal(x->lines.n, 3);
    assert_string_equal(stream_event(x, 0), "ADDED b");
    assert_string_equal(stream_event(x, 1), "MODIFIED b");
    assert_string_equal(stream_event(x, 2), "DELETED b");
    /* as it was when it was seen last, under the version of the change */
    assert_non_null(strstr(x->lines.v[2], "\"l\":\"x\""));
    assert_non_null(strstr(x->lines.v[2], version));
    stream_free(x);
    api_done(&a);
}

static void test_beginnings(void **state) {
    struct api a;
    char line[200];

    (void)state;
    api_init(&a);
    assert_int_equal(make_configmap(&a, "a", "x"), 201);
    (void)snprintf(line, sizeof line, "GET " CM "?watch=true&resourceVersion=%s",
                   api_at(&a, "metadata.resourceVersion"));
    assert_int_equal(make_configmap(&a, "b", "x"), 201);
    struct stream *from = api_watch(&a, line);
    struct stream *zero = api_watch(&a, "GET " CM "?watch=true&resourceVersion=0");
    struct stream *initial =
        api_watch(&a, "GET " CM "?watch=true&sendInitialEvents=true&resourceVersionMatch="
                      "NotOlderThan&allowWatchBookmarks=true");
    struct stream *none = api_watch(
        &a, "GET " CM "?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    api_turn(&a, 3);
    assert_int_equal(from->lines.n, 1);
    assert_string_equal(stream_event(from, 0), "ADDED b");
    assert_int_equal(zero->lines.n, 2);
    assert_int_equal(initial->lines.n, 3);
    assert_string_equal(stream_event(initial, 2), "BOOKMARK");
    assert_non_null(strstr(initial->lines.v[2], "\"k8s.io/initial-events-end\":\"true\""));
    assert_int_equal(none->lines.n, 0);
    stream_free(from);
    stream_free(zero);
    stream_free(initial);
    stream_free(none);
    assert_int_equal(api_get(&a, CM "?watch=true&resourceVersion=x"), 500);
    assert_int_equal(api_get(&a, CM "?watch=true&sendInitialEvents=true"), 422);
    assert_int_equal(api_get(&a, CM "?watch=true&resourceVersionMatch=Exact"), 422);
    assert_int_equal(api_get(&a, CM "?watch=true&fieldSelector=spec.x%3D1"), 400);
    api_done(&a);
}

/* A version that is too old is reported in the stream. */
static void test_too_old(void **state) {
    struct api a;
    char body[100];

    (void)state;
    api_init(&a);
    assert_int_equal(make_configmap(&a, "a", "x"), 201);
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(body, sizeof body, "{\"data\":{\"k\":\"%d\"}}", i);
        assert_int_equal(api_patch(&a, CM "/a", "merge", body), 200);
    }
    struct stream *s = api_watch(&a, "GET " CM "?watch=true&resourceVersion=5");
    api_turn(&a, 3);
    assert_true(s->ended);
    assert_int_equal(s->lines.n, 1);
    assert_string_equal(stream_event(s, 0), "ERROR Expired");
    assert_non_null(strstr(s->lines.v[0], "too old resource version: 5 ("));
    stream_free(s);
    api_done(&a);
}

static void test_ends(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    struct stream *timed =
        api_watch(&a, "GET " CM "?watch=true&timeoutSeconds=1&allowWatchBookmarks=true");
    struct stream *slow = api_watch(&a, "GET " CM "?watch=true");
    slow->slow = true;
    assert_int_equal(make_configmap(&a, "a", "x"), 201);
    api_turn(&a, 3);
    assert_true(slow->ended);
    if (!getenv("SL_MEMCHECK")) /* where a second is short */
        assert_false(timed->ended);
    while (!timed->ended)
        (void)uv_run(&a.loop, UV_RUN_ONCE);
    assert_string_equal(stream_event(timed, 0), "ADDED a");
    assert_string_equal(stream_event(timed, 1), "BOOKMARK");
    stream_free(timed);
    stream_free(slow);
    api_done(&a);
}

/* Rows of a table carry their columns once. */
static void test_table(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    struct stream *s =
        api_watch_as(&a, "GET " CM "?watch=true", "application/json;as=Table;v=v1;g=meta.k8s.io");
    assert_int_equal(make_configmap(&a, "a", "x"), 201);
    assert_int_equal(make_configmap(&a, "b", "x"), 201);
    api_turn(&a, 3);
    assert_int_equal(s->lines.n, 2);
    assert_non_null(strstr(s->lines.v[0], "\"columnDefinitions\":[{"));
    assert_non_null(strstr(s->lines.v[1], "\"columnDefinitions\":null"));
    stream_free(s);
    api_done(&a);
}

/* A renewal reaches watches with a version of its own, and changes nothing else. */
static void leases_are_renewed(void **state) {
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    struct sl_err err;
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(sl_apiserver_renew_lease(a.server, "n", &err), SL_ENOENT);
    assert_int_equal(api_post(&a, LEASES,
                              "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}},\"spec\":{"
                              "\"holderIdentity\":\"n\",\"leaseDurationSeconds\":40,\"renewTime\":"
                              "\"2020-01-01T00:00:00.000000Z\"}}"),
                     201);
    char *version = strdup(api_at(&a, "metadata.resourceVersion"));
    struct stream *s = api_watch(&a, "GET " LEASES "?watch=1&resourceVersion=0");
    assert_int_equal(sl_apiserver_renew_lease(a.server, "n", &err), 0);
    assert_int_equal(sl_apiserver_renew_lease(a.server, "n", &err), 0);
    api_turn(&a, 20);
    assert_int_equal(api_get(&a, LEASES "/n"), 200);
    assert_int_equal(strncmp(api_at(&a, "spec.renewTime"), "20", 2), 0);
    assert_int_equal(strlen(api_at(&a, "spec.renewTime")), 27);
    assert_string_not_equal(api_at(&a, "spec.renewTime"), "2020-01-01T00:00:00.000000Z");
    assert_string_equal(api_at(&a, "spec.holderIdentity"), "n");
    assert_string_equal(api_at(&a, "metadata.labels.a"), "b");
    assert_int_equal(strtoull(api_at(&a, "metadata.resourceVersion"), NULL, 10),
                     strtoull(version, NULL, 10) + 2);
    assert_string_equal(stream_event(s, 0), "ADDED n");
    assert_string_equal(stream_event(s, 1), "MODIFIED n");
    assert_string_equal(stream_event(s, 2), "MODIFIED n");
    stream_free(s);
    /* A write that was made from an older version is refused. */
    char body[300];
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"%s\"},\"spec\":{}}",
                   version);
    assert_int_equal(api_put(&a, LEASES "/n", body), 409);
    free(version);
    api_done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_beginnings),    cmocka_unit_test(test_too_old),
        cmocka_unit_test(test_ends),          cmocka_unit_test(test_table),
        cmocka_unit_test(leases_are_renewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
