/* SPDX-License-Identifier: Apache-2.0 */
/* Controllers that are switched off leave what is theirs alone, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "apps_world.h"

#define ALL ((UINT32_C(1) << CL_CONTROLLERS) - 1)

static uint32_t off(const char *list) {
    uint32_t mask = 0;
    struct sl_err err;

    assert_int_equal(sl_cluster_controllers_parse(list, &mask, &err), 0);
    return mask;
}

static void lists(void **state) {
    static const char *const wrong[] = {
        "", ",", "*,", "foo", "-", "--job", "*,-foo", "job ", "job-controllers", "**"};
    uint32_t mask;
    struct sl_err err;

    (void)state;
    assert_int_equal(off("*"), 0);
    assert_int_equal(off("*,-job-controller"), CL_OFF(CL_JOBS));
    assert_int_equal(off("-job,*"), CL_OFF(CL_JOBS)); /* its old name */
    assert_int_equal(off("job-controller"), ALL & ~CL_OFF(CL_JOBS));
    assert_int_equal(off("-job-controller"), ALL);
    assert_int_equal(off("*,job,-job"), 0); /* the first counts */
    assert_int_equal(off("*,-job,job"), CL_OFF(CL_JOBS));
    for (size_t i = 0; i < SL_LEN(wrong); i++)
        assert_true(sl_cluster_controllers_parse(wrong[i], &mask, &err) < 0);
    for (uint32_t i = 0; i < CL_CONTROLLERS; i++)
        assert_int_equal(off(sl_cluster_controller_name(i)), ALL & ~CL_OFF(i));
    assert_null(sl_cluster_controller_name(CL_CONTROLLERS));
}

/* ---- each of them ---- */

#define TEMPLATE                                                                                   \
    "'template':{'metadata':{'labels':{'app':'a'}},'spec':{'containers':[{'name':'c','image':"     \
    "'i'}]}}"
#define SET(more)                                                                                  \
    "{'metadata':{'name':'a'},'spec':{" more "'selector':{'matchLabels':{'app':'a'}}," TEMPLATE "}}"
#define JOB                                                                                        \
    "{'metadata':{'name':'a','uid':'j'},'spec':{'completions':1,'parallelism':1,"                  \
    "'backoffLimit':6,'completionMode':'NonIndexed','selector':{'matchLabels':{'app':'a'}},"       \
    "'template':{'metadata':{'labels':{'app':'a'}},'spec':{'restartPolicy':'Never','containers':[" \
    "{'name':'c','image':'i'}]}}}}"
#define DONE                                                                                       \
    "{'metadata':{'name':'a'},'spec':{'ttlSecondsAfterFinished':1,'completions':1,"                \
    "'parallelism':1," TEMPLATE "}}"
#define DONE_STATUS                                                                                \
    "{'status':{'succeeded':1,'conditions':[{'type':'Complete','status':'True',"                   \
    "'lastTransitionTime':'2020-01-01T00:00:00Z'}]}}"
#define SERVICE "{'metadata':{'name':'a'},'spec':{'clusterIP':'1.2.3.4','selector':{'app':'a'}}}"
#define BY_HAND                                                                                    \
    "{'metadata':{'name':'a'},'subsets':[{'addresses':[{'ip':'1.2.3.4'}],'ports':[{'port':1}]}]}"
#define PLAIN "{'metadata':{'name':'a'},'spec':{'clusterIP':'1.2.3.4'}}"
#define ORPHAN                                                                                     \
    "{'metadata':{'name':'a','ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':"     \
    "'gone','uid':'gone'}]}}"
#define LOST "{'metadata':{'name':'lost'},'spec':{'nodeName':'gone','containers':[{'name':'c'}]}}"
#define BATCH "/apis/batch/v1/namespaces/ns"
#define SLICES "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"

/* What is made, and the number of objects in a collection when its controller has acted. */
struct row {
    enum cl_controller controller;
    const char *paths[2], *bodies[2]; /* the second may be absent */
    const char *counted;
    uint32_t on, off;
    sl_span after;
};

static const struct row rows[] = {
    {CL_DAEMON_SETS, {APPS "/daemonsets"}, {SET("")}, PODS, 1, 0, 0},
    {CL_REPLICATION_CONTROLLERS,
     {NS "/replicationcontrollers"},
     {"{'metadata':{'name':'a'},'spec':{'replicas':2,'selector':{'app':'a'}," TEMPLATE "}}"},
     PODS,
     2,
     0,
     0},
    {CL_DEPLOYMENTS, {DEPLOYMENTS}, {SET("'replicas':2,")}, SETS, 1, 0, 0},
    {CL_REPLICA_SETS, {DEPLOYMENTS}, {SET("'replicas':2,")}, PODS, 2, 0, 0},
    {CL_STATEFUL_SETS, {STATEFULSETS}, {SET("'serviceName':'s','replicas':1,")}, PODS, 1, 0, 0},
    {CL_JOBS, {BATCH "/jobs"}, {JOB}, PODS, 1, 0, 0},
    {CL_JOB_TTL,
     {BATCH "/jobs", BATCH "/jobs/a/status"},
     {DONE, DONE_STATUS},
     BATCH "/jobs",
     0,
     1,
     0},
    {CL_CRON_JOBS,
     {BATCH "/cronjobs"},
     {"{'metadata':{'name':'a'},'spec':{'schedule':'* * * * *','jobTemplate':{'spec':{" TEMPLATE
      "}}}}"},
     BATCH "/jobs",
     1,
     0,
     70 * SL_SEC},
    {CL_ENDPOINTS, {NS "/services"}, {SERVICE}, NS "/endpoints", 1, 0, 0},
    {CL_ENDPOINT_SLICES, {NS "/services"}, {SERVICE}, SLICES, 1, 0, 0},
    {CL_ENDPOINT_MIRRORS, {NS "/services", NS "/endpoints"}, {PLAIN, BY_HAND}, SLICES, 1, 0, 0},
    {CL_GARBAGE, {NS "/secrets"}, {ORPHAN}, NS "/secrets", 0, 1, 60 * SL_SEC},
    {CL_POD_GARBAGE, {PODS}, {LOST}, PODS, 0, 1, 200 * SL_SEC},
    {CL_SERVICE_ACCOUNTS,
     {"/api/v1/namespaces"},
     {"{'metadata':{'name':'x'}}"},
     "/api/v1/namespaces/x/serviceaccounts",
     1,
     0,
     0},
    {CL_ROOT_CA,
     {"/api/v1/namespaces"},
     {"{'metadata':{'name':'x'}}"},
     "/api/v1/namespaces/x/configmaps",
     1,
     0,
     0},
};

static uint32_t count_with(const struct row *r, uint32_t mask) {
    struct apps_world w = {.off = mask, .ca = "certificate"};

    world_start(&w, 7);
    for (uint32_t i = 0; i < 2 && r->paths[i]; i++)
        if (strstr(r->paths[i], "/status"))
            world_patch(&w, r->paths[i], r->bodies[i]);
        else
            world_create(&w, r->paths[i], r->bodies[i]);
    world_run(&w, 10 * SL_SEC + r->after);
    uint32_t n = world_count(&w, r->counted);
    world_stop(&w);
    return n;
}

static void each_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < SL_LEN(rows); i++) {
        const struct row *r = &rows[i];
        uint32_t on = count_with(r, 0), without = count_with(r, CL_OFF(r->controller));
        if (on != r->on || without != r->off)
            fail_msg("%s: %u, without it %u", sl_cluster_controller_name(r->controller), on,
                     without);
    }
}

/* Nothing but events expires, and nothing is written. */
static void all_off(void **state) {
    struct apps_world w = {.off = ALL, .ca = "certificate"};

    (void)state;
    world_start(&w, 8);
    for (size_t i = 0; i < SL_LEN(rows); i++)
        (void)world_do(&w, SL_POST, rows[i].paths[0], SL_JSON, rows[i].bodies[0]);
    world_run(&w, 5 * SL_SEC); /* the test's kubelet makes the pod ready */
    uint64_t version = fakeapi_version(w.api);
    world_run(&w, 300 * SL_SEC);
    assert_int_equal(fakeapi_version(w.api), version);
    world_stop(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(each_alone),
        cmocka_unit_test(all_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
