/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects held against their schema, for field management: what differs, which fields there are,
 * two merged into one, some taken out. Private to src/cluster/merge.
 */
#ifndef SL_CLUSTER_MERGE_TYPED_H
#define SL_CLUSTER_MERGE_TYPED_H

#include "cluster/merge/fields.h"

/* The type of a value: by the schema, or without one by the value itself. */
enum merge_shape { SL_SHAPE_SCALAR, SL_SHAPE_LIST, SL_SHAPE_MAP };
/* 'v' may be NULL or of a mutable document. */
enum merge_shape merge_shape(const struct sl_schema *s, const yyjson_val *v);
/* Is it owned and merged as a whole? */
bool merge_is_atomic(const struct sl_schema *s, enum merge_shape shape);

/* In place of an object that is not there yet: structs of Go have fields that are always there. */
yyjson_val *merge_absent(void);
/*
 * The difference between old and now, as a set with marks: SL_F_IN added, SL_F_CHANGED,
 * SL_F_REMOVED. Linear except for the sorting of what is not in the same place in both. 'skip'
 * names fields of the objects that are ignored; NULL: none.
 */
struct merge_fields *merge_typed_diff(struct sl_arena *a, const struct sl_schema *s,
                                      yyjson_val *old, yyjson_mut_val *now,
                                      const char *const *skip);
/* Equal in meaning: the order of fields does not matter, 1 is 1.0. */
bool merge_typed_equal(struct sl_arena *a, yyjson_val *x, yyjson_mut_val *y);
/* The fields that the object has. */
struct merge_fields *merge_typed_fields(struct sl_arena *a, const struct sl_schema *s,
                                        yyjson_mut_val *v);
/* Merges 'over' into 'into'; what comes from 'over' is copied. */
void merge_typed_merge(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_doc *doc,
                       yyjson_mut_val *into, yyjson_mut_val *over);
/* Takes the fields and items that are in the set out of the object. */
void merge_typed_remove(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                        const struct merge_fields *set);
/* Whether it is an object of this schema, without duplicate items. The message in 'out' if not. */
bool merge_typed_check(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *v,
                       struct sl_buf *out);

#endif
