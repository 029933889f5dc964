/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of what is written for a Job, and what follows when it is written. */
#include "manager/controllers/job/job.h"

#include <stdio.h>

#include "core/base/fmt.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/job/draft.h"
#include "manager/controllers/metrics/metrics.h"

#define PAUSE SL_SEC /* before a Workload's name that is taken is tried again */
#define MAX_NAME 512u

/* ---- the Workload ---- */

bool mgr_job_spec(const struct sl_manager *m, const struct mgr_rec_job *j, bool replace,
                  const char *key, struct sl_jw *out) {
    int32_t min = mgr_job_min_count(m, j), max_exec = j->more ? j->more->max_exec_s : -1;
    struct mgr_priority p;

    if (!mgr_priority_of(m, mgr_str(m, j->priority_class), mgr_job_pod_class(j), &p))
        return false;
    sl_jw_object(out, key);
    if (j->many) {
        sl_jw_raw(out, "podSets", j->draft->podset);
    } else {
        sl_jw_array(out, "podSets");
        sl_jw_object(out, NULL);
        sl_jw_str(out, "name", JOB_PODSET);
        sl_jw_int(out, "count", mgr_job_count(j));
        if (min > 0)
            sl_jw_int(out, "minCount", min);
        sl_jw_fields(out, j->draft->podset);
        sl_jw_end(out);
        sl_jw_end(out);
    }
    mgr_draft_put_terms(m, &p, j->queue, max_exec, replace, out);
    sl_jw_end(out);
    return true;
}

/* An elastic Job's slices form a chain, named after the first of them. */
static void put_chain(const struct sl_manager *m, const struct mgr_rec_job *j, const char *name,
                      struct sl_jw *out) {
    const struct mgr_rec_wl *old = mgr_job_slice(m, j).replaced;
    sl_jw_str(out, JOB_ELASTIC, "true");
    if (old) {
        sl_jw_strf(out, JOB_REPLACEMENT, "%s/%s", mgr_str(m, old->rec.ns), old->rec.name);
        name = old->slice_name ? old->slice_name : old->rec.name;
    }
    sl_jw_str(out, JOB_SLICE_MARK, name);
}

static void put_annotations(const struct sl_manager *m, const struct mgr_rec_job *j,
                            const char *name, struct sl_jw *out) {
    sl_jw_object(out, "annotations");
    sl_jw_fields(out, j->draft->annotations);
    if (j->more && j->more->gate && m->settings->gates[SL_G_ADMISSION_GATED_BY])
        sl_jw_str(out, JOB_GATED_BY, j->more->gate);
    if (mgr_job_elastic(j))
        put_chain(m, j, name, out);
    sl_jw_end(out);
}

static void put_name(const struct sl_manager *m, const struct mgr_rec_job *j, struct sl_buf *b) {
    char generation[24] = "";
    if (mgr_job_elastic(j))
        sl_fmt(generation, sizeof generation, "%lld", (long long)j->rec.generation);
    const struct sl_jobkind *row = mgr_job_row(m, j->rec.kind);
    mgr_wl_name(b, j->rec.table->kind->kind, row ? row->group : JOB_GROUP, j->rec.name, j->rec.uid,
                generation, m->settings->gates[SL_G_SHORT_WORKLOAD_NAMES]);
}

static bool build_create(struct sl_manager *m, struct mgr_rec_job *j, struct sl_write *w) {
    struct sl_jw *out = &w->json;
    _cleanup_(sl_buf_done) struct sl_buf name = SL_BUF(MAX_NAME);
    put_name(m, j, &name);

    sl_inf_build_create(m->inf, REC_WORKLOAD, mgr_str(m, j->rec.ns), w);
    sl_jw_object(out, NULL);
    sl_jw_str(out, "apiVersion", "kueue.x-k8s.io/v1beta2");
    sl_jw_str(out, "kind", "Workload");
    sl_jw_object(out, "metadata");
    sl_jw_str(out, "name", sl_buf_str(&name));
    sl_jw_str(out, "namespace", mgr_str(m, j->rec.ns));
    sl_jw_object(out, "labels");
    sl_jw_str(out, "kueue.x-k8s.io/job-uid", j->rec.uid);
    sl_jw_fields(out, j->draft->labels);
    sl_jw_end(out);
    put_annotations(m, j, sl_buf_str(&name), out);
    sl_jw_array(out, "finalizers");
    sl_jw_str(out, NULL, "kueue.x-k8s.io/resource-in-use");
    sl_jw_end(out);
    sl_jw_array(out, "ownerReferences");
    sl_rec_put_owner(out, &j->rec);
    sl_jw_end(out);
    sl_jw_end(out);
    bool built = mgr_job_spec(m, j, false, "spec", out);

    mgr_set_event_note(&j->note, "Created Workload: %s/%s", mgr_str(m, j->rec.ns),
                       sl_buf_str(&name));
    return built;
}

/* ---- the Job ---- */

static void open_patch(struct mgr_rec_job *j, const char *subresource, struct sl_write *w) {
    sl_rec_build_guarded(&j->rec, subresource, w);
}

/* After the metadata. */
static void put_suspend(struct sl_jw *out) {
    sl_jw_end(out);
    sl_jw_object(out, "spec");
    sl_jw_bool(out, "suspend", true);
}

static bool build_suspend_child(const struct sl_manager *m, struct mgr_rec_job *j,
                                struct sl_write *w) {
    open_patch(j, NULL, w);
    if (j->rec.kind == REC_JOB) {
        put_suspend(&w->json);
    } else {
        sl_jw_end(&w->json);
        mgr_job_put_suspend(m, j, &w->json);
    }
    mgr_set_event_note(&j->note, "Kueue managed child job suspended");
    return true;
}

static bool build_stop(struct sl_manager *m, struct mgr_rec_job *j, const struct mgr_job_plan *p,
                       struct sl_write *w) {
    mgr_set_event_note(&j->note, "%s", p->why);
    if (j->rec.kind != REC_JOB) {
        mgr_job_build_row_stop(m, j, p->wl, w);
        return true;
    }
    open_patch(j, NULL, w);
    sl_jw_object(&w->json, "annotations");
    sl_jw_str(&w->json, JOB_STOPPING, "true");
    sl_jw_end(&w->json);
    put_suspend(&w->json);
    return true;
}

static bool build_reset(struct mgr_rec_job *j, struct sl_write *w) {
    open_patch(j, "status", w);
    sl_jw_end(&w->json);
    sl_jw_object(&w->json, "status");
    sl_jw_null(&w->json, "startTime");
    return true;
}

/* "parallelism" and "completions" of a Job whose size may change with the admission. */
static void put_size(const struct mgr_rec_job *j, int32_t count, struct sl_jw *out) {
    if (!j->more || j->more->min_parallelism < 0 || j->parallelism == count)
        return;
    sl_jw_int(out, "parallelism", count);
    if (j->more->sync_completions)
        sl_jw_int(out, "completions", count);
}

static bool build_restore(struct mgr_rec_job *j, const struct mgr_rec_wl *from,
                          struct sl_write *w) {
    struct sl_jw *out = &w->json;
    open_patch(j, NULL, w);
    sl_jw_object(out, "annotations");
    sl_jw_null(out, JOB_STOPPING);
    sl_jw_end(out);
    sl_jw_end(out);
    sl_jw_object(out, "spec");
    if (from && from->n_podsets) {
        put_size(j, from->podsets[0].count, out);
        sl_jw_object(out, "template");
        mgr_job_restore_put(j->template, mgr_job_marks(j, from), from->podsets[0].template, out);
    }
    return true;
}

static bool build_start(struct sl_manager *m, struct mgr_rec_job *j, const struct mgr_rec_wl *from,
                        struct sl_write *w) {
    struct sl_jw *out = &w->json;
    struct sl_err err;
    struct mgr_job_extras *x = NULL;
    mgr_set_event_note(&j->note, "Admitted by clusterQueue %s",
                       mgr_str(m, from->seen.admission->cq));
    if (j->rec.kind != REC_JOB)
        return mgr_job_build_row_start(m, j, from, w);
    bool fits = mgr_job_extras_new(m, from, 0, &x, &err) >= 0 &&
                mgr_job_extras_fit(x, j->template, mgr_job_marks_of(j, 0), &err) >= 0;
    if (fits) {
        open_patch(j, NULL, w);
        sl_jw_end(out);
        sl_jw_object(out, "spec");
        sl_jw_bool(out, "suspend", false);
        put_size(j, from->seen.admission->v[0].count, out);
        sl_jw_object(out, "template");
        mgr_job_extras_put(x, out);
    }
    mgr_job_extras_free(x);
    return fits;
}

static bool build_resize(const struct mgr_rec_job *j, const struct mgr_rec_wl *wl,
                         struct sl_write *w) {
    mgr_wl_build_count(wl, mgr_job_count(j), w);
    return true;
}

static bool build_delete(struct mgr_rec_job *j, struct sl_write *w) {
    sl_rec_build_delete(&j->rec, "Background", -1, w);
    mgr_set_event_note(&j->note, "Deleted job: deactivation retention period expired");
    return true;
}

bool mgr_job_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct mgr_rec_job *j = mgr_job_of(r);
    if (m->spec.client->mono < j->pause) {
        sl_rec_write_at(r, j->pause);
        return false;
    }
    struct mgr_job_plan p = mgr_job_plan(m, j);
    j->step = (uint8_t)p.step;
    switch (p.step) {
    case JOB_READ:
        sl_rec_build_read(r, w);
        return true;
    case JOB_CREATE:
        return build_create(m, j, w);
    case JOB_SUSPEND_CHILD:
        return build_suspend_child(m, j, w);
    case JOB_INJECT:
        return mgr_train_build_patch(m, j, p.wl, w);
    case JOB_START:
        j->starting = build_start(m, j, p.wl, w);
        return j->starting;
    case JOB_STOP:
        return build_stop(m, j, &p, w);
    case JOB_RESET:
        return build_reset(j, w);
    case JOB_RESTORE:
        if (r->kind == REC_JOB)
            return build_restore(j, p.wl, w);
        mgr_train_build_restore(j, w);
        return true;
    case JOB_RESIZE:
        return build_resize(j, p.wl, w);
    case JOB_DELETE:
        return build_delete(j, w);
    case JOB_REST:
    case JOB_WAIT:
    case JOB_STEPS:
        break;
    }
    return false;
}

/* ---- afterwards ---- */

/* The events of completed steps. */
static const char *const step_event[JOB_STEPS] = {
    [JOB_CREATE] = "CreatedWorkload", [JOB_SUSPEND_CHILD] = "Suspended", [JOB_START] = "Started",
    [JOB_STOP] = "Stopped",           [JOB_DELETE] = "Deleted",
};

void mgr_job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                     const struct sl_kube_reply *reply) {
    struct sl_manager *m = ctx;
    struct mgr_rec_job *j = mgr_job_of(r);
    enum mgr_job_step step = (enum mgr_job_step)j->step;
    (void)w, (void)reply;
    if (how == SL_WRITTEN)
        j->injected = step == JOB_INJECT;
    if (how != SL_WRITE_FAILED && (step == JOB_START || step == JOB_READ))
        j->starting = false;
    if (how == SL_WRITTEN && step == JOB_CREATE)
        mgr_count_created(m, r);
    if (how == SL_WRITTEN && step_event[step] && j->note)
        sl_rec_event(r, mgr_job_controller(m, j), false, step_event[step], "%s", j->note);
    else if (how == SL_WRITE_CONFLICT && step == JOB_CREATE)
        j->pause = sl_time_add(m->spec.client->mono, PAUSE);
    j->step = JOB_REST;
    sl_freep(&j->note);
    sl_rec_enqueue(r);
}
