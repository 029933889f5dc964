/*
 * The civil date of a day number, counted in eras of 400 years that begin on 1 March, so that the
 * leap day is the last of its year (H. Hinnant, "chrono-compatible low-level date algorithms").
 * libc's gmtime is not used: it hands out a static buffer. int64 nanoseconds span the years 1677 to
 * 2262.
 */
#include "base/stamp.h"

#include <stdio.h>

static const char *format(sl_time wall, bool micro, char out[SL_STAMP_TEXT]) {
    int64_t rest = wall % SL_SEC, sec = wall / SL_SEC - (rest < 0);
    int64_t day = sec / 86400 - (sec % 86400 < 0);
    int usec = (int)((rest < 0 ? rest + SL_SEC : rest) / SL_USEC), clock = (int)(sec - day * 86400);
    int64_t z = day + 719468; /* days since 0000-03-01; never negative in the span above */
    int64_t era = z / 146097, doe = z % 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int d = (int)(doy - (153 * mp + 2) / 5 + 1), m = (int)(mp < 10 ? mp + 3 : mp - 9);
    int y = (int)(yoe + era * 400 + (m <= 2));
    int n = snprintf(out, SL_STAMP_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d", y, m, d, clock / 3600,
                     clock / 60 % 60, clock % 60);

    if (micro)
        n += snprintf(out + n, (size_t)(SL_STAMP_TEXT - n), ".%06d", usec);
    out[n] = 'Z';
    out[n + 1] = '\0';
    return out;
}

const char *sl_stamp(sl_time wall, char out[SL_STAMP_TEXT]) {
    return format(wall, false, out);
}

const char *sl_stamp_micro(sl_time wall, char out[SL_STAMP_TEXT]) {
    return format(wall, true, out);
}
