/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the fuzz targets of src/lib/graphio: what must hold of any graph that was read. */
#ifndef SL_FUZZ_GRAPHIO_FZ_H
#define SL_FUZZ_GRAPHIO_FZ_H

#include <stdlib.h>
#include <string.h>

#include "lib/graphio/graph_read.h"
#include "lib/graphio/write/match.h"

#define FZ_MAX_VERTICES 5000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is refused has a place and a reason. */
static inline void fz_refused(int r, const struct sl_err *err) {
    sl_assert(r < 0 && err->code == r && strncmp(err->text, "in:", 3) == 0);
}

static inline void fz_walk(const struct sl_graph *g) {
    uint32_t n = sl_graph_live(g);
    sl_assert(n > 0 && n <= FZ_MAX_VERTICES && sl_graph_at(g, 0) == sl_graph_root(g));
    for (uint32_t pos = 0; pos < n; pos++) {
        const struct sl_vertex *x = sl_graph_vertex(g, sl_graph_at(g, pos));
        sl_assert(x->pos == pos && x->end > pos && x->end <= n && x->size > 0 && !x->removed);
        if (x->parent != SL_VTX_NONE) {
            const struct sl_vertex *up = sl_graph_vertex(g, x->parent);
            sl_assert(up->pos < pos && pos < up->end && x->depth == up->depth + 1);
        }
    }
}

/* Everything, written in every format and as pictures; the JGF is read again. */
static inline void fz_write(const struct sl_graph *g) {
    struct sl_grant gr = {.duration = 1};
    struct sl_buf b;
    struct sl_err err;

    sl_buf_init(&b, (size_t)16 << 20);
    for (uint32_t pos = 0; pos < sl_graph_live(g); pos++) {
        sl_vtx v = sl_graph_at(g, pos);
        *sl_vec_push(&gr.picks) =
            (struct sl_pick){.v = v, .needs = sl_graph_vertex(g, v)->size, .exclusive = pos > 0};
    }
    for (int f = SL_GRAPHIO_MATCH_SIMPLE; f <= (int)SL_GRAPHIO_MATCH_RV1_SHORTHAND; f++) {
        struct sl_graphio_match_writer w = {.format = (enum sl_graphio_match_format)f};
        sl_buf_clear(&b);
        int r = sl_graphio_match_write(&w, g, &gr, &b, &err);
        sl_assert(r == 0 || (r < 0 && w.format == SL_GRAPHIO_MATCH_RLITE && b.len == 0));
        if (w.format == SL_GRAPHIO_MATCH_JGF && !sl_buf_full(&b)) {
            struct sl_graphio_text t = {.format = SL_GRAPHIO_JGF,
                                        .file = "in",
                                        .text = sl_buf_str(&b),
                                        .len = b.len,
                                        .max_vertices = FZ_MAX_VERTICES};
            struct sl_graph *again = NULL;
            r = sl_graphio_read(&t, &again, NULL, &err);
            if (r < 0)
                fz_refused(r, &err);
            else
                fz_walk(again);
            sl_graph_free(again);
        }
    }
    sl_buf_clear(&b);
    sl_graphio_picture_write(g, SL_GRAPHIO_PICTURE_DOT, &b);
    sl_graphio_picture_write(g, SL_GRAPHIO_PICTURE_GRAPHML, &b);
    sl_buf_done(&b);
    sl_grant_done(&gr);
}

static inline void fz_read(enum sl_graphio_format f, const uint8_t *data, size_t size,
                           const char *allow) {
    struct sl_graphio_text t = {.format = f,
                                .file = "in",
                                .text = (const char *)data,
                                .len = size,
                                .allow = allow,
                                .max_vertices = FZ_MAX_VERTICES};
    struct sl_graph *g = NULL;
    struct sl_err err;
    int r = sl_graphio_read(&t, &g, NULL, &err);

    if (r < 0) {
        fz_refused(r, &err);
        sl_assert(g == NULL);
        return;
    }
    fz_walk(g);
    fz_write(g);
    sl_graph_free(g);
}

/* The text as growth of a graph, as what a job has of it, and as what it gives back. */
static inline void fz_against(enum sl_graphio_format f, const uint8_t *data, size_t size,
                              const char *base) {
    struct sl_graphio_text t = {.format = SL_GRAPHIO_RV1EXEC, .file = "in", .text = base};
    struct sl_graph *g = NULL;
    struct sl_graphio_holding h = {0};
    struct sl_grant gr = {0};
    struct sl_err err;
    sl_graphio_vertices v = {0};

    t.len = strlen(base);
    int r = sl_graphio_read(&t, &g, NULL, &err);
    sl_assert(r >= 0);
    t = (struct sl_graphio_text){.format = f,
                                 .file = "in",
                                 .text = (const char *)data,
                                 .len = size,
                                 .max_vertices = FZ_MAX_VERTICES};
    r = sl_graphio_holding_read(g, &t, &h, &err);
    if (r < 0)
        fz_refused(r, &err);
    for (uint32_t i = 0; i < h.picks.n; i++) { /* depth-first, and the way to each is there */
        const struct sl_vertex *x = sl_graph_vertex(g, h.picks.v[i].v);
        sl_assert(h.picks.v[i].needs > 0 && h.picks.v[i].needs <= x->size);
        sl_assert(i > 0 || h.picks.v[i].v == sl_graph_root(g));
        sl_assert(i == 0 || sl_graph_vertex(g, h.picks.v[i - 1].v)->pos < x->pos);
        *sl_vec_push(&gr.picks) = h.picks.v[i];
    }
    int64_t rank;
    r = sl_graphio_release_read(g, &t, &gr, &v, &rank, &err);
    if (r < 0)
        fz_refused(r, &err);
    sl_assert(v.n <= gr.picks.n);
    uint64_t generation = sl_graph_generation(g);
    uint32_t count = sl_graph_count(g);
    r = sl_graphio_read_more(g, &t, &err);
    if (r < 0) {
        fz_refused(r, &err);
        sl_assert(sl_graph_generation(g) == generation && sl_graph_count(g) == count);
    } else {
        fz_walk(g);
    }
    sl_vec_free(&v);
    sl_grant_done(&gr);
    sl_graphio_holding_done(&h);
    sl_graph_free(g);
}

#endif
