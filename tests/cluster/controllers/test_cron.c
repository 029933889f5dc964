/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules and time zones, by tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/controllers/job/cron.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

static sl_time time_of(const char *text) {
    char doc[100];
    (void)snprintf(doc, sizeof doc, "{\"t\":\"%s\"}", text);
    yyjson_doc *d = yyjson_read(doc, strlen(doc), 0);
    sl_time t = sl_json_time(yyjson_doc_get_root(d), "t");
    yyjson_doc_free(d);
    assert_true(t != 0);
    return t;
}

static const char *text_of(sl_time t, char out[40]) {
    char stamp[SL_STAMP_TEXT];
    (void)snprintf(out, 40, "%.20s", t ? sl_stamp(t, stamp) : "never");
    return out;
}

static void next_times(void **state) {
    static const struct {
        const char *schedule, *zone, *from, *next;
    } cases[] = {
        {"* * * * *", "", "2026-01-31T12:00:00Z", "2026-01-31T12:01:00Z"},
        {"* * * * *", "", "2026-01-31T12:00:59Z", "2026-01-31T12:01:00Z"},
        {"*/15 * * * *", "", "2026-01-31T12:46:00Z", "2026-01-31T13:00:00Z"},
        {"5/20 * * * *", "", "2026-01-31T12:46:00Z", "2026-01-31T13:05:00Z"},
        {"0 0 * * *", "", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"},
        {"30 6-16/4 * * 1-5", "", "2026-01-30T14:31:00Z", "2026-02-02T06:30:00Z"},
        {"0 12 29 2 *", "", "2026-03-01T00:00:00Z", "2028-02-29T12:00:00Z"},
        {"0 0 31 * *", "", "2026-04-01T00:00:00Z", "2026-05-31T00:00:00Z"},
        {"0 0 30 2 *", "", "2026-04-01T00:00:00Z", "never"},
        {"0 0 1,15 JAN,jul Mon", "", "2026-01-16T00:00:00Z", "2026-01-19T00:00:00Z"},
        {"0 0 1,15 * *", "", "2026-01-16T00:00:00Z", "2026-02-01T00:00:00Z"},
        {"0 0 */2 * 1", "", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"},
        {"0 0 ? * sun", "", "2026-01-16T00:00:00Z", "2026-01-18T00:00:00Z"},
        {"1,,31, * *-7 * *", "", "2026-01-16T00:00:00Z", "2026-01-16T00:01:00Z"},
        {"+5 * * * *", "", "2026-01-16T00:00:00Z", "2026-01-16T00:05:00Z"},
        {"7/4294967295 * * * *", "", "2026-01-16T00:08:00Z", "2026-01-16T01:07:00Z"},
        {"@hourly", "", "2026-01-16T00:00:00Z", "2026-01-16T01:00:00Z"},
        {"@daily", "", "2026-01-16T00:00:00Z", "2026-01-17T00:00:00Z"},
        {"@weekly", "", "2026-01-16T00:00:00Z", "2026-01-18T00:00:00Z"},
        {"@monthly", "", "2026-01-16T00:00:00Z", "2026-02-01T00:00:00Z"},
        {"@yearly", "", "2026-01-16T00:00:00Z", "2027-01-01T00:00:00Z"},
        {"@every 90s", "", "2026-01-16T00:00:00Z", "2026-01-16T00:01:30Z"},
        /* zones, and the days on which their clocks are set */
        {"0 9 * * *", "America/New_York", "2026-01-16T00:00:00Z", "2026-01-16T14:00:00Z"},
        {"0 9 * * *", "America/New_York", "2026-07-16T00:00:00Z", "2026-07-16T13:00:00Z"},
        {"30 2 * * *", "America/New_York", "2026-03-08T05:00:00Z", "2026-03-09T06:30:00Z"},
        {"30 1 * * *", "America/New_York", "2026-11-01T04:00:00Z", "2026-11-01T05:30:00Z"},
        {"30 1 * * *", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"},
        {"30 1 * * *", "America/New_York", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
        {"0 0 * * *", "Europe/Berlin", "2050-07-01T12:00:00Z", "2050-07-01T22:00:00Z"},
        {"0 0 * * *", "Europe/Berlin", "2050-12-01T12:00:00Z", "2050-12-01T23:00:00Z"},
        {"0 0 * * *", "Asia/Kathmandu", "2026-01-16T00:00:00Z", "2026-01-16T18:15:00Z"},
        {"0 0 * * *", "Australia/Lord_Howe", "2026-07-16T00:00:00Z", "2026-07-16T13:30:00Z"},
        {"0 0 * * *", "Australia/Lord_Howe", "2040-01-16T00:00:00Z", "2040-01-16T13:00:00Z"},
    };
    char is[40];
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_cron c;
        struct sl_err err = {0};
        struct cl_cron_zone *z = cl_zone_load(cases[i].zone);
        assert_non_null(z);
        assert_int_equal(sl_cron_read(cases[i].schedule, &c, &err), 0);
        text_of(cl_cron_next(&c, z, time_of(cases[i].from)), is);
        if (strcmp(is, cases[i].next) != 0)
            fail_msg("%s in '%s' from %s: %s, not %s", cases[i].schedule, cases[i].zone,
                     cases[i].from, is, cases[i].next);
        cl_zone_free(z);
    }
}

/* The API server's error for each. */
static void bad_schedules(void **state) {
#define NO_INT(x) "failed to parse int from " x ": strconv.Atoi: parsing \"" x "\": invalid syntax"
    static const struct {
        const char *schedule, *words;
    } cases[] = {
        {"", "empty spec string"},
        {" ", "expected exactly 5 fields, found 0: []"},
        {"*  * *\t*", "expected exactly 5 fields, found 4: [* * * *]"},
        {"* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"},
        {" @hourly", "expected exactly 5 fields, found 1: [@hourly]"},
        {"60 * * * *", "end of range (60) above maximum (59): 60"},
        {"* 1,24 * * *", "end of range (24) above maximum (23): 24"},
        {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
        {"* * 1-32 * *", "end of range (32) above maximum (31): 1-32"},
        {"* * * 13 *", "end of range (13) above maximum (12): 13"},
        {"* * * * 7", "end of range (7) above maximum (6): 7"},
        {"5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"},
        {"*/0 * * * *", "step of range should be a positive number: */0"},
        {"a * * * *", NO_INT("a")},
        {"* * * foo *", NO_INT("foo")},
        {"* * * * mon/tue", NO_INT("tue")},
        {"*/ * * * *", NO_INT("")},
        {"1- * * * *", NO_INT("")},
        {"-1 * * * *", NO_INT("")},
        {"1.5 * * * *", NO_INT("1.5")},
        {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
        {"1/2/3 * * * *", "too many slashes: 1/2/3"},
        {"@fortnightly", "unrecognized descriptor: @fortnightly"},
        {"@every", "unrecognized descriptor: @every"},
        {"@every 5x", "failed to parse duration @every 5x: time: invalid duration \"5x\""},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_cron c;
        struct sl_err err = {0};
        if (sl_cron_read(cases[i].schedule, &c, &err) == 0)
            fail_msg("'%s' was taken", cases[i].schedule);
        assert_string_equal(err.text, cases[i].words);
    }
}

/* Whatever the schedule, the next time meets it and none before it does. */
static void none_is_skipped(void **state) {
    static const char *const schedules[] = {"7 * * * *", "*/10 3,4 * * *", "0 2 * * 0"};
    struct cl_cron_zone *z = cl_zone_load("America/New_York");
    (void)state;
    for (size_t i = 0; i < SL_LEN(schedules); i++) {
        struct sl_cron c;
        struct sl_err err;
        sl_time t = time_of("2026-03-01T00:00:00Z"), end = time_of("2026-03-20T00:00:00Z");
        uint32_t by_minutes = 0, by_steps = 0;
        assert_int_equal(sl_cron_read(schedules[i], &c, &err), 0);
        for (sl_time m = t; m < end; m += SL_MINUTE)
            by_minutes += cl_cron_next(&c, z, m) == m + SL_MINUTE;
        for (sl_time m = cl_cron_next(&c, z, t); m <= end; m = cl_cron_next(&c, z, m))
            by_steps++;
        assert_int_equal(by_minutes, by_steps);
        assert_true(by_steps > 0);
    }
    cl_zone_free(z);
}

static void bad_zones(void **state) {
    static const char *const names[] = {"Nowhere/Town", "../../../etc/passwd", "/etc/passwd",
                                        "Europe"};
    (void)state;
    for (size_t i = 0; i < SL_LEN(names); i++)
        assert_null(cl_zone_load(names[i]));
    assert_null(cl_zone_read("", 0));
    assert_null(cl_zone_read("TZif2", 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_times),
        cmocka_unit_test(bad_schedules),
        cmocka_unit_test(none_is_skipped),
        cmocka_unit_test(bad_zones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
