/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collection of names. Namespaces and nodes are symbols, and so are the resources of nodes
 * and pods (cluster/scheduler/names.c); their strings come from any client that can write an
 * object, so new ones never end. At the end of an iteration, when their number has doubled, every
 * record marks those that it has, and the others are dropped.
 *
 * Whoever adds a symbol to a record marks it here. Sanitised builds sweep all the time and find one
 * that was not (core/base/collection/sym.h).
 */
#include "cluster/controllers/core/names.h"

#include "cluster/controllers/background/background.h"
#include "cluster/controllers/core/pod.h"

#define MANY 500u
#define MANY_TURNS 64u

void cl_pod_hold(struct sl_syms *t, struct sl_rec *r) {
    const struct cl_pod *p = cl_pod_of(r);
    sl_sym_hold(t, p->f.node);
    sl_sym_hold(t, p->f.target);
    if (p->sched) {
        const struct sl_cluster *c = r->table->informer->spec.ctx;
        c->spec.scheduler->pod_hold(t, p);
    }
}

void cl_names_hold(void *ctx, struct sl_syms *t) {
    const struct sl_cluster *c = ctx;
    const struct cl_pod_gc *strays = &c->background->pod_gc;

    for (uint32_t i = 0; i < strays->lost.n; i++)
        sl_sym_hold(t, strays->lost.v[i].name);
    sl_sym_hold(t, strays->requested);
    c->spec.scheduler->hold(c, t);
}

void cl_names_sweep(struct sl_cluster *c) {
    /* Where one is always due, not in every turn of a large cluster. */
    if (SL_SYMS_STRICT && c->inf->recs.n > MANY && ++c->turns % MANY_TURNS)
        return;
    if (sl_syms_due(c->syms))
        sl_inf_sweep(c->inf);
    c->spec.scheduler->sweep(c);
}
