/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations to and from text, as Go's time.ParseDuration and Duration.String, with integers only.
 */
#include "core/base/time.h"

#include <string.h>

#define SPAN_LIMIT (UINT64_C(1) << 63) /* magnitude of the most negative span */

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"ns", 1},       {"us", SL_USEC}, {"\xc2\xb5s", SL_USEC}, {"\xce\xbcs", SL_USEC},
    {"ms", SL_MSEC}, {"s", SL_SEC},   {"m", SL_MINUTE},       {"h", SL_HOUR},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int bad_duration(const char *s, size_t len, struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL,
                      "duration \"%.*s\": expected numbers with units, such as 250ms, 1.5s, 5m or "
                      "1h30m",
                      (int)(len < 60 ? len : 60), s);
}

static int too_long(const char *s, size_t len, struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL, "duration \"%.*s\": too long, the limit is about 292 years",
                      (int)(len < 60 ? len : 60), s);
}

/* The unit at s, which ends at a digit, a point or the end; 0 if there is no such unit. */
static int64_t unit_at(const char *s, const char *end, const char **ret_end) {
    const char *p = s;

    while (p < end && *p != '.' && !is_digit(*p))
        p++;
    for (size_t i = 0; i < SL_LEN(units); i++)
        if ((size_t)(p - s) == strlen(units[i].name) &&
            memcmp(s, units[i].name, (size_t)(p - s)) == 0) {
            *ret_end = p;
            return units[i].ns;
        }
    return 0;
}

int sl_span_parse(const char *s, size_t len, sl_span *ret, struct sl_err *err) {
    const char *p = s, *end = s + len;
    bool minus = false;
    uint64_t sum = 0;

    if (p < end && (*p == '+' || *p == '-'))
        minus = *p++ == '-';
    if (end - p == 1 && *p == '0') {
        *ret = 0;
        return 0;
    }
    if (p == end)
        return bad_duration(s, len, err);
    while (p < end) {
        uint64_t whole = 0, frac = 0, scale = 1;
        bool any = false, over = false;

        for (; p < end && is_digit(*p); p++, any = true)
            if (whole <= (SPAN_LIMIT - 9) / 10)
                whole = whole * 10 + (uint64_t)(*p - '0');
            else if (whole == SPAN_LIMIT / 10 && *p - '0' <= 8)
                whole = whole * 10 + (uint64_t)(*p - '0');
            else
                over = true;
        if (p < end && *p == '.') {
            p++;
            for (; p < end && is_digit(*p); p++, any = true)
                if (scale < UINT64_C(1000000000000000000)) { /* finer digits cannot matter */
                    frac = frac * 10 + (uint64_t)(*p - '0');
                    scale *= 10;
                }
        }
        int64_t unit = any ? unit_at(p, end, &p) : 0;
        if (unit == 0)
            return bad_duration(s, len, err);
        unsigned __int128 v = (unsigned __int128)whole * (uint64_t)unit +
                              (unsigned __int128)frac * (uint64_t)unit / scale;
        if (over || v > SPAN_LIMIT - sum)
            return too_long(s, len, err);
        sum += (uint64_t)v;
    }
    if (sum == SPAN_LIMIT) {
        if (!minus)
            return too_long(s, len, err);
        *ret = INT64_MIN;
        return 0;
    }
    *ret = minus ? -(int64_t)sum : (int64_t)sum;
    return 0;
}

/* Both write backwards, ending before p, and return the new start. */
static char *put_int(char *p, uint64_t v) {
    do
        *--p = (char)('0' + v % 10);
    while (v /= 10);
    return p;
}

/* v / 10^digits with the zeros at the end of the fraction left out. */
static char *put_frac(char *p, uint64_t v, unsigned digits) {
    bool some = false;

    for (; digits > 0; digits--, v /= 10) {
        if (v % 10 != 0)
            some = true;
        if (some)
            *--p = (char)('0' + v % 10);
    }
    if (some)
        *--p = '.';
    return put_int(p, v);
}

const char *sl_span_format(sl_span d, char out[SL_SPAN_TEXT]) {
    char tmp[SL_SPAN_TEXT], *end = tmp + sizeof tmp, *p = end;
    uint64_t u = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;

    *--p = '\0';
    *--p = 's';
    if (u == 0) {
        *--p = '0';
    } else if (u < (uint64_t)SL_USEC) {
        *--p = 'n';
        p = put_int(p, u);
    } else if (u < (uint64_t)SL_MSEC) {
        *--p = '\xb5';
        *--p = '\xc2';
        p = put_frac(p, u, 3);
    } else if (u < (uint64_t)SL_SEC) {
        *--p = 'm';
        p = put_frac(p, u, 6);
    } else {
        uint64_t minutes = u / (uint64_t)SL_MINUTE;
        p = put_frac(p, u % (uint64_t)SL_MINUTE, 9);
        if (minutes > 0) {
            *--p = 'm';
            p = put_int(p, minutes % 60);
        }
        if (minutes >= 60) {
            *--p = 'h';
            p = put_int(p, minutes / 60);
        }
    }
    if (d < 0)
        *--p = '-';
    memcpy(out, p, (size_t)(end - p));
    return out;
}
