/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/report.h"
#include "cmd/sim/trace/trace.h"
#include "core/base/collection/hash.h"
#include "core/base/collection/heap.h"
#include "core/base/fmt.h"

#define QUEUE_NAME 24
_Static_assert(SL_SWF_MAX_JOBS <= SL_QUEUE_MAX_JOBS, "the queues take all jobs of a trace");
#define PROGRESS_PASSES 256u /* between two reports of progress */

/* ---- policies ---- */

const char *const sl_trace_policy_names[] = {[SL_QUEUE_FCFS] = "fcfs",
                                             [SL_QUEUE_EASY] = "easy",
                                             [SL_QUEUE_HYBRID] = "hybrid",
                                             [SL_QUEUE_CONSERVATIVE] = "conservative",
                                             NULL};

static int wrong_policy(struct sl_text word, struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL,
                      "policy '%.*s': expected fcfs, easy, hybrid, hybrid:N (N from 1 to %u) or "
                      "conservative, separated by commas",
                      (int)(word.n < 40 ? word.n : 40), word.s, SL_QUEUE_MAX_RESERVE);
}

static int parse_policy(struct sl_text word, struct sl_trace_policy *ret, struct sl_err *err) {
    const char *colon = memchr(word.s, ':', word.n);
    struct sl_text name = {word.s, colon ? (size_t)(colon - word.s) : word.n};
    uint64_t n = 0;
    int k = SL_QUEUE_FCFS;

    while (sl_trace_policy_names[k] && !sl_text_is(name, sl_trace_policy_names[k]))
        k++;
    if (!sl_trace_policy_names[k] || (colon && k != SL_QUEUE_HYBRID) || word.n >= SL_TRACE_NAME)
        return wrong_policy(word, err);
    for (size_t i = name.n + 1; i < word.n; i++) {
        if (word.s[i] < '0' || word.s[i] > '9')
            return wrong_policy(word, err);
        n = n * 10 + (uint64_t)(word.s[i] - '0');
        if (n > SL_QUEUE_MAX_RESERVE)
            return wrong_policy(word, err);
    }
    if (colon && n == 0)
        return wrong_policy(word, err);
    *ret = (struct sl_trace_policy){.policy = (enum sl_queue_policy)k, .reserve = (uint32_t)n};
    memcpy(ret->name, word.s, word.n);
    return 0;
}

int sl_trace_policies_parse(const char *text, struct sl_trace_policy *ret, uint32_t *ret_n,
                            struct sl_err *err) {
    uint32_t n = 0;

    for (const char *at = text;; n++) {
        struct sl_text word = {at, strcspn(at, ",")};
        if (n == SL_TRACE_MAX_POLICIES)
            return sl_err_set(err, SL_ELIMIT, "more than %u policies", SL_TRACE_MAX_POLICIES);
        int r = parse_policy(word, &ret[n], err);
        if (r < 0)
            return r;
        for (uint32_t k = 0; k < n; k++)
            if (strcmp(ret[k].name, ret[n].name) == 0)
                return sl_err_set(err, SL_EINVAL, "policy '%s' twice: expected each once",
                                  ret[n].name);
        at += word.n;
        if (!*at++)
            break;
    }
    *ret_n = n + 1;
    return 0;
}

/* ---- the state of a run ---- */

struct world {
    const struct sl_swf *t;
    const struct sl_trace_options *o;
    struct sl_trace_result *to;
    struct sl_match *m;
    struct sl_queues *q;
    struct sl_heap running; /* jobs of the trace, the one that ends first on top */
    uint32_t *places;       /* in it */
    uint32_t next;          /* the job of the trace that arrives next */
    int64_t now;
    uint64_t used; /* processors */
    sl_decisions decisions;
};

static int64_t end_of(const struct world *w, uint32_t i) {
    return w->to->jobs[i].start + w->t->jobs.v[i].run;
}

static bool ends_first(const void *ctx, uint32_t a, uint32_t b) {
    const struct world *w = ctx;
    int64_t x = end_of(w, a), y = end_of(w, b);

    return x != y ? x < y : a < b;
}

static uint32_t *place_of(void *ctx, uint32_t i) {
    struct world *w = ctx;
    return &w->places[i];
}

static const char *queue_name(const struct world *w, int64_t queue, char out[QUEUE_NAME]) {
    sl_fmt(out, QUEUE_NAME, "%lld", (long long)(w->o->one_queue ? SL_SWF_UNKNOWN : queue));
    return out;
}

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The queues of the trace in the order of their numbers, because ties go to the first. */
static int add_queues(struct world *w, const struct sl_trace_policy *p, struct sl_err *err) {
    SL_VEC(int64_t) numbers = {0};
    char name[QUEUE_NAME];
    int r = 0;

    sl_vec_reserve(&numbers, w->t->jobs.n);
    for (uint32_t i = 0; i < w->t->jobs.n; i++)
        *sl_vec_push(&numbers) = w->o->one_queue ? SL_SWF_UNKNOWN : w->t->jobs.v[i].queue;
    qsort(numbers.v, numbers.n, sizeof *numbers.v, by_number);
    for (uint32_t i = 0; r >= 0 && i < numbers.n; i++) {
        if (i > 0 && numbers.v[i] == numbers.v[i - 1])
            continue;
        struct sl_queue_spec s = {.name = queue_name(w, numbers.v[i], name),
                                  .policy = p->policy,
                                  .depth = w->o->depth,
                                  .reserve = p->reserve};
        r = sl_queues_add(w->q, &s, err);
    }
    sl_vec_free(&numbers);
    return r;
}

static int world_init(struct world *w, const struct sl_trace_policy *p, struct sl_err *err) {
    int r = sl_trace_match_new(&w->o->machine, &w->o->match, &w->m, err);

    if (r < 0)
        return r;
    w->q = sl_queues_new(w->m);
    w->places = sl_alloc0(w->t->jobs.n, sizeof *w->places);
    w->to->jobs = sl_alloc0(w->t->jobs.n, sizeof *w->to->jobs);
    for (uint32_t i = 0; i < w->t->jobs.n; i++) {
        w->places[i] = SL_HEAP_OUT;
        w->to->jobs[i] = (struct sl_trace_job){.start = -1, .promised = -1};
    }
    return add_queues(w, p, err);
}

static void world_done(struct world *w) {
    sl_queues_freep(&w->q);
    sl_match_free(w->m);
    sl_heap_done(&w->running);
    sl_freep(&w->places);
    sl_vec_free(&w->decisions);
}

/* ---- one instant ---- */

int64_t sl_trace_clock(const struct sl_trace_options *o, int64_t now) {
    return o->resolution > 1 ? now - now % o->resolution : now;
}

static void end_jobs(struct world *w) {
    while (!sl_heap_empty(&w->running) && end_of(w, sl_heap_top(&w->running)) == w->now) {
        uint32_t i = sl_heap_pop(&w->running);
        int r = sl_queues_remove(w->q, i);
        sl_assert(r == 0);
        w->used -= (uint64_t)w->t->jobs.v[i].processors;
        w->to->finished++;
    }
}

/* The id of a job is its index, so that its record is found by it. */
static int submit_jobs(struct world *w, struct sl_err *err) {
    char name[QUEUE_NAME];

    for (; w->next < w->t->jobs.n && w->t->jobs.v[w->next].submit == w->now; w->next++) {
        const struct sl_swf_job *j = &w->t->jobs.v[w->next];
        struct sl_match_request *request;
        int r = sl_trace_request_new(w->m, &w->o->machine, j, &request, err);
        if (r >= 0)
            r = sl_queues_submit(w->q, queue_name(w, j->queue, name), w->next, 0, w->now, request,
                                 err);
        if (r < 0)
            return sl_err_wrap(err, r, "job %lld", (long long)j->id);
        w->to->arrived++;
    }
    return 0;
}

static void perform(struct world *w, const struct sl_decision *d) {
    uint32_t i = (uint32_t)d->jobid;
    struct sl_trace_job *j = &w->to->jobs[i];

    switch (d->kind) {
    case SL_DECIDED_START:
        j->start = w->now;
        j->backfilled = d->selection == SL_SELECT_BACKFILL;
        w->used += (uint64_t)w->t->jobs.v[i].processors;
        sl_heap_fix(&w->running, i);
        break;
    case SL_DECIDED_RESERVE:
        if (j->promised < 0)
            j->promised = d->at;
        break;
    case SL_DECIDED_UNRESERVE:
        break;
    case SL_DECIDED_REJECT:
        j->never = true;
        w->to->never++;
        break;
    }
}

/* Decisions carry the numbers of jobs that the trace has, for those who compare. */
static void note(struct world *w, const struct sl_decision *d) {
    struct sl_decision shown = *d;
    uint64_t h = w->to->digest;

    shown.jobid = w->t->jobs.v[d->jobid].id;
    h = sl_digest_u64(h, (uint64_t)w->now);
    h = sl_digest_u64(h, (uint64_t)shown.kind << 8 | (uint64_t)shown.selection);
    h = sl_digest_u64(h, (uint64_t)shown.jobid);
    w->to->digest = sl_digest_u64(h, (uint64_t)shown.at);
    w->to->decisions++;
    if (w->o->decided)
        w->o->decided(w->o->ctx, &w->to->policy, w->now, &shown);
}

static uint64_t waiting(const struct world *w) {
    return w->to->arrived - w->to->finished - w->to->never - w->running.items.n;
}

static void draw(const struct world *w) {
    int64_t s = w->now - w->t->jobs.v[0].submit;

    if (w->o->timeline)
        sl_timeline_set(w->o->timeline, w->o->row,
                        sl_span_seconds(s < SL_TRACE_MAX_SECONDS ? s : SL_TRACE_MAX_SECONDS),
                        (double)w->used, 0, (double)waiting(w));
}

static int64_t next_time(const struct world *w) {
    int64_t at = sl_queues_next(w->q);

    /* In the middle of a step the queues are at its beginning: what is due meanwhile is due in the
     * next one, as is what was to begin in this one and still has to wait. */
    if (w->to->passes > 0 && at <= w->now)
        at = sl_trace_clock(w->o, w->now) + (w->o->resolution > 1 ? w->o->resolution : 1);
    if (w->next < w->t->jobs.n && w->t->jobs.v[w->next].submit < at)
        at = w->t->jobs.v[w->next].submit;
    if (!sl_heap_empty(&w->running) && end_of(w, sl_heap_top(&w->running)) < at)
        at = end_of(w, sl_heap_top(&w->running));
    return at;
}

static int run_all(struct world *w, struct sl_err *err) {
    int64_t first = w->t->jobs.v[0].submit,
            until = w->o->until > 0 ? first + w->o->until : SL_QUEUE_NEVER - 1;

    w->now = first;
    for (int64_t at; (at = next_time(w)) <= until;) {
        sl_assert(at > w->now || w->to->passes == 0);
        w->now = at;
        end_jobs(w);
        int r = submit_jobs(w, err);
        if (r < 0)
            return r;
        sl_vec_clear(&w->decisions);
        sl_queues_run(w->q, sl_trace_clock(w->o, w->now), &w->decisions);
        for (uint32_t i = 0; i < w->decisions.n; i++) {
            perform(w, &w->decisions.v[i]);
            note(w, &w->decisions.v[i]);
        }
        draw(w);
        if (w->o->progress && w->to->passes % PROGRESS_PASSES == 0)
            w->o->progress(w->o->ctx, w->to->finished + w->to->never, w->now - first);
        w->to->passes++;
    }
    if (next_time(w) != SL_QUEUE_NEVER) /* it was stopped */
        w->now = until;
    return 0;
}

int sl_trace_run(const struct sl_swf *t, const struct sl_trace_policy *p,
                 const struct sl_trace_options *o, struct sl_trace_result *ret,
                 struct sl_err *err) {
    struct world w = {.t = t, .o = o, .to = ret};
    double cpu0 = sl_report_cpu_seconds();

    *ret = (struct sl_trace_result){.policy = *p};
    sl_heap_init(&w.running, ends_first, place_of, &w);
    int r = world_init(&w, p, err);
    if (r >= 0)
        r = run_all(&w, err);
    if (r >= 0) {
        ret->running = w.running.items.n;
        ret->waiting = waiting(&w);
        sl_trace_sum_up(t, o, w.now, ret);
        ret->cpu_s = sl_report_cpu_seconds() - cpu0;
    }
    world_done(&w);
    if (r < 0)
        sl_trace_result_done(ret);
    return r;
}

void sl_trace_result_done(struct sl_trace_result *r) {
    sl_freep(&r->jobs);
}
