/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vertices by path and rank, for readers that look for many: the children of each vertex on the way
 * are indexed when it is first passed. Borrows the graph, which may not change meanwhile.
 */
#ifndef SL_LIB_GRAPHIO_FIND_H
#define SL_LIB_GRAPHIO_FIND_H

#include "core/base/collection/map.h"
#include "core/graph/graph.h"

#define SL_ANY_RANK INT64_MIN

struct graphio_finder {
    const struct sl_graph *g;
    struct sl_map kids; /* parent and name -> vertex */
    uint8_t *indexed;   /* by vertex */
};
void graphio_finder_init(struct graphio_finder *f, const struct sl_graph *g);
void graphio_finder_done(struct graphio_finder *f);
/* SL_VTX_NONE if there is no such vertex. Paths are those of all subsystems. */
sl_vtx graphio_finder_path(struct graphio_finder *f, const char *path, int64_t rank);
/* A child by name; parent SL_VTX_NONE: the root. */
sl_vtx graphio_finder_kid(struct graphio_finder *f, sl_vtx parent, const char *name, size_t len,
                          int64_t rank);

#endif
