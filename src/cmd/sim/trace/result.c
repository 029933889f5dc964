/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up what became of the jobs of a trace. Doubles are for people: nothing is decided on them.
 */
#include <stdlib.h>

#include "cmd/sim/trace/trace.h"
#include "lib/json/writer.h"

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The smallest value that is not exceeded by so many per cent of them. */
static int64_t percentile(const int64_t *sorted, uint64_t n, uint64_t percent) {
    uint64_t rank = (n * percent + 99) / 100;

    return n == 0 ? 0 : sorted[rank > 0 ? rank - 1 : 0];
}

static double bounded_slowdown(int64_t wait, int64_t run) {
    double over = (double)(run > SL_TRACE_BOUND ? run : SL_TRACE_BOUND);
    double v = ((double)wait + (double)run) / over;

    return v > 1 ? v : 1;
}

static void sum_up_waits(struct sl_trace_result *r, int64_t *waits, uint64_t n) {
    double sum = 0;

    qsort(waits, n, sizeof *waits, by_size);
    for (uint64_t i = 0; i < n; i++)
        sum += (double)waits[i];
    r->mean_wait = n > 0 ? sum / (double)n : 0;
    r->median_wait = percentile(waits, n, 50);
    r->p95_wait = percentile(waits, n, 95);
    r->max_wait = percentile(waits, n, 100);
}

void sl_trace_sum_up(const struct sl_swf *t, const struct sl_trace_options *options, int64_t now,
                     struct sl_trace_result *r) {
    int64_t *waits = sl_alloc0(t->jobs.n, sizeof *waits), first = t->jobs.v[0].submit;
    double work = 0, slowdowns = 0;
    uint64_t n = 0;

    for (uint32_t i = 0; i < t->jobs.n; i++) {
        const struct sl_swf_job *j = &t->jobs.v[i];
        const struct sl_trace_job *o = &r->jobs[i];
        r->reserved += o->promised >= 0;
        if (o->start < 0)
            continue;
        int64_t wait = o->start - j->submit,
                ran = now - o->start < j->run ? now - o->start : j->run;
        if (o->start + ran - first > r->makespan)
            r->makespan = o->start + ran - first;
        waits[n++] = wait;
        work += (double)ran * (double)j->processors;
        slowdowns += bounded_slowdown(wait, j->run);
        r->backfilled += o->backfilled;
        int64_t late = sl_trace_clock(options, o->start) - o->promised;
        if (o->promised < 0 || late <= 0)
            continue;
        r->late++;
        if (late > r->latest)
            r->latest = late;
    }
    sum_up_waits(r, waits, n);
    r->slowdown = n > 0 ? slowdowns / (double)n : 0;
    if (r->makespan > 0)
        r->utilisation =
            work / ((double)sl_trace_processors(&options->machine) * (double)r->makespan);
    sl_freep(&waits);
}

/* ---- JSON ---- */

static void result_json(struct sl_jw *w, const struct sl_trace_result *r) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "policy", r->policy.name);
    sl_jw_int(w, "makespan_s", r->makespan);
    sl_jw_number(w, "utilisation", r->utilisation, 4);
    sl_jw_number(w, "mean_wait_s", r->mean_wait, 3);
    sl_jw_int(w, "median_wait_s", r->median_wait);
    sl_jw_int(w, "p95_wait_s", r->p95_wait);
    sl_jw_int(w, "max_wait_s", r->max_wait);
    sl_jw_number(w, "mean_bounded_slowdown", r->slowdown, 4);
    sl_jw_uint(w, "arrived", r->arrived);
    sl_jw_uint(w, "finished", r->finished);
    sl_jw_uint(w, "running", r->running);
    sl_jw_uint(w, "waiting", r->waiting);
    sl_jw_uint(w, "never", r->never);
    sl_jw_uint(w, "backfilled", r->backfilled);
    sl_jw_uint(w, "reserved", r->reserved);
    sl_jw_uint(w, "late", r->late);
    sl_jw_int(w, "max_late_s", r->latest);
    sl_jw_uint(w, "passes", r->passes);
    sl_jw_uint(w, "decisions", r->decisions);
    sl_jw_hex(w, "digest", r->digest);
    sl_jw_number(w, "cpu_s", r->cpu_s, 6);
    sl_jw_end(w);
}

void sl_trace_report_json(const struct sl_trace_report *r, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);
    const struct sl_trace_options *o = r->options;

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "source", r->source);
    sl_jw_uint(&w, "jobs", r->trace->jobs.n);
    sl_jw_uint(&w, "killed", r->trace->killed);
    sl_jw_uint(&w, "partial", r->trace->partial);
    sl_jw_uint(&w, "not_run", r->trace->not_run);
    sl_jw_uint(&w, "nodes", o->machine.nodes);
    sl_jw_uint(&w, "processors", sl_trace_processors(&o->machine));
    sl_jw_str(&w, "match", r->match);
    sl_jw_uint(&w, "depth", o->depth > 0 ? o->depth : SL_QUEUE_DEPTH);
    sl_jw_uint(&w, "resolution_s", o->resolution > 0 ? o->resolution : 1);
    sl_jw_array(&w, "policies");
    for (uint32_t i = 0; i < r->n; i++)
        result_json(&w, &r->results[i]);
    sl_jw_end(&w);
    sl_jw_end(&w);
}
