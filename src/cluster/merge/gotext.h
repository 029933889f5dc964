/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as Go prints them, for messages of the API server. Private to src/cluster/merge.
 */
#ifndef SL_CLUSTER_MERGE_GOTEXT_H
#define SL_CLUSTER_MERGE_GOTEXT_H

#include <stdbool.h>

#include <yyjson.h>

#include "cluster/merge/merge.h"
#include "core/base/arena.h"
#include "core/base/buf.h"

/* %#v: map[string]interface {}{"a":1}. */
void sl_go_syntax(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v);
/* A number as Go prints it: the shortest digits that give it again; in JSON, or by %v. */
#define SL_GO_REAL 48u
const char *sl_go_real(double v, bool json, char out[SL_GO_REAL]);
/* As Go's encoder writes a text in JSON. Returns the length; writes if there is somewhere to. */
size_t sl_go_string(char *out, const char *s, size_t len);
/* JSON as Go's encoder writes it: keys in order. */
void sl_go_json(struct sl_arena *a, struct sl_buf *out, yyjson_mut_val *v);
/* What Go's decoder calls a value that it cannot take: "array", "number" ... */
const char *sl_go_word(const yyjson_val *v);
/* %T: "map[string]interface {}", "int64" ... */
const char *sl_go_type(yyjson_mut_val *v);

#endif
