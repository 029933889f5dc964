/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JGF. Edges go through ids; which of them makes the tree is seen from the paths, because
 * many texts have edges both ways.
 */
#include "lib/graphio/jgf_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "core/graph/hostlist.h"
#include "lib/json/json.h"

#define ARENA_BYTES ((size_t)4 << 30)
#define MAX_PATHS 64u
#define MAX_PROPS 4096u

/* ---- vertices ---- */

static uint32_t find_vertex(const struct graphio_jgf *x, const char *id) {
    uint64_t key = sl_hash_str(0, id);
    uint32_t c, i;

    for (i = sl_map_first(&x->by_id, key, &c); i != SL_MAP_NONE;
         i = sl_map_next(&x->by_id, key, &c))
        if (strcmp(x->v.v[i].jid, id) == 0)
            return i;
    return SL_MAP_NONE;
}

static int paths(struct graphio_jgf *x, yyjson_val *map, struct graphio_jgf_vertex *ret) {
    size_t n = yyjson_obj_size(map), i, max;
    struct graphio_stage_path *v = sl_arena_alloc0(&x->arena, n + 1, sizeof(*v));
    yyjson_val *key, *value;
    int r = 0;

    if (n > MAX_PATHS)
        return graphio_jin_fail(x->j, map, SL_ELIMIT, "more than %u paths of one vertex",
                                MAX_PATHS);
    sl_obj_foreach (map, i, max, key, value) {
        if ((r = graphio_jin_text(x->j, key, key, "paths", &v[i].subsystem)) < 0 ||
            (r = graphio_jin_text(x->j, value, key, "paths", &v[i].path)) < 0)
            return r;
        if (v[i].path[0] != '/')
            return graphio_jin_fail(x->j, key, SL_EINVAL,
                                    "paths: expected a path such as /cluster0/node1, got \"%.60s\"",
                                    v[i].path);
        if (strcmp(v[i].subsystem, SL_GRAPH_CONTAINMENT) == 0)
            ret->path = v[i].path;
    }
    ret->paths = v;
    ret->n_paths = (uint32_t)n;
    return 0;
}

static int properties(struct graphio_jgf *x, yyjson_val *map, struct sl_vertex_spec *ret) {
    size_t n = yyjson_obj_size(map), i, max;
    yyjson_val *key, *value;
    int r = 0;

    if (n == 0)
        return 0;
    if (n > MAX_PROPS)
        return graphio_jin_fail(x->j, map, SL_ELIMIT, "more than %u properties of one vertex",
                                MAX_PROPS);
    struct sl_graph_prop *v = sl_arena_alloc0(&x->arena, n, sizeof(*v));
    sl_obj_foreach (map, i, max, key, value) {
        if ((r = graphio_jin_text(x->j, key, key, "properties", &v[i].key)) < 0 ||
            (r = graphio_jin_text(x->j, value, key, "properties", &v[i].value)) < 0)
            return r;
        if (!*v[i].key)
            return graphio_jin_fail(x->j, key, SL_EINVAL, "properties: expected a name, got \"\"");
    }
    ret->props = v;
    ret->n_props = (uint32_t)n;
    return 0;
}

/* What the text leaves out. */
static int defaults(struct graphio_jgf *x, struct graphio_jgf_vertex *v, bool has_id) {
    struct sl_vertex_spec *s = &v->spec;
    int64_t suffix;

    if (s->uniq_id < 0) {
        const char *p = v->jid;
        uint64_t id = 0;
        for (; *p >= '0' && *p <= '9' && id < INT64_MAX / 10; p++)
            id = id * 10 + (uint64_t)(*p - '0');
        if (p == v->jid || *p)
            return graphio_jin_fail(
                x->j, v->at, SL_EINVAL,
                "expected the key \"uniq_id\", as the id \"%.40s\" is no number", v->jid);
        s->uniq_id = (int64_t)id;
    }
    if (!has_id) {
        s->id = s->uniq_id;
        if (s->name && strcmp(s->type, "node") == 0) {
            (void)sl_hostlist_split(s->name, &suffix);
            s->id = suffix >= 0 ? suffix : s->id;
        }
    }
    if (!s->name && s->id < 0) /* the graph would call it by its basename alone */
        s->name =
            sl_arena_printf(&x->arena, "%s%" PRId64, s->basename ? s->basename : s->type, s->id);
    return 0;
}

static int vertex(struct graphio_jgf *x, yyjson_val *at) {
    struct graphio_jgf_vertex v = {.at = at,
                                   .spec = {.id = INT64_MIN, .uniq_id = -1, .rank = -1, .size = 1}};
    struct sl_vertex_spec *s = &v.spec;
    yyjson_val *meta, *map, *id;
    int64_t status = 0;
    int r;

    if (!yyjson_is_obj(at))
        return graphio_jin_fail(x->j, at, SL_EINVAL, "expected a vertex (an object)");
    if ((r = graphio_jin_need(x->j, at, "id", SL_JIN_TEXT, &id)) < 0 ||
        (r = graphio_jin_text(x->j, id, id, "id", &v.jid)) < 0 ||
        (r = graphio_jin_need(x->j, at, "metadata", SL_JIN_MAP, &meta)) < 0 ||
        (r = graphio_jin_str(x->j, meta, "type", &s->type)) < 0 ||
        (r = graphio_jin_str(x->j, meta, "basename", &s->basename)) < 0 ||
        (r = graphio_jin_str(x->j, meta, "name", &s->name)) < 0 ||
        (r = graphio_jin_str(x->j, meta, "unit", &s->unit)) < 0 ||
        (r = graphio_jin_int(x->j, meta, "id", -1, INT64_MAX, &s->id)) < 0 ||
        (r = graphio_jin_int(x->j, meta, "uniq_id", 0, INT64_MAX, &s->uniq_id)) < 0 ||
        (r = graphio_jin_int(x->j, meta, "rank", -1, INT32_MAX, &s->rank)) < 0 ||
        (r = graphio_jin_int(x->j, meta, "size", 1, SL_GRAPH_MAX_SIZE, &s->size)) < 0 ||
        (r = graphio_jin_int(x->j, meta, "status", 0, 1, &status)) < 0 ||
        (r = graphio_jin_bool(x->j, meta, "exclusive", &v.exclusive)) < 0 ||
        (r = graphio_jin_need(x->j, meta, "paths", SL_JIN_MAP, &map)) < 0 ||
        (r = paths(x, map, &v)) < 0 ||
        (r = graphio_jin_get(x->j, meta, "properties", SL_JIN_MAP, &map)) < 0 ||
        (r = properties(x, map, s)) < 0)
        return r;
    if (!s->type || !*s->type)
        return graphio_jin_fail(x->j, id, SL_EINVAL,
                                "expected the key \"type\" of vertex \"%.40s\"", v.jid);
    s->down = status == 1;
    r = defaults(x, &v, s->id != INT64_MIN);
    if (r < 0)
        return r;
    if (find_vertex(x, v.jid) != SL_MAP_NONE)
        return graphio_jin_fail(x->j, id, SL_EINVAL, "the id \"%.40s\" is given twice", v.jid);
    sl_map_add(&x->by_id, sl_hash_str(0, v.jid), x->v.n);
    *sl_vec_push(&x->v) = v;
    return 0;
}

/* ---- edges ---- */

/* Is path 'up' the folder of path 'down'? */
static bool is_folder(const char *up, const char *down) {
    size_t n = strlen(up);
    return strncmp(up, down, n) == 0 && down[n] == '/' && !strchr(down + n + 1, '/');
}

static bool is_above(const char *up, const char *down) {
    size_t n = strlen(up);
    return strncmp(up, down, n) == 0 && down[n] == '/';
}

static int edge(struct graphio_jgf *x, yyjson_val *at) {
    const char *ends[2] = {NULL, NULL};
    static const char *const keys[2] = {"source", "target"};
    struct graphio_jgf_edge e = {.subsystem = SL_GRAPH_CONTAINMENT};
    yyjson_val *v;
    uint32_t found[2];
    int r;

    if (!yyjson_is_obj(at))
        return graphio_jin_fail(x->j, at, SL_EINVAL, "expected an edge (an object)");
    for (int i = 0; i < 2; i++) {
        if ((r = graphio_jin_need(x->j, at, keys[i], SL_JIN_TEXT, &v)) < 0 ||
            (r = graphio_jin_text(x->j, v, v, keys[i], &ends[i])) < 0)
            return r;
        found[i] = find_vertex(x, ends[i]);
        if (found[i] == SL_MAP_NONE)
            return graphio_jin_fail(x->j, v, SL_EINVAL, "%s: there is no vertex \"%.40s\"", keys[i],
                                    ends[i]);
    }
    if ((r = graphio_jin_get(x->j, at, "metadata", SL_JIN_MAP, &v)) < 0 ||
        (r = graphio_jin_str(x->j, v, "subsystem", &e.subsystem)) < 0)
        return r;
    e.from = found[0];
    e.to = found[1];
    const char *from = x->v.v[e.from].path, *to = x->v.v[e.to].path;
    if (e.from == e.to)
        return graphio_jin_fail(x->j, at, SL_EINVAL, "an edge from \"%.40s\" to itself", ends[0]);
    if (!*e.subsystem)
        return graphio_jin_fail(x->j, at, SL_EINVAL, "subsystem: expected a name, got \"\"");
    if (strcmp(e.subsystem, SL_GRAPH_CONTAINMENT) == 0 && from && to) {
        e.tree = is_folder(from, to);
        e.reverse = is_above(to, from);
    }
    *sl_vec_push(&x->edges) = e;
    return 0;
}

/* Without a path, the first edge into a vertex is its parent. */
static void complete_tree(struct graphio_jgf *x) {
    uint8_t *reached = sl_alloc0((size_t)x->v.n + 1, 1);

    for (uint32_t i = 0; i < x->edges.n; i++) {
        struct graphio_jgf_edge *e = &x->edges.v[i];
        e->tree = e->tree && !reached[e->to];
        reached[e->to] |= e->tree;
    }
    for (uint32_t i = 0; i < x->edges.n; i++) {
        struct graphio_jgf_edge *e = &x->edges.v[i];
        if (e->tree || e->reverse || reached[e->to] ||
            strcmp(e->subsystem, SL_GRAPH_CONTAINMENT) != 0)
            continue;
        const char *path = x->v.v[e->to].path;
        if (path && !strchr(path + 1, '/'))
            e->reverse = true; /* nothing contains a root */
        else
            reached[e->to] = e->tree = true;
    }
    sl_freep(&reached);
}

/* ---- the whole ---- */

static int free_ranks(struct graphio_jgf *x, yyjson_val *top) {
    yyjson_val *v;
    const char *text;
    struct sl_err why;
    int r = graphio_jin_get(x->j, top, "free_ranks", SL_JIN_ANY, &v);

    if (r < 0 || !v)
        return r;
    if (yyjson_is_uint(v) && yyjson_get_uint(v) <= SL_IDSET_MAX_ID)
        text = sl_arena_printf(&x->arena, "%" PRIu64, yyjson_get_uint(v));
    else if ((r = graphio_jin_text(x->j, v, v - 1, "free_ranks", &text)) < 0)
        return r;
    if (sl_idset_add(&x->free_ranks, text, &why) < 0)
        return graphio_jin_fail(x->j, v - 1, SL_EINVAL, "free_ranks: %s", why.text);
    return 0;
}

int graphio_jgf_read(struct graphio_jgf *x, const struct graphio_jin *j, yyjson_val *top,
                     uint32_t max_vertices, bool with_edges) {
    yyjson_val *graph, *nodes, *edges, *v;
    size_t i, n;
    int r;

    *x = (struct graphio_jgf){.j = j};
    sl_arena_init(&x->arena, ARENA_BYTES);
    if (!yyjson_is_obj(top))
        return graphio_jin_fail(j, top, SL_EINVAL, "expected a graph (an object)");
    if ((r = graphio_jin_need(j, top, "graph", SL_JIN_MAP, &graph)) < 0 ||
        (r = free_ranks(x, top)) < 0 ||
        (r = graphio_jin_need(j, graph, "nodes", SL_JIN_LIST, &nodes)) < 0 ||
        (r = graphio_jin_need(j, graph, "edges", SL_JIN_LIST, &edges)) < 0)
        return r;
    if (yyjson_arr_size(nodes) > max_vertices || yyjson_arr_size(edges) > 8 * (size_t)max_vertices)
        return graphio_jin_fail(j, graph, SL_ELIMIT, "more than %u vertices, or %zu edges",
                                max_vertices, 8 * (size_t)max_vertices);
    yyjson_arr_foreach (nodes, i, n, v)
        if ((r = vertex(x, v)) < 0)
            return r;
    if (!with_edges)
        return 0;
    yyjson_arr_foreach (edges, i, n, v)
        if ((r = edge(x, v)) < 0)
            return r;
    complete_tree(x);
    return 0;
}

void graphio_jgf_done(struct graphio_jgf *x) {
    sl_vec_free(&x->v);
    sl_vec_free(&x->edges);
    sl_map_done(&x->by_id);
    sl_idset_done(&x->free_ranks);
    sl_arena_done(&x->arena);
}
