/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexed binary heap of uint32 items, smallest first by a caller's total order. The heap reports
 * the position of each item (place callback), so that an item can be moved or removed in O(log n)
 * without a search.
 */
#ifndef SL_CORE_BASE_COLLECTION_HEAP_H
#define SL_CORE_BASE_COLLECTION_HEAP_H

#include "core/base/collection/vec.h"

#define SL_HEAP_OUT UINT32_MAX /* the place of an item that is in no heap */

struct sl_heap {
    SL_VEC(uint32_t) items;
    /* Strict total order: no two items are equal. */
    bool (*less)(const void *ctx, uint32_t a, uint32_t b);
    /* Where the caller keeps the place of an item. */
    uint32_t *(*place)(void *ctx, uint32_t item);
    void *ctx;
};

void sl_heap_init(struct sl_heap *h, bool (*less)(const void *, uint32_t, uint32_t),
                  uint32_t *(*place)(void *, uint32_t), void *ctx);
void sl_heap_done(struct sl_heap *h);
/* Leaves every item OUT. */
void sl_heap_clear(struct sl_heap *h);
/* Adds the item, or moves it to where its changed key belongs. */
void sl_heap_fix(struct sl_heap *h, uint32_t item);
/* Removes the item if it is there. */
void sl_heap_remove(struct sl_heap *h, uint32_t item);
static inline bool sl_heap_empty(const struct sl_heap *h) {
    return h->items.n == 0;
}
static inline uint32_t sl_heap_top(const struct sl_heap *h) {
    return h->items.v[0];
}
uint32_t sl_heap_pop(struct sl_heap *h);
/* Restores the order after many keys changed at once: O(n). */
void sl_heap_rebuild(struct sl_heap *h);

#endif
