/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of completion indexes in the form of the status of a Job: "0-3,5,7,8". Ordered runs that
 * never touch each other.
 */
#ifndef SL_CLUSTER_CONTROLLERS_JOB_INDEXES_H
#define SL_CLUSTER_CONTROLLERS_JOB_INDEXES_H

#include "core/base/buf.h"
#include "core/base/collection/vec.h"

struct cl_index_run {
    int32_t first, last;
};

struct cl_indexes {
    struct cl_index_run *v;
    uint32_t n, cap;
};

/* All zero is the empty set. */
void cl_indexes_done(struct cl_indexes *s);
/* Indexes at and beyond 'end' are left out, and so are parts that cannot be read. What does not
 * come in order is taken all the same. */
void cl_indexes_read(const char *text, int32_t end, struct cl_indexes *ret);
/* Two in a row are "7,8", more are "5-8". */
void cl_indexes_put(const struct cl_indexes *s, struct sl_buf *b);
void cl_indexes_add(struct cl_indexes *s, int32_t i);
bool cl_indexes_has(const struct cl_indexes *s, int32_t i);
int64_t cl_indexes_count(const struct cl_indexes *s);
/* How many are in both. */
int64_t cl_indexes_common(const struct cl_indexes *a, const struct cl_indexes *b);
/* All of 'more' besides. */
void cl_indexes_join(struct cl_indexes *s, const struct cl_indexes *more);
/* The first at or after 'from' that is not in the set. */
int32_t cl_indexes_free(const struct cl_indexes *s, int32_t from);

#endif
