/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/fluxqueue.
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
 *     exact.c      places of Workloads that wait for quota (exact.h)
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
#include "manager/fluxqueue/fluxqueue.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

#define FQ_CONTROLLER "fluxqueue"
#define FQ_FINALIZER "fluxqueue/in-use"

/* Ceilings, besides those of jobspec.h. */
#define FQ_MAX_LABELS 256u                  /* of a node; one with more is ignored */
#define FQ_MAX_NODE_TAINTS 64u              /* of a node, that keep pods away */
#define FQ_MAX_RESOURCES 64u                /* of a node or a pod */
#define FQ_MAX_NODE ((size_t)1 << 20)       /* a node while it is decoded */
#define FQ_MAX_LIMITS ((size_t)4 << 20)     /* a LimitRange, and a pod with what it adds */
#define FQ_MAX_COMPILE ((size_t)4 << 20)    /* a jobspec while it is compiled */
#define FQ_MAX_USAGE_TEXT ((size_t)1 << 20) /* requests of a pod */
#define FQ_MAX_MESSAGE 1024u
#define FQ_MAX_NAME 253u     /* of an object, where others wrote it; a longer one is none */
#define FQ_MAX_LISTED 10000u /* nodes of a job in its status, as its schema has it */
#define FQ_MAX_LIST                                                                                \
    ((size_t)1 << 20)             /* bytes of them there: more than it may be with is refused      \
                                   */
#define FQ_MAX_SHOWN 256u         /* bytes of nodes in a column */
#define FQ_MAX_RESIZES 16u        /* free places that are tried for a pod of another size */
#define FQ_MAX_RUNS 16u           /* passes of the queue in one turn */
#define FQ_END (INT64_C(1) << 40) /* of the graph's time, seconds */
#define FQ_MAX_ASKS 64u           /* requests of podsets that are kept compiled */
#define FQ_MAX_POSITION 1000u     /* jobs further behind are not told their places */
#define FQ_MAX_PORTS 32u   /* different host ports that jobs ask for; each is a pool of all nodes */
#define FQ_PORT_AGE 2u     /* graphs that have a port for which no Workload asked again */
#define FQ_MAX_LATER 64u   /* times that are tried for several podsets of a Workload */
#define FQ_MAX_RETRIES 64u /* rejected jobs that are tried again at once */
#define FQ_MAX_JUDGED 16u  /* waiting jobs that are looked at at once: are they possible? */
#define FQ_MAX_FILLS 64u   /* nodes that get back what they have lost, in one turn of a job */
#define FQ_MAX_SPLIT 100000u /* steps to find which slots are on which node */

#define FQ_REBUILD_PAUSE (100 * SL_MSEC) /* between two graphs: nodes come in bursts */
#define FQ_REBUILD_SHARE 4               /* the same, in times of what the last one took */
#define FQ_REBUILD_LONGEST (4 * SL_SEC)  /* that is waited so: nothing is decided meanwhile */
#define FQ_POSITION_PAUSE (5 * SL_SEC)   /* between two writes of places in the queue */
#define FQ_ESTIMATE_PAUSE SL_MINUTE      /* of starts that move, as all do while a job overruns */
#define FQ_OWNER_LATE (10 * SL_SEC)      /* the watch of an owner may be behind */
#define FQ_GROW_PAUSE (2 * SL_SEC)       /* until a job that found no more is tried again */
#define FQ_FULL_PAUSE SL_MINUTE          /* until one that found the queue full is */
#define FQ_RETRY_PAUSE (100 * SL_MSEC)   /* until the next of the rejected jobs are */
#define FQ_JUDGE_PAUSE SL_SEC            /* between two times that all in the queue are asked of */
#define FQ_TELL_AFTER SL_SEC             /* a plain pod that waits so long is told why */
#define FQ_LEDGER_PAUSE (50 * SL_MSEC)   /* until the ledger is looked at again */
#define FQ_RELEASED_LATE SL_MINUTE /* a pod without a Workload that is not deleted then stays */
#define FQ_LEDGER_ROOM SL_SEC      /* the same, when it had no room */
#define FQ_LEDGER_PATIENCE (5 * SL_SEC) /* of a FluxJob that is to go, with the ledger */

/* Ids of FluxJobs are below: what every reader of JSON can hold. */
#define FQ_MAX_JOBID (INT64_C(1) << 53)
/* Ids of plain pods in the queue begin here. */
#define FQ_PLAIN_ID (INT64_C(1) << 56)
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
    uint64_t changed;               /* q->node_changes when it did */
    bool up, usable;                /* usable: it could be decoded */
    sl_vtx v;                       /* SL_VTX_NONE: not in the graph */
};

/* What a pod requests, interned: pods come from few manifests. */
struct fq_amount {
    sl_sym resource;
    int64_t amount; /* in the units of the graph */
};
struct fq_usage {
    uint64_t hash; /* of what it was read from */
    char *text;    /* that: requests of a pod spec, then host ports */
    uint64_t size; /* equal where the amounts are, and only there; from their hash */
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
    uint64_t judged;                   /* fq_supply when 'never' was found out */
    uint8_t never;                     /* enum fq_why: that it cannot be; FQ_WHY_NOTHING: it can */
};

#define FQ_MAX_CONFLICTS 3u /* bindings that are answered by 409, though the pod is free */

/* Why a plain pod waits. */
enum fq_why {
    FQ_WHY_NOTHING, /* it does not, or it is not known yet */
    FQ_WHY_NO_NODES,
    FQ_WHY_BUSY,
    FQ_WHY_USED, /* by pods of others */
    FQ_WHY_NEVER,
    FQ_WHY_REFUSED, /* the text says why */
    FQ_WHY_UNBOUND, /* its binding was refused */
    FQ_WHY_VOLUME,  /* of a claim: cannot be used on the node of its place */
    FQ_WHYS,
};

struct fq_pod {
    struct sl_rec rec;
    struct fq_usage *usage; /* NULL: it takes nothing any more */
    struct fq_usage *over;  /* its own: counted as others' in place of it; NULL: all of it is */
    char *jobspec;          /* of one that is a job by itself, until it is bound */
    char *refused;          /* why it has none */
    uint64_t spec;          /* hash of its spec */
    uint32_t edition;       /* q->edition when its jobspec was written */
    uint64_t allocated;     /* and of what it has, if its resize is infeasible; 0: it is not */
    char *gates;            /* a JSON array of the others' gates; NULL: none */
    sl_sym node;            /* that it is bound to */
    sl_sym target;          /* that it is to be bound to */
    sl_sym named;           /* the node that its annotation says; 0: none does */
    sl_sym charged;         /* the node whose pools it is counted at as one of others */
    sl_sym stands;          /* the node that it is counted at in any case */
    int32_t index;          /* completion index; -1: none */
    int32_t priority;
    char *claims;      /* of volumes: names in lines; NULL: none */
    bool awaits;       /* these are waited for, and it has no FluxJob */
    bool ours;         /* marked by admission, or by its scheduler's name */
    bool binds;        /* by us; else by the scheduler that it names, on the node that we say */
    bool part;         /* its controller is of a kind that is intercepted, and so was that one */
    bool alone;        /* it opted in itself: if there is no such controller after a while */
    bool gated;        /* by us */
    bool ended;        /* Succeeded or Failed */
    bool failed;       /* Failed */
    bool labelled;     /* has the label of its job id */
    bool never;        /* it has the label of what can never run */
    bool bound;        /* the API server has accepted its binding, which is not seen yet */
    bool recorded;     /* the ledger has that it is bound */
    uint8_t conflicts; /* of its binding, in a row */
    struct fq_unbound *unbound; /* where it could not be bound; NULL: nowhere */
    struct fq_kube *kube;       /* of one that kube-scheduler binds; NULL: nothing special */
    /* groups.c */
    struct fq_group *group; /* that it belongs to; NULL: none */
    struct fq_pod *group_prev, *group_next;
    struct fq_usage *asked;        /* of a member: what it requests, also after its end */
    struct fq_jobspec_parts parts; /* of its jobspec */
    uint32_t group_size;           /* as it says */
    uint32_t kind;                 /* of slots, that it is for; FQ_ANY_KIND: any */
    bool excess;                   /* the group has its pods without it */
    bool stranger;                 /* the group has no places for what it requests */
    bool needs_others;             /* fq_jobspec_needs_others, and the jobspec is made here */
    bool raw;                      /* the jobspec is its owner's */
    bool misgrouped;               /* what it says of its group is malformed */
    /* plain.c */
    struct fq_request *request; /* of one that waits; NULL: none */
    uint64_t told;              /* hash of the message of its condition Unschedulable; 0: none */
    uint8_t why;                /* enum fq_why */
    bool plain;                 /* it only names our scheduler: no FluxJob */
    bool queued;                /* waits in the queue, as FQ_PLAIN_ID + its number */
    bool held;                  /* has its place in the matcher, under the same id */
    bool rejected;              /* is tried again when capacity rises */
    bool resized;               /* it requests another amount than it was held with */
    bool avoids;                /* was submitted without the nodes that refused it */
    /* exact.c */
    sl_sym workload, podset; /* that it is of; 0: none */
    sl_sym host;             /* that its node selector names */
    uint32_t exact, seat;    /* number + 1 of its Workload and of its place there; 0: none */
    bool released;           /* its Workload has given back its places */
    sl_time going;           /* mono: released, it counts as leaving until then */
    uint32_t leaving;        /* place in the list of those that are, from 1 on; 0: none */
};

/* ---- what is wrapped, other than pods (objects.c) ---- */

struct fq_obj {
    struct sl_rec rec;
    char *jobspec; /* NULL: it has none */
    char *refused; /* why */
    char *claims;  /* of volumes, that all of its pods have: names in lines; NULL: none */
    struct fq_jobspec_parts parts; /* of the jobspec */
    uint32_t pods;                 /* that it has at once */
    uint32_t partition; /* StatefulSets: pods below this number are of the old template */
    uint32_t together;  /* fq_jobspec_options.ret_together */
    uint64_t hash;
    int32_t priority;
    struct fq_usage *usage; /* of a pod of its template; NULL: it has none */
    char *priority_class;   /* to be looked up; NULL: none */
    bool suspended;         /* Jobs */
    bool finished, failed;  /* Jobs */
    bool named;             /* its template has the label of a job id */
    bool told;              /* it has the label of what can never run */
    bool part;              /* ReplicaSets: of a Deployment */
};

/* ---- volumes (volumes.c) ---- */

/* The nodes that a volume can be used on, or made for. */
struct fq_where {
    struct sl_arena arena;
    struct sl_constraint constraint;
    uint64_t hash;
    bool unreadable; /* then no node is one of them */
};
struct fq_claim {
    struct sl_rec rec;
    char *volume, *class; /* "": none */
    sl_sym selected;      /* the node that its annotation says */
    sl_sym wanted;        /* that it is to say */
    uint32_t by;          /* the number of the pod that is to get it there */
    sl_sym rejected;      /* that it said when its provisioner gave up */
    uint64_t hash;        /* of all that is read of it */
    bool bound;
};
struct fq_volume {
    struct sl_rec rec;
    struct fq_where where;
};
struct fq_storage {
    struct sl_rec rec;
    struct fq_where where;
    bool waits; /* for the first consumer */
    bool provisions;
};

/* ---- groups of pods (groups.c) ---- */

struct fq_group {
    struct fq_obj obj; /* pods: those that have not ended */
    struct fq_pod *first;
    uint32_t n, size, ended, ready;
    bool complete; /* all are there, and wait */
    bool raw;      /* the jobspec is that of their owner */
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
    uint32_t pod;  /* the number of its record; FQ_NO_POD: free */
    uint32_t kind; /* of slots */
    /* For pods of this size (struct fq_usage); 0: for those of the jobspec. A place keeps its size
     * while a pod has it; one that is free is for pods of the template. */
    uint64_t size;
};

static inline bool fq_same_places(const struct fq_place *a, const struct fq_place *b) {
    return a->node == b->node && a->kind == b->kind;
}

/* One of several kinds of slots (kinds.c). */
struct fq_job_kind {
    struct fq_slot_amount *v; /* owned, texts too */
    uint32_t n, count;
    uint32_t missing; /* pods of it that have no place */
};

/* What the ledger has. */
struct fq_recorded {
    int64_t gather, submit, start, end; /* numbers of the last events; 0: none */
    int64_t reserve; /* the second that it has a reservation for; 0: it has none */
    uint32_t size;
    bool waits, rejected;
    bool resumed;   /* another process may have recorded less of it than its status shows */
    sl_time at;     /* of the last event */
    uint64_t mark;  /* events of the ledger up to its last one */
    sl_time until;  /* mono: it does not go before, unless that one is written; 0: not asked yet */
    bool unwritten; /* its status was refused by the API server */
};

struct fq_exact;
struct fq_ask;

/* A host port, and how many graphs were made since a Workload asked for it. */
struct fq_asked_port {
    sl_sym port;
    uint32_t age;
};

struct fq_job {
    struct sl_rec rec;
    /* as it says */
    char *jobspec, *object, *asked_queue;
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
    char *queue;                                    /* "": not known, or the default one */
    char *message;
    SL_VEC(struct fq_place) places; /* by node, in the order of the graph's nodes at their time */
    uint32_t expected, bound_pods, ended_pods;
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
    struct fq_job_kind *kinds; /* if there are several; then 'slot' is none of them */
    uint32_t n_kinds;
    uint64_t slot_hash; /* of the jobspec that it is of */
    uint64_t slot_size; /* of the pods that it is of; 0: it is not what they request */
    bool whole_nodes;
    int64_t duration;
    int64_t begin;     /* seconds since 1970, of the spec; 0: none */
    int64_t seconds;   /* spec.duration: of a jobspec that has none */
    uint64_t admitted; /* q->node_changes up to which its free places are known to be good */
    uint64_t rejected; /* q->capacity when it did not fit even if all jobs had ended; 0: not so */
    uint64_t judged;   /* q->shrunk when it was found that it can run */
    sl_time grow_at;   /* mono: not before */
    sl_time missed;    /* mono: since when its object is not there; 0: it is */
    uint32_t grown;    /* what was missing when some was found; 0: none was */
    struct fq_recorded recorded;
    char *ran_on;     /* one that had ended before the start: its nodes, until that is recorded */
    uint32_t ran;     /* of the same: so many pods had places there at the end */
    uint32_t missing; /* pods that have no place */
    uint32_t paused;  /* of these, whose binding was refused just now */
    uint32_t odd;     /* of them, those of another size than that of the jobspec */
    /* kubebinds.c */
    struct fq_unbound *unbound; /* where kube-scheduler did not bind its pods; NULL: nowhere */
};

/* ---- job ids (ids.c) ---- */

struct fq_ids {
    sl_kube_call call; /* in flight */
    sl_time due;       /* mono: to ask, or to give the call up */
    char *version;     /* of the ConfigMap; NULL: there is none */
    int64_t mark;      /* what it says: no id up to this one is given again */
    int64_t wanted;    /* what it is to say */
    bool known;        /* it has been read, by this leader */
    bool stale;        /* and has to be read again before it is written */
    bool refused;      /* there can be none */
};

/* ---- the whole ---- */

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
    struct fq_ask *asks;            /* FQ_MAX_ASKS of them; NULL: none yet */
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

static inline struct fq_node *fq_node_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_node, rec);
}
static inline struct fq_pod *fq_pod_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_pod, rec);
}
static inline struct fq_obj *fq_obj_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_obj, rec);
}
static inline struct fq_group *fq_group_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_group, obj.rec);
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
 * by a number: of a job its id, which stays; of a plain pod its record, which a restart changes. */
static inline int64_t fq_order(sl_time submitted, uint64_t number) {
    return (submitted / SL_SEC) << 24 | (int64_t)(number & 0xffffff);
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

/* ---- nodes.c ---- */
bool fq_node_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_node_deleted(void *ctx, struct sl_rec *r);
void fq_node_free(struct sl_rec *r);
void fq_node_hold(struct sl_syms *t, struct sl_rec *r);
struct fq_node *fq_node_find(const struct sl_fluxqueue *q, sl_sym name);
/* Counts a pod at the node that it is bound to, or no longer (on: 0). */
void fq_pod_charge(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym on);
/* The same of what it requests beyond its place ("over", which becomes its own): never may the
 * graph have more free than the node has. NULL: nothing. */
void fq_pod_charge_over(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_usage *over);
/* Where it is to be bound to; 0: nowhere yet. */
void fq_pod_target(struct sl_fluxqueue *q, struct fq_pod *p, sl_sym node);
/* Counts it where it is, or is on its way to. */
void fq_pod_stand(struct sl_fluxqueue *q, struct fq_pod *p);
/* Has a node what the pod requests, beside all that are there? A place may be one on a node that
 * shrank since, that others filled, or that one before has not left yet. */
bool fq_node_has_room(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_sym node);
/* What it requests from now on, and takes of its node; the reference becomes its own. */
void fq_pod_use(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_usage *u);
/* The symbol of a name that others wrote; 0: it is too long to be one. */
sl_sym fq_intern(struct sl_fluxqueue *q, const char *name);
/* The pool of a resource; NULL: the node has none, and what pods take of it is not counted until
 * there is one, which makes a new graph. */
struct fq_pool *fq_pool_find(struct fq_node *n, sl_sym resource);
/* The same, made if there is none, with nothing in it: of what the node is known to have. */
struct fq_pool *fq_pool_need(struct fq_node *n, sl_sym resource);
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
/* That of any label. */
sl_sym fq_node_label(const struct sl_fluxqueue *q, const struct fq_node *n, const char *key);
/* There are other levels: a change of a node is one of these from now on. */
void fq_nodes_relevel(struct sl_fluxqueue *q);
struct fq_usage *fq_usage_get(struct sl_fluxqueue *q, yyjson_val *pod_spec);
void fq_usage_unref(struct sl_fluxqueue *q, struct fq_usage *s);
/* It has no more of anything than the other. */
bool fq_usage_is_within(const struct fq_usage *s, const struct fq_usage *other);
void fq_usages_done(struct sl_fluxqueue *q);
/* Any with these amounts; NULL: nobody has them any more. */
const struct fq_usage *fq_usage_of_size(const struct sl_fluxqueue *q, uint64_t size);

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
/* The node that kube-scheduler is to bind it to, from the end of its gate on; 0: none yet. */
static inline sl_sym fq_kube_place(const struct fq_pod *p) {
    return p->ours && !p->binds && !p->gated ? p->named : 0;
}
/* It has no place, and may get one. */
static inline bool fq_pod_waits(const struct fq_pod *p) {
    return !p->node && !p->target && !p->ended && !p->rec.gone && !p->rec.deleting &&
           !fq_kube_place(p);
}
/* Of each place of a job: would its pods be let onto that node now? False: not known yet. */
bool fq_places_admitted(struct sl_fluxqueue *q, struct fq_job *j, bool *ret);
/* Those of one node stand side by side, and of these those of one kind. */
void fq_places_sort(struct fq_job *j);
void fq_submit(struct sl_fluxqueue *q, struct fq_job *j);
/* The node that a vertex is part of, by its name; 0: none. */
sl_sym fq_node_at(struct sl_fluxqueue *q, sl_vtx v);
/* Those that were rejected are to be tried again, since they might fit now. */
static inline bool fq_retry_wanted(const struct sl_fluxqueue *q) {
    return q->retried != q->capacity || q->retry_at;
}
/* They are: plain pods at once, of FluxJobs so many that the others are not kept waiting. */
void fq_retry_rejected(struct sl_fluxqueue *q);
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
/* Why a pod that fq_jobspec_needs_others is no job by itself. */
#define FQ_NEEDS_OTHERS                                                                            \
    "required podAffinity, podAntiAffinity and topologySpreadConstraints of a pod by itself are "  \
    "about pods of others, and cannot be honoured"
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
/* Those in the queue that can never run, or not beside pods of others, leave it. */
void fq_plain_judge(struct sl_fluxqueue *q);
/* There is a new graph: what bound ones have there; the others are to be queued again. */
void fq_plain_restore(struct sl_fluxqueue *q);
/* Requests are compiled anew: for another graph, or after nodes changed. */
void fq_plain_forget_requests(struct sl_fluxqueue *q);
bool fq_plain_build(struct sl_fluxqueue *q, struct fq_pod *p, struct sl_write *w);
void fq_plain_unref(struct sl_fluxqueue *q, struct fq_pod *p);
void fq_plain_done(struct sl_fluxqueue *q);

/* ---- unbound.c ---- */
/* Its binding was refused: it gives back its place and avoids the node for a while. j: its FluxJob;
 * NULL: it has none. */
void fq_unbound_refused(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j,
                        const struct sl_kube_reply *reply);
/* The same for another reason than that of the API server. */
void fq_unbound_elsewhere(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j,
                          const char *text);
/* The same after FQ_MAX_CONFLICTS of them. */
void fq_unbound_conflict(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j,
                         const struct sl_kube_reply *reply);
/* What was said last; NULL: nothing was refused. */
const char *fq_unbound_text(const struct fq_pod *p);
bool fq_unbound_avoids(const struct sl_fluxqueue *q, const struct fq_unbound *u, sl_sym node);
/* It is not to be tried before this wall time. */
bool fq_unbound_pauses(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_time *ret);
/* Until when (wall) it avoids nodes; 0: it does not. */
sl_time fq_unbound_until(const struct sl_fluxqueue *q, const struct fq_pod *p);
/* Of a job whose pods kube-scheduler binds: not to this node, for a while. since: mono, when it
 * refused that. */
void fq_unbound_job(struct sl_fluxqueue *q, struct fq_job *j, sl_sym node, sl_time since,
                    const char *text);
/* How long it may refuse a pod from now on: longer each time. */
sl_span fq_unbound_patience(const struct sl_fluxqueue *q, const struct fq_job *j);
/* What was said of these last; NULL: nothing. */
const char *fq_unbound_job_text(const struct sl_fluxqueue *q, const struct fq_job *j);
/* The nodes that a pod and its job (NULL: none) avoid, and those that a job and all of its pods
 * without a place avoid, as a constraint. False: there are none. */
bool fq_unbound_where(const struct sl_fluxqueue *q, const struct fq_job *j, const struct fq_pod *p,
                      struct sl_arena *a, struct sl_constraint *ret);
bool fq_unbound_where_all(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_arena *a,
                          struct sl_constraint *ret);
void fq_unbound_hold(struct sl_syms *t, const struct fq_unbound *u);
void fq_unbound_free(struct fq_pod *p);

/* ---- kubebinds.c ---- */
void fq_kube_decode(const struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o);
/* Its node can be given to it; if not, an event says why. */
bool fq_kube_may_go(const struct fq_pod *p);
/* Its node as affinity, within its spec. */
void fq_kube_put_node(const struct sl_fluxqueue *q, const struct fq_pod *p, struct sl_jw *w);
/* Pods that kube-scheduler refuses for too long are deleted if they come again. Returns whether
 * there are refused ones, and the job says so. */
bool fq_kube_sync(struct sl_fluxqueue *q, struct fq_job *j, const struct sl_rec *o);
bool fq_kube_build(const struct fq_pod *p, struct sl_write *w);
void fq_kube_written(const struct sl_fluxqueue *q, struct fq_pod *p, const struct sl_write *w,
                     enum sl_written how, const struct sl_kube_reply *reply);
void fq_kube_free(struct fq_pod *p);

/* ---- exact.c ---- */
void fq_exact_pod_decode(struct sl_fluxqueue *q, struct fq_pod *p, yyjson_val *o);
void fq_exact_pod_deleted(struct sl_fluxqueue *q, struct fq_pod *p);
/* Is it in a place of its Workload? Then it is not one of others. */
bool fq_exact_seat(struct sl_fluxqueue *q, struct fq_pod *p);
/* It counts as others' and is going to end, or not any more. */
void fq_exact_note_leaving(struct sl_fluxqueue *q, struct fq_pod *p);
/* Has its Workload places? */
bool fq_exact_has(const struct sl_fluxqueue *q, const struct fq_pod *p);
/* Its Workload has places, or may get some: nothing else gives it one. */
bool fq_exact_may(const struct sl_fluxqueue *q, const struct fq_pod *p);
/* Of one whose Workload has places and that names our scheduler: bound to the node that was
 * selected for it. */
void fq_exact_plain_sync(struct sl_fluxqueue *q, struct fq_pod *p);
/* Does a write that takes places have to wait for releases of Workloads? It is made when these are
 * written. */
bool fq_exact_puts_off(struct sl_fluxqueue *q);
/* Host ports of what Workloads have. */
void fq_exact_each_usage(struct sl_fluxqueue *q,
                         void (*f)(struct sl_fluxqueue *, const struct fq_usage *, void *),
                         void *ctx);
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
uint32_t fq_obj_lane(const struct sl_rec *r);
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
/* None of its pods has a place yet, and all request the same, which is more than its template does,
 * since others have added to them: its jobspec is made of theirs. A set that was changed may have
 * pods of another template: nothing is made of these. Returns whether it is now. */
bool fq_obj_follow_pods(struct sl_fluxqueue *q, const struct fq_job *j, struct sl_rec *o);
/* A FluxJob is gone: one that its name is meant for can be made. */
void fq_object_name_freed(struct sl_fluxqueue *q, const struct sl_rec *flux);
/* Makes its FluxJob, or lets that one look. */
void fq_object_sync(struct sl_fluxqueue *q, struct sl_rec *object, const char *jobspec,
                    const char *refused);

/* ---- spread.c ---- */
/* Pods that a job has on a node. */
struct fq_kept {
    sl_sym node;
    uint32_t pods;
};
/* What its jobspec says of levels and the node, from the top. */
struct fq_spread_rule {
    uint32_t tier; /* a level; as many as there are: the node */
    uint32_t most; /* pods in one of it; UINT32_MAX: all of them are in one */
    bool exclusive;
};
struct fq_spread {
    struct fq_spread_rule v[FQ_MAX_LEVELS + 1];
    uint32_t n;
};
/* together: fq_jobspec_options.ret_together. */
void fq_spread_read(const struct sl_fluxqueue *q, const struct fq_jobspec_info *info,
                    uint32_t together, struct fq_spread *ret);
/* Of so many pods, those that fill nodes; if there are less, all. */
uint32_t fq_spread_round(const struct fq_spread *s, uint32_t pods);
/* The tiers around so many pods more, s->n of them. */
void fq_spread_shape(const struct sl_fluxqueue *q, const struct fq_spread *s, uint32_t pods,
                     struct fq_jobspec_tier *ret);
/* Where these may be, beside what is kept: added to *ret. fill: on a node that has some and has
 * lost others; false: there is none, and *ret is not to be used. */
bool fq_spread_where(const struct sl_fluxqueue *q, const struct fq_spread *s,
                     const struct fq_jobspec_tier *shape, const struct fq_kept *kept, uint32_t n,
                     bool fill, struct sl_arena *a, struct sl_constraint *ret);

/* ---- ports.c ---- */
/* Something of ours asks for these: if they are not pools yet, the graph is made anew. */
void fq_ports_demand(struct sl_fluxqueue *q, const struct fq_usage *u);
/* The same for a Workload that has no places yet: remembered while it asks. */
void fq_ports_ask(struct sl_fluxqueue *q, const struct fq_usage *u);
/* Nobody knows whether others ask for them: if some wait for a pool, the graph is made anew. */
void fq_ports_released(struct sl_fluxqueue *q, const struct fq_usage *u);
/* Which are pools of the graph that is about to be made. */
void fq_ports_collect(struct sl_fluxqueue *q);
/* They are on a node. */
void fq_ports_put(struct sl_fluxqueue *q, struct fq_node *n);

/* ---- volumes.c ---- */
/* The claims of a pod, or of a template (pod: NULL), one in a line; NULL: none. To be freed. */
char *fq_claims_read(struct sl_fluxqueue *q, yyjson_val *spec, const char *pod);
bool fq_claim_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_claim_deleted(void *ctx, struct sl_rec *r);
void fq_claim_free(struct sl_rec *r);
void fq_claim_hold(struct sl_syms *t, struct sl_rec *r);
bool fq_claim_build(void *ctx, struct sl_rec *r, struct sl_write *w);
bool fq_volume_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_volume_free(struct sl_rec *r);
bool fq_storage_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_storage_free(struct sl_rec *r);
/* Of claims as they were read: the first that cannot be used yet, and why; NULL: all can. */
const char *fq_claims_trouble(const struct sl_fluxqueue *q, sl_sym ns, const char *names,
                              char ret_name[SL_REC_NAME]);
/* What they say of nodes: changes when that does; and the same as a constraint, added to *ret. */
uint64_t fq_claims_hash(const struct sl_fluxqueue *q, sl_sym ns, const char *names);
void fq_claims_where(const struct sl_fluxqueue *q, sl_sym ns, const char *names, struct sl_arena *a,
                     struct sl_constraint *ret);
/* The same of the claims that all pods of a job have. */
uint64_t fq_volumes_hash(const struct sl_fluxqueue *q, const struct fq_job *j);
/* One of them is not ready: the job waits, and says so. */
bool fq_volumes_wait(struct sl_fluxqueue *q, struct fq_job *j);
/* The constraint of these is added to *ret; the same of one pod. */
void fq_volumes_where(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_arena *a,
                      struct sl_constraint *ret);
void fq_volumes_where_pod(const struct sl_fluxqueue *q, const struct fq_pod *p, struct sl_arena *a,
                          struct sl_constraint *ret);
/* May a pod be on this node? */
bool fq_volumes_allow(const struct sl_fluxqueue *q, const struct fq_pod *p, sl_sym node);
/* All claims of a pod are bound; if not, those that wait for it are told its node. j: its FluxJob;
 * NULL: it has none. */
bool fq_volumes_ready(struct sl_fluxqueue *q, struct fq_pod *p, struct fq_job *j);
/* Lets jobs look again, if claims, volumes or classes have changed. */
void fq_volumes_changed(struct sl_fluxqueue *q);

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

/* ---- kinds.c ---- */
void fq_kinds_keep(struct fq_job *j, const struct fq_jobspec_info *info);
void fq_kinds_free(struct fq_job *j);
/* The kind of slot that takes exactly this; FQ_ANY_KIND, if there is but one. False: none does. */
bool fq_kind_find(const struct sl_fluxqueue *q, const struct fq_job *j, const struct fq_usage *u,
                  uint32_t *ret);
/* What a slot of a kind takes. */
const struct fq_slot_amount *fq_kind_amounts(const struct fq_job *j, uint32_t kind, uint32_t *ret);
/* The places of a job with several kinds, from what the matcher gave it. False: they were not found
 * within FQ_MAX_SPLIT steps. */
bool fq_kinds_take(struct sl_fluxqueue *q, struct fq_job *j, const struct sl_grant *g);
/* Gives back the places of members that have ended, kind by kind. */
bool fq_kinds_give_back(struct sl_fluxqueue *q, struct fq_job *j);

/* ---- job.c ---- */
bool fq_job_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
/* Starts before the news of those that wait: these may be many, and nobody runs sooner by them. */
uint32_t fq_job_lane(const struct sl_rec *r);
void fq_job_reconcile(void *ctx, struct sl_rec *r);
void fq_job_deleted(void *ctx, struct sl_rec *r);
void fq_job_free(struct sl_rec *r);
void fq_job_hold(struct sl_syms *t, struct sl_rec *r);
/* What it wraps, NULL: it does not exist. */
struct sl_rec *fq_job_object(const struct sl_fluxqueue *q, const struct fq_job *j);
/* It was made here for this object, and follows it. */
bool fq_job_follows(const struct fq_job *j, const struct sl_rec *o);
/* It has ended, or was cancelled. */
bool fq_job_is_over(const struct fq_job *j);
void fq_job_finish(struct sl_fluxqueue *q, struct fq_job *j, enum fq_state s, const char *reason,
                   const char *message);
/* Something of it has changed that its status shows. */
void fq_job_touch(struct fq_job *j);
/* It has a reservation: shown at once if that is new, else as often as is worth a write. */
void fq_show_estimate(struct sl_fluxqueue *q, struct fq_job *j);
/* It gets what was promised to it later than promised: its events say so. */
void fq_tell_delay(struct fq_job *j, sl_time now);
void fq_job_set_state(struct fq_job *j, enum fq_state s, const char *reason, const char *fmt, ...)
    _printf_(4, 5);
/* Its places are in the API: what it wraps may start. */
static inline bool fq_job_committed(const struct fq_job *j) {
    return j->held && (int32_t)(j->written - j->places_version) >= 0;
}
/* Every pod of it that has a record: the next one, NULL at the end. */
struct fq_pods_of {
    struct sl_rec *set, *pod; /* of a Deployment: its ReplicaSet; the next one */
    struct fq_pod *member;    /* of a group: the next one */
    bool begun;
};
struct fq_pod *fq_job_next_pod(const struct sl_fluxqueue *q, const struct fq_job *j,
                               struct fq_pods_of *at);

/* ---- history.c ---- */
/* Its status is in the API: what is new in it is recorded. */
void fq_history_sync(struct sl_fluxqueue *q, struct fq_job *j);
void fq_history_deleted(struct sl_fluxqueue *q, struct fq_job *j);
/* It is to go, and its last status has to be in the API before: only that is known after a crash.
 */
bool fq_history_needs_status(const struct sl_fluxqueue *q, const struct fq_job *j);
/* All of it is in the ledger's file, or that was waited for long enough: it may go. */
bool fq_history_settled(struct sl_fluxqueue *q, struct fq_job *j);
void fq_history_bound(struct sl_fluxqueue *q, struct fq_job *j, struct fq_pod *p);
/* What was not recorded, since the ledger had no room, is looked at again when it has. */
void fq_history_tick(struct sl_fluxqueue *q);
/* "node[0-3],login" */
void fq_put_node_list(const struct sl_fluxqueue *q, const struct fq_job *j, struct sl_buf *out);

/* ---- ids.c ---- */
void fq_ids_tick(struct sl_fluxqueue *q);
sl_time fq_ids_next(const struct sl_fluxqueue *q); /* mono */
/* Before that no id may be given. */
bool fq_ids_known(const struct sl_fluxqueue *q);
bool fq_ids_idle(const struct sl_fluxqueue *q);
/* May the FluxJob with this id go? Otherwise it is asked again when it may. */
bool fq_ids_covers(struct sl_fluxqueue *q, int64_t jobid);
/* To be read anew. */
void fq_ids_forget(struct sl_fluxqueue *q);

/* ---- status.c ---- */
const char *fq_state_name(enum fq_state s);
void fq_status_decode(struct sl_fluxqueue *q, struct fq_job *j, yyjson_val *status);
bool fq_job_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void fq_job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply);

#endif
