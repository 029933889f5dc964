/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metav1.LabelSelector, as the API has it: read into the rules of core/model/labels.h, and asked
 * about the labels of an object.
 */
#ifndef SL_KUBE_TYPES_SELECTOR_H
#define SL_KUBE_TYPES_SELECTOR_H

#include <yyjson.h>

#include "core/model/labels.h"

/* matchLabels and matchExpressions; either may be NULL. Texts are copied into the arena, whose
 * ceiling bounds them. False: an operator is none. */
bool sl_label_selector_read_rules(struct sl_arena *a, yyjson_val *labels, yyjson_val *expressions,
                                  struct sl_selector *ret) _must_check_;
/* The same of a LabelSelector. */
bool sl_label_selector_read(struct sl_arena *a, yyjson_val *selector,
                            struct sl_selector *ret) _must_check_;
/* Does it select an object with these labels? Values that are not strings are ignored. */
bool sl_label_selector_matches(const struct sl_selector *s, yyjson_val *labels);

#endif
