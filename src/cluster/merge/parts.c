/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/merge/parts.h"

#include <string.h>

#include "core/base/collection/hash.h"
#include "lib/json/json.h"

#define FEW 8u /* are looked through */

static bool part_is(const struct merge_part *p, const char *text, size_t len) {
    return p->text.len == len && p->text.s && memcmp(p->text.s, text, len) == 0;
}

uint32_t merge_parts_find(const struct merge_parts *p, const char *text, size_t len) {
    for (uint32_t i = 0; i < p->n && i < FEW; i++) {
        if (part_is(&p->v[i], text, len))
            return i;
    }
    if (p->n <= FEW)
        return SL_MAP_NONE;
    uint32_t at;
    uint64_t h = sl_hash_bytes(0, text, len);
    uint32_t i = sl_map_first(&p->map, h, &at);
    while (i != SL_MAP_NONE && !part_is(&p->v[i], text, len))
        i = sl_map_next(&p->map, h, &at);
    return i;
}

void merge_parts_add(struct merge_parts *p, struct merge_element text, yyjson_mut_val *key,
                     yyjson_mut_val *v) {
    uint32_t i = p->n, first = text.s ? merge_parts_find(p, text.s, text.len) : SL_MAP_NONE;
    p->v[p->n++] = (struct merge_part){text, key, v, first == SL_MAP_NONE ? i : first, 1, false};
    if (first != SL_MAP_NONE)
        p->v[first].count++;
    else if (text.s && i >= FEW)
        sl_map_add(&p->map, sl_hash_bytes(0, text.s, text.len), i);
}

void merge_parts_of_map(struct sl_arena *a, yyjson_mut_val *map, size_t more,
                        struct merge_parts *ret) {
    yyjson_mut_val *key, *value;
    size_t i, max;

    *ret = (struct merge_parts){0};
    ret->v = sl_arena_alloc(a, (yyjson_mut_obj_size(map) + more + 1) * sizeof *ret->v);
    yyjson_mut_obj_foreach (map, i, max, key, value) {
        struct sl_text name = sl_json_mut_view(key);
        merge_parts_add(ret, (struct merge_element){name.s, (uint32_t)name.n}, key, value);
    }
}

void merge_parts_of_list(struct sl_arena *a, const struct sl_schema *s, yyjson_mut_val *list,
                         struct merge_parts *ret) {
    yyjson_mut_val *item;
    size_t i, max;
    const char *why;

    *ret = (struct merge_parts){0};
    ret->v = sl_arena_alloc(a, (yyjson_mut_arr_size(list) + 1) * sizeof *ret->v);
    yyjson_mut_arr_foreach (list, i, max, item)
        merge_parts_add(ret, merge_element_item_mut(a, s, item, &why), NULL, item);
}

void merge_parts_done(struct merge_parts *p) {
    sl_map_done(&p->map);
}

void merge_parts_write(const struct merge_parts *p, yyjson_mut_val *v) {
    bool map = yyjson_mut_is_obj(v);
    if (map)
        (void)yyjson_mut_obj_clear(v);
    else
        (void)yyjson_mut_arr_clear(v);
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->v[i].gone)
            continue;
        if (map)
            (void)yyjson_mut_obj_add(v, p->v[i].key, p->v[i].v);
        else
            (void)yyjson_mut_arr_append(v, p->v[i].v);
    }
}

void merge_drop_nulls(yyjson_mut_val *v, unsigned depth) {
    yyjson_mut_val *key, *item;
    size_t i, max;

    if (depth > SL_FIELDS_DEPTH)
        return;
    if (yyjson_mut_is_obj(v)) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
        while ((key = yyjson_mut_obj_iter_next(&it))) {
            if (yyjson_mut_is_null(yyjson_mut_obj_iter_get_val(key)))
                (void)yyjson_mut_obj_iter_remove(&it);
            else
                merge_drop_nulls(yyjson_mut_obj_iter_get_val(key), depth + 1);
        }
    } else {
        yyjson_mut_arr_foreach (v, i, max, item)
            merge_drop_nulls(item, depth + 1);
    }
}
