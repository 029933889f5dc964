/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress bar. On a tty it is redrawn in place; elsewhere, if enabled, it is one line for each
 * ten percent, so that a log stays readable. No decision depends on it, so it may read the clock.
 */
#include <time.h>

#include "cmd/cli/term.h"

#define DRAW_EVERY_NS INT64_C(80000000)

static int64_t monotonic_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void cli_progress_start(struct cli_progress *p, const struct cli_term *t, const char *label,
                        bool force) {
    *p = (struct cli_progress){
        .f = t->err,
        .on = t->err_tty || force,
        .tty = t->err_tty,
        .utf8 = t->utf8,
        .label = label,
        .width = t->width ? t->width : 80,
        .percent = UINT32_MAX,
    };
}

void cli_progress_at(struct cli_progress *p, uint64_t done, uint64_t total, const char *note) {
    if (!p->on)
        return;
    if (done > total)
        total = done;
    unsigned percent = total == 0 ? 100 : (unsigned)((__uint128_t)done * 100 / total);
    if (!p->tty) {
        unsigned tenth = percent / 10 * 10;
        if (tenth != p->percent) {
            p->percent = tenth;
            fprintf(p->f, "%s: %3u%%%s%s\n", p->label, tenth, note ? "  " : "", note ? note : "");
        }
        return;
    }
    int64_t now = monotonic_ns();
    if (now < p->next_ns && done < total)
        return;
    p->next_ns = now + DRAW_EVERY_NS;
    unsigned cells = p->width > 70 ? 30 : 12;
    unsigned full = percent * cells / 100;
    fprintf(p->f, "\r\033[K%s [", p->label);
    for (unsigned i = 0; i < cells; i++)
        fputs(i < full ? (p->utf8 ? "█" : "#") : (p->utf8 ? "░" : "."), p->f);
    fprintf(p->f, "] %3u%%%s%s", percent, note ? "  " : "", note ? note : "");
    (void)fflush(p->f);
    p->drawn = true;
}

void cli_progress_end(struct cli_progress *p) {
    if (p->drawn) {
        fputs("\r\033[K", p->f);
        (void)fflush(p->f);
    }
    p->on = p->drawn = false;
}
