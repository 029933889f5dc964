/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage, borrowing and pending requests of every queue over time, in a fixed number of buckets:
 * when a run outgrows them, neighbours are merged and each bucket is twice as long. So the memory
 * is bounded by the number of queues, and the length of a run need not be known in advance. For
 * plots only: values are doubles and nothing is decided on them.
 */
#ifndef SL_CMD_SIM_METER_TIMELINE_H
#define SL_CMD_SIM_METER_TIMELINE_H

#include "core/base/collection/vec.h"
#include "core/base/time.h"

#define SL_TIMELINE_BUCKETS 512u
#define SL_TIMELINE_MAX_ROWS 4096u /* queues beyond this share the last row */

/* Means over a bucket, once sl_timeline_end has run. */
struct sl_timeline_bucket {
    double used, borrowed, pending;
};

struct sl_timeline_row {
    struct sl_timeline_bucket *v; /* SL_TIMELINE_BUCKETS of them */
    sl_time since;                /* accounted up to here */
    double used, borrowed, pending;
};

struct sl_timeline {
    sl_time start, end;
    sl_span width; /* of a bucket */
    uint32_t n;    /* buckets with something in them */
    SL_VEC(struct sl_timeline_row) rows;
};

void sl_timeline_init(struct sl_timeline *t, sl_time start);
void sl_timeline_done(struct sl_timeline *t);
/* Sets the values of the row from now on. Rows are created on first use. */
void sl_timeline_set(struct sl_timeline *t, uint32_t row, sl_time now, double used, double borrowed,
                     double pending);
/* Closes every row at 'end' and turns sums into means. Nothing may be set afterwards. */
void sl_timeline_end(struct sl_timeline *t, sl_time end);

#endif
