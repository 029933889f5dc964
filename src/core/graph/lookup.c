/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a graph: names, paths, ranks, properties.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph/graph_int.h"

uint64_t sl_graph_generation(const struct sl_graph *g) {
    return g->generation;
}

const struct sl_syms *sl_graph_syms(const struct sl_graph *g) {
    return &g->syms;
}

uint32_t sl_graph_count(const struct sl_graph *g) {
    return g->v.n;
}

const struct sl_vertex *sl_graph_vertex(const struct sl_graph *g, sl_vtx v) {
    return &g->v.v[v];
}

sl_vtx sl_graph_root(const struct sl_graph *g) {
    return g->root;
}

sl_vtx sl_graph_at(const struct sl_graph *g, uint32_t pos) {
    return g->order.v[pos];
}

uint32_t sl_graph_live(const struct sl_graph *g) {
    return g->order.n;
}

const sl_vtx *sl_graph_kids(const struct sl_graph *g) {
    return g->kids.v;
}

const struct sl_graph_edge *sl_graph_edges(const struct sl_graph *g, uint32_t *ret_n) {
    *ret_n = g->edges.n;
    return g->edges.v;
}

uint32_t sl_graph_n_edges(const struct sl_graph *g) {
    return g->edges.n + (g->n_tree > 0 ? g->n_tree - 1 : 0);
}

uint32_t sl_graph_subsystems(const struct sl_graph *g, const sl_sym **ret) {
    *ret = g->subsystems.v;
    return g->subsystems.n;
}

sl_vtx sl_graph_subsystem_root(const struct sl_graph *g, sl_sym subsystem) {
    if (subsystem == g->subsystems.v[0])
        return g->root;
    for (uint32_t i = 0; i < g->edges.n; i++) {
        bool into = false;
        if (g->edges.v[i].subsystem != subsystem)
            continue;
        for (uint32_t k = 0; k < g->edges.n && !into; k++)
            into = g->edges.v[k].subsystem == subsystem && g->edges.v[k].to == g->edges.v[i].from;
        if (!into)
            return g->edges.v[i].from;
    }
    return SL_VTX_NONE;
}

bool sl_graph_has_type(const struct sl_graph *g, const char *type) {
    sl_sym y = sl_sym_find(&g->syms, type);
    for (uint32_t i = 0; i < g->types.n; i++)
        if (g->types.v[i] == y)
            return true;
    return false;
}

size_t sl_graph_bytes(const struct sl_graph *g) {
    size_t n = sizeof(*g) + g->v.cap * sizeof(*g->v.v) + g->pending.cap * sizeof(*g->pending.v);
    n += g->kids.cap * sizeof(*g->kids.v) + g->order.cap * sizeof(*g->order.v);
    n += (size_t)(g->more_kids.of.cap + g->more_kids.other.cap) * 2 * sizeof(sl_vtx);
    n += g->edges.cap * sizeof(*g->edges.v) + g->paths.cap * sizeof(*g->paths.v);
    n += g->by_rank.cap * sizeof(*g->by_rank.v) + g->props.cap * sizeof(*g->props.v);
    for (uint32_t i = 0; i < g->props.n; i++)
        n += g->props.v[i].n * (sizeof(*g->props.v[i].v) + sizeof(*g->props.v[i].keys));
    n += g->syms.bytes + g->syms.names.cap * sizeof(*g->syms.names.v);
    return n + ((size_t)g->syms.by_hash.mask + 1) * sizeof(*g->syms.by_hash.slots);
}

/* ---- names and paths ---- */

const char *sl_vertex_name(const struct sl_graph *g, sl_vtx v, char out[SL_VERTEX_NAME]) {
    const struct sl_vertex *x = &g->v.v[v];
    if (x->name)
        return sl_sym_str(&g->syms, x->name);
    const char *basename = sl_sym_str(&g->syms, x->basename);
    if (x->id < 0)
        return basename;
    /* By hand, because snprintf is most of the cost of printing large answers. */
    char digits[24];
    size_t n = 0, len = strlen(basename);
    uint64_t id = (uint64_t)x->id;
    do
        digits[n++] = (char)('0' + id % 10);
    while (id /= 10);
    sl_assert(len + n < SL_VERTEX_NAME);
    memcpy(out, basename, len);
    while (n > 0)
        out[len++] = digits[--n];
    out[len] = '\0';
    return out;
}

/* The path that was set, or 0. */
static sl_sym set_path(const struct sl_graph *g, sl_vtx v, sl_sym subsystem) {
    uint32_t c, i;
    for (i = sl_map_first(&g->paths_by_vertex, v, &c); i != SL_MAP_NONE;
         i = sl_map_next(&g->paths_by_vertex, v, &c))
        if (g->paths.v[i].v == v && g->paths.v[i].subsystem == subsystem)
            return g->paths.v[i].text;
    return 0;
}

void sl_vertex_path(const struct sl_graph *g, sl_vtx v, struct sl_buf *out) {
    sl_vtx way[SL_GRAPH_MAX_DEPTH];
    uint32_t n = 0;
    char name[SL_VERTEX_NAME];
    for (sl_vtx u = v; u != SL_VTX_NONE && n < SL_GRAPH_MAX_DEPTH; u = g->v.v[u].parent) {
        sl_sym set = g->paths.n ? set_path(g, u, g->subsystems.v[0]) : 0;
        if (set) {
            sl_buf_puts(out, sl_sym_str(&g->syms, set));
            break;
        }
        way[n++] = u;
    }
    while (n > 0) {
        sl_buf_putc(out, '/');
        sl_buf_puts(out, sl_vertex_name(g, way[--n], name));
    }
}

bool sl_vertex_path_in(const struct sl_graph *g, sl_vtx v, sl_sym subsystem, struct sl_buf *out) {
    sl_sym set = set_path(g, v, subsystem);
    if (set)
        sl_buf_puts(out, sl_sym_str(&g->syms, set));
    return set != 0;
}

void sl_graph_set_path(struct sl_graph *g, sl_vtx v, const char *subsystem, const char *path) {
    struct sl_buf usual;
    bool same = false;
    if (g->syms.names.n + 2 > SL_SYM_MAX || !path || !*path)
        return;
    sl_sym y = sl_sym_put(&g->syms, subsystem), text;
    if (y == g->subsystems.v[0]) {
        sl_buf_init(&usual, (size_t)SL_GRAPH_MAX_DEPTH * 1100);
        sl_vertex_path(g, v, &usual);
        same = strcmp(sl_buf_str(&usual), path) == 0;
        sl_buf_done(&usual);
    }
    if (same || set_path(g, v, y))
        return;
    text = sl_sym_put(&g->syms, path);
    sl_map_add(&g->paths_by_vertex, v, g->paths.n);
    sl_map_add(&g->paths_by_text, text, g->paths.n);
    *sl_vec_push(&g->paths) = (struct graph_path){v, y, text};
}

static sl_vtx by_set_path(const struct sl_graph *g, const char *path) {
    sl_sym y = sl_sym_find(&g->syms, path);
    uint32_t c, i;
    if (y == SL_MAP_NONE)
        return SL_VTX_NONE;
    for (i = sl_map_first(&g->paths_by_text, y, &c); i != SL_MAP_NONE;
         i = sl_map_next(&g->paths_by_text, y, &c))
        if (g->paths.v[i].text == y && !g->v.v[g->paths.v[i].v].removed)
            return g->paths.v[i].v;
    return SL_VTX_NONE;
}

static bool is_named(const struct sl_graph *g, sl_vtx v, const char *s, size_t len) {
    char name[SL_VERTEX_NAME];
    const char *n = sl_vertex_name(g, v, name);
    return strlen(n) == len && memcmp(n, s, len) == 0;
}

sl_vtx sl_graph_by_path(const struct sl_graph *g, const char *path) {
    sl_vtx v = g->paths.n ? by_set_path(g, path) : SL_VTX_NONE;
    if (v != SL_VTX_NONE || g->root == SL_VTX_NONE || *path != '/')
        return v;
    v = g->root;
    for (bool first = true;; first = false) {
        size_t len = strcspn(++path, "/");
        if (first) {
            if (!is_named(g, v, path, len))
                return SL_VTX_NONE;
        } else {
            const struct sl_vertex *x = &g->v.v[v];
            sl_vtx found = SL_VTX_NONE;
            for (uint32_t k = 0; k < x->n_kids && found == SL_VTX_NONE; k++)
                if (is_named(g, g->kids.v[x->kids + k], path, len))
                    found = g->kids.v[x->kids + k];
            if (found == SL_VTX_NONE)
                return SL_VTX_NONE;
            v = found;
        }
        path += len;
        if (!*path)
            return v;
    }
}

void sl_graph_by_rank(const struct sl_graph *g, int64_t rank, sl_vtx **ret, uint32_t *ret_n) {
    uint32_t lo = 0, hi = g->by_rank.n, end;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (g->by_rank.v[mid].rank < rank)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (end = lo; end < g->by_rank.n && g->by_rank.v[end].rank == rank; end++)
        ;
    *ret_n = end - lo;
    *ret = sl_realloc(NULL, *ret_n, sizeof(**ret));
    for (uint32_t i = 0; i < *ret_n; i++)
        (*ret)[i] = g->by_rank.v[lo + i].v;
}

/* ---- status and properties ---- */

void sl_graph_set_down(struct sl_graph *g, sl_vtx v, bool down) {
    g->generation += graph_vertex(g, v)->down != down;
    graph_vertex(g, v)->down = down;
}

void sl_graph_set_size(struct sl_graph *g, sl_vtx v, int64_t size) {
    sl_assert(size >= 0 && size <= SL_GRAPH_MAX_SIZE);
    g->generation += graph_vertex(g, v)->size != size;
    graph_vertex(g, v)->size = size;
}

uint32_t sl_vertex_props(const struct sl_graph *g, sl_vtx v, const struct sl_graph_prop **ret) {
    const struct graph_props *p = &g->props.v[g->v.v[v].props];
    *ret = p->v;
    return p->n;
}

const char *sl_vertex_prop(const struct sl_graph *g, sl_vtx v, const char *key) {
    const struct graph_props *p = &g->props.v[g->v.v[v].props];
    for (uint32_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].key, key) == 0)
            return p->v[i].value;
    return NULL;
}

#define MAX_PROPS 4096u

int sl_vertex_set_prop(struct sl_graph *g, sl_vtx v, const char *key, const char *value,
                       struct sl_err *err) {
    struct sl_vertex *x = graph_vertex(g, v);
    if (!key || !*key)
        return sl_err_set(err, SL_EINVAL, "a property without a name");
    if (g->syms.names.n + 2 > SL_SYM_MAX || g->props.v[x->props].n >= MAX_PROPS)
        return sl_err_set(err, SL_ELIMIT, "too many properties");
    if (x->props == 0) {
        x->props = g->props.n;
        *sl_vec_push(&g->props) = (struct graph_props){0};
    }
    struct graph_props *p = &g->props.v[x->props];
    sl_sym y = sl_sym_put(&g->syms, key);
    struct sl_graph_prop new = {sl_sym_str(&g->syms, y),
                                sl_sym_str(&g->syms, sl_sym_put(&g->syms, value))};
    uint32_t i = 0;
    while (i < p->n && p->keys[i] != y)
        i++;
    if (i == p->n) {
        p->v = sl_realloc(p->v, ++p->n, sizeof(*p->v));
        p->keys = sl_realloc(p->keys, p->n, sizeof(*p->keys));
    }
    p->v[i] = new;
    p->keys[i] = y;
    x->divisible |= strcmp(key, SL_GRAPH_DIVISIBLE) == 0;
    g->generation++;
    return 0;
}

bool sl_vertex_del_prop(struct sl_graph *g, sl_vtx v, const char *key) {
    struct graph_props *p = &g->props.v[g->v.v[v].props];
    for (uint32_t i = 0; i < p->n; i++) {
        if (strcmp(p->v[i].key, key) != 0)
            continue;
        memmove(&p->v[i], &p->v[i + 1], (p->n - i - 1) * sizeof(*p->v));
        memmove(&p->keys[i], &p->keys[i + 1], (p->n - i - 1) * sizeof(*p->keys));
        p->n--;
        graph_vertex(g, v)->divisible &= strcmp(key, SL_GRAPH_DIVISIBLE) != 0;
        g->generation++;
        return true;
    }
    return false;
}
