/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world: one engine together with everything that watches it (meter, journal, digest). Facts go
 * in and cycles run only through here, so that a simulation, a replay and a what-if see, count and
 * write down the same things.
 */
#ifndef SL_CMD_SIM_WORLD_H
#define SL_CMD_SIM_WORLD_H

#include "cmd/sim/meter/meter.h"
#include "core/engine/engine.h"

struct sl_journal;

/* What is known of a workload besides the fact itself. */
struct sl_sim_wl_note {
    uint32_t klass;       /* of the meter */
    uint32_t local_queue; /* of the meter; SL_METER_NONE: looked up by name */
    const char *class_name;
    const struct sl_podset_spec *podsets; /* what its shape was made of; for the journal */
    uint32_t n_podsets;
};

struct sl_world {
    struct sl_engine *engine;
    struct sl_effects effects; /* of the last cycle */
    struct sl_meter *meter;
    struct sl_journal *journal; /* borrowed; NULL: none is written */
    bool check;                 /* compare the engine with its parts after every cycle */
    uint64_t digest, facts, cycles, decisions;
};

/* The digest before anything happened. */
#define SL_WORLD_SEED UINT64_C(0x736c756963652e31)

void sl_world_init(struct sl_world *w, bool timeline);
void sl_world_done(struct sl_world *w);

/* note is needed with SL_FACT_WORKLOAD only. ret_wl may be NULL. */
int sl_world_apply(struct sl_world *w, const struct sl_fact *f, const struct sl_sim_wl_note *note,
                   sl_wl_id *ret_wl, struct sl_err *err) _must_check_;
/* Decides at 'now'; the effects are in w->effects until the next cycle. */
int sl_world_cycle(struct sl_world *w, sl_time now, struct sl_err *err) _must_check_;

#endif
