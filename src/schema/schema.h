/*
 * What objects look like. One model for the kinds of Kubernetes (api/kubernetes, a short notation, see
 * types.h), for our own kinds and for those that users bring (OpenAPI v3 of a CRD, see crd.h). It
 * says all that pruning, defaulting, validation, patches, field management, discovery and
 * `kubectl explain` need to know.
 *
 * A schema never changes once it is made, and lives as long as the set it was made in. Types may
 * refer to each other in circles.
 */
#ifndef SL_SCHEMA_SCHEMA_H
#define SL_SCHEMA_SCHEMA_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/err.h"

enum sl_type {
    SL_T_ANY,    /* x-kubernetes-preserve-unknown-fields without more: whatever it is, it stays */
    SL_T_OBJECT, /* fields */
    SL_T_MAP,    /* items: of the values */
    SL_T_LIST,   /* items */
    SL_T_STRING,
    SL_T_INT,
    SL_T_NUMBER,
    SL_T_BOOL,
    SL_T_INT_OR_STRING,
    SL_T_QUANTITY, /* text or number */
};

/* How a list, map or object is merged by server-side apply, and who owns its parts. */
enum sl_merge_kind {
    SL_MERGE_DEEP, /* maps and objects unless said otherwise: field by field */
    SL_MERGE_ATOMIC, /* lists unless said otherwise: as one value */
    SL_MERGE_SET,    /* a list: each value once */
    SL_MERGE_KEYED,  /* a list: each item by its keys */
};

struct sl_schema;

struct sl_schema_field {
    const char *name;
    const struct sl_schema *schema;
    const char *doc;     /* one or two sentences; "" if there are none */
    yyjson_val *deflt;   /* put in where the field is absent; NULL: nothing is */
    bool required;
    /* Of strategic merge patches: lists are replaced unless 'patch_merge'; patch_key NULL: by value.
     * 'retain_keys': what the patch does not name of $retainKeys is dropped. */
    bool patch_merge, retain_keys;
    const char *patch_key;
};

struct sl_schema {
    enum sl_type type;
    enum sl_merge_kind merge;
    const char *name; /* of a type with a name: "io.k8s.api.core.v1.PodSpec"; NULL: it has none */
    const char *doc;
    const char *format; /* "int32", "date-time", "byte" ...; NULL */
    const struct sl_schema_field *fields; /* by name, in strcmp's order */
    uint32_t n_fields;
    const struct sl_schema *items;
    const char *const *keys; /* SL_MERGE_KEYED; at least one */
    uint32_t n_keys;
    bool nullable;
    bool keeps_unknown; /* an object that keeps what no field names */
    bool embedded;      /* an object of the API: apiVersion, kind and metadata are known in it */
    /* Rules on values; 'rules' is NULL where there are none. */
    const struct sl_schema_rules *rules;
};

struct sl_schema_rules {
    yyjson_val *words; /* enum: an array; NULL: any */
    bool has_min, has_max, exclusive_min, exclusive_max;
    double min, max, multiple_of; /* multiple_of 0: none */
    int64_t min_len, max_len;     /* of texts (characters), lists and maps; -1: none */
    const char *pattern;          /* a regular expression; NULL */
    bool unique;                  /* uniqueItems */
    /* allOf, anyOf, oneOf, not of a CRD, as they stand there; NULL: none. */
    yyjson_val *logic;
};

/* The field of this name, NULL if there is none. */
const struct sl_schema_field *sl_schema_field(const struct sl_schema *s, const char *name, size_t len);
/* The schema of what stands under this key of an object or map; NULL: it is not known there. */
const struct sl_schema *sl_schema_at(const struct sl_schema *s, const char *name, size_t len);

#endif
