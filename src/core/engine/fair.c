/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order of processing under fair sharing: a tournament over the cohort tree. Every queue enters
 * with its entry; at each cohort the child wins that borrows nothing of what the workload requests,
 * then has the lowest share with the workload counted in, then higher priority, then earlier, then
 * uid. The winner at the root is processed, and only the path from its queue to the root is
 * computed again: a node's share depends on its own usage alone.
 */
#include "core/engine/state.h"

#include <stdlib.h>

static const struct eng_entry *winner_of(const struct sl_engine *e, uint32_t node) {
    return &e->round.entries.v[e->nodes.v[node].fair_winner];
}

static bool child_less(const void *ctx, uint32_t a, uint32_t b) {
    const struct sl_engine *e = ctx;
    const struct eng_node *x = &e->nodes.v[a], *y = &e->nodes.v[b];
    if (eng_gate_on(e, SL_GATE_FAIR_SHARING_PRIORITIZE_NON_BORROWING) &&
        x->fair_borrows != y->fair_borrows)
        return !x->fair_borrows;
    int r = eng_share_cmp(&x->fair_share, &y->fair_share);
    if (r)
        return r < 0;
    uint32_t i = winner_of(e, a)->wl, k = winner_of(e, b)->wl;
    const struct eng_wl *v = &e->wls.v[i], *w = &e->wls.v[k];
    if (eng_gate_on(e, SL_GATE_PRIORITY_SORTING_WITHIN_COHORT)) {
        int64_t p = eng_wl_priority(e, v), q = eng_wl_priority(e, w);
        if (p != q)
            return p > q;
    }
    if (v->order_at != w->order_at)
        return v->order_at < w->order_at;
    return eng_wl_tie(e, i, k) < 0;
}

static uint32_t *child_place(void *ctx, uint32_t node) {
    struct sl_engine *e = ctx;
    return &e->nodes.v[node].fair_place;
}

/* How this node stands among its siblings if its best entry were admitted. */
static void compute_share(struct sl_engine *e, uint32_t node) {
    struct eng_node *n = &e->nodes.v[node];
    const struct eng_entry *x = winner_of(e, node);
    const struct eng_use *u = e->round.uses.v + x->uses.from;
    uint32_t leaf = e->cqs.v[x->cq].node;
    n->fair_borrows = false;
    for (uint32_t i = 0; i < x->uses.n; i++) {
        struct eng_cell *c = eng_cell_at(e, node, u[i].fr);
        c->usage += eng_tree_arriving(e, leaf, node, u[i].fr, u[i].amount);
        n->fair_borrows |= c->usage > c->subtree;
    }
    n->fair_share = eng_share_of(e, node);
    for (uint32_t i = 0; i < x->uses.n; i++)
        eng_cell_at(e, node, u[i].fr)->usage -=
            eng_tree_arriving(e, leaf, node, u[i].fr, u[i].amount);
}

/* Enters the node's best entry among its siblings, in place of what it had there. */
static void enter(struct sl_engine *e, uint32_t node) {
    struct eng_node *n = &e->nodes.v[node], *p = &e->nodes.v[n->parent];
    if (n->cohort)
        n->fair_winner = sl_heap_empty(&n->fair_heap)
                             ? ENG_NONE
                             : e->nodes.v[sl_heap_top(&n->fair_heap)].fair_winner;
    if (!p->fair_heap.less)
        sl_heap_init(&p->fair_heap, child_less, child_place, e);
    if (n->fair_winner == ENG_NONE) {
        sl_heap_remove(&p->fair_heap, node);
        return;
    }
    compute_share(e, node);
    sl_heap_fix(&p->fair_heap, node);
}

/* Brings the way from this node to the root up to date after its best entry changed. */
static void update_path(struct sl_engine *e, uint32_t node) {
    for (; e->nodes.v[node].parent != ENG_NONE; node = e->nodes.v[node].parent)
        enter(e, node);
}

static int deepest_first(const void *a, const void *b, void *ctx) {
    const struct sl_engine *e = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t dx = e->nodes.v[x].depth, dy = e->nodes.v[y].depth;
    return dx != dy ? (dx > dy ? -1 : 1) : x < y ? -1 : x > y;
}

/* All entries at once: every queue, then every cohort above one of them, deepest first. */
static void enter_all(struct sl_engine *e) {
    struct eng_round *r = &e->round;
    SL_VEC(uint32_t) cohorts = {0};
    for (uint32_t i = 0; i < r->entries.n; i++) {
        uint32_t leaf = e->cqs.v[r->entries.v[i].cq].node;
        e->nodes.v[leaf].fair_winner = i;
        if (e->nodes.v[leaf].parent == ENG_NONE)
            continue;
        enter(e, leaf);
        for (uint32_t n = e->nodes.v[leaf].parent; e->nodes.v[n].parent != ENG_NONE;
             n = e->nodes.v[n].parent) {
            if (e->nodes.v[n].fair_winner != ENG_NONE)
                break; /* met before */
            e->nodes.v[n].fair_winner = i;
            *sl_vec_push(&cohorts) = n;
        }
    }
    if (cohorts.n)
        qsort_r(cohorts.v, cohorts.n, sizeof(uint32_t), deepest_first, e);
    for (uint32_t i = 0; i < cohorts.n; i++)
        enter(e, cohorts.v[i]);
    sl_vec_free(&cohorts);
}

/* Everything processed since 'from' leaves the tournament. */
static uint32_t retire(struct sl_engine *e, uint32_t from) {
    struct eng_round *r = &e->round;
    for (; from < r->processed.n; from++) {
        uint32_t leaf = e->cqs.v[r->entries.v[r->processed.v[from]].cq].node;
        e->nodes.v[leaf].fair_winner = ENG_NONE;
        update_path(e, leaf);
    }
    return from;
}

void eng_fair_order_run(struct sl_engine *e) {
    struct eng_round *r = &e->round;
    enter_all(e);
    uint32_t done = 0;
    for (uint32_t i = 0; i < r->entries.n && !e->blocked_by_ready; i++) {
        uint32_t root = eng_cq_tree(e, &e->cqs.v[r->entries.v[i].cq])->root;
        while (!r->entries.v[i].processed && !e->blocked_by_ready) {
            uint32_t best = i;
            if (e->nodes.v[root].cohort)
                best = e->nodes.v[sl_heap_top(&e->nodes.v[root].fair_heap)].fair_winner;
            eng_entry_process(e, best);
            done = retire(e, done);
        }
    }
    /* Stopped half-way: clears those that were still in. */
    for (uint32_t i = 0; i < r->entries.n; i++)
        for (uint32_t n = e->cqs.v[r->entries.v[i].cq].node; n != ENG_NONE;
             n = e->nodes.v[n].parent) {
            e->nodes.v[n].fair_winner = ENG_NONE;
            if (e->nodes.v[n].fair_heap.less)
                sl_heap_clear(&e->nodes.v[n].fair_heap);
        }
}
