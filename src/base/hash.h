/*
 * 64-bit hashing: bytes -> key for tables, and a running digest for "same facts, same effects".
 * The values are the same on every machine and compiler (defined over bytes and fixed-width
 * integers).
 */
#ifndef SL_BASE_HASH_H
#define SL_BASE_HASH_H

#include "base/macros.h"

static inline uint64_t sl_hash_mix(uint64_t x) {
    x ^= x >> 32;
    x *= UINT64_C(0xe9846af9b1a615d);
    x ^= x >> 32;
    x *= UINT64_C(0xe9846af9b1a615d);
    x ^= x >> 28;
    return x;
}

static inline uint64_t sl_hash_u64(uint64_t seed, uint64_t v) {
    return sl_hash_mix(seed * UINT64_C(0x9e3779b97f4a7c15) + v + UINT64_C(0x632be59bd9b4e019));
}

uint64_t sl_hash_bytes(uint64_t seed, const void *p, size_t n);
/* NULL hashes like "". The terminator counts, so ("ab","c") differs from ("a","bc"). */
uint64_t sl_hash_str(uint64_t seed, const char *s);

#endif
