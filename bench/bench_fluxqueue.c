/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler on the resource graph over the in-memory API: processor time of its turns, from the
 * work queue over the decisions to the bodies of the writes, for each pod that it binds. Pods only
 * name the scheduler; they are there when it starts.
 *
 * flux/decision-1k …   5,000 pods on 1,000 nodes, 20,000 on 10,000
 *
 * {"bench":"flux/decision-1k","value":9.1,"unit":"us"}
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/fmt.h"
#include "core/base/mem.h"
#include "fakeapi.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/log/log.h"
#include "manager/fluxqueue/fluxqueue.h"

#define TEXT 2048
#define PODS "/api/v1/namespaces/default/pods"
#define NODES "/api/v1/nodes"

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void make_node(struct fakeapi *api, int i) {
    char body[TEXT], path[64];
    sl_fmt(
        body, sizeof body,
        "{\"metadata\":{\"name\":\"node-%d\",\"labels\":{\"kubernetes.io/hostname\":\"node-%d\"}}}",
        i, i);
    sl_assert(fakeapi_do(api, SL_POST, NODES, SL_JSON, body, NULL) == 201);
    sl_fmt(path, sizeof path, NODES "/node-%d/status", i);
    sl_assert(fakeapi_do(api, SL_PATCH, path, SL_MERGE_PATCH, SL_JSON_CONST({
                             "status" : {
                                 "allocatable" : {"cpu" : "64", "memory" : "256Gi", "pods" : "110"},
                                 "conditions" : [ {"type" : "Ready", "status" : "True"} ]
                             }
                         }),
                         NULL) == 200);
}

static void make_pod(struct fakeapi *api, int i) {
    char body[TEXT];
    sl_fmt(body, sizeof body,
           "{\"metadata\":{\"name\":\"pod-%d\"},\"spec\":{\"schedulerName\":\"FluxionScheduler\","
           "\"containers\":[{\"name\":\"main\",\"image\":\"none\",\"resources\":{\"requests\":"
           "{\"cpu\":\"1\",\"memory\":\"64Mi\"}}}]}}",
           i);
    sl_assert(fakeapi_do(api, SL_POST, PODS, SL_JSON, body, NULL) == 201);
}

static void count_bound(void *ctx, yyjson_val *o) {
    *(int *)ctx += *sl_json_str(o, "spec.nodeName") != 0;
}

static void bench(const char *name, int nodes, int pods) {
    static const struct fakeapi_kind kind = {.group = "jobs.converged-computing.org",
                                             .version = "v1alpha1",
                                             .plural = "fluxjobs",
                                             .kind = "FluxJob",
                                             .flags = FAKEAPI_NAMESPACED | FAKEAPI_STATUS};
    static const char text[] = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
    struct sl_settings *settings = NULL;
    struct sl_err err = {0};
    struct fakeapi *api = fakeapi_new(1);
    int64_t spent = 0;
    int bound = 0;
    sl_assert(
        sl_settings_parse("config", text, sizeof text - 1, NULL, NULL, &settings, NULL, &err) >= 0);
    fakeapi_register(api, &kind);
    for (int i = 0; i < nodes; i++)
        make_node(api, i);
    for (int i = 0; i < pods; i++)
        make_pod(api, i);
    struct sl_fluxqueue *q = sl_fluxqueue_new(&(struct sl_fluxqueue_spec){
        .client = fakeapi_port(api, 0), .settings = settings, .instance = "bench", .seed = 1});
    sl_time until = fakeapi_now(api) + SL_MINUTE;
    while (fakeapi_now(api) < until) {
        int64_t t0 = now_ns();
        sl_fluxqueue_tick(q);
        sl_time next = sl_fluxqueue_next(q);
        spent += now_ns() - t0;
        (void)fakeapi_step(api, next < until ? next : until);
    }
    (void)fakeapi_each(api, PODS, count_bound, &bound);
    sl_assert(bound == pods);
    printf("{\"bench\":\"flux/%s\",\"value\":%.3f,\"unit\":\"us\",\"pods\":%d,\"nodes\":%d}\n",
           name, (double)spent / 1000 / pods, pods, nodes);
    (void)fflush(stdout);
    sl_fluxqueue_free(q);
    fakeapi_free(api);
    sl_settings_free(settings);
}

int main(void) {
    sl_log_set(SL_LOG_ERROR);
    bench("decision-1k", 1000, 5000);
    bench("decision-10k", 10000, 20000);
    return 0;
}
