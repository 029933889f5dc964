/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations for a later time. In a ClusterQueue with exact nodes the first workload that was
 * refused gets one, for the earliest time at which nodes (the placer knows) and quota are free,
 * given the known ends of what runs. What has no known end never ends; a workload for which there
 * is no such time holds nothing, and the next one is considered.
 *
 * Others are admitted beside it if they delay none. It gives way to those that come before its
 * workload: in the same queue by that queue's order, in another one by priority and then age; and
 * to those that had to preempt. Quota that it would borrow stays with queues that own it.
 *
 * A plan makes all of them anew, in that same order, so that they depend on the present state
 * alone: a restart makes the same. Between plans a refused workload that comes before the holder
 * takes its place.
 */
#include "core/engine/state.h"

#include <stdlib.h>

/* ---- what is known of the time ---- */

/* To the second, as the API has it: the same after a restart. */
static sl_time full_second(sl_time t) {
    return t == SL_TIME_NEVER ? t : t - t % SL_SEC;
}

static sl_time next_second(sl_time t) {
    return full_second(t) + SL_SEC;
}

/* When a workload that holds quota releases it, as far as is known. */
static sl_time end_of(const struct sl_engine *e, uint32_t wl) {
    const struct eng_wl *w = &e->wls.v[wl];
    if (w->evicting)
        return e->now;
    return w->phase == WL_ADMITTED ? full_second(eng_wl_deadline(w)) : SL_TIME_NEVER;
}

/* When one that waits would end if it started then. */
static sl_time end_from(const struct sl_engine *e, uint32_t wl, sl_time start) {
    const struct eng_wl_extra *m = e->wls.v[wl].extra;
    if (!m || !m->max_exec_s)
        return SL_TIME_NEVER;
    int64_t left = m->max_exec_s - m->past_exec_s;
    return sl_time_add(start, left > 0 ? sl_span_seconds(left) : 0);
}

int64_t eng_later_length(const struct sl_engine *e, uint32_t wl) {
    const struct eng_wl_extra *m = e->wls.v[wl].extra;
    return e->plans_later && m && m->max_exec_s ? m->max_exec_s - m->past_exec_s : 0;
}

void eng_later_begin(struct sl_engine *e) {
    if (e->plans_later || !e->has_placer || !e->placer.later)
        return;
    e->plans_later = e->later_stale = true;
    for (uint32_t i = 0; i < e->wls.n; i++)
        if (e->wls.v[i].phase == WL_WAITING && eng_later_length(e, i))
            eng_wl_requeue(e, i);
}

/* ---- who gives way to whom ---- */

static bool gives_way(const struct sl_engine *e, const struct eng_later *l, uint32_t wl) {
    const struct eng_wl_extra *m = wl == ENG_NONE ? NULL : e->wls.v[wl].extra;
    return wl == ENG_NONE || l->wl == wl || (m && m->preempts) || eng_wl_before(e, wl, l->wl);
}

void eng_later_lift(struct sl_engine *e, uint32_t wl, bool aside) {
    for (uint32_t i = 0; e->n_later && i < e->cqs.n; i++) {
        const struct eng_later *l = &e->cqs.v[i].later;
        if (l->wl != ENG_NONE && gives_way(e, l, wl))
            e->placer.set_aside(e->placer.ctx, eng_wl_id(e, l->wl), aside);
    }
}

/* ---- quota at a later time ---- */

static void charge(struct sl_engine *e, const struct eng_cq *q, int sign) {
    const struct eng_tree *t = eng_cq_tree(e, q);
    for (uint32_t i = 0; i < q->later.uses.n; i++) {
        uint32_t fr = eng_tree_fr(t, q->later.uses.v[i].fr);
        if (fr != ENG_NONE)
            eng_tree_add(e, q->node, fr, sign * q->later.uses.v[i].amount);
    }
}

/* Makes the tree what it is going to be then, for a workload (sign 1), and back (-1): without those
 * that will have ended, and with those that will have started but for that of one queue. */
static void travel(struct sl_engine *e, const struct eng_tree *t, sl_time at, uint32_t wl,
                   uint32_t but, int sign) {
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        const struct eng_cq *q = &e->cqs.v[t->cqs.v[i]];
        const struct eng_later *l = &q->later;
        for (uint32_t k = 0; k < q->reserved.n; k++)
            if (end_of(e, q->reserved.v[k]) <= at)
                eng_wl_charge(e, q->reserved.v[k], -sign);
        if (l->wl != ENG_NONE && t->cqs.v[i] != but && l->at <= at && at < l->until &&
            !gives_way(e, l, wl))
            charge(e, q, sign);
    }
}

static bool fits(const struct sl_engine *e, const struct eng_cq *q) {
    const struct eng_tree *t = eng_cq_tree(e, q);
    struct eng_use uses[MAX_USES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->later.uses.n && n < SL_LEN(uses); i++) {
        uint32_t fr = eng_tree_fr(t, q->later.uses.v[i].fr);
        if (fr != ENG_NONE)
            uses[n++] = (struct eng_use){fr, q->later.uses.v[i].amount};
    }
    return eng_uses_fit(e, q, uses, n, true);
}

static void add_own(struct sl_engine *e, const struct eng_entry *x, int sign) {
    for (uint32_t i = 0; i < x->uses.n; i++) {
        struct eng_use u = e->round.uses.v[x->uses.from + i];
        eng_tree_add(e, e->cqs.v[x->cq].node, u.fr, sign * u.amount);
    }
}

/* Does it take away what this queue's reservation needs at that time? */
static bool would_delay(struct sl_engine *e, const struct eng_entry *x, uint32_t cq, sl_time at) {
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[cq]);
    travel(e, t, at, x->wl, cq, 1);
    bool delays = fits(e, &e->cqs.v[cq]);
    add_own(e, x, 1);
    delays = delays && !fits(e, &e->cqs.v[cq]);
    add_own(e, x, -1);
    travel(e, t, at, x->wl, cq, -1);
    return delays;
}

bool eng_later_allows(struct sl_engine *e, const struct eng_entry *x, sl_time from) {
    if (!e->n_later)
        return true;
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[x->cq]);
    sl_time end = end_from(e, x->wl, from);
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        const struct eng_later *l = &e->cqs.v[t->cqs.v[i]].later;
        sl_time at = l->at > from ? l->at : from;
        if (l->wl == ENG_NONE || at >= end || l->until <= from || gives_way(e, l, x->wl) ||
            (!x->borrow && t->cqs.v[i] != x->cq))
            continue;
        if (would_delay(e, x, t->cqs.v[i], at))
            return false;
    }
    return true;
}

void eng_later_passed(struct sl_engine *e, const struct eng_entry *x) {
    uint32_t tree = eng_cq_node(e, &e->cqs.v[x->cq])->tree;
    for (uint32_t i = 0; e->n_later && i < e->cqs.n && !e->later_stale; i++) {
        const struct eng_later *l = &e->cqs.v[i].later;
        if (l->wl == ENG_NONE || l->wl == x->wl)
            continue;
        bool owns = !x->borrow && i != x->cq && eng_cq_node(e, &e->cqs.v[i])->tree == tree;
        e->later_stale = gives_way(e, l, x->wl) ||
                         (owns && would_delay(e, x, i, l->at > e->now ? l->at : e->now));
    }
}

/* ---- the earliest time ---- */

/* Flavors that fit then, whoever would have to be preempted for others now; 'alone': whatever is
 * reserved. */
static bool assign_at(struct sl_engine *e, struct eng_entry *x, sl_time at, bool alone) {
    const struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[x->cq]);
    const struct eng_shape *s = &e->shapes.v[e->classes.v[x->class].shape];
    uint32_t wl = alone ? ENG_NONE : x->wl;
    int32_t counts[SL_MAX_PODSETS];
    for (uint32_t i = 0; i < s->n; i++)
        counts[i] = s->podsets[i].count;
    travel(e, t, at, wl, ENG_NONE, 1);
    eng_assign_counts(e, x, counts, NULL);
    travel(e, t, at, wl, ENG_NONE, -1);
    return x->mode == MODE_FIT && (alone || eng_later_allows(e, x, at));
}

typedef SL_VEC(sl_time) times;

static int by_time(const void *a, const void *b) {
    sl_time x = *(const sl_time *)a, y = *(const sl_time *)b;
    return x < y ? -1 : x > y;
}

/* When quota of the tree is released, after a time. */
static void collect_ends(const struct sl_engine *e, const struct eng_tree *t, sl_time after,
                         times *ret) {
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        const struct eng_cq *q = &e->cqs.v[t->cqs.v[i]];
        for (uint32_t k = 0; k < q->reserved.n; k++) {
            sl_time end = end_of(e, q->reserved.v[k]);
            if (end > after && end != SL_TIME_NEVER)
                *sl_vec_push(ret) = end;
        }
        if (q->later.wl != ENG_NONE && q->later.until > after && q->later.until != SL_TIME_NEVER)
            *sl_vec_push(ret) = q->later.until;
    }
    if (ret->n)
        qsort(ret->v, ret->n, sizeof(*ret->v), by_time);
}

/* The first of these times, from the one numbered 'from' on, at which it fits, by halving: more is
 * free the later it is, but for what is reserved. Returns their number if there is none. */
static uint32_t first_fit(struct sl_engine *e, struct eng_entry *x, const times *v, uint32_t from,
                          bool alone) {
    struct eng_marks before = eng_round_mark(&e->round);
    uint32_t lo = from, hi = v->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        eng_round_rewind(&e->round, &before);
        if (assign_at(e, x, v->v[mid], alone))
            hi = mid;
        else
            lo = mid + 1;
    }
    eng_round_rewind(&e->round, &before);
    return lo;
}

/* The first time from *at on with quota for it. Between reservations there may be time for a short
 * one: so many times are tried one by one. */
static bool find_quota(struct sl_engine *e, struct eng_entry *x, sl_time *at) {
    struct eng_marks before = eng_round_mark(&e->round);
    times ends = {0};
    if (assign_at(e, x, *at, false))
        return true;
    eng_round_rewind(&e->round, &before);
    collect_ends(e, eng_cq_tree(e, &e->cqs.v[x->cq]), *at, &ends);
    uint32_t i = first_fit(e, x, &ends, 0, true);
    for (uint32_t tries = 0; i < ends.n; i++) {
        if (tries++ == LATER_TRIES)
            i = first_fit(e, x, &ends, i, false);
        eng_round_rewind(&e->round, &before);
        if (i < ends.n && assign_at(e, x, ends.v[i], false))
            break;
    }
    bool found = i < ends.n;
    if (found)
        *at = ends.v[i];
    sl_vec_free(&ends);
    return found;
}

/* Quota and nodes at the same time: the nodes are reserved. */
static bool find_time(struct sl_engine *e, struct eng_entry *x, sl_time *ret_at) {
    struct eng_marks before = eng_round_mark(&e->round);
    sl_time at = next_second(e->now), found;
    for (uint32_t i = 0; i < LATER_TRIES; i++) {
        eng_round_rewind(&e->round, &before);
        if (!find_quota(e, x, &at) || !eng_entry_later(e, x, at, &found))
            break;
        if (found == at) {
            *ret_at = at;
            return true;
        }
        at = found; /* flavors may be others then */
    }
    e->placer.forgo(e->placer.ctx, eng_wl_id(e, x->wl));
    return false;
}

/* ---- what is reported ---- */

/* The workload is evaluated once more, and reported. */
static void evaluate_again(struct sl_engine *e, uint32_t wl) {
    const struct eng_wl *w = &e->wls.v[wl];
    if (w->phase != WL_WAITING || !e->lqs.v[w->lq].live)
        return;
    struct eng_cq *q = &e->cqs.v[e->lqs.v[w->lq].cq];
    if (e->classes.v[w->class].asleep)
        eng_class_wake(e, w->class);
    if (q->seen_head == wl)
        q->seen_head = ENG_NONE;
    eng_cq_mark_dirty(e, q);
}

static void report_passed(struct sl_engine *e, uint32_t wl, uint32_t cq) {
    struct eng_marks before = eng_round_mark(&e->round);
    struct eng_entry x;
    eng_entry_init(e, &x, wl, e->wls.v[wl].class, cq);
    eng_entry_refuse(e, &x, 0, "another workload comes before it");
    eng_effect_pending(e, &x, SL_PENDING_NO_FIT, 0, false);
    eng_round_rewind(&e->round, &before);
}

static void withdraw(struct sl_engine *e, uint32_t wl) {
    struct eng_wl_extra *m = e->wls.v[wl].extra;
    if (!m || !m->promised)
        return;
    m->put_off = m->promised;
    m->promised = m->shown = 0;
    const struct eng_lq *l = &e->lqs.v[e->wls.v[wl].lq];
    if (e->wls.v[wl].phase == WL_WAITING && l->live && e->cqs.v[l->cq].strategy == SL_STRICT_FIFO &&
        eng_cq_head(e, l->cq) != wl)
        report_passed(e, wl, l->cq); /* its turn to be evaluated may not come for long */
    else
        evaluate_again(e, wl);
}

/* An earlier time is good news, a little later is no delay. */
static void promise(struct sl_engine *e, struct eng_later *l) {
    struct eng_wl_extra *m = eng_wl_extra(e, l->wl);
    sl_time at = l->at;
    bool due = at <= next_second(e->now);
    sl_time was = m->promised, shown = m->shown;
    bool later = was == SL_TIME_NEVER ? !due : was && at > sl_time_add(was, LATER_GRACE);
    if (!was || later || (!due && at < was))
        m->promised = due ? SL_TIME_NEVER : at;
    m->shown = !due ? at : later || !shown ? m->promised : shown;
    if (later)
        m->put_off = was;
    l->check = sl_time_add(m->promised == SL_TIME_NEVER ? at : m->promised, LATER_GRACE);
    if (due || later || m->shown != shown) /* if it is due, it may start */
        evaluate_again(e, l->wl);
}

/* ---- making them ---- */

static void clear(struct sl_engine *e, struct eng_later *l) {
    *sl_vec_push(&e->lost) = (struct eng_lost){eng_wl_id(e, l->wl), l->at};
    l->wl = ENG_NONE;
    e->n_later--;
}

void eng_later_drop(struct sl_engine *e, uint32_t cq) {
    struct eng_later *l = &e->cqs.v[cq].later;
    if (e->has_placer)
        e->placer.forgo(e->placer.ctx, eng_wl_id(e, l->wl));
    clear(e, l);
    e->later_stale = true;
}

static bool reserve(struct sl_engine *e, uint32_t class, uint32_t cq) {
    struct eng_cq *q = &e->cqs.v[cq];
    struct eng_marks before = eng_round_mark(&e->round);
    struct eng_entry x;
    sl_time at;
    eng_entry_init(e, &x, sl_ordset_first(&e->classes.v[class].line)->id, class, cq);
    x.later = true;
    eng_plan_update(e, class);
    bool found = find_time(e, &x, &at);
    if (found && q->later.wl != ENG_NONE)
        clear(e, &q->later);
    if (found) {
        const struct eng_tree *t = eng_cq_tree(e, q);
        sl_time end = end_from(e, x.wl, at), least = sl_time_add(at, 2 * LATER_GRACE);
        q->later.wl = x.wl;
        q->later.at = at;
        q->later.until = end > least ? end : least;
        sl_vec_clear(&q->later.uses);
        for (uint32_t i = 0; i < x.uses.n; i++) {
            struct eng_use u = e->round.uses.v[x.uses.from + i];
            if (u.amount > 0)
                *sl_vec_push(&q->later.uses) = (struct eng_use){t->frs[u.fr], u.amount};
        }
        e->n_later++;
    }
    eng_round_rewind(&e->round, &before);
    return found;
}

/* One that replaces another is a slice, and slices get no exact nodes. */
static bool may_reserve(const struct sl_engine *e, uint32_t class, const struct eng_cq *q) {
    uint32_t wl = sl_ordset_first(&e->classes.v[class].line)->id;
    const struct eng_wl_extra *m = e->wls.v[wl].extra;
    return !(m && (m->replaces || m->preempts)) && eng_wl_obstacle(e, wl, q) == SL_PENDING_COUNT;
}

void eng_later_refused(struct sl_engine *e, const struct eng_entry *x) {
    struct eng_cq *q = &e->cqs.v[x->cq];
    uint32_t holder = q->later.wl, wl = x->wl;
    if (!e->plans_later || !q->exact_nodes || e->later_stale || holder == wl ||
        e->wls.v[wl].phase != WL_WAITING ||
        wl != sl_ordset_first(&e->classes.v[x->class].line)->id || !may_reserve(e, x->class, q) ||
        (holder != ENG_NONE && !eng_wl_before(e, wl, holder)))
        return;
    eng_later_lift(e, wl, true);
    bool found = reserve(e, x->class, x->cq);
    eng_later_lift(e, wl, false);
    if (!found && holder != ENG_NONE && q->strategy == SL_STRICT_FIFO)
        eng_later_drop(e, x->cq); /* it is not the head any more */
    if (!found)
        return;
    promise(e, &q->later);
    e->later_stale |= holder != ENG_NONE || e->n_later > 1; /* who gave way is looked at again */
}

/* ---- the plan ---- */

/* Classes of one queue that may get a reservation, in its order. */
struct candidates {
    uint32_t cq, next, end;
};
struct plan {
    SL_VEC(uint32_t) classes;
    SL_VEC(struct candidates) queues;
};

static int by_order(const void *a, const void *b, void *ctx) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x == y ? 0 : eng_class_less(ctx, x, y) ? -1 : 1;
}

/* Those that were refused; and all of them, if nobody was evaluated yet. In a strict queue nobody
 * passes the head. */
static void collect(struct sl_engine *e, uint32_t cq, struct plan *p) {
    const struct eng_cq *q = &e->cqs.v[cq];
    uint32_t first = p->classes.n;
    for (uint32_t i = 0; i < q->asleep.n; i++)
        if (may_reserve(e, q->asleep.v[i], q))
            *sl_vec_push(&p->classes) = q->asleep.v[i];
    for (uint32_t i = 0; i < q->heap.items.n; i++) {
        uint32_t c = q->heap.items.v[i];
        bool refused = sl_ordset_first(&e->classes.v[c].line)->id == q->seen_head;
        if ((refused || (e->later_cold && (i == 0 || q->strategy != SL_STRICT_FIFO))) &&
            may_reserve(e, c, q))
            *sl_vec_push(&p->classes) = c;
    }
    uint32_t n = p->classes.n - first;
    if (!n)
        return;
    qsort_r(p->classes.v + first, n, sizeof(*p->classes.v), by_order, e);
    *sl_vec_push(&p->queues) =
        (struct candidates){cq, first, first + (n < LATER_DEPTH ? n : LATER_DEPTH)};
}

static uint32_t head_of(const struct sl_engine *e, const struct plan *p,
                        const struct candidates *c) {
    return sl_ordset_first(&e->classes.v[p->classes.v[c->next]].line)->id;
}

/* The queue whose candidate comes first; NULL: none is left. */
static struct candidates *next_of(const struct sl_engine *e, struct plan *p) {
    struct candidates *best = NULL;
    for (uint32_t i = 0; i < p->queues.n; i++) {
        struct candidates *c = &p->queues.v[i];
        if (c->next < c->end && (!best || eng_wl_before(e, head_of(e, p, c), head_of(e, p, best))))
            best = c;
    }
    return best;
}

/* Those that had one and have none now; what they held may be for others. */
static void settle_lost(struct sl_engine *e) {
    bool news = false;
    for (uint32_t i = 0; i < e->lost.n; i++) {
        struct eng_lost o = e->lost.v[i];
        uint32_t wl = eng_wl_resolve(e, o.wl);
        uint32_t cq = wl == ENG_NONE ? ENG_NONE : e->lqs.v[e->wls.v[wl].lq].cq;
        const struct eng_later *l = cq == ENG_NONE ? NULL : &e->cqs.v[cq].later;
        if (l && l->wl == wl) {
            news |= l->at != o.at && (o.at > e->now || l->at > next_second(e->now));
            continue;
        }
        news = true;
        e->placer.forgo(e->placer.ctx, o.wl);
        if (wl != ENG_NONE)
            withdraw(e, wl);
    }
    sl_vec_clear(&e->lost);
    if (news)
        eng_places_wake(e);
}

void eng_later_plan(struct sl_engine *e) {
    struct plan p = {0};
    e->later_stale = false;
    for (uint32_t i = 0; i < e->cqs.n; i++) {
        struct eng_cq *q = &e->cqs.v[i];
        if (q->later.wl != ENG_NONE) {
            e->placer.set_aside(e->placer.ctx, eng_wl_id(e, q->later.wl), true);
            clear(e, &q->later);
        }
        if (q->exists && q->active && q->exact_nodes)
            collect(e, i, &p);
    }
    for (struct candidates *c; (c = next_of(e, &p));) {
        uint32_t class = p.classes.v[c->next++];
        if (!reserve(e, class, c->cq))
            continue;
        c->next = c->end;
        promise(e, &e->cqs.v[c->cq].later);
    }
    sl_vec_free(&p.classes);
    sl_vec_free(&p.queues);
    settle_lost(e);
    e->later_cold = false;
}

/* ---- time ---- */

sl_time eng_later_next(const struct sl_engine *e) {
    sl_time at = SL_TIME_NEVER;
    for (uint32_t i = 0; e->n_later && i < e->cqs.n; i++)
        if (e->cqs.v[i].later.wl != ENG_NONE)
            at = sl_time_min(at, e->cqs.v[i].later.check);
    return at;
}

bool eng_later_due(const struct sl_engine *e) {
    return eng_later_next(e) <= e->now;
}
