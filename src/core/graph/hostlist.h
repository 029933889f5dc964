/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of host names (RFC 29): "login,node[0-3,07]-ib". An expression is a prefix, perhaps ids in
 * brackets, and a suffix; leading zeros of the first id hold for all. Lists keep their order and
 * may have names twice. Spreading one out is bounded by SL_HOSTLIST_MAX names and
 * SL_HOSTLIST_MAX_BYTES.
 */
#ifndef SL_CORE_GRAPH_HOSTLIST_H
#define SL_CORE_GRAPH_HOSTLIST_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/collection/vec.h"
#include "core/base/err.h"

#define SL_HOSTLIST_MAX (UINT32_C(1) << 20)
#define SL_HOSTLIST_MAX_BYTES ((size_t)64 << 20)
#define SL_HOSTNAME_MAX 255u

struct sl_hostlist {
    SL_VEC(const char *) names; /* in the arena */
    size_t bytes;               /* of all names */
};
void sl_hostlist_done(struct sl_hostlist *h);
/* Appends the names of a list. */
int sl_hostlist_add(struct sl_hostlist *h, struct sl_arena *a, const char *text,
                    struct sl_err *err) _must_check_;
/* The shortest list of these names in this order: "node[0-3],login". */
void sl_hostlist_write(const char *const *names, uint32_t n, struct sl_buf *out);

/* How long is the name without its number, and which number is it? -1: none, or too large a one. */
size_t sl_hostlist_split(const char *name, int64_t *ret_id);

#endif
