/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary heap that keeps every item's place up to date through the caller's callback. A place is
 * written once per move, and only when the item came to rest or was passed over.
 */
#include "core/base/collection/heap.h"

void sl_heap_init(struct sl_heap *h, bool (*less)(const void *, uint32_t, uint32_t),
                  uint32_t *(*place)(void *, uint32_t), void *ctx) {
    *h = (struct sl_heap){.less = less, .place = place, .ctx = ctx};
}

void sl_heap_done(struct sl_heap *h) {
    sl_vec_free(&h->items);
}

void sl_heap_clear(struct sl_heap *h) {
    for (uint32_t i = 0; i < h->items.n; i++)
        *h->place(h->ctx, h->items.v[i]) = SL_HEAP_OUT;
    sl_vec_clear(&h->items);
}

static void put_item(struct sl_heap *h, uint32_t i, uint32_t item) {
    h->items.v[i] = item;
    *h->place(h->ctx, item) = i;
}

/* Both: there is a hole at i and item is to go there or further up or down. */
static uint32_t sift_up(struct sl_heap *h, uint32_t i, uint32_t item) {
    while (i > 0) {
        uint32_t up = (i - 1) / 2;
        if (!h->less(h->ctx, item, h->items.v[up]))
            break;
        put_item(h, i, h->items.v[up]);
        i = up;
    }
    put_item(h, i, item);
    return i;
}

static void sift_down(struct sl_heap *h, uint32_t i, uint32_t item) {
    uint32_t n = h->items.n;

    for (;;) {
        uint32_t kid = 2 * i + 1;
        if (kid >= n)
            break;
        if (kid + 1 < n && h->less(h->ctx, h->items.v[kid + 1], h->items.v[kid]))
            kid++;
        if (!h->less(h->ctx, h->items.v[kid], item))
            break;
        put_item(h, i, h->items.v[kid]);
        i = kid;
    }
    put_item(h, i, item);
}

void sl_heap_fix(struct sl_heap *h, uint32_t item) {
    uint32_t i = *h->place(h->ctx, item);

    if (i == SL_HEAP_OUT) {
        (void)sl_vec_push(&h->items);
        (void)sift_up(h, h->items.n - 1, item);
        return;
    }
    sl_assert(i < h->items.n && h->items.v[i] == item);
    if (sift_up(h, i, item) == i)
        sift_down(h, i, item);
}

void sl_heap_remove(struct sl_heap *h, uint32_t item) {
    uint32_t *place = h->place(h->ctx, item), i = *place;

    if (i == SL_HEAP_OUT)
        return;
    sl_assert(i < h->items.n && h->items.v[i] == item);
    *place = SL_HEAP_OUT;
    uint32_t last = sl_vec_pop(&h->items);
    if (last == item)
        return;
    if (sift_up(h, i, last) == i)
        sift_down(h, i, last);
}

uint32_t sl_heap_pop(struct sl_heap *h) {
    sl_assert(h->items.n > 0);
    uint32_t item = h->items.v[0], last = sl_vec_pop(&h->items);

    *h->place(h->ctx, item) = SL_HEAP_OUT;
    if (h->items.n > 0)
        sift_down(h, 0, last);
    return item;
}

void sl_heap_rebuild(struct sl_heap *h) {
    for (uint32_t i = h->items.n / 2; i-- > 0;)
        sift_down(h, i, h->items.v[i]);
}
