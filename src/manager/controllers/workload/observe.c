/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the observed state of a workload to facts. The engine follows what was written, by us or by
 * others; it already has our pending changes, so a field with a change in flight is not considered.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/collection/wordset.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/ceilings.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload_int.h"
#include "manager/controllers/workload/workloads.h"

static void touch(struct sl_manager *m, const struct mgr_rec_wl *w) {
    struct sl_engine_wl_view v;
    if (sl_engine_workload(m->engine, w->id, &v))
        mgr_cq_touch(m, v.cq);
    mgr_lq_touch(m, w->rec.ns, mgr_str(m, w->queue));
}

/* ---- its spec ---- */

static bool held(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_cond *c = mgr_wl_cond(m, w, "QuotaReserved");
    return mgr_wl_condition_is_true(m, w, "WaitingForReplacementPods") ||
           (mgr_group_never_requeued(m, w) && mgr_wl_condition_is_true(m, w, "Evicted")) ||
           (c && c->status == COND_FALSE && strcmp(mgr_str(m, c->reason), "OnHold") == 0);
}

/* The slice whose place it takes, by name; "": none. */
static const char *slice_of(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    bool elastic = w->slice_of && m->settings->gates[SL_G_ELASTIC_JOBS_VIA_WORKLOAD_SLICES];
    return elastic ? sl_slice_name(mgr_str(m, w->rec.ns), w->slice_of) : "";
}

static bool unread(const struct mgr_rec_wl *w) {
    for (uint32_t i = 0; i < w->n_podsets; i++)
        if (w->podsets[i].unread)
            return true;
    return false;
}

static bool report_spec(struct sl_manager *m, struct mgr_rec_wl *w) {
    const char *invalid = NULL, *gate = w->gate ? w->gate : "", *slice = slice_of(m, w);
    sl_shape_id shape;
    if (!w->n_podsets ||
        !mgr_template_shape(m, w->rec.ns, w->podsets, w->n_podsets, &shape, &invalid)) {
        w->bad = true;
        return false;
    }
    if (!invalid && unread(w))
        invalid = WL_UNREAD;
    bool hold = held(m, w), closed = mgr_wl_gates_closed(m, w);
    const uint64_t numbers[] = {shape.v,   w->queue, (uint32_t)w->priority,   (uint32_t)w->boost,
                                w->active, hold,     (uint64_t)w->max_exec_s, closed};
    uint64_t h =
        sl_hash_str(sl_hash_str(sl_hash_str(sl_hash_str(1, gate), invalid), w->job_uid), slice);
    for (size_t i = 0; i < SL_LEN(numbers); i++)
        h = sl_hash_u64(h, numbers[i]);
    if (h == w->spec_hash && w->id.v)
        return true;
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD};
    f.workload = (struct sl_workload_spec){
        .ns = mgr_str(m, w->rec.ns),
        .name = w->rec.name,
        .uid = w->rec.uid,
        .job_uid = w->job_uid ? w->job_uid : "",
        .queue = mgr_str(m, w->queue),
        .shape = shape,
        .priority = w->priority,
        .boost = w->boost,
        .created = w->rec.created,
        .inactive = !w->active,
        .gated_by = m->settings->gates[SL_G_ADMISSION_GATED_BY] ? gate : "",
        .preemption_gated = closed,
        .replaces = slice,
        .on_hold = hold,
        .max_exec_s = w->max_exec_s,
        .invalid = invalid,
    };
    sl_wl_id id = SL_WL_NONE;
    w->bad = !mgr_apply_fact(m, &f, &id);
    if (w->bad)
        return false;
    if (id.v != w->id.v) {
        if (w->id.v)
            (void)sl_map_del(&m->workloads->by_id, w->id.v, w->rec.id);
        w->id = id;
        sl_map_add(&m->workloads->by_id, id.v, w->rec.id);
        *sl_vec_push(&m->workloads->fresh) = w->rec.id;
    }
    w->spec_hash = h;
    touch(m, w);
    return true;
}

/* ---- its reservation ---- */

static enum sl_evict evict_reason(const char *reason) {
    int v;
    struct sl_err err;
    if (strncmp(reason, "Deactivated", 11) == 0)
        return SL_EVICT_DEACTIVATED;
    return sl_word_parse(SL_VOCAB_EVICT, reason, &v, &err) < 0 ? SL_EVICT_PREEMPTED
                                                               : (enum sl_evict)v;
}

static enum sl_cause evict_cause(const struct sl_manager *m, const struct mgr_rec_wl *w,
                                 const char *reason) {
    static const struct {
        const char *suffix;
        enum sl_cause cause;
    } words[] = {{"DueToAdmissionCheck", SL_CAUSE_ADMISSION_CHECK},
                 {"DueToRequeuingLimitExceeded", SL_CAUSE_REQUEUING_LIMIT},
                 {"DueToMaximumExecutionTimeExceeded", SL_CAUSE_MAX_EXECUTION_TIME}};
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strstr(reason, words[i].suffix))
            return words[i].cause;
    const struct mgr_cond *p = mgr_wl_cond(m, w, "Preempted");
    int v;
    struct sl_err err;
    if (p && p->status == COND_TRUE &&
        sl_word_parse(SL_VOCAB_CAUSE, mgr_str(m, p->reason), &v, &err) >= 0)
        return (enum sl_cause)v;
    return SL_CAUSE_NONE;
}

/* What a podset got; NULL: nothing. The last of several with its name counts. */
static const struct mgr_wl_podset_admission *assigned_to(const struct mgr_wl_admission *a,
                                                         sl_sym name) {
    for (uint32_t i = a->n; i-- > 0;)
        if (a->v[i].name == name)
            return &a->v[i];
    return NULL;
}

static void report_admission(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *a = w->seen.admission;
    struct sl_podset_admission ps[SL_MAX_PODSETS] = {0};
    uint32_t n = 0, most = 0;
    struct sl_fact f = {.kind = SL_FACT_ADMISSION, .wl = w->id};

    /* As many as it has: what is left out here would be granted a second time. Two podsets of one
     * name get the same assignment, hence the sum over podsets. */
    for (uint32_t p = 0; p < w->n_podsets; p++) {
        const struct mgr_wl_podset_admission *x = assigned_to(a, w->podsets[p].name);
        most += x ? x->n : 0;
    }
    _cleanup_(sl_freep) const char **resources = sl_alloc0(most + 1, sizeof *resources);
    _cleanup_(sl_freep) const char **flavors = sl_alloc0(most + 1, sizeof *flavors);
    _cleanup_(sl_freep) sl_amount *usage = sl_alloc0(most + 1, sizeof *usage);

    /* In the order of the spec's podsets, whatever the order of the assignments. */
    for (uint32_t p = 0; p < w->n_podsets; p++) {
        const struct mgr_wl_podset_admission *x = assigned_to(a, w->podsets[p].name);
        ps[p].resources = resources + n;
        ps[p].flavors = flavors + n;
        ps[p].usage = usage + n;
        ps[p].count = x ? x->count : w->podsets[p].count;
        for (uint32_t k = 0; x && k < x->n; k++) {
            if (!x->v[k].flavor)
                continue;
            resources[n] = mgr_str(m, x->v[k].resource);
            flavors[n] = mgr_str(m, x->v[k].flavor);
            usage[n++] = x->v[k].usage;
            ps[p].n++;
        }
    }
    /* Also if that is in flight: its pods may be ungated before the reply arrives. */
    const struct mgr_cond *reserved = mgr_wl_cond(m, w, "QuotaReserved"),
                          *admitted = mgr_wl_next_cond(m, w, "Admitted");
    const struct mgr_cond *evicted = mgr_wl_cond(m, w, "Evicted");
    f.admission.cq = mgr_str(m, a->cq);
    f.admission.podsets = ps;
    f.admission.n = w->n_podsets;
    f.admission.reserved_at = reserved->at;
    f.admission.admitted_at = admitted && admitted->status == COND_TRUE ? admitted->at : 0;
    f.admission.evicted = evicted && evicted->status == COND_TRUE;
    if (f.admission.evicted)
        f.admission.reason = evict_reason(mgr_str(m, evicted->reason));
    struct sl_engine_cq_view q;
    if (!sl_engine_cq(m->engine, f.admission.cq, &q))
        return; /* reported when the queue is known */
    (void)mgr_apply_fact(m, &f, NULL);
    touch(m, w);
}

/* Of the resources that both have; there may be many. */
static bool same_flavors(const struct sl_manager *m, const struct mgr_wl_podset_admission *a,
                         const struct sl_podset_assignment *p) {
    struct sl_wordset resources = {0};
    SL_VEC(sl_sym) flavors = {0};
    bool same = true;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->v[i].flavor && sl_wordset_add(&resources, mgr_str(m, a->v[i].resource)))
            *sl_vec_push(&flavors) = a->v[i].flavor;
    for (uint32_t i = 0; same && i < p->n; i++) {
        uint32_t at = sl_wordset_find(&resources, p->v[i].resource);
        same = at == SL_MAP_NONE || strcmp(mgr_str(m, flavors.v[at]), p->v[i].flavor) == 0;
    }
    sl_vec_free(&flavors);
    sl_wordset_done(&resources);
    return same;
}

/* Does the engine hold the same for it? */
static bool same_holding(struct sl_manager *m, const struct mgr_rec_wl *w,
                         const struct sl_engine_wl_view *v) {
    const struct mgr_wl_admission *a = w->seen.admission;
    const struct sl_podset_assignment *ps;
    if (strcmp(v->cq, mgr_str(m, a->cq)) != 0)
        return false;
    _cleanup_(sl_arena_done) struct sl_arena arena = SL_ARENA(CEILING_ASSIGNED);
    uint32_t n = sl_engine_assignment(m->engine, w->id, &arena, &ps);
    bool same = n == a->n;
    for (uint32_t i = 0; same && i < n; i++)
        for (uint32_t x = 0; same && x < a->n; x++)
            if (strcmp(mgr_str(m, a->v[x].name), ps[i].name) == 0)
                same = same_flavors(m, &a->v[x], &ps[i]);
    return same;
}

static bool reserves(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    return w->seen.admission && mgr_wl_condition_is_true(m, w, "QuotaReserved");
}

static void observe_reservation(struct sl_manager *m, struct mgr_rec_wl *w) {
    struct sl_engine_wl_view v;
    if (mgr_wl_changing(w, WL_ADMISSION) || !sl_engine_workload(m->engine, w->id, &v))
        return;
    bool has = reserves(m, w);
    bool holds = v.phase == SL_PHASE_RESERVED || v.phase == SL_PHASE_ADMITTED;
    struct sl_fact f = {.kind = SL_FACT_RELEASED, .wl = w->id, .already_written = true};
    /* Evicted, and another client has set Evicted to false: it has reserved quota again. */
    bool anew = v.evicting && !mgr_wl_condition_will_be_true(m, w, "Evicted");
    /* Its queue was changed while the reservation was in flight: the engine does not move a
     * workload that holds quota, and a manager that is restarted would count it elsewhere. */
    bool moved = strcmp(v.queue, mgr_str(m, w->queue)) != 0;
    /* The leader has withdrawn it: one of its checks is not ready any more. */
    bool lapsed = v.phase == SL_PHASE_ADMITTED && !mgr_wl_condition_will_be_true(m, w, "Admitted");
    if (holds && (!has || anew || moved || lapsed || !same_holding(m, w, &v))) {
        (void)mgr_apply_fact(m, &f, NULL);
        touch(m, w);
        holds = false;
        w->spec_hash = moved ? 0 : w->spec_hash;
        if (moved && !report_spec(m, w))
            return;
    }
    if (!has)
        return;
    bool admitted = mgr_wl_condition_will_be_true(m, w, "Admitted"),
         evicted = mgr_wl_condition_is_true(m, w, "Evicted");
    if (!holds || (admitted && v.phase == SL_PHASE_RESERVED) || (evicted && !v.evicting))
        report_admission(m, w);
}

/* ---- the slice before it ---- */

/* Is the one before to go? The engine gave its quota to this one; or, found after a restart, both
 * have some. */
static bool is_replaced(const struct sl_manager *m, const struct mgr_rec_wl *old,
                        const struct mgr_rec_wl *by) {
    struct sl_engine_wl_view v;
    if (sl_engine_workload(m->engine, old->id, &v) && v.phase == SL_PHASE_FINISHED)
        return true;
    return reserves(m, old) && !mgr_wl_condition_will_be_true(m, old, "Evicted") &&
           old->seen.admission->cq == by->seen.admission->cq;
}

/* Its reservation is written, and perhaps over again: now the slice whose place it took is
 * finished. */
static void observe_slice(struct sl_manager *m, const struct mgr_rec_wl *w) {
    const char *name = slice_of(m, w);
    if (!*name || !m->spec.parts.scheduler || mgr_wl_changing(w, WL_ADMISSION) || !reserves(m, w))
        return;
    struct mgr_rec_wl *old = mgr_wl_find(m, mgr_str(m, w->rec.ns), name);
    if (old && old != w && !mgr_wl_condition_will_be_true(m, old, "Finished") &&
        is_replaced(m, old, w))
        mgr_wl_replaced(m, old, w);
}

/* ---- its past ---- */

static void observe_past(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_wl_status *s = &w->seen;
    const struct mgr_cond *evicted = mgr_wl_cond(m, w, "Evicted"),
                          *requeued = mgr_wl_cond(m, w, "Requeued");
    struct sl_engine_wl_view v;
    /* Pending changes are about to be written; but a standby writes nothing. */
    if ((m->leads && (w->desired || w->sent)) || !sl_engine_workload(m->engine, w->id, &v))
        return;
    bool was = evicted && evicted->status == COND_TRUE;
    if (w->past_applied && s->requeues == v.requeues &&
        s->requeue_at / SL_SEC == v.requeue_at / SL_SEC)
        return;
    w->past_applied = true;
    if (!was && !s->requeues && !s->requeue_at && s->past_exec_s <= 0 && !v.requeues &&
        !v.requeue_at)
        return;
    struct sl_fact f = {.kind = SL_FACT_PAST, .wl = w->id};
    f.past.requeues = s->requeues;
    f.past.requeue_at = s->requeue_at;
    f.past.past_exec_s = s->past_exec_s > 0 ? s->past_exec_s : 0;
    if (was) {
        const char *reason = mgr_str(m, evicted->reason);
        f.past.reason = evict_reason(reason);
        f.past.cause = evict_cause(m, w, reason);
        f.past.evicted_at = evicted->at;
        f.past.text = evicted->message;
        f.past.held_back = requeued && requeued->status == COND_FALSE;
    }
    (void)mgr_apply_fact(m, &f, NULL);
}

/* ---- reported by other controllers ---- */

/* How long a verdict is valid that cannot be acted on. A controller that repeats it at once gets a
 * growing back-off. */
static sl_time void_at(const struct sl_manager *m, const struct mgr_wl_check *c) {
    sl_span wait = (c->retries > 0 && c->retries < 6 ? 1 << c->retries
                    : c->retries > 0                 ? 60
                                                     : 0) *
                   SL_SEC;
    sl_time now = m->spec.client->wall;
    return c->at > now ? sl_time_add(now, wait) : sl_time_add(c->at, wait);
}

/* A retry or a rejection is about a reservation. One that was reported while that was being
 * released cannot be acted on any more, and would keep the workload from ever getting another: it
 * is reset to Pending, and the check runs again with the next one. */
static bool clear_verdicts(struct sl_manager *m, struct mgr_rec_wl *w) {
    const uint32_t n = w->seen.checks.n;
    bool any = false;
    if (!n || !m->leads || mgr_wl_condition_is_true(m, w, "QuotaReserved") ||
        mgr_wl_changing(w, WL_ADMISSION))
        return false;
    struct sl_check_status *v = sl_alloc0(n, sizeof *v);
    for (uint32_t i = 0; i < n; i++) {
        const struct mgr_wl_check *c = &w->seen.checks.v[i];
        bool failed = c->state == SL_CHECK_RETRY || c->state == SL_CHECK_REJECTED;
        bool over = failed && void_at(m, c) <= m->spec.client->wall;
        if (failed && !over)
            sl_rec_reconcile_at(&w->rec, void_at(m, c));
        v[i] = (struct sl_check_status){.name = mgr_str(m, c->name),
                                        .state = over ? SL_CHECK_PENDING : c->state,
                                        .message =
                                            over ? "Reset to Pending: no quota is reserved" : ""};
        any |= over;
    }
    if (any)
        mgr_wl_set_checks(m, w, v, n);
    sl_freep(&v);
    return any;
}

static void observe_checks(struct sl_manager *m, struct mgr_rec_wl *w) {
    uint64_t h = 0;
    if (mgr_wl_changing(w, WL_CHECKS) || clear_verdicts(m, w))
        return;
    for (uint32_t i = 0; i < w->seen.checks.n; i++) {
        const struct mgr_wl_check *c = &w->seen.checks.v[i];
        h = sl_hash_str(sl_hash_u64(sl_hash_u64(h, c->name), c->state), c->message);
        h = sl_hash_u64(h, (uint64_t)c->requeue_after_s);
    }
    if (h == w->checks_applied)
        return;
    w->checks_applied = h;
    for (uint32_t i = 0; i < w->seen.checks.n; i++) {
        const struct mgr_wl_check *c = &w->seen.checks.v[i];
        struct sl_fact f = {.kind = SL_FACT_CHECK_STATE, .wl = w->id};
        f.check_state.name = mgr_str(m, c->name);
        f.check_state.state = c->state;
        f.check_state.message = c->message;
        f.check_state.requeue_after_s = c->requeue_after_s > 0 ? c->requeue_after_s : 0;
        (void)mgr_apply_fact(m, &f, NULL);
    }
}

static void observe_ready(struct sl_manager *m, struct mgr_rec_wl *w) {
    struct sl_engine_wl_view v;
    bool ready = mgr_wl_condition_is_true(m, w, "PodsReady");
    if (!sl_engine_workload(m->engine, w->id, &v))
        return;
    if (v.phase != SL_PHASE_RESERVED && v.phase != SL_PHASE_ADMITTED) {
        w->ready_applied = false;
        return;
    }
    if (ready == w->ready_applied)
        return;
    w->ready_applied = ready;
    struct sl_fact f = {.kind = SL_FACT_PODS_READY, .wl = w->id, .ready = ready};
    (void)mgr_apply_fact(m, &f, NULL);
}

/* More than there are: it was counted before the job was made smaller, so what was left of the pods
 * admitted is left still. */
static int32_t reclaimable(const struct mgr_rec_wl *w, uint32_t podset) {
    int32_t n = w->seen.reclaimable[podset], size = w->podsets[podset].count;
    const struct mgr_wl_admission *a = w->seen.admission;
    for (uint32_t i = 0; n > size && a && i < a->n; i++) {
        if (a->v[i].name != w->podsets[podset].name || a->v[i].count <= n)
            continue;
        int32_t left = a->v[i].count - n;
        return left < size ? size - left : 0;
    }
    return n;
}

static void observe_reclaimable(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (!w->seen.reclaimable && !w->reclaimable_applied)
        return;
    uint64_t h = 7;
    int32_t counts[SL_MAX_PODSETS] = {0};
    for (uint32_t i = 0; i < w->n_podsets; i++) {
        counts[i] = w->seen.reclaimable ? reclaimable(w, i) : 0;
        h = sl_hash_u64(h, (uint64_t)counts[i]);
    }
    if (w->reclaimable_applied && h == w->reclaimable_hash)
        return;
    w->reclaimable_applied = true;
    w->reclaimable_hash = h;
    struct sl_fact f = {.kind = SL_FACT_RECLAIMABLE, .wl = w->id};
    f.reclaimable.counts = counts;
    f.reclaimable.n = w->n_podsets;
    (void)mgr_apply_fact(m, &f, NULL);
    touch(m, w);
}

void mgr_wl_observe(struct sl_manager *m, struct mgr_rec_wl *w) {
    bool finished = mgr_wl_condition_is_true(m, w, "Finished");
    if (finished)
        observe_slice(m, w);
    if (finished && !w->id.v)
        return;     /* the engine need not know of the past */
    if (finished) { /* and may drop it */
        struct sl_fact done = {.kind = SL_FACT_FINISHED, .wl = w->id};
        struct sl_fact gone = {.kind = SL_FACT_WORKLOAD_GONE, .wl = w->id};
        touch(m, w);
        (void)mgr_apply_fact(m, &done, NULL);
        (void)mgr_apply_fact(m, &gone, NULL);
        mgr_wl_drop_id(m, w);
        return;
    }
    if (!report_spec(m, w))
        return;
    observe_reservation(m, w);
    mgr_tas_observe(m, w);
    observe_slice(m, w);
    observe_past(m, w);
    observe_checks(m, w);
    observe_ready(m, w);
    observe_reclaimable(m, w);
}
