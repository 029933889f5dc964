/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a scenario: does an expectation hold? When it does not, the report has the expected and
 * the actual state, the observable state of the workload, and all effects since the last block of
 * expectations.
 */
#include "cmd/sim/scenario/scenario_int.h"
#include "core/base/fmt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Opens a report: "expected ..., got ..."; the caller may add lines, sl_scenario_run_print_since
 * closes it. */
static void got(struct sl_scenario_run *run, const struct sl_scenario_expect *x, const char *fmt,
                ...) _printf_(3, 4);
static void got(struct sl_scenario_run *run, const struct sl_scenario_expect *x, const char *fmt,
                ...) {
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    sl_vfmt_short(text, sizeof(text), fmt, ap);
    va_end(ap);
    const char *want = strncmp(x->text, "expect ", 7) == 0 ? x->text + 7 : x->text;
    sl_scenario_run_fail(run, "expected  %s\n    got       %s", want, text);
}

static void got_wl(struct sl_scenario_run *run, const struct sl_scenario_expect *x,
                   struct sl_scenario_seen_wl *w) {
    got(run, x, "another state");
    sl_buf_puts(run->out, "              ");
    sl_scenario_run_print_wl(run, w);
    sl_buf_putc(run->out, '\n');
    sl_scenario_run_print_since(run);
}

static struct sl_scenario_seen_wl *find_workload(struct sl_scenario_run *run,
                                                 const struct sl_scenario_expect *x,
                                                 const struct sl_scenario_wl_name *name) {
    struct sl_scenario_seen_wl *w = sl_scenario_run_wl(run, name);
    if (!w)
        got(run, x, "no job %s was made", name->name);
    return w;
}

/* ---- states ---- */

static bool in_state(const struct sl_engine_wl_view *v, bool exists,
                     enum sl_scenario_expect_kind kind) {
    if (!exists || v->phase == SL_PHASE_GONE)
        return kind == SL_EXPECT_GONE;
    switch (kind) {
    case SL_EXPECT_ADMITTED:
        return v->phase == SL_PHASE_ADMITTED && !v->evicting;
    case SL_EXPECT_RESERVED:
        return v->phase == SL_PHASE_RESERVED && !v->evicting;
    case SL_EXPECT_HEAP:
        return v->phase == SL_PHASE_HEAP;
    case SL_EXPECT_ASLEEP:
        return v->phase == SL_PHASE_ASLEEP;
    case SL_EXPECT_WAITING:
        return v->phase == SL_PHASE_HEAP || v->phase == SL_PHASE_ASLEEP;
    case SL_EXPECT_BLOCKED:
        return v->phase == SL_PHASE_BLOCKED;
    case SL_EXPECT_FINISHED:
        return v->phase == SL_PHASE_FINISHED;
    case SL_EXPECT_EVICTING:
        return v->evicting;
    default:
        return false;
    }
}

static void check_states(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    for (uint32_t i = 0; i < x->n_wls; i++) {
        struct sl_engine_wl_view v = {0};
        struct sl_scenario_seen_wl *w = find_workload(run, x, &x->wls[i]);
        if (!w)
            return;
        bool exists = sl_engine_workload(run->e, w->id, &v);
        if (!in_state(&v, exists, x->kind)) {
            got_wl(run, x, w);
            return;
        }
    }
}

static bool same_name(const struct sl_scenario_wl_name *a, const struct sl_scenario_wl_name *b) {
    return a->name && b->name && strcmp(a->name, b->name) == 0 && strcmp(a->ns, b->ns) == 0;
}

static void check_evicting(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    check_states(run, x);
    struct sl_scenario_seen_wl *w = sl_scenario_run_wl(run, &x->wls[0]);
    if (run->failed || !w)
        return;
    bool ok = (x->evict < 0 || (int)w->evict == x->evict) &&
              (x->cause < 0 || (int)w->cause == x->cause) &&
              (!x->by.name || same_name(&x->by, &w->by));
    if (ok)
        return;
    got(run, x, "evicting %s %s %s%s%s", w->name.name, sl_word(SL_VOCAB_EVICT, (int)w->evict),
        sl_word(SL_VOCAB_CAUSE, (int)w->cause), w->by.name ? " by " : "",
        w->by.name ? w->by.name : "");
    sl_scenario_run_print_since(run);
}

/* Exactly these were evicted by that one since the last expectation. */
static void check_preempted(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    const struct sl_scenario_seen_wl *by = find_workload(run, x, &x->by);
    uint32_t found = 0, wrong = 0;
    char names[1024] = "";
    size_t len = 0;
    if (!by)
        return;
    for (uint32_t i = 0; i < run->effects.v.n; i++) {
        const struct sl_effect *e = &run->effects.v.v[i];
        if (e->kind != SL_EFFECT_EVICT || e->evict.by.v != by->id.v)
            continue;
        const struct sl_scenario_seen_wl *w = sl_scenario_run_wl_by_id(run, e->wl);
        bool listed = false;
        for (uint32_t k = 0; w && k < x->n_wls && !listed; k++)
            listed = same_name(&x->wls[k], &w->name);
        found += listed;
        wrong += !listed || (x->cause >= 0 && (int)e->evict.cause != x->cause);
        if (len < sizeof(names))
            len += (size_t)snprintf(names + len, sizeof(names) - len, " %s(%s)",
                                    e->name ? e->name : "?",
                                    sl_word(SL_VOCAB_CAUSE, (int)e->evict.cause));
    }
    if (found == x->n_wls && wrong == 0)
        return;
    got(run, x, "%s preempted%s", by->name.name, *names ? names : " nobody");
    sl_scenario_run_print_since(run);
}

/* ---- assignments ---- */

static void check_podsets(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    struct sl_scenario_seen_wl *w = find_workload(run, x, &x->wls[0]);
    const struct sl_podset_assignment *ps = NULL;
    struct sl_arena a;
    if (!w)
        return;
    sl_arena_init(&a, (size_t)16 << 20);
    uint32_t n = sl_engine_assignment(run->e, w->id, &a, &ps);
    for (uint32_t i = 0; i < x->n_pairs; i++) {
        const struct sl_scenario_expect_pair *p = &x->pairs[i];
        const struct sl_podset_assignment *m = NULL;
        const char *flavor = NULL;
        for (uint32_t k = 0; k < n && !m; k++)
            if (strcmp(ps[k].name, p->a) == 0)
                m = &ps[k];
        for (uint32_t k = 0; m && p->b && k < m->n; k++)
            if (strcmp(m->v[k].resource, p->b) == 0)
                flavor = m->v[k].flavor;
        if (!m) {
            got(run, x, "no assignment for podset %s", p->a);
        } else if (x->kind == SL_EXPECT_COUNT && m->count != p->number) {
            got(run, x, "%s=%d", p->a, m->count);
        } else if (x->kind == SL_EXPECT_FLAVOR && strcmp(flavor ? flavor : "none", p->text) != 0) {
            got(run, x, "%s.%s=%s", p->a, p->b, flavor ? flavor : "none");
        } else {
            continue;
        }
        sl_buf_puts(run->out, "              ");
        sl_scenario_run_print_wl(run, w);
        sl_buf_putc(run->out, '\n');
        sl_scenario_run_print_since(run);
        break;
    }
    sl_arena_done(&a);
}

/* ---- nodes of the tree ---- */

static void check_cells(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    for (uint32_t i = 0; i < x->n_pairs; i++) {
        const struct sl_scenario_expect_pair *p = &x->pairs[i];
        struct sl_engine_cell_view v;
        char text[SL_QUANTITY_TEXT];
        if (!sl_engine_cell(run->e, x->cohort, x->node, p->a, p->b, &v)) {
            got(run, x, "no such %s", x->cohort ? "cohort" : "queue");
            return;
        }
        sl_amount is = x->kind == SL_EXPECT_USAGE            ? v.usage
                       : x->kind == SL_EXPECT_ADMITTED_USAGE ? v.admitted_usage
                       : x->kind == SL_EXPECT_AVAILABLE      ? v.available
                       : x->kind == SL_EXPECT_POTENTIAL      ? v.potential
                                                             : v.subtree;
        if (is == p->number)
            continue;
        got(run, x, "%s.%s=%s", p->a, p->b, sl_amount_format(p->b, is, text));
        sl_scenario_run_print_since(run);
        return;
    }
}

static void check_share(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    struct sl_engine_cq_view v = {0};
    int64_t is;
    if (x->cohort) {
        is = sl_engine_cohort_share(run->e, x->node);
    } else {
        if (!sl_engine_cq(run->e, x->node, &v)) {
            got(run, x, "no such queue");
            return;
        }
        is = v.weighted_share;
    }
    if (is == x->number)
        return;
    if (is == INT64_MAX)
        got(run, x, "infinite");
    else
        got(run, x, "%lld", (long long)is);
    sl_scenario_run_print_since(run);
}

static void check_active(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    struct sl_engine_cq_view v = {0};
    bool want = x->kind == SL_EXPECT_ACTIVE;
    if (!sl_engine_cq(run->e, x->node, &v)) {
        got(run, x, "no such queue");
        return;
    }
    const char *message = v.message ? v.message : "";
    if (v.active != want || (x->message && strcmp(x->message, message) != 0)) {
        got(run, x, "%s \"%s\"", v.active ? "active" : "inactive", message);
        sl_scenario_run_print_since(run);
    }
}

/* ---- conditions and checks ---- */

static void check_condition(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    struct sl_scenario_seen_wl *w = find_workload(run, x, &x->wls[0]);
    if (!w)
        return;
    const struct sl_scenario_seen_cond *c = &w->cond[x->type];
    if (x->kind == SL_EXPECT_NO_CONDITION
            ? !c->present
            : c->present && c->status == x->status &&
                  (!x->reason || strcmp(x->reason, c->reason) == 0) &&
                  (!x->message || strcmp(x->message, c->message) == 0))
        return;
    if (c->present)
        got(run, x, "%s=%s %s \"%s\"", sl_word(SL_VOCAB_COND, x->type),
            c->status ? "True" : "False", c->reason, c->message);
    else
        got(run, x, "no condition %s", sl_word(SL_VOCAB_COND, x->type));
    sl_scenario_run_print_since(run);
}

static void check_reported(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    const struct sl_scenario_seen_wl *w = find_workload(run, x, &x->wls[0]);
    for (uint32_t i = 0; w && i < run->effects.v.n; i++) {
        struct sl_condition cond[SL_EFFECT_MAX_CONDITIONS];
        const struct sl_effect *e = &run->effects.v.v[i];
        uint32_t n = e->wl.v == w->id.v ? sl_effect_conditions(e, &run->text, cond) : 0;
        for (uint32_t k = 0; k < n; k++)
            if ((int)cond[k].type == x->type && cond[k].status == x->status &&
                (!x->reason || strcmp(x->reason, cond[k].reason) == 0) &&
                (!x->message || strcmp(x->message, cond[k].message) == 0))
                return;
    }
    if (w) {
        got(run, x, "no such condition among these");
        sl_scenario_run_print_since(run);
    }
}

static void check_checks(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    const struct sl_scenario_seen_wl *w = find_workload(run, x, &x->wls[0]);
    char list[1024] = "none";
    size_t len = 0;
    bool ok;
    if (!w)
        return;
    ok = w->n_checks == x->n_pairs;
    for (uint32_t i = 0; i < w->n_checks; i++) {
        bool listed = false;
        for (uint32_t k = 0; k < x->n_pairs && !listed; k++)
            listed = strcmp(x->pairs[k].a, w->checks[i].name) == 0 &&
                     x->pairs[k].number == (int64_t)w->checks[i].state &&
                     (x->pairs[k].retries < 0 || x->pairs[k].retries == w->checks[i].retries);
        ok = ok && listed;
        if (len < sizeof(list))
            len += (size_t)snprintf(
                list + len, sizeof(list) - len, "%s%s=%s:%d", i ? " " : "", w->checks[i].name,
                sl_word(SL_VOCAB_CHECK_STATE, (int)w->checks[i].state), w->checks[i].retries);
    }
    if (ok)
        return;
    got(run, x, "%s", list);
    sl_scenario_run_print_since(run);
}

/* ---- orders ---- */

static void check_order(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    char list[1024] = "nobody";
    size_t len = 0;
    uint32_t n = 0;
    bool ok = true;
    for (uint32_t i = 0; i < run->effects.v.n; i++) {
        const struct sl_effect *e = &run->effects.v.v[i];
        if (e->kind != SL_EFFECT_RESERVE)
            continue;
        struct sl_scenario_wl_name name = {.ns = e->ns, .name = e->name};
        ok = ok && n < x->n_wls && same_name(&x->wls[n], &name);
        if (len < sizeof(list))
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", n ? " " : "", e->name);
        n++;
    }
    if (ok && n == x->n_wls)
        return;
    got(run, x, "%s", list);
    sl_scenario_run_print_since(run);
}

static void check_queue(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    sl_wl_id ids[64];
    char list[1024] = "nobody";
    size_t len = 0;
    uint32_t n = sl_engine_pending(run->e, x->node, 0, ids, SL_LEN(ids));
    bool ok = n == x->n_wls;
    for (uint32_t i = 0; i < n; i++) {
        const struct sl_scenario_seen_wl *w = sl_scenario_run_wl_by_id(run, ids[i]);
        ok = ok && w && i < x->n_wls && same_name(&x->wls[i], &w->name);
        if (len < sizeof(list))
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? " " : "",
                                    w ? w->name.name : "?");
    }
    if (ok)
        return;
    got(run, x, "%s", list);
    sl_scenario_run_print_since(run);
}

/* ---- explanations, times, counts ---- */

static void check_explain(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    const struct sl_scenario_seen_wl *w = find_workload(run, x, &x->wls[0]);
    struct sl_verdict v;
    struct sl_err err = {0};
    if (!w)
        return;
    sl_verdict_init(&v);
    if (sl_engine_explain(run->e, run->now, w->id, &v, &err) < 0) {
        got(run, x, "no explanation: %s", err.text);
        sl_verdict_done(&v);
        return;
    }
    bool ok = (int)v.kind == x->type && (x->number < 0 || v.position_cq == x->number) &&
              (!x->message || (v.text && strstr(v.text, x->message)));
    for (uint32_t i = 0; i < x->n_helps; i++) {
        bool found = false;
        for (uint32_t k = 0; k < v.n_help && !found; k++)
            found = strcmp(x->helps[i], sl_scenario_help_words[v.help[k].kind]) == 0;
        ok = ok && found;
    }
    if (!ok) {
        got(run, x, "%s position=%u \"%s\"",
            (unsigned)v.kind < SL_VERDICT_COUNT ? sl_scenario_verdict_words[v.kind] : "?",
            v.position_cq, v.text ? v.text : "");
        for (uint32_t k = 0; k < v.n_help; k++)
            sl_buf_printf(run->out, "              help: %s to %lld at %s\n",
                          sl_scenario_help_words[v.help[k].kind], (long long)v.help[k].to,
                          v.help[k].node ? v.help[k].node : "-");
        sl_scenario_run_print_since(run);
    }
    sl_verdict_done(&v);
}

static void check_backoff(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    const struct sl_scenario_seen_wl *w = find_workload(run, x, &x->wls[0]);
    struct sl_engine_wl_view v = {0};
    char text[SL_SPAN_TEXT];
    if (!w)
        return;
    (void)sl_engine_workload(run->e, w->id, &v);
    if ((x->number < 0 || v.requeues == x->number) && (x->at < 0 || v.requeue_at == x->at))
        return;
    got(run, x, "count=%d at=%s", v.requeues, sl_scenario_run_clock(v.requeue_at, text));
    sl_scenario_run_print_since(run);
}

static void check_next(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    char text[SL_SPAN_TEXT];
    sl_time is = sl_engine_next(run->e);
    if (is == x->at)
        return;
    got(run, x, "next %s", sl_scenario_run_clock(is, text));
}

static void check_evictions(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    int64_t n = 0;
    for (uint32_t i = 0; i < run->effects.v.n; i++)
        n += run->effects.v.v[i].kind == SL_EFFECT_EVICT;
    if (n == x->number)
        return;
    got(run, x, "evictions %lld", (long long)n);
    sl_scenario_run_print_since(run);
}

static void check_rest(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    for (uint32_t i = 0; i < run->wls.n; i++) {
        struct sl_engine_wl_view v;
        if (sl_engine_workload(run->e, run->wls.v[i].id, &v) && v.evicting) {
            got_wl(run, x, &run->wls.v[i]);
            return;
        }
    }
}

void sl_scenario_run_expect(struct sl_scenario_run *run, const struct sl_scenario_expect *x) {
    switch (x->kind) {
    case SL_EXPECT_ADMITTED:
    case SL_EXPECT_RESERVED:
    case SL_EXPECT_HEAP:
    case SL_EXPECT_ASLEEP:
    case SL_EXPECT_WAITING:
    case SL_EXPECT_BLOCKED:
    case SL_EXPECT_FINISHED:
    case SL_EXPECT_GONE:
        check_states(run, x);
        break;
    case SL_EXPECT_EVICTING:
        check_evicting(run, x);
        break;
    case SL_EXPECT_PREEMPTED:
        check_preempted(run, x);
        break;
    case SL_EXPECT_FLAVOR:
    case SL_EXPECT_COUNT:
        check_podsets(run, x);
        break;
    case SL_EXPECT_USAGE:
    case SL_EXPECT_ADMITTED_USAGE:
    case SL_EXPECT_AVAILABLE:
    case SL_EXPECT_POTENTIAL:
    case SL_EXPECT_SUBTREE:
        check_cells(run, x);
        break;
    case SL_EXPECT_SHARE:
        check_share(run, x);
        break;
    case SL_EXPECT_CONDITION:
    case SL_EXPECT_NO_CONDITION:
        check_condition(run, x);
        break;
    case SL_EXPECT_REPORTED:
        check_reported(run, x);
        break;
    case SL_EXPECT_CHECKS:
        check_checks(run, x);
        break;
    case SL_EXPECT_ORDER:
        check_order(run, x);
        break;
    case SL_EXPECT_QUEUE:
        check_queue(run, x);
        break;
    case SL_EXPECT_NOTHING:
        if (run->effects.v.n) {
            got(run, x, "%u effects", run->effects.v.n);
            sl_scenario_run_print_since(run);
        }
        break;
    case SL_EXPECT_REST:
        check_rest(run, x);
        break;
    case SL_EXPECT_NEXT:
        check_next(run, x);
        break;
    case SL_EXPECT_ACTIVE:
    case SL_EXPECT_INACTIVE:
        check_active(run, x);
        break;
    case SL_EXPECT_EXPLAIN:
        check_explain(run, x);
        break;
    case SL_EXPECT_BACKOFF:
        check_backoff(run, x);
        break;
    case SL_EXPECT_EVICTIONS:
        check_evictions(run, x);
        break;
    }
}
