/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resources of the API: aggregated discovery, read at the start, when a
 * CustomResourceDefinition changed, on demand, and periodically. Each kind that can be listed,
 * watched and deleted is followed by a reflector that requests metadata only.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/controllers/gc/gc.h"
#include "lib/log/log.h"

#define EVERY (60 * SL_SEC)
#define AFTER_CRD (50 * SL_MSEC)
#define PAUSE_MIN (100 * SL_MSEC)
#define PAUSE_MAX (10 * SL_SEC)

/* There are many of these, without owners. */
static bool ignored(const char *group, const char *plural) {
    return strcmp(plural, "events") == 0 && (!*group || strcmp(group, "events.k8s.io") == 0);
}

static bool has_verb(yyjson_val *verbs, const char *verb) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (verbs, i, n, v)
        if (yyjson_equals_str(v, verb))
            return true;
    return false;
}

static struct cl_gc_resource *find_resource(const struct cl_gc *g, const char *group,
                                            const char *plural) {
    for (uint32_t i = 0; i < g->resources.n; i++) {
        struct cl_gc_resource *r = g->resources.v[i];
        if (r && strcmp(r->group, group) == 0 && strcmp(r->plural, plural) == 0)
            return r;
    }
    return NULL;
}

static void resource_free(struct cl_gc_resource *r) {
    sl_reflector_free(r->reflector);
    sl_freep(&r->path);
    sl_freep(&r->group);
    sl_freep(&r->plural);
    sl_freep(&r->kind);
    sl_freep(&r);
}

static struct cl_gc_resource *add_resource(struct cl_gc *g, const char *group, const char *version,
                                           yyjson_val *o) {
    const char *plural = sl_json_str(o, "resource"), *kind = sl_json_str(o, "responseKind.kind");
    yyjson_val *verbs = yyjson_obj_get(o, "verbs");
    _cleanup_(sl_buf_done) struct sl_buf path = SL_BUF(SL_WRITER_MAX_PATH);
    uint32_t at = 0;

    while (at < g->resources.n && g->resources.v[at])
        at++;
    if (!*plural || !*kind || !*version)
        return NULL;
    if (at >= GC_MAX_RESOURCES) {
        if (!g->over_limit)
            sl_log(SL_LOG_ERROR, "garbage collector full, resource not collected",
                   SL_S("group", group), SL_S("resource", plural), SL_I("limit", GC_MAX_RESOURCES));
        g->over_limit = true;
        return NULL;
    }
    if (at == g->resources.n)
        (void)sl_vec_push(&g->resources);
    struct cl_gc_resource *r = g->resources.v[at] = sl_alloc0(1, sizeof *r);
    g->added++;
    sl_buf_printf(&path, "%s%s/%s", *group ? "/apis/" : "/api", group, version);
    *r = (struct cl_gc_resource){
        .gc = g,
        .index = at,
        .path = sl_strdup(sl_buf_str(&path)),
        .group = sl_strdup(group),
        .plural = sl_strdup(plural),
        .kind = sl_strdup(kind),
        .namespaced = strcmp(sl_json_str(o, "scope"), "Namespaced") == 0,
        .can_delete_all = has_verb(verbs, "deletecollection") && has_verb(verbs, "list"),
        .followed = has_verb(verbs, "delete") && has_verb(verbs, "list") &&
                    has_verb(verbs, "watch") && !ignored(group, plural),
    };
    if (r->followed) {
        struct sl_reflector_owner owner = {r, cl_gc_begin, cl_gc_object, cl_gc_gone, cl_gc_synced};
        sl_buf_printf(&path, "/%s", plural);
        r->reflector = sl_reflector_new(g->c->client, sl_buf_str(&path), "", &owner,
                                        g->c->spec.seed + 1000 + at);
        sl_reflector_metadata_only(r->reflector);
    }
    return r;
}

/* ---- reading ---- */

/* The same plural in a later version is the same kind. */
static void take_version(struct cl_gc *g, const char *group, yyjson_val *v) {
    const char *version = sl_json_str(v, "version");
    size_t i, n;
    yyjson_val *o;

    yyjson_arr_foreach (yyjson_obj_get(v, "resources"), i, n, o) {
        struct cl_gc_resource *r = find_resource(g, group, sl_json_str(o, "resource"));
        if (!r)
            r = add_resource(g, group, version, o);
        if (r)
            r->seen = g->reading;
    }
}

static bool read_discovery(struct cl_gc *g, const char *text, size_t len) {
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(text, len, 0);
    yyjson_val *items = yyjson_obj_get(yyjson_doc_get_root(d), "items"), *group, *v;
    bool good = yyjson_is_arr(items);
    size_t i, n, j, k;

    yyjson_arr_foreach (items, i, n, group)
        yyjson_arr_foreach (yyjson_obj_get(group, "versions"), j, k, v)
            take_version(g, sl_json_str(group, "metadata.name"), v);
    return good;
}

static void drop_unseen(struct cl_gc *g) {
    for (uint32_t i = 0; i < g->resources.n; i++) {
        struct cl_gc_resource *r = g->resources.v[i];
        if (!r || r->seen == g->reading)
            continue;
        cl_gc_forget_resource(g, r);
        g->resources.v[i] = NULL;
        g->over_limit = false;
        resource_free(r);
    }
}

static void discover(struct cl_gc *g);

static void on_discovery(void *ctx, const struct sl_kube_reply *reply) {
    struct cl_gc *g = ctx;
    bool good = reply->status == 200 && read_discovery(g, reply->body, reply->len);

    g->call = (sl_kube_call){0};
    if (!good) {
        sl_span pause = g->fails > 8 ? PAUSE_MAX : PAUSE_MIN << g->fails;
        g->fails++;
        g->discover_at = sl_time_add(g->c->client->mono, pause < PAUSE_MAX ? pause : PAUSE_MAX);
    } else if (g->core) {
        g->core = false;
        discover(g);
    } else {
        drop_unseen(g);
        g->fails = 0;
        g->known = g->begun;
        g->discover_at = g->requested > g->known ? g->c->client->mono : g->c->client->mono + EVERY;
    }
}

static void discover(struct cl_gc *g) {
    g->discover_at = SL_TIME_NEVER;
    g->call = sl_kube_request(g->c->client,
                              &(struct sl_kube_request){.method = SL_GET,
                                                        .path = g->core ? "/api" : "/apis",
                                                        .accept = SL_AS_DISCOVERY},
                              on_discovery, g);
}

/* ---- custom kinds ---- */

static void crd_changed(void *ctx, yyjson_val *o) {
    struct cl_gc *g = ctx;
    sl_time at = g->c->client->mono + AFTER_CRD;

    (void)o;
    g->requested++;
    if (at < g->discover_at)
        g->discover_at = at;
}

static void crd_begin(void *ctx) {
    (void)ctx;
}

static void crd_synced(void *ctx, bool exists) {
    (void)exists;
    crd_changed(ctx, NULL);
}

/* ---- for the others ---- */

void cl_resources_start(struct cl_gc *g) {
    struct sl_reflector_owner owner = {g, crd_begin, crd_changed, crd_changed, crd_synced};

    g->crds =
        sl_reflector_new(g->c->client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                         "", &owner, g->c->spec.seed + 999);
    sl_reflector_metadata_only(g->crds);
    g->requested = 1;
}

void cl_resources_turn(struct cl_gc *g) {
    sl_reflector_tick(g->crds);
    if (!g->call.v && g->discover_at <= g->c->client->mono) {
        g->reading++;
        g->begun = g->requested;
        g->core = true;
        discover(g);
    }
    for (uint32_t i = 0; i < g->resources.n; i++)
        if (g->resources.v[i] && g->resources.v[i]->reflector)
            sl_reflector_tick(g->resources.v[i]->reflector);
}

sl_time cl_resources_next(const struct cl_gc *g) {
    sl_time at = sl_reflector_next(g->crds);

    if (!g->call.v && g->discover_at < at)
        at = g->discover_at;
    for (uint32_t i = 0; i < g->resources.n; i++) {
        const struct cl_gc_resource *r = g->resources.v[i];
        sl_time next = r && r->reflector ? sl_reflector_next(r->reflector) : SL_TIME_NEVER;
        at = next < at ? next : at;
    }
    return at;
}

void cl_resources_stop(struct cl_gc *g) {
    sl_kube_cancel(g->c->client, g->call);
    sl_reflector_free(g->crds);
    for (uint32_t i = 0; i < g->resources.n; i++)
        if (g->resources.v[i])
            resource_free(g->resources.v[i]);
    sl_vec_free(&g->resources);
}

uint64_t cl_resources_refresh(struct cl_gc *g) {
    g->requested++;
    if (!g->call.v)
        g->discover_at = g->c->client->mono;
    return g->requested;
}

bool cl_resources_synced(const struct cl_gc *g) {
    if (!g->known)
        return false;
    for (uint32_t i = 0; i < g->resources.n; i++)
        if (g->resources.v[i] && g->resources.v[i]->reflector && !g->resources.v[i]->synced)
            return false;
    return true;
}

const struct cl_gc_resource *cl_resource_of(const struct cl_gc *g, const char *api_version,
                                            const char *kind) {
    const char *slash = strchr(api_version, '/');
    size_t len = slash ? (size_t)(slash - api_version) : 0;

    for (uint32_t i = 0; i < g->resources.n; i++) {
        const struct cl_gc_resource *r = g->resources.v[i];
        if (r && strcmp(r->kind, kind) == 0 && strlen(r->group) == len &&
            strncmp(r->group, api_version, len) == 0)
            return r;
    }
    return NULL;
}
