/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as rows over time, for plotting: one row per queue while there are few of them, else one
 * per root cohort, and a row for the total in front. Values are in readable units (cores, GiB). The
 * text chart and the SVG use the same data.
 */
#ifndef SL_CMD_SIM_PICTURE_PICTURE_H
#define SL_CMD_SIM_PICTURE_PICTURE_H

#include "cmd/sim/meter/meter.h"
#include "core/base/buf.h"

#define SL_PICTURE_MAX_QUEUES 12u /* more are drawn by cohort */
#define SL_PICTURE_MAX_ROWS 25u
#define SL_PICTURE_MAX_BYTES ((size_t)16 << 20)

struct sl_picture_row {
    const char *name;
    double capacity;              /* < 0: unlimited */
    struct sl_timeline_bucket *v; /* used includes what is borrowed */
    double peak_used, peak_borrowed, peak_pending;
};

struct sl_picture {
    const char *title;
    const char *unit; /* "cpu", "memory GiB", ... */
    char unit_text[80];
    uint32_t n;            /* buckets */
    sl_span width, length; /* of a bucket, of all */
    struct sl_picture_row rows[SL_PICTURE_MAX_ROWS];
    uint32_t n_rows;
    uint32_t left_out; /* rows beyond the ceiling */
    bool by_cohort;
};

/* From a meter that has ended. Strings are borrowed from it. */
void sl_picture_init(struct sl_picture *p, const struct sl_meter *m,
                     const struct sl_meter_result *r, const char *title);
/* A row of n buckets, which are copied, for pictures that do not come from a meter. */
void sl_picture_row_init(struct sl_picture_row *row, const char *name, double capacity,
                         const struct sl_timeline_bucket *v, uint32_t n);
void sl_picture_done(struct sl_picture *p);

/* Text of 'width' columns. */
void sl_picture_draw_chart(const struct sl_picture *p, unsigned width, bool utf8, bool color,
                           struct sl_buf *out);
/* A whole SVG document, self-contained. */
void sl_picture_draw_svg(const struct sl_picture *p, struct sl_buf *out);

/* "1.2k" etc. are not used: a plain number with as many digits as it needs. */
const char *sl_picture_number(double v, char out[32]);
/* The unit of a time axis of this length: how many seconds one is, and its sign. */
double sl_picture_unit(sl_span length, const char **ret_sign);
/* The distance between marks on an axis of this length with about 'marks' of them: 1, 2 or 5 times
 * a power of ten. */
double sl_picture_step(double length, unsigned marks);

#endif
