#include "apiserver/cron.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const days[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct {
    const char *name;
    unsigned min, max;
    const char *const *words;
    unsigned first; /* what the first word means */
} fields[] = {
    {"minute", 0, 59, NULL, 0},  {"hour", 0, 23, NULL, 0},   {"day", 1, 31, NULL, 0},
    {"month", 1, 12, months, 1}, {"weekday", 0, 6, days, 0},
};
#define FIELDS 5u
#define TEXT_MAX 256u

static bool same_word(const char *word, const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        char c = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] - 'A' + 'a') : s[i];
        if (word[i] != c)
            return false;
    }
    return word[len] == '\0';
}

static int number(size_t field, const char *s, size_t len, unsigned *ret, struct sl_err *err) {
    for (size_t i = 0; fields[field].words && fields[field].words[i]; i++) {
        if (same_word(fields[field].words[i], s, len)) {
            *ret = fields[field].first + (unsigned)i;
            return 0;
        }
    }
    *ret = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] < '0' || s[i] > '9' || len > 9)
            return sl_err_set(
                err, SL_EINVAL,
                "failed to parse int from %.*s: strconv.Atoi: parsing \"%.*s\": invalid syntax",
                (int)len, s, (int)len, s);
        *ret = *ret * 10 + (unsigned)(s[i] - '0');
    }
    if (len == 0)
        return sl_err_set(err, SL_EINVAL,
                          "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax");
    return 0;
}

/* A star, "1-5", and either of them with "/2". */
static int range(size_t field, const char *s, size_t len, struct sl_err *err) {
    const char *slash = memchr(s, '/', len), *dash;
    size_t head = slash ? (size_t)(slash - s) : len;
    unsigned from = fields[field].min, to = fields[field].max, step = 1;
    int r;

    if (slash && memchr(slash + 1, '/', len - head - 1))
        return sl_err_set(err, SL_EINVAL, "too many slashes: %.*s", (int)len, s);
    if (!(head == 1 && (*s == '*' || *s == '?'))) {
        dash = memchr(s, '-', head);
        size_t low = dash ? (size_t)(dash - s) : head;
        if (dash && memchr(dash + 1, '-', head - low - 1))
            return sl_err_set(err, SL_EINVAL, "too many hyphens: %.*s", (int)len, s);
        r = number(field, s, low, &from, err);
        if (r < 0)
            return r;
        to = from;
        if (dash)
            r = number(field, dash + 1, head - low - 1, &to, err);
        else if (slash)
            to = fields[field].max;
        if (r < 0)
            return r;
    }
    if (slash) {
        r = number(0, slash + 1, len - head - 1, &step, err);
        if (r < 0)
            return r;
    }
    if (from < fields[field].min)
        return sl_err_set(err, SL_EINVAL, "beginning of range (%u) below minimum (%u): %.*s", from,
                          fields[field].min, (int)len, s);
    if (to > fields[field].max)
        return sl_err_set(err, SL_EINVAL, "end of range (%u) above maximum (%u): %.*s", to,
                          fields[field].max, (int)len, s);
    if (from > to)
        return sl_err_set(err, SL_EINVAL, "beginning of range (%u) beyond end of range (%u): %.*s",
                          from, to, (int)len, s);
    if (step == 0)
        return sl_err_set(err, SL_EINVAL, "step of range should be a positive number: %.*s",
                          (int)len, s);
    return 0;
}

static int at_word(const char *s, struct sl_err *err) {
    static const char *const known[] = {"@yearly", "@annually", "@monthly", "@weekly",
                                        "@daily",  "@midnight", "@hourly"};
    sl_span every;

    for (size_t i = 0; i < SL_LEN(known); i++)
        if (strcmp(s, known[i]) == 0)
            return 0;
    if (strncmp(s, "@every ", 7) == 0) {
        if (sl_span_parse(s + 7, strlen(s + 7), &every, NULL) < 0)
            return sl_err_set(err, SL_EINVAL,
                              "failed to parse duration %s: time: invalid duration \"%s\"", s,
                              s + 7);
        return 0;
    }
    return sl_err_set(err, SL_EINVAL, "unrecognized descriptor: %s", s);
}

int sl_cron_check(const char *schedule, struct sl_err *err) {
    const char *found[FIELDS];
    size_t len[FIELDS], n = 0;

    if (strlen(schedule) > TEXT_MAX)
        return sl_err_set(err, SL_ELIMIT, "longer than %u bytes", TEXT_MAX);
    if (*schedule == '@')
        return at_word(schedule, err);
    for (const char *p = schedule + strspn(schedule, " \t"); *p; p += strspn(p, " \t")) {
        size_t word = strcspn(p, " \t");
        if (n < FIELDS) {
            found[n] = p;
            len[n] = word;
        }
        n++;
        p += word;
    }
    if (n != FIELDS) {
        const char *from = schedule + strspn(schedule, " ");
        return sl_err_set(err, SL_EINVAL, "expected exactly 5 fields, found %zu: [%s]", n, from);
    }
    for (size_t i = 0; i < FIELDS; i++) {
        for (size_t at = 0; at <= len[i];) {
            const char *comma = memchr(found[i] + at, ',', len[i] - at);
            size_t piece = comma ? (size_t)(comma - found[i]) - at : len[i] - at;
            int r = range(i, found[i] + at, piece, err);
            if (r < 0)
                return r;
            at += piece + 1;
        }
    }
    return 0;
}
