/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preemption under fair sharing: take from the node that is furthest above its share, as long as
 * the preemptor does not end up above those it takes from. The incoming workload's usage is in the
 * tree during the whole search, except while testing whether it fits.
 *
 * Candidates of a queue are gathered when the search first reaches it. A failed search is the
 * common case in a full tree and must be cheap: once the preemptor's own side of a cohort has
 * nothing left to preempt, its share is final, and if it is above the largest share on the other
 * side, nothing there can be preempted, and the whole cohort is skipped.
 */
#include "core/engine/state.h"

#include <stdlib.h>

struct fair_ctx {
    const struct sl_engine *e;
    uint32_t cq;
};

static int cmp_fair(const void *a, const void *b, void *ctx) {
    const struct fair_ctx *f = ctx;
    return eng_candidate_cmp(f->e, f->cq, ((const struct eng_candidate *)a)->wl,
                             ((const struct eng_candidate *)b)->wl);
}

static void charge_incoming(struct sl_engine *e, const struct eng_search *s, int sign) {
    for (uint32_t i = 0; i < s->n_uses; i++)
        eng_tree_add(e, e->cqs.v[s->cq].node, s->uses[i].fr, sign * s->uses[i].amount);
}

static bool fits(struct sl_engine *e, const struct eng_search *s) {
    charge_incoming(e, s, -1);
    bool ok = eng_search_fits(e, s, true);
    charge_incoming(e, s, 1);
    return ok;
}

/* ---- candidates, queue by queue ---- */

/* Above its own quota before the search began? Own evictions only make it less so. */
static bool exceeds(const struct sl_engine *e, const struct eng_search *s, const struct eng_cq *q) {
    return q->active && !eng_search_within_contested(e, q->node, s);
}

/* The second strategy starts again with those that were not taken. */
static void skip_taken(struct sl_engine *e, struct eng_cq *q) {
    while (q->fair.n && e->round.candidates.v[q->fair.from].taken) {
        q->fair.from++;
        q->fair.n--;
    }
}

/* Runs are short as a rule. */
static void sort_run(const struct sl_engine *e, const struct eng_search *s, struct eng_candidate *v,
                     uint32_t n) {
    struct fair_ctx ctx = {e, s->cq};
    if (n > 16) {
        qsort_r(v, n, sizeof(*v), cmp_fair, &ctx);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        struct eng_candidate c = v[i];
        uint32_t k = i;
        for (; k && cmp_fair(&c, &v[k - 1], &ctx) < 0; k--)
            v[k] = v[k - 1];
        v[k] = c;
    }
}

static void gather_candidates(struct sl_engine *e, const struct eng_search *s, uint32_t cq) {
    struct eng_round *r = &e->round;
    const struct eng_cq *own = &e->cqs.v[s->cq];
    struct eng_cq *q = &e->cqs.v[cq];
    if (q->fair_search == r->search)
        return;
    if (q->fair_search + 1 == r->search && r->search % 2) { /* gathered by the first strategy */
        q->fair_search = r->search;
        q->fair.n = q->fair_all;
        q->fair.from = q->fair_first;
        skip_taken(e, q);
        return;
    }
    q->fair_search = r->search;
    q->fair = (struct eng_range){r->candidates.n, 0};
    bool mine = cq == s->cq;
    if (mine ? own->within != SL_WITHIN_NEVER
             : own->reclaim != SL_RECLAIM_NEVER && exceeds(e, s, q)) {
        for (uint32_t i = 0; i < q->reserved.n; i++) {
            uint32_t wl = q->reserved.v[i];
            if ((mine ? eng_policy_within(e, s, wl) : eng_policy_reclaim(e, s, wl)) &&
                eng_search_may_take(e, s, wl))
                *sl_vec_push(&r->candidates) = (struct eng_candidate){.wl = wl, .cq = cq};
        }
        q->fair.n = r->candidates.n - q->fair.from;
    }
    sort_run(e, s, r->candidates.v + q->fair.from, q->fair.n);
    q->fair_first = q->fair.from;
    q->fair_all = q->fair.n;
}

static struct eng_candidate *take_next(struct sl_engine *e, uint32_t cq) {
    struct eng_cq *q = &e->cqs.v[cq];
    struct eng_candidate *c = &e->round.candidates.v[q->fair.from++];
    q->fair.n--;
    skip_taken(e, q);
    return c;
}

static void evict_for(struct sl_engine *e, const struct eng_search *s, struct eng_candidate *c,
                      enum sl_cause cause) {
    c->taken = true;
    eng_search_take(e, s, c->wl);
    *sl_vec_push(&e->round.targets) = (struct eng_target){c->wl, cause};
}

/* ---- the next candidate ---- */

static bool is_pruned(const struct sl_engine *e, uint32_t node) {
    return e->nodes.v[node].pruned == e->round.search;
}

static void prune(struct sl_engine *e, uint32_t node) {
    e->nodes.v[node].pruned = e->round.search;
}

/* Could no candidate with this share pass, whichever is removed? */
static bool all_refuse(const struct sl_engine *e, const struct eng_share *mine,
                       const struct eng_share *theirs) {
    bool initial = e->round.search % 2 || e->config.fair[0] == SL_FAIR_INITIAL_SHARE;
    int r = eng_share_cmp(mine, theirs);
    return initial ? r >= 0 : r > 0;
}

/* Has the preemptor's own side of this cohort nothing (more) to give? Its share is final then. */
static bool own_side_spent(const struct sl_engine *e, const struct eng_search *s, uint32_t side) {
    return side != ENG_NONE && (is_pruned(e, side) || (side == e->cqs.v[s->cq].node &&
                                                       e->cqs.v[s->cq].within == SL_WITHIN_NEVER));
}

/* Without looking into queues: is even the largest share on the other side too small? */
static bool cohort_refuses(struct sl_engine *e, const struct eng_search *s, uint32_t cohort) {
    const struct eng_node *n = &e->nodes.v[cohort];
    uint32_t mine = e->cqs.v[s->cq].node, own = mine;
    if (e->round.within_nominal || !eng_tree_is_ancestor(e, cohort, mine))
        return false;
    while (e->nodes.v[own].parent != cohort)
        own = e->nodes.v[own].parent;
    if (!own_side_spent(e, s, own))
        return false;
    struct eng_share own_share = eng_share_of(e, own);
    for (uint32_t i = 0; i < n->children.n; i++) {
        uint32_t c = n->children.v[i];
        if (c == own || is_pruned(e, c))
            continue;
        struct eng_share share = eng_share_of(e, c);
        if (share.borrowing && !all_refuse(e, &own_share, &share))
            return false;
    }
    return true;
}

/* The best queue below this cohort to take from, NONE (and pruned) if there is none. */
static uint32_t best_below(struct sl_engine *e, const struct eng_search *s, uint32_t cohort) {
    const struct eng_node *n = &e->nodes.v[cohort];
    uint32_t best_cohort = ENG_NONE, best_cq = ENG_NONE, mine = e->cqs.v[s->cq].node;
    struct eng_share cohort_share = {0}, cq_share = {0};
    if (cohort_refuses(e, s, cohort)) {
        prune(e, cohort);
        return ENG_NONE;
    }
    for (uint32_t i = 0; i < n->children.n; i++) {
        uint32_t c = n->children.v[i];
        const struct eng_node *child = &e->nodes.v[c];
        if (is_pruned(e, c))
            continue;
        struct eng_share share = eng_share_of(e, c);
        bool on_path = child->cohort ? eng_tree_is_ancestor(e, c, mine) : c == mine;
        if (!share.borrowing && !on_path) {
            prune(e, c);
            continue;
        }
        if (child->cohort) {
            if (best_cohort == ENG_NONE || eng_share_cmp(&share, &cohort_share) > 0) {
                best_cohort = c;
                cohort_share = share;
            }
            continue;
        }
        gather_candidates(e, s, child->cq);
        const struct eng_cq *q = &e->cqs.v[child->cq];
        if (!q->fair.n) {
            prune(e, c);
            continue;
        }
        int cmp = best_cq == ENG_NONE ? 1 : eng_share_cmp(&share, &cq_share);
        if (cmp == 0)
            cmp = eng_candidate_cmp(e, s->cq, e->round.candidates.v[q->fair.from].wl,
                                    e->round.candidates.v[e->cqs.v[best_cq].fair.from].wl) < 0;
        if (cmp > 0) {
            best_cq = child->cq;
            cq_share = share;
        }
    }
    if (best_cohort == ENG_NONE && best_cq == ENG_NONE) {
        prune(e, cohort);
        return ENG_NONE;
    }
    if (best_cohort != ENG_NONE &&
        (best_cq == ENG_NONE || eng_share_cmp(&cohort_share, &cq_share) >= 0))
        return best_below(e, s, best_cohort);
    return best_cq;
}

/* The queue to take from next, NONE when nothing is left. */
static uint32_t next_queue(struct sl_engine *e, const struct eng_search *s) {
    const struct eng_cq *q = &e->cqs.v[s->cq];
    uint32_t root = eng_cq_tree(e, q)->root;
    if (root == q->node) {
        gather_candidates(e, s, s->cq);
        return q->fair.n ? s->cq : ENG_NONE;
    }
    while (!is_pruned(e, root)) {
        uint32_t k = best_below(e, s, root);
        if (k != ENG_NONE)
            return k;
    }
    return ENG_NONE;
}

/* The children of the lowest common ancestor on either side. */
static void almost_common(const struct sl_engine *e, uint32_t a, uint32_t b, uint32_t *side_a,
                          uint32_t *side_b) {
    while (!eng_tree_is_ancestor(e, e->nodes.v[a].parent, b))
        a = e->nodes.v[a].parent;
    while (e->nodes.v[b].parent != e->nodes.v[a].parent)
        b = e->nodes.v[b].parent;
    *side_a = a;
    *side_b = b;
}

/* ---- strategies ---- */

/* From the preemptor's queue upwards, leaves out every cohort that cannot give anything. */
static void prune_upwards(struct sl_engine *e, const struct eng_search *s) {
    for (uint32_t n = eng_cq_node(e, &e->cqs.v[s->cq])->parent; n != ENG_NONE;
         n = e->nodes.v[n].parent) {
        if (!cohort_refuses(e, s, n))
            return;
        prune(e, n);
    }
}

static bool first_strategy(struct sl_engine *e, const struct eng_search *s) {
    uint32_t k;
    prune_upwards(e, s);
    while ((k = next_queue(e, s)) != ENG_NONE) {
        bool own = k == s->cq;
        if (own || e->round.within_nominal) {
            evict_for(e, s, take_next(e, k),
                      own ? SL_CAUSE_IN_CLUSTER_QUEUE : SL_CAUSE_IN_COHORT_RECLAMATION);
            if (fits(e, s))
                return true;
            continue;
        }
        uint32_t mine, theirs;
        almost_common(e, e->cqs.v[s->cq].node, e->cqs.v[k].node, &mine, &theirs);
        struct eng_share new_mine = eng_share_of(e, mine), old_theirs = eng_share_of(e, theirs);
        while (e->cqs.v[k].fair.n) {
            struct eng_candidate *c = take_next(e, k);
            bool pass;
            if (e->config.fair[0] == SL_FAIR_INITIAL_SHARE) {
                pass = eng_share_cmp(&new_mine, &old_theirs) < 0;
            } else {
                eng_wl_charge(e, c->wl, -1);
                struct eng_share new_theirs = eng_share_of(e, theirs);
                eng_wl_charge(e, c->wl, 1);
                pass = eng_share_cmp(&new_mine, &new_theirs) <= 0;
            }
            if (!pass)
                continue; /* left for the second strategy */
            evict_for(e, s, c, SL_CAUSE_IN_COHORT_FAIR_SHARING);
            if (fits(e, s))
                return true;
            break;
        }
    }
    return false;
}

/* One more try with the second rule, one workload of each queue at most. */
static bool second_strategy(struct sl_engine *e, const struct eng_search *s) {
    uint32_t k;
    prune_upwards(e, s);
    while ((k = next_queue(e, s)) != ENG_NONE) {
        uint32_t mine, theirs;
        almost_common(e, e->cqs.v[s->cq].node, e->cqs.v[k].node, &mine, &theirs);
        struct eng_share new_mine = eng_share_of(e, mine), old_theirs = eng_share_of(e, theirs);
        if (eng_share_cmp(&new_mine, &old_theirs) < 0) {
            evict_for(e, s, take_next(e, k), SL_CAUSE_IN_COHORT_FAIR_SHARING);
            if (fits(e, s))
                return true;
        }
        e->cqs.v[k].fair.n = 0;
    }
    return false;
}

uint32_t eng_preempt_search_fair(struct sl_engine *e, const struct eng_search *s) {
    struct eng_round *r = &e->round;
    const struct eng_cq *q = &e->cqs.v[s->cq];
    if (q->within == SL_WITHIN_NEVER && q->reclaim == SL_RECLAIM_NEVER)
        return 0;
    uint32_t first = r->targets.n, n = 0;
    sl_vec_clear(&r->candidates);
    eng_search_bar(e, s);
    r->search = (r->search | 1) + 1; /* even: first strategy; odd: second */
    charge_incoming(e, s, 1);
    /* Decided once, before any victim is taken: a queue within its own quota may reclaim it. */
    r->within_nominal = eng_gate_on(e, SL_GATE_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL) &&
                        eng_search_within_contested(e, q->node, s);
    bool ok = first_strategy(e, s);
    if (!ok && e->config.n_fair > 1 && q->reclaim != SL_RECLAIM_NEVER) {
        r->search++;
        r->within_nominal = false;
        ok = second_strategy(e, s);
    }
    charge_incoming(e, s, -1);
    if (ok)
        n = eng_search_fill_back(e, s, first, true);
    for (uint32_t i = first; i < r->targets.n; i++)
        eng_search_put(e, s, r->targets.v[i].wl);
    r->targets.n = first + n;
    return n;
}
