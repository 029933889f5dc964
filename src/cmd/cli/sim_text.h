/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of simulations as text: one run, or two side by side.
 */
#ifndef SL_CMD_CLI_SIM_TEXT_H
#define SL_CMD_CLI_SIM_TEXT_H

#include "cmd/cli/term.h"
#include "cmd/sim/report.h"

void cli_sim_text(const struct sl_report *r, const struct cli_term *t);
void cli_sim_text_compare(const struct sl_report *before, const struct sl_report *after,
                          const struct cli_term *t);

/* "830 us", "83.2 ms", "76.85 s", "1h02m": as many digits as one reads. */
#define SL_HUMAN_TEXT 48
const char *cli_human_span(sl_span d, char out[SL_HUMAN_TEXT]);
/* "12,345" */
const char *cli_human_count(uint64_t n, char out[SL_HUMAN_TEXT]);

#endif
