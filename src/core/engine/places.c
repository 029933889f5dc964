/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement: when the placer is called, and with what. A workload within quota also needs a
 * placement; without one, workloads that block it may be preempted, and nothing is evicted for a
 * workload that could not be placed even then.
 */
#include "core/engine/state.h"

bool eng_pick_needs_placement(const struct sl_engine *e, uint32_t cq, const struct eng_pick *p) {
    return e->has_placer && e->placer.could &&
           (e->cqs.v[cq].exact_nodes || eng_flavor_has_topology(e, p->flavor));
}

/* What the entry would get, in the terms of the placer. */
static struct sl_podset_assignment *assignment(struct sl_engine *e, const struct eng_entry *x,
                                               uint32_t *ret_n) {
    struct eng_round *r = &e->round;
    const struct eng_shape *s = &e->shapes.v[e->classes.v[x->class].shape];
    struct sl_podset_assignment *ps = sl_arena_alloc0(&r->text, s->n, sizeof(*ps));
    for (uint32_t i = 0; i < s->n; i++) {
        struct sl_assigned *v = sl_arena_alloc0(&r->text, x->picks.n + 1, sizeof(*v));
        ps[i] = (struct sl_podset_assignment){s->podsets[i].name, r->counts.v[x->counts.from + i],
                                              v, 0};
        for (uint32_t k = 0; k < x->picks.n; k++) {
            const struct eng_pick *p = &r->picks.v[x->picks.from + k];
            if (p->podset == i)
                v[ps[i].n++] =
                    (struct sl_assigned){eng_str(e, p->resource), eng_str(e, p->flavor), p->amount};
        }
    }
    *ret_n = s->n;
    return ps;
}

bool eng_entry_place(struct sl_engine *e, struct eng_entry *x) {
    struct eng_round *r = &e->round;
    char why[512] = "";
    uint32_t refused = 0, n;
    const struct sl_podset_assignment *ps = assignment(e, x, &n);
    eng_later_lift(e, x->wl, true);
    bool placed =
        e->placer.place(e->placer.ctx, eng_wl_id(e, x->wl), ps, n, &refused, why, sizeof(why));
    eng_later_lift(e, x->wl, false);
    if (!placed)
        eng_entry_refuse(e, x, refused, sl_arena_strdup(&r->text, why));
    return placed;
}

void eng_entry_refuse(struct sl_engine *e, struct eng_entry *x, uint32_t podset, const char *why) {
    e->cqs.v[x->cq].unplaced = true;
    x->whys = (struct eng_range){e->round.whys.n, 1};
    x->lacks.n = MAX_LACKS + 1; /* any release may free a place */
    *sl_vec_push(&e->round.whys) =
        (struct sl_why){.kind = SL_WHY_PLACE, .podset = podset, .taint = why};
}

bool eng_entry_could_be_placed(struct sl_engine *e, const struct eng_entry *x) {
    uint32_t n;
    bool needs = false;
    for (uint32_t i = 0; i < x->picks.n && !needs; i++)
        needs = eng_pick_needs_placement(e, x->cq, &e->round.picks.v[x->picks.from + i]);
    if (!needs)
        return true;
    const struct sl_podset_assignment *ps = assignment(e, x, &n);
    return e->placer.could(e->placer.ctx, eng_wl_id(e, x->wl), ps, n);
}

bool eng_entry_is_next(struct sl_engine *e, const struct eng_entry *x) {
    uint32_t n;
    if (!e->placer.soon && !e->n_later)
        return false;
    const struct sl_podset_assignment *ps = assignment(e, x, &n);
    if (e->placer.soon && e->placer.soon(e->placer.ctx, eng_wl_id(e, x->wl), ps, n))
        return true;
    if (!e->n_later)
        return false;
    eng_later_lift(e, ENG_NONE, true);
    bool free = e->placer.could(e->placer.ctx, eng_wl_id(e, x->wl), ps, n);
    eng_later_lift(e, ENG_NONE, false);
    return free;
}

bool eng_entry_later(struct sl_engine *e, const struct eng_entry *x, sl_time from,
                     sl_time *ret_at) {
    uint32_t n;
    const struct sl_podset_assignment *ps = assignment(e, x, &n);
    return e->placer.later(e->placer.ctx, eng_wl_id(e, x->wl), ps, n, from, ret_at);
}

void sl_engine_places_changed(struct sl_engine *e) {
    eng_refresh(e);
    e->later_stale |= e->plans_later;
    eng_places_wake(e);
}

void eng_places_wake(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->cqs.n; i++) {
        struct eng_cq *q = &e->cqs.v[i];
        if (!q->unplaced)
            continue;
        q->unplaced = false;
        if (!q->exists)
            continue;
        struct eng_tree *t = eng_cq_tree(e, q);
        t->freed = true;
        t->version++;
        eng_tree_mark_dirty(e, t);
    }
}

/* ---- within a search for victims ---- */

void eng_search_places(struct sl_engine *e, struct eng_search *s, const struct eng_entry *x) {
    for (uint32_t i = 0; i < x->picks.n && !s->podsets; i++)
        if (eng_pick_needs_placement(e, x->cq, &e->round.picks.v[x->picks.from + i]))
            s->podsets = assignment(e, x, &s->n_podsets);
}

void eng_search_take(struct sl_engine *e, const struct eng_search *s, uint32_t wl) {
    eng_wl_charge(e, wl, -1);
    if (s->podsets)
        e->placer.set_aside(e->placer.ctx, eng_wl_id(e, wl), true);
}

void eng_search_put(struct sl_engine *e, const struct eng_search *s, uint32_t wl) {
    eng_wl_charge(e, wl, 1);
    if (s->podsets)
        e->placer.set_aside(e->placer.ctx, eng_wl_id(e, wl), false);
}

bool eng_search_fits(struct sl_engine *e, const struct eng_search *s, bool borrowing) {
    if (!eng_uses_fit(e, &e->cqs.v[s->cq], s->uses, s->n_uses, borrowing))
        return false;
    if (!s->podsets ||
        e->placer.could(e->placer.ctx, eng_wl_id(e, s->wl), s->podsets, s->n_podsets))
        return true;
    e->cqs.v[s->cq].unplaced = true;
    return false;
}
