/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice sim: chooses between load, trace, scenario, replay and what-if, and shows the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/sim_text.h"
#include "cmd/cli/sim_trace.h"
#include "cmd/match/session.h"
#include "cmd/sim/picture/picture.h"
#include "cmd/sim/run.h"
#include "cmd/sim/scenario/scenario.h"
#include "core/base/fmt.h"
#include "core/base/time.h"
#include "lib/doc/doc.h"

enum opt {
    OPT_JSON,
    OPT_CHART,
    OPT_SVG,
    OPT_JOURNAL,
    OPT_REPLAY,
    OPT_WHAT_IF,
    OPT_UNTIL,
    OPT_CHECK,
    OPT_TELL,
    OPT_POLICY,
    OPT_MATCH,
    OPT_DEPTH,
    OPT_ONE_QUEUE,
    OPT_RESOLUTION,
    OPT_NODES,
    OPT_NODE_CPU,
    OPT_NODE_MEMORY,
    OPT_PROGRESS,
    OPT_COLOR,
    OPT_COUNT,
};

static const char *const color_choices[] = {"auto", "always", "never", NULL};

static const struct cli_opt options[OPT_COUNT] = {
    [OPT_JSON] = {"json", SL_OPT_FLAG, NULL, "print the result as one JSON object per file", NULL,
                  0},
    [OPT_CHART] = {"chart", SL_OPT_FLAG, NULL,
                   "plot used, borrowed and pending resources over time, as text", NULL, 0},
    [OPT_SVG] = {"svg", SL_OPT_FILE, "FILE", "write the same plot to FILE as SVG", NULL, 0},
    [OPT_JOURNAL] = {"journal", SL_OPT_FILE, "FILE",
                     "record all inputs and decisions in FILE, for --replay", NULL, 0},
    [OPT_REPLAY] = {"replay", SL_OPT_FILE, "FILE",
                    "run the inputs of a journal again and compare the decisions", NULL, 0},
    [OPT_WHAT_IF] = {"what-if", SL_OPT_FILE, "FILE",
                     "with --replay: run it again with the queues, cohorts and flavors of FILE in "
                     "place of those of the same name, and compare the two results",
                     NULL, 0},
    [OPT_UNTIL] = {"until", SL_OPT_SPAN, "TIME", "stop the virtual clock at TIME, e.g. 90s or 2h",
                   NULL, 0},
    [OPT_CHECK] = {"check", SL_OPT_FLAG, NULL,
                   "verify the engine's whole state after every cycle (slow)", NULL, 0},
    [OPT_TELL] = {"tell", SL_OPT_FLAG, NULL, "with scenarios and traces: print each decision", NULL,
                  0},
    [OPT_POLICY] = {"policy", SL_OPT_HINT, "LIST",
                    "with traces: queue policies to compare, separated by commas: fcfs, easy, "
                    "hybrid, hybrid:N, conservative (fcfs,easy,conservative)",
                    sl_trace_policy_names, 0},
    [OPT_MATCH] =
        {"match", SL_OPT_HINT, "POLICY",
         "with traces: match policy: how processors are chosen, as docs/graph.md says (lonode)",
         sl_session_policies, 0},
    [OPT_DEPTH] = {"depth", SL_OPT_TEXT, "N",
                   "with traces: waiting jobs that a queue considers in one pass (32)", NULL, 0},
    [OPT_ONE_QUEUE] = {"one-queue", SL_OPT_FLAG, NULL,
                       "with traces: one queue for all jobs, whatever their queue numbers", NULL,
                       0},
    [OPT_RESOLUTION] = {"resolution", SL_OPT_TEXT, "N",
                        "with traces: the queues see time in steps of N seconds, like Slurm's "
                        "bf_resolution (1)",
                        NULL, 0},
    [OPT_NODES] = {"nodes", SL_OPT_TEXT, "N", "with traces: number of nodes (MaxNodes)", NULL, 0},
    [OPT_NODE_CPU] = {"node-cpu", SL_OPT_TEXT, "N",
                      "with traces: processors of each node (MaxProcs over MaxNodes)", NULL, 0},
    [OPT_NODE_MEMORY] = {"node-memory", SL_OPT_TEXT, "QTY",
                         "with traces: memory of each node, e.g. 64Gi (not counted)", NULL, 0},
    [OPT_PROGRESS] = {"progress", SL_OPT_FLAG, NULL,
                      "show progress on standard error even if it is not a terminal", NULL, 0},
    [OPT_COLOR] = {"color", SL_OPT_CHOICE, "WHEN",
                   "auto, always or never; auto is only on a terminal, and honours NO_COLOR",
                   color_choices, 0},
};

static const struct cli_example examples[] = {
    {"sluice sim examples/load/sample.yaml",
     "makespan and wait times of a load, compared with the lower bound"},
    {"sluice sim --chart --svg=run.svg examples/load/sample.yaml",
     "the same, with plots over time in the terminal and as SVG"},
    {"sluice sim --json examples/load/baseline.yaml | jq .makespan_s", "one number, for a script"},
    {"sluice sim --journal=run.journal examples/load/sample.yaml", "record the run for a replay"},
    {"sluice sim --replay=run.journal", "repeat all decisions and verify that they are the same"},
    {"sluice sim --replay=run.journal --what-if=bigger-queue.yaml",
     "the same load with other queues; the file holds Kueue manifests"},
    {"sluice sim examples/trace/sample.swf",
     "a job trace under three queue policies, side by side"},
    {"sluice sim --policy=easy,hybrid:8 --nodes=32 --depth=1000 examples/trace/sample.swf",
     "other policies on fewer nodes, where all waiting jobs are considered"},
    {"sluice sim tests/scenario/*.scenario", "run scenarios and report failed expectations"},
};

/* ---- small helpers ---- */

static void show_progress(void *ctx, uint64_t done, uint64_t total, sl_span now) {
    char note[64], span[SL_HUMAN_TEXT];
    sl_fmt_short(note, sizeof(note), "virtual time %s", cli_human_span(now, span));
    cli_progress_at(ctx, done, total, note);
}

static bool has_ending(const char *s, const char *ending) {
    size_t n = strlen(s), m = strlen(ending);
    return n >= m && strcmp(s + n - m, ending) == 0;
}

static void print_line(const struct cli_args *a, struct sl_buf *b) {
    sl_buf_putc(b, '\n');
    (void)fwrite(sl_buf_str(b), 1, b->len, a->term->out); /* judged at the end of the program */
}

/* ---- showing ---- */

static int show_pictures(const struct cli_args *a, const struct sl_report *r, struct sl_err *err) {
    if (!cli_args_has(a, OPT_CHART) && !cli_args_has(a, OPT_SVG))
        return 0;
    struct sl_picture p;
    struct sl_buf b;
    int code = 0;
    sl_picture_init(&p, r->world.meter, &r->result, r->source);
    sl_buf_init(&b, SL_PICTURE_MAX_BYTES);
    if (cli_args_has(a, OPT_CHART)) {
        sl_picture_draw_chart(&p, a->term->width ? a->term->width : 100, a->term->utf8,
                              a->term->color, &b);
        if (!cli_args_has(a, OPT_JSON))
            fprintf(a->term->out, "\n%s", sl_buf_str(&b));
        else
            fputs(sl_buf_str(&b), a->term->err); /* standard output is for the JSON alone */
        sl_buf_clear(&b);
    }
    if (cli_args_has(a, OPT_SVG)) {
        sl_picture_draw_svg(&p, &b);
        code = sl_cli_write_file(a->opts[OPT_SVG], sl_buf_str(&b), b.len, err);
    }
    sl_buf_done(&b);
    sl_picture_done(&p);
    return code;
}

static int show_report(const struct cli_args *a, const struct sl_report *r, struct sl_err *err) {
    if (cli_args_has(a, OPT_JSON)) {
        struct sl_buf b;
        sl_buf_init(&b, SL_REPORT_MAX_BYTES);
        sl_report_json(r, &b);
        print_line(a, &b);
        sl_buf_done(&b);
    } else {
        cli_sim_text(r, a->term);
    }
    return show_pictures(a, r, err);
}

/* ---- the ways to run ---- */

static struct sl_sim_request sim_request(const struct cli_args *a, const char *file,
                                         struct cli_progress *p) {
    struct sl_sim_request q = {
        .file = file,
        .journal = a->opts[OPT_JOURNAL],
        .timeline = cli_args_has(a, OPT_CHART) || cli_args_has(a, OPT_SVG),
        .check = cli_args_has(a, OPT_CHECK),
    };
    struct sl_err ignored;
    const char *until = a->opts[OPT_UNTIL];
    if (until && sl_span_parse(until, strlen(until), &q.until, &ignored) < 0)
        q.until = 0; /* cannot be: the command line was checked */
    cli_progress_start(p, a->term, "simulating", cli_args_has(a, OPT_PROGRESS));
    if (p->on) {
        q.progress = show_progress;
        q.progress_ctx = p;
    }
    return q;
}

static int run_load(const struct cli_args *a, const char *file, struct sl_err *err) {
    struct cli_progress p;
    struct sl_sim_request q = sim_request(a, file, &p);
    struct sl_report r;
    int code = sl_sim_run_load(&q, &r, err);
    cli_progress_end(&p);
    if (code >= 0)
        code = show_report(a, &r, err);
    sl_report_done(&r);
    return code;
}

static int run_replay(const struct cli_args *a, struct sl_err *err) {
    struct cli_progress p;
    struct sl_sim_request q = sim_request(a, a->opts[OPT_REPLAY], &p);
    struct sl_report r;
    int code = sl_sim_run_replay(&q, &r, err);
    cli_progress_end(&p);
    if (code >= 0)
        code = show_report(a, &r, err);
    if (code >= 0 && !cli_args_has(a, OPT_JSON))
        fprintf(a->term->out,
                "\n%ssame decisions%s: the digest of the replay equals that of the journal\n",
                cli_term_style(a->term, SL_STYLE_GOOD), cli_term_style(a->term, SL_STYLE_NONE));
    sl_report_done(&r);
    return code;
}

static int run_what_if(const struct cli_args *a, struct sl_err *err) {
    struct cli_progress p;
    struct sl_sim_request q = sim_request(a, a->opts[OPT_REPLAY], &p);
    struct sl_report before, after;
    int code = sl_sim_run_what_if(&q, a->opts[OPT_WHAT_IF], &before, &after, err);
    cli_progress_end(&p);
    if (code >= 0 && cli_args_has(a, OPT_JSON)) {
        struct sl_buf b;
        sl_buf_init(&b, SL_REPORT_MAX_BYTES);
        sl_report_compare_json(&before, &after, &b);
        print_line(a, &b);
        sl_buf_done(&b);
    } else if (code >= 0) {
        cli_sim_text_compare(&before, &after, a->term);
    }
    if (code >= 0)
        code = show_pictures(a, &after, err);
    sl_report_done(&before);
    sl_report_done(&after);
    return code;
}

struct tally {
    uint32_t passed, failed, skipped;
};

static int run_scenario(const struct cli_args *a, const char *file, struct tally *t,
                        struct sl_err *err) {
    _cleanup_(sl_freep) char *text = NULL;
    size_t len;
    int r = sl_file_read(file, SL_SCENARIO_MAX_BYTES, &text, &len, err);
    if (r < 0)
        return r;
    _cleanup_(sl_scenarios_freep) struct sl_scenarios *s = NULL;
    struct sl_buf out;
    sl_buf_init(&out, SL_SCENARIO_OUT_BYTES);
    r = sl_scenarios_read(file, text, len, &s, &out);
    if (r < 0)
        (void)sl_err_set(err, r, "%.230s", sl_buf_str(&out));
    else if (cli_args_has(a, OPT_JOURNAL) && s->n != 1)
        r = sl_err_set(err, SL_EINVAL, "%s: a journal holds one scenario, this file has %u", file,
                       s->n);
    for (uint32_t i = 0; r >= 0 && i < s->n; i++) {
        sl_buf_clear(&out);
        enum sl_scenario_end end = SL_SCENARIO_FAILED;
        if (cli_args_has(a, OPT_JOURNAL))
            r = sl_scenario_run_journal(&s->v[i], cli_args_has(a, OPT_TELL), &out,
                                        a->opts[OPT_JOURNAL], &end, err);
        else
            end = sl_scenario_run(&s->v[i], NULL, cli_args_has(a, OPT_TELL), &out);
        if (r < 0)
            break;
        t->passed += end == SL_SCENARIO_PASSED;
        t->failed += end == SL_SCENARIO_FAILED;
        t->skipped += end == SL_SCENARIO_SKIPPED;
        const char *word = end == SL_SCENARIO_PASSED   ? "passed"
                           : end == SL_SCENARIO_FAILED ? "failed"
                                                       : "skipped";
        enum cli_style style = end == SL_SCENARIO_PASSED   ? SL_STYLE_GOOD
                               : end == SL_SCENARIO_FAILED ? SL_STYLE_BAD
                                                           : SL_STYLE_DIM;
        fprintf(a->term->out, "%s%-7s%s  %s:%u: %s\n", cli_term_style(a->term, style), word,
                cli_term_style(a->term, SL_STYLE_NONE), s->v[i].file, s->v[i].line, s->v[i].title);
        if (out.len > 0)
            fputs(sl_buf_str(&out), a->term->out);
    }
    sl_buf_done(&out);
    return r;
}

/* ---- the verb ---- */

/* Files and verbs were named "story" before, as users may still have them. */
static bool is_scenario(const char *file) {
    return has_ending(file, ".scenario") || has_ending(file, ".story");
}

static bool is_trace(const char *file) {
    return has_ending(file, ".swf");
}

static int misuse(const struct cli_args *a, const char *message) {
    fprintf(a->term->err, "%s: %s\ntry '%s sim --help'\n", a->program->name, message,
            a->program->name);
    return SL_EXIT_USAGE;
}

static bool has_any(const struct cli_args *a, enum opt first, enum opt last) {
    for (enum opt k = first; k <= last; k++)
        if (cli_args_has(a, k))
            return true;
    return false;
}

static const char *trace_conflict(const struct cli_args *a, uint32_t traces) {
    if (traces == 0)
        return has_any(a, OPT_POLICY, OPT_NODE_MEMORY)
                   ? "--policy, --match, --depth, --one-queue, --resolution, --nodes, "
                     "--node-cpu and --node-memory need a trace, a FILE that ends in .swf"
                   : NULL;
    if (traces < a->n)
        return "traces cannot be mixed with other files in one call";
    if (cli_args_has(a, OPT_JOURNAL) || cli_args_has(a, OPT_CHECK))
        return "--journal and --check cannot be used with traces";
    if (cli_args_has(a, OPT_TELL) && cli_args_has(a, OPT_JSON))
        return "--tell and --json cannot be combined";
    return NULL;
}

static const char *conflict(const struct cli_args *a) {
    bool replay = cli_args_has(a, OPT_REPLAY);
    uint32_t scenarios = 0, traces = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        scenarios += is_scenario(a->v[i]);
        traces += is_trace(a->v[i]);
    }
    if (!replay && a->n == 0)
        return "expected a FILE to simulate, or --replay=FILE";
    if (replay && a->n > 0)
        return "--replay reads its input from the journal; no other FILE can be given";
    if (cli_args_has(a, OPT_WHAT_IF) && !replay)
        return "--what-if needs --replay=FILE, the journal of the run to change";
    if (cli_args_has(a, OPT_WHAT_IF) && cli_args_has(a, OPT_JOURNAL))
        return "--journal cannot be combined with --what-if";
    if (a->n > 1 && (cli_args_has(a, OPT_SVG) || cli_args_has(a, OPT_JOURNAL)))
        return "--svg and --journal take one FILE at a time";
    if (scenarios > 0 &&
        (cli_args_has(a, OPT_JSON) || cli_args_has(a, OPT_CHART) || cli_args_has(a, OPT_SVG)))
        return "--json, --chart and --svg cannot be used with scenarios";
    if (scenarios > 0 && scenarios < a->n)
        return "scenarios and loads cannot be mixed in one call";
    if (scenarios == 0 && traces == 0 && cli_args_has(a, OPT_TELL))
        return "--tell is only valid with scenarios and traces";
    return trace_conflict(a, traces);
}

static int run_traces(const struct cli_args *a, struct sl_err *err) {
    const struct cli_trace_args args = {
        .policy = a->opts[OPT_POLICY],
        .match = a->opts[OPT_MATCH],
        .depth = a->opts[OPT_DEPTH],
        .resolution = a->opts[OPT_RESOLUTION],
        .nodes = a->opts[OPT_NODES],
        .node_cpu = a->opts[OPT_NODE_CPU],
        .node_memory = a->opts[OPT_NODE_MEMORY],
        .until = a->opts[OPT_UNTIL],
        .svg = a->opts[OPT_SVG],
        .one_queue = cli_args_has(a, OPT_ONE_QUEUE),
        .json = cli_args_has(a, OPT_JSON),
        .chart = cli_args_has(a, OPT_CHART),
        .tell = cli_args_has(a, OPT_TELL),
        .progress = cli_args_has(a, OPT_PROGRESS),
    };
    struct cli_trace t;
    if (cli_trace_read(&args, &t, err) < 0)
        return misuse(a, err->text);
    for (uint32_t i = 0; i < a->n; i++) {
        if (i > 0 && !args.json)
            fputc('\n', a->term->out);
        int r = cli_trace_run(&t, a->v[i], a->term, err);
        if (r < 0)
            return r;
    }
    return SL_EXIT_OK;
}

static int run_sim(const struct cli_args *a, struct sl_err *err) {
    const char *wrong = conflict(a);
    if (wrong)
        return misuse(a, wrong);
    const char *color = a->opts[OPT_COLOR];
    if (color && strcmp(color, "auto") != 0)
        a->term->color = strcmp(color, "always") == 0;
    if (cli_args_has(a, OPT_WHAT_IF))
        return run_what_if(a, err);
    if (cli_args_has(a, OPT_REPLAY))
        return run_replay(a, err);
    if (is_trace(a->v[0]))
        return run_traces(a, err);
    struct tally t = {0};
    bool scenarios = false;
    for (uint32_t i = 0; i < a->n; i++) {
        int r;
        if (is_scenario(a->v[i])) {
            scenarios = true;
            r = run_scenario(a, a->v[i], &t, err);
        } else {
            if (i > 0 && !cli_args_has(a, OPT_JSON))
                fputc('\n', a->term->out);
            r = run_load(a, a->v[i], err);
        }
        if (r < 0)
            return r;
    }
    if (scenarios)
        fprintf(a->term->out, "%u passed, %u failed, %u skipped\n", t.passed, t.failed, t.skipped);
    return t.failed > 0 ? SL_EXIT_DIFFERS : SL_EXIT_OK;
}

const struct cli_verb cli_verb_sim = {
    .name = "sim",
    .summary =
        "run the scheduler under a virtual clock: loads, traces, scenarios, replays, what-if",
    .synopsis = "[options] FILE...\n[options] --replay=JOURNAL [--what-if=FILE]",
    .about =
        "Runs the scheduling engine of `serve` on a synthetic load: hours of virtual time take "
        "seconds, and the same input always gives the same decisions. A FILE that ends in "
        ".scenario is a scenario with expectations. One that ends in .swf is a job trace in the "
        "Standard Workload Format, which runs on a resource graph under several queue policies. "
        "Any other is a load generator file, which defines queues and the arrival of workloads "
        "(docs/simulation.md).",
    .opts = options,
    .n_opts = OPT_COUNT,
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .max_args = UINT32_MAX,
    .arg = "FILE",
    .run = run_sim,
};
