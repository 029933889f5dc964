/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The openAPIV3Schema of a CRD and an object, with a zero byte between them. A schema is taken or
 * refused with words; with one that is taken, objects are pruned, filled and checked, what was made
 * once stays as it is, and documents can be made of it.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/schema/check.h"
#include "cluster/schema/crd/crd.h"
#include "cluster/schema/openapi/openapi.h"
#include "cluster/schema/types.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sl_schema *meta(const char *of) {
    static struct sl_schemas *set;
    struct sl_err err;

    if (!set)
        sl_assert(sl_schemas_builtin(&set, &err) == 0);
    return sl_schemas_find(set, of);
}

static void hold(const struct sl_schema *s, yyjson_val *object, struct sl_arena *arena) {
    struct sl_field_errs errs = {.arena = arena};
    struct sl_strict st = {.arena = arena};
    yyjson_mut_doc *m = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *v = yyjson_val_mut_copy(m, object);

    yyjson_mut_doc_set_root(m, v);
    if (sl_strict_duplicates(&st, s, object))
        sl_strict_keep_last(v);
    if (sl_schema_decodes(s, object, NULL) == 0) {
        sl_schema_prune(s, m, v, &st);
        if (sl_schema_default(s, m, v)) {
            yyjson_mut_val *once = yyjson_mut_val_mut_copy(m, v);
            sl_schema_prune(s, m, v, NULL);
            (void)sl_schema_default(s, m, v);
            sl_assert(sl_json_mut_equal(once, v));
        }
    }
    yyjson_doc *now = yyjson_mut_doc_imut_copy(m, NULL);
    sl_schema_check_update(s, yyjson_doc_get_root(now), object, NULL, &errs);
    yyjson_doc_free(now);
    yyjson_mut_doc_free(m);
}

static void document(const struct sl_schema *s) {
    const struct sl_openapi_kind k = {.group = "example.org",
                                      .version = "v1",
                                      .kind = "Toy",
                                      .plural = "toys",
                                      .verbs = 255,
                                      .schema = s};
    const struct sl_openapi_api api = {
        .kinds = &k, .n = 1, .release = "v1", .list_meta = meta(META "ListMeta")};
    struct sl_buf json, out;

    sl_buf_init(&json, SL_OPENAPI_MAX_BYTES);
    sl_buf_init(&out, SL_OPENAPI_MAX_BYTES);
    sl_openapi_v2(&api, &json);
    sl_assert(sl_openapi_v2_protobuf(json.s, json.len, &out, NULL) == 0);
    sl_buf_clear(&json);
    sl_assert(sl_openapi_v3(&api, "example.org", "v1", &json));
    yyjson_doc *doc = yyjson_read(json.s, json.len, 0);
    sl_assert(doc);
    yyjson_doc_free(doc);
    sl_buf_done(&json);
    sl_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *zero = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t len = zero ? (size_t)(zero - data) : size;
    yyjson_doc *schema = NULL, *object = NULL;
    struct sl_crd_schema *c = NULL;
    struct sl_arena arena;

    sl_arena_init(&arena, (size_t)256 << 20);
    if (size > 65536 || sl_json_read((const char *)data, len, &schema, NULL) < 0)
        goto end;
    if (!zero || sl_json_read((const char *)zero + 1, size - len - 1, &object, NULL) < 0)
        object = NULL;
    struct sl_field_errs errs = {.arena = &arena};
    sl_crd_schema_new(yyjson_doc_get_root(schema), SL_PATH(NULL, "s"), meta(META "ObjectMeta"),
                      &errs, &c);
    sl_assert((c == NULL) == (errs.n > 0));
    if (c && object)
        hold(sl_crd_schema_root(c), yyjson_doc_get_root(object), &arena);
    if (c)
        document(sl_crd_schema_root(c));
end:
    sl_crd_schema_free(c);
    yyjson_doc_free(schema);
    yyjson_doc_free(object);
    sl_arena_done(&arena);
    return 0;
}
