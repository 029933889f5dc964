/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three ways to run the engine without a cluster: a load, a journal again, and a journal with
 * other queues. Each fills a report; the caller frees it in any case.
 */
#ifndef SL_CMD_SIM_RUN_H
#define SL_CMD_SIM_RUN_H

#include "cmd/sim/report.h"

struct sl_sim_request {
    const char *file;    /* load or journal */
    const char *journal; /* write the run down here; NULL: do not */
    bool timeline;       /* keep what pictures need */
    bool check;          /* verify the engine's state after every cycle */
    sl_span until;       /* stop the virtual clock here; 0: at the end */
    void (*progress)(void *ctx, uint64_t done, uint64_t total, sl_span now); /* may be NULL */
    void *progress_ctx;
};

/* Simulates a load generator file (docs/simulation.md). */
int sl_sim_run_load(const struct sl_sim_request *q, struct sl_report *ret,
                    struct sl_err *err) _must_check_;
/* Runs the facts and cycles of a journal again. SL_EMISMATCH if it does not end in the same digest;
 * the message has the line and time where the two first differ. */
int sl_sim_run_replay(const struct sl_sim_request *q, struct sl_report *ret,
                      struct sl_err *err) _must_check_;
/* Runs a journal again as it was, and then with the queues of the file 'change'. */
int sl_sim_run_what_if(const struct sl_sim_request *q, const char *change, struct sl_report *before,
                       struct sl_report *after, struct sl_err *err) _must_check_;

#endif
