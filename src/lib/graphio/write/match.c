/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results as text. The grant has parents before their children; all formats need children first, in
 * the same order among themselves.
 */
#include "lib/graphio/write/match.h"

#include <stdlib.h>
#include <string.h>

#include "lib/graphio/write/write_int.h"
#include "lib/json/writer.h"

static const char *const words[] = {
    [SL_GRAPHIO_MATCH_SIMPLE] = "simple",
    [SL_GRAPHIO_MATCH_PRETTY_SIMPLE] = "pretty_simple",
    [SL_GRAPHIO_MATCH_JGF] = "jgf",
    [SL_GRAPHIO_MATCH_JGF_SHORTHAND] = "jgf_shorthand",
    [SL_GRAPHIO_MATCH_RLITE] = "rlite",
    [SL_GRAPHIO_MATCH_RV1] = "rv1",
    [SL_GRAPHIO_MATCH_RV1_NOSCHED] = "rv1_nosched",
    [SL_GRAPHIO_MATCH_RV1_SHORTHAND] = "rv1_shorthand",
};

bool sl_graphio_match_format_parse(const char *word, enum sl_graphio_match_format *ret) {
    for (size_t i = 0; i < SL_LEN(words); i++) {
        if (strcmp(word, words[i]) != 0)
            continue;
        *ret = (enum sl_graphio_match_format)i;
        return true;
    }
    return false;
}

/* ---- order ---- */

/* Is a vertex below another one? */
static bool is_below(const struct sl_graph *g, const struct sl_grant *gr, sl_vtx v, sl_vtx top) {
    const struct sl_vertex *x = sl_graph_vertex(g, v), *t = sl_graph_vertex(g, top);

    if (gr->ways.n == 0)
        return t->pos < x->pos && x->pos < t->end;
    do
        v = sl_grant_parent(g, gr, v);
    while (v != SL_VTX_NONE && v != top);
    return v == top;
}

static uint32_t depth_of(const struct sl_graph *g, const struct sl_grant *gr, sl_vtx v) {
    uint32_t depth = 0;

    if (gr->ways.n == 0)
        return sl_graph_vertex(g, v)->depth;
    while ((v = sl_grant_parent(g, gr, v)) != SL_VTX_NONE)
        depth++;
    return depth;
}

void graphio_places_init(struct graphio_places *p, const struct sl_graph *g,
                         const struct sl_grant *gr) {
    uint32_t n = gr->picks.n, out = 0;
    SL_VEC(uint32_t) way = {0};

    p->n = n;
    p->at = sl_alloc0((size_t)n + 1, sizeof(*p->at));
    p->post = sl_alloc0((size_t)n + 1, sizeof(*p->post));
    for (uint32_t i = 0; i < n; i++) {
        sl_vtx v = gr->picks.v[i].v;
        p->at[i] = (struct graphio_place){.parent = UINT32_MAX, .level = depth_of(g, gr, v) + 1};
        if (!graphio_in_tree(g, v)) { /* of another subsystem: it stands where it was found */
            p->post[out++] = i;
            continue;
        }
        while (way.n > 0) {
            uint32_t top = sl_vec_last(&way);
            if (is_below(g, gr, v, gr->picks.v[top].v))
                break;
            p->post[out++] = top;
            way.n--;
        }
        if (way.n > 0 && gr->picks.v[sl_vec_last(&way)].v == sl_grant_parent(g, gr, v))
            p->at[i].parent = sl_vec_last(&way);
        *sl_vec_push(&way) = i;
    }
    while (way.n > 0) {
        uint32_t top = sl_vec_pop(&way);
        p->post[out++] = top;
    }
    sl_assert(out == n);
    sl_vec_free(&way);
}

void graphio_places_done(struct graphio_places *p) {
    sl_freep(&p->at);
    sl_freep(&p->post);
}

/* ---- lines ---- */

static void line(const struct sl_graph *g, const struct sl_pick *k, uint32_t level, bool pretty,
                 struct sl_buf *out) {
    char name[SL_VERTEX_NAME];

    sl_buf_add(out, "      ", 6);
    for (; level > 0; level--)
        sl_buf_add(out, "---", 3);
    sl_buf_puts(out, sl_vertex_name(g, k->v, name));
    sl_buf_putc(out, '[');
    sl_buf_int(out, k->needs);
    sl_buf_puts(out, pretty         ? k->exclusive ? ":exclusive]\n" : ":shared]\n"
                     : k->exclusive ? ":x]\n"
                                    : ":s]\n");
}

static void write_lines(const struct sl_graph *g, const struct sl_grant *gr,
                        const struct graphio_places *p, bool pretty, struct sl_buf *out) {
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t k = p->post[pretty ? p->n - 1 - i : i];
        line(g, &gr->picks.v[k], p->at[k].level, pretty, out);
    }
}

/* ---- R ---- */

static int write_rlite(const struct graphio_rlite *r, struct sl_buf *out, struct sl_err *err) {
    if (r->lite.len == 0)
        return sl_err_set(err, SL_EINVAL, "nothing to write: rlite has cores and gpus of nodes");
    sl_buf_add(out, r->lite.s, r->lite.len);
    sl_buf_putc(out, '\n');
    return 0;
}

static void write_rv1(struct sl_graphio_match_writer *w, const struct sl_graph *g,
                      const struct sl_grant *gr, const struct graphio_places *p,
                      const struct graphio_rlite *r, struct sl_buf *out) {
    if (r->lite.len == 0)
        return;
    struct sl_jw *j = &SL_JW_SPACED(out);
    sl_jw_object(j, NULL);
    sl_jw_int(j, "version", 1);
    sl_jw_object(j, "execution");
    sl_jw_raw(j, "R_lite", sl_buf_str(&r->lite));
    sl_jw_array(j, "nodelist");
    sl_jw_str(j, NULL, sl_buf_str(&r->hosts));
    sl_jw_end(j);
    if (r->props.len > 0)
        sl_jw_raw(j, "properties", sl_buf_str(&r->props));
    sl_jw_int(j, "starttime", gr->at);
    sl_jw_int(j, "expiration",
              gr->duration > INT64_MAX - gr->at ? INT64_MAX : gr->at + gr->duration);
    if (w->nslots && gr->n_slots > 0)
        sl_jw_uint(j, "nslots", gr->n_slots);
    sl_jw_end(j);
    if (w->format != SL_GRAPHIO_MATCH_RV1_NOSCHED) {
        graphio_write_jgf(w, g, gr, p, w->format == SL_GRAPHIO_MATCH_RV1_SHORTHAND,
                          sl_jw_value(j, "scheduling"));
        if (w->queue) {
            sl_jw_object(j, "attributes");
            sl_jw_object(j, "system");
            sl_jw_object(j, "scheduler");
            sl_jw_str(j, "queue", w->queue);
        }
    }
    sl_jw_end_to(j, 0);
    sl_buf_putc(out, '\n');
}

int sl_graphio_match_write(struct sl_graphio_match_writer *w, const struct sl_graph *g,
                           const struct sl_grant *gr, struct sl_buf *out, struct sl_err *err) {
    bool lite = w->format >= SL_GRAPHIO_MATCH_RLITE;
    struct graphio_rlite r;
    struct graphio_places p;
    int ret = 0;

    graphio_places_init(&p, g, gr);
    if (lite)
        graphio_rlite_init(&r, g, gr, out->ceiling);
    switch (w->format) {
    case SL_GRAPHIO_MATCH_SIMPLE:
    case SL_GRAPHIO_MATCH_PRETTY_SIMPLE:
        write_lines(g, gr, &p, w->format == SL_GRAPHIO_MATCH_PRETTY_SIMPLE, out);
        break;
    case SL_GRAPHIO_MATCH_JGF:
    case SL_GRAPHIO_MATCH_JGF_SHORTHAND:
        graphio_write_jgf(w, g, gr, &p, w->format == SL_GRAPHIO_MATCH_JGF_SHORTHAND, out);
        if (p.n > 0)
            sl_buf_putc(out, '\n');
        break;
    case SL_GRAPHIO_MATCH_RLITE:
        ret = write_rlite(&r, out, err);
        break;
    case SL_GRAPHIO_MATCH_RV1:
    case SL_GRAPHIO_MATCH_RV1_NOSCHED:
    case SL_GRAPHIO_MATCH_RV1_SHORTHAND:
        write_rv1(w, g, gr, &p, &r, out);
        break;
    }
    if (lite) {
        bool cut = sl_buf_full(&r.lite);
        cut |= sl_buf_full(&r.hosts);
        cut |= sl_buf_full(&r.props);
        if (cut)
            sl_buf_fail(out);
        graphio_rlite_done(&r);
    }
    graphio_places_done(&p);
    return ret;
}
