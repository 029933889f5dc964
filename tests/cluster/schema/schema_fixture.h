/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds that are built in, and small helpers for objects. */
#ifndef SL_TESTS_CLUSTER_SCHEMA_SCHEMA_FIXTURE_H
#define SL_TESTS_CLUSTER_SCHEMA_SCHEMA_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/schema/check.h"
#include "cluster/schema/types.h"
#include "lib/json/json.h"

static struct sl_schemas *fx_set;

static inline int fx_setup(void **state) {
    struct sl_err err;

    (void)state;
    if (sl_schemas_builtin(&fx_set, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static inline int fx_teardown(void **state) {
    (void)state;
    sl_schemas_free(fx_set);
    return 0;
}

static inline const struct sl_schema *fx_kind(const char *name) {
    const struct sl_schema *s = sl_schemas_find(fx_set, name);
    if (!s)
        fail_msg("no type %s", name);
    return s;
}

/* JSON with single quotes, for reading's sake. */
static inline yyjson_doc *fx_json(const char *text) {
    char *copy = strdup(text);
    struct sl_err err;
    yyjson_doc *doc = NULL;

    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (sl_json_read(copy, strlen(copy), &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    free(copy);
    return doc;
}

#endif
