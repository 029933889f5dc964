/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices: an elastic job that grows is followed by a larger workload that replaces the running one.
 * The new slice keeps the flavors of the old one and requests only the difference (assign.c counts
 * it while the old one's usage stays in the tree); when it gets that, the old one's quota is
 * transferred to it in one step, so that no pod is ever counted twice or not at all.
 *
 * The old slice still runs until the new reservation has been written. So its admission is retained
 * until it is reported finished: if the new reservation fails before that, the old one holds its
 * quota again. A slice that is being evicted has no quota to transfer: its replacement waits in the
 * queue like any other.
 *
 * A job that shrinks changes its workload in place: the quota in use shrinks with the requests.
 */
#include "core/engine/state.h"

#include <string.h>

uint32_t slice_before(const struct sl_engine *e, uint32_t wl, uint32_t cq) {
    const struct more *m = e->wls.v[wl].more;
    if (!m || !m->replaces)
        return NONE;
    uint32_t old = wl_lookup(e, e->wls.v[wl].ns, m->replaces);
    if (old == NONE || old == wl)
        return NONE;
    const struct wl *o = &e->wls.v[old];
    return wl_holds_quota(o) && !o->evicting && o->admission->cq == cq ? old : NONE;
}

const struct assigned *slice_holds(const struct sl_engine *e, uint32_t slice, const char *podset,
                                   sl_sym resource) {
    const struct admission *a = e->wls.v[slice].admission;
    const struct shape *s = &e->shapes.v[e->wls.v[slice].shape];
    for (uint32_t p = 0; p < a->n_podsets; p++) {
        if (strcmp(s->podsets[p].name, podset) != 0)
            continue;
        for (uint32_t i = a->first[p]; i < a->first[p + 1]; i++)
            if (a->assigned[i].resource == resource)
                return &a->assigned[i];
    }
    return NULL;
}

/* ---- from one slice to the next ---- */

void slice_take_over(struct sl_engine *e, uint32_t wl, uint32_t slice) {
    struct wl *o = &e->wls.v[slice];
    struct more *m = wl_more(e, slice);
    struct handed h = {o->admission, o->reserved_at, o->admitted_at, m->ready, m->was_ready};
    int64_t past = m->past_exec_s;
    sl_wl_id took = m->took;
    h.admission->refs++;
    wl_give_back(e, slice);
    o->phase = WL_FINISHED;
    sl_heap_remove(&e->timers, slice);
    m->handed = h;
    m->past_exec_s = past;
    m->took = took;
    wl_more(e, wl)->took = wl_id(e, slice);
}

uint32_t slice_taken(const struct sl_engine *e, uint32_t wl) {
    const struct wl *w = &e->wls.v[wl];
    uint32_t old = w->more && wl_holds_quota(w) ? wl_resolve(e, w->more->took) : NONE;
    return old != NONE && e->wls.v[old].more->handed.admission ? old : NONE;
}

void slice_return(struct sl_engine *e, uint32_t slice) {
    if (slice == NONE)
        return;
    struct wl *o = &e->wls.v[slice];
    struct more *m = o->more;
    struct handed h = m->handed;
    m->handed = (struct handed){0};
    m->ready = h.ready;
    m->was_ready = h.was_ready;
    admission_columns(e, h.admission);
    wl_hold(e, slice, h.admission, h.reserved_at);
    if (h.admitted_at) {
        o->phase = WL_ADMITTED;
        o->admitted_at = h.admitted_at;
        e->cqs.v[h.admission->cq].n_admitted++;
        wl_count(e, slice, 0, 1);
    } else if (e->config.afs) {
        afs_penalty(e, o->lq, h.admission, 1);
    }
    wl_timer(e, slice);
    wl_due(e, slice);
}

void slice_ended(struct sl_engine *e, uint32_t wl) {
    struct more *m = e->wls.v[wl].more;
    if (!m)
        return;
    admission_unref(m->handed.admission);
    m->handed = (struct handed){0};
    m->took = SL_WL_NONE; /* it came to something */
}

/* ---- holding less ---- */

void wl_shrink(struct sl_engine *e, uint32_t wl) {
    struct wl *w = &e->wls.v[wl];
    const struct shape *s = &e->shapes.v[w->shape];
    const struct admission *o = w->admission;
    struct admission *a = admission_new(o->n_podsets, o->n_assigned);
    a->cq = o->cq;
    a->borrow = o->borrow;
    memcpy(a->first, o->first, (o->n_podsets + 1) * sizeof(uint32_t));
    for (uint32_t p = 0; p < o->n_podsets; p++) {
        /* Partial admission may have granted fewer: never more than was held. */
        int32_t left = s->podsets[p].count;
        a->counts[p] = left < o->counts[p] ? left : o->counts[p];
        for (uint32_t k = o->first[p]; k < o->first[p + 1]; k++) {
            a->assigned[k] = o->assigned[k];
            if (o->counts[p] > 0)
                a->assigned[k].amount =
                    sl_amount_mul(o->assigned[k].amount / o->counts[p], a->counts[p]);
        }
    }
    admission_sum(a);
    int admitted = w->phase == WL_ADMITTED;
    wl_charge(e, wl, -1);
    wl_count(e, wl, -1, -admitted);
    admission_unref(w->admission);
    w->admission = a;
    wl_charge(e, wl, 1);
    wl_count(e, wl, 1, admitted);
    e->cqs.v[a->cq].alloc_gen++;
    cq_tree(e, &e->cqs.v[a->cq])->version++;
}
