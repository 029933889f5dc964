/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collection of names. Namespaces and nodes are symbols, and so are the resources of nodes
 * and pods; their strings come from any client that can write an object, so new ones never end. At
 * the end of an iteration, when their number has doubled, every record marks those that it has, and
 * the others are dropped.
 *
 * Whoever adds a symbol to a record marks it here. Sanitised builds sweep all the time and find one
 * that was not (core/base/collection/sym.h).
 */
#include "cluster/controllers/core/names.h"

#include "cluster/controllers/background/background.h"
#include "cluster/scheduler/scheduler.h"

#define MANY 500u
#define MANY_TURNS 64u

static void hold_schedule(struct sl_syms *t, const struct sched *s) {
    for (uint32_t i = 0; i < s->places.n; i++)
        sl_sym_hold(t, s->places.v[i].name); /* of a free one: the empty name */
    for (uint32_t i = 0; i < s->classes.n; i++)
        if (s->classes.v[i])
            sl_sym_hold(t, s->classes.v[i]->ns);
    for (uint32_t i = 0; i < s->label_groups.n; i++)
        if (s->label_groups.v[i])
            sl_sym_hold(t, s->label_groups.v[i]->ns);
}

void cl_pod_hold(struct sl_syms *t, struct sl_rec *r) {
    const struct cl_pod *p = cl_pod_of(r);
    sl_sym_hold(t, p->f.node);
    if (p->sched) {
        sl_sym_hold(t, p->sched->target);
        sl_sym_hold(t, p->sched->on);
    }
}

void cl_names_hold(void *ctx, struct sl_syms *t) {
    const struct sl_cluster *c = ctx;
    const struct cl_pod_gc *strays = &c->background->pod_gc;

    for (uint32_t i = 0; i < strays->lost.n; i++)
        sl_sym_hold(t, strays->lost.v[i].name);
    sl_sym_hold(t, strays->requested);
    hold_schedule(t, c->schedule);
}

/* Amounts in use at a place are those that classes request: the symbols of classes are held. */
static void sweep_resources(struct sl_cluster *c) {
    struct sched *s = c->schedule;
    struct sl_syms *t = &s->resources;
    uint32_t at = 0;

    sl_syms_begin(t);
    for (uint32_t i = 0; i < s->classes.n; i++)
        for (uint32_t k = 0; s->classes.v[i] && k < s->classes.v[i]->n_needs; k++)
            sl_sym_hold(t, s->classes.v[i]->needs[k].column);
    for (struct sl_rec *r; (r = sl_inf_each(c->inf, K_NODE, &at));)
        for (uint32_t k = 0; k < sched_node_of(r)->has.n; k++)
            if (sched_node_of(r)->has.v[k])
                sl_sym_hold(t, k);
    sl_syms_sweep(t);
    /* Half of what is left may be taken before the next time. */
    s->resources_due = t->n + (SCHED_MAX_RESOURCES - t->n) / 2;
}

void cl_names_sweep(struct sl_cluster *c) {
    /* Where one is always due, not in every turn of a large cluster. */
    if (SL_SYMS_STRICT && c->inf->recs.n > MANY && ++c->turns % MANY_TURNS)
        return;
    if (sl_syms_due(c->syms))
        sl_inf_sweep(c->inf);
    if (SL_SYMS_STRICT || c->schedule->resources.n >= c->schedule->resources_due)
        sweep_resources(c);
}
