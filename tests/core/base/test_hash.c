/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests: the same on every machine. Hashes: SipHash-1-3 under the key. Both spread.
 */
#include "core/base/collection/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* These numbers are part of recorded digests, checksums of rows and names of objects: a change here
 * breaks every golden log and every data directory. */
static void test_fixed(void **state) {
    (void)state;
    assert_int_equal(sl_digest_mix(0), 0);
    assert_true(sl_digest_mix(1) == UINT64_C(0x3c0aad46f555e0b9));
    assert_true(sl_digest_u64(0, 0) == UINT64_C(0xa2ae106734c3f744));
    assert_true(sl_digest_bytes(0, "", 0) == UINT64_C(0xa2ae106734c3f744));
    assert_true(sl_digest_bytes(7, "12345678", 8) == UINT64_C(0x5a26dfd4c16ebedb));
    assert_true(sl_digest_str(0, "cluster-queue") == UINT64_C(0x989e6690bbeb5a83));
}

/* Those of bytes are CPython's: PYTHONHASHSEED=0 and 42 give these keys, and hash() of eight bytes
 * with the seed and the text these values. */
static void test_siphash(void **state) {
    static const struct {
        uint64_t key[2], none, a, odd, even, str, long_one, u64[3];
    } known[] = {
        {{0, 0},
         UINT64_C(0xbd60acb658c79e45),
         UINT64_C(0x0c9972277e54d711),
         UINT64_C(0x9d551ee2b62a3dfa),
         UINT64_C(0x76479320fc302cbe),
         UINT64_C(0x01ffab3568fb425d),
         UINT64_C(0x023f240b8a32c33d),
         {UINT64_C(0xd369c2b4de06cc7d), UINT64_C(0x5d4efae4ce74aa90),
          UINT64_C(0x8da162c27bc6ff44)}},
        {{UINT64_C(0xdc504fd368cd90af), UINT64_C(0xb920bb9ffe99e9c1)},
         UINT64_C(0xff8022ca61836881),
         UINT64_C(0xdb50be12d7409bf3),
         UINT64_C(0x66d00c5e4d4f5722),
         UINT64_C(0x6a0a28f74784c663),
         UINT64_C(0x8ad68d6948a1ecf1),
         UINT64_C(0x6a6f7bca84947142),
         {UINT64_C(0x0da92f836037eac6), UINT64_C(0x133377a31384060d),
          UINT64_C(0xadce6338dd3d8043)}},
    };
    const uint64_t before[2] = {sl_hash_key_[0], sl_hash_key_[1]};
    unsigned char upto[40];

    (void)state;
    for (size_t i = 0; i < sizeof upto; i++)
        upto[i] = (unsigned char)i;
    for (size_t i = 0; i < SL_LEN(known); i++) {
        sl_hash_set_key(known[i].key);
        assert_true(sl_hash_bytes(0, "", 0) == known[i].none);
        assert_true(sl_hash_bytes(0, "a", 1) == known[i].a);
        assert_true(sl_hash_bytes(7, "1234567", 7) == known[i].odd);
        assert_true(sl_hash_bytes(7, "12345678", 8) == known[i].even);
        assert_true(sl_hash_str(0, "cluster-queue") == known[i].str);
        assert_true(sl_hash_bytes(0, upto, sizeof upto) == known[i].long_one);
        assert_true(sl_hash_u64(0, 0) == known[i].u64[0]);
        assert_true(sl_hash_u64(1, 2) == known[i].u64[1]);
        assert_true(sl_hash_u64(UINT64_MAX, 12345) == known[i].u64[2]);
    }
    sl_hash_set_key(before);
}

/* Nobody sees by a hash whether the key was set. */
static void test_first_key(void **state) {
    const uint64_t key[2] = {sl_hash_key_[0], sl_hash_key_[1]};
    const uint64_t none = sl_hash_bytes(0, "", 0), name = sl_hash_str(0, "cluster-queue");

    (void)state;
    sl_hash_set_key(key);
    assert_true(sl_hash_bytes(0, "", 0) == none);
    assert_true(sl_hash_str(0, "cluster-queue") == name);
}

struct family {
    uint64_t (*u64)(uint64_t seed, uint64_t v);
    uint64_t (*bytes)(uint64_t seed, const void *p, size_t n);
    uint64_t (*str)(uint64_t seed, const char *s);
};

static void spreads(int changed) {
    assert_true(changed >= 12 && changed <= 52);
}

static void differs(const struct family *f) {
    unsigned char zeros[40] = {0};

    assert_true(f->str(3, NULL) == f->str(3, ""));
    assert_true(f->str(f->str(0, "ab"), "c") != f->str(f->str(0, "a"), "bc"));
    assert_true(f->str(1, "a") != f->str(2, "a"));
    for (size_t i = 0; i < sizeof zeros; i++) /* length counts even if all bytes are zero */
        for (size_t j = 0; j < i; j++)
            assert_true(f->bytes(0, zeros, i) != f->bytes(0, zeros, j));
    uint64_t plain = f->bytes(0, zeros, sizeof zeros);
    for (size_t bit = 0; bit < 8 * sizeof zeros; bit++) { /* every bit counts, much */
        zeros[bit / 8] ^= (unsigned char)(1u << bit % 8);
        spreads(__builtin_popcountll(plain ^ f->bytes(0, zeros, sizeof zeros)));
        zeros[bit / 8] = 0;
    }
    for (int bit = 0; bit < 64; bit++) {
        spreads(__builtin_popcountll(f->u64(0, 0) ^ f->u64(0, UINT64_C(1) << bit)));
        spreads(__builtin_popcountll(f->u64(0, 0) ^ f->u64(UINT64_C(1) << bit, 0)));
    }
    /* Where the bytes stand does not matter. */
    static const char words[] = "some bytes to be hashed";
    char room[64];
    for (size_t at = 0; at < 16; at++) {
        memcpy(room + at, words, sizeof words);
        assert_true(f->bytes(9, room + at, 23) == f->bytes(9, words, 23));
    }
}

static void test_differences(void **state) {
    static const struct family hash = {sl_hash_u64, sl_hash_bytes, sl_hash_str},
                               digest = {sl_digest_u64, sl_digest_bytes, sl_digest_str};

    (void)state;
    differs(&hash);
    differs(&digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_key), /* first: the others set keys */
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_siphash),
        cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
