/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64-bit hashing, in two families that are never mixed:
 *
 * sl_hash_*    Keyed (SipHash-1-3), for tables and for equality within the process. An attacker who
 *              chooses names does not know the key and cannot choose names that collide.
 *              The values differ from process to process: they are not shown, stored, sent or
 *              sorted by, and nothing that is may depend on them.
 * sl_digest_*  Without a key: the same on every machine, compiler and run (defined over bytes and
 *              fixed-width integers). For what leaves the process: digests of effects, checksums of
 *              rows, names that are derived from a content. Collisions can be constructed, so it is
 *              neither an identity nor the key of a table. tools/check-layers has the list of the
 *              files that may use it.
 */
#ifndef SL_CORE_BASE_COLLECTION_HASH_H
#define SL_CORE_BASE_COLLECTION_HASH_H

#include "core/base/macros.h"

/* ---- keyed ---- */

/* Once, before the first table is made; the caller reads it from the system. Until then the key is
 * a constant, so that tests can be repeated. */
void sl_hash_set_key(const uint64_t key[2]);
/* The key of core/base/collection/map.h; not used elsewhere. */
extern uint64_t sl_hash_key_[2];

uint64_t sl_hash_u64(uint64_t seed, uint64_t v);
/* SipHash-1-3 of the seed, little-endian, and the bytes. */
uint64_t sl_hash_bytes(uint64_t seed, const void *p, size_t n);
/* NULL hashes like "". The terminator counts, so ("ab","c") differs from ("a","bc"). */
uint64_t sl_hash_str(uint64_t seed, const char *s);

/* ---- the same everywhere ---- */

static inline uint64_t sl_digest_mix(uint64_t x) {
    x ^= x >> 32;
    x *= UINT64_C(0xe9846af9b1a615d);
    x ^= x >> 32;
    x *= UINT64_C(0xe9846af9b1a615d);
    x ^= x >> 28;
    return x;
}

static inline uint64_t sl_digest_u64(uint64_t seed, uint64_t v) {
    return sl_digest_mix(seed * UINT64_C(0x9e3779b97f4a7c15) + v + UINT64_C(0x632be59bd9b4e019));
}

uint64_t sl_digest_bytes(uint64_t seed, const void *p, size_t n);
/* As sl_hash_str. */
uint64_t sl_digest_str(uint64_t seed, const char *s);

#endif
