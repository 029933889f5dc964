/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists in strategic merge patches. Items are identified by a key (objects) or by value (all else).
 * The order of the result: items of the patch in the order of the patch, others as they were, and
 * where an item of each could come next, the one that was first before.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/merge/gotext.h"
#include "cluster/merge/strategic.h"
#include "lib/json/seek.h"

/* The value of the merge key of an item; NULL with an error set. */
static yyjson_mut_val *key_of(struct merge_smp *p, const char *key, yyjson_mut_val *item) {
    if (!key)
        return item;
    if (!yyjson_mut_is_obj(item)) {
        (void)merge_smp_wrong_type(p, "map[string]interface {}", item);
        return NULL;
    }
    yyjson_mut_val *v = yyjson_mut_obj_get(item, key);
    if (!v) {
        (void)merge_smp_fail_at(p, "map: ", item, " does not contain declared merge key: ");
        sl_buf_puts(&p->err->text, key);
    }
    return v;
}

/* Items by the text of their key; items that have none are not found, or are a failure. */
static int index_items(struct merge_smp *p, const char *key, yyjson_mut_val *list, bool strict,
                       struct merge_parts *ret) {
    static const struct sl_schema set = {.type = SL_T_LIST, .merge = SL_MERGE_SET};
    yyjson_mut_val *item;
    size_t i, max;
    const char *why;

    *ret = (struct merge_parts){0};
    ret->v = sl_arena_alloc(&p->a, (yyjson_mut_arr_size(list) + 1) * sizeof *ret->v);
    yyjson_mut_arr_foreach (list, i, max, item) {
        yyjson_mut_val *v = strict ? key_of(p, key, item)
                            : key  ? yyjson_mut_obj_get(item, key)
                                   : item;
        if (strict && !v)
            return SL_EINVAL;
        struct merge_element text = {0};
        if (v)
            text = merge_element_item_mut(&p->a, &set, v, &why);
        merge_parts_add(ret, text, NULL, item);
    }
    return 0;
}

static uint32_t place_in(const struct merge_parts *order, struct merge_element text) {
    return text.s ? merge_parts_find(order, text.s, text.len) : SL_MAP_NONE;
}

/* ---- order ---- */

struct placed {
    yyjson_mut_val *v;
    uint32_t at;     /* in the order it is sorted by */
    uint32_t before; /* in the list as it was; SL_MAP_NONE: it is new */
    uint32_t i;
};

static int by_place(const void *x, const void *y) {
    const struct placed *p = x, *q = y;
    if (p->at != q->at)
        return p->at < q->at ? -1 : 1;
    return (p->i > q->i) - (p->i < q->i);
}

static void put_in_order(struct merge_smp *p, const struct merge_parts *items,
                         const struct merge_parts *order, const struct merge_parts *before,
                         yyjson_mut_val *list) {
    struct placed *listed = sl_arena_alloc(&p->a, (items->n + 1) * sizeof *listed);
    struct placed *rest = sl_arena_alloc(&p->a, (items->n + 1) * sizeof *rest);
    uint32_t n_listed = 0, n_rest = 0, i = 0, j = 0;

    for (uint32_t k = 0; k < items->n; k++) {
        const struct merge_part *x = &items->v[k];
        uint32_t at = place_in(order, x->text), was = place_in(before, x->text);
        if (at != SL_MAP_NONE)
            listed[n_listed++] = (struct placed){x->v, at, was, k};
        else
            rest[n_rest++] = (struct placed){x->v, was, was, k};
    }
    qsort(listed, n_listed, sizeof *listed, by_place);
    qsort(rest, n_rest, sizeof *rest, by_place);
    (void)yyjson_mut_arr_clear(list);
    while (i < n_rest || j < n_listed) {
        bool take_rest =
            j == n_listed || (i < n_rest && rest[i].before != SL_MAP_NONE &&
                              listed[j].before != SL_MAP_NONE && rest[i].before < listed[j].before);
        (void)yyjson_mut_arr_append(list, take_rest ? rest[i++].v : listed[j++].v);
    }
}

int merge_smp_order(struct merge_smp *p, const struct merge_smp_list *how, yyjson_mut_val *list,
                    yyjson_mut_val *order, yyjson_mut_val *before) {
    struct merge_parts items = {0}, by = {0}, was = {0};
    yyjson_mut_val *item;
    size_t i, max;

    yyjson_mut_arr_foreach (order, i, max, item) {
        if (how->key && !yyjson_mut_is_obj(item))
            return merge_smp_fail(p, "value for key %zu is not a map", i);
    }
    int r = index_items(p, how->key, list, true, &items);
    if (r == 0)
        r = index_items(p, how->key, order, true, &by);
    if (r == 0)
        r = index_items(p, how->key, before, true, &was);
    if (r == 0)
        put_in_order(p, &items, &by, &was, list);
    merge_parts_done(&items);
    merge_parts_done(&by);
    merge_parts_done(&was);
    return r;
}

int merge_smp_check_order(struct merge_smp *p, const struct merge_smp_list *how,
                          yyjson_mut_val *patch, yyjson_mut_val *order) {
    size_t left = yyjson_mut_arr_size(order), i, max;
    yyjson_mut_val *item, *next = yyjson_mut_arr_get_first(order);

    if (left == 0)
        return 0;
    yyjson_mut_arr_foreach (patch, i, max, item) {
        if (how->key && !yyjson_mut_is_obj(item))
            return merge_smp_wrong_type(p, "map[string]interface {}", item);
        if (yyjson_mut_is_obj(item) && yyjson_mut_obj_get(item, "$patch"))
            continue;
        for (bool found = false; !found; left--, next = next->next) {
            if (left == 0) {
                sl_buf_puts(&p->err->text, "The order in patch list:\n");
                sl_go_text(&p->a, &p->err->text, patch);
                return merge_smp_fail_at(p, "\n doesn't match $setElementOrder list:\n", order,
                                         "\n");
            }
            yyjson_mut_val *x = key_of(p, how->key, item),
                           *y = x ? key_of(p, how->key, next) : NULL;
            if (!y)
                return SL_EINVAL;
            found = sl_json_mut_equal(x, y);
        }
    }
    return 0;
}

/* ---- content ---- */

/* All items have to be of one type, and not lists. */
static int check_types(struct merge_smp *p, yyjson_mut_val *into, yyjson_mut_val *patch,
                       bool *ret_maps) {
    yyjson_mut_val *lists[] = {into, patch}, *item;
    const char *type = NULL;
    size_t i, max;

    for (size_t k = 0; k < SL_LEN(lists); k++) {
        yyjson_mut_arr_foreach (lists[k], i, max, item) {
            if (!type && yyjson_mut_is_arr(item))
                return merge_smp_unfit(p);
            type = type ? type : sl_go_type(item);
            if (strcmp(type, sl_go_type(item)) != 0) {
                sl_buf_puts(&p->err->text, "list element types are not identical: [");
                sl_go_text(&p->a, &p->err->text, into);
                return merge_smp_fail_at(p, " ", patch, "]");
            }
            *ret_maps = yyjson_mut_is_obj(item);
        }
    }
    return 0;
}

static void append_all(yyjson_mut_val *to, yyjson_mut_val *from) {
    for (size_t n = yyjson_mut_arr_size(from); n > 0; n--)
        (void)yyjson_mut_arr_append(to, yyjson_mut_arr_remove_first(from));
}

/* Values: those of both, each once; or without those that are to go. */
static int merge_values(struct merge_smp *p, yyjson_mut_val *into, yyjson_mut_val *patch,
                        bool drop) {
    struct merge_smp_list how = {0};
    struct merge_parts items, listed;
    yyjson_mut_val *before = yyjson_mut_val_mut_copy(p->doc, into);
    yyjson_mut_val *order = yyjson_mut_val_mut_copy(p->doc, patch);

    if (!drop)
        append_all(into, patch);
    (void)index_items(p, NULL, into, false, &items);
    (void)index_items(p, NULL, order, false, &listed);
    for (uint32_t i = 0; i < items.n; i++) {
        items.v[i].gone =
            drop ? place_in(&listed, items.v[i].text) != SL_MAP_NONE : items.v[i].first != i;
    }
    merge_parts_write(&items, into);
    merge_parts_done(&items);
    merge_parts_done(&listed);
    return drop ? 0 : merge_smp_order(p, &how, into, order, before);
}

/* Items of the patch that are directives. *ret_replace: the list is replaced by the others. */
static int take_directives(struct merge_smp *p, const char *key, yyjson_mut_val *into,
                           yyjson_mut_val *patch, bool *ret_replace) {
    struct merge_parts items;
    yyjson_mut_val *item;
    int r = 0;

    (void)index_items(p, key, into, false, &items);
    yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(patch);
    while (r == 0 && (item = yyjson_mut_arr_iter_next(&it))) {
        yyjson_mut_val *what = yyjson_mut_obj_get(item, "$patch"), *v;
        if (!what)
            continue;
        if (yyjson_mut_equals_str(what, "replace")) {
            *ret_replace = true;
        } else if (yyjson_mut_equals_str(what, "merge")) {
            r = merge_smp_fail(p, "merging lists cannot yet be specified in the patch");
        } else if (!yyjson_mut_equals_str(what, "delete")) {
            sl_buf_puts(&p->err->text, "unknown patch type: ");
            sl_go_text(&p->a, &p->err->text, what);
            r = merge_smp_fail_at(p, " in map: ", item, "");
        } else if ((v = key_of(p, key, item))) {
            static const struct sl_schema set = {.type = SL_T_LIST, .merge = SL_MERGE_SET};
            const char *why;
            uint32_t at = place_in(&items, merge_element_item_mut(&p->a, &set, v, &why));
            uint32_t left = at == SL_MAP_NONE || items.v[at].gone ? 0 : items.v[at].count;
            for (uint32_t i = at; left > 0; i++) {
                if (items.v[i].first == at) {
                    items.v[i].gone = true;
                    left--;
                }
            }
        } else {
            r = SL_EINVAL;
        }
        (void)yyjson_mut_arr_iter_remove(&it);
    }
    merge_parts_write(&items, into);
    merge_parts_done(&items);
    return r;
}

static int merge_items(struct merge_smp *p, const struct merge_smp_list *how, yyjson_mut_val *into,
                       yyjson_mut_val *patch, yyjson_mut_val **ret_before, unsigned depth) {
    struct merge_parts items = {0}, listed = {0};
    bool replace = false;
    size_t n_before = yyjson_mut_arr_size(into);

    if (!how->key)
        return merge_smp_fail(p, "cannot merge lists without merge key for struct");
    int r = take_directives(p, how->key, into, patch, &replace);
    if (r < 0)
        return r;
    if (replace) {
        merge_assign(into, patch);
        patch = yyjson_mut_arr(p->doc);
    }
    yyjson_mut_val *before = yyjson_mut_val_mut_copy(p->doc, into);
    yyjson_mut_val *order = yyjson_mut_val_mut_copy(p->doc, patch);
    r = index_items(p, how->key, patch, true, &listed);
    if (r == 0)
        r = index_items(p, how->key, into, false, &items);
    for (uint32_t i = 0; r == 0 && i < listed.n; i++) {
        uint32_t at = place_in(&items, listed.v[i].text);
        uint32_t twin =
            listed.v[i].first; /* a duplicate: the later one is merged over the earlier one */
        if (at != SL_MAP_NONE)
            r = merge_smp_map(p, how->items, items.v[at].v, listed.v[i].v, depth + 1);
        else if (twin != i)
            r = merge_smp_map(p, how->items, listed.v[twin].v, listed.v[i].v, depth + 1);
        else
            (void)yyjson_mut_arr_append(into, listed.v[i].v);
    }
    merge_parts_done(&items);
    merge_parts_done(&listed);
    /* To the API server, new items have been where deleted ones were, as many as those were. */
    if (r == 0 && ret_before && !replace && yyjson_mut_arr_size(before) < n_before) {
        size_t n = yyjson_mut_arr_size(into);
        *ret_before = yyjson_mut_val_mut_copy(p->doc, into);
        for (; n > n_before; n--)
            (void)yyjson_mut_arr_remove_last(*ret_before);
    }
    return r < 0 ? r : merge_smp_order(p, how, into, order, before);
}

int merge_smp_merge_lists(struct merge_smp *p, const struct merge_smp_list *how,
                          yyjson_mut_val *into, yyjson_mut_val *patch, bool drop,
                          yyjson_mut_val **ret_before, unsigned depth) {
    bool maps = false;

    if (yyjson_mut_arr_size(into) == 0 && yyjson_mut_arr_size(patch) == 0)
        return 0;
    int r = check_types(p, into, patch, &maps);
    if (r < 0)
        return r;
    return maps ? merge_items(p, how, into, patch, ret_before, depth)
                : merge_values(p, into, patch, drop);
}
