/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths of time in and out of words, with Go's answers as the table; and points in time.
 */
#include "core/base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/prng.h"
#include "core/base/stamp.h"

static void test_parse(void **state) {
    static const struct {
        const char *text;
        sl_span want;
    } t[] = {
        {"0", 0},
        {"+0", 0},
        {"-0", 0},
        {"0s", 0},
        {"5s", 5 * SL_SEC},
        {"+5s", 5 * SL_SEC},
        {"-5s", -5 * SL_SEC},
        {"1478s", 1478 * SL_SEC},
        {"250ms", 250 * SL_MSEC},
        {"1.5s", 1500 * SL_MSEC},
        {"5.s", 5 * SL_SEC},
        {".5s", 500 * SL_MSEC},
        {"5m", 5 * SL_MINUTE},
        {"1h30m", 90 * SL_MINUTE},
        {"1.5h", 90 * SL_MINUTE},
        {"3h30m", 210 * SL_MINUTE},
        {"10.5s4m", 4 * SL_MINUTE + 10500 * SL_MSEC},
        {"-2m3.4s", -(2 * SL_MINUTE + 3400 * SL_MSEC)},
        {"1h2m3s4ms5us6ns", SL_HOUR + 2 * SL_MINUTE + 3 * SL_SEC + 4 * SL_MSEC + 5 * SL_USEC + 6},
        {"39h9m14.425s", 39 * SL_HOUR + 9 * SL_MINUTE + 14425 * SL_MSEC},
        {"10ns", 10},
        {"11us", 11 * SL_USEC},
        {"12\xc2\xb5s", 12 * SL_USEC},
        {"12\xce\xbcs", 12 * SL_USEC},
        {"0.3333333333333333333h", 20 * SL_MINUTE - 1},
        {"0.100000000000000000000h", 6 * SL_MINUTE},
        {"0.9ns", 0},
        {"9007199254.740993s", INT64_C(9007199254740993000)},
        {"9223372036854775807ns", INT64_MAX},
        {"9223372036854775.807us", INT64_MAX},
        {"9223372036s854ms775us807ns", INT64_MAX},
        {"-9223372036854775808ns", INT64_MIN},
        {"-9223372036854775.808us", INT64_MIN},
        {"2562047h47m16.854775807s", INT64_MAX},
        {"0000000000000000000000000000001s", SL_SEC},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        sl_span d = 12345;
        struct sl_err err = {0};
        int r = sl_span_parse(t[i].text, strlen(t[i].text), &d, &err);
        if (r != 0 || d != t[i].want)
            fail_msg("\"%s\" gave %d, %lld, %s", t[i].text, r, (long long)d, err.text);
    }
}

static void test_parse_refuses(void **state) {
    static const char *const t[] = {
        "",     "3",  "-",      "+",   "s",   ".",    "-.",     ".s",    "+.s",
        "1d",   "1x", " 1s",    "1s ", "1 s", "--1s", "1s-",    "1e3s",  "1.1.s",
        "\x85", "1S", "1\xb5s", "1ss", "00",  "0x1s", "-1h-1m", "1h 1m",
    };
    static const char *const too_long[] = {
        "9223372036854775808ns",
        "9223372036854775.808us",
        "9223372036854ms775us808ns",
        "-9223372036854775809ns",
        "3000000h",
        "99999999999999999999999999999999ns",
        "9223372036854775807ns1ns",
        "-9223372036854775808ns9223372036854775808ns",
        "18446744073709551617s",
    };
    struct sl_err err;
    sl_span d = 12345;

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        if (sl_span_parse(t[i], strlen(t[i]), &d, &err) != SL_EINVAL)
            fail_msg("\"%s\" was accepted", t[i]);
        assert_int_equal(d, 12345);
        assert_non_null(strstr(err.text, "expected numbers with units"));
    }
    for (size_t i = 0; i < SL_LEN(too_long); i++) {
        if (sl_span_parse(too_long[i], strlen(too_long[i]), &d, &err) != SL_EINVAL)
            fail_msg("\"%s\" was accepted", too_long[i]);
        assert_int_equal(d, 12345);
        assert_non_null(strstr(err.text, "too long"));
        assert_int_equal(sl_span_parse(too_long[i], strlen(too_long[i]), &d, NULL), SL_EINVAL);
    }
}

static void test_format(void **state) {
    static const struct {
        sl_span d;
        const char *want;
    } t[] = {
        {0, "0s"},
        {1, "1ns"},
        {1100, "1.1\xc2\xb5s"},
        {2200000, "2.2ms"},
        {250 * SL_MSEC, "250ms"},
        {3300 * SL_MSEC, "3.3s"},
        {90 * SL_SEC, "1m30s"},
        {5 * SL_MINUTE, "5m0s"},
        {4 * SL_MINUTE + 5 * SL_SEC + SL_MSEC, "4m5.001s"},
        {SL_HOUR, "1h0m0s"},
        {5 * SL_HOUR + 6 * SL_MINUTE + 7001 * SL_MSEC, "5h6m7.001s"},
        {8 * SL_MINUTE + 1, "8m0.000000001s"},
        {-90 * SL_SEC, "-1m30s"},
        {-1, "-1ns"},
        {INT64_MAX, "2562047h47m16.854775807s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        char out[SL_SPAN_TEXT];
        assert_ptr_equal(sl_span_format(t[i].d, out), out);
        assert_string_equal(out, t[i].want);
    }
}

static void test_round_trip(void **state) {
    struct sl_prng rng;

    (void)state;
    sl_prng_init(&rng, 3);
    for (int i = 0; i < 50000; i++) {
        char out[SL_SPAN_TEXT];
        sl_span d = (int64_t)sl_prng_next(&rng) >> sl_prng_below(&rng, 64), back;
        (void)sl_span_format(d, out);
        assert_int_equal(sl_span_parse(out, strlen(out), &back, NULL), 0);
        assert_int_equal(back, d);
    }
}

static void test_add(void **state) {
    (void)state;
    assert_int_equal(sl_time_add(5, -7), -2);
    assert_int_equal(sl_time_add(SL_TIME_NEVER, 1), SL_TIME_NEVER);
    assert_int_equal(sl_time_add(INT64_MIN, -1), INT64_MIN);
}

static void test_stamps(void **state) {
    static const struct {
        const char *text;
        sl_time want;
        const char *back; /* NULL: the text itself */
    } t[] = {
        {"1970-01-01T00:00:00Z", 0, NULL},
        {"2026-01-31T12:00:00Z", INT64_C(1769860800) * SL_SEC, NULL},
        {"2024-02-29T23:59:59Z", INT64_C(1709251199) * SL_SEC, NULL},
        {"1969-12-31T23:59:59Z", -SL_SEC, NULL},
        {"2026-01-31T13:00:00+01:00", INT64_C(1769860800) * SL_SEC, "2026-01-31T12:00:00Z"},
        {"2026-01-31t06:30:00-05:30", INT64_C(1769860800) * SL_SEC, "2026-01-31T12:00:00Z"},
        {"1970-01-01T00:00:00.000001z", SL_USEC, "1970-01-01T00:00:00Z"},
        {"1970-01-01T00:00:00.1234567891Z", 123456789, "1970-01-01T00:00:00Z"},
    };
    static const char *const none[] = {"",
                                       "2026-01-31",
                                       "2026-01-31 12:00:00Z",
                                       "2026-01-31T12:00:00",
                                       "2026-01-31T12:00Z",
                                       "2026-13-01T00:00:00Z",
                                       "2026-01-31T24:00:00Z",
                                       "2026-01-31T12:00:00+0100",
                                       "2026-01-31T12:00:00Zulu",
                                       "0001-01-01T00:00:00Z",
                                       "2262-12-31T00:00:00Z"};
    char out[SL_STAMP_TEXT];
    sl_time at;

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        assert_true(sl_stamp_parse(t[i].text, &at));
        assert_int_equal(at, t[i].want);
        assert_string_equal(sl_stamp(at, out), t[i].back ? t[i].back : t[i].text);
    }
    for (size_t i = 0; i < SL_LEN(none); i++)
        assert_false(sl_stamp_parse(none[i], &at));
    assert_string_equal(sl_stamp_micro(-SL_USEC, out), "1969-12-31T23:59:59.999999Z");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),  cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_format), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_add),    cmocka_unit_test(test_stamps),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
