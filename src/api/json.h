/*
 * Reading objects of the API server as JSON. What is absent, null, or of an unexpected type reads
 * as nothing: the schema was checked by the API server before we are asked.
 *
 * All of these descend at most SL_JSON_MAX_DEPTH levels, the ceiling that sl_json_read sets.
 */
#ifndef SL_API_JSON_H
#define SL_API_JSON_H

#include <yyjson.h>

#include "base/quantity.h"

#define SL_JSON_MAX_DEPTH 128u

/* A whole text; the error says what is wrong and where. *ret is freed with yyjson_doc_free. */
int sl_json_read(const char *text, size_t len, yyjson_doc **ret, struct sl_err *err) _must_check_;
void sl_json_docp(yyjson_doc **d);
void sl_json_mut_docp(yyjson_mut_doc **d);

/* The value under a dotted path such as "spec.template.metadata", NULL if absent or null. A key
 * that contains dots is looked up with sl_json_get. */
yyjson_val *sl_json_at(yyjson_val *v, const char *path);
yyjson_val *sl_json_get(yyjson_val *v, const char *key);
/* The text there, "" if there is none. */
const char *sl_json_str(yyjson_val *v, const char *path);
const char *sl_json_text(yyjson_val *v);
int64_t sl_json_int(yyjson_val *v, const char *path, int64_t otherwise);
bool sl_json_bool(yyjson_val *v, const char *path, bool otherwise);
/* A quantity, which may be a number or a text. False if it is none. */
bool sl_json_quantity(yyjson_val *v, sl_quantity *ret);
/* The number of items of an array or of fields of an object, else 0. */
size_t sl_json_size(yyjson_val *v);
/* Keys and values of an object; of anything else, NULL included, there are none. (What yyjson has
 * for it adds to a null pointer there.) */
#define sl_obj_foreach(obj, idx, max, key, val)                                                    \
    for ((idx) = 0, (max) = yyjson_obj_size(obj),                                                  \
        (key) = (max) ? unsafe_yyjson_get_first(obj) : NULL, (val) = (max) ? (key) + 1 : NULL;     \
         (idx) < (max); (idx)++, (key) = unsafe_yyjson_get_next(val), (val) = (key) + 1)
/* The item of an array whose "key" is this word ("name", "main"), NULL if there is none. */
yyjson_val *sl_json_find(yyjson_val *array, const char *key, const char *word);
/* metadata.labels[key] and metadata.annotations[key]; NULL if there is none. */
const char *sl_json_label(yyjson_val *object, const char *key);
const char *sl_json_annotation(yyjson_val *object, const char *key);
/* Is this condition of status.conditions "True"? */
bool sl_json_condition(yyjson_val *object, const char *type);

/*
 * The same meaning? As for Kubernetes' typed objects: the order of fields does not matter, a field
 * that is absent equals null, "", 0, false, [] and {}, and quantities in requests, limits and the
 * like compare by amount.
 */
bool sl_json_same(yyjson_val *a, yyjson_val *b);
/* The same, apart from these fields of the two objects; a NULL-terminated list. */
bool sl_json_same_but(yyjson_val *a, yyjson_val *b, const char *const *skip);

#endif
