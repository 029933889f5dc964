/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/sim_text.h"
#include "core/base/fmt.h"

#include <inttypes.h>
#include <string.h>

#define MAX_QUEUES_SHOWN 12

const char *cli_human_span(sl_span d, char out[SL_HUMAN_TEXT]) {
    const char *sign = d < 0 ? "-" : "";
    double s = (d < 0 ? -(double)d : (double)d) / (double)SL_SEC;
    if (d == 0)
        sl_fmt_short(out, SL_HUMAN_TEXT, "0 s");
    else if (s < 0.9995e-3)
        sl_fmt_short(out, SL_HUMAN_TEXT, "%s%.0f us", sign, s * 1e6);
    else if (s < 0.9995)
        sl_fmt_short(out, SL_HUMAN_TEXT, "%s%.*f ms", sign, s < 0.09995 ? 1 : 0, s * 1e3);
    else if (s < 180)
        sl_fmt_short(out, SL_HUMAN_TEXT, "%s%.2f s", sign, s);
    else if (s < 3600)
        sl_fmt_short(out, SL_HUMAN_TEXT, "%s%dm%02ds", sign, (int)s / 60, (int)s % 60);
    else if (s < 172800)
        sl_fmt_short(out, SL_HUMAN_TEXT, "%s%dh%02dm", sign, (int)s / 3600, (int)s % 3600 / 60);
    else
        sl_fmt_short(out, SL_HUMAN_TEXT, "%s%.1f days", sign, s / 86400);
    return out;
}

const char *cli_human_count(uint64_t n, char out[SL_HUMAN_TEXT]) {
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
    char *to = out;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

static void heading(const struct cli_term *t, const char *title) {
    fprintf(t->out, "%s%s%s\n", cli_term_style(t, SL_STYLE_BOLD), title,
            cli_term_style(t, SL_STYLE_NONE));
}

/* An amount of the main resource. */
static const char *amount(const struct sl_meter_result *r, double v, char out[SL_HUMAN_TEXT]) {
    if (sl_quantity_is_milli(r->resource)) {
        sl_fmt_short(out, SL_HUMAN_TEXT, "%.1f", v / 1000);
    } else {
        char text[SL_QUANTITY_TEXT];
        sl_fmt_short(out, SL_HUMAN_TEXT, "%s", sl_amount_format(r->resource, (sl_amount)v, text));
    }
    return out;
}

/* ---- one run ---- */

static const struct cli_column fact_columns[] = {
    {.title = ""}, {.title = "", .right = true}, {.title = "", .shrink = 10}};

static void print_summary(const struct sl_report *r, const struct cli_term *t) {
    const struct sl_meter_result *m = &r->result;
    char a[SL_HUMAN_TEXT], b[SL_HUMAN_TEXT], c[SL_HUMAN_TEXT], quota[SL_QUANTITY_TEXT];
    struct cli_table tab;
    cli_table_init(&tab, fact_columns, SL_LEN(fact_columns));

    cli_table_cell(&tab, SL_STYLE_DIM, "workloads");
    cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(m->arrived, a));
    if (*m->resource)
        cli_table_cell(&tab, SL_STYLE_NONE, "in %s queues with %s %s in all",
                       cli_human_count(m->n_queues, b),
                       sl_amount_format(m->resource, m->capacity, quota), m->resource);
    else
        cli_table_cell(&tab, SL_STYLE_NONE, "in %s queues", cli_human_count(m->n_queues, b));

    cli_table_cell(&tab, SL_STYLE_DIM, "makespan");
    cli_table_cell(&tab, SL_STYLE_BOLD, "%s", cli_human_span(m->makespan, a));
    if (m->work_bound > 0)
        cli_table_cell(&tab, SL_STYLE_NONE, "%.3f x the work bound of %s (all work over all quota)",
                       (double)m->makespan / (double)m->work_bound,
                       cli_human_span(m->work_bound, b));
    else
        cli_table_cell(&tab, SL_STYLE_NONE, "%s",
                       m->work_bound < 0 ? "there is no quota for this work"
                                         : "nothing but time bounds this work");

    cli_table_cell(&tab, SL_STYLE_DIM, "utilisation");
    cli_table_cell(&tab, SL_STYLE_NONE, "%.1f %%", m->utilisation * 100);
    cli_table_cell(&tab, SL_STYLE_NONE,
                   "of the quota; %.1f %% was lost to evictions and done again", m->redone * 100);

    cli_table_cell(&tab, SL_STYLE_DIM, "admissions");
    cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(m->admitted, a));
    if (m->evictions > m->preemptions)
        cli_table_cell(&tab, SL_STYLE_NONE, "%s preemptions, %s other evictions",
                       cli_human_count(m->preemptions, b),
                       cli_human_count(m->evictions - m->preemptions, c));
    else
        cli_table_cell(&tab, SL_STYLE_NONE, "%s preemptions", cli_human_count(m->preemptions, b));

    double rate = r->cpu_s > 0 ? (double)r->world.decisions / r->cpu_s : 0;
    cli_table_cell(&tab, SL_STYLE_DIM, "decisions");
    cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(r->world.decisions, a));
    cli_table_cell(&tab, SL_STYLE_NONE, "%s per second of CPU, in %s cycles",
                   cli_human_count((uint64_t)rate, b), cli_human_count(r->world.cycles, c));

    cli_table_cell(&tab, SL_STYLE_DIM, "CPU");
    cli_table_cell(&tab, SL_STYLE_NONE, "%.3f s", r->cpu_s);
    cli_table_cell(&tab, SL_STYLE_NONE, "used by the program, %.3f s on the wall", r->wall_s);

    cli_table_cell(&tab, SL_STYLE_DIM, "digest");
    cli_table_cell(&tab, SL_STYLE_NONE, "%s", "");
    cli_table_cell(&tab, SL_STYLE_NONE, "%016" PRIx64, r->world.digest);
    cli_table_print(&tab, t, 2);
    cli_table_done(&tab);
}

static void print_classes(const struct sl_report *r, const struct cli_term *t) {
    static const struct cli_column columns[] = {
        {.title = "CLASS", .shrink = 8},
        {.title = "WORKLOADS", .right = true},
        {.title = "MEAN WAIT", .right = true},
        {.title = "P50", .right = true, .drop = 3},
        {.title = "P99", .right = true},
        {.title = "MAX", .right = true, .drop = 2},
        {.title = "FIRST START", .right = true, .drop = 4},
        {.title = "EVICTED", .right = true, .drop = 1},
    };
    char a[SL_HUMAN_TEXT];
    struct cli_table tab;
    cli_table_init(&tab, columns, SL_LEN(columns));
    for (uint32_t i = 0; i < r->result.n_classes; i++) {
        const struct sl_meter_class_result *c = &r->result.classes[i];
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", c->name);
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(c->arrived, a));
        cli_table_cell(&tab, SL_STYLE_BOLD, "%s", cli_human_span(c->last.mean, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_span(c->last.p50, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_span(c->last.p99, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_span(c->last.max, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_span(c->first.mean, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(c->evictions, a));
    }
    cli_table_print(&tab, t, 2);
    cli_table_done(&tab);
}

static void print_queues(const struct sl_report *r, const struct cli_term *t) {
    static const struct cli_column columns[] = {
        {.title = "QUEUE", .shrink = 8},
        {.title = "COHORT", .shrink = 6, .drop = 4},
        {.title = "QUOTA", .right = true},
        {.title = "MEAN USED", .right = true},
        {.title = "BORROWED", .right = true, .drop = 3},
        {.title = "WORKLOADS", .right = true, .drop = 1},
        {.title = "MEAN WAIT", .right = true},
        {.title = "EVICTED", .right = true, .drop = 2},
    };
    const struct sl_meter_result *m = &r->result;
    if (m->n_queues > MAX_QUEUES_SHOWN) {
        char a[SL_HUMAN_TEXT];
        fprintf(t->out, "  (%s queues; --json lists each of them)\n",
                cli_human_count(m->n_queues, a));
        return;
    }
    char a[SL_HUMAN_TEXT], quota[SL_QUANTITY_TEXT];
    struct cli_table tab;
    cli_table_init(&tab, columns, SL_LEN(columns));
    for (uint32_t i = 0; i < m->n_queues; i++) {
        const struct sl_meter_queue_result *q = &m->queues[i];
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", q->name);
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", q->cohort);
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", sl_amount_format(m->resource, q->nominal, quota));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", amount(m, q->used, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", amount(m, q->borrowed, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(q->arrived, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_span(q->mean_wait, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(q->evictions, a));
    }
    cli_table_print(&tab, t, 2);
    cli_table_done(&tab);
}

static void print_stuck(const struct sl_report *r, const struct cli_term *t) {
    char a[SL_HUMAN_TEXT];
    if (r->pending == 0)
        return;
    fprintf(t->out, "\n%s%s workloads are still waiting%s\n", cli_term_style(t, SL_STYLE_BAD),
            cli_human_count(r->pending, a), cli_term_style(t, SL_STYLE_NONE));
    for (uint32_t i = 0; i < r->n_stuck; i++)
        fprintf(t->out, "  %s in %s: %s\n", r->stuck[i].name, r->stuck[i].queue, r->stuck[i].why);
}

void cli_sim_text(const struct sl_report *r, const struct cli_term *t) {
    heading(t, r->source);
    print_summary(r, t);
    fputc('\n', t->out);
    print_classes(r, t);
    if (r->result.n_queues > 0) {
        fputc('\n', t->out);
        print_queues(r, t);
    }
    print_stuck(r, t);
}

/* ---- two runs ---- */

static const struct cli_column compare_columns[] = {
    {.title = "", .shrink = 12},
    {.title = "BEFORE", .right = true},
    {.title = "AFTER", .right = true},
    {.title = "CHANGE", .right = true},
};

/* Less is better for spans and evictions; for utilisation more is. */
static enum cli_style style_of_change(double change, bool more_is_better) {
    if (change > -1e-9 && change < 1e-9)
        return SL_STYLE_NONE;
    return (change > 0) == more_is_better ? SL_STYLE_GOOD : SL_STYLE_BAD;
}

static void span_row(struct cli_table *tab, const char *name, sl_span before, sl_span after) {
    char a[SL_HUMAN_TEXT];
    cli_table_cell(tab, SL_STYLE_NONE, "%s", name);
    cli_table_cell(tab, SL_STYLE_NONE, "%s", before < 0 ? "-" : cli_human_span(before, a));
    cli_table_cell(tab, SL_STYLE_NONE, "%s", after < 0 ? "-" : cli_human_span(after, a));
    if (before < 0 || after < 0) {
        cli_table_cell(tab, SL_STYLE_NONE, "%s", "");
        return;
    }
    sl_span d = after - before;
    cli_table_cell(tab, style_of_change((double)d, false), "%s%s", d > 0 ? "+" : "",
                   d == 0 ? "=" : cli_human_span(d, a));
}

static void count_row(struct cli_table *tab, const char *name, uint64_t before, uint64_t after,
                      bool judged) {
    char a[SL_HUMAN_TEXT];
    cli_table_cell(tab, SL_STYLE_NONE, "%s", name);
    cli_table_cell(tab, SL_STYLE_NONE, "%s", cli_human_count(before, a));
    cli_table_cell(tab, SL_STYLE_NONE, "%s", cli_human_count(after, a));
    if (before == after) {
        cli_table_cell(tab, SL_STYLE_NONE, "=");
        return;
    }
    bool more = after > before;
    cli_table_cell(tab, judged ? style_of_change(more ? 1 : -1, false) : SL_STYLE_NONE, "%s%s",
                   more ? "+" : "-", cli_human_count(more ? after - before : before - after, a));
}

static void percent_row(struct cli_table *tab, const char *name, double before, double after) {
    double d = (after - before) * 100;
    cli_table_cell(tab, SL_STYLE_NONE, "%s", name);
    cli_table_cell(tab, SL_STYLE_NONE, "%.1f %%", before * 100);
    cli_table_cell(tab, SL_STYLE_NONE, "%.1f %%", after * 100);
    if (d > -0.05 && d < 0.05)
        cli_table_cell(tab, SL_STYLE_NONE, "=");
    else
        cli_table_cell(tab, style_of_change(d, true), "%+.1f", d);
}

static const struct sl_meter_class_result *class_named(const struct sl_meter_result *r,
                                                       const char *name) {
    for (uint32_t i = 0; i < r->n_classes; i++) {
        if (strcmp(r->classes[i].name, name) == 0)
            return &r->classes[i];
    }
    return NULL;
}

static void compare_classes(struct cli_table *tab, const struct sl_meter_result *x,
                            const struct sl_meter_result *y) {
    for (uint32_t i = 0; i < x->n_classes; i++) {
        const struct sl_meter_class_result *b = &x->classes[i], *a = class_named(y, b->name);
        char name[300];
        sl_fmt_short(name, sizeof(name), "mean wait, class %s", b->name);
        span_row(tab, name, b->last.mean, a ? a->last.mean : -1);
        sl_fmt_short(name, sizeof(name), "p99 wait, class %s", b->name);
        span_row(tab, name, b->last.p99, a ? a->last.p99 : -1);
    }
}

/* Queues of either side, by name; at most so many, those that changed most first. */
static void compare_queues(struct cli_table *tab, const struct sl_meter_result *x,
                           const struct sl_meter_result *y, const struct cli_term *t) {
    uint32_t shown = 0;
    for (uint32_t side = 0; side < 2; side++) {
        const struct sl_meter_result *from = side ? y : x, *other = side ? x : y;
        for (uint32_t i = 0; i < from->n_queues; i++) {
            const struct sl_meter_queue_result *q = &from->queues[i], *o = NULL;
            for (uint32_t k = 0; k < other->n_queues && !o; k++) {
                /* mostly at the same index */
                uint32_t at = (i + k) % other->n_queues;
                if (strcmp(other->queues[at].name, q->name) == 0)
                    o = &other->queues[at];
            }
            if ((side && o) || shown++ >= MAX_QUEUES_SHOWN)
                continue;
            char name[300];
            sl_fmt_short(name, sizeof(name), "mean wait, queue %s", q->name);
            span_row(tab, name, side ? -1 : q->mean_wait,
                     side ? q->mean_wait
                     : o  ? o->mean_wait
                          : -1);
        }
    }
    if (shown > MAX_QUEUES_SHOWN)
        fprintf(t->out, "  (%u queues; --json lists each of them)\n", shown);
}

void cli_sim_text_compare(const struct sl_report *before, const struct sl_report *after,
                          const struct cli_term *t) {
    const struct sl_meter_result *x = &before->result, *y = &after->result;
    struct cli_table tab;
    fprintf(t->out, "%sbefore%s  %s\n%safter%s   %s\n\n", cli_term_style(t, SL_STYLE_BOLD),
            cli_term_style(t, SL_STYLE_NONE), before->source, cli_term_style(t, SL_STYLE_BOLD),
            cli_term_style(t, SL_STYLE_NONE), after->source);
    cli_table_init(&tab, compare_columns, SL_LEN(compare_columns));
    span_row(&tab, "makespan", x->makespan, y->makespan);
    span_row(&tab, "work bound", x->work_bound, y->work_bound);
    percent_row(&tab, "utilisation", x->utilisation, y->utilisation);
    count_row(&tab, "finished", x->finished, y->finished, false);
    count_row(&tab, "still waiting", before->pending, after->pending, true);
    count_row(&tab, "preemptions", x->preemptions, y->preemptions, true);
    compare_classes(&tab, x, y);
    compare_queues(&tab, x, y, t);
    cli_table_print(&tab, t, 2);
    cli_table_done(&tab);
    if (after->guessed > 0)
        fprintf(t->out,
                "\n  %" PRIu64
                " workloads had not finished in the journal; each is taken to run as "
                "long as the longest of its class\n",
                after->guessed);
    print_stuck(after, t);
}
