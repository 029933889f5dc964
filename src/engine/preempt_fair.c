/*
 * Preemption under fair sharing: take from whoever is furthest above its share, as long as the
 * preemptor does not end up above those it takes from. The incoming workload's usage is in the tree
 * during the whole search, except while testing whether it fits.
 */
#include "engine/state.h"

#include <stdlib.h>

struct fair_ctx {
    const struct sl_engine *e;
    uint32_t cq;
};

/* By queue, then by the common order. */
static int cmp_by_queue(const void *a, const void *b, void *ctx) {
    const struct fair_ctx *f = ctx;
    const struct candidate *x = a, *y = b;
    if (x->cq != y->cq)
        return x->cq < y->cq ? -1 : 1;
    return candidate_cmp(f->e, f->cq, x->wl, y->wl);
}

static void charge_incoming(struct sl_engine *e, const struct search *s, int sign) {
    for (uint32_t i = 0; i < s->n_uses; i++)
        tree_add(e, e->cqs.v[s->cq].node, s->uses[i].fr, sign * s->uses[i].amount);
}

static bool fits(struct sl_engine *e, const struct search *s) {
    charge_incoming(e, s, -1);
    bool ok = uses_fit(e, &e->cqs.v[s->cq], s->uses, s->n_uses, true);
    charge_incoming(e, s, 1);
    return ok;
}

static void collect(struct sl_engine *e, const struct search *s) {
    struct round *r = &e->round;
    const struct cq *own = &e->cqs.v[s->cq];
    const struct tree *t = cq_tree(e, own);
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        uint32_t k = t->cqs.v[i];
        const struct cq *q = &e->cqs.v[k];
        bool mine = k == s->cq;
        if (mine ? own->within == SL_WITHIN_NEVER
                 : own->reclaim == SL_RECLAIM_NEVER || !q->active ||
                       within_contested(e, q->node, s))
            continue;
        for (uint32_t w = 0; w < q->reserved.n; w++) {
            uint32_t wl = q->reserved.v[w];
            if ((mine ? policy_within(e, s, wl) : policy_reclaim(e, s, wl)) &&
                search_may_take(e, s, wl))
                *sl_vec_push(&r->candidates) = (struct candidate){.wl = wl, .cq = k};
        }
    }
}

/* Gives every queue of the tree its run of candidates and forgets what was pruned. */
static void deal(struct sl_engine *e, const struct search *s) {
    struct round *r = &e->round;
    const struct tree *t = cq_tree(e, &e->cqs.v[s->cq]);
    struct fair_ctx ctx = {e, s->cq};
    if (r->candidates.n)
        qsort_r(r->candidates.v, r->candidates.n, sizeof(struct candidate), cmp_by_queue, &ctx);
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        struct cq *q = &e->cqs.v[t->cqs.v[i]];
        q->fair = (struct range){0, 0};
        for (uint32_t n = q->node; n != NONE; n = e->nodes.v[n].parent)
            e->nodes.v[n].pruned = false;
    }
    for (uint32_t i = 0; i < r->candidates.n; i++) {
        struct range *f = &e->cqs.v[r->candidates.v[i].cq].fair;
        if (!f->n++)
            f->from = i;
    }
}

static uint32_t take_next(struct sl_engine *e, uint32_t cq) {
    struct range *f = &e->cqs.v[cq].fair;
    f->n--;
    return e->round.candidates.v[f->from++].wl;
}

/* The best queue below this cohort to take from, NONE (and pruned) if there is none. */
static uint32_t best_below(struct sl_engine *e, const struct search *s, uint32_t cohort) {
    const struct node *n = &e->nodes.v[cohort];
    uint32_t best_cohort = NONE, best_cq = NONE, mine = e->cqs.v[s->cq].node;
    struct share cohort_share = {0}, cq_share = {0};
    for (uint32_t i = 0; i < n->children.n; i++) {
        uint32_t c = n->children.v[i];
        struct node *child = &e->nodes.v[c];
        if (child->pruned)
            continue;
        struct share share = share_of(e, c);
        if (child->cohort) {
            if (!share.borrowing && !tree_is_ancestor(e, c, mine))
                child->pruned = true;
            else if (best_cohort == NONE || share_cmp(&share, &cohort_share) > 0) {
                best_cohort = c;
                cohort_share = share;
            }
            continue;
        }
        const struct cq *q = &e->cqs.v[child->cq];
        if ((!share.borrowing && child->cq != s->cq) || !q->fair.n) {
            child->pruned = true;
            continue;
        }
        int cmp = best_cq == NONE ? 1 : share_cmp(&share, &cq_share);
        if (cmp == 0)
            cmp = candidate_cmp(e, s->cq, e->round.candidates.v[q->fair.from].wl,
                                e->round.candidates.v[e->cqs.v[best_cq].fair.from].wl) < 0;
        if (cmp > 0) {
            best_cq = child->cq;
            cq_share = share;
        }
    }
    if (best_cohort == NONE && best_cq == NONE) {
        e->nodes.v[cohort].pruned = true;
        return NONE;
    }
    if (best_cohort != NONE && (best_cq == NONE || share_cmp(&cohort_share, &cq_share) >= 0))
        return best_below(e, s, best_cohort);
    return best_cq;
}

/* The queue to take from next, NONE when nothing is left. */
static uint32_t next_queue(struct sl_engine *e, const struct search *s) {
    const struct cq *q = &e->cqs.v[s->cq];
    uint32_t root = cq_tree(e, q)->root;
    if (root == q->node)
        return q->fair.n ? s->cq : NONE;
    while (!e->nodes.v[root].pruned) {
        uint32_t k = best_below(e, s, root);
        if (k != NONE)
            return k;
    }
    return NONE;
}

/* The children of the lowest common ancestor on either side. */
static void almost_common(const struct sl_engine *e, uint32_t a, uint32_t b, uint32_t *side_a,
                          uint32_t *side_b) {
    while (!tree_is_ancestor(e, e->nodes.v[a].parent, b))
        a = e->nodes.v[a].parent;
    while (e->nodes.v[b].parent != e->nodes.v[a].parent)
        b = e->nodes.v[b].parent;
    *side_a = a;
    *side_b = b;
}

static void evict_for(struct sl_engine *e, uint32_t wl, enum sl_cause cause) {
    wl_charge(e, wl, -1);
    *sl_vec_push(&e->round.targets) = (struct target){wl, cause};
}

static bool first_strategy(struct sl_engine *e, const struct search *s) {
    uint32_t k;
    while ((k = next_queue(e, s)) != NONE) {
        if (k == s->cq) {
            evict_for(e, take_next(e, k), SL_CAUSE_IN_CLUSTER_QUEUE);
            if (fits(e, s))
                return true;
            continue;
        }
        if (gate(e, SL_GATE_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL) &&
            within_contested(e, e->cqs.v[s->cq].node, s)) {
            evict_for(e, take_next(e, k), SL_CAUSE_IN_COHORT_RECLAMATION);
            if (fits(e, s))
                return true;
            continue;
        }
        uint32_t mine, theirs;
        almost_common(e, e->cqs.v[s->cq].node, e->cqs.v[k].node, &mine, &theirs);
        struct share new_mine = share_of(e, mine), old_theirs = share_of(e, theirs);
        while (e->cqs.v[k].fair.n) {
            uint32_t wl = take_next(e, k);
            bool pass;
            if (e->config.fair[0] == SL_FAIR_INITIAL_SHARE) {
                pass = share_cmp(&new_mine, &old_theirs) < 0;
            } else {
                wl_charge(e, wl, -1);
                struct share new_theirs = share_of(e, theirs);
                wl_charge(e, wl, 1);
                pass = share_cmp(&new_mine, &new_theirs) <= 0;
            }
            if (pass) {
                evict_for(e, wl, SL_CAUSE_IN_COHORT_FAIR_SHARING);
                if (fits(e, s))
                    return true;
                break;
            }
            *sl_vec_push(&e->round.retry) = (struct candidate){.wl = wl, .cq = k};
        }
    }
    return false;
}

static bool second_strategy(struct sl_engine *e, const struct search *s) {
    uint32_t k;
    while ((k = next_queue(e, s)) != NONE) {
        uint32_t mine, theirs;
        almost_common(e, e->cqs.v[s->cq].node, e->cqs.v[k].node, &mine, &theirs);
        struct share new_mine = share_of(e, mine), old_theirs = share_of(e, theirs);
        if (share_cmp(&new_mine, &old_theirs) < 0) {
            evict_for(e, take_next(e, k), SL_CAUSE_IN_COHORT_FAIR_SHARING);
            if (fits(e, s))
                return true;
        }
        e->cqs.v[k].fair.n = 0;
    }
    return false;
}

uint32_t preempt_search_fair(struct sl_engine *e, const struct search *s) {
    struct round *r = &e->round;
    uint32_t first = r->targets.n, n = 0;
    sl_vec_clear(&r->candidates);
    search_bar(e, s);
    collect(e, s);
    if (!r->candidates.n)
        return 0;
    charge_incoming(e, s, 1);
    deal(e, s);
    sl_vec_clear(&r->retry);
    bool ok = first_strategy(e, s);
    if (!ok && e->config.n_fair > 1) {
        sl_vec_clear(&r->candidates);
        for (uint32_t i = 0; i < r->retry.n; i++)
            *sl_vec_push(&r->candidates) = r->retry.v[i];
        deal(e, s);
        ok = second_strategy(e, s);
    }
    charge_incoming(e, s, -1);
    if (ok)
        n = fill_back(e, s, first, true);
    for (uint32_t i = first; i < r->targets.n; i++)
        wl_charge(e, r->targets.v[i].wl, 1);
    r->targets.n = first + n;
    return n;
}
