/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of any shape, to the controllers of a cluster (stage_fz.h says how). Whatever they say,
 * the controllers come to rest and nothing is read past its end.
 */
#include "cluster/controllers/core/cluster.h"
#include "cluster/scheduler/scheduler.h"
#include "stage_fz.h"

#define MAX_PODS 64u
#define MAX_TURNS 4000u

struct world {
    struct stage stage; /* the first */
    struct sl_cluster *c;
};

static const char *const collections[] = {"/apis/apps/v1/namespaces/ns/deployments",
                                          "/apis/apps/v1/namespaces/ns/replicasets",
                                          "/apis/apps/v1/namespaces/ns/statefulsets",
                                          "/api/v1/namespaces/ns/pods",
                                          "/api/v1/namespaces/ns/configmaps",
                                          "/apis/batch/v1/namespaces/ns/jobs",
                                          "/api/v1/namespaces",
                                          "/api/v1/nodes",
                                          "/apis/batch/v1/namespaces/ns/cronjobs",
                                          "/apis/apps/v1/namespaces/ns/controllerrevisions",
                                          "/api/v1/namespaces/ns/persistentvolumeclaims",
                                          "/api/v1/namespaces/ns/serviceaccounts"};

static void run(struct stage *g, sl_span d) {
    struct world *w = SL_CONTAINER_OF(g, struct world, stage);
    sl_time until = fakeapi_now(g->a) + d;

    for (uint32_t i = 0; i < MAX_TURNS; i++) {
        sl_cluster_tick(w->c);
        sl_time wish = sl_cluster_next(w->c);
        if (!fakeapi_step(g->a, wish < until ? wish : until) && fakeapi_now(g->a) >= until)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct world w = {.stage = {.collections = collections,
                                .n_collections = SL_LEN(collections),
                                .max_made = MAX_PODS,
                                .run = run}};

    stage_init(&w.stage, true);
    w.c = sl_cluster_new(&(struct sl_cluster_spec){
        .scheduler = &sl_scheduler, .client = fakeapi_port(w.stage.a, 0), .seed = 1});
    run(&w.stage, 2 * SL_SEC);
    stage_play(&w.stage, data, size);
    sl_cluster_free(w.c);
    fakeapi_free(w.stage.a);
    return 0;
}
