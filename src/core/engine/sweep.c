/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collection of names. A deleted queue, cohort, flavor, check or namespace leaves its
 * entry, since others may still refer to it. Here entries without references lose their names,
 * their slots are reused, and symbols that are not in use are dropped.
 *
 * The owner of the engine calls this between two cycles; without it nothing is ever dropped.
 * Whether an entry is new or reused makes no difference to any decision.
 */
#include "core/engine/state.h"

struct marks {
    uint8_t *fr;   /* of e->frs: the pair is in use */
    uint8_t *cq;   /* of e->cqs: a workload holds quota of it, or waits in it */
    uint8_t *node; /* of e->nodes: it is there, or the parent of one that is */
};

/* ---- what is in use ---- */

static void mark_admission(struct marks *m, const struct eng_admission *a) {
    if (!a)
        return;
    m->cq[a->cq] = 1;
    for (uint32_t i = 0; i < a->n_assigned; i++)
        m->fr[a->assigned[i].fr] = 1;
    for (uint32_t i = 0; i < a->n_uses; i++)
        m->fr[a->uses[i].fr] = 1;
}

static void mark_tallies(struct marks *m, const struct eng_tallies *t) {
    for (uint32_t i = 0; i < t->n; i++) {
        m->cq[t->v[i].cq] = 1;
        if (t->v[i].fr != ENG_NONE)
            m->fr[t->v[i].fr] = 1;
    }
}

static void mark_all(const struct sl_engine *e, struct marks *m) {
    for (uint32_t i = 0; i < e->trees.n; i++)
        for (uint32_t k = 0; k < e->trees.v[i].n_fr; k++)
            m->fr[e->trees.v[i].frs[k]] = 1;
    for (uint32_t i = 0; i < e->extra_frs.n; i++) {
        m->fr[e->extra_frs.v[i].fr] = 1;
        m->cq[e->extra_frs.v[i].cq] = 1;
    }
    for (uint32_t i = 0; i < e->wls.n; i++) {
        if (e->wls.v[i].phase == WL_FREE)
            continue;
        mark_admission(m, e->wls.v[i].admission);
        if (e->wls.v[i].extra)
            mark_admission(m, e->wls.v[i].extra->handed.admission);
    }
    for (uint32_t i = 0; i < e->classes.n; i++)
        if (e->classes.v[i].used)
            mark_admission(m, e->classes.v[i].last);
    for (uint32_t i = 0; i < e->lqs.n; i++) {
        mark_tallies(m, &e->lqs.v[i].held);
        if (e->lqs.v[i].cq != ENG_NONE)
            m->cq[e->lqs.v[i].cq] = 1;
    }
    for (uint32_t i = 0; i < e->cqs.n; i++) {
        const struct eng_cq *q = &e->cqs.v[i];
        mark_tallies(m, &q->held);
        m->cq[i] |=
            q->exists || q->reserved.n || q->lqs.n || q->asleep.n || !sl_heap_empty(&q->heap);
    }
    for (uint32_t i = 0; i < e->nodes.n; i++) {
        const struct eng_node *n = &e->nodes.v[i];
        m->node[i] |= n->exists || (n->cq != ENG_NONE && m->cq[n->cq]);
        uint32_t p = n->exists && n->parent_name
                         ? eng_node_find(e, true, eng_str(e, n->parent_name))
                         : ENG_NONE;
        if (p != ENG_NONE)
            m->node[p] = 1;
    }
}

/* ---- places for others ---- */

/* As one that is no more, but without a name; it keeps its place in the trees, where it counts for
 * nothing. */
static void give_back_nodes(struct sl_engine *e, const struct marks *m) {
    for (uint32_t i = 0; i < e->nodes.n; i++) {
        struct eng_node *n = &e->nodes.v[i];
        if (m->node[i] || !n->name)
            continue;
        eng_node_release_name(e, i);
        if (n->cq != ENG_NONE)
            eng_cq_reset(e, n->cq);
        if (n->cohort)
            *sl_vec_push(&e->free_cohorts) = i;
        else
            *sl_vec_push(&e->free_queues) = i;
    }
}

static void give_back_frs(struct sl_engine *e, const struct marks *m) {
    for (uint32_t i = 0; i < e->frs.n; i++) {
        struct eng_fr *x = &e->frs.v[i];
        if (m->fr[i] || !x->flavor)
            continue;
        (void)sl_map_del(&e->fr_map, (uint64_t)x->flavor << 32 | x->resource, i);
        *x = (struct eng_fr){0};
        *sl_vec_push(&e->free_frs) = i;
    }
}

/* ---- symbols ---- */

static void hold_nodes(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->nodes.n; i++) {
        const struct eng_node *n = &e->nodes.v[i];
        sl_sym_hold(&e->syms, n->name);
        sl_sym_hold(&e->syms, n->parent_name);
        for (uint32_t g = 0; g < n->n_groups; g++) {
            for (uint32_t k = 0; k < n->groups[g].n_resources; k++)
                sl_sym_hold(&e->syms, n->groups[g].resources[k]);
            for (uint32_t k = 0; k < n->groups[g].n_flavors; k++)
                sl_sym_hold(&e->syms, n->groups[g].flavors[k]);
        }
    }
    for (uint32_t i = 0; i < e->trees.n; i++)
        for (uint32_t k = 0; k < e->trees.v[i].n_res; k++)
            sl_sym_hold(&e->syms, e->trees.v[i].res[k]);
    for (uint32_t i = 0; i < e->frs.n; i++) {
        sl_sym_hold(&e->syms, e->frs.v[i].flavor);
        sl_sym_hold(&e->syms, e->frs.v[i].resource);
    }
}

static void hold_queues(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->cqs.n; i++)
        for (uint32_t k = 0; k < e->cqs.v[i].checks.n; k++) {
            const struct eng_check_ref *c = &e->cqs.v[i].checks.v[k];
            sl_sym_hold(&e->syms, c->name);
            for (uint32_t f = 0; f < c->flavors.n; f++)
                sl_sym_hold(&e->syms, c->flavors.v[f]);
        }
    for (uint32_t i = 0; i < e->lqs.n; i++) {
        const struct eng_lq *l = &e->lqs.v[i];
        sl_sym_hold(&e->syms, l->ns);
        sl_sym_hold(&e->syms, l->name);
        sl_sym_hold(&e->syms, l->cq_name);
        for (uint32_t k = 0; k < l->afs.n; k++)
            sl_sym_hold(&e->syms, l->afs.v[k].resource);
    }
    for (uint32_t i = 0; i < e->classes.n; i++)
        for (uint32_t k = 0; e->classes.v[i].used && k < e->classes.v[i].plan.res.n; k++)
            sl_sym_hold(&e->syms, e->classes.v[i].plan.res.v[k].resource);
}

static void hold_admission(struct sl_engine *e, const struct eng_admission *a) {
    for (uint32_t i = 0; a && i < a->n_assigned; i++) {
        sl_sym_hold(&e->syms, a->assigned[i].resource);
        sl_sym_hold(&e->syms, a->assigned[i].flavor);
    }
}

static void hold_workloads(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->shapes.n; i++)
        for (uint32_t k = 0; e->shapes.v[i].used && k < e->shapes.v[i].n; k++) {
            const struct eng_podset *p = &e->shapes.v[i].podsets[k];
            sl_sym_hold(&e->syms, p->group);
            for (uint32_t r = 0; r < p->requests.n; r++)
                sl_sym_hold(&e->syms, p->requests.v[r].resource);
        }
    for (uint32_t i = 0; i < e->classes.n; i++)
        if (e->classes.v[i].used)
            hold_admission(e, e->classes.v[i].last);
    for (uint32_t i = 0; i < e->wls.n; i++) {
        const struct eng_wl *w = &e->wls.v[i];
        if (w->phase == WL_FREE)
            continue;
        sl_sym_hold(&e->syms, w->ns);
        hold_admission(e, w->admission);
        if (!w->extra)
            continue;
        hold_admission(e, w->extra->handed.admission);
        for (uint32_t k = 0; k < w->extra->checks.n; k++)
            sl_sym_hold(&e->syms, w->extra->checks.v[k].name);
    }
}

/* Flavors, checks and namespaces are found by their names alone: one that does not exist any more,
 * and is not referred to, can go. The last one takes its index. */
#define DROP_UNNAMED(e, list, map, done)                                                           \
    for (uint32_t i = (e)->list.n; i-- > 0;) {                                                     \
        sl_sym y = (e)->list.v[i].name;                                                            \
        if ((e)->list.v[i].exists || sl_sym_is_held(&(e)->syms, y)) {                              \
            sl_sym_hold(&(e)->syms, y);                                                            \
            continue;                                                                              \
        }                                                                                          \
        done(&(e)->list.v[i]);                                                                     \
        (void)sl_map_del(&(e)->map, y, i);                                                         \
        uint32_t last = (e)->list.n - 1;                                                           \
        if (i < last) {                                                                            \
            sl_sym moved = (e)->list.v[last].name;                                                 \
            (void)sl_map_del(&(e)->map, moved, last);                                              \
            sl_map_add(&(e)->map, moved, i);                                                       \
            (e)->list.v[i] = (e)->list.v[last];                                                    \
        }                                                                                          \
        (e)->list.n--;                                                                             \
    }

static void flavor_done(struct eng_flavor *f) {
    sl_arena_done(&f->arena);
}
static void ns_done(struct eng_ns *n) {
    sl_arena_done(&n->arena);
}
static void check_done(struct eng_check *c) {
    (void)c;
}

bool sl_engine_sweep_due(const struct sl_engine *e) {
    return sl_syms_due(&e->syms);
}

void sl_engine_sweep(struct sl_engine *e) {
    eng_refresh(e);
    struct marks m = {
        .fr = sl_alloc0(e->frs.n + 1, 1),
        .cq = sl_alloc0(e->cqs.n + 1, 1),
        .node = sl_alloc0(e->nodes.n + 1, 1),
    };
    mark_all(e, &m);
    give_back_nodes(e, &m);
    give_back_frs(e, &m);
    sl_freep(&m.fr);
    sl_freep(&m.cq);
    sl_freep(&m.node);

    sl_syms_begin(&e->syms);
    sl_sym_hold(&e->syms, e->sym_pods);
    hold_nodes(e);
    hold_queues(e);
    hold_workloads(e);
    DROP_UNNAMED(e, flavors, flavor_map, flavor_done)
    DROP_UNNAMED(e, checks, check_map, check_done)
    DROP_UNNAMED(e, namespaces, ns_map, ns_done)
    sl_syms_sweep(&e->syms);
}
