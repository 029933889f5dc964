/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From JGF to a graph: which of its vertices are there already, which are left out, and what then
 * contains what.
 */
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/graphio/find.h"
#include "lib/graphio/jgf_read.h"

#define NOWHERE UINT32_MAX

struct stager {
    const struct graphio_jgf *x;
    const struct sl_graph *g; /* NULL: a new one */
    struct graphio_finder find;
    struct graphio_stage *s;
    struct sl_map by_path; /* path and rank -> vertex of the text */
    struct sl_map uniq;    /* ids that are taken */
    uint32_t *parent;      /* of the vertices of the text, in the text; NOWHERE: none */
    uint32_t *at;          /* their places on the stage; NOWHERE: left out */
};

static bool is_root(const struct graphio_jgf_vertex *v) {
    return v->path && !strchr(v->path + 1, '/');
}

/* The vertex of the graph that this is, by any of its paths and its rank. */
static sl_vtx in_graph(struct stager *t, const struct graphio_jgf_vertex *v) {
    for (uint32_t i = 0; t->g && i < v->n_paths; i++) {
        sl_vtx found = graphio_finder_path(&t->find, v->paths[i].path, v->spec.rank);
        if (found != SL_VTX_NONE)
            return found;
    }
    return SL_VTX_NONE;
}

/* The same in the text before vertex i; NOWHERE if it is the first. */
static uint32_t in_text(struct stager *t, uint32_t i) {
    const struct graphio_jgf_vertex *v = &t->x->v.v[i];
    uint32_t c, found = NOWHERE;

    for (uint32_t k = 0; k < v->n_paths; k++) {
        uint64_t key = sl_hash_str(sl_hash_u64(0, (uint64_t)v->spec.rank), v->paths[k].path);
        for (uint32_t o = sl_map_first(&t->by_path, key, &c); o != SL_MAP_NONE;
             o = sl_map_next(&t->by_path, key, &c)) {
            const struct graphio_jgf_vertex *other = &t->x->v.v[o];
            for (uint32_t m = 0; m < other->n_paths && other->spec.rank == v->spec.rank; m++)
                if (o < found && strcmp(other->paths[m].path, v->paths[k].path) == 0)
                    found = o;
        }
    }
    for (uint32_t k = 0; k < v->n_paths && found == NOWHERE; k++)
        sl_map_add(&t->by_path,
                   sl_hash_str(sl_hash_u64(0, (uint64_t)v->spec.rank), v->paths[k].path), i);
    return found;
}

/* An id that is taken is not given out twice: it decides between equals. */
static void claim(struct stager *t, struct sl_vertex_spec *s) {
    uint64_t key = sl_hash_u64(0, (uint64_t)s->uniq_id);

    if (sl_map_get(&t->uniq, key) != SL_MAP_NONE)
        s->uniq_id = -1;
    else
        sl_map_add(&t->uniq, key, 0);
}

static int put_vertices(struct stager *t, const char *allow) {
    const struct graphio_jgf *x = t->x;
    bool rooted = t->g && sl_graph_root(t->g) != SL_VTX_NONE;

    for (uint32_t i = 0; i < x->v.n; i++) {
        const struct graphio_jgf_vertex *v = &x->v.v[i];
        uint32_t same = in_text(t, i);
        sl_vtx there = same == NOWHERE ? in_graph(t, v) : SL_VTX_NONE;
        t->at[i] = NOWHERE;
        if (same != NOWHERE) {
            t->at[i] = t->at[same];
            t->parent[i] = t->parent[same];
            continue;
        }
        if (there == SL_VTX_NONE && is_root(v)) {
            if (rooted)
                return graphio_jin_fail(x->j, v->at, t->g ? SL_EEXIST : SL_EINVAL,
                                        "\"%.60s\" is a second root; expected one tree", v->path);
            rooted = true;
        } else if (there == SL_VTX_NONE && !graphio_type_allowed(allow, v->spec.type)) {
            continue;
        }
        t->at[i] = t->s->v.n;
        struct graphio_staged *staged = sl_vec_push(&t->s->v);
        *staged = (struct graphio_staged){.spec = v->spec, .there = there};
        if (!allow || !*allow) { /* else names and what is left give the paths */
            staged->paths = v->paths;
            staged->n_paths = v->n_paths;
        }
        if (there == SL_VTX_NONE)
            claim(t, &staged->spec);
    }
    return 0;
}

/* The first vertex on the way up that was not left out. */
static uint32_t staged_ancestor(const struct stager *t, uint32_t i) {
    for (uint32_t n = 0; i != NOWHERE && n <= SL_GRAPH_MAX_DEPTH; n++, i = t->parent[i])
        if (t->at[i] != NOWHERE)
            return t->at[i];
    return NOWHERE;
}

static void put_edges(struct stager *t, bool tree) {
    for (uint32_t i = 0; i < t->x->edges.n; i++) {
        const struct graphio_jgf_edge *e = &t->x->edges.v[i];
        uint32_t to = t->at[e->to], from = tree ? staged_ancestor(t, e->from) : t->at[e->from];
        if (e->reverse || e->tree != tree || to == NOWHERE || from == NOWHERE || from == to)
            continue;
        if (t->s->v.v[from].there != SL_VTX_NONE && t->s->v.v[to].there != SL_VTX_NONE)
            continue;
        *sl_vec_push(&t->s->edges) = (struct graphio_stage_edge){from, to, e->subsystem};
    }
}

int graphio_stage_jgf(const struct graphio_jgf *x, const struct sl_graph *g, const char *allow,
                      struct graphio_stage *s) {
    struct stager t = {.x = x, .g = g, .s = s};

    t.parent = sl_alloc((size_t)(x->v.n + 1) * sizeof(*t.parent));
    t.at = sl_alloc((size_t)(x->v.n + 1) * sizeof(*t.at));
    memset(t.parent, 0xff, (size_t)(x->v.n + 1) * sizeof(*t.parent));
    if (g) {
        graphio_finder_init(&t.find, g);
        for (uint32_t v = 0; v < sl_graph_count(g); v++)
            sl_map_add(&t.uniq, sl_hash_u64(0, (uint64_t)sl_graph_vertex(g, v)->uniq_id), 0);
    }
    for (uint32_t i = 0; i < x->edges.n; i++)
        if (x->edges.v[i].tree)
            t.parent[x->edges.v[i].to] = x->edges.v[i].from;
    int r = put_vertices(&t, allow);
    if (r >= 0) {
        put_edges(&t, true);
        put_edges(&t, false);
    }
    if (g)
        graphio_finder_done(&t.find);
    sl_map_done(&t.by_path);
    sl_map_done(&t.uniq);
    sl_freep(&t.parent);
    sl_freep(&t.at);
    return r;
}
