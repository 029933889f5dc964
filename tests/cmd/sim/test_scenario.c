/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios: what is wrong with a text is told with its place, what was expected and what was
 * found; a failed expectation is told with what is the case. Right scenarios are tests/scenario.
 */
#include "cmd/sim/scenario/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int read_text(const char *text, size_t len, struct sl_scenarios **set, struct sl_buf *why) {
    sl_buf_init(why, 4096);
    return sl_scenarios_read("s", text, len, set, why);
}

static void test_malformed(void **state) {
    /* The report must begin with the second text. */
    static const char *const cases[][2] = {
        {"queue a\n", "s:1: expected 'scenario <title>' before anything else, found 'queue'"},
        {"scenario\n", "s:1: expected a title, found the end of the line"},
        {"scenario x\n\n# y\nfrob a\n", "s:4: expected a verb (one of scenario rules skip config "},
        {"scenario x\nrules 1.2 two\n",
         "s:2: expected the number of a rule, as 2.4.3, found 'two'"},
        {"scenario x\n  quota d cpu=1\n",
         "s:2: an indented line belongs to a queue, cohort, job or expect above it"},
        {"scenario x\nqueue a\n  podset p\n", "s:3: expected quota or group (one of "},
        {"scenario x\njob w queue=a\n  quota d cpu=1\n", "s:3: expected podset (one of "},
        {"scenario x\nqueue a speed=9\n", "s:2: expected a word about a queue (one of cohort= "},
        {"scenario x\nqueue a strategy=Fifo\n",
         "s:2: expected BestEffortFIFO or StrictFIFO, got \"Fifo\""},
        {"scenario x\nqueue a\n  quota d cpu\n",
         "s:3: expected resource=amount, borrow:amount or lend:amount, found 'cpu'"},
        {"scenario x\nqueue a\n  quota d cpus=1\n", "s:3: expected resource=amount, "},
        {"scenario x\nqueue a\n  quota d borrow:1\n",
         "s:3: expected resource=amount before a limit, found 'borrow:1'"},
        {"scenario x\nqueue a\n  quota d cpu=x\n",
         "s:3: expected an amount of cpu, as 3, 500m or 10Gi, found 'x'"},
        {"scenario x\nqueue a weight=-1\n", "s:2: expected a weight, as 0, 2 or 500m, found '-1'"},
        {"scenario x\nqueue a namespaces=\"a in\"\n", "s:2: "},
        {"scenario x\nlocal a\n", "s:2: expected -> and the name of a queue, found the end of the"},
        {"scenario x\nlocal a/b/c -> q\n", "s:2: expected a job, as w1 or namespace/w1"},
        {"scenario x\nflavor f taint k=v\n", "s:2: expected a taint, as key=value:NoSchedule"},
        {"scenario x\nflavor f colour red\n", "s:2: expected a word about a flavor (one of label "
                                              "taint tolerate absent), found 'colour'"},
        {"scenario x\ncohort c size=1\n",
         "s:2: expected a word about a cohort (one of parent= weight=), found 'size'"},
        {"scenario x\nconfig speed\n", "s:2: expected what to configure (one of fair-sharing "},
        {"scenario x\nfeature Warp=true\n", "s:2: expected "},
        {"scenario x\nfeature PriorityBoost=maybe\n", "s:2: expected true or false, found 'maybe'"},
        {"scenario x\nremove job w\n", "s:2: expected what to remove (one of flavor cohort "},
        {"scenario x\nchange moon m\n", "s:2: expected what to change (one of queue cohort local "},
        {"scenario x\nchange queue a stop=Hold\n",
         "s:2: expected a queue that this scenario has made, found 'a'"},
        {"scenario x\njob w\n", "s:2: expected queue=<local queue>, found the end of the line"},
        {"scenario x\njob w queue=a prio=1\n", "s:2: expected a word about a job (one of queue= "},
        {"scenario x\njob w queue=a count=-1\n",
         "s:2: expected a number of pods (a number from 0 "},
        {"scenario x\njob w queue=a priority=9999999999\n", "s:2: expected a priority (a number "},
        {"scenario x\njob w queue=a cpu=1\n  podset p cpu=1\n",
         "s:2: a job with podset lines says nothing of pods itself"},
        {"scenario x\nfinish w\n", "s:2: expected a job that this scenario has made, found 'w'"},
        {"scenario x\nat soon\n", "s:2: expected a time, as 90s or 1h30m, found 'soon'"},
        {"scenario x\nat 10s\nat 5s\n", "s:3: the clock does not run backwards"},
        {"scenario x\nat 10000h\n", "s:2: a scenario lasts at most 400 days"},
        {"scenario x\nexpect peace\n",
         "s:2: expected what to expect (one of admitted reserved heap "},
        {"scenario x\nexpect nothing much\n", "s:2: expected the end of the line, found 'much'"},
        {"scenario x\njob w queue=a\nexpect condition w Odd=True\n", "s:3: expected "},
        {"scenario x\njob w queue=a\nexpect condition w Admitted=Yes\n",
         "s:3: expected Type=True or Type=False"},
        {"scenario x\njob w queue=a\nexpect explain w WHY\n",
         "s:3: expected a verdict (one of RUNNING RESERVED "},
        {"scenario x\njob w queue=a\nexpect preempted w\n",
         "s:3: expected by and the job that preempts, found the end of the line"},
        {"scenario x\nexpect usage a cpu=3\n", "s:2: expected flavor.resource=amount, found 'cpu'"},
        {"scenario x\njob w queue=\"a\n", "s:2: a \" that is never closed"},
        {"scenario x\nqueue a\x01z\n", "s:2: expected the name of a queue of letters, digits and "},
        {"scenario x\nrefuse\n", "s:2: 'refuse' needs an object or a fact after it"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_scenarios *set = NULL;
        struct sl_buf why;
        int rc = read_text(cases[i][0], strlen(cases[i][0]), &set, &why);
        const char *got = sl_buf_str(&why);
        if (rc >= 0)
            fail_msg("%s was read", cases[i][0]);
        if (strncmp(got, cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("%s: %s", cases[i][0], got);
        sl_buf_done(&why);
    }
}

static void test_ceilings(void **state) {
    static char line[SL_SCENARIO_MAX_LINE + 32];
    struct sl_scenarios *set = NULL;
    struct sl_buf why;

    (void)state;
    memcpy(line, "scenario ", 9);
    memset(line + 9, 'x', SL_SCENARIO_MAX_LINE);
    assert_true(read_text(line, SL_SCENARIO_MAX_LINE + 9, &set, &why) < 0);
    assert_string_equal(sl_buf_str(&why), "s:1: a line of 4105 bytes, more than 4096");
    sl_buf_done(&why);

    assert_true(read_text("scenario a\0b\n", 13, &set, &why) < 0);
    assert_string_equal(sl_buf_str(&why), "s:1: a NUL byte");
    sl_buf_done(&why);

    size_t n = SL_SCENARIO_MAX_LINES + 1;
    char *lines = malloc(n);
    assert_non_null(lines);
    memset(lines, '\n', n);
    assert_true(read_text(lines, n, &set, &why) < 0);
    assert_string_equal(sl_buf_str(&why), "s:50001: more than 50000 lines");
    sl_buf_done(&why);
    free(lines);
}

static void test_right(void **state) {
    static const char text[] = "# two scenarios\n"
                               "scenario One  # not a comment: titles are taken as they are\n"
                               "rules 1.2.3 2.10.1\n"
                               "queue a\r\n"
                               "  quota one cpu=1 memory=1Gi\n"
                               "  quota two cpu=1 memory=1Gi\n"
                               "  group\n"
                               "  quota three gpu=4 lend:2\n"
                               "expect\n"
                               "  active a\n"
                               "scenario Two\n"
                               "skip later";
    struct sl_scenarios *set = NULL;
    struct sl_buf why, out;

    (void)state;
    assert_int_equal(read_text(text, strlen(text), &set, &why), 0);
    assert_int_equal(set->n, 2);
    assert_int_equal(set->v[0].line, 2);
    assert_int_equal(set->v[0].n_rules, 2);
    assert_string_equal(set->v[0].rules[1], "2.10.1");
    assert_string_equal(set->v[1].title, "Two");
    assert_string_equal(set->v[1].skip, "later");
    sl_buf_init(&out, SL_SCENARIO_OUT_BYTES);
    assert_int_equal(sl_scenario_run(&set->v[0], NULL, false, &out), SL_SCENARIO_PASSED);
    assert_int_equal(sl_scenario_run(&set->v[1], NULL, false, &out), SL_SCENARIO_SKIPPED);
    assert_string_equal(sl_buf_str(&out), "");
    sl_buf_done(&out);
    sl_buf_done(&why);
    sl_scenarios_free(set);
}

/* What a failed scenario must report. */
static void test_failures(void **state) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"expect admitted w2", "expected  admitted w2\n    got       another state\n"
                               "              w2 is asleep (queue a -> a, priority 0)"},
        {"expect admitted w2", "since the last expectation:\n"},
        {"expect usage a default.cpu=9", "got       default.cpu=1"},
        {"expect order w2", "got       w1\n"},
        {"expect queue a w1", "got       w2\n"},
        {"expect share a 7", "got       0\n"},
        {"expect flavor w1 main.cpu=spot", "got       main.cpu=default"},
        {"expect count w1 main=2", "got       main=1"},
        {"expect condition w1 Evicted=True", "got       no condition Evicted"},
        {"expect no-condition w1 Admitted", "got       Admitted=True Admitted \"The workload is"},
        {"expect preempted w1 by w2", "got       w2 preempted nobody"},
        {"expect evictions 1", "got       evictions 0"},
        {"expect next 5s", "got       next never"},
        {"expect nothing", "effects\n"},
        {"expect inactive a", "got       active \"Can admit new workloads\""},
        {"expect checks w1 prov=Ready", "got       none"},
        {"expect backoff w1 count=3", "got       count=0 at=none"},
        {"expect explain w1 BLOCKED", "got       RUNNING position=0"},
        {"refuse\nchange job w2 priority=1", "got       it took it"},
        {"holds w1 in=nowhere", "the engine refused "},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_scenarios *set = NULL;
        struct sl_buf why, out, text;
        sl_buf_init(&text, 4096);
        sl_buf_printf(&text,
                      "scenario T\nqueue a\n  quota default cpu=1\njob w1 queue=a cpu=1\n"
                      "job w2 queue=a cpu=1\n%s\n",
                      cases[i].text);
        assert_int_equal(read_text(sl_buf_str(&text), text.len, &set, &why), 0);
        sl_buf_init(&out, SL_SCENARIO_OUT_BYTES);
        assert_int_equal(sl_scenario_run(&set->v[0], NULL, false, &out), SL_SCENARIO_FAILED);
        if (strncmp(sl_buf_str(&out), "s:", 2) != 0 || !strstr(sl_buf_str(&out), cases[i].says))
            fail_msg("%s: %s", cases[i].text, sl_buf_str(&out));
        sl_buf_done(&out);
        sl_buf_done(&text);
        sl_buf_done(&why);
        sl_scenarios_free(set);
    }
}

/* A queue with flavors of its own for each podset, and so much of each. */
static void put_wide_queue(struct sl_buf *b, const char *name, int each) {
    sl_buf_printf(b, "queue %s cohort=all reclaim=Any\n", name);
    for (int i = 0; i < SL_MAX_PODSETS; i++) {
        sl_buf_printf(b, "  quota f%d", i);
        for (int k = 0; k < SL_MAX_PODSET_RESOURCES; k++)
            sl_buf_printf(b, " x/r%d=%d", k, each);
        sl_buf_puts(b, "\n");
    }
    sl_buf_puts(b, "  group\n");
    for (int i = 0; i < SL_MAX_PODSETS; i++)
        sl_buf_printf(b, "  quota g%d pods=%d\n", i, each);
}

static void put_wide_job(struct sl_buf *b, const char *name, const char *queue, int resources) {
    sl_buf_printf(b, "job %s queue=%s\n", name, queue);
    for (int i = 0; i < SL_MAX_PODSETS; i++) {
        sl_buf_printf(b, "  podset p%d count=1 select p=v%d", i, i);
        for (int k = 0; k < resources; k++)
            sl_buf_printf(b, " x/r%d=1", k);
        sl_buf_puts(b, "\n");
    }
}

/* The largest workload that there may be takes quota back: each podset has other flavors, and each
 * resource and the pods count. */
static void test_widest(void **state) {
    struct sl_buf text = SL_BUF(1 << 20), out = SL_BUF(SL_SCENARIO_OUT_BYTES), why;
    struct sl_scenarios *set = NULL;

    (void)state;
    sl_buf_puts(&text, "scenario Wide\n");
    for (int i = 0; i < SL_MAX_PODSETS; i++)
        sl_buf_printf(&text, "flavor f%d label p=v%d\nflavor g%d label p=v%d\n", i, i, i, i);
    put_wide_queue(&text, "a", 1);
    put_wide_queue(&text, "b", 0);
    put_wide_job(&text, "thief", "b", 1);
    sl_buf_puts(&text, "expect admitted thief\nafter 1s\n");
    put_wide_job(&text, "big", "a", SL_MAX_PODSET_RESOURCES);
    sl_buf_puts(&text, "expect preempted thief by big InCohortReclamation\n");
    assert_int_equal(read_text(sl_buf_str(&text), text.len, &set, &why), 0);
    if (sl_scenario_run(&set->v[0], NULL, false, &out) != SL_SCENARIO_PASSED)
        fail_msg("%s", sl_buf_str(&out));
    sl_buf_done(&why);
    sl_buf_done(&out);
    sl_buf_done(&text);
    sl_scenarios_free(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_ceilings),
        cmocka_unit_test(test_right),     cmocka_unit_test(test_failures),
        cmocka_unit_test(test_widest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
