/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the tests of jobspecs: objects from texts, a small live graph, and what was read of a
 * jobspec in a short form,
 *
 *     type[count]!{with}    ! exclusive, ~unit, "label"
 *     (and …) (or …) (not …) p:names h:hosts
 */
#ifndef SL_TESTS_MANAGER_FLUXQUEUE_JOBSPEC_FIXTURE_H
#define SL_TESTS_MANAGER_FLUXQUEUE_JOBSPEC_FIXTURE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/graph/match/match.h"
#include "lib/graphio/jobspec_read.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

static const struct fq_level fx_levels[] = {{"zone", "topology.kubernetes.io/zone"},
                                            {"rack", "example.com/rack"}};
/* The lowest level alone, and both. */
static const struct fq_jobspec_options fx_rack = {.levels = &fx_levels[1], .n_levels = 1};
static const struct fq_jobspec_options fx_both = {.levels = fx_levels, .n_levels = 2};

/* JSON with ' in the place of ". */
static inline yyjson_doc *fx_json(const char *text) {
    char *s = strdup(text);
    struct sl_err err;
    yyjson_doc *d = NULL;

    assert_non_null(s);
    for (char *p = s; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (sl_json_read(s, strlen(s), &d, &err) < 0)
        fail_msg("%s: %s", err.text, s);
    free(s);
    return d;
}

/* ---- the live graph ---- */

static inline sl_vtx fx_add(struct sl_graph *g, sl_vtx parent, const struct sl_vertex_spec *s) {
    struct sl_err err;
    sl_vtx v;

    if (sl_graph_add(g, s, &v, &err) < 0 ||
        (parent != SL_VTX_NONE && sl_graph_link(g, SL_GRAPH_CONTAINMENT, parent, v, &err) < 0))
        fail_msg("%s", err.text);
    return v;
}

struct fx_node {
    const char *name, *rack;
    const char *props; /* separated by blanks */
    int64_t core, memory_mi, gpus;
    const char *gpu; /* NULL: nvidia.com/gpu */
};

static inline void fx_pool(struct sl_graph *g, sl_vtx node, const char *type, int64_t size,
                           const char *unit) {
    const struct sl_graph_prop divisible = {SL_GRAPH_DIVISIBLE, ""};
    if (size > 0)
        (void)fx_add(g, node,
                     &(struct sl_vertex_spec){.type = type,
                                              .unit = unit,
                                              .id = 0,
                                              .uniq_id = -1,
                                              .rank = -1,
                                              .size = size,
                                              .props = &divisible,
                                              .n_props = 1});
}

static inline void fx_put_node(struct sl_graph *g, sl_vtx parent, const struct fx_node *n,
                               int64_t id) {
    char text[512], *next = text;
    struct sl_err err;
    sl_vtx v = fx_add(g, parent,
                      &(struct sl_vertex_spec){.type = "node",
                                               .basename = n->name,
                                               .name = n->name,
                                               .id = id,
                                               .uniq_id = -1,
                                               .rank = -1,
                                               .size = 1});
    int written = snprintf(text, sizeof(text), "%s", n->props ? n->props : "");
    assert_true(written >= 0 && (size_t)written < sizeof(text));
    for (char *p; (p = strsep(&next, " "));)
        if (*p)
            assert_true(sl_vertex_set_prop(g, v, p, "", &err) >= 0);
    fx_pool(g, v, "core", n->core, "m");
    fx_pool(g, v, "memory", n->memory_mi * 1024, "Ki");
    fx_pool(g, v, "pods", 10, NULL);
    fx_pool(g, v, n->gpu ? n->gpu : "nvidia.com/gpu", n->gpus, NULL);
}

/* Nodes in racks, which must be adjacent; rack NULL: in the cluster. */
static inline struct sl_graph *fx_graph(const struct fx_node *nodes, size_t n) {
    struct sl_graph *g = sl_graph_new();
    struct sl_err err;
    sl_vtx root = fx_add(
        g, SL_VTX_NONE,
        &(struct sl_vertex_spec){.type = "cluster", .id = 0, .uniq_id = -1, .rank = -1, .size = 1});
    sl_vtx parent = root;

    for (size_t i = 0; i < n; i++) {
        if (!nodes[i].rack)
            parent = root;
        else if (i == 0 || !nodes[i - 1].rack || strcmp(nodes[i].rack, nodes[i - 1].rack) != 0)
            parent = fx_add(g, root,
                            &(struct sl_vertex_spec){.type = "rack",
                                                     .name = nodes[i].rack,
                                                     .id = (int64_t)i,
                                                     .uniq_id = -1,
                                                     .rank = -1,
                                                     .size = 1});
        fx_put_node(g, parent, &nodes[i], (int64_t)i);
    }
    if (sl_graph_seal(g, &err) < 0)
        fail_msg("%s", err.text);
    return g;
}

/* ---- short forms ---- */

static inline void fx_dump_reqs(struct sl_buf *b, const struct sl_req_spec *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        sl_buf_printf(b, "%s%s[%u]%s", i > 0 ? " " : "", v[i].type, v[i].count.min,
                      v[i].exclusive == SL_TRUE ? "!" : "");
        assert_int_equal(v[i].count.min, v[i].count.max);
        if (v[i].unit)
            sl_buf_printf(b, "~%s", v[i].unit);
        if (v[i].n_with > 0) {
            sl_buf_puts(b, "{");
            fx_dump_reqs(b, v[i].with, v[i].n_with);
            sl_buf_puts(b, "}");
        }
    }
}

static inline void fx_dump_term(struct sl_buf *b, const struct sl_constraint *t) {
    static const char *const words[] = {"*", "(and", "(or", "(not", "p:", "h:", "r:"};
    sl_buf_puts(b, words[t->kind]);
    for (uint32_t i = 0; i < t->n_terms; i++) {
        sl_buf_putc(b, ' ');
        fx_dump_term(b, &t->terms[i]);
    }
    for (uint32_t i = 0; i < t->n_names; i++)
        sl_buf_printf(b, "%s%s", i > 0 ? "," : "", t->names[i]);
    if (t->kind == SL_CONSTRAINT_AND || t->kind == SL_CONSTRAINT_OR || t->kind == SL_CONSTRAINT_NOT)
        sl_buf_putc(b, ')');
}

#endif
