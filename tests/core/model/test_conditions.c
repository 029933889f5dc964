/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of every effect, letter by letter, and the digest: it must see every word and number.
 */
#include "core/model/effect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"

#define GI INT64_C(1073741824)

static const char *const podsets[] = {"driver", "workers"};

static const struct sl_why why_all[] = {
    {.kind = SL_WHY_NEEDS_MORE, .podset = 1, .resource = "cpu", .flavor = "spot", .amount = 1500},
    {.kind = SL_WHY_EXCEEDS_MAX,
     .podset = 0,
     .resource = "memory",
     .flavor = "spot",
     .before = GI,
     .request = 2 * GI,
     .limit = 2 * GI},
    {.kind = SL_WHY_FLAVOR_MISSING, .podset = 0, .flavor = "zed"},
    {.kind = SL_WHY_TAINT,
     .podset = 0,
     .flavor = "tainted",
     .taint = "{instance spot NoSchedule <nil>}"},
    {.kind = SL_WHY_AFFINITY, .podset = 0, .flavor = "arm"},
    {.kind = SL_WHY_NOT_COVERED, .podset = 1, .resource = "example.com/gpu"},
    {.kind = SL_WHY_PLACE, .podset = 1, .taint = "no rack has 3 free nodes"},
    {.kind = SL_WHY_SLICE, .podset = 1, .flavor = "arm", .taint = "spot"},
};

static const struct sl_why why_one[] = {
    {.kind = SL_WHY_NEEDS_MORE, .resource = "cpu", .flavor = "default", .amount = 2000},
};
static const struct sl_why why_unlimited[] = {
    {.kind = SL_WHY_EXCEEDS_MAX,
     .resource = "cpu",
     .flavor = "default",
     .request = SL_AMOUNT_UNLIMITED,
     .limit = 1000},
};
static const struct sl_why why_twice[] = {
    {.kind = SL_WHY_AFFINITY, .flavor = "b"},
    {.kind = SL_WHY_AFFINITY, .flavor = "a"},
    {.kind = SL_WHY_AFFINITY, .flavor = "b"},
};

#define WL .ns = "ns", .name = "wl", .cq = "cq"
#define PENDING(k, ...)                                                                            \
    {                                                                                              \
        .kind = SL_EFFECT_PENDING, WL, .pending = {.kind = (k), __VA_ARGS__ }                      \
    }
#define EVICT(r, c, ...)                                                                           \
    {                                                                                              \
        .kind = SL_EFFECT_EVICT, WL, .evict = {.reason = (r), .cause = (c), __VA_ARGS__ }          \
    }
#define BLOCKED(k, ...)                                                                            \
    {                                                                                              \
        .kind = SL_EFFECT_BLOCKED, WL, .blocked = {.kind = (k), __VA_ARGS__ }                      \
    }

static const struct {
    struct sl_effect effect;
    const char *text; /* "Type=Status/Reason message" a line each */
} cases[] = {
    {{.kind = SL_EFFECT_RESERVE, WL},
     "QuotaReserved=True/QuotaReserved Quota reserved in ClusterQueue cq\n"},
    {{.kind = SL_EFFECT_RESERVE, WL, .reserve = {.admitted = true}},
     "QuotaReserved=True/QuotaReserved Quota reserved in ClusterQueue cq\n"
     "Admitted=True/Admitted The workload is admitted\n"},
    {{.kind = SL_EFFECT_ADMIT, WL}, "Admitted=True/Admitted The workload is admitted\n"},
    {PENDING(SL_PENDING_NO_FIT, .why = why_all, .n_why = SL_LEN(why_all), .podset_names = podsets),
     "QuotaReserved=False/Pending couldn't assign flavors to pod set driver: flavor arm doesn't "
     "match "
     "node affinity, flavor zed not found, insufficient quota for memory in flavor spot, "
     "previously "
     "considered podsets requests (1Gi) + current podset request (2Gi) > maximum capacity (2Gi), "
     "untolerated taint {instance spot NoSchedule <nil>} in flavor tainted; couldn't assign "
     "flavors to "
     "pod set workers: could not assign arm flavor since the original workload is assigned: spot, "
     "insufficient unused quota for cpu in flavor spot, 1500m more needed, no "
     "rack has "
     "3 free nodes, resource example.com/gpu unavailable in ClusterQueue\n"},
    {PENDING(SL_PENDING_NO_CANDIDATES, .why = why_one, .n_why = 1, .podset_names = podsets),
     "QuotaReserved=False/Pending couldn't assign flavors to pod set driver: insufficient unused "
     "quota "
     "for cpu in flavor default, 2 more needed\n"},
    {PENDING(SL_PENDING_PREEMPTION, .why = why_one, .n_why = 1, .podset_names = podsets,
             .victims = 3),
     "QuotaReserved=False/Pending couldn't assign flavors to pod set driver: insufficient unused "
     "quota "
     "for cpu in flavor default, 2 more needed. Pending the preemption of 3 workload(s)\n"},
    {PENDING(SL_PENDING_NO_FIT, .why = why_unlimited, .n_why = 1, .podset_names = podsets),
     "QuotaReserved=False/Pending couldn't assign flavors to pod set driver: insufficient quota "
     "for cpu "
     "in flavor default, previously considered podsets requests (0) + current podset request "
     "(<unlimited>) > maximum capacity (1)\n"},
    {PENDING(SL_PENDING_NO_FIT, .why = why_twice, .n_why = 3, .podset_names = podsets),
     "QuotaReserved=False/Pending couldn't assign flavors to pod set driver: flavor a doesn't "
     "match "
     "node affinity, flavor b doesn't match node affinity, flavor b doesn't match node affinity\n"},
    {PENDING(SL_PENDING_OVERLAP, .why = NULL),
     "QuotaReserved=False/Pending Workload has overlapping preemption targets with another "
     "workload\n"},
    {PENDING(SL_PENDING_LOST_RACE, .why = why_one, .n_why = 1, .podset_names = podsets),
     "QuotaReserved=False/Pending Workload no longer fits after processing another workload\n"},
    {PENDING(SL_PENDING_FAILED_CHECKS, .why = NULL),
     "QuotaReserved=False/Pending The workload has failed admission checks\n"},
    {PENDING(SL_PENDING_CQ_INACTIVE, .why = NULL),
     "QuotaReserved=False/Pending ClusterQueue cq is inactive\n"},
    {PENDING(SL_PENDING_CQ_MISSING, .why = NULL),
     "QuotaReserved=False/Pending ClusterQueue cq not found\n"},
    {PENDING(SL_PENDING_NS_MISSING, .why = NULL),
     "QuotaReserved=False/Pending workload namespace \"ns\" does not exist: Namespace \"ns\" not "
     "found\n"},
    {PENDING(SL_PENDING_NS_MISMATCH, .why = NULL),
     "QuotaReserved=False/Pending workload namespace doesn't match ClusterQueue selector\n"},
    {PENDING(SL_PENDING_INVALID, .text = "resources validation failed: x"),
     "QuotaReserved=False/Pending resources validation failed: x\n"},
    {PENDING(SL_PENDING_PODS_READY, .why = NULL),
     "QuotaReserved=False/Waiting waiting for all admitted workloads to be in PodsReady "
     "condition\n"},
    {PENDING(SL_PENDING_GATED, .why = why_one, .n_why = 1, .podset_names = podsets),
     "QuotaReserved=False/Pending Workload requires preemption, but it's gated\n"
     "BlockedOnPreemptionGates=True/PreemptionGated Workload requires preemption, but it's "
     "gated\n"},
    {EVICT(SL_EVICT_PREEMPTED, SL_CAUSE_IN_CLUSTER_QUEUE, .by_uid = "u", .by_job_uid = "j",
           .by_path = "/org/cq", .path = "/org/a/b"),
     "Evicted=True/Preempted Preempted to accommodate a workload (UID: u, JobUID: j) due to "
     "prioritization in the ClusterQueue; preemptor path: /org/cq; preemptee path: /org/a/b\n"
     "Preempted=True/InClusterQueue Preempted to accommodate a workload (UID: u, JobUID: j) due to "
     "prioritization in the ClusterQueue; preemptor path: /org/cq; preemptee path: /org/a/b\n"},
    {EVICT(SL_EVICT_PREEMPTED, SL_CAUSE_IN_COHORT_RECLAMATION, .by_uid = ""),
     "Evicted=True/Preempted Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) "
     "due to "
     "reclamation within the cohort; preemptor path: UNKNOWN; preemptee path: UNKNOWN\n"
     "Preempted=True/InCohortReclamation Preempted to accommodate a workload (UID: UNKNOWN, "
     "JobUID: "
     "UNKNOWN) due to reclamation within the cohort; preemptor path: UNKNOWN; preemptee path: "
     "UNKNOWN\n"},
    {EVICT(SL_EVICT_PREEMPTED, SL_CAUSE_IN_COHORT_FAIR_SHARING, .text = "said so"),
     "Evicted=True/Preempted said so\nPreempted=True/InCohortFairSharing said so\n"},
    {EVICT(SL_EVICT_PODS_READY_TIMEOUT, SL_CAUSE_WAIT_FOR_START, .text = NULL),
     "Evicted=True/PodsReadyTimeout Exceeded the PodsReady timeout ns/wl\n"},
    {EVICT(SL_EVICT_ADMISSION_CHECK, SL_CAUSE_NONE,
           .text = "Evicted due to AdmissionCheck in Retry state: \"a\""),
     "Evicted=True/AdmissionCheck Evicted due to AdmissionCheck in Retry state: \"a\"\n"},
    {EVICT(SL_EVICT_CLUSTER_QUEUE_STOPPED, SL_CAUSE_NONE, .text = NULL),
     "Evicted=True/ClusterQueueStopped The ClusterQueue is stopped\n"},
    {EVICT(SL_EVICT_LOCAL_QUEUE_STOPPED, SL_CAUSE_NONE, .text = NULL),
     "Evicted=True/LocalQueueStopped The LocalQueue is stopped\n"},
    {EVICT(SL_EVICT_DEACTIVATED, SL_CAUSE_NONE, .text = NULL),
     "Evicted=True/Deactivated The workload is deactivated\n"},
    {EVICT(SL_EVICT_DEACTIVATED, SL_CAUSE_MAX_EXECUTION_TIME, .text = NULL),
     "Evicted=True/DeactivatedDueToMaximumExecutionTimeExceeded The workload is deactivated due to "
     "exceeding the maximum execution time\n"},
    {EVICT(SL_EVICT_DEACTIVATED, SL_CAUSE_REQUEUING_LIMIT, .text = NULL),
     "Evicted=True/DeactivatedDueToRequeuingLimitExceeded The workload is deactivated due to "
     "exceeding "
     "the maximum number of re-queuing retries\n"},
    {EVICT(SL_EVICT_DEACTIVATED, SL_CAUSE_ADMISSION_CHECK, .text = "whole"),
     "Evicted=True/DeactivatedDueToAdmissionCheck whole\n"},
    {{.kind = SL_EFFECT_UNRESERVE, WL, .unreserve = {.stopped = true}},
     "QuotaReserved=False/Inadmissible ClusterQueue cq is stopped\n"},
    {{.kind = SL_EFFECT_UNRESERVE,
      WL,
      .unreserve = {.stopped = true, .local_queue = true, .queue = "lq"}},
     "QuotaReserved=False/Inadmissible LocalQueue lq is stopped\n"},
    {{.kind = SL_EFFECT_UNRESERVE, WL, .unreserve = {.local_queue = true, .queue = "lq"}},
     "QuotaReserved=False/Inadmissible LocalQueue lq is terminating or missing\n"},
    {{.kind = SL_EFFECT_REQUEUED, WL, .requeued = {.reason = SL_REQUEUED_BACKOFF_FINISHED}},
     "Requeued=True/BackoffFinished The workload backoff was finished\n"},
    {{.kind = SL_EFFECT_REQUEUED, WL, .requeued = {.reason = SL_REQUEUED_REACTIVATED}},
     "Requeued=True/Reactivated The workload was reactivated\n"},
    {{.kind = SL_EFFECT_REQUEUED, WL, .requeued = {.reason = SL_REQUEUED_CLUSTER_QUEUE_RESTARTED}},
     "Requeued=True/ClusterQueueRestarted The ClusterQueue was restarted after being stopped\n"},
    {{.kind = SL_EFFECT_REQUEUED, WL, .requeued = {.reason = SL_REQUEUED_LOCAL_QUEUE_RESTARTED}},
     "Requeued=True/LocalQueueRestarted The LocalQueue was restarted after being stopped\n"},
    {{.kind = SL_EFFECT_RELEASE,
      WL,
      .release =
          {.reason = SL_EVICT_PREEMPTED, .was_admitted = true, .requeued = true, .text = "was it"}},
     "QuotaReserved=False/Pending was it\n"
     "Admitted=False/NoReservation The workload has no reservation\n"
     "Requeued=True/Preempted was it\n"},
    {{.kind = SL_EFFECT_RELEASE,
      WL,
      .release = {.reason = SL_EVICT_DEACTIVATED,
                  .cause = SL_CAUSE_ADMISSION_CHECK,
                  .was_admitted = true,
                  .has_checks = true,
                  .text = "off"}},
     "QuotaReserved=False/Pending off\n"
     "Admitted=False/NoReservationUnsatisfiedChecks The workload has no reservation and not all "
     "checks ready\n"
     "Requeued=False/DeactivatedDueToAdmissionCheck off\n"},
    {{.kind = SL_EFFECT_REQUEUED, WL}, ""},
    {{.kind = SL_EFFECT_BACKOFF, WL, .backoff = {.count = 1}}, ""},
    {{.kind = SL_EFFECT_CHECKS, WL}, ""},
    {{.kind = SL_EFFECT_CQ_STATUS, WL}, ""},
    {{.kind = SL_EFFECT_DEACTIVATE, WL}, ""},
    {{.kind = SL_EFFECT_DEACTIVATE, WL, .deactivate = {.cause = SL_CAUSE_MAX_EXECUTION_TIME}},
     "DeactivationTarget=True/MaximumExecutionTimeExceeded exceeding the maximum execution time\n"},
    {{.kind = SL_EFFECT_DEACTIVATE,
      WL,
      .deactivate = {.cause = SL_CAUSE_ADMISSION_CHECK,
                     .text = "AdmissionCheck in Rejected state: \"a\""}},
     "DeactivationTarget=True/AdmissionCheck AdmissionCheck in Rejected state: \"a\"\n"},
    {BLOCKED(SL_BLOCKED_LQ_MISSING, .queue = "lq"),
     "QuotaReserved=False/Inadmissible LocalQueue lq doesn't exist\n"},
    {BLOCKED(SL_BLOCKED_LQ_STOPPED, .queue = "lq"),
     "QuotaReserved=False/Inadmissible LocalQueue lq is inactive\n"},
    {BLOCKED(SL_BLOCKED_CQ_MISSING, .queue = NULL),
     "QuotaReserved=False/Inadmissible ClusterQueue cq doesn't exist\n"},
    {BLOCKED(SL_BLOCKED_CQ_INACTIVE, .queue = NULL),
     "QuotaReserved=False/Inadmissible ClusterQueue cq is inactive\n"},
    {BLOCKED(SL_BLOCKED_GATED, .text = "example.com/team"),
     "QuotaReserved=False/AdmissionGated Admission is gated by: example.com/team\n"},
    {BLOCKED(SL_BLOCKED_GATE_CLEARED, .text = NULL),
     "QuotaReserved=False/Pending AdmissionGatedBy cleared, waiting for quota reservation\n"},
};

static void every_effect_has_its_message(void **state) {
    struct sl_buf text, seen;

    (void)state;
    sl_buf_init(&text, 1 << 20);
    sl_buf_init(&seen, 1 << 20);
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_condition c[SL_EFFECT_MAX_CONDITIONS];
        uint32_t n = sl_effect_conditions(&cases[i].effect, &text, c);
        sl_buf_clear(&seen);
        for (uint32_t j = 0; j < n; j++)
            sl_buf_printf(&seen, "%s=%s/%s %s\n", sl_word(SL_VOCAB_COND, (int)c[j].type),
                          c[j].status ? "True" : "False", c[j].reason, c[j].message);
        assert_string_equal(sl_buf_str(&seen), cases[i].text);
    }
    sl_buf_done(&seen);
    sl_buf_done(&text);
}

static void long_messages_are_cut(void **state) {
    static char longer[40000];
    struct sl_effect x = PENDING(SL_PENDING_INVALID, .text = longer);
    struct sl_condition c[SL_EFFECT_MAX_CONDITIONS];
    struct sl_buf text;

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    sl_buf_init(&text, 1 << 20);
    assert_int_equal(sl_effect_conditions(&x, &text, c), 1);
    size_t most = (size_t)32 * 1024;
    assert_int_equal(strlen(c[0].message), most);
    assert_string_equal(c[0].message + most - 6, "xx ...");
    sl_buf_done(&text);

    struct sl_effect two = EVICT(SL_EVICT_PREEMPTED, SL_CAUSE_NONE, .text = longer);
    sl_buf_init(&text, 100);
    sl_buf_short(&text);
    assert_int_equal(sl_effect_conditions(&two, &text, c), 2);
    assert_int_equal(strlen(c[0].message), 100);
    assert_string_equal(c[1].message, "");
    sl_buf_done(&text);
}

static void parts_of_messages(void **state) {
    static const struct sl_check_status checks[] = {
        {.name = "b", .state = SL_CHECK_RETRY, .message = ""},
        {.name = "c", .state = SL_CHECK_READY, .message = "fine"},
        {.name = "a", .state = SL_CHECK_RETRY, .message = "later"},
        {.name = "d", .state = SL_CHECK_REJECTED},
    };
    struct sl_arena a;

    (void)state;
    sl_arena_init(&a, 1 << 20);
    assert_string_equal(
        sl_taint_print(&a, &(struct sl_taint){"instance", "spot", SL_TAINT_NO_SCHEDULE}),
        "{instance spot NoSchedule <nil>}");
    assert_string_equal(sl_taint_print(&a, &(struct sl_taint){"k", NULL, SL_TAINT_NO_EXECUTE}),
                        "{k  NoExecute <nil>}");
    assert_string_equal(sl_checks_print(&a, SL_CHECK_RETRY, checks, 4),
                        "AdmissionChecks in Retry state: \"a\" (later); \"b\"");
    assert_string_equal(sl_checks_print(&a, SL_CHECK_REJECTED, checks, 4),
                        "AdmissionCheck in Rejected state: \"d\"");
    sl_arena_done(&a);
}

static uint64_t digest_of(const struct sl_effect *v, uint32_t n) {
    struct sl_effects x;
    uint64_t h;

    sl_effects_init(&x);
    for (uint32_t i = 0; i < n; i++)
        *sl_vec_push(&x.v) = v[i];
    h = sl_effects_digest(1, &x);
    sl_effects_clear(&x);
    assert_int_equal(x.v.n, 0);
    assert_int_equal(sl_effects_digest(1, &x), 1);
    sl_effects_done(&x);
    return h;
}

/* All effects of the table differ, so all their digests must. */
static void digests_distinguish_effects(void **state) {
    static uint64_t seen[SL_LEN(cases)];

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        seen[i] = digest_of(&cases[i].effect, 1);
        assert_true(seen[i] == digest_of(&cases[i].effect, 1));
        for (size_t j = 0; j < i; j++)
            if (seen[i] == seen[j])
                fail_msg("cases %zu and %zu have the same digest", i, j);
    }
    struct sl_effect pair[2] = {cases[0].effect, cases[2].effect};
    struct sl_effect turned[2] = {cases[2].effect, cases[0].effect};
    assert_true(digest_of(pair, 2) != digest_of(turned, 2));
}

/* One change at a time, each of which the digest must notice. */
static void digests_see_every_number(void **state) {
    static const struct sl_assigned assigned[] = {
        {"cpu", "f", 5}, {"cpu", "f", 6}, {"cpu", "g", 5}};
    const struct sl_podset_assignment ps[] = {
        {"main", 1, assigned, 1}, {"main", 1, assigned + 1, 1}, {"main", 1, assigned + 2, 1},
        {"main", 2, assigned, 1}, {"aain", 1, assigned, 1},
    };
    static const struct sl_check_status checks[] = {
        {"c", SL_CHECK_READY, 0, ""},  {"c", SL_CHECK_RETRY, 0, ""}, {"c", SL_CHECK_READY, 1, ""},
        {"c", SL_CHECK_READY, 0, "m"}, {"d", SL_CHECK_READY, 0, ""},
    };
    static struct sl_why whys[4];
    for (size_t i = 0; i < SL_LEN(whys); i++)
        whys[i] = why_all[1];
    whys[1].before++;
    whys[2].request++;
    whys[3].limit++;
    uint64_t seen[32];
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < SL_LEN(ps); i++)
        seen[n++] = digest_of(
            &(struct sl_effect){.kind = SL_EFFECT_RESERVE, .reserve = {.podsets = &ps[i], .n = 1}},
            1);
    for (size_t i = 0; i < SL_LEN(checks); i++)
        seen[n++] = digest_of(
            &(struct sl_effect){.kind = SL_EFFECT_CHECKS, .checks = {.v = &checks[i], .n = 1}}, 1);
    for (size_t i = 0; i < SL_LEN(whys); i++)
        seen[n++] = digest_of(
            &(struct sl_effect){.kind = SL_EFFECT_PENDING,
                                .pending = {.why = &whys[i], .n_why = 1, .podset_names = podsets}},
            1);
    for (int i = 0; i < 4; i++)
        seen[n++] = digest_of(&(struct sl_effect){.kind = SL_EFFECT_BACKOFF,
                                                  .backoff = {.count = i & 1, .at = i >> 1}},
                              1);
    for (int i = 0; i < 4; i++)
        seen[n++] =
            digest_of(&(struct sl_effect){.kind = SL_EFFECT_CQ_STATUS,
                                          .cq_status = {.active = i & 1,
                                                        .reason = (enum sl_inactive)(i >> 1)}},
                      1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (seen[i] == seen[j])
                fail_msg("%zu and %zu have the same digest", i, j);
    for (int i = 0; i < SL_EFFECT_COUNT; i++)
        assert_string_not_equal(sl_effect_name((enum sl_effect_kind)i), "?");
    assert_string_equal(sl_effect_name(SL_EFFECT_COUNT), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_effect_has_its_message),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(parts_of_messages),
        cmocka_unit_test(digests_distinguish_effects),
        cmocka_unit_test(digests_see_every_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
