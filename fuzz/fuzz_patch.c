/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an object and what somebody does to it: a byte that chooses the kind and the way,
 * then lines of JSON: the object that is there, and the patch, the object to be applied or the new
 * object. Nothing breaks, whatever they say; what comes out can be written, and its managers are
 * read again as they were written.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/merge/merge.h"
#include "cluster/schema/check.h"
#include "cluster/schema/types.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One with all that a custom resource may have. */
static const struct sl_schema text = {.type = SL_T_STRING}, number = {.type = SL_T_INT},
                              any = {.type = SL_T_ANY};
static const char *const keys[] = {"a", "b"};
static const struct sl_schema_field item_fields[] = {{.name = "a", .schema = &text},
                                                     {.name = "b", .schema = &number},
                                                     {.name = "c", .schema = &any}};
static const struct sl_schema item = {.type = SL_T_OBJECT, .fields = item_fields, .n_fields = 3};
static const struct sl_schema keyed = {.type = SL_T_LIST,
                                       .merge = SL_MERGE_KEYED,
                                       .items = &item,
                                       .keys = keys,
                                       .n_keys = 2},
                              set = {.type = SL_T_LIST, .merge = SL_MERGE_SET, .items = &text},
                              list = {.type = SL_T_LIST, .merge = SL_MERGE_ATOMIC, .items = &any},
                              map = {.type = SL_T_MAP, .items = &keyed},
                              whole = {.type = SL_T_MAP, .merge = SL_MERGE_ATOMIC, .items = &text};
static const struct sl_schema_field fields[] = {
    {.name = "keyed", .schema = &keyed, .patch_merge = true, .patch_key = "a"},
    {.name = "list", .schema = &list},
    {.name = "map", .schema = &map},
    {.name = "metadata", .schema = &any},
    {.name = "set", .schema = &set, .patch_merge = true},
    {.name = "whole", .schema = &whole},
};
static const struct sl_schema custom = {
    .type = SL_T_OBJECT, .fields = fields, .n_fields = 6, .keeps_unknown = true};

static const struct sl_schema *schema_of(unsigned kind) {
    static const char *const names[] = {"io.k8s.api.core.v1.Pod", "io.k8s.api.apps.v1.Deployment",
                                        "io.k8s.api.core.v1.ConfigMap"};
    static struct sl_schemas *types;
    struct sl_err err;
    if (!types)
        sl_assert(sl_schemas_builtin(&types, &err) == 0);
    return kind < SL_LEN(names) ? sl_schemas_find(types, names[kind]) : &custom;
}

/* What was made can be written; *ret is read from that. */
static yyjson_doc *written(yyjson_mut_val *v) {
    size_t len;
    char *s = yyjson_mut_val_write(v, 0, &len);
    if (!s)
        return NULL; /* texts that are not UTF-8 came through as they were */
    yyjson_doc *d = yyjson_read(s, len, 0);
    sl_assert(d);
    free(s);
    return d;
}

static yyjson_val *managers(yyjson_doc *d) {
    return yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(d), "metadata"), "managedFields");
}

/* An item of a keyed list without a key of the right type, which the schema refuses before it has a
 * manager, has no name. */
static bool null_key(yyjson_val *of) {
    char *s = yyjson_val_write(of, 0, NULL);
    bool is = s && strstr(s, "null");
    free(s);
    return is;
}

/* An update without changes does not change managers. Of an object with a duplicate key it depends
 * on which one is read. */
static void check_stable(const struct sl_schema *s, const struct sl_manage_id *by, yyjson_doc *d) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *v = yyjson_val_mut_copy(doc, yyjson_doc_get_root(d));
    struct sl_manage_id other = *by;
    other.name = "other";
    other.now += SL_SEC;
    if (managers(d) && !sl_strict_duplicates(NULL, NULL, yyjson_doc_get_root(d))) {
        sl_manage_update(s, &other, doc, yyjson_doc_get_root(d), v);
        yyjson_doc *again = written(v);
        sl_assert(!again || sl_json_equal(managers(d), managers(again), NULL) ||
                  null_key(managers(d)));
        yyjson_doc_free(again);
    }
    yyjson_mut_doc_free(doc);
}

static int change(unsigned way, const struct sl_schema *s, const struct sl_manage_id *by,
                  yyjson_mut_doc *doc, yyjson_val *old, yyjson_val *said, yyjson_mut_val **ret,
                  struct sl_patch_err *err) {
    switch (way) {
    case 0:
        return sl_patch_json(doc, old, said, ret, err);
    case 1:
        return sl_patch_merge(doc, old, said, ret, err);
    case 2:
        return sl_patch_strategic(s, doc, old, said, ret, err);
    case 3:
        return sl_manage_apply(s, by, false, doc, old, said, ret, err);
    case 4:
        return sl_manage_apply(s, by, true, doc, old, said, ret, err);
    default:
        *ret = yyjson_val_mut_copy(doc, said);
        return 0;
    }
}

static void run(unsigned kind, unsigned way, yyjson_val *old, yyjson_val *said) {
    const struct sl_schema *s = schema_of(kind);
    static const char *const nothing[] = {NULL};
    struct sl_manage_id by = {
        .name = "kubectl", .api_version = "v1", .subresource = "", .mask = nothing, .now = SL_SEC};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct sl_patch_err err = {0};
    yyjson_mut_val *v = NULL;

    sl_buf_init(&err.text, (size_t)1 << 20);
    int r = change(way, s, &by, doc, old, said, &v, &err);
    if (r < 0) {
        sl_assert(err.status >= 400 && err.reason);
    } else {
        if (way != 3 && way != 4)
            sl_manage_update(s, &by, doc, old, v);
        yyjson_doc *d = written(v);
        if (d && !sl_json_mut_too_deep(v)) /* else it is refused before it is stored */
            check_stable(s, &by, d);
        yyjson_doc_free(d);
        if (old)
            (void)sl_manage_settle(doc, old, v);
    }
    sl_buf_done(&err.text);
    yyjson_mut_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *at = (const char *)data + 1;
    struct sl_err err;
    yyjson_doc *docs[2] = {NULL, NULL};

    if (size == 0)
        return 0;
    for (size_t i = 0, left = size - 1; i < SL_LEN(docs) && left > 0; i++) {
        const char *end = memchr(at, '\n', left);
        size_t len = end ? (size_t)(end - at) : left;
        if (sl_json_read(at, len, &docs[i], &err) < 0)
            docs[i] = NULL;
        left -= len + (end != NULL);
        at += len + (end != NULL);
    }
    if (docs[1])
        run(data[0] & 3, (data[0] >> 2) % 6, yyjson_doc_get_root(docs[0]),
            yyjson_doc_get_root(docs[1]));
    yyjson_doc_free(docs[0]);
    yyjson_doc_free(docs[1]);
    return 0;
}
