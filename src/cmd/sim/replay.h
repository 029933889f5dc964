/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a journal again, inside: shared by replay.c and whatif.c.
 */
#ifndef SL_CMD_SIM_REPLAY_H
#define SL_CMD_SIM_REPLAY_H

#include "cmd/sim/journal/journal.h"
#include "cmd/sim/run.h"

/* What a replay records about the workloads, for a second run of the same journal. */
struct sl_replay_trace {
    SL_VEC(uint32_t)
    known; /* for each fact about the content of a workload: the number of the workload */
    SL_VEC(sl_span) runtimes; /* by number; -1: it never finished */
    SL_VEC(uint32_t) classes; /* by number: class of the meter */
    SL_VEC(bool) gone;        /* for each fact that a workload is gone: it had finished */
    SL_VEC(uint32_t) numbers; /* by the index inside the id, while it exists */
};

/* The shapes of a journal in an engine, made as they are met: by number less one. */
struct sl_replay_shapes {
    SL_VEC(sl_shape_id) v;
};
void sl_replay_shapes_done(struct sl_replay_shapes *s, struct sl_engine *e);

/* Everything up to the end of the journal; lesson may be NULL. */
int sl_replay_run(const struct sl_sim_request *q, struct sl_report *ret,
                  struct sl_replay_trace *lesson, struct sl_err *err) _must_check_;

/* The fact of a record, made ready for an engine: finds the workload by its name and gives it its
 * shape. *ret_known is false if it is about a workload and there is none of that name. */
int sl_replay_prepare(struct sl_world *w, struct sl_replay_shapes *shapes,
                      struct sl_journal_record *rec, struct sl_sim_wl_note *note, bool *ret_known,
                      struct sl_err *err) _must_check_;

#endif
