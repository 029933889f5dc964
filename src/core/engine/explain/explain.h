/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the explanation, shared by explain.c and help.c. */
#ifndef SL_CORE_ENGINE_EXPLAIN_EXPLAIN_H
#define SL_CORE_ENGINE_EXPLAIN_EXPLAIN_H

#include "core/engine/state.h"

/* Evaluates as a cycle without other workloads would: while it is refused with flavors untried, the
 * scan continues. The entry is the evaluation that succeeds, or else the first one. */
void eng_explain_evaluate(struct sl_engine *e, struct eng_entry *x, uint32_t wl, uint32_t class,
                          uint32_t cq);
/* The smallest changes that would admit the workload of this refused entry. */
void eng_explain_help_quota(struct sl_engine *e, const struct eng_entry *x, struct sl_verdict *v);
/* Not in any queue, or the queue is stopped: reports that with what would help. */
bool eng_explain_blocked(struct sl_engine *e, uint32_t wl, struct sl_verdict *v);
/* Failed checks, namespace, invalid: the message of the obstacle, or NULL. */
const char *eng_wl_obstacle_text(const struct sl_engine *e, uint32_t wl, struct sl_arena *a);

#endif
