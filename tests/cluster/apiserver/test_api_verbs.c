/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and what kube-apiserver 1.36 answers to them: codes, reasons and words, in the order of
 * the table. Each row is asked of the same server, so later ones see what earlier ones did.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "api.h"

#define CM "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define MERGE "application/merge-patch+json"
#define JSONP "application/json-patch+json"
#define APPLY "application/apply-patch+yaml"
#define MINE "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},"

struct row {
    const char *line, *type, *body;
    int status;
    const char *at, *is; /* a path of the response, and its text; NULL: not compared */
};

static const struct row rows[] = {
    /* places */
    {"GET /foo", NULL, NULL, 404, NULL, NULL},
    {"GET /apis/none", NULL, NULL, 404, NULL, NULL},
    {"GET /apis/none/v1/things", NULL, NULL, 404, NULL, NULL},
    {"GET /api/v1/nope", NULL, NULL, 404, "message",
     "the server could not find the requested resource"},
    {"GET /api/v1//configmaps", NULL, NULL, 404, NULL, NULL},
    {"GET /healthz", NULL, NULL, 200, NULL, NULL},
    {"GET /readyz/ping", NULL, NULL, 200, NULL, NULL},
    {"GET /version", NULL, NULL, 200, "gitVersion", "v1.36.0"},
    {"POST /version", NULL, "{}", 405, "reason", "MethodNotAllowed"},
    {"PUT " CM, NULL, "{}", 405, "message",
     "the server does not allow this method on the requested resource"},
    {"POST " CM "/a", NULL, "{}", 405, NULL, NULL},
    {"POST /api/v1/configmaps", NULL, "{}", 405, NULL, NULL},
    {"GET /api/v1/configmaps/a", NULL, NULL, 404, "reason", "NotFound"},
    /* create */
    {"POST " CM, NULL, MINE "\"data\":{\"x\":\"1\"}}", 201, "data.x", "1"},
    {"POST " CM, NULL, MINE "\"data\":{\"x\":\"1\"}}", 409, "message",
     "configmaps \"a\" already exists"},
    {"POST " CM, NULL, "{\"metadata\":{\"name\":\"A_b\"}}", 422, "details.causes.0.field",
     "metadata.name"},
    {"POST " CM, NULL, "{\"metadata\":{}}", 422, "message",
     "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"},
    {"POST " CM, NULL, "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"5\"}}", 500, "message",
     "resourceVersion should not be set on objects to be created"},
    {"POST " CM, NULL, "{\"metadata\":{\"name\":\"b\",\"namespace\":\"other\"}}", 400, "message",
     "the namespace of the provided object does not match the namespace sent on the request"},
    {"POST /api/v1/namespaces/none/configmaps", NULL, "{\"metadata\":{\"name\":\"b\"}}", 404,
     "message", "namespaces \"none\" not found"},
    {"POST " CM, NULL, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}", 400, "message",
     "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to "
     "(core.ConfigMap): unknown conversion"},
    {"POST " CM, NULL, "{\"metadata\":{\"name\":\"b\"},\"data\":{\"x\":1}}", 400, "message",
     "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number "
     "into Go struct field "
     "ConfigMap.data of type string"},
    {"POST " CM "?fieldValidation=Strict", NULL,
     "{\"metadata\":{\"name\":\"b\"},\"dota\":{},\"data\":{\"a\":\"1\",\"a\":\"2\"}}", 400,
     "message",
     "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown "
     "field \"dota\", duplicate "
     "field \"data.a\""},
    {"POST " CM "?fieldValidation=Foo", NULL, "{}", 422, "details.kind", "CreateOptions"},
    {"POST " CM "?dryRun=All", NULL, "{\"metadata\":{\"name\":\"dry\"}}", 201,
     "metadata.resourceVersion", ""},
    {"GET " CM "/dry", NULL, NULL, 404, NULL, NULL},
    {"POST " CM, NULL,
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b6\"", 400, "message",
     "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
     "json parse error: unexpected "
     "end of JSON input ({\"apiVersion\":\"v1\",\"kind\":\"Con ...)"},
    {"POST " CM, NULL, "hello", 400, NULL, NULL},
    {"POST " CM, NULL, "", 400, NULL, NULL},
    {"POST " CM, NULL, "[]", 400, NULL, NULL},
    {"POST " CM, "application/vnd.kubernetes.protobuf", "k8s", 400, "reason", "BadRequest"},
    {"POST " CM, "application/cbor", "k8s", 415, "reason", "UnsupportedMediaType"},
    {"POST " CM, "application/yaml", "metadata:\n  name: yy\ndata:\n  a: b\n", 201, "data.a", "b"},
    {"POST " CM, "application/yaml", "a: &a [*a", 400, NULL, NULL},
    /* update */
    {"PUT " CM "/a", NULL, "{\"metadata\":{\"name\":\"b\"}}", 400, "message",
     "the name of the object (b) does not match the name on the URL (a)"},
    {"PUT " CM "/a", NULL, "{\"metadata\":{}}", 400, "message",
     "the name of the object (a based on URL) was undeterminable: name must be provided"},
    {"PUT " CM "/a", NULL, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}", 409,
     "message",
     "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please "
     "apply your changes to the latest "
     "version and try again"},
    {"PUT " CM "/a", NULL, "{\"metadata\":{\"name\":\"a\",\"uid\":\"abc\"}}", 409, "reason",
     "Conflict"},
    {"PUT " CM "/a", NULL, MINE "\"data\":{\"x\":\"2\"}}", 200, "data.x", "2"},
    {"PUT " CM "/none", NULL, "{\"metadata\":{\"name\":\"none\"}}", 404, "message",
     "configmaps \"none\" not found"},
    /* patch */
    {"PATCH " CM "/a", "application/foo", "{}", 415, "message", "415: Unsupported Media Type"},
    {"PATCH " CM "/a", MERGE, "{\"data\":{\"z\":\"1\"}}", 200, "data.z", "1"},
    {"PATCH " CM "/a", MERGE, "{\"data\":", 400, "message",
     "error decoding patch: unexpected end of JSON input"},
    {"PATCH " CM "/a", MERGE, "{\"data\":{\"z\":1}}", 422, "details.causes.0.field", "patch"},
    {"PATCH " CM "/a", MERGE, "{\"metadata\":{\"uid\":\"x\"}}", 422, "details.causes.0.field",
     "metadata.uid"},
    {"PATCH " CM "/a", MERGE, "{\"metadata\":{\"name\":\"x\"}}", 400, NULL, NULL},
    {"PATCH " CM "/a", MERGE, "{\"metadata\":{\"namespace\":\"x\"}}", 400, NULL, NULL},
    {"PATCH " CM "/a", MERGE, "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409, NULL, NULL},
    {"PATCH " CM "/a", JSONP, "[{\"op\":\"add\",\"path\":\"/data/q\",\"value\":\"5\"}]", 200,
     "data.q", "5"},
    {"PATCH " CM "/a", JSONP, "[{\"op\":\"test\",\"path\":\"/data/q\",\"value\":\"6\"}]", 422,
     "reason", "Invalid"},
    {"PATCH " CM "/a", "application/strategic-merge-patch+json", "{\"data\":{\"q\":null}}", 200,
     "data.q", ""},
    {"PATCH " CM "/a?force=true", MERGE, "{}", 422, "details.causes.0.field", "force"},
    {"PATCH " CM "/a", APPLY, "{}", 422, "details.causes.0.field", "fieldManager"},
    {"PATCH " CM "/a?fieldManager=m", APPLY, "data: {}", 400, "message",
     "invalid object type: /, Kind="},
    {"PATCH " CM "/a?fieldManager=m", APPLY, MINE "\"data\":{\"z\":\"7\"}}", 409,
     "details.causes.0.reason", "FieldManagerConflict"},
    {"PATCH " CM "/a?fieldManager=m&force=true", APPLY, MINE "\"data\":{\"z\":\"7\"}}", 200,
     "data.z", "7"},
    {"PATCH " CM "/new?fieldManager=m", APPLY, "apiVersion: v1\nkind: ConfigMap\ndata: {z: '7'}\n",
     400, "reason", "BadRequest"}, /* the name is required */
    {"PATCH " CM "/new?fieldManager=m", APPLY,
     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\ndata: {z: '7'}\n", 201,
     "metadata.name", "new"},
    {"PATCH " CM "/none", MERGE, "{}", 404, NULL, NULL},
    /* access is not asked for, but answered */
    {"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL,
     "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/"
     "v1\",\"spec\":{\"resourceAttributes\":"
     "{\"verb\":\"create\",\"resource\":\"pods\"}}}",
     201, "status.allowed", "true"},
};

static void test_rows(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        const struct row *r = &rows[i];
        int status = api_do(&a, r->line, r->type, NULL, r->body);
        if (status != r->status || (r->at && strcmp(api_at(&a, r->at), r->is) != 0))
            fail_msg("row %zu: %s %s\nwanted %d %s=%s\ngot    %d %s", i, r->line,
                     r->body ? r->body : "", r->status, r->at ? r->at : "", r->is ? r->is : "",
                     status, a.body);
        if (status >= 400 && a.doc)
            assert_string_equal(api_at(&a, "kind"), "Status");
    }
    api_done(&a);
}

/* What no client may set is the server's. */
static void test_metadata(void **state) {
    struct api a;
    char uid[64], version[32];

    (void)state;
    api_init(&a);
    assert_int_equal(
        api_post(&a, CM,
                 "{\"metadata\":{\"generateName\":\"g-\",\"uid\":\"x\",\"creationTimestamp\":"
                 "\"2001-01-01T00:00:00Z\","
                 "\"deletionTimestamp\":\"2001-01-01T00:00:00Z\",\"selfLink\":\"/\"}}"),
        201);
    assert_int_equal(strlen(api_at(&a, "metadata.name")), 7);
    assert_memory_equal(api_at(&a, "metadata.name"), "g-", 2);
    assert_int_equal(strlen(api_at(&a, "metadata.uid")), 36);
    assert_string_not_equal(api_at(&a, "metadata.creationTimestamp"), "2001-01-01T00:00:00Z");
    assert_string_equal(api_at(&a, "metadata.deletionTimestamp"), "");
    assert_string_equal(api_at(&a, "metadata.selfLink"), "");
    assert_string_equal(api_at(&a, "metadata.namespace"), "default");

    assert_int_equal(api_post(&a, CM, MINE "\"data\":{\"x\":\"1\"}}"), 201);
    (void)snprintf(uid, sizeof uid, "%s", api_at(&a, "metadata.uid"));
    (void)snprintf(version, sizeof version, "%s", api_at(&a, "metadata.resourceVersion"));
    /* nothing changes: nothing is written */
    assert_int_equal(api_put(&a, CM "/a", MINE "\"data\":{\"x\":\"1\"}}"), 200);
    assert_string_equal(api_at(&a, "metadata.resourceVersion"), version);
    assert_string_equal(api_at(&a, "metadata.uid"), uid);
    assert_int_equal(api_patch(&a, CM "/a", "merge", "{\"data\":{\"x\":\"2\"}}"), 200);
    assert_string_not_equal(api_at(&a, "metadata.resourceVersion"), version);
    api_done(&a);
}

#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define JOB                                                                                        \
    "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":"          \
    "\"Never\",\"containers\":[{\"name\":\"c\","                                                   \
    "\"image\":\"i\"}]}}},\"status\":{\"active\":5}}"

/* spec and status are written apart, and only the spec counts as a generation. */
static void test_status(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, JOBS, JOB), 201);
    assert_string_equal(api_at(&a, "status.active"), "");
    assert_string_equal(api_at(&a, "metadata.generation"), "1");
    assert_int_equal(
        api_patch(&a, JOBS "/j/status", "merge",
                  "{\"spec\":{\"parallelism\":3},\"status\":{\"active\":2,\"ready\":0}}"),
        200);
    assert_string_equal(api_at(&a, "status.active"), "2");
    assert_string_equal(api_at(&a, "spec.parallelism"), "1");
    assert_string_equal(api_at(&a, "metadata.generation"), "1");
    assert_int_equal(api_patch(&a, JOBS "/j", "merge",
                               "{\"spec\":{\"parallelism\":3},\"status\":{\"active\":9}}"),
                     200);
    assert_string_equal(api_at(&a, "status.active"), "2");
    assert_string_equal(api_at(&a, "spec.parallelism"), "3");
    assert_string_equal(api_at(&a, "metadata.generation"), "2");
    assert_int_equal(api_get(&a, JOBS "/j/status"), 200);
    assert_string_equal(api_at(&a, "kind"), "Job");
    assert_int_equal(api_get(&a, JOBS "/j/nope"), 404);
    api_done(&a);
}

static void test_warnings(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, CM, "{\"metadata\":{\"name\":\"a\"},\"dota\":{}}"), 201);
    assert_int_equal(a.warnings.n, 1);
    assert_string_equal(a.warnings.v[0], "unknown field \"dota\"");
    assert_int_equal(
        api_post(&a, CM "?fieldValidation=Ignore", "{\"metadata\":{\"name\":\"b\"},\"dota\":{}}"),
        201);
    assert_int_equal(a.warnings.n, 0);
    api_done(&a);
}

static void test_discovery(void **state) {
    static const char *const v2 =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_get(&a, "/api/v1"), 200);
    assert_true(api_size(&a, "resources") > 20);
    assert_int_equal(api_get(&a, "/apis"), 200);
    assert_true(api_size(&a, "groups") > 5);
    assert_int_equal(api_do(&a, "GET /apis", NULL, v2, NULL), 200);
    assert_string_equal(api_at(&a, "kind"), "APIGroupDiscoveryList");
    assert_string_equal(a.type,
                        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    assert_int_equal(api_do(&a, "GET /api", NULL, v2, NULL), 200);
    assert_int_equal(api_size(&a, "items"), 1);
    assert_int_equal(api_get(&a, "/apis/kueue.x-k8s.io/v1beta2"), 200);
    assert_true(api_size(&a, "resources") > 5);
    assert_int_equal(api_get(&a, "/openapi/v2"), 200);
    assert_string_equal(api_at(&a, "swagger"), "2.0");
    assert_int_equal(api_get(&a, "/openapi/v3"), 200);
    assert_int_equal(api_get(&a, "/openapi/v3/apis/batch/v1"), 200);
    assert_int_equal(api_get(&a, "/openapi/v3/apis/none/v1"), 404);
    api_done(&a);
}

/* Bodies that are large, deep, or lie about their size in words. */
static void test_bad_bodies(void **state) {
    static char big[SL_API_MAX_BODY + 2], deep[20001];
    struct api a;

    (void)state;
    api_init(&a);
    memset(big, ' ', sizeof big - 1);
    assert_int_equal(api_post(&a, CM, big), 413);
    assert_string_equal(api_at(&a, "reason"), "RequestEntityTooLarge");
    memset(deep, '[', sizeof deep - 1);
    assert_int_equal(api_post(&a, CM, deep), 400);
    assert_int_equal(api_patch(&a, CM "/a", "merge", deep), 404); /* it was not parsed */
    assert_int_equal(api_post(&a, CM, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_int_equal(api_patch(&a, CM "/a", "merge", deep), 400);
    assert_int_equal(api_patch(&a, CM "/a?fieldManager=x", "apply", deep), 400);
    assert_int_equal(api_do(&a, "POST " CM, "application/yaml", NULL, deep), 400);
    api_done(&a);
}

/* The pod gets what is in the binding; of duplicate keys the last counts. */
static void test_binding(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(
        api_post(&a, PODS,
                 "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"a\":\"1\",\"b\":"
                 "\"1\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
        201);
    assert_int_equal(
        api_post(&a, PODS "/p/binding",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\","
                 "\"annotations\":{\"x\":\"1\",\"b\":\"2\",\"x\":\"2\",\"b\":\"3\"}},"
                 "\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}"),
        201);
    assert_int_equal(api_get(&a, PODS "/p"), 200);
    assert_non_null(strstr(a.body, "\"annotations\":{\"a\":\"1\",\"b\":\"3\",\"x\":\"2\"}"));
    api_done(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),      cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_status),    cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_discovery), cmocka_unit_test(test_bad_bodies),
        cmocka_unit_test(test_binding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
