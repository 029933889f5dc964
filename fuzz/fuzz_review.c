/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the body of a review. The first byte chooses the path and whether gates and webhooks
 * are turned round; the rest is the body. A review is answered with a review; anything else with
 * one line. What one version makes of an object, the other must be able to read.
 */
#include <stdlib.h>

#include <yyjson.h>

#include "lib/json/json.h"
#include "review_fz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool converts(const char *path) {
    return strcmp(path, "/convert") == 0;
}

/* An object that was converted can be converted back. */
static void check_way_back(yyjson_val *request, yyjson_val *response) {
    yyjson_val *objects = sl_json_get(request, "objects");
    yyjson_val *converted = sl_json_get(response, "convertedObjects");
    struct sl_buf body, out;

    if (yyjson_arr_size(objects) != 1 || yyjson_arr_size(converted) != 1)
        return;
    sl_buf_init(&body, (size_t)64 << 20);
    sl_buf_init(&out, (size_t)64 << 20);
    sl_buf_puts(&body, "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\","
                       "\"request\":{\"uid\":\"u\",\"desiredAPIVersion\":");
    sl_buf_json(&body, sl_json_str(yyjson_arr_get_first(objects), "apiVersion"));
    char *text = yyjson_val_write(converted, 0, NULL);
    sl_buf_printf(&body, ",\"objects\":%s}}", text);
    free(text);
    if (sl_review(&view, "/convert", body.s, body.len, &out) == 200)
        sl_assert(strstr(sl_buf_str(&out), "\"status\":\"Success\""));
    else
        sl_assert(strstr(sl_buf_str(&out), "nested deeper")); /* it took one level more */
    sl_buf_done(&body);
    sl_buf_done(&out);
}

/* A review is answered with a review. */
static void check_answer(const char *path, yyjson_val *request, const struct sl_buf *out) {
    yyjson_doc *doc = yyjson_read(sl_buf_str(out), out->len, 0);

    sl_assert(doc);
    yyjson_val *response = sl_json_at(yyjson_doc_get_root(doc), "response");
    sl_assert(strcmp(sl_json_str(response, "uid"), sl_json_str(request, "uid")) == 0);
    if (converts(path)) {
        sl_assert(*sl_json_str(response, "result.status"));
        check_way_back(request, response);
    } else {
        sl_assert(sl_json_bool(response, "allowed", false) ||
                  *sl_json_str(response, "status.message"));
    }
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sl_buf out;

    if (size == 0)
        return 0;
    const char *path = review_path(data[0]), *body = (const char *)data + 1;
    bool flipped = review_flipped(data[0]);
    set_gates(flipped, !flipped);
    sl_buf_init(&out, (size_t)64 << 20);
    int code = sl_review(&view, path, body, size - 1, &out);
    if (code == 200) {
        yyjson_doc *doc = yyjson_read(body, size - 1, 0);
        sl_assert(doc);
        check_answer(path, sl_json_at(yyjson_doc_get_root(doc), "request"), &out);
        yyjson_doc_free(doc);
    } else {
        sl_assert(code == 400 || code == 500);
        sl_assert(out.len > 1 && strchr(out.s, '\n') == out.s + out.len - 1);
    }
    sl_buf_done(&out);
    return 0;
}
