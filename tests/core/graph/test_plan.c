/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner by its rules, each case small enough to do by hand. prop_plan.c compares it with a
 * naive one on random histories.
 */
#include "core/graph/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define NEVER SL_PLAN_NEVER

static uint32_t add(struct sl_plan *p, int64_t at, int64_t length, int64_t amount) {
    struct sl_err err;
    uint32_t span;

    assert_int_equal(sl_plan_add(p, at, length, amount, &span, &err), 0);
    return span;
}

/* Rule 1: the state at a time is that of the greatest point at or before it. */
static void test_3_4_1_state(void **state) {
    struct sl_plan *p = sl_plan_new(0, 100, 10);

    (void)state;
    assert_int_equal(sl_plan_total(p), 10);
    assert_int_equal(sl_plan_points(p), 0);
    assert_int_equal(sl_plan_free_at(p, 0), 10);
    assert_int_equal(sl_plan_free_at(p, 99), 10);
    (void)add(p, 10, 20, 4);
    (void)add(p, 20, 20, 3);
    static const int64_t want[][2] = {{0, 10}, {9, 10}, {10, 6}, {19, 6},  {20, 3},
                                      {29, 3}, {30, 7}, {39, 7}, {40, 10}, {99, 10}};
    for (size_t i = 0; i < SL_LEN(want); i++)
        assert_int_equal(sl_plan_free_at(p, want[i][0]), want[i][1]);
    assert_int_equal(sl_plan_points(p), 4);
    assert_true(sl_plan_free_at(p, -1) == INT64_MIN);
    assert_true(sl_plan_free_at(p, 100) == INT64_MIN);
    sl_plan_free(p);
}

/* Rule 2: a span takes from [t, t + d); removing is the inverse, and points that no one needs go.
 */
static void test_3_4_2_add_and_remove(void **state) {
    struct sl_plan *p = sl_plan_new(0, 100, 10);
    struct sl_err err;
    uint32_t span;

    (void)state;
    uint32_t a = add(p, 10, 10, 10), b = add(p, 20, 10, 10), c = add(p, 0, 10, 1);
    assert_int_equal(sl_plan_spans(p), 3);
    assert_int_equal(sl_plan_points(p), 3); /* 0, 10, 30: at 20 nothing changes */
    assert_int_equal(sl_plan_add(p, 19, 1, 1, &span, &err), SL_ELIMIT);
    assert_string_equal(err.text, "1 wanted, 0 free");
    assert_int_equal(sl_plan_spans(p), 3);
    assert_true(sl_plan_remove(p, a));
    assert_false(sl_plan_remove(p, a));
    assert_false(sl_plan_remove(p, 1000));
    assert_int_equal(sl_plan_free_during(p, 10, 10), 10);
    (void)add(p, 19, 1, 10);
    assert_true(sl_plan_remove(p, b));
    assert_true(sl_plan_remove(p, c));
    assert_int_equal(sl_plan_free_at(p, 19), 0);
    assert_int_equal(sl_plan_free_at(p, 20), 10);
    assert_int_equal(sl_plan_points(p), 2);
    sl_plan_free(p);
}

static void test_3_4_2_what_is_no_span(void **state) {
    static const struct {
        int64_t at, length, amount;
    } bad[] = {{-1, 5, 1},        {100, 1, 1}, {90, 11, 1},
               {0, 0, 1},         {0, -1, 1},  {50, INT64_MAX, 1},
               {INT64_MIN, 1, 1}, {0, 1, -1},  {INT64_MAX, INT64_MAX, 0}};
    struct sl_plan *p = sl_plan_new(0, 100, 10);
    struct sl_err err;
    uint32_t span = 77;

    (void)state;
    for (size_t i = 0; i < SL_LEN(bad); i++) {
        assert_int_equal(sl_plan_add(p, bad[i].at, bad[i].length, bad[i].amount, &span, &err),
                         SL_EINVAL);
        assert_int_equal(sl_plan_force(p, bad[i].at, bad[i].length, bad[i].amount, &span, &err),
                         SL_EINVAL);
    }
    assert_int_equal(sl_plan_add(p, 0, 100, 11, &span, &err), SL_ELIMIT);
    assert_int_equal(span, 77);
    assert_int_equal(sl_plan_spans(p), 0);
    (void)add(p, 0, 100, 10); /* to the very end */
    assert_int_equal(sl_plan_points(p), 1);
    (void)add(p, 5, 10, 0);
    assert_int_equal(sl_plan_points(p), 1);
    sl_plan_free(p);
}

static void test_3_4_2_reduce(void **state) {
    struct sl_plan *p = sl_plan_new(0, 100, 10);
    uint32_t a = add(p, 10, 10, 8);

    (void)state;
    assert_true(sl_plan_reduce(p, a, 3));
    assert_int_equal(sl_plan_free_at(p, 10), 5);
    assert_false(sl_plan_reduce(p, a, 6));
    assert_false(sl_plan_reduce(p, a, -1));
    assert_true(sl_plan_reduce(p, a, 0));
    assert_int_equal(sl_plan_free_at(p, 10), 5);
    assert_true(sl_plan_reduce(p, a, 5));
    assert_false(sl_plan_reduce(p, a, 0));
    assert_int_equal(sl_plan_spans(p), 0);
    assert_int_equal(sl_plan_points(p), 0);
    sl_plan_free(p);
}

static void test_3_4_2_by_force(void **state) {
    struct sl_plan *p = sl_plan_new(0, 100, 10);
    struct sl_err err;
    uint32_t a, b;

    (void)state;
    (void)add(p, 10, 10, 8);
    assert_int_equal(sl_plan_force(p, 15, 10, 8, &a, &err), 0);
    assert_int_equal(sl_plan_free_during(p, 0, 100), -6);
    assert_int_equal(sl_plan_force(p, 0, 100, SL_PLAN_MAX_AMOUNT - 16, &b, &err), 0);
    assert_int_equal(sl_plan_force(p, 0, 16, 1, &a, &err), SL_ELIMIT);
    assert_int_equal(sl_plan_force(p, 0, 15, 9, &a, &err), SL_ELIMIT);
    assert_int_equal(sl_plan_force(p, 0, 15, 8, &a, &err), 0);
    assert_true(sl_plan_remove(p, b));
    assert_int_equal(sl_plan_free_at(p, 0), 2);
    assert_int_equal(sl_plan_free_at(p, 10), -6);
    sl_plan_free(p);
}

/* Rule 3: what is free in a window is the least of its moments; beyond the end is no window. */
static void test_3_4_3_during(void **state) {
    static const struct {
        int64_t at, length, want;
    } t[] = {{0, 10, 10},
             {0, 11, 6},
             {10, 10, 6},
             {10, 11, 2},
             {0, 100, 2},
             {25, 5, 2},
             {30, 10, 6},
             {39, 1, 6},
             {40, 60, 10},
             {40, 61, INT64_MIN},
             {5, 0, INT64_MIN},
             {-1, 3, INT64_MIN},
             {60, INT64_MAX, INT64_MIN}};
    struct sl_plan *p = sl_plan_new(0, 100, 10);

    (void)state;
    (void)add(p, 10, 30, 4);
    (void)add(p, 20, 10, 4);
    for (size_t i = 0; i < SL_LEN(t); i++)
        assert_true(sl_plan_free_during(p, t[i].at, t[i].length) == t[i].want);
    sl_plan_free(p);
}

/* Rule 4: the earliest time is 'from' or a point at which something was given back. */
static void test_3_4_4_earliest(void **state) {
    static const struct {
        int64_t from, length, amount, want;
    } t[] = {{0, 10, 10, 0},    {0, 11, 10, 40},          {1, 10, 10, 40},
             {0, 20, 6, 0},     {0, 21, 6, 30},           {5, 15, 6, 5},
             {5, 16, 6, 30},    {15, 5, 6, 15},           {16, 5, 6, 30},
             {25, 1, 3, 30},    {25, 75, 2, 25},          {25, 76, 2, NEVER},
             {0, 60, 10, 40},   {0, 61, 10, NEVER},       {0, 1, 11, NEVER},
             {-50, 10, 10, 0},  {99, 1, 10, 99},          {100, 1, 1, NEVER},
             {0, 0, 1, NEVER},  {0, 100, 0, 0},           {0, 101, 0, NEVER},
             {0, 1, -1, NEVER}, {0, INT64_MAX, 1, NEVER}, {INT64_MAX, INT64_MAX, 1, NEVER}};
    struct sl_plan *p = sl_plan_new(0, 100, 10);

    (void)state;
    (void)add(p, 10, 30, 4);
    (void)add(p, 20, 10, 4);
    for (size_t i = 0; i < SL_LEN(t); i++)
        assert_true(sl_plan_earliest(p, t[i].from, t[i].length, t[i].amount) == t[i].want);
    sl_plan_free(p);
}

/* A long row of gaps that are all a second too short. */
static void test_3_4_4_many_gaps(void **state) {
    struct sl_plan *p = sl_plan_new(0, INT64_MAX, 1);

    (void)state;
    for (int64_t i = 0; i < 10000; i++)
        (void)add(p, 10 * i, 6, 1);
    assert_int_equal(sl_plan_points(p), 20000);
    assert_int_equal(sl_plan_earliest(p, 0, 4, 1), 6);
    assert_int_equal(sl_plan_earliest(p, 6, 4, 1), 6);
    assert_int_equal(sl_plan_earliest(p, 7, 4, 1), 16);
    assert_int_equal(sl_plan_earliest(p, 0, 5, 1), 99996);
    assert_true(sl_plan_earliest(p, 0, INT64_MAX - 99996, 1) == 99996);
    assert_true(sl_plan_earliest(p, 0, INT64_MAX - 99995, 1) == NEVER);
    sl_plan_free(p);
}

/* Time without end, as vertices have it, and times before 0. */
static void test_far_ends_of_time(void **state) {
    struct sl_plan *p = sl_plan_new(INT64_MIN, INT64_MAX, SL_PLAN_MAX_AMOUNT);

    (void)state;
    uint32_t a = add(p, -5, INT64_MAX, SL_PLAN_MAX_AMOUNT);
    assert_int_equal(sl_plan_free_at(p, INT64_MAX - 6), 0);
    assert_true(sl_plan_free_at(p, INT64_MAX - 5) == SL_PLAN_MAX_AMOUNT);
    assert_true(sl_plan_earliest(p, INT64_MIN, INT64_MAX - 4, 1) == INT64_MIN);
    assert_true(sl_plan_earliest(p, -6, 2, 1) == INT64_MAX - 5);
    assert_true(sl_plan_earliest(p, -6, 5, 1) == INT64_MAX - 5);
    assert_true(sl_plan_earliest(p, -6, 6, 1) == NEVER);
    (void)add(p, INT64_MIN, INT64_MAX - 4, SL_PLAN_MAX_AMOUNT);
    assert_true(sl_plan_remove(p, a));
    assert_int_equal(sl_plan_points(p), 2);
    sl_plan_free(p);
}

static void test_total_changes(void **state) {
    struct sl_plan *p = sl_plan_new(0, 100, 10);
    struct sl_err err;
    uint32_t span;

    (void)state;
    (void)add(p, 10, 10, 8);
    sl_plan_set_total(p, 5);
    assert_int_equal(sl_plan_free_at(p, 10), -3);
    assert_int_equal(sl_plan_free_during(p, 0, 50), -3);
    assert_int_equal(sl_plan_earliest(p, 5, 6, 1), 20);
    assert_true(sl_plan_earliest(p, 0, 1, 6) == NEVER);
    assert_int_equal(sl_plan_add(p, 10, 1, 1, &span, &err), SL_ELIMIT);
    assert_int_equal(sl_plan_earliest(p, 5, 6, 0), 5); /* nothing is always there */
    assert_int_equal(sl_plan_add(p, 10, 1, 0, &span, &err), 0);
    sl_plan_set_total(p, 20);
    assert_int_equal(sl_plan_free_at(p, 10), 12);
    sl_plan_free(p);
}

static void test_clone_stands_alone(void **state) {
    struct sl_plan *p = sl_plan_new(0, 100, 10);
    uint32_t a = add(p, 10, 10, 4), b = add(p, 20, 10, 4);

    (void)state;
    assert_true(sl_plan_remove(p, a));
    struct sl_plan *c = sl_plan_clone(p);
    for (int64_t i = 0; i < 20; i++)
        (void)add(c, i, 1, 1);
    assert_true(sl_plan_remove(c, b));
    assert_int_equal(sl_plan_free_at(p, 5), 10);
    assert_int_equal(sl_plan_free_at(p, 25), 6);
    assert_int_equal(sl_plan_free_at(c, 5), 9);
    assert_int_equal(sl_plan_free_at(c, 25), 10);
    assert_int_equal(sl_plan_spans(p), 1);
    assert_true(sl_plan_bytes(c) > sl_plan_bytes(p));
    sl_plan_free(p);
    assert_int_equal(sl_plan_free_at(c, 19), 9);
    sl_plan_free(c);
    sl_plan_free(NULL);
}

/* ---- several resources ---- */

static uint32_t add3(struct sl_plans *p, int64_t at, int64_t length, int64_t a, int64_t b,
                     int64_t c) {
    struct sl_err err;
    uint32_t span;

    assert_int_equal(sl_plans_add(p, at, length, (int64_t[]){a, b, c}, &span, &err), 0);
    return span;
}

static int64_t earliest3(struct sl_plans *p, int64_t from, int64_t length, int64_t a, int64_t b,
                         int64_t c) {
    return sl_plans_earliest(p, from, length, (int64_t[]){a, b, c});
}

/* Rule 5: the earliest time is one at which all have enough, whoever stands first. */
static void test_3_4_5_multi_earliest(void **state) {
    struct sl_plans *p = sl_plans_new(0, 100, (int64_t[]){10, 5, 1}, 3);

    (void)state;
    assert_int_equal(sl_plans_count(p), 3);
    (void)add3(p, 0, 10, 10, 0, 0);
    (void)add3(p, 10, 10, 0, 5, 0);
    (void)add3(p, 20, 10, 0, 0, 1);
    (void)add3(p, 31, 1, 10, 5, 1);
    assert_int_equal(earliest3(p, 0, 1, 1, 1, 1), 30);
    assert_int_equal(earliest3(p, 0, 2, 1, 1, 1), 32);
    assert_int_equal(earliest3(p, 0, 2, 1, 1, 0), 20);
    assert_int_equal(earliest3(p, 0, 1, 0, 1, 1), 0);
    assert_int_equal(earliest3(p, 0, 10, 0, 1, 1), 0);
    assert_int_equal(earliest3(p, 0, 11, 0, 1, 1), 32);
    assert_int_equal(earliest3(p, 5, 11, 0, 0, 0), 5);
    assert_true(earliest3(p, 0, 1, 11, 0, 0) == NEVER);
    assert_true(earliest3(p, 0, 69, 1, 0, 0) == NEVER);
    assert_true(sl_plans_fit(p, 30, 1, (int64_t[]){10, 5, 1}));
    assert_false(sl_plans_fit(p, 30, 2, (int64_t[]){10, 5, 1}));
    assert_false(sl_plans_fit(p, 100, 1, (int64_t[]){0, 0, 0}));
    sl_plans_free(p);
}

static void test_3_4_5_multi_all_or_nothing(void **state) {
    struct sl_plans *p = sl_plans_new(0, 100, (int64_t[]){10, 5, 1}, 3);
    struct sl_err err;
    uint32_t span;

    (void)state;
    uint32_t a = add3(p, 0, 10, 4, 0, 1), b = add3(p, 0, 10, 4, 5, 0);
    assert_int_equal(sl_plans_add(p, 5, 10, (int64_t[]){2, 0, 1}, &span, &err), SL_ELIMIT);
    assert_string_equal(err.text, "resource 2: 1 wanted, 0 free");
    assert_int_equal(sl_plans_add(p, 5, 10, (int64_t[]){2, 0, -1}, &span, &err), SL_EINVAL);
    assert_int_equal(sl_plan_free_at(sl_plans_get(p, 0), 5), 2);
    assert_false(sl_plans_reduce(p, a, (int64_t[]){3, 1, 1}));
    assert_int_equal(sl_plan_free_at(sl_plans_get(p, 0), 5), 2);
    assert_true(sl_plans_reduce(p, a, (int64_t[]){4, 0, 0}));
    assert_int_equal(sl_plan_free_at(sl_plans_get(p, 0), 5), 6);
    assert_int_equal(sl_plan_free_at(sl_plans_get(p, 2), 5), 0);
    assert_true(sl_plans_reduce(p, a, (int64_t[]){0, 0, 1}));
    assert_false(sl_plans_remove(p, a));
    assert_true(sl_plans_remove(p, b));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sl_plan_spans(sl_plans_get(p, i)), 0);
        assert_int_equal(sl_plan_points(sl_plans_get(p, i)), 0);
    }
    sl_plans_free(p);
}

/* Rule 5: totals and types change in place. */
static void test_3_4_5_multi_grow(void **state) {
    struct sl_plans *p = sl_plans_new(0, 100, (int64_t[]){10, 5}, 2);
    struct sl_err err;
    uint32_t a, b, c;

    (void)state;
    assert_int_equal(sl_plans_add(p, 0, 10, (int64_t[]){4, 5}, &a, &err), 0);
    assert_int_equal(sl_plans_add(p, 0, 10, (int64_t[]){4, 0}, &b, &err), 0);
    assert_true(sl_plans_remove(p, a)); /* a number that the new one must not use otherwise */
    sl_plans_grow(p, 7);
    sl_plans_set_total(p, 0, 20);
    assert_int_equal(sl_plans_count(p), 3);
    c = add3(p, 0, 10, 16, 5, 7);
    assert_true(sl_plans_remove(p, b));
    assert_int_equal(sl_plan_free_at(sl_plans_get(p, 0), 0), 4);
    struct sl_plans *q = sl_plans_clone(p);
    assert_true(sl_plans_remove(p, c));
    assert_int_equal(sl_plan_free_at(sl_plans_get(p, 2), 0), 7);
    assert_int_equal(sl_plan_free_at(sl_plans_get(q, 2), 0), 0);
    assert_int_equal(earliest3(q, 0, 5, 0, 0, 1), 10);
    sl_plans_free(p);
    assert_true(sl_plans_remove(q, c));
    sl_plans_free(q);
    sl_plans_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_3_4_1_state),
        cmocka_unit_test(test_3_4_2_add_and_remove),
        cmocka_unit_test(test_3_4_2_what_is_no_span),
        cmocka_unit_test(test_3_4_2_reduce),
        cmocka_unit_test(test_3_4_2_by_force),
        cmocka_unit_test(test_3_4_3_during),
        cmocka_unit_test(test_3_4_4_earliest),
        cmocka_unit_test(test_3_4_4_many_gaps),
        cmocka_unit_test(test_far_ends_of_time),
        cmocka_unit_test(test_total_changes),
        cmocka_unit_test(test_clone_stands_alone),
        cmocka_unit_test(test_3_4_5_multi_earliest),
        cmocka_unit_test(test_3_4_5_multi_all_or_nothing),
        cmocka_unit_test(test_3_4_5_multi_grow),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
