/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of src/lib/graphio: graphs from texts, and graphs and answers as texts. */
#ifndef SL_TESTS_LIB_GRAPHIO_GRAPHIO_FIXTURE_H
#define SL_TESTS_LIB_GRAPHIO_GRAPHIO_FIXTURE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/graphio/graph_read.h"

/* A text in a block of its exact size, so that ASan sees a read past its end. */
struct exact {
    char *s;
    size_t n;
};

static inline struct exact exact(const char *text) {
    struct exact e = {.n = strlen(text)};
    e.s = malloc(e.n > 0 ? e.n : 1);
    assert_non_null(e.s);
    memcpy(e.s, text, e.n);
    return e;
}

static inline int fx_read(enum sl_graphio_format f, const char *text, const char *allow,
                          struct sl_graph **ret, struct sl_graphio_time *time, struct sl_err *err) {
    struct exact e = exact(text);
    struct sl_graphio_text t = {
        .format = f, .file = "f", .text = e.s, .len = e.n, .allow = allow, .max_vertices = 100000};
    *ret = NULL;
    int r = sl_graphio_read(&t, ret, time, err);
    free(e.s);
    assert_true((r < 0) == (*ret == NULL));
    if (r < 0)
        assert_int_equal(err->code, r);
    return r;
}

static inline struct sl_graph *fx_graph(enum sl_graphio_format f, const char *text) {
    struct sl_graph *g;
    struct sl_err err;
    if (fx_read(f, text, NULL, &g, NULL, &err) < 0)
        fail_msg("%s\n%s", text, err.text);
    return g;
}

/* One line a vertex, depth-first: path, type, and what is not as usual. */
static inline void fx_dump(const struct sl_graph *g, struct sl_buf *b) {
    const struct sl_syms *syms = sl_graph_syms(g);
    const struct sl_graph_prop *props;
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++) {
        sl_vtx v = sl_graph_at(g, pos);
        const struct sl_vertex *x = sl_graph_vertex(g, v);
        sl_vertex_path(g, v, b);
        sl_buf_printf(b, " %s %" PRId64, sl_sym_str(syms, x->type), x->id);
        if (x->basename != x->type)
            sl_buf_printf(b, " basename=%s", sl_sym_str(syms, x->basename));
        if (x->rank >= 0)
            sl_buf_printf(b, " rank=%d", x->rank);
        if (x->size != 1)
            sl_buf_printf(b, " size=%" PRId64, x->size);
        if (x->unit)
            sl_buf_printf(b, " unit=%s", sl_sym_str(syms, x->unit));
        if (x->down)
            sl_buf_puts(b, " down");
        uint32_t n = sl_vertex_props(g, v, &props);
        for (uint32_t i = 0; i < n; i++)
            sl_buf_printf(b, " {%s=%s}", props[i].key, props[i].value);
        sl_buf_putc(b, '\n');
    }
    uint32_t n_edges;
    const struct sl_graph_edge *e = sl_graph_edges(g, &n_edges);
    char from[SL_VERTEX_NAME], to[SL_VERTEX_NAME];
    for (uint32_t i = 0; i < n_edges; i++) {
        sl_buf_printf(b, "%s %s -> %s", sl_sym_str(syms, e[i].subsystem),
                      sl_vertex_name(g, e[i].from, from), sl_vertex_name(g, e[i].to, to));
        struct sl_buf path;
        sl_buf_init(&path, 10000);
        if (sl_vertex_path_in(g, e[i].to, e[i].subsystem, &path))
            sl_buf_printf(b, " %s", sl_buf_str(&path));
        sl_buf_done(&path);
        sl_buf_putc(b, '\n');
    }
}

static inline void fx_expect_dump(const struct sl_graph *g, const char *want) {
    struct sl_buf b;
    sl_buf_init(&b, (size_t)1 << 24);
    fx_dump(g, &b);
    assert_string_equal(sl_buf_str(&b), want);
    sl_buf_done(&b);
}

static inline void fx_expect(enum sl_graphio_format f, const char *text, const char *want) {
    struct sl_graph *g = fx_graph(f, text);
    fx_expect_dump(g, want);
    sl_graph_free(g);
}

/* It is refused, and the message is exactly this. */
static inline void fx_refused(enum sl_graphio_format f, const char *text, const char *want) {
    struct sl_graph *g;
    struct sl_err err = {0};
    if (fx_read(f, text, NULL, &g, NULL, &err) >= 0)
        fail_msg("taken: %s", text);
    assert_string_equal(err.text, want);
}

static inline sl_vtx fx_at(const struct sl_graph *g, const char *path) {
    sl_vtx v = sl_graph_by_path(g, path);
    if (v == SL_VTX_NONE)
        fail_msg("no %s", path);
    return v;
}

/* A grant of these paths, "x" in front for exclusive ("x/c0/n0" is exclusive). */
static inline void fx_grant(const struct sl_graph *g, const char *const *paths,
                            struct sl_grant *ret) {
    *ret = (struct sl_grant){.at = 0, .duration = 3600};
    for (; *paths; paths++) {
        bool x = **paths == 'x';
        sl_vtx v = fx_at(g, *paths + x);
        *sl_vec_push(&ret->picks) =
            (struct sl_pick){.v = v, .needs = sl_graph_vertex(g, v)->size, .exclusive = x};
    }
}

#endif
