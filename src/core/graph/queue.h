/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues over the matcher: the order of tries, reservations and backfilling. Pure: time arrives
 * with each call, and the same calls give the same decisions.
 *
 * A queue is ordered by priority (high first), time of submission, and order of arrival. A pass
 * (sl_queues_run) tries the jobs of a queue in this order; one that fits starts, otherwise it is
 * busy and waits:
 *
 *     fcfs          the first busy job ends the pass of its queue
 *     easy          the first busy job gets a reservation; others may start if they do not delay it
 *     hybrid(n)     so do the first n busy ones
 *     conservative  so do all
 *
 * The pass of a queue also ends when so many of its jobs were tried and wait (depth). A job that
 * can never run is rejected. A busy job for which no reservation can be made, because what it needs
 * is down, waits without one and does not count.
 *
 * Several queues alternate job by job: the next job comes from the queue that was served least,
 * counted in jobs that it started and jobs that were tried in this pass; ties go to the one that
 * was added first. Service that a queue did not use while it was empty is dropped, and what it
 * could not use otherwise is limited to SL_QUEUE_CREDIT jobs. So no queue starves another. The
 * first jobs of a queue keep the turns that they had, though others pass them: as many as that, and
 * all up to the last that has a reservation. Otherwise reservations would move each time that a
 * small job starts.
 *
 * A reservation is a promise: what was reserved for a job is not later than it was told, whatever
 * ends early. So a job is tried while the reservations of all others are retained, those of later
 * ones too, and its own counts as free: it gets what is there now, or stays. Reservations give way
 * to
 *
 *   - a job of higher priority in the same queue, when it arrives or gets that priority: those of
 *     lower priority are given up, and made again in order;
 *   - a job before them that loses its reservation, because something is down or a job overruns,
 *     and could not be on time otherwise: those of all that come behind it in the pass.
 *
 * A job that was blocked may get a reservation before others that have one, which keep theirs:
 * there may be more for a time than the policy makes. Only what comes to stand behind the depth of
 * its queue loses it.
 *
 * The specification: a pass tries every job, and is repeated while anything was given back in it,
 * SL_QUEUE_PASSES times at most; the rest follows in the next turn. The implementation does less. A
 * reservation is retained, and a job that was busy is not tried again, as long as nothing was given
 * back that it could use:
 *
 *   - A job that ends when it was planned to changes no reservation, nor does one that begins when
 *     it was reserved to, nor a job that arrives behind.
 *   - A reservation that was dropped or moved changes nothing for those that end before it would
 *     have begun.
 *   - A busy job stays busy until a job or a reservation gives something back.
 *
 * The decisions are exactly those of the specification if giving more resources to a request never
 * makes it fail and the choice depends on scores alone; that is so for counts that are plain
 * numbers, under all policies but locality and those that stop early. Otherwise a retained
 * reservation may be one that would now be made of other vertices.
 */
#ifndef SL_CORE_GRAPH_QUEUE_H
#define SL_CORE_GRAPH_QUEUE_H

#include "core/graph/match/match.h"

#define SL_QUEUE_DEPTH 32u /* waiting jobs tried in one pass of a queue, by default */
#define SL_QUEUE_MAX_DEPTH 1000000u
#define SL_QUEUE_RESERVE 64u /* reservations of hybrid, by default */
#define SL_QUEUE_MAX_RESERVE 100000u
#define SL_QUEUE_CREDIT 32u
#define SL_QUEUE_PASSES 16u
#define SL_QUEUE_MAX_JOBS (UINT32_C(1) << 24)
#define SL_QUEUE_MAX_QUEUES 1024u
#define SL_QUEUE_NEVER INT64_MAX

enum sl_queue_policy { SL_QUEUE_FCFS, SL_QUEUE_EASY, SL_QUEUE_HYBRID, SL_QUEUE_CONSERVATIVE };

struct sl_queue_spec {
    const char *name;
    enum sl_queue_policy policy;
    uint32_t depth;   /* 0: SL_QUEUE_DEPTH */
    uint32_t reserve; /* hybrid; 0: SL_QUEUE_RESERVE */
    uint32_t match;   /* the matcher's policy by which its jobs are placed (sl_match_add_policy) */
    /* A virtual queue: its jobs are in the order of this one, whose policy applies to them. NULL:
     * it has its own order. */
    const char *parent;
};

/* How a job started: no earlier job of its queue waits; it was backfilled; it has not started but
 * has a reservation. */
enum sl_selection { SL_SELECT_IMMEDIATE, SL_SELECT_BACKFILL, SL_SELECT_RESERVED };

enum sl_decision_kind {
    SL_DECIDED_START,     /* it has its resources from now on */
    SL_DECIDED_RESERVE,   /* it has a reservation, new or at another time than before */
    SL_DECIDED_UNRESERVE, /* its reservation was dropped */
    SL_DECIDED_REJECT,    /* it can never run, and is removed */
};

struct sl_decision {
    enum sl_decision_kind kind;
    int64_t jobid;
    int64_t at; /* when it starts, or is estimated to; of the other kinds: now */
    enum sl_selection selection;
};

struct sl_queues;

/* Borrows the matcher. Jobs in it that did not come from here are left alone; adding or ending one
 * must be reported with sl_queues_changed. */
struct sl_queues *sl_queues_new(struct sl_match *m);
void sl_queues_free(struct sl_queues *q);
void sl_queues_freep(struct sl_queues **q);
/* SL_EINVAL, SL_EEXIST, SL_ENOENT (the parent), SL_ELIMIT. */
int sl_queues_add(struct sl_queues *q, const struct sl_queue_spec *s,
                  struct sl_err *err) _must_check_;

/* The matcher's policy of a queue, NULL: of the first that was added; false: there is no such
 * queue. */
bool sl_queues_match(const struct sl_queues *q, const char *queue, uint32_t *ret);

/* Takes over the request, also on failure. queue NULL: the first that was added. SL_ENOENT,
 * SL_EEXIST (also if the matcher has such a job), SL_ELIMIT. */
int sl_queues_submit(struct sl_queues *q, const char *queue, int64_t jobid, int64_t priority,
                     int64_t submitted, struct sl_match_request *r,
                     struct sl_err *err) _must_check_;
/* SL_ENOENT if no such job waits. */
int sl_queues_reprioritize(struct sl_queues *q, int64_t jobid, int64_t priority) _must_check_;
/* Ends a job in whatever state: waiting, reserved or running. SL_ENOENT. */
int sl_queues_remove(struct sl_queues *q, int64_t jobid) _must_check_;
/* Reports another change of the matcher. Changes of the graph are detected. */
void sl_queues_changed(struct sl_queues *q);

/* One pass. Decisions are appended to ret, in the order in which they were taken. A reservation
 * whose time has come is started, unless a job that overruns is still there: then it is made again.
 * A time before that of the last pass counts as that one. */
typedef SL_VEC(struct sl_decision) sl_decisions;
void sl_queues_run(struct sl_queues *q, int64_t now, sl_decisions *ret);
/* When a pass is due without an event: the earliest reservation, or SL_QUEUE_NEVER. */
int64_t sl_queues_next(const struct sl_queues *q);

struct sl_queue_waiting {
    uint32_t place; /* in its line, from 0 */
    bool reserved;
    int64_t estimate; /* if reserved: when it starts */
};
/* False if it does not wait. */
bool sl_queues_waiting(const struct sl_queues *q, int64_t jobid, struct sl_queue_waiting *ret);

#endif
