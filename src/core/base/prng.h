/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small seeded generator (xoshiro256**, seeded by splitmix64). Same seed, same numbers everywhere.
 */
#ifndef SL_CORE_BASE_PRNG_H
#define SL_CORE_BASE_PRNG_H

#include "core/base/macros.h"

struct sl_prng {
    uint64_t s[4];
};

void sl_prng_init(struct sl_prng *p, uint64_t seed);
uint64_t sl_prng_next(struct sl_prng *p);
/* Uniform in [0, n), n > 0. */
uint64_t sl_prng_below(struct sl_prng *p, uint64_t n);
/* Uniform in [lo, hi], both included. */
int64_t sl_prng_range(struct sl_prng *p, int64_t lo, int64_t hi);
/* True once in n. */
static inline bool sl_prng_one_in(struct sl_prng *p, uint64_t n) {
    return sl_prng_below(p, n) == 0;
}

#endif
