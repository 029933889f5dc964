/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elastic Jobs: their size may change while they run. Each size has a Workload of its own, a slice;
 * a larger one replaces the slice before it once it is admitted. A smaller size, or any size while
 * nothing is reserved, is written into the slice that is there.
 */
#include "core/base/fmt.h"
#include "manager/controllers/job/job.h"

#include <stdio.h>
#include <string.h>

#define MAX_SLICES JOB_MAX_SLICES

struct slices {
    struct mgr_rec_wl *v[MAX_SLICES]; /* not finished, the oldest first */
    uint32_t n;
    bool crowded; /* there are more */
};

bool mgr_slice_older(const struct mgr_rec_wl *a, const struct mgr_rec_wl *b) {
    if (a->rec.created != b->rec.created)
        return a->rec.created < b->rec.created;
    return strcmp(a->rec.uid, b->rec.uid) < 0;
}

static struct slices slices_of(const struct sl_manager *m, const struct mgr_rec_job *j) {
    struct slices s = {.n = 0};
    uint32_t cursor = 0;
    for (struct mgr_rec_wl *w; !s.crowded && (w = mgr_wl_owned(m, j->rec.uid, &cursor));) {
        uint32_t at = s.n;
        if (mgr_wl_condition_will_be_true(m, w, "Finished"))
            continue;
        s.crowded = s.n == MAX_SLICES;
        if (s.crowded)
            break;
        for (; at > 0 && mgr_slice_older(w, s.v[at - 1]); at--)
            s.v[at] = s.v[at - 1];
        s.v[at] = w;
        s.n++;
    }
    return s;
}

/* Its annotation is "ns/name" of the slice. */
bool mgr_slice_replaces(const struct sl_manager *m, const struct mgr_rec_wl *w,
                        const struct mgr_rec_wl *old) {
    const char *ns = mgr_str(m, old->rec.ns);
    size_t n = strlen(ns);
    return w->slice_of && strncmp(w->slice_of, ns, n) == 0 && w->slice_of[n] == '/' &&
           strcmp(w->slice_of + n + 1, old->rec.name) == 0;
}

/* The slice that replaces w; of several, one that holds quota. */
static struct mgr_rec_wl *successor(const struct sl_manager *m, const struct slices *s,
                                    const struct mgr_rec_wl *w) {
    struct mgr_rec_wl *found = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        struct mgr_rec_wl *x = s->v[i];
        if (!mgr_slice_replaces(m, x, w) || mgr_wl_condition_is_true(m, x, "Evicted"))
            continue;
        if (!found || (!mgr_wl_condition_is_true(m, found, "QuotaReserved") &&
                       mgr_wl_condition_is_true(m, x, "QuotaReserved")))
            found = x;
    }
    return found;
}

/* The one that holds the quota of the Job: at the end of the chain. */
static struct mgr_rec_wl *holder(const struct sl_manager *m, const struct slices *s) {
    struct mgr_rec_wl *last = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        struct mgr_rec_wl *w = s->v[i];
        if (mgr_wl_condition_is_true(m, w, "Evicted") ||
            !mgr_wl_condition_is_true(m, w, "QuotaReserved"))
            continue;
        const struct mgr_rec_wl *next = successor(m, s, w);
        if (!next || !mgr_wl_condition_is_true(m, next, "QuotaReserved"))
            last = w;
    }
    return last;
}

static struct mgr_rec_wl *newest_unevicted(const struct sl_manager *m, const struct slices *s) {
    struct mgr_rec_wl *last = NULL;
    for (uint32_t i = 0; i < s->n; i++)
        if (!mgr_wl_condition_is_true(m, s->v[i], "Evicted"))
            last = s->v[i];
    return last;
}

/* The slice that stands for the Job now, among several; NULL if all are evicted. */
static struct mgr_rec_wl *choose(const struct sl_manager *m, const struct slices *s) {
    struct mgr_rec_wl *held = holder(m, s);
    if (s->n == 1)
        return s->v[0];
    if (!held)
        return newest_unevicted(m, s);
    struct mgr_rec_wl *next = successor(m, s, held);
    return next && !mgr_wl_condition_is_true(m, next, "QuotaReserved") ? next : held;
}

struct mgr_job_slice mgr_job_slice(const struct sl_manager *m, const struct mgr_rec_job *j) {
    struct slices s = slices_of(m, j);
    struct mgr_job_slice ret = {.current = s.n && !s.crowded ? choose(m, &s) : NULL,
                                .over_limit = s.crowded};
    struct mgr_rec_wl *w = ret.current;

    if (!w)
        return ret;
    ret.foreign = w->n_podsets != 1 || strcmp(mgr_str(m, w->podsets[0].name), JOB_PODSET) != 0;
    int32_t have = w->podsets ? w->podsets[0].count : 0, want = mgr_job_count(j);
    if (ret.foreign || have == want || j->message)
        return ret;
    if (!mgr_wl_condition_is_true(m, w, "QuotaReserved") || want < have) {
        ret.resize = true;
    } else {
        ret.replaced = s.n == 1 ? w : NULL; /* else others have to go first */
        ret.grow = true;
        ret.current = NULL;
    }
    return ret;
}

void mgr_job_slices_settle(struct sl_manager *m, const struct mgr_rec_job *j) {
    struct slices s = slices_of(m, j);
    const struct mgr_rec_wl *keep = s.n > 1 ? choose(m, &s) : NULL,
                            *held = s.n > 1 ? holder(m, &s) : NULL;
    char text[256];

    for (uint32_t i = 0; s.n > 1 && i < s.n; i++) {
        struct mgr_rec_wl *w = s.v[i];
        const struct mgr_rec_wl *next = successor(m, &s, w);
        if (next && mgr_wl_condition_is_true(m, next, "Admitted")) {
            sl_fmt(text, sizeof text,
                   "Replaced to accommodate a workload (UID: %s, JobUID: %s) due to "
                   "workload slice aggregation",
                   next->rec.uid, j->rec.uid);
            mgr_wl_finish(m, w, "WorkloadSliceReplaced", text);
        } else if (w != keep && w != held &&
                   !(next && mgr_wl_condition_is_true(m, next, "QuotaReserved"))) {
            mgr_wl_finish(m, w, "OutOfSync",
                          "The workload slice is out of sync with its parent job");
        }
    }
}
