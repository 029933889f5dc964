/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the manager is bounded by the size of the objects that it watches: see grown.h. */
#include "grown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "core/base/mem.h"
#include "lib/json/json.h"
#include "manager/config/config.h"
#include "manager/controllers/core/manager.h"

#define Q "kueue.x-k8s.io/"
#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define CONFIG                                                                                     \
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"                             \
    "featureGates: {ElasticJobsViaWorkloadSlices: true}\n"
#define CONTAINER "{'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}"
#define POD_SPEC "{'containers':[" CONTAINER "]}"
#define QUEUE "'metadata':{'labels':{'" Q "queue-name':'q'}}"
#define OWNER "'ownerReferences':[{'apiVersion':'x/v1','kind':'X','name':'x','uid':'u'}]"

#define FLAVOR                                                                                     \
    "'spec':{'nodeLabels':{'pool':'a'},'tolerations':[{'key':'t','operator':'Exists'}],"           \
    "'topologyName':'topology'}}"
#define CLUSTER_QUEUE                                                                              \
    "'spec':{'namespaceSelector':{},'cohortName':'cohort','resourceGroups':[{"                     \
    "'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu',"                \
    "'nominalQuota':'1000000'}]}]}],'admissionChecksStrategy':{'admissionChecks':[{'name':"        \
    "'check'}]}}}"
#define LOCAL_QUEUE "'spec':{'clusterQueue':'cq'}}"
#define TOPOLOGY "'spec':{'levels':[{'nodeLabel':'rack'},{'nodeLabel':'kubernetes.io/hostname'}]}}"
#define NODE_LABELS "'labels':{'pool':'a','rack':'r1','kubernetes.io/hostname':'n1'}"
#define NODE                                                                                       \
    "'spec':{},'status':{'allocatable':{'cpu':'1000','pods':'1000'},'conditions':[{'type':"        \
    "'Ready','status':'True'}]}}"
#define CHECK "'spec':{'controllerName':'example.com/c'},'status':{'conditions':[" ACTIVE "]}}"
#define ACTIVE                                                                                     \
    "{'type':'Active','status':'True','reason':'R','message':'m',"                                 \
    "'lastTransitionTime':'2026-01-01T00:00:00Z'}"

#define OURS "kueue.x-k8s.io", "v1beta2"

static const struct grown_kind kinds[] = {
    {"batch", "v1", "jobs",
     "{" QUEUE ",'spec':{'suspend':true,'parallelism':3,'completions':3,'template':{'metadata':{"
     "'labels':{'app':'a'}},'spec':" POD_SPEC "}}}",
     NULL},
    {"", "v1", "pods",
     "{'metadata':{'labels':{'" Q "queue-name':'q','" Q "managed':'true'},'finalizers':['" Q
     "managed']},'spec':{'schedulingGates':[{'name':'" Q "admission'}],'containers':[" CONTAINER
     "]}}",
     NULL},
    {OURS, "workloads",
     "{'metadata':{" OWNER ",'labels':{}},'spec':{'active':true,'queueName':'q','podSets':[{"
     "'name':'main','count':1,'template':{'spec':" POD_SPEC
     "}}]},'status':{'conditions':[{'type':'QuotaReserved','status':'True','reason':'R',"
     "'message':'m','lastTransitionTime':'2026-01-01T00:00:00Z'}],'admission':{'clusterQueue':'cq',"
     "'podSetAssignments':[{'name':'main','count':1,'flavors':{'cpu':'f'},'resourceUsage':{'cpu':"
     "'1'}}]},'admissionChecks':[{'name':'check','state':'Pending','message':'m',"
     "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}",
     NULL},
    {"apps", "v1", "statefulsets",
     "{" QUEUE ",'spec':{'replicas':3,'template':{'metadata':{'annotations':{'" Q
     "pod-suspending-parent':'statefulset'}},'spec':" POD_SPEC "}}}",
     NULL},
    {"leaderworkerset.x-k8s.io", "v1", "leaderworkersets",
     "{" QUEUE ",'spec':{'replicas':2,'leaderWorkerTemplate':{'size':2,'workerTemplate':{"
     "'metadata':{'annotations':{'" Q "pod-suspending-parent':'leaderworkerset'}},'spec':" POD_SPEC
     "}}}}",
     NULL},
    {"kubeflow.org", "v1", "pytorchjobs",
     "{" QUEUE ",'spec':{'runPolicy':{'suspend':true},'pytorchReplicaSpecs':{'Worker':{'replicas':2"
     ",'template':{'metadata':{'labels':{'app':'a'}},'spec':" POD_SPEC "}}}}}",
     NULL},
    {"ray.io", "v1", "rayclusters",
     "{" QUEUE
     ",'spec':{'suspend':true,'enableInTreeAutoscaling':true,'headGroupSpec':{'template':{"
     "'spec':" POD_SPEC
     "}},'workerGroupSpecs':[{'groupName':'w','replicas':1,'template':{'spec':" POD_SPEC "}}]}}",
     NULL},
    {"autoscaling.x-k8s.io", "v1", "provisioningrequests",
     "{'metadata':{'labels':{'" Q "managed':'true'}},'spec':{'provisioningClassName':"
     "'check-capacity.autoscaling.x-k8s.io','podSets':[{'podTemplateRef':{'name':'t'},'count':1}]}"
     "}",
     NULL},
    {OURS, "resourceflavors", "{" FLAVOR, "f"},
    {OURS, "clusterqueues", "{" CLUSTER_QUEUE, "cq"},
    {OURS, "localqueues", "{" LOCAL_QUEUE, "q"},
    {OURS, "cohorts", "{'spec':{}}", "cohort"},
    {OURS, "topologies", "{" TOPOLOGY, "topology"},
    {OURS, "admissionchecks", "{" CHECK, "check"},
    {OURS, "provisioningrequestconfigs", "{'spec':{'provisioningClassName':'p'}}", NULL},
    {OURS, "workloadpriorityclasses", "{'value':1}", "high"},
    {"", "v1", "nodes", "{'metadata':{" NODE_LABELS "}," NODE, "n1"},
    {"", "v1", "namespaces", "{'metadata':{'labels':{'a':'b'}}}", "ns"},
    {"", "v1", "limitranges",
     "{'spec':{'limits':[{'type':'Container','max':{'cpu':'10'},'default':{'cpu':'2'}}]}}",
     "range"},
    {"node.k8s.io", "v1", "runtimeclasses",
     "{'handler':'h','overhead':{'podFixed':{'cpu':'1'}},'scheduling':{'nodeSelector':{},"
     "'tolerations':[]}}",
     "class"},
    {"scheduling.k8s.io", "v1", "priorityclasses", "{'value':1}", "priority"},
};

/* ---- a kind that the API server has from its definition only ---- */

#define TEXT "{'type':'string'}"
#define MAP "{'type':'object','additionalProperties':" TEXT "}"
#define LIST(of) "{'type':'array','items':{'type':'object','properties':{" of "}}}"
#define CRD_CONTAINERS                                                                             \
    LIST("'name':" TEXT ",'args':{'type':'array','items':" TEXT "},'env':" LIST(                   \
        "'name':" TEXT) ",'ports':" LIST("'name':" TEXT) ",'resources':{'type':'object',"          \
                                                         "'properties':{'requests':" MAP           \
                                                         ",'limits':" MAP "}}")
#define CRD_TEMPLATE                                                                               \
    "{'type':'object','properties':{'metadata':{'type':'object','properties':{'labels':" MAP       \
    ",'annotations':" MAP "}},'spec':{'type':'object','properties':{'nodeSelector':" MAP           \
    ",'overhead':" MAP ",'tolerations':" LIST("'key':" TEXT) ",'schedulingGates':" LIST(           \
        "'name':" TEXT) ",'volumes':" LIST("'name':" TEXT) ",'initContainers':" CRD_CONTAINERS     \
                                                           ",'containers':" CRD_CONTAINERS "}}}}"
#define CRD(group, plural, kind, spec, status)                                                     \
    "{'metadata':{'name':'" plural "." group "'},'spec':{'group':'" group                          \
    "','scope':'Namespaced','names':{'plural':'" plural "','kind':'" kind                          \
    "'},'versions':[{'name':'v1','served':true,'storage':true,'subresources':{'status':{}},"       \
    "'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object',"          \
    "'properties':{" spec "}},'status':{'type':'object','properties':{" status "}}}}}}]}}"
#define CONDITIONS                                                                                 \
    "'conditions':" LIST("'type':" TEXT ",'status':" TEXT ",'reason':" TEXT ",'message':" TEXT)

static const char definition[] =
    CRD("leaderworkerset.x-k8s.io", "leaderworkersets", "LeaderWorkerSet",
        "'replicas':{'type':'integer'},'leaderWorkerTemplate':{'type':'object','properties':{"
        "'size':{'type':'integer'},'leaderTemplate':" CRD_TEMPLATE ",'workerTemplate':" CRD_TEMPLATE
        "}}",
        CONDITIONS);

/* Rows of kinds of jobs: podsets in a map and in a list. */
#define REPLICAS                                                                                   \
    "{'type':'object','properties':{'replicas':{'type':'integer'},'template':" CRD_TEMPLATE "}}"
static const char pytorchjobs[] =
    CRD("kubeflow.org", "pytorchjobs", "PyTorchJob",
        "'runPolicy':{'type':'object','properties':{'suspend':{'type':'boolean'}}},"
        "'pytorchReplicaSpecs':{'type':'object','properties':{'Master':" REPLICAS
        ",'Worker':" REPLICAS "}}",
        CONDITIONS);
static const char rayclusters[] =
    CRD("ray.io", "rayclusters", "RayCluster",
        "'suspend':{'type':'boolean'},'enableInTreeAutoscaling':{'type':'boolean'},"
        "'headGroupSpec':{'type':'object','properties':{'template':" CRD_TEMPLATE "}},"
        "'workerGroupSpecs':" LIST("'groupName':" TEXT
                                   ",'replicas':{'type':'integer'},'template':" CRD_TEMPLATE),
        CONDITIONS);
static const struct fakeapi_kind of_jobs[] = {
    {"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", FAKEAPI_NAMESPACED | FAKEAPI_STATUS, NULL},
    {"ray.io", "v1", "rayclusters", "RayCluster", FAKEAPI_NAMESPACED | FAKEAPI_STATUS, NULL}};

/* ---- the world ---- */

struct manager {
    struct grown_world w;
    struct sl_manager *m;
    struct sl_settings *settings;
    struct sl_metrics *metrics;
};

static void tick(struct manager *x) {
    meter_enter(&x->w.meter);
    sl_manager_tick(x->m);
    meter_leave(&x->w.meter);
}

static void run(struct grown_world *w) {
    struct manager *x = w->ctx;
    sl_time until = fakeapi_now(w->api) + 5 * SL_SEC;

    for (;;) {
        tick(x);
        sl_time a = fakeapi_next(w->api), b = sl_manager_next(x->m), next = a < b ? a : b;
        if (next > until)
            break;
        (void)fakeapi_step(w->api, next);
    }
    fakeapi_advance(w->api, until);
    tick(x);
}

static void must(struct grown_world *w, const char *path, const char *text) {
    int status = grown_do(w, SL_POST, path, text);
    if (status != 201)
        fail_msg("%s: %d", path, status);
}

static void probe(struct grown_world *w, bool make) {
    static uint32_t n;
    char text[1000], path[200];

    n += make;
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'probe%u','labels':{'" Q "queue-name':'q','" Q
                   "priority-class':'high'}},'spec':{'suspend':true,'parallelism':1,'template':{"
                   "'spec':{'runtimeClassName':'class','priorityClassName':'priority',"
                   "'containers':[" CONTAINER "]}}}}",
                   n);
    (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/ns/jobs/probe%u", n);
    if (make)
        must(w, "/apis/batch/v1/namespaces/ns/jobs", text);
    else
        (void)grown_do(w, SL_DELETE, path, "{'propagationPolicy':'Background'}");
    run(w);
}

static void begin(struct manager *x) {
    struct sl_manager_parts parts = {.core = true,
                                     .scheduler = true,
                                     .tas = true,
                                     .elasticjobs = true,
                                     .provisioning = true,
                                     .framework = {[SL_FW_JOB] = true,
                                                   [SL_FW_POD] = true,
                                                   [SL_FW_DEPLOYMENT] = true,
                                                   [SL_FW_STATEFULSET] = true,
                                                   [SL_FW_PYTORCHJOB] = true,
                                                   [SL_FW_RAYCLUSTER] = true,
                                                   [SL_FW_LEADERWORKERSET] = true}};
    struct sl_warnings warnings;
    struct sl_err err;

    *x = (struct manager){.w = {.api = fakeapi_new(1), .ns = "ns", .run = run, .probe = probe},
                          .metrics = sl_metrics_new()};
    x->w.ctx = x;
    for (size_t i = 0; i < SL_LEN(of_jobs); i++)
        fakeapi_register(x->w.api, &of_jobs[i]);
    meter_init(&x->w.meter, fakeapi_port(x->w.api, 0));
    sl_warnings_init(&warnings);
    assert_int_equal(sl_settings_parse("test", CONFIG, strlen(CONFIG), "sluice-system", NULL,
                                       &x->settings, &warnings, &err),
                     0);
    sl_warnings_done(&warnings);
    x->m = sl_manager_new(&(struct sl_manager_spec){.parts = parts,
                                                    .client = &x->w.meter.client,
                                                    .settings = x->settings,
                                                    .metrics = x->metrics,
                                                    .instance = "test",
                                                    .seed = 1});
    must(&x->w, "/api/v1/namespaces", "{'metadata':{'name':'ns','labels':{'a':'b'}}}");
    must(&x->w, "/api/v1/nodes", "{'metadata':{'name':'n1'," NODE_LABELS "}," NODE);
    assert_int_equal(grown_do(&x->w, SL_PATCH, "/api/v1/nodes/n1/status", "{" NODE), 200);
    must(&x->w, KUEUE "/topologies", "{'metadata':{'name':'topology'}," TOPOLOGY);
    must(&x->w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'}," FLAVOR);
    must(&x->w, KUEUE "/admissionchecks", "{'metadata':{'name':'check'}," CHECK);
    assert_int_equal(grown_do(&x->w, SL_PATCH, KUEUE "/admissionchecks/check/status", "{" CHECK),
                     200);
    must(&x->w, KUEUE "/cohorts", "{'metadata':{'name':'cohort'},'spec':{}}");
    must(&x->w, KUEUE "/clusterqueues", "{'metadata':{'name':'cq'}," CLUSTER_QUEUE);
    must(&x->w, KUEUE "/namespaces/ns/localqueues", "{'metadata':{'name':'q'}," LOCAL_QUEUE);
    must(&x->w, KUEUE "/workloadpriorityclasses", "{'metadata':{'name':'high'},'value':1}");
    must(&x->w, "/apis/scheduling.k8s.io/v1/priorityclasses",
         "{'metadata':{'name':'priority'},'value':1}");
    must(&x->w, "/apis/node.k8s.io/v1/runtimeclasses",
         "{'metadata':{'name':'class'},'handler':'h'}");
    must(&x->w, "/api/v1/namespaces/ns/limitranges",
         "{'metadata':{'name':'range'},'spec':{'limits':[]}}");
    run(&x->w);
}

static void end(struct manager *x) {
    sl_manager_free(x->m);
    sl_metrics_free(x->metrics);
    fakeapi_free(x->w.api);
    meter_done(&x->w.meter);
    sl_settings_free(x->settings);
}

/* As the controller of the check: it is ready at once. */
static yyjson_doc *updates; /* that it asks for; NULL: none */

static int answer_write(void *ctx, const struct fakeapi_write *w, struct sl_buf *why) {
    size_t i, n;
    yyjson_mut_val *check;

    (void)ctx, (void)why;
    if (!w->status || strcmp(w->kind->plural, "workloads") != 0)
        return 0;
    yyjson_mut_val *status = yyjson_mut_obj_get(yyjson_mut_doc_get_root(w->now), "status");
    yyjson_mut_arr_foreach (yyjson_mut_obj_get(status, "admissionChecks"), i, n, check) {
        yyjson_mut_val *state = yyjson_mut_obj_get(check, "state");
        if (!yyjson_mut_equals_str(state, "Pending"))
            continue;
        (void)yyjson_mut_set_str(state, "Ready");
        if (updates)
            (void)yyjson_mut_obj_add_val(w->now, check, "podSetUpdates",
                                         yyjson_val_mut_copy(w->now, yyjson_doc_get_root(updates)));
    }
    return 0;
}

/* What a check adds to pods has no ceiling. */
#define MANY 12000

static void many_updates(void **state) {
    struct sl_buf b = SL_BUF((size_t)8 << 20);
    struct manager x;

    (void)state;
    sl_buf_puts(&b, "[{\"name\":\"main\",\"labels\":{");
    for (uint32_t i = 0; i < MANY; i++)
        sl_buf_printf(&b, "%s\"k%u\":\"v\"", i ? "," : "", i);
    sl_buf_puts(&b, "},\"tolerations\":[");
    for (uint32_t i = 0; i < MANY; i++)
        sl_buf_printf(&b, "%s{\"key\":\"k%u\",\"operator\":\"Exists\"}", i ? "," : "", i);
    sl_buf_puts(&b, "]}]");
    updates = yyjson_read(b.s, b.len, 0);
    assert_non_null(updates);
    begin(&x);
    fakeapi_on_write(x.w.api, answer_write, &x);
    x.w.meter.us = 0;
    x.w.meter.bytes = 0;
    must(&x.w, "/apis/batch/v1/namespaces/ns/jobs",
         "{'metadata':{'name':'many','labels':{'" Q "queue-name':'q'}},'spec':{'suspend':true,"
         "'template':{'spec':" POD_SPEC "}}}");
    run(&x.w);
    yyjson_val *job = fakeapi_get(x.w.api, "/apis/batch/v1/namespaces/ns/jobs/many");
    assert_true(yyjson_is_false(sl_json_at(job, "spec.suspend")));
    assert_int_equal(yyjson_arr_size(sl_json_at(job, "spec.template.spec.tolerations")), MANY + 1);
    grown_hold(&x.w, "many updates");
    end(&x);
    sl_buf_done(&b);
    yyjson_doc_free(updates);
    updates = NULL;
}

static void every_list_and_map(void **state) {
    struct manager x;

    (void)state;
    grown_define(definition);
    grown_define(pytorchjobs);
    grown_define(rayclusters);
    begin(&x);
    fakeapi_on_write(x.w.api, answer_write, &x);
    probe(&x.w, true); /* what is in use is used */
    yyjson_val *job = fakeapi_get(x.w.api, "/apis/batch/v1/namespaces/ns/jobs/probe1");
    assert_true(yyjson_is_false(sl_json_at(job, "spec.suspend")));
    assert_string_equal(sl_json_str(job, "spec.template.spec.nodeSelector.pool"), "a");
    probe(&x.w, false);
    grown_all(&x.w, kinds, SL_LEN(kinds));
    end(&x);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_updates),
                                       cmocka_unit_test(every_list_and_map)};

    grown_args(argc, argv);
    return cmocka_run_group_tests_name("time-manager", tests, grown_set_up, grown_tear_down);
}
