/* SPDX-License-Identifier: Apache-2.0 */
#include "apps_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/stamp.h"

/* ---- the kubelet ---- */

static void make_ready(void *ctx, uint64_t arg) {
    struct apps_world *w = ctx;
    const struct kubelet_job *j = &w->jobs.v[arg];
    yyjson_val *pod = fakeapi_get(w->api, j->path);
    char path[720], body[400], now[SL_STAMP_TEXT], address[60] = "";

    if (!pod || strcmp(sl_json_str(pod, "metadata.uid"), j->uid) != 0 || w->never_ready)
        return;
    (void)sl_stamp(FAKEAPI_EPOCH + fakeapi_now(w->api), now);
    (void)snprintf(path, sizeof path, "%s/status", j->path);
    if (w->addresses)
        (void)snprintf(address, sizeof address, "'podIP':'10.1.%llu.%llu',",
                       (unsigned long long)arg / 250, (unsigned long long)arg % 250);
    (void)snprintf(body, sizeof body,
                   "{'status':{%s'phase':'Running','conditions':[{'type':'Ready','status':'True',"
                   "'lastTransitionTime':'%s'}]}}",
                   address, now);
    (void)world_do(w, SL_PATCH, path, SL_MERGE_PATCH, body);
}

static void end(void *ctx, uint64_t arg) {
    struct apps_world *w = ctx;
    const struct kubelet_job *j = &w->jobs.v[arg];
    yyjson_val *pod = fakeapi_get(w->api, j->path);
    char path[740];

    if (!pod || strcmp(sl_json_str(pod, "metadata.uid"), j->uid) != 0)
        return;
    (void)snprintf(path, sizeof path, "%s?gracePeriodSeconds=0", j->path);
    (void)world_do(w, SL_DELETE, path, NULL, NULL);
}

static void later(struct apps_world *w, yyjson_val *pod, fakeapi_fn fn, sl_span min, sl_span max) {
    struct kubelet_job *j = sl_vec_push(&w->jobs);

    (void)snprintf(j->path, sizeof j->path, "/api/v1/namespaces/%s/pods/%s",
                   sl_json_str(pod, "metadata.namespace"), sl_json_str(pod, "metadata.name"));
    (void)snprintf(j->uid, sizeof j->uid, "%s", sl_json_str(pod, "metadata.uid"));
    fakeapi_at(w->api, fakeapi_now(w->api) + sl_prng_range(&w->prng, min, max), fn, w,
               w->jobs.n - 1);
}

static void on_change(void *ctx, const struct fakeapi_change *ch) {
    struct apps_world *w = ctx;

    if (strcmp(ch->kind->kind, "Pod") == 0 && ch->now) {
        if (!ch->before)
            later(w, ch->now, make_ready, w->start_min, w->start_max);
        else if (sl_json_at(ch->now, "metadata.deletionTimestamp") &&
                 !sl_json_at(ch->before, "metadata.deletionTimestamp"))
            later(w, ch->now, end, w->end_min, w->end_max);
    }
    if (w->watch)
        w->watch(w, ch);
}

/* The node that a pod of a DaemonSet names, or the first one. */
static const char *node_of(yyjson_mut_val *spec) {
    static const char *const path[] = {"affinity", "nodeAffinity",
                                       "requiredDuringSchedulingIgnoredDuringExecution",
                                       "nodeSelectorTerms"};
    yyjson_mut_val *at = spec;

    for (size_t i = 0; i < SL_LEN(path); i++)
        at = yyjson_mut_obj_get(at, path[i]);
    at = yyjson_mut_arr_get_first(yyjson_mut_obj_get(yyjson_mut_arr_get_first(at), "matchFields"));
    const char *name = sl_json_mut_text(yyjson_mut_arr_get_first(yyjson_mut_obj_get(at, "values")));
    return *name ? name : "n1";
}

/* Every pod is bound as it is made. */
static int on_write(void *ctx, const struct fakeapi_write *wr, struct sl_buf *why) {
    (void)ctx;
    (void)why;
    if (strcmp(wr->kind->kind, "Pod") == 0 && !wr->old) {
        yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(wr->now), "spec");
        if (spec && !yyjson_mut_obj_get(spec, "nodeName"))
            yyjson_mut_obj_put(spec, yyjson_mut_str(wr->now, "nodeName"),
                               yyjson_mut_strcpy(wr->now, node_of(spec)));
    }
    return 0;
}

/* ---- life ---- */

void world_revive(struct apps_world *w) {
    w->c = sl_cluster_new(&(struct sl_cluster_spec){.scheduler = &sl_scheduler,
                                                    .client = fakeapi_port(w->api, 0),
                                                    .seed = w->seed + 7919 * w->lives++,
                                                    .ca = w->ca,
                                                    .off = w->off});
}

void world_kill(struct apps_world *w) {
    sl_cluster_free(w->c);
    w->c = NULL;
    fakeapi_kill(w->api, 0);
}

void world_start(struct apps_world *w, uint64_t seed) {
    w->seed = seed;
    sl_prng_init(&w->prng, seed);
    w->api = fakeapi_new(seed);
    fakeapi_bare(w->api);
    fakeapi_on_change(w->api, on_change, w);
    fakeapi_on_write(w->api, on_write, w);
    if (!w->start_max) {
        w->start_min = 100 * SL_MSEC;
        w->start_max = 2 * SL_SEC;
        w->end_min = 100 * SL_MSEC;
        w->end_max = 3 * SL_SEC;
    }
    world_create(w, "/api/v1/nodes", "{'metadata':{'name':'n1'}}");
    world_create(w, "/api/v1/namespaces", "{'metadata':{'name':'ns'}}");
    world_revive(w);
    world_run(w, 5 * SL_SEC);
}

void world_stop(struct apps_world *w) {
    sl_cluster_free(w->c);
    fakeapi_free(w->api);
    sl_vec_free(&w->jobs);
}

void world_run(struct apps_world *w, sl_span d) {
    sl_time until = fakeapi_now(w->api) + d;

    for (;;) {
        sl_time next = until;
        if (w->c) {
            sl_cluster_tick(w->c);
            sl_time wish = sl_cluster_next(w->c);
            next = wish < until ? wish : until;
        }
        if (!fakeapi_step(w->api, next) && fakeapi_now(w->api) >= until)
            return;
    }
}

/* ---- by hand ---- */

int world_do(struct apps_world *w, enum sl_kube_method method, const char *path, const char *type,
             const char *text) {
    char *body = text ? sl_strdup(text) : NULL;
    struct sl_buf out;

    for (char *at = body; at && (at = strchr(at, '\''));)
        *at = '"';
    sl_buf_init(&out, 8u << 20);
    int status = fakeapi_do(w->api, method, path, type, body, &out);
    if (status >= 300)
        (void)snprintf(w->text, sizeof w->text, "%d: %.8000s", status, sl_buf_str(&out));
    sl_buf_done(&out);
    sl_freep(&body);
    return status;
}

static void must(struct apps_world *w, const char *path, int status) {
    if (status >= 200 && status < 300)
        return;
    (void)fprintf(stderr, "%s: %s\n", path, w->text);
    abort();
}

void world_create(struct apps_world *w, const char *path, const char *text) {
    must(w, path, world_do(w, SL_POST, path, SL_JSON, text));
}

void world_patch(struct apps_world *w, const char *path, const char *text) {
    must(w, path, world_do(w, SL_PATCH, path, SL_MERGE_PATCH, text));
}

void world_delete(struct apps_world *w, const char *path, const char *policy) {
    char body[100];

    (void)snprintf(body, sizeof body, "{'propagationPolicy':'%s'}", policy);
    must(w, path, world_do(w, SL_DELETE, path, SL_JSON, policy ? body : NULL));
}

const char *world_show(struct apps_world *w, const char *path, const char *field) {
    yyjson_val *o = fakeapi_get(w->api, path), *v = o ? sl_json_at(o, field) : NULL;
    char *text = v ? yyjson_val_write(v, 0, NULL) : NULL;

    (void)snprintf(w->text, sizeof w->text, "%.8000s",
                   yyjson_is_str(v) ? yyjson_get_str(v)
                   : text           ? text
                                    : "");
    free(text); /* yyjson's */
    return w->text;
}

int64_t world_int(struct apps_world *w, const char *path, const char *field) {
    yyjson_val *o = fakeapi_get(w->api, path);

    return o ? sl_json_int(o, field, -1) : -1;
}

bool world_exists(struct apps_world *w, const char *path) {
    return fakeapi_get(w->api, path) != NULL;
}

uint32_t world_count(struct apps_world *w, const char *collection) {
    return fakeapi_each(w->api, collection, NULL, NULL);
}

const char *world_condition(struct apps_world *w, const char *path, const char *type) {
    yyjson_val *o = fakeapi_get(w->api, path), *v;
    size_t i, n;

    w->text[0] = '\0';
    yyjson_arr_foreach (o ? sl_json_at(o, "status.conditions") : NULL, i, n, v)
        if (strcmp(sl_json_str(v, "type"), type) == 0)
            (void)snprintf(w->text, sizeof w->text, "%s %s", sl_json_str(v, "status"),
                           sl_json_str(v, "reason"));
    return w->text;
}
