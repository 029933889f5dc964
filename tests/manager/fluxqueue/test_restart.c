/* SPDX-License-Identifier: Apache-2.0 */
/* What runs holds its nodes after a restart, whatever became of what its jobspec names. */
#include "fqtest.h"

#include <stdio.h>

#define TEXT 2048

/* With these levels in the configuration, in place of rack. */
static void again(struct world *w, const char *levels) {
    char text[TEXT];
    struct sl_settings *settings = NULL;
    struct sl_err err = {0};
    sl_fmt(text, sizeof text,
           "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
           "fluxqueue:\n  levels: [%s]\n",
           levels);
    assert_true(
        sl_settings_parse("config", text, strlen(text), NULL, NULL, &settings, NULL, &err) >= 0);
    stop(w, 0);
    sl_settings_free(w->settings);
    w->settings = settings;
    start(w, 0, false);
    run(w, 10 * SL_SEC);
}

#define RACK "{type: rack, nodeLabel: example.com/rack}"

static void rack_of(struct world *w, const char *node_path, const char *rack) {
    char body[TEXT];
    sl_fmt(body, sizeof body, "{\"metadata\":{\"labels\":{\"example.com/rack\":\"%s\"}}}", rack);
    patch(w, node_path, body);
}

/* Of a node with so many cpus free: a pod that takes one more has to wait, one that takes all does
 * not; it is deleted then. */
static void assert_free(struct world *w, int cpus) {
    char cpu[12];
    sl_fmt(cpu, sizeof cpu, "%d", cpus + 1);
    pod(w, "more", cpu, "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/more", "spec.nodeName", "");
    drop(w, PODS "/more");
    run(w, 5 * SL_SEC);
    sl_fmt(cpu, sizeof cpu, "%d", cpus);
    if (cpus == 0)
        return;
    pod(w, "all", cpu, "", "");
    run(w, 5 * SL_SEC);
    assert_string_not_equal(at(w, PODS "/all", "spec.nodeName"), "");
    drop(w, PODS "/all");
    run(w, 5 * SL_SEC);
}

/* ---- what its jobspec names is gone ---- */

/* A level is not configured any more. Whether or not the pods are there, the places are taken; when
 * it is back, so is all else. */
static void test_level_gone(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    rack_of(w, NODES "/n0", "r0");
    job(w, "job", 4, "1", "'fluxqueue/within':'rack'");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    (void)child(w, "Job", "job", 0);
    run(w, SL_SEC);
    assert_field(w, PODS "/job-0", "spec.nodeName", "n0");
    for (int i = 0; i < 2; i++) {
        again(w, i == 0 ? "" : RACK);
        assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
        assert_int_equal(number(w, FLUXJOBS "/job-job", "status.pods.bound"), 1);
        assert_free(w, 4);
    }
    (void)child(w, "Job", "job", 1);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/job-1", "spec.nodeName", "n0");
    assert_free(w, 4);
}

/* The only node with a type of resource has it no more. */
static void test_type_gone(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"example.com/fpga" : "2"}}}));
    pod(w, "a", "6", "",
        "'initContainers':[{'name':'i','image':'busybox','resources':{'limits':{"
        "'example.com/fpga':'1'},'requests':{'example.com/fpga':'1'}}}]");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"example.com/fpga" : null}}}));
    again(w, RACK);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Running");
    assert_free(w, 2);
}

#define SPEC(resources)                                                                            \
    "'fluxqueue/jobspec':'{version: 1, resources: [" resources "], attributes: {}, "               \
    "tasks: [{command: [a], slot: a, count: {per_slot: 1}}]}'"

/* `gpu` is the only type that there is, and then there are two. */
static void test_another_gpu(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"nvidia.com/gpu" : "3"}}}));
    pod(w, "a", "1",
        SPEC("{type: slot, count: 1, label: a, with: [{type: core, count: 1}, "
             "{type: gpu, count: 2}]}"),
        "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    node(w, "n1", "8");
    patch(w, NODES "/n1/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"amd.com/gpu" : "3"}}}));
    again(w, RACK);
    create(w, PODS,
           "{'metadata':{'name':'b','labels':{'fluxqueue.seen':'yes'}},'spec':{'containers':[{"
           "'name':'main','image':'busybox','resources':{'limits':{'nvidia.com/gpu':'2'},"
           "'requests':{'nvidia.com/gpu':'2'}}}],'schedulerName':'FluxionScheduler',"
           "'schedulingGates':[{'name':'fluxqueue'}]}}");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    drop(w, PODS "/a");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* ---- what is not said by the jobspec ---- */

/* Alternatives are what the template requests when they are held again, also with no pod there. */
static void test_alternatives(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    job(w, "job", 2, "2",
        SPEC("{type: xor_slot, count: 2, label: a, with: [{type: core, count: 2}]}, "
             "{type: xor_slot, count: 2, label: b, with: [{type: core, count: 3}]}"));
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    assert_free(w, 4);
    again(w, RACK);
    assert_free(w, 4);
}

/* A jobspec that cannot be read any more: the same. */
static void test_unreadable(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    job(w, "job", 2, "2", "");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    patch(w, FLUXJOBS "/job-job", SL_JSON_CONST({"spec" : {"jobspec" : "version: 9"}}));
    again(w, RACK);
    assert_field(w, FLUXJOBS "/job-job", "status.state", "Running");
    assert_free(w, 4);
}

/* A group has no template: what runs of it counts as pods of others do. */
static void test_unreadable_group(void **state) {
    static const char member[] =
        "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes','fluxqueue/group-name':'g',"
        "'fluxqueue/group-size':'2'}},'spec':{'containers':[{'name':'main','image':'busybox',"
        "'resources':{'requests':{'cpu':'2'}}}],'schedulerName':'FluxionScheduler',"
        "'schedulingGates':[{'name':'fluxqueue'}]}}";
    struct world *w = *state;
    char body[TEXT];
    node(w, "n0", "8");
    for (int i = 0; i < 2; i++) {
        sl_fmt(body, sizeof body, member, i == 0 ? "a" : "b");
        create(w, PODS, body);
    }
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    patch(w, FLUXJOBS "/g-group", SL_JSON_CONST({"spec" : {"jobspec" : "version: 9"}}));
    again(w, RACK);
    assert_free(w, 4);
}

/* ---- a status that somebody else wrote ---- */

/* Nodes in another order, a start before 1970: what it says is held all the same. */
static void test_other_order(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    job(w, "job", 8, "1", "");
    run(w, SL_SEC);
    patch(w, FLUXJOBS "/job-job/status", SL_JSON_CONST({
              "status" : {
                  "startedAt" : "1969-01-01T00:00:00Z",
                  "nodes" : [
                      {"name" : "n0", "pods" : 1}, {"name" : "n1", "pods" : 4},
                      {"name" : "n0", "pods" : 3}
                  ]
              }
          }));
    again(w, RACK);
    assert_free(w, 0);
}

/* So many pods of such a size that the product is no number: the node is full. */
static void test_huge(void **state) {
    static const char template[] =
        "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
        "\"busybox\",\"resources\":{\"requests\":{\"cpu\":\"300000000000\"}}}]}}}}";
    struct world *w = *state;
    node(w, "n0", "4");
    set(w, "set", 1, "1");
    run(w, SL_SEC);
    stop(w, 0);
    patch(w, SETS "/set", template);
    patch(w, FLUXJOBS "/set-statefulset", SL_JSON_CONST({"spec" : {"jobspec" : "version: 9"}}));
    patch(w, FLUXJOBS "/set-statefulset/status",
          SL_JSON_CONST({"status" : {"nodes" : [ {"name" : "n0", "pods" : 100000, "slot" : 9} ]}}));
    start(w, 0, false);
    run(w, 10 * SL_SEC);
    assert_free(w, 0);
}

/* A pod that was resized is larger than the place that is restored for it. What it requests more is
 * given to nobody, and one that the matcher has room for is not looked for again and again. */
static void test_resized(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    patch(w, PODS "/a",
          "{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"busybox\",\"resources\":"
          "{\"requests\":{\"cpu\":\"6\",\"memory\":\"64Mi\"}}}]}}");
    run(w, SL_SEC);
    assert_free(w, 2);
    again(w, RACK);
    pod(w, "b", "3", "", "");
    run(w, 30 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    drop(w, PODS "/b");
    assert_free(w, 2);
}

/* A jobspec that asks for less than its pods request: one for which the node has no room waits, and
 * is not looked for again and again. */
static void test_asks_for_less(void **state) {
    struct world *w = *state;
    node(w, "n0", "8");
    for (int i = 0; i < 3; i++) {
        char name[8];
        sl_fmt(name, sizeof name, "p%d", i);
        pod(w, name, "3", SPEC("{type: slot, count: 1, label: a, with: [{type: core, count: 1}]}"),
            "");
        run(w, SL_SEC);
    }
    uint32_t writes = w->writes;
    run(w, 30 * SL_SEC);
    assert_in_range(w->writes - writes, 0, 60);
    assert_field(w, PODS "/p2", "spec.nodeName", "");
    assert_field(w, FLUXJOBS "/p2-pod", "status.reason", "Growing");
    drop(w, PODS "/p0");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/p2", "spec.nodeName", "n0");
}

#define TEST(f) cmocka_unit_test_setup_teardown((f), setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_level_gone),    TEST(test_type_gone),  TEST(test_another_gpu),
        TEST(test_alternatives),  TEST(test_unreadable), TEST(test_unreadable_group),
        TEST(test_other_order),   TEST(test_huge),       TEST(test_resized),
        TEST(test_asks_for_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
