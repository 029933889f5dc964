/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by python.c and python_item.c. */
#ifndef SL_LIB_PATTERN_PYTHON_INT_H
#define SL_LIB_PATTERN_PYTHON_INT_H

#include "lib/pattern/pattern.h"
#include "lib/pattern/python.h"

#define PATTERN_END (-1)

/* What a quantifier would be about. */
enum pattern_last { PATTERN_NOTHING, PATTERN_ITEM, PATTERN_REPEAT };

struct pattern_scan {
    struct sl_text in;
    size_t at;
    struct sl_buf *out;
    struct sl_err *err;
    struct {
        uint32_t group; /* 0: it captures nothing */
        bool verbose;   /* around it */
    } open[SL_PATTERN_MAX_GROUPS];
    uint32_t depth, groups;
    unsigned flags;
    bool verbose;
    enum pattern_last last;
};

static inline int pattern_fault(const struct pattern_scan *s, const char *why) {
    return sl_err_set(s->err, SL_EINVAL, "%s at byte %zu", why, s->at);
}

static inline int pattern_peek(const struct pattern_scan *s, size_t ahead) {
    return s->at + ahead < s->in.n ? (unsigned char)s->in.s[s->at + ahead] : PATTERN_END;
}

/* Passes the character if it is the next one. */
static inline bool pattern_take(struct pattern_scan *s, char c) {
    bool is = pattern_peek(s, 0) == (unsigned char)c;

    s->at += is;
    return is;
}

static inline bool pattern_one_of(int c, const char *set) {
    return c > 0 && strchr(set, c);
}

static inline bool pattern_is_digit(int c) {
    return c >= '0' && c <= '9';
}

static inline bool pattern_is_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- python_item.c ---- */

int pattern_take_literal(struct pattern_scan *s);
int pattern_take_escaped(struct pattern_scan *s); /* after the backslash */
int pattern_take_set(struct pattern_scan *s);     /* after the bracket */

#endif
