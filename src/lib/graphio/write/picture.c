/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole graphs for other programs: Graphviz' dot and GraphML. Vertices are called by their numbers
 * in the graph, as there may be several of one name.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "lib/graphio/write/write_int.h"

#define MAX_LABEL ((size_t)64 << 10)

bool sl_graphio_picture_format_parse(const char *word, enum sl_graphio_picture_format *ret) {
    if (strcasecmp(word, "dot") == 0)
        *ret = SL_GRAPHIO_PICTURE_DOT;
    else if (strcasecmp(word, "graphml") == 0)
        *ret = SL_GRAPHIO_PICTURE_GRAPHML;
    else
        return false;
    return true;
}

/* Calls back for every edge: the tree's first, depth-first, then the others. */
static void each_edge(const struct sl_graph *g, struct sl_buf *out,
                      void (*fn)(const struct sl_graph *g, uint32_t i, sl_vtx from, sl_vtx to,
                                 sl_sym subsystem, struct sl_buf *out)) {
    const sl_sym *subsystems;
    uint32_t n, k = 0;
    const struct sl_graph_edge *edges = sl_graph_edges(g, &n);

    (void)sl_graph_subsystems(g, &subsystems);
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++) {
        sl_vtx v = sl_graph_at(g, pos);
        if (sl_graph_vertex(g, v)->parent != SL_VTX_NONE)
            fn(g, k++, sl_graph_vertex(g, v)->parent, v, subsystems[0], out);
    }
    for (uint32_t i = 0; i < n; i++)
        fn(g, k++, edges[i].from, edges[i].to, edges[i].subsystem, out);
}

/* ---- dot ---- */

static void quoted(struct sl_buf *out, const char *s) {
    sl_buf_putc(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            sl_buf_putc(out, '\\');
        if (*s == '\n')
            sl_buf_puts(out, "\\n");
        else
            sl_buf_putc(out, *s);
    }
    sl_buf_putc(out, '"');
}

static void dot_edge(const struct sl_graph *g, uint32_t i, sl_vtx from, sl_vtx to, sl_sym subsystem,
                     struct sl_buf *out) {
    (void)i;
    sl_buf_printf(out, "%u->%u [label=", from, to);
    quoted(out, sl_sym_str(sl_graph_syms(g), subsystem));
    sl_buf_puts(out, "];\n");
}

void sl_graphio_dot_write(const struct sl_graph *g, sl_graphio_label_fn label, const void *ctx,
                          struct sl_buf *out) {
    struct sl_buf text;

    sl_buf_init(&text, MAX_LABEL);
    uint8_t *hidden = sl_alloc0((size_t)sl_graph_count(g) + 1, 1);
    sl_buf_puts(out, "digraph G {\n");
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++) {
        sl_vtx v = sl_graph_at(g, pos), up = sl_graph_vertex(g, v)->parent;
        sl_buf_clear(&text);
        label(ctx, v, &text);
        hidden[v] = text.len == 0 || (up != SL_VTX_NONE && hidden[up]);
        if (hidden[v])
            continue;
        sl_buf_printf(out, "%u[label=", v);
        quoted(out, sl_buf_str(&text));
        sl_buf_puts(out, "];\n");
        if (up != SL_VTX_NONE)
            sl_buf_printf(out, "%u->%u;\n", up, v);
    }
    sl_buf_puts(out, "}\n");
    sl_freep(&hidden);
    sl_buf_done(&text);
}

static void dot(const struct sl_graph *g, struct sl_buf *out) {
    char name[SL_VERTEX_NAME];

    sl_buf_puts(out, "digraph G {\n");
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++) {
        sl_vtx v = sl_graph_at(g, pos);
        sl_buf_printf(out, "%u[label=", v);
        quoted(out, sl_vertex_name(g, v, name));
        sl_buf_puts(out, "];\n");
    }
    each_edge(g, out, dot_edge);
    sl_buf_puts(out, "}\n");
}

/* ---- GraphML ---- */

static void escaped(struct sl_buf *out, const char *s) {
    for (; *s; s++) {
        if (*s == '<')
            sl_buf_puts(out, "&lt;");
        else if (*s == '>')
            sl_buf_puts(out, "&gt;");
        else if (*s == '&')
            sl_buf_puts(out, "&amp;");
        else if (*s == '"')
            sl_buf_puts(out, "&quot;");
        else if ((unsigned char)*s >= ' ' || *s == '\t' || *s == '\n' || *s == '\r')
            sl_buf_putc(out, *s); /* XML has no way to write the others */
    }
}

static void data(struct sl_buf *out, const char *key, const char *value) {
    sl_buf_printf(out, "      <data key=\"%s\">", key);
    escaped(out, value);
    sl_buf_puts(out, "</data>\n");
}

static void put_number(struct sl_buf *out, const char *key, int64_t value) {
    sl_buf_printf(out, "      <data key=\"%s\">%" PRId64 "</data>\n", key, value);
}

static void maps(const struct sl_graph *g, sl_vtx v, struct sl_buf *out) {
    const struct sl_syms *syms = sl_graph_syms(g);
    const sl_sym *subsystems;
    uint32_t n = sl_graph_subsystems(g, &subsystems), n_props;
    struct sl_graph_prop *props = sl_graphio_sorted_props(g, v, &n_props);
    struct sl_buf where, text;
    bool first = true;

    sl_buf_init(&where, SL_GRAPH_MAX_DEPTH * (size_t)1100);
    sl_buf_init(&text, (size_t)1 << 24);
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_clear(&where);
        if (i == 0 && graphio_in_tree(g, v))
            sl_vertex_path(g, v, &where);
        else if (!sl_vertex_path_in(g, v, subsystems[i], &where))
            continue;
        sl_buf_printf(&text, "%s%s=%s", first ? "" : ",", sl_sym_str(syms, subsystems[i]),
                      sl_buf_str(&where));
        first = false;
    }
    data(out, "paths", sl_buf_str(&text));
    sl_buf_clear(&text);
    for (uint32_t i = 0; i < n_props; i++)
        sl_buf_printf(&text, "%s%s=%s", i > 0 ? "," : "", props[i].key, props[i].value);
    if (n_props > 0)
        data(out, "props", sl_buf_str(&text));
    sl_buf_done(&where);
    sl_buf_done(&text);
    sl_freep(&props);
}

static void graphml_edge(const struct sl_graph *g, uint32_t i, sl_vtx from, sl_vtx to,
                         sl_sym subsystem, struct sl_buf *out) {
    sl_buf_printf(out, "    <edge id=\"e%u\" source=\"n%u\" target=\"n%u\">\n", i, from, to);
    data(out, "member_of", sl_sym_str(sl_graph_syms(g), subsystem));
    sl_buf_puts(out, "    </edge>\n");
}

static void graphml(const struct sl_graph *g, struct sl_buf *out) {
    static const struct {
        const char *name, *type;
    } keys[] = {
        {"basename", "string"}, {"id", "long"},     {"name", "string"}, {"paths", "string"},
        {"props", "string"},    {"rank", "int"},    {"size", "long"},   {"type", "string"},
        {"uniq_id", "long"},    {"unit", "string"},
    };
    const struct sl_syms *syms = sl_graph_syms(g);
    char name[SL_VERTEX_NAME];

    sl_buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
    for (size_t i = 0; i < SL_LEN(keys); i++)
        sl_buf_printf(out, "  <key id=\"%s\" for=\"node\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
                      keys[i].name, keys[i].name, keys[i].type);
    sl_buf_puts(out, "  <key id=\"member_of\" for=\"edge\" attr.name=\"member_of\" "
                     "attr.type=\"string\"/>\n"
                     "  <graph id=\"G\" edgedefault=\"directed\">\n");
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++) {
        sl_vtx v = sl_graph_at(g, pos);
        const struct sl_vertex *x = sl_graph_vertex(g, v);
        sl_buf_printf(out, "    <node id=\"n%u\">\n", v);
        data(out, "type", sl_sym_str(syms, x->type));
        data(out, "basename", sl_sym_str(syms, x->basename));
        data(out, "name", sl_vertex_name(g, v, name));
        put_number(out, "id", x->id);
        put_number(out, "uniq_id", x->uniq_id);
        put_number(out, "rank", x->rank);
        put_number(out, "size", x->size);
        if (x->unit)
            data(out, "unit", sl_sym_str(syms, x->unit));
        maps(g, v, out);
        sl_buf_puts(out, "    </node>\n");
    }
    each_edge(g, out, graphml_edge);
    sl_buf_puts(out, "  </graph>\n</graphml>\n");
}

void sl_graphio_picture_write(const struct sl_graph *g, enum sl_graphio_picture_format f,
                              struct sl_buf *out) {
    (f == SL_GRAPHIO_PICTURE_DOT ? dot : graphml)(g, out);
}
