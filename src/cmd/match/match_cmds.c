/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match, multi-match and update: allocation of jobs, and the block that reports it.
 */
#include <string.h>

#include "cmd/match/session_int.h"
#include "lib/graphio/jobspec_read.h"

static const struct {
    const char *word;
    enum sl_match_op op;
    bool keeps; /* and uses up an id */
} ops[] = {
    {"allocate", SL_MATCH_ALLOCATE, true},
    {"allocate_with_satisfiability", SL_MATCH_ALLOCATE_SATISFIABLE, true},
    {"allocate_orelse_reserve", SL_MATCH_ALLOCATE_OR_RESERVE, true},
    {"satisfiability", SL_MATCH_SATISFIABILITY, false},
    {"without_allocating", SL_MATCH_WITHOUT, false},
    {"without_allocating_future", SL_MATCH_WITHOUT_FUTURE, false},
};

bool match_op_parse(struct sl_text word, enum sl_match_op *ret, bool *ret_keeps) {
    for (size_t k = 0; k < SL_LEN(ops); k++) {
        if (!sl_text_is(word, ops[k].word))
            continue;
        *ret = ops[k].op;
        *ret_keeps = ops[k].keeps;
        return true;
    }
    return false;
}

/* What is printed of one match. */
struct outcome {
    bool matched, unsatisfiable, kept;
    bool unknown; /* the search gave up: neither is known */
    int64_t id, at;
    double seconds;
};

/* ---- printing ---- */

static void report_visits(const struct sl_session *s) {
    fprintf(s->o.out, "INFO: PREORDER VISIT COUNT=%" PRIu64 "\n", s->visits.entered);
    fprintf(s->o.out, "INFO: POSTORDER VISIT COUNT=%" PRIu64 "\n", s->visits.succeeded);
}

static void report_satisfiability(struct sl_session *s, const struct outcome *x) {
    sl_session_rule(s);
    fprintf(s->o.results, "INFO: %s request\n", x->unsatisfiable ? "Unsatisfiable" : "Satisfiable");
    sl_session_rule(s);
    if (!s->o.elapse)
        return;
    fprintf(s->o.out, "INFO: ELAPSE=%f\n", x->seconds);
    report_visits(s);
}

static void report_failure(struct sl_session *s, const struct outcome *x) {
    sl_session_rule(s);
    fputs("INFO: No matching resources found\n", s->o.results);
    if (x->unsatisfiable)
        fputs("INFO: Unsatisfiable request\n", s->o.results);
    fprintf(s->o.results, "INFO: JOBID=%" PRId64 "\n", x->id);
    if (s->o.elapse) {
        fprintf(s->o.results, "INFO: ELAPSE=%f\n", x->seconds);
        report_visits(s);
    }
    sl_session_rule(s);
}

static void report_match(struct sl_session *s, const struct outcome *x) {
    sl_session_rule(s);
    fprintf(s->o.results, "INFO: JOBID=%" PRId64 "\n", x->id);
    fprintf(s->o.results, "INFO: RESOURCES=%s\n",
            !x->kept     ? "MATCHED"
            : x->at == 0 ? "ALLOCATED"
                         : "RESERVED");
    if (x->at == 0)
        fputs("INFO: SCHEDULED AT=Now\n", s->o.results);
    else
        fprintf(s->o.results, "INFO: SCHEDULED AT=%" PRId64 "\n", x->at);
    if (s->o.elapse) {
        fprintf(s->o.out, "INFO: ELAPSE=%f\n", x->seconds);
        report_visits(s);
    }
    sl_session_rule(s);
}

/* The times of stat. */
static void note_time(struct sl_session *s, double seconds) {
    if (s->times.sum == 0 || seconds < s->times.least)
        s->times.least = seconds;
    if (seconds > s->times.most)
        s->times.most = seconds;
    s->times.sum += seconds;
}

/* ---- matching ---- */

/* Ids that an update has taken are passed over. */
static int64_t free_id(const struct sl_session *s) {
    struct sl_match_job_info info;
    int64_t id = s->next_id;
    while (sl_match_job(s->m, id, &info) && id < INT64_MAX)
        id++;
    return id;
}

/* What is wrong stands in the error; an id is only used up if nothing is. */
static bool run_search(struct sl_session *s, const struct match_spec *spec, enum sl_match_op op,
                       struct outcome *x, enum sl_match_verdict *ret) {
    struct sl_err err = {0};
    x->unknown = sl_match_run(s->m, spec->request, op, x->id, 0, ret, &s->grant, &err) < 0;
    if (x->unknown) {
        sl_session_error(s, "match_allocate: ERROR: %s", err.text);
        return false;
    }
    if (*ret == SL_BAD_TIME)
        sl_session_error(s, "match_allocate: ERROR: traverser: Invalid argument");
    return *ret != SL_BAD_TIME;
}

int match_write_grant(struct sl_session *s, const struct match_spec *spec, struct sl_err *err) {
    s->writer.queue = spec->queue;
    s->writer.labels = spec->labels;
    s->writer.n_labels = spec->n_labels;
    return sl_graphio_match_write(&s->writer, sl_match_graph(s->m), &s->grant, &s->text, err);
}

/* In rlite, nothing is an error. */
static bool write(struct sl_session *s, enum sl_match_verdict verdict,
                  const struct match_spec *spec) {
    struct sl_err err = {0};
    if (verdict != SL_MATCHED)
        sl_grant_done(&s->grant);
    int r = 0;
    if (verdict == SL_MATCHED || s->writer.format == SL_GRAPHIO_MATCH_RLITE)
        r = match_write_grant(s, spec, &err);
    if (r < 0)
        sl_session_error(s, "match_allocate: ERROR: match writer emit: Invalid argument");
    return r >= 0;
}

static bool match_jobspec(struct sl_session *s, size_t k, const char *file, const char *text,
                          size_t len, struct outcome *x) {
    enum sl_match_verdict verdict;
    struct sl_err err = {0};
    int64_t begun = s->o.ticks_ns();

    const struct match_spec *spec = NULL;
    if (match_specs_get(s, file, text, len, &spec, &err) < 0) {
        sl_session_error(s, "match_allocate: ERROR: Jobspec error for %" PRId64 ": %s", s->next_id,
                         err.text);
        return false;
    }
    if (s->o.elapse) { /* which is no part of the match */
        int64_t from = s->o.ticks_ns();
        sl_match_count_visits(s->m, spec->request, ops[k].op, 0, &s->visits);
        begun += s->o.ticks_ns() - from;
    }
    if (!run_search(s, spec, ops[k].op, x, &verdict))
        return false;
    if (!write(s, verdict, spec)) {
        bool holds = verdict == SL_MATCHED && ops[k].keeps;
        sl_assert(!holds || sl_match_cancel(s->m, x->id) >= 0);
        return false;
    }
    x->seconds = sl_session_seconds(s, begun);
    x->matched = verdict == SL_MATCHED;
    x->unsatisfiable = verdict == SL_NEVER;
    x->at = s->grant.at;
    if (ops[k].keeps)
        s->next_id = x->id + 1;
    return x->matched || verdict == SL_SATISFIABLE;
}

/* False: it failed, and what comes after it is not tried. */
static bool match_one(struct sl_session *s, size_t k, const char *file) {
    _cleanup_(sl_freep) char *text = NULL;
    size_t len;
    struct outcome x = {.id = free_id(s), .kept = ops[k].keeps};

    if (!sl_session_read_file(s, file, SL_GRAPHIO_JOBSPEC_MAX_BYTES, &text, &len))
        return true;
    bool good = match_jobspec(s, k, file, text, len, &x);
    sl_session_put_text(s);
    if (ops[k].op == SL_MATCH_SATISFIABILITY && x.unknown)
        return good;
    if (ops[k].op == SL_MATCH_SATISFIABILITY)
        report_satisfiability(s, &x);
    else if (!x.matched)
        report_failure(s, &x);
    else
        report_match(s, &x);
    if (x.matched && x.kept) {
        sl_session_keep_job(s, x.id, x.at, file, x.seconds);
        note_time(s, x.seconds);
    }
    return good;
}

static void match_all(struct sl_session *s, struct match_words w) {
    for (size_t k = 0; k < SL_LEN(ops); k++) {
        if (strcmp(ops[k].word, w.v[1]) != 0)
            continue;
        for (uint32_t i = 2; i < w.n && match_one(s, k, w.v[i]); i++)
            ;
        return;
    }
    sl_session_error(s, "ERROR: unknown subcmd %s", w.v[1]);
}

void match_command_match(struct sl_session *s, struct match_words w) {
    match_all(s, w);
}

void match_command_multi_match(struct sl_session *s, struct match_words w) {
    match_all(s, w);
}

/* ---- update ---- */

static int hold_resources(struct sl_session *s, const struct sl_graphio_text *t,
                          const struct outcome *x, int64_t duration, struct sl_err *err) {
    struct sl_graphio_holding h = {0};
    int r = sl_graphio_holding_read(sl_match_graph(s->m), t, &h, err);
    if (r >= 0)
        r = (x->at == 0 ? sl_match_update : sl_match_update_later)(s->m, x->id, h.picks.v,
                                                                   h.picks.n, x->at, duration, err);
    sl_graphio_holding_done(&h);
    if (r < 0)
        return r;
    r = sl_match_grant(s->m, x->id, &s->grant);
    sl_assert(r >= 0);
    s->writer.queue = NULL;
    s->writer.n_labels = 0;
    r = sl_graphio_match_write(&s->writer, sl_match_graph(s->m), &s->grant, &s->text, err);
    return r < 0 ? 0 : r; /* the job has it, even if this format cannot represent it */
}

void match_command_update(struct sl_session *s, struct match_words w) {
    _cleanup_(sl_freep) char *text = NULL;
    struct sl_graphio_text t = {.file = w.v[3]};
    struct outcome x = {.kept = true};
    struct sl_err err = {0};
    const struct match_job_row *j;

    if (strcmp(w.v[1], "allocate") != 0 && strcmp(w.v[1], "reserve") != 0) {
        sl_session_error(s, "ERROR: unknown subcmd %s", w.v[1]);
        return;
    }
    if (!sl_graphio_format_parse(w.v[2], &t.format) || t.format == SL_GRAPHIO_GRUG ||
        t.format == SL_GRAPHIO_HWLOC || t.format == SL_GRAPHIO_RV1EXEC_FORCE) {
        sl_session_error(s, "ERROR: unsupported reader %s", w.v[2]);
        return;
    }
    if (!sl_session_read_file(s, w.v[3], SL_GRAPHIO_MAX_BYTES, &text, &t.len))
        return;
    t.text = text;
    x.id = sl_session_number(w.v[4]);
    x.at = sl_session_number(w.v[5]);
    int64_t duration = sl_session_number(w.v[6]);
    j = sl_session_job(s, x.id);
    if (j && j->state != JOB_CANCELED) {
        sl_session_error(s, "ERROR: existing Jobid ");
        return;
    }
    if (x.at < 0 || duration == 0) {
        sl_session_error(s, "ERROR: invalid time (%" PRId64 ", %" PRIu64 ")", x.at,
                         (uint64_t)duration);
        return;
    }
    if (x.id < 0 || x.id == INT64_MAX) {
        sl_session_error(s, "ERROR: expected a job id from 0 to %" PRId64 ", got %s", INT64_MAX - 1,
                         w.v[4]);
        return;
    }
    int64_t begun = s->o.ticks_ns();
    x.matched = hold_resources(s, &t, &x, duration, &err) >= 0;
    x.seconds = sl_session_seconds(s, begun);
    if (!x.matched) {
        sl_session_error(s, "ERROR: traverser run () returned error ");
        sl_session_error(s, "ERROR: %s", err.text);
    }
    sl_session_put_text(s);
    s->next_id = x.id + 1;
    if (!x.matched) {
        report_failure(s, &x);
        return;
    }
    report_match(s, &x);
    sl_session_keep_job(s, x.id, x.at, w.v[3], x.seconds);
    note_time(s, x.seconds);
}
