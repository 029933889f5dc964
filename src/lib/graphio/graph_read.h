/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that describe graphs, and what a job has of one.
 *
 *   grug           a recipe in GraphML: how many of what are in what
 *   jgf            JSON Graph Format: each vertex and edge
 *   jgf_shorthand  the same, where an exclusive vertex stands for all below it; as a graph it is
 * jgf rv1exec        R, version 1 (RFC 20); with a "scheduling" key its JGF counts rv1exec_force R,
 * version 1, whatever its "scheduling" key says hwloc          hwloc's XML of one machine
 *
 * Everything arrives in memory, is bounded (SL_GRAPHIO_MAX_BYTES, the ceilings of
 * core/graph/graph.h), and is checked before anything is changed: what is refused leaves a graph as
 * it was. Messages give file, line or path, and what was expected. Not thread-safe.
 */
#ifndef SL_LIB_GRAPHIO_GRAPH_READ_H
#define SL_LIB_GRAPHIO_GRAPH_READ_H

#include "core/graph/match/match.h"

#define SL_GRAPHIO_MAX_BYTES ((size_t)256 << 20)

enum sl_graphio_format {
    SL_GRAPHIO_GRUG,
    SL_GRAPHIO_JGF,
    SL_GRAPHIO_JGF_SHORTHAND,
    SL_GRAPHIO_RV1EXEC,
    SL_GRAPHIO_RV1EXEC_FORCE,
    SL_GRAPHIO_HWLOC,
};
/* False if there is no such name. */
bool sl_graphio_format_parse(const char *word, enum sl_graphio_format *ret);

struct sl_graphio_text {
    enum sl_graphio_format format;
    const char *file; /* for messages */
    const char *text;
    size_t len;
    /* Types to keep, separated by commas; NULL or empty: all. What is inside of one that is left
     * out goes into what contained it; the root always stays. */
    const char *allow;
    uint32_t max_vertices; /* 0: SL_GRAPH_MAX_VERTICES */
};

/* Start time of the resources in an R, in seconds; -1: absent. */
struct sl_graphio_time {
    int64_t start, end;
};

/* A new graph, sealed. ret_time may be NULL. */
int sl_graphio_read(const struct sl_graphio_text *t, struct sl_graph **ret,
                    struct sl_graphio_time *ret_time, struct sl_err *err) _must_check_;
/* The same from a file. */
int sl_graphio_load(const char *path, enum sl_graphio_format format, const char *allow,
                    struct sl_graph **ret, struct sl_graphio_time *ret_time,
                    struct sl_err *err) _must_check_;
/* Adds what a JGF or R has and the graph has not, and seals it. Vertices are the same if path and
 * rank are; edges between two that were there are not added. 'allow' is ignored. On failure the
 * graph is as it was. */
int sl_graphio_read_more(struct sl_graph *g, const struct sl_graphio_text *t,
                         struct sl_err *err) _must_check_;

/* ---- what a job has ---- */

/* The vertices that a job has according to a text, as sl_match_update expects them: those with
 * amounts and the path to them, depth-first. */
struct sl_graphio_holding {
    SL_VEC(struct sl_pick) picks;
    struct sl_graphio_time time;
};
void sl_graphio_holding_done(struct sl_graphio_holding *h);
/* jgf, jgf_shorthand, rv1exec. Every vertex must be in the graph and agree with it: type, basename,
 * size, rank, id, name, paths. Vertices of the ranks in "free_ranks" are left out. ret is zeroed or
 * was used before. */
int sl_graphio_holding_read(const struct sl_graph *g, const struct sl_graphio_text *t,
                            struct sl_graphio_holding *ret, struct sl_err *err) _must_check_;

typedef SL_VEC(sl_vtx) sl_graphio_vertices;
/* What a job gives back according to a text, of what it has: with jgf the vertices that are listed
 * (those that it only shares are skipped), with rv1exec all that it has of the listed ranks, each
 * of which the graph must have (SL_ENOENT if one is missing, which is in *ret_rank then). If all is
 * well, *ret_rank is the first listed rank that no vertex has which is the job's alone, or -1. */
int sl_graphio_release_read(const struct sl_graph *g, const struct sl_graphio_text *t,
                            const struct sl_grant *has, sl_graphio_vertices *ret, int64_t *ret_rank,
                            struct sl_err *err) _must_check_;

#endif
