/* SPDX-License-Identifier: Apache-2.0 */
/* Either matcher behind one call. */
#include "side.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

void side_init(struct side *s, bool fast, const struct sl_graph *g,
               const struct sl_match_options *o, const struct sl_match_policy *also) {
    struct sl_err err;
    *s = (struct side){0};
    if (!fast)
        s->slow = naive_new(g, o);
    else if (sl_match_new(sl_graph_clone(g), o, &s->fast, &err) < 0)
        cannot_read("a matcher", err.text);
    if (also && s->slow)
        naive_also(s->slow, also);
    else if (also && sl_match_add_policy(s->fast, also, &s->also, &err) < 0)
        cannot_read("another policy", err.text);
}

void side_done(struct side *s) {
    naive_free(s->slow);
    sl_match_free(s->fast);
    *s = (struct side){0};
}

const struct sl_graph *side_graph(const struct side *s) {
    return s->slow ? naive_graph(s->slow) : sl_match_graph(s->fast);
}

/* ---- doing ---- */

static int run_fast(struct side *s, const struct act *a, struct answer *ret) {
    struct sl_match *m = s->fast;
    _cleanup_(sl_match_request_freep) struct sl_match_request *own = NULL;
    const struct sl_match_request *r = a->compiled;
    struct sl_err err;
    int code = 0;
    if (!r) {
        code = sl_match_request_new(sl_match_graph(m), a->spec, &own, &err);
        r = own;
    }
    if (code < 0 || a->kind == ACT_CHECK)
        return code;
    if (a->kind == ACT_GROW_JOB)
        return sl_match_grow_job(m, a->job, r, a->now, &ret->verdict, &ret->grant, &err);
    return sl_match_run_by(m, a->by ? s->also : 0, r, a->op, a->job, a->now, &ret->verdict,
                           &ret->grant, &err);
}

static int run_slow(struct naive *n, const struct act *a, struct answer *ret) {
    int code = a->compiled ? 0 : naive_check(n, a->spec);
    if (code < 0 || a->kind == ACT_CHECK)
        return code;
    if (a->kind == ACT_GROW_JOB)
        return naive_grow_job(n, a->job, a->spec, a->now, &ret->verdict, &ret->grant);
    naive_use(n, a->by);
    code = naive_run(n, a->spec, a->op, a->job, a->now, &ret->verdict, &ret->grant);
    naive_use(n, 0);
    return code;
}

static int do_run(struct side *s, const struct act *a, struct answer *ret) {
    int r = s->slow ? run_slow(s->slow, a, ret) : run_fast(s, a, ret);
    ret->has_verdict = r >= 0 && a->kind != ACT_CHECK;
    ret->has_grant = ret->has_verdict && ret->verdict == SL_MATCHED;
    return r;
}

static int do_cancel(struct side *s, const struct act *a, struct answer *ret) {
    (void)ret;
    return s->slow ? naive_cancel(s->slow, a->job) : sl_match_cancel(s->fast, a->job);
}

static sl_vtx *vertices_of(const struct act *a) {
    sl_vtx *v = sl_alloc((a->picks.n + 1) * sizeof(*v));
    for (uint32_t i = 0; i < a->picks.n; i++)
        v[i] = a->picks.v[i].v;
    return v;
}

static int do_part(struct side *s, const struct act *a, struct answer *ret) {
    sl_vtx *v = vertices_of(a);
    struct sl_err err;
    int r = s->slow ? naive_cancel_part(s->slow, a->job, v, a->picks.n, &ret->all)
                    : sl_match_cancel_part(s->fast, a->job, v, a->picks.n, &ret->all, &err);
    free(v);
    return r;
}

static int do_shrink(struct side *s, const struct act *a, struct answer *ret) {
    sl_vtx *v = vertices_of(a);
    struct sl_err err;
    int r = s->slow ? naive_shrink(s->slow, v, a->picks.n)
                    : sl_match_shrink(s->fast, v, a->picks.n, &err);
    (void)ret;
    free(v);
    return r;
}

static int do_update(struct side *s, const struct act *a, struct answer *ret) {
    bool later = a->kind == ACT_UPDATE_LATER;
    struct sl_err err;
    (void)ret;
    if (s->slow)
        return naive_update(s->slow, a->job, later ? SL_JOB_RESERVED : SL_JOB_ALLOCATED, a->picks.v,
                            a->picks.n, a->at, a->duration);
    return (later ? sl_match_update_later : sl_match_update)(s->fast, a->job, a->picks.v,
                                                             a->picks.n, a->at, a->duration, &err);
}

static int do_begin(struct side *s, const struct act *a, struct answer *ret) {
    (void)ret;
    return s->slow ? naive_begin(s->slow, a->job) : sl_match_begin(s->fast, a->job);
}

static bool is_earlier_or_other(const struct sl_grant *a, const struct sl_grant *b) {
    bool same = a->at == b->at && a->picks.n == b->picks.n;
    for (uint32_t i = 0; i < a->picks.n && same; i++)
        same = a->picks.v[i].v == b->picks.v[i].v && a->picks.v[i].needs == b->picks.v[i].needs;
    return a->at <= b->at && !same;
}

/* The rule: it is cancelled and matched; if that is later or the same, nothing has happened. */
static int again_slow(struct side *s, const struct act *a) {
    struct sl_match_job_info job;
    struct sl_grant had = {0}, got = {0};
    enum sl_match_verdict verdict;
    if (!naive_job(s->slow, a->job, &job))
        return SL_ENOENT;
    if (job.state != SL_JOB_RESERVED)
        return SL_EINVAL;
    struct naive *before = naive_clone(s->slow);
    bool moved = naive_grant(s->slow, a->job, &had) == 0 && naive_cancel(s->slow, a->job) == 0;
    naive_use(s->slow, a->by);
    moved = moved &&
            naive_run(s->slow, a->spec, SL_MATCH_ALLOCATE_OR_RESERVE, a->job, a->now, &verdict,
                      &got) == 0 &&
            verdict == SL_MATCHED && is_earlier_or_other(&got, &had);
    naive_use(s->slow, 0);
    naive_free(moved ? before : s->slow);
    s->slow = moved ? s->slow : before;
    sl_grant_done(&had);
    sl_grant_done(&got);
    return 0;
}

static int again_fast(struct side *s, const struct act *a) {
    _cleanup_(sl_match_request_freep) struct sl_match_request *own = NULL;
    struct sl_err err;
    bool moved;
    int r = a->compiled ? 0 : sl_match_request_new(sl_match_graph(s->fast), a->spec, &own, &err);
    if (r < 0)
        return r;
    return sl_match_again(s->fast, a->by ? s->also : 0, a->compiled ? a->compiled : own, a->job,
                          a->now, &moved);
}

static int do_again(struct side *s, const struct act *a, struct answer *ret) {
    int r = s->slow && !a->compiled ? naive_check(s->slow, a->spec) : 0;
    if (r >= 0)
        r = s->slow ? again_slow(s, a) : again_fast(s, a);
    if (r < 0)
        return r;
    ret->has_grant = true;
    return s->slow ? naive_grant(s->slow, a->job, &ret->grant)
                   : sl_match_grant(s->fast, a->job, &ret->grant);
}

static int do_status(struct side *s, const struct act *a, struct answer *ret) {
    (void)ret;
    if (s->slow)
        naive_set_down(s->slow, a->v, a->kind == ACT_DOWN);
    else
        sl_match_set_down(s->fast, a->v, a->kind == ACT_DOWN);
    return 0;
}

static int do_resize(struct side *s, const struct act *a, struct answer *ret) {
    struct sl_err err;
    (void)ret;
    return s->slow ? naive_resize(s->slow, a->v, a->at)
                   : sl_match_resize(s->fast, a->v, a->at, &err);
}

static int do_prop(struct side *s, const struct act *a, struct answer *ret) {
    struct sl_err err;
    (void)ret;
    if (s->slow)
        return naive_set_prop(s->slow, a->v, a->key, a->value);
    return sl_match_set_prop(s->fast, a->v, a->key, a->value, &err);
}

static int do_noprop(struct side *s, const struct act *a, struct answer *ret) {
    ret->all =
        s->slow ? naive_del_prop(s->slow, a->v, a->key) : sl_match_del_prop(s->fast, a->v, a->key);
    return 0;
}

static int do_add(struct side *s, const struct act *a, struct answer *ret) {
    struct sl_err err;
    (void)ret;
    if (s->slow) {
        draft_pour(a->draft, a->first, naive_grow(s->slow));
        return naive_regraph(s->slow);
    }
    struct sl_graph *before = sl_graph_clone(sl_match_graph(s->fast));
    draft_pour(a->draft, a->first, sl_match_grow(s->fast));
    return sl_match_regraph(s->fast, before, &err);
}

static int do_clone(struct side *s, const struct act *a, struct answer *ret) {
    struct side copy = {.fast = s->fast ? sl_match_clone(s->fast) : NULL,
                        .slow = s->slow ? naive_clone(s->slow) : NULL,
                        .also = s->also};
    (void)a;
    (void)ret;
    side_done(s);
    *s = copy;
    return 0;
}

static int do_job(struct side *s, const struct act *a, struct answer *ret) {
    ret->has_grant = true;
    return s->slow ? naive_grant(s->slow, a->job, &ret->grant)
                   : sl_match_grant(s->fast, a->job, &ret->grant);
}

static int do_jobs(struct side *s, const struct act *a, struct answer *ret) {
    (void)a;
    ret->n = s->slow ? naive_n_jobs(s->slow) : sl_match_n_jobs(s->fast);
    return 0;
}

static int do_sums(struct side *s, const struct act *a, struct answer *ret) {
    ret->n = s->slow ? naive_sums(s->slow, a->v, a->at, a->job, ret->sums, MAX_SUMS)
                     : sl_match_sums(s->fast, a->v, a->at, a->job, ret->sums, MAX_SUMS);
    return 0;
}

static int (*const doers[])(struct side *s, const struct act *a, struct answer *ret) = {
    [ACT_RUN] = do_run,       [ACT_CHECK] = do_run,     [ACT_CANCEL] = do_cancel,
    [ACT_PART] = do_part,     [ACT_UPDATE] = do_update, [ACT_UPDATE_LATER] = do_update,
    [ACT_GROW_JOB] = do_run,  [ACT_BEGIN] = do_begin,   [ACT_DOWN] = do_status,
    [ACT_UP] = do_status,     [ACT_RESIZE] = do_resize, [ACT_PROP] = do_prop,
    [ACT_NOPROP] = do_noprop, [ACT_SHRINK] = do_shrink, [ACT_ADD] = do_add,
    [ACT_CLONE] = do_clone,   [ACT_JOB] = do_job,       [ACT_JOBS] = do_jobs,
    [ACT_SUMS] = do_sums,     [ACT_AGAIN] = do_again,
};

void side_do(struct side *s, const struct act *a, struct answer *ret) {
    struct sl_grant grant = ret->grant;
    *ret = (struct answer){.grant = grant};
    ret->r = doers[a->kind](s, a, ret);
}

void answer_done(struct answer *a) {
    sl_grant_done(&a->grant);
}

/* ---- comparing ---- */

static bool grants_agree(const struct sl_grant *a, const struct sl_grant *b) {
    if (a->state != b->state || a->at != b->at || a->duration != b->duration ||
        a->n_slots != b->n_slots || a->picks.n != b->picks.n)
        return false;
    for (uint32_t i = 0; i < a->picks.n; i++) {
        const struct sl_pick *x = &a->picks.v[i], *y = &b->picks.v[i];
        if (x->v != y->v || x->needs != y->needs || x->exclusive != y->exclusive)
            return false;
    }
    if (a->ways.n != b->ways.n)
        return false;
    for (uint32_t i = 0; i < a->ways.n; i++)
        if (a->ways.v[i].v != b->ways.v[i].v || a->ways.v[i].parent != b->ways.v[i].parent)
            return false;
    return true;
}

/* The naive one has no symbols of types that only filters name. */
static const char *type_text(const struct side *s, sl_sym type) {
    return type == SL_MAP_NONE ? "?" : sl_sym_str(sl_graph_syms(side_graph(s)), type);
}

static bool sums_agree(const struct side *s, const struct answer *a, const struct side *t,
                       const struct answer *b) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n && i < MAX_SUMS; i++) {
        const struct sl_match_filter_sum *x = &a->sums[i], *y = &b->sums[i];
        if (x->used != y->used || x->total != y->total)
            return false;
        if (x->type && strcmp(type_text(s, x->type), type_text(t, y->type)) != 0 && x->total > 0)
            return false;
    }
    return true;
}

bool answers_agree(const struct side *s, const struct answer *a, const struct side *t,
                   const struct answer *b) {
    /* of two things that are wrong with an update either may be named */
    bool update =
        (a->r == SL_EINVAL || a->r == SL_EEXIST) && (b->r == SL_EINVAL || b->r == SL_EEXIST);
    if (a->r < 0 || b->r < 0)
        return a->r == b->r || update;
    if (a->has_verdict && a->verdict != b->verdict)
        return false;
    if (a->has_grant && !grants_agree(&a->grant, &b->grant))
        return false;
    return a->all == b->all && sums_agree(s, a, t, b);
}

bool sides_differ(const struct side *fast, const struct side *slow, int64_t now,
                  struct sl_buf *ret_why) {
    struct side f = *fast, s = *slow;
    struct answer a = {0}, b = {0};
    bool differ = false;
    const struct sl_graph *g = naive_graph(s.slow);
    if (naive_n_jobs(s.slow) != sl_match_n_jobs(f.fast)) {
        sl_buf_printf(ret_why, "%u jobs, expected %u", sl_match_n_jobs(f.fast),
                      naive_n_jobs(s.slow));
        differ = true;
    }
    for (uint32_t i = 0; i < naive_n_jobs(s.slow) && !differ; i++) {
        struct sl_match_job_info x = naive_nth_job(s.slow, i), y;
        struct act job = {.kind = ACT_JOB, .job = x.id};
        side_do(&s, &job, &b);
        side_do(&f, &job, &a);
        differ = !answers_agree(&f, &a, &s, &b) || !sl_match_job(f.fast, x.id, &y) ||
                 x.at != y.at || x.duration != y.duration || x.state != y.state;
        if (!differ)
            continue;
        sl_buf_printf(ret_why, "job %lld has ", (long long)x.id);
        answer_print(&f, &a, ret_why);
        sl_buf_puts(ret_why, "\n  expected ");
        answer_print(&s, &b, ret_why);
    }
    for (uint32_t i = 0; i < sl_graph_live(g) + naive_n_jobs(s.slow) && !differ; i++) {
        struct act sums = {.kind = ACT_SUMS, .v = sl_graph_root(g), .at = now, .job = -1};
        if (i < sl_graph_live(g))
            sums.v = sl_graph_at(g, i);
        else
            sums.job = naive_nth_job(s.slow, i - sl_graph_live(g)).id;
        char name[SL_VERTEX_NAME];
        side_do(&s, &sums, &b);
        side_do(&f, &sums, &a);
        differ = !answers_agree(&f, &a, &s, &b);
        if (!differ)
            continue;
        sl_buf_printf(ret_why, "sums of %s are ", sl_vertex_name(g, sums.v, name));
        answer_print(&f, &a, ret_why);
        sl_buf_puts(ret_why, "\n  expected ");
        answer_print(&s, &b, ret_why);
    }
    answer_done(&a);
    answer_done(&b);
    return differ;
}

/* ---- printing ---- */

static const char *const verdicts[] = {[SL_MATCHED] = "matched",
                                       [SL_SATISFIABLE] = "satisfiable",
                                       [SL_BUSY] = "busy",
                                       [SL_NEVER] = "never",
                                       [SL_BAD_TIME] = "bad time"};

void answer_print(const struct side *s, const struct answer *a, struct sl_buf *out) {
    const char *gap = "";
    if (a->r < 0) {
        sl_buf_puts(out, a->r == SL_ENOENT   ? "no such"
                         : a->r == SL_EEXIST ? "exists"
                         : a->r == SL_ESTALE ? "stale"
                                             : "error");
        return;
    }
    if (a->has_grant) {
        grant_print(side_graph(s), &a->grant, out);
        return;
    }
    sl_buf_puts(out, a->has_verdict ? verdicts[a->verdict] : a->all ? "all" : "ok");
    for (uint32_t i = 0; i < a->n && i < MAX_SUMS; i++, gap = " ") {
        if (a->sums[i].type == 0)
            continue;
        if (i == 0)
            sl_buf_puts(out, " ");
        sl_buf_printf(out, "%s%s %lld/%lld", gap, type_text(s, a->sums[i].type),
                      (long long)a->sums[i].used, (long long)a->sums[i].total);
    }
    if (a->n > 0 && a->sums[0].type == 0)
        sl_buf_printf(out, " %u", a->n);
}

static const char *const op_words[] = {
    [SL_MATCH_ALLOCATE] = "alloc",
    [SL_MATCH_ALLOCATE_SATISFIABLE] = "alloc-sat",
    [SL_MATCH_ALLOCATE_OR_RESERVE] = "reserve",
    [SL_MATCH_SATISFIABILITY] = "sat",
    [SL_MATCH_WITHOUT] = "try",
    [SL_MATCH_WITHOUT_FUTURE] = "try-later",
};

static const char *const act_words[] = {
    [ACT_CHECK] = "check",
    [ACT_CANCEL] = "cancel",
    [ACT_PART] = "part",
    [ACT_UPDATE] = "update",
    [ACT_UPDATE_LATER] = "update-later",
    [ACT_GROW_JOB] = "more",
    [ACT_BEGIN] = "begin",
    [ACT_AGAIN] = "again",
    [ACT_DOWN] = "down",
    [ACT_UP] = "up",
    [ACT_RESIZE] = "resize",
    [ACT_PROP] = "prop",
    [ACT_NOPROP] = "noprop",
    [ACT_SHRINK] = "shrink",
    [ACT_ADD] = "add",
    [ACT_CLONE] = "clone",
    [ACT_JOB] = "job",
    [ACT_JOBS] = "jobs",
    [ACT_SUMS] = "sums",
};

void act_print(const struct draft *d, const struct act *a, struct sl_buf *out) {
    if (a->by)
        sl_buf_puts(out, "by also ");
    sl_buf_puts(out, a->kind == ACT_RUN ? op_words[a->op] : act_words[a->kind]);
    switch (a->kind) {
    case ACT_RUN:
    case ACT_CANCEL:
    case ACT_PART:
    case ACT_UPDATE:
    case ACT_UPDATE_LATER:
    case ACT_GROW_JOB:
    case ACT_BEGIN:
    case ACT_AGAIN:
    case ACT_JOB:
        sl_buf_printf(out, " %lld", (long long)a->job);
        break;
    case ACT_DOWN:
    case ACT_UP:
    case ACT_RESIZE:
    case ACT_PROP:
    case ACT_NOPROP:
    case ACT_SUMS:
    case ACT_ADD:
        sl_buf_putc(out, ' ');
        draft_path(d, a->v, out);
        break;
    default:
        break;
    }
    if (a->kind == ACT_UPDATE || a->kind == ACT_UPDATE_LATER)
        sl_buf_printf(out, " %lld+%lld", (long long)a->at, (long long)a->duration);
    if (a->kind == ACT_RESIZE)
        sl_buf_printf(out, " %lld", (long long)a->at);
    if (a->spec) {
        sl_buf_putc(out, ' ');
        request_print(a->spec, out);
    }
    for (uint32_t i = 0; i < a->picks.n; i++) {
        sl_buf_putc(out, ' ');
        draft_path(d, a->picks.v[i].v, out);
        if (a->kind == ACT_UPDATE || a->kind == ACT_UPDATE_LATER)
            sl_buf_printf(out, "*%lld%s", (long long)a->picks.v[i].needs,
                          a->picks.v[i].exclusive ? ":x" : "");
    }
    if (a->key)
        sl_buf_printf(out, " %s%s%s", a->key, a->value && *a->value ? "=" : "",
                      a->value ? a->value : "");
    if (a->kind == ACT_ADD) {
        sl_buf_putc(out, ' ');
        draft_print_vertex(d, a->first, out);
    }
}
