/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/types/cron.h"

#include <string.h>

#define MAX_TEXT 256u
#define FIELDS 5u
static const char blanks[] = " \t\n\v\f\r";

struct field {
    unsigned min, max;
    const char *words; /* of three letters each; the first stands for 'min' */
};
static const struct field fields[FIELDS] = {
    {0, 59, ""},
    {0, 23, ""},
    {1, 31, ""},
    {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {0, 6, "sunmontuewedthufrisat"},
};

struct text {
    const char *s;
    size_t n;
};
#define WORD(t) (int)(t).n, (t).s

/* What is before the separator; t is then what follows it, t->s NULL if there was none. */
static struct text cut_text(struct text *t, char sep) {
    const char *at = memchr(t->s, sep, t->n);
    const struct text head = {t->s, at ? (size_t)(at - t->s) : t->n};

    *t = at ? (struct text){at + 1, t->n - head.n - 1} : (struct text){NULL, 0};
    return head;
}

static int parse_number(struct text t, unsigned *ret, struct sl_err *err) {
    const size_t sign = t.n > 1 && t.s[0] == '+';
    uint64_t v = 0;

    for (size_t i = sign; i < t.n || t.n == 0; i++) {
        if (t.n == 0 || t.s[i] < '0' || t.s[i] > '9')
            return sl_err_set(
                err, SL_EINVAL,
                "failed to parse int from %.*s: strconv.Atoi: parsing \"%.*s\": invalid syntax",
                WORD(t), WORD(t));
        if (v <= UINT32_MAX) /* more than any field takes, whatever follows */
            v = v * 10 + (uint64_t)(t.s[i] - '0');
    }
    *ret = v > UINT32_MAX ? UINT32_MAX : (unsigned)v;
    return 0;
}

static int parse_number_or_name(const struct field *f, struct text t, unsigned *ret,
                                struct sl_err *err) {
    for (unsigned i = 0; t.n == 3 && f->words[i]; i += 3) {
        bool same = true;
        for (unsigned k = 0; k < 3; k++)
            same &= f->words[i + k] == (t.s[k] >= 'A' && t.s[k] <= 'Z' ? t.s[k] | 0x20 : t.s[k]);
        if (same) {
            *ret = f->min + i / 3;
            return 0;
        }
    }
    return parse_number(t, ret, err);
}

/* A star, "5" or "1-5", each with "/2" behind it. */
static int read_range(const struct field *f, struct text whole, uint64_t *bits, bool *any,
                      struct sl_err *err) {
    struct text steps = whole, high = cut_text(&steps, '/'), low = cut_text(&high, '-');
    const bool star = low.n == 1 && (*low.s == '*' || *low.s == '?'), single = !high.s;
    unsigned from = f->min, to = f->max, step = 1;
    int r = 0;

    if (!star) {
        r = parse_number_or_name(f, low, &from, err);
        if (r >= 0 && high.s && memchr(high.s, '-', high.n))
            r = sl_err_set(err, SL_EINVAL, "too many hyphens: %.*s", WORD(whole));
        else if (r >= 0 && high.s)
            r = parse_number_or_name(f, high, &to, err);
        else
            to = from;
    }
    if (r >= 0 && steps.s && memchr(steps.s, '/', steps.n))
        r = sl_err_set(err, SL_EINVAL, "too many slashes: %.*s", WORD(whole));
    else if (r >= 0 && steps.s)
        r = parse_number(steps, &step, err);
    if (r < 0)
        return r;
    if (steps.s && single)
        to = f->max;
    if (from < f->min)
        return sl_err_set(err, SL_EINVAL, "beginning of range (%u) below minimum (%u): %.*s", from,
                          f->min, WORD(whole));
    if (to > f->max)
        return sl_err_set(err, SL_EINVAL, "end of range (%u) above maximum (%u): %.*s", to, f->max,
                          WORD(whole));
    if (from > to)
        return sl_err_set(err, SL_EINVAL, "beginning of range (%u) beyond end of range (%u): %.*s",
                          from, to, WORD(whole));
    if (step == 0)
        return sl_err_set(err, SL_EINVAL, "step of range should be a positive number: %.*s",
                          WORD(whole));
    *any |= star && step == 1;
    sl_assert(to < 64);
    if (step > f->max)
        step = f->max + 1;
    for (unsigned v = from; v <= to; v += step)
        *bits |= UINT64_C(1) << v;
    return 0;
}

/* A list; empty places in it mean nothing. */
static int read_field(const struct field *f, struct text t, uint64_t *bits, bool *any,
                      struct sl_err *err) {
    int r = 0;

    while (t.s && r >= 0) {
        const struct text one = cut_text(&t, ',');
        if (one.n > 0)
            r = read_range(f, one, bits, any, err);
    }
    return r;
}

static int read_fields(const char *text, struct sl_cron *c, struct sl_err *err) {
    uint64_t *bits[FIELDS] = {&c->minute, &c->hour, &c->dom, &c->month, &c->dow};
    bool any[FIELDS] = {0};
    struct text found[FIELDS] = {0};
    char all[MAX_TEXT + 2] = "";
    size_t n = 0, len = 0;
    int r = 0;

    for (const char *p = text + strspn(text, blanks); *p; p += strspn(p, blanks)) {
        const struct text word = {p, strcspn(p, blanks)};
        if (n < FIELDS)
            found[n] = word;
        if (n++ > 0)
            all[len++] = ' ';
        memcpy(all + len, word.s, word.n);
        len += word.n;
        p += word.n;
    }
    if (n != FIELDS)
        return sl_err_set(err, SL_EINVAL, "expected exactly 5 fields, found %zu: [%s]", n, all);
    for (size_t i = 0; i < FIELDS && r >= 0; i++)
        r = read_field(&fields[i], found[i], bits[i], &any[i], err);
    c->any_dom = any[2];
    c->any_dow = any[4];
    return r;
}

static int read_macro(const char *text, struct sl_cron *c, struct sl_err *err) {
    static const struct {
        const char *word, *fields;
    } words[] = {{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
                 {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
                 {"@hourly", "0 * * * *"}};

    for (size_t i = 0; i < SL_LEN(words); i++)
        if (strcmp(words[i].word, text) == 0)
            return read_fields(words[i].fields, c, err);
    if (strncmp(text, "@every ", 7) != 0)
        return sl_err_set(err, SL_EINVAL, "unrecognized descriptor: %s", text);
    if (sl_span_parse(text + 7, strlen(text + 7), &c->every, NULL) < 0)
        return sl_err_set(err, SL_EINVAL,
                          "failed to parse duration %s: time: invalid duration \"%s\"", text,
                          text + 7);
    c->every -= c->every % SL_SEC;
    c->every = c->every < SL_SEC ? SL_SEC : c->every;
    return 0;
}

int sl_cron_read(const char *text, struct sl_cron *ret, struct sl_err *err) {
    struct sl_cron c = {0};
    int r;

    if (!*text)
        return sl_err_set(err, SL_EINVAL, "empty spec string");
    if (strlen(text) > MAX_TEXT)
        return sl_err_set(err, SL_EINVAL, "longer than %u bytes", MAX_TEXT);
    r = *text == '@' ? read_macro(text, &c, err) : read_fields(text, &c, err);
    if (r >= 0)
        *ret = c;
    return r;
}
