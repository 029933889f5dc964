/*
 * Topology-aware scheduling over the in-memory API: the whole manager under a virtual clock. The
 * test plays users, nodes and whoever makes pods.
 *
 * The cluster: racks r1 (n1, n2) and r2 (n3, n4), 4 cpus on each node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "controllers/controllers.h"
#include "controllers/json.h"
#include "engine/engine.h"
#include "fakeapi.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define WORKLOADS KUEUE "/namespaces/ns/workloads"
#define PODS "/api/v1/namespaces/ns/pods"
#define CONFIG                                                                                     \
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"                             \
    "featureGates: {ElasticJobsViaWorkloadSlices: true}\n"
#define SETTLE (30 * SL_SEC)

struct world {
    struct fakeapi *api;
    struct sl_manager *m;
    struct sl_settings *settings;
    char text[4096];
};

/* ---- acting ---- */

/* Quotes in the text may be written as '. */
static void request(struct world *w, enum sl_method method, const char *path, const char *type,
                    const char *text) {
    struct sl_buf out;
    char *body = sl_strdup(text);
    for (char *at; (at = strchr(body, '\''));)
        *at = '"';
    sl_buf_init(&out, 1u << 20);
    int status = fakeapi_do(w->api, method, path, type, body, &out);
    if (status < 200 || status > 299)
        fail_msg("%s: %d: %s", path, status, sl_buf_str(&out));
    sl_buf_done(&out);
    sl_freep(&body);
}

static void create(struct world *w, const char *path, const char *text) {
    request(w, SL_POST, path, SL_JSON, text);
}

static void patch(struct world *w, const char *path, const char *text) {
    request(w, SL_PATCH, path, SL_MERGE_PATCH, text);
}

static void run(struct world *w, sl_span span) {
    sl_time until = fakeapi_now(w->api) + span;
    for (;;) {
        sl_manager_tick(w->m);
        sl_time a = fakeapi_next(w->api), b = sl_manager_next(w->m), next = a < b ? a : b;
        if (next > until)
            break;
        (void)fakeapi_step(w->api, next);
    }
    fakeapi_advance(w->api, until);
    sl_manager_tick(w->m);
}

static void node(struct world *w, const char *name, const char *rack) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'pool':'tas','rack':'%s',"
                   "'kubernetes.io/hostname':'%s'}},'spec':{},'status':{'allocatable':{'cpu':'4',"
                   "'pods':'10'},'conditions':[{'type':'Ready','status':'True',"
                   "'lastHeartbeatTime':'2026-01-01T00:00:00Z'}]}}",
                   name, rack, name);
    create(w, "/api/v1/nodes", text);
    (void)snprintf(text, sizeof text, "/api/v1/nodes/%s/status", name);
    patch(w, text,
          "{'status':{'allocatable':{'cpu':'4','pods':'10'},"
          "'conditions':[{'type':'Ready','status':'True'}]}}");
}

/* 'count' pods of 'cpu' each; 'topology' are members of the topologyRequest. */
static void workload(struct world *w, const char *name, int count, const char *cpu,
                     const char *topology, const char *annotations) {
    struct sl_buf b;
    sl_buf_init(&b, 8192);
    sl_buf_printf(
        &b,
        "{'metadata':{'name':'%s','annotations':{%s},'labels':{'kueue.x-k8s.io/job-uid':"
        "'u'},'ownerReferences':[{'apiVersion':'x/v1','kind':'X','name':'x','uid':'u'}]},"
        "'spec':{'active':true,'queueName':'q','podSets':[{'name':'main','count':%d,"
        "'topologyRequest':{'podIndexLabel':'batch.kubernetes.io/job-completion-index'%s},"
        "'template':{'spec':{'containers':[{'name':'c','resources':{'requests':"
        "{'cpu':'%s'}}}]}}}]}}",
        name, annotations, count, topology, cpu);
    create(w, WORKLOADS, sl_buf_str(&b));
    sl_buf_done(&b);
}

#define RACK ",'required':'rack'"
#define ANYWHERE ",'unconstrained':true"

static void finish(struct world *w, const char *name) {
    char path[256];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    request(w, SL_DELETE, path, SL_JSON, "{}");
}

/* A pod of a workload, held back; index "": without a rank. */
static void pod(struct world *w, const char *name, const char *of, const char *index) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/podset':'main'%s%s%s},"
                   "'annotations':{'kueue.x-k8s.io/workload':'%s',"
                   "'kueue.x-k8s.io/podset-required-topology':'rack'}},'spec':{'nodeSelector':"
                   "{'pool':'tas'},'schedulingGates':[{'name':'kueue.x-k8s.io/topology'}],"
                   "'containers':[{'name':'c'}]}}",
                   name, *index ? ",'batch.kubernetes.io/job-completion-index':'" : "", index,
                   *index ? "'" : "", of);
    create(w, PODS, text);
}

/* ---- looking ---- */

static yyjson_val *at(struct world *w, const char *name, const char *field) {
    char path[256];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    return jat(fakeapi_get(w->api, path), field);
}

static const char *condition(struct world *w, const char *name, const char *type,
                             const char *field) {
    yyjson_val *list = at(w, name, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach (list, i, n, c)
        if (strcmp(jstr(c, "type"), type) == 0)
            return jstr(c, field);
    return "";
}

static bool is(struct world *w, const char *name, const char *type) {
    return strcmp(condition(w, name, type, "status"), "True") == 0;
}

/* As text, with ' for quotes; "" if there is nothing. */
static const char *show(struct world *w, yyjson_val *v) {
    struct sl_buf b;
    sl_buf_init(&b, sizeof w->text);
    if (v)
        jput(&b, v);
    (void)snprintf(w->text, sizeof w->text, "%s", sl_buf_str(&b));
    for (char *at; (at = strchr(w->text, '"'));)
        *at = '\'';
    sl_buf_done(&b);
    return w->text;
}

static const char *places(struct world *w, const char *name) {
    return show(w, jat(yyjson_arr_get_first(at(w, name, "status.admission.podSetAssignments")),
                       "topologyAssignment"));
}

#define TWO_NODES(a, b, count)                                                                     \
    "{'levels':['kubernetes.io/hostname'],'slices':[{'domainCount':2,'valuesPerLevel':[{"          \
    "'individual':{'prefix':'n','roots':['" a "','" b "']}}],'podCounts':{'universal':" count      \
    "}}]}"

static const char *pod_at(struct world *w, const char *name, const char *field) {
    char path[256];
    (void)snprintf(path, sizeof path, PODS "/%s", name);
    return show(w, jat(fakeapi_get(w->api, path), field));
}

static const char *host_of(struct world *w, const char *name) {
    char path[256];
    (void)snprintf(path, sizeof path, PODS "/%s", name);
    yyjson_val *o = fakeapi_get(w->api, path);
    if (yyjson_arr_size(jat(o, "spec.schedulingGates")))
        return "held back";
    const char *s =
        yyjson_get_str(yyjson_obj_get(jat(o, "spec.nodeSelector"), "kubernetes.io/hostname"));
    return s ? s : "anywhere";
}

static const char *active(struct world *w, const char *field) {
    return jstr(yyjson_arr_get_first(
                    jat(fakeapi_get(w->api, KUEUE "/clusterqueues/cq"), "status.conditions")),
                field);
}

/* ---- the world ---- */

static void start(struct world *w, uint32_t client) {
    struct sl_manager_spec spec = {
        .parts = {.core = true, .scheduler = true, .tas = true, .elasticjobs = true},
        .port = fakeapi_port(w->api, client),
        .settings = w->settings,
        .instance = "test",
        .seed = 1};
    w->m = sl_manager_new(&spec);
}

static void topology(struct world *w) {
    create(w, KUEUE "/topologies",
           "{'metadata':{'name':'default'},'spec':{'levels':[{'nodeLabel':'rack'},"
           "{'nodeLabel':'kubernetes.io/hostname'}]}}");
}

static void begin(struct world *w, uint64_t seed) {
    struct sl_warnings warnings;
    struct sl_err err;

    sl_warnings_init(&warnings);
    w->settings = NULL;
    assert_int_equal(sl_settings_parse("test", CONFIG, strlen(CONFIG), "sluice-system", NULL,
                                       &w->settings, &warnings, &err),
                     0);
    sl_warnings_done(&warnings);
    w->api = fakeapi_new(seed);
    start(w, 0);
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    node(w, "n1", "r1");
    node(w, "n2", "r1");
    node(w, "n3", "r2");
    node(w, "n4", "r2");
    create(w, KUEUE "/resourceflavors",
           "{'metadata':{'name':'f'},'spec':{'nodeLabels':{'pool':'tas'},"
           "'topologyName':'default'}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'resourceGroups':["
           "{'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu',"
           "'nominalQuota':'100'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

static char *dump(const struct world *w) {
    struct sl_buf b;
    sl_buf_init(&b, (size_t)1 << 20);
    sl_manager_dump(w->m, &b);
    char *s = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    return s;
}

/* Somebody else goes on, from nothing but the API: with the same state. */
static void restart(struct world *w, uint32_t client) {
    char *before = dump(w);
    sl_manager_free(w->m);
    fakeapi_kill(w->api, client - 1);
    start(w, client);
    run(w, SETTLE);
    char *after = dump(w);
    assert_string_equal(after, before);
    sl_freep(&before);
    sl_freep(&after);
}

static void end(struct world *w) {
    struct sl_err err = {0};
    if (sl_manager_check(w->m, &err) < 0)
        fail_msg("%s", err.text);
    sl_manager_free(w->m);
    fakeapi_free(w->api);
    sl_settings_free(w->settings);
}

/* ---- places ---- */

static void test_racks(void **state) {
    (void)state;
    struct world w;
    begin(&w, 1);
    topology(&w);
    workload(&w, "a", 4, "2", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "a"), TWO_NODES("1", "2", "2"));
    workload(&w, "b", 4, "2", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "b"), TWO_NODES("3", "4", "2"));
    workload(&w, "c", 3, "2", RACK, "");
    run(&w, SETTLE);
    assert_false(is(&w, "c", "QuotaReserved"));
    assert_string_equal(condition(&w, "c", "QuotaReserved", "reason"), "Pending");
    assert_non_null(strstr(condition(&w, "c", "QuotaReserved", "message"),
                           "couldn't assign flavors to pod set main: topology \"default\" doesn't "
                           "allow to fit any of 3 pod(s)"));

    restart(&w, 1); /* what is held is found, and does not fit twice */
    assert_true(is(&w, "a", "Admitted"));
    assert_false(is(&w, "c", "QuotaReserved"));
    assert_string_equal(places(&w, "a"), TWO_NODES("1", "2", "2"));

    finish(&w, "b"); /* and given back */
    run(&w, SETTLE);
    assert_true(is(&w, "c", "Admitted"));
    assert_non_null(strstr(places(&w, "c"), "'individual':[2,1]"));
    restart(&w, 2);
    end(&w);
}

static void test_nodes(void **state) {
    (void)state;
    struct world w;
    struct sl_engine *e;
    begin(&w, 2);
    topology(&w);
    workload(&w, "a", 5, "2", RACK, "");
    run(&w, SETTLE);
    assert_false(is(&w, "a", "QuotaReserved"));
    assert_non_null(strstr(condition(&w, "a", "QuotaReserved", "message"),
                           "allows to fit only 4 out of 5 pod(s)"));
    e = sl_manager_engine(w.m);
    uint64_t looks = sl_engine_looks(e);
    patch(&w, "/api/v1/nodes/n1/status",
          "{'status':{'conditions':[{'type':'Ready','status':'True','lastHeartbeatTime':"
          "'2026-01-01T00:10:00Z'}]}}");
    run(&w, SETTLE);
    assert_int_equal(sl_engine_looks(e), looks); /* a heartbeat is no news */

    node(&w, "n5", "r2");
    run(&w, SETTLE);
    assert_true(is(&w, "a", "Admitted"));

    patch(&w, "/api/v1/nodes/n1", "{'spec':{'unschedulable':true}}");
    run(&w, SETTLE);
    workload(&w, "b", 1, "4", ANYWHERE, "");
    workload(&w, "c", 1, "4", ANYWHERE, "");
    workload(&w, "d", 1, "4", ANYWHERE, "");
    run(&w, SETTLE);
    assert_int_equal(is(&w, "b", "Admitted") + is(&w, "c", "Admitted") + is(&w, "d", "Admitted"),
                     1); /* n2 is left, and one that has half its room */
    patch(&w, "/api/v1/nodes/n1", "{'spec':{'unschedulable':null}}");
    run(&w, SETTLE);
    assert_int_equal(is(&w, "b", "Admitted") + is(&w, "c", "Admitted") + is(&w, "d", "Admitted"),
                     2);
    restart(&w, 1);
    end(&w);
}

static void test_other_pods(void **state) {
    (void)state;
    struct world w;
    begin(&w, 3);
    create(&w, PODS,
           "{'metadata':{'name':'other'},'spec':{'nodeName':'n1','containers':[{'name':'c',"
           "'resources':{'requests':{'cpu':'3'}}}]},'status':{'phase':'Running'}}");
    topology(&w);
    workload(&w, "a", 4, "2", RACK, "");
    run(&w, SETTLE);
    workload(&w, "b", 4, "2", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "a"), TWO_NODES("3", "4", "2"));
    assert_false(is(&w, "b", "QuotaReserved"));
    restart(&w, 1);
    assert_false(is(&w, "b", "QuotaReserved"));
    patch(&w, PODS "/other/status", "{'status':{'phase':'Succeeded'}}");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "b"), TWO_NODES("1", "2", "2"));
    end(&w);
}

static void test_topology_comes_and_goes(void **state) {
    (void)state;
    struct world w;
    begin(&w, 4);
    workload(&w, "a", 1, "1", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(active(&w, "reason"), "TopologyNotFound");
    assert_string_equal(active(&w, "message"),
                        "Can't admit new workloads: there is no Topology \"default\" for TAS "
                        "flavor \"f\".");
    topology(&w);
    run(&w, SETTLE);
    assert_string_equal(active(&w, "reason"), "Ready");
    assert_true(is(&w, "a", "Admitted"));
    assert_string_equal(
        show(&w, jat(fakeapi_get(w.api, KUEUE "/topologies/default"), "metadata.finalizers")),
        "['kueue.x-k8s.io/resource-in-use']");
    request(&w, SL_DELETE, KUEUE "/topologies/default", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_non_null(fakeapi_get(w.api, KUEUE "/topologies/default")); /* in use */
    finish(&w, "a");
    request(&w, SL_DELETE, KUEUE "/clusterqueues/cq", SL_JSON, "{}");
    request(&w, SL_DELETE, KUEUE "/resourceflavors/f", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_null(fakeapi_get(w.api, KUEUE "/resourceflavors/f"));
    assert_null(fakeapi_get(w.api, KUEUE "/topologies/default"));
    end(&w);
}

/* Somebody else placed it elsewhere: that is what counts. */
static void test_written_by_others(void **state) {
    (void)state;
    struct world w;
    begin(&w, 5);
    topology(&w);
    workload(&w, "a", 2, "4", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "a"), TWO_NODES("1", "2", "1"));
    patch(&w, WORKLOADS "/a/status",
          "{'status':{'admission':{'clusterQueue':'cq','podSetAssignments':[{'name':'main',"
          "'count':2,'flavors':{'cpu':'f'},'resourceUsage':{'cpu':'8'},'topologyAssignment':"
          "{'levels':['kubernetes.io/hostname'],'slices':[{'domainCount':2,'valuesPerLevel':[{"
          "'individual':{'roots':['n3','n4']}}],'podCounts':{'universal':1}}]}}]}}}");
    run(&w, SETTLE);
    workload(&w, "b", 2, "4", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(places(&w, "b"), TWO_NODES("1", "2", "1"));
    restart(&w, 1);
    end(&w);
}

/* ---- slices ---- */

#define SECOND                                                                                     \
    "'kueue.x-k8s.io/elastic-job':'true','kueue.x-k8s.io/workload-slice-name':'one',"              \
    "'kueue.x-k8s.io/workload-slice-replacement-for':'ns/one'"

static void test_slices(void **state) {
    (void)state;
    struct world w;
    begin(&w, 6);
    topology(&w);
    workload(&w, "one", 3, "4", ANYWHERE, "'kueue.x-k8s.io/elastic-job':'true'");
    run(&w, SETTLE);
    assert_true(is(&w, "one", "Admitted"));
    workload(&w, "two", 4, "4", ANYWHERE, SECOND);
    run(&w, SETTLE); /* only fits in the place of the first */
    assert_true(is(&w, "two", "Admitted"));
    assert_true(is(&w, "one", "Finished"));
    assert_non_null(strstr(places(&w, "two"), "'domainCount':4"));
    workload(&w, "more", 1, "1", ANYWHERE, "");
    run(&w, SETTLE);
    assert_false(is(&w, "more", "QuotaReserved"));
    restart(&w, 1);
    finish(&w, "two");
    run(&w, SETTLE);
    assert_true(is(&w, "more", "Admitted"));
    end(&w);
}

static bool decided(struct world *w, const char *name) {
    struct sl_engine *e = sl_manager_engine(w->m);
    struct sl_wl_view v;
    return sl_engine_workload(e, sl_engine_find(e, "ns", name), &v) && v.phase == SL_PHASE_ADMITTED;
}

/* The successor is gone before its reservation is written: the first one has its places again. */
static void test_slice_returns(void **state) {
    (void)state;
    struct world w;
    begin(&w, 9);
    topology(&w);
    workload(&w, "one", 3, "4", ANYWHERE, "'kueue.x-k8s.io/elastic-job':'true'");
    run(&w, SETTLE);
    workload(&w, "two", 4, "4", ANYWHERE, SECOND);
    for (int i = 0; i < 1000 && !decided(&w, "two"); i++) {
        (void)fakeapi_step(w.api, fakeapi_now(w.api) + SL_SEC);
        sl_manager_tick(w.m);
    }
    assert_true(decided(&w, "two"));
    assert_false(is(&w, "two", "QuotaReserved"));
    finish(&w, "two");
    run(&w, SETTLE);
    assert_true(is(&w, "one", "Admitted"));
    assert_false(is(&w, "one", "Finished"));
    workload(&w, "more", 2, "4", ANYWHERE, "");
    run(&w, SETTLE);
    assert_false(is(&w, "more", "QuotaReserved"));
    restart(&w, 1);
    finish(&w, "one");
    run(&w, SETTLE);
    assert_true(is(&w, "more", "Admitted"));
    end(&w);
}

/* ---- pods ---- */

static void test_by_rank(void **state) {
    (void)state;
    struct world w;
    begin(&w, 7);
    topology(&w);
    pod(&w, "p3", "a", "3");
    pod(&w, "p0", "a", "0");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p0"), "held back"); /* its workload has no place yet */
    workload(&w, "a", 4, "2", RACK, "");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p0"), "n1");
    assert_string_equal(host_of(&w, "p3"), "n2");
    assert_string_equal(pod_at(&w, "p3", "spec.nodeSelector"),
                        "{'pool':'tas','kubernetes.io/hostname':'n2'}");
    pod(&w, "p2", "a", "2");
    pod(&w, "p1", "a", "1");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p1"), "n1");
    assert_string_equal(host_of(&w, "p2"), "n2");
    patch(&w, PODS "/p1/status", "{'status':{'phase':'Failed'}}");
    pod(&w, "q1", "a", "1"); /* the one that takes its place */
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "q1"), "n1");
    end(&w);
}

static void test_as_they_come(void **state) {
    (void)state;
    struct world w;
    begin(&w, 8);
    topology(&w);
    workload(&w, "a", 4, "2", RACK, "");
    pod(&w, "p1", "a", "");
    pod(&w, "p2", "a", "1"); /* not all have ranks: nobody's counts */
    pod(&w, "p3", "a", "");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p1"), "n1");
    assert_string_equal(host_of(&w, "p2"), "n1");
    assert_string_equal(host_of(&w, "p3"), "n2");
    pod(&w, "p4", "a", "");
    pod(&w, "p5", "a", "");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p4"), "n2");
    assert_string_equal(host_of(&w, "p5"), "held back"); /* more than there are places */
    restart(&w, 1);
    request(&w, SL_DELETE, PODS "/p2?gracePeriodSeconds=0", SL_JSON, "{}");
    run(&w, SETTLE);
    assert_string_equal(host_of(&w, "p5"), "n1");
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_racks),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_other_pods),
        cmocka_unit_test(test_topology_comes_and_goes),
        cmocka_unit_test(test_written_by_others),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_slice_returns),
        cmocka_unit_test(test_by_rank),
        cmocka_unit_test(test_as_they_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
