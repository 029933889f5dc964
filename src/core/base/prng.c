/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xoshiro256** 1.0 and splitmix64 by Blackman and Vigna (public domain), and Lemire's unbiased
 * reduction to a range.
 */
#include "core/base/prng.h"

static uint64_t rotl(uint64_t x, unsigned k) {
    return x << k | x >> (64 - k);
}

void sl_prng_init(struct sl_prng *p, uint64_t seed) {
    for (unsigned i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        p->s[i] = z ^ (z >> 31);
    }
}

uint64_t sl_prng_next(struct sl_prng *p) {
    uint64_t *s = p->s, r = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return r;
}

uint64_t sl_prng_below(struct sl_prng *p, uint64_t n) {
    sl_assert(n > 0);
    unsigned __int128 m = (unsigned __int128)sl_prng_next(p) * n;
    if ((uint64_t)m < n) {
        uint64_t least = (0 - n) % n;
        while ((uint64_t)m < least)
            m = (unsigned __int128)sl_prng_next(p) * n;
    }
    return (uint64_t)(m >> 64);
}

int64_t sl_prng_range(struct sl_prng *p, int64_t lo, int64_t hi) {
    sl_assert(lo <= hi);
    uint64_t width = (uint64_t)hi - (uint64_t)lo + 1; /* 0: all of them */
    uint64_t d = width > 0 ? sl_prng_below(p, width) : sl_prng_next(p);
    return (int64_t)((uint64_t)lo + d);
}
