/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking in: what a workload, a queue or a quota cell is at the moment, and whether the whole
 * state agrees with itself. Nothing here changes anything.
 */
#include "core/engine/state.h"

#include <string.h>

static enum sl_engine_phase phase_of(const struct sl_engine *e, const struct eng_wl *w) {
    const struct eng_lq *l = &e->lqs.v[w->lq];
    switch ((enum eng_wl_phase)w->phase) {
    case WL_FREE:
        return SL_PHASE_GONE;
    case WL_OUTSIDE:
        return SL_PHASE_BLOCKED;
    case WL_PARKED:
        return l->live ? SL_PHASE_ASLEEP : SL_PHASE_BLOCKED;
    case WL_WAITING:
        if (!l->live)
            return SL_PHASE_BLOCKED;
        return e->classes.v[w->class].asleep || !e->cqs.v[l->cq].active ? SL_PHASE_ASLEEP
                                                                        : SL_PHASE_HEAP;
    case WL_RESERVED:
        return SL_PHASE_RESERVED;
    case WL_ADMITTED:
        return SL_PHASE_ADMITTED;
    case WL_FINISHED:
        return SL_PHASE_FINISHED;
    }
    return SL_PHASE_GONE;
}

bool sl_engine_workload(const struct sl_engine *e, sl_wl_id id, struct sl_engine_wl_view *ret) {
    uint32_t i = eng_wl_resolve(e, id);
    *ret = (struct sl_engine_wl_view){.phase = SL_PHASE_GONE};
    if (i == ENG_NONE)
        return false;
    const struct eng_wl *w = &e->wls.v[i];
    const struct eng_lq *l = &e->lqs.v[w->lq];
    uint32_t cq = w->admission ? w->admission->cq : l->cq;
    *ret = (struct sl_engine_wl_view){
        .phase = phase_of(e, w),
        .evicting = w->evicting,
        .ns = eng_str(e, w->ns),
        .name = eng_wl_name(w),
        .uid = eng_wl_uid(w),
        .queue = eng_str(e, l->name),
        .cq = eng_str(e, cq == ENG_NONE ? l->cq_name : eng_cq_node(e, &e->cqs.v[cq])->name),
        .priority = w->priority,
        .boost = w->boost,
        .created = w->created,
        .order_at = eng_wl_order_time(e, w),
        .reserved_at = w->reserved_at,
        .admitted_at = w->admitted_at,
        .requeues = w->extra ? w->extra->requeues : 0,
        .requeue_at = w->extra ? w->extra->requeue_at : 0,
    };
    return true;
}

uint32_t sl_engine_assignment(const struct sl_engine *e, sl_wl_id id, struct sl_arena *a,
                              const struct sl_podset_assignment **ret) {
    uint32_t i = eng_wl_resolve(e, id);
    *ret = NULL;
    if (i == ENG_NONE || !e->wls.v[i].admission)
        return 0;
    const struct eng_wl *w = &e->wls.v[i];
    const struct eng_admission *m = w->admission;
    const struct eng_shape *s = &e->shapes.v[w->shape];
    struct sl_podset_assignment *ps = sl_arena_alloc(a, m->n_podsets * sizeof(*ps));
    struct sl_assigned *v = sl_arena_alloc(a, (m->n_assigned + 1) * sizeof(*v));
    for (uint32_t k = 0; k < m->n_assigned; k++)
        v[k] = (struct sl_assigned){eng_str(e, m->assigned[k].resource),
                                    eng_str(e, m->assigned[k].flavor), m->assigned[k].amount};
    for (uint32_t p = 0; p < m->n_podsets; p++)
        ps[p] = (struct sl_podset_assignment){sl_arena_strdup(a, s->podsets[p].name), m->counts[p],
                                              v + m->first[p], m->first[p + 1] - m->first[p]};
    *ret = ps;
    return m->n_podsets;
}

uint32_t sl_engine_requests(const struct sl_engine *e, sl_wl_id id, struct sl_arena *a,
                            const struct sl_podset_assignment **ret) {
    uint32_t i = eng_wl_resolve(e, id);
    *ret = NULL;
    if (i == ENG_NONE)
        return 0;
    const struct eng_shape *s = &e->shapes.v[e->wls.v[i].shape];
    struct sl_podset_assignment *ps = sl_arena_alloc(a, s->n * sizeof(*ps));
    for (uint32_t p = 0; p < s->n; p++) {
        const struct eng_podset *x = &s->podsets[p];
        struct sl_assigned *v = sl_arena_alloc(a, (x->requests.n + 1) * sizeof(*v));
        for (uint32_t k = 0; k < x->requests.n; k++)
            v[k] = (struct sl_assigned){eng_str(e, x->requests.v[k].resource), "",
                                        sl_amount_mul(x->requests.v[k].unit, x->count)};
        ps[p] =
            (struct sl_podset_assignment){sl_arena_strdup(a, x->name), x->count, v, x->requests.n};
    }
    *ret = ps;
    return s->n;
}

const struct eng_cq *eng_cq_named(const struct sl_engine *e, const char *name) {
    uint32_t n = eng_node_find(e, false, name);
    if (n == ENG_NONE || e->nodes.v[n].cq == ENG_NONE || !e->nodes.v[n].exists)
        return NULL;
    return &e->cqs.v[e->nodes.v[n].cq];
}

bool sl_engine_cq(const struct sl_engine *e, const char *name, struct sl_engine_cq_view *ret) {
    const struct eng_cq *q = eng_cq_named(e, name);
    *ret = (struct sl_engine_cq_view){.exists = q};
    if (!q)
        return false;
    ret->active = q->active;
    ret->reason = q->inactive_reason;
    ret->message = q->message ? q->message : "";
    ret->reserving = q->reserved.n;
    ret->admitted = q->n_admitted;
    for (uint32_t i = 0; i < q->lqs.n; i++) {
        const struct eng_lq *l = &e->lqs.v[q->lqs.v[i]];
        ret->asleep += l->parked.n;
        for (uint32_t k = 0; k < l->classes.n; k++) {
            const struct eng_class *c = &e->classes.v[l->classes.v[k]];
            *(c->asleep || !q->active ? &ret->asleep : &ret->heap) += c->line.n;
        }
    }
    if (!e->structure_dirty) {
        struct eng_share s = eng_share_of(e, q->node);
        ret->weighted_share = eng_share_status(&s);
    }
    return true;
}

uint32_t eng_lq_named(const struct sl_engine *e, const char *ns, const char *name) {
    sl_sym s = sl_sym_find(&e->syms, ns), y = sl_sym_find(&e->syms, name);
    if (s == SL_MAP_NONE || y == SL_MAP_NONE)
        return ENG_NONE;
    return sl_map_get(&e->lq_map, (uint64_t)s << 32 | y);
}

bool sl_engine_lq(const struct sl_engine *e, const char *ns, const char *name,
                  struct sl_engine_lq_view *ret) {
    uint32_t i = eng_lq_named(e, ns, name);
    *ret = (struct sl_engine_lq_view){.cq = ""};
    if (i == SL_MAP_NONE || !e->lqs.v[i].exists)
        return false;
    const struct eng_lq *l = &e->lqs.v[i];
    ret->exists = true;
    ret->cq = eng_str(e, l->cq_name);
    ret->asleep = l->parked.n;
    const struct eng_cq *q = l->cq == ENG_NONE ? NULL : &e->cqs.v[l->cq];
    for (uint32_t k = 0; k < l->classes.n; k++) {
        const struct eng_class *c = &e->classes.v[l->classes.v[k]];
        *(c->asleep || !q || !q->active ? &ret->asleep : &ret->heap) += c->line.n;
    }
    struct eng_tally t = eng_tally_get(&l->held, l->cq, ENG_NONE);
    ret->reserving = (uint32_t)t.reserved;
    ret->admitted = (uint32_t)t.admitted;
    return true;
}

void sl_engine_lq_usage(const struct sl_engine *e, const char *ns, const char *name,
                        const char *flavor, const char *resource, sl_amount *ret_reserved,
                        sl_amount *ret_admitted) {
    *ret_reserved = *ret_admitted = 0;
    uint32_t i = eng_lq_named(e, ns, name);
    if (i == SL_MAP_NONE || e->lqs.v[i].cq == ENG_NONE)
        return;
    sl_sym f = sl_sym_find(&e->syms, flavor), r = sl_sym_find(&e->syms, resource);
    uint32_t g = sl_map_get(&e->fr_map, (uint64_t)f << 32 | r);
    if (g == SL_MAP_NONE)
        return;
    struct eng_tally t = eng_tally_get(&e->lqs.v[i].held, e->lqs.v[i].cq, g);
    *ret_reserved = sl_amount_clamp(t.reserved);
    *ret_admitted = sl_amount_clamp(t.admitted);
}

int64_t sl_engine_cohort_share(const struct sl_engine *e, const char *name) {
    uint32_t n = eng_node_find(e, true, name);
    if (n == ENG_NONE || e->structure_dirty)
        return 0;
    struct eng_share s = eng_share_of(e, n);
    return eng_share_status(&s);
}

bool sl_engine_cell(const struct sl_engine *e, bool cohort, const char *node, const char *flavor,
                    const char *resource, struct sl_engine_cell_view *ret) {
    *ret = (struct sl_engine_cell_view){0};
    uint32_t n = eng_node_find(e, cohort, node);
    if (n == ENG_NONE || e->structure_dirty)
        return false;
    sl_sym f = sl_sym_find(&e->syms, flavor), r = sl_sym_find(&e->syms, resource);
    uint32_t g = sl_map_get(&e->fr_map, (uint64_t)f << 32 | r);
    const struct eng_tree *t = &e->trees.v[e->nodes.v[n].tree];
    uint32_t fr = g == SL_MAP_NONE ? ENG_NONE : eng_tree_fr(t, g);
    if (fr == ENG_NONE)
        return true;
    const struct eng_cell *c = eng_cell_at(e, n, fr);
    ret->nominal = c->nominal;
    ret->subtree = c->subtree;
    ret->usage = eng_cell_used(c);
    ret->potential = c->potential;
    ret->available = eng_tree_available(e, n, fr);
    if (cohort)
        return true;
    ret->available = sl_amount_max(0, ret->available);
    uint32_t cq = e->nodes.v[n].cq;
    ret->admitted_usage = sl_amount_clamp(eng_tally_get(&e->cqs.v[cq].held, cq, g).admitted);
    return true;
}

const char *sl_engine_cq_name(const struct sl_engine *e, uint32_t i) {
    for (uint32_t k = 0; k < e->cqs.n; k++)
        if (e->cqs.v[k].exists && !i--)
            return eng_str(e, eng_cq_node(e, &e->cqs.v[k])->name);
    return NULL;
}

/* ---- numbers ---- */

void sl_engine_stats(const struct sl_engine *e, struct sl_engine_stats *ret) {
    *ret = e->stats;
    ret->workloads = e->wls.n - e->free_wls.n;
    ret->shapes = e->shapes.n - e->free_shapes.n;
    ret->classes = e->classes.n - e->free_classes.n;
    ret->pending = ret->reserved = 0;
    for (uint32_t i = 0; i < e->wls.n; i++) {
        ret->pending += e->wls.v[i].phase == WL_WAITING || e->wls.v[i].phase == WL_PARKED;
        ret->reserved += eng_wl_holds_quota(&e->wls.v[i]);
    }
}

/* ---- does the state agree with itself? ---- */

static int check_usage(const struct sl_engine *e, struct sl_err *err) {
    for (uint32_t i = 0; i < e->nodes.n; i++) {
        const struct eng_node *n = &e->nodes.v[i];
        const struct eng_tree *t = &e->trees.v[n->tree];
        for (uint32_t fr = 0; fr < t->n_fr; fr++) {
            __int128 sum = 0;
            for (uint32_t k = 0; k < n->children.n; k++) {
                const struct eng_cell *c = eng_cell_at(e, n->children.v[k], fr);
                if (c->usage > c->local)
                    sum += c->usage - c->local;
            }
            for (uint32_t k = 0; n->cq != ENG_NONE && k < e->cqs.v[n->cq].reserved.n; k++) {
                const struct eng_admission *a = e->wls.v[e->cqs.v[n->cq].reserved.v[k]].admission;
                for (uint32_t u = 0; u < a->n_uses; u++)
                    if (a->uses[u].fr == t->frs[fr])
                        sum += a->uses[u].amount;
            }
            const struct eng_cell *c = eng_cell_at(e, i, fr);
            if (c->usage != sum)
                return sl_err_set(
                    err, SL_EMISMATCH, "%s: usage of %s/%s is %lld, its parts sum to %lld",
                    eng_str(e, n->name), eng_str(e, e->frs.v[t->frs[fr]].flavor),
                    eng_str(e, e->frs.v[t->frs[fr]].resource), (long long)c->usage, (long long)sum);
        }
    }
    return SL_OK;
}

/* Every row of a LocalQueue (lq NONE: of the ClusterQueue) is what its workloads hold. */
static bool tallies_agree(const struct sl_engine *e, const struct eng_tallies *t, uint32_t lq) {
    for (uint32_t i = 0; i < t->n; i++) {
        const struct eng_tally *x = &t->v[i];
        const struct eng_cq *q = &e->cqs.v[x->cq];
        __int128 reserved = 0, admitted = 0;
        for (uint32_t k = 0; k < q->reserved.n; k++) {
            const struct eng_wl *w = &e->wls.v[q->reserved.v[k]];
            __int128 holds = x->fr == ENG_NONE;
            for (uint32_t u = 0; u < w->admission->n_uses; u++)
                if (w->admission->uses[u].fr == x->fr)
                    holds += w->admission->uses[u].amount;
            if (lq != ENG_NONE && w->lq != lq)
                continue;
            reserved += holds;
            admitted += w->phase == WL_ADMITTED ? holds : 0;
        }
        if (x->reserved != reserved || x->admitted != admitted)
            return false;
    }
    return true;
}

static int check_tallies(const struct sl_engine *e, struct sl_err *err) {
    for (uint32_t i = 0; i < e->lqs.n; i++)
        if (!tallies_agree(e, &e->lqs.v[i].held, i))
            return sl_err_set(err, SL_EMISMATCH, "LocalQueue %s/%s counts what it does not hold",
                              eng_str(e, e->lqs.v[i].ns), eng_str(e, e->lqs.v[i].name));
    for (uint32_t i = 0; i < e->cqs.n; i++)
        if (!tallies_agree(e, &e->cqs.v[i].held, ENG_NONE))
            return sl_err_set(err, SL_EMISMATCH, "ClusterQueue %s counts what it does not hold",
                              eng_str(e, eng_cq_node(e, &e->cqs.v[i])->name));
    for (uint32_t i = 0; i < e->wls.n; i++) { /* and no row is missing */
        const struct eng_wl *w = &e->wls.v[i];
        if (!eng_wl_holds_quota(w))
            continue;
        uint32_t cq = w->admission->cq;
        bool known = eng_tally_get(&e->lqs.v[w->lq].held, cq, ENG_NONE).reserved &&
                     eng_tally_get(&e->cqs.v[cq].held, cq, ENG_NONE).reserved;
        for (uint32_t u = 0; known && u < w->admission->n_uses; u++)
            known = eng_tally_get(&e->lqs.v[w->lq].held, cq, w->admission->uses[u].fr).reserved &&
                    eng_tally_get(&e->cqs.v[cq].held, cq, w->admission->uses[u].fr).reserved;
        if (!known)
            return sl_err_set(err, SL_EMISMATCH, "workload %s is not counted in its queues",
                              eng_wl_name(w));
    }
    return SL_OK;
}

static int check_lines(const struct sl_engine *e, struct sl_err *err) {
    uint32_t in_lines = 0, waiting = 0;
    for (uint32_t i = 0; i < e->classes.n; i++) {
        const struct eng_class *c = &e->classes.v[i];
        if (!c->used)
            continue;
        in_lines += c->line.n;
        if (!c->line.n)
            return sl_err_set(err, SL_EMISMATCH, "class %u is empty", i);
        bool live = e->lqs.v[c->lq].live, in_heap = c->place != SL_HEAP_OUT;
        if (in_heap != (live && !c->asleep))
            return sl_err_set(err, SL_EMISMATCH, "class %u: asleep %d, live %d, in heap %d", i,
                              c->asleep, live, in_heap);
        for (uint32_t k = 0; k < c->line.n; k++) {
            const struct eng_wl *w = &e->wls.v[sl_ordset_at(&c->line, k)->id];
            if (w->phase != WL_WAITING || w->class != i || w->shape != c->shape || w->lq != c->lq ||
                eng_wl_priority(e, w) != c->priority ||
                eng_later_length(e, sl_ordset_at(&c->line, k)->id) != c->length)
                return sl_err_set(err, SL_EMISMATCH, "workload %s stands in the wrong line",
                                  eng_wl_name(w));
        }
    }
    for (uint32_t i = 0; i < e->wls.n; i++)
        waiting += e->wls.v[i].phase == WL_WAITING;
    if (waiting != in_lines)
        return sl_err_set(err, SL_EMISMATCH, "%u workloads wait, %u stand in lines", waiting,
                          in_lines);
    return SL_OK;
}

static int check_later(const struct sl_engine *e, struct sl_err *err) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->cqs.n; i++) {
        uint32_t wl = e->cqs.v[i].later.wl;
        if (wl == ENG_NONE)
            continue;
        n++;
        if (e->wls.v[wl].phase != WL_WAITING || e->lqs.v[e->wls.v[wl].lq].cq != i)
            return sl_err_set(err, SL_EMISMATCH,
                              "something is reserved for %s, which does not wait",
                              eng_wl_name(&e->wls.v[wl]));
    }
    return n == e->n_later ? SL_OK
                           : sl_err_set(err, SL_EMISMATCH, "%u reservations for later, %u counted",
                                        n, e->n_later);
}

int sl_engine_check(const struct sl_engine *e, struct sl_err *err) {
    if (e->structure_dirty)
        return SL_OK; /* trees are rebuilt before they are read */
    int r = check_usage(e, err);
    if (r >= 0)
        r = check_tallies(e, err);
    if (r >= 0)
        r = check_lines(e, err);
    return r < 0 ? r : check_later(e, err);
}
