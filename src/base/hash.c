/*
 * Eight bytes at a time, read little-endian by hand so that the value does not depend on the
 * machine. Not meant to withstand an adversary who chooses keys.
 */
#include "base/hash.h"

#include <string.h>

static uint64_t load_le64(const unsigned char *p) {
    uint64_t v;

    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

uint64_t sl_hash_bytes(uint64_t seed, const void *p, size_t n) {
    const unsigned char *s = p;
    uint64_t h = sl_hash_u64(seed, n), tail = 0;

    for (; n >= 8; n -= 8, s += 8)
        h = sl_hash_u64(h, load_le64(s));
    if (n == 0)
        return h;
    while (n > 0)
        tail = tail << 8 | s[--n];
    return sl_hash_u64(h, tail);
}

uint64_t sl_hash_str(uint64_t seed, const char *s) {
    return s ? sl_hash_bytes(seed, s, strlen(s) + 1) : sl_hash_bytes(seed, "", 1);
}
