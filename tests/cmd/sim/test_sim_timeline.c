/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline and the numbers of pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cmd/sim/meter/timeline.h"
#include "cmd/sim/picture/picture.h"

static void near(double a, double b) {
    if (!(a - b < 1e-6 && b - a < 1e-6))
        fail_msg("%f is not %f", a, b);
}

static void means_over_buckets(void **state) {
    (void)state;
    struct sl_timeline t;
    sl_timeline_init(&t, 5 * SL_SEC);
    sl_timeline_set(&t, 0, 5 * SL_SEC, 10, 0, 3);
    sl_timeline_set(&t, 0, 5 * SL_SEC + 15 * SL_MSEC, 20, 4, 1); /* in the middle of bucket 1 */
    sl_timeline_end(&t, 5 * SL_SEC + 30 * SL_MSEC);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.width, 10 * SL_MSEC);
    near(t.rows.v[0].v[0].used, 10);
    near(t.rows.v[0].v[1].used, 15);
    near(t.rows.v[0].v[1].borrowed, 2);
    near(t.rows.v[0].v[2].used, 20);
    near(t.rows.v[0].v[2].pending, 1);
    sl_timeline_done(&t);
}

/* However long the run, the buckets are few and nothing is lost from the sum. */
static void widens(void **state) {
    (void)state;
    struct sl_timeline t;
    sl_timeline_init(&t, 0);
    const int n = 3000;
    for (int i = 0; i < n; i++) {
        sl_timeline_set(&t, 0, i * SL_SEC, i % 7, 0, 1);
        sl_timeline_set(&t, 1, i * SL_SEC, 1, 0, 0);
    }
    sl_timeline_end(&t, n * SL_SEC);
    assert_true(t.n <= SL_TIMELINE_BUCKETS && t.n >= SL_TIMELINE_BUCKETS / 2);
    double sum = 0, expected = 0;
    for (uint32_t i = 0; i < t.n; i++) {
        sl_time from = (sl_time)i * t.width, to = from + t.width < t.end ? from + t.width : t.end;
        sum += t.rows.v[0].v[i].used * (double)(to - from) / (double)SL_SEC;
        near(t.rows.v[1].v[i].used, 1);
    }
    for (int i = 0; i < n; i++)
        expected += i % 7;
    near(sum, expected);
    sl_timeline_done(&t);
}

static void rows_have_a_ceiling(void **state) {
    (void)state;
    struct sl_timeline t;
    sl_timeline_init(&t, 0);
    sl_timeline_set(&t, SL_TIMELINE_MAX_ROWS + 5, 0, 1, 0, 0);
    assert_int_equal(t.rows.n, SL_TIMELINE_MAX_ROWS);
    sl_timeline_end(&t, 0); /* a run without any length */
    assert_int_equal(t.n, 0);
    sl_timeline_done(&t);
}

static void numbers_for_pictures(void **state) {
    (void)state;
    char t[32];
    assert_string_equal(sl_picture_number(0, t), "0");
    assert_string_equal(sl_picture_number(2.5, t), "2.5");
    assert_string_equal(sl_picture_number(3, t), "3");
    assert_string_equal(sl_picture_number(20, t), "20");
    assert_string_equal(sl_picture_number(12.34, t), "12.3");
    assert_string_equal(sl_picture_number(600, t), "600");
    near(sl_picture_step(76.8, 10), 10);
    near(sl_picture_step(4.1, 10), 0.5);
    near(sl_picture_step(100, 10), 10);
    near(sl_picture_step(0.0301, 10), 0.005);
    near(sl_picture_step(86400, 10), 10000);
    near(sl_picture_step(0, 10), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_over_buckets),
        cmocka_unit_test(widens),
        cmocka_unit_test(rows_have_a_ceiling),
        cmocka_unit_test(numbers_for_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
