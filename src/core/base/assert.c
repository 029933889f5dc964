/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a process that found itself wrong. What, file and line go to stderr by write(2), which
 * needs no memory and no locks, and stay in statics where a core dump finds them.
 */
#include "core/base/macros.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *volatile assert_what __attribute__((used));
static const char *volatile assert_file __attribute__((used));
static volatile int assert_line __attribute__((used));

_Noreturn void sl_assert_failed(const char *what, const char *file, int line) {
    char text[512];

    assert_what = what;
    assert_file = file;
    assert_line = line;
    int n = snprintf(text, sizeof text, "sluice: assertion failed: %s (%s:%d)\n", what, file, line);
    if (n > 0 && write(STDERR_FILENO, text, (size_t)n < sizeof text ? (size_t)n : sizeof text) < 0)
        abort(); /* stderr is closed; the statics have it */
    abort();
}
