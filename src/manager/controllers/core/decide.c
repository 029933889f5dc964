/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts to the engine, and from its decisions to pending changes: each effect changes the desired
 * status of its Workload, with Kueue's messages, and is reported as an event and in the metrics.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/stamp.h"
#include "lib/log/log.h"
#include "manager/controllers/core/bridge.h"
#include "manager/controllers/core/kinds.h"
#include "manager/controllers/metrics/metrics.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/workload/reasons.h"
#include "manager/controllers/workload/workload.h"
#include "manager/controllers/workload/workload_int.h"
#include "manager/controllers/workload/workloads.h"

#define SCHEDULER "kueue-admission"
#define CONTROLLER "kueue-workload-controller"

/* ---- facts in ---- */

bool mgr_apply_fact(struct sl_manager *m, struct sl_fact *f, sl_wl_id *ret_wl) {
    struct sl_err err;
    f->at = m->spec.client->wall;
    if (sl_engine_apply(m->engine, f, ret_wl, &err) < 0) {
        sl_log(SL_LOG_WARN, "object rejected by the scheduling engine",
               SL_S("fact", sl_fact_name(f->kind)), SL_S("error", err.text));
        return false;
    }
    m->facts = true;
    mgr_note_fact(m, f);
    return true;
}

/* ---- decisions out ---- */

/* Seconds since it began to wait: since it was made, or since it was last put back. */
static int64_t waited(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "Requeued");
    sl_time since = c ? c->at : w->rec.created;
    return since < m->spec.client->wall ? (m->spec.client->wall - since) / SL_SEC : 0;
}

static void set_conditions(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    struct sl_condition v[SL_EFFECT_MAX_CONDITIONS];
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT((size_t)1 << 20);
    uint32_t n = sl_effect_conditions(x, &text, v);
    bool observe = m->settings->gates[SL_G_UNADMITTED_WORKLOADS_OBSERVABILITY];
    for (uint32_t i = 0; i < n; i++)
        mgr_wl_set_cond(m, w, sl_word(SL_VOCAB_COND, (int)v[i].type), v[i].status,
                        observe ? mgr_observed_reason(x, &v[i]) : v[i].reason, v[i].message);
    if (observe && mgr_wl_next_cond(m, w, "QuotaReserved") && !mgr_wl_next_cond(m, w, "Admitted"))
        mgr_wl_set_cond(m, w, "Admitted", false, "NoReservation",
                        "The workload has no reservation");
}

/* What was true of an earlier admission is so no longer. */
static void reset_condition(struct sl_manager *m, struct mgr_rec_wl *w, const char *type) {
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, type);
    if (!c || c->status != COND_TRUE)
        return;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(32768);
    sl_buf_printf(&b, "Previously: %s", c->message);
    mgr_wl_set_cond(m, w, type, false, "QuotaReserved", sl_buf_str(&b));
}

static void reserve(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    mgr_wl_set_admission(m, w, x->cq, x->reserve.podsets, x->reserve.n);
    sl_rec_event(&w->rec, SCHEDULER, false, "QuotaReserved",
                 "Quota reserved in ClusterQueue %s, wait time since queued was %llds", x->cq,
                 (long long)waited(m, w));
    set_conditions(m, w, x);
    reset_condition(m, w, "Evicted");
    reset_condition(m, w, "Preempted");
    reset_condition(m, w, "BlockedOnPreemptionGates");
    const struct mgr_rec_wl *old = mgr_wl_by_id(m, x->reserve.replaced);
    if (old) /* finished when this is written; its quota has passed over */
        mgr_lq_touch(m, old->rec.ns, mgr_str(m, old->queue));
    if (x->reserve.admitted)
        sl_rec_event(&w->rec, SCHEDULER, false, "Admitted",
                     "Admitted by ClusterQueue %s, wait time since reservation was 0s", x->cq);
}

void mgr_wl_replaced(struct sl_manager *m, struct mgr_rec_wl *w, const struct mgr_rec_wl *by) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(1024);
    sl_effect_replaced_message(&b, by->rec.uid, by->job_uid);
    mgr_wl_finish(m, w, "WorkloadSliceReplaced", sl_buf_str(&b));
    sl_rec_event(&w->rec, SCHEDULER, false, "WorkloadSliceReplaced", "%s", sl_buf_str(&b));
    mgr_count_replaced(m, w);
}

static void admit(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "QuotaReserved");
    int64_t s = c && c->at < m->spec.client->wall ? (m->spec.client->wall - c->at) / SL_SEC : 0;
    set_conditions(m, w, x);
    sl_rec_event(&w->rec, CONTROLLER, false, "Admitted",
                 "Admitted by ClusterQueue %s, wait time since reservation was %llds", x->cq,
                 (long long)s);
}

/* Nodes that were reserved for it are so no longer, or later. */
static void tell_delay(struct mgr_rec_wl *w, const struct sl_effect *x) {
    char before[SL_STAMP_TEXT] = "now", after[SL_STAMP_TEXT];
    sl_time was = x->pending.put_off, now = x->pending.reserved;
    if (!was)
        return;
    if (was != SL_TIME_NEVER)
        (void)sl_stamp(was, before);
    if (now && now != SL_TIME_NEVER)
        sl_rec_event(&w->rec, SCHEDULER, true, "StartDelayed",
                     "Nodes were reserved from %s on, and are from %s on", before,
                     sl_stamp(now, after));
    else
        sl_rec_event(&w->rec, SCHEDULER, true, "StartDelayed",
                     "Nodes were reserved from %s on, and %s", before,
                     now ? "not all of them are free yet" : "are not any more");
}

static void pending(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    struct sl_condition v[SL_EFFECT_MAX_CONDITIONS];
    struct sl_buf text;
    bool observe = m->settings->gates[SL_G_UNADMITTED_WORKLOADS_OBSERVABILITY];
    sl_buf_init(&text, (size_t)1 << 20);
    sl_buf_short(&text);
    uint32_t n = sl_effect_conditions(x, &text, v);
    tell_delay(w, x);
    if (n)
        mgr_wl_set_waiting(m, w, observe ? mgr_observed_reason(x, &v[0]) : v[0].reason,
                           v[0].message);
    for (uint32_t i = 1; i < n; i++)
        mgr_wl_set_cond(m, w, sl_word(SL_VOCAB_COND, (int)v[i].type), v[i].status, v[i].reason,
                        v[i].message);
    sl_buf_done(&text);
    if (observe && !mgr_wl_next_cond(m, w, "Admitted"))
        mgr_wl_set_cond(m, w, "Admitted", false, "NoReservation",
                        "The workload has no reservation");
}

/* `; preemptor effective priority: 2 (base: 1, boost: 1); preemptee effective priority: ...` */
static void put_priorities(const struct sl_manager *m, const struct mgr_rec_wl *by,
                           const struct mgr_rec_wl *w, struct sl_buf *b) {
    bool boosted = m->settings->gates[SL_G_PRIORITY_BOOST];
    const struct mgr_rec_wl *v[] = {by, w};
    for (size_t i = 0; i < SL_LEN(v); i++) {
        long long base = v[i] ? v[i]->priority : 0, boost = v[i] && boosted ? v[i]->boost : 0;
        sl_buf_printf(b, "; preempt%s effective priority: %lld (base: %lld, boost: %lld)",
                      i ? "ee" : "or", base + boost, base, boost);
    }
}

static void preempted(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    const struct mgr_rec_wl *by = mgr_wl_by_id(m, x->evict.by);
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "Preempted");
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(8192);
    put_priorities(m, by, w, &b);
    sl_rec_event(&w->rec, SCHEDULER, false, "Preempted", "%s%s", c ? c->message : "",
                 sl_buf_str(&b));
    if (by)
        sl_rec_event(&by->rec, SCHEDULER, false, "PreemptedWorkload",
                     "Preempted workload %s/%s (UID: %s) in ClusterQueue %s%s",
                     mgr_str(m, w->rec.ns), w->rec.name, w->rec.uid, x->cq, sl_buf_str(&b));
}

static void evict(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    bool ours =
        x->evict.reason == SL_EVICT_DEACTIVATED || x->evict.reason == SL_EVICT_PODS_READY_TIMEOUT;
    const char *reason = sl_word(SL_VOCAB_EVICT, (int)x->evict.reason);
    const char *cause =
        ours && x->evict.cause != SL_CAUSE_NONE ? sl_word(SL_VOCAB_CAUSE, (int)x->evict.cause) : "";
    set_conditions(m, w, x);
    mgr_wl_clear_names(w);
    w->by = x->evict.by;
    mgr_wl_count_eviction(m, w, reason, cause);
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "Evicted");
    if (c && mgr_wl_condition_will_be_true(m, w, "BlockedOnPreemptionGates"))
        mgr_wl_set_cond(m, w, "BlockedOnPreemptionGates", false, mgr_str(m, c->reason), c->message);
    mgr_wl_gates_close(m, w);
    c = mgr_wl_next_cond(m, w, "Evicted"); /* the list may have moved */
    char name[128]; /* the condition's reason carries the cause of a deactivation */
    sl_fmt_short(name, sizeof name, "EvictedDueTo%s", c ? mgr_str(m, c->reason) : reason);
    sl_rec_event(&w->rec, x->evict.reason == SL_EVICT_PREEMPTED ? SCHEDULER : CONTROLLER, false,
                 name, "%s", c ? c->message : "");
}

static void release(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "Admitted"),
                          *evicted = mgr_wl_cond(m, w, "Evicted");
    struct sl_effect reported = *x;
    if (c && c->status == COND_TRUE && x->release.was_admitted)
        mgr_wl_add_past(w, (m->spec.client->wall - c->at) / SL_SEC);
    if (evicted && !*reported.release.text) /* evicted by another controller: its message is used */
        reported.release.text = evicted->message;
    set_conditions(m, w, &reported);
    c = mgr_wl_next_cond(m, w, "Requeued");
    if (c && c->status == COND_TRUE && mgr_group_never_requeued(m, w)) {
        char *message = sl_strdup(c->message);
        mgr_wl_set_cond(m, w, "Requeued", false, mgr_str(m, c->reason), message);
        sl_freep(&message);
    }
    mgr_wl_clear_admission(m, w);
}

static void unreserve(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    set_conditions(m, w, x);
    mgr_wl_clear_admission(m, w);
}

static void deactivate(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    set_conditions(m, w, x);
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "DeactivationTarget");
    switch (x->deactivate.cause) {
    case SL_CAUSE_MAX_EXECUTION_TIME:
        mgr_wl_reset_past(w);
        sl_rec_event(&w->rec, CONTROLLER, true, "MaximumExecutionTimeExceeded",
                     "The maximum execution time (%llds) exceeded", (long long)w->max_exec_s);
        break;
    case SL_CAUSE_ADMISSION_CHECK:
        sl_rec_event(&w->rec, CONTROLLER, true, "AdmissionCheckRejected", "Deactivated due to %s",
                     c ? c->message : "");
        break;
    case SL_CAUSE_REQUEUING_LIMIT:
        mgr_wl_set_requeue(w, 0, 0);
        break;
    default:
        break;
    }
}

static void blocked(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    set_conditions(m, w, x);
    if (x->blocked.kind == SL_BLOCKED_GATED)
        sl_rec_event(&w->rec, CONTROLLER, false, "AdmissionGated",
                     "Workload admission is gated by: %s", x->blocked.text ? x->blocked.text : "");
    else if (x->blocked.kind == SL_BLOCKED_GATE_CLEARED)
        sl_rec_event(&w->rec, CONTROLLER, false, "AdmissionGateCleared",
                     "Admission gate cleared, workload is now admissible");
}

static void perform(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_effect *x) {
    mgr_count_effect(m, w, x);
    switch (x->kind) {
    case SL_EFFECT_RESERVE:
        reserve(m, w, x);
        break;
    case SL_EFFECT_ADMIT:
        admit(m, w, x);
        break;
    case SL_EFFECT_PENDING:
        pending(m, w, x);
        break;
    case SL_EFFECT_EVICT:
        evict(m, w, x);
        if (x->evict.reason == SL_EVICT_PREEMPTED)
            preempted(m, w, x);
        break;
    case SL_EFFECT_RELEASE:
        release(m, w, x);
        break;
    case SL_EFFECT_UNRESERVE:
        unreserve(m, w, x);
        break;
    case SL_EFFECT_REQUEUED:
        set_conditions(m, w, x);
        break;
    case SL_EFFECT_BACKOFF:
        mgr_wl_set_requeue(w, x->backoff.count, x->backoff.at);
        break;
    case SL_EFFECT_DEACTIVATE:
        deactivate(m, w, x);
        break;
    case SL_EFFECT_CHECKS:
        mgr_wl_set_checks(m, w, x->checks.v, x->checks.n);
        break;
    case SL_EFFECT_BLOCKED:
        blocked(m, w, x);
        break;
    case SL_EFFECT_CQ_STATUS:
    case SL_EFFECT_COUNT:
        break;
    }
}

/* A queue that became active or inactive: so did the LocalQueues that lead to it. */
static void queue_turned(struct sl_manager *m, const char *cq) {
    sl_sym name = sl_sym_find(m->syms, cq);
    uint32_t at = 0;
    for (struct sl_rec *l; (l = sl_inf_each(m->inf, REC_LOCAL_QUEUE, &at));)
        if (mgr_conf_of(l)->refers == name)
            sl_rec_write(l);
    struct sl_rec *q = sl_inf_find(m->inf, REC_CLUSTER_QUEUE, "", cq);
    if (q)
        sl_rec_write(q);
}

void mgr_refresh_engine(struct sl_manager *m) {
    sl_effects_clear(&m->effects);
    sl_engine_refresh(m->engine, &m->effects);
    for (uint32_t i = 0; i < m->effects.v.n; i++)
        queue_turned(m, m->effects.v.v[i].name);
}

void mgr_run_cycle(struct sl_manager *m) {
    struct sl_effects *out = &m->effects;
    m->facts = false;
    sl_effects_clear(out);
    mgr_count_cycle_begins(m);
    sl_engine_cycle(m->engine, m->spec.client->wall, out);
    mgr_count_cycle(m, out);
    for (uint32_t i = 0; i < out->v.n; i++) {
        const struct sl_effect *x = &out->v.v[i];
        if (x->kind == SL_EFFECT_CQ_STATUS) {
            queue_turned(m, x->name);
            continue;
        }
        struct mgr_rec_wl *w = mgr_wl_by_id(m, x->wl);
        if (!w)
            continue;
        perform(m, w, x);
        if (x->cq)
            mgr_cq_touch(m, x->cq);
        mgr_lq_touch(m, w->rec.ns, mgr_str(m, w->queue));
    }
    for (uint32_t i = 0; i < m->workloads->fresh.n; i++) {
        struct sl_rec *r = m->inf->recs.v[m->workloads->fresh.v[i]];
        if (r && !r->gone && r->kind == REC_WORKLOAD)
            mgr_explicit_status(m, mgr_wl_of(r));
    }
    sl_vec_clear(&m->workloads->fresh);
}
