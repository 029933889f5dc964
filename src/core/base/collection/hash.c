/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight bytes at a time, read little-endian so that digests do not depend on the machine.
 *
 * SipHash as Aumasson and Bernstein describe it, with one round per block and three at the end. The
 * seed is the first block of the message and not mixed into the key: what holds for SipHash under
 * an unknown key holds for any seed that an attacker may choose.
 */
#include "core/base/collection/hash.h"

#include <string.h>

#include "core/base/bytes.h"

struct sip {
    uint64_t a, b, c, d;
};

/* Any constant will do; the program reads another. */
uint64_t sl_hash_key_[2] = {UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344)};
/* Where that key and the seed 0, which is most callers', lead: names are short, so that every block
 * counts. */
static struct sip after_seed_0 = {.a = UINT64_C(0xa473100e42c4f7d2),
                                  .b = UINT64_C(0x1aae2b19096e1b97),
                                  .c = UINT64_C(0x472c380ac191e9da),
                                  .d = UINT64_C(0x63bd6fb0b06cc602)};

/* ---- keyed ---- */

static inline uint64_t rotl(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

static inline void sip_round(struct sip *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = rotl(s->b, 13) ^ s->a;
    s->d = rotl(s->d, 16) ^ s->c;
    s->a = rotl(s->a, 32) + s->d;
    s->c += s->b;
    s->d = rotl(s->d, 21) ^ s->a;
    s->b = rotl(s->b, 17) ^ s->c;
    s->c = rotl(s->c, 32);
}

static inline struct sip sip_begin(void) {
    const uint64_t *k = sl_hash_key_;

    return (struct sip){.a = k[0] ^ UINT64_C(0x736f6d6570736575),
                        .b = k[1] ^ UINT64_C(0x646f72616e646f6d),
                        .c = k[0] ^ UINT64_C(0x6c7967656e657261),
                        .d = k[1] ^ UINT64_C(0x7465646279746573)};
}

static inline void sip_block(struct sip *s, uint64_t m) {
    s->d ^= m;
    sip_round(s);
    s->a ^= m;
}

static inline struct sip sip_seeded(uint64_t seed) {
    struct sip s = sip_begin();

    sip_block(&s, seed);
    return s;
}

void sl_hash_set_key(const uint64_t key[2]) {
    sl_hash_key_[0] = key[0];
    sl_hash_key_[1] = key[1];
    after_seed_0 = sip_seeded(0);
}

static inline uint64_t sip_end(struct sip *s) {
    s->c ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(s);
    return s->a ^ s->b ^ s->c ^ s->d;
}

/* Two blocks and no third with the length, which is always the same; 0xee, as in the variant of
 * 128 bits, keeps it apart from the hash of eight bytes. */
uint64_t sl_hash_u64(uint64_t seed, uint64_t v) {
    struct sip s = sip_begin();

    s.b ^= 0xee;
    sip_block(&s, seed);
    sip_block(&s, v);
    return sip_end(&s);
}

uint64_t sl_hash_bytes(uint64_t seed, const void *p, size_t n) {
    const unsigned char *at = p;
    const uint64_t len = (uint64_t)n + sizeof seed;
    struct sip s = seed ? sip_seeded(seed) : after_seed_0;

    for (; n >= 8; n -= 8, at += 8)
        sip_block(&s, base_load_le64(at));
    sip_block(&s, len << 56 | base_load_tail(at, n));
    return sip_end(&s);
}

uint64_t sl_hash_str(uint64_t seed, const char *s) {
    return s ? sl_hash_bytes(seed, s, strlen(s) + 1) : sl_hash_bytes(seed, "", 1);
}

/* ---- the same everywhere ---- */

uint64_t sl_digest_bytes(uint64_t seed, const void *p, size_t n) {
    const unsigned char *s = p;
    uint64_t h = sl_digest_u64(seed, n);

    for (; n >= 8; n -= 8, s += 8)
        h = sl_digest_u64(h, base_load_le64(s));
    return n ? sl_digest_u64(h, base_load_tail(s, n)) : h;
}

uint64_t sl_digest_str(uint64_t seed, const char *s) {
    return s ? sl_digest_bytes(seed, s, strlen(s) + 1) : sl_digest_bytes(seed, "", 1);
}
