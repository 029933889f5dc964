/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of exact nodes: the whole manager and the queue on the resource graph beside it, over
 * the in-memory API under a virtual clock. The test plays users, nodes, kubelets and whoever makes
 * pods.
 *
 * There are no nodes at first. The ClusterQueue cq has 64 GPUs and 640 cpus, and wants exact nodes.
 */
#ifndef SL_TESTS_MANAGER_CONTROLLERS_EXACT_FIXTURE_H
#define SL_TESTS_MANAGER_CONTROLLERS_EXACT_FIXTURE_H

#include "core/base/fmt.h"
#include "topology_fixture.h"

#define GPU "nvidia.com/gpu"
#define FIRST_GRAPH 4u /* clients of the API: managers before it, graphs from it on */
#define FLUXJOBS "/apis/jobs.converged-computing.org/v1alpha1/namespaces/ns/fluxjobs"

/* ---- acting ---- */

/* more: further labels. taints: members of the list. */
static inline void gpu_node(struct world *w, const char *name, int gpus, const char *more,
                            const char *taints) {
    char text[2048], path[200];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s'%s}},"
           "'spec':{'taints':[%s]}}",
           name, name, more, taints);
    create(w, "/api/v1/nodes", text);
    sl_fmt(path, sizeof path, "/api/v1/nodes/%s/status", name);
    sl_fmt(text, sizeof text,
           "{'status':{'allocatable':{'cpu':'16','memory':'64Gi','" GPU "':'%d','pods':'20'},"
           "'conditions':[{'type':'Ready','status':'True'}]}}",
           gpus);
    patch(w, path, text);
}

static inline void set_ready(struct world *w, const char *name, bool ready) {
    char text[200], path[200];
    sl_fmt(path, sizeof path, "/api/v1/nodes/%s/status", name);
    sl_fmt(text, sizeof text, "{'status':{'conditions':[{'type':'Ready','status':'%s'}]}}",
           ready ? "True" : "False");
    patch(w, path, text);
}

#define REQUESTS(gpus)                                                                             \
    "'containers':[{'name':'c','resources':{'requests':{'cpu':'1','" GPU "':'" gpus "'}}}]"

/* A podset; spec: further members of its pods' spec, with a comma in front. */
#define PODSET(name, count, gpus, spec)                                                            \
    "{'name':'" name "','count':" count ",'template':{'spec':{" REQUESTS(gpus) spec "}}}"

/* seconds: that it may run; 0: as long as it likes. */
static inline void timed_workload(struct world *w, const char *name, const char *queue,
                                  int priority, int seconds, const char *podsets) {
    char text[4096], most[64] = "";
    if (seconds)
        sl_fmt(most, sizeof most, "'maximumExecutionTimeSeconds':%d,", seconds);
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/job-uid':'u'},'ownerReferences':["
           "{'apiVersion':'x/v1','kind':'X','name':'x','uid':'u'}]},'spec':{'active':true,%s"
           "'priority':%d,'queueName':'%s','podSets':[%s]}}",
           name, most, priority, queue, podsets);
    create(w, WORKLOADS, text);
}

static inline void workload_of(struct world *w, const char *name, int priority,
                               const char *podsets) {
    timed_workload(w, name, "q", priority, 0, podsets);
}

/* A pod of a workload as its owner makes it: held back until it has its node. */
static inline void gated_pod(struct world *w, const char *name, const char *of, const char *gpus,
                             const char *scheduler) {
    char text[2048];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','labels':{'kueue.x-k8s.io/podset':'main'},'annotations':{"
           "'kueue.x-k8s.io/workload':'%s'}},'spec':{'schedulingGates':[{'name':"
           "'kueue.x-k8s.io/topology'}],'schedulerName':'%s','containers':[{'name':'c',"
           "'resources':{'requests':{'cpu':'1','" GPU "':'%s'}}}]}}",
           name, of, scheduler, gpus);
    create(w, PODS, text);
}

/* As the scheduler: it goes where it has to. */
static inline void bind(struct world *w, const char *name) {
    char path[200], text[200];
    const char *host = host_of(w, name);
    assert_string_not_equal(host, "held back");
    assert_string_not_equal(host, "anywhere");
    sl_fmt(path, sizeof path, PODS "/%s/binding", name);
    sl_fmt(text, sizeof text, "{'target':{'kind':'Node','name':'%s'}}", host);
    create(w, path, text);
    sl_fmt(path, sizeof path, PODS "/%s/status", name);
    patch(w, path, "{'status':{'phase':'Running'}}");
}

static inline const char *node_of(struct world *w, const char *pod) {
    char path[200];
    sl_fmt(path, sizeof path, PODS "/%s", pod);
    return sl_json_str(fakeapi_get(w->api, path), "spec.nodeName");
}

/* A pod that others have put there. */
static inline void other_pod(struct world *w, const char *name, const char *node,
                             const char *gpus) {
    char text[1024];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s'},'spec':{'nodeName':'%s','containers':[{'name':'c',"
           "'resources':{'requests':{'" GPU "':'%s'}}}]},'status':{'phase':'Running'}}",
           name, node, gpus);
    create(w, PODS, text);
}

static inline void pod_phase(struct world *w, const char *name, const char *phase) {
    char path[200], text[100];
    sl_fmt(path, sizeof path, PODS "/%s/status", name);
    sl_fmt(text, sizeof text, "{'status':{'phase':'%s'}}", phase);
    patch(w, path, text);
}

/* With the time that it may take to end: it stays until the kubelet says so. */
static inline void delete_pod(struct world *w, const char *name, int grace) {
    char path[200], text[100];
    sl_fmt(path, sizeof path, PODS "/%s", name);
    sl_fmt(text, sizeof text, "{'gracePeriodSeconds':%d}", grace);
    request(w, SL_DELETE, path, SL_JSON, text);
}

/* As its job's controller: it has stopped, and so what was evicted releases its quota. */
static inline void release(struct world *w, const char *name) {
    char path[200];
    sl_fmt(path, sizeof path, WORKLOADS "/%s", name);
    request(w, SL_DELETE, path, SL_JSON, "{}");
}

/* ---- looking ---- */

/* Where pods of the first podset are: "n1:2 n2:1", "" if nowhere. */
static inline const char *nodes_of(struct world *w, const char *name, uint32_t podset) {
    yyjson_val *p = yyjson_arr_get(workload_at(w, name, "status.admission.podSetAssignments"),
                                   podset),
               *slice;
    static char text[1024];
    size_t len = 0, i, n;
    text[0] = 0;
    yyjson_arr_foreach (sl_json_at(p, "topologyAssignment.slices"), i, n, slice) {
        yyjson_val *level = yyjson_arr_get_first(yyjson_obj_get(slice, "valuesPerLevel"));
        yyjson_val *roots = sl_json_at(level, "individual.roots"),
                   *each = sl_json_at(slice, "podCounts.individual");
        for (int64_t k = 0; k < sl_json_int(slice, "domainCount", 0); k++) {
            const char *root = yyjson_get_str(yyjson_arr_get(roots, (size_t)k));
            int64_t pods = each ? yyjson_get_sint(yyjson_arr_get(each, (size_t)k))
                                : sl_json_int(slice, "podCounts.universal", 0);
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s%s%s:%d", len ? " " : "",
                                    sl_json_str(level, "individual.prefix"),
                                    root ? root : sl_json_str(level, "universal"),
                                    sl_json_str(level, "individual.suffix"), (int)pods);
        }
    }
    return text;
}

static inline const char *why(struct world *w, const char *name) {
    return condition(w, name, "QuotaReserved", "message");
}

#define assert_waits(w, name, reason)                                                              \
    do {                                                                                           \
        assert_false(is((w), (name), "QuotaReserved"));                                            \
        if (!strstr(why((w), (name)), (reason)))                                                   \
            fail_msg("%s", why((w), (name)));                                                      \
    } while (0)

/* ---- the world ---- */

static inline void start_graph(struct world *w, uint32_t client) {
    w->q = sl_fluxqueue_new(
        &(struct sl_fluxqueue_spec){.client = fakeapi_port(w->api, FIRST_GRAPH + client),
                                    .settings = w->settings,
                                    .instance = "test",
                                    .seed = 1});
    sl_manager_nodes(w->m, w->q);
}

static inline void stop_graph(struct world *w, uint32_t client) {
    sl_manager_nodes(w->m, NULL);
    fakeapi_kill(w->api, FIRST_GRAPH + client);
    sl_fluxqueue_free(w->q);
    w->q = NULL;
}

static inline void cluster_queue(struct world *w, const char *name, const char *annotation,
                                 const char *more) {
    char text[2048];
    sl_fmt(text, sizeof text,
           "{'metadata':{'name':'%s','annotations':{%s}},'spec':{'namespaceSelector':{},"
           "'resourceGroups':[{'coveredResources':['" GPU "','cpu'],'flavors':[{'name':'f',"
           "'resources':[{'name':'" GPU "','nominalQuota':'64'},{'name':'cpu','nominalQuota':"
           "'640'}]}]}]%s}}",
           name, annotation, more);
    create(w, KUEUE "/clusterqueues", text);
}

#define EXACT "'sluice.dev/exact-nodes':'true'"
#define BY_PRIORITY ",'preemption':{'withinClusterQueue':'LowerPriority'}"

static inline void begin_parts(struct world *w, const char *config, struct sl_manager_parts parts) {
    static const struct fakeapi_kind kind = {.group = "jobs.converged-computing.org",
                                             .version = "v1alpha1",
                                             .plural = "fluxjobs",
                                             .kind = "FluxJob",
                                             .flags = FAKEAPI_NAMESPACED | FAKEAPI_STATUS};
    char text[1024];
    sl_fmt(text, sizeof text, "%s%s", CONFIG, config);
    open_world(w, 1, text, parts);
    fakeapi_register(w->api, &kind);
    start_graph(w, 0);
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
}

static inline void begin_empty(struct world *w, const char *config) {
    begin_parts(
        w, config,
        (struct sl_manager_parts){.core = true, .scheduler = true, .tas = true, .fluxqueue = true});
}

static inline void begin_exact(struct world *w) {
    begin_empty(w, "");
    create(w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    cluster_queue(w, "cq", EXACT, BY_PRIORITY);
}

static inline void end_exact(struct world *w) {
    sl_manager_nodes(w->m, NULL);
    sl_fluxqueue_free(w->q);
    w->q = NULL;
    end(w);
}

/* Both are killed, and others start from nothing but the API: with the same state. */
static inline void restart_both(struct world *w, uint32_t client) {
    char *before = dump(w);
    stop_graph(w, client - 1);
    restart(w, client);
    start_graph(w, client);
    run(w, SETTLE);
    char *after = dump(w);
    if (strcmp(before, after) != 0)
        print_error("before: %s\nafter: %s\n", before, after);
    assert_string_equal(after, before);
    sl_freep(&before);
    sl_freep(&after);
}

#endif
