/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/schema/value.h"
#include "core/base/fmt.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- times ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The parts of RFC 3339 as Go's layout names them. */
enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, N_NUMBERS };
static const struct part {
    const char *layout;
    int number, digits, min, max;
    const char *word;
} parts[] = {
    {"2006", YEAR, 4, 0, 9999, "year"}, {"-", -1, 0, 0, 0, NULL},
    {"01", MONTH, 2, 1, 12, "month"},   {"-", -1, 0, 0, 0, NULL},
    {"02", DAY, 2, 1, 31, "day"},       {"T", -1, 0, 0, 0, NULL},
    {"15", HOUR, 2, 0, 23, "hour"},     {":", -1, 0, 0, 0, NULL},
    {"04", MINUTE, 2, 0, 59, "minute"}, {":", -1, 0, 0, 0, NULL},
    {"05", SECOND, 2, 0, 59, "second"},
};

#define SHOWN 60 /* bytes of a text in a message */

static int unreadable(const char *s, bool micro, const char *rest, const char *layout,
                      struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL,
                      "parsing time \"%.*s\" as \"2006-01-02T15:04:05%sZ07:00\": cannot parse "
                      "\"%.*s\" as \"%s\"",
                      SHOWN, s, micro ? ".000000" : "", SHOWN, rest, layout);
}

/* "Z", or hours and minutes; how many seconds east. */
static bool read_zone(const char **p, int *ret) {
    const char *z = *p;

    *ret = 0;
    if (*z == 'Z') {
        *p = z + 1;
        return true;
    }
    if ((*z != '+' && *z != '-') || !is_digit(z[1]) || !is_digit(z[2]) || z[3] != ':' ||
        !is_digit(z[4]) || !is_digit(z[5]))
        return false;
    int h = (z[1] - '0') * 10 + z[2] - '0', m = (z[4] - '0') * 10 + z[5] - '0';
    if (h > 24 || m > 60)
        return false;
    *ret = (*z == '-' ? -1 : 1) * (h * 3600 + m * 60);
    *p = z + 6;
    return true;
}

/* Six digits behind a point. */
static bool read_micro(const char **p, int *ret) {
    if (**p != '.' || strspn(*p + 1, "0123456789") < 6)
        return false;
    for (int i = 1; i <= 6; i++)
        *ret = *ret * 10 + (*p)[i] - '0';
    *p += 7;
    return true;
}

static int days_of(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[(month + 11) % 12] + (month == 2 && leap);
}

static int read_numbers(const char *s, bool micro, const char **p, int x[N_NUMBERS],
                        struct sl_err *err) {
    for (const struct part *part = parts; part < parts + SL_LEN(parts); part++) {
        const char *from = *p;
        if (part->number < 0) {
            if (**p != *part->layout)
                return unreadable(s, micro, from, part->layout, err);
            (*p)++;
            continue;
        }
        int v = 0;
        for (int i = 0; i < part->digits; i++, (*p)++) {
            if (!is_digit(**p))
                return unreadable(s, micro, from, part->layout, err);
            v = v * 10 + **p - '0';
        }
        if (v < part->min || v > part->max)
            return sl_err_set(err, SL_EINVAL, "parsing time \"%.*s\": %s out of range", SHOWN, s,
                              part->word);
        x[part->number] = v;
    }
    return 0;
}

int schema_value_time(const char *s, size_t len, bool micro, char out[SL_VALUE_TIME],
                      struct sl_err *err) {
    int x[N_NUMBERS] = {0}, zone, usec = 0;
    const char *p = s;

    if (memchr(s, '\0', len))
        return unreadable(s, micro, s, "2006", err);
    int r = read_numbers(s, micro, &p, x, err);
    if (r < 0)
        return r;
    if (micro && !read_micro(&p, &usec))
        return unreadable(s, micro, p, ".000000", err);
    if (!micro && (*p == '.' || *p == ',') && is_digit(p[1]))
        p += 1 + strspn(p + 1, "0123456789");
    if (!read_zone(&p, &zone))
        return unreadable(s, micro, p, "Z07:00", err);
    if (*p)
        return sl_err_set(err, SL_EINVAL, "parsing time \"%.*s\": extra text: \"%.*s\"", SHOWN, s,
                          SHOWN, p);
    if (x[DAY] > days_of(x[YEAR], x[MONTH]))
        return sl_err_set(err, SL_EINVAL, "parsing time \"%.*s\": day out of range", SHOWN, s);
    if (p - s == (micro ? 27 : 20)) { /* in the form that is kept, as nearly all are */
        memcpy(out, s, len + 1);
        return 0;
    }
    struct tm tm = {.tm_year = x[YEAR] - 1900,
                    .tm_mon = x[MONTH] - 1,
                    .tm_mday = x[DAY],
                    .tm_hour = x[HOUR],
                    .tm_min = x[MINUTE],
                    .tm_sec = x[SECOND]};
    time_t t = timegm(&tm) - zone;
    gmtime_r(&t, &tm);
    int n = snprintf(out, SL_VALUE_TIME, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900,
                     tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    if (micro)
        n += snprintf(out + n, (size_t)(SL_VALUE_TIME - n), ".%06d", usec);
    sl_fmt(out + n, (size_t)(SL_VALUE_TIME - n), "Z");
    return 0;
}

/* ---- quantities ---- */

enum family { DECIMAL, BINARY, EXPONENT };

/* The text up to the first sign that is not one of these. */
static const char *span(const char *p, const char *end, const char *signs) {
    while (p < end && *p && strchr(signs, *p))
        p++;
    return p;
}

/* A quantity taken apart. */
struct parts {
    enum family family;
    bool digits;          /* are there any? "." is 0 */
    const char *num;      /* before the point, without leading zeros */
    size_t n_num, n_more; /* digits there, and behind the point */
    const char *more;
    int exponent; /* of the suffix: of ten, or of two */
};

static void read_suffix(struct parts *x, const char *p, const char *end) {
    static const char decimal[] = "num kMGTPE", binary[] = "KMGTPE";
    size_t n = (size_t)(end - p);

    if (n > 1 && (*p == 'e' || *p == 'E') && p[1] != 'i') {
        x->family = EXPONENT;
        bool minus = p[1] == '-';
        for (p += 1 + (minus || p[1] == '+'); p < end && x->exponent < 10000; p++)
            x->exponent = x->exponent * 10 + *p - '0';
        x->exponent = minus ? -x->exponent : x->exponent;
    } else if (n == 2 && p[1] == 'i' && strchr(binary, *p)) {
        x->family = BINARY;
        x->exponent = 10 * (int)(strchr(binary, *p) - binary + 1);
    } else if (n == 1 && strchr(decimal, *p)) {
        x->exponent = 3 * (int)(strchr(decimal, *p) - decimal) - 9;
    }
}

/* Go distinguishes two errors: not a quantity at all, and (later) an unknown suffix. */
static int take_apart(const char *s, size_t len, struct parts *x, struct sl_err *err) {
    static const char digits[] = "0123456789";
    const char *end = s + len, *p = s, *q;

    *x = (struct parts){.family = DECIMAL};
    if (p < end && (*p == '+' || *p == '-'))
        p++;
    const char *from = p;
    p = span(p, end, "0");
    q = span(p, end, digits);
    x->num = p;
    x->n_num = (size_t)(q - p);
    x->more = q;
    if (q < end && *q == '.') {
        x->more = q + 1;
        q = span(q + 1, end, digits);
        x->n_more = (size_t)(q - x->more);
    }
    x->digits = q > from && (x->n_more > 0 || *from != '.');
    const char *suffix = q;
    q = span(q, end, "eEinumkKMGTP");
    if (q < end && (*q == '+' || *q == '-'))
        q++;
    q = span(q, end, digits);
    if (suffix == from || q != end)
        return sl_err_set(err, SL_EINVAL,
                          "quantities must match the regular expression "
                          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    read_suffix(x, suffix, end);
    return 0;
}

/* What looks like the one spelling is taken for it, though it may not be ("5.", "12345.678"). */
static bool keeps_spelling(const struct parts *x) {
    int scale = x->exponent - (int)x->n_more;
    size_t n = x->n_num + x->n_more, zeros = 0;

    if (x->n_num == 0 || n > 18)
        return false;
    if (x->family == BINARY) {
        int low = x->num[x->n_num - 1] - '0';
        for (size_t i = 2; i <= 3 && i <= x->n_num; i++)
            low += (x->num[x->n_num - i] - '0') * (i == 2 ? 10 : 100); /* 1000 is a multiple of 8 */
        return x->n_more == 0 && low % 8 != 0 && 14 - (int)n - x->exponent * 3 / 10 >= 0;
    }
    while (zeros < x->n_more && x->more[x->n_more - 1 - zeros] == '0')
        zeros++;
    while (zeros >= x->n_more && zeros < n && x->num[n - 1 - zeros] == '0')
        zeros++;
    return scale >= -9 && scale % 3 == 0 && zeros < 3;
}

/* The largest power of 'base' that divides it, up to 'max'; *q is divided by it. */
static int take_powers(sl_quantity *q, int base, int max) {
    int n = 0;

    while (*q != 0 && n < max && *q % base == 0) {
        *q /= base;
        n++;
    }
    return n;
}

static void print_suffixed(sl_quantity q, enum family family, char out[SL_QUANTITY_TEXT]) {
    static const char *const decimal[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    char suffix[16] = "";

    if (family == BINARY) {
        q = (q + (q > 0 ? SL_NANO - 1 : -(SL_NANO - 1))) / SL_NANO; /* away from zero */
        sl_fmt(suffix, sizeof(suffix), "%s", binary[take_powers(&q, 1024, 6)]);
    } else if (q != 0) {
        int thousands = take_powers(&q, 1000, 9);
        if (family == DECIMAL)
            sl_fmt(suffix, sizeof(suffix), "%s", decimal[thousands]);
        else if (thousands != 3)
            sl_fmt(suffix, sizeof(suffix), "e%d", 3 * thousands - 9);
    }
    sl_fmt(out, SL_QUANTITY_TEXT, "%lld%s", (long long)q, suffix);
}

int schema_value_quantity(const char *s, size_t len, bool milli, char out[SL_QUANTITY_TEXT],
                          struct sl_err *err) {
    struct parts x;
    sl_quantity q = 0;
    int r = take_apart(s, len, &x, err);

    if (r < 0)
        return r;
    if (x.digits && sl_quantity_parse(s, len, &q, NULL) < 0)
        return sl_err_set(err, SL_EINVAL, "unable to parse quantity's suffix");
    bool fine = x.family != BINARY && x.exponent - (int)x.n_more < -3; /* below a thousandth */
    if (keeps_spelling(&x) && len < SL_QUANTITY_TEXT && !(milli && fine)) {
        sl_fmt(out, SL_QUANTITY_TEXT, "%.*s", (int)len, s);
        return 0;
    }
    if (milli) {
        const sl_quantity unit = SL_NANO / 1000, rest = q % unit;
        q += rest > 0 ? unit - rest : rest < 0 ? -unit - rest : 0;
    }
    /* Small binary amounts would lose their fractions. */
    const sl_quantity kibi = (sl_quantity)1024 * SL_NANO;
    if (x.family == BINARY && q > -kibi && q < kibi)
        x.family = DECIMAL;
    print_suffixed(q, x.family, out);
    return 0;
}

/* ---- base64 ---- */

int64_t schema_value_base64(const char *s, size_t len) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t group = 0, i = 0, last = 0; /* letters of the group, and where the last one was */

    for (; i < len; i++) {
        if (s[i] == '\r' || s[i] == '\n')
            continue;
        if (s[i] == '=')
            break;
        if (!s[i] || !strchr(letters, s[i]))
            return (int64_t)i;
        group = (group + 1) % 4;
        last = i + 1;
    }
    size_t want = group == 0 ? 0 : 4 - group, had = 0;
    if (i == len)
        return want == 0 ? -1 : (int64_t)(last - group);
    if (want == 0 || want == 3)
        return (int64_t)i;
    for (; i < len; i++) {
        if (s[i] == '\r' || s[i] == '\n')
            continue;
        if (s[i] != '=' || had == want)
            return (int64_t)i;
        had++;
    }
    return had == want ? -1 : (int64_t)len;
}
