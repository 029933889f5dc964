/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of what is written for a Job, and what follows when it is written. */
#include "controllers/job.h"

#include <stdio.h>

#include "base/fmt.h"
#include "controllers/draft.h"
#include "controllers/metrics.h"

#define PAUSE SL_SEC /* before a Workload's name that somebody else has is tried again */
#define MAX_NAME 512u
#define JSON_PATCH "application/json-patch+json"

/* ---- the Workload ---- */

bool job_spec(const struct sl_manager *m, const struct rec_job *j, bool replace,
              struct sl_buf *out) {
    int32_t min = job_min_count(m, j), max_exec = j->more ? j->more->max_exec_s : -1;
    struct priority p;

    if (!priority_of(m, str(m, j->priority_class), j->template->priority_class, &p))
        return false;
    sl_buf_printf(out, "{\"podSets\":[{\"name\":\"" JOB_PODSET "\",\"count\":%d,", job_count(j));
    if (min > 0)
        sl_buf_printf(out, "\"minCount\":%d,", min);
    sl_buf_printf(out, "%s}]", j->draft->podset);
    draft_put_terms(m, &p, j->queue, max_exec, replace, out);
    sl_buf_putc(out, '}');
    return true;
}

void job_owner_reference(const struct rec_job *j, struct sl_buf *out) {
    jput_text(out, "{\"apiVersion\":\"" JOB_API_VERSION "\",\"kind\":\"" JOB_KIND "\",\"name\":",
              j->rec.name);
    jput_text(out, ",\"uid\":", j->rec.uid);
    sl_buf_puts(out, ",\"controller\":true,\"blockOwnerDeletion\":true}");
}

/* An elastic Job's slices form a chain, named after the first of them. */
static void put_chain(const struct sl_manager *m, const struct rec_job *j, const char *name,
                      struct sl_buf *b) {
    const struct rec_wl *old = job_slice(m, j).replaced;
    sl_buf_puts(b, "\"" JOB_ELASTIC "\":\"true\"");
    if (old) {
        sl_buf_printf(b, ",\"" JOB_REPLACEMENT "\":\"%s/%s\"", str(m, old->rec.ns), old->rec.name);
        name = old->slice_name ? old->slice_name : old->rec.name;
    }
    jput_text(b, ",\"" JOB_SLICE_MARK "\":", name);
}

static void put_annotations(const struct sl_manager *m, const struct rec_job *j, const char *name,
                            struct sl_buf *b) {
    const char *comma = *j->draft->annotations ? "," : "";
    sl_buf_printf(b, ",\"annotations\":{%s", j->draft->annotations);
    if (j->more && j->more->gate && m->settings->gates[SL_G_ADMISSION_GATED_BY]) {
        sl_buf_puts(b, comma);
        jput_text(b, "\"" JOB_GATED_BY "\":", j->more->gate);
        comma = ",";
    }
    if (job_elastic(j)) {
        sl_buf_puts(b, comma);
        put_chain(m, j, name, b);
    }
    sl_buf_putc(b, '}');
}

static void put_name(const struct sl_manager *m, const struct rec_job *j, struct sl_buf *b) {
    char generation[24] = "";
    if (job_elastic(j))
        sl_fmt(generation, sizeof generation, "%lld", (long long)j->rec.generation);
    wl_name(b, JOB_KIND, JOB_GROUP, j->rec.name, j->rec.uid, generation,
            m->settings->gates[SL_G_SHORT_WORKLOAD_NAMES]);
}

static bool build_create(struct sl_manager *m, struct rec_job *j, struct sl_write *w) {
    struct sl_buf name, *b = &w->body;
    sl_buf_init(&name, MAX_NAME);
    put_name(m, j, &name);

    sl_inf_build_create(m->inf, REC_WORKLOAD, str(m, j->rec.ns), w);
    jput_text(
        b,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":",
        sl_buf_str(&name));
    jput_text(b, ",\"namespace\":", str(m, j->rec.ns));
    jput_text(b, ",\"labels\":{\"kueue.x-k8s.io/job-uid\":", j->rec.uid);
    sl_buf_printf(b, "%s%s}", *j->draft->labels ? "," : "", j->draft->labels);
    put_annotations(m, j, sl_buf_str(&name), b);
    sl_buf_puts(b, ",\"finalizers\":[\"kueue.x-k8s.io/resource-in-use\"],\"ownerReferences\":[");
    job_owner_reference(j, b);
    sl_buf_puts(b, "]},\"spec\":");
    bool built = job_spec(m, j, false, b);
    sl_buf_putc(b, '}');

    note_set(&j->note, "Created Workload: %s/%s", str(m, j->rec.ns), sl_buf_str(&name));
    sl_buf_done(&name);
    return built;
}

/* ---- the Job ---- */

static void open_patch(struct rec_job *j, const char *subresource, struct sl_write *w) {
    sl_rec_build_guarded(&j->rec, subresource, w);
}

static bool build_suspend_child(struct rec_job *j, struct sl_write *w) {
    open_patch(j, NULL, w);
    sl_buf_puts(&w->body, "},\"spec\":{\"suspend\":true}}");
    note_set(&j->note, "Kueue managed child job suspended");
    return true;
}

static bool build_stop(struct rec_job *j, const char *why, struct sl_write *w) {
    open_patch(j, NULL, w);
    sl_buf_puts(&w->body,
                ",\"annotations\":{\"" JOB_STOPPING "\":\"true\"}},\"spec\":{\"suspend\":true}}");
    note_set(&j->note, "%s", why);
    return true;
}

static bool build_reset(struct rec_job *j, struct sl_write *w) {
    open_patch(j, "status", w);
    sl_buf_puts(&w->body, "},\"status\":{\"startTime\":null}}");
    return true;
}

/* `"parallelism":3,"completions":3,` of a Job whose size may change with the admission. */
static void put_size(const struct rec_job *j, int32_t count, struct sl_buf *b) {
    if (!j->more || j->more->min_parallelism < 0 || j->parallelism == count)
        return;
    sl_buf_printf(b, "\"parallelism\":%d,", count);
    if (j->more->sync_completions)
        sl_buf_printf(b, "\"completions\":%d,", count);
}

static bool build_restore(struct rec_job *j, const struct rec_wl *from, struct sl_write *w) {
    struct sl_buf *b = &w->body;
    open_patch(j, NULL, w);
    sl_buf_puts(b, ",\"annotations\":{\"" JOB_STOPPING "\":null}},\"spec\":{");
    if (from && from->n_podsets) {
        put_size(j, from->podsets[0].count, b);
        sl_buf_puts(b, "\"template\":{");
        job_restore_put(j->template, job_marks(j, from), from->podsets[0].template, b);
        sl_buf_puts(b, "}");
    }
    sl_buf_puts(b, "}}");
    return true;
}

static bool build_start(struct sl_manager *m, struct rec_job *j, const struct rec_wl *from,
                        struct sl_write *w) {
    struct sl_buf *b = &w->body;
    struct sl_err err;
    struct job_extras *x = job_extras_new(m, from, 0, &err);
    bool fits = x && job_extras_fit(x, j->template, j->more, &err) == 0;
    if (fits) {
        open_patch(j, NULL, w);
        sl_buf_puts(b, "},\"spec\":{\"suspend\":false,");
        put_size(j, from->seen.admission->v[0].count, b);
        sl_buf_puts(b, "\"template\":{");
        job_extras_put(x, b);
        sl_buf_puts(b, "}}}");
        note_set(&j->note, "Admitted by clusterQueue %s", str(m, from->seen.admission->cq));
    }
    job_extras_free(x);
    return fits;
}

/* Only the count: nobody here has the rest of the podset. A version that is not the newest is a
 * conflict. */
static bool build_resize(const struct rec_job *j, const struct rec_wl *wl, struct sl_write *w) {
    sl_rec_build_patch(&wl->rec, NULL, w);
    w->content_type = JSON_PATCH;
    sl_buf_printf(&w->body,
                  "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"%llu\"},"
                  "{\"op\":\"replace\",\"path\":\"/spec/podSets/0/count\",\"value\":%d}]",
                  (unsigned long long)wl->rec.rv, job_count(j));
    return true;
}

static bool build_delete(struct rec_job *j, struct sl_write *w) {
    sl_rec_build_delete(&j->rec, "Background", -1, w);
    note_set(&j->note, "Deleted job: deactivation retention period expired");
    return true;
}

bool job_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_manager *m = ctx;
    struct rec_job *j = job_of(r);
    if (m->spec.port->mono < j->pause) {
        sl_rec_write_at(r, j->pause);
        return false;
    }
    struct job_plan p = job_plan(m, j);
    j->step = (uint8_t)p.step;
    switch (p.step) {
    case JOB_READ:
        sl_rec_build_read(r, w);
        return true;
    case JOB_CREATE:
        return build_create(m, j, w);
    case JOB_SUSPEND_CHILD:
        return build_suspend_child(j, w);
    case JOB_START:
        return build_start(m, j, p.wl, w);
    case JOB_STOP:
        return build_stop(j, p.why, w);
    case JOB_RESET:
        return build_reset(j, w);
    case JOB_RESTORE:
        return build_restore(j, p.wl, w);
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

/* What people are told when a step is done. */
static const char *const step_event[JOB_STEPS] = {
    [JOB_CREATE] = "CreatedWorkload", [JOB_SUSPEND_CHILD] = "Suspended", [JOB_START] = "Started",
    [JOB_STOP] = "Stopped",           [JOB_DELETE] = "Deleted",
};

void job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                 const struct sl_reply *reply) {
    struct sl_manager *m = ctx;
    struct rec_job *j = job_of(r);
    enum job_step step = (enum job_step)j->step;
    (void)w, (void)reply;
    if (how == SL_WRITTEN && step == JOB_CREATE)
        count_created(m, r);
    if (how == SL_WRITTEN && step_event[step] && j->note)
        sl_rec_event(r, JOB_CONTROLLER, false, step_event[step], "%s", j->note);
    else if (how == SL_WRITE_CONFLICT && step == JOB_CREATE)
        j->pause = sl_time_add(m->spec.port->mono, PAUSE);
    j->step = JOB_REST;
    sl_freep(&j->note);
    sl_rec_enqueue(r);
}
