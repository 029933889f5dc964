/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice queue` as tables for people and as JSON for scripts. */
#include <string.h>

#include "cmd/cli/cluster/queue_cmd.h"
#include "core/base/fmt.h"
#include "lib/json/writer.h"

#define TEXT 64

/* ---- tables ---- */

static const struct cli_column fluxjob_columns[] = {
    {.title = "QUEUE", .shrink = 8, .drop = 4},
    {.title = "POS", .right = true},
    {.title = "STATE"},
    {.title = "PODS", .right = true},
    {.title = "NODES", .shrink = 10, .drop = 3},
    {.title = "START"},
    {.title = "AGE", .right = true, .drop = 1},
    {.title = "JOB", .shrink = 14},
    {.title = "OBJECT", .shrink = 10, .drop = 2},
    {.title = "REASON", .shrink = 10},
};

static const struct cli_column workload_columns[] = {
    {.title = "CLUSTERQUEUE", .shrink = 8, .drop = 4},
    {.title = "POS", .right = true},
    {.title = "STATE"},
    {.title = "PODS", .right = true},
    {.title = "PRIORITY", .right = true, .drop = 5},
    {.title = "START", .drop = 3},
    {.title = "AGE", .right = true, .drop = 1},
    {.title = "WORKLOAD", .shrink = 14},
    {.title = "OBJECT", .shrink = 10, .drop = 2},
    {.title = "REASON", .shrink = 10},
};

/* As kubectl prints ages: two units at most. */
static const char *put_span(sl_span d, char out[TEXT]) {
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
    int64_t s = d > 0 ? d / SL_SEC : 0;

    for (size_t i = 0; i < SL_LEN(units); i++) {
        if (s < units[i].seconds && i + 1 < SL_LEN(units))
            continue;
        int64_t n = s / units[i].seconds;
        int64_t rest = i + 1 < SL_LEN(units) ? s % units[i].seconds / units[i + 1].seconds : 0;
        if (rest > 0 && n < 10)
            sl_fmt(out, TEXT, "%lld%s%lld%s", (long long)n, units[i].unit, (long long)rest,
                   units[i + 1].unit);
        else
            sl_fmt(out, TEXT, "%lld%s", (long long)n, units[i].unit);
        break;
    }
    return out;
}

/* When it starts or did start. */
static void start_cell(struct cli_table *t, const struct cli_queue_row *x, sl_time now) {
    char text[TEXT];

    if (strcmp(x->state, "Running") == 0 && x->started)
        cli_table_cell(t, SL_STYLE_NONE, "%s ago", put_span(now - x->started, text));
    else if (x->estimate > now)
        cli_table_cell(t, SL_STYLE_NONE, "in %s", put_span(x->estimate - now, text));
    else
        cli_table_cell(t, SL_STYLE_NONE, "%s", x->estimate ? "now" : "-");
}

static enum cli_style style_of(const struct cli_queue_row *x) {
    if (strcmp(x->state, "Running") == 0)
        return SL_STYLE_GOOD;
    return strcmp(x->state, "Rejected") == 0 ? SL_STYLE_BAD : SL_STYLE_NONE;
}

static void text_cell(struct cli_table *t, const char *text) {
    cli_table_cell(t, SL_STYLE_NONE, "%s", *text ? text : "-");
}

static void add_row(struct cli_table *t, const struct cli_queue_row *x, sl_time now) {
    char age[TEXT];

    text_cell(t, x->queue);
    if (x->position)
        cli_table_cell(t, SL_STYLE_NONE, "%s%u", x->position_guessed ? "~" : "", x->position);
    else
        text_cell(t, "");
    cli_table_cell(t, style_of(x), "%s", x->state);
    if (strcmp(x->state, "Running") == 0)
        cli_table_cell(t, SL_STYLE_NONE, "%u/%u", x->bound, x->pods);
    else
        cli_table_cell(t, SL_STYLE_NONE, "%u", x->pods);
    if (x->kind == SL_QUEUE_FLUXJOBS)
        text_cell(t, x->nodes);
    else
        cli_table_cell(t, SL_STYLE_NONE, "%d", x->priority);
    start_cell(t, x, now);
    cli_table_cell(t, SL_STYLE_NONE, "%s", put_span(now - x->created, age));
    cli_table_cell(t, SL_STYLE_NONE, "%s/%s", x->ns, x->name);
    if (*x->object_kind)
        cli_table_cell(t, SL_STYLE_NONE, "%s %s", x->object_kind, x->object);
    else
        text_cell(t, x->object);
    if (*x->message)
        cli_table_cell(t, SL_STYLE_NONE, "%s%s%s", x->reason, *x->reason ? ": " : "", x->message);
    else
        text_cell(t, x->reason);
}

static bool print_section(struct cli_queue *q, enum cli_queue_kind k, const char *title,
                          const char *none, sl_time now, const struct cli_term *term) {
    struct cli_table t;
    uint32_t n;
    struct cli_queue_row *v = cli_queue_rows(q, k, &n);

    if (n == 0) {
        fprintf(term->out, "%s\n", none);
    } else {
        fprintf(term->out, "%s%s%s\n", cli_term_style(term, SL_STYLE_BOLD), title,
                cli_term_style(term, SL_STYLE_NONE));
        cli_table_init(&t, k == SL_QUEUE_FLUXJOBS ? fluxjob_columns : workload_columns,
                       SL_LEN(fluxjob_columns));
        for (uint32_t i = 0; i < n; i++)
            add_row(&t, &v[i], now);
        cli_table_print(&t, term, 0);
        cli_table_done(&t);
    }
    sl_freep(&v);
    return n > 0;
}

void cli_queue_tables(struct cli_queue *q, sl_time now, const struct cli_term *term) {
    static const struct {
        const char *title, *none;
    } sections[] = {
        [SL_QUEUE_FLUXJOBS] = {"FluxJobs", "no FluxJob waits or runs"},
        [SL_QUEUE_WORKLOADS] = {"Workloads", "no Workload waits"},
    };
    bool first = true;

    for (enum cli_queue_kind k = SL_QUEUE_FLUXJOBS; k <= SL_QUEUE_WORKLOADS; k++) {
        if (!cli_queue_reads(q, k) || !cli_queue_served(q, k))
            continue;
        if (!first)
            fputc('\n', term->out);
        (void)print_section(q, k, sections[k].title, sections[k].none, now, term);
        first = false;
    }
}

/* ---- JSON ---- */

static void put_time(struct sl_jw *w, const char *key, sl_time t) {
    if (t)
        sl_jw_time(w, key, t);
}

static void put_row(struct sl_jw *w, const struct cli_queue_row *x) {
    sl_jw_object(w, NULL);
    sl_jw_str(w, "namespace", x->ns);
    sl_jw_str(w, "name", x->name);
    sl_jw_str(w, x->kind == SL_QUEUE_FLUXJOBS ? "queue" : "clusterQueue", x->queue);
    if (x->kind == SL_QUEUE_WORKLOADS)
        sl_jw_str(w, "localQueue", x->local_queue);
    sl_jw_str(w, "state", x->state);
    if (x->position) {
        sl_jw_uint(w, "position", x->position);
        sl_jw_bool(w, "positionGuessed", x->position_guessed);
    }
    sl_jw_int(w, "priority", x->priority);
    if (x->jobid)
        sl_jw_int(w, "jobid", x->jobid);
    sl_jw_object(w, "object");
    sl_jw_str(w, "kind", x->object_kind);
    sl_jw_str(w, "name", x->object);
    sl_jw_end(w);
    sl_jw_uint(w, "pods", x->pods);
    if (x->kind == SL_QUEUE_FLUXJOBS) {
        sl_jw_uint(w, "bound", x->bound);
        sl_jw_str(w, "nodes", x->nodes);
        sl_jw_bool(w, "reservation", x->reserved);
    }
    sl_jw_str(w, "reason", x->reason);
    sl_jw_str(w, "message", x->message);
    put_time(w, "estimatedStart", x->estimate);
    put_time(w, "createdAt", x->created);
    put_time(w, "submittedAt", x->submitted);
    put_time(w, "startedAt", x->started);
    sl_jw_end(w);
}

void cli_queue_json(struct cli_queue *q, struct sl_buf *out) {
    struct sl_jw w = SL_JW(out);

    sl_jw_object(&w, NULL);
    for (enum cli_queue_kind k = SL_QUEUE_FLUXJOBS; k <= SL_QUEUE_WORKLOADS; k++) {
        uint32_t n;
        if (!cli_queue_reads(q, k))
            continue;
        struct cli_queue_row *v = cli_queue_rows(q, k, &n);
        sl_jw_object(&w, k == SL_QUEUE_FLUXJOBS ? "fluxJobs" : "workloads");
        sl_jw_bool(&w, "served", cli_queue_served(q, k));
        sl_jw_array(&w, "items");
        for (uint32_t i = 0; i < n; i++)
            put_row(&w, &v[i]);
        sl_jw_end_to(&w, 1);
        sl_freep(&v);
    }
    sl_jw_end_to(&w, 0);
    sl_buf_putc(out, '\n');
}
