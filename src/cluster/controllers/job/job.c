/* SPDX-License-Identifier: Apache-2.0 */
/* Cached state of Jobs, and their status. */
#include "cluster/controllers/job/job.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/json/json.h"

#define MERGE_DELAY SL_SEC         /* of counters that are only informative */
#define START_DELAY (50 * SL_MSEC) /* of the first status */
#define MANY_PODS 500u             /* a Job with more is reconciled less often */
#define LOOK_PER_POD (20 * SL_USEC)

/* ---- reading ---- */

void cl_job_status_done(struct cl_job_status *s) {
    char **texts[] = {&s->completed_indexes, &s->failed_indexes, &s->uncounted_ok,
                      &s->uncounted_wrong, &s->conditions};
    for (size_t i = 0; i < SL_LEN(texts); i++)
        sl_freep(texts[i]);
}

static void read_spec(struct cl_job *j, yyjson_val *spec) {
    uint64_t hash = sl_json_hash(1, spec);
    if (hash == j->spec)
        return;
    j->spec = hash;
    j->parallelism = sl_json_int32(spec, "parallelism", 1);
    j->completions = sl_json_int32(spec, "completions", JOB_NONE);
    j->backoff_limit = sl_json_int32(spec, "backoffLimit", 6);
    j->per_index = sl_json_int32(spec, "backoffLimitPerIndex", JOB_NONE);
    j->max_failed = sl_json_int32(spec, "maxFailedIndexes", JOB_NONE);
    j->deadline = sl_json_int(spec, "activeDeadlineSeconds", JOB_NONE);
    j->ttl = sl_json_int32(spec, "ttlSecondsAfterFinished", JOB_NONE);
    j->suspend = sl_json_bool(spec, "suspend", false);
    j->indexed = strcmp(sl_json_str(spec, "completionMode"), "Indexed") == 0;
    j->on_failure = strcmp(sl_json_str(spec, "template.spec.restartPolicy"), "OnFailure") == 0;
    const char *by = sl_json_str(spec, "managedBy");
    j->foreign = *by && strcmp(by, "kubernetes.io/job-controller") != 0;
    free(j->template);
    free(j->failure_policy);
    free(j->success_policy);
    free(j->selector);
    yyjson_val *selector = sl_json_at(spec, "selector");
    const char *uid = sl_json_text(
        yyjson_obj_get(sl_json_at(selector, "matchLabels"), "batch.kubernetes.io/controller-uid"));
    j->selector = cl_text_of(selector);
    j->selector_hash = sl_json_hash(1, selector);
    j->by_uid = strcmp(uid, j->rec.uid) == 0;
    j->template = cl_pod_template(sl_json_at(spec, "template"));
    j->failure_policy = cl_text_of(sl_json_at(spec, "podFailurePolicy"));
    j->success_policy = cl_text_of(sl_json_at(spec, "successPolicy"));
    j->replace_failed =
        strcmp(sl_json_str(spec, "podReplacementPolicy"), "Failed") == 0 || j->failure_policy;
}

/* A list of strings as JSON. NULL: it has none. */
static char *strings_of(yyjson_val *list) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF(CL_MAX_COPY);
    size_t i, n;
    yyjson_val *v;
    char *text = NULL;
    struct sl_jw j = SL_JW(&b);
    yyjson_arr_foreach (list, i, n, v) {
        if (j.depth == 0)
            sl_jw_array(&j, NULL);
        sl_jw_str(&j, NULL, sl_json_text(v));
    }
    sl_jw_end_to(&j, 0);
    if (b.len)
        text = sl_strdup(sl_buf_str(&b));
    return text;
}

static char *copy_if(const char *s) {
    return *s ? sl_strdup(s) : NULL;
}

static void read_conditions(struct cl_job *j, yyjson_val *list) {
    static const struct {
        const char *type;
        enum cl_job_end end;
    } ends[] = {{"FailureTarget", JOB_FAILING},
                {"SuccessCriteriaMet", JOB_SUCCEEDING},
                {"Failed", JOB_FAILED},
                {"Complete", JOB_COMPLETE}};
    size_t i, n;
    yyjson_val *v;
    j->end = JOB_RUNS;
    j->suspended = 0;
    yyjson_arr_foreach (list, i, n, v) {
        bool is = strcmp(sl_json_str(v, "status"), "True") == 0;
        if (strcmp(sl_json_str(v, "type"), "Suspended") == 0)
            j->suspended = is ? 2 : 1;
        for (size_t e = 0; is && e < SL_LEN(ends); e++)
            if (strcmp(sl_json_str(v, "type"), ends[e].type) == 0 && ends[e].end > j->end) {
                j->end = (uint8_t)ends[e].end;
                j->ended = sl_json_time(v, "lastTransitionTime");
            }
    }
}

static void read_status(struct cl_job *j, yyjson_val *s) {
    yyjson_val *lists = sl_json_at(s, "uncountedTerminatedPods");
    struct cl_job_status *v = &j->seen;
    cl_job_status_done(v);
    *v = (struct cl_job_status){
        .start = sl_json_time(s, "startTime"),
        .completion = sl_json_time(s, "completionTime"),
        .active = sl_json_int32(s, "active", 0),
        .ready = sl_json_int32(s, "ready", JOB_NONE),
        .terminating = sl_json_int32(s, "terminating", JOB_NONE),
        .succeeded = sl_json_int32(s, "succeeded", 0),
        .failed = sl_json_int32(s, "failed", 0),
        .completed_indexes = copy_if(sl_json_str(s, "completedIndexes")),
        .failed_indexes =
            sl_json_at(s, "failedIndexes") ? sl_strdup(sl_json_str(s, "failedIndexes")) : NULL,
        .uncounted_ok = strings_of(yyjson_obj_get(lists, "succeeded")),
        .uncounted_wrong = strings_of(yyjson_obj_get(lists, "failed")),
        .lists = lists != NULL,
    };
    char *conditions = cl_text_of(yyjson_obj_get(s, "conditions"));
    v->conditions = conditions ? sl_strdup(conditions) : NULL;
    free(conditions);
    read_conditions(j, yyjson_obj_get(s, "conditions"));
}

/* What has just become true of it. */
static void report_news(struct cl_job *j, uint8_t end, uint8_t suspended, yyjson_val *status) {
    size_t i, n;
    yyjson_val *v;
    if (suspended != j->suspended && j->suspended)
        sl_rec_event(&j->rec, CL_JOB_CONTROLLER, false, j->suspended == 2 ? "Suspended" : "Resumed",
                     j->suspended == 2 ? "Job suspended" : "Job resumed");
    if (end == j->end || !cl_job_finished(j))
        return;
    if (j->end == JOB_COMPLETE) {
        if (j->completions != JOB_NONE && j->seen.succeeded > j->completions)
            sl_rec_event(&j->rec, CL_JOB_CONTROLLER, true, "TooManySucceededPods",
                         "Too many succeeded pods running after completion count reached");
        sl_rec_event(&j->rec, CL_JOB_CONTROLLER, false, "Completed", "Job completed");
        return;
    }
    yyjson_arr_foreach (yyjson_obj_get(status, "conditions"), i, n, v)
        if (strcmp(sl_json_str(v, "type"), "Failed") == 0)
            sl_rec_event(&j->rec, CL_JOB_CONTROLLER, true, sl_json_str(v, "reason"), "%s",
                         sl_json_str(v, "message"));
}

bool cl_job_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    struct sl_cluster *c = ctx;
    struct cl_job *j = cl_job_of(r);
    uint8_t end = j->end, suspended = j->suspended;
    read_spec(j, yyjson_obj_get(o, "spec"));
    read_status(j, yyjson_obj_get(o, "status"));
    if (j->known && !j->foreign)
        report_news(j, end, suspended, yyjson_obj_get(o, "status"));
    j->known = true;
    if (cl_job_finished(j)) { /* no pod of it is made any more, and of those there are many */
        free(j->template);
        free(j->selector);
        j->template = j->selector = NULL;
        cl_job_status_done(&j->desired);
        j->desired = (struct cl_job_status){0};
    }
    cl_job_list(c, j, j->selector && !j->by_uid && !j->foreign);
    return true;
}

void cl_job_done(struct sl_rec *r) {
    struct cl_job *j = cl_job_of(r);
    free(j->template);
    free(j->failure_policy);
    free(j->success_policy);
    free(j->selector);
    cl_job_status_done(&j->seen);
    cl_job_status_done(&j->desired);
}

/* ---- looking ---- */

static struct cl_pod *next_pod(struct sl_rec *r) {
    while (r && r->kind != K_POD)
        r = r->next;
    return r ? cl_pod_of(r) : NULL;
}

static void free_pods(struct sl_cluster *c, struct cl_job *j) {
    struct sl_rec *next;
    for (struct sl_rec *r = sl_inf_children(c->inf, sl_rec_uid(j->rec.uid), NULL); r; r = next) {
        next = r->next;
        if (r->kind != K_POD)
            continue;
        if (r->create_planned)
            sl_rec_plan_delete(r);
        else
            cl_job_untrack(cl_pod_of(r));
    }
}

/* ttlSecondsAfterFinished of a finished Job. */
static void expire(struct sl_cluster *c, struct cl_job *j) {
    if (j->ttl < 0 || j->rec.deleting || !cl_on(c, CL_JOB_TTL))
        return;
    sl_time at = sl_time_add(j->ended, sl_span_seconds(j->ttl));
    if (at > c->client->wall) {
        sl_rec_reconcile_at(&j->rec, at);
        return;
    }
    j->rec.foreground = true;
    sl_rec_plan_delete(&j->rec);
}

static bool same_text(const char *a, const char *b) {
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

/* What others act on; the rest is counters. */
static bool texts_differ(const struct cl_job_status *a, const struct cl_job_status *b) {
    return a->completion != b->completion ||
           !same_text(a->completed_indexes, b->completed_indexes) ||
           !same_text(a->failed_indexes, b->failed_indexes) ||
           !same_text(a->uncounted_ok, b->uncounted_ok) ||
           !same_text(a->uncounted_wrong, b->uncounted_wrong) ||
           !same_text(a->conditions, b->conditions) || a->succeeded != b->succeeded ||
           a->failed != b->failed || (a->start && a->start != b->start);
}

static bool differs(const struct cl_job_status *a, const struct cl_job_status *b) {
    return texts_differ(a, b) || a->start != b->start || a->active != b->active ||
           a->ready != b->ready || a->terminating != b->terminating || a->lists != b->lists;
}

void cl_job_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_job *j = cl_job_of(r);
    uint32_t pods;
    if (j->foreign)
        return;
    if (!cl_on(c, CL_JOBS)) {
        if (cl_job_finished(j))
            expire(c, j);
        return;
    }
    if (cl_job_finished(j) || r->deleting) {
        free_pods(c, j);
        if (cl_job_finished(j))
            expire(c, j);
        return;
    }
    if (j->listed && !j->adoption_checked) {
        j->adoption_checked = true;
        cl_job_adopt_pods(c, j);
    }
    if (j->hold > c->client->wall) {
        sl_rec_reconcile_at(r, j->hold);
        return;
    }
    (void)sl_inf_children(c->inf, sl_rec_uid(r->uid), &pods);
    sl_time again = j->synced_at + pods * LOOK_PER_POD;
    if (pods > MANY_PODS && again > c->client->mono) {
        sl_rec_reconcile_at(r, c->client->wall + (again - c->client->mono));
        return;
    }
    j->synced_at = c->client->mono;
    cl_job_sync(c, j);
    if (texts_differ(&j->seen, &j->desired))
        sl_rec_write(r);
    else if (differs(&j->seen, &j->desired))
        sl_rec_write_at(r, c->client->mono + (j->seen.start ? MERGE_DELAY : START_DELAY));
}

/* Its pods are not counted any more. */
void cl_job_gone(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    cl_job_list(c, cl_job_of(r), false);
    for (struct cl_pod *p = next_pod(sl_inf_children(c->inf, sl_rec_uid(r->uid), NULL)); p;
         p = next_pod(p->rec.next))
        sl_rec_enqueue(&p->rec);
}

/* ---- writing ---- */

static void put_time(struct sl_jw *j, const char *key, sl_time was, sl_time is) {
    if (was == is)
        return;
    if (is)
        sl_jw_time(j, key, is);
    else
        sl_jw_null(j, key);
}

/* 'absent' is the value that is not written. */
static void put_int(struct sl_jw *j, const char *key, int64_t was, int64_t is, int64_t absent) {
    if (was == is)
        return;
    if (is == absent)
        sl_jw_null(j, key);
    else
        sl_jw_int(j, key, is);
}

static void put_string(struct sl_jw *j, const char *key, const char *was, const char *is) {
    if (same_text(was, is))
        return;
    if (is)
        sl_jw_str(j, key, is);
    else
        sl_jw_null(j, key);
}

/* What is JSON already; NULL: it goes. */
static void put_raw(struct sl_jw *j, const char *key, const char *is) {
    sl_jw_raw(j, key, is ? is : "null");
}

bool cl_job_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    (void)ctx;
    struct cl_job *j = cl_job_of(r);
    const struct cl_job_status *was = &j->seen, *is = &j->desired;
    struct sl_jw *p = &w->json;

    if (j->foreign || cl_job_finished(j) || r->deleting || !j->sync_count || !differs(was, is))
        return false;
    sl_rec_build_guarded(r, "status", w);
    sl_jw_end(p);
    sl_jw_object(p, "status");
    put_time(p, "startTime", was->start, is->start);
    put_time(p, "completionTime", was->completion, is->completion);
    put_int(p, "active", was->active, is->active, 0);
    put_int(p, "ready", was->ready, is->ready, JOB_NONE);
    put_int(p, "terminating", was->terminating, is->terminating, JOB_NONE);
    put_int(p, "succeeded", was->succeeded, is->succeeded, 0);
    put_int(p, "failed", was->failed, is->failed, 0);
    put_string(p, "completedIndexes", was->completed_indexes, is->completed_indexes);
    put_string(p, "failedIndexes", was->failed_indexes, is->failed_indexes);
    if (!was->lists || !same_text(was->uncounted_ok, is->uncounted_ok) ||
        !same_text(was->uncounted_wrong, is->uncounted_wrong)) {
        sl_jw_object(p, "uncountedTerminatedPods");
        put_raw(p, "succeeded", is->uncounted_ok);
        put_raw(p, "failed", is->uncounted_wrong);
        sl_jw_end(p);
    }
    if (!same_text(was->conditions, is->conditions))
        put_raw(p, "conditions", is->conditions);
    return true;
}

void cl_job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply) {
    (void)ctx;
    (void)w, (void)reply;
    if (how == SL_WRITTEN || how == SL_WRITE_CONFLICT)
        sl_rec_enqueue(r);
}
