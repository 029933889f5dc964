/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices and preemption gates over the in-memory API: the whole manager under a virtual clock, with
 * Workloads made by hand. The test plays users and whoever opens gates.
 */
#include "core/base/prng.h"
#include "flow_fixture.h"

#define QUEUE KUEUE "/clusterqueues/cq"

/* ---- acting ---- */

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

static const char *path_of(const char *name) {
    static char path[256];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    return path;
}

static const char *condition(struct world *w, const char *name, const char *type,
                             const char *field) {
    return sl_json_str(condition_of(w, path_of(name), type), field);
}

static bool is(struct world *w, const char *name, const char *type) {
    return strcmp(condition(w, name, type, "status"), "True") == 0;
}

/* The usage in the status of the ClusterQueue. */
static const char *usage(struct world *w) {
    yyjson_val *flavor =
        yyjson_arr_get_first(sl_json_at(fakeapi_get(w->api, QUEUE), "status.flavorsUsage"));
    return sl_json_str(yyjson_arr_get_first(yyjson_obj_get(flavor, "resources")), "total");
}

static const char *position(struct world *w, const char *name) {
    return sl_json_str(yyjson_arr_get_first(at(w, path_of(name), "status.preemptionGates")),
                       "position");
}

/* ---- the world ---- */

static void begin(struct world *w, uint64_t seed, const char *config) {
    open_world(w, seed, config, (struct sl_manager_parts){.core = true, .scheduler = true});
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'preemption':{"
           "'withinClusterQueue':'LowerPriority'},'resourceGroups':[{'coveredResources':['cpu'],"
           "'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':'10'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

/* ---- slices ---- */

static void test_up_and_down(void **state) {
    (void)state;
    struct world w;
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
                   yyjson_get_str(at(&w, path_of("two"), "metadata.uid")));
    assert_string_equal(condition(&w, "one", "Finished", "message"), message);
    assert_string_equal(usage(&w), "8");
    const struct told t = {.reason = "WorkloadSliceReplaced", .name = "one", .action = "Replaced"};
    assert_int_equal(events(&w, t), 1);

    patch(&w, WORKLOADS "/two",
          "{'spec':{'podSets':[" PODSET("worker", 2, "1") "," PODSET("head", 2, "2") "]}}");
    run(&w, SETTLE);
    assert_true(is(&w, "two", "Admitted"));
    assert_string_equal(usage(&w), "6");
    yyjson_val *head =
        yyjson_arr_get(at(&w, path_of("two"), "status.admission.podSetAssignments"), 1);
    assert_int_equal(sl_json_int(head, "count", 0), 3); /* as it was admitted */

    restart(&w, 1); /* the next manager counts the same */
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

#define ENDED(count) "{'status':{'reclaimablePods':[{'name':'main','count':" #count "}]}}"

/* A job becomes smaller after some of its pods have ended. Two writes tell it, the new size and
 * then how many of those have ended; what still runs holds its quota before, between and after
 * them. */
static void test_smaller_after_some_ended(void **state) {
    (void)state;
    struct world w;
    for (uint32_t restarts = 0; restarts < 2; restarts++) {
        begin(&w, 1, CONFIG);
        workload(&w, "one", "", "", PODSET("main", 10, "1"));
        run(&w, SETTLE);
        patch(&w, WORKLOADS "/one/status", ENDED(7));
        run(&w, SETTLE);
        assert_string_equal(usage(&w), "3");
        patch(&w, WORKLOADS "/one", "{'spec':{'podSets':[" PODSET("main", 5, "1") "]}}");
        run(&w, SETTLE);
        assert_string_equal(usage(&w), "3");
        if (restarts)
            restart(&w, 1);
        workload(&w, "rest", "", "", PODSET("main", 8, "1"));
        run(&w, SETTLE);
        assert_false(is(&w, "rest", "QuotaReserved"));
        patch(&w, WORKLOADS "/one/status", ENDED(2));
        run(&w, SETTLE);
        assert_string_equal(usage(&w), "3");
        patch(&w, WORKLOADS "/one/status", ENDED(3));
        run(&w, SETTLE);
        assert_true(is(&w, "rest", "Admitted"));
        assert_string_equal(usage(&w), "10");
        end(&w);
    }
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
        /* Clocks jump by an hour at times: waitForPodsReady is off here. */
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
    assert_null(at(&w, path_of("high"), "status.preemptionGates"));
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
    assert_null(at(&w, path_of("high"), "status.preemptionGates"));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up_and_down),
        cmocka_unit_test(test_found_half_done),
        cmocka_unit_test(test_smaller_after_some_ended),
        cmocka_unit_test(test_without_the_gate),
        cmocka_unit_test(test_bad_weather),
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_gates_without_the_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
