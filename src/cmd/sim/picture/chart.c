/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture as text: three lines a row (used, borrowed, pending) of blocks as high as the value.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/sim/picture/picture.h"

#define LEFT 12  /* columns before the blocks */
#define RIGHT 14 /* and after them */

enum line { LINE_USED, LINE_BORROWED, LINE_PENDING, LINE_COUNT };

static double value_of(const struct sl_timeline_bucket *b, enum line line) {
    return line == LINE_USED ? b->used : line == LINE_BORROWED ? b->borrowed : b->pending;
}

/* The mean of the buckets that fall into one column. */
static double column(const struct sl_picture *p, const struct sl_picture_row *row, enum line line,
                     unsigned c, unsigned columns) {
    double from = (double)c * p->n / columns, to = (double)(c + 1) * p->n / columns, sum = 0;
    uint32_t first = (uint32_t)from, last = (uint32_t)to;
    for (uint32_t i = first; i <= last && i < p->n; i++) {
        double a = i > from ? i : from, b = i + 1 < to ? i + 1 : to;
        if (b > a)
            sum += value_of(&row->v[i], line) * (b - a);
    }
    return to > from ? sum / (to - from) : 0;
}

static void draw_line(const struct sl_picture *p, const struct sl_picture_row *row, enum line line,
                      unsigned columns, bool utf8, bool color, struct sl_buf *out) {
    static const char *const names[] = {"used", "borrowed", "pending"};
    static const char *const colors[] = {"\033[34m", "\033[33m", "\033[31m"};
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
    double peak = line == LINE_USED       ? row->peak_used
                  : line == LINE_BORROWED ? row->peak_borrowed
                                          : row->peak_pending;
    /* used and borrowed share one scale, so that they compare */
    double top = peak;
    if (line != LINE_PENDING)
        top = row->capacity > row->peak_used ? row->capacity : row->peak_used;
    sl_buf_printf(out, "  %-*s%s", LEFT - 2, names[line], color ? colors[line] : "");
    for (unsigned c = 0; c < columns; c++) {
        double v = top > 0 ? column(p, row, line, c, columns) / top : 0;
        unsigned level = v <= 0 ? 0 : (unsigned)(v * 8 + 0.5);
        if (v > 0.002 && level == 0)
            level = 1; /* little is not nothing */
        sl_buf_puts(out, (utf8 ? blocks : ascii)[level > 8 ? 8 : level]);
    }
    char number[32];
    sl_buf_printf(out, "%s  peak %s\n", color ? "\033[0m" : "", sl_picture_number(peak, number));
}

static void draw_axis(const struct sl_picture *p, unsigned columns, struct sl_buf *out) {
    const char *sign;
    double length = (double)p->length / (double)SL_SEC / sl_picture_unit(p->length, &sign);
    double step = sl_picture_step(length, columns / 14);
    char text[512];
    memset(text, ' ', sizeof(text));
    unsigned end = 0;
    uint32_t marks = (uint32_t)(length / step);
    for (uint32_t i = 0; i <= marks; i++) {
        char number[32];
        double t = i * step;
        unsigned at = length > 0 ? (unsigned)(t / length * columns) : 0;
        char label[40];
        int n = snprintf(label, sizeof(label), "%s %s", sl_picture_number(t, number), sign);
        if (n <= 0 || at + (unsigned)n > columns || at + (unsigned)n >= sizeof(text) ||
            (end > 0 && at <= end))
            continue;
        memcpy(text + at, label, (size_t)n);
        end = at + (unsigned)n;
    }
    sl_buf_printf(out, "%*s%.*s\n", LEFT, "", (int)end, text);
}

void sl_picture_draw_chart(const struct sl_picture *p, unsigned width, bool utf8, bool color,
                           struct sl_buf *out) {
    if (width > 300)
        width = 300;
    unsigned columns = width > LEFT + RIGHT + 20 ? width - LEFT - RIGHT : 20;
    for (uint32_t i = 0; i < p->n_rows; i++) {
        const struct sl_picture_row *row = &p->rows[i];
        char number[32];
        sl_buf_printf(out, "%s%s%s", color ? "\033[1m" : "", row->name, color ? "\033[0m" : "");
        if (row->capacity >= 0)
            sl_buf_printf(out, "  (%s %s)\n", sl_picture_number(row->capacity, number), p->unit);
        else
            sl_buf_printf(out, "  (unlimited %s)\n", p->unit);
        for (int line = 0; line < LINE_COUNT; line++) {
            if (line == LINE_BORROWED && row->peak_borrowed <= 0)
                continue;
            draw_line(p, row, (enum line)line, columns, utf8, color, out);
        }
        draw_axis(p, columns, out);
    }
    if (p->left_out > 0)
        sl_buf_printf(out, "and %u more %s\n", p->left_out, p->by_cohort ? "cohorts" : "queues");
}
