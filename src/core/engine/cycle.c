/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds. A round evaluates the head of every ClusterQueue that has one, against the present state,
 * then processes them in order: reserve, start preempting, or requeue. A cycle is rounds until
 * nothing is left to decide. What a preemptor will need is charged to the tree for the rest of its
 * round, so that later ones do not take it.
 *
 * A cycle terminates: every round either reserves quota, evicts (finite, see preempt/preempt.c),
 * puts a class to sleep, advances a scan over a finite list of flavors, or leaves every head as it
 * was, and heads that were evaluated in the present state of their tree are not evaluated again.
 */
#include "core/engine/state.h"

#include <stdlib.h>
#include <string.h>

/* Every vector has storage from the start, so that an empty range is still a range of something. */
void eng_round_init(struct eng_round *r) {
    sl_arena_init(&r->text, UINT64_C(1) << 30);
    sl_vec_reserve(&r->entries, 16);
    sl_vec_reserve(&r->picks, 16);
    sl_vec_reserve(&r->uses, 16);
    sl_vec_reserve(&r->whys, 16);
    sl_vec_reserve(&r->targets, 16);
    sl_vec_reserve(&r->tried, 16);
    sl_vec_reserve(&r->counts, 16);
    sl_vec_reserve(&r->lacks, 16);
    sl_vec_reserve(&r->candidates, 16);
    sl_vec_reserve(&r->contested, 16);
}

void eng_round_done(struct eng_round *r) {
    sl_vec_free(&r->entries);
    sl_vec_free(&r->order);
    sl_vec_free(&r->picks);
    sl_vec_free(&r->uses);
    sl_vec_free(&r->whys);
    sl_vec_free(&r->targets);
    sl_vec_free(&r->tried);
    sl_vec_free(&r->counts);
    sl_vec_free(&r->charges);
    sl_vec_free(&r->victims);
    sl_vec_free(&r->candidates);
    sl_vec_free(&r->lacks);
    sl_vec_free(&r->processed);
    sl_vec_free(&r->contested);
    sl_vec_free(&r->barred);
    sl_vec_free(&r->memo);
    sl_arena_done(&r->text);
}

void eng_round_clear(struct eng_round *r) {
    sl_vec_clear(&r->entries);
    sl_vec_clear(&r->order);
    sl_vec_clear(&r->picks);
    sl_vec_clear(&r->uses);
    sl_vec_clear(&r->whys);
    sl_vec_clear(&r->targets);
    sl_vec_clear(&r->tried);
    sl_vec_clear(&r->counts);
    sl_vec_clear(&r->victims);
    sl_vec_clear(&r->lacks);
    sl_vec_clear(&r->processed);
    if (r->text.used)
        sl_arena_clear(&r->text);
}

struct eng_marks eng_round_mark(const struct eng_round *r) {
    return (struct eng_marks){r->picks.n, r->uses.n,   r->whys.n, r->targets.n,
                              r->tried.n, r->counts.n, r->lacks.n};
}

void eng_round_rewind(struct eng_round *r, const struct eng_marks *m) {
    r->picks.n = m->picks;
    r->uses.n = m->uses;
    r->whys.n = m->whys;
    r->targets.n = m->targets;
    r->tried.n = m->tried;
    r->counts.n = m->counts;
    r->lacks.n = m->lacks;
}

/* ---- looking ---- */

static struct eng_ns *find_ns(const struct sl_engine *e, sl_sym name) {
    uint32_t i = sl_map_get(&e->ns_map, name);
    return i == SL_MAP_NONE ? NULL : &e->namespaces.v[i];
}

enum sl_pending_kind eng_wl_obstacle(const struct sl_engine *e, uint32_t wl,
                                     const struct eng_cq *q) {
    const struct eng_wl *w = &e->wls.v[wl];
    const struct eng_wl_extra *m = w->extra;
    for (uint32_t i = 0; m && i < m->checks.n; i++)
        if (m->checks.v[i].state == SL_CHECK_RETRY || m->checks.v[i].state == SL_CHECK_REJECTED)
            return SL_PENDING_FAILED_CHECKS;
    const struct eng_ns *ns = find_ns(e, w->ns);
    if (ns && !ns->exists)
        return SL_PENDING_NS_MISSING;
    struct sl_labels none = {0};
    if (!sl_selector_matches(&q->namespaces, ns ? &ns->labels : &none))
        return SL_PENDING_NS_MISMATCH;
    if (m && m->invalid)
        return SL_PENDING_INVALID;
    return SL_PENDING_COUNT;
}

static void forget_resume(struct sl_engine *e, uint32_t wl) {
    struct eng_wl_extra *m = e->wls.v[wl].extra;
    if (m)
        sl_vec_clear(&m->resume);
}

/* Takes one workload out of its line until something in the tree changes. */
static void park_until_event(struct sl_engine *e, uint32_t wl) {
    struct eng_wl_extra *m = eng_wl_extra(e, wl);
    m->until_event = m->alone = true;
    eng_wl_requeue(e, wl);
}

static void nominate_head(struct sl_engine *e, uint32_t cq, uint32_t head) {
    struct eng_cq *q = &e->cqs.v[cq];
    struct eng_entry *x = sl_vec_push(&e->round.entries);
    q->entry = e->round.entries.n - 1;
    eng_entry_init(e, x, head, e->wls.v[head].class, cq);
    enum sl_pending_kind obstacle = eng_wl_obstacle(e, head, q);
    if (obstacle == SL_PENDING_COUNT) {
        eng_assign_flavors(e, x);
        return;
    }
    bool leaves = q->strategy == SL_BEST_EFFORT_FIFO || obstacle == SL_PENDING_NS_MISMATCH;
    eng_effect_pending(e, x, obstacle, 0, leaves);
    uint64_t version = x->version;
    q->entry = ENG_NONE;
    e->round.entries.n--;
    if (leaves) {
        eng_cq_tree(e, q)->left = true;
        park_until_event(e, head);
    } else {
        q->seen_head = head;
        q->seen_version = version;
    }
}

static bool has_fresh_head(struct sl_engine *e, const struct eng_tree *t) {
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        const struct eng_cq *q = &e->cqs.v[t->cqs.v[i]];
        if (!q->active || sl_heap_empty(&q->heap))
            continue;
        if (q->seen_version != t->version || q->seen_head != eng_cq_head(e, t->cqs.v[i]))
            return true;
    }
    return false;
}

/* The heads of all trees in which something is worth an evaluation. */
static void gather_heads(struct sl_engine *e) {
    uint32_t keep = 0;
    for (uint32_t i = 0; i < e->dirty_trees.n; i++) {
        uint32_t id = e->dirty_trees.v[i];
        struct eng_tree *t = &e->trees.v[id];
        if (t->freed || t->wake_all)
            eng_tree_wake(e, t);
        if (!has_fresh_head(e, t)) {
            t->dirty = false;
            continue;
        }
        e->dirty_trees.v[keep++] = id;
        for (uint32_t k = 0; k < t->cqs.n; k++) {
            uint32_t cq = t->cqs.v[k];
            if (!e->cqs.v[cq].active)
                continue;
            uint32_t head = eng_cq_head(e, cq);
            if (head != ENG_NONE)
                nominate_head(e, cq, head);
        }
    }
    e->dirty_trees.n = keep;
}

/* ---- processing ---- */

/* Marks of all victims of the preemptors of this round, and back. */
static void remove_victims(struct sl_engine *e, const struct eng_entry *x, int sign) {
    struct eng_round *r = &e->round;
    uint32_t tree = eng_cq_node(e, &e->cqs.v[x->cq])->tree;
    for (uint32_t i = 0; i < r->victims.n; i++) {
        uint32_t v = r->victims.v[i];
        if (eng_cq_node(e, &e->cqs.v[e->wls.v[v].admission->cq])->tree == tree)
            eng_wl_charge(e, v, sign);
    }
    for (uint32_t i = 0; i < x->targets.n; i++) {
        uint32_t v = r->targets.v[x->targets.from + i].wl;
        if (!e->wls.v[v].victim)
            eng_wl_charge(e, v, sign);
    }
}

/* Takes out (sign -1) what was charged in this round without being reserved, or puts it back. */
static void undo_charges(struct sl_engine *e, uint32_t tree, int sign) {
    const struct eng_round *r = &e->round;
    for (uint32_t i = 0; i < r->charges.n; i++) {
        const struct eng_undo *u = &r->charges.v[i];
        if (eng_cq_node(e, &e->cqs.v[u->cq])->tree == tree)
            eng_tree_add(e, e->cqs.v[u->cq].node, u->fr, sign * u->amount);
    }
}

static bool still_fits(struct sl_engine *e, const struct eng_entry *x) {
    const struct eng_cq *q = &e->cqs.v[x->cq];
    const struct eng_use *u = e->round.uses.v + x->uses.from;
    remove_victims(e, x, -1);
    bool ok = eng_uses_fit(e, q, u, x->uses.n, true);
    remove_victims(e, x, 1);
    if (!ok || x->mode != MODE_FIT || !e->round.victims.n)
        return ok;
    /* Victims still run: what starts at once must fit beside them, so that quota is never exceeded,
     * not even for a moment. */
    undo_charges(e, eng_cq_node(e, q)->tree, -1);
    ok = eng_uses_fit(e, q, u, x->uses.n, true);
    undo_charges(e, eng_cq_node(e, q)->tree, 1);
    return ok;
}

static void charge_usage(struct sl_engine *e, const struct eng_entry *x, uint32_t fr,
                         sl_amount amount) {
    if (amount <= 0)
        return;
    eng_tree_add(e, e->cqs.v[x->cq].node, fr, amount);
    *sl_vec_push(&e->round.charges) = (struct eng_undo){x->cq, fr, amount};
}

/* Reserves capacity for a workload that has no victims now, unless its queue can always reclaim. */
static void reserve_capacity(struct sl_engine *e, const struct eng_entry *x) {
    const struct eng_cq *q = &e->cqs.v[x->cq];
    if (q->reclaim == SL_RECLAIM_ANY)
        return;
    for (uint32_t i = 0; i < x->uses.n; i++) {
        struct eng_use u = e->round.uses.v[x->uses.from + i];
        const struct eng_cell *c = eng_cell_at(e, q->node, u.fr);
        sl_amount left;
        if (!x->borrow)
            left = sl_amount_sub(c->nominal, eng_cell_used(c));
        else if (c->borrow != SL_AMOUNT_NONE)
            left = sl_amount_sub(sl_amount_add(c->nominal, c->borrow), eng_cell_used(c));
        else
            left = u.amount;
        charge_usage(e, x, u.fr, sl_amount_min(u.amount, left));
    }
}

static void issue_preemptions(struct sl_engine *e, struct eng_entry *x) {
    struct eng_round *r = &e->round;
    struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[x->cq]);
    for (uint32_t i = 0; i < x->targets.n; i++) {
        struct eng_target tg = r->targets.v[x->targets.from + i];
        struct eng_wl *v = &e->wls.v[tg.wl];
        v->victim = true;
        *sl_vec_push(&r->victims) = tg.wl;
        if (v->evicting)
            continue; /* on its way out already */
        *sl_vec_push(&t->edges) = (struct eng_edge){x->wl, tg.wl};
        t->version++; /* already evicted ones are taken first from now on */
        eng_wl_evict(e, tg.wl, SL_EVICT_PREEMPTED, tg.cause, x->wl, NULL);
        e->stats.preemptions++;
    }
    struct eng_cq *q = &e->cqs.v[x->cq];
    if (q->strategy == SL_BEST_EFFORT_FIFO)
        q->sticky = x->wl;
    eng_wl_extra(e, x->wl)->preempts = true;
    forget_resume(e, x->wl);
}

/* Is one of its victims already taken: by another preemptor, or by the slice that follows? */
static bool overlaps(const struct sl_engine *e, const struct eng_entry *x) {
    if (x->slice != ENG_NONE && e->wls.v[x->slice].victim)
        return true;
    for (uint32_t i = 0; i < x->targets.n; i++)
        if (e->wls.v[e->round.targets.v[x->targets.from + i].wl].victim)
            return true;
    return false;
}

/* A preemptor goes before those it evicted: what they gave up is for it. */
static void preemptors_first(struct sl_engine *e, uint32_t i) {
    uint32_t wl = e->round.entries.v[i].wl;
    const struct eng_wl_extra *m = e->wls.v[wl].extra;
    if (!m || m->order_evict != SL_EVICT_PREEMPTED)
        return;
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[e->round.entries.v[i].cq]);
    for (uint32_t g = 0; g < t->edges.n; g++) {
        uint32_t by = t->edges.v[g].preemptor, cq = e->lqs.v[e->wls.v[by].lq].cq;
        if (t->edges.v[g].victim != wl || cq == ENG_NONE || e->cqs.v[cq].entry == ENG_NONE)
            continue;
        if (e->round.entries.v[e->cqs.v[cq].entry].wl == by)
            eng_entry_process(e, e->cqs.v[cq].entry);
    }
}

static void preempt(struct sl_engine *e, struct eng_entry *x) {
    x->outcome = OUT_PREEMPTING;
    for (uint32_t k = 0; k < x->uses.n; k++)
        charge_usage(e, x, e->round.uses.v[x->uses.from + k].fr,
                     e->round.uses.v[x->uses.from + k].amount);
    issue_preemptions(e, x);
    eng_effect_pending(e, x, SL_PENDING_PREEMPTION, x->targets.n, false);
}

void eng_entry_process(struct sl_engine *e, uint32_t i) {
    struct eng_entry *x = &e->round.entries.v[i];
    if (x->processed || e->blocked_by_ready)
        return;
    x->processed = true;
    preemptors_first(e, i);
    if (e->blocked_by_ready)
        return;
    *sl_vec_push(&e->round.processed) = i;
    if (x->mode == MODE_NO_FIT) {
        x->outcome = OUT_NO_FIT;
        return;
    }
    if (x->mode == MODE_PREEMPT && !x->targets.n) {
        x->outcome = OUT_NO_CANDIDATES;
        reserve_capacity(e, x);
        return;
    }
    if (x->mode == MODE_PREEMPT && e->wls.v[x->wl].spares) {
        x->outcome = OUT_GATED;
        return;
    }
    bool overlap = overlaps(e, x);
    if (overlap || !still_fits(e, x)) {
        x->outcome = OUT_SKIPPED;
        eng_cq_tree(e, &e->cqs.v[x->cq])->skipped = true;
        forget_resume(e, x->wl);
        eng_effect_pending(e, x, overlap ? SL_PENDING_OVERLAP : SL_PENDING_LOST_RACE, 0, false);
        return;
    }
    if (x->slice != ENG_NONE)
        e->wls.v[x->slice].victim = true;
    if (x->mode == MODE_PREEMPT) {
        preempt(e, x);
        return;
    }
    if (e->config.pods_ready && e->config.block_admission && e->n_not_ready) {
        e->blocked_by_ready = true; /* not requeued: evaluated again when all are ready */
        eng_effect_pending(e, x, SL_PENDING_PODS_READY, 0, false);
        return;
    }
    if (!eng_later_allows(e, x, e->now)) {
        x->outcome = OUT_NO_FIT;
        eng_entry_refuse(e, x, 0,
                         "it would delay a workload that has quota reserved for a later "
                         "time");
        return;
    }
    if (e->has_placer && !eng_entry_place(e, x)) {
        x->outcome = OUT_NO_FIT;
        if (!e->placer.could || eng_entry_is_next(e, x))
            return;
        if (eng_find_targets(e, x))
            x->mode = MODE_PREEMPT; /* those that block it */
        else if (!eng_assign_fewer(e, x) || (x->mode == MODE_FIT && !eng_entry_place(e, x)))
            return;
        if (x->mode == MODE_PREEMPT && e->wls.v[x->wl].spares)
            x->outcome = OUT_GATED;
        else if (x->mode == MODE_PREEMPT && !overlaps(e, x))
            preempt(e, x);
        if (x->mode == MODE_PREEMPT)
            return;
    }
    x->outcome = OUT_DONE;
    eng_later_passed(e, x);
    eng_wl_reserve(e, x);
}

/* ---- order ---- */

static int cmp_entries(const void *a, const void *b, void *ctx) {
    const struct sl_engine *e = ctx;
    const struct eng_entry *x = &e->round.entries.v[*(const uint32_t *)a];
    const struct eng_entry *y = &e->round.entries.v[*(const uint32_t *)b];
    const struct eng_wl *v = &e->wls.v[x->wl], *w = &e->wls.v[y->wl];
    if (x->borrow != y->borrow)
        return x->borrow < y->borrow ? -1 : 1;
    if (eng_gate_on(e, SL_GATE_PRIORITY_SORTING_WITHIN_COHORT)) {
        int64_t p = eng_wl_priority(e, v), q = eng_wl_priority(e, w);
        if (p != q)
            return p > q ? -1 : 1;
    }
    if (v->order_at != w->order_at)
        return v->order_at < w->order_at ? -1 : 1;
    return eng_wl_tie(e, x->wl, y->wl);
}

/* ---- sending back ---- */

/* Evaluations of one unchanged tree are bounded, so that a scan cannot start over forever. */
static bool may_resume(struct sl_engine *e, const struct eng_entry *x) {
    if (!x->has_resume)
        return false;
    struct eng_wl_extra *m = eng_wl_extra(e, x->wl);
    if (m->evaluated_version != x->version || m->evaluated_cycle != e->stats.cycles) {
        m->evaluated_version = x->version;
        m->evaluated_cycle = e->stats.cycles;
        m->evaluations = 0;
    }
    uint32_t flavors = 0;
    const struct eng_node *n = eng_cq_node(e, &e->cqs.v[x->cq]);
    for (uint32_t i = 0; i < n->n_groups; i++)
        flavors += n->groups[i].n_flavors;
    return ++m->evaluations <= flavors + 2;
}

void eng_class_set_lacks(struct sl_engine *e, const struct eng_entry *x) {
    struct eng_class *c = &e->classes.v[x->class];
    /* Preferring not to borrow, it may have passed over a flavor that fits by borrowing: what frees
     * that one is not among its lacks. */
    bool prefers_preemption = e->cqs.v[x->cq].preference == SL_PREEMPTION_OVER_BORROWING;
    /* What a slice lacks depends on the one before it. */
    const struct eng_wl_extra *m = e->wls.v[x->wl].extra;
    c->wake_always = prefers_preemption || x->lacks.n > MAX_LACKS || c->plan.steps.n > 1 ||
                     x->resumed || e->shapes.v[c->shape].partial || (m && m->replaces);
    c->n_lacks = c->wake_always ? 0 : (uint8_t)x->lacks.n;
    for (uint32_t i = 0; i < c->n_lacks; i++)
        c->lacks[i] = e->round.lacks.v[x->lacks.from + i];
}

/* One that was refused for itself before and is refused for quota now is like all the others again.
 */
static void rejoin(struct sl_engine *e, struct eng_entry *x) {
    struct eng_wl_extra *m = e->wls.v[x->wl].extra;
    if (!m || !m->alone)
        return;
    m->alone = false;
    eng_wl_requeue(e, x->wl);
    x->class = e->wls.v[x->wl].class;
    eng_plan_update(e, x->class);
}

static void send_back(struct sl_engine *e, struct eng_entry *x) {
    static const enum sl_pending_kind kinds[] = {[OUT_NO_FIT] = SL_PENDING_NO_FIT,
                                                 [OUT_NO_CANDIDATES] = SL_PENDING_NO_CANDIDATES,
                                                 [OUT_GATED] = SL_PENDING_GATED};
    struct eng_cq *q = &e->cqs.v[x->cq];
    if (x->outcome == OUT_NO_FIT || x->outcome == OUT_NO_CANDIDATES || x->outcome == OUT_GATED) {
        bool again = may_resume(e, x);
        /* One that waits for its victims and has scanned in circles goes on waiting in the heap. */
        bool circling = x->has_resume && q->sticky == x->wl;
        bool sleeps = !again && !circling && q->strategy == SL_BEST_EFFORT_FIFO;
        if (!again)
            eng_later_refused(e, x);
        eng_effect_pending(e, x, kinds[x->outcome], 0, sleeps);
        forget_resume(e, x->wl);
        if (again) {
            struct eng_wl_extra *m = eng_wl_extra(e, x->wl);
            for (uint32_t i = 0; i < x->tried.n; i++)
                *sl_vec_push(&m->resume) = e->round.tried.v[x->tried.from + i];
            m->resume_gen = q->alloc_gen;
            q->seen_head = ENG_NONE; /* the scan goes on in the next round */
            return;
        }
        if (sleeps) {
            rejoin(e, x);
            eng_cq_tree(e, q)->left = true;
            eng_class_set_lacks(e, x);
            eng_class_sleep(e, x->class, x->wl);
            return;
        }
    }
    q->seen_head = x->wl;
    q->seen_version = x->version;
}

void eng_round_run(struct sl_engine *e) {
    struct eng_round *r = &e->round;
    eng_round_clear(r);
    gather_heads(e);
    if (!r->entries.n)
        return;
    e->stats.rounds++;
    for (uint32_t i = 0; i < r->entries.n; i++)
        *sl_vec_push(&r->order) = i;
    if (e->config.fair_sharing) {
        eng_fair_order_run(e);
    } else {
        if (r->order.n > 1)
            qsort_r(r->order.v, r->order.n, sizeof(uint32_t), cmp_entries, e);
        for (uint32_t i = 0; i < r->order.n && !e->blocked_by_ready; i++)
            eng_entry_process(e, r->order.v[i]);
    }
    for (uint32_t i = r->charges.n; i-- > 0;) {
        const struct eng_undo *u = &r->charges.v[i];
        eng_tree_add(e, e->cqs.v[u->cq].node, u->fr, -u->amount);
    }
    sl_vec_clear(&r->charges);
    for (uint32_t i = 0; i < r->victims.n; i++)
        e->wls.v[r->victims.v[i]].victim = false;
    for (uint32_t i = 0; i < r->entries.n; i++) {
        e->cqs.v[r->entries.v[i].cq].entry = ENG_NONE;
        if (r->entries.v[i].slice != ENG_NONE)
            e->wls.v[r->entries.v[i].slice].victim = false;
    }
    for (uint32_t i = 0; i < r->processed.n; i++) {
        struct eng_entry *x = &r->entries.v[r->processed.v[i]];
        if (x->outcome != OUT_DONE && x->outcome != OUT_OPEN)
            send_back(e, x);
    }
    /* Capacity reserved for a head that has left is free again: those that lost to it are evaluated
     * again. */
    for (uint32_t i = 0; i < e->dirty_trees.n; i++) {
        struct eng_tree *t = &e->trees.v[e->dirty_trees.v[i]];
        t->version += t->skipped && t->left;
        t->skipped = t->left = false;
    }
}
