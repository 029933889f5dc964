/*
 * Objects of any shape, to the manager: an API server that checks next to nothing, as one whose
 * CRDs were edited, or one that is hostile. All decoders of the controllers and the lenient reading
 * of queues and flavors stand behind it. Each line of the input is one thing that somebody does
 * there: a letter for the collection, one for what is done, and the body. c JSON   create    p JSON
 * merge into the object "x"    s JSON   into its status d        delete "x"    r   a new manager
 * reads everything from the beginning Whatever it is, the manager comes to rest, and records,
 * engine and sums agree.
 */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controllers/controllers.h"
#include "fakeapi.h"
#include "kube/lease.h"
#include "log/log.h"

#define MAX_LINES 24u
#define MAX_MADE 64u
#define MAX_TURNS 4000u
#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"

struct stage {
    struct fakeapi *a;
    struct sl_manager *m;
    struct sl_lease *lease;
    struct sl_settings *settings;
    uint32_t made;
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

/* A job may want a million pods. */
static int on_write(void *ctx, const struct fakeapi_write *w, struct sl_buf *why) {
    struct stage *g = ctx;

    (void)why;
    return !w->old && ++g->made > MAX_MADE ? 403 : 0;
}

static void run(struct stage *g, sl_span d) {
    sl_time until = fakeapi_now(g->a) + d;
    struct sl_err err = {0};

    for (uint32_t i = 0; i < MAX_TURNS; i++) {
        sl_lease_tick(g->lease);
        sl_manager_tick(g->m);
        sl_time wish = sl_manager_next(g->m), other = sl_lease_next(g->lease);
        wish = other < wish ? other : wish;
        if (!fakeapi_step(g->a, wish < until ? wish : until) && fakeapi_now(g->a) >= until)
            break;
    }
    if (sl_manager_check(g->m, &err) < 0)
        sl_assert(!*err.text); /* says what in a debugger */
}

static void start(struct stage *g, uint32_t client) {
    struct sl_parts parts = {
        .core = true, .scheduler = true, .tas = true, .provisioning = true, .elasticjobs = true};

    memset(parts.framework, true, sizeof parts.framework);
    g->m = sl_manager_new(&(struct sl_manager_spec){.port = fakeapi_port(g->a, client),
                                                    .settings = g->settings,
                                                    .parts = parts,
                                                    .instance = "fuzz",
                                                    .seed = 1});
    g->lease =
        sl_lease_new(fakeapi_port(g->a, client),
                     &(struct sl_lease_spec){"ns", "x", "me", 4 * SL_SEC, 3 * SL_SEC, SL_SEC}, 1);
}

static void stop(struct stage *g, uint32_t client) {
    fakeapi_kill(g->a, client);
    sl_manager_free(g->m);
    sl_lease_free(g->lease);
}

static void one(struct stage *g, const char *s, size_t len, uint32_t *client) {
    struct sl_buf path = SL_BUF(200), body = SL_BUF(1u << 20);

    if (len < 2)
        return;
    if (s[1] == 'r' && *client + 1 < FAKEAPI_CLIENTS) {
        stop(g, *client);
        start(g, ++*client);
        run(g, 5 * SL_SEC);
        return;
    }
    sl_buf_puts(&path, collections[(unsigned char)(s[0] - 'a') % SL_LEN(collections)]);
    sl_buf_add(&body, s + 2, len - 2);
    if (memchr(s + 2, '\0', len - 2) || body.overflow)
        sl_buf_clear(&body);
    if (s[1] != 'c')
        sl_buf_puts(&path, s[1] == 's' ? "/x/status" : "/x");
    if (s[1] == 'c')
        (void)fakeapi_do(g->a, SL_POST, sl_buf_str(&path), SL_JSON, sl_buf_str(&body), NULL);
    else if (s[1] == 'd')
        (void)fakeapi_do(g->a, SL_DELETE, sl_buf_str(&path), SL_JSON, sl_buf_str(&body), NULL);
    else
        (void)fakeapi_do(g->a, SL_PATCH, sl_buf_str(&path), SL_MERGE_PATCH, sl_buf_str(&body),
                         NULL);
    sl_buf_done(&path);
    sl_buf_done(&body);
    run(g, SL_SEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char config[] = "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
                                 "kind: Configuration\n"
                                 "manageJobsWithoutQueueName: true\n"
                                 "waitForPodsReady: {timeout: 1h}\n";
    const char *s = (const char *)data, *end = s + size;
    struct stage g = {.a = fakeapi_new(1)};
    struct sl_warnings warnings;
    struct sl_buf out = SL_BUF((size_t)16 << 20);
    struct sl_err err;
    uint32_t client = 0;

    sl_log_set(SL_LOG_ERROR);
    sl_warnings_init(&warnings);
    sl_assert(sl_settings_parse("fuzz", config, sizeof config - 1, "kueue-system", NULL,
                                &g.settings, &warnings, &err) >= 0);
    sl_warnings_done(&warnings);
    (void)fakeapi_do(g.a, SL_POST, "/api/v1/namespaces", SL_JSON,
                     "{\"metadata\":{\"name\":\"ns\",\"labels\":{}}}", NULL);
    start(&g, client);
    run(&g, 2 * SL_SEC);
    fakeapi_on_write(g.a, on_write, &g);
    for (uint32_t i = 0; s < end && i < MAX_LINES; i++) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        size_t len = (size_t)((nl ? nl : end) - s);
        one(&g, s, len, &client);
        s += len + 1;
    }
    run(&g, 5 * SL_SEC);
    sl_manager_dump(g.m, &out);
    sl_buf_done(&out);
    stop(&g, client);
    fakeapi_free(g.a);
    sl_settings_free(g.settings);
    return 0;
}
