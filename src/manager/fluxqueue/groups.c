/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: plain pods that are one job (manager/admission/flux/group.h). A group is no object of the
 * API. Its record is made with its first member and goes with the last one; what it says is what
 * its members say, together:
 *
 *   - It waits until as many are there as each of them says, and starts as a whole.
 *   - One that has ended gives back its part; one that was deleted may come again, to its place.
 *   - It is over when all that are there have ended, and is cancelled when none is left.
 *   - Those beyond its size, and those that come with other requests than the places that are free,
 *     are left out, and an event says so.
 *
 * Its FluxJob has no owner, since members come and go: it is deleted here, when the group was
 * cancelled, or when those of its members that have ended are gone. One that somebody else made is
 * left to them. Ours have the finalizer.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "manager/admission/flux/group.h"
#include "manager/fluxqueue/fq_int.h"

#define CREATE_PAUSE (2 * SL_SEC) /* until it is looked at whether a FluxJob was made */
#define MAX_TOLD 256u             /* members that get an event at once */

/* ---- members ---- */

static void leave(struct sl_fluxqueue *q, struct fq_pod *p) {
    struct fq_group *g = TAKE_PTR(p->group);
    struct fq_job *j = fq_job_for(q, &g->obj.rec);
    if (p->group_prev)
        p->group_prev->group_next = p->group_next;
    else
        g->first = p->group_next;
    if (p->group_next)
        p->group_next->group_prev = p->group_prev;
    p->group_prev = p->group_next = NULL;
    p->excess = p->stranger = false;
    if (p->target && !p->node)
        fq_pod_target(q, p, 0);
    sl_rec_enqueue(&g->obj.rec);
    if (j)
        sl_rec_enqueue(&j->rec);
    if (--g->n == 0)
        sl_rec_forget(&g->obj.rec);
}

static void join(struct fq_pod *p, struct fq_group *g) {
    p->group = g;
    p->group_next = g->first;
    if (g->first)
        g->first->group_prev = p;
    g->first = p;
    g->n++;
    sl_rec_enqueue(&g->obj.rec);
}

static void forget_jobspec(struct fq_pod *p) {
    fq_set_text(&p->jobspec, NULL);
    fq_set_text(&p->refused, NULL);
}

void fq_group_leave(struct sl_fluxqueue *q, struct fq_pod *p) {
    if (p->asked)
        fq_usage_unref(q, TAKE_PTR(p->asked));
    if (p->group)
        leave(q, p);
}

static void refuse(struct fq_pod *p, const struct sl_flux_group *g) {
    char text[FQ_MAX_MESSAGE];
    sl_fmt_short(text, sizeof text, "metadata.%s[%s]: %s", g->map, g->key, g->why);
    fq_set_text(&p->jobspec, NULL);
    fq_set_text(&p->refused, text);
    p->misgrouped = true;
}

void fq_group_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o) {
    struct sl_flux_group g = {0};
    struct sl_rec *r = NULL;
    bool is_member = p->ours && !p->part && sl_flux_group_read(o, &g);
    if (is_member && !g.why) {
        r = sl_inf_find_sym(q->inf, FQ_GROUP, p->rec.ns, g.name);
        if (!r)
            r = sl_inf_add(q->inf, FQ_GROUP, sl_rec_ns(&p->rec), g.name);
    }
    bool moved = p->group != (r ? fq_group_of(r) : NULL);
    if (moved || p->misgrouped || (r && p->group_size != g.size))
        forget_jobspec(p);
    p->misgrouped = false;
    if (moved) {
        fq_group_leave(q, p);
        if (r)
            join(p, fq_group_of(r));
    }
    p->group_size = g.size;
    if (is_member && g.why)
        refuse(p, &g);
    if (!r)
        return;
    if (!p->asked)
        p->asked = fq_usage_get(q, sl_json_get(o, "spec"));
    p->raw = sl_json_annotation_opt(o, SL_FLUX_JOBSPEC) != NULL;
    sl_rec_enqueue(r);
}

void fq_group_left(struct sl_fluxqueue *q, const struct fq_pod *p) {
    char name[SL_REC_NAME];
    struct sl_rec *own = p->group ? sl_inf_find_sym(q->inf, FQ_FLUXJOB, p->rec.ns,
                                                    fq_job_name(SL_FLUX_POD, p->rec.name, name))
                                  : NULL;
    if (own)
        sl_rec_enqueue(own);
}

/* ---- what they say together ---- */

struct members {
    SL_VEC(struct fq_pod *) v; /* by age */
};

static int by_age(const void *a, const void *b) {
    const struct fq_pod *x = *(struct fq_pod *const *)a, *y = *(struct fq_pod *const *)b;
    if (x->rec.created != y->rec.created)
        return x->rec.created < y->rec.created ? -1 : 1;
    return strcmp(x->rec.name, y->rec.name);
}

static void collect(const struct fq_group *g, struct members *m) {
    for (struct fq_pod *p = g->first; p; p = p->group_next)
        *sl_vec_push(&m->v) = p;
    if (m->v.n)
        qsort(m->v.v, m->v.n, sizeof *m->v.v, by_age);
}

static void tell(struct fq_pod *p, const char *reason, const char *text) {
    sl_rec_event(&p->rec, FQ_CONTROLLER, true, reason, "%s", text);
}

/* Those that have a place, or are on their way, are never too many; of the others the youngest. */
static void find_excess(const struct sl_fluxqueue *q, struct fq_group *g, const struct members *m) {
    uint32_t free = g->size > g->ended ? g->size - g->ended : 0;
    char text[FQ_MAX_MESSAGE];
    for (uint32_t i = 0; i < m->v.n; i++)
        if (!m->v.v[i]->ended && (m->v.v[i]->node || m->v.v[i]->target))
            free -= free > 0;
    for (uint32_t i = 0; i < m->v.n; i++) {
        struct fq_pod *p = m->v.v[i];
        bool was = p->excess;
        if (p->ended || p->node || p->target) {
            p->excess = false;
            continue;
        }
        p->excess = free == 0;
        free -= free > 0;
        if (p->excess && !was && q->leads) {
            sl_fmt_short(text, sizeof text, "The group %s has its %u pods without this one",
                         g->obj.rec.name, g->size);
            tell(p, "GroupIsFull", text);
        }
    }
}

/* False: they do not agree; the text says why. */
static bool agree(const struct fq_group *g, const struct members *m, char text[FQ_MAX_MESSAGE]) {
    const struct fq_pod *first = m->v.v[0];
    for (uint32_t i = 0; i < m->v.n; i++) {
        const struct fq_pod *p = m->v.v[i];
        if (p->ended || p->node || p->excess)
            continue;
        if (p->group_size != first->group_size) {
            sl_fmt_short(text, FQ_MAX_MESSAGE,
                         "Pods of the group %s disagree about its size: %u according to %s, %u "
                         "according to %s",
                         g->obj.rec.name, first->group_size, first->rec.name, p->group_size,
                         p->rec.name);
            return false;
        }
        if (p->refused) {
            sl_fmt_short(text, FQ_MAX_MESSAGE, "%s: %s", p->rec.name, p->refused);
            return false;
        }
    }
    return true;
}

/* Ready ones are those that only wait for the others. */
static bool write_jobspec(struct fq_group *g, const struct members *m, char text[FQ_MAX_MESSAGE]) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(FQ_MAX_JOBSPEC);
    struct fq_jobspec_member *v = sl_alloc0(m->v.n + 1, sizeof *v);
    struct sl_err err = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->v.n; i++) {
        const struct fq_pod *p = m->v.v[i];
        if (p->jobspec && !p->ended && !p->node && !p->excess && !p->rec.deleting)
            v[n++] = (struct fq_jobspec_member){p->rec.name, p->jobspec, &p->parts};
    }
    g->complete = n == g->size && n > 0;
    g->ready = n;
    if (n > 0 && !g->complete) /* as if the others were like this one */
        sl_buf_puts(&b, v[0].text);
    int r = g->complete ? fq_jobspec_join(g->obj.rec.name, v, n, &b, &err) : 0;
    if (r < 0)
        sl_fmt_short(text, FQ_MAX_MESSAGE, "%s", err.text);
    fq_set_text(&g->obj.jobspec, r >= 0 && b.len && !sl_buf_full(&b) ? sl_buf_str(&b)
                                 : n > 0                             ? v[0].text
                                                                     : NULL);
    sl_freep(&v);
    return r >= 0;
}

static void count(struct fq_group *g, const struct members *m) {
    g->size = m->v.v[0]->group_size;
    g->ended = 0;
    g->raw = g->obj.failed = false;
    g->obj.priority = m->v.v[0]->priority;
    for (uint32_t i = 0; i < m->v.n; i++) {
        const struct fq_pod *p = m->v.v[i];
        g->ended += p->ended;
        g->obj.failed |= p->failed;
        g->raw |= p->raw;
        if (p->priority > g->obj.priority)
            g->obj.priority = p->priority;
    }
    g->obj.finished = g->ended == m->v.n;
    g->obj.pods = g->obj.finished || g->ended >= g->size ? 0 : g->size - g->ended;
}

/* Why it cannot start is said to all that wait. */
static void set_refused(const struct sl_fluxqueue *q, struct fq_group *g, const struct members *m,
                        const char *text) {
    bool is_new = text && (!g->obj.refused || strcmp(g->obj.refused, text) != 0);
    fq_set_text(&g->obj.refused, text);
    for (uint32_t i = 0; i < m->v.n && i < MAX_TOLD && is_new && q->leads; i++)
        if (!m->v.v[i]->ended && !m->v.v[i]->node)
            tell(m->v.v[i], "InvalidGroup", text);
}

static void update(struct sl_fluxqueue *q, struct fq_group *g) {
    const struct fq_job *j = fq_job_for(q, &g->obj.rec);
    struct members m = {0};
    char text[FQ_MAX_MESSAGE] = "";
    collect(g, &m);
    count(g, &m);
    find_excess(q, g, &m);
    g->complete = false;
    if (j && j->held)
        set_refused(q, g, &m, NULL);
    else {
        bool good = agree(g, &m, text);
        good = write_jobspec(g, &m, text) && good;
        set_refused(q, g, &m, good ? NULL : text);
    }
    sl_vec_free(&m.v);
}

/* ---- its FluxJob ---- */

/* By one of its members; the body is the group's (objects.c). */
static void make_job(const struct fq_group *g, const char *name) {
    struct fq_pod *of = NULL;
    for (struct fq_pod *p = g->first; p; p = p->group_next)
        if (!p->rec.deleting && !p->ended && (!of || by_age(&p, &of) < 0))
            of = p;
    if (of)
        (void)sl_rec_plan_create(&of->rec, FQ_FLUXJOB, name);
}

void fq_group_reconcile(void *ctx, struct sl_rec *r) {
    struct sl_fluxqueue *q = ctx;
    struct fq_group *g = fq_group_of(r);
    char name[SL_REC_NAME];
    update(q, g);
    struct sl_rec *flux =
        sl_inf_find_sym(q->inf, FQ_FLUXJOB, r->ns, fq_job_name(SL_FLUX_POD_GROUP, r->name, name));
    if (flux && !flux->create_planned) {
        sl_rec_reconcile_at(r, 0);
        sl_rec_enqueue(flux);
        return;
    }
    if (!q->leads || g->obj.finished || !g->obj.jobspec)
        return;
    /* The member that it is made by may go before: then it is made by another one. */
    sl_rec_reconcile_at(r, sl_time_add(q->client->wall, CREATE_PAUSE));
    if (!flux)
        make_job(g, name);
}

void fq_group_free(struct sl_rec *r) {
    sl_freep(&fq_group_of(r)->obj.jobspec);
    sl_freep(&fq_group_of(r)->obj.refused);
}

bool fq_group_waits(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o) {
    struct fq_group *g = fq_group_of(o);
    if (g->complete && !g->obj.refused)
        return false;
    fq_graph_release(q, j);
    j->queued_hash = j->rejected = 0;
    fq_drop_estimate(j);
    if (j->expected != g->size || j->position) {
        j->expected = g->size;
        j->position = 0;
        fq_job_touch(j);
    }
    if (g->obj.refused)
        fq_job_set_state(j, FQ_REJECTED, "InvalidGroup", "%s", g->obj.refused);
    else
        fq_job_set_state(j, FQ_PENDING, "WaitingForMembers", "%u of %u pods are there", g->ready,
                         g->size);
    return true;
}

bool fq_group_over(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o) {
    bool terminal = fq_job_is_over(j), there = o && !o->gone;
    if (!j->rec.finalizer || j->rec.deleting) {
        if (!there && (j->held || j->queued))
            fq_graph_release(q, j);
        return false;
    }
    if (there && !(terminal && fq_group_of(o)->ended == 0)) {
        for (struct fq_pod *p = fq_group_of(o)->first; p && terminal; p = p->group_next)
            if (!p->ended && !p->node)
                tell(p, "GroupHasEnded",
                     "Its group has ended, and starts again when the pods that have ended are "
                     "deleted");
        return false;
    }
    if (!terminal)
        fq_job_finish(q, j, FQ_CANCELLED, "ObjectDeleted", "All of its pods have been deleted");
    sl_rec_plan_delete(&j->rec);
    return true;
}

void fq_group_mark(const struct fq_job *j, struct sl_rec *o) {
    for (struct fq_pod *p = fq_group_of(o)->first; p; p = p->group_next)
        if (!p->ended && p->never != (j->state == FQ_REJECTED))
            sl_rec_write(&p->rec);
}

/* ---- places ---- */

bool fq_group_leaves_out(const struct sl_fluxqueue *q, const struct fq_job *j, struct fq_pod *p) {
    bool was = p->stranger;
    if (j->type != SL_FLUX_POD_GROUP || !p->group) {
        p->kind = FQ_ANY_KIND;
        return false;
    }
    bool known = j->n_slot || j->n_kinds; /* not yet, if there was no graph since the start */
    bool suits =
        fq_kind_find(q, j, p->asked, &p->kind) || !known || p->group->raw || !j->rec.finalizer;
    p->stranger = !suits && !p->node;
    if (p->stranger && !was)
        tell(p, "NotOfTheGroup",
             "What it requests is not what the group that it belongs to has places for");
    return p->excess || p->stranger;
}
