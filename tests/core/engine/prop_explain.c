/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations are true and every suggestion works. A random small world is a plain struct that can
 * be told to any number of engines. Every waiting workload is explained; what the explanation says
 * is then compared with what happens in fresh copies of the world, in which the other waiting
 * workloads are deleted, because a verdict and a suggestion are about this workload alone.
 *
 * prop_explain [--seed N [--verbose]]; SL_SEEDS says how much to try.
 */
#include "../../seed_key.h"
#include "core/base/collection/hash.h"
#include "explain_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST_WORLDS 100

/* ---- what is said against what is so ---- */

struct judge {
    const struct world *w;
    struct copy x; /* where it was explained */
    const struct sl_verdict *v;
    int wl;
    bool failed;
};

static void _printf_(2, 3) report_wrong(struct judge *j, const char *fmt, ...) {
    va_list ap;
    char text[400];
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!j->failed)
        printf("seed %llu fails; again with: prop_explain --seed %llu --verbose\n",
               (unsigned long long)j->w->seed, (unsigned long long)j->w->seed);
    printf("  w%d: %s\n  (it was said: %s)\n", j->wl, text, j->v && j->v->text ? j->v->text : "-");
    j->failed = true;
}

static const char *queue_of(const struct judge *j) {
    return name('q', j->w->wls[j->wl].cq);
}

static void check_blockers(struct judge *j) {
    const struct sl_verdict *v = j->v;
    bool quota = v->kind == SL_VERDICT_NO_QUOTA || v->kind == SL_VERDICT_NEVER_FITS;
    bool some = false;
    for (uint32_t i = 0; i < v->n_blockers; i++) {
        const struct sl_blocker *b = &v->blockers[i];
        struct sl_engine_cell_view c;
        if (b->podset >= j->w->wls[j->wl].n)
            report_wrong(j, "blocker of podset %u", b->podset);
        if (b->kind != SL_WHY_NEEDS_MORE && b->kind != SL_WHY_EXCEEDS_MAX)
            continue;
        some = true;
        (void)sl_engine_cell(j->x.e, false, queue_of(j), b->flavor, b->resource, &c);
        if (b->available != c.available || b->potential != c.potential)
            report_wrong(j, "%s/%s: available %lld, potential %lld; the cell has %lld, %lld",
                         b->flavor, b->resource, (long long)b->available, (long long)b->potential,
                         (long long)c.available, (long long)c.potential);
        if (b->kind == SL_WHY_NEEDS_MORE ? b->need <= b->available || b->need > b->potential
                                         : b->need <= b->potential)
            report_wrong(j, "%s/%s: need %lld is no obstacle", b->flavor, b->resource,
                         (long long)b->need);
        if (!sl_engine_cell(j->x.e, b->cohort, b->node, b->flavor, b->resource, &c))
            report_wrong(j, "the limit is said to be at %s, which is nowhere", b->node);
        if (b->cohort == (strcmp(b->node, queue_of(j)) == 0))
            report_wrong(j, "the limit is said to be at %s", b->node);
    }
    if (quota && !some)
        report_wrong(j, "lacks quota, but no number says so");
}

static sl_amount held(const struct copy *x, int i, const char *flavor, const char *resource) {
    struct sl_arena a;
    const struct sl_podset_assignment *ps;
    sl_amount sum = 0;
    sl_arena_init(&a, 1 << 20);
    uint32_t n = sl_engine_assignment(x->e, x->id[i], &a, &ps);
    for (uint32_t p = 0; p < n; p++)
        for (uint32_t k = 0; k < ps[p].n; k++)
            if (strcmp(ps[p].v[k].flavor, flavor) == 0 &&
                strcmp(ps[p].v[k].resource, resource) == 0)
                sum += ps[p].v[k].usage;
    sl_arena_done(&a);
    return sum;
}

static int index_of(const struct judge *j, sl_wl_id id) {
    for (int i = 0; i < j->w->n_wls; i++)
        if (j->x.id[i].v == id.v)
            return i;
    return -1;
}

static bool blocked_by(const struct judge *j, const char *flavor, const char *resource) {
    for (uint32_t i = 0; i < j->v->n_blockers; i++)
        if (strcmp(j->v->blockers[i].flavor, flavor) == 0 &&
            strcmp(j->v->blockers[i].resource, resource) == 0)
            return true;
    return false;
}

static void check_holders(struct judge *j) {
    for (uint32_t k = 0; k < j->v->n_holders; k++) {
        const struct sl_holder *h = &j->v->holders[k];
        int i = index_of(j, h->wl);
        if (i < 0) {
            report_wrong(j, "holder %s does not exist", h->name);
            continue;
        }
        struct sl_engine_wl_view v = look(&j->x, i);
        sl_amount a = held(&j->x, i, h->flavor, h->resource);
        if (a != h->amount || a <= 0 || h->priority != v.priority || strcmp(h->cq, v.cq) != 0)
            report_wrong(j, "%s is said to hold %lld of %s/%s, it holds %lld", h->name,
                         (long long)h->amount, h->flavor, h->resource, (long long)a);
        if (!blocked_by(j, h->flavor, h->resource))
            report_wrong(j, "%s holds %s/%s, which nobody lacks", h->name, h->flavor, h->resource);
        if (k && h[-1].amount < h->amount)
            report_wrong(j, "holders are not in order");
    }
}

static void check_position(struct judge *j) {
    sl_wl_id line[WLS];
    uint32_t n = sl_engine_pending(j->x.e, queue_of(j), 0, line, WLS), at = 0, at_lq = 0, n_lq = 0;
    const char *queue = look(&j->x, j->wl).queue;
    for (uint32_t i = 0; i < n; i++) {
        bool same = strcmp(look(&j->x, index_of(j, line[i])).queue, queue) == 0;
        n_lq += same;
        if (line[i].v == j->x.id[j->wl].v) {
            at = i + 1;
            at_lq = n_lq;
        }
    }
    const struct sl_verdict *v = j->v;
    if (!at)
        return; /* holds quota, or its queue is stopped */
    if (v->position_cq != at || v->position_lq != at_lq || v->waiting_cq != n ||
        v->waiting_lq != n_lq)
        report_wrong(j, "said to be %u of %u (%u of %u), is %u of %u (%u of %u)", v->position_cq,
                     v->waiting_cq, v->position_lq, v->waiting_lq, at, n, at_lq, n_lq);
}

static uint64_t verdict_digest(uint64_t h, const struct sl_verdict *v) {
    h = sl_digest_str(sl_digest_u64(h, (uint64_t)v->kind), v->text);
    h = sl_digest_u64(sl_digest_u64(h, v->position_cq), v->position_lq);
    h = sl_digest_u64(sl_digest_u64(h, v->waiting_cq), v->waiting_lq);
    for (uint32_t i = 0; i < v->n_blockers; i++) {
        const struct sl_blocker *b = &v->blockers[i];
        h = sl_digest_str(sl_digest_str(sl_digest_str(h, b->flavor), b->resource), b->node);
        h = sl_digest_u64(sl_digest_u64(h, (uint64_t)b->need), (uint64_t)b->available);
        h = sl_digest_u64(sl_digest_u64(h, (uint64_t)b->potential),
                          (uint64_t)b->kind << 1 | b->borrow_limit);
    }
    for (uint32_t i = 0; i < v->n_holders; i++)
        h = sl_digest_str(sl_digest_u64(h, (uint64_t)v->holders[i].amount), v->holders[i].name);
    for (uint32_t i = 0; i < v->n_help; i++) {
        const struct sl_help *s = &v->help[i];
        h = sl_digest_str(sl_digest_str(sl_digest_str(h, s->node), s->flavor), s->resource);
        h = sl_digest_u64(sl_digest_u64(h, (uint64_t)s->kind << 1 | s->and_next), (uint64_t)s->to);
        for (uint32_t k = 0; k < s->n_wls; k++)
            h = sl_digest_u64(h, s->wls[k].v);
    }
    return h;
}

/*
 * With nobody else waiting: does the verdict come true? Of several podsets each takes the first
 * flavor that suits it, as in Kueue: with the victims gone, the first podset may prefer what the
 * second was to have, and then they went for nothing. So only the preemption is asked for there,
 * not its success.
 */
static void check_outcome(struct judge *j) {
    struct copy c;
    build_alone(&c, j->w, j->wl);
    cycle(&c);
    bool in = holds(&c, j->wl);
    switch (j->v->kind) {
    case SL_VERDICT_FITS:
    case SL_VERDICT_BEHIND:
        if (!in)
            report_wrong(j, "it is not admitted");
        break;
    case SL_VERDICT_PREEMPTS:
        if (in)
            report_wrong(j, "it is admitted without preempting anybody");
        else if (!release(&c, j->w))
            report_wrong(j, "nobody is preempted");
        else if (!admitted_in_time(&c, j->w, j->wl) && j->w->wls[j->wl].n == 1)
            report_wrong(j, "preempts, and is not admitted");
        break;
    default:
        if (in || evicts(&c))
            report_wrong(j, "it is refused, but %s", in ? "admitted" : "preempts");
        break;
    }
    copy_done(&c);
}

/* ---- what would help ---- */

static int number_of(const char *s) {
    return (int)strtol(s + 1, NULL, 10);
}

/* Puts one change into the world and tells the copy, 'less' steps short of it. */
static void apply_help(struct judge *j, struct world *w, struct copy *c, const struct sl_help *s,
                       int64_t less) {
    struct wl_says *l = &w->wls[j->wl];
    switch (s->kind) {
    case SL_HELP_WAIT_FOR:
        for (uint32_t i = 0; i < s->n_wls; i++)
            tell_wl(c, SL_FACT_FINISHED, index_of(j, s->wls[i]));
        return;
    case SL_HELP_RAISE_QUOTA:
    case SL_HELP_RAISE_BORROW: {
        int n = number_of(s->node), r = strcmp(s->resource, resources[0]) == 0 ? 0 : 1;
        struct node_says *node = s->cohort ? &w->cohorts[n] : &w->cqs[n].node;
        struct sl_quota *q = &node->q[number_of(s->flavor)][r];
        *(s->kind == SL_HELP_RAISE_QUOTA ? &q->nominal : &q->borrow_limit) = s->to - less;
        if (s->cohort)
            tell_cohort(c, w, n);
        else
            tell_cq(c, w, n);
        return;
    }
    case SL_HELP_SHRINK:
        l->ps[s->podset].count = (int32_t)(s->to + less);
        if (l->ps[s->podset].min > l->ps[s->podset].count)
            l->ps[s->podset].min = l->ps[s->podset].count;
        tell_wl(c, SL_FACT_WORKLOAD_GONE, j->wl);
        tell_workload(c, w, j->wl);
        return;
    case SL_HELP_PRIORITY:
        l->priority = (int32_t)(s->to - less);
        tell_workload(c, w, j->wl);
        return;
    case SL_HELP_START_QUEUE:
        if (s->local_queue) {
            int n = number_of(s->node);
            w->cqs[n / LQS_EACH].lq_stop[n % LQS_EACH] = SL_STOP_NONE;
            tell_lq(c, w, n / LQS_EACH, n % LQS_EACH);
        } else {
            w->cqs[number_of(s->node)].stop = SL_STOP_NONE;
            tell_cq(c, w, number_of(s->node));
        }
        return;
    case SL_HELP_ACTIVATE:
        l->inactive = l->gated = l->on_hold = false;
        tell_workload(c, w, j->wl);
        return;
    }
}

static const char *const help_names[] = {"wait for", "raise quota", "raise borrowingLimit",
                                         "shrink",   "priority",    "start queue",
                                         "activate"};

/* An obstacle is out of the way: after as many as there can be, it stands in line or is let in. */
static void check_unblocking(struct judge *j, const struct sl_help *s) {
    struct world w = *j->w;
    struct copy c;
    struct sl_verdict v;
    struct sl_err err = {0};
    build_alone(&c, j->w, j->wl);
    sl_verdict_init(&v);
    for (int k = 0; k < 4 && s; k++) {
        apply_help(j, &w, &c, s, 0);
        cycle(&c);
        must(sl_engine_explain(c.e, NOW, c.id[j->wl], &v, &err), &err);
        s = v.kind == SL_VERDICT_BLOCKED && v.n_help ? &v.help[0] : NULL;
    }
    if (v.kind == SL_VERDICT_BLOCKED)
        report_wrong(j, "still blocked: %s", v.text);
    sl_verdict_done(&v);
    copy_done(&c);
}

static void check_change(struct judge *j, const struct sl_help *s, uint32_t n) {
    struct world w = *j->w;
    struct copy c;
    build_alone(&c, j->w, j->wl);
    for (uint32_t i = 0; i < n; i++)
        apply_help(j, &w, &c, &s[i], 0);
    cycle(&c);
    bool in = holds(&c, j->wl);
    if (!in && s->kind == SL_HELP_PRIORITY && release(&c, &w))
        in = admitted_in_time(&c, &w, j->wl);
    if (!in)
        report_wrong(j, "%s %s to %lld (%u changes) does not help", help_names[s->kind], s->node,
                     (long long)s->to, n);
    copy_done(&c);
    if (n > 1 || s->kind == SL_HELP_WAIT_FOR)
        return;
    w = *j->w;
    build_alone(&c, j->w, j->wl);
    apply_help(j, &w, &c, s, 1);
    cycle(&c);
    in = holds(&c, j->wl);
    if (!in && s->kind == SL_HELP_PRIORITY && evicts(&c) && release(&c, &w))
        in = admitted_in_time(&c, &w, j->wl);
    if (in)
        report_wrong(j, "%s %s to %lld is more than is needed", help_names[s->kind], s->node,
                     (long long)s->to);
    copy_done(&c);
}

static void check_help(struct judge *j) {
    for (uint32_t i = 0, n; i < j->v->n_help; i += n) {
        const struct sl_help *s = &j->v->help[i];
        for (n = 1; i + n < j->v->n_help && s[n - 1].and_next; n++)
            ;
        if (verbose)
            printf("    %s %s %s/%s podset %u to %lld (%u changes, %u workloads)\n",
                   help_names[s->kind], s->node, s->flavor, s->resource, s->podset,
                   (long long)s->to, n, s->n_wls);
        if (s[n - 1].and_next)
            report_wrong(j, "the last change wants another one");
        if (s->kind == SL_HELP_START_QUEUE || s->kind == SL_HELP_ACTIVATE)
            check_unblocking(j, s);
        else
            check_change(j, s, n);
    }
}

/* ---- all of it ---- */

static uint64_t n_kinds[SL_VERDICT_COUNT], n_helps[SL_LEN(help_names)];

static bool check_world(uint64_t seed, uint64_t *digest) {
    struct world w;
    struct copy quiet; /* nobody asks here */
    struct sl_verdict v;
    struct sl_err err = {0};
    seed_key(seed);
    world_make(&w, seed);
    struct judge j = {.w = &w};
    build(&j.x, &w);
    build(&quiet, &w);
    sl_verdict_init(&v);
    for (j.wl = 0; j.wl < w.n_wls; j.wl++) {
        if (look(&j.x, j.wl).phase == SL_PHASE_GONE)
            continue;
        must(sl_engine_explain(j.x.e, NOW, j.x.id[j.wl], &v, &err), &err);
        uint64_t once = verdict_digest(0, &v);
        must(sl_engine_explain(j.x.e, NOW, j.x.id[j.wl], &v, &err), &err);
        j.v = &v;
        *digest = verdict_digest(*digest, &v);
        n_kinds[v.kind]++;
        for (uint32_t i = 0; i < v.n_help; i++)
            n_helps[v.help[i].kind]++;
        if (verbose)
            printf("  w%d in q%d: %s\n", j.wl, w.wls[j.wl].cq, v.text);
        if (once != verdict_digest(0, &v))
            report_wrong(&j, "asked twice, answered differently");
        if (holds(&j.x, j.wl)) {
            if (v.kind != (look(&j.x, j.wl).evicting ? SL_VERDICT_EVICTING : SL_VERDICT_RUNNING))
                report_wrong(&j, "verdict %d of one that holds quota", v.kind);
            continue;
        }
        check_blockers(&j);
        check_holders(&j);
        check_position(&j);
        check_outcome(&j);
        check_help(&j);
    }
    cycle(&j.x);
    cycle(&quiet);
    uint64_t asked = sl_effects_digest(0, &j.x.out), unasked = sl_effects_digest(0, &quiet.out);
    *digest = sl_digest_u64(*digest, asked);
    if (asked != unasked)
        report_wrong(&j, "asking has changed what was decided next");
    if (sl_engine_check(j.x.e, &err) < 0)
        report_wrong(&j, "%s", err.text);
    sl_verdict_done(&v);
    copy_done(&j.x);
    copy_done(&quiet);
    return !j.failed;
}

int main(int argc, char **argv) {
    const char *env = getenv("SL_SEEDS");
    uint64_t seeds = env ? strtoull(env, NULL, 10) / 5 : 200, first = 0, digest = 0, failed = 0;
    bool one = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            first = strtoull(argv[++i], NULL, 10);
            seeds = 1;
            one = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
        } else {
            fprintf(stderr, "usage: %s [--seed N] [--verbose]\n", argv[0]);
            return 2;
        }
    }
    for (uint64_t s = first; s < first + seeds; s++) {
        failed += !check_world(s, &digest);
        if (!one && s + 1 == DIGEST_WORLDS)
            printf("digest explain %016llx\n", (unsigned long long)digest);
    }
    if (verbose) {
        for (int i = 0; i < SL_VERDICT_COUNT; i++)
            printf("verdict %d: %llu\n", i, (unsigned long long)n_kinds[i]);
        for (uint32_t i = 0; i < SL_LEN(help_names); i++)
            printf("%s: %llu\n", help_names[i], (unsigned long long)n_helps[i]);
    }
    printf("%llu passed, %llu failed, 0 skipped\n", (unsigned long long)(seeds - failed),
           (unsigned long long)failed);
    return failed != 0;
}
