/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON module: the only place that reads the bytes of yyjson's strings. What is absent, null,
 * or of an unexpected type reads as nothing: the schema was validated by the API server before, and
 * where it was not, an array in place of a string must not be taken for one.
 *
 * yyjson returns the length of a string and the number of items of an array by the same call, so
 * pointer and length must never come from two: sl_json_view returns both, and tools/check-layers
 * rejects yyjson_get_str and yyjson_get_len elsewhere.
 *
 * All of these descend at most SL_JSON_MAX_DEPTH levels, the limit that sl_json_read sets.
 */
#ifndef SL_LIB_JSON_JSON_H
#define SL_LIB_JSON_JSON_H

#include <yyjson.h>

#include "core/base/buf.h"
#include "core/base/quantity.h"
#include "core/base/time.h"

#define SL_JSON_MAX_DEPTH 128u
/* Values of a text, keys included, that are read at all. Each takes 16 bytes, and may be two bytes
 * of the text: memory has to be bounded by their number, not by the length alone. */
#define SL_JSON_MAX_VALUES ((size_t)16 << 20)

/* Fields of one object. The 256 KiB of annotations that the API server accepts are some 85,000 if
 * their names are as short as possible. To find many names, do not search for each
 * (sl_json_fields). */
#define SL_JSON_MAX_FIELDS (UINT32_C(128) << 10)

/* A whole text; the error has the reason and the place. *ret is freed with yyjson_doc_free. */
int sl_json_read(const char *text, size_t len, yyjson_doc **ret, struct sl_err *err) _must_check_;
/* The same without an error: NULL if it is malformed. */
yyjson_doc *sl_json_doc(const char *text, size_t len) _must_check_;
/* More than SL_JSON_MAX_DEPTH levels: of brackets outside strings, or of a document. yyjson reads
 * any depth, but copies and compares by recursion, and so do we: this is checked for every text
 * before it is read, and for every document after its last change. */
bool sl_json_too_deep(const char *text, size_t len);
/* More values than these, keys included, may be in the text. */
bool sl_json_too_many(const char *text, size_t len, size_t max_values);
bool sl_json_mut_too_deep(yyjson_mut_val *v);
/* The same with a lower limit on the number of values; it is checked before anything is
 * allocated. */
int sl_json_read_within(const char *text, size_t len, size_t max_values, yyjson_doc **ret,
                        struct sl_err *err) _must_check_;
/* The same, and numbers stay as they were written (sl_json_raw): none is rounded or too large. */
int sl_json_read_raw(const char *text, size_t len, size_t max_values, yyjson_doc **ret,
                     struct sl_err *err) _must_check_;
/*
 * For readers that cannot count the values before: yyjson's memory with a ceiling, beyond which it
 * gets none (YYJSON_READ_ERROR_MEMORY_ALLOCATION). The budget stays where it is while it is used.
 */
struct sl_json_budget {
    size_t used, ceiling;
};
yyjson_alc sl_json_budget_alc(struct sl_json_budget *b);
/* The line in which a byte of a text stands; the first is 1. */
uint32_t sl_json_line(const char *text, size_t len, size_t pos);
void sl_json_docp(yyjson_doc **d);
void sl_json_mut_docp(yyjson_mut_doc **d);

/* The value under a dotted path such as "spec.template.metadata", NULL if absent or null. A key
 * that contains dots is looked up with sl_json_get. */
yyjson_val *sl_json_at(yyjson_val *v, const char *path);
yyjson_val *sl_json_get(yyjson_val *v, const char *key);
/* All bytes of a string, NULs included; ("", 0) for anything that is no string. Merging calls this
 * for every key of every object, so it is inline. */
static inline struct sl_text sl_json_view(yyjson_val *v) {
    if (!yyjson_is_str(v))
        return SL_TEXT("");
    return (struct sl_text){unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v)};
}
static inline struct sl_text sl_json_mut_view(yyjson_mut_val *v) {
    if (!yyjson_mut_is_str(v))
        return SL_TEXT("");
    return (struct sl_text){unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v)};
}
/* Has any key or text of this value, or below it, a NUL inside? */
bool sl_json_has_nul(yyjson_val *v);
/* A number as it was written, where the reader was set to preserve numbers. */
struct sl_text sl_json_raw(yyjson_val *v);
/* As a C string: "" for anything that is no text, and for a text with a NUL inside, which is no
 * name, key, path or label and would be cut there. */
const char *sl_json_text(yyjson_val *v);
const char *sl_json_mut_text(yyjson_mut_val *v);
/* The same, but NULL where the others return "" for lack of a string. */
const char *sl_json_opt(yyjson_val *v);
const char *sl_json_mut_opt(yyjson_mut_val *v);
/* The C string at a path, "" if there is none. */
const char *sl_json_str(yyjson_val *v, const char *path);
int64_t sl_json_int(yyjson_val *v, const char *path, int64_t fallback);
/* One from 0 to INT32_MAX, as most counts of the API are; any other is the fallback. */
int32_t sl_json_int32(yyjson_val *v, const char *path, int32_t fallback);
bool sl_json_bool(yyjson_val *v, const char *path, bool fallback);
/* RFC 3339 to nanoseconds since 1970; 0 if absent or wrong. */
sl_time sl_json_time(yyjson_val *v, const char *path);
/* A quantity, which may be a number or a text. False if it is none. */
bool sl_json_quantity(yyjson_val *v, sl_quantity *ret);
/* The number of items of an array or of fields of an object, else 0. */
size_t sl_json_size(yyjson_val *v);
size_t sl_json_mut_size(yyjson_mut_val *v);
/* How many values it is, itself and all below it, keys included; 0 of NULL. At once. */
size_t sl_json_count(yyjson_val *v);
/* The bytes of all its texts, keys included; 0 of NULL. */
size_t sl_json_bytes(yyjson_val *v);
/* Keys and values of an object; of anything else, NULL included, there are none. (What yyjson has
 * for it adds to a null pointer there.) */
#define sl_obj_foreach(obj, idx, max, key, val)                                                    \
    for ((idx) = 0, (max) = yyjson_obj_size(obj),                                                  \
        (key) = (max) ? unsafe_yyjson_get_first(obj) : NULL, (val) = (max) ? (key) + 1 : NULL;     \
         (idx) < (max); (idx)++, (key) = unsafe_yyjson_get_next(val), (val) = (key) + 1)
/* What an object has under a key of another object; NULL if nothing. */
yyjson_val *sl_json_same_key(yyjson_val *object, yyjson_val *key);
/*
 * The fields of an object by name, for looking up many of them. Names that are looked up in the
 * object's own order cost nothing to find; the first that is not makes a sorted index. So n fields
 * cost n log n at most, whatever their names and their order. Of duplicate names any one may be
 * found.
 */
struct sl_json_fields {
    yyjson_val *object;
    yyjson_val *next, *end; /* the key after the one found last, and where there are no more */
    yyjson_val **keys;      /* sorted; NULL until it is needed */
};
struct sl_json_fields sl_json_fields_of(yyjson_val *object);
void sl_json_fields_done(struct sl_json_fields *f);
/* The value under a name; NULL if there is none. */
yyjson_val *sl_json_field(struct sl_json_fields *f, struct sl_text name);
/* The item of an array whose "key" is this string ("name", "main"), NULL if there is none. */
yyjson_val *sl_json_find(yyjson_val *array, const char *key, const char *word);
/* metadata.labels[key] and metadata.annotations[key]; "" if there is none. */
const char *sl_json_label(yyjson_val *object, const char *key);
const char *sl_json_annotation(yyjson_val *object, const char *key);
/* The same, but NULL if there is none. */
const char *sl_json_label_opt(yyjson_val *object, const char *key);
const char *sl_json_annotation_opt(yyjson_val *object, const char *key);
/* Is this condition of status.conditions "True"? */
bool sl_json_condition(yyjson_val *object, const char *type);

/* Equal for values that mean the same: the order of fields does not count, null and absent are one,
 * empty objects and arrays count as absent. NULL gives seed. As core/base/collection/hash.h has two
 * families: sl_json_hash is for comparing two values, sl_json_digest for names that follow from a
 * value. */
uint64_t sl_json_hash(uint64_t seed, yyjson_val *v);
uint64_t sl_json_digest(uint64_t seed, yyjson_val *v);
/* Appends the value as compact JSON; NULL is null. */
void sl_json_put(struct sl_buf *b, yyjson_val *v);
void sl_json_mut_put(struct sl_buf *b, yyjson_mut_val *v);

/*
 * The same meaning? As for Kubernetes' typed objects: the order of fields does not matter, a field
 * that is absent equals null, "", 0, false, [] and {}, and quantities in requests, limits and the
 * like compare by amount.
 */
bool sl_json_same(yyjson_val *a, yyjson_val *b);
/* The same, apart from these fields of the two objects; a NULL-terminated list. */
bool sl_json_same_but(yyjson_val *a, yyjson_val *b, const char *const *skip);

#endif
