/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preemption without fair sharing: which workloads to evict so that another fits, as few as needed,
 * and none that the policies protect. The search works on the live tree: usage of candidates is
 * removed and always restored before it returns.
 *
 * Why preemption terminates. Between two external events (a workload arrives, changes, finishes or
 * is deleted, configuration changes) a tree records which workload evicted which. A pair is used at
 * most once, and never so that a chain of evictions closes to a cycle. So with n workloads at most
 * n(n-1)/2 evictions can happen before an external event: the number of unused pairs is the
 * measure, and each eviction makes it smaller.
 */
#include "core/engine/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- the measure ---- */

void eng_tree_epoch(struct sl_engine *e, struct eng_tree *t) {
    if (!t->edges.n)
        return;
    sl_vec_clear(&t->edges);
    t->version++; /* heads that found only barred ones may find them now */
    eng_tree_mark_dirty(e, t);
}

static bool barred(const struct sl_engine *e, uint32_t wl) {
    for (uint32_t i = 0; i < e->round.barred.n; i++)
        if (e->round.barred.v[i] == wl)
            return true;
    return false;
}

void eng_search_bar(struct sl_engine *e, const struct eng_search *s) {
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[s->cq]);
    sl_vec_clear(&e->round.barred);
    if (!t->edges.n)
        return;
    /* The preemptors of this workload, directly or along a chain. */
    *sl_vec_push(&e->round.barred) = s->wl;
    for (uint32_t i = 0; i < e->round.barred.n; i++)
        for (uint32_t k = 0; k < t->edges.n; k++)
            if (t->edges.v[k].victim == e->round.barred.v[i] && !barred(e, t->edges.v[k].preemptor))
                *sl_vec_push(&e->round.barred) = t->edges.v[k].preemptor;
    /* Victims of this workload that were admitted again all the same. */
    for (uint32_t k = 0; k < t->edges.n; k++)
        if (t->edges.v[k].preemptor == s->wl && !e->wls.v[t->edges.v[k].victim].evicting &&
            !barred(e, t->edges.v[k].victim))
            *sl_vec_push(&e->round.barred) = t->edges.v[k].victim;
}

bool eng_search_may_take(const struct sl_engine *e, const struct eng_search *s, uint32_t wl) {
    const struct eng_admission *a = e->wls.v[wl].admission;
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[s->cq]);
    bool uses = false;
    if (wl == s->slice)
        return false; /* it goes anyway, and what it holds is counted already */
    /* By its flavors, whatever the amount: a podset may have been given a flavor for nothing. */
    for (uint32_t i = 0; i < a->n_assigned && !uses; i++)
        for (uint32_t k = 0; k < s->n_contested && !uses; k++)
            uses = a->assigned[i].fr == t->frs[s->contested[k]];
    return uses && !(e->round.barred.n && barred(e, wl));
}

/* ---- policies and order ---- */

bool eng_policy_within(const struct sl_engine *e, const struct eng_search *s, uint32_t wl) {
    const struct eng_wl *p = &e->wls.v[s->wl], *c = &e->wls.v[wl];
    int64_t mine = eng_wl_priority(e, p), theirs = eng_wl_priority(e, c);
    switch (e->cqs.v[s->cq].within) {
    case SL_WITHIN_NEVER:
        return false;
    case SL_WITHIN_LOWER:
        return theirs < mine;
    case SL_WITHIN_LOWER_OR_NEWER:
        return theirs < mine || (theirs == mine && p->order_at < eng_wl_order_time(e, c));
    }
    return false;
}

bool eng_policy_reclaim(const struct sl_engine *e, const struct eng_search *s, uint32_t wl) {
    enum sl_reclaim r = e->cqs.v[s->cq].reclaim;
    return r == SL_RECLAIM_ANY ||
           (r == SL_RECLAIM_LOWER &&
            eng_wl_priority(e, &e->wls.v[wl]) < eng_wl_priority(e, &e->wls.v[s->wl]));
}

/* Order of candidates: evicted already, other queues, heavier LocalQueue, lower priority, newer. */
int eng_candidate_cmp(const struct sl_engine *e, uint32_t preemptor_cq, uint32_t a, uint32_t b) {
    const struct eng_wl *x = &e->wls.v[a], *y = &e->wls.v[b];
    if (x->evicting != y->evicting)
        return x->evicting ? -1 : 1;
    bool own_x = x->admission->cq == preemptor_cq, own_y = y->admission->cq == preemptor_cq;
    if (own_x != own_y)
        return own_x ? 1 : -1;
    if (x->admission->cq == y->admission->cq && x->lq != y->lq &&
        eng_afs_orders(e, &e->cqs.v[x->admission->cq])) {
        unsigned __int128 u = e->lqs.v[x->lq].afs_usage, v = e->lqs.v[y->lq].afs_usage;
        if (u != v)
            return u > v ? -1 : 1;
    }
    int64_t px = eng_wl_priority(e, x), py = eng_wl_priority(e, y);
    if (px != py)
        return px < py ? -1 : 1;
    if (x->reserved_at != y->reserved_at)
        return x->reserved_at > y->reserved_at ? -1 : 1;
    return eng_wl_tie(e, a, b);
}

struct order_ctx {
    const struct sl_engine *e;
    uint32_t cq;
};

static int cmp_candidates(const void *a, const void *b, void *ctx) {
    const struct order_ctx *o = ctx;
    const struct eng_candidate *x = a, *y = b;
    if (x->evicted != y->evicted)
        return x->evicted ? -1 : 1;
    if (x->list != y->list)
        return x->list < y->list ? -1 : 1;
    return eng_candidate_cmp(o->e, o->cq, x->wl, y->wl);
}

/* ---- collecting ---- */

enum { LIST_HIERARCHY, LIST_PRIORITY, LIST_OWN };

bool eng_search_within_contested(const struct sl_engine *e, uint32_t node,
                                 const struct eng_search *s) {
    for (uint32_t i = 0; i < s->n_contested; i++)
        if (!eng_tree_within(e, node, s->contested[i], 0))
            return false;
    return true;
}

static void candidate_add(struct sl_engine *e, uint32_t wl, uint8_t list, enum sl_cause cause,
                          bool without_borrowing) {
    *sl_vec_push(&e->round.candidates) =
        (struct eng_candidate){.wl = wl,
                               .cq = e->wls.v[wl].admission->cq,
                               .list = list,
                               .cause = cause,
                               .without_borrowing = without_borrowing,
                               .evicted = e->wls.v[wl].evicting};
}

static void collect_queue(struct sl_engine *e, const struct eng_search *s,
                          const struct eng_cq *from, bool advantage) {
    const struct eng_cq *q = &e->cqs.v[s->cq];
    int64_t mine = eng_wl_priority(e, &e->wls.v[s->wl]);
    for (uint32_t i = 0; i < from->reserved.n; i++) {
        uint32_t wl = from->reserved.v[i];
        if (!eng_policy_reclaim(e, s, wl) || !eng_search_may_take(e, s, wl))
            continue;
        int64_t theirs = eng_wl_priority(e, &e->wls.v[wl]);
        if (advantage)
            candidate_add(e, wl, LIST_HIERARCHY, SL_CAUSE_IN_COHORT_RECLAMATION, false);
        else if (q->borrow_within == SL_BORROW_NEVER || theirs >= mine ||
                 (q->has_threshold && theirs > q->threshold))
            candidate_add(e, wl, LIST_PRIORITY, SL_CAUSE_IN_COHORT_RECLAMATION, true);
        else
            candidate_add(e, wl, LIST_PRIORITY, SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING, false);
    }
}

/* All under the cohort, except the subtree already visited and those within their quota. */
static void collect_subtree(struct sl_engine *e, const struct eng_search *s, uint32_t cohort,
                            uint32_t visited, bool advantage) {
    const struct eng_node *n = &e->nodes.v[cohort];
    for (uint32_t i = 0; i < n->children.n; i++) {
        uint32_t c = n->children.v[i];
        if (c == visited || c == e->cqs.v[s->cq].node || eng_search_within_contested(e, c, s))
            continue;
        if (e->nodes.v[c].cohort)
            collect_subtree(e, s, c, visited, advantage);
        else if (e->cqs.v[e->nodes.v[c].cq].active)
            collect_queue(e, s, &e->cqs.v[e->nodes.v[c].cq], advantage);
    }
}

/* Would these amounts stay within the node's own quota? Reduces them to what must come from above.
 */
static bool fits_quota(const struct sl_engine *e, uint32_t node, struct eng_use *left, uint32_t n) {
    bool fits = true;
    for (uint32_t i = 0; i < n; i++) {
        const struct eng_cell *c = eng_cell_at(e, node, left[i].fr);
        fits &= eng_tree_within(e, node, left[i].fr, left[i].amount);
        sl_amount here = sl_amount_max(0, sl_amount_sub(c->local, eng_cell_used(c)));
        left[i].amount = sl_amount_max(0, sl_amount_sub(left[i].amount, here));
    }
    return fits;
}

static void collect_cohort(struct sl_engine *e, const struct eng_search *s) {
    const struct eng_cq *q = &e->cqs.v[s->cq];
    const struct eng_node *n = eng_cq_node(e, q);
    if (n->parent == ENG_NONE || q->reclaim == SL_RECLAIM_NEVER)
        return;
    struct eng_use left[MAX_USES];
    sl_assert(s->n_uses <= SL_LEN(left));
    memcpy(left, s->uses, s->n_uses * sizeof(*left));
    bool advantage = fits_quota(e, q->node, left, s->n_uses);
    uint32_t visited = ENG_NONE;
    for (uint32_t i = n->parent; i != ENG_NONE; i = e->nodes.v[i].parent) {
        collect_subtree(e, s, i, visited, advantage);
        advantage |= fits_quota(e, i, left, s->n_uses);
        visited = i;
    }
}

static void collect_own(struct sl_engine *e, const struct eng_search *s) {
    const struct eng_cq *q = &e->cqs.v[s->cq];
    if (q->within == SL_WITHIN_NEVER)
        return;
    for (uint32_t i = 0; i < q->reserved.n; i++)
        if (eng_policy_within(e, s, q->reserved.v[i]) &&
            eng_search_may_take(e, s, q->reserved.v[i]))
            candidate_add(e, q->reserved.v[i], LIST_OWN, SL_CAUSE_IN_CLUSTER_QUEUE, false);
}

/* ---- searching ---- */

/* Puts back, from the second last to the first, victims that turn out not to be needed. */
uint32_t eng_search_fill_back(struct sl_engine *e, const struct eng_search *s, uint32_t first,
                              bool borrowing) {
    struct eng_round *r = &e->round;
    for (uint32_t i = r->targets.n - 1; i-- > first;) {
        eng_search_put(e, s, r->targets.v[i].wl);
        if (eng_search_fits(e, s, borrowing)) {
            r->targets.v[i] = sl_vec_last(&r->targets);
            r->targets.n--;
        } else {
            eng_search_take(e, s, r->targets.v[i].wl);
        }
    }
    return r->targets.n - first;
}

/* Is it still fair game: its queue, and every cohort below the common one, above their quota? */
static bool still_valid(const struct sl_engine *e, const struct eng_search *s,
                        const struct eng_candidate *c) {
    uint32_t mine = e->cqs.v[s->cq].node;
    if (c->cq == s->cq)
        return true;
    for (uint32_t i = e->cqs.v[c->cq].node; i != ENG_NONE; i = e->nodes.v[i].parent) {
        if (eng_tree_is_ancestor(e, i, mine))
            return true;
        if (eng_search_within_contested(e, i, s))
            return false;
    }
    return true;
}

static uint32_t attempt(struct sl_engine *e, const struct eng_search *s, bool borrowing) {
    struct eng_round *r = &e->round;
    uint32_t first = r->targets.n, n = 0;
    for (uint32_t i = 0; i < r->candidates.n; i++) {
        const struct eng_candidate *c = &r->candidates.v[i];
        if ((borrowing && c->without_borrowing) || !still_valid(e, s, c))
            continue;
        eng_search_take(e, s, c->wl);
        *sl_vec_push(&r->targets) = (struct eng_target){c->wl, c->cause};
        if (eng_search_fits(e, s, borrowing)) {
            n = eng_search_fill_back(e, s, first, borrowing);
            break;
        }
    }
    for (uint32_t i = first; i < r->targets.n; i++)
        eng_search_put(e, s, r->targets.v[i].wl);
    r->targets.n = first + n;
    return n;
}

/* With all candidates gone, would it fit at all? Saves sorting where it would not. */
static bool never_fits(struct sl_engine *e, const struct eng_search *s) {
    struct eng_round *r = &e->round;
    for (uint32_t i = 0; i < r->candidates.n; i++)
        eng_search_take(e, s, r->candidates.v[i].wl);
    bool fits = eng_search_fits(e, s, true);
    for (uint32_t i = 0; i < r->candidates.n; i++)
        eng_search_put(e, s, r->candidates.v[i].wl);
    return !fits;
}

uint32_t eng_preempt_search(struct sl_engine *e, const struct eng_search *s) {
    struct eng_round *r = &e->round;
    const struct eng_cq *q = &e->cqs.v[s->cq];
    sl_vec_clear(&r->candidates);
    eng_search_bar(e, s);
    collect_cohort(e, s);
    uint32_t outside = r->candidates.n, hierarchy = 0;
    for (uint32_t i = 0; i < outside; i++)
        hierarchy += r->candidates.v[i].list == LIST_HIERARCHY;
    collect_own(e, s);
    if (!r->candidates.n)
        return 0;
    bool forbidden = q->borrow_within == SL_BORROW_NEVER, under = true;
    for (uint32_t i = 0; i < s->n_contested; i++) {
        const struct eng_cell *c = eng_cell_at(e, q->node, s->contested[i]);
        under &= c->usage < c->nominal;
    }
    bool only_borrowing = !outside || (forbidden && !under);
    if (only_borrowing && outside == r->candidates.n && !hierarchy && forbidden)
        return 0; /* all that is left may only be taken without borrowing */
    if (never_fits(e, s))
        return 0;
    struct order_ctx ctx = {e, s->cq};
    qsort_r(r->candidates.v, r->candidates.n, sizeof(struct eng_candidate), cmp_candidates, &ctx);
    if (only_borrowing)
        return attempt(e, s, true);
    bool first = !(forbidden && !hierarchy);
    uint32_t n = attempt(e, s, first);
    return n ? n : attempt(e, s, !first);
}
