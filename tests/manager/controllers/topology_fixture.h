/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of topology-aware scheduling over the in-memory API: the whole manager under a virtual
 * clock. The test plays users, nodes and whoever makes pods. Everything is inline, so that each
 * test takes what it wants.
 *
 * The cluster: racks r1 (n1, n2) and r2 (n3, n4), 4 cpus on each node.
 */
#ifndef SL_TESTS_MANAGER_CONTROLLERS_TOPOLOGY_FIXTURE_H
#define SL_TESTS_MANAGER_CONTROLLERS_TOPOLOGY_FIXTURE_H

#include "core/engine/engine.h"
#include "flow_fixture.h"

#define PODS "/api/v1/namespaces/ns/pods"

static inline void node(struct world *w, const char *name, const char *rack) {
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
static inline void workload(struct world *w, const char *name, int count, const char *cpu,
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

static inline void finish(struct world *w, const char *name) {
    char path[256];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    request(w, SL_DELETE, path, SL_JSON, "{}");
}

static inline void set_priority(struct world *w, const char *name, int priority) {
    char path[256], text[64];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    (void)snprintf(text, sizeof text, "{'spec':{'priority':%d}}", priority);
    patch(w, path, text);
}

/* A pod of a workload, held back; index "": without a rank. */
static inline void pod(struct world *w, const char *name, const char *of, const char *index) {
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

static inline yyjson_val *workload_at(struct world *w, const char *name, const char *field) {
    char path[256];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", name);
    return sl_json_at(fakeapi_get(w->api, path), field);
}

static inline const char *condition(struct world *w, const char *name, const char *type,
                                    const char *field) {
    yyjson_val *list = workload_at(w, name, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach (list, i, n, c)
        if (strcmp(sl_json_str(c, "type"), type) == 0)
            return sl_json_str(c, field);
    return "";
}

static inline bool is(struct world *w, const char *name, const char *type) {
    return strcmp(condition(w, name, type, "status"), "True") == 0;
}

/* As text, with ' for quotes; "" if there is nothing. */
static inline const char *show(struct world *w, yyjson_val *v) {
    struct sl_buf b;
    sl_buf_init(&b, sizeof w->text);
    if (v)
        sl_json_put(&b, v);
    (void)snprintf(w->text, sizeof w->text, "%s", sl_buf_str(&b));
    for (char *at; (at = strchr(w->text, '"'));)
        *at = '\'';
    sl_buf_done(&b);
    return w->text;
}

static inline const char *places(struct world *w, const char *name) {
    return show(w, sl_json_at(yyjson_arr_get_first(
                                  workload_at(w, name, "status.admission.podSetAssignments")),
                              "topologyAssignment"));
}

#define TWO_NODES(a, b, count)                                                                     \
    "{'levels':['kubernetes.io/hostname'],'slices':[{'domainCount':2,'valuesPerLevel':[{"          \
    "'individual':{'prefix':'n','roots':['" a "','" b "']}}],'podCounts':{'universal':" count      \
    "}}]}"

static inline const char *pod_at(struct world *w, const char *name, const char *field) {
    char path[256];
    (void)snprintf(path, sizeof path, PODS "/%s", name);
    return show(w, sl_json_at(fakeapi_get(w->api, path), field));
}

static inline const char *host_of(struct world *w, const char *name) {
    char path[256];
    (void)snprintf(path, sizeof path, PODS "/%s", name);
    yyjson_val *o = fakeapi_get(w->api, path);
    if (yyjson_arr_size(sl_json_at(o, "spec.schedulingGates")))
        return "held back";
    const char *s = yyjson_get_str(
        yyjson_obj_get(sl_json_at(o, "spec.nodeSelector"), "kubernetes.io/hostname"));
    return s ? s : "anywhere";
}

static inline const char *active(struct world *w, const char *field) {
    return sl_json_str(yyjson_arr_get_first(sl_json_at(
                           fakeapi_get(w->api, KUEUE "/clusterqueues/cq"), "status.conditions")),
                       field);
}

/* ---- the world ---- */

static inline void topology(struct world *w) {
    create(w, KUEUE "/topologies",
           "{'metadata':{'name':'default'},'spec':{'levels':[{'nodeLabel':'rack'},"
           "{'nodeLabel':'kubernetes.io/hostname'}]}}");
}

static inline void begin(struct world *w, uint64_t seed) {
    struct sl_manager_parts parts = {
        .core = true, .scheduler = true, .tas = true, .elasticjobs = true};
    open_world(w, seed, CONFIG "featureGates: {ElasticJobsViaWorkloadSlices: true}\n", parts);
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

static inline char *dump(const struct world *w) {
    struct sl_buf b;
    sl_buf_init(&b, (size_t)1 << 20);
    sl_manager_dump(w->m, &b);
    char *s = sl_strdup(sl_buf_str(&b));
    sl_buf_done(&b);
    return s;
}

/* Another manager takes over, from nothing but the API: with the same state. */
static inline void restart_alike(struct world *w, uint32_t client) {
    char *before = dump(w);
    restart(w, client);
    run(w, SETTLE);
    char *after = dump(w);
    if (strcmp(before, after) != 0) /* the framework cuts long texts */
        print_error("before: %s\nafter: %s\n", before, after);
    assert_string_equal(after, before);
    sl_freep(&before);
    sl_freep(&after);
}

#endif
