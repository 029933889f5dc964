/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/fluxqueue: what FluxJobs wrap, other than single pods: Jobs, sets, groups
 * of pods, and what namespaces add to the pods of a template.
 */
#ifndef SL_MANAGER_FLUXQUEUE_FQ_OBJECT_H
#define SL_MANAGER_FLUXQUEUE_FQ_OBJECT_H

#include "kube/informer/informer.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

struct fq_job;
struct fq_pod;
struct fq_usage;
struct fq_where;
struct sl_fluxqueue;

/* ---- what is wrapped, other than pods (objects.c) ---- */

/* What an object asks for. */
struct fq_asked {
    char *jobspec;                 /* NULL: it has none */
    struct fq_jobspec_parts parts; /* of it */
    struct fq_usage *usage;        /* of one pod; NULL: not known */
};

struct fq_obj {
    struct sl_rec rec;
    char *jobspec; /* NULL: it has none */
    char *refused; /* why */
    char *claims;  /* of volumes, that all of its pods have: names in lines; NULL: none */
    struct fq_where *own_where;    /* of a jobspec that is its owner's own (own.c) */
    struct fq_jobspec_parts parts; /* of the jobspec */
    uint32_t pods;                 /* that it has at once */
    uint32_t partition; /* StatefulSets: pods below this number are of the old template */
    uint32_t together;  /* fq_jobspec_options.ret_together */
    uint64_t hash;
    int32_t priority;
    struct fq_usage *usage;   /* of a pod of its template; NULL: it has none */
    char *priority_class;     /* to be looked up; NULL: none */
    bool suspended;           /* Jobs */
    bool finished, failed;    /* Jobs */
    bool ending;              /* Jobs: none of its pods is left */
    bool named;               /* its template has the label of a job id */
    bool told;                /* it has the label of what can never run */
    bool part;                /* ReplicaSets: of a Deployment */
    struct fq_asked template; /* by its template, while it asks for what its pods request */
};

static inline struct fq_obj *fq_obj_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_obj, rec);
}

/* ---- objects.c ---- */
bool fq_obj_wanted(void *ctx, yyjson_val *o);
bool fq_obj_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_obj_reconcile(void *ctx, struct sl_rec *r);
void fq_obj_deleted(void *ctx, struct sl_rec *r);
void fq_obj_free(struct sl_rec *r);
uint32_t fq_obj_lane(const struct sl_rec *r);
bool fq_obj_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* The body of its FluxJob; of pods, too. */
bool fq_obj_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
void fq_obj_child_written(void *ctx, struct sl_rec *r, struct sl_rec *child, enum sl_written how,
                          const struct sl_kube_reply *reply);
bool fq_class_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
struct fq_class {
    struct sl_rec rec;
    int32_t value;
    bool global;
};
/* The label of what can never run, on an object that has it or not. False: it is right. */
bool fq_build_told(const struct fq_job *j, const struct sl_rec *r, bool told, struct sl_write *w);
/* Type of a FluxJob for what a record is. */
enum sl_flux_type fq_type_of_rec(const struct sl_rec *r);
/* "a-job": the name of the FluxJob of an object. Returns out. */
const char *fq_job_name(enum sl_flux_type type, const char *object, char out[SL_REC_NAME]);
/* The FluxJob of an object; NULL: there is none, or only a planned one. */
struct fq_job *fq_job_for(const struct sl_fluxqueue *q, const struct sl_rec *object);
/* The object that a pod belongs to: itself, its Job, its set; NULL: it is none of ours. */
struct sl_rec *fq_pod_object(const struct sl_fluxqueue *q, struct fq_pod *p);
/* None of its pods has a place yet, and all request the same, which is more than its template does,
 * since others have added to them: its jobspec is made of theirs. A set that was changed may have
 * pods of another template: nothing is made of these. Returns whether it is now. */
bool fq_obj_follow_pods(struct sl_fluxqueue *q, const struct fq_job *j, struct sl_rec *o);
/* A FluxJob is gone: one that its name is meant for can be made. */
void fq_object_name_freed(struct sl_fluxqueue *q, const struct sl_rec *flux);
/* What it asks for, and why that cannot be a job. Both NULL: it asks for nothing, or that is not
 * known. */
const char *fq_object_jobspec(const struct sl_rec *o);
const char *fq_object_refused(const struct sl_rec *o);
/* Makes its FluxJob, or lets that one look. */
void fq_object_sync(struct sl_fluxqueue *q, struct sl_rec *object);

/* ---- limits.c ---- */
struct fq_limits {
    struct sl_rec rec;
    char *text; /* JSON, as kueue_limits_put_pod reads it; NULL: too long */
    bool known;
};
bool fq_limits_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_limits_deleted(void *ctx, struct sl_rec *r);
void fq_limits_free(struct sl_rec *r);
/* What the pod spec of a template becomes in its namespace, to be freed; NULL: what it is. */
yyjson_doc *fq_limits_apply(const struct sl_fluxqueue *q, sl_sym ns, yyjson_val *spec);
/* The same of what its RuntimeClass says about nodes, alone. */
yyjson_doc *fq_runtime_apply(const struct sl_fluxqueue *q, yyjson_val *spec);

/* ---- groups of pods (groups.c) ---- */

struct fq_group {
    struct fq_obj obj; /* pods: those that have not ended */
    struct fq_pod *first;
    uint32_t n, size, ended, ready;
    bool complete; /* all are there, and wait */
    bool raw;      /* the jobspec is that of their owner */
};

static inline struct fq_group *fq_group_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_group, obj.rec);
}

/* ---- groups.c ---- */
/* The group that a pod says it belongs to. */
void fq_group_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o);
/* A pod is gone. */
void fq_group_leave(struct sl_fluxqueue *q, struct fq_pod *p);
/* It may have been a job by itself before it came to the group: that one has to know of its end. */
void fq_group_left(struct sl_fluxqueue *q, const struct fq_pod *p);
void fq_group_reconcile(void *ctx, struct sl_rec *r);
void fq_group_free(struct sl_rec *r);
/* It is not to be submitted: members are missing, or something is wrong with them. */
bool fq_group_waits(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o);
/* Its FluxJob is not needed any more, and is deleted. 'o' is the group; NULL: it has no members. */
bool fq_group_over(struct sl_fluxqueue *q, struct fq_job *j, struct sl_rec *o);
/* Members get the label of what can never run, or lose it. */
void fq_group_mark(const struct fq_job *j, struct sl_rec *o);
/* A pod that gets no place of its job; and, if it may, its kind. */
bool fq_group_leaves_out(const struct sl_fluxqueue *q, const struct fq_job *j, struct fq_pod *p);

#endif
