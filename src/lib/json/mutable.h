/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and changing objects under construction: as lib/json/json.h, for yyjson's mutable values.
 * Strings are copied into the document; keys are constants, unless a function says otherwise.
 */
#ifndef SL_LIB_JSON_MUTABLE_H
#define SL_LIB_JSON_MUTABLE_H

#include <yyjson.h>

#include "core/base/macros.h"

/* NULL if it is absent or null. */
yyjson_mut_val *sl_json_mut_get(yyjson_mut_val *v, const char *key);
yyjson_mut_val *sl_json_mut_at(yyjson_mut_val *v, const char *path);
const char *sl_json_mut_str(yyjson_mut_val *v, const char *path); /* "" */
int64_t sl_json_mut_int(yyjson_mut_val *v, const char *path, int64_t fallback);
bool sl_json_mut_bool(yyjson_mut_val *v, const char *path, bool fallback);

/* The object under the path, created where it does not exist; NULL if another type of value is
 * there. */
yyjson_mut_val *sl_json_mut_obj(yyjson_mut_doc *doc, yyjson_mut_val *v, const char *path);
/* Replaces or adds; a NULL value takes the field away. The key is copied. Nothing happens if
 * 'object' is no object. */
void sl_json_mut_set(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                     yyjson_mut_val *value);
void sl_json_mut_set_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                         const char *value);
void sl_json_mut_set_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                         int64_t value);
void sl_json_mut_set_bool(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, bool value);
/* Only where there is nothing; texts also where there is "". */
void sl_json_mut_default_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                             const char *value);
void sl_json_mut_default_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                             int64_t value);
void sl_json_mut_default_bool(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                              bool value);
/* The field as it is in 'from' (taken away if it is not there). */
void sl_json_mut_keep(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                      yyjson_val *from);

#endif
