/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of ids (RFC 22): "0-3,7", also in brackets. Kept as ranges, so that size is a matter of the
 * text and not of the numbers in it.
 */
#ifndef SL_LIB_GRAPHIO_IDSET_H
#define SL_LIB_GRAPHIO_IDSET_H

#include "core/base/buf.h"
#include "core/base/collection/vec.h"
#include "core/base/err.h"
#include "core/graph/request.h"

#define SL_IDSET_MAX_ID (UINT32_MAX - 1)
#define SL_IDSET_MAX_RANGES (UINT32_C(1) << 20)

/* Ascending, with a gap between any two. All zero is the empty set. */
struct sl_idset {
    SL_VEC(struct sl_constraint_ranks) ranges;
};
void sl_idset_done(struct sl_idset *s);
/* Adds the ids of a text. They may come in any order, and twice. */
int sl_idset_add(struct sl_idset *s, const char *text, struct sl_err *err) _must_check_;
/* The same in two steps, where many texts make one set: it is none before it is settled. */
int sl_idset_collect(struct sl_idset *s, const char *text, struct sl_err *err) _must_check_;
void sl_idset_settle(struct sl_idset *s);
bool sl_idset_has(const struct sl_idset *s, int64_t id);
uint64_t sl_idset_count(const struct sl_idset *s);
/* "0-3,7" from numbers in ascending order; equal ones are written as often as they come. */
void sl_idset_write(const int64_t *ids, uint32_t n, struct sl_buf *out);

#endif
