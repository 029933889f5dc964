/* SPDX-License-Identifier: Apache-2.0 */
/* See stage.h. */
#include "lib/graphio/stage.h"

#include <string.h>

#define ARENA_BYTES ((size_t)4 << 30)

void graphio_stage_init(struct graphio_stage *s) {
    *s = (struct graphio_stage){0};
    sl_arena_init(&s->arena, ARENA_BYTES);
}

void graphio_stage_done(struct graphio_stage *s) {
    sl_vec_free(&s->v);
    sl_vec_free(&s->edges);
    sl_arena_done(&s->arena);
}

int graphio_stage_commit(const struct graphio_stage *s, struct sl_graph *g, struct sl_err *err) {
    sl_vtx *at = sl_alloc((size_t)(s->v.n + 1) * sizeof(*at));
    int r = 0;

    for (uint32_t i = 0; i < s->v.n && r >= 0; i++) {
        at[i] = s->v.v[i].there;
        if (at[i] == SL_VTX_NONE)
            r = sl_graph_add(g, &s->v.v[i].spec, &at[i], err);
    }
    for (uint32_t i = 0; i < s->edges.n && r >= 0; i++) {
        const struct graphio_stage_edge *e = &s->edges.v[i];
        r = sl_graph_link(g, e->subsystem, at[e->from], at[e->to], err);
    }
    for (uint32_t i = 0; i < s->v.n && r >= 0; i++)
        for (uint32_t k = 0; k < s->v.v[i].n_paths && s->v.v[i].there == SL_VTX_NONE; k++)
            sl_graph_set_path(g, at[i], s->v.v[i].paths[k].subsystem, s->v.v[i].paths[k].path);
    sl_freep(&at);
    return r < 0 ? r : sl_graph_seal(g, err);
}

uint32_t graphio_max_vertices(const struct sl_graphio_text *t) {
    return t->max_vertices > 0 && t->max_vertices < SL_GRAPH_MAX_VERTICES ? t->max_vertices
                                                                          : SL_GRAPH_MAX_VERTICES;
}

bool graphio_type_allowed(const char *allow, const char *type) {
    size_t n = strlen(type);

    if (!allow || !*allow)
        return true;
    for (const char *p = allow;; p++) {
        size_t len = strcspn(p, ",");
        if (len == n && memcmp(p, type, n) == 0)
            return true;
        p += len;
        if (!*p)
            return false;
    }
}
