/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JobSets through a queue that takes two of them at a time, while requests are lost and late, we
 * are killed, the queue is drained and users delete and make them anew. Whatever happens: what runs
 * is whole and within the quota, and in the end all have finished and nothing is left of an
 * admission in one that is not admitted.
 */
#include "core/base/prng.h"
#include "flow_fixture.h"

#define JOBSETS "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets"
#define SETS 5
#define AT_A_TIME 2
#define TICK (500 * SL_MSEC)

static const struct fakeapi_kind jobset = {
    "jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", FAKEAPI_NAMESPACED | FAKEAPI_STATUS, NULL};

struct stage {
    struct world w;
    struct sl_prng p;
    uint64_t seed;
    uint32_t client; /* the living one */
    sl_time late;    /* since then one runs that a dead client started; 0: none */
    bool hold;       /* nothing ends */
};

/* ---- what must hold ---- */

static bool runs(yyjson_val *o) {
    yyjson_val *status = yyjson_arr_get_first(sl_json_at(o, "status.replicatedJobsStatus"));
    return o && (!sl_json_bool(o, "spec.suspend", false) || sl_json_int(status, "active", 0) > 0);
}

static bool ended(yyjson_val *o) {
    return sl_json_condition(o, "Completed");
}

static void count_running(void *ctx, yyjson_val *o) {
    *(int *)ctx += runs(o) && !ended(o);
}

/* Podsets that have what the flavor says. */
static int placed(yyjson_val *o) {
    size_t i, n;
    yyjson_val *rj;
    int k = 0;
    yyjson_arr_foreach (sl_json_at(o, "spec.replicatedJobs"), i, n, rj)
        k += strcmp(sl_json_str(rj, "template.spec.template.spec.nodeSelector.type"), "spot") == 0;
    return k;
}

static void on_change(void *ctx, const struct fakeapi_change *c) {
    struct stage *s = ctx;
    int n = 0;
    if (strcmp(c->kind->plural, "jobsets") != 0 || !c->now)
        return;
    (void)fakeapi_each(s->w.api, JOBSETS, count_running, &n);
    /* What somebody had sent before he died may arrive; it is stopped again. */
    bool dead = c->client != FAKEAPI_NOBODY && c->client != s->client;
    if (n <= AT_A_TIME)
        s->late = 0;
    else if (dead && !s->late)
        s->late = fakeapi_now(s->w.api);
    if (n > AT_A_TIME && (!s->late || fakeapi_now(s->w.api) - s->late > SL_MINUTE))
        fail_msg("seed %llu: %d run, %d fit", (unsigned long long)s->seed, n, AT_A_TIME);
    int k = placed(c->now);
    if (k != (sl_json_bool(c->now, "spec.suspend", false) ? 0 : 2))
        fail_msg("seed %llu: %s: %d podsets have a place", (unsigned long long)s->seed, c->key, k);
}

/* ---- its controller ---- */

static void act(void *ctx, yyjson_val *o) {
    struct stage *s = ctx;
    yyjson_val *status = yyjson_arr_get_first(sl_json_at(o, "status.replicatedJobsStatus"));
    bool active = sl_json_int(status, "active", 0) > 0;
    bool suspended = sl_json_bool(o, "spec.suspend", false);
    char path[256];
    const char *body = NULL;
    if (ended(o) || sl_prng_below(&s->p, 3))
        return;
    if (suspended != !active)
        body = active ? "{'status':{'replicatedJobsStatus':[{'name':'a','active':0}]}}"
                      : "{'status':{'replicatedJobsStatus':[{'name':'a','active':1,'ready':1}]}}";
    else if (active && !s->hold && sl_prng_below(&s->p, 4) == 0)
        body = "{'status':{'replicatedJobsStatus':[{'name':'a','succeeded':1}],'conditions':[{"
               "'type':'Completed','status':'True','message':'done'}]}}";
    (void)snprintf(path, sizeof path, JOBSETS "/%s/status", sl_json_str(o, "metadata.name"));
    if (body)
        patch(&s->w, path, body);
}

static void act_on_all(struct stage *s) {
    char path[256];
    for (int i = 0; i < SETS; i++) {
        (void)snprintf(path, sizeof path, JOBSETS "/j%d", i);
        yyjson_val *o = fakeapi_get(s->w.api, path);
        if (o)
            act(s, o);
    }
}

static void play(struct stage *s, sl_span span) {
    for (sl_span t = 0; t < span; t += TICK) {
        run(&s->w, TICK);
        act_on_all(s);
    }
}

/* ---- users ---- */

static void make(struct stage *s, int i) {
    char path[256], text[2048];
    (void)snprintf(path, sizeof path, JOBSETS "/j%d", i);
    if (fakeapi_get(s->w.api, path))
        return;
    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'j%d','labels':{'" Q "queue-name':'q'%s}},'spec':{'suspend':true,"
        "'replicatedJobs':[{'name':'a','replicas':1,'template':{'spec':{'template':{'spec':{"
        "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]}}}}},{'name':"
        "'b','replicas':1,'template':{'spec':{'template':{'metadata':{'labels':{'x':'y'}},'spec':{"
        "'nodeSelector':{'mine':'yes'},'containers':[{'name':'c','image':'i','resources':{"
        "'requests':{'cpu':'1'}}}]}}}}}]}}",
        i, i >= AT_A_TIME ? ",'" Q "priority-class':'high'" : "");
    create(&s->w, JOBSETS, text);
}

static void disturb(struct stage *s) {
    char path[256];
    int i = (int)sl_prng_below(&s->p, SETS);
    switch (sl_prng_below(&s->p, 6)) {
    case 0:
        (void)snprintf(path, sizeof path, JOBSETS "/j%d", i);
        if (fakeapi_get(s->w.api, path))
            request(&s->w, SL_DELETE, path, NULL, NULL);
        break;
    case 1:
        make(s, i);
        break;
    case 2:
        patch(&s->w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'HoldAndDrain'}}");
        break;
    case 3:
        patch(&s->w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'None'}}");
        break;
    case 4:
        if (s->client + 1 < FAKEAPI_CLIENTS)
            restart(&s->w, ++s->client);
        break;
    default:
        break;
    }
}

static void history(uint64_t seed) {
    struct sl_manager_parts parts = {.core = true, .scheduler = true};
    struct stage s = {.seed = seed, .hold = true};
    struct fakeapi_faults faults;
    parts.framework[SL_FW_JOBSET] = true;
    sl_prng_init(&s.p, seed);
    open_world(&s.w, seed,
               CONFIG "integrations:\n  frameworks: [\"jobset.x-k8s.io/jobset\"]\n"
                      "waitForPodsReady: {enable: false}\n",
               parts);
    fakeapi_register(s.w.api, &jobset);
    create(&s.w, "/api/v1/namespaces",
           "{'metadata':{'name':'ns','labels':{'kubernetes.io/metadata.name':'ns'}}}");
    create(&s.w, KUEUE "/resourceflavors",
           "{'metadata':{'name':'spot'},'spec':{'nodeLabels':{'type':'spot'}}}");
    create(&s.w, KUEUE "/clusterqueues",
           "{'metadata':{'name':'cq'},'spec':{'namespaceSelector':{},'preemption':{"
           "'withinClusterQueue':'LowerPriority'},'resourceGroups':[{"
           "'coveredResources':['cpu'],'flavors':[{'name':'spot','resources':[{'name':'cpu',"
           "'nominalQuota':'4'}]}]}]}}");
    create(&s.w, KUEUE "/namespaces/ns/localqueues",
           "{'metadata':{'name':'q'},'spec':{'clusterQueue':'cq'}}");
    create(&s.w, KUEUE "/workloadpriorityclasses", "{'metadata':{'name':'high'},'value':10}");
    fakeapi_on_change(s.w.api, on_change, &s);
    fakeapi_some_faults(&s.p, 20, &faults);
    faults.clock_step = 0;
    fakeapi_set_faults(s.w.api, &faults);
    for (int i = 0; i < AT_A_TIME; i++) /* the others come later, and are more urgent */
        make(&s, i);
    for (int i = 0; i < 25; i++) {
        play(&s, (sl_span)(1 + sl_prng_below(&s.p, 8)) * TICK);
        disturb(&s);
    }
    fakeapi_set_faults(s.w.api, NULL);
    fakeapi_cut(s.w.api, s.client);
    patch(&s.w, KUEUE "/clusterqueues/cq", "{'spec':{'stopPolicy':'None'}}");
    for (int i = 0; i < SETS; i++)
        make(&s, i);
    s.hold = false;
    play(&s, 240 * SL_SEC);
    for (int i = 0; i < SETS; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, JOBSETS "/j%d", i);
        if (!ended(fakeapi_get(s.w.api, path)))
            fail_msg("seed %llu: %s has not ended", (unsigned long long)seed, path);
    }
    fakeapi_on_change(s.w.api, NULL, NULL);
    end(&s.w);
}

static void test_histories(void **state) {
    const char *from = getenv("SEED"), *seeds = getenv("SL_SEEDS");
    uint64_t last = seeds ? strtoull(seeds, NULL, 10) / 100 : 20;
    (void)state;
    for (uint64_t seed = from ? strtoull(from, NULL, 10) : 1; seed <= (last ? last : 1); seed++)
        history(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
