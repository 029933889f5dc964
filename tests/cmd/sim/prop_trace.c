/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random traces on identical nodes of one processor, beside a simulator that knows only the rules:
 * at each event it tries all jobs again, in order, over the processors' intervals. Starts, first
 * reservations, backfilled jobs and those that can never run must be the same.
 *
 * Besides: no job starts later than promised, and no processor has two jobs at a time.
 *
 * prop_trace [--seed N]; SL_SEEDS says how much to try.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../seed_key.h"
#include "cmd/sim/trace/trace.h"
#include "core/base/prng.h"

#define DIGEST_SEEDS 100
#define MAX_JOBS 60u
#define MAX_PROCESSORS 9u
#define NEVER INT64_MAX

enum life { COMING, WAITS, RUNS, GONE };

/* What a job has, or will have: these processors from 'at' on, as long as requested. */
struct hold {
    bool there;
    int64_t at;
    bool on[MAX_PROCESSORS];
};

struct njob {
    enum life life;
    struct hold hold;
    struct sl_trace_job out;
};

struct world {
    struct sl_prng rnd;
    struct sl_swf t;
    struct sl_trace_policy policy;
    struct sl_trace_options o;
    uint32_t processors;
    bool exact; /* all jobs run as long as requested */
    struct njob jobs[MAX_JOBS];
    int64_t now;
    const char *wrong;
};

static uint32_t below(struct world *w, uint32_t n) {
    return (uint32_t)sl_prng_below(&w->rnd, n);
}

static void expect(struct world *w, bool ok, const char *what) {
    if (!ok && !w->wrong)
        w->wrong = what;
}

/* ---- the trace ---- */

static void make_trace(struct world *w) {
    struct sl_buf b = SL_BUF(100000);
    struct sl_err err = {0};
    uint32_t n = 1 + below(w, MAX_JOBS), load = 1 + below(w, 6), at = below(w, 50);

    w->processors = 1 + below(w, MAX_PROCESSORS);
    sl_buf_printf(&b, "; MaxProcs: %u\n", w->processors);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t run = 1 + below(w, 20), limit = run;
        if (!w->exact && sl_prng_one_in(&w->rnd, 2))
            limit = run + below(w, 20);
        else if (!w->exact && sl_prng_one_in(&w->rnd, 10))
            limit = 1 + below(w, run);
        at += sl_prng_one_in(&w->rnd, 3) ? below(w, 3 * load) : 0;
        sl_buf_printf(&b, "%u %u -1 %u -1 -1 -1 %u %u -1 1 -1 -1 -1 1 -1 -1 -1\n", 1000 + i, at,
                      run, 1 + below(w, w->processors + sl_prng_one_in(&w->rnd, 20)), limit);
    }
    expect(w, sl_swf_read("in", sl_buf_str(&b), b.len, MAX_JOBS, &w->t, &err) == 0, "reading");
    sl_buf_done(&b);
}

/* ---- the naive simulator ---- */

static int64_t limit_of(const struct world *w, uint32_t i) {
    return w->t.jobs.v[i].limit;
}

/* Processors that nobody has in the window, lowest first, if there are enough. For the present also
 * not those of jobs that run. */
static bool fits(const struct world *w, uint32_t i, int64_t at, struct hold *ret) {
    uint32_t found = 0;

    *ret = (struct hold){.there = true, .at = at};
    for (uint32_t p = 0; p < w->processors && found < w->t.jobs.v[i].processors; p++) {
        bool is_free = true;
        for (uint32_t k = 0; is_free && k < w->t.jobs.n; k++) {
            const struct hold *h = &w->jobs[k].hold;
            if (!h->there || !h->on[p])
                continue;
            is_free = h->at + limit_of(w, k) <= at || at + limit_of(w, i) <= h->at;
            if (w->jobs[k].life == RUNS && at == w->now)
                is_free = false;
        }
        ret->on[p] = is_free;
        found += is_free;
    }
    return found == w->t.jobs.v[i].processors;
}

/* The next end after a time, of what is held. */
static int64_t next_end(const struct world *w, int64_t after) {
    int64_t at = NEVER;

    for (uint32_t k = 0; k < w->t.jobs.n; k++) {
        int64_t end = w->jobs[k].hold.at + limit_of(w, k);
        if (w->jobs[k].hold.there && end > after && end < at)
            at = end;
    }
    return at;
}

/* Its own part is free for it; those of all others stay. */
static void naive_place(struct world *w, uint32_t i, bool entitled) {
    struct njob *j = &w->jobs[i];
    struct hold h;

    if (j->hold.there && j->hold.at == w->now)
        return; /* its time has come */
    j->hold.there = false;
    if (fits(w, i, w->now, &h)) {
        j->hold = h;
    } else if (entitled) {
        int64_t at = next_end(w, w->now);
        while (!fits(w, i, at, &h))
            at = next_end(w, at);
        j->hold = h;
    }
}

/* Whether a reservation moved. */
static bool naive_pass(struct world *w) {
    static const uint32_t reserves[] = {[SL_QUEUE_FCFS] = 0,
                                        [SL_QUEUE_EASY] = 1,
                                        [SL_QUEUE_HYBRID] = 0,
                                        [SL_QUEUE_CONSERVATIVE] = UINT32_MAX};
    uint32_t tried = 0, reserved = 0, reserve = reserves[w->policy.policy] + w->policy.reserve;
    bool fcfs = w->policy.policy == SL_QUEUE_FCFS, moved = false;

    for (uint32_t i = 0; i < w->t.jobs.n && tried < w->o.depth && !(fcfs && tried > 0); i++) {
        struct njob *j = &w->jobs[i];
        struct hold had = j->hold;
        if (j->life != WAITS)
            continue;
        if (w->t.jobs.v[i].processors > w->processors) {
            j->life = GONE;
            j->out.never = true;
            continue;
        }
        naive_place(w, i, reserved < reserve);
        moved = moved || (had.there && memcmp(&had, &j->hold, sizeof had) != 0);
        if (j->hold.there && j->hold.at == w->now) {
            j->life = RUNS;
            j->out.start = w->now;
            j->out.backfilled = tried > 0;
            continue;
        }
        tried++;
        reserved += j->hold.there;
        if (j->hold.there && j->out.promised < 0)
            j->out.promised = j->hold.at;
    }
    return moved;
}

static int64_t naive_next(const struct world *w) {
    int64_t next = NEVER;

    for (uint32_t i = 0; i < w->t.jobs.n; i++) {
        const struct njob *j = &w->jobs[i];
        int64_t at = NEVER;
        if (j->life == COMING)
            at = w->t.jobs.v[i].submit;
        else if (j->life == RUNS)
            at = j->out.start + w->t.jobs.v[i].run;
        else if (j->life == WAITS && j->hold.there)
            at = j->hold.at;
        next = at < next ? at : next;
    }
    return next;
}

static void naive_run(struct world *w) {
    for (uint32_t i = 0; i < w->t.jobs.n; i++)
        w->jobs[i] = (struct njob){.out = {.start = -1, .promised = -1}};
    while ((w->now = naive_next(w)) != NEVER) {
        for (uint32_t i = 0; i < w->t.jobs.n; i++) {
            struct njob *j = &w->jobs[i];
            if (j->life == RUNS && j->out.start + w->t.jobs.v[i].run == w->now) {
                j->life = GONE;
                j->hold.there = false;
            }
            if (j->life == COMING && w->t.jobs.v[i].submit == w->now)
                j->life = WAITS;
        }
        uint32_t passes = 0;
        while (naive_pass(w) && ++passes < SL_QUEUE_PASSES)
            ;
    }
}

/* ---- comparing ---- */

static void compare(struct world *w, const struct sl_trace_result *r, bool aloud) {
    for (uint32_t i = 0; i < w->t.jobs.n; i++) {
        const struct sl_trace_job *a = &r->jobs[i], *b = &w->jobs[i].out;
        if (aloud)
            printf("%lld: starts at %lld, naive %lld; promised %lld, naive %lld\n",
                   (long long)w->t.jobs.v[i].id, (long long)a->start, (long long)b->start,
                   (long long)a->promised, (long long)b->promised);
        expect(w, a->start == b->start, "a start");
        expect(w, a->never == b->never, "a job that can never run");
        expect(w, a->promised == b->promised, "a first reservation");
        expect(w, a->backfilled == b->backfilled, "a backfilled job");
    }
    expect(w, r->finished + r->never == w->t.jobs.n, "all jobs end");
    expect(w, r->late == 0, "somebody is late");
}

/* So many processors are in use at the start of each job. */
static void check_capacity(struct world *w, const struct sl_trace_result *r) {
    for (uint32_t i = 0; i < w->t.jobs.n; i++) {
        int64_t used = 0, at = r->jobs[i].start;
        for (uint32_t k = 0; at >= 0 && k < w->t.jobs.n; k++)
            if (r->jobs[k].start >= 0 && r->jobs[k].start <= at &&
                at < r->jobs[k].start + w->t.jobs.v[k].run)
                used += w->t.jobs.v[k].processors;
        expect(w, used <= (int64_t)w->processors, "more is in use than there is");
        expect(w, at < 0 || at >= w->t.jobs.v[i].submit, "it starts before it is submitted");
    }
}

static bool check(struct world *w, uint64_t seed, bool aloud, uint64_t *digest) {
    static const char *const policies[] = {"fcfs", "easy", "hybrid:2", "hybrid:5", "conservative"};
    struct sl_trace_result r = {0};
    struct sl_err err = {0};
    uint32_t n;

    memset(w, 0, sizeof *w);
    seed_key(seed);
    sl_prng_init(&w->rnd, seed);
    w->exact = sl_prng_one_in(&w->rnd, 4);
    make_trace(w);
    w->o.depth = sl_prng_one_in(&w->rnd, 2) ? 1 + below(w, 8) : SL_QUEUE_DEPTH;
    const char *policy = policies[below(w, SL_LEN(policies))];
    expect(w,
           sl_trace_policies_parse(policy, &w->policy, &n, &err) == 0 &&
               sl_match_policy_parse("lonode", &w->o.match, &err) == 0 &&
               sl_trace_machine_complete(&w->t, "in", &w->o.machine, &w->o.machine, &err) == 0,
           "options");
    expect(w, !w->wrong && sl_trace_run(&w->t, &w->policy, &w->o, &r, &err) == 0, "running");
    if (!w->wrong) {
        naive_run(w);
        compare(w, &r, aloud);
        check_capacity(w, &r);
    }
    if (w->wrong)
        printf("seed %llu fails (%s, %u processors, depth %u): %s %s; again with: prop_trace "
               "--seed %llu\n",
               (unsigned long long)seed, policy, w->processors, w->o.depth, w->wrong, err.text,
               (unsigned long long)seed);
    *digest = sl_digest_u64(*digest, r.digest);
    sl_trace_result_done(&r);
    sl_swf_done(&w->t);
    return !w->wrong;
}

int main(int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");
    uint64_t seeds = env ? strtoull(env, NULL, 10) : 1000, first = 0, digest = 0, failed = 0;
    bool one = argc == 3 && strcmp(argv[1], "--seed") == 0;
    static struct world w;

    if (argc > 1 && !one) {
        fprintf(stderr, "usage: %s [--seed N]\n", argv[0]);
        return 2;
    }
    if (one) {
        first = strtoull(argv[2], NULL, 10);
        seeds = 1;
    }
    for (uint64_t s = first; s < first + seeds; s++) {
        failed += !check(&w, s, one, &digest);
        if (!one && s + 1 == DIGEST_SEEDS)
            printf("digest trace %016llx\n", (unsigned long long)digest);
    }
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(seeds - failed),
           (unsigned long long)failed);
    return failed != 0;
}
