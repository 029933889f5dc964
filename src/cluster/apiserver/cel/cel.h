/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x-kubernetes-validations: the part of the Common Expression Language that rules on objects are
 * written in.
 *
 *     has(self.a) || self.b.all(x, x.name != '' && size(x.items) <= 3)
 *
 * Literals, lists, fields, indices, arithmetic, comparison, in, logic, ?:, the macros has, all,
 * exists, exists_one, map and filter, and size, contains, startsWith, endsWith, matches, string,
 * int. What goes beyond is refused when it is compiled. Pure; what an expression may cost is
 * bounded.
 */
#ifndef SL_CLUSTER_APISERVER_CEL_CEL_H
#define SL_CLUSTER_APISERVER_CEL_CEL_H

#include <yyjson.h>

#include "core/base/arena.h"
#include "core/base/err.h"

#define SL_CEL_MAX_BYTES 8192u /* of a rule */
#define SL_CEL_MAX_DEPTH 64u   /* of parentheses and calls */
/* Cost limits of rules: a step is an operation, or a part of a value that is read: 16 bytes of a
 * string, a field that is passed while another is searched. Some ten nanoseconds each. */
#define SL_CEL_MAX_STEPS 2000000u /* of one evaluation */
#define SL_CEL_ALL_STEPS 4000000u /* of all rules of an object */

struct api_cel;

/* In the arena, with all its texts. */
int api_cel_compile(const char *text, struct sl_arena *arena, struct api_cel **ret,
                    struct sl_err *err) _must_check_;
/* Does it use oldSelf? Then it is not evaluated on creation. */
bool api_cel_uses_old(const struct api_cel *c);
/* *ret: the result. Negative with a message if it cannot be evaluated (a field that does not exist
 * ...). *budget: remaining cost of all evaluations; 0 after one that was too costly. */
int api_cel_holds(const struct api_cel *c, yyjson_val *self, yyjson_val *old, uint64_t *budget,
                  bool *ret, struct sl_err *err) _must_check_;

#endif
