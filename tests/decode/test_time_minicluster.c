/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the controller of MiniClusters is bounded by the size of the objects that it watches:
 * see grown.h. */
#include <string.h>

#include "grown.h"
#include "lib/log/log.h"
#include "manager/config/config.h"
#include "manager/minicluster/minicluster.h"

#define SHORTLY (3 * SL_SEC)
#define CLUSTERS "/apis/flux-framework.org/v1alpha2/namespaces/default/miniclusters"
#define OWNER                                                                                      \
    "'ownerReferences':[{'apiVersion':'flux-framework.org/v1alpha2','kind':'MiniCluster','name':"  \
    "'used','uid':'u','controller':true}]"
#define CONTAINER                                                                                  \
    "{'name':'c','image':'i','command':'x','ports':[80],'environment':{'A':'b'},'secrets':{'B':{"  \
    "'name':'n','key':'k'}},'volumes':{'v':{'path':'/v','claimName':'c'}},'resources':{"           \
    "'requests':{'cpu':1}}}"
#define SPEC                                                                                       \
    "'spec':{'size':2,'jobLabels':{'a':'b'},'containers':[" CONTAINER "],'services':[" CONTAINER   \
    "],'pod':{'labels':{'a':'b'},'annotations':{'a':'b'},'nodeSelector':{'a':'b'}},'flux':{"       \
    "'bursting':{'clusters':[{'name':'b','size':2}]}}}"

static const struct grown_kind kinds[] = {
    {"flux-framework.org", "v1alpha2", "miniclusters",
     "{'metadata':{'labels':{'a':'b'},'annotations':{'a':'b'}}," SPEC
     ",'status':{'conditions':[{'type':'JobRequested','status':'True','reason':'r','message':'m',"
     "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}",
     "used"},
    {"batch", "v1", "jobs",
     "{'metadata':{'labels':{'a':'b'}," OWNER "},'spec':{'parallelism':2,'template':{'spec':{"
     "'containers':[{'name':'c'}]}}},'status':{'conditions':[{'type':'Complete','status':'False'"
     "}]}}",
     NULL},
    {"", "v1", "pods",
     "{'metadata':{'labels':{'namespace':'default','app.kubernetes.io/name':'used','hpa-selector':"
     "'used'},'annotations':{'a':'b'}," OWNER "},'spec':{'containers':[{'name':'c'}]},'status':{"
     "'phase':'Running'}}",
     NULL},
    {"", "v1", "configmaps", "{'metadata':{'labels':{'a':'b'}," OWNER "},'data':{'a':'b'}}", NULL},
    {"", "v1", "services",
     "{'metadata':{'labels':{'a':'b'}," OWNER "},'spec':{'selector':{'a':'b'}}}", NULL},
};

struct controller {
    struct grown_world w;
    struct sl_settings settings;
    struct sl_miniclusters *m;
};

static void run(struct grown_world *w) {
    struct controller *x = w->ctx;
    sl_time until = fakeapi_now(w->api) + SHORTLY;
    do {
        meter_enter(&w->meter);
        sl_miniclusters_tick(x->m);
        meter_leave(&w->meter);
        sl_time at = sl_miniclusters_next(x->m);
        (void)fakeapi_step(w->api, at < until ? at : until);
    } while (fakeapi_now(w->api) < until);
}

static void every_list_and_map(void **state) {
    static const struct fakeapi_kind known[] = {
        {.group = "flux-framework.org",
         .version = "v1alpha2",
         .plural = "miniclusters",
         .kind = "MiniCluster",
         .flags = FAKEAPI_NAMESPACED | FAKEAPI_STATUS},
        {.group = "", .version = "v1", .plural = "persistentvolumes", .kind = "PersistentVolume"},
    };
    struct controller x = {.w = {.ns = "default", .run = run}};

    (void)state;
    x.w.ctx = &x;
    x.w.api = fakeapi_new(1);
    for (size_t i = 0; i < SL_LEN(known); i++)
        fakeapi_register(x.w.api, &known[i]);
    fakeapi_bare(x.w.api); /* owners of the objects below do not exist */
    assert_int_equal(
        grown_do(&x.w, SL_POST, "/api/v1/namespaces", "{'metadata':{'name':'default'}}"), 201);
    meter_init(&x.w.meter, fakeapi_port(x.w.api, 0));
    x.m = sl_miniclusters_new(&(struct sl_miniclusters_spec){
        .client = &x.w.meter.client, .settings = &x.settings, .instance = "test"});
    assert_int_equal(grown_do(&x.w, SL_POST, CLUSTERS,
                              "{'apiVersion':'flux-framework.org/v1alpha2','kind':'MiniCluster',"
                              "'metadata':{'name':'used'}," SPEC "}"),
                     201);
    run(&x.w);
    assert_non_null(fakeapi_get(x.w.api, "/apis/batch/v1/namespaces/default/jobs/used"));
    grown_all(&x.w, kinds, SL_LEN(kinds));
    sl_miniclusters_free(x.m);
    meter_done(&x.w.meter);
    fakeapi_free(x.w.api);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_list_and_map)};

    sl_log_set(SL_LOG_ERROR);
    grown_args(argc, argv);
    return cmocka_run_group_tests_name("time-minicluster", tests, grown_set_up, grown_tear_down);
}
