/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a cycle on both sides and compares: decisions in order, where every workload stands, every
 * cell of the tree; then what must hold whatever the oracle says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "properties.h"

/* ---- decisions ---- */

struct decision {
    enum orc_event_kind kind;
    int wl, cq, by;
    enum sl_evict reason;
    enum sl_cause cause;
    int count[ORC_PODSETS];
    int flavor[ORC_PODSETS][ORC_RES];
    sl_amount amount[ORC_PODSETS][ORC_RES];
};

struct decisions {
    int n;
    struct decision v[ORC_EVENTS];
};

static int number_after(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    return name && strncmp(name, prefix, n) == 0 ? (int)strtol(name + n, NULL, 10) : -1;
}

static int res_number(const char *name) {
    for (int k = 0; k < ORC_RES; k++)
        if (strcmp(name, prop_res_name[k]) == 0)
            return k;
    return -1;
}

static int wl_number(const struct run *r, sl_wl_id id) {
    for (int w = 0; w < r->o->n_wls; w++)
        if (r->id[w].v == id.v)
            return w;
    return -1;
}

static void blank(struct decision *d) {
    memset(d, 0, sizeof *d);
    d->by = -1;
    for (int p = 0; p < ORC_PODSETS; p++)
        for (int k = 0; k < ORC_RES; k++)
            d->flavor[p][k] = -1;
}

static void from_oracle(const struct run *r, struct decisions *out) {
    out->n = 0;
    for (int i = 0; i < r->o->n_events; i++) {
        const struct orc_event *ev = &r->o->event[i];
        struct decision *d = &out->v[out->n++];
        blank(d);
        d->kind = ev->kind;
        d->wl = ev->wl;
        d->cq = ev->cq;
        d->by = ev->by;
        d->reason = ev->reason;
        d->cause = ev->cause;
        if (ev->kind != ORC_EV_RESERVE)
            continue;
        for (int p = 0; p < r->o->wl[ev->wl].spec.n; p++) {
            d->count[p] = ev->got.count[p];
            for (int k = 0; k < ORC_RES; k++)
                if ((d->flavor[p][k] = ev->got.flavor[p][k]) >= 0)
                    d->amount[p][k] = ev->got.amount[p][k];
        }
    }
}

static void read_assignment(struct run *r, const struct sl_podset_assignment *ps, uint32_t n,
                            struct decision *d) {
    if (n > ORC_PODSETS) {
        prop_fail(r, "the engine assigns %u podsets to w%d", n, d->wl);
        return;
    }
    for (uint32_t p = 0; p < n; p++) {
        d->count[p] = ps[p].count;
        for (uint32_t i = 0; i < ps[p].n; i++) {
            int k = res_number(ps[p].v[i].resource);
            if (k < 0)
                continue;
            d->flavor[p][k] = number_after(ps[p].v[i].flavor, "fl");
            d->amount[p][k] = ps[p].v[i].usage;
        }
    }
}

static void from_engine(struct run *r, struct decisions *out) {
    out->n = 0;
    for (uint32_t i = 0; i < r->fx.v.n; i++) {
        const struct sl_effect *x = &r->fx.v.v[i];
        struct decision *d = &out->v[out->n];
        if (x->kind != SL_EFFECT_RESERVE && x->kind != SL_EFFECT_EVICT)
            continue;
        if (out->n == ORC_EVENTS - 1) {
            prop_fail(r, "the engine decides too much");
            return;
        }
        blank(d);
        d->wl = number_after(x->name, "w");
        d->cq = number_after(x->cq, "q");
        if (d->wl < 0 || d->wl >= r->o->n_wls || d->cq < 0 || d->cq >= ORC_CQS) {
            prop_fail(r, "an effect about %s in %s", x->name, x->cq ? x->cq : "nothing");
            return;
        }
        out->n++;
        if (x->kind == SL_EFFECT_RESERVE) {
            d->kind = ORC_EV_RESERVE;
            if (!x->reserve.admitted)
                prop_fail(r, "w%d is reserved but not admitted, without any check", d->wl);
            read_assignment(r, x->reserve.podsets, x->reserve.n, d);
        } else {
            d->kind = ORC_EV_EVICT;
            d->reason = x->evict.reason;
            d->cause = x->evict.cause;
            d->by = x->evict.by.v ? wl_number(r, x->evict.by) : -1;
        }
    }
}

static const char *describe(const struct decision *d, char *out, size_t n) {
    size_t at;

    if (d->kind == ORC_EV_EVICT) {
        (void)snprintf(out, n, "evict w%d of q%d (%s, %s) by w%d", d->wl, d->cq,
                       sl_word(SL_VOCAB_EVICT, (int)d->reason),
                       sl_word(SL_VOCAB_CAUSE, (int)d->cause), d->by);
        return out;
    }
    at = (size_t)snprintf(out, n, "admit w%d in q%d:", d->wl, d->cq);
    for (int p = 0; p < ORC_PODSETS; p++)
        for (int k = 0; k < ORC_RES && at < n; k++)
            if (d->flavor[p][k] >= 0)
                at +=
                    (size_t)snprintf(out + at, n - at, " %dx[%s fl%d %lld]", d->count[p],
                                     prop_res_name[k], d->flavor[p][k], (long long)d->amount[p][k]);
    return out;
}

static bool same_decision(const struct decision *a, const struct decision *b) {
    return a->kind == b->kind && a->wl == b->wl && a->cq == b->cq && a->by == b->by &&
           a->reason == b->reason && a->cause == b->cause &&
           memcmp(a->count, b->count, sizeof a->count) == 0 &&
           memcmp(a->flavor, b->flavor, sizeof a->flavor) == 0 &&
           memcmp(a->amount, b->amount, sizeof a->amount) == 0;
}

/* Victims of one preemption are told in any order (rule 4.6), and so is everything a controller
 * evicts.
 */
static bool swappable(const struct decision *a, const struct decision *b) {
    return a->kind == ORC_EV_EVICT && b->kind == ORC_EV_EVICT && a->reason == b->reason &&
           a->by == b->by && a->wl > b->wl;
}

/* The decisions in one tree, or (root -1) those not made by the scheduler. */
static void only(const struct run *r, const struct decisions *all, int root,
                 struct decisions *out) {
    out->n = 0;
    for (int i = 0; i < all->n; i++) {
        const struct decision *d = &all->v[i];
        bool control = d->kind == ORC_EV_EVICT && d->reason != SL_EVICT_PREEMPTED;
        if (root < 0 ? control : !control && orc_root(r->o, d->cq) == root)
            out->v[out->n++] = *d;
    }
    for (int i = 1; i < out->n; i++)
        for (int j = i; j > 0 && swappable(&out->v[j - 1], &out->v[j]); j--) {
            struct decision x = out->v[j];
            out->v[j] = out->v[j - 1];
            out->v[j - 1] = x;
        }
}

static void compare_decisions(struct run *r) {
    static struct decisions mine, theirs, a, b;
    char x[256], y[256];

    from_oracle(r, &mine);
    from_engine(r, &theirs);
    for (int root = -1; root < ORC_NODES && !r->failed; root++) {
        only(r, &mine, root, &a);
        only(r, &theirs, root, &b);
        for (int i = 0; i < a.n || i < b.n; i++) {
            const struct decision *p = i < a.n ? &a.v[i] : NULL, *q = i < b.n ? &b.v[i] : NULL;
            if (p && q && same_decision(p, q))
                continue;
            prop_fail(r, "decision %d in the tree of node %d: oracle: %s; engine: %s", i, root,
                      p ? describe(p, x, sizeof x) : "nothing more",
                      q ? describe(q, y, sizeof y) : "nothing more");
            return;
        }
    }
}

/* ---- where everybody stands ---- */

static void compare_places(struct run *r) {
    static const char *const place[] = {"out of the queues", "in the heap", "asleep"};
    const struct orc *o = r->o;

    for (int w = 0; w < o->n_wls && !r->failed; w++) {
        const struct orc_wl *wl = &o->wl[w];
        struct sl_engine_wl_view v = {0};
        enum sl_engine_phase want = SL_PHASE_GONE;
        if (!sl_engine_workload(r->e, r->id[w], &v))
            v.phase = SL_PHASE_GONE;
        switch (wl->state) {
        case ORC_ABSENT:
            want = SL_PHASE_GONE;
            break;
        case ORC_FINISHED:
            want = SL_PHASE_FINISHED;
            break;
        case ORC_RESERVED:
            want = SL_PHASE_ADMITTED;
            if (v.evicting != wl->evicting)
                prop_fail(r, "w%d: oracle: evicting %d, engine: %d", w, wl->evicting, v.evicting);
            break;
        case ORC_PENDING:
            want = wl->place == ORC_HEAP     ? SL_PHASE_HEAP
                   : wl->place == ORC_ASLEEP ? SL_PHASE_ASLEEP
                                             : SL_PHASE_BLOCKED;
            /* Who waits in a queue that is not active counts as asleep, wherever it is kept. */
            if (wl->cq >= 0 && !orc_active(o, wl->cq))
                want = v.phase == SL_PHASE_ADMITTED ? want : v.phase;
            break;
        }
        if (v.phase != want)
            prop_fail(r, "w%d: oracle: state %d, %s; engine: phase %d", w, (int)wl->state,
                      place[wl->place], (int)v.phase);
        if (wl->state == ORC_RESERVED && v.reserved_at != wl->reserved_at)
            prop_fail(r, "w%d: reserved at %lld, not %lld", w, (long long)wl->reserved_at,
                      (long long)v.reserved_at);
    }
}

static void compare_cell(struct run *r, const struct orc_snap *s, int n, int fr) {
    char node[16], flavor[16];
    struct sl_engine_cell_view v;
    bool cohort = n >= ORC_CQS;

    (void)snprintf(node, sizeof node, cohort ? "co%d" : "q%d", cohort ? n - ORC_CQS : n);
    (void)snprintf(flavor, sizeof flavor, "fl%d", fr / ORC_RES);
    if (!sl_engine_cell(r->e, cohort, node, flavor, prop_res_name[fr % ORC_RES], &v)) {
        prop_fail(r, "the engine does not know node %s", node);
        return;
    }
    if (v.subtree != s->subtree[n][fr] || v.usage != orc_usage(s, n, fr) ||
        sl_amount_max(0, v.available) != orc_available(s, n, fr) ||
        v.potential != orc_potential(s, n, fr))
        prop_fail(r,
                  "%s, %s of fl%d: oracle: subtree %lld usage %lld available %lld potential %lld; "
                  "engine: %lld %lld %lld %lld",
                  node, prop_res_name[fr % ORC_RES], fr / ORC_RES, (long long)s->subtree[n][fr],
                  (long long)orc_usage(s, n, fr), (long long)orc_available(s, n, fr),
                  (long long)orc_potential(s, n, fr), (long long)v.subtree, (long long)v.usage,
                  (long long)v.available, (long long)v.potential);
}

static int64_t share_ceil(const struct orc_share *sh) {
    __int128 d = (__int128)sh->lendable * sh->weight, v;

    if (sh->infinite || !sh->over)
        return sh->infinite ? INT64_MAX : 0;
    v = ((__int128)sh->over * 1000 * INT64_C(1000000000) + d - 1) / d;
    return v >= INT64_MAX ? INT64_MAX : (int64_t)v;
}

static void compare_queue(struct run *r, const struct orc_snap *s, int cq) {
    struct sl_engine_cq_view v;
    uint32_t heap = 0, asleep = 0, reserving = 0;
    char name[16];

    (void)snprintf(name, sizeof name, "q%d", cq);
    if (!sl_engine_cq(r->e, name, &v)) {
        prop_fail(r, "the engine does not know %s", name);
        return;
    }
    for (int w = 0; w < r->o->n_wls; w++) {
        const struct orc_wl *wl = &r->o->wl[w];
        if (wl->cq != cq)
            continue;
        heap += wl->state == ORC_PENDING && wl->place == ORC_HEAP;
        asleep += wl->state == ORC_PENDING && wl->place == ORC_ASLEEP;
        reserving += wl->state == ORC_RESERVED;
    }
    if (v.active != s->active[cq])
        prop_fail(r, "%s: oracle: active %d, engine: %d", name, s->active[cq], v.active);
    if (v.reserving != reserving || v.admitted != reserving ||
        (v.active && (v.heap != heap || v.asleep != asleep)))
        prop_fail(r, "%s: oracle: heap %u asleep %u reserving %u; engine: %u %u %u (%u admitted)",
                  name, heap, asleep, reserving, v.heap, v.asleep, v.reserving, v.admitted);
    if (r->o->config.fair) {
        struct orc_share sh = orc_share_of(s, cq);
        if (v.weighted_share != share_ceil(&sh))
            prop_fail(r, "%s: weighted share %lld, engine: %lld", name, (long long)share_ceil(&sh),
                      (long long)v.weighted_share);
    }
}

static bool has_child(const struct orc *o, int n) {
    for (int c = 0; c < ORC_NODES; c++)
        if (o->node[c].exists && o->node[c].parent == n)
            return true;
    return false;
}

static void compare_cells(struct run *r) {
    static struct orc_snap s;

    orc_snapshot(r->o, &s);
    for (int n = 0; n < ORC_NODES && !r->failed; n++) {
        if (!r->o->node[n].exists && !(n >= ORC_CQS && has_child(r->o, n)))
            continue;
        if (n < ORC_CQS)
            compare_queue(r, &s, n);
        for (int fr = 0; fr < ORC_FRS && !r->failed; fr++)
            if (s.listed[n][fr] || orc_usage(&s, n, fr))
                compare_cell(r, &s, n, fr);
    }
}

/* ---- what holds whatever the oracle says ---- */

/* Every new reservation had room, and without edits no limit is ever passed. */
static void check_quota(struct run *r) {
    static struct orc_snap s;
    const struct orc *o = r->o;

    orc_snapshot(o, &s);
    for (int i = 0; i < o->n_events; i++) {
        const struct orc_event *ev = &o->event[i];
        if (ev->kind != ORC_EV_RESERVE)
            continue;
        for (int fr = 0; fr < ORC_FRS; fr++)
            if (ev->got.usage[fr] > 0 && orc_available_raw(&s, ev->cq, fr) < 0)
                prop_fail(r, "quota exceeded: w%d was admitted in q%d, %s of fl%d is now at %lld",
                          ev->wl, ev->cq, prop_res_name[fr % ORC_RES], fr / ORC_RES,
                          (long long)orc_available_raw(&s, ev->cq, fr));
    }
    for (int n = 0; n < ORC_NODES && !r->lowered; n++)
        for (int fr = 0; fr < ORC_FRS; fr++) {
            const struct orc_quota *q = &o->node[n].q[fr];
            sl_amount use = orc_usage(&s, n, fr), top = s.subtree[n][fr];
            if (o->node[n].parent >= 0 && (!q->listed || q->borrow == SL_AMOUNT_NONE))
                continue;
            if (o->node[n].parent >= 0)
                top = sl_amount_add(top, q->borrow);
            if (use > top)
                prop_fail(r, "quota exceeded: node %d uses %lld of %lld (%s of fl%d)", n,
                          (long long)use, (long long)top, prop_res_name[fr % ORC_RES],
                          fr / ORC_RES);
        }
}

/* The usage the engine shows is the sum of the assignments it shows. */
static void check_sum(struct run *r) {
    struct sl_arena a;
    sl_amount sum[ORC_CQS][ORC_FRS] = {0};

    sl_arena_init(&a, 1 << 20);
    for (int w = 0; w < r->o->n_wls; w++) {
        const struct sl_podset_assignment *ps = NULL;
        struct sl_engine_wl_view v;
        uint32_t n;
        if (!sl_engine_workload(r->e, r->id[w], &v) ||
            (v.phase != SL_PHASE_ADMITTED && v.phase != SL_PHASE_RESERVED))
            continue;
        n = sl_engine_assignment(r->e, r->id[w], &a, &ps);
        for (uint32_t p = 0; p < n; p++)
            for (uint32_t i = 0; i < ps[p].n; i++) {
                int cq = number_after(v.cq, "q"), f = number_after(ps[p].v[i].flavor, "fl");
                int k = res_number(ps[p].v[i].resource);
                if (cq >= 0 && f >= 0 && k >= 0)
                    sum[cq][orc_fr(f, k)] += ps[p].v[i].usage;
            }
    }
    for (int cq = 0; cq < r->n_cqs; cq++)
        for (int fr = 0; fr < ORC_FRS; fr++) {
            char name[16], flavor[16];
            struct sl_engine_cell_view v;
            (void)snprintf(name, sizeof name, "q%d", cq);
            (void)snprintf(flavor, sizeof flavor, "fl%d", fr / ORC_RES);
            if (r->o->node[cq].exists &&
                sl_engine_cell(r->e, false, name, flavor, prop_res_name[fr % ORC_RES], &v) &&
                v.usage != sum[cq][fr])
                prop_fail(r, "%s uses %lld of %s in fl%d, but its workloads use %lld", name,
                          (long long)v.usage, prop_res_name[fr % ORC_RES], fr / ORC_RES,
                          (long long)sum[cq][fr]);
        }
    sl_arena_done(&a);
}

static void count_evictions(struct run *r) {
    uint64_t n = (uint64_t)r->o->n_wls;

    for (int i = 0; i < r->o->n_events; i++)
        r->evictions +=
            r->o->event[i].kind == ORC_EV_EVICT && r->o->event[i].reason == SL_EVICT_PREEMPTED;
    if (r->evictions > n * n)
        prop_fail(r, "%llu preemptions among %d workloads without any news",
                  (unsigned long long)r->evictions, r->o->n_wls);
}

/* ---- explanations ---- */

enum outcome { O_FIT, O_PREEMPT, O_STUCK };

/* What looking at it alone would find: one look, and more as long as flavors are left to try. */
static enum outcome evaluate_alone(const struct run *r, int w) {
    static struct orc_snap s;
    struct orc_wl *wl = &r->o->wl[w], saved = *wl;
    enum outcome out = O_STUCK;
    bool more = true;

    wl->has_record = false;
    for (int looks = 0; more && looks < ORC_FLAVORS + 2 && out == O_STUCK; looks++) {
        struct orc_assignment a;
        struct orc_targets t;
        orc_snapshot(r->o, &s);
        orc_get_assignment(&s, w, wl->cq, true, &a, &t);
        if (a.mode == ORC_FIT)
            out = O_FIT;
        else if (a.mode == ORC_PREEMPT && t.n > 0)
            out = O_PREEMPT;
        wl->has_record = true;
        memcpy(wl->tried, a.tried, sizeof wl->tried);
        more = false;
        for (int p = 0; p < ORC_PODSETS; p++)
            for (int k = 0; k < ORC_RES; k++)
                more |= a.tried[p][k] >= 0;
    }
    *wl = saved;
    return out;
}

static bool no_flavor_matches(const struct run *r, int w) {
    const struct orc_wl *wl = &r->o->wl[w];
    const struct orc_node *n = &r->o->node[wl->cq];

    for (int p = 0; p < wl->spec.n; p++) {
        const struct orc_podset *ps = &wl->spec.ps[p];
        if (ps->asks[2] && ps->each[2] && !r->o->config.ignore_undeclared)
            return true; /* nobody covers it */
        for (int g = 0; g < n->n_groups; g++) {
            bool any = false, asked = false;
            for (int i = 0; i < n->group[g].n_res; i++)
                asked |= ps->asks[n->group[g].res[i]] || n->group[g].res[i] == ORC_PODS;
            for (int i = 0; i < n->group[g].n_flavors; i++) {
                bool all = true;
                for (int k = 0; k < wl->spec.n; k++)
                    if (k == p || (ps->group && wl->spec.ps[k].group == ps->group))
                        all &= orc_flavor_matches(r->o, n->group[g].flavor[i], &wl->spec.ps[k]);
                any |= all;
            }
            if (asked && !any)
                return true;
        }
    }
    return false;
}

static void check_explain_one(struct run *r, int w) {
    static const char *const name[SL_VERDICT_COUNT] = {
        "running",  "reserved",   "evicting",  "fits",     "preempts", "behind",
        "no quota", "never fits", "no flavor", "back-off", "blocked",  "finished"};
    const struct orc *o = r->o;
    const struct orc_wl *wl = &o->wl[w];
    struct sl_verdict v;
    struct sl_err err = {0};
    bool ok = false, waits = wl->state == ORC_PENDING && wl->cq >= 0 && orc_active(o, wl->cq);
    enum outcome out = O_STUCK;

    sl_verdict_init(&v);
    if (sl_engine_explain(r->e, r->now, r->id[w], &v, &err) < 0) {
        prop_fail(r, "no explanation for w%d: %s", w, err.text);
        sl_verdict_done(&v);
        return;
    }
    if (wl->state == ORC_RESERVED)
        ok = v.kind == (wl->evicting ? SL_VERDICT_EVICTING : SL_VERDICT_RUNNING);
    else if (wl->state == ORC_FINISHED)
        ok = v.kind == SL_VERDICT_FINISHED;
    else if (!waits || wl->spec.invalid || !orc_ns_matches(o, wl->cq, o->lq[wl->spec.lq].ns))
        ok = v.kind == SL_VERDICT_BLOCKED || v.kind == SL_VERDICT_BACKOFF;
    else if (wl->requeued_false != SL_EVICT_NONE)
        ok = v.kind == SL_VERDICT_BACKOFF || v.kind == SL_VERDICT_BLOCKED;
    else {
        out = evaluate_alone(r, w);
        switch (v.kind) {
        case SL_VERDICT_FITS: /* the tree is at rest: what fits and is looked at has been admitted
                               */
            ok = false;
            break;
        case SL_VERDICT_BEHIND:
            ok = out != O_STUCK;
            break;
        case SL_VERDICT_PREEMPTS:
            ok = out == O_PREEMPT;
            break;
        case SL_VERDICT_NO_QUOTA:
            ok = out == O_STUCK;
            break;
        case SL_VERDICT_NEVER_FITS:
            ok = out == O_STUCK && !orc_fits_when_idle(o, w);
            break;
        case SL_VERDICT_NO_FLAVOR:
            ok = no_flavor_matches(r, w);
            break;
        default:
            break;
        }
    }
    if (!ok)
        prop_fail(r, "w%d is explained as '%s' (%s); oracle: state %d, a fresh look finds %d", w,
                  (unsigned)v.kind < SL_VERDICT_COUNT ? name[v.kind] : "?", v.text ? v.text : "",
                  (int)wl->state, (int)out);
    sl_verdict_done(&v);
}

static void check_explain(struct run *r) {
    for (int i = 0; i < 4 && r->o->n_wls > 0 && !r->failed; i++) {
        int w = (int)((r->digest >> (i * 8)) % (uint64_t)r->o->n_wls);
        if (r->o->wl[w].state != ORC_ABSENT)
            check_explain_one(r, w);
    }
}

/* ---- a cycle ---- */

/* The effects of the engine, for the trace. */
static void print_effects(struct run *r, const struct sl_effects *fx, const char *who) {
    static const char *const pending[SL_PENDING_COUNT] = {
        [SL_PENDING_NO_FIT] = "does not fit",
        [SL_PENDING_NO_CANDIDATES] = "nobody to preempt",
        [SL_PENDING_PREEMPTION] = "waits for victims",
        [SL_PENDING_OVERLAP] = "overlap",
        [SL_PENDING_LOST_RACE] = "no longer fits",
    };

    for (uint32_t i = 0; r->verbose && i < fx->v.n; i++) {
        const struct sl_effect *x = &fx->v.v[i];
        const char *what = "";
        if (x->kind == SL_EFFECT_PENDING)
            what = pending[x->pending.kind] ? pending[x->pending.kind] : "refused for itself";
        prop_tell(r, "    %s: %s %s %s%s", who, sl_effect_name(x->kind), x->name, what,
                  x->kind == SL_EFFECT_PENDING && x->pending.asleep ? ", asleep" : "");
        for (uint32_t k = 0; x->kind == SL_EFFECT_PENDING && k < x->pending.n_why; k++) {
            const struct sl_why *y = &x->pending.why[k];
            prop_tell(r, "      podset %u %s %s: reason %d, %lld more needed, %u victims",
                      y->podset, y->flavor, y->resource, (int)y->kind, (long long)y->amount,
                      x->pending.victims);
        }
    }
}

void prop_cycle(struct run *r) {
    const char *wrong;
    struct sl_err err = {0};

    if (r->failed)
        return;
    prop_tell(r, "cycle at %lld", (long long)(r->now / SL_SEC));
    orc_cycle(r->o, r->now);
    if ((wrong = orc_check(r->o)))
        prop_fail(r, "the oracle itself: %s", wrong);
    count_evictions(r);
    if (!r->oracle_only) {
        sl_effects_clear(&r->fx);
        sl_engine_cycle(r->e, r->now, &r->fx);
        print_effects(r, &r->fx, "engine");
        r->digest = sl_effects_digest(r->digest, &r->fx);
        if (r->plain) {
            sl_effects_clear(&r->fx_plain);
            sl_engine_cycle(r->plain, r->now, &r->fx_plain);
            if (sl_effects_digest(1, &r->fx) != sl_effects_digest(1, &r->fx_plain)) {
                print_effects(r, &r->fx_plain, "never asked");
                prop_fail(r, "asking for explanations changed a decision");
            }
        }
        compare_decisions(r);
        compare_places(r);
        compare_cells(r);
        check_sum(r);
        if (!r->failed && sl_engine_check(r->e, &err) < 0)
            prop_fail(r, "the engine's own check: %s", err.text);
        if (r->explain && !r->failed)
            check_explain(r);
    }
    if (!r->failed)
        check_quota(r);
}

static bool release_all(struct run *r) {
    bool any = false;

    for (int w = 0; w < r->o->n_wls; w++)
        if (r->o->wl[w].state == ORC_RESERVED && r->o->wl[w].evicting) {
            prop_release(r, w);
            any = true;
        }
    return any;
}

static bool finish_all(struct run *r) {
    bool any = false;

    for (int w = 0; w < r->o->n_wls; w++)
        if (r->o->wl[w].state == ORC_RESERVED) {
            prop_finish(r, w);
            any = true;
        }
    return any;
}

void prop_epilogue(struct run *r) {
    const struct orc *o = r->o;

    prop_tell(r, "now everything that runs ends, again and again");
    for (bool any = true; any && !r->failed;) {
        r->now += SL_SEC;
        prop_cycle(r);
        /* Preemption comes to rest by itself before anything ends. */
        for (int turns = 0; release_all(r) && !r->failed; turns++) {
            prop_cycle(r);
            if (turns > o->n_wls * o->n_wls)
                prop_fail(r, "preemption goes round and round");
        }
        any = finish_all(r);
    }
    for (int w = 0; w < o->n_wls && !r->failed; w++) {
        const struct orc_wl *wl = &o->wl[w];
        if (wl->state == ORC_PENDING && wl->cq >= 0 && orc_active(o, wl->cq) &&
            o->cq[wl->cq].strategy == SL_BEST_EFFORT_FIFO && !wl->spec.invalid &&
            wl->requeued_false == SL_EVICT_NONE &&
            orc_ns_matches(o, wl->cq, o->lq[wl->spec.lq].ns) && orc_fits_when_idle(o, w))
            prop_fail(r, "w%d starves in q%d: the tree is idle and it would fit", w, wl->cq);
    }
}
