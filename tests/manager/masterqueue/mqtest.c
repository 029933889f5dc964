/* SPDX-License-Identifier: Apache-2.0 */
#include "mqtest.h"

#include <stdio.h>
#include <unistd.h>

#define EVENTS "/apis/events.k8s.io/v1/events"

static bool flavor_used(void *ctx, const char *flavor) {
    const struct world *w = ctx;
    return w->used && strcmp(w->used, flavor) == 0;
}

static void on_change(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;
    if (c->client == FAKEAPI_NOBODY)
        return;
    if (strcmp(c->kind->plural, "events") == 0)
        w->events++;
    else
        w->writes++;
    w->queue_writes += strcmp(c->kind->plural, "clusterqueues") == 0;
    w->flavor_writes += strcmp(c->kind->plural, "resourceflavors") == 0;
}

void start(struct world *w, uint32_t replica, bool standby) {
    w->q[replica] =
        sl_masterqueues_new(&(struct sl_masterqueues_spec){.client = fakeapi_port(w->api, replica),
                                                           .nats = fakenats_port(w->nats, replica),
                                                           .metrics = w->metrics,
                                                           .own_ns = "kueue-system",
                                                           .instance = "test",
                                                           .standby = standby,
                                                           .flavor_used = flavor_used,
                                                           .ctx = w});
}

void stop(struct world *w, uint32_t replica) {
    fakeapi_kill(w->api, replica); /* what is on its way still arrives */
    sl_masterqueues_free(w->q[replica]);
    fakenats_kill(w->nats, replica);
    w->q[replica] = NULL;
}

int setup(void **state) {
    static const struct fakeapi_kind kind = {.group = "vk.io",
                                             .version = "v1",
                                             .plural = "masterqueues",
                                             .kind = "MasterQueue",
                                             .flags = FAKEAPI_STATUS};
    struct world *w = sl_alloc0(1, sizeof *w);
    w->api = fakeapi_new(1);
    w->metrics = sl_metrics_new();
    fakeapi_register(w->api, &kind);
    fakeapi_on_change(w->api, on_change, w);
    w->nats = fakenats_new(w->api, 1);
    w->server = fakenats_serve(
        w->nats, &(struct fakenats_server){
                     .host = "nats.nats", .port = 4222, .user = "user", .password = "pass"});
    start(w, 0, false);
    *state = w;
    return 0;
}

int teardown(void **state) {
    struct world *w = *state;
    for (uint32_t i = 0; i < REPLICAS; i++)
        sl_masterqueues_free(w->q[i]);
    fakeapi_free(w->api);
    fakenats_free(w->nats);
    sl_metrics_free(w->metrics);
    sl_freep(&w);
    return 0;
}

static sl_time tick(struct world *w) {
    sl_time at = SL_TIME_NEVER;
    for (uint32_t i = 0; i < REPLICAS; i++)
        if (w->q[i])
            sl_masterqueues_tick(w->q[i]);
    for (uint32_t i = 0; i < REPLICAS; i++)
        if (w->q[i])
            at = sl_time_min(at, fakenats_pending(w->nats, i) ? fakeapi_now(w->api)
                                                              : sl_masterqueues_next(w->q[i]));
    return at;
}

void run(struct world *w, sl_span span) {
    sl_time until = fakeapi_now(w->api) + span;
    do {
        sl_time at = tick(w);
        (void)fakeapi_step(w->api, at < until ? at : until);
    } while (fakeapi_now(w->api) < until);
    (void)tick(w);
}

int post(struct world *w, const char *path, const char *body) {
    return fakeapi_do(w->api, SL_POST, path, SL_JSON, body, NULL);
}

void patch(struct world *w, const char *path, const char *body) {
    assert_int_equal(fakeapi_do(w->api, SL_PATCH, path, SL_MERGE_PATCH, body, NULL), 200);
}

void publish(struct world *w, const char *pool, const char *payload) {
    char subject[400];
    sl_fmt(subject, sizeof subject, "interlink.resources.%s", pool);
    fakenats_publish(w->nats, w->server, subject, payload, strlen(payload));
}

void both(struct world *w) {
    publish(w, "podman-firenze", FIRENZE);
    publish(w, "slurm-cineca", CINECA);
}

void usual(struct world *w) {
    assert_int_equal(post(w, MQS, MASTERQUEUE(GROUP)), 201);
    run(w, 2 * SL_SEC);
    both(w);
    run(w, 2 * SL_SEC);
}

void keep(struct world *w, sl_span span) {
    for (sl_span t = 0; t < span; t += 10 * SL_SEC) {
        both(w);
        run(w, 10 * SL_SEC);
    }
}

yyjson_val *get(struct world *w, const char *path) {
    return fakeapi_get(w->api, path);
}

const char *str(struct world *w, const char *path, const char *field) {
    return sl_json_str(get(w, path), field);
}

const char *flavors_of(struct world *w, const char *path) {
    static char out[4096];
    size_t i, n, at = 0;
    yyjson_val *v, *group = yyjson_arr_get(sl_json_at(get(w, path), "spec.resourceGroups"), 0);
    out[0] = '\0';
    yyjson_arr_foreach (sl_json_get(group, "flavors"), i, n, v) {
        sl_fmt(out + at, sizeof out - at, "%s,", sl_json_str(v, "name"));
        at = strlen(out);
    }
    return out;
}

yyjson_val *cell(struct world *w, const char *path, uint32_t flavor, uint32_t resource) {
    yyjson_val *group = yyjson_arr_get(sl_json_at(get(w, path), "spec.resourceGroups"), 0);
    yyjson_val *f = yyjson_arr_get(sl_json_get(group, "flavors"), flavor);
    return yyjson_arr_get(sl_json_get(f, "resources"), resource);
}

void condition(struct world *w, const char *mq, const char *type, const char *status,
               const char *reason) {
    yyjson_val *c = sl_json_find(sl_json_at(get(w, mq), "status.conditions"), "type", type);
    assert_string_equal(sl_json_str(c, "reason"), reason);
    assert_string_equal(sl_json_str(c, "status"), status);
}

yyjson_val *pool(struct world *w, const char *mq, const char *name) {
    return sl_json_find(sl_json_at(get(w, mq), "status.pools"), "name", name);
}

void assert_active(struct world *w) {
    assert_string_equal(flavors_of(w, MASTER), F_FIRENZE "," F_CINECA ",");
    assert_string_equal(flavors_of(w, GROUP1), F_FIRENZE "," F_CINECA ",");
    assert_string_equal(str(w, MASTER, "spec.stopPolicy"), "None");
    assert_string_equal(str(w, GROUP1, "spec.stopPolicy"), "None");
}

void assert_cell(struct world *w, const char *path, uint32_t flavor, uint32_t resource,
                 const char *name, const char *nominal, const char *borrow) {
    yyjson_val *v = cell(w, path, flavor, resource);
    assert_string_equal(sl_json_str(v, "name"), name);
    assert_string_equal(sl_json_str(v, "nominalQuota"), nominal);
    assert_string_equal(sl_json_str(v, "borrowingLimit"), borrow);
}

/* ---- events and log lines ---- */

struct search {
    const char *reason;
    uint32_t n;
};

static void count_event(void *ctx, yyjson_val *o) {
    struct search *s = ctx;
    if (strcmp(sl_json_str(o, "reason"), s->reason) == 0)
        s->n += (uint32_t)sl_json_int(o, "series.count", 1);
}

uint32_t count_events(struct world *w, const char *reason) {
    struct search s = {.reason = reason};
    (void)fakeapi_each(w->api, EVENTS, count_event, &s);
    return s.n;
}

static FILE *log_file;
static int log_kept = -1;

void log_begin(void) {
    log_file = tmpfile();
    log_kept = dup(STDERR_FILENO);
    assert_true(log_file && log_kept >= 0);
    assert_true(dup2(fileno(log_file), STDERR_FILENO) >= 0);
    sl_log_set(SL_LOG_WARN);
}

uint32_t log_count(const char *text) {
    char line[4096];
    uint32_t n = 0;
    rewind(log_file);
    while (fgets(line, sizeof line, log_file))
        n += strstr(line, text) != NULL;
    (void)fseek(log_file, 0, SEEK_END);
    return n;
}

void log_end(void) {
    sl_log_set(SL_LOG_ERROR);
    assert_true(dup2(log_kept, STDERR_FILENO) >= 0);
    (void)close(log_kept);
    (void)fclose(log_file);
}
