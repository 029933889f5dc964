/* SPDX-License-Identifier: Apache-2.0 */
/* hwloc's XML. libhwloc itself reads it; what it takes must make a graph. */
#include "graphio_fz.h"

/* libhwloc leaks some of its memory when it refuses a text. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libhwloc";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)setenv("HWLOC_HIDE_ERRORS", "2", 1);
    fz_read(SL_GRAPHIO_HWLOC, data, size, NULL);
    fz_read(SL_GRAPHIO_HWLOC, data, size, "node,core,memory");
    return 0;
}
