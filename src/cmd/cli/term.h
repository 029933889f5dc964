/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal: where text goes, how wide it is and whether it shows colours. Colours only where a
 * person looks (a tty) and did not decline (NO_COLOR); everything else gets plain text. Also the
 * table and the progress bar, which need exactly that knowledge.
 */
#ifndef SL_CMD_CLI_TERM_H
#define SL_CMD_CLI_TERM_H

#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/collection/vec.h"

struct cli_term {
    FILE *out, *err;
    bool out_tty, err_tty;
    bool color;     /* of out */
    bool utf8;      /* may show more than ASCII */
    unsigned width; /* columns of out; 0: no limit (not a tty) */
};

enum cli_style {
    SL_STYLE_NONE,
    SL_STYLE_BOLD,
    SL_STYLE_DIM,
    SL_STYLE_GOOD,
    SL_STYLE_BAD,
};

void cli_term_init(struct cli_term *t, FILE *out, FILE *err);
/* The escape sequence of a style on out; "" without colours. SL_STYLE_NONE ends a style. */
const char *cli_term_style(const struct cli_term *t, enum cli_style s);
/* How many columns a text takes, counting UTF-8 sequences as one. */
unsigned cli_text_width(const char *s);
/* Replaces bytes that a terminal would obey: for texts of others. */
void cli_text_clean(char *s);
/* A paragraph, wrapped at width and indented; keeps its own line breaks. */
void cli_term_wrap(struct sl_buf *b, const char *text, unsigned indent, unsigned width);

/* ---- tables ---- */

struct cli_column {
    const char *title;
    bool right;
    unsigned shrink; /* may be cut down to this many columns; 0: never cut */
    unsigned drop;   /* omitted when there is no space, the highest first; 0: never */
};

#define SL_TABLE_MAX_COLUMNS 16
#define SL_TABLE_MAX_BYTES ((size_t)64 << 20)

struct cli_table {
    const struct cli_column *cols;
    uint32_t n_cols;
    struct sl_buf text;
    SL_VEC(uint32_t) cells; /* offsets into text, row by row */
    SL_VEC(uint8_t) styles; /* one per cell */
};

void cli_table_init(struct cli_table *t, const struct cli_column *cols, uint32_t n);
void cli_table_done(struct cli_table *t);
/* The next cell, from left to right and then down. */
void cli_table_cell(struct cli_table *t, enum cli_style s, const char *fmt, ...) _printf_(3, 4);
/* Everything so far, fitted to the width of the terminal; each line indented. */
void cli_table_print(const struct cli_table *t, const struct cli_term *term, unsigned indent);

/* ---- progress ---- */

struct cli_progress {
    FILE *f;
    bool on, tty, utf8, drawn;
    const char *label;
    unsigned width;
    int64_t next_ns;  /* when to draw again */
    unsigned percent; /* drawn last */
};

/* Draws on err if that is a tty, or if forced; else every call is nothing. */
void cli_progress_start(struct cli_progress *p, const struct cli_term *t, const char *label,
                        bool force);
/* Cheap enough to call often: draws a few times a second at most. note may be NULL. */
void cli_progress_at(struct cli_progress *p, uint64_t done, uint64_t total, const char *note);
void cli_progress_end(struct cli_progress *p);

#endif
