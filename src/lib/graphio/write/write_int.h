/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers of this folder share. */
#ifndef SL_LIB_GRAPHIO_WRITE_WRITE_INT_H
#define SL_LIB_GRAPHIO_WRITE_WRITE_INT_H

#include "lib/graphio/write/match.h"

/* One vertex of an answer, and how it stands to the others. */
struct graphio_place {
    uint32_t parent; /* index of the pick that contains it; UINT32_MAX: none */
    uint32_t level;  /* the root's is 1 */
    bool omitted;    /* a shorthand leaves it out */
};

/* The picks of an answer in the order in which they are written: children before their parents. */
struct graphio_places {
    uint32_t n;
    struct graphio_place *at; /* by index of pick */
    uint32_t *post;           /* indices of picks */
};
void graphio_places_init(struct graphio_places *p, const struct sl_graph *g,
                         const struct sl_grant *gr);
void graphio_places_done(struct graphio_places *p);

/* Is it in the containment tree? */
static inline bool graphio_in_tree(const struct sl_graph *g, sl_vtx v) {
    return sl_graph_vertex(g, v)->parent != SL_VTX_NONE || v == sl_graph_root(g);
}

/* {"graph": …}; nothing for no picks. */
void graphio_write_jgf(struct sl_graphio_match_writer *w, const struct sl_graph *g,
                       const struct sl_grant *gr, const struct graphio_places *p, bool shorthand,
                       struct sl_buf *out);

/* R_lite, and what stands beside it in "execution". */
struct graphio_rlite {
    struct sl_buf lite;  /* [{"rank": …}], empty if there is nothing */
    struct sl_buf hosts; /* "node[0-3]" without quotes */
    struct sl_buf props; /* {"ssd": "0-1"}, empty if there are none */
};
void graphio_rlite_init(struct graphio_rlite *r, const struct sl_graph *g,
                        const struct sl_grant *gr, size_t ceiling);
void graphio_rlite_done(struct graphio_rlite *r);

#endif
