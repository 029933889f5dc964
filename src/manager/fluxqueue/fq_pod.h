/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/manager/fluxqueue: pods, those that are no job (plain.c), those whose binding was
 * refused (unbound.c), and those that kube-scheduler binds (kubebinds.c).
 */
#ifndef SL_MANAGER_FLUXQUEUE_FQ_POD_H
#define SL_MANAGER_FLUXQUEUE_FQ_POD_H

#include "core/graph/queue.h"
#include "kube/informer/informer.h"
#include "manager/fluxqueue/fq_node.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

struct fq_group;
struct fq_job;
struct fq_kube;
struct fq_unbound;
struct fq_where;
struct sl_fluxqueue;

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
    const struct fq_pod *first;        /* the first in the queue of those that are to be */
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
    struct fq_usage *usage;     /* NULL: it takes nothing any more */
    struct fq_usage *over;      /* its own: counted as others' in place of it; NULL: all of it is */
    char *jobspec;              /* of one that is a job by itself, until it is bound */
    char *refused;              /* why it has none */
    struct fq_where *own_where; /* of a jobspec that is its owner's own (own.c) */
    uint64_t spec;              /* hash of what it says */
    uint32_t edition;           /* q->edition when its jobspec was written */
    uint64_t allocated;         /* and of what it has, if its resize is infeasible; 0: it is not */
    char *gates;                /* a JSON array of the others' gates; NULL: none */
    bool overgated;             /* that would be too long, and is none */
    sl_sym node;                /* that it is bound to */
    sl_sym target;              /* that it is to be bound to */
    sl_sym sent;                /* that a binding was sent for: it may come to be there; 0: none */
    sl_sym named;               /* the node that its annotation says; 0: none does */
    sl_sym charged;             /* the node whose pools it is counted at as one of others */
    sl_sym stands;              /* the node that it is counted at in any case */
    int32_t index;              /* completion index; -1: none */
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

static inline struct fq_pod *fq_pod_of(struct sl_rec *r) {
    return SL_CONTAINER_OF(r, struct fq_pod, rec);
}

/* The node that kube-scheduler is to bind it to, from the end of its gate on; 0: none yet. */
static inline sl_sym fq_kube_place(const struct fq_pod *p) {
    return p->ours && !p->binds && !p->gated ? p->named : 0;
}
/* The node that it is on, or may come to: it takes of that, whoever has its place. */
static inline sl_sym fq_pod_at(const struct fq_pod *p) {
    return p->node ? p->node : p->sent;
}
/* It has no place, and may get one. */
static inline bool fq_pod_waits(const struct fq_pod *p) {
    return !fq_pod_at(p) && !p->target && !p->ended && !p->rec.gone && !p->rec.deleting &&
           !fq_kube_place(p);
}

/* ---- pods.c ---- */
/* It is on a node of the graph, and stays there. */
bool fq_pod_settled(const struct sl_fluxqueue *q, const struct fq_pod *p);
bool fq_pod_wanted(void *ctx, yyjson_val *o);
bool fq_pod_decode(void *ctx, struct sl_rec *r, yyjson_val *o);
void fq_pod_reconcile(void *ctx, struct sl_rec *r);
void fq_pod_deleted(void *ctx, struct sl_rec *r);
void fq_pod_free(struct sl_rec *r);
void fq_pod_hold(struct sl_syms *t, struct sl_rec *r);
bool fq_pod_build(void *ctx, struct sl_rec *r, struct sl_write *w);
/* POSTs the binding to its target. */
void fq_build_binding(struct sl_fluxqueue *q, struct fq_pod *p, struct sl_write *w);
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
/* Of the rejected ones, one of each request is tried again, of so many requests; and after the
 * pass, if that one was not rejected, so are the others. False: there are more requests. */
bool fq_plain_retry(struct sl_fluxqueue *q, uint32_t most);
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

#endif
