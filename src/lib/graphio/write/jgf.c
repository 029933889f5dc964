/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Graph Format. Keys with their default are omitted; an edge has its subsystem only if it is
 * not containment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/graphio/write/write_int.h"
#include "lib/json/writer.h"

#define MAX_SUMS 256u

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct sl_graph_prop *)a)->key, ((const struct sl_graph_prop *)b)->key);
}

struct sl_graph_prop *sl_graphio_sorted_props(const struct sl_graph *g, sl_vtx v, uint32_t *ret_n) {
    const struct sl_graph_prop *props;
    uint32_t n = *ret_n = sl_vertex_props(g, v, &props);
    struct sl_graph_prop *sorted = sl_realloc(NULL, n, sizeof(*sorted));

    if (n > 0) {
        memcpy(sorted, props, n * sizeof(*sorted));
        qsort(sorted, n, sizeof(*sorted), by_key);
    }
    return sorted;
}

static void properties(const struct sl_graph *g, sl_vtx v, struct sl_jw *j) {
    uint32_t n;
    struct sl_graph_prop *p = sl_graphio_sorted_props(g, v, &n);

    if (n > 0) {
        sl_jw_object(j, "properties");
        for (uint32_t i = 0; i < n; i++)
            sl_jw_str(j, p[i].key, p[i].value);
        sl_jw_end(j);
    }
    sl_freep(&p);
}

static void paths(const struct sl_graph *g, sl_vtx v, struct sl_buf *scratch, struct sl_jw *j) {
    const sl_sym *subsystems;
    uint32_t n = sl_graph_subsystems(g, &subsystems);

    sl_jw_object(j, "paths");
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_clear(scratch);
        if (i > 0 || !graphio_in_tree(g, v)) {
            if (!sl_vertex_path_in(g, v, subsystems[i], scratch))
                continue;
        } else {
            sl_vertex_path(g, v, scratch);
        }
        sl_jw_str(j, sl_sym_str(sl_graph_syms(g), subsystems[i]), sl_buf_str(scratch));
    }
    sl_jw_end(j);
}

struct named_sum {
    const char *type;
    int64_t used, total;
};

static int by_type(const void *a, const void *b) {
    return strcmp(((const struct named_sum *)a)->type, ((const struct named_sum *)b)->type);
}

static void agfilter(const struct sl_graphio_match_writer *w, const struct sl_graph *g, sl_vtx v,
                     struct sl_jw *j) {
    struct sl_match_filter_sum sums[MAX_SUMS];
    struct named_sum named[MAX_SUMS];
    uint32_t n = w->sums ? w->sums(w->sums_ctx, v, sums, MAX_SUMS) : 0, kept = 0;

    for (uint32_t i = 0; i < n && i < MAX_SUMS; i++)
        if (sums[i].type != sl_graph_vertex(g, v)->type)
            named[kept++] = (struct named_sum){sl_sym_str(sl_graph_syms(g), sums[i].type),
                                               sums[i].used, sums[i].total};
    if (kept == 0)
        return;
    qsort(named, kept, sizeof(*named), by_type);
    sl_jw_object(j, "agfilter");
    for (uint32_t i = 0; i < kept; i++)
        sl_jw_strf(j, named[i].type, "used:%" PRId64 ", total:%" PRId64, named[i].used,
                   named[i].total);
    sl_jw_end(j);
}

static void ephemeral(const struct sl_graphio_match_writer *w, const char *type, struct sl_jw *j) {
    for (uint32_t i = 0; i < w->n_labels; i++) {
        if (strcmp(w->labels[i].type, type) != 0)
            continue;
        sl_jw_object(j, "ephemeral");
        sl_jw_str(j, "label", w->labels[i].label);
        sl_jw_end(j);
        return;
    }
}

/* Is the name what basename and id give? Without an id they give "basename-1". */
static bool usual_name(const char *name, const char *basename, int64_t id) {
    size_t n = strlen(basename);
    char digits[24];

    sl_fmt(digits, sizeof(digits), "%" PRId64, id);
    return strncmp(name, basename, n) == 0 && strcmp(name + n, digits) == 0;
}

/* The number of a vertex is a string there. */
static void put_id(struct sl_jw *j, const char *key, const struct sl_vertex *x) {
    sl_buf_int(sl_jw_begin_str(j, key), x->uniq_id);
    sl_jw_end_str(j);
}

static void vertex(const struct sl_graphio_match_writer *w, const struct sl_graph *g,
                   const struct sl_pick *k, struct sl_buf *scratch, struct sl_jw *j) {
    const struct sl_syms *syms = sl_graph_syms(g);
    const struct sl_vertex *x = sl_graph_vertex(g, k->v);
    const char *basename = sl_sym_str(syms, x->basename);
    char space[SL_VERTEX_NAME];
    const char *name = sl_vertex_name(g, k->v, space);

    sl_jw_object(j, NULL);
    put_id(j, "id", x);
    sl_jw_object(j, "metadata");
    sl_jw_str(j, "type", sl_sym_str(syms, x->type));
    if (x->basename != x->type)
        sl_jw_str(j, "basename", basename);
    if ((x->name || x->id < 0) && !usual_name(name, basename, x->id))
        sl_jw_str(j, "name", name);
    sl_jw_int(j, "id", x->id);
    sl_jw_int(j, "rank", x->rank);
    properties(g, k->v, j);
    if (x->unit)
        sl_jw_str(j, "unit", sl_sym_str(syms, x->unit));
    if (k->exclusive)
        sl_jw_bool(j, "exclusive", true);
    if (k->needs != 1)
        sl_jw_int(j, "size", k->needs);
    paths(g, k->v, scratch, j);
    ephemeral(w, sl_sym_str(syms, x->type), j);
    agfilter(w, g, k->v, j);
    sl_jw_end(j);
    sl_jw_end(j);
}

static void edge(const struct sl_graph *g, sl_vtx from, sl_vtx to, const char *subsystem,
                 struct sl_jw *j) {
    sl_jw_object(j, NULL);
    put_id(j, "source", sl_graph_vertex(g, from));
    put_id(j, "target", sl_graph_vertex(g, to));
    if (subsystem) {
        sl_jw_object(j, "metadata");
        sl_jw_str(j, "subsystem", subsystem);
        sl_jw_end(j);
    }
    sl_jw_end(j);
}

/* Edges to and from what is in no tree, if the answer has both ends. */
static void other_edges(const struct sl_graph *g, const struct sl_grant *gr, struct sl_jw *j) {
    uint32_t n_edges;
    const struct sl_graph_edge *edges = sl_graph_edges(g, &n_edges);
    bool any = false;

    for (uint32_t i = 0; i < gr->picks.n && !any && n_edges > 0; i++)
        any = !graphio_in_tree(g, gr->picks.v[i].v);
    if (!any)
        return;
    uint8_t *picked = sl_alloc0((size_t)sl_graph_count(g) + 1, 1);
    for (uint32_t i = 0; i < gr->picks.n; i++)
        picked[gr->picks.v[i].v] = graphio_in_tree(g, gr->picks.v[i].v) ? 1 : 3;
    for (uint32_t i = 0; i < n_edges; i++)
        if (picked[edges[i].from] && picked[edges[i].to] &&
            ((picked[edges[i].from] | picked[edges[i].to]) & 2))
            edge(g, edges[i].from, edges[i].to, sl_sym_str(sl_graph_syms(g), edges[i].subsystem),
                 j);
    sl_freep(&picked);
}

/* What is below an exclusive vertex is implied. */
static void omit(struct sl_graphio_match_writer *w, const struct sl_grant *gr,
                 const struct graphio_places *p) {
    for (uint32_t i = 0; i < p->n; i++) { /* parents come first */
        uint32_t up = p->at[i].parent;
        if (up == UINT32_MAX)
            continue;
        p->at[i].omitted = p->at[up].omitted || gr->picks.v[up].exclusive;
        w->omitted |= p->at[i].omitted;
    }
}

void graphio_write_jgf(struct sl_graphio_match_writer *w, const struct sl_graph *g,
                       const struct sl_grant *gr, const struct graphio_places *p, bool shorthand,
                       struct sl_buf *out) {
    struct sl_jw *j = &SL_JW_SPACED(out);
    struct sl_buf scratch;

    if (p->n == 0)
        return;
    if (shorthand && !w->in_full)
        omit(w, gr, p);
    sl_buf_init(&scratch, SL_GRAPH_MAX_DEPTH * (size_t)1100);
    sl_jw_object(j, NULL);
    sl_jw_object(j, "graph");
    sl_jw_array(j, "nodes");
    for (uint32_t i = 0; i < p->n; i++)
        if (!p->at[p->post[i]].omitted)
            vertex(w, g, &gr->picks.v[p->post[i]], &scratch, j);
    sl_jw_end(j);
    sl_jw_array(j, "edges");
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t k = p->post[i], up = p->at[k].parent;
        if (up != UINT32_MAX && !p->at[k].omitted)
            edge(g, gr->picks.v[up].v, gr->picks.v[k].v, NULL, j);
    }
    other_edges(g, gr, j);
    sl_jw_end_to(j, 1);
    if (shorthand && w->omitted)
        sl_jw_str(j, "writer", "fluxion:jgf_shorthand");
    sl_jw_end(j);
    sl_buf_done(&scratch);
}
