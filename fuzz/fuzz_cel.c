/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a rule, a line, and what follows it as the object that it is asked of: compiled or
 * refused with words, and evaluated or ended with words. The first line is also tried as a
 * JSONPath.
 */
#include <string.h>

#include "cluster/apiserver/cel/cel.h"
#include "cluster/apiserver/table/jsonpath.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *newline = memchr(data, '\n', size);
    size_t len = newline ? (size_t)(newline - data) : size;
    struct sl_err err = {0};
    struct sl_arena arena;
    struct api_cel *c = NULL;
    yyjson_doc *doc;
    char *text;
    bool holds = false;

    if (size > 65536)
        return 0;
    sl_arena_init(&arena, (size_t)64 << 20);
    text = sl_arena_strndup(&arena, (const char *)data, len);
    doc = newline ? yyjson_read((const char *)newline + 1, size - len - 1, 0) : NULL;
    static const struct api_cel_env env = {.names = {"self", "oldSelf"}};
    const struct api_cel_input in = {.v = {yyjson_doc_get_root(doc), yyjson_doc_get_root(doc)}};
    const char *why = NULL;
    struct sl_text made;
    if (api_cel_compile(text, &env, &arena, &c, &why) < 0) {
        sl_assert(why && *why);
    } else {
        if (api_cel_holds(c, &in, &(uint64_t){SL_CEL_ALL_STEPS}, &holds, &err) < 0)
            sl_assert(err.text[0] != '\0' && !holds);
        err.text[0] = '\0';
        if (api_cel_message(c, &in, &(uint64_t){SL_CEL_ALL_STEPS}, &arena, &made, &err) < 0)
            sl_assert(err.text[0] != '\0');
    }
    const struct api_jsonpath *path;
    uint64_t steps = 100000;
    if (api_jsonpath_new(text, &arena, &path, &err) < 0)
        sl_assert(err.text[0] != '\0');
    else if (doc)
        (void)api_jsonpath_first(path, yyjson_doc_get_root(doc), &arena, &steps);
    yyjson_doc_free(doc);
    sl_arena_done(&arena);
    return 0;
}
