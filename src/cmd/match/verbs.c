/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of routes; a verb reads its fields, checks, does, and writes one object.
 */
#include "cmd/match/verbs.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/match/session_int.h"
#include "lib/graphio/jobspec_read.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

enum http_status {
    HTTP_OK = 200,
    HTTP_BAD_REQUEST = 400,
    HTTP_NOT_FOUND = 404,
    HTTP_NOT_ALLOWED = 405,
    HTTP_CONFLICT = 409,
    HTTP_UNAVAILABLE = 503,
};

struct verbs_job {
    int64_t id, at, duration;
    uint64_t n_vertices;
    enum match_job_state state;
    double seconds; /* that it took to find */
};

struct sl_verbs {
    struct sl_verbs_options o;
    struct sl_session *s; /* NULL: no graph yet */
    char *policy;         /* of the last init; NULL: that of the options */
    int64_t now;
    int64_t next_id;               /* goes on with the next graph: no id ever means another job */
    SL_VEC(struct verbs_job) jobs; /* by id */
    uint32_t n_live, n_canceled;
    uint64_t n_vertices; /* that the live ones have */
    int64_t due;         /* the first time at which a reservation begins; INT64_MAX: none */
};

/* One request. */
struct call {
    struct sl_verbs *v;
    const struct sl_verbs_request *rq;
    const char *malformed; /* the status word of a request that cannot be read */
    struct sl_buf *out;
};

/* ---- answers ---- */

void sl_verbs_error(struct sl_buf *out, const char *text) {
    struct sl_jw w = SL_JW(out);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "error", text);
    sl_jw_end(&w);
}

static int answer_error(struct call *c, int http, const char *status, const char *text) {
    struct sl_jw w = SL_JW(c->out);

    sl_buf_truncate(c->out, 0);
    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", status);
    sl_jw_str(&w, "error", text);
    sl_jw_end(&w);
    return http;
}

static int answer_malformed(struct call *c, const struct sl_err *err) {
    return answer_error(c, HTTP_BAD_REQUEST, c->malformed, err->text);
}

static int answer_no_graph(struct call *c, const char *status) {
    return answer_error(c, HTTP_CONFLICT, status, "there is no graph yet: /v1/init brings one");
}

/* ---- bodies ---- */

enum kind { TEXT, BOOL, JOB_ID };

struct field {
    const char *name;
    enum kind kind;
    bool needed;
    void *ret; /* a struct sl_text (n SIZE_MAX: absent), bool or int64_t */
};

#define ABSENT ((struct sl_text){"", SIZE_MAX})

static bool is_absent(struct sl_text t) {
    return t.n == SIZE_MAX;
}

static int read_value(const struct field *f, yyjson_val *val, struct sl_err *err) {
    if (f->kind == TEXT && yyjson_is_str(val)) {
        *(struct sl_text *)f->ret = sl_json_view(val);
        return SL_OK;
    }
    if (f->kind == BOOL && yyjson_is_bool(val)) {
        *(bool *)f->ret = yyjson_get_bool(val);
        return SL_OK;
    }
    if (f->kind == JOB_ID && yyjson_is_int(val) && yyjson_get_uint(val) <= INT64_MAX) {
        *(int64_t *)f->ret = (int64_t)yyjson_get_uint(val);
        return SL_OK;
    }
    return sl_err_set(err, SL_EINVAL, "%s: expected %s", f->name,
                      f->kind == TEXT   ? "a string"
                      : f->kind == BOOL ? "true or false"
                                        : "a job id, a whole number from 0 on");
}

/* The fields of the body, each at most once and no others: a misspelled one shall not be missed. */
static int read_fields(yyjson_val *root, const struct field *fields, size_t n, struct sl_err *err) {
    uint64_t seen = 0;
    size_t i, max;
    yyjson_val *key, *val;

    sl_obj_foreach (root, i, max, key, val) {
        struct sl_text name = sl_json_view(key);
        size_t k = 0;
        while (k < n && !sl_text_is(name, fields[k].name))
            k++;
        if (k == n)
            return sl_err_set(err, SL_EINVAL, "unknown field '%.*s'",
                              name.n < 64 ? (int)strnlen(name.s, name.n) : 64, name.s);
        if (seen & (UINT64_C(1) << k))
            return sl_err_set(err, SL_EINVAL, "%s: given more than once", fields[k].name);
        if (yyjson_is_null(val))
            continue;
        seen |= UINT64_C(1) << k;
        int r = read_value(&fields[k], val, err);
        if (r < 0)
            return r;
    }
    for (size_t k = 0; k < n; k++)
        if (fields[k].needed && !(seen & (UINT64_C(1) << k)))
            return sl_err_set(err, SL_EINVAL, "%s: expected, and not given", fields[k].name);
    return SL_OK;
}

/* Texts are those of the document. */
static int read_body(const struct call *c, const struct field *fields, size_t n, yyjson_doc **ret,
                     struct sl_err *err) {
    int r = sl_json_read_within(c->rq->body, c->rq->len, SL_VERBS_BODY_VALUES, ret, err);
    if (r < 0)
        return sl_err_wrap(err, r, "body");
    if (!yyjson_is_obj(yyjson_doc_get_root(*ret)))
        return sl_err_set(err, SL_EINVAL, "body: expected a JSON object");
    return read_fields(yyjson_doc_get_root(*ret), fields, n, err);
}

/* ---- jobs ---- */

static struct verbs_job *find_job(struct sl_verbs *v, int64_t id) {
    uint32_t lo = 0, hi = v->jobs.n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (v->jobs.v[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < v->jobs.n && v->jobs.v[lo].id == id ? &v->jobs.v[lo] : NULL;
}

static struct verbs_job *find_live(struct sl_verbs *v, int64_t id) {
    struct verbs_job *j = find_job(v, id);
    return j && j->state != JOB_CANCELED ? j : NULL;
}

/* Now and then, all at once: a job costs as much as if each went alone. */
static void drop_canceled(struct sl_verbs *v) {
    uint32_t drop = v->n_canceled > SL_VERBS_CANCELED ? v->n_canceled - SL_VERBS_CANCELED : 0,
             n = 0;

    if (v->n_canceled < 2 * SL_VERBS_CANCELED)
        return;
    for (uint32_t i = 0; i < v->jobs.n; i++) {
        if (drop > 0 && v->jobs.v[i].state == JOB_CANCELED)
            drop--;
        else
            v->jobs.v[n++] = v->jobs.v[i];
    }
    v->jobs.n = n;
    v->n_canceled = SL_VERBS_CANCELED;
}

/* The matcher has cancelled it. */
static void note_canceled(struct sl_verbs *v, struct verbs_job *j) {
    j->state = JOB_CANCELED;
    v->n_vertices -= j->n_vertices;
    j->n_vertices = 0;
    v->n_live--;
    v->n_canceled++;
    drop_canceled(v);
}

static int by_time(const void *a, const void *b) {
    const struct verbs_job *x = *(struct verbs_job *const *)a, *y = *(struct verbs_job *const *)b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Reservations whose time has come, in its order. One that another job overruns into stays a
 * reservation, and is tried again. */
static void begin_due(struct sl_verbs *v) {
    SL_VEC(struct verbs_job *) due = {0};

    if (v->now < v->due)
        return;
    for (uint32_t i = 0; i < v->jobs.n; i++)
        if (v->jobs.v[i].state == JOB_RESERVED && v->jobs.v[i].at <= v->now)
            *sl_vec_push(&due) = &v->jobs.v[i];
    if (due.n > 0)
        qsort(due.v, due.n, sizeof(*due.v), by_time);
    for (uint32_t i = 0; i < due.n; i++) {
        int r = sl_match_begin(v->s->m, due.v[i]->id);
        sl_assert(r >= 0 || r == SL_ESTALE);
        if (r >= 0)
            due.v[i]->state = JOB_ALLOCATED;
    }
    sl_vec_free(&due);
    v->due = INT64_MAX;
    for (uint32_t i = 0; i < v->jobs.n; i++)
        if (v->jobs.v[i].state == JOB_RESERVED && v->jobs.v[i].at < v->due)
            v->due = v->jobs.v[i].at;
}

static void keep_job(struct sl_verbs *v, int64_t id, double seconds) {
    const struct sl_grant *g = &v->s->grant;
    bool reserved = g->state == SL_JOB_RESERVED;

    *sl_vec_push(&v->jobs) = (struct verbs_job){
        .id = id,
        .at = g->at,
        .duration = g->duration,
        .n_vertices = g->picks.n,
        .state = reserved ? JOB_RESERVED : JOB_ALLOCATED,
        .seconds = seconds,
    };
    v->n_live++;
    v->n_vertices += g->picks.n;
    v->next_id = id + 1;
    if (reserved && g->at < v->due)
        v->due = g->at;
}

/* ---- init ---- */

static int open_graph(struct sl_verbs *v, const struct sl_session_options *o,
                      const struct sl_graphio_text *text, struct match_open_error *e) {
    struct match_clock clock = {.now = v->now};
    struct sl_session *s = NULL;
    int r = match_open(o, text, &clock, &s, e);

    if (r < 0)
        return r;
    sl_session_free(v->s);
    v->s = s;
    sl_buf_done(&s->text);
    sl_buf_init(&s->text, SL_VERBS_ALLOCATION_BYTES);
    sl_vec_clear(&v->jobs);
    v->n_canceled = 0;
    v->due = INT64_MAX;
    return SL_OK;
}

static int check_policy(struct sl_text policy, struct sl_err *err) {
    if (is_absent(policy))
        return SL_OK;
    if (policy.n > SL_VERBS_POLICY_BYTES || sl_text_has_nul(policy))
        return sl_err_set(err, SL_EINVAL, "policy: expected a name of at most %zu bytes",
                          SL_VERBS_POLICY_BYTES);
    return SL_OK;
}

static int verb_init(struct call *c) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    struct sl_verbs *v = c->v;
    struct sl_text policy = ABSENT, jgf = ABSENT;
    const struct field fields[] = {{"policy", TEXT, false, &policy}, {"jgf", TEXT, true, &jgf}};
    struct match_open_error e = {0};
    struct sl_jw w = SL_JW(c->out);

    if (read_body(c, fields, SL_LEN(fields), &doc, &e.why) < 0 || check_policy(policy, &e.why) < 0)
        return answer_malformed(c, &e.why);
    if (v->n_live > 0)
        return answer_error(c, HTTP_CONFLICT, "INIT_DENIED",
                            "jobs have resources of the graph: cancel them first");
    struct sl_session_options o = v->o.session;
    _cleanup_(sl_freep) char *given =
        is_absent(policy) || policy.n == 0 ? NULL : sl_strdup(policy.s);
    if (given)
        o.words[SL_SESSION_POLICY] = given;
    if (open_graph(v, &o,
                   &(struct sl_graphio_text){.format = SL_GRAPHIO_JGF,
                                             .file = "jgf",
                                             .text = jgf.s,
                                             .len = jgf.n,
                                             .allow = o.allow,
                                             .max_vertices = SL_VERBS_VERTICES},
                   &e) < 0) {
        if (e.what)
            (void)sl_err_wrap(&e.why, SL_EINVAL, "%s", e.what);
        return answer_malformed(c, &e.why);
    }
    sl_freep(&v->policy);
    v->policy = TAKE_PTR(given); /* the session's options point to it */
    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", "INIT_SUCCESS");
    sl_jw_str(&w, "error", "");
    sl_jw_end(&w);
    return HTTP_OK;
}

/* ---- match, satisfy ---- */

/* Busy and never can be told apart by 'reason'. */
static int answer_denied(struct call *c, bool never) {
    struct sl_jw w = SL_JW(c->out);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", "MATCH_DENIED");
    sl_jw_str(&w, "reason", never ? "never" : "busy");
    sl_jw_str(&w, "error",
              never ? "the graph could not satisfy this jobspec even if everything were up and free"
                    : "not enough resources are up and free at present");
    sl_jw_str(&w, "allocation", "");
    sl_jw_int(&w, "jobid", 0);
    sl_jw_end(&w);
    return HTTP_OK;
}

static struct sl_text allocation_of(const struct sl_session *s) {
    struct sl_text t = {sl_buf_str(&s->text), s->text.len};

    if (t.n > 0 && t.s[t.n - 1] == '\n')
        t.n--;
    return t;
}

static void write_matched(struct call *c, int64_t id, double seconds) {
    const struct sl_session *s = c->v->s;
    struct sl_jw w = SL_JW(c->out);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", "MATCH_SUCCESS");
    sl_jw_str(&w, "error", "");
    sl_jw_int(&w, "jobid", id);
    sl_jw_bool(&w, "reserved", s->grant.at > c->v->now);
    sl_jw_int(&w, "at", s->grant.at);
    sl_jw_number(&w, "overhead", seconds, 6);
    sl_jw_text(&w, "allocation", allocation_of(s));
    sl_jw_end(&w);
}

/* What it found is the matcher's already; if the client cannot have it, the job has not either. */
static int answer_matched(struct call *c, const struct match_spec *spec, int64_t id, bool keeps,
                          int64_t begun) {
    struct sl_verbs *v = c->v;
    struct sl_session *s = v->s;
    struct sl_err err = {0};
    uint64_t most = v->o.max_vertices, more = keeps ? s->grant.picks.n : 0;
    int r = match_write_grant(s, spec, &err);

    if (sl_buf_full(&s->text))
        r = sl_err_set(&err, SL_ELIMIT, "the allocation is longer than %zu bytes",
                       SL_VERBS_ALLOCATION_BYTES);
    else if (r < 0)
        (void)sl_err_wrap(&err, r, "the allocation in this format");
    else if (more > 0 && v->n_vertices + more > most)
        r = sl_err_set(&err, SL_ELIMIT, "jobs have more than %" PRIu64 " vertices in all", most);
    double seconds = sl_session_seconds(s, begun);
    if (r >= 0) {
        write_matched(c, keeps ? id : 0, seconds);
        if (sl_buf_full(c->out))
            r = sl_err_set(&err, SL_ELIMIT, "too many responses are unread, retry later");
    }
    sl_buf_clear(&s->text);
    if (r >= 0 && keeps)
        keep_job(v, id, seconds);
    else if (keeps)
        sl_assert(sl_match_cancel(s->m, id) >= 0);
    if (r < 0)
        return answer_error(c, r == SL_ELIMIT ? HTTP_UNAVAILABLE : HTTP_BAD_REQUEST, "MATCH_ERROR",
                            err.text);
    return HTTP_OK;
}

static int answer_satisfiable(struct call *c) {
    struct sl_jw w = SL_JW(c->out);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", "MATCH_SUCCESS");
    sl_jw_str(&w, "error", "");
    sl_jw_end(&w);
    return HTTP_OK;
}

static int run_search(struct sl_verbs *v, const struct match_spec *spec, enum sl_match_op op,
                      int64_t id, enum sl_match_verdict *ret, struct sl_err *err) {
    int r = sl_match_run(v->s->m, spec->request, op, id, v->now, ret, &v->s->grant, err);

    /* Verbs that give busy alone: a client that waits for ever must know. */
    if (r >= 0 && *ret == SL_BUSY) {
        enum sl_match_verdict could;
        r = sl_match_run(v->s->m, spec->request, SL_MATCH_SATISFIABILITY, id, v->now, &could, NULL,
                         err);
        if (r >= 0 && could == SL_NEVER)
            *ret = SL_NEVER;
    }
    if (r >= 0 && *ret == SL_BAD_TIME)
        return sl_err_set(err, SL_EINVAL,
                          "jobspec: the duration is negative, or longer than the graph's time");
    return r;
}

static int match_jobspec(struct call *c, struct sl_text jobspec, enum sl_match_op op, bool keeps) {
    struct sl_verbs *v = c->v;
    const struct match_spec *spec = NULL;
    enum sl_match_verdict verdict;
    struct sl_err err = {0};

    if (!v->s)
        return answer_no_graph(c, "MATCH_ERROR");
    if (jobspec.n > SL_GRAPHIO_JOBSPEC_MAX_BYTES) {
        (void)sl_err_set(&err, SL_ELIMIT, "jobspec: expected at most %zu bytes",
                         SL_GRAPHIO_JOBSPEC_MAX_BYTES);
        return answer_malformed(c, &err);
    }
    if (keeps && (v->n_live >= v->o.max_jobs || v->next_id == INT64_MAX)) {
        (void)sl_err_set(&err, SL_ELIMIT, "there are %u jobs: cancel some first", v->n_live);
        return answer_error(c, HTTP_UNAVAILABLE, "MATCH_ERROR", err.text);
    }
    int64_t id = v->next_id, begun = v->o.session.ticks_ns();
    if (match_specs_get(v->s, "jobspec", jobspec.s, jobspec.n, &spec, &err) < 0 ||
        run_search(v, spec, op, id, &verdict, &err) < 0)
        return answer_malformed(c, &err);
    if (verdict == SL_SATISFIABLE)
        return answer_satisfiable(c);
    if (verdict != SL_MATCHED)
        return answer_denied(c, verdict == SL_NEVER);
    return answer_matched(c, spec, id, keeps, begun);
}

static int verb_match(struct call *c) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    struct sl_text jobspec = ABSENT, request = SL_TEXT("allocate");
    bool reservation = false, keeps = true;
    const struct field fields[] = {{"jobspec", TEXT, true, &jobspec},
                                   {"request", TEXT, false, &request},
                                   {"reservation", BOOL, false, &reservation}};
    enum sl_match_op op = SL_MATCH_ALLOCATE;
    struct sl_err err = {0};

    if (read_body(c, fields, SL_LEN(fields), &doc, &err) < 0)
        return answer_malformed(c, &err);
    if (request.n > 0 && !match_op_parse(request, &op, &keeps)) {
        (void)sl_err_set(&err, SL_EINVAL,
                         "request: expected allocate, allocate_with_satisfiability, "
                         "allocate_orelse_reserve, satisfiability, without_allocating or "
                         "without_allocating_future");
        return answer_malformed(c, &err);
    }
    if (reservation && op != SL_MATCH_ALLOCATE && op != SL_MATCH_ALLOCATE_OR_RESERVE) {
        (void)sl_err_set(&err, SL_EINVAL, "reservation: expected only with the request allocate");
        return answer_malformed(c, &err);
    }
    return match_jobspec(c, jobspec, reservation ? SL_MATCH_ALLOCATE_OR_RESERVE : op, keeps);
}

static int verb_satisfy(struct call *c) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    struct sl_text jobspec = ABSENT;
    const struct field fields[] = {{"jobspec", TEXT, true, &jobspec}};
    struct sl_err err = {0};

    if (read_body(c, fields, SL_LEN(fields), &doc, &err) < 0)
        return answer_malformed(c, &err);
    return match_jobspec(c, jobspec, SL_MATCH_SATISFIABILITY, false);
}

/* ---- cancel, partial cancel ---- */

static int answer_cancel(struct call *c, int http, int64_t id, const char *status,
                         const char *error) {
    struct sl_jw w = SL_JW(c->out);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", status);
    sl_jw_str(&w, "error", error);
    sl_jw_int(&w, "jobID", id);
    sl_jw_end(&w);
    return http;
}

static int answer_no_job(struct call *c, int64_t id, const char *status) {
    struct sl_err err = {0};

    (void)sl_err_set(&err, SL_ENOENT, "there is no job %" PRId64, id);
    return answer_cancel(c, HTTP_NOT_FOUND, id, status, err.text);
}

/* As Fluxion's service has it, a job that is gone is no error, so that a cancel can be repeated. */
static int verb_cancel(struct call *c) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    bool noent_ok = true;
    int64_t id = -1;
    const struct field fields[] = {{"jobID", JOB_ID, true, &id},
                                   {"noent_ok", BOOL, false, &noent_ok}};
    struct sl_err err = {0};

    if (read_body(c, fields, SL_LEN(fields), &doc, &err) < 0)
        return answer_malformed(c, &err);
    struct verbs_job *j = find_live(c->v, id);
    if (!j && !noent_ok)
        return answer_no_job(c, id, "CANCEL_ERROR");
    if (j) {
        sl_assert(sl_match_cancel(c->v->s->m, id) >= 0);
        note_canceled(c->v, j);
    }
    return answer_cancel(c, HTTP_OK, id, "CANCEL_SUCCESS", "");
}

static int answer_partial(struct call *c, const struct verbs_job *j) {
    struct sl_jw w = SL_JW(c->out);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", "CANCEL_SUCCESS");
    sl_jw_str(&w, "error", "");
    sl_jw_int(&w, "jobID", j->id);
    sl_jw_bool(&w, "full", j->state == JOB_CANCELED);
    sl_jw_end(&w);
    return HTTP_OK;
}

static int release_part(struct call *c, struct verbs_job *j, const struct sl_graphio_text *t) {
    struct sl_verbs *v = c->v;
    struct sl_err err = {0};
    struct match_released released;

    if (match_release(v->s, j->id, t, &released, &err) < 0)
        return released.legible ? answer_cancel(c, HTTP_CONFLICT, j->id, "CANCEL_DENIED", err.text)
                                : answer_malformed(c, &err);
    struct verbs_job now = *j;
    if (released.all) {
        now.state = JOB_CANCELED;
        note_canceled(v, j); /* which may drop others, and move it */
        return answer_partial(c, &now);
    }
    sl_assert(sl_match_grant(v->s->m, j->id, &v->s->grant) >= 0);
    v->n_vertices -= j->n_vertices - v->s->grant.picks.n;
    j->n_vertices = v->s->grant.picks.n;
    return answer_partial(c, &now);
}

static int verb_partial_cancel(struct call *c) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    struct sl_text allocation = ABSENT, format = SL_TEXT("jgf");
    int64_t id = -1;
    const struct field fields[] = {{"jobID", JOB_ID, true, &id},
                                   {"allocation", TEXT, true, &allocation},
                                   {"format", TEXT, false, &format}};
    struct sl_graphio_text t = {.format = SL_GRAPHIO_JGF, .file = "allocation"};
    struct sl_err err = {0};

    if (read_body(c, fields, SL_LEN(fields), &doc, &err) < 0)
        return answer_malformed(c, &err);
    if (sl_text_is(format, "rv1exec")) {
        t.format = SL_GRAPHIO_RV1EXEC;
    } else if (!sl_text_is(format, "jgf")) {
        (void)sl_err_set(&err, SL_EINVAL, "format: expected jgf or rv1exec");
        return answer_malformed(c, &err);
    }
    t.text = allocation.s;
    t.len = allocation.n;
    struct verbs_job *j = find_live(c->v, id);
    if (!j)
        return answer_no_job(c, id, "CANCEL_ERROR");
    if (j->state == JOB_RESERVED)
        return answer_cancel(c, HTTP_CONFLICT, id, "CANCEL_DENIED",
                             "it is a reservation, of which no part can be cancelled");
    return release_part(c, j, &t);
}

/* ---- info ---- */

static void write_job(struct sl_jw *w, const struct verbs_job *j) {
    sl_jw_int(w, "jobid", j->id);
    sl_jw_str(w, "state", match_job_words[j->state]);
    sl_jw_bool(w, "reserved", j->state == JOB_RESERVED);
    sl_jw_int(w, "at", j->at);
    sl_jw_int(w, "duration", j->duration);
    sl_jw_number(w, "overhead", j->seconds, 6);
}

static int info_all(struct call *c) {
    const struct sl_verbs *v = c->v;
    const struct sl_graph *g = v->s ? sl_match_graph(v->s->m) : NULL;
    struct sl_jw w = SL_JW(c->out);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", "INFO_SUCCESS");
    sl_jw_str(&w, "error", "");
    sl_jw_int(&w, "now", v->now);
    sl_jw_uint(&w, "vertices", g ? sl_graph_live(g) : 0);
    sl_jw_uint(&w, "edges", g ? sl_graph_n_edges(g) : 0);
    sl_jw_array(&w, "jobs");
    for (uint32_t i = 0; i < v->jobs.n; i++) {
        sl_jw_object(&w, NULL);
        write_job(&w, &v->jobs.v[i]);
        sl_jw_end(&w);
    }
    sl_jw_end(&w);
    sl_jw_end(&w);
    return HTTP_OK;
}

/* With what the job has, for a client that lost the answer of its match. */
static int info_job(struct call *c, int64_t id) {
    struct sl_verbs *v = c->v;
    const struct verbs_job *j = find_job(v, id);
    struct sl_jw w = SL_JW(c->out);
    struct sl_err err = {0};

    if (!j)
        return answer_no_job(c, id, "INFO_ERROR");
    struct sl_session *s = v->s;
    if (j->state != JOB_CANCELED) {
        sl_assert(sl_match_grant(s->m, id, &s->grant) >= 0);
        /* Labels and the queue were those of the jobspec, which is gone. */
        if (match_write_grant(s, &(struct match_spec){0}, &err) < 0 || sl_buf_full(&s->text))
            sl_buf_clear(&s->text);
    }
    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", "INFO_SUCCESS");
    sl_jw_str(&w, "error", "");
    write_job(&w, j);
    sl_jw_text(&w, "allocation", allocation_of(s));
    sl_jw_end(&w);
    sl_buf_clear(&s->text);
    return HTTP_OK;
}

static int verb_info(struct call *c) {
    _cleanup_(sl_json_docp) yyjson_doc *doc = NULL;
    int64_t id = -1;
    const struct field fields[] = {{"jobID", JOB_ID, false, &id}};
    struct sl_err err = {0};

    if (strcmp(c->rq->method, "POST") == 0) {
        if (read_body(c, fields, SL_LEN(fields), &doc, &err) < 0)
            return answer_malformed(c, &err);
    } else if (c->rq->job) {
        size_t n = strspn(c->rq->job, "0123456789");
        if (n == 0 || n > 18 || c->rq->job[n] != '\0') {
            (void)sl_err_set(&err, SL_EINVAL, "jobID: expected a job id of at most 18 digits");
            return answer_malformed(c, &err);
        }
        id = strtoll(c->rq->job, NULL, 10);
    }
    return id < 0 ? info_all(c) : info_job(c, id);
}

static int verb_health(struct call *c) {
    struct sl_jw w = SL_JW(c->out);

    sl_jw_object(&w, NULL);
    sl_jw_str(&w, "status", "ok");
    sl_jw_bool(&w, "initialized", c->v->s != NULL);
    sl_jw_end(&w);
    return HTTP_OK;
}

/* ---- routes ---- */

static const struct route {
    const char *path;
    int (*run)(struct call *c);
    const char *malformed;
    const char *allow;
} routes[] = {
    {"/v1/init", verb_init, "INIT_ERROR", "POST"},
    {"/v1/match", verb_match, "MATCH_ERROR", "POST"},
    {"/v1/satisfy", verb_satisfy, "MATCH_ERROR", "POST"},
    {"/v1/cancel", verb_cancel, "CANCEL_REQUEST_ERROR", "POST"},
    {"/v1/partial-cancel", verb_partial_cancel, "CANCEL_REQUEST_ERROR", "POST"},
    {"/v1/info", verb_info, "INFO_ERROR", "GET, HEAD, POST"},
    {"/healthz", verb_health, "", "GET, HEAD"},
};

/* The method is one of a list. */
static bool is_allowed(const char *method, const char *allow) {
    size_t len = strlen(method);

    for (const char *p = allow; *p; p += strspn(p, ", ")) {
        size_t n = strcspn(p, ",");
        if (n == len && memcmp(p, method, n) == 0)
            return true;
        p += n;
    }
    return false;
}

int sl_verbs_answer(struct sl_verbs *v, const struct sl_verbs_request *rq, struct sl_buf *out,
                    const char **ret_allow) {
    struct call c = {.v = v, .rq = rq, .out = out};
    int64_t now = v->o.now();

    *ret_allow = NULL;
    for (size_t i = 0; i < SL_LEN(routes); i++) {
        if (strcmp(rq->path, routes[i].path) != 0)
            continue;
        c.malformed = routes[i].malformed;
        if (!is_allowed(rq->method, routes[i].allow)) {
            *ret_allow = routes[i].allow;
            sl_verbs_error(out, "this path has other methods: see the header Allow");
            return HTTP_NOT_ALLOWED;
        }
        v->now = now > v->now ? now : v->now;
        begin_due(v);
        return routes[i].run(&c);
    }
    sl_verbs_error(out, "no such path: expected /v1/init, /v1/match, /v1/satisfy, /v1/cancel, "
                        "/v1/partial-cancel, /v1/info or /healthz");
    return HTTP_NOT_FOUND;
}

/* ---- the service ---- */

int sl_verbs_new(const struct sl_verbs_options *o, struct sl_verbs **ret) {
    _cleanup_(sl_verbs_freep) struct sl_verbs *v = sl_alloc0(1, sizeof(*v));
    struct match_open_error e = {0};

    v->o = *o;
    v->o.max_jobs = o->max_jobs ? o->max_jobs : SL_VERBS_JOBS;
    v->o.max_vertices = o->max_vertices ? o->max_vertices : SL_VERBS_JOBS_VERTICES;
    v->next_id = 1;
    v->now = o->now();
    v->due = INT64_MAX;
    if (o->session.load_file && open_graph(v, &o->session, NULL, &e) < 0) {
        match_open_report(&e, o->session.err);
        return SL_EINVAL;
    }
    *ret = TAKE_PTR(v);
    return SL_OK;
}

void sl_verbs_free(struct sl_verbs *v) {
    if (!v)
        return;
    sl_session_free(v->s);
    sl_freep(&v->policy);
    sl_vec_free(&v->jobs);
    free(v);
}

void sl_verbs_freep(struct sl_verbs **v) {
    sl_verbs_free(*v);
    *v = NULL;
}
