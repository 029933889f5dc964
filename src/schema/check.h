/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects held against their schema, as the API server does it to everything that comes in: unknown
 * fields go, defaults come, and what is wrong is said in Kubernetes' words. Pure.
 */
#ifndef SL_SCHEMA_CHECK_H
#define SL_SCHEMA_CHECK_H

#include "api/field.h"
#include "schema/ceilings.h"
#include "schema/schema.h"

/* What a client sent, before anything is done to it: fieldValidation. */
#define SL_STRICT_MAX 64u     /* faults that are told */
#define SL_STRICT_LOOKS 1024u /* that are put into words, to see whether they were told before */
struct sl_strict {
    const char *text[SL_STRICT_MAX]; /* 'unknown field "spec.x"', 'duplicate field "spec.y"' */
    uint32_t n, looks;
    struct sl_arena *arena;
};
/* Duplicate keys: whether there are any. 'st' may be NULL. Of kinds of Kubernetes, unknown fields
 * are told together with them, in the order of the text; those of custom resources come by pruning.
 */
bool sl_strict_duplicates(struct sl_strict *st, const struct sl_schema *s, yyjson_val *object);
/* The last of each counts: the others are taken out. (yyjson finds the first.) */
void sl_strict_keep_last(yyjson_mut_val *v);

/*
 * What becomes of an object that is read into the types of its kind and written again. What the
 * schema does not name goes ('st' gets to know it; NULL: nobody asks), and so do nulls where they
 * may not stand and no default takes their place. In the kinds of Kubernetes, and in the metadata
 * of all, so do all nulls and empty values that mean nothing, and times and quantities get their
 * one spelling ("0.5" is "500m"). Values of a wrong type stay.
 */
void sl_schema_prune(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_mut_val *object,
                     struct sl_strict *st);
/* Puts in defaults, outer ones before inner ones, and empty values where Kubernetes always writes
 * them ("status":{}). Doing it again changes nothing. False: there would be too many (defaults of
 * lists in defaults of lists), and some are missing. */
bool sl_schema_default(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_mut_val *object);
/*
 * Types, required fields and rules, as a CRD's schema is enforced. 'old' is what was there (NULL:
 * nothing): what has not changed is not held against the rules again. Words say 'spec.x in body' of
 * what is below 'at'. The kinds of Kubernetes have no such rules: nothing is said of them, nor of
 * metadata.
 */
void sl_schema_check(const struct sl_schema *s, yyjson_val *object, const struct sl_path *at,
                     struct sl_field_errs *errs);
void sl_schema_check_update(const struct sl_schema *s, yyjson_val *object, yyjson_val *old,
                            const struct sl_path *at, struct sl_field_errs *errs);
/*
 * Kinds of Kubernetes: can it be read into their types? The first fault is said as Go does ("json:
 * cannot unmarshal string into Go struct field ..."), which the API server answers with 400. For a
 * custom resource this is asked of its metadata only.
 */
int sl_schema_decodes(const struct sl_schema *s, yyjson_val *object,
                      struct sl_err *err) _must_check_;
/* The same of what came out of a strategic merge patch, which is told in other words. */
int sl_schema_converts(const struct sl_schema *s, yyjson_val *object,
                       struct sl_err *err) _must_check_;

#endif
