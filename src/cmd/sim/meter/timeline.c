/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sim/meter/timeline.h"

#include <string.h>

#define FIRST_WIDTH (10 * SL_MSEC)

void sl_timeline_init(struct sl_timeline *t, sl_time start) {
    *t = (struct sl_timeline){.start = start, .width = FIRST_WIDTH};
}

void sl_timeline_done(struct sl_timeline *t) {
    for (uint32_t i = 0; i < t->rows.n; i++)
        sl_freep(&t->rows.v[i].v);
    sl_vec_free(&t->rows);
}

/* Halves the number of buckets until 'at' falls into one. */
static void widen(struct sl_timeline *t, sl_time at) {
    const size_t half = SL_TIMELINE_BUCKETS / 2;
    while ((at - t->start) / t->width >= SL_TIMELINE_BUCKETS) {
        for (uint32_t r = 0; r < t->rows.n; r++) {
            struct sl_timeline_bucket *v = t->rows.v[r].v;
            for (size_t i = 0; i < half; i++) {
                const struct sl_timeline_bucket *a = &v[2 * i], *b = &v[2 * i + 1];
                v[i] = (struct sl_timeline_bucket){a->used + b->used, a->borrowed + b->borrowed,
                                                   a->pending + b->pending};
            }
            memset(v + half, 0, half * sizeof(*v));
        }
        t->width *= 2;
        t->n = (t->n + 1) / 2;
    }
}

/* Adds what the row held from row->since to now. */
static void account(struct sl_timeline *t, struct sl_timeline_row *row, sl_time now) {
    while (row->since < now) {
        uint32_t i = (uint32_t)((row->since - t->start) / t->width);
        sl_time edge = t->start + (sl_time)(i + 1) * t->width;
        sl_time to = edge < now ? edge : now;
        double d = (double)(to - row->since);
        row->v[i].used += row->used * d;
        row->v[i].borrowed += row->borrowed * d;
        row->v[i].pending += row->pending * d;
        if (i >= t->n)
            t->n = i + 1;
        row->since = to;
    }
}

void sl_timeline_set(struct sl_timeline *t, uint32_t row, sl_time now, double used, double borrowed,
                     double pending) {
    uint32_t index = row;
    if (index >= SL_TIMELINE_MAX_ROWS)
        index = SL_TIMELINE_MAX_ROWS - 1;
    while (t->rows.n <= index) {
        *sl_vec_push(&t->rows) = (struct sl_timeline_row){
            .v = sl_alloc0(SL_TIMELINE_BUCKETS, sizeof(struct sl_timeline_bucket)),
            .since = t->start,
        };
    }
    struct sl_timeline_row *to = &t->rows.v[index];
    if (now > to->since) {
        widen(t, now - 1);
        account(t, to, now);
    }
    to->used = used;
    to->borrowed = borrowed;
    to->pending = pending;
}

void sl_timeline_end(struct sl_timeline *t, sl_time end) {
    t->end = end > t->start ? end : t->start;
    if (t->end > t->start)
        widen(t, t->end - 1);
    for (uint32_t r = 0; r < t->rows.n; r++) {
        struct sl_timeline_row *row = &t->rows.v[r];
        account(t, row, t->end);
        for (uint32_t i = 0; i < t->n; i++) {
            sl_time from = t->start + (sl_time)i * t->width, to = from + t->width;
            double d = (double)((to < t->end ? to : t->end) - from);
            if (d > 0) {
                row->v[i].used /= d;
                row->v[i].borrowed /= d;
                row->v[i].pending /= d;
            }
        }
    }
}
