/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader has found, before a graph is touched: vertices, some of which may be in the graph
 * already, and edges. Texts are borrowed from what was read, or live in the stage's arena.
 */
#ifndef SL_LIB_GRAPHIO_STAGE_H
#define SL_LIB_GRAPHIO_STAGE_H

#include "core/base/arena.h"
#include "core/base/collection/vec.h"
#include "lib/graphio/graph_read.h"

struct graphio_stage_path {
    const char *subsystem, *path;
};

struct graphio_staged {
    struct sl_vertex_spec spec;
    sl_vtx there; /* in the graph; SL_VTX_NONE: it will be added */
    const struct graphio_stage_path *paths;
    uint32_t n_paths;
};

struct graphio_stage_edge {
    uint32_t from, to; /* staged vertices */
    const char *subsystem;
};

struct graphio_stage {
    struct sl_arena arena;
    SL_VEC(struct graphio_staged) v;
    SL_VEC(struct graphio_stage_edge) edges;
};
void graphio_stage_init(struct graphio_stage *s);
void graphio_stage_done(struct graphio_stage *s);
/* Adds everything that is not there, links it in order, and seals the graph. */
int graphio_stage_commit(const struct graphio_stage *s, struct sl_graph *g,
                         struct sl_err *err) _must_check_;

/* ---- shared by the readers ---- */

/* How many vertices a text may make. */
uint32_t graphio_max_vertices(const struct sl_graphio_text *t);
/* Is this type on the list of those to keep? */
bool graphio_type_allowed(const char *allow, const char *type);

/* Each fills a stage for a graph that may be empty (g NULL), except for the first, which is for
 * speed and fills a new graph. */
int graphio_read_grug(const struct sl_graphio_text *t, struct sl_graph *g,
                      struct sl_err *err) _must_check_;
int graphio_stage_hwloc(const struct sl_graphio_text *t, struct graphio_stage *s,
                        struct sl_err *err) _must_check_;

#endif
