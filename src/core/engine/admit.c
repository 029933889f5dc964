/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservation and release of quota. An admission record holds what a workload uses; records are
 * shared between workloads of a class with the same assignment, and immutable.
 */
#include "core/engine/state.h"

#include <string.h>

struct more *wl_more(struct sl_engine *e, uint32_t wl) {
    struct wl *w = &e->wls.v[wl];
    if (!w->more) {
        w->more = sl_alloc0(1, sizeof(struct more));
        w->more->place = SL_HEAP_OUT;
        w->more->full_shape = NONE;
    }
    return w->more;
}

bool wl_eligible(const struct wl *w) {
    return !w->inactive && !w->gated && !w->on_hold;
}

/* ---- admission records ---- */

struct admission *admission_new(uint32_t n_podsets, uint32_t n_assigned) {
    /* One block: the record, then its arrays from the widest alignment down. */
    size_t assigned = sizeof(struct admission),
           uses = assigned + n_assigned * sizeof(struct assigned);
    size_t counts = uses + n_assigned * sizeof(struct use);
    size_t first = counts + n_podsets * sizeof(int32_t);
    char *block = sl_alloc(first + (n_podsets + 1) * sizeof(uint32_t));
    struct admission *a = (struct admission *)(void *)block;
    *a = (struct admission){.refs = 1, .n_podsets = n_podsets, .n_assigned = n_assigned};
    a->assigned = (struct assigned *)(void *)(block + assigned);
    a->uses = (struct use *)(void *)(block + uses);
    a->counts = (int32_t *)(void *)(block + counts);
    a->first = (uint32_t *)(void *)(block + first);
    return a;
}

/* Works out the sums per pair. */
void admission_sum(struct admission *a) {
    a->n_uses = 0;
    for (uint32_t i = 0; i < a->n_assigned; i++) {
        if (a->assigned[i].amount <= 0)
            continue;
        uint32_t k = 0;
        while (k < a->n_uses && a->uses[k].fr != a->assigned[i].fr)
            k++;
        if (k == a->n_uses)
            a->uses[a->n_uses++] = (struct use){a->assigned[i].fr, 0};
        a->uses[k].amount =
            sl_amount_min(sl_amount_add(a->uses[k].amount, a->assigned[i].amount), INT64_MAX - 1);
    }
}

/* A pair the tree does not know yet gets a column: rebuild with this usage in it. */
void admission_columns(struct sl_engine *e, const struct admission *a) {
    const struct tree *t = cq_tree(e, &e->cqs.v[a->cq]);
    bool unknown = false;
    for (uint32_t k = 0; k < a->n_uses; k++)
        unknown |= tree_fr(t, a->uses[k].fr) == NONE;
    if (!unknown)
        return;
    for (uint32_t k = 0; k < a->n_uses; k++)
        *sl_vec_push(&e->extra_frs) = (struct extra_fr){a->cq, a->uses[k].fr};
    trees_rebuild(e);
}

void admission_unref(struct admission *a) {
    if (a && !--a->refs)
        sl_freep(&a);
}

static bool same_admission(const struct admission *a, const struct sl_engine *e,
                           const struct entry *x) {
    const struct round *r = &e->round;
    const struct tree *t = cq_tree(e, &e->cqs.v[x->cq]);
    if (!a || a->cq != x->cq || a->n_assigned != x->picks.n || a->n_podsets != x->counts.n ||
        a->borrow != x->borrow ||
        memcmp(a->counts, r->counts.v + x->counts.from, x->counts.n * sizeof(int32_t)) != 0)
        return false;
    /* Records keep picks podset by podset; a single podset keeps their order. */
    if (a->n_podsets != 1)
        return false;
    for (uint32_t i = 0; i < x->picks.n; i++) {
        const struct pick *p = &r->picks.v[x->picks.from + i];
        if (a->assigned[i].fr != t->frs[p->fr] || a->assigned[i].amount != p->amount)
            return false;
    }
    return true;
}

static struct admission *admission_of(struct sl_engine *e, const struct entry *x) {
    struct class *c = &e->classes.v[x->class];
    if (same_admission(c->last, e, x)) {
        c->last->refs++;
        return c->last;
    }
    const struct round *r = &e->round;
    const struct tree *t = cq_tree(e, &e->cqs.v[x->cq]);
    struct admission *a = admission_new(x->counts.n, x->picks.n);
    a->cq = x->cq;
    a->borrow = x->borrow;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->counts.n; i++) {
        a->counts[i] = r->counts.v[x->counts.from + i];
        a->first[i] = n;
        for (uint32_t k = 0; k < x->picks.n; k++) {
            const struct pick *p = &r->picks.v[x->picks.from + k];
            if (p->podset == i)
                a->assigned[n++] =
                    (struct assigned){p->resource, p->flavor, t->frs[p->fr], p->amount};
        }
    }
    a->first[x->counts.n] = n;
    admission_sum(a);
    admission_unref(c->last);
    c->last = a;
    a->refs++;
    return a;
}

/* ---- holding quota ---- */

void prio_add(struct cq *q, int64_t priority, int by) {
    uint32_t i = 0;
    while (i < q->prios.n && q->prios.v[i].priority < priority)
        i++;
    if (i == q->prios.n || q->prios.v[i].priority != priority) {
        (void)sl_vec_push(&q->prios);
        memmove(&q->prios.v[i + 1], &q->prios.v[i], (q->prios.n - i - 1) * sizeof(*q->prios.v));
        q->prios.v[i] = (struct prio_count){priority, 0};
    }
    q->prios.v[i].n += (uint32_t)by;
    if (!q->prios.v[i].n) {
        memmove(&q->prios.v[i], &q->prios.v[i + 1], (q->prios.n - i - 1) * sizeof(*q->prios.v));
        q->prios.n--;
    }
}

/* ---- counting ---- */

static struct tally *tally_find(const struct tallies *t, uint32_t cq, uint32_t fr) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->v[i].fr == fr && t->v[i].cq == cq)
            return &t->v[i];
    return NULL;
}

struct tally tally_get(const struct tallies *t, uint32_t cq, uint32_t fr) {
    const struct tally *x = tally_find(t, cq, fr);
    return x ? *x : (struct tally){.cq = cq, .fr = fr};
}

static void tally_add(struct tallies *t, uint32_t cq, uint32_t fr, __int128 reserved,
                      __int128 admitted) {
    struct tally *x = tally_find(t, cq, fr);
    if (!x) {
        x = sl_vec_push(t);
        *x = (struct tally){.cq = cq, .fr = fr};
    }
    x->reserved += reserved;
    x->admitted += admitted;
    if (!x->reserved && !x->admitted)
        *x = sl_vec_pop(t);
}

void wl_count(struct sl_engine *e, uint32_t wl, int reserved, int admitted) {
    const struct wl *w = &e->wls.v[wl];
    const struct admission *a = w->admission;
    struct tallies *both[] = {&e->lqs.v[w->lq].held, &e->cqs.v[a->cq].held};
    for (uint32_t i = 0; i < SL_LEN(both); i++) {
        tally_add(both[i], a->cq, NONE, reserved, admitted);
        for (uint32_t k = 0; k < a->n_uses; k++) {
            __int128 amount = a->uses[k].amount;
            tally_add(both[i], a->cq, a->uses[k].fr, reserved * amount, admitted * amount);
        }
    }
}

static bool counts_unready(const struct wl *w) {
    return wl_holds_quota(w) && !(w->more && w->more->ready);
}

void ready_recount(struct sl_engine *e) {
    e->n_not_ready = 0;
    for (uint32_t i = 0; i < e->wls.n; i++)
        e->n_not_ready += counts_unready(&e->wls.v[i]);
}

/* The workload, in no queue, now holds this admission. Takes over the reference. */
void wl_hold(struct sl_engine *e, uint32_t wl, struct admission *a, sl_time at) {
    struct wl *w = &e->wls.v[wl];
    struct cq *q = &e->cqs.v[a->cq];
    w->admission = a;
    w->phase = WL_RESERVED;
    w->reserved_at = at;
    w->at = q->reserved.n;
    *sl_vec_push(&q->reserved) = wl;
    prio_add(q, wl_priority(e, w), 1);
    wl_charge(e, wl, 1);
    wl_count(e, wl, 1, 0);
    e->n_not_ready += counts_unready(w);
    struct tree *t = cq_tree(e, q);
    t->version++;
    tree_mark(e, t);
    if (w->more) {
        w->more->order_evict = SL_EVICT_NONE;
        w->more->evict = SL_EVICT_NONE;
        w->more->told = 0;
        sl_vec_clear(&w->more->resume);
    }
}

/* All checks passed, or there are none. */
void wl_admitted(struct sl_engine *e, uint32_t wl) {
    struct wl *w = &e->wls.v[wl];
    w->phase = WL_ADMITTED;
    w->admitted_at = e->now;
    e->cqs.v[w->admission->cq].n_admitted++;
    wl_count(e, wl, 0, 1);
    e->stats.admissions++;
    if (e->config.afs)
        afs_penalty(e, w->lq, w->admission, 0);
    if (e->config.pods_ready || (w->more && w->more->max_exec_s))
        wl_timer(e, wl);
}

void wl_reserve(struct sl_engine *e, struct entry *x) {
    uint32_t wl = x->wl;
    struct admission *a = admission_of(e, x);
    wl_dequeue(e, wl);
    if (x->slice != NONE)
        slice_take_over(e, wl, x->slice);
    wl_hold(e, wl, a, e->now);
    e->stats.reservations++;
    if (e->config.afs)
        afs_penalty(e, e->wls.v[wl].lq, a, 1);
    bool checked = e->cqs.v[a->cq].checks.n > 0;
    /* Ready already and nothing new to ask: admitted in the same breath. */
    bool at_once = !checked || checks_all_ready(e, wl);
    struct sl_effect *f = effect_new(e, SL_EFFECT_RESERVE, wl);
    f->reserve.admitted = at_once;
    f->reserve.borrow = a->borrow;
    f->reserve.replaced = x->slice == NONE ? SL_WL_NONE : wl_id(e, x->slice);
    f->reserve.n = sl_engine_assignment(e, wl_id(e, wl), &e->out->arena, &f->reserve.podsets);
    if (at_once)
        wl_admitted(e, wl);
    if (checked)
        checks_sync(e, wl);
}

/* Ends holding: the quota is free again and whoever sleeps for it may wake. */
void wl_give_back(struct sl_engine *e, uint32_t wl) {
    struct wl *w = &e->wls.v[wl];
    struct cq *q = &e->cqs.v[w->admission->cq];
    e->n_not_ready -= counts_unready(w);
    wl_charge(e, wl, -1);
    wl_count(e, wl, -1, w->phase == WL_ADMITTED ? -1 : 0);
    uint32_t last = sl_vec_pop(&q->reserved);
    if (last != wl) {
        q->reserved.v[w->at] = last;
        e->wls.v[last].at = w->at;
    }
    prio_add(q, wl_priority(e, w), -1);
    q->n_admitted -= w->phase == WL_ADMITTED;
    q->alloc_gen++;
    struct tree *t = cq_tree(e, q);
    t->version++;
    t->freed = true;
    tree_mark(e, t);
    if (w->phase == WL_RESERVED && e->config.afs)
        afs_penalty(e, w->lq, w->admission, -1);
    if (e->has_placer)
        e->placer.undo(e->placer.ctx, wl_id(e, wl));
    if (w->more) {
        if (w->phase == WL_ADMITTED)
            w->more->past_exec_s += (e->now - w->admitted_at) / SL_SEC;
        w->more->ready = w->more->was_ready = false;
        w->more->took = SL_WL_NONE;
    }
    admission_unref(w->admission);
    w->admission = NULL;
    w->phase = WL_OUTSIDE;
    w->evicting = false;
    w->reserved_at = w->admitted_at = 0;
    wl_timer(e, wl);
}

/* ---- the end ---- */

static void more_free(struct more *m) {
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
    admission_unref(m->handed.admission);
    sl_freep(&m);
}

/* Forgets everything but the slot; the id becomes stale. */
void wl_destroy(struct sl_engine *e, uint32_t wl) {
    struct wl *w = &e->wls.v[wl];
    if (w->phase == WL_FREE)
        return;
    if (wl_holds_quota(w))
        wl_give_back(e, wl);
    wl_dequeue(e, wl);
    if (w->more) {
        sl_heap_remove(&e->timers, wl);
        if (w->more->full_shape != NONE)
            shape_unref(e, w->more->full_shape);
        more_free(w->more);
        w->more = NULL;
    }
    shape_unref(e, w->shape);
    e->lqs.v[w->lq].n_refs--;
    lq_drop_if_unused(e, w->lq);
    sl_freep(&w->text);
    uint32_t gen = w->gen + 1;
    bool due = w->due;
    *w = (struct wl){.gen = gen, .due = due, .phase = WL_FREE, .class = NONE};
    *sl_vec_push(&e->free_wls) = wl;
}
