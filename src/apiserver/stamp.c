#include "apiserver/stamp.h"

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
