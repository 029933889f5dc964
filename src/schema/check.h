/*
 * Objects held against their schema, as the API server does it to everything that comes in: unknown
 * fields go, defaults come, and what is wrong is said in Kubernetes' words. Pure.
 */
#ifndef SL_SCHEMA_CHECK_H
#define SL_SCHEMA_CHECK_H

#include "api/field.h"
#include "schema/schema.h"

/* What a client sent, before anything is done to it: fieldValidation. */
#define SL_STRICT_MAX 64u /* faults that are told */
struct sl_strict {
    const char *text[SL_STRICT_MAX]; /* 'unknown field "spec.x"', 'duplicate field "spec.y"' */
    uint32_t n;
    struct sl_arena *arena;
};
/* Duplicate keys can only be seen in the text: yyjson keeps the last. Looked for in one pass. */
void sl_strict_duplicates(struct sl_strict *st, yyjson_val *object);

/*
 * Takes away what the schema does not know ('st' gets to know what; NULL: nobody asks), and nulls
 * where they mean absence. Values of a wrong type stay, for sl_schema_check to say so. The metadata
 * of objects is that of ObjectMeta, whatever a CRD says.
 */
void sl_schema_prune(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_mut_val *object,
                     struct sl_strict *st);
/* Puts in defaults, outer ones before inner ones. */
void sl_schema_default(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_mut_val *object);
/*
 * Types, required fields and rules. Decoding errors of built-in kinds are told otherwise by the API
 * server (400, "json: cannot unmarshal string into Go struct field ..."): sl_schema_decodes says the first of those.
 */
void sl_schema_check(const struct sl_schema *s, yyjson_val *object, const struct sl_path *at,
                     struct sl_field_errs *errs);
int sl_schema_decodes(const struct sl_schema *s, yyjson_val *object, struct sl_err *err) _must_check_;

#endif
