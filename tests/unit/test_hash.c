/*
 * Hashes: the same on every machine, and spread.
 */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* These numbers are part of recorded digests: a change here breaks every golden log. */
static void test_fixed(void **state) {
    (void)state;
    assert_int_equal(sl_hash_mix(0), 0);
    assert_true(sl_hash_mix(1) == UINT64_C(0x3c0aad46f555e0b9));
    assert_true(sl_hash_u64(0, 0) == UINT64_C(0xa2ae106734c3f744));
    assert_true(sl_hash_bytes(0, "", 0) == UINT64_C(0xa2ae106734c3f744));
    assert_true(sl_hash_bytes(7, "12345678", 8) == UINT64_C(0x5a26dfd4c16ebedb));
    assert_true(sl_hash_str(0, "cluster-queue") == UINT64_C(0x989e6690bbeb5a83));
}

static void test_differences(void **state) {
    unsigned char zeros[40] = {0};

    (void)state;
    assert_true(sl_hash_str(3, NULL) == sl_hash_str(3, ""));
    assert_true(sl_hash_str(sl_hash_str(0, "ab"), "c") != sl_hash_str(sl_hash_str(0, "a"), "bc"));
    assert_true(sl_hash_str(1, "a") != sl_hash_str(2, "a"));
    for (size_t i = 0; i < sizeof zeros; i++) /* length counts even if all bytes are zero */
        for (size_t j = 0; j < i; j++)
            assert_true(sl_hash_bytes(0, zeros, i) != sl_hash_bytes(0, zeros, j));
    uint64_t plain = sl_hash_bytes(0, zeros, sizeof zeros);
    for (size_t bit = 0; bit < 8 * sizeof zeros; bit++) { /* every bit counts, much */
        zeros[bit / 8] ^= (unsigned char)(1u << bit % 8);
        int changed = __builtin_popcountll(plain ^ sl_hash_bytes(0, zeros, sizeof zeros));
        assert_true(changed >= 12 && changed <= 52);
        zeros[bit / 8] = 0;
    }
    /* Where the bytes stand does not matter. */
    static const char words[] = "some bytes to be hashed";
    char room[64];
    for (size_t at = 0; at < 16; at++) {
        memcpy(room + at, words, sizeof words);
        assert_true(sl_hash_bytes(9, room + at, 23) == sl_hash_bytes(9, words, 23));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
