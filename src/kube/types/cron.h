/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules of CronJobs: five fields with names, ranges, steps and lists, the shortcuts (@hourly,
 * ...) and @every. Syntax, semantics and error messages are those of the API server.
 */
#ifndef SL_KUBE_TYPES_CRON_H
#define SL_KUBE_TYPES_CRON_H

#include "core/base/time.h"

struct sl_cron {
    uint64_t minute, hour, dom, month, dow; /* a bit for each value */
    bool any_dom, any_dow;                  /* "*": the other one decides alone */
    sl_span every;                          /* @every; 0: the fields */
};

/* SL_EINVAL: it is malformed; the message is the API server's. */
int sl_cron_read(const char *text, struct sl_cron *ret, struct sl_err *err) _must_check_;

#endif
