/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a flavor: nodes sorted by the values of their levels; each run of equal values is a
 * domain. It borrows labels from the nodes, so a stale tree is never read.
 */
#include <stdlib.h>
#include <string.h>

#include "core/topo/state.h"

struct entry {
    const char **values; /* one per level */
    struct topo_node *node;
};

static int by_host(const void *a, const void *b, void *n_levels) {
    const struct entry *x = a, *y = b;
    uint32_t last = *(const uint32_t *)n_levels - 1;
    int r = strcmp(x->values[last], y->values[last]);
    return r ? r : strcmp(x->node->name, y->node->name);
}

static int by_values(const void *a, const void *b, void *n_levels) {
    const struct entry *x = a, *y = b;
    for (uint32_t i = 0; i < *(const uint32_t *)n_levels; i++) {
        int r = x->values[i] == y->values[i] ? 0 : strcmp(x->values[i], y->values[i]);
        if (r)
            return r;
    }
    return strcmp(x->node->name, y->node->name);
}

static const char **level_values(const struct sl_topo *t, const struct topo_levels *l,
                                 const struct topo_node *n, struct sl_arena *mem) {
    const char *v[SL_TOPO_MAX_LEVELS];
    for (uint32_t i = 0; i < l->n; i++)
        if (!(v[i] = sl_labels_get(&n->labels, sl_sym_str(&t->syms, l->v[i]))))
            return NULL;
    return memcpy(sl_arena_alloc(mem, l->n * sizeof *v), v, l->n * sizeof *v);
}

/* The nodes of the flavor, in the order of their values. Nodes that share a hostname are one leaf:
 * the first by name has its values. */
static struct entry *collect_nodes(const struct sl_topo *t, const struct topo_flavor *f,
                                   const struct topo_levels *l, bool hosts, struct sl_arena *mem,
                                   uint32_t *ret_n) {
    struct entry *v = sl_arena_alloc0(mem, t->nodes.n, sizeof *v);
    uint32_t n = 0, n_levels = l->n;
    for (uint32_t i = 0; i < t->nodes.n; i++) {
        struct topo_node *x = t->nodes.v[i];
        if (!x->known || !x->usable || !topo_flavor_has(f, &x->labels))
            continue;
        v[n] = (struct entry){.values = level_values(t, l, x, mem), .node = x};
        n += v[n].values != NULL;
    }
    if (hosts) {
        qsort_r(v, n, sizeof *v, by_host, &n_levels);
        for (uint32_t i = 1; i < n; i++)
            if (strcmp(v[i].values[l->n - 1], v[i - 1].values[l->n - 1]) == 0)
                v[i].values = v[i - 1].values;
    }
    qsort_r(v, n, sizeof *v, by_values, &n_levels);
    *ret_n = n;
    return v;
}

/* The first level at which two neighbours differ; n_levels: they share a leaf. */
static uint32_t first_difference(const struct entry *a, const struct entry *b, uint32_t n_levels) {
    uint32_t i = 0;
    while (i < n_levels && strcmp(a->values[i], b->values[i]) == 0)
        i++;
    return i;
}

static void grow_tree(struct sl_topo *t, struct topo_tree *tree, sl_sym flavor,
                      const struct entry *v, uint32_t n) {
    uint32_t n_levels = tree->levels->n, at[SL_TOPO_MAX_LEVELS];
    memcpy(at, tree->first, n_levels * sizeof at[0]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = i ? first_difference(&v[i - 1], &v[i], n_levels) : 0;
        tree->nodes[i] = v[i].node;
        for (uint32_t l = d; l < n_levels; l++) {
            uint32_t self = at[l]++;
            tree->doms[self] = (struct topo_dom){.value = v[i].values[l]};
            if (l + 1 < n_levels)
                tree->doms[self].child = at[l + 1];
            if (l > 0) {
                tree->doms[self].parent = at[l - 1] - 1;
                tree->doms[at[l - 1] - 1].n_children++;
            }
        }
        struct topo_leaf *leaf = &tree->leaves[at[n_levels - 1] - tree->first[n_levels - 1] - 1];
        if (d < n_levels) {
            const char *const *values = v[i].values;
            uint32_t n_values;
            sl_sym owner = topo_spot_name(t, flavor, tree->levels, &values, &n_values);
            *leaf =
                (struct topo_leaf){.spot = topo_spot_ref(t, owner, values, n_values), .node = i};
            sl_map_add(&tree->leaf_of, leaf->spot, (uint32_t)(leaf - tree->leaves));
        }
        leaf->n_nodes++;
    }
}

static void build_tree(struct sl_topo *t, struct topo_flavor *f, const struct topo_levels *l) {
    struct topo_tree *tree = &f->tree;
    struct sl_arena mem;
    uint32_t n, of_level[SL_TOPO_MAX_LEVELS] = {0};
    sl_arena_init(&mem, SIZE_MAX / 4);
    tree->levels = l;
    tree->by_host = l->v[l->n - 1] == t->hostname;
    const struct entry *v = collect_nodes(t, f, l, tree->by_host, &mem, &n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t d = i ? first_difference(&v[i - 1], &v[i], l->n) : 0; d < l->n; d++)
            of_level[d]++;
    for (uint32_t i = 0; i < l->n; i++)
        tree->first[i + 1] = tree->first[i] + of_level[i];
    sl_arena_init(&tree->mem, SIZE_MAX / 4);
    tree->doms = sl_arena_alloc0(&tree->mem, tree->first[l->n], sizeof *tree->doms);
    tree->counts = sl_arena_alloc0(&tree->mem, tree->first[l->n], sizeof *tree->counts);
    tree->leaves = sl_arena_alloc0(&tree->mem, of_level[l->n - 1], sizeof *tree->leaves);
    tree->nodes = sl_arena_alloc0(&tree->mem, n, sizeof(struct topo_node *));
    grow_tree(t, tree, f->name, v, n);
    sl_arena_done(&mem);
}

void topo_tree_done(struct sl_topo *t, struct topo_tree *tree) {
    if (tree->levels) {
        for (uint32_t i = 0; i < tree->leaf_of.n; i++)
            topo_spot_unref(t, tree->leaves[i].spot);
        sl_map_done(&tree->leaf_of);
        sl_arena_done(&tree->mem);
    }
    *tree = (struct topo_tree){0};
}

struct topo_tree *topo_tree_of(struct sl_topo *t, struct topo_flavor *f) {
    const struct topo_levels *l = topo_levels_of(t, f->topology);
    if (f->stale || !l) {
        topo_tree_done(t, &f->tree);
        f->stale = !l;
        if (l)
            build_tree(t, f, l);
    }
    return l ? &f->tree : NULL;
}

bool topo_leaf_capacity(const struct sl_topo *t, const struct topo_tree *tree,
                        const struct topo_leaf *l, sl_sym res, sl_amount *ret) {
    __int128 v = 0;
    bool known = false;
    for (uint32_t i = 0; i < l->n_nodes; i++) {
        const struct topo_node *n = tree->nodes[l->node + i];
        for (uint32_t k = 0; k < n->has.n; k++)
            if (n->has.v[k].res == res) {
                v += n->has.v[k].v;
                known = true;
            }
        __int128 others = topo_tally_get(&n->others, res);
        v -= others > 0 ? others : 0;
    }
    v -= topo_tally_get(&t->spots.v[l->spot].used, res);
    *ret = v <= 0 ? 0 : v >= INT64_MAX ? INT64_MAX : (sl_amount)v;
    return known;
}
