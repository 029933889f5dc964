/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Common Expression Language, as kube-apiserver has it: rules of definitions
 * (x-kubernetes-validations) with their messages, matchConditions of webhooks.
 *
 *     has(self.a) || self.b.all(x, x.name != '' && size(x.items) <= 3)
 *
 * Expressions are read, their types are checked where the schema gives some, and evaluated. The
 * functions are those of the tables in functions.c: the language's own, its extensions for texts,
 * lists, sets and comprehensions with two variables, and Kubernetes' libraries. Pure; what an
 * expression may cost is bounded when it runs.
 */
#ifndef SL_CLUSTER_APISERVER_CEL_CEL_H
#define SL_CLUSTER_APISERVER_CEL_CEL_H

#include <yyjson.h>

#include "cluster/apiserver/cel/type.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/text.h"

#define SL_CEL_MAX_BYTES 32768u /* of an expression */
#define SL_CEL_MAX_DEPTH 64u    /* of parentheses and calls */
/* Cost limits of rules: a step is an operation, or a part of a value that is read: 16 bytes of a
 * string, a field that is passed while another is searched. Some ten nanoseconds each. */
#define SL_CEL_MAX_STEPS 2000000u /* of one evaluation */
#define SL_CEL_ALL_STEPS 4000000u /* of all rules of an object */

#define SL_CEL_INPUTS 4u
/* What an expression is about: variables, with their types; NULL: not known. */
struct api_cel_env {
    const char *names[SL_CEL_INPUTS]; /* ended by NULL, if there are fewer */
    const struct api_cel_type *types[SL_CEL_INPUTS];
};
/* Their values: JSON, or an optional one that may be absent. */
struct api_cel_input {
    yyjson_val *v[SL_CEL_INPUTS];
    bool optional[SL_CEL_INPUTS];
};

struct api_cel;

/* In the arena, with all its texts. *ret_why: what is wrong, in the arena too. */
int api_cel_compile(const char *text, const struct api_cel_env *env, struct sl_arena *arena,
                    struct api_cel **ret, const char **ret_why) _must_check_;
/* Does it use the variable with this index? */
bool api_cel_uses(const struct api_cel *c, uint32_t input);
/* What it results in; T_DYN if that is not known before. */
const struct api_cel_type *api_cel_result(const struct api_cel *c);
/* *ret: the result. Negative with a message if it cannot be evaluated (a field that does not exist
 * ...). *budget: remaining cost of all evaluations; 0 after one that was too costly. */
int api_cel_holds(const struct api_cel *c, const struct api_cel_input *in, uint64_t *budget,
                  bool *ret, struct sl_err *err) _must_check_;
/* The same of an expression that makes a text, which is in the arena then. */
int api_cel_message(const struct api_cel *c, const struct api_cel_input *in, uint64_t *budget,
                    struct sl_arena *arena, struct sl_text *ret, struct sl_err *err) _must_check_;

#endif
