/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/fluxqueue: the queue as a whole, its graph and its decisions. Each concern
 * has its types and functions in a header of its own; this one includes them all.
 *
 *     fq_node.h    nodes, what pods take of them, host ports
 *     fq_pod.h     pods, with and without a job
 *     fq_object.h  Jobs, sets and groups, that FluxJobs wrap
 *     fq_job.h     FluxJobs, their places, what is shown and recorded of them
 *     fq_volume.h  claims of volumes
 *     fq_exact.h   Workloads
 *
 *     jobspec*.c   from objects to jobspecs, and from these to requests: pure
 *     nodes.c      nodes as vertices, and what pods of others take of them
 *     graph.c      the graph from all nodes, with what running jobs have of it
 *     queue.c      jobs that wait: submission, the pass, decisions
 *     spread.c     what holds between the pods of a job that has places and gets more
 *     places.c     which pod of a job has which of its places
 *     pods.c       pods: decoding, gates, bindings
 *     plain.c      pods that only name our scheduler: queued without a FluxJob
 *     unbound.c    pods whose binding was refused
 *     kubebinds.c  pods that kube-scheduler binds
 *     ports.c      host ports as pools of nodes
 *     volumes.c    claims of volumes: on which nodes, and their binding
 *     own.c        node selectors of pods whose jobspec is their owner's own
 *     exact*.c     places of Workloads that wait for quota (exact.h)
 *     objects.c    Jobs and sets of pods: what each asks for, and its start
 *     limits.c     what namespaces and RuntimeClasses add to pods of a template
 *     groups.c     plain pods that are one job
 *     kinds.c      jobs with several kinds of slots
 *     job.c        FluxJobs: the life of one
 *     status.c     what a FluxJob shows
 *     history.c    what the ledger gets of it
 *     ids.c        the highest job id that was given
 *     view.c       what people may see of it
 *     fluxqueue.c  the kinds, the turn
 */
#ifndef SL_MANAGER_FLUXQUEUE_FQ_INT_H
#define SL_MANAGER_FLUXQUEUE_FQ_INT_H

#include "core/base/collection/vec.h"
#include "kube/informer/informer.h"
#include "manager/fluxqueue/ceilings.h"
#include "manager/fluxqueue/fluxqueue.h"
#include "manager/fluxqueue/fq_exact.h"
#include "manager/fluxqueue/fq_job.h"
#include "manager/fluxqueue/fq_node.h"
#include "manager/fluxqueue/fq_object.h"
#include "manager/fluxqueue/fq_pod.h"
#include "manager/fluxqueue/fq_volume.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

#define FQ_CONTROLLER "fluxqueue"
#define FQ_FINALIZER "fluxqueue/in-use"

/* Ids of FluxJobs are below: what every reader of JSON can hold. */
#define FQ_MAX_JOBID (INT64_C(1) << 53)
/* Ids of plain pods in the queue begin here. */
#define FQ_PLAIN_ID (INT64_C(1) << 56)
/* Those of places in the matcher that a job has left begin here. */
#define FQ_LEFT_ID (INT64_C(1) << 55)
/* Those of Workloads in the matcher, and of their podsets while nodes are looked for. */
#define FQ_EXACT_ID (INT64_C(2) << 56)
#define FQ_EXACT_TRY (INT64_C(3) << 56)

enum fq_kind {
    FQ_CLASS,   /* PriorityClass */
    FQ_LIMITS,  /* LimitRange */
    FQ_RUNTIME, /* RuntimeClass */
    FQ_NODE,
    FQ_CLAIM,   /* PersistentVolumeClaim */
    FQ_VOLUME,  /* PersistentVolume */
    FQ_STORAGE, /* StorageClass */
    FQ_DEPLOYMENT,
    FQ_REPLICASET,
    FQ_STATEFULSET,
    FQ_JOB,
    FQ_POD,
    FQ_GROUP, /* of pods: no objects of the API */
    FQ_FLUXJOB,
    FQ_MARKED, /* pods that admission marked, until there is one: then all are read */
    FQ_NAMED,  /* the same, by the names of our scheduler */
    FQ_NAMED_SHORT,
    FQ_KINDS,
};

/* Why something can never be, as far as its nodes are as they are now. */
#define FQ_EVEN_IF_FREE                                                                            \
    "even if all were free: nodes that are cordoned, or have taints that are not tolerated, do "   \
    "not count"

struct fq_exact;
struct fq_ask;

struct sl_fluxqueue {
    struct sl_fluxqueue_spec spec;
    struct sl_kube_client *client;
    struct sl_informer *inf;
    struct fq_jobspec_options options; /* of the settings, as are these: */
    struct fq_level levels[FQ_MAX_LEVELS];
    uint32_t edition; /* counts the changes of these two: jobspecs follow from them */
    struct sl_match_policy policy;
    struct sl_match *match;      /* NULL: no nodes */
    struct sl_match *bare;       /* the same without anybody; NULL: to be made when it is needed */
    struct sl_queues *queues;    /* over it */
    struct fq_universe universe; /* of the graph */
    SL_VEC(uint32_t) by_vertex;  /* the number of the node's record; UINT32_MAX: none */
    struct sl_map by_jobid;      /* -> the number of the FluxJob's record */
    SL_VEC(struct fq_usage *) usages;
    SL_VEC(uint32_t) free_usages;
    struct sl_map usages_by_hash, usages_by_size;
    SL_VEC(struct fq_request *) requests; /* of plain pods; NULL: free */
    SL_VEC(uint32_t) free_requests;
    struct sl_map requests_by_hash;
    SL_VEC(uint32_t) rejected;                /* plain pods, by the numbers of their records */
    bool retrying;                            /* some of them are tried again */
    SL_VEC(sl_sym) ports;                     /* host ports that are pools, by name */
    bool ports_wanted;                        /* others are asked for as well */
    SL_VEC(struct fq_asked_port) asked_ports; /* by Workloads that have no places yet */
    SL_VEC(struct fq_exact *) exacts;         /* places of Workloads; NULL: free */
    SL_VEC(uint32_t) free_exacts;
    struct sl_map exact_by_key, exact_by_name;
    struct sl_map pods_by_workload; /* hash(namespace, name) -> numbers of their records */
    SL_VEC(uint32_t) leaving;       /* pods that count as others' and are on their way out */
    struct fq_ask *asks;            /* FQ_ASKS of them; NULL: none yet */
    uint32_t next_ask;              /* the one that goes next */
    uint64_t freed;                 /* rises with all that was given back, beside 'capacity' */
    bool unobserved;                /* places of Workloads are not all known yet */
    bool releasing;                 /* they have given back some that the API says they have */
    bool put_off;                   /* and something waits to be written until it says otherwise */
    bool yields;        /* what a Workload had is free: it is offered to other Workloads first */
    bool has_workloads; /* somebody asks for them */
    sl_decisions decisions;
    bool left_out; /* some nodes are not in the graph: together they have too much */
    /* Nodes have one that they had not, or a label that is compared: jobspecs depend on them. */
    bool taints_changed;
    int64_t last_jobid;
    struct fq_ids ids;
    uint64_t node_changes;  /* counts them */
    uint64_t capacity;      /* rises with all that may make a rejected job possible */
    uint64_t retried;       /* the same, when rejected jobs were tried again */
    uint64_t plain_retried; /* of these, plain pods */
    uint32_t retry_at;      /* where among FluxJobs that goes on; 0: it is done */
    sl_time retry_due;      /* mono: not before */
    uint32_t retries;       /* so many at once, of FQ_MAX_RETRIES */
    sl_span retry_took;     /* what the last ones took, with all that was done in their turn */
    sl_time retried_at;     /* mono: when that turn began */
    bool timed;             /* it was the turn before: that is known when the next one begins */
    uint64_t shrunk;        /* rises with all that may make a job in the queue impossible */
    uint64_t judged;        /* the same, when those in the queue were looked at last */
    uint32_t judge_at;      /* as is retry_at; and its time: */
    sl_time judge_due;      /* mono: not before */
    sl_time rebuilt_at;     /* mono */
    sl_span rebuild_took;   /* with all that was done in its turn */
    bool rebuilt;           /* in the turn before: what it took is known when the next one begins */
    bool rebuild;           /* the graph is not that of the nodes any more */
    bool restoring;         /* it is being made: pools are as large as can be */
    bool moved;             /* something happened that the queue has to look at */
    bool unranked;          /* no pass was made on this graph yet: reservations are not in it */
    bool resubmitted;       /* nor since something was submitted that had one before */
    bool reordered;         /* places in the queue, or estimates, are to be shown again */
    bool showing;           /* and are shown now */
    sl_time shown_at, estimated_at; /* mono: when they were */
    bool uses_claims;               /* something of ours has claims: these and volumes are read */
    bool claims_changed;            /* jobs have to look at theirs */
    SL_VEC(uint32_t) claimants;     /* pods without a FluxJob that wait for theirs */
    struct sl_map limits_by_ns;     /* numbers of LimitRanges */
    uint64_t limits;                /* changes of LimitRanges and RuntimeClasses */
    bool unrecorded;                /* the ledger had no room for something that objects show */
    bool elected; /* to lead, which it does when what it has sent before is answered */
    bool leads;
    bool decides; /* has begun to, as leader: FluxJobs are what it decided, not what they show */
    bool in_use;  /* there is something to queue: nodes and all pods are read */
};

static inline const char *fq_str(const struct sl_fluxqueue *q, sl_sym y) {
    return sl_inf_str(q->inf, y);
}
/* The whole seconds of now, in which the graph counts. */
static inline int64_t fq_now(const struct sl_fluxqueue *q) {
    return q->client->wall / SL_SEC;
}
/* The order of submissions, of jobs and of plain pods: by whole seconds, as the API has them, then
 * by a number: of a job its id, which stays; of a plain pod its record, which a restart changes. */
static inline int64_t fq_order(sl_time submitted, uint64_t number) {
    return (submitted > 0 ? submitted / SL_SEC : 0) << 24 | (int64_t)(number & 0xffffff);
}
void fq_set_text(char **to, const char *text);
/* A priority: what an int32 does not hold is the nearest that it does. */
int32_t fq_priority(yyjson_val *v, const char *path);
/* Amounts of a pool: none is larger than a pool can be, and neither are these. Whoever wrote a
 * status may have written so much that more would not fit into an int64. */
static inline int64_t fq_plus(int64_t a, int64_t b) {
    return a < SL_GRAPH_MAX_SIZE - b ? a + b : SL_GRAPH_MAX_SIZE;
}
static inline int64_t fq_times(int64_t amount, uint32_t n) {
    return n == 0 || amount <= SL_GRAPH_MAX_SIZE / n ? amount * n : SL_GRAPH_MAX_SIZE;
}

/* ---- graph.c ---- */
/* Makes the graph anew, with what running jobs have, and submits those that wait. */
void fq_graph_rebuild(struct sl_fluxqueue *q);
void fq_graph_free(struct sl_fluxqueue *q);
/* Could it ever run on these nodes, if nobody else were there? */
bool fq_graph_could(struct sl_fluxqueue *q, const struct sl_match_request *r);
void fq_graph_free_bare(struct sl_fluxqueue *q);
/* Puts the places of a job into the matcher, in place of what it had there. */
void fq_graph_hold(struct sl_fluxqueue *q, struct fq_job *j);
/* Has it anything there? Then its pods are not others'. True while there is no graph. */
bool fq_graph_holds(const struct sl_fluxqueue *q, const struct fq_job *j);
/* Puts these into the matcher under this id; later: as a reservation. Of a node that others have
 * filled, or that has shrunk, more may be held than there is. */
int fq_graph_put(struct sl_fluxqueue *q, int64_t id, const struct sl_grant *g, int64_t from,
                 int64_t length, bool later, struct sl_err *err) _must_check_;
/* The job has left this place, which only its status can say. */
void fq_graph_leave(struct sl_fluxqueue *q, struct fq_job *j, const struct fq_place *place);
/* That is written, or does not matter any more: what it has left is free. */
void fq_graph_free_left(struct sl_fluxqueue *q, struct fq_job *j);
/* Makes one of them a place for pods of another size, if there is room. */
bool fq_graph_resize(struct sl_fluxqueue *q, struct fq_job *j, uint32_t place, uint64_t size);
/* What its jobspec says of one pod. */
void fq_graph_know_slot(struct sl_fluxqueue *q, struct fq_job *j);
/* What the matcher has under this id, if anything, is free. */
void fq_graph_cancel(struct sl_fluxqueue *q, int64_t jobid);
/* Takes everything of a job out of the matcher and the queue. */
void fq_graph_release(struct sl_fluxqueue *q, struct fq_job *j);

/* ---- queue.c ---- */
/* Could it not be even if all jobs had ended? */
bool fq_impossible(struct sl_fluxqueue *q, const struct sl_match_request *r, uint32_t policy);
/* The job is known by this id; 0: by none. */
void fq_name_job(struct sl_fluxqueue *q, struct fq_job *j, int64_t jobid);
/* One that nobody has. */
int64_t fq_next_jobid(struct sl_fluxqueue *q);
/* Its request: for all of it (pods 0), or for so many pods more. */
int fq_compile(struct sl_fluxqueue *q, struct fq_job *j, uint32_t pods, struct sl_arena *a,
               struct fq_jobspec_info *info, struct sl_match_request **ret,
               struct sl_err *err) _must_check_;
/* The same with more to say. */
int fq_compile_ask(struct sl_fluxqueue *q, struct fq_job *j, const struct fq_jobspec_ask *ask,
                   struct sl_arena *a, struct fq_jobspec_info *info, struct sl_match_request **ret,
                   struct sl_err *err) _must_check_;
/* What one pod of it takes, also where its request cannot be made on this graph. If the jobspec
 * cannot be read, it is what the template requests, and it ends as its FluxJob says. */
int fq_measure(struct sl_fluxqueue *q, struct fq_job *j, struct sl_err *err) _must_check_;
/* What its pods are made of: while it runs, the template as it is now. */
const char *fq_job_text(const struct sl_fluxqueue *q, const struct fq_job *j);
/* Of that, as struct fq_job has it in slot_hash. */
uint64_t fq_slot_hash(const struct sl_fluxqueue *q, const struct fq_job *j);
/* What a pod of the template requests (struct fq_usage); 0: not known. */
uint64_t fq_template_size(const struct sl_fluxqueue *q, const struct fq_job *j);
/* Does such a pod need a place of its own size? */
static inline bool fq_pod_is_odd(const struct fq_job *j, const struct fq_pod *p) {
    return j->slot_size && p->usage && p->usage->size != j->slot_size;
}
/* Of each place of a job: would its pods be let onto that node now? False: not known yet. */
bool fq_places_admitted(struct sl_fluxqueue *q, struct fq_job *j, bool *ret);
/* Those of one node stand side by side, and of these those of one kind. */
void fq_places_sort(struct fq_job *j);
void fq_submit(struct sl_fluxqueue *q, struct fq_job *j);
/* It has no reservation any more: its events say so. */
void fq_drop_estimate(struct fq_job *j);
/* The node that a vertex is part of, by its name; 0: none. */
sl_sym fq_node_at(struct sl_fluxqueue *q, sl_vtx v);
/* Those that were rejected are to be tried again, since they might fit now. */
static inline bool fq_retry_wanted(const struct sl_fluxqueue *q) {
    return q->retried != q->capacity || q->retry_at || q->plain_retried != q->capacity;
}
/* They are, so many that the others are not kept waiting. */
void fq_retry_rejected(struct sl_fluxqueue *q);
/* What that took, or judging those that wait, is known: the next ones are more or less. */
void fq_retry_timed(struct sl_fluxqueue *q);
/* Those in the queue may have become impossible, and are tried by no pass while another one waits
 * before them. */
static inline bool fq_judge_wanted(const struct sl_fluxqueue *q) {
    return q->judged != q->shrunk || q->judge_at;
}
/* They are looked at, some at a time: nobody runs sooner by it. */
void fq_judge_waiting(struct sl_fluxqueue *q);
/* Changes with all that a set of nodes could ever have. */
static inline uint64_t fq_supply(const struct sl_fluxqueue *q) {
    return q->capacity + q->shrunk;
}
/* One pass, if one is due. Returns whether anything was decided. */
bool fq_run(struct sl_fluxqueue *q);
/* Its pods run already, without a place of it: it runs, too. */
void fq_adopt(struct sl_fluxqueue *q, struct fq_job *j);
/* Its status can list its places. */
bool fq_places_fit(const struct sl_fluxqueue *q, const struct fq_job *j);
/* More places for a job that runs. */
void fq_grow(struct sl_fluxqueue *q, struct fq_job *j);

#endif
