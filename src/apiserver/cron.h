/* Is it a schedule that CronJobs take? Five fields, or "@hourly" and the like, or "@every 1h". */
#ifndef SL_APISERVER_CRON_H
#define SL_APISERVER_CRON_H

#include "base/err.h"

int sl_cron_check(const char *schedule, struct sl_err *err) _must_check_;

#endif
