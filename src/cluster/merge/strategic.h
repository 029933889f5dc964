/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategic merge patches. Private to src/cluster/merge.
 */
#ifndef SL_CLUSTER_MERGE_STRATEGIC_H
#define SL_CLUSTER_MERGE_STRATEGIC_H

#include "cluster/merge/merge.h"
#include "cluster/merge/parts.h"

struct merge_smp {
    struct sl_arena a;
    yyjson_mut_doc *doc;
    struct sl_patch_err *err;
};

#define SL_SMP_DEPTH 200u

/* The three kinds of errors: with its own message (500), as a bad patch (400), or as a mismatch. */
int merge_smp_fail(struct merge_smp *p, const char *fmt, ...) _printf_(2, 3);
int merge_smp_bad(struct merge_smp *p, const char *what);
int merge_smp_unfit(struct merge_smp *p);
/* A message with a value in it. */
int merge_smp_fail_at(struct merge_smp *p, const char *before, yyjson_mut_val *v,
                      const char *after);
int merge_smp_wrong_type(struct merge_smp *p, const char *expected, yyjson_mut_val *v);

/* Merges the patch, which is used up, into an object. */
int merge_smp_map(struct merge_smp *p, const struct sl_schema *s, yyjson_mut_val *into,
                  yyjson_mut_val *patch, unsigned depth) _must_check_;
/* How lists under a field are merged. */
struct merge_smp_list {
    const struct sl_schema *items;
    bool merge;
    const char *key; /* of items that are objects; NULL: none */
};
/* 'drop': the patch names values that are removed. *before, if needed, is the order that counts as
 * the previous one. */
int merge_smp_merge_lists(struct merge_smp *p, const struct merge_smp_list *how,
                          yyjson_mut_val *into, yyjson_mut_val *patch, bool drop,
                          yyjson_mut_val **before, unsigned depth) _must_check_;
/* Does the order name the items of the patch in the same sequence? */
int merge_smp_check_order(struct merge_smp *p, const struct merge_smp_list *how,
                          yyjson_mut_val *patch, yyjson_mut_val *order) _must_check_;
/* Brings items into the order of a list; 'before' has the order they had. */
int merge_smp_order(struct merge_smp *p, const struct merge_smp_list *how, yyjson_mut_val *list,
                    yyjson_mut_val *order, yyjson_mut_val *before) _must_check_;

#endif
