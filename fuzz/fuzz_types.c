/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a text in the notation of types. What is taken holds together: names are in order,
 * every field has a schema, and objects can be held against each type.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/check.h"
#include "cluster/schema/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char meta[] = "package meta/v1 m\ntype ObjectMeta:\n  name: string\n";

/* Something of everything. */
static const char object[] = "{\"a\":{\"a\":[{\"a\":null,\"x\":1},[],\"2\"],\"b\":{}},\"b\":[null,"
                             "0,\"\",false],\"c\":\"1.5Gi\","
                             "\"d\":\"2024-01-01T00:00:00Z\",\"e\":1e30,\"metadata\":{\"name\":"
                             "\"\"},\"z\":{\"a\":1,\"a\":2}}";

static void hold(const struct sl_schema *s) {
    yyjson_doc *doc = yyjson_read(object, strlen(object), 0);
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *v = yyjson_val_mut_copy(m, yyjson_doc_get_root(doc));
    struct sl_arena arena;
    struct sl_strict st = {.arena = &arena};

    sl_arena_init(&arena, 1 << 20);
    (void)!sl_schema_decodes(s, yyjson_doc_get_root(doc), NULL);
    if (sl_strict_duplicates(&st, s, yyjson_doc_get_root(doc)))
        sl_strict_keep_last(v);
    sl_schema_prune(s, m, v, &st);
    (void)sl_schema_default(s, m, v);
    sl_arena_done(&arena);
    yyjson_mut_doc_free(m);
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_schemas *set = sl_schemas_new();
    const struct sl_schema *s, *last = NULL;
    struct sl_err err = {0};

    int r = sl_schemas_read(set, (const char *)data, size, "fuzz", &err);
    if (r >= 0)
        r = sl_schemas_read(set, meta, strlen(meta), "meta", &err);
    if (r >= 0)
        r = sl_schemas_close(set, &err);
    sl_assert(r >= 0 || *err.text);
    for (uint32_t i = 0; r >= 0 && (s = sl_schemas_each(set, &i)); last = s) {
        sl_assert(!last || strcmp(last->name, s->name) <= 0);
        for (uint32_t f = 0; f < s->n_fields; f++) {
            sl_assert(s->fields[f].schema);
            sl_assert(f == 0 || strcmp(s->fields[f - 1].name, s->fields[f].name) < 0);
        }
        if (i <= 16)
            hold(s);
    }
    sl_schemas_free(set);
    return 0;
}
