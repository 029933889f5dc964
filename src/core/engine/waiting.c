/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queues of pending workloads. Workloads of one LocalQueue with the same shape and priority
 * form a class and wait in one ordered set; a class is awake (in its ClusterQueue's heap, ordered
 * by its first workload) or asleep. Because all members of a class get the same result, one
 * evaluation of the first one puts the whole class to sleep, and a release of quota evaluates
 * sleeping classes, not sleeping workloads.
 *
 * Kin are classes of one ClusterQueue with equal shape and priority in different LocalQueues: they
 * share verdicts as well.
 *
 * A workload that was refused for reasons of its own (failed checks, namespace, back-off) is parked
 * outside of its class until its time or event comes.
 */
#include "core/engine/state.h"

#include <string.h>

/* ---- order ---- */

int eng_wl_tie(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_engine *e = ctx;
    int r = strcmp(eng_wl_uid(&e->wls.v[a]), eng_wl_uid(&e->wls.v[b]));
    return r ? r : a < b ? -1 : a > b;
}

struct sl_ordkey eng_wl_key(const struct sl_engine *e, uint32_t wl) {
    const struct eng_wl *w = &e->wls.v[wl];
    return (struct sl_ordkey){.at = w->order_at, .tie = w->tie, .id = wl};
}

/* When the workload joined the queue, as its order counts it. */
sl_time eng_wl_order_time(const struct sl_engine *e, const struct eng_wl *w) {
    const struct eng_wl_extra *m = w->extra;
    if (!m || m->order_evict == SL_EVICT_NONE)
        return w->created;
    if (m->order_evict == SL_EVICT_PODS_READY_TIMEOUT && !e->config.order_by_creation)
        return m->order_evict_at;
    if (m->order_evict == SL_EVICT_ADMISSION_CHECK)
        return m->order_evict_at;
    if (m->order_evict == SL_EVICT_PREEMPTED &&
        m->cause == SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING &&
        !eng_gate_on(e, SL_GATE_PRIORITY_SORTING_WITHIN_COHORT))
        return sl_time_add(m->order_evict_at, SL_MSEC);
    return w->created;
}

static bool queue_orders_by_usage(const struct sl_engine *e, uint32_t lq) {
    uint32_t q = e->lqs.v[lq].cq;
    return q != ENG_NONE && eng_afs_orders(e, &e->cqs.v[q]);
}

/* Usage of the LocalQueue (where it counts), then priority; 0 if the keys decide. */
static int class_cmp_coarse(const struct sl_engine *e, const struct eng_class *a,
                            const struct eng_class *b) {
    if (a->lq != b->lq && queue_orders_by_usage(e, a->lq)) {
        unsigned __int128 x = e->lqs.v[a->lq].afs_usage, y = e->lqs.v[b->lq].afs_usage;
        if (x != y)
            return x < y ? -1 : 1;
    }
    return a->priority > b->priority ? -1 : a->priority < b->priority;
}

bool eng_class_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_engine *e = ctx;
    const struct eng_class *x = &e->classes.v[a], *y = &e->classes.v[b];
    int r = class_cmp_coarse(e, x, y);
    if (r)
        return r < 0;
    return sl_ordkey_cmp(sl_ordset_first(&x->line), sl_ordset_first(&y->line), eng_wl_tie, e) < 0;
}

uint32_t *eng_class_place(void *ctx, uint32_t c) {
    struct sl_engine *e = ctx;
    return &e->classes.v[c].place;
}

/* ---- local queues ---- */

uint32_t eng_lq_get(struct sl_engine *e, sl_sym ns, sl_sym name) {
    uint64_t key = (uint64_t)ns << 32 | name;
    uint32_t i = sl_map_get(&e->lq_map, key);
    if (i != SL_MAP_NONE)
        return i;
    i = e->free_lqs.n ? sl_vec_pop(&e->free_lqs) : e->lqs.n;
    if (i == e->lqs.n)
        (void)sl_vec_push(&e->lqs);
    e->lqs.v[i] =
        (struct eng_lq){.ns = ns, .name = name, .cq = ENG_NONE, .weight_nano = SL_WEIGHT_ONE};
    sl_map_add(&e->lq_map, key, i);
    return i;
}

void eng_lq_drop_if_unused(struct sl_engine *e, uint32_t lq) {
    struct eng_lq *l = &e->lqs.v[lq];
    if (l->exists || l->n_refs)
        return;
    sl_map_del(&e->lq_map, (uint64_t)l->ns << 32 | l->name, lq);
    sl_vec_free(&l->classes);
    sl_vec_free(&l->parked);
    sl_vec_free(&l->afs);
    sl_vec_free(&l->held);
    l->ns = l->name = l->cq_name = 0;
    l->cq = ENG_NONE;
    *sl_vec_push(&e->free_lqs) = lq;
}

/* ---- classes ---- */

static uint64_t class_key(uint32_t owner, const struct eng_class *c) {
    uint64_t h = sl_hash_u64((uint64_t)owner << 32 | c->shape, (uint64_t)c->priority);
    return sl_hash_u64(sl_hash_u64(h, c->only), (uint64_t)c->length);
}

static bool are_alike(const struct eng_class *a, const struct eng_class *b) {
    return a->shape == b->shape && a->priority == b->priority && a->only == b->only &&
           a->length == b->length;
}

static void class_up(struct sl_engine *e, uint32_t c) {
    struct eng_cq *q = &e->cqs.v[e->lqs.v[e->classes.v[c].lq].cq];
    sl_heap_fix(&q->heap, c);
    eng_cq_mark_dirty(e, q);
}

static void class_join(struct sl_engine *e, uint32_t c, bool follow_kin) {
    struct eng_class *x = &e->classes.v[c];
    uint32_t cq = e->lqs.v[x->lq].cq;
    uint64_t key = class_key(cq, x);
    x->next_equivalent = c;
    x->asleep = false;
    uint32_t cur, k;
    for (k = sl_map_first(&e->equivalent_map, key, &cur); k != SL_MAP_NONE;
         k = sl_map_next(&e->equivalent_map, key, &cur)) {
        const struct eng_class *y = &e->classes.v[k];
        if (are_alike(x, y) && e->lqs.v[y->lq].cq == cq)
            break;
    }
    if (k == SL_MAP_NONE) {
        sl_map_add(&e->equivalent_map, key, c);
    } else {
        struct eng_class *y = &e->classes.v[k];
        x->next_equivalent = y->next_equivalent;
        y->next_equivalent = c;
        if (follow_kin && y->asleep && e->cqs.v[cq].strategy == SL_BEST_EFFORT_FIFO) {
            x->wake_always = y->wake_always;
            x->n_lacks = y->n_lacks;
            x->refused_wl = y->refused_wl;
            memcpy(x->lacks, y->lacks, sizeof(x->lacks));
            x->asleep = true;
            x->sleep_at = e->cqs.v[cq].asleep.n;
            *sl_vec_push(&e->cqs.v[cq].asleep) = c;
        }
    }
    if (!x->asleep)
        class_up(e, c);
}

static void class_leave(struct sl_engine *e, uint32_t c) {
    struct eng_class *x = &e->classes.v[c];
    uint32_t cq = e->lqs.v[x->lq].cq;
    struct eng_cq *q = &e->cqs.v[cq];
    if (x->asleep) {
        uint32_t last = sl_vec_pop(&q->asleep);
        if (last != c) {
            q->asleep.v[x->sleep_at] = last;
            e->classes.v[last].sleep_at = x->sleep_at;
        }
        x->asleep = false;
    } else {
        sl_heap_remove(&q->heap, c);
    }
    uint64_t key = class_key(cq, x);
    uint32_t before = x->next_equivalent;
    while (e->classes.v[before].next_equivalent != c)
        before = e->classes.v[before].next_equivalent;
    if (sl_map_del(&e->equivalent_map, key, c) && before != c)
        sl_map_add(&e->equivalent_map, key, before);
    e->classes.v[before].next_equivalent = x->next_equivalent;
    x->next_equivalent = c;
    eng_cq_mark_dirty(e, q);
}

/* Without equivalence hashing no verdict is shared: every workload is a class of its own. So is one
 * that was refused for reasons of its own, one that replaces another, and one that may not preempt,
 * whose refusal is reported for each so that its gate may be opened. */
static uint32_t class_get(struct sl_engine *e, uint32_t wl) {
    uint32_t lq = e->wls.v[wl].lq, shape = e->wls.v[wl].shape;
    const struct eng_wl_extra *m = e->wls.v[wl].extra;
    bool alike = eng_gate_on(e, SL_GATE_SCHEDULING_EQUIVALENCE_HASHING) && !e->wls.v[wl].spares &&
                 !(m && (m->alone || m->replaces));
    struct eng_class fresh = {.lq = lq,
                              .shape = shape,
                              .priority = eng_wl_priority(e, &e->wls.v[wl]),
                              .only = alike ? ENG_NONE : wl,
                              .length = eng_later_length(e, wl),
                              .place = SL_HEAP_OUT,
                              .used = true};
    uint64_t key = class_key(lq, &fresh);
    uint32_t cur;
    for (uint32_t c = sl_map_first(&e->class_map, key, &cur); c != SL_MAP_NONE;
         c = sl_map_next(&e->class_map, key, &cur))
        if (e->classes.v[c].lq == lq && are_alike(&e->classes.v[c], &fresh))
            return c;
    uint32_t c = e->free_classes.n ? sl_vec_pop(&e->free_classes) : e->classes.n;
    if (c == e->classes.n)
        (void)sl_vec_push(&e->classes);
    struct eng_lq *l = &e->lqs.v[lq];
    fresh.lq_at = l->classes.n;
    fresh.next_equivalent = c;
    e->classes.v[c] = fresh;
    eng_shape_ref(e, shape);
    *sl_vec_push(&l->classes) = c;
    sl_map_add(&e->class_map, key, c);
    return c;
}

static void class_free(struct sl_engine *e, uint32_t c) {
    struct eng_class *x = &e->classes.v[c];
    struct eng_lq *l = &e->lqs.v[x->lq];
    uint32_t last = sl_vec_pop(&l->classes);
    if (last != c) {
        l->classes.v[x->lq_at] = last;
        e->classes.v[last].lq_at = x->lq_at;
    }
    sl_map_del(&e->class_map, class_key(x->lq, x), c);
    sl_ordset_done(&x->line);
    eng_plan_free(&x->plan);
    eng_admission_unref(x->last);
    eng_shape_unref(e, x->shape);
    x->used = false;
    *sl_vec_push(&e->free_classes) = c;
}

/* Puts the class and its kin to sleep with the memo the caller has filled in for c, after this
 * workload of it was refused. */
void eng_class_sleep(struct sl_engine *e, uint32_t c, uint32_t wl) {
    struct eng_cq *q = &e->cqs.v[e->lqs.v[e->classes.v[c].lq].cq];
    const struct eng_class *x = &e->classes.v[c];
    uint32_t k = c;
    do {
        struct eng_class *y = &e->classes.v[k];
        if (!y->asleep) {
            sl_heap_remove(&q->heap, k);
            y->asleep = true;
            y->sleep_at = q->asleep.n;
            *sl_vec_push(&q->asleep) = k;
        }
        y->refused_wl = eng_wl_id(e, wl);
        if (k != c) {
            y->wake_always = x->wake_always;
            y->n_lacks = x->n_lacks;
            memcpy(y->lacks, x->lacks, sizeof(x->lacks));
        }
        k = y->next_equivalent;
    } while (k != c);
}

void eng_class_wake(struct sl_engine *e, uint32_t c) {
    struct eng_class *x = &e->classes.v[c];
    if (!x->asleep)
        return;
    struct eng_cq *q = &e->cqs.v[e->lqs.v[x->lq].cq];
    uint32_t last = sl_vec_pop(&q->asleep);
    if (last != c) {
        q->asleep.v[x->sleep_at] = last;
        e->classes.v[last].sleep_at = x->sleep_at;
    }
    x->asleep = false;
    x->wake_checked = 0; /* it has its turn now */
    e->stats.wakes++;
    class_up(e, c);
}

/* ---- joining and leaving the line ---- */

static bool must_park(const struct sl_engine *e, const struct eng_wl *w) {
    const struct eng_wl_extra *m = w->extra;
    return m && (m->held_back || m->until_event || (m->requeue_at && m->requeue_at > e->now));
}

void eng_wl_enqueue(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    struct eng_lq *l = &e->lqs.v[w->lq];
    w->order_at = eng_wl_order_time(e, w);
    if (must_park(e, w)) {
        w->phase = WL_PARKED;
        w->at = l->parked.n;
        *sl_vec_push(&l->parked) = wl;
        eng_wl_timer(e, wl);
        return;
    }
    w->phase = WL_WAITING;
    uint32_t c = class_get(e, wl);
    struct eng_class *x = &e->classes.v[c];
    struct sl_ordkey key = eng_wl_key(e, wl);
    w->class = c;
    bool fresh = x->line.n == 0;
    sl_ordset_add(&x->line, &key, eng_wl_tie, e);
    if (!e->lqs.v[w->lq].live)
        return;
    if (fresh)
        class_join(e, c, true);
    else if (!x->asleep && sl_ordset_first(&x->line)->id == wl)
        class_up(e, c);
    /* One that sleeps may be first in its queue now. */
    e->later_stale |= e->plans_later && x->asleep && sl_ordset_first(&x->line)->id == wl;
}

/* A deep line is drained in order, but its workloads lie scattered in memory: fetch those that come
 * next while the present one is worked on. */
static void fetch_ahead(const struct sl_engine *e, const struct sl_ordset *line) {
    uint32_t n;
    const struct sl_ordkey *k = sl_ordset_run(line, 0, &n);
    if (!k || n < 8)
        return;
    const char *far = (const char *)&e->wls.v[k[7].id];
    __builtin_prefetch(far);
    __builtin_prefetch(far + 64);
    __builtin_prefetch(e->wls.v[k[3].id].text);
}

void eng_wl_dequeue(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    struct eng_lq *l = &e->lqs.v[w->lq];
    if (w->phase == WL_PARKED) {
        uint32_t last = sl_vec_pop(&l->parked);
        if (last != wl) {
            l->parked.v[w->at] = last;
            e->wls.v[last].at = w->at;
        }
    } else if (w->phase == WL_WAITING) {
        uint32_t c = w->class;
        struct eng_class *x = &e->classes.v[c];
        bool first = sl_ordset_first(&x->line)->id == wl;
        if (first) {
            if (x->line.n == 1 && l->live)
                class_leave(e, c);
            (void)sl_ordset_pop(&x->line);
            fetch_ahead(e, &x->line);
        } else {
            struct sl_ordkey key = eng_wl_key(e, wl);
            sl_assert(sl_ordset_del(&x->line, &key, eng_wl_tie, e));
        }
        if (x->line.n == 0)
            class_free(e, c);
        else if (first && l->live && !x->asleep)
            class_up(e, c);
        w->class = ENG_NONE;
    } else {
        return;
    }
    w->phase = WL_OUTSIDE;
    if (l->cq == ENG_NONE)
        return;
    struct eng_cq *q = &e->cqs.v[l->cq];
    if (q->later.wl == wl)
        eng_later_drop(e, l->cq);
    if (q->sticky == wl)
        q->sticky = ENG_NONE;
    if (q->seen_head != wl)
        return;
    /* The next workload, even in the same slot, was not evaluated; and those that had to stand back
     * for this one are evaluated again. */
    q->seen_head = ENG_NONE;
    if (!e->structure_dirty)
        eng_cq_tree(e, q)->version++;
    eng_cq_mark_dirty(e, q);
}

bool eng_wl_sticky(const struct sl_engine *e, uint32_t wl) {
    uint32_t cq = e->lqs.v[e->wls.v[wl].lq].cq;
    return cq != ENG_NONE && e->cqs.v[cq].sticky == wl;
}

void eng_wl_enqueue_again(struct sl_engine *e, uint32_t wl, bool sticky) {
    eng_wl_enqueue(e, wl);
    uint32_t cq = e->lqs.v[e->wls.v[wl].lq].cq;
    if (sticky && cq != ENG_NONE && e->lqs.v[e->wls.v[wl].lq].live)
        e->cqs.v[cq].sticky = wl;
}

void eng_wl_requeue(struct sl_engine *e, uint32_t wl) {
    bool sticky = eng_wl_sticky(e, wl);
    eng_wl_dequeue(e, wl);
    eng_wl_enqueue_again(e, wl, sticky);
}

/* ---- attaching a LocalQueue to its ClusterQueue ---- */

void eng_lq_detach(struct sl_engine *e, uint32_t lq) {
    struct eng_lq *l = &e->lqs.v[lq];
    if (!l->live)
        return;
    for (uint32_t i = 0; i < l->classes.n; i++)
        class_leave(e, l->classes.v[i]);
    struct eng_cq *q = &e->cqs.v[l->cq];
    if (q->sticky != ENG_NONE && e->wls.v[q->sticky].lq == lq)
        q->sticky = ENG_NONE;
    if (q->later.wl != ENG_NONE && e->wls.v[q->later.wl].lq == lq)
        eng_later_drop(e, l->cq);
    if (!e->structure_dirty)
        eng_cq_tree(e, q)->version++; /* other heads may have stood back for one of these */
    eng_cq_mark_dirty(e, q);
    for (uint32_t i = 0; i < q->lqs.n; i++)
        if (q->lqs.v[i] == lq) {
            memmove(&q->lqs.v[i], &q->lqs.v[i + 1], (q->lqs.n - i - 1) * sizeof(uint32_t));
            q->lqs.n--;
            break;
        }
    l->live = false;
}

/* Workloads that were refused for reasons of their own are evaluated again; if the queue is the
 * same as before, not those whose namespace still does not match. */
static void wake_parked(struct sl_engine *e, uint32_t lq, bool same_queue) {
    struct eng_lq *l = &e->lqs.v[lq];
    for (uint32_t k = l->parked.n; k-- > 0;) {
        uint32_t wl = l->parked.v[k];
        enum sl_pending_kind o = eng_wl_obstacle(e, wl, &e->cqs.v[l->cq]);
        if (!e->wls.v[wl].extra->until_event ||
            (same_queue && (o == SL_PENDING_NS_MISSING || o == SL_PENDING_NS_MISMATCH)))
            continue;
        e->wls.v[wl].extra->until_event = false;
        eng_wl_requeue(e, wl);
    }
}

/* Brings the queue's place in line with its state: live, or not. */
void eng_lq_attach(struct sl_engine *e, uint32_t lq) {
    struct eng_lq *l = &e->lqs.v[lq];
    uint32_t node = l->exists ? eng_node_find(e, false, eng_str(e, l->cq_name)) : ENG_NONE;
    uint32_t cq = node != ENG_NONE && e->nodes.v[node].exists ? e->nodes.v[node].cq : ENG_NONE;
    bool live = cq != ENG_NONE && l->stop == SL_STOP_NONE;
    if (l->live && (!live || l->cq != cq))
        eng_lq_detach(e, lq);
    l->cq = cq;
    if (!live || l->live)
        return;
    l->live = true;
    *sl_vec_push(&e->cqs.v[cq].lqs) = lq;
    for (uint32_t i = 0; i < l->classes.n; i++) {
        e->classes.v[l->classes.v[i]].plan.version = 0;
        class_join(e, l->classes.v[i], false);
    }
    wake_parked(e, lq, false); /* what another queue refused, this one may take */
}

/* ---- waking ---- */

/* Could preemption help a member of this class? Cheap, and never a false negative. */
static bool may_preempt(const struct sl_engine *e, const struct eng_cq *q,
                        const struct eng_class *c) {
    if (q->within != SL_WITHIN_NEVER && q->prios.n) {
        int64_t lowest = q->prios.v[0].priority;
        if (lowest < c->priority ||
            (lowest == c->priority && q->within == SL_WITHIN_LOWER_OR_NEWER))
            return true;
    }
    const struct eng_node *n = eng_cq_node(e, q);
    if (q->reclaim == SL_RECLAIM_NEVER || n->parent == ENG_NONE)
        return false;
    if (e->config.fair_sharing || q->borrow_within != SL_BORROW_NEVER || n->depth > 1)
        return true;
    /* In a flat cohort, without borrowing while preempting: only a queue below its own quota. */
    for (uint32_t i = 0; i < c->n_lacks; i++) {
        const struct eng_cell *x = eng_cell_at(e, q->node, c->lacks[i].fr);
        if (x->usage < x->nominal)
            return true;
    }
    return false;
}

static bool worth_evaluating(const struct sl_engine *e, const struct eng_cq *q,
                             const struct eng_class *c) {
    if (c->wake_always)
        return true;
    for (uint32_t i = 0; i < c->n_lacks; i++)
        if (sl_amount_max(0, eng_tree_available(e, q->node, c->lacks[i].fr)) >= c->lacks[i].need)
            return true;
    bool spares = c->only != ENG_NONE && e->wls.v[c->only].spares;
    return c->n_lacks && !spares && may_preempt(e, q, c);
}

/* Would an evaluation of the class now lead to anything? Changes nothing but the memo; and if the
 * configuration changed ('retell'), the current numbers are reported to its first. */
static bool would_move(struct sl_engine *e, uint32_t c, uint32_t cq, bool retell) {
    struct eng_round *r = &e->round;
    struct eng_marks before = eng_round_mark(r);
    struct eng_entry x;
    eng_entry_init(e, &x, sl_ordset_first(&e->classes.v[c].line)->id, c, cq);
    x.from_start = true;
    eng_assign_flavors(e, &x);
    bool preempts = x.targets.n && !e->wls.v[x.wl].spares;
    bool moves = x.mode == MODE_FIT || preempts || x.has_resume;
    if (!moves)
        eng_class_set_lacks(e, &x);
    if (!moves && retell && e->out && x.whys.n) {
        e->classes.v[c].refused_wl = eng_wl_id(e, x.wl);
        eng_effect_pending(
            e, &x, x.mode == MODE_NO_FIT ? SL_PENDING_NO_FIT : SL_PENDING_NO_CANDIDATES, 0, true);
    }
    eng_round_rewind(r, &before);
    return moves;
}

/* Quota was freed, or configuration changed: classes that this helps return to their heaps. A
 * sleeping one wakes exactly if, at present, it fits, has a candidate to preempt, or has flavors
 * left to try. */
void eng_tree_wake(struct sl_engine *e, struct eng_tree *t) {
    *sl_vec_push(&e->evaluated_trees) = (uint32_t)(t - e->trees.v);
    for (uint32_t i = 0; i < t->cqs.n; i++) {
        struct eng_cq *q = &e->cqs.v[t->cqs.v[i]];
        if (!q->active)
            continue; /* evaluated when it becomes active */
        for (uint32_t k = q->asleep.n; k-- > 0;) {
            uint32_t c = q->asleep.v[k];
            enum sl_pending_kind o =
                eng_wl_obstacle(e, sl_ordset_first(&e->classes.v[c].line)->id, q);
            if (o == SL_PENDING_NS_MISSING || o == SL_PENDING_NS_MISMATCH) {
                e->classes.v[c].wake_always =
                    true; /* not evaluated now, so in any case next time */
                continue;
            }
            e->classes.v[c].wake_checked = e->stats.cycles;
            /* A queue that has become strict has no sleeping classes: a refused one stays first. */
            if (q->strategy == SL_STRICT_FIFO ||
                ((t->wake_all || worth_evaluating(e, q, &e->classes.v[c])) &&
                 would_move(e, c, t->cqs.v[i], t->wake_all)))
                eng_class_wake(e, c);
        }
        for (uint32_t k = 0; k < q->lqs.n; k++)
            wake_parked(e, q->lqs.v[k], true);
    }
    t->freed = t->wake_all = false;
}

/* Where a queue's head waits in the heap for its victims, those behind it that were evaluated wait
 * there too: they have not had their turn. */
void eng_waiting_at_rest(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->evaluated_trees.n; i++) {
        const struct eng_tree *t = &e->trees.v[e->evaluated_trees.v[i]];
        for (uint32_t k = 0; k < t->cqs.n; k++) {
            struct eng_cq *q = &e->cqs.v[t->cqs.v[k]];
            if (!q->active || sl_heap_empty(&q->heap))
                continue;
            uint32_t top = sl_heap_top(&q->heap);
            bool sticky = eng_cq_head(e, t->cqs.v[k]) == q->sticky;
            for (uint32_t c = q->asleep.n; c-- > 0;) {
                uint32_t x = q->asleep.v[c];
                /* The sticky one itself would stand before any other head: it had its turn. */
                bool first = q->sticky != ENG_NONE && e->wls.v[q->sticky].phase == WL_WAITING &&
                             e->wls.v[q->sticky].class == x;
                if (e->classes.v[x].wake_checked == e->stats.cycles && !first &&
                    (sticky || eng_class_less(e, top, x)))
                    eng_class_wake(e, x);
            }
        }
    }
    sl_vec_clear(&e->evaluated_trees);
}

/* ---- heads and positions ---- */

uint32_t eng_cq_head(struct sl_engine *e, uint32_t cq) {
    struct eng_cq *q = &e->cqs.v[cq];
    if (sl_heap_empty(&q->heap))
        return ENG_NONE;
    const struct eng_class *top = &e->classes.v[sl_heap_top(&q->heap)];
    if (q->sticky != ENG_NONE) {
        const struct eng_wl *s = &e->wls.v[q->sticky];
        if (s->phase == WL_WAITING && !e->classes.v[s->class].asleep &&
            (!eng_afs_orders(e, q) || e->lqs.v[s->lq].afs_usage <= e->lqs.v[top->lq].afs_usage))
            return q->sticky;
    }
    return sl_ordset_first(&top->line)->id;
}

bool eng_wl_before(const struct sl_engine *e, uint32_t a, uint32_t b) {
    const struct eng_wl *v = &e->wls.v[a], *w = &e->wls.v[b];
    struct eng_class x = {.lq = v->lq, .priority = eng_wl_priority(e, v)};
    struct eng_class y = {.lq = w->lq, .priority = eng_wl_priority(e, w)};
    struct sl_ordkey k = eng_wl_key(e, a), l = eng_wl_key(e, b);
    int r = x.priority > y.priority ? -1 : x.priority < y.priority;
    if (e->lqs.v[v->lq].cq == e->lqs.v[w->lq].cq)
        r = class_cmp_coarse(e, &x, &y);
    return r ? r < 0 : sl_ordkey_cmp(&k, &l, eng_wl_tie, e) < 0;
}

/* How many of the line stand before this workload of class mine. */
static uint32_t line_before(const struct sl_engine *e, const struct eng_class *c,
                            const struct eng_class *mine, const struct sl_ordkey *key) {
    int r = class_cmp_coarse(e, c, mine);
    return r < 0 ? c->line.n : r > 0 ? 0 : sl_ordset_rank(&c->line, key, eng_wl_tie, e);
}

static void lq_positions(const struct sl_engine *e, const struct eng_lq *l,
                         const struct eng_class *mine, const struct sl_ordkey *key,
                         uint32_t *before, uint32_t *all) {
    for (uint32_t i = 0; i < l->classes.n; i++) {
        const struct eng_class *c = &e->classes.v[l->classes.v[i]];
        *before += line_before(e, c, mine, key);
        *all += c->line.n;
    }
    for (uint32_t i = 0; i < l->parked.n; i++) {
        uint32_t p = l->parked.v[i];
        struct eng_class other = {.lq = e->wls.v[p].lq,
                                  .priority = eng_wl_priority(e, &e->wls.v[p])};
        struct sl_ordkey k = eng_wl_key(e, p);
        int r = class_cmp_coarse(e, &other, mine);
        *before += r < 0 || (r == 0 && sl_ordkey_cmp(&k, key, eng_wl_tie, e) < 0);
        *all += 1;
    }
}

/* Places count from 1; 0 for a workload that does not wait. */
void eng_waiting_positions(const struct sl_engine *e, uint32_t wl, uint32_t *cq_pos,
                           uint32_t *lq_pos, uint32_t *cq_n, uint32_t *lq_n) {
    *cq_pos = *lq_pos = *cq_n = *lq_n = 0;
    const struct eng_wl *w = &e->wls.v[wl];
    if (w->phase != WL_WAITING && w->phase != WL_PARKED)
        return;
    struct eng_class mine = {.lq = w->lq, .priority = eng_wl_priority(e, w)};
    struct sl_ordkey key = eng_wl_key(e, wl);
    const struct eng_lq *l = &e->lqs.v[w->lq];
    lq_positions(e, l, &mine, &key, lq_pos, lq_n);
    *lq_pos += 1;
    if (!l->live)
        return;
    const struct eng_cq *q = &e->cqs.v[l->cq];
    for (uint32_t i = 0; i < q->lqs.n; i++)
        lq_positions(e, &e->lqs.v[q->lqs.v[i]], &mine, &key, cq_pos, cq_n);
    *cq_pos += 1;
    /* The sticky workload, which waits for its victims, goes first whatever its key is. */
    uint32_t first = eng_afs_orders(e, q) ? ENG_NONE : q->sticky;
    if (first == wl) {
        *cq_pos = *lq_pos = 1;
    } else if (first != ENG_NONE && e->wls.v[first].phase == WL_WAITING) {
        const struct eng_wl *f = &e->wls.v[first];
        struct eng_class his = {.lq = f->lq, .priority = eng_wl_priority(e, f)};
        struct sl_ordkey k = eng_wl_key(e, first);
        int r = class_cmp_coarse(e, &his, &mine);
        bool jumps = r > 0 || (r == 0 && sl_ordkey_cmp(&k, &key, eng_wl_tie, e) > 0);
        *cq_pos += jumps;
        *lq_pos += jumps && f->lq == w->lq;
    }
}
