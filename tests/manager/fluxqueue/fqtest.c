/* SPDX-License-Identifier: Apache-2.0 */
#include "fqtest.h"

#include <stdio.h>

#define TEXT 4096

static void on_change(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;
    w->writes += c->client != FAKEAPI_NOBODY && strcmp(c->kind->plural, "events") != 0;
}

void start(struct world *w, uint32_t replica, bool standby) {
    w->q[replica] =
        sl_fluxqueue_new(&(struct sl_fluxqueue_spec){.client = fakeapi_port(w->api, replica),
                                                     .settings = w->settings,
                                                     .ledger = w->ledger,
                                                     .instance = "test",
                                                     .seed = 1,
                                                     .standby = standby});
}

void stop(struct world *w, uint32_t replica) {
    fakeapi_kill(w->api, replica);
    sl_fluxqueue_free(w->q[replica]);
    w->q[replica] = NULL;
}

void restart(struct world *w, sl_span span) {
    stop(w, 0);
    start(w, 0, false);
    run(w, span);
}

uint64_t fq_seed = 1;

int setup(void **state) {
    static const struct fakeapi_kind kind = {.group = "jobs.converged-computing.org",
                                             .version = "v1alpha1",
                                             .plural = "fluxjobs",
                                             .kind = "FluxJob",
                                             .flags = FAKEAPI_NAMESPACED | FAKEAPI_STATUS};
    static const char text[] = "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
                               "kind: Configuration\n"
                               "fluxqueue:\n"
                               "  levels:\n"
                               "  - {type: rack, nodeLabel: example.com/rack}\n";
    struct sl_err err = {0};
    struct world *w = sl_alloc0(1, sizeof *w);
    assert_true(sl_settings_parse("config", text, sizeof text - 1, NULL, NULL, &w->settings, NULL,
                                  &err) >= 0);
    w->api = fakeapi_new(fq_seed);
    fakeapi_register(w->api, &kind);
    fakeapi_on_change(w->api, on_change, w);
    start(w, 0, false);
    *state = w;
    return 0;
}

int teardown(void **state) {
    struct world *w = *state;
    for (uint32_t i = 0; i < FQ_REPLICAS; i++)
        sl_fluxqueue_free(w->q[i]);
    fakeapi_free(w->api);
    sl_settings_free(w->settings);
    sl_freep(&w);
    return 0;
}

static sl_time tick(struct world *w) {
    sl_time next = SL_TIME_NEVER;
    for (uint32_t i = 0; i < FQ_REPLICAS; i++)
        if (w->q[i]) {
            sl_fluxqueue_tick(w->q[i]);
            next = sl_time_min(next, sl_fluxqueue_next(w->q[i]));
        }
    return next;
}

void run(struct world *w, sl_span span) {
    sl_time until = fakeapi_now(w->api) + span;
    do {
        sl_time next = tick(w);
        (void)fakeapi_step(w->api, next < until ? next : until);
    } while (fakeapi_now(w->api) < until);
    (void)tick(w);
}

int post(struct world *w, const char *path, const char *body) {
    return fakeapi_do(w->api, SL_POST, path, SL_JSON, body, NULL);
}

void patch(struct world *w, const char *path, const char *body) {
    assert_int_equal(fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH, body, NULL), 200);
}

void drop(struct world *w, const char *path) {
    assert_in_range(fakeapi_do(w->api, SL_DELETE, path, SL_JSON,
                               SL_JSON_CONST({"gracePeriodSeconds" : 0}), NULL),
                    200, 202);
}

void node(struct world *w, const char *name, const char *cpu) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s'}},"
           "'status':{'allocatable':{'cpu':'%s','memory':'8Gi','pods':'10'},"
           "'conditions':[{'type':'Ready','status':'True'}]}}",
           name, name, cpu);
    for (char *c = body; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    assert_int_equal(post(w, NODES, body), 201);
    /* The status of a new object is what the server says. */
    char path[300], status[TEXT];
    sl_fmt(path, sizeof path, NODES "/%s/status", name);
    sl_fmt(status, sizeof status, "{\"status\":%s", strstr(body, "\"status\":") + 9);
    patch(w, path, status);
}

static void send(struct world *w, const char *path, char *body) {
    for (char *c = body; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    assert_int_equal(post(w, path, body), 201);
}

void create(struct world *w, const char *path, const char *text) {
    char body[TEXT];
    sl_fmt(body, sizeof body, "%s", text);
    send(w, path, body);
}

#define CONTAINERS                                                                                 \
    "'containers':[{'name':'main','image':'busybox','resources':{'requests':{'cpu':'%s',"          \
    "'memory':'64Mi'}}}],'schedulerName':'FluxionScheduler'"

void pod(struct world *w, const char *name, const char *cpu, const char *annotations,
         const char *more) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'},'annotations':{%s}},"
           "'spec':{" CONTAINERS ",'schedulingGates':[{'name':'fluxqueue'}]%s%s}}",
           name, annotations, cpu, *more ? "," : "", more);
    send(w, PODS, body);
}

void plain(struct world *w, const char *name, const char *cpu, const char *more) {
    char body[TEXT];
    sl_fmt(body, sizeof body, "{'metadata':{'name':'%s'},'spec':{" CONTAINERS "%s%s}}", name, cpu,
           *more ? "," : "", more);
    send(w, PODS, body);
}

void job(struct world *w, const char *name, int pods, const char *cpu, const char *annotations) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'},'annotations':{%s}},"
           "'spec':{'suspend':true,'parallelism':%d,'completions':%d,'completionMode':'Indexed',"
           "'template':{'metadata':{'labels':{'fluxqueue.seen':'yes'}},'spec':{" CONTAINERS "}}}}",
           name, annotations, pods, pods, cpu);
    send(w, JOBS, body);
}

void set(struct world *w, const char *name, int pods, const char *cpu) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s','labels':{'fluxqueue.seen':'yes'}},'spec':{'replicas':%d,"
           "'template':{'metadata':{'labels':{'fluxqueue.seen':'yes'}},'spec':{" CONTAINERS
           ",'schedulingGates':[{'name':'fluxqueue'}]}}}}",
           name, pods, cpu);
    send(w, SETS, body);
}

const char *child_of(struct world *w, const char *kind, const char *owner, int index,
                     const char *cpu) {
    static const struct {
        const char *kind, *api, *path;
    } owners[] = {
        {"Job", "batch/v1", JOBS},
        {"StatefulSet", "apps/v1", SETS},
        {"ReplicaSet", "apps/v1", REPLICASETS},
    };
    static char path[300];
    char body[TEXT], from[300];
    size_t k = 0;
    while (strcmp(owners[k].kind, kind) != 0)
        k++;
    sl_fmt(from, sizeof from, "%s/%s", owners[k].path, owner);
    sl_fmt(body, sizeof body,
           "{'metadata':{'name':'%s-%d','labels':{'fluxqueue.seen':'yes',"
           "'batch.kubernetes.io/job-completion-index':'%d'},'ownerReferences':[{'apiVersion':'%s',"
           "'kind':'%s','name':'%s','uid':'%s','controller':true}]},'spec':{" CONTAINERS "%s}}",
           owner, index, index, owners[k].api, kind, owner, at(w, from, "metadata.uid"), cpu,
           k == 0 ? "" : ",'schedulingGates':[{'name':'fluxqueue'}]");
    send(w, PODS, body);
    sl_fmt(path, sizeof path, PODS "/%s-%d", owner, index);
    return path;
}

const char *child(struct world *w, const char *kind, const char *owner, int index) {
    return child_of(w, kind, owner, index, "1");
}

void resize(struct world *w, const char *path, const char *cpu) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"busybox\",\"resources\":{"
           "\"requests\":{\"cpu\":\"%s\",\"memory\":\"64Mi\"}}}]}}",
           cpu);
    patch(w, path, body);
}

void roll(struct world *w, const char *path, const char *cpu) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
           "\"busybox\",\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"64Mi\"}}}]}}}}",
           cpu);
    patch(w, path, body);
}

struct search {
    const char *reason, *object;
    uint32_t n;
};

static void look(void *ctx, yyjson_val *o) {
    struct search *s = ctx;
    s->n += strcmp(sl_json_str(o, "reason"), s->reason) == 0 &&
            strcmp(sl_json_str(o, "regarding.name"), s->object) == 0;
}

uint32_t events(struct world *w, const char *reason, const char *object) {
    struct search s = {reason, object, 0};
    (void)fakeapi_each(w->api, "/apis/events.k8s.io/v1/events", look, &s);
    return s.n;
}

void phase(struct world *w, const char *name, const char *what) {
    char path[300], body[200];
    sl_fmt(path, sizeof path, PODS "/%s/status", name);
    sl_fmt(body, sizeof body, "{\"status\":{\"phase\":\"%s\"}}", what);
    patch(w, path, body);
}

const char *at(struct world *w, const char *path, const char *field) {
    yyjson_val *o = fakeapi_get(w->api, path);
    return o ? sl_json_str(o, field) : "(absent)";
}

int64_t number(struct world *w, const char *path, const char *field) {
    yyjson_val *o = fakeapi_get(w->api, path);
    return o ? sl_json_int(o, field, -1) : -2;
}
