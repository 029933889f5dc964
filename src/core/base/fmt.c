/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formatted text into an array. What was cut is reported as that of buffers is.
 */
#include "core/base/fmt.h"

#include <stdio.h>

#include "core/base/buf_int.h"

void sl_fmt_at(char *out, size_t size, const char *where, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(out, size, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= size)
        sl_buf_unseen(where, size);
}

void sl_vfmt_short(char *out, size_t size, const char *fmt, va_list ap) {
    (void)vsnprintf(out, size, fmt, ap);
}

void sl_fmt_short(char *out, size_t size, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(out, size, fmt, ap);
    va_end(ap);
}
