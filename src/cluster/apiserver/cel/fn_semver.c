/* SPDX-License-Identifier: Apache-2.0 */
/* semver(): versions as semver.org has them. */
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

struct api_cel_semver {
    uint64_t v[3];
    struct sl_text pre;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Digits without zeros in front; false: there are none, or too many. */
static bool number(const char **p, const char *end, bool loose, uint64_t *ret) {
    const char *from = *p;

    for (*ret = 0; *p < end && is_digit(**p); (*p)++)
        if (__builtin_mul_overflow(*ret, 10, ret) ||
            __builtin_add_overflow(*ret, (uint64_t)(**p - '0'), ret))
            return false;
    return *p > from && (loose || *p == from + 1 || *from != '0');
}

/* a.b.c of letters, digits and hyphens; strict: numbers have no zeros in front. */
static bool words(struct sl_text t, bool strict) {
    size_t from = 0;

    for (size_t i = 0; i <= t.n; i++) {
        if (i < t.n && t.s[i] != '.') {
            bool letter = (t.s[i] | 0x20) >= 'a' && (t.s[i] | 0x20) <= 'z';
            if (!letter && !is_digit(t.s[i]) && t.s[i] != '-')
                return false;
            continue;
        }
        size_t digits = 0;
        while (from + digits < i && is_digit(t.s[from + digits]))
            digits++;
        if (i == from || (strict && from + digits == i && digits > 1 && t.s[from] == '0'))
            return false;
        from = i + 1;
    }
    return true;
}

/* loose: "v1" is 1.0.0, and 01 is 1. */
static bool parse(const char *p, size_t len, bool loose, struct api_cel_semver *ret) {
    const char *end = p + len;
    int n = 0;

    *ret = (struct api_cel_semver){.pre = SL_TEXT("")};
    if (loose && p < end && *p == 'v')
        p++;
    for (; n < 3; n++) {
        if (n > 0 && (p == end || *p != '.'))
            break;
        p += n > 0;
        if (!number(&p, end, loose, &ret->v[n]))
            return false;
    }
    if (n < 3)
        return loose && p == end;
    const char *build = memchr(p, '+', (size_t)(end - p));
    if (build && !words((struct sl_text){build + 1, (size_t)(end - build - 1)}, false))
        return false;
    end = build ? build : end;
    if (p == end)
        return true;
    ret->pre = (struct sl_text){p + 1, (size_t)(end - p - 1)};
    return *p == '-' && words(ret->pre, true);
}

static struct sl_text next_word(struct sl_text *t) {
    const char *dot = memchr(t->s, '.', t->n);
    struct sl_text word = {t->s, dot ? (size_t)(dot - t->s) : t->n};

    t->s += word.n + (dot != NULL);
    t->n -= word.n + (dot != NULL);
    return word;
}

static bool is_number(struct sl_text t) {
    for (size_t i = 0; i < t.n; i++)
        if (!is_digit(t.s[i]))
            return false;
    return true;
}

static int compare_words(struct sl_text a, struct sl_text b) {
    const bool x = is_number(a), y = is_number(b);

    if (x != y)
        return x ? -1 : 1;
    if (x && a.n != b.n)
        return a.n > b.n ? 1 : -1;
    int c = sl_text_cmp(a, b);
    return (c > 0) - (c < 0);
}

int api_cel_semver_compare(const struct api_cel_semver *a, const struct api_cel_semver *b) {
    struct sl_text x = a->pre, y = b->pre;

    for (int i = 0; i < 3; i++)
        if (a->v[i] != b->v[i])
            return a->v[i] > b->v[i] ? 1 : -1;
    if (!x.n || !y.n)
        return (x.n == 0) - (y.n == 0);
    while (x.n && y.n) {
        int c = compare_words(next_word(&x), next_word(&y));
        if (c)
            return c;
    }
    return (x.n > 0) - (y.n > 0);
}

enum { MAKE, ASK };

static struct api_value make_semver(struct api_cel_call *c) {
    const struct api_value *s = &c->args[0];
    struct api_cel_semver v, *made;

    if (!api_cel_charge(c->run, s->len / 8))
        return api_cel_too_costly(c->run);
    bool valid = parse(s->s, s->len, c->n > 1 && c->args[1].yes, &v);
    if (c->how == ASK)
        return api_cel_bool(valid);
    if (!valid)
        return api_cel_error(c->run, "No Major.Minor.Patch elements found");
    if (!(made = api_cel_make(c->run, sizeof(*made))))
        return api_cel_too_costly(c->run);
    *made = v;
    return (struct api_value){.kind = V_SEMVER, .semver = made};
}

static struct api_value part(struct api_cel_call *c) {
    const uint64_t n = c->args[0].semver->v[c->how];
    return n > INT64_MAX ? api_cel_error(c->run, "integer overflow") : api_cel_int((int64_t)n);
}

enum { GREATER, LESS, ORDER };

static struct api_value compare(struct api_cel_call *c) {
    const int order = api_cel_semver_compare(c->args[0].semver, c->args[1].semver);
    return c->how == ORDER ? api_cel_int(order)
                           : api_cel_bool(order == (c->how == GREATER ? 1 : -1));
}

const struct api_cel_function api_cel_functions_semver[] = {
    {"semver", false, "s", 'V', make_semver, MAKE},
    {"semver", false, "sb", 'V', make_semver, MAKE},
    {"isSemver", false, "s", 'b', make_semver, ASK},
    {"isSemver", false, "sb", 'b', make_semver, ASK},
    {"major", true, "V", 'i', part, 0},
    {"minor", true, "V", 'i', part, 1},
    {"patch", true, "V", 'i', part, 2},
    {"isGreaterThan", true, "VV", 'b', compare, GREATER},
    {"isLessThan", true, "VV", 'b', compare, LESS},
    {"compareTo", true, "VV", 'i', compare, ORDER},
    {0},
};
