/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From R to a graph: cluster0, a node for each rank, and in it what its entry lists. A rank that is
 * in several entries is one node.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/graphio/find.h"
#include "lib/graphio/rv1_read.h"

struct stager {
    struct graphio_rv1 *x;
    const struct sl_graph *g; /* NULL: a new one */
    const struct sl_graphio_text *t;
    struct graphio_finder find;
    struct graphio_stage *s;
    struct sl_map nodes; /* rank -> staged node */
    struct sl_map kids;  /* node, type and id -> 0, where several entries have a rank */
    uint64_t made;       /* vertices */
};

/* The properties of a node of this rank, or of its children of a type. */
static void properties(const struct stager *t, int64_t rank, const char *type,
                       struct sl_vertex_spec *s) {
    struct graphio_rv1 *x = t->x;

    if (x->props.n == 0)
        return;
    struct sl_graph_prop *v = sl_arena_alloc0(&t->s->arena, x->props.n, sizeof(*v));
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->props.n; i++) {
        const struct graphio_rv1_prop *p = &x->props.v[i];
        bool fits = !type || (p->child && strcmp(p->child, type) == 0);
        if (fits && sl_idset_has(&p->ranks, rank))
            v[n++] = (struct sl_graph_prop){type ? p->bare : p->name, p->value};
    }
    s->props = n > 0 ? v : NULL;
    s->n_props = n;
}

static uint32_t stage(struct stager *t, uint32_t parent, sl_vtx there,
                      const struct sl_vertex_spec *spec) {
    uint32_t at = t->s->v.n;

    *sl_vec_push(&t->s->v) = (struct graphio_staged){.spec = *spec, .there = there};
    if (parent != UINT32_MAX && there == SL_VTX_NONE)
        *sl_vec_push(&t->s->edges) = (struct graphio_stage_edge){parent, at, SL_GRAPH_CONTAINMENT};
    return at;
}

static uint32_t node(struct stager *t, int64_t rank) {
    const char *host = graphio_rv1_host(t->x, rank);
    uint64_t key = sl_hash_u64(0, (uint64_t)rank);
    uint32_t at = sl_map_get(&t->nodes, key);
    struct sl_vertex_spec spec = {
        .type = "node", .name = host, .uniq_id = -1, .rank = rank, .size = 1};
    sl_vtx there = SL_VTX_NONE;

    if (at != SL_MAP_NONE)
        return at;
    if (!graphio_type_allowed(t->t->allow, "node"))
        return 0;
    size_t n = sl_hostlist_split(host, &spec.id);
    spec.basename = n > 0 && host[n] ? sl_arena_strndup(&t->s->arena, host, n) : host;
    properties(t, rank, NULL, &spec);
    if (t->g)
        there = graphio_finder_kid(&t->find, sl_graph_root(t->g), host, strlen(host), rank);
    at = stage(t, 0, there, &spec);
    sl_map_add(&t->nodes, key, at);
    return at;
}

static int child(struct stager *t, const struct graphio_rv1_entry *e, uint32_t parent,
                 const struct graphio_rv1_child *c, int64_t rank) {
    struct sl_vertex_spec spec = {.type = c->type, .uniq_id = -1, .rank = rank, .size = 1};
    sl_vtx up = t->s->v.v[parent].there, there = SL_VTX_NONE;
    char name[SL_VERTEX_NAME];

    if (!graphio_type_allowed(t->t->allow, c->type))
        return 0;
    properties(t, rank, c->type, &spec);
    for (uint32_t i = 0; i < c->ids.ranges.n; i++)
        for (spec.id = c->ids.ranges.v[i].first; spec.id <= c->ids.ranges.v[i].last; spec.id++) {
            if (t->g && up != SL_VTX_NONE && strlen(c->type) < SL_VERTEX_NAME - 24) {
                int n = snprintf(name, sizeof(name), "%s%" PRId64, c->type, spec.id);
                there = graphio_finder_kid(&t->find, up, name, (size_t)n, rank);
            }
            if (t->x->repeated) {
                uint64_t key = sl_hash_str(sl_hash_u64(parent, (uint64_t)spec.id), c->type);
                if (sl_map_get(&t->kids, key) != SL_MAP_NONE)
                    return graphio_jin_fail(t->x->j, e->at, SL_EINVAL,
                                            "%.40s%" PRId64 " of rank %" PRId64 " is given twice",
                                            c->type, spec.id, rank);
                sl_map_add(&t->kids, key, 0);
            }
            (void)stage(t, parent, there, &spec);
        }
    return 0;
}

static int entry(struct stager *t, const struct graphio_rv1_entry *e) {
    struct graphio_rv1 *x = t->x;
    uint64_t per_rank = 1, ranks = sl_idset_count(&e->ranks);
    int r = 0;

    for (uint32_t k = 0; k < e->n_children; k++)
        per_rank += sl_idset_count(&x->children.v[e->children + k].ids);
    t->made += ranks * (per_rank < UINT32_MAX ? per_rank : UINT32_MAX);
    if (t->made > graphio_max_vertices(t->t))
        return graphio_jin_fail(x->j, e->at, SL_ELIMIT, "more than %u vertices",
                                graphio_max_vertices(t->t));
    for (uint32_t i = 0; i < e->ranks.ranges.n; i++)
        for (int64_t rank = e->ranks.ranges.v[i].first; rank <= e->ranks.ranges.v[i].last; rank++) {
            uint32_t at = node(t, rank);
            for (uint32_t k = 0; k < e->n_children && r >= 0; k++)
                r = child(t, e, at, &x->children.v[e->children + k], rank);
        }
    return r;
}

int graphio_stage_rv1(struct graphio_rv1 *x, const struct sl_graph *g,
                      const struct sl_graphio_text *text, struct graphio_stage *s) {
    static const struct sl_vertex_spec cluster = {
        .type = "cluster", .id = 0, .uniq_id = -1, .rank = -1, .size = 1};
    struct stager t = {.x = x, .g = g, .t = text, .s = s, .made = 1};
    int r = 0;

    if (x->hosts.names.n == 0 && x->ranks.ranges.n > 0)
        return graphio_jin_fail(x->j, x->j->root, SL_EINVAL,
                                "expected the key \"nodelist\", an array");
    if (g)
        graphio_finder_init(&t.find, g);
    (void)stage(&t, UINT32_MAX, g ? sl_graph_root(g) : SL_VTX_NONE, &cluster);
    for (uint32_t i = 0; i < x->entries.n && r >= 0; i++)
        r = entry(&t, &x->entries.v[i]);
    sl_map_done(&t.nodes);
    sl_map_done(&t.kids);
    if (g)
        graphio_finder_done(&t.find);
    return r;
}
