/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices at the engine's interface: what happens to the old one when the new one's reservation
 * comes to nothing, and random histories of jobs that grow, shrink, preempt and are gated, in which
 * quota is never exceeded and the state agrees with itself throughout.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/prng.h"
#include "engine_fixture.h"

static sl_wl_id slice(struct fx *x, const char *name, const char *of, int32_t count) {
    struct sl_workload_spec s = wl_spec(name, 0);
    s.replaces = of;
    return wl_apply(x, s, count, "gpu", UNITS(1));
}

static sl_amount usage(const struct fx *x) {
    return cell(x, "q", "f", "gpu").usage;
}

static const struct sl_effect *reservation(const struct fx *x, sl_wl_id id) {
    for (uint32_t i = 0; i < x->out.v.n; i++)
        if (x->out.v.v[i].kind == SL_EFFECT_RESERVE && x->out.v.v[i].wl.v == id.v)
            return &x->out.v.v[i];
    return NULL;
}

/* One runs with 4 pods, two has taken its place with 6; the shell has not written that yet. */
static void replaced(struct fx *x, sl_wl_id *one, sl_wl_id *two) {
    small(x, NULL);
    *one = wl(x, "one", 4);
    (void)cycle(x, 2 * SL_SEC);
    assert_int_equal(phase(x, *one), SL_PHASE_ADMITTED);
    assert_int_equal(reservation(x, *one)->reserve.replaced.v, 0);
    *two = slice(x, "two", "one", 6);
    (void)cycle(x, 3 * SL_SEC);
    assert_int_equal(phase(x, *two), SL_PHASE_ADMITTED);
    assert_int_equal(phase(x, *one), SL_PHASE_FINISHED);
    assert_int_equal(reservation(x, *two)->reserve.replaced.v, one->v);
    assert_int_equal(usage(x), 6);
}

static void test_not_written(void **state) {
    (void)state;
    struct fx x;
    sl_wl_id one, two;
    struct sl_engine_wl_view v;
    replaced(&x, &one, &two);
    apply_wl_fact(&x, SL_FACT_ADMIT_FAILED, two);
    assert_int_equal(phase(&x, one), SL_PHASE_ADMITTED);
    assert_int_equal(phase(&x, two), SL_PHASE_HEAP);
    assert_int_equal(usage(&x), 4);
    assert_true(sl_engine_workload(x.e, one, &v));
    assert_int_equal(v.reserved_at, 2 * SL_SEC);
    assert_int_equal(v.admitted_at, 2 * SL_SEC);
    (void)cycle(&x, 4 * SL_SEC); /* tried again at once */
    assert_int_equal(reservation(&x, two)->reserve.replaced.v, one.v);
    apply_wl_fact(&x, SL_FACT_FINISHED, one);
    apply_wl_fact(&x, SL_FACT_ADMIT_FAILED, two);
    assert_int_equal(phase(&x, one), SL_PHASE_FINISHED);
    assert_int_equal(usage(&x), 0);
    stop_engine(&x);
}

static void test_deleted(void **state) {
    (void)state;
    struct fx x;
    sl_wl_id one, two;
    replaced(&x, &one, &two);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, two);
    assert_int_equal(phase(&x, one), SL_PHASE_ADMITTED);
    assert_int_equal(usage(&x), 4);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, one);
    assert_int_equal(usage(&x), 0);
    stop_engine(&x);

    replaced(&x, &one, &two); /* the old one goes first: nothing comes back */
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, one);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, two);
    assert_int_equal(usage(&x), 0);
    stop_engine(&x);

    replaced(&x, &one, &two); /* and an end in between forgets what was kept */
    stop_engine(&x);
}

static void test_released(void **state) {
    (void)state;
    struct fx x;
    sl_wl_id one, two;
    replaced(&x, &one, &two);
    apply_fact(&x, (struct sl_fact){.kind = SL_FACT_RELEASED, .wl = two, .already_written = true});
    assert_int_equal(phase(&x, one), SL_PHASE_ADMITTED);
    assert_int_equal(usage(&x), 4);
    stop_engine(&x);
}

/* A queue that stops takes back what is only reserved: the slice before goes on. */
static void test_unreserved(void **state) {
    (void)state;
    struct fx x;
    struct simple s;
    struct sl_check_ref check = {"c", NULL, 0};
    start_engine(&x, NULL);
    flavor(&x, "f");
    apply_fact(&x, (struct sl_fact){.kind = SL_FACT_CHECK, .check = {"c", "", true}});
    struct sl_cq_spec q = cq_spec(&s, "q", "", "f", "gpu", 10);
    q.checks = &check;
    q.n_checks = 1;
    cq_apply(&x, q);
    lq(&x, "l", "q");
    sl_wl_id one = wl(&x, "one", 4);
    (void)cycle(&x, SL_SEC);
    struct sl_fact ready = {.kind = SL_FACT_CHECK_STATE, .wl = one};
    ready.check_state.name = "c";
    ready.check_state.state = SL_CHECK_READY;
    apply_fact(&x, ready);
    (void)cycle(&x, SL_SEC);
    assert_int_equal(phase(&x, one), SL_PHASE_ADMITTED);
    sl_wl_id two = slice(&x, "two", "one", 6);
    (void)cycle(&x, 2 * SL_SEC);
    assert_int_equal(phase(&x, two), SL_PHASE_RESERVED);
    assert_int_equal(phase(&x, one), SL_PHASE_FINISHED);
    q.stop = SL_STOP_HOLD;
    cq_apply(&x, q);
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(count_effects(&x, SL_EFFECT_UNRESERVE), 1);
    assert_int_equal(phase(&x, one), SL_PHASE_ADMITTED);
    assert_int_equal(usage(&x), 4);
    stop_engine(&x);
}

/* Three slices in a row, none of which was written yet: each failure goes back one step. */
static void test_chain(void **state) {
    (void)state;
    struct fx x;
    sl_wl_id one, two;
    replaced(&x, &one, &two);
    sl_wl_id three = slice(&x, "three", "two", 8);
    (void)cycle(&x, 4 * SL_SEC);
    assert_int_equal(reservation(&x, three)->reserve.replaced.v, two.v);
    assert_int_equal(usage(&x), 8);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, three);
    assert_int_equal(phase(&x, two), SL_PHASE_ADMITTED);
    assert_int_equal(usage(&x), 6);
    apply_wl_fact(&x, SL_FACT_WORKLOAD_GONE, two);
    assert_int_equal(phase(&x, one), SL_PHASE_ADMITTED);
    assert_int_equal(usage(&x), 4);
    stop_engine(&x);
}

/* Quotas that no longer name the flavor, and nobody who uses it: what comes back is counted. */
static void test_column_gone(void **state) {
    (void)state;
    struct fx x;
    struct simple s;
    small(&x, NULL);
    sl_wl_id one = wl(&x, "one", 4);
    (void)cycle(&x, 2 * SL_SEC);
    sl_wl_id two = slice(&x, "two", "one", 0);
    (void)cycle(&x, 3 * SL_SEC);
    assert_int_equal(phase(&x, one), SL_PHASE_FINISHED);
    flavor(&x, "g");
    cq_apply(&x, cq_spec(&s, "q", "", "g", "gpu", 10));
    (void)cycle(&x, 4 * SL_SEC);
    apply_wl_fact(&x, SL_FACT_ADMIT_FAILED, two);
    assert_int_equal(phase(&x, one), SL_PHASE_ADMITTED);
    assert_int_equal(usage(&x), 4);
    stop_engine(&x);
}

static void test_readiness(void **state) {
    (void)state;
    struct fx x;
    struct sl_config c = sl_config_default;
    c.pods_ready = c.block_admission = true;
    small(&x, NULL);
    config(&x, c);
    sl_wl_id one = wl(&x, "one", 4);
    (void)cycle(&x, 2 * SL_SEC);
    sl_wl_id two = slice(&x, "two", "one", 6);
    (void)cycle(&x, 3 * SL_SEC); /* nobody is admitted beside one that is not ready */
    assert_int_equal(phase(&x, two), SL_PHASE_HEAP);
    apply_fact(&x, (struct sl_fact){.kind = SL_FACT_PODS_READY, .wl = one, .ready = true});
    (void)cycle(&x, 4 * SL_SEC);
    assert_int_equal(phase(&x, two), SL_PHASE_ADMITTED);
    apply_wl_fact(&x, SL_FACT_ADMIT_FAILED, two); /* one is still ready: two may be tried again */
    (void)cycle(&x, 5 * SL_SEC);
    assert_int_equal(phase(&x, two), SL_PHASE_ADMITTED);
    sl_wl_id other = wl(&x, "other", 1);
    (void)cycle(&x, 6 * SL_SEC);
    assert_int_equal(phase(&x, other), SL_PHASE_HEAP);
    stop_engine(&x);
}

static void test_names(void **state) {
    (void)state;
    struct fx x;
    char name[SL_MAX_NAME + 2];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    small(&x, NULL);
    struct sl_workload_spec s = wl_spec("w", 0);
    s.shape = shape(&x, 1, "gpu", UNITS(1));
    s.replaces = name;
    refuse(&x, (struct sl_fact){.kind = SL_FACT_WORKLOAD, .workload = s}, SL_EINVAL,
           "name of the slice it replaces too long");
    sl_engine_shape_release(x.e, s.shape);
    sl_wl_id self = slice(&x, "self", "self", 2); /* its own name means nobody */
    (void)cycle(&x, SL_SEC);
    assert_int_equal(reservation(&x, self)->reserve.replaced.v, 0);
    stop_engine(&x);
    assert_string_equal(sl_slice_name("ns", "ns/a"), "a");
    assert_string_equal(sl_slice_name("ns", "ns2/a"), "");
    assert_string_equal(sl_slice_name("ns", "ns"), "");
    assert_string_equal(sl_slice_name("ns", ""), "");
}

/* ---- random histories ---- */

#define JOBS 12

struct job {
    sl_wl_id id;
    char name[16], of[16];
    int32_t count, priority;
    bool gated;
};

struct history {
    struct fx x;
    struct sl_prng p;
    struct job jobs[JOBS];
    uint32_t serial;
    sl_time now;
    uint32_t replacements, shrinks, returned;
};

static uint32_t below(struct history *h, uint32_t n) {
    return (uint32_t)sl_prng_below(&h->p, n);
}

static void apply_job(struct history *h, struct job *j) {
    struct sl_workload_spec s = wl_spec(j->name, j->priority);
    s.replaces = j->of;
    s.preemption_gated = j->gated;
    s.created = h->now;
    s.queue = j->priority % 2 ? "l" : "k";
    j->id = wl_apply(&h->x, s, j->count, "gpu", UNITS(1));
}

static void new_job(struct history *h, struct job *j) {
    *j = (struct job){.count = 1 + (int32_t)below(h, 6),
                      .priority = (int32_t)below(h, 4),
                      .gated = below(h, 4) == 0};
    (void)snprintf(j->name, sizeof j->name, "w%u", h->serial++);
    const struct job *old = &h->jobs[below(h, JOBS)];
    if (old != j && old->id.v && below(h, 2) == 0) {
        memcpy(j->of, old->name, sizeof j->of);
        j->count = old->count + (int32_t)below(h, 4);
        j->priority = old->priority;
    }
    apply_job(h, j);
}

static struct job *job_of(struct history *h, sl_wl_id id) {
    for (uint32_t i = 0; i < JOBS; i++)
        if (h->jobs[i].id.v == id.v)
            return &h->jobs[i];
    return NULL;
}

static void forget_job(struct history *h, struct job *j) {
    apply_wl_fact(&h->x, SL_FACT_WORKLOAD_GONE, j->id);
    j->id = SL_WL_NONE;
}

static void one_thing(struct history *h) {
    struct job *j = &h->jobs[below(h, JOBS)];
    if (!j->id.v) {
        new_job(h, j);
        return;
    }
    switch (below(h, 6)) {
    case 0:
        forget_job(h, j);
        break;
    case 1:
        apply_wl_fact(&h->x, SL_FACT_FINISHED, j->id);
        forget_job(h, j);
        break;
    case 2:
        /* Not one that waits: if it took the place of a larger one and failed, that one would come
         * back to quota which others have by then. */
        if (j->count > 1 && phase(&h->x, j->id) == SL_PHASE_ADMITTED) {
            j->count--;
            h->shrinks++;
            apply_job(h, j);
        }
        break;
    case 3:
        j->gated = !j->gated;
        apply_job(h, j);
        break;
    default: {
        struct sl_engine_wl_view v;
        if (sl_engine_workload(h->x.e, j->id, &v) && v.evicting)
            apply_wl_fact(&h->x, SL_FACT_RELEASED, j->id);
        break;
    }
    }
}

/* The shell: a replaced slice is finished when the reservation is written, which may fail. */
static void perform(struct history *h) {
    for (uint32_t i = 0; i < h->x.out.v.n; i++) {
        struct sl_effect *f = &h->x.out.v.v[i];
        if (f->kind != SL_EFFECT_RESERVE || !f->reserve.replaced.v)
            continue;
        h->replacements++;
        struct job *old = job_of(h, f->reserve.replaced);
        assert_non_null(old);
        if (below(h, 3) == 0 && phase(&h->x, f->wl) == SL_PHASE_ADMITTED) {
            apply_wl_fact(&h->x, SL_FACT_ADMIT_FAILED, f->wl);
            h->returned++;
        } else {
            apply_wl_fact(&h->x, SL_FACT_FINISHED, old->id);
            forget_job(h, old);
        }
    }
}

static void check_history(struct history *h) {
    struct sl_verdict v;
    if (sl_engine_check(h->x.e, &h->x.err) < 0)
        fail_msg("%s", h->x.err.text);
    sl_amount used = cell(&h->x, "q", "f", "gpu").usage + cell(&h->x, "r", "f", "gpu").usage;
    assert_true(used <= 16);
    sl_verdict_init(&v);
    for (uint32_t i = 0; i < JOBS; i++) {
        if (!h->jobs[i].id.v)
            continue;
        assert_int_equal(sl_engine_explain(h->x.e, h->now, h->jobs[i].id, &v, &h->x.err), SL_OK);
        assert_true(v.text && *v.text);
    }
    sl_verdict_done(&v);
}

static uint64_t history(uint64_t seed, struct history *h) {
    struct simple s;
    uint64_t digest = seed;
    *h = (struct history){.now = SL_SEC};
    sl_prng_init(&h->p, seed);
    start_engine(&h->x, NULL);
    struct sl_config c = sl_config_default;
    c.fair_sharing = seed % 3 == 0;
    config(&h->x, c);
    flavor(&h->x, "f");
    struct sl_cq_spec q = cq_spec(&s, "q", "all", "f", "gpu", 8);
    q.reclaim = SL_RECLAIM_ANY;
    q.strategy = seed % 2 ? SL_STRICT_FIFO : SL_BEST_EFFORT_FIFO;
    cq_apply(&h->x, q);
    q.name = "r";
    q.borrow_within = SL_BORROW_LOWER;
    cq_apply(&h->x, q);
    lq(&h->x, "l", "q");
    lq(&h->x, "k", "r");
    for (uint32_t i = 0; i < 80; i++) {
        for (uint32_t n = below(h, 4); n > 0; n--)
            one_thing(h);
        h->now += SL_SEC;
        digest = digest * 31 + cycle(&h->x, h->now);
        check_history(h);
        perform(h);
        check_history(h);
    }
    stop_engine(&h->x);
    return digest;
}

static void test_histories(void **state) {
    (void)state;
    uint32_t replacements = 0, shrinks = 0, returned = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct history h;
        uint64_t first = history(seed, &h);
        replacements += h.replacements;
        shrinks += h.shrinks;
        returned += h.returned;
        assert_int_equal(history(seed, &h), first);
    }
    assert_true(replacements > 500 && shrinks > 500 && returned > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_written), cmocka_unit_test(test_deleted),
        cmocka_unit_test(test_released),    cmocka_unit_test(test_unreserved),
        cmocka_unit_test(test_chain),       cmocka_unit_test(test_column_gone),
        cmocka_unit_test(test_readiness),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
