/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in time as the API writes them: RFC 3339 in UTC, to the second (metav1.Time) or to the
 * microsecond (metav1.MicroTime).
 */
#ifndef SL_CORE_BASE_STAMP_H
#define SL_CORE_BASE_STAMP_H

#include "core/base/time.h"

#define SL_STAMP_TEXT 32

struct sl_civil {
    int year, month, day, weekday, hour, minute, second; /* weekday 0: Sunday */
};
/* What a clock shows so many seconds after (or before) 1970, within the span of sl_time. */
void sl_civil_of(int64_t seconds, struct sl_civil *ret);

/* "2026-01-31T12:00:00Z". Returns out. */
const char *sl_stamp(sl_time wall, char out[SL_STAMP_TEXT]);
/* "2026-01-31T12:00:00.000000Z" */
const char *sl_stamp_micro(sl_time wall, char out[SL_STAMP_TEXT]);

/* Any RFC 3339 time within the span of sl_time, whatever its zone and its digits behind the second.
 * False if it is none. */
bool sl_stamp_parse(const char *s, sl_time *ret);

#endif
