/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities in and out of words, against a table of the Kubernetes grammar, and amounts.
 */
#include "core/base/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/prng.h"

#define U(n) ((sl_quantity)(n)*SL_NANO)

static void test_parse(void **state) {
    static const struct {
        const char *text;
        sl_quantity want;
    } t[] = {
        {"0", 0},
        {"-0", 0},
        {"+0", 0},
        {"00", 0},
        {"0.000", 0},
        {"0Ki", 0},
        {"0e99999999999999999999", 0},
        {"0.0e-99999999999999999999", 0},
        {"1", U(1)},
        {"+1", U(1)},
        {"-1", -U(1)},
        {"007", U(7)},
        {"5.", U(5)},
        {".5", U(1) / 2},
        {"-.5", -U(1) / 2},
        {"5.G", U(5000000000)},
        {"1.5", U(3) / 2},
        {"0.1", U(1) / 10},
        {"1n", 1},
        {"1u", 1000},
        {"1m", 1000000},
        {"100m", U(1) / 10},
        {"1k", U(1000)},
        {"1M", U(1000000)},
        {"1G", U(1000000000)},
        {"1T", U(1000000000000)},
        {"1P", U(1000000000000000)},
        {"1E", U(1000000000000000000)},
        {"1Ki", U(1024)},
        {"1Mi", U(1) << 20},
        {"1Gi", U(1) << 30},
        {"1Ti", U(1) << 40},
        {"1Pi", U(1) << 50},
        {"1Ei", U(1) << 60},
        {"1.5Gi", U(3) << 29},
        {"0.5Ki", U(512)},
        {"-2Gi", -(U(2) << 30)},
        {"1e3", U(1000)},
        {"1E3", U(1000)},
        {"1e+3", U(1000)},
        {"1E-3", U(1) / 1000},
        {"1e0", U(1)},
        {"1e-0", U(1)},
        {"12.5e1", U(125)},
        {".5e1", U(5)},
        {"5.e1", U(50)},
        /* finer than a nano: away from zero */
        {"0.1n", 1},
        {"-0.1n", -1},
        {"1.0000000001", U(1) + 1},
        {"1.0000000000", U(1)},
        {"-1.0000000001", -U(1) - 1},
        {"0.0000000001Ki", 103}, /* 102.4 nano */
        {"1e-9", 1},
        {"1e-10", 1},
        {"1e-999999999999", 1},
        {"-1e-999999999999999999999999999999", -1},
        /* the cap */
        {"9223372036854775807", SL_QUANTITY_MAX},
        {"9223372036854775806", SL_QUANTITY_MAX - SL_NANO},
        {"9223372036854775806.999999999", SL_QUANTITY_MAX - 1},
        {"9223372036854775806.9999999991", SL_QUANTITY_MAX},
        {"9223372036854775808", SL_QUANTITY_MAX},
        {"-9223372036854775808", -SL_QUANTITY_MAX},
        {"8Ei", SL_QUANTITY_MAX},
        {"7Ei", U(7) << 60},
        {"10E", SL_QUANTITY_MAX},
        {"9.3E", SL_QUANTITY_MAX},
        {"1e999999999999", SL_QUANTITY_MAX},
        {"-1e99999999999999999999999999999999", -SL_QUANTITY_MAX},
        {"1234567890123456789012345678901234567890", SL_QUANTITY_MAX},
        {"1234567890123456789012345678901234567890e-39", 1234567891},
        {"1000000000000000000000000000000000000000e-39", U(1)},
        {"1000000000000000000000000000000000000001e-39", U(1) + 1},
        /* many digits */
        {"0000000000000000000000000000000000000000000000000000000000000001", U(1)},
        {"0.1000000000000000000000000000000000000000000000000000000000000", U(1) / 10},
        {"0.10000000000000000000000000000000000000000000000000000000000001", U(1) / 10 + 1},
        {"1.50000000000000000000000000000000000Gi", U(3) << 29},
        {"0.00000000000000000000000000086736173798840354720596224069595336914062Ei", 1},
        {"0.000976562500000000000000000000000000Ki", U(1)},
        {"0.000976562500000000000000000000000001Ki", U(1) + 1},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        sl_quantity q = 12345;
        struct sl_err err = {0};
        int r = sl_quantity_parse(t[i].text, strlen(t[i].text), &q, &err);
        if (r != 0 || q != t[i].want)
            fail_msg("\"%s\" gave %d, %lld units + %lld nano, %s", t[i].text, r,
                     (long long)(q / SL_NANO), (long long)(q % SL_NANO), err.text);
    }
}

static void test_parse_refuses(void **state) {
    static const char *const t[] = {
        "",      " ",     " 1",        "1 ",    "1 Gi", "0x10",   "+",     "-",   ".",
        "+.",    "--1",   "+-1",       "1.1.1", "1..",  "abc",    "Gi",    "m",   "1K",
        "1ki",   "1mi",   "1i",        "1Kib",  "1KiB", "1B",     "1e",    "1e+", "1e-",
        "1e1.5", "1Ee5",  "1ee5",      "1e5k",  "1mm",  "1E+",    "1Eii",  "1g",  "1t",
        "1p",    "1,000", "1_000",     "inf",   "NaN",  "1e5 ",   "\n1",   "1\n", "1Mi5",
        "1 m",   "1e 5",  "1\xc2\xb5", ".Ki",   "-.e5", "1.5.Gi", "1e--5",
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        sl_quantity q = 12345;
        struct sl_err err = {0};
        if (sl_quantity_parse(t[i], strlen(t[i]), &q, &err) != SL_EINVAL)
            fail_msg("\"%s\" was accepted", t[i]);
        assert_true(q == 12345); /* untouched */
        assert_int_equal(err.code, SL_EINVAL);
        assert_non_null(strstr(err.text, "expected a number with an optional suffix"));
        assert_int_equal(sl_quantity_parse(t[i], strlen(t[i]), &q, NULL), SL_EINVAL);
    }
    /* NUL is a byte like any other, and the length is the length. */
    sl_quantity q;
    struct sl_err err;
    assert_int_equal(sl_quantity_parse("1\0", 2, &q, &err), SL_EINVAL);
    assert_int_equal(sl_quantity_parse("1\0i", 3, &q, &err), SL_EINVAL);
    assert_int_equal(sl_quantity_parse("1Gi", 1, &q, &err), 0);
    assert_true(q == U(1));
    assert_int_equal(sl_quantity_parse("1 Gi", 4, &q, &err), SL_EINVAL);
    assert_string_equal(err.text,
                        "quantity \"1 Gi\": expected a number with an optional suffix such "
                        "as m, k, Mi, Gi or e3");
}

/* The short way and the wide way to the value must agree: zeros at the end force the wide one. */
static void test_wide_agrees(void **state) {
    static const char *const suffix[] = {"",   "n",  "u",  "m",   "k",    "M",   "G",  "T",
                                         "P",  "E",  "Ki", "Mi",  "Gi",   "Ti",  "Pi", "Ei",
                                         "e5", "e1", "E0", "e-4", "e-12", "e-30"};
    struct sl_prng rng;

    (void)state;
    sl_prng_init(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        uint64_t whole = sl_prng_next(&rng) >> sl_prng_range(&rng, 34, 63);
        uint64_t frac = sl_prng_below(&rng, 100000000);
        const char *s = suffix[sl_prng_below(&rng, SL_LEN(suffix))];
        char a[128], b[128];
        sl_quantity qa, qb;
        int na = snprintf(a, sizeof a, "%llu.%08llu%s", (unsigned long long)whole,
                          (unsigned long long)frac, s);
        int nb = snprintf(b, sizeof b, "%llu.%08llu00000000000000000000%s",
                          (unsigned long long)whole, (unsigned long long)frac, s);
        assert_int_equal(sl_quantity_parse(a, (size_t)na, &qa, NULL), 0);
        assert_int_equal(sl_quantity_parse(b, (size_t)nb, &qb, NULL), 0);
        if (qa != qb)
            fail_msg("%s and %s differ", a, b);
    }
}

static void test_long_texts(void **state) {
    enum { N = 100000 };
    char *s = malloc(N + 16);
    sl_quantity q;

    (void)state;
    memset(s, '9', N);
    assert_int_equal(sl_quantity_parse(s, N, &q, NULL), 0);
    assert_true(q == SL_QUANTITY_MAX);
    memcpy(s + N, "e-99999", 8);
    assert_int_equal(sl_quantity_parse(s, N + 7, &q, NULL), 0);
    assert_true(q == U(10)); /* 9.99... goes up */
    memset(s, '0', N);
    s[1] = '.';
    s[N - 1] = '1';
    assert_int_equal(sl_quantity_parse(s, N, &q, NULL), 0);
    assert_true(q == 1);
    memcpy(s + N, "e99998", 7);
    assert_int_equal(sl_quantity_parse(s, N + 6, &q, NULL), 0);
    assert_true(q == U(1));
    memset(s, 'x', N);
    struct sl_err err;
    assert_int_equal(sl_quantity_parse(s, N, &q, &err), SL_EINVAL);
    assert_non_null(strstr(err.text, "...\": expected"));
    free(s);
}

static void test_amounts(void **state) {
    static const struct {
        const char *resource, *text;
        sl_amount request, quota;
    } t[] = {
        {"cpu", "1", 1000, 1000},
        {"cpu", "100m", 100, 100},
        {"cpu", "1.5", 1500, 1500},
        {"cpu", "100u", 1, 1},
        {"cpu", "1n", 1, 1},
        {"cpu", "1001u", 2, 2},
        {"cpu", "-1500m", -1500, -1500},
        {"cpu", "-1n", -1, -1},
        {"cpu", "9223372036854774.999", 9223372036854774999, 9223372036854774999},
        {"cpu", "9223372036854775", 9223372036854775000, SL_AMOUNT_UNLIMITED},
        {"cpu", "9223372036854776", INT64_MAX - 1, SL_AMOUNT_UNLIMITED},
        {"cpu", "1e99", INT64_MAX - 1, SL_AMOUNT_UNLIMITED},
        {"cpu", "-1e99", SL_AMOUNT_MIN, SL_AMOUNT_MIN},
        {"memory", "1Gi", 1073741824, 1073741824},
        {"memory", "1m", 1, 1},
        {"memory", "1.5", 2, 2},
        {"memory", "0", 0, 0},
        {"memory", "9223372036854775806", INT64_MAX - 1, INT64_MAX - 1},
        {"memory", "9223372036854775807", INT64_MAX - 1, SL_AMOUNT_UNLIMITED},
        {"memory", "9223372036854775806.1", INT64_MAX - 1, SL_AMOUNT_UNLIMITED},
        {"memory", "8Ei", INT64_MAX - 1, SL_AMOUNT_UNLIMITED},
        {"memory", "-8Ei", SL_AMOUNT_MIN, SL_AMOUNT_MIN},
        {"nvidia.com/gpu", "8", 8, 8},
        {"requests.cpu", "1", 1, 1}, /* only "cpu" is cpu */
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        sl_quantity q;
        assert_int_equal(sl_quantity_parse(t[i].text, strlen(t[i].text), &q, NULL), 0);
        sl_amount request = sl_amount_of_request(t[i].resource, q);
        sl_amount quota = sl_amount_of_quota(t[i].resource, q);
        if (request != t[i].request || quota != t[i].quota)
            fail_msg("%s %s: request %lld, quota %lld", t[i].resource, t[i].text,
                     (long long)request, (long long)quota);
    }
    assert_true(sl_quantity_is_milli("cpu"));
    assert_false(sl_quantity_is_milli("memory"));
    assert_false(sl_quantity_is_milli(""));
}

static void test_format_amount(void **state) {
    static const struct {
        const char *resource;
        sl_amount a;
        const char *want;
    } t[] = {
        {"cpu", 0, "0"},
        {"cpu", 1, "1m"},
        {"cpu", 1500, "1500m"},
        {"cpu", 2000, "2"},
        {"cpu", 2000000, "2k"},
        {"cpu", 2500000, "2500"},
        {"cpu", -1500, "-1500m"},
        {"cpu", -2000, "-2"},
        {"cpu", INT64_MAX - 1, "9223372036854775806m"},
        {"memory", 0, "0"},
        {"memory", 1, "1"},
        {"memory", 1000, "1000"},
        {"memory", 1023, "1023"},
        {"memory", 1024, "1Ki"},
        {"memory", 1025, "1025"},
        {"memory", 1000000, "1000000"},
        {"memory", 1073741824, "1Gi"},
        {"memory", INT64_C(1536) << 20, "1536Mi"},
        {"memory", INT64_C(1) << 60, "1Ei"},
        {"memory", INT64_C(1) << 62, "4Ei"},
        {"memory", -1024, "-1Ki"},
        {"ephemeral-storage", 2048, "2Ki"},
        {"hugepages-2Mi", 4194304, "4Mi"},
        {"hugepages", 1024, "1024"},
        {"nvidia.com/gpu", 5, "5"},
        {"nvidia.com/gpu", 1000, "1k"},
        {"nvidia.com/gpu", 1500, "1500"},
        {"nvidia.com/gpu", 2000000, "2M"},
        {"pods", INT64_C(3000000000000000000), "3E"},
        {"pods", SL_AMOUNT_MIN, "-9223372036854775807"},
        {"pods", SL_AMOUNT_UNLIMITED, "<unlimited>"},
        {"cpu", SL_AMOUNT_UNLIMITED, "<unlimited>"},
        {"memory", SL_AMOUNT_NONE, "<none>"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        char out[SL_QUANTITY_TEXT];
        assert_ptr_equal(sl_amount_format(t[i].resource, t[i].a, out), out);
        assert_string_equal(out, t[i].want);
    }
}

static void test_format_quantity(void **state) {
    static const struct {
        const char *text, *want;
    } t[] = {
        {"0", "0"},
        {"1", "1"},
        {"0.1", "100m"},
        {"2.5m", "2500u"},
        {"1n", "1n"},
        {"-1n", "-1n"},
        {"1000", "1k"},
        {"1Ki", "1024"},
        {"1.5", "1500m"},
        {"1e18", "1E"},
        {"-1e3", "-1k"},
        {"1e99", "9223372036854775807"},
        {"1234567.891", "1234567891m"},
        {"9223372036854775806.999999999", "9223372036854775806999999999n"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(t); i++) {
        char out[SL_QUANTITY_TEXT];
        sl_quantity q;
        assert_int_equal(sl_quantity_parse(t[i].text, strlen(t[i].text), &q, NULL), 0);
        assert_ptr_equal(sl_quantity_format(q, out), out);
        assert_string_equal(out, t[i].want);
    }
}

/* What is written can be read, and means the same. */
static void test_round_trip(void **state) {
    static const char *const resources[] = {"cpu", "memory", "nvidia.com/gpu", "hugepages-1Gi"};
    struct sl_prng rng;

    (void)state;
    sl_prng_init(&rng, 11);
    for (int i = 0; i < 50000; i++) {
        char out[SL_QUANTITY_TEXT];
        sl_quantity q = (sl_quantity)(sl_prng_next(&rng) >> sl_prng_range(&rng, 1, 63)) *
                        (sl_quantity)sl_prng_range(&rng, -SL_NANO, SL_NANO);
        sl_quantity back;
        (void)sl_quantity_format(q, out);
        assert_int_equal(sl_quantity_parse(out, strlen(out), &back, NULL), 0);
        assert_true(back == q);

        const char *resource = resources[i % 4];
        sl_amount a = (int64_t)(sl_prng_next(&rng) >> sl_prng_range(&rng, 1, 63));
        a = a >= INT64_MAX / 1000 ? a / 1001 : a;
        a = i % 3 ? a & -1024 : a;
        a = i % 5 ? a : -a;
        (void)sl_amount_format(resource, a, out);
        assert_int_equal(sl_quantity_parse(out, strlen(out), &back, NULL), 0);
        assert_int_equal(sl_amount_of_quota(resource, back), a);
        assert_int_equal(sl_amount_of_request(resource, back), a);
    }
}

static void test_arithmetic(void **state) {
    const sl_amount inf = SL_AMOUNT_UNLIMITED, min = SL_AMOUNT_MIN;

    (void)state;
    assert_int_equal(sl_amount_add(2, 3), 5);
    assert_int_equal(sl_amount_add(inf, -5), inf);
    assert_int_equal(sl_amount_add(-5, inf), inf);
    assert_int_equal(sl_amount_add(INT64_MAX - 1, 5), inf);
    assert_int_equal(sl_amount_add(min, -1), min);
    assert_int_equal(sl_amount_sub(2, 3), -1);
    assert_int_equal(sl_amount_sub(inf, 3), inf);
    assert_int_equal(sl_amount_sub(inf, inf), 0);
    assert_int_equal(sl_amount_sub(3, inf), min);
    assert_int_equal(sl_amount_sub(min, 3), min);
    assert_int_equal(sl_amount_mul(3, 4), 12);
    assert_int_equal(sl_amount_mul(INT64_MAX / 2, 3), inf);
    assert_int_equal(sl_amount_mul(INT64_MAX / 2, -3), min);
    assert_int_equal(sl_amount_min(2, inf), 2);
    assert_int_equal(sl_amount_max(2, inf), inf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),           cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_wide_agrees),     cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_amounts),         cmocka_unit_test(test_format_amount),
        cmocka_unit_test(test_format_quantity), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_arithmetic),
    };
    return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
