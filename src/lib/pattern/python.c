/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the pattern, as Python's own parser makes it: an item, then perhaps a quantifier of
 * it. Blanks and comments of verbose patterns are dropped here.
 */
#include "lib/pattern/python_int.h"

#define BLANKS " \t\n\r\v\f"

/* ---- quantifiers ---- */

/* "{2}", "{2,}", "{,3}", "{2,3}" at s->at: its length, and where its comma is; else 0. */
static size_t braces(const struct pattern_scan *s, size_t *ret_comma) {
    size_t n = 1;

    while (pattern_is_digit(pattern_peek(s, n)))
        n++;
    *ret_comma = 0;
    if (pattern_peek(s, n) == ',') {
        *ret_comma = n++;
        while (pattern_is_digit(pattern_peek(s, n)))
            n++;
    }
    return pattern_peek(s, n) == '}' && n > 1 ? n + 1 : 0;
}

static int take_quantifier(struct pattern_scan *s, size_t len, bool no_least) {
    if (s->last != PATTERN_ITEM)
        return pattern_fault(s,
                             s->last == PATTERN_REPEAT ? "multiple repeat" : "nothing to repeat");
    if (no_least) { /* "{,3}" */
        sl_buf_puts(s->out, "{0");
        sl_buf_add(s->out, s->in.s + s->at + 1, len - 1);
    } else {
        sl_buf_add(s->out, s->in.s + s->at, len);
    }
    s->at += len;
    if (pattern_one_of(pattern_peek(s, 0), "?+"))
        sl_buf_putc(s->out, s->in.s[s->at++]);
    s->last = PATTERN_REPEAT;
    return 0;
}

/* ---- groups ---- */

static int open_group(struct pattern_scan *s, uint32_t group, bool verbose) {
    if (s->depth == SL_PATTERN_MAX_GROUPS)
        return pattern_fault(s, "groups are nested too deeply");
    s->open[s->depth].group = group;
    s->open[s->depth++].verbose = s->verbose;
    s->verbose = verbose;
    s->last = PATTERN_NOTHING;
    return 0;
}

static int close_group(struct pattern_scan *s) {
    if (s->depth == 0)
        return pattern_fault(s, "unbalanced parenthesis");
    s->verbose = s->open[--s->depth].verbose;
    sl_buf_putc(s->out, ')');
    s->last = PATTERN_ITEM;
    s->at++;
    return 0;
}

static int open_plain(struct pattern_scan *s, const char *how) {
    sl_buf_puts(s->out, how);
    return open_group(s, 0, s->verbose);
}

/* A name up to 'end', which is passed. */
static int take_name(struct pattern_scan *s, char end, struct sl_text *ret) {
    size_t from = s->at;

    while (pattern_peek(s, 0) >= 0x80 || pattern_is_letter(pattern_peek(s, 0)) ||
           pattern_peek(s, 0) == '_' || (s->at > from && pattern_is_digit(pattern_peek(s, 0))))
        s->at++;
    *ret = (struct sl_text){s->in.s + from, s->at - from};
    if (ret->n == 0)
        return pattern_fault(s, "missing group name");
    return pattern_take(s, end) ? 0 : pattern_fault(s, "bad character in group name");
}

/* "(?P<name>...)" and "(?P=name)", after the P. */
static int take_named(struct pattern_scan *s) {
    bool defines = pattern_take(s, '<');
    struct sl_text name;
    int r;

    if (!defines && !pattern_take(s, '='))
        return pattern_fault(s, "unknown extension");
    r = take_name(s, defines ? '>' : ')', &name);
    if (r < 0)
        return r;
    sl_buf_puts(s->out, defines ? "(?P<" : "(?P=");
    sl_buf_text(s->out, name);
    sl_buf_putc(s->out, defines ? '>' : ')');
    s->last = PATTERN_ITEM;
    return defines ? open_group(s, ++s->groups, s->verbose) : 0;
}

/* "(?(1)yes|no)", after the second bracket. */
static int take_condition(struct pattern_scan *s) {
    struct sl_text name = {s->in.s + s->at, 0};
    int r = 0;

    sl_buf_puts(s->out, "(?(");
    if (pattern_is_digit(pattern_peek(s, 0))) {
        while (pattern_is_digit(pattern_peek(s, name.n)))
            name.n++;
        s->at += name.n;
        sl_buf_text(s->out, name);
        r = pattern_take(s, ')') ? 0 : pattern_fault(s, "bad character in group name");
    } else {
        r = take_name(s, ')', &name);
        sl_buf_putc(s->out, '<');
        sl_buf_text(s->out, name);
        sl_buf_putc(s->out, '>');
    }
    sl_buf_putc(s->out, ')');
    return r < 0 ? r : open_group(s, 0, s->verbose);
}

static int take_comment(struct pattern_scan *s) {
    while (pattern_peek(s, 0) != PATTERN_END && pattern_peek(s, 0) != ')')
        s->at++;
    return pattern_take(s, ')') ? 0 : pattern_fault(s, "missing ), unterminated comment");
}

/* ---- flags ---- */

static const struct letter {
    int letter;
    unsigned flag;
} letters[] = {{'a', PATTERN_ASCII},
               {'i', PATTERN_CASELESS},
               {'m', PATTERN_MULTILINE},
               {'s', PATTERN_DOTALL},
               {'u', 0},
               {'x', PATTERN_VERBOSE}};

static const struct letter *flag_of(int letter) {
    for (size_t i = 0; i < SL_LEN(letters); i++)
        if (letters[i].letter == letter)
            return &letters[i];
    return NULL;
}

/* Any number of letters; how many is returned. */
static size_t take_flags(struct pattern_scan *s, unsigned *ret) {
    const struct letter *l;
    size_t from = s->at;

    for (*ret = 0; (l = flag_of(pattern_peek(s, 0))); s->at++)
        *ret |= l->flag;
    return s->at - from;
}

static void put_flags(struct pattern_scan *s, unsigned set) {
    for (size_t i = 0; i < SL_LEN(letters); i++)
        if (set & letters[i].flag & (PATTERN_CASELESS | PATTERN_MULTILINE | PATTERN_DOTALL))
            sl_buf_putc(s->out, (char)letters[i].letter);
}

/* "(?i-s:...)", after the flags that are set. */
static int scoped_flags(struct pattern_scan *s, unsigned set) {
    unsigned off = 0;

    if (pattern_take(s, '-') && take_flags(s, &off) == 0)
        return pattern_fault(s, "missing flag");
    if (!pattern_take(s, ':'))
        return pattern_fault(s, "unknown flag, or missing :");
    if (set & off)
        return pattern_fault(s, "bad inline flags: flag turned on and off");
    if (set & PATTERN_ASCII & ~s->flags || off & PATTERN_ASCII)
        return pattern_fault(s, "the flag a is supported at the beginning alone");
    sl_buf_puts(s->out, "(?");
    put_flags(s, set);
    sl_buf_putc(s->out, '-');
    put_flags(s, off);
    sl_buf_putc(s->out, ':');
    return open_group(s, 0, (s->verbose || set & PATTERN_VERBOSE) && !(off & PATTERN_VERBOSE));
}

static int take_flagged(struct pattern_scan *s) {
    unsigned set;
    size_t n = take_flags(s, &set);

    if (n == 0 && pattern_peek(s, 0) != '-')
        return pattern_fault(s, pattern_peek(s, 0) == PATTERN_END ? "unexpected end of pattern"
                                                                  : "unknown extension");
    if (!pattern_take(s, ')'))
        return scoped_flags(s, set);
    if (s->depth > 0 || s->out->len > 0)
        return pattern_fault(s, "global flags not at the start of the expression");
    s->flags |= set;
    s->verbose = s->verbose || set & PATTERN_VERBOSE;
    return 0;
}

/* ---- all of it ---- */

/* After the bracket. */
static int take_group(struct pattern_scan *s) {
    if (!pattern_take(s, '?')) {
        sl_buf_putc(s->out, '(');
        return open_group(s, ++s->groups, s->verbose);
    }
    if (pattern_take(s, 'P'))
        return take_named(s);
    if (pattern_take(s, '('))
        return take_condition(s);
    if (pattern_take(s, '#'))
        return take_comment(s);
    if (pattern_take(s, ':'))
        return open_plain(s, "(?:");
    if (pattern_take(s, '>'))
        return open_plain(s, "(?>");
    if (pattern_take(s, '='))
        return open_plain(s, "(?=");
    if (pattern_take(s, '!'))
        return open_plain(s, "(?!");
    if (pattern_take(s, '<')) {
        if (pattern_take(s, '='))
            return open_plain(s, "(?<=");
        return pattern_take(s, '!') ? open_plain(s, "(?<!") : pattern_fault(s, "unknown extension");
    }
    return take_flagged(s);
}

/* '.', '^', '$', '|': as they are. */
static void put_sign(struct pattern_scan *s) {
    s->last = s->in.s[s->at] == '.' ? PATTERN_ITEM : PATTERN_NOTHING;
    sl_buf_putc(s->out, s->in.s[s->at++]);
}

static bool skip_blank(struct pattern_scan *s) {
    if (!s->verbose)
        return false;
    if (pattern_peek(s, 0) == '#')
        while (pattern_peek(s, 0) != PATTERN_END && pattern_peek(s, 0) != '\n')
            s->at++;
    else if (pattern_one_of(pattern_peek(s, 0), BLANKS))
        s->at++;
    else
        return false;
    return true;
}

static int step(struct pattern_scan *s) {
    size_t comma, n;

    if (skip_blank(s))
        return 0;
    if (pattern_one_of(pattern_peek(s, 0), ".^$|")) {
        put_sign(s);
        return 0;
    }
    if (pattern_one_of(pattern_peek(s, 0), "*+?"))
        return take_quantifier(s, 1, false);
    if (pattern_peek(s, 0) == '{' && (n = braces(s, &comma)) > 0)
        return take_quantifier(s, n, comma == 1);
    if (pattern_peek(s, 0) == ')')
        return close_group(s);
    if (pattern_take(s, '('))
        return take_group(s);
    if (pattern_take(s, '['))
        return pattern_take_set(s);
    return pattern_take(s, '\\') ? pattern_take_escaped(s) : pattern_take_literal(s);
}

int pattern_from_python(struct sl_text python, struct sl_buf *out, unsigned *ret_flags,
                        struct sl_err *err) {
    struct pattern_scan s = {.in = python, .out = out, .err = err};
    int r = 0;

    while (r >= 0 && s.at < python.n)
        r = step(&s);
    if (r >= 0 && s.depth > 0)
        r = pattern_fault(&s, "missing ), unterminated subpattern");
    *ret_flags = s.flags;
    return r;
}
