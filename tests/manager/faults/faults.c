/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs under seeded faults: loss, delay, reorder, conflict, cut streams, forgotten history,
 * partitions, clock steps, deaths and fail-over between two replicas of the whole manager, while
 * people submit jobs, edit queues and delete things (world.h).
 *
 * After every event: no quota is exceeded in what the API says, nobody's admission is replaced by
 * another without having been given back, and the manager agrees with itself. At the end, with the
 * network whole again: every job has finished or cannot (its queue is stopped or too small),
 * nothing holds quota for nobody, and a manager that starts from nothing but the API has the same
 * state as the one that lived through it all.
 */
#include "world.h"

#define MAX_JOBS 24u

/* ---- the job controller: runs what is not suspended ---- */

static void job_turn(void *ctx, uint64_t n) {
    struct world *w = ctx;
    char path[160], status[192];
    (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/default/jobs/job-%u",
                   (unsigned)(n & 0xff));
    (void)snprintf(status, sizeof status, "%s/status", path);
    yyjson_val *job = fakeapi_get(w->api, path);
    if (!job)
        return;
    bool suspended = sl_json_bool(job, "spec.suspend", false);
    int64_t active = sl_json_int(job, "status.active", 0),
            pods = sl_json_int(job, "spec.parallelism", 1);
    yyjson_val *conds = sl_json_at(job, "status.conditions");
    if (yyjson_arr_size(conds))
        return; /* over */
    if (suspended && active)
        (void)world_send(w, SL_PATCH, status,
                         "{\"status\":{\"active\":null,\"ready\":null,\"startTime\":null}}");
    else if (!suspended && !active)
        (void)world_send(
            w, SL_PATCH, status,
            "{\"status\":{\"active\":%d,\"ready\":%d,\"startTime\":\"2026-01-01T00:00:00Z\"}}",
            (int)pods, (int)pods);
    else if (!suspended && n >> 8)
        (void)world_send(
            w, SL_PATCH, status,
            "{\"status\":{\"active\":null,\"ready\":null,\"succeeded\":%d,\"conditions\":[{"
            "\"type\":\"Complete\","
            "\"status\":\"True\",\"reason\":\"Done\",\"message\":\"Job finished successfully\"}]}}",
            (int)pods);
}

static void job_changed(struct world *w, const struct fakeapi_change *c) {
    unsigned n;
    if (!c->now || !fakeapi_number(sl_json_str(c->now, "metadata.name"), "job-", &n, NULL))
        return;
    bool was = c->before && sl_json_int(c->before, "status.active", 0),
         is = sl_json_int(c->now, "status.active", 0) != 0;
    fakeapi_at(w->api, fakeapi_now(w->api) + (sl_time)sl_prng_below(&w->prng, 300) * SL_MSEC,
               job_turn, w, n);
    if (is && !was) /* begins to run: it will end */
        fakeapi_at(w->api,
                   fakeapi_now(w->api) + (sl_time)(1 + sl_prng_below(&w->prng, 20)) * SL_SEC,
                   job_turn, w, (uint64_t)1 << 8 | n);
}

static void changed(struct world *w, const struct fakeapi_change *c) {
    if (strcmp(c->kind->plural, "jobs") != 0)
        return;
    world_tell(w, "job %s: suspend %d active %d", c->key,
               c->now ? sl_json_bool(c->now, "spec.suspend", false) : -1,
               c->now ? (int)sl_json_int(c->now, "status.active", 0) : -1);
    job_changed(w, c);
}

/* ---- users ---- */

static void submit(void *ctx, uint64_t n) {
    struct world *w = ctx;
    uint32_t q = (uint32_t)sl_prng_below(&w->prng, w->n_queues),
             pods = 1 + (uint32_t)sl_prng_below(&w->prng, 3);
    world_tell(w, "submit job-%u to lq-%u, %u pods", (unsigned)n, q, pods);
    (void)world_send(
        w, SL_POST, "/apis/batch/v1/namespaces/default/jobs",
        "{\"apiVersion\":\"batch/"
        "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"job-%u\",\"labels\":{"
        "\"kueue.x-k8s.io/queue-name\":\"lq-%u\",\"kueue.x-k8s.io/"
        "priority-class\":\"p%u\"}},\"spec\":{\"suspend\":true,"
        "\"parallelism\":%u,\"completions\":%u,\"template\":{\"metadata\":{},\"spec\":{"
        "\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
        "\"cpu\":\"1\",\"memory\":\"%uGi\"}}}]}}}}",
        (unsigned)n, q, (unsigned)sl_prng_below(&w->prng, 3), pods, pods,
        1 + (unsigned)(w->seed + n) % 2);
}

static void write_as_user(void *ctx, uint64_t n) {
    struct world *w = ctx;
    uint32_t q = (uint32_t)sl_prng_below(&w->prng, w->n_queues);
    char path[160];
    static const char *const stops[] = {"None", "Hold", "HoldAndDrain"};
    (void)n;
    switch (sl_prng_below(&w->prng, 6)) {
    case 0:
    case 1:
        world_tell(w, "cq-%u: another stop policy", q);
        world_queue(w, q, true, stops[sl_prng_below(&w->prng, 3)]);
        break;
    case 2:
        (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/default/jobs/job-%u",
                       (unsigned)sl_prng_below(&w->prng, *(uint32_t *)w->own));
        world_tell(w, "delete %s", path);
        (void)world_send(w, SL_DELETE, path, "{\"propagationPolicy\":\"Background\"}");
        break;
    case 3:
        if (w->replicas[0].manager)
            world_kill(w, 0);
        else
            world_start(w, 0);
        break;
    case 4:
        if (w->replicas[1].manager)
            world_kill(w, 1);
        else
            world_start(w, 1);
        break;
    default:
        fakeapi_cut(w->api, (uint32_t)sl_prng_below(&w->prng, 2));
        break;
    }
}

/* ---- the end ---- */

static void count_unfinished(void *ctx, yyjson_val *o) {
    uint32_t *unfinished = ctx;
    *unfinished +=
        !world_is(o, strcmp(sl_json_str(o, "kind"), "Job") == 0 ? "Complete" : "Finished");
}

static bool all_over(struct world *w) {
    uint32_t unfinished = 0;
    (void)fakeapi_each(w->api, "/apis/batch/v1/jobs", count_unfinished, &unfinished);
    (void)fakeapi_each(w->api, KUEUE "/workloads", count_unfinished, &unfinished);
    return !unfinished && world_idle(w);
}

static void check_job(void *ctx, yyjson_val *o) {
    if (!world_is(o, "Complete"))
        world_fail(ctx, "job %s never finished (suspend %d, active %d)",
                   sl_json_str(o, "metadata.name"), sl_json_bool(o, "spec.suspend", false),
                   (int)sl_json_int(o, "status.active", 0));
}

static void check_workload(void *ctx, yyjson_val *o) {
    if (!world_is(o, "Finished"))
        world_fail(ctx, "workload %s is left over", sl_json_str(o, "metadata.name"));
    if (world_holds(o))
        world_fail(ctx, "workload %s holds quota for nobody", sl_json_str(o, "metadata.name"));
}

static void run(struct world *w) {
    uint32_t n_jobs;
    w->own = &n_jobs;
    world_queues(w);
    world_start_all(w);
    world_disturb(w, true);
    n_jobs = 4 + world_below(w, MAX_JOBS - 4);
    for (uint32_t i = 0; i < n_jobs; i++)
        fakeapi_at(w->api, (sl_time)sl_prng_below(&w->prng, 60) * SL_SEC, submit, w, i);
    for (uint32_t i = 0, n = world_below(w, 12); i < n; i++)
        fakeapi_at(w->api, (sl_time)(5 + sl_prng_below(&w->prng, 100)) * SL_SEC, write_as_user, w,
                   i);
    world_run_until(w, 120 * SL_SEC);

    world_disturb(w, false);
    world_start_all(w);
    for (uint32_t i = 0; i < w->n_queues; i++)
        world_queue(w, i, true, "None");
    /* A stream that went silent is given up after five minutes; usually all is over much sooner. */
    for (sl_time until = 130 * SL_SEC; until <= 1200 * SL_SEC && !w->failed && !all_over(w);
         until += 10 * SL_SEC)
        world_run_until(w, until);
    world_wake(w);
    world_run_until(w, fakeapi_now(w->api) + 30 * SL_SEC);
    (void)fakeapi_each(w->api, "/apis/batch/v1/jobs", check_job, w);
    (void)fakeapi_each(w->api, KUEUE "/workloads", check_workload, w);
    world_compare_usage(w);
    if (!w->failed)
        world_compare(w);
}

int main(int argc, char **argv) {
    static const struct world_test test = {
        .name = "faults",
        .config = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                  "waitForPodsReady: {timeout: 10h}\n",
        .parts = {.core = true, .scheduler = true, .framework[SL_FW_JOB] = true},
        .run = run,
        .changed = changed,
    };
    return world_main(argc, argv, &test);
}
