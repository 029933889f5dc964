/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CronJobs. The Job of a scheduled time has a name that follows from that time, so that it is made
 * once whatever happens in between. Which times are due follows from status.lastScheduleTime; of
 * several that were missed only the last is made up for.
 */
#include "cluster/controllers/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define CONTROLLER "cronjob-controller"
#define SCHEDULED_AT "batch.kubernetes.io/cronjob-scheduled-timestamp"
#define MANY_MISSED 100
#define MAX_STEPS 100000u

/* ---- reading ---- */

typedef SL_VEC(struct cl_cron_ref) ref_list;

static void clear_refs(struct cl_cron_ref *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        sl_freep(&v[i].name);
        sl_freep(&v[i].uid);
    }
}

static void read_spec(struct cl_cronjob *j, yyjson_val *spec) {
    uint64_t hash = sl_json_hash(1, spec);
    struct sl_err err;
    if (hash == j->spec)
        return;
    j->spec = hash;
    sl_freep(&j->schedule_text);
    sl_freep(&j->zone);
    free(j->template);
    cl_zone_free(j->tz);
    j->schedule_text = sl_strdup(sl_json_str(spec, "schedule"));
    j->zone = sl_json_at(spec, "timeZone") ? sl_strdup(sl_json_str(spec, "timeZone")) : NULL;
    j->tz = cl_zone_load(j->zone ? j->zone : "");
    j->template = cl_text_of(sl_json_at(spec, "jobTemplate"));
    j->bad = sl_cron_read(j->schedule_text, &j->schedule, &err) < 0;
    j->starting_deadline = sl_json_int(spec, "startingDeadlineSeconds", JOB_NONE);
    j->keep_ok = sl_json_int32(spec, "successfulJobsHistoryLimit", JOB_NONE);
    j->keep_failed = sl_json_int32(spec, "failedJobsHistoryLimit", JOB_NONE);
    j->suspend = sl_json_bool(spec, "suspend", false);
    j->forbid = strcmp(sl_json_str(spec, "concurrencyPolicy"), "Forbid") == 0;
    j->replace = strcmp(sl_json_str(spec, "concurrencyPolicy"), "Replace") == 0;
}

bool cl_cron_decode(void *ctx, struct sl_rec *r, yyjson_val *o) {
    (void)ctx;
    struct cl_cronjob *j = cl_cron_of(r);
    yyjson_val *status = yyjson_obj_get(o, "status"), *v;
    size_t i, n;
    read_spec(j, yyjson_obj_get(o, "spec"));
    clear_refs(j->active.v, j->active.n);
    sl_vec_clear(&j->active);
    bool before = j->over_limit;
    j->over_limit = yyjson_arr_size(yyjson_obj_get(status, "active")) > CRON_MAX_ACTIVE;
    if (j->over_limit && !before)
        sl_log(SL_LOG_WARN, "CronJob not reconciled: too many active Jobs",
               SL_S("namespace", sl_rec_ns(r)), SL_S("name", r->name),
               SL_I("limit", CRON_MAX_ACTIVE));
    if (!j->over_limit)
        yyjson_arr_foreach (yyjson_obj_get(status, "active"), i, n, v)
            *sl_vec_push(&j->active) = (struct cl_cron_ref){sl_strdup(sl_json_str(v, "name")),
                                                            sl_strdup(sl_json_str(v, "uid"))};
    j->last_schedule = sl_json_time(status, "lastScheduleTime");
    j->last_success = sl_json_time(status, "lastSuccessfulTime");
    return true;
}

void cl_cron_done(struct sl_rec *r) {
    struct cl_cronjob *j = cl_cron_of(r);
    clear_refs(j->active.v, j->active.n);
    clear_refs(j->desired_active.v, j->desired_active.n);
    sl_vec_free(&j->active);
    sl_vec_free(&j->desired_active);
    sl_freep(&j->schedule_text);
    sl_freep(&j->zone);
    free(j->template);
    cl_zone_free(j->tz);
}

/* ---- the jobs there are ---- */

static void name_of(const struct cl_cronjob *j, sl_time at, char out[SL_REC_NAME]) {
    sl_fmt(out, SL_REC_NAME, "%.200s-%lld", j->rec.name, (long long)(at / SL_SEC / 60));
}

static struct cl_job *child_of(const struct sl_cluster *c, const struct cl_cronjob *j,
                               const char *uid) {
    struct sl_rec *r = sl_inf_by_uid(c->inf, sl_rec_uid(uid));
    return r && r->kind == K_JOB && r->owner == sl_rec_uid(j->rec.uid) ? cl_job_of(r) : NULL;
}

static bool is_listed(const struct cl_cronjob *j, const char *uid) {
    for (uint32_t i = 0; i < j->desired_active.n; i++)
        if (strcmp(j->desired_active.v[i].uid, uid) == 0)
            return true;
    return false;
}

static void list_job(struct cl_cronjob *j, const struct sl_rec *job) {
    if (!is_listed(j, job->uid))
        *sl_vec_push(&j->desired_active) =
            (struct cl_cron_ref){sl_strdup(job->name), sl_strdup(job->uid)};
}

/* The list without those that have ended or are gone. */
static void update_active(struct sl_cluster *c, struct cl_cronjob *j) {
    clear_refs(j->desired_active.v, j->desired_active.n);
    sl_vec_clear(&j->desired_active);
    j->desired_success = j->last_success;
    if (j->desired_schedule > j->last_schedule) { /* started, but not yet written */
        char name[SL_REC_NAME];
        name_of(j, j->desired_schedule, name);
        struct sl_rec *r = sl_inf_find_sym(c->inf, K_JOB, j->rec.ns, name);
        if (r && !r->create_planned && r->owner == sl_rec_uid(j->rec.uid) &&
            !cl_job_finished(cl_job_of(r)))
            list_job(j, r);
    }
    for (uint32_t i = 0; i < j->active.n; i++) {
        struct cl_job *job = child_of(c, j, j->active.v[i].uid);
        if (!job)
            sl_rec_event(&j->rec, CONTROLLER, false, "MissingJob", "Active job went missing: %s",
                         j->active.v[i].name);
        else if (cl_job_finished(job))
            sl_rec_event(&j->rec, CONTROLLER, false, "SawCompletedJob",
                         "Saw completed job: %s, condition: %s", job->rec.name,
                         job->end == JOB_COMPLETE ? "Complete" : "Failed");
        else if (!job->rec.delete_planned)
            list_job(j, &job->rec);
    }
    for (struct sl_rec *r = sl_inf_children(c->inf, sl_rec_uid(j->rec.uid), NULL); r; r = r->next) {
        if (r->kind != K_JOB || r->create_planned)
            continue;
        const struct cl_job *job = cl_job_of(r);
        if (job->end == JOB_COMPLETE && job->seen.completion > j->desired_success)
            j->desired_success = job->seen.completion;
    }
}

static void delete_job(struct cl_cronjob *j, struct sl_rec *job) {
    sl_rec_event(&j->rec, CONTROLLER, false, "SuccessfulDelete", "Deleted job %s", job->name);
    sl_rec_plan_delete(job);
}

static int by_start(const void *a, const void *b) {
    const struct cl_job *x = *(struct cl_job *const *)a, *y = *(struct cl_job *const *)b;
    if (x->seen.start != y->seen.start) {
        if (!x->seen.start || !y->seen.start)
            return x->seen.start ? -1 : 1;
        return x->seen.start < y->seen.start ? -1 : 1;
    }
    return strcmp(x->rec.name, y->rec.name);
}

/* Of those that have ended so, the newest stay. */
static void delete_old_jobs(struct sl_cluster *c, struct cl_cronjob *j, enum cl_job_end end,
                            int64_t keep) {
    SL_VEC(struct cl_job *) old = {0};
    for (struct sl_rec *r = sl_inf_children(c->inf, sl_rec_uid(j->rec.uid), NULL); r && keep >= 0;
         r = r->next)
        if (r->kind == K_JOB && !r->create_planned && !r->delete_planned && !r->deleting &&
            cl_job_of(r)->end == end)
            *sl_vec_push(&old) = cl_job_of(r);
    if (old.n > keep && old.n > 1)
        qsort(old.v, old.n, sizeof(struct cl_job *), by_start);
    for (uint32_t i = 0; keep >= 0 && (int64_t)i + keep < old.n; i++)
        delete_job(j, &old.v[i]->rec);
    sl_vec_free(&old);
}

/* ---- the time that is due ---- */

struct due {
    sl_time at; /* 0: none */
    bool many;  /* more than a few were missed */
    bool wrong; /* the schedule makes no sense */
};

static struct due due_of(const struct cl_cronjob *j, sl_time now) {
    sl_time from = j->desired_schedule ? j->desired_schedule : j->rec.created;
    struct due due = {0};
    if (j->starting_deadline >= 0 && now - sl_span_seconds(j->starting_deadline) > from)
        from = now - sl_span_seconds(j->starting_deadline);
    sl_time first = cl_cron_next(&j->schedule, j->tz, from);
    if (!first || first > now)
        return due;
    sl_time second = cl_cron_next(&j->schedule, j->tz, first);
    if (!second || second > now) {
        due.at = first;
        return due;
    }
    /* Roughly how many there were, and from there to the last one. */
    int64_t between = (second - first) / SL_SEC, missed = (now - first) / SL_SEC / between + 1;
    due.many = missed > MANY_MISSED;
    sl_time t = first + (missed - 2) * between * SL_SEC;
    for (uint32_t i = 0; i < MAX_STEPS; i++) {
        t = cl_cron_next(&j->schedule, j->tz, t);
        if (!t || t > now)
            break;
        due.at = t;
    }
    return due;
}

/* "Mon, 02 Jan 2006 15:04:05 +0000" */
static void mail_time(sl_time at, char out[64]) {
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct sl_civil c;
    sl_civil_of(at / SL_SEC, &c);
    sl_fmt(out, 64, "%s, %02d %s %04d %02d:%02d:%02d +0000", days[c.weekday], c.day,
           months[c.month - 1], c.year, c.hour, c.minute, c.second);
}

/* ---- reconciling ---- */

/* The job of 'starting' is there, or will not be. */
static void settle_start(struct sl_cluster *c, struct cl_cronjob *j) {
    char name[SL_REC_NAME];
    if (!j->starting)
        return;
    name_of(j, j->starting, name);
    struct sl_rec *r = sl_inf_find_sym(c->inf, K_JOB, j->rec.ns, name);
    if (r && r->create_planned)
        return;
    if (r && r->owner == sl_rec_uid(j->rec.uid)) {
        j->desired_schedule = j->starting;
        if (!cl_job_finished(cl_job_of(r)))
            list_job(j, r);
    }
    j->starting = 0;
}

static void replace_active(struct sl_cluster *c, struct cl_cronjob *j) {
    for (uint32_t i = 0; i < j->desired_active.n; i++) {
        struct cl_job *job = child_of(c, j, j->desired_active.v[i].uid);
        if (job)
            delete_job(j, &job->rec);
    }
    clear_refs(j->desired_active.v, j->desired_active.n);
    sl_vec_clear(&j->desired_active);
}

static void report_crowded(const struct cl_cronjob *j) {
    sl_rec_event(&j->rec, CONTROLLER, true, "TooManyActiveJobs",
                 "Not starting job because %u of its jobs or more are active", CRON_MAX_ACTIVE);
}

static void start_due(struct sl_cluster *c, struct cl_cronjob *j) {
    struct due due = due_of(j, c->client->wall);
    char name[SL_REC_NAME], when[64];
    if (due.many)
        sl_rec_event(
            &j->rec, CONTROLLER, true, "TooManyMissedTimes",
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
            "check clock skew");
    if (!due.at || j->starting)
        return;
    if (j->starting_deadline >= 0 &&
        sl_time_add(due.at, sl_span_seconds(j->starting_deadline)) < c->client->wall) {
        mail_time(due.at, when);
        sl_rec_event(&j->rec, CONTROLLER, true, "MissSchedule",
                     "Missed scheduled time to start a job: %s", when);
        return;
    }
    name_of(j, due.at, name);
    struct sl_rec *there = sl_inf_find_sym(c->inf, K_JOB, j->rec.ns, name);
    if (there) { /* created before a crash, or by another client */
        j->starting = due.at;
        settle_start(c, j);
        return;
    }
    if (j->forbid && j->desired_active.n) {
        sl_rec_event(
            &j->rec, CONTROLLER, false, "JobAlreadyActive",
            "Not starting job because prior execution is running and concurrency policy is "
            "Forbid");
        return;
    }
    if (j->replace)
        replace_active(c, j);
    if (j->desired_active.n >= CRON_MAX_ACTIVE) {
        report_crowded(j);
        return;
    }
    j->starting = due.at;
    (void)sl_rec_plan_create(&j->rec, K_JOB, name);
}

static bool same_refs(const struct cl_cronjob *j) {
    if (j->active.n != j->desired_active.n)
        return false;
    for (uint32_t i = 0; i < j->active.n; i++)
        if (strcmp(j->active.v[i].uid, j->desired_active.v[i].uid) != 0)
            return false;
    return true;
}

static bool differs(const struct cl_cronjob *j) {
    return j->desired_schedule != j->last_schedule || j->desired_success != j->last_success ||
           !same_refs(j);
}

void cl_cron_changed(void *ctx, struct sl_rec *r) {
    struct sl_cluster *c = ctx;
    struct cl_cronjob *j = cl_cron_of(r);
    if (j->over_limit) { /* what is written of a part would take the others from the list */
        report_crowded(j);
        return;
    }
    if (j->last_schedule > j->desired_schedule)
        j->desired_schedule = j->last_schedule;
    update_active(c, j);
    settle_start(c, j);
    delete_old_jobs(c, j, JOB_COMPLETE, j->keep_ok);
    delete_old_jobs(c, j, JOB_FAILED, j->keep_failed);
    if (!r->deleting && !j->tz)
        sl_rec_event(r, CONTROLLER, true, "UnknownTimeZone",
                     "invalid timeZone: \"%s\": unknown time zone %s", j->zone, j->zone);
    else if (!r->deleting && !j->suspend && j->bad)
        sl_rec_event(r, CONTROLLER, true, "UnparseableSchedule", "unparseable schedule: \"%s\"",
                     j->schedule_text);
    else if (!r->deleting && !j->suspend) {
        start_due(c, j);
        sl_rec_reconcile_at(r, cl_cron_next(&j->schedule, j->tz, c->client->wall));
    }
    if (differs(j))
        sl_rec_write(r);
}

/* ---- writing ---- */

bool cl_cron_build(void *ctx, struct sl_rec *r, struct sl_write *w) {
    struct sl_cluster *c = ctx;
    struct cl_cronjob *j = cl_cron_of(r);
    struct sl_jw *b = &w->json;
    if (j->over_limit || !differs(j))
        return false;
    sl_rec_build_guarded(r, "status", w);
    sl_jw_end(b);
    sl_jw_object(b, "status");
    if (j->desired_active.n)
        sl_jw_array(b, "active");
    else
        sl_jw_null(b, "active");
    for (uint32_t i = 0; i < j->desired_active.n; i++) {
        struct cl_job *job = child_of(c, j, j->desired_active.v[i].uid);
        sl_jw_object(b, NULL);
        sl_jw_str(b, "apiVersion", "batch/v1");
        sl_jw_str(b, "kind", "Job");
        sl_jw_str(b, "namespace", sl_rec_ns(r));
        sl_jw_str(b, "name", j->desired_active.v[i].name);
        sl_jw_str(b, "uid", j->desired_active.v[i].uid);
        if (job)
            sl_jw_strf(b, "resourceVersion", "%llu", (unsigned long long)job->rec.rv);
        sl_jw_end(b);
    }
    if (j->desired_active.n)
        sl_jw_end(b);
    if (j->desired_schedule)
        sl_jw_time(b, "lastScheduleTime", j->desired_schedule);
    if (j->desired_success)
        sl_jw_time(b, "lastSuccessfulTime", j->desired_success);
    return true;
}

static void put_local_time(const struct cl_cronjob *j, sl_time at, char out[64]) {
    int64_t s = at / SL_SEC, east = cl_zone_offset(j->tz, s), by = east < 0 ? -east : east;
    char stamp[SL_STAMP_TEXT];
    (void)sl_stamp((s + east) * SL_SEC, stamp);
    if (east)
        sl_fmt(out, 64, "%.19s%c%02d:%02d", stamp, east < 0 ? '-' : '+', (int)(by / 3600),
               (int)(by / 60 % 60));
    else
        sl_fmt(out, 64, "%.20s", stamp);
}

bool cl_cron_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body) {
    struct cl_cronjob *j = cl_cron_of(r);
    char when[64];
    (void)ctx;
    _cleanup_(sl_json_docp) yyjson_doc *t =
        j->template ? yyjson_read(j->template, strlen(j->template), 0) : NULL;
    yyjson_val *of = yyjson_doc_get_root(t), *labels = sl_json_at(of, "metadata.labels"),
               *spec = sl_json_at(of, "spec");
    yyjson_val *notes = sl_json_at(of, "metadata.annotations"), *k, *v;
    if (!spec || !j->starting)
        return false;
    put_local_time(j, j->starting, when);
    sl_jw_object(body, NULL);
    sl_jw_str(body, "apiVersion", "batch/v1");
    sl_jw_str(body, "kind", "Job");
    sl_jw_object(body, "metadata");
    sl_jw_str(body, "name", child->name);
    if (labels)
        sl_jw_val(body, "labels", labels);
    sl_jw_object(body, "annotations");
    sl_jw_str(body, SCHEDULED_AT, when);
    yyjson_obj_iter it = yyjson_obj_iter_with(notes); /* of what may be absent */
    while ((k = yyjson_obj_iter_next(&it))) {
        v = yyjson_obj_iter_get_val(k);
        if (!yyjson_equals_str(k, SCHEDULED_AT) && yyjson_is_str(v))
            sl_jw_text(body, sl_json_text(k), sl_json_view(v));
    }
    sl_jw_end(body);
    sl_jw_array(body, "ownerReferences");
    sl_rec_put_owner(body, r);
    sl_jw_end(body);
    sl_jw_end(body);
    sl_jw_val(body, "spec", spec);
    sl_jw_end(body);
    return true;
}

void cl_cron_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                           const struct sl_kube_reply *reply) {
    (void)ctx;
    if (how == SL_WRITTEN) {
        sl_rec_event(r, CONTROLLER, false, "SuccessfulCreate", "Created job %s", child->name);
    } else if (how == SL_WRITE_REFUSED) {
        _cleanup_(sl_json_docp) yyjson_doc *d = yyjson_read(reply->body, reply->len, 0);
        sl_rec_event(r, CONTROLLER, true, "FailedCreate", "Error creating job: %s",
                     sl_json_str(yyjson_doc_get_root(d), "message"));
    }
    sl_rec_enqueue(r);
}
