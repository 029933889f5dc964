/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: JSON into a pipe, text on a terminal, escaping, ceilings, the threshold.
 */
#include "lib/log/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

/* The time at the start of a line is checked for its form and then replaced by one letter each. */
#define STAMP "dddd-dd-ddTdd:dd:dd.dddZ"

static int saved_stderr;
static char got[3 * SL_LOG_LINE];

static void catch_stderr(int fd) {
    saved_stderr = dup(STDERR_FILENO);
    assert_true(saved_stderr >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
}

/* Reads what was logged into got, with every digit of the first 40 bytes as 'd'. */
static const char *caught(int fd) {
    assert_true(dup2(saved_stderr, STDERR_FILENO) >= 0);
    close(saved_stderr);
    ssize_t n = read(fd, got, sizeof got - 1);
    if (n < 0)
        n = 0; /* nothing there */
    got[n] = '\0';
    for (size_t i = 0; i < 40 && got[i]; i++)
        if (got[i] >= '0' && got[i] <= '9')
            got[i] = 'd';
    return got;
}

static int make_pipe(int *ret_write) {
    int p[2];
    assert_int_equal(pipe2(p, O_NONBLOCK), 0);
    *ret_write = p[1];
    return p[0];
}

static void test_json(void **state) {
    int w, r = make_pipe(&w);

    (void)state;
    catch_stderr(w);
    sl_log(SL_LOG_INFO, "admitted", SL_S("workload", "a\"b\n"), SL_I("attempt", -7),
           SL_S("none", NULL), SL_S("odd", "\xff\x1b[1m"));
    assert_string_equal(caught(r), "{\"ts\":\"" STAMP "\",\"level\":\"info\",\"msg\":\"admitted\","
                                   "\"workload\":\"a\\\"b\\n\",\"attempt\":-7,\"none\":\"\","
                                   "\"odd\":\"\xef\xbf\xbd\\u001b[1m\"}\n");
    catch_stderr(w);
    sl_log(SL_LOG_ERROR, "bare");
    assert_string_equal(caught(r), "{\"ts\":\"" STAMP "\",\"level\":\"error\",\"msg\":\"bare\"}\n");
    close(r);
    close(w);
}

static void test_threshold(void **state) {
    int w, r = make_pipe(&w), evaluated = 0;

    (void)state;
    assert_int_equal(sl_log_threshold(), SL_LOG_INFO);
    catch_stderr(w);
    sl_log(SL_LOG_DEBUG, "not seen", SL_I("n", ++evaluated));
    sl_log_set(SL_LOG_ERROR);
    sl_log(SL_LOG_WARN, "not seen", SL_I("n", ++evaluated));
    assert_string_equal(caught(r), "");
    assert_int_equal(evaluated, 0);
    sl_log_set(SL_LOG_DEBUG);
    catch_stderr(w);
    sl_log(SL_LOG_DEBUG, "seen", SL_I("n", ++evaluated));
    assert_non_null(strstr(caught(r), "\"debug\",\"msg\":\"seen\",\"n\":1}\n"));
    sl_log_set(SL_LOG_INFO);
    close(r);
    close(w);
}

static void test_ceilings(void **state) {
    static char value[SL_LOG_VALUE + 10], bad[SL_LOG_VALUE + 1];
    int w, r = make_pipe(&w);

    (void)state;
    /* A long value is cut between characters: the two-byte one stands across the ceiling. */
    memset(value, 'x', sizeof value - 1);
    value[SL_LOG_VALUE - 1] = '\xc3';
    value[SL_LOG_VALUE] = '\xa9';
    catch_stderr(w);
    sl_log(SL_LOG_INFO, "m", SL_S("v", value));
    const char *line = caught(r);
    assert_non_null(strstr(line, "xxx...\"}\n"));
    assert_null(strstr(line, "\xef\xbf\xbd"));
    assert_int_equal(strspn(strstr(line, "xxx"), "x"), SL_LOG_VALUE - 1);

    /* Bytes that grow sixfold: what does not fit is left out, what comes after may still fit. */
    memset(bad, '\x01', sizeof bad - 1);
    catch_stderr(w);
    sl_log(SL_LOG_INFO, "m", SL_S("one", bad), SL_S("two", bad), SL_S("three", "3"));
    line = caught(r);
    assert_true(strlen(line) <= SL_LOG_LINE);
    assert_non_null(strstr(line, "\"one\":"));
    assert_null(strstr(line, "\"two\":"));
    assert_non_null(strstr(line, ",\"three\":\"3\",\"cut\":1}\n"));
    close(r);
    close(w);
}

static void test_terminal(void **state) {
    char name[64];
    int pty = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);

    (void)state;
    if (pty < 0 || grantpt(pty) != 0 || unlockpt(pty) != 0 ||
        ptsname_r(pty, name, sizeof name) != 0) {
        skip();
        return;
    }
    int tty = open(name, O_RDWR | O_NOCTTY);
    assert_true(tty >= 0);
    struct termios t;
    assert_int_equal(tcgetattr(tty, &t), 0);
    cfmakeraw(&t);
    assert_int_equal(tcsetattr(tty, TCSANOW, &t), 0);
    catch_stderr(tty);
    sl_log(SL_LOG_WARN, "patch conflict", SL_S("workload", "ns/a"), SL_I("n", 3),
           SL_S("why", "two words"), SL_S("empty", ""),
           SL_S("csi", "\xc2\x9b"
                       "31m\x7f\x1b[2J"));
    assert_string_equal(caught(pty),
                        "warn  " STAMP " patch conflict workload=ns/a n=3 why=\"two words\" "
                        "empty=\"\" csi=\"?\?31m?\\u001b[2J\"\n");
    close(tty);
    close(pty);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_ceilings),
        cmocka_unit_test(test_terminal),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
