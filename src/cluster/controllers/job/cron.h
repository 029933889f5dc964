/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a schedule (kube/types/cron.h) is met. Pure but for cl_zone_load, which reads the time zone
 * data of the machine.
 *
 * A time is met when the clock on the wall of the zone shows it: an hour that the clock skips is
 * not met, one that it shows twice is met twice.
 */
#ifndef SL_CLUSTER_CONTROLLERS_JOB_CRON_H
#define SL_CLUSTER_CONTROLLERS_JOB_CRON_H

#include "kube/types/cron.h"

struct cl_cron_zone;

/* The first time after t that the schedule meets, in whole seconds; 0: none within five years,
 * or beyond what sl_time holds. z NULL: UTC. */
sl_time cl_cron_next(const struct sl_cron *c, const struct cl_cron_zone *z, sl_time t);

/* ---- time zones (zone.c) ---- */

/* From the bytes of a TZif file. NULL: it is none. */
struct cl_cron_zone *cl_zone_read(const void *data, size_t len);
/* By its name ("Europe/Berlin", "UTC"). NULL: there is none of this name. */
struct cl_cron_zone *cl_zone_load(const char *name);
void cl_zone_free(struct cl_cron_zone *z);
/* Seconds east of UTC at this time. NULL: 0. */
int64_t cl_zone_offset(const struct cl_cron_zone *z, int64_t t);

#endif
