/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation, ownership macros, and assertions that end the process.
 */
#include "core/base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_alloc(void **state) {
    (void)state;
    char *p = sl_alloc(0);
    assert_non_null(p);
    sl_freep(&p);
    assert_null(p);
    sl_freep(&p);

    uint32_t *v = sl_alloc0(5, sizeof *v);
    for (int i = 0; i < 5; i++)
        assert_int_equal(v[i], 0);
    v[4] = 9;
    v = sl_realloc(v, 50, sizeof *v);
    assert_int_equal(v[4], 9);
    v = sl_realloc(v, 0, sizeof *v);
    assert_null(v);
    v = sl_alloc0(0, 8);
    assert_non_null(v);
    sl_freep(&v);

    char *s = sl_strdup("queue");
    assert_string_equal(s, "queue");
    sl_freep(&s);
}

static char *hand_over(void) {
    _cleanup_(sl_freep) char *p = sl_strdup("mine"), *q = sl_strdup("freed by the scope");

    (void)q;
    return TAKE_PTR(p);
}

static void test_ownership(void **state) {
    _cleanup_(sl_freep) char *p = hand_over();

    (void)state;
    assert_string_equal(p, "mine");
}

static void alloc_too_much(void) {
    void *p = sl_realloc(NULL, SIZE_MAX / 2, 4);
    sl_freep(&p);
}

static void break_assertion(void) {
    volatile int one = 1;
    sl_assert(one == 2);
}

static void dies(void (*f)(void)) {
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        f();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void test_ends_the_process(void **state) {
    (void)state;
    dies(alloc_too_much);
    dies(break_assertion);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_ownership),
        cmocka_unit_test(test_ends_the_process),
    };
    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
