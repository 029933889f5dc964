/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the garbage collector: the resources of the API (resources.c), the graph of owners
 * (gc.c), and the work on it (work.c). Private to the folder.
 *
 * For every object of every kind that can be listed and deleted there is a node: the hash of its
 * uid and, if it has owners or is being deleted with its dependents, its name and the hashes of its
 * owners. That is enough to see when an owner may be deleted; whether it is, and the current state
 * of the object, is read before anything is deleted. An owner of a kind that is not served counts
 * as existing.
 */
#ifndef SL_CLUSTER_CONTROLLERS_GC_GC_H
#define SL_CLUSTER_CONTROLLERS_GC_GC_H

#include "cluster/controllers/core/ceilings.h"
#include "cluster/controllers/core/cluster_int.h"

#define GC_NONE SL_MAP_NONE

/* A kind that discovery shows, in its preferred version. */
struct cl_gc_resource {
    struct cl_gc *gc;
    char *path; /* "/apis/batch/v1" */
    char *group, *plural, *kind;
    bool namespaced;
    bool followed;        /* its objects are watched */
    bool can_delete_all;  /* as a collection */
    uint32_t index, seen; /* the reading of discovery that showed it last */
    struct sl_reflector *reflector;
    uint16_t epoch;
    bool synced;
};

enum cl_node_flags {
    NODE_GOING = 1,      /* has a deletionTimestamp */
    NODE_FOREGROUND = 2, /* and waits for its dependents to go first */
    NODE_ORPHANS = 4,    /* and sets its dependents free first */
};

/* An owner of a node. */
struct cl_gc_owner_ref {
    uint64_t uid;
    uint32_t edge;
    bool blocks; /* the owner's foreground deletion */
};

/* From an owner to a dependent. Those of one owner form a ring in the order in which they came, so
 * that adding and removing one costs the same however many there are. */
struct cl_gc_edge {
    uint32_t node; /* the dependent */
    uint32_t next, prev;
};

struct cl_gc_node {
    uint64_t uid;
    char *key;                      /* "namespace/name" or "name"; NULL if not needed */
    struct cl_gc_owner_ref *owners; /* NULL: none */
    uint32_t work; /* its number there + 1; 0: nothing to do; of a free node the next free one */
    uint16_t resource, epoch;
    uint8_t n_owners, flags;
    bool used, over_limit; /* crowded: more owners than are read; never collected */
};

enum cl_gc_step { STEP_READ_OBJECT, STEP_OWNER, STEP_WRITE };
enum cl_gc_owner_state { OWNER_UNKNOWN, OWNER_LIVES, OWNER_ABSENT, OWNER_WAITS, OWNER_ORPHANS };

/* A node that is being processed. */
struct cl_gc_work {
    uint32_t node; /* GC_NONE: free */
    enum cl_gc_step step;
    bool again;                    /* something happened meanwhile */
    yyjson_doc *doc;               /* the object's metadata as read */
    uint8_t owners[GC_MAX_OWNERS]; /* enum cl_gc_owner_state, in the order of the reading */
    uint32_t owner_index;          /* the owner that is being read */
};

#define GC_ABSENT 1024u /* a power of two */

struct cl_gc {
    struct sl_cluster *c;
    SL_VEC(struct cl_gc_resource *) resources; /* NULL: gone */
    SL_VEC(struct cl_gc_node) nodes;
    uint32_t free_node, n_nodes;
    uint32_t max_nodes; /* GC_MAX_NODES; tests have fewer */
    bool full;          /* some were passed over */
    struct sl_map by_uid;
    struct sl_map dependents; /* uid of an owner -> its first edge */
    SL_VEC(struct cl_gc_edge) edges;
    uint32_t free_edge; /* by 'next' */
    struct sl_writer *writer;
    SL_VEC(struct cl_gc_work *) works;
    SL_VEC(uint32_t) free_works;
    uint64_t absent[GC_ABSENT];   /* uids that were found absent; they are never reused */
    uint64_t orphaned[GC_ABSENT]; /* owners deleted with Orphan: a dependent may be observed late */
    bool ready; /* the first lists are complete, and all nodes were checked once */
    /* discovery */
    struct sl_reflector *crds;
    sl_kube_call call;
    sl_time discover_at; /* mono */
    uint32_t reading;    /* of discovery */
    uint32_t added;      /* to 'resources', so far */
    bool over_limit;     /* there are more kinds than are followed */
    uint32_t fails;
    bool core;             /* the part of the core group is being read */
    uint64_t requested;    /* incremented to request a fresh discovery */
    uint64_t begun, known; /* what the last reading that began, and that ended, covers */
};

/* ---- resources.c ---- */
void cl_resources_start(struct cl_gc *g);
void cl_resources_turn(struct cl_gc *g);
sl_time cl_resources_next(const struct cl_gc *g);
void cl_resources_stop(struct cl_gc *g);
/* By the apiVersion and kind of an owner reference; NULL: not served. */
const struct cl_gc_resource *cl_resource_of(const struct cl_gc *g, const char *api_version,
                                            const char *kind);
/* Discovery is to be read again. Returns a number; it has been when g->known has reached it. */
uint64_t cl_resources_refresh(struct cl_gc *g);
bool cl_resources_synced(const struct cl_gc *g);

/* ---- gc.c ---- */
struct cl_gc *cl_gc_of(struct sl_cluster *c);
extern const struct cl_part cl_gc_part;
struct cl_gc_node *cl_gc_node(struct cl_gc *g, uint64_t uid); /* NULL: unknown */
/* The ring of an owner's dependents: for (e = first; e != GC_NONE; e = cl_gc_next(g, first, e)). */
static inline uint32_t cl_gc_first(const struct cl_gc *g, uint64_t uid) {
    return sl_map_get(&g->dependents, uid);
}
static inline uint32_t cl_gc_next(const struct cl_gc *g, uint32_t first, uint32_t e) {
    return g->edges.v[e].next == first ? GC_NONE : g->edges.v[e].next;
}
void cl_gc_begin(void *ctx);
void cl_gc_object(void *ctx, yyjson_val *o);
void cl_gc_gone(void *ctx, yyjson_val *o);
void cl_gc_synced(void *ctx, bool exists);
/* It is no longer served: its nodes are dropped. */
void cl_gc_forget_resource(struct cl_gc *g, struct cl_gc_resource *r);

/* ---- work.c ---- */
/* Enqueues the node. */
void cl_gc_enqueue(struct cl_gc *g, uint32_t node);
void cl_gc_work_drop(struct cl_gc *g, uint32_t node);
void cl_gc_work_start(struct cl_gc *g);
void cl_gc_work_stop(struct cl_gc *g);

#endif
