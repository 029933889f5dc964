/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of `sluice up` in this process - store with its file, API server, controllers, scheduler,
 * simulated nodes, queueing - while objects come and go, each with names, labels, annotations,
 * images, owners, field managers, namespaces, nodes and kinds that were never there before. When
 * all of them are gone again, so is what they took: the memory in use at such moments of the last
 * quarter is that of the first, within a hundredth, and so is what the process has of the kernel;
 * and the file has come to rest.
 *
 *     soak [--objects N] [--past N] [--seed S] [--verbose]
 *
 * Requests go in where the front end hands them over (sl_apiserver_call), many at a time. The clock
 * is one that can be turned: events live for an hour, and an hour goes by at each measurement.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "cluster/apiserver/apiserver.h"
#include "cluster/controllers/core/cluster.h"
#include "cluster/kubelet/kubelet.h"
#include "cluster/scheduler/scheduler.h"
#include "core/base/collection/vec.h"
#include "core/base/mem.h"
#include "lib/log/log.h"
#include "manager/admission/review.h"
#include "manager/config/config.h"
#include "manager/controllers/core/manager.h"
#include "manager/controllers/core/parts.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define Q "kueue.x-k8s.io/"
#define OF(kind) "'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'" kind "',"
#define BODY_MAX ((size_t)1 << 20)
#define PATH_BYTES 600u
#define IN_FLIGHT 64u
#define QUARTER 10u /* moments of a quarter at which the memory is measured */
#define RESTS (4 * QUARTER)
#define SLOPE_PARTS 100 /* one in a hundred is too much */
#define SIM_NODES 20u
#define STEP (10 * SL_MSEC) /* of the clock, in a turn */
#define BUSY_STEP SL_MSEC   /* while something is under way */
#define LONG_STEP SL_SEC    /* while nothing is asked for */
#define PLACES 3u           /* namespaces of one round */
#define BRIEF 300u          /* pods of one round that go at once */
/* Tables and the past that watches may go back to are as large as they get after so many. */
#define WARM_UP 80000u
/* Of a run that is over before; tables of names have room to double until they are swept. */
#define SHORT_SLACK ((size_t)384 << 10)
#define FILE_STEP                                                                                  \
    ((size_t)1 << 20) /* by which the file grows, once, at any moment of a short one */

static const char config[] =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    "integrations:\n  frameworks: [batch/job, pod, deployment, statefulset]\n";

/* That all parts took part: what is seen in one namespace of each round before it goes. */
static const struct {
    const char *list, *text, *what;
} proofs[] = {
    {"/apis/batch/v1/namespaces/%s/jobs", "\"type\":\"Complete\"", "Jobs completed"},
    {"/api/v1/namespaces/%s/pods", "\"phase\":\"Running\"", "pods running"},
    {"/api/v1/namespaces/%s/pods", "\"reason\":\"Unschedulable\"", "pods without a node"},
    {KUEUE "/namespaces/%s/workloads", "\"type\":\"Admitted\"", "workloads admitted"},
    {"/apis/apps/v1/namespaces/%s/replicasets", "\"kind\":\"Deployment\"", "ReplicaSets made"},
    {"/api/v1/namespaces/%s/events", "\"reportingComponent\":\"default-scheduler\"", "events"},
};

struct call {
    char *line, *body; /* "POST /api/v1/pods?fieldManager=x" */
    const char *type;
    uint32_t proof; /* its number + 1 */
};

struct soak {
    uv_loop_t loop;
    uv_timer_t timer;
    struct sl_apiserver *api;
    struct sl_manager *m;
    struct sl_cluster *cluster;
    struct sl_kubelet *runtime;
    struct sl_settings *settings;
    struct sl_metrics *metrics;
    struct sl_kube_client *client;
    sl_span turned; /* the clock, beyond that of the machine */
    SL_VEC(struct call) calls;
    uint32_t next_call, in_flight;
    struct sl_buf body;
    uint64_t requests; /* when they were last counted */
    uint64_t made, serial, failed, answers;
    uint64_t at_first; /* objects of the cluster itself */
    uint64_t seen[SL_LEN(proofs)], rounds;
    bool verbose;
    char dir[64], file[96];
};

static void die(const char *what) {
    (void)fprintf(stderr, "soak: %s\n", what);
    exit(1);
}

/* ---- the whole ---- */

static int review(void *ctx, const char *path, const char *body, size_t len, struct sl_buf *out) {
    struct soak *s = ctx;
    return sl_review(sl_manager_view(s->m), path, body, len, out);
}

static void clock_of(void *ctx, sl_time *wall, sl_time *mono) {
    struct soak *s = ctx;
    *wall += s->turned;
    *mono += s->turned;
}

static void on_timer(uv_timer_t *t) {
    (void)t; /* it only makes the loop turn */
}

/* One turn of the loop and of all parts, as in up.c; waits for the disk, if there is nothing else.
 */
static void turn(struct soak *s, sl_span step, bool wait) {
    s->turned += step;
    sl_apiserver_clock(s->api);
    sl_manager_tick(s->m);
    sl_cluster_tick(s->cluster);
    sl_kubelet_tick(s->runtime);
    if (wait)
        (void)uv_timer_start(&s->timer, on_timer, 1,
                             1); /* repeats: one that is over would not wake it */
    (void)uv_run(&s->loop, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

/* The clock goes on in long steps only while nobody asks for anything, and hardly while the disk is
 * waited for. */
static void run(struct soak *s, sl_span span, sl_span step) {
    while (span > 0) {
        struct sl_apiserver_stats st = {0};
        sl_apiserver_stats(s->api, &st);
        bool wait = st.open > st.watches_open, asked = st.requests != s->requests;
        sl_span now = wait ? BUSY_STEP : asked ? STEP : step;
        s->requests = st.requests;
        turn(s, now, wait);
        span -= now;
    }
}

static void open_world(struct soak *s, uint64_t seed, uint32_t past) {
    struct sl_warnings warnings;
    struct sl_err err;

    (void)snprintf(s->dir, sizeof s->dir, "%s",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm/sluice-soak-XXXXXX"
                                                 : "/tmp/sluice-soak-XXXXXX");
    if (!mkdtemp(s->dir))
        die("no folder");
    (void)snprintf(s->file, sizeof s->file, "%s/objects.db", s->dir);
    s->body = SL_BUF(BODY_MAX);
    s->metrics = sl_metrics_new();
    sl_warnings_init(&warnings);
    if (sl_settings_parse("soak", config, strlen(config), "kueue-system", NULL, &s->settings,
                          &warnings, &err) < 0)
        die(err.text);
    sl_warnings_done(&warnings);
    if (uv_loop_init(&s->loop) < 0)
        die("no event loop");
    (void)uv_timer_init(&s->loop, &s->timer);
    if (sl_apiserver_new(&(struct sl_apiserver_spec){.loop = &s->loop,
                                                     .file = s->file,
                                                     .past = past,
                                                     .version = "v1.36.0",
                                                     .address = "127.0.0.1:6443",
                                                     .review = review,
                                                     .clock = clock_of,
                                                     .ctx = s},
                         &s->api, &err) < 0)
        die(err.text);
    s->client = sl_apiserver_client(
        s->api, "system:serviceaccount:kueue-system:kueue-controller-manager", "kueue/v0.19.0");
    s->m =
        sl_manager_new(&(struct sl_manager_spec){.client = s->client,
                                                 .settings = s->settings,
                                                 .parts = sl_manager_parts_parse(NULL, s->settings),
                                                 .metrics = s->metrics,
                                                 .instance = "soak",
                                                 .seed = seed});
    sl_manager_webhooks_parse(NULL, s->settings, sl_manager_view(s->m)->webhook);
    s->cluster = sl_cluster_new(&(struct sl_cluster_spec){
        .scheduler = &sl_scheduler,
        .client = sl_apiserver_client(s->api, "system:kube-controller-manager", "soak/1"),
        .seed = seed,
        .ca = "-----BEGIN CERTIFICATE-----\n"});
    if (sl_kubelet_new(&(struct sl_kubelet_spec){.loop = &s->loop,
                                                 .client = sl_apiserver_client(
                                                     s->api, "system:node:soak", "kubelet/1"),
                                                 .sim = {.count = SIM_NODES}},
                       &s->runtime, &err) < 0)
        die(err.text);
    while (!sl_manager_ready(s->m) || !sl_cluster_ready(s->cluster) ||
           !sl_kubelet_ready(s->runtime))
        turn(s, STEP, true);
}

static void close_world(struct soak *s) {
    static const char *const ends[] = {"", "-wal", "-lock"};
    char path[120];

    sl_kubelet_stop(s->runtime, 0);
    sl_manager_free(s->m);
    sl_cluster_free(s->cluster);
    sl_kubelet_free(s->runtime);
    sl_apiserver_free(s->api);
    uv_close((uv_handle_t *)&s->timer, NULL);
    while (uv_run(&s->loop, UV_RUN_NOWAIT))
        ;
    (void)uv_loop_close(&s->loop);
    sl_metrics_free(s->metrics);
    sl_settings_free(s->settings);
    sl_buf_done(&s->body);
    sl_vec_free(&s->calls);
    for (size_t i = 0; i < SL_LEN(ends); i++) {
        (void)snprintf(path, sizeof path, "%s%s", s->file, ends[i]);
        (void)unlink(path);
    }
    (void)rmdir(s->dir);
}

/* ---- requests ---- */

/* A name that nobody had before; all of one length, so that what is kept of them is, too. */
static const char *fresh(struct soak *s, const char *stem) {
    static char text[16][96];
    static uint32_t at;
    at = (at + 1) % SL_LEN(text);
    (void)snprintf(text[at], sizeof text[at], "%s-%08" PRIx64, stem, s->serial++);
    return text[at];
}

struct asked {
    struct soak *s;
    struct call call;
};

static void call_free(struct call *c) {
    sl_freep(&c->line);
    sl_freep(&c->body);
}

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    struct asked *q = ctx;
    struct soak *s = q->s;

    s->in_flight--;
    s->answers++;
    bool fine = (a->status >= 200 && a->status < 300) ||
                (a->status == 404 && strncmp(q->call.line, "POST", 4) != 0) ||
                (a->status == 409 && strncmp(q->call.line, "DELETE", 6) == 0);
    if (!fine && s->failed++ < 20)
        (void)fprintf(stderr, "soak: %s: %d %.400s\n%s\n", q->call.line, a->status, a->body,
                      q->call.body ? q->call.body : "");
    if (q->call.proof && strstr(a->body, proofs[q->call.proof - 1].text))
        s->seen[q->call.proof - 1]++;
    call_free(&q->call);
    sl_freep(&q);
}

static void begin_call(struct soak *s, struct call *c) {
    static const char *const groups[] = {"system:masters", "system:authenticated", NULL};
    struct asked *q = sl_alloc(sizeof *q);
    char agent[40], user[40], *path = strchr(c->line, ' '), *query = strchr(path, '?');

    *q = (struct asked){s, *c};
    *path++ = '\0';
    if (query)
        *query++ = '\0';
    (void)snprintf(agent, sizeof agent, "%s/1", fresh(s, "agent"));
    (void)snprintf(user, sizeof user, "%s", fresh(s, "user"));
    s->in_flight++;
    (void)sl_apiserver_call(s->api,
                            &(struct sl_api_request){.method = c->line,
                                                     .path = path,
                                                     .query = query ? query : "",
                                                     .accept = "",
                                                     .content_type = c->type ? c->type : "",
                                                     .user_agent = agent,
                                                     .user = user,
                                                     .groups = groups,
                                                     .body = c->body,
                                                     .len = c->body ? strlen(c->body) : 0},
                            &(struct sl_api_sink){.ctx = q, .answer = on_answer});
    path[-1] = ' ';
    if (query)
        query[-1] = '?';
}

/* All that was asked for is sent, and answered. */
static void flush(struct soak *s) {
    while (s->next_call < s->calls.n || s->in_flight) {
        while (s->next_call < s->calls.n && s->in_flight < IN_FLIGHT)
            begin_call(s, &s->calls.v[s->next_call++]);
        turn(s, BUSY_STEP, true);
    }
    sl_vec_clear(&s->calls);
    s->next_call = 0;
}

static void ask(struct soak *s, const char *type, const char *fmt, ...) _printf_(3, 4);
/* With the body that was prepared, if there is one. */
static void ask(struct soak *s, const char *type, const char *fmt, ...) {
    char line[PATH_BYTES];
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line || sl_buf_full(&s->body))
        die("a request is too long");
    struct call c = {.line = sl_strdup(line), .type = type};
    if (s->body.len) {
        c.body = sl_strdup(sl_buf_str(&s->body));
        for (char *at = c.body; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        sl_buf_clear(&s->body);
    }
    *sl_vec_push(&s->calls) = c;
}

/* metadata, up to the brace that ends it. labels: more of them, with a comma in front. */
static void head_with(struct soak *s, const char *name, const char *labels) {
    sl_buf_printf(&s->body,
                  "{'metadata':{'name':'%s','labels':{'%s':'%s','app':'%s'%s},'annotations':{'%s':"
                  "'%s'}",
                  name, fresh(s, "label"), fresh(s, "value"), fresh(s, "app"), labels,
                  fresh(s, "note"), fresh(s, "text"));
}

static void head(struct soak *s, const char *name) {
    head_with(s, name, "");
}

static void make(struct soak *s, const char *path) {
    ask(s, SL_JSON, "POST %s?fieldManager=%s", path, fresh(s, "manager"));
    s->made++;
}

/* In a namespace. */
static void make_in(struct soak *s, const char *api, const char *ns, const char *plural) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.100s/namespaces/%.100s/%.100s", api, ns, plural);
    make(s, path);
}

/* ---- ever new objects ---- */

struct place {
    char ns[40], flavor[40], cq[40], class[40], node[40], group[40], plural[40], check[40],
        cohort[40], topology[40], priority[40];
};

static void put_name(struct soak *s, char out[40], const char *stem) {
    (void)snprintf(out, 40, "%s", fresh(s, stem));
}

static void name_place(struct soak *s, struct place *p) {
    put_name(s, p->ns, "ns");
    put_name(s, p->flavor, "flavor");
    put_name(s, p->cq, "cq");
    put_name(s, p->class, "class");
    put_name(s, p->node, "node");
    put_name(s, p->group, "group");
    put_name(s, p->plural, "kinds");
    put_name(s, p->check, "check");
    put_name(s, p->cohort, "cohort");
    put_name(s, p->topology, "topology");
    put_name(s, p->priority, "priority");
}

static void put_crd(struct soak *s, const struct place *p, const char *note) {
    sl_buf_printf(
        &s->body,
        "{'metadata':{'name':'%s.%s.example.com'},'spec':{'group':'%s.example.com','names':{"
        "'plural':'%s','singular':'%s-1','kind':'K%s','listKind':'K%sList'},'scope':"
        "'Namespaced','versions':[{'name':'v1','served':true,'storage':true,'schema':{"
        "'openAPIV3Schema':{'type':'object','description':'%s','properties':{'spec':{'type':"
        "'object','properties':{'%s':{'type':'integer'},'n':{'type':'integer'}},"
        "'x-kubernetes-validations':[{'rule':'!has(self.n) || self.n < 1000'}]}}}}}]}}",
        p->plural, p->group, p->group, p->plural, p->plural, p->plural + 6, p->plural + 6, note,
        fresh(s, "field"));
}

static void make_cluster_scoped(struct soak *s, const struct place *p) {
    head(s, p->ns);
    sl_buf_puts(&s->body, "}}");
    make(s, "/api/v1/namespaces");
    put_crd(s, p, fresh(s, "text"));
    make(s, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    head_with(s, p->node, ",'sluice.dev/simulated':'true'");
    /* A guest of the runtime: its pods are simulated. */
    sl_buf_printf(&s->body,
                  "},'spec':{'taints':[{'key':'%s','value':'%s','effect':'NoSchedule'}]},'status':{"
                  "'capacity':{'cpu':'8','pods':'20','example.com/%s':'4'},'allocatable':{'cpu':"
                  "'8','pods':'20','example.com/%s':'4'}}}",
                  p->node, fresh(s, "taint"), p->cq, p->cq);
    make(s, "/api/v1/nodes");
    sl_buf_printf(
        &s->body,
        "{" OF("WorkloadPriorityClass") "'metadata':{'name':'%s'},'value':100,'description':'%s'}",
        p->class, fresh(s, "text"));
    make(s, KUEUE "/workloadpriorityclasses");
    sl_buf_printf(&s->body, "{'metadata':{'name':'%s'},'value':100}", p->priority);
    make(s, "/apis/scheduling.k8s.io/v1/priorityclasses");
    sl_buf_printf(
        &s->body,
        "{" OF("AdmissionCheck") "'metadata':{'name':'%s'},'spec':{'controllerName':'%s'}}",
        p->check, fresh(s, "controller"));
    make(s, KUEUE "/admissionchecks");
    sl_buf_printf(&s->body,
                  "{" OF("Topology") "'metadata':{'name':'%s'},'spec':{'levels':[{'nodeLabel':'%s'}"
                                     ",{'nodeLabel':"
                                     "'kubernetes.io/hostname'}]}}",
                  p->topology, fresh(s, "level"));
    make(s, KUEUE "/topologies");
    sl_buf_printf(&s->body, "{" OF("Cohort") "'metadata':{'name':'%s'},'spec':{'parentName':'%s'}}",
                  p->cohort, fresh(s, "parent"));
    make(s, KUEUE "/cohorts");
    sl_buf_printf(&s->body,
                  "{" OF("ResourceFlavor") "'metadata':{'name':'%s'},'spec':{'tolerations':[{'key':"
                                           "'%s','operator':"
                                           "'Exists'}]}}",
                  p->flavor, fresh(s, "key"));
    make(s, KUEUE "/resourceflavors");
    sl_buf_printf(&s->body,
                  "{" OF("ClusterQueue") "'metadata':{'name':'%s'},'spec':{'cohortName':'%s','"
                                         "namespaceSelector':{},"
                                         "'preemption':{'withinClusterQueue':'LowerPriority'},'"
                                         "resourceGroups':[{"
                                         "'coveredResources':['cpu'],'flavors':[{'name':'%s','"
                                         "resources':[{'name':'cpu',"
                                         "'nominalQuota':'40'}]}]}]}}",
                  p->cq, p->cohort, p->flavor);
    make(s, KUEUE "/clusterqueues");
}

static void put_pod_spec(struct soak *s, const struct place *p, const char *more) {
    sl_buf_printf(&s->body,
                  "{'restartPolicy':'Never','tolerations':[{'key':'%s','operator':'Exists'}],"
                  "'containers':[{'name':'%s','image':'%s','resources':{'requests':{'cpu':'10m'}}}]"
                  "%s}",
                  p->node, fresh(s, "c"), fresh(s, "image"), more);
}

static void make_job(struct soak *s, const struct place *p, bool queued, bool ends) {
    char labels[120] = "";

    if (queued)
        (void)snprintf(labels, sizeof labels,
                       ",'" Q "queue-name':'queue','" Q "priority-class':'%s'", p->class);
    head_with(s, fresh(s, "job"), labels);
    sl_buf_printf(&s->body,
                  "},'spec':{'parallelism':1,'completions':1,'suspend':%s,'template':{'metadata':{"
                  "'labels':{'%s':'%s'},'annotations':{'sluice.dev/run-for':'%s'}},'spec':",
                  queued ? "true" : "false", fresh(s, "label"), fresh(s, "value"),
                  ends ? "100ms" : "1h");
    put_pod_spec(s, p, "");
    sl_buf_puts(&s->body, "}}}");
    make_in(s, "/apis/batch/v1", p->ns, "jobs");
}

static void make_pod(struct soak *s, const struct place *p, const char *more) {
    head(s, fresh(s, "pod"));
    sl_buf_puts(&s->body, "},'spec':");
    put_pod_spec(s, p, more);
    sl_buf_puts(&s->body, "}");
    make_in(s, "/api/v1", p->ns, "pods");
}

static void make_group(struct soak *s, const struct place *p) {
    char group[40];
    put_name(s, group, "group");
    for (int i = 0; i < 2; i++) {
        sl_buf_printf(&s->body,
                      "{'metadata':{'name':'%s','labels':{'" Q "queue-name':'queue','" Q
                      "pod-group-name':'%s'},'annotations':{'" Q "pod-group-total-count':'2',"
                      "'sluice.dev/run-for':'100ms'}},'spec':",
                      fresh(s, "pod"), group);
        put_pod_spec(s, p, "");
        sl_buf_puts(&s->body, "}");
        make_in(s, "/api/v1", p->ns, "pods");
    }
}

static void make_set(struct soak *s, const struct place *p, const char *plural, bool queued) {
    char app[40];
    put_name(s, app, "app");
    sl_buf_printf(&s->body, "{'metadata':{'name':'%s'", fresh(s, "set"));
    if (queued)
        sl_buf_puts(&s->body, ",'labels':{'" Q "queue-name':'queue'}");
    sl_buf_printf(&s->body,
                  "},'spec':{'replicas':1,%s'selector':{'matchLabels':{'%s':'x'}},'template':{"
                  "'metadata':{'labels':{'%s':'x'}},'spec':{'tolerations':[{'key':'%s','operator':"
                  "'Exists'}],'containers':[{'name':'%s','image':'%s','resources':{'requests':{"
                  "'cpu':'10m'}}}]}}}}",
                  strcmp(plural, "statefulsets") == 0 ? "'serviceName':'none'," : "", app, app,
                  p->node, fresh(s, "c"), fresh(s, "image"));
    make_in(s, "/apis/apps/v1", p->ns, plural);
}

static void make_small(struct soak *s, const struct place *p) {
    char group[80];

    for (int i = 0; i < 24; i++) {
        head(s, fresh(s, "map"));
        sl_buf_printf(&s->body, "},'data':{'%s':'%s'}}", fresh(s, "key"), fresh(s, "value"));
        make_in(s, "/api/v1", p->ns, "configmaps");
    }
    for (int i = 0; i < 12; i++) {
        head(s, fresh(s, "secret"));
        sl_buf_printf(&s->body, "},'stringData':{'%s':'%s'}}", fresh(s, "key"), fresh(s, "value"));
        make_in(s, "/api/v1", p->ns, "secrets");
    }
    for (int i = 0; i < 8; i++) {
        head(s, fresh(s, "lease"));
        sl_buf_printf(&s->body, "},'spec':{'holderIdentity':'%s'}}", fresh(s, "holder"));
        make_in(s, "/apis/coordination.k8s.io/v1", p->ns, "leases");
    }
    for (int i = 0; i < 8; i++) {
        sl_buf_printf(&s->body,
                      "{'metadata':{'name':'%s'},'involvedObject':{'kind':'Pod','namespace':'%s',"
                      "'name':'%s'},'reason':'%s','message':'%s','type':'Normal','source':{"
                      "'component':'%s'}}",
                      fresh(s, "event"), p->ns, fresh(s, "pod"), fresh(s, "Reason"),
                      fresh(s, "text"), fresh(s, "component"));
        make_in(s, "/api/v1", p->ns, "events");
    }
    for (int i = 0; i < 2; i++) {
        head(s, fresh(s, "account"));
        sl_buf_puts(&s->body, "}}");
        make_in(s, "/api/v1", p->ns, "serviceaccounts");
        head(s, fresh(s, "service"));
        sl_buf_printf(&s->body, "},'spec':{'selector':{'%s':'x'},'ports':[{'port':80}]}}",
                      fresh(s, "app"));
        make_in(s, "/api/v1", p->ns, "services");
        head(s, fresh(s, "claim"));
        sl_buf_puts(&s->body, "},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{"
                              "'storage':'1Gi'}}}}");
        make_in(s, "/api/v1", p->ns, "persistentvolumeclaims");
    }
    (void)snprintf(group, sizeof group, "/apis/%s.example.com/v1", p->group);
    for (int i = 0; i < 6; i++) {
        head(s, fresh(s, "thing"));
        sl_buf_printf(&s->body, "},'apiVersion':'%s.example.com/v1','kind':'K%s','spec':{'n':%d}}",
                      p->group, p->plural + 6, i);
        make_in(s, group, p->ns, p->plural);
    }
}

static void make_workloads(struct soak *s, const struct place *p) {
    char more[200];

    sl_buf_printf(&s->body,
                  "{" OF("LocalQueue") "'metadata':{'name':'queue'},'spec':{'clusterQueue':'%s'}}",
                  p->cq);
    make_in(s, KUEUE, p->ns, "localqueues");
    for (int i = 0; i < 4; i++)
        make_job(s, p, false, i != 0);
    for (int i = 0; i < 3; i++)
        make_job(s, p, true, i != 0);
    for (int i = 0; i < 4; i++)
        make_pod(s, p, "");
    (void)snprintf(more, sizeof more, ",'nodeSelector':{'%s':'%s'}", fresh(s, "label"),
                   fresh(s, "value"));
    make_pod(s, p, more);
    (void)snprintf(more, sizeof more, ",'nodeName':'%s'", fresh(s, "absent"));
    make_pod(s, p, more);
    (void)snprintf(more, sizeof more,
                   ",'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'%s',"
                   "'whenUnsatisfiable':'ScheduleAnyway','labelSelector':{'matchLabels':{'%s':"
                   "'x'}}}]",
                   fresh(s, "zone"), fresh(s, "app"));
    make_pod(s, p, more);
    make_group(s, p);
    make_set(s, p, "deployments", false);
    make_set(s, p, "deployments", true);
    make_set(s, p, "replicasets", false);
    make_set(s, p, "statefulsets", true);
    head(s, fresh(s, "cron"));
    sl_buf_puts(&s->body, "},'spec':{'schedule':'* * * * *','jobTemplate':{'spec':{'template':{"
                          "'spec':");
    put_pod_spec(s, p, "");
    sl_buf_puts(&s->body, "}}}}}");
    make_in(s, "/apis/batch/v1", p->ns, "cronjobs");
}

/* Others write, too, each under a name of their own; and somebody reads. */
static void talk(struct soak *s, const struct place *p) {
    put_crd(s, p, fresh(s, "text"));
    ask(s, SL_MERGE_PATCH,
        "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s.%s.example.com?"
        "fieldManager=%s",
        p->plural, p->group, fresh(s, "manager"));
    sl_buf_printf(&s->body, "{'metadata':{'annotations':{'%s':'%s'},'labels':{'%s':'x'}}}",
                  fresh(s, "note"), fresh(s, "text"), fresh(s, "label"));
    ask(s, SL_MERGE_PATCH, "PATCH /api/v1/namespaces/%s?fieldManager=%s", p->ns,
        fresh(s, "manager"));
    sl_buf_printf(&s->body,
                  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'applied'},'data':{"
                  "'%s':'x'}}",
                  fresh(s, "key"));
    ask(s, SL_APPLY_PATCH,
        "PATCH /api/v1/namespaces/%s/configmaps/applied?fieldManager=%s&force=true", p->ns,
        fresh(s, "manager"));
    ask(s, NULL, "GET /api/v1/namespaces/%s/configmaps?limit=5&labelSelector=%s!=x", p->ns,
        fresh(s, "label"));
    ask(s, NULL, "GET /api/v1/namespaces/%s/pods/%s", p->ns, fresh(s, "pod"));
    ask(s, NULL, "GET /openapi/v3/apis/%s.example.com/v1", p->group);
}

/* Pods on nodes that were never there, which have the longest names that there may be. */
static void brief_pods(struct soak *s, const struct place *p) {
    char names[BRIEF][40];

    for (uint32_t i = 0; i < BRIEF; i++) {
        put_name(s, names[i], "brief");
        sl_buf_printf(&s->body,
                      "{'metadata':{'name':'%s'},'spec':{'nodeName':'%0230" PRIx64 "',"
                      "'containers':[{'name':'c','image':'i'}]}}",
                      names[i], s->serial++);
        make_in(s, "/api/v1", p->ns, "pods");
    }
    flush(s);
    for (uint32_t i = 0; i < BRIEF; i++)
        ask(s, NULL, "DELETE /api/v1/namespaces/%s/pods/%s?gracePeriodSeconds=0", p->ns, names[i]);
    flush(s);
}

static void go(struct soak *s, const struct place *p) {
    static const char *const scoped[] = {"/api/v1/nodes",
                                         KUEUE "/workloadpriorityclasses",
                                         "/apis/scheduling.k8s.io/v1/priorityclasses",
                                         KUEUE "/admissionchecks",
                                         KUEUE "/topologies",
                                         KUEUE "/cohorts",
                                         KUEUE "/clusterqueues",
                                         KUEUE "/resourceflavors"};
    const char *names[] = {p->node,     p->class,  p->priority, p->check,
                           p->topology, p->cohort, p->cq,       p->flavor};

    ask(s, NULL, "DELETE /api/v1/namespaces/%s", p->ns);
    ask(s, NULL, "DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s.%s.example.com",
        p->plural, p->group);
    for (size_t i = 0; i < SL_LEN(scoped); i++)
        ask(s, NULL, "DELETE %s/%s", scoped[i], names[i]);
}

static void round_trip(struct soak *s) {
    struct place p[PLACES];

    for (uint32_t i = 0; i < PLACES; i++) {
        name_place(s, &p[i]);
        make_cluster_scoped(s, &p[i]);
    }
    flush(s);
    for (uint32_t i = 0; i < PLACES; i++) {
        make_workloads(s, &p[i]);
        make_small(s, &p[i]);
    }
    flush(s);
    for (uint32_t i = 0; i < PLACES; i++)
        talk(s, &p[i]);
    flush(s);
    run(s, 3 * SL_SEC, STEP);
    for (uint32_t i = 0; i < SL_LEN(proofs); i++) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, proofs[i].list, p[0].ns);
        ask(s, NULL, "GET %s", path);
        sl_vec_last(&s->calls).proof = i + 1;
    }
    flush(s);
    brief_pods(s, &p[0]);
    s->rounds++;
    for (uint32_t i = 0; i < PLACES; i++)
        go(s, &p[i]);
    flush(s);
}

static uint64_t stored(const struct soak *s) {
    struct sl_apiserver_stats st = {0};
    sl_apiserver_stats(s->api, &st);
    return st.objects;
}

/* Everything goes: pods end, namespaces are emptied, events lapse. */
static void rest(struct soak *s) {
    run(s, 10 * SL_SEC, STEP);
    for (int i = 0; i < 10 && stored(s) > s->at_first; i++)
        run(s, 30 * SL_MINUTE, LONG_STEP);
    if (stored(s) > s->at_first)
        die("objects stay that should have gone");
    run(s, 20 * SL_MINUTE, LONG_STEP);
}

/* ---- figures ---- */

struct figures {
    size_t heap, resident, file;
};

static size_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static struct figures measure(struct soak *s) {
    struct mallinfo2 x = mallinfo2();
    struct figures f = {.heap = x.uordblks + x.hblkhd};
    unsigned long pages = 0, rss = 0;
    char wal[120];
    FILE *o = fopen("/proc/self/statm", "re");

    if (o && fscanf(o, "%lu %lu", &pages, &rss) == 2)
        f.resident = rss * 4096;
    if (o)
        (void)fclose(o);
    (void)snprintf(wal, sizeof wal, "%s-wal", s->file);
    f.file = size_of(s->file) + size_of(wal);
    return f;
}

static size_t mean(const size_t *v, uint32_t quarter) {
    size_t sum = 0;
    for (uint32_t i = 0; i < QUARTER; i++)
        sum += v[quarter * QUARTER + i];
    return sum / QUARTER;
}

/* The last quarter against an earlier one. */
static bool flat(const char *what, const size_t *v, uint32_t quarter, size_t slack) {
    size_t first = mean(v, quarter), last = mean(v, 3);
    bool is = last <= first + first / SLOPE_PARTS + slack;

    (void)printf("soak: %s %zu -> %zu bytes (%+.2f %%): %s\n", what, first, last,
                 100.0 * ((double)last - (double)first) / (double)first, is ? "flat" : "NOT flat");
    return is;
}

int main(int argc, char **argv) {
    uint64_t objects = 40000, seed = 1;
    uint32_t past = 0;
    static struct soak s;
    size_t heap[RESTS], resident[RESTS], file[RESTS];

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--objects") == 0 && i + 1 < argc)
            objects = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--past") == 0 && i + 1 < argc)
            past = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--verbose") == 0)
            s.verbose = true;
        else
            die("usage: soak [--objects N] [--past N] [--seed S] [--verbose]");
    }
    sl_log_set(SL_LOG_ERROR);
    open_world(&s, seed, past);
    run(&s, SL_MINUTE, STEP);
    s.at_first = stored(&s);
    uint64_t warm = objects / 2 < WARM_UP ? objects / 2 : WARM_UP;
    while (s.made < warm)
        round_trip(&s);
    for (uint32_t i = 0; i < RESTS; i++) {
        while (s.made < warm + (objects - warm) * (i + 1) / RESTS)
            round_trip(&s);
        rest(&s);
        struct figures f = measure(&s);
        heap[i] = f.heap;
        resident[i] = f.resident;
        file[i] = f.file;
        struct sl_apiserver_stats st = {0};
        sl_apiserver_stats(s.api, &st);
        if (s.verbose)
            (void)printf("%" PRIu64 " objects (%" PRIu64 " requests, %" PRIu64 " writes, %" PRIu64
                         " objects left): heap %zu, resident %zu, file %zu\n",
                         s.made, st.requests, st.writes, st.objects, f.heap, f.resident, f.file);
        (void)fflush(stdout);
    }
    (void)printf("soak: %" PRIu64 " objects\n", s.made);
    size_t slack = objects < 2 * WARM_UP ? SHORT_SLACK : 0;
    bool good = flat("heap in use", heap, 0, slack);
    good &= flat("resident", resident, 0, slack);
    /* A row is written over by one of another size, and SQLite's pages split: how full they are on
     * the average settles when each was written over many times. */
    (void)printf("soak: file %zu bytes in the first quarter\n", mean(file, 0));
    good &= flat("file since the third quarter", file, 2, slack ? FILE_STEP : 0);
    for (size_t i = 0; i < SL_LEN(proofs); i++) {
        if (s.verbose || s.seen[i] < s.rounds / 2)
            (void)printf("soak: %s in %" PRIu64 " of %" PRIu64 " rounds\n", proofs[i].what,
                         s.seen[i], s.rounds);
        good &= s.seen[i] >= s.rounds / 2;
    }
    if (s.failed)
        (void)printf("soak: %" PRIu64 " requests failed\n", s.failed);
    close_world(&s);
    return good && !s.failed ? 0 : 1;
}
