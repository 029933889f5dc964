#include "cluster/cron.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 512u
#define MAX_YEARS 5
/* Clocks are set at whole quarters of an hour, everywhere. */
#define QUARTER 900
#define DAY 86400

/* ---- reading ---- */

struct field {
    const char *name;
    uint32_t min, max;
    const char *words; /* of three letters each; the first stands for 'from' */
    uint32_t from;
};

static const struct field fields[] = {
    {"minute", 0, 59, "", 0},
    {"hour", 0, 23, "", 0},
    {"day of month", 1, 31, "", 0},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1},
    {"day of week", 0, 6, "sunmontuewedthufrisat", 0},
};

/* A number or a name. Returns what follows it, NULL if there is none. */
static const char *value(const struct field *f, const char *s, uint32_t *ret) {
    char word[4] = "";
    if (*s >= '0' && *s <= '9') {
        for (*ret = 0; *s >= '0' && *s <= '9' && *ret < 1000; s++)
            *ret = *ret * 10 + (uint32_t)(*s - '0');
        return s;
    }
    for (uint32_t i = 0; i < 3 && s[i]; i++)
        word[i] = (char)(s[i] | 0x20);
    if (strlen(word) != 3)
        return NULL;
    for (uint32_t i = 0; f->words[i]; i += 3)
        if (strncmp(&f->words[i], word, 3) == 0) {
            *ret = f->from + i / 3;
            return s + 3;
        }
    return NULL;
}

/* One part of a list: "*", "5", "1-5", each with "/2" behind it. */
static const char *part(const struct field *f, const char *s, uint64_t *bits, bool *any) {
    uint32_t from = f->min, to = f->max, step = 1;
    bool star = *s == '*' || *s == '?', range = star;
    if (star) {
        s++;
    } else {
        s = value(f, s, &from);
        to = from;
        if (s && *s == '-') {
            s = value(f, s + 1, &to);
            range = true;
        }
    }
    if (s && *s == '/') {
        if (s[1] < '0' || s[1] > '9')
            return NULL;
        s = value(f, s + 1, &step);
        to = range ? to : f->max;
    }
    if (!s || from < f->min || to > f->max || from > to || step == 0)
        return NULL;
    *any |= star && step == 1;
    for (uint32_t v = from; v <= to; v += step)
        *bits |= UINT64_C(1) << v;
    return s;
}

static int read_field(const struct field *f, const char **text, uint64_t *bits, bool *any,
                      struct sl_err *err) {
    const char *s = *text;
    for (;;) {
        s = part(f, s, bits, any);
        if (!s || (*s && *s != ',' && *s != ' ' && *s != '\t'))
            return sl_err_set(err, SL_EINVAL, "cannot read the %s in \"%.40s\"", f->name, *text);
        if (*s != ',')
            break;
        s++;
    }
    *text = s + strspn(s, " \t");
    return 0;
}

static int read_word(const char *text, struct cron *c, struct sl_err *err) {
    static const struct {
        const char *word, *fields;
    } words[] = {{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
                 {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
                 {"@hourly", "0 * * * *"}};
    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(words[i].word, text) == 0)
            return cl_cron_read(words[i].fields, c, err);
    if (strncmp(text, "@every ", 7) != 0)
        return sl_err_set(err, SL_EINVAL, "unrecognized descriptor: %.40s", text);
    int r = sl_span_parse(text + 7, strlen(text + 7), &c->every, err);
    if (r < 0)
        return r;
    c->every -= c->every % SL_SEC;
    c->every = c->every < SL_SEC ? SL_SEC : c->every;
    return 0;
}

int cl_cron_read(const char *text, struct cron *ret, struct sl_err *err) {
    struct cron c = {0};
    uint64_t *bits[] = {&c.minute, &c.hour, &c.dom, &c.month, &c.dow};
    bool any[SL_LEN(fields)] = {0};
    int r = 0;
    if (strlen(text) > MAX_TEXT)
        return sl_err_set(err, SL_EINVAL, "a schedule of more than %u bytes", MAX_TEXT);
    text += strspn(text, " \t");
    if (*text == '@') {
        r = read_word(text, &c, err);
    } else {
        for (size_t i = 0; i < SL_LEN(fields) && r >= 0; i++)
            r = *text ? read_field(&fields[i], &text, bits[i], &any[i], err)
                      : sl_err_set(err, SL_EINVAL, "expected exactly 5 fields, found %zu", i);
        if (r >= 0 && *text)
            r = sl_err_set(err, SL_EINVAL, "expected exactly 5 fields, found more");
        c.any_dom = any[2];
        c.any_dow = any[4];
    }
    if (r >= 0)
        *ret = c;
    return r;
}

/* ---- the next time ---- */

struct civil {
    int64_t year;
    uint32_t month, day, dow, hour, minute;
};

/* Proleptic Gregorian calendar, years counted from March. */
static void civil_of(int64_t local, struct civil *ret) {
    int64_t days = (local >= 0 ? local : local - (DAY - 1)) / DAY, rest = local - days * DAY;
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    ret->day = (uint32_t)(doy - (153 * mp + 2) / 5 + 1);
    ret->month = (uint32_t)(mp < 10 ? mp + 3 : mp - 9);
    ret->year = yoe + era * 400 + (ret->month <= 2);
    ret->dow = (uint32_t)(((days + 4) % 7 + 7) % 7);
    ret->hour = (uint32_t)(rest / 3600);
    ret->minute = (uint32_t)(rest / 60 % 60);
}

static bool has(uint64_t bits, uint32_t v) {
    return bits >> v & 1;
}

static bool day_is_met(const struct cron *c, const struct civil *t) {
    bool dom = has(c->dom, t->day), dow = has(c->dow, t->dow);
    return c->any_dom || c->any_dow ? dom && dow : dom || dow;
}

sl_time cl_cron_next(const struct cron *c, const struct cron_zone *z, sl_time t) {
    int64_t s = t / SL_SEC;
    struct civil at;
    if (c->every)
        return sl_time_add(s * SL_SEC, c->every);
    s = s - s % 60 + 60;
    civil_of(s, &at);
    for (int64_t end = at.year + MAX_YEARS; at.year <= end;) {
        civil_of(s + cl_zone_offset(z, s), &at);
        if (!has(c->month, at.month) || !day_is_met(c, &at) || !has(c->hour, at.hour))
            s += QUARTER - s % QUARTER;
        else if (!has(c->minute, at.minute))
            s += 60;
        else
            return s * SL_SEC;
    }
    return 0;
}
