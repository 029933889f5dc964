/* SPDX-License-Identifier: Apache-2.0 */
/* Small simulations whose every number can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cmd/sim/load/load.h"
#include "cmd/sim/report.h"

#define QUEUE(cpu)                                                                                 \
    "- name: q\n  spec:\n    resourceGroups:\n    - coveredResources: [cpu]\n      flavors:\n"     \
    "      - {name: f, resources: [{name: cpu, nominalQuota: " cpu "}]}\n"                         \
    "    preemption: {withinClusterQueue: LowerPriority}\n"

static struct sl_load *must_read(const char *text) {
    struct sl_doc *d = NULL;
    struct sl_load *l = NULL;
    struct sl_err err = {0};
    if (sl_doc_yaml("in", text, strlen(text), &d, &err) < 0 || sl_load_decode(d, &l, &err) < 0)
        fail_msg("%s", err.text);
    return l;
}

/* Simulates a load to the end, or until so far. */
static void run(const char *text, sl_span until, struct sl_report *r) {
    struct sl_load *l = must_read(text);
    struct sl_sim_source source;
    struct sl_sim sim;
    struct sl_err err = {0};
    sl_report_init(r, "in", false);
    r->world.check = true;
    if (sl_load_begin(l, &r->world, &source, &err) < 0)
        fail_msg("%s", err.text);
    struct sl_sim_options o = {
        .origin = SL_SIM_EPOCH, .eviction_delay = l->eviction_delay, .until = until};
    sl_sim_init(&sim, &r->world, &source, &o);
    if (sl_sim_run(&sim, &err) < 0)
        fail_msg("%s", err.text);
    sl_report_end(r, sim.now);
    sl_sim_done(&sim);
    sl_load_end(l, &r->world);
    sl_load_free(l);
}

static void one_after_the_other(void **state) {
    (void)state;
    struct sl_report r;
    run("queues:\n" QUEUE("1") "classes: [{name: a, count: 3, interval: 1s, runtime: 5s, request: "
                               "{cpu: 1}}]\n",
        0, &r);
    /* they come at 0, 1, 2 and start at 0, 5, 10 */
    assert_int_equal(r.result.makespan, 15 * SL_SEC);
    assert_int_equal(r.result.work_bound, 15 * SL_SEC);
    assert_int_equal(r.result.classes[0].last.mean, 4 * SL_SEC);
    assert_int_equal(r.result.classes[0].last.max, 8 * SL_SEC);
    assert_int_equal(r.result.finished, 3);
    assert_int_equal(r.pending, 0);
    sl_report_done(&r);
}

static void finished_work_makes_room_at_the_same_instant(void **state) {
    (void)state;
    struct sl_report r;
    run("queues:\n" QUEUE("1") "classes: [{name: a, count: 5, interval: 2s, runtime: 2s, request: "
                               "{cpu: 1}}]\n",
        0, &r);
    assert_int_equal(r.result.makespan, 10 * SL_SEC);
    assert_int_equal(r.result.classes[0].last.max, 0);
    sl_report_done(&r);
}

#define TWO_CLASSES                                                                                \
    "classes:\n- {name: low, runtime: 10s, request: {cpu: 4}}\n"                                   \
    "- {name: high, start: 3s, runtime: 2s, priority: 5, request: {cpu: 4}}\n"

static void evicted_work_starts_again(void **state) {
    (void)state;
    struct sl_report r;
    run("queues:\n" QUEUE("4") TWO_CLASSES, 0, &r);
    assert_int_equal(r.result.makespan, 15 * SL_SEC); /* 3 lost, 2 high, 10 again */
    assert_int_equal(r.result.preemptions, 1);
    assert_int_equal(r.result.classes[0].last.mean, 5 * SL_SEC);
    assert_int_equal(r.result.classes[0].first.mean, 0);
    assert_int_equal(r.result.classes[1].last.mean, 0);
    sl_report_done(&r);
    run("evictionDelay: 1s\nqueues:\n" QUEUE("4") TWO_CLASSES, 0, &r);
    assert_int_equal(r.result.makespan, 16 * SL_SEC);
    assert_int_equal(r.result.classes[1].last.mean, SL_SEC);
    sl_report_done(&r);
}

static void clock_stops(void **state) {
    (void)state;
    struct sl_report r;
    run("queues:\n" QUEUE("4") TWO_CLASSES, 4 * SL_SEC, &r);
    assert_int_equal(r.result.finished, 0);
    assert_int_equal(r.result.running, 1);
    assert_int_equal(r.pending, 1);
    assert_int_equal(r.n_stuck, 1);
    assert_string_equal(r.stuck[0].name, "q/low-0");
    sl_report_done(&r);
}

static void classes_inherit(void **state) {
    (void)state;
    struct sl_load *l = must_read(
        "classes: [{name: a, count: 7, interval: 3s, runtime: 5s, priority: 2, request: {cpu: 2}, "
        "pods: 3}]\n"
        "cohorts:\n- name: co\n  count: 2\n  queues:\n  - name: q\n    count: 2\n"
        "    spec: {}\n    workloads: [{class: a, count: 4}, {class: b, runtime: 1s, request: "
        "{cpu: "
        "1}}, {class: a, pods: 1}]\n");
    assert_int_equal(l->streams.n, 12);
    assert_int_equal(l->total, 4 * (4 + 1 + 7));
    const struct sl_load_stream *s = l->streams.v;
    assert_string_equal(s[0].ns, "co-0-q-0");
    assert_string_equal(s[11].queue, "co-1-q-1");
    assert_int_equal(s[0].klass->count, 4);
    assert_int_equal(s[0].klass->interval, 3 * SL_SEC);
    assert_int_equal(s[0].klass->podsets[0].count, 3);
    assert_int_equal(s[1].klass->interval, SL_SEC);
    assert_int_equal(s[2].first, 4); /* numbered on */
    assert_int_equal(s[2].klass->podsets[0].count, 1);
    assert_int_equal(s[2].klass->podsets[0].n_requests, 1);
    sl_load_free(l);
}

static void same_load_same_digest(void **state) {
    (void)state;
    static const char text[] =
        "cohorts:\n- name: co\n  queues:\n  - name: q\n    count: 3\n    spec:\n      "
        "resourceGroups:\n      - {coveredResources: [cpu], flavors: [{name: f, resources: [{name: "
        "cpu, nominalQuota: 4}]}]}\n      preemption: {reclaimWithinCohort: Any, "
        "withinClusterQueue: LowerPriority}\n"
        "classes:\n- {name: a, count: 20, interval: 300ms, runtime: 1s, request: {cpu: 1}}\n"
        "- {name: b, count: 5, interval: 1700ms, runtime: 2s, priority: 9, request: {cpu: 4}}\n";
    struct sl_report a, b;
    run(text, 0, &a);
    run(text, 0, &b);
    assert_int_equal(a.result.finished, 75);
    assert_true(a.world.digest == b.world.digest && a.world.digest != SL_WORLD_SEED);
    sl_report_done(&a);
    sl_report_done(&b);
}

/* ---- a source of its own: a workload with a limit on its execution time ---- */

static sl_shape_id shape;

static sl_time first(void *ctx, uint32_t stream) {
    (void)ctx;
    (void)stream;
    return SL_SIM_EPOCH;
}

static int fire(void *ctx, struct sl_sim *s, uint32_t stream, sl_time now, sl_time *ret_next,
                struct sl_err *err) {
    (void)ctx;
    (void)stream;
    struct sl_fact f = {.kind = SL_FACT_WORKLOAD, .at = now};
    f.workload = (struct sl_workload_spec){.ns = "q",
                                           .name = "w",
                                           .uid = "u",
                                           .queue = "q",
                                           .shape = shape,
                                           .created = now,
                                           .max_exec_s = 5};
    struct sl_sim_wl_note note = {.klass = sl_meter_class(s->world->meter, "k"),
                                  .local_queue = SL_METER_NONE};
    *ret_next = SL_TIME_NEVER;
    return sl_sim_arrive(s, &f, &note, 60 * SL_SEC, 0, err);
}

static void note_of(void *ctx, uint64_t ref, struct sl_sim_wl_note *ret) {
    (void)ctx;
    (void)ref;
    ret->klass = 0;
}

static void too_long_is_deactivated(void **state) {
    (void)state;
    struct sl_load *l =
        must_read("queues:\n" QUEUE("4") "classes: [{name: k, runtime: 1s, request: {cpu: 1}}]\n");
    struct sl_world w;
    struct sl_err err = {0};
    struct sl_sim_source source = {.n_streams = 1, .first = first, .fire = fire, .note = note_of};
    struct sl_sim_options o = {.origin = SL_SIM_EPOCH};
    sl_world_init(&w, false);
    for (uint32_t i = 0; i < l->facts.n; i++)
        assert_int_equal(sl_world_apply(&w, &l->facts.v[i], NULL, NULL, &err), 0);
    const struct sl_load_class *k = l->streams.v[0].klass;
    assert_int_equal(sl_engine_shape(w.engine, k->podsets, k->n_podsets, &shape, &err), 0);
    struct sl_sim sim;
    sl_sim_init(&sim, &w, &source, &o);
    assert_int_equal(sl_sim_run(&sim, &err), 0);
    assert_int_equal(sim.now, SL_SIM_EPOCH + 5 * SL_SEC);
    struct sl_meter_result r;
    sl_meter_end(w.meter, sim.now, &r);
    assert_int_equal(r.deactivated, 1);
    assert_int_equal(r.evictions, 1);
    assert_int_equal(r.finished, 0);
    assert_int_equal(r.running, 0);
    sl_meter_result_done(&r);
    sl_sim_done(&sim);
    sl_engine_shape_release(w.engine, shape);
    sl_world_done(&w);
    sl_load_free(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(finished_work_makes_room_at_the_same_instant),
        cmocka_unit_test(evicted_work_starts_again),
        cmocka_unit_test(clock_stops),
        cmocka_unit_test(classes_inherit),
        cmocka_unit_test(same_load_same_digest),
        cmocka_unit_test(too_long_is_deactivated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
