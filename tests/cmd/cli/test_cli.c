/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as tables, tables that fit, and words for numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/cluster/graph_cmd.h"
#include "cmd/cli/sim_text.h"
#include "core/base/fmt.h"

enum { OPT_FLAG, OPT_FILE, OPT_WHEN };
static const char *const choices[] = {"now", "later", NULL};
static const struct cli_opt opts[] = {
    {"flag", SL_OPT_FLAG, NULL, "a flag", NULL, 0},
    {"file", SL_OPT_FILE, "FILE", "a file", NULL, 0},
    {"when", SL_OPT_CHOICE, "WHEN", "a choice", choices, 0},
};
static int run(const struct cli_args *a, struct sl_err *err) {
    (void)a;
    (void)err;
    return 0;
}
static const struct cli_verb verb = {
    .name = "do",
    .summary = "does it",
    .synopsis = "FILE...",
    .opts = opts,
    .n_opts = 3,
    .min_args = 1,
    .max_args = 2,
    .arg = "FILE",
    .run = run,
};
/* With letters, and as getopt_long reads them. */
enum { OPT_LOAD_FILE, OPT_LOAD_FORMAT, OPT_QUIET, OPT_LOUD };
static const struct cli_opt letters[] = {
    {"load-file", SL_OPT_TEXT, "FILE", "a file", NULL, 'L'},
    {"load-format", SL_OPT_HINT, "FORMAT", "a format", choices, 'f'},
    {"quiet", SL_OPT_FLAG, NULL, "no words", NULL, 'q'},
    {"loud", SL_OPT_FLAG, NULL, "many words", NULL, 0},
};
static const struct cli_verb lettered = {
    .name = "say",
    .summary = "says it",
    .synopsis = "",
    .opts = letters,
    .n_opts = SL_LEN(letters),
    .max_args = 1,
    .arg = "WORD",
    .like_getopt = true,
    .run = run,
};
static const struct cli_verb *const verbs[] = {&verb, &lettered};
static const struct cli_program program = {
    .name = "sluice", .summary = "s", .version = "1", .verbs = verbs, .n_verbs = 2};

static struct {
    struct cli_args args;
    const char *v[16];
    bool help;
    struct sl_err err;
    int code;
} got;

/* Words separated by single spaces. */
static void parse_for(const struct cli_verb *whose, const char *line) {
    static char text[200];
    char *argv[16];
    int n = 0;
    (void)snprintf(text, sizeof(text), "%s", line);
    for (char *rest = text, *w; (w = strsep(&rest, " "));)
        argv[n++] = w;
    memset(&got, 0, sizeof(got));
    got.args.v = got.v;
    got.code = sl_cli_parse(&program, whose, n, argv, &got.args, &got.help, &got.err);
}

static void parse(const char *line) {
    parse_for(&verb, line);
}

static void parses(void **state) {
    (void)state;
    parse("--flag a --file=x b");
    assert_int_equal(got.code, 0);
    assert_true(cli_args_has(&got.args, OPT_FLAG));
    assert_string_equal(got.args.opts[OPT_FILE], "x");
    assert_false(cli_args_has(&got.args, OPT_WHEN));
    assert_int_equal(got.args.n, 2);
    assert_string_equal(got.args.v[1], "b");
    parse("--file x --when later a");
    assert_string_equal(got.args.opts[OPT_FILE], "x");
    assert_string_equal(got.args.opts[OPT_WHEN], "later");
    parse("--file=a=b -- --flag");
    assert_string_equal(got.args.opts[OPT_FILE], "a=b");
    assert_string_equal(got.args.v[0], "--flag");
    assert_false(cli_args_has(&got.args, OPT_FLAG));
    parse("- --flag --flag");
    assert_int_equal(got.code, 0);
    assert_string_equal(got.args.v[0], "-");
    parse("--help");
    assert_true(got.help && got.code == 0);
    parse("-h a b c d");
    assert_true(got.help && got.code == 0);
}

static void refuses(void **state) {
    (void)state;
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"--flga a", "did you mean --flag?"},
        {"--fil x", "did you mean --file?"},
        {"--zzzzzzzz a", "'sluice do --help' lists them"},
        {"--flag=1 a", "takes no value"},
        {"a --file", "--file=FILE"},
        {"--file --flag", "needs a value"},
        {"--file= a", "needs a FILE"},
        {"--file=a --file=b c", "given more than once"},
        {"--when=never a", "one of now, later"},
        {"-x a", "two dashes"},
        {"--flag", "expected a FILE"},
        {"a b c", "unexpected argument 'c'"},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        parse(cases[i].line);
        assert_int_equal(got.code, SL_EINVAL);
        if (!strstr(got.err.text, cases[i].words))
            fail_msg("%s: %s", cases[i].line, got.err.text);
    }
    char word[400] = "--";
    memset(word + 2, 'a', sizeof(word) - 3);
    word[sizeof(word) - 1] = '\0';
    char *argv[] = {word};
    got.args.v = got.v;
    assert_int_equal(sl_cli_parse(&program, &verb, 1, argv, &got.args, &got.help, &got.err),
                     SL_EINVAL);
}

static void parses_letters(void **state) {
    (void)state;
    static const struct {
        const char *line, *file, *format;
        bool quiet;
    } cases[] = {
        {"-L a -f now", "a", "now", false},
        {"-La -fnow -q", "a", "now", true},
        {"-qL a", "a", NULL, true},
        {"-L -f --load-format -q", "-f", "-q", false}, /* a value is whatever comes */
        {"--load-file a --load-format=b", "a", "b", false},
        {"--load-fi a --load-fo b --q", "a", "b", true},
        {"-L a -L b --load-file=c", "c", NULL, false},
        {"-q -q", NULL, NULL, true},
        {"-L=a", "=a", NULL, false},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        parse_for(&lettered, cases[i].line);
        if (got.code != 0)
            fail_msg("%s: %s", cases[i].line, got.err.text);
        const char *const *found = got.args.opts;
        assert_string_equal(found[OPT_LOAD_FILE] ? found[OPT_LOAD_FILE] : "",
                            cases[i].file ? cases[i].file : "");
        assert_string_equal(found[OPT_LOAD_FORMAT] ? found[OPT_LOAD_FORMAT] : "",
                            cases[i].format ? cases[i].format : "");
        assert_int_equal(cli_args_has(&got.args, OPT_QUIET), cases[i].quiet);
    }
    parse_for(&lettered, "-L a --load-file=b -f x");
    assert_true(got.args.given_twice[OPT_LOAD_FILE] && !got.args.given_twice[OPT_LOAD_FORMAT]);
    parse_for(&lettered, "-qh");
    assert_true(got.help && got.args.short_help);
    parse_for(&lettered, "--help");
    assert_true(got.help && !got.args.short_help);
    static const struct {
        const char *line, *words;
    } wrong[] = {
        {"-x", "unknown option -x"},
        {"-qx", "unknown option -x"},
        {"-L", "-L needs a value: -L FILE"},
        {"-qL", "-L needs a value"},
        {"--load-file", "--load-file needs a value"},
        {"--load-f a", "unknown option --load-f"}, /* two begin so */
        {"--lo", "unknown option --lo"},
        {"a b", "unexpected argument 'b'"},
    };
    for (size_t i = 0; i < SL_LEN(wrong); i++) {
        parse_for(&lettered, wrong[i].line);
        assert_int_equal(got.code, SL_EINVAL);
        if (!strstr(got.err.text, wrong[i].words))
            fail_msg("%s: %s", wrong[i].line, got.err.text);
    }
}

static void exit_codes(void **state) {
    (void)state;
    assert_int_equal(sl_cli_exit_code(SL_OK), SL_EXIT_OK);
    assert_int_equal(sl_cli_exit_code(SL_EINVAL), SL_EXIT_INPUT);
    assert_int_equal(sl_cli_exit_code(SL_EMISMATCH), SL_EXIT_DIFFERS);
    assert_int_equal(sl_cli_exit_code(SL_EIO), SL_EXIT_IO);
    assert_int_equal(sl_cli_exit_code(-1000), SL_EXIT_IO);
}

/* What a table prints on a terminal so wide. */
static char *print(const struct cli_table *t, unsigned width, bool utf8) {
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    struct cli_term term = {.out = f, .err = f, .width = width, .utf8 = utf8};
    cli_table_print(t, &term, 0);
    fclose(f);
    return text;
}

static void table_fits(void **state) {
    (void)state;
    static const struct cli_column columns[] = {
        {.title = "NAME", .shrink = 4},
        {.title = "N", .right = true},
        {.title = "NOTE", .drop = 1},
    };
    struct cli_table t;
    cli_table_init(&t, columns, SL_LEN(columns));
    cli_table_cell(&t, SL_STYLE_NONE, "a-long-name");
    cli_table_cell(&t, SL_STYLE_NONE, "%d", 7);
    cli_table_cell(&t, SL_STYLE_NONE, "über");
    static const struct {
        unsigned width;
        bool utf8;
        const char *text;
    } cases[] = {
        {0, true, "NAME         N  NOTE\na-long-name  7  über\n"},
        {20, true, "NAME         N  NOTE\na-long-name  7  über\n"},
        {17, true, "NAME      N  NOTE\na-long-…  7  über\n"},
        {17, false, "NAME      N  NOTE\na-long-n  7  über\n"},
        {12, true, "NAME  N\na-l…  7\n"},
        {3, true, "NAME  N\na-l…  7\n"},
    };
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char *text = print(&t, cases[i].width, cases[i].utf8);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    cli_table_done(&t);
}

static void wraps(void **state) {
    (void)state;
    struct sl_buf b;
    sl_buf_init(&b, 4096);
    cli_term_wrap(&b, "one two three four five six seven\neight", 2, 23);
    assert_string_equal(sl_buf_str(&b), "  one two three four\n  five six seven\n  eight\n");
    sl_buf_done(&b);
}

static void human_formats(void **state) {
    (void)state;
    static const struct {
        sl_span d;
        const char *text;
    } spans[] = {
        {0, "0 s"},
        {800 * SL_USEC, "800 us"},
        {83200 * SL_USEC, "83.2 ms"},
        {999600 * SL_USEC, "1.00 s"},
        {76850 * SL_MSEC, "76.85 s"},
        {-1500 * SL_MSEC, "-1.50 s"},
        {11 * SL_MINUTE, "11m00s"},
        {25 * SL_HOUR, "25h00m"},
        {72 * SL_HOUR, "3.0 days"},
        {INT64_MAX, "106752.0 days"},
    };
    char out[SL_HUMAN_TEXT];
    for (size_t i = 0; i < SL_LEN(spans); i++)
        assert_string_equal(cli_human_span(spans[i].d, out), spans[i].text);
    assert_string_equal(cli_human_count(0, out), "0");
    assert_string_equal(cli_human_count(999, out), "999");
    assert_string_equal(cli_human_count(1000, out), "1,000");
    assert_string_equal(cli_human_count(UINT64_MAX, out), "18,446,744,073,709,551,615");
}

static void progress_in_a_log(void **state) {
    (void)state;
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    struct cli_term term = {.out = f, .err = f};
    struct cli_progress p;
    cli_progress_start(&p, &term, "x", false);
    cli_progress_at(&p, 5, 10, NULL);
    cli_progress_start(&p, &term, "x", true);
    for (uint64_t i = 0; i <= 100; i++)
        cli_progress_at(&p, i / 2, 50, "t");
    cli_progress_at(&p, 0, 0, NULL);
    cli_progress_end(&p);
    fclose(f);
    unsigned lines = 0;
    for (const char *s = text; *s; s++)
        lines += *s == '\n';
    assert_int_equal(lines, 11);
    assert_non_null(strstr(text, "x:  50%  t\n"));
    assert_null(strchr(text, '\r'));
    free(text);
}

/* What a terminal would obey is gone, and nothing else. */
static void cleans(void **state) {
    static const char *const cases[][2] = {
        {"n\303\266de \342\224\224", "n\303\266de \342\224\224"},
        {"\033[31m\007", "?[31m?"},
        {"a\tb\nc\177", "a?b?c?"},
        {"\302\2337m\302\240\302", "??7m\302\240\302"}, /* CSI as one character; a blank; half */
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char text[64];
        sl_fmt(text, sizeof text, "%s", cases[i][0]);
        cli_text_clean(text);
        assert_string_equal(text, cases[i][1]);
    }
}

static void amounts(void **state) {
    static const struct {
        const char *resource;
        int64_t units;
        const char *text;
    } cases[] = {
        {"cpu", 0, "0"},
        {"cpu", 1, "0.001"},
        {"cpu", 1500, "1.5"},
        {"cpu", 10000, "10"},
        {"cpu", 64250, "64.25"},
        {"memory", 0, "0"},
        {"memory", 1, "1Ki"},
        {"memory", 1023, "1023Ki"},
        {"memory", 1536, "1.5Mi"},
        {"memory", 8 << 20, "8Gi"},
        {"memory", 32887508, "31.3Gi"},
        {"hugepages-2Mi", 2048, "2Mi"},
        {"ephemeral-storage", INT64_C(1) << 48, "256Pi"},
        {"pods", 110, "110"},
        {"nvidia.com/gpu", 2048, "2048"},
        {"pods", -1, "0"},
    };
    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        char text[SL_GRAPH_AMOUNT_TEXT];
        assert_string_equal(cli_graph_amount(cases[i].resource, cases[i].units, text),
                            cases[i].text);
    }
}

/* Of more resources than are shown the first are, and each of the others counts once, whatever has
 * them. */
static void many_resources(void **state) {
    char names[72][32] = {"pods", "cpu"};
    struct sl_fluxqueue_view view = {0};
    struct cli_graph m;
    (void)state;
    for (size_t i = 2; i < SL_LEN(names); i++)
        sl_fmt(names[i], sizeof names[i], "example.com/r%02zu", i);
    for (int node = 0; node < 3; node++)
        for (size_t i = SL_LEN(names); i-- > 0;)
            *sl_vec_push(&view.uses) = (struct sl_fluxqueue_use){.resource = names[i], .total = 1};
    cli_graph_init(&m, NULL, &view, NULL, false);
    assert_int_equal(m.n_resources, SL_GRAPH_SHOWN_RESOURCES);
    assert_int_equal(m.n_left_out, SL_LEN(names) - SL_GRAPH_SHOWN_RESOURCES);
    assert_string_equal(m.resources[0], "cpu");
    assert_string_equal(m.resources[1], "pods");
    assert_string_equal(m.resources[2], names[2]);
    cli_graph_done(&m);
    cli_graph_init(&m, NULL, &view, "cpu,example.com/r71", false);
    assert_int_equal(m.n_resources, 2);
    assert_int_equal(m.n_left_out, 0);
    cli_graph_done(&m);
    sl_vec_free(&view.uses);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),         cmocka_unit_test(refuses),
        cmocka_unit_test(parses_letters), cmocka_unit_test(exit_codes),
        cmocka_unit_test(table_fits),     cmocka_unit_test(wraps),
        cmocka_unit_test(human_formats),  cmocka_unit_test(progress_in_a_log),
        cmocka_unit_test(cleans),         cmocka_unit_test(amounts),
        cmocka_unit_test(many_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
