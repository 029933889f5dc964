/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the pattern, as Python's own parser makes it: an item, then perhaps a quantifier of
 * it. Blanks and comments of verbose patterns are dropped here.
 */
#include "lib/pattern/python.h"

#include "lib/pattern/pattern.h"

#define END (-1)
#define BLANKS " \t\n\r\v\f"
#define MAX_CODE_POINT 0x10ffffu

struct scan {
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
    enum { NOTHING, ITEM, REPEAT } last; /* what a quantifier would be about */
};

static int fault(struct scan *s, const char *why) {
    return sl_err_set(s->err, SL_EINVAL, "%s at byte %zu", why, s->at);
}

/* ---- characters ---- */

static int peek(const struct scan *s, size_t ahead) {
    return s->at + ahead < s->in.n ? (unsigned char)s->in.s[s->at + ahead] : END;
}

static bool take(struct scan *s, char c) {
    bool is = peek(s, 0) == (unsigned char)c;

    s->at += is;
    return is;
}

static bool one_of(int c, const char *set) {
    return c > 0 && strchr(set, c);
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

static bool is_octal(int c) {
    return c >= '0' && c <= '7';
}

static bool is_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int hex_of(int c) {
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next character of UTF-8. There is one. */
static int take_char(struct scan *s, uint32_t *ret) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t c = (unsigned char)s->in.s[s->at];
    int n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 0;

    if (n == 0)
        return fault(s, "no UTF-8");
    if (n > 1)
        c &= 0x7fu >> n;
    for (int i = 1; i < n; i++) {
        int more = peek(s, (size_t)i);
        if (more == END || (more & 0xc0) != 0x80)
            return fault(s, "no UTF-8");
        c = c << 6 | ((uint32_t)more & 0x3f);
    }
    if (c < least[n] || c > MAX_CODE_POINT)
        return fault(s, "no UTF-8");
    s->at += (size_t)n;
    *ret = c;
    return 0;
}

/* By itself, inside of a set and outside. */
static void put_char(struct scan *s, uint32_t c) {
    if (c < 0x80 && (is_letter((int)c) || is_digit((int)c)))
        sl_buf_putc(s->out, (char)c);
    else
        sl_buf_printf(s->out, "\\x{%x}", c);
}

/* ---- escapes ---- */

struct escape {
    enum { CHAR, CATEGORY, ANCHOR, GROUP } kind;
    uint32_t c; /* code point, letter or number of the group */
};

static int take_hex(struct scan *s, int digits, uint32_t *ret) {
    uint64_t c = 0;

    for (int i = 0; i < digits; i++, s->at++) {
        int h = hex_of(peek(s, 0));
        if (h < 0)
            return fault(s, "incomplete escape");
        c = c << 4 | (uint64_t)h;
    }
    if (c > MAX_CODE_POINT)
        return fault(s, "bad escape");
    *ret = (uint32_t)c;
    return 0;
}

static int take_octal(struct scan *s, int digits, uint32_t *ret) {
    uint32_t c = 0;

    for (int i = 0; i < digits && is_octal(peek(s, 0)); i++, s->at++)
        c = c << 3 | (uint32_t)(peek(s, 0) - '0');
    *ret = c;
    return c > 0377 ? fault(s, "octal escape outside of range 0-0o377") : 0;
}

static int check_group(struct scan *s, uint32_t group) {
    if (group > s->groups)
        return fault(s, "invalid group reference");
    for (uint32_t i = 0; i < s->depth; i++)
        if (s->open[i].group == group)
            return fault(s, "cannot refer to an open group");
    return 0;
}

/* A number after a backslash: three octal digits, or a group. In a set it is always a character. */
static int take_number(struct scan *s, bool in_set, struct escape *ret) {
    bool octal = is_octal(peek(s, 0)) && is_octal(peek(s, 1)) && is_octal(peek(s, 2));

    if (in_set && !is_octal(peek(s, 0)))
        return fault(s, "bad escape");
    if (in_set || octal || peek(s, 0) == '0')
        return take_octal(s, 3, &ret->c);
    ret->kind = GROUP;
    for (int i = 0; i < 2 && is_digit(peek(s, 0)); i++, s->at++)
        ret->c = ret->c * 10 + (uint32_t)(peek(s, 0) - '0');
    return check_group(s, ret->c);
}

/* A letter after a backslash. */
static int take_letter(struct scan *s, bool in_set, struct escape *ret) {
    static const char plain[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
    int c = peek(s, 0);
    const char *known = strchr(plain, c);

    s->at++;
    ret->c = (uint32_t)c;
    if (one_of(c, "dDsSwW"))
        ret->kind = CATEGORY;
    else if (one_of(c, "AbBZ") && !in_set)
        ret->kind = ANCHOR;
    else if (c == 'b')
        ret->c = '\b';
    else if (known)
        ret->c = (uint32_t)codes[known - plain];
    else if (one_of(c, "xuU"))
        return take_hex(s, c == 'x' ? 2 : c == 'u' ? 4 : 8, &ret->c);
    else
        return fault(s, c == 'N' ? "\\N{NAME} is not supported, use \\u" : "bad escape");
    return 0;
}

/* After the backslash. */
static int take_escape(struct scan *s, bool in_set, struct escape *ret) {
    int c = peek(s, 0);

    *ret = (struct escape){.kind = CHAR};
    if (c == END)
        return fault(s, "bad escape (end of pattern)");
    if (is_digit(c))
        return take_number(s, in_set, ret);
    return is_letter(c) ? take_letter(s, in_set, ret) : take_char(s, &ret->c);
}

static int escaped_item(struct scan *s) {
    struct escape e;
    int r = take_escape(s, false, &e);

    if (r < 0)
        return r;
    s->last = e.kind == ANCHOR ? NOTHING : ITEM;
    if (e.kind == CHAR)
        put_char(s, e.c);
    else if (e.kind == GROUP)
        sl_buf_printf(s->out, "\\g{%u}", e.c);
    else /* PCRE2's \Z also matches before a last newline */
        sl_buf_printf(s->out, "\\%c", e.c == 'Z' ? 'z' : (char)e.c);
    return 0;
}

/* ---- sets ---- */

static int take_member(struct scan *s, struct escape *ret) {
    *ret = (struct escape){.kind = CHAR};
    if (peek(s, 0) == END)
        return fault(s, "unterminated character set");
    return take(s, '\\') ? take_escape(s, true, ret) : take_char(s, &ret->c);
}

static void put_member(struct scan *s, const struct escape *e) {
    if (e->kind == CHAR)
        put_char(s, e->c);
    else
        sl_buf_printf(s->out, "\\%c", (char)e->c);
}

/* A member, or "a-z". A hyphen before the end stands for itself. */
static int take_range(struct scan *s) {
    struct escape from, to;
    int r = take_member(s, &from);

    if (r < 0)
        return r;
    put_member(s, &from);
    if (peek(s, 0) != '-' || peek(s, 1) == ']')
        return 0;
    s->at++;
    r = take_member(s, &to);
    if (r < 0)
        return r;
    if (from.kind != CHAR || to.kind != CHAR || to.c < from.c)
        return fault(s, "bad character range");
    sl_buf_putc(s->out, '-');
    put_member(s, &to);
    return 0;
}

/* After the bracket. The first member may be a bracket, too. */
static int take_set(struct scan *s) {
    int r;

    sl_buf_puts(s->out, take(s, '^') ? "[^" : "[");
    do {
        r = take_range(s);
        if (r < 0)
            return r;
    } while (!take(s, ']'));
    sl_buf_putc(s->out, ']');
    s->last = ITEM;
    return 0;
}

/* ---- quantifiers ---- */

/* "{2}", "{2,}", "{,3}", "{2,3}" at s->at: its length, and where its comma is; else 0. */
static size_t braces(const struct scan *s, size_t *ret_comma) {
    size_t n = 1;

    while (is_digit(peek(s, n)))
        n++;
    *ret_comma = 0;
    if (peek(s, n) == ',') {
        *ret_comma = n++;
        while (is_digit(peek(s, n)))
            n++;
    }
    return peek(s, n) == '}' && n > 1 ? n + 1 : 0;
}

static int take_quantifier(struct scan *s, size_t len, bool no_least) {
    if (s->last != ITEM)
        return fault(s, s->last == REPEAT ? "multiple repeat" : "nothing to repeat");
    if (no_least) { /* "{,3}" */
        sl_buf_puts(s->out, "{0");
        sl_buf_add(s->out, s->in.s + s->at + 1, len - 1);
    } else {
        sl_buf_add(s->out, s->in.s + s->at, len);
    }
    s->at += len;
    if (one_of(peek(s, 0), "?+"))
        sl_buf_putc(s->out, s->in.s[s->at++]);
    s->last = REPEAT;
    return 0;
}

/* ---- groups ---- */

static int open_group(struct scan *s, uint32_t group, bool verbose) {
    if (s->depth == SL_PATTERN_MAX_GROUPS)
        return fault(s, "groups are nested too deeply");
    s->open[s->depth].group = group;
    s->open[s->depth++].verbose = s->verbose;
    s->verbose = verbose;
    s->last = NOTHING;
    return 0;
}

static int close_group(struct scan *s) {
    if (s->depth == 0)
        return fault(s, "unbalanced parenthesis");
    s->verbose = s->open[--s->depth].verbose;
    sl_buf_putc(s->out, ')');
    s->last = ITEM;
    s->at++;
    return 0;
}

static int open_plain(struct scan *s, const char *how) {
    sl_buf_puts(s->out, how);
    return open_group(s, 0, s->verbose);
}

/* A name up to 'end', which is passed. */
static int take_name(struct scan *s, char end, struct sl_text *ret) {
    size_t from = s->at;

    while (peek(s, 0) >= 0x80 || is_letter(peek(s, 0)) || peek(s, 0) == '_' ||
           (s->at > from && is_digit(peek(s, 0))))
        s->at++;
    *ret = (struct sl_text){s->in.s + from, s->at - from};
    if (ret->n == 0)
        return fault(s, "missing group name");
    return take(s, end) ? 0 : fault(s, "bad character in group name");
}

/* "(?P<name>...)" and "(?P=name)", after the P. */
static int take_named(struct scan *s) {
    bool defines = take(s, '<');
    struct sl_text name;
    int r;

    if (!defines && !take(s, '='))
        return fault(s, "unknown extension");
    r = take_name(s, defines ? '>' : ')', &name);
    if (r < 0)
        return r;
    sl_buf_puts(s->out, defines ? "(?P<" : "(?P=");
    sl_buf_text(s->out, name);
    sl_buf_putc(s->out, defines ? '>' : ')');
    s->last = ITEM;
    return defines ? open_group(s, ++s->groups, s->verbose) : 0;
}

/* "(?(1)yes|no)", after the second bracket. */
static int take_condition(struct scan *s) {
    struct sl_text name = {s->in.s + s->at, 0};
    int r = 0;

    sl_buf_puts(s->out, "(?(");
    if (is_digit(peek(s, 0))) {
        while (is_digit(peek(s, name.n)))
            name.n++;
        s->at += name.n;
        sl_buf_text(s->out, name);
        r = take(s, ')') ? 0 : fault(s, "bad character in group name");
    } else {
        r = take_name(s, ')', &name);
        sl_buf_putc(s->out, '<');
        sl_buf_text(s->out, name);
        sl_buf_putc(s->out, '>');
    }
    sl_buf_putc(s->out, ')');
    return r < 0 ? r : open_group(s, 0, s->verbose);
}

static int take_comment(struct scan *s) {
    while (peek(s, 0) != END && peek(s, 0) != ')')
        s->at++;
    return take(s, ')') ? 0 : fault(s, "missing ), unterminated comment");
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
static size_t take_flags(struct scan *s, unsigned *ret) {
    const struct letter *l;
    size_t from = s->at;

    for (*ret = 0; (l = flag_of(peek(s, 0))); s->at++)
        *ret |= l->flag;
    return s->at - from;
}

static void put_flags(struct scan *s, unsigned set) {
    for (size_t i = 0; i < SL_LEN(letters); i++)
        if (set & letters[i].flag & (PATTERN_CASELESS | PATTERN_MULTILINE | PATTERN_DOTALL))
            sl_buf_putc(s->out, (char)letters[i].letter);
}

/* "(?i-s:...)", after the flags that are set. */
static int scoped_flags(struct scan *s, unsigned set) {
    unsigned off = 0;

    if (take(s, '-') && take_flags(s, &off) == 0)
        return fault(s, "missing flag");
    if (!take(s, ':'))
        return fault(s, "unknown flag, or missing :");
    if (set & off)
        return fault(s, "bad inline flags: flag turned on and off");
    if (set & PATTERN_ASCII & ~s->flags || off & PATTERN_ASCII)
        return fault(s, "the flag a is supported at the beginning alone");
    sl_buf_puts(s->out, "(?");
    put_flags(s, set);
    sl_buf_putc(s->out, '-');
    put_flags(s, off);
    sl_buf_putc(s->out, ':');
    return open_group(s, 0, (s->verbose || set & PATTERN_VERBOSE) && !(off & PATTERN_VERBOSE));
}

static int take_flagged(struct scan *s) {
    unsigned set;
    size_t n = take_flags(s, &set);

    if (n == 0 && peek(s, 0) != '-')
        return fault(s, peek(s, 0) == END ? "unexpected end of pattern" : "unknown extension");
    if (!take(s, ')'))
        return scoped_flags(s, set);
    if (s->depth > 0 || s->out->len > 0)
        return fault(s, "global flags not at the start of the expression");
    s->flags |= set;
    s->verbose = s->verbose || set & PATTERN_VERBOSE;
    return 0;
}

/* ---- all of it ---- */

/* After the bracket. */
static int take_group(struct scan *s) {
    if (!take(s, '?')) {
        sl_buf_putc(s->out, '(');
        return open_group(s, ++s->groups, s->verbose);
    }
    if (take(s, 'P'))
        return take_named(s);
    if (take(s, '('))
        return take_condition(s);
    if (take(s, '#'))
        return take_comment(s);
    if (take(s, ':'))
        return open_plain(s, "(?:");
    if (take(s, '>'))
        return open_plain(s, "(?>");
    if (take(s, '='))
        return open_plain(s, "(?=");
    if (take(s, '!'))
        return open_plain(s, "(?!");
    if (take(s, '<')) {
        if (take(s, '='))
            return open_plain(s, "(?<=");
        return take(s, '!') ? open_plain(s, "(?<!") : fault(s, "unknown extension");
    }
    return take_flagged(s);
}

static int literal(struct scan *s) {
    uint32_t c;
    int r = take_char(s, &c);

    if (r < 0)
        return r;
    put_char(s, c);
    s->last = ITEM;
    return 0;
}

/* '.', '^', '$', '|': as they are. */
static void put_sign(struct scan *s) {
    s->last = s->in.s[s->at] == '.' ? ITEM : NOTHING;
    sl_buf_putc(s->out, s->in.s[s->at++]);
}

static bool skip_blank(struct scan *s) {
    if (!s->verbose)
        return false;
    if (peek(s, 0) == '#')
        while (peek(s, 0) != END && peek(s, 0) != '\n')
            s->at++;
    else if (one_of(peek(s, 0), BLANKS))
        s->at++;
    else
        return false;
    return true;
}

static int step(struct scan *s) {
    size_t comma, n;

    if (skip_blank(s))
        return 0;
    if (one_of(peek(s, 0), ".^$|")) {
        put_sign(s);
        return 0;
    }
    if (one_of(peek(s, 0), "*+?"))
        return take_quantifier(s, 1, false);
    if (peek(s, 0) == '{' && (n = braces(s, &comma)) > 0)
        return take_quantifier(s, n, comma == 1);
    if (peek(s, 0) == ')')
        return close_group(s);
    if (take(s, '('))
        return take_group(s);
    if (take(s, '['))
        return take_set(s);
    return take(s, '\\') ? escaped_item(s) : literal(s);
}

int pattern_from_python(struct sl_text python, struct sl_buf *out, unsigned *ret_flags,
                        struct sl_err *err) {
    struct scan s = {.in = python, .out = out, .err = err};
    int r = 0;

    while (r >= 0 && s.at < python.n)
        r = step(&s);
    if (r >= 0 && s.depth > 0)
        r = fault(&s, "missing ), unterminated subpattern");
    *ret_flags = s.flags;
    return r;
}
