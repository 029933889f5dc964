/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios as text (files *.scenario). Objects are created, time passes, and the scenario
 * states expectations of the engine: which workloads are admitted, which sleep, which are evicted
 * by which, and the messages of conditions. docs/scenarios.md describes the language.
 *
 * Reading checks everything that does not need an engine and produces a list of steps; running
 * feeds the steps to a new engine under a virtual clock. Both are deterministic and bounded: lines,
 * names, objects, steps and cycles have limits, so any bytes may be given to them.
 */
#ifndef SL_CMD_SIM_SCENARIO_SCENARIO_H
#define SL_CMD_SIM_SCENARIO_SCENARIO_H

#include "core/base/buf.h"
#include "core/engine/engine.h"

#define SL_SCENARIO_MAX_BYTES (4u << 20) /* of one file */
#define SL_SCENARIO_MAX_LINE 4096u       /* bytes of a line */
#define SL_SCENARIO_MAX_LINES 50000u     /* of one file */
#define SL_SCENARIO_MAX_TOKENS 256u      /* tokens of a line */
#define SL_SCENARIO_MAX_OBJECTS 2000u    /* of one kind in one scenario */
#define SL_SCENARIO_MAX_CYCLES 5000u     /* of one scenario */
#define SL_SCENARIO_MAX_ROUNDS 64u       /* of one 'settle' */
#define SL_SCENARIO_OUT_BYTES (1u << 20) /* a sensible limit for the output of a run */

/* Scenario time 0s on the engine's clock: never 0, which means "none" there. */
#define SL_SCENARIO_EPOCH (INT64_C(1000000) * SL_SEC)

struct sl_scenario_step;

struct sl_scenario {
    const char *file, *title;
    uint32_t line;            /* of the title */
    const char *const *rules; /* "2.4.3" ... */
    uint32_t n_rules;
    const char *skip; /* why it is not run yet; NULL: it runs */
    const struct sl_scenario_step *steps;
    uint32_t n_steps;
};

/* The scenarios of one file; owns all they point at. */
struct sl_scenarios {
    struct sl_arena arena;
    struct sl_scenario *v;
    uint32_t n;
};

/* On failure 'why' holds one line: "file:line: expected ..., found ...". */
int sl_scenarios_read(const char *file, const char *text, size_t len, struct sl_scenarios **ret,
                      struct sl_buf *why) _must_check_;
void sl_scenarios_free(struct sl_scenarios *s);
void sl_scenarios_freep(struct sl_scenarios **s);

enum sl_scenario_end { SL_SCENARIO_PASSED, SL_SCENARIO_FAILED, SL_SCENARIO_SKIPPED };

/* What a run shows to its caller. Any of them may be NULL. */
struct sl_scenario_watch {
    void *ctx;
    /* After the engine took a fact; podsets only with a workload. */
    void (*fact)(void *ctx, const struct sl_fact *f, const char *ns, const char *name,
                 const struct sl_podset_spec *podsets, uint32_t n);
    /* Right after a cycle, with the effects it appended from index 'from' on. */
    void (*cycle)(void *ctx, sl_time now, const struct sl_effects *x, uint32_t from);
};

/* Runs one scenario. 'out' receives the messages of a failure; with 'verbose' also every effect as
 * it happens. */
enum sl_scenario_end sl_scenario_run(const struct sl_scenario *s,
                                     const struct sl_scenario_watch *watch, bool verbose,
                                     struct sl_buf *out);
/* The same, and writes the facts and decisions into a journal (cmd/sim/journal/journal.h). */
int sl_scenario_run_journal(const struct sl_scenario *s, bool verbose, struct sl_buf *out,
                            const char *path, enum sl_scenario_end *ret,
                            struct sl_err *err) _must_check_;

#endif
