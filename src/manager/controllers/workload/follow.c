/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/controllers/workload/follow.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/metrics/metrics.h"

void follow_ready(struct sl_manager *m, struct rec_wl *w, bool ready) {
    static const char waiting[] = "Not all pods are ready or succeeded";
    const struct cond *was = wl_next_cond(m, w, "PodsReady");
    const char *reason = was ? str(m, was->reason) : "";
    bool recovering = strcmp(reason, "WaitForRecovery") == 0;

    if (!m->settings->engine.pods_ready)
        return;
    if (wl_is(m, w, "Admitted") && ready && !(was && was->status == COND_TRUE))
        count_ready(m, w);
    if (!wl_is(m, w, "Admitted"))
        wl_set_cond(m, w, "PodsReady", false, "WaitForStart", waiting);
    else if (ready)
        wl_set_cond(m, w, "PodsReady", true,
                    recovering || strcmp(reason, "Recovered") == 0 ? "Recovered" : "Started",
                    "All pods reached readiness and the workload is running");
    else if (was && (was->status == COND_TRUE || recovering))
        wl_set_cond(m, w, "PodsReady", false, "WaitForRecovery",
                    "At least one pod has failed, waiting for recovery");
    else
        wl_set_cond(m, w, "PodsReady", false, "WaitForStart", waiting);
}

void follow_gate(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                 const char *gate, struct rec_wl *w) {
    const char *has = w->gate ? w->gate : "";
    gate = gate ? gate : "";
    if (!m->settings->gates[SL_G_ADMISSION_GATED_BY] || strcmp(gate, has) == 0 ||
        (w->wishes & WL_GATE))
        return;
    wl_wish_gate(w, gate);
    sl_rec_event(r, controller, false, "UpdatedWorkload",
                 "Updated workload AdmissionGatedBy to \"%s\"", gate);
}

void follow_priority(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                     sl_sym label, const char *pod_class, struct rec_wl *w) {
    struct priority p;
    bool ours = !w->class_name || strcmp(str(m, w->class_kind), "WorkloadPriorityClass") == 0;
    if (!ours || label == w->class_name || (w->wishes & WL_PRIORITY) ||
        !priority_of(m, str(m, label), pod_class, &p))
        return;
    wl_wish_priority(m, w, &p);
    sl_rec_event(r, controller, false, "UpdatedWorkload", "Updated workload priority class: %s/%s",
                 str(m, w->rec.ns), w->rec.name);
}

void follow_queue(struct sl_manager *m, sl_sym queue, struct rec_wl *w) {
    if (w->queue != queue && !wl_is(m, w, "QuotaReserved"))
        wl_wish_queue(m, w, str(m, queue));
}

void follow_checks(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                   const struct rec_wl *w, uint32_t *told) {
    struct sl_buf b;
    sl_buf_init(&b, 4096);
    sl_buf_short(&b); /* an event says less than that */
    for (uint32_t i = 0; i < w->seen.checks.n; i++) {
        const struct wl_check *c = &w->seen.checks.v[i];
        if (c->state == SL_CHECK_PENDING && c->message && *c->message)
            sl_buf_printf(&b, "%s%s: %s", b.len ? "; " : "", str(m, c->name), c->message);
    }
    uint32_t now = b.len ? (uint32_t)sl_hash_str(0, sl_buf_str(&b)) : 0;
    if (now && now != *told)
        sl_rec_event(r, controller, false, "UpdatedAdmissionCheck", "%s", sl_buf_str(&b));
    *told = now;
    sl_buf_done(&b);
}

void tell_finished(struct sl_manager *m, const struct sl_rec *r, const char *controller,
                   const struct rec_wl *w) {
    sl_rec_event(r, controller, false, "FinishedWorkload", "Workload '%s/%s' is declared finished",
                 str(m, w->rec.ns), w->rec.name);
}
