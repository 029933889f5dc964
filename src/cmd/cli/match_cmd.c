/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice match: the command line of resource-query around a session (cmd/match/session.h). Option
 * errors have the messages that its users' scripts know; then lines are read until the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/match/session.h"
#include "cmd/match/verbs.h"

enum opt {
    OPT_LOAD_FILE,
    OPT_LOAD_FORMAT,
    OPT_ALLOWLIST,
    OPT_SUBSYSTEMS,
    OPT_POLICY,
    OPT_TRAVERSER,
    OPT_FORMAT,
    OPT_GRAPH_FORMAT,
    OPT_GRAPH_OUTPUT,
    OPT_FILTERS,
    OPT_OUTPUT,
    OPT_RESERVE,
    OPT_ELAPSE,
    OPT_NO_PROMPT,
    OPT_LISTEN,
    OPT_COUNT,
};

/* Of the options that take one of a set of values: their defaults. */
static const struct {
    enum opt opt;
    const char *otherwise;
    const char *unknown; /* NULL: it is judged later */
} worded[SL_SESSION_WORDS] = {
    [SL_SESSION_LOAD_FORMAT] = {OPT_LOAD_FORMAT, "grug", "unknown format for --load-format"},
    [SL_SESSION_SUBSYSTEMS] = {OPT_SUBSYSTEMS, "CA", "unknown name for --match-subsystems"},
    [SL_SESSION_POLICY] = {OPT_POLICY, "first", NULL},
    [SL_SESSION_TRAVERSER] = {OPT_TRAVERSER, "simple", "unknown name for --traverser-policy"},
    [SL_SESSION_FORMAT] = {OPT_FORMAT, "simple", "unknown format for --match-format"},
    [SL_SESSION_GRAPH_FORMAT] = {OPT_GRAPH_FORMAT, "dot", "unknown format for --graph-format"},
};

static const struct cli_opt options[OPT_COUNT] = {
    [OPT_LOAD_FILE] = {"load-file", SL_OPT_FILE, "FILE", "resource graph (conf/default)", NULL,
                       'L'},
    [OPT_LOAD_FORMAT] =
        {"load-format", SL_OPT_HINT, "FORMAT",
         "format of the resource graph: grug, hwloc, jgf, jgf_shorthand, rv1exec or "
         "rv1exec_force (grug)",
         sl_session_load_formats, 'f'},
    [OPT_ALLOWLIST] = {"load-allowlist", SL_OPT_TEXT, "TYPES",
                       "load only these resource types, separated by commas; the cluster is "
                       "always loaded",
                       NULL, 'W'},
    [OPT_SUBSYSTEMS] = {"match-subsystems", SL_OPT_HINT, "NAME",
                        "subsystems to match in: CA containment, IBA ibnet, IBBA ibnetbw, PA "
                        "power, PFS1BA pfs1bw, VA virtual1; C+IBA, C+IBBA, C+PA, C+PFS1BA, "
                        "IB+IBBA, C+P+IBA, V+PFS1BA; ALL (CA)",
                        sl_session_subsystems, 'S'},
    [OPT_POLICY] = {"match-policy", SL_OPT_HINT, "POLICY",
                    "match policy: first, firstnodex, high, hinode, hinodex, low, "
                    "lonode, lonodex, locality, variation, or terms such as 'policy=low "
                    "node_centric=true node_exclusive=false stop_on_1_matches=true' (first)",
                    sl_session_policies, 'P'},
    [OPT_TRAVERSER] =
        {"traverser-policy", SL_OPT_HINT, "NAME",
         "traverser: simple, or flexible, which may mix several slots of a list (simple)",
         sl_session_traversers, 'T'},
    [OPT_FORMAT] = {"match-format", SL_OPT_HINT, "FORMAT",
                    "output format of matches: simple, pretty_simple, jgf, jgf_shorthand, rlite, "
                    "rv1, rv1_nosched or rv1_shorthand (simple)",
                    sl_session_formats, 'F'},
    [OPT_GRAPH_FORMAT] = {"graph-format", SL_OPT_HINT, "FORMAT",
                          "format of --graph-output: dot or graphml (dot)",
                          sl_session_graph_formats, 'g'},
    [OPT_GRAPH_OUTPUT] = {"graph-output", SL_OPT_FILE, "BASENAME",
                          "on exit, write the graph to BASENAME.dot or BASENAME.graphml", NULL,
                          'o'},
    [OPT_FILTERS] = {"prune-filters", SL_OPT_TEXT, "FILTERS",
                     "pruning filters: resource counts kept per type, e.g. rack:node,ALL:core "
                     "(ALL:core,ALL:node)",
                     NULL, 'p'},
    [OPT_OUTPUT] = {"test-output", SL_OPT_FILE, "FILE",
                    "write the results of match, find, cancel, status and properties to FILE", NULL,
                    't'},
    [OPT_RESERVE] = {"reserve-vtx-vec", SL_OPT_TEXT, "SIZE",
                     "accepted for compatibility and ignored: memory grows on demand", NULL, 'r'},
    [OPT_ELAPSE] = {"elapse-time", SL_OPT_FLAG, NULL,
                    "print the size of the graph and the elapsed time of each match", NULL, 'e'},
    [OPT_NO_PROMPT] = {"disable-prompt", SL_OPT_FLAG, NULL, "never print a prompt", NULL, 'd'},
    [OPT_LISTEN] = {"listen", SL_OPT_FILE, "PATH",
                    "instead of commands, answer HTTP requests on a Unix domain socket: /v1/init, "
                    "/v1/match, /v1/satisfy, /v1/cancel, /v1/partial-cancel, /v1/info; without "
                    "--load-file the first /v1/init brings the graph; --match-format is jgf",
                    NULL, 0},
};

static const struct cli_example examples[] = {
    {"sluice match -L examples/match/small.graphml",
     "interactive: match allocate examples/match/one-node.yaml, find sched-now=allocated, help, "
     "quit"},
    {"echo 'match allocate examples/match/one-node.yaml' |\n"
     "      sluice match -L examples/match/small.graphml -P lonode -F rv1_nosched",
     "one match as JSON, for a script; prefers nodes with low ids"},
    {"sluice match -L examples/match/small.json -f jgf -t results.txt < commands",
     "a graph in JSON Graph Format; results go to a file, the rest to standard output"},
    {"sluice match -L R.json -f rv1exec -F pretty_simple", "the resources of an R (RFC 20)"},
    {"sluice match -L examples/match/small.graphml -g dot -o picture < /dev/null",
     "write the graph to picture.dot, for Graphviz"},
    {"sluice match --listen=match.sock -L examples/match/small.json -f jgf -P lonode &\n"
     "      curl --unix-socket match.sock http://localhost/v1/info",
     "the verbs of Fluxion's service, with a real clock, until SIGTERM"},
};

static const struct cli_example exits[] = {
    {"0", "the session ended, even if commands failed"},
    {"1", "invalid option, graph or socket; the message gives file, line and expected value"},
    {"4", "writing to standard output failed"},
};

/* ---- options ---- */

static const char *option_value(const struct cli_args *a, enum opt k, const char *fallback) {
    return a->opts[k] ? a->opts[k] : fallback;
}

static int refuse_option(const struct cli_args *a, const char *what, const char *word) {
    fprintf(stderr, "[ERROR] %s: %s\n", what, word);
    sl_cli_usage(a->program, a->verb);
    return SL_EXIT_DIFFERS;
}

static int check_files(const struct cli_args *a) {
    const char *file = a->opts[OPT_LOAD_FILE];
    struct stat st;
    if (!file)
        return 0;
    if (stat(file, &st) < 0)
        return refuse_option(a, "file does not exist for --load-file", file);
    if (S_ISDIR(st.st_mode))
        return refuse_option(a, "path passed to --load-file is a directory", file);
    return 0;
}

/* 0, or the exit code after printing an error. */
static int check_values(const struct cli_args *a, struct sl_session_options *o) {
    for (enum sl_session_word k = 0; k < SL_SESSION_WORDS; k++) {
        o->words[k] = option_value(a, worded[k].opt, worded[k].otherwise);
        if (worded[k].unknown && !sl_session_knows(k, o->words[k]))
            return refuse_option(a, worded[k].unknown, o->words[k]);
    }
    const char *size = option_value(a, OPT_RESERVE, "0");
    long long n = strtoll(size, NULL, 10);
    if (n < 0 || n > 2000000)
        fprintf(stderr, "WARN: out of range specified for --reserve-vtx-vec: %s\n", size);
    return 0;
}

static const char *unless_blank(const char *text) {
    return text && text[strspn(text, " ")] ? text : NULL;
}

/* ---- the session ---- */

static int64_t ticks_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One line without its end; false at the end of input. Too long a line is passed over. */
static bool read_line(struct cli_term *term, bool prompt, char *line) {
    for (bool skipping = false;;) {
        if (prompt && !skipping) {
            fputs("sluice> ", term->out);
            (void)fflush(term->out);
        }
        if (!fgets(line, (int)SL_SESSION_LINE_MAX, stdin)) {
            if (prompt) /* what comes next begins on a line of its own */
                fputc('\n', term->out);
            return false;
        }
        size_t len = strlen(line);
        bool whole = (len > 0 && line[len - 1] == '\n') || feof(stdin);
        if (whole && !skipping)
            return true;
        if (!skipping)
            fprintf(term->err, "ERROR: a line of more than %zu bytes\n", SL_SESSION_LINE_MAX - 2);
        skipping = !whole;
    }
}

static void run_commands(const struct cli_args *a, struct sl_session *s) {
    bool prompt = isatty(STDIN_FILENO) && !cli_args_has(a, OPT_NO_PROMPT);
    char *line = sl_alloc(SL_SESSION_LINE_MAX);
    while (read_line(a->term, prompt, line) && sl_session_line(s, line))
        ;
    sl_freep(&line);
}

static int draw(const struct cli_args *a, const struct sl_session *s) {
    struct sl_err err = {0};
    struct sl_buf picture, path;
    if (!a->opts[OPT_GRAPH_OUTPUT])
        return SL_EXIT_OK;
    sl_buf_init(&picture, SL_SESSION_OUT_MAX);
    sl_buf_init(&path, 65536);
    sl_session_draw(s, &picture);
    sl_buf_printf(&path, "%s.%s", a->opts[OPT_GRAPH_OUTPUT],
                  strcasecmp(option_value(a, OPT_GRAPH_FORMAT, "dot"), "dot") == 0 ? "dot"
                                                                                   : "graphml");
    int r = sl_cli_write_file(sl_buf_str(&path), sl_buf_str(&picture), picture.len, &err);
    if (r >= 0 && sl_buf_full(&picture))
        r = sl_err_set(&err, SL_ELIMIT, "the graph is too large to draw");
    if (r < 0)
        fprintf(a->term->err, "%s: %s\n", a->program->name, err.text);
    sl_buf_done(&picture);
    sl_buf_done(&path);
    return r < 0 ? SL_EXIT_DIFFERS : SL_EXIT_OK;
}

static int close_output(const struct cli_args *a, FILE *f, const char *path) {
    bool broken = ferror(f) != 0;
    if (fclose(f) == 0 && !broken)
        return SL_EXIT_OK;
    fprintf(a->term->err, "[ERROR] can't write file for --test-output: %s: %s\n", path,
            strerror(broken ? EIO : errno));
    return SL_EXIT_DIFFERS;
}

static int run_session(const struct cli_args *a, const struct sl_session_options *o) {
    _cleanup_(sl_session_freep) struct sl_session *s = NULL;
    if (sl_session_open(o, &s) < 0)
        return SL_EXIT_DIFFERS;
    if (o->elapse)
        sl_session_report_load(s);
    run_commands(a, s);
    return draw(a, s);
}

/* ---- the service ---- */

static int64_t seconds_since_1970(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec;
}

/* Nothing would come of these. */
static int check_listen(const struct cli_args *a) {
    static const enum opt unused[] = {OPT_OUTPUT, OPT_GRAPH_OUTPUT, OPT_ELAPSE, OPT_NO_PROMPT};
    for (size_t i = 0; i < SL_LEN(unused); i++)
        if (cli_args_has(a, unused[i]))
            return refuse_option(a, "not possible with --listen", options[unused[i]].name);
    return 0;
}

static int run_service(const struct cli_args *a, const struct sl_session_options *o) {
    _cleanup_(sl_verbs_freep) struct sl_verbs *v = NULL;
    struct sl_verbs_options vo = {.session = *o, .now = seconds_since_1970};
    struct sl_err err = {0};
    int code = check_listen(a);
    if (code != 0)
        return code;
    vo.session.load_file = a->opts[OPT_LOAD_FILE];
    if (!cli_args_has(a, OPT_FORMAT))
        vo.session.words[SL_SESSION_FORMAT] = "jgf";
    if (sl_verbs_new(&vo, &v) < 0)
        return SL_EXIT_DIFFERS;
    if (sl_verbs_serve(v, a->term->out, a->opts[OPT_LISTEN], &err) >= 0)
        return SL_EXIT_OK;
    fprintf(a->term->err, "[ERROR] %s\n", err.text);
    return SL_EXIT_DIFFERS;
}

static int run_match(const struct cli_args *a, struct sl_err *err) {
    const char *path = a->opts[OPT_OUTPUT];
    (void)err;
    struct sl_session_options o = {
        .load_file = option_value(a, OPT_LOAD_FILE, "conf/default"),
        .allow = unless_blank(a->opts[OPT_ALLOWLIST]),
        .filters = unless_blank(a->opts[OPT_FILTERS]),
        .filters_twice = a->given_twice[OPT_FILTERS],
        .elapse = cli_args_has(a, OPT_ELAPSE),
        .results = a->term->out,
        .out = a->term->out,
        .err = a->term->err,
        .ticks_ns = ticks_ns,
    };
    int code = check_files(a);
    if (code == 0)
        code = check_values(a, &o);
    if (code != 0)
        return code;
    if (cli_args_has(a, OPT_LISTEN))
        return run_service(a, &o);
    if (path && !(o.results = fopen(path, "we"))) {
        fprintf(stderr, "[ERROR] can't write file for --test-output: %s: %s\n", path,
                strerror(errno));
        return SL_EXIT_DIFFERS;
    }
    code = run_session(a, &o);
    if (path) {
        int closed = close_output(a, o.results, path);
        code = code != 0 ? code : closed;
    }
    return code;
}

const struct cli_verb cli_verb_match = {
    .name = "match",
    .summary = "match resources in a graph, with the commands of resource-query",
    .synopsis = "[OPTIONS] < COMMANDS | --listen=PATH [OPTIONS]",
    .about =
        "Loads a resource graph and reads commands from standard input: match jobspecs (RFC 14), "
        "cancel, find, set status. Each line is a command; 'help' lists them. A prompt is only "
        "printed on a terminal. Scripts for Fluxion's resource-query run unchanged; docs/match.md "
        "describes the differences.",
    .opts = options,
    .n_opts = OPT_COUNT,
    .examples = examples,
    .n_examples = SL_LEN(examples),
    .arg = "",
    .like_getopt = true,
    .exits = exits,
    .n_exits = SL_LEN(exits),
    .run = run_match,
};
