/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The civil date of a day number, counted in eras of 400 years that begin on 1 March, so that the
 * leap day is the last of its year (H. Hinnant, "chrono-compatible low-level date algorithms").
 * libc's gmtime is not used: it hands out a static buffer. int64 nanoseconds span the years 1677 to
 * 2262.
 */
#include "core/base/stamp.h"

#include <stdio.h>

void sl_civil_of(int64_t seconds, struct sl_civil *ret) {
    int64_t day = seconds / 86400 - (seconds % 86400 < 0);
    int clock = (int)(seconds - day * 86400);
    int64_t z = day + 719468; /* days since 0000-03-01; never negative in the span above */
    int64_t era = z / 146097, doe = z % 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

    ret->day = (int)(doy - (153 * mp + 2) / 5 + 1);
    ret->month = (int)(mp < 10 ? mp + 3 : mp - 9);
    ret->year = (int)(yoe + era * 400 + (ret->month <= 2));
    ret->weekday = (int)((day % 7 + 11) % 7);
    ret->hour = clock / 3600;
    ret->minute = clock / 60 % 60;
    ret->second = clock % 60;
}

static const char *format(sl_time wall, bool micro, char out[SL_STAMP_TEXT]) {
    int64_t rest = wall % SL_SEC;
    int usec = (int)((rest < 0 ? rest + SL_SEC : rest) / SL_USEC);
    struct sl_civil t;

    sl_civil_of(wall / SL_SEC - (rest < 0), &t);
    int n = snprintf(out, SL_STAMP_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d", t.year, t.month, t.day,
                     t.hour, t.minute, t.second);
    if (micro)
        n += snprintf(out + n, (size_t)(SL_STAMP_TEXT - n), ".%06d", usec);
    out[n] = 'Z';
    out[n + 1] = '\0';
    return out;
}

const char *sl_stamp(sl_time wall, char out[SL_STAMP_TEXT]) {
    return format(wall, false, out);
}

const char *sl_stamp_micro(sl_time wall, char out[SL_STAMP_TEXT]) {
    return format(wall, true, out);
}

/* 'n' digits as a number in [low, high]. */
static bool digits(const char **p, int n, int low, int high, int64_t *ret) {
    *ret = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        *ret = *ret * 10 + (**p - '0');
    }
    return *ret >= low && *ret <= high;
}

/* Days since 1970 of a date of the Gregorian calendar, counted in years that begin in March. */
static int64_t days_of(int64_t y, int64_t m, int64_t d) {
    if (m <= 2)
        y--;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

bool sl_stamp_parse(const char *s, sl_time *ret) {
    int64_t y, mon, d, h, min, sec, oh = 0, om = 0, nano = 0, unit = SL_SEC, sign = 1;

    if (!digits(&s, 4, 1677, 2262, &y) || *s++ != '-' || !digits(&s, 2, 1, 12, &mon) ||
        *s++ != '-' || !digits(&s, 2, 1, 31, &d) || (*s != 'T' && *s != 't'))
        return false;
    s++;
    if (!digits(&s, 2, 0, 23, &h) || *s++ != ':' || !digits(&s, 2, 0, 59, &min) || *s++ != ':' ||
        !digits(&s, 2, 0, 60, &sec))
        return false;
    if (*s == '.')
        for (s++; *s >= '0' && *s <= '9'; s++) {
            unit /= 10;
            nano += (*s - '0') * unit;
        }
    if (*s == '+' || *s == '-') {
        sign = *s++ == '-' ? -1 : 1;
        if (!digits(&s, 2, 0, 23, &oh) || *s++ != ':' || !digits(&s, 2, 0, 59, &om))
            return false;
    } else if (*s != 'Z' && *s != 'z') {
        return false;
    } else {
        s++;
    }
    int64_t total =
        days_of(y, mon, d) * 86400 + h * 3600 + min * 60 + sec - sign * (oh * 3600 + om * 60);
    if (*s != '\0' || total > INT64_MAX / SL_SEC - 1 || total < INT64_MIN / SL_SEC + 1)
        return false;
    *ret = total * SL_SEC + nano;
    return true;
}
