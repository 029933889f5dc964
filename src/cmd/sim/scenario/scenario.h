/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios as text ("stories", files *.story). Objects are created, time passes, and the scenario
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

#define SL_STORY_MAX_BYTES (4u << 20) /* of one file */
#define SL_STORY_MAX_LINE 4096u       /* bytes of a line */
#define SL_STORY_MAX_LINES 50000u     /* of one file */
#define SL_STORY_MAX_TOKENS 256u      /* tokens of a line */
#define SL_STORY_MAX_OBJECTS 2000u    /* of one kind in one scenario */
#define SL_STORY_MAX_CYCLES 5000u     /* of one scenario */
#define SL_STORY_MAX_ROUNDS 64u       /* of one 'settle' */
#define SL_STORY_OUT_BYTES (1u << 20) /* a sensible limit for the output of a run */

/* Scenario time 0s on the engine's clock: never 0, which means "none" there. */
#define SL_STORY_EPOCH (INT64_C(1000000) * SL_SEC)

struct sl_step;

struct sl_story {
    const char *file, *title;
    uint32_t line;            /* of the title */
    const char *const *rules; /* "2.4.3" ... */
    uint32_t n_rules;
    const char *skip; /* why it is not run yet; NULL: it runs */
    const struct sl_step *steps;
    uint32_t n_steps;
};

/* The scenarios of one file; owns all they point at. */
struct sl_stories {
    struct sl_arena arena;
    struct sl_story *v;
    uint32_t n;
};

/* On failure 'why' holds one line: "file:line: expected ..., found ...". */
int sl_stories_read(const char *file, const char *text, size_t len, struct sl_stories **ret,
                    struct sl_buf *why) _must_check_;
void sl_stories_free(struct sl_stories *s);
void sl_stories_freep(struct sl_stories **s);

enum sl_story_end { SL_STORY_PASSED, SL_STORY_FAILED, SL_STORY_SKIPPED };

/* What a run shows to its caller. Any of them may be NULL. */
struct sl_story_watch {
    void *ctx;
    /* After the engine took a fact; podsets only with a workload. */
    void (*fact)(void *ctx, const struct sl_fact *f, const char *ns, const char *name,
                 const struct sl_podset_spec *podsets, uint32_t n);
    /* Right after a cycle, with the effects it appended from index 'from' on. */
    void (*cycle)(void *ctx, sl_time now, const struct sl_effects *x, uint32_t from);
};

/* Runs one scenario. 'out' receives the messages of a failure; with 'tell' also every effect as it
 * happens. */
enum sl_story_end sl_story_run(const struct sl_story *s, const struct sl_story_watch *watch,
                               bool tell, struct sl_buf *out);
/* The same, and writes the facts and decisions into a journal (cmd/sim/journal/journal.h). */
int sl_story_run_journal(const struct sl_story *s, bool tell, struct sl_buf *out, const char *path,
                         enum sl_story_end *ret, struct sl_err *err) _must_check_;

#endif
