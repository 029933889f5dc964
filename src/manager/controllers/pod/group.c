/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of pods: lookup, creation and removal, and Workloads whose pods come and go. */
#include "manager/controllers/pod/group.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/job/jobs.h"
#include "manager/controllers/pod/pods.h"

static uint64_t group_key(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

struct mgr_pod_group *mgr_group_find(const struct sl_manager *m, sl_sym ns, const char *name) {
    uint64_t key = group_key(ns, name);
    sl_map_foreach (i, &m->groups->by_name, key)
        if (m->groups->v.v[i]->ns == ns && strcmp(m->groups->v.v[i]->name, name) == 0)
            return m->groups->v.v[i];
    return NULL;
}

void mgr_group_touch(struct mgr_pod_group *g) {
    if (!g)
        return;
    g->dirty = true;
    sl_rec_enqueue(&g->pods->rec);
}

void mgr_group_pod_changed(struct sl_manager *m, struct mgr_rec_pod *p) {
    mgr_group_touch(p->job->group);
    if (!p->job->group->single)
        return;
    uint32_t cursor = 0; /* whether its Workload may be put back depends on it */
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(m, p->rec.uid, &cursor));)
        sl_rec_enqueue(&w->rec);
}

void mgr_groups_touch(struct sl_manager *m) {
    for (uint32_t i = 0; i < m->groups->v.n; i++)
        mgr_group_touch(m->groups->v.v[i]);
}

static struct mgr_pod_group *group_new(struct sl_manager *m, sl_sym ns, const char *name) {
    size_t len = strlen(name);
    struct mgr_pod_group *g = sl_alloc0(1, sizeof *g + len + 1);
    memcpy(g->name, name, len);
    g->ns = ns;
    g->single = len == 0;
    g->wl = SL_MAP_NONE;
    g->id = m->groups->free_ids.n ? sl_vec_pop(&m->groups->free_ids) : m->groups->v.n;
    if (g->id == m->groups->v.n)
        (void)sl_vec_push(&m->groups->v);
    m->groups->v.v[g->id] = g;
    if (!g->single)
        sl_map_add(&m->groups->by_name, group_key(ns, name), g->id);
    return g;
}

void mgr_group_join(struct sl_manager *m, struct mgr_rec_pod *p, const char *name) {
    struct mgr_pod_group *g = *name ? mgr_group_find(m, p->rec.ns, name) : NULL;
    if (!g)
        g = group_new(m, p->rec.ns, name);
    p->job->group = g;
    p->job->next = g->pods;
    if (g->pods)
        g->pods->job->prev = p;
    g->pods = p;
    g->n++;
    mgr_group_pod_changed(m, p);
}

/* The last of its pods is gone, so there is nothing left that it could wait for. */
static void end_group(struct sl_manager *m, struct mgr_pod_group *g,
                      const struct mgr_rec_pod *last) {
    struct mgr_rec_wl *w = g->single ? NULL : mgr_wl_find(m, mgr_str(m, g->ns), g->name);
    uint32_t cursor = 0;
    if (w && !w->owner_uid) {
        if (last->job->unretriable && mgr_wl_has_pod(w, last->rec.uid) && !w->rec.deleting)
            mgr_job_orphan(m, w);
        sl_rec_enqueue(&w->rec);
    }
    while (g->single && (w = mgr_wl_owned(m, last->rec.uid, &cursor)))
        mgr_job_orphan(m, w);
    if (!g->single)
        (void)sl_map_del(&m->groups->by_name, group_key(g->ns, g->name), g->id);
    m->groups->v.v[g->id] = NULL;
    *sl_vec_push(&m->groups->free_ids) = g->id;
    sl_freep(&g);
}

void mgr_group_leave(struct sl_manager *m, struct mgr_rec_pod *p) {
    struct mgr_pod_job *j = p->job;
    struct mgr_pod_group *g = TAKE_PTR(j->group);
    *(j->prev ? &j->prev->job->next : &g->pods) = j->next;
    if (j->next)
        j->next->job->prev = j->prev;
    j->prev = j->next = NULL;
    g->n--;
    if (g->pods)
        mgr_group_touch(g);
    else
        end_group(m, g, p);
}

void mgr_groups_new(struct sl_manager *m) {
    m->groups = sl_alloc0(1, sizeof *m->groups);
}

void mgr_groups_end(struct sl_manager *m) {
    for (uint32_t i = 0; i < m->groups->v.n; i++)
        sl_freep(&m->groups->v.v[i]);
    sl_vec_free(&m->groups->v);
    sl_vec_free(&m->groups->free_ids);
    sl_map_done(&m->groups->by_name);
    sl_freep(&m->groups);
}

/* ---- Workloads ---- */

bool mgr_group_owns_one(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    return w->owner_uid && !w->owner_group && strcmp(mgr_str(m, w->owner_kind), "Pod") == 0;
}

bool mgr_group_never_requeued(const struct sl_manager *m, const struct mgr_rec_wl *w) {
    if (!m->settings->gates[SL_G_SKIP_REASSIGNMENT_FOR_POD_OWNED_WORKLOADS] ||
        !mgr_group_owns_one(m, w))
        return false;
    struct sl_rec *r = mgr_rec_by_uid(m, w->owner_uid); /* one that still waits lost nothing */
    return !(r && r->kind == REC_POD && !r->deleting && mgr_pod_gated(mgr_pod_of(r)));
}

/* A group's Workload is collected when its last owner is gone; no other controller removes its
 * finalizer. Until then nothing of it runs, and it is not to get quota. */
void mgr_group_without_pods(struct sl_manager *m, struct mgr_rec_wl *w) {
    const struct mgr_cond *evicted = mgr_wl_cond(m, w, "Evicted");
    if (!w->group || w->owner_uid || !m->inf->tables[REC_POD].synced ||
        (mgr_wl_condition_will_be_true(m, w, "Finished") &&
         !mgr_wl_condition_is_true(m, w, "Finished")))
        return;
    bool ours = w->pods.n && !w->owners; /* else its creator also makes the pods */
    if (ours && w->rec.finalizer)
        mgr_wl_set_pending(w, WL_UNFINALIZE);
    if (mgr_wl_condition_is_true(m, w, "Finished") || w->rec.deleting || !evicted ||
        evicted->status != COND_TRUE)
        return;
    if (ours)
        mgr_wl_set_cond(m, w, "WaitingForReplacementPods", true, mgr_str(m, evicted->reason),
                        evicted->message);
    if (mgr_wl_condition_is_true(m, w, "QuotaReserved") &&
        (!ours || mgr_wl_condition_is_true(m, w, "WaitingForReplacementPods")))
        mgr_wl_stopped(m, w);
}

void mgr_group_workload_changed(struct sl_manager *m, struct mgr_rec_wl *w, bool gone) {
    uint64_t key = sl_hash_str(w->rec.ns, w->rec.name);
    if (!mgr_group_frameworks(m->spec.parts.framework))
        return;
    sl_map_foreach (i, &m->jobs->prebuilt, key)
        if (m->inf->recs.v[i]->kind == REC_POD)
            mgr_group_touch(mgr_pod_of(m->inf->recs.v[i])->job->group);
    struct mgr_pod_group *g = mgr_group_find(m, w->rec.ns, w->rec.name);
    mgr_group_touch(g);
    struct sl_rec *owner = w->owner_uid ? mgr_rec_by_uid(m, w->owner_uid) : NULL;
    if (owner && owner->kind == REC_POD)
        mgr_group_touch(mgr_pod_of(owner)->job->group);
    else if (!owner && !gone && mgr_group_owns_one(m, w) && m->inf->tables[REC_POD].synced)
        mgr_wl_set_pending(w, WL_READ_OWNER); /* the stream of pods may only be late */
    if (!g && !gone)
        mgr_group_without_pods(m, w);
}
