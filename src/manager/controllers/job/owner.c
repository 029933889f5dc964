/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that own Jobs, and Workloads whose Job comes and goes.
 *
 * Only Jobs are followed upwards: an owner of a kind that is not cached here ends the search, as
 * one that Kueue does not know.
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

void mgr_jobs_new(struct sl_manager *m) {
    m->jobs = sl_alloc0(1, sizeof *m->jobs);
}

void mgr_jobs_end(struct sl_manager *m) {
    sl_map_done(&m->jobs->children);
    sl_map_done(&m->jobs->prebuilt);
    sl_freep(&m->jobs);
}

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

static bool owner_is_job(const struct sl_manager *m, sl_sym api, sl_sym kind) {
    return strcmp(mgr_str(m, kind), JOB_KIND) == 0 && strcmp(mgr_str(m, api), JOB_API_VERSION) == 0;
}

static bool leads_others(const struct sl_manager *m, const struct mgr_rec_job *j) {
    return m->settings->framework[SL_FW_JOB] && (j->queue || m->settings->manage_without_queue);
}

/* The Job with an owner's name and UID. *ret_false: the Job of that name has another UID, so the
 * reference is not valid and there is no owner. */
static struct sl_rec *owner_of(const struct sl_manager *m, const char *ns, const char *name,
                               const char *uid, bool *ret_false) {
    struct sl_rec *up = sl_inf_find(m->inf, REC_JOB, ns, name);
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
        if (!j->owner_uid || !owner_is_job(m, j->owner_api, j->owner_kind))
            return *ret ? JOB_ANCESTRY_ANCESTOR : JOB_ANCESTRY_NONE;
        bool is_false;
        struct sl_rec *up =
            owner_of(m, mgr_str(m, j->rec.ns), j->owner_name, j->owner_uid, &is_false);
        if (is_false)
            return *ret ? JOB_ANCESTRY_ANCESTOR : JOB_ANCESTRY_NONE;
        if (!up)
            return JOB_ANCESTRY_UNCLEAR;
        j = mgr_job_of(up);
    }
}

enum mgr_job_ancestry mgr_job_ancestry(const struct sl_manager *m, const struct mgr_rec_job *j,
                                       struct mgr_rec_job **ret) {
    bool is_false;
    *ret = NULL;
    if (!j->owner_uid || !owner_is_job(m, j->owner_api, j->owner_kind))
        return JOB_ANCESTRY_NONE;
    struct sl_rec *up = owner_of(m, mgr_str(m, j->rec.ns), j->owner_name, j->owner_uid, &is_false);
    if (is_false)
        return JOB_ANCESTRY_NONE;
    return up && up != &j->rec ? climb(m, mgr_job_of(up), ret) : JOB_ANCESTRY_UNCLEAR;
}

bool mgr_job_owner_managed(const struct sl_manager *m, const char *ns,
                           const struct sl_review_owner_ref *owner) {
    struct mgr_rec_job *top;
    bool is_false;
    if (strcmp(owner->kind, JOB_KIND) != 0 || strcmp(owner->api_version, JOB_API_VERSION) != 0)
        return false;
    struct sl_rec *up = owner_of(m, ns, owner->name, owner->uid, &is_false);
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
    if (owner && owner->kind == REC_JOB) {
        sl_rec_enqueue(owner);
        mgr_job_mark_children(m, mgr_job_of(owner));
    } else if (!gone && m->inf->tables[REC_JOB].synced &&
               strcmp(mgr_str(m, w->owner_kind), JOB_KIND) == 0 &&
               strcmp(mgr_str(m, w->owner_group), JOB_GROUP) == 0) {
        mgr_wl_set_pending(w, WL_READ_OWNER); /* the stream of jobs may only be late */
    }
}
