/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processing of objects by their schema, as the API server does with all input: unknown fields are
 * pruned, defaults are set, and validation errors are reported with Kubernetes' messages. Pure.
 */
#ifndef SL_CLUSTER_SCHEMA_CHECK_H
#define SL_CLUSTER_SCHEMA_CHECK_H

#include "cluster/schema/ceilings.h"
#include "cluster/schema/schema.h"
#include "kube/types/field.h"

/* What a client sent, before anything is done to it: fieldValidation. */
#define SL_STRICT_MAX 64u     /* errors that are reported */
#define SL_STRICT_LOOKS 1024u /* that are formatted, to detect repetitions */
struct sl_strict {
    const char *text[SL_STRICT_MAX]; /* 'unknown field "spec.x"', 'duplicate field "spec.y"' */
    uint32_t n, comparisons;
    struct sl_arena *arena;
};
/* Whether there are duplicate keys. 'st' may be NULL. For kinds of Kubernetes, unknown fields are
 * reported together with them, in the order of the text; those of custom resources by pruning. */
bool sl_strict_duplicates(struct sl_strict *st, const struct sl_schema *s, yyjson_val *object);
/* The last of each counts: the others are taken out. (yyjson finds the first.) */
void sl_strict_keep_last(yyjson_mut_val *v);

/*
 * The result of decoding an object into the types of its kind and encoding it again. Fields that
 * are not in the schema are dropped (reported to 'st'; may be NULL), and so are nulls where they
 * are not allowed and there is no default. In the kinds of Kubernetes, and in the metadata of all,
 * so are all nulls and insignificant empty values, and times and quantities get their canonical
 * form ("0.5" is "500m"). Values of a wrong type stay.
 */
void sl_schema_prune(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_mut_val *object,
                     struct sl_strict *st);
/* Puts in defaults, outer ones before inner ones, and empty values where Kubernetes always writes
 * them ("status":{}). Doing it again changes nothing. False: there would be too many (defaults of
 * lists in defaults of lists), and some are missing. */
bool sl_schema_default(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_mut_val *object);
/*
 * Types, required fields and rules, as a CRD's schema is enforced. 'old' is the present object
 * (NULL: none): unchanged values are not validated again. Messages have 'spec.x in body' for what
 * is below 'at'. The kinds of Kubernetes have no such rules: they are not validated here, nor is
 * metadata.
 */
void sl_schema_check(const struct sl_schema *s, yyjson_val *object, const struct sl_path *at,
                     struct sl_field_errs *errs);
void sl_schema_check_update(const struct sl_schema *s, yyjson_val *object, yyjson_val *old,
                            const struct sl_path *at, struct sl_field_errs *errs);
/*
 * Kinds of Kubernetes: whether it can be decoded into their types. The first error is reported as
 * by Go ("json: cannot unmarshal string into Go struct field ..."), which the API server answers
 * with 400. For a custom resource only its metadata is decoded.
 */
int sl_schema_decodes(const struct sl_schema *s, yyjson_val *object,
                      struct sl_err *err) _must_check_;
/* The same for the result of a strategic merge patch, which has other messages. */
int sl_schema_converts(const struct sl_schema *s, yyjson_val *object,
                       struct sl_err *err) _must_check_;

#endif
