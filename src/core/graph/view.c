/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph through another of its subsystems: what that one reaches from its root, with its edges as
 * the tree.
 */
#include <string.h>

#include "core/graph/graph_int.h"

/* Marks what can be reached from a vertex. */
static void reach(const struct sl_graph *g, sl_sym y, sl_vtx root, sl_vtx *number) {
    uint32_t *head = sl_alloc((size_t)(g->v.n + 1) * sizeof(*head));
    uint32_t *next = sl_alloc((size_t)(g->edges.n + 1) * sizeof(*next));
    SL_VEC(sl_vtx) open = {0};
    memset(head, 0xff, (size_t)(g->v.n + 1) * sizeof(*head));
    for (uint32_t i = 0; i < g->edges.n; i++) {
        if (g->edges.v[i].subsystem != y)
            continue;
        next[i] = head[g->edges.v[i].from];
        head[g->edges.v[i].from] = i;
    }
    number[root] = 0;
    *sl_vec_push(&open) = root;
    while (open.n > 0) {
        sl_vtx v = sl_vec_pop(&open);
        for (uint32_t i = head[v]; i != UINT32_MAX; i = next[i]) {
            sl_vtx to = g->edges.v[i].to;
            if (number[to] == 0)
                continue;
            number[to] = 0;
            *sl_vec_push(&open) = to;
        }
    }
    sl_vec_free(&open);
    sl_freep(&head);
    sl_freep(&next);
}

static int copy_vertex(const struct sl_graph *g, sl_vtx v, struct sl_graph *to, sl_vtx *ret,
                       struct sl_err *err) {
    const struct sl_vertex *x = &g->v.v[v];
    struct sl_vertex_spec s = {
        .type = sl_sym_str(&g->syms, x->type),
        .basename = sl_sym_str(&g->syms, x->basename),
        .name = x->name ? sl_sym_str(&g->syms, x->name) : NULL,
        .unit = x->unit ? sl_sym_str(&g->syms, x->unit) : NULL,
        .id = x->id,
        .uniq_id = x->uniq_id,
        .rank = x->rank,
        .size = x->size,
        .down = x->down,
    };
    s.n_props = sl_vertex_props(g, v, &s.props);
    return sl_graph_add(to, &s, ret, err);
}

static int copy_edges(const struct sl_graph *g, sl_sym y, const char *name, const sl_vtx *number,
                      struct sl_graph *to, struct sl_err *err) {
    int r = 0;
    for (uint32_t i = 0; i < g->edges.n && r >= 0; i++) {
        const struct sl_graph_edge *e = &g->edges.v[i];
        if (e->subsystem == y && number[e->from] != SL_VTX_NONE && number[e->to] != SL_VTX_NONE)
            r = sl_graph_link(to, name, number[e->from], number[e->to], err);
    }
    return r;
}

/* Vertices keep the paths that they have in containment. */
static void copy_paths(const struct sl_graph *g, const sl_vtx *number, struct sl_graph *to) {
    struct sl_buf path;
    sl_buf_init(&path, SL_GRAPH_MAX_DEPTH * (size_t)1100);
    for (sl_vtx v = 0; v < g->v.n; v++) {
        if (number[v] == SL_VTX_NONE || (g->v.v[v].parent == SL_VTX_NONE && v != g->root))
            continue;
        sl_buf_clear(&path);
        sl_vertex_path(g, v, &path);
        sl_graph_set_path(to, number[v], SL_GRAPH_CONTAINMENT, sl_buf_str(&path));
    }
    sl_buf_done(&path);
}

int sl_graph_view(const struct sl_graph *g, const char *subsystem, const char *const *others,
                  uint32_t n, struct sl_graph **ret, struct sl_err *err) {
    sl_sym y = sl_sym_find(&g->syms, subsystem);
    sl_vtx root = y == SL_MAP_NONE ? SL_VTX_NONE : sl_graph_subsystem_root(g, y);
    int r = 0;
    if (root == SL_VTX_NONE || y == g->subsystems.v[0])
        return sl_err_set(err, SL_ENOENT, "the graph has no subsystem %.60s besides containment",
                          subsystem);
    _cleanup_(sl_graph_freep) struct sl_graph *to = sl_graph_new();
    sl_vtx *number = sl_alloc((size_t)(g->v.n + 1) * sizeof(*number));
    memset(number, 0xff, (size_t)(g->v.n + 1) * sizeof(*number));
    reach(g, y, root, number);
    for (sl_vtx v = 0; v < g->v.n && r >= 0; v++)
        if (number[v] != SL_VTX_NONE)
            r = copy_vertex(g, v, to, &number[v], err);
    if (r >= 0)
        r = copy_edges(g, y, SL_GRAPH_CONTAINMENT, number, to, err);
    for (uint32_t i = 0; i < n && r >= 0; i++)
        r = copy_edges(g, sl_sym_find(&g->syms, others[i]), others[i], number, to, err);
    if (r >= 0)
        copy_paths(g, number, to);
    sl_freep(&number);
    if (r >= 0)
        r = sl_graph_seal(to, err);
    if (r >= 0)
        *ret = TAKE_PTR(to);
    return r;
}
