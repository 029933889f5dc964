/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time is int64 nanoseconds since the epoch of the engine's caller. Nothing here reads a clock.
 */
#ifndef SL_CORE_BASE_TIME_H
#define SL_CORE_BASE_TIME_H

#include "core/base/err.h"

typedef int64_t sl_time; /* a point */
typedef int64_t sl_span; /* a length, nanoseconds */

#define SL_TIME_NEVER INT64_MAX
#define SL_USEC INT64_C(1000)
#define SL_MSEC INT64_C(1000000)
#define SL_SEC INT64_C(1000000000)
#define SL_MINUTE (60 * SL_SEC)
#define SL_HOUR (3600 * SL_SEC)
#define SL_SPAN_TEXT 40

/* Saturating sum of a point and a length. */
static inline sl_time sl_time_add(sl_time t, sl_span d) {
    sl_time r;
    if (__builtin_add_overflow(t, d, &r))
        return d > 0 ? SL_TIME_NEVER : INT64_MIN;
    return r;
}
static inline sl_time sl_time_min(sl_time a, sl_time b) {
    return a < b ? a : b;
}
/* Any number of seconds: what is too long for a span is the longest. */
static inline sl_span sl_span_seconds(int64_t s) {
    sl_span r;
    if (__builtin_mul_overflow(s, SL_SEC, &r))
        return s > 0 ? INT64_MAX : INT64_MIN;
    return r;
}
/* "250ms", "1.5s", "5m", "1h30m", Go's duration grammar. */
int sl_span_parse(const char *s, size_t len, sl_span *ret, struct sl_err *err) _must_check_;
/* Go's way to print it: "1m30s", "250ms", "0s". */
const char *sl_span_format(sl_span d, char out[SL_SPAN_TEXT]);

#endif
