/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of a pattern: characters, escapes and sets.
 */
#include "lib/pattern/python_int.h"

#define MAX_CODE_POINT 0x10ffffu

/* ---- characters ---- */

static bool is_octal(int c) {
    return c >= '0' && c <= '7';
}

static int hex_of(int c) {
    if (pattern_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next character of UTF-8. There is one. */
static int take_char(struct pattern_scan *s, uint32_t *ret) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c = (unsigned char)s->in.s[s->at];
    int n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;

    if (n == 0)
        return pattern_fault(s, "no UTF-8");
    if (n > 1)
        c &= 0x7fu >> n;
    for (int i = 1; i < n; i++) {
        int more = pattern_peek(s, (size_t)i);
        if (more == PATTERN_END || (more & 0xc0) != 0x80)
            return pattern_fault(s, "no UTF-8");
        c = c << 6 | ((uint32_t)more & 0x3f);
    }
    if (c < least[n] || c > MAX_CODE_POINT)
        return pattern_fault(s, "no UTF-8");
    s->at += (size_t)n;
    *ret = c;
    return 0;
}

/* By itself, inside of a set and outside. */
static void put_char(struct pattern_scan *s, uint32_t c) {
    if (c < 0x80 && (pattern_is_letter((int)c) || pattern_is_digit((int)c)))
        sl_buf_putc(s->out, (char)c);
    else
        sl_buf_printf(s->out, "\\x{%x}", c);
}

/* ---- escapes ---- */

struct escape {
    enum { CHAR, CATEGORY, ANCHOR, GROUP } kind;
    uint32_t c; /* code point, letter or number of the group */
};

static int take_hex(struct pattern_scan *s, int digits, uint32_t *ret) {
    uint64_t c = 0;

    for (int i = 0; i < digits; i++, s->at++) {
        int h = hex_of(pattern_peek(s, 0));
        if (h < 0)
            return pattern_fault(s, "incomplete escape");
        c = c << 4 | (uint64_t)h;
    }
    if (c > MAX_CODE_POINT)
        return pattern_fault(s, "bad escape");
    *ret = (uint32_t)c;
    return 0;
}

static int take_octal(struct pattern_scan *s, int digits, uint32_t *ret) {
    uint32_t c = 0;

    for (int i = 0; i < digits && is_octal(pattern_peek(s, 0)); i++, s->at++)
        c = c << 3 | (uint32_t)(pattern_peek(s, 0) - '0');
    *ret = c;
    return c > 0377 ? pattern_fault(s, "octal escape outside of range 0-0o377") : 0;
}

static int check_group(struct pattern_scan *s, uint32_t group) {
    if (group > s->groups)
        return pattern_fault(s, "invalid group reference");
    for (uint32_t i = 0; i < s->depth; i++)
        if (s->open[i].group == group)
            return pattern_fault(s, "cannot refer to an open group");
    return 0;
}

/* A number after a backslash: three octal digits, or a group. In a set it is always a character. */
static int take_number(struct pattern_scan *s, bool in_set, struct escape *ret) {
    bool octal = is_octal(pattern_peek(s, 0)) && is_octal(pattern_peek(s, 1)) &&
                 is_octal(pattern_peek(s, 2));

    if (in_set && !is_octal(pattern_peek(s, 0)))
        return pattern_fault(s, "bad escape");
    if (in_set || octal || pattern_peek(s, 0) == '0')
        return take_octal(s, 3, &ret->c);
    ret->kind = GROUP;
    for (int i = 0; i < 2 && pattern_is_digit(pattern_peek(s, 0)); i++, s->at++)
        ret->c = ret->c * 10 + (uint32_t)(pattern_peek(s, 0) - '0');
    return check_group(s, ret->c);
}

/* A letter after a backslash. */
static int take_letter(struct pattern_scan *s, bool in_set, struct escape *ret) {
    static const char plain[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
    int c = pattern_peek(s, 0);
    const char *known = strchr(plain, c);

    s->at++;
    ret->c = (uint32_t)c;
    if (pattern_one_of(c, "dDsSwW"))
        ret->kind = CATEGORY;
    else if (pattern_one_of(c, "AbBZ") && !in_set)
        ret->kind = ANCHOR;
    else if (c == 'b')
        ret->c = '\b';
    else if (known)
        ret->c = (uint32_t)codes[known - plain];
    else if (pattern_one_of(c, "xuU"))
        return take_hex(s, c == 'x' ? 2 : c == 'u' ? 4 : 8, &ret->c);
    else
        return pattern_fault(s, c == 'N' ? "\\N{NAME} is not supported, use \\u" : "bad escape");
    return 0;
}

/* After the backslash. */
static int take_escape(struct pattern_scan *s, bool in_set, struct escape *ret) {
    int c = pattern_peek(s, 0);

    *ret = (struct escape){.kind = CHAR};
    if (c == PATTERN_END)
        return pattern_fault(s, "bad escape (end of pattern)");
    if (pattern_is_digit(c))
        return take_number(s, in_set, ret);
    return pattern_is_letter(c) ? take_letter(s, in_set, ret) : take_char(s, &ret->c);
}

int pattern_take_escaped(struct pattern_scan *s) {
    struct escape e;
    int r = take_escape(s, false, &e);

    if (r < 0)
        return r;
    s->last = e.kind == ANCHOR ? PATTERN_NOTHING : PATTERN_ITEM;
    if (e.kind == CHAR)
        put_char(s, e.c);
    else if (e.kind == GROUP)
        sl_buf_printf(s->out, "\\g{%u}", e.c);
    else /* PCRE2's \Z also matches before a last newline */
        sl_buf_printf(s->out, "\\%c", e.c == 'Z' ? 'z' : (char)e.c);
    return 0;
}

/* ---- sets ---- */

static int take_member(struct pattern_scan *s, struct escape *ret) {
    *ret = (struct escape){.kind = CHAR};
    if (pattern_peek(s, 0) == PATTERN_END)
        return pattern_fault(s, "unterminated character set");
    return pattern_take(s, '\\') ? take_escape(s, true, ret) : take_char(s, &ret->c);
}

static void put_member(struct pattern_scan *s, const struct escape *e) {
    if (e->kind == CHAR)
        put_char(s, e->c);
    else
        sl_buf_printf(s->out, "\\%c", (char)e->c);
}

/* A member, or "a-z". A hyphen before the end stands for itself. */
static int take_range(struct pattern_scan *s) {
    struct escape from, to;
    int r = take_member(s, &from);

    if (r < 0)
        return r;
    put_member(s, &from);
    if (pattern_peek(s, 0) != '-' || pattern_peek(s, 1) == ']')
        return 0;
    s->at++;
    r = take_member(s, &to);
    if (r < 0)
        return r;
    if (from.kind != CHAR || to.kind != CHAR || to.c < from.c)
        return pattern_fault(s, "bad character range");
    sl_buf_putc(s->out, '-');
    put_member(s, &to);
    return 0;
}

/* After the bracket. The first member may be a bracket, too. */
int pattern_take_set(struct pattern_scan *s) {
    int r;

    sl_buf_puts(s->out, pattern_take(s, '^') ? "[^" : "[");
    do {
        r = take_range(s);
        if (r < 0)
            return r;
    } while (!pattern_take(s, ']'));
    sl_buf_putc(s->out, ']');
    s->last = PATTERN_ITEM;
    return 0;
}

/* ---- the rest ---- */

int pattern_take_literal(struct pattern_scan *s) {
    uint32_t c;
    int r = take_char(s, &c);

    if (r < 0)
        return r;
    put_char(s, c);
    s->last = PATTERN_ITEM;
    return 0;
}
