/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A resource graph: vertices, containment, and status. Allocation is in the matcher
 * (match/match.h).
 *
 * A vertex is a number, issued in the order of adding and never reused. 'containment' is a tree
 * with one root; edges of other subsystems are stored beside it. A vertex may have further parents
 * in containment: those edges are beside the tree, and a matcher walks them as well. Vertices and
 * edges are added, then the graph is sealed: that checks the tree and lays it out in depth-first
 * order, so that a subtree is an interval of positions. After later additions or removals it must
 * be sealed again.
 *
 * Strings are copied. Limits: SL_GRAPH_MAX_VERTICES, SL_GRAPH_MAX_DEPTH. Not thread-safe. Pure.
 */
#ifndef SL_CORE_GRAPH_GRAPH_H
#define SL_CORE_GRAPH_GRAPH_H

#include "core/base/buf.h"
#include "core/base/collection/sym.h"
#include "core/base/err.h"

#define SL_GRAPH_MAX_VERTICES (UINT32_C(1) << 24)
#define SL_GRAPH_MAX_DEPTH 64u
#define SL_GRAPH_MAX_SIZE (INT64_C(1) << 38)  /* of one pool; the sum of all fits into an int64 */
#define SL_GRAPH_DIVISIBLE "sluice.divisible" /* a property: the pool is given out by amounts */
#define SL_GRAPH_CONTAINMENT "containment"

typedef uint32_t sl_vtx;
#define SL_VTX_NONE UINT32_MAX

struct sl_graph;

struct sl_graph_prop {
    const char *key, *value; /* value "": a bare property */
};

/* Properties of a vertex. */
struct sl_vertex_spec {
    const char *type;
    const char *basename;      /* NULL: the type */
    const char *name;          /* NULL: basename and id */
    const char *unit;          /* NULL: none */
    int64_t id, uniq_id, rank; /* id and rank -1: none; uniq_id -1: the next free one */
    int64_t size;              /* at least 1; a divisible pool may be resized to 0 later */
    bool down;
    const struct sl_graph_prop *props;
    uint32_t n_props;
};

/* What is known of a vertex; strings are symbols of sl_graph_syms. */
struct sl_vertex {
    int64_t id, uniq_id, size;
    int32_t rank;
    sl_sym type, basename, unit;
    sl_sym name;           /* 0: basename and id; sl_vertex_name puts it together */
    sl_vtx parent;         /* in containment; SL_VTX_NONE: a root, or in no tree */
    uint32_t kids, n_kids; /* where its children begin in sl_graph_kids, in the order of linking */
    uint32_t pos, end;     /* its place in depth-first order; the subtree is [pos, end) */
    uint32_t props;        /* private: where its properties begin, 0: none */
    uint16_t depth;        /* 0: the root */
    uint8_t down, removed, divisible;
};

struct sl_graph *sl_graph_new(void);
struct sl_graph *sl_graph_clone(const struct sl_graph *g);
/* The same graph through another subsystem: what that one reaches from its root, with its edges in
 * the place of containment's, and those of the others between them. Paths stay those of
 * containment. SL_ENOENT if there is no such subsystem. */
int sl_graph_view(const struct sl_graph *g, const char *subsystem, const char *const *others,
                  uint32_t n, struct sl_graph **ret, struct sl_err *err) _must_check_;
void sl_graph_free(struct sl_graph *g);
void sl_graph_freep(struct sl_graph **g);

/* ---- building ---- */

/* Adds a vertex that is linked to nothing yet. Wrong or too much: SL_EINVAL, SL_ELIMIT. */
int sl_graph_add(struct sl_graph *g, const struct sl_vertex_spec *s, sl_vtx *ret,
                 struct sl_err *err) _must_check_;
/* A copy of an existing vertex with another id and rank and without properties, inside of 'parent':
 * as adding and linking, for creating many. */
int sl_graph_add_like(struct sl_graph *g, sl_vtx like, int64_t id, int64_t rank, sl_vtx parent,
                      sl_vtx *ret, struct sl_err *err) _must_check_;
/* An edge. In containment the first one into a vertex makes its source the parent, which gives it
 * path and position; the source of another one is a further parent. */
int sl_graph_link(struct sl_graph *g, const char *name, sl_vtx from, sl_vtx to,
                  struct sl_err *err) _must_check_;
/* A path that differs from the one given by the names; an equal one is not stored. Parents must be
 * linked before. */
void sl_graph_set_path(struct sl_graph *g, sl_vtx v, const char *subsystem, const char *path);
/* Checks and lays out. On failure the graph is not usable: keep a clone where that matters. */
int sl_graph_seal(struct sl_graph *g, struct sl_err *err) _must_check_;
/* Takes out a vertex and all below it. Seal afterwards. */
void sl_graph_remove(struct sl_graph *g, sl_vtx v);

/* ---- looking ---- */

/* Rises with each change that a matcher has to know: sealing, status, sizes, properties. */
uint64_t sl_graph_generation(const struct sl_graph *g);
const struct sl_syms *sl_graph_syms(const struct sl_graph *g);
/* All ever added, removed ones included. */
uint32_t sl_graph_count(const struct sl_graph *g);
const struct sl_vertex *sl_graph_vertex(const struct sl_graph *g, sl_vtx v);
sl_vtx sl_graph_root(const struct sl_graph *g);
/* The vertex at a place of the depth-first order, below sl_graph_live. */
sl_vtx sl_graph_at(const struct sl_graph *g, uint32_t pos);
/* How many there are. */
uint32_t sl_graph_live(const struct sl_graph *g);
/* The children of all vertices; those of v are the n_kids from v->kids on. */
const sl_vtx *sl_graph_kids(const struct sl_graph *g);

/* Children that a vertex is a further parent of, and the further parents of a vertex, in the order
 * of linking; each once. Only of those in the tree. O(log) of all such edges. */
uint32_t sl_graph_more_kids(const struct sl_graph *g, sl_vtx v, const sl_vtx **ret);
uint32_t sl_graph_more_parents(const struct sl_graph *g, sl_vtx v, const sl_vtx **ret);
/* How many such edges there are; 0: containment is nothing but the tree. */
uint32_t sl_graph_n_more(const struct sl_graph *g);
static inline bool sl_graph_is_leaf(const struct sl_graph *g, sl_vtx v) {
    const sl_vtx *unused;
    return sl_graph_vertex(g, v)->n_kids == 0 && sl_graph_more_kids(g, v, &unused) == 0;
}

/* Edges that are not parent to child in containment, in the order of linking. */
struct sl_graph_edge {
    sl_vtx from, to;
    sl_sym subsystem;
};
const struct sl_graph_edge *sl_graph_edges(const struct sl_graph *g, uint32_t *ret_n);
/* All edges in all subsystems. */
uint32_t sl_graph_n_edges(const struct sl_graph *g);
/* Subsystems in the order in which they first appeared; containment, if any, is 0. */
uint32_t sl_graph_subsystems(const struct sl_graph *g, const sl_sym **ret);
/* The root of an auxiliary subsystem: the first vertex with edges out of it and none into it. */
sl_vtx sl_graph_subsystem_root(const struct sl_graph *g, sl_sym subsystem);

#define SL_VERTEX_TYPE 317 /* bytes: a name of a resource of Kubernetes, with its domain */
/* "node3". Returns out, or the name itself if it was given. */
#define SL_VERTEX_NAME 128
const char *sl_vertex_name(const struct sl_graph *g, sl_vtx v, char out[SL_VERTEX_NAME]);
/* "/cluster0/rack0/node3" in containment, or the path that was set. */
void sl_vertex_path(const struct sl_graph *g, sl_vtx v, struct sl_buf *out);
/* The path in another subsystem; false if it was never set. */
bool sl_vertex_path_in(const struct sl_graph *g, sl_vtx v, sl_sym subsystem, struct sl_buf *out);
/* SL_VTX_NONE if there is no such vertex. */
sl_vtx sl_graph_by_path(const struct sl_graph *g, const char *path);
/* Vertices of a rank, in the order of adding: put into ret (freed by the caller). */
void sl_graph_by_rank(const struct sl_graph *g, int64_t rank, sl_vtx **ret, uint32_t *ret_n);

/* Is there a vertex of this type? */
bool sl_graph_has_type(const struct sl_graph *g, const char *type);
/* Is it one of the types that every graph may have: node, core, gpu …? */
bool sl_graph_is_usual_type(const char *type);
/* Bytes that it holds. */
size_t sl_graph_bytes(const struct sl_graph *g);

/* ---- status and properties ---- */

void sl_graph_set_down(struct sl_graph *g, sl_vtx v, bool down);
/* From 0 to SL_GRAPH_MAX_SIZE; sl_match_resize is the way to it if there is a matcher. */
void sl_graph_set_size(struct sl_graph *g, sl_vtx v, int64_t size);
/* Properties in the order in which they were set. */
uint32_t sl_vertex_props(const struct sl_graph *g, sl_vtx v, const struct sl_graph_prop **ret);
/* NULL if it has no such property. */
const char *sl_vertex_prop(const struct sl_graph *g, sl_vtx v, const char *key);
int sl_vertex_set_prop(struct sl_graph *g, sl_vtx v, const char *key, const char *value,
                       struct sl_err *err) _must_check_;
bool sl_vertex_del_prop(struct sl_graph *g, sl_vtx v, const char *key);

#endif
