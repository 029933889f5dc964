/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase of a Job and its next write: a function of the records, without effects. The order of the
 * checks is Kueue's.
 */
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/job/job.h"

#include <string.h>

#define DEACTIVATED_BY_US "DeactivatedDueTo"

/* ---- numbers ---- */

int32_t mgr_job_count(const struct mgr_rec_job *j) {
    return j->completions >= 0 && j->completions < j->parallelism ? j->completions : j->parallelism;
}

int32_t mgr_job_min_count(const struct sl_manager *m, const struct mgr_rec_job *j) {
    if (!j->more || j->more->min_parallelism < 0 || !m->settings->gates[SL_G_PARTIAL_ADMISSION])
        return 0;
    return j->more->min_parallelism;
}

int32_t mgr_job_reclaimable(const struct mgr_rec_job *j) {
    int32_t completions = j->completions < 0 ? j->parallelism : j->completions;
    int32_t ended = j->indexed_mode ? j->indexes : j->succeeded;
    if (j->parallelism <= 1 || ended <= 0)
        return 0;
    int32_t left = ended < completions ? completions - ended : 0;
    return left < j->parallelism ? j->parallelism - left : 0;
}

/* ---- does a Workload fit? ---- */

/* The assignment of a podset, if there is one for it. */
static const struct mgr_wl_podset_admission *assigned(const struct sl_manager *m,
                                                      const struct mgr_rec_wl *w, uint32_t podset) {
    const struct mgr_wl_admission *a = w->seen.admission;
    if (!a || !mgr_wl_condition_is_true(m, w, "QuotaReserved"))
        return NULL;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->v[i].name == w->podsets[podset].name)
            return &a->v[i];
    return NULL;
}

/* Tolerations of the pods while they run with this admission. */
static bool tolerates_as_running(const struct sl_manager *m, const struct mgr_rec_job *j,
                                 const struct mgr_rec_wl *w, uint32_t podset) {
    const struct mgr_template *t = w->podsets[podset].template;
    struct sl_err err;
    struct mgr_job_extras *x = NULL;
    bool same = mgr_job_extras_new(m, w, podset, &x, &err) >= 0 &&
                mgr_job_extras_fit(x, t, NULL, &err) >= 0 &&
                mgr_job_extras_tolerations(x) == mgr_job_template(j, podset)->tolerations;
    mgr_job_extras_free(x);
    return same;
}

/* How one podset compares with a Workload's: as it runs with its assignment, and as it is
 * described. */
struct likeness {
    bool reserved, as_running, as_described;
};

static struct likeness compare(const struct sl_manager *m, const struct mgr_rec_job *j,
                               const struct mgr_rec_wl *w, uint32_t i) {
    const struct mgr_wl_podset *p = &w->podsets[i];
    const struct mgr_wl_podset_admission *a = assigned(m, w, i);
    int32_t count = mgr_job_count_of(j, i);
    bool tolerates = mgr_wl_condition_is_true(m, w, "Admitted") ||
                     p->template->tolerations == mgr_job_template(j, i)->tolerations;
    struct likeness l = {.reserved = a, .as_described = count == p->count && tolerates};
    if (a)
        l.as_running = count == (p->min_count > 0 ? a->count : p->count) &&
                       (tolerates || tolerates_as_running(m, j, w, i));
    return l;
}

bool mgr_job_fits(const struct sl_manager *m, const struct mgr_rec_job *j,
                  const struct mgr_rec_wl *w) {
    int64_t max_exec = j->more && j->more->max_exec_s > 0 ? j->more->max_exec_s : 0;
    uint32_t n = mgr_job_n_podsets(j);
    struct likeness all = {true, true, true};
    if (!n || w->n_podsets != n || w->max_exec_s != max_exec)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct mgr_wl_podset *p = &w->podsets[i];
        if (p->template->containers != mgr_job_template(j, i)->containers ||
            p->min_count != mgr_job_min_count(m, j))
            return false;
        struct likeness l = compare(m, j, w, i);
        all.reserved &= l.reserved;
        all.as_running &= l.as_running;
        all.as_described &= l.as_described;
    }
    if (!all.reserved)
        return all.as_described;
    return all.as_running || (mgr_job_suspended(j) && all.as_described);
}

/* The Workloads of a Job: the oldest that fits, the oldest that does not, how many do not. */
struct owned {
    struct mgr_rec_wl *match, *first;
    uint32_t surplus;
};

static void add_surplus(struct owned *o, struct mgr_rec_wl *w) {
    o->surplus++;
    if (!o->first || mgr_wl_older(w, o->first))
        o->first = w;
}

static struct owned owned_by(const struct sl_manager *m, const struct mgr_rec_job *j) {
    struct owned o = {0};
    uint32_t cursor = 0;
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, j->rec.uid, &cursor));) {
        if (!mgr_job_fits(m, j, w)) {
            add_surplus(&o, w);
        } else if (!o.match) {
            o.match = w;
        } else {
            bool before = mgr_wl_older(w, o.match);
            add_surplus(&o, before ? o.match : w);
            o.match = before ? w : o.match;
        }
    }
    return o;
}

/* ---- stopping ---- */

/* Is something of an admission still in the Job's template that is not in the Workload's podset? */
static bool template_altered(const struct mgr_rec_job *j, const struct mgr_rec_wl *w) {
    const struct mgr_wl_podset *p = &w->podsets[0];
    const struct mgr_job_marks *marks = mgr_job_marks(j, w);
    if (w->n_podsets != 1)
        return false;
    if (p->template == j->template && !(marks && (marks->wl || marks->sl)))
        return false;
    _cleanup_(sl_buf_done) struct sl_buf diff = SL_BUF(SL_WRITER_MAX_BODY);
    struct sl_jw out = SL_JW(&diff);
    sl_jw_object(&out, NULL);
    mgr_job_restore_put(j->template, marks, p->template, &out);
    sl_jw_end(&out);
    bool any = strcmp(sl_buf_str(&diff), "{}") != 0;
    return any;
}

static bool altered(const struct mgr_rec_job *j, const struct mgr_rec_wl *w) {
    bool resized = w->n_podsets == 1 && j->more && j->more->min_parallelism >= 0 &&
                   j->parallelism != w->podsets[0].count;
    return resized || template_altered(j, w);
}

/* What is left to do until the Job is stopped. The API server lets a template change only while the
 * Job is suspended, has no start time and none of its pods is active: the last is reported by the
 * Job controller, so it is waited for. Objects of rows are stopped and restored at once. */
static struct mgr_job_plan stop(const struct mgr_rec_job *j, enum mgr_job_phase phase,
                                struct mgr_rec_wl *from, const char *why) {
    struct mgr_job_plan p = {.phase = phase, .wl = from, .why = why};
    if (!j->suspend)
        p.step = JOB_STOP;
    else if (j->rec.kind != REC_JOB)
        p.step = !mgr_train_has_patch(j) ? JOB_REST : j->active ? JOB_WAIT : JOB_RESTORE;
    else if (j->started)
        p.step = JOB_RESET;
    else if (j->active && from && template_altered(j, from))
        p.step = JOB_WAIT;
    else if (j->stopping || (from && altered(j, from)))
        p.step = JOB_RESTORE;
    if (p.step == JOB_REST && j->starting) /* or its quota would go while it starts */
        p.step = JOB_READ;
    return p;
}

/* ---- without a Workload, or with too many ---- */

static struct mgr_job_plan plan_alone(const struct sl_manager *m, const struct mgr_rec_job *j) {
    struct mgr_job_plan p = {.phase = JOB_NO_WORKLOAD};
    struct mgr_priority priority;
    if (j->message)
        return p;
    if (!mgr_job_suspended(j))
        return stop(j, JOB_NO_WORKLOAD, NULL, "Missing Workload; unable to restore pod templates");
    if (j->active == 0 &&
        mgr_priority_of(m, mgr_str(m, j->priority_class), mgr_job_pod_class(j), &priority))
        p.step = j->draft ? JOB_CREATE : JOB_READ;
    return p;
}

static struct mgr_job_plan plan_surplus(const struct sl_manager *m, const struct mgr_rec_job *j,
                                        const struct owned *o) {
    struct mgr_job_plan p = {.phase = JOB_UNMATCHED, .wl = o->match};
    if (!o->match && !mgr_job_suspended(j) && !j->message)
        return o->surplus == 1 ? stop(j, JOB_UNMATCHED, o->first,
                                      "No matching Workload; restoring pod templates according to "
                                      "existent Workload")
                               : stop(j, JOB_UNMATCHED, NULL,
                                      "Missing Workload; unable to restore pod templates");
    if (!o->match && mgr_job_suspended(j) &&
        !mgr_wl_condition_is_true(m, o->first, "QuotaReserved")) {
        p.wl = o->first; /* to be made to fit */
        if (!j->draft)
            p.step = JOB_READ;
    }
    return p;
}

/* A Workload of the given name is to be used and none made. NULL: it cannot be, *ret is what to
 * do. */
static struct mgr_rec_wl *prebuilt(const struct sl_manager *m, const struct mgr_rec_job *j,
                                   struct mgr_job_plan *ret) {
    struct mgr_rec_wl *w = mgr_wl_find(m, mgr_str(m, j->rec.ns), j->more->prebuilt);
    if (w && w->owner_uid && strcmp(w->owner_uid, j->rec.uid) != 0)
        w = NULL;
    if (!w || !mgr_job_fits(m, j, w)) {
        *ret = stop(j, w ? JOB_OUT_OF_SYNC : JOB_NO_WORKLOAD, NULL, "missing workload");
        if (j->message)
            ret->step = JOB_REST;
        ret->wl = w;
        w = NULL;
    } else if (!w->owner_uid) {
        *ret = (struct mgr_job_plan){.phase = JOB_ADOPTING, .wl = w};
        w = NULL;
    }
    return w;
}

/* ---- with its Workload ---- */

sl_time mgr_job_delete_at(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    const struct mgr_cond *evicted = mgr_wl_cond(m, w, "Evicted");
    sl_span keep = m->settings->drop_deactivated;
    if (keep == SL_TIME_NEVER || w->active || !evicted ||
        strncmp(mgr_str(m, evicted->reason), DEACTIVATED_BY_US, strlen(DEACTIVATED_BY_US)) != 0)
        return SL_TIME_NEVER;
    return sl_time_add(evicted->at, keep);
}

static struct mgr_job_plan plan_evicted(const struct sl_manager *m, const struct mgr_rec_job *j,
                                        struct mgr_rec_wl *w, const struct mgr_cond *evicted) {
    struct mgr_job_plan p = stop(j, JOB_EVICTED, w, evicted->message);
    if (p.step == JOB_REST && m->spec.client->wall >= mgr_job_delete_at(m, w))
        p.step = JOB_DELETE;
    return p;
}

static struct mgr_job_plan plan_matched(const struct sl_manager *m, const struct mgr_rec_job *j,
                                        struct mgr_rec_wl *w) {
    struct mgr_job_plan p = {.wl = w};
    const struct mgr_cond *evicted = mgr_wl_cond(m, w, "Evicted");
    bool admitted = mgr_wl_condition_is_true(m, w, "Admitted");

    if (mgr_wl_condition_will_be_true(m, w, "Finished"))
        p.phase = JOB_WL_FINISHED;
    else if (w->rec.deleting)
        return stop(j, JOB_WL_DELETING, w, "Workload is deleted");
    else if (j->message)
        p.phase = JOB_FINISHED;
    else if (evicted && evicted->status == COND_TRUE)
        return plan_evicted(m, j, w, evicted);
    else if (mgr_job_suspended(j) && admitted)
        p = (struct mgr_job_plan){.phase = JOB_READY,
                                  .step = mgr_train_lacks_patch(m, j, w) ? JOB_INJECT : JOB_START,
                                  .wl = w};
    else if (mgr_job_suspended(j))
        p.phase = JOB_WAITING;
    else if (j->stopping) /* a stop that was begun is ended first, whatever has become of its cause
                           */
        return stop(j, JOB_RUNNING, w, "Not admitted by cluster queue");
    else if (admitted || mgr_job_elastic(j))
        p.phase = JOB_RUNNING;
    else
        return stop(j, JOB_RUNNING, w, "Not admitted by cluster queue");
    return p;
}

/* ---- elastic ---- */

static struct mgr_job_plan plan_slice(const struct sl_manager *m, const struct mgr_rec_job *j,
                                      const struct mgr_job_slice *s) {
    struct mgr_job_plan p = {.phase = JOB_NO_WORKLOAD};
    struct mgr_priority priority;
    if (s->current) {
        p = plan_matched(m, j, s->current);
        if (s->resize && p.step == JOB_REST && p.phase >= JOB_EVICTED)
            p.step = JOB_RESIZE;
        return p;
    }
    /* Pods that have no slice yet are held back one by one, so nothing has to be stopped. */
    if (!j->message && (s->replaced || !s->grow) &&
        mgr_priority_of(m, mgr_str(m, j->priority_class), mgr_job_pod_class(j), &priority))
        p.step = j->draft ? JOB_CREATE : JOB_READ;
    return p;
}

/* ---- the whole ---- */

/* Of an ancestor: the newest Workload that is not finished. */
static const struct mgr_rec_wl *current(const struct sl_manager *m,
                                        const struct mgr_rec_job *above) {
    const struct mgr_rec_wl *newest = NULL;
    uint32_t cursor = 0;
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, above->rec.uid, &cursor));)
        if (!mgr_wl_condition_will_be_true(m, w, "Finished") &&
            (!newest || mgr_wl_older(newest, w)))
            newest = w;
    return newest;
}

static struct mgr_job_plan plan_child(const struct sl_manager *m, const struct mgr_rec_job *j,
                                      const struct mgr_rec_job *above) {
    struct mgr_job_plan p = {.phase = JOB_CHILD};
    if (j->message || mgr_job_suspended(j))
        return p;
    const struct mgr_rec_wl *w = current(m, above);
    bool may_run = w && (mgr_job_elastic(j) || mgr_job_elastic(above)
                             ? !mgr_wl_condition_is_true(m, w, "Evicted")
                             : mgr_wl_condition_is_true(m, w, "Admitted"));
    p.step = may_run ? JOB_REST : JOB_SUSPEND_CHILD;
    return p;
}

struct mgr_job_plan mgr_job_plan(const struct sl_manager *m, struct mgr_rec_job *j) {
    struct mgr_job_plan p = {.phase = JOB_IGNORED};
    struct mgr_rec_job *above;
    bool named = j->queue || m->settings->manage_without_queue;

    if (j->rec.gone || (!named && !j->owner_uid))
        return p;
    if (j->rec.deleting) {
        p.phase = JOB_ORPHANS;
        return p;
    }
    if (!mgr_ns_managed(m, j->rec.ns))
        return p;
    enum mgr_job_ancestry kin = mgr_job_ancestry(m, j, &above);
    if (kin == JOB_ANCESTRY_ANCESTOR)
        return plan_child(m, j, above);
    if (kin == JOB_ANCESTRY_TOO_DEEP)
        p.phase = JOB_TOO_DEEP;
    if (kin != JOB_ANCESTRY_NONE || !named)
        return p;
    if (!mgr_job_is_read_in(j)) {
        p.step = JOB_READ;
        return p;
    }
    if (j->many && !j->many->n) {
        p.phase = j->many->skipped ? JOB_IGNORED : JOB_UNREADABLE;
        return p;
    }
    if (j->more && j->more->prebuilt) {
        struct mgr_rec_wl *w = prebuilt(m, j, &p);
        return w ? plan_matched(m, j, w) : p;
    }
    if (mgr_job_elastic(j)) {
        struct mgr_job_slice s = mgr_job_slice(m, j);
        if (s.over_limit) { /* it is not known as which of them it would run */
            p.phase = JOB_TOO_MANY_SLICES;
            return j->message || mgr_job_suspended(j)
                       ? p
                       : stop(j, JOB_TOO_MANY_SLICES, NULL, "Too many Workloads are not finished");
        }
        if (!s.foreign)
            return plan_slice(m, j, &s);
    }
    struct owned o = owned_by(m, j);
    if (o.surplus)
        return plan_surplus(m, j, &o);
    return o.match ? plan_matched(m, j, o.match) : plan_alone(m, j);
}
