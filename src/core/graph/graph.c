/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a graph. Vertices and links are only noted; sealing counts the children of each vertex
 * into one array and walks the tree once, which finds cycles and second roots on the way.
 */
#include "core/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/graph_int.h"

static const char *const usual_types[] = {"cluster", "rack", "node",         "socket",
                                          "core",    "gpu",  "storage_node", "ssd"};

bool sl_graph_is_usual_type(const char *type) {
    for (size_t i = 0; i < SL_LEN(usual_types); i++)
        if (strcmp(usual_types[i], type) == 0)
            return true;
    return false;
}

struct sl_graph *sl_graph_new(void) {
    struct sl_graph *g = sl_alloc0(1, sizeof(*g));
    sl_syms_init(&g->syms);
    g->root = SL_VTX_NONE;
    *sl_vec_push(&g->subsystems) = sl_sym_put(&g->syms, SL_GRAPH_CONTAINMENT);
    for (size_t i = 0; i < SL_LEN(usual_types); i++)
        (void)sl_sym_put(&g->syms, usual_types[i]); /* requests may name them */
    *sl_vec_push(&g->props) = (struct graph_props){0};
    return g;
}

void sl_graph_free(struct sl_graph *g) {
    if (!g)
        return;
    for (uint32_t i = 0; i < g->props.n; i++) {
        sl_freep(&g->props.v[i].v);
        sl_freep(&g->props.v[i].keys);
    }
    sl_vec_free(&g->props);
    sl_vec_free(&g->v);
    sl_vec_free(&g->pending);
    sl_vec_free(&g->kids);
    sl_vec_free(&g->order);
    sl_vec_free(&g->edges);
    sl_vec_free(&g->more_kids.of);
    sl_vec_free(&g->more_kids.other);
    sl_vec_free(&g->more_parents.of);
    sl_vec_free(&g->more_parents.other);
    sl_vec_free(&g->subsystems);
    sl_vec_free(&g->paths);
    sl_map_done(&g->paths_by_vertex);
    sl_map_done(&g->paths_by_text);
    sl_vec_free(&g->by_rank);
    sl_vec_free(&g->types);
    sl_syms_done(&g->syms);
    free(g);
}

void sl_graph_freep(struct sl_graph **g) {
    sl_graph_free(*g);
    *g = NULL;
}

#define copy_vec(to, from)                                                                         \
    do {                                                                                           \
        sl_vec_reserve((to), (from)->n);                                                           \
        if ((from)->n > 0)                                                                         \
            memcpy((to)->v, (from)->v, (size_t)(from)->n * sizeof((from)->v[0]));                  \
        (to)->n = (from)->n;                                                                       \
    } while (0)

struct sl_graph *sl_graph_clone(const struct sl_graph *g) {
    struct sl_graph *c = sl_alloc0(1, sizeof(*c));
    sl_syms_copy(&c->syms, &g->syms);
    c->generation = g->generation;
    c->next_uniq = g->next_uniq;
    c->n_tree = g->n_tree;
    c->root = g->root;
    copy_vec(&c->v, &g->v);
    copy_vec(&c->pending, &g->pending);
    copy_vec(&c->kids, &g->kids);
    copy_vec(&c->order, &g->order);
    copy_vec(&c->edges, &g->edges);
    copy_vec(&c->more_kids.of, &g->more_kids.of);
    copy_vec(&c->more_kids.other, &g->more_kids.other);
    copy_vec(&c->more_parents.of, &g->more_parents.of);
    copy_vec(&c->more_parents.other, &g->more_parents.other);
    copy_vec(&c->subsystems, &g->subsystems);
    copy_vec(&c->by_rank, &g->by_rank);
    copy_vec(&c->types, &g->types);
    for (uint32_t i = 0; i < g->paths.n; i++) {
        struct graph_path p = g->paths.v[i];
        sl_map_add(&c->paths_by_vertex, p.v, i);
        sl_map_add(&c->paths_by_text, p.text, i);
        *sl_vec_push(&c->paths) = p;
    }
    for (uint32_t i = 0; i < g->props.n; i++) {
        const struct graph_props *from = &g->props.v[i];
        struct graph_props to = {.v = sl_realloc(NULL, from->n, sizeof(*to.v)),
                                 .keys = sl_realloc(NULL, from->n, sizeof(*to.keys)),
                                 .n = from->n};
        for (uint32_t k = 0; k < from->n; k++) {
            to.keys[k] = from->keys[k];
            to.v[k] = (struct sl_graph_prop){
                sl_sym_str(&c->syms, to.keys[k]),
                sl_sym_str(&c->syms, sl_sym_put(&c->syms, from->v[k].value))};
        }
        *sl_vec_push(&c->props) = to;
    }
    return c;
}

/* ---- adding ---- */

_Static_assert(SL_GRAPH_MAX_SIZE <= INT64_MAX / SL_GRAPH_MAX_VERTICES, "sums of sizes fit");

static int check_symbol_count(const struct sl_graph *g, uint32_t n, struct sl_err *err) {
    if (g->syms.names.n + n > SL_SYM_MAX)
        return sl_err_set(err, SL_ELIMIT, "more than %u different names and values", SL_SYM_MAX);
    return 0;
}

/* Is this the name that basename and id give? */
static bool is_usual_name(const char *basename, int64_t id, const char *name) {
    char text[SL_VERTEX_NAME];
    int n = id < 0 ? snprintf(text, sizeof(text), "%s", basename)
                   : snprintf(text, sizeof(text), "%s%lld", basename, (long long)id);
    return n < (int)sizeof(text) && strcmp(text, name) == 0;
}

static int check_spec(const struct sl_graph *g, const struct sl_vertex_spec *s,
                      struct sl_err *err) {
    const char *what = s->name ? s->name : s->type;
    if (!s->type || !*s->type)
        return sl_err_set(err, SL_EINVAL, "a vertex without a type");
    if (s->size < 1 || s->size > SL_GRAPH_MAX_SIZE)
        return sl_err_set(err, SL_EINVAL, "%.60s: expected a size from 1 to %lld, got %lld", what,
                          (long long)SL_GRAPH_MAX_SIZE, (long long)s->size);
    if (s->rank < -1 || s->rank > INT32_MAX || s->id < -1 || s->uniq_id < -1)
        return sl_err_set(err, SL_EINVAL, "%.60s: ids and ranks are -1 or more", what);
    if (strlen(s->basename ? s->basename : s->type) > SL_VERTEX_NAME - 24 ||
        strlen(s->type) > SL_VERTEX_TYPE || (s->name && strlen(s->name) >= 1024))
        return sl_err_set(err, SL_ELIMIT, "%.60s…: the name is too long", what);
    if (g->v.n >= SL_GRAPH_MAX_VERTICES)
        return sl_err_set(err, SL_ELIMIT, "more than %u vertices", SL_GRAPH_MAX_VERTICES);
    return check_symbol_count(g, 4 + 2 * s->n_props, err);
}

int sl_graph_add(struct sl_graph *g, const struct sl_vertex_spec *s, sl_vtx *ret,
                 struct sl_err *err) {
    int r = check_spec(g, s, err);
    if (r < 0)
        return r;
    const char *basename = s->basename ? s->basename : s->type;
    sl_vtx v = g->v.n;
    struct sl_vertex *x = sl_vec_push(&g->v);
    *x = (struct sl_vertex){
        .id = s->id,
        .uniq_id = s->uniq_id >= 0 ? s->uniq_id : g->next_uniq,
        .size = s->size,
        .rank = (int32_t)s->rank,
        .type = sl_sym_put(&g->syms, s->type),
        .basename = sl_sym_put(&g->syms, basename),
        .unit = sl_sym_put(&g->syms, s->unit),
        .name =
            !s->name || is_usual_name(basename, s->id, s->name) ? 0 : sl_sym_put(&g->syms, s->name),
        .parent = SL_VTX_NONE,
        .down = s->down,
    };
    if (x->uniq_id >= g->next_uniq && x->uniq_id < INT64_MAX)
        g->next_uniq = x->uniq_id + 1;
    for (uint32_t i = 0; i < s->n_props && r >= 0; i++)
        r = sl_vertex_set_prop(g, v, s->props[i].key, s->props[i].value, err);
    *ret = v;
    return r;
}

int sl_graph_add_like(struct sl_graph *g, sl_vtx like, int64_t id, int64_t rank, sl_vtx parent,
                      sl_vtx *ret, struct sl_err *err) {
    if (like >= g->v.n || parent >= g->v.n || id < -1 || rank < -1 || rank > INT32_MAX)
        return sl_err_set(err, SL_EINVAL, "ids and ranks are -1 or more");
    if (g->v.n >= SL_GRAPH_MAX_VERTICES)
        return sl_err_set(err, SL_ELIMIT, "more than %u vertices", SL_GRAPH_MAX_VERTICES);
    sl_vtx v = *ret = g->v.n;
    struct sl_vertex *x = sl_vec_push(&g->v);
    const struct sl_vertex *y = graph_vertex(g, like);
    *x = (struct sl_vertex){
        .id = id,
        .uniq_id = g->next_uniq,
        .size = y->size,
        .rank = (int32_t)rank,
        .type = y->type,
        .basename = y->basename,
        .unit = y->unit,
        .parent = parent,
    };
    g->next_uniq += g->next_uniq < INT64_MAX;
    *sl_vec_push(&g->pending) = (struct graph_link){parent, v};
    return 0;
}

static sl_sym subsystem(struct sl_graph *g, const char *name) {
    sl_sym y = sl_sym_put(&g->syms, name);
    for (uint32_t i = 0; i < g->subsystems.n; i++)
        if (g->subsystems.v[i] == y)
            return y;
    *sl_vec_push(&g->subsystems) = y;
    return y;
}

int sl_graph_link(struct sl_graph *g, const char *name, sl_vtx from, sl_vtx to,
                  struct sl_err *err) {
    if (from >= g->v.n || to >= g->v.n || from == to)
        return sl_err_set(err, SL_EINVAL, "an edge needs two vertices");
    if (!name || !*name || strlen(name) >= SL_VERTEX_NAME)
        return sl_err_set(err, SL_EINVAL, "an edge needs a subsystem");
    if (g->pending.n + g->edges.n >= 4 * SL_GRAPH_MAX_VERTICES)
        return sl_err_set(err, SL_ELIMIT, "more than %u edges", 4 * SL_GRAPH_MAX_VERTICES);
    int r = check_symbol_count(g, 1, err);
    if (r < 0)
        return r;
    sl_sym y = subsystem(g, name);
    if (y == g->subsystems.v[0] && graph_vertex(g, to)->parent == SL_VTX_NONE) {
        graph_vertex(g, to)->parent = from;
        *sl_vec_push(&g->pending) = (struct graph_link){from, to};
    } else {
        *sl_vec_push(&g->edges) = (struct sl_graph_edge){from, to, y};
    }
    return 0;
}

void sl_graph_remove(struct sl_graph *g, sl_vtx v) {
    struct sl_vertex *x = graph_vertex(g, v);
    for (uint32_t pos = x->pos; pos < x->end; pos++)
        graph_vertex(g, g->order.v[pos])->removed = 1;
}

/* ---- sealing ---- */

/* The children of all vertices in one array: those from before, then those linked since. */
static void lay_out_kids(struct sl_graph *g) {
    uint32_t n = 0, *next = sl_alloc0((size_t)g->v.n + 1, sizeof(*next));
    for (uint32_t v = 0; v < g->v.n; v++) {
        const struct sl_vertex *x = graph_vertex(g, v);
        for (uint32_t k = 0; k < x->n_kids; k++)
            next[v] += !graph_vertex(g, g->kids.v[x->kids + k])->removed;
    }
    for (uint32_t i = 0; i < g->pending.n; i++)
        next[g->pending.v[i].from] += !graph_vertex(g, g->pending.v[i].to)->removed;
    SL_VEC(sl_vtx) kids = {0};
    sl_assert(g->v.n > 0 || g->pending.n == 0);
    sl_vec_reserve(&kids, g->v.n);
    for (uint32_t v = 0; v < g->v.n; v++) {
        struct sl_vertex *x = graph_vertex(g, v);
        uint32_t count = next[v], at = next[v] = n;
        for (uint32_t k = 0; k < x->n_kids; k++)
            if (!graph_vertex(g, g->kids.v[x->kids + k])->removed)
                kids.v[next[v]++] = g->kids.v[x->kids + k];
        x->kids = at;
        x->n_kids = count;
        n += count;
    }
    for (uint32_t i = 0; i < g->pending.n; i++)
        if (!graph_vertex(g, g->pending.v[i].to)->removed)
            kids.v[next[g->pending.v[i].from]++] = g->pending.v[i].to;
    kids.n = n;
    sl_vec_free(&g->kids);
    memcpy(&g->kids, &kids, sizeof(kids));
    sl_vec_clear(&g->pending);
    sl_freep(&next);
}

/* In a tree are its root and all vertices with a parent; the others may only be in auxiliary
 * subsystems. */
static int find_root(struct sl_graph *g, struct sl_err *err) {
    char a[SL_VERTEX_NAME], b[SL_VERTEX_NAME];
    uint32_t live = 0;
    g->root = SL_VTX_NONE;
    for (uint32_t v = 0; v < g->v.n; v++) {
        const struct sl_vertex *x = graph_vertex(g, v);
        if (x->removed)
            continue;
        live++;
        if (x->parent != SL_VTX_NONE || x->n_kids == 0)
            continue;
        if (g->root != SL_VTX_NONE)
            return sl_err_set(err, SL_EINVAL, "two roots, %.60s and %.60s; expected one tree",
                              sl_vertex_name(g, g->root, a), sl_vertex_name(g, v, b));
        g->root = v;
    }
    for (uint32_t v = 0; v < g->v.n && live == 1 && g->root == SL_VTX_NONE; v++)
        if (!graph_vertex(g, v)->removed && graph_vertex(g, v)->parent == SL_VTX_NONE)
            g->root = v;
    if (g->root == SL_VTX_NONE)
        return sl_err_set(err, SL_EINVAL,
                          live ? "no root: expected a vertex that none contains"
                               : "a graph without vertices");
    return 0;
}

static int number_vertices(struct sl_graph *g, uint32_t *ret_reached, struct sl_err *err) {
    uint32_t at[SL_GRAPH_MAX_DEPTH];
    sl_vtx way[SL_GRAPH_MAX_DEPTH];
    uint32_t depth = 0;
    sl_vec_clear(&g->order);
    sl_vec_reserve(&g->order, g->v.n);
    way[0] = g->root;
    at[0] = 0;
    graph_vertex(g, g->root)->pos = 0;
    graph_vertex(g, g->root)->depth = 0;
    *sl_vec_push(&g->order) = g->root;
    for (;;) {
        struct sl_vertex *x = graph_vertex(g, way[depth]);
        if (at[depth] == x->n_kids) {
            x->end = g->order.n;
            if (depth-- == 0)
                break;
            continue;
        }
        sl_vtx kid = g->kids.v[x->kids + at[depth]++];
        if (depth + 1 == SL_GRAPH_MAX_DEPTH)
            return sl_err_set(err, SL_ELIMIT, "the tree is more than %u levels deep",
                              SL_GRAPH_MAX_DEPTH);
        way[++depth] = kid;
        at[depth] = 0;
        graph_vertex(g, kid)->pos = g->order.n;
        graph_vertex(g, kid)->depth = (uint16_t)depth;
        *sl_vec_push(&g->order) = kid;
    }
    *ret_reached = g->n_tree = g->order.n;
    return 0;
}

/* Vertices of auxiliary subsystems alone have positions behind the tree. One with a parent that was
 * not reached is part of a cycle. */
static int place_others(struct sl_graph *g, uint32_t reached, struct sl_err *err) {
    char name[SL_VERTEX_NAME];
    uint8_t *linked = sl_alloc0((size_t)g->v.n + 1, 1);
    int r = 0;
    for (uint32_t i = 0; i < reached; i++)
        linked[g->order.v[i]] = 2;
    for (uint32_t i = 0; i < g->edges.n; i++) {
        linked[g->edges.v[i].from] |= 1;
        linked[g->edges.v[i].to] |= 1;
    }
    for (uint32_t v = 0; v < g->v.n && r >= 0; v++) {
        struct sl_vertex *x = graph_vertex(g, v);
        if (x->removed || linked[v] & 2)
            continue;
        if (x->parent != SL_VTX_NONE) {
            r = sl_err_set(err, SL_EINVAL, "%.60s contains itself", sl_vertex_name(g, v, name));
        } else if (!linked[v] && x->end > 0) {
            x->removed = 1; /* what it had edges to has been removed */
        } else if (!linked[v]) {
            r = sl_err_set(err, SL_EINVAL, "%.60s has no edges", sl_vertex_name(g, v, name));
        } else {
            x->pos = g->order.n;
            x->end = g->order.n + 1;
            x->depth = 0;
            *sl_vec_push(&g->order) = v;
        }
    }
    sl_freep(&linked);
    return r;
}

/* ---- further parents ---- */

struct beside {
    sl_vtx of, other;
    uint32_t turn; /* of linking */
};

static int by_end_and_turn(const void *a, const void *b) {
    const struct beside *x = a, *y = b;
    if (x->of != y->of)
        return x->of < y->of ? -1 : 1;
    return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static int by_ends_and_turn(const void *a, const void *b) {
    const struct beside *x = a, *y = b;
    return x->of == y->of && x->other != y->other ? (x->other < y->other ? -1 : 1)
                                                  : by_end_and_turn(a, b);
}

static void put_beside(struct beside *v, uint32_t n, struct graph_beside *ret) {
    uint32_t once = 0;
    sl_vec_clear(&ret->of);
    sl_vec_clear(&ret->other);
    if (n == 0)
        return;
    qsort(v, n, sizeof(*v), by_ends_and_turn);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || v[i].of != v[i - 1].of || v[i].other != v[i - 1].other)
            v[once++] = v[i];
    qsort(v, once, sizeof(*v), by_end_and_turn);
    for (uint32_t i = 0; i < once; i++) {
        *sl_vec_push(&ret->of) = v[i].of;
        *sl_vec_push(&ret->other) = v[i].other;
    }
}

/* Edges of containment between vertices of the tree that the tree does not have. */
static void list_beside(struct sl_graph *g) {
    SL_VEC(struct beside) down = {0};
    SL_VEC(struct beside) up = {0};
    for (uint32_t i = 0; i < g->edges.n; i++) {
        const struct sl_graph_edge *e = &g->edges.v[i];
        if (e->subsystem != g->subsystems.v[0] || graph_vertex(g, e->to)->parent == e->from ||
            graph_vertex(g, e->from)->pos >= g->n_tree || graph_vertex(g, e->to)->pos >= g->n_tree)
            continue;
        *sl_vec_push(&down) = (struct beside){e->from, e->to, i};
        *sl_vec_push(&up) = (struct beside){e->to, e->from, i};
    }
    put_beside(down.v, down.n, &g->more_kids);
    put_beside(up.v, up.n, &g->more_parents);
    sl_vec_free(&down);
    sl_vec_free(&up);
}

static uint32_t find_beside(const struct graph_beside *b, sl_vtx v, const sl_vtx **ret) {
    uint32_t lo = 0, hi = b->of.n, n = 0;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->of.v[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    *ret = b->other.v + lo;
    while (lo + n < b->of.n && b->of.v[lo + n] == v)
        n++;
    return n;
}

uint32_t sl_graph_more_kids(const struct sl_graph *g, sl_vtx v, const sl_vtx **ret) {
    return find_beside(&g->more_kids, v, ret);
}

uint32_t sl_graph_more_parents(const struct sl_graph *g, sl_vtx v, const sl_vtx **ret) {
    return find_beside(&g->more_parents, v, ret);
}

uint32_t sl_graph_n_more(const struct sl_graph *g) {
    return g->more_kids.of.n;
}

/* Takes away vertices whose parents are all gone until none is left; each is as deep as the longest
 * way to it. */
static int check_ways(struct sl_graph *g, struct sl_err *err) {
    char name[SL_VERTEX_NAME];
    if (g->more_kids.of.n == 0)
        return 0;
    uint32_t *in = sl_alloc0((size_t)g->v.n + 1, sizeof(*in));
    uint32_t *depth = sl_alloc0((size_t)g->v.n + 1, sizeof(*depth)), reached = 0;
    SL_VEC(sl_vtx) open = {0};
    int r = 0;
    for (uint32_t i = 1; i < g->n_tree; i++)
        in[g->order.v[i]] = 1;
    for (uint32_t i = 0; i < g->more_parents.of.n; i++)
        in[g->more_parents.of.v[i]]++;
    *sl_vec_push(&open) = g->root;
    while (open.n > 0 && r >= 0) {
        sl_vtx v = sl_vec_pop(&open);
        const struct sl_vertex *x = graph_vertex(g, v);
        const sl_vtx *more;
        uint32_t n_more = sl_graph_more_kids(g, v, &more);
        reached++;
        if (depth[v] + 1 > SL_GRAPH_MAX_DEPTH)
            r = sl_err_set(err, SL_ELIMIT, "the way to %.60s is more than %u levels deep",
                           sl_vertex_name(g, v, name), SL_GRAPH_MAX_DEPTH);
        for (uint32_t i = 0; i < x->n_kids + n_more; i++) {
            sl_vtx kid = i < x->n_kids ? g->kids.v[x->kids + i] : more[i - x->n_kids];
            if (depth[kid] < depth[v] + 1)
                depth[kid] = depth[v] + 1;
            if (--in[kid] == 0)
                *sl_vec_push(&open) = kid;
        }
    }
    for (uint32_t i = 0; i < g->n_tree && r >= 0 && reached < g->n_tree; i++)
        if (in[g->order.v[i]] > 0)
            r = sl_err_set(err, SL_EINVAL, "%.60s contains itself",
                           sl_vertex_name(g, g->order.v[i], name));
    sl_vec_free(&open);
    sl_freep(&in);
    sl_freep(&depth);
    return r;
}

/* Takes away vertices of one subsystem that nothing leads to any more until none is left. */
static int check_rings(struct sl_graph *g, sl_sym y, struct sl_err *err) {
    char name[SL_VERTEX_NAME];
    uint32_t left = 0, *in = sl_alloc0((size_t)g->v.n + 1, sizeof(*in));
    uint32_t *head = sl_alloc((size_t)(g->v.n + 1) * sizeof(*head));
    uint32_t *next = sl_alloc((size_t)(g->edges.n + 1) * sizeof(*next));
    SL_VEC(sl_vtx) free_ones = {0};
    memset(head, 0xff, (size_t)(g->v.n + 1) * sizeof(*head));
    for (uint32_t i = 0; i < g->edges.n; i++) {
        if (g->edges.v[i].subsystem != y)
            continue;
        in[g->edges.v[i].to]++;
        next[i] = head[g->edges.v[i].from];
        head[g->edges.v[i].from] = i;
        left++;
    }
    for (uint32_t v = 0; v < g->v.n; v++)
        if (in[v] == 0 && head[v] != UINT32_MAX)
            *sl_vec_push(&free_ones) = v;
    while (free_ones.n > 0) {
        sl_vtx v = sl_vec_pop(&free_ones);
        for (uint32_t i = head[v]; i != UINT32_MAX; i = next[i], left--)
            if (--in[g->edges.v[i].to] == 0 && head[g->edges.v[i].to] != UINT32_MAX)
                *sl_vec_push(&free_ones) = g->edges.v[i].to;
    }
    int r = 0;
    for (uint32_t i = 0; i < g->edges.n && left > 0 && r >= 0; i++)
        if (g->edges.v[i].subsystem == y && in[g->edges.v[i].to] > 0)
            r = sl_err_set(err, SL_EINVAL, "%.60s leads to itself in %.60s",
                           sl_vertex_name(g, g->edges.v[i].to, name), sl_sym_str(&g->syms, y));
    sl_vec_free(&free_ones);
    sl_freep(&in);
    sl_freep(&head);
    sl_freep(&next);
    return r;
}

static int by_rank_then_vertex(const void *x, const void *y) {
    const struct graph_ranked *a = x, *b = y;
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : a->v < b->v ? -1 : a->v > b->v;
}

static void index_ranks(struct sl_graph *g) {
    bool sorted = true;
    sl_vec_clear(&g->by_rank);
    for (uint32_t v = 0; v < g->v.n; v++) {
        struct graph_ranked k = {graph_vertex(g, v)->rank, v};
        if (k.rank < 0 || graph_vertex(g, v)->removed)
            continue;
        sorted = sorted && (g->by_rank.n == 0 || sl_vec_last(&g->by_rank).rank <= k.rank);
        *sl_vec_push(&g->by_rank) = k;
    }
    if (!sorted)
        qsort(g->by_rank.v, g->by_rank.n, sizeof(*g->by_rank.v), by_rank_then_vertex);
}

static void list_types(struct sl_graph *g) {
    uint8_t *seen = sl_alloc0((size_t)g->syms.names.n + 1, 1);
    sl_vec_clear(&g->types);
    for (uint32_t i = 0; i < g->order.n; i++) {
        sl_sym type = graph_vertex(g, g->order.v[i])->type;
        if (!seen[type])
            *sl_vec_push(&g->types) = type;
        seen[type] = 1;
    }
    sl_freep(&seen);
}

int sl_graph_seal(struct sl_graph *g, struct sl_err *err) {
    uint32_t reached, n = 0;
    g->generation++;
    lay_out_kids(g);
    for (uint32_t i = 0; i < g->edges.n; i++)
        if (!graph_vertex(g, g->edges.v[i].from)->removed &&
            !graph_vertex(g, g->edges.v[i].to)->removed)
            g->edges.v[n++] = g->edges.v[i];
    g->edges.n = n;
    int r = find_root(g, err);
    if (r >= 0)
        r = number_vertices(g, &reached, err);
    if (r >= 0)
        r = place_others(g, reached, err);
    for (uint32_t i = 1; i < g->subsystems.n && r >= 0; i++)
        r = check_rings(g, g->subsystems.v[i], err);
    if (r >= 0) {
        list_beside(g);
        r = check_ways(g, err);
    }
    if (r >= 0) {
        index_ranks(g);
        list_types(g);
    }
    sl_vec_fit(&g->v);
    sl_vec_fit(&g->kids);
    sl_vec_fit(&g->order);
    sl_vec_fit(&g->by_rank);
    sl_vec_free(&g->pending);
    return r;
}
