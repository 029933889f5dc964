/*
 * A growing byte buffer with a ceiling, always NUL-terminated. Writing past the ceiling drops the
 * excess and sets 'overflow'; the writer checks once at the end.
 */
#ifndef SL_BASE_BUF_H
#define SL_BASE_BUF_H

#include "base/text.h"

struct sl_buf {
    char *s; /* never NULL after the first write; sl_buf_str gives "" before it */
    size_t len, cap, ceiling;
    bool overflow;
};

/* The form of every declaration: a variable with scope cleanup is initialised where it stands. */
#define SL_BUF(ceiling_bytes) ((struct sl_buf){.ceiling = (ceiling_bytes)})

void sl_buf_init(struct sl_buf *b, size_t ceiling_bytes);
void sl_buf_done(struct sl_buf *b);
void sl_buf_clear(struct sl_buf *b);
void sl_buf_add(struct sl_buf *b, const char *s, size_t n);
void sl_buf_text(struct sl_buf *b, struct sl_text t);
void sl_buf_puts(struct sl_buf *b, const char *s);
void sl_buf_putc(struct sl_buf *b, char c);
void sl_buf_printf(struct sl_buf *b, const char *fmt, ...) _printf_(2, 3);
const char *sl_buf_str(const struct sl_buf *b);
/* The text with U+FFFD for each byte that is no UTF-8. */
void sl_buf_utf8(struct sl_buf *b, const char *s);
/* A JSON string literal, quotes included; invalid UTF-8 bytes become U+FFFD. */
void sl_buf_json(struct sl_buf *b, const char *s);
/* The same of n bytes, which no zero has to end. */
void sl_buf_json_n(struct sl_buf *b, const char *s, size_t n);

#endif
