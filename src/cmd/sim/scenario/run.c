/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a scenario: its steps against a new engine, under a clock that moves only by steps. The
 * runner takes the place of the API server, the job controllers and the pods: it applies facts,
 * runs the engine before every expectation and whenever the engine is due, performs deactivations
 * and the end of replaced slices at once, and leaves the release of evicted jobs to the scenario.
 */
#include "cmd/sim/scenario/scenario_int.h"
#include "core/base/fmt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES ((size_t)64 << 10)

struct sl_scenario_seen_wl *sl_scenario_run_wl(struct sl_scenario_run *run,
                                               const struct sl_scenario_wl_name *name) {
    for (uint32_t i = 0; i < run->wls.n; i++)
        if (strcmp(run->wls.v[i].name.name, name->name) == 0 &&
            strcmp(run->wls.v[i].name.ns, name->ns) == 0)
            return &run->wls.v[i];
    return NULL;
}

struct sl_scenario_seen_wl *sl_scenario_run_wl_by_id(struct sl_scenario_run *run, sl_wl_id id) {
    for (uint32_t i = 0; i < run->wls.n; i++)
        if (run->wls.v[i].id.v == id.v && id.v != 0)
            return &run->wls.v[i];
    return NULL;
}

void sl_scenario_run_fail(struct sl_scenario_run *run, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof(text), fmt, ap);
    va_end(ap);
    run->failed = true;
    sl_buf_printf(run->out, "%s:%u: %s\n    %s\n", run->scenario->file, run->line,
                  run->scenario->title, text);
}

/* ---- cycles ---- */

static int report_workload(struct sl_scenario_run *run, struct sl_scenario_seen_wl *w,
                           const struct sl_scenario_step *s, struct sl_err *err);
static int apply(struct sl_scenario_run *run, const struct sl_fact *f,
                 const struct sl_scenario_seen_wl *w, sl_wl_id *ret, struct sl_err *err);

/* The engine requested spec.active=false: done at once, reported as a fact. */
static void deactivate(struct sl_scenario_run *run, struct sl_scenario_seen_wl *w) {
    struct sl_err err = {0};
    if (w->deactivated || !w->step)
        return;
    w->deactivated = true;
    if (report_workload(run, w, w->step, &err) < 0)
        sl_scenario_run_fail(run, "the engine refused its own deactivation of %s: %s", w->name.name,
                             err.text);
    run->dirty = true;
}

/* A slice has the place of another: that one is finished at once, reported as a fact. */
static void replaced(struct sl_scenario_run *run, const struct sl_effect *x) {
    struct sl_fact f = {.kind = SL_FACT_FINISHED, .at = run->now, .wl = x->reserve.replaced};
    const struct sl_scenario_seen_wl *w = sl_scenario_run_wl_by_id(run, f.wl);
    struct sl_err err = {0};
    if (w && apply(run, &f, w, NULL, &err) < 0)
        sl_scenario_run_fail(run, "the engine refused the end of %s: %s", w->name.name, err.text);
}

static void run_cycle(struct sl_scenario_run *run) {
    do {
        uint32_t from = run->effects.v.n;
        struct sl_err err = {0};
        if (++run->cycles > SL_SCENARIO_MAX_CYCLES) {
            sl_scenario_run_fail(run, "more than %u cycles", SL_SCENARIO_MAX_CYCLES);
            return;
        }
        run->dirty = false;
        sl_engine_cycle(run->e, run->now, &run->effects);
        if (run->watch && run->watch->cycle)
            run->watch->cycle(run->watch->ctx, run->now, &run->effects, from);
        for (uint32_t i = from; i < run->effects.v.n; i++) {
            const struct sl_effect *x = &run->effects.v.v[i];
            *sl_vec_push(&run->when) = run->now;
            sl_scenario_run_note(run, x);
            if (run->verbose)
                sl_scenario_run_print_effect(run, x, run->now);
            struct sl_scenario_seen_wl *w = sl_scenario_run_wl_by_id(run, x->wl);
            if (x->kind == SL_EFFECT_DEACTIVATE && w)
                deactivate(run, w);
            if (x->kind == SL_EFFECT_RESERVE)
                replaced(run, x);
        }
        if (sl_engine_check(run->e, &err) < 0) {
            sl_scenario_run_fail(run, "the engine's state disagrees with itself: %s", err.text);
            return;
        }
    } while (run->dirty && !run->failed);
}

/* Time passes; the engine is called whenever it requested that. */
static void run_clock(struct sl_scenario_run *run, sl_time to) {
    char text[SL_SPAN_TEXT];
    uint32_t stuck = 0;
    if (run->dirty)
        run_cycle(run);
    while (!run->failed) {
        sl_time next = sl_engine_next(run->e);
        if (next > to)
            break;
        stuck = next > run->now ? 0 : stuck + 1;
        if (stuck > 2) {
            sl_scenario_run_fail(run, "the engine asks again and again for a cycle at %s",
                                 sl_scenario_run_clock(next, text));
            return;
        }
        run->now = next > run->now ? next : run->now;
        run_cycle(run);
    }
    run->now = to;
    run->dirty = true;
}

/* ---- facts ---- */

static int apply(struct sl_scenario_run *run, const struct sl_fact *f,
                 const struct sl_scenario_seen_wl *w, sl_wl_id *ret, struct sl_err *err) {
    int rc = sl_engine_apply(run->e, f, ret, err);
    run->dirty = true;
    if (rc >= 0 && run->watch && run->watch->fact)
        run->watch->fact(run->watch->ctx, f, w ? w->name.ns : NULL, w ? w->name.name : NULL,
                         f->kind == SL_FACT_WORKLOAD && w ? w->step->podsets : NULL,
                         f->kind == SL_FACT_WORKLOAD && w ? w->step->n_podsets : 0);
    return rc;
}

static int report_workload(struct sl_scenario_run *run, struct sl_scenario_seen_wl *w,
                           const struct sl_scenario_step *s, struct sl_err *err) {
    struct sl_fact f = *s->fact;
    const struct sl_scenario_step *before = w->step;
    sl_wl_id id = SL_WL_NONE;
    int rc = sl_engine_shape(run->e, s->podsets, s->n_podsets, &f.workload.shape, err);
    if (rc < 0)
        return rc;
    f.at = run->now;
    f.wl = w->id;
    f.workload.inactive = f.workload.inactive || w->deactivated;
    w->step = s;
    rc = apply(run, &f, w, &id, err);
    sl_engine_shape_release(run->e, f.workload.shape);
    if (rc < 0)
        w->step = before;
    else if (id.v != w->id.v) { /* a new workload, perhaps under an old name */
        struct sl_scenario_wl_name name = w->name;
        sl_scenario_seen_done(w);
        *w = (struct sl_scenario_seen_wl){.name = name, .id = id, .step = s};
    }
    return rc;
}

static int apply_release(struct sl_scenario_run *run, struct sl_scenario_seen_wl *w,
                         struct sl_err *err) {
    struct sl_fact f = {.kind = SL_FACT_RELEASED, .at = run->now, .wl = w->id};
    return apply(run, &f, w, NULL, err);
}

static bool about_workload(enum sl_fact_kind k) {
    return k >= SL_FACT_WORKLOAD;
}

static int apply_step(struct sl_scenario_run *run, const struct sl_scenario_step *s,
                      struct sl_err *err) {
    struct sl_fact f = *s->fact;
    struct sl_scenario_seen_wl *w = NULL;

    if (!about_workload(f.kind))
        return apply(run, &f, NULL, NULL, err);
    w = sl_scenario_run_wl(run, &s->wl);
    if (f.kind == SL_FACT_WORKLOAD) {
        if (!w) {
            w = sl_vec_push(&run->wls);
            *w = (struct sl_scenario_seen_wl){.name = s->wl};
        }
        if (s->revive)
            w->deactivated = false;
        return report_workload(run, w, s, err);
    }
    if (!w || w->id.v == 0)
        return sl_err_set(err, SL_ENOENT, "job %s does not exist", s->wl.name);
    if (f.kind == SL_FACT_RELEASED)
        return apply_release(run, w, err);
    f.wl = w->id;
    return apply(run, &f, w, NULL, err);
}

static void run_fact(struct sl_scenario_run *run, const struct sl_scenario_step *s) {
    struct sl_err err = {0};
    int rc = apply_step(run, s, &err);
    if (s->kind == SL_STEP_FACT && rc < 0)
        sl_scenario_run_fail(run, "the engine refused %s: %s", sl_fact_name(s->fact->kind),
                             err.text);
    if (s->kind == SL_STEP_REFUSED && rc >= 0)
        sl_scenario_run_fail(run, "expected  the engine to refuse %s\n    got       it took it",
                             sl_fact_name(s->fact->kind));
    if (s->kind == SL_STEP_REFUSED && rc < 0 && !strstr(err.text, s->expect->message))
        sl_scenario_run_fail(run, "expected  a refusal with \"%s\"\n    got       \"%s\"",
                             s->expect->message, err.text);
}

/* Jobs stop as soon as they are evicted, until none is evicted any more. */
static void run_settle(struct sl_scenario_run *run) {
    for (uint32_t round = 0; round < SL_SCENARIO_MAX_ROUNDS; round++) {
        bool any = false;
        run_cycle(run);
        for (uint32_t i = 0; i < run->wls.n && !run->failed; i++) {
            struct sl_engine_wl_view v;
            struct sl_err err = {0};
            if (!sl_engine_workload(run->e, run->wls.v[i].id, &v) || !v.evicting)
                continue;
            any = true;
            if (apply_release(run, &run->wls.v[i], &err) < 0)
                sl_scenario_run_fail(run, "the engine refused the release of %s: %s", v.name,
                                     err.text);
        }
        if (!any || run->failed)
            return;
    }
    sl_scenario_run_fail(run, "expected  rest\n    got       still evicting after %u rounds",
                         SL_SCENARIO_MAX_ROUNDS);
    sl_scenario_run_print_since(run);
}

/* ---- the whole ---- */

static void forget_effects(struct sl_scenario_run *run) {
    sl_effects_clear(&run->effects);
    sl_vec_clear(&run->when);
    run->expected = false;
}

static void run_step(struct sl_scenario_run *run, const struct sl_scenario_step *s) {
    if (s->kind == SL_STEP_EXPECT) {
        if (run->dirty)
            run_cycle(run);
        if (!run->failed || run->expected)
            sl_scenario_run_expect(run, s->expect);
        run->expected = true;
        return;
    }
    if (run->expected)
        forget_effects(run);
    switch (s->kind) {
    case SL_STEP_FACT:
    case SL_STEP_REFUSED:
        run_fact(run, s);
        break;
    case SL_STEP_CLOCK:
        run_clock(run, s->at);
        break;
    case SL_STEP_CYCLE:
        run_cycle(run);
        break;
    case SL_STEP_SETTLE:
        run_settle(run);
        break;
    case SL_STEP_EXPECT:
        break;
    }
}

enum sl_scenario_end sl_scenario_run(const struct sl_scenario *s,
                                     const struct sl_scenario_watch *watch, bool verbose,
                                     struct sl_buf *out) {
    if (s->skip)
        return SL_SCENARIO_SKIPPED;
    struct sl_scenario_run run = {.scenario = s,
                                  .watch = watch,
                                  .verbose = verbose,
                                  .out = out,
                                  .e = sl_engine_new(NULL),
                                  .now = SL_SCENARIO_EPOCH};
    sl_effects_init(&run.effects);
    sl_buf_init(&run.text, TEXT_BYTES);
    for (uint32_t i = 0; i < s->n_steps; i++) {
        /* One block of expectations is reported whole; nothing after it makes sense. */
        if (run.failed && s->steps[i].kind != SL_STEP_EXPECT)
            break;
        run.line = s->steps[i].line;
        run_step(&run, &s->steps[i]);
    }
    if (!run.failed && run.dirty)
        run_cycle(&run); /* the last facts must not crash it either */
    for (uint32_t i = 0; i < run.wls.n; i++)
        sl_scenario_seen_done(&run.wls.v[i]);
    sl_vec_free(&run.wls);
    sl_vec_free(&run.when);
    sl_effects_done(&run.effects);
    sl_buf_done(&run.text);
    sl_engine_free(run.e);
    return run.failed ? SL_SCENARIO_FAILED : SL_SCENARIO_PASSED;
}
