/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every enum that has a spelling in the API, with one table each between the number and the string.
 * Spellings are Kueue's, v0.19.
 */
#ifndef SL_CORE_MODEL_WORDS_H
#define SL_CORE_MODEL_WORDS_H

#include "core/base/err.h"

enum sl_strategy { SL_BEST_EFFORT_FIFO, SL_STRICT_FIFO };
enum sl_within { SL_WITHIN_NEVER, SL_WITHIN_LOWER, SL_WITHIN_LOWER_OR_NEWER };
enum sl_reclaim { SL_RECLAIM_NEVER, SL_RECLAIM_LOWER, SL_RECLAIM_ANY };
enum sl_borrow_within { SL_BORROW_NEVER, SL_BORROW_LOWER };
enum sl_when { SL_MAY_STOP_SEARCH, SL_TRY_NEXT_FLAVOR };
enum sl_preference { SL_BORROWING_OVER_PREEMPTION, SL_PREEMPTION_OVER_BORROWING };
enum sl_stop { SL_STOP_NONE, SL_STOP_HOLD, SL_STOP_HOLD_AND_DRAIN };
enum sl_fair_strategy { SL_FAIR_FINAL_SHARE, SL_FAIR_INITIAL_SHARE };
enum sl_check_state { SL_CHECK_PENDING, SL_CHECK_READY, SL_CHECK_RETRY, SL_CHECK_REJECTED };

/* Condition types of a Workload. */
enum sl_cond {
    SL_COND_QUOTA_RESERVED,
    SL_COND_ADMITTED,
    SL_COND_EVICTED,
    SL_COND_PREEMPTED,
    SL_COND_REQUEUED,
    SL_COND_PODS_READY,
    SL_COND_FINISHED,
    SL_COND_DEACTIVATION_TARGET,
    SL_COND_BLOCKED_ON_PREEMPTION_GATES,
    SL_COND_COUNT,
};

/* Why a workload was evicted. */
enum sl_evict {
    SL_EVICT_NONE,
    SL_EVICT_PREEMPTED,
    SL_EVICT_PODS_READY_TIMEOUT,
    SL_EVICT_ADMISSION_CHECK,
    SL_EVICT_CLUSTER_QUEUE_STOPPED,
    SL_EVICT_LOCAL_QUEUE_STOPPED,
    SL_EVICT_NODE_FAILURES,
    SL_EVICT_DEACTIVATED,
    SL_EVICT_COUNT,
};

/* What lies behind it: why deactivated, or which preemption. */
enum sl_cause {
    SL_CAUSE_NONE,
    SL_CAUSE_ADMISSION_CHECK,
    SL_CAUSE_REQUEUING_LIMIT,
    SL_CAUSE_MAX_EXECUTION_TIME,
    SL_CAUSE_IN_CLUSTER_QUEUE,
    SL_CAUSE_IN_COHORT_RECLAMATION,
    SL_CAUSE_IN_COHORT_FAIR_SHARING,
    SL_CAUSE_IN_COHORT_RECLAIM_WHILE_BORROWING,
    SL_CAUSE_WAIT_FOR_START,    /* PodsReadyTimeout: never was ready */
    SL_CAUSE_WAIT_FOR_RECOVERY, /* PodsReadyTimeout: was ready once */
    SL_CAUSE_COUNT,
};

/* Reasons for which Requeued becomes True later than the release. */
enum sl_requeued {
    SL_REQUEUED_NONE,
    SL_REQUEUED_REACTIVATED,
    SL_REQUEUED_BACKOFF_FINISHED,
    SL_REQUEUED_CLUSTER_QUEUE_RESTARTED,
    SL_REQUEUED_LOCAL_QUEUE_RESTARTED,
    SL_REQUEUED_COUNT,
};

/* Why a ClusterQueue is not active, in the order in which the first gives the reason. */
enum sl_inactive {
    SL_INACTIVE_TERMINATING,
    SL_INACTIVE_STOPPED,
    SL_INACTIVE_FLAVOR_NOT_FOUND,
    SL_INACTIVE_CHECK_NOT_FOUND,
    SL_INACTIVE_CHECK_INACTIVE,
    SL_INACTIVE_TOPOLOGY_NOT_FOUND,
    SL_INACTIVE_COHORT_CYCLE,
    SL_INACTIVE_COUNT,
};

/* Feature gates that change decisions. */
enum sl_gate {
    SL_GATE_FLAVOR_FUNGIBILITY,
    SL_GATE_PARTIAL_ADMISSION,
    SL_GATE_RECLAIMABLE_PODS,
    SL_GATE_PRIORITY_BOOST,
    SL_GATE_PRIORITY_SORTING_WITHIN_COHORT,
    SL_GATE_SCHEDULING_EQUIVALENCE_HASHING,
    SL_GATE_FAIR_SHARING_PREEMPT_WITHIN_NOMINAL,
    SL_GATE_FAIR_SHARING_PRIORITIZE_NON_BORROWING,
    SL_GATE_COUNT,
};
#define SL_GATES_DEFAULT                                                                           \
    (((UINT32_C(1) << SL_GATE_COUNT) - 1) & ~(UINT32_C(1) << SL_GATE_PRIORITY_BOOST))

/* The vocabularies by name, for readers and writers of text. */
enum sl_vocab {
    SL_VOCAB_STRATEGY,
    SL_VOCAB_WITHIN,
    SL_VOCAB_RECLAIM,
    SL_VOCAB_BORROW_WITHIN,
    SL_VOCAB_WHEN,
    SL_VOCAB_PREFERENCE,
    SL_VOCAB_STOP,
    SL_VOCAB_FAIR_STRATEGY,
    SL_VOCAB_CHECK_STATE,
    SL_VOCAB_COND,
    SL_VOCAB_EVICT,
    SL_VOCAB_CAUSE,
    SL_VOCAB_REQUEUED,
    SL_VOCAB_INACTIVE,
    SL_VOCAB_GATE,
    SL_VOCAB_COUNT,
};

/* The string of a value; "?" out of range. */
const char *sl_word(enum sl_vocab vocab, int value);
/* The value of a string (exact spelling; Borrow and Preempt are also read as MayStopSearch). The
 * error lists the allowed values. */
int sl_word_parse(enum sl_vocab vocab, const char *word, int *ret, struct sl_err *err) _must_check_;

#endif
