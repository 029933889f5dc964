/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One random history: a world, a list of steps, the engine and the oracle fed with the same facts,
 * and what is compared after every cycle. Everything follows from the seed; a step has a generator
 * of its own, so that leaving steps out (to find a shorter history) leaves the others as they are.
 */
#ifndef SL_TESTS_CORE_ENGINE_PROPERTIES_H
#define SL_TESTS_CORE_ENGINE_PROPERTIES_H

#include "core/base/prng.h"
#include "core/engine/engine.h"
#include "oracle.h"

enum { PROP_STEPS = 80, PROP_JOBS = 40 };

/* What may appear in a history; each can be switched off by name to narrow a failure down. */
#define PROP_FEATURES(X)                                                                           \
    X(FAIR, "fair", "fair sharing")                                                                \
    X(PREEMPT, "preempt", "any preemption policy")                                                 \
    X(BORROW_WITHIN, "borrow-within", "borrowWithinCohort")                                        \
    X(STRICT, "strict", "StrictFIFO queues")                                                       \
    X(BEST_EFFORT, "best-effort", "BestEffortFIFO queues")                                         \
    X(COHORT, "cohort", "cohorts at all")                                                          \
    X(DEEP, "deep", "cohorts below cohorts, and cohorts with quota")                               \
    X(LIMITS, "limits", "borrowing and lending limits")                                            \
    X(FLAVORS, "flavors", "more than one flavor")                                                  \
    X(GROUPS, "groups", "more than one resource group")                                            \
    X(MEMORY, "memory", "a second resource")                                                       \
    X(PODS, "pods", "the pods resource")                                                           \
    X(UNCOVERED, "uncovered", "requests for a resource no queue has")                              \
    X(TAINTS, "taints", "taints, labels, selectors, affinity")                                     \
    X(FUNGIBILITY, "fungibility", "TryNextFlavor and preference")                                  \
    X(PODSETS, "podsets", "several podsets")                                                       \
    X(TOGETHER, "together", "podset groups")                                                       \
    X(PARTIAL, "partial", "partial admission")                                                     \
    X(RECLAIM, "reclaim", "reclaimable pods")                                                      \
    X(PRIORITY, "priority", "priorities")                                                          \
    X(REPRIO, "reprio", "priority changes")                                                        \
    X(GATES, "gates", "feature gates other than the defaults")                                     \
    X(WEIGHTS, "weights", "fair weights other than 1")                                             \
    X(EDIT, "edit", "live edits of quotas and policies")                                           \
    X(MOVE, "move", "live edits of the tree's edges")                                              \
    X(STOP, "stop", "stop policies")                                                               \
    X(LQ, "lq", "LocalQueues that come, go and point elsewhere, workloads that change queue")      \
    X(NAMESPACE, "namespace", "namespace selectors")                                               \
    X(INACTIVE, "inactive", "deactivation, gates, holds, invalid workloads")                       \
    X(FLAVOR_OPS, "flavor-ops", "flavors that disappear and come back")                            \
    X(LATE, "late", "ClusterQueues created and deleted in the middle")                             \
    X(UNLIMITED, "unlimited", "unlimited quotas")

enum prop_feature {
#define X(id, name, text) PROP_##id,
    PROP_FEATURES(X)
#undef X
        PROP_N_FEATURES
};

struct run {
    uint64_t seed;
    uint64_t off;          /* features switched off by hand, bit per enum prop_feature */
    uint64_t on;           /* features of this history */
    bool skip[PROP_STEPS]; /* steps left out */
    bool verbose;          /* print a trace */
    bool oracle_only;
    bool explain; /* also check explanations */
    struct sl_prng rng;
    struct orc *o;
    struct sl_engine *e;
    struct sl_engine *plain; /* the same facts, never explained; may be NULL */
    struct sl_effects fx, fx_plain;
    sl_wl_id id[ORC_WLS];
    sl_time now;
    int n_steps, n_cqs, n_cohorts, n_flavors, n_lqs, n_res;
    int created;
    uint64_t digest;
    uint64_t evictions; /* preemptions in the present epoch */
    bool lowered;       /* a quota was lowered: usage may stand above it */
    bool failed;
    char why[512];
    int failed_step;
};

static inline bool prop_has(const struct run *r, enum prop_feature f) {
    return (r->on >> f) & 1;
}
static inline bool prop_one_in(struct run *r, uint64_t n) {
    return sl_prng_one_in(&r->rng, n);
}
static inline int prop_pick(struct run *r, int lo, int hi) {
    return (int)sl_prng_range(&r->rng, lo, hi);
}

/* The first thing that is wrong; later ones are consequences. */
void prop_fail(struct run *r, const char *fmt, ...) _printf_(2, 3);
/* A line of the trace. */
void prop_tell(struct run *r, const char *fmt, ...) _printf_(2, 3);

/* prop_gen.c: the world and what happens in it */
void prop_world(struct run *r);
void prop_step(struct run *r);
struct orc_wl_spec prop_random_workload(struct run *r);

/* prop_facts.c: applies a fact to both sides */
extern const char *const prop_res_name[ORC_RES];
void prop_config(struct run *r);
void prop_flavor(struct run *r, int f, const struct orc_flavor *spec);
void prop_flavor_gone(struct run *r, int f);
void prop_cohort(struct run *r, int node, const struct orc_node *spec);
void prop_cohort_gone(struct run *r, int node);
void prop_cq(struct run *r, int cq, const struct orc_node *spec, const struct orc_cq *policy);
void prop_cq_gone(struct run *r, int cq);
void prop_lq(struct run *r, int lq, const struct orc_lq *spec);
void prop_lq_gone(struct run *r, int lq);
void prop_ns(struct run *r, int ns, int team);
void prop_create(struct run *r, const struct orc_wl_spec *spec);
void prop_update(struct run *r, int w, const struct orc_wl_spec *spec);
void prop_delete(struct run *r, int w);
void prop_finish(struct run *r, int w);
void prop_release(struct run *r, int w);
void prop_reclaimable(struct run *r, int w, const int *counts);

/* prop_compare.c: cycles and what must hold after them */
void prop_cycle(struct run *r);
/* After the history: whatever can run gets to run. */
void prop_epilogue(struct run *r);

#endif
