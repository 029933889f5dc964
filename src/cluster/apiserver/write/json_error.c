/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error messages of Go's JSON decoder: clients show them, and tests of clients compare them. A
 * scan without a tree: a stack of open containers, and what may follow.
 */
#include <string.h>

#include "cluster/apiserver/server.h"

enum next { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, AFTER_PAIR, AFTER_ITEM, NOTHING };

struct walk {
    struct sl_arena *arena;
    const char *s;
    size_t len, at;
    char open[SL_API_MAX_DEPTH + 1]; /* '{' or '[' */
    uint32_t depth;
    enum next next;
    const char *fault; /* NULL: none yet */
};

/* A byte as Go quotes it: as if it were a character of Latin-1. */
static const char *quoted(struct sl_arena *a, unsigned char c) {
    static const char plain[] = "\a\b\f\n\r\t\v\\'", letters[] = "abfnrtv\\'";
    const char *p = c ? strchr(plain, c) : NULL;

    if (p)
        return sl_arena_printf(a, "'\\%c'", letters[p - plain]);
    if (c < ' ' || c == 127)
        return sl_arena_printf(a, "'\\x%02x'", c);
    if (c < 127)
        return sl_arena_printf(a, "'%c'", c);
    if (c <= 0xa0 || c == 0xad)
        return sl_arena_printf(a, "'\\u%04x'", c);
    return sl_arena_printf(a, "'%c%c'", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
}

static bool syntax_error(struct walk *w, const char *where) {
    w->fault = w->at < w->len ? sl_arena_printf(w->arena, "invalid character %s %s",
                                                quoted(w->arena, (unsigned char)w->s[w->at]), where)
                              : "unexpected end of JSON input";
    return false;
}

/* The same within a literal or number: there, the end counts as a blank. */
static bool bad_inside(struct walk *w, const char *where) {
    if (w->at < w->len)
        return syntax_error(w, where);
    w->fault = sl_arena_printf(w->arena, "invalid character ' ' %s", where);
    return false;
}

static bool next_is(const struct walk *w, const char *set) {
    return w->at < w->len && w->s[w->at] && strchr(set, w->s[w->at]);
}

static bool string(struct walk *w) {
    for (w->at++; w->at < w->len; w->at++) {
        if (w->s[w->at] == '"') {
            w->at++;
            return true;
        }
        if ((unsigned char)w->s[w->at] < ' ')
            return syntax_error(w, "in string literal");
        if (w->s[w->at] != '\\')
            continue;
        w->at++;
        if (!next_is(w, "bfnrt\\/\"u"))
            return bad_inside(w, "in string escape code");
        for (int left = w->s[w->at] == 'u' ? 4 : 0; left > 0; left--) {
            w->at++;
            if (!next_is(w, "0123456789abcdefABCDEF"))
                return bad_inside(w, "in \\u hexadecimal character escape");
        }
    }
    return syntax_error(w, "");
}

static bool digits(struct walk *w, const char *where) {
    if (!next_is(w, "0123456789"))
        return bad_inside(w, where);
    while (next_is(w, "0123456789"))
        w->at++;
    return true;
}

static bool scan_number(struct walk *w) {
    if (next_is(w, "-"))
        w->at++;
    if (next_is(w, "0"))
        w->at++;
    else if (!digits(w, "in numeric literal"))
        return false;
    if (next_is(w, ".")) {
        w->at++;
        if (!digits(w, "after decimal point in numeric literal"))
            return false;
    }
    if (!next_is(w, "eE"))
        return true;
    w->at++;
    if (next_is(w, "+-"))
        w->at++;
    return digits(w, "in exponent of numeric literal");
}

static bool literal(struct walk *w, const char *word) {
    for (const char *c = word; *c; c++, w->at++)
        if (w->at >= w->len || w->s[w->at] != *c)
            return bad_inside(
                w, sl_arena_printf(w->arena, "in literal %s (expecting '%c')", word, *c));
    return true;
}

/* A value ended. */
static void ended(struct walk *w) {
    w->next = !w->depth ? NOTHING : w->open[w->depth - 1] == '{' ? AFTER_PAIR : AFTER_ITEM;
}

static bool scan_value(struct walk *w) {
    bool ok;

    if (next_is(w, "{[")) {
        if (w->depth == SL_API_MAX_DEPTH) {
            w->fault = "exceeded max depth";
            return false;
        }
        w->open[w->depth++] = w->s[w->at];
        w->next = w->s[w->at++] == '{' ? KEY_OR_END : VALUE_OR_END;
        return true;
    }
    ok = next_is(w, "\"")            ? string(w)
         : next_is(w, "-0123456789") ? scan_number(w)
         : next_is(w, "t")           ? literal(w, "true")
         : next_is(w, "f")           ? literal(w, "false")
         : next_is(w, "n")           ? literal(w, "null")
                                     : syntax_error(w, "looking for beginning of value");
    ended(w);
    return ok;
}

static bool close_one(struct walk *w) {
    w->at++;
    w->depth--;
    ended(w);
    return true;
}

static bool scan_step(struct walk *w) {
    switch (w->next) {
    case VALUE_OR_END:
        if (next_is(w, "]"))
            return close_one(w);
        return scan_value(w);
    case VALUE:
        return scan_value(w);
    case KEY_OR_END:
        if (next_is(w, "}"))
            return close_one(w);
        /* fall through */
    case KEY:
        w->next = COLON;
        return next_is(w, "\"") ? string(w)
                                : syntax_error(w, "looking for beginning of object key string");
    case COLON:
        if (!next_is(w, ":"))
            return syntax_error(w, "after object key");
        w->next = VALUE;
        break;
    case AFTER_PAIR:
        if (next_is(w, "}"))
            return close_one(w);
        if (!next_is(w, ","))
            return syntax_error(w, "after object key:value pair");
        w->next = KEY;
        break;
    case AFTER_ITEM:
        if (next_is(w, "]"))
            return close_one(w);
        if (!next_is(w, ","))
            return syntax_error(w, "after array element");
        w->next = VALUE;
        break;
    case NOTHING:
        return syntax_error(w, "after top-level value");
    }
    w->at++;
    return true;
}

const char *api_json_fault(struct sl_arena *arena, const char *s, size_t len) {
    struct walk w = {.arena = arena, .s = s, .len = len, .next = VALUE};

    do {
        while (next_is(&w, " \t\r\n"))
            w.at++;
    } while (!(w.at == w.len && w.next == NOTHING) && scan_step(&w));
    return w.fault ? w.fault : "invalid JSON";
}
