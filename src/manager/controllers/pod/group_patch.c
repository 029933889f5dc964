/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of what is written for pods that are queued themselves, and what follows when it is
 * written. */
#include "manager/controllers/pod/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/json.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/job/draft.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/metrics/metrics.h"

#define PAUSE SL_SEC /* before a Workload's name that is taken is tried again */
#define MAX_NAME 512u
#define MAX_REASON 2048u /* that of a condition, of 1,024 letters, and the text before it */
#define FIELD_MANAGER "kueue"

/* ---- the Workload ---- */

bool mgr_group_spec(const struct sl_manager *m, const struct mgr_rec_pod *leader,
                    struct mgr_rec_pod *const *roles, const int32_t *counts, uint32_t n,
                    bool replace, const char *key, struct sl_jw *out) {
    const struct mgr_pod_job *j = leader->job;
    int32_t max_exec = j->more ? j->more->max_exec_s : -1;
    struct mgr_priority p;

    if (!mgr_priority_of(m, mgr_str(m, j->priority_class), mgr_str(m, j->pod_class), &p))
        return false;
    sl_jw_object(out, key);
    sl_jw_array(out, "podSets");
    for (uint32_t i = 0; i < n; i++) {
        sl_jw_object(out, NULL);
        sl_jw_str(out, "name", j->group->single ? JOB_PODSET : mgr_str(m, roles[i]->job->role));
        sl_jw_int(out, "count", counts[i]);
        sl_jw_fields(out, roles[i]->job->draft->podset);
        sl_jw_end(out);
    }
    sl_jw_end(out);
    mgr_draft_put_terms(m, &p, j->queue, max_exec, replace, out);
    sl_jw_end(out);
    return true;
}

void mgr_group_owner_reference(const struct mgr_rec_pod *p, bool controller, struct sl_jw *out) {
    sl_jw_object(out, NULL);
    sl_jw_str(out, "apiVersion", "v1");
    sl_jw_str(out, "kind", "Pod");
    sl_jw_str(out, "name", p->rec.name);
    sl_jw_str(out, "uid", p->rec.uid);
    if (controller) {
        sl_jw_bool(out, "controller", true);
        sl_jw_bool(out, "blockOwnerDeletion", true);
    }
    sl_jw_end(out);
}

bool mgr_group_put_copied(const struct mgr_group_plan *p, bool labels, struct sl_jw *out) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *all = yyjson_mut_obj(doc);
    bool agree = true;
    for (uint32_t i = 0; i < p->v.n; i++) {
        const struct mgr_pod_draft *d = p->v.v[i].p->job->draft;
        const char *text = !d || !p->v.v[i].active ? NULL : labels ? d->labels : d->copied;
        size_t k, n;
        yyjson_val *key, *val;
        if (mgr_draft_none(text))
            continue;
        yyjson_doc *one = yyjson_read(text, strlen(text), 0);
        sl_obj_foreach (yyjson_doc_get_root(one), k, n, key, val) {
            struct sl_text name = sl_json_view(key), is = sl_json_view(val);
            yyjson_mut_val *had = yyjson_mut_obj_getn(all, name.s, name.n);
            agree &= !had || yyjson_mut_equals_strn(had, is.s, is.n);
            (void)yyjson_mut_obj_put(all, yyjson_val_mut_copy(doc, key),
                                     yyjson_val_mut_copy(doc, val));
        }
        yyjson_doc_free(one);
    }
    char *s = out && yyjson_mut_obj_size(all) ? yyjson_mut_val_write(all, 0, NULL) : NULL;
    if (s)
        sl_jw_fields(out, s);
    free(s);
    yyjson_mut_doc_free(doc);
    return agree;
}

static void put_metadata(const struct sl_manager *m, const struct mgr_group_plan *p,
                         const struct mgr_rec_pod *leader, struct sl_jw *out) {
    const struct mgr_pod_job *j = leader->job;
    bool single = j->group->single;

    sl_jw_object(out, "labels");
    if (single)
        sl_jw_str(out, "kueue.x-k8s.io/job-uid", leader->rec.uid);
    (void)mgr_group_put_copied(p, true, out);
    sl_jw_end(out);
    sl_jw_object(out, "annotations");
    if (!single)
        sl_jw_str(out, "kueue.x-k8s.io/is-group-workload", "true");
    for (uint32_t i = 0; i < p->v.n; i++) { /* the oldest one's */
        const struct mgr_pod_draft *d = p->v.v[i].p->job->draft;
        if (!d || mgr_draft_none(d->annotations))
            continue;
        sl_jw_fields(out, d->annotations);
        break;
    }
    (void)mgr_group_put_copied(p, false, out);
    if (j->more && j->more->gate && m->settings->gates[SL_G_ADMISSION_GATED_BY])
        sl_jw_str(out, JOB_GATED_BY, j->more->gate);
    sl_jw_end(out);
}

static void put_owners(const struct mgr_group_plan *p, bool single, struct sl_jw *out) {
    sl_jw_array(out, "finalizers");
    sl_jw_str(out, NULL, "kueue.x-k8s.io/resource-in-use");
    sl_jw_end(out);
    sl_jw_array(out, "ownerReferences");
    for (uint32_t i = 0; i < p->v.n; i++)
        if (p->v.v[i].active)
            mgr_group_owner_reference(p->v.v[i].p, single, out);
    sl_jw_end(out);
}

static void count_roles(const struct mgr_group_plan *p, const struct mgr_rec_pod *leader,
                        int32_t *counts) {
    for (uint32_t k = 0; k < p->roles.n; k++) {
        counts[k] = 0;
        for (uint32_t i = 0; i < p->v.n; i++)
            counts[k] += p->v.v[i].active && p->v.v[i].p->job->role == p->roles.v[k]->job->role;
    }
    if (leader->job->fast && !leader->job->group->single)
        counts[0] = p->total;
}

static bool build_compose(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w) {
    struct mgr_pod_group *g = p->job->group;
    struct sl_jw *out = &w->json;
    struct sl_buf name;
    struct mgr_group_plan plan;
    int32_t counts[GROUP_MAX_ROLES];

    mgr_group_plan(m, g, &plan);
    bool fine = plan.roles.n && plan.roles.n <= GROUP_MAX_ROLES && plan.roles.v[0] == p &&
                plan.phase == GROUP_NO_WORKLOAD;
    for (uint32_t i = 0; fine && i < plan.roles.n; i++)
        fine = plan.roles.v[i]->job->draft && plan.roles.v[i]->job->draft->podset;
    if (fine) {
        const struct mgr_rec_pod *leader = plan.v.v[0].p;
        sl_buf_init(&name, MAX_NAME);
        if (g->single)
            mgr_wl_name(&name, "Pod", "", p->rec.name, p->rec.uid, "",
                        m->settings->gates[SL_G_SHORT_WORKLOAD_NAMES]);
        else
            sl_buf_puts(&name, g->name);
        count_roles(&plan, leader, counts);
        sl_inf_build_create(m->inf, REC_WORKLOAD, mgr_str(m, g->ns), w);
        sl_jw_object(out, NULL);
        sl_jw_str(out, "apiVersion", "kueue.x-k8s.io/v1beta2");
        sl_jw_str(out, "kind", "Workload");
        sl_jw_object(out, "metadata");
        sl_jw_str(out, "name", sl_buf_str(&name));
        sl_jw_str(out, "namespace", mgr_str(m, g->ns));
        put_metadata(m, &plan, leader, out);
        put_owners(&plan, g->single, out);
        sl_jw_end(out);
        fine = mgr_group_spec(m, leader, plan.roles.v, counts, plan.roles.n, false, "spec", out);
        mgr_set_event_note(&p->job->note, "Created Workload: %s/%s", mgr_str(m, g->ns),
                           sl_buf_str(&name));
        sl_buf_done(&name);
    }
    mgr_group_plan_done(&plan);
    return fine;
}

/* ---- the pod ---- */

/* The event of a pod that is also held by other gates lists them: they are why it does not
 * start. */
static void set_start_note(struct sl_manager *m, struct mgr_rec_pod *p,
                           const struct mgr_rec_wl *w) {
    _cleanup_(sl_json_docp) yyjson_doc *d =
        yyjson_read(mgr_str(m, p->others), strlen(mgr_str(m, p->others)), 0);
    yyjson_val *gate;
    size_t i, n;

    _cleanup_(sl_buf_done) struct sl_buf held = SL_BUF(MAX_NAME);
    sl_buf_short(&held); /* there may be many */
    yyjson_arr_foreach (yyjson_doc_get_root(d), i, n, gate) {
        sl_buf_puts(&held, held.len ? ", " : "; still held by other scheduling gates: ");
        sl_buf_puts(&held, sl_json_str(gate, "name"));
    }
    mgr_set_event_note(&p->job->note, "Admitted by clusterQueue %s%s",
                       mgr_str(m, w->seen.admission->cq), sl_buf_str(&held));
}

static struct mgr_rec_wl *workload_of(const struct sl_manager *m, const struct mgr_pod_group *g) {
    struct sl_rec *r = g->wl == SL_MAP_NONE ? NULL : m->inf->recs.v[g->wl];
    return r && !r->gone && r->kind == REC_WORKLOAD ? mgr_wl_of(r) : NULL;
}

static bool build_start(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w) {
    const struct mgr_pod_group *g = p->job->group;
    const struct mgr_rec_wl *wl = workload_of(m, g);
    struct sl_jw *out = &w->json;
    struct sl_err err;
    uint32_t role = 0;
    if (!wl || !wl->seen.admission || !p->job->template)
        return false;
    while (!g->single && role < wl->n_podsets && wl->podsets[role].name != p->job->role)
        role++;
    struct mgr_job_extras *x = NULL;
    bool fits = mgr_job_extras_new(m, wl, role, &x, &err) >= 0;
    uint8_t stay = (uint8_t)(p->gates & ~POD_GATE_ADMISSION);
    if (fits && !mgr_job_extras_gated(x))
        stay &= (uint8_t)~POD_GATE_TOPOLOGY;
    fits = fits && mgr_job_extras_fit(x, p->job->template, NULL, &err) >= 0;
    if (fits) {
        sl_rec_build_guarded(&p->rec, NULL, w);
        mgr_job_extras_put_pod(x, false, out);
        sl_jw_end(out);
        sl_jw_object(out, "spec");
        mgr_pod_put_gates(m, p, stay, out);
        mgr_job_extras_put_pod(x, true, out);
        set_start_note(m, p, wl);
    }
    mgr_job_extras_free(x);
    return fits;
}

static bool build_target(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w) {
    _cleanup_(sl_buf_done) struct sl_buf reason = SL_BUF(MAX_REASON);
    const char *why = mgr_group_stop_reason(m, p->job->group, &reason);
    sl_rec_build_apply(&p->rec, "status", FIELD_MANAGER, w);
    struct sl_jw *out = &w->json;
    sl_jw_object(out, "status");
    sl_jw_array(out, "conditions");
    sl_jw_object(out, NULL);
    sl_jw_str(out, "type", "TerminationTarget");
    sl_jw_str(out, "status", "True");
    sl_jw_time(out, "lastTransitionTime", m->spec.client->wall);
    sl_jw_str(out, "reason", sl_buf_str(&reason));
    sl_jw_str(out, "message", why);
    sl_jw_end_to(out, 0);
    return true;
}

/* The record may be gone before the reply arrives, so the event is sent now. */
static bool build_delete(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w) {
    bool stop = p->job->step == POD_STOP, expired = p->job->group->phase == GROUP_EVICTED;
    _cleanup_(sl_buf_done) struct sl_buf reason = SL_BUF(MAX_REASON);
    sl_rec_build_delete(&p->rec, NULL, -1, w);
    sl_rec_event(&p->rec, GROUP_CONTROLLER, false,
                 stop      ? "Stopped"
                 : expired ? "Deleted"
                           : "ExcessPodDeleted",
                 "%s",
                 stop      ? mgr_group_stop_reason(m, p->job->group, &reason)
                 : expired ? "Deleted job: deactivation retention period expired"
                           : "Excess pod deleted");
    return true;
}

static bool build_step(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w) {
    switch ((enum mgr_pod_step)p->job->step) {
    case POD_READ:
        sl_rec_build_read(&p->rec, w);
        return true;
    case POD_COMPOSE:
        return build_compose(m, p, w);
    case POD_START:
        return build_start(m, p, w);
    case POD_TARGET:
        return build_target(m, p, w);
    case POD_STOP:
    case POD_REMOVE:
        return build_delete(m, p, w);
    case POD_DROP_FINALIZER:
        sl_rec_build_finalizer(&p->rec, false, w);
        return true;
    case POD_REST:
    case POD_STEPS:
        break;
    }
    return false;
}

bool mgr_group_build(struct sl_manager *m, struct mgr_rec_pod *p, struct sl_write *w) {
    struct mgr_pod_job *j = p->job;
    struct mgr_pod_group *g = j->group;
    j->doing = POD_REST;
    if (g->dirty) /* planned first */
        return false;
    if (j->step == POD_COMPOSE && m->spec.client->mono < g->pause) {
        sl_rec_write_at(&p->rec, g->pause);
        return false;
    }
    if (!build_step(m, p, w))
        return false;
    j->doing = j->step;
    if (j->step == POD_START)
        j->started_rv = p->rec.rv;
    return true;
}

/* ---- afterwards ---- */

/* The events of completed steps. */
static const char *const step_event[POD_STEPS] = {
    [POD_COMPOSE] = "CreatedWorkload",
    [POD_START] = "Started",
};

bool mgr_group_written(struct sl_manager *m, struct mgr_rec_pod *p, enum sl_written how) {
    struct mgr_pod_job *j = p->job;
    enum mgr_pod_step step = (enum mgr_pod_step)j->doing;
    const struct mgr_rec_wl *w = workload_of(m, j->group);
    const char *reason = step_event[step];
    if (step == POD_REST)
        return false;
    j->doing = POD_REST;
    if (step == POD_READ ? how == SL_WRITTEN : step == POD_START && how != SL_WRITE_FAILED)
        j->started_rv = 0;
    if (how == SL_WRITTEN && step == POD_COMPOSE)
        mgr_count_created(m, &p->rec);
    if (how == SL_WRITTEN && step == POD_START && w)
        mgr_count_ungated(m, w, "kueue.x-k8s.io/admission", !j->group->single);
    if (how == SL_WRITTEN && reason && j->note)
        sl_rec_event(&p->rec, GROUP_CONTROLLER, false, reason, "%s", j->note);
    if (how == SL_WRITE_CONFLICT && step == POD_COMPOSE)
        j->group->pause = sl_time_add(m->spec.client->mono, PAUSE);
    sl_freep(&j->note);
    if (how != SL_WRITE_GONE)
        mgr_group_touch(j->group);
    return true;
}
