/* SPDX-License-Identifier: Apache-2.0 */
/* Between sets of types and the reader of their notation. Private to src/cluster/schema. */
#ifndef SL_CLUSTER_SCHEMA_TYPES_INT_H
#define SL_CLUSTER_SCHEMA_TYPES_INT_H

#include "cluster/schema/types.h"
#include "core/base/collection/map.h"
#include "core/base/collection/vec.h"

/* A type that is defined, or so far only referred to. */
struct schema_types_entry {
    const char *key; /* "core/v1.PodSpec" */
    struct sl_schema *schema;
    const char *from; /* the first reference to it */
    uint32_t line;
    bool defined;
};

struct sl_schemas {
    struct sl_arena arena;
    SL_VEC(struct schema_types_entry) entries;
    struct sl_map by_key;
    SL_VEC(yyjson_doc *) values;              /* of defaults and enums */
    SL_VEC(const struct sl_schema *) by_name; /* once closed: those with a name, in order */
};

/* "FROM:LINE: ..." */
int schema_types_error(struct sl_err *err, int code, const char *from, uint32_t line,
                       const char *fmt, ...) _printf_(5, 6);

#endif
