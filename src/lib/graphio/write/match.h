/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of matches as text, and whole graphs as pictures. Everything is appended to a buffer; its
 * limit is the caller's, which checks 'overflow' at the end.
 */
#ifndef SL_LIB_GRAPHIO_WRITE_MATCH_H
#define SL_LIB_GRAPHIO_WRITE_MATCH_H

#include "core/base/buf.h"
#include "core/graph/match/match.h"

enum sl_graphio_match_format {
    SL_GRAPHIO_MATCH_SIMPLE,
    SL_GRAPHIO_MATCH_PRETTY_SIMPLE,
    SL_GRAPHIO_MATCH_JGF,
    SL_GRAPHIO_MATCH_JGF_SHORTHAND,
    SL_GRAPHIO_MATCH_RLITE,
    SL_GRAPHIO_MATCH_RV1,
    SL_GRAPHIO_MATCH_RV1_NOSCHED,
    SL_GRAPHIO_MATCH_RV1_SHORTHAND,
};
/* False if there is no such format. */
bool sl_graphio_match_format_parse(const char *word, enum sl_graphio_match_format *ret);

/* One session's way of writing; all zero but for the format is a good start. */
struct sl_graphio_match_writer {
    enum sl_graphio_match_format format;
    bool omitted;      /* a shorthand has left something out: from then on each of them is marked */
    bool in_full;      /* shorthands leave out nothing */
    bool nslots;       /* rv1: "execution" also has the number of slots (RFC 20) */
    const char *queue; /* rv1: goes into "attributes"; NULL: none */
    /* The sums of a vertex's filter, as sl_match_sums gives them; NULL: no "agfilter". */
    uint32_t (*sums)(const void *ctx, sl_vtx v, struct sl_match_filter_sum *ret, uint32_t max);
    const void *sums_ctx;
    /* Labels of requests, by the type of the vertices that they are for. */
    const struct sl_graphio_label { const char *type, *label; } * labels;
    uint32_t n_labels;
};

/* Appends one answer, its last newline included. rlite without a core or gpu below any node:
 * SL_EINVAL, and nothing is written; the rv1 formats then write nothing and are content. */
int sl_graphio_match_write(struct sl_graphio_match_writer *w, const struct sl_graph *g,
                           const struct sl_grant *gr, struct sl_buf *out,
                           struct sl_err *err) _must_check_;

/* The properties of a vertex by name. Points into its graph; freed by the caller. */
struct sl_graph_prop *sl_graphio_sorted_props(const struct sl_graph *g, sl_vtx v, uint32_t *ret_n);

enum sl_graphio_picture_format { SL_GRAPHIO_PICTURE_DOT, SL_GRAPHIO_PICTURE_GRAPHML };
/* "dot" or "graphml", case-insensitive; these are the extensions of the files as well. */
bool sl_graphio_picture_format_parse(const char *word, enum sl_graphio_picture_format *ret);
void sl_graphio_picture_write(const struct sl_graph *g, enum sl_graphio_picture_format f,
                              struct sl_buf *out);
/* The containment tree as DOT with labels of the caller's, who appends that of a vertex, of one or
 * more lines. A vertex without one is left out with all below it. */
typedef void (*sl_graphio_label_fn)(const void *ctx, sl_vtx v, struct sl_buf *out);
void sl_graphio_dot_write(const struct sl_graph *g, sl_graphio_label_fn label, const void *ctx,
                          struct sl_buf *out);

#endif
