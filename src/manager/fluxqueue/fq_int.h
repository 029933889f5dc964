/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/fluxqueue.
 *
 *     jobspec*.c   from objects to jobspecs, and from these to requests: pure
 *     nodes.c      nodes as vertices, and what pods of others take of them
 *     graph.c      the graph from all nodes, with what running jobs have of it
 *     queue.c      jobs that wait: submission, the pass, decisions
 *     places.c     which pod of a job has which of its places
 *     pods.c       pods: decoding, gates, bindings
 *     plain.c      pods that only name our scheduler: queued without a FluxJob
 *     exact.c      places of Workloads that wait for quota (exact.h)
 *     objects.c    Jobs and sets of pods: what each asks for, and its start
 *     job.c        FluxJobs: the life of one
 *     status.c     what a FluxJob shows
 *     history.c    what the ledger gets of it
 *     view.c       what people may see of it
 *     fluxqueue.c  the kinds, the turn
 */
#ifndef SL_MANAGER_FLUXQUEUE_FQ_INT_H
#define SL_MANAGER_FLUXQUEUE_FQ_INT_H

#include "core/base/collection/vec.h"
#include "kube/informer/informer.h"
#include "manager/fluxqueue/fluxqueue.h"
#include "manager/fluxqueue/jobspec.h"

#define FQ_CONTROLLER "fluxqueue"
#define FQ_FINALIZER "fluxqueue/in-use"

/* Ceilings, besides those of jobspec.h. */
#define FQ_MAX_LABELS 256u                  /* of a node; one with more is ignored */
#define FQ_MAX_NODE_TAINTS 64u              /* of a node, that keep pods away */
#define FQ_MAX_RESOURCES 64u                /* of a node or a pod */
#define FQ_MAX_NODE ((size_t)1 << 20)       /* a node while it is decoded */
#define FQ_MAX_COMPILE ((size_t)4 << 20)    /* a jobspec while it is compiled */
#define FQ_MAX_USAGE_TEXT ((size_t)1 << 20) /* requests of a pod */
#define FQ_MAX_MESSAGE 1024u
#define FQ_MAX_LISTED 10000u      /* nodes of a job in its status, as its schema has it */
#define FQ_MAX_SHOWN 256u         /* bytes of nodes in a column */
#define FQ_MAX_RUNS 16u           /* passes of the queue in one turn */
#define FQ_END (INT64_C(1) << 40) /* of the graph's time, seconds */
#define FQ_MAX_ASKS 64u           /* requests of podsets that are kept compiled */
#define FQ_MAX_POSITION 1000u     /* jobs further behind are not told their places */

#define FQ_REBUILD_PAUSE (100 * SL_MSEC) /* between two graphs: nodes come in bursts */
#define FQ_POSITION_PAUSE (5 * SL_SEC)   /* between two writes of places in the queue */
#define FQ_ESTIMATE_PAUSE SL_MINUTE      /* of starts that move, as all do while a job overruns */
#define FQ_OWNER_LATE (10 * SL_SEC)      /* the watch of a pod's controller may be behind */
#define FQ_GROW_PAUSE (2 * SL_SEC)       /* until a job that found no more is tried again */
#define FQ_TELL_AFTER SL_SEC             /* a plain pod that waits so long is told why */

/* Ids of plain pods in the queue begin here; those of FluxJobs are below. */
#define FQ_PLAIN_ID (INT64_C(1) << 56)
/* Those of Workloads in the matcher, and of their podsets while nodes are looked for. */
#define FQ_EXACT_ID (INT64_C(2) << 56)
#define FQ_EXACT_TRY (INT64_C(3) << 56)

enum fq_kind {
    FQ_CLASS, /* PriorityClass */
    FQ_NODE,
    FQ_DEPLOYMENT,
    FQ_REPLICASET,
    FQ_STATEFULSET,
    FQ_JOB,
    FQ_POD,
    FQ_FLUXJOB,
    FQ_MARKED, /* pods that admission marked, until there is one: then all are read */
    FQ_NAMED,  /* the same, by the names of our scheduler */
    FQ_NAMED_SHORT,
    FQ_KINDS,
};

/* ---- nodes (nodes.c) ---- */

struct fq_label {
    sl_sym key, value;
};

struct fq_pool {
    sl_sym resource;
    int64_t allocatable; /* in the units of the graph */
    int64_t foreign;     /* of it, taken by pods that have no place here */
    int64_t standing;    /* of it, requested by all pods that are there, or on their way */
    sl_vtx v;            /* SL_VTX_NONE: not in the graph */
};

struct fq_node {
    struct sl_rec rec;
    SL_VEC(struct fq_label) labels; /* by key */
    SL_VEC(sl_sym) taints;          /* "taint:KEY=VALUE:EFFECT" */
    SL_VEC(struct fq_pool) pools;   /* by name */
    uint64_t hash, structure;       /* of the object; of what decides its vertices */
    bool up, usable;                /* usable: it could be decoded */
    sl_vtx v;                       /* SL_VTX_NONE: not in the graph */
};

/* What a pod requests, interned: pods come from few manifests. */
struct fq_amount {
    sl_sym resource;
    int64_t amount; /* in the units of the graph */
};
struct fq_usage {
    uint64_t hash;
    uint32_t id, refs, n;
    struct fq_amount v[];
};

/* ---- pods (pods.c) ---- */

#define FQ_NO_POD UINT32_MAX
#define FQ_TAG_BIND 2u /* of a write: the binding */

/* What plain pods with the same jobspec ask for, compiled once for a graph. */
struct fq_request {
    uint64_t hash; /* of the text */
    uint32_t id, refs;
    char *text;                        /* the jobspec */
    struct sl_match_request *compiled; /* NULL: not yet for this graph */
    char *refused;                     /* why that is not possible; NULL: it was not tried, or is */
    uint64_t tried, rejected;          /* q->capacity when it was tried again; and rejected */
};

/* Why a plain pod waits. */
enum fq_why {
    FQ_WHY_NOTHING, /* it does not, or it is not known yet */
    FQ_WHY_NO_NODES,
    FQ_WHY_BUSY,
    FQ_WHY_USED, /* by pods of others */
    FQ_WHY_NEVER,
    FQ_WHY_REFUSED, /* the text says why */
    FQ_WHYS,
};

struct fq_pod {
    struct sl_rec rec;
    struct fq_usage *usage; /* NULL: it takes nothing any more */
    char *jobspec;          /* of one that is a job by itself, until it is bound */
    char *refused;          /* why it has none */
    char *gates;            /* a JSON array of the others' gates; NULL: none */
    sl_sym node;            /* that it is bound to */
    sl_sym target;          /* that it is to be bound to */
    sl_sym charged;         /* the node whose pools it is counted at as one of others */
    sl_sym stands;          /* the node that it is counted at in any case */
    int32_t index;          /* completion index; -1: none */
    int32_t priority;
    bool ours;     /* marked by admission, or by its scheduler's name */
    bool binds;    /* by us; else by the scheduler that it names, on the node that we say */
    bool part;     /* its controller is of a kind that is intercepted, and so was that one */
    bool alone;    /* it opted in itself: if there is no such controller after a while */
    bool gated;    /* by us */
    bool ended;    /* Succeeded or Failed */
    bool failed;   /* Failed */
    bool labelled; /* has the label of its job id */
    bool never;    /* it has the label of what can never run */
    bool bound;    /* the API server has accepted its binding, which is not seen yet */
    /* plain.c */
    struct fq_request *request; /* of one that waits; NULL: none */
    uint64_t told;              /* hash of the message of its condition Unschedulable; 0: none */
    uint8_t why;                /* enum fq_why */
    bool plain;                 /* it only names our scheduler: no FluxJob */
    bool queued;                /* waits in the queue, as FQ_PLAIN_ID + its number */
    bool held;                  /* has its place in the matcher, under the same id */
    bool rejected;              /* is tried again when capacity rises */
    /* exact.c */
    sl_sym workload, podset; /* that it is of; 0: none */
    sl_sym host;             /* that its node selector names */
    uint32_t exact, seat;    /* number + 1 of its Workload and of its place there; 0: none */
    bool released;           /* its Workload has given back its places */
    bool leaving;            /* in the list of those that are */
};

/* ---- what is wrapped, other than pods (objects.c) ---- */

struct fq_obj {
    struct sl_rec rec;
    char *jobspec; /* NULL: it has none */
    char *refused; /* why */
    uint32_t pods; /* that it has at once */
    uint64_t hash;
    int32_t priority;
    char *priority_class;  /* to be looked up; NULL: none */
    bool suspended;        /* Jobs */
    bool finished, failed; /* Jobs */
    bool named;            /* its template has the label of a job id */
    bool told;             /* it has the label of what can never run */
    bool part;             /* ReplicaSets: of a Deployment */
};

/* ---- FluxJobs (job.c, status.c) ---- */

enum fq_state {
    FQ_PENDING,
    FQ_WAITING,
    FQ_RESERVED,
    FQ_RUNNING,
    FQ_COMPLETED,
    FQ_FAILED,
    FQ_CANCELLED,
    FQ_REJECTED,
    FQ_STATES,
};

struct fq_place {
    sl_sym node;
    uint32_t pod; /* the number of its record; FQ_NO_POD: free */
};

/* Numbers of the last events in the ledger; 0: none. */
struct fq_recorded {
    int64_t submit, reserve, unreserve, start, end, reject;
    uint32_t size;
};

struct fq_exact;
struct fq_ask;

struct fq_job {
    struct sl_rec rec;
    /* as it says */
    char *jobspec, *object, *queue;
    enum sl_flux_type type;
    int32_t priority;
    uint64_t spec;       /* hash */
    int64_t generation;  /* as observed */
    uint64_t status;     /* hash of the status as observed */
    uint64_t our_status; /* of the one after our last write */
    /* as decided */
    enum fq_state state;
    enum sl_selection selection;
    int64_t jobid;                                  /* 0: none yet */
    sl_time submitted, started, finished, estimate; /* wall; 0: none */
    uint32_t position;                              /* from 1; 0: none */
    const char *reason;                             /* a constant */
    char *message;
    SL_VEC(struct fq_place) places; /* by node, in the order of the graph's nodes at their time */
    uint32_t expected, bound_pods;
    /* what of that has been written */
    uint32_t version, sent, written; /* of all above */
    uint32_t places_version;         /* when the places changed */
    sl_time reserved;                /* wall: when it is to start; 'estimate' shows it */
    bool adopted;                    /* its status has been read */
    /* in the matcher and the queue */
    bool queued;                 /* waits there */
    bool held;                   /* has its places there */
    uint64_t queued_hash;        /* of what was submitted */
    struct fq_slot_amount *slot; /* one pod; owned, texts too */
    uint32_t n_slot;
    bool whole_nodes;
    int64_t duration;
    int64_t begin;     /* seconds since 1970, of the spec; 0: none */
    uint64_t rejected; /* q->capacity when it did not fit even if all jobs had ended; 0: not so */
    sl_time grow_at;   /* mono: not before */
    struct fq_recorded recorded;
    uint32_t missing; /* pods that have no place */
};

/* ---- the whole ---- */

struct sl_fluxqueue {
    struct sl_fluxqueue_spec spec;
    struct sl_kube_client *client;
    struct sl_informer *inf;
    struct fq_jobspec_options options; /* of the settings, as are these: */
    struct fq_level levels[FQ_MAX_LEVELS];
    struct sl_match_policy policy;
    struct sl_match *match;      /* NULL: no nodes */
    struct sl_match *bare;       /* the same without anybody; NULL: to be made when it is needed */
    struct sl_queues *queues;    /* over it */
    struct fq_universe universe; /* of the graph */
    SL_VEC(uint32_t) by_vertex;  /* the number of the node's record; UINT32_MAX: none */
    struct sl_map by_jobid;      /* -> the number of the FluxJob's record */
    SL_VEC(struct fq_usage *) usages;
    SL_VEC(uint32_t) free_usages;
    struct sl_map usages_by_hash;
    SL_VEC(struct fq_request *) requests; /* of plain pods; NULL: free */
    SL_VEC(uint32_t) free_requests;
    struct sl_map requests_by_hash;
    SL_VEC(uint32_t) rejected;        /* plain pods, by the numbers of their records */
    bool retrying;                    /* some of them are tried again */
    SL_VEC(struct fq_exact *) exacts; /* places of Workloads; NULL: free */
    SL_VEC(uint32_t) free_exacts;
    struct sl_map exact_by_key, exact_by_name;
    struct sl_map pods_by_workload; /* hash(namespace, name) -> numbers of their records */
    SL_VEC(uint32_t) leaving;       /* pods that count as others' and are on their way out */
    struct fq_ask *asks;            /* FQ_MAX_ASKS of them; NULL: none yet */
    uint32_t next_ask;              /* the one that goes next */
    uint64_t freed;                 /* rises with all that was given back, beside 'capacity' */
    bool unobserved;                /* places of Workloads are not all known yet */
    bool yields; /* what a Workload had is free: it is offered to other Workloads first */
    sl_decisions decisions;
    bool taints_changed; /* nodes have one that they had not: jobspecs depend on them */
    int64_t last_jobid;
    uint64_t capacity;  /* rises with all that may make a rejected job possible */
    uint64_t retried;   /* the same, when rejected jobs were tried again */
    sl_time rebuilt_at; /* mono */
    bool rebuild;       /* the graph is not that of the nodes any more */
    bool restoring;     /* it is being made: pools are as large as can be */
    bool moved;         /* something happened that the queue has to look at */
    bool unranked;      /* no pass was made on this graph yet: reservations are not in it */
    bool reordered;     /* places in the queue, or estimates, are to be shown again */
    bool showing;       /* and are shown now */
    sl_time shown_at, estimated_at; /* mono: when they were */
    bool leads;
    bool in_use; /* there is something to queue: nodes and all pods are read */
};

static inline struct fq_node *fq_node_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_node, rec);
}
static inline struct fq_pod *fq_pod_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_pod, rec);
}
static inline struct fq_obj *fq_obj_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_obj, rec);
}
static inline struct fq_job *fq_job_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_job, rec);
}
static inline const char *fq_str(const struct sl_fluxqueue *q, sl_sym y) {
    return sl_inf_str(q->inf, y);
}
/* The whole seconds of now, in which the graph counts. */
static inline int64_t fq_now(const struct sl_fluxqueue *q) {
    return q->client->wall / SL_SEC;
}
/* The order of submissions, of jobs and of plain pods: by whole seconds, as the API has them, then
 * by a number that stays. */
static inline int64_t fq_order(sl_time submitted, uint64_t number) {
    return (submitted / SL_SEC) << 24 | (int64_t)(number & 0xffffff);
}
void fq_set_text(char **to, const char *text);

/* ---- nodes.c ---- */
bool fq_node_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_node_deleted(void *ctx, struct sl_rec *r);
void fq_node_free(struct sl_rec *r);
void fq_node_hold(struct sl_syms *t, struct sl_rec *r);
struct fq_node *fq_node_find(const struct sl_fluxqueue *q, sl_sym name);
/* Counts a pod at the node that it is bound to, or no longer (on: 0). */
void fq_pod_charge(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym on);
/* Where it is to be bound to; 0: nowhere yet. */
void fq_pod_target(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym node);
/* Counts it where it is, or is on its way to. */
void fq_pod_stand(struct sl_fluxqueue *q, struct fq_pod *p);
/* Has a node what the pod requests, beside all that are there? A place may be one on a node that
 * shrank since, that others filled, or that one before has not left yet. */
bool fq_node_has_room(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_sym node);
/* The pool of a resource; NULL: the node has none. */
struct fq_pool *fq_pool_find(struct fq_node *n, sl_sym resource);
/* The size of a pool in the graph: what pods of others leave of it. */
int64_t fq_pool_size(const struct fq_pool *p);
/* An amount of a resource of Kubernetes in the units of the graph, rounded up or down; the type of
 * its vertices. */
int64_t fq_units(const char *resource, sl_quantity amount, bool up);
const char *fq_type_of(const char *resource);
/* The same without telling anybody: for a question, to be taken back. */
void fq_pod_shift(struct sl_fluxqueue *q, struct fq_pod *p, int sign);
/* The value of its label kubernetes.io/hostname; 0: it has none. */
sl_sym fq_hostname(const struct sl_fluxqueue *q, const struct fq_node *n);
struct fq_usage *fq_usage_get(struct sl_fluxqueue *q, yyjson_val *pod_spec);
void fq_usage_unref(struct sl_fluxqueue *q, struct fq_usage *s);

/* ---- graph.c ---- */
/* Makes the graph anew, with what running jobs have, and submits those that wait. */
void fq_graph_rebuild(struct sl_fluxqueue *q);
void fq_graph_free(struct sl_fluxqueue *q);
/* Could it ever run on these nodes, if nobody else were there? */
bool fq_graph_could(struct sl_fluxqueue *q, const struct sl_match_request *r);
void fq_graph_free_bare(struct sl_fluxqueue *q);
/* Puts the places of a job into the matcher, in place of what it had there. */
void fq_graph_hold(struct sl_fluxqueue *q, struct fq_job *j);
/* What the matcher has under this id, if anything, is free. */
void fq_graph_cancel(struct sl_fluxqueue *q, int64_t jobid);
/* Takes everything of a job out of the matcher and the queue. */
void fq_graph_release(struct sl_fluxqueue *q, struct fq_job *j);

/* ---- queue.c ---- */
/* The job is known by this id; 0: by none. */
void fq_name_job(struct sl_fluxqueue *q, struct fq_job *j, int64_t jobid);
/* Its request: for all of it (pods 0), or for so many pods more. */
int fq_compile(struct sl_fluxqueue *q, struct fq_job *j, uint32_t pods, struct sl_arena *a,
               struct fq_jobspec_info *info, struct sl_match_request **ret,
               struct sl_err *err) _must_check_;
void fq_submit(struct sl_fluxqueue *q, struct fq_job *j);
/* The node that a vertex is part of, by its name; 0: none. */
sl_sym fq_node_at(struct sl_fluxqueue *q, sl_vtx v);
/* Those that were rejected are tried again if they might fit now. */
void fq_retry_rejected(struct sl_fluxqueue *q);
/* One pass, if one is due. Returns whether anything was decided. */
bool fq_run(struct sl_fluxqueue *q);
/* More places for a job that runs. */
void fq_grow(struct sl_fluxqueue *q, struct fq_job *j);

/* ---- places.c ---- */
/* Gives the pods of a job its places, gives back those that it does not need, and counts the pods
 * that have none. */
void fq_places_sync(struct sl_fluxqueue *q, struct fq_job *j);
/* Of a standby, which gives out nothing: pods in the places that the job has according to its
 * status are not counted as others'. */
void fq_places_observe(struct sl_fluxqueue *q, struct fq_job *j);

/* ---- pods.c ---- */
bool fq_pod_wanted(void *ctx, yyjson_val *o);
bool fq_pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_pod_reconcile(void *ctx, struct sl_rec *r);
void fq_pod_deleted(void *ctx, struct sl_rec *r);
void fq_pod_free(struct sl_rec *r);
void fq_pod_hold(struct sl_syms *t, struct sl_rec *r);
bool fq_pod_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* POSTs the binding to its target. */
void fq_build_binding(const struct sl_fluxqueue *q, const struct fq_pod *p, struct sl_write *w);
void fq_pod_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply);

/* Bindings before what waits is told. */
uint32_t fq_pod_lane(const struct sl_rec *r);
/* By either of its names. */
bool fq_names_us(yyjson_val *spec);

/* ---- plain.c ---- */
/* Names our scheduler, and asks for nothing that only a job can have. */
bool fq_plain_is(yyjson_val *o);
void fq_plain_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o);
/* Queues it, holds its place, or tells why it waits. */
void fq_plain_sync(struct sl_fluxqueue *q, struct fq_pod *p);
/* It has nothing in the queue and in the matcher any more. */
void fq_plain_drop(struct sl_fluxqueue *q, struct fq_pod *p);
void fq_plain_apply(struct sl_fluxqueue *q, const struct sl_decision *d);
/* Of the rejected ones, one of each request is tried again; and after the pass, if that one was not
 * rejected, so are the others. */
void fq_plain_retry(struct sl_fluxqueue *q);
void fq_plain_retried(struct sl_fluxqueue *q);
/* There is a new graph: what bound ones have there; the others are to be queued again. */
void fq_plain_restore(struct sl_fluxqueue *q);
/* Requests are compiled anew: for another graph, or after nodes changed. */
void fq_plain_forget_requests(struct sl_fluxqueue *q);
bool fq_plain_build(struct sl_fluxqueue *q, struct fq_pod *p, struct sl_write *w);
void fq_plain_unref(struct sl_fluxqueue *q, struct fq_pod *p);
void fq_plain_done(struct sl_fluxqueue *q);

/* ---- exact.c ---- */
void fq_exact_pod_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o);
void fq_exact_pod_deleted(struct sl_fluxqueue *q, struct fq_pod *p);
/* Is it in a place of its Workload? Then it is not one of others. */
bool fq_exact_seat(struct sl_fluxqueue *q, struct fq_pod *p);
/* It counts as others' and is going to end. */
void fq_exact_note_leaving(struct sl_fluxqueue *q, struct fq_pod *p);
/* Has its Workload places? */
bool fq_exact_has(const struct sl_fluxqueue *q, const struct fq_pod *p);
/* Of such one that names our scheduler: bound to the node that was selected for it. */
void fq_exact_plain_sync(struct sl_fluxqueue *q, struct fq_pod *p);
/* There is a new graph: what Workloads have there. */
void fq_exact_restore(struct sl_fluxqueue *q);
void fq_exact_forget_requests(struct sl_fluxqueue *q);
void fq_exact_hold_names(struct sl_fluxqueue *q, struct sl_syms *t);
void fq_exact_done(struct sl_fluxqueue *q);

/* ---- objects.c ---- */
bool fq_obj_wanted(void *ctx, yyjson_val *o);
bool fq_obj_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_obj_reconcile(void *ctx, struct sl_rec *r);
void fq_obj_deleted(void *ctx, struct sl_rec *r);
void fq_obj_free(struct sl_rec *r);
bool fq_obj_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* The body of its FluxJob; of pods, too. */
bool fq_obj_child(void *ctx, struct sl_rec *r, struct sl_rec *child, struct sl_jw *body);
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
/* Makes its FluxJob, or lets that one look. */
void fq_object_sync(struct sl_fluxqueue *q, struct sl_rec *object, const char *jobspec,
                    const char *refused);

/* ---- job.c ---- */
bool fq_job_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_job_reconcile(void *ctx, struct sl_rec *r);
void fq_job_deleted(void *ctx, struct sl_rec *r);
void fq_job_free(struct sl_rec *r);
void fq_job_hold(struct sl_syms *t, struct sl_rec *r);
/* What it wraps, NULL: it does not exist. */
struct sl_rec *fq_job_object(const struct sl_fluxqueue *q, const struct fq_job *j);
/* Something of it has changed that its status shows. */
void fq_job_touch(struct fq_job *j);
/* It has a reservation: shown at once if that is new, else as often as is worth a write. */
void fq_show_estimate(struct sl_fluxqueue *q, struct fq_job *j);
void fq_job_set_state(struct fq_job *j, enum fq_state s, const char *reason, const char *fmt, ...)
    _printf_(4, 5);
/* Its places are in the API: what it wraps may start. */
static inline bool fq_job_committed(const struct fq_job *j) {
    return j->held && (int32_t)(j->written - j->places_version) >= 0;
}
/* Every pod of it that has a record: the next one, NULL at the end. */
struct fq_pods_of {
    struct sl_rec *set, *pod; /* of a Deployment: its ReplicaSet; the next one */
    bool begun;
};
struct fq_pod *fq_job_next_pod(const struct sl_fluxqueue *q, const struct fq_job *j,
                               struct fq_pods_of *at);

/* ---- history.c ---- */
/* Its status is in the API: what is new in it is recorded. */
void fq_history_sync(struct sl_fluxqueue *q, struct fq_job *j);
void fq_history_deleted(struct sl_fluxqueue *q, struct fq_job *j);
void fq_history_bound(struct sl_fluxqueue *q, const struct fq_job *j, const struct fq_pod *p);
/* "node[0-3],login" */
void fq_put_node_list(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_buf *out);

/* ---- status.c ---- */
const char *fq_state_name(enum fq_state s);
void fq_status_decode(struct sl_fluxqueue *q, struct fq_job *j, yyjson_val *status);
bool fq_job_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void fq_job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply);

#endif
