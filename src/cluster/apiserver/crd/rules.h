/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The x-kubernetes-validations of a schema: which rules hold where, and walking an object and its
 * former self along them.
 */
#ifndef SL_CLUSTER_APISERVER_CRD_RULES_H
#define SL_CLUSTER_APISERVER_CRD_RULES_H

#include "kube/types/field.h"

struct api_rules;
struct api_change;

/* From openAPIV3Schema, into the arena; NULL if there are no rules. What cannot be compiled goes to
 * errs. */
const struct api_rules *api_rules_new(yyjson_val *schema, const struct sl_path *at,
                                      struct sl_arena *arena, struct sl_field_errs *errs);
/* old is NULL on creation: then rules that use it are skipped. Of what is as it was, violations are
 * warnings of the change (NULL: there are none), so that the rest can be updated. */
void api_rules_check(const struct api_rules *r, yyjson_val *object, yyjson_val *old,
                     struct api_change *change, struct sl_field_errs *errs);

#endif
