/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observed state of a run: the conditions of each workload as the API server would show them, and
 * effects and workloads as text for the report. Conditions follow Kubernetes' rule: the time of
 * transition changes only with the status; reason and message are overwritten in place.
 */
#include "cmd/sim/scenario/scenario_int.h"

#include <stdio.h>
#include <string.h>

const char *sl_scenario_run_clock(sl_time t, char out[SL_SPAN_TEXT]) {
    if (t == SL_TIME_NEVER)
        return "never";
    if (t == 0)
        return "none";
    return sl_span_format(t - SL_SCENARIO_EPOCH, out);
}

void sl_scenario_seen_done(struct sl_scenario_seen_wl *w) {
    for (uint32_t i = 0; i < SL_COND_COUNT; i++) {
        sl_freep(&w->cond[i].reason);
        sl_freep(&w->cond[i].message);
    }
    for (uint32_t i = 0; i < w->n_checks; i++)
        sl_freep(&w->checks[i].name);
}

/* ---- conditions ---- */

static void set_cond(struct sl_scenario_run *run, struct sl_scenario_seen_wl *w, enum sl_cond type,
                     bool status, const char *reason, const char *message) {
    struct sl_scenario_seen_cond *c = &w->cond[type];
    /* Admitted=False: it no longer is; one that never was has no such condition. */
    if (type == SL_COND_ADMITTED && !status && !c->present)
        return;
    if (!c->present || c->status != status)
        c->at = run->now;
    char *r = sl_strdup(reason ? reason : ""), *m = sl_strdup(message ? message : "");
    sl_freep(&c->reason);
    sl_freep(&c->message);
    *c = (struct sl_scenario_seen_cond){
        .present = true, .status = status, .reason = r, .message = m, .at = c->at};
}

/* A new reservation clears the last eviction. */
static void reset_cond(struct sl_scenario_run *run, struct sl_scenario_seen_wl *w,
                       enum sl_cond type) {
    struct sl_scenario_seen_cond *c = &w->cond[type];
    if (!c->present || !c->status)
        return;
    sl_buf_clear(&run->text);
    sl_buf_printf(&run->text, "Previously: %s", c->message);
    set_cond(run, w, type, false, "QuotaReserved", sl_buf_str(&run->text));
}

static void note_checks(struct sl_scenario_seen_wl *w, const struct sl_effect *x) {
    for (uint32_t i = 0; i < w->n_checks; i++)
        sl_freep(&w->checks[i].name);
    w->n_checks = 0;
    for (uint32_t i = 0; i < x->checks.n && i < SL_LEN(w->checks); i++)
        w->checks[w->n_checks++] =
            (struct sl_scenario_seen_check){.name = sl_strdup(x->checks.v[i].name),
                                            .state = x->checks.v[i].state,
                                            .retries = x->checks.v[i].retries};
}

static void note_replaced(struct sl_scenario_run *run, const struct sl_scenario_seen_wl *by,
                          const struct sl_effect *x) {
    struct sl_scenario_seen_wl *w = sl_scenario_run_wl_by_id(run, x->reserve.replaced);
    if (!w)
        return;
    const struct sl_workload_spec *s = &by->step->fact->workload;
    sl_buf_clear(&run->text);
    sl_effect_replaced_message(&run->text, s->uid, s->job_uid);
    set_cond(run, w, SL_COND_FINISHED, true, "WorkloadSliceReplaced", sl_buf_str(&run->text));
}

void sl_scenario_run_note(struct sl_scenario_run *run, const struct sl_effect *x) {
    struct sl_condition cond[SL_EFFECT_MAX_CONDITIONS];
    struct sl_scenario_seen_wl *w = sl_scenario_run_wl_by_id(run, x->wl);
    struct sl_scenario_seen_wl *by;

    if (!w)
        return;
    uint32_t n = sl_effect_conditions(x, &run->text, cond);
    struct sl_condition copy[SL_EFFECT_MAX_CONDITIONS];
    memcpy(copy, cond, sizeof(copy));
    for (uint32_t i = 0; i < n; i++)
        set_cond(run, w, copy[i].type, copy[i].status, copy[i].reason, copy[i].message);
    switch (x->kind) {
    case SL_EFFECT_RESERVE:
        reset_cond(run, w, SL_COND_EVICTED);
        reset_cond(run, w, SL_COND_PREEMPTED);
        reset_cond(run, w, SL_COND_BLOCKED_ON_PREEMPTION_GATES);
        note_replaced(run, w, x);
        break;
    case SL_EFFECT_EVICT:
        by = sl_scenario_run_wl_by_id(run, x->evict.by);
        w->evict = x->evict.reason;
        w->cause = x->evict.cause;
        w->by = by ? by->name : (struct sl_scenario_wl_name){0};
        break;
    case SL_EFFECT_CHECKS:
        note_checks(w, x);
        break;
    case SL_EFFECT_BACKOFF:
        w->backoff_count = x->backoff.count;
        w->backoff_at = x->backoff.at;
        break;
    default:
        break;
    }
}

/* ---- as text ---- */

static const char *phase_word(const struct sl_engine_wl_view *v) {
    static const char *const words[] = {"gone",     "blocked",  "in the heap", "asleep",
                                        "reserved", "admitted", "finished"};
    return (unsigned)v->phase < SL_LEN(words) ? words[v->phase] : "?";
}

void sl_scenario_run_print_wl(struct sl_scenario_run *run, struct sl_scenario_seen_wl *w) {
    struct sl_engine_wl_view v;
    if (!sl_engine_workload(run->e, w->id, &v)) {
        sl_buf_printf(run->out, "%s is gone", w->name.name);
        return;
    }
    sl_buf_printf(run->out, "%s is %s%s (queue %s -> %s, priority %d", w->name.name, phase_word(&v),
                  v.evicting ? ", being evicted" : "", v.queue ? v.queue : "-", v.cq ? v.cq : "-",
                  v.priority);
    if (v.requeues || v.requeue_at) {
        char text[SL_SPAN_TEXT];
        sl_buf_printf(run->out, ", requeued %d times, not before %s", v.requeues,
                      sl_scenario_run_clock(v.requeue_at, text));
    }
    sl_buf_puts(run->out, ")");
    for (int i = 0; i < SL_COND_COUNT; i++)
        if (w->cond[i].present)
            sl_buf_printf(run->out, "\n              %s=%s %s \"%s\"", sl_word(SL_VOCAB_COND, i),
                          w->cond[i].status ? "True" : "False", w->cond[i].reason,
                          w->cond[i].message);
}

static void report_assignment(struct sl_scenario_run *run, const struct sl_effect *x) {
    for (uint32_t p = 0; p < x->reserve.n; p++) {
        const struct sl_podset_assignment *a = &x->reserve.podsets[p];
        sl_buf_printf(run->out, "%s %s x%d", p ? ";" : ":", a->name, a->count);
        for (uint32_t i = 0; i < a->n; i++) {
            char text[SL_QUANTITY_TEXT];
            sl_buf_printf(run->out, " %s=%s:%s", a->v[i].resource, a->v[i].flavor,
                          sl_amount_format(a->v[i].resource, a->v[i].usage, text));
        }
    }
    if (x->reserve.borrow)
        sl_buf_printf(run->out, " (borrows from level %u)", x->reserve.borrow);
}

void sl_scenario_run_print_effect(struct sl_scenario_run *run, const struct sl_effect *x,
                                  sl_time at) {
    struct sl_condition cond[SL_EFFECT_MAX_CONDITIONS];
    char text[SL_SPAN_TEXT];
    const struct sl_scenario_seen_wl *by;

    sl_buf_printf(run->out, "        %s  %s %s", sl_scenario_run_clock(at, text),
                  sl_effect_name(x->kind), x->name ? x->name : "");
    switch (x->kind) {
    case SL_EFFECT_RESERVE:
        sl_buf_printf(run->out, " in %s%s", x->cq, x->reserve.admitted ? ", admitted" : "");
        by = sl_scenario_run_wl_by_id(run, x->reserve.replaced);
        if (by)
            sl_buf_printf(run->out, ", in place of %s", by->name.name);
        report_assignment(run, x);
        break;
    case SL_EFFECT_EVICT:
        by = sl_scenario_run_wl_by_id(run, x->evict.by);
        sl_buf_printf(run->out, " %s %s%s%s", sl_word(SL_VOCAB_EVICT, (int)x->evict.reason),
                      x->evict.cause ? sl_word(SL_VOCAB_CAUSE, (int)x->evict.cause) : "",
                      by ? " by " : "", by ? by->name.name : "");
        break;
    case SL_EFFECT_PENDING:
        sl_buf_puts(run->out, x->pending.asleep ? ", asleep" : ", stays in the heap");
        break;
    case SL_EFFECT_BACKOFF:
        sl_buf_printf(run->out, " count %d, not before %s", x->backoff.count,
                      sl_scenario_run_clock(x->backoff.at, text));
        break;
    case SL_EFFECT_DEACTIVATE:
        sl_buf_printf(run->out, " %s", sl_word(SL_VOCAB_CAUSE, (int)x->deactivate.cause));
        break;
    case SL_EFFECT_CHECKS:
        for (uint32_t i = 0; i < x->checks.n; i++)
            sl_buf_printf(run->out, " %s=%s", x->checks.v[i].name,
                          sl_word(SL_VOCAB_CHECK_STATE, (int)x->checks.v[i].state));
        break;
    case SL_EFFECT_CQ_STATUS:
        sl_buf_printf(run->out, " %s: %s", x->cq_status.active ? "active" : "inactive",
                      x->cq_status.message ? x->cq_status.message : "");
        break;
    default:
        break;
    }
    uint32_t n = x->kind == SL_EFFECT_CQ_STATUS ? 0 : sl_effect_conditions(x, &run->text, cond);
    for (uint32_t i = 0; i < n; i++)
        sl_buf_printf(run->out, "\n            %s=%s %s \"%s\"",
                      sl_word(SL_VOCAB_COND, (int)cond[i].type), cond[i].status ? "True" : "False",
                      cond[i].reason ? cond[i].reason : "", cond[i].message ? cond[i].message : "");
    sl_buf_putc(run->out, '\n');
}

void sl_scenario_run_print_since(struct sl_scenario_run *run) {
    if (run->verbose)
        return; /* all of it stands above already */
    sl_buf_puts(run->out, run->effects.v.n ? "    since the last expectation:\n"
                                           : "    nothing happened since the last expectation\n");
    for (uint32_t i = 0; i < run->effects.v.n; i++) {
        if (i == 40) {
            sl_buf_printf(run->out, "        ... and %u more\n", run->effects.v.n - i);
            break;
        }
        sl_scenario_run_print_effect(run, &run->effects.v.v[i], run->when.v[i]);
    }
}
