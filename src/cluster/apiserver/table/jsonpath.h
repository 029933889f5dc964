/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSONPath as printer columns use it: .a.b, ['a'], [0], [-1], [*], .*, [?(@.type=="Ready")]. Finds
 * the first value.
 */
#ifndef SL_CLUSTER_APISERVER_TABLE_JSONPATH_H
#define SL_CLUSTER_APISERVER_TABLE_JSONPATH_H

#include <yyjson.h>

#include "core/base/err.h"

#define SL_JSONPATH_MAX 1024u /* bytes of a path */

/* The first value in order; NULL if there is none, or the path is wrong. The leading dot may be
 * left out. */
yyjson_val *api_jsonpath_first(yyjson_val *root, const char *path);
/* The same with a budget of steps, of which one is some 50 ns; none left: the result is
 * incomplete. */
yyjson_val *api_jsonpath_within(yyjson_val *root, const char *path, uint64_t *steps);
/* Is it one that we understand? */
int api_jsonpath_check(const char *path, struct sl_err *err) _must_check_;
/* Only fields, as required for scale and selectableFields: ".spec.replicas". */
bool api_jsonpath_is_fields(const char *path);

#endif
