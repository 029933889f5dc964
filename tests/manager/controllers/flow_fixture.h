/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of flows: the whole manager, engine and all, over the in-memory API under a virtual
 * clock. The test plays users and every other controller. Everything is inline, so that each test
 * takes what it wants.
 */
#ifndef SL_TESTS_MANAGER_CONTROLLERS_FLOW_FIXTURE_H
#define SL_TESTS_MANAGER_CONTROLLERS_FLOW_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fakeapi.h"
#include "lib/json/json.h"
#include "manager/config/config.h"
#include "manager/controllers/core/manager.h"
#include "manager/fluxqueue/fluxqueue.h"

#define Q "kueue.x-k8s.io/"
#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define WORKLOADS KUEUE "/namespaces/ns/workloads"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"
#define CONFIG "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
#define SETTLE (30 * SL_SEC)

struct world {
    struct fakeapi *api;
    struct sl_manager *m;
    struct sl_fluxqueue *q; /* of tests of exact nodes; NULL */
    struct sl_settings *settings;
    struct sl_metrics *metrics;
    struct sl_manager_parts parts;
    char text[4096]; /* what was shown last */
};

/* ---- acting ---- */

/* Quotes may be written as '. */
static inline void request(struct world *w, enum sl_kube_method method, const char *path,
                           const char *type, const char *text) {
    struct sl_buf out = SL_BUF_SHORT(1u << 20); /* for the message of a failure */
    char *body = text ? sl_strdup(text) : NULL;
    for (char *at = body; at && (at = strchr(at, '\''));)
        *at = '"';
    int status = fakeapi_do(w->api, method, path, type, body, &out);
    if (status < 200 || status > 299)
        fail_msg("%s: %d: %s", path, status, sl_buf_str(&out));
    sl_buf_done(&out);
    sl_freep(&body);
}

static inline void create(struct world *w, const char *path, const char *text) {
    request(w, SL_POST, path, SL_JSON, text);
}

static inline void patch(struct world *w, const char *path, const char *text) {
    request(w, SL_PATCH, path, SL_MERGE_PATCH, text);
}

static inline void run(struct world *w, sl_span span) {
    sl_time until = fakeapi_now(w->api) + span;
    for (;;) {
        if (w->q)
            sl_fluxqueue_tick(w->q);
        sl_manager_tick(w->m);
        sl_time a = fakeapi_next(w->api), b = sl_manager_next(w->m), next = a < b ? a : b;
        if (w->q)
            next = sl_time_min(next, sl_fluxqueue_next(w->q));
        if (next > until)
            break;
        (void)fakeapi_step(w->api, next);
    }
    fakeapi_advance(w->api, until);
    if (w->q)
        sl_fluxqueue_tick(w->q);
    sl_manager_tick(w->m);
}

/* ---- looking ---- */

static inline yyjson_val *at(struct world *w, const char *path, const char *field) {
    return sl_json_at(fakeapi_get(w->api, path), field);
}

static inline yyjson_val *condition_of(struct world *w, const char *path, const char *type) {
    yyjson_val *list = at(w, path, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach (list, i, n, c)
        if (strcmp(sl_json_str(c, "type"), type) == 0)
            return c;
    return NULL;
}

/* How many events have this reason and text; NULL: any. */
struct told {
    const char *reason, *kind, *name, *note, *action;
    uint32_t n;
};

static inline void count_told(void *ctx, yyjson_val *o) {
    struct told *t = ctx;
    const char *const want[] = {t->reason, t->kind, t->name, t->note, t->action};
    static const char *const fields[] = {"reason", "regarding.kind", "regarding.name", "note",
                                         "action"};
    bool all = true;
    for (size_t i = 0; i < SL_LEN(want); i++)
        all &= !want[i] || strcmp(sl_json_str(o, fields[i]), want[i]) == 0;
    t->n += all;
}

static inline uint32_t events(struct world *w, struct told t) {
    (void)fakeapi_each(w->api, EVENTS, count_told, &t);
    return t.n;
}

/* ---- the world ---- */

/* A manager with w->parts. */
static inline void start(struct world *w, uint32_t client, uint64_t seed) {
    struct sl_manager_spec spec = {.parts = w->parts,
                                   .client = fakeapi_port(w->api, client),
                                   .settings = w->settings,
                                   .metrics = w->metrics,
                                   .instance = "test",
                                   .seed = seed};
    w->m = sl_manager_new(&spec);
}

/* The running manager is stopped, and another takes its place. */
static inline void restart(struct world *w, uint32_t client) {
    sl_manager_free(w->m);
    fakeapi_kill(w->api, client - 1);
    start(w, client, 1);
}

static inline void open_world(struct world *w, uint64_t seed, const char *config,
                              struct sl_manager_parts parts) {
    struct sl_warnings warnings;
    struct sl_err err;

    *w = (struct world){.api = fakeapi_new(seed), .metrics = sl_metrics_new(), .parts = parts};
    sl_warnings_init(&warnings);
    assert_int_equal(sl_settings_parse("test", config, strlen(config), "sluice-system", NULL,
                                       &w->settings, &warnings, &err),
                     0);
    sl_warnings_done(&warnings);
    start(w, 0, seed);
}

static inline void end(struct world *w) {
    struct sl_err err = {0};
    struct fakeapi_stats stats;
    fakeapi_stats(w->api, &stats);
    assert_int_equal(stats.invalid, 0); /* nothing is tried that the API server does not allow */
    if (sl_manager_check(w->m, &err) < 0)
        fail_msg("%s", err.text);
    sl_manager_free(w->m);
    sl_metrics_free(w->metrics);
    fakeapi_free(w->api);
    sl_settings_free(w->settings);
}

#endif
