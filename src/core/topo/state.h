/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private state of the topologies.
 *
 *     nodes    capacity and labels of each, and the usage of unrelated pods; a record exists as
 * long as there is either. spots    places by name, and how much is held there: a hostname for all
 * flavors, or the values of all levels within one flavor. A spot exists while something is held
 * there or a tree has it. flavors  each has a tree of domains over dense arrays, built when it is
 * first needed and again after the nodes, levels or labels it is made of have changed ('stale').
 *     holds    what is held under a key: spots and counts, and the usage of one pod.
 *
 * Sums of amounts are 128 bits wide, so that adding and removing are exact inverses.
 */
#ifndef SL_CORE_TOPO_STATE_H
#define SL_CORE_TOPO_STATE_H

#include "core/base/collection/sym.h"
#include "core/topo/topo.h"

struct topo_amount {
    sl_sym res;
    __int128 v;
};

/* Amounts by resource; a few, so they are found by walking. */
struct topo_tally {
    struct topo_amount *v;
    uint32_t n, cap;
};

struct topo_node {
    char *name;
    uint32_t at;         /* in the list of nodes */
    bool known, usable;  /* not known: only used by pods */
    struct sl_arena mem; /* labels, taints */
    struct sl_labels labels;
    const struct sl_taint *taints;
    uint32_t n_taints;
    struct topo_tally has, others; /* allocatable; used by pods without a topology assignment */
};

struct topo_levels {
    sl_sym topology;
    uint32_t n;
    sl_sym v[SL_TOPO_MAX_LEVELS]; /* top first */
};

struct topo_spot {
    sl_sym flavor; /* 0: a hostname, for all of them */
    uint32_t refs, n_values;
    const char **values; /* one piece of memory with their text */
    struct topo_tally used;
};

/* One value of a level, within its parent. Those of one level are adjacent, in the order of their
 * values from the top, so that numbers compare as values do and children are neighbours. */
struct topo_dom {
    const char *value; /* a label of a node */
    uint32_t parent, child, n_children;
};

struct topo_leaf {
    uint32_t spot;
    uint32_t node, n_nodes; /* in the tree's nodes; the first represents all */
};

/* What fits into a domain, for the request at hand (count.c). */
struct topo_count {
    int64_t pods, slices;
    int64_t pods_l, slices_l; /* ... beside the leader */
    bool leader;              /* the leader fits */
};

struct topo_tree {
    struct sl_arena mem;
    const struct topo_levels *levels;
    bool by_host;
    uint32_t first[SL_TOPO_MAX_LEVELS + 1]; /* domain of each level; the last is their number */
    struct topo_dom *doms;
    struct topo_count *counts; /* one per domain */
    struct topo_leaf *leaves;
    struct topo_node **nodes;
    struct sl_map leaf_of; /* by spot */
};

struct topo_flavor {
    sl_sym name, topology; /* topology 0: none */
    struct sl_arena mem;   /* labels, tolerations */
    struct sl_labels labels;
    const struct sl_toleration *tolerations;
    uint32_t n_tolerations;
    bool stale;
    struct topo_tree tree;
};

/* What one pod takes, in the order of the resources' names; itself counted as one of "pods". */
struct topo_pod_request {
    sl_sym res;
    sl_amount v;
};

struct topo_placement {
    uint32_t spot;
    int32_t count;
};

struct topo_part { /* one podset */
    struct topo_levels levels;
    struct topo_placement *v;
    struct topo_pod_request *requests;
    uint32_t n, n_requests;
};

struct topo_hold {
    uint64_t key;
    bool aside; /* it counts as free for the time being */
    uint32_t n;
    struct topo_part v[];
};

struct sl_topo {
    struct sl_syms syms; /* resources, flavors, topologies, levels */
    sl_sym pods, hostname;
    SL_VEC(struct topo_node *) nodes;
    struct sl_map node_by_name;
    SL_VEC(struct topo_levels *) topologies;
    SL_VEC(struct topo_flavor *) flavors;
    SL_VEC(struct topo_spot) spots;
    SL_VEC(uint32_t) spare; /* spots */
    struct sl_map spot_by_name;
    SL_VEC(struct topo_hold *) holds;
    struct sl_map hold_by_key;
    uint32_t refused; /* podset */
};

/* topo.c */
void topo_tally_add(struct topo_tally *t, sl_sym res, __int128 v);
__int128 topo_tally_get(const struct topo_tally *t, sl_sym res);
uint32_t topo_spot_find(const struct sl_topo *t, sl_sym flavor, const char *const *values,
                        uint32_t n);
uint32_t topo_spot_ref(struct sl_topo *t, sl_sym flavor, const char *const *values, uint32_t n);
void topo_spot_unref(struct sl_topo *t, uint32_t at);
/* Adds what the part takes to its spots (sign 1), or takes it away (-1). */
void topo_part_use(struct sl_topo *t, const struct topo_part *p, int sign);
void topo_part_done(struct sl_topo *t, struct topo_part *p);
struct topo_hold *topo_hold_of(const struct sl_topo *t, uint64_t key);
struct topo_hold *topo_hold_new(uint64_t key, uint32_t n);
void topo_hold_put(struct sl_topo *t, struct topo_hold *h);
/* All of its parts (topo_part_use). */
void topo_hold_use(struct sl_topo *t, const struct topo_hold *h, int sign);
void topo_hold_free(struct sl_topo *t, struct topo_hold *h);
/* The requests of one pod; the caller frees them. */
struct topo_pod_request *topo_requests_of(struct sl_topo *t, const struct sl_request *v, uint32_t n,
                                          uint32_t *ret_n);
/* The name of a domain's spot: the hostname, or all values under the flavor. */
sl_sym topo_spot_name(const struct sl_topo *t, sl_sym flavor, const struct topo_levels *l,
                      const char *const **values, uint32_t *n);

/* facts.c */
struct topo_flavor *topo_flavor_of(const struct sl_topo *t, const char *name);
struct topo_levels *topo_levels_of(const struct sl_topo *t, sl_sym topology);
bool topo_flavor_has(const struct topo_flavor *f, const struct sl_labels *l);
void topo_node_free(struct topo_node *n);
void topo_flavor_free(struct sl_topo *t, struct topo_flavor *f);

/* tree.c */
/* The flavor's current tree; NULL if its topology does not exist. */
struct topo_tree *topo_tree_of(struct sl_topo *t, struct topo_flavor *f);
void topo_tree_done(struct sl_topo *t, struct topo_tree *tree);
/* What is free in a leaf; false if no node there has the resource. */
bool topo_leaf_capacity(const struct sl_topo *t, const struct topo_tree *tree,
                        const struct topo_leaf *l, sl_sym res, sl_amount *ret);

/* count.c */
struct topo_need {
    sl_sym res;
    sl_amount pod, leader;
};

/* Why a leaf is not usable, and how many such leaves there are. */
#define MAX_REASONS 64
enum topo_exclusion { EX_SELECTOR, EX_AFFINITY, EX_TAINT, EX_RESOURCE };
struct topo_reason {
    enum topo_exclusion kind;
    sl_sym res;
    const struct sl_taint *taint;
    uint32_t n;
};

/* A request in the terms of one tree. */
struct topo_query {
    struct sl_topo *t;
    const struct topo_flavor *f;
    struct topo_tree *tree;
    const struct sl_topo_podset *p;
    struct topo_need *needs;
    uint32_t n_needs;
    int32_t count;
    bool leader;          /* one more pod, of another podset */
    bool required, least; /* least: LeastFreeCapacity, else BestFit */
    bool climbs;          /* preferred: one level up if there is no capacity */
    uint32_t level, slice_level;
    /* Pods come in lumps of this size at and above the slice level, and of unit[l] at level l
     * below. */
    int32_t size, unit[SL_TOPO_MAX_LEVELS];
    struct topo_reason reasons[MAX_REASONS];
    uint32_t n_reasons;
};

void topo_count_all(struct topo_query *a);
/* ". Total nodes: 3; excluded: ...", or "". */
const char *topo_reasons_text(const struct topo_query *a, struct sl_arena *mem);

/* fit.c */
struct topo_share {
    uint32_t dom; /* a leaf in the end */
    int32_t pods;
    bool leader;
};
struct topo_shares {
    struct topo_share *v;
    uint32_t n, cap;
};
/* The number of a level; that of all levels if there is none of this name. */
uint32_t topo_level_of(const struct topo_query *a, const char *name);
/* Finds leaves for a request whose counts are computed; NULL, or why there are none. */
const char *topo_find_leaves(struct topo_query *a, struct sl_arena *mem, struct topo_shares *ret);

#endif
