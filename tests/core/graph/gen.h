/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random small graphs, requests and histories. A step of a history is a kind and some numbers; what
 * they mean is decided when it is done, from the state at that time, so that a history stays one
 * when steps or vertices are left out.
 */
#ifndef SL_TESTS_CORE_GRAPH_GEN_H
#define SL_TESTS_CORE_GRAPH_GEN_H

#include "core/base/prng.h"
#include "side.h"

#define GEN_SPECS 5
#define GEN_STEPS 32
#define GEN_END 200 /* of most graphs' time */

enum step_kind {
    STEP_RUN,
    STEP_CANCEL,
    STEP_PART,
    STEP_UPDATE,
    STEP_RESTART, /* a job is forgotten and said to be there */
    STEP_STATUS,
    STEP_RESIZE,
    STEP_PROP,
    STEP_SHRINK,
    STEP_ADD,
    STEP_BEGIN,
    STEP_AGAIN,
    STEP_MORE,
    STEP_CLONE,
    STEP_TIME,
    STEP_KINDS,
};

struct step {
    enum step_kind kind;
    uint32_t r[8];
};

struct trial {
    struct draft d;
    struct sl_match_options o;
    const char *policy, *also; /* also NULL: there is one policy */
    struct sl_match_policy also_policy;
    const char *subsystems[1];
    struct sl_jobspec *specs[GEN_SPECS];
    struct step steps[GEN_STEPS];
};

/* Equal seeds give equal trials. */
void trial_init(struct trial *t, uint64_t seed);
void trial_done(struct trial *t);

extern const char *const gen_properties[];
#define GEN_PROPERTIES 4

#endif
