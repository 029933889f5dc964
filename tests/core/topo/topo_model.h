/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small cluster as plain numbers, and a naive model of what fits into it that knows no tree and
 * no sums: it looks at every leaf anew, and tries the leader on each of them.
 */
#ifndef SL_TESTS_CORE_TOPO_TOPO_MODEL_H
#define SL_TESTS_CORE_TOPO_TOPO_MODEL_H

#include "core/base/prng.h"
#include "core/topo/topo.h"

#define NODES 12
#define KEYS 6

/* Values of labels, in their order. */
extern const char *const topo_words[NODES + 1];

struct nnode {
    char name[4];
    bool known, usable, taint, disk, pool;
    int block, rack, host, cpu, pods; /* pods -1: it does not say */
    int o_cpu, o_pods;                /* of others */
};

struct request {
    uint32_t n;
    struct sl_topo_podset v[2];
    struct sl_request cpu[2];
    int per_pod[2];
    struct sl_label selector;
    struct sl_toleration toleration;
};

struct holding {
    bool on;
    struct request r;
    struct sl_arena mem;
    const struct sl_topo_place *places;
};

struct world {
    uint64_t seed;
    struct sl_prng rnd;
    uint32_t n_levels;
    const char *const *levels;
    struct nnode nodes[NODES];
    struct holding held[KEYS + 1]; /* 0: what a slice keeps of the one before it */
    struct sl_topo *t;
    struct request refused;
    bool has_refused, failed;
    uint64_t digest;
};

struct nleaf {
    int path[3];
    const struct nnode *first; /* speaks for all of them */
    int cpu, pods;
    bool counts_pods;
};

struct nmodel {
    const struct world *w;
    struct nleaf v[NODES];
    int n;
    bool hosts;
};

/* The leaves of a flavor, with what is free on each. */
void look(const struct world *w, const char *flavor, struct nmodel *m);
int leaf_fits(const struct nmodel *m, const struct nleaf *l, const struct sl_topo_podset *p,
              int cpu);
uint32_t level_at(const struct world *w, const char *name);
bool same_domain(const struct nleaf *a, const struct nleaf *b, uint32_t level);
/* Is this the first leaf of its domain at this level? It stands for the domain. */
bool stands_for(const struct nmodel *m, int i, uint32_t level);
/* How many pods of the place are in the domain of this leaf. */
int count_in(const struct nmodel *m, const struct sl_topo_place *p, int rep, uint32_t level);
/* Is there room for the request, a single podset or workers with their leader, beyond what is kept?
 */
bool room(const struct world *w, const struct request *r, int kept);

#endif
