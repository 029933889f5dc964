/* SPDX-License-Identifier: Apache-2.0 */
#include "mqworld.h"

#include <stdarg.h>

#include "manager/config/config.h"

#define MAX_IDLE 20000u /* turns in which the clock does not move */
#define CHECK_TURNS 64u

static const char config[] = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";

void world_fail(struct world *w, const char *fmt, ...) {
    va_list ap;

    if (w->failed)
        return;
    w->failed = true;
    va_start(ap, fmt);
    (void)vsnprintf(w->why, sizeof w->why, fmt, ap);
    va_end(ap);
    if (w->verbose)
        (void)printf("********* %s\n", w->why);
}

void world_tell(const struct world *w, const char *fmt, ...) {
    va_list ap;

    if (!w->verbose)
        return;
    (void)printf("%9.3f ", (double)fakeapi_now(w->api) / 1e9);
    va_start(ap, fmt);
    (void)vprintf(fmt, ap);
    va_end(ap);
    (void)putchar('\n');
}

int world_send(struct world *w, enum sl_kube_method method, const char *path, const char *fmt,
               ...) {
    char body[4096];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    return fakeapi_do(w->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON, body,
                      NULL);
}

/* ---- the state in the API ---- */

uint32_t world_owner(yyjson_val *o) {
    yyjson_val *first = yyjson_arr_get(sl_json_at(o, "metadata.ownerReferences"), 0);
    uint32_t m;

    return strcmp(sl_json_str(first, "kind"), "MasterQueue") == 0 &&
                   fakeapi_number(sl_json_str(first, "name"), "mq-", &m, NULL)
               ? m
               : UINT32_MAX;
}

bool world_is_foreign(const struct world *w, const char *plural, const char *name) {
    char path[160];

    (void)snprintf(path, sizeof path, KUEUE "/%s/%s", plural, name);
    for (uint32_t i = 0; i < w->foreign.n; i++)
        if (strcmp(w->foreign.v[i].path, path) == 0)
            return true;
    return false;
}

struct search {
    const char *flavor;
    bool found;
};

static void uses(void *ctx, yyjson_val *o) {
    struct search *s = ctx;
    size_t i, j, k, l;
    yyjson_val *a, *key, *val;

    if (sl_json_condition(o, "Finished"))
        return;
    yyjson_arr_foreach (sl_json_at(o, "status.admission.podSetAssignments"), i, j, a) {
        sl_obj_foreach (sl_json_at(a, "flavors"), k, l, key, val)
            s->found |= strcmp(sl_json_text(val), s->flavor) == 0;
    }
}

bool world_flavor_used(struct world *w, const char *flavor) {
    struct search s = {.flavor = flavor};

    (void)fakeapi_each(w->api, KUEUE "/workloads", uses, &s);
    return s.found;
}

/* A time, or a number since the start. */
static bool is_time(struct sl_text key) {
    static const char *const keys[] = {"lastSeen", "lastTransitionTime", "periodSeconds",
                                       "ignoredPools"};

    for (size_t i = 0; i < SL_LEN(keys); i++)
        if (sl_text_is(key, keys[i]))
            return true;
    return false;
}

static void put_timeless(struct sl_buf *b, yyjson_val *v) {
    size_t i, n;
    yyjson_val *key, *val;

    if (!yyjson_is_ctn(v)) {
        sl_json_put(b, v);
        return;
    }
    sl_buf_puts(b, yyjson_is_obj(v) ? "{" : "[");
    sl_obj_foreach (v, i, n, key, val) {
        /* Which server of a cluster it is, is chance. */
        if (is_time(sl_json_view(key)) || strncmp(sl_json_text(val), "Connected to ", 13) == 0)
            continue;
        sl_buf_printf(b, "%s:", sl_json_text(key));
        put_timeless(b, val);
        sl_buf_puts(b, ",\n");
    }
    yyjson_arr_foreach (v, i, n, val) {
        put_timeless(b, val);
        sl_buf_puts(b, ",\n");
    }
    sl_buf_puts(b, yyjson_is_obj(v) ? "}" : "]");
}

void world_status(struct world *w, uint32_t m, struct sl_buf *out) {
    char path[96];

    (void)snprintf(path, sizeof path, VK "/masterqueues/mq-%u", m);
    put_timeless(out, sl_json_at(fakeapi_get(w->api, path), "status"));
}

/* ---- what the API server does with what is written ---- */

static yyjson_mut_val *object_in(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key) {
    yyjson_mut_val *v = yyjson_mut_obj_get(o, key);

    if (!v) {
        v = yyjson_mut_obj(d);
        (void)yyjson_mut_obj_add_val(d, o, key, v);
    }
    return v;
}

static void fill_in(yyjson_mut_doc *d, yyjson_mut_val *o, const char *key, const char *value) {
    if (!yyjson_mut_obj_get(o, key))
        (void)yyjson_mut_obj_add_str(d, o, key, value);
}

/* The defaults of ClusterQueues: what is stored is more than what was sent. */
static int on_write(void *ctx, const struct fakeapi_write *fw, struct sl_buf *why) {
    struct world *w = ctx;

    (void)why;
    if (fw->client < REPLICAS && strcmp(fw->kind->plural, "leases") != 0) {
        w->writes++;
        world_tell(w, "replica %u writes %s%s", fw->client, fw->kind->plural,
                   fw->status ? "/status" : "");
    }
    if (strcmp(fw->kind->plural, "clusterqueues") != 0 || fw->status)
        return 0;
    yyjson_mut_val *spec = object_in(fw->now, yyjson_mut_doc_get_root(fw->now), "spec");
    yyjson_mut_val *preemption = object_in(fw->now, spec, "preemption");
    yyjson_mut_val *fungibility = object_in(fw->now, spec, "flavorFungibility");
    fill_in(fw->now, spec, "queueingStrategy", "BestEffortFIFO");
    fill_in(fw->now, spec, "stopPolicy", "None");
    fill_in(fw->now, preemption, "reclaimWithinCohort", "Never");
    fill_in(fw->now, preemption, "withinClusterQueue", "Never");
    fill_in(fw->now, object_in(fw->now, preemption, "borrowWithinCohort"), "policy", "Never");
    fill_in(fw->now, fungibility, "whenCanBorrow", "MayStopSearch");
    fill_in(fw->now, fungibility, "whenCanPreempt", "TryNextFlavor");
    return 0;
}

/* ---- replicas ---- */

/* As the manager beside it knows. */
static bool flavor_used(void *ctx, const char *flavor) {
    const struct replica *r = ctx;

    return sl_manager_flavor_used(r->manager, flavor);
}

void world_start(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    char name[16];

    if (r->manager)
        return;
    (void)snprintf(name, sizeof name, "r%u-%u", i, world_below(w, 1000000));
    *r = (struct replica){.started = fakeapi_now(w->api)};
    r->lease = sl_lease_new(
        fakeapi_port(w->api, i),
        &(struct sl_lease_spec){"kueue-system", "lease", name, 4 * SL_SEC, 3 * SL_SEC, SL_SEC},
        sl_prng_next(&w->prng));
    r->manager = sl_manager_new(&(struct sl_manager_spec){
        .client = fakeapi_port(w->api, i),
        .settings = w->settings,
        .parts = {.core = true, .scheduler = true, .framework[SL_FW_JOB] = true},
        .instance = "test",
        .seed = sl_prng_next(&w->prng),
        .standby = true});
    sl_manager_view(r->manager)->webhook[SL_FW_JOB] = true;
    r->mqs = sl_masterqueues_new(&(struct sl_masterqueues_spec){.client = fakeapi_port(w->api, i),
                                                                .nats = fakenats_port(w->nats, i),
                                                                .own_ns = "kueue-system",
                                                                .instance = "test",
                                                                .seed = sl_prng_next(&w->prng),
                                                                .standby = true,
                                                                .flavor_used = flavor_used,
                                                                .ctx = r});
    world_tell(w, "replica %u starts", i);
}

void world_kill(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];

    if (!r->manager)
        return;
    world_tell(w, "replica %u dies", i);
    fakeapi_kill(w->api, i); /* what is on its way still arrives */
    sl_masterqueues_free(r->mqs);
    fakenats_kill(w->nats, i);
    sl_manager_free(r->manager);
    sl_lease_free(r->lease);
    r->manager = NULL; /* what it was given stays: a write of it may be on its way */
    r->mqs = NULL;
    r->lease = NULL;
}

uint32_t world_leader(struct world *w) {
    for (uint32_t i = 0; i < REPLICAS; i++)
        if (w->replicas[i].manager && sl_lease_held(w->replicas[i].lease))
            return i;
    return UINT32_MAX;
}

bool world_idle(struct world *w) {
    for (uint32_t i = 0; i < REPLICAS; i++)
        if (w->replicas[i].manager &&
            (!sl_manager_idle(w->replicas[i].manager) || !sl_masterqueues_idle(w->replicas[i].mqs)))
            return false;
    return world_leader(w) != UINT32_MAX;
}

static void turn(struct world *w) {
    struct sl_err err;

    for (uint32_t i = 0; i < REPLICAS; i++) {
        struct replica *r = &w->replicas[i];
        if (!r->manager)
            continue;
        sl_lease_tick(r->lease);
        sl_manager_lead(r->manager, sl_lease_held(r->lease));
        sl_masterqueues_lead(r->mqs, sl_lease_held(r->lease));
        sl_manager_tick(r->manager);
        sl_masterqueues_tick(r->mqs);
        if (fakenats_pending(w->nats, i))
            world_fail(w, "replica %u leaves events of NATS where they are", i);
        if (w->turns % CHECK_TURNS == 0 && sl_manager_check(r->manager, &err) < 0)
            world_fail(w, "replica %u: %s", i, err.text);
    }
    w->turns++;
}

static sl_time next_due(const struct world *w) {
    sl_time at = fakeapi_next(w->api);

    for (uint32_t i = 0; i < REPLICAS; i++) {
        const struct replica *r = &w->replicas[i];
        if (!r->manager)
            continue;
        const sl_time due[] = {sl_manager_next(r->manager), sl_lease_next(r->lease),
                               sl_masterqueues_next(r->mqs)};
        for (size_t d = 0; d < SL_LEN(due); d++)
            at = due[d] < at ? due[d] : at;
    }
    return at;
}

void world_run_until(struct world *w, sl_time until) {
    sl_time last = -1;

    for (uint32_t idle = 0; !w->failed; idle++) {
        sl_time at = next_due(w);
        if (at > until)
            break;
        if (at > last) {
            last = at;
            idle = 0;
        }
        if (idle > MAX_IDLE)
            world_fail(w, "nothing moves and nothing rests");
        (void)fakeapi_step(w->api, at > fakeapi_now(w->api) ? at : fakeapi_now(w->api));
        turn(w);
    }
    fakeapi_advance(w->api, until);
}

/* ---- life ---- */

static void make_servers(struct world *w) {
    static const char *const hosts[CLUSTERS] = {"nats-0", "nats-1", "nats-2"};
    static const char *const others[CLUSTERS] = {"nats-0b", "nats-1b", "nats-2b"};
    static const char *const secrets[CLUSTERS] = {"secret-0", "secret-1", "secret-2"};

    for (uint32_t i = 0; i < CLUSTERS; i++) {
        struct fakenats_server s = {
            .host = hosts[i], .port = 4222, .cluster = i, .user = "user", .password = secrets[i]};
        w->servers[i] = fakenats_serve(w->nats, &s);
        s.host = others[i];
        if (i == 0)
            (void)fakenats_serve(w->nats, &s);
    }
}

void world_begin(struct world *w) {
    static const struct fakeapi_kind kind = {"vk.io",       "v1",           "masterqueues",
                                             "MasterQueue", FAKEAPI_STATUS, NULL};
    struct sl_warnings warnings;
    struct sl_err err;

    sl_prng_init(&w->prng, w->seed);
    sl_warnings_init(&warnings);
    if (sl_settings_parse("test", config, strlen(config), "kueue-system", NULL, &w->settings,
                          &warnings, &err) < 0)
        abort();
    sl_warnings_done(&warnings);
    w->api = fakeapi_new(w->seed);
    w->nats = fakenats_new(w->api, w->seed);
    fakeapi_register(w->api, &kind);
    make_servers(w);
    fakeapi_on_change(w->api, watch_change, w);
    fakeapi_on_write(w->api, on_write, w);
    fakenats_on_event(w->nats, watch_event, w);
    (void)world_send(w, SL_POST, "/api/v1/namespaces",
                     "{\"metadata\":{\"name\":\"default\",\"labels\":{}}}");
}

void world_end(struct world *w) {
    for (uint32_t i = 0; i < REPLICAS; i++)
        world_kill(w, i);
    fakeapi_free(w->api);
    fakenats_free(w->nats);
    sl_settings_free(w->settings);
    for (uint32_t i = 0; i < w->foreign.n; i++)
        sl_freep(&w->foreign.v[i].text);
    sl_vec_free(&w->foreign);
    for (uint32_t i = 0; i < w->ended.n; i++)
        sl_freep(&w->ended.v[i]);
    sl_vec_free(&w->ended);
}
