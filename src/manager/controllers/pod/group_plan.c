/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phase of a group of pods and the next write of each of them: a function of the records, without
 * effects. A plain pod is a group of one.
 */
#include "manager/controllers/pod/group_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/fmt.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/core/templates.h"

/* A pod that we stopped before it had a node would be gone with the finalizer. A client that polls
 * its status every second (SkyPilot does) is to see why. */
#define LINGER (3 * SL_SEC)
#define MAX_SUCCEEDED 65536u /* bytes of the annotation */

static void reconcile_by(struct mgr_group_plan *p, sl_time at) {
    if (at < p->reconcile_at)
        p->reconcile_at = at;
}

/* ---- one pod ---- */

static bool is_active(const struct mgr_rec_pod *p) {
    return p->phase != MGR_POD_FAILED && (!p->rec.deleting || p->phase == MGR_POD_SUCCEEDED);
}

/* It has lost the gate, or is about to, and is neither ended nor past the time that it was given to
 * end. */
static bool may_run(struct mgr_group_ctx *c, const struct mgr_rec_pod *p) {
    if ((mgr_pod_gated(p) && !mgr_pod_starting(p)) || mgr_pod_ended(p))
        return false;
    if (!p->rec.deleting)
        return true;
    if (!p->node || c->mono >= p->job->ends ||
        c->m->settings->gates[SL_G_FAST_QUOTA_RELEASE_IN_POD_INTEGRATION])
        return false;
    reconcile_by(c->p, sl_time_add(c->now, p->job->ends - c->mono));
    return true;
}

/* May one that is being deleted lose the finalizer? It cannot run any more. */
static bool is_free(struct mgr_group_ctx *c, const struct mgr_rec_pod *p) {
    const struct mgr_pod_job *j = p->job;
    bool seen = j->target && !p->node && !mgr_pod_gated(p);
    sl_time at = 0;
    if (j->serving || seen)
        at = sl_time_add(j->ends, LINGER);
    else if (!c->g->single && !mgr_pod_gated(p) && !mgr_pod_ended(p) && p->node)
        at = j->ends;
    if (c->mono >= at)
        return true;
    reconcile_by(c->p, sl_time_add(c->now, at - c->mono));
    return false;
}

void mgr_group_drop_finalizer(struct mgr_group_member *x) {
    if (x->p->rec.finalizer)
        x->step = POD_DROP_FINALIZER;
}

/* The reason is written to its status before it is deleted. One that is being started is read
 * first: it may still wait, and need not be stopped then. */
static void stop_pod(struct mgr_group_member *x) {
    if (x->p->rec.deleting)
        return;
    if (mgr_pod_starting(x->p))
        x->step = POD_READ;
    else
        x->step = x->p->job->target ? POD_STOP : POD_TARGET;
}

void mgr_group_stop_running(struct mgr_group_plan *p) {
    for (uint32_t i = 0; i < p->v.n; i++)
        if (p->v.v[i].may_run)
            stop_pod(&p->v.v[i]);
}

/* ---- the group ---- */

int mgr_group_by_age(const void *a, const void *b) {
    const struct mgr_rec_pod *x = ((const struct mgr_group_member *)a)->p,
                             *y = ((const struct mgr_group_member *)b)->p;
    if (x->rec.created != y->rec.created)
        return x->rec.created < y->rec.created ? -1 : 1;
    return strcmp(x->rec.name, y->rec.name);
}

/* Is it recorded in the Workload that it has succeeded? */
static bool is_remembered(const struct mgr_rec_wl *w, const struct mgr_rec_pod *p) {
    return w && w->succeeded && strstr(w->succeeded, p->rec.uid);
}

/* Pods that ended and lost the finalizer have been counted: they belong to an earlier run. One that
 * lost it before it ended has been given up, however it ended: another was made in its place. */
static bool counts(const struct mgr_group_ctx *c, const struct mgr_rec_pod *p) {
    const struct mgr_rec_wl *w = c->p->wl;
    return c->g->single || p->job->parent || p->rec.finalizer || !mgr_pod_ended(p) ||
           (w && !mgr_wl_condition_will_be_true(c->m, w, "Finished") &&
            mgr_wl_has_pod(w, p->rec.uid) && (!p->rec.deleting || is_remembered(w, p)));
}

static void collect(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    for (struct mgr_rec_pod *x = c->g->pods; x; x = x->job->next) {
        if (!counts(c, x))
            continue;
        bool runs = may_run(c, x);
        *sl_vec_push(&p->v) = (struct mgr_group_member){
            .p = x,
            .role = GROUP_NO_ROLE,
            .active = is_active(x),
            .may_run = runs,
            .late = x->phase == MGR_POD_SUCCEEDED && x->rec.deleting && !is_remembered(p->wl, x)};
        p->runs |= runs;
    }
    if (p->v.n > 1)
        qsort(p->v.v, p->v.n, sizeof *p->v.v, mgr_group_by_age);
    if (p->v.n) {
        c->leader = p->v.v[0].p;
        c->lead = c->leader->job;
        c->prebuilt = c->lead->more && c->lead->more->prebuilt;
        p->total = c->g->single ? 1 : c->lead->total;
    }
}

static bool is_ours(const struct mgr_group_ctx *c) {
    const bool *fw = c->m->spec.parts.framework;
    return (fw[SL_FW_POD] || (mgr_group_frameworks(fw) && c->lead->parent)) &&
           mgr_ns_managed(c->m, c->g->ns) &&
           (c->lead->queue || c->m->settings->manage_without_queue);
}

/* Pods that are being deleted do not wait for others. */
static void free_deleting(struct mgr_group_ctx *c) {
    const struct mgr_rec_wl *w = c->p->wl;
    bool counted =
        !w || c->g->single || c->lead->serving || mgr_wl_condition_is_true(c->m, w, "Finished");
    for (uint32_t i = 0; i < c->p->v.n; i++) {
        struct mgr_group_member *x = &c->p->v.v[i];
        if (!x->p->rec.deleting || !x->p->rec.finalizer || !is_free(c, x->p))
            continue;
        if (c->p->unowned && mgr_wl_has_pod(w, x->p->rec.uid))
            continue; /* or the Workload would be collected with the last of its owners */
        if (x->late && x->active && !counted)
            continue; /* recorded in the Workload first */
        x->step = POD_DROP_FINALIZER;
    }
}

/* Order in which ended pods are retained: with the finalizer, last active, older. */
static int by_end(const void *a, const void *b) {
    const struct mgr_group_member *x = *(struct mgr_group_member *const *)a,
                                  *y = *(struct mgr_group_member *const *)b;
    if (x->p->rec.finalizer != y->p->rec.finalizer)
        return x->p->rec.finalizer ? -1 : 1;
    if (x->p->job->active_at != y->p->job->active_at)
        return x->p->job->active_at > y->p->job->active_at ? -1 : 1;
    return mgr_group_by_age(x, y);
}

/* The active, or the others, of a role. */
static uint32_t pick(struct mgr_group_plan *p, uint32_t role, bool active,
                     struct mgr_group_member **v) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->v.n; i++)
        if (p->v.v[i].role == role && p->v.v[i].active == active)
            v[n++] = &p->v.v[i];
    return n;
}

/* ---- does a Workload fit? ---- */

bool mgr_group_fits_one(const struct sl_manager *m, const struct mgr_rec_pod *p,
                        const struct mgr_rec_wl *w) {
    const struct mgr_pod_job *j = p->job;
    int64_t max_exec = j->more && j->more->max_exec_s > 0 ? j->more->max_exec_s : 0;
    if (w->n_podsets != 1 || w->podsets[0].count != 1 || w->max_exec_s != max_exec)
        return false;
    const struct mgr_template *t = w->podsets[0].template;
    if (!j->template) /* already started: its spec is no longer the requested one */
        return true;
    return t->containers == j->containers &&
           (mgr_wl_condition_is_true(m, w, "Admitted") || t->tolerations == j->tolerations);
}

/* Of one pod: the oldest that fits, otherwise the oldest. */
static bool find_owned(struct mgr_group_ctx *c, const struct mgr_rec_pod *pod) {
    struct mgr_rec_wl *first = NULL, *match = NULL;
    uint32_t cursor = 0;
    for (struct mgr_rec_wl *w; (w = mgr_wl_owned(c->m, pod->rec.uid, &cursor));) {
        if (!first || mgr_wl_older(w, first))
            first = w;
        if (mgr_group_fits_one(c->m, pod, w) && (!match || mgr_wl_older(w, match)))
            match = w;
    }
    c->p->wl = match ? match : first;
    return match || !first;
}

/* In which podset each of them is. False: one of them is in none. */
static bool assign_roles(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    bool all = true;
    for (uint32_t i = 0; i < p->v.n; i++) {
        struct mgr_group_member *x = &p->v.v[i];
        for (uint32_t k = 0; k < p->wl->n_podsets; k++)
            if (c->g->single || p->wl->podsets[k].name == x->p->job->role)
                x->role = k;
        all &= x->role != GROUP_NO_ROLE || !x->active;
    }
    return all;
}

static bool fits(struct mgr_group_ctx *c) {
    const struct mgr_rec_wl *w = c->p->wl;
    int64_t max_exec =
        c->lead->more && c->lead->more->max_exec_s > 0 ? c->lead->more->max_exec_s : 0;
    bool roles = assign_roles(c);
    if (c->g->single)
        return mgr_group_fits_one(c->m, c->leader, w);
    return roles && w->max_exec_s == max_exec;
}

/* ---- with its Workload ---- */

/* Those that succeeded and are gone, as the Workload remembers them: `uid:role uid:role`. */
static void add_departed(struct mgr_group_ctx *c, int32_t *active) {
    const struct mgr_rec_wl *w = c->p->wl;
    char uid[64], role[64];
    for (const char *s = w->succeeded; s && *s;) {
        size_t len = strcspn(s, " "), head = strcspn(s, ": ");
        if (head < len && head < sizeof uid && len - head - 1 < sizeof role) {
            memcpy(uid, s, head);
            memcpy(role, s + head + 1, len - head - 1);
            uid[head] = role[len - head - 1] = '\0';
            const struct sl_rec *there = mgr_rec_by_uid(c->m, uid);
            for (uint32_t k = 0; !there && k < w->n_podsets; k++)
                if (strcmp(mgr_str(c->m, w->podsets[k].name), role) == 0) {
                    active[k]++;
                    c->p->reclaim[k]++;
                    c->p->succeeded++;
                    c->p->ready++;
                }
        }
        s += len + (s[len] == ' ');
    }
}

/* Pods that have succeeded and are being deleted are recorded in the Workload. */
static void remember(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    const struct mgr_rec_wl *w = p->wl;
    if (c->g->single || c->lead->serving)
        return;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(MAX_SUCCEEDED);
    sl_buf_puts(&b, w->succeeded ? w->succeeded : "");
    size_t before = b.len;
    for (uint32_t i = 0; i < p->v.n; i++) {
        const struct mgr_rec_pod *x = p->v.v[i].p;
        if (p->v.v[i].late && p->v.v[i].active && x->rec.finalizer)
            sl_buf_printf(&b, "%s%s:%s", b.len ? " " : "", x->rec.uid, mgr_str(c->m, x->job->role));
    }
    if (b.len > before && !sl_buf_full(&b))
        p->succeeded_text = sl_strdup(sl_buf_str(&b));
}

static int32_t granted(const struct mgr_rec_wl *w, uint32_t podset) {
    const struct mgr_wl_admission *a = w->seen.admission;
    bool only = a && a->n == 1 && w->n_podsets == 1; /* whatever it is called */
    for (uint32_t i = 0; a && i < a->n; i++)
        if (only || a->v[i].name == w->podsets[podset].name)
            return a->v[i].count < w->podsets[podset].count ? a->v[i].count
                                                            : w->podsets[podset].count;
    return 0;
}

/* Removes excess pods, drops the finalizer of replaced ones, and counts how many are missing. */
static void settle_roles(struct mgr_group_ctx *c, bool evicted) {
    struct mgr_group_plan *p = c->p;
    const struct mgr_rec_wl *w = p->wl;
    struct mgr_group_member **v = sl_alloc0(p->v.n + 1, sizeof(struct mgr_group_member *));
    int32_t departed[SL_MAX_PODSETS] = {0};

    add_departed(c, departed);
    for (uint32_t k = 0; k < w->n_podsets && !c->g->single; k++) {
        int32_t count = w->podsets[k].count;
        uint32_t n = pick(p, k, true, v);
        if (!c->prebuilt)
            mgr_group_remove_from(v, n, count - departed[k]);
        int32_t active = departed[k];
        for (uint32_t i = 0; i < n; i++) /* those that we are about to stop are none any more */
            active += v[i]->active && !(evicted && v[i]->may_run);
        n = pick(p, k, false, v);
        int32_t wait = count > active ? count - active : 0;
        if (c->lead->fast)
            wait = count > 0 && active == 0;
        /* pointers are meant: NOLINTNEXTLINE(bugprone-sizeof-expression) */
        qsort(v, n, sizeof *v, by_end);
        for (uint32_t i = (uint32_t)(count > active ? count - active : 0); i < n; i++)
            if (!v[i]->p->rec.deleting)
                mgr_group_drop_finalizer(v[i]);
        if (!c->prebuilt)
            p->missing += wait;
    }
    sl_freep(&v);
}

static void tally(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    for (uint32_t i = 0; i < p->v.n; i++) {
        const struct mgr_group_member *x = &p->v.v[i];
        bool succeeded = x->p->phase == MGR_POD_SUCCEEDED && x->active;
        p->succeeded += succeeded;
        p->ready += x->active && (succeeded ? !c->g->single : x->p->job->ready);
        if (succeeded && x->role != GROUP_NO_ROLE)
            p->reclaim[x->role]++;
        p->unowned += !c->g->single && !mgr_wl_has_pod(p->wl, x->p->rec.uid);
    }
}

static bool is_finished(const struct mgr_group_ctx *c) {
    const struct mgr_group_plan *p = c->p;
    bool unretriable = false, over = p->v.n > 0, live = false;
    if (c->g->single)
        return mgr_pod_ended(c->leader);
    if (c->lead->serving)
        return false;
    for (uint32_t i = 0; i < p->v.n; i++) {
        const struct mgr_group_member *x = &p->v.v[i];
        unretriable |= x->p->job->unretriable;
        over &= !x->may_run && (mgr_pod_ended(x->p) || x->p->rec.deleting);
        live |= !mgr_pod_ended(x->p) &&
                !x->p->rec.deleting; /* an excess pod that is about to be deleted */
    }
    return (p->total > 0 && p->succeeded >= p->total && !live) || (unretriable && over);
}

/* As many as were granted, less those that run, also those that are terminating. The Workload stays
 * while one of its owners does: a pod that does not own it yet waits for that. */
static void start_pods(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    int32_t room[SL_MAX_PODSETS];
    for (uint32_t k = 0; k < p->wl->n_podsets; k++) {
        /* what those that succeeded had is given back */
        int32_t left = p->wl->podsets[k].count - (c->lead->serving ? 0 : p->reclaim[k]);
        room[k] = granted(p->wl, k) < left ? granted(p->wl, k) : left;
    }
    for (uint32_t i = 0; i < p->v.n; i++)
        if (p->v.v[i].may_run && p->v.v[i].role != GROUP_NO_ROLE)
            room[p->v.v[i].role]--;
    for (uint32_t i = 0; i < p->v.n; i++) {
        struct mgr_group_member *x = &p->v.v[i];
        bool owns = c->g->single || c->prebuilt || mgr_wl_has_pod(p->wl, x->p->rec.uid);
        if (mgr_pod_gated(x->p) && x->active && !mgr_pod_ended(x->p) && x->role != GROUP_NO_ROLE &&
            owns && x->step == POD_REST && (x->may_run || room[x->role]-- > 0))
            x->step = POD_START;
    }
}

/* A stop that was begun is ended, whatever has become of its cause. */
static void end_stops(struct mgr_group_plan *p) {
    for (uint32_t i = 0; i < p->v.n; i++) {
        struct mgr_group_member *x = &p->v.v[i];
        if (x->p->job->target && !x->p->rec.deleting && x->may_run && !mgr_pod_starting(x->p))
            x->step = POD_STOP;
    }
}

static void plan_matched(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    const struct mgr_rec_wl *w = p->wl;
    const struct mgr_cond *evicted = mgr_wl_cond(c->m, w, "Evicted");
    bool out = evicted && evicted->status == COND_TRUE,
         admitted = mgr_wl_condition_is_true(c->m, w, "Admitted");

    settle_roles(c, out);
    remember(c);
    tally(c);
    p->phase = is_finished(c) ? GROUP_FINISHED
               : out          ? GROUP_EVICTED
               : admitted     ? GROUP_RUNNING
                              : GROUP_WAITING;
    if (p->phase == GROUP_FINISHED)
        return;
    if (admitted && !out)
        start_pods(c);
    else
        mgr_group_stop_running(p);
    end_stops(p);
}

/* All of its pods go with it, but not those that came after. */
static void plan_deleting(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    p->phase = GROUP_WL_DELETING;
    for (uint32_t i = 0; i < p->v.n; i++) {
        struct mgr_group_member *x = &p->v.v[i];
        if (!c->g->single && p->wl->pods.n && !mgr_wl_has_pod(p->wl, x->p->rec.uid) && !x->may_run)
            continue;
        if (x->p->rec.deleting)
            mgr_group_drop_finalizer(x);
        else
            stop_pod(x);
    }
}

/* Is there a pod that was not part of what has finished? */
static bool has_new(const struct mgr_group_ctx *c) {
    for (uint32_t i = 0; i < c->p->v.n; i++) {
        const struct mgr_rec_pod *x = c->p->v.v[i].p;
        if (!mgr_pod_ended(x) && !x->rec.deleting && !mgr_wl_has_pod(c->p->wl, x->rec.uid))
            return true;
    }
    return false;
}

static void plan_finished(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    bool known = mgr_wl_condition_is_true(c->m, p->wl, "Finished");
    bool stale = known && !c->g->single && !c->prebuilt && has_new(c);
    p->phase = stale ? GROUP_UNMATCHED : GROUP_WL_FINISHED;
    const struct mgr_cond *finished = mgr_wl_cond(c->m, p->wl, "Finished");
    bool done = known && strcmp(mgr_str(c->m, finished->reason), "Succeeded") == 0;
    for (uint32_t i = 0; known && i < p->v.n; i++) {
        struct mgr_group_member *x = &p->v.v[i];
        bool old = mgr_wl_has_pod(p->wl, x->p->rec.uid);
        if (done && old && !c->g->single && mgr_pod_gated(x->p) && !x->p->rec.deleting &&
            !mgr_pod_ended(x->p))
            x->step = POD_REMOVE; /* made in place of one that succeeded after all */
        else if (!stale || mgr_pod_ended(x->p) || old)
            mgr_group_drop_finalizer(x);
    }
}

static void plan_unmatched(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    bool one = c->g->single && mgr_pod_gated(c->leader) &&
               !mgr_wl_condition_is_true(c->m, p->wl, "QuotaReserved");
    p->phase = c->prebuilt ? GROUP_OUT_OF_SYNC : GROUP_UNMATCHED;
    mgr_group_stop_running(p);
    if (one && !c->prebuilt && !(c->lead->draft && c->lead->draft->podset))
        p->v.v[0].step = POD_READ; /* it is rewritten */
}

/* ---- the whole ---- */

/* A Workload with another controller is not ours, whatever its name. */
static bool is_taken(const struct mgr_group_ctx *c, const struct mgr_rec_wl *w) {
    return w->owner_uid && !(c->g->single && strcmp(w->owner_uid, c->g->pods->rec.uid) == 0);
}

/* False: the one there is does not fit a plain pod. */
static bool find_workload(struct mgr_group_ctx *c) {
    const struct mgr_pod_group *g = c->g;
    const struct mgr_pod_more *more = g->pods->job->more;
    const char *name = g->single && more && more->prebuilt ? more->prebuilt : g->name;
    if (*name)
        c->p->wl = mgr_wl_find(c->m, mgr_str(c->m, g->ns), name);
    else
        return find_owned(c, g->pods);
    return true;
}

/* After its quota, if that is to be given back. */
static bool has_left(const struct mgr_group_ctx *c) {
    const struct mgr_rec_wl *w = c->p->wl;
    return c->g->single && c->leader->rec.deleting && !mgr_pod_ended(c->leader) && !c->p->runs &&
           !(mgr_wl_condition_is_true(c->m, w, "Evicted") &&
             mgr_wl_condition_is_true(c->m, w, "QuotaReserved"));
}

static void plan_all(struct mgr_group_ctx *c, bool fitting, bool taken) {
    struct mgr_group_plan *p = c->p;
    const struct mgr_rec_wl *w = p->wl;
    if (taken && !c->prebuilt) {
        p->phase = GROUP_NAME_TAKEN;
        sl_fmt(p->text, sizeof p->text,
               "Workload '%s' belongs to somebody else: rename the group, or delete it",
               c->g->name);
        p->why = p->text;
    } else if (taken || !w) {
        mgr_group_plan_without_workload(c);
    } else if (mgr_wl_condition_will_be_true(c->m, w, "Finished")) {
        plan_finished(c);
    } else if (w->rec.deleting) {
        plan_deleting(c);
    } else if (has_left(c)) {
        p->phase = GROUP_LEFT;
    } else if (!fits(c) || !fitting) {
        plan_unmatched(c);
    } else {
        plan_matched(c);
    }
}

void mgr_group_plan(const struct sl_manager *m, struct mgr_pod_group *g,
                    struct mgr_group_plan *ret) {
    struct mgr_group_ctx c = {
        .m = m, .g = g, .p = ret, .now = m->spec.client->wall, .mono = m->spec.client->mono};
    memset(ret, 0, sizeof *ret);
    ret->reconcile_at = SL_TIME_NEVER;
    bool fitting = find_workload(&c), taken = ret->wl && is_taken(&c, ret->wl);
    collect(&c);
    if (!ret->v.n) { /* all have been let go: so may be what they belonged to */
        if (taken)
            ret->wl = NULL;
        if (ret->wl && mgr_wl_condition_is_true(m, ret->wl, "Finished"))
            ret->phase = GROUP_WL_FINISHED;
        return;
    }
    if (is_ours(&c))
        plan_all(&c, fitting, taken);
    if (taken)
        ret->wl = NULL;
    free_deleting(&c);
}

const char *mgr_group_stop_reason(const struct sl_manager *m, const struct mgr_pod_group *g,
                                  struct sl_buf *reason) {
    const struct sl_rec *r = g->wl == SL_MAP_NONE ? NULL : m->inf->recs.v[g->wl];
    const bool known = r && !r->gone && r->kind == REC_WORKLOAD; /* the id may be another's now */
    const struct mgr_cond *evicted =
        known ? mgr_wl_cond(m, SL_CONTAINER_OF(r, const struct mgr_rec_wl, rec), "Evicted") : NULL;
    const struct mgr_pod_more *more = g->pods->job->more;
    switch ((enum mgr_group_phase)g->phase) {
    case GROUP_EVICTED:
        sl_buf_printf(reason, "WorkloadEvictedDueTo%s", evicted ? mgr_str(m, evicted->reason) : "");
        return evicted ? evicted->message : "";
    case GROUP_WL_DELETING:
        sl_buf_puts(reason, "WorkloadDeleted");
        return "Workload is deleted";
    case GROUP_WAITING:
    case GROUP_RUNNING:
        sl_buf_puts(reason, "NotAdmitted");
        return "Not admitted by cluster queue";
    default:
        sl_buf_puts(reason, "NoMatchingWorkload");
        if (more && more->prebuilt)
            return "missing workload";
        return r ? "No matching Workload; restoring pod templates according to existent Workload"
                 : "Missing Workload; unable to restore pod templates";
    }
}

void mgr_group_plan_done(struct mgr_group_plan *p) {
    sl_vec_free(&p->v);
    sl_vec_free(&p->roles);
    sl_freep(&p->succeeded_text);
}
