/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue on the resource graph under seeded faults of the API: loss, delay, conflicts, 429, 5xx,
 * watches that end, lag or hang, partitions, clock steps, compaction, deaths and fail-over of its
 * replicas, while nodes come, change and go, users create, scale, roll and delete what is queued,
 * some of it impossible or malformed, and pods of others take what they like (fluxworld.h).
 *
 * After every change: fluxwatch.c, and fluxusage.c when all of it is known. Then the faults end,
 * nothing ends any more, and the state is compared with what the objects say (fluxrest.c) and with
 * one that starts from nothing but the API. Then pods run as long as was said, and no start is
 * later than promised. At last everything is deleted, and nothing is left. With --ledger all is
 * recorded besides (fluxledger.c).
 *
 * Faults that were planted in the controller, and the first history that found each:
 *
 *     pods of others take nothing of a node, and pods are bound without room   1  node capacity
 *     cordons are not read                                                     1  lets it in
 *     Jobs start before their places are written                               1  gang whole
 *     what is given back stays held on the graph                               1  usage
 *     the second pod of a job is never bound                                   1  bound in time
 *     a later start is shown without an event                                  2  promise, or told
 *     a job grows without its rules                                        10001  one on each node
 *     affinity of a pod by itself is taken as satisfied                    10001  not bound
 */
#include "fluxworld.h"

#include "../../seed_key.h"

#define STORM (4 * SL_MINUTE)
#define REST (6 * SL_MINUTE)
#define RUSH (5 * SL_MINUTE) /* users submit, and everything is as it was said */
#define END (20 * SL_MINUTE)
#define ENOUGH_STRUCK 60u    /* histories to meet with every kind of fault */
#define LATE_ONE_IN 50u      /* bindings may be those of one that led before */
#define REPLANNED_ONE_IN 50u /* states may be others after a restart, by their reservations */

struct sums {
    uint64_t passed, failed, struck[FAKEAPI_FAULTS];
    uint64_t binds, starts, late, unknown, promises, moved, reused, fits, waits, rebuilt, usages,
        delays, ruled_places, recorded, replanned;
};

static void storm(struct world *w) {
    struct fakeapi_faults faults;
    fakeapi_some_faults(&w->prng, 20, &faults);
    fakeapi_set_faults(w->api, &faults);
    w->disturbed = fakeapi_now(w->api) + STORM;
    w->storms = true;
    for (uint32_t i = 0, n = 20 + world_below(w, 60); i < n; i++)
        fakeapi_at(w->api, fakeapi_now(w->api) + sl_prng_range(&w->prng, 0, STORM - 10 * SL_SEC),
                   actors_operate, w, i);
    world_run(w, STORM);
}

static void calm(struct world *w) {
    world_tell(w, "---- the network is whole again");
    fakeapi_set_faults(w->api, NULL);
    w->storms = false;
    for (uint32_t i = 0; i < REPLICAS; i++) {
        if (w->ledger)
            world_kill(w, i); /* from now on all of them record what they do */
        world_start(w, i);
        fakeapi_cut(w->api, i);
    }
    fakeapi_cut(w->api, CLUSTER_CLIENT);
    actors_calm(w);
}

static void rest(struct world *w, const char *when) {
    if (w->failed)
        return;
    world_tell(w, "---- rest %s", when);
    w->frozen = true;
    world_run(w, SL_MINUTE);
    if (!world_rest(w, REST))
        world_fail(w, "there is no rest %s", when);
    if (!w->failed)
        rest_check(w);
    ledger_check(w);
    world_compare(w);
    w->frozen = false;
}

/* Without faults, and everybody keeps to what was said. */
static void rush(struct world *w) {
    struct fakeapi_stats stats;
    fakeapi_stats(w->api, &stats);
    if (stats.struck[CLOCK_STEP])
        return; /* who runs may have begun in the future: no promise is sound */
    world_tell(w, "---- rush");
    world_run(w, 5 * SL_MINUTE); /* what was not punctual ends */
    w->punctual = true;
    w->broken = fakeapi_now(w->api);
    for (uint32_t i = 0, n = 5 + world_below(w, 15); i < n; i++)
        fakeapi_at(w->api, fakeapi_now(w->api) + sl_prng_range(&w->prng, 0, RUSH / 2),
                   actors_submit, w, i);
    world_run(w, RUSH);
}

static void run(struct world *w) {
    actors_begin(w);
    for (uint32_t i = 0; i < REPLICAS; i++)
        world_start(w, i);
    world_run(w, 20 * SL_SEC);
    storm(w);
    calm(w);
    rest(w, "after the storm");
    rush(w);
    rest(w, "after the rush");
    if (w->failed)
        return;
    world_tell(w, "---- the end");
    actors_delete_all(w);
    world_run(w, SL_MINUTE);
    if (!world_rest(w, END))
        world_fail(w, "there is no rest at the end");
    if (!w->failed)
        rest_empty(w);
}

/* ---- all histories ---- */

static void run_one(struct sums *sum, uint64_t seed, bool verbose, bool ledger) {
    struct world *w = sl_alloc0(1, sizeof *w);
    struct fakeapi_stats stats;
    w->seed = seed;
    w->verbose = verbose;
    w->with_ledger = ledger;
    seed_key(seed);
    world_begin(w);
    run(w);
    fakeapi_stats(w->api, &stats);
    for (uint32_t i = 0; i < FAKEAPI_FAULTS; i++)
        sum->struck[i] += stats.struck[i];
    sum->binds += w->binds;
    sum->starts += w->starts;
    sum->late += w->late;
    sum->unknown += w->unknown;
    sum->promises += w->promises;
    sum->moved += w->moved;
    sum->reused += w->reused;
    sum->fits += w->fits;
    sum->waits += w->waits;
    sum->rebuilt += w->rebuilt;
    sum->replanned += w->replanned;
    sum->usages += w->usages;
    sum->delays += w->delays;
    sum->ruled_places += w->ruled_places;
    sum->recorded += w->recorded;
    sum->passed += !w->failed;
    if (w->failed && sum->failed++ < 40)
        (void)printf("seed %llu: %s\n", (unsigned long long)seed, w->why);
    (void)fflush(stdout);
    world_end(w);
    sl_freep(&w);
}

static void check(struct sums *sum, bool wrong, const char *what) {
    if (!wrong)
        return;
    (void)printf("%s\n", what);
    sum->failed++;
}

static void check_sums(struct sums *sum, uint64_t seeds) {
    (void)printf("%llu bindings, %llu Jobs started, %llu by late writes, %llu on nodes that had "
                 "changed unknown, %llu in places from before a change; %llu promised starts were "
                 "kept, %llu delays told; %llu job ids were used again; at rest %llu waited; "
                 "rebuilt %llu times, %llu with other reservations; usage compared %llu times, "
                 "rules between pods %llu times; faults:",
                 (unsigned long long)sum->binds, (unsigned long long)sum->starts,
                 (unsigned long long)sum->late, (unsigned long long)sum->unknown,
                 (unsigned long long)sum->moved, (unsigned long long)sum->promises,
                 (unsigned long long)sum->delays, (unsigned long long)sum->reused,
                 (unsigned long long)sum->waits, (unsigned long long)sum->rebuilt,
                 (unsigned long long)sum->replanned, (unsigned long long)sum->usages,
                 (unsigned long long)sum->ruled_places);
    for (uint32_t i = 0; i < FAKEAPI_FAULTS; i++)
        (void)printf(" %s %llu", fakeapi_fault_names[i], (unsigned long long)sum->struck[i]);
    (void)putchar('\n');
    if (seeds < ENOUGH_STRUCK)
        return;
    for (uint32_t i = 0; i < FAKEAPI_FAULTS; i++)
        check(sum, !sum->struck[i], "a kind of fault never struck");
    check(sum, sum->late > 1 + sum->binds / LATE_ONE_IN, "late writes were too many");
    check(sum, sum->replanned > 1 + sum->rebuilt / REPLANNED_ONE_IN, "other plans were too many");
    check(sum,
          !sum->promises || !sum->waits || !sum->rebuilt || !sum->usages || sum->binds < 10 * seeds,
          "the histories were about nothing");
}

int main(int argc, char **argv) {
    const char *many = getenv("SL_SEEDS");
    uint64_t first = 1, seeds = many ? strtoull(many, NULL, 10) : 2000;
    struct sums sum = {0};
    bool verbose = false, ledger = false;
    sl_log_set(SL_LOG_ERROR);
    for (int i = 1; i < argc; i++) {
        verbose |= strcmp(argv[i], "--verbose") == 0;
        ledger |= strcmp(argv[i], "--ledger") == 0;
    }
    if (verbose)
        (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i + 1 < argc; i++) {
        uint64_t n = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0) {
            run_one(&sum, n, verbose, ledger);
            seeds = 0;
        } else if (strcmp(argv[i], "--seeds") == 0) {
            seeds = n;
        } else if (strcmp(argv[i], "--first") == 0) {
            first = n;
        }
    }
    for (uint64_t s = first; s < first + seeds; s++)
        run_one(&sum, s, verbose, ledger);
    check_sums(&sum, seeds);
    check(&sum, ledger && seeds && !sum.recorded, "the ledger was never compared");
    (void)printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)sum.passed,
                 (unsigned long long)sum.failed);
    return sum.failed ? 1 : 0;
}
