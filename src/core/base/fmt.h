/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formatted text into an array. What does not fit is cut and NUL-terminated, but not silently: it
 * ends a sanitised build and is reported to the observer in others (core/base/buf.h). A caller that
 * can handle a text that does not fit uses snprintf and its result; tools/check-layers refuses
 * snprintf where the result is ignored.
 */
#ifndef SL_CORE_BASE_FMT_H
#define SL_CORE_BASE_FMT_H

#include <stdarg.h>
#include <string.h>

#include "core/base/macros.h"

#define sl_fmt(out, size, ...) sl_fmt_at((out), (size), SL_HERE, __VA_ARGS__)
void sl_fmt_at(char *out, size_t size, const char *where, const char *fmt, ...) _printf_(4, 5);
/* For people: may be truncated. */
void sl_fmt_short(char *out, size_t size, const char *fmt, ...) _printf_(3, 4);
void sl_vfmt_short(char *out, size_t size, const char *fmt, va_list ap) _printf_(3, 0);

/* Bytes of a name, at most so many, the last of which is none of these: what is put behind it may
 * not stand behind them. For "%.*s". */
static inline int sl_fmt_cut(const char *name, size_t most, const char *not_last) {
    size_t n = strnlen(name, most);
    while (n > 0 && strchr(not_last, name[n - 1]))
        n--;
    return (int)n;
}

#endif
