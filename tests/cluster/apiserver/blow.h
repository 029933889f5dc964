/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects with one list or map that is very long, made from the schema of their kind: whatever a
 * schema allows to be long is found by walking it, so a new field needs no new test.
 */
#ifndef SL_TESTS_CLUSTER_APISERVER_BLOW_H
#define SL_TESTS_CLUSTER_APISERVER_BLOW_H

#include <yyjson.h>

#include "cluster/schema/schema.h"
#include "core/base/buf.h"

#define BLOW_STEPS 24u

/* One step from an object to the target. */
struct blow_step {
    enum { BLOW_FIELD, BLOW_ITEM, BLOW_ENTRY } kind;
    const char *name;               /* of a field */
    const struct sl_schema *schema; /* where it leads */
};

struct blow_target {
    struct blow_step steps[BLOW_STEPS];
    uint32_t n;
    const struct sl_schema *root;
    const struct sl_schema *owner; /* the innermost type with a name */
    yyjson_val *base;              /* a small object that is valid */
};

struct blow_how {
    size_t bytes;
    int64_t most;     /* items of a list of objects; 0: any number */
    bool reversed;    /* the last item comes first */
    bool nested;      /* each item of the list around the target has a long one */
    bool same;        /* all items are alike, keys too */
    int64_t from;     /* number of the first item */
    const char *head; /* what comes first in the object, with a comma; "" */
    const char *meta; /* what comes first in its metadata, with a comma; "" */
};

typedef void (*blow_fn)(void *ctx, const struct blow_target *t);
/* Every list and every map that an object of this schema may have. */
void blow_each(const struct sl_schema *root, yyjson_val *base, blow_fn fn, void *ctx);
/* "spec.containers[].env" */
const char *blow_name(const struct blow_target *t, struct sl_buf *out);
/* Is there a list or map around the target that may be long, too? */
bool blow_nests(const struct blow_target *t);
/* Does the path begin with this field? */
bool blow_under(const struct blow_target *t, const char *field);
const struct sl_schema *blow_schema(const struct blow_target *t);
/* The object with the target blown up; all: false leaves out what is not on the way (a patch). */
void blow_print(struct sl_buf *out, const struct blow_target *t, const struct blow_how *how,
                bool all);
/* The value of the target alone. */
void blow_value(struct sl_buf *out, const struct blow_target *t, const struct blow_how *how);

#endif
