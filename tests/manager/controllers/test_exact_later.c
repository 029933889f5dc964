/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations of Workloads with exact nodes: a large one gets its nodes and its quota at a time
 * that is known beforehand, and smaller ones are started around it. Also: what is said of it, what
 * moves it, who may take its nodes, and that it is the same after a restart.
 */
#include "core/base/stamp.h"
#include "exact_fixture.h"

#define ONE(gpus) PODSET("main", "1", gpus, "")
#define MANY(count, gpus) PODSET("main", count, gpus, "")

/* ---- looking ---- */

static sl_time when(struct world *w, const char *name, const char *type) {
    sl_time at = 0;
    const char *text = condition(w, name, type, "lastTransitionTime");
    assert_true(sl_stamp_parse(text, &at));
    return at;
}

/* From when on nodes are reserved for it, as its condition says; 0: they are not. */
static sl_time reserved(struct world *w, const char *name) {
    static const char words[] = "; nodes and quota are reserved for it from ";
    char text[SL_STAMP_TEXT] = "";
    sl_time at = 0;
    assert_false(is(w, name, "QuotaReserved"));
    const char *found = strstr(why(w, name), words);
    if (!found)
        return 0;
    (void)snprintf(text, sizeof text, "%.20s", found + strlen(words));
    assert_true(sl_stamp_parse(text, &at));
    return at;
}

static sl_time wall(const struct world *w) {
    return fakeapi_port(w->api, 0)->wall;
}

/* Runs the world until then. */
static void run_to(struct world *w, sl_time then) {
    assert_true(then >= wall(w));
    run(w, then - wall(w));
}

/* Those that have run for as long as they may stop when they are told to. */
static void run_and_stop(struct world *w, sl_time then, const char *name) {
    run_to(w, then + SL_SEC); /* its time is known to the second */
    assert_true(is(w, name, "Evicted"));
    release(w, name);
    run(w, SL_SEC);
}

static uint32_t delays(struct world *w, const char *name) {
    return events(w, (struct told){.reason = "StartDelayed", .kind = "Workload", .name = name});
}

/* Two nodes of four GPUs; 'first' has one of them for 600 seconds. Returns when it ends. */
static sl_time begin_with_first(struct world *w) {
    begin_exact(w);
    gpu_node(w, "n1", 4, "", "");
    gpu_node(w, "n2", 4, "", "");
    timed_workload(w, "first", "q", 5, 600, ONE("4"));
    run(w, SETTLE);
    assert_string_equal(nodes_of(w, "first", 0), "n1:1");
    return when(w, "first", "Admitted") + 600 * SL_SEC;
}

/* ---- nodes ---- */

/* The large one waits; a stream of small ones comes. Those that end in time run on what is free,
 * others wait, and it starts when it was told. */
static void test_stream(void **state) {
    struct world w;
    (void)state;
    sl_time end = begin_with_first(&w);
    timed_workload(&w, "big", "q", 5, 100, MANY("2", "4"));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    uint32_t passed = 0, waited = 0;
    for (int i = 0; i < 12; i++) {
        char name[16];
        sl_fmt(name, sizeof name, "s%d", i);
        timed_workload(&w, name, "q", 5, i % 3 == 0 ? 0 : i % 3 == 1 ? 20 : 700, ONE("4"));
        run(&w, SETTLE);
        assert_int_equal(is(&w, name, "Admitted") || is(&w, name, "Evicted"), i % 3 == 1);
        passed += i % 3 == 1;
        waited += i % 3 != 1;
        if (i % 3 == 1) { /* it has run */
            assert_true(is(&w, name, "Evicted"));
            release(&w, name);
            run(&w, SL_SEC);
        }
        assert_int_equal(reserved(&w, "big"), end);
    }
    assert_true(passed == 4 && waited == 8);
    assert_int_equal(delays(&w, "big"), 0);
    restart_both(&w, 1);
    assert_int_equal(reserved(&w, "big"), end);
    timed_workload(&w, "late", "q", 5, 0, ONE("1"));
    run(&w, 10 * SL_SEC);
    assert_waits(&w, "late", "no set of nodes has room for 1 pod(s)");
    run_and_stop(&w, end, "first");
    assert_string_equal(nodes_of(&w, "big", 0), "n1:1 n2:1");
    assert_true(when(&w, "big", "Admitted") <= end + 2 * SL_SEC);
    assert_int_equal(delays(&w, "big"), 0);
    end_exact(&w);
}

/* Something without an end is in the way: nothing is held, and others pass. */
static void test_endless(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    workload_of(&w, "first", 0, ONE("4"));
    run(&w, SETTLE);
    timed_workload(&w, "big", "q", 0, 100, MANY("2", "4"));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), 0);
    workload_of(&w, "small", 0, ONE("4"));
    run(&w, SETTLE);
    assert_true(is(&w, "small", "Admitted"));
    end_exact(&w);
}

/* Several podsets start at the same time. */
static void test_podsets(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, ",'disk':'fast'", "");
    gpu_node(&w, "n2", 4, "", "");
    timed_workload(&w, "first", "q", 0, 300,
                   PODSET("main", "1", "4",
                          ",'nodeSelector':{'disk':"
                          "'fast'}"));
    timed_workload(&w, "second", "q", 0, 600, ONE("4"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "second", 0), "n2:1");
    sl_time end = when(&w, "second", "Admitted") + 600 * SL_SEC;
    timed_workload(&w, "both", "q", 0, 50,
                   PODSET("main", "1", "4",
                          ",'nodeSelector':{'disk':'fast'}") "," PODSET("other", "1", "4", ""));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "both"), end);
    release(&w, "first");
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "both"), end);
    timed_workload(&w, "fits", "q", 0, 60, ONE("4"));
    timed_workload(&w, "long", "q", 0, 900, ONE("4"));
    run(&w, SETTLE);
    assert_true(is(&w, "fits", "Admitted"));
    assert_false(is(&w, "long", "Admitted"));
    release(&w, "fits");
    run_and_stop(&w, end, "second");
    assert_string_equal(nodes_of(&w, "both", 0), "n1:1");
    assert_string_equal(nodes_of(&w, "both", 1), "n2:1");
    end_exact(&w);
}

/* A node that is lost moves the start, and the Workload is told; one that comes moves it back. */
static void test_lost_node(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    for (int i = 1; i <= 3; i++) {
        char name[8];
        sl_fmt(name, sizeof name, "n%d", i);
        gpu_node(&w, name, 4, "", "");
    }
    timed_workload(&w, "first", "q", 0, 600, ONE("4"));
    timed_workload(&w, "second", "q", 0, 1200, ONE("4"));
    run(&w, SETTLE);
    sl_time soon = when(&w, "first", "Admitted") + 600 * SL_SEC,
            late = when(&w, "second", "Admitted") + 1200 * SL_SEC;
    timed_workload(&w, "big", "q", 0, 100, MANY("2", "4"));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), soon);
    set_ready(&w, "n3", false);
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), late);
    assert_int_equal(delays(&w, "big"), 1);
    restart_both(&w, 1);
    set_ready(&w, "n3", true);
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), soon);
    assert_int_equal(delays(&w, "big"), 1);
    run_and_stop(&w, soon, "first");
    assert_true(is(&w, "big", "Admitted"));
    end_exact(&w);
}

/* What should have ended is still there: it is told so, and its nodes stay reserved. */
static void test_overrun(void **state) {
    struct world w;
    (void)state;
    sl_time end = begin_with_first(&w);
    timed_workload(&w, "big", "q", 5, 10, MANY("2", "4"));
    run(&w, SETTLE);
    run_to(&w, end + 20 * SL_SEC);
    assert_int_equal(delays(&w, "big"), 0); /* it may take its time to stop */
    run_to(&w, end + 100 * SL_SEC);
    assert_int_equal(delays(&w, "big"), 1);
    assert_waits(&w, "big", "nodes and quota are reserved for it, and not all of them are free");
    timed_workload(&w, "small", "q", 5, 30, ONE("4"));
    run_to(&w, end + 300 * SL_SEC);
    assert_false(is(&w, "small", "Admitted"));
    assert_int_equal(delays(&w, "big"), 1);
    release(&w, "first");
    run(&w, SL_SEC);
    assert_true(is(&w, "big", "Admitted"));
    end_exact(&w);
}

/* ---- others on the graph ---- */

static void flux_pod(struct world *w, const char *name, int seconds) {
    char text[1024], most[64] = "";
    if (seconds)
        sl_fmt(most, sizeof most, "'activeDeadlineSeconds':%d,", seconds);
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'}},'spec':{%s"
           "'schedulingGates':[{'name':'fluxqueue'}],'schedulerName':'FluxionScheduler',"
           "'containers':[{'name':'c','resources':{'requests':{'cpu':'1','" GPU "':'4'}}}]}}",
           name, most);
    create(w, PODS, text);
}

/* Jobs of the queue and plain pods keep off reserved nodes unless they end before. */
static void test_fluxjobs(void **state) {
    struct world w;
    (void)state;
    sl_time end = begin_with_first(&w);
    timed_workload(&w, "big", "q", 5, 100, MANY("2", "4"));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    flux_pod(&w, "endless", 0);
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "endless"), "");
    flux_pod(&w, "short", 60);
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "endless"), "");
    restart_both(&w, 1);
    assert_string_equal(node_of(&w, "endless"), "");
    if (*node_of(&w, "short"))
        pod_phase(&w, "short", "Succeeded");
    assert_int_equal(reserved(&w, "big"), end);
    run_and_stop(&w, end, "first");
    assert_true(is(&w, "big", "Admitted"));
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "endless"), "");
    end_exact(&w);
}

/* The end of a job with a duration is known, too. */
static void test_behind_fluxjob(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    flux_pod(&w, "job", 500);
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "job"), "n1");
    timed_workload(&w, "a", "q", 0, 100, ONE("4"));
    run(&w, SETTLE);
    sl_time then = reserved(&w, "a");
    assert_true(then > wall(&w) && then <= wall(&w) + 500 * SL_SEC);
    restart_both(&w, 1);
    assert_int_equal(reserved(&w, "a"), then);
    pod_phase(&w, "job", "Succeeded");
    run(&w, SL_SEC);
    assert_true(is(&w, "a", "Admitted"));
    end_exact(&w);
}

/* ---- quota ---- */

/* Nodes are free, and quota is not: it comes back at a known time, and so it is kept until then. */
static void test_quota(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    for (int i = 1; i <= 3; i++) {
        char name[8];
        sl_fmt(name, sizeof name, "n%d", i);
        gpu_node(&w, name, 40, "", "");
    }
    timed_workload(&w, "first", "q", 0, 600, ONE("40")); /* of 64 */
    run(&w, SETTLE);
    sl_time end = when(&w, "first", "Admitted") + 600 * SL_SEC;
    timed_workload(&w, "big", "q", 0, 100, ONE("30"));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    timed_workload(&w, "short", "q", 0, 100, ONE("20"));
    timed_workload(&w, "little", "q", 0, 0, ONE("4"));
    run(&w, SETTLE);
    assert_true(is(&w, "short", "Admitted"));
    assert_true(is(&w, "little", "Admitted"));
    release(&w, "short");
    workload_of(&w, "endless", 0, ONE("20")); /* 4 + 20 + 30 are less than 64 */
    run(&w, SETTLE);
    assert_true(is(&w, "endless", "Admitted"));
    workload_of(&w, "more", 0, ONE("11"));
    run(&w, SETTLE);
    assert_waits(&w, "more", "");
    restart_both(&w, 1);
    assert_waits(&w, "more", "");
    assert_int_equal(reserved(&w, "big"), end);
    run_and_stop(&w, end, "first");
    assert_true(is(&w, "big", "Admitted"));
    end_exact(&w);
}

/* Queues of a cohort on the same nodes: each has its reservation, and they do not collide. */
static void test_two_queues(void **state) {
    struct world w;
    (void)state;
    begin_empty(&w, "");
    create(&w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    cluster_queue(&w, "cq", EXACT, ",'cohortName':'all'");
    cluster_queue(&w, "cq2", EXACT, ",'cohortName':'all'");
    create(&w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q2'},'spec':{'clusterQueue':'cq2'}}");
    gpu_node(&w, "n1", 4, "", "");
    gpu_node(&w, "n2", 4, "", "");
    timed_workload(&w, "first", "q", 0, 600, ONE("4"));
    run(&w, SETTLE);
    sl_time end = when(&w, "first", "Admitted") + 600 * SL_SEC;
    timed_workload(&w, "big", "q", 0, 100, MANY("2", "4"));
    run(&w, SETTLE);
    timed_workload(&w, "other", "q2", 0, 1000, MANY("2", "4"));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    assert_int_equal(reserved(&w, "other"), end + 100 * SL_SEC);
    timed_workload(&w, "small", "q2", 0, 50, ONE("4"));
    timed_workload(&w, "large", "q2", 0, 5000, ONE("4"));
    run(&w, SETTLE);
    assert_true(is(&w, "small", "Admitted"));
    assert_false(is(&w, "large", "Admitted"));
    release(&w, "small");
    run(&w, SETTLE);
    restart_both(&w, 1);
    assert_int_equal(reserved(&w, "big"), end);
    assert_int_equal(reserved(&w, "other"), end + 100 * SL_SEC);
    timed_workload(&w, "high", "q2", 7, 2000, ONE("4")); /* takes over what is reserved below it */
    run(&w, SETTLE);
    assert_true(is(&w, "high", "Admitted"));
    assert_int_equal(delays(&w, "big"), 1);
    assert_true(reserved(&w, "big") > end);
    release(&w, "high");
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    run_and_stop(&w, end, "first");
    assert_true(is(&w, "big", "Admitted"));
    assert_false(is(&w, "other", "Admitted"));
    end_exact(&w);
}

/* It is gone with what it was for: deleted, or deactivated. */
static void test_dropped(void **state) {
    struct world w;
    (void)state;
    sl_time end = begin_with_first(&w);
    timed_workload(&w, "big", "q", 5, 100, MANY("2", "4"));
    workload_of(&w, "small", 5, ONE("4"));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    assert_false(is(&w, "small", "Admitted"));
    patch(&w, WORKLOADS "/big", "{'spec':{'active':false}}");
    run(&w, SETTLE);
    assert_true(is(&w, "small", "Admitted"));
    release(&w, "small");
    run(&w, SETTLE);
    patch(&w, WORKLOADS "/big", "{'spec':{'active':true}}");
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    workload_of(&w, "next", 5, ONE("4"));
    run(&w, SETTLE);
    assert_false(is(&w, "next", "Admitted"));
    release(&w, "big");
    run(&w, SETTLE);
    assert_true(is(&w, "next", "Admitted"));
    end_exact(&w);
}

/* A change of its queue: without exact nodes there is nothing to reserve. */
static void test_queue_changes(void **state) {
    struct world w;
    (void)state;
    sl_time end = begin_with_first(&w);
    timed_workload(&w, "big", "q", 5, 100, MANY("2", "4"));
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    flux_pod(&w, "job", 0);
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "job"), "");
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'Hold'}}");
    run(&w, SETTLE);
    assert_string_equal(node_of(&w, "job"), "n2");
    pod_phase(&w, "job", "Succeeded");
    patch(&w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'None'}}");
    run(&w, SETTLE);
    assert_int_equal(reserved(&w, "big"), end);
    patch(&w, KUEUE "/clusterqueues/cq",
          "{'metadata':{'annotations':{'sluice.dev/exact-nodes':'false'}}}");
    run(&w, SETTLE);
    assert_true(is(&w, "big", "Admitted"));
    end_exact(&w);
}

static void step_clocks(struct world *w, sl_span by) {
    fakeapi_step_clock(w->api, 0, by);
    fakeapi_step_clock(w->api, FIRST_GRAPH, by);
}

/* The clock was ahead by an hour when one got its place, and another ends long before that: both
 * have their places now, and a third gets none of them. */
static void test_clock_set_back(void **state) {
    struct world w;
    (void)state;
    begin_exact(&w);
    gpu_node(&w, "n1", 4, "", "");
    step_clocks(&w, SL_HOUR);
    timed_workload(&w, "ahead", "q", 5, 100, ONE("2"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "ahead", 0), "n1:1");
    step_clocks(&w, -SL_HOUR);
    run(&w, SETTLE);
    timed_workload(&w, "now", "q", 5, 100, ONE("2"));
    run(&w, SETTLE);
    assert_string_equal(nodes_of(&w, "now", 0), "n1:1");
    timed_workload(&w, "endless", "q", 5, 0, ONE("2"));
    timed_workload(&w, "short", "q", 5, 10, ONE("2"));
    run(&w, SETTLE);
    assert_waits(&w, "endless", "no set of nodes has room for 1 pod(s)");
    assert_waits(&w, "short", "no set of nodes has room for 1 pod(s)");
    restart_both(&w, 1);
    assert_false(is(&w, "endless", "QuotaReserved") || is(&w, "short", "QuotaReserved"));
    end_exact(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),         cmocka_unit_test(test_endless),
        cmocka_unit_test(test_podsets),        cmocka_unit_test(test_lost_node),
        cmocka_unit_test(test_overrun),        cmocka_unit_test(test_fluxjobs),
        cmocka_unit_test(test_behind_fluxjob), cmocka_unit_test(test_quota),
        cmocka_unit_test(test_two_queues),     cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_queue_changes),  cmocka_unit_test(test_clock_set_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
