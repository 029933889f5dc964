/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes' syntax of names, labels and selectors, with its error messages. Functions that check
 * one string take its length, since a JSON string may have a NUL inside; the messages they return
 * are constants.
 */
#ifndef SL_KUBE_TYPES_SYNTAX_H
#define SL_KUBE_TYPES_SYNTAX_H

#include "kube/types/field.h"

/* Errors of one string; n is 0 if it is valid. */
struct sl_syntax_errors {
    const char *v[4];
    uint32_t n;
};

/* "a-b.c", at most 253 bytes. */
struct sl_syntax_errors sl_syntax_subdomain(const char *s, size_t len);
/* "a-b", at most 63 bytes. */
struct sl_syntax_errors sl_syntax_dns_label(const char *s, size_t len);
/* "name" or "example.com/name". */
struct sl_syntax_errors sl_syntax_label_key(const char *s, size_t len);
struct sl_syntax_errors sl_syntax_label_value(const char *s, size_t len);

/* Kubernetes' own rules on values. A value that is NULL is absent, and what may be absent is right.
 */
void sl_syntax_check_label_key(struct sl_field_errs *e, const struct sl_path *at, const char *s,
                               size_t len);
void sl_syntax_check_key_of(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *word);
void sl_syntax_check_labels(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *labels);
void sl_syntax_check_annotations(struct sl_field_errs *e, const struct sl_path *at,
                                 yyjson_val *annotations);
/* One of matchExpressions; those of nodes have more operators, and values that are not checked. */
void sl_syntax_check_requirement(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *r,
                                 bool of_nodes);
void sl_syntax_check_selector(struct sl_field_errs *e, const struct sl_path *at,
                              yyjson_val *selector);
void sl_syntax_check_conditions(struct sl_field_errs *e, const struct sl_path *at,
                                yyjson_val *conditions);
/* "example.com/some/path", as of a Job's spec.managedBy. */
void sl_syntax_check_domain_path(struct sl_field_errs *e, const struct sl_path *at, const char *s,
                                 size_t len);
/* Each message is an error, or all are one if there is something to join them by. */
void sl_syntax_check_subdomain(struct sl_field_errs *e, const struct sl_path *at, const char *s,
                               const char *join);
/* No more items than the schema allows? The schema was validated before, but rules that compare
 * each item with each other must not depend on the sender of the review. */
bool sl_syntax_check_size(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *list,
                          size_t max);

#endif
