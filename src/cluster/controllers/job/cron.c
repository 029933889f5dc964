/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/controllers/job/cron.h"

#include "core/base/stamp.h"

#define MAX_YEARS 5
/* Clocks are set at whole quarters of an hour, everywhere. */
#define QUARTER 900

static bool bit_set(uint64_t bits, int v) {
    return bits >> v & 1;
}

static bool day_is_met(const struct sl_cron *c, const struct sl_civil *t) {
    bool dom = bit_set(c->dom, t->day), dow = bit_set(c->dow, t->weekday);
    return c->any_dom || c->any_dow ? dom && dow : dom || dow;
}

sl_time cl_cron_next(const struct sl_cron *c, const struct cl_cron_zone *z, sl_time t) {
    int64_t s = t / SL_SEC;
    struct sl_civil at;
    if (c->every) {
        sl_time next = sl_time_add(s * SL_SEC, c->every);
        return next == SL_TIME_NEVER ? 0 : next;
    }
    s = s - s % 60 + 60;
    sl_civil_of(s, &at);
    for (int end = at.year + MAX_YEARS; at.year <= end;) {
        sl_civil_of(s + cl_zone_offset(z, s), &at);
        if (!bit_set(c->month, at.month) || !day_is_met(c, &at) || !bit_set(c->hour, at.hour))
            s += QUARTER - s % QUARTER;
        else if (!bit_set(c->minute, at.minute))
            s += 60;
        else
            return s * SL_SEC;
    }
    return 0;
}
