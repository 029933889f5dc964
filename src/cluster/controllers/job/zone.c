/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time zones of the machine: TZif files (RFC 9636). The 64-bit block is used, and after the last
 * transition the rule of the footer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/controllers/job/cron.h"
#include "core/base/fmt.h"
#include "core/base/mem.h"

#define FOLDER "/usr/share/zoneinfo"
#define MAX_BYTES ((size_t)256 << 10)
#define MAX_TIMES 4096u
#define DAY 86400

struct turn {
    int64_t at;
    int32_t offset;
};

/* When summer time begins or ends: day of the year or n-th weekday of a month, and seconds into
 * that day. */
struct when {
    enum { BY_MONTH, BY_JULIAN, BY_DAY } how;
    int32_t month, week, day, seconds;
};

struct cl_cron_zone {
    uint32_t n;
    int32_t first;            /* offset before the first turn */
    bool ruled, saves;        /* the footer has the rule for later times; with daylight saving */
    int32_t standard, summer; /* offsets */
    struct when begins, ends;
    struct turn turns[];
};

/* ---- the rule of the footer ---- */

static const char *skip_name(const char *s) {
    const char *start = s;
    if (*s == '<') {
        s += strcspn(s, ">");
        return *s ? s + 1 : NULL;
    }
    while ((*s | 0x20) >= 'a' && (*s | 0x20) <= 'z')
        s++;
    return s - start >= 3 ? s : NULL;
}

static const char *parse_number(const char *s, int32_t max, int32_t *ret) {
    int32_t v = 0;
    const char *start = s;
    for (; *s >= '0' && *s <= '9' && v <= max; s++)
        v = v * 10 + (*s - '0');
    *ret = v;
    return s > start && v <= max ? s : NULL;
}

/* [+-]hh[:mm[:ss]] */
static const char *span(const char *s, int32_t *ret) {
    int32_t sign = 1, v, unit = 3600;
    if (*s == '+' || *s == '-')
        sign = *s++ == '-' ? -1 : 1;
    *ret = 0;
    for (bool first = true; unit; unit /= 60, first = false) {
        if (!first && *s != ':')
            break;
        s = parse_number(first ? s : s + 1, first ? 167 : 59, &v);
        if (!s)
            return NULL;
        *ret += v * unit;
    }
    *ret *= sign;
    return s;
}

static const char *day_of(const char *s, struct when *w) {
    *w = (struct when){.seconds = 2 * 3600};
    if (*s == 'M') {
        s = parse_number(s + 1, 12, &w->month);
        s = s && *s == '.' ? parse_number(s + 1, 5, &w->week) : NULL;
        s = s && *s == '.' ? parse_number(s + 1, 6, &w->day) : NULL;
        if (!s || w->month < 1 || w->week < 1)
            return NULL;
    } else {
        w->how = *s == 'J' ? BY_JULIAN : BY_DAY;
        s = parse_number(s + (*s == 'J'), 365, &w->day);
    }
    return s && *s == '/' ? span(s + 1, &w->seconds) : s;
}

static bool read_rule(const char *s, struct cl_cron_zone *z) {
    s = skip_name(s);
    s = s ? span(s, &z->standard) : NULL;
    if (!s)
        return false;
    z->standard = -z->standard; /* the footer counts west of Greenwich */
    if (!*s)
        return true;
    s = skip_name(s);
    if (!s)
        return false;
    z->summer = z->standard + 3600;
    if (*s != ',') {
        s = span(s, &z->summer);
        z->summer = -z->summer;
    }
    s = s && *s == ',' ? day_of(s + 1, &z->begins) : NULL;
    s = s && *s == ',' ? day_of(s + 1, &z->ends) : NULL;
    z->saves = s && !*s;
    return z->saves;
}

/* ---- the file ---- */

static int64_t big(const unsigned char *p, uint32_t bytes) {
    uint64_t v = p[0] & 0x80 ? UINT64_MAX : 0;
    while (bytes--)
        v = v << 8 | *p++;
    return (int64_t)v;
}

struct header {
    uint32_t utc, wall, leap, times, types, chars;
};

static bool read_header(const unsigned char *p, size_t len, struct header *h) {
    uint32_t *to[] = {&h->utc, &h->wall, &h->leap, &h->times, &h->types, &h->chars};
    if (len < 44 || memcmp(p, "TZif", 4) != 0)
        return false;
    for (size_t i = 0; i < SL_LEN(to); i++) {
        int64_t v = big(p + 20 + 4 * i, 4);
        if (v < 0 || v > MAX_TIMES)
            return false;
        *to[i] = (uint32_t)v;
    }
    return h->types > 0;
}

static size_t block_size(const struct header *h, size_t word) {
    return h->times * (word + 1) + (size_t)h->types * 6 + h->chars + h->leap * (word + 4) +
           h->wall + h->utc;
}

struct cl_cron_zone *cl_zone_read(const void *data, size_t len) {
    const unsigned char *p = data;
    struct header h;
    char rule[128];
    if (!read_header(p, len, &h) || p[4] < '2' || len < 44 + block_size(&h, 4))
        return NULL;
    p += 44 + block_size(&h, 4);
    len -= 44 + block_size(&h, 4);
    if (!read_header(p, len, &h) || len < 44 + block_size(&h, 8))
        return NULL;
    const unsigned char *times = p + 44, *kinds = times + (size_t)h.times * 8,
                        *types = kinds + h.times;
    struct cl_cron_zone *z = sl_alloc0(1, sizeof *z + h.times * sizeof z->turns[0]);
    z->first = (int32_t)big(types, 4);
    for (uint32_t i = 0; i < h.times; i++) {
        if (kinds[i] >= h.types)
            continue;
        z->turns[z->n++] = (struct turn){big(times + (size_t)i * 8, 8),
                                         (int32_t)big(types + (size_t)kinds[i] * 6, 4)};
    }
    p += 44 + block_size(&h, 8);
    len -= 44 + block_size(&h, 8);
    const unsigned char *end = len > 1 && *p == '\n' ? memchr(p + 1, '\n', len - 1) : NULL;
    if (end && (size_t)(end - p) < sizeof rule) {
        sl_fmt(rule, sizeof rule, "%.*s", (int)(end - p - 1), (const char *)p + 1);
        z->ruled = *rule && read_rule(rule, z);
    }
    return z;
}

struct cl_cron_zone *cl_zone_load(const char *name) {
    char path[512];
    size_t len = 0;
    if (!*name || strcmp(name, "UTC") == 0)
        name = "Etc/UTC";
    if (*name == '/' || strstr(name, "..") || strlen(name) > 255)
        return NULL;
    sl_fmt(path, sizeof path, FOLDER "/%s", name);
    FILE *f = fopen(path, "rbe");
    if (!f) /* known also on a machine without time zone data */
        return strcmp(name, "Etc/UTC") == 0 ? sl_alloc0(1, sizeof(struct cl_cron_zone)) : NULL;
    unsigned char *data = sl_alloc(MAX_BYTES);
    len = fread(data, 1, MAX_BYTES, f);
    (void)fclose(f);
    struct cl_cron_zone *z = cl_zone_read(data, len);
    sl_freep(&data);
    return z;
}

void cl_zone_free(struct cl_cron_zone *z) {
    sl_freep(&z);
}

/* ---- the offset ---- */

static int64_t days_to(int64_t y) { /* from 1970-01-01 to the first of January */
    y--;
    return y * 365 + y / 4 - y / 100 + y / 400 - 719162;
}

static bool is_leap(int64_t y) {
    return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
}

/* Seconds from the beginning of the year to the change, by the clock that it ends. */
static int64_t change_in(const struct when *w, int64_t year) {
    static const int32_t before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    int64_t day = w->day;
    if (w->how == BY_JULIAN) {
        day = w->day - 1 + (w->day >= 60 && is_leap(year));
    } else if (w->how == BY_MONTH) {
        int64_t first = before[w->month - 1] + (w->month > 2 && is_leap(year));
        int64_t length = before[w->month] - before[w->month - 1] + (w->month == 2 && is_leap(year));
        int64_t dow = ((days_to(year) + first + 4) % 7 + 7) % 7;
        int64_t in = (w->day - dow + 7) % 7 + (int64_t)(w->week - 1) * 7;
        day = first + (in >= length ? in - 7 : in);
    }
    return day * DAY + w->seconds;
}

static int64_t ruled_offset(const struct cl_cron_zone *z, int64_t t) {
    if (!z->saves)
        return z->standard;
    int64_t local = t + z->standard, year = 1970 + local / 31556952;
    while (days_to(year + 1) * DAY <= local)
        year++;
    while (days_to(year) * DAY > local)
        year--;
    int64_t start = days_to(year) * DAY;
    int64_t begins = start + change_in(&z->begins, year) - z->standard;
    int64_t ends = start + change_in(&z->ends, year) - z->summer;
    bool summer = begins < ends ? t >= begins && t < ends : t >= begins || t < ends;
    return summer ? z->summer : z->standard;
}

int64_t cl_zone_offset(const struct cl_cron_zone *z, int64_t t) {
    uint32_t lo = 0, hi = z ? z->n : 0;
    if (!z)
        return 0;
    if (z->ruled && (!z->n || t >= z->turns[z->n - 1].at))
        return ruled_offset(z, t);
    while (lo < hi) { /* the first turn after t */
        uint32_t mid = lo + (hi - lo) / 2;
        if (z->turns[mid].at <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? z->turns[lo - 1].offset : z->first;
}
