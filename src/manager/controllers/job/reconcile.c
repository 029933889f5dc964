/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reconciliation of one Job: the consequences of the plan for its Workload. Idempotent: repeated on
 * each pass while it applies.
 */
#include "lib/log/log.h"
#include "manager/controllers/job/job.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/workload/follow.h"

#define FLAVOR_PAUSE SL_SEC /* before a start is tried again that lacks a flavor */

static void report(struct sl_manager *m, const struct mgr_rec_job *j, const char *reason,
                   const char *what, const struct mgr_rec_wl *w) {
    sl_rec_event(&j->rec, mgr_job_controller(m, j), false, reason, "%s%s/%s", what,
                 mgr_str(m, w->rec.ns), w->rec.name);
}

/* ---- progress ---- */

/* Into counts; false: the kind does not say. */
static bool reclaimable_of(const struct mgr_rec_job *j, int32_t *counts) {
    for (uint32_t i = 0; j->many && i < j->many->n; i++)
        counts[i] = j->many->v[i].reclaimable;
    if (!j->many)
        counts[0] = mgr_job_reclaimable(j);
    return !j->many || j->many->reclaims;
}

/* Of an elastic Job, and its Workload says so: until then admission refuses a smaller count, and
 * with it all else that is written at once, such as the end. */
static bool is_scaled_down(const struct mgr_rec_wl *w) {
    const struct mgr_wl_admission *a = w->seen.admission;
    return w->elastic && a && a->n == 1 && a->v[0].count > w->podsets[0].count;
}

static void set_reclaimable(struct sl_manager *m, const struct mgr_rec_job *j,
                            struct mgr_rec_wl *w) {
    const int32_t *now = mgr_wl_next(w, WL_RECLAIMABLE)->reclaimable;
    int32_t counts[SL_JOBKIND_MAX_PODSETS];
    bool held = mgr_wl_condition_is_true(m, w, "QuotaReserved") && !is_scaled_down(w);

    if (!m->settings->gates[SL_G_RECLAIMABLE_PODS] || w->n_podsets != mgr_job_n_podsets(j) ||
        !reclaimable_of(j, counts))
        return;
    for (uint32_t i = 0; i < w->n_podsets; i++) {
        if (counts[i] > w->podsets[i].count)
            counts[i] = w->podsets[i].count;
        /* What was given back while the quota is held cannot be taken again: admission refuses it.
         */
        if (now && counts[i] < now[i] && held)
            return;
    }
    mgr_wl_set_reclaimable(w, counts);
}

static bool pods_ready(const struct mgr_rec_job *j) {
    if (j->many)
        return j->many->ready;
    return (int64_t)j->succeeded + j->ready + j->uncounted >= mgr_job_count(j);
}

static void report_too_deep(const struct sl_manager *m, struct mgr_rec_job *j) {
    static const uint32_t once = 1;
    if (j->reported != once)
        sl_rec_event(
            &j->rec, mgr_job_controller(m, j), true, "JobNestingTooDeep",
            "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of 10");
    j->reported = once;
}

static void report_crowded(struct sl_manager *m, struct mgr_rec_job *j) {
    static const uint32_t once = 2;
    if (j->reported == once)
        return;
    j->reported = once;
    sl_log(SL_LOG_WARN, "Job suspended: too many workload slices",
           SL_S("namespace", mgr_str(m, j->rec.ns)), SL_S("name", j->rec.name),
           SL_I("limit", JOB_MAX_SLICES));
    sl_rec_event(
        &j->rec, mgr_job_controller(m, j), true, "TooManyWorkloadSlices",
        "More than %u Workloads of this elastic Job are not finished: it is suspended until some "
        "of them are deleted",
        JOB_MAX_SLICES);
}

/* Only its user can correct it. */
static void report_unreadable(const struct sl_manager *m, struct mgr_rec_job *j) {
    uint32_t now = (uint32_t)sl_hash_str(3, j->many->fault);
    if (j->reported != now)
        sl_rec_event(&j->rec, mgr_job_controller(m, j), true, "ErrWorkloadCompose", "%s",
                     j->many->fault);
    j->reported = now;
}

/* ---- Workloads that do not fit ---- */

static void remove_surplus(struct sl_manager *m, const struct mgr_rec_job *j,
                           const struct mgr_rec_wl *keep) {
    uint32_t cursor = 0;
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, j->rec.uid, &cursor));) {
        if (w == keep || (w->pending & WL_DELETE) || (w->rec.deleting && !w->rec.finalizer))
            continue;
        bool asked = w->rec.deleting;
        mgr_wl_set_pending(w, WL_UNFINALIZE | WL_DELETE);
        if (!asked)
            report(m, j, "DeletedWorkload", "Deleted not matching Workload: ", w);
    }
}

/* Makes a Workload that holds no quota what the Job is now. */
static void rewrite(struct sl_manager *m, const struct mgr_rec_job *j, struct mgr_rec_wl *w) {
    if (!j->draft || mgr_job_fits(m, j, w))
        return;
    _cleanup_(sl_buf_done) struct sl_buf spec = SL_BUF(SL_WRITER_MAX_BODY);
    if (mgr_job_spec(m, j, true, NULL, &SL_JW(&spec))) {
        bool again = w->pending & WL_SPEC;
        mgr_wl_set_pending_spec(w, sl_buf_str(&spec));
        if (!again)
            report(m, j, "UpdatedWorkload", "Updated not matching Workload for suspended job: ", w);
    }
}

static void adopt(const struct mgr_rec_job *j, struct mgr_rec_wl *w) {
    if (w->owner_uid)
        return;
    _cleanup_(sl_buf_done) struct sl_buf ref = SL_BUF(4096);
    sl_rec_put_owner(&SL_JW(&ref), &j->rec);
    mgr_wl_set_pending_owner(w, sl_buf_str(&ref), j->rec.uid);
}

/* ---- ends ---- */

static void finish(struct sl_manager *m, const struct mgr_rec_job *j, struct mgr_rec_wl *w) {
    mgr_wl_finish(m, w, j->failed ? "Failed" : "Succeeded", j->message);
    mgr_report_finished(m, &j->rec, mgr_job_controller(m, j), w);
}

static void let_go(struct sl_manager *m, const struct mgr_rec_job *j, struct mgr_rec_wl *w) {
    if (!w->rec.finalizer || (w->pending & WL_UNFINALIZE))
        return;
    mgr_wl_set_pending(w, WL_UNFINALIZE);
    if (!j->message) /* finished by another client, so not reported yet */
        mgr_report_finished(m, &j->rec, mgr_job_controller(m, j), w);
}

static void orphan_all(struct sl_manager *m, const struct mgr_rec_job *j) {
    uint32_t cursor = 0;
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, j->rec.uid, &cursor));)
        mgr_job_orphan(m, w);
}

/* Nothing of it runs any more: the quota may go to others. Then, if we are not to keep it for ever,
 * we come back to delete it. */
static void release(struct sl_manager *m, struct mgr_rec_job *j, struct mgr_rec_wl *w) {
    sl_time end = mgr_job_delete_at(m, w);
    if (mgr_wl_condition_is_true(m, w, "QuotaReserved") && j->active == 0)
        mgr_wl_stopped(m, w);
    if (end != SL_TIME_NEVER && end > m->spec.client->wall)
        sl_rec_reconcile_at(&j->rec, end);
}

static int fit_podset(const struct sl_manager *m, const struct mgr_rec_job *j,
                      const struct mgr_rec_wl *w, uint32_t i, struct sl_err *err) {
    struct mgr_job_extras *x = NULL;
    int r = mgr_job_extras_new(m, w, i, &x, err);
    if (r >= 0)
        r = mgr_job_extras_fit(x, mgr_job_template(j, i), mgr_job_marks_of(j, i), err);
    mgr_job_extras_free(x);
    return r;
}

/* Can it be started at all? A conflict ends the Workload; a flavor may still come. */
static bool startable(struct sl_manager *m, struct mgr_rec_job *j, struct mgr_rec_wl *w) {
    struct sl_err err = {0};
    bool fits = true;
    for (uint32_t i = 0; fits && i < mgr_job_n_podsets(j); i++)
        fits = fit_podset(m, j, w, i, &err) >= 0;
    if (!fits && err.code == SL_EINVAL)
        mgr_wl_finish(m, w, "FailedToStart", err.text);
    else if (!fits)
        sl_rec_reconcile_at(&j->rec, sl_time_add(m->spec.client->wall, FLAVOR_PAUSE));
    return fits;
}

/* ---- the pass ---- */

static void with_workload(struct sl_manager *m, struct mgr_rec_job *j,
                          const struct mgr_job_plan *p) {
    struct mgr_rec_wl *w = p->wl;

    set_reclaimable(m, j, w);
    mgr_follow_ready(m, w, pods_ready(j));
    if (p->phase == JOB_EVICTED && (p->step == JOB_REST || p->step == JOB_DELETE))
        release(m, j, w);
    if (p->phase != JOB_WAITING)
        return;
    if (mgr_wl_condition_is_true(m, w, "QuotaReserved"))
        mgr_follow_checks(m, &j->rec, mgr_job_controller(m, j), w, &j->reported);
    mgr_follow_queue(m, j->queue, w);
}

static void act(struct sl_manager *m, struct mgr_rec_job *j, const struct mgr_job_plan *p) {
    switch (p->phase) {
    case JOB_UNREADABLE:
        report_unreadable(m, j);
        break;
    case JOB_TOO_DEEP:
        report_too_deep(m, j);
        break;
    case JOB_TOO_MANY_SLICES:
        report_crowded(m, j);
        break;
    case JOB_ORPHANS:
        orphan_all(m, j);
        break;
    case JOB_UNMATCHED:
        if ((p->step == JOB_REST || p->step == JOB_READ) && !j->starting) {
            remove_surplus(m, j, p->wl);
            if (p->wl)
                rewrite(m, j, p->wl);
        }
        break;
    case JOB_OUT_OF_SYNC:
        adopt(j, p->wl);
        mgr_wl_finish(m, p->wl, "OutOfSync",
                      "The prebuilt workload is out of sync with its user job");
        break;
    case JOB_ADOPTING:
        adopt(j, p->wl);
        break;
    case JOB_WL_FINISHED:
        let_go(m, j, p->wl);
        break;
    case JOB_WL_DELETING:
        if (p->step == JOB_REST)
            mgr_wl_set_pending(p->wl, WL_UNFINALIZE);
        break;
    case JOB_FINISHED:
        finish(m, j, p->wl);
        break;
    case JOB_EVICTED:
    case JOB_WAITING:
    case JOB_READY:
    case JOB_RUNNING:
        with_workload(m, j, p);
        break;
    case JOB_IGNORED:
    case JOB_CHILD:
    case JOB_NO_WORKLOAD:
        break;
    }
}

void mgr_job_changed(void *ctx, struct sl_rec *r) {
    struct sl_manager *m = ctx;
    struct mgr_rec_job *j = mgr_job_of(r);
    if (!mgr_job_runs(m, r->kind))
        return;
    struct mgr_job_plan p = mgr_job_plan(m, j);
    act(m, j, &p);
    if (mgr_job_elastic(j) && (p.wl || p.phase == JOB_NO_WORKLOAD))
        mgr_job_slices_settle(m, j);
    if (p.phase >= JOB_WL_FINISHED)
        mgr_job_draft_drop(j);
    if (p.phase > JOB_WL_FINISHED && p.wl) {
        mgr_follow_gate(m, r, mgr_job_controller(m, j), j->more ? j->more->gate : NULL, p.wl);
        mgr_follow_priority(m, r, mgr_job_controller(m, j), j->priority_class, mgr_job_pod_class(j),
                            p.wl);
    }
    if (p.step == JOB_START && !startable(m, j, p.wl))
        return;
    if (p.step != JOB_REST && p.step != JOB_WAIT)
        sl_rec_write(r);
}
