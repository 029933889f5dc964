/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gates by number, by name, and as used by the engine.
 */
#include "manager/config/gates.h"

#include <string.h>

#include "lib/doc/read.h"

#define ON true
#define OFF false

struct gate {
    const char *name;
    bool on;
    enum sl_feature_stage stage;
};

static const struct gate gates[SL_GATES] = {
#define ROW(id, name, on, stage) [SL_G_##id] = {#name, on, SL_STAGE_##stage},
    SL_FEATURE_GATE_TABLE(ROW)
#undef ROW
};

static const enum sl_feature_gate engine_gates[SL_GATE_COUNT] = {
    [SL_GATE_FLAVOR_FUNGIBILITY] = SL_G_FLAVOR_FUNGIBILITY,
    [SL_GATE_PARTIAL_ADMISSION] = SL_G_PARTIAL_ADMISSION,
    [SL_GATE_RECLAIMABLE_PODS] = SL_G_RECLAIMABLE_PODS,
    [SL_GATE_PRIORITY_BOOST] = SL_G_PRIORITY_BOOST,
    [SL_GATE_PRIORITY_SORTING_WITHIN_COHORT] = SL_G_PRIORITY_SORTING_WITHIN_COHORT,
    [SL_GATE_SCHEDULING_EQUIVALENCE_HASHING] = SL_G_SCHEDULING_EQUIVALENCE_HASHING,
    [SL_GATE_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL] = SL_G_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL,
    [SL_GATE_FAIR_SHARING_PRIORITIZE_NON_BORROWING] = SL_G_FAIR_SHARING_PRIORITIZE_NON_BORROWING,
};

const char *sl_feature_gate_name(enum sl_feature_gate g) {
    return g < SL_GATES ? gates[g].name : "?";
}

enum sl_feature_gate sl_feature_gate_find(const char *name) {
    enum sl_feature_gate g = 0;

    while (g < SL_GATES && strcmp(gates[g].name, name) != 0)
        g++;
    return g;
}

bool sl_feature_gate_default(enum sl_feature_gate g) {
    return g < SL_GATES && gates[g].on;
}

bool sl_feature_gate_locked(enum sl_feature_gate g) {
    return g < SL_GATES &&
           (gates[g].stage == SL_STAGE_GA || gates[g].stage == SL_STAGE_DEPRECATED_LOCKED);
}

const char *sl_feature_gate_stage_name(enum sl_feature_gate g) {
    static const char *const names[] = {
        [SL_STAGE_ALPHA] = "Alpha",
        [SL_STAGE_BETA] = "Beta",
        [SL_STAGE_GA] = "GA",
        [SL_STAGE_DEPRECATED] = "Deprecated",
        [SL_STAGE_DEPRECATED_LOCKED] = "Deprecated",
    };

    return g < SL_GATES ? names[gates[g].stage] : "?";
}

enum sl_gate sl_feature_gate_engine(enum sl_feature_gate g) {
    enum sl_gate e = 0;

    while (e < SL_GATE_COUNT && engine_gates[e] != g)
        e++;
    return e;
}

const char *sl_feature_gate_nearest(const char *name) {
    const char *names[SL_GATES];

    for (enum sl_feature_gate g = 0; g < SL_GATES; g++)
        names[g] = gates[g].name;
    return sl_read_nearest(name, names, SL_GATES);
}
