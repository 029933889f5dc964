/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that only name our scheduler: no FluxJob, one binding, and a condition while they wait. */
#include "fqtest.h"

#include "lib/log/log.h"

static uint32_t fluxjobs(struct world *w) {
    return fakeapi_each(w->api, FLUXJOBS, NULL, NULL);
}

static const char *condition(struct world *w, const char *path, const char *field) {
    yyjson_val *list = sl_json_at(fakeapi_get(w->api, path), "status.conditions");
    return sl_json_str(sl_json_find(list, "type", "PodScheduled"), field);
}

static void test_one_write(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    plain(w, "a", "1", "");
    plain(w, "b", "1", "");
    run(w, 10 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_int_equal(w->writes, 2);
    assert_int_equal(fluxjobs(w), 0);
    assert_true(sl_fluxqueue_idle(w->q[0]));
}

/* In a namespace that opted in, the label that leaves it out makes it no job. */
static void test_left_out(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    create(
        w, PODS,
        "{'metadata':{'name':'a','labels':{'fluxqueue/managed':'false'}},'spec':{'schedulerName':"
        "'FluxionScheduler','containers':[{'name':'main','image':'busybox'}]}}");
    create(w, PODS,
           "{'metadata':{'name':'b','labels':{'fluxqueue/managed':'false','fluxqueue/queue':'x'}},"
           "'spec':{'schedulerName':'FluxionScheduler','containers':[{'name':'main','image':"
           "'busybox'}]}}");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_int_equal(fluxjobs(w), 1); /* that of the pod which names a queue */
}

/* It waits, says why, and is bound when there is room. */
static void test_waits(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    plain(w, "a", "2", "");
    run(w, SL_SEC);
    plain(w, "b", "2", "");
    run(w, SL_SEC / 2);
    assert_string_equal(condition(w, PODS "/b", "reason"), "");
    run(w, 2 * SL_SEC);
    assert_string_equal(condition(w, PODS "/b", "status"), "False");
    assert_string_equal(condition(w, PODS "/b", "reason"), "Unschedulable");
    assert_non_null(strstr(condition(w, PODS "/b", "message"), "in use"));
    uint32_t writes = w->writes;
    run(w, SL_HOUR);
    assert_int_equal(w->writes, writes);
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    drop(w, PODS "/b");
    plain(w, "c", "2", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
}

static void test_never(void **state) {
    struct world *w = *state;
    plain(w, "large", "4", "");
    plain(w, "larger", "8", "");
    plain(w, "other", "4", "");
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(condition(w, PODS "/large", "message"), "no nodes"));
    node(w, "n0", "2");
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(condition(w, PODS "/large", "message"), "even if all were free"));
    plain(w, "small", "1", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/small", "spec.nodeName", "n0");
    node(w, "n1", "9");
    run(w, SL_SEC);
    assert_field(w, PODS "/large", "spec.nodeName", "n1");
    assert_field(w, PODS "/other", "spec.nodeName", "n1");
    assert_field(w, PODS "/larger", "spec.nodeName", "");
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(condition(w, PODS "/larger", "message"), "in use"));
}

/* Usage of others is not ours to wait for, but it ends. */
static void test_others(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    assert_int_equal(
        post(w, PODS, SL_JSON_CONST({
                 "metadata" : {"name" : "other"},
                 "spec" : {
                     "nodeName" : "n0",
                     "containers" : [ {"name" : "a", "resources" : {"requests" : {"cpu" : "3"}}} ]
                 }
             })),
        201);
    plain(w, "a", "2", "");
    plain(w, "b", "2", "");
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(condition(w, PODS "/a", "message"), "other schedulers"));
    drop(w, PODS "/other");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

struct search {
    const char *object;
    uint32_t n;
};

static void look(void *ctx, yyjson_val *o) {
    struct search *s = ctx;
    s->n += strcmp(sl_json_str(o, "regarding.name"), s->object) == 0 &&
            strstr(sl_json_str(o, "note"), "cannot be honoured") != NULL;
}

#define REQUIRED(what)                                                                             \
    "'affinity':{'" what "':{'requiredDuringSchedulingIgnoredDuringExecution':[{" OF_ITSELF "}]}}" \
    ","
#define OF_ITSELF                                                                                  \
    "'topologyKey':'kubernetes.io/hostname','labelSelector':{'matchLabels':{'app':'a'}}"
#define LONE(name, more)                                                                           \
    "{'metadata':{'name':'" name "','labels':{'app':'a'" more "}},'spec':{%s'containers':[{"       \
    "'name':'main','image':'busybox','resources':{'requests':{'cpu':'1'}}}],"                      \
    "'schedulerName':'FluxionScheduler'"

/* A pod that is a job by itself has no others that its affinity could be about: that is said, and
 * not ignored. */
static void test_alone(void **state) {
    static const char *const rules[] = {
        REQUIRED("podAntiAffinity"), REQUIRED("podAffinity"),
        "'topologySpreadConstraints':[{'maxSkew':1,'whenUnsatisfiable':'DoNotSchedule'," OF_ITSELF
        "}],"};
    struct world *w = *state;
    node(w, "n0", "8");
    for (size_t i = 0; i < SL_LEN(rules); i++) {
        struct search found = {.object = "lone"};
        char body[2048];
        sl_fmt(body, sizeof body, LONE("plain", "") "}}", rules[i]);
        create(w, PODS, body);
        sl_fmt(
            body, sizeof body,
            LONE("lone", ",'fluxqueue.seen':'yes'") ",'schedulingGates':[{'name':'fluxqueue'}]}}",
            rules[i]);
        create(w, PODS, body);
        run(w, 5 * SL_SEC);
        assert_field(w, PODS "/plain", "spec.nodeName", "");
        assert_non_null(strstr(condition(w, PODS "/plain", "message"), "cannot be honoured"));
        assert_field(w, PODS "/lone", "spec.nodeName", "");
        assert_field(w, FLUXJOBS "/lone-pod", "status.state", "Rejected");
        (void)fakeapi_each(w->api, "/apis/events.k8s.io/v1/events", look, &found);
        assert_int_not_equal(found.n, 0);
        drop(w, PODS "/plain");
        drop(w, PODS "/lone");
        run(w, SL_SEC);
    }
    plain(
        w, "b", "1",
        "'topologySpreadConstraints':[{'maxSkew':1,'whenUnsatisfiable':'ScheduleAnyway'," OF_ITSELF
        "}]");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

static void test_refused(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    plain(w, "a", "1",
          "'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':["
          "{'topologyKey':'example.com/none','labelSelector':{'matchLabels':{'a':'b'}}}]}}");
    plain(w, "b", "1", "'schedulingGates':[{'name':'example.com/others'}]");
    plain(w, "c", "1", "'nodeSelector':{'kubernetes.io/hostname':'n1'}");
    run(w, 3 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    assert_string_equal(condition(w, PODS "/a", "reason"), "Unschedulable");
    assert_string_not_equal(condition(w, PODS "/a", "message"), "");
    assert_field(w, PODS "/b", "spec.nodeName", "");
    assert_string_equal(condition(w, PODS "/b", "reason"), "");
    patch(w, PODS "/b", SL_JSON_CONST({"spec" : {"schedulingGates" : null}}));
    node(w, "n1", "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_field(w, PODS "/c", "spec.nodeName", "n1");
}

/* While it is gated it may get another node selector, as those of topologies do. */
static void test_narrowed(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    plain(w, "a", "1", "'schedulingGates':[{'name':'example.com/others'}]");
    run(w, SL_SEC);
    patch(w, PODS "/a",
          SL_JSON_CONST({"spec" : {"nodeSelector" : {"kubernetes.io/hostname" : "n1"}}}));
    run(w, SL_SEC);
    patch(w, PODS "/a", SL_JSON_CONST({"spec" : {"schedulingGates" : null}}));
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
}

/* A node becomes too small for one that waits in the queue. */
static void test_shrunk(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    plain(w, "a", "3", "");
    run(w, SL_SEC);
    plain(w, "b", "3", "");
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(condition(w, PODS "/b", "message"), "in use"));
    patch(w, NODES "/n0/status", SL_JSON_CONST({"status" : {"allocatable" : {"cpu" : "2"}}}));
    run(w, 2 * SL_SEC);
    assert_non_null(strstr(condition(w, PODS "/b", "message"), "even if all were free"));
    patch(w, NODES "/n0/status", SL_JSON_CONST({"status" : {"allocatable" : {"cpu" : "6"}}}));
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* In one queue with jobs, by priority and time. */
static void test_priority(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    plain(w, "a", "2", "");
    run(w, SL_SEC);
    plain(w, "b", "2", "'priority':5");
    pod(w, "job", "2", "", "'priority':10");
    run(w, 2 * SL_SEC);
    plain(w, "c", "2", "'priority':10");
    run(w, SL_SEC);
    phase(w, "a", "Succeeded");
    run(w, 2 * SL_SEC);
    assert_field(w, FLUXJOBS "/job-pod", "status.state", "Running");
    phase(w, "job", "Succeeded");
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
    assert_field(w, PODS "/b", "spec.nodeName", "");
}

/* What only a job can have makes it one; so does a FluxJob that somebody makes. */
static void test_not_plain(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    plain(w, "a", "1", "'activeDeadlineSeconds':100");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Running");
    plain(w, "b", "2", "");
    run(w, SL_SEC);
    assert_int_equal(fluxjobs(w), 1);
    static const char jobspec[] =
        "version: 1\\nresources:\\n- {type: slot, label: a, count: 1, with: [{type: core, count: "
        "1}]}\\ntasks:\\n- {command: [a], slot: a, count: {per_slot: 1}}\\nattributes: {system: "
        "{duration: 0}}\\n";
    char body[1024];
    sl_fmt(body, sizeof body,
           "{\"metadata\":{\"name\":\"b-pod\"},\"spec\":{\"name\":\"b\",\"type\":0,\"nodes\":1,"
           "\"jobspec\":\"%s\"}}",
           jobspec);
    assert_int_equal(post(w, FLUXJOBS, body), 201);
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/b-pod", "status.state", "Running");
    /* It has a place by its jobspec, and waits there for room for all that the pod requests. */
    assert_field(w, PODS "/b", "spec.nodeName", "");
    phase(w, "a", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* Binding is all that is known, and it is enough. */
static void test_restart(void **state) {
    struct world *w = *state;
    _cleanup_(sl_buf_done) struct sl_buf before = SL_BUF(1 << 20);
    _cleanup_(sl_buf_done) struct sl_buf after = SL_BUF(1 << 20);
    node(w, "n0", "2");
    node(w, "n1", "2");
    plain(w, "a", "2", "");
    plain(w, "b", "1", "");
    run(w, SL_SEC);
    plain(w, "c", "2", "");
    run(w, 5 * SL_SEC);
    uint32_t writes = w->writes;
    sl_fluxqueue_dump(w->q[0], &before);
    stop(w, 0);
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    sl_fluxqueue_dump(w->q[0], &after);
    assert_string_equal(sl_buf_str(&before), sl_buf_str(&after));
    assert_int_equal(w->writes, writes);
    phase(w, "b", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n1");
    /* So it is when the graph is made anew. */
    plain(w, "d", "2", "");
    run(w, SL_SEC);
    node(w, "n2", "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/d", "spec.nodeName", "");
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/d", "spec.nodeName", "n0");
}

static void test_standby(void **state) {
    struct world *w = *state;
    node(w, "n0", "2");
    start(w, 1, true);
    plain(w, "a", "1", "");
    run(w, SL_SEC);
    sl_fluxqueue_lead(w->q[0], false);
    plain(w, "b", "1", "");
    plain(w, "c", "1", "");
    run(w, SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    sl_fluxqueue_lead(w->q[1], true);
    run(w, SL_SEC);
    assert_true(
        (*at(w, PODS "/b", "spec.nodeName") != 0) + (*at(w, PODS "/c", "spec.nodeName") != 0) == 1);
}

/* Thousands, and more than fit: each is written once, and once more when it waits. */
static void test_many(void **state) {
    struct world *w = *state;
    char name[32];
    for (int i = 0; i < 20; i++) {
        sl_fmt(name, sizeof name, "n%d", i);
        node(w, name, "5");
    }
    for (int i = 0; i < 150; i++) {
        sl_fmt(name, sizeof name, "p%d", i);
        plain(w, name, "1", "");
    }
    run(w, 10 * SL_SEC);
    uint32_t bound = 0;
    for (int i = 0; i < 150; i++) {
        char path[64];
        sl_fmt(path, sizeof path, PODS "/p%d", i);
        bound += *at(w, path, "spec.nodeName") != 0;
    }
    assert_int_equal(bound, 100);
    assert_int_equal(w->writes, 150);
}

/* Replies and watches are lost, conflicts come: bound once, never more than a node has. */
static void test_faults(void **state) {
    struct world *w = *state;
    const struct fakeapi_faults faults = {
        .lose_reply = 10, .conflict = 5, .server_error = 10, .cut_watch = 5, .late_reply = 10};
    char name[64];
    uint32_t bound = 0;
    node(w, "n0", "5");
    node(w, "n1", "5");
    fakeapi_set_faults(w->api, &faults);
    for (int i = 0; i < 30; i++) {
        sl_fmt(name, sizeof name, "p%d", i);
        plain(w, name, "1", "");
        if (i % 5 == 4)
            run(w, SL_SEC);
        if (i == 14 || i == 20) {
            stop(w, 0);
            start(w, 0, false);
        }
    }
    run(w, 5 * SL_MINUTE);
    for (int i = 0; i < 30; i++) {
        sl_fmt(name, sizeof name, PODS "/p%d", i);
        bound += *at(w, name, "spec.nodeName") != 0;
    }
    assert_int_equal(bound, 10);
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_one_write), TEST(test_left_out), TEST(test_waits),   TEST(test_never),
        TEST(test_others),    TEST(test_refused),  TEST(test_shrunk),  TEST(test_priority),
        TEST(test_not_plain), TEST(test_restart),  TEST(test_standby), TEST(test_many),
        TEST(test_faults),    TEST(test_narrowed), TEST(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
