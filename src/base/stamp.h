/*
 * Points in time as the API writes them: RFC 3339 in UTC, to the second (metav1.Time) or to the
 * microsecond (metav1.MicroTime).
 */
#ifndef SL_BASE_STAMP_H
#define SL_BASE_STAMP_H

#include "base/time.h"

#define SL_STAMP_TEXT 32

/* "2026-01-31T12:00:00Z". Returns out. */
const char *sl_stamp(sl_time wall, char out[SL_STAMP_TEXT]);
/* "2026-01-31T12:00:00.000000Z" */
const char *sl_stamp_micro(sl_time wall, char out[SL_STAMP_TEXT]);

#endif
