/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision engine: queue order, quota tree, flavors, fair share, preemption, explanation.
 *
 * Pure: time comes in with facts and 'now'; the same facts give the same effects, byte for byte.
 * One engine belongs to one thread. Apply facts, then cycle; perform the effects; report results as
 * facts. The engine assumes its own decisions at once, so a cycle may be followed by another before
 * the first one's effects are durable.
 */
#ifndef SL_CORE_ENGINE_ENGINE_H
#define SL_CORE_ENGINE_ENGINE_H

#include "core/engine/verdict.h"
#include "core/model/effect.h"
#include "core/model/fact.h"

struct sl_engine;

/*
 * The placer interface: called inside the decision, after the quota check and before quota is
 * charged. Returns whether every podset can be placed; a failure (of which podset, and why) demotes
 * the workload as Kueue's topology does. 'undo' is called when the workload releases its placement;
 * a slice is placed before the one that it replaces is released. NULL placer: everything can be
 * placed.
 */
struct sl_placer {
    void *ctx;
    bool (*place)(void *ctx, sl_wl_id wl, const struct sl_podset_assignment *podsets, uint32_t n,
                  uint32_t *ret_refused, char *why, size_t why_len);
    void (*undo)(void *ctx, sl_wl_id wl);
    /* Speculation: the placement of a workload counts as free while it is set aside; could another
     * be placed now? Nothing is held by the call. NULL, both: preemption considers quota alone. */
    void (*set_aside)(void *ctx, sl_wl_id wl, bool aside);
    bool (*could)(void *ctx, sl_wl_id wl, const struct sl_podset_assignment *podsets, uint32_t n);
    /* It was refused a place: could it be placed as soon as those that are leaving have left? Then
     * nobody is evicted for it. NULL: what is released is free at once. */
    bool (*soon)(void *ctx, sl_wl_id wl, const struct sl_podset_assignment *podsets, uint32_t n);
    /* The earliest time, a whole second from 'from' on, at which it could be placed, given the
     * known ends of all that is placed now; false: none is known. That placement is reserved from
     * then on, in place of another reservation of the workload, until 'forgo' or until it is
     * placed; 'set_aside' applies to it, too. NULL, both: nothing is reserved for later. */
    bool (*later)(void *ctx, sl_wl_id wl, const struct sl_podset_assignment *podsets, uint32_t n,
                  sl_time from, sl_time *ret_at);
    void (*forgo)(void *ctx, sl_wl_id wl); /* its reservation, if it has one */
};

struct sl_engine *sl_engine_new(const struct sl_placer *placer);
void sl_engine_free(struct sl_engine *e);
void sl_engine_freep(struct sl_engine **e);

/* Interns the podsets of a workload; equal podsets give the same id. The caller holds one reference
 * until sl_engine_shape_release; workloads hold their own. */
int sl_engine_shape(struct sl_engine *e, const struct sl_podset_spec *v, uint32_t n,
                    sl_shape_id *ret, struct sl_err *err) _must_check_;
void sl_engine_shape_release(struct sl_engine *e, sl_shape_id id);

/* Applies a fact. A rejected fact (see err) has changed nothing. ret_wl may be NULL. */
int sl_engine_apply(struct sl_engine *e, const struct sl_fact *f, sl_wl_id *ret_wl,
                    struct sl_err *err) _must_check_;
/* Brings the trees and the states of ClusterQueues up to date without any decision, for queries of
 * an engine that does not run cycles at the moment. Effects are appended to out. */
void sl_engine_refresh(struct sl_engine *e, struct sl_effects *out);
/* Drops names that are no longer in use: a long-lived engine meets ever new ones. Names that were
 * returned before (views, effects) are not valid after it. It is due when names have doubled since
 * the last time. */
bool sl_engine_sweep_due(const struct sl_engine *e);
void sl_engine_sweep(struct sl_engine *e);
/* Decides until nothing more can be decided at 'now'. Effects are appended to out. */
void sl_engine_cycle(struct sl_engine *e, sl_time now, struct sl_effects *out);
/* Placement may be possible where it failed before: workloads that were refused by the placer are
 * evaluated in the next cycle. */
void sl_engine_places_changed(struct sl_engine *e);
/* When a cycle is due even without a new fact; SL_TIME_NEVER if none. */
sl_time sl_engine_next(const struct sl_engine *e);

/* Why, when, and what would help, as of the last cycle and the facts about workloads since. Valid
 * as long as v's arena. */
int sl_engine_explain(struct sl_engine *e, sl_time now, sl_wl_id id, struct sl_verdict *v,
                      struct sl_err *err) _must_check_;

/* ---- looking in ---- */

sl_wl_id sl_engine_find(const struct sl_engine *e, const char *ns, const char *name);

enum sl_engine_phase {
    SL_PHASE_GONE,     /* unknown id */
    SL_PHASE_BLOCKED,  /* not in any queue: gated, held, inactive, queue missing */
    SL_PHASE_HEAP,     /* pending, to be evaluated */
    SL_PHASE_ASLEEP,   /* waiting, until something it needs changes */
    SL_PHASE_RESERVED, /* quota reserved, checks pending */
    SL_PHASE_ADMITTED,
    SL_PHASE_FINISHED,
};

struct sl_engine_wl_view {
    enum sl_engine_phase phase;
    bool evicting; /* evicted, quota not yet released */
    const char *ns, *name, *uid, *queue, *cq;
    int32_t priority, boost;
    sl_time created, order_at, reserved_at, admitted_at;
    int32_t requeues;   /* requeueState.count */
    sl_time requeue_at; /* 0: none */
};
/* Returns false for an unknown id. */
bool sl_engine_workload(const struct sl_engine *e, sl_wl_id id, struct sl_engine_wl_view *ret);
/* The assignment of a reserved or admitted workload, in the caller's arena; n = 0 if none. */
uint32_t sl_engine_assignment(const struct sl_engine *e, sl_wl_id id, struct sl_arena *a,
                              const struct sl_podset_assignment **ret);

/* Total requests of its podsets, without flavors ("" each), excluding reclaimable pods. */
uint32_t sl_engine_requests(const struct sl_engine *e, sl_wl_id id, struct sl_arena *a,
                            const struct sl_podset_assignment **ret);

struct sl_engine_cq_view {
    bool exists, active;
    enum sl_inactive reason; /* if not active */
    const char *message;     /* of the Active condition */
    uint32_t heap, asleep, reserving, admitted;
    int64_t weighted_share; /* ceil, INT64_MAX for infinite */
};
bool sl_engine_cq(const struct sl_engine *e, const char *name, struct sl_engine_cq_view *ret);

struct sl_engine_lq_view {
    bool exists;
    const char *cq; /* the one it names */
    uint32_t heap, asleep, reserving, admitted;
};
bool sl_engine_lq(const struct sl_engine *e, const char *ns, const char *name,
                  struct sl_engine_lq_view *ret);
/* What the workloads of a LocalQueue hold of one (flavor, resource). */
void sl_engine_lq_usage(const struct sl_engine *e, const char *ns, const char *name,
                        const char *flavor, const char *resource, sl_amount *ret_reserved,
                        sl_amount *ret_admitted);

struct sl_engine_cell_view {
    sl_amount nominal, subtree, usage, admitted_usage, available, potential;
};
/* One (flavor, resource) of a ClusterQueue or Cohort. False if the node is unknown. */
bool sl_engine_cell(const struct sl_engine *e, bool cohort, const char *node, const char *flavor,
                    const char *resource, struct sl_engine_cell_view *ret);
int64_t sl_engine_cohort_share(const struct sl_engine *e, const char *name);

/* Walks the waiting workloads of a ClusterQueue in queue order, [from, from+n). Returns how many.
 */
uint32_t sl_engine_pending(const struct sl_engine *e, const char *cq, uint32_t from, sl_wl_id *ret,
                           uint32_t n);

/* A pending workload with its positions; 0 is first. */
struct sl_engine_waiting {
    sl_wl_id wl;
    sl_wl_id refused_wl;  /* the last one refused, for it and all equal ones; SL_WL_NONE: unknown */
    sl_wl_id first_alike; /* the first of these, maybe itself; not known on a standby */
    uint32_t in_cq, in_lq;
};
/* The same with the places: of a ClusterQueue (ns NULL) or of a LocalQueue. O((from's search + n)
 * log lines), where a line is a set of alike workloads; nothing is sorted. */
uint32_t sl_engine_queue_order(const struct sl_engine *e, const char *ns, const char *queue,
                               uint32_t from, struct sl_engine_waiting *ret, uint32_t n);

/* Every ClusterQueue name in order of creation; NULL past the end. */
const char *sl_engine_cq_name(const struct sl_engine *e, uint32_t i);

struct sl_engine_stats {
    uint64_t cycles, rounds, nominations, searches, reservations, admissions, preemptions,
        evictions, wakes;
    uint32_t workloads, pending, reserved, shapes, classes;
};
void sl_engine_stats(const struct sl_engine *e, struct sl_engine_stats *ret);

/* ---- measuring (measure.c): for meters, not for decisions; each call walks what it sums ---- */

/* Position of a ClusterQueue or Cohort: the names of its parent and of the root of its tree. A
 * cohort without parent is its own root; else absent ones are "". False if it is unknown or in a
 * cycle. */
bool sl_engine_parents(const struct sl_engine *e, bool cohort, const char *name,
                       const char **ret_parent, const char **ret_root);
/* Every cohort, also those that are only named by others; NULL ends. *at starts at 0. */
const char *sl_engine_cohort_name(const struct sl_engine *e, uint32_t *at);
/* Every (flavor, resource) for which there is quota in or below a node. *at starts at 0. */
bool sl_engine_next_flavor_resource(const struct sl_engine *e, bool cohort, const char *node,
                                    uint32_t *at, const char **ret_flavor,
                                    const char **ret_resource);
/* Limits of a ClusterQueue; SL_AMOUNT_NONE: none. */
void sl_engine_limits(const struct sl_engine *e, const char *cq, const char *flavor,
                      const char *resource, sl_amount *ret_borrow, sl_amount *ret_lend);
/* What all ClusterQueues below a cohort have reserved, and how many workloads are admitted there.
 */
sl_amount sl_engine_cohort_reserved(const struct sl_engine *e, const char *cohort,
                                    const char *flavor, const char *resource);
uint32_t sl_engine_cohort_admitted(const struct sl_engine *e, const char *cohort);

/* The exact share: over / lendable, divided by the weight. */
struct sl_engine_share_view {
    uint64_t over, lendable;
    int64_t weight_nano;
};
bool sl_engine_share(const struct sl_engine *e, bool cohort, const char *name,
                     struct sl_engine_share_view *ret);

struct sl_engine_total {
    const char *resource;
    sl_amount amount;
};
/* Adds the requests of the pending workloads of a ClusterQueue to the first *n totals, and appends
 * those of other resources while there are fewer than max. False: there were more than that. */
bool sl_engine_pending_requests(const struct sl_engine *e, const char *cq,
                                struct sl_engine_total *totals, uint32_t *n, uint32_t max);
/* What admission fair sharing holds against a LocalQueue, in millionths of units, UINT64_MAX for
 * weight zero. False if it does not order this queue. */
bool sl_engine_lq_history(const struct sl_engine *e, const char *ns, const char *name,
                          uint64_t *ret_micro);
/* Number of evaluations of workloads so far. */
uint64_t sl_engine_evaluations(const struct sl_engine *e);

/* Recomputes everything from the parts and compares; reports what disagrees. For tests and
 * --check. */
int sl_engine_check(const struct sl_engine *e, struct sl_err *err) _must_check_;

#endif
