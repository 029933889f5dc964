/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forgetting names. Namespaces, queues, reasons, roles, owners, finalizers and the like are
 * symbols, and their texts come from whoever may write an object: ever new ones. At the end of a
 * turn, when they have doubled, every record marks those that it has, and the others are forgotten.
 *
 * Whoever adds a symbol to a record marks it here. Sanitised builds sweep in every turn and find
 * one that was not (base/sym.h).
 */
#include "controllers/sweep.h"

#include "controllers/group.h"
#include "controllers/job.h"
#include "controllers/kinds.h"
#include "controllers/prov.h"
#include "controllers/serving.h"
#include "controllers/wl.h"
#include "topo/topo.h"

static void hold_n(struct sl_syms *t, const sl_sym *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        sl_sym_hold(t, v[i]);
}
#define HOLD(t, ...)                                                                               \
    hold_n((t), (const sl_sym[]){__VA_ARGS__}, SL_LEN(((const sl_sym[]){__VA_ARGS__})))

/* ---- workloads ---- */

static void hold_gates(struct sl_syms *t, const struct wl_gates *g) {
    for (uint32_t i = 0; g && i < g->n; i++)
        sl_sym_hold(t, g->v[i].name);
}

static void hold_status(struct sl_syms *t, const struct wl_status *s) {
    for (uint32_t i = 0; i < s->conds.n; i++)
        HOLD(t, s->conds.v[i].type, s->conds.v[i].reason);
    for (uint32_t i = 0; i < s->checks.n; i++)
        sl_sym_hold(t, s->checks.v[i].name);
    for (uint32_t i = 0; i < s->evictions.n; i++)
        HOLD(t, s->evictions.v[i].reason, s->evictions.v[i].cause);
    hold_gates(t, s->gates);
    const struct wl_admission *a = s->admission;
    if (!a)
        return;
    sl_sym_hold(t, a->cq);
    for (uint32_t i = 0; i < a->n; i++) {
        sl_sym_hold(t, a->v[i].name);
        for (uint32_t k = 0; k < a->v[i].n; k++)
            HOLD(t, a->v[i].v[k].resource, a->v[i].v[k].flavor);
    }
}

static void hold_workload(struct sl_syms *t, const struct rec_wl *w) {
    HOLD(t, w->queue, w->class_kind, w->class_name, w->owner_kind, w->owner_group, w->owner_api,
         w->wish_queue, w->wish_class_kind, w->wish_class_name);
    for (uint32_t i = 0; i < w->n_podsets; i++)
        HOLD(t, w->podsets[i].name, w->podsets[i].group, w->podsets[i].request);
    hold_gates(t, w->gates);
    hold_status(t, &w->seen);
    if (w->want)
        hold_status(t, &w->want->s);
    if (w->sent)
        hold_status(t, &w->sent->s);
    sl_sym_hold(t, prov_making(w));
}

/* ---- other kinds ---- */

static void hold_job(struct sl_syms *t, const struct rec_job *j) {
    HOLD(t, j->owner_api, j->owner_kind, j->queue, j->priority_class);
}

static void hold_set(struct sl_syms *t, const struct rec_set *s) {
    HOLD(t, s->owner_api, s->owner_kind, s->queue, s->priority_class);
}

static void hold_pod(struct sl_syms *t, const struct rec_pod *p) {
    HOLD(t, p->node, p->podset, p->selector, p->others);
    if (p->job)
        HOLD(t, p->job->queue, p->job->priority_class, p->job->pod_class, p->job->role,
             p->job->parent);
    if (p->serving)
        HOLD(t, p->serving->set, p->serving->entry, p->serving->queue);
}

static void hold_prov(struct sl_syms *t, const struct rec_prov *p) {
    sl_sym_hold(t, p->class);
    for (uint32_t i = 0; i < PROV_TYPES; i++)
        sl_sym_hold(t, p->conds[i].reason);
}

static void hold_record(struct sl_syms *t, struct rec *r) {
    HOLD(t, r->ns, r->finalizers);
    switch ((enum rec_kind)r->kind) {
    case REC_WORKLOAD:
        hold_workload(t, wl_of(r));
        return;
    case REC_JOB:
        hold_job(t, job_of(r));
        return;
    case REC_STATEFULSET:
    case REC_LWS:
        hold_set(t, set_of(r));
        return;
    case REC_POD:
        hold_pod(t, pod_of(r));
        return;
    case REC_PROV_REQUEST:
        hold_prov(t, prov_of(r));
        return;
    case REC_NODE:  /* has none */
    case REC_EVENT: /* likewise */
    case REC_KINDS:
        return;
    case REC_NAMESPACE:
    case REC_PRIORITY_CLASS:
    case REC_WORKLOAD_PRIORITY_CLASS:
    case REC_LIMIT_RANGE:
    case REC_RUNTIME_CLASS:
    case REC_TOPOLOGY:
    case REC_FLAVOR:
    case REC_CHECK:
    case REC_PROV_CONFIG:
    case REC_COHORT:
    case REC_CLUSTER_QUEUE:
    case REC_LOCAL_QUEUE:
        sl_sym_hold(t, conf_of(r)->refers);
        return;
    }
}

/* ---- all of them ---- */

static void sweep(struct sl_manager *m) {
    struct sl_syms *t = &m->syms;
    sl_syms_begin(t);
    for (uint32_t i = 0; i < m->objs.n; i++) /* those too that are gone and not yet freed */
        if (m->objs.v[i])
            hold_record(t, m->objs.v[i]);
    for (uint32_t i = 0; i < m->crews.n; i++)
        if (m->crews.v[i])
            sl_sym_hold(t, m->crews.v[i]->ns);
    for (uint32_t i = 0; i < m->groups.n; i++)
        if (m->groups.v[i])
            sl_sym_hold(t, m->groups.v[i]->ns);
    for (uint32_t i = 0; i < m->pod_shapes.n; i++) /* which have the texts */
        for (uint32_t k = 0; m->pod_shapes.v[i] && k < m->pod_shapes.v[i]->n; k++)
            sl_sym_hold(t, sl_sym_find(t, m->pod_shapes.v[i]->v[k].resource));
    hold_n(t, m->cohorts.v, m->cohorts.n);
    hold_n(t, m->orphaned.v, m->orphaned.n);
    sl_syms_sweep(t);
}

static bool rests(const struct sl_manager *m) {
    for (uint32_t k = 0; k < REC_KINDS; k++)
        if (m->tables[k].dirty.n)
            return false;
    return true;
}

/*
 * Hashes of what was told last are made of symbols, and stay true only as long as these are held by
 * what will be compared with them. So a sweep waits for a moment in which nothing is to be looked
 * at; but somebody's record may be so for ever. Then what was told of those that are is forgotten,
 * so that it is told anew.
 */
static void forget_told(struct sl_manager *m) {
    const struct table *t = &m->tables[REC_WORKLOAD]; /* the others have no such hashes */
    for (uint32_t i = 0; i < t->dirty.n; i++)
        wl_untold(wl_of(t->dirty.v[i]));
}

void names_sweep(struct sl_manager *m) {
    bool rest = rests(m);
    if (rest ? sl_syms_due(&m->syms) : sl_syms_overdue(&m->syms)) {
        template_forget_shapes(m); /* found by hashes of symbols that nobody may hold any more */
        if (!rest)
            forget_told(m);
        sweep(m);
    }
    if (sl_engine_sweep_due(m->engine))
        sl_engine_sweep(m->engine);
    if (m->topo && (sl_topo_sweep_due(m->topo)))
        sl_topo_sweep(m->topo);
}
