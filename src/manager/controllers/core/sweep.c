/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collection of names. Namespaces, queues, reasons, roles, owners, finalizers and others
 * are symbols, and their strings come from any client that can write an object, so new ones never
 * end. At the end of an iteration, when their number has doubled, every record marks those that it
 * has, and the others are dropped.
 *
 * Code that adds a symbol to a record marks it here. Sanitised builds sweep in every iteration and
 * find one that was not (core/base/collection/sym.h).
 */
#include "manager/controllers/core/sweep.h"

#include "manager/controllers/core/kinds.h"
#include "manager/controllers/core/templates.h"
#include "manager/controllers/job/job.h"
#include "manager/controllers/metrics/state.h"
#include "manager/controllers/pod/group.h"
#include "manager/controllers/pod/pods.h"
#include "manager/controllers/provisioning/provisioning.h"
#include "manager/controllers/serving/serving.h"
#include "manager/controllers/topology/topology.h"
#include "manager/controllers/workload/workload.h"

static void hold_n(struct sl_syms *t, const sl_sym *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        sl_sym_hold(t, v[i]);
}
#define HOLD(t, ...)                                                                               \
    hold_n((t), (const sl_sym[]){__VA_ARGS__}, SL_LEN(((const sl_sym[]){__VA_ARGS__})))

/* ---- workloads ---- */

static void hold_gates(struct sl_syms *t, const struct mgr_wl_gates *g) {
    for (uint32_t i = 0; g && i < g->n; i++)
        sl_sym_hold(t, g->v[i].name);
}

static void hold_status(struct sl_syms *t, const struct mgr_wl_status *s) {
    for (uint32_t i = 0; i < s->conds.n; i++)
        HOLD(t, s->conds.v[i].type, s->conds.v[i].reason);
    for (uint32_t i = 0; i < s->checks.n; i++)
        sl_sym_hold(t, s->checks.v[i].name);
    for (uint32_t i = 0; i < s->evictions.n; i++)
        HOLD(t, s->evictions.v[i].reason, s->evictions.v[i].cause);
    hold_gates(t, s->gates);
    const struct mgr_wl_admission *a = s->admission;
    if (!a)
        return;
    sl_sym_hold(t, a->cq);
    for (uint32_t i = 0; i < a->n; i++) {
        sl_sym_hold(t, a->v[i].name);
        for (uint32_t k = 0; k < a->v[i].n; k++)
            HOLD(t, a->v[i].v[k].resource, a->v[i].v[k].flavor);
    }
}

void mgr_wl_hold_names(struct sl_syms *t, struct sl_rec *r) {
    const struct mgr_rec_wl *w = mgr_wl_of(r);
    HOLD(t, w->queue, w->class_kind, w->class_name, w->owner_kind, w->owner_group, w->owner_api,
         w->pending_queue, w->pending_class_kind, w->pending_class_name);
    for (uint32_t i = 0; i < w->n_podsets; i++)
        HOLD(t, w->podsets[i].name, w->podsets[i].group, w->podsets[i].request);
    hold_gates(t, w->gates);
    hold_status(t, &w->seen);
    if (w->desired)
        hold_status(t, &w->desired->s);
    if (w->sent)
        hold_status(t, &w->sent->s);
    sl_sym_hold(t, mgr_prov_making(w));
}

/* ---- other kinds ---- */

void mgr_job_hold_names(struct sl_syms *t, struct sl_rec *r) {
    const struct mgr_rec_job *j = mgr_job_of(r);
    HOLD(t, j->owner_api, j->owner_kind, j->queue, j->priority_class);
    for (uint32_t i = 0; j->many && i < j->many->n; i++)
        HOLD(t, j->many->v[i].name, j->many->v[i].at);
}

void mgr_serving_hold_names(struct sl_syms *t, struct sl_rec *r) {
    const struct mgr_rec_set *s = mgr_set_of(r);
    HOLD(t, s->owner_api, s->owner_kind, s->queue, s->priority_class);
}

void mgr_pod_hold_names(struct sl_syms *t, struct sl_rec *r) {
    const struct mgr_rec_pod *p = mgr_pod_of(r);
    HOLD(t, p->node, p->podset, p->selector, p->others);
    if (p->job)
        HOLD(t, p->job->queue, p->job->priority_class, p->job->pod_class, p->job->role,
             p->job->parent);
    if (p->serving)
        HOLD(t, p->serving->set, p->serving->entry, p->serving->queue);
}

void mgr_prov_hold_names(struct sl_syms *t, struct sl_rec *r) {
    const struct mgr_rec_prov *p = mgr_prov_of(r);
    sl_sym_hold(t, p->class);
    for (uint32_t i = 0; i < PROV_TYPES; i++)
        sl_sym_hold(t, p->conds[i].reason);
}

void mgr_conf_hold_names(struct sl_syms *t, struct sl_rec *r) {
    sl_sym_hold(t, mgr_conf_of(r)->refers);
}

/* ---- all of them ---- */

void mgr_manager_hold_names(void *ctx, struct sl_syms *t) {
    const struct sl_manager *m = ctx;
    for (uint32_t i = 0; i < m->pods->v.n; i++)
        if (m->pods->v.v[i])
            sl_sym_hold(t, m->pods->v.v[i]->ns);
    for (uint32_t i = 0; i < m->groups->v.n; i++)
        if (m->groups->v.v[i])
            sl_sym_hold(t, m->groups->v.v[i]->ns);
    for (uint32_t i = 0; i < m->pods->shapes.n; i++) /* which have the texts */
        for (uint32_t k = 0; m->pods->shapes.v[i] && k < m->pods->shapes.v[i]->n; k++)
            sl_sym_hold(t, sl_sym_find(t, m->pods->shapes.v[i]->v[k].resource));
    hold_n(t, m->metrics->cohorts.v, m->metrics->cohorts.n);
    hold_n(t, m->metrics->orphaned.v, m->metrics->orphaned.n);
}

/*
 * Hashes of what was last reported are made of symbols, and are valid only while the records that
 * will be compared with them hold these symbols. So a sweep waits until the work queue is empty;
 * but that may never happen. Then the hashes of queued records are cleared, so that they are
 * reported again.
 */
static void clear_reported(struct sl_manager *m) {
    const struct sl_rec_table *t = &m->inf->tables[REC_WORKLOAD]; /* others have no such hashes */
    for (uint32_t i = 0; i < t->queue.n; i++)
        mgr_wl_clear_reported(mgr_wl_of(t->queue.v[i]));
}

void mgr_sweep_symbols(struct sl_manager *m) {
    bool rest = sl_inf_settled(m->inf);
    if (rest ? sl_syms_due(m->syms) : sl_syms_overdue(m->syms)) {
        mgr_template_forget_shapes(
            m); /* found by hashes of symbols that may not be held any more */
        if (!rest)
            clear_reported(m);
        sl_inf_sweep(m->inf);
    }
    if (sl_engine_sweep_due(m->engine))
        sl_engine_sweep(m->engine);
    mgr_tas_sweep(m);
}
