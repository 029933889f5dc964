/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/merge/strategic.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cluster/merge/gotext.h"
#include "core/base/fmt.h"
#include "lib/json/json.h"

#define PATCH "$patch"
#define RETAIN "$retainKeys"
#define DROP "$deleteFromPrimitiveList"
#define ORDER "$setElementOrder"

/* ---- failures ---- */

static int failed(struct merge_smp *p, int status, const char *reason) {
    p->err->status = status;
    p->err->reason = reason;
    return SL_EINVAL;
}

int merge_smp_fail(struct merge_smp *p, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    sl_vfmt_short(text, sizeof text, fmt, args);
    va_end(args);
    sl_buf_puts(&p->err->text, text);
    return failed(p, 500, "");
}

int merge_smp_fail_at(struct merge_smp *p, const char *before, yyjson_mut_val *v,
                      const char *after) {
    sl_buf_puts(&p->err->text, before);
    sl_go_text(&p->a, &p->err->text, v);
    sl_buf_puts(&p->err->text, after);
    return failed(p, 500, "");
}

int merge_smp_wrong_type(struct merge_smp *p, const char *expected, yyjson_mut_val *v) {
    return merge_smp_fail(p, "expected a %s, but received a %s", expected, sl_go_type(v));
}

int merge_smp_bad(struct merge_smp *p, const char *what) {
    sl_buf_printf(&p->err->text, "invalid patch format of %s", what);
    return failed(p, 400, "BadRequest");
}

int merge_smp_unfit(struct merge_smp *p) {
    sl_buf_puts(&p->err->text, "the server rejected our request due to an error in our request");
    return failed(p, 422, "Invalid");
}

/* ---- the schema of a field ---- */

static int field_of(struct merge_smp *p, const struct sl_schema *s, const char *key, size_t len,
                    const struct sl_schema **ret, struct merge_smp_list *ret_list) {
    *ret = NULL;
    *ret_list = (struct merge_smp_list){0};
    if (s && s->type == SL_T_OBJECT) {
        const struct sl_schema_field *f = sl_schema_field(s, key, len);
        if (!f && !s->keeps_unknown) {
            const char *dot = s->go ? strrchr(s->go, '.') : NULL;
            return merge_smp_fail(p,
                                  "unable to find api field in struct %s for the json field \"%s\"",
                                  dot ? dot + 1 : "", key);
        }
        if (f) {
            *ret = f->schema;
            *ret_list = (struct merge_smp_list){f->schema ? f->schema->items : NULL, f->patch_merge,
                                                f->patch_key};
        }
    } else if (s) {
        *ret = sl_schema_at(s, key, len);
    }
    return 0;
}

/* ---- what is new ---- */

/* False: the value is itself a directive, and is not kept. */
static bool without_directives(yyjson_mut_val *v, unsigned depth) {
    yyjson_mut_val *key, *item;

    if (depth > SL_SMP_DEPTH)
        return true;
    if (yyjson_mut_is_obj(v)) {
        if (yyjson_mut_obj_get(v, PATCH))
            return false;
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
        while ((key = yyjson_mut_obj_iter_next(&it))) {
            if (!without_directives(yyjson_mut_obj_iter_get_val(key), depth + 1))
                (void)yyjson_mut_obj_iter_remove(&it);
        }
    } else if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
        while ((item = yyjson_mut_arr_iter_next(&it))) {
            if (!without_directives(item, depth + 1))
                (void)yyjson_mut_arr_iter_remove(&it);
        }
    }
    return true;
}

/* ---- directives of an object ---- */

static int apply_directive(struct merge_smp *p, yyjson_mut_val *into, yyjson_mut_val *patch,
                           yyjson_mut_val *what) {
    if (yyjson_mut_equals_str(what, "replace")) {
        (void)yyjson_mut_obj_remove_key(patch, PATCH);
        merge_assign(into, patch);
        return 0;
    }
    if (yyjson_mut_equals_str(what, "delete")) {
        merge_assign(into, yyjson_mut_obj(p->doc));
        return 0;
    }
    sl_buf_puts(&p->err->text, "unknown patch type: ");
    sl_go_text(&p->a, &p->err->text, what);
    return merge_smp_fail_at(p, " in map: ", patch, "");
}

static bool starts(const char *key, const char *with) {
    return strncmp(key, with, strlen(with)) == 0;
}

/* Only the named keys stay; keys of the patch itself have to be among them. */
static int retain(struct merge_smp *p, yyjson_mut_val *into, yyjson_mut_val *patch) {
    yyjson_mut_val *names = yyjson_mut_obj_remove_key(patch, RETAIN), *key, *name;
    static const struct sl_schema set = {.type = SL_T_LIST, .merge = SL_MERGE_SET};
    struct merge_parts named;
    size_t i, max;
    const char *why;
    int r = 0;

    if (!yyjson_mut_is_arr(names))
        return merge_smp_bad(p, "retainKeys");
    merge_parts_of_list(&p->a, &set, names, &named);
    yyjson_mut_obj_foreach (patch, i, max, key, name) {
        struct merge_element text = merge_element_item_mut(&p->a, &set, key, &why);
        if (!yyjson_mut_is_null(name) && !starts(sl_json_mut_text(key), DROP) &&
            !starts(sl_json_mut_text(key), ORDER) &&
            merge_parts_find(&named, text.s, text.len) == SL_MAP_NONE)
            r = SL_EINVAL;
    }
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(into);
    while (r == 0 && (key = yyjson_mut_obj_iter_next(&it))) {
        struct merge_element text = merge_element_item_mut(&p->a, &set, key, &why);
        if (merge_parts_find(&named, text.s, text.len) == SL_MAP_NONE)
            (void)yyjson_mut_obj_iter_remove(&it);
    }
    merge_parts_done(&named);
    return r == 0 ? 0 : merge_smp_bad(p, "retainKeys");
}

/* "$setElementOrder/x": x is merged at once, and brought into the order. */
static int order_one(struct merge_smp *p, const struct sl_schema *s, yyjson_mut_val *into,
                     yyjson_mut_val *patch, const char *directive, yyjson_mut_val *order,
                     unsigned depth) {
    const char *key = strchr(directive, '/');
    const struct sl_schema *below;
    struct merge_smp_list how;

    if (!yyjson_mut_is_arr(order))
        return merge_smp_wrong_type(p, "[]interface {}", order);
    if (!key || (size_t)(key - directive) != strlen(ORDER))
        return merge_smp_bad(p, "setElementOrder list");
    key++;
    yyjson_mut_val *there = yyjson_mut_obj_get(into, key);
    yyjson_mut_val *listed = yyjson_mut_obj_get(patch, key);
    if (there && !yyjson_mut_is_arr(there))
        return merge_smp_wrong_type(p, "[]interface {}", there);
    if (listed && !yyjson_mut_is_arr(listed))
        return merge_smp_wrong_type(p, "[]interface {}", listed);
    int r = field_of(p, s, key, strlen(key), &below, &how);
    if (r == 0)
        r = merge_smp_check_order(p, &how, listed, order);
    if (r < 0 || (!there && !listed))
        return r;
    yyjson_mut_val *before =
        there ? yyjson_mut_val_mut_copy(p->doc, there) : yyjson_mut_arr(p->doc);
    if (listed)
        (void)yyjson_mut_obj_remove_key(patch, key);
    if (!there) {
        (void)without_directives(listed, depth);
        there = listed;
        (void)yyjson_mut_obj_add(into, yyjson_mut_strcpy(p->doc, key), there);
    } else if (listed) {
        r = how.merge ? merge_smp_merge_lists(p, &how, there, listed, false, &before, depth) : 0;
        if (!how.merge)
            merge_assign(there, listed);
    }
    return r < 0 ? r : merge_smp_order(p, &how, there, order, before);
}

static int order_all(struct merge_smp *p, const struct sl_schema *s, yyjson_mut_val *into,
                     yyjson_mut_val *patch, unsigned depth) {
    size_t i = 0, n = yyjson_mut_obj_size(patch), max;
    yyjson_mut_val **found = sl_arena_alloc(&p->a, (n + 1) * sizeof(yyjson_mut_val *)), *key,
                   *value;

    n = 0;
    yyjson_mut_obj_foreach (patch, i, max, key, value) {
        if (starts(sl_json_mut_text(key), ORDER))
            found[n++] = key;
    }
    for (i = 0; i < n; i++) {
        const char *directive = sl_json_mut_text(found[i]);
        yyjson_mut_val *order = yyjson_mut_obj_remove_key(patch, directive);
        int r = order ? order_one(p, s, into, patch, directive, order, depth) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- an object ---- */

/* Both are there and of one type. */
static int merge_value(struct merge_smp *p, const struct sl_schema *s, const char *key, size_t len,
                       yyjson_mut_val *there, yyjson_mut_val *v, bool drop, unsigned depth) {
    const struct sl_schema *below;
    struct merge_smp_list how;

    int r = field_of(p, s, key, len, &below, &how);
    if (r < 0)
        return r;
    if (yyjson_mut_is_obj(there))
        return merge_smp_map(p, below, there, v, depth + 1);
    if (drop || how.merge)
        return merge_smp_merge_lists(p, &how, there, v, drop, NULL, depth);
    merge_assign(there, v);
    return 0;
}

static int merge_key(struct merge_smp *p, const struct sl_schema *s, struct merge_parts *parts,
                     yyjson_mut_val *name, yyjson_mut_val *v, unsigned depth) {
    struct sl_text t = sl_json_mut_view(name);
    const char *key = t.s;
    size_t len = t.n;
    bool drop = starts(key, DROP);

    if (drop) {
        if (key[strlen(DROP)] != '/')
            return merge_smp_bad(p, "primitive list");
        len -= strlen(DROP) + 1;
        key += strlen(DROP) + 1;
    }
    uint32_t at = merge_parts_find(parts, key, len);
    yyjson_mut_val *there = at == SL_MAP_NONE || parts->v[at].gone ? NULL : parts->v[at].v;
    if (yyjson_mut_is_null(v)) {
        if (there)
            parts->v[at].gone = true;
        return 0;
    }
    if (there && yyjson_mut_is_ctn(there) && yyjson_mut_get_type(there) == yyjson_mut_get_type(v))
        return merge_value(p, s, key, len, there, v, drop, depth);
    if (drop)
        return 0;
    if (!there || strcmp(sl_go_type(there), sl_go_type(v)) != 0)
        merge_drop_nulls(v, depth);
    if (!without_directives(v, depth)) {
        if (there)
            parts->v[at].gone = true;
    } else if (there) {
        merge_assign(there, v);
    } else {
        merge_parts_add(parts, (struct merge_element){key, (uint32_t)len},
                        yyjson_mut_strncpy(p->doc, key, len), v);
    }
    return 0;
}

int merge_smp_map(struct merge_smp *p, const struct sl_schema *s, yyjson_mut_val *into,
                  yyjson_mut_val *patch, unsigned depth) {
    yyjson_mut_val *what = yyjson_mut_obj_get(patch, PATCH);
    struct merge_parts parts;
    int r = 0;

    if (depth > SL_SMP_DEPTH)
        return merge_smp_unfit(p);
    if (what)
        return apply_directive(p, into, patch, what);
    if (yyjson_mut_obj_get(patch, RETAIN))
        r = retain(p, into, patch);
    if (r == 0)
        r = order_all(p, s, into, patch, depth);
    if (r < 0)
        return r;
    size_t n = yyjson_mut_obj_size(patch), i, max;
    yyjson_mut_val **keys = sl_arena_alloc(&p->a, (2 * n + 1) * sizeof(yyjson_mut_val *)), *key,
                   *value;
    yyjson_mut_obj_foreach (patch, i, max, key, value) {
        keys[2 * i] = key;
        keys[2 * i + 1] =
            value; /* it may move into another list, and the way through this one ends */
    }
    merge_parts_of_map(&p->a, into, n, &parts);
    for (i = 0; r == 0 && i < n; i++)
        r = merge_key(p, s, &parts, keys[2 * i], keys[2 * i + 1], depth);
    merge_parts_write(&parts, into);
    merge_parts_done(&parts);
    return r;
}

int sl_patch_strategic(const struct sl_schema *s, yyjson_mut_doc *doc, yyjson_val *object,
                       yyjson_val *patch, yyjson_mut_val **ret, struct sl_patch_err *err) {
    struct merge_smp p = {.doc = doc, .err = err};

    if (!yyjson_is_obj(patch) && !yyjson_is_null(patch)) {
        sl_buf_printf(&err->text,
                      "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                      sl_go_word(patch));
        return failed(&p, 400, "BadRequest");
    }
    sl_arena_init(&p.a, SL_PATCH_ARENA_BYTES);
    *ret = yyjson_val_mut_copy(doc, object);
    int r =
        yyjson_is_null(patch) ? 0 : merge_smp_map(&p, s, *ret, yyjson_val_mut_copy(doc, patch), 0);
    if (r == 0 && sl_arena_full(&p.a))
        r = sl_patch_too_large(err);
    sl_arena_done(&p.a);
    return r;
}
