/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are built into the program: what tools/embed writes. They live as long as it does.
 */
#ifndef SL_CORE_BASE_EMBEDDED_H
#define SL_CORE_BASE_EMBEDDED_H

#include <stddef.h>

struct sl_embedded {
    const char *name, *text; /* text ends with a NUL that len does not count */
    size_t len;
};

#endif
