/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GRUG recipe: the kinds of vertices, and how each is built from another. Read from GraphML;
 * private to this folder.
 */
#ifndef SL_LIB_GRAPHIO_GRUG_H
#define SL_LIB_GRAPHIO_GRUG_H

#include "core/base/arena.h"
#include "core/base/collection/vec.h"
#include "lib/graphio/graph_read.h"

#define SL_GRUG_MAX_NODES 4096u
#define SL_GRUG_MAX_EDGES 16384u
#define SL_GRUG_MAX_TEXT 1024u /* bytes of one value */

enum graphio_grug_method { SL_GRUG_MULTIPLY, SL_GRUG_ASSOCIATE, SL_GRUG_ASSOCIATE_BY_PATH };

struct graphio_grug_node {
    uint32_t line;
    const char *id;
    const char *type, *basename, *unit, *subsystem;
    int64_t size;
    bool root;
};

struct graphio_grug_edge {
    uint32_t line;
    const char *source, *target; /* ids of nodes */
    uint32_t from, to;           /* and their indices */
    const char *subsystem;
    enum graphio_grug_method method;
    int64_t scale, id_scope, id_start, id_stride;
    const char *by_subsystem;     /* whose paths are compared */
    int64_t up_target, up_source; /* how many components are taken off before */
};

struct graphio_grug {
    struct sl_arena arena;
    SL_VEC(struct graphio_grug_node) nodes;
    SL_VEC(struct graphio_grug_edge) edges; /* in the order of the text */
};
int graphio_grug_read(struct graphio_grug *x, const struct sl_graphio_text *t,
                      struct sl_err *err) _must_check_;
void graphio_grug_done(struct graphio_grug *x);

#endif
