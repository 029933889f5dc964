/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservation and release of quota. An admission record holds what a workload uses; records are
 * shared between workloads of a class with the same assignment, and immutable.
 */
#include "core/engine/state.h"

#include <string.h>

struct eng_wl_extra *eng_wl_extra(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    if (!w->extra) {
        w->extra = sl_alloc0(1, sizeof(struct eng_wl_extra));
        w->extra->place = SL_HEAP_OUT;
        w->extra->full_shape = ENG_NONE;
    }
    return w->extra;
}

bool eng_wl_eligible(const struct eng_wl *w) {
    return !w->inactive && !w->gated && !w->on_hold;
}

/* ---- admission records ---- */

struct eng_admission *eng_admission_new(uint32_t n_podsets, uint32_t n_assigned) {
    /* One block: the record, then its arrays from the widest alignment down. */
    size_t assigned = sizeof(struct eng_admission),
           uses = assigned + n_assigned * sizeof(struct eng_assigned);
    size_t counts = uses + n_assigned * sizeof(struct eng_use);
    size_t first = counts + n_podsets * sizeof(int32_t);
    char *block = sl_alloc(first + (n_podsets + 1) * sizeof(uint32_t));
    struct eng_admission *a = (struct eng_admission *)(void *)block;
    *a = (struct eng_admission){.refs = 1, .n_podsets = n_podsets, .n_assigned = n_assigned};
    a->assigned = (struct eng_assigned *)(void *)(block + assigned);
    a->uses = (struct eng_use *)(void *)(block + uses);
    a->counts = (int32_t *)(void *)(block + counts);
    a->first = (uint32_t *)(void *)(block + first);
    return a;
}

/* Works out the sums per pair. */
void eng_admission_sum(struct eng_admission *a) {
    a->n_uses = 0;
    for (uint32_t i = 0; i < a->n_assigned; i++) {
        if (a->assigned[i].amount <= 0)
            continue;
        uint32_t k = 0;
        while (k < a->n_uses && a->uses[k].fr != a->assigned[i].fr)
            k++;
        if (k == a->n_uses)
            a->uses[a->n_uses++] = (struct eng_use){a->assigned[i].fr, 0};
        a->uses[k].amount =
            sl_amount_min(sl_amount_add(a->uses[k].amount, a->assigned[i].amount), INT64_MAX - 1);
    }
}

/* A pair the tree does not know yet gets a column: rebuild with this usage in it. */
void eng_admission_columns(struct sl_engine *e, const struct eng_admission *a) {
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[a->cq]);
    bool unknown = false;
    for (uint32_t k = 0; k < a->n_uses; k++)
        unknown |= eng_tree_fr(t, a->uses[k].fr) == ENG_NONE;
    if (!unknown)
        return;
    for (uint32_t k = 0; k < a->n_uses; k++)
        *sl_vec_push(&e->extra_frs) = (struct eng_extra_fr){a->cq, a->uses[k].fr};
    eng_trees_rebuild(e);
}

void eng_admission_unref(struct eng_admission *a) {
    if (a && !--a->refs)
        sl_freep(&a);
}

static bool same_admission(const struct eng_admission *a, const struct sl_engine *e,
                           const struct eng_entry *x) {
    const struct eng_round *r = &e->round;
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[x->cq]);
    if (!a || a->cq != x->cq || a->n_assigned != x->picks.n || a->n_podsets != x->counts.n ||
        a->borrow != x->borrow ||
        memcmp(a->counts, r->counts.v + x->counts.from, x->counts.n * sizeof(int32_t)) != 0)
        return false;
    /* Records keep picks podset by podset; a single podset keeps their order. */
    if (a->n_podsets != 1)
        return false;
    for (uint32_t i = 0; i < x->picks.n; i++) {
        const struct eng_pick *p = &r->picks.v[x->picks.from + i];
        if (a->assigned[i].fr != t->frs[p->fr] || a->assigned[i].amount != p->amount)
            return false;
    }
    return true;
}

static struct eng_admission *admission_of(struct sl_engine *e, const struct eng_entry *x) {
    struct eng_class *c = &e->classes.v[x->class];
    if (same_admission(c->last, e, x)) {
        c->last->refs++;
        return c->last;
    }
    const struct eng_round *r = &e->round;
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[x->cq]);
    struct eng_admission *a = eng_admission_new(x->counts.n, x->picks.n);
    a->cq = x->cq;
    a->borrow = x->borrow;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->counts.n; i++) {
        a->counts[i] = r->counts.v[x->counts.from + i];
        a->first[i] = n;
        for (uint32_t k = 0; k < x->picks.n; k++) {
            const struct eng_pick *p = &r->picks.v[x->picks.from + k];
            if (p->podset == i)
                a->assigned[n++] =
                    (struct eng_assigned){p->resource, p->flavor, t->frs[p->fr], p->amount};
        }
    }
    a->first[x->counts.n] = n;
    eng_admission_sum(a);
    eng_admission_unref(c->last);
    c->last = a;
    a->refs++;
    return a;
}

/* ---- holding quota ---- */

void eng_prio_add(struct eng_cq *q, int64_t priority, int by) {
    uint32_t i = 0;
    while (i < q->prios.n && q->prios.v[i].priority < priority)
        i++;
    if (i == q->prios.n || q->prios.v[i].priority != priority) {
        (void)sl_vec_push(&q->prios);
        memmove(&q->prios.v[i + 1], &q->prios.v[i], (q->prios.n - i - 1) * sizeof(*q->prios.v));
        q->prios.v[i] = (struct eng_prio_count){priority, 0};
    }
    q->prios.v[i].n += (uint32_t)by;
    if (!q->prios.v[i].n) {
        memmove(&q->prios.v[i], &q->prios.v[i + 1], (q->prios.n - i - 1) * sizeof(*q->prios.v));
        q->prios.n--;
    }
}

/* ---- counting ---- */

static struct eng_tally *tally_find(const struct eng_tallies *t, uint32_t cq, uint32_t fr) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->v[i].fr == fr && t->v[i].cq == cq)
            return &t->v[i];
    return NULL;
}

struct eng_tally eng_tally_get(const struct eng_tallies *t, uint32_t cq, uint32_t fr) {
    const struct eng_tally *x = tally_find(t, cq, fr);
    return x ? *x : (struct eng_tally){.cq = cq, .fr = fr};
}

static void tally_add(struct eng_tallies *t, uint32_t cq, uint32_t fr, __int128 reserved,
                      __int128 admitted) {
    struct eng_tally *x = tally_find(t, cq, fr);
    if (!x) {
        x = sl_vec_push(t);
        *x = (struct eng_tally){.cq = cq, .fr = fr};
    }
    x->reserved += reserved;
    x->admitted += admitted;
    if (!x->reserved && !x->admitted)
        *x = sl_vec_pop(t);
}

void eng_wl_count(struct sl_engine *e, uint32_t wl, int reserved, int admitted) {
    const struct eng_wl *w = &e->wls.v[wl];
    const struct eng_admission *a = w->admission;
    struct eng_tallies *both[] = {&e->lqs.v[w->lq].held, &e->cqs.v[a->cq].held};
    for (uint32_t i = 0; i < SL_LEN(both); i++) {
        tally_add(both[i], a->cq, ENG_NONE, reserved, admitted);
        for (uint32_t k = 0; k < a->n_uses; k++) {
            __int128 amount = a->uses[k].amount;
            tally_add(both[i], a->cq, a->uses[k].fr, reserved * amount, admitted * amount);
        }
    }
}

static bool counts_unready(const struct eng_wl *w) {
    return eng_wl_holds_quota(w) && !(w->extra && w->extra->ready);
}

void eng_ready_recount(struct sl_engine *e) {
    e->n_not_ready = 0;
    for (uint32_t i = 0; i < e->wls.n; i++)
        e->n_not_ready += counts_unready(&e->wls.v[i]);
}

/* The workload, in no queue, now holds this admission. Takes over the reference. */
void eng_wl_hold(struct sl_engine *e, uint32_t wl, struct eng_admission *a, sl_time at) {
    struct eng_wl *w = &e->wls.v[wl];
    struct eng_cq *q = &e->cqs.v[a->cq];
    w->admission = a;
    w->phase = WL_RESERVED;
    w->reserved_at = at;
    w->at = q->reserved.n;
    *sl_vec_push(&q->reserved) = wl;
    eng_prio_add(q, eng_wl_priority(e, w), 1);
    eng_wl_charge(e, wl, 1);
    eng_wl_count(e, wl, 1, 0);
    e->n_not_ready += counts_unready(w);
    struct eng_tree *t = eng_cq_tree(e, q);
    t->version++;
    eng_tree_mark_dirty(e, t);
    if (w->extra) {
        w->extra->order_evict = SL_EVICT_NONE;
        w->extra->evict = SL_EVICT_NONE;
        w->extra->reported_hash = 0;
        w->extra->shown = w->extra->promised = w->extra->put_off = 0;
        w->extra->preempts = false;
        sl_vec_clear(&w->extra->resume);
    }
}

/* All checks passed, or there are none. */
void eng_wl_admitted(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    w->phase = WL_ADMITTED;
    w->admitted_at = e->now;
    e->cqs.v[w->admission->cq].n_admitted++;
    eng_wl_count(e, wl, 0, 1);
    e->stats.admissions++;
    if (e->config.afs)
        eng_afs_penalty(e, w->lq, w->admission, 0);
    if (e->config.pods_ready || (w->extra && w->extra->max_exec_s))
        eng_wl_timer(e, wl);
}

void eng_wl_reserve(struct sl_engine *e, struct eng_entry *x) {
    uint32_t wl = x->wl;
    struct eng_admission *a = admission_of(e, x);
    eng_wl_dequeue(e, wl);
    if (x->slice != ENG_NONE)
        eng_slice_take_over(e, wl, x->slice);
    eng_wl_hold(e, wl, a, e->now);
    e->stats.reservations++;
    if (e->config.afs)
        eng_afs_penalty(e, e->wls.v[wl].lq, a, 1);
    bool checked = e->cqs.v[a->cq].checks.n > 0;
    /* Ready already and no new checks: admitted in the same cycle. */
    bool at_once = !checked || eng_checks_all_ready(e, wl);
    struct sl_effect *f = eng_effect_new(e, SL_EFFECT_RESERVE, wl);
    f->reserve.admitted = at_once;
    f->reserve.borrow = a->borrow;
    f->reserve.replaced = x->slice == ENG_NONE ? SL_WL_NONE : eng_wl_id(e, x->slice);
    f->reserve.n = sl_engine_assignment(e, eng_wl_id(e, wl), &e->out->arena, &f->reserve.podsets);
    if (at_once)
        eng_wl_admitted(e, wl);
    if (checked)
        eng_checks_sync(e, wl);
}

/* Releases: the quota is free again and classes that sleep for it may wake. */
void eng_wl_release_quota(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    struct eng_cq *q = &e->cqs.v[w->admission->cq];
    e->n_not_ready -= counts_unready(w);
    eng_wl_charge(e, wl, -1);
    eng_wl_count(e, wl, -1, w->phase == WL_ADMITTED ? -1 : 0);
    uint32_t last = sl_vec_pop(&q->reserved);
    if (last != wl) {
        q->reserved.v[w->at] = last;
        e->wls.v[last].at = w->at;
    }
    eng_prio_add(q, eng_wl_priority(e, w), -1);
    q->n_admitted -= w->phase == WL_ADMITTED;
    q->alloc_gen++;
    struct eng_tree *t = eng_cq_tree(e, q);
    t->version++;
    t->freed = true;
    e->later_stale |= e->plans_later;
    eng_tree_mark_dirty(e, t);
    if (w->phase == WL_RESERVED && e->config.afs)
        eng_afs_penalty(e, w->lq, w->admission, -1);
    if (e->has_placer)
        e->placer.undo(e->placer.ctx, eng_wl_id(e, wl));
    if (w->extra) {
        if (w->phase == WL_ADMITTED)
            w->extra->past_exec_s += (e->now - w->admitted_at) / SL_SEC;
        w->extra->ready = w->extra->was_ready = false;
        w->extra->took = SL_WL_NONE;
    }
    eng_admission_unref(w->admission);
    w->admission = NULL;
    w->phase = WL_OUTSIDE;
    w->evicting = false;
    w->reserved_at = w->admitted_at = 0;
    eng_wl_timer(e, wl);
}

/* ---- the end ---- */

static void more_free(struct eng_wl_extra *m) {
    if (!m)
        return;
    for (uint32_t i = 0; i < m->checks.n; i++)
        sl_freep(&m->checks.v[i].message);
    sl_vec_free(&m->checks);
    sl_vec_free(&m->resume);
    sl_vec_free(&m->victims);
    sl_freep(&m->gate);
    sl_freep(&m->invalid);
    sl_freep(&m->evict_text);
    sl_freep(&m->replaces);
    eng_admission_unref(m->handed.admission);
    sl_freep(&m);
}

/* Clears everything but the slot; the id becomes stale. */
void eng_wl_destroy(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    if (w->phase == WL_FREE)
        return;
    if (eng_wl_holds_quota(w))
        eng_wl_release_quota(e, wl);
    eng_wl_dequeue(e, wl);
    if (w->extra) {
        sl_heap_remove(&e->timers, wl);
        if (w->extra->full_shape != ENG_NONE)
            eng_shape_unref(e, w->extra->full_shape);
        more_free(w->extra);
        w->extra = NULL;
    }
    eng_shape_unref(e, w->shape);
    e->lqs.v[w->lq].n_refs--;
    eng_lq_drop_if_unused(e, w->lq);
    sl_freep(&w->text);
    uint32_t gen = w->gen + 1;
    bool due = w->due;
    *w = (struct eng_wl){.gen = gen, .due = due, .phase = WL_FREE, .class = ENG_NONE};
    *sl_vec_push(&e->free_wls) = wl;
}
