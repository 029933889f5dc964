/* SPDX-License-Identifier: Apache-2.0 */
/* The meter by hand: facts and effects in, waits, bound and utilisation out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cmd/sim/meter/meter.h"

#define T0 (1000 * SL_SEC)

static struct sl_effects fx;

static void apply_queue(struct sl_meter *m, sl_time at, const char *name, const char *cohort,
                        int64_t cores) {
    static const char *const resources[] = {"cpu"};
    struct sl_quota quota = {cores < 0 ? SL_AMOUNT_UNLIMITED : cores * 1000, SL_AMOUNT_NONE,
                             SL_AMOUNT_NONE};
    struct sl_flavor_quotas flavor = {"f", &quota};
    struct sl_group_spec group = {resources, 1, &flavor, 1};
    struct sl_fact f = {.kind = SL_FACT_CLUSTER_QUEUE, .at = at};
    f.cq.name = name;
    f.cq.cohort = cohort;
    f.cq.groups = (struct sl_groups){&group, 1};
    sl_meter_config(m, &f);
    f = (struct sl_fact){.kind = SL_FACT_LOCAL_QUEUE, .at = at};
    f.lq.ns = "ns";
    f.lq.name = f.lq.cq = name;
    sl_meter_config(m, &f);
}

static void arrive(struct sl_meter *m, sl_time at, uint32_t id, const char *klass,
                   const char *queue) {
    sl_meter_arrive(m, at, (sl_wl_id){id}, at, sl_meter_class(m, klass),
                    sl_meter_local_queue(m, "ns", queue));
}

static void admit(struct sl_meter *m, sl_time at, uint32_t id, int64_t cores) {
    struct sl_assigned a = {"cpu", "f", cores * 1000};
    struct sl_podset_assignment p = {"main", 1, &a, 1};
    struct sl_effect x = {.kind = SL_EFFECT_RESERVE, .wl = {id}};
    x.reserve.podsets = &p;
    x.reserve.n = 1;
    x.reserve.admitted = true;
    sl_effects_clear(&fx);
    *sl_vec_push(&fx.v) = x;
    sl_meter_effects(m, at, &fx, 0);
}

static void effect(struct sl_meter *m, sl_time at, uint32_t id, enum sl_effect_kind kind) {
    struct sl_effect x = {.kind = kind, .wl = {id}};
    if (kind == SL_EFFECT_EVICT)
        x.evict.reason = SL_EVICT_PREEMPTED;
    sl_effects_clear(&fx);
    *sl_vec_push(&fx.v) = x;
    sl_meter_effects(m, at, &fx, 0);
}

static void fact(struct sl_meter *m, sl_time at, uint32_t id, enum sl_fact_kind kind) {
    struct sl_fact f = {.kind = kind, .at = at, .wl = {id}};
    sl_meter_fact(m, &f);
}

static void near(double a, double b) {
    if (!(a - b < 1e-6 && b - a < 1e-6))
        fail_msg("%f is not %f", a, b);
}

static void one_workload(void **state) {
    (void)state;
    struct sl_meter *m = sl_meter_new(true);
    apply_queue(m, T0, "q", "", 4);
    arrive(m, T0, 1, "a", "q");
    admit(m, T0 + SL_SEC, 1, 2);
    assert_int_equal(sl_meter_started(m, (sl_wl_id){1}), T0 + SL_SEC);
    fact(m, T0 + 3 * SL_SEC, 1, SL_FACT_FINISHED);
    struct sl_meter_result r;
    sl_meter_end(m, T0 + 10 * SL_SEC, &r);
    assert_int_equal(r.makespan, 3 * SL_SEC);
    assert_int_equal(r.work_bound, SL_SEC); /* 2 cpu for 2 s, on 4 cpu */
    near(r.utilisation, 4.0 / 12);
    near(r.redone, 0);
    assert_string_equal(r.resource, "cpu");
    assert_int_equal(r.n_classes, 1);
    assert_int_equal(r.classes[0].last.mean, SL_SEC);
    assert_int_equal(r.classes[0].first.max, SL_SEC);
    assert_int_equal(r.finished, 1);
    assert_int_equal(r.n_queues, 1);
    near(r.queues[0].used, 4000.0 / 3);
    const struct sl_timeline *t = sl_meter_timeline(m);
    assert_int_equal(t->end - t->start, 3 * SL_SEC);
    sl_meter_result_done(&r);
    sl_meter_free(m);
}

static void eviction_starts_again(void **state) {
    (void)state;
    struct sl_meter *m = sl_meter_new(true);
    apply_queue(m, T0, "a", "co", 2);
    apply_queue(m, T0, "b", "co", 2);
    arrive(m, T0, 1, "k", "a");
    admit(m, T0, 1, 4); /* borrows 2 */
    effect(m, T0 + SL_SEC, 1, SL_EFFECT_EVICT);
    assert_int_equal(sl_meter_started(m, (sl_wl_id){1}), 0);
    fact(m, T0 + SL_SEC, 1, SL_FACT_RELEASED);
    admit(m, T0 + 2 * SL_SEC, 1, 4);
    fact(m, T0 + 4 * SL_SEC, 1, SL_FACT_FINISHED);
    struct sl_meter_result r;
    sl_meter_end(m, T0 + 4 * SL_SEC, &r);
    assert_int_equal(r.preemptions, 1);
    assert_int_equal(r.admitted, 2);
    assert_int_equal(r.classes[0].last.mean, 2 * SL_SEC);
    assert_int_equal(r.classes[0].first.mean, 0);
    assert_int_equal(r.work_bound, 2 * SL_SEC);
    near(r.utilisation, 12.0 / 16);
    near(r.redone, 4.0 / 16);
    near(r.queues[0].borrowed, 6000.0 / 4);
    assert_string_equal(sl_meter_root(m, 0), "co");
    assert_int_equal(sl_meter_root_capacity(m, 0), 4000);
    sl_meter_result_done(&r);
    sl_meter_free(m);
}

/* Two trees: the slower one is the bound. */
static void bound_is_per_tree(void **state) {
    (void)state;
    struct sl_meter *m = sl_meter_new(false);
    apply_queue(m, T0, "a", "", 1);
    apply_queue(m, T0, "b", "", 10);
    arrive(m, T0, 1, "k", "a");
    arrive(m, T0, 2, "k", "b");
    admit(m, T0, 1, 1);
    admit(m, T0, 2, 10);
    fact(m, T0 + 2 * SL_SEC, 2, SL_FACT_FINISHED);
    fact(m, T0 + 5 * SL_SEC, 1, SL_FACT_FINISHED);
    struct sl_meter_result r;
    sl_meter_end(m, T0 + 5 * SL_SEC, &r);
    assert_int_equal(r.work_bound, 5 * SL_SEC);
    sl_meter_result_done(&r);
    sl_meter_free(m);
}

static void without_capacity(void **state) {
    (void)state;
    struct sl_meter *m = sl_meter_new(false);
    apply_queue(m, T0, "a", "", 0);
    arrive(m, T0, 1, "k", "a");
    struct sl_meter_result r;
    sl_meter_end(m, T0, &r);
    assert_int_equal(r.work_bound, -1);
    assert_int_equal(r.never_admitted, 1);
    near(r.utilisation, 0);
    sl_meter_result_done(&r);
    sl_meter_free(m);

    m = sl_meter_new(false);
    apply_queue(m, T0, "a", "", -1); /* unlimited */
    arrive(m, T0, 1, "k", "a");
    admit(m, T0, 1, 5);
    fact(m, T0 + SL_SEC, 1, SL_FACT_FINISHED);
    sl_meter_end(m, T0 + SL_SEC, &r);
    assert_int_equal(r.work_bound, 0);
    assert_int_equal(r.capacity, SL_AMOUNT_UNLIMITED);
    sl_meter_result_done(&r);
    sl_meter_free(m);
}

/* Nothing happened at all. */
static void empty(void **state) {
    (void)state;
    struct sl_meter *m = sl_meter_new(true);
    struct sl_meter_result r;
    sl_meter_end(m, T0, &r);
    assert_int_equal(r.makespan, 0);
    assert_int_equal(r.n_classes, 0);
    assert_string_equal(r.resource, "");
    sl_meter_result_done(&r);
    sl_meter_free(m);
}

/* Stale ids, repeated facts and workloads deleted while waiting do no harm. */
static void odd_orders(void **state) {
    (void)state;
    struct sl_meter *m = sl_meter_new(true);
    apply_queue(m, T0, "a", "", 4);
    arrive(m, T0, 1, "k", "a");
    arrive(m, T0, 1, "k", "a");
    arrive(m, T0, 2, "k", "nowhere");
    fact(m, T0, 7, SL_FACT_FINISHED);
    fact(m, T0, 1, SL_FACT_RELEASED);
    admit(m, T0, 1, 1);
    admit(m, T0 + SL_SEC, 1, 2); /* assigned anew */
    admit(m, T0, 2, 1);
    effect(m, T0 + SL_SEC, 1, SL_EFFECT_UNRESERVE);
    effect(m, T0 + SL_SEC, 1, SL_EFFECT_PENDING);
    effect(m, T0 + SL_SEC, 1, SL_EFFECT_DEACTIVATE);
    fact(m, T0 + 2 * SL_SEC, 1, SL_FACT_WORKLOAD_GONE);
    fact(m, T0 + 2 * SL_SEC, 1, SL_FACT_WORKLOAD_GONE);
    struct sl_meter_result r;
    sl_meter_end(m, T0 + 3 * SL_SEC, &r);
    assert_int_equal(r.arrived, 2);
    assert_int_equal(r.refusals, 1);
    assert_int_equal(r.deactivated, 1);
    assert_int_equal(r.running, 1);
    assert_int_equal(r.finished, 0);
    sl_meter_result_done(&r);
    sl_meter_free(m);
}

/* 100 waits of 1..100 s: percentiles by rank. */
static void percentiles(void **state) {
    (void)state;
    struct sl_meter *m = sl_meter_new(false);
    apply_queue(m, T0, "a", "", 1000);
    for (uint32_t i = 1; i <= 100; i++)
        arrive(m, T0, i, "k", "a");
    for (uint32_t i = 1; i <= 100; i++) {
        admit(m, T0 + i * SL_SEC, i, 1);
        fact(m, T0 + (i + 1) * SL_SEC, i, SL_FACT_FINISHED);
    }
    struct sl_meter_result r;
    sl_meter_end(m, T0 + 200 * SL_SEC, &r);
    assert_int_equal(r.classes[0].last.p50, 50 * SL_SEC);
    assert_int_equal(r.classes[0].last.p99, 99 * SL_SEC);
    assert_int_equal(r.classes[0].last.max, 100 * SL_SEC);
    assert_int_equal(r.classes[0].last.mean, 50500 * SL_MSEC);
    sl_meter_result_done(&r);
    sl_meter_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_workload),
        cmocka_unit_test(eviction_starts_again),
        cmocka_unit_test(bound_is_per_tree),
        cmocka_unit_test(without_capacity),
        cmocka_unit_test(empty),
        cmocka_unit_test(odd_orders),
        cmocka_unit_test(percentiles),
    };
    sl_effects_init(&fx);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_effects_done(&fx);
    return failed;
}
