/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With gate UnadmittedWorkloadsObservability the reason of a condition is the kind of obstacle,
 * not only that there is one. The messages stay the same.
 */
#include "manager/controllers/workload/reasons.h"

#include <string.h>

static bool any_why(const struct sl_effect *x, enum sl_why_kind kind) {
    for (uint32_t i = 0; i < x->pending.n_why; i++)
        if (x->pending.why[i].kind == kind)
            return true;
    return false;
}

/* A flavor that only lacks free quota is the nearest to a yes; one that could never hold it comes
 * next; then those that do not match at all. */
static const char *of_flavors(const struct sl_effect *x) {
    if (x->pending.victims)
        return "WaitingForPreemptedWorkloads";
    if (any_why(x, SL_WHY_NEEDS_MORE))
        return "WaitingForQuota";
    if (any_why(x, SL_WHY_EXCEEDS_MAX))
        return "ExceedsMaxQuota";
    if (any_why(x, SL_WHY_PLACE))
        return "TopologyPlacementFailed";
    return x->pending.n_why ? "NoMatchingFlavor" : "WaitingForQuota";
}

static const char *of_pending(const struct sl_effect *x) {
    switch (x->pending.kind) {
    case SL_PENDING_NO_FIT:
    case SL_PENDING_NO_CANDIDATES:
    case SL_PENDING_PREEMPTION:
        return of_flavors(x);
    case SL_PENDING_OVERLAP:
    case SL_PENDING_LOST_RACE:
        return "WaitingForQuota";
    case SL_PENDING_CQ_INACTIVE:
        return "Suspended";
    case SL_PENDING_CQ_MISSING:
    case SL_PENDING_NS_MISSING:
    case SL_PENDING_NS_MISMATCH:
    case SL_PENDING_INVALID:
        return "Misconfigured";
    case SL_PENDING_PODS_READY:
        return "WaitingForPodsReady";
    case SL_PENDING_GATED:
        return "AdmissionGated";
    case SL_PENDING_FAILED_CHECKS:
    case SL_PENDING_COUNT:
        break;
    }
    return "PendingEvaluation";
}

static const char *of_blocked(const struct sl_effect *x) {
    static const char *const words[SL_BLOCKED_COUNT] = {
        [SL_BLOCKED_LQ_MISSING] = "Misconfigured", [SL_BLOCKED_CQ_MISSING] = "Misconfigured",
        [SL_BLOCKED_LQ_STOPPED] = "Suspended",     [SL_BLOCKED_CQ_INACTIVE] = "Suspended",
        [SL_BLOCKED_GATED] = "AdmissionGated",     [SL_BLOCKED_GATE_CLEARED] = "PendingEvaluation",
    };
    return words[x->blocked.kind];
}

const char *mgr_observed_reason(const struct sl_effect *x, const struct sl_condition *c) {
    if (c->type == SL_COND_ADMITTED && !c->status)
        return "NoReservation";
    if (c->type != SL_COND_QUOTA_RESERVED || c->status)
        return c->reason;
    switch (x->kind) {
    case SL_EFFECT_PENDING:
        return of_pending(x);
    case SL_EFFECT_BLOCKED:
        return of_blocked(x);
    case SL_EFFECT_RELEASE:
        return x->release.reason == SL_EVICT_DEACTIVATED ? "Deactivated" : "PendingEvaluation";
    case SL_EFFECT_UNRESERVE:
        return x->unreserve.stopped ? "Suspended" : "Misconfigured";
    default:
        return c->reason;
    }
}

/* The condition of a workload that the engine has not evaluated itself. */
void mgr_explicit_status(struct sl_manager *m, struct mgr_rec_wl *w) {
    struct sl_engine_wl_view v;
    if (!m->settings->gates[SL_G_UNADMITTED_WORKLOADS_OBSERVABILITY] ||
        !m->settings->gates[SL_G_UNADMITTED_WORKLOADS_EXPLICIT_STATUS] ||
        !sl_engine_workload(m->engine, w->id, &v))
        return;
    const struct mgr_cond *c = mgr_wl_next_cond(m, w, "QuotaReserved");
    bool waits = v.phase == SL_PHASE_HEAP || v.phase == SL_PHASE_ASLEEP;
    if (!waits || (c && strcmp(mgr_str(m, c->reason), "PendingEvaluation") != 0))
        return;
    if (v.phase == SL_PHASE_ASLEEP)
        mgr_wl_set_cond(
            m, w, "QuotaReserved", false, "WaitingForQuota",
            "Bypassed scheduling evaluation because an equivalent workload recently failed");
    else
        mgr_wl_set_cond(m, w, "QuotaReserved", false, "PendingEvaluation",
                        "Workload is pending evaluation in the scheduling queue");
    mgr_wl_set_cond(m, w, "Admitted", false, "NoReservation", "The workload has no reservation");
}
