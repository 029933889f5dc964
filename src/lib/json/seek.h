/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding items of long lists, and comparing values, in time that does not grow with the square of
 * their length. Short lists are walked. (Fields of an object: struct sl_json_fields.)
 */
#ifndef SL_LIB_JSON_SEEK_H
#define SL_LIB_JSON_SEEK_H

#include <yyjson.h>

#include "core/base/collection/map.h"
#include "core/base/text.h"

/* The items of a list by these fields of theirs, which are scalars. */
struct sl_json_seek {
    yyjson_val *in;
    yyjson_val **v; /* the items; NULL: it is walked */
    struct sl_map map;
    const char *const *keys;
    uint32_t n_keys;
};

void sl_json_seek_items(struct sl_json_seek *s, yyjson_val *list, const char *const *keys,
                        uint32_t n_keys);
/* The first item of the list that has the same ones; NULL if there is none, or no keys. */
yyjson_val *sl_json_seek_item(struct sl_json_seek *s, yyjson_val *like);
void sl_json_seek_done(struct sl_json_seek *s);

/* Equality, whatever the order of fields. *cost grows with the size: a value is 1, and so are 16
 * bytes of a string; NULL: not counted. */
bool sl_json_equal(yyjson_val *a, yyjson_val *b, uint64_t *cost);
/* The same for mutable values. yyjson's own comparisons search each field from the start where the
 * order differs, so tools/check-layers restricts them to this folder. */
bool sl_json_mut_equal(yyjson_mut_val *a, yyjson_mut_val *b);
/* The fields of a mutable object, by name, while nothing is added to it. Of duplicate names any one
 * may be found. */
struct sl_json_mut_fields {
    yyjson_mut_val **keys; /* sorted */
    size_t n;
};
struct sl_json_mut_fields sl_json_mut_fields_of(yyjson_mut_val *object);
void sl_json_mut_fields_done(struct sl_json_mut_fields *f);
/* The value under a key of another object; NULL if there is none. */
yyjson_mut_val *sl_json_mut_same_key(const struct sl_json_mut_fields *f, yyjson_mut_val *key);
/* Puts the fields of an object into another one, as copies in 'doc': those that it has not (or has
 * as null), and with 'over' the others, too. Of a name that 'from' has twice the last counts with
 * 'over', else the first. */
void sl_json_mut_fill(yyjson_mut_doc *doc, yyjson_mut_val *into, yyjson_mut_val *from, bool over);

#endif
