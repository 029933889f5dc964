/* SPDX-License-Identifier: Apache-2.0 */
/* TEXT.format(LIST): "%s of %d". */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/cel/tree.h"

#define DEPTH 64u /* of lists and maps in one another */
#define PRECISION_MAX 1000

const char *api_cel_clause_words(char letter) {
    switch (letter) {
    case 'd':
        return "decimal clause can only be used on integers";
    case 'f':
        return "fixed-point clause can only be used on doubles";
    case 'e':
        return "scientific clause can only be used on doubles";
    case 'b':
        return "only integers and bools can be formatted as binary";
    case 'o':
        return "octal clause can only be used on integers";
    case 'x':
    case 'X':
        return "only integers, byte buffers, and strings can be formatted as hex";
    default:
        return "string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
               "lists, types, durations, and timestamps";
    }
}

static bool cannot(struct api_run *x, char letter, const struct api_value *v) {
    (void)api_cel_error(x, "error during formatting: %s, was given %s",
                        api_cel_clause_words(letter), api_cel_kind_name(api_cel_kind(v)));
    return false;
}

struct entry {
    struct api_value key, value;
    const char *text;
};

static int by_text(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->text, ((const struct entry *)b)->text);
}

static bool print_part(struct api_run *x, const struct api_value *v, struct sl_buf *out,
                       uint32_t depth);

static bool print_map(struct api_run *x, const struct api_value *v, struct sl_buf *out,
                      uint32_t depth) {
    struct entry *entries = api_cel_make(x, api_cel_size(v) * sizeof(*entries));
    struct api_walk w;
    size_t n = 0;

    if (!entries)
        return false;
    (void)api_cel_walk_begin(&w, v);
    while (n < api_cel_size(v) && api_cel_walk_next(x, &w, &entries[n].key, &entries[n].value)) {
        _cleanup_(sl_buf_done) struct sl_buf key = SL_BUF_SHORT(API_CEL_MADE);
        if (entries[n].value.kind == V_ERROR || !print_part(x, &entries[n].key, &key, depth + 1))
            return false;
        struct api_value text = api_cel_text_copy(x, sl_buf_str(&key), key.len);
        if (text.kind == V_ERROR)
            return false;
        entries[n++].text = text.s;
    }
    qsort(entries, n, sizeof(*entries), by_text);
    sl_buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        sl_buf_printf(out, "%s%s:", i ? ", " : "", entries[i].text);
        if (!print_part(x, &entries[i].value, out, depth + 1))
            return false;
    }
    sl_buf_putc(out, '}');
    return true;
}

static bool print_list(struct api_run *x, const struct api_value *v, struct sl_buf *out,
                       uint32_t depth) {
    struct api_value key, item;
    struct api_walk w;

    sl_buf_putc(out, '[');
    (void)api_cel_walk_begin(&w, v);
    while (api_cel_walk_next(x, &w, &key, &item)) {
        sl_buf_puts(out, key.num ? ", " : "");
        if (item.kind == V_ERROR || !print_part(x, &item, out, depth + 1))
            return false;
    }
    sl_buf_putc(out, ']');
    return true;
}

/* As a literal of Go: in quotes, with escapes. */
static void print_quoted(const struct api_value *v, struct sl_buf *out) {
    static const char from[] = "\a\b\f\n\r\t\v\\\"", into[] = "abfnrtv\\\"";

    sl_buf_putc(out, '"');
    for (size_t i = 0; i < v->len; i++) {
        const char *at = v->s[i] ? strchr(from, v->s[i]) : NULL;
        if (at)
            sl_buf_printf(out, "\\%c", into[at - from]);
        else if ((unsigned char)v->s[i] < ' ' || v->s[i] == 0x7f)
            sl_buf_printf(out, "\\x%02x", (unsigned char)v->s[i]);
        else
            sl_buf_putc(out, v->s[i]);
    }
    sl_buf_putc(out, '"');
}

/* A value by itself: %s. */
static bool print_whole_value(struct api_run *x, const struct api_value *v, struct sl_buf *out,
                              uint32_t depth) {
    struct api_value text;

    if (depth > DEPTH || !api_cel_charge(x, 2)) {
        (void)api_cel_too_costly(x);
        return false;
    }
    if (api_cel_is_list(v))
        return print_list(x, v, out, depth);
    if (api_cel_is_map(v))
        return print_map(x, v, out, depth);
    switch (v->kind) {
    case V_NULL:
        sl_buf_puts(out, "null");
        return true;
    case V_TYPE:
        sl_buf_puts(out, api_cel_kind_name((enum api_cel_kind)v->num));
        return true;
    case V_BOOL:
    case V_INT:
    case V_UINT:
    case V_REAL:
    case V_STR:
    case V_BYTES:
    case V_DURATION:
    case V_TIME:
        text = api_cel_string_of(x, v);
        if (text.kind == V_ERROR || !api_cel_charge(x, text.len / 16))
            return false;
        sl_buf_add(out, text.s, text.len);
        return true;
    default:
        return cannot(x, 's', v);
    }
}

/* A part of a list or map: as it would be written in an expression. */
static bool print_part(struct api_run *x, const struct api_value *v, struct sl_buf *out,
                       uint32_t depth) {
    _cleanup_(sl_buf_done) struct sl_buf text = SL_BUF_SHORT(API_CEL_MADE);

    switch (v->kind) {
    case V_STR:
    case V_BYTES:
        if (!api_cel_charge(x, v->len / 16))
            return false;
        sl_buf_puts(out, v->kind == V_BYTES ? "b" : "");
        print_quoted(v, out);
        return true;
    case V_REAL:
        sl_buf_printf(out, isnan(v->real) || isinf(v->real) ? "\"%f\"" : "%f", v->real);
        return true;
    case V_DURATION:
    case V_TIME:
        if (!print_whole_value(x, v, &text, depth))
            return false;
        sl_buf_printf(out, "%s(\"%s\")", v->kind == V_TIME ? "timestamp" : "duration",
                      sl_buf_str(&text));
        return true;
    default:
        return print_whole_value(x, v, out, depth);
    }
}

/* English: "1,234.50"; "1.500000x10^03" with a real sign and small digits, six of them behind the
 * point whatever was asked for. */
static void print_real(double d, char letter, int precision, struct sl_buf *out) {
    static const char *const small[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                        "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(2 * PRECISION_MAX);

    if (isnan(d) || isinf(d)) {
        sl_buf_puts(out, isnan(d) ? "NaN" : d < 0 ? "-\u221e" : "\u221e");
        return;
    }
    if (letter == 'f')
        sl_buf_printf(&b, "%.*f", precision, d);
    else
        sl_buf_printf(&b, "%e", d);
    const char *p = sl_buf_str(&b), *e = strchr(p, 'e');
    if (e) {
        sl_buf_add(out, p, (size_t)(e - p));
        sl_buf_printf(out, "\u00d710%s", e[1] == '-' ? "\u207b" : "");
        for (e += 2; *e; e++)
            sl_buf_puts(out, small[*e - '0']);
        return;
    }
    sl_buf_puts(out, *p == '-' ? "-" : "");
    p += *p == '-';
    for (size_t left = strcspn(p, "."); left > 0; left--) {
        sl_buf_putc(out, *p++);
        if (left > 1 && (left - 1) % 3 == 0)
            sl_buf_putc(out, ',');
    }
    sl_buf_puts(out, p);
}

static void print_base(uint64_t n, bool minus, unsigned base, bool big, struct sl_buf *out) {
    const char *digits = big ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[72], *p = text + sizeof(text);

    do
        *--p = digits[n % base];
    while (n /= base);
    if (minus)
        *--p = '-';
    sl_buf_add(out, p, (size_t)(text + sizeof(text) - p));
}

static void print_whole(const struct api_value *v, unsigned base, bool big, struct sl_buf *out) {
    bool minus = v->kind == V_INT && v->num < 0;
    print_base(minus ? 0 - v->unum : v->unum, minus, base, big, out);
}

/* One clause: its letter, and so many digits behind the point. */
static bool print_clause(struct api_run *x, char letter, int precision, const struct api_value *v,
                         struct sl_buf *out) {
    const bool whole = v->kind == V_INT || v->kind == V_UINT;

    switch (letter) {
    case 's':
        return print_whole_value(x, v, out, 0);
    case 'd':
        if (!whole)
            return cannot(x, letter, v);
        return print_whole_value(x, v, out, 0);
    case 'f':
    case 'e': {
        double d = v->real;
        if (v->kind == V_STR && v->len < 10) { /* those that are no numbers have names */
            char name[10] = {0}, *end;
            memcpy(name, v->s, v->len);
            d = strtod(name, &end);
            if (*end || end == name || !(isnan(d) || isinf(d)))
                return cannot(x, letter, v);
        } else if (v->kind != V_REAL) {
            return cannot(x, letter, v);
        }
        print_real(d, letter, precision, out);
        return true;
    }
    case 'b':
        if (v->kind == V_BOOL)
            sl_buf_putc(out, v->yes ? '1' : '0');
        else if (whole)
            print_whole(v, 2, false, out);
        else
            return cannot(x, letter, v);
        return true;
    case 'o':
        if (!whole)
            return cannot(x, letter, v);
        print_whole(v, 8, false, out);
        return true;
    case 'x':
    case 'X':
        if (whole) {
            print_whole(v, 16, letter == 'X', out);
            return true;
        }
        if (v->kind != V_STR && v->kind != V_BYTES)
            return cannot(x, letter, v);
        if (!api_cel_charge(x, v->len / 4)) {
            (void)api_cel_too_costly(x);
            return false;
        }
        for (size_t i = 0; i < v->len; i++)
            sl_buf_printf(out, letter == 'x' ? "%02x" : "%02X", (unsigned char)v->s[i]);
        return true;
    default:
        (void)api_cel_error(
            x, "could not parse formatting clause: unrecognized formatting clause \"%c\"", letter);
        return false;
    }
}

struct api_value api_cel_format(struct api_cel_call *c) {
    _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF(API_CEL_MADE);
    const struct api_value *list = &c->args[1];
    const char *p = c->args[0].s, *end = p + c->args[0].len;
    size_t at = 0;

    for (; p < end; p++) {
        int precision = 6;
        if (*p != '%' || (p + 1 < end && p[1] == '%')) {
            p += *p == '%';
            sl_buf_putc(&out, *p);
            continue;
        }
        if (at >= api_cel_size(list))
            return api_cel_error(c->run, "index %zu out of range", at);
        if (++p < end && *p == '.') {
            for (precision = 0, p++; p < end && isdigit((unsigned char)*p); p++)
                if (precision <= PRECISION_MAX)
                    precision = precision * 10 + (*p - '0');
        }
        if (p >= end)
            return api_cel_error(c->run, "unexpected end of string");
        if (precision > PRECISION_MAX)
            return api_cel_error(c->run, "more than %d digits", PRECISION_MAX);
        struct api_value v = api_cel_item(c->run, list, at++);
        if (v.kind == V_ERROR || !print_clause(c->run, *p, precision, &v, &out))
            return (struct api_value){.kind = V_ERROR};
    }
    if (sl_buf_full(&out) || !api_cel_charge(c->run, out.len / 8))
        return api_cel_too_costly(c->run);
    return api_cel_text_copy(c->run, sl_buf_str(&out), out.len);
}
