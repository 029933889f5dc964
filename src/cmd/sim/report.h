/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a run, and its JSON form. The text form is in the command line.
 */
#ifndef SL_CMD_SIM_REPORT_H
#define SL_CMD_SIM_REPORT_H

#include "cmd/sim/world.h"
#include "core/base/buf.h"

#define SL_REPORT_MAX_STUCK 3u
#define SL_REPORT_MAX_BYTES ((size_t)256 << 20)

/* A workload that was still waiting when nothing more could happen, and why. */
struct sl_report_stuck {
    const char *name, *queue, *why;
};

struct sl_report {
    char *source; /* the input, for display */
    struct sl_world world;
    struct sl_meter_result result;
    double cpu_s, wall_s;
    uint64_t pending; /* waiting at the end */
    struct sl_report_stuck stuck[SL_REPORT_MAX_STUCK];
    uint32_t n_stuck;
    struct sl_arena arena;
    uint64_t guessed;   /* workloads whose runtime is in no journal */
    double cpu0, wall0; /* when it began */
};

/* Of this process, user and system. */
double sl_report_cpu_seconds(void);

/* Starts the clocks and makes the world. */
void sl_report_init(struct sl_report *r, const char *source, bool timeline);
void sl_report_done(struct sl_report *r);
/* Resets the clocks. */
void sl_report_restart(struct sl_report *r);
/* Sums up at 'now', stops the clocks. */
void sl_report_end(struct sl_report *r, sl_time now);

/* One object, without a line break at its end. */
void sl_report_json(const struct sl_report *r, struct sl_buf *out);
/* {"before":...,"after":...} */
void sl_report_compare_json(const struct sl_report *before, const struct sl_report *after,
                            struct sl_buf *out);

#endif
