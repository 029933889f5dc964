/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that own Jobs, and Workloads whose Job comes and goes.
 *
 * Only jobs are followed upwards, of batch/v1 and of all rows, whether their own controller runs or
 * not: an owner of another kind ends the search, as one that Kueue does not know.
 */
#include "manager/controllers/job/job.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "manager/controllers/job/jobs.h"

#define MAX_CHAIN 10u

static uint64_t uid_key(const char *uid) {
    return sl_hash_str(0, uid);
}

static uint64_t prebuilt_key(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

/* ---- indexes ---- */

void mgr_job_index_add(struct sl_manager *m, struct mgr_rec_job *j) {
    if (j->known)
        return;
    j->known = true;
    sl_map_add(&m->by_uid, uid_key(j->rec.uid), j->rec.id);
    if (j->owner_uid)
        sl_map_add(&m->jobs->children, uid_key(j->owner_uid), j->rec.id);
    if (j->more && j->more->prebuilt)
        sl_map_add(&m->jobs->prebuilt, prebuilt_key(j->rec.ns, j->more->prebuilt), j->rec.id);
}

void mgr_job_index_remove(struct sl_manager *m, struct mgr_rec_job *j) {
    if (!j->known)
        return;
    j->known = false;
    (void)sl_map_del(&m->by_uid, uid_key(j->rec.uid), j->rec.id);
    if (j->owner_uid)
        (void)sl_map_del(&m->jobs->children, uid_key(j->owner_uid), j->rec.id);
    if (j->more && j->more->prebuilt)
        (void)sl_map_del(&m->jobs->prebuilt, prebuilt_key(j->rec.ns, j->more->prebuilt), j->rec.id);
}

/* ---- upwards ---- */

/* REC_NAMESPACE: it is no job. */
static uint32_t owner_kind(const struct sl_manager *m, const struct mgr_rec_job *j) {
    return j->owner_uid ? mgr_job_kind(m, mgr_str(m, j->owner_api), mgr_str(m, j->owner_kind))
                        : REC_NAMESPACE;
}

static bool leads_others(const struct sl_manager *m, const struct mgr_rec_job *j) {
    return mgr_job_enabled(m, j->rec.kind) && (j->queue || m->settings->manage_without_queue);
}

/* The job with an owner's name and UID. *ret_false: the job of that name has another UID, so the
 * reference is not valid and there is no owner. */
static struct sl_rec *owner_of(const struct sl_manager *m, uint32_t kind, const char *ns,
                               const char *name, const char *uid, bool *ret_false) {
    struct sl_rec *up = sl_inf_find(m->inf, kind, ns, name);
    *ret_false = up && strcmp(up->uid, uid) != 0;
    return *ret_false ? NULL : up;
}

/* From j, which counts itself, upwards. */
static enum mgr_job_ancestry climb(const struct sl_manager *m, struct mgr_rec_job *j,
                                   struct mgr_rec_job **ret) {
    struct mgr_rec_job *seen[MAX_CHAIN + 1];
    uint32_t n = 0;

    for (*ret = NULL;;) {
        if (leads_others(m, j))
            *ret = j;
        for (uint32_t i = 0; i < n; i++)
            if (seen[i] == j)
                return JOB_ANCESTRY_UNCLEAR;
        if (n == MAX_CHAIN)
            return JOB_ANCESTRY_TOO_DEEP;
        seen[n++] = j;
        uint32_t kind = owner_kind(m, j);
        if (kind == REC_NAMESPACE)
            return *ret ? JOB_ANCESTRY_ANCESTOR : JOB_ANCESTRY_NONE;
        bool is_false;
        struct sl_rec *up =
            owner_of(m, kind, mgr_str(m, j->rec.ns), j->owner_name, j->owner_uid, &is_false);
        if (is_false)
            return *ret ? JOB_ANCESTRY_ANCESTOR : JOB_ANCESTRY_NONE;
        if (!up)
            return JOB_ANCESTRY_UNCLEAR;
        j = mgr_job_of(up);
    }
}

enum mgr_job_ancestry mgr_job_ancestry(const struct sl_manager *m, const struct mgr_rec_job *j,
                                       struct mgr_rec_job **ret) {
    uint32_t kind = owner_kind(m, j);
    bool is_false;
    *ret = NULL;
    if (kind == REC_NAMESPACE)
        return JOB_ANCESTRY_NONE;
    struct sl_rec *up =
        owner_of(m, kind, mgr_str(m, j->rec.ns), j->owner_name, j->owner_uid, &is_false);
    if (is_false)
        return JOB_ANCESTRY_NONE;
    return up && up != &j->rec ? climb(m, mgr_job_of(up), ret) : JOB_ANCESTRY_UNCLEAR;
}

bool mgr_job_owner_managed(const struct sl_manager *m, const char *ns,
                           const struct sl_review_owner_ref *owner) {
    struct mgr_rec_job *top;
    bool is_false;
    uint32_t kind = mgr_job_kind(m, owner->api_version, owner->kind);
    if (kind == REC_NAMESPACE)
        return false;
    struct sl_rec *up = owner_of(m, kind, ns, owner->name, owner->uid, &is_false);
    return up && climb(m, mgr_job_of(up), &top) == JOB_ANCESTRY_ANCESTOR;
}

/* ---- downwards ---- */

static void mark_below(struct sl_manager *m, const struct mgr_rec_job *j, uint32_t depth) {
    uint64_t key = uid_key(j->rec.uid);
    sl_map_foreach (i, &m->jobs->children, key) {
        struct mgr_rec_job *child = mgr_job_of(m->inf->recs.v[i]);
        sl_rec_enqueue(&child->rec);
        if (depth)
            mark_below(m, child, depth - 1);
    }
}

void mgr_job_mark_children(struct sl_manager *m, const struct mgr_rec_job *j) {
    mark_below(m, j, MAX_CHAIN);
}

void mgr_job_orphan(struct sl_manager *m, struct mgr_rec_wl *w) {
    if (!w->rec.deleting && m->settings->gates[SL_G_FINISH_ORPHANED_WORKLOADS])
        mgr_wl_finish(m, w, "OwnerNotFound", "The workload's owner no longer exists");
    if (w->rec.finalizer)
        mgr_wl_set_pending(w, WL_UNFINALIZE);
}

static void mark_waiting(struct sl_manager *m, const struct mgr_rec_wl *w) {
    uint64_t key = prebuilt_key(w->rec.ns, w->rec.name);
    sl_map_foreach (i, &m->jobs->prebuilt, key)
        sl_rec_enqueue(m->inf->recs.v[i]);
}

void mgr_job_workload_changed(struct sl_manager *m, struct mgr_rec_wl *w, bool gone) {
    mark_waiting(m, w);
    if (!w->owner_uid)
        return;
    struct sl_rec *owner = mgr_rec_by_uid(m, w->owner_uid);
    if (owner && mgr_is_job(owner)) {
        sl_rec_enqueue(owner);
        mgr_job_mark_children(m, mgr_job_of(owner));
        return;
    }
    uint32_t kind = mgr_job_kind(m, mgr_str(m, w->owner_api), mgr_str(m, w->owner_kind));
    if (!gone && kind != REC_NAMESPACE && mgr_job_runs(m, kind) && sl_inf_synced(m->inf, kind) &&
        (kind == REC_JOB || m->inf->tables[kind].exists))
        mgr_wl_set_pending(w, WL_READ_OWNER); /* the stream of jobs may only be late */
}
