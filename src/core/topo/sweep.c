/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collection of names: of resources, flavors, topologies and levels that are not in use.
 */
#include "core/topo/state.h"

static void hold_tally(struct sl_topo *t, const struct topo_tally *v) {
    for (uint32_t i = 0; i < v->n; i++)
        sl_sym_hold(&t->syms, v->v[i].res);
}

static void hold_levels(struct sl_topo *t, const struct topo_levels *l) {
    sl_sym_hold(&t->syms, l->topology);
    for (uint32_t i = 0; i < l->n; i++)
        sl_sym_hold(&t->syms, l->v[i]);
}

static void hold_parts(struct sl_topo *t, const struct topo_hold *h) {
    for (uint32_t i = 0; i < h->n; i++) {
        hold_levels(t, &h->v[i].levels);
        for (uint32_t k = 0; k < h->v[i].n_requests; k++)
            sl_sym_hold(&t->syms, h->v[i].requests[k].res);
    }
}

bool sl_topo_sweep_due(const struct sl_topo *t) {
    return sl_syms_due(&t->syms);
}

void sl_topo_sweep(struct sl_topo *t) {
    sl_syms_begin(&t->syms);
    sl_sym_hold(&t->syms, t->pods);
    sl_sym_hold(&t->syms, t->hostname);
    for (uint32_t i = 0; i < t->nodes.n; i++) {
        hold_tally(t, &t->nodes.v[i]->has);
        hold_tally(t, &t->nodes.v[i]->others);
    }
    for (uint32_t i = 0; i < t->topologies.n; i++)
        hold_levels(t, t->topologies.v[i]);
    for (uint32_t i = 0; i < t->flavors.n; i++) {
        sl_sym_hold(&t->syms, t->flavors.v[i]->name);
        sl_sym_hold(&t->syms, t->flavors.v[i]->topology);
    }
    for (uint32_t i = 0; i < t->spots.n; i++)
        if (t->spots.v[i].refs > 0) {
            sl_sym_hold(&t->syms, t->spots.v[i].flavor);
            hold_tally(t, &t->spots.v[i].used);
        }
    for (uint32_t i = 0; i < t->holds.n; i++)
        hold_parts(t, t->holds.v[i]);
    sl_syms_sweep(&t->syms);
}
