/*
 * Slices and preemption gates over the in-memory API: the whole manager under a virtual clock, with
 * Workloads made by hand. The test plays users and whoever opens gates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/prng.h"
#include "config/config.h"
#include "controllers/controllers.h"
#include "controllers/json.h"
#include "fakeapi.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define QUEUE KUEUE "/clusterqueues/cq"
#define WORKLOADS KUEUE "/namespaces/ns/workloads"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"
#define CONFIG "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
#define SETTLE (30 * SL_SEC)

struct world {
    struct fakeapi *api;
    struct sl_manager *m;
    struct sl_settings *settings;
};

/* ---- acting ---- */

/* Quotes in the text may be written as '. */
static void request(struct world *w, enum sl_method method, const char *path, const char *type,
                    const char *text) {
    struct sl_buf out;
    char *body = sl_strdup(text);
    for (char *at; (at = strchr(body, '\''));)
        *at = '"';
    sl_buf_init(&out, 1u << 20);
    int status = fakeapi_do(w->api, method, path, type, body, &out);
    if (status < 200 || status > 299)
        fail_msg("%s: %d: %s", path, status, sl_buf_str(&out));
    sl_buf_done(&out);
    sl_freep(&body);
}

static void create(struct world *w, const char *path, const char *text) {
    request(w, SL_POST, path, SL_JSON, text);
}

static void patch(struct world *w, const char *path, const char *text) {
    request(w, SL_PATCH, path, SL_MERGE_PATCH, text);
}

static void run(struct world *w, sl_span span) {
    sl_time until = fakeapi_now(w->api) + span;
    for (;;) {
        sl_manager_tick(w->m);
        sl_time a = fakeapi_next(w->api), b = sl_manager_next(w->m), next = a < b ? a : b;
        if (next > until)
            break;
        (void)fakeapi_step(w->api, next);
    }
    fakeapi_advance(w->api, until);
    sl_manager_tick(w->m);
}

#define PODSET(name, count, cpu)                                                                   \
    "{'name':'" name "','count':" #count ",'template':{'spec':{'containers':[{'name':'c',"         \
    "'resources':{'requests':{'cpu':'" cpu "'}}}]}}}"

/* 'more' stands in the spec before its podsets. */
static void workload(struct world *w, const char *name, const char *of, const char *more,
                     const char *podsets) {
    struct sl_buf b;
    sl_buf_init(&b, 8192);
    sl_buf_printf(&b,
                  "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/job-uid':'u'},"
                  "'ownerReferences':[{'apiVersion':'x/v1','kind':'X','name':'x','uid':'u'}]",
                  name);
    if (*of)
        sl_buf_printf(
            &b, ",'annotations':{'kueue.x-k8s.io/workload-slice-replacement-for':'ns/%s'}", of);
    sl_buf_printf(&b, "},'spec':{'active':true,'queueName':'q',%s'podSets':[%s]}}", more, podsets);
    create(w, WORKLOADS, sl_buf_str(&b));
    sl_buf_done(&b);
}

/* ---- looking ---- */

static yyjson_val *at(struct world *w, const char *name, const char *field) {
    char path[256];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    return jat(fakeapi_get(w->api, path), field);
}

static const char *condition(struct world *w, const char *name, const char *type,
                             const char *field) {
    yyjson_val *list = at(w, name, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach (list, i, n, c)
        if (strcmp(jstr(c, "type"), type) == 0)
            return jstr(c, field);
    return "";
}

static bool is(struct world *w, const char *name, const char *type) {
    return strcmp(condition(w, name, type, "status"), "True") == 0;
}

/* What the ClusterQueue tells of its usage. */
static const char *usage(struct world *w) {
    yyjson_val *flavor =
        yyjson_arr_get_first(jat(fakeapi_get(w->api, QUEUE), "status.flavorsUsage"));
    return jstr(yyjson_arr_get_first(yyjson_obj_get(flavor, "resources")), "total");
}

static const char *position(struct world *w, const char *name) {
    return jstr(yyjson_arr_get_first(at(w, name, "status.preemptionGates")), "position");
}

struct told {
    const char *reason, *about, *action;
    uint32_t n;
};

static void count_told(void *ctx, yyjson_val *o) {
    struct told *t = ctx;
    t->n += strcmp(jstr(o, "reason"), t->reason) == 0 &&
            strcmp(jstr(o, "regarding.name"), t->about) == 0 &&
            strcmp(jstr(o, "action"), t->action) == 0;
}

/* ---- the world ---- */

static void start(struct world *w, uint32_t client) {
    struct sl_manager_spec spec = {.parts = {.core = true, .scheduler = true},
                                   .port = fakeapi_port(w->api, client),
                                   .settings = w->settings,
                                   .instance = "test",
                                   .seed = 1};
    w->m = sl_manager_new(&spec);
}

static void begin(struct world *w, uint64_t seed, const char *config) {
    struct sl_warnings warnings;
    struct sl_err err;

    sl_warnings_init(&warnings);
    w->settings = NULL;
    assert_int_equal(sl_settings_parse("test", config, strlen(config), "sluice-system", NULL,
                                       &w->settings, &warnings, &err),
                     0);
    sl_warnings_done(&warnings);
    w->api = fakeapi_new(seed);
    start(w, 0);
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'preemption':{"
           "'withinClusterQueue':'LowerPriority'},'resourceGroups':[{'coveredResources':['cpu'],"
           "'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':'10'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

static void end(struct world *w) {
    struct sl_err err = {0};
    if (sl_manager_check(w->m, &err) < 0)
        fail_msg("%s", err.text);
    sl_manager_free(w->m);
    fakeapi_free(w->api);
    sl_settings_free(w->settings);
}

/* ---- slices ---- */

static void test_up_and_down(void **state) {
    (void)state;
    struct world w;
    struct told t = {"WorkloadSliceReplaced", "one", "Replaced", 0};
    char message[256];
    begin(&w, 1, CONFIG);
    workload(&w, "one", "", "", PODSET("worker", 2, "1") "," PODSET("head", 1, "2"));
    run(&w, SETTLE);
    assert_true(is(&w, "one", "Admitted"));
    assert_string_equal(usage(&w), "4");

    workload(&w, "two", "one", "", PODSET("worker", 2, "1") "," PODSET("head", 3, "2"));
    run(&w, SETTLE);
    assert_true(is(&w, "two", "Admitted"));
    assert_true(is(&w, "one", "Finished"));
    assert_string_equal(condition(&w, "one", "Finished", "reason"), "WorkloadSliceReplaced");
    (void)snprintf(message, sizeof message,
                   "Replaced to accommodate a workload (UID: %s, JobUID: u) due to workload slice "
                   "aggregation",
                   yyjson_get_str(at(&w, "two", "metadata.uid")));
    assert_string_equal(condition(&w, "one", "Finished", "message"), message);
    assert_string_equal(usage(&w), "8");
    (void)fakeapi_each(w.api, EVENTS, count_told, &t);
    assert_int_equal(t.n, 1);

    patch(&w, WORKLOADS "/two",
          "{'spec':{'podSets':[" PODSET("worker", 2, "1") "," PODSET("head", 2, "2") "]}}");
    run(&w, SETTLE);
    assert_true(is(&w, "two", "Admitted"));
    assert_string_equal(usage(&w), "6");
    yyjson_val *head = yyjson_arr_get(at(&w, "two", "status.admission.podSetAssignments"), 1);
    assert_int_equal(jint(head, "count", 0), 3); /* as it was admitted */

    sl_manager_free(w.m); /* whoever comes next counts the same */
    fakeapi_kill(w.api, 0);
    start(&w, 1);
    workload(&w, "rest", "", "", PODSET("main", 4, "1"));
    run(&w, SETTLE);
    assert_true(is(&w, "rest", "Admitted"));
    assert_string_equal(usage(&w), "10");
    end(&w);
}

#define RESERVED(count, cpu)                                                                       \
    "{'status':{'admission':{'clusterQueue':'cq','podSetAssignments':[{'name':'main','count'"      \
    ":" #count ",'flavors':{'cpu':'f'},'resourceUsage':{'cpu':'" cpu "'}}]},'conditions':["        \
    "{'type':'QuotaReserved','status':'True','reason':'QuotaReserved','message':'m',"              \
    "'lastTransitionTime':'2026-01-01T00:00:00Z'},{'type':'Admitted','status':'True',"             \
    "'reason':'Admitted','message':'m','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"

/* Somebody ended between the two writes. */
static void test_found_half_done(void **state) {
    (void)state;
    struct world w;
    begin(&w, 1, CONFIG);
    workload(&w, "one", "", "", PODSET("main", 3, "1"));
    workload(&w, "two", "one", "", PODSET("main", 5, "1"));
    workload(&w, "other", "none", "", PODSET("main", 2, "1"));
    patch(&w, WORKLOADS "/one/status", RESERVED(3, "3"));
    patch(&w, WORKLOADS "/two/status", RESERVED(5, "5"));
    run(&w, SETTLE);
    assert_true(is(&w, "one", "Finished"));
    assert_string_equal(condition(&w, "one", "Finished", "reason"), "WorkloadSliceReplaced");
    assert_true(is(&w, "other", "Admitted"));
    assert_false(is(&w, "two", "Finished") || is(&w, "other", "Finished"));
    assert_string_equal(usage(&w), "7");
    end(&w);
}

static void test_without_the_gate(void **state) {
    (void)state;
    struct world w;
    begin(&w, 1, CONFIG "featureGates: {ElasticJobsViaWorkloadSlices: false}\n");
    workload(&w, "one", "", "", PODSET("main", 3, "1"));
    run(&w, SETTLE);
    workload(&w, "two", "one", "", PODSET("main", 5, "1"));
    run(&w, SETTLE);
    assert_true(is(&w, "one", "Admitted") && is(&w, "two", "Admitted"));
    assert_false(is(&w, "one", "Finished"));
    assert_string_equal(usage(&w), "8");
    end(&w);
}

/* A chain of slices through lost, late and refused writes and cut streams. */
static void test_bad_weather(void **state) {
    (void)state;
    static const char *const names[] = {"one", "two", "three", "four"};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct world w;
        struct sl_prng p;
        struct fakeapi_faults faults;
        /* Clocks jump by an hour at times: nobody waits for pods here. */
        begin(&w, seed, CONFIG "featureGates: {DisableWaitForPodsReady: true}\n");
        sl_prng_init(&p, seed);
        fakeapi_some_faults(&p, 4, &faults);
        fakeapi_set_faults(w.api, &faults);
        for (size_t i = 0; i < SL_LEN(names); i++) {
            static const char *const podsets[] = {PODSET("main", 2, "1"), PODSET("main", 5, "1"),
                                                  PODSET("main", 7, "1"), PODSET("main", 9, "1")};
            workload(&w, names[i], i ? names[i - 1] : "", "", podsets[i]);
            /* The next one is made when this one has its quota, as integrations do. */
            for (int tries = 0; tries < 600 && !is(&w, names[i], "QuotaReserved"); tries++)
                run(&w, SL_SEC);
        }
        fakeapi_set_faults(w.api, NULL);
        run(&w, 10 * SL_MINUTE);
        for (size_t i = 0; i < SL_LEN(names); i++) {
            bool last = i + 1 == SL_LEN(names);
            if (is(&w, names[i], "Finished") == last || !is(&w, names[i], "Admitted"))
                fail_msg("seed %llu: %s", (unsigned long long)seed, names[i]);
        }
        assert_string_equal(usage(&w), "9");
        end(&w);
    }
}

/* ---- preemption gates ---- */

#define GATED "'priority':9,'preemptionGates':[{'name':'g'}],"

static void test_gates(void **state) {
    (void)state;
    struct world w;
    begin(&w, 1, CONFIG "featureGates: {MultiKueueOrchestratedPreemption: true}\n");
    workload(&w, "low", "", "", PODSET("main", 8, "1"));
    run(&w, SETTLE);
    workload(&w, "high", "", GATED, PODSET("main", 5, "1"));
    run(&w, SETTLE);
    assert_string_equal(position(&w, "high"), "Closed");
    assert_true(is(&w, "high", "BlockedOnPreemptionGates"));
    assert_string_equal(condition(&w, "high", "QuotaReserved", "message"),
                        "Workload requires preemption, but it's gated");
    assert_false(is(&w, "low", "Evicted"));
    workload(&w, "small", "", "", PODSET("main", 2, "1"));
    run(&w, SETTLE);
    assert_true(is(&w, "small", "Admitted"));

    patch(&w, WORKLOADS "/high/status",
          "{'status':{'preemptionGates':[{'name':'g','position':'Open',"
          "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}");
    run(&w, SETTLE);
    assert_true(is(&w, "low", "Evicted"));
    request(&w, SL_DELETE, WORKLOADS "/low", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_true(is(&w, "high", "Admitted"));
    assert_string_equal(position(&w, "high"), "Open");
    assert_string_equal(condition(&w, "high", "BlockedOnPreemptionGates", "status"), "False");
    assert_string_equal(condition(&w, "high", "BlockedOnPreemptionGates", "message"),
                        "Previously: Workload requires preemption, but it's gated");

    patch(&w, WORKLOADS "/high", "{'spec':{'active':false}}");
    run(&w, SETTLE);
    assert_true(is(&w, "high", "Evicted"));
    assert_string_equal(position(&w, "high"), "Closed");

    patch(&w, WORKLOADS "/high", "{'spec':{'preemptionGates':null}}");
    run(&w, SETTLE);
    assert_null(at(&w, "high", "status.preemptionGates"));
    end(&w);
}

static void test_gates_without_the_gate(void **state) {
    (void)state;
    struct world w;
    begin(&w, 1, CONFIG);
    workload(&w, "low", "", "", PODSET("main", 8, "1"));
    run(&w, SETTLE);
    workload(&w, "high", "", GATED, PODSET("main", 5, "1"));
    run(&w, SETTLE);
    assert_true(is(&w, "low", "Evicted"));
    assert_null(at(&w, "high", "status.preemptionGates"));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up_and_down),
        cmocka_unit_test(test_found_half_done),
        cmocka_unit_test(test_without_the_gate),
        cmocka_unit_test(test_bad_weather),
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_gates_without_the_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
