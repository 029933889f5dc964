/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of fields, in the form of managedFields: a tree whose nodes are elements of paths.
 *
 *     f:spec                      a field of an object, or a key of a map
 *     k:{"name":"main"}           an item of a list, by its keys, which are in order
 *     v:"example.com/finalizer"   an item of a list, by its value
 *
 * A node is in the set itself, or only on the path to those that are. Siblings are in the API
 * server's order: fields by bytes, items by their values, numbers as numbers. Strings are
 * canonical, so that equal strings are equal elements. A set is the list of nodes at its top; NULL
 * is the empty one. Everything is in an arena and valid as long as that. Private to
 * src/cluster/merge.
 */
#ifndef SL_CLUSTER_MERGE_FIELDS_H
#define SL_CLUSTER_MERGE_FIELDS_H

#include "cluster/schema/schema.h"
#include "core/base/buf.h"

#define SL_FIELDS_DEPTH 160u /* deeper trees are not read; objects may have 128 levels */

enum {
    SL_F_IN = 1, /* is in the set; of a difference: it was added */
    SL_F_CHANGED = 2,
    SL_F_REMOVED = 4,
    SL_F_NOW = SL_F_IN | SL_F_CHANGED,
    SL_F_ALL = SL_F_NOW | SL_F_REMOVED,
};

struct merge_fields {
    struct merge_fields *next, *below;
    const struct merge_fields
        *far; /* some siblings ahead (merge_fields_index); NULL: none, or not known */
    const char *text;
    uint32_t len;
    uint8_t mark;
};

/* ---- elements ---- */
struct merge_element {
    const char *s;
    uint32_t len;
};
struct merge_element merge_element_field(struct sl_arena *a, const char *name, size_t len);
/* Of an item of a list that is a set or has keys; text NULL if it cannot be determined, with the
 * reason in *ret_why (a constant, or NULL: no key is present). A mutable value reads as an
 * immutable one. */
struct merge_element merge_element_item(struct sl_arena *a, const struct sl_schema *list,
                                        yyjson_val *item, const char **ret_why);
struct merge_element merge_element_item_mut(struct sl_arena *a, const struct sl_schema *list,
                                            yyjson_mut_val *item, const char **ret_why);
/* One that others wrote. False: it is none; text NULL: of a kind that is not known, to be left out.
 */
bool merge_element_read(struct sl_arena *a, const char *s, size_t len, struct merge_element *ret);
/* The order of elements. */
int merge_element_cmp(const char *x, size_t x_len, const char *y, size_t y_len);
/* In the form of messages: .spec, [name="main"]. */
void merge_element_print(struct sl_buf *out, const char *text, size_t len);

/* ---- sets ---- */
/* Puts a node in front of a list; merge_fields_sort brings order into the tree. */
struct merge_fields *merge_fields_push(struct sl_arena *a, struct merge_fields **list,
                                       struct merge_element text, uint8_t mark);
void merge_fields_sort(struct merge_fields **list);
/* Lets others find their way through long lists of siblings: subtracting and intersecting what is
 * short then costs little, and may be done for each of many managers. */
void merge_fields_index(struct merge_fields *list);
/* FieldsV1. False: it is none. *ret_same: merge_fields_write would write the same. */
bool merge_fields_read(struct sl_arena *a, yyjson_mut_val *v, struct merge_fields **ret,
                       bool *ret_same);
yyjson_mut_val *merge_fields_write(yyjson_mut_doc *doc, const struct merge_fields *set);
struct merge_fields *merge_fields_copy(struct sl_arena *a, const struct merge_fields *set);
/* Those of b whose mark has one of these bits, as a set. */
struct merge_fields *merge_fields_marked(struct sl_arena *a, const struct merge_fields *b,
                                         uint8_t bits);
/* Both, made of the nodes of the two. */
struct merge_fields *merge_fields_unite(struct merge_fields *x, struct merge_fields *y);
/* The union of n sets, made of their nodes; v is used up. */
struct merge_fields *merge_fields_unite_all(struct merge_fields **v, uint32_t n);
/* Takes out of *set what b marks with one of these bits; true if there was something. */
bool merge_fields_subtract(struct merge_fields **set, const struct merge_fields *b, uint8_t bits);
struct merge_fields *merge_fields_intersect(struct sl_arena *a, const struct merge_fields *x,
                                            const struct merge_fields *y, uint8_t bits);
/* Takes out the node at a dotted path of fields with all below it. */
void merge_fields_cut(struct merge_fields **set, const char *path);
/* Takes the node at a path of fields out of the set, but not what is below it. */
void merge_fields_drop(struct merge_fields **set, const char *path);
/* The node of a dotted path of fields; NULL: there is none. */
const struct merge_fields *merge_fields_at(const struct merge_fields *set, const char *path);
/* A set of one dotted path of fields. */
struct merge_fields *merge_fields_path(struct sl_arena *a, const char *path);
/* Fields on the way become members where the schema names them. */
void merge_fields_name(struct merge_fields *n, const struct sl_schema *s);
/* What has become one value by the schema of today is owned as one. True if something changed. */
bool merge_fields_reconcile(struct merge_fields *set, const struct sl_schema *s);
/* The schema below an element; NULL: not known. */
const struct sl_schema *merge_fields_schema(const struct sl_schema *s,
                                            const struct merge_fields *n);
/* Calls back for each path in the set as text, members of a level before what is below. */
typedef void (*merge_fields_fn)(void *ctx, const char *path);
void merge_fields_each(const struct merge_fields *set, struct sl_buf *path, merge_fields_fn fn,
                       void *ctx);

#endif
