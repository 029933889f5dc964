/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of core/base/collection/hash.h as the seed of a test says: whatever depended on the
 * values of hashes would differ from seed to seed, and from the digests that are compared. Only
 * while no tables live.
 */
#ifndef SL_TESTS_SEED_KEY_H
#define SL_TESTS_SEED_KEY_H

#include "core/base/collection/hash.h"

static inline void seed_key(uint64_t seed) {
    const uint64_t key[2] = {sl_digest_u64(seed, 1), sl_digest_u64(seed, 2)};

    sl_hash_set_key(key);
}

#endif
