/* SPDX-License-Identifier: Apache-2.0 */
/* What pools, administrators, others and the job controller do while a history runs. */
#include "mqworld.h"

#define MAX_JOBS 16u

/* ---- the job controller: what is not suspended runs, most of it for a while ---- */

static void job_turn(void *ctx, uint64_t n) {
    struct world *w = ctx;
    char path[160], status[192];

    (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/default/jobs/job-%u",
                   (unsigned)(n & 0xff));
    (void)snprintf(status, sizeof status, "%s/status", path);
    yyjson_val *job = fakeapi_get(w->api, path);
    if (!job || yyjson_arr_size(sl_json_at(job, "status.conditions")))
        return;
    bool suspended = sl_json_bool(job, "spec.suspend", false);
    int64_t active = sl_json_int(job, "status.active", 0);
    if (suspended && active)
        (void)world_send(w, SL_PATCH, status,
                         "{\"status\":{\"active\":null,\"ready\":null,\"startTime\":null}}");
    else if (!suspended && !active)
        (void)world_send(w, SL_PATCH, status,
                         "{\"status\":{\"active\":1,\"ready\":1,\"startTime\":"
                         "\"2026-01-01T00:00:00Z\"}}");
    else if (!suspended && n >> 8)
        (void)world_send(w, SL_PATCH, status,
                         "{\"status\":{\"active\":null,\"ready\":null,\"succeeded\":1,"
                         "\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\",\"reason\":"
                         "\"Done\",\"message\":\"Job finished successfully\"}]}}");
}

void users_job_beat(void *ctx, uint64_t n) {
    struct world *w = ctx;

    /* Every second one goes on for ever. */
    for (uint32_t i = 0; i < w->n_jobs; i++)
        job_turn(w, i | (i % 2 && world_odds(w, 12) && !w->jobs_stay ? (uint64_t)1 << 8 : 0));
    fakeapi_at(w->api, fakeapi_now(w->api) + SL_SEC, users_job_beat, w, n);
}

void users_submit(struct world *w) {
    uint32_t m = world_below(w, w->n_mqs), b = world_below(w, BORROWERS);

    if (w->n_jobs == MAX_JOBS)
        return;
    world_tell(w, "submit job-%u to lq-%u-%u", w->n_jobs, m, b);
    (void)world_send(
        w, SL_POST, "/apis/batch/v1/namespaces/default/jobs",
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"job-%u\","
        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq-%u-%u\"}},\"spec\":{\"suspend\":true,"
        "\"parallelism\":1,\"completions\":1,\"template\":{\"metadata\":{},\"spec\":{"
        "\"restartPolicy\":\"Never\",\"tolerations\":[{\"operator\":\"Exists\"}],"
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
        "\"cpu\":\"%u\",\"memory\":\"1Gi\"}}}]}}}}",
        w->n_jobs++, m, b, 1 + world_below(w, 2));
}

void users_begin(struct world *w) {
    char name[32];

    for (uint32_t m = 0; m < w->n_mqs; m++)
        for (uint32_t b = 0; b < BORROWERS; b++) {
            borrower_name(m, b, name);
            (void)world_send(w, SL_POST, KUEUE "/namespaces/default/localqueues",
                             "{\"metadata\":{\"name\":\"lq-%u-%u\"},\"spec\":{\"clusterQueue\":"
                             "\"%s\",\"stopPolicy\":\"None\"}}",
                             m, b, name);
        }
}

/* ---- what pools and people do, at random ---- */

static struct pool *some_pool(struct world *w) {
    return &w->pools[world_below(w, w->n_pools)];
}

static void pool_comes_or_goes(struct world *w) {
    struct pool *p = some_pool(w);

    world_tell(w, "%s %s", p->name, p->publishes ? "goes silent" : "comes");
    if (p->publishes)
        p->publishes = false;
    else
        pool_start(w, p);
}

static void pool_changes(struct world *w) {
    struct pool *p = some_pool(w);

    p->version++;
    p->has[world_below(w, COMMON)] = (int64_t)world_below(w, 12);
    world_tell(w, "%s changes", p->name);
}

static void pool_is_poisoned(struct world *w) {
    struct pool *p = some_pool(w);

    p->poison = p->poison ? 0 : 1 + world_below(w, FAKENATS_POISONS);
    world_tell(w, "%s: poison %u", p->name, p->poison);
}

/* Some other name, on a subject that somebody reads. */
static void stranger(struct world *w) {
    static const char *const names[] = {"Upper", "under_score", "with space",
                                        "-",     "x.y",         "unknown"};
    const char *name = names[world_below(w, SL_LEN(names))];
    static const char payload[] = "{\"quotas\":{\"cpu\":\"1\"}}";
    const struct pool *p = some_pool(w);
    char subject[96];

    (void)snprintf(subject, sizeof subject, "site.%u.%s", p->pair, name);
    world_tell(w, "a stranger publishes %s", subject);
    fakenats_publish(w->nats, w->servers[p->pair % CLUSTERS], subject, payload, sizeof payload - 1);
}

/* Hundreds of names that no pattern of a shared pair takes. */
static void flood(struct world *w) {
    static const char payload[] = "{\"quotas\":{\"cpu\":\"1\"}}";
    uint32_t pair = EXCLUSIVE + world_below(w, LETTERS);
    char subject[96];

    world_tell(w, "a flood on site.%u", pair);
    for (uint32_t i = 0; i < 500; i++) {
        (void)snprintf(subject, sizeof subject, "site.%u.z-pool-%u", pair, i);
        fakenats_publish(w->nats, w->servers[pair % CLUSTERS], subject, payload,
                         sizeof payload - 1);
    }
}

static void edit(struct world *w) {
    static const char *const stops[] = {"None", "None", "None", "Hold", "HoldAndDrain"};
    uint32_t m = world_below(w, w->n_mqs);
    struct mq_spec *s;

    if (mq_now(&w->mqs[m])->gone) {
        s = mq_edit(w, m);
        s->gone = false;
        s->n_groups = 1;
        mq_random_group(w, m, 0, &s->groups[0]);
        mq_write(w, m, true);
        return;
    }
    s = mq_edit(w, m);
    if (world_odds(w, 4)) {
        s->stop = stops[world_below(w, SL_LEN(stops))];
    } else if (world_odds(w, 4) && s->n_groups > 1) {
        s->n_groups--;
    } else {
        uint32_t i = world_below(w, s->n_groups);
        struct group g;
        mq_random_group(w, m, i, &g);
        if (!g.local && !s->groups[i].local)
            s->groups[i] = g;
    }
    mq_write(w, m, false);
}

static void delete_mq(struct world *w) {
    uint32_t m = world_below(w, w->n_mqs);

    if (!mq_now(&w->mqs[m])->gone && world_odds(w, 3))
        mq_delete(w, m);
}

/* An object that is, or could be, generated: by its path. */
static void some_object(struct world *w, bool queue, char path[160]) {
    uint32_t m = world_below(w, w->n_mqs);
    const struct mq_spec *s = mq_now(&w->mqs[m]);
    char name[96];

    if (queue) {
        if (world_odds(w, 2))
            (void)snprintf(name, sizeof name, "mq-%u", m);
        else
            borrower_name(m, world_below(w, BORROWERS), name);
        (void)snprintf(path, 160, KUEUE "/clusterqueues/%s", name);
        return;
    }
    const struct group *g = s->n_groups ? &s->groups[world_below(w, s->n_groups)] : NULL;
    if (g && !g->local)
        flavor_name(w, m, g, some_pool(w), name);
    else
        (void)snprintf(name, sizeof name, "none");
    (void)snprintf(path, 160, KUEUE "/resourceflavors/%s", name);
}

static void delete_object(struct world *w) {
    char path[160];

    some_object(w, world_odds(w, 2), path);
    if (world_owner(fakeapi_get(w->api, path)) == UINT32_MAX)
        return;
    world_tell(w, "delete %s by hand", path);
    *sl_vec_push(&w->ended) = sl_strdup(strrchr(path, '/') + 1);
    (void)world_send(w, SL_DELETE, path, "{}");
}

static void edit_object(struct world *w) {
    char path[160];
    bool queue = world_odds(w, 2);

    some_object(w, queue, path);
    if (world_owner(fakeapi_get(w->api, path)) == UINT32_MAX)
        return;
    world_tell(w, "edit %s by hand", path);
    (void)world_send(w, SL_PATCH, path, "%s",
                     queue ? "{\"spec\":{\"stopPolicy\":\"Hold\",\"cohortName\":\"other\"}}"
                           : "{\"spec\":{\"nodeTaints\":[],\"nodeLabels\":{\"a\":\"b\"}}}");
}

/* Somebody makes an object of a name that would be generated. */
static void foreign_comes(struct world *w) {
    char path[160], collection[160];
    bool queue = world_odds(w, 2);

    some_object(w, queue, path);
    const char *name = strrchr(path, '/') + 1;
    if (fakeapi_get(w->api, path) || strcmp(name, "none") == 0)
        return;
    (void)snprintf(collection, sizeof collection, "%.*s", (int)(name - path - 1), path);
    struct foreign *f = sl_vec_push(&w->foreign);
    *f = (struct foreign){0};
    (void)snprintf(f->path, sizeof f->path, "%s", path);
    world_tell(w, "%s is made by somebody else", path);
    (void)world_send(w, SL_POST, collection, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name,
                     queue ? "\"namespaceSelector\":{},\"resourceGroups\":[]" : "");
}

static void foreign_goes(struct world *w) {
    if (!w->foreign.n)
        return;
    struct foreign f = w->foreign.v[world_below(w, w->foreign.n)];
    for (uint32_t i = 0; i < w->foreign.n; i++)
        if (w->foreign.v[i].text == f.text)
            w->foreign.v[i--] = sl_vec_pop(&w->foreign);
    world_tell(w, "%s is deleted by somebody else", f.path);
    (void)world_send(w, SL_DELETE, f.path, "{}");
    sl_freep(&f.text);
}

static void local_comes_or_goes(struct world *w) {
    uint32_t i = world_below(w, LOCALS);
    char path[96];

    if (!w->locals[i]) {
        local_create(w, i);
        return;
    }
    (void)snprintf(path, sizeof path, KUEUE "/resourceflavors/local-%u", i);
    w->locals[i] = false;
    w->local_gone[i] = fakeapi_now(w->api);
    (void)world_send(w, SL_DELETE, path, "{}");
    if (fakeapi_get(w->api, path)) /* a queue names it, and it waits for that one: take it away */
        (void)world_send(w, SL_PATCH, path, "{\"metadata\":{\"finalizers\":null}}");
}

static void replica_dies_or_starts(struct world *w) {
    uint32_t i = world_below(w, REPLICAS);

    if (w->replicas[i].manager)
        world_kill(w, i);
    else
        world_start(w, i);
}

static void cut_streams(struct world *w) {
    fakeapi_cut(w->api, world_below(w, REPLICAS));
}

static const struct {
    void (*fn)(struct world *w);
    uint32_t weight;
} operations[] = {
    {pool_comes_or_goes, 6},
    {pool_changes, 6},
    {pool_is_poisoned, 3},
    {stranger, 2},
    {flood, 1},
    {edit, 6},
    {delete_mq, 1},
    {delete_object, 3},
    {edit_object, 3},
    {foreign_comes, 2},
    {foreign_goes, 2},
    {users_submit, 4},
    {local_comes_or_goes, 1},
    {replica_dies_or_starts, 3},
    {cut_streams, 1},
};

void users_operate(void *ctx, uint64_t n) {
    struct world *w = ctx;
    uint32_t sum = 0, at;

    (void)n;
    for (size_t i = 0; i < SL_LEN(operations); i++)
        sum += operations[i].weight;
    at = world_below(w, sum);
    for (size_t i = 0; i < SL_LEN(operations); i++) {
        if (at < operations[i].weight) {
            operations[i].fn(w);
            return;
        }
        at -= operations[i].weight;
    }
}
