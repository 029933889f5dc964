/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_int.h"

static uint64_t *row_at(const struct store_rows *r, uint32_t i) {
    return &r->v[i & (r->cap - 1)];
}

static void grow_rows(struct store_rows *r) {
    if (r->end - r->first < r->cap)
        return;
    uint32_t cap = r->cap ? 2 * r->cap : 16;
    uint64_t *v = sl_alloc0(cap, sizeof *v);
    for (uint32_t i = r->first; i != r->end; i++)
        v[i & (cap - 1)] = *row_at(r, i);
    sl_freep(&r->v);
    r->v = v;
    r->cap = cap;
}

void store_rows_done(struct store_rows *r) {
    sl_freep(&r->v);
    *r = (struct store_rows){0};
}

void store_rows_add(struct store_rows *r, uint64_t row) {
    grow_rows(r);
    *row_at(r, r->end++) = row;
}

uint32_t store_rows_spare(const struct store_rows *r) {
    return r->end - r->first;
}

uint64_t store_rows_take(struct store_rows *r) {
    return r->first == r->end ? ++r->last : *row_at(r, r->first++);
}

void store_rows_return(struct store_rows *r, uint64_t row) {
    grow_rows(r);
    *row_at(r, --r->first) = row;
}
