/* SPDX-License-Identifier: Apache-2.0 */
/* What runs is changed: templates, nodes, FluxJobs that somebody wrote, and restarts between. */
#include "fqtest.h"

#include <stdio.h>

#include "lib/log/log.h"

#define TEXT 2048
#define MARK "/api/v1/namespaces/kueue-system/configmaps/sluice-fluxqueue"

/* As a set's controller: a pod of this index, of a template with so many cpus. */
static void replica(struct world *w, const char *owner, int index, const char *cpu) {
    char body[TEXT], from[200];
    sl_fmt(from, sizeof from, SETS "/%s", owner);
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s-%d','labels':{'fluxqueue.seen':'yes'},'ownerReferences':[{"
           "'apiVersion':'apps/v1','kind':'StatefulSet','name':'%s','uid':'%s','controller':true}]}"
           ",'spec':{'containers':[{'name':'main','image':'busybox','resources':{'requests':{"
           "'cpu':'%s','memory':'64Mi'}}}],'schedulerName':'FluxionScheduler','schedulingGates':[{"
           "'name':'fluxqueue'}]}}",
           owner, index, owner, at(w, from, "metadata.uid"), cpu);
    create(w, PODS, body);
}

static void roll(struct world *w, const char *set_path, const char *cpu) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
           "\"busybox\",\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"64Mi\"}}}]}}}}",
           cpu);
    patch(w, set_path, body);
}

static void restart(struct world *w) {
    stop(w, 0);
    start(w, 0, false);
    run(w, 10 * SL_SEC);
}

/* ---- templates ---- */

/* Pods of the new template take what they request, on the graph, too. */
static void test_larger_template(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 2, "1");
    replica(w, "set", 0, "1");
    replica(w, "set", 1, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    roll(w, SETS "/set", "2");
    run(w, SL_SEC);
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    replica(w, "set", 1, "2");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    /* One and two of four are in use. */
    pod(w, "a", "2", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    restart(w);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    pod(w, "b", "1", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    /* The other one has no room there any more, and waits for another node. */
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    replica(w, "set", 0, "2");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Growing");
    drop(w, PODS "/a");
    node(w, "n1", "2");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n[0-1]");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Allocated");
}

static void test_smaller_template(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 2, "2");
    replica(w, "set", 0, "2");
    replica(w, "set", 1, "2");
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    roll(w, SETS "/set", "1");
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    replica(w, "set", 1, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Waiting");
}

/* A set with a partition makes pods of its old template, too. */
static void test_two_templates(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 2, "1");
    replica(w, "set", 0, "1");
    replica(w, "set", 1, "1");
    run(w, SL_SEC);
    roll(w, SETS "/set", "3");
    drop(w, PODS "/set-0");
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    replica(w, "set", 1, "3");
    replica(w, "set", 0, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    pod(w, "a", "1", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    restart(w);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    /* An old one is replaced by an old one. */
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    replica(w, "set", 0, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
}

/* ---- nodes ---- */

static void test_cordoned(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    set(w, "set", 2, "1");
    replica(w, "set", 0, "1");
    replica(w, "set", 1, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    run(w, SL_SEC);
    drop(w, PODS "/set-1");
    run(w, SL_SEC);
    replica(w, "set", 1, "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/set-statefulset", "status.nodeList", "n[0-1]");
    /* One that is there may stay; what is free of the node is not held. */
    assert_field(w, PODS "/set-0", "spec.nodeName", "n0");
    pod(w, "a", "1", "", "'tolerations':[{'operator':'Exists'}]");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    /* With the cordon in the same moment, and after a restart. */
    stop(w, 0);
    patch(w, NODES "/n1", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : null}}));
    drop(w, PODS "/a");
    drop(w, PODS "/set-1");
    replica(w, "set", 1, "1");
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
}

/* Nothing of it is there yet when its node is cordoned. */
static void test_cordoned_before(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    node(w, "n1", "2");
    job(w, "job", 2, "1", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n0");
    patch(w, NODES "/n0", SL_JSON_CONST({"spec" : {"unschedulable" : true}}));
    child(w, "Job", "job", 0);
    child(w, "Job", "job", 1);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/job-0", "spec.nodeName", "n1");
    assert_field(w, PODS "/job-1", "spec.nodeName", "n1");
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n1");
}

/* A node that is not ready for a moment is none that a set loses. */
static void test_not_ready(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    set(w, "set", 2, "1");
    replica(w, "set", 0, "1");
    run(w, SL_SEC);
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"conditions" : [ {"type" : "Ready", "status" : "False"} ]}}));
    run(w, SL_SEC);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"conditions" : [ {"type" : "Ready", "status" : "True"} ]}}));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    replica(w, "set", 1, "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/set-1", "spec.nodeName", "n0");
}

/* ---- job ids ---- */

static void test_ids_are_used_once(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
    drop(w, PODS "/b");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "(absent)");
    assert_string_equal(sl_json_str(sl_json_get(fakeapi_get(w->api, MARK), "data"), "lastJobid"),
                        "2");
    restart(w);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/c-pod", "status.jobid"), 3);
    /* One that goes and is not the last needs no write. */
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_string_equal(sl_json_str(sl_json_get(fakeapi_get(w->api, MARK), "data"), "lastJobid"),
                        "2");
    drop(w, PODS "/c");
    run(w, SL_SEC);
    restart(w);
    pod(w, "d", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/d-pod", "status.jobid"), 4);
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* Two replicas in turns: the other one has not seen what this one gave. */
static void test_ids_of_two(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    start(w, 1, true);
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[0], false);
    sl_fluxqueue_lead(w->q[1], true);
    run(w, SL_SEC);
    stop(w, 0);
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    drop(w, PODS "/b");
    drop(w, PODS "/a");
    run(w, SL_SEC);
    start(w, 0, true);
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[1], false);
    sl_fluxqueue_lead(w->q[0], true);
    run(w, SL_SEC);
    pod(w, "c", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/c-pod", "status.jobid"), 3);
}

static int refuse_maps(void *ctx, const struct fakeapi_write *x, struct sl_buf *why) {
    (void)ctx;
    sl_buf_puts(why, "no");
    return strcmp(x->kind->plural, "configmaps") == 0 ? 403 : 0;
}

/* Where it may not be recorded, nobody waits for it. */
static void test_ids_without_right(void **state) {
    struct world *w = *state;
    fakeapi_on_write(w->api, refuse_maps, w);
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    drop(w, PODS "/a");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "(absent)");
    pod(w, "b", "1", "", "");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/b-pod", "status.jobid"), 2);
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* ---- leaders in turns ---- */

/* What it knew when it led before is not what the status says now. */
static void test_leads_again(void **state) {
    struct world *w = *state;
    node(w, "n0", "1");
    set(w, "set", 1, "1");
    replica(w, "set", 0, "1");
    start(w, 1, true);
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/set-statefulset", "status.pods.bound"), 1);
    sl_fluxqueue_lead(w->q[0], false);
    sl_fluxqueue_lead(w->q[1], true);
    run(w, SL_SEC);
    drop(w, PODS "/set-0");
    run(w, SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/set-statefulset", "status.pods.bound"), 0);
    replica(w, "set", 0, "2");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Growing");
    drop(w, PODS "/set-0");
    sl_fluxqueue_lead(w->q[1], false);
    replica(w, "set", 0, "1");
    patch(w, PODS "/set-0", SL_JSON_CONST({"spec" : {"schedulingGates" : null}}));
    patch(w, PODS "/set-0", SL_JSON_CONST({"spec" : {"nodeName" : "n0"}}));
    sl_fluxqueue_lead(w->q[0], true);
    run(w, 5 * SL_SEC);
    assert_int_equal(number(w, FLUXJOBS "/set-statefulset", "status.pods.bound"), 1);
    assert_field(w, FLUXJOBS "/set-statefulset", "status.reason", "Allocated");
}

/* ---- FluxJobs that somebody wrote ---- */

#define BY_HAND(name, more)                                                                        \
    "{'metadata':{'name':'" name "-pod'},'spec':{'type':0,'name':'" name "'" more                  \
    ",'jobspec':'{version: 1, resources: [{type: slot, count: 1, label: a, with: [{type: core, "   \
    "count: 3}]}], tasks: [{command: [a], slot: a, count: {per_slot: 1}}], attributes: {%s}}'}}"

static void by_hand(struct world *w, const char *format, const char *attributes) {
    char body[TEXT];
    const char *mark = strstr(format, "%s");
    sl_fmt(body, sizeof body, "%.*s%s%s", (int)(mark - format), format, attributes, mark + 2);
    create(w, FLUXJOBS, body);
}

/* How long it runs is known by spec.duration, unless its jobspec says so itself. */
static void test_duration(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    by_hand(w, BY_HAND("long", ",'duration':1000"), "");
    pod(w, "long", "3", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/long", "spec.nodeName", "n0");
    pod(w, "large", "4", "", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.state", "Reserved");
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "2026-01-01T00:16:40Z");
    restart(w);
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "2026-01-01T00:16:40Z");
    /* It is told that it may run for longer. */
    patch(w, FLUXJOBS "/long-pod", SL_JSON_CONST({"spec" : {"duration" : 2000}}));
    run(w, 2 * SL_MINUTE);
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "2026-01-01T00:33:20Z");
}

static void test_duration_of_jobspec(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    by_hand(w, BY_HAND("long", ",'duration':1000"), "system: {duration: 500}");
    pod(w, "long", "3", "", "");
    run(w, SL_SEC);
    pod(w, "large", "4", "", "");
    run(w, 10 * SL_SEC);
    assert_field(w, FLUXJOBS "/large-pod", "status.estimatedStart", "2026-01-01T00:08:20Z");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_larger_template),   TEST(test_smaller_template), TEST(test_two_templates),
        TEST(test_cordoned),          TEST(test_cordoned_before),  TEST(test_not_ready),
        TEST(test_ids_are_used_once), TEST(test_ids_of_two),       TEST(test_ids_without_right),
        TEST(test_leads_again),       TEST(test_duration),         TEST(test_duration_of_jobspec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
