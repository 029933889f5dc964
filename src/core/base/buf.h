/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a limit, always NUL-terminated. Writing past the limit drops the
 * excess and makes the buffer full; the writer checks once at the end with sl_buf_full.
 *
 * Nothing is truncated silently: a buffer that is full when it is cleared or done, and whose writer
 * has not checked, ends a sanitised build and is reported to the observer (the log) in others. A
 * text for people that may be truncated (a message, a cell of a table) is made with SL_BUF_SHORT.
 */
#ifndef SL_CORE_BASE_BUF_H
#define SL_CORE_BASE_BUF_H

#include <stdarg.h>

#include "core/base/text.h"

struct sl_buf {
    char *s; /* never NULL after the first write; sl_buf_str gives "" before it */
    size_t len, cap, ceiling;
    const char *where; /* the line that made it */
    bool overflow;     /* read with sl_buf_full alone, which notes that it was */
    bool checked, may_cut;
};

/* The form of every declaration: a variable with scope cleanup is initialised where it is
 * declared. */
#define SL_BUF(ceiling_bytes) ((struct sl_buf){.ceiling = (ceiling_bytes), .where = SL_HERE})
#define SL_BUF_SHORT(ceiling_bytes)                                                                \
    ((struct sl_buf){.ceiling = (ceiling_bytes), .where = SL_HERE, .may_cut = true})

#define sl_buf_init(b, ceiling_bytes) sl_buf_init_at((b), (ceiling_bytes), SL_HERE)
void sl_buf_init_at(struct sl_buf *b, size_t ceiling_bytes, const char *where);
/* From now on what does not fit may be cut. */
void sl_buf_short(struct sl_buf *b);
/* Something did not fit: the content is the beginning of what was written. */
bool sl_buf_full(struct sl_buf *b);
/* Makes it full: what went into it was cut elsewhere. */
void sl_buf_fail(struct sl_buf *b);
/* The first bytes stay, and nothing counts as cut. */
void sl_buf_truncate(struct sl_buf *b, size_t len);
/* Receives truncations without a check; one for the process, set at start; NULL: none. */
void sl_buf_observe(void (*observer)(const char *where, size_t ceiling_bytes));
void sl_buf_done(struct sl_buf *b);
void sl_buf_clear(struct sl_buf *b);
void sl_buf_add(struct sl_buf *b, const char *s, size_t n);
void sl_buf_text(struct sl_buf *b, struct sl_text t);
void sl_buf_puts(struct sl_buf *b, const char *s);
void sl_buf_putc(struct sl_buf *b, char c);
void sl_buf_printf(struct sl_buf *b, const char *fmt, ...) _printf_(2, 3);
void sl_buf_vprintf(struct sl_buf *b, const char *fmt, va_list ap) _printf_(2, 0);
/* As %PRId64, but sooner. */
void sl_buf_int(struct sl_buf *b, int64_t v);
const char *sl_buf_str(const struct sl_buf *b);
/* The text with U+FFFD for each byte that is no UTF-8. */
void sl_buf_utf8(struct sl_buf *b, const char *s);
/* A JSON string literal, quotes included; invalid UTF-8 bytes become U+FFFD. */
void sl_buf_json(struct sl_buf *b, const char *s);
/* The same of n bytes, which no zero has to end. */
void sl_buf_json_n(struct sl_buf *b, const char *s, size_t n);
/* The same of what stands in the buffer from there on, after a quote; the other quote is added. */
void sl_buf_json_from(struct sl_buf *b, size_t from);

#endif
