/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as numbers, the first one lowest on every machine. */
#ifndef SL_CORE_BASE_BYTES_H
#define SL_CORE_BASE_BYTES_H

#include <string.h>

#include "core/base/macros.h"

static inline uint64_t base_load_le64(const void *p) {
    uint64_t v;

    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline uint64_t base_load_le32(const void *p) {
    uint32_t v;

    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

/* Fewer than eight, as if zeros followed; some are read twice, into the same place. */
static inline uint64_t base_load_tail(const void *p, size_t n) {
    const unsigned char *s = p;

    if (n >= 4)
        return base_load_le32(s) | base_load_le32(s + n - 4) << 8 * (n - 4);
    if (n == 0)
        return 0;
    return s[0] | (uint64_t)s[n / 2] << 8 * (n / 2) | (uint64_t)s[n - 1] << 8 * (n - 1);
}

#endif
