/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology-aware scheduling: which nodes there are and how they lie (src/topo keeps that), where
 * the pods of an admitted Workload stand, and the node selectors that take them there.
 *
 * The engine asks for a place inside its decision (struct sl_placer). What was found is written
 * with the admission and read from it again: the API has the last word, as with quota. Everything
 * here does nothing unless m->topo is set: the part `tas` runs and TopologyAwareScheduling is on.
 */
#ifndef SL_CONTROLLERS_TAS_H
#define SL_CONTROLLERS_TAS_H

#include "controllers/wl.h"
#include "topo/topo.h"

struct rec_pod;
struct pod_crew;

struct rec_node {
    struct rec rec;
    uint64_t hash; /* of what a place depends on: heartbeats change nothing */
    bool ready;
};

/* ---- tas.c: nodes, topologies, flavors, pods of others ---- */

/* The engine, with a placer if places are given; that is decided once. */
struct sl_engine *tas_engine(struct sl_manager *m);
bool node_decode(struct sl_manager *m, struct rec *r, yyjson_val *o);
void node_gone(struct sl_manager *m, struct rec *r);
void topology_changed(struct sl_manager *m, struct rec *r);
void topology_gone(struct sl_manager *m, struct rec *r);
bool topology_build(struct sl_manager *m, struct rec *r, struct sl_write *w);
/* Adds to a flavor's fact which topology it names and what its levels are. */
void tas_flavor(struct sl_manager *m, struct rec *r, struct sl_flavor_spec *f, struct sl_arena *a);
void tas_flavor_gone(struct sl_manager *m, const struct rec *r);
/* Does a flavor name a topology, whether that exists or not? Asked before anything was looked at.
 */
bool tas_is_named(const struct sl_manager *m);
/* A pod that no topology placed takes room on its node. */
void tas_pod_changed(struct sl_manager *m, struct rec_pod *p);
void tas_pod_gone(struct sl_manager *m, struct rec_pod *p);
/* If there may be room where there was none: those who were refused are looked at again. */
void tas_tell_news(struct sl_manager *m);

/* ---- tas_place.c: places of Workloads ---- */

bool tas_place(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n,
               uint32_t *ret_refused, char *why, size_t why_len);
void tas_undo(void *ctx, sl_wl_id id);
void tas_aside(void *ctx, sl_wl_id id, bool aside);
bool tas_could(void *ctx, sl_wl_id id, const struct sl_podset_assignment *v, uint32_t n);
/* The podsets with what they ask of a topology, for the engine. */
const struct sl_podset_spec *tas_ask(const struct sl_manager *m, const struct wl_podset *v,
                                     const struct sl_podset_spec *specs, uint32_t n,
                                     struct sl_arena *a);
/* The places that are held for w, into the admission that is to be written. */
void tas_put_places(const struct sl_manager *m, struct rec_wl *w, struct wl_admission *a);
/* Holds what the API says of its places. */
void tas_observe(struct sl_manager *m, struct rec_wl *w);
/* Finds other places for what is not in 'keep', one for each podset, and holds them. False: there
 * are none, and all is as it was. */
bool tas_move(struct sl_manager *m, struct rec_wl *w, const struct sl_topo_place *keep);
/* Of all places that are held for it. */
uint64_t tas_digest(const struct sl_manager *m, const struct rec_wl *w);
/* Of the member 'topology' of a podset's admission, by what it means. */
uint64_t tas_hash(const char *topology);
/* The place that it tells; none: no domains. In the arena. */
struct sl_topo_place tas_read_place(const char *topology, struct sl_arena *a);

/* ---- tas_replace.c: nodes that fail ---- */

/* Whoever lost its place gets another, if something has changed since that was last looked at. */
void tas_nodes_failed(struct sl_manager *m);

/* ---- tas_ungate.c: pods go where their Workload has places ---- */

/* Which pods of the crew lose the topology gate, and the nodes they may go to. */
void tas_plan(struct sl_manager *m, struct pod_crew *c);
void tas_ungated(struct sl_manager *m, const struct rec_pod *p);
/* Does its selector, which it has or will in a moment, want this of a node? */
bool tas_is_sent_to(const struct sl_manager *m, const struct rec_pod *p, const char *level,
                    const char *value);
void tas_workload_changed(struct sl_manager *m, const struct rec_wl *w);

#endif
