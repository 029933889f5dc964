/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON patches and merge patches, with the semantics of the API server, which are wider than RFC
 * 6902 in places. There is one message for all patches that do not apply.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/merge/gotext.h"
#include "cluster/merge/merge.h"
#include "cluster/merge/parts.h"
#include "cluster/merge/typed.h"
#include "core/base/arena.h"
#include "lib/json/json.h"

static int refuse_patch(struct sl_patch_err *err, int status, const char *reason) {
    err->status = status;
    err->reason = reason;
    return SL_EINVAL;
}

int sl_patch_too_large(struct sl_patch_err *err) {
    sl_buf_clear(&err->text);
    sl_buf_puts(&err->text, "Request entity too large: applying the patch takes too much memory");
    return refuse_patch(err, 413, "RequestEntityTooLarge");
}

static int does_not_apply(struct sl_patch_err *err) {
    sl_buf_puts(&err->text, "the server rejected our request due to an error in our request");
    return refuse_patch(err, 422, "Invalid");
}

/* ---- paths ---- */

/* What stands in a document: a key of an object or an item of a list. */
struct place {
    yyjson_mut_val *in;
    char *key; /* unescaped */
    size_t len;
    uint32_t depth; /* of what stands there; the document itself has 0 */
};

#define KEY_STEPS 3u /* a key is compared and then passed once more, an item is passed */

/* The patch being applied. Its operations are small and their cost is not: each may search, walk or
 * copy the whole document. So their work is counted. */
struct patch {
    struct sl_arena a;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    uint64_t copied; /* bytes */
    uint64_t steps;  /* values that were passed on the way to others */
};

/* "~1" is a slash, "~0" a tilde; other tildes stay. In place. */
static size_t unescape(char *s, size_t len) {
    size_t to = 0;
    for (size_t i = 0; i < len; i++) {
        bool code = s[i] == '~' && i + 1 < len && (s[i + 1] == '0' || s[i + 1] == '1');
        s[to++] = (char)(code ? (s[i + 1] == '1' ? '/' : '~') : s[i]);
        i += code;
    }
    s[to] = '\0';
    return to;
}

/* The index that a key means in a list of n; false if it means none below 'limit'. */
static bool index_of(const char *key, size_t n, size_t limit, size_t *ret) {
    char *end;
    errno = 0;
    long long i = strtoll(key, &end, 10);
    if (end == key || *end || errno || *key == ' ' || *key == '\t')
        return false;
    if (i < 0)
        i += (long long)n;
    if (i < 0 || (unsigned long long)i >= limit)
        return false;
    *ret = (size_t)i;
    return true;
}

/* Finding something passes what stands before it, and putting it in or taking it out does so too.
 */
static bool charge_search(struct patch *p, yyjson_mut_val *in) {
    p->steps += (yyjson_mut_is_obj(in) ? KEY_STEPS : 1) * sl_json_mut_size(in) + 1;
    return p->steps <= SL_PATCH_MAX_STEPS;
}

static yyjson_mut_val *place_get(const struct place *p, bool *ret_bad) {
    size_t n = yyjson_mut_arr_size(p->in), i;
    *ret_bad = false;
    if (yyjson_mut_is_obj(p->in))
        return yyjson_mut_obj_getn(p->in, p->key, p->len);
    *ret_bad = !index_of(p->key, n, n, &i);
    return *ret_bad ? NULL : yyjson_mut_arr_get(p->in, i);
}

/* False: there is nothing on the way, or too much. */
static bool find_place(struct patch *p, yyjson_val *path, struct place *ret) {
    struct sl_text t = sl_json_view(path);

    if (sl_text_has_nul(t)) /* no key has one: it would be cut there */
        return false;
    char *s = sl_arena_strndup(&p->a, t.s, t.n), *end = s + t.n, *slash = memchr(s, '/', t.n);
    *ret = (struct place){.in = p->root};
    while (slash) {
        s = slash + 1;
        slash = memchr(s, '/', (size_t)(end - s));
        ret->key = s;
        ret->len = (size_t)((slash ? slash : end) - s);
        ret->len = unescape(s, ret->len);
        if (++ret->depth > SL_JSON_MAX_DEPTH || !charge_search(p, ret->in))
            return false;
        if (!slash)
            return true;
        bool bad;
        ret->in = place_get(ret, &bad);
        if (!yyjson_mut_is_ctn(ret->in))
            return false;
    }
    return false;
}

/* Does the value fit, at this depth? It was checked or read before, so the recursion is bounded by
 * the depth of a document. */
static bool copy_fits(struct patch *p, yyjson_mut_val *v, uint32_t depth) {
    yyjson_mut_val *key, *item;
    size_t i, max;

    if (++p->steps > SL_PATCH_MAX_STEPS)
        return false;
    if (!yyjson_mut_is_ctn(v))
        return true;
    if (depth >= SL_JSON_MAX_DEPTH)
        return false;
    yyjson_mut_arr_foreach (v, i, max, item) {
        if (!copy_fits(p, item, depth + 1))
            return false;
    }
    yyjson_mut_obj_foreach (v, i, max, key, item) {
        if (!copy_fits(p, item, depth + 1))
            return false;
    }
    return true;
}

static bool place_add(yyjson_mut_doc *doc, const struct place *p, yyjson_mut_val *v) {
    size_t n = yyjson_mut_arr_size(p->in), i;
    if (yyjson_mut_is_obj(p->in))
        return yyjson_mut_obj_put(p->in, yyjson_mut_strncpy(doc, p->key, p->len), v);
    if (strcmp(p->key, "-") == 0)
        return yyjson_mut_arr_append(p->in, v);
    return index_of(p->key, n + 1, n + 1, &i) && yyjson_mut_arr_insert(p->in, v, i);
}

static bool place_remove(const struct place *p) {
    size_t n = yyjson_mut_arr_size(p->in), i;
    if (yyjson_mut_is_obj(p->in))
        return yyjson_mut_obj_remove_keyn(p->in, p->key, p->len) != NULL;
    return index_of(p->key, n, n, &i) && yyjson_mut_arr_remove(p->in, i) != NULL;
}

/* ---- operations ---- */

/* The value of an operation, null if it has none. */
static yyjson_mut_val *value_of(struct patch *p, yyjson_val *op) {
    yyjson_val *v = yyjson_obj_get(op, "value");
    return v ? yyjson_val_mut_copy(p->doc, v) : yyjson_mut_null(p->doc);
}

static bool op_add(struct patch *p, yyjson_val *op, yyjson_val *path) {
    struct place at;
    if (!path || !find_place(p, path, &at))
        return false;
    yyjson_mut_val *v = value_of(p, op);
    return copy_fits(p, v, at.depth) && place_add(p->doc, &at, v);
}

static bool op_remove(struct patch *p, yyjson_val *op, yyjson_val *path) {
    struct place at;
    (void)op;
    return path && find_place(p, path, &at) && place_remove(&at);
}

static bool is_whole(yyjson_val *path) {
    return sl_json_view(path).n == 0;
}

static bool op_replace(struct patch *p, yyjson_val *op, yyjson_val *path) {
    struct place at;
    bool bad;

    if (path && is_whole(path)) {
        p->root = value_of(p, op);
        return yyjson_mut_is_ctn(p->root) && copy_fits(p, p->root, 0);
    }
    if (!path || !find_place(p, path, &at))
        return false;
    yyjson_mut_val *there = place_get(&at, &bad), *v = value_of(p, op);
    if (bad || !copy_fits(p, v, at.depth))
        return false;
    if (!there)
        return place_add(p->doc, &at, v);
    merge_assign(there, v);
    return true;
}

static bool op_test(struct patch *p, yyjson_val *op, yyjson_val *path) {
    yyjson_val *v = yyjson_obj_get(op, "value");
    yyjson_mut_val *there = p->root;
    struct place at;
    bool bad = false;

    if (!path)
        return false;
    if (!is_whole(path)) {
        if (!find_place(p, path, &at))
            return false;
        there = place_get(&at, &bad);
    }
    if (bad)
        return false;
    if (!v || !there)
        return (!v || yyjson_is_null(v)) && (!there || yyjson_mut_is_null(there));
    return merge_typed_equal(&p->a, v, there);
}

static bool op_move(struct patch *p, yyjson_val *op, yyjson_val *path) {
    yyjson_val *from = yyjson_obj_get(op, "from");
    struct place was, at;
    bool bad;

    if (!yyjson_is_str(from) || !find_place(p, from, &was))
        return false;
    yyjson_mut_val *v = place_get(&was, &bad);
    if (bad || !v || !place_remove(&was) || !path || !find_place(p, path, &at))
        return false;
    return (at.depth <= was.depth || copy_fits(p, v, at.depth)) && place_add(p->doc, &at, v);
}

static bool op_copy(struct patch *p, yyjson_val *op, yyjson_val *path) {
    yyjson_val *from = yyjson_obj_get(op, "from");
    struct place at;
    bool bad;
    size_t len = 4;

    if (!yyjson_is_str(from) || !find_place(p, from, &at))
        return false;
    yyjson_mut_val *v = place_get(&at, &bad);
    if (bad || !path || !find_place(p, path, &at) || (v && !copy_fits(p, v, at.depth)))
        return false;
    if (v) {
        char *text = yyjson_mut_val_write(v, 0, &len);
        free(text);
    }
    p->copied += len;
    if (p->copied > SL_PATCH_MAX_COPY)
        return false;
    return place_add(p->doc, &at, v ? yyjson_mut_val_mut_copy(p->doc, v) : yyjson_mut_null(p->doc));
}

static const struct {
    const char *name;
    bool (*run)(struct patch *p, yyjson_val *op, yyjson_val *path);
} ops[] = {
    {"add", op_add},   {"remove", op_remove}, {"replace", op_replace},
    {"test", op_test}, {"move", op_move},     {"copy", op_copy},
};

static bool run_op(struct patch *p, yyjson_val *op) {
    const char *name = sl_json_text(yyjson_obj_get(op, "op"));
    yyjson_val *path = yyjson_obj_get(op, "path");

    for (size_t i = 0; i < SL_LEN(ops); i++) {
        if (strcmp(ops[i].name, name) == 0)
            return ops[i].run(p, op, yyjson_is_str(path) ? path : NULL);
    }
    return false;
}

/* ---- is it a patch? ---- */

static int not_a_patch(yyjson_val *v, const char *as, const char *what, struct sl_patch_err *err) {
    sl_buf_printf(&err->text, "%sjson: cannot unmarshal %s into Go %s %s",
                  err->unread ? "" : "error decoding patch: ", sl_go_word(v), as, what);
    return refuse_patch(err, 400, "BadRequest");
}

static int check_patch(yyjson_val *patch, struct sl_patch_err *err) {
    static const char *const texts[] = {"op", "path", "from"};
    yyjson_val *op;
    size_t i, max;

    if (yyjson_is_null(patch))
        return 0;
    if (!yyjson_is_arr(patch))
        return not_a_patch(patch, "value of type",
                           err->unread ? "jsonpatch.Patch" : "[]handlers.jsonPatchOp", err);
    yyjson_arr_foreach (patch, i, max, op) {
        if (!yyjson_is_obj(op) && !yyjson_is_null(op))
            return not_a_patch(op, "value of type",
                               err->unread ? "jsonpatch.Operation" : "handlers.jsonPatchOp", err);
        for (size_t k = 0; k < SL_LEN(texts) && !err->unread; k++) {
            yyjson_val *v = yyjson_obj_get(op, texts[k]);
            if (!v || yyjson_is_str(v) || yyjson_is_null(v))
                continue;
            sl_buf_printf(&err->text,
                          "error decoding patch: json: cannot unmarshal %s into Go struct field "
                          "jsonPatchOp.%s of type string",
                          sl_go_word(v), texts[k]);
            return refuse_patch(err, 400, "BadRequest");
        }
    }
    if (max > SL_PATCH_MAX_OPS) {
        sl_buf_printf(&err->text,
                      "Request entity too large: The allowed maximum operations in a JSON patch is "
                      "%u, got %zu",
                      SL_PATCH_MAX_OPS, max);
        return refuse_patch(err, 413, "RequestEntityTooLarge");
    }
    return 0;
}

int sl_patch_json(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch, yyjson_mut_val **ret,
                  struct sl_patch_err *err) {
    struct patch p = {.doc = doc};
    yyjson_val *op;
    size_t i, max;
    bool good = true;

    int r = check_patch(patch, err);
    if (r < 0)
        return r;
    p.root = yyjson_val_mut_copy(doc, object);
    sl_arena_init(&p.a, SL_PATCH_PATHS_BYTES); /* one after the other */
    yyjson_arr_foreach (patch, i, max, op) {
        good = run_op(&p, op);
        if (!good || sl_arena_full(&p.a))
            break;
        sl_arena_clear(&p.a);
    }
    const bool full = sl_arena_full(&p.a);
    sl_arena_done(&p.a);
    if (full)
        return sl_patch_too_large(err);
    if (p.steps > SL_PATCH_MAX_STEPS) {
        sl_buf_printf(&err->text,
                      "Request entity too large: the operations of the JSON patch search and move "
                      "more than %u values",
                      SL_PATCH_MAX_STEPS);
        return refuse_patch(err, 413, "RequestEntityTooLarge");
    }
    if (!good)
        return does_not_apply(err);
    *ret = p.root;
    return 0;
}

/* ---- merge patches ---- */

#define MERGE_DEPTH 200u

static void merge(struct sl_arena *a, yyjson_mut_doc *doc, yyjson_mut_val *into, yyjson_val *patch,
                  unsigned depth) {
    yyjson_obj_iter it = yyjson_obj_iter_with(patch);
    struct merge_parts p;

    merge_parts_of_map(a, into, yyjson_obj_size(patch), &p);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it));) {
        struct sl_text name = sl_json_view(key);
        yyjson_val *v = yyjson_obj_iter_get_val(key);
        uint32_t at = merge_parts_find(&p, name.s, name.n);
        yyjson_mut_val *there = at == SL_MAP_NONE || p.v[at].gone ? NULL : p.v[at].v;
        if (yyjson_is_null(v)) {
            if (there)
                p.v[at].gone = true;
        } else if (yyjson_mut_is_obj(there) && yyjson_is_obj(v) && depth < MERGE_DEPTH) {
            merge(a, doc, there, v, depth + 1);
        } else {
            yyjson_mut_val *copy = yyjson_val_mut_copy(doc, v);
            if (!yyjson_mut_is_obj(there))
                merge_drop_nulls(copy, depth);
            if (there)
                merge_assign(there, copy);
            else
                merge_parts_add(&p, (struct merge_element){name.s, (uint32_t)name.n},
                                yyjson_mut_strncpy(doc, name.s, name.n), copy);
        }
    }
    merge_parts_write(&p, into);
    merge_parts_done(&p);
}

int sl_patch_merge(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch, yyjson_mut_val **ret,
                   struct sl_patch_err *err) {
    if (err->unread && yyjson_is_arr(patch)) { /* takes the place of the object */
        *ret = yyjson_val_mut_copy(doc, patch);
        merge_drop_nulls(*ret, 0);
        return 0;
    }
    if (yyjson_is_null(patch) || (err->unread && !yyjson_is_obj(patch))) {
        sl_buf_puts(&err->text, "Invalid JSON Patch");
        return refuse_patch(err, 400, "BadRequest");
    }
    if (!yyjson_is_obj(patch))
        return not_a_patch(patch, "value of type", "map[string]interface {}", err);
    struct sl_arena a;
    sl_arena_init(&a, SL_PATCH_ARENA_BYTES);
    *ret = yyjson_val_mut_copy(doc, object);
    merge(&a, doc, *ret, patch, 0);
    const bool full = sl_arena_full(&a);
    sl_arena_done(&a);
    return full ? sl_patch_too_large(err) : 0;
}
