/*
 * The whole manager over the in-memory API under seeded faults: loss, delay, reorder, conflict, cut
 * streams, forgotten history, partitions, clock steps, deaths and fail-over between two replicas,
 * while people submit jobs, edit queues and delete things.
 *
 *     faults [--seeds N] [--first S] [--slow N] [--verbose]
 *
 * After every event: no quota is exceeded in what the API says, nobody's admission is replaced by
 * another without having been given back, and the manager agrees with itself. At the end, with the
 * network whole again: every job has finished or cannot (its queue is stopped or too small),
 * nothing holds quota for nobody, and a manager that starts from nothing but the API has the same
 * state as the one that lived through it all.
 *
 * One thing nobody can prevent: a reservation that is carried out after the lease of its sender has
 * gone to another. While such a late one lasts, it is left out of the sum. How often that mattered
 * is told, and more than a few times is a failure. In slow histories requests and answers are on
 * their way for so long that late writes must be met with.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/prng.h"
#include "base/vec.h"
#include "controllers/controllers.h"
#include "controllers/json.h"
#include "fakeapi.h"
#include "kube/lease.h"
#include "log/log.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"
#define MAX_JOBS 24u
#define MAX_QUEUES 4u
#define MAX_IDLE 20000u    /* turns in which the clock does not move */
#define EXCUSED_ONE_IN 500 /* histories may have a late reservation that matters, and one more */
#define ENOUGH_SLOW 50     /* slow histories to meet with one */
#define OBSERVER 7u        /* the client that starts from nothing at the end */

struct holding { /* what a workload holds according to the API */
    char key[128];
    uint32_t queue;
    int64_t cpu;
    bool late, excused; /* reserved by one who led no longer; and quota was exceeded by it */
};

struct replica {
    struct sl_manager *manager;
    struct sl_lease *lease;
    uint32_t client;
};

struct world {
    uint64_t seed;
    struct sl_prng prng;
    struct fakeapi *api;
    struct sl_settings *settings;
    struct replica replicas[2];
    uint32_t n_queues, n_jobs;
    int64_t nominal[MAX_QUEUES], most; /* most: quota of the whole cohort at any time in this run */
    SL_VEC(struct holding) holdings;
    uint32_t leader; /* the client that has the lease according to the API */
    sl_time leads_since;
    uint64_t late, excused; /* late writes; reservations among them by which quota was exceeded */
    bool verbose, failed, strict, slow;
    char why[400];
};

static void fail(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct world *w, const char *fmt, ...) {
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

static void tell(const struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void tell(const struct world *w, const char *fmt, ...) {
    va_list ap;
    if (!w->verbose)
        return;
    (void)printf("%9.3f ", (double)fakeapi_now(w->api) / 1e9);
    va_start(ap, fmt);
    (void)vprintf(fmt, ap);
    va_end(ap);
    (void)putchar('\n');
}

static int send_text(struct world *w, enum sl_method method, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static int send_text(struct world *w, enum sl_method method, const char *path, const char *fmt,
                     ...) {
    char body[4096];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(body, sizeof body, fmt, ap);
    va_end(ap);
    return fakeapi_do(w->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON, body,
                      NULL);
}

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
    bool suspended = jbool(job, "spec.suspend", false);
    int64_t active = jint(job, "status.active", 0), pods = jint(job, "spec.parallelism", 1);
    yyjson_val *conds = jat(job, "status.conditions");
    if (yyjson_arr_size(conds))
        return; /* over */
    if (suspended && active)
        (void)send_text(w, SL_PATCH, status,
                        "{\"status\":{\"active\":null,\"ready\":null,\"startTime\":null}}");
    else if (!suspended && !active)
        (void)send_text(
            w, SL_PATCH, status,
            "{\"status\":{\"active\":%d,\"ready\":%d,\"startTime\":\"2026-01-01T00:00:00Z\"}}",
            (int)pods, (int)pods);
    else if (!suspended && n >> 8)
        (void)send_text(
            w, SL_PATCH, status,
            "{\"status\":{\"active\":null,\"ready\":null,\"succeeded\":%d,\"conditions\":[{"
            "\"type\":\"Complete\","
            "\"status\":\"True\",\"reason\":\"Done\",\"message\":\"Job finished successfully\"}]}}",
            (int)pods);
}

static void job_changed(struct world *w, const struct fakeapi_change *c) {
    unsigned n;
    if (!c->now || sscanf(jstr(c->now, "metadata.name"), "job-%u", &n) != 1)
        return;
    bool was = c->before && jint(c->before, "status.active", 0),
         is = jint(c->now, "status.active", 0) != 0;
    fakeapi_at(w->api, fakeapi_now(w->api) + (sl_time)sl_prng_below(&w->prng, 300) * SL_MSEC,
               job_turn, w, n);
    if (is && !was) /* begins to run: it will end */
        fakeapi_at(w->api,
                   fakeapi_now(w->api) + (sl_time)(1 + sl_prng_below(&w->prng, 20)) * SL_SEC,
                   job_turn, w, (uint64_t)1 << 8 | n);
}

/* ---- what must hold after every event ---- */

static const char *condition(yyjson_val *o, const char *type) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (jat(o, "status.conditions"), i, n, v)
        if (strcmp(jstr(v, "type"), type) == 0)
            return jstr(v, "status");
    return "";
}

static int64_t cpu_of(yyjson_val *o) {
    struct sl_err err;
    sl_quantity q = 0;
    yyjson_val *a = yyjson_arr_get_first(jat(o, "status.admission.podSetAssignments"));
    const char *s = jstr(a, "resourceUsage.cpu");
    return *s && sl_quantity_parse(s, strlen(s), &q, &err) >= 0 ? (int64_t)(q / SL_NANO) : 0;
}

/* Pods that have ended and need their quota no longer: one cpu each. */
static int64_t reclaimable(yyjson_val *o) {
    return jint(yyjson_arr_get_first(jat(o, "status.reclaimablePods")), "count", 0);
}

static bool holds(yyjson_val *o) {
    return o && jat(o, "status.admission") && strcmp(condition(o, "QuotaReserved"), "True") == 0 &&
           strcmp(condition(o, "Finished"), "True") != 0;
}

/* Was it sent by another than the present leader, or before that one had the lease? */
static bool is_late(const struct world *w, const struct fakeapi_change *c) {
    return c->client != FAKEAPI_NOBODY && (c->client != w->leader || c->sent < w->leads_since);
}

static void lease_changed(struct world *w, const struct fakeapi_change *c) {
    const char *was = c->before ? jstr(c->before, "spec.holderIdentity") : "",
               *is = c->now ? jstr(c->now, "spec.holderIdentity") : "";
    if (strcmp(was, is) == 0)
        return;
    tell(w, "lease: from %s to %s", was, is);
    if (sscanf(is, "r%u-", &w->leader) != 1)
        w->leader = FAKEAPI_NOBODY;
    w->leads_since = fakeapi_now(w->api);
}

static void hold(struct world *w, const struct fakeapi_change *c) {
    struct holding h = {0};
    unsigned q = 0;
    for (uint32_t i = 0; i < w->holdings.n; i++)
        if (strcmp(w->holdings.v[i].key, c->key) == 0) {
            h = w->holdings.v[i];
            w->holdings.v[i--] = sl_vec_pop(&w->holdings);
        }
    if (!holds(c->now))
        return;
    if (!holds(c->before) && is_late(w, c)) {
        h.late = true;
        tell(w, "%s: reserved by one who leads no longer", c->key);
    }
    (void)snprintf(h.key, sizeof h.key, "%s", c->key);
    (void)sscanf(jstr(c->now, "status.admission.clusterQueue"), "cq-%u", &q);
    h.queue = q;
    h.cpu = cpu_of(c->now) - reclaimable(c->now);
    *sl_vec_push(&w->holdings) = h;
}

static void check_quota(struct world *w) {
    int64_t sum = 0, late = 0;
    for (uint32_t i = 0; i < w->holdings.n; i++) {
        sum += w->holdings.v[i].cpu;
        late += w->holdings.v[i].late ? w->holdings.v[i].cpu : 0;
    }
    if (sum <= w->most)
        return;
    for (uint32_t i = 0; i < w->holdings.n; i++) {
        struct holding *h = &w->holdings.v[i];
        tell(w, "    %s holds %lld of cq-%u%s", h->key, (long long)h->cpu, h->queue,
             h->late ? ", late" : "");
        w->excused += h->late && !h->excused;
        h->excused |= h->late;
    }
    if (sum - late > w->most)
        fail(w, "%lld cpu are reserved, %lld of them late, the cohort has %lld", (long long)sum,
             (long long)late, (long long)w->most);
}

static void workload_changed(struct world *w, const struct fakeapi_change *c) {
    if (holds(c->before) && holds(c->now) &&
        (strcmp(jstr(c->before, "status.admission.clusterQueue"),
                jstr(c->now, "status.admission.clusterQueue")) != 0 ||
         cpu_of(c->before) != cpu_of(c->now)))
        fail(w, "%s: its admission was replaced by another", c->key);
    w->late += is_late(w, c);
    hold(w, c);
    check_quota(w);
    tell(w, "workload %s: holds %d evicted %s finished %s", c->key, holds(c->now),
         c->now ? condition(c->now, "Evicted") : "gone",
         c->now ? condition(c->now, "Finished") : "");
}

static void on_change(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;
    if (strcmp(c->kind->plural, "jobs") == 0) {
        tell(w, "job %s: suspend %d active %d", c->key,
             c->now ? jbool(c->now, "spec.suspend", false) : -1,
             c->now ? (int)jint(c->now, "status.active", 0) : -1);
        job_changed(w, c);
    } else if (strcmp(c->kind->plural, "workloads") == 0) {
        workload_changed(w, c);
    } else if (strcmp(c->kind->plural, "leases") == 0) {
        lease_changed(w, c);
    }
}

/* ---- replicas ---- */

static struct sl_manager *new_manager(struct world *w, uint32_t client, bool standby) {
    struct sl_manager_spec spec = {.port = fakeapi_port(w->api, client),
                                   .settings = w->settings,
                                   .instance = "test",
                                   .seed = sl_prng_next(&w->prng),
                                   .standby = standby};
    spec.parts.core = spec.parts.scheduler = true;
    spec.parts.framework[SL_FW_JOB] = true;
    return sl_manager_new(&spec);
}

static void start_replica(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    char name[16];
    (void)snprintf(name, sizeof name, "r%u-%u", i, (unsigned)sl_prng_below(&w->prng, 1000000));
    struct sl_lease_spec l = {"kueue-system", "lease", name, 4 * SL_SEC, 3 * SL_SEC, SL_SEC};
    r->client = i;
    r->lease = sl_lease_new(fakeapi_port(w->api, i), &l, sl_prng_next(&w->prng));
    r->manager = new_manager(w, i, true);
    tell(w, "replica %u starts", i);
}

static void kill_replica(struct world *w, uint32_t i) {
    struct replica *r = &w->replicas[i];
    tell(w, "replica %u dies", i);
    fakeapi_kill(w->api, i); /* what is on its way still arrives */
    sl_manager_free(r->manager);
    sl_lease_free(r->lease);
    *r = (struct replica){0};
}

static void turn(struct world *w) {
    struct sl_err err;
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++) {
        struct replica *r = &w->replicas[i];
        if (!r->manager)
            continue;
        sl_lease_tick(r->lease);
        sl_manager_lead(r->manager, sl_lease_held(r->lease));
        sl_manager_tick(r->manager);
        if (w->strict && sl_manager_check(r->manager, &err) < 0)
            fail(w, "replica %u: %s", i, err.text);
    }
}

static sl_time next_due(const struct world *w) {
    sl_time at = fakeapi_next(w->api);
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++) {
        const struct replica *r = &w->replicas[i];
        if (!r->manager)
            continue;
        sl_time a = sl_manager_next(r->manager), b = sl_lease_next(r->lease);
        at = a < at ? a : at;
        at = b < at ? b : at;
    }
    return at;
}

static void run_until(struct world *w, sl_time until) {
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
            fail(w, "nothing moves and nothing rests");
        (void)fakeapi_step(w->api, at > fakeapi_now(w->api) ? at : fakeapi_now(w->api));
        turn(w);
    }
    fakeapi_advance(w->api, until);
}

/* ---- people ---- */

static void make_queue(struct world *w, uint32_t i, bool update, int64_t nominal,
                       const char *stop) {
    char path[160];
    (void)snprintf(path, sizeof path, KUEUE "/clusterqueues");
    if (update)
        (void)snprintf(path, sizeof path, KUEUE "/clusterqueues/cq-%u", i);
    (void)send_text(
        w, update ? SL_PATCH : SL_POST, path,
        "{\"apiVersion\":\"kueue.x-k8s.io/"
        "v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq-%u\"},"
        "\"spec\":{\"cohortName\":\"all\",\"namespaceSelector\":{},\"stopPolicy\":\"%s\","
        "\"queueingStrategy\":\"%s\","
        "\"preemption\":{\"withinClusterQueue\":\"LowerPriority\",\"reclaimWithinCohort\":\"Any\"},"
        "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\","
        "\"resources\":[{\"name\":\"cpu\","
        "\"nominalQuota\":\"%lld\"}]}]}]}}",
        i, stop, i % 2 ? "StrictFIFO" : "BestEffortFIFO", (long long)nominal);
}

static void submit(void *ctx, uint64_t n) {
    struct world *w = ctx;
    uint32_t q = (uint32_t)sl_prng_below(&w->prng, w->n_queues),
             pods = 1 + (uint32_t)sl_prng_below(&w->prng, 3);
    tell(w, "submit job-%u to lq-%u, %u pods", (unsigned)n, q, pods);
    (void)send_text(w, SL_POST, "/apis/batch/v1/namespaces/default/jobs",
                    "{\"apiVersion\":\"batch/"
                    "v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"job-%u\",\"labels\":{"
                    "\"kueue.x-k8s.io/queue-name\":\"lq-%u\",\"kueue.x-k8s.io/"
                    "priority-class\":\"p%u\"}},\"spec\":{\"suspend\":true,"
                    "\"parallelism\":%u,\"completions\":%u,\"template\":{\"metadata\":{},\"spec\":{"
                    "\"restartPolicy\":\"Never\","
                    "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
                    "\"cpu\":\"1\"}}}]}}}}",
                    (unsigned)n, q, (unsigned)sl_prng_below(&w->prng, 3), pods, pods);
}

static void meddle(void *ctx, uint64_t n) {
    struct world *w = ctx;
    uint32_t q = (uint32_t)sl_prng_below(&w->prng, w->n_queues);
    char path[160];
    static const char *const stops[] = {"None", "Hold", "HoldAndDrain"};
    (void)n;
    switch (sl_prng_below(&w->prng, 6)) {
    case 0:
    case 1:
        tell(w, "cq-%u: another stop policy", q);
        make_queue(w, q, true, w->nominal[q], stops[sl_prng_below(&w->prng, 3)]);
        break;
    case 2:
        (void)snprintf(path, sizeof path, "/apis/batch/v1/namespaces/default/jobs/job-%u",
                       (unsigned)sl_prng_below(&w->prng, w->n_jobs));
        tell(w, "delete %s", path);
        (void)send_text(w, SL_DELETE, path, "{\"propagationPolicy\":\"Background\"}");
        break;
    case 3:
        if (w->replicas[0].manager)
            kill_replica(w, 0);
        else
            start_replica(w, 0);
        break;
    case 4:
        if (w->replicas[1].manager)
            kill_replica(w, 1);
        else
            start_replica(w, 1);
        break;
    default:
        fakeapi_cut(w->api, (uint32_t)sl_prng_below(&w->prng, 2));
        break;
    }
}

/* ---- the end ---- */

struct count {
    struct world *w;
    uint32_t unfinished;
};

static void count_unfinished(void *ctx, yyjson_val *o) {
    struct count *c = ctx;
    bool job = strcmp(jstr(o, "kind"), "Job") == 0;
    c->unfinished += strcmp(condition(o, job ? "Complete" : "Finished"), "True") != 0;
}

static bool all_over(struct world *w) {
    struct count c = {.w = w};
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        if (sl_lease_held(w->replicas[i].lease) && !sl_manager_idle(w->replicas[i].manager))
            return false;
    (void)fakeapi_each(w->api, "/apis/batch/v1/jobs", count_unfinished, &c);
    (void)fakeapi_each(w->api, KUEUE "/workloads", count_unfinished, &c);
    return !c.unfinished &&
           (sl_lease_held(w->replicas[0].lease) || sl_lease_held(w->replicas[1].lease));
}

static void look_at_job(void *ctx, yyjson_val *o) {
    struct count *c = ctx;
    if (strcmp(condition(o, "Complete"), "True") != 0) {
        fail(c->w, "job %s never finished (suspend %d, active %d)", jstr(o, "metadata.name"),
             jbool(o, "spec.suspend", false), (int)jint(o, "status.active", 0));
    }
}

static void look_at_workload(void *ctx, yyjson_val *o) {
    struct count *c = ctx;
    if (strcmp(condition(o, "Finished"), "True") != 0)
        fail(c->w, "workload %s is left over", jstr(o, "metadata.name"));
    if (holds(o))
        fail(c->w, "workload %s holds quota for nobody", jstr(o, "metadata.name"));
}

/* A second manager, from the API alone, must have the same state. */
static void compare_state(struct world *w) {
    struct sl_buf a, b;
    uint32_t leader = w->replicas[0].manager && sl_lease_held(w->replicas[0].lease) ? 0 : 1;
    if (!w->replicas[leader].manager)
        return;
    struct sl_manager *fresh = new_manager(w, OBSERVER, false);
    for (uint32_t i = 0; i < 2000 && !(sl_manager_ready(fresh) && sl_manager_idle(fresh)); i++) {
        sl_manager_tick(fresh);
        sl_time at = next_due(w), own = sl_manager_next(fresh);
        (void)fakeapi_step(w->api, own < at ? own : at);
        turn(w);
    }
    sl_buf_init(&a, (size_t)16 << 20);
    sl_buf_init(&b, (size_t)16 << 20);
    sl_manager_dump(w->replicas[leader].manager, &a);
    sl_manager_dump(fresh, &b);
    if (strcmp(sl_buf_str(&a), sl_buf_str(&b)) != 0) {
        fail(w, "the state rebuilt from the API is another");
        if (w->verbose)
            (void)printf("--- lived:\n%s\n--- rebuilt:\n%s\n", sl_buf_str(&a), sl_buf_str(&b));
    }
    sl_buf_done(&a);
    sl_buf_done(&b);
    sl_manager_free(fresh);
}

static void run(struct world *w) {
    struct fakeapi_faults faults;
    struct sl_warnings warnings;
    struct sl_err err;
    static const char config[] = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                                 "waitForPodsReady: {timeout: 10h}\n";

    sl_prng_init(&w->prng, w->seed);
    sl_warnings_init(&warnings);
    if (sl_settings_parse("test", config, strlen(config), "kueue-system", NULL, &w->settings,
                          &warnings, &err) < 0)
        abort();
    sl_warnings_done(&warnings);
    w->api = fakeapi_new(w->seed);
    fakeapi_on_change(w->api, on_change, w);
    (void)send_text(w, SL_POST, "/api/v1/namespaces",
                    "{\"metadata\":{\"name\":\"default\",\"labels\":{}}}");
    (void)send_text(w, SL_POST, KUEUE "/resourceflavors",
                    "{\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    for (uint32_t i = 0; i < 3; i++)
        (void)send_text(w, SL_POST, KUEUE "/workloadpriorityclasses",
                        "{\"metadata\":{\"name\":\"p%u\"},\"value\":%u}", i, i * 100);
    w->n_queues = 1 + (uint32_t)sl_prng_below(&w->prng, MAX_QUEUES);
    for (uint32_t i = 0; i < w->n_queues; i++) {
        w->nominal[i] = 3 + (int64_t)sl_prng_below(&w->prng, 4);
        w->most += w->nominal[i];
        make_queue(w, i, false, w->nominal[i], "None");
        (void)send_text(w, SL_POST, KUEUE "/namespaces/default/localqueues",
                        "{\"metadata\":{\"name\":\"lq-%u\"},\"spec\":{\"clusterQueue\":\"cq-%u\","
                        "\"stopPolicy\":\"None\"}}",
                        i, i);
    }
    start_replica(w, 0);
    start_replica(w, 1);
    fakeapi_some_faults(&w->prng, 20, &faults);
    if (w->slow) {
        faults.delay = faults.late_reply = 8;
        faults.longest = 20 * SL_SEC;
    }
    fakeapi_set_faults(w->api, &faults);
    w->n_jobs = 4 + (uint32_t)sl_prng_below(&w->prng, MAX_JOBS - 4);
    for (uint32_t i = 0; i < w->n_jobs; i++)
        fakeapi_at(w->api, (sl_time)sl_prng_below(&w->prng, 60) * SL_SEC, submit, w, i);
    for (uint32_t i = 0, n = (uint32_t)sl_prng_below(&w->prng, 12); i < n; i++)
        fakeapi_at(w->api, (sl_time)(5 + sl_prng_below(&w->prng, 100)) * SL_SEC, meddle, w, i);
    run_until(w, 120 * SL_SEC);

    tell(w, "the network is whole again");
    fakeapi_set_faults(w->api, NULL);
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        if (!w->replicas[i].manager)
            start_replica(w, i);
    for (uint32_t i = 0; i < w->n_queues; i++)
        make_queue(w, i, true, w->nominal[i], "None");
    /* A stream that went silent is given up after five minutes; usually all is over much sooner. */
    for (sl_time until = 130 * SL_SEC; until <= 1200 * SL_SEC && !w->failed && !all_over(w);
         until += 10 * SL_SEC)
        run_until(w, until);
    /* Streams that went silent are taken up again, so that everybody has heard everything. */
    fakeapi_cut(w->api, 0);
    fakeapi_cut(w->api, 1);
    run_until(w, fakeapi_now(w->api) + 30 * SL_SEC);
    struct fakeapi_stats stats;
    fakeapi_stats(w->api, &stats);
    if (stats.invalid)
        fail(w, "%llu writes were invalid", (unsigned long long)stats.invalid);
    struct count c = {.w = w};
    (void)fakeapi_each(w->api, "/apis/batch/v1/jobs", look_at_job, &c);
    (void)fakeapi_each(w->api, KUEUE "/workloads", look_at_workload, &c);
    if (!w->failed)
        compare_state(w);
    for (uint32_t i = 0; i < SL_LEN(w->replicas); i++)
        if (w->replicas[i].manager)
            kill_replica(w, i);
    fakeapi_free(w->api);
    sl_settings_free(w->settings);
    sl_vec_free(&w->holdings);
}

struct sums {
    uint64_t passed, failed, late, excused;
};

static void run_all(struct sums *sum, uint64_t first, uint64_t seeds, bool slow, bool verbose) {
    if (!seeds)
        return;
    for (uint64_t s = first; s < first + seeds; s++) {
        struct world w = {
            .seed = s, .verbose = verbose, .strict = true, .slow = slow, .leader = FAKEAPI_NOBODY};
        run(&w);
        sum->late += w.late;
        sum->excused += w.excused;
        sum->passed += !w.failed;
        if (w.failed && sum->failed++ < 20)
            (void)printf("seed %llu: %s\n    again: faults --first %llu --%s 1 --verbose\n",
                         (unsigned long long)s, w.why, (unsigned long long)s,
                         slow ? "seeds 0 --slow" : "seeds");
        (void)fflush(stdout);
    }
    (void)printf("%llu %shistories: %llu writes came late, %llu of them exceeded quota\n",
                 (unsigned long long)seeds, slow ? "slow " : "", (unsigned long long)sum->late,
                 (unsigned long long)sum->excused);
}

int main(int argc, char **argv) {
    uint64_t first = 1, seeds = 2000, slow = 0;
    bool verbose = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            seeds = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
            first = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--slow") == 0 && i + 1 < argc)
            slow = strtoull(argv[++i], NULL, 10);
    }
    if (!verbose)
        sl_log_set(SL_LOG_ERROR);
    struct sums usual = {0}, slowly = {0};
    run_all(&usual, first, seeds, false, verbose);
    if (usual.excused > 1 + seeds / EXCUSED_ONE_IN) {
        (void)printf("that is too often\n");
        usual.failed++;
    }
    run_all(&slowly, first, slow, true, verbose);
    if (slow >= ENOUGH_SLOW && !slowly.late) {
        (void)printf("late writes are not recognised\n");
        slowly.failed++;
    }
    (void)printf("%llu passed, %llu failed, 0 skipped\n",
                 (unsigned long long)(usual.passed + slowly.passed),
                 (unsigned long long)(usual.failed + slowly.failed));
    return usual.failed + slowly.failed ? 1 : 0;
}
