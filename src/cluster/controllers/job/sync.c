/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reconciliation of a Job: the state of its pods, whether it has finished, which pods it should
 * have, and its desired status. In this order, because each follows from the one before; nothing is
 * stored between two reconciliations but the back-off.
 */
#include "cluster/controllers/job/job.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_MIN (10 * SL_SEC)
#define BACKOFF_MAX (10 * SL_MINUTE)
#define MAX_MESSAGE 1024u

typedef SL_VEC(struct cl_pod *) pod_list;

struct job_sync {
    struct sl_cluster *c;
    struct cl_job *j;
    sl_time now, again; /* wall: the next reconcile; 0: none is timed */
    pod_list pods;      /* all of them */
    pod_list ok, wrong; /* ended and not yet counted anywhere, according to what is seen */
    pod_list active;
    int64_t listed_ok, listed_wrong;   /* uids among the uncounted */
    int64_t drained_ok, drained_wrong; /* of those: whose pod has lost the finalizer */
    struct sl_buf kept_ok, kept_wrong; /* the others, as arrays of JSON */
    struct sl_jw keep_ok, keep_wrong;  /* which write these */
    uint32_t kept;
    int64_t terminating; /* neither active nor ended */
    int64_t unsettled;   /* of those, that may still succeed */
    int64_t leaving;     /* of those, who does not know it yet: the place is not free */
    int64_t succeeded, failed;
    struct cl_indexes completed, done, failed_indexes;
    enum cl_job_end end;
    const char *reason;
    struct sl_buf message;
};

/* ---- what is true ---- */

static bool is_failed(const struct cl_job *j, const struct cl_pod *p) {
    if (p->f.phase == CL_POD_FAILED)
        return true;
    /* A pod that is deleted may never report that it failed; one without a node never will. */
    return p->rec.deleting && p->f.phase != CL_POD_SUCCEEDED && !p->delete_uncounted &&
           (!j->replace_failed || !p->f.node);
}

static bool has_place(const struct cl_job *j, const struct cl_pod *p) {
    return !j->indexed || (p->f.index >= 0 && p->f.index < j->completions);
}

static void keep_text(struct sl_jw *j, const char *uid) {
    if (j->depth == 0)
        sl_jw_array(j, NULL);
    sl_jw_str(j, NULL, uid);
}

/* The uids of a list: those whose pod still has the finalizer stay. */
static void read_list(struct job_sync *l, const char *text, struct sl_jw *keep, int64_t *listed,
                      int64_t *drained) {
    size_t i, n;
    yyjson_val *v;
    if (!text)
        return;
    _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(text, strlen(text), 0);
    yyjson_arr_foreach (yyjson_doc_get_root(d), i, n, v) {
        struct sl_rec *r = sl_inf_by_uid(l->c->inf, sl_rec_uid(sl_json_text(v)));
        bool there = r && r->kind == K_POD && cl_pod_of(r)->f.tracked;
        ++*listed;
        if (!there) {
            ++*drained;
            continue;
        }
        cl_pod_of(r)->job_sync = l->j->sync_count;
        keep_text(keep, sl_json_text(v));
        l->kept++;
    }
}

/* A pod that was to be given up and ended by itself before its finalizer went: it counts. */
static void unshed(struct cl_pod *p) {
    if (p->delete_uncounted && cl_pod_ended(p) && p->f.tracked)
        p->delete_uncounted = p->untrack = false;
}

static void gather_pods(struct job_sync *l) {
    struct cl_job *j = l->j;
    for (struct sl_rec *r = sl_inf_children(l->c->inf, sl_rec_uid(j->rec.uid), NULL); r;
         r = r->next) {
        if (r->kind != K_POD)
            continue;
        struct cl_pod *p = cl_pod_of(r);
        if (!cl_job_owns(j, p)) {
            cl_job_release_pod(p);
            continue;
        }
        unshed(p);
        *sl_vec_push(&l->pods) = p;
        p->delayed = false;
        if (cl_pod_active(p))
            *sl_vec_push(&l->active) = p;
        else if (!cl_pod_ended(p))
            l->terminating++, l->unsettled += !is_failed(j, p), l->leaving += !r->deleting;
        if (r->create_planned || !p->f.tracked || p->job_sync == j->sync_count || !has_place(j, p))
            continue;
        if (p->f.phase == CL_POD_SUCCEEDED && !p->delete_uncounted &&
            !(j->indexed && cl_indexes_has(&l->completed, p->f.index)))
            *sl_vec_push(&l->ok) = p;
        else if (is_failed(j, p))
            *sl_vec_push(&l->wrong) = p;
    }
}

/* Failures since the last success, counted once per pod. */
static void note_ends(struct job_sync *l) {
    struct cl_job *j = l->j;
    sl_time success = 0;
    int32_t fresh = 0;
    for (uint32_t i = 0; i < l->ok.n; i++) {
        struct cl_pod *p = l->ok.v[i];
        if (p->ended)
            continue;
        p->ended = p->f.finished ? p->f.finished : l->now;
        success = p->ended > success ? p->ended : success;
        fresh++;
    }
    if (fresh)
        j->failures = 0, j->last_failure = 0;
    for (uint32_t i = 0; i < l->wrong.n; i++) {
        struct cl_pod *p = l->wrong.v[i];
        if (p->ended)
            continue;
        p->ended = p->f.finished ? p->f.finished : l->now;
        if (p->ended <= success)
            continue;
        j->failures++;
        j->last_failure = p->ended > j->last_failure ? p->ended : j->last_failure;
    }
}

static bool is_ignored(const struct job_sync *l, const struct cl_pod *p) {
    return cl_job_failure_action(l->j, p, NULL) == JOB_IGNORE;
}

static void count_pods(struct job_sync *l) {
    struct cl_job *j = l->j;
    l->succeeded = j->seen.succeeded + l->listed_ok + l->ok.n;
    l->failed = j->seen.failed + l->listed_wrong;
    for (uint32_t i = 0; i < l->wrong.n; i++)
        l->failed += !is_ignored(l, l->wrong.v[i]);
    if (!j->indexed)
        return;
    cl_indexes_join(&l->done, &l->completed);
    for (uint32_t i = 0; i < l->ok.n; i++)
        cl_indexes_add(&l->done, l->ok.v[i]->f.index);
    l->succeeded = cl_indexes_count(&l->done);
    if (j->per_index == JOB_NONE)
        return;
    cl_indexes_read(j->seen.failed_indexes, (int32_t)j->completions, &l->failed_indexes);
    for (uint32_t i = 0; i < l->wrong.n; i++) {
        enum cl_job_failure_action v = cl_job_failure_action(j, l->wrong.v[i], NULL);
        if (v == JOB_FAIL_INDEX ||
            (v != JOB_IGNORE && l->wrong.v[i]->f.index_failures >= j->per_index))
            cl_indexes_add(&l->failed_indexes, l->wrong.v[i]->f.index);
    }
}

/* ---- has it come to its end? ---- */

static void ends(struct job_sync *l, enum cl_job_end end, const char *reason, const char *message) {
    l->end = end;
    l->reason = reason;
    sl_buf_clear(&l->message);
    sl_buf_puts(&l->message, message);
}

static void reconcile_at(struct job_sync *l, sl_time at) {
    if (!l->again || at < l->again)
        l->again = at;
}

static bool restarted_too_often(const struct job_sync *l) {
    int64_t n = 0;
    for (uint32_t i = 0; i < l->pods.n; i++)
        if (l->pods.v[i]->f.phase == CL_POD_RUNNING || l->pods.v[i]->f.phase == CL_POD_PENDING)
            n += l->pods.v[i]->f.restarts;
    return l->j->on_failure && (l->j->backoff_limit == 0 ? n > 0 : n >= l->j->backoff_limit);
}

static bool failed_by_policy(struct job_sync *l) {
    for (uint32_t i = 0; l->j->failure_policy && i < l->wrong.n; i++) {
        sl_buf_clear(&l->message);
        if (cl_job_failure_action(l->j, l->wrong.v[i], &l->message) != JOB_FAIL_JOB)
            continue;
        l->end = JOB_FAILING;
        l->reason = "PodFailurePolicy";
        return true;
    }
    return false;
}

static bool past_deadline(struct job_sync *l) {
    const struct cl_job *j = l->j;
    if (j->deadline < 0 || !j->seen.start || j->suspend)
        return false;
    sl_time at = sl_time_add(j->seen.start, sl_span_seconds(j->deadline));
    if (l->now >= at)
        return true;
    reconcile_at(l, at);
    return false;
}

static void judge_indexes(struct job_sync *l) {
    const struct cl_job *j = l->j;
    int64_t failed = cl_indexes_count(&l->failed_indexes);
    int32_t rule;
    char text[64];
    if (l->end != JOB_RUNS || !j->indexed)
        return;
    if (j->per_index != JOB_NONE && j->max_failed != JOB_NONE && failed > j->max_failed)
        ends(l, JOB_FAILING, "MaxFailedIndexesExceeded",
             "Job has exceeded the specified maximal number of failed indexes");
    else if (failed > 0 && failed + l->succeeded >= j->completions)
        ends(l, JOB_FAILING, "FailedIndexes", "Job has failed indexes");
    else if ((rule = cl_job_success_rule(j, &l->done)) >= 0) {
        sl_fmt(text, sizeof text, "Matched rules at index %d", rule);
        ends(l, JOB_SUCCEEDING, "SuccessPolicy", text);
    }
}

/* An end that was written is kept, whatever else has become true since. */
static void decide_end(struct job_sync *l) {
    struct cl_job *j = l->j;
    if (j->end != JOB_RUNS)
        l->end = (enum cl_job_end)j->end;
    else if (failed_by_policy(l))
        ;
    else if (l->failed > j->backoff_limit || restarted_too_often(l))
        ends(l, JOB_FAILING, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
    else if (past_deadline(l))
        ends(l, JOB_FAILING, "DeadlineExceeded", "Job was active longer than specified deadline");
    judge_indexes(l);
}

/* ---- which pods should it have? ---- */

static int by_index(const void *a, const void *b) {
    const struct cl_pod *x = *(struct cl_pod *const *)a, *y = *(struct cl_pod *const *)b;
    if (x->f.index != y->f.index)
        return x->f.index < y->f.index ? -1 : 1;
    int64_t m = (int64_t)x->f.index_failures + x->f.index_ignored;
    int64_t n = (int64_t)y->f.index_failures + y->f.index_ignored;
    if (m != n)
        return m < n ? -1 : 1;
    return x->ended != y->ended ? (x->ended < y->ended ? -1 : 1) : strcmp(x->rec.name, y->rec.name);
}

/* The last failure of each index that is to be tried again: it keeps the count of the index. */
static void delay_failures(struct job_sync *l) {
    const struct cl_job *j = l->j;
    struct cl_indexes busy = {0};
    if (j->per_index == JOB_NONE || l->end != JOB_RUNS)
        return;
    for (uint32_t i = 0; i < l->active.n; i++)
        if (l->active.v[i]->f.index >= 0)
            cl_indexes_add(&busy, l->active.v[i]->f.index);
    if (l->wrong.n > 1)
        qsort(l->wrong.v, l->wrong.n, sizeof(struct cl_pod *), by_index);
    for (uint32_t i = 0; i < l->wrong.n; i++) {
        int32_t index = l->wrong.v[i]->f.index;
        bool last = i + 1 == l->wrong.n || l->wrong.v[i + 1]->f.index != index;
        l->wrong.v[i]->delayed = last && !cl_indexes_has(&busy, index) &&
                                 !cl_indexes_has(&l->done, index) &&
                                 !cl_indexes_has(&l->failed_indexes, index);
    }
    cl_indexes_done(&busy);
}

static sl_time backoff_until(int64_t failures, sl_time last) {
    sl_span d = BACKOFF_MIN;
    for (int64_t i = 1; i < failures && d < BACKOFF_MAX; i++)
        d *= 2;
    return failures ? sl_time_add(last, d > BACKOFF_MAX ? BACKOFF_MAX : d) : 0;
}

/* Takes the pod out of the active ones. */
static void give_up(struct job_sync *l, uint32_t i, bool counted) {
    struct cl_pod *p = l->active.v[i];
    l->active.v[i] = NULL;
    l->terminating += !p->rec.create_planned || p->rec.sent;
    if (counted)
        cl_job_stop_pod(l->j, p);
    else
        cl_job_delete_uncounted(l->j, p);
}

static void close_ranks(struct job_sync *l) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->active.n; i++)
        if (l->active.v[i])
            l->active.v[n++] = l->active.v[i];
    l->active.n = n;
}

/* All, or as many as are too many; of an index one stays, the one that got farthest. Returns
 * whether any went. */
static bool remove_pods(struct job_sync *l, int64_t surplus) {
    const struct cl_job *j = l->j;
    struct cl_indexes seen = {0};
    int64_t gone = 0;
    if (l->active.n > 1)
        qsort(l->active.v, l->active.n, sizeof(struct cl_pod *), cl_job_pod_rank);
    for (uint32_t i = l->active.n; j->indexed && i-- > 0;) {
        int32_t index = l->active.v[i]->f.index;
        if (has_place(j, l->active.v[i]) && !cl_indexes_has(&seen, index)) {
            cl_indexes_add(&seen, index);
        } else {
            give_up(l, i, false);
            gone++;
        }
    }
    close_ranks(l);
    for (uint32_t i = 0; gone < surplus && gone < JOB_MAX_AT_ONCE && i < l->active.n; i++, gone++)
        give_up(l, i, false);
    close_ranks(l);
    cl_indexes_done(&seen);
    return gone > 0;
}

/* The failed pod that a new one of this index replaces. They are sorted. */
static const struct cl_pod *before_of(const struct job_sync *l, int32_t index) {
    uint32_t lo = 0, hi = l->wrong.n;
    if (l->j->per_index == JOB_NONE)
        return NULL;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (l->wrong.v[mid]->f.index <= index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && l->wrong.v[lo - 1]->f.index == index && l->wrong.v[lo - 1]->delayed
               ? l->wrong.v[lo - 1]
               : NULL;
}

static void add_indexed(struct job_sync *l, int64_t n) {
    struct cl_job *j = l->j;
    struct cl_indexes taken = {0};
    cl_indexes_join(&taken, &l->done);
    cl_indexes_join(&taken, &l->failed_indexes);
    for (uint32_t i = 0; i < l->pods.n; i++) {
        const struct cl_pod *p = l->pods.v[i];
        bool free = cl_pod_ended(p) || (j->replace_failed ? is_failed(j, p) : p->rec.deleting);
        if (!free && p->f.index >= 0 && !p->rec.gone)
            cl_indexes_add(&taken, p->f.index);
    }
    for (int32_t i = cl_indexes_free(&taken, 0); n > 0 && i < j->completions;
         i = cl_indexes_free(&taken, i + 1)) {
        const struct cl_pod *before = before_of(l, i);
        n--; /* one that waits has its place among those that run */
        if (before) {
            int64_t failures = (int64_t)before->f.index_failures + before->f.index_ignored + 1;
            sl_time at = backoff_until(failures, before->ended);
            if (at > l->now) {
                reconcile_at(l, at);
                continue;
            }
        }
        cl_job_add_pod(l->c, j, i, before);
    }
    cl_indexes_done(&taken);
}

static void manage(struct job_sync *l) {
    struct cl_job *j = l->j;
    int64_t active = l->active.n, want = j->suspend ? 0 : j->parallelism;
    if (!j->suspend && j->completions == JOB_NONE) {
        want = l->succeeded > 0 ? active : want;
    } else if (!j->suspend) {
        int64_t rest = j->completions - l->succeeded;
        want = rest < want ? rest : want;
    }
    want = want < 0 ? 0 : want;
    if (remove_pods(l, active - want))
        return;
    int64_t lacking = want - active - (j->replace_failed ? l->unsettled : l->leaving);
    if (lacking <= 0 || !j->template)
        return;
    sl_time at = j->per_index == JOB_NONE ? backoff_until(j->failures, j->last_failure) : 0;
    if (at > l->now) {
        reconcile_at(l, at);
        return;
    }
    if (lacking > JOB_MAX_AT_ONCE) {
        lacking = JOB_MAX_AT_ONCE;
        reconcile_at(l, l->now + SL_MSEC);
    }
    if (j->indexed)
        add_indexed(l, lacking);
    else
        while (lacking-- > 0)
            cl_job_add_pod(l->c, j, JOB_NONE, NULL);
}

/* ---- the status ---- */

static void set_condition(yyjson_mut_doc *d, const struct job_sync *l, const char *type,
                          bool status, const char *reason, const char *message) {
    yyjson_mut_val *list = yyjson_mut_doc_get_root(d), *v;
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(8192);
    size_t i, n;
    cl_write_condition(&SL_JW(&b), type, status, reason, message, l->now, l->now);
    _cleanup_(sl_json_docp) yyjson_doc *fresh = yyjson_read(sl_buf_str(&b), b.len, 0);
    yyjson_mut_val *copy = yyjson_val_mut_copy(d, yyjson_doc_get_root(fresh));
    yyjson_mut_arr_foreach (list, i, n, v)
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(v, "type"), type)) {
            (void)yyjson_mut_arr_replace(list, i, copy);
            copy = NULL;
            break;
        }
    if (copy)
        yyjson_mut_arr_append(list, copy);
}

/* Reason and message of the condition that ends it. */
static void read_condition_reason(struct job_sync *l, yyjson_mut_doc *d, const char *type) {
    size_t i, n;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach (yyjson_mut_doc_get_root(d), i, n, v) {
        if (!yyjson_mut_equals_str(yyjson_mut_obj_get(v, "type"), type))
            continue;
        const char *message = sl_json_mut_text(yyjson_mut_obj_get(v, "message"));
        ends(l, l->end, sl_json_mut_text(yyjson_mut_obj_get(v, "reason")), message);
    }
}

static char *conditions(struct job_sync *l, bool last) {
    struct cl_job *j = l->j;
    bool failing = l->end == JOB_FAILING;
    const char *interim = failing ? "FailureTarget" : "SuccessCriteriaMet";
    uint8_t suspended = j->suspend ? 2 : j->suspended ? 1 : 0;
    bool turned = l->end == JOB_RUNS && suspended != j->suspended;
    if (!turned && !last && (l->end == JOB_RUNS || j->end != JOB_RUNS))
        return j->seen.conditions ? sl_strdup(j->seen.conditions) : NULL;
    const char *was = j->seen.conditions ? j->seen.conditions : "[]";
    _cleanup_(sl_json_docp) yyjson_doc *old = yyjson_read(was, strlen(was), 0);
    _cleanup_(sl_json_mut_docp) yyjson_mut_doc *d = yyjson_doc_mut_copy(old, NULL);
    if (turned)
        set_condition(d, l, "Suspended", suspended == 2,
                      suspended == 2 ? "JobSuspended" : "JobResumed",
                      suspended == 2 ? "Job suspended" : "Job resumed");
    if (l->end != JOB_RUNS && j->end == JOB_RUNS)
        set_condition(d, l, interim, true, l->reason, sl_buf_str(&l->message));
    else if (l->end != JOB_RUNS)
        read_condition_reason(l, d, interim);
    if (last)
        set_condition(d, l, failing ? "Failed" : "Complete", true, l->reason,
                      sl_buf_str(&l->message));
    char *text = yyjson_mut_write(d, 0, NULL), *copy = text ? sl_strdup(text) : NULL;
    free(text);
    return copy;
}

static char *take_json(struct sl_jw *j) {
    sl_jw_end_to(j, 0);
    return j->b->len ? sl_strdup(sl_buf_str(j->b)) : NULL;
}

static void keep_uid(struct job_sync *l, struct sl_jw *j, const struct cl_pod *p) {
    if (l->kept >= JOB_MAX_UNCOUNTED)
        return;
    keep_text(j, p->rec.uid);
    l->kept++;
}

/* Which pods may lose the finalizer, and which have to be counted before. */
static void settle_pods(struct job_sync *l) {
    struct cl_job *j = l->j;
    for (uint32_t i = 0; i < l->pods.n; i++) {
        struct cl_pod *p = l->pods.v[i];
        bool failed = is_failed(j, p), stopping = l->end != JOB_RUNS;
        if (p->rec.gone || p->rec.create_planned || !p->f.tracked)
            continue;
        if (p->job_sync == j->sync_count) {
            cl_job_untrack(p);
        } else if (p->f.phase == CL_POD_SUCCEEDED) {
            if (!has_place(j, p) || (j->indexed && cl_indexes_has(&l->completed, p->f.index)))
                cl_job_untrack(p);
            else if (!j->indexed)
                keep_uid(l, &l->keep_ok, p);
        } else if ((failed && !p->delayed) || (stopping && l->end == JOB_FAILING)) {
            if (!has_place(j, p) || (failed && is_ignored(l, p)))
                cl_job_untrack(p);
            else
                keep_uid(l, &l->keep_wrong, p);
        } else if (j->end == JOB_SUCCEEDING) {
            cl_job_untrack(p);
        }
    }
}

static void plan_status(struct job_sync *l) {
    struct cl_job *j = l->j;
    struct cl_job_status *w = &j->desired;
    int64_t ready = 0, there = 0, planned = 0;
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF(CL_MAX_COPY);
    for (uint32_t i = 0; i < l->active.n; i++) {
        ready += l->active.v[i]->f.ready_since != 0;
        there += !l->active.v[i]->rec.create_planned;
        planned += l->active.v[i]->rec.create_planned;
    }
    bool last = l->end != JOB_RUNS && there + planned + l->terminating == 0;
    cl_job_status_done(w);
    *w = (struct cl_job_status){.start = j->seen.start,
                                .completion = last && l->end == JOB_SUCCEEDING ? l->now : 0,
                                .active = there,
                                .ready = ready,
                                .terminating = l->terminating,
                                .succeeded = last || j->indexed ? l->succeeded
                                                                : j->seen.succeeded + l->drained_ok,
                                .failed = last ? l->failed : j->seen.failed + l->drained_wrong,
                                .conditions = conditions(l, last),
                                .lists = true};
    if (!w->start && !j->suspend)
        w->start = l->now;
    if (j->suspend && j->suspended != 2)
        w->start = 0;
    else if (!j->suspend && j->suspended == 2)
        w->start = l->now;
    if (!last) {
        settle_pods(l);
        w->uncounted_ok = take_json(&l->keep_ok);
        w->uncounted_wrong = take_json(&l->keep_wrong);
    }
    if (!j->indexed)
        return;
    cl_indexes_put(&l->done, &text);
    w->completed_indexes = text.len ? sl_strdup(sl_buf_str(&text)) : NULL;
    sl_buf_clear(&text);
    cl_indexes_put(&l->failed_indexes, &text);
    if (j->per_index != JOB_NONE)
        w->failed_indexes = sl_strdup(sl_buf_str(&text));
}

void cl_job_sync(struct sl_cluster *c, struct cl_job *j) {
    struct job_sync l = {.c = c, .j = j, .now = c->client->wall};
    j->sync_count++;
    sl_buf_init(&l.kept_ok, CL_MAX_COPY);
    sl_buf_init(&l.kept_wrong, CL_MAX_COPY);
    l.keep_ok = SL_JW(&l.kept_ok);
    l.keep_wrong = SL_JW(&l.kept_wrong);
    sl_buf_init(&l.message, MAX_MESSAGE);
    sl_buf_short(&l.message);
    if (j->indexed)
        cl_indexes_read(j->seen.completed_indexes, (int32_t)j->completions, &l.completed);
    read_list(&l, j->seen.uncounted_ok, &l.keep_ok, &l.listed_ok, &l.drained_ok);
    read_list(&l, j->seen.uncounted_wrong, &l.keep_wrong, &l.listed_wrong, &l.drained_wrong);
    gather_pods(&l);
    note_ends(&l);
    count_pods(&l);
    decide_end(&l);
    delay_failures(&l);
    if (l.end != JOB_RUNS) {
        for (uint32_t i = 0; i < l.active.n; i++)
            give_up(&l, i, true);
        l.active.n = 0;
    } else {
        manage(&l);
        bool enough = j->completions == JOB_NONE ? l.succeeded > 0 : l.succeeded >= j->completions;
        if (enough && l.active.n == 0)
            ends(&l, JOB_SUCCEEDING, "CompletionsReached",
                 "Reached expected number of succeeded pods");
    }
    plan_status(&l);
    sl_rec_reconcile_at(&j->rec, l.again);
    sl_vec_free(&l.pods);
    sl_vec_free(&l.ok);
    sl_vec_free(&l.wrong);
    sl_vec_free(&l.active);
    cl_indexes_done(&l.completed);
    cl_indexes_done(&l.done);
    cl_indexes_done(&l.failed_indexes);
    sl_buf_done(&l.kept_ok);
    sl_buf_done(&l.kept_wrong);
    sl_buf_done(&l.message);
}
