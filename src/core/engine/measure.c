/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics: positions in the cohort trees and sums that no decision needs. Read-only, and nothing
 * is cached: a sum costs a walk over its parts.
 */
#include "core/engine/state.h"

static uint32_t find_node(const struct sl_engine *e, bool cohort, const char *name) {
    uint32_t n = eng_node_find(e, cohort, name);
    return n == ENG_NONE || e->structure_dirty || e->nodes.v[n].tree == ENG_NONE ? ENG_NONE : n;
}

bool sl_engine_parents(const struct sl_engine *e, bool cohort, const char *name,
                       const char **ret_parent, const char **ret_root) {
    uint32_t n = find_node(e, cohort, name);
    *ret_parent = *ret_root = "";
    if (n == ENG_NONE || e->nodes.v[n].broken)
        return false;
    if (e->nodes.v[n].parent != ENG_NONE)
        *ret_parent = eng_str(e, e->nodes.v[e->nodes.v[n].parent].name);
    while (e->nodes.v[n].parent != ENG_NONE)
        n = e->nodes.v[n].parent;
    if (e->nodes.v[n].cohort)
        *ret_root = eng_str(e, e->nodes.v[n].name);
    return true;
}

const char *sl_engine_cohort_name(const struct sl_engine *e, uint32_t *at) {
    while (!e->structure_dirty && *at < e->nodes.n) {
        const struct eng_node *n = &e->nodes.v[(*at)++];
        if (n->cohort && (n->exists || n->children.n))
            return eng_str(e, n->name);
    }
    return NULL;
}

bool sl_engine_next_flavor_resource(const struct sl_engine *e, bool cohort, const char *node,
                                    uint32_t *at, const char **ret_flavor,
                                    const char **ret_resource) {
    uint32_t n = find_node(e, cohort, node);
    const struct eng_tree *t = n == ENG_NONE ? NULL : &e->trees.v[e->nodes.v[n].tree];
    while (t && *at < t->n_fr) {
        uint32_t fr = (*at)++;
        if (!eng_cell_at(e, n, fr)->listed)
            continue;
        *ret_flavor = eng_str(e, e->frs.v[t->frs[fr]].flavor);
        *ret_resource = eng_str(e, e->frs.v[t->frs[fr]].resource);
        return true;
    }
    return false;
}

/* The local number of a pair in the node's tree, NONE if it has none there. */
static uint32_t find_pair(const struct sl_engine *e, uint32_t node, const char *flavor,
                          const char *resource) {
    sl_sym f = sl_sym_find(&e->syms, flavor), r = sl_sym_find(&e->syms, resource);
    uint32_t g = sl_map_get(&e->fr_map, (uint64_t)f << 32 | r);
    return node == ENG_NONE || g == SL_MAP_NONE
               ? ENG_NONE
               : eng_tree_fr(&e->trees.v[e->nodes.v[node].tree], g);
}

void sl_engine_limits(const struct sl_engine *e, const char *cq, const char *flavor,
                      const char *resource, sl_amount *ret_borrow, sl_amount *ret_lend) {
    uint32_t n = find_node(e, false, cq), fr = find_pair(e, n, flavor, resource);
    *ret_borrow = fr == ENG_NONE ? SL_AMOUNT_NONE : eng_cell_at(e, n, fr)->borrow;
    *ret_lend = fr == ENG_NONE ? SL_AMOUNT_NONE : eng_cell_at(e, n, fr)->lend;
}

/* A cohort's own usage is only what its members borrow. Depth is bounded: no tree is deeper than
 * SL_MAX_COHORT_DEPTH. */
static __int128 reserved_below(const struct sl_engine *e, uint32_t node, uint32_t fr) {
    const struct eng_node *n = &e->nodes.v[node];
    __int128 sum = n->cq == ENG_NONE ? 0 : eng_cell_at(e, node, fr)->usage;
    for (uint32_t i = 0; i < n->children.n; i++)
        sum += reserved_below(e, n->children.v[i], fr);
    return sum;
}

sl_amount sl_engine_cohort_reserved(const struct sl_engine *e, const char *cohort,
                                    const char *flavor, const char *resource) {
    uint32_t n = find_node(e, true, cohort), fr = find_pair(e, n, flavor, resource);
    return fr == ENG_NONE ? 0 : sl_amount_clamp(reserved_below(e, n, fr));
}

static uint32_t admitted_below(const struct sl_engine *e, uint32_t node) {
    const struct eng_node *n = &e->nodes.v[node];
    uint32_t sum = n->cq == ENG_NONE ? 0 : e->cqs.v[n->cq].n_admitted;
    for (uint32_t i = 0; i < n->children.n; i++)
        sum += admitted_below(e, n->children.v[i]);
    return sum;
}

uint32_t sl_engine_cohort_admitted(const struct sl_engine *e, const char *cohort) {
    uint32_t n = find_node(e, true, cohort);
    return n == ENG_NONE ? 0 : admitted_below(e, n);
}

bool sl_engine_share(const struct sl_engine *e, bool cohort, const char *name,
                     struct sl_engine_share_view *ret) {
    uint32_t n = find_node(e, cohort, name);
    *ret = (struct sl_engine_share_view){.lendable = 1, .weight_nano = SL_WEIGHT_ONE};
    if (n == ENG_NONE)
        return false;
    struct eng_share s = eng_share_of(e, n);
    *ret = (struct sl_engine_share_view){s.over, s.lendable, (int64_t)s.weight_nano};
    return true;
}

/* ---- what waits ---- */

/* Resource names are chosen by users, so the number of sums is bounded, and with it the time that a
 * search takes. */
struct totals {
    struct sl_engine_total *v;
    sl_sym *resources; /* of v */
    uint32_t n, max;
    bool full; /* a resource had no place */
};

static void add_shape(const struct sl_engine *e, struct totals *t, uint32_t shape, uint32_t times) {
    const struct eng_shape *s = &e->shapes.v[shape];
    for (uint32_t p = 0; p < s->n; p++) {
        for (uint32_t k = 0; k < s->podsets[p].requests.n; k++) {
            const struct eng_podset_request *q = &s->podsets[p].requests.v[k];
            uint32_t i = 0;
            while (i < t->n && t->resources[i] != q->resource)
                i++;
            if (i == t->max) {
                t->full = true;
                continue;
            }
            if (i == t->n) {
                t->resources[i] = q->resource;
                t->v[t->n++] = (struct sl_engine_total){.resource = eng_str(e, q->resource)};
            }
            sl_amount one = sl_amount_mul(q->unit, s->podsets[p].count);
            t->v[i].amount = sl_amount_add(t->v[i].amount, sl_amount_mul(one, times));
        }
    }
}

bool sl_engine_pending_requests(const struct sl_engine *e, const char *cq,
                                struct sl_engine_total *totals, uint32_t *n, uint32_t max) {
    uint32_t node = find_node(e, false, cq);
    if (node == ENG_NONE || !e->nodes.v[node].exists || max == 0)
        return true;
    struct totals t = {
        .v = totals, .n = *n, .max = max, .resources = sl_alloc0(max, sizeof *t.resources)};
    for (uint32_t i = 0; i < t.n; i++) /* SL_MAP_NONE: it is not requested */
        t.resources[i] = sl_sym_find(&e->syms, totals[i].resource);
    const struct eng_cq *q = &e->cqs.v[e->nodes.v[node].cq];
    for (uint32_t i = 0; i < q->lqs.n; i++) {
        const struct eng_lq *l = &e->lqs.v[q->lqs.v[i]];
        for (uint32_t k = 0; k < l->classes.n; k++) {
            const struct eng_class *c = &e->classes.v[l->classes.v[k]];
            add_shape(e, &t, c->shape, c->line.n);
        }
        for (uint32_t k = 0; k < l->parked.n; k++)
            add_shape(e, &t, e->wls.v[l->parked.v[k]].shape, 1);
    }
    *n = t.n;
    sl_freep(&t.resources);
    return !t.full;
}

bool sl_engine_lq_history(const struct sl_engine *e, const char *ns, const char *name,
                          uint64_t *ret_micro) {
    sl_sym s = sl_sym_find(&e->syms, ns), y = sl_sym_find(&e->syms, name);
    uint32_t i = s == SL_MAP_NONE || y == SL_MAP_NONE
                     ? SL_MAP_NONE
                     : sl_map_get(&e->lq_map, (uint64_t)s << 32 | y);
    if (i == SL_MAP_NONE || e->lqs.v[i].cq == ENG_NONE ||
        !eng_afs_orders(e, &e->cqs.v[e->lqs.v[i].cq]))
        return false;
    unsigned __int128 milli = e->lqs.v[i].afs_usage; /* with 20 fraction bits */
    *ret_micro = milli >> 74 ? UINT64_MAX : (uint64_t)((milli * 1000) >> 20);
    return true;
}

uint64_t sl_engine_evaluations(const struct sl_engine *e) {
    return e->stats.nominations;
}
