/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oracle, section 4 of docs/rules.md: who must go so that a workload fits. Classical (rule 4.3) and
 * fair sharing (rule 4.4), on a snapshot that is left as it was found; and our own rules that keep
 * preemption finite.
 */
#include <string.h>

#include "oracle.h"

enum variant { V_SAME_QUEUE, V_HIERARCHY, V_WITHOUT_BORROWING, V_WHILE_BORROWING };

struct candidate {
    int wl;
    enum variant variant;
    int lca;   /* the cohort in whose subtree it was found; -1 in the own queue */
    int klass; /* 0 hierarchy, 1 priority, 2 same queue */
};

struct search {
    struct orc_snap *s;
    const struct orc *o;
    int w, cq;
    const sl_amount *request;
    const bool *contested;
};

/* ---- finiteness: edges P -> V of this epoch ---- */

static bool reaches(const struct orc *o, int from, int to, bool *seen) {
    if (from == to)
        return true;
    if (seen[from])
        return false;
    seen[from] = true;
    for (int v = 0; v < o->n_wls; v++)
        if (o->edge[from][v] && reaches(o, v, to, seen))
            return true;
    return false;
}

bool orc_forbidden(const struct orc *o, int p, int v) {
    bool seen[ORC_WLS] = {false};

    if (o->edge[p][v] && !o->wl[v].evicting)
        return true; /* each pair once */
    return reaches(o, v, p, seen);
}

/* ---- what both algorithms share ---- */

/* Rule 4.2: does a come before b as a victim? */
static bool victim_before(const struct orc *o, int cq, int a, int b) {
    const struct orc_wl *x = &o->wl[a], *y = &o->wl[b];

    if (x->evicting != y->evicting)
        return x->evicting;
    if ((x->cq == cq) != (y->cq == cq))
        return x->cq != cq;
    if (orc_priority(o, a) != orc_priority(o, b))
        return orc_priority(o, a) < orc_priority(o, b);
    if (x->reserved_at != y->reserved_at)
        return x->reserved_at > y->reserved_at;
    return strcmp(x->spec.uid, y->spec.uid) < 0;
}

/* Rule 4.1. */
static bool uses_contested(const struct search *q, int v) {
    for (int p = 0; p < q->o->wl[v].spec.n; p++)
        for (int r = 0; r < ORC_RES; r++) {
            int f = q->o->wl[v].got.flavor[p][r];
            if (f >= 0 && q->contested[orc_fr(f, r)])
                return true;
        }
    return false;
}

static bool within_allows(const struct search *q, int v) {
    const struct orc *o = q->o;
    int64_t mine = orc_priority(o, q->w), theirs = orc_priority(o, v);

    switch (o->cq[q->cq].within) {
    case SL_WITHIN_LOWER:
        return theirs < mine;
    case SL_WITHIN_LOWER_OR_NEWER:
        return theirs < mine || (theirs == mine && orc_order_time(o, q->w) < orc_order_time(o, v));
    default:
        return false;
    }
}

static bool reclaim_allows(const struct search *q, int v) {
    switch (q->o->cq[q->cq].reclaim) {
    case SL_RECLAIM_ANY:
        return true;
    case SL_RECLAIM_LOWER:
        return orc_priority(q->o, v) < orc_priority(q->o, q->w);
    default:
        return false;
    }
}

/* A reserved workload of an active queue that holds something contested and may be touched. */
static bool is_holder(const struct search *q, int v, int cq) {
    const struct orc_wl *wl = &q->o->wl[v];
    return wl->state == ORC_RESERVED && wl->cq == cq && !q->s->gone[v] && q->s->active[cq] &&
           uses_contested(q, v) && !orc_forbidden(q->o, q->w, v);
}

static bool within_nominal(const struct search *q, int n) {
    for (int fr = 0; fr < ORC_FRS; fr++)
        if (q->contested[fr] && orc_usage(q->s, n, fr) > q->s->subtree[n][fr])
            return false;
    return true;
}

static bool fits(const struct search *q, bool borrowing) {
    for (int fr = 0; fr < ORC_FRS; fr++) {
        if (q->request[fr] <= 0)
            continue;
        if (!borrowing &&
            q->s->subtree[q->cq][fr] < sl_amount_add(orc_usage(q->s, q->cq, fr), q->request[fr]))
            return false;
        if (q->request[fr] > orc_available(q->s, q->cq, fr))
            return false;
    }
    return true;
}

static void take_victim(const struct search *q, struct orc_targets *t, int v, enum sl_cause cause) {
    orc_take_out(q->s, v);
    t->wl[t->n] = v;
    t->cause[t->n++] = cause;
}

/* From the second-last removed to the first: who may stay after all. Dropping one moves the last
 * into its place. */
static void fill_back(const struct search *q, struct orc_targets *t, bool borrowing) {
    for (int i = t->n - 2; i >= 0; i--) {
        orc_put_back(q->s, t->wl[i]);
        if (fits(q, borrowing)) {
            t->n--;
            t->wl[i] = t->wl[t->n];
            t->cause[i] = t->cause[t->n];
        } else {
            orc_take_out(q->s, t->wl[i]);
        }
    }
}

static void restore(const struct search *q, const struct orc_targets *t) {
    for (int i = 0; i < t->n; i++)
        orc_put_back(q->s, t->wl[i]);
}

/* ---- 4.3 classical ---- */

static bool fits_in_quota(const struct search *q, int n, sl_amount *remaining) {
    bool ok = true;

    for (int fr = 0; fr < ORC_FRS; fr++) {
        if (q->request[fr] <= 0)
            continue;
        if (sl_amount_add(orc_usage(q->s, n, fr), remaining[fr]) > q->s->subtree[n][fr])
            ok = false;
        remaining[fr] =
            sl_amount_max(0, sl_amount_sub(remaining[fr], orc_local_available(q->s, n, fr)));
    }
    return ok;
}

static enum variant variant_of(const struct search *q, int v, bool advantage) {
    const struct orc_cq *p = &q->o->cq[q->cq];
    int64_t theirs = orc_priority(q->o, v);

    if (advantage)
        return V_HIERARCHY;
    if (p->borrow_within == SL_BORROW_NEVER)
        return V_WITHOUT_BORROWING;
    if (theirs >= orc_priority(q->o, q->w) || (p->has_threshold && theirs > p->threshold))
        return V_WITHOUT_BORROWING;
    return V_WHILE_BORROWING;
}

static int collect(const struct search *q, int cohort, int top, int skip, bool advantage,
                   struct candidate *out, int n) {
    const struct orc *o = q->o;

    for (int c = 0; c < ORC_NODES; c++) {
        if (!o->node[c].exists || o->node[c].parent != cohort || c == skip || c == q->cq)
            continue;
        if (within_nominal(q, c))
            continue;
        if (c >= ORC_CQS) {
            n = collect(q, c, top, skip, advantage, out, n);
            continue;
        }
        for (int v = 0; v < o->n_wls; v++)
            if (is_holder(q, v, c) && reclaim_allows(q, v))
                out[n++] = (struct candidate){v, variant_of(q, v, advantage), top, !advantage};
    }
    return n;
}

static bool candidate_before(const struct search *q, const struct candidate *a,
                             const struct candidate *b) {
    bool ea = q->o->wl[a->wl].evicting, eb = q->o->wl[b->wl].evicting;

    if (ea != eb)
        return ea;
    if (a->klass != b->klass)
        return a->klass < b->klass;
    return victim_before(q->o, q->cq, a->wl, b->wl);
}

static int collect_all(const struct search *q, struct candidate *out) {
    const struct orc *o = q->o;
    int n = 0, skip = -1;
    sl_amount remaining[ORC_FRS];

    if (o->cq[q->cq].reclaim != SL_RECLAIM_NEVER && o->node[q->cq].parent >= 0) {
        memcpy(remaining, q->request, sizeof remaining);
        bool advantage = fits_in_quota(q, q->cq, remaining);
        for (int c = o->node[q->cq].parent; c >= 0; c = o->node[c].parent) {
            n = collect(q, c, c, skip, advantage, out, n);
            advantage |= fits_in_quota(q, c, remaining);
            skip = c;
        }
    }
    for (int v = 0; v < o->n_wls; v++)
        if (is_holder(q, v, q->cq) && within_allows(q, v))
            out[n++] = (struct candidate){v, V_SAME_QUEUE, -1, 2};
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && candidate_before(q, &out[j], &out[j - 1]); j--) {
            struct candidate x = out[j];
            out[j] = out[j - 1];
            out[j - 1] = x;
        }
    return n;
}

/* Re-evaluated as removals happen. */
static bool still_valid(const struct search *q, const struct candidate *c, bool borrowing) {
    int n = q->o->wl[c->wl].cq;

    if (c->variant == V_SAME_QUEUE)
        return true;
    if (borrowing && c->variant == V_WITHOUT_BORROWING)
        return false;
    for (; n != c->lca; n = q->o->node[n].parent)
        if (within_nominal(q, n))
            return false;
    return true;
}

static bool under_nominal(const struct search *q) {
    for (int fr = 0; fr < ORC_FRS; fr++)
        if (q->contested[fr] && orc_usage(q->s, q->cq, fr) >= q->s->subtree[q->cq][fr])
            return false;
    return true;
}

static void classical(const struct search *q, struct orc_targets *t) {
    static const enum sl_cause cause[] = {
        [V_SAME_QUEUE] = SL_CAUSE_IN_CLUSTER_QUEUE,
        [V_HIERARCHY] = SL_CAUSE_IN_COHORT_RECLAMATION,
        [V_WITHOUT_BORROWING] = SL_CAUSE_IN_COHORT_RECLAMATION,
        [V_WHILE_BORROWING] = SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING,
    };
    struct candidate list[ORC_WLS];
    int n = collect_all(q, list), attempts = 2;
    bool outside = false, hierarchy = false, borrowing = true;
    bool forbidden = q->o->cq[q->cq].borrow_within == SL_BORROW_NEVER;

    for (int i = 0; i < n; i++) {
        outside |= list[i].klass != 2;
        hierarchy |= list[i].klass == 0;
    }
    if (!outside || (forbidden && !under_nominal(q)))
        attempts = 1;
    else if (forbidden && !hierarchy)
        borrowing = false;

    for (; attempts > 0; attempts--, borrowing = !borrowing) {
        t->n = 0;
        for (int i = 0; i < n; i++) {
            if (!still_valid(q, &list[i], borrowing))
                continue;
            take_victim(q, t, list[i].wl, cause[list[i].variant]);
            if (fits(q, borrowing)) {
                fill_back(q, t, borrowing);
                restore(q, t);
                return;
            }
        }
        restore(q, t);
    }
    t->n = 0;
}

/* ---- 4.4 fair sharing ---- */

struct ordering {
    int list[ORC_CQS][ORC_WLS], n[ORC_CQS], at[ORC_CQS]; /* sorted candidates of each queue */
    bool pruned[ORC_NODES];
};

static void order_candidates(const struct search *q, struct ordering *ord, const int *v, int n) {
    memset(ord, 0, sizeof *ord);
    for (int i = 0; i < n; i++) {
        int cq = q->o->wl[v[i]].cq;
        ord->list[cq][ord->n[cq]++] = v[i];
    }
}

static bool has_more(const struct ordering *ord, int cq) {
    return ord->at[cq] < ord->n[cq];
}

static bool on_path(const struct search *q, int cohort) {
    for (int n = q->o->node[q->cq].parent; n >= 0; n = q->o->node[n].parent)
        if (n == cohort)
            return true;
    return false;
}

/* The queue to take from next, -1 if this turn only pruned. Cohorts are numbered in name order, so
 * the first of equal cohorts has the smaller name. */
static int next_target(const struct search *q, struct ordering *ord, int cohort) {
    const struct orc *o = q->o;
    struct orc_share top_cq = {0}, top_cohort = {0};
    int best_cq = -1, best_cohort = -1;

    for (int c = 0; c < ORC_NODES; c++) {
        if (!o->node[c].exists || o->node[c].parent != cohort || ord->pruned[c])
            continue;
        struct orc_share sh = orc_share_of(q->s, c);
        if (c >= ORC_CQS) {
            if (!sh.borrowing && !on_path(q, c)) {
                ord->pruned[c] = true;
            } else if (best_cohort < 0 || orc_share_cmp(&sh, &top_cohort) > 0) {
                best_cohort = c;
                top_cohort = sh;
            }
            continue;
        }
        if (!q->s->active[c] || (!sh.borrowing && c != q->cq) || !has_more(ord, c)) {
            ord->pruned[c] = true;
            continue;
        }
        int cmp = best_cq < 0 ? 1 : orc_share_cmp(&sh, &top_cq);
        if (cmp > 0 || (cmp == 0 && victim_before(o, q->cq, ord->list[c][ord->at[c]],
                                                  ord->list[best_cq][ord->at[best_cq]]))) {
            best_cq = c;
            top_cq = sh;
        }
    }
    if (best_cq < 0 && best_cohort < 0) {
        ord->pruned[cohort] = true;
        return -1;
    }
    if (best_cohort >= 0 && (best_cq < 0 || orc_share_cmp(&top_cohort, &top_cq) >= 0))
        return next_target(q, ord, best_cohort);
    return best_cq;
}

/* -1 when there is nothing left. */
static int next_queue(const struct search *q, struct ordering *ord) {
    int root = orc_root(q->o, q->cq), c;

    if (root == q->cq)
        return has_more(ord, q->cq) ? q->cq : -1;
    while (!ord->pruned[root])
        if ((c = next_target(q, ord, root)) >= 0)
            return c;
    return -1;
}

/* The children of the lowest common ancestor on either side. */
static void almost_lca(const struct search *q, int target, int *mine, int *theirs) {
    const struct orc *o = q->o;

    for (*mine = q->cq;; *mine = o->node[*mine].parent)
        for (*theirs = target; *theirs >= 0; *theirs = o->node[*theirs].parent)
            if (o->node[*theirs].parent == o->node[*mine].parent)
                return;
}

static bool fits_without_self(const struct search *q) {
    bool ok;

    orc_add(q->s, q->cq, q->request, -1);
    ok = fits(q, true);
    orc_add(q->s, q->cq, q->request, +1);
    return ok;
}

static bool first_strategy(const struct search *q, const int *v, int n, struct orc_targets *t,
                           int *kept, int *n_kept) {
    const struct orc_config *cfg = &q->o->config;
    struct ordering ord;
    int c, mine, theirs;
    /* Judged once, with the incoming workload added and nobody removed. */
    bool entitled =
        orc_gate(q->o, SL_GATE_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL) && within_nominal(q, q->cq);

    order_candidates(q, &ord, v, n);
    while ((c = next_queue(q, &ord)) >= 0) {
        if (c == q->cq || entitled) {
            take_victim(q, t, ord.list[c][ord.at[c]++],
                        c == q->cq ? SL_CAUSE_IN_CLUSTER_QUEUE : SL_CAUSE_IN_COHORT_RECLAMATION);
            if (fits_without_self(q))
                return true;
            continue;
        }
        almost_lca(q, c, &mine, &theirs);
        struct orc_share preemptor = orc_share_of(q->s, mine), old = orc_share_of(q->s, theirs);
        while (has_more(&ord, c)) {
            int cand = ord.list[c][ord.at[c]++];
            orc_take_out(q->s, cand);
            struct orc_share after = orc_share_of(q->s, theirs);
            orc_put_back(q->s, cand);
            bool pass = cfg->strategy[0] == SL_FAIR_FINAL_SHARE
                            ? orc_share_cmp(&preemptor, &after) <= 0
                            : orc_share_cmp(&preemptor, &old) < 0;
            if (pass) {
                take_victim(q, t, cand, SL_CAUSE_IN_COHORT_FAIR_SHARING);
                if (fits_without_self(q))
                    return true;
                break;
            }
            kept[(*n_kept)++] = cand;
        }
    }
    return false;
}

static bool second_strategy(const struct search *q, const int *kept, int n_kept,
                            struct orc_targets *t) {
    struct ordering ord;
    int c, mine, theirs;

    order_candidates(q, &ord, kept, n_kept);
    while ((c = next_queue(q, &ord)) >= 0) {
        almost_lca(q, c, &mine, &theirs);
        struct orc_share preemptor = orc_share_of(q->s, mine), old = orc_share_of(q->s, theirs);
        if (orc_share_cmp(&preemptor, &old) < 0) {
            take_victim(q, t, ord.list[c][ord.at[c]++], SL_CAUSE_IN_COHORT_FAIR_SHARING);
            if (fits_without_self(q))
                return true;
        }
        ord.pruned[c] = true;
        ord.at[c] = ord.n[c];
    }
    return false;
}

static void fair(const struct search *q, struct orc_targets *t) {
    const struct orc *o = q->o;
    int list[ORC_WLS], kept[ORC_WLS], n = 0, n_kept = 0, root = orc_root(o, q->cq);
    bool found;

    for (int v = 0; v < o->n_wls; v++) {
        int c = o->wl[v].cq;
        if (o->wl[v].state != ORC_RESERVED || !is_holder(q, v, c))
            continue;
        if (c == q->cq ? within_allows(q, v)
                       : orc_root(o, c) == root && !within_nominal(q, c) && reclaim_allows(q, v))
            list[n++] = v;
    }
    if (n == 0)
        return;
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && victim_before(o, q->cq, list[j], list[j - 1]); j--) {
            int x = list[j];
            list[j] = list[j - 1];
            list[j - 1] = x;
        }
    orc_add(q->s, q->cq, q->request, +1);
    found = first_strategy(q, list, n, t, kept, &n_kept);
    if (!found && o->config.n_strategy > 1)
        found = second_strategy(q, kept, n_kept, t);
    orc_add(q->s, q->cq, q->request, -1);
    if (found)
        fill_back(q, t, true);
    restore(q, t);
    if (!found)
        t->n = 0;
}

/* Ours: victims of this very workload that are still stopping are enough if they are enough; nobody
 * else is asked to go. */
static bool on_their_way(const struct search *q, struct orc_targets *t) {
    const struct orc *o = q->o;
    bool enough;

    for (int v = 0; v < o->n_wls; v++) {
        int at = t->n;
        if (o->wl[v].state != ORC_RESERVED || !o->wl[v].evicting || o->wl[v].evicted_by != q->w)
            continue;
        for (; at > 0 && o->wl[t->wl[at - 1]].evicted_nr > o->wl[v].evicted_nr; at--) {
            t->wl[at] = t->wl[at - 1];
            t->cause[at] = t->cause[at - 1];
        }
        t->wl[at] = v;
        t->cause[at] = o->wl[v].evicted_how;
        t->n++;
        orc_take_out(q->s, v);
    }
    enough = t->n > 0 && fits(q, true);
    restore(q, t);
    return enough;
}

void orc_find_targets(struct orc_snap *s, int w, int cq, const sl_amount *request,
                      const bool *contested, struct orc_targets *out) {
    struct search q = {s, s->o, w, cq, request, contested};

    out->n = 0;
    if (on_their_way(&q, out))
        return;
    out->n = 0;
    if (s->o->config.fair)
        fair(&q, out);
    else
        classical(&q, out);
}
