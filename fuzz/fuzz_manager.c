/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of any shape, to the manager (stage_fz.h says how). All decoders of the controllers and
 * the lenient reading of queues and flavors stand behind it. "r" after any letter: a new manager
 * reads everything from the beginning. Whatever it is, the manager comes to rest, and records,
 * engine and sums agree.
 */
#include "kube/client/lease.h"
#include "manager/config/config.h"
#include "manager/controllers/core/manager.h"
#include "stage_fz.h"

#define MAX_MADE 64u
#define MAX_TURNS 4000u
#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"

struct world {
    struct stage stage; /* the first */
    struct sl_manager *m;
    struct sl_lease *lease;
    const struct sl_settings *settings;
    uint32_t client;
};

static const char *const collections[] = {
    "/apis/batch/v1/namespaces/ns/jobs",
    "/api/v1/namespaces/ns/pods",
    KUEUE "/namespaces/ns/workloads",
    KUEUE "/clusterqueues",
    KUEUE "/namespaces/ns/localqueues",
    KUEUE "/resourceflavors",
    KUEUE "/cohorts",
    KUEUE "/workloadpriorityclasses",
    KUEUE "/admissionchecks",
    KUEUE "/topologies",
    KUEUE "/provisioningrequestconfigs",
    "/apis/autoscaling.x-k8s.io/v1/namespaces/ns/provisioningrequests",
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/apis/apps/v1/namespaces/ns/statefulsets",
    "/apis/apps/v1/namespaces/ns/deployments",
    "/apis/leaderworkerset.x-k8s.io/v1/namespaces/ns/leaderworkersets",
    "/apis/coordination.k8s.io/v1/namespaces/ns/leases",
    "/api/v1/namespaces/ns/limitranges",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/apps/v1/namespaces/ns/replicasets",
    "/api/v1/namespaces/ns/podtemplates",
};

static void run(struct stage *g, sl_span d) {
    struct world *w = SL_CONTAINER_OF(g, struct world, stage);
    sl_time until = fakeapi_now(g->a) + d;
    struct sl_err err = {0};

    for (uint32_t i = 0; i < MAX_TURNS; i++) {
        sl_lease_tick(w->lease);
        sl_manager_tick(w->m);
        sl_time wish = sl_manager_next(w->m), other = sl_lease_next(w->lease);
        wish = other < wish ? other : wish;
        if (!fakeapi_step(g->a, wish < until ? wish : until) && fakeapi_now(g->a) >= until)
            break;
    }
    if (sl_manager_check(w->m, &err) < 0)
        sl_assert(!*err.text); /* for a debugger */
}

static void start(struct world *w) {
    struct sl_kube_client *client = fakeapi_port(w->stage.a, w->client);
    struct sl_manager_parts parts = {
        .core = true, .scheduler = true, .tas = true, .provisioning = true, .elasticjobs = true};

    memset(parts.framework, true, sizeof parts.framework);
    w->m = sl_manager_new(&(struct sl_manager_spec){
        .client = client, .settings = w->settings, .parts = parts, .instance = "fuzz", .seed = 1});
    w->lease = sl_lease_new(
        client, &(struct sl_lease_spec){"ns", "x", "me", 4 * SL_SEC, 3 * SL_SEC, SL_SEC}, 1);
}

static void stop(struct world *w) {
    fakeapi_kill(w->stage.a, w->client);
    sl_manager_free(w->m);
    sl_lease_free(w->lease);
}

static bool own(struct stage *g, const char *s, size_t len) {
    struct world *w = SL_CONTAINER_OF(g, struct world, stage);

    (void)len;
    if (s[1] != 'r' || w->client + 1 >= FAKEAPI_CLIENTS)
        return false;
    stop(w);
    w->client++;
    start(w);
    run(g, 5 * SL_SEC);
    return true;
}

static struct sl_settings *settings(void) {
    static const char config[] = "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
                                 "kind: Configuration\n"
                                 "manageJobsWithoutQueueName: true\n"
                                 "waitForPodsReady: {timeout: 1h}\n";
    struct sl_settings *s;
    struct sl_warnings warnings;
    struct sl_err err;

    sl_warnings_init(&warnings);
    sl_assert(sl_settings_parse("fuzz", config, sizeof config - 1, "kueue-system", NULL, &s,
                                &warnings, &err) >= 0);
    sl_warnings_done(&warnings);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct sl_settings *kept;
    struct world w = {.stage = {.collections = collections,
                                .n_collections = SL_LEN(collections),
                                .max_made = MAX_MADE,
                                .run = run,
                                .own = own}};
    struct sl_buf out = SL_BUF((size_t)16 << 20);

    kept = kept ? kept : settings();
    w.settings = kept;
    stage_init(&w.stage, false);
    start(&w);
    run(&w.stage, 2 * SL_SEC);
    stage_play(&w.stage, data, size);
    sl_manager_dump(w.m, &out);
    sl_buf_done(&out);
    stop(&w);
    fakeapi_free(w.stage.a);
    return 0;
}
