/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of plain pods and groups of pods: flow_fixture.h with a queue of 10 cpu, pods that ask
 * for one, and a test that plays users, scheduler and kubelet. */
#ifndef SL_TESTS_MANAGER_CONTROLLERS_GROUP_FIXTURE_H
#define SL_TESTS_MANAGER_CONTROLLERS_GROUP_FIXTURE_H

#include "flow_fixture.h"

#define PODS "/api/v1/namespaces/ns/pods"
#define MANAGED Q "managed"

static inline void begin_with(struct world *w, uint64_t seed, const char *config,
                              struct sl_manager_parts parts) {
    open_world(w, seed, config, parts);
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, KUEUE "/resourceflavors",
           "{'metadata':{'name':'f'},'spec':{'nodeLabels':{'pool':'a'},'tolerations':[{'key':'t',"
           "'operator':'Exists'}]}}");
    create(w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'preemption':{"
           "'withinClusterQueue':'LowerPriority'},'resourceGroups':[{'coveredResources':['cpu'],"
           "'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':'10'}]}]}]}}");
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
    create(w, KUEUE "/workloadpriorityclasses", "{'metadata':{'name':'high'},'value':100}");
}

static inline void begin(struct world *w) {
    struct sl_manager_parts parts = {.core = true, .scheduler = true};
    parts.framework[SL_FW_POD] = true;
    begin_with(w, 1, CONFIG, parts);
}

/* A pod as admission leaves it. labels, annotations, spec: further members, each after a comma. */
struct pod_text {
    const char *labels, *annotations, *spec, *cpu, *queue;
    bool bare; /* without the finalizer */
};

static inline void make_pod(struct world *w, const char *name, struct pod_text t) {
    struct sl_buf b;
    sl_buf_init(&b, 65536);
    sl_buf_printf(&b,
                  "{'metadata':{'name':'%s',%s'labels':{'" MANAGED "':'true','" Q
                  "queue-name':'%s'%s},"
                  "'annotations':{'x':'y'%s}},'spec':{'schedulingGates':[{'name':'" Q
                  "admission'},{'name':'" Q "topology'}],'containers':[{'name':'c','resources':{"
                  "'requests':{'cpu':'%s'}}}]%s}}",
                  name, t.bare ? "" : "'finalizers':['" MANAGED "'],", t.queue ? t.queue : "q",
                  t.labels ? t.labels : "", t.annotations ? t.annotations : "", t.cpu ? t.cpu : "1",
                  t.spec ? t.spec : "");
    create(w, PODS, sl_buf_str(&b));
    sl_buf_done(&b);
}

static inline void plain(struct world *w, const char *name) {
    make_pod(w, name, (struct pod_text){0});
}

/* One of 'total' in the group. more: further annotations, each after a comma. */
static inline void member_with(struct world *w, const char *name, const char *group, int total,
                               struct pod_text t) {
    char labels[256], annotations[512];
    (void)snprintf(labels, sizeof labels, ",'" Q "pod-group-name':'%s'%s", group,
                   t.labels ? t.labels : "");
    (void)snprintf(annotations, sizeof annotations, ",'" Q "pod-group-total-count':'%d'%s", total,
                   t.annotations ? t.annotations : "");
    t.labels = labels;
    t.annotations = annotations;
    make_pod(w, name, t);
}

static inline void member(struct world *w, const char *name, const char *group, int total) {
    member_with(w, name, group, total, (struct pod_text){0});
}

static inline const char *pod_path(const char *name, const char *sub) {
    static char path[256];
    (void)snprintf(path, sizeof path, PODS "/%s%s", name, sub);
    return path;
}

/* On a node from now on, unless that is NULL or it has one. */
static inline void set_pod(struct world *w, const char *name, const char *node, const char *phase) {
    char body[256];
    if (node && !sl_json_at(fakeapi_get(w->api, pod_path(name, "")), "spec.nodeName")) {
        (void)snprintf(body, sizeof body, "{'spec':{'nodeName':'%s'}}", node);
        patch(w, pod_path(name, ""), body);
    }
    (void)snprintf(body, sizeof body,
                   "{'status':{'phase':'%s','conditions':[{'type':'Ready','status':'%s'}]}}", phase,
                   strcmp(phase, "Running") == 0 ? "True" : "False");
    patch(w, pod_path(name, "/status"), body);
}

/* As a user; grace -1: the default of 30 s on a node, none without. */
static inline void drop_pod(struct world *w, const char *name, int grace) {
    char body[128] = "{}";
    if (grace >= 0)
        (void)snprintf(body, sizeof body, "{'gracePeriodSeconds':%d}", grace);
    request(w, SL_DELETE, pod_path(name, ""), SL_JSON, body);
}

/* ---- looking ---- */

static inline bool there(struct world *w, const char *path) {
    return fakeapi_get(w->api, path) != NULL;
}

static inline bool has_pod(struct world *w, const char *name) {
    return there(w, pod_path(name, ""));
}

static inline bool gated(struct world *w, const char *name) {
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach (at(w, pod_path(name, ""), "spec.schedulingGates"), i, n, v)
        if (strcmp(sl_json_str(v, "name"), Q "admission") == 0)
            return true;
    return false;
}

static inline bool finalized(struct world *w, const char *name) {
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach (at(w, pod_path(name, ""), "metadata.finalizers"), i, n, v)
        if (yyjson_equals_str(v, MANAGED))
            return false;
    return true;
}

static inline bool deleting(struct world *w, const char *name) {
    return at(w, pod_path(name, ""), "metadata.deletionTimestamp") != NULL;
}

static inline bool is(struct world *w, const char *wl, const char *type) {
    char path[512];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", wl);
    return strcmp(sl_json_str(condition_of(w, path, type), "status"), "True") == 0;
}

struct found {
    const char *owner;
    char name[256];
    uint32_t n;
};

static inline void find_owned(void *ctx, yyjson_val *o) {
    struct found *f = ctx;
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach (sl_json_at(o, "metadata.ownerReferences"), i, n, v)
        if (strcmp(sl_json_str(v, "name"), f->owner) == 0) {
            (void)snprintf(f->name, sizeof f->name, "%s", sl_json_str(o, "metadata.name"));
            f->n++;
        }
}

/* The name of the only Workload that the pod owns; "": none. */
static inline const char *workload_of(struct world *w, const char *pod) {
    static struct found f;
    f = (struct found){.owner = pod};
    (void)fakeapi_each(w->api, WORKLOADS, find_owned, &f);
    assert_true(f.n <= 1);
    return f.name;
}

static inline const char *workload_path(struct world *w, const char *pod) {
    static char path[512];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", workload_of(w, pod));
    return path;
}

/* Of pods whose names are single letters. */
static inline void set_pods(struct world *w, const char *names, const char *phase) {
    for (; *names; names++)
        set_pod(w, (char[]){*names, '\0'}, "n1", phase);
}

static inline bool all_gated(struct world *w, const char *names) {
    bool all = true;
    for (; *names; names++)
        all &= gated(w, (char[]){*names, '\0'});
    return all;
}

static inline bool all_free(struct world *w, const char *names) {
    bool all = true;
    for (; *names; names++)
        all &= !gated(w, (char[]){*names, '\0'});
    return all;
}

static inline int64_t reclaimable(struct world *w, const char *wl) {
    char path[512];
    size_t i, n;
    yyjson_val *v;
    int64_t sum = 0;
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", wl);
    yyjson_arr_foreach (at(w, path, "status.reclaimablePods"), i, n, v)
        sum += sl_json_int(v, "count", 0);
    return sum;
}

static inline const char *reason_of(struct world *w, const char *path, const char *type) {
    return sl_json_str(condition_of(w, path, type), "reason");
}

#endif
