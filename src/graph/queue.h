/*
 * Queues over the matcher: who is tried when, who gets a reservation, who may pass. Pure: time
 * arrives with each call, and the same calls give the same decisions.
 *
 * A queue is a line of jobs, ordered by priority (high first), time of submission, and order of
 * arrival. A turn (sl_queues_run) tries jobs until nothing more can be decided:
 *
 *   fcfs          the first job that is busy ends the turn of its queue
 *   easy          the first busy job gets a reservation; others may start if they do not delay it
 *   hybrid(n)     so do the first n busy ones
 *   conservative  so do all
 *
 * A reservation that nothing has changed for is kept from turn to turn: when something ends early,
 * is added or removed, those that could come earlier are looked at again, in order. A job that can
 * never run is rejected. Several queues take turns job by job, the one that has had the least of
 * late first, so that none starves the others.
 */
#ifndef SL_GRAPH_QUEUE_H
#define SL_GRAPH_QUEUE_H

#include "graph/match.h"

#define SL_QUEUE_DEPTH 32u /* jobs looked at in one turn of a queue, by default */
#define SL_QUEUE_MAX_DEPTH 1000000u
#define SL_QUEUE_RESERVE 64u /* reservations of hybrid, by default */
#define SL_QUEUE_MAX_RESERVE 100000u
#define SL_QUEUE_MAX_JOBS (UINT32_C(1) << 24)

enum sl_queue_policy { SL_QUEUE_FCFS, SL_QUEUE_EASY, SL_QUEUE_HYBRID, SL_QUEUE_CONSERVATIVE };

struct sl_queue_spec {
    const char *name;
    enum sl_queue_policy policy;
    uint32_t depth;     /* 0: SL_QUEUE_DEPTH */
    uint32_t reserve;   /* hybrid; 0: SL_QUEUE_RESERVE */
    const char *parent; /* a virtual queue shares the line of this one; NULL: it has its own */
};

enum sl_selection { SL_SELECT_IMMEDIATE, SL_SELECT_BACKFILL, SL_SELECT_RESERVED };

enum sl_decision_kind {
    SL_DECIDED_START,     /* it has its resources from now on */
    SL_DECIDED_RESERVE,   /* it has a reservation, new or at another time than before */
    SL_DECIDED_UNRESERVE, /* it had one and has none any more */
    SL_DECIDED_REJECT,    /* it can never run */
};

struct sl_decision {
    enum sl_decision_kind kind;
    int64_t jobid;
    int64_t at; /* when it starts, or is estimated to */
    enum sl_selection selection;
};

struct sl_queues;

/* Borrows the matcher, which only the queues change from now on (jobs of others may be in it). */
struct sl_queues *sl_queues_new(struct sl_match *m);
void sl_queues_free(struct sl_queues *q);
void sl_queues_freep(struct sl_queues **q);
/* Queues are added before jobs. SL_EEXIST, SL_ENOENT (the parent), SL_ELIMIT. */
int sl_queues_add(struct sl_queues *q, const struct sl_queue_spec *s,
                  struct sl_err *err) _must_check_;

/* Takes over the request, also on failure. */
int sl_queues_submit(struct sl_queues *q, const char *queue, int64_t jobid, int64_t priority,
                     int64_t submitted, struct sl_request *r, struct sl_err *err) _must_check_;
int sl_queues_reprioritize(struct sl_queues *q, int64_t jobid, int64_t priority) _must_check_;
/* Ends a job in whatever state: waiting, reserved or running. SL_ENOENT. */
int sl_queues_remove(struct sl_queues *q, int64_t jobid) _must_check_;
/* The graph changed: status, growth, properties. */
void sl_queues_changed(struct sl_queues *q);

/* One turn. Decisions are appended to ret, in the order in which they were taken. */
typedef SL_VEC(struct sl_decision) sl_decisions;
void sl_queues_run(struct sl_queues *q, int64_t now, sl_decisions *ret);
/* When a turn is due although nothing happens: the earliest reservation; SL_PLAN_NEVER: none. */
int64_t sl_queues_next(const struct sl_queues *q);

struct sl_waiting {
    uint32_t place;   /* in its line, from 0 */
    int64_t estimate; /* when it is reserved to start; -1: not known */
};
/* False if it does not wait. */
bool sl_queues_waiting(const struct sl_queues *q, int64_t jobid, struct sl_waiting *ret);

#endif
