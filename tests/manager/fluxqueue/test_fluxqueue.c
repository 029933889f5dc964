/* SPDX-License-Identifier: Apache-2.0 */
/* FluxJobs from their creation to their end, over the in-memory API. */
#include "fqtest.h"

#include "lib/log/log.h"

/* ---- one pod ---- */

static void test_pod(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "pod", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/pod-pod", "status.state", "Running");
    assert_field(w, FLUXJOBS "/pod-pod", "status.nodeList", "n0");
    assert_field(w, FLUXJOBS "/pod-pod", "status.submitStatus", "statusSubmit");
    assert_int_equal(number(w, FLUXJOBS "/pod-pod", "status.jobid"), 1);
    assert_non_null(strstr(at(w, FLUXJOBS "/pod-pod", "spec.jobspec"), "core"));
    assert_field(w, PODS "/pod", "spec.nodeName", "n0");
    assert_int_equal(
        sl_json_size(sl_json_at(fakeapi_get(w->api, PODS "/pod"), "spec.schedulingGates")), 0);
    assert_string_equal(sl_json_label(fakeapi_get(w->api, PODS "/pod"), "fluxqueue/jobid"), "1");
    phase(w, "pod", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/pod-pod", "status.state", "Completed");
    drop(w, PODS "/pod");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/pod-pod", "status.state", "(absent)");
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* What is in use is waited for, and given out again when it is free. */
static void test_waits(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    pod(w, "a", "1", "", "");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_field(w, FLUXJOBS "/c-pod", "status.state", "Waiting");
    assert_int_equal(number(w, FLUXJOBS "/c-pod", "status.queuePosition"), 1);
    phase(w, "a", "Failed");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Failed");
    assert_field(w, FLUXJOBS "/c-pod", "status.state", "Running");
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
}

/* A job whose duration is known reserves for the next, and what ends before is backfilled. */
static void test_backfill(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "long", "3", "'fluxqueue/duration':'1000'", "");
    run(w, SL_SEC);
    pod(w, "large", "4", "'fluxqueue/duration':'1000'", "");
    run(w, SL_SEC);
    pod(w, "late", "1", "'fluxqueue/duration':'2000'", "");
    pod(w, "short", "1", "'fluxqueue/duration':'100'", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.state", "Reserved");
    assert_string_not_equal(at(w, FLUXJOBS "/large-pod", "status.estimatedStart"), "");
    assert_field(w, FLUXJOBS "/late-pod", "status.state", "Waiting");
    assert_field(w, FLUXJOBS "/short-pod", "status.state", "Running");
    assert_field(w, FLUXJOBS "/short-pod", "status.selection", "backfill");
    phase(w, "short", "Succeeded");
    phase(w, "long", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.state", "Running");
}

static void count_delayed(void *ctx, yyjson_val *o) {
    *(uint32_t *)ctx += strcmp(sl_json_str(o, "reason"), "StartDelayed") == 0 &&
                        strcmp(sl_json_str(o, "regarding.name"), "large-pod") == 0;
}

/* A start that was promised is given up when pods of others use the node, and that is told. */
static void test_lost_reservation(void **state) {
    struct world *w = *state;
    uint32_t delayed = 0;
    node(w, "n0", "4");
    pod(w, "long", "3", "'fluxqueue/duration':'1000'", "");
    run(w, SL_SEC);
    pod(w, "large", "4", "'fluxqueue/duration':'1000'", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.state", "Reserved");
    create(w, PODS,
           "{'metadata':{'name':'other'},'spec':{'nodeName':'n0','containers':[{'name':'main',"
           "'resources':{'requests':{'cpu':'1'}}}]}}");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.reason", "Busy");
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "");
    (void)fakeapi_each(w->api, "/apis/events.k8s.io/v1/namespaces/default/events", count_delayed,
                       &delayed);
    assert_int_equal(delayed, 1);
}

/* Each queue places by its own policy. */
static void test_match_policies(void **state) {
    static const char text[] = "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
                               "kind: Configuration\n"
                               "fluxqueue:\n"
                               "  queues:\n"
                               "  - {name: high, matchPolicy: hinode}\n";
    struct world *w = *state;
    struct sl_settings *settings = NULL;
    struct sl_err err = {0};
    assert_true(
        sl_settings_parse("config", text, sizeof text - 1, NULL, NULL, &settings, NULL, &err) >= 0);
    sl_fluxqueue_configure(w->q[0], settings);
    sl_settings_free(w->settings);
    w->settings = settings;
    node(w, "n0", "2");
    node(w, "n1", "2");
    node(w, "n2", "2");
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    pod(w, "b", "1", "'fluxqueue/queue':'high'", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, PODS "/b", "spec.nodeName", "n2");
    pod(w, "c", "2", "'fluxqueue/queue':'high'", "");
    pod(w, "d", "1", "", "");
    pod(w, "e", "1", "'fluxqueue/queue':'high'", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n1");
    assert_field(w, PODS "/d", "spec.nodeName", "n0");
    assert_field(w, PODS "/e", "spec.nodeName", "n2");
}

static void test_begin_time(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "'fluxqueue/begin-time':'2026-01-01T01:00:00Z'", "");
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "BeginTime");
    assert_field(w, PODS "/a", "spec.nodeName", "");
    run(w, SL_HOUR);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

/* A pod that another scheduler is to bind is sent to its node by a selector. */
static void test_other_scheduler(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    assert_int_equal(
        post(w, PODS, SL_JSON_CONST({
                 "metadata" : {"name" : "a", "labels" : {"fluxqueue.seen" : "yes"}},
                 "spec" : {
                     "schedulerName" : "default-scheduler",
                     "schedulingGates" : [ {"name" : "fluxqueue"} ],
                     "containers" : [ {"name" : "a", "resources" : {"requests" : {"cpu" : "1"}}} ]
                 }
             })),
        201);
    run(w, SL_SEC);
    yyjson_val *spec = sl_json_get(fakeapi_get(w->api, PODS "/a"), "spec");
    assert_int_equal(sl_json_size(sl_json_get(spec, "schedulingGates")), 0);
    assert_non_null(sl_json_at(spec, "affinity.nodeAffinity"));
    assert_string_equal(sl_json_str(spec, "nodeName"), "");
}

/* A job that is stopped by a begin time of its FluxJob. */
static void test_written_by_hand(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    create(w, FLUXJOBS,
           "{'metadata':{'name':'a-pod'},'spec':{'type':0,'name':'a',"
           "'beginTime':'2026-01-01T01:00:00Z','jobspec':'{version: 1, resources: [{type: slot, "
           "count: 1, label: a, with: [{type: core, count: 2}]}], tasks: [{command: [a], slot: a, "
           "count: {per_slot: 1}}], attributes: {}}'}}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "ObjectNotFound");
    pod(w, "a", "1", "", "");
    run(w, SL_MINUTE);
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "BeginTime");
    run(w, SL_HOUR);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    /* It has what its jobspec says, two cores, and not what its pod requests. */
    pod(w, "b", "3", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Waiting");
}

/* ---- Jobs and sets ---- */

static void test_job(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    job(w, "job", 2, "1", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n[0-1]");
    assert_false(sl_json_bool(fakeapi_get(w->api, JOBS "/job"), "spec.suspend", true));
    yyjson_val *template = sl_json_at(fakeapi_get(w->api, JOBS "/job"), "spec.template");
    assert_string_equal(sl_json_label(template, "fluxqueue/fluxion-nodes"), "n0__n1");
    /* The second comes first, and each goes to the place of its index. */
    child(w, "Job", "job", 1);
    run(w, SL_SEC);
    child(w, "Job", "job", 0);
    run(w, SL_SEC);
    assert_field(w, PODS "/job-0", "spec.nodeName", "n0");
    assert_field(w, PODS "/job-1", "spec.nodeName", "n1");
    /* One has ended: its part is given back. */
    pod(w, "next", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/next", "spec.nodeName", "");
    phase(w, "job-1", "Succeeded");
    patch(w, JOBS "/job/status", SL_JSON_CONST({"status" : {"succeeded" : 1, "active" : 1}}));
    run(w, SL_SEC);
    assert_field(w, PODS "/next", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n0");
    phase(w, "job-0", "Succeeded");
    patch(w, JOBS "/job/status", SL_JSON_CONST({
              "status" :
                  {"succeeded" : 2, "conditions" : [ {"type" : "Complete", "status" : "True"} ]}
          }));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Completed");
}

/* Whole or not at all. */
static void test_gang(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    node(w, "n1", "1");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    job(w, "job", 2, "1", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Waiting");
    assert_true(sl_json_bool(fakeapi_get(w->api, JOBS "/job"), "spec.suspend", false));
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
}

static void test_set_grows_and_shrinks(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    set(w, "set", 2, "1");
    child(w, "StatefulSet", "set", 0);
    child(w, "StatefulSet", "set", 1);
    run(w, SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 3}}));
    child(w, "StatefulSet", "set", 2);
    run(w, SL_SEC);
    assert_field(w, PODS "/set-2", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n[0-1]");
    /* A pod that is replaced gets a place again. */
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    child(w, "StatefulSet", "set", 1);
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    patch(w, SETS "/set", SL_JSON_CONST({"spec" : {"replicas" : 0}}));
    drop(w, PODS "/set-0");
    drop(w, PODS "/set-1");
    drop(w, PODS "/set-2");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "ScaledToZero");
    pod(w, "a", "2", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

/* ---- the live graph ---- */

static void test_foreign_pods(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    assert_int_equal(
        post(w, PODS, SL_JSON_CONST({
                 "metadata" : {"name" : "other"},
                 "spec" : {
                     "nodeName" : "n0",
                     "containers" :
                         [ {"name" : "a", "resources" : {"requests" : {"cpu" : "1500m"}}} ]
                 }
             })),
        201);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    pod(w, "b", "500m", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    drop(w, PODS "/other");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

static void test_nodes_come_and_go(void **state) {
    struct world *w = *state;
    pod(w, "a", "4", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "NoNodes");
    node(w, "n0", "2");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Rejected");
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "Unsatisfiable");
    assert_string_equal(sl_json_label(fakeapi_get(w->api, PODS "/a"), "fluxqueue/unschedulable"),
                        "yes");
    node(w, "n1", "4");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    assert_null(sl_json_label_opt(fakeapi_get(w->api, PODS "/a"), "fluxqueue/unschedulable"));
    /* A cordoned node gets nothing more. */
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Waiting");
    pod(w, "c", "1", "", "'tolerations':[{'operator':'Exists'}]");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : null}}));
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    /* It is resized. */
    pod(w, "d", "3", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/d-pod", "status.state", "Waiting");
    patch(w, NODES "/n0/status", SL_JSON_CONST({"status" : {"allocatable" : {"cpu" : "5"}}}));
    run(w, SL_SEC);
    assert_field(w, PODS "/d", "spec.nodeName", "n0");
}

/* ---- restarts ---- */

static void test_restart(void **state) {
    struct world *w = *state;
    _cleanup_(sl_buf_done) struct sl_buf before = SL_BUF(1 << 20);
    _cleanup_(sl_buf_done) struct sl_buf after = SL_BUF(1 << 20);
    node(w, "n0", "2");
    node(w, "n1", "2");
    job(w, "job", 3, "1", "");
    run(w, SL_SEC);
    child(w, "Job", "job", 0);
    run(w, SL_SEC);
    pod(w, "a", "2", "", "");
    run(w, 10 * SL_SEC);
    sl_fluxqueue_dump(w->q[0], &before);
    uint32_t writes = w->writes;
    stop(w, 0);
    start(w, 0, false);
    run(w, 10 * SL_SEC);
    sl_fluxqueue_dump(w->q[0], &after);
    assert_string_equal(sl_buf_str(&before), sl_buf_str(&after));
    assert_int_equal(w->writes, writes);
    /* The others of the Job go to the places that it had. */
    child(w, "Job", "job", 1);
    child(w, "Job", "job", 2);
    run(w, SL_SEC);
    assert_field(w, PODS "/job-1", "spec.nodeName", "n0");
    assert_field(w, PODS "/job-2", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 3);
}

static void test_standby(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    start(w, 1, true);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    stop(w, 0);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    sl_fluxqueue_lead(w->q[1], true);
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
}

/* One that starts beside a leader, and one that starts where much is there already. */
static void test_late_standby(void **state) {
    struct world *w = *state;
    _cleanup_(sl_buf_done) struct sl_buf leader = SL_BUF(1 << 20);
    _cleanup_(sl_buf_done) struct sl_buf standby = SL_BUF(1 << 20);
    node(w, "n0", "2");
    node(w, "n1", "2");
    job(w, "job", 3, "1", "");
    run(w, SL_SEC);
    child(w, "Job", "job", 0);
    child(w, "Job", "job", 1);
    pod(w, "a", "2", "'fluxqueue/duration':'100'", "");
    run(w, 10 * SL_SEC);
    start(w, 1, true);
    run(w, 10 * SL_SEC);
    sl_fluxqueue_dump(w->q[0], &leader);
    sl_fluxqueue_dump(w->q[1], &standby);
    assert_string_equal(sl_buf_str(&leader), sl_buf_str(&standby));
    phase(w, "job-0", "Succeeded");
    pod(w, "b", "1", "", "");
    run(w, 10 * SL_SEC);
    stop(w, 0);
    sl_fluxqueue_lead(w->q[1], true);
    run(w, 10 * SL_SEC);
    drop(w, NODES "/n1");
    run(w, 10 * SL_SEC);
    sl_fluxqueue_lead(w->q[1], false);
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[1], true);
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_pod),
        TEST(test_waits),
        TEST(test_backfill),
        TEST(test_lost_reservation),
        TEST(test_match_policies),
        TEST(test_begin_time),
        TEST(test_other_scheduler),
        TEST(test_written_by_hand),
        TEST(test_job),
        TEST(test_gang),
        TEST(test_set_grows_and_shrinks),
        TEST(test_foreign_pods),
        TEST(test_nodes_come_and_go),
        TEST(test_restart),
        TEST(test_standby),
        TEST(test_late_standby),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
