/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/controllers/workload/follow.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/metrics/metrics.h"

void mgr_follow_ready(struct sl_manager *m, struct mgr_rec_wl *w, bool ready) {
    static const char waiting[] = "Not all pods are ready or succeeded";
    const struct mgr_cond *was = mgr_wl_next_cond(m, w, "PodsReady");
    const char *reason = was ? mgr_str(m, was->reason) : "";
    bool recovering = strcmp(reason, "WaitForRecovery") == 0;

    if (!m->settings->engine.pods_ready)
        return;
    if (mgr_wl_condition_is_true(m, w, "Admitted") && ready && !(was && was->status == COND_TRUE))
        mgr_count_ready(m, w);
    if (!mgr_wl_condition_is_true(m, w, "Admitted"))
        mgr_wl_set_cond(m, w, "PodsReady", false, "WaitForStart", waiting);
    else if (ready)
        mgr_wl_set_cond(m, w, "PodsReady", true,
                        recovering || strcmp(reason, "Recovered") == 0 ? "Recovered" : "Started",
                        "All pods reached readiness and the workload is running");
    else if (was && (was->status == COND_TRUE || recovering))
        mgr_wl_set_cond(m, w, "PodsReady", false, "WaitForRecovery",
                        "At least one pod has failed, waiting for recovery");
    else
        mgr_wl_set_cond(m, w, "PodsReady", false, "WaitForStart", waiting);
}

void mgr_follow_gate(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                     const char *gate, struct mgr_rec_wl *w) {
    const char *has = w->gate ? w->gate : "";
    gate = gate ? gate : "";
    if (!m->settings->gates[SL_G_ADMISSION_GATED_BY] || strcmp(gate, has) == 0 ||
        (w->pending & WL_GATE))
        return;
    mgr_wl_set_pending_gate(w, gate);
    sl_rec_event(r, controller, false, "UpdatedWorkload",
                 "Updated workload AdmissionGatedBy to \"%s\"", gate);
}

void mgr_follow_priority(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                         sl_sym label, const char *pod_class, struct mgr_rec_wl *w) {
    struct mgr_priority p;
    bool ours = !w->class_name || strcmp(mgr_str(m, w->class_kind), "WorkloadPriorityClass") == 0;
    if (!ours || label == w->class_name || (w->pending & WL_PRIORITY) ||
        !mgr_priority_of(m, mgr_str(m, label), pod_class, &p))
        return;
    mgr_wl_set_pending_priority(m, w, &p);
    sl_rec_event(r, controller, false, "UpdatedWorkload", "Updated workload priority class: %s/%s",
                 mgr_str(m, w->rec.ns), w->rec.name);
}

void mgr_follow_queue(struct sl_manager *m, sl_sym queue, struct mgr_rec_wl *w) {
    if (w->queue != queue && !mgr_wl_condition_is_true(m, w, "QuotaReserved"))
        mgr_wl_set_pending_queue(m, w, mgr_str(m, queue));
}

void mgr_follow_checks(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                       const struct mgr_rec_wl *w, uint32_t *reported) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(4096);
    sl_buf_short(&b); /* an event is shorter than that */
    for (uint32_t i = 0; i < w->seen.checks.n; i++) {
        const struct mgr_wl_check *c = &w->seen.checks.v[i];
        if (c->state == SL_CHECK_PENDING && c->message && *c->message)
            sl_buf_printf(&b, "%s%s: %s", b.len ? "; " : "", mgr_str(m, c->name), c->message);
    }
    uint32_t now = b.len ? (uint32_t)sl_hash_str(0, sl_buf_str(&b)) : 0;
    if (now && now != *reported)
        sl_rec_event(r, controller, false, "UpdatedAdmissionCheck", "%s", sl_buf_str(&b));
    *reported = now;
}

void mgr_report_finished(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                         const struct mgr_rec_wl *w) {
    sl_rec_event(r, controller, false, "FinishedWorkload", "Workload '%s/%s' is declared finished",
                 mgr_str(m, w->rec.ns), w->rec.name);
}
