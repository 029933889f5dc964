/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads job traces in the Standard Workload Format of the Parallel Workloads Archive: a line of 18
 * numbers for each job, in the order of submission, and comments that begin with ';'. -1 is an
 * unknown number. What counts for a simulation is kept; docs/simulation.md has the rules.
 *
 * Everything is bounded by the ceilings below. An error has file and line and says what was
 * expected; nothing is repaired by guessing.
 */
#ifndef SL_CMD_SIM_TRACE_SWF_H
#define SL_CMD_SIM_TRACE_SWF_H

#include "core/base/collection/vec.h"
#include "core/base/err.h"

#define SL_SWF_MAX_BYTES ((size_t)1 << 30)
#define SL_SWF_MAX_LINE 4096u /* bytes, without its end */
#define SL_SWF_MAX_JOBS 10000000u
#define SL_SWF_MAX_NUMBER INT64_C(100000000000) /* any; in seconds 3,000 years */
#define SL_SWF_UNKNOWN INT64_C(-1)

/* Numbers that may be unknown are SL_SWF_UNKNOWN then. */
struct sl_swf_job {
    int64_t id;     /* unique */
    int64_t submit; /* seconds, ascending */
    int64_t limit;  /* seconds that were requested, at least 1 */
    int64_t run;    /* seconds that it runs, from 1 to the limit */
    int64_t processors;
    int64_t memory_kib; /* of each processor, may be unknown */
    int64_t queue;      /* may be unknown */
};

struct sl_swf {
    int64_t max_nodes, max_processors; /* of the header, may be unknown */
    SL_VEC(struct sl_swf_job) jobs;
    uint32_t killed; /* jobs that would have run longer than requested */
    /* Lines that are no jobs here: parts of one whose summary has a line, jobs that did not run. */
    uint32_t partial, not_run;
};

/* 'file' is for messages; SL_ELIMIT beyond max_jobs. On failure nothing has to be freed. */
int sl_swf_read(const char *file, const char *text, size_t len, uint32_t max_jobs,
                struct sl_swf *ret, struct sl_err *err) _must_check_;
/* The same of a file, up to SL_SWF_MAX_JOBS. */
int sl_swf_load(const char *path, struct sl_swf *ret, struct sl_err *err) _must_check_;
void sl_swf_done(struct sl_swf *t);

#endif
