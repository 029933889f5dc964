/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of sets over the in-memory API. The test plays users, the controllers that make the
 * pods, admission (pods are made gated) and kubelet: every 200 ms each of them does what is to be
 * done. What must hold is asked after every change: no Workload has more pods without a gate than
 * it was granted, and ('strict') a pod that runs is not deleted unless somebody wants fewer.
 * Everything is inline, so that each test takes what it wants.
 */
#ifndef SL_TESTS_MANAGER_CONTROLLERS_SERVING_FIXTURE_H
#define SL_TESTS_MANAGER_CONTROLLERS_SERVING_FIXTURE_H

#include "flow_fixture.h"
#include "manager/controllers/workload/workload.h"

#define PODS "/api/v1/namespaces/ns/pods"
#define REPLICAS "/apis/apps/v1/namespaces/ns/replicasets"
#define SETS "/apis/apps/v1/namespaces/ns/statefulsets"
#define LWS "leaderworkerset.sigs.k8s.io/"
#define LWSETS "/apis/leaderworkerset.x-k8s.io/v1/namespaces/ns/leaderworkersets"
#define LWS_PARENT "leaderworkerset.x-k8s.io/leaderworkerset"
#define TICK (200 * SL_MSEC)
#define MAX_PODS 64

struct stage {
    struct world w;
    const char *set; /* that the test plays the controller of */
    bool ordered;    /* it makes a pod when those before it are ready */
    bool deaf;       /* pods are neither made nor removed now */
    uint64_t seed;
    bool strict;     /* evictions are not part of the test: pods that run stay */
    uint32_t killed; /* pods that ran and were wanted */
};

/* ---- the others ---- */

static inline void request_may_fail(struct stage *s, enum sl_kube_method method, const char *path,
                                    const char *type, const char *text) {
    struct sl_buf out;
    char *body = text ? sl_strdup(text) : NULL;
    for (char *c = body; c && (c = strchr(c, '\''));)
        *c = '"';
    sl_buf_init(&out, 1u << 20);
    (void)fakeapi_do(s->w.api, method, path, type, body, &out);
    sl_buf_done(&out);
    sl_freep(&body);
}

static inline yyjson_val *pod_at(struct stage *s, int i, char path[128]) {
    (void)snprintf(path, 128, PODS "/%s-%d", s->set, i);
    return fakeapi_get(s->w.api, path);
}

static inline bool is_ready(yyjson_val *pod) {
    return strcmp(sl_json_str(pod, "status.phase"), "Running") == 0 &&
           !sl_json_at(pod, "metadata.deletionTimestamp");
}

static inline bool is_gated(yyjson_val *pod) {
    return yyjson_arr_size(sl_json_at(pod, "spec.schedulingGates")) > 0;
}

static inline void make_pod(struct stage *s, const char *uid, int i) {
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'%s-%d','labels':{'apps.kubernetes.io/pod-index':'%d'},"
        "'annotations':{'" Q "pod-suspending-parent':'statefulset'},'ownerReferences':[{"
        "'apiVersion':'apps/v1','kind':'StatefulSet','name':'%s','uid':'%s','controller'"
        ":true}]},'spec':{'schedulingGates':[{'name':'" Q
        "admission'}],'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}",
        s->set, i, i, s->set, uid);
    create(&s->w, PODS, text);
}

/* As the controller of StatefulSets: missing ones from below, too many from above. */
static inline void play_set(struct stage *s) {
    char path[128];
    (void)snprintf(path, sizeof path, SETS "/%s", s->set);
    yyjson_val *set = fakeapi_get(s->w.api, path);
    if (!set || sl_json_at(set, "metadata.deletionTimestamp"))
        return;
    int64_t start = sl_json_int(set, "spec.ordinals.start", 0);
    int64_t end = start + sl_json_int(set, "spec.replicas", 1);
    char *uid = sl_strdup(sl_json_str(set, "metadata.uid"));
    bool wait = false;
    for (int i = MAX_PODS - 1; i >= 0 && !wait; i--) {
        yyjson_val *pod = pod_at(s, i, path);
        if (!pod || (i >= start && i < end))
            continue;
        if (!sl_json_at(pod, "metadata.deletionTimestamp"))
            request_may_fail(s, SL_DELETE, path, SL_JSON, NULL);
        wait = s->ordered;
    }
    for (int i = (int)start; i < end && i < MAX_PODS && !wait; i++) {
        yyjson_val *pod = pod_at(s, i, path);
        wait = s->ordered && !is_ready(pod);
        if (!pod)
            make_pod(s, uid, i);
    }
    sl_freep(&uid);
}

struct names {
    uint32_t n;
    char v[MAX_PODS][64];
    bool deleting[MAX_PODS], starts[MAX_PODS];
};

static inline void note_pod(void *ctx, yyjson_val *o) {
    struct names *l = ctx;
    if (l->n == MAX_PODS)
        return;
    (void)snprintf(l->v[l->n], sizeof l->v[0], "%s", sl_json_str(o, "metadata.name"));
    l->deleting[l->n] = sl_json_at(o, "metadata.deletionTimestamp") != NULL;
    l->starts[l->n] = !is_gated(o) && strcmp(sl_json_str(o, "status.phase"), "Pending") == 0;
    l->n += l->deleting[l->n] || l->starts[l->n];
}

static inline void play_kubelet(struct stage *s) {
    struct names l = {0};
    char path[128];
    (void)fakeapi_each(s->w.api, PODS, note_pod, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.deleting[i]) {
            (void)snprintf(path, sizeof path, PODS "/%s?gracePeriodSeconds=0", l.v[i]);
            request_may_fail(s, SL_DELETE, path, SL_JSON, NULL);
            continue;
        }
        (void)snprintf(path, sizeof path, PODS "/%s/status", l.v[i]);
        request_may_fail(s, SL_PATCH, path, SL_MERGE_PATCH,
                         "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':"
                         "'True'}]}}");
    }
}

static inline void play(void *ctx, uint64_t arg) {
    struct stage *s = ctx;
    if (!s->deaf) {
        play_kubelet(s);
        play_set(s);
    }
    fakeapi_at(s->w.api, fakeapi_now(s->w.api) + TICK, play, s, arg);
}

/* ---- what must hold ---- */

static inline int64_t granted(struct stage *s, const char *workload) {
    char path[256];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", workload);
    yyjson_val *w = fakeapi_get(s->w.api, path), *a, *sets = sl_json_at(w, "spec.podSets"), *p;
    yyjson_val *given = sl_json_at(w, "status.admission.podSetAssignments");
    int64_t sum = 0;
    size_t i, n, j, k;
    yyjson_arr_foreach (given, i, n, a)
        yyjson_arr_foreach (sets, j, k, p) {
            int64_t x = sl_json_int(a, "count", 0), y = sl_json_int(p, "count", 0);
            if (strcmp(sl_json_str(a, "name"), sl_json_str(p, "name")) == 0)
                sum += x < y ? x : y;
        }
    return sum;
}

struct tally {
    const char *group;
    int64_t n;
};

static inline void count_free(void *ctx, yyjson_val *o) {
    struct tally *t = ctx;
    t->n += !is_gated(o) && strcmp(sl_json_annotation(o, Q "pod-group-name"), t->group) == 0;
}

static inline void on_change(void *ctx, const struct fakeapi_change *c) {
    struct stage *s = ctx;
    if (strcmp(c->kind->kind, "Pod") != 0)
        return;
    if (c->now && !is_gated(c->now) && (!c->before || is_gated(c->before))) {
        struct tally t = {.group = sl_json_annotation(c->now, Q "pod-group-name")};
        (void)fakeapi_each(s->w.api, PODS, count_free, &t);
        if (*t.group && t.n > granted(s, t.group))
            fail_msg("seed %d: %s starts; %s has %d pods and was granted %d", (int)s->seed, c->key,
                     t.group, (int)t.n, (int)granted(s, t.group));
    }
    if (c->before && is_ready(c->before) && c->client != FAKEAPI_NOBODY &&
        (!c->now || sl_json_at(c->now, "metadata.deletionTimestamp"))) {
        s->killed++;
        if (s->strict)
            fail_msg("%s ran, and was deleted", c->key);
    }
}

/* ---- the stage ---- */

static inline void open_stage(struct stage *s, uint64_t seed, const char *set, int quota) {
    char text[512];
    *s = (struct stage){.seed = seed, .set = set, .ordered = true, .strict = true};
    open_world(&s->w, seed, CONFIG,
               (struct sl_manager_parts){.core = true,
                                         .scheduler = true,
                                         .framework = {[SL_FW_POD] = true,
                                                       [SL_FW_DEPLOYMENT] = true,
                                                       [SL_FW_STATEFULSET] = true,
                                                       [SL_FW_LEADERWORKERSET] = true}});
    struct world *w = &s->w;
    create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    create(w, KUEUE "/resourceflavors", "{'metadata':{'name':'f'},'spec':{}}");
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
                   "'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu',"
                   "'nominalQuota':'%d'}]}]}]}}",
                   quota);
    create(w, KUEUE "/clusterqueues", text);
    create(w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
    fakeapi_on_change(w->api, on_change, s);
    fakeapi_at(w->api, fakeapi_now(w->api) + TICK, play, s, 0);
}

#define TEMPLATE                                                                                   \
    "'template':{'metadata':{'annotations':{'" Q "pod-suspending-parent':'statefulset'}},'spec':{" \
    "'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}"

static inline void make_set(struct stage *s, int replicas, const char *more) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','labels':{'" Q
                   "queue-name':'q'}%s},'spec':{'replicas':%d," TEMPLATE "}}",
                   s->set, more, replicas);
    create(&s->w, SETS, text);
}

static inline void scale(struct stage *s, int replicas) {
    char path[128], text[64];
    (void)snprintf(path, sizeof path, SETS "/%s", s->set);
    (void)snprintf(text, sizeof text, "{'spec':{'replicas':%d}}", replicas);
    patch(&s->w, path, text);
}

/* ---- looking ---- */

static inline void count_running(void *ctx, yyjson_val *o) {
    *(int *)ctx += is_ready(o);
}

static inline int running(struct stage *s) {
    int n = 0;
    (void)fakeapi_each(s->w.api, PODS, count_running, &n);
    return n;
}

static inline int pods(struct stage *s) {
    int n = 0;
    n += (int)fakeapi_each(s->w.api, PODS, count_running, &(int){0});
    return n;
}

struct sizes {
    int n, v[16];
    char names[16][256];
};

static inline void note_size(void *ctx, yyjson_val *o) {
    struct sizes *z = ctx;
    yyjson_val *set = yyjson_arr_get_first(sl_json_at(o, "spec.podSets"));
    if (z->n < 16) {
        (void)snprintf(z->names[z->n], sizeof z->names[0], "%s", sl_json_str(o, "metadata.name"));
        z->v[z->n++] = (int)sl_json_int(set, "count", 0);
    }
}

static inline struct sizes workloads(struct stage *s) {
    struct sizes z = {0};
    (void)fakeapi_each(s->w.api, WORKLOADS, note_size, &z);
    return z;
}

/* "cpu" of the only queue, as in its status. */
static inline int used(struct stage *s) {
    yyjson_val *flavor =
        yyjson_arr_get_first(at(&s->w, KUEUE "/clusterqueues/cq", "status.flavorsReservation"));
    return (int)strtol(sl_json_str(yyjson_arr_get_first(sl_json_at(flavor, "resources")), "total"),
                       NULL, 10);
}

static inline const char *reason_of(struct stage *s, const char *workload, const char *type) {
    char path[512];
    (void)snprintf(path, sizeof path, WORKLOADS "/%s", workload);
    return sl_json_str(condition_of(&s->w, path, type), "reason");
}

/* ---- LeaderWorkerSets ---- */

#define MEMBER(role)                                                                               \
    "{'metadata':{'labels':{'" Q "queue-name':'q','" LWS "name':'llm','" LWS                       \
    "x':'y'},'annotations':{'" Q "pod-suspending-parent':'" LWS_PARENT                             \
    "'}},'spec':{'containers':[{'name':'" role "','resources':{'requests':{'cpu':'1'}}}]}}"

static inline void make_lws(struct stage *s, int replicas, int size, bool leader) {
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'llm','labels':{'" Q
                   "queue-name':'q'}},'spec':{'replicas':%d,'leaderWorkerTemplate':{'size':%d%s,"
                   "'workerTemplate':" MEMBER("w") "}}}",
                   replicas, size, leader ? ",'leaderTemplate':" MEMBER("l") : "");
    create(&s->w, LWSETS, text);
}

/* Group and number in it; 0 is the leader. */
static inline void member_name(char out[64], int group, int i) {
    (void)snprintf(out, 64, i ? "llm-%d-%d" : "llm-%d", group, i);
}

static inline void make_member(struct stage *s, int group, int i) {
    char text[1024], name[64], leader[64], note[128] = "";
    member_name(name, group, i);
    member_name(leader, group, 0);
    if (i)
        (void)snprintf(note, sizeof note, ",'" LWS "leader-name':'%s'", leader);
    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'%s','labels':{'" Q "queue-name':'q','" LWS "name':'llm','" LWS
        "group-index':'%d'},'annotations':{'" Q "pod-group-serving':'true','" Q
        "pod-suspending-parent':'" LWS_PARENT "'%s}},'spec':{'schedulingGates':[{'name':'" Q
        "admission'}],'containers':[{'name':'c','resources':{'requests':{'cpu':'1'}}}]}}",
        name, group, note);
    create(&s->w, PODS, text);
}

/* As its controller with the policy LeaderReady: workers come when the leader is ready. */
static inline void play_lws(struct stage *s) {
    yyjson_val *set = fakeapi_get(s->w.api, LWSETS "/llm");
    int groups = set ? (int)sl_json_int(set, "spec.replicas", 1) : 0;
    int size = (int)sl_json_int(set, "spec.leaderWorkerTemplate.size", 1);
    for (int g = 0; g < 8; g++)
        for (int i = 0; i < 6; i++) {
            char path[128], name[64], top[64];
            member_name(name, g, i);
            member_name(top, g, 0);
            (void)snprintf(path, sizeof path, PODS "/%s", top);
            bool ready = is_ready(fakeapi_get(s->w.api, path));
            (void)snprintf(path, sizeof path, PODS "/%s", name);
            yyjson_val *pod = fakeapi_get(s->w.api, path);
            bool wanted = g < groups && i < size && (i == 0 || ready);
            if (pod && !(g < groups && i < size) && !sl_json_at(pod, "metadata.deletionTimestamp"))
                request_may_fail(s, SL_DELETE, path, SL_JSON, NULL);
            else if (!pod && wanted)
                make_member(s, g, i);
        }
}

static inline void tick_lws(void *ctx, uint64_t arg) {
    struct stage *s = ctx;
    play_lws(s);
    fakeapi_at(s->w.api, fakeapi_now(s->w.api) + TICK, tick_lws, s, arg);
}

static inline void open_lws(struct stage *s, int quota) {
    open_stage(s, 1, "none", quota);
    fakeapi_at(s->w.api, fakeapi_now(s->w.api) + TICK, tick_lws, s, 0);
}

static inline void scale_lws(struct stage *s, int replicas) {
    char text[64];
    (void)snprintf(text, sizeof text, "{'spec':{'replicas':%d}}", replicas);
    patch(&s->w, LWSETS "/llm", text);
}

#endif
