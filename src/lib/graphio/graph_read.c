/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which reader reads what. New graphs are made from nothing; a graph that grows is tried on a copy
 * first, so that what is refused leaves no trace.
 */
#include "lib/graphio/graph_read.h"

#include <string.h>

#include "lib/doc/doc.h"
#include "lib/graphio/jgf_read.h"
#include "lib/graphio/rv1_read.h"
#include "lib/graphio/stage.h"

static const char *const words[] = {
    [SL_GRAPHIO_GRUG] = "grug",
    [SL_GRAPHIO_JGF] = "jgf",
    [SL_GRAPHIO_JGF_SHORTHAND] = "jgf_shorthand",
    [SL_GRAPHIO_RV1EXEC] = "rv1exec",
    [SL_GRAPHIO_RV1EXEC_FORCE] = "rv1exec_force",
    [SL_GRAPHIO_HWLOC] = "hwloc",
};

bool sl_graphio_format_parse(const char *word, enum sl_graphio_format *ret) {
    for (size_t i = 0; i < SL_LEN(words); i++) {
        if (strcmp(word, words[i]) != 0)
            continue;
        *ret = (enum sl_graphio_format)i;
        return true;
    }
    return false;
}

/* A stage, and what its texts live in. */
struct read {
    struct graphio_stage s;
    struct graphio_jin j;
    struct graphio_jgf jgf;
    struct graphio_rv1 rv1;
};

static void read_done(struct read *r) {
    graphio_stage_done(&r->s);
    graphio_jgf_done(&r->jgf);
    graphio_rv1_done(&r->rv1);
    graphio_jin_done(&r->j);
}

static int stage_jgf(struct read *r, yyjson_val *top, const struct sl_graph *g,
                     const struct sl_graphio_text *t) {
    int rc = graphio_jgf_read(&r->jgf, &r->j, top, graphio_max_vertices(t), true);
    return rc < 0 ? rc : graphio_stage_jgf(&r->jgf, g, g ? NULL : t->allow, &r->s);
}

static int stage_rv1(struct read *r, const struct sl_graph *g, const struct sl_graphio_text *t,
                     struct sl_graphio_time *ret_time) {
    yyjson_val *jgf = NULL;
    bool shorthand = false;
    int rc = graphio_rv1_read(&r->rv1, &r->j, graphio_max_vertices(t));

    if (rc >= 0 && t->format == SL_GRAPHIO_RV1EXEC)
        rc = graphio_rv1_jgf(&r->rv1, &jgf, &shorthand);
    if (rc < 0)
        return rc;
    *ret_time = r->rv1.time;
    /* A shorthand lists too little to build a graph of. */
    return jgf && !shorthand ? stage_jgf(r, jgf, g, t) : graphio_stage_rv1(&r->rv1, g, t, &r->s);
}

static int stage(struct read *r, const struct sl_graph *g, const struct sl_graphio_text *t,
                 struct sl_graphio_time *ret_time, struct sl_err *err) {
    int rc;

    graphio_stage_init(&r->s);
    if (t->format == SL_GRAPHIO_HWLOC)
        return graphio_stage_hwloc(t, &r->s, err);
    rc = graphio_jin_open(&r->j, t->file, t->text, t->len, err);
    if (rc < 0)
        return rc;
    if (t->format == SL_GRAPHIO_RV1EXEC || t->format == SL_GRAPHIO_RV1EXEC_FORCE)
        return stage_rv1(r, g, t, ret_time);
    return stage_jgf(r, r->j.root, g, t);
}

static int too_long(const struct sl_graphio_text *t, struct sl_err *err) {
    return t->len > SL_GRAPHIO_MAX_BYTES ? sl_err_set(err, SL_ELIMIT, "%s: more than %zu bytes",
                                                      t->file, SL_GRAPHIO_MAX_BYTES)
                                         : 0;
}

int sl_graphio_read(const struct sl_graphio_text *t, struct sl_graph **ret,
                    struct sl_graphio_time *ret_time, struct sl_err *err) {
    _cleanup_(sl_graph_freep) struct sl_graph *g = NULL;
    struct sl_graphio_time time = {-1, -1};
    struct read read = {0};
    int r = too_long(t, err);

    if (r < 0)
        return r;
    g = sl_graph_new();
    if (t->format == SL_GRAPHIO_GRUG) {
        r = graphio_read_grug(t, g, err);
    } else {
        r = stage(&read, NULL, t, &time, err);
        if (r >= 0) {
            r = graphio_stage_commit(&read.s, g, err);
            if (r < 0)
                (void)sl_err_wrap(err, r, "%s", t->file);
        }
        read_done(&read);
    }
    if (r < 0)
        return r;
    if (ret_time)
        *ret_time = time;
    *ret = TAKE_PTR(g);
    return 0;
}

int sl_graphio_load(const char *path, enum sl_graphio_format format, const char *allow,
                    struct sl_graph **ret, struct sl_graphio_time *ret_time, struct sl_err *err) {
    struct sl_graphio_text t = {.format = format, .file = path, .allow = allow};
    _cleanup_(sl_freep) char *text = NULL;
    int r = sl_file_read(path, SL_GRAPHIO_MAX_BYTES, &text, &t.len, err);

    t.text = text;
    return r < 0 ? r : sl_graphio_read(&t, ret, ret_time, err);
}

int sl_graphio_read_more(struct sl_graph *g, const struct sl_graphio_text *t, struct sl_err *err) {
    _cleanup_(sl_graph_freep) struct sl_graph *trial = NULL;
    struct sl_graphio_time time;
    struct read read = {0};
    int r = too_long(t, err);

    if (r < 0)
        return r;
    if (t->format == SL_GRAPHIO_GRUG || t->format == SL_GRAPHIO_HWLOC)
        return sl_err_set(err, SL_EINVAL, "%s: expected jgf or rv1exec to add to a graph, got %s",
                          t->file, words[t->format]);
    r = stage(&read, g, t, &time, err);
    if (r >= 0) {
        trial = sl_graph_clone(g);
        r = graphio_stage_commit(&read.s, trial, err);
        if (r < 0)
            (void)sl_err_wrap(err, r, "%s", t->file);
    }
    if (r >= 0) { /* what went well on the copy goes well */
        r = graphio_stage_commit(&read.s, g, err);
        sl_assert(r >= 0);
    }
    read_done(&read);
    return r;
}
