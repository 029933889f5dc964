/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the graph share. */
#ifndef SL_CORE_GRAPH_GRAPH_INT_H
#define SL_CORE_GRAPH_GRAPH_INT_H

#include "core/graph/graph.h"

struct graph_link {
    sl_vtx from, to;
};

struct graph_path {
    sl_vtx v;
    sl_sym subsystem, text;
};

struct graph_props {
    struct sl_graph_prop *v; /* texts are symbols' */
    sl_sym *keys;            /* the symbols of the keys */
    uint32_t n;
};

struct graph_ranked {
    int32_t rank;
    sl_vtx v;
};

/* Edges beside the tree in containment: by one end, in the order of linking, the other one. */
struct graph_beside {
    SL_VEC(sl_vtx) of;
    SL_VEC(sl_vtx) other;
};

struct sl_graph {
    struct sl_syms syms;
    uint64_t generation;
    SL_VEC(struct sl_vertex) v;
    SL_VEC(struct graph_link) pending;   /* parent to child, since the last sealing */
    SL_VEC(sl_vtx) kids;                 /* see sl_vertex.kids */
    SL_VEC(sl_vtx) order;                /* by position; those in no tree come last */
    SL_VEC(struct sl_graph_edge) edges;  /* all other edges */
    struct graph_beside more_kids;       /* of further parents */
    struct graph_beside more_parents;    /* of their children */
    SL_VEC(sl_sym) subsystems;           /* [0] is containment */
    SL_VEC(struct graph_path) paths;     /* that were set, by time of setting */
    struct sl_map paths_by_vertex;       /* vertex -> index in paths */
    struct sl_map paths_by_text;         /* symbol -> index in paths */
    SL_VEC(struct graph_props) props;    /* [0] is unused */
    SL_VEC(struct graph_ranked) by_rank; /* ranks that are not -1, ascending, then by vertex */
    SL_VEC(sl_sym) types;                /* of vertices that are there */
    int64_t next_uniq;
    uint32_t n_tree; /* positions below are in the tree */
    sl_vtx root;
};

static inline struct sl_vertex *graph_vertex(struct sl_graph *g, sl_vtx v) {
    return &g->v.v[v];
}

#endif
