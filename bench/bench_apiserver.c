/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded API server in process: creations, patches of a status, reads, lists and events of a
 * watch, on one core, in memory. Prints one JSON line per case; the time is the processor's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "cluster/apiserver/apiserver.h"
#include "core/base/mem.h"

#define OBJECTS 20000u
#define WATCHERS 8u

static const char pod[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-%u\",\"namespace\":"
    "\"default\",\"labels\":{\"app\":\"bench\","
    "\"job-name\":\"j\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\","
    "\"image\":\"busybox\",\"command\":"
    "[\"sh\",\"-c\",\"sleep "
    "1\"],\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"}}}]}}";
static const char job[] = "{\"apiVersion\":\"batch/"
                          "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j-%u\",\"namespace\":"
                          "\"default\",\"labels\":{\"app\":"
                          "\"bench\"}},\"spec\":{\"parallelism\":1,\"completions\":1,\"template\":{"
                          "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":"
                          "[{\"name\":\"main\",\"image\":\"busybox\",\"command\":[\"sh\",\"-c\","
                          "\"sleep 1\"],\"resources\":{\"requests\":{\"cpu\":\"100m\"}}"
                          "}]}}}}";
static const char status[] = "{\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-01-01T00:00:"
                             "00Z\",\"podIP\":\"10.0.0.%u\",\"conditions\":[{\"type\":\"Ready\","
                             "\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"
                             ",\"containerStatuses\":[{\"name\":\"main\",\"image\":"
                             "\"busybox\",\"imageID\":\"\",\"ready\":true,\"restartCount\":0,"
                             "\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}}}]}}";

struct bench {
    uv_loop_t loop;
    struct sl_apiserver *server;
    uint32_t answered, failed;
    uint64_t lines, bytes;
};

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_answer(void *ctx, const struct sl_api_answer *a) {
    struct bench *b = ctx;

    b->answered++;
    if (a->status >= 300 && b->failed++ == 0)
        fprintf(stderr, "%d %.*s\n", a->status, (int)a->len, a->body);
}

static void on_begin(void *ctx, const char *type) {
    (void)ctx;
    (void)type;
}

static bool on_piece(void *ctx, const char *bytes, size_t len) {
    struct bench *b = ctx;

    (void)bytes;
    b->lines++;
    b->bytes += len;
    return true;
}

static void on_end(void *ctx) {
    (void)ctx;
}

static void call(struct bench *b, const char *method, const char *path, const char *query,
                 const char *type, const char *body) {
    struct sl_api_sink sink = {
        .ctx = b, .answer = on_answer, .begin = on_begin, .piece = on_piece, .end = on_end};
    struct sl_api_request rq = {.method = method,
                                .path = path,
                                .query = query,
                                .content_type = type,
                                .user_agent = "bench/1",
                                .user = "admin",
                                .body = body,
                                .len = strlen(body)};
    (void)sl_apiserver_call(b->server, &rq, &sink);
}

/* Some requests per turn of the loop, as from a handful of clients. */
static void finish(struct bench *b, uint32_t wanted, bool all) {
    while (b->answered + (all ? 0 : 8) < wanted)
        (void)uv_run(&b->loop, UV_RUN_ONCE);
}

static void tell(const char *name, uint32_t n, double seconds) {
    printf("{\"bench\":\"apiserver\",\"case\":\"%s\",\"n\":%u,\"ns_per_op\":%.0f,\"per_second\":%."
           "0f}\n",
           name, n, seconds * 1e9 / n, n / seconds);
}

static void run(struct bench *b, const char *name, uint32_t n, const char *method, const char *path,
                const char *query, const char *type, const char *body) {
    char text[2048], where[256];
    double start = now();

    b->answered = 0;
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(where, sizeof where, path, i);
        (void)snprintf(text, sizeof text, body, i % 250);
        if (strcmp(method, "POST") == 0)
            (void)snprintf(text, sizeof text, body, i);
        call(b, method, where, query, type, text);
        finish(b, i + 1, false);
    }
    finish(b, n, true);
    tell(name, n, now() - start);
}

int main(void) {
    struct bench b = {.answered = 0};
    struct sl_err err;

    (void)uv_loop_init(&b.loop);
    double start = now();
    if (sl_apiserver_new(
            &(struct sl_apiserver_spec){.loop = &b.loop, .version = "v1.36.0", .address = ""},
            &b.server, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tell("start", 1, now() - start);
    run(&b, "create-pod", OBJECTS, "POST", "/api/v1/namespaces/default/pods", "", SL_JSON, pod);
    run(&b, "patch-status", OBJECTS, "PATCH", "/api/v1/namespaces/default/pods/p-%u/status", "",
        "application/strategic-merge-patch+json", status);
    run(&b, "apply-status", OBJECTS, "PATCH", "/api/v1/namespaces/default/pods/p-%u/status", "",
        SL_MERGE_PATCH, status);
    run(&b, "create-job", OBJECTS, "POST", "/apis/batch/v1/namespaces/default/jobs", "", SL_JSON,
        job);
    run(&b, "get", OBJECTS, "GET", "/api/v1/namespaces/default/pods/p-%u", "", "", "");
    run(&b, "list-20000", 10, "GET", "/api/v1/namespaces/default/pods", "", "", "");
    run(&b, "list-selected", 100, "GET", "/api/v1/pods", "labelSelector=app%3Dnone", "", "");
    for (uint32_t i = 0; i < WATCHERS; i++)
        call(&b, "GET", "/api/v1/pods", "watch=1&resourceVersion=1000000000", "", "");
    run(&b, "patch-watched-by-8", OBJECTS, "PATCH", "/api/v1/namespaces/default/pods/p-%u/status",
        "", SL_MERGE_PATCH, "{\"status\":{\"podIP\":\"10.0.1.%u\"}}");
    run(&b, "delete", OBJECTS, "DELETE", "/apis/batch/v1/namespaces/default/jobs/j-%u", "", "", "");
    sl_apiserver_free(b.server);
    while (uv_run(&b.loop, UV_RUN_NOWAIT))
        ;
    (void)uv_loop_close(&b.loop);
    return b.failed ? 1 : 0;
}
