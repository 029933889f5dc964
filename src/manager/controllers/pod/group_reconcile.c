/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reconciliation of one group of pods: the consequences of the plan for its Workload, and the
 * writes of each pod. Idempotent: repeated on each pass while it applies.
 */
#include "manager/controllers/pod/group.h"

#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/workload/follow.h"

#define FLAVOR_PAUSE SL_SEC /* before a start is tried again that lacks a flavor */
#define PATIENCE                                                                                   \
    (5 * SL_SEC) /* pods of a group are made one after the other: a warning before is noise        \
                  */

/* ---- progress ---- */

static void set_reclaimable(struct sl_manager *m, const struct mgr_pod_group *g,
                            const struct mgr_group_plan *p) {
    const int32_t *now = mgr_wl_next(p->wl, WL_RECLAIMABLE)->reclaimable;
    int32_t n[SL_MAX_PODSETS];
    if (!m->settings->gates[SL_G_RECLAIMABLE_PODS] || g->single || g->pods->job->serving)
        return;
    bool held = mgr_wl_condition_is_true(m, p->wl, "QuotaReserved");
    for (uint32_t i = 0; i < p->wl->n_podsets; i++) {
        n[i] = p->reclaim[i] < p->wl->podsets[i].count ? p->reclaim[i] : p->wl->podsets[i].count;
        /* What was given back while the quota is held cannot be taken again: admission refuses it.
         */
        if (held && now && n[i] < now[i])
            n[i] = now[i];
    }
    mgr_wl_set_reclaimable(p->wl, n);
}

static bool all_ready(const struct mgr_group_plan *p) {
    int64_t count = 0;
    for (uint32_t i = 0; i < p->wl->n_podsets; i++)
        count += p->wl->podsets[i].count;
    return p->ready >= count;
}

/* Held back until there are as many pods as it needs. */
static void set_waiting(struct sl_manager *m, const struct mgr_pod_group *g,
                        const struct mgr_group_plan *p) {
    static const char type[] = "WaitingForReplacementPods";
    const struct mgr_cond *was = mgr_wl_next_cond(m, p->wl, type),
                          *evicted = mgr_wl_cond(m, p->wl, "Evicted");
    if (g->single || (!was && !p->missing))
        return;
    if (!p->missing) {
        if (was->status == COND_TRUE)
            mgr_wl_set_cond(m, p->wl, type, false, "PodsReady", "No pods need replacement");
    } else if (evicted && evicted->status == COND_TRUE) {
        mgr_wl_set_cond(m, p->wl, type, true, mgr_str(m, evicted->reason), evicted->message);
    } else if (!was || was->status != COND_TRUE) {
        mgr_wl_set_cond(m, p->wl, type, true, "PodsFailed", "Some Failed pods need replacement");
    }
}

/* ---- owners ---- */

static void adopt_one(struct mgr_rec_wl *w, const struct mgr_rec_pod *p) {
    if (w->owner_uid)
        return;
    _cleanup_(sl_buf_done) struct sl_buf ref = SL_BUF(4096);
    mgr_group_owner_reference(p, true, &SL_JW(&ref));
    mgr_wl_set_pending_owner(w, sl_buf_str(&ref), p->rec.uid);
}

/* Every pod of the group owns it: it goes with the last of them. */
static void adopt(const struct mgr_pod_group *g, const struct mgr_group_plan *p) {
    if (g->single) {
        adopt_one(p->wl, g->pods);
        return;
    }
    if (!p->unowned)
        return;
    _cleanup_(sl_buf_done) struct sl_buf refs = SL_BUF(SL_WRITER_MAX_BODY / 2);
    struct sl_jw out = SL_JW(&refs);
    sl_jw_array(&out, NULL);
    if (p->wl->owners)
        sl_jw_items(&out, p->wl->owners);
    for (uint32_t i = 0; i < p->v.n; i++)
        mgr_group_owner_reference(p->v.v[i].p, false, &out);
    sl_jw_end(&out);
    if (!sl_buf_full(&refs))
        mgr_wl_set_pending_owners(p->wl, sl_buf_str(&refs), p->unowned);
}

/* ---- Workloads that do not fit ---- */

static void delete_workload(struct sl_manager *m, const struct mgr_pod_group *g,
                            struct mgr_rec_wl *w) {
    if ((w->pending & WL_DELETE) || (w->rec.deleting && !w->rec.finalizer))
        return;
    bool asked = w->rec.deleting;
    mgr_wl_set_pending(w, WL_UNFINALIZE | WL_DELETE);
    if (!asked)
        sl_rec_event(&g->pods->rec, GROUP_CONTROLLER, false, "DeletedWorkload",
                     "Deleted not matching Workload: %s/%s", mgr_str(m, w->rec.ns), w->rec.name);
}

/* Makes a plain pod's Workload that holds no quota what the pod is now. */
static void rewrite(struct sl_manager *m, struct mgr_rec_pod *p, struct mgr_rec_wl *w) {
    static const int32_t one = 1;
    if (!p->job->draft || !p->job->draft->podset)
        return;
    _cleanup_(sl_buf_done) struct sl_buf spec = SL_BUF(SL_WRITER_MAX_BODY);
    if (mgr_group_spec(m, p, &p, &one, 1, true, NULL, &SL_JW(&spec))) {
        bool again = w->pending & WL_SPEC;
        mgr_wl_set_pending_spec(w, sl_buf_str(&spec));
        if (!again)
            sl_rec_event(&p->rec, GROUP_CONTROLLER, false, "UpdatedWorkload",
                         "Updated not matching Workload for suspended job: %s/%s",
                         mgr_str(m, w->rec.ns), w->rec.name);
    }
}

static void unmatched(struct sl_manager *m, struct mgr_pod_group *g,
                      const struct mgr_group_plan *p) {
    struct mgr_rec_pod *pod = g->pods;
    if (g->single && mgr_pod_gated(pod) && !mgr_wl_condition_is_true(m, p->wl, "QuotaReserved") &&
        !p->wl->rec.deleting)
        rewrite(m, pod, p->wl);
    else if (!p->runs)
        delete_workload(m, g, p->wl);
}

/* A plain pod has one Workload. */
static void remove_surplus(struct sl_manager *m, const struct mgr_pod_group *g,
                           const struct mgr_rec_wl *keep) {
    uint32_t cursor = 0;
    for (struct mgr_rec_wl *w; g->single && (w = mgr_wl_owned(m, g->pods->rec.uid, &cursor));)
        if (w != keep)
            delete_workload(m, g, w);
}

/* ---- ends ---- */

static void report_ended(struct sl_manager *m, const struct mgr_group_plan *p) {
    mgr_report_finished(m, &p->v.v[0].p->rec, GROUP_CONTROLLER, p->wl);
}

static void finish(struct sl_manager *m, const struct mgr_pod_group *g,
                   const struct mgr_group_plan *p) {
    const struct mgr_rec_pod *pod = g->pods;
    char text[64];
    sl_fmt(text, sizeof text, "Pods succeeded: %d/%d.", p->succeeded, p->total);
    if (mgr_wl_condition_will_be_true(m, p->wl, "Finished"))
        return;
    if (g->single)
        mgr_wl_finish(m, p->wl, pod->phase == MGR_POD_SUCCEEDED ? "Succeeded" : "Failed",
                      pod->job->message ? pod->job->message : "");
    else
        mgr_wl_finish(m, p->wl, "Succeeded", text);
    report_ended(m, p);
}

static void let_go(struct sl_manager *m, const struct mgr_group_plan *p) {
    if (p->wl->rec.finalizer && !(p->wl->pending & WL_UNFINALIZE) &&
        mgr_wl_condition_is_true(m, p->wl, "Finished"))
        mgr_wl_set_pending(p->wl, WL_UNFINALIZE);
}

/* The reservation ends with the finalizer: not before its pods have stopped, and no stop is left to
 * be written. */
static void let_go_deleting(const struct mgr_group_plan *p) {
    for (uint32_t i = 0; i < p->v.n && !p->runs; i++)
        if (p->v.v[i].step == POD_TARGET || p->v.v[i].step == POD_STOP)
            return;
    if (!p->runs)
        mgr_wl_set_pending(p->wl, WL_UNFINALIZE);
}

static void orphan(struct sl_manager *m, const struct mgr_pod_group *g) {
    uint32_t cursor = 0;
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, g->pods->rec.uid, &cursor));)
        mgr_job_orphan(m, w);
}

/* ---- starting ---- */

/* Can they be started at all? A conflict ends the Workload; a flavor may still come. */
static bool startable(struct sl_manager *m, struct mgr_group_plan *p) {
    const struct mgr_template *known = NULL;
    uint32_t role = GROUP_NO_ROLE;
    for (uint32_t i = 0; i < p->v.n; i++) {
        const struct mgr_group_member *x = &p->v.v[i];
        struct sl_err err;
        if (x->step != POD_START || (x->role == role && x->p->job->template == known))
            continue;
        struct mgr_job_extras *e = NULL;
        bool fits = mgr_job_extras_new(m, p->wl, x->role, &e, &err) >= 0 &&
                    mgr_job_extras_fit(e, x->p->job->template, NULL, &err) >= 0;
        mgr_job_extras_free(e);
        role = x->role;
        known = x->p->job->template;
        if (fits)
            continue;
        if (err.code == SL_EINVAL)
            mgr_wl_finish(m, p->wl, "FailedToStart", err.text);
        else if (p->reconcile_at > sl_time_add(m->spec.client->wall, FLAVOR_PAUSE))
            p->reconcile_at = sl_time_add(m->spec.client->wall, FLAVOR_PAUSE);
        return false;
    }
    return true;
}

/* ---- the pass ---- */

/* A wrong group is reported once it has been so for a while. */
static void report_wrong(struct sl_manager *m, struct mgr_pod_group *g, struct mgr_group_plan *p) {
    bool wrong = p->phase == GROUP_WRONG || p->phase == GROUP_SHORT || p->phase == GROUP_NAME_TAKEN;
    if (!wrong) {
        g->since = 0;
        g->reported_short = false;
        return;
    }
    if (!g->since)
        g->since = m->spec.client->wall;
    sl_time at = sl_time_add(g->since, PATIENCE);
    if (g->reported_short)
        return;
    if (at > m->spec.client->wall) {
        p->reconcile_at = at < p->reconcile_at ? at : p->reconcile_at;
        return;
    }
    g->reported_short = true;
    sl_rec_event(&p->v.v[0].p->rec, GROUP_CONTROLLER, true,
                 p->phase == GROUP_NAME_TAKEN ? "WorkloadNameConflict" : "ErrWorkloadCompose", "%s",
                 p->why);
}

/* Nothing of it runs any more: the quota may go to others. Not before it is known to be held back,
 * or it would get it again at once. */
static void release(struct sl_manager *m, struct mgr_group_plan *p) {
    sl_time end = mgr_job_delete_at(m, p->wl);
    if (!p->runs && mgr_wl_condition_is_true(m, p->wl, "QuotaReserved") &&
        (!p->missing || mgr_wl_condition_is_true(m, p->wl, "WaitingForReplacementPods")))
        mgr_wl_stopped(m, p->wl);
    if (end == SL_TIME_NEVER)
        return;
    if (end > m->spec.client->wall)
        p->reconcile_at = end < p->reconcile_at ? end : p->reconcile_at;
    for (uint32_t i = 0; end <= m->spec.client->wall && i < p->v.n; i++)
        if (!p->v.v[i].p->rec.deleting && p->v.v[i].step == POD_REST)
            p->v.v[i].step = POD_REMOVE;
}

static void with_workload(struct sl_manager *m, struct mgr_pod_group *g, struct mgr_group_plan *p) {
    const struct mgr_rec_pod *leader = p->v.v[0].p;
    const struct mgr_pod_job *j = leader->job;

    adopt(g, p);
    set_waiting(m, g, p);
    set_reclaimable(m, g, p);
    mgr_follow_ready(m, p->wl, all_ready(p));
    if (p->succeeded_text)
        mgr_wl_set_pending_succeeded(p->wl, p->succeeded_text);
    if (p->phase == GROUP_EVICTED)
        release(m, p);
    if (p->phase == GROUP_WAITING && mgr_wl_condition_is_true(m, p->wl, "QuotaReserved"))
        mgr_follow_checks(m, &leader->rec, GROUP_CONTROLLER, p->wl, &g->reported);
    if (p->phase == GROUP_WAITING && !j->serving)
        mgr_follow_queue(m, j->queue, p->wl);
    if (p->wl->serving)
        return; /* the rest follows the set */
    mgr_follow_gate(m, &leader->rec, GROUP_CONTROLLER, j->more ? j->more->gate : NULL, p->wl);
    mgr_follow_priority(m, &leader->rec, GROUP_CONTROLLER, j->priority_class,
                        mgr_str(m, j->pod_class), p->wl);
}

static void act(struct sl_manager *m, struct mgr_pod_group *g, struct mgr_group_plan *p) {
    sl_assert(p->wl || p->phase < GROUP_UNMATCHED || p->phase == GROUP_LEFT);
    switch (p->phase) {
    case GROUP_UNMATCHED:
        unmatched(m, g, p);
        break;
    case GROUP_OUT_OF_SYNC:
        adopt(g, p);
        mgr_wl_finish(m, p->wl, "OutOfSync",
                      "The prebuilt workload is out of sync with its user job");
        break;
    case GROUP_WL_FINISHED:
        let_go(m, p);
        break;
    case GROUP_WL_DELETING:
        let_go_deleting(p);
        break;
    case GROUP_LEFT:
        orphan(m, g);
        break;
    case GROUP_FINISHED:
        set_waiting(m, g, p);
        finish(m, g, p);
        break;
    case GROUP_EVICTED:
    case GROUP_WAITING:
    case GROUP_RUNNING:
        with_workload(m, g, p);
        break;
    case GROUP_IGNORED:
    case GROUP_OVER:
    case GROUP_WRONG:
    case GROUP_SHORT:
    case GROUP_NO_WORKLOAD:
    case GROUP_NAME_TAKEN:
        break;
    }
    if (p->phase >= GROUP_FINISHED)
        remove_surplus(m, g, p->wl);
}

/* The drafts have done their work; 35 kB each, of a pod of SkyPilot's. */
static void drop_drafts(struct mgr_pod_group *g) {
    for (struct mgr_rec_pod *x = g->pods; x; x = x->job->next)
        mgr_pod_draft_drop(x->job);
}

static void wake(struct mgr_pod_group *g, sl_time at) {
    g->reconcile_at = at == SL_TIME_NEVER ? 0 : at;
    sl_rec_reconcile_at(&g->pods->rec, g->reconcile_at);
}

void mgr_group_pass(struct sl_manager *m, struct mgr_pod_group *g) {
    struct mgr_group_plan p;
    g->dirty = false;
    for (struct mgr_rec_pod *x = g->pods; x; x = x->job->next)
        x->job->step = POD_REST;
    g->phase = GROUP_IGNORED;
    if (!mgr_group_frameworks(m->spec.parts.framework))
        return;
    mgr_group_plan(m, g, &p);
    if (!p.v.n && p.wl)
        mgr_group_without_pods(m, p.wl);
    act(m, g, &p);
    report_wrong(m, g, &p);
    g->phase = (uint8_t)p.phase;
    g->wl = p.wl ? p.wl->rec.id : SL_MAP_NONE;
    if (p.phase >= GROUP_WL_FINISHED)
        drop_drafts(g);
    bool starts = p.phase != GROUP_RUNNING || startable(m, &p);
    for (uint32_t i = 0; i < p.v.n; i++) {
        struct mgr_group_member *x = &p.v.v[i];
        if (x->step == POD_REST || (x->step == POD_START && !starts))
            continue;
        x->p->job->step = x->step;
        sl_rec_write(&x->p->rec);
    }
    wake(g, p.reconcile_at);
    mgr_group_plan_done(&p);
}
