/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a recipe: a walk over its edges, depth-first from each root, in the order of the text.
 * An edge creates all its vertices at once, for every vertex of its source, so vertices are
 * numbered kind by kind. An edge to what was reached before is skipped.
 */
#include "lib/graphio/grug.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/graphio/stage.h"

typedef SL_VEC(sl_vtx) vertices;

struct cook {
    const struct sl_graphio_text *t;
    const struct graphio_grug *x;
    struct sl_graph *g;
    struct sl_err *err;
    vertices *made;                     /* by node of the recipe: what it stands for */
    uint8_t *seen;                      /* by node of the recipe */
    uint32_t *first, *next;             /* edges by source, in the order of the text */
    int64_t scales[SL_GRAPH_MAX_DEPTH]; /* of the edges that lead here, outermost first */
    uint32_t n_scales;
    uint32_t depth, max;
    uint64_t n_virtual; /* stand-ins of what is left out */
    int64_t next_rank;
    sl_vtx tree_root; /* of containment */
};

static int error_at(const struct cook *c, uint32_t line, int code, const char *what) {
    return sl_err_set(c->err, code, "%s:%u: %s", c->t->file, line, what);
}

static int located(const struct cook *c, uint32_t line, int r) {
    return r < 0 ? sl_err_wrap(c->err, r, "%s:%u", c->t->file, line) : r;
}

/* May so many more be made? */
static int check_vertices(const struct cook *c, uint32_t line, uint64_t n) {
    if (n + c->n_virtual + sl_graph_count(c->g) <= c->max)
        return 0;
    return sl_err_set(c->err, SL_ELIMIT, "%s:%u: more than %u vertices", c->t->file, line, c->max);
}

static bool is_containment(const char *subsystem) {
    return strcmp(subsystem, SL_GRAPH_CONTAINMENT) == 0;
}

/* ---- making ---- */

static int add_vertex(struct cook *c, const struct graphio_grug_node *n, int64_t id, sl_vtx *ret) {
    struct sl_vertex_spec s = {.type = n->type,
                               .basename = n->basename,
                               .unit = n->unit,
                               .id = id,
                               .uniq_id = -1,
                               .rank = -1,
                               .size = n->size};

    if (strcmp(n->type, "node") == 0)
        s.rank = c->next_rank++;
    return located(c, n->line, sl_graph_add(c->g, &s, ret, c->err));
}

/* The path of v in a subsystem; false if it has none there. */
static bool path_in(const struct cook *c, sl_vtx v, const char *subsystem, struct sl_buf *out) {
    const struct sl_vertex *x = sl_graph_vertex(c->g, v);
    sl_sym y = sl_sym_find(sl_graph_syms(c->g), subsystem);

    if (is_containment(subsystem)) {
        if (x->parent == SL_VTX_NONE && v != c->tree_root && !sl_vertex_path_in(c->g, v, y, out))
            return false;
        if (out->len == 0)
            sl_vertex_path(c->g, v, out);
        return true;
    }
    return y != SL_MAP_NONE && sl_vertex_path_in(c->g, v, y, out);
}

/* Adds the path of 'to' below 'from' in this subsystem. */
static void set_path(struct cook *c, const char *subsystem, sl_vtx from, sl_vtx to) {
    char name[SL_VERTEX_NAME];
    struct sl_buf path;

    sl_buf_init(&path, SL_GRAPH_MAX_DEPTH * (size_t)1100);
    if (from != SL_VTX_NONE)
        (void)path_in(c, from, subsystem, &path);
    sl_buf_putc(&path, '/');
    sl_buf_puts(&path, sl_vertex_name(c->g, to, name));
    sl_graph_set_path(c->g, to, subsystem, sl_buf_str(&path));
    sl_buf_done(&path);
}

/* Which of the ids that an edge gives does target i of source j get? */
static int64_t id_of(const struct cook *c, const struct graphio_grug_edge *e, uint64_t j,
                     int64_t i) {
    uint64_t wrap = 1;

    if (e->id_scope < 0)
        return -1;
    if (e->id_scope == 0)
        return e->id_start + i;
    for (int64_t h = 0; h < e->id_scope && h < (int64_t)c->n_scales; h++) {
        wrap *= (uint64_t)c->scales[c->n_scales - 1 - (uint32_t)h];
        if (wrap > SL_GRAPH_MAX_VERTICES || wrap == 0)
            break; /* there are not so many sources */
    }
    if (wrap > 0)
        j %= wrap;
    return e->id_start + (int64_t)j * e->scale * e->id_stride + i * e->id_stride;
}

/* One target of a source. The first of its kind shows the others how; it has no name of its own. */
static int make_target(struct cook *c, const struct graphio_grug_edge *e, sl_vtx from, int64_t id,
                       bool in_tree, bool ranked, sl_vtx *model, sl_vtx *ret) {
    const struct graphio_grug_node *n = &c->x->nodes.v[e->to];
    int r;

    if (in_tree && *model != SL_VTX_NONE)
        return located(
            c, e->line,
            sl_graph_add_like(c->g, *model, id, ranked ? c->next_rank++ : -1, from, ret, c->err));
    r = add_vertex(c, n, id, ret);
    if (r >= 0)
        r = located(c, e->line, sl_graph_link(c->g, e->subsystem, from, *ret, c->err));
    if (r >= 0 && !in_tree)
        set_path(c, n->subsystem, from, *ret);
    *model = *ret;
    return r;
}

static int multiply(struct cook *c, const struct graphio_grug_edge *e) {
    const struct graphio_grug_node *n = &c->x->nodes.v[e->to];
    const vertices *from = &c->made[e->from];
    vertices *to = &c->made[e->to];
    bool keep = graphio_type_allowed(c->t->allow, n->type), ranked = strcmp(n->type, "node") == 0;
    bool in_tree = is_containment(e->subsystem) && is_containment(n->subsystem);
    uint64_t total = (uint64_t)from->n * (uint64_t)e->scale;
    sl_vtx model = SL_VTX_NONE;
    int r = check_vertices(c, e->line, total);

    if (r < 0)
        return r;
    sl_vec_reserve(to, (uint32_t)total + 1);
    c->n_virtual += keep ? 0 : total;
    for (uint32_t j = 0; j < from->n; j++)
        for (int64_t i = 0; i < e->scale; i++) {
            sl_vtx v = from->v[j];
            if (keep)
                r = make_target(c, e, v, id_of(c, e, j, i), in_tree, ranked, &model, &v);
            if (r < 0)
                return r;
            *sl_vec_push(to) = v;
        }
    return 0;
}

/* ---- associating ---- */

struct target {
    uint64_t prefix; /* hash of the path that must be equal */
    sl_vtx v;
};

static int by_prefix(const void *a, const void *b) {
    const struct target *x = a, *y = b;
    if (x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    return x->v < y->v ? -1 : x->v > y->v;
}

/* The hash of a path without its last components; false if it has not so many. */
static bool prefix_of(const struct cook *c, sl_vtx v, const char *subsystem, int64_t up,
                      struct sl_buf *path, uint64_t *ret) {
    sl_buf_clear(path);
    if (!path_in(c, v, subsystem, path))
        return false;
    size_t n = path->len;
    for (; up > 0; up--) {
        while (n > 0 && path->s[n - 1] != '/')
            n--;
        if (n <= 1)
            return false;
        n--;
    }
    *ret = sl_hash_bytes(0, path->s, n);
    return n > 0;
}

/* All vertices of a type that were made so far. */
static void of_type(const struct cook *c, const char *type, const struct graphio_grug_edge *e,
                    struct sl_buf *path, vertices *ret, struct target **ret_targets) {
    sl_sym y = sl_sym_find(sl_graph_syms(c->g), type);
    bool by_path = e->method == SL_GRUG_ASSOCIATE_BY_PATH;
    struct target *t = NULL;
    uint32_t n = 0, count = sl_graph_count(c->g);

    for (sl_vtx v = 0; v < count; v++)
        if (sl_graph_vertex(c->g, v)->type == y)
            *sl_vec_push(ret) = v;
    if (by_path && ret->n > 0) {
        t = sl_alloc(ret->n * sizeof(*t));
        for (uint32_t i = 0; i < ret->n; i++)
            if (prefix_of(c, ret->v[i], e->by_subsystem, e->up_target, path, &t[n].prefix))
                t[n++].v = ret->v[i];
        qsort(t, n, sizeof(*t), by_prefix);
        ret->n = n;
    }
    *ret_targets = t;
}

static int associate_with(struct cook *c, const struct graphio_grug_edge *e, sl_vtx from, sl_vtx to,
                          uint64_t *n_edges) {
    if (from == to)
        return 0;
    if (++*n_edges > 4 * (uint64_t)c->max)
        return error_at(c, e->line, SL_ELIMIT, "too many edges");
    int r = located(c, e->line, sl_graph_link(c->g, e->subsystem, from, to, c->err));
    if (r < 0)
        return r;
    if (!is_containment(e->subsystem))
        set_path(c, e->subsystem, from, to);
    *sl_vec_push(&c->made[e->to]) = to;
    return 0;
}

static int associate(struct cook *c, const struct graphio_grug_edge *e) {
    const vertices *from = &c->made[e->from];
    vertices targets = {0};
    struct target *by_path;
    struct sl_buf path;
    uint64_t n_edges = 0, prefix;
    int r = 0;

    sl_buf_init(&path, SL_GRAPH_MAX_DEPTH * (size_t)1100);
    of_type(c, c->x->nodes.v[e->to].type, e, &path, &targets, &by_path);
    for (uint32_t j = 0; j < from->n && r >= 0; j++) {
        if (!by_path) {
            for (uint32_t i = 0; i < targets.n && r >= 0; i++)
                r = associate_with(c, e, from->v[j], targets.v[i], &n_edges);
            continue;
        }
        if (!prefix_of(c, from->v[j], e->by_subsystem, e->up_source, &path, &prefix))
            continue;
        uint32_t lo = 0, hi = targets.n;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (by_path[mid].prefix < prefix)
                lo = mid + 1;
            else
                hi = mid;
        }
        for (; lo < targets.n && by_path[lo].prefix == prefix && r >= 0; lo++)
            r = associate_with(c, e, from->v[j], by_path[lo].v, &n_edges);
    }
    sl_vec_free(&targets);
    sl_freep(&by_path);
    sl_buf_done(&path);
    return r;
}

/* ---- walking ---- */

static int walk_recipe(struct cook *c, uint32_t node) {
    int r = 0;

    if (++c->depth > SL_GRAPH_MAX_DEPTH)
        return error_at(c, c->x->nodes.v[node].line, SL_ELIMIT, "the recipe is too deep");
    c->seen[node] = 1;
    for (uint32_t i = c->first[node]; i != UINT32_MAX && r >= 0; i = c->next[i]) {
        const struct graphio_grug_edge *e = &c->x->edges.v[i];
        if (c->seen[e->to])
            continue;
        bool multiplies = e->method == SL_GRUG_MULTIPLY;
        r = multiplies ? multiply(c, e) : associate(c, e);
        if (r < 0)
            break;
        if (multiplies)
            c->scales[c->n_scales++] = e->scale;
        r = walk_recipe(c, e->to);
        c->n_scales -= multiplies;
    }
    c->depth--;
    return r;
}

/* Roots of the same subsystem are one vertex. */
static int root(struct cook *c, uint32_t node) {
    const struct graphio_grug_node *n = &c->x->nodes.v[node];
    sl_vtx v = SL_VTX_NONE;
    int r;

    for (uint32_t i = 0; i < c->x->nodes.n && v == SL_VTX_NONE; i++)
        if (c->x->nodes.v[i].root && c->made[i].n > 0 &&
            strcmp(c->x->nodes.v[i].subsystem, n->subsystem) == 0)
            v = c->made[i].v[0];
    if (v == SL_VTX_NONE) {
        if ((r = check_vertices(c, n->line, 1)) < 0 || (r = add_vertex(c, n, 0, &v)) < 0)
            return r;
        if (!is_containment(n->subsystem))
            set_path(c, n->subsystem, SL_VTX_NONE, v);
        else
            c->tree_root = v;
    }
    *sl_vec_push(&c->made[node]) = v;
    return walk_recipe(c, node);
}

int graphio_read_grug(const struct sl_graphio_text *t, struct sl_graph *g, struct sl_err *err) {
    struct graphio_grug x;
    struct cook c = {.t = t,
                     .x = &x,
                     .g = g,
                     .err = err,
                     .max = graphio_max_vertices(t),
                     .tree_root = SL_VTX_NONE};
    bool any = false;
    int r = graphio_grug_read(&x, t, err);

    if (r < 0) {
        graphio_grug_done(&x);
        return r;
    }
    c.made = sl_alloc0(x.nodes.n + 1, sizeof(*c.made));
    c.seen = sl_alloc0(x.nodes.n + 1, 1);
    c.first = sl_alloc((x.nodes.n + 1) * sizeof(*c.first));
    c.next = sl_alloc((x.edges.n + 1) * sizeof(*c.next));
    memset(c.first, 0xff, (x.nodes.n + 1) * sizeof(*c.first));
    for (uint32_t i = x.edges.n; i-- > 0;) {
        c.next[i] = c.first[x.edges.v[i].from];
        c.first[x.edges.v[i].from] = i;
    }
    for (uint32_t i = 0; i < x.nodes.n && r >= 0; i++)
        if (x.nodes.v[i].root && !c.seen[i]) {
            any = true;
            r = root(&c, i);
        }
    if (r >= 0 && !any)
        r = sl_err_set(err, SL_EINVAL, "%s:1: expected a node with the key \"root\", 1", t->file);
    if (r >= 0) {
        r = sl_graph_seal(g, err);
        if (r < 0)
            (void)sl_err_wrap(err, r, "%s", t->file);
    }
    for (uint32_t i = 0; i < x.nodes.n; i++)
        sl_vec_free(&c.made[i]);
    sl_freep(&c.made);
    sl_freep(&c.seen);
    sl_freep(&c.first);
    sl_freep(&c.next);
    graphio_grug_done(&x);
    return r;
}
