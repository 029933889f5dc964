/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A random small world as a plain struct that can be told to any number of engines, each in a copy
 * of its own. The same world gives the same copy; a changed number is told again to the copy at
 * hand.
 */
#ifndef SL_TESTS_CORE_ENGINE_EXPLAIN_WORLD_H
#define SL_TESTS_CORE_ENGINE_EXPLAIN_WORLD_H

#include "core/engine/engine.h"

enum {
    COHORTS = 3,
    CQS = 5,
    FLAVORS = 3,
    RES = 2,
    PODSETS = 2,
    WLS = 20,
    LQS_EACH = 2,
    ROUNDS = 10, /* of cycles and releases before a run is given up */
};

extern const char *const resources[RES];
extern bool verbose; /* every cycle prints its effects */

#define NOW (1000 * SL_SEC)

/* ---- a world ---- */

struct node_says {
    int parent; /* cohort, -1: none */
    bool listed;
    struct sl_quota q[FLAVORS][RES];
};

struct cq_says {
    struct node_says node;
    struct sl_cq_spec policy; /* only its numbers */
    enum sl_stop stop, lq_stop[LQS_EACH];
};

struct podset_says {
    int32_t count, min;
    int64_t ask[RES]; /* whole units per pod */
    bool tolerates;
    int zone; /* -1: any */
};

struct wl_says {
    int cq, lq;
    int32_t priority;
    sl_time created;
    bool inactive, gated, on_hold;
    uint32_t n;
    struct podset_says ps[PODSETS];
};

struct world {
    uint64_t seed;
    struct sl_config config;
    int n_cohorts, n_cqs, n_flavors, n_res, n_running, n_wls;
    bool split;  /* each resource has a group and flavors of its own */
    bool cycled; /* one cycle has run since the waiting ones came */
    struct node_says cohorts[COHORTS];
    struct cq_says cqs[CQS];
    bool tainted[FLAVORS];
    int zone[FLAVORS];
    struct wl_says wls[WLS]; /* the first n_running are there to hold quota */
};

/* ---- a copy of it in an engine ---- */

struct copy {
    struct sl_engine *e;
    struct sl_effects out;
    sl_wl_id id[WLS];
    bool stops;      /* stop policies are applied */
    bool stale[WLS]; /* was being evicted before this copy began */
};

void world_make(struct world *w, uint64_t seed);
/* "q3": the fourth ClusterQueue; c cohorts, f flavors, l LocalQueues, w workloads. */
const char *name(char kind, int i);
void build(struct copy *x, const struct world *w);
/* A fresh copy without other pending workloads. */
void build_alone(struct copy *x, const struct world *w, int keep);
void copy_done(struct copy *x);

void must(int r, const struct sl_err *err);
void tell_wl(struct copy *x, enum sl_fact_kind kind, int i);
void tell_cohort(struct copy *x, const struct world *w, int i);
void tell_cq(struct copy *x, const struct world *w, int i);
void tell_lq(struct copy *x, const struct world *w, int cq, int k);
void tell_workload(struct copy *x, const struct world *w, int i);

struct sl_engine_wl_view look(const struct copy *x, int i);
bool holds(const struct copy *x, int i);
void cycle(struct copy *x);
/* Did the last cycle evict any? */
bool evicts(const struct copy *x);
/* Stops what is evicted. Returns whether there was anything. */
bool release(struct copy *x, const struct world *w);
/* Cycles, with evicted work stopped in between. Is the workload let in? */
bool admitted_in_time(struct copy *x, const struct world *w, int i);

#endif
