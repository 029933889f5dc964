/* SPDX-License-Identifier: Apache-2.0 */
/* See find.h. */
#include "lib/graphio/find.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"

void graphio_finder_init(struct graphio_finder *f, const struct sl_graph *g) {
    *f = (struct graphio_finder){.g = g, .indexed = sl_alloc0((size_t)sl_graph_count(g) + 1, 1)};
}

void graphio_finder_done(struct graphio_finder *f) {
    sl_map_done(&f->kids);
    sl_freep(&f->indexed);
}

static bool fits(const struct sl_graph *g, sl_vtx v, const char *name, size_t len, int64_t rank) {
    char space[SL_VERTEX_NAME];
    const char *own = sl_vertex_name(g, v, space);

    return (rank == SL_ANY_RANK || sl_graph_vertex(g, v)->rank == rank) && strlen(own) == len &&
           memcmp(own, name, len) == 0;
}

static void index_kids(struct graphio_finder *f, sl_vtx parent) {
    const struct sl_vertex *x = sl_graph_vertex(f->g, parent);
    char space[SL_VERTEX_NAME];

    for (uint32_t i = 0; i < x->n_kids; i++) {
        sl_vtx kid = sl_graph_kids(f->g)[x->kids + i];
        const char *name = sl_vertex_name(f->g, kid, space);
        sl_map_add(&f->kids, sl_hash_bytes(parent, name, strlen(name)), kid);
    }
    f->indexed[parent] = 1;
}

sl_vtx graphio_finder_kid(struct graphio_finder *f, sl_vtx parent, const char *name, size_t len,
                          int64_t rank) {
    sl_vtx root = sl_graph_root(f->g), best = SL_VTX_NONE;
    uint32_t c;

    if (parent == SL_VTX_NONE)
        return root != SL_VTX_NONE && fits(f->g, root, name, len, rank) ? root : SL_VTX_NONE;
    if (!f->indexed[parent])
        index_kids(f, parent);
    uint64_t key = sl_hash_bytes(parent, name, len);
    for (sl_vtx v = sl_map_first(&f->kids, key, &c); v != SL_MAP_NONE;
         v = sl_map_next(&f->kids, key, &c))
        if (v < best && sl_graph_vertex(f->g, v)->parent == parent &&
            fits(f->g, v, name, len, rank))
            best = v; /* the first that was added, whatever the map's order */
    return best;
}

/* By names from a vertex on; from the root if that is SL_VTX_NONE. */
static sl_vtx go_down(struct graphio_finder *f, sl_vtx v, const char *p, int64_t rank) {
    while (*p == '/') {
        size_t len = strcspn(++p, "/");
        bool last = p[len] == '\0';
        v = graphio_finder_kid(f, v, p, len, last ? rank : SL_ANY_RANK);
        if (v == SL_VTX_NONE || last)
            return v;
        p += len;
    }
    return SL_VTX_NONE;
}

sl_vtx graphio_finder_path(struct graphio_finder *f, const char *path, int64_t rank) {
    const struct sl_syms *syms = sl_graph_syms(f->g);

    if (sl_graph_root(f->g) == SL_VTX_NONE)
        return SL_VTX_NONE;
    /* A path that was set is a symbol; others hardly ever are. */
    if (sl_sym_find(syms, path) != SL_MAP_NONE) {
        sl_vtx v = sl_graph_by_path(f->g, path);
        if (v != SL_VTX_NONE && (rank == SL_ANY_RANK || sl_graph_vertex(f->g, v)->rank == rank))
            return v;
    }
    sl_vtx found = go_down(f, SL_VTX_NONE, path, rank);
    /* Through another subsystem, it begins with the path of something that contains it. */
    char *part = sl_strdup(path);
    for (size_t len = strlen(path); found == SL_VTX_NONE && len > 1; len--) {
        if (part[len - 1] != '/')
            continue;
        part[len - 1] = '\0';
        if (sl_sym_find(syms, part) == SL_MAP_NONE)
            continue;
        sl_vtx up = sl_graph_by_path(f->g, part);
        if (up != SL_VTX_NONE)
            found = go_down(f, up, path + len - 1, rank);
    }
    sl_freep(&part);
    return found;
}
