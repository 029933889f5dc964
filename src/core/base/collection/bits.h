/* SPDX-License-Identifier: Apache-2.0 */
/* Bit operations. */
#ifndef SL_CORE_BASE_COLLECTION_BITS_H
#define SL_CORE_BASE_COLLECTION_BITS_H

#include "core/base/macros.h"

/* How many are set. By hand: without a machine instruction for it, compilers call a function that
 * is slower. */
static inline uint32_t sl_bits_count(uint64_t w) {
    w -= w >> 1 & UINT64_C(0x5555555555555555);
    w = (w & UINT64_C(0x3333333333333333)) + (w >> 2 & UINT64_C(0x3333333333333333));
    w = (w + (w >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(w * UINT64_C(0x0101010101010101) >> 56);
}

static inline bool sl_bits_get(const uint64_t *v, uint32_t i) {
    return v[i / 64] >> (i % 64) & 1;
}

static inline void sl_bits_set(uint64_t *v, uint32_t i) {
    v[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void sl_bits_clear(uint64_t *v, uint32_t i) {
    v[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* Is any set of those from 'from' to before 'to'? */
static inline bool sl_bits_any(const uint64_t *v, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to;) {
        uint32_t n = 64 - i % 64 < to - i ? 64 - i % 64 : to - i;
        uint64_t mask = (n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << (i % 64);
        if (v[i / 64] & mask)
            return true;
        i += n;
    }
    return false;
}

#endif
