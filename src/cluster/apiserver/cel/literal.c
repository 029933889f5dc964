/* SPDX-License-Identifier: Apache-2.0 */
/* Literals: numbers, texts, bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/cel/tree.h"

struct out {
    char *s;
    size_t len;
};

static void put_code(struct out *o, uint32_t code, bool byte) {
    if (byte || code < 0x80) {
        o->s[o->len++] = (char)code;
    } else if (code < 0x800) {
        o->s[o->len++] = (char)(0xc0 | code >> 6);
        o->s[o->len++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        o->s[o->len++] = (char)(0xe0 | code >> 12);
        o->s[o->len++] = (char)(0x80 | (code >> 6 & 0x3f));
        o->s[o->len++] = (char)(0x80 | (code & 0x3f));
    } else {
        o->s[o->len++] = (char)(0xf0 | code >> 18);
        o->s[o->len++] = (char)(0x80 | (code >> 12 & 0x3f));
        o->s[o->len++] = (char)(0x80 | (code >> 6 & 0x3f));
        o->s[o->len++] = (char)(0x80 | (code & 0x3f));
    }
}

/* So many digits of a base; false: there are fewer. */
static bool read_code(const char *p, uint32_t digits, int base, uint32_t *ret) {
    char text[12] = {0};
    char *end;

    if (strnlen(p, digits) < digits)
        return false;
    memcpy(text, p, digits);
    if (strspn(text, "0123456789abcdefABCDEF") != digits)
        return false;
    *ret = (uint32_t)strtoul(text, &end, base);
    return !*end && *ret <= 0x10ffff && (*ret < 0xd800 || *ret > 0xdfff);
}

/* *p is behind the backslash. */
static bool read_escape(const char **p, struct out *o, bool bytes) {
    static const char from[] = "abfnrtv\"'\\?`", to[] = "\a\b\f\n\r\t\v\"'\\?`";
    static const struct {
        char letter;
        uint32_t digits;
    } codes[] = {{'x', 2}, {'X', 2}, {'u', 4}, {'U', 8}};
    const char *at = **p ? strchr(from, **p) : NULL;
    uint32_t code;

    if (at) {
        o->s[o->len++] = to[at - from];
        (*p)++;
        return true;
    }
    for (size_t i = 0; i < SL_LEN(codes); i++) {
        if (**p != codes[i].letter)
            continue;
        if ((bytes && codes[i].digits > 2) || !read_code(*p + 1, codes[i].digits, 16, &code))
            return false;
        put_code(o, code, bytes);
        *p += 1 + codes[i].digits;
        return true;
    }
    if (**p < '0' || **p > '3' || !read_code(*p, 3, 8, &code))
        return false;
    put_code(o, code, bytes);
    *p += 3;
    return true;
}

static struct api_cel_node *new_const(struct api_cel_trouble *t, const char *at,
                                      struct api_value v) {
    struct api_cel_node *n = sl_arena_alloc0(t->arena, 1, sizeof(*n));

    n->op = OP_CONST;
    n->pos = (uint32_t)(at - t->text);
    n->value = v;
    return n;
}

/* Of r"", b'', """""" and so on: where the quote is; NULL: it is no text. */
static const char *quote_of(const char *p, bool *ret_bytes, bool *ret_raw) {
    *ret_bytes = *p == 'b' || *p == 'B';
    p += *ret_bytes;
    *ret_raw = *p == 'r' || *p == 'R';
    p += *ret_raw;
    return *p == '"' || *p == '\'' ? p : NULL;
}

static struct api_cel_node *read_text(const char **p, const char *quote, bool bytes, bool raw,
                                      struct api_cel_trouble *t) {
    const char *from = *p, *at = quote;
    const char end[4] = {*quote, *quote, *quote, '\0'};
    size_t n = strncmp(quote, end, 3) == 0 ? 3 : 1;
    struct out o = {.s = sl_arena_alloc(t->arena, strlen(quote) + 1)};

    for (at += n; *at && strncmp(at, end, n) != 0;) {
        if (n == 1 && (*at == '\n' || *at == '\r'))
            break;
        if (*at != '\\' || raw) {
            o.s[o.len++] = *at++;
            continue;
        }
        at++;
        if (!read_escape(&at, &o, bytes)) {
            api_cel_trouble(t, (uint32_t)(at - t->text), "Syntax error: token recognition error");
            return NULL;
        }
    }
    if (strncmp(at, end, n) != 0) {
        api_cel_trouble(t, (uint32_t)(from - t->text),
                        "Syntax error: token recognition error at: '%.20s'", from);
        return NULL;
    }
    *p = at + n;
    o.s[o.len] = '\0';
    struct api_value v = api_cel_text(o.s, o.len);
    v.kind = bytes ? V_BYTES : V_STR;
    return new_const(t, from, v);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The end of a number with a point or an exponent; NULL: it is an integer. */
static const char *end_of_real(const char *p) {
    const char *from = p;
    bool real = false;

    p += strspn(p, "0123456789");
    if (*p == '.' && is_digit(p[1])) {
        real = true;
        p += 1 + strspn(p + 1, "0123456789");
    }
    if ((*p == 'e' || *p == 'E') && p > from) {
        const char *e = p + 1 + (p[1] == '+' || p[1] == '-');
        if (is_digit(*e)) {
            real = true;
            p = e + strspn(e, "0123456789");
        }
    }
    return real ? p : NULL;
}

static struct api_cel_node *read_number(const char **p, struct api_cel_trouble *t) {
    const char *from = *p, *digits = from + (*from == '-'), *real = end_of_real(digits);
    char *end;

    errno = 0;
    if (real) {
        double d = strtod(from, &end);
        *p = real;
        if (errno == ERANGE && (d > 1 || d < -1)) {
            api_cel_trouble(t, (uint32_t)(from - t->text), "invalid double literal");
            return NULL;
        }
        return new_const(t, from, api_cel_real(d));
    }
    const int base = digits[0] == '0' && digits[1] == 'x' ? 16 : 10;
    struct api_value v = api_cel_int(strtoll(from, &end, base));
    bool wrong = errno != 0, natural = *end == 'u' || *end == 'U';
    if (natural) {
        errno = 0;
        v = api_cel_uint(strtoull(from, &end, base));
        wrong = errno != 0 || *from == '-';
        end++;
    }
    *p = end;
    if (wrong) {
        api_cel_trouble(t, (uint32_t)(from - t->text), "invalid %s literal",
                        natural ? "uint" : "int");
        return NULL;
    }
    return new_const(t, from, v);
}

struct api_cel_node *api_cel_read_literal(const char **p, struct api_cel_trouble *trouble) {
    bool bytes, raw;
    const char *quote = quote_of(*p, &bytes, &raw), *digit = *p + (**p == '-');

    if (quote)
        return read_text(p, quote, bytes, raw, trouble);
    if (is_digit(*digit) || (*digit == '.' && is_digit(digit[1])))
        return read_number(p, trouble);
    return NULL;
}
