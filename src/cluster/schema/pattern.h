/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions with the semantics of Go, near enough: those of CRDs and of their rules
 * (src/cluster/apiserver/cel/cel.c). Go's matching takes linear time; so does this one, for
 * patterns and strings that do not cause backtracking. Backtracking is charged to a budget, and
 * when that is spent nothing matches.
 */
#ifndef SL_CLUSTER_SCHEMA_PATTERN_H
#define SL_CLUSTER_SCHEMA_PATTERN_H

#include "core/base/arena.h"
#include "core/base/err.h"

#define SL_PATTERN_MAX_BYTES 65536u

struct sl_pattern;

/* Steps of matching, some nanoseconds each, that all patterns of one request may take beyond what
 * the length of their texts allows. */
#define SL_PATTERN_BUDGET 1000000u

int sl_pattern_new(const char *text, struct sl_pattern **ret, struct sl_err *err) _must_check_;
void sl_pattern_free(struct sl_pattern *p);
/* The same in an arena, with which it goes. */
int sl_pattern_new_in(struct sl_arena *a, const char *text, const struct sl_pattern **ret,
                      struct sl_err *err) _must_check_;
/* Anywhere in the string, unless the pattern is anchored. *budget: the remaining one, 0 if it was
 * exhausted: then the result is unknown. */
bool sl_pattern_matches(const struct sl_pattern *p, const char *s, size_t len, uint64_t *budget);

#endif
