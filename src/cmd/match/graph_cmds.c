/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands about the graph: find, attach, remove, status and properties.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/match/session_int.h"
#include "lib/graphio/idset.h"

/* ---- vertices of a path ---- */

static bool is_named(const struct sl_graph *g, sl_vtx v, const char *name, size_t len) {
    char space[SL_VERTEX_NAME];
    const char *own = sl_vertex_name(g, v, space);
    return strlen(own) == len && memcmp(own, name, len) == 0;
}

/* All of them: several ranks of one host have one path. False if there is none. */
static bool at_path(struct sl_session *s, const char *path, sl_graphio_vertices *ret) {
    const struct sl_graph *g = sl_match_graph(s->m);
    sl_graphio_vertices next = {0};
    const char *p = path;

    sl_vec_clear(ret);
    for (bool first = true; *p == '/'; first = false) {
        size_t len = strcspn(++p, "/");
        sl_vec_clear(&next);
        if (first && is_named(g, sl_graph_root(g), p, len))
            *sl_vec_push(&next) = sl_graph_root(g);
        for (uint32_t i = 0; i < ret->n && !first; i++) {
            const struct sl_vertex *x = sl_graph_vertex(g, ret->v[i]);
            for (uint32_t k = 0; k < x->n_kids; k++)
                if (is_named(g, sl_graph_kids(g)[x->kids + k], p, len))
                    *sl_vec_push(&next) = sl_graph_kids(g)[x->kids + k];
        }
        sl_graphio_vertices spare = *ret;
        *ret = next;
        next = spare;
        p += len;
    }
    if (*p != '\0')
        sl_vec_clear(ret);
    sl_vec_free(&next);
    /* Paths that names do not give, and those of other subsystems. */
    sl_vtx v = ret->n == 0 ? sl_graph_by_path(g, path) : SL_VTX_NONE;
    if (v != SL_VTX_NONE)
        *sl_vec_push(ret) = v;
    return ret->n > 0;
}

static bool missing(struct sl_session *s, const char *path, sl_graphio_vertices *ret) {
    if (at_path(s, path, ret))
        return false;
    fprintf(s->o.results, "Could not find path %s in resource graph.\n", path);
    return true;
}

/* ---- properties and status ---- */

void match_command_set_property(struct sl_session *s, struct match_words w) {
    sl_graphio_vertices v = {0};
    struct sl_err err = {0};
    const char *eq = strchr(w.v[2], '=');
    int r = 0;

    if (!eq || eq == w.v[2] || !eq[1]) {
        fputs("Incorrect input format. \n"
              "Please use `set-property <resource> PROPERTY=VALUE`.\n",
              s->o.results);
        return;
    }
    if (!at_path(s, w.v[1], &v))
        fprintf(s->o.results, "Couldn't find path %s in resource graph.\n", w.v[1]);
    char *key = sl_strdup(w.v[2]);
    key[eq - w.v[2]] = '\0';
    for (uint32_t i = 0; i < v.n && r >= 0; i++)
        r = sl_match_set_prop(s->m, v.v[i], key, eq + 1, &err);
    if (r < 0)
        sl_session_error(s, "ERROR: %s", err.text);
    sl_freep(&key);
    sl_vec_free(&v);
}

void match_command_get_property(struct sl_session *s, struct match_words w) {
    const struct sl_graph *g = sl_match_graph(s->m);
    sl_graphio_vertices v = {0};
    uint32_t n;

    if (missing(s, w.v[1], &v))
        return;
    for (uint32_t i = 0; i < v.n; i++) {
        struct sl_graph_prop *props = sl_graphio_sorted_props(g, v.v[i], &n);
        if (n == 0)
            fprintf(s->o.results, "No properties were found for %s (vtx's uniq_id=%" PRId64 ").\n",
                    w.v[1], sl_graph_vertex(g, v.v[i])->uniq_id);
        for (uint32_t k = 0; k < n; k++)
            fprintf(s->o.results, "%s=%s\n", props[k].key, props[k].value);
        sl_freep(&props);
    }
    sl_vec_free(&v);
}

void match_command_set_status(struct sl_session *s, struct match_words w) {
    sl_graphio_vertices v = {0};
    bool down = strcmp(w.v[2], "down") == 0;

    if (missing(s, w.v[1], &v))
        return;
    if (!down && strcmp(w.v[2], "up") != 0)
        sl_session_error(s, "ERROR: unrecognized status");
    else
        for (uint32_t i = 0; i < v.n; i++)
            sl_match_set_down(s->m, v.v[i], down);
    sl_vec_free(&v);
}

void match_command_get_status(struct sl_session *s, struct match_words w) {
    sl_graphio_vertices v = {0};
    if (missing(s, w.v[1], &v))
        return;
    for (uint32_t i = 0; i < v.n; i++)
        fprintf(s->o.results, "%s is %s\n", w.v[1],
                sl_graph_vertex(sl_match_graph(s->m), v.v[i])->down ? "down" : "up");
    sl_vec_free(&v);
}

/* ---- find ---- */

struct find_query {
    const struct sl_match *m;
    int64_t job;
};

static uint32_t sums(const void *ctx, sl_vtx v, struct sl_match_filter_sum *ret, uint32_t max) {
    const struct find_query *a = ctx;
    return sl_match_sums(a->m, v, 0, a->job, ret, max);
}

void match_command_find(struct sl_session *s, struct match_words w) {
    _cleanup_(sl_find_freep) struct sl_find *f = NULL;
    struct find_query query = {.m = s->m};
    struct sl_err err = {0};
    struct sl_buf criteria;

    sl_buf_init(&criteria, SL_SESSION_LINE_MAX);
    for (uint32_t i = 1; i < w.n; i++)
        sl_buf_printf(&criteria, "%s%s", i > 1 ? " " : "", w.v[i]);
    if (sl_find_parse(sl_buf_str(&criteria), &f, &err) < 0) {
        sl_session_error(s, "findfind: invalid criteria: %s.", sl_buf_str(&criteria));
        sl_buf_done(&criteria);
        return;
    }
    if (sl_find_sums(f, &query.job)) {
        s->writer.sums = sums;
        s->writer.sums_ctx = &query;
    }
    sl_match_find(s->m, f, &s->grant);
    s->writer.queue = NULL;
    s->writer.n_labels = 0;
    s->writer.in_full = true;
    /* Nothing found is nothing written, also in a format without a representation for it. */
    if (sl_graphio_match_write(&s->writer, sl_match_graph(s->m), &s->grant, &s->text, &err) < 0)
        sl_buf_clear(&s->text);
    s->writer.sums = NULL;
    s->writer.sums_ctx = NULL;
    s->writer.in_full = false;
    sl_session_put_text(s);
    sl_session_rule(s);
    fprintf(s->o.results, "INFO: EXPRESSION=\"%s\"\n", sl_buf_str(&criteria));
    sl_session_rule(s);
    sl_buf_done(&criteria);
}

/* ---- the graph changes ---- */

static int attach(struct sl_session *s, const struct sl_graphio_text *t, struct sl_err *err) {
    struct sl_graph *before = sl_graph_clone(sl_match_graph(s->m));
    int r = sl_graphio_read_more(sl_match_grow(s->m), t, err);
    if (r >= 0)
        return sl_match_regraph(s->m, before, err);
    sl_graph_free(before);
    return r;
}

void match_command_attach(struct sl_session *s, struct match_words w) {
    _cleanup_(sl_freep) char *text = NULL;
    struct sl_graphio_text t = {.format = SL_GRAPHIO_JGF, .file = w.v[1]};
    struct sl_err err = {0};

    if (!sl_session_read_file(s, w.v[1], SL_GRAPHIO_MAX_BYTES, &text, &t.len))
        return;
    t.text = text;
    int r = attach(s, &t, &err);
    if (r < 0)
        sl_session_error(s, "ERROR: can't attach JGF subgraph ");
    if (r == SL_EEXIST) /* scripts know it by these words */
        sl_session_error(s, "ERROR: add_graph_metadata: failed to add root metadata for "
                            "containment subsystem. Possible duplicate root.");
    else if (r < 0)
        sl_session_error(s, "ERROR: %s", err.text);
    match_specs_forget(s);
}

/* The topmost vertices of a rank. */
static void tops_of_rank(const struct sl_graph *g, int64_t rank, sl_graphio_vertices *ret) {
    sl_vtx *v;
    uint32_t n;
    sl_graph_by_rank(g, rank, &v, &n);
    for (uint32_t i = 0; i < n; i++) {
        sl_vtx up = sl_graph_vertex(g, v[i])->parent;
        if (up == SL_VTX_NONE || sl_graph_vertex(g, up)->rank != rank)
            *sl_vec_push(ret) = v[i];
    }
    sl_freep(&v);
}

/* False: an error was printed. */
static bool vertices_of_ranks(struct sl_session *s, const char *text, sl_graphio_vertices *ret) {
    struct sl_idset ids = {0};
    struct sl_err err = {0};
    bool good = sl_idset_add(&ids, text, &err) >= 0;

    if (!good)
        sl_session_error(s, "ERROR: failed to decode ranks.");
    for (uint32_t i = 0; i < ids.ranges.n && good; i++)
        for (int64_t rank = ids.ranges.v[i].first; rank <= ids.ranges.v[i].last && good; rank++) {
            uint32_t before = ret->n;
            tops_of_rank(sl_match_graph(s->m), rank, ret);
            good = ret->n > before;
            if (!good) {
                sl_session_error(s, "ERROR: can't partial cancel subgraph ");
                sl_session_error(s, "ERROR: the graph has no rank %" PRId64, rank);
            }
        }
    sl_idset_done(&ids);
    return good;
}

void match_command_remove(struct sl_session *s, struct match_words w) {
    sl_graphio_vertices v = {0};
    struct sl_err err = {0};
    int r = 0;

    if (strcmp(w.v[2], "true") == 0) {
        if (!at_path(s, w.v[1], &v))
            r = sl_err_set(&err, SL_ENOENT, "the graph has no path %.180s", w.v[1]);
    } else if (strcmp(w.v[2], "false") != 0) {
        sl_session_error(s, "ERROR: invalid path boolean input ");
        return;
    } else if (!vertices_of_ranks(s, w.v[1], &v)) {
        sl_vec_free(&v);
        return;
    }
    if (r >= 0)
        r = sl_match_shrink(s->m, v.v, v.n, &err);
    if (r < 0) {
        sl_session_error(s, "ERROR: can't remove subgraph ");
        sl_session_error(s, "ERROR: %s", err.text);
    }
    match_specs_forget(s);
    sl_vec_free(&v);
}
