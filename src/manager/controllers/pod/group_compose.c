/* SPDX-License-Identifier: Apache-2.0 */
/* A group without a Workload: whether its pods are consistent, which are in excess, and the content
 * of the Workload. Part of the plan: without effects. */
#include "core/base/fmt.h"
#include "manager/controllers/core/lookup.h"
#include "manager/controllers/pod/group_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void wrong(struct mgr_group_ctx *c, const char *text) {
    c->p->phase = GROUP_WRONG;
    if (text != c->p->text)
        sl_fmt_short(c->p->text, sizeof c->p->text, "%s", text);
    c->p->why = c->p->text;
}

/* Do they agree? */
static bool agree(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    const struct mgr_pod_job *a = c->lead;
    if (!a->total) {
        wrong(c,
              "annotation '" GROUP_TOTAL
              "' is missing, or no number above zero: set it to the number of pods of the group");
        return false;
    }
    if (a->bad_index) {
        wrong(c, "label 'kueue.x-k8s.io/pod-group-pod-index' is no number below the total count");
        return false;
    }
    for (uint32_t i = 0; i < p->v.n; i++) {
        const struct mgr_rec_pod *x = p->v.v[i].p;
        const struct mgr_pod_job *b = x->job;
        if (x->phase == MGR_POD_FAILED || x->rec.deleting)
            continue;
        if (a->queue != b->queue)
            sl_fmt_short(p->text, sizeof p->text,
                         "pods '%s' and '%s' has different queue names: %s!=%s; give all pods of "
                         "the group the "
                         "same queue",
                         c->leader->rec.name, x->rec.name, mgr_str(c->m, a->queue),
                         mgr_str(c->m, b->queue));
        else if (a->total != b->total)
            sl_fmt_short(p->text, sizeof p->text,
                         "pods '%s' and '%s' has different '" GROUP_TOTAL
                         "' values: %d!=%d; give all pods of the group the same number",
                         c->leader->rec.name, x->rec.name, a->total, b->total);
        else
            continue;
        wrong(c, p->text);
        return false;
    }
    return true;
}

/* Has it succeeded, and is that recorded in the Workload? That is not undone. */
static bool is_written(const struct mgr_group_member *x) {
    return x->p->phase == MGR_POD_SUCCEEDED && x->p->rec.deleting && !x->late;
}

/* Without the gate, or about to be remembered, or waiting. */
static int merit(const struct mgr_group_member *x) {
    return x->may_run ? 0 : mgr_pod_gated(x->p) ? 2 : x->late;
}

/* Order in which pods are retained: with the finalizer, without the gate, older. One without the
 * finalizer was to be deleted as an excess one before, and still is if it runs by now. A pod that
 * was replaced while it was being deleted, and then succeeded, does not displace one that runs. */
static int by_merit(const void *a, const void *b) {
    const struct mgr_group_member *x = *(struct mgr_group_member *const *)a,
                                  *y = *(struct mgr_group_member *const *)b;
    if (is_written(x) != is_written(y))
        return is_written(x) ? -1 : 1;
    if (x->p->rec.finalizer != y->p->rec.finalizer)
        return x->p->rec.finalizer ? -1 : 1;
    if (merit(x) != merit(y))
        return merit(x) - merit(y);
    return mgr_group_by_age(x, y);
}

void mgr_group_remove_from(struct mgr_group_member **v, uint32_t n, int32_t keep) {
    uint32_t from = keep > 0 ? (uint32_t)keep : 0;
    if (n <= from)
        return;
    /* pointers are meant: NOLINTNEXTLINE(bugprone-sizeof-expression) */
    qsort(v, n, sizeof *v, by_merit);
    for (uint32_t i = from; i < n; i++) {
        v[i]->active = false;
        v[i]->role = GROUP_NO_ROLE;
        if (!v[i]->p->rec.deleting)
            v[i]->step = v[i]->p->rec.finalizer ? POD_DROP_FINALIZER : POD_REMOVE;
    }
}

/* A pod of each role, sorted by name; the Workload is made through the leader's record. False if
 * two pods have one role and different requests: the smaller would be charged for both. */
static bool find_roles(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    for (uint32_t i = 0; i < p->v.n; i++) {
        struct mgr_group_member *x = &p->v.v[i];
        uint32_t at = 0;
        if (!x->active ||
            (c->lead->fast && p->roles.n && p->roles.v[0]->job->role != x->p->job->role))
            continue;
        const char *name = mgr_str(c->m, x->p->job->role);
        while (at < p->roles.n && strcmp(mgr_str(c->m, p->roles.v[at]->job->role), name) < 0)
            at++;
        bool known = at < p->roles.n && p->roles.v[at]->job->role == x->p->job->role;
        if (known && strcmp(p->roles.v[at]->job->shape, x->p->job->shape) != 0)
            return false;
        bool better = known &&
                      !(p->roles.v[at]->job->draft && p->roles.v[at]->job->draft->podset) &&
                      x->p->job->draft && x->p->job->draft->podset;
        if (known && !better)
            continue;
        if (!known) {
            (void)sl_vec_push(&p->roles);
            memmove(&p->roles.v[at + 1], &p->roles.v[at],
                    (p->roles.n - 1 - at) * sizeof(struct mgr_rec_pod *));
        }
        p->roles.v[at] = x->p;
    }
    return true;
}

static struct mgr_group_member *member_of(struct mgr_group_plan *p, const struct mgr_rec_pod *x) {
    for (uint32_t i = 0; i < p->v.n; i++)
        if (p->v.v[i].p == x)
            return &p->v.v[i];
    return NULL;
}

static void compose(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    struct mgr_priority priority;
    bool drafted = true;

    if (!find_roles(c)) {
        wrong(c, "pods with the same role-hash ask for different things");
        return;
    }
    if (p->roles.n > GROUP_MAX_ROLES) {
        sl_fmt_short(p->text, sizeof p->text,
                     "pod group can't include more than 18 roles: these are %u; make pods that "
                     "ask for the same, or several groups",
                     p->roles.n);
        wrong(c, p->text);
        return;
    }
    for (int labels = 0; labels <= 1 && !c->g->single; labels++)
        if (!mgr_group_put_copied(p, labels, NULL)) {
            wrong(c, labels ? "constructing workload: pods have different label values"
                            : "constructing workload: pods have different annotation values");
            return;
        }
    p->phase = GROUP_NO_WORKLOAD;
    if (!p->roles.n)
        return;
    if (!mgr_priority_of(c->m, mgr_str(c->m, c->lead->priority_class),
                         mgr_str(c->m, c->lead->pod_class), &priority)) {
        sl_fmt_short(p->text, sizeof p->text, "%s '%s' doesn't exist: create it, or name another",
                     priority.kind, priority.name);
        wrong(c, p->text);
        return;
    }
    for (uint32_t i = 0; i < p->roles.n; i++) {
        if (p->roles.v[i]->job->draft && p->roles.v[i]->job->draft->podset)
            continue;
        member_of(p, p->roles.v[i])->step = POD_READ;
        drafted = false;
    }
    if (drafted)
        member_of(p, p->roles.v[0])->step = POD_COMPOSE;
}

void mgr_group_plan_without_workload(struct mgr_group_ctx *c) {
    struct mgr_group_plan *p = c->p;
    struct mgr_group_member **v = sl_alloc0(p->v.n + 1, sizeof(struct mgr_group_member *));
    uint32_t n = 0, alive = 0;

    p->phase = GROUP_NO_WORKLOAD;
    for (uint32_t i = 0; i < p->v.n; i++) {
        struct mgr_group_member *x = &p->v.v[i];
        alive += !mgr_pod_ended(x->p) && !x->p->rec.deleting;
        if (x->p->phase == MGR_POD_FAILED)
            mgr_group_drop_finalizer(x);
        if (x->active)
            v[n++] = x;
    }
    for (uint32_t i = 0; !alive && i < p->v.n; i++)
        if (mgr_pod_ended(p->v.v[i].p))
            mgr_group_drop_finalizer(&p->v.v[i]);
    mgr_group_stop_running(p);
    if (!alive)
        p->phase = GROUP_OVER;
    else if (!p->runs && !c->prebuilt && (c->g->single || agree(c))) {
        if (!c->lead->fast && n < (uint32_t)p->total) {
            p->phase = GROUP_SHORT;
            sl_fmt_short(p->text, sizeof p->text,
                         "'%s' group has fewer runnable pods than expected: %u of %d; create "
                         "the others, or correct annotation '" GROUP_TOTAL "'",
                         c->g->name, n, p->total);
            p->why = p->text;
        } else {
            mgr_group_remove_from(v, n, p->total);
            compose(c);
        }
    } else if (!p->runs && c->prebuilt && !c->lead->parent) {
        sl_fmt_short(p->text, sizeof p->text,
                     "prebuilt Workload '%.253s' doesn't exist, or belongs to somebody else: "
                     "create it, or name another",
                     c->lead->more->prebuilt);
        wrong(c, p->text);
    }
    sl_freep(&v);
}
