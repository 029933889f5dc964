/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: those of batch/v1, and all kinds that a row describes (manager/jobkinds). A Job with a
 * queue gets a Workload, runs while that is admitted, is stopped when it is not, and reports its
 * progress to the Workload.
 *
 * Reconciliation is level-triggered: mgr_job_plan computes the phase of a Job and its next write,
 * from the current records and nothing else. mgr_job_changed acts on the Workload, mgr_job_build
 * makes the body of the write that is due. Starting and stopping follow the stored state of a
 * Workload ('seen'), never pending changes.
 *
 * 100,000 Jobs are expected, so a record is small: the pod template is shared, rare fields are in
 * 'more', and the text of a new Workload ('draft') is held only until that exists. A Job that is
 * not managed has neither. A job of a row has its podsets and what its row says of its state in
 * 'many'; all else is one code.
 */
#ifndef SL_MANAGER_CONTROLLERS_JOB_JOB_H
#define SL_MANAGER_CONTROLLERS_JOB_JOB_H

#include "manager/controllers/workload/workload.h"
#include "manager/jobkinds/jobkinds.h"

#define JOB_GROUP "batch"
#define JOB_API_VERSION "batch/v1"
#define JOB_KIND "Job"
#define JOB_PODSET "main"
#define JOB_MAX_SLICES 64u /* not finished, of one elastic Job */

#define JOB_ELASTIC "kueue.x-k8s.io/elastic-job"
#define JOB_GATED_BY "kueue.x-k8s.io/admission-gated-by"
#define JOB_STOPPING "kueue.x-k8s.io/stopping"
#define JOB_WORKLOAD_MARK "kueue.x-k8s.io/workload"
#define JOB_REPLACEMENT "kueue.x-k8s.io/workload-slice-replacement-for"
#define JOB_SLICE_MARK "kueue.x-k8s.io/workload-slice-name"

/* What is written for a Job, one at a time. */
enum mgr_job_step {
    JOB_REST,
    JOB_READ,          /* GET: its template is needed and not cached */
    JOB_CREATE,        /* POST of its Workload */
    JOB_SUSPEND_CHILD, /* its ancestor's Workload is not admitted */
    JOB_INJECT,        /* a TrainJob's patch, before its start */
    JOB_START,
    JOB_STOP,    /* the three stages of stopping */
    JOB_RESET,   /* status.startTime, so that the template may be changed */
    JOB_WAIT,    /* nothing yet: its template may not be changed before its pods are gone */
    JOB_RESTORE, /* the template as it was before the start */
    JOB_RESIZE,  /* counts of its Workload: an elastic Job has grown or shrunk */
    JOB_DELETE,  /* deactivated by us, and retained long enough */
    JOB_STEPS,
};

/* Phase of a Job. From JOB_WL_FINISHED on it has its Workload. */
enum mgr_job_phase {
    JOB_IGNORED,         /* not ours, or something to judge it by is missing */
    JOB_UNREADABLE,      /* its podsets cannot be read */
    JOB_TOO_DEEP,        /* owned by too many above it */
    JOB_TOO_MANY_SLICES, /* has too many slices */
    JOB_CHILD,           /* of a Job that is ours */
    JOB_ORPHANS,         /* being deleted: its Workloads lose their owner */
    JOB_UNMATCHED,       /* Workloads that do not fit are in the way */
    JOB_ADOPTING,        /* its prebuilt Workload does not know it yet */
    JOB_OUT_OF_SYNC,     /* its prebuilt Workload is for something else */
    JOB_NO_WORKLOAD,     /* no Workload */
    JOB_WL_FINISHED,     /* the Workload is finished */
    JOB_WL_DELETING,     /* the Workload is being deleted */
    JOB_FINISHED,        /* the Job is finished, its Workload not */
    JOB_EVICTED,
    JOB_WAITING, /* suspended, not admitted */
    JOB_READY,   /* suspended and admitted: to be started */
    JOB_RUNNING, /* started and admitted, or to be stopped because it is not */
};

struct mgr_job_plan {
    enum mgr_job_phase phase;
    enum mgr_job_step step;
    struct mgr_rec_wl *wl; /* the one that fits; when stopping, the one to restore from; or NULL */
    const char *why;       /* when stopping: the message. Borrowed from the records */
};

/* Annotations of a template that name a Workload and a slice; NULL: absent. */
struct mgr_job_marks {
    char *wl, *sl;
};

/* What few Jobs have. */
struct mgr_job_more {
    int32_t min_parallelism; /* -1: absent */
    int32_t max_exec_s;      /* -1: absent */
    bool sync_completions;
    bool elastic;
    char *prebuilt, *gate; /* NULL: absent */
    struct mgr_job_marks marks;
};

/* The parts of a template that an admission adds to. */
enum mgr_job_part {
    JOB_ANNOTATIONS,
    JOB_LABELS,
    JOB_SELECTOR,
    JOB_TOLERATIONS,
    JOB_GATES,
    JOB_PARTS,
};

/* A podset of a job of a row. */
struct mgr_job_podset {
    sl_sym name, at; /* at: JSON pointer of where an admission is written */
    int32_t count;
    int32_t reclaimable;
    struct mgr_template *template;
    struct mgr_job_marks marks;
    char *made;             /* the template as JSON, where none stands in the object; NULL */
    bool there;             /* where an admission is written there is something */
    uint8_t form;           /* enum sl_jobkind_form */
    uint8_t has[JOB_PARTS]; /* of each part: how many steps of its path exist */
};

/* Of a job of a row. */
struct mgr_job_many {
    char *priority_class; /* of its kind's own field, or of its pods; "" */
    char *fault;          /* why its podsets cannot be read; then there are none. NULL: they are */
    int32_t patch;        /* TrainJob: the place of our patch; -1: there is none */
    uint64_t patch_hash;  /* of its jobs; 0: it has none */
    bool patches;         /* there is a list of patches */
    uint8_t suspend_has;  /* how many steps of the path of suspend exist */
    bool ready, reclaims, skipped, clears;
    uint32_t n;
    struct mgr_job_podset v[];
};

/* What a Workload is made of. */
struct mgr_job_draft {
    char *podset; /* members "template" and, with topology-aware scheduling, "topologyRequest" of
                     the podset; of a row: the array of podsets */
    char *labels; /* JSON members with commas, "" for none: those that the configuration names */
    char *annotations; /* likewise: parameters of ProvisioningRequests and those that the
                          configuration names */
};

struct mgr_rec_job {
    struct sl_rec rec;
    struct mgr_template *template; /* NULL: not ours so far, or not read */
    struct mgr_job_draft *draft;
    struct mgr_job_more *more;
    struct mgr_job_many *many;    /* NULL: of batch/v1, or not ours so far, or not read */
    char *owner_name, *owner_uid; /* of the controller; NULL: none */
    char *message;                /* of the condition that finished it; NULL: unfinished */
    char *note;                   /* of the event when the write in flight is done */
    uint64_t digest;              /* of everything here that was decoded */
    sl_time pause;                /* mono: nothing is written before */
    sl_sym owner_api, owner_kind;
    sl_sym queue, priority_class;
    int32_t parallelism, completions; /* completions -1: absent */
    int32_t active, ready, succeeded, uncounted;
    int32_t indexes; /* completed indexes below completions */
    uint32_t
        reported; /* hash of the last note about admission checks; or that it is nested too deep */
    bool known;   /* in the indexes of the manager */
    bool suspend, stopping, indexed_mode, started, failed;
    bool starting; /* a start was sent, and it is not known what became of it */
    bool injected; /* a TrainJob's patch was written since it was suspended */
    uint8_t step;  /* in flight, enum mgr_job_step */
};

static inline struct mgr_rec_job *mgr_job_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct mgr_rec_job, rec);
}

/* ---- kind.c: rows as kinds of the informer ---- */
/* Of jobs: batch/v1 or a row. */
static inline bool mgr_is_job(const struct sl_rec *r) {
    return r->kind == REC_JOB || r->kind >= REC_KINDS;
}
/* The kinds of the informer, those of records.h first; *ret_n of them. */
const struct sl_rec_kind *mgr_job_kinds(const struct sl_manager *m, uint32_t *ret_n);
/* NULL: of batch/v1, or of no job. */
const struct sl_jobkind *mgr_job_row(const struct sl_manager *m, uint32_t kind);
/* The kind as ownerReferences name it; REC_NAMESPACE: it is none of jobs. */
uint32_t mgr_job_kind(const struct sl_manager *m, const char *api_version, const char *kind);
/* Goes through all kinds of jobs; *at starts at 0. REC_NAMESPACE ends. */
uint32_t mgr_job_each_kind(const struct sl_manager *m, uint32_t *at);
/* Its controller runs; its objects are read. */
bool mgr_job_runs(const struct sl_manager *m, uint32_t kind);
bool mgr_job_is_read(const struct sl_manager *m, uint32_t kind);
/* Its queue counts for those that it owns. */
bool mgr_job_enabled(const struct sl_manager *m, uint32_t kind);
/* An owner of this kind was seen: reads it from now on, if it is one of ours. */
void mgr_job_need(struct sl_manager *m, const char *api_version, const char *kind);
/* What events of this job come from. */
const char *mgr_job_controller(const struct sl_manager *m, const struct mgr_rec_job *j);

/* The namespace with ConfigMaps of users' rows, before the informer is made. */
void mgr_job_rows_in(struct sl_manager *m, const char *ns);

/* ---- user_rows.c: rows of users ---- */
void mgr_job_rows_changed(void *ctx, struct sl_rec *r);
void mgr_job_rows_gone(void *ctx, struct sl_rec *r);
/* Returns whether anything was done. */
bool mgr_job_rows_turn(struct sl_manager *m);

/* ---- many.c: jobs of rows ---- */
/* ours: it has a queue, or needs none. */
void mgr_job_take_row(struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o, bool ours);
void mgr_job_many_drop(struct sl_manager *m, struct mgr_rec_job *j);
void mgr_job_many_free(struct mgr_job_many *many); /* templates went before */
uint64_t mgr_job_many_digest(uint64_t h, const struct mgr_job_many *many);
/* Podsets of any job, once it is read. */
static inline bool mgr_job_is_read_in(const struct mgr_rec_job *j) {
    return j->template || j->many;
}
static inline uint32_t mgr_job_n_podsets(const struct mgr_rec_job *j) {
    return j->many ? j->many->n : j->template ? 1 : 0;
}
static inline struct mgr_template *mgr_job_template(const struct mgr_rec_job *j, uint32_t i) {
    return j->many ? j->many->v[i].template : j->template;
}
int32_t mgr_job_count_of(const struct mgr_rec_job *j, uint32_t i);
const char *mgr_job_pod_class(const struct mgr_rec_job *j);
const struct mgr_job_marks *mgr_job_marks_of(const struct mgr_rec_job *j, uint32_t i);

/* ---- place.c: what an admission adds, as a JSON patch ---- */
/* Both return false if there is nothing to write any more, or it can never be written. */
bool mgr_job_build_row_start(struct sl_manager *m, struct mgr_rec_job *j,
                             const struct mgr_rec_wl *from, struct sl_write *w);
void mgr_job_build_row_stop(struct sl_manager *m, const struct mgr_rec_job *j,
                            const struct mgr_rec_wl *from, struct sl_write *w);
/* "spec":{"suspend":true} as the row has it, within an object. */
void mgr_job_put_suspend(const struct sl_manager *m, const struct mgr_rec_job *j,
                         struct sl_jw *out);

/* ---- train.c: TrainJobs ---- */
/* To be freed by the caller; NULL: there is none. */
yyjson_doc *mgr_train_runtime(const struct sl_manager *m, const char *ns,
                              const struct sl_jobkind_need *need);
void mgr_train_changed(void *ctx, struct sl_rec *r);
void mgr_train_take(struct mgr_job_many *many, yyjson_val *o);
bool mgr_job_is_train(const struct mgr_rec_job *j);
/* What the admission adds has to be written before the start; was written, and is to be taken
 * back. */
bool mgr_train_lacks_patch(const struct sl_manager *m, const struct mgr_rec_job *j,
                           const struct mgr_rec_wl *from);
bool mgr_train_has_patch(const struct mgr_rec_job *j);
/* False: it can never be written. */
bool mgr_train_build_patch(const struct sl_manager *m, const struct mgr_rec_job *j,
                           const struct mgr_rec_wl *from, struct sl_write *w);
void mgr_train_build_restore(const struct mgr_rec_job *j, struct sl_write *w);

/* ---- job.c: the kind ---- */
bool mgr_job_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void mgr_job_gone(void *ctx, struct sl_rec *r);
void mgr_job_done(struct sl_rec *r);
void mgr_job_hold_names(struct sl_syms *t, struct sl_rec *r);
/* Will a Workload be made of it, so that its text is to be kept? */
bool mgr_job_wants_draft(const struct sl_manager *m, const struct mgr_rec_job *j);
/* A whole decimal number as Go's strconv reads it; otherwise 'fallback'. */
int32_t mgr_parse_go_int(const char *s, int32_t fallback);
/* The label max-exec-time-seconds; -1: absent or wrong. */
int32_t mgr_job_max_exec(yyjson_val *o);
/* Of a job or a pod; "": none is named. */
const char *mgr_job_prebuilt_name(const struct sl_manager *m, yyjson_val *o);
/* "true" and its like, as Go's strconv reads them. */
bool mgr_parse_go_bool(const char *s);
/* The number of indexes below 'limit' in a list such as "1,3-5,7"; what is malformed does not
 * count. */
int32_t mgr_job_index_count(const char *list, int32_t limit);

/* ---- plan.c: evaluation of the records ---- */
struct mgr_job_plan mgr_job_plan(const struct sl_manager *m, struct mgr_rec_job *j);
/* Whether the Workload matches this Job. The owner is not considered. */
bool mgr_job_fits(const struct sl_manager *m, const struct mgr_rec_job *j,
                  const struct mgr_rec_wl *w);
/* Suspended, and nothing of a stop is left to do. */
static inline bool mgr_job_suspended(const struct mgr_rec_job *j) {
    return j->suspend && !j->stopping;
}
static inline bool mgr_job_elastic(const struct mgr_rec_job *j) {
    return j->more && j->more->elastic;
}
int32_t mgr_job_count(const struct mgr_rec_job *j);
/* 0: no partial admission. */
int32_t mgr_job_min_count(const struct sl_manager *m, const struct mgr_rec_job *j);
/* When a Job that we have deactivated is deleted; SL_TIME_NEVER: not at all. */
sl_time mgr_job_delete_at(const struct sl_manager *m, const struct mgr_rec_wl *w);
/* How many pods of the podset are no longer needed. */
int32_t mgr_job_reclaimable(const struct mgr_rec_job *j);

/* ---- owner.c: ownership ---- */
enum mgr_job_ancestry {
    JOB_ANCESTRY_NONE,     /* no ancestor is managed */
    JOB_ANCESTRY_ANCESTOR, /* the topmost one that is */
    JOB_ANCESTRY_UNCLEAR,  /* an owner does not exist (yet), or they own each other */
    JOB_ANCESTRY_TOO_DEEP,
};
enum mgr_job_ancestry mgr_job_ancestry(const struct sl_manager *m, const struct mgr_rec_job *j,
                                       struct mgr_rec_job **ret);
/* Whether this owner or an ancestor is managed. For admission. */
bool mgr_job_owner_managed(const struct sl_manager *m, const char *ns,
                           const struct sl_review_owner_ref *owner);
void mgr_jobs_new(struct sl_manager *m);
void mgr_jobs_end(struct sl_manager *m);
/* Into and out of the manager's indexes: by uid, by the owner's uid, by the prebuilt Workload's
 * name. Out before any of these changes. */
void mgr_job_index_add(struct sl_manager *m, struct mgr_rec_job *j);
void mgr_job_index_remove(struct sl_manager *m, struct mgr_rec_job *j);
/* Enqueues everything that it owns, transitively. */
void mgr_job_mark_children(struct sl_manager *m, const struct mgr_rec_job *j);
/* Its owner is no more. */
void mgr_job_orphan(struct sl_manager *m, struct mgr_rec_wl *w);
/* A Workload is new, changed, or gone: marks the Jobs that it matters to, and ends it if its owner
 * does not exist. */
void mgr_job_workload_changed(struct sl_manager *m, struct mgr_rec_wl *w, bool gone);

/* ---- slices.c: elastic Jobs ---- */
struct mgr_job_slice {
    struct mgr_rec_wl *current;  /* the slice of the Job; NULL: one has to be created */
    struct mgr_rec_wl *replaced; /* then: the one that it replaces, NULL for the first of a chain */
    bool resize;                 /* the current one is to get the Job's size */
    bool grow;                   /* a larger one is needed besides those that are there */
    bool over_limit;             /* there are too many slices: not reconciled */
    bool foreign; /* its podsets are not a Job's: it is judged like any other Workload */
};
struct mgr_job_slice mgr_job_slice(const struct sl_manager *m, const struct mgr_rec_job *j);
/* Does w name the other one as the slice that it replaces? */
bool mgr_slice_replaces(const struct sl_manager *m, const struct mgr_rec_wl *w,
                        const struct mgr_rec_wl *old);
bool mgr_slice_older(const struct mgr_rec_wl *a, const struct mgr_rec_wl *b);
/* Ends slices that have been replaced, or have no owner. */
void mgr_job_slices_settle(struct sl_manager *m, const struct mgr_rec_job *j);

/* ---- reconcile.c: the pass ---- */
void mgr_job_changed(void *ctx, struct sl_rec *r);

/* ---- patch.c: the bodies ---- */
bool mgr_job_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void mgr_job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                     const struct sl_kube_reply *reply);
/* The whole spec of the Job's Workload, from its draft. False: the priority class does not exist.
 */
bool mgr_job_spec(const struct sl_manager *m, const struct mgr_rec_job *j, bool replace,
                  const char *key, struct sl_jw *out);

/* ---- inject.c: what an admission adds to the pods ---- */
struct mgr_job_extras;
/* What the admission of w adds to the pods of one of its podsets. SL_ENOENT if a
 * flavor is missing (it may be created), SL_EINVAL if it can never succeed. Freed with
 * mgr_job_extras_free. */
int mgr_job_extras_new(const struct sl_manager *m, const struct mgr_rec_wl *w, uint32_t podset,
                       struct mgr_job_extras **ret, struct sl_err *err) _must_check_;
/* Before the fit: do these pods wait for their place with a gate of their own? */
bool mgr_job_extras_gated(const struct mgr_job_extras *x);
void mgr_job_extras_free(struct mgr_job_extras *x);
/* Fits them onto the template: SL_EINVAL if a key has another value already. */
int mgr_job_extras_fit(struct mgr_job_extras *x, const struct mgr_template *t,
                       const struct mgr_job_marks *marks, struct sl_err *err) _must_check_;
/* Hash of the tolerations of a template with these added, as struct mgr_template has it. After
 * mgr_job_extras_fit. */
uint64_t mgr_job_extras_tolerations(const struct mgr_job_extras *x);
/* "metadata" and "spec" of a merge patch for the template. After mgr_job_extras_fit. */
void mgr_job_extras_put(const struct mgr_job_extras *x, struct sl_jw *out);
/* The metadata of a patch of a pod, or its spec besides the gates. After mgr_job_extras_fit. */
void mgr_job_extras_put_pod(const struct mgr_job_extras *x, bool in_spec, struct sl_jw *out);
/* The marks that were not there when this Workload was made. A slice that replaces another was made
 * of a running Job. */
static inline const struct mgr_job_marks *mgr_job_marks(const struct mgr_rec_job *j,
                                                        const struct mgr_rec_wl *w) {
    return w->slice_of ? NULL : mgr_job_marks_of(j, 0);
}
/* The difference from one template's parts to another's, likewise; nothing if there is none. Marks
 * are taken off. */
void mgr_job_restore_put(const struct mgr_template *from, const struct mgr_job_marks *marks,
                         const struct mgr_template *to, struct sl_jw *out);
/* What is written to a part of a template, for place.c. */
struct mgr_job_change {
    yyjson_mut_val *keys;  /* of a map: each is set, or removed if it is null. NULL: none */
    yyjson_mut_val *whole; /* the part as it is to be: a map that has nothing yet, or a list */
    bool drop;             /* it goes */
};
/* After mgr_job_extras_fit onto this template. The values live as long as the extras. */
void mgr_job_extras_changes(const struct mgr_job_extras *x, const struct mgr_template *t,
                            struct mgr_job_change ret[JOB_PARTS]);
/* Without a fit: what the admission adds, and nothing else. */
void mgr_job_extras_alone(const struct mgr_job_extras *x, struct mgr_job_change ret[JOB_PARTS]);
/* The values live in doc. */
void mgr_job_restore_changes(yyjson_mut_doc *doc, const struct mgr_template *from,
                             const struct mgr_job_marks *marks, const struct mgr_template *to,
                             struct mgr_job_change ret[JOB_PARTS]);

/* ---- draft.c: text for Workloads ---- */
/* Of a row, with its podsets. */
void mgr_job_draft_keep_row(const struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o,
                            const struct sl_jobkind_podsets *p);
void mgr_job_draft_keep(const struct sl_manager *m, struct mgr_rec_job *j, yyjson_val *o);
void mgr_job_draft_drop(struct mgr_rec_job *j);

#endif
