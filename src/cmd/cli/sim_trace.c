/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/sim_trace.h"

#include <inttypes.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/sim_text.h"
#include "cmd/sim/picture/picture.h"
#include "cmd/sim/report.h"
#include "core/base/fmt.h"
#include "core/base/quantity.h"

#define DEFAULT_POLICIES "fcfs,easy,conservative"
#define DEFAULT_MATCH "lonode"
#define MIB (INT64_C(1) << 20)

/* ---- options ---- */

static int read_number(const char *name, const char *text, uint32_t max, uint32_t *ret,
                       struct sl_err *err) {
    uint64_t v = 0;

    if (!text)
        return 0;
    for (const char *c = text; *c; c++) {
        v = *c >= '0' && *c <= '9' ? v * 10 + (uint64_t)(*c - '0') : 0;
        if (v == 0 || v > max)
            break;
    }
    if (v == 0 || v > max)
        return sl_err_set(err, SL_EINVAL, "--%s=%.60s: expected a number from 1 to %u", name, text,
                          max);
    *ret = (uint32_t)v;
    return 0;
}

static int read_memory(const char *text, int64_t *ret_mib, struct sl_err *err) {
    sl_quantity q;

    if (!text)
        return 0;
    int r = sl_quantity_parse(text, strlen(text), &q, err);
    if (r < 0)
        return sl_err_wrap(err, r, "--node-memory=%.60s", text);
    sl_amount bytes = sl_amount_of_quota("memory", q);
    if (bytes < MIB || bytes / MIB > SL_TRACE_MAX_MEMORY_MIB)
        return sl_err_set(err, SL_EINVAL, "--node-memory=%.60s: expected 1Mi to 1Pi", text);
    *ret_mib = bytes / MIB;
    return 0;
}

int cli_trace_read(const struct cli_trace_args *a, struct cli_trace *ret, struct sl_err *err) {
    struct sl_trace_options *o = &ret->options;
    sl_span until = 0;
    int r;

    *ret = (struct cli_trace){.args = a, .options = {.one_queue = a->one_queue}};
    r = sl_trace_policies_parse(a->policy ? a->policy : DEFAULT_POLICIES, ret->policies,
                                &ret->n_policies, err);
    if (r < 0)
        return sl_err_wrap(err, r, "--policy");
    r = sl_match_policy_parse(a->match ? a->match : DEFAULT_MATCH, &o->match, err);
    if (r < 0)
        return sl_err_wrap(err, r, "--match=%.60s", a->match);
    r = read_number("depth", a->depth, SL_QUEUE_MAX_DEPTH, &o->depth, err);
    if (r >= 0)
        r = read_number("resolution", a->resolution, SL_TRACE_MAX_RESOLUTION, &o->resolution, err);
    if (r >= 0)
        r = read_number("nodes", a->nodes, SL_TRACE_MAX_NODES, &o->machine.nodes, err);
    if (r >= 0)
        r = read_number("node-cpu", a->node_cpu, SL_TRACE_MAX_CPU, &o->machine.cpu, err);
    if (r >= 0)
        r = read_memory(a->node_memory, &o->machine.memory_mib, err);
    if (r >= 0 && a->until)
        r = sl_span_parse(a->until, strlen(a->until), &until, err);
    if (r >= 0 && a->until && until < SL_SEC)
        r = sl_err_set(err, SL_EINVAL, "--until=%.60s: expected at least a second", a->until);
    o->until = until / SL_SEC;
    return r;
}

/* ---- while it runs ---- */

struct watcher {
    struct cli_term *term;
    struct cli_progress progress;
    uint64_t before, total; /* jobs, of all policies */
};

static void tell(void *ctx, const struct sl_trace_policy *p, int64_t now,
                 const struct sl_decision *d) {
    static const char *const kinds[] = {[SL_DECIDED_START] = "start",
                                        [SL_DECIDED_RESERVE] = "reserve",
                                        [SL_DECIDED_UNRESERVE] = "unreserve",
                                        [SL_DECIDED_REJECT] = "reject"};
    const struct watcher *w = ctx;
    FILE *f = w->term->out;

    fprintf(f, "%s %" PRId64 " %s %" PRId64, p->name, now, kinds[d->kind], d->jobid);
    if (d->kind == SL_DECIDED_RESERVE)
        fprintf(f, " at %" PRId64, d->at);
    if (d->kind == SL_DECIDED_START && d->selection == SL_SELECT_BACKFILL)
        fputs(" backfilled", f);
    fputc('\n', f);
}

static void show_progress(void *ctx, uint64_t done, int64_t now) {
    struct watcher *w = ctx;
    char note[64], span[SL_HUMAN_TEXT];

    sl_fmt_short(note, sizeof note, "virtual time %s", cli_human_span(sl_span_seconds(now), span));
    cli_progress_at(&w->progress, w->before + done, w->total, note);
}

/* ---- results ---- */

static const char *seconds(double s, char out[SL_HUMAN_TEXT]) {
    return cli_human_span(s < (double)SL_TRACE_MAX_SECONDS ? (sl_span)(s * (double)SL_SEC)
                                                           : sl_span_seconds((int64_t)s),
                          out);
}

static void print_heading(const struct sl_trace_report *r, const struct cli_term *t) {
    const struct sl_trace_machine *m = &r->options->machine;
    char a[SL_HUMAN_TEXT], b[SL_HUMAN_TEXT], c[SL_HUMAN_TEXT];

    fprintf(t->out, "%s%s%s\n  %s jobs on %s nodes with %s processors\n",
            cli_term_style(t, SL_STYLE_BOLD), r->source, cli_term_style(t, SL_STYLE_NONE),
            cli_human_count(r->trace->jobs.n, a), cli_human_count(m->nodes, b),
            cli_human_count(sl_trace_processors(m), c));
    if (r->trace->killed > 0)
        fprintf(t->out, "  %s are ended at their requested time\n",
                cli_human_count(r->trace->killed, a));
    if (r->trace->not_run > 0)
        fprintf(t->out, "  %s more did not run and are left out\n",
                cli_human_count(r->trace->not_run, a));
    if (r->trace->partial > 0)
        fprintf(t->out, "  %s lines are parts of jobs and are left out\n",
                cli_human_count(r->trace->partial, a));
    if (r->results[0].never > 0) /* of every policy the same, unless the clock was stopped */
        fprintf(t->out, "  %s%s can never run on this machine%s\n", cli_term_style(t, SL_STYLE_BAD),
                cli_human_count(r->results[0].never, a), cli_term_style(t, SL_STYLE_NONE));
    fputc('\n', t->out);
}

static void print_table(const struct sl_trace_report *r, const struct cli_term *t) {
    static const struct cli_column columns[] = {
        {.title = "POLICY"},
        {.title = "MAKESPAN", .right = true},
        {.title = "UTILISATION", .right = true, .drop = 2},
        {.title = "MEAN WAIT", .right = true},
        {.title = "MEDIAN", .right = true, .drop = 5},
        {.title = "P95", .right = true, .drop = 4},
        {.title = "SLOWDOWN", .right = true},
        {.title = "BACKFILLED", .right = true, .drop = 3},
        {.title = "LATE", .right = true, .drop = 1},
        {.title = "DIGEST", .drop = 6},
    };
    char a[SL_HUMAN_TEXT];
    struct cli_table tab;

    cli_table_init(&tab, columns, SL_LEN(columns));
    for (uint32_t i = 0; i < r->n; i++) {
        const struct sl_trace_result *x = &r->results[i];
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", x->policy.name);
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", seconds((double)x->makespan, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%.1f %%", x->utilisation * 100);
        cli_table_cell(&tab, SL_STYLE_BOLD, "%s", seconds(x->mean_wait, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", seconds((double)x->median_wait, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", seconds((double)x->p95_wait, a));
        cli_table_cell(&tab, SL_STYLE_BOLD, "%.2f", x->slowdown);
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(x->backfilled, a));
        cli_table_cell(&tab, SL_STYLE_NONE, "%s", cli_human_count(x->late, a));
        cli_table_cell(&tab, SL_STYLE_DIM, "%016" PRIx64, x->digest);
    }
    cli_table_print(&tab, t, 2);
    cli_table_done(&tab);
}

/* The clock was stopped. */
static void print_rest(const struct sl_trace_report *r, const struct cli_term *t) {
    char a[SL_HUMAN_TEXT], b[SL_HUMAN_TEXT];

    for (uint32_t i = 0; i < r->n; i++)
        if (r->results[i].running + r->results[i].waiting > 0)
            fprintf(t->out, "  %s: %s jobs run and %s wait at the end\n", r->results[i].policy.name,
                    cli_human_count(r->results[i].running, a),
                    cli_human_count(r->results[i].waiting, b));
}

static void print_json(const struct sl_trace_report *r, const struct cli_term *t) {
    struct sl_buf b;

    sl_buf_init(&b, SL_REPORT_MAX_BYTES);
    sl_trace_report_json(r, &b);
    sl_buf_putc(&b, '\n');
    (void)fwrite(sl_buf_str(&b), 1, b.len, t->out); /* judged at the end of the program */
    sl_buf_done(&b);
}

/* A row for each policy. */
static void picture_init(struct sl_picture *p, const struct sl_trace_report *r,
                         const struct sl_timeline *t) {
    *p = (struct sl_picture){.title = r->source,
                             .unit = "processors",
                             .n = t->n,
                             .width = t->width,
                             .length = t->end - t->start,
                             .n_rows = r->n};
    for (uint32_t i = 0; i < r->n; i++)
        sl_picture_row_init(&p->rows[i], r->results[i].policy.name,
                            (double)sl_trace_processors(&r->options->machine), t->rows.v[i].v,
                            t->n);
}

static int show_pictures(const struct cli_trace_args *a, const struct sl_trace_report *r,
                         const struct sl_timeline *timeline, const struct cli_term *t,
                         struct sl_err *err) {
    struct sl_picture p;
    struct sl_buf b;
    int code = 0;

    picture_init(&p, r, timeline);
    sl_buf_init(&b, SL_PICTURE_MAX_BYTES);
    if (a->chart) {
        sl_picture_draw_chart(&p, t->width ? t->width : 100, t->utf8, t->color, &b);
        if (a->json)
            fputs(sl_buf_str(&b), t->err); /* standard output is for the JSON alone */
        else
            fprintf(t->out, "\n%s", sl_buf_str(&b));
        sl_buf_clear(&b);
    }
    if (a->svg) {
        sl_picture_draw_svg(&p, &b);
        code = sl_cli_write_file(a->svg, sl_buf_str(&b), b.len, err);
    }
    sl_buf_done(&b);
    sl_picture_done(&p);
    return code;
}

/* ---- the whole ---- */

static int run_policies(const struct cli_trace *t, const struct sl_swf *trace,
                        struct sl_trace_options *o, struct cli_term *term,
                        struct sl_trace_result *results, struct sl_err *err) {
    struct watcher w = {.term = term, .total = (uint64_t)trace->jobs.n * t->n_policies};
    int r = 0;

    cli_progress_start(&w.progress, term, "simulating", t->args->progress);
    o->decided = t->args->tell ? tell : NULL;
    o->progress = w.progress.on ? show_progress : NULL;
    o->ctx = &w;
    for (o->row = 0; r >= 0 && o->row < t->n_policies; o->row++) {
        r = sl_trace_run(trace, &t->policies[o->row], o, &results[o->row], err);
        w.before += trace->jobs.n;
    }
    cli_progress_end(&w.progress);
    return r;
}

/* The last end, or the last pass if that was later. */
static sl_time last_instant(const struct sl_timeline *t, const struct sl_trace_result *results,
                            uint32_t n) {
    sl_time last = 0;

    for (uint32_t i = 0; i < n; i++) {
        int64_t s = results[i].makespan;
        sl_time at = sl_span_seconds(s < SL_TRACE_MAX_SECONDS ? s : SL_TRACE_MAX_SECONDS);
        last = at > last ? at : last;
    }
    for (uint32_t i = 0; i < t->rows.n; i++)
        last = t->rows.v[i].since > last ? t->rows.v[i].since : last;
    return last;
}

static int run_trace(const struct cli_trace *t, const char *file, const struct sl_swf *trace,
                     struct cli_term *term, struct sl_err *err) {
    struct sl_trace_result results[SL_TRACE_MAX_POLICIES] = {0};
    struct sl_trace_options o = t->options;
    struct sl_timeline timeline;
    struct sl_trace_report report = {.source = file,
                                     .trace = trace,
                                     .options = &o,
                                     .match = t->args->match ? t->args->match : DEFAULT_MATCH,
                                     .results = results,
                                     .n = t->n_policies};
    int r = sl_trace_machine_complete(trace, file, &t->options.machine, &o.machine, err);

    if (r < 0)
        return r;
    sl_timeline_init(&timeline, 0);
    if (t->args->chart || t->args->svg)
        o.timeline = &timeline;
    r = run_policies(t, trace, &o, term, results, err);
    sl_timeline_end(&timeline, last_instant(&timeline, results, t->n_policies));
    if (r < 0) {
        (void)sl_err_wrap(err, r, "%s", file);
    } else if (t->args->json) {
        print_json(&report, term);
    } else {
        print_heading(&report, term);
        print_table(&report, term);
        print_rest(&report, term);
    }
    if (r >= 0 && o.timeline)
        r = show_pictures(t->args, &report, &timeline, term, err);
    for (uint32_t i = 0; i < t->n_policies; i++)
        sl_trace_result_done(&results[i]);
    sl_timeline_done(&timeline);
    return r;
}

int cli_trace_run(const struct cli_trace *t, const char *file, struct cli_term *term,
                  struct sl_err *err) {
    struct sl_swf trace;
    int r = sl_swf_load(file, &trace, err);

    if (r < 0)
        return r;
    r = run_trace(t, file, &trace, term, err);
    sl_swf_done(&trace);
    return r;
}
