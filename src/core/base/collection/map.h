/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash map uint64 -> uint32, open addressing with backward-shift deletion. For looking up dense ids
 * by hash. Keys are keyed hashes (core/base/collection/hash.h) or the program's own numbers, never
 * digests of what others choose: callers that need exact identity verify the candidate themselves
 * with sl_map_first / sl_map_next (equal keys may be stored several times, and are found in the
 * order in which they were added). Order of iteration is not offered: hash tables find, they do not
 * order.
 */
#ifndef SL_CORE_BASE_COLLECTION_MAP_H
#define SL_CORE_BASE_COLLECTION_MAP_H

#include "core/base/macros.h"

#define SL_MAP_NONE UINT32_MAX

struct sl_map_slot {
    uint64_t key;
    uint32_t value; /* SL_MAP_NONE marks an empty slot */
};

struct sl_map {
    struct sl_map_slot *slots;
    uint32_t n, mask; /* mask + 1 slots, a power of two; 0 slots before the first put */
};

void sl_map_done(struct sl_map *m);
/* Adds (key, value), value != SL_MAP_NONE. Does not look for an equal key. */
void sl_map_add(struct sl_map *m, uint64_t key, uint32_t value);
/* Removes the pair; returns whether it was there. */
bool sl_map_del(struct sl_map *m, uint64_t key, uint32_t value);
/* The first value under key and a cursor to go on with, or SL_MAP_NONE. */
uint32_t sl_map_first(const struct sl_map *m, uint64_t key, uint32_t *cursor);
uint32_t sl_map_next(const struct sl_map *m, uint64_t key, uint32_t *cursor);
/* Every value under key: sl_map_foreach (i, &map, key) ... */
#define sl_map_foreach(i, m, key)                                                                  \
    for (uint32_t i##_cursor, i = sl_map_first((m), (key), &i##_cursor); i != SL_MAP_NONE;         \
         i = sl_map_next((m), (key), &i##_cursor))
/* The same for those who go on later: the next value, SL_MAP_NONE ends. *cursor starts at 0. */
static inline uint32_t sl_map_each(const struct sl_map *m, uint64_t key, uint32_t *cursor) {
    uint32_t c = *cursor - 1; /* the map's own may be 0 */
    uint32_t i = *cursor ? sl_map_next(m, key, &c) : sl_map_first(m, key, &c);
    *cursor = c + 1;
    return i;
}
/* For keys known to be unique. */
static inline uint32_t sl_map_get(const struct sl_map *m, uint64_t key) {
    uint32_t c;
    return sl_map_first(m, key, &c);
}

#endif
