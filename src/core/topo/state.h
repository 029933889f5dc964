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

struct amount {
    sl_sym res;
    __int128 v;
};

/* Amounts by resource; a few, so they are found by walking. */
struct tally {
    struct amount *v;
    uint32_t n, cap;
};

struct node {
    char *name;
    uint32_t at;         /* in the list of nodes */
    bool known, usable;  /* not known: only used by pods */
    struct sl_arena mem; /* labels, taints */
    struct sl_labels labels;
    const struct sl_taint *taints;
    uint32_t n_taints;
    struct tally has, others; /* allocatable; used by pods without a topology assignment */
};

struct levels {
    sl_sym topology;
    uint32_t n;
    sl_sym v[SL_TOPO_MAX_LEVELS]; /* top first */
};

struct spot {
    sl_sym flavor; /* 0: a hostname, for all of them */
    uint32_t refs, n_values;
    const char **values; /* one piece of memory with their text */
    struct tally used;
};

/* One value of a level, within its parent. Those of one level are adjacent, in the order of their
 * values from the top, so that numbers compare as values do and children are neighbours. */
struct dom {
    const char *value; /* a label of a node */
    uint32_t parent, child, n_children;
};

struct leaf {
    uint32_t spot;
    uint32_t node, n_nodes; /* in the tree's nodes; the first represents all */
};

/* What fits into a domain, for the request at hand (count.c). */
struct count {
    int64_t pods, slices;
    int64_t pods_l, slices_l; /* ... beside the leader */
    bool leader;              /* the leader fits */
};

struct tree {
    struct sl_arena mem;
    const struct levels *levels;
    bool by_host;
    uint32_t first[SL_TOPO_MAX_LEVELS + 1]; /* domain of each level; the last is their number */
    struct dom *doms;
    struct count *counts; /* one per domain */
    struct leaf *leaves;
    struct node **nodes;
    struct sl_map leaf_of; /* by spot */
};

struct flavor {
    sl_sym name, topology; /* topology 0: none */
    struct sl_arena mem;   /* labels, tolerations */
    struct sl_labels labels;
    const struct sl_toleration *tolerations;
    uint32_t n_tolerations;
    bool stale;
    struct tree tree;
};

/* What one pod takes, in the order of the resources' names; itself counted as one of "pods". */
struct want {
    sl_sym res;
    sl_amount v;
};

struct stand {
    uint32_t spot;
    int32_t count;
};

struct part { /* one podset */
    struct levels levels;
    struct stand *v;
    struct want *wants;
    uint32_t n, n_wants;
};

struct hold {
    uint64_t key;
    bool aside; /* it counts as free for the time being */
    uint32_t n;
    struct part v[];
};

struct sl_topo {
    struct sl_syms syms; /* resources, flavors, topologies, levels */
    sl_sym pods, hostname;
    SL_VEC(struct node *) nodes;
    struct sl_map node_by_name;
    SL_VEC(struct levels *) topologies;
    SL_VEC(struct flavor *) flavors;
    SL_VEC(struct spot) spots;
    SL_VEC(uint32_t) spare; /* spots */
    struct sl_map spot_by_name;
    SL_VEC(struct hold *) holds;
    struct sl_map hold_by_key;
    uint32_t refused; /* podset */
};

/* topo.c */
void tally_add(struct tally *t, sl_sym res, __int128 v);
__int128 ttally_get(const struct tally *t, sl_sym res);
uint32_t spot_find(const struct sl_topo *t, sl_sym flavor, const char *const *values, uint32_t n);
uint32_t spot_ref(struct sl_topo *t, sl_sym flavor, const char *const *values, uint32_t n);
void spot_unref(struct sl_topo *t, uint32_t at);
/* Adds what the part takes to its spots (sign 1), or takes it away (-1). */
void part_use(struct sl_topo *t, const struct part *p, int sign);
void part_done(struct sl_topo *t, struct part *p);
struct hold *hold_of(const struct sl_topo *t, uint64_t key);
struct hold *hold_new(uint64_t key, uint32_t n);
void hold_put(struct sl_topo *t, struct hold *h);
/* All of its parts (part_use). */
void hold_use(struct sl_topo *t, const struct hold *h, int sign);
void hold_free(struct sl_topo *t, struct hold *h);
/* The requests of one pod; the caller frees them. */
struct want *wants_of(struct sl_topo *t, const struct sl_request *v, uint32_t n, uint32_t *ret_n);
/* The name of a domain's spot: the hostname, or all values under the flavor. */
sl_sym spot_name(const struct sl_topo *t, sl_sym flavor, const struct levels *l,
                 const char *const **values, uint32_t *n);

/* facts.c */
struct flavor *flavor_of(const struct sl_topo *t, const char *name);
struct levels *levels_of(const struct sl_topo *t, sl_sym topology);
bool flavor_has(const struct flavor *f, const struct sl_labels *l);
void tnode_free(struct node *n);
void flavor_free(struct sl_topo *t, struct flavor *f);

/* tree.c */
/* The flavor's current tree; NULL if its topology does not exist. */
struct tree *tree_of(struct sl_topo *t, struct flavor *f);
void tree_done(struct sl_topo *t, struct tree *tree);
/* What is free in a leaf; false if no node there has the resource. */
bool leaf_room(const struct sl_topo *t, const struct tree *tree, const struct leaf *l, sl_sym res,
               sl_amount *ret);

/* count.c */
struct need {
    sl_sym res;
    sl_amount pod, leader;
};

/* Why a leaf is not usable, and how many such leaves there are. */
#define MAX_REASONS 64
enum exclusion { EX_SELECTOR, EX_AFFINITY, EX_TAINT, EX_RESOURCE };
struct reason {
    enum exclusion kind;
    sl_sym res;
    const struct sl_taint *taint;
    uint32_t n;
};

/* A request in the terms of one tree. */
struct ask {
    struct sl_topo *t;
    const struct flavor *f;
    struct tree *tree;
    const struct sl_topo_podset *p;
    struct need *needs;
    uint32_t n_needs;
    int32_t count;
    bool leader;          /* one more pod, of another podset */
    bool required, least; /* least: LeastFreeCapacity, else BestFit */
    bool climbs;          /* preferred: one level up if there is no capacity */
    uint32_t level, slice_level;
    /* Pods come in lumps of this size at and above the slice level, and of unit[l] at level l
     * below. */
    int32_t size, unit[SL_TOPO_MAX_LEVELS];
    struct reason reasons[MAX_REASONS];
    uint32_t n_reasons;
};

void count_all(struct ask *a);
/* ". Total nodes: 3; excluded: ...", or "". */
const char *reasons_text(const struct ask *a, struct sl_arena *mem);

/* fit.c */
struct share {
    uint32_t dom; /* a leaf in the end */
    int32_t pods;
    bool leader;
};
struct shares {
    struct share *v;
    uint32_t n, cap;
};
/* The number of a level; that of all levels if there is none of this name. */
uint32_t level_of(const struct ask *a, const char *name);
/* Finds leaves for a request whose counts are computed; NULL, or why there are none. */
const char *fit(struct ask *a, struct sl_arena *mem, struct shares *ret);

#endif
