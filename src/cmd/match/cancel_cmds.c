/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel and partial-cancel.
 */
#include <string.h>

#include "cmd/match/session_int.h"

/* How a walk over what a job has would count: visited and left. */
struct counts {
    uint64_t preorder, postorder;
};

static void report_counts(struct sl_session *s, const char *what, const struct counts *c) {
    sl_session_rule(s);
    fprintf(s->o.results, "INFO: %s PREORDER COUNT=\"%" PRIu64 "\"\n", what, c->preorder);
    fprintf(s->o.results, "INFO: %s POSTORDER COUNT=\"%" PRIu64 "\"\n", what, c->postorder);
    sl_session_rule(s);
}

static bool wants_counts(struct match_words w, uint32_t at) {
    return w.n > at && strcmp(w.v[at], "stats") == 0;
}

/* ---- all of a job ---- */

/* The root and the children of each vertex that the job has are visited; what it has is left. */
static struct counts count_all(const struct sl_graph *g, const struct sl_grant *has) {
    struct counts c = {.preorder = has->picks.n > 0};
    for (uint32_t i = 0; i < has->picks.n; i++) {
        const sl_vtx *more;
        c.preorder += sl_graph_vertex(g, has->picks.v[i].v)->n_kids +
                      sl_graph_more_kids(g, has->picks.v[i].v, &more);
        c.postorder++;
    }
    return c;
}

void match_command_cancel(struct sl_session *s, struct match_words w) {
    int64_t id = sl_session_number(w.v[1]);
    struct match_job_row *j = sl_session_job(s, id);
    struct counts c = {0};
    if (!j || j->state == JOB_CANCELED) {
        sl_session_error(s, "cancel: ERROR: nonexistent job %" PRIu64, (uint64_t)id);
        return;
    }
    if (wants_counts(w, 2) && sl_match_grant(s->m, id, &s->grant) >= 0)
        c = count_all(sl_match_graph(s->m), &s->grant);
    int r = sl_match_cancel(s->m, id);
    sl_assert(r >= 0 || r == SL_ENOENT); /* all it had may have gone with a part of the graph */
    j->state = JOB_CANCELED;
    if (wants_counts(w, 2))
        report_counts(s, "CANCEL", &c);
}

/* ---- a part ---- */

/* What resource-query says of ranks: it gives back the vertices that have one themselves. Here all
 * that is below them is given back as well, whatever it says. */
static void report_rank(const struct sl_session *s, int r, int64_t rank) {
    if (rank < 0)
        fputs("remove: partial_cancel returned error.\n", s->o.out);
    else if (r < 0)
        fprintf(s->o.out, "remove%" PRId64 " not found in by_rank map.\n", rank);
    else
        fprintf(s->o.out, "remove: %" PRId64 " not found in rank_to_counts.\n", rank);
}

int match_release(struct sl_session *s, int64_t id, const struct sl_graphio_text *t,
                  struct match_released *ret, struct sl_err *err) {
    const struct sl_graph *g = sl_match_graph(s->m);
    sl_graphio_vertices gone = {0};
    int r = sl_match_grant(s->m, id, &s->grant);
    *ret = (struct match_released){.rank = -1};

    if (r < 0)
        return sl_err_set(err, r, "job %" PRId64 " has nothing left", id);
    r = sl_graphio_release_read(g, t, &s->grant, &gone, &ret->rank, err);
    ret->legible = r >= 0 || r == SL_ENOENT;
    if (r >= 0)
        r = sl_match_cancel_part(s->m, id, gone.v, gone.n, &ret->all, err);
    sl_vec_free(&gone);
    return r;
}

void match_command_partial_cancel(struct sl_session *s, struct match_words w) {
    _cleanup_(sl_freep) char *text = NULL;
    struct sl_graphio_text t = {.file = w.v[3]};
    int64_t id = sl_session_number(w.v[1]);
    struct match_job_row *j = sl_session_job(s, id);
    struct sl_err err = {0};
    struct match_released released;

    if (!sl_graphio_format_parse(w.v[2], &t.format) ||
        (t.format != SL_GRAPHIO_JGF && t.format != SL_GRAPHIO_RV1EXEC)) {
        sl_session_error(s, "ERROR: unsupported reader %s", w.v[2]);
        return;
    }
    if (!sl_session_read_file(s, w.v[3], SL_GRAPHIO_MAX_BYTES, &text, &t.len))
        return;
    t.text = text;
    if (!j || j->state == JOB_CANCELED) {
        sl_session_error(s, "ERROR: nonexistent job %" PRIu64, (uint64_t)id);
        return;
    }
    if (j->state == JOB_RESERVED) {
        sl_session_error(s, "ERROR: reservations not currently supported by partial cancel");
        return;
    }
    int r = match_release(s, id, &t, &released, &err);
    if (r >= 0 && released.all)
        j->state = JOB_CANCELED;
    if (r < 0 || released.rank >= 0) {
        report_rank(s, r, released.rank);
        sl_session_error(s, "ERROR: error encountered while removing job %" PRIu64, (uint64_t)id);
    }
    if (r < 0 && !released.legible) /* else the words above are all that resource-query says */
        sl_session_error(s, "ERROR: %s", err.text);
    if (wants_counts(w, 4)) /* nothing is walked for it */
        report_counts(s, "PARTIAL CANCEL", &(struct counts){0});
}
