/* SPDX-License-Identifier: Apache-2.0 */
/* A session without a process: where it says what, and figures, with a clock of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/match/session.h"

static const char graph[] =
    "{\"graph\": {\"nodes\": ["
    "{\"id\": \"0\", \"metadata\": {\"type\": \"cluster\", \"id\": 0, \"rank\": -1, "
    "\"paths\": {\"containment\": \"/cluster0\"}}},"
    "{\"id\": \"1\", \"metadata\": {\"type\": \"node\", \"id\": 0, \"rank\": 0, "
    "\"paths\": {\"containment\": \"/cluster0/node0\"}}},"
    "{\"id\": \"2\", \"metadata\": {\"type\": \"core\", \"id\": 0, \"rank\": 0, "
    "\"paths\": {\"containment\": \"/cluster0/node0/core0\"}}}],"
    "\"edges\": [{\"source\": \"0\", \"target\": \"1\"}, {\"source\": \"1\", \"target\": \"2\"}]}}";
static const char jobspec[] =
    "version: 9999\n"
    "resources: [{type: slot, count: 1, label: x, with: [{type: core, count: 1}]}]\n"
    "tasks: [{command: [\"app\"], slot: x, count: {per_slot: 1}}]\n"
    "attributes: {system: {duration: 10}}\n";

/* Each look at the clock is a millisecond later. */
static int64_t now_ns;
static int64_t ticks(void) {
    return now_ns += 1000000;
}

enum { RESULTS, OUT, ERR, STREAMS };
static struct {
    char folder[32], graph[64], job[64];
    struct sl_session *s;
    FILE *f[STREAMS];
    char *text[STREAMS];
    size_t len[STREAMS], seen[STREAMS];
} fx;

static void put_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(fx.folder, sizeof(fx.folder), "/tmp/session.XXXXXX");
    assert_non_null(mkdtemp(fx.folder));
    (void)snprintf(fx.graph, sizeof(fx.graph), "%s/graph", fx.folder);
    (void)snprintf(fx.job, sizeof(fx.job), "%s/job", fx.folder);
    put_file(fx.graph, graph);
    put_file(fx.job, jobspec);
    for (int i = 0; i < STREAMS; i++)
        fx.f[i] = open_memstream(&fx.text[i], &fx.len[i]);
    memset(fx.seen, 0, sizeof(fx.seen));
    now_ns = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    sl_session_freep(&fx.s);
    for (int i = 0; i < STREAMS; i++) {
        fclose(fx.f[i]);
        free(fx.text[i]);
    }
    (void)unlink(fx.graph);
    (void)unlink(fx.job);
    (void)rmdir(fx.folder);
    return 0;
}

static struct sl_session_options options(void) {
    return (struct sl_session_options){
        .words = {"jgf", "CA", "low", "simple", "simple", "dot"},
        .load_file = fx.graph,
        .results = fx.f[RESULTS],
        .out = fx.f[OUT],
        .err = fx.f[ERR],
        .ticks_ns = ticks,
    };
}

static void open_session(bool elapse) {
    struct sl_session_options o = options();
    o.elapse = elapse;
    assert_int_equal(sl_session_open(&o, &fx.s), 0);
}

/* "match allocate %s" with the job's file. */
static void line(const char *fmt) {
    char text[200];
    (void)snprintf(text, sizeof(text), fmt, fx.job);
    assert_true(sl_session_line(fx.s, text));
}

/* What was said since the last time; %s is the job's file. */
static void assert_output(int stream, const char *fmt) {
    char expected[1000];
    (void)snprintf(expected, sizeof(expected), fmt, fx.job);
    (void)fflush(fx.f[stream]);
    assert_string_equal(fx.text[stream] + fx.seen[stream], expected);
    fx.seen[stream] = fx.len[stream];
}

static void figures(void **state) {
    (void)state;
    open_session(true);
    sl_session_report_load(fx.s);
    assert_output(OUT,
                  "INFO: Graph Load Time: 0.001\nINFO: Vertex Count: 3\nINFO: Edge Count: 2\n"
                  "INFO: by_type Key-Value Pairs: 3\nINFO: by_name Key-Value Pairs: 3\n"
                  "INFO: by_path Key-Value Pairs: 3\nINFO: number of vertices with rank -1: 1\n"
                  "INFO: number of vertices with rank 0: 2\n");
    line("stat");
    assert_output(
        OUT, "INFO: Num. of Jobs Matched: 0\nINFO: Min. Match Time: 0\nINFO: Max. Match Time: 0\n"
             "INFO: Avg. Match Time: 0\n");
    now_ns = 0;
    line("match allocate %s");
    (void)fflush(fx.f[OUT]);
    /* The clock is looked at twice more, before and after visits are counted. */
    assert_non_null(strstr(fx.text[OUT], "INFO: ELAPSE=0.002000\nINFO: PREORDER VISIT COUNT="));
    line("list");
    line("stat");
    (void)fflush(fx.f[OUT]);
    assert_non_null(strstr(fx.text[OUT], "/job, 0.002\n"));
    assert_non_null(strstr(fx.text[OUT], "INFO: Avg. Match Time: 0.002\n"));
}

static void streams(void **state) {
    (void)state;
    open_session(false);
    line("match allocate %s");
    assert_output(RESULTS,
                  "      ---------core0[1:x]\n      ------node0[1:s]\n      ---cluster0[1:s]\n"
                  "INFO: =============================\nINFO: JOBID=1\nINFO: RESOURCES=ALLOCATED\n"
                  "INFO: SCHEDULED AT=Now\nINFO: =============================\n");
    assert_output(OUT, "");
    assert_output(ERR, "");
    line("info 1");
    assert_output(OUT, "INFO: 1, ALLOCATED, 0, %s, 0.001\n");
    line("info 2");
    assert_output(ERR, "info: ERROR: nonexistent job 2\n");
    assert_output(RESULTS, "");
    line("");
    line("  \t ");
    line("nonsense");
    assert_output(ERR, "");
    assert_false(sl_session_line(fx.s, "quit"));
}

/* The same file is compiled once, but read each time. */
static void changed_files(void **state) {
    (void)state;
    open_session(false);
    line("match satisfiability %s");
    put_file(fx.job, "version: 9999\nresources: 7\n");
    line("match satisfiability %s");
    (void)fflush(fx.f[ERR]);
    assert_non_null(strstr(fx.text[ERR], "match_allocate: ERROR: Jobspec error for 1: "));
    put_file(fx.job, jobspec);
    line("match allocate %s");
    line("match allocate %s");
    (void)fflush(fx.f[RESULTS]);
    assert_non_null(strstr(fx.text[RESULTS], "RESOURCES=ALLOCATED"));
    assert_non_null(strstr(fx.text[RESULTS], "No matching resources found\nINFO: JOBID=2"));
}

static void refused(void **state) {
    (void)state;
    struct sl_session_options o = options();
    o.words[SL_SESSION_POLICY] = "best";
    assert_true(sl_session_open(&o, &fx.s) < 0);
    o = options();
    o.load_file = "/nowhere";
    assert_true(sl_session_open(&o, &fx.s) < 0);
    o = options();
    o.words[SL_SESSION_SUBSYSTEMS] = "pa";
    assert_true(sl_session_open(&o, &fx.s) < 0);
    assert_null(fx.s);
    (void)fflush(fx.f[ERR]);
    assert_non_null(strstr(fx.text[ERR], "ERROR: can't create matcher"));
    assert_non_null(strstr(fx.text[ERR], "/nowhere: No such file or directory\nERROR: error "
                                         "generating resources\n"));
    assert_non_null(strstr(fx.text[ERR], "ERROR: can't initialize traverser"));
    assert_output(OUT, "");
}

static void option_values(void **state) {
    (void)state;
    static const struct {
        enum sl_session_word what;
        const char *word;
        bool known;
    } cases[] = {
        {SL_SESSION_LOAD_FORMAT, "rv1exec_force", true},
        {SL_SESSION_LOAD_FORMAT, "GRUG", false},
        {SL_SESSION_SUBSYSTEMS, "C+P+IBA", true},
        {SL_SESSION_SUBSYSTEMS, "c+p+iba", true},
        {SL_SESSION_SUBSYSTEMS, "C+p+IBA", false},
        {SL_SESSION_FORMAT, "rv1", true},
        {SL_SESSION_FORMAT, "", false},
        {SL_SESSION_GRAPH_FORMAT, "DOT", true},
        {SL_SESSION_TRAVERSER, "flexible", true},
        {SL_SESSION_TRAVERSER, "wild", false},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++)
        assert_int_equal(sl_session_knows(cases[i].what, cases[i].word), cases[i].known);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        test(figures), test(streams), test(changed_files), test(refused), test(option_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
