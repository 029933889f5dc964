/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table per enum. A table is a list of strings by value; a second short list has older
 * spellings that are read but never written.
 */
#include "core/model/words.h"

#include <stdio.h>
#include <string.h>

static const char *const strategy[] = {
    [SL_BEST_EFFORT_FIFO] = "BestEffortFIFO",
    [SL_STRICT_FIFO] = "StrictFIFO",
};

static const char *const within[] = {
    [SL_WITHIN_NEVER] = "Never",
    [SL_WITHIN_LOWER] = "LowerPriority",
    [SL_WITHIN_LOWER_OR_NEWER] = "LowerOrNewerEqualPriority",
};

static const char *const reclaim[] = {
    [SL_RECLAIM_NEVER] = "Never",
    [SL_RECLAIM_LOWER] = "LowerPriority",
    [SL_RECLAIM_ANY] = "Any",
};

static const char *const borrow_within[] = {
    [SL_BORROW_NEVER] = "Never",
    [SL_BORROW_LOWER] = "LowerPriority",
};

static const char *const when[] = {
    [SL_MAY_STOP_SEARCH] = "MayStopSearch",
    [SL_TRY_NEXT_FLAVOR] = "TryNextFlavor",
};

static const char *const preference[] = {
    [SL_BORROWING_OVER_PREEMPTION] = "BorrowingOverPreemption",
    [SL_PREEMPTION_OVER_BORROWING] = "PreemptionOverBorrowing",
};

static const char *const stop[] = {
    [SL_STOP_NONE] = "None",
    [SL_STOP_HOLD] = "Hold",
    [SL_STOP_HOLD_AND_DRAIN] = "HoldAndDrain",
};

static const char *const fair_strategy[] = {
    [SL_FAIR_FINAL_SHARE] = "LessThanOrEqualToFinalShare",
    [SL_FAIR_INITIAL_SHARE] = "LessThanInitialShare",
};

static const char *const check_state[] = {
    [SL_CHECK_PENDING] = "Pending",
    [SL_CHECK_READY] = "Ready",
    [SL_CHECK_RETRY] = "Retry",
    [SL_CHECK_REJECTED] = "Rejected",
};

static const char *const cond[SL_COND_COUNT] = {
    [SL_COND_QUOTA_RESERVED] = "QuotaReserved",
    [SL_COND_ADMITTED] = "Admitted",
    [SL_COND_EVICTED] = "Evicted",
    [SL_COND_PREEMPTED] = "Preempted",
    [SL_COND_REQUEUED] = "Requeued",
    [SL_COND_PODS_READY] = "PodsReady",
    [SL_COND_FINISHED] = "Finished",
    [SL_COND_DEACTIVATION_TARGET] = "DeactivationTarget",
    [SL_COND_BLOCKED_ON_PREEMPTION_GATES] = "BlockedOnPreemptionGates",
};

static const char *const evict[SL_EVICT_COUNT] = {
    [SL_EVICT_NONE] = "",
    [SL_EVICT_PREEMPTED] = "Preempted",
    [SL_EVICT_PODS_READY_TIMEOUT] = "PodsReadyTimeout",
    [SL_EVICT_ADMISSION_CHECK] = "AdmissionCheck",
    [SL_EVICT_CLUSTER_QUEUE_STOPPED] = "ClusterQueueStopped",
    [SL_EVICT_LOCAL_QUEUE_STOPPED] = "LocalQueueStopped",
    [SL_EVICT_NODE_FAILURES] = "NodeFailures",
    [SL_EVICT_DEACTIVATED] = "Deactivated",
};

static const char *const cause[SL_CAUSE_COUNT] = {
    [SL_CAUSE_NONE] = "",
    [SL_CAUSE_ADMISSION_CHECK] = "AdmissionCheck",
    [SL_CAUSE_REQUEUING_LIMIT] = "RequeuingLimitExceeded",
    [SL_CAUSE_MAX_EXECUTION_TIME] = "MaximumExecutionTimeExceeded",
    [SL_CAUSE_IN_CLUSTER_QUEUE] = "InClusterQueue",
    [SL_CAUSE_IN_COHORT_RECLAMATION] = "InCohortReclamation",
    [SL_CAUSE_IN_COHORT_FAIR_SHARING] = "InCohortFairSharing",
    [SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING] = "InCohortReclaimWhileBorrowing",
    [SL_CAUSE_WAIT_FOR_START] = "WaitForStart",
    [SL_CAUSE_WAIT_FOR_RECOVERY] = "WaitForRecovery",
};

static const char *const requeued[SL_REQUEUED_COUNT] = {
    [SL_REQUEUED_NONE] = "",
    [SL_REQUEUED_REACTIVATED] = "Reactivated",
    [SL_REQUEUED_BACKOFF_FINISHED] = "BackoffFinished",
    [SL_REQUEUED_CLUSTER_QUEUE_RESTARTED] = "ClusterQueueRestarted",
    [SL_REQUEUED_LOCAL_QUEUE_RESTARTED] = "LocalQueueRestarted",
};

static const char *const inactive[SL_INACTIVE_COUNT] = {
    [SL_INACTIVE_TERMINATING] = "Terminating",
    [SL_INACTIVE_STOPPED] = "Stopped",
    [SL_INACTIVE_FLAVOR_NOT_FOUND] = "FlavorNotFound",
    [SL_INACTIVE_CHECK_NOT_FOUND] = "AdmissionCheckNotFound",
    [SL_INACTIVE_CHECK_INACTIVE] = "AdmissionCheckInactive",
    [SL_INACTIVE_TOPOLOGY_NOT_FOUND] = "TopologyNotFound",
    [SL_INACTIVE_COHORT_CYCLE] = "Unknown", /* Kueue has no name of its own for it */
};

static const char *const gate[SL_GATE_COUNT] = {
    [SL_GATE_FLAVOR_FUNGIBILITY] = "FlavorFungibility",
    [SL_GATE_PARTIAL_ADMISSION] = "PartialAdmission",
    [SL_GATE_RECLAIMABLE_PODS] = "ReclaimablePods",
    [SL_GATE_PRIORITY_BOOST] = "PriorityBoost",
    [SL_GATE_PRIORITY_SORTING_WITHIN_COHORT] = "PrioritySortingWithinCohort",
    [SL_GATE_SCHEDULING_EQUIVALENCE_HASHING] = "SchedulingEquivalenceHashing",
    [SL_GATE_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL] = "FairSharingPreemptWithinNominal",
    [SL_GATE_FAIR_SHARING_PRIORITIZE_NON_BORROWING] = "FairSharingPrioritizeNonBorrowing",
};

#define TABLE(words)                                                                               \
    { words, SL_LEN(words) }
static const struct {
    const char *const *words;
    size_t n;
} tables[SL_VOCAB_COUNT] = {
    [SL_VOCAB_STRATEGY] = TABLE(strategy),
    [SL_VOCAB_WITHIN] = TABLE(within),
    [SL_VOCAB_RECLAIM] = TABLE(reclaim),
    [SL_VOCAB_BORROW_WITHIN] = TABLE(borrow_within),
    [SL_VOCAB_WHEN] = TABLE(when),
    [SL_VOCAB_PREFERENCE] = TABLE(preference),
    [SL_VOCAB_STOP] = TABLE(stop),
    [SL_VOCAB_FAIR_STRATEGY] = TABLE(fair_strategy),
    [SL_VOCAB_CHECK_STATE] = TABLE(check_state),
    [SL_VOCAB_COND] = TABLE(cond),
    [SL_VOCAB_EVICT] = TABLE(evict),
    [SL_VOCAB_CAUSE] = TABLE(cause),
    [SL_VOCAB_REQUEUED] = TABLE(requeued),
    [SL_VOCAB_INACTIVE] = TABLE(inactive),
    [SL_VOCAB_GATE] = TABLE(gate),
};

static const struct {
    enum sl_vocab vocab;
    const char *word;
    int value;
} older[] = {
    {SL_VOCAB_WHEN, "Borrow", SL_MAY_STOP_SEARCH},
    {SL_VOCAB_WHEN, "Preempt", SL_MAY_STOP_SEARCH},
};

const char *sl_word(enum sl_vocab vocab, int value) {
    if ((size_t)vocab >= SL_VOCAB_COUNT || value < 0 || (size_t)value >= tables[vocab].n)
        return "?";
    return tables[vocab].words[value];
}

int sl_word_parse(enum sl_vocab vocab, const char *word, int *ret, struct sl_err *err) {
    char allowed[160] = "";
    size_t used = 0;

    sl_assert((size_t)vocab < SL_VOCAB_COUNT);
    for (size_t i = 0; i < tables[vocab].n; i++)
        if (strcmp(tables[vocab].words[i], word) == 0) {
            *ret = (int)i;
            return 0;
        }
    for (size_t i = 0; i < SL_LEN(older); i++)
        if (older[i].vocab == vocab && strcmp(older[i].word, word) == 0) {
            *ret = older[i].value;
            return 0;
        }
    for (size_t i = 0; i < tables[vocab].n && used < sizeof allowed; i++) {
        const char *w = tables[vocab].words[i];
        bool last = i + 1 == tables[vocab].n;
        if (*w)
            used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s",
                                     used == 0 ? ""
                                     : last    ? " or "
                                               : ", ",
                                     w);
    }
    return sl_err_set(err, SL_EINVAL, "expected %s%s, got \"%.40s\"", allowed,
                      used >= sizeof allowed ? "..." : "", word);
}
