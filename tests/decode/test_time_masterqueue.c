/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the controller of MasterQueues is bounded by the size of the objects that it watches:
 * see grown.h. Two pools publish meanwhile, so that there is something to plan. */
#include <string.h>

#include "fakenats.h"
#include "grown.h"
#include "lib/log/log.h"
#include "manager/masterqueue/masterqueue.h"

#define SHORTLY (3 * SL_SEC)
#define NATS                                                                                       \
    "'natsFlavor':{'natsConnector':'nats://host:4222','natsSubject':'s','virtualNode':'n',"        \
    "'poolTimeout':60,'poolRegExp':'.*'}"
#define LEND "'canLendTo':[{'queue':'borrower','lendingLimit':{'pods':3}}]"
#define GROUPS "[{'name':'group'," NATS ",'nominalQuota':{'cpu':'1','memory':'1Gi'}," LEND "}]"
#define TEMPLATE                                                                                   \
    "'template':{'cohort':'c','namespaceSelector':{'matchLabels':{'a':'b'},'matchExpressions':[{"  \
    "'key':'a','operator':'In','values':['b']}]}}"

static const struct grown_kind kinds[] = {
    {"vk.io", "v1", "masterqueues",
     "{'metadata':{'labels':{'a':'b'},'annotations':{'a':'b'}},'spec':{" TEMPLATE
     ",'flavors':" GROUPS "}}",
     "used"},
    {"kueue.x-k8s.io", "v1beta2", "resourceflavors",
     "{'metadata':{'labels':{'a':'b'},'annotations':{'a':'b'}},'spec':{'nodeLabels':{'a':'b'},"
     "'nodeTaints':[{'key':'a','value':'b','effect':'NoSchedule'}],'tolerations':[{'key':'a',"
     "'operator':'Exists'}]}}",
     "used-group-pool"},
    {"kueue.x-k8s.io", "v1beta2", "clusterqueues",
     "{'metadata':{'labels':{'a':'b'}},'spec':{'cohortName':'c','namespaceSelector':{'matchLabels'"
     ":{'a':'b'}},'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':'f','resources'"
     ":[{'name':'cpu','nominalQuota':'1'}]}]}]},'status':{'flavorsUsage':[{'name':'f','resources':"
     "[{'name':'cpu','total':'1'}]}]}}",
     "used"},
};

struct controller {
    struct grown_world w;
    struct fakenats *nats;
    struct sl_masterqueues *q;
    uint32_t server;
};

static void run(struct grown_world *w) {
    struct controller *x = w->ctx;
    sl_time until = fakeapi_now(w->api) + SHORTLY;
    static const char payload[] = "{\"quotas\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}";

    fakenats_publish(x->nats, x->server, "s.pool", payload, strlen(payload));
    do {
        meter_enter(&w->meter);
        sl_masterqueues_tick(x->q);
        meter_leave(&w->meter);
        sl_time at =
            fakenats_pending(x->nats, 0) ? fakeapi_now(w->api) : sl_masterqueues_next(x->q);
        (void)fakeapi_step(w->api, at < until ? at : until);
    } while (fakeapi_now(w->api) < until);
}

static void every_list_and_map(void **state) {
    static const struct fakeapi_kind kind = {.group = "vk.io",
                                             .version = "v1",
                                             .plural = "masterqueues",
                                             .kind = "MasterQueue",
                                             .flags = FAKEAPI_STATUS};
    struct controller x = {.w = {.ns = "default", .run = run}};

    (void)state;
    x.w.ctx = &x;
    x.w.api = fakeapi_new(1);
    fakeapi_register(x.w.api, &kind);
    x.nats = fakenats_new(x.w.api, 1);
    x.server = fakenats_serve(x.nats, &(struct fakenats_server){.host = "host", .port = 4222});
    meter_init(&x.w.meter, fakeapi_port(x.w.api, 0));
    x.q = sl_masterqueues_new(&(struct sl_masterqueues_spec){
        .client = &x.w.meter.client, .nats = fakenats_port(x.nats, 0), .own_ns = "kueue-system"});
    assert_int_equal(grown_do(&x.w, SL_POST, "/apis/vk.io/v1/masterqueues",
                              "{'metadata':{'name':'used'},'spec':{'flavors':" GROUPS "}}"),
                     201);
    run(&x.w);
    run(&x.w);
    assert_non_null(
        fakeapi_get(x.w.api, "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/used-group-pool"));
    grown_all(&x.w, kinds, SL_LEN(kinds));
    sl_masterqueues_free(x.q);
    meter_done(&x.w.meter);
    fakeapi_free(x.w.api);
    fakenats_free(x.nats);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_list_and_map)};

    sl_log_set(SL_LOG_ERROR);
    grown_args(argc, argv);
    return cmocka_run_group_tests_name("time-masterqueue", tests, grown_set_up, grown_tear_down);
}
