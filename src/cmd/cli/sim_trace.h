/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice sim with a job trace: options, the runs and the table of policies.
 */
#ifndef SL_CMD_CLI_SIM_TRACE_H
#define SL_CMD_CLI_SIM_TRACE_H

#include "cmd/cli/term.h"
#include "cmd/sim/trace/trace.h"

/* As on the command line; NULL: not given. */
struct cli_trace_args {
    const char *policy, *match, *depth, *resolution, *nodes, *node_cpu, *node_memory, *until, *svg;
    bool one_queue, json, chart, tell, progress;
};

/* Options that were read. */
struct cli_trace {
    const struct cli_trace_args *args;
    struct sl_trace_policy policies[SL_TRACE_MAX_POLICIES];
    uint32_t n_policies;
    struct sl_trace_options options; /* the machine as given */
};

/* The message says which option is wrong. */
int cli_trace_read(const struct cli_trace_args *a, struct cli_trace *ret,
                   struct sl_err *err) _must_check_;
/* Runs the trace under each policy and prints the result. */
int cli_trace_run(const struct cli_trace *t, const char *file, struct cli_term *term,
                  struct sl_err *err) _must_check_;

#endif
