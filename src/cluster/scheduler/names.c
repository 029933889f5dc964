/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection of names, as far as the scheduler has them (cluster/controllers/core/names.c),
 * and of the resources, which are symbols of its own. */
#include "cluster/scheduler/scheduler_int.h"

void sched_pod_hold(struct sl_syms *t, const struct cl_pod *p) {
    sl_sym_hold(t, p->sched->target);
    sl_sym_hold(t, p->sched->on);
}

void sched_hold(const struct sl_cluster *c, struct sl_syms *t) {
    const struct sched *s = c->schedule;
    for (uint32_t i = 0; i < s->places.n; i++)
        sl_sym_hold(t, s->places.v[i].name); /* of a free one: the empty name */
    for (uint32_t i = 0; i < s->classes.n; i++)
        if (s->classes.v[i])
            sl_sym_hold(t, s->classes.v[i]->ns);
    for (uint32_t i = 0; i < s->label_groups.n; i++)
        if (s->label_groups.v[i])
            sl_sym_hold(t, s->label_groups.v[i]->ns);
}

/* Amounts in use at a place are those that classes request: the symbols of classes are held. */
void sched_sweep(struct sl_cluster *c) {
    struct sched *s = c->schedule;
    struct sl_syms *t = &s->resources;
    uint32_t at = 0;

    if (!SL_SYMS_STRICT && t->n < s->resources_due)
        return;
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
