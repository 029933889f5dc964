/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the visibility API answers, from a manager over the in-memory API: places, reasons, pages,
 * and the same from a standby. One ClusterQueue of 4 cores, three LocalQueues of two namespaces.
 */
#include "flow_fixture.h"

#include <time.h>

#include "manager/controllers/queue/pending.h"

#define LOCAL(ns) KUEUE "/namespaces/" ns "/localqueues"

static struct sl_buf text;
static yyjson_doc *doc;

/* ---- the world ---- */

static void begin(struct world *w) {
    open_world(w, 1, CONFIG, (struct sl_manager_parts){.core = true, .scheduler = true});
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'other'}}");
    create(w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'q'},'spec':{'namespaceSelector':{},'resourceGroups':["
           "{'coveredResources':['cpu'],'flavors':[{'name':'f','resources':["
           "{'name':'cpu','nominalQuota':'4'}]}]}]}}");
    create(w, LOCAL("ns"), "{'metadata':{'name':'main'},'spec':{'clusterQueue':'q'}}");
    create(w, LOCAL("ns"), "{'metadata':{'name':'lost'},'spec':{'clusterQueue':'nowhere'}}");
    create(w, LOCAL("other"), "{'metadata':{'name':'main'},'spec':{'clusterQueue':'q'}}");
    sl_buf_init(&text, (size_t)128 << 20);
}

static void finish(struct world *w) {
    yyjson_doc_free(doc);
    doc = NULL;
    sl_buf_done(&text);
    end(w);
}

static const char *job_uid(struct world *w, const char *ns, const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/%s/jobs/%s", ns, name);
    return sl_json_str(fakeapi_get(w->api, path), "metadata.uid");
}

/* Of a Job of the same name. */
static void workload(struct world *w, const char *ns, const char *name, int priority, int cpu) {
    char path[128], body[1024];
    (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/%s/jobs", ns);
    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'},'spec':{'suspend':true}}", name);
    create(w, path, body);
    (void)snprintf(path, sizeof path, KUEUE "/namespaces/%s/workloads", ns);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s','ownerReferences':[{'apiVersion':'batch/v1',"
                   "'kind':'Job','name':'%s','uid':'%s','controller':true}]},'spec':{"
                   "'queueName':'main','active':true,'priority':%d,'podSets':[{'name':'main',"
                   "'count':1,'template':{'spec':{'containers':[{'name':'c','resources':{"
                   "'requests':{'cpu':'%d'}}}]}}}]}}",
                   name, name, job_uid(w, ns, name), priority, cpu);
    create(w, path, body);
    run(w, 2 * SL_SEC); /* each is younger than the one before */
}

/* ---- queries ---- */

/* Returns how many pieces it took; 0: there is no such queue. */
static uint32_t write_all(const struct sl_manager *m, const struct sl_manager_pending_query *q) {
    struct sl_manager_pending *p = sl_manager_pending_open(m, q);
    uint32_t n = 1;
    if (!p)
        return 0;
    while (sl_manager_pending_more(p, &text))
        n++;
    sl_manager_pending_free(p);
    return n;
}

static yyjson_val *query_pending(const struct sl_manager *m, struct sl_manager_pending_query q) {
    yyjson_doc_free(doc);
    doc = NULL;
    sl_buf_clear(&text);
    q.version = "v1beta1";
    if (!write_all(m, &q))
        return NULL;
    doc = yyjson_read(text.s, text.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *items = sl_json_at(root, "items");
    assert_string_equal(sl_json_str(root, "kind"), "PendingWorkloadsSummary");
    assert_string_equal(sl_json_str(root, "apiVersion"), "visibility.kueue.x-k8s.io/v1beta1");
    assert_true(yyjson_is_arr(items));
    return items;
}

/* The line as "name place/place ...". */
static const char *places(struct world *w, struct sl_manager_pending_query q) {
    yyjson_val *items = query_pending(w->m, q), *v;
    size_t i, n, at = 0;
    w->text[0] = '\0';
    yyjson_arr_foreach (items, i, n, v)
        at += (size_t)snprintf(w->text + at, sizeof w->text - at, "%s%s %d/%d", i ? ", " : "",
                               sl_json_str(v, "metadata.name"),
                               (int)sl_json_int(v, "positionInClusterQueue", -1),
                               (int)sl_json_int(v, "positionInLocalQueue", -1));
    return w->text;
}

#define ALL .limit = 100

static void test_places(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    workload(&w, "ns", "holder", 0, 3);
    workload(&w, "ns", "a", 0, 2);
    workload(&w, "other", "b", 0, 2);
    workload(&w, "ns", "c", 5, 3);
    workload(&w, "other", "d", 0, 4);
    assert_string_equal(places(&w, (struct sl_manager_pending_query){.queue = "q", ALL}),
                        "c 0/0, a 1/1, b 2/0, d 3/1");
    assert_string_equal(places(&w, (struct sl_manager_pending_query){.queue = "q", .limit = 2}),
                        "c 0/0, a 1/1");
    assert_string_equal(
        places(&w, (struct sl_manager_pending_query){.queue = "q", .limit = 2, .offset = 2}),
        "b 2/0, d 3/1");
    assert_string_equal(
        places(&w, (struct sl_manager_pending_query){.queue = "q", ALL, .offset = UINT32_MAX}), "");
    assert_string_equal(places(&w, (struct sl_manager_pending_query){.queue = "q"}), "");
    assert_string_equal(
        places(&w, (struct sl_manager_pending_query){.ns = "ns", .queue = "main", ALL}),
        "c 0/0, a 1/1");
    assert_string_equal(
        places(&w,
               (struct sl_manager_pending_query){.ns = "other", .queue = "main", ALL, .offset = 1}),
        "d 3/1");
    /* A queue that leads nowhere has nobody in line; one that is not there is another matter. */
    assert_string_equal(
        places(&w, (struct sl_manager_pending_query){.ns = "ns", .queue = "lost", ALL}), "");
    assert_null(query_pending(w.m, (struct sl_manager_pending_query){.queue = "p", ALL}));
    assert_null(
        query_pending(w.m, (struct sl_manager_pending_query){.ns = "other", .queue = "lost", ALL}));
    /* A workload that leaves frees quota, and all others move up. */
    request(&w, SL_DELETE, WORKLOADS "/holder", NULL, NULL);
    run(&w, SETTLE);
    assert_string_equal(places(&w, (struct sl_manager_pending_query){.queue = "q", ALL}),
                        "a 0/0, b 1/0, d 2/1");
    finish(&w);
}

static void test_items(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    workload(&w, "ns", "holder", 0, 3);
    workload(&w, "ns", "a", 7, 2);
    workload(&w, "other", "b", 7, 2); /* alike: it is not evaluated by itself */
    yyjson_val *items = query_pending(w.m, (struct sl_manager_pending_query){.queue = "q", ALL});
    assert_int_equal(yyjson_arr_size(items), 2);
    for (size_t i = 0; i < 2; i++) {
        yyjson_val *v = yyjson_arr_get(items, i);
        const char *name = i ? "b" : "a";
        yyjson_val *owner = yyjson_arr_get_first(sl_json_at(v, "metadata.ownerReferences"));
        assert_string_equal(sl_json_str(v, "metadata.namespace"), i ? "other" : "ns");
        assert_int_equal(strlen(sl_json_str(v, "metadata.creationTimestamp")),
                         strlen("2026-01-31T12:00:00Z"));
        assert_string_equal(sl_json_str(owner, "apiVersion"), "batch/v1");
        assert_string_equal(sl_json_str(owner, "kind"), "Job");
        assert_string_equal(sl_json_str(owner, "name"), name);
        assert_string_equal(sl_json_str(owner, "uid"), job_uid(&w, i ? "other" : "ns", name));
        assert_int_equal(sl_json_int(v, "priority", -1), 7);
        assert_string_equal(sl_json_str(v, "localQueueName"), "main");
        assert_string_equal(sl_json_str(v, "reason"), "Pending");
        assert_non_null(strstr(sl_json_str(v, "message"),
                               "insufficient unused quota for cpu in flavor f, "
                               "1 more needed"));
        assert_null(sl_json_at(v, "expectedStartTime"));
    }
    finish(&w);
}

/* Messages of others are shown too, but not at any length. */
static void test_message(void **state) {
    struct world w;
    static char body[8192];
    (void)state;
    begin(&w);
    patch(&w, KUEUE "/clusterqueues/q", "{'spec':{'stopPolicy':'Hold'}}");
    workload(&w, "ns", "a", 0, 1);
    size_t at = (size_t)snprintf(body, sizeof body,
                                 "{'status':{'conditions':[{'type':'QuotaReserved','status':"
                                 "'False','reason':'Odd','lastTransitionTime':"
                                 "'2026-01-01T00:00:00Z','message':'");
    for (int i = 0; i < 2000; i++)
        at += (size_t)snprintf(body + at, sizeof body - at, "\xc3\xa9");
    (void)snprintf(body + at, sizeof body - at, "'}]}}");
    sl_manager_lead(w.m, false); /* or it would say what is so */
    patch(&w, WORKLOADS "/a/status", body);
    run(&w, SL_SEC);
    yyjson_val *v = yyjson_arr_get_first(
        query_pending(w.m, (struct sl_manager_pending_query){.queue = "q", ALL}));
    const char *message = sl_json_str(v, "message");
    assert_string_equal(sl_json_str(v, "reason"), "Odd");
    assert_true(strlen(message) > 1000 && strlen(message) <= 1024);
    assert_string_equal(message + strlen(message) - 5, "\xc3\xa9...");
    finish(&w);
}

/* The end of a back-off is known beforehand, and nothing else is. */
static void test_back_off(void **state) {
    struct world w;
    char body[512], until[32] = "";
    struct tm tm;
    (void)state;
    begin(&w);
    workload(&w, "ns", "holder", 0, 4);
    workload(&w, "ns", "a", 0, 2);
    time_t t = (time_t)(fakeapi_port(w.api, 0)->wall / SL_SEC + 600);
    assert_non_null(gmtime_r(&t, &tm));
    (void)strftime(until, sizeof until, "%Y-%m-%dT%H:%M:%SZ", &tm);
    sl_manager_free(w.m); /* as another one has left it */
    (void)snprintf(body, sizeof body,
                   "{'status':{'requeueState':{'count':1,'requeueAt':'%s'},'conditions':["
                   "{'type':'Evicted','status':'True','reason':'PodsReadyTimeout','message':'late',"
                   "'lastTransitionTime':'2026-01-01T00:00:00Z'},"
                   "{'type':'Requeued','status':'False','reason':'PodsReadyTimeout','message':"
                   "'late','lastTransitionTime':'2026-01-01T00:00:00Z'},"
                   "{'type':'QuotaReserved','status':'False','reason':'Pending','message':'late',"
                   "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}",
                   until);
    patch(&w, WORKLOADS "/a/status", body);
    start(&w, 1, 1);
    run(&w, SETTLE);
    yyjson_val *v = yyjson_arr_get_first(
        query_pending(w.m, (struct sl_manager_pending_query){.queue = "q", ALL}));
    assert_string_equal(sl_json_str(v, "metadata.name"), "a");
    assert_string_equal(sl_json_str(v, "expectedStartTime"), until);
    assert_string_equal(sl_json_str(v, "message"), "late");
    run(&w, 700 * SL_SEC);
    v = yyjson_arr_get_first(
        query_pending(w.m, (struct sl_manager_pending_query){.queue = "q", ALL}));
    assert_null(sl_json_at(v, "expectedStartTime"));
    assert_non_null(strstr(sl_json_str(v, "message"), "insufficient unused quota"));
    finish(&w);
}

/* A standby gives the answer of the leader. */
static void test_standby(void **state) {
    struct world w;
    char *said;
    (void)state;
    begin(&w);
    workload(&w, "ns", "holder", 0, 4);
    for (int i = 0; i < 12; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "w%02d", i * 5 % 12);
        workload(&w, i % 3 ? "ns" : "other", name, i % 4, 1 + i % 3);
    }
    run(&w, SETTLE);
    (void)query_pending(w.m, (struct sl_manager_pending_query){.queue = "q", ALL});
    said = sl_strdup(sl_buf_str(&text));
    struct sl_manager_spec spec = {.parts = w.parts,
                                   .client = fakeapi_port(w.api, 1),
                                   .settings = w.settings,
                                   .instance = "standby",
                                   .seed = 2,
                                   .standby = true};
    struct sl_manager *leader = w.m;
    w.m = sl_manager_new(&spec);
    run(&w, SETTLE);
    (void)query_pending(w.m, (struct sl_manager_pending_query){.queue = "q", ALL});
    assert_string_equal(said, sl_buf_str(&text));
    sl_manager_free(w.m);
    w.m = leader;
    sl_freep(&said);
    finish(&w);
}

/* A workload that goes while a long answer is being written is left out of the rest of it. */
static void test_pieces(void **state) {
    struct world w;
    struct sl_manager_pending_query q = {.version = "v1beta2", .queue = "q", .limit = 1000};
    (void)state;
    begin(&w);
    for (uint32_t i = 0; i < 300; i++) {
        char body[512];
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'w%u'},'spec':{'queueName':'main','podSets':[{'name':"
                       "'main','count':1,'template':{'spec':{'containers':[{'name':'c','resources'"
                       ":{'requests':{'cpu':'5'}}}]}}}]}}",
                       i);
        create(&w, WORKLOADS, body);
    }
    run(&w, SETTLE);
    struct sl_manager_pending *p = sl_manager_pending_open(w.m, &q);
    assert_true(sl_manager_pending_more(p, &text));
    for (uint32_t i = 0; i < 300; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, WORKLOADS "/w%u", i);
        request(&w, SL_DELETE, path, NULL, NULL);
    }
    run(&w, SETTLE);
    while (sl_manager_pending_more(p, &text))
        ;
    sl_manager_pending_free(p);
    yyjson_doc_free(doc);
    doc = yyjson_read(text.s, text.len, 0);
    yyjson_val *items = sl_json_at(yyjson_doc_get_root(doc), "items");
    assert_true(yyjson_arr_size(items) > 0 && yyjson_arr_size(items) < 300);
    finish(&w);
}

/* What an answer of 1000 takes. SL_VISIBLE says how many wait; docs/visibility.md has numbers. */
static void test_cost(void **state) {
    const char *asked = getenv("SL_VISIBLE");
    uint32_t n = asked ? (uint32_t)strtoul(asked, NULL, 10) : 2000;
    struct timespec from, to;
    struct world w;
    (void)state;
    begin(&w);
    for (uint32_t i = 0; i < n; i++) {
        char body[1024];
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'w%u'},'spec':{'queueName':'main','priority':%u,"
                       "'podSets':[{'name':'main','count':1,'template':{'spec':{'containers':["
                       "{'name':'c','resources':{'requests':{'cpu':'%u'}}}]}}}]}}",
                       i * 7919 % n, i % 3, 5 + i % 50);
        create(&w, i % 2 ? WORKLOADS : KUEUE "/namespaces/other/workloads", body);
    }
    run(&w, SETTLE);
    for (uint32_t offset = 0; offset < n; offset += n / 2) {
        struct sl_manager_pending_query q = {
            .version = "v1beta2", .queue = "q", .limit = 1000, .offset = offset};
        sl_buf_clear(&text);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        assert_true(write_all(w.m, &q) > 1);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        printf("# 1000 of %u from %u: %zu bytes in %.2f ms\n", n, offset, text.len,
               (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
        assert_true(text.len > 200000);
    }
    if (n >= SL_MANAGER_PENDING_MOST) {
        struct sl_manager_pending_query q = {
            .version = "v1beta2", .queue = "q", .limit = SL_MANAGER_PENDING_MOST};
        sl_buf_clear(&text);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        assert_true(write_all(w.m, &q) > 1);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        printf("# all: %zu bytes in %.2f ms\n", text.len,
               (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
    }
    finish(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),  cmocka_unit_test(test_items),
        cmocka_unit_test(test_message), cmocka_unit_test(test_back_off),
        cmocka_unit_test(test_standby), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
