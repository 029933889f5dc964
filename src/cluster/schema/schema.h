/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas of objects. One model for the kinds of Kubernetes (api/kubernetes, a short notation, see
 * types.h), for our own kinds and for those of users (OpenAPI v3 of a CRD, see crd/crd.h). It has
 * all that pruning, defaulting, validation, patches, field management, discovery and `kubectl
 * explain` need.
 *
 * A schema is immutable, and valid as long as the set it was made in. Types may refer to each other
 * in cycles.
 */
#ifndef SL_CLUSTER_SCHEMA_SCHEMA_H
#define SL_CLUSTER_SCHEMA_SCHEMA_H

#include <yyjson.h>

#include "core/base/arena.h"
#include "core/base/err.h"

enum sl_schema_type {
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

/* How a list, map or object is merged by server-side apply, and the granularity of its
 * ownership. */
enum sl_schema_merge {
    SL_MERGE_DEEP,   /* maps and objects by default: field by field */
    SL_MERGE_ATOMIC, /* lists by default: as one value */
    SL_MERGE_SET,    /* a list: each value once */
    SL_MERGE_KEYED,  /* a list: each item by its keys */
};

/* Descriptions of the fields that all objects of the API have. */
#define SL_DOC_API_VERSION "API group and version of the object."
#define SL_DOC_KIND "Kind of the object. Immutable."
#define SL_DOC_METADATA "Object metadata, such as name, labels and annotations."

/* Of a list whose items have names. The cost of comparing items is quadratic. */
#define SL_SCHEMA_KEYS_MAX 16u

struct sl_schema;

struct sl_schema_field {
    const char *name;
    const struct sl_schema *schema;
    const char *doc; /* one or two sentences, 'doc_len' bytes; what follows them may be anything */
    yyjson_val *deflt; /* put in where the field is absent; NULL: nothing is */
    bool required;
    /*
     * Of types that are read into structs and written from them (sl_schema.go): an empty value ("",
     * 0, false, [], {}) means the same as none, unless 'pointer'; and none is written as an empty
     * value if 'always'. Fields of CRDs are pointers.
     */
    bool pointer, always;
    uint32_t doc_len;
    const char *part; /* the embedded struct that contains it; NULL: none */
    /* Of strategic merge patches: lists are replaced unless 'patch_merge'; patch_key NULL: by
     * value. 'retain_keys': what the patch does not name of $retainKeys is dropped. */
    bool patch_merge, retain_keys;
    const char *patch_key;
};

struct sl_schema {
    enum sl_schema_type type;
    enum sl_schema_merge merge;
    const char *name; /* of a type with a name: "io.k8s.api.core.v1.PodSpec"; NULL: it has none */
    /* Of a kind of Kubernetes: where it is served ("" for core, "v1"). NULL: it is none. */
    const char *group, *version;
    /* What the API server calls the type when it cannot read it: "v1.PodSpec". NULL: it comes from
     * a CRD, or is a list or map without a name. */
    const char *go;
    const char *doc;                      /* 'doc_len' bytes */
    const char *format;                   /* "int32", "date-time", "byte" ...; NULL */
    const struct sl_schema_field *fields; /* by name, in strcmp's order */
    uint32_t n_fields, doc_len;
    /* Which of the fields have a default or are always written, and how many are required. An
     * object may have few fields where its type has thousands: it must not be held against each. */
    const uint32_t *filled;
    uint32_t n_filled, n_required;
    const struct sl_schema *items;
    const char *const *keys; /* SL_MERGE_KEYED; at least one */
    uint32_t n_keys;
    bool nullable;
    bool keeps_unknown; /* an object that keeps what no field names */
    bool embedded;      /* an object of the API, with fields apiVersion, kind and metadata */
    /* Rules on values; 'rules' is NULL where there are none. */
    const struct sl_schema_rules *rules;
};

struct sl_pattern;

/* How many letters, items or fields; -1: any number. */
struct sl_schema_bounds {
    int64_t min, max;
};

/* Each holds only for values of the type that it is about. */
struct sl_schema_rules {
    yyjson_val *words; /* enum: an array; NULL: any */
    bool has_min, has_max, exclusive_min, exclusive_max;
    double min, max, multiple_of; /* multiple_of 0: none */
    struct sl_schema_bounds letters, items, fields;
    const char *pattern; /* a regular expression; NULL */
    const struct sl_pattern *compiled;
    /* Of a CRD: schemas of type SL_T_ANY that only have rules, fields and items. */
    const struct sl_schema *const *all_of, *const *any_of, *const *one_of;
    uint32_t n_all_of, n_any_of, n_one_of;
    const struct sl_schema *none_of; /* not */
};

/* Sets 'filled' and 'n_required' from the fields, which are complete. */
void sl_schema_finish(struct sl_schema *s, struct sl_arena *a);
/* The field of this name, NULL if there is none. */
const struct sl_schema_field *sl_schema_field(const struct sl_schema *s, const char *name,
                                              size_t len);
/* The schema of the value of this key of an object or map; NULL: unknown. What is preserved without
 * a schema is SL_T_ANY, and so is all below it. */
const struct sl_schema *sl_schema_at(const struct sl_schema *s, const char *name, size_t len);

#endif
