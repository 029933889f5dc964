/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear probing at three quarters full at most. Deletion shifts the followers back, so there are
 * no tombstones and a lookup ends at the first empty slot.
 */
#include "core/base/collection/map.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "core/base/mem.h"

#define FIRST_SLOTS UINT32_C(8)

/* Callers' keys are hashes, but a plain number must not degenerate: it is mixed, with a key, so
 * that neighbours cannot be predicted. */
static uint32_t first_slot(const struct sl_map *m, uint64_t key) {
    unsigned __int128 x = (unsigned __int128)(key ^ sl_hash_key_[0]) * (sl_hash_key_[1] | 1);

    return (uint32_t)(x ^ x >> 64) & m->mask;
}

void sl_map_done(struct sl_map *m) {
    sl_freep(&m->slots);
    m->n = m->mask = 0;
}

static void put_slot(struct sl_map *m, uint64_t key, uint32_t value) {
    uint32_t i = first_slot(m, key);

    while (m->slots[i].value != SL_MAP_NONE)
        i = (i + 1) & m->mask;
    m->slots[i].key = key;
    m->slots[i].value = value;
}

static void resize(struct sl_map *m, uint32_t n_slots) {
    struct sl_map_slot *old = m->slots;
    uint32_t n_old = old ? m->mask + 1 : 0;

    m->slots = sl_realloc(NULL, n_slots, sizeof *m->slots);
    memset(m->slots, 0xff, n_slots * sizeof *m->slots); /* every value SL_MAP_NONE */
    m->mask = n_slots - 1;
    /* From behind an empty slot on, so that of equal keys the one that was added first stays so. */
    uint32_t from = 0;
    while (from < n_old && old[from].value != SL_MAP_NONE)
        from++;
    for (uint32_t i = from; i < from + n_old; i++) {
        const struct sl_map_slot *s = &old[i & (n_old - 1)];
        if (s->value != SL_MAP_NONE)
            put_slot(m, s->key, s->value);
    }
    sl_freep(&old);
}

void sl_map_add(struct sl_map *m, uint64_t key, uint32_t value) {
    sl_assert(value != SL_MAP_NONE);
    if (!m->slots) {
        resize(m, FIRST_SLOTS);
    } else if ((uint64_t)(m->n + 1) * 4 > (uint64_t)(m->mask + 1) * 3) {
        sl_assert(m->mask < UINT32_C(1) << 30);
        resize(m, 2 * (m->mask + 1));
    }
    put_slot(m, key, value);
    m->n++;
}

bool sl_map_del(struct sl_map *m, uint64_t key, uint32_t value) {
    if (!m->slots || value == SL_MAP_NONE)
        return false;
    uint32_t i = first_slot(m, key);
    while (m->slots[i].key != key || m->slots[i].value != value) {
        if (m->slots[i].value == SL_MAP_NONE)
            return false;
        i = (i + 1) & m->mask;
    }
    /* Closes the hole: a follower may move back if its first slot is not after the hole. */
    for (uint32_t j = (i + 1) & m->mask; m->slots[j].value != SL_MAP_NONE; j = (j + 1) & m->mask) {
        uint32_t h = first_slot(m, m->slots[j].key);
        if (((j - h) & m->mask) >= ((j - i) & m->mask)) {
            m->slots[i] = m->slots[j];
            i = j;
        }
    }
    m->slots[i].value = SL_MAP_NONE;
    m->n--;
    return true;
}

static uint32_t scan(const struct sl_map *m, uint64_t key, uint32_t i, uint32_t *cursor) {
    while (m->slots[i].value != SL_MAP_NONE) {
        uint32_t next = (i + 1) & m->mask;
        if (m->slots[i].key == key) {
            *cursor = next;
            return m->slots[i].value;
        }
        i = next;
    }
    *cursor = i; /* stands on the empty slot: going on finds nothing again */
    return SL_MAP_NONE;
}

uint32_t sl_map_first(const struct sl_map *m, uint64_t key, uint32_t *cursor) {
    if (!m->slots) {
        *cursor = 0;
        return SL_MAP_NONE;
    }
    return scan(m, key, first_slot(m, key), cursor);
}

uint32_t sl_map_next(const struct sl_map *m, uint64_t key, uint32_t *cursor) {
    return m->slots ? scan(m, key, *cursor, cursor) : SL_MAP_NONE;
}
