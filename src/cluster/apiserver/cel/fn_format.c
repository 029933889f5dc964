/* SPDX-License-Identifier: Apache-2.0 */
/* TEXT.format(LIST): "%s of %d". */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/cel/tree.h"
#include "cluster/merge/gotext.h"
#include "core/base/fmt.h"

#define DEPTH 64u /* of lists and maps in one another */
#define PRECISION_MAX 1000

/* The fewest digits, never with an exponent. */
static void print_real(double d, struct sl_buf *out) {
    char text[SL_GO_REAL], plain[400];

    if (isnan(d) || isinf(d)) {
        sl_buf_puts(out, isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity");
        return;
    }
    for (int digits = 0; digits < 340; digits++) {
        sl_fmt(plain, sizeof(plain), "%.*f", digits, d);
        if (strtod(plain, NULL) == d) {
            sl_buf_puts(out, plain);
            return;
        }
    }
    sl_buf_puts(out, sl_go_real(d, false, text));
}

struct entry {
    struct value key, value;
    const char *text;
};

static int by_text(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->text, ((const struct entry *)b)->text);
}

static bool print_map(struct run *x, const struct value *v, struct sl_buf *out, uint32_t depth) {
    struct entry *entries = cel_make(x, cel_size(v) * sizeof(*entries));
    struct walk w;
    size_t n = 0;

    if (!entries)
        return false;
    (void)cel_walk_begin(&w, v);
    while (n < cel_size(v) && cel_walk_next(x, &w, &entries[n].key, &entries[n].value)) {
        _cleanup_(sl_buf_done) struct sl_buf key = SL_BUF_SHORT(API_CEL_MADE);
        if (entries[n].value.kind == V_ERROR || !cel_print(x, &entries[n].key, &key, depth + 1))
            return false;
        struct value text = cel_text_copy(x, sl_buf_str(&key), key.len);
        if (text.kind == V_ERROR)
            return false;
        entries[n++].text = text.s;
    }
    qsort(entries, n, sizeof(*entries), by_text);
    sl_buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        sl_buf_printf(out, "%s%s: ", i ? ", " : "", entries[i].text);
        if (!cel_print(x, &entries[i].value, out, depth + 1))
            return false;
    }
    sl_buf_putc(out, '}');
    return true;
}

static bool print_list(struct run *x, const struct value *v, struct sl_buf *out, uint32_t depth) {
    struct value key, item;
    struct walk w;

    sl_buf_putc(out, '[');
    (void)cel_walk_begin(&w, v);
    while (cel_walk_next(x, &w, &key, &item)) {
        sl_buf_puts(out, key.num ? ", " : "");
        if (item.kind == V_ERROR || !cel_print(x, &item, out, depth + 1))
            return false;
    }
    sl_buf_putc(out, ']');
    return true;
}

bool cel_print(struct run *x, const struct value *v, struct sl_buf *out, uint32_t depth) {
    char text[48];

    if (depth > DEPTH || !cel_charge(x, 2)) {
        (void)cel_too_costly(x);
        return false;
    }
    if (cel_is_list(v))
        return print_list(x, v, out, depth);
    if (cel_is_map(v))
        return print_map(x, v, out, depth);
    switch (v->kind) {
    case V_NULL:
        sl_buf_puts(out, "null");
        return true;
    case V_BOOL:
        sl_buf_puts(out, v->yes ? "true" : "false");
        return true;
    case V_INT:
        sl_buf_int(out, v->num);
        return true;
    case V_UINT:
        sl_buf_printf(out, "%" PRIu64, v->unum);
        return true;
    case V_REAL:
        print_real(v->real, out);
        return true;
    case V_STR:
    case V_BYTES:
        if (!cel_charge(x, v->len / 16)) {
            (void)cel_too_costly(x);
            return false;
        }
        sl_buf_add(out, v->s, v->len);
        return true;
    case V_DURATION:
        print_real((double)(v->num / SL_SEC) + (double)(v->num % SL_SEC) / 1e9, out);
        sl_buf_putc(out, 's');
        return true;
    case V_TIME:
        cel_time_print(v, text);
        sl_buf_puts(out, text);
        return true;
    case V_TYPE:
        sl_buf_puts(out, cel_kind_name((enum api_cel_kind)v->num));
        return true;
    default:
        (void)cel_error(x,
                        "error during formatting: string clause can only be used on strings, bools, "
                        "bytes, ints, doubles, maps, lists, types, durations, and timestamps, was "
                        "given %s",
                        cel_kind_name(cel_kind(v)));
        return false;
    }
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

static void print_whole(const struct value *v, unsigned base, bool big, struct sl_buf *out) {
    bool minus = v->kind == V_INT && v->num < 0;
    print_base(minus ? 0 - v->unum : v->unum, minus, base, big, out);
}

static bool cannot(struct run *x, const char *what, const struct value *v) {
    (void)cel_error(x, "error during formatting: %s, was given %s", what,
                    cel_kind_name(cel_kind(v)));
    return false;
}

/* One clause: its letter, and so many digits behind the point. */
static bool print_clause(struct run *x, char letter, int precision, const struct value *v,
                         struct sl_buf *out) {
    const bool whole = v->kind == V_INT || v->kind == V_UINT;

    switch (letter) {
    case 's':
        return cel_print(x, v, out, 0);
    case 'd':
        if (!whole && v->kind != V_REAL)
            return cannot(x, "decimal clause can only be used on ints, uints, and doubles", v);
        return cel_print(x, v, out, 0);
    case 'f':
    case 'e': {
        if (!whole && v->kind != V_REAL)
            return cannot(x, "fixed-point clause can only be used on ints, uints, and doubles", v);
        double d = v->kind == V_REAL ? v->real
                   : v->kind == V_INT ? (double)v->num
                                      : (double)v->unum;
        if (isnan(d) || isinf(d))
            print_real(d, out);
        else
            sl_buf_printf(out, letter == 'f' ? "%.*f" : "%.*e", precision, d);
        return true;
    }
    case 'b':
        if (v->kind == V_BOOL)
            sl_buf_putc(out, v->yes ? '1' : '0');
        else if (whole)
            print_whole(v, 2, false, out);
        else
            return cannot(x, "only ints, uints, and bools can be formatted as binary", v);
        return true;
    case 'o':
        if (!whole)
            return cannot(x, "octal clause can only be used on ints and uints", v);
        print_whole(v, 8, false, out);
        return true;
    case 'x':
    case 'X':
        if (whole) {
            print_whole(v, 16, letter == 'X', out);
            return true;
        }
        if (v->kind != V_STR && v->kind != V_BYTES)
            return cannot(x, "hex clause can only be used on ints, uints, strings, and bytes", v);
        if (!cel_charge(x, v->len / 4)) {
            (void)cel_too_costly(x);
            return false;
        }
        for (size_t i = 0; i < v->len; i++)
            sl_buf_printf(out, letter == 'x' ? "%02x" : "%02X", (unsigned char)v->s[i]);
        return true;
    default:
        (void)cel_error(x, "could not parse formatting clause: unrecognized formatting clause \"%c\"",
                        letter);
        return false;
    }
}

struct value cel_format(struct cel_call *c) {
    _cleanup_(sl_buf_done) struct sl_buf out = SL_BUF(API_CEL_MADE);
    const struct value *list = &c->args[1];
    const char *p = c->args[0].s, *end = p + c->args[0].len;
    size_t at = 0;

    for (; p < end; p++) {
        int precision = 6;
        if (*p != '%' || (p + 1 < end && p[1] == '%')) {
            p += *p == '%';
            sl_buf_putc(&out, *p);
            continue;
        }
        if (at >= cel_size(list))
            return cel_error(c->run, "index %zu out of range", at);
        if (++p < end && *p == '.') {
            for (precision = 0, p++; p < end && isdigit((unsigned char)*p); p++)
                if (precision <= PRECISION_MAX)
                    precision = precision * 10 + (*p - '0');
        }
        if (p >= end)
            return cel_error(c->run, "unexpected end of string");
        if (precision > PRECISION_MAX)
            return cel_error(c->run, "more than %d digits", PRECISION_MAX);
        struct value v = cel_item(c->run, list, at++);
        if (v.kind == V_ERROR || !print_clause(c->run, *p, precision, &v, &out))
            return (struct value){.kind = V_ERROR};
    }
    if (sl_buf_full(&out) || !cel_charge(c->run, out.len / 8))
        return cel_too_costly(c->run);
    return cel_text_copy(c->run, sl_buf_str(&out), out.len);
}
