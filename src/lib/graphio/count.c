/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts written as strings. A set (RFC 22) has commas or is one range, a range (RFC 45) has a '+'
 * or a ':' behind its ends; where both could be meant ("4", "2-8") they mean the same.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/fmt.h"
#include "lib/graphio/idset.h"
#include "lib/graphio/jobspec_read.h"

#define WANTED                                                                                     \
    "expected a number from 1 to 4294967295, a set such as \"2,4,8-12\", or a range such as "      \
    "\"2-8:2:*\" or \"3+\""

static int bad_count(const char *text, const char *why, struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL, WANTED ", got \"%.60s\"%s%s", text, *why ? ": " : "", why);
}

/* A number without leading zeros; *p is moved behind it. */
static bool parse_number(const char **p, uint32_t *ret) {
    uint64_t v = 0;

    if (**p < '1' || **p > '9')
        return false;
    for (; **p >= '0' && **p <= '9'; (*p)++) {
        v = v * 10 + (uint64_t)(**p - '0');
        if (v > SL_REQ_COUNT_MAX)
            return false;
    }
    *ret = (uint32_t)v;
    return true;
}

const char *sl_graphio_count_fault(const struct sl_req_count *c) {
    if (c->max < c->min)
        return "max is less than min";
    if (c->op == '^' && c->min < 2)
        return "with the operator ^, min is at least 2";
    if (c->operand < (c->op == '+' ? 1u : 2u))
        return c->op == '+' ? "the operand is at least 1"
                            : "with the operators * and ^, the operand is at least 2";
    return "";
}

/* min-max:operand:operator, min+:operand:operator, and what may be left out of them. */
static bool range(const char *p, struct sl_req_count *ret) {
    struct sl_req_count c = {.op = '+', .operand = 1, .max = SL_REQ_COUNT_MAX};

    if (!parse_number(&p, &c.min))
        return false;
    if (*p == '+')
        p++;
    else if (*p == '\0')
        c.max = c.min;
    else if (*p++ != '-' || !parse_number(&p, &c.max))
        return false;
    if (*p == ':') {
        p++;
        if (!parse_number(&p, &c.operand))
            return false;
        if (*p == ':') {
            if (p[1] == '\0' || !strchr("+*^", p[1]))
                return false;
            c.op = p[1];
            p += 2;
        }
    }
    *ret = c;
    return *p == '\0';
}

static int set(const char *text, struct sl_arena *a, struct sl_req_count *ret, struct sl_err *err) {
    struct sl_idset ids = {0};
    int r = sl_idset_add(&ids, text, NULL);
    uint64_t n = sl_idset_count(&ids);

    if (r < 0 || n == 0 || ids.ranges.v[0].first == 0) {
        r = bad_count(text, r < 0 || n == 0 ? "" : "0 is no count", err);
    } else if (n > SL_REQ_COUNT_MAX_SET) {
        r = sl_err_set(err, SL_ELIMIT, "a set of more than %u counts", SL_REQ_COUNT_MAX_SET);
    } else {
        uint32_t *v = sl_arena_alloc(a, n * sizeof(*v)), k = 0;
        for (uint32_t i = 0; i < ids.ranges.n; i++)
            for (int64_t id = ids.ranges.v[i].first; id <= ids.ranges.v[i].last; id++)
                v[k++] = (uint32_t)id;
        *ret = (struct sl_req_count){
            .min = v[0], .max = v[k - 1], .op = '+', .operand = 1, .set = v, .n_set = k};
    }
    sl_idset_done(&ids);
    return r;
}

int sl_graphio_count_parse(const char *text, struct sl_arena *a, struct sl_req_count *ret,
                           struct sl_err *err) {
    char plain[64];
    size_t n = strlen(text);
    const char *inside = text;
    struct sl_req_count c;

    if (n > 2 && n < sizeof(plain) && text[0] == '[' && text[n - 1] == ']') {
        sl_fmt(plain, sizeof(plain), "%.*s", (int)(n - 2), text + 1);
        inside = plain;
    }
    if (!range(inside, &c))
        return set(text, a, ret, err);
    const char *fault = sl_graphio_count_fault(&c);
    if (*fault)
        return bad_count(text, fault, err);
    *ret = c;
    return 0;
}
