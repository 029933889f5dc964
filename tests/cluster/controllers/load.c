/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many Jobs of one pod each through the whole of src/cluster/controllers on 1,000 nodes: what it
 * writes per Job, and how long it takes, the in-memory API's own work included.
 *
 *     load [JOBS] [PODS PER JOB]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster/controllers/core/cluster_int.h"
#include "cluster/scheduler/scheduler.h"
#include "core/base/collection/vec.h"
#include "core/base/mem.h"
#include "fakeapi.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define NODES 1000u
/* Per pod: three of its Job, its creation, its binding, its finalizer, three events. */
#define MAX_WRITES 9.1

struct world {
    struct fakeapi *api;
    struct sl_cluster *c;
    SL_VEC(char *) pods;
    uint32_t complete, writes[3];
};

static void kubelet(void *ctx, uint64_t arg) {
    struct world *w = ctx;
    static const char *const bodies[] = {"{\"status\":{\"phase\":\"Running\",\"conditions\":[{"
                                         "\"type\":\"Ready\",\"status\":\"True\"}]}}",
                                         "{\"status\":{\"phase\":\"Succeeded\",\"conditions\":[{"
                                         "\"type\":\"Ready\",\"status\":\"False\"}]}}"};
    char path[300];
    (void)snprintf(path, sizeof path, "/api/v1/namespaces/default/pods/%s/status",
                   w->pods.v[arg >> 1]);
    (void)fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH, bodies[arg & 1], NULL);
    if (!(arg & 1))
        fakeapi_at(w->api, fakeapi_now(w->api) + 2 * SL_SEC, kubelet, w, arg | 1);
}

static bool has_complete(yyjson_val *job) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_at(job, "status.conditions"), i, n, v)
        if (strcmp(sl_json_str(v, "type"), "Complete") == 0)
            return true;
    return false;
}

static void changed(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;
    bool pod = strcmp(c->kind->kind, "Pod") == 0, job = strcmp(c->kind->kind, "Job") == 0;
    if (c->client != FAKEAPI_NOBODY)
        w->writes[pod ? 1 : job ? 0 : 2]++;
    if (pod && c->now && c->before && *sl_json_str(c->now, "spec.nodeName") &&
        !*sl_json_str(c->before, "spec.nodeName")) {
        *sl_vec_push(&w->pods) = sl_strdup(sl_json_str(c->now, "metadata.name"));
        fakeapi_at(w->api, fakeapi_now(w->api) + 10 * SL_MSEC, kubelet, w,
                   (uint64_t)(w->pods.n - 1) << 1);
    }
    if (job && c->now && has_complete(c->now) && !has_complete(c->before))
        w->complete++;
}

static void add_nodes(struct world *w) {
    for (uint32_t i = 0; i < NODES; i++) {
        char path[60], body[200];
        (void)snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"n-%u\"}}", i);
        (void)fakeapi_do(w->api, SL_POST, "/api/v1/nodes", SL_JSON, body, NULL);
        (void)snprintf(path, sizeof path, "/api/v1/nodes/n-%u/status", i);
        (void)fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH,
                         "{\"status\":{\"allocatable\":{\"cpu\":\"64\",\"pods\":\"110\"}}}", NULL);
    }
}

int main(int argc, char **argv) {
    uint32_t jobs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;
    uint32_t size = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    struct world w = {.api = fakeapi_new(1)};
    struct timespec a, b;
    char body[600];
    sl_log_set(SL_LOG_ERROR);
    fakeapi_on_change(w.api, changed, &w);
    add_nodes(&w);
    w.c = sl_cluster_new(&(struct sl_cluster_spec){
        .scheduler = &sl_scheduler, .client = fakeapi_port(w.api, 0), .seed = 1});
    for (uint32_t i = 0; i < jobs; i++) {
        (void)snprintf(
            body, sizeof body,
            "{\"metadata\":{\"name\":\"j-%u\"},\"spec\":{\"parallelism\":%u,"
            "\"completions\":%u,\"backoffLimit\":6,\"template\":{\"metadata\":{\"labels\":{"
            "\"job-name\":\"j-%u\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
            "\"name\":\"main\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}",
            i, size, size, i);
        (void)fakeapi_do(w.api, SL_POST, "/apis/batch/v1/namespaces/default/jobs", SL_JSON, body,
                         NULL);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &a);
    while (w.complete < jobs && fakeapi_now(w.api) < SL_HOUR) {
        sl_time at = fakeapi_next(w.api), own = sl_cluster_next(w.c);
        at = own < at ? own : at;
        (void)fakeapi_step(w.api, at > fakeapi_now(w.api) ? at : fakeapi_now(w.api));
        sl_cluster_tick(w.c);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    double writes = (double)(w.writes[0] + w.writes[1] + w.writes[2]) / (jobs * size);
    printf("# %u jobs of %u: %.2f s, by the virtual clock %.1f s; writes per pod: jobs %.2f, pods "
           "%.2f, events %.2f\n",
           jobs, size, s, (double)fakeapi_now(w.api) / 1e9, (double)w.writes[0] / (jobs * size),
           (double)w.writes[1] / (jobs * size), (double)w.writes[2] / (jobs * size));
    bool good = w.complete == jobs && writes <= MAX_WRITES;
    printf("%d passed, %d failed, 0 skipped\n", good, !good);
    sl_cluster_free(w.c);
    fakeapi_free(w.api);
    for (uint32_t i = 0; i < w.pods.n; i++)
        sl_freep(&w.pods.v[i]);
    sl_vec_free(&w.pods);
    return !good;
}
