/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of our own parts: requests, watches, and cancels at awkward moments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "api.h"

#define CM "/api/v1/namespaces/default/configmaps"

struct heard {
    struct sl_kube_client *client;
    sl_kube_call call;
    int replies, status, lines;
    bool stops; /* cancels from within a line */
    char last[400];
};

static void on_reply(void *ctx, const struct sl_kube_reply *r) {
    struct heard *h = ctx;
    h->replies++;
    h->status = r->status;
    (void)snprintf(h->last, sizeof h->last, "%.*s", (int)(r->len < 399 ? r->len : 399), r->body);
}

static void on_line(void *ctx, const char *line, size_t len) {
    struct heard *h = ctx;
    h->lines++;
    assert_null(memchr(line, '\n', len));
    if (h->stops)
        sl_kube_cancel(h->client, h->call);
}

static void start_request(struct heard *h, enum sl_kube_method m, const char *path,
                          const char *body) {
    h->call = sl_kube_request(
        h->client,
        &(struct sl_kube_request){
            .method = m, .path = path, .content_type = SL_JSON, .body = body, .len = strlen(body)},
        on_reply, h);
}

static void test_requests(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    struct sl_kube_client *p = sl_apiserver_client(
        a.server, "system:serviceaccount:kube-system:job-controller", "job-controller/1");
    struct heard h = {.client = p};
    assert_true(p->wall > 0 && p->mono > 0);
    start_request(&h, SL_POST, CM, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"1\"}}");
    assert_int_equal(h.replies, 0); /* never inside the call */
    api_turn(&a, 3);
    assert_int_equal(h.replies, 1);
    assert_int_equal(h.status, 201);
    assert_non_null(strstr(h.last, "\"manager\":\"job-controller\""));
    start_request(&h, SL_GET, CM "?labelSelector=a%3Db&limit=5", "");
    api_turn(&a, 3);
    assert_int_equal(h.status, 200);
    start_request(&h, SL_DELETE, CM "/a", "");
    sl_kube_cancel(p, h.call); /* it is done all the same, but not reported */
    api_turn(&a, 3);
    assert_int_equal(h.replies, 2);
    assert_int_equal(api_get(&a, CM "/a"), 404);
    sl_kube_cancel(p, h.call); /* again is fine */
    api_done(&a);
}

static void test_watches(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    struct sl_kube_client *p = sl_apiserver_client(a.server, "me", "me");
    struct heard all = {.client = p}, once = {.client = p, .stops = true}, bad = {.client = p};
    all.call = sl_kube_watch(p, CM "?watch=true", on_line, on_reply, &all);
    once.call = sl_kube_watch(p, CM "?watch=true", on_line, on_reply, &once);
    bad.call = sl_kube_watch(p, CM "?watch=true&fieldSelector=x%3D1", on_line, on_reply, &bad);
    api_turn(&a, 3);
    assert_int_equal(bad.replies, 1);
    assert_int_equal(bad.status, 400);
    assert_int_equal(api_post(&a, CM, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_int_equal(api_post(&a, CM, "{\"metadata\":{\"name\":\"b\"}}"), 201);
    api_turn(&a, 3);
    assert_int_equal(all.lines, 2);
    assert_int_equal(once.lines, 1);
    assert_int_equal(once.replies, 0);
    /* the same among the first lines */
    struct heard first = {.client = p, .stops = true};
    first.call = sl_kube_watch(p, CM "?watch=true", on_line, on_reply, &first);
    api_turn(&a, 3);
    assert_int_equal(first.lines, 1);
    api_done(&a); /* with a watch open */
    assert_int_equal(all.replies, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_watches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
