/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/sim/picture/picture.h"
#include "core/base/fmt.h"

#include <stdio.h>
#include <string.h>

/* How many of the meter's units make one of the chart's. */
static double unit_of(const struct sl_meter_result *r, struct sl_picture *p) {
    p->unit = p->unit_text;
    if (sl_quantity_is_milli(r->resource)) {
        sl_fmt_short(p->unit_text, sizeof(p->unit_text), "%s", r->resource);
        return 1000;
    }
    if (r->capacity != SL_AMOUNT_UNLIMITED && r->capacity >= INT64_C(1) << 32) {
        sl_fmt_short(p->unit_text, sizeof(p->unit_text), "%.60s (GiB)", r->resource);
        return 1024.0 * 1024 * 1024;
    }
    sl_fmt_short(p->unit_text, sizeof(p->unit_text), "%.70s",
                 *r->resource ? r->resource : "workloads");
    return 1;
}

static struct sl_picture_row *add_row(struct sl_picture *p, const char *name, sl_amount capacity,
                                      double unit) {
    if (p->n_rows == SL_PICTURE_MAX_ROWS) {
        p->left_out++;
        return NULL;
    }
    struct sl_picture_row *row = &p->rows[p->n_rows++];
    *row = (struct sl_picture_row){
        .name = name,
        .capacity = capacity == SL_AMOUNT_UNLIMITED ? -1 : (double)capacity / unit,
        .v = sl_alloc0(p->n + 1, sizeof(*row->v)),
    };
    return row;
}

static void add_to(struct sl_picture *p, struct sl_picture_row *row,
                   const struct sl_timeline_row *from, double unit) {
    for (uint32_t i = 0; i < p->n; i++) {
        row->v[i].used += (from->v[i].used + from->v[i].borrowed) / unit;
        row->v[i].borrowed += from->v[i].borrowed / unit;
        row->v[i].pending += from->v[i].pending;
    }
}

static struct sl_picture_row *find_row(struct sl_picture *p, const char *name) {
    for (uint32_t i = 1; i < p->n_rows; i++) {
        if (strcmp(p->rows[i].name, name) == 0)
            return &p->rows[i];
    }
    return NULL;
}

static void find_peaks(struct sl_picture_row *row, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct sl_timeline_bucket *b = &row->v[i];
        row->peak_used = b->used > row->peak_used ? b->used : row->peak_used;
        row->peak_borrowed = b->borrowed > row->peak_borrowed ? b->borrowed : row->peak_borrowed;
        row->peak_pending = b->pending > row->peak_pending ? b->pending : row->peak_pending;
    }
}

void sl_picture_init(struct sl_picture *p, const struct sl_meter *m,
                     const struct sl_meter_result *r, const char *title) {
    const struct sl_timeline *t = sl_meter_timeline(m);
    *p = (struct sl_picture){
        .title = title,
        .n = t->n,
        .width = t->width,
        .length = t->end - t->start,
        .by_cohort = r->n_queues > SL_PICTURE_MAX_QUEUES,
    };
    double unit = unit_of(r, p);
    struct sl_picture_row *all = add_row(p, "all queues", r->capacity, unit);
    const char *last_left_out = NULL;
    for (uint32_t i = 0; i < t->rows.n && i < r->n_queues; i++) {
        add_to(p, all, &t->rows.v[i], unit);
        if (r->n_queues == 1)
            break; /* the total is enough */
        const char *name = p->by_cohort ? sl_meter_root(m, i) : r->queues[i].name;
        struct sl_picture_row *row = p->by_cohort ? find_row(p, name) : NULL;
        if (!row) {
            if (p->n_rows == SL_PICTURE_MAX_ROWS && last_left_out && name == last_left_out)
                continue; /* counted already */
            sl_amount capacity = p->by_cohort ? sl_meter_root_capacity(m, i) : r->queues[i].nominal;
            row = add_row(p, name, capacity, unit);
        }
        if (row)
            add_to(p, row, &t->rows.v[i], unit);
        else
            last_left_out = name;
    }
    for (uint32_t k = 0; k < p->n_rows; k++)
        find_peaks(&p->rows[k], p->n);
}

void sl_picture_row_init(struct sl_picture_row *row, const char *name, double capacity,
                         const struct sl_timeline_bucket *v, uint32_t n) {
    *row = (struct sl_picture_row){
        .name = name, .capacity = capacity, .v = sl_alloc0((size_t)n + 1, sizeof(*row->v))};
    memcpy(row->v, v, n * sizeof(*row->v));
    find_peaks(row, n);
}

void sl_picture_done(struct sl_picture *p) {
    for (uint32_t i = 0; i < p->n_rows; i++)
        sl_freep(&p->rows[i].v);
    p->n_rows = 0;
}

const char *sl_picture_number(double v, char out[32]) {
    int digits = v >= 99.95 || v == 0 ? 0 : v >= 9.995 ? 1 : 2;
    sl_fmt_short(out, 32, "%.*f", digits, v);
    if (strchr(out, '.')) { /* "2.50" -> "2.5", "3.00" -> "3" */
        size_t n = strlen(out);
        while (n > 0 && out[n - 1] == '0')
            out[--n] = '\0';
        if (n > 0 && out[n - 1] == '.')
            out[--n] = '\0';
    }
    return out;
}

double sl_picture_unit(sl_span length, const char **ret_sign) {
    *ret_sign = length > 4 * SL_HOUR ? "h" : length > 15 * SL_MINUTE ? "min" : "s";
    return length > 4 * SL_HOUR ? 3600 : length > 15 * SL_MINUTE ? 60 : 1;
}

double sl_picture_step(double length, unsigned marks) {
    double rough = length / (double)(marks ? marks : 1), step = 1;
    if (!(rough > 0))
        return 1;
    while (step < rough)
        step *= 10;
    while (step >= rough * 10)
        step /= 10;
    /* step/10 < rough <= step */
    if (step / 5 >= rough)
        return step / 5;
    return step / 2 >= rough ? step / 2 : step;
}
