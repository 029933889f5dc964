/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a job trace under a virtual clock over a resource graph and its queues (core/graph/queue.h).
 * The queues decide; here are only the machine, arrivals and ends:
 *
 *   - At one instant jobs that end go first, then those that are submitted arrive, then the queues
 *     run once. They also run when a reservation begins.
 *   - A job of p processors requests p slots of one core, with memory if both sides know theirs.
 *   - The queues know the requested time; a job ends after its run time, which is not longer.
 *
 * Times are whole seconds of the trace. Nothing here depends on the machine that it runs on but
 * cpu_s.
 */
#ifndef SL_CMD_SIM_TRACE_TRACE_H
#define SL_CMD_SIM_TRACE_TRACE_H

#include "cmd/sim/meter/timeline.h"
#include "cmd/sim/trace/swf.h"
#include "core/base/buf.h"
#include "core/graph/queue.h"

#define SL_TRACE_MAX_NODES 1000000u
#define SL_TRACE_MAX_RESOLUTION 86400u
#define SL_TRACE_MAX_CPU 65536u                    /* of a node */
#define SL_TRACE_MAX_MEMORY_MIB (INT64_C(1) << 30) /* of a node: 1 PiB */
#define SL_TRACE_MAX_POLICIES 8u                   /* in one table */
#define SL_TRACE_MAX_SECONDS (INT64_C(1) << 31)    /* that can be plotted: 68 years */
#define SL_TRACE_BOUND 10                          /* seconds, of the bounded slowdown */
#define SL_TRACE_NAME 24

/* ---- the machine ---- */

struct sl_trace_machine {
    uint32_t nodes;
    uint32_t cpu;       /* of a node ... */
    uint32_t one_more;  /* ... and so many of the first nodes have one more */
    int64_t memory_mib; /* of a node; 0: memory does not count */
};
uint64_t sl_trace_processors(const struct sl_trace_machine *m);

/* What is 0 in 'given' is what the header of the trace says. Nodes: MaxNodes, else as many as
 * MaxProcs needs. Processors: MaxProcs as evenly as possible on MaxNodes nodes, or, if there is no
 * MaxNodes, on those that there are; else one a node. SL_EINVAL if nothing says how many nodes,
 * SL_ELIMIT. */
int sl_trace_machine_complete(const struct sl_swf *t, const char *file,
                              const struct sl_trace_machine *given, struct sl_trace_machine *ret,
                              struct sl_err *err) _must_check_;

/* ---- policies ---- */

struct sl_trace_policy {
    char name[SL_TRACE_NAME];
    enum sl_queue_policy policy;
    uint32_t reserve; /* of hybrid; 0: its default */
};
/* NULL-terminated, for completion. */
extern const char *const sl_trace_policy_names[];
/* "fcfs,easy,hybrid:8,conservative", each once, into an array of SL_TRACE_MAX_POLICIES. */
int sl_trace_policies_parse(const char *text, struct sl_trace_policy *ret, uint32_t *ret_n,
                            struct sl_err *err) _must_check_;

/* ---- a run ---- */

struct sl_trace_options {
    struct sl_trace_machine machine;
    struct sl_match_policy match;
    uint32_t depth;      /* of each queue; 0: SL_QUEUE_DEPTH */
    bool one_queue;      /* the queue numbers of the trace do not count */
    uint32_t resolution; /* the queues see time in steps of so many seconds; 0: of one */
    int64_t until; /* the last second that is simulated, from the first arrival; 0: to the end */
    /* All of these may be NULL. */
    void (*decided)(void *ctx, const struct sl_trace_policy *p, int64_t now,
                    const struct sl_decision *d);
    void (*progress)(void *ctx, uint64_t done, int64_t now);
    void *ctx;
    struct sl_timeline *timeline; /* from 0, the first arrival; nanoseconds */
    uint32_t row;                 /* of the timeline */
};

/* What became of a job. */
struct sl_trace_job {
    int64_t start;    /* -1: it has not started */
    int64_t promised; /* the start that its first reservation had; -1: it never had one */
    bool backfilled, never;
};

struct sl_trace_result {
    struct sl_trace_policy policy;
    struct sl_trace_job *jobs; /* as in the trace */
    uint64_t arrived, finished, running, waiting;
    uint64_t never;      /* cannot run on this machine */
    uint64_t backfilled; /* started before an earlier job of their queue */
    uint64_t reserved;   /* had a reservation */
    uint64_t late;    /* of these, started in a later step than their first reservation said ... */
    int64_t latest;   /* ... by at most so many seconds */
    int64_t makespan; /* from the first arrival to the last end, or where the run was stopped */
    double utilisation; /* processors in use over processors, during the makespan */
    /* Of jobs that started: seconds from submission to start; percentiles by rank. */
    double mean_wait;
    int64_t median_wait, p95_wait, max_wait;
    /* Mean of (wait + run) / max(run, SL_TRACE_BOUND), each at least 1. */
    double slowdown;
    uint64_t passes, decisions;
    uint64_t digest; /* of all decisions and their times */
    double cpu_s;
};

/* SL_ELIMIT: too many queues, or the graph is too large. On failure nothing has to be freed. */
int sl_trace_run(const struct sl_swf *t, const struct sl_trace_policy *p,
                 const struct sl_trace_options *o, struct sl_trace_result *ret,
                 struct sl_err *err) _must_check_;
void sl_trace_result_done(struct sl_trace_result *r);

/* A matcher over the machine. */
int sl_trace_match_new(const struct sl_trace_machine *m, const struct sl_match_policy *p,
                       struct sl_match **ret, struct sl_err *err) _must_check_;
/* The request of a job to it. */
int sl_trace_request_new(const struct sl_match *m, const struct sl_trace_machine *machine,
                         const struct sl_swf_job *j, struct sl_match_request **ret,
                         struct sl_err *err) _must_check_;
/* Numbers of the jobs, from what became of them, at the end of a run or at 'now'. */
void sl_trace_sum_up(const struct sl_swf *t, const struct sl_trace_options *o, int64_t now,
                     struct sl_trace_result *r);
/* When it is for the queues. */
int64_t sl_trace_clock(const struct sl_trace_options *o, int64_t now);

/* ---- the report ---- */

struct sl_trace_report {
    const char *source;
    const struct sl_swf *trace;
    const struct sl_trace_options *options;
    const char *match; /* the name of the match policy */
    const struct sl_trace_result *results;
    uint32_t n;
};
/* One object, without a line break at its end. */
void sl_trace_report_json(const struct sl_trace_report *r, struct sl_buf *out);

#endif
