/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a mutable object or list, found by their texts instead of by walking. Private to
 * src/cluster/merge.
 */
#ifndef SL_CLUSTER_MERGE_PARTS_H
#define SL_CLUSTER_MERGE_PARTS_H

#include "cluster/merge/fields.h"
#include "core/base/collection/map.h"

struct merge_part {
    struct merge_element
        text;                /* a key of an object, or the element of an item; NULL: it has none */
    yyjson_mut_val *key, *v; /* key: of an object */
    uint32_t first;          /* the first with the same text; itself in most cases */
    uint32_t count;          /* how many there are; of the first */
    bool gone;
};

struct merge_parts {
    struct merge_part *v;
    uint32_t n;
    struct sl_map map;
};

/* 'more': how many will be added. */
void merge_parts_of_map(struct sl_arena *a, yyjson_mut_val *map, size_t more,
                        struct merge_parts *ret);
/* Items without an element keep their place and are never found. */
void merge_parts_of_list(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *list,
                         struct merge_parts *ret);
void merge_parts_done(struct merge_parts *p);
/* SL_MAP_NONE if there is none. */
uint32_t merge_parts_find(const struct merge_parts *p, const char *text, size_t len);
void merge_parts_add(struct merge_parts *p, struct merge_element text, yyjson_mut_val *key,
                     yyjson_mut_val *v);
/* The object or list has these parts now, without those that are gone. */
void merge_parts_write(const struct merge_parts *p, yyjson_mut_val *v);

/* Fields that are null go, at all levels: they mean nothing in what is new. 'depth' is that of v.
 */
void merge_drop_nulls(yyjson_mut_val *v, unsigned depth);

/* Takes over the content of 'from', in the place of 'v'. */
static inline void merge_assign(yyjson_mut_val *v, const yyjson_mut_val *from) {
    v->tag = from->tag;
    v->uni = from->uni;
}

#endif
