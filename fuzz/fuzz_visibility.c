/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request for the visibility API: the path, and on the next line what is accepted.
 * Whatever it is, what the API server is asked about it and what is answered are JSON.
 */
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "manager/visibility/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_json(struct sl_buf *b) {
    yyjson_doc *doc = yyjson_read(sl_buf_str(b), b->len, 0);
    if (sl_buf_full(b) || !yyjson_is_obj(yyjson_doc_get_root(doc)))
        abort();
    yyjson_doc_free(doc);
}

static struct sl_http_answer empty_answer(void) {
    struct sl_http_answer a = {.status = 200, .content_type = ""};
    sl_buf_init(&a.body, SL_HTTP_ANSWER);
    return a;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 32768)
        return 0;
    char *path = strndup((const char *)data, size), *accept = strchr(path, '\n');
    struct sl_visibility_target t;
    struct sl_buf what;

    if (accept)
        *accept++ = '\0';
    sl_visibility_target(path, &t);
    if (t.what == VISIBILITY_PENDING &&
        (!t.version || !*t.queue || t.namespaced != (*t.ns != '\0')))
        abort();
    sl_buf_init(&what, (size_t)1 << 20);
    sl_visibility_attributes(&t, path, &what);
    must_be_json(&what);
    sl_buf_done(&what);

    struct sl_http_answer no = empty_answer(), yes = empty_answer();
    sl_visibility_forbid(&t, path, &no);
    must_be_json(&no.body);
    if (t.what != VISIBILITY_NOTHING && t.what != VISIBILITY_QUEUES &&
        t.what != VISIBILITY_PENDING) {
        sl_visibility_document(&t, accept, &yes);
        must_be_json(&yes.body);
    }
    sl_buf_done(&no.body);
    sl_buf_done(&yes.body);
    free(path);
    return 0;
}
