/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole manager over the in-memory API while objects come and go, each with names, labels,
 * hashes, owners, finalizers and namespaces that were never there before. When all of them are gone
 * again, so is what they took: the most memory in use at such moments of the last quarter is that
 * of the first, within a hundredth.
 *
 *     soak [--objects N] [--seed S] [--verbose]
 *
 * What is measured is the heap of the process, the in-memory API included: if that did not forget,
 * it would show here as well.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/vec.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "fakeapi.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "manager/config/config.h"
#include "manager/controllers/core/manager.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define Q "kueue.x-k8s.io/"
#define BODY_MAX ((size_t)1 << 20)
#define PATH_MAX_BYTES 1024u
/* One part in so many is too much. A quarter of a short run sees only a few sweeps, each of a table
 * with a rhythm of its own, so where it ends matters. */
#define SLOPE_PARTS(objects) ((objects) < 100000 ? 20 : 100)
#define RESTS 40u /* stretches, of each of which the most memory counts */

static const char config[] = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                             "integrations:\n  frameworks: [batch/job, pod]\n";

struct soak {
    struct fakeapi *api;
    struct sl_manager *m;
    struct sl_settings *settings;
    struct sl_metrics *metrics;
    struct sl_prng prng;
    uint64_t made, serial;
    bool verbose;
    struct sl_buf body;
};

static void die(const char *what) {
    (void)fprintf(stderr, "soak: %s\n", what);
    exit(1);
}

/* ---- acting ---- */

static int send(struct soak *s, enum sl_kube_method method, const char *path, const char *text) {
    struct sl_buf out = SL_BUF(BODY_MAX);
    char *body = text ? sl_strdup(text) : NULL;
    for (char *at = body; at && *at; at++)
        *at = *at == '\'' ? '"' : *at;
    int status =
        fakeapi_do(s->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON, body, &out);
    if (s->verbose && (status < 200 || status > 299) && status != 404)
        (void)fprintf(stderr, "%s: %d %s\n", path, status, sl_buf_str(&out));
    sl_buf_done(&out);
    sl_freep(&body);
    return status;
}

static void make(struct soak *s, const char *path) {
    if (sl_buf_full(&s->body))
        die("a body is too long");
    int status = send(s, SL_POST, path, sl_buf_str(&s->body));
    if (status < 200 || status > 299) {
        (void)fprintf(stderr, "%s: %d\n%s\n", path, status, sl_buf_str(&s->body));
        die("an object was refused");
    }
    sl_buf_clear(&s->body);
    s->made++;
}

static void run(struct soak *s, sl_span span) {
    sl_time until = fakeapi_now(s->api) + span;
    for (;;) {
        sl_manager_tick(s->m);
        sl_time a = fakeapi_next(s->api), b = sl_manager_next(s->m), next = a < b ? a : b;
        if (next > until)
            break;
        (void)fakeapi_step(s->api, next);
    }
    fakeapi_advance(s->api, until);
    sl_manager_tick(s->m);
}

struct names {
    SL_VEC(char *) v;
};

static void add_name(void *ctx, yyjson_val *o) {
    struct names *n = ctx;
    char path[PATH_MAX_BYTES];
    const char *ns = sl_json_str(o, "metadata.namespace");
    (void)snprintf(path, sizeof path, "%s%s%s", ns, *ns ? "/" : "",
                   sl_json_str(o, "metadata.name"));
    *sl_vec_push(&n->v) = sl_strdup(path);
}

/* All objects of a collection lose their finalizers and go. */
static void clear(struct soak *s, const char *group, const char *plural) {
    struct names n = {0};
    char path[PATH_MAX_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", group, plural);
    (void)fakeapi_each(s->api, path, add_name, &n);
    for (uint32_t i = 0; i < n.v.n; i++) {
        char *slash = strchr(n.v.v[i], '/');
        if (slash)
            (void)snprintf(path, sizeof path, "%s/namespaces/%.*s/%s/%s", group,
                           (int)(slash - n.v.v[i]), n.v.v[i], plural, slash + 1);
        else
            (void)snprintf(path, sizeof path, "%s/%s/%s", group, plural, n.v.v[i]);
        (void)send(s, SL_PATCH, path, "{'metadata':{'finalizers':null}}");
        (void)send(s, SL_DELETE, path, "{'gracePeriodSeconds':0}");
        sl_freep(&n.v.v[i]);
    }
    sl_vec_free(&n.v);
}

/* ---- ever new objects ---- */

/* A name that was never used before. */
static const char *fresh(struct soak *s, const char *stem) {
    static char text[8][96];
    static uint32_t at;
    at = (at + 1) % SL_LEN(text);
    (void)snprintf(text[at], sizeof text[at], "%s-%" PRIx64 "-%" PRIx64, stem, s->serial++,
                   sl_prng_next(&s->prng) & 0xffffffff);
    return text[at];
}

static void make_queues(struct soak *s, const char *ns, const char *flavor, const char *cq) {
    sl_buf_printf(&s->body, "{'metadata':{'name':'%s','labels':{'%s':'%s'}}}", ns,
                  fresh(s, "label"), fresh(s, "value"));
    make(s, "/api/v1/namespaces");
    sl_buf_printf(&s->body,
                  "{'metadata':{'name':'%s'},'spec':{'nodeLabels':{'pool':'%s'},'tolerations':[{"
                  "'key':'%s','operator':'Exists'}]}}",
                  flavor, fresh(s, "pool"), fresh(s, "key"));
    make(s, KUEUE "/resourceflavors");
    sl_buf_printf(&s->body,
                  "{'metadata':{'name':'%s'},'spec':{'cohortName':'%s','namespaceSelector':{},"
                  "'preemption':{'withinClusterQueue':'LowerPriority'},'resourceGroups':[{"
                  "'coveredResources':['cpu'],'flavors':[{'name':'%s','resources':[{'name':'cpu',"
                  "'nominalQuota':'4'}]}]},{'coveredResources':['example.com/%s'],'flavors':[{"
                  "'name':'%s','resources':[{'name':'example.com/%s','nominalQuota':'4'}]}]}]}}",
                  cq, fresh(s, "cohort"), flavor, cq, fresh(s, "flavor"), cq);
    make(s, KUEUE "/clusterqueues");
    char path[PATH_MAX_BYTES];
    (void)snprintf(path, sizeof path, KUEUE "/namespaces/%s/localqueues", ns);
    sl_buf_printf(&s->body, "{'metadata':{'name':'queue-%s'},'spec':{'clusterQueue':'%s'}}", ns,
                  cq);
    make(s, path);
}

static void make_job(struct soak *s, const char *ns, const char *class) {
    char path[PATH_MAX_BYTES];
    (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/%s/jobs", ns);
    sl_buf_printf(&s->body,
                  "{'metadata':{'name':'%s','finalizers':['example.com/%s'],'labels':{'" Q
                  "queue-name':'queue-%s','" Q "priority-class':'%s','%s':'%s'},"
                  "'ownerReferences':[{'apiVersion':'%s/v1','kind':'%s','name':'%s','uid':'%s',"
                  "'controller':true}]},'spec':{'suspend':true,'parallelism':1,'completions':1,"
                  "'template':{'metadata':{'labels':{'%s':'x'}},'spec':{'restartPolicy':'Never',"
                  "'nodeSelector':{'%s':'y'},'containers':[{'name':'%s','image':'i','resources':{"
                  "'requests':{'cpu':'1','example.com/%s':'0'}}}]}}}}",
                  fresh(s, "job"), fresh(s, "finalizer"), ns, class, fresh(s, "label"),
                  fresh(s, "value"), fresh(s, "group"), fresh(s, "kind"), fresh(s, "owner"),
                  fresh(s, "uid"), fresh(s, "label"), fresh(s, "label"), fresh(s, "c"),
                  fresh(s, "resource"));
    make(s, path);
}

static void make_pods(struct soak *s, const char *ns) {
    char path[PATH_MAX_BYTES], group[96];
    (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods", ns);
    (void)snprintf(group, sizeof group, "%s", fresh(s, "group"));
    for (int i = 0; i < 2; i++) {
        sl_buf_printf(&s->body,
                      "{'metadata':{'name':'%s','finalizers':['" Q "managed','example.com/%s'],"
                      "'labels':{'" Q "managed':'true','" Q "queue-name':'queue-%s','" Q
                      "pod-group-name':'%s'},'annotations':{'" Q "pod-group-total-count':'2','" Q
                      "role-hash':'%s'}},'spec':{'schedulingGates':[{'name':'" Q
                      "admission'},{'name':'example.com/%s'}],'containers':[{'name':'c',"
                      "'resources':{'requests':{'cpu':'1'}}}]}}",
                      fresh(s, "pod"), fresh(s, "finalizer"), ns, group, fresh(s, "role"),
                      fresh(s, "gate"));
        make(s, path);
    }
}

static void make_workload(struct soak *s, const char *ns, const char *class) {
    char path[PATH_MAX_BYTES], name[96];
    (void)snprintf(name, sizeof name, "%s", fresh(s, "workload"));
    (void)snprintf(path, sizeof path, KUEUE "/namespaces/%s/workloads", ns);
    sl_buf_printf(&s->body,
                  "{'metadata':{'name':'%s','finalizers':['example.com/%s']},'spec':{'active':true,"
                  "'queueName':'%s','priorityClassRef':{'group':'kueue.x-k8s.io','kind':"
                  "'WorkloadPriorityClass','name':'%s'},'priority':1,'podSets':[{'name':'main',"
                  "'count':1,'template':{'spec':{'containers':[{'name':'c','resources':{'requests':"
                  "{'cpu':'1'}}}]}}}]}}",
                  name, fresh(s, "finalizer"), fresh(s, "nobody"), class);
    make(s, path);
    (void)snprintf(path, sizeof path, KUEUE "/namespaces/%s/workloads/%s/status", ns, name);
    sl_buf_printf(&s->body,
                  "{'status':{'conditions':[{'type':'%s','status':'True','reason':'%s','message':"
                  "'%s','lastTransitionTime':'2026-01-01T00:00:00Z'}],'admissionChecks':[{'name':"
                  "'%s','state':'Pending','message':'','lastTransitionTime':"
                  "'2026-01-01T00:00:00Z'}]}}",
                  fresh(s, "Type"), fresh(s, "Reason"), fresh(s, "message"), fresh(s, "check"));
    (void)send(s, SL_PATCH, path, sl_buf_str(&s->body));
    sl_buf_clear(&s->body);
}

static void come(struct soak *s) {
    char ns[96], flavor[96], cq[96], class[96];
    (void)snprintf(ns, sizeof ns, "%s", fresh(s, "ns"));
    (void)snprintf(flavor, sizeof flavor, "%s", fresh(s, "flavor"));
    (void)snprintf(cq, sizeof cq, "%s", fresh(s, "cq"));
    (void)snprintf(class, sizeof class, "%s", fresh(s, "class"));
    sl_buf_printf(&s->body, "{'metadata':{'name':'%s'},'value':100}", class);
    make(s, KUEUE "/workloadpriorityclasses");
    sl_buf_printf(&s->body, "{'metadata':{'name':'%s'},'spec':{'controllerName':'%s'}}",
                  fresh(s, "check"), fresh(s, "controller"));
    make(s, KUEUE "/admissionchecks");
    make_queues(s, ns, flavor, cq);
    for (int i = 0; i < 3; i++)
        make_job(s, ns, class);
    make_pods(s, ns);
    make_workload(s, ns, class);
}

static void go(struct soak *s) {
    static const struct {
        const char *group, *plural;
    } all[] = {
        {"/apis/batch/v1", "jobs"}, {"/api/v1", "pods"},
        {KUEUE, "workloads"},       {KUEUE, "localqueues"},
        {KUEUE, "clusterqueues"},   {KUEUE, "resourceflavors"},
        {KUEUE, "admissionchecks"}, {KUEUE, "workloadpriorityclasses"},
        {"/api/v1", "namespaces"},  {"/apis/events.k8s.io/v1", "events"},
    };
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < SL_LEN(all); i++)
            clear(s, all[i].group, all[i].plural);
}

static void round_trip(struct soak *s) {
    come(s);
    run(s, 20 * SL_SEC);
    go(s);
    run(s, 20 * SL_SEC);
    if (s->serial % 8 == 0)
        fakeapi_compact(s->api);
}

/* ---- memory ---- */

static size_t in_use(void) {
    struct mallinfo2 x = mallinfo2();
    return x.uordblks + x.hblkhd;
}

static size_t resident(void) {
    unsigned long pages = 0, rss = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%lu %lu", &pages, &rss) != 2)
        rss = 0;
    if (f)
        (void)fclose(f);
    return rss * 4096;
}

/* Tables of names are swept when they have doubled, so memory goes up and down; what it may not do
 * is go higher than ever. */
static size_t most(const size_t *v, uint32_t n) {
    size_t max = 0;
    for (uint32_t i = 0; i < n; i++)
        max = v[i] > max ? v[i] : max;
    return max;
}

static void open_world(struct soak *s, uint64_t seed) {
    struct sl_warnings warnings;
    struct sl_err err;
    s->api = fakeapi_new(seed);
    s->metrics = sl_metrics_new();
    s->body = SL_BUF(BODY_MAX);
    sl_prng_init(&s->prng, seed);
    sl_warnings_init(&warnings);
    if (sl_settings_parse("soak", config, strlen(config), "sluice-system", NULL, &s->settings,
                          &warnings, &err) < 0)
        die(err.text);
    sl_warnings_done(&warnings);
    struct sl_manager_spec spec = {.parts = {.core = true, .scheduler = true},
                                   .client = fakeapi_port(s->api, 0),
                                   .settings = s->settings,
                                   .metrics = s->metrics,
                                   .instance = "soak",
                                   .seed = seed};
    spec.parts.framework[SL_FW_JOB] = spec.parts.framework[SL_FW_POD] = true;
    s->m = sl_manager_new(&spec);
}

int main(int argc, char **argv) {
    uint64_t objects = 4000, seed = 1;
    struct soak s = {0};
    size_t heap[RESTS] = {0}, rss[RESTS];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--objects") == 0 && i + 1 < argc)
            objects = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--verbose") == 0)
            s.verbose = true;
        else
            die("usage: soak [--objects N] [--seed S] [--verbose]");
    }
    sl_log_set(SL_LOG_ERROR);
    open_world(&s, seed);
    run(&s, 60 * SL_SEC);
    uint64_t warm = objects / 4;
    while (s.made < warm) /* until tables are as large as they get */
        round_trip(&s);
    for (uint32_t i = 0; i < RESTS; i++) {
        while (s.made < warm + (objects - warm) * (i + 1) / RESTS) {
            round_trip(&s);
            heap[i] = in_use() > heap[i] ? in_use() : heap[i];
        }
        rss[i] = resident();
        if (s.verbose)
            (void)printf("%" PRIu64 " objects: heap %zu, resident %zu\n", s.made, heap[i], rss[i]);
    }
    size_t first = most(heap, RESTS / 4), last = most(heap + RESTS - RESTS / 4, RESTS / 4);
    size_t first_rss = most(rss, RESTS / 4), last_rss = most(rss + RESTS - RESTS / 4, RESTS / 4);
    bool flat = last <= first + first / SLOPE_PARTS(objects);
    (void)printf("soak: %" PRIu64 " objects, heap in use %zu -> %zu bytes, resident %zu -> %zu "
                 "bytes: %s\n",
                 s.made, first, last, first_rss, last_rss, flat ? "flat" : "NOT flat");
    sl_manager_free(s.m);
    sl_metrics_free(s.metrics);
    fakeapi_free(s.api);
    sl_settings_free(s.settings);
    sl_buf_done(&s.body);
    return flat ? 0 : 1;
}
