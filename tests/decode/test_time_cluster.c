/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the embedded controllers, the scheduler and the garbage collector is bounded by the
 * size of the objects that they watch: see grown.h. */
#include "grown.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/core/cluster.h"
#include "cluster/scheduler/scheduler.h"
#include "lib/json/json.h"

#define POD_SPEC "{'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]}"
#define TEMPLATE "'template':{'metadata':{'labels':{'app':'a'}},'spec':" POD_SPEC "}"
#define SELECTOR "'selector':{'matchLabels':{'app':'a'}}"
#define NODE                                                                                       \
    "'spec':{},'status':{'allocatable':{'cpu':'1000','pods':'1000'},'conditions':[{'type':"        \
    "'Ready','status':'True'}]}}"
#define MAPS "/api/v1/namespaces/ns/configmaps"
#define SECRETS "/api/v1/namespaces/ns/secrets"
#define FEW 4000
#define MOST_TIMES 3
#define PATIENCE 1000 /* runs */
#define LABELS "'labels':{'kubernetes.io/hostname':'n1'}"

static const struct grown_kind kinds[] = {
    {"", "v1", "pods", "{'spec':" POD_SPEC "}", NULL},
    {"batch", "v1", "jobs",
     "{'spec':{'parallelism':2,'completions':2,'completionMode':'Indexed'," TEMPLATE "}}", NULL},
    {"batch", "v1", "cronjobs",
     "{'spec':{'schedule':'* * * * *','jobTemplate':{'spec':{" TEMPLATE "}}}}", NULL},
    {"apps", "v1", "deployments", "{'spec':{'replicas':2," SELECTOR "," TEMPLATE "}}", NULL},
    {"apps", "v1", "replicasets", "{'spec':{'replicas':2," SELECTOR "," TEMPLATE "}}", NULL},
    {"apps", "v1", "statefulsets",
     "{'spec':{'replicas':2,'serviceName':'s','volumeClaimTemplates':[{'metadata':{'name':'data'},"
     "'spec':{'accessModes':['ReadWriteOnce']}}]," SELECTOR "," TEMPLATE "}}",
     NULL},
    {"apps", "v1", "controllerrevisions", "{'revision':1,'data':{'a':1}}", NULL},
    {"", "v1", "nodes", "{'metadata':{" LABELS "}," NODE, "n1"},
    {"", "v1", "namespaces", "{}", "ns"},
    {"", "v1", "persistentvolumeclaims", "{'spec':{'accessModes':['ReadWriteOnce']}}", NULL},
    {"", "v1", "configmaps", "{'data':{'a':'b'}}", "kube-root-ca.crt"},
    {"", "v1", "serviceaccounts", "{}", "default"},
};

static void tick(struct grown_world *w) {
    meter_enter(&w->meter);
    sl_cluster_tick(w->ctx);
    meter_leave(&w->meter);
}

/* Long enough for a CronJob to make a Job. */
static void run(struct grown_world *w) {
    sl_time until = fakeapi_now(w->api) + 5 * SL_SEC;

    for (;;) {
        tick(w);
        sl_time a = fakeapi_next(w->api), b = sl_cluster_next(w->ctx), next = a < b ? a : b;
        if (next > until)
            break;
        (void)fakeapi_step(w->api, next);
    }
    fakeapi_advance(w->api, until);
    tick(w);
}

static void must(struct grown_world *w, const char *path, const char *text) {
    int status = grown_do(w, SL_POST, path, text);
    if (status != 201)
        fail_msg("%s: %d", path, status);
}

/* Pods with every term there is: the scheduler holds them against nodes and other pods. */
static void probe(struct grown_world *w, bool make) {
#define TERM                                                                                       \
    "{'labelSelector':{'matchLabels':{'app':'other'}},'topologyKey':'kubernetes.io/hostname'}"
    if (make)
        must(
            w, "/api/v1/namespaces/ns/pods",
            "{'metadata':{'name':'probe','labels':{'app':'a'}},'spec':{'nodeSelector':{"
            "'kubernetes.io/hostname':'n1'},'tolerations':[{'key':'k','operator':'Exists'}],"
            "'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[" TERM
            "]}},'topologySpreadConstraints':[{'maxSkew':1,'whenUnsatisfiable':'ScheduleAnyway',"
            "'topologyKey':'kubernetes.io/hostname','labelSelector':{'matchLabels':{'app':'a'}}}],"
            "'containers':[{'name':'c','ports':[{'hostPort':80,'containerPort':80}]}]}}");
    else
        (void)grown_do(w, SL_DELETE, "/api/v1/namespaces/ns/pods/probe?gracePeriodSeconds=0", NULL);
    run(w);
}

static void every_list_and_map(void **state) {
    struct grown_world w = {
        .api = fakeapi_new(1), .ns = "ns", .most = 1024, .run = run, .probe = probe};

    (void)state;
    fakeapi_bare(w.api);
    meter_init(&w.meter, fakeapi_port(w.api, 0));
    must(&w, "/api/v1/nodes", "{'metadata':{'name':'n1'," LABELS "}," NODE);
    assert_int_equal(grown_do(&w, SL_PATCH, "/api/v1/nodes/n1/status", "{" NODE), 200);
    must(&w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    w.ctx = sl_cluster_new(&(struct sl_cluster_spec){
        .scheduler = &sl_scheduler, .client = &w.meter.client, .seed = 1, .ca = "certificate"});
    run(&w);
    probe(&w, true); /* what is in use is used */
    assert_string_equal(
        sl_json_str(fakeapi_get(w.api, "/api/v1/namespaces/ns/pods/probe"), "spec.nodeName"), "n1");
    probe(&w, false);
    grown_all(&w, kinds, SL_LEN(kinds));
    sl_cluster_free(w.ctx);
    fakeapi_free(w.api);
    meter_done(&w.meter);
}

/* The processor time per child that the garbage collector and the others take for an owner of so
 * many, in nanoseconds: from their list until all are deleted after their owner. */
static int64_t time_per_child(int children) {
    struct grown_world w = {.api = fakeapi_new(1), .ns = "ns", .run = run};
    char text[400];

    fakeapi_bare(w.api);
    meter_init(&w.meter, fakeapi_port(w.api, 0));
    must(&w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    must(&w, SECRETS, "{'metadata':{'name':'owner'}}");
    const char *uid = sl_json_str(fakeapi_get(w.api, SECRETS "/owner"), "metadata.uid");
    for (int i = 0; i < children; i++) {
        (void)snprintf(text, sizeof text,
                       "{'metadata':{'name':'c%d','ownerReferences':[{'apiVersion':'v1','kind':"
                       "'Secret','name':'owner','uid':'%s'}]}}",
                       i, uid);
        must(&w, MAPS, text);
    }
    w.ctx = sl_cluster_new(&(struct sl_cluster_spec){
        .client = &w.meter.client, .scheduler = &sl_scheduler, .seed = 1, .ca = "certificate"});
    run(&w);
    assert_int_equal(grown_do(&w, SL_DELETE, SECRETS "/owner", NULL), 200);
    snprintf(text, sizeof text, MAPS "/c%d", children - 1);
    for (int i = 0; i < PATIENCE && fakeapi_get(w.api, text); i++)
        run(&w);
    assert_null(fakeapi_get(w.api, text));
    const int64_t us = w.meter.us;
    sl_cluster_free(w.ctx);
    fakeapi_free(w.api);
    meter_done(&w.meter);
    return us * 1000 / children;
}

/* With ten times as many children of one owner, each costs the same. */
static void many_of_one_owner(void **state) {
    const int64_t few = time_per_child(FEW), many = time_per_child(10 * FEW);

    (void)state;
    print_message("%d children: %" PRId64 " ns each; %d: %" PRId64 " ns\n", FEW, few, 10 * FEW,
                  many);
    assert_true(many < few * MOST_TIMES);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_list_and_map),
                                       cmocka_unit_test(many_of_one_owner)};

    grown_args(argc, argv);
    return cmocka_run_group_tests_name("time-cluster", tests, grown_set_up, grown_tear_down);
}
