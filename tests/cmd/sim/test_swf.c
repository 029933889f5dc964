/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of job traces: what it keeps of right ones, and what it says about wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cmd/sim/trace/swf.h"
#include "core/base/buf.h"
#include "core/base/text.h"

#define MAX_JOBS 3u

static int read_text(struct sl_text t, struct sl_swf *ret, struct sl_err *err) {
    *err = (struct sl_err){0};
    return sl_swf_read("in", t.s, t.n, MAX_JOBS, ret, err);
}

static void must_read(struct sl_text t, struct sl_swf *ret) {
    struct sl_err err;

    if (read_text(t, ret, &err) < 0)
        fail_msg("%s", err.text);
}

/* ---- right ---- */

/* Each line, alone, and the job that it is. */
static void jobs(void **state) {
    static const struct {
        const char *line;
        struct sl_swf_job job;
        uint32_t killed;
    } cases[] = {
        /* everything is known */
        {"7 5 3 100 4 90.5 512 8 200 1024 1 3 2 1 6 1 -1 -1", {7, 5, 200, 100, 8, 1024, 6}, 0},
        /* only what must be known */
        {"7 5 -1 100 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1", {7, 5, 100, 100, 4, -1, -1}, 0},
        /* none requested is as good as unknown */
        {"7 5 -1 100 4 -1 -1 0 0 0 -1 -1 -1 -1 0 -1 -1 -1", {7, 5, 100, 100, 4, -1, 0}, 0},
        /* it is ended when it was to end */
        {"7 5 -1 100 4 -1 -1 4 60 -1 0 -1 -1 -1 1 -1 -1 -1", {7, 5, 60, 60, 4, -1, 1}, 1},
        /* less than half a second is 0 in a log */
        {"7 5 -1 0 4 -1 -1 4 60 -1 1 -1 -1 -1 1 -1 -1 -1", {7, 5, 60, 1, 4, -1, 1}, 0},
        {"7 5 -1 0 4 -1 -1 4 -1 -1 1 -1 -1 -1 1 -1 -1 -1", {7, 5, 1, 1, 4, -1, 1}, 0},
        /* cancelled, but it had begun */
        {"7 5 -1 9 4 -1 -1 4 60 -1 5 -1 -1 -1 1 -1 -1 -1", {7, 5, 60, 9, 4, -1, 1}, 0},
        /* fractions: what lasts is rounded up, what is a point in time down */
        {"7 5.9 1.5 9.1 4 -1 1.5 4 60.5 99.5 1 -1 -1 -1 1 -1 -1 -1.0",
         {7, 5, 61, 10, 4, 100, 1},
         0},
        {"7 5.0 1.5 9.0 4 -1 1.5 4 60.00 99.0 1 -1 -1 -1 1 -1 -1 2.5", {7, 5, 60, 9, 4, 99, 1}, 0},
        /* blanks, and the largest number */
        {"\t 7\t5  -1 100 4 -1 -1 4 -1 -1 1 100000000000 -1 -1 1 -1 -1 -1 \t\r",
         {7, 5, 100, 100, 4, -1, 1},
         0},
        {"007 5 -1 100 4 -1 -1 4 -1 -1 1 -1 -1 -1 1 -1 -1 -1", {7, 5, 100, 100, 4, -1, 1}, 0},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_swf t;
        const struct sl_swf_job *want = &cases[i].job;
        must_read(sl_text_of(cases[i].line), &t);
        assert_int_equal(t.jobs.n, 1);
        const struct sl_swf_job *j = &t.jobs.v[0];
        if (j->id != want->id || j->submit != want->submit || j->limit != want->limit ||
            j->run != want->run || j->processors != want->processors ||
            j->memory_kib != want->memory_kib || j->queue != want->queue)
            fail_msg("'%s': found %lld %lld %lld %lld %lld %lld %lld", cases[i].line,
                     (long long)j->id, (long long)j->submit, (long long)j->limit, (long long)j->run,
                     (long long)j->processors, (long long)j->memory_kib, (long long)j->queue);
        assert_int_equal(t.killed, cases[i].killed);
        assert_int_equal(t.max_nodes, SL_SWF_UNKNOWN);
        sl_swf_done(&t);
    }
}

static const char job[] = "1 0 -1 5 1 -1 -1 1 5 -1 1 -1 -1 -1 1 -1 -1 -1\n";

static void header(void **state) {
    static const struct {
        const char *head;
        int64_t nodes, processors;
    } cases[] = {
        {"", -1, -1},
        {"; MaxNodes: 64\n; MaxProcs: 1024\n", 64, 1024},
        {";MaxNodes:64\r\n ;\tMaxProcs :\t1024\r\n", 64, 1024},
        {"; MaxNodes: 128 (126 for batch jobs)\n", 128, -1},
        {"; MaxNodes: -1\n; MaxNodes: 5\n; MaxNodes: 5\n", 5, -1},
        {"; MaxNodesX: many\n; Note: MaxProcs: 7\n; MaxProcs\n;\n", -1, -1},
        {"; UnixStartTime: 1000000000\n; TimeZoneString: Europe/Paris\n\n \n", -1, -1},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_buf b = SL_BUF(10000);
        struct sl_swf t;
        sl_buf_printf(&b, "%s%s", cases[i].head, job);
        must_read((struct sl_text){sl_buf_str(&b), b.len}, &t);
        assert_int_equal(t.max_nodes, cases[i].nodes);
        assert_int_equal(t.max_processors, cases[i].processors);
        assert_int_equal(t.jobs.n, 1);
        sl_swf_done(&t);
        sl_buf_done(&b);
    }
}

static void left_out(void **state) {
    struct sl_swf t;

    (void)state;
    must_read(SL_TEXT("1 0 -1 5 1 -1 -1 1 5 -1 1 -1 -1 -1 1 -1 -1 -1\n"
                      "1 -1 -1 2 1 -1 -1 1 5 -1 2 -1 -1 -1 1 -1 -1 -1\n" /* parts of it */
                      "1 -1 -1 1 1 -1 -1 1 5 -1 2 -1 -1 -1 1 -1 -1 -1\n"
                      "1 -1 -1 2 1 -1 -1 1 5 -1 3 -1 -1 -1 1 -1 -1 -1\n"
                      "2 1 -1 -1 1 -1 -1 1 5 -1 0 -1 -1 -1 1 -1 -1 -1\n"  /* how long? */
                      "3 1 -1 9 -1 -1 -1 -1 5 -1 1 -1 -1 -1 1 -1 -1 -1\n" /* how many? */
                      "4 1 -1 9 0 -1 -1 0 5 -1 1 -1 -1 -1 1 -1 -1 -1\n"
                      "5 1 9 0 -1 -1 -1 4 5 -1 5 -1 -1 -1 1 -1 -1 -1\n" /* it never began */
                      "6 1 -1 5 1 -1 -1 1 5 -1 1 -1 -1 -1 1 -1 -1 -1"),
              &t);
    assert_int_equal(t.jobs.n, 2);
    assert_int_equal(t.jobs.v[1].id, 6);
    assert_int_equal(t.partial, 3);
    assert_int_equal(t.not_run, 4);
    sl_swf_done(&t);
}

/* ---- wrong ---- */

#define REST " 1 -1 -1 1 5 -1 1 -1 -1 -1 1 -1 -1 -1\n"
#define AT(submit) " " submit " -1 5" REST

static void wrong(void **state) {
    static const struct {
        struct sl_text text;
        const char *message;
    } cases[] = {
        {SL_TEXT(""), "in: no job that ran: expected lines of 18 numbers (Standard Workload "
                      "Format)"},
        {SL_TEXT("; MaxNodes: 4\n\n"), "in: no job that ran: expected lines of 18 numbers"},
        {SL_TEXT("1 0 -1 5 1\n"), "in:1: 5 fields: expected 18, CPU time is missing"},
        {SL_TEXT(";\n1 0 -1 5 1 -1 -1 1 5 -1 1 -1 -1 -1 1 -1 -1"),
         "in:2: 17 fields: expected 18, think time is missing"},
        {SL_TEXT("1 0 -1 5 1 -1 -1 1 5 -1 1 -1 -1 -1 1 -1 -1 -1 9\n"),
         "in:1: '9' after field 18: expected the line to end"},
        {SL_TEXT("1 0 -1 5 1 -1 -1 1 5 -1 1 -1 -1 -1 1 -1 -1 -1 ; a comment\n"),
         "in:1: ';' after field 18: expected the line to end"},
        {SL_TEXT("1 0 -1 five" REST), "in:1: field 4 (run time) is 'five': expected a number from "
                                      "0 to 100000000000, or -1 if it is unknown"},
        {SL_TEXT("1.5 0 -1 5" REST), "in:1: field 1 (job number) is '1.5': expected a whole number "
                                     "from 0 to 100000000000, or -1 if it is unknown"},
        {SL_TEXT("1 0 -1 5x" REST), "in:1: field 4 (run time) is '5x': expected"},
        {SL_TEXT("1 0 -1 +5" REST), "in:1: field 4 (run time) is '+5': expected"},
        {SL_TEXT("1 0 -1 0x5" REST), "in:1: field 4 (run time) is '0x5': expected"},
        {SL_TEXT("1 0 -1 1e3" REST), "in:1: field 4 (run time) is '1e3': expected"},
        {SL_TEXT("1 0 -1 nan" REST), "in:1: field 4 (run time) is 'nan': expected"},
        {SL_TEXT("1 0 -1 5." REST), "in:1: field 4 (run time) is '5.': expected"},
        {SL_TEXT("1 0 -1 .5" REST), "in:1: field 4 (run time) is '.5': expected"},
        {SL_TEXT("1 0 -1 5.5.5" REST), "in:1: field 4 (run time) is '5.5.5': expected"},
        {SL_TEXT("1 0 -1 -" REST), "in:1: field 4 (run time) is '-': expected"},
        {SL_TEXT("1 0 -1 -2" REST), "in:1: field 4 (run time) is '-2': expected"},
        {SL_TEXT("1 0 -1 -1.5" REST), "in:1: field 4 (run time) is '-1.5': expected"},
        {SL_TEXT("1 0 -1 -0" REST), "in:1: field 4 (run time) is '-0': expected"},
        {SL_TEXT("1 0 -1 5,5" REST), "in:1: field 4 (run time) is '5,5': expected"},
        {SL_TEXT("1 0 -1 100000000001" REST), "in:1: field 4 (run time) is '100000000001': "
                                              "expected"},
        {SL_TEXT("1 0 -1 100000000000.1" REST), "in:1: field 4 (run time) is '100000000000.1'"},
        {SL_TEXT("1 0 -1 99999999999999999999999999999999999999999999999999" REST),
         "in:1: field 4 (run time) is '9999999999999999999999999999999999999999...': expected"},
        {SL_TEXT("1 0 -1 \x1b[31m\xc3" REST), "in:1: field 4 (run time) is '?[31m?': expected"},
        {SL_TEXT("1 0 -1 5\r 1\n"), "in:1: field 4 (run time) is '5?': expected"},
        {SL_TEXT("1 0 -1 5\0" REST), "in:1: a NUL byte: expected text"},
        {SL_TEXT("; \0\n"), "in:1: a NUL byte: expected text"},
        {SL_TEXT("-1 0 -1 5" REST), "in:1: the job number is unknown: expected a number"},
        {SL_TEXT("1 -1 -1 5" REST), "in:1: the submit time is unknown: expected a number"},
        {SL_TEXT("1 0 -1 5 1 -1 -1 1 5 -1 6 -1 -1 -1 1 -1 -1 -1\n"),
         "in:1: field 11 (status) is 6: expected 0 to 5, or -1"},
        {SL_TEXT("1" AT("7") "2" AT("6")), "in:2: submitted at 6, before the job above (7): "
                                           "expected ascending submit times"},
        {SL_TEXT("1" AT("7") "\n2" AT("7") "1" AT("8")),
         "in:4: job number 1 again: expected one line for each job"},
        {SL_TEXT("1" AT("7") "2" AT("7") "3" AT("7") "4" AT("7")), "in:4: more than 3 jobs"},
        {SL_TEXT("; MaxNodes: many\n"),
         "in:1: MaxNodes is 'many': expected a whole number from 1 to 100000000000, or -1"},
        {SL_TEXT("; MaxNodes:\n"), "in:1: MaxNodes is '': expected a whole number"},
        {SL_TEXT("; MaxProcs: 0\n"), "in:1: MaxProcs is '0': expected a whole number from 1"},
        {SL_TEXT("; MaxProcs: 1,024\n"), "in:1: MaxProcs is '1,024': expected a whole number"},
        {SL_TEXT("; MaxProcs: 4\n; MaxProcs: 5\n"),
         "in:2: MaxProcs is 5 here and was 4: expected one"},
        {SL_TEXT("queues: []\n"), "in:1: field 1 (job number) is 'queues:': expected a whole"},
    };

    (void)state;
    for (size_t i = 0; i < SL_LEN(cases); i++) {
        struct sl_swf t;
        struct sl_err err;
        int r = read_text(cases[i].text, &t, &err);
        if (r >= 0)
            fail_msg("it was accepted: %s", cases[i].text.s);
        assert_int_equal(err.code, r);
        if (strncmp(err.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("expected '%s', found '%s'", cases[i].message, err.text);
        assert_null(t.jobs.v);
    }
}

static void long_lines(void **state) {
    struct sl_buf b = SL_BUF(100000);
    struct sl_swf t;
    struct sl_err err;

    (void)state;
    sl_buf_putc(&b, ';');
    while (b.len < SL_SWF_MAX_LINE)
        sl_buf_putc(&b, 'x');
    sl_buf_puts(&b, "\r\n");
    sl_buf_puts(&b, job);
    must_read((struct sl_text){sl_buf_str(&b), b.len}, &t);
    sl_swf_done(&t);
    sl_buf_clear(&b);
    while (b.len <= SL_SWF_MAX_LINE)
        sl_buf_putc(&b, ' ');
    assert_int_equal(read_text((struct sl_text){sl_buf_str(&b), b.len}, &t, &err), SL_ELIMIT);
    assert_string_equal(err.text, "in:1: a line of more than 4096 bytes");
    sl_buf_done(&b);
}

static void files(void **state) {
    struct sl_swf t;
    struct sl_err err = {0};

    (void)state;
    assert_int_equal(sl_swf_load("no/such/file.swf", &t, &err), SL_ENOENT);
    assert_non_null(strstr(err.text, "no/such/file.swf"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs),  cmocka_unit_test(header),     cmocka_unit_test(left_out),
        cmocka_unit_test(wrong), cmocka_unit_test(long_lines), cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
