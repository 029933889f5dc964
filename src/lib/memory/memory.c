/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/memory/memory.h"

#include <malloc.h>

/* What is kept for the next burst. */
#define KEEP_FREE ((size_t)1 << 20)

void sl_memory_trim(void) {
    struct mallinfo2 m = mallinfo2();

    if (m.fordblks > 2 * KEEP_FREE && m.fordblks > m.uordblks / 8)
        (void)malloc_trim(KEEP_FREE);
}
