/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: reviews in process, and webhooks over HTTPS that change, refuse, fail, are late or are
 * not meant.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "kube/client/secret.h"
#include "lib/http/cert.h"
#include "lib/http/server.h"
#include "lib/json/json.h"

#define CM "/api/v1/namespaces/default/configmaps"
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define HOOKS "/apis/admissionregistration.k8s.io/v1"

/* ---- in process ---- */

struct seen {
    int mutations, validations;
    char operation[16], user[64];
};

static void put_review_response(struct sl_buf *out, const char *uid, const char *patch,
                                const char *refusal) {
    sl_buf_printf(out, "{\"response\":{\"uid\":\"%s\",\"allowed\":%s", uid,
                  refusal ? "false" : "true");
    if (refusal)
        sl_buf_printf(out, ",\"status\":{\"code\":403,\"reason\":\"Forbidden\",\"message\":\"%s\"}",
                      refusal);
    if (patch) {
        sl_buf_puts(out, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
        sl_base64_encode(out, patch, strlen(patch));
        sl_buf_putc(out, '"');
    }
    sl_buf_puts(out, ",\"warnings\":[\"reviewed\"]}}");
}

static int review(void *ctx, const char *path, const char *body, size_t len, struct sl_buf *out) {
    struct seen *s = ctx;
    yyjson_doc *doc = yyjson_read(body, len, 0);
    yyjson_val *rq = sl_json_get(yyjson_doc_get_root(doc), "request");
    bool mutates = strncmp(path, "/mutate", 7) == 0;
    const char *bad = sl_json_str(rq, "object.metadata.annotations.refuse");

    (void)snprintf(s->operation, sizeof s->operation, "%s", sl_json_str(rq, "operation"));
    (void)snprintf(s->user, sizeof s->user, "%s", sl_json_str(rq, "userInfo.username"));
    s->mutations += mutates;
    s->validations += !mutates;
    put_review_response(out, sl_json_str(rq, "uid"),
                        mutates ? "[{\"op\":\"add\",\"path\":\"/spec/suspend\",\"value\":true}]"
                                : NULL,
                        !mutates && *bad ? bad : NULL);
    yyjson_doc_free(doc);
    return 200;
}

#define JOB(name, meta)                                                                            \
    "{\"metadata\":{\"name\":\"" name "\"" meta                                                    \
    "},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"   \
    "\"c\",\"image\":\"i\"}]}}}}"
#define QUEUED ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}"

static void test_own(void **state) {
    struct seen s = {0};
    struct api a;

    (void)state;
    api_init_spec(&a, (struct sl_apiserver_spec){.review = review, .ctx = &s});
    assert_int_equal(api_post(&a, JOBS, JOB("plain", "")), 201);
    assert_int_equal(s.mutations + s.validations, 0);
    assert_int_equal(api_post(&a, JOBS, JOB("j", QUEUED)), 201);
    assert_int_equal(s.mutations, 1);
    assert_int_equal(s.validations, 1);
    assert_string_equal(s.operation, "CREATE");
    assert_string_equal(s.user, "admin");
    assert_string_equal(api_at(&a, "spec.suspend"), "true");
    assert_int_equal(a.warnings.n, 1);
    assert_int_equal(
        api_patch(&a, JOBS "/j", "merge", "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}"), 200);
    assert_int_equal(s.mutations, 1);
    assert_int_equal(s.validations, 2);
    /* the status is not reviewed */
    assert_int_equal(api_patch(&a, JOBS "/j/status", "merge", "{\"status\":{\"ready\":0}}"), 200);
    assert_int_equal(s.validations, 2);
    assert_int_equal(api_patch(&a, JOBS "/j", "merge",
                               "{\"metadata\":{\"annotations\":{\"refuse\":\"no way\"}}}"),
                     403);
    assert_string_equal(api_at(&a, "message"),
                        "admission webhook \"vjob.kb.io\" denied the request: no way");
    assert_int_equal(api_post(&a, "/apis/batch/v1/namespaces/kube-system/jobs", JOB("j", QUEUED)),
                     201);
    assert_int_equal(s.mutations, 1);
    api_done(&a);
}

#define DEFINITION                                                                                 \
    "{\"metadata\":{\"name\":\"jobsets.jobset.x-k8s.io\"},\"spec\":{\"group\":"                    \
    "\"jobset.x-k8s.io\",\"scope\":\"Namespaced\",\"names\":{\"kind\":\"JobSet\",\"plural\":"      \
    "\"jobsets\"},\"versions\":[{\"name\":\"v1alpha2\",\"served\":true,\"storage\":true,"          \
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":"     \
    "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}"
#define SET(name, meta)                                                                            \
    "{\"apiVersion\":\"jobset.x-k8s.io/"                                                           \
    "v1alpha2\",\"kind\":\"JobSet\",\"metadata\":{\"name\":\"" name "\"" meta "},\"spec\":{}}"

static bool reviews_jobsets(void *ctx, const char *path) {
    (void)ctx;
    return strcmp(path, "/mutate-jobset-x-k8s-io-v1alpha2-jobset") == 0 ||
           strcmp(path, "/validate-jobset-x-k8s-io-v1alpha2-jobset") == 0;
}

static bool reviews_nothing(void *ctx, const char *path) {
    (void)ctx;
    return path[0] == '\0';
}

/* Kinds that definitions make are reviewed if the reviewer has a path for them. */
static void test_defined(void **state) {
    static const char sets[] = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct seen s = {0};
        struct api a;
        api_init_spec(
            &a, (struct sl_apiserver_spec){.review = review,
                                           .reviews = known ? reviews_jobsets : reviews_nothing,
                                           .ctx = &s});
        assert_int_equal(
            api_post(&a, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION),
            201);
        api_turn(&a, 20);
        assert_int_equal(api_post(&a, sets, SET("plain", "")), 201);
        assert_int_equal(s.mutations + s.validations, 0);
        assert_int_equal(api_post(&a, sets, SET("j", QUEUED)), 201);
        assert_int_equal(s.mutations, known);
        assert_int_equal(s.validations, known);
        if (known) {
            assert_string_equal(api_at(&a, "spec.suspend"), "true");
            assert_int_equal(api_post(&a, sets,
                                      SET("k", QUEUED ",\"annotations\":{\"refuse\":"
                                                      "\"no way\"}")),
                             403);
            assert_string_equal(api_at(&a, "message"),
                                "admission webhook \"vjobset.kb.io\" denied the request: no way");
        }
        api_done(&a);
    }
}

/* ---- over the wire ---- */

struct wire {
    struct api api;
    struct sl_httpd *httpd;
    struct sl_cert ca, cert;
    struct sl_buf ca64;
    int asked, late; /* late: never answers */
    const char *patch, *refusal;
    bool garbage, meddles; /* changes the object while it is called */
};

static void on_meddled(void *ctx, const struct sl_kube_reply *r) {
    (void)ctx;
    assert_int_equal(r->status, 200);
}

static void on_post(void *ctx, const struct sl_http_request *rq, struct sl_http_answer *out) {
    struct wire *w = ctx;
    yyjson_doc *doc = yyjson_read(rq->body, rq->len, 0);

    w->asked++;
    if (w->late) {
        yyjson_doc_free(doc);
        sl_http_defer(rq);
        return;
    }
    if (w->meddles && w->asked == 1) {
        struct sl_kube_client *p = sl_apiserver_client(w->api.server, "other", "other");
        static const char body[] = "{\"data\":{\"other\":\"1\"}}";
        (void)sl_kube_request(p,
                              &(struct sl_kube_request){.method = SL_PATCH,
                                                        .path = CM "/a",
                                                        .content_type = SL_MERGE_PATCH,
                                                        .body = body,
                                                        .len = sizeof body - 1},
                              on_meddled, NULL);
    }
    if (w->garbage)
        sl_buf_puts(&out->body, "what?");
    else
        put_review_response(&out->body,
                            sl_json_str(sl_json_get(yyjson_doc_get_root(doc), "request"), "uid"),
                            w->patch, w->refusal);
    yyjson_doc_free(doc);
}

static void wire_open(struct wire *w) {
    static const char *const names[] = {"127.0.0.1", "hook.default.svc"};
    sl_time now = (sl_time)time(NULL) * SL_SEC;
    struct sl_err err;

    *w = (struct wire){.asked = 0};
    api_init(&w->api);
    assert_true(sl_cert_ca("test", now, SL_HOUR, &w->ca, &err) >= 0);
    assert_true(sl_cert_serving(&w->ca, names, 2, now, SL_HOUR, &w->cert, &err) >= 0);
    assert_true(sl_httpd_start(&w->api.loop,
                               &(struct sl_httpd_spec){.host = "127.0.0.1",
                                                       .cert_pem = w->cert.cert_pem,
                                                       .key_pem = w->cert.key_pem,
                                                       .max_body = (size_t)4 << 20,
                                                       .max_connections = 16,
                                                       .handler = on_post,
                                                       .ctx = w},
                               &w->httpd, &err) >= 0);
    sl_buf_init(&w->ca64, (size_t)1 << 20);
    sl_base64_encode(&w->ca64, w->ca.cert_pem, strlen(w->ca.cert_pem));
}

static void wire_close(struct wire *w) {
    sl_httpd_stop(w->httpd);
    api_done(&w->api);
    sl_cert_done(&w->ca);
    sl_cert_done(&w->cert);
    sl_buf_done(&w->ca64);
}

/* 'more' is put into the webhook. */
static void wire_hook(struct wire *w, bool mutates, const char *client, const char *more) {
    struct sl_buf b;
    char where[100];

    if (!client) {
        (void)snprintf(where, sizeof where, "\"url\":\"https://127.0.0.1:%u/hook\"",
                       sl_httpd_port(w->httpd));
        client = where;
    }
    sl_buf_init(&b, (size_t)1 << 20);
    sl_buf_printf(
        &b,
        "{\"metadata\":{\"name\":\"h\"},\"webhooks\":[{\"name\":\"h.example.com\","
        "\"admissionReviewVersions\":[\"v1\"],"
        "\"clientConfig\":{%s,\"caBundle\":\"%s\"},\"sideEffects\":\"None\",\"rules\":[{"
        "\"apiGroups\":[\"\"],"
        "\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],\"resources\":[\"configmaps\"]}]%s}]}",
        client, sl_buf_str(&w->ca64), more);
    int status = api_post(&w->api,
                          mutates ? HOOKS "/mutatingwebhookconfigurations"
                                  : HOOKS "/validatingwebhookconfigurations",
                          sl_buf_str(&b));
    if (status != 201)
        fail_msg("%s", w->api.body);
    sl_buf_done(&b);
}

static void test_mutating(void **state) {
    struct wire w;

    (void)state;
    wire_open(&w);
    w.patch = "[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"from\":\"hook\"}}]";
    wire_hook(&w, true, NULL, "");
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_string_equal(api_at(&w.api, "data.from"), "hook");
    assert_int_equal(w.asked, 1);
    assert_int_equal(w.api.warnings.n, 1);
    assert_int_equal(
        api_post(&w.api, "/api/v1/namespaces/default/secrets", "{\"metadata\":{\"name\":\"s\"}}"),
        201);
    assert_int_equal(w.asked, 1);
    w.garbage = true;
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"b\"}}"), 500);
    assert_memory_equal(api_at(&w.api, "message"),
                        "Internal error occurred: failed calling webhook \"h.example.com\"", 63);
    wire_close(&w);
}

static void test_validating(void **state) {
    struct wire w;

    (void)state;
    wire_open(&w);
    wire_hook(&w, false, NULL, "");
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    w.refusal = "never";
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"b\"}}"), 403);
    assert_string_equal(api_at(&w.api, "message"),
                        "admission webhook \"h.example.com\" denied the request: never");
    assert_int_equal(api_delete(&w.api, CM "/a", NULL), 403);
    w.refusal = NULL;
    assert_int_equal(api_delete(&w.api, CM "/a", NULL), 200);
    assert_int_equal(w.asked, 4);
    /* the configuration itself is never reviewed; without it no webhook is called */
    assert_int_equal(api_delete(&w.api, HOOKS "/validatingwebhookconfigurations/h", NULL), 200);
    w.refusal = "never";
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"b\"}}"), 201);
    wire_close(&w);
}

static void test_unreachable(void **state) {
    struct wire w;

    (void)state;
    wire_open(&w);
    wire_hook(&w, false, "\"url\":\"https://127.0.0.1:1/\"", ",\"failurePolicy\":\"Ignore\"");
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    wire_hook(&w, true, "\"service\":{\"namespace\":\"default\",\"name\":\"hook\",\"path\":\"/x\"}",
              "");
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"b\"}}"), 500);
    assert_non_null(strstr(api_at(&w.api, "message"), "service \"hook\" not found"));
    wire_close(&w);
}

static void test_late(void **state) {
    struct wire w;

    (void)state;
    wire_open(&w);
    w.late = 1;
    wire_hook(&w, false, NULL, ",\"timeoutSeconds\":1");
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"a\"}}"), 500);
    assert_non_null(strstr(api_at(&w.api, "message"), "context deadline exceeded"));
    wire_close(&w);
}

/* A service is found by its endpoints, and serves under its own name. */
static void test_service(void **state) {
    struct wire w;
    char body[600];

    (void)state;
    wire_open(&w);
    assert_int_equal(api_post(&w.api, "/api/v1/namespaces/default/services",
                              "{\"metadata\":{\"name\":\"hook\"},\"spec\":{\"ports\":[{\"name\":"
                              "\"https\",\"port\":443}]}}"),
                     201);
    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"name\":\"hook-1\",\"labels\":{\"kubernetes.io/"
                   "service-name\":\"hook\"}},\"addressType\":\"IPv4\","
                   "\"ports\":[{\"name\":\"https\",\"port\":%u}],\"endpoints\":[{\"addresses\":["
                   "\"127.0.0.1\"]}]}",
                   sl_httpd_port(w.httpd));
    assert_int_equal(
        api_post(&w.api, "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", body), 201);
    w.refusal = "never";
    wire_hook(&w, false,
              "\"service\":{\"namespace\":\"default\",\"name\":\"hook\",\"path\":\"/x\"}", "");
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"a\"}}"), 403);
    wire_close(&w);
}

static void test_who_is_meant(void **state) {
    static const struct {
        const char *more;
        int status;
    } rows[] = {
        {",\"objectSelector\":{\"matchLabels\":{\"x\":\"1\"}}", 201},
        {",\"objectSelector\":{\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"DoesNotExist\"}]"
         "}",
         403},
        {",\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"default\"}}",
         403},
        {",\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"other\"}}",
         201},
        {",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"request.userInfo.username != "
         "'admin'\"}]",
         201},
        {",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"request.operation == 'CREATE' && "
         "!has(object.data)\"}]",
         403},
        {",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"has(object.data)\"}]", 201},
        {",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"[object, oldObject].exists(o, o "
         "!= null && o.metadata.name == 'a')\"}]",
         403},
        {",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"object.data.none == 'x'\"}]", 403},
        {",\"failurePolicy\":\"Ignore\",\"matchConditions\":[{\"name\":\"c\",\"expression\":"
         "\"object.data.none == 'x'\"}]",
         201},
    };
    struct wire w;

    (void)state;
    wire_open(&w);
    w.refusal = "never";
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        wire_hook(&w, false, NULL, rows[i].more);
        int status = api_post(&w.api, CM, "{\"metadata\":{\"name\":\"a\"}}");
        if (status != rows[i].status)
            fail_msg("%s: %d %s", rows[i].more, status, w.api.body);
        assert_int_equal(api_delete(&w.api, HOOKS "/validatingwebhookconfigurations/h", NULL), 200);
        if (status == 201)
            assert_int_equal(api_delete(&w.api, CM "/a", NULL), 200);
    }
    wire_close(&w);
}

/* The object changes while a webhook is called: both changes are in the end. */
static void test_meddling(void **state) {
    struct wire w;

    (void)state;
    wire_open(&w);
    assert_int_equal(api_post(&w.api, CM, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"1\"}}"),
                     201);
    wire_hook(&w, false, NULL,
              ",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"request.userInfo.username == "
              "'admin'\"}]");
    w.meddles = true;
    assert_int_equal(api_patch(&w.api, CM "/a", "merge", "{\"data\":{\"mine\":\"1\"}}"), 200);
    assert_int_equal(w.asked, 2);
    assert_string_equal(api_at(&w.api, "data.mine"), "1");
    assert_string_equal(api_at(&w.api, "data.other"), "1");
    wire_close(&w);
}

/* A Binding that is posted to a list of its own is one of its pod. */
static void test_binding(void **state) {
    static const char body[] = "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":"
                               "\"p\"},\"target\":{\"name\":\"n\"}}";
    struct wire w;

    (void)state;
    wire_open(&w);
    wire_hook(&w, false, NULL,
              ",\"matchPolicy\":\"Exact\",\"rules\":[{\"apiGroups\":[\"\"],\"apiVersions\":["
              "\"v1\"],\"operations\":[\"*\"],\"resources\":[\"pods/binding\"]}]");
    assert_int_equal(api_post(&w.api, "/api/v1/namespaces/default/pods",
                              "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":"
                              "\"c\",\"image\":\"i\"}]}}"),
                     201);
    assert_int_equal(api_post(&w.api, "/api/v1/namespaces/default/bindings", body), 201);
    assert_true(w.asked > 0);
    assert_int_equal(api_get(&w.api, "/api/v1/namespaces/default/pods/p"), 200);
    assert_string_equal(api_at(&w.api, "spec.nodeName"), "n");
    wire_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),          cmocka_unit_test(test_mutating),
        cmocka_unit_test(test_validating),   cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_late),         cmocka_unit_test(test_service),
        cmocka_unit_test(test_who_is_meant), cmocka_unit_test(test_meddling),
        cmocka_unit_test(test_binding),      cmocka_unit_test(test_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
