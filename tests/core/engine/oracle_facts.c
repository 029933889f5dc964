/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oracle: facts. What each object event does to the queues (rule 1.3), which trees must
 * look again, and when an epoch of preemption ends.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "oracle.h"

struct orc *orc_new(const struct orc_config *c) {
    struct orc *o = sl_alloc0(1, sizeof *o);

    o->config = *c;
    for (int n = 0; n < ORC_NODES; n++)
        o->node[n].parent = -1;
    for (int c2 = 0; c2 < ORC_CQS; c2++)
        o->queue[c2].sticky = -1;
    return o;
}

void orc_free(struct orc *o) {
    sl_freep(&o);
}

void orc_say(const struct orc *o, const char *fmt, ...) {
    char line[256];
    va_list ap;

    if (!o->trace)
        return;
    va_start(ap, fmt);
    /* Begun a line above, which clang-tidy 14 does not see here.
     * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    (void)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    o->trace(line);
}

bool orc_gate(const struct orc *o, enum sl_gate g) {
    return (o->config.gates >> g) & 1;
}

bool orc_ns_matches(const struct orc *o, int cq, int ns) {
    switch (o->cq[cq].selects) {
    case ORC_NS_ALL:
        return true;
    case ORC_NS_TEAM:
        return o->ns_team[ns] == o->cq[cq].team;
    default:
        return false;
    }
}

/* ---- hashing: equality of what the scheduler looks at (rule 1.3.15) ---- */

void orc_hash_of(const struct orc *o, int w, struct orc_hash *h) {
    const struct orc_wl *wl = &o->wl[w];

    memset(h, 0, sizeof *h);
    h->priority = orc_priority(o, w);
    h->n = wl->spec.n;
    for (int p = 0; p < h->n; p++) {
        h->ps[p].shape = wl->spec.ps[p];
        h->ps[p].count = orc_count_after_reclaim(wl, p);
    }
}

static bool same_term(const struct orc_term *a, const struct orc_term *b) {
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->rule[i].key != b->rule[i].key || a->rule[i].op != b->rule[i].op ||
            a->rule[i].value != b->rule[i].value)
            return false;
    return true;
}

static bool same_shape(const struct orc_podset *a, const struct orc_podset *b) {
    if (a->min_count != b->min_count || a->group != b->group || a->n_terms != b->n_terms)
        return false;
    for (int r = 0; r < ORC_RES; r++)
        if (a->asks[r] != b->asks[r] || (a->asks[r] && a->each[r] != b->each[r]))
            return false;
    for (int k = 0; k < ORC_KEYS; k++)
        if (a->selector[k] != b->selector[k] || a->tol[k] != b->tol[k])
            return false;
    for (int t = 0; t < a->n_terms; t++)
        if (!same_term(&a->term[t], &b->term[t]))
            return false;
    return true;
}

bool orc_hash_equal(const struct orc_hash *a, const struct orc_hash *b) {
    if (a->priority != b->priority || a->n != b->n)
        return false;
    for (int p = 0; p < a->n; p++)
        if (a->ps[p].count != b->ps[p].count || !same_shape(&a->ps[p].shape, &b->ps[p].shape))
            return false;
    return true;
}

bool orc_bulk_moved(const struct orc *o, int cq, int w) {
    struct orc_hash mine, theirs;

    if (!orc_gate(o, SL_GATE_SCHEDULING_EQUIVALENCE_HASHING))
        return false;
    orc_hash_of(o, w, &mine);
    for (int v = 0; v < o->n_wls; v++) {
        const struct orc_wl *wl = &o->wl[v];
        if (v == w || wl->state != ORC_PENDING || wl->cq != cq || wl->place != ORC_ASLEEP ||
            wl->own_fault || wl->requeued_false != SL_EVICT_NONE)
            continue;
        orc_hash_of(o, v, &theirs);
        if (orc_hash_equal(&mine, &theirs))
            return true;
    }
    return false;
}

/* ---- trees, epochs ---- */

static int wl_cq(const struct orc *o, int w) {
    const struct orc_wl *wl = &o->wl[w];
    return wl->cq >= 0 ? wl->cq : o->lq[wl->spec.lq].exists ? o->lq[wl->spec.lq].cq : -1;
}

/* A fact about this tree: the epoch of its preemptions ends, and it must be looked at. */
static void mark_tree(struct orc *o, int node) {
    int root = orc_root(o, node);

    o->version++;
    for (int c = 0; c < ORC_CQS; c++)
        if (orc_root(o, c) == root)
            o->queue[c].dirty = true;
    for (int p = 0; p < o->n_wls; p++)
        if (wl_cq(o, p) >= 0 && orc_root(o, wl_cq(o, p)) == root)
            for (int v = 0; v < o->n_wls; v++)
                o->edge[p][v] = o->edge[v][p] = false;
}

/* An event of rule 1.3.17. */
static void touch(struct orc *o, int node) {
    int root = orc_root(o, node);

    o->version++;
    for (int c = 0; c < ORC_CQS; c++)
        if (orc_root(o, c) == root)
            o->queue[c].touched = o->queue[c].dirty = true;
}

/* Quotas or edges were recomputed (rule 2.6). */
static void requota(struct orc *o, int node) {
    for (int c = 0; c < ORC_CQS; c++)
        if (orc_root(o, c) == orc_root(o, node))
            o->queue[c].generation++;
}

static void reshaped(struct orc *o, int node) {
    mark_tree(o, node);
    touch(o, node);
    requota(o, node);
}

/* ---- queues of workloads ---- */

static bool admissible(const struct orc_wl *w) {
    return w->state == ORC_PENDING && !w->spec.inactive && !w->spec.gated && !w->spec.on_hold;
}

int orc_cq_of(const struct orc *o, int w) {
    const struct orc_lq *lq = &o->lq[o->wl[w].spec.lq];

    if (!lq->exists || lq->stop != SL_STOP_NONE || lq->cq < 0 || !o->node[lq->cq].exists)
        return -1;
    return lq->cq;
}

static void dequeue(struct orc *o, int w) {
    struct orc_wl *wl = &o->wl[w];

    sl_assert(wl->state != ORC_RESERVED);
    if (wl->cq >= 0 && o->queue[wl->cq].sticky == w)
        o->queue[wl->cq].sticky = -1;
    wl->cq = -1;
    wl->place = ORC_OUT;
}

/* PushOrUpdate, for an object that did change. */
static void push(struct orc *o, int w) {
    struct orc_wl *wl = &o->wl[w];
    int cq = orc_cq_of(o, w);

    wl->has_record = false;
    if (!admissible(wl))
        return;
    if (cq != wl->cq)
        dequeue(o, w);
    if (cq < 0)
        return;
    wl->cq = cq;
    o->queue[cq].dirty = true;
    if (wl->place == ORC_HEAP)
        return;
    wl->place = ORC_HEAP;
    wl->own_fault = false;
    if (wl->requeued_false != SL_EVICT_NONE)
        wl->place = ORC_ASLEEP;
    else if (o->cq[cq].strategy == SL_BEST_EFFORT_FIFO && orc_bulk_moved(o, cq, w))
        wl->place = ORC_ASLEEP;
}

/* A new, resumed or re-pointed LocalQueue, or a new ClusterQueue: all items, no questions. */
static void push_all_of(struct orc *o, int lq) {
    for (int w = 0; w < o->n_wls; w++) {
        struct orc_wl *wl = &o->wl[w];
        int cq = orc_cq_of(o, w);
        if (wl->spec.lq != lq || !admissible(wl) || cq < 0)
            continue;
        if (cq != wl->cq) {
            dequeue(o, w);
            wl->has_record = false;
        }
        wl->cq = cq;
        wl->place = ORC_HEAP;
        o->queue[cq].dirty = true;
    }
}

static void drop_all_of(struct orc *o, int lq) {
    for (int w = 0; w < o->n_wls; w++)
        if (o->wl[w].spec.lq == lq && o->wl[w].state == ORC_PENDING)
            dequeue(o, w);
}

/* ---- configuration objects ---- */

static bool names_flavor(const struct orc *o, int node, int f) {
    for (int g = 0; g < o->node[node].n_groups; g++)
        for (int i = 0; i < o->node[node].group[g].n_flavors; i++)
            if (o->node[node].group[g].flavor[i] == f)
                return o->node[node].exists;
    return false;
}

void orc_set_flavor(struct orc *o, int f, const struct orc_flavor *spec) {
    o->flavor[f] = *spec;
    o->flavor[f].exists = true;
    for (int n = 0; n < ORC_NODES; n++)
        if (names_flavor(o, n, f)) {
            mark_tree(o, n);
            touch(o, n);
        }
}

void orc_flavor_gone(struct orc *o, int f) {
    o->flavor[f].exists = false;
    for (int n = 0; n < ORC_NODES; n++)
        if (names_flavor(o, n, f))
            mark_tree(o, n);
}

static bool same_quota(const struct orc_node *a, const struct orc_node *b) {
    if (a->parent != b->parent || a->n_groups != b->n_groups)
        return false;
    for (int g = 0; g < a->n_groups; g++) {
        const struct orc_group *x = &a->group[g], *y = &b->group[g];
        if (x->n_res != y->n_res || x->n_flavors != y->n_flavors ||
            memcmp(x->res, y->res, sizeof x->res[0] * (size_t)x->n_res) != 0 ||
            memcmp(x->flavor, y->flavor, sizeof x->flavor[0] * (size_t)x->n_flavors) != 0)
            return false;
    }
    for (int fr = 0; fr < ORC_FRS; fr++)
        if (a->q[fr].listed != b->q[fr].listed || a->q[fr].nominal != b->q[fr].nominal ||
            a->q[fr].borrow != b->q[fr].borrow || a->q[fr].lend != b->q[fr].lend)
            return false;
    return true;
}

void orc_set_cohort(struct orc *o, int node, const struct orc_node *spec) {
    if (o->node[node].exists && same_quota(&o->node[node], spec) &&
        o->node[node].weight_nano == spec->weight_nano)
        return;
    reshaped(o, node);
    o->node[node] = *spec;
    o->node[node].exists = true;
    reshaped(o, node);
}

void orc_cohort_gone(struct orc *o, int node) {
    reshaped(o, node);
    memset(&o->node[node], 0, sizeof o->node[node]);
    o->node[node].parent = -1;
    reshaped(o, node);
}

static bool same_policy(const struct orc_cq *a, const struct orc_cq *b) {
    return a->strategy == b->strategy && a->within == b->within && a->reclaim == b->reclaim &&
           a->borrow_within == b->borrow_within && a->has_threshold == b->has_threshold &&
           a->threshold == b->threshold && a->when_borrow == b->when_borrow &&
           a->when_preempt == b->when_preempt && a->preference == b->preference &&
           a->stop == b->stop && a->selects == b->selects && a->team == b->team;
}

void orc_set_cq(struct orc *o, int cq, const struct orc_node *spec, const struct orc_cq *policy) {
    bool is_new = !o->node[cq].exists;
    bool requoted = is_new || !same_quota(&o->node[cq], spec);

    if (!requoted && o->node[cq].weight_nano == spec->weight_nano &&
        same_policy(&o->cq[cq], policy))
        return; /* repeating a fact changes nothing */
    mark_tree(o, cq);
    touch(o, cq);
    if (requoted)
        requota(o, cq);
    o->node[cq] = *spec;
    o->node[cq].exists = true;
    o->cq[cq] = *policy;
    mark_tree(o, cq);
    touch(o, cq);
    if (requoted)
        requota(o, cq);
    if (is_new) {
        o->queue[cq].sticky = -1;
        for (int lq = 0; lq < ORC_LQS; lq++)
            if (o->lq[lq].exists && o->lq[lq].cq == cq)
                push_all_of(o, lq);
    }
}

void orc_cq_gone(struct orc *o, int cq) {
    for (int w = 0; w < o->n_wls; w++)
        if (o->wl[w].state == ORC_PENDING && o->wl[w].cq == cq)
            dequeue(o, w);
    reshaped(o, cq);
    memset(&o->node[cq], 0, sizeof o->node[cq]);
    o->node[cq].parent = -1;
}

void orc_set_lq(struct orc *o, int lq, const struct orc_lq *spec) {
    struct orc_lq old = o->lq[lq];

    if (old.exists && old.cq >= 0)
        mark_tree(o, old.cq);
    o->lq[lq] = *spec;
    o->lq[lq].exists = true;
    if (spec->cq >= 0)
        mark_tree(o, spec->cq);
    if (spec->stop != SL_STOP_NONE)
        drop_all_of(o, lq);
    else if (!old.exists || old.stop != SL_STOP_NONE || old.cq != spec->cq) {
        if (old.exists && old.cq != spec->cq)
            drop_all_of(o, lq);
        for (int w = 0; w < o->n_wls; w++)
            if (o->wl[w].spec.lq == lq && o->wl[w].requeued_false == SL_EVICT_LOCAL_QUEUE_STOPPED)
                o->wl[w].requeued_false = SL_EVICT_NONE;
        push_all_of(o, lq);
    }
}

void orc_lq_gone(struct orc *o, int lq) {
    if (o->lq[lq].exists && o->lq[lq].cq >= 0)
        mark_tree(o, o->lq[lq].cq);
    drop_all_of(o, lq);
    o->lq[lq].exists = false;
}

void orc_set_ns(struct orc *o, int ns, int team) {
    for (int c = 0; c < ORC_CQS; c++) {
        int old = o->ns_team[ns];
        bool before = orc_ns_matches(o, c, ns), after;
        o->ns_team[ns] = team;
        after = orc_ns_matches(o, c, ns);
        o->ns_team[ns] = old;
        if (o->node[c].exists && before != after)
            mark_tree(o, c);
        if (o->node[c].exists && !before && after)
            touch(o, c);
    }
    o->ns_team[ns] = team;
}

/* ---- workloads ---- */

int orc_create(struct orc *o, const struct orc_wl_spec *spec) {
    int w = o->n_wls++;
    struct orc_wl *wl = &o->wl[w];

    sl_assert(o->n_wls <= ORC_WLS);
    memset(wl, 0, sizeof *wl);
    wl->spec = *spec;
    wl->state = ORC_PENDING;
    wl->cq = -1;
    wl->preempted_at = wl->evicted_by = -1;
    if (wl_cq(o, w) >= 0)
        mark_tree(o, wl_cq(o, w));
    push(o, w);
    return w;
}

void orc_update(struct orc *o, int w, const struct orc_wl_spec *spec) {
    struct orc_wl *wl = &o->wl[w];
    bool moved = spec->lq != wl->spec.lq, ended = spec->inactive && !wl->spec.inactive;

    if (wl_cq(o, w) >= 0)
        mark_tree(o, wl_cq(o, w));
    if (wl->state == ORC_RESERVED) {
        bool raised = wl->spec.priority != spec->priority || wl->spec.boost != spec->boost;
        o->queue[wl->cq].generation++;
        wl->spec = *spec;
        if (raised || ended)
            touch(o, wl->cq);
        return;
    }
    if (moved)
        dequeue(o, w);
    wl->spec = *spec;
    if (wl_cq(o, w) >= 0)
        mark_tree(o, wl_cq(o, w));
    if (spec->inactive || spec->on_hold) {
        if (ended && wl_cq(o, w) >= 0)
            touch(o, wl_cq(o, w));
        wl->has_record = false;
        dequeue(o, w);
        return;
    }
    if (wl->requeued_false == SL_EVICT_DEACTIVATED)
        wl->requeued_false = SL_EVICT_NONE; /* reactivated */
    push(o, w);
}

static void leave(struct orc *o, int w, enum orc_state to) {
    struct orc_wl *wl = &o->wl[w];
    int cq = wl_cq(o, w);

    if (cq >= 0) {
        mark_tree(o, cq);
        touch(o, cq);
    }
    if (wl->state == ORC_RESERVED) {
        o->queue[wl->cq].generation++;
        wl->state = ORC_PENDING;
    }
    dequeue(o, w);
    wl->state = to;
    wl->evicting = false;
    wl->has_record = false;
}

void orc_delete(struct orc *o, int w) {
    leave(o, w, ORC_ABSENT);
}

void orc_finish(struct orc *o, int w) {
    leave(o, w, ORC_FINISHED);
}

/* Rule 4.7: back to pending. Does not end the epoch. */
void orc_release(struct orc *o, int w) {
    struct orc_wl *wl = &o->wl[w];
    int cq = wl->cq;

    sl_assert(wl->state == ORC_RESERVED && wl->evicting);
    touch(o, cq);
    o->queue[cq].generation++;
    wl->state = ORC_PENDING;
    wl->evicting = false;
    wl->evicted_by = -1;
    wl->cq = -1;
    wl->place = ORC_OUT;
    wl->requeued_false = SL_EVICT_NONE;
    if (wl->evicted_for != SL_EVICT_PREEMPTED && wl->evicted_for != SL_EVICT_NODE_FAILURES)
        wl->requeued_false = wl->evicted_for;
    if (wl->requeued_false == SL_EVICT_DEACTIVATED && !wl->spec.inactive)
        wl->requeued_false = SL_EVICT_NONE;
    if (wl->requeued_false == SL_EVICT_LOCAL_QUEUE_STOPPED &&
        o->lq[wl->spec.lq].stop == SL_STOP_NONE)
        wl->requeued_false = SL_EVICT_NONE;
    push(o, w);
}

void orc_reclaimable(struct orc *o, int w, const int *counts) {
    struct orc_wl *wl = &o->wl[w];

    if (wl_cq(o, w) >= 0)
        mark_tree(o, wl_cq(o, w));
    for (int p = 0; p < wl->spec.n; p++)
        wl->reclaimed[p] = counts[p];
    if (wl->state == ORC_PENDING) {
        push(o, w);
        return;
    }
    /* Rule 2.1: usage shrinks by whole pods. */
    memset(wl->got.usage, 0, sizeof wl->got.usage);
    for (int p = 0; p < wl->spec.n; p++) {
        int left = orc_count_after_reclaim(wl, p);
        for (int r = 0; r < ORC_RES; r++) {
            if (wl->got.flavor[p][r] < 0)
                continue;
            int fr = orc_fr(wl->got.flavor[p][r], r);
            if (left < wl->got.count[p])
                wl->got.amount[p][r] = wl->got.amount[p][r] / wl->got.count[p] * left;
            wl->got.usage[fr] = sl_amount_add(wl->got.usage[fr], wl->got.amount[p][r]);
        }
        if (left < wl->got.count[p])
            wl->got.count[p] = left;
    }
    o->queue[wl->cq].generation++;
    touch(o, wl->cq);
}

/* ---- looking at itself ---- */

const char *orc_check(const struct orc *o) {
    struct orc_snap s;

    orc_snapshot(o, &s);
    for (int w = 0; w < o->n_wls; w++) {
        const struct orc_wl *wl = &o->wl[w];
        if ((wl->place != ORC_OUT) != (wl->state == ORC_PENDING && wl->cq >= 0))
            return "a workload waits without a queue, or has a queue and does not wait";
        if (wl->evicting && wl->state != ORC_RESERVED)
            return "an evicted workload that holds nothing";
    }
    for (int p = 0; p < o->n_wls; p++)
        for (int v = 0; v < o->n_wls; v++)
            if (o->edge[p][v] && orc_forbidden(o, p, p) && orc_forbidden(o, v, p) == false)
                return "a cycle of preemptions";
    return NULL;
}
