/*
 * The end of a process that found itself wrong. Nothing is printed (base does no I/O): the words
 * are left in statics where a debugger or a core dump finds them.
 */
#include "base/macros.h"

#include <stdlib.h>

static const char *volatile assert_what __attribute__((used));
static const char *volatile assert_file __attribute__((used));
static volatile int assert_line __attribute__((used));

_Noreturn void sl_assert_failed(const char *what, const char *file, int line) {
    assert_what = what;
    assert_file = file;
    assert_line = line;
    abort();
}
