/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and the scheduler under seeded faults: loss, delay, conflict, cut streams, forgotten
 * history, clock steps, and deaths of the whole part, while people create Jobs of all kinds,
 * suspend, scale and delete them and their pods, and a kubelet runs what is bound.
 *
 * After every event: no more pods of a Job are active than it may have, none of an index twice, no
 * node has more on it than it has room for, and no counter goes back. At the end, with the network
 * whole again: every Job has ended, its counters are what its pods said, every index was completed
 * once, and nothing holds a finalizer.
 *
 * A write that was sent by one who has died may arrive when another has started: what it breaks is
 * excused, and counted.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/job/job.h"
#include "cluster/scheduler/scheduler.h"
#include "cluster/scheduler/scheduler_int.h"
#include "core/base/mem.h"
#include "core/base/prng.h"
#include "core/base/stamp.h"
#include "fakeapi.h"
#include "lib/log/log.h"
#include "seeds.h"

#define MAX_JOBS 8u
#define MAX_PODS 4096u
#define NODES 3u
#define NODE_CPU 4
#define LONGEST (12 * SL_HOUR)

struct told {
    bool made, indexed, over, gone, complete;
    int64_t most;                        /* pods that it ever might have */
    int64_t completions;                 /* -1: none */
    int64_t ok, wrong, vanished, either; /* pods that lost the finalizer so */
    int64_t succeeded, failed;           /* as in its last status */
    bool late; /* a pod of it was created by an instance that had been killed before */
};

struct world {
    uint64_t seed;
    struct sl_prng prng;
    struct fakeapi *api;
    struct sl_cluster *cluster;
    sl_time started; /* the present one */
    struct told jobs[MAX_JOBS];
    char *pods[MAX_PODS];
    uint32_t n_pods, n_jobs, excused;
    uint64_t turns;
    bool failed, verbose;
    char why[300];
};

static uint64_t total_excused, total_ended, total_failed, total_deaths;

static void show(void *ctx, yyjson_val *o) {
    struct sl_buf b;
    (void)ctx;
    sl_buf_init(&b, 1 << 20);
    sl_json_put(&b, o);
    printf("%s\n", sl_buf_str(&b));
    sl_buf_done(&b);
}

static void fail_world(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail_world(struct world *w, const char *fmt, ...) {
    va_list args;
    if (w->failed)
        return;
    w->failed = true;
    va_start(args, fmt);
    (void)vsnprintf(w->why, sizeof w->why, fmt, args);
    va_end(args);
    if (w->verbose) {
        (void)fakeapi_each(w->api, "/apis/batch/v1/jobs", show, NULL);
        (void)fakeapi_each(w->api, "/api/v1/pods", show, NULL);
    }
}

static uint32_t below(struct world *w, uint32_t n) {
    return (uint32_t)sl_prng_below(&w->prng, n);
}

static int sendf(struct world *w, enum sl_kube_method method, const char *path, const char *fmt,
                 ...) __attribute__((format(printf, 4, 5)));
static int sendf(struct world *w, enum sl_kube_method method, const char *path, const char *fmt,
                 ...) {
    char body[2048];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(body, sizeof body, fmt, args);
    va_end(args);
    return fakeapi_do(w->api, method, path, method == SL_PATCH ? SL_MERGE_PATCH : SL_JSON,
                      *body ? body : NULL, NULL);
}

/* ---- what pods do ---- */

#define POD_PATH "/api/v1/namespaces/default/pods/"
#define JOB_PATH "/apis/batch/v1/namespaces/default/jobs/"

static uint32_t pod_number(struct world *w, const char *name) {
    for (uint32_t i = w->n_pods; i-- > 0;)
        if (strcmp(w->pods[i], name) == 0)
            return i;
    sl_assert(w->n_pods < MAX_PODS);
    w->pods[w->n_pods] = sl_strdup(name);
    return w->n_pods++;
}

enum { RUN, END, STOP };

static void kubelet(void *ctx, uint64_t arg) {
    struct world *w = ctx;
    char path[300], status[340], text[SL_STAMP_TEXT], stamp[40];
    (void)snprintf(path, sizeof path, POD_PATH "%s", w->pods[arg >> 8]);
    (void)snprintf(status, sizeof status, "%s/status", path);
    yyjson_val *pod = fakeapi_get(w->api, path);
    const char *phase = sl_json_str(pod, "status.phase");
    bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    if (!pod || !*sl_json_str(pod, "spec.nodeName"))
        return;
    (void)snprintf(stamp, sizeof stamp, "\"%s\"",
                   sl_stamp(FAKEAPI_EPOCH + fakeapi_now(w->api), text));
    if ((arg & 0xff) == STOP) {
        if (!ended && below(w, 2))
            (void)sendf(w, SL_PATCH, status, "{\"status\":{\"phase\":\"Failed\"}}");
        (void)snprintf(status, sizeof status, "%s?gracePeriodSeconds=0", path);
        (void)sendf(w, SL_DELETE, status, "%s", "");
    } else if ((arg & 0xff) == RUN && strcmp(phase, "Pending") == 0) {
        (void)sendf(w, SL_PATCH, status,
                    "{\"status\":{\"phase\":\"Running\",\"startTime\":%s,\"conditions\":[{\"type\":"
                    "\"Ready\",\"status\":\"True\",\"lastTransitionTime\":%s}]}}",
                    stamp, stamp);
        fakeapi_at(w->api, fakeapi_now(w->api) + below(w, 30) * SL_SEC, kubelet, w,
                   (arg & ~UINT64_C(0xff)) | END);
    } else if ((arg & 0xff) == END && strcmp(phase, "Running") == 0) {
        bool good = below(w, 4) != 0;
        (void)sendf(w, SL_PATCH, status,
                    "{\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
                    "\"False\"}],\"containerStatuses\":[{\"name\":\"main\",\"restartCount\":0,"
                    "\"state\":{\"terminated\":{\"exitCode\":%d,\"finishedAt\":%s}}}]}}",
                    good ? "Succeeded" : "Failed", good ? 0 : 1 + (int)below(w, 3), stamp);
    }
}

/* ---- what must hold ---- */

static bool is_tracked(yyjson_val *pod) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_at(pod, "metadata.finalizers"), i, n, v)
        if (yyjson_equals_str(v, "batch.kubernetes.io/job-tracking"))
            return true;
    return false;
}

static bool is_active(yyjson_val *pod) {
    const char *phase = sl_json_str(pod, "status.phase");
    return strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0 &&
           !*sl_json_str(pod, "metadata.deletionTimestamp");
}

struct census {
    struct world *w;
    unsigned job;
    int64_t active;
    const char *index, *node;
    int64_t same_index, cpu;
};

static void count_pod(void *ctx, yyjson_val *pod) {
    struct census *c = ctx;
    unsigned n;
    const char *phase = sl_json_str(pod, "status.phase");
    if (c->node && strcmp(sl_json_str(pod, "spec.nodeName"), c->node) == 0)
        c->cpu += strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0;
    if (!fakeapi_number(sl_json_str(pod, "metadata.name"), "j-", &n, NULL) || n != c->job ||
        !is_active(pod))
        return;
    c->active++;
    c->same_index +=
        c->index && *c->index &&
        strcmp(c->index, sl_json_annotation(pod, "batch.kubernetes.io/job-completion-index")) == 0;
}

static bool excuse(struct world *w, const struct fakeapi_change *c) {
    if (c->client == FAKEAPI_NOBODY || c->sent > w->started)
        return false;
    w->excused++;
    return true;
}

static void pod_changed(struct world *w, const struct fakeapi_change *c) {
    yyjson_val *now = c->now ? c->now : c->before;
    const char *name = sl_json_str(now, "metadata.name"),
               *node = sl_json_str(c->now, "spec.nodeName");
    unsigned n;
    if (!fakeapi_number(name, "j-", &n, NULL) || n >= MAX_JOBS)
        return;
    struct told *t = &w->jobs[n];
    uint64_t arg = (uint64_t)pod_number(w, name) << 8;
    struct census s = {.w = w, .job = n};
    if (!c->before) {
        s.index = sl_json_annotation(now, "batch.kubernetes.io/job-completion-index");
        (void)fakeapi_each(w->api, "/api/v1/pods", count_pod, &s);
        t->late |= c->client != FAKEAPI_NOBODY && c->sent <= w->started;
        if ((s.active > t->most || s.same_index > 1) && t->late)
            w->excused++;
        else if (s.active > t->most || s.same_index > 1)
            fail_world(w, "pod %s: %lld active of %lld, %lld of its index", name,
                       (long long)s.active, (long long)t->most, (long long)s.same_index);
        if (!is_tracked(now))
            fail_world(w, "pod %s was made without its finalizer", name);
    }
    bool was = c->before && is_tracked(c->before), is = c->now && is_tracked(c->now);
    if (was && !is) {
        const char *phase = sl_json_str(c->before, "status.phase");
        /* One that was deleted counts as failed, unless it succeeded before that was seen. */
        if (*sl_json_str(c->before, "metadata.deletionTimestamp") &&
            strcmp(phase, "Succeeded") == 0)
            t->either++;
        else
            t->ok += strcmp(phase, "Succeeded") == 0;
        t->wrong += strcmp(phase, "Failed") == 0;
        t->vanished +=
            is_active(c->before) || strcmp(phase, "Running") == 0 || strcmp(phase, "Pending") == 0;
    }
    if (c->now && *node && (!c->before || !*sl_json_str(c->before, "spec.nodeName"))) {
        s = (struct census){.w = w, .job = n, .node = node};
        (void)fakeapi_each(w->api, "/api/v1/pods", count_pod, &s);
        if (s.cpu > NODE_CPU && !excuse(w, c))
            fail_world(w, "%s has %lld cpu in use", node, (long long)s.cpu);
        fakeapi_at(w->api, fakeapi_now(w->api) + below(w, 2000) * SL_MSEC, kubelet, w, arg | RUN);
    }
    if (c->now && *node && *sl_json_str(now, "metadata.deletionTimestamp") &&
        (!c->before || !*sl_json_str(c->before, "metadata.deletionTimestamp")))
        fakeapi_at(w->api, fakeapi_now(w->api) + below(w, 5000) * SL_MSEC, kubelet, w, arg | STOP);
}

static bool has_condition(yyjson_val *o, const char *type) {
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach (sl_json_at(o, "status.conditions"), i, n, v)
        if (strcmp(sl_json_str(v, "type"), type) == 0 &&
            strcmp(sl_json_str(v, "status"), "True") == 0)
            return true;
    return false;
}

static void job_changed(struct world *w, const struct fakeapi_change *c) {
    yyjson_val *now = c->now ? c->now : c->before;
    unsigned n;
    if (!fakeapi_number(sl_json_str(now, "metadata.name"), "j-", &n, NULL) || n >= MAX_JOBS)
        return;
    struct told *t = &w->jobs[n];
    if (!c->now) {
        t->gone = true;
        return;
    }
    int64_t ok = sl_json_int(now, "status.succeeded", 0),
            wrong = sl_json_int(now, "status.failed", 0);
    int64_t most = sl_json_int(now, "spec.parallelism", 1);
    t->most = most > t->most ? most : t->most;
    if (ok < t->succeeded || wrong < t->failed)
        fail_world(w, "job j-%u: counters went back", n);
    t->succeeded = ok;
    t->failed = wrong;
    if (sl_json_int(now, "status.active", 0) > t->most ||
        sl_json_int(now, "status.ready", 0) > t->most)
        fail_world(w, "job j-%u: says that %lld are active", n,
                   (long long)sl_json_int(now, "status.active", 0));
    bool over = has_condition(now, "Complete") || has_condition(now, "Failed");
    if (t->over && !over)
        fail_world(w, "job j-%u: is not over any more", n);
    if (over &&
        (sl_json_int(now, "status.active", 0) || sl_json_int(now, "status.terminating", 0) ||
         yyjson_obj_size(sl_json_at(now, "status.uncountedTerminatedPods"))))
        fail_world(w, "job j-%u: is over, but not settled", n);
    t->over = over;
    t->complete = has_condition(now, "Complete");
}

static void changed(void *ctx, const struct fakeapi_change *c) {
    struct world *w = ctx;
    if (strcmp(c->kind->kind, "Pod") == 0)
        pod_changed(w, c);
    else if (strcmp(c->kind->kind, "Job") == 0)
        job_changed(w, c);
}

/* ---- users ---- */

static void create_job(struct world *w) {
    uint32_t n = w->n_jobs++, completions = 1 + below(w, 6);
    struct told *t = &w->jobs[n];
    char more[400] = "";
    t->indexed = below(w, 2);
    t->completions = t->indexed || below(w, 4) ? (int64_t)completions : -1;
    t->most = 1 + below(w, 4);
    t->made = true;
    int at = 0;
    if (t->completions >= 0)
        at += snprintf(more + at, sizeof more - (size_t)at, ",\"completions\":%u", completions);
    if (t->indexed)
        at += snprintf(more + at, sizeof more - (size_t)at, ",\"completionMode\":\"Indexed\"");
    if (t->indexed && !below(w, 3))
        at += snprintf(more + at, sizeof more - (size_t)at, ",\"backoffLimitPerIndex\":%u",
                       below(w, 3));
    if (!below(w, 5))
        at += snprintf(more + at, sizeof more - (size_t)at, ",\"podReplacementPolicy\":\"Failed\"");
    if (!below(w, 5))
        at += snprintf(more + at, sizeof more - (size_t)at,
                       ",\"podFailurePolicy\":{\"rules\":[{\"action\":\"%s\",\"onExitCodes\":{"
                       "\"operator\":\"In\",\"values\":[2]}}]}",
                       below(w, 2) ? "Ignore" : "FailJob");
    if (!below(w, 6))
        (void)snprintf(more + at, sizeof more - (size_t)at, ",\"activeDeadlineSeconds\":%u",
                       20 + below(w, 200));
    (void)sendf(
        w, SL_POST, "/apis/batch/v1/namespaces/default/jobs",
        "{\"metadata\":{\"name\":\"j-%u\"},\"spec\":{\"parallelism\":%d,\"backoffLimit\":%u,"
        "\"suspend\":%s%s,\"template\":{\"metadata\":{\"labels\":{\"job\":\"j-%u\"}},"
        "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\","
        "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}",
        n, (int)t->most, below(w, 8), below(w, 4) ? "false" : "true", more, n);
}

struct pick {
    uint32_t skip;
    char name[128];
};

static void pick_pod(void *ctx, yyjson_val *o) {
    struct pick *p = ctx;
    if (p->skip-- == 0)
        (void)snprintf(p->name, sizeof p->name, "%s", sl_json_str(o, "metadata.name"));
}

static void act_as_user(void *ctx, uint64_t arg) {
    struct world *w = ctx;
    char path[200];
    uint32_t n = w->n_jobs ? below(w, w->n_jobs) : 0;
    struct pick pick = {.skip = below(w, 12)};
    (void)arg;
    (void)snprintf(path, sizeof path, JOB_PATH "j-%u", n);
    switch (below(w, 8)) {
    case 0:
    case 1:
        if (w->n_jobs < MAX_JOBS)
            create_job(w);
        break;
    case 2:
        (void)sendf(w, SL_PATCH, path, "{\"spec\":{\"suspend\":%s}}",
                    below(w, 2) ? "true" : "false");
        break;
    case 3:
        (void)sendf(w, SL_PATCH, path, "{\"spec\":{\"parallelism\":%u}}", below(w, 5));
        break;
    case 4:
        (void)fakeapi_each(w->api, "/api/v1/pods", pick_pod, &pick);
        (void)snprintf(path, sizeof path, POD_PATH "%s", pick.name);
        if (*pick.name)
            (void)sendf(w, SL_DELETE, path, "%s", "");
        break;
    case 5:
        if (!below(w, 6)) {
            (void)snprintf(path, sizeof path, JOB_PATH "j-%u?propagationPolicy=Background", n);
            (void)sendf(w, SL_DELETE, path, "%s", "");
        }
        break;
    default:
        break;
    }
}

/* ---- running ---- */

static void start_controllers(struct world *w) {
    w->started = fakeapi_now(w->api);
    w->cluster = sl_cluster_new(&(struct sl_cluster_spec){.scheduler = &sl_scheduler,
                                                          .client = fakeapi_port(w->api, 0),
                                                          .seed = sl_prng_next(&w->prng)});
}

static void restart_controllers(struct world *w) {
    fakeapi_kill(w->api, 0);
    sl_cluster_free(w->cluster);
    total_deaths++;
    start_controllers(w);
}

static void run_until(struct world *w, sl_time until) {
    sl_time last = -1;
    for (uint32_t idle = 0; !w->failed; idle++) {
        sl_time at = fakeapi_next(w->api), own = sl_cluster_next(w->cluster);
        at = own < at ? own : at;
        if (at > until)
            break;
        idle = at > last ? 0 : idle;
        last = at > last ? at : last;
        if (idle > 100000)
            fail_world(w, "nothing moves and nothing rests");
        (void)fakeapi_step(w->api, at > fakeapi_now(w->api) ? at : fakeapi_now(w->api));
        sl_cluster_tick(w->cluster);
        w->turns++;
    }
    fakeapi_advance(w->api, until);
}

static bool all_over(struct world *w) {
    for (uint32_t i = 0; i < w->n_jobs; i++)
        if (!w->jobs[i].over && !w->jobs[i].gone)
            return false;
    return true;
}

static void no_finalizer(void *ctx, yyjson_val *pod) {
    if (is_tracked(pod))
        fail_world(ctx, "pod %s still has its finalizer", sl_json_str(pod, "metadata.name"));
}

static void check_end(struct world *w) {
    for (uint32_t i = 0; i < w->n_jobs && !w->failed; i++) {
        struct told *t = &w->jobs[i];
        char path[100];
        if (t->gone)
            continue;
        if (!t->over) {
            fail_world(w, "job j-%u never ended", i);
            return;
        }
        total_ended++;
        total_failed += !t->complete;
        (void)snprintf(path, sizeof path, JOB_PATH "j-%u", i);
        yyjson_val *job = fakeapi_get(w->api, path);
        if (t->indexed) {
            struct cl_indexes done = {0};
            cl_indexes_read(sl_json_str(job, "status.completedIndexes"), INT32_MAX, &done);
            if (cl_indexes_count(&done) != t->succeeded ||
                (t->complete && t->succeeded != t->completions))
                fail_world(w, "job j-%u: completed %s of %lld, but %lld succeeded", i,
                           sl_json_str(job, "status.completedIndexes"), (long long)t->completions,
                           (long long)t->succeeded);
            cl_indexes_done(&done);
        } else if (t->complete && (t->succeeded < t->ok || t->succeeded > t->ok + t->either)) {
            fail_world(w, "job j-%u: %lld pods succeeded, it says %lld", i, (long long)t->ok,
                       (long long)t->succeeded);
        }
        if (t->complete && t->completions >= 0 && t->succeeded < t->completions)
            fail_world(w, "job j-%u is complete without its completions", i);
        bool ignores = sl_json_at(job, "spec.podFailurePolicy");
        int64_t ends = t->indexed ? t->failed : t->failed + t->succeeded;
        int64_t least = t->wrong + (t->indexed ? 0 : t->ok);
        /* What still ran when the Job failed counts as failed, whatever became of it. */
        int64_t most = t->wrong + t->vanished + t->either + (t->indexed && t->complete ? 0 : t->ok);
        if ((!ignores && ends < least) || ends > most)
            fail_world(w, "job j-%u: %lld pods failed and %lld vanished, it says %lld", i,
                       (long long)t->wrong, (long long)t->vanished, (long long)t->failed);
    }
    (void)fakeapi_each(w->api, "/api/v1/pods", no_finalizer, w);
}

static void settle(struct world *w) {
    char path[100];
    fakeapi_set_faults(w->api, NULL);
    fakeapi_cut(w->api, 0);
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        (void)snprintf(path, sizeof path, JOB_PATH "j-%u", i);
        (void)sendf(w, SL_PATCH, path, "{\"spec\":{\"suspend\":false,\"parallelism\":%u}}",
                    1 + below(w, 3));
    }
    for (sl_time end = fakeapi_now(w->api) + LONGEST;
         !w->failed && fakeapi_now(w->api) < end && !all_over(w);)
        run_until(w, fakeapi_now(w->api) + SL_MINUTE);
    run_until(w, fakeapi_now(w->api) + 5 * SL_MINUTE);
}

static void add_nodes(struct world *w) {
    for (uint32_t i = 0; i < NODES; i++)
        (void)sendf(w, SL_POST, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n-%u\"}}", i);
    for (uint32_t i = 0; i < NODES; i++) {
        char path[60];
        (void)snprintf(path, sizeof path, "/api/v1/nodes/n-%u/status", i);
        (void)sendf(w, SL_PATCH, path,
                    "{\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"pods\":\"110\"}}}", NODE_CPU);
    }
}

static bool history(uint64_t seed, bool verbose) {
    struct world w = {.seed = seed, .verbose = verbose};
    struct fakeapi_faults faults;
    sl_prng_init(&w.prng, seed);
    w.api = fakeapi_new(seed);
    fakeapi_on_change(w.api, changed, &w);
    add_nodes(&w);
    fakeapi_some_faults(&w.prng, 60, &faults);
    if (seed % 8)
        fakeapi_set_faults(w.api, &faults);
    start_controllers(&w);
    for (uint32_t i = 0; i < 60 && !w.failed; i++) {
        run_until(&w, fakeapi_now(w.api) + below(&w, 12) * SL_SEC);
        act_as_user(&w, 0);
        if (!below(&w, 25))
            restart_controllers(&w);
    }
    if (!w.failed)
        settle(&w);
    if (!w.failed)
        check_end(&w);
    if (w.failed || verbose)
        printf("seed %llu: %s (%llu turns)\n", (unsigned long long)seed, w.failed ? w.why : "good",
               (unsigned long long)w.turns);
    total_excused += w.excused;
    sl_cluster_free(w.cluster);
    fakeapi_free(w.api);
    for (uint32_t i = 0; i < w.n_pods; i++)
        sl_freep(&w.pods[i]);
    return !w.failed;
}

int main(int argc, char **argv) {
    sl_log_set(SL_LOG_ERROR);
    struct seeds all = seeds_run(argc, argv, 100, history);
    printf("# %llu jobs ended, %llu of them failed; %llu deaths; %llu late writes excused\n",
           (unsigned long long)total_ended, (unsigned long long)total_failed,
           (unsigned long long)total_deaths, (unsigned long long)total_excused);
    seeds_report(&all);
    return all.bad || !total_ended || total_excused > all.n / 100 + 1;
}
