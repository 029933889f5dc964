/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vertices that a job has, or releases, by a text. JGF lists vertices with their paths; R lists
 * ranks and, in them, ids of types, which are searched anywhere in the node of that rank.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/graphio/find.h"
#include "lib/graphio/jgf_read.h"
#include "lib/graphio/rv1_read.h"

void sl_graphio_holding_done(struct sl_graphio_holding *h) {
    sl_vec_free(&h->picks);
}

/* By vertex: how much a job has of it. */
struct marks {
    const struct sl_graph *g;
    int64_t *needs; /* 0: nothing */
    uint8_t *exclusive;
};

static void marks_init(struct marks *m, const struct sl_graph *g) {
    size_t n = (size_t)sl_graph_count(g) + 1;
    *m = (struct marks){.g = g,
                        .needs = sl_alloc0(n, sizeof(*m->needs)),
                        .exclusive = sl_alloc0(n, sizeof(*m->exclusive))};
}

static void marks_done(struct marks *m) {
    sl_freep(&m->needs);
    sl_freep(&m->exclusive);
}

static void mark(struct marks *m, sl_vtx v, int64_t needs, bool exclusive) {
    m->needs[v] = needs;
    m->exclusive[v] |= exclusive;
}

/* The way from the root to everything that is marked. */
static void mark_ways(struct marks *m) {
    for (sl_vtx v = 0; v < sl_graph_count(m->g); v++) {
        if (m->needs[v] == 0)
            continue;
        sl_vtx up = sl_graph_vertex(m->g, v)->parent;
        for (; up != SL_VTX_NONE && m->needs[up] == 0; up = sl_graph_vertex(m->g, up)->parent)
            mark(m, up, sl_graph_vertex(m->g, up)->size, false);
    }
}

static void collect_picks(const struct marks *m, struct sl_graphio_holding *ret) {
    ret->picks.n = 0;
    for (uint32_t pos = 0; pos < sl_graph_live(m->g); pos++) {
        sl_vtx v = sl_graph_at(m->g, pos);
        if (m->needs[v] > 0)
            *sl_vec_push(&ret->picks) =
                (struct sl_pick){.v = v, .needs = m->needs[v], .exclusive = m->exclusive[v]};
    }
}

/* ---- JGF ---- */

static int disagree(const struct graphio_jgf *x, const struct graphio_jgf_vertex *v,
                    const char *what, const char *have, const char *text) {
    return graphio_jin_fail(x->j, v->at, SL_EINVAL,
                            "vertex \"%.30s\": expected the %s %.50s as in the graph, got %.50s",
                            v->jid, what, have, text);
}

static int differ(const struct graphio_jgf *x, const struct graphio_jgf_vertex *v, const char *what,
                  int64_t have, int64_t got) {
    return graphio_jin_fail(x->j, v->at, SL_EINVAL,
                            "vertex \"%.30s\": expected the %s %" PRId64
                            " as in the graph, got %" PRId64,
                            v->jid, what, have, got);
}

static int agrees(const struct sl_graph *g, const struct graphio_jgf *x,
                  const struct graphio_jgf_vertex *v, sl_vtx at) {
    const struct sl_syms *syms = sl_graph_syms(g);
    const struct sl_vertex *y = sl_graph_vertex(g, at);
    const struct sl_vertex_spec *s = &v->spec;
    const char *basename = s->basename ? s->basename : s->type, *name = s->name;
    char own[SL_VERTEX_NAME], made[SL_VERTEX_NAME + 32];

    if (strcmp(sl_sym_str(syms, y->type), s->type) != 0)
        return disagree(x, v, "type", sl_sym_str(syms, y->type), s->type);
    if (strcmp(sl_sym_str(syms, y->basename), basename) != 0)
        return disagree(x, v, "basename", sl_sym_str(syms, y->basename), basename);
    /* Of what can be divided a job may have a part. */
    if (s->size != y->size && !(y->divisible && s->size < y->size))
        return differ(x, v, "size", y->size, s->size);
    if (s->id != y->id)
        return differ(x, v, "id", y->id, s->id);
    if (!name && strlen(basename) < SL_VERTEX_NAME) {
        sl_fmt(made, sizeof(made), "%s%" PRId64, basename, s->id);
        name = made;
    }
    if (!name || strcmp(sl_vertex_name(g, at, own), name) != 0)
        return disagree(x, v, "name", sl_vertex_name(g, at, own), name ? name : basename);
    return 0;
}

/* The vertex of the graph that all paths and the rank of one of the text lead to. */
static int find_vertex(struct graphio_finder *f, const struct graphio_jgf *x,
                       const struct graphio_jgf_vertex *v, sl_vtx *ret) {
    *ret = SL_VTX_NONE;
    if (v->n_paths == 0)
        return graphio_jin_fail(x->j, v->at, SL_EINVAL, "vertex \"%.40s\": expected a path",
                                v->jid);
    for (uint32_t i = 0; i < v->n_paths; i++) {
        sl_vtx at = graphio_finder_path(f, v->paths[i].path, v->spec.rank);
        if (at == SL_VTX_NONE)
            return graphio_jin_fail(x->j, v->at, SL_ENOENT,
                                    "vertex \"%.30s\": there is no %.80s of rank %" PRId64
                                    " in the graph",
                                    v->jid, v->paths[i].path, v->spec.rank);
        if (i > 0 && at != *ret)
            return graphio_jin_fail(x->j, v->at, SL_EINVAL,
                                    "vertex \"%.40s\": its paths lead to different vertices",
                                    v->jid);
        *ret = at;
    }
    return agrees(f->g, x, v, *ret);
}

static void mark_below(struct marks *m, sl_vtx v) {
    const struct sl_vertex *x = sl_graph_vertex(m->g, v);
    for (uint32_t pos = x->pos + 1; pos < x->end; pos++) {
        sl_vtx kid = sl_graph_at(m->g, pos);
        mark(m, kid, sl_graph_vertex(m->g, kid)->size, true);
    }
}

static int hold_jgf(struct marks *m, const struct graphio_jin *j, yyjson_val *top, bool shorthand,
                    uint32_t max) {
    struct graphio_finder f;
    struct graphio_jgf x;
    int r = graphio_jgf_read(&x, j, top, max, true);

    graphio_finder_init(&f, m->g);
    for (uint32_t i = 0; i < x.v.n && r >= 0; i++) {
        const struct graphio_jgf_vertex *v = &x.v.v[i];
        sl_vtx at;
        r = find_vertex(&f, &x, v, &at);
        if (r < 0 || sl_idset_has(&x.free_ranks, v->spec.rank))
            continue;
        mark(m, at, v->spec.size, v->exclusive);
        if (shorthand && v->exclusive)
            mark_below(m, at);
    }
    graphio_finder_done(&f);
    graphio_jgf_done(&x);
    return r;
}

/* ---- R ---- */

/* The node of a rank; its name must be the host's. */
static int find_node(const struct sl_graph *g, const struct graphio_rv1 *x,
                     const struct graphio_rv1_entry *e, int64_t rank, sl_vtx *ret) {
    const char *host = graphio_rv1_host(x, rank);
    sl_sym type = sl_sym_find(sl_graph_syms(g), "node");
    char name[SL_VERTEX_NAME];
    sl_vtx *v;
    uint32_t n;

    *ret = SL_VTX_NONE;
    sl_graph_by_rank(g, rank, &v, &n);
    for (uint32_t i = 0; i < n && *ret == SL_VTX_NONE; i++)
        if (sl_graph_vertex(g, v[i])->type == type)
            *ret = v[i];
    sl_freep(&v);
    if (*ret == SL_VTX_NONE)
        return graphio_jin_fail(x->j, e->at, SL_ENOENT, "there is no node of rank %" PRId64, rank);
    if (host && strcmp(sl_vertex_name(g, *ret, name), host) != 0)
        return graphio_jin_fail(x->j, e->at, SL_EINVAL,
                                "expected the host %.60s of rank %" PRId64
                                " as in the graph, got %.60s",
                                sl_vertex_name(g, *ret, name), rank, host);
    return 0;
}

static int hold_children(struct marks *m, const struct graphio_rv1 *x,
                         const struct graphio_rv1_entry *e, sl_vtx node,
                         const struct graphio_rv1_child *c) {
    const struct sl_vertex *y = sl_graph_vertex(m->g, node);
    sl_sym type = sl_sym_find(sl_graph_syms(m->g), c->type);
    uint64_t found = 0, wanted = sl_idset_count(&c->ids);

    for (uint32_t pos = y->pos + 1; pos < y->end; pos++) {
        sl_vtx v = sl_graph_at(m->g, pos);
        const struct sl_vertex *z = sl_graph_vertex(m->g, v);
        if (z->type != type || !sl_idset_has(&c->ids, z->id))
            continue;
        if (m->needs[v] > 0)
            return graphio_jin_fail(x->j, e->at, SL_EINVAL,
                                    "%.40s %" PRId64 " of rank %d is given twice", c->type, z->id,
                                    y->rank);
        mark(m, v, z->size, true);
        found++;
    }
    if (found != wanted)
        return graphio_jin_fail(x->j, e->at, SL_ENOENT,
                                "expected %" PRIu64
                                " of type %.40s with these ids in rank %d of the "
                                "graph, found %" PRIu64,
                                wanted, c->type, y->rank, found);
    return 0;
}

/* A node all of which is taken is taken itself. */
static void complete(struct marks *m, sl_vtx node) {
    const struct sl_vertex *y = sl_graph_vertex(m->g, node);
    bool all = y->end > y->pos + 1;

    for (uint32_t pos = y->end; pos-- > y->pos + 1;) { /* children before their parents */
        sl_vtx v = sl_graph_at(m->g, pos);
        const struct sl_vertex *z = sl_graph_vertex(m->g, v);
        bool whole = z->n_kids > 0;
        for (uint32_t k = 0; k < z->n_kids && whole; k++)
            whole = m->exclusive[sl_graph_kids(m->g)[z->kids + k]];
        if (whole)
            mark(m, v, z->size, true);
        all = all && m->exclusive[v];
    }
    if (all)
        mark(m, node, y->size, true);
}

static int hold_rv1(struct marks *m, const struct graphio_rv1 *x) {
    int r = 0;

    for (uint32_t i = 0; i < x->entries.n; i++) {
        const struct graphio_rv1_entry *e = &x->entries.v[i];
        for (uint32_t k = 0; k < e->ranks.ranges.n; k++)
            for (int64_t rank = e->ranks.ranges.v[k].first; rank <= e->ranks.ranges.v[k].last;
                 rank++) {
                sl_vtx node;
                r = find_node(m->g, x, e, rank, &node);
                for (uint32_t c = 0; c < e->n_children && r >= 0; c++)
                    r = hold_children(m, x, e, node, &x->children.v[e->children + c]);
                if (r < 0)
                    return r;
                complete(m, node);
            }
    }
    return 0;
}

/* ---- reading ---- */

static bool is_rv1(enum sl_graphio_format f) {
    return f == SL_GRAPHIO_RV1EXEC || f == SL_GRAPHIO_RV1EXEC_FORCE;
}

static int open_text(const struct sl_graphio_text *t, struct graphio_jin *j, struct sl_err *err) {
    if (t->format == SL_GRAPHIO_GRUG || t->format == SL_GRAPHIO_HWLOC)
        return sl_err_set(err, SL_EINVAL, "%s: expected jgf or rv1exec", t->file);
    if (t->len > SL_GRAPHIO_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT, "%s: more than %zu bytes", t->file, SL_GRAPHIO_MAX_BYTES);
    return graphio_jin_open(j, t->file, t->text, t->len, err);
}

int sl_graphio_holding_read(const struct sl_graph *g, const struct sl_graphio_text *t,
                            struct sl_graphio_holding *ret, struct sl_err *err) {
    struct graphio_jin j = {0};
    struct graphio_rv1 x = {.time = {-1, -1}};
    struct marks m;
    yyjson_val *jgf = NULL;
    bool shorthand = t->format == SL_GRAPHIO_JGF_SHORTHAND;
    int r = open_text(t, &j, err);

    marks_init(&m, g);
    if (r >= 0 && is_rv1(t->format)) {
        r = graphio_rv1_read(&x, &j, graphio_max_vertices(t));
        if (r >= 0 && t->format == SL_GRAPHIO_RV1EXEC)
            r = graphio_rv1_jgf(&x, &jgf, &shorthand);
    } else if (r >= 0) {
        jgf = j.root;
    }
    if (r >= 0)
        r = jgf ? hold_jgf(&m, &j, jgf, shorthand, graphio_max_vertices(t)) : hold_rv1(&m, &x);
    if (r >= 0) {
        mark_ways(&m);
        collect_picks(&m, ret);
        ret->time = x.time;
    }
    marks_done(&m);
    graphio_rv1_done(&x);
    graphio_jin_done(&j);
    return r;
}

/* ---- giving back ---- */

/* The rank of the nearest vertex on the way up that has one. */
static int64_t rank_of(const struct sl_graph *g, sl_vtx v) {
    for (; v != SL_VTX_NONE; v = sl_graph_vertex(g, v)->parent)
        if (sl_graph_vertex(g, v)->rank >= 0)
            return sl_graph_vertex(g, v)->rank;
    return -1;
}

/* Takes v, unless something that contains it was taken. */
static void take_vertex(const struct sl_graph *g, sl_vtx v, uint32_t *end,
                        sl_graphio_vertices *ret) {
    const struct sl_vertex *x = sl_graph_vertex(g, v);

    if (x->pos < *end)
        return;
    *sl_vec_push(ret) = v;
    *end = x->end;
}

/* Each rank must be there. Some may have nothing that the job has alone: it holds what is below. */
static int check_ranks(const struct sl_graph *g, const struct graphio_rv1 *x, const uint8_t *alone,
                       int64_t *ret_rank) {
    for (uint32_t i = 0; i < x->ranks.ranges.n; i++)
        for (int64_t k = x->ranks.ranges.v[i].first; k <= x->ranks.ranges.v[i].last; k++) {
            sl_vtx *v;
            uint32_t n;
            bool has = false;
            sl_graph_by_rank(g, k, &v, &n);
            for (uint32_t p = 0; p < n && !has; p++)
                has = alone[v[p]];
            sl_freep(&v);
            if (!has && *ret_rank < 0)
                *ret_rank = k;
            if (n > 0)
                continue;
            *ret_rank = k;
            return graphio_jin_fail(x->j, x->j->root, SL_ENOENT,
                                    "there is no rank %" PRId64 " in the graph", k);
        }
    return 0;
}

static int release_rv1(const struct sl_graph *g, const struct graphio_jin *j, uint32_t max,
                       const struct sl_grant *has, sl_graphio_vertices *ret, int64_t *ret_rank) {
    struct graphio_rv1 x;
    uint32_t end = 0;
    uint8_t *alone = sl_alloc0((size_t)sl_graph_count(g) + 1, 1);
    int r = graphio_rv1_read(&x, j, max);

    for (uint32_t i = 0; i < has->picks.n; i++)
        alone[has->picks.v[i].v] = has->picks.v[i].exclusive;
    if (r >= 0)
        r = check_ranks(g, &x, alone, ret_rank);
    sl_freep(&alone);
    for (uint32_t i = 0; i < has->picks.n && r >= 0; i++)
        if (has->picks.v[i].exclusive && sl_idset_has(&x.ranks, rank_of(g, has->picks.v[i].v)))
            take_vertex(g, has->picks.v[i].v, &end, ret);
    graphio_rv1_done(&x);
    return r;
}

static int release_jgf(const struct sl_graph *g, const struct graphio_jin *j, uint32_t max,
                       const struct sl_grant *has, sl_graphio_vertices *ret) {
    enum { NOT, SHARED, OWN, GIVEN };
    uint8_t *state = sl_alloc0((size_t)sl_graph_count(g) + 1, 1);
    struct graphio_finder f;
    struct graphio_jgf x;
    uint32_t end = 0;
    int r = graphio_jgf_read(&x, j, j->root, max, false);

    graphio_finder_init(&f, g);
    for (uint32_t i = 0; i < has->picks.n; i++)
        state[has->picks.v[i].v] = has->picks.v[i].exclusive ? OWN : SHARED;
    for (uint32_t i = 0; i < x.v.n && r >= 0; i++) {
        sl_vtx at;
        r = find_vertex(&f, &x, &x.v.v[i], &at);
        if (r < 0)
            break;
        if (state[at] == NOT)
            r = graphio_jin_fail(j, x.v.v[i].at, SL_ENOENT,
                                 "vertex \"%.30s\": the job does not have %.80s", x.v.v[i].jid,
                                 x.v.v[i].paths[0].path);
        else if (state[at] == OWN)
            state[at] = GIVEN;
    }
    for (uint32_t i = 0; i < has->picks.n && r >= 0; i++)
        if (state[has->picks.v[i].v] == GIVEN)
            take_vertex(g, has->picks.v[i].v, &end, ret);
    graphio_finder_done(&f);
    graphio_jgf_done(&x);
    sl_freep(&state);
    return r;
}

int sl_graphio_release_read(const struct sl_graph *g, const struct sl_graphio_text *t,
                            const struct sl_grant *has, sl_graphio_vertices *ret, int64_t *ret_rank,
                            struct sl_err *err) {
    struct graphio_jin j = {0};
    int r = open_text(t, &j, err);

    ret->n = 0;
    *ret_rank = -1;
    if (r >= 0)
        r = is_rv1(t->format) ? release_rv1(g, &j, graphio_max_vertices(t), has, ret, ret_rank)
                              : release_jgf(g, &j, graphio_max_vertices(t), has, ret);
    graphio_jin_done(&j);
    return r;
}
