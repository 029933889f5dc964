/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies: possible locations of the pods of a workload, and the usage there. Pure, like the
 * engine, which calls it through its placer interface.
 *
 * A topology is a list of node labels from the top level to the lowest. A flavor that names one has
 * a tree of domains, made of the nodes that carry the flavor's labels and a label for every level;
 * a domain is one value of a level within its parent. The lowest domains are the leaves: they have
 * capacity (that of their nodes), and each pod of a workload takes some of it. If the lowest level
 * is the hostname, a leaf is identified by the hostname alone, and flavors share it: capacity used
 * by one flavor's workloads is not available to others.
 *
 * Everything is passed in again whenever it changed; calls are idempotent. Names are copied. Equal
 * calls give equal results: domains are ordered by their values, never by time of arrival.
 */
#ifndef SL_CORE_TOPO_TOPO_H
#define SL_CORE_TOPO_TOPO_H

#include "core/base/arena.h"
#include "core/model/specs.h"

#define SL_TOPO_MAX_LEVELS 16
#define SL_TOPO_MAX_SLICES 3 /* layers of podsetSliceRequiredTopologyConstraints */
#define SL_TOPO_HOSTNAME "kubernetes.io/hostname"

struct sl_topo;

struct sl_topo *sl_topo_new(void);
void sl_topo_free(struct sl_topo *t);

/* ---- what there is ---- */

struct sl_topo_node {
    const char *name;
    struct sl_labels labels;
    const struct sl_taint *taints;
    uint32_t n_taints;
    const struct sl_request *allocatable;
    uint32_t n_allocatable;
    bool usable; /* ready and schedulable */
};

/* Each returns whether there is a change that may free capacity (so that refused workloads are
 * worth another evaluation). */
bool sl_topo_node(struct sl_topo *t, const struct sl_topo_node *n);
bool sl_topo_node_gone(struct sl_topo *t, const char *name);
/* levels: node labels, top first. */
bool sl_topo_levels(struct sl_topo *t, const char *topology, const char *const *levels, uint32_t n);
bool sl_topo_levels_gone(struct sl_topo *t, const char *topology);
/* topology "": the flavor has none (any more). */
bool sl_topo_flavor(struct sl_topo *t, const struct sl_flavor_spec *f, const char *topology);
bool sl_topo_flavor_gone(struct sl_topo *t, const char *flavor);
/* Pods without a topology assignment use a node too: this much more (n_pods > 0) or less (< 0) of
 * it is in use; the requests are those of one pod. The node may be unknown yet. */
bool sl_topo_add_foreign_pods(struct sl_topo *t, const char *node, const struct sl_request *v,
                              uint32_t n, int32_t n_pods);

/* Does the flavor name a topology? */
bool sl_topo_has(const struct sl_topo *t, const char *flavor);
/* Does the topology it names exist? */
bool sl_topo_known(const struct sl_topo *t, const char *flavor);

/* ---- requests ---- */

enum sl_topo_mode {
    SL_TOPO_IMPLIED, /* no explicit request, but its flavor has a topology */
    SL_TOPO_REQUIRED,
    SL_TOPO_PREFERRED,
    SL_TOPO_UNCONSTRAINED,
};

struct sl_topo_request {
    enum sl_topo_mode mode;
    const char *level; /* REQUIRED, PREFERRED */
    struct {
        const char *level;
        int32_t size;
    } slices[SL_TOPO_MAX_SLICES]; /* outer first */
    uint32_t n_slices;
};

struct sl_topo_domain {
    const char *const *values; /* one per level of 'levels' */
    int32_t count;             /* pods */
};

/* Domains of the pods of one podset, in the order of the values of all levels. Only the hostname
 * level is named if it is the lowest, else all of them. */
struct sl_topo_place {
    const char *const *levels;
    uint32_t n_levels;
    const struct sl_topo_domain *domains;
    uint32_t n_domains; /* 0: nothing was placed (no topology) */
};

struct sl_topo_podset {
    const char *name;
    const char *flavor; /* of those assigned to it, the one with a topology; "" if none has one */
    const char *group;  /* podSetGroupName, "" */
    int32_t count;
    const struct sl_request *requests; /* of one pod */
    uint32_t n_requests;
    struct sl_labels node_selector;
    struct sl_affinity affinity;
    const struct sl_toleration *tolerations;
    uint32_t n_tolerations;
    struct sl_topo_request request;
    /* An elastic slice keeps the domains of its predecessor, and requests the rest. */
    struct sl_topo_place before;
};

/*
 * Finds domains for every podset besides all that is held, and holds them under this key; what the
 * key held before is released. False: 'why' has the reason in Kueue's wording, and nothing is held.
 * 'replaces' (0: none): the key that is replaced; it counts as free, and continues to be held until
 * it is released.
 */
bool sl_topo_place(struct sl_topo *t, uint64_t key, uint64_t replaces,
                   const struct sl_topo_podset *v, uint32_t n, char *why, size_t why_len);
/* The podset that the last refusal was about. */
uint32_t sl_topo_refused(const struct sl_topo *t);
/* Holds an existing assignment (found at the start). Domains that do not exist are held all the
 * same, and count when they appear again. */
void sl_topo_hold(struct sl_topo *t, uint64_t key, const struct sl_topo_podset *v,
                  const struct sl_topo_place *places, uint32_t n);
void sl_topo_release(struct sl_topo *t, uint64_t key);
/* Speculation: what the key holds counts as free, until reset. */
void sl_topo_set_aside(struct sl_topo *t, uint64_t key, bool aside);
/* The places held under the key, one per podset in the order given; in the arena. Returns how many
 * podsets, 0 if nothing is held. If that makes the arena full, they are not whole. */
uint32_t sl_topo_held(const struct sl_topo *t, uint64_t key, struct sl_arena *a,
                      const struct sl_topo_place **ret);

/* Drops names that are not in use; due when they have doubled since the last time. */
bool sl_topo_sweep_due(const struct sl_topo *t);
void sl_topo_sweep(struct sl_topo *t);

#endif
