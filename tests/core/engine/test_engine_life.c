/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's interface over a workload's life: the placer, timers, readiness, checks, pods that
 * are no longer needed, how requests are counted, amounts at the edge, and an end at any moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine_fixture.h"

/* ---- the placer ---- */

struct placer {
    bool yes;
    uint32_t asked, undone, in_place;
    sl_wl_id last;
    int32_t count;
    sl_amount usage;
};

static bool place(void *ctx, sl_wl_id id, const struct sl_podset_assignment *ps, uint32_t n,
                  uint32_t *ret_refused, char *why, size_t why_len) {
    struct placer *p = ctx;
    *ret_refused = 0;
    p->asked++;
    p->last = id;
    assert_int_equal(n, 1);
    assert_string_equal(ps[0].name, "main");
    p->count = ps[0].count;
    p->usage = ps[0].n ? ps[0].v[0].usage : 0;
    if (!p->yes)
        (void)snprintf(why, why_len, "%0600d", 7); /* more than there is room for */
    p->in_place += p->yes;
    return p->yes;
}

static void undo(void *ctx, sl_wl_id id) {
    struct placer *p = ctx;
    assert_true(p->in_place > 0);
    p->in_place--;
    p->undone++;
    p->last = id;
}

static void test_placer(void **state) {
    (void)state;
    struct placer p = {0};
    struct fx x;
    small(&x, &(struct sl_placer){.ctx = &p, .place = place, .undo = undo});
    sl_wl_id a = wl(&x, "a", 4);
    (void)cycle(&x, SL_SEC);
    assert_int_equal(p.asked, 1);
    assert_int_equal(p.count, 4);
    assert_int_equal(p.usage, 4);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 0); /* refused: nothing is charged */
    assert_int_equal(count_effects(&x, SL_EFFECT_PENDING), 1);
    for (uint32_t i = 0; i < x.out.v.n; i++)
        if (x.out.v.v[i].kind == SL_EFFECT_PENDING) {
            assert_int_equal(x.out.v.v[i].pending.n_why, 1);
            assert_int_equal(x.out.v.v[i].pending.why[0].kind, SL_WHY_PLACE);
            assert_true(strlen(x.out.v.v[i].pending.why[0].taint) > 50);
        }
    (void)cycle(&x, 2 * SL_SEC);
    assert_int_equal(p.asked, 1); /* nothing has changed: not asked again */
    sl_engine_places_changed(x.e);
    (void)cycle(&x, 2 * SL_SEC);
    assert_int_equal(p.asked, 2); /* there may be room elsewhere; there is none */
    p.yes = true;
    cq(&x, "q", "", "gpu", 12);
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(phase(&x, a), SL_PHASE_ADMITTED);
    assert_int_equal(p.in_place, 1);

    apply_wl_fact(&x, SL_FACT_ADMIT_FAILED, a); /* given back, and tried again at once */
    assert_int_equal(p.undone, 1);
    assert_int_equal(p.last.v, a.v);
    (void)cycle(&x, 4 * SL_SEC);
    assert_int_equal(p.in_place, 1);
    apply_wl_fact(&x, SL_FACT_FINISHED, a);
    apply_wl_fact(&x, SL_FACT_FINISHED, a);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, a);
    assert_int_equal(p.undone, 2);

    sl_wl_id b = wl(&x, "b", 12); /* evicted: its place is its own until it is released */
    (void)cycle(&x, 5 * SL_SEC);
    sl_wl_id c = wl_apply(&x, wl_spec("c", 9), 12, "gpu", UNITS(1));
    (void)cycle(&x, 6 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 1);
    assert_int_equal(p.undone, 2);
    apply_wl_fact(&x, SL_FACT_RELEASED, b);
    apply_wl_fact(&x, SL_FACT_RELEASED, b);
    assert_int_equal(p.undone, 3);
    (void)cycle(&x, 7 * SL_SEC);
    assert_int_equal(phase(&x, c), SL_PHASE_ADMITTED);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, c);
    assert_int_equal(p.undone, 4);
    (void)cycle(&x, 8 * SL_SEC);
    assert_int_equal(phase(&x, b), SL_PHASE_ADMITTED);
    stop_engine(&x); /* the end of the engine is no give-back */
    assert_int_equal(p.undone, 4);
    assert_int_equal(p.in_place, 1);
}

/* ---- time ---- */

static void test_next(void **state) {
    (void)state;
    struct fx x;
    small(&x, NULL);
    assert_int_equal(sl_engine_next(x.e), SL_TIME_NEVER);
    struct sl_config c = sl_config_default;
    c.pods_ready = true;
    c.ready_timeout = 100 * SL_SEC;
    c.backoff_base_s = 30;
    config(&x, c);
    struct sl_workload_spec s = wl_spec("long", 0);
    s.max_exec_s = 70;
    sl_wl_id a = wl_apply(&x, s, 1, "gpu", UNITS(1));
    s.name = s.uid = "short";
    s.max_exec_s = 40;
    sl_wl_id b = wl_apply(&x, s, 1, "gpu", UNITS(1)), r = wl(&x, "ready", 1);
    sl_wl_id slow = wl(&x, "slow", 1);
    (void)cycle(&x, 10 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_RESERVE), 4);
    assert_int_equal(sl_engine_next(x.e), 50 * SL_SEC);
    apply_fact(&x, (struct sl_fact){
                       .kind = SL_FACT_PODS_READY, .wl = r, .at = 20 * SL_SEC, .ready = true});
    (void)cycle(&x, 49 * SL_SEC);
    assert_int_equal(x.out.v.n, 0); /* nothing is due before its time */
    (void)cycle(&x, 50 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_DEACTIVATE), 1);
    assert_int_equal(sl_engine_next(x.e), 80 * SL_SEC);
    apply_wl_fact(&x, SL_FACT_FINISHED, a); /* its timer goes with it */
    assert_int_equal(sl_engine_next(x.e), 110 * SL_SEC);
    (void)cycle(&x, 200 * SL_SEC); /* late, once */
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 1);
    assert_int_equal(count_effects(&x, SL_EFFECT_BACKOFF), 1);
    assert_int_equal(sl_engine_next(x.e), SL_TIME_NEVER);
    apply_wl_fact(&x, SL_FACT_RELEASED, slow);
    apply_wl_fact(&x, SL_FACT_RELEASED, b);
    (void)cycle(&x, 200 * SL_SEC);
    assert_int_equal(sl_engine_next(x.e), 230 * SL_SEC);
    struct sl_verdict v;
    sl_verdict_init(&v);
    assert_int_equal(sl_engine_explain(x.e, 200 * SL_SEC, slow, &v, &x.err), SL_OK);
    assert_int_equal(v.kind, SL_VERDICT_BACKOFF);
    assert_int_equal(v.not_before, 230 * SL_SEC);
    assert_int_equal(sl_engine_explain(x.e, 200 * SL_SEC, b, &v, &x.err), SL_OK);
    assert_int_equal(v.kind, SL_VERDICT_BLOCKED);
    sl_verdict_done(&v);
    (void)cycle(&x, 230 * SL_SEC);
    assert_int_equal(phase(&x, slow), SL_PHASE_ADMITTED);
    assert_int_equal(sl_engine_next(x.e), 330 * SL_SEC);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, slow);
    assert_int_equal(sl_engine_next(x.e), SL_TIME_NEVER);
    (void)cycle(&x, 100 * SL_SEC); /* time does not run back */
    stop_engine(&x);
}

static void ready(struct fx *x, sl_wl_id id, bool is, sl_time at) {
    apply_fact(x, (struct sl_fact){.kind = SL_FACT_PODS_READY, .wl = id, .at = at, .ready = is});
}

static void test_pods_ready(void **state) {
    (void)state;
    struct fx x;
    small(&x, NULL);
    struct sl_config c = sl_config_default;
    c.pods_ready = c.block_admission = true;
    c.ready_timeout = 100 * SL_SEC;
    c.recovery_timeout = 20 * SL_SEC;
    config(&x, c);
    sl_wl_id a = wl(&x, "a", 1), b = wl(&x, "b", 1);
    ready(&x, a, true, SL_SEC); /* holds nothing yet: cannot be ready */
    (void)cycle(&x, 10 * SL_SEC);
    assert_int_equal(phase(&x, a), SL_PHASE_ADMITTED);
    assert_true(phase(&x, b) != SL_PHASE_ADMITTED); /* a must be ready first */
    struct sl_verdict v;
    sl_verdict_init(&v);
    assert_int_equal(sl_engine_explain(x.e, 10 * SL_SEC, b, &v, &x.err), SL_OK);
    assert_int_equal(v.kind, SL_VERDICT_BEHIND);
    sl_verdict_done(&v);
    ready(&x, a, false, 11 * SL_SEC); /* it never was: nothing new, the first deadline stays */
    assert_int_equal(sl_engine_next(x.e), 110 * SL_SEC);
    ready(&x, a, true, 12 * SL_SEC);
    ready(&x, a, true, 13 * SL_SEC);
    (void)cycle(&x, 13 * SL_SEC);
    assert_int_equal(phase(&x, b), SL_PHASE_ADMITTED);
    ready(&x, b, true, 14 * SL_SEC);
    assert_int_equal(sl_engine_next(x.e), SL_TIME_NEVER);
    ready(&x, b, false, 20 * SL_SEC); /* it was, and is no longer */
    ready(&x, b, false, 30 * SL_SEC); /* said again: the time counts from the first */
    assert_int_equal(sl_engine_next(x.e), 40 * SL_SEC);
    ready(&x, b, true, 35 * SL_SEC);
    ready(&x, b, false, 39 * SL_SEC);
    assert_int_equal(sl_engine_next(x.e), 59 * SL_SEC);
    (void)cycle(&x, 59 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 1);
    apply_wl_fact(&x, SL_FACT_FINISHED, b); /* it ended all the same */
    ready(&x, b, true, 60 * SL_SEC);
    (void)cycle(&x, 60 * SL_SEC);
    assert_int_equal(phase(&x, b), SL_PHASE_FINISHED);
    assert_int_equal(sl_engine_next(x.e), SL_TIME_NEVER); /* its back-off is over with it */
    c.pods_ready = false;                                 /* nobody waits any more */
    ready(&x, a, false, 61 * SL_SEC);
    config(&x, c);
    assert_int_equal(sl_engine_next(x.e), SL_TIME_NEVER);
    stop_engine(&x);
}

/* ---- checks ---- */

static void report_check(struct fx *x, sl_wl_id id, const char *name, enum sl_check_state is,
                         int64_t after_s, sl_time at) {
    struct sl_fact f = {.kind = SL_FACT_CHECK_STATE, .wl = id, .at = at};
    f.check_state.name = name;
    f.check_state.state = is;
    f.check_state.requeue_after_s = after_s;
    apply_fact(x, f);
}

static void test_checks(void **state) {
    (void)state;
    struct fx x;
    struct simple s;
    start_engine(&x, NULL);
    flavor(&x, "f");
    struct sl_check_ref refs[2] = {{.name = "one"}, {.name = "two"}};
    struct sl_cq_spec q = cq_spec(&s, "q", "", "f", "gpu", 10);
    q.checks = refs;
    q.n_checks = 2;
    cq_apply(&x, q);
    lq(&x, "l", "q");
    sl_wl_id a = wl(&x, "a", 1);
    (void)cycle(&x, SL_SEC);
    struct sl_engine_cq_view view;
    assert_true(sl_engine_cq(x.e, "q", &view) && !view.active);
    assert_non_null(strstr(view.message, "missing AdmissionCheck(s): one,two"));
    for (int i = 0; i < 2; i++)
        apply_fact(&x,
                   (struct sl_fact){.kind = SL_FACT_CHECK, .check = {refs[i].name, "c", i == 1}});
    (void)cycle(&x, SL_SEC);
    assert_true(sl_engine_cq(x.e, "q", &view) && !view.active);
    assert_non_null(strstr(view.message, "inactive AdmissionCheck(s): one."));
    apply_fact(&x, (struct sl_fact){.kind = SL_FACT_CHECK, .check = {"one", "c", true}});
    (void)cycle(&x, 2 * SL_SEC);
    assert_int_equal(phase(&x, a), SL_PHASE_RESERVED);
    report_check(&x, a, "one", SL_CHECK_READY, 0, 3 * SL_SEC);
    report_check(&x, a, "stranger", SL_CHECK_REJECTED, 0, 3 * SL_SEC); /* not its check: dropped */
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(phase(&x, a), SL_PHASE_RESERVED);
    assert_int_equal(count_effects(&x, SL_EFFECT_DEACTIVATE), 0);
    report_check(&x, a, "two", SL_CHECK_READY, 0, 4 * SL_SEC);
    (void)cycle(&x, 4 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_ADMIT), 1);
    report_check(&x, a, "two", SL_CHECK_READY, 0, 5 * SL_SEC);
    (void)cycle(&x, 5 * SL_SEC);
    assert_int_equal(x.out.v.n, 0);
    report_check(&x, a, "two", SL_CHECK_RETRY, 50, 6 * SL_SEC); /* even after it was admitted */
    (void)cycle(&x, 6 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_EVICT), 1);
    apply_wl_fact(&x, SL_FACT_RELEASED, a);
    (void)cycle(&x, 7 * SL_SEC);
    assert_int_equal(sl_engine_next(x.e), 56 * SL_SEC);
    (void)cycle(&x, 56 * SL_SEC);
    assert_int_equal(phase(&x, a), SL_PHASE_RESERVED);
    report_check(&x, a, "one", SL_CHECK_RETRY, INT64_MAX, 57 * SL_SEC); /* as good as never */
    (void)cycle(&x, 57 * SL_SEC);
    apply_wl_fact(&x, SL_FACT_RELEASED, a);
    (void)cycle(&x, 58 * SL_SEC);
    assert_true(sl_engine_next(x.e) > 1000000 * SL_SEC);
    sl_wl_id b = wl(&x, "b", 1);
    (void)cycle(&x, 59 * SL_SEC);
    report_check(&x, b, "one", SL_CHECK_REJECTED, 0, 60 * SL_SEC);
    (void)cycle(&x, 60 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_DEACTIVATE), 1);
    for (int i = 0; i < SL_MAX_CHECKS + 2; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "extra%d", i);
        struct sl_fact f = {.kind = SL_FACT_CHECK_STATE, .wl = b, .at = 61 * SL_SEC};
        f.check_state.name = name;
        int r = sl_engine_apply(x.e, &f, NULL, &x.err);
        assert_int_equal(r, i + 2 < SL_MAX_CHECKS ? SL_OK : SL_ELIMIT);
    }
    assert_non_null(strstr(x.err.text, "at most 8 admission checks"));
    stop_engine(&x);
}

/* ---- pods that are no longer needed ---- */

static void reclaim(struct fx *x, sl_wl_id id, int32_t n) {
    apply_fact(x, (struct sl_fact){.kind = SL_FACT_RECLAIMABLE, .wl = id, .reclaimable = {&n, 1}});
}

static void test_reclaimable(void **state) {
    (void)state;
    struct fx x;
    small(&x, NULL);
    sl_wl_id a = wl(&x, "a", 8), b = wl(&x, "b", 5);
    (void)cycle(&x, SL_SEC);
    reclaim(&x, a, 0);
    reclaim(&x, a, -3); /* fewer than none is none */
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 8);
    reclaim(&x, a, 2);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 6);
    (void)cycle(&x, 2 * SL_SEC);
    assert_true(phase(&x, b) != SL_PHASE_ADMITTED);
    reclaim(&x, a, 3);
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(phase(&x, b), SL_PHASE_ADMITTED);
    reclaim(&x, a, 1); /* what was given is not taken back */
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 10);
    reclaim(&x, a, INT32_MAX);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 5);
    sl_wl_id c = wl(&x, "c", 7); /* while waiting it counts as well */
    (void)cycle(&x, 4 * SL_SEC);
    assert_true(phase(&x, c) != SL_PHASE_ADMITTED);
    reclaim(&x, c, 2);
    (void)cycle(&x, 5 * SL_SEC);
    assert_int_equal(phase(&x, c), SL_PHASE_ADMITTED);
    apply_wl_fact(&x, SL_FACT_FINISHED, a);
    reclaim(&x, a, 4);
    struct sl_config cfg = sl_config_default;
    cfg.gates &= ~(UINT32_C(1) << SL_GATE_RECLAIMABLE_PODS);
    config(&x, cfg);
    reclaim(&x, b, 4); /* switched off: accepted, not counted */
    (void)cycle(&x, 6 * SL_SEC);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 10);
    stop_engine(&x);
}

/* ---- what is counted ---- */

static void test_transforms(void **state) {
    (void)state;
    struct fx x;
    start_engine(&x, NULL);
    flavor(&x, "f");
    cq(&x, "q", "", "credit", 100);
    lq(&x, "l", "q");
    const struct sl_transform_output out = {"credit", UNITS(5)};
    const struct sl_transform t[] = {
        {"gpu", "", true, &out, 1}, {"mem", "gpu", true, &out, 1}, /* times the gpus */
    };
    const char *const prefix = "net.example/";
    struct sl_config c = sl_config_default;
    c.transforms = t;
    c.n_transforms = SL_LEN(t);
    c.exclude_prefixes = &prefix;
    c.n_exclude = 1;
    config(&x, c);
    sl_wl_id a = wl(&x, "a", 3);
    const struct sl_request asks[] = {
        {"gpu", UNITS(1) / 2}, {"mem", UNITS(4)}, {"net.example/port", UNITS(1000)}};
    struct sl_podset_spec p = {
        .name = "main", .count = 2, .requests = asks, .n_requests = SL_LEN(asks)};
    struct sl_workload_spec s = wl_spec("b", 0);
    assert_int_equal(sl_engine_shape(x.e, &p, 1, &s.shape, &x.err), SL_OK);
    sl_wl_id b = apply_fact(&x, (struct sl_fact){.kind = SL_FACT_WORKLOAD, .workload = s});
    sl_engine_shape_release(x.e, s.shape);
    (void)cycle(&x, SL_SEC);
    assert_int_equal(phase(&x, a), SL_PHASE_ADMITTED);
    assert_int_equal(phase(&x, b), SL_PHASE_ADMITTED);
    /* a: 3 * 5; b: 2 * roundup(0.5 * 5 + 4 * 0.5 * 5) */
    assert_int_equal(cell(&x, "q", "f", "credit").usage, 15 + 26);
    config(&x, sl_config_default); /* those who come now are counted as they are */
    sl_wl_id d = wl(&x, "d", 1);
    (void)cycle(&x, 2 * SL_SEC);
    assert_true(phase(&x, d) != SL_PHASE_ADMITTED);
    assert_int_equal(cell(&x, "q", "f", "credit").usage, 41); /* and what is held stays held */
    config(&x, c);
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(phase(&x, d), SL_PHASE_ADMITTED);
    stop_engine(&x);
}

static void test_huge(void **state) {
    (void)state;
    struct fx x;
    start_engine(&x, NULL);
    flavor(&x, "f");
    cq(&x, "q", "", "gpu", SL_AMOUNT_UNLIMITED);
    cq(&x, "p", "", "gpu", INT64_MAX - 1);
    lq(&x, "l", "q");
    lq(&x, "m", "p");
    sl_wl_id w[6];
    for (int i = 0; i < 6; i++) { /* each as much as an amount can say */
        char name[24];
        (void)snprintf(name, sizeof name, "w%d", i);
        struct sl_workload_spec s = wl_spec(name, 0);
        s.queue = i < 4 ? "l" : "m";
        w[i] = wl_apply(&x, s, SL_MAX_COUNT, "gpu", SL_QUANTITY_MAX);
    }
    (void)cycle(&x, SL_SEC);
    assert_int_equal(phase(&x, w[0]), SL_PHASE_ADMITTED);
    assert_int_equal(phase(&x, w[1]), SL_PHASE_ADMITTED);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, SL_AMOUNT_UNLIMITED); /* cannot say more */
    assert_int_equal(cell(&x, "q", "f", "gpu").available, 0); /* all of it is all of it */
    assert_true(phase(&x, w[2]) != SL_PHASE_ADMITTED);
    assert_int_equal(phase(&x, w[4]), SL_PHASE_ADMITTED);
    assert_int_equal(cell(&x, "p", "f", "gpu").available, 0);
    struct sl_verdict v;
    sl_verdict_init(&v);
    for (int i = 0; i < 6; i++)
        assert_int_equal(sl_engine_explain(x.e, SL_SEC, w[i], &v, &x.err), SL_OK);
    sl_verdict_done(&v);
    cq(&x, "p", "top", "gpu", INT64_MAX - 1); /* added up in one tree */
    cq(&x, "q", "top", "gpu", SL_AMOUNT_UNLIMITED);
    (void)cycle(&x, 2 * SL_SEC);
    assert_int_equal(sl_engine_check(x.e, &x.err), SL_OK);
    for (int i = 0; i < 6; i++) /* and back: nothing is lost on the way */
        apply_wl_fact(&x, SL_FACT_FINISHED, w[i]);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 0);
    assert_int_equal(cell(&x, "p", "f", "gpu").usage, 0);
    cq(&x, "q", "", "gpu", 5); /* alone and small again */
    sl_wl_id small_one = wl(&x, "small", 5), big = wl(&x, "big", SL_MAX_COUNT);
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(phase(&x, small_one), SL_PHASE_ADMITTED);
    assert_true(phase(&x, big) != SL_PHASE_ADMITTED);
    stop_engine(&x);
}

/* ---- the tree ---- */

static void test_cohort_cycle(void **state) {
    (void)state;
    struct fx x;
    struct sl_engine_cq_view v;
    small(&x, NULL);
    cohort(&x, "a", "b");
    cohort(&x, "b", "c");
    cq(&x, "q", "a", "gpu", 10);
    cq(&x, "other", "a", "gpu", 3);
    sl_wl_id w = wl(&x, "w", 12), late;
    (void)cycle(&x, SL_SEC);
    assert_int_equal(phase(&x, w), SL_PHASE_ADMITTED);
    cohort(&x, "c", "a"); /* closed: nothing new is let in, what runs runs on */
    late = wl(&x, "late", 1);
    (void)cycle(&x, 2 * SL_SEC);
    assert_true(sl_engine_cq(x.e, "q", &v) && !v.active);
    assert_int_equal(phase(&x, w), SL_PHASE_ADMITTED);
    assert_true(phase(&x, late) != SL_PHASE_ADMITTED);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 12);
    struct sl_verdict why;
    sl_verdict_init(&why);
    assert_int_equal(sl_engine_explain(x.e, 2 * SL_SEC, late, &why, &x.err), SL_OK);
    assert_int_equal(why.kind, SL_VERDICT_BLOCKED);
    sl_verdict_done(&why);
    cohort(&x, "a", "a"); /* its own parent is no better */
    (void)cycle(&x, 3 * SL_SEC);
    assert_true(sl_engine_cq(x.e, "q", &v) && !v.active);
    apply_fact(&x,
               (struct sl_fact){.kind = SL_FACT_COHORT_GONE, .gone = {"", "a"}}); /* broken up */
    (void)cycle(&x, 4 * SL_SEC);
    assert_true(sl_engine_cq(x.e, "q", &v) && v.active);
    assert_int_equal(phase(&x, late), SL_PHASE_ADMITTED);
    assert_int_equal(cell(&x, "q", "f", "gpu").usage, 13);
    stop_engine(&x);
}

/* ---- an end at any moment ---- */

/* The first n steps of a history that leaves something open at each of them. */
static void live(struct fx *x, int n) {
    sl_wl_id a = SL_WL_NONE, b = SL_WL_NONE, d;
    struct sl_config c = sl_config_default;
    c.pods_ready = true;
    for (int i = 0; i < n; i++)
        switch (i) {
        case 0:
            config(x, c);
            break;
        case 1:
            flavor(x, "f");
            break;
        case 2:
            cohort(x, "top", "nowhere");
            break;
        case 3: /* before its queues are there */
            a = wl(x, "a", 6);
            break;
        case 4:
            lq(x, "l", "q");
            break;
        case 5:
            cq(x, "q", "top", "gpu", 10);
            break;
        case 6:
            (void)shape(x, 3, "gpu", UNITS(2)); /* never released */
            break;
        case 7:
            (void)cycle(x, SL_SEC);
            break;
        case 8:
            reclaim(x, a, 1);
            break;
        case 9:
            b = wl_apply(x, wl_spec("b", 5), 10, "gpu", UNITS(1));
            break;
        case 10: /* a is on its way out */
            (void)cycle(x, 2 * SL_SEC);
            break;
        case 11:
            report_check(x, b, "check", SL_CHECK_RETRY, 5, 3 * SL_SEC);
            break;
        case 12:
            apply_wl_fact(x, SL_FACT_RELEASED, a);
            break;
        case 13:
            d = wl(x, "d", 1);
            apply_wl_fact(x, SL_FACT_WORKLOAD_GONE, d);
            break;
        case 14:
            (void)cycle(x, 4 * SL_SEC);
            break;
        case 15:
            hold(x, wl(x, "h", 1), "unlisted", 3, 0, SL_EVICT_NONE);
            break;
        case 16:
            apply_fact(x, (struct sl_fact){.kind = SL_FACT_CLUSTER_QUEUE_GONE, .gone = {"", "q"}});
            break;
        case 17:
            cohort(x, "nowhere", "top");
            break;
        case 18:
            apply_fact(x, (struct sl_fact){.kind = SL_FACT_LOCAL_QUEUE_GONE, .gone = {"ns", "l"}});
            break;
        default:
            (void)cycle(x, 100 * SL_MINUTE);
            break;
        }
}

static void test_end(void **state) {
    (void)state;
    struct placer p = {.yes = true};
    const struct sl_placer seam = {.ctx = &p, .place = place, .undo = undo};
    struct fx x;
    for (int n = 0; n <= 20; n++)
        for (int placed = 0; placed < 2; placed++) {
            start_engine(&x, placed ? &seam : NULL);
            p = (struct placer){.yes = true, .in_place = 100};
            live(&x, n);
            stop_engine(&x);
        }
    sl_engine_free(NULL);
    sl_engine_freep(&x.e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placer),      cmocka_unit_test(test_next),
        cmocka_unit_test(test_pods_ready),  cmocka_unit_test(test_checks),
        cmocka_unit_test(test_reclaimable), cmocka_unit_test(test_transforms),
        cmocka_unit_test(test_huge),        cmocka_unit_test(test_cohort_cycle),
        cmocka_unit_test(test_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
