/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MasterQueues under seeded faults, of the API and of NATS: loss, delay, reorder, duplicates,
 * poison, silence, outages of minutes, refused users, moved servers, deaths and fail-over of the
 * replicas, while pools come, change and go silent, administrators edit, and objects are deleted or
 * made by others (mqworld.h).
 *
 * After every change: watch.c. Then the faults end, and in this order: what is there is what a
 * second implementation says (naive.c); nothing is written while pools publish what they published
 * before; ten minutes without NATS change no flavor and no queue, and evict nobody; replicas that
 * start from nothing but the API change nothing and say the same; a pool that publishes poison is
 * in the status and is one event, and nobody else notices; of a deleted MasterQueue nothing is
 * left.
 */
#include "mqworld.h"

#include "../../seed_key.h"

#define DISTURBED (10 * SL_MINUTE)
#define QUIET (3 * SL_MINUTE)
#define OUTAGE (10 * SL_MINUTE)
#define SETTLED (10 * SL_SEC) /* the end of a job is in every status */
#define REST (4 * SL_MINUTE)  /* silent pools go, connections are there again, all is written */
#define HASTY_ONE_IN 50u      /* histories may have such a deletion, and one more */
#define ENOUGH_STRUCK 60u     /* histories to meet with every kind of fault */

/* ---- phases ---- */

struct sums {
    uint64_t passed, failed;
    uint64_t struck[FAKEAPI_FAULTS], nats_struck[FAKENATS_FAULTS];
    uint64_t evictions, generated, hasty;
};

static void disturb(struct world *w) {
    struct fakeapi_faults faults;
    struct fakenats_faults nats;

    fakeapi_some_faults(&w->prng, 20, &faults);
    fakeapi_set_faults(w->api, &faults);
    fakenats_some_faults(&w->prng, 40 + 8 * w->n_pools, &nats);
    if (world_odds(w, 4))
        nats.longest_silence = 5 * SL_MINUTE;
    fakenats_set_faults(w->nats, &nats);
    for (uint32_t i = 0, n = world_below(w, 60); i < n; i++)
        fakeapi_at(w->api, fakeapi_now(w->api) + sl_prng_range(&w->prng, 0, DISTURBED - SL_MINUTE),
                   users_operate, w, i);
    world_run(w, DISTURBED);
}

/* The network is whole, everybody is there, and nobody is poisoned any more. */
static void calm(struct world *w) {
    world_tell(w, "the network is whole again");
    fakeapi_set_faults(w->api, NULL);
    fakenats_set_faults(w->nats, NULL);
    for (uint32_t i = 0; i < REPLICAS; i++) {
        world_start(w, i);
        fakeapi_cut(w->api, i);
    }
    for (uint32_t i = 0; i < LOCALS; i++)
        if (!w->locals[i])
            local_create(w, i);
    for (uint32_t i = 0; i < w->n_pools; i++)
        w->pools[i].poison = 0;
}

static void rest(struct world *w) {
    world_run(w, REST);
    if (!w->failed && !world_idle(w))
        world_fail(w, "there is no rest");
}

static void quiet(struct world *w) {
    uint64_t before = w->writes;

    world_tell(w, "---- quiet");
    world_run(w, QUIET);
    if (w->writes != before)
        world_fail(w, "%llu writes while nothing changed",
                   (unsigned long long)(w->writes - before));
}

static bool reads_nats(const struct mq_spec *s) {
    bool reads = false;

    for (uint32_t i = 0; i < s->n_groups; i++)
        reads |= !s->groups[i].local;
    return reads;
}

static void check_connected(struct world *w, bool expected) {
    char path[96];

    for (uint32_t m = 0; m < w->n_mqs; m++) {
        const struct mq_spec *s = mq_now(&w->mqs[m]);
        (void)snprintf(path, sizeof path, VK "/masterqueues/mq-%u", m);
        if (!s->gone && reads_nats(s) &&
            sl_json_condition(fakeapi_get(w->api, path), "NatsConnected") != expected)
            world_fail(w, "mq-%u: NatsConnected is not %s", m, expected ? "True" : "False");
    }
}

static void outage(struct world *w) {
    uint64_t generated = w->generated, evictions = w->evictions;

    world_tell(w, "---- no NATS");
    for (uint32_t i = 0; i < FAKENATS_SERVERS && i < CLUSTERS + 1; i++)
        fakenats_outage(w->nats, i, fakeapi_now(w->api) + OUTAGE);
    world_run(w, OUTAGE / 2);
    if (!w->failed)
        check_connected(w, false);
    world_run(w, OUTAGE / 2 + REST);
    if (w->generated != generated)
        world_fail(w, "%llu flavors or queues changed by an outage of NATS",
                   (unsigned long long)(w->generated - generated));
    if (w->evictions != evictions)
        world_fail(w, "%llu workloads were evicted by an outage of NATS",
                   (unsigned long long)(w->evictions - evictions));
    if (!w->failed)
        check_connected(w, true);
}

static void restart(struct world *w) {
    struct sl_buf before[MAX_MQS], after;
    uint64_t generated = w->generated;

    world_tell(w, "---- restart");
    for (uint32_t m = 0; m < w->n_mqs; m++) {
        sl_buf_init(&before[m], (size_t)1 << 20);
        world_status(w, m, &before[m]);
    }
    for (uint32_t i = 0; i < REPLICAS; i++)
        world_kill(w, i);
    world_run(w, (sl_time)world_below(w, 120) * SL_SEC);
    for (uint32_t i = 0; i < REPLICAS; i++)
        world_start(w, i);
    rest(w);
    if (w->generated != generated)
        world_fail(w, "%llu flavors or queues changed by a restart",
                   (unsigned long long)(w->generated - generated));
    for (uint32_t m = 0; m < w->n_mqs; m++) {
        sl_buf_init(&after, (size_t)1 << 20);
        world_status(w, m, &after);
        if (strcmp(sl_buf_str(&before[m]), sl_buf_str(&after)) != 0) {
            world_fail(w, "mq-%u has another status after a restart", m);
            if (w->verbose)
                (void)printf("--- before:\n%s\n--- after:\n%s\n", sl_buf_str(&before[m]),
                             sl_buf_str(&after));
        }
        sl_buf_done(&after);
        sl_buf_done(&before[m]);
    }
}

/* ---- poison, by itself ---- */

struct about {
    const char *pool;
    uint32_t n;
};

static void count_event(void *ctx, yyjson_val *o) {
    struct about *a = ctx;

    if (strcmp(sl_json_str(o, "regarding.kind"), "MasterQueue") == 0 &&
        strstr(sl_json_str(o, "note"), a->pool))
        a->n++;
}

static uint32_t events_about(struct world *w, const char *pool) {
    struct about a = {.pool = pool};

    (void)fakeapi_each(w->api, "/apis/events.k8s.io/v1/events", count_event, &a);
    return a.n;
}

static struct pool *read_pool(struct world *w, uint32_t *ret_mq, const struct group **ret_group) {
    for (uint32_t m = 0; m < w->n_mqs; m++)
        for (uint32_t i = 0; i < mq_now(&w->mqs[m])->n_groups; i++)
            for (uint32_t p = 0; p < w->n_pools; p++) {
                const struct group *g = &mq_now(&w->mqs[m])->groups[i];
                char name[96];
                flavor_name(w, m, g, &w->pools[p], name);
                if (!w->pools[p].publishes || !group_reads(w, g, &w->pools[p]) ||
                    world_is_foreign(w, "resourceflavors", name))
                    continue;
                *ret_mq = m;
                *ret_group = g;
                return &w->pools[p];
            }
    return NULL;
}

static yyjson_val *pool_status(struct world *w, uint32_t m, const char *pool) {
    char path[96];

    (void)snprintf(path, sizeof path, VK "/masterqueues/mq-%u", m);
    return sl_json_find(sl_json_at(fakeapi_get(w->api, path), "status.pools"), "name", pool);
}

static void poison(struct world *w) {
    const struct group *g = NULL;
    uint32_t m = 0;
    struct pool *p = read_pool(w, &m, &g);

    if (!p || w->failed)
        return;
    /* Labels that are none would be an error already. */
    p->version += 2 - (p->version + 2) % 3;
    rest(w);
    world_tell(w, "---- %s publishes poison", p->name);
    uint64_t generated = w->generated;
    uint32_t events = events_about(w, p->name);
    p->poison = 1 + world_below(w, FAKENATS_POISONS);
    for (uint32_t i = 0; i < 10; i++) {
        pool_publish(w, p);
        world_run(w, SL_SEC);
    }
    char message[512];
    (void)snprintf(message, sizeof message, "%s",
                   sl_json_str(pool_status(w, m, p->name), "message"));
    if (!*message)
        world_fail(w, "poison %u of %s is not in the status", p->poison - 1, p->name);
    if (events_about(w, p->name) != events + 1)
        world_fail(w, "poison %u of %s is %u events", p->poison - 1, p->name,
                   events_about(w, p->name) - events);
    if (w->generated != generated)
        world_fail(w, "poison of %s changed flavors or queues", p->name);
    p->poison = 0;
    pool_publish(w, p);
    world_run(w, 2 * SL_MINUTE);
    if (strcmp(sl_json_str(pool_status(w, m, p->name), "message"), message) == 0)
        world_fail(w, "%s: the error stays in the status: %s", p->name, message);
}

static void delete_one(struct world *w) {
    uint32_t m = world_below(w, w->n_mqs);

    if (mq_now(&w->mqs[m])->gone)
        return;
    world_tell(w, "---- mq-%u is deleted", m);
    for (uint32_t i = 0; i < w->n_jobs; i++) { /* running work delays the end */
        char path[96];
        (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/default/jobs/job-%u", i);
        (void)world_send(w, SL_DELETE, path, "{\"propagationPolicy\":\"Background\"}");
    }
    mq_delete(w, m);
    rest(w);
}

/* As many connections as there are connectors in use, of whoever reads. */
static void check_connections(struct world *w) {
    bool used[CLUSTERS] = {false};
    uint32_t n = 0;

    for (uint32_t m = 0; m < w->n_mqs; m++)
        for (uint32_t i = 0; i < mq_now(&w->mqs[m])->n_groups; i++)
            if (!mq_now(&w->mqs[m])->groups[i].local)
                used[mq_now(&w->mqs[m])->groups[i].pair % CLUSTERS] = true;
    for (uint32_t i = 0; i < CLUSTERS; i++)
        n += used[i];
    for (uint32_t i = 0; i < REPLICAS; i++)
        if (w->replicas[i].manager && fakenats_open(w->nats, i) != n)
            world_fail(w, "replica %u has %u connections open, expected %u", i,
                       fakenats_open(w->nats, i), n);
}

static void compare(struct world *w) {
    if (w->failed)
        return;
    naive_compare(w);
    if (!w->failed)
        check_connections(w);
}

static void run(struct world *w) {
    pools_begin(w);
    users_begin(w);
    users_job_beat(w, 0);
    for (uint32_t i = 0; i < REPLICAS; i++)
        world_start(w, i);
    world_run(w, SL_MINUTE);
    compare(w);
    disturb(w);
    calm(w);
    rest(w);
    compare(w);
    users_submit(w);
    users_submit(w);
    world_run(w, SL_MINUTE - SETTLED);
    /* A job that ends changes the usage of queues, with reason. From here on nothing but NATS and
     * the replicas changes, so every write needs to be explained by them. */
    w->jobs_stay = true;
    world_run(w, SETTLED);
    quiet(w);
    outage(w);
    compare(w);
    if (!w->failed)
        restart(w);
    compare(w);
    poison(w);
    compare(w);
    if (!w->failed)
        delete_one(w);
    compare(w);
}

/* ---- all histories ---- */

static void run_one(struct sums *sum, uint64_t seed, bool verbose) {
    struct world *w = sl_alloc0(1, sizeof *w);
    struct fakenats_stats nats;
    struct fakeapi_stats api;

    w->seed = seed;
    w->verbose = verbose;
    seed_key(seed);
    world_begin(w);
    run(w);
    fakeapi_stats(w->api, &api);
    fakenats_stats(w->nats, &nats);
    for (uint32_t i = 0; i < FAKEAPI_FAULTS; i++)
        sum->struck[i] += api.struck[i];
    for (uint32_t i = 0; i < FAKENATS_FAULTS; i++)
        sum->nats_struck[i] += nats.struck[i];
    if (api.invalid)
        world_fail(w, "%llu writes were invalid", (unsigned long long)api.invalid);
    sum->evictions += w->evictions;
    sum->generated += w->generated;
    sum->hasty += w->hasty;
    sum->passed += !w->failed;
    if (w->failed && sum->failed++ < 20)
        (void)printf("seed %llu: %s\n    again: mqfaults --seed %llu --verbose\n",
                     (unsigned long long)seed, w->why, (unsigned long long)seed);
    (void)fflush(stdout);
    world_end(w);
    sl_freep(&w);
}

static void check_struck(struct sums *sum, const char *const *names, const uint64_t *struck,
                         uint32_t n, uint64_t seeds) {
    for (uint32_t i = 0; i < n; i++) {
        (void)printf(" %s %llu", names[i], (unsigned long long)struck[i]);
        if (!struck[i] && seeds >= ENOUGH_STRUCK) {
            (void)printf(" (never!)");
            sum->failed++;
        }
    }
}

int main(int argc, char **argv) {
    const char *many = getenv("SL_SEEDS");
    uint64_t first = 1, seeds = many ? strtoull(many, NULL, 10) : 2000;
    struct sums sum = {0};
    bool verbose = false;

    sl_log_set(SL_LOG_ERROR);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0) {
            run_one(&sum, strtoull(argv[i + 1], NULL, 10), verbose);
            seeds = 0;
        } else if (strcmp(argv[i], "--seeds") == 0) {
            seeds = strtoull(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--first") == 0) {
            first = strtoull(argv[i + 1], NULL, 10);
        }
    }
    for (uint64_t s = first; s < first + seeds; s++)
        run_one(&sum, s, verbose);
    (void)printf(
        "%llu changes of flavors and queues, %llu evictions; %llu flavors were deleted too "
        "soon; faults:",
        (unsigned long long)sum.generated, (unsigned long long)sum.evictions,
        (unsigned long long)sum.hasty);
    if (sum.hasty > 1 + seeds / HASTY_ONE_IN) {
        (void)printf(" (that is too often!)");
        sum.failed++;
    }
    check_struck(&sum, fakeapi_fault_names, sum.struck, FAKEAPI_FAULTS, seeds);
    (void)printf("; of NATS:");
    check_struck(&sum, fakenats_fault_names, sum.nats_struck, FAKENATS_FAULTS, seeds);
    (void)printf("\n%llu passed, %llu failed, 0 skipped\n", (unsigned long long)sum.passed,
                 (unsigned long long)sum.failed);
    return sum.failed ? 1 : 0;
}
