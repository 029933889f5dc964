/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods: one record for all controllers. The record has the fields that decisions depend on; the
 * text of the spec is not stored. Private to src/cluster/controllers.
 *
 * Several controllers may have something to write to a pod: they are called in turn (pod.c:
 * writers), one write at a time.
 */
#ifndef SL_CLUSTER_CONTROLLERS_CORE_POD_H
#define SL_CLUSTER_CONTROLLERS_CORE_POD_H

#include "cluster/controllers/core/adopt.h"
#include "core/base/collection/hash.h"

#define POD_NO_INDEX (-1)

enum cl_pod_phase {
    CL_POD_PENDING,
    CL_POD_RUNNING,
    CL_POD_SUCCEEDED,
    CL_POD_FAILED,
    CL_POD_UNKNOWN
};

/* A revision's name as a number: pods bring any text as label. "" and none are the same. */
static inline uint64_t cl_revision(const char *name) {
    return name && *name ? sl_hash_str(3, name) | 1 : 0;
}

/* Compared as bytes: whatever differs marks the pod and its controller. */
struct cl_pod_facts {
    sl_time ready_since;    /* transition of condition Ready while it is True; 0: it is not */
    sl_time started;        /* status.startTime */
    sl_time finished;       /* when the last of its containers ended; 0: unknown */
    int64_t deletion_cost;  /* annotation controller.kubernetes.io/pod-deletion-cost */
    uint64_t labels;        /* hash */
    uint64_t net;           /* hash of the text of that name */
    uint64_t failure;       /* hash of the input of a failure policy */
    sl_sym node;            /* spec.nodeName */
    sl_sym target;          /* the node that its affinity names by metadata.name */
    uint64_t revision;      /* cl_revision of the label controller-revision-hash */
    int32_t restarts;       /* of all containers */
    int32_t index;          /* annotation batch.kubernetes.io/job-completion-index */
    int32_t index_failures; /* annotation batch.kubernetes.io/job-index-failure-count; 0: absent */
    int32_t index_ignored;  /* ... job-index-ignored-failure-count */
    uint8_t phase;          /* enum cl_pod_phase */
    bool gated;             /* has scheduling gates */
    bool tracked;           /* finalizer batch.kubernetes.io/job-tracking */
    bool disrupted;         /* condition DisruptionTarget is True */
    bool unschedulable;     /* condition PodScheduled is False with reason Unschedulable */
    bool gate_reported;     /* ... with reason SchedulingGated */
    uint8_t none[2]; /* always 0: two of these are compared as bytes, so there are no holes */
};

struct cl_pod {
    struct sl_rec rec;
    struct cl_pod_facts f;
    char *labels;     /* JSON map; NULL: none */
    char *net;        /* of one with an address: what its endpoints need; NULL: none */
    char *finalizers; /* others than the tracking one, an array of JSON; NULL: none */
    char *failure;    /* of a failed one:
                         {"codes":[{"name":…,"code":1,"init":false}],"conditions":{type:status}} */
    /* cluster/scheduler/scheduler.c */
    struct sched_pod *sched; /* NULL: not to be placed, and not counted on a node */
    /* job/job.h */
    uint64_t chosen; /* hash of its labels and the selector of its Job, if that chooses it */
    sl_time
        ended; /* when it was first observed to have ended, or by its containers; 0: it has not */
    uint32_t job_sync;     /* the reconcile of its Job that found it among the uncounted */
    bool untrack;          /* the finalizer may go */
    bool delete_uncounted; /* to be deleted once the finalizer is gone */
    bool delayed; /* keeps its finalizer until it is replaced: it carries the failures of its index
                   */
    /* apps */
    struct cl_adoption adopt;
    /* network/network.h */
    uint64_t net_seen; /* hash of what its Services know of it */
    bool served;       /* Services know it by its labels */
};

static inline struct cl_pod *cl_pod_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct cl_pod, rec);
}
static inline bool cl_pod_ended(const struct cl_pod *p) {
    return p->f.phase == CL_POD_SUCCEEDED || p->f.phase == CL_POD_FAILED;
}
/* Neither ended nor about to go. A planned one counts. */
static inline bool cl_pod_active(const struct cl_pod *p) {
    return !cl_pod_ended(p) && !p->rec.deleting && !p->rec.delete_planned && !p->delete_uncounted;
}

/* One part's write to a pod. */
struct cl_pod_writer {
    bool (*build)(struct sl_cluster *c, struct cl_pod *p, struct sl_write *w);
    void (*written)(struct sl_cluster *c, struct cl_pod *p, const struct sl_write *w,
                    enum sl_written how,
                    const struct sl_kube_reply *reply); /* NULL: nothing to do */
};

bool cl_pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void cl_pod_changed(void *ctx, struct sl_rec *r);
void cl_pod_gone(void *ctx, struct sl_rec *r);
void cl_pod_done(struct sl_rec *r);
void cl_pod_hold(struct sl_syms *t, struct sl_rec *r);
bool cl_pod_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void cl_pod_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply);

/*
 * The body of a pod created from a template (JSON text of a PodTemplateSpec): labels, annotations
 * and finalizers of the template, the owner reference, name and generateName, the spec. Changes by
 * the controller are given here; each may be NULL.
 */
struct cl_pod_body {
    const char *template; /* text */
    const struct sl_rec *owner;
    const char *name, *generate_name;
    const char *finalizer;
    void (*edit)(void *ctx, yyjson_mut_doc *d,
                 yyjson_mut_val *pod); /* with metadata and spec in place */
    void *ctx;
};
bool cl_pod_put(struct sl_jw *j, const struct cl_pod_body *p);
/* The text of a template that pods can be made from; NULL if it is none. To be freed. */
char *cl_pod_template(yyjson_val *template);
/* Sets metadata.labels[key] or metadata.annotations[key] in an edit. Strings are copied. */
void cl_pod_set(yyjson_mut_doc *d, yyjson_mut_val *pod, const char *map, const char *key,
                const char *value);

/* ---- job/pods.c ---- */
extern const struct cl_pod_writer cl_job_pod_writer;
/* Its Job, if any, may have to take its finalizer away. */
void cl_job_pod_changed(struct sl_cluster *c, struct cl_pod *p);
void cl_job_pod_gone(struct sl_cluster *c, struct cl_pod *p);
/* "finalizers": what they become with an adoption or release that is due; or nothing. */
void cl_job_put_finalizers(const struct sl_cluster *c, const struct cl_pod *p, struct sl_jw *j);

/* Whether a pod of a DaemonSet belongs on a node: not; not if it were not there; it does. */
enum cl_daemon_fit { CL_FIT_NO, CL_FIT_STAYS, CL_FIT_RUNS };

/* The scheduler as the controllers call it: it shares their informer, and with it the records of
 * pods and namespaces. */
struct cl_scheduler {
    struct cl_part part;
    struct sl_rec_kind node; /* the kind, as it reads nodes */
    const char *(*node_label)(const struct sl_rec *node, const char *key); /* NULL: it has none */
    /* What nodes mean to pods with this spec; to be freed. */
    void *(*class_of)(struct sl_cluster *c, yyjson_val *pod, sl_sym ns);
    void (*class_free)(struct sl_cluster *c, void *class);
    enum cl_daemon_fit (*class_fit)(const void *class, const struct sl_rec *node);
    struct cl_pod_writer pod_writer;
    void (*pod_decode)(struct sl_cluster *c, struct cl_pod *p, yyjson_val *o);
    void (*pod_changed)(struct sl_cluster *c, struct cl_pod *p);
    void (*pod_gone)(struct sl_cluster *c, struct cl_pod *p);
    void (*pod_hold)(struct sl_syms *t, const struct cl_pod *p); /* symbols of p->sched */
    void (*namespaces_changed)(struct sl_cluster *c);            /* labels of one */
    /* Marks the symbols that it holds besides; at the end of an iteration, drops those of its own
     * that are not in use. */
    void (*hold)(const struct sl_cluster *c, struct sl_syms *t);
    void (*sweep)(struct sl_cluster *c);
};

#endif
