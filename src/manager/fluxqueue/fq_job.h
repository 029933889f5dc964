/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/fluxqueue: FluxJobs: their life, places, status, history and ids.
 */
#ifndef SL_MANAGER_FLUXQUEUE_FQ_JOB_H
#define SL_MANAGER_FLUXQUEUE_FQ_JOB_H

#include "core/base/buf.h"
#include "core/base/collection/vec.h"
#include "core/graph/queue.h"
#include "kube/informer/informer.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

struct fq_pod;
struct fq_unbound;
struct fq_usage;
struct sl_fluxqueue;

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
    char *queue;                                    /* "": not known yet */
    char *message;
    SL_VEC(struct fq_place) places; /* by node, in the order of the graph's nodes at their time */
    /* Given back for a reason that is not in the API: nobody's before its status of this version is
     * there. */
    SL_VEC(struct fq_place) left;
    uint32_t left_version;
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
    bool again;        /* it is to be tried now */
    uint64_t judged;   /* q->shrunk when it was found that it can run */
    sl_time grow_at;   /* mono: not before */
    sl_time missed;    /* mono: since when its object is not there; 0: it is */
    uint32_t grown;    /* what was missing when some was found; 0: none was */
    uint32_t special;  /* which of the pods with claims of their own is looked for next */
    struct fq_recorded recorded;
    char *ran_on;     /* one that had ended before the start: its nodes, until that is recorded */
    uint32_t ran;     /* of the same: so many pods had places there at the end */
    uint32_t missing; /* pods that have no place */
    uint32_t paused;  /* of these, whose binding was refused just now */
    uint32_t odd;     /* of them, those of another size than that of the jobspec */
    /* kubebinds.c */
    struct fq_unbound *unbound; /* where kube-scheduler did not bind its pods; NULL: nowhere */
};

static inline struct fq_job *fq_job_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_job, rec);
}

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

/* ---- status.c ---- */
const char *fq_state_name(enum fq_state s);
void fq_status_decode(struct sl_fluxqueue *q, struct fq_job *j, yyjson_val *status);
bool fq_job_build(void *ctx, struct sl_rec *r, struct sl_write *w);
void fq_job_written(void *ctx, struct sl_rec *r, const struct sl_write *w, enum sl_written how,
                    const struct sl_kube_reply *reply);

/* ---- places.c ---- */
/* Gives the pods of a job its places, gives back those that it does not need, and counts the pods
 * that have none. */
void fq_places_sync(struct sl_fluxqueue *q, struct fq_job *j);
/* Of a standby, which gives out nothing: pods in the places that the job has according to its
 * status are not counted as others'. */
void fq_places_observe(struct sl_fluxqueue *q, struct fq_job *j);

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

#endif
