/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Graph Format as it is written: vertices and edges, with defaults filled in and nothing
 * compared with a graph yet. Texts are those of the JSON or live in the arena.
 */
#ifndef SL_LIB_GRAPHIO_JGF_READ_H
#define SL_LIB_GRAPHIO_JGF_READ_H

#include "core/base/collection/map.h"
#include "lib/graphio/idset.h"
#include "lib/graphio/json_in.h"
#include "lib/graphio/stage.h"

struct graphio_jgf_vertex {
    yyjson_val *at;  /* for messages */
    const char *jid; /* the id by which edges know it */
    struct sl_vertex_spec spec;
    const char *path; /* in containment; NULL: none */
    const struct graphio_stage_path *paths;
    uint32_t n_paths;
    bool exclusive;
};

struct graphio_jgf_edge {
    uint32_t from, to;
    const char *subsystem;
    bool reverse; /* in containment, from what is inside to what contains it: redundant */
    bool tree;    /* in containment, the one by which 'to' is reached */
};

struct graphio_jgf {
    const struct graphio_jin *j;
    struct sl_arena arena;
    SL_VEC(struct graphio_jgf_vertex) v;
    SL_VEC(struct graphio_jgf_edge) edges;
    struct sl_map by_id;
    struct sl_idset free_ranks;
};

/* 'top' has "graph" and perhaps "free_ranks". Without 'edges' those are ignored. */
int graphio_jgf_read(struct graphio_jgf *x, const struct graphio_jin *j, yyjson_val *top,
                     uint32_t max_vertices, bool with_edges) _must_check_;
void graphio_jgf_done(struct graphio_jgf *x);

/* To stage it for g, NULL for a new graph. */
int graphio_stage_jgf(const struct graphio_jgf *x, const struct sl_graph *g, const char *allow,
                      struct graphio_stage *s) _must_check_;

#endif
