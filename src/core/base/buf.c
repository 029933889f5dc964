/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing text. The ceiling counts bytes of text; the terminator is extra. What does not fit is cut
 * at the ceiling and everything after it is dropped, so the content is always a prefix of what was
 * written.
 */
#include "core/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf_int.h"
#include "core/base/mem.h"

#define FIRST_CAP ((size_t)64)

static void (*observe)(const char *where, size_t ceiling_bytes);

void sl_buf_observe(void (*observer)(const char *where, size_t ceiling_bytes)) {
    observe = observer;
}

void sl_buf_unseen(const char *where, size_t ceiling_bytes) {
    if (!where) /* a buffer that was zeroed instead of initialised */
        where = "?";
    if (SL_SANITISED)
        sl_assert_failed("a text was cut and its writer did not check", where, 0);
    if (observe)
        observe(where, ceiling_bytes);
}

void sl_buf_init_at(struct sl_buf *b, size_t ceiling_bytes, const char *where) {
    sl_assert(ceiling_bytes <= SIZE_MAX / 4);
    *b = (struct sl_buf){.ceiling = ceiling_bytes, .where = where};
}

void sl_buf_short(struct sl_buf *b) {
    b->may_cut = true;
}

/* The content goes: it was whole, or its writer knew that it was not. */
static void leave(struct sl_buf *b) {
    if (b->overflow && !b->checked && !b->may_cut)
        sl_buf_unseen(b->where, b->ceiling);
    b->overflow = b->checked = false;
    b->len = 0;
}

void sl_buf_done(struct sl_buf *b) {
    leave(b);
    sl_freep(&b->s);
    b->cap = 0;
}

bool sl_buf_full(struct sl_buf *b) {
    b->checked = b->overflow;
    return b->overflow;
}

void sl_buf_fail(struct sl_buf *b) {
    b->overflow = true;
}

void sl_buf_truncate(struct sl_buf *b, size_t len) {
    sl_assert(len <= b->len);
    b->len = len;
    b->overflow = b->checked = false;
    if (b->s)
        b->s[len] = '\0';
}

void sl_buf_clear(struct sl_buf *b) {
    leave(b);
    if (b->s)
        b->s[0] = '\0';
}

/* Room for n more bytes and the terminator; the caller has checked the ceiling. */
static void grow_buf(struct sl_buf *b, size_t n) {
    size_t want = b->len + n + 1;

    if (want <= b->cap)
        return;
    size_t cap = b->cap > FIRST_CAP / 2 ? 2 * b->cap : FIRST_CAP;
    if (cap > b->ceiling + 1)
        cap = b->ceiling + 1;
    if (cap < want)
        cap = want;
    b->s = sl_realloc(b->s, cap, 1);
    b->cap = cap;
}

void sl_buf_add(struct sl_buf *b, const char *s, size_t n) {
    size_t space = b->ceiling - b->len;

    if (n > space) {
        b->overflow = true;
        n = space;
    }
    grow_buf(b, n);
    if (n > 0)
        memcpy(b->s + b->len, s, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void sl_buf_text(struct sl_buf *b, struct sl_text t) {
    sl_buf_add(b, t.s, t.n);
}

void sl_buf_puts(struct sl_buf *b, const char *s) {
    sl_buf_add(b, s, strlen(s));
}

void sl_buf_putc(struct sl_buf *b, char c) {
    sl_buf_add(b, &c, 1);
}

void sl_buf_vprintf(struct sl_buf *b, const char *fmt, va_list ap) {
    size_t space = b->ceiling - b->len;
    va_list again;

    /* First try into what is there; most lines fit. */
    size_t have = b->cap > b->len ? b->cap - b->len : 0;
    va_copy(again, ap);
    int r = vsnprintf(have > 0 ? b->s + b->len : NULL, have, fmt, ap);
    sl_assert(r >= 0);
    size_t n = (size_t)r;
    if (n > space) {
        b->overflow = true;
        n = space;
    }
    if (n >= have) {
        grow_buf(b, n);
        (void)vsnprintf(b->s + b->len, n + 1, fmt, again);
    }
    va_end(again);
    b->len += n;
    b->s[b->len] = '\0';
}

void sl_buf_printf(struct sl_buf *b, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    sl_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void sl_buf_int(struct sl_buf *b, int64_t v) {
    char digits[24], *p = digits + sizeof(digits);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        *--p = '-';
    sl_buf_add(b, p, (size_t)(digits + sizeof(digits) - p));
}

const char *sl_buf_str(const struct sl_buf *b) {
    return b->s ? b->s : "";
}

/* Length of the valid UTF-8 sequence at s (shortest form, no surrogates, up to U+10FFFF), or 0. At
 * least one byte is left. */
static size_t utf8_len(const unsigned char *s, size_t left) {
    unsigned char c = s[0], lo = 0x80, hi = 0xbf;
    size_t n;

    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    if (c < 0xe0) {
        n = 2;
    } else if (c < 0xf0) {
        n = 3;
        if (c == 0xe0)
            lo = 0xa0;
        else if (c == 0xed)
            hi = 0x9f;
    } else {
        n = 4;
        if (c == 0xf0)
            lo = 0x90;
        else if (c == 0xf4)
            hi = 0x8f;
    }
    if (n > left)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (s[i] < lo || s[i] > hi)
            return 0;
        lo = 0x80;
        hi = 0xbf;
    }
    return n;
}

void sl_buf_utf8(struct sl_buf *b, const char *s) {
    const unsigned char *p = (const unsigned char *)s;
    size_t left = strlen(s), n;

    for (; left > 0; p += n ? n : 1, left -= n ? n : 1) {
        n = utf8_len(p, left);
        sl_buf_add(b, n ? (const char *)p : "\xef\xbf\xbd", n ? n : 3);
    }
}

/* Stands in a JSON string as it is. */
static bool is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

void sl_buf_json_n(struct sl_buf *b, const char *s, size_t len) {
    static const char hex[] = "0123456789abcdef";
    const unsigned char *p = (const unsigned char *)s, *plain = p, *end = p + len;

    sl_buf_putc(b, '"');
    while (p < end) {
        if (is_plain(*p)) {
            p++;
            continue;
        }
        size_t n = utf8_len(p, (size_t)(end - p));
        if (n > 1) {
            p += n;
            continue;
        }
        sl_buf_add(b, (const char *)plain, (size_t)(p - plain));
        char esc[7] = {'\\', 'u', '0', '0', hex[*p >> 4], hex[*p & 15], '\0'};
        if (n == 0)
            sl_buf_puts(b, "\xef\xbf\xbd");
        else if (*p == '"')
            sl_buf_puts(b, "\\\"");
        else if (*p == '\\')
            sl_buf_puts(b, "\\\\");
        else if (*p == '\n')
            sl_buf_puts(b, "\\n");
        else if (*p == '\t')
            sl_buf_puts(b, "\\t");
        else if (*p == '\r')
            sl_buf_puts(b, "\\r");
        else
            sl_buf_puts(b, esc);
        plain = ++p;
    }
    sl_buf_add(b, (const char *)plain, (size_t)(p - plain));
    sl_buf_putc(b, '"');
}

void sl_buf_json(struct sl_buf *b, const char *s) {
    sl_buf_json_n(b, s, strlen(s));
}

void sl_buf_json_from(struct sl_buf *b, size_t from) {
    size_t at = from;

    if (b->overflow) /* any of it may be lost */
        return;
    sl_assert(from > 0 && from <= b->len);
    while (at < b->len && is_plain((unsigned char)b->s[at]))
        at++;
    if (at == b->len) {
        sl_buf_putc(b, '"');
        return;
    }
    size_t n = b->len - from;
    char *text = sl_alloc(n);
    memcpy(text, b->s + from, n);
    sl_buf_truncate(b, from - 1);
    sl_buf_json_n(b, text, n);
    sl_freep(&text);
}
