/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization, over an API client that the test answers by hand. */
#include "manager/serve/authz.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define KNOWN                                                                                      \
    "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"u\",\"groups\":[\"g\"]}}}"
#define NOBODY "{\"status\":{\"authenticated\":false}}"
#define YES "{\"status\":{\"allowed\":true}}"
#define WHAT "{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/metrics\"}}"
#define NO "{\"status\":{\"allowed\":false}}"

static struct {
    struct sl_kube_client client;
    uint32_t n, heard, cancelled;
    char path[128], body[512]; /* of the last request */
    sl_kube_reply_fn done;
    void *ctx;
} w;

static sl_kube_call on_request(struct sl_kube_client *p, const struct sl_kube_request *rq,
                               sl_kube_reply_fn done, void *ctx) {
    (void)p;
    (void)snprintf(w.path, sizeof w.path, "%s", rq->path);
    (void)snprintf(w.body, sizeof w.body, "%s", rq->body);
    w.done = done;
    w.ctx = ctx;
    return (sl_kube_call){++w.n};
}

static void on_cancel(struct sl_kube_client *p, sl_kube_call c) {
    (void)p;
    (void)c;
    w.cancelled++;
}

static const struct sl_kube_client_ops ops = {on_request, NULL, on_cancel};

static void on_result(void *ctx) {
    (void)ctx;
    w.heard++;
}

static void send_reply(int status, const char *body) {
    w.done(w.ctx, &(struct sl_kube_reply){.status = status, .body = body, .len = strlen(body)});
}

static struct serve_authz *fresh(void) {
    memset(&w, 0, sizeof w);
    w.client.ops = &ops;
    return serve_authz_new(&w.client, on_result, NULL);
}

static void test_headers(void **state) {
    struct serve_authz *a = fresh();
    (void)state;
    for (const char *const *h =
             (const char *const[]){"", "Basic eA==", "Bearer", "Bearer ", "Bearer a b", NULL};
         *h; h++)
        assert_int_equal(serve_authz_check(a, NULL, *h, WHAT), SL_AUTHZ_UNKNOWN);
    assert_int_equal(serve_authz_check(a, NULL, NULL, WHAT), SL_AUTHZ_UNKNOWN);
    assert_int_equal(w.n, 0);
    serve_authz_free(a);
}

static void test_answers(void **state) {
    static const struct {
        int who_status;
        const char *who;
        int may_status; /* 0: no request */
        const char *may;
        enum serve_authz_result says;
        sl_span kept;
    } cases[] = {
        {201, KNOWN, 201, YES, SL_AUTHZ_ALLOWED, SL_MINUTE},
        {201, KNOWN, 201, NO, SL_AUTHZ_FORBIDDEN, 10 * SL_SEC},
        {201, NOBODY, 0, NULL, SL_AUTHZ_UNKNOWN, 10 * SL_SEC},
        {500, "", 0, NULL, SL_AUTHZ_FAILED, SL_SEC},
        {201, "[]", 0, NULL, SL_AUTHZ_FAILED, SL_SEC},
        {201, KNOWN, 403, NOBODY, SL_AUTHZ_FAILED, SL_SEC},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct serve_authz *a = fresh();
        assert_int_equal(serve_authz_check(a, NULL, "bearer secret\"1", WHAT), SL_AUTHZ_WAIT);
        assert_int_equal(serve_authz_check(a, NULL, "Bearer secret\"1", WHAT),
                         SL_AUTHZ_WAIT); /* one request */
        assert_string_equal(w.path, "/apis/authentication.k8s.io/v1/tokenreviews");
        assert_non_null(strstr(w.body, "\"token\":\"secret\\\"1\""));
        send_reply(cases[i].who_status, cases[i].who);
        if (cases[i].may_status) {
            assert_int_equal(w.heard, 0);
            assert_string_equal(w.path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
            assert_non_null(strstr(w.body, "\"verb\":\"get\",\"path\":\"/metrics\"},\"user\":\"u\","
                                           "\"groups\":[\"g\"]}}"));
            send_reply(cases[i].may_status, cases[i].may);
        }
        uint32_t n = w.n;
        assert_int_equal(w.heard, 1);
        w.client.mono += cases[i].kept - 1;
        assert_int_equal(serve_authz_check(a, NULL, "Bearer secret\"1", WHAT), cases[i].says);
        assert_int_equal(w.n, n);
        w.client.mono += 1;
        assert_int_equal(serve_authz_check(a, NULL, "Bearer secret\"1", WHAT), SL_AUTHZ_WAIT);
        assert_int_equal(w.n, n + 1);
        serve_authz_free(a);
        assert_true(w.cancelled >= 1);
    }
}

static void test_many(void **state) {
    struct serve_authz *a = fresh();
    char header[32];
    (void)state;
    for (uint32_t i = 0; i < SL_AUTHZ_IN_FLIGHT; i++) {
        (void)snprintf(header, sizeof header, "Bearer %u", i);
        assert_int_equal(serve_authz_check(a, NULL, header, WHAT), SL_AUTHZ_WAIT);
    }
    assert_int_equal(serve_authz_check(a, NULL, "Bearer more", WHAT), SL_AUTHZ_FAILED);
    send_reply(201, NOBODY); /* of the last one, whose place another may have */
    assert_int_equal(serve_authz_check(a, NULL, "Bearer more", WHAT), SL_AUTHZ_WAIT);
    assert_int_equal(w.n, SL_AUTHZ_IN_FLIGHT + 1);
    serve_authz_free(a);
}

/* Whether the fields of an object are in a text. */
static bool has_fields(const char *text, const char *object) {
    return memmem(text, strlen(text), object + 1, strlen(object) - 2) != NULL;
}

/* A user that is cached is not checked again; each user and each action is a check of its own. */
static void test_users(void **state) {
    static const char *const questions[][2] = {{"{\"user\":\"u\"}", WHAT},
                                               {"{\"user\":\"v\"}", WHAT},
                                               {"{\"user\":\"u\"}", "{\"resourceAttributes\":{}}"}};
    struct serve_authz *a = fresh();
    (void)state;
    for (uint32_t i = 0; i < SL_LEN(questions); i++) {
        assert_int_equal(serve_authz_check_user(a, questions[i][0], questions[i][1]),
                         SL_AUTHZ_WAIT);
        assert_int_equal(w.n, i + 1);
        assert_string_equal(w.path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
        assert_true(has_fields(w.body, questions[i][0]));
        assert_true(has_fields(w.body, questions[i][1]));
        send_reply(201, i == 1 ? NO : YES);
    }
    for (uint32_t i = 0; i < SL_LEN(questions); i++)
        assert_int_equal(serve_authz_check_user(a, questions[i][0], questions[i][1]),
                         i == 1 ? SL_AUTHZ_FORBIDDEN : SL_AUTHZ_ALLOWED);
    assert_int_equal(w.n, SL_LEN(questions));
    /* A token that reads like a user is none. */
    assert_int_equal(serve_authz_check(a, NULL, "Bearer {\"user\":\"u\"}", WHAT), SL_AUTHZ_WAIT);
    assert_string_equal(w.path, "/apis/authentication.k8s.io/v1/tokenreviews");
    serve_authz_free(a);
}

/* Invented tokens: checks of other addresses still go on, and the API server does not get requests
 * without end. */
static void test_invented(void **state) {
    static const uint8_t one[SL_AUTHZ_FROM] = {1}, other[SL_AUTHZ_FROM] = {2};
    struct serve_authz *a = fresh();
    char header[32];

    (void)state;
    for (uint32_t i = 0; i < 2 * SL_AUTHZ_ENTRIES; i++) { /* none is answered */
        (void)snprintf(header, sizeof header, "Bearer random-%u", i);
        assert_int_equal(serve_authz_check(a, one, header, WHAT),
                         i < SL_AUTHZ_SHARE ? SL_AUTHZ_WAIT : SL_AUTHZ_FAILED);
    }
    assert_int_equal(w.n, SL_AUTHZ_SHARE);
    assert_int_equal(serve_authz_check(a, other, "Bearer good", WHAT), SL_AUTHZ_WAIT);
    send_reply(201, KNOWN);
    send_reply(201, YES);
    assert_int_equal(serve_authz_check(a, other, "Bearer good", WHAT), SL_AUTHZ_ALLOWED);
    serve_authz_free(a);

    a = fresh();
    uint32_t asked = 0;
    for (uint32_t i = 0; i < 10000; i++) { /* each is answered at once */
        (void)snprintf(header, sizeof header, "Bearer random-%u", i);
        if (serve_authz_check(a, one, header, WHAT) != SL_AUTHZ_WAIT)
            continue;
        asked++;
        send_reply(201, NOBODY);
        assert_int_equal(serve_authz_check(a, one, header, WHAT), SL_AUTHZ_UNKNOWN); /* and kept */
    }
    assert_int_equal(asked, SL_AUTHZ_MISSES);
    assert_int_equal(serve_authz_check(a, other, "Bearer good", WHAT), SL_AUTHZ_WAIT);
    send_reply(201, KNOWN);
    send_reply(201, YES);
    assert_int_equal(serve_authz_check(a, one, "Bearer good", WHAT),
                     SL_AUTHZ_ALLOWED); /* is known */
    w.client.mono += SL_AUTHZ_WINDOW;
    assert_int_equal(serve_authz_check(a, one, "Bearer another", WHAT), SL_AUTHZ_WAIT);
    send_reply(201, KNOWN);
    send_reply(201, YES);
    for (uint32_t i = 0; i < 1000; i++) { /* from many addresses, and none is answered */
        const uint8_t from[SL_AUTHZ_FROM] = {3, (uint8_t)(i >> 8), (uint8_t)i};
        (void)snprintf(header, sizeof header, "Bearer random-%u", i);
        (void)serve_authz_check(a, from, header, WHAT);
    }
    assert_int_equal(serve_authz_check(a, other, "Bearer good", WHAT), SL_AUTHZ_ALLOWED);
    serve_authz_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_many),    cmocka_unit_test(test_invented),
        cmocka_unit_test(test_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
