/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/stamp.h"
#include "lib/json/json.h"

#define SHORT_KEY 60u /* bytes; such keys go into the buffer in one piece */

_Static_assert(SL_JW_MAX_DEPTH == 2 * SL_JSON_MAX_DEPTH, "see writer.h");

static bool in_object(const struct sl_jw *w) {
    return w->depth > 0 && (w->objects[(w->depth - 1) / 64] >> ((w->depth - 1) % 64) & 1) != 0;
}

static bool is_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* What leads to a value: the comma and the key. */
static void lead(struct sl_jw *w, const char *key) {
    char s[SHORT_KEY + 6];
    size_t n = 0;

    sl_assert((key != NULL) == in_object(w) && w->begun == 0);
    if (w->comma && w->depth > 0) {
        s[n++] = ',';
        s[n] = ' ';
        n += w->spaced;
    }
    w->comma = true;
    if (key) {
        size_t at = n, i = 0;
        s[n++] = '"';
        while (i < SHORT_KEY && is_plain(key[i]))
            s[n++] = key[i++];
        if (key[i] != '\0') {
            sl_buf_add(w->b, s, at);
            sl_buf_json(w->b, key);
            n = 0;
        } else {
            s[n++] = '"';
        }
        s[n++] = ':';
        s[n] = ' ';
        n += w->spaced;
    }
    if (n > 0)
        sl_buf_add(w->b, s, n);
}

static void begin_container(struct sl_jw *w, const char *key, bool object) {
    uint64_t bit = UINT64_C(1) << w->depth % 64;

    lead(w, key);
    sl_assert(w->depth < SL_JW_MAX_DEPTH);
    if (object)
        w->objects[w->depth / 64] |= bit;
    else
        w->objects[w->depth / 64] &= ~bit;
    w->depth++;
    w->comma = false;
    sl_buf_putc(w->b, object ? '{' : '[');
}

void sl_jw_object(struct sl_jw *w, const char *key) {
    begin_container(w, key, true);
}

void sl_jw_array(struct sl_jw *w, const char *key) {
    begin_container(w, key, false);
}

void sl_jw_end(struct sl_jw *w) {
    sl_assert(w->depth > 0);
    sl_buf_putc(w->b, in_object(w) ? '}' : ']');
    w->depth--;
    w->comma = true;
}

void sl_jw_end_to(struct sl_jw *w, uint32_t depth) {
    while (w->depth > depth)
        sl_jw_end(w);
}

void sl_jw_str(struct sl_jw *w, const char *key, const char *value) {
    lead(w, key);
    sl_buf_json(w->b, value);
}

void sl_jw_text(struct sl_jw *w, const char *key, struct sl_text value) {
    lead(w, key);
    sl_buf_json_n(w->b, value.s, value.n);
}

struct sl_buf *sl_jw_begin_str(struct sl_jw *w, const char *key) {
    lead(w, key);
    w->begun = w->b->len + 1;
    sl_buf_putc(w->b, '"');
    return w->b;
}

void sl_jw_end_str(struct sl_jw *w) {
    sl_assert(w->begun > 0);
    sl_buf_json_from(w->b, w->begun);
    w->begun = 0;
}

void sl_jw_strf(struct sl_jw *w, const char *key, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    sl_buf_vprintf(sl_jw_begin_str(w, key), fmt, ap);
    va_end(ap);
    sl_jw_end_str(w);
}

void sl_jw_int(struct sl_jw *w, const char *key, int64_t value) {
    lead(w, key);
    sl_buf_int(w->b, value);
}

void sl_jw_uint(struct sl_jw *w, const char *key, uint64_t value) {
    lead(w, key);
    if (value <= INT64_MAX)
        sl_buf_int(w->b, (int64_t)value);
    else
        sl_buf_printf(w->b, "%" PRIu64, value);
}

void sl_jw_bool(struct sl_jw *w, const char *key, bool value) {
    sl_jw_raw(w, key, value ? "true" : "false");
}

void sl_jw_null(struct sl_jw *w, const char *key) {
    sl_jw_raw(w, key, "null");
}

void sl_jw_number(struct sl_jw *w, const char *key, double value, int digits) {
    if (!isfinite(value)) {
        sl_jw_null(w, key);
        return;
    }
    lead(w, key);
    sl_buf_printf(w->b, "%.*f", digits, value);
}

/* Never through a double. */
void sl_jw_seconds(struct sl_jw *w, const char *key, sl_span value) {
    lead(w, key);
    uint64_t ns = value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
    sl_buf_printf(w->b, "%s%" PRIu64, value < 0 ? "-" : "", ns / (uint64_t)SL_SEC);
    uint64_t rest = ns % (uint64_t)SL_SEC;
    if (rest == 0)
        return;
    char digits[10];
    int n = 9;
    for (int i = 8; i >= 0; i--) {
        digits[i] = (char)('0' + rest % 10);
        rest /= 10;
    }
    while (digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    sl_buf_putc(w->b, '.');
    sl_buf_puts(w->b, digits);
}

void sl_jw_hex(struct sl_jw *w, const char *key, uint64_t value) {
    sl_jw_strf(w, key, "%016" PRIx64, value);
}

void sl_jw_base64(struct sl_jw *w, const char *key, const char *data, size_t n) {
    sl_base64_encode(sl_jw_begin_str(w, key), data, n);
    sl_jw_end_str(w);
}

void sl_jw_time(struct sl_jw *w, const char *key, sl_time t) {
    char text[SL_STAMP_TEXT];

    sl_jw_str(w, key, sl_stamp(t, text));
}

void sl_jw_micro_time(struct sl_jw *w, const char *key, sl_time t) {
    char text[SL_STAMP_TEXT];

    sl_jw_str(w, key, sl_stamp_micro(t, text));
}

void sl_jw_val(struct sl_jw *w, const char *key, yyjson_val *v) {
    lead(w, key);
    sl_json_put(w->b, v);
}

void sl_jw_mut_val(struct sl_jw *w, const char *key, yyjson_mut_val *v) {
    lead(w, key);
    sl_json_mut_put(w->b, v);
}

void sl_jw_raw_n(struct sl_jw *w, const char *key, const char *json, size_t n) {
    sl_assert(n > 0);
    lead(w, key);
    sl_buf_add(w->b, json, n);
}

void sl_jw_raw(struct sl_jw *w, const char *key, const char *json) {
    sl_jw_raw_n(w, key, json, strlen(json));
}

/* What stands between the brackets. */
static void splice(struct sl_jw *w, const char *json, char open, char close) {
    size_t n = strlen(json);

    sl_assert(w->depth > 0 && in_object(w) == (open == '{') && w->begun == 0);
    if (n == 2)
        return;
    if (n < 2 || json[0] != open || json[n - 1] != close) { /* it was cut elsewhere */
        sl_buf_fail(w->b);
        return;
    }
    if (w->comma)
        sl_buf_puts(w->b, w->spaced ? ", " : ",");
    w->comma = true;
    sl_buf_add(w->b, json + 1, n - 2);
}

void sl_jw_fields(struct sl_jw *w, const char *object) {
    splice(w, object, '{', '}');
}

void sl_jw_items(struct sl_jw *w, const char *array) {
    splice(w, array, '[', ']');
}

struct sl_buf *sl_jw_value(struct sl_jw *w, const char *key) {
    lead(w, key);
    return w->b;
}
