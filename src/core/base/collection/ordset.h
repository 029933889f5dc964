/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordered set of fixed 24-byte keys { at, tie, id }: the queue of a class of workloads. Keys
 * compare by at, then tie, then the caller's total order on ids (only evaluated when at and tie are
 * equal, and only on ids that are in the set or in the key in question).
 *
 * Up to 128 keys are in one sorted array of just their size (a set of one key owns 24 bytes, an
 * empty one nothing). Beyond that: sorted chunks of 128 keys, under pages of up to 128 chunks,
 * under one sorted array of pages. The first key in O(1), insert and remove in O(log n) with one
 * chunk touched, rank and at in O(pages + 256), which is well below a microsecond at a million
 * keys. Memory beyond 128 keys: full chunks when keys come in order, some 2/3 full at random, and
 * neighbours are joined when removals thin them out.
 */
#ifndef SL_CORE_BASE_COLLECTION_ORDSET_H
#define SL_CORE_BASE_COLLECTION_ORDSET_H

#include "core/base/collection/vec.h"

struct sl_ordkey {
    int64_t at;   /* e.g. queue-order timestamp */
    uint64_t tie; /* e.g. the first bytes of the uid, big-endian */
    uint32_t id;
    uint32_t aux; /* carried along, not compared */
};

struct sl_ordpage; /* private */

/* All zero is an empty set. Only n is for the public. */
struct sl_ordset {
    union {
        struct sl_ordkey *keys;   /* n_pages == 0: the keys themselves */
        struct sl_ordpage *pages; /* n_pages > 0 */
    };
    uint32_t n; /* keys in all */
    uint32_t n_pages;
    uint32_t lead; /* unused slots in front of the first key or page: popping is O(1) */
    uint32_t cap;  /* slots of keys or pages */
};

/* Total order on ids whose at and tie are equal: <0, 0 (same id only), >0. */
typedef int (*sl_ordtie_fn)(const void *ctx, uint32_t a, uint32_t b);

void sl_ordset_done(struct sl_ordset *s);
/* The key must not be there yet. */
void sl_ordset_add(struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                   const void *ctx);
/* Returns whether the key was there. */
bool sl_ordset_del(struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                   const void *ctx);
/* NULL when empty. Valid until the next change. O(1). */
const struct sl_ordkey *sl_ordset_first(const struct sl_ordset *s);
/* Removes the first key. O(1) amortised. The set must not be empty. */
struct sl_ordkey sl_ordset_pop(struct sl_ordset *s);
/* How many keys precede k (which need not be in the set). */
uint32_t sl_ordset_rank(const struct sl_ordset *s, const struct sl_ordkey *k, sl_ordtie_fn tie,
                        const void *ctx);
/* The i-th key in order, NULL if i >= n. */
const struct sl_ordkey *sl_ordset_at(const struct sl_ordset *s, uint32_t i);
/* The i-th key and how many follow it side by side in memory (itself counted); for walking:
 *     for (i = 0; (k = sl_ordset_run(s, i, &n)); i += n) ... k[0] to k[n - 1] ...
 * NULL and 0 if i >= n. Valid until the next change. */
const struct sl_ordkey *sl_ordset_run(const struct sl_ordset *s, uint32_t i, uint32_t *ret_n);
/* Compare two keys by the set's order. */
int sl_ordkey_cmp(const struct sl_ordkey *a, const struct sl_ordkey *b, sl_ordtie_fn tie,
                  const void *ctx);

#endif
