/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/jsonw.h"

#include <inttypes.h>
#include <math.h>

static void lead(struct sl_jw *w, const char *key) {
    if (w->comma)
        sl_buf_putc(w->b, ',');
    w->comma = true;
    if (key) {
        sl_buf_json(w->b, key);
        sl_buf_putc(w->b, ':');
    }
}

void sl_jw_open(struct sl_jw *w, const char *key, char bracket) {
    lead(w, key);
    sl_buf_putc(w->b, bracket);
    w->comma = false;
}

void sl_jw_close(struct sl_jw *w, char bracket) {
    sl_buf_putc(w->b, bracket);
    w->comma = true;
}

void sl_jw_str(struct sl_jw *w, const char *key, const char *value) {
    lead(w, key);
    sl_buf_json(w->b, value);
}

void sl_jw_int(struct sl_jw *w, const char *key, int64_t value) {
    lead(w, key);
    sl_buf_printf(w->b, "%" PRId64, value);
}

void sl_jw_uint(struct sl_jw *w, const char *key, uint64_t value) {
    lead(w, key);
    sl_buf_printf(w->b, "%" PRIu64, value);
}

void sl_jw_bool(struct sl_jw *w, const char *key, bool value) {
    lead(w, key);
    sl_buf_puts(w->b, value ? "true" : "false");
}

void sl_jw_null(struct sl_jw *w, const char *key) {
    lead(w, key);
    sl_buf_puts(w->b, "null");
}

void sl_jw_number(struct sl_jw *w, const char *key, double value, int digits) {
    if (!isfinite(value)) {
        sl_jw_null(w, key);
        return;
    }
    lead(w, key);
    sl_buf_printf(w->b, "%.*f", digits, value);
}

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
    lead(w, key);
    sl_buf_printf(w->b, "\"%016" PRIx64 "\"", value);
}
