/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time-driven and external transitions of a workload: eviction and requeue, back-off, timeouts,
 * deactivation, stopped queues. Facts only update the state and mark the workload as due; the cycle
 * then reconciles each due workload by its present state (level-triggered).
 */
#include "core/engine/state.h"

#include <string.h>

void eng_wl_due(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    if (w->due)
        return;
    w->due = true;
    *sl_vec_push(&e->due) = wl;
}

void eng_line_due(struct sl_engine *e, const struct sl_ordset *line) {
    for (uint32_t i = 0, n; i < line->n; i += n) {
        const struct sl_ordkey *k = sl_ordset_run(line, i, &n);
        for (uint32_t j = 0; j < n; j++)
            eng_wl_due(e, k[j].id);
    }
}

/* ---- timers ---- */

bool eng_timer_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_engine *e = ctx;
    sl_time x = e->wls.v[a].extra->deadline, y = e->wls.v[b].extra->deadline;
    return x != y ? x < y : a < b;
}

uint32_t *eng_timer_place(void *ctx, uint32_t wl) {
    struct sl_engine *e = ctx;
    return &e->wls.v[wl].extra->place;
}

static sl_time ready_deadline(const struct sl_engine *e, const struct eng_wl *w) {
    const struct eng_wl_extra *m = w->extra;
    if (!e->config.pods_ready || (m && m->ready))
        return SL_TIME_NEVER;
    if (m && m->was_ready)
        return sl_time_add(m->unready_at, e->config.recovery_timeout);
    return sl_time_add(w->admitted_at, e->config.ready_timeout);
}

sl_time eng_wl_deadline(const struct eng_wl *w) {
    const struct eng_wl_extra *m = w->extra;
    if (!m || !m->max_exec_s)
        return SL_TIME_NEVER;
    int64_t left = m->max_exec_s - m->past_exec_s;
    if (left < 0)
        left = 0;
    return left > INT64_MAX / SL_SEC ? SL_TIME_NEVER : sl_time_add(w->admitted_at, left * SL_SEC);
}

/* Sets the next time at which this workload is due. */
void eng_wl_timer(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    sl_time at = SL_TIME_NEVER;
    if (w->phase == WL_ADMITTED && !w->evicting) {
        sl_time r = ready_deadline(e, w), x = eng_wl_deadline(w);
        at = r < x ? r : x;
    } else if (w->extra && w->extra->requeue_at && !eng_wl_holds_quota(w)) {
        at = w->extra->requeue_at;
    }
    if (at == SL_TIME_NEVER) {
        if (w->extra)
            sl_heap_remove(&e->timers, wl);
        return;
    }
    eng_wl_extra(e, wl)->deadline = at;
    sl_heap_fix(&e->timers, wl);
}

static struct eng_tree *wl_tree(struct sl_engine *e, const struct eng_wl *w) {
    uint32_t cq = w->admission ? w->admission->cq : e->lqs.v[w->lq].cq;
    return cq == ENG_NONE || e->structure_dirty ? NULL : eng_cq_tree(e, &e->cqs.v[cq]);
}

static void requeued(struct sl_engine *e, uint32_t wl, enum sl_requeued reason) {
    e->wls.v[wl].extra->held_back = false;
    eng_effect_new(e, SL_EFFECT_REQUEUED, wl)->requeued.reason = reason;
}

static bool back_for_backoff(const struct eng_wl_extra *m) {
    return m->held_back &&
           (m->why_back == SL_EVICT_PODS_READY_TIMEOUT || m->why_back == SL_EVICT_ADMISSION_CHECK);
}

void eng_wl_backoff(struct sl_engine *e, uint32_t wl, int32_t count, sl_time at) {
    struct eng_wl_extra *m = eng_wl_extra(e, wl);
    m->requeues = count;
    m->requeue_at = at;
    struct sl_effect *f = eng_effect_new(e, SL_EFFECT_BACKOFF, wl);
    f->backoff.count = count;
    f->backoff.at = at;
}

static void backoff_over(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    struct eng_tree *t = wl_tree(e, w);
    if (t)
        eng_tree_epoch(e, t);
    eng_wl_backoff(e, wl, w->extra->requeues, 0);
    if (back_for_backoff(w->extra))
        requeued(e, wl, SL_REQUEUED_BACKOFF_FINISHED);
    if (w->phase == WL_PARKED)
        eng_wl_requeue(e, wl);
}

/* base * 2^count seconds from now, not beyond the maximum. */
static sl_time backoff_until(const struct sl_engine *e, int32_t count) {
    int64_t s = e->config.backoff_base_s, max = e->config.backoff_max_s;
    for (int32_t i = 0; i < count && s < max; i++)
        s = s > INT64_MAX / 2 ? INT64_MAX : s * 2;
    if (s > max)
        s = max;
    return sl_time_add(e->now, s > INT64_MAX / SL_SEC ? INT64_MAX : s * SL_SEC);
}

static void ready_timed_out(struct sl_engine *e, uint32_t wl) {
    struct eng_wl_extra *m = eng_wl_extra(e, wl);
    const struct eng_wl *w = &e->wls.v[wl];
    if (e->config.backoff_limit >= 0 && m->requeues + 1 > e->config.backoff_limit) {
        m->requeues = 0;
        eng_wl_deactivate(e, wl, SL_CAUSE_REQUEUING_LIMIT,
                          "exceeding the maximum number of re-queuing retries");
        return;
    }
    sl_time at = backoff_until(e, m->requeues);
    eng_wl_backoff(e, wl, m->requeues + 1, m->requeue_at > at ? m->requeue_at : at);
    const char *text = sl_arena_printf(&e->out->arena, "Exceeded the PodsReady timeout %s/%s",
                                       eng_str(e, w->ns), eng_wl_name(w));
    eng_wl_evict(e, wl, SL_EVICT_PODS_READY_TIMEOUT,
                 m->was_ready ? SL_CAUSE_WAIT_FOR_RECOVERY : SL_CAUSE_WAIT_FOR_START, ENG_NONE,
                 text);
}

void eng_timers_run(struct sl_engine *e) {
    while (!sl_heap_empty(&e->timers)) {
        uint32_t wl = sl_heap_top(&e->timers);
        struct eng_wl *w = &e->wls.v[wl];
        if (w->extra->deadline > e->now)
            return;
        (void)sl_heap_pop(&e->timers);
        if (w->phase != WL_ADMITTED) {
            backoff_over(e, wl);
        } else if (eng_wl_deadline(w) <= e->now) {
            w->extra->past_exec_s = 0;
            eng_wl_deactivate(e, wl, SL_CAUSE_MAX_EXECUTION_TIME,
                              "exceeding the maximum execution time");
        } else {
            ready_timed_out(e, wl);
        }
    }
}

/* ---- eviction and return ---- */

/* Records the victims of a preemptor, and drops those that are gone. */
static void add_victim(struct sl_engine *e, uint32_t by, uint32_t wl) {
    struct eng_wl_extra *m = eng_wl_extra(e, by);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->victims.n; i++) {
        uint32_t v = eng_wl_resolve(e, m->victims.v[i]);
        if (v != ENG_NONE && v != wl && e->wls.v[v].evicting)
            m->victims.v[kept++] = m->victims.v[i];
    }
    m->victims.n = kept;
    *sl_vec_push(&m->victims) = eng_wl_id(e, wl);
}

void eng_wl_evict(struct sl_engine *e, uint32_t wl, enum sl_evict reason, enum sl_cause cause,
                  uint32_t by, const char *text) {
    struct eng_wl *w = &e->wls.v[wl];
    if (w->evicting || !eng_wl_holds_quota(w))
        return;
    struct eng_wl_extra *m = eng_wl_extra(e, wl);
    w->evicting = true;
    m->evict = m->order_evict = reason;
    m->cause = cause;
    m->by = by == ENG_NONE ? SL_WL_NONE : eng_wl_id(e, by);
    if (by != ENG_NONE)
        add_victim(e, by, wl);
    m->order_evict_at = e->now;
    e->stats.evictions++;
    struct sl_arena *a = &e->out->arena;
    struct sl_effect *f = eng_effect_new(e, SL_EFFECT_EVICT, wl);
    f->evict.reason = reason;
    f->evict.cause = cause;
    f->evict.path = eng_cq_path(e, w->admission->cq, a);
    if (by != ENG_NONE) {
        const struct eng_wl *p = &e->wls.v[by];
        f->evict.by = eng_wl_id(e, by);
        f->evict.by_uid = sl_arena_strdup(a, eng_wl_uid(p));
        f->evict.by_job_uid = sl_arena_strdup(a, eng_wl_job_uid(p));
        f->evict.by_path = eng_cq_path(e, e->lqs.v[p->lq].cq, a);
    }
    f->evict.text = text ? sl_arena_strdup(a, text) : sl_evict_message(f, a);
    sl_freep(&m->evict_text);
    m->evict_text = sl_strdup(f->evict.text);
    eng_checks_reset(e, wl);
    eng_wl_timer(e, wl);
}

/* The cause is ours: switch it off, and let it go. */
void eng_wl_deactivate(struct sl_engine *e, uint32_t wl, enum sl_cause cause, const char *text) {
    struct eng_wl *w = &e->wls.v[wl];
    w->inactive = true;
    struct sl_arena *a = &e->out->arena;
    struct sl_effect *f = eng_effect_new(e, SL_EFFECT_DEACTIVATE, wl);
    f->deactivate.cause = cause;
    f->deactivate.text = sl_arena_strdup(a, text);
    eng_wl_evict(e, wl, SL_EVICT_DEACTIVATED, cause, ENG_NONE,
                 sl_arena_printf(a, "The workload is deactivated due to %s", text));
}

/* Evicted and stopped, or its reservation is lost: quota is free and it may come back. */
void eng_wl_released(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    enum sl_evict why = w->evicting ? w->extra->evict : SL_EVICT_NONE;
    bool was_admitted = w->phase == WL_ADMITTED;
    eng_wl_release_quota(e, wl);
    if (why != SL_EVICT_NONE) {
        w->extra->held_back = why != SL_EVICT_PREEMPTED && why != SL_EVICT_NODE_FAILURES;
        w->extra->why_back = why;
        w->extra->released = true;
        w->extra->was_admitted = was_admitted;
    }
    if (eng_wl_eligible(w))
        eng_wl_enqueue(e, wl);
    eng_wl_due(e, wl);
}

/* ---- due workloads ---- */

static enum sl_blocked_kind blocker(const struct sl_engine *e, const struct eng_wl *w) {
    const struct eng_lq *l = &e->lqs.v[w->lq];
    if (!l->exists)
        return SL_BLOCKED_LQ_MISSING;
    if (l->stop != SL_STOP_NONE)
        return SL_BLOCKED_LQ_STOPPED;
    if (l->cq == ENG_NONE)
        return SL_BLOCKED_CQ_MISSING;
    return e->cqs.v[l->cq].active ? SL_BLOCKED_COUNT : SL_BLOCKED_CQ_INACTIVE;
}

/* Reports once per state why the workload is not even considered. */
static void report_blocked(struct sl_engine *e, uint32_t wl, enum sl_blocked_kind kind,
                           const char *text) {
    struct eng_wl_extra *m = eng_wl_extra(e, wl);
    uint64_t h = sl_hash_str(sl_hash_u64(1, (uint64_t)kind), text);
    if (m->reported_hash == h)
        return;
    m->reported_hash = h;
    const struct eng_lq *l = &e->lqs.v[e->wls.v[wl].lq];
    bool local = kind == SL_BLOCKED_LQ_MISSING || kind == SL_BLOCKED_LQ_STOPPED;
    struct sl_effect *f = eng_effect_new(e, SL_EFFECT_BLOCKED, wl);
    f->blocked.kind = kind;
    f->blocked.queue = eng_str(e, local ? l->name : l->cq_name);
    f->blocked.text = sl_arena_strdup(&e->out->arena, text);
}

/* A queue that was stopped runs again: those it sent away may return. */
static bool queue_restarted(const struct sl_engine *e, const struct eng_wl *w,
                            enum sl_requeued *ret) {
    const struct eng_lq *l = &e->lqs.v[w->lq];
    const struct eng_wl_extra *m = w->extra;
    if (m->why_back == SL_EVICT_LOCAL_QUEUE_STOPPED && l->exists && l->stop == SL_STOP_NONE) {
        *ret = SL_REQUEUED_LOCAL_QUEUE_RESTARTED;
        return true;
    }
    if (m->why_back == SL_EVICT_CLUSTER_QUEUE_STOPPED && l->cq != ENG_NONE &&
        e->cqs.v[l->cq].stop == SL_STOP_NONE) {
        *ret = SL_REQUEUED_CLUSTER_QUEUE_RESTARTED;
        return true;
    }
    if (m->why_back == SL_EVICT_DEACTIVATED) { /* eligible again: it was activated */
        *ret = SL_REQUEUED_REACTIVATED;
        return true;
    }
    if (back_for_backoff(m) && m->requeue_at <= e->now) {
        *ret = SL_REQUEUED_BACKOFF_FINISHED;
        return true;
    }
    return false;
}

static void act_waiting(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    struct eng_wl_extra *m = w->extra;
    if (m && m->released) {
        m->released = false;
        struct sl_effect *f = eng_effect_new(e, SL_EFFECT_RELEASE, wl);
        f->release.reason = m->why_back;
        f->release.cause = m->why_back == SL_EVICT_DEACTIVATED ? m->cause : SL_CAUSE_NONE;
        f->release.was_admitted = m->was_admitted;
        f->release.requeued = !m->held_back;
        f->release.has_checks = m->checks.n > 0;
        f->release.text = sl_arena_strdup(&e->out->arena, m->evict_text ? m->evict_text : "");
    }
    if (e->config.no_lifecycle)
        return;
    if (w->gated) {
        report_blocked(e, wl, SL_BLOCKED_GATED, m && m->gate ? m->gate : "");
        return;
    }
    if (!eng_wl_eligible(w))
        return;
    enum sl_requeued reason;
    if (m && m->held_back && queue_restarted(e, w, &reason)) {
        if (reason == SL_REQUEUED_REACTIVATED)
            m->requeues = 0;
        if (m->requeue_at)
            eng_wl_backoff(e, wl, m->requeues, 0);
        requeued(e, wl, reason);
        eng_wl_requeue(e, wl);
    }
    if (m && m->gate) {
        sl_freep(&m->gate);
        report_blocked(e, wl, SL_BLOCKED_GATE_CLEARED, "");
    }
    enum sl_blocked_kind b = blocker(e, w);
    if (b != SL_BLOCKED_COUNT)
        report_blocked(e, wl, b, "");
    eng_checks_sync(e, wl);
}

static void unreserve(struct sl_engine *e, uint32_t wl, bool local, bool stopped) {
    struct sl_effect *f = eng_effect_new(e, SL_EFFECT_UNRESERVE, wl);
    f->unreserve.local_queue = local;
    f->unreserve.stopped = stopped;
    f->unreserve.queue =
        eng_str(e, local ? e->lqs.v[e->wls.v[wl].lq].name
                         : eng_cq_node(e, &e->cqs.v[e->wls.v[wl].admission->cq])->name);
    uint32_t slice = eng_slice_taken(e, wl);
    eng_wl_release_quota(e, wl);
    eng_slice_return(e, slice);
    if (eng_wl_eligible(&e->wls.v[wl]))
        eng_wl_enqueue(e, wl);
}

static void act_holding(struct sl_engine *e, uint32_t wl) {
    struct eng_wl *w = &e->wls.v[wl];
    if (w->evicting || e->config.no_lifecycle)
        return;
    if (w->inactive) {
        eng_wl_evict(e, wl, SL_EVICT_DEACTIVATED, SL_CAUSE_NONE, ENG_NONE,
                     "The workload is deactivated");
        return;
    }
    const struct eng_lq *l = &e->lqs.v[w->lq];
    const struct eng_cq *q = &e->cqs.v[w->admission->cq];
    bool reserved = w->phase == WL_RESERVED;
    if (l->exists && l->stop != SL_STOP_NONE) {
        if (reserved)
            unreserve(e, wl, true, true);
        else if (l->stop == SL_STOP_HOLD_AND_DRAIN)
            eng_wl_evict(e, wl, SL_EVICT_LOCAL_QUEUE_STOPPED, SL_CAUSE_NONE, ENG_NONE,
                         "The LocalQueue is stopped");
        if (!eng_wl_holds_quota(w) || w->evicting)
            return;
    }
    if (q->exists && q->stop != SL_STOP_NONE) {
        if (reserved)
            unreserve(e, wl, false, true);
        else if (q->stop == SL_STOP_HOLD_AND_DRAIN)
            eng_wl_evict(e, wl, SL_EVICT_CLUSTER_QUEUE_STOPPED, SL_CAUSE_NONE, ENG_NONE,
                         "The ClusterQueue is stopped");
        if (!eng_wl_holds_quota(w) || w->evicting)
            return;
    }
    eng_checks_sync(e, wl);
    /* What waits for nothing any more is admitted, though its queue is gone. */
    if (reserved && (!l->exists || !q->exists || q->terminating) && !eng_checks_all_ready(e, wl)) {
        unreserve(e, wl, !l->exists, false);
        return;
    }
    (void)eng_checks_act(e, wl);
}

void eng_due_run(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->due.n; i++) {
        uint32_t wl = e->due.v[i];
        struct eng_wl *w = &e->wls.v[wl];
        w->due = false;
        if (w->phase == WL_FREE || w->phase == WL_FINISHED)
            continue;
        if (eng_wl_holds_quota(w))
            act_holding(e, wl);
        if (!eng_wl_holds_quota(w))
            act_waiting(e, wl);
    }
    sl_vec_clear(&e->due);
}
