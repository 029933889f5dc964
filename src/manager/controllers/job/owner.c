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

#define MAX_CHAIN 10u

static uint64_t uid_key(const char *uid) {
    return sl_hash_str(0, uid);
}

static uint64_t prebuilt_key(sl_sym ns, const char *name) {
    return sl_hash_str(ns, name);
}

/* ---- indexes ---- */

void job_tie(struct sl_manager *m, struct rec_job *j) {
    if (j->known)
        return;
    j->known = true;
    sl_map_add(&m->by_uid, uid_key(j->rec.uid), j->rec.id);
    if (j->owner_uid)
        sl_map_add(&m->job_children, uid_key(j->owner_uid), j->rec.id);
    if (j->more && j->more->prebuilt)
        sl_map_add(&m->job_prebuilt, prebuilt_key(j->rec.ns, j->more->prebuilt), j->rec.id);
}

void job_untie(struct sl_manager *m, struct rec_job *j) {
    if (!j->known)
        return;
    j->known = false;
    (void)sl_map_del(&m->by_uid, uid_key(j->rec.uid), j->rec.id);
    if (j->owner_uid)
        (void)sl_map_del(&m->job_children, uid_key(j->owner_uid), j->rec.id);
    if (j->more && j->more->prebuilt)
        (void)sl_map_del(&m->job_prebuilt, prebuilt_key(j->rec.ns, j->more->prebuilt), j->rec.id);
}

/* ---- upwards ---- */

static bool owner_is_job(const struct sl_manager *m, sl_sym api, sl_sym kind) {
    return strcmp(str(m, kind), JOB_KIND) == 0 && strcmp(str(m, api), JOB_API_VERSION) == 0;
}

static bool leads_others(const struct sl_manager *m, const struct rec_job *j) {
    return m->settings->framework[SL_FW_JOB] && (j->queue || m->settings->manage_without_queue);
}

/* The Job that an owner's name and UID stand for. *ret_false: there is one of that name, but it is
 * not the one that is meant: then it is no owner at all, whoever wrote the reference. */
static struct sl_rec *owner_of(const struct sl_manager *m, const char *ns, const char *name,
                               const char *uid, bool *ret_false) {
    struct sl_rec *up = sl_inf_find(m->inf, REC_JOB, ns, name);
    *ret_false = up && strcmp(up->uid, uid) != 0;
    return *ret_false ? NULL : up;
}

/* From j, which counts itself, upwards. */
static enum job_kin climb(const struct sl_manager *m, struct rec_job *j, struct rec_job **ret) {
    struct rec_job *seen[MAX_CHAIN + 1];
    uint32_t n = 0;

    for (*ret = NULL;;) {
        if (leads_others(m, j))
            *ret = j;
        for (uint32_t i = 0; i < n; i++)
            if (seen[i] == j)
                return JOB_KIN_UNCLEAR;
        if (n == MAX_CHAIN)
            return JOB_KIN_TOO_DEEP;
        seen[n++] = j;
        if (!j->owner_uid || !owner_is_job(m, j->owner_api, j->owner_kind))
            return *ret ? JOB_KIN_ANCESTOR : JOB_KIN_NONE;
        bool is_false;
        struct sl_rec *up = owner_of(m, str(m, j->rec.ns), j->owner_name, j->owner_uid, &is_false);
        if (is_false)
            return *ret ? JOB_KIN_ANCESTOR : JOB_KIN_NONE;
        if (!up)
            return JOB_KIN_UNCLEAR;
        j = job_of(up);
    }
}

enum job_kin job_kin(const struct sl_manager *m, const struct rec_job *j, struct rec_job **ret) {
    bool is_false;
    *ret = NULL;
    if (!j->owner_uid || !owner_is_job(m, j->owner_api, j->owner_kind))
        return JOB_KIN_NONE;
    struct sl_rec *up = owner_of(m, str(m, j->rec.ns), j->owner_name, j->owner_uid, &is_false);
    if (is_false)
        return JOB_KIN_NONE;
    return up && up != &j->rec ? climb(m, job_of(up), ret) : JOB_KIN_UNCLEAR;
}

bool job_owner_managed(const struct sl_manager *m, const char *ns,
                       const struct sl_owner_ref *owner) {
    struct rec_job *top;
    bool is_false;
    if (strcmp(owner->kind, JOB_KIND) != 0 || strcmp(owner->api_version, JOB_API_VERSION) != 0)
        return false;
    struct sl_rec *up = owner_of(m, ns, owner->name, owner->uid, &is_false);
    return up && climb(m, job_of(up), &top) == JOB_KIN_ANCESTOR;
}

/* ---- downwards ---- */

static void mark_below(struct sl_manager *m, const struct rec_job *j, uint32_t depth) {
    uint64_t key = uid_key(j->rec.uid);
    uint32_t c;
    for (uint32_t i = sl_map_first(&m->job_children, key, &c); i != SL_MAP_NONE;
         i = sl_map_next(&m->job_children, key, &c)) {
        struct rec_job *child = job_of(m->inf->recs.v[i]);
        sl_rec_enqueue(&child->rec);
        if (depth)
            mark_below(m, child, depth - 1);
    }
}

void job_mark_children(struct sl_manager *m, const struct rec_job *j) {
    mark_below(m, j, MAX_CHAIN);
}

void job_orphan(struct sl_manager *m, struct rec_wl *w) {
    if (!w->rec.deleting && m->settings->gates[SL_G_FINISH_ORPHANED_WORKLOADS])
        wl_finish(m, w, "OwnerNotFound", "The workload's owner no longer exists");
    if (w->rec.finalizer)
        wl_wish(w, WL_UNFINALIZE);
}

static void mark_waiting(struct sl_manager *m, const struct rec_wl *w) {
    uint64_t key = prebuilt_key(w->rec.ns, w->rec.name);
    uint32_t c;
    for (uint32_t i = sl_map_first(&m->job_prebuilt, key, &c); i != SL_MAP_NONE;
         i = sl_map_next(&m->job_prebuilt, key, &c))
        sl_rec_enqueue(m->inf->recs.v[i]);
}

void job_workload_changed(struct sl_manager *m, struct rec_wl *w, bool gone) {
    mark_waiting(m, w);
    if (!w->owner_uid)
        return;
    struct sl_rec *owner = rec_by_uid(m, w->owner_uid);
    if (owner && owner->kind == REC_JOB) {
        sl_rec_enqueue(owner);
        job_mark_children(m, job_of(owner));
    } else if (!gone && m->inf->tables[REC_JOB].synced &&
               strcmp(str(m, w->owner_kind), JOB_KIND) == 0 &&
               strcmp(str(m, w->owner_group), JOB_GROUP) == 0) {
        wl_wish(w, WL_ASK_OWNER); /* the stream of jobs may only be late */
    }
}
