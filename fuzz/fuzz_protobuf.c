/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body in Kubernetes' protobuf form. It is refused with words, or is an object; what is read into
 * the types of its kind can be written and read again.
 */
#include "cluster/schema/check.h"
#include "cluster/schema/protobuf/protobuf.h"
#include "lib/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sl_schemas *set;
static struct sl_protobuf *wire;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_err err = {0};
    struct sl_protobuf_body body;
    yyjson_doc *doc = NULL;

    if (!wire)
        sl_assert(sl_schemas_builtin(&set, &err) == 0 && sl_protobuf_new(&wire, &err) == 0);
    err.text[0] = '\0';
    if (sl_protobuf_open((const char *)data, size, &body, &err) < 0 ||
        sl_protobuf_read(wire, set, &body, &doc, &err) < 0) {
        sl_assert(!doc && err.text[0]);
        return 0;
    }
    sl_assert(yyjson_is_obj(yyjson_doc_get_root(doc)));
    sl_assert(!sl_strict_duplicates(NULL, NULL, yyjson_doc_get_root(doc)));
    yyjson_doc_free(doc);
    return 0;
}
