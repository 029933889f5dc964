/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quota tree. ClusterQueues are leaves, Cohorts inner nodes; every node has one cell per
 * (flavor, resource) of its tree. The static part of a cell (subtree, local, potential) is computed
 * when quotas or edges change; usage is updated by eng_tree_add alone:
 *
 *     usage(cohort) = sum over children of max(0, usage(child) - local(child))
 *
 * which eng_tree_add maintains in O(depth). Usage is 128 bits wide, so that adding and removing are
 * exact inverses in any order; that is what makes speculation without snapshots possible.
 */
#include "core/engine/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

static uint64_t node_key(bool cohort, sl_sym name) {
    return (uint64_t)cohort << 32 | name;
}

uint32_t eng_node_find(const struct sl_engine *e, bool cohort, const char *name) {
    sl_sym y = sl_sym_find(&e->syms, name);
    uint32_t c;
    if (y == SL_MAP_NONE)
        return ENG_NONE;
    for (uint32_t i = sl_map_first(&e->node_map, node_key(cohort, y), &c); i != SL_MAP_NONE;
         i = sl_map_next(&e->node_map, node_key(cohort, y), &c))
        if (e->nodes.v[i].name == y && e->nodes.v[i].cohort == cohort)
            return i;
    return ENG_NONE;
}

uint32_t eng_node_get(struct sl_engine *e, bool cohort, const char *name) {
    uint32_t i = eng_node_find(e, cohort, name);
    if (i != ENG_NONE)
        return i;
    sl_sym y = sl_sym_put(&e->syms, name);
    if (cohort ? e->free_cohorts.n : e->free_queues.n) {
        i = cohort ? sl_vec_pop(&e->free_cohorts) : sl_vec_pop(&e->free_queues);
        e->nodes.v[i].name = y;
    } else {
        i = e->nodes.n;
        *sl_vec_push(&e->nodes) = (struct eng_node){.name = y,
                                                    .cohort = cohort,
                                                    .parent = ENG_NONE,
                                                    .tree = ENG_NONE,
                                                    .cq = ENG_NONE,
                                                    .fair_place = SL_HEAP_OUT,
                                                    .fair_winner = ENG_NONE,
                                                    .weight_nano = SL_WEIGHT_ONE};
    }
    sl_map_add(&e->node_map, node_key(cohort, y), i);
    e->structure_dirty = true;
    return i;
}

void eng_node_release_name(struct sl_engine *e, uint32_t node) {
    struct eng_node *n = &e->nodes.v[node];
    (void)sl_map_del(&e->node_map, node_key(n->cohort, n->name), node);
    n->name = n->parent_name = 0;
    n->spec_digest = 0;
    n->weight_nano = SL_WEIGHT_ONE;
    eng_node_set_groups(e, node, NULL);
}

static void groups_free(struct eng_node *n) {
    for (uint32_t g = 0; g < n->n_groups; g++) {
        sl_freep(&n->groups[g].resources);
        sl_freep(&n->groups[g].flavors);
        sl_freep(&n->groups[g].quotas);
        sl_freep(&n->groups[g].fr);
    }
    sl_freep(&n->groups);
    n->n_groups = 0;
}

void eng_node_free(struct eng_node *n) {
    groups_free(n);
    sl_vec_free(&n->children);
    sl_heap_done(&n->fair_heap);
    sl_freep(&n->lendable);
}

void eng_node_set_groups(struct sl_engine *e, uint32_t node, const struct sl_groups *g) {
    struct eng_node *n = &e->nodes.v[node];
    groups_free(n);
    if (!g || !g->n)
        return;
    n->groups = sl_alloc0(g->n, sizeof(struct eng_group));
    n->n_groups = g->n;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct sl_group_spec *s = &g->v[i];
        struct eng_group *o = &n->groups[i];
        size_t cells = (size_t)s->n_flavors * s->n_resources;
        o->n_resources = s->n_resources;
        o->n_flavors = s->n_flavors;
        o->resources = sl_alloc0(s->n_resources, sizeof(sl_sym));
        o->flavors = sl_alloc0(s->n_flavors, sizeof(sl_sym));
        o->quotas = sl_alloc0(cells, sizeof(struct sl_quota));
        o->fr = sl_alloc0(cells, sizeof(uint32_t));
        for (uint32_t r = 0; r < s->n_resources; r++)
            o->resources[r] = sl_sym_put(&e->syms, s->resources[r]);
        for (uint32_t f = 0; f < s->n_flavors; f++) {
            o->flavors[f] = sl_sym_put(&e->syms, s->flavors[f].flavor);
            for (uint32_t r = 0; r < s->n_resources; r++)
                o->quotas[f * s->n_resources + r] = s->flavors[f].quotas[r];
        }
    }
}

/* Marks the node and everything in its present tree: sleeping classes there are evaluated again. */
void eng_node_touch(struct sl_engine *e, uint32_t node) {
    struct eng_node *n = &e->nodes.v[node];
    n->touched = true;
    e->structure_dirty = true;
    if (n->tree == ENG_NONE)
        return;
    for (uint32_t i = 0; i < e->nodes.n; i++)
        if (e->nodes.v[i].tree == n->tree)
            e->nodes.v[i].touched = true;
}

/* ---- flavor-resource pairs ---- */

uint32_t eng_fr_get(struct sl_engine *e, sl_sym flavor, sl_sym resource) {
    uint64_t key = (uint64_t)flavor << 32 | resource;
    uint32_t i = sl_map_get(&e->fr_map, key);
    if (i != SL_MAP_NONE)
        return i;
    i = e->free_frs.n ? sl_vec_pop(&e->free_frs) : e->frs.n;
    if (i == e->frs.n)
        (void)sl_vec_push(&e->frs);
    e->frs.v[i] = (struct eng_fr){flavor, resource};
    sl_map_add(&e->fr_map, key, i);
    return i;
}

uint32_t eng_tree_fr(const struct eng_tree *t, uint32_t fr) {
    uint32_t lo = 0, hi = t->n_fr;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (t->frs[mid] < fr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->n_fr && t->frs[lo] == fr ? lo : ENG_NONE;
}

/* ---- building ---- */

struct saved_use {
    uint32_t cq, fr; /* global fr */
    __int128 usage;
};
struct saved_edge {
    uint32_t preemptor, victim, cq;
};

struct saved_wake {
    bool freed, wake_all;
};

static int cmp_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static int cmp_children(const void *a, const void *b, void *ctx) {
    const struct sl_engine *e = ctx;
    const struct eng_node *x = &e->nodes.v[*(const uint32_t *)a],
                          *y = &e->nodes.v[*(const uint32_t *)b];
    if (x->cohort != y->cohort)
        return x->cohort ? -1 : 1;
    return strcmp(eng_str(e, x->name), eng_str(e, y->name));
}

static int cmp_syms(const void *a, const void *b, void *ctx) {
    const struct sl_engine *e = ctx;
    return strcmp(eng_str(e, *(const sl_sym *)a), eng_str(e, *(const sl_sym *)b));
}

static void tree_free(struct eng_tree *t) {
    sl_freep(&t->rows);
    sl_freep(&t->frs);
    sl_freep(&t->fr_res);
    sl_freep(&t->res);
    sl_freep(&t->res_frs);
    sl_freep(&t->res_first);
    sl_freep(&t->cells);
    sl_vec_free(&t->cqs);
    sl_vec_free(&t->edges);
}

void eng_trees_free(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->trees.n; i++)
        tree_free(&e->trees.v[i]);
    sl_vec_clear(&e->trees);
}

/* Does the way up from here end at a root? */
static bool node_is_broken(const struct sl_engine *e, uint32_t i) {
    uint32_t steps = 0;
    for (; i != ENG_NONE; i = e->nodes.v[i].parent)
        if (++steps > SL_MAX_COHORT_DEPTH)
            return true;
    return false;
}

static void link_nodes(struct sl_engine *e) {
    for (uint32_t i = 0; i < e->nodes.n; i++) {
        struct eng_node *n = &e->nodes.v[i];
        sl_vec_clear(&n->children);
        n->tree = ENG_NONE;
        n->parent = n->exists && n->parent_name ? eng_node_find(e, true, eng_str(e, n->parent_name))
                                                : ENG_NONE;
    }
    for (uint32_t i = 0; i < e->nodes.n; i++)
        e->nodes.v[i].broken = node_is_broken(e, i);
    for (uint32_t i = 0; i < e->nodes.n; i++) {
        struct eng_node *n = &e->nodes.v[i];
        if (n->broken || (!n->cohort && !n->exists))
            n->parent = ENG_NONE; /* stands alone until the cycle is broken */
        if (n->parent == ENG_NONE)
            continue;
        *sl_vec_push(&e->nodes.v[n->parent].children) = i;
    }
    for (uint32_t i = 0; i < e->nodes.n; i++) {
        struct eng_node *n = &e->nodes.v[i];
        if (n->children.n > 1)
            qsort_r(n->children.v, n->children.n, sizeof(uint32_t), cmp_children, e);
    }
}

/* Walks the tree from the root, parents before children, giving each node its row. */
static void number_rows(struct sl_engine *e, uint32_t tree, uint32_t root, uint32_t **rows,
                        uint32_t *n_rows) {
    SL_VEC(uint32_t) order = {0};
    *sl_vec_push(&order) = root;
    e->nodes.v[root].depth = 0;
    for (uint32_t i = 0; i < order.n; i++) {
        struct eng_node *n = &e->nodes.v[order.v[i]];
        n->tree = tree;
        n->row = i;
        n->height = 0;
        for (uint32_t c = 0; c < n->children.n; c++) {
            e->nodes.v[n->children.v[c]].depth = n->depth + 1;
            *sl_vec_push(&order) = n->children.v[c];
        }
    }
    for (uint32_t i = order.n; i-- > 1;) {
        struct eng_node *n = &e->nodes.v[order.v[i]], *p = &e->nodes.v[n->parent];
        if (p->height < n->height + 1)
            p->height = n->height + 1;
    }
    *rows = order.v;
    *n_rows = order.n;
}

static void number_frs(struct sl_engine *e, struct eng_tree *t, const struct saved_use *saved,
                       uint32_t n_saved) {
    SL_VEC(uint32_t) all = {0};
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const struct eng_node *n = &e->nodes.v[t->rows[i]];
        for (uint32_t g = 0; g < n->n_groups; g++) {
            const struct eng_group *o = &n->groups[g];
            for (uint32_t f = 0; f < o->n_flavors; f++)
                for (uint32_t r = 0; r < o->n_resources; r++)
                    *sl_vec_push(&all) = eng_fr_get(e, o->flavors[f], o->resources[r]);
        }
    }
    uint32_t id = (uint32_t)(t - e->trees.v);
    for (uint32_t i = 0; i < n_saved; i++)
        if (e->nodes.v[e->cqs.v[saved[i].cq].node].tree == id)
            *sl_vec_push(&all) = saved[i].fr;
    for (uint32_t i = 0; i < e->extra_frs.n; i++)
        if (eng_cq_node(e, &e->cqs.v[e->extra_frs.v[i].cq])->tree == id)
            *sl_vec_push(&all) = e->extra_frs.v[i].fr;
    uint32_t n = 0;
    if (all.n) {
        qsort(all.v, all.n, sizeof(uint32_t), cmp_u32);
        for (uint32_t i = 0; i < all.n; i++)
            if (!i || all.v[i] != all.v[n - 1])
                all.v[n++] = all.v[i];
    }
    t->n_fr = n;
    t->frs = all.v;
    t->fr_res = sl_alloc0(n + 1, sizeof(uint32_t));
    t->res = sl_alloc0(n + 1, sizeof(sl_sym));
    t->n_res = 0;
    for (uint32_t i = 0; i < n; i++) {
        sl_sym r = e->frs.v[t->frs[i]].resource;
        uint32_t k = 0;
        while (k < t->n_res && t->res[k] != r)
            k++;
        if (k == t->n_res)
            t->res[t->n_res++] = r;
    }
    if (t->n_res > 1)
        qsort_r(t->res, t->n_res, sizeof(sl_sym), cmp_syms, e);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (t->res[k] != e->frs.v[t->frs[i]].resource)
            k++;
        t->fr_res[i] = k;
    }
    t->res_frs = sl_alloc0(n + 1, sizeof(uint32_t));
    t->res_first = sl_alloc0(t->n_res + 1, sizeof(uint32_t));
    for (uint32_t r = 0, at = 0; r < t->n_res; r++) {
        for (uint32_t i = 0; i < n; i++)
            if (t->fr_res[i] == r)
                t->res_frs[at++] = i;
        t->res_first[r + 1] = at;
    }
}

/* Everything about one pair that follows from what is written and from the queues' own usage. */
void eng_tree_compute(struct sl_engine *e, struct eng_tree *t, uint32_t fr) {
    for (uint32_t i = 0; i < t->n_rows; i++) {
        struct eng_cell *c = &t->cells[(size_t)i * t->n_fr + fr];
        c->subtree = 0;
        if (e->nodes.v[t->rows[i]].cohort)
            c->usage = 0;
    }
    /* Children first: what each subtree has, and what of it is not lent. */
    for (uint32_t i = t->n_rows; i-- > 0;) {
        const struct eng_node *n = &e->nodes.v[t->rows[i]];
        struct eng_cell *c = &t->cells[(size_t)i * t->n_fr + fr];
        c->subtree = sl_amount_add(c->subtree, c->nominal);
        c->local =
            c->lend == SL_AMOUNT_NONE ? 0 : sl_amount_max(0, sl_amount_sub(c->subtree, c->lend));
        if (n->parent == ENG_NONE)
            continue;
        struct eng_cell *p = eng_cell_at(e, n->parent, fr);
        p->subtree = sl_amount_add(p->subtree, sl_amount_sub(c->subtree, c->local));
        p->listed |= c->listed;
        if (c->usage > c->local)
            p->usage += c->usage - c->local;
    }
    /* Parents first: what each node could have at best. */
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const struct eng_node *n = &e->nodes.v[t->rows[i]];
        struct eng_cell *c = &t->cells[(size_t)i * t->n_fr + fr];
        c->potential = c->subtree;
        if (n->parent == ENG_NONE)
            continue;
        c->potential = sl_amount_add(c->local, eng_cell_at(e, n->parent, fr)->potential);
        if (c->borrow != SL_AMOUNT_NONE)
            c->potential = sl_amount_min(c->potential, sl_amount_add(c->subtree, c->borrow));
    }
}

/* What each cohort could lend of each resource. Pairs without quota have potential 0. */
void eng_tree_lendable(struct sl_engine *e, struct eng_tree *t) {
    for (uint32_t i = 0; i < t->n_rows; i++) {
        struct eng_node *n = &e->nodes.v[t->rows[i]];
        sl_freep(&n->lendable);
        if (!n->cohort)
            continue;
        n->lendable = sl_alloc0(t->n_res + 1, sizeof(sl_amount));
        for (uint32_t fr = 0; fr < t->n_fr; fr++) {
            sl_amount *l = &n->lendable[t->fr_res[fr]];
            *l = sl_amount_add(*l, t->cells[(size_t)i * t->n_fr + fr].potential);
        }
    }
}

static void fill_cells(struct sl_engine *e, struct eng_tree *t) {
    t->cells = sl_alloc0((size_t)t->n_rows * t->n_fr + 1, sizeof(struct eng_cell));
    for (size_t i = 0; i < (size_t)t->n_rows * t->n_fr; i++)
        t->cells[i].borrow = t->cells[i].lend = SL_AMOUNT_NONE;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        struct eng_node *n = &e->nodes.v[t->rows[i]];
        struct eng_cell *row = &t->cells[(size_t)i * t->n_fr];
        for (uint32_t g = 0; g < n->n_groups; g++) {
            struct eng_group *o = &n->groups[g];
            for (uint32_t k = 0; k < o->n_flavors * o->n_resources; k++) {
                uint32_t fr = eng_tree_fr(t, eng_fr_get(e, o->flavors[k / o->n_resources],
                                                        o->resources[k % o->n_resources]));
                o->fr[k] = fr;
                row[fr].nominal = o->quotas[k].nominal;
                row[fr].borrow = o->quotas[k].borrow_limit;
                row[fr].lend = o->quotas[k].lend_limit;
                row[fr].listed = true;
            }
        }
    }
    for (uint32_t fr = 0; fr < t->n_fr; fr++)
        eng_tree_compute(e, t, fr);
    eng_tree_lendable(e, t);
}

static void build_tree(struct sl_engine *e, uint32_t root, const struct saved_use *saved,
                       uint32_t n_saved) {
    uint32_t id = e->trees.n;
    *sl_vec_push(&e->trees) = (struct eng_tree){.root = root, .version = e->config_version << 32};
    struct eng_tree *t = &e->trees.v[id];
    number_rows(e, id, root, &t->rows, &t->n_rows);
    number_frs(e, t, saved, n_saved);
    fill_cells(e, t);
    bool touched = false;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        struct eng_node *n = &e->nodes.v[t->rows[i]];
        touched |= n->touched;
        if (n->cq != ENG_NONE && n->exists)
            *sl_vec_push(&t->cqs) = n->cq;
    }
    for (uint32_t i = 0; i < t->n_rows; i++)
        e->nodes.v[t->rows[i]].touched = touched;
    if (touched) {
        t->wake_all = true;
        for (uint32_t i = 0; i < t->cqs.n; i++)
            e->cqs.v[t->cqs.v[i]].alloc_gen++;
    }
}

void eng_trees_rebuild(struct sl_engine *e) {
    SL_VEC(struct saved_use) saved = {0};
    SL_VEC(struct saved_edge) edges = {0};
    SL_VEC(struct saved_wake) wakes = {0}; /* per ClusterQueue: pending wake-ups of its tree */

    for (uint32_t i = 0; i < e->cqs.n; i++) {
        const struct eng_node *n = eng_cq_node(e, &e->cqs.v[i]);
        *sl_vec_push(&wakes) = (struct saved_wake){0};
        if (n->tree == ENG_NONE)
            continue;
        const struct eng_tree *t = &e->trees.v[n->tree];
        sl_vec_last(&wakes) = (struct saved_wake){t->freed, t->wake_all};
        for (uint32_t fr = 0; fr < t->n_fr; fr++) {
            __int128 u = t->cells[(size_t)n->row * t->n_fr + fr].usage;
            if (u)
                *sl_vec_push(&saved) = (struct saved_use){i, t->frs[fr], u};
        }
    }
    for (uint32_t i = 0; i < e->trees.n; i++)
        for (uint32_t k = 0; k < e->trees.v[i].edges.n; k++) {
            struct eng_edge g = e->trees.v[i].edges.v[k];
            uint32_t lq = e->wls.v[g.preemptor].lq;
            if (e->wls.v[g.preemptor].phase != WL_FREE && e->lqs.v[lq].cq != ENG_NONE)
                *sl_vec_push(&edges) = (struct saved_edge){g.preemptor, g.victim, e->lqs.v[lq].cq};
        }

    eng_trees_free(e);
    sl_vec_clear(&e->dirty_trees);
    e->later_stale |= e->plans_later;
    e->config_version++;
    link_nodes(e);
    for (uint32_t i = 0; i < e->nodes.n; i++)
        if (e->nodes.v[i].parent == ENG_NONE)
            build_tree(e, i, saved.v, saved.n);
    for (uint32_t i = 0; i < saved.n; i++) {
        uint32_t node = e->cqs.v[saved.v[i].cq].node;
        const struct eng_tree *t = &e->trees.v[e->nodes.v[node].tree];
        uint32_t fr = eng_tree_fr(t, saved.v[i].fr);
        __int128 left = saved.v[i].usage;
        while (left > 0) { /* more than one amount can hold: give it in parts */
            sl_amount part = sl_amount_min(sl_amount_clamp(left), INT64_MAX / 2);
            eng_tree_add(e, node, fr, part);
            left -= part;
        }
    }
    for (uint32_t i = 0; i < edges.n; i++) {
        struct eng_node *n = eng_cq_node(e, &e->cqs.v[edges.v[i].cq]);
        if (!n->touched)
            *sl_vec_push(&e->trees.v[n->tree].edges) =
                (struct eng_edge){edges.v[i].preemptor, edges.v[i].victim};
    }
    for (uint32_t i = 0; i < wakes.n; i++) {
        struct eng_tree *t = eng_cq_tree(e, &e->cqs.v[i]);
        t->freed |= wakes.v[i].freed;
        t->wake_all |= wakes.v[i].wake_all;
        eng_tree_mark_dirty(e, t);
    }
    for (uint32_t i = 0; i < e->nodes.n; i++)
        e->nodes.v[i].touched = false;
    sl_vec_free(&saved);
    sl_vec_free(&edges);
    sl_vec_free(&wakes);
    for (uint32_t i = 0; i < e->classes.n; i++)
        e->classes.v[i].wake_always |= e->classes.v[i].asleep; /* memos are of the trees before */
    sl_vec_clear(&e->extra_frs); /* from now on they are found by their usage */
    e->structure_dirty = false;
}

/* ---- usage and the formulas ---- */

void eng_tree_mark_dirty(struct sl_engine *e, struct eng_tree *t) {
    if (t->dirty)
        return;
    t->dirty = true;
    *sl_vec_push(&e->dirty_trees) = (uint32_t)(t - e->trees.v);
}

void eng_cq_mark_dirty(struct sl_engine *e, const struct eng_cq *q) {
    if (!e->structure_dirty)
        eng_tree_mark_dirty(e, eng_cq_tree(e, q));
}

void eng_tree_add(struct sl_engine *e, uint32_t node, uint32_t fr, sl_amount amount) {
    const struct eng_node *nodes = e->nodes.v;
    const struct eng_tree *t = &e->trees.v[nodes[node].tree];
    __int128 v = amount;
    for (uint32_t i = node; i != ENG_NONE; i = nodes[i].parent) {
        struct eng_cell *c = &t->cells[(size_t)nodes[i].row * t->n_fr + fr];
        __int128 over = c->usage - c->local; /* what this node takes from above */
        c->usage += v;
        if (v > 0) {
            if (over < 0)
                v += over;
            if (v <= 0)
                return;
        } else {
            if (over <= 0)
                return;
            if (v < -over)
                v = -over;
        }
    }
}

__int128 eng_tree_arriving(const struct sl_engine *e, uint32_t leaf, uint32_t node, uint32_t fr,
                           sl_amount amount) {
    __int128 v = amount;
    for (uint32_t i = leaf; i != node && v > 0; i = e->nodes.v[i].parent) {
        const struct eng_cell *c = eng_cell_at(e, i, fr);
        if (c->usage < c->local)
            v -= c->local - c->usage;
    }
    return v > 0 ? v : 0;
}

static sl_amount available(const struct eng_node *nodes, const struct eng_tree *t, uint32_t i,
                           uint32_t fr) {
    const struct eng_cell *c = &t->cells[(size_t)nodes[i].row * t->n_fr + fr];
    sl_amount u = eng_cell_used(c);
    if (nodes[i].parent == ENG_NONE)
        return sl_amount_sub(c->subtree, u);
    sl_amount above = available(nodes, t, nodes[i].parent, fr);
    if (c->borrow != SL_AMOUNT_NONE) {
        sl_amount lent = sl_amount_sub(c->subtree, c->local);
        sl_amount taken = sl_amount_max(0, sl_amount_sub(u, c->local));
        above = sl_amount_min(above, sl_amount_add(sl_amount_sub(lent, taken), c->borrow));
    }
    return sl_amount_add(sl_amount_max(0, sl_amount_sub(c->local, u)), above);
}

sl_amount eng_tree_available(const struct sl_engine *e, uint32_t node, uint32_t fr) {
    return available(e->nodes.v, &e->trees.v[e->nodes.v[node].tree], node, fr);
}

bool eng_tree_within(const struct sl_engine *e, uint32_t node, uint32_t fr, sl_amount more) {
    const struct eng_cell *c = eng_cell_at(e, node, fr);
    return c->subtree >= sl_amount_add(eng_cell_used(c), more);
}

uint32_t eng_tree_borrow_height(const struct sl_engine *e, const struct eng_cq *q, uint32_t fr,
                                sl_amount amount, bool *may_reclaim) {
    const struct eng_node *n = eng_cq_node(e, q);
    *may_reclaim = n->parent != ENG_NONE;
    if (n->parent == ENG_NONE || eng_tree_within(e, q->node, fr, amount))
        return 0;
    const struct eng_cell *c = eng_cell_at(e, q->node, fr);
    sl_amount left =
        sl_amount_sub(amount, sl_amount_max(0, sl_amount_sub(c->local, eng_cell_used(c))));
    uint32_t top = ENG_NONE;
    for (uint32_t i = n->parent; i != ENG_NONE; i = e->nodes.v[i].parent) {
        top = i;
        *may_reclaim = e->nodes.v[i].parent != ENG_NONE;
        if (eng_tree_within(e, i, fr, left))
            return e->nodes.v[i].height;
        c = eng_cell_at(e, i, fr);
        left = sl_amount_sub(left, sl_amount_max(0, sl_amount_sub(c->local, eng_cell_used(c))));
    }
    *may_reclaim = false;
    return e->nodes.v[top].height;
}

bool eng_tree_is_ancestor(const struct sl_engine *e, uint32_t node, uint32_t of) {
    for (; of != ENG_NONE; of = e->nodes.v[of].parent)
        if (of == node)
            return true;
    return false;
}

/* Adds (sign 1) or removes (sign -1) what the workload was admitted with. */
void eng_wl_charge(struct sl_engine *e, uint32_t wl, int sign) {
    const struct eng_admission *a = e->wls.v[wl].admission;
    const struct eng_cq *q = &e->cqs.v[a->cq];
    struct eng_tree *t = eng_cq_tree(e, q);
    for (uint32_t i = 0; i < a->n_uses; i++) {
        uint32_t fr = eng_tree_fr(t, a->uses[i].fr);
        if (fr != ENG_NONE)
            eng_tree_add(e, q->node, fr, sign * a->uses[i].amount);
    }
}
