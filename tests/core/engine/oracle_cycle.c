/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oracle, section 1 of docs/rules.md: one literal scheduler cycle after another (rules 1.4 to 1.8),
 * the queues (rule 1.3), the tournament (rule 3.7) and the order that rule 10.1 adds.
 */
#include <stdio.h>
#include <string.h>

#include "oracle.h"

enum reason { R_GENERIC, R_NO_FIT, R_NO_CANDIDATES, R_PENDING_PREEMPTION, R_FAILED, R_NS_MISMATCH };

struct entry {
    int w, cq;
    bool nominated; /* else refused before a flavor was looked at */
    bool processed, reserved;
    struct orc_assignment a;
    struct orc_targets t;
    enum reason reason;
};

struct cycle {
    struct orc *o;
    sl_time now;
    int root;
    struct orc_snap s;
    int n;
    struct entry e[ORC_CQS];
    bool victim[ORC_WLS];
    bool acted; /* reserved or evicted somebody */
};

/* ---- order keys ---- */

int64_t orc_priority(const struct orc *o, int w) {
    const struct orc_wl_spec *s = &o->wl[w].spec;
    return (int64_t)s->priority + (orc_gate(o, SL_GATE_PRIORITY_BOOST) ? s->boost : 0);
}

/* Rule 1.2. */
sl_time orc_order_time(const struct orc *o, int w) {
    const struct orc_wl *wl = &o->wl[w];

    if (!orc_gate(o, SL_GATE_PRIORITY_SORTING_WITHIN_COHORT) && wl->preempted_at >= 0)
        return wl->preempted_at + SL_MSEC;
    return wl->spec.created;
}

static bool queue_order_before(const struct orc *o, int a, int b) {
    if (orc_order_time(o, a) != orc_order_time(o, b))
        return orc_order_time(o, a) < orc_order_time(o, b);
    return strcmp(o->wl[a].spec.uid, o->wl[b].spec.uid) < 0;
}

bool orc_before(const struct orc *o, int a, int b) {
    int cq = o->wl[a].cq, sticky = o->queue[cq].sticky;

    if (o->cq[cq].strategy == SL_BEST_EFFORT_FIFO && (a == sticky || b == sticky))
        return a == sticky;
    if (orc_priority(o, a) != orc_priority(o, b))
        return orc_priority(o, a) > orc_priority(o, b);
    return queue_order_before(o, a, b);
}

/* The same key, across queues; priority counts only where rules 1.6 and 3.7 let it. */
static bool tie_before(const struct orc *o, int a, int b) {
    if (orc_gate(o, SL_GATE_PRIORITY_SORTING_WITHIN_COHORT) &&
        orc_priority(o, a) != orc_priority(o, b))
        return orc_priority(o, a) > orc_priority(o, b);
    return queue_order_before(o, a, b);
}

/* ---- 2.6: the resume record ---- */

static int flavors_of(const struct orc_node *n) {
    int k = 0;
    for (int g = 0; g < n->n_groups; g++)
        k += n->group[g].n_flavors;
    return k;
}

/* Looked at too often in one unchanged state of the tree. */
static bool worn_out(const struct orc *o, const struct orc_wl *w) {
    return w->eval_version == o->version && w->evals >= flavors_of(&o->node[w->cq]) + 2;
}

static bool pending_flavors(const struct orc_wl *w) {
    for (int p = 0; p < ORC_PODSETS; p++)
        for (int r = 0; r < ORC_RES; r++)
            if (w->has_record && w->tried[p][r] >= 0)
                return true;
    return false;
}

static int next_index(const struct orc_wl *w, int p, int r) {
    return w->has_record && w->tried[p][r] >= 0 ? w->tried[p][r] + 1 : 0;
}

/* ---- rules 1.4, 1.5 ---- */

/* "w3: Preempt, level 1, 2 targets, look 1:" and per podset "cpu fl0 (next 1)". */
static void trace_nomination(const struct cycle *c, const struct entry *e) {
    static const char *const mode[] = {"NoFit", "Preempt", "Fit"}, *const res[] = {"cpu", "memory",
                                                                                   "gpu", "pods"};
    char line[200];
    size_t at = 0;

    if (!c->o->trace)
        return;
    line[0] = 0;
    for (int p = 0; p < c->o->wl[e->w].spec.n; p++)
        for (int r = 0; r < ORC_RES && at < sizeof line; r++)
            if (e->a.flavor[p][r] >= 0)
                at += (size_t)snprintf(line + at, sizeof line - at, " %s fl%d (next %d)", res[r],
                                       e->a.flavor[p][r], next_index(&c->o->wl[e->w], p, r));
    orc_say(c->o, "    . w%d: %s, level %d, %d targets, look %d:%s", e->w, mode[e->a.mode],
            e->a.borrow, e->t.n, c->o->wl[e->w].evals, line);
}

static void nominate(struct cycle *c, struct entry *e) {
    struct orc *o = c->o;
    struct orc_wl *w = &o->wl[e->w];

    e->reason = R_NS_MISMATCH;
    if (!orc_ns_matches(o, e->cq, o->lq[w->spec.lq].ns))
        return;
    e->reason = R_GENERIC;
    if (w->spec.invalid)
        return;
    if (w->has_record && o->queue[e->cq].generation > w->record_gen)
        w->has_record = false;
    if (w->eval_version != o->version)
        w->evals = 0;
    w->eval_version = o->version;
    w->evals++;
    e->nominated = true;
    orc_get_assignment(&c->s, e->w, e->cq, true, &e->a, &e->t);
    w->has_record = true;
    w->record_gen = o->queue[e->cq].generation;
    memcpy(w->tried, e->a.tried, sizeof w->tried);
    trace_nomination(c, e);
}

/* ---- 3.7: the tournament ---- */

static struct orc_share share_with(struct cycle *c, const struct entry *e, int node) {
    struct orc_share sh;

    orc_add(&c->s, e->cq, e->a.usage, +1);
    sh = orc_share_of(&c->s, node);
    orc_add(&c->s, e->cq, e->a.usage, -1);
    return sh;
}

static bool borrows_on(const struct orc_share *sh, const struct entry *e) {
    for (int fr = 0; fr < ORC_FRS; fr++)
        if (sh->on[fr] && e->a.usage[fr] > 0)
            return true;
    return false;
}

static int tournament(struct cycle *c, int cohort) {
    const struct orc *o = c->o;
    int best = -1;
    struct orc_share top = {0};

    for (int n = 0; n < ORC_NODES; n++) {
        int i = -1, cmp;
        if (!o->node[n].exists || o->node[n].parent != cohort)
            continue;
        if (n >= ORC_CQS)
            i = tournament(c, n);
        for (int k = 0; k < c->n && n < ORC_CQS; k++)
            if (c->e[k].cq == n && c->e[k].nominated && !c->e[k].processed)
                i = k;
        if (i < 0)
            continue;
        struct orc_share sh = share_with(c, &c->e[i], n);
        if (best >= 0) {
            bool a = borrows_on(&sh, &c->e[i]), b = borrows_on(&top, &c->e[best]);
            if (orc_gate(o, SL_GATE_FAIR_SHARING_PRIORITIZE_NON_BORROWING) && a != b)
                cmp = a ? 1 : -1;
            else
                cmp = orc_share_cmp(&sh, &top);
            if (cmp > 0 || (cmp == 0 && !tie_before(o, c->e[i].w, c->e[best].w)))
                continue;
        }
        best = i;
        top = sh;
    }
    return best;
}

/* Rule 1.6, classical: lower borrowing level, then the tie-breaks. */
static void sort_entries(struct cycle *c) {
    for (int i = 1; i < c->n; i++)
        for (int j = i; j > 0; j--) {
            struct entry *a = &c->e[j - 1], *b = &c->e[j], x;
            if (a->a.borrow != b->a.borrow && !c->o->config.fair ? a->a.borrow < b->a.borrow
                                                                 : tie_before(c->o, a->w, b->w))
                break;
            x = *a;
            *a = *b;
            *b = x;
        }
}

/* The next entry to process, -1: none left. */
static int next_entry(struct cycle *c) {
    if (c->o->config.fair && c->root >= ORC_CQS)
        return tournament(c, c->root);
    for (int i = 0; i < c->n; i++)
        if (c->e[i].nominated && !c->e[i].processed)
            return i;
    return -1;
}

/* ---- rules 1.7, 1.8 ---- */

static struct orc_event *event(struct cycle *c, enum orc_event_kind kind, int w, int cq) {
    struct orc_event *ev = &c->o->event[c->o->n_events++];

    sl_assert(c->o->n_events < ORC_EVENTS);
    memset(ev, 0, sizeof *ev);
    ev->kind = kind;
    ev->wl = w;
    ev->cq = cq;
    ev->root = orc_root(c->o, cq);
    ev->by = -1;
    return ev;
}

static void reserve_capacity(struct cycle *c, const struct entry *e) {
    const struct orc_quota *q = c->o->node[e->cq].q;
    sl_amount hold[ORC_FRS] = {0};

    for (int fr = 0; fr < ORC_FRS; fr++) {
        sl_amount usage = c->s.usage[e->cq][fr], want = e->a.usage[fr];
        if (want <= 0)
            continue;
        if (e->a.borrow == 0)
            hold[fr] = sl_amount_min(want, sl_amount_sub(q[fr].nominal, usage));
        else if (q[fr].borrow == SL_AMOUNT_NONE)
            hold[fr] = want;
        else
            hold[fr] = sl_amount_min(
                want, sl_amount_sub(sl_amount_add(q[fr].nominal, q[fr].borrow), usage));
        /* Kueue does not clamp the limited case, but a negative charge does not reach the parent,
         * and nobody else looks at this queue's own number in this cycle. */
        hold[fr] = sl_amount_max(0, hold[fr]);
    }
    orc_add(&c->s, e->cq, hold, +1);
}

static bool still_fits(struct cycle *c, const struct entry *e) {
    bool out[ORC_WLS] = {false}, ok;

    memcpy(out, c->victim, sizeof out);
    for (int i = 0; i < e->t.n; i++)
        out[e->t.wl[i]] = true;
    for (int v = 0; v < c->o->n_wls; v++)
        if (out[v])
            orc_take_out(&c->s, v);
    ok = orc_fits(&c->s, e->cq, e->a.usage);
    for (int v = 0; v < c->o->n_wls; v++)
        if (out[v])
            orc_put_back(&c->s, v);
    return ok;
}

/* Ours: Kueue admits into the room of a victim of this cycle while the victim still runs. We only
 * admit what fits now, whoever is on the way out. */
static bool fits_today(const struct cycle *c, const struct entry *e) {
    static struct orc_snap s;

    orc_snapshot(c->o, &s);
    return orc_fits(&s, e->cq, e->a.usage);
}

static void preempt(struct cycle *c, struct entry *e) {
    struct orc *o = c->o;

    for (int i = 0; i < e->t.n; i++) {
        int v = e->t.wl[i];
        struct orc_wl *vic = &o->wl[v];
        struct orc_event *ev;
        if (vic->evicting)
            continue; /* counted, not sent again */
        vic->evicting = true;
        vic->evicted_for = SL_EVICT_PREEMPTED;
        vic->evicted_by = e->w;
        vic->evicted_how = e->t.cause[i];
        vic->evicted_nr = o->n_evicted++;
        if (e->t.cause[i] == SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING)
            vic->preempted_at = c->now;
        o->edge[e->w][v] = true;
        ev = event(c, ORC_EV_EVICT, v, vic->cq);
        ev->reason = SL_EVICT_PREEMPTED;
        ev->cause = e->t.cause[i];
        ev->by = e->w;
        c->acted = true;
        orc_say(o, "    w%d preempts w%d (%s)", e->w, v, sl_word(SL_VOCAB_CAUSE, (int)ev->cause));
    }
    o->wl[e->w].has_record = false;
    e->reason = R_PENDING_PREEMPTION;
}

static void admit(struct cycle *c, struct entry *e) {
    struct orc_wl *w = &c->o->wl[e->w];
    struct orc_event *ev = event(c, ORC_EV_RESERVE, e->w, e->cq);

    ev->got = e->a;
    if (c->o->queue[e->cq].sticky == e->w)
        c->o->queue[e->cq].sticky = -1;
    w->state = ORC_RESERVED;
    w->place = ORC_OUT;
    w->got = e->a;
    w->reserved_at = c->now;
    w->preempted_at = -1;
    w->evicted_for = SL_EVICT_NONE;
    w->has_record = false;
    e->reserved = true;
    c->acted = true;
    orc_say(c->o, "    w%d is admitted in cq%d, borrow %d", e->w, e->cq, e->a.borrow);
}

static void process(struct cycle *c, int i) {
    struct entry *e = &c->e[i];
    struct orc_wl *w = &c->o->wl[e->w];
    bool fits, overlap = false;

    /* Ours: a preemptor of this epoch goes before its victim. */
    e->processed = true;
    for (int y = 0; y < c->n; y++)
        if (c->e[y].nominated && !c->e[y].processed && c->o->edge[c->e[y].w][e->w])
            process(c, y);

    fits = e->a.mode != ORC_NO_FIT && still_fits(c, e); /* step 2 */
    if (e->a.mode == ORC_FIT)
        fits = fits && fits_today(c, e);
    if (e->a.mode == ORC_NO_FIT) { /* step 4 */
        e->reason = R_NO_FIT;
        orc_say(c->o, "    w%d does not fit", e->w);
        return;
    }
    if (e->a.mode == ORC_PREEMPT && e->t.n == 0) { /* step 5 */
        e->reason = R_NO_CANDIDATES;
        if (c->o->cq[e->cq].reclaim != SL_RECLAIM_ANY)
            reserve_capacity(c, e);
        orc_say(c->o, "    w%d finds nobody to preempt", e->w);
        return;
    }
    for (int k = 0; k < e->t.n; k++)
        overlap |= c->victim[e->t.wl[k]];
    if (overlap || !fits) { /* steps 8, 9 */
        e->reason = R_FAILED;
        w->has_record = false;
        w->evals = 0; /* the guard counts looks in one chain of resumed scans */
        orc_say(c->o, "    w%d is skipped (%s)", e->w, overlap ? "overlap" : "no longer fits");
        return;
    }
    for (int k = 0; k < e->t.n; k++) /* step 10 */
        c->victim[e->t.wl[k]] = true;
    orc_add(&c->s, e->cq, e->a.usage, +1);
    if (e->a.mode == ORC_PREEMPT) /* step 11 */
        preempt(c, e);
    else
        admit(c, e);
}

/* ---- appendix D: requeue ---- */

static void requeue(struct cycle *c, const struct entry *e) {
    struct orc *o = c->o;
    struct orc_wl *w = &o->wl[e->w];
    struct orc_queue *q = &o->queue[e->cq];
    bool strict = o->cq[e->cq].strategy == SL_STRICT_FIFO, now;
    struct orc_hash mine, theirs;

    if (e->reason == R_PENDING_PREEMPTION && !strict)
        q->sticky = e->w;
    now = strict ? e->reason != R_NS_MISMATCH
                 : e->reason == R_FAILED || e->reason == R_PENDING_PREEMPTION;
    if (!c->acted && pending_flavors(w) && worn_out(o, w)) {
        /* Ours: the guard against endless resuming. A preemptor goes on waiting for its victims. */
        w->has_record = false;
        now |= q->sticky == e->w;
    }
    if (w->requeued_false == SL_EVICT_NONE && (now || pending_flavors(w))) {
        w->place = ORC_HEAP;
        return;
    }
    w->place = ORC_ASLEEP;
    w->own_fault = e->reason == R_GENERIC || e->reason == R_NS_MISMATCH;
    if (strict || !orc_gate(o, SL_GATE_SCHEDULING_EQUIVALENCE_HASHING) ||
        (e->reason != R_NO_FIT && e->reason != R_NO_CANDIDATES))
        return;
    orc_hash_of(o, e->w, &mine);
    for (int v = 0; v < o->n_wls; v++) {
        struct orc_wl *other = &o->wl[v];
        orc_hash_of(o, v, &theirs);
        if (other->state == ORC_PENDING && other->cq == e->cq && other->place == ORC_HEAP &&
            orc_hash_equal(&mine, &theirs)) {
            other->place = ORC_ASLEEP;
            other->own_fault = false;
        }
    }
}

/* ---- the loop ---- */

static bool in_tree(const struct orc *o, int w, int root) {
    return o->wl[w].cq >= 0 && orc_root(o, o->wl[w].cq) == root;
}

/* One cycle in one tree; returns whether another one is worth it: somebody was reserved, evicted or
 * moved between heap and sleep, or a head has flavors left to try. */
static bool one_cycle(struct orc *o, int root, sl_time now) {
    enum orc_place before[ORC_WLS];
    struct cycle c = {.o = o, .now = now, .root = root};
    bool changed = false;

    for (int w = 0; w < o->n_wls; w++)
        before[w] = o->wl[w].place;
    for (int q = 0; q < ORC_CQS; q++) {
        int head = -1;
        if (orc_root(o, q) != root || !orc_active(o, q))
            continue;
        for (int w = 0; w < o->n_wls; w++)
            if (o->wl[w].state == ORC_PENDING && o->wl[w].cq == q && o->wl[w].place == ORC_HEAP &&
                (head < 0 || orc_before(o, w, head)))
                head = w;
        if (head >= 0)
            c.e[c.n++] = (struct entry){.w = head, .cq = q};
    }
    if (c.n == 0)
        return false;
    o->rounds++;
    orc_say(o, "  cycle in the tree of node %d: %d heads", root, c.n);
    orc_snapshot(o, &c.s);
    for (int i = 0; i < c.n; i++)
        o->wl[c.e[i].w].place = ORC_OUT; /* inflight */
    for (int i = 0; i < c.n; i++)
        nominate(&c, &c.e[i]);
    sort_entries(&c);
    for (int i; (i = next_entry(&c)) >= 0;)
        process(&c, i);
    for (int i = 0; i < c.n; i++)
        if (!c.e[i].reserved)
            requeue(&c, &c.e[i]);

    for (int w = 0; w < o->n_wls; w++)
        if (in_tree(o, w, root) && o->wl[w].state == ORC_PENDING)
            changed |= before[w] != o->wl[w].place;
    for (int i = 0; i < c.n; i++)
        changed |= !c.e[i].reserved && pending_flavors(&o->wl[c.e[i].w]);
    if (c.acted)
        o->version++;
    return changed || c.acted;
}

/* Ours: a trigger does not wake who would only be told the same again. */
static bool worth_waking(const struct orc *o, int w) {
    static struct orc_snap s;
    struct orc_assignment a;
    struct orc_targets t;

    if (o->wl[w].own_fault || o->cq[o->wl[w].cq].strategy == SL_STRICT_FIFO)
        return true;
    orc_snapshot(o, &s);
    orc_get_assignment(&s, w, o->wl[w].cq, false, &a, &t);
    if (a.mode == ORC_FIT || (a.mode == ORC_PREEMPT && t.n > 0))
        return true;
    for (int p = 0; p < ORC_PODSETS; p++)
        for (int r = 0; r < ORC_RES; r++)
            if (a.tried[p][r] >= 0)
                return true; /* flavors left to try */
    return false;
}

static bool may_be_woken(const struct orc *o, int w, int cq) {
    const struct orc_wl *wl = &o->wl[w];
    return wl->state == ORC_PENDING && wl->cq == cq && wl->place == ORC_ASLEEP &&
           wl->requeued_false == SL_EVICT_NONE && orc_ns_matches(o, cq, o->lq[wl->spec.lq].ns);
}

/* With hashing, the first of those that are equal (and in one LocalQueue) speaks for all of them.
 */
static int class_representative(const struct orc *o, int w) {
    struct orc_hash mine, theirs;
    int first = w;

    if (!orc_gate(o, SL_GATE_SCHEDULING_EQUIVALENCE_HASHING))
        return w;
    orc_hash_of(o, w, &mine);
    for (int v = 0; v < o->n_wls; v++) {
        if (v == w || !may_be_woken(o, v, o->wl[w].cq) || o->wl[v].spec.lq != o->wl[w].spec.lq ||
            o->wl[v].own_fault != o->wl[w].own_fault)
            continue;
        orc_hash_of(o, v, &theirs);
        if (orc_hash_equal(&mine, &theirs) && orc_before(o, v, first))
            first = v;
    }
    return first;
}

static void tree_event(struct orc *o, int cq) {
    bool wake[ORC_WLS] = {false};

    o->queue[cq].touched = false;
    for (int w = 0; w < o->n_wls; w++)
        wake[w] = may_be_woken(o, w, cq) && worth_waking(o, class_representative(o, w));
    for (int w = 0; w < o->n_wls; w++) {
        if (!may_be_woken(o, w, cq))
            continue;
        if (wake[w])
            o->wl[w].place = ORC_HEAP;
        else
            o->wl[w].asked = true;
    }
}

/* In Kueue those who were woken for nothing stand in the heap behind a head that does not move;
 * those before it had their turn and sleep again, and their equals with them. */
static bool had_a_turn(const struct orc *o, int w, int head) {
    struct orc_hash mine, theirs;

    orc_hash_of(o, w, &mine);
    for (int v = 0; v < o->n_wls; v++) {
        if (o->wl[v].state != ORC_PENDING || o->wl[v].cq != o->wl[w].cq || !o->wl[v].asked ||
            !orc_before(o, v, head))
            continue;
        orc_hash_of(o, v, &theirs);
        if (v == w ||
            (orc_gate(o, SL_GATE_SCHEDULING_EQUIVALENCE_HASHING) && orc_hash_equal(&mine, &theirs)))
            return true;
    }
    return false;
}

static void settle(struct orc *o, int cq) {
    bool move[ORC_WLS] = {false};
    int head = -1;

    for (int w = 0; w < o->n_wls; w++)
        if (o->wl[w].state == ORC_PENDING && o->wl[w].cq == cq && o->wl[w].place == ORC_HEAP &&
            (head < 0 || orc_before(o, w, head)))
            head = w;
    for (int w = 0; w < o->n_wls && head >= 0; w++) {
        const struct orc_wl *wl = &o->wl[w];
        move[w] = wl->state == ORC_PENDING && wl->cq == cq && wl->place == ORC_ASLEEP &&
                  wl->asked && !had_a_turn(o, w, head);
    }
    for (int w = 0; w < o->n_wls; w++) {
        if (move[w])
            o->wl[w].place = ORC_HEAP;
        if (o->wl[w].cq == cq)
            o->wl[w].asked = false;
    }
}

/* Rules 3.5, 4.7: what the workload controller does by itself: drain, deactivate, restart. */
static void controller(struct orc *o, sl_time now) {
    struct cycle c = {.o = o, .now = now};

    for (int w = 0; w < o->n_wls; w++) {
        struct orc_wl *wl = &o->wl[w];
        const struct orc_lq *lq = &o->lq[wl->spec.lq];
        enum sl_evict why = SL_EVICT_NONE;

        if (wl->state == ORC_PENDING && wl->cq >= 0 &&
            ((wl->requeued_false == SL_EVICT_CLUSTER_QUEUE_STOPPED &&
              o->cq[wl->cq].stop == SL_STOP_NONE) ||
             (wl->requeued_false == SL_EVICT_LOCAL_QUEUE_STOPPED && lq->exists &&
              lq->stop == SL_STOP_NONE))) {
            wl->requeued_false = SL_EVICT_NONE; /* restarted, or it stands in another queue now */
            if (wl->place == ORC_ASLEEP && !orc_bulk_moved(o, wl->cq, w))
                wl->place = ORC_HEAP;
        }
        if (wl->state != ORC_RESERVED || wl->evicting)
            continue;
        if (wl->spec.inactive)
            why = SL_EVICT_DEACTIVATED;
        else if (lq->exists && lq->stop == SL_STOP_HOLD_AND_DRAIN)
            why = SL_EVICT_LOCAL_QUEUE_STOPPED;
        else if (o->cq[wl->cq].stop == SL_STOP_HOLD_AND_DRAIN)
            why = SL_EVICT_CLUSTER_QUEUE_STOPPED;
        if (why == SL_EVICT_NONE)
            continue;
        wl->evicting = true;
        wl->evicted_for = why;
        wl->evicted_by = -1;
        event(&c, ORC_EV_EVICT, w, wl->cq)->reason = why;
        orc_say(o, "    w%d is evicted (%s)", w, sl_word(SL_VOCAB_EVICT, (int)why));
    }
}

void orc_cycle(struct orc *o, sl_time now) {
    bool dirty[ORC_NODES] = {false};

    o->n_events = 0;
    controller(o, now);
    for (int c = 0; c < ORC_CQS; c++) {
        if (o->queue[c].dirty)
            dirty[orc_root(o, c)] = true;
        o->queue[c].dirty = false;
    }
    /* A queue that is not active waits with its events; becoming active is one. */
    for (int c = 0; c < ORC_CQS; c++)
        if (o->queue[c].touched && orc_active(o, c))
            tree_event(o, c);
    for (int root = 0; root < ORC_NODES; root++)
        if (dirty[root])
            for (int turns = 0; one_cycle(o, root, now); turns++)
                sl_assert(turns < ORC_TURNS); /* it must come to rest */
    for (int c = 0; c < ORC_CQS; c++)
        if (o->cq[c].strategy == SL_BEST_EFFORT_FIFO)
            settle(o, c);
}
