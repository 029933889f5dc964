/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/mutable.h"

#include <string.h>

#include "lib/json/json.h"

yyjson_mut_val *sl_json_mut_get(yyjson_mut_val *v, const char *key) {
    yyjson_mut_val *found = yyjson_mut_is_obj(v) ? yyjson_mut_obj_get(v, key) : NULL;
    return yyjson_mut_is_null(found) ? NULL : found;
}

yyjson_mut_val *sl_json_mut_at(yyjson_mut_val *v, const char *path) {
    while (v && *path) {
        size_t n = strcspn(path, ".");
        v = yyjson_mut_is_obj(v) ? yyjson_mut_obj_getn(v, path, n) : NULL;
        path += n + (path[n] == '.');
    }
    return yyjson_mut_is_null(v) ? NULL : v;
}

const char *sl_json_mut_str(yyjson_mut_val *v, const char *path) {
    return sl_json_mut_text(sl_json_mut_at(v, path));
}

int64_t sl_json_mut_int(yyjson_mut_val *v, const char *path, int64_t fallback) {
    yyjson_mut_val *at = sl_json_mut_at(v, path);

    if (yyjson_mut_is_uint(at) && yyjson_mut_get_uint(at) > INT64_MAX)
        return INT64_MAX;
    return yyjson_mut_is_int(at) ? yyjson_mut_get_sint(at) : fallback;
}

bool sl_json_mut_bool(yyjson_mut_val *v, const char *path, bool fallback) {
    yyjson_mut_val *at = sl_json_mut_at(v, path);
    return yyjson_mut_is_bool(at) ? yyjson_mut_get_bool(at) : fallback;
}

void sl_json_mut_set(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     yyjson_mut_val *value) {
    if (!yyjson_mut_is_obj(object))
        return;
    if (!value)
        yyjson_mut_obj_remove_key(object, key);
    else
        yyjson_mut_obj_put(object, yyjson_mut_strcpy(doc, key), value);
}

yyjson_mut_val *sl_json_mut_obj(yyjson_mut_doc *doc, yyjson_mut_val *v, const char *path) {
    while (v && *path) {
        size_t n = strcspn(path, ".");
        yyjson_mut_val *next = yyjson_mut_is_obj(v) ? yyjson_mut_obj_getn(v, path, n) : NULL;
        if (!yyjson_mut_is_obj(v) ||
            (next && !yyjson_mut_is_obj(next) && !yyjson_mut_is_null(next)))
            return NULL;
        if (!yyjson_mut_is_obj(next)) {
            next = yyjson_mut_obj(doc);
            yyjson_mut_obj_put(v, yyjson_mut_strncpy(doc, path, n), next);
        }
        v = next;
        path += n + (path[n] == '.');
    }
    return yyjson_mut_is_obj(v) ? v : NULL;
}

void sl_json_mut_set_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                         const char *value) {
    sl_json_mut_set(doc, object, key, yyjson_mut_strcpy(doc, value));
}

void sl_json_mut_set_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                         int64_t value) {
    sl_json_mut_set(doc, object, key, yyjson_mut_sint(doc, value));
}

void sl_json_mut_set_bool(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                          bool value) {
    sl_json_mut_set(doc, object, key, yyjson_mut_bool(doc, value));
}

void sl_json_mut_default_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                             const char *value) {
    yyjson_mut_val *now = sl_json_mut_get(object, key);

    if (!now || yyjson_mut_equals_str(now, ""))
        sl_json_mut_set_str(doc, object, key, value);
}

void sl_json_mut_default_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                             int64_t value) {
    if (!sl_json_mut_get(object, key))
        sl_json_mut_set_int(doc, object, key, value);
}

void sl_json_mut_default_bool(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                              bool value) {
    if (!sl_json_mut_get(object, key))
        sl_json_mut_set_bool(doc, object, key, value);
}

void sl_json_mut_keep(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                      yyjson_val *from) {
    yyjson_val *v = yyjson_obj_get(from, key);
    sl_json_mut_set(doc, object, key, v ? yyjson_val_mut_copy(doc, v) : NULL);
}
