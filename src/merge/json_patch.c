/*
 * JSON patches and merge patches, with the understanding that the API server has of them, which
 * is wider than RFC 6902 in places. What does not apply is told in one sentence for all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "merge/gotext.h"
#include "merge/merge.h"
#include "merge/parts.h"
#include "json/json.h"

static int refuse(struct sl_patch_err *err, int status, const char *reason) {
    err->status = status;
    err->reason = reason;
    return SL_EINVAL;
}

static int does_not_apply(struct sl_patch_err *err) {
    sl_buf_puts(&err->text, "the server rejected our request due to an error in our request");
    return refuse(err, 422, "Invalid");
}

/* ---- paths ---- */

/* What stands in a document: a key of an object or an item of a list. */
struct place {
    yyjson_mut_val *in;
    char *key; /* unescaped */
    size_t len;
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

static yyjson_mut_val *place_get(const struct place *p, bool *ret_bad) {
    size_t n = yyjson_mut_arr_size(p->in), i;
    *ret_bad = false;
    if (yyjson_mut_is_obj(p->in))
        return yyjson_mut_obj_getn(p->in, p->key, p->len);
    *ret_bad = !index_of(p->key, n, n, &i);
    return *ret_bad ? NULL : yyjson_mut_arr_get(p->in, i);
}

/* False: there is nothing on the way. */
static bool find(struct sl_arena *a, yyjson_mut_val *root, yyjson_val *path, struct place *ret) {
    char *s = sl_arena_strndup(a, yyjson_get_str(path), yyjson_get_len(path));
    char *end = s + yyjson_get_len(path), *slash = memchr(s, '/', (size_t)(end - s));

    ret->in = root;
    while (slash) {
        s = slash + 1;
        slash = memchr(s, '/', (size_t)(end - s));
        ret->key = s;
        ret->len = (size_t)((slash ? slash : end) - s);
        ret->len = unescape(s, ret->len);
        if (!slash)
            return true;
        bool bad;
        ret->in = place_get(ret, &bad);
        if (!yyjson_mut_is_ctn(ret->in))
            return false;
    }
    return false;
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

struct patch {
    struct sl_arena a;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root;
    uint64_t copied;
};

/* The value of an operation, null if it says none. */
static yyjson_mut_val *value_of(struct patch *p, yyjson_val *op) {
    yyjson_val *v = yyjson_obj_get(op, "value");
    return v ? yyjson_val_mut_copy(p->doc, v) : yyjson_mut_null(p->doc);
}

static bool op_add(struct patch *p, yyjson_val *op, yyjson_val *path) {
    struct place at;
    return path && find(&p->a, p->root, path, &at) && place_add(p->doc, &at, value_of(p, op));
}

static bool op_remove(struct patch *p, yyjson_val *op, yyjson_val *path) {
    struct place at;
    (void)op;
    return path && find(&p->a, p->root, path, &at) && place_remove(&at);
}

static bool op_replace(struct patch *p, yyjson_val *op, yyjson_val *path) {
    struct place at;
    bool bad;

    if (path && yyjson_get_len(path) == 0) {
        p->root = value_of(p, op);
        return yyjson_mut_is_ctn(p->root);
    }
    if (!path || !find(&p->a, p->root, path, &at))
        return false;
    yyjson_mut_val *there = place_get(&at, &bad), *v = value_of(p, op);
    if (bad)
        return false;
    if (!there)
        return place_add(p->doc, &at, v);
    sl_become(there, v);
    return true;
}

static bool op_test(struct patch *p, yyjson_val *op, yyjson_val *path) {
    yyjson_mut_val *v = value_of(p, op), *there = p->root;
    struct place at;
    bool bad = false;

    if (!path)
        return false;
    if (yyjson_get_len(path) > 0) {
        if (!find(&p->a, p->root, path, &at))
            return false;
        there = place_get(&at, &bad);
    }
    if (bad)
        return false;
    return there ? yyjson_mut_equals(there, v) : yyjson_mut_is_null(v);
}

static bool op_move(struct patch *p, yyjson_val *op, yyjson_val *path) {
    yyjson_val *from = yyjson_obj_get(op, "from");
    struct place at;
    bool bad;

    if (!yyjson_is_str(from) || !find(&p->a, p->root, from, &at))
        return false;
    yyjson_mut_val *v = place_get(&at, &bad);
    if (bad || !v || !place_remove(&at))
        return false;
    return path && find(&p->a, p->root, path, &at) && place_add(p->doc, &at, v);
}

static bool op_copy(struct patch *p, yyjson_val *op, yyjson_val *path) {
    yyjson_val *from = yyjson_obj_get(op, "from");
    struct place at;
    bool bad;
    size_t len = 4;

    if (!yyjson_is_str(from) || !find(&p->a, p->root, from, &at))
        return false;
    yyjson_mut_val *v = place_get(&at, &bad);
    if (bad || !path || !find(&p->a, p->root, path, &at))
        return false;
    if (v) {
        char *text = yyjson_mut_val_write(v, 0, &len);
        free(text);
        v = yyjson_mut_val_mut_copy(p->doc, v);
    }
    p->copied += len;
    return p->copied <= SL_PATCH_MAX_COPY &&
           place_add(p->doc, &at, v ? v : yyjson_mut_null(p->doc));
}

static const struct {
    const char *name;
    bool (*run)(struct patch *p, yyjson_val *op, yyjson_val *path);
} ops[] = {
    {"add", op_add},   {"remove", op_remove}, {"replace", op_replace},
    {"test", op_test}, {"move", op_move},     {"copy", op_copy},
};

static bool run(struct patch *p, yyjson_val *op) {
    const char *name = yyjson_get_str(yyjson_obj_get(op, "op"));
    yyjson_val *path = yyjson_obj_get(op, "path");

    for (size_t i = 0; name && i < SL_LEN(ops); i++) {
        if (strcmp(ops[i].name, name) == 0)
            return ops[i].run(p, op, yyjson_is_str(path) ? path : NULL);
    }
    return false;
}

/* ---- is it a patch? ---- */

static int not_a_patch(yyjson_val *v, const char *as, const char *what, struct sl_patch_err *err) {
    sl_buf_printf(&err->text, "%sjson: cannot unmarshal %s into Go %s %s",
                  err->unread ? "" : "error decoding patch: ", sl_go_word(v), as, what);
    return refuse(err, 400, "BadRequest");
}

static int check(yyjson_val *patch, struct sl_patch_err *err) {
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
            return refuse(err, 400, "BadRequest");
        }
    }
    if (max > SL_PATCH_MAX_OPS) {
        sl_buf_printf(&err->text,
                      "Request entity too large: The allowed maximum operations in a JSON patch is "
                      "%u, got %zu",
                      SL_PATCH_MAX_OPS, max);
        return refuse(err, 413, "RequestEntityTooLarge");
    }
    return 0;
}

/* Operations may nest what they find ever deeper. */
static bool too_deep(yyjson_mut_val *v, unsigned left) {
    yyjson_mut_val *key, *item;
    size_t i, max;

    if (!yyjson_mut_is_ctn(v))
        return false;
    if (left == 0)
        return true;
    yyjson_mut_arr_foreach (v, i, max, item) {
        if (too_deep(item, left - 1))
            return true;
    }
    yyjson_mut_obj_foreach (v, i, max, key, item) {
        if (too_deep(item, left - 1))
            return true;
    }
    return false;
}

int sl_patch_json(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch, yyjson_mut_val **ret,
                  struct sl_patch_err *err) {
    struct patch p = {.doc = doc};
    yyjson_val *op;
    size_t i, max;
    bool good = true;

    int r = check(patch, err);
    if (r < 0)
        return r;
    p.root = yyjson_val_mut_copy(doc, object);
    sl_arena_init(&p.a, (size_t)64 << 20); /* paths, one after the other */
    yyjson_arr_foreach (patch, i, max, op) {
        good = run(&p, op);
        if (!good)
            break;
        sl_arena_clear(&p.a);
    }
    sl_arena_done(&p.a);
    if (!good || too_deep(p.root, SL_JSON_MAX_DEPTH))
        return does_not_apply(err);
    *ret = p.root;
    return 0;
}

/* ---- merge patches ---- */

#define MERGE_DEPTH 200u

static void merge(struct sl_arena *a, yyjson_mut_doc *doc, yyjson_mut_val *into, yyjson_val *patch,
                  unsigned depth) {
    yyjson_obj_iter it = yyjson_obj_iter_with(patch);
    struct sl_parts p;

    sl_parts_of_map(a, into, yyjson_obj_size(patch), &p);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it));) {
        const char *name = yyjson_get_str(key);
        size_t len = yyjson_get_len(key);
        yyjson_val *v = yyjson_obj_iter_get_val(key);
        uint32_t at = sl_parts_find(&p, name, len);
        yyjson_mut_val *there = at == SL_MAP_NONE || p.v[at].gone ? NULL : p.v[at].v;
        if (yyjson_is_null(v)) {
            if (there)
                p.v[at].gone = true;
        } else if (yyjson_mut_is_obj(there) && yyjson_is_obj(v) && depth < MERGE_DEPTH) {
            merge(a, doc, there, v, depth + 1);
        } else {
            yyjson_mut_val *copy = yyjson_val_mut_copy(doc, v);
            if (!yyjson_mut_is_obj(there))
                sl_drop_nulls(copy, depth);
            if (there)
                sl_become(there, copy);
            else
                sl_parts_add(&p, (struct sl_element){name, (uint32_t)len},
                             yyjson_mut_strncpy(doc, name, len), copy);
        }
    }
    sl_parts_write(&p, into);
    sl_parts_done(&p);
}

int sl_patch_merge(yyjson_mut_doc *doc, yyjson_val *object, yyjson_val *patch, yyjson_mut_val **ret,
                   struct sl_patch_err *err) {
    if (err->unread && yyjson_is_arr(patch)) { /* takes the place of the object */
        *ret = yyjson_val_mut_copy(doc, patch);
        sl_drop_nulls(*ret, 0);
        return 0;
    }
    if (yyjson_is_null(patch) || (err->unread && !yyjson_is_obj(patch))) {
        sl_buf_puts(&err->text, "Invalid JSON Patch");
        return refuse(err, 400, "BadRequest");
    }
    if (!yyjson_is_obj(patch))
        return not_a_patch(patch, "value of type", "map[string]interface {}", err);
    struct sl_arena a;
    sl_arena_init(&a, (size_t)1 << 30);
    *ret = yyjson_val_mut_copy(doc, object);
    merge(&a, doc, *ret, patch, 0);
    sl_arena_done(&a);
    return 0;
}
