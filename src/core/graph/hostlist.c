/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names are counted before they are created, so that no list can exceed the limits.
 */
#include "core/graph/hostlist.h"
#include "core/base/fmt.h"

#include <inttypes.h>
#include <string.h>

#define MAX_DIGITS 18u /* of a number in a name: any such number fits an int64 */

void sl_hostlist_done(struct sl_hostlist *h) {
    sl_vec_free(&h->names);
    h->bytes = 0;
}

/* ---- reading ---- */

static int bad_hostlist(const char *text, const char *what, struct sl_err *err) {
    return sl_err_set(err, SL_EINVAL,
                      "expected host names such as \"node[0-3,7]\", got \"%.60s\": %s", text, what);
}

static int push(struct sl_hostlist *h, struct sl_arena *a, const char *s, size_t n,
                struct sl_err *err) {
    if (n > SL_HOSTNAME_MAX)
        return sl_err_set(err, SL_ELIMIT, "\"%.40s…\": a host name of more than %u characters", s,
                          SL_HOSTNAME_MAX);
    if (h->names.n >= SL_HOSTLIST_MAX || h->bytes + n >= SL_HOSTLIST_MAX_BYTES)
        return sl_err_set(err, SL_ELIMIT, "more than %u host names, or %zu bytes of them",
                          SL_HOSTLIST_MAX, SL_HOSTLIST_MAX_BYTES);
    *sl_vec_push(&h->names) = sl_arena_strndup(a, s, n);
    h->bytes += n + 1;
    return 0;
}

/* The digits at *p: their value and how many they are. */
static bool parse_number(const char **p, int64_t *ret, size_t *ret_digits) {
    size_t n = strspn(*p, "0123456789");
    *ret = 0;
    *ret_digits = n;
    if (n == 0 || n > MAX_DIGITS)
        return false;
    for (; n > 0; n--, (*p)++)
        *ret = *ret * 10 + (**p - '0');
    return true;
}

/* A number of at least so many digits, which are at most MAX_DIGITS: how many it has. */
static size_t put_number(char *out, int64_t number, int width) {
    char digits[MAX_DIGITS + 1];
    size_t n = 0;

    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n < (size_t)width)
        digits[n++] = '0';
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    return n;
}

/* prefix[ids]suffix, where 'ids' is behind the bracket. */
static int expand_brackets(struct sl_hostlist *h, struct sl_arena *a, const char *whole,
                           const char *prefix, size_t n_prefix, const char *ids, const char *suffix,
                           size_t n_suffix, struct sl_err *err) {
    char name[2 * SL_HOSTNAME_MAX + MAX_DIGITS + 8];
    int width = 0;

    if (n_prefix + n_suffix > SL_HOSTNAME_MAX)
        return sl_err_set(err, SL_ELIMIT, "\"%.40s…\": a host name of more than %u characters",
                          prefix, SL_HOSTNAME_MAX);
    memcpy(name, prefix, n_prefix);
    for (const char *p = ids;; p++) {
        int64_t first, last;
        size_t digits, other;
        if (!parse_number(&p, &first, &digits))
            return bad_hostlist(whole, "not a number where one should be", err);
        if (p - (ptrdiff_t)digits == ids && *ids == '0')
            width = (int)digits;
        int own = p[-(ptrdiff_t)digits] == '0' && (int)digits > width ? (int)digits : width;
        last = first;
        if (*p == '-' && (p++, !parse_number(&p, &last, &other) || last < first))
            return bad_hostlist(whole, "a range that does not go up", err);
        if ((uint64_t)(last - first) >= SL_HOSTLIST_MAX - h->names.n)
            return sl_err_set(err, SL_ELIMIT, "\"%.60s\" is more than %u host names", whole,
                              SL_HOSTLIST_MAX);
        for (int64_t id = first; id <= last; id++) {
            size_t n = n_prefix + put_number(name + n_prefix, id, own);
            memcpy(name + n, suffix, n_suffix);
            int r = push(h, a, name, n + n_suffix, err);
            if (r < 0)
                return r;
        }
        if (*p == ']')
            return 0;
        if (*p != ',')
            return bad_hostlist(whole, "not a comma where one should be", err);
    }
}

/* One expression, n bytes of the list. */
static int expression(struct sl_hostlist *h, struct sl_arena *a, const char *whole, const char *s,
                      size_t n, struct sl_err *err) {
    const char *open = memchr(s, '[', n),
               *close = open ? memchr(open, ']', n - (size_t)(open - s)) : NULL;

    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~')
            return bad_hostlist(whole, "a blank, or not an ASCII character", err);
    if (!open)
        return memchr(s, ']', n) ? bad_hostlist(whole, "a bracket that was never opened", err)
                                 : push(h, a, s, n, err);
    if (!close)
        return bad_hostlist(whole, "a bracket that is never closed", err);
    const char *suffix = close + 1, *end = s + n;
    if (memchr(suffix, '[', (size_t)(end - suffix)) ||
        memchr(suffix, ']', (size_t)(end - suffix)) || memchr(s, ']', (size_t)(open - s)))
        return bad_hostlist(whole, "more than one pair of brackets in a name", err);
    return expand_brackets(h, a, whole, s, (size_t)(open - s), open + 1, suffix,
                           (size_t)(end - suffix), err);
}

int sl_hostlist_add(struct sl_hostlist *h, struct sl_arena *a, const char *text,
                    struct sl_err *err) {
    uint32_t before = h->names.n;
    size_t bytes = h->bytes;
    int r = 0;

    for (const char *p = text; *text && r >= 0;) {
        size_t n = 0;
        for (bool inside = false; p[n] && (inside || p[n] != ','); n++) {
            if (inside && p[n] == '[')
                break; /* the second one is found below */
            inside = p[n] == '[' || (inside && p[n] != ']');
        }
        if (n == 0)
            r = bad_hostlist(text, "an empty name", err);
        else
            r = expression(h, a, text, p, n, err);
        if (p[n] == '\0')
            break;
        p += n + 1;
    }
    if (r < 0) { /* names that were made stay in the arena, unused */
        h->names.n = before;
        h->bytes = bytes;
    }
    return r;
}

/* ---- writing ---- */

size_t sl_hostlist_split(const char *name, int64_t *ret_id) {
    size_t n = strlen(name), from = n, digits;

    *ret_id = -1;
    while (from > 0 && name[from - 1] >= '0' && name[from - 1] <= '9')
        from--;
    const char *p = name + from;
    if (from == n || !parse_number(&p, ret_id, &digits)) {
        *ret_id = -1;
        return n;
    }
    return from;
}

struct part {
    const char *name, *digits;
    size_t n_prefix;
    int64_t id;
};

static struct part part_of(const char *name) {
    struct part p = {.name = name};
    p.n_prefix = sl_hostlist_split(name, &p.id);
    p.digits = name + p.n_prefix;
    return p;
}

/* May it be in the brackets that 'first' opened? There, ids are as wide as its zeros require. */
static bool fits_brackets(const struct part *first, const struct part *p) {
    char text[MAX_DIGITS + 8];
    bool zeros = first->digits[0] == '0' && first->digits[1] != '\0';

    if (first->id < 0 || p->id < 0 || p->n_prefix != first->n_prefix ||
        memcmp(p->name, first->name, p->n_prefix) != 0)
        return false;
    sl_fmt(text, sizeof(text), "%0*" PRId64, zeros ? (int)strlen(first->digits) : 1, p->id);
    return strcmp(text, p->digits) == 0;
}

void sl_hostlist_write(const char *const *names, uint32_t n, struct sl_buf *out) {
    for (uint32_t i = 0; i < n;) {
        struct part first = part_of(names[i]), run = first, last = first, p;
        sl_buf_puts(out, i > 0 ? "," : "");
        if (i + 1 == n || (p = part_of(names[i + 1]), !fits_brackets(&first, &p))) {
            sl_buf_puts(out, names[i++]);
            continue;
        }
        sl_buf_add(out, first.name, first.n_prefix);
        sl_buf_printf(out, "[%s", first.digits);
        for (i++; i < n; i++) {
            p = part_of(names[i]);
            if (!fits_brackets(&first, &p))
                break;
            if (p.id != last.id + 1) {
                if (run.id != last.id)
                    sl_buf_printf(out, "-%s", last.digits);
                sl_buf_printf(out, ",%s", p.digits);
                run = p;
            }
            last = p;
        }
        if (run.id != last.id)
            sl_buf_printf(out, "-%s", last.digits);
        sl_buf_putc(out, ']');
    }
}
