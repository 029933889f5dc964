/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and CronJobs. Private to src/cluster/controllers.
 *
 * A Job is reconciled as a whole whenever it or one of its pods changed (sync.c): from its
 * observed state and the records of its pods follow the desired status ('desired'), and which pods
 * are to be created, deleted, or released from their finalizer. The status is written when it
 * differs from the observed one, with the version it was made from.
 *
 * Every pod is counted exactly once: each has the finalizer batch.kubernetes.io/job-tracking until
 * it is counted (its uid under uncountedTerminatedPods, its index among the completed ones)
 * according to the *observed* status. A uid leaves that list, and is added to the counters, when
 * its pod no longer has the finalizer. The end of the Job counts everything at once: pods of a
 * finished Job are not counted, so they just lose the finalizer.
 *
 * Counters of active and ready pods are written a second later, so that short states cost no write.
 *
 * A pod without a controller that matches the selector is adopted, with the finalizer in the same
 * write, and counted like any other; one that no longer matches is released, and not counted.
 */
#ifndef SL_CLUSTER_CONTROLLERS_JOB_JOB_H
#define SL_CLUSTER_CONTROLLERS_JOB_JOB_H

#include "cluster/controllers/core/pod.h"
#include "cluster/controllers/job/indexes.h"

#define CL_JOB_CONTROLLER "job-controller"
#define JOB_NONE (-1) /* a number that is not set */

enum cl_job_end { JOB_RUNS, JOB_FAILING, JOB_SUCCEEDING, JOB_FAILED, JOB_COMPLETE };

/* The status, observed and desired. Strings are owned. */
struct cl_job_status {
    sl_time start, completion;
    int64_t active, ready, terminating; /* ready, terminating: JOB_NONE if not set */
    int64_t succeeded, failed;
    char *completed_indexes;              /* NULL: none */
    char *failed_indexes;                 /* NULL: not set */
    char *uncounted_ok, *uncounted_wrong; /* arrays of JSON; NULL: none */
    char *conditions;                     /* JSON list; NULL: none */
    bool lists;                           /* uncountedTerminatedPods is set, maybe empty */
};

struct cl_job {
    struct sl_rec rec;
    /* spec */
    int64_t parallelism, completions, backoff_limit, per_index, max_failed, deadline, ttl;
    bool indexed, suspend, replace_failed, foreign, on_failure;
    char *template;       /* text; NULL once it is finished */
    char *failure_policy; /* spec.podFailurePolicy; NULL */
    char *success_policy; /* spec.successPolicy; NULL */
    char *selector;       /* spec.selector; NULL: none, or it is finished */
    uint64_t selector_hash;
    uint64_t spec; /* hash of all that */
    /* status */
    struct cl_job_status seen, desired;
    uint8_t end;   /* enum cl_job_end, as observed */
    sl_time ended; /* transition of its last condition */
    /* back-off: failures since the last success, and when the last was */
    int32_t failures;
    sl_time last_failure;
    uint32_t sync_count;   /* counts the looks, see struct cl_pod.job_sync */
    uint64_t low;          /* no child name below this number is free */
    sl_time synced_at;     /* mono */
    uint8_t suspended;     /* condition Suspended as observed: 0 absent, 1 False, 2 True */
    bool known;            /* was decoded before: what is new now has just happened */
    bool by_uid;           /* its selector requires its own uid: no other pods match */
    bool listed;           /* among sl_cluster.jobs_with_selector */
    bool adoption_checked; /* for pods without a controller */
    sl_time hold;          /* wall: no pods are made before; others are being taken in */
};

static inline struct cl_job *cl_job_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_job, rec);
}
static inline bool cl_job_finished(const struct cl_job *j) {
    return j->end == JOB_FAILED || j->end == JOB_COMPLETE;
}

/* ---- job.c: the kind ---- */
bool cl_job_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_job_changed(void *ctx, struct sl_rec *r);
void cl_job_gone(void *ctx, struct sl_rec *r);
void cl_job_done(struct sl_rec *r);
bool cl_job_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void cl_job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply);
void cl_job_status_done(struct cl_job_status *s);

/* ---- pods.c ---- */
bool cl_job_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
void cl_job_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                          const struct sl_kube_reply *reply);
/* The finalizer may go. */
void cl_job_untrack(struct cl_pod *p);
/* To be ended without being counted: the finalizer goes first. */
void cl_job_delete_uncounted(struct cl_job *j, struct cl_pod *p);
/* To be ended, and counted as failed if it fails. */
void cl_job_stop_pod(struct cl_job *j, struct cl_pod *p);
/* One more pod; index JOB_NONE: without. 'before' is the failed pod of the same index that it
 * replaces; NULL. */
void cl_job_add_pod(struct sl_cluster *c, struct cl_job *j, int32_t index,
                    const struct cl_pod *before);
/* Does its selector choose this pod of it? */
bool cl_job_owns(const struct cl_job *j, struct cl_pod *p);
/* It is no longer one of the Job's, and is not counted. */
void cl_job_release_pod(struct cl_pod *p);
/* Plans the adoption of all pods without a controller that it selects. */
void cl_job_adopt_pods(struct sl_cluster *c, struct cl_job *j);
/* In the list of those that choose by other labels than their uid, or not. */
void cl_job_list(struct sl_cluster *c, struct cl_job *j, bool listed);
/* The order in which running pods are given up: those that did least come first. */
int cl_job_pod_rank(const void *a, const void *b);

/* ---- policy.c ---- */
enum cl_job_failure_action { JOB_COUNT, JOB_IGNORE, JOB_FAIL_INDEX, JOB_FAIL_JOB };
/* The action of the failure policy for a failed pod. FAIL_JOB: why gets the message. */
enum cl_job_failure_action cl_job_failure_action(const struct cl_job *j, const struct cl_pod *p,
                                                 struct sl_buf *why);
/* The rule of the success policy that is met, -1: none. */
int32_t cl_job_success_rule(const struct cl_job *j, const struct cl_indexes *succeeded);

/* ---- sync.c ---- */
/* Reconciles a Job that is not finished; leaves 'desired' and marks what is to be done. */
void cl_job_sync(struct sl_cluster *c, struct cl_job *j);

/* ---- cronjob.c ---- */
struct cl_cronjob;
#include "cluster/controllers/job/cron.h"

struct cl_cron_ref {
    char *name, *uid;
};

struct cl_cronjob {
    struct sl_rec rec;
    char *schedule_text, *zone; /* zone NULL: not given */
    char *template;             /* spec.jobTemplate */
    struct sl_cron schedule;
    struct cl_cron_zone *tz;
    int64_t starting_deadline, keep_ok, keep_failed; /* JOB_NONE: not set */
    bool suspend, forbid, replace, bad;
    bool over_limit; /* more are active than are followed: it is left alone */
    uint64_t spec;
    /* status, observed */
    SL_VEC(struct cl_cron_ref) active;
    sl_time last_schedule, last_success;
    /* status, desired */
    SL_VEC(struct cl_cron_ref) desired_active;
    sl_time desired_schedule, desired_success;
    sl_time starting; /* of the job that is planned; 0: none is */
};
static inline struct cl_cronjob *cl_cron_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_cronjob, rec);
}
bool cl_cron_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_cron_changed(void *ctx, struct sl_rec *r);
void cl_cron_done(struct sl_rec *r);
bool cl_cron_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool cl_cron_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
void cl_cron_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                           const struct sl_kube_reply *reply);

#endif
