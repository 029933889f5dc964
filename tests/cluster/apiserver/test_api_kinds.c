/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds from definitions, ours among them: served, converted, ruled, and gone; subresources; cells
 * of tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "cluster/apiserver/rest/subresource.h"
#include "cluster/apiserver/table/cells.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define PODS "/api/v1/namespaces/default/pods"
#define KUEUE "/apis/kueue.x-k8s.io/"

/* ---- definitions ---- */

#define FOO                                                                                        \
    "{\"metadata\":{\"name\":\"foos.ex.io\"},\"spec\":{\"group\":\"ex.io\",\"names\":{\"plural\":" \
    "\"foos\",\"kind\":"                                                                           \
    "\"Foo\"},\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\",\"served\":true,"            \
    "\"storage\":true,\"subresources\":"                                                           \
    "{\"status\":{}},\"additionalPrinterColumns\":[{\"name\":\"N\",\"type\":\"integer\","          \
    "\"jsonPath\":\".spec.n\"}],"                                                                  \
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":"     \
    "\"object\",\"properties\":"                                                                   \
    "{\"n\":{\"type\":\"integer\",\"default\":7}},\"x-kubernetes-validations\":[{\"rule\":\"self." \
    "n < 10\",\"message\":"                                                                        \
    "\"n is too "                                                                                  \
    "large\"}]},\"status\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}}}}}" \
    "]}}"

#define FOO_IS "{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Foo\","
#define IS(version_, kind_)                                                                        \
    "{\"apiVersion\":\"kueue.x-k8s.io/" version_ "\",\"kind\":\"" kind_ "\","

static void a_definition_is_served_at_once(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, CRDS, FOO), 201);
    assert_string_equal(api_at(&a, "status.conditions.1.type"), "Established");
    assert_string_equal(api_at(&a, "spec.names.listKind"), "FooList");
    assert_int_equal(api_post(&a, "/apis/ex.io/v1/namespaces/default/foos",
                              FOO_IS "\"metadata\":{\"name\":\"a\"},\"spec\":{}}"),
                     201);
    assert_string_equal(api_at(&a, "spec.n"), "7");
    assert_int_equal(api_post(&a, "/apis/ex.io/v1/namespaces/default/foos",
                              FOO_IS "\"metadata\":{\"name\":\"b\"},\"spec\":{\"n\":11}}"),
                     422);
    assert_string_equal(api_at(&a, "message"),
                        "Foo.ex.io \"b\" is invalid: spec: Invalid value: n is too large");
    assert_int_equal(api_do(&a, "GET /apis/ex.io/v1/foos", NULL,
                            "application/json;as=Table;v=v1;g=meta.k8s.io", NULL),
                     200);
    assert_string_equal(api_at(&a, "columnDefinitions.1.name"), "N");
    assert_string_equal(api_at(&a, "rows.0.cells.1"), "7");
    api_done(&a);
}

/* What kube-apiserver 1.36 says of selectable fields, which it was asked. */
static void selectable_fields_are_few(void **state) {
#define INVALID(path) "Invalid value: \\\"" path "\\\": "
#define TYPES                                                                                      \
    "must point to a field of type string, boolean or integer. Enum string fields and strings "    \
    "with formats are allowed."
    static const struct {
        int many; /* .spec.f0, .spec.f1 ... */
        const char *path, *says;
    } cases[] = {
        {8, NULL, NULL},
        {9, NULL, "spec.selectableFields: Too many: 9: must have at most 8 items"},
        {20, NULL, "spec.selectableFields: Too many: 20: must have at most 8 items"},
        {8, ".spec.f0", "spec.selectableFields[8].jsonPath: Duplicate value: \\\".spec.f0\\\""},
        {0, ".metadata.name",
         "jsonPath: " INVALID(
             ".metadata.name") "is an invalid path: does not refer to a valid field"},
        {0, ".spec.none",
         "jsonPath: " INVALID(".spec.none") "is an invalid path: does not refer to a valid field"},
        {0, ".spec..f1",
         "jsonPath: " INVALID(".spec..f1") "is an invalid path: does not refer to a valid field"},
        {0, ".spec.f1.x",
         "jsonPath: " INVALID(".spec.f1.x") "is an invalid path: does not refer to a valid field"},
        {0, ".spec.o", "jsonPath: " INVALID(".spec.o") TYPES},
        {0, ".spec.l", "jsonPath: " INVALID(".spec.l") TYPES},
        {0, ".spec.l[0]",
         "jsonPath: " INVALID(".spec.l[0]") "is an invalid path: array notation is not allowed"},
        {0, "['spec'].f1",
         "jsonPath: " INVALID("['spec'].f1") "is an invalid path: array notation is not allowed"},
        {0, "spec.f1",
         "jsonPath: " INVALID("spec.f1") "is an invalid path: expected [ or . but got: spec"},
        {0, ".", "jsonPath: " INVALID(".") "is an invalid path: unexpected end of JSON path"},
        {0, "", "spec.selectableFields[0].jsonPath: Required value"},
        {0, ".spec.m.a", NULL},
    };
    struct api a;
    (void)state;
    api_init(&a);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_buf b = SL_BUF((size_t)64 << 10);
        sl_buf_puts(&b,
                    "{\"metadata\":{\"name\":\"sels.ex.io\"},\"spec\":{\"group\":\"ex.io\","
                    "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"sels\",\"kind\":\"Sel\"}"
                    ",\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
                    "\"spec\":{\"type\":\"object\",\"properties\":{\"o\":{\"type\":\"object\"},"
                    "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"m\":{\"type\":"
                    "\"object\",\"additionalProperties\":{\"type\":\"string\"}}");
        for (int k = 0; k < 20; k++)
            sl_buf_printf(&b, ",\"f%d\":{\"type\":\"string\"}", k);
        sl_buf_puts(&b, "}}}}},\"selectableFields\":[");
        for (int k = 0; k < cases[i].many; k++)
            sl_buf_printf(&b, "%s{\"jsonPath\":\".spec.f%d\"}", k ? "," : "", k);
        if (cases[i].path)
            sl_buf_printf(&b, "%s{\"jsonPath\":\"%s\"}", cases[i].many ? "," : "", cases[i].path);
        sl_buf_puts(&b, "]}]}}");
        int status = api_post(&a, CRDS "?dryRun=All", sl_buf_str(&b));
        if (status != (cases[i].says ? 422 : 201) ||
            (cases[i].says && !strstr(a.body, cases[i].says)))
            fail_msg("%d of %s: %s", status, cases[i].path ? cases[i].path : "", a.body);
        sl_buf_done(&b);
    }
    api_done(&a);
}

static void a_definition_takes_its_objects_along(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, CRDS, FOO), 201);
    assert_int_equal(
        api_post(&a, "/apis/ex.io/v1/namespaces/default/foos",
                 FOO_IS
                 "\"metadata\":{\"name\":\"held\",\"finalizers\":[\"ex.io/x\"]},\"spec\":{}}"),
        201);
    assert_int_equal(api_post(&a, "/apis/ex.io/v1/namespaces/default/foos",
                              FOO_IS "\"metadata\":{\"name\":\"free\"},\"spec\":{}}"),
                     201);
    assert_int_equal(api_delete(&a, CRDS "/foos.ex.io", NULL), 200);
    api_turn(&a, 5);
    assert_int_equal(api_get(&a, "/apis/ex.io/v1/namespaces/default/foos"), 200);
    assert_int_equal(api_size(&a, "items"), 1);
    assert_int_equal(api_get(&a, CRDS "/foos.ex.io"), 200); /* it waits for the one that is held */
    assert_string_equal(api_at(&a, "status.conditions.2.type"), "Terminating");
    assert_int_equal(api_patch(&a, "/apis/ex.io/v1/namespaces/default/foos/held", "merge",
                               "{\"metadata\":{\"finalizers\":null}}"),
                     200);
    api_turn(&a, 5);
    assert_int_equal(api_get(&a, CRDS "/foos.ex.io"), 404);
    assert_int_equal(api_get(&a, "/apis/ex.io/v1/namespaces/default/foos"), 404);
    assert_int_equal(api_post(&a, CRDS, FOO), 201); /* and may come again, empty */
    assert_int_equal(api_get(&a, "/apis/ex.io/v1/namespaces/default/foos"), 200);
    assert_int_equal(api_size(&a, "items"), 0);
    api_done(&a);
}

static void our_kinds_convert(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(
        api_post(&a, KUEUE "v1beta2/resourceflavors",
                 IS("v1beta2", "ResourceFlavor") "\"metadata\":{\"name\":\"f\"},\"spec\":{}}"),
        201);
    assert_int_equal(
        api_post(
            &a, KUEUE "v1beta1/clusterqueues",
            IS("v1beta1",
               "ClusterQueue") "\"metadata\":{\"name\":\"q\"},\"spec\":{\"cohort\":\"c\","
                               "\"resourceGroups\":[{\"coveredResources\":"
                               "[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
                               "\"cpu\",\"nominalQuota\":4}]}]}]}}"),
        201);
    assert_string_equal(api_at(&a, "spec.cohort"), "c");
    assert_int_equal(api_get(&a, KUEUE "v1beta2/clusterqueues/q"), 200);
    assert_string_equal(api_at(&a, "spec.cohortName"), "c");
    assert_string_equal(api_at(&a, "apiVersion"), "kueue.x-k8s.io/v1beta2");
    api_done(&a);
}

static void our_rules_hold(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(
        api_post(&a, KUEUE "v1beta2/clusterqueues",
                 IS("v1beta2",
                    "ClusterQueue") "\"metadata\":{\"name\":\"q\"},\"spec\":{\"resourceGroups\":[{"
                                    "\"coveredResources\":[\"cpu\",\"memory\"],"
                                    "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
                                    "\"nominalQuota\":4}]}]}]}}"),
        422);
    assert_non_null(
        strstr(api_at(&a, "message"),
               "flavors must have the same number of resources as the coveredResources"));
    assert_int_equal(
        api_post(
            &a, KUEUE "v1beta2/namespaces/default/localqueues",
            IS("v1beta2",
               "LocalQueue") "\"metadata\":{\"name\":\"l\"},\"spec\":{\"clusterQueue\":\"a\"}}"),
        201);
    assert_int_equal(api_patch(&a, KUEUE "v1beta2/namespaces/default/localqueues/l", "merge",
                               "{\"spec\":{\"clusterQueue\":\"b\"}}"),
                     422);
    assert_non_null(strstr(api_at(&a, "message"), "field is immutable"));
    api_done(&a);
}

#define MQ "/apis/vk.io/v1/masterqueues"
#define MQ_OF(nats)                                                                                \
    "{\"apiVersion\":\"vk.io/"                                                                     \
    "v1\",\"kind\":\"MasterQueue\",\"metadata\":{\"name\":\"mq\"},\"spec\":{"                      \
    "\"template\":{\"cohort\":\"c\"},\"flavors\":[{\"name\":\"g\",\"nominalQuota\":{\"a/b\":1},"   \
    "\"natsFlavor\":{\"natsConnector\":\"h\",\"natsSubject\":\"s\"" nats "}}]}}"

/* No review here: schema alone. */
static void master_queues_are_built_in(void **state) {
    static const char *const columns[] = {"Name", "Pools", "Live", "Queues", "Ready", "Age"};
    struct api a;
    char path[64];

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, MQ, MQ_OF("")), 422);
    assert_non_null(strstr(api_at(&a, "message"), "spec.flavors[0].natsFlavor: Invalid value: "));
    assert_non_null(
        strstr(api_at(&a, "message"), "exactly one of pools and poolRegExp must be set"));
    assert_int_equal(api_post(&a, MQ, MQ_OF(",\"pools\":[\"p\"],\"poolRegExp\":\"x\"")), 422);
    assert_int_equal(api_post(&a, MQ, MQ_OF(",\"pools\":[\"p\"]")), 201);
    assert_string_equal(api_at(&a, "spec.template.stopPolicy"), "None");
    assert_string_equal(api_at(&a, "spec.flavors.0.nominalQuota.memory"), "1Ei");
    assert_string_equal(api_at(&a, "spec.flavors.0.nominalQuota.a/b"), "1");
    assert_string_equal(api_at(&a, "spec.flavors.0.natsFlavor.poolTimeout"), "60");
    assert_int_equal(api_patch(&a, MQ "/mq/status", "merge",
                               "{\"status\":{\"poolCount\":2,\"livePools\":1,\"queueCount\":3,"
                               "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":"
                               "\"R\",\"message\":\"\",\"lastTransitionTime\":"
                               "\"2026-01-01T00:00:00Z\"}]}}"),
                     200);
    assert_int_equal(
        api_do(&a, "GET " MQ, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io", NULL), 200);
    for (size_t i = 0; i < SL_LEN(columns); i++) {
        (void)snprintf(path, sizeof path, "columnDefinitions.%zu.name", i);
        assert_string_equal(api_at(&a, path), columns[i]);
    }
    assert_string_equal(api_at(&a, "rows.0.cells.1"), "2");
    assert_string_equal(api_at(&a, "rows.0.cells.2"), "1");
    assert_string_equal(api_at(&a, "rows.0.cells.3"), "3");
    assert_string_equal(api_at(&a, "rows.0.cells.4"), "True");
    api_done(&a);
}

#define FLUXJOBS "/apis/jobs.converged-computing.org/v1alpha1/namespaces/default/fluxjobs"
#define FLUXJOB(spec)                                                                              \
    "{\"apiVersion\":\"jobs.converged-computing.org/"                                              \
    "v1alpha1\",\"kind\":\"FluxJob\",\"metadata\":{\"name\":\"job-job\"},\"spec\":{" spec "}}"

/* All that fluxqueue writes, and never wrote. */
static void flux_jobs_are_built_in(void **state) {
    static const char *const columns[] = {"Name",     "State",   "Job ID", "Pods",  "Nodes",
                                          "Position", "Start",   "Reason", "Queue", "Bound",
                                          "Finished", "Message", "Age"};
    struct api a;
    char path[64];

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, FLUXJOBS, FLUXJOB("\"type\":6")), 422);
    assert_non_null(strstr(api_at(&a, "message"), "spec.type: Unsupported value: 6"));
    assert_int_equal(api_post(&a, FLUXJOBS, FLUXJOB("\"type\":\"1\"")), 422);
    assert_int_equal(api_post(&a, FLUXJOBS,
                              FLUXJOB("\"type\":1,\"name\":\"job\",\"nodes\":2,\"duration\":0,"
                                      "\"reservation\":true,\"object\":\"e30=\",\"resources\":{"
                                      "\"nodes\":[\"n\"]},\"jobspec\":\"version: 1\\n\"")),
                     201);
    assert_string_equal(api_at(&a, "spec.jobspec"), "version: 1\n");
    assert_string_equal(api_at(&a, "spec.resources.nodes.0"), "n");
    assert_int_equal(
        api_patch(&a, FLUXJOBS "/job-job/status", "merge",
                  "{\"status\":{\"submitStatus\":\"statusSubmit\",\"state\":\"Running\","
                  "\"jobid\":7,\"nodeList\":\"n[1-2]\",\"nodes\":[{\"name\":\"n1\","
                  "\"pods\":1}],\"pods\":{\"expected\":2,\"bound\":1}}}"),
        200);
    assert_int_equal(
        api_patch(&a, FLUXJOBS "/job-job/status", "merge", "{\"status\":{\"state\":\"Started\"}}"),
        422);
    assert_int_equal(
        api_do(&a, "GET " FLUXJOBS, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io", NULL),
        200);
    for (size_t i = 0; i < SL_LEN(columns); i++) {
        (void)snprintf(path, sizeof path, "columnDefinitions.%zu.name", i);
        assert_string_equal(api_at(&a, path), columns[i]);
    }
    assert_string_equal(api_at(&a, "rows.0.cells.1"), "Running");
    assert_string_equal(api_at(&a, "rows.0.cells.2"), "7");
    assert_string_equal(api_at(&a, "rows.0.cells.3"), "2");
    assert_string_equal(api_at(&a, "rows.0.cells.4"), "n[1-2]");
    api_done(&a);
}

/* ---- what the server puts into pods ---- */

static void admission_fills_pods(void **state) {
    struct api a;

    (void)state;
    api_init(&a);
    assert_int_equal(api_post(&a, "/api/v1/namespaces/default/limitranges",
                              "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":"
                              "\"Container\",\"default\":{\"cpu\":\"2\"},"
                              "\"defaultRequest\":{\"cpu\":\"1\"}}]}}"),
                     201);
    assert_int_equal(
        api_post(&a, "/apis/scheduling.k8s.io/v1/priorityclasses",
                 "{\"metadata\":{\"name\":\"high\"},\"value\":9,\"globalDefault\":true}"),
        201);
    assert_int_equal(api_post(&a, PODS,
                              "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":"
                              "\"c\",\"image\":\"i\"}]}}"),
                     201);
    assert_string_equal(api_at(&a, "spec.containers.0.resources.requests.cpu"), "1");
    assert_string_equal(api_at(&a, "spec.containers.0.resources.limits.cpu"), "2");
    assert_string_equal(api_at(&a, "spec.priority"), "9");
    assert_string_equal(api_at(&a, "spec.priorityClassName"), "high");
    assert_string_equal(api_at(&a, "spec.serviceAccountName"), "default");
    assert_string_equal(api_at(&a, "spec.tolerations.0.key"), "node.kubernetes.io/not-ready");
    assert_string_equal(api_at(&a, "status.qosClass"), "Burstable");
    assert_int_equal(api_post(&a, PODS,
                              "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"priorityClassName\":"
                              "\"none\",\"containers\":"
                              "[{\"name\":\"c\",\"image\":\"i\"}]}}"),
                     403);
    api_done(&a);
}

static void time_zones_have_an_end(void **state) {
    static const size_t lens[] = {127, 128, 5000};
    char zone[5001], body[6000];
    struct api a;

    (void)state;
    api_init(&a);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        memset(zone, 'a', lens[i]);
        zone[lens[i]] = '\0';
        (void)snprintf(body, sizeof body,
                       "{\"metadata\":{\"name\":\"z\"},\"spec\":{\"schedule\":\"* * * * *\","
                       "\"timeZone\":\"%s\",\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{"
                       "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
                       "\"image\":\"i\"}]}}}}}}",
                       zone);
        assert_int_equal(api_post(&a, "/apis/batch/v1/namespaces/default/cronjobs", body), 422);
        assert_non_null(strstr(a.body, "unknown time zone"));
    }
    api_done(&a);
}

static void managers_are_printable(void **state) {
    static const struct {
        const char *manager;
        int status;
    } t[] = {{"%00", 422}, {"a%00b", 422}, {"%0a", 422}, {"%7f", 422}, {"a%2500", 201}};
    char path[100], body[100];
    struct api a;

    (void)state;
    api_init(&a);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/default/configmaps?fieldManager=%s",
                       t[i].manager);
        (void)snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"m%zu\"}}", i);
        assert_int_equal(api_post(&a, path, body), t[i].status);
    }
    api_done(&a);
}

/* ---- subresources ---- */

/* A runtime with one log. */
static const char *log_text;

static int log_open(void *ctx, const char *ns, const char *pod, const char *uid,
                    const char *container, bool previous, void **ret, struct sl_err *err) {
    (void)ctx, (void)ns, (void)pod, (void)uid;
    if (previous || strcmp(container, "c") != 0)
        return sl_err_set(err, SL_ENOENT, "no such log");
    *ret = (void *)1;
    return 0;
}
static size_t log_read(void *ctx, void *log, uint64_t offset, struct sl_buf *out, bool *ret_end) {
    size_t len = strlen(log_text), n = offset < len ? 7 : 0; /* in small pieces, across lines */

    (void)ctx, (void)log;
    if (offset + n > len)
        n = len - (size_t)offset;
    sl_buf_add(out, log_text + (offset < len ? offset : len), n);
    *ret_end = offset + n >= len;
    return n;
}
static void log_close(void *ctx, void *log) {
    (void)ctx, (void)log;
}

static bool has_node(void *ctx, const char *node) {
    (void)ctx;
    return strcmp(node, "m") == 0;
}

static void logs_are_cut_as_asked(void **state) {
    static const struct {
        const char *key, *value, *text;
    } rows[] = {
        {"follow", "false", "one\ntwo and more\nthree\n"},
        {"tailLines", "1", "three\n"},
        {"tailLines", "0", ""},
        {"tailLines", "9", "one\ntwo and more\nthree\n"},
        {"limitBytes", "5", "one\nt"},
        {"sinceTime", "2026-01-01T00:00:01.5Z", "and more\nthree\n"},
        {"sinceSeconds", "8", "three\n"},
        {"timestamps", "true",
         "2026-01-01T00:00:00Z one\n2026-01-01T00:00:01Z two and more\n2026-01-01T00:00:03.5Z "
         "three\n"},
    };
    static const char pod_text[] = "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\","
                                   "\"containers\":[{\"name\":\"c\"}]}}";
    const struct sl_api_kubelet rt = {
        .log_open = log_open, .log_read = log_read, .log_close = log_close};
    const sl_time now = INT64_C(1767225611) * SL_SEC; /* 2026-01-01T00:00:11Z */
    yyjson_doc *pod = yyjson_read(pod_text, strlen(pod_text), 0);

    (void)state;
    log_text = "2026-01-01T00:00:00Z stdout F one\n2026-01-01T00:00:01Z stderr P two "
               "\n2026-01-01T00:00:02Z stderr F and more\n"
               "not a record\n2026-01-01T00:00:03.5Z stdout F three\n";
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        struct api_log_query q;
        struct api_refusal no = {0};
        struct sl_arena arena;
        struct sl_buf out;
        struct api_log *l;

        sl_arena_init(&arena, 65536);
        sl_buf_init(&out, 65536);
        api_log_query_init(&q);
        assert_true(api_log_param(&q, rows[i].key, rows[i].value, &arena, &no));
        l = api_log_open(&rt, yyjson_doc_get_root(pod), &q, now, &arena, &no);
        assert_non_null(l);
        while (api_log_step(l, &out))
            ;
        assert_string_equal(sl_buf_str(&out), rows[i].text);
        api_log_free(l);
        q.container = "other";
        assert_null(api_log_open(&rt, yyjson_doc_get_root(pod), &q, now, &arena, &no));
        assert_string_equal(no.text, "container other is not valid for pod p");
        const struct sl_api_kubelet elsewhere = {.log_open = log_open, .has_node = has_node};
        q.container = "c";
        assert_null(api_log_open(&elsewhere, yyjson_doc_get_root(pod), &q, now, &arena, &no));
        assert_int_equal(no.status, 501);
        assert_string_equal(no.text, "pod p runs on node n, which has a kubelet of its own: sluice "
                                     "up does not pass on logs to other kubelets");
        assert_false(api_log_param(&q, "tailLines", "x", &arena, &no));
        assert_int_equal(no.status, 400);
        assert_false(api_log_param(&q, "tailLines", "-1", &arena, &no));
        assert_int_equal(no.status, 422);
        sl_buf_done(&out);
        sl_arena_done(&arena);
    }
    yyjson_doc_free(pod);
}

/* ---- cells ---- */

#define META "\"metadata\":{\"name\":\"x\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"}"

static const struct {
    const char *kind, *object, *cells; /* at 2026-01-03T05:00:00Z */
} cells[] = {
    {"Pod",
     "{" META ",\"spec\":{\"containers\":[{\"name\":\"c\"},{\"name\":\"d\"}],\"nodeName\":\"n\"},"
     "\"status\":{\"phase\":\"Running\","
     "\"podIPs\":[{\"ip\":\"10.0.0.1\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
     "\"containerStatuses\":["
     "{\"name\":\"c\",\"ready\":true,\"restartCount\":3,\"state\":{\"running\":{}},\"lastState\":{"
     "\"terminated\":{\"finishedAt\":"
     "\"2026-01-03T04:58:20Z\"}}},{\"name\":\"d\",\"state\":{\"terminated\":{\"exitCode\":0,"
     "\"reason\":\"Completed\"}}}]}}",
     "[\"x\",\"1/2\",\"Running\",\"3 (100s "
     "ago)\",\"2d5h\",\"10.0.0.1\",\"n\",\"<none>\",\"<none>\"]"},
    {"Pod",
     "{" META ",\"spec\":{\"containers\":[{}],\"initContainers\":[{\"name\":\"i\"},{\"name\":\"j\"}"
     "]},\"status\":{\"phase\":"
     "\"Pending\",\"initContainerStatuses\":[{\"name\":\"i\",\"state\":{\"terminated\":{"
     "\"exitCode\":0}}},{\"name\":\"j\"}]}}",
     "[\"x\",\"0/1\",\"Init:1/2\",\"0\",\"2d5h\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
    {"Pod",
     "{" META ",\"spec\":{\"containers\":[{}]},\"status\":{\"phase\":\"Failed\","
     "\"containerStatuses\":[{\"state\":{\"terminated\":"
     "{\"exitCode\":137,\"signal\":9}}}]}}",
     "[\"x\",\"0/1\",\"Signal:9\",\"0\",\"2d5h\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
    {"Pod",
     "{\"metadata\":{\"name\":\"x\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{"
     "\"containers\":[{}]},\"status\":"
     "{\"phase\":\"Running\"}}",
     "[\"x\",\"0/"
     "1\",\"Terminating\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
    {"Node",
     "{" META ",\"spec\":{\"unschedulable\":true},\"status\":{\"conditions\":[{\"type\":\"Ready\","
     "\"status\":\"False\"}]}}",
     "[\"x\",\"NotReady,SchedulingDisabled\",\"<none>\",\"2d5h\",\"\",\"<none>\",\"<none>\",\"<"
     "unknown>\",\"<unknown>\",\"<unknown>\"]"},
    {"Job",
     "{" META ",\"spec\":{\"parallelism\":3,\"template\":{\"spec\":{\"containers\":[{\"name\":"
     "\"c\",\"image\":\"i\"}]}},\"selector\":"
     "{\"matchLabels\":{\"b\":\"1\",\"a\":\"2\"}}},\"status\":{\"startTime\":\"2026-01-03T04:00:"
     "00Z\",\"succeeded\":1}}",
     "[\"x\",\"Running\",\"1/1 of 3\",\"60m\",\"2d5h\",\"c\",\"i\",\"a=2,b=1\"]"},
    {"CronJob",
     "{" META ",\"spec\":{\"schedule\":\"* * * * "
     "*\",\"suspend\":false},\"status\":{\"lastScheduleTime\":\"2026-01-03T04:59:30Z\"}}",
     "[\"x\",\"* * * * *\",\"<none>\",\"False\",0,\"30s\",\"2d5h\",\"\",\"\",\"<none>\"]"},
    {"Deployment",
     "{" META ",\"spec\":{\"replicas\":3},\"status\":{\"readyReplicas\":1,\"updatedReplicas\":2}}",
     "[\"x\",\"1/3\",2,0,\"2d5h\",\"\",\"\",\"\"]"},
    {"Service",
     "{" META ",\"spec\":{\"type\":\"NodePort\",\"clusterIPs\":[\"10.1.1.1\"],\"ports\":[{\"port\":"
     "80,\"nodePort\":30000,"
     "\"protocol\":\"TCP\"}],\"selector\":{\"a\":\"b\"}}}",
     "[\"x\",\"NodePort\",\"10.1.1.1\",\"<none>\",\"80:30000/TCP\",\"2d5h\",\"a=b\"]"},
    {"Event",
     "{" META ",\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\"},\"reason\":\"R\",\"type\":"
     "\"Normal\",\"message\":\" m\\n\",\"count\":3,"
     "\"firstTimestamp\":\"2026-01-03T03:00:00Z\",\"lastTimestamp\":\"2026-01-03T04:59:00Z\","
     "\"source\":{\"component\":\"c\"}}",
     "[\"60s\",\"Normal\",\"R\",\"pod/p\",\"\",\"c\",\"m\",\"120m\",3,\"x\"]"},
    {"Secret", "{" META ",\"type\":\"Opaque\",\"data\":{\"a\":\"\",\"b\":\"\"}}",
     "[\"x\",\"Opaque\",2,\"2d5h\"]"},
    {"LimitRange", "{" META "}", "[\"x\",\"2026-01-01T00:00:00Z\"]"},
    {"ResourceQuota",
     "{" META ",\"status\":{\"hard\":{\"pods\":\"3\",\"cpu\":\"2\",\"limits.cpu\":\"4\"},\"used\":{"
     "\"pods\":\"1\"}}}",
     "[\"x\",\"cpu: 0/2, pods: 1/3\",\"limits.cpu: 0/4\",\"2d5h\"]"},
};

static void cells_are_kubectls(void **state) {
    const sl_time now = INT64_C(1767416400) * SL_SEC;

    (void)state;
    for (size_t i = 0; i < SL_LEN(cells); i++) {
        struct api_columns columns = api_columns_of(cells[i].kind);
        struct api_kind k = {.group = "", .kind = cells[i].kind};
        yyjson_doc *object = yyjson_read(cells[i].object, strlen(cells[i].object), 0), *row;
        struct sl_buf out;
        char *text;

        assert_non_null(object);
        sl_buf_init(&out, 65536);
        api_table_row(&k, columns, yyjson_doc_get_root(object), SL_INCLUDE_NONE, now, &out);
        row = yyjson_read(sl_buf_str(&out), out.len, 0);
        assert_non_null(row);
        text = yyjson_val_write(yyjson_obj_get(yyjson_doc_get_root(row), "cells"), 0, NULL);
        assert_string_equal(text, cells[i].cells);
        free(text);
        yyjson_doc_free(row);
        yyjson_doc_free(object);
        sl_buf_done(&out);
    }
}

static void ages_are_kubectls(void **state) {
    static const struct {
        sl_span age;
        const char *text;
    } rows[] = {{-2 * SL_SEC, "<invalid>"},
                {-SL_SEC / 2, "0s"},
                {119 * SL_SEC, "119s"},
                {120 * SL_SEC, "2m"},
                {125 * SL_SEC, "2m5s"},
                {10 * SL_MINUTE + 5 * SL_SEC, "10m"},
                {179 * SL_MINUTE, "179m"},
                {3 * SL_HOUR, "3h"},
                {3 * SL_HOUR + 61 * SL_SEC, "3h1m"},
                {9 * SL_HOUR + SL_MINUTE, "9h"},
                {47 * SL_HOUR, "47h"},
                {49 * SL_HOUR, "2d1h"},
                {192 * SL_HOUR, "8d"},
                {INT64_C(729) * 24 * SL_HOUR, "729d"},
                {INT64_C(731) * 24 * SL_HOUR, "2y1d"},
                {INT64_C(3650) * 24 * SL_HOUR, "10y"}};

    (void)state;
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        char out[SL_AGE_TEXT];
        assert_string_equal(api_age(rows[i].age, out), rows[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_is_served_at_once),
        cmocka_unit_test(a_definition_takes_its_objects_along),
        cmocka_unit_test(selectable_fields_are_few),
        cmocka_unit_test(our_kinds_convert),
        cmocka_unit_test(our_rules_hold),
        cmocka_unit_test(master_queues_are_built_in),
        cmocka_unit_test(flux_jobs_are_built_in),
        cmocka_unit_test(admission_fills_pods),
        cmocka_unit_test(managers_are_printable),
        cmocka_unit_test(time_zones_have_an_end),
        cmocka_unit_test(logs_are_cut_as_asked),
        cmocka_unit_test(cells_are_kubectls),
        cmocka_unit_test(ages_are_kubectls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
