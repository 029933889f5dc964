/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology-aware scheduling: nodes and their topology domains (in src/core/topo), the domains of
 * the pods of an admitted Workload, and the node selectors that assign them.
 *
 * The engine requests an assignment inside its decision (struct sl_placer). It is written with the
 * admission and read back from it: the API is authoritative, as with quota. Everything here does
 * nothing unless mgr_tas_runs: the controller `tas` is enabled and TopologyAwareScheduling is on.
 */
#ifndef SL_MANAGER_CONTROLLERS_TOPOLOGY_TOPOLOGY_H
#define SL_MANAGER_CONTROLLERS_TOPOLOGY_TOPOLOGY_H

#include "core/topo/topo.h"
#include "manager/controllers/workload/workload.h"

struct mgr_rec_pod;
struct mgr_workload_pods;

struct mgr_rec_node {
    struct sl_rec rec;
    uint64_t hash; /* of what a place depends on: heartbeats change nothing */
    bool ready;
};

/* ---- topology.c: nodes, topologies, flavors, pods of others ---- */

void mgr_tas_new(struct sl_manager *m);
void mgr_tas_end(struct sl_manager *m);
/* Are places given at all? */
bool mgr_tas_runs(const struct sl_manager *m);
/* Drops names that are not used, if there are many. */
void mgr_tas_sweep(struct sl_manager *m);
/* The engine, with a placer if places are given; that is decided once. */
struct sl_engine *mgr_tas_engine(struct sl_manager *m);
bool mgr_node_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mgr_node_gone(void *ctx, struct sl_rec *r);
void mgr_topology_changed(void *ctx, struct sl_rec *r);
void mgr_topology_gone(void *ctx, struct sl_rec *r);
bool mgr_topology_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* Adds to a flavor's fact which topology it names and what its levels are. */
void mgr_tas_flavor(struct sl_manager *m, struct sl_rec *r, struct sl_flavor_spec *f,
                    struct sl_arena *a);
void mgr_tas_flavor_gone(struct sl_manager *m, const struct sl_rec *r);
/* Does a flavor name a topology, whether that exists or not? Called before anything was
 * reconciled. */
bool mgr_tas_is_used(const struct sl_manager *m);
/* A pod without a topology assignment uses resources of its node. */
void mgr_tas_pod_changed(struct sl_manager *m, struct mgr_rec_pod *p);
void mgr_tas_pod_gone(struct sl_manager *m, struct mgr_rec_pod *p);
/* A pod of a Workload has left its node: what waits for another place may get one. */
void mgr_tas_pod_left(struct sl_manager *m);
/* If resources may have become free: enqueues the workloads that did not fit. */
void mgr_tas_requeue_refused(struct sl_manager *m);

/* ---- place.c: places of Workloads ---- */

bool mgr_tas_place(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n,
                   uint32_t *ret_refused, char *why, size_t why_len);
void mgr_tas_undo(void *ctx, sl_wl_id id);
void mgr_tas_set_aside(void *ctx, sl_wl_id id, bool aside);
bool mgr_tas_would_fit(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n);
/* The slice whose place it takes; NULL: none. */
struct mgr_rec_wl *mgr_tas_slice_before(const struct sl_manager *m, const struct mgr_rec_wl *w);
/* The podsets with their topology requests, for the engine. */
const struct sl_podset_spec *mgr_tas_build_requests(const struct sl_manager *m,
                                                    const struct mgr_wl_podset *v,
                                                    const struct sl_podset_spec *specs, uint32_t n,
                                                    struct sl_arena *a);
/* The places that are held for w, into the admission that is to be written. */
void mgr_tas_put_places(const struct sl_manager *m, struct mgr_rec_wl *w,
                        struct mgr_wl_admission *a);
/* Accounts the assignment in the API. */
void mgr_tas_observe(struct sl_manager *m, struct mgr_rec_wl *w);
/* Finds other places for what is not in 'keep', one for each podset, and holds them. False: there
 * are none, and all is as it was. */
bool mgr_tas_move(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_topo_place *keep);
/* Of all places that are held for it. */
uint64_t mgr_tas_digest(const struct sl_manager *m, const struct mgr_rec_wl *w);
/* Of the member 'topology' of a podset's admission, by what it means. */
uint64_t mgr_tas_hash(const char *topology);
/* The assignment; none: no domains. In the arena. */
struct sl_topo_place mgr_tas_read_place(const char *topology, struct sl_arena *a);

/* Has one of the flavors of this podset a topology? */
bool mgr_tas_places(const struct sl_manager *m, const struct mgr_wl_podset_admission *p);
/* How many pods of an admitted podset still need their places. */
int32_t mgr_tas_asked(const struct mgr_rec_wl *w, const struct mgr_wl_podset_admission *p);

/* ---- exact.c: places on the graph of nodes ---- */

/* What the annotation of a ClusterQueue says; of the queue, with the configuration: are its
 * Workloads admitted with nodes? */
uint8_t mgr_exact_decode(yyjson_val *cq);
bool mgr_exact_queue(struct sl_manager *m, struct sl_rec *cq);
/* Of the queue that it is in. */
bool mgr_exact_wanted(const struct sl_manager *m, const struct mgr_rec_wl *w);
/* Is the place of this podset on the graph? Without a graph it counts as one of a topology. */
bool mgr_exact_is(const struct sl_manager *m, const struct mgr_wl_podset_admission *p);
/* Nodes for those podsets whose flavors have no topology (flavors: "" for these). */
bool mgr_exact_place(struct sl_manager *m, struct mgr_rec_wl *w,
                     const struct sl_podset_assignment *v, const char *const *flavors,
                     uint32_t *ret_refused, char *why, size_t why_len);
/* A check will provide nodes, and they are looked for when it is about to be ready. */
bool mgr_exact_delayed(const struct sl_manager *m, const struct mgr_rec_wl *w,
                       const struct sl_podset_assignment *v, uint32_t n);
/* Then: nodes for the podsets that have none. False: there are none yet; it is asked again when
 * there may be. updates: what the check says of its podsets, as JSON. */
bool mgr_exact_place_late(struct sl_manager *m, struct mgr_rec_wl *w, const char *updates,
                          char *why, size_t why_len);
void mgr_exact_retry_late(struct sl_manager *m);
/* Could they be found; as soon as pods that are being deleted are gone, if there are any? */
bool mgr_exact_would_fit(struct sl_manager *m, const struct mgr_rec_wl *w,
                         const struct sl_podset_assignment *v, const char *const *flavors);
bool mgr_exact_soon(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n);
/* When could they be found? They are reserved from then on. */
bool mgr_exact_later(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n,
                     sl_time from, sl_time *ret_at);
void mgr_exact_forgo(void *ctx, sl_wl_id id);
void mgr_exact_set_aside(const struct sl_manager *m, sl_wl_id id, bool aside);
/* Holds those of its admission. */
void mgr_exact_hold(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_topo_place *places);
void mgr_exact_release(struct sl_manager *m, sl_wl_id id);
/* Is there any that was decided, but is not in the API yet? Jobs of the queue wait for it. */
void mgr_exact_note_releases(struct sl_manager *m, bool any);
/* Others in place of those that are not in 'keep'. False: there are none. */
bool mgr_exact_move(struct sl_manager *m, struct mgr_rec_wl *w, const struct sl_topo_place *keep);
/* Puts what it holds into v, one for each podset. */
void mgr_exact_held(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_topo_place *v,
                    struct sl_arena *a);
/* Has something become free on the graph? */
void mgr_exact_turn(struct sl_manager *m);
/* Tells the graph whether all places that Workloads have are held there. */
void mgr_exact_observed(struct sl_manager *m);
/* One of them releases places that it may have: nobody gets any before the next turn has observed
 * what it has. */
void mgr_exact_unobserve(struct sl_manager *m);

/* ---- replace.c: nodes that fail ---- */

/* All places that it holds, in the topology and on the graph: as many as it has podsets, or none.
 */
uint32_t mgr_tas_held(const struct sl_manager *m, const struct mgr_rec_wl *w, struct sl_arena *a,
                      struct sl_topo_place **ret);

/* Replaces lost assignments, if something has changed since the last attempt. */
void mgr_tas_nodes_failed(struct sl_manager *m);

/* ---- ungate.c: pods go where their Workload has places ---- */

/* Which pods of the Workload lose the topology gate, and their nodes. */
void mgr_tas_plan(struct sl_manager *m, struct mgr_workload_pods *c);
void mgr_tas_ungated(struct sl_manager *m, const struct mgr_rec_pod *p);
/* Whether its node selector, present or in flight, requires this. */
bool mgr_tas_selects(const struct sl_manager *m, const struct mgr_rec_pod *p, const char *level,
                     const char *value);
void mgr_tas_workload_changed(struct sl_manager *m, const struct mgr_rec_wl *w);

#endif
