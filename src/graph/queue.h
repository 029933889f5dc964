/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues over the matcher: who is tried when, who gets a reservation, who may pass. Pure: time
 * arrives with each call, and the same calls give the same decisions.
 *
 * A queue is a line of jobs, ordered by priority (high first), time of submission, and order of
 * arrival. A turn (sl_queues_run) looks at the jobs of a line in this order; one that fits starts,
 * or is busy and waits:
 *
 *   fcfs          the first busy job ends the turn of its line
 *   easy          the first busy job gets a reservation; others may start if they do not delay it
 *   hybrid(n)     so do the first n busy ones
 *   conservative  so do all
 *
 * The turn of a line also ends when so many of its jobs were looked at and wait (depth). A job that
 * can never run is rejected. A busy job that no reservation can be made for, because what it needs
 * is down, waits without one and does not count.
 *
 * Several lines take turns job by job: the next job comes from the line that has had the least,
 * that is, jobs that it started and jobs that were looked at in this turn; of equals, the one that
 * was added first. What a line did not use while it was empty is forgotten, and of what it could
 * not use otherwise no more is remembered than SL_QUEUE_CREDIT jobs. So none starves another. The
 * first jobs of a line keep the turns that they had, though others pass them: as many as that, and
 * all up to the last that has a reservation. Or reservations would move each time that a small job
 * starts.
 *
 * The rule that decides is simple: a turn is as if all reservations were given up and everything
 * were decided anew, in this order. What is done is less. A reservation is kept, and a job that was
 * busy is not tried again, as long as nothing has changed that stands before it:
 *
 *   - A job that ends when it was planned to changes no reservation, nor does one that begins when
 *     it was reserved to, nor a job that arrives behind.
 *   - A reservation that was given up, by removal, changes nothing for those that end before it
 *     would have begun.
 *   - A busy job stays busy until something before it, or a running job, gives something back.
 *
 * From the first job on that has to be tried again, reservations are made anew (those that come out
 * the same are not told again). The starts and the estimates are then exactly those of the rule if
 * giving more resources to a request never makes it fail and what is chosen depends on scores
 * alone; that is so for counts that are plain numbers, under all policies but locality and those
 * that stop early. Otherwise a kept reservation may be one that would now be made of other
 * vertices.
 */
#ifndef SL_GRAPH_QUEUE_H
#define SL_GRAPH_QUEUE_H

#include "graph/match.h"

#define SL_QUEUE_DEPTH 32u /* waiting jobs looked at in one turn of a line, by default */
#define SL_QUEUE_MAX_DEPTH 1000000u
#define SL_QUEUE_RESERVE 64u /* reservations of hybrid, by default */
#define SL_QUEUE_MAX_RESERVE 100000u
#define SL_QUEUE_CREDIT 32u
#define SL_QUEUE_MAX_JOBS (UINT32_C(1) << 24)
#define SL_QUEUE_MAX_QUEUES 1024u
#define SL_QUEUE_NEVER INT64_MAX

enum sl_queue_policy { SL_QUEUE_FCFS, SL_QUEUE_EASY, SL_QUEUE_HYBRID, SL_QUEUE_CONSERVATIVE };

struct sl_queue_spec {
    const char *name;
    enum sl_queue_policy policy;
    uint32_t depth;   /* 0: SL_QUEUE_DEPTH */
    uint32_t reserve; /* hybrid; 0: SL_QUEUE_RESERVE */
    /* A virtual queue: its jobs stand in the line of this one, whose policy holds for them. NULL:
     * it has a line of its own. */
    const char *parent;
};

/* How a job came to its start: nobody before it in its line waits; it passed somebody; it has not
 * started but has a reservation. */
enum sl_selection { SL_SELECT_IMMEDIATE, SL_SELECT_BACKFILL, SL_SELECT_RESERVED };

enum sl_decision_kind {
    SL_DECIDED_START,     /* it has its resources from now on */
    SL_DECIDED_RESERVE,   /* it has a reservation, new or at another time than before */
    SL_DECIDED_UNRESERVE, /* it had one and has none any more */
    SL_DECIDED_REJECT,    /* it can never run, and is forgotten */
};

struct sl_decision {
    enum sl_decision_kind kind;
    int64_t jobid;
    int64_t at; /* when it starts, or is estimated to; of the other kinds: now */
    enum sl_selection selection;
};

struct sl_queues;

/* Borrows the matcher. Jobs in it that did not come from here are left alone; whoever adds or ends
 * one says so with sl_queues_changed. */
struct sl_queues *sl_queues_new(struct sl_match *m);
void sl_queues_free(struct sl_queues *q);
void sl_queues_freep(struct sl_queues **q);
/* SL_EINVAL, SL_EEXIST, SL_ENOENT (the parent), SL_ELIMIT. */
int sl_queues_add(struct sl_queues *q, const struct sl_queue_spec *s,
                  struct sl_err *err) _must_check_;

/* Takes over the request, also on failure. queue NULL: the first that was added. SL_ENOENT,
 * SL_EEXIST (also if the matcher has such a job), SL_ELIMIT. */
int sl_queues_submit(struct sl_queues *q, const char *queue, int64_t jobid, int64_t priority,
                     int64_t submitted, struct sl_job_request *r, struct sl_err *err) _must_check_;
/* SL_ENOENT if no such job waits. */
int sl_queues_reprioritize(struct sl_queues *q, int64_t jobid, int64_t priority) _must_check_;
/* Ends a job in whatever state: waiting, reserved or running. SL_ENOENT. */
int sl_queues_remove(struct sl_queues *q, int64_t jobid) _must_check_;
/* Something else changed in the matcher. Changes of the graph are seen without it. */
void sl_queues_changed(struct sl_queues *q);

/* One turn. Decisions are appended to ret, in the order in which they were taken. A reservation
 * whose time has come is begun, unless a job that overruns is still there: then it is made anew. A
 * time before that of the last turn counts as that one. */
typedef SL_VEC(struct sl_decision) sl_decisions;
void sl_queues_run(struct sl_queues *q, int64_t now, sl_decisions *ret);
/* When a turn is due although nothing happens: the earliest reservation, or SL_QUEUE_NEVER. */
int64_t sl_queues_next(const struct sl_queues *q);

struct sl_waiting {
    uint32_t place; /* in its line, from 0 */
    bool reserved;
    int64_t estimate; /* if reserved: when it starts */
};
/* False if it does not wait. */
bool sl_queues_waiting(const struct sl_queues *q, int64_t jobid, struct sl_waiting *ret);

#endif
