/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture as one SVG document without scripts, fonts or links: a panel per row, with used and
 * borrowed stacked up to the capacity line and the pending workloads in a strip below.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/sim/picture/picture.h"

#define WIDTH 1000
#define LEFT 74
#define RIGHT 26
#define PLOT (WIDTH - LEFT - RIGHT)
#define TOP 78
#define AREA 74  /* height of used and borrowed */
#define STRIP 34 /* height of pending */
#define GAP 10   /* between them */
#define PANEL (22 + AREA + GAP + STRIP + 26)

#define COLOR_USED "#3b76af"
#define COLOR_BORROWED "#ef8536"
#define COLOR_PENDING "#8d69b8"

static void put_escaped(struct sl_buf *b, const char *s) {
    for (; *s; s++) {
        switch (*s) {
        case '&':
            sl_buf_puts(b, "&amp;");
            break;
        case '<':
            sl_buf_puts(b, "&lt;");
            break;
        case '>':
            sl_buf_puts(b, "&gt;");
            break;
        case '"':
            sl_buf_puts(b, "&quot;");
            break;
        default:
            if ((unsigned char)*s < 0x20)
                sl_buf_putc(b, ' ');
            else
                sl_buf_putc(b, *s);
        }
    }
}

static double x_of(const struct sl_picture *p, double seconds) {
    double length = (double)p->length / (double)SL_SEC;
    return length > 0 ? LEFT + PLOT * seconds / length : LEFT;
}

/* A filled step line over the buckets, from 'base' down to the value. */
static void area(struct sl_buf *b, const struct sl_picture *p, const struct sl_timeline_bucket *v,
                 int which, double base, double height, double top, const char *fill) {
    sl_buf_printf(b, "<path fill=\"%s\" d=\"M%.1f %.1f", fill, (double)LEFT, base);
    double bucket = (double)p->width / (double)SL_SEC, length = (double)p->length / (double)SL_SEC;
    double last_y = -1;
    for (uint32_t i = 0; i < p->n; i++) {
        double value = which == 0 ? v[i].used : which == 1 ? v[i].borrowed : v[i].pending;
        /* borrowed stands on top of the rest of what is used */
        double y = base - (top > 0 ? value / top * height : 0);
        double from = i * bucket, to = (i + 1) * bucket < length ? (i + 1) * bucket : length;
        if (i == 0 || y < last_y - 0.04 || y > last_y + 0.04)
            sl_buf_printf(b, "L%.1f %.1f", x_of(p, from), y);
        sl_buf_printf(b, "H%.1f", x_of(p, to));
        last_y = y;
    }
    sl_buf_printf(b, "V%.1fZ\"/>\n", base);
}

static void y_label(struct sl_buf *b, double y, double value) {
    char number[32];
    sl_buf_printf(b, "<text class=\"t\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                  LEFT - 8, y + 4, sl_picture_number(value, number));
}

static void grid(struct sl_buf *b, const struct sl_picture *p, double y0, double y1, bool labels) {
    const char *sign;
    double unit = sl_picture_unit(p->length, &sign);
    double length = (double)p->length / (double)SL_SEC / unit;
    double step = sl_picture_step(length, 10);
    uint32_t marks = (uint32_t)(length / step * 1.0001);
    for (uint32_t i = 0; i <= marks; i++) {
        char number[32];
        double t = i * step;
        double x = x_of(p, t * unit);
        sl_buf_printf(b, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>\n", x, y0, y1);
        if (labels)
            sl_buf_printf(b,
                          "<text class=\"t\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s "
                          "%s</text>\n",
                          x, y1 + 15, sl_picture_number(t, number), sign);
    }
}

static void panel(struct sl_buf *b, const struct sl_picture *p, const struct sl_picture_row *row,
                  double y) {
    char number[32];
    sl_buf_printf(b, "<g><text class=\"h\" x=\"%d\" y=\"%.1f\">", LEFT, y + 13);
    put_escaped(b, row->name);
    sl_buf_puts(b, "<tspan class=\"s\" dx=\"10\">");
    if (row->capacity >= 0)
        sl_buf_printf(b, "quota %s ", sl_picture_number(row->capacity, number));
    else
        sl_buf_puts(b, "unlimited ");
    put_escaped(b, p->unit);
    sl_buf_printf(b, ", at most %s used", sl_picture_number(row->peak_used, number));
    sl_buf_printf(b, ", %s borrowed", sl_picture_number(row->peak_borrowed, number));
    sl_buf_printf(b, ", %s pending", sl_picture_number(row->peak_pending, number));
    sl_buf_puts(b, "</tspan></text>\n");

    double top = row->capacity > row->peak_used ? row->capacity : row->peak_used;
    double y0 = y + 22, base = y0 + AREA, strip0 = base + GAP, strip = strip0 + STRIP;
    grid(b, p, y0, base, false);
    grid(b, p, strip0, strip, true);
    /* used as a whole first; then, over it, the part that is not borrowed */
    area(b, p, row->v, 0, base, AREA, top, COLOR_BORROWED);
    struct sl_timeline_bucket *own = sl_alloc0(p->n + 1, sizeof(*own));
    for (uint32_t i = 0; i < p->n; i++)
        own[i].used = row->v[i].used - row->v[i].borrowed;
    area(b, p, own, 0, base, AREA, top, COLOR_USED);
    sl_freep(&own);
    if (row->capacity > 0 && top > 0) {
        double yc = base - row->capacity / top * AREA;
        sl_buf_printf(b, "<path class=\"c\" d=\"M%d %.1fH%d\"/>\n", LEFT, yc, LEFT + PLOT);
        y_label(b, yc, row->capacity);
    }
    if (row->capacity < 0 || row->peak_used > row->capacity * 1.2)
        y_label(b, y0, top);
    y_label(b, base, 0);
    area(b, p, row->v, 2, strip, STRIP, row->peak_pending, COLOR_PENDING);
    if (row->peak_pending > 0)
        y_label(b, strip0 + 4, row->peak_pending);
    y_label(b, strip, 0);
    sl_buf_printf(b, "<path class=\"a\" d=\"M%d %.1fH%dM%d %.1fH%d\"/></g>\n", LEFT, base,
                  LEFT + PLOT, LEFT, strip, LEFT + PLOT);
}

static void legend(struct sl_buf *b, const struct sl_picture *p) {
    static const struct {
        const char *color, *words;
        int width;
    } keys[] = {
        {COLOR_USED, "used within the quota", 158},
        {COLOR_BORROWED, "borrowed", 84},
        {COLOR_PENDING, "workloads pending (own scale)", 210},
    };
    int x = LEFT;
    for (size_t i = 0; i < SL_LEN(keys); i++) {
        sl_buf_printf(b,
                      "<rect x=\"%d\" y=\"44\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                      "<text class=\"l\" x=\"%d\" y=\"54\">%s</text>\n",
                      x, keys[i].color, x + 17, keys[i].words);
        x += keys[i].width + 17;
    }
    sl_buf_printf(
        b, "<path class=\"c\" d=\"M%d 50h26\"/><text class=\"l\" x=\"%d\" y=\"54\">quota, in ", x,
        x + 32);
    put_escaped(b, p->unit);
    sl_buf_puts(b, "</text>\n");
}

void sl_picture_draw_svg(const struct sl_picture *p, struct sl_buf *out) {
    unsigned height = TOP + p->n_rows * PANEL + 16;
    sl_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
                  "height=\"%u\" font-family=\"sans-serif\">\n",
                  WIDTH, height, WIDTH, height);
    sl_buf_puts(out, "<style>.h{font-size:13px;font-weight:bold;fill:#222}"
                     ".s{font-weight:normal;fill:#666;font-size:12px}"
                     ".t{font-size:11px;fill:#555}.l{font-size:12px;fill:#333}"
                     ".g{stroke:#e4e4e4;fill:none}.a{stroke:#888;fill:none}"
                     ".c{stroke:#222;stroke-dasharray:5 3;fill:none}</style>\n");
    sl_buf_printf(out, "<rect width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n", WIDTH, height);
    sl_buf_printf(out, "<title>");
    put_escaped(out, p->title);
    sl_buf_printf(out,
                  "</title>\n<text x=\"%d\" y=\"27\" font-size=\"16\" font-weight=\"bold\" "
                  "fill=\"#222\">",
                  LEFT);
    put_escaped(out, p->title);
    sl_buf_puts(out, "</text>\n");
    legend(out, p);
    for (uint32_t i = 0; i < p->n_rows; i++)
        panel(out, p, &p->rows[i], TOP + i * (double)PANEL);
    if (p->left_out > 0)
        sl_buf_printf(out, "<text class=\"s\" x=\"%d\" y=\"%u\">and %u more %s</text>\n", LEFT,
                      height - 6, p->left_out, p->by_cohort ? "cohorts" : "queues");
    sl_buf_puts(out, "</svg>\n");
}
