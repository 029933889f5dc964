/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of expressions: those of the language, and those that the schema of a definition gives to
 * the parts of an object.
 */
#ifndef SL_CLUSTER_APISERVER_CEL_TYPE_H
#define SL_CLUSTER_APISERVER_CEL_TYPE_H

#include <yyjson.h>

#include "core/base/arena.h"

enum api_cel_kind {
    T_NONE, /* of a part without a type: expressions cannot read it */
    T_DYN,
    T_NULL,
    T_BOOL,
    T_INT,
    T_UINT,
    T_REAL,
    T_STR,
    T_BYTES,
    T_DURATION,
    T_TIME,
    T_LIST,
    T_MAP,
    T_OBJECT, /* with fields of its own */
    T_TYPE,
    T_OPTIONAL,
    T_URL,
    T_IP,
    T_CIDR,
    T_QUANTITY,
    T_FORMAT,
    T_SEMVER,
    T_KINDS
};

enum api_cel_list { LIST_ATOMIC, LIST_SET, LIST_MAP };

struct api_cel_type {
    enum api_cel_kind kind;
    const struct api_cel_type *elem; /* of a list, the values of a map, an optional */
    const struct api_cel_type *key;  /* of a map; NULL: texts */
    bool nullable, number_or_text;   /* the latter: x-kubernetes-int-or-string */
    bool date;                       /* a point in time without a clock */
    enum api_cel_list list;
    const char *const *keys; /* of the items of LIST_MAP */
    uint32_t n_keys;
    /* Fields: as objects have them, and as expressions do; NULL in the latter: not at all. */
    const char *const *names, *const *shown;
    const struct api_cel_type *const *fields;
    uint32_t n_fields;
};

extern const struct api_cel_type api_cel_types[T_KINDS]; /* the plain ones, by kind */

/* Of a schema, in the arena; root: it is one of a whole resource. Never NULL. */
const struct api_cel_type *api_cel_type_of(yyjson_val *schema, bool root, struct sl_arena *arena);
/* Of a field, as objects name it; T_NONE if there is none. */
const struct api_cel_type *api_cel_type_field(const struct api_cel_type *t, const char *name);
/* The index of a field as expressions name it; -1. */
int32_t api_cel_type_shown(const struct api_cel_type *t, const char *name, size_t len);
/* "list(string)", as messages have it. */
const char *api_cel_type_name(const struct api_cel_type *t, struct sl_arena *arena);
/* "a-b" as "a__dash__b"; NULL if that cannot be. */
const char *api_cel_escape(const char *name, struct sl_arena *arena);

#endif
