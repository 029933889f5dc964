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

uint32_t eng_slice_before(const struct sl_engine *e, uint32_t wl, uint32_t cq) {
    const struct eng_wl_extra *m = e->wls.v[wl].extra;
    if (!m || !m->replaces)
        return ENG_NONE;
    uint32_t old = eng_wl_lookup(e, e->wls.v[wl].ns, m->replaces);
    if (old == ENG_NONE || old == wl)
        return ENG_NONE;
    const struct eng_wl *o = &e->wls.v[old];
    return eng_wl_holds_quota(o) && !o->evicting && o->admission->cq == cq ? old : ENG_NONE;
}

const struct eng_assigned *eng_slice_holds(const struct sl_engine *e, uint32_t slice,
                                           const char *podset, sl_sym resource) {
    const struct eng_admission *a = e->wls.v[slice].admission;
    const struct eng_shape *s = &e->shapes.v[e->wls.v[slice].shape];
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

void eng_slice_take_over(struct sl_engine *e, uint32_t wl, uint32_t slice) {
    struct eng_wl *o = &e->wls.v[slice];
    struct eng_wl_extra *m = eng_wl_extra(e, slice);
    struct eng_slice_handover h = {o->admission, o->reserved_at, o->admitted_at, m->ready,
                                   m->was_ready};
    int64_t past = m->past_exec_s;
    sl_wl_id took = m->took;
    h.admission->refs++;
    eng_wl_release_quota(e, slice);
    o->phase = WL_FINISHED;
    sl_heap_remove(&e->timers, slice);
    m->handed = h;
    m->past_exec_s = past;
    m->took = took;
    eng_wl_extra(e, wl)->took = eng_wl_id(e, slice);
}

uint32_t eng_slice_taken(const struct sl_engine *e, uint32_t wl) {
    const struct eng_wl *w = &e->wls.v[wl];
    uint32_t old = w->extra && eng_wl_holds_quota(w) ? eng_wl_resolve(e, w->extra->took) : ENG_NONE;
    return old != ENG_NONE && e->wls.v[old].extra->handed.admission ? old : ENG_NONE;
}

void eng_slice_return(struct sl_engine *e, uint32_t slice) {
    if (slice == ENG_NONE)
        return;
    struct eng_wl *o = &e->wls.v[slice];
    struct eng_wl_extra *m = o->extra;
    struct eng_slice_handover h = m->handed;
    m->handed = (struct eng_slice_handover){0};
    m->ready = h.ready;
    m->was_ready = h.was_ready;
    eng_admission_columns(e, h.admission);
    eng_wl_hold(e, slice, h.admission, h.reserved_at);
    if (h.admitted_at) {
        o->phase = WL_ADMITTED;
        o->admitted_at = h.admitted_at;
        e->cqs.v[h.admission->cq].n_admitted++;
        eng_wl_count(e, slice, 0, 1);
    } else if (e->config.afs) {
        eng_afs_penalty(e, o->lq, h.admission, 1);
    }
    eng_wl_timer(e, slice);
    eng_wl_due(e, slice);
}

void eng_slice_ended(struct sl_engine *e, uint32_t wl) {
    struct eng_wl_extra *m = e->wls.v[wl].extra;
    if (!m)
        return;
    eng_admission_unref(m->handed.admission);
    m->handed = (struct eng_slice_handover){0};
    m->took = SL_WL_NONE; /* it came to something */
}

/* ---- holding less ---- */

void eng_wl_shrink(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    const struct eng_shape *s = &e->shapes.v[w->shape];
    const struct eng_admission *o = w->admission;
    struct eng_admission *a = eng_admission_new(o->n_podsets, o->n_assigned);
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
    eng_admission_sum(a);
    int admitted = w->phase == WL_ADMITTED;
    eng_wl_charge(e, wl, -1);
    eng_wl_count(e, wl, -1, -admitted);
    eng_admission_unref(w->admission);
    w->admission = a;
    eng_wl_charge(e, wl, 1);
    eng_wl_count(e, wl, 1, admitted);
    e->cqs.v[a->cq].alloc_gen++;
    eng_cq_tree(e, &e->cqs.v[a->cq])->version++;
}
