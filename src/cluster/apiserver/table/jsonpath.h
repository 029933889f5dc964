/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSONPath of printer columns, as kube-apiserver takes it:
 *
 *     .a.b  ['a']  [0]  [-1]  [1:3]  [::2]  [0,2]  [*]  .*  ..a  [?(@.type=="Ready")]
 *
 * A path leads from a set of values to a set of values. An error on the way (an index beyond the
 * end, a comparison of a text with a number) ends it: then there is no result.
 */
#ifndef SL_CLUSTER_APISERVER_TABLE_JSONPATH_H
#define SL_CLUSTER_APISERVER_TABLE_JSONPATH_H

#include <yyjson.h>

#include "core/base/arena.h"
#include "core/base/err.h"

#define SL_JSONPATH_MAX 4096u   /* bytes of a path */
#define SL_JSONPATH_DEPTH 16u   /* of filters and lists of indices in one another */
#define SL_JSONPATH_DESCENT 64u /* levels of values that '..' goes down */

struct api_jsonpath;

/* In the arena; the path begins with a dot. */
int api_jsonpath_new(const char *path, struct sl_arena *arena, const struct api_jsonpath **ret,
                     struct sl_err *err) _must_check_;
/* The first result, which may be null; NULL: there is none. *steps: a budget, of which one is some
 * 50 ns; none left: the result is incomplete. What is made on the way is in the arena, and lives as
 * long as this and the object. */
yyjson_val *api_jsonpath_first(const struct api_jsonpath *p, yyjson_val *root,
                               struct sl_arena *arena, uint64_t *steps);

#endif
