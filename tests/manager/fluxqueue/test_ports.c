/* SPDX-License-Identifier: Apache-2.0 */
/* Host ports: a pod is put where its ports are free, also of pods of others. */
#include "fqtest.h"

#include "lib/log/log.h"

#define PORT(n) "'containers':[{'name':'a','ports':[{'containerPort':80,'hostPort':" #n "}]}]"

/* A pod of others on a node. */
static void other(struct world *w, const char *name, const char *node, const char *ports) {
    char body[1024];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s'},'spec':{'nodeName':'%s','containers':[{'name':'a','ports':["
           "%s]}]}}",
           name, node, ports);
    create(w, PODS, body);
}

/* One of ours with host ports: as intercepted, or as one that only names the scheduler. */
static void ours(struct world *w, const char *name, bool plain, const char *ports) {
    char body[1024];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{%s}},'spec':{'schedulerName':'FluxionScheduler',"
           "'containers':[{'name':'a','ports':[%s],'resources':{'requests':{'cpu':'100m'}}}]%s}}",
           name, plain ? "" : "'fluxqueue.seen':'yes'", ports,
           plain ? "" : ",'schedulingGates':[{'name':'fluxqueue'}]");
    create(w, PODS, body);
}

static void test_one_on_each_node(void **state) {
    struct world *w = *state;
    for (int plain = 0; plain < 2; plain++) {
        char name[8];
        node(w, plain ? "m0" : "n0", "4");
        node(w, plain ? "m1" : "n1", "4");
        for (int i = 0; i < 3; i++) {
            sl_fmt(name, sizeof name, "%s%d", plain ? "q" : "p", i);
            ours(w, name, plain, plain ? "{'hostPort':81}" : "{'hostPort':80}");
            run(w, 2 * SL_SEC);
        }
    }
    assert_field(w, PODS "/p0", "spec.nodeName", "n0");
    assert_field(w, PODS "/p1", "spec.nodeName", "n1");
    assert_field(w, PODS "/p2", "spec.nodeName", "m0");
    assert_field(w, PODS "/q0", "spec.nodeName", "n0");
    assert_field(w, PODS "/q1", "spec.nodeName", "n1");
    assert_field(w, PODS "/q2", "spec.nodeName", "m0");
    /* A port is free when its pod has ended. */
    ours(w, "p3", false, "{'hostPort':80}");
    run(w, SL_SEC);
    ours(w, "p4", false, "{'hostPort':80}");
    run(w, SL_SEC);
    assert_field(w, PODS "/p3", "spec.nodeName", "m1");
    assert_field(w, FLUXJOBS "/p4-pod", "status.state", "Waiting");
    phase(w, "p1", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/p4", "spec.nodeName", "n1");
    assert_non_null(
        strstr(at(w, FLUXJOBS "/p4-pod", "spec.jobspec"), "type: fluxqueue/host-port-tcp-80"));
}

/* The API names the first pod's port before the second comes, and a job takes what a pod leaves. */
static void test_others(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    other(w, "before", "n0", "{'hostPort':80},{'hostPort':443}");
    run(w, SL_SEC);
    ours(w, "a", false, "{'hostPort':80}");
    ours(w, "b", true, "{'hostPort':443}");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    assert_field(w, PODS "/b", "spec.nodeName", "n1");
    ours(w, "c", false, "{'hostPort':80}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/c-pod", "status.state", "Waiting");
    drop(w, PODS "/before");
    run(w, SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
    /* All ports are taken, by nobody who ends: it says so, and is bound when one is free. */
    other(w, "late", "n0", "{'hostPort':8080}");
    other(w, "later", "n1", "{'hostPort':8080}");
    ours(w, "d", false, "{'hostPort':8080}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/d-pod", "status.reason", "Busy");
    phase(w, "later", "Succeeded");
    run(w, SL_SEC);
    assert_field(w, PODS "/d", "spec.nodeName", "n1");
}

/* Protocols are apart; the same port twice in a pod is one; init containers count as well. */
static void test_protocols(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    ours(w, "tcp", false, "{'hostPort':53},{'hostPort':53,'hostIP':'127.0.0.1'}");
    ours(w, "udp", false, "{'hostPort':53,'protocol':'UDP'}");
    ours(w, "sctp", false, "{'hostPort':53,'protocol':'SCTP'}");
    run(w, SL_SEC);
    assert_field(w, PODS "/tcp", "spec.nodeName", "n0");
    assert_field(w, PODS "/udp", "spec.nodeName", "n0");
    assert_field(w, PODS "/sctp", "spec.nodeName", "n0");
    ours(w, "second", false, "{'hostPort':53,'hostIP':'127.0.0.2'}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/second-pod", "status.state", "Waiting");
}

/* The pods of a job go to different nodes. */
static void test_job(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    node(w, "n1", "4");
    create(w, JOBS,
           "{'metadata':{'name':'job','labels':{'fluxqueue.seen':'yes'}},'spec':{'suspend':true,"
           "'parallelism':2,'completions':2,'completionMode':'Indexed','template':{'metadata':{"
           "'labels':{'fluxqueue.seen':'yes'}},'spec':{" PORT(80) ",'schedulerName':"
                                                                  "'FluxionScheduler'}}}}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/job-job", "status.nodeList", "n[0-1]");
    ours(w, "a", false, "{'hostPort':80}");
    run(w, SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Waiting");
    /* So it is after a restart, and when a node comes. */
    stop(w, 0);
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    node(w, "n2", "1");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n2");
}

/* More different ports than there are pools for: those wait, the others do not. */
static void test_too_many(void **state) {
    struct world *w = *state;
    char name[16], ports[64], path[200];
    uint32_t bound = 0, waiting = 0;
    node(w, "n0", "4");
    node(w, "n1", "4");
    node(w, "n2", "4");
    node(w, "n3", "4");
    for (int i = 0; i < 34; i++) {
        sl_fmt(name, sizeof name, "p%d", i);
        sl_fmt(ports, sizeof ports, "{'hostPort':%d}", 8000 + i);
        ours(w, name, false, ports);
    }
    run(w, 5 * SL_SEC);
    for (int i = 0; i < 34; i++) {
        sl_fmt(path, sizeof path, PODS "/p%d", i);
        bound += *at(w, path, "spec.nodeName") != 0;
        sl_fmt(path, sizeof path, FLUXJOBS "/p%d-pod", i);
        waiting += strcmp(at(w, path, "status.reason"), "NoSuchResource") == 0;
    }
    assert_int_equal(bound, 32);
    assert_int_equal(waiting, 2);
    /* What nobody asks for any more makes room. */
    phase(w, "p0", "Succeeded");
    drop(w, PODS "/p1");
    run(w, SL_SEC);
    node(w, "n4", "1");
    run(w, 2 * SL_SEC);
    assert_string_not_equal(at(w, PODS "/p33", "spec.nodeName"), "");
    /* A pod with more than are read. */
    _cleanup_(sl_buf_done) struct sl_buf many = SL_BUF(4096);
    for (int i = 0; i < 65; i++)
        sl_buf_printf(&many, "%s{'hostPort':%d}", i ? "," : "", 100 + i);
    char body[4096];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'wide','labels':{'fluxqueue.seen':'yes'}},'spec':{'schedulerName':"
           "'FluxionScheduler','containers':[{'name':'a','ports':[%s]}]}}",
           sl_buf_str(&many));
    create(w, PODS, body);
    run(w, SL_SEC);
    assert_field(w, PODS "/wide", "spec.nodeName", "");
    assert_field(w, FLUXJOBS "/wide-pod", "status.state", "Rejected");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_one_on_each_node), TEST(test_others), TEST(test_protocols), TEST(test_job),
        TEST(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
