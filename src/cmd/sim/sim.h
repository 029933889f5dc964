/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discrete-event simulation of the engine under a virtual clock.
 *
 * The clock jumps from event to event. Everything that happens at one instant is applied, then one
 * cycle runs, then its effects are carried out:
 *
 *   admitted   the workload runs for its runtime, then it is finished and removed;
 *   evicted    it stops at once, releases its quota after the eviction delay, is requeued, and
 *              starts from the beginning when it is admitted again;
 *   checks     a pending admission check is ready at the same instant, and so are pods.
 *
 * At one instant finished workloads go first, then released ones, then those of the sources.
 *
 * The cost of an event is O(log n) in the streams and running workloads; nothing is allocated or
 * formatted in the loop itself.
 */
#ifndef SL_CMD_SIM_SIM_H
#define SL_CMD_SIM_SIM_H

#include "cmd/sim/world.h"
#include "core/base/collection/heap.h"

/* Virtual time 0 on the engine's clock: not 0 itself, which means "none" there. */
#define SL_SIM_EPOCH (INT64_C(946684800) * SL_SEC) /* 2000-01-01T00:00:00Z */

#define SL_SIM_MAX_WORKLOADS UINT64_C(20000000) /* of one run */
#define SL_SIM_MAX_SAME_INSTANT 100000u         /* cycles without the clock moving */

struct sl_sim;

/* Source of facts. Each stream emits at one time, and returns its next time. */
struct sl_sim_source {
    void *ctx;
    uint32_t n_streams;
    uint64_t expected; /* workloads, for the progress bar */
    sl_time (*first)(void *ctx, uint32_t stream);
    /* Applies what is true now through sl_sim_apply or sl_sim_arrive. *ret_next is SL_TIME_NEVER at
     * the end of the stream. */
    int (*fire)(void *ctx, struct sl_sim *s, uint32_t stream, sl_time now, sl_time *ret_next,
                struct sl_err *err);
    /* What was noted of a workload, by the reference given to sl_sim_arrive. */
    void (*note)(void *ctx, uint64_t ref, struct sl_sim_wl_note *ret);
};

struct sl_sim_options {
    sl_time origin; /* virtual time 0; SL_SIM_EPOCH unless set by a journal */
    sl_span eviction_delay;
    sl_span until;   /* stop the clock here; 0: run to the end */
    bool pods_ready; /* report readiness at once: waitForPodsReady is on */
    void (*progress)(void *ctx, uint64_t done, uint64_t total, sl_span now);
    void *progress_ctx;
};

/* What waits for its time: a stream, or what will happen next to a workload. */
struct sl_sim_item {
    sl_time at;
    uint64_t order; /* among those of the same instant */
    uint32_t place; /* in the heap */
    bool evicted;   /* its event is the release; else the finish */
    uint64_t id;    /* of the workload; 0: none */
    uint64_t ref;
    sl_span runtime;
    sl_shape_id shape;
};

struct sl_sim {
    struct sl_world *world;
    const struct sl_sim_source *source;
    struct sl_sim_options opts;
    sl_time now;
    struct sl_heap events;
    SL_VEC(struct sl_sim_item) items; /* streams first, then workloads by the index in their id */
    uint64_t sequence, arrived;
    bool again; /* facts were applied after the cycle of this instant */
};

void sl_sim_init(struct sl_sim *s, struct sl_world *w, const struct sl_sim_source *source,
                 const struct sl_sim_options *o);
void sl_sim_done(struct sl_sim *s);
/* Runs until nothing is left to happen. */
int sl_sim_run(struct sl_sim *s, struct sl_err *err) _must_check_;

/* ---- for sources ---- */

/* A workload that will run for 'runtime' whenever it is admitted. */
int sl_sim_arrive(struct sl_sim *s, const struct sl_fact *f, const struct sl_sim_wl_note *note,
                  sl_span runtime, uint64_t ref, struct sl_err *err) _must_check_;
/* Any other fact. */
int sl_sim_apply(struct sl_sim *s, const struct sl_fact *f, struct sl_err *err) _must_check_;

#endif
