/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON into a buffer: commas and nesting take care of themselves. Numbers that are times
 * are written as exact decimals of seconds, never through a double.
 */
#ifndef SL_SIM_JSONW_H
#define SL_SIM_JSONW_H

#include "base/buf.h"
#include "base/time.h"

struct sl_jw {
    struct sl_buf *b;
    bool comma; /* something precedes, in this collection */
};

/* In a map every value has a key; in a list the key is NULL. */
void sl_jw_open(struct sl_jw *w, const char *key, char bracket); /* '{' or '[' */
void sl_jw_close(struct sl_jw *w, char bracket);                 /* '}' or ']' */
void sl_jw_str(struct sl_jw *w, const char *key, const char *value);
void sl_jw_int(struct sl_jw *w, const char *key, int64_t value);
void sl_jw_uint(struct sl_jw *w, const char *key, uint64_t value);
void sl_jw_bool(struct sl_jw *w, const char *key, bool value);
void sl_jw_null(struct sl_jw *w, const char *key);
/* With so many digits after the point. */
void sl_jw_number(struct sl_jw *w, const char *key, double value, int digits);
/* Nanoseconds as seconds: 1500000000 is 1.5. */
void sl_jw_seconds(struct sl_jw *w, const char *key, sl_span value);
/* 16 hexadecimal digits in a string. */
void sl_jw_hex(struct sl_jw *w, const char *key, uint64_t value);

#endif
