/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flavor assignment for one workload: which flavor each podset gets for each resource, whether that
 * fits, needs preemption, or is impossible, and how far up the tree it borrows. Follows the plan of
 * the workload's class step by step; usage of earlier podsets of the same workload counts, and of a
 * slice only what it requests beyond the one that it replaces.
 *
 * Results go into the round's vectors; the entry holds the ranges.
 */
#include "core/engine/state.h"

#include <string.h>

struct granular {
    enum eng_mode mode;
    uint32_t borrow;
};

/* Is a strictly better than b? */
static bool preferred(const struct eng_cq *q, struct granular a, struct granular b) {
    if (a.mode == MODE_NO_FIT)
        return false;
    if (b.mode == MODE_NO_FIT)
        return true;
    if (q->preference == SL_PREEMPTION_OVER_BORROWING)
        return a.borrow != b.borrow ? a.borrow < b.borrow : a.mode > b.mode;
    return a.mode != b.mode ? a.mode > b.mode : a.borrow < b.borrow;
}

static bool try_next(const struct eng_cq *q, struct granular g) {
    if (g.mode == MODE_NO_FIT || g.mode == MODE_NO_CANDIDATES)
        return true;
    if (g.mode != MODE_FIT && q->when_can_preempt == SL_TRY_NEXT_FLAVOR)
        return true;
    return g.borrow > 0 && q->when_can_borrow == SL_TRY_NEXT_FLAVOR;
}

bool eng_uses_fit(const struct sl_engine *e, const struct eng_cq *q, const struct eng_use *u,
                  uint32_t n, bool borrowing) {
    for (uint32_t i = 0; i < n; i++) {
        if (!borrowing && !eng_tree_within(e, q->node, u[i].fr, u[i].amount))
            return false;
        if (u[i].amount > sl_amount_max(0, eng_tree_available(e, q->node, u[i].fr)))
            return false;
    }
    return true;
}

/* Victims that are already evicted for this very workload: counted on as long as they suffice, so
 * that an evaluation while they stop does not evict others in their stead. */
static uint32_t earlier_victims(struct sl_engine *e, const struct eng_search *s) {
    struct eng_round *r = &e->round;
    const struct eng_wl_extra *m = e->wls.v[s->wl].extra;
    uint32_t first = r->targets.n;
    for (uint32_t i = 0; m && i < m->victims.n; i++) {
        uint32_t v = eng_wl_resolve(e, m->victims.v[i]);
        if (v == ENG_NONE || !e->wls.v[v].evicting ||
            e->wls.v[v].extra->by.v != eng_wl_id(e, s->wl).v)
            continue;
        eng_search_take(e, s, v);
        *sl_vec_push(&r->targets) = (struct eng_target){v, e->wls.v[v].extra->cause};
    }
    if (r->targets.n == first)
        return 0;
    bool enough = eng_search_fits(e, s, true);
    for (uint32_t i = first; i < r->targets.n; i++)
        eng_search_put(e, s, r->targets.v[i].wl);
    if (!enough)
        r->targets.n = first;
    return r->targets.n - first;
}

static uint32_t find_victims(struct sl_engine *e, const struct eng_search *s) {
    uint32_t n = earlier_victims(e, s);
    if (n)
        return n;
    e->stats.searches++;
    return e->config.fair_sharing ? eng_preempt_search_fair(e, s) : eng_preempt_search(e, s);
}

/* What would preemption for this one pair lead to? */
static struct granular simulate(struct sl_engine *e, const struct eng_entry *x, uint32_t fr,
                                sl_amount val, uint32_t borrow) {
    struct eng_round *r = &e->round;
    struct eng_use u = {fr, val};
    struct eng_search s = {x->wl, x->cq, x->slice, &u, 1, &fr, 1, NULL, 0};
    uint32_t first = r->targets.n, n = find_victims(e, &s);
    sl_vec_clear(&r->memo);
    r->memo_use = u;
    r->memo_valid = true;
    if (!n)
        return (struct granular){MODE_NO_CANDIDATES, borrow};
    bool own = false, ignored;
    for (uint32_t i = first; i < first + n; i++) {
        *sl_vec_push(&r->memo) = r->targets.v[i];
        own |= e->wls.v[r->targets.v[i].wl].admission->cq == x->cq;
        eng_wl_charge(e, r->targets.v[i].wl, -1);
    }
    borrow = eng_tree_borrow_height(e, &e->cqs.v[x->cq], fr, val, &ignored);
    for (uint32_t i = first; i < first + n; i++)
        eng_wl_charge(e, r->targets.v[i].wl, 1);
    r->targets.n = first;
    return (struct granular){own ? MODE_PREEMPT : MODE_RECLAIM, borrow};
}

/* Does val of this pair fit, and if not, what would help? Fills why unless it fits. */
static struct granular quota_mode(struct sl_engine *e, const struct eng_entry *x, uint32_t fr,
                                  sl_amount before, sl_amount request, struct sl_why *why) {
    const struct eng_cq *q = &e->cqs.v[x->cq];
    const struct eng_cell *c = eng_cell_at(e, q->node, fr);
    sl_amount val = sl_amount_add(before, request);
    if (val > c->potential) {
        why->kind = SL_WHY_EXCEEDS_MAX;
        why->before = before;
        why->request = request;
        why->limit = c->potential;
        return (struct granular){MODE_NO_FIT, 0};
    }
    bool may_reclaim;
    uint32_t borrow = eng_tree_borrow_height(e, q, fr, val, &may_reclaim);
    sl_amount available = sl_amount_max(0, eng_tree_available(e, q->node, fr));
    if (val <= available)
        return (struct granular){MODE_FIT, borrow};
    why->kind = SL_WHY_NEEDS_MORE;
    why->request = val;
    why->amount = sl_amount_sub(val, available);
    bool while_borrowing = q->borrow_within != SL_BORROW_NEVER ||
                           (e->config.fair_sharing && q->reclaim != SL_RECLAIM_NEVER);
    if (!x->later && (c->nominal >= val || may_reclaim || while_borrowing))
        return simulate(e, x, fr, val, borrow);
    return (struct granular){MODE_NO_FIT, 0};
}

/* What this workload took of the pair so far. */
static sl_amount amount_taken(const struct sl_engine *e, const struct eng_entry *x, uint32_t fr) {
    for (uint32_t i = x->uses.from; i < e->round.uses.n; i++)
        if (e->round.uses.v[i].fr == fr)
            return e->round.uses.v[i].amount;
    return 0;
}

static void take_amount(struct sl_engine *e, const struct eng_entry *x, uint32_t fr,
                        sl_amount amount) {
    struct eng_round *r = &e->round;
    for (uint32_t i = x->uses.from; i < r->uses.n; i++)
        if (r->uses.v[i].fr == fr) {
            r->uses.v[i].amount = sl_amount_add(r->uses.v[i].amount, amount);
            return;
        }
    *sl_vec_push(&r->uses) = (struct eng_use){fr, amount};
}

static void why_push(struct sl_engine *e, struct sl_why *why) {
    *sl_vec_push(&e->round.whys) = *why;
}

/* What the slice before this workload holds of the resource for one podset. */
static sl_amount held_before(const struct sl_engine *e, const struct eng_entry *x, uint16_t podset,
                             sl_sym resource) {
    if (x->slice == ENG_NONE)
        return 0;
    const struct eng_shape *s = &e->shapes.v[e->classes.v[x->class].shape];
    const struct eng_assigned *a = eng_slice_holds(e, x->slice, s->podsets[podset].name, resource);
    return a ? a->amount : 0;
}

/* The step's podsets request this much of its r-th resource in all. */
static sl_amount step_total(const struct sl_engine *e, const struct eng_entry *x,
                            const struct eng_plan *p, const struct eng_step *st, uint32_t r,
                            const int32_t *counts) {
    sl_amount total = 0;
    for (uint32_t k = 0; k < st->n_podsets; k++) {
        sl_amount unit = p->units.v[st->units + r * st->n_podsets + k];
        if (unit > 0)
            total = sl_amount_add(total,
                                  sl_amount_mul(unit, counts[p->podsets.v[st->first_podset + k]]));
    }
    total = sl_amount_min(total, INT64_MAX - 1);
    for (uint32_t k = 0; k < st->n_podsets; k++)
        total = sl_amount_sub(total, held_before(e, x, p->podsets.v[st->first_podset + k],
                                                 p->res.v[st->res + r].resource));
    return total;
}

/* A slice keeps the flavors of the one before it. */
static bool keeps_flavor(struct sl_engine *e, const struct eng_entry *x, const struct eng_plan *p,
                         const struct eng_step *st, const struct eng_shape *s, sl_sym flavor) {
    for (uint32_t k = 0; k < st->n_podsets && x->slice != ENG_NONE; k++) {
        uint16_t podset = p->podsets.v[st->first_podset + k];
        for (uint32_t i = 0; i < st->n_res; i++) {
            const struct eng_assigned *a = eng_slice_holds(e, x->slice, s->podsets[podset].name,
                                                           p->res.v[st->res + i].resource);
            if (!a || a->flavor == flavor)
                continue;
            struct sl_why why = {.kind = SL_WHY_SLICE,
                                 .podset = podset,
                                 .flavor = eng_str(e, flavor),
                                 .taint = eng_str(e, a->flavor)};
            why_push(e, &why);
            return false;
        }
    }
    return true;
}

static void why_mismatch(struct sl_engine *e, const struct eng_node *q, const struct eng_plan *p,
                         const struct eng_step *st, const struct eng_shape *s, sl_sym flavor) {
    for (uint32_t k = 0; k < st->n_podsets; k++) {
        uint16_t podset = p->podsets.v[st->first_podset + k];
        struct sl_why why = {.podset = podset};
        if (!eng_flavor_matches(e, q, &q->groups[st->group], flavor, &s->podsets[podset], &why,
                                &e->round.text)) {
            why_push(e, &why);
            return;
        }
    }
}

/* One resource group for one podset group. False: no flavor at all. */
static bool step_assign(struct sl_engine *e, struct eng_entry *x, const struct eng_plan *p,
                        uint32_t step, const int32_t *counts, uint32_t start) {
    struct eng_round *r = &e->round;
    const struct eng_step *st = &p->steps.v[step];
    const struct eng_cq *q = &e->cqs.v[x->cq];
    const struct eng_shape *s = &e->shapes.v[e->classes.v[x->class].shape];
    const struct eng_group *g = &eng_cq_node(e, q)->groups[st->group];
    uint32_t first_why = r->whys.n;
    uint8_t modes[SL_MAX_GROUP_RESOURCES], best_modes[SL_MAX_GROUP_RESOURCES] = {0};
    struct granular best = {MODE_NO_FIT, 0};
    uint32_t best_flavor = 0, attempted = 0, best_borrow = 0;
    for (uint32_t f = start; f < g->n_flavors; f++) {
        attempted = f;
        if (!(p->match.v[step] >> f & 1)) {
            why_mismatch(e, eng_cq_node(e, q), p, st, s, g->flavors[f]);
            continue;
        }
        if (!keeps_flavor(e, x, p, st, s, g->flavors[f]))
            continue;
        struct granular cur = {MODE_FIT, 0};
        uint32_t borrow = 0; /* the highest of its resources */
        for (uint32_t i = 0; i < st->n_res && cur.mode != MODE_NO_FIT; i++) {
            const struct eng_plan_res *pr = &p->res.v[st->res + i];
            uint32_t fr = g->fr[f * g->n_resources + pr->in_group];
            struct sl_why why = {.podset = p->podsets.v[st->first_podset],
                                 .resource = eng_str(e, pr->resource),
                                 .flavor = eng_str(e, g->flavors[f])};
            struct granular one = quota_mode(e, x, fr, amount_taken(e, x, fr),
                                             step_total(e, x, p, st, i, counts), &why);
            if (one.mode != MODE_FIT)
                why_push(e, &why);
            if (one.mode != MODE_FIT && why.kind == SL_WHY_NEEDS_MORE)
                *sl_vec_push(&r->lacks) = (struct eng_lack){fr, why.request};
            modes[i] = (uint8_t)one.mode;
            if (one.borrow > borrow)
                borrow = one.borrow;
            if (preferred(q, cur, one))
                cur = one;
        }
        bool stop =
            eng_gate_on(e, SL_GATE_FLAVOR_FUNGIBILITY) ? !try_next(q, cur) : cur.mode == MODE_FIT;
        bool better = eng_gate_on(e, SL_GATE_FLAVOR_FUNGIBILITY) ? preferred(q, cur, best)
                                                                 : cur.mode > best.mode;
        if (stop || better) {
            best = cur;
            best_flavor = f;
            best_borrow = borrow;
            memcpy(best_modes, modes, st->n_res);
        }
        if (stop)
            break;
    }
    if (best.mode == MODE_NO_FIT)
        return false;
    if (best.mode == MODE_FIT)
        r->whys.n = first_why;
    int32_t tried = attempted + 1 == g->n_flavors ? -1 : (int32_t)attempted;
    r->tried.v[x->tried.from + step] = tried;
    x->has_resume |= tried >= 0;
    for (uint32_t i = 0; i < st->n_res; i++) /* the flavor's own mode may hide a worse resource */
        if (best_modes[i] < (uint8_t)x->mode)
            x->mode = (enum eng_mode)best_modes[i];
    if (best_borrow > x->borrow)
        x->borrow = best_borrow;
    for (uint32_t i = 0; i < st->n_res; i++) {
        const struct eng_plan_res *pr = &p->res.v[st->res + i];
        uint32_t fr = g->fr[best_flavor * g->n_resources + pr->in_group];
        for (uint32_t k = 0; k < st->n_podsets; k++) {
            sl_amount unit = p->units.v[st->units + i * st->n_podsets + k];
            if (unit < 0)
                continue;
            uint16_t podset = p->podsets.v[st->first_podset + k];
            sl_amount amount = sl_amount_min(sl_amount_mul(unit, counts[podset]), INT64_MAX - 1);
            *sl_vec_push(&r->picks) = (struct eng_pick){.podset = podset,
                                                        .mode = best_modes[i],
                                                        .resource = pr->resource,
                                                        .flavor = g->flavors[best_flavor],
                                                        .fr = fr,
                                                        .amount = amount};
            sl_amount more = sl_amount_sub(amount, held_before(e, x, podset, pr->resource));
            if (more)
                take_amount(e, x, fr, more);
        }
    }
    return true;
}

/* A podset that ends without a flavor has no scan to go on with, whatever its other groups found.
 */
static void forget_podset(struct eng_round *r, struct eng_entry *x, const struct eng_plan *p,
                          uint32_t step) {
    x->has_resume = false;
    for (uint32_t k = 0; k < p->steps.n; k++) {
        int32_t *tried = &r->tried.v[x->tried.from + k];
        if (p->steps.v[k].first_podset == p->steps.v[step].first_podset)
            *tried = -1;
        x->has_resume |= *tried >= 0;
    }
}

/* Does a slice request more here than the one before it holds? */
static bool step_grows(const struct sl_engine *e, const struct eng_entry *x,
                       const struct eng_plan *p, uint32_t step, const int32_t *counts) {
    const struct eng_step *st = &p->steps.v[step];
    for (uint32_t i = 0; st->group != UNCOVERED && i < st->n_res; i++)
        if (step_total(e, x, p, st, i, counts) > 0)
            return true;
    return st->group == UNCOVERED;
}

static void take_step(struct sl_engine *e, struct eng_entry *x, const struct eng_plan *p,
                      uint32_t step, const struct eng_wl_extra *resume) {
    struct eng_round *r = &e->round;
    const struct eng_step *st = &p->steps.v[step];
    if (st->group == UNCOVERED) {
        struct sl_why why = {.kind = SL_WHY_NOT_COVERED,
                             .podset = p->podsets.v[st->first_podset],
                             .resource = eng_str(e, p->res.v[st->res].resource)};
        why_push(e, &why);
        x->mode = MODE_NO_FIT;
        return;
    }
    uint32_t start = resume && step < resume->resume.n ? (uint32_t)(resume->resume.v[step] + 1) : 0;
    x->resumed |= start > 0;
    if (!step_assign(e, x, p, step, r->counts.v + x->counts.from, start)) {
        x->mode = MODE_NO_FIT;
        forget_podset(r, x, p, step);
    }
}

/* The whole plan with these counts. Starts new ranges at the ends of the round's vectors. */
void eng_assign_counts(struct sl_engine *e, struct eng_entry *x, const int32_t *counts,
                       const struct eng_wl_extra *resume) {
    struct eng_round *r = &e->round;
    const struct eng_class *c = &e->classes.v[x->class];
    const struct eng_plan *p = &c->plan;
    uint32_t n_podsets = e->shapes.v[c->shape].n;
    x->mode = MODE_FIT;
    x->borrow = 0;
    x->has_resume = false;
    x->picks.from = r->picks.n;
    x->uses.from = r->uses.n;
    x->whys.from = r->whys.n;
    x->lacks.from = r->lacks.n;
    x->targets = (struct eng_range){r->targets.n, 0};
    x->counts = (struct eng_range){r->counts.n, n_podsets};
    x->tried = (struct eng_range){r->tried.n, p->steps.n};
    for (uint32_t i = 0; i < n_podsets; i++)
        *sl_vec_push(&r->counts) = counts[i];
    for (uint32_t i = 0; i < p->steps.n; i++)
        *sl_vec_push(&r->tried) = -1;
    /* Of a slice, what shrinks comes first: the rest may grow into it. */
    for (uint32_t pass = x->slice == ENG_NONE; pass < 2; pass++)
        for (uint32_t i = 0; i < p->steps.n && x->mode != MODE_NO_FIT; i++)
            if (x->slice == ENG_NONE || step_grows(e, x, p, i, counts) == pass)
                take_step(e, x, p, i, resume);
    if (x->mode > MODE_NO_FIT && x->mode < MODE_FIT)
        x->mode = MODE_PREEMPT;
    x->picks.n = r->picks.n - x->picks.from;
    x->uses.n = r->uses.n - x->uses.from;
    x->whys.n = r->whys.n - x->whys.from;
    x->lacks.n = r->lacks.n - x->lacks.from;
}

uint32_t eng_find_targets(struct sl_engine *e, struct eng_entry *x) {
    struct eng_round *r = &e->round;
    bool places = false;
    x->targets = (struct eng_range){r->targets.n, 0};
    sl_vec_clear(&r->contested);
    for (uint32_t i = 0; i < x->picks.n; i++) {
        const struct eng_pick *p = &r->picks.v[x->picks.from + i];
        bool place = eng_pick_needs_placement(e, x->cq, p), seen = p->mode == MODE_FIT && !place;
        places |= place;
        for (uint32_t k = 0; k < r->contested.n && !seen; k++)
            seen = r->contested.v[k] == p->fr;
        if (!seen)
            *sl_vec_push(&r->contested) = p->fr;
    }
    if (x->uses.n == 1 && !places && r->memo_valid &&
        r->memo_use.fr == r->uses.v[x->uses.from].fr &&
        r->memo_use.amount == r->uses.v[x->uses.from].amount) {
        for (uint32_t i = 0; i < r->memo.n; i++)
            *sl_vec_push(&r->targets) = r->memo.v[i];
        x->targets.n = r->memo.n;
        return x->targets.n;
    }
    /* The search may grow the vectors it reads from: give it copies that stay put. */
    struct eng_use uses[MAX_USES];
    uint32_t contested[MAX_USES];
    uint32_t n_uses = x->uses.n, n_contested = r->contested.n;
    sl_assert(n_uses <= SL_LEN(uses) && n_contested <= SL_LEN(contested));
    memcpy(uses, r->uses.v + x->uses.from, n_uses * sizeof(*uses));
    if (n_contested)
        memcpy(contested, r->contested.v, n_contested * sizeof(*contested));
    struct eng_search s = {x->wl, x->cq, x->slice, uses, n_uses, contested, n_contested, NULL, 0};
    eng_search_places(e, &s, x);
    if (s.podsets)
        eng_later_lift(e, ENG_NONE, true);
    x->targets.n = find_victims(e, &s);
    if (s.podsets)
        eng_later_lift(e, ENG_NONE, false);
    return x->targets.n;
}

static bool acceptable(struct sl_engine *e, struct eng_entry *x) {
    if (x->mode == MODE_PREEMPT)
        (void)eng_find_targets(e, x);
    return x->mode == MODE_FIT || (x->mode == MODE_PREEMPT && x->targets.n);
}

/* The same, and not for quota alone: what has its quota needs places that are free. */
static bool acceptable_in_place(struct sl_engine *e, struct eng_entry *x) {
    if (x->mode == MODE_FIT && !eng_entry_could_be_placed(e, x))
        x->mode = MODE_PREEMPT;
    return acceptable(e, x);
}

/* Fewer pods than requested, as many as can be: binary search over how much to give up. False: no
 * number is accepted, and all is as it was. */
static bool assign_partial(struct sl_engine *e, struct eng_entry *x,
                           const struct eng_wl_extra *resume,
                           bool (*accepted)(struct sl_engine *, struct eng_entry *)) {
    const struct eng_shape *s = &e->shapes.v[e->classes.v[x->class].shape];
    struct eng_entry full = *x, good = *x;
    int64_t all = 0, good_at = -1;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->podsets[i].min_count)
            all += s->podsets[i].count - s->podsets[i].min_count;
    int64_t lo = 0, hi = all + 1;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        int32_t counts[SL_MAX_PODSETS];
        for (uint32_t i = 0; i < s->n; i++) {
            int64_t d = s->podsets[i].min_count ? s->podsets[i].count - s->podsets[i].min_count : 0;
            counts[i] = s->podsets[i].count - (int32_t)(all ? d * mid / all : 0);
        }
        struct eng_entry probe = full;
        eng_assign_counts(e, &probe, counts, resume);
        if (accepted(e, &probe)) {
            good = probe;
            good_at = mid;
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    *x = lo == good_at ? good : full;
    return lo == good_at;
}

static bool may_shrink(const struct sl_engine *e, const struct eng_entry *x) {
    return e->shapes.v[e->classes.v[x->class].shape].partial &&
           eng_gate_on(e, SL_GATE_PARTIAL_ADMISSION);
}

bool eng_assign_fewer(struct sl_engine *e, struct eng_entry *x) {
    e->round.memo_valid = false;
    return may_shrink(e, x) && !x->has_resume && assign_partial(e, x, NULL, acceptable_in_place);
}

void eng_entry_init(struct sl_engine *e, struct eng_entry *x, uint32_t wl, uint32_t class,
                    uint32_t cq) {
    *x = (struct eng_entry){.wl = wl,
                            .class = class,
                            .cq = cq,
                            .slice = ENG_NONE,
                            .version = eng_cq_tree(e, &e->cqs.v[cq])->version};
}

void eng_assign_flavors(struct sl_engine *e, struct eng_entry *x) {
    e->stats.nominations++;
    e->round.memo_valid = false;
    x->slice = eng_slice_before(e, x->wl, x->cq);
    eng_plan_update(e, x->class);
    const struct eng_shape *s = &e->shapes.v[e->classes.v[x->class].shape];
    int32_t counts[SL_MAX_PODSETS];
    for (uint32_t i = 0; i < s->n; i++)
        counts[i] = s->podsets[i].count;
    const struct eng_wl_extra *m = e->wls.v[x->wl].extra;
    if (m && (x->from_start || !m->resume.n || m->resume_gen != e->cqs.v[x->cq].alloc_gen))
        m = NULL;
    eng_assign_counts(e, x, counts, m);
    if (acceptable(e, x))
        return;
    if (!may_shrink(e, x) || assign_partial(e, x, m, acceptable) || !m || !e->cqs.v[x->cq].unplaced)
        return;
    /* Flavors before had quota for all and no places: fewer may be placed there. */
    (void)assign_partial(e, x, NULL, acceptable_in_place);
}
