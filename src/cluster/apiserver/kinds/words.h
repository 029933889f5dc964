/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String formats that only the API server validates, with Kubernetes' error messages; the others
 * are in kube/types/syntax.h.
 */
#ifndef SL_CLUSTER_APISERVER_KINDS_WORDS_H
#define SL_CLUSTER_APISERVER_KINDS_WORDS_H

#include "kube/types/syntax.h"

struct sl_syntax_errors api_word_label_1035(const char *s,
                                            size_t len); /* begins with a letter: services */
struct sl_syntax_errors api_word_segment(const char *s, size_t len); /* of a path: rbac */
struct sl_syntax_errors api_word_port(const char *s, size_t len);    /* "http" */
struct sl_syntax_errors api_word_env(const char *s, size_t len);    /* of an environment variable */
struct sl_syntax_errors api_word_header(const char *s, size_t len); /* of HTTP */
struct sl_syntax_errors api_word_data_key(const char *s,
                                          size_t len); /* of ConfigMap and Secret: "a.b_c" */

/* All validation errors of a string, at the path. */
void api_word_check(struct sl_field_errs *e, const struct sl_path *at, const char *s, size_t len,
                    struct sl_syntax_errors (*rule)(const char *s, size_t len));
void api_word_check_of(struct sl_field_errs *e, const struct sl_path *at, yyjson_val *word,
                       struct sl_syntax_errors (*rule)(const char *s, size_t len));
/* The same for a field that may be absent or empty; 'required': then that is an error. */
void api_word_check_at(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                       const char *field,
                       struct sl_syntax_errors (*rule)(const char *s, size_t len), bool required);

/* "must be greater than or equal to 0", of a field that may be absent. */
void api_check_not_negative(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                            const char *field);
/* One of the values, NULL-terminated; absent is valid unless it is required. */
void api_check_one_of(struct sl_field_errs *e, const struct sl_path *up, yyjson_val *object,
                      const char *field, const char *const *words, bool required);
#define SL_NOT_NEGATIVE "must be greater than or equal to 0"
#define SL_PORT_RANGE "must be between 1 and 65535, inclusive"

/* Whether its lists, and maps of quantities, are small enough for the rules. Else the first that is
 * not is reported. */
bool api_sizes_check(struct sl_field_errs *e, yyjson_val *object);

#endif
