/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sim/report.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "core/base/fmt.h"
#include "lib/json/writer.h"

double sl_report_cpu_seconds(void) {
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0)
        return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double wall_seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void sl_report_init(struct sl_report *r, const char *source, bool timeline) {
    *r = (struct sl_report){.source = sl_strdup(source)};
    sl_report_restart(r);
    sl_arena_init(&r->arena, (size_t)64 << 20);
    sl_world_init(&r->world, timeline);
}

void sl_report_restart(struct sl_report *r) {
    r->cpu0 = sl_report_cpu_seconds();
    r->wall0 = wall_seconds();
}

void sl_report_done(struct sl_report *r) {
    sl_meter_result_done(&r->result);
    sl_world_done(&r->world);
    sl_arena_done(&r->arena);
    sl_freep(&r->source);
}

/* Explains the first pending workload of the first queues that still have some. */
static void find_stuck(struct sl_report *r, sl_time now) {
    struct sl_engine *e = r->world.engine;
    const char *cq;
    for (uint32_t i = 0; (cq = sl_engine_cq_name(e, i)); i++) {
        struct sl_engine_cq_view view;
        if (!sl_engine_cq(e, cq, &view) || !view.exists)
            continue;
        r->pending += (uint64_t)view.heap + view.asleep;
        sl_wl_id id;
        if (r->n_stuck == SL_REPORT_MAX_STUCK || sl_engine_pending(e, cq, 0, &id, 1) == 0)
            continue;
        struct sl_engine_wl_view wl;
        struct sl_verdict v;
        struct sl_err err;
        sl_verdict_init(&v);
        if (sl_engine_workload(e, id, &wl) && sl_engine_explain(e, now, id, &v, &err) >= 0) {
            r->stuck[r->n_stuck++] = (struct sl_report_stuck){
                .name = sl_arena_printf(&r->arena, "%s/%s", wl.ns, wl.name),
                .queue = sl_arena_strdup(&r->arena, cq),
                .why = sl_arena_strdup(&r->arena, v.text ? v.text : ""),
            };
        }
        sl_verdict_done(&v);
    }
}

void sl_report_end(struct sl_report *r, sl_time now) {
    sl_meter_end(r->world.meter, now, &r->result);
    r->cpu_s = sl_report_cpu_seconds() - r->cpu0;
    r->wall_s = wall_seconds() - r->wall0;
    find_stuck(r, now);
}

/* ---- JSON ---- */

static void waits_json(struct sl_jw *w, const char *suffix, const struct sl_meter_waits *v) {
    char key[40];
    const struct {
        const char *name;
        sl_span span;
    } all[] = {{"mean", v->mean}, {"p50", v->p50}, {"p99", v->p99}, {"max", v->max}};
    for (size_t i = 0; i < SL_LEN(all); i++) {
        sl_fmt_short(key, sizeof(key), "%s_%s_s", all[i].name, suffix);
        sl_jw_seconds(w, key, all[i].span);
    }
}

static void classes_json(struct sl_jw *w, const struct sl_meter_result *r) {
    sl_jw_array(w, "classes");
    for (uint32_t i = 0; i < r->n_classes; i++) {
        const struct sl_meter_class_result *c = &r->classes[i];
        sl_jw_object(w, NULL);
        sl_jw_str(w, "name", c->name);
        sl_jw_uint(w, "workloads", c->arrived);
        sl_jw_uint(w, "finished", c->finished);
        sl_jw_uint(w, "admissions", c->admitted);
        sl_jw_uint(w, "evictions", c->evictions);
        waits_json(w, "wait", &c->last);
        waits_json(w, "first_wait", &c->first);
        sl_jw_end(w);
    }
    sl_jw_end(w);
}

static void queues_json(struct sl_jw *w, const struct sl_meter_result *r) {
    double unit = sl_quantity_is_milli(r->resource) ? 1000 : 1;
    sl_jw_array(w, "queues");
    for (uint32_t i = 0; i < r->n_queues; i++) {
        const struct sl_meter_queue_result *q = &r->queues[i];
        sl_jw_object(w, NULL);
        sl_jw_str(w, "name", q->name);
        sl_jw_str(w, "cohort", q->cohort);
        sl_jw_uint(w, "workloads", q->arrived);
        sl_jw_uint(w, "finished", q->finished);
        sl_jw_uint(w, "evictions", q->evictions);
        sl_jw_seconds(w, "mean_wait_s", q->mean_wait);
        sl_jw_seconds(w, "max_wait_s", q->max_wait);
        sl_jw_number(w, "mean_used", q->used / unit, 3);
        sl_jw_number(w, "mean_borrowed", q->borrowed / unit, 3);
        sl_jw_end(w);
    }
    sl_jw_end(w);
}

static void report_json(const struct sl_report *r, struct sl_jw *w, const char *key) {
    const struct sl_meter_result *m = &r->result;
    sl_jw_object(w, key);
    sl_jw_str(w, "source", r->source);
    sl_jw_seconds(w, "makespan_s", m->makespan);
    if (m->work_bound < 0)
        sl_jw_null(w, "work_bound_s");
    else
        sl_jw_seconds(w, "work_bound_s", m->work_bound);
    if (m->work_bound > 0)
        sl_jw_number(w, "makespan_over_bound", (double)m->makespan / (double)m->work_bound, 4);
    else
        sl_jw_null(w, "makespan_over_bound");
    sl_jw_number(w, "cpu_s", r->cpu_s, 6);
    sl_jw_number(w, "wall_s", r->wall_s, 6);
    sl_jw_str(w, "resource", m->resource);
    sl_jw_number(w, "utilisation", m->utilisation, 4);
    sl_jw_number(w, "redone", m->redone, 4);
    sl_jw_uint(w, "workloads", m->arrived);
    sl_jw_uint(w, "finished", m->finished);
    sl_jw_uint(w, "running", m->running);
    sl_jw_uint(w, "pending", r->pending);
    sl_jw_uint(w, "never_admitted", m->never_admitted);
    sl_jw_uint(w, "admissions", m->admitted);
    sl_jw_uint(w, "preemptions", m->preemptions);
    sl_jw_uint(w, "evictions", m->evictions);
    sl_jw_uint(w, "deactivations", m->deactivated);
    sl_jw_uint(w, "decisions", r->world.decisions);
    sl_jw_number(w, "decisions_per_s", r->cpu_s > 0 ? (double)r->world.decisions / r->cpu_s : 0, 0);
    sl_jw_uint(w, "cycles", r->world.cycles);
    sl_jw_uint(w, "facts", r->world.facts);
    sl_jw_hex(w, "digest", r->world.digest);
    classes_json(w, m);
    queues_json(w, m);
    sl_jw_array(w, "stuck");
    for (uint32_t i = 0; i < r->n_stuck; i++) {
        sl_jw_object(w, NULL);
        sl_jw_str(w, "workload", r->stuck[i].name);
        sl_jw_str(w, "queue", r->stuck[i].queue);
        sl_jw_str(w, "why", r->stuck[i].why);
        sl_jw_end(w);
    }
    sl_jw_end(w);
    sl_jw_end(w);
}

void sl_report_json(const struct sl_report *r, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);
    report_json(r, &w, NULL);
}

void sl_report_compare_json(const struct sl_report *before, const struct sl_report *after,
                            struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);
    sl_jw_object(&w, NULL);
    report_json(before, &w, "before");
    report_json(after, &w, "after");
    sl_jw_end(&w);
}
