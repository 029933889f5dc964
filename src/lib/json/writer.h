/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON into a buffer: commas, nesting and escapes take care of themselves. Within an object
 * every value has a key, within an array none has (NULL), and what is opened is ended; a writer
 * that does otherwise fails an assertion. tools/check-layers refuses JSON that is written by hand.
 *
 * Whether everything fitted is checked on the buffer (sl_buf_full).
 */
#ifndef SL_LIB_JSON_WRITER_H
#define SL_LIB_JSON_WRITER_H

#include <yyjson.h>

#include "core/base/buf.h"
#include "core/base/time.h"

/* Twice what is read (SL_JSON_MAX_DEPTH): what is made of something may wrap each of its levels. */
#define SL_JW_MAX_DEPTH 256u

struct sl_jw {
    struct sl_buf *b;
    uint64_t objects[SL_JW_MAX_DEPTH / 64]; /* a bit for each open level: it is an object */
    uint32_t depth;
    bool comma;   /* a value stands before, in this object or array */
    bool spaced;  /* a blank follows commas and colons */
    size_t begun; /* where the string begins that is being written (sl_jw_begin_str); 0: none is */
};

#define SL_JW(buf) ((struct sl_jw){.b = (buf)})
#define SL_JW_SPACED(buf) ((struct sl_jw){.b = (buf), .spaced = true})

/* A constant: SL_JSON_CONST({"metadata" : {"finalizers" : null}}). */
#define SL_JSON_CONST(...) #__VA_ARGS__

void sl_jw_object(struct sl_jw *w, const char *key);
void sl_jw_array(struct sl_jw *w, const char *key);
/* Ends the object or array that was opened last. */
void sl_jw_end(struct sl_jw *w);
/* Ends all that are deeper than this. */
void sl_jw_end_to(struct sl_jw *w, uint32_t depth);

/* Bytes that are no UTF-8 become U+FFFD. */
void sl_jw_str(struct sl_jw *w, const char *key, const char *value);
void sl_jw_text(struct sl_jw *w, const char *key, struct sl_text value);
void sl_jw_strf(struct sl_jw *w, const char *key, const char *fmt, ...) _printf_(3, 4);
/* The same for functions that append to buffers: what goes into the result up to sl_jw_end_str
 * becomes one string, escaped at the end. */
struct sl_buf *sl_jw_begin_str(struct sl_jw *w, const char *key);
void sl_jw_end_str(struct sl_jw *w);
void sl_jw_int(struct sl_jw *w, const char *key, int64_t value);
void sl_jw_uint(struct sl_jw *w, const char *key, uint64_t value);
void sl_jw_bool(struct sl_jw *w, const char *key, bool value);
void sl_jw_null(struct sl_jw *w, const char *key);
/* With so many digits after the point; null if it is no number. */
void sl_jw_number(struct sl_jw *w, const char *key, double value, int digits);
/* Nanoseconds as seconds, exactly: 1500000000 is 1.5. */
void sl_jw_seconds(struct sl_jw *w, const char *key, sl_span value);
/* 16 hexadecimal digits in a string. */
void sl_jw_hex(struct sl_jw *w, const char *key, uint64_t value);
void sl_jw_base64(struct sl_jw *w, const char *key, const char *data, size_t n);
/* "2026-01-31T12:00:00Z", whole seconds, as metav1.Time; with micros as metav1.MicroTime. */
void sl_jw_time(struct sl_jw *w, const char *key, sl_time t);
void sl_jw_micro_time(struct sl_jw *w, const char *key, sl_time t);

/* A value that was read; NULL is null. */
void sl_jw_val(struct sl_jw *w, const char *key, yyjson_val *v);
void sl_jw_mut_val(struct sl_jw *w, const char *key, yyjson_mut_val *v);
/* One value that is JSON already. */
void sl_jw_raw(struct sl_jw *w, const char *key, const char *json);
void sl_jw_raw_n(struct sl_jw *w, const char *key, const char *json, size_t n);
/* The fields of an object, or the items of an array, that is JSON already. One that has lost its
 * end makes the buffer full. */
void sl_jw_fields(struct sl_jw *w, const char *object);
void sl_jw_items(struct sl_jw *w, const char *array);
/* For functions that append to buffers: exactly one value goes into the result. */
struct sl_buf *sl_jw_value(struct sl_jw *w, const char *key);

#endif
