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

#include "core/base/macros.h"

#define sl_fmt(out, size, ...) sl_fmt_at((out), (size), SL_HERE, __VA_ARGS__)
void sl_fmt_at(char *out, size_t size, const char *where, const char *fmt, ...) _printf_(4, 5);
/* For people: may be truncated. */
void sl_fmt_short(char *out, size_t size, const char *fmt, ...) _printf_(3, 4);
void sl_vfmt_short(char *out, size_t size, const char *fmt, va_list ap) _printf_(3, 0);

#endif
