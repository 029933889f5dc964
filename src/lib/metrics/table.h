/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All metrics, one METRIC(id, name, type, index, labels, help) each. Included with METRIC defined
 * as what is needed of a row; names.h makes the enum of it, table.c the descriptions.
 *
 *   type    COUNTER, GAUGE or HISTOGRAM(bounds); bounds are arrays in table.c
 *   index   which labels name the object that a series belongs to. A drop that gives these costs as
 *           much as there are series of that object; any other drop walks the whole metric.
 *   labels  LABELS("a", "b") and then replica_role, or PROCESS("a", "b") without it: properties of
 *           the process, which a change of role does not touch
 *
 * The order here is the order of the exposition. Names, types, labels and buckets above the line
 * "Sluice" are those of Kueue v0.19; the help texts are our own.
 */
/* clang-format off */

/* The scheduler */
METRIC(ADMISSION_ATTEMPTS_TOTAL, "kueue_admission_attempts_total", COUNTER, BY_NONE,
    LABELS("result"),
    "Scheduling cycles by result; a cycle counts as success if it admitted something.")
METRIC(ADMISSION_ATTEMPT_DURATION_SECONDS, "kueue_admission_attempt_duration_seconds",
    HISTOGRAM(usual), BY_NONE, LABELS("result"),
    "How long scheduling cycles took, by result.")
METRIC(ADMISSION_CYCLE_PREEMPTION_SKIPS, "kueue_admission_cycle_preemption_skips", GAUGE, BY_FIRST,
    LABELS("cluster_queue"),
    "Workloads of the ClusterQueue that could preempt in the last cycle but had to wait, because "
    "another one needed the same quota.")
METRIC(BUILD_INFO, "kueue_build_info", GAUGE, BY_NONE,
    PROCESS("git_version", "git_commit", "build_date", "go_version", "compiler", "platform"),
    "Always 1; the labels tell the version that runs.")

/* ClusterQueues: pending and finished */
METRIC(PENDING_WORKLOADS, "kueue_pending_workloads", GAUGE, BY_FIRST,
    LABELS("cluster_queue", "status"),
    "Pending workloads. Active ones are in the queue, inadmissible ones wait until something "
    "changes that could let them in.")
METRIC(UNADMITTED_WORKLOADS, "kueue_unadmitted_workloads", GAUGE, BY_FIRST,
    LABELS("cluster_queue", "reason", "underlying_cause"),
    "Workloads that are not admitted, by the reason why.")
METRIC(FINISHED_WORKLOADS, "kueue_finished_workloads", GAUGE, BY_FIRST,
    LABELS("cluster_queue"),
    "Finished workloads that still exist.")
METRIC(FINISHED_WORKLOADS_TOTAL, "kueue_finished_workloads_total", COUNTER, BY_FIRST,
    LABELS("cluster_queue", "priority_class"),
    "Workloads that finished.")

/* ClusterQueues: admission */
METRIC(QUOTA_RESERVED_WORKLOADS_TOTAL, "kueue_quota_reserved_workloads_total", COUNTER, BY_FIRST,
    LABELS("cluster_queue", "priority_class"),
    "Workloads for which quota was reserved.")
METRIC(QUOTA_RESERVED_WAIT_TIME_SECONDS, "kueue_quota_reserved_wait_time_seconds",
    HISTOGRAM(wait14), BY_FIRST, LABELS("cluster_queue", "priority_class"),
    "Time from creation or requeue until quota was reserved.")
METRIC(ADMITTED_WORKLOADS_TOTAL, "kueue_admitted_workloads_total", COUNTER, BY_FIRST,
    LABELS("cluster_queue", "priority_class"),
    "Workloads that were admitted.")
METRIC(ADMISSION_WAIT_TIME_SECONDS, "kueue_admission_wait_time_seconds",
    HISTOGRAM(wait16), BY_FIRST, LABELS("cluster_queue", "priority_class"),
    "Time from creation or requeue until admission.")
METRIC(ADMISSION_CHECKS_WAIT_TIME_SECONDS, "kueue_admission_checks_wait_time_seconds",
    HISTOGRAM(wait14), BY_FIRST, LABELS("cluster_queue", "priority_class"),
    "Time from quota reservation until admission: the wait for admission checks.")
METRIC(READY_WAIT_TIME_SECONDS, "kueue_ready_wait_time_seconds",
    HISTOGRAM(wait14), BY_FIRST, LABELS("cluster_queue", "priority_class"),
    "Time from creation or requeue until all pods were ready; with waitForPodsReady.")
METRIC(ADMITTED_UNTIL_READY_WAIT_TIME_SECONDS, "kueue_admitted_until_ready_wait_time_seconds",
    HISTOGRAM(wait14), BY_FIRST, LABELS("cluster_queue", "priority_class"),
    "Time from admission until all pods were ready; with waitForPodsReady.")
METRIC(RESERVING_ACTIVE_WORKLOADS, "kueue_reserving_active_workloads", GAUGE, BY_FIRST,
    LABELS("cluster_queue"),
    "Workloads that hold a quota reservation and are not finished.")
METRIC(ADMITTED_ACTIVE_WORKLOADS, "kueue_admitted_active_workloads", GAUGE, BY_FIRST,
    LABELS("cluster_queue"),
    "Workloads that are admitted and not finished.")
METRIC(REPLACED_WORKLOAD_SLICES_TOTAL, "kueue_replaced_workload_slices_total", COUNTER, BY_FIRST,
    LABELS("cluster_queue"),
    "Workload slices that a newer slice of the same job replaced.")

/* ClusterQueues: eviction and preemption */
METRIC(EVICTED_WORKLOADS_TOTAL, "kueue_evicted_workloads_total", COUNTER, BY_FIRST,
    LABELS("cluster_queue", "reason", "underlying_cause", "priority_class"),
    "Evictions.")
METRIC(EVICTED_WORKLOADS_ONCE_TOTAL, "kueue_evicted_workloads_once_total", COUNTER, BY_FIRST,
    LABELS("cluster_queue", "reason", "underlying_cause", "priority_class"),
    "Evictions, counted once for each workload, reason and cause.")
METRIC(PREEMPTED_WORKLOADS_TOTAL, "kueue_preempted_workloads_total", COUNTER, BY_FIRST,
    LABELS("preempting_cluster_queue", "reason"),
    "Workloads that were preempted, by the ClusterQueue that gained.")
METRIC(WORKLOAD_EVICTION_LATENCY_SECONDS, "kueue_workload_eviction_latency_seconds",
    HISTOGRAM(wait14), BY_FIRST, LABELS("cluster_queue", "reason"),
    "Time from the decision to evict until the workload released its quota.")
METRIC(PODS_READY_TO_EVICTED_TIME_SECONDS, "kueue_pods_ready_to_evicted_time_seconds",
    HISTOGRAM(wait14), BY_FIRST, LABELS("cluster_queue", "reason", "underlying_cause"),
    "Time that evicted workloads had been running with all pods ready.")

/* ClusterQueues: state and quota */
METRIC(CLUSTER_QUEUE_STATUS, "kueue_cluster_queue_status", GAUGE, BY_FIRST,
    LABELS("cluster_queue", "status"),
    "1 for the present status, 0 for the others: pending, active, terminating.")
METRIC(CLUSTER_QUEUE_INFO, "kueue_cluster_queue_info", GAUGE, BY_FIRST,
    LABELS("cluster_queue", "parent_cohort", "root_cohort"),
    "Always 1; the labels tell where the ClusterQueue stands in its cohort tree.")
METRIC(CLUSTER_QUEUE_RESOURCE_PENDING, "kueue_cluster_queue_resource_pending", GAUGE, BY_FIRST,
    LABELS("cluster_queue", "resource"),
    "What the pending workloads ask for.")
METRIC(CLUSTER_QUEUE_RESOURCE_RESERVATION, "kueue_cluster_queue_resource_reservation", GAUGE,
    BY_SECOND, LABELS("cohort", "cluster_queue", "flavor", "resource"),
    "Quota that is reserved.")
METRIC(CLUSTER_QUEUE_RESOURCE_USAGE, "kueue_cluster_queue_resource_usage", GAUGE,
    BY_SECOND, LABELS("cohort", "cluster_queue", "flavor", "resource"),
    "Quota that admitted workloads use.")
METRIC(CLUSTER_QUEUE_NOMINAL_QUOTA, "kueue_cluster_queue_nominal_quota", GAUGE,
    BY_SECOND, LABELS("cohort", "cluster_queue", "flavor", "resource"),
    "Nominal quota.")
METRIC(CLUSTER_QUEUE_BORROWING_LIMIT, "kueue_cluster_queue_borrowing_limit", GAUGE,
    BY_SECOND, LABELS("cohort", "cluster_queue", "flavor", "resource"),
    "Borrowing limit; +Inf without one.")
METRIC(CLUSTER_QUEUE_LENDING_LIMIT, "kueue_cluster_queue_lending_limit", GAUGE,
    BY_SECOND, LABELS("cohort", "cluster_queue", "flavor", "resource"),
    "Lending limit; +Inf without one.")
METRIC(CLUSTER_QUEUE_WEIGHTED_SHARE, "kueue_cluster_queue_weighted_share", GAUGE, BY_FIRST,
    LABELS("cluster_queue", "cohort"),
    "The share that fair sharing compares: borrowed over lendable, divided by the weight; 0 "
    "without borrowing, NaN with weight 0 and borrowing.")

/* LocalQueues */
METRIC(LOCAL_QUEUE_PENDING_WORKLOADS, "kueue_local_queue_pending_workloads", GAUGE, BY_TWO,
    LABELS("name", "namespace", "status"),
    "Pending workloads of the LocalQueue; the status is that of kueue_pending_workloads.")
METRIC(LOCAL_QUEUE_UNADMITTED_WORKLOADS, "kueue_local_queue_unadmitted_workloads", GAUGE, BY_TWO,
    LABELS("name", "namespace", "cluster_queue", "reason", "underlying_cause"),
    "Workloads of the LocalQueue that are not admitted, by the reason why.")
METRIC(LOCAL_QUEUE_FINISHED_WORKLOADS, "kueue_local_queue_finished_workloads", GAUGE, BY_TWO,
    LABELS("name", "namespace"),
    "Finished workloads of the LocalQueue that still exist.")
METRIC(LOCAL_QUEUE_FINISHED_WORKLOADS_TOTAL, "kueue_local_queue_finished_workloads_total", COUNTER,
    BY_TWO, LABELS("name", "namespace", "priority_class"),
    "Workloads of the LocalQueue that finished.")
METRIC(LOCAL_QUEUE_QUOTA_RESERVED_WORKLOADS_TOTAL,
    "kueue_local_queue_quota_reserved_workloads_total", COUNTER,
    BY_TWO, LABELS("name", "namespace", "priority_class"),
    "Workloads of the LocalQueue for which quota was reserved.")
METRIC(LOCAL_QUEUE_QUOTA_RESERVED_WAIT_TIME_SECONDS,
    "kueue_local_queue_quota_reserved_wait_time_seconds", HISTOGRAM(wait14),
    BY_TWO, LABELS("name", "namespace", "priority_class"),
    "Time from creation or requeue until quota was reserved.")
METRIC(LOCAL_QUEUE_ADMITTED_WORKLOADS_TOTAL, "kueue_local_queue_admitted_workloads_total", COUNTER,
    BY_TWO, LABELS("name", "namespace", "priority_class"),
    "Workloads of the LocalQueue that were admitted.")
METRIC(LOCAL_QUEUE_ADMISSION_WAIT_TIME_SECONDS,
    "kueue_local_queue_admission_wait_time_seconds", HISTOGRAM(wait14),
    BY_TWO, LABELS("name", "namespace", "priority_class"),
    "Time from creation or requeue until admission.")
METRIC(LOCAL_QUEUE_ADMISSION_CHECKS_WAIT_TIME_SECONDS,
    "kueue_local_queue_admission_checks_wait_time_seconds", HISTOGRAM(wait14),
    BY_TWO, LABELS("name", "namespace", "priority_class"),
    "Time from quota reservation until admission: the wait for admission checks.")
METRIC(LOCAL_QUEUE_READY_WAIT_TIME_SECONDS,
    "kueue_local_queue_ready_wait_time_seconds", HISTOGRAM(wait14),
    BY_TWO, LABELS("name", "namespace", "priority_class"),
    "Time from creation or requeue until all pods were ready; with waitForPodsReady.")
METRIC(LOCAL_QUEUE_ADMITTED_UNTIL_READY_WAIT_TIME_SECONDS,
    "kueue_local_queue_admitted_until_ready_wait_time_seconds", HISTOGRAM(wait14),
    BY_TWO, LABELS("name", "namespace", "priority_class"),
    "Time from admission until all pods were ready; with waitForPodsReady.")
METRIC(LOCAL_QUEUE_EVICTED_WORKLOADS_TOTAL, "kueue_local_queue_evicted_workloads_total", COUNTER,
    BY_TWO, LABELS("name", "namespace", "reason", "underlying_cause", "priority_class"),
    "Evictions of workloads of the LocalQueue.")
METRIC(LOCAL_QUEUE_RESERVING_ACTIVE_WORKLOADS, "kueue_local_queue_reserving_active_workloads",
    GAUGE, BY_TWO, LABELS("name", "namespace"),
    "Workloads of the LocalQueue that hold a quota reservation and are not finished.")
METRIC(LOCAL_QUEUE_ADMITTED_ACTIVE_WORKLOADS, "kueue_local_queue_admitted_active_workloads",
    GAUGE, BY_TWO, LABELS("name", "namespace"),
    "Workloads of the LocalQueue that are admitted and not finished.")
METRIC(LOCAL_QUEUE_STATUS, "kueue_local_queue_status", GAUGE, BY_TWO,
    LABELS("name", "namespace", "active"),
    "1 for the present status of the condition Active, 0 for the others: True, False, Unknown.")
METRIC(LOCAL_QUEUE_RESOURCE_RESERVATION, "kueue_local_queue_resource_reservation", GAUGE,
    BY_TWO, LABELS("name", "namespace", "flavor", "resource"),
    "Quota that workloads of the LocalQueue have reserved.")
METRIC(LOCAL_QUEUE_RESOURCE_USAGE, "kueue_local_queue_resource_usage", GAUGE,
    BY_TWO, LABELS("name", "namespace", "flavor", "resource"),
    "Quota that admitted workloads of the LocalQueue use.")
METRIC(LOCAL_QUEUE_ADMISSION_FAIR_SHARING_USAGE, "kueue_local_queue_admission_fair_sharing_usage",
    GAUGE, BY_TWO, LABELS("name", "namespace", "cluster_queue"),
    "The decayed, weighted usage by which admission fair sharing orders LocalQueues.")

/* Cohorts */
METRIC(COHORT_INFO, "kueue_cohort_info", GAUGE, BY_FIRST,
    LABELS("cohort", "parent_cohort", "root_cohort"),
    "Always 1; the labels tell where the cohort stands in its tree.")
METRIC(COHORT_WEIGHTED_SHARE, "kueue_cohort_weighted_share", GAUGE, BY_FIRST,
    LABELS("cohort"),
    "The share that fair sharing compares, for the whole cohort.")
METRIC(COHORT_SUBTREE_QUOTA, "kueue_cohort_subtree_quota", GAUGE, BY_FIRST,
    LABELS("cohort", "flavor", "resource"),
    "Quota of the cohort and everything below it.")
METRIC(COHORT_SUBTREE_RESOURCE_RESERVATIONS, "kueue_cohort_subtree_resource_reservations", GAUGE,
    BY_FIRST, LABELS("cohort", "flavor", "resource"),
    "Quota that is reserved in the cohort and everything below it.")
METRIC(COHORT_SUBTREE_ADMITTED_WORKLOADS_TOTAL, "kueue_cohort_subtree_admitted_workloads_total",
    COUNTER, BY_FIRST, LABELS("cohort", "priority_class"),
    "Workloads that were admitted in the cohort and everything below it.")
METRIC(COHORT_SUBTREE_ADMITTED_ACTIVE_WORKLOADS, "kueue_cohort_subtree_admitted_active_workloads",
    GAUGE, BY_FIRST, LABELS("cohort"),
    "Workloads that are admitted and not finished in the cohort and everything below it.")

/* Jobs and pods */
METRIC(WORKLOAD_CREATION_LATENCY_SECONDS, "kueue_workload_creation_latency_seconds",
    HISTOGRAM(creation), BY_NONE, LABELS("job_kind"),
    "Time from the creation of a job until its Workload was created.")
METRIC(POD_SCHEDULING_GATE_REMOVAL_SECONDS, "kueue_pod_scheduling_gate_removal_seconds",
    HISTOGRAM(usual), BY_SECOND, PROCESS("name", "cluster_queue", "is_group"),
    "Time from admission until the pod's scheduling gate was removed.")

/* MultiKueue */
METRIC(MULTIKUEUE_WORKLOADS_DISPATCHED_TOTAL, "multikueue_workloads_dispatched_total", COUNTER,
    BY_FIRST, LABELS("cluster_queue", "cluster"),
    "Workloads that were created on a worker cluster.")
METRIC(MULTIKUEUE_WORKLOADS_ADMITTED_TOTAL, "multikueue_workloads_admitted_total", COUNTER,
    BY_FIRST, LABELS("cluster_queue", "cluster"),
    "Workloads that a worker cluster admitted.")

/* Sluice */
METRIC(CYCLE_DURATION_SECONDS, "sluice_cycle_duration_seconds", HISTOGRAM(cycle), BY_NONE,
    PROCESS(),
    "How long the engine took to decide, for each cycle.")
METRIC(CYCLE_DECISIONS, "sluice_cycle_decisions", HISTOGRAM(decisions), BY_NONE,
    PROCESS(),
    "How many decisions came out of a cycle.")
METRIC(WORKLOADS_IN_MEMORY, "sluice_workloads_in_memory", GAUGE, BY_NONE,
    PROCESS(),
    "Workloads that the engine knows.")
METRIC(OLDEST_PENDING_AGE_SECONDS, "sluice_oldest_pending_age_seconds", GAUGE, BY_FIRST,
    PROCESS("cluster_queue"),
    "How long the workload that waits longest has been waiting.")
METRIC(API_WRITES_TOTAL, "sluice_api_writes_total", COUNTER, BY_NONE,
    PROCESS("kind", "outcome"),
    "Writes to the API server by kind of object and outcome.")
METRIC(API_WRITES_IN_FLIGHT, "sluice_api_writes_in_flight", GAUGE, BY_NONE,
    PROCESS(),
    "Writes that the API server has not answered yet.")
METRIC(EVENT_QUEUE_DROPS_TOTAL, "sluice_event_queue_drops_total", COUNTER, BY_NONE,
    PROCESS(),
    "Kubernetes Events that were not written, because too many were waiting.")
METRIC(NATS_MESSAGES_DROPPED_TOTAL, "sluice_nats_messages_dropped_total", COUNTER, BY_NONE,
    PROCESS(),
    "Messages of resource pools that were not read, because too many were waiting.")
METRIC(LEDGER_EVENTS_TOTAL, "sluice_ledger_events_total", COUNTER, BY_NONE,
    PROCESS("outcome"),
    "Events of the ledger: written to its file or spool, copied to its server, dropped because too "
    "many were waiting, refused.")
METRIC(LEDGER_WAITING_EVENTS, "sluice_ledger_waiting_events", GAUGE, BY_NONE,
    PROCESS("place"),
    "Events of the ledger that wait in memory, and in the spool for the server.")
METRIC(LEDGER_UP, "sluice_ledger_up", GAUGE, BY_NONE,
    PROCESS(),
    "1: the ledger is written as it should be; 0: its file or its server cannot be used.")
METRIC(CONFIG_WARNINGS, "sluice_config_warnings", GAUGE, BY_NONE,
    PROCESS(),
    "Things in the configuration that have no effect here; the log names them.")
METRIC(METRICS_DROPPED_TOTAL, "sluice_metrics_dropped_total", COUNTER, BY_NONE,
    PROCESS("metric"),
    "Values that were not kept, because the metric already has as many series as it may have.")

/* clang-format on */
#undef METRIC
