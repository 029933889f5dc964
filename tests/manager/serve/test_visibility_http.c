/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The visibility API as HTTP: paths, refusals, pages, documents, and whose a request is that the
 * API server has passed on. Requests are made by hand; what connections are like is test_httpd's.
 */
#include "../controllers/flow_fixture.h"

#include "lib/http/cert.h"
#include "lib/json/json.h"
#include "manager/controllers/queue/pending.h"
#include "manager/serve/front_proxy.h"
#include "manager/visibility/api.h"

#define GROUP "/apis/visibility.kueue.x-k8s.io"
#define V1 GROUP "/v1beta1"
#define V2 GROUP "/v1beta2"
#define CONFIG_MAPS "/api/v1/namespaces/kube-system/configmaps"
#define CONFIG_MAP CONFIG_MAPS "/extension-apiserver-authentication"

/* ---- a request, and its answer ---- */

struct pair {
    const char *name, *value;
};

struct ask {
    struct sl_http_request rq;
    const char *peer; /* NULL: no certificate that holds */
    struct pair query[3], headers[80];
};

static const char *find_value(const struct pair *v, const char *name) {
    for (; v->name; v++)
        if (strcasecmp(v->name, name) == 0)
            return v->value;
    return NULL;
}

static const char *on_query(const struct sl_http_request *rq, const char *key) {
    return find_value(((const struct ask *)rq->priv)->query, key);
}

static const char *on_header(const struct sl_http_request *rq, const char *name) {
    return find_value(((const struct ask *)rq->priv)->headers, name);
}

static void on_headers(const struct sl_http_request *rq,
                       void (*each)(void *ctx, const char *name, const char *value), void *ctx) {
    for (const struct pair *v = ((const struct ask *)rq->priv)->headers; v->name; v++)
        each(ctx, v->name, v->value);
}

static bool on_peer(const struct sl_http_request *rq, char *out, size_t size) {
    const char *peer = ((const struct ask *)rq->priv)->peer;
    if (peer)
        (void)snprintf(out, size, "%s", peer);
    return peer;
}

static struct sl_http_request *finish_ask(struct ask *a, const char *method, const char *path) {
    a->rq = (struct sl_http_request){method,    path,       "",      "", 0,   on_query,
                                     on_header, on_headers, on_peer, a,  NULL};
    return &a->rq;
}

static struct sl_http_answer answer;
static yyjson_doc *doc;

/* The answer as an object. */
static yyjson_val *answered(const struct sl_manager *m, struct ask a, const char *method,
                            const char *path) {
    struct sl_visibility_target t;
    sl_buf_done(&answer.body);
    answer = (struct sl_http_answer){.status = 200, .content_type = "application/json"};
    sl_buf_init(&answer.body, SL_HTTP_ANSWER);
    sl_visibility_target(path, &t);
    sl_visibility_answer(m, &t, finish_ask(&a, method, path), &answer);
    while (answer.more && answer.more(answer.ctx, &answer.body))
        ;
    if (answer.more)
        answer.drop(answer.ctx);
    yyjson_doc_free(doc);
    doc = yyjson_read(sl_buf_str(&answer.body), answer.body.len, 0);
    if (!doc)
        fail_msg("%s: no JSON: %s", path, sl_buf_str(&answer.body));
    return yyjson_doc_get_root(doc);
}

static void refused(yyjson_val *o, int code, const char *reason) {
    assert_int_equal(answer.status, code);
    assert_string_equal(sl_json_str(o, "kind"), "Status");
    assert_string_equal(sl_json_str(o, "status"), "Failure");
    assert_string_equal(sl_json_str(o, "reason"), reason);
    assert_int_equal(sl_json_int(o, "code", 0), code);
    assert_true(*sl_json_str(o, "message"));
}

/* ---- paths ---- */

static void test_paths(void **state) {
    static const struct {
        const char *path;
        enum sl_visibility_what what;
        const char *version, *ns, *queue;
    } cases[] = {
        {"/", VISIBILITY_NOTHING, NULL, "", ""},
        {"", VISIBILITY_NOTHING, NULL, "", ""},
        {"/api", VISIBILITY_NOTHING, NULL, "", ""},
        {"/apis", VISIBILITY_GROUPS, NULL, "", ""},
        {"/apis/", VISIBILITY_GROUPS, NULL, "", ""},
        {"/apis/batch", VISIBILITY_NOTHING, NULL, "", ""},
        {GROUP, VISIBILITY_ONE_GROUP, NULL, "", ""},
        {V1, VISIBILITY_RESOURCES, "v1beta1", "", ""},
        {V2 "/", VISIBILITY_RESOURCES, "v1beta2", "", ""},
        {GROUP "/v1", VISIBILITY_NOTHING, NULL, "", ""},
        {V2 "/clusterqueues", VISIBILITY_QUEUES, "v1beta2", "", ""},
        {V2 "/clusterqueues/q", VISIBILITY_QUEUES, "v1beta2", "", ""},
        {V2 "/clusterqueues/q/pendingworkloads", VISIBILITY_PENDING, "v1beta2", "", "q"},
        {V2 "/clusterqueues//pendingworkloads", VISIBILITY_NOTHING, "v1beta2", "", ""},
        {V2 "/clusterqueues/q/status", VISIBILITY_NOTHING, "v1beta2", "", ""},
        {V2 "/clusterqueues/q/pendingworkloads/x", VISIBILITY_NOTHING, "v1beta2", "", ""},
        {V1 "/namespaces/n/localqueues/q/pendingworkloads", VISIBILITY_PENDING, "v1beta1", "n",
         "q"},
        {V1 "/namespaces/n/localqueues", VISIBILITY_QUEUES, "v1beta1", "n", ""},
        {V1 "/localqueues", VISIBILITY_QUEUES, "v1beta1", "", ""},
        {V1 "/localqueues/q/pendingworkloads", VISIBILITY_NOTHING, "v1beta1", "", ""},
        {V1 "/namespaces/n/clusterqueues/q/pendingworkloads", VISIBILITY_NOTHING, "v1beta1", "n",
         ""},
        {V1 "/namespaces/n/localqueues/q/pendingworkloads/a/b/c/d", VISIBILITY_NOTHING, "v1beta1",
         "n", ""},
        {"/openapi/v2", VISIBILITY_OPENAPI_2, NULL, "", ""},
        {"/openapi/v3", VISIBILITY_OPENAPI_3, NULL, "", ""},
        {"/openapi/v3" V2, VISIBILITY_OPENAPI_3_VERSION, "v1beta2", "", ""},
        {"/openapi/v3/apis/batch/v1", VISIBILITY_NOTHING, NULL, "", ""},
    };
    char longer[400] = V2 "/clusterqueues/";
    struct sl_visibility_target t;
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        sl_visibility_target(cases[i].path, &t);
        if (t.what != cases[i].what)
            fail_msg("%s: %d", cases[i].path, t.what);
        if (t.what == VISIBILITY_NOTHING)
            continue;
        assert_string_equal(t.version ? t.version : "", cases[i].version ? cases[i].version : "");
        assert_string_equal(t.ns, cases[i].ns);
        assert_string_equal(t.queue, cases[i].queue);
    }
    memset(longer + strlen(longer), 'x', 300);
    memcpy(longer + strlen(longer), "/pendingworkloads", sizeof "/pendingworkloads");
    sl_visibility_target(longer, &t);
    assert_int_equal(t.what, VISIBILITY_NOTHING);
}

static void test_attributes(void **state) {
    static const char *const cases[][2] = {
        {V2 "/clusterqueues/a\"b/pendingworkloads",
         "{\"resourceAttributes\":{\"verb\":\"get\",\"group\":\"visibility.kueue.x-k8s.io\","
         "\"version\":\"v1beta2\",\"resource\":\"clusterqueues\",\"subresource\":"
         "\"pendingworkloads\",\"name\":\"a\\\"b\"}}"},
        {V1 "/namespaces/n/localqueues/q/pendingworkloads",
         "{\"resourceAttributes\":{\"verb\":\"get\",\"group\":\"visibility.kueue.x-k8s.io\","
         "\"version\":\"v1beta1\",\"resource\":\"localqueues\",\"subresource\":"
         "\"pendingworkloads\",\"name\":\"q\",\"namespace\":\"n\"}}"},
        {V2 "/clusterqueues",
         "{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"" V2 "/clusterqueues\"}}"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_visibility_target t;
        struct sl_buf b;
        sl_buf_init(&b, 4096);
        sl_visibility_target(cases[i][0], &t);
        sl_visibility_attributes(&t, cases[i][0], &b);
        assert_string_equal(sl_buf_str(&b), cases[i][1]);
        sl_buf_done(&b);
    }
}

/* ---- answers ---- */

static void test_documents(void **state) {
    struct ask plain = {0},
               new = {.headers = {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as="
                                             "APIGroupDiscoveryList,application/json"}}};
    (void)state;
    yyjson_val *o = answered(NULL, plain, "GET", "/apis");
    assert_string_equal(sl_json_str(o, "kind"), "APIGroupList");
    assert_string_equal(sl_json_str(yyjson_ptr_get(o, "/groups/0"), "preferredVersion.version"),
                        "v1beta2");
    o = answered(NULL, new, "GET", "/apis");
    assert_string_equal(sl_json_str(o, "apiVersion"), "apidiscovery.k8s.io/v2");
    assert_string_equal(answer.content_type,
                        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    assert_int_equal(yyjson_arr_size(yyjson_ptr_get(o, "/items/0/versions")), 2);
    assert_string_equal(
        sl_json_str(yyjson_ptr_get(o, "/items/0/versions/1/resources/1/subresources/0"),
                    "subresource"),
        "pendingworkloads");
    o = answered(NULL, plain, "HEAD", GROUP);
    assert_string_equal(sl_json_str(o, "kind"), "APIGroup");
    o = answered(NULL, plain, "GET", V1);
    assert_string_equal(sl_json_str(o, "groupVersion"), "visibility.kueue.x-k8s.io/v1beta1");
    assert_int_equal(yyjson_arr_size(sl_json_at(o, "resources")), 4);
    o = answered(NULL, plain, "GET", "/openapi/v2");
    assert_string_equal(sl_json_str(o, "swagger"), "2.0");
    assert_int_equal(yyjson_obj_size(sl_json_at(o, "paths")), 4);
    assert_int_equal(yyjson_obj_size(sl_json_at(o, "definitions")), 2);
    o = answered(NULL, plain, "GET", "/openapi/v3");
    assert_int_equal(yyjson_obj_size(sl_json_at(o, "paths")), 2);
    o = answered(NULL, plain, "GET", "/openapi/v3" V1);
    assert_string_equal(sl_json_str(o, "openapi"), "3.0.0");
    assert_int_equal(yyjson_obj_size(sl_json_at(o, "paths")), 2);
    /* What is referred to is there. */
    yyjson_val *schemas = sl_json_at(o, "components.schemas"), *path, *key;
    size_t i, n;
    sl_obj_foreach (sl_json_at(o, "paths"), i, n, key, path) {
        const char *ref = sl_json_str(
            yyjson_ptr_get(path, "/get/responses/200/content/application~1json"), "schema.$ref");
        assert_non_null(yyjson_obj_get(schemas, strrchr(ref, '/') + 1));
    }
}

static void test_pending(void **state) {
    static const char pending[] = V2 "/clusterqueues/q/pendingworkloads";
    struct ask plain = {0};
    struct world w;
    (void)state;
    open_world(&w, 1, CONFIG, (struct sl_manager_parts){.core = true, .scheduler = true});
    refused(answered(w.m, plain, "GET", pending), 503, "ServiceUnavailable");
    create(&w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(&w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'q'},'spec':{'stopPolicy':'Hold','namespaceSelector':{}}}");
    create(&w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'l'},'spec':{'clusterQueue':'q'}}");
    for (int i = 0; i < 3; i++) {
        char body[512];
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'w%d'},'spec':{'queueName':'l','podSets':[{'name':"
                       "'main','count':1,'template':{'spec':{'containers':[{'name':'c'}]}}}]}}",
                       i);
        create(&w, WORKLOADS, body);
        run(&w, 2 * SL_SEC);
    }
    static const struct {
        struct pair query[3];
        const char *first;
        uint32_t n;
    } cases[] = {
        {{{0}}, "w0", 3},
        {{{"limit", "2"}}, "w0", 2},
        {{{"limit", "2"}, {"offset", "2"}}, "w2", 1},
        {{{"limit", "0"}, {"offset", "-7"}}, "w0", 3},
        {{{"limit", "-1"}}, "", 0},
        {{{"limit", "9223372036854775807"}, {"offset", "1"}}, "w1", 2},
        {{{"offset", "9223372036854775807"}}, "", 0},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct ask a = {0};
        memcpy(a.query, cases[i].query, sizeof a.query);
        for (size_t k = 0; k < 2; k++) {
            yyjson_val *items = sl_json_at(
                answered(w.m, a, "GET",
                         k ? V1 "/namespaces/ns/localqueues/l/pendingworkloads" : pending),
                "items");
            assert_int_equal(answer.status, 200);
            assert_int_equal(yyjson_arr_size(items), cases[i].n);
            assert_string_equal(sl_json_str(yyjson_arr_get_first(items), "metadata.name"),
                                cases[i].first);
        }
    }
    static const char *const numbers[] = {"",    "x",   "1x",  " 1",  "+1",
                                          "1e3", "0x1", "1.0", "--1", "9223372036854775808"};
    for (size_t i = 0; i < SL_LEN(numbers); i++)
        for (size_t k = 0; k < 2; k++) {
            struct ask a = {.query = {{k ? "limit" : "offset", numbers[i]}}};
            refused(answered(w.m, a, "GET", pending), 400, "BadRequest");
        }
    yyjson_val *o = answered(w.m, plain, "GET", V2 "/clusterqueues/none/pendingworkloads");
    refused(o, 404, "NotFound");
    assert_string_equal(sl_json_str(o, "message"),
                        "clusterqueue.visibility.kueue.x-k8s.io \"none\" not found");
    assert_string_equal(sl_json_str(o, "details.kind"), "clusterqueue");
    o = answered(w.m, plain, "GET", V1 "/namespaces/other/localqueues/l/pendingworkloads");
    refused(o, 404, "NotFound");
    assert_string_equal(sl_json_str(o, "details.name"), "l");
    refused(answered(w.m, plain, "GET", "/version"), 404, "NotFound");
    refused(answered(w.m, plain, "POST", pending), 405, "MethodNotAllowed");
    refused(answered(w.m, plain, "DELETE", "/apis"), 405, "MethodNotAllowed");
    refused(answered(w.m, plain, "GET", V2 "/clusterqueues"), 405, "MethodNotAllowed");
    end(&w);
}

static void test_forbidden(void **state) {
    static const char *const cases[][2] = {
        {V2 "/clusterqueues/q/pendingworkloads",
         "clusterqueues.visibility.kueue.x-k8s.io \"q\" is forbidden: cannot get resource "
         "\"clusterqueues/pendingworkloads\" in API group \"visibility.kueue.x-k8s.io\" at the "
         "cluster scope"},
        {V2 "/namespaces/n/localqueues/q/pendingworkloads",
         "localqueues.visibility.kueue.x-k8s.io \"q\" is forbidden: cannot get resource "
         "\"localqueues/pendingworkloads\" in API group \"visibility.kueue.x-k8s.io\" in the "
         "namespace \"n\""},
        {"/apis", "forbidden: cannot get path \"/apis\""},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_visibility_target t;
        sl_visibility_target(cases[i][0], &t);
        sl_buf_clear(&answer.body);
        sl_visibility_forbid(&t, cases[i][0], &answer);
        yyjson_doc_free(doc);
        doc = yyjson_read(sl_buf_str(&answer.body), answer.body.len, 0);
        refused(yyjson_doc_get_root(doc), 403, "Forbidden");
        assert_string_equal(sl_json_str(yyjson_doc_get_root(doc), "message"), cases[i][1]);
    }
}

/* ---- whose it is ---- */

static void follow(struct fakeapi *api, struct serve_front_proxy *f, sl_span span) {
    sl_time until = fakeapi_now(api) + span;
    for (;;) {
        serve_front_proxy_tick(f);
        sl_time a = fakeapi_next(api), b = serve_front_proxy_next(f), next = a < b ? a : b;
        if (next > until)
            break;
        (void)fakeapi_step(api, next);
    }
    fakeapi_advance(api, until);
    serve_front_proxy_tick(f);
}

static const char *user_of(const struct serve_front_proxy *f, struct ask a) {
    static char text[8192];
    struct sl_buf b;
    sl_buf_init(&b, sizeof text - 1);
    bool known = serve_front_proxy_user(f, finish_ask(&a, "GET", "/apis"), &b);
    (void)snprintf(text, sizeof text, "%s", known ? sl_buf_str(&b) : "-");
    sl_buf_done(&b);
    return text;
}

static void put_cas(struct world *w, const char *cas) {
    struct sl_buf b;
    sl_buf_init(&b, 65536);
    sl_buf_puts(&b, "{\"data\":{\"requestheader-client-ca-file\":");
    sl_buf_json(&b, cas);
    sl_buf_puts(&b, "}}");
    assert_int_equal(fakeapi_do(w->api, SL_PATCH, CONFIG_MAP, SL_MERGE_PATCH, sl_buf_str(&b), NULL),
                     200);
    sl_buf_done(&b);
}

static void test_front(void **state) {
    struct sl_cert one = {0}, two = {0};
    struct world w = {.api = fakeapi_new(1)};
    struct serve_front_proxy *f = serve_front_proxy_new(fakeapi_port(w.api, 0), 1);
    struct ask a = {.peer = "front", .headers = {{"X-Remote-User", "u"}}};
    (void)state;
    assert_int_equal(sl_cert_ca("one", FAKEAPI_EPOCH, SL_HOUR, &one, NULL), 0);
    assert_int_equal(sl_cert_ca("two", FAKEAPI_EPOCH, SL_HOUR, &two, NULL), 0);
    follow(w.api, f, SL_SEC);
    assert_null(serve_front_proxy_cas(f));
    assert_string_equal(user_of(f, a), "-"); /* no CA is trusted yet */
    create(&w, CONFIG_MAPS,
           "{'metadata':{'name':'extension-apiserver-authentication'},'data':{"
           "'requestheader-allowed-names':'[\\'front\\']',"
           "'requestheader-username-headers':'[\\'X-Remote-User\\']',"
           "'requestheader-uid-headers':'[\\'X-Remote-Uid\\']',"
           "'requestheader-group-headers':'[\\'X-Remote-Group\\']',"
           "'requestheader-extra-headers-prefix':'[\\'X-Remote-Extra-\\']'}}");
    create(&w, CONFIG_MAPS,
           "{'metadata':{'name':'another'},'data':{'requestheader-client-ca-file':'other'}}");
    put_cas(&w, "nonsense");
    follow(w.api, f, SL_SEC);
    assert_null(serve_front_proxy_cas(f));
    assert_string_equal(user_of(f, a), "-");
    put_cas(&w, one.cert_pem);
    follow(w.api, f, SL_SEC);
    assert_string_equal(serve_front_proxy_cas(f), one.cert_pem);
    assert_string_equal(user_of(f, a), "{\"user\":\"u\",\"groups\":[\"system:authenticated\"]}");
    assert_string_equal(user_of(f, (struct ask){.headers = {{"X-Remote-User", "u"}}}), "-");
    assert_string_equal(
        user_of(f, (struct ask){.peer = "back", .headers = {{"X-Remote-User", "u"}}}), "-");
    assert_string_equal(user_of(f, (struct ask){.peer = "front"}), "-");
    assert_string_equal(
        user_of(f, (struct ask){.peer = "front", .headers = {{"X-Remote-User", ""}}}), "-");
    assert_string_equal(
        user_of(f, (struct ask){.peer = "front",
                                .headers = {{"x-remote-user", "a\"b"},
                                            {"X-Remote-Group", "g"},
                                            {"X-Remote-Extra-Acme.com%2fScope", "1"},
                                            {"X-Remote-Group", "system:authenticated"},
                                            {"X-Remote-Extra-b%", "3"},
                                            {"X-Remote-Extra-acme.com%2Fscope", "2"},
                                            {"X-Remote-Uid", "7"},
                                            {"X-Remote-User", "second"}}}),
        "{\"user\":\"a\\\"b\",\"uid\":\"7\",\"groups\":[\"g\",\"system:authenticated\"],\"extra\":{"
        "\"acme.com/scope\":[\"1\",\"2\"],\"b%\":[\"3\"]}}");
    assert_string_equal(user_of(f, (struct ask){.peer = "front",
                                                .headers = {{"X-Remote-User", "system:anonymous"},
                                                            {"X-Remote-Group", "g"}}}),
                        "{\"user\":\"system:anonymous\",\"groups\":[\"g\"]}");
    struct ask crowd = {.peer = "front", .headers = {{"X-Remote-User", "u"}}};
    for (size_t i = 1; i < SL_LEN(crowd.headers) - 1; i++)
        crowd.headers[i] = (struct pair){"X-Remote-Group", "g"};
    assert_string_equal(user_of(f, crowd), "-"); /* more groups than fit */
    /* It is followed: another authority, any name, and no more. */
    uint64_t was = serve_front_proxy_generation(f);
    patch(&w, CONFIG_MAP, "{'data':{'requestheader-allowed-names':'[]'}}");
    put_cas(&w, two.cert_pem);
    follow(w.api, f, SL_SEC);
    assert_string_equal(serve_front_proxy_cas(f), two.cert_pem);
    assert_true(serve_front_proxy_generation(f) != was);
    a.peer = "any";
    assert_true(user_of(f, a)[0] == '{');
    /* A list that is not read whole is no empty list, which would allow any name. */
    char longer[1200], text[1300];
    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    (void)snprintf(text, sizeof text, "{'data':{'requestheader-allowed-names':'[\\'%s\\']'}}",
                   longer);
    const char *const malformed[] = {
        text,
        "{'data':{'requestheader-allowed-names':'[\\'front\\''}}",
        "{'data':{'requestheader-allowed-names':'{}'}}",
        "{'data':{'requestheader-allowed-names':'[7]'}}",
    };
    for (size_t i = 0; i < SL_LEN(malformed); i++) {
        patch(&w, CONFIG_MAP, malformed[i]);
        follow(w.api, f, SL_SEC);
        assert_null(serve_front_proxy_cas(f));
        assert_string_equal(user_of(f, a), "-");
    }
    patch(&w, CONFIG_MAP, "{'data':{'requestheader-allowed-names':null}}");
    follow(w.api, f, SL_SEC);
    assert_true(user_of(f, a)[0] == '{');
    request(&w, SL_DELETE, CONFIG_MAP, NULL, NULL);
    follow(w.api, f, SL_SEC);
    assert_null(serve_front_proxy_cas(f));
    assert_string_equal(user_of(f, a), "-");
    serve_front_proxy_free(f);
    fakeapi_free(w.api);
    sl_cert_done(&one);
    sl_cert_done(&two);
}

static int clean(void **state) {
    (void)state;
    sl_buf_done(&answer.body);
    yyjson_doc_free(doc);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),     cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_documents), cmocka_unit_test(test_pending),
        cmocka_unit_test(test_forbidden), cmocka_unit_test(test_front),
    };
    return cmocka_run_group_tests(tests, NULL, clean);
}
