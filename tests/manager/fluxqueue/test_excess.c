/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that request more than the places of their jobs have, and nodes and pods of others that say
 * what cannot be: the graph never has more free than a node has, so that nothing is placed, tried
 * and given back without end, and none of them stops the queue on all other nodes.
 */
#include "fqtest.h"

#include <stdio.h>

#include "lib/log/log.h"
#include "manager/fluxqueue/fq_int.h"

#define BODY 65536u
#define ONE_CORE                                                                                   \
    "'fluxqueue/jobspec':'{version: 1, resources: [{type: slot, count: 1, label: a, with: "        \
    "[{type: core, count: 1}]}], tasks: [{command: [a], slot: a, count: {per_slot: 1}}], "         \
    "attributes: {}}'"
#define GATED "'schedulerName':'FluxionScheduler','schedulingGates':[{'name':'fluxqueue'}]"

/* A pod that is a job by itself; annotations, labels: of its metadata; requests: members. */
static void pod_of(struct world *w, const char *name, const char *labels, const char *annotations,
                   const char *requests) {
    char text[4096];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'%s},'annotations':{%s}},"
           "'spec':{'containers':[{'name':'main','image':'busybox','resources':{'requests':{%s}}}]"
           "," GATED "}}",
           name, labels, annotations, requests);
    create(w, PODS, text);
}

/* ---- pods that are larger than their places ---- */

static void test_no_node_has_it(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod_of(w, "a", "", ONE_CORE, "'cpu':'1','memory':'1Ti'");
    run(w, 5 * SL_SEC);
    assert_field(w, FLUXJOBS "/a-pod", "status.state", "Rejected");
    assert_field(w, FLUXJOBS "/a-pod", "status.reason", "Unsatisfiable");
    pod(w, "b", "4", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* The jobspec names cores alone: the memory of its pod is not free. */
static void test_less_than_the_pod(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod_of(w, "a", "", ONE_CORE, "'cpu':'2','memory':'6Gi'");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    pod_of(w, "b", "", "", "'cpu':'1','memory':'4Gi'");
    pod_of(w, "c", "", "", "'cpu':'3','memory':'1Gi'");
    pod_of(w, "d", "", "", "'cpu':'2','memory':'2Gi'");
    run(w, 5 * SL_SEC);
    assert_string_not_equal(at(w, FLUXJOBS "/b-pod", "status.state"), "Running");
    assert_string_not_equal(at(w, FLUXJOBS "/c-pod", "status.state"), "Running");
    assert_field(w, PODS "/d", "spec.nodeName", "n0");
    phase(w, "a", "Succeeded");
    phase(w, "d", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
}

static void test_resized_and_restarted(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod(w, "a", "1", "", "");
    run(w, SL_SEC);
    resize(w, PODS "/a", "3500m");
    run(w, SL_SEC);
    restart(w, 5 * SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    assert_string_not_equal(at(w, FLUXJOBS "/b-pod", "status.state"), "Running");
    pod(w, "c", "500m", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
    resize(w, PODS "/a", "1");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

#define OF_GROUP ",'fluxqueue/group-name':'g','fluxqueue/group-size':'2'"

static void test_resized_in_a_group(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    pod_of(w, "g0", OF_GROUP, "", "'cpu':'500m','memory':'64Mi'");
    pod_of(w, "g1", OF_GROUP, "", "'cpu':'1','memory':'64Mi'");
    run(w, 2 * SL_SEC);
    assert_field(w, PODS "/g1", "spec.nodeName", "n0");
    resize(w, PODS "/g1", "3");
    run(w, 2 * SL_SEC);
    pod(w, "b", "1", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    phase(w, "g0", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* Its jobspec cannot be compiled for these nodes, and its pod runs there. */
static void test_plugin_away(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"example.com/gpu" : "2"}}}));
    run(w, SL_SEC);
    pod_of(w, "a", "", "", "'cpu':'3500m','memory':'64Mi','example.com/gpu':'1'");
    run(w, SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    stop(w, 0);
    patch(w, NODES "/n0/status",
          SL_JSON_CONST({"status" : {"allocatable" : {"example.com/gpu" : "0"}}}));
    start(w, 0, false);
    run(w, 5 * SL_SEC);
    pod(w, "b", "1", "", "");
    pod(w, "c", "500m", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    assert_field(w, PODS "/c", "spec.nodeName", "n0");
}

/* ---- nodes ---- */

/* The longest name that a resource may have, and one that none has. */
static void test_long_names(void **state) {
    struct world *w = *state;
    char body[2048], domain[254], request[512];
    for (uint32_t i = 0; i < 253; i++)
        domain[i] = i % 50 == 49 ? '.' : 'd';
    domain[253] = '\0';
    sl_fmt(request, sizeof request, "%s/%.63s", domain, domain);
    for (char *c = strchr(request, '/') + 1; *c; c++)
        *c = 'r';
    node(w, "n0", "4");
    node(w, "n1", "4");
    node(w, "n2", "4");
    sl_fmt(body, sizeof body, "{\"status\":{\"allocatable\":{\"%s\":\"1\"}}}", request);
    patch(w, NODES "/n1/status", body);
    sl_fmt(body, sizeof body, "{\"status\":{\"allocatable\":{\"%sx\":\"1\"}}}", request);
    patch(w, NODES "/n2/status", body);
    run(w, SL_SEC);
    sl_fmt(body, sizeof body, "'cpu':'1','%s':'1'", request);
    pod_of(w, "a", "", "", body);
    pod(w, "b", "4", "", "");
    pod(w, "c", "4", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n1");
    assert_string_not_equal(at(w, PODS "/b", "spec.nodeName"), "");
    assert_string_not_equal(at(w, PODS "/c", "spec.nodeName"), "");
}

static void test_absurd_node(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    patch(w, NODES "/n0", SL_JSON_CONST({"metadata" : {"labels" : {"example.com/rack" : "r"}}}));
    patch(w, NODES "/n0/status", SL_JSON_CONST({
              "status" : {"allocatable" : {"cpu" : "1e12", "memory" : "1E", "pods" : "10000000000"}}
          }));
    pod(w, "a", "1", "'fluxqueue/within':'rack'", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
}

/* ---- pods of others ---- */

/* A pod on n0 that requests 4 cpus and so much of others, in a container of so many. */
static void hide(struct world *w, const char *name, int requests, const char *amount,
                 int containers) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(BODY);
    sl_buf_printf(&b,
                  "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"nodeName\":\"n0\",\"containers\":[{"
                  "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"",
                  name);
    for (int i = 0; i < requests; i++)
        sl_buf_printf(&b, ",\"example.com/r%d\":\"%s\"", i, amount);
    sl_buf_puts(&b, "}}}");
    for (int i = 1; i < containers; i++)
        sl_buf_printf(&b, ",{\"name\":\"c%d\"}", i);
    sl_buf_puts(&b, "]}}");
    assert_int_equal(post(w, PODS, sl_buf_str(&b)), 201);
    run(w, SL_SEC);
}

static void test_requests_of_nothing(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    hide(w, "hides", 64, "0", 1);
    pod(w, "a", "4", "", "");
    pod(w, "b", "2", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* What cannot be read may be anything: nothing is placed beside it. */
static void test_unreadable(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    hide(w, "many", 64, "1", 1);
    pod(w, "a", "1", "", "");
    plain(w, "b", "1", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    assert_field(w, PODS "/b", "spec.nodeName", "");
    hide(w, "long", 0, "", 1025);
    drop(w, PODS "/many");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "");
    drop(w, PODS "/long");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/a", "spec.nodeName", "n0");
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

/* ---- phases ---- */

/* It takes of its node again, and its claims are read once more. */
static void test_phase_goes_back(void **state) {
    struct world *w = *state;
    node(w, "n0", "4");
    create(w, PODS,
           "{'metadata':{'name':'a','labels':{'fluxqueue.seen':'yes'}},'spec':{'nodeName':'n0',"
           "'schedulerName':'FluxionScheduler','volumes':[{'name':'v','persistentVolumeClaim':{"
           "'claimName':'data'}}],'containers':[{'name':'c','resources':{'requests':{'cpu':'3'}}}]"
           "}}");
    run(w, SL_SEC);
    phase(w, "a", "Succeeded");
    run(w, SL_SEC);
    phase(w, "a", "Running");
    run(w, SL_SEC);
    pod(w, "b", "2", "", "");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "");
    patch(w, PODS "/a", SL_JSON_CONST({"metadata" : {"annotations" : {"x" : "y"}}}));
    phase(w, "a", "Succeeded");
    run(w, 5 * SL_SEC);
    assert_field(w, PODS "/b", "spec.nodeName", "n0");
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_no_node_has_it),
        TEST(test_less_than_the_pod),
        TEST(test_resized_and_restarted),
        TEST(test_resized_in_a_group),
        TEST(test_plugin_away),
        TEST(test_long_names),
        TEST(test_absurd_node),
        TEST(test_requests_of_nothing),
        TEST(test_unreadable),
        TEST(test_phase_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
