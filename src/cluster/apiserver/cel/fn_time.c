/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time from the year 1 to 9999, and durations. Zones are UTC and offsets from it. */
#include <string.h>

#include "cluster/apiserver/cel/tree.h"
#include "core/base/fmt.h"
#include "core/base/stamp.h"

#define DAY 86400

/* Days from 1970 to a date of the Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    const int64_t era = (year >= 0 ? year : year - 399) / 400, in_era = year - era * 400;
    const int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

static bool digits(const char **p, const char *end, int n, int64_t *ret) {
    *ret = 0;
    for (; n > 0; n--, (*p)++) {
        if (*p >= end || **p < '0' || **p > '9')
            return false;
        *ret = *ret * 10 + (**p - '0');
    }
    return true;
}

static bool sign(const char **p, const char *end, const char *any) {
    if (*p >= end || !strchr(any, **p))
        return false;
    (*p)++;
    return true;
}

/* Z, +01:00; seconds. */
static bool parse_offset(const char **p, const char *end, int64_t *ret) {
    int64_t hours, minutes;

    *ret = 0;
    if (sign(p, end, "Zz"))
        return true;
    const bool back = *p < end && **p == '-';
    if (!sign(p, end, "+-") || !digits(p, end, 2, &hours) || !sign(p, end, ":") ||
        !digits(p, end, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret = (hours * 60 + minutes) * (back ? -60 : 60);
    return true;
}

static bool parse_clock(const char **p, const char *end, int64_t *sec, int32_t *nsec) {
    int64_t hour, minute, second, offset;

    if (!sign(p, end, "Tt") || !digits(p, end, 2, &hour) || !sign(p, end, ":") ||
        !digits(p, end, 2, &minute) || !sign(p, end, ":") || !digits(p, end, 2, &second) ||
        hour > 23 || minute > 59 || second > 59)
        return false;
    if (sign(p, end, ".")) {
        int32_t unit = 100000000;
        const char *from = *p;
        for (; *p < end && **p >= '0' && **p <= '9'; (*p)++, unit /= 10)
            *nsec += (**p - '0') * unit;
        if (*p == from)
            return false;
    }
    if (!parse_offset(p, end, &offset))
        return false;
    *sec += hour * 3600 + minute * 60 + second - offset;
    return true;
}

bool api_cel_time_parse(const char *s, size_t len, bool date, struct api_value *ret) {
    static const uint8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *p = s, *end = s + len;
    int64_t year, month, day;

    *ret = (struct api_value){.kind = V_TIME};
    if (!digits(&p, end, 4, &year) || !sign(&p, end, "-") || !digits(&p, end, 2, &month) ||
        !sign(&p, end, "-") || !digits(&p, end, 2, &day) || month < 1 || month > 12 || day < 1)
        return false;
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > lengths[month - 1] + (month == 2 && leap))
        return false;
    ret->sec = days_of(year, month, day) * DAY;
    return (date || parse_clock(&p, end, &ret->sec, &ret->nsec)) && p == end && year >= 1;
}

void api_cel_time_print(const struct api_value *v, char out[48]) {
    struct sl_civil d;
    size_t n;

    sl_civil_of(v->sec, &d);
    sl_fmt(out, 48, "%04d-%02d-%02dT%02d:%02d:%02d", d.year, d.month, d.day, d.hour, d.minute,
           d.second);
    n = strlen(out);
    if (v->nsec) {
        sl_fmt(out + n, 48 - n, ".%09d", v->nsec);
        for (n = strlen(out); out[n - 1] == '0';)
            n--;
    }
    out[n] = 'Z';
    out[n + 1] = '\0';
}

#define CANNOT "type conversion error from 'string' to '%s'"

static struct api_value make_duration(struct api_cel_call *c) {
    const struct api_value *v = &c->args[0];
    sl_span d;

    if (v->kind == V_DURATION)
        return *v;
    if (!api_cel_charge(c->run, v->len / 8))
        return api_cel_too_costly(c->run);
    return sl_span_parse(v->s, v->len, &d, NULL) == 0
               ? api_cel_span(d)
               : api_cel_error(c->run, CANNOT, "google.protobuf.Duration");
}

static struct api_value make_time(struct api_cel_call *c) {
    const struct api_value *v = &c->args[0];
    struct api_value ret = {.kind = V_TIME};

    if (v->kind == V_TIME)
        return *v;
    if (v->kind == V_INT) {
        ret.sec = v->num;
        return v->num >= INT64_C(-62135596800) && v->num <= INT64_C(253402300799)
                   ? ret
                   : api_cel_error(c->run, "timestamp overflow");
    }
    return v->len < 64 && api_cel_time_parse(v->s, v->len, false, &ret)
               ? ret
               : api_cel_error(c->run, CANNOT, "google.protobuf.Timestamp");
}

/* "UTC", "+01:00", "01:00"; seconds. */
static bool zone(const struct api_value *v, int64_t *ret) {
    char text[16];
    const char *p = text, *end;

    *ret = 0;
    if (v->len == 0 || (v->len == 3 && memcmp(v->s, "UTC", 3) == 0))
        return true;
    if (v->len > 8)
        return false;
    const bool bare = *v->s >= '0' && *v->s <= '9';
    sl_fmt(text, sizeof(text), "%s%.*s", bare ? "+" : "", (int)v->len, v->s);
    end = text + strlen(text);
    return parse_offset(&p, end, ret) && p == end;
}

enum { YEAR, MONTH, DAY_OF_MONTH, DATE, DAY_OF_WEEK, DAY_OF_YEAR, HOURS, MINUTES, SECONDS, MILLIS };

static struct api_value part_of_time(struct api_cel_call *c) {
    int64_t offset = 0;

    if (c->n > 1 && !zone(&c->args[1], &offset))
        return api_cel_error(c->run, "unknown time zone %.*s",
                             (int)(c->args[1].len < 60 ? c->args[1].len : 60), c->args[1].s);
    struct sl_civil d;
    const int64_t sec = c->args[0].sec + offset, days = sec / DAY - (sec % DAY < 0);
    sl_civil_of(sec, &d);
    const int64_t parts[] = {
        [YEAR] = d.year,
        [MONTH] = d.month - 1,
        [DAY_OF_MONTH] = d.day - 1,
        [DATE] = d.day,
        [DAY_OF_WEEK] = d.weekday,
        [DAY_OF_YEAR] = days - days_of(d.year, 1, 1),
        [HOURS] = d.hour,
        [MINUTES] = d.minute,
        [SECONDS] = d.second,
        [MILLIS] = c->args[0].nsec / 1000000,
    };
    return api_cel_int(parts[c->how]);
}

static struct api_value part_of_duration(struct api_cel_call *c) {
    const int64_t unit = c->how == HOURS     ? SL_HOUR
                         : c->how == MINUTES ? SL_MINUTE
                         : c->how == SECONDS ? SL_SEC
                                             : SL_MSEC;
    return api_cel_int(c->args[0].num / unit);
}

#define PART(name_, how_)                                                                          \
    {name_, true, "T", 'i', part_of_time, how_}, {                                                 \
        name_, true, "Ts", 'i', part_of_time, how_                                                 \
    }

const struct api_cel_function api_cel_functions_time[] = {
    {"duration", false, "s", 'D', make_duration, 0},
    {"duration", false, "D", 'D', make_duration, 0},
    {"timestamp", false, "s", 'T', make_time, 0},
    {"timestamp", false, "i", 'T', make_time, 0},
    {"timestamp", false, "T", 'T', make_time, 0},
    PART("getFullYear", YEAR),
    PART("getMonth", MONTH),
    PART("getDayOfMonth", DAY_OF_MONTH),
    PART("getDate", DATE),
    PART("getDayOfWeek", DAY_OF_WEEK),
    PART("getDayOfYear", DAY_OF_YEAR),
    PART("getHours", HOURS),
    PART("getMinutes", MINUTES),
    PART("getSeconds", SECONDS),
    PART("getMilliseconds", MILLIS),
    {"getHours", true, "D", 'i', part_of_duration, HOURS},
    {"getMinutes", true, "D", 'i', part_of_duration, MINUTES},
    {"getSeconds", true, "D", 'i', part_of_duration, SECONDS},
    {"getMilliseconds", true, "D", 'i', part_of_duration, MILLIS},
    {0},
};
