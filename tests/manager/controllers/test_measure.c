/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a manager tells of itself: metrics, the dump of its state, and whether that agrees with
 * itself. A small world in the fake API: two queues of one cohort, four cores each, and workloads
 * of three.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fakeapi.h"
#include "manager/controllers/core/manager.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2/"

/* ---- the world ---- */

struct world {
    struct fakeapi *api;
    struct sl_settings *settings;
    struct sl_metrics *metrics;
    struct sl_manager *m;
    struct sl_buf text;
};

static const char config[] =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
    "kind: Configuration\n"
    "metrics: {enableClusterQueueResources: true, localQueueMetrics: {enable: true,\n"
    "  localQueueSelector: {matchLabels: {measured: \"yes\"}}}}\n"
    "fairSharing: {}\n";

static void start_manager(struct world *w, uint32_t client, bool standby) {
    struct sl_manager_spec spec = {
        .client = fakeapi_port(w->api, client),
        .settings = w->settings,
        .parts = {.core = true, .scheduler = true},
        .metrics = w->metrics,
        .instance = "test",
        .seed = 1,
        .standby = standby,
    };
    w->m = sl_manager_new(&spec);
}

static void begin(struct world *w) {
    struct sl_err err = {0};
    *w = (struct world){.api = fakeapi_new(1), .metrics = sl_metrics_new()};
    sl_buf_init(&w->text, (size_t)1 << 20);
    if (sl_settings_parse("config", config, strlen(config), NULL, NULL, &w->settings, NULL, &err) <
        0)
        fail_msg("%s", err.text);
    start_manager(w, 0, false);
}

static void end(struct world *w) {
    sl_manager_free(w->m);
    sl_metrics_free(w->metrics);
    sl_settings_free(w->settings);
    fakeapi_free(w->api);
    sl_buf_done(&w->text);
}

static void run(struct world *w, sl_span span) {
    sl_time until = fakeapi_now(w->api) + span;
    struct sl_err err = {0};
    do {
        sl_manager_tick(w->m);
        sl_time next = sl_manager_next(w->m);
        (void)fakeapi_step(w->api, next < until ? next : until);
    } while (fakeapi_now(w->api) < until);
    sl_manager_tick(w->m);
    if (sl_manager_check(w->m, &err) < 0)
        fail_msg("%s", err.text);
}

/* Quotes are written as '. */
static void _printf_(4, 5)
    write(struct world *w, enum sl_kube_method method, const char *path, const char *fmt, ...) {
    char body[4096];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(body, sizeof body, fmt, args);
    va_end(args);
    for (char *at = body; (at = strchr(at, '\''));)
        *at = '"';
    sl_buf_clear(&w->text);
    int status = fakeapi_do(w->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON,
                            *body ? body : NULL, &w->text);
    if (status < 200 || status > 299)
        fail_msg("%s: %d %s", path, status, sl_buf_str(&w->text));
}

static void make_queues(struct world *w) {
    write(w, SL_POST, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    write(w, SL_POST, KUEUE "resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    write(w, SL_POST, KUEUE "cohorts", "{'metadata':{'name':'team'},'spec':{'parentName':'org'}}");
    for (const char *q = "ab"; *q; q++)
        write(w, SL_POST, KUEUE "clusterqueues",
              "{'metadata':{'name':'%c'},'spec':{'cohortName':'team','namespaceSelector':{},"
              "'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':'f','resources':["
              "{'name':'cpu','nominalQuota':'4','borrowingLimit':'500m'}]}]}]}}",
              *q);
    write(w, SL_POST, KUEUE "namespaces/ns/localqueues",
          "{'metadata':{'name':'main','labels':{'measured':'yes'}},'spec':{'clusterQueue':'a'}}");
    write(w, SL_POST, KUEUE "namespaces/ns/localqueues",
          "{'metadata':{'name':'other'},'spec':{'clusterQueue':'b'}}");
}

static void make_workload(struct world *w, const char *name, const char *queue, int priority) {
    write(w, SL_POST, KUEUE "namespaces/ns/workloads",
          "{'metadata':{'name':'%s','finalizers':['kueue.x-k8s.io/"
          "resource-in-use']},'spec':{'queueName':'%s',"
          "'active':true,'priority':%d,'podSets':[{'name':'main','count':3,'template':{'spec':{"
          "'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}}]}}",
          name, queue, priority);
}

/* ---- reading ---- */

static void read_metrics(struct world *w) {
    sl_buf_clear(&w->text);
    sl_manager_refresh_metrics(w->m);
    sl_metrics_print(w->metrics, &w->text);
}

/* Is this a line of it? Written with ' for ", and Kueue's without replica_role, which comes last.
 */
static bool has_line(const struct world *w, const char *want) {
    char line[512];
    const char *end = strncmp(want, "kueue_", 6) == 0 ? strchr(want, '}') : NULL;
    if (end)
        (void)snprintf(line, sizeof line, "\n%.*s,replica_role='standalone'%s\n", (int)(end - want),
                       want, end);
    else
        (void)snprintf(line, sizeof line, "\n%s\n", want);
    for (char *at = line; (at = strchr(at, '\''));)
        *at = '"';
    return strstr(sl_buf_str(&w->text), line);
}

static void expect(const struct world *w, const char *const *lines) {
    for (; *lines; lines++)
        if (!has_line(w, *lines))
            fail_msg("missing: %s\nin:\n%s", *lines, sl_buf_str(&w->text));
}

static void expect_none(const struct world *w, const char *part) {
    const char *at = strstr(sl_buf_str(&w->text), part);
    if (at)
        fail_msg("left: %.200s", at);
}

/* ---- tests ---- */

static void test_queues(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    make_queues(&w);
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect(
        &w,
        (const char *const[]){
            "kueue_pending_workloads{cluster_queue='a',status='active'} 0",
            "kueue_pending_workloads{cluster_queue='a',status='inadmissible'} 0",
            "kueue_cluster_queue_status{cluster_queue='a',status='active'} 1",
            "kueue_cluster_queue_status{cluster_queue='a',status='pending'} 0",
            "kueue_cluster_queue_info{cluster_queue='a',parent_cohort='team',root_cohort='org'} 1",
            "kueue_cohort_info{cohort='team',parent_cohort='org',root_cohort='org'} 1",
            "kueue_cohort_info{cohort='org',parent_cohort='',root_cohort='org'} 1",
            "kueue_cohort_subtree_quota{cohort='org',flavor='f',resource='cpu'} 8",
            "kueue_cluster_queue_nominal_quota{cohort='team',cluster_queue='a',flavor='f',resource="
            "'cpu'} 4",
            "kueue_cluster_queue_borrowing_limit{cohort='team',cluster_queue='a',flavor='f',"
            "resource='cpu'} 0.5",
            "kueue_cluster_queue_lending_limit{cohort='team',cluster_queue='a',flavor='f',resource="
            "'cpu'} +Inf",
            "kueue_cluster_queue_resource_pending{cluster_queue='a',resource='cpu'} 0",
            "kueue_cluster_queue_weighted_share{cluster_queue='a',cohort='team'} 0",
            "kueue_local_queue_pending_workloads{name='main',namespace='ns',status='active'} 0",
            "kueue_local_queue_reserving_active_workloads{name='main',namespace='ns'} 0",
            "kueue_local_queue_status{name='main',namespace='ns',active='True'} 1",
            "kueue_local_queue_resource_usage{name='main',namespace='ns',flavor='f',resource='cpu'}"
            " 0",
            NULL,
        });
    /* With the first workload or event, if ever. */
    expect_none(&w, "kueue_reserving_active_workloads{");
    expect_none(&w, "kueue_admitted_workloads_total{");
    expect_none(&w, "kueue_cohort_subtree_resource_reservations{");
    expect_none(&w, "name=\"other\"");
    end(&w);
}

/* Users choose the names of resources: those that the queue covers keep their series. */
static void test_many_resources(void **state) {
    enum { WORKLOADS = 12, RESOURCES = 60, CEILING = 512 };
    struct world w;
    struct sl_buf requests = SL_BUF(4096);
    (void)state;
    begin(&w);
    make_queues(&w);
    run(&w, 10 * SL_SEC);
    for (int i = 0; i < WORKLOADS; i++) {
        sl_buf_clear(&requests);
        for (int k = 0; k < RESOURCES; k++)
            sl_buf_printf(&requests, "%s'x.io/r%d':'1'", k ? "," : "", i * RESOURCES + k);
        write(&w, SL_POST, KUEUE "namespaces/ns/workloads",
              "{'metadata':{'name':'many-%d'},'spec':{'queueName':'main','active':true,"
              "'podSets':[{'name':'main','count':1,'template':{'spec':{'containers':[{'name':'c',"
              "'resources':{'requests':{%s}}}]}}}]}}",
              i, sl_buf_str(&requests));
    }
    run(&w, 10 * SL_SEC);
    make_workload(&w, "one", "main", 0);
    make_workload(&w, "two", "main", 0);
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect(&w, (const char *const[]){
                   "kueue_cluster_queue_resource_pending{cluster_queue='a',resource='cpu'} 3",
                   "kueue_pending_workloads{cluster_queue='a',status='inadmissible'} 13",
                   NULL,
               });
    uint32_t n = 0;
    for (const char *at = sl_buf_str(&w.text);
         (at = strstr(at, "kueue_cluster_queue_resource_pending{cluster_queue=\"a\"")); at++)
        n++;
    assert_int_equal(n, CEILING);
    sl_buf_done(&requests);
    end(&w);
}

static void test_workloads(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    make_queues(&w);
    run(&w, 10 * SL_SEC);
    make_workload(&w, "one", "main", 0);
    run(&w, 10 * SL_SEC);
    make_workload(&w, "two", "main", 0);
    make_workload(&w, "three", "other", 0);
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect(
        &w,
        (const char *const[]){
            "kueue_pending_workloads{cluster_queue='a',status='inadmissible'} 1",
            "kueue_reserving_active_workloads{cluster_queue='a'} 1",
            "kueue_admitted_active_workloads{cluster_queue='a'} 1",
            "kueue_quota_reserved_workloads_total{cluster_queue='a',priority_class=''} 1",
            "kueue_admitted_workloads_total{cluster_queue='b',priority_class=''} 1",
            "kueue_admission_wait_time_seconds_count{cluster_queue='a',priority_class=''} 1",
            "kueue_cohort_subtree_admitted_workloads_total{cohort='org',priority_class=''} 2",
            "kueue_cohort_subtree_admitted_active_workloads{cohort='team'} 2",
            "kueue_cohort_subtree_resource_reservations{cohort='org',flavor='f',resource='cpu'} 6",
            "kueue_cluster_queue_resource_reservation{cohort='team',cluster_queue='a',flavor='f',"
            "resource='cpu'} 3",
            "kueue_cluster_queue_resource_usage{cohort='team',cluster_queue='a',flavor='f',"
            "resource='cpu'} 3",
            "kueue_cluster_queue_resource_pending{cluster_queue='a',resource='cpu'} 3",
            "kueue_local_queue_admitted_workloads_total{name='main',namespace='ns',priority_class='"
            "'} 1",
            "kueue_local_queue_resource_reservation{name='main',namespace='ns',flavor='f',resource="
            "'cpu'} 3",
            "sluice_workloads_in_memory 3",
            "sluice_oldest_pending_age_seconds{cluster_queue='b'} 0",
            NULL,
        });
    expect_none(&w, "kueue_admission_checks_wait_time_seconds_count{");
    expect_none(&w, "name=\"other\"");

    write(&w, SL_PATCH, KUEUE "namespaces/ns/workloads/one/status",
          "{'status':{'conditions':[{'type':'Finished','status':'True','reason':'Succeeded','"
          "message':'',"
          "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}");
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect(&w, (const char *const[]){
                   "kueue_finished_workloads{cluster_queue='a'} 1",
                   "kueue_local_queue_finished_workloads{name='main',namespace='ns'} 1",
                   "kueue_pending_workloads{cluster_queue='a',status='inadmissible'} 0",
                   "kueue_admitted_active_workloads{cluster_queue='a'} 1",
                   "kueue_admitted_workloads_total{cluster_queue='a',priority_class=''} 2",
                   NULL,
               });
    end(&w);
}

/* A standby decides nothing and exports the same of queues and cohorts. */
static void test_standby(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    make_queues(&w);
    make_workload(&w, "one", "main", 0);
    run(&w, 10 * SL_SEC);
    sl_manager_free(w.m);
    sl_metrics_free(w.metrics);
    w.metrics = sl_metrics_new();
    start_manager(&w, 1, true);
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    static const char *const all[] = {
        "kueue_cluster_queue_status{cluster_queue='a',status='active'} 1",
        "kueue_cluster_queue_info{cluster_queue='a',parent_cohort='team',root_cohort='org'} 1",
        "kueue_cluster_queue_nominal_quota{cohort='team',cluster_queue='a',flavor='f',resource="
        "'cpu'} 4",
        "kueue_cluster_queue_resource_usage{cohort='team',cluster_queue='a',flavor='f',resource="
        "'cpu'} 3",
        "kueue_cohort_subtree_quota{cohort='org',flavor='f',resource='cpu'} 8",
        "kueue_cohort_subtree_resource_reservations{cohort='org',flavor='f',resource='cpu'} 3",
        "kueue_local_queue_resource_usage{name='main',namespace='ns',flavor='f',resource='cpu'} 3",
        NULL,
    };
    expect(&w, all);
    /* State observed as a standby is not missing when it leads: a stopped queue is reported. */
    write(&w, SL_PATCH, KUEUE "clusterqueues/a", "{'spec':{'stopPolicy':'Hold'}}");
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect(&w, (const char *const[]){
                   "kueue_cluster_queue_status{cluster_queue='a',status='pending'} 1", NULL});
    sl_manager_lead(w.m, true);
    run(&w, 10 * SL_SEC);
    write(&w, SL_GET, KUEUE "clusterqueues/a", "%s", "");
    assert_non_null(strstr(sl_buf_str(&w.text), "\"reason\":\"Stopped\""));
    end(&w);
}

/* Series go with their objects, and with the values of their labels. */
static void test_gone(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    make_queues(&w);
    make_workload(&w, "one", "main", 0);
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    assert_non_null(
        strstr(sl_buf_str(&w.text), "kueue_local_queue_admitted_workloads_total{name=\"main\""));

    write(&w, SL_PATCH, KUEUE "namespaces/ns/localqueues/main",
          "{'metadata':{'labels':{'measured':null}}}");
    write(&w, SL_PATCH, KUEUE "clusterqueues/a", "{'spec':{'cohortName':'alone'}}");
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect_none(&w, "name=\"main\"");
    expect_none(&w, "cohort=\"team\",cluster_queue=\"a\"");
    expect(&w,
           (const char *const[]){
               "kueue_cluster_queue_info{cluster_queue='a',parent_cohort='alone',root_cohort='"
               "alone'} 1",
               "kueue_cohort_subtree_quota{cohort='org',flavor='f',resource='cpu'} 4",
               "kueue_cohort_subtree_admitted_workloads_total{cohort='org',priority_class=''} 1",
               NULL,
           });

    write(&w, SL_DELETE, KUEUE "clusterqueues/b", "%s", "");
    write(&w, SL_DELETE, KUEUE "cohorts/team", "%s", "");
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect_none(&w, "cluster_queue=\"b\"");
    expect_none(&w, "\"team\"");
    expect_none(&w, "\"org\"");
    end(&w);
}

static void test_evicted(void **state) {
    struct world w;
    (void)state;
    begin(&w);
    make_queues(&w);
    write(&w, SL_PATCH, KUEUE "clusterqueues/a",
          "{'spec':{'preemption':{'withinClusterQueue':'LowerPriority'}}}");
    make_workload(&w, "low", "main", 0);
    run(&w, 10 * SL_SEC);
    make_workload(&w, "high", "main", 1);
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect(&w, (const char *const[]){
                   "kueue_evicted_workloads_total{cluster_queue='a',reason='Preempted',underlying_"
                   "cause='',priority_class=''} 1",
                   "kueue_evicted_workloads_once_total{cluster_queue='a',reason='Preempted',"
                   "underlying_cause='',priority_class=''} 1",
                   "kueue_local_queue_evicted_workloads_total{name='main',namespace='ns',reason='"
                   "Preempted',underlying_cause='',priority_class=''} 1",
                   "kueue_preempted_workloads_total{preempting_cluster_queue='a',reason='"
                   "InClusterQueue'} 1",
                   "kueue_pending_workloads{cluster_queue='a',status='active'} 1",
                   "kueue_admitted_active_workloads{cluster_queue='a'} 1",
                   NULL,
               });
    expect_none(&w, "kueue_workload_eviction_latency_seconds_count{"); /* it still runs */

    write(&w, SL_PATCH, KUEUE "namespaces/ns/localqueues/main", "{'spec':{'stopPolicy':'Hold'}}");
    run(&w, 10 * SL_SEC);
    read_metrics(&w);
    expect_none(&w, "kueue_local_queue_evicted_workloads_total{");
    expect_none(&w, "kueue_local_queue_pending_workloads{");
    expect(&w, (const char *const[]){
                   "kueue_local_queue_admitted_active_workloads{name='main',namespace='ns'} 1",
                   "kueue_local_queue_status{name='main',namespace='ns',active='False'} 1",
                   NULL,
               });
    end(&w);
}

/* Another manager over the same API comes to the same state. */
static void test_dump(void **state) {
    struct world w;
    struct sl_buf first;
    (void)state;
    begin(&w);
    make_queues(&w);
    for (int i = 0; i < 12; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "w%d", i);
        make_workload(&w, name, i % 3 ? "main" : "other", 0);
    }
    run(&w, 10 * SL_SEC);
    assert_true(sl_manager_idle(w.m));
    sl_buf_init(&first, (size_t)1 << 20);
    sl_manager_dump(w.m, &first);
    assert_non_null(strstr(sl_buf_str(&first), "\"phase\":\"admitted\""));
    assert_non_null(strstr(sl_buf_str(&first),
                           "\"f/cpu\":{\"quota\":\"4\",\"used\":\"3\",\"admitted\":\"3\"}"));

    sl_manager_free(w.m);
    start_manager(&w, 1, false);
    run(&w, 10 * SL_SEC);
    sl_buf_clear(&w.text);
    sl_manager_dump(w.m, &w.text);
    assert_string_equal(sl_buf_str(&w.text), sl_buf_str(&first));
    sl_buf_done(&first);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queues),    cmocka_unit_test(test_many_resources),
        cmocka_unit_test(test_workloads), cmocka_unit_test(test_evicted),
        cmocka_unit_test(test_gone),      cmocka_unit_test(test_dump),
        cmocka_unit_test(test_standby),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
