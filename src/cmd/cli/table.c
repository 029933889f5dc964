/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that fits the width: shrinkable columns are shortened first (truncated text ends in an
 * ellipsis), then the least important columns are omitted. Numbers are right-aligned.
 */
#include <stdarg.h>
#include <string.h>

#include "cmd/cli/term.h"

#define GAP 2

void cli_table_init(struct cli_table *t, const struct cli_column *cols, uint32_t n) {
    sl_assert(n > 0 && n <= SL_TABLE_MAX_COLUMNS);
    *t = (struct cli_table){.cols = cols, .n_cols = n};
    sl_buf_init(&t->text, SL_TABLE_MAX_BYTES);
}

void cli_table_done(struct cli_table *t) {
    sl_buf_done(&t->text);
    sl_vec_free(&t->cells);
    sl_vec_free(&t->styles);
}

void cli_table_cell(struct cli_table *t, enum cli_style s, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cli_text_clean(text);
    sl_assert(n >= 0 && t->text.len < UINT32_MAX - sizeof(text));
    *sl_vec_push(&t->cells) = (uint32_t)t->text.len;
    *sl_vec_push(&t->styles) = (uint8_t)s;
    sl_buf_add(&t->text, text, strlen(text) + 1); /* each cell keeps its end */
}

static const char *cell(const struct cli_table *t, uint32_t row, uint32_t col) {
    return t->text.s + t->cells.v[row * t->n_cols + col];
}

/* Chooses a width for each column; 0 for one that is left out. */
static void fit(const struct cli_table *t, unsigned limit, unsigned *width) {
    uint32_t rows = t->cells.n / t->n_cols;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        width[c] = cli_text_width(t->cols[c].title);
        for (uint32_t r = 0; r < rows; r++) {
            unsigned w = cli_text_width(cell(t, r, c));
            if (w > width[c])
                width[c] = w;
        }
        if (width[c] == 0)
            width[c] = 1;
    }
    if (limit == 0)
        return;
    for (;;) {
        unsigned total = 0, shown = 0;
        for (uint32_t c = 0; c < t->n_cols; c++) {
            total += width[c];
            shown += width[c] > 0;
        }
        total += shown > 0 ? (shown - 1) * GAP : 0;
        if (total <= limit)
            return;
        /* The widest column that may still shrink gives the missing columns, or what it can. */
        uint32_t widest = UINT32_MAX, drop = UINT32_MAX;
        for (uint32_t c = 0; c < t->n_cols; c++) {
            if (t->cols[c].shrink > 0 && width[c] > t->cols[c].shrink &&
                (widest == UINT32_MAX || width[c] > width[widest]))
                widest = c;
            if (t->cols[c].drop > 0 && width[c] > 0 &&
                (drop == UINT32_MAX || t->cols[c].drop > t->cols[drop].drop))
                drop = c;
        }
        if (widest != UINT32_MAX)
            width[widest]--;
        else if (drop != UINT32_MAX)
            width[drop] = 0;
        else
            return; /* narrower than the table can be: let the terminal wrap it */
    }
}

/* Puts a text of at most 'width' columns, cut and padded. */
static void put_cell(struct sl_buf *b, const struct cli_term *term, const char *s, unsigned width,
                     bool right, bool last, enum cli_style style) {
    unsigned w = cli_text_width(s);
    size_t bytes = strlen(s);
    const char *tail = "";
    if (w > width) {
        tail = term->utf8 && width > 1 ? "…" : "";
        unsigned keep = *tail ? width - 1 : width;
        bytes = 0;
        for (unsigned seen = 0; s[bytes]; bytes++) {
            if (((unsigned char)s[bytes] & 0xc0) != 0x80 && seen++ == keep)
                break;
        }
        w = width;
    }
    if (right)
        sl_buf_printf(b, "%*s", (int)(width - w), "");
    bool styled = style != SL_STYLE_NONE && term->color;
    if (styled)
        sl_buf_puts(b, cli_term_style(term, style));
    sl_buf_add(b, s, bytes);
    sl_buf_puts(b, tail);
    if (styled)
        sl_buf_puts(b, cli_term_style(term, SL_STYLE_NONE));
    if (!right && !last)
        sl_buf_printf(b, "%*s", (int)(width - w), "");
}

void cli_table_print(const struct cli_table *t, const struct cli_term *term, unsigned indent) {
    sl_assert(t->cells.n % t->n_cols == 0);
    uint32_t rows = t->cells.n / t->n_cols;
    unsigned width[SL_TABLE_MAX_COLUMNS];
    fit(t, term->width > indent ? term->width - indent : term->width, width);
    uint32_t last = 0;
    bool titled = false;
    for (uint32_t c = 0; c < t->n_cols; c++) {
        if (width[c] > 0)
            last = c;
        titled |= *t->cols[c].title != '\0';
    }
    struct sl_buf line;
    sl_buf_init(&line, SL_TABLE_MAX_BYTES);
    for (uint32_t r = titled ? 0 : 1; r <= rows; r++) {
        sl_buf_printf(&line, "%*s", (int)indent, "");
        for (uint32_t c = 0; c < t->n_cols; c++) {
            if (width[c] == 0)
                continue;
            const char *s = r == 0 ? t->cols[c].title : cell(t, r - 1, c);
            enum cli_style style =
                r == 0 ? SL_STYLE_BOLD : (enum cli_style)t->styles.v[(r - 1) * t->n_cols + c];
            put_cell(&line, term, s, width[c], t->cols[c].right, c == last, style);
            if (c != last)
                sl_buf_printf(&line, "%*s", GAP, "");
        }
        sl_buf_putc(&line, '\n');
    }
    (void)fwrite(sl_buf_str(&line), 1, line.len, term->out); /* judged at the end of the program */
    sl_buf_done(&line);
}
