/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/apiserver/table/jsonpath_int.h"

#include <string.h>

#include "core/base/text.h"
#include "lib/json/json.h"

/* Values that a step leads to. */
struct set {
    yyjson_val **v;
    size_t n, room;
};

struct walk {
    struct sl_arena *arena;
    uint64_t *steps;
    bool failed; /* there is no result */
};

/* Items of a list or object that are skipped for one step. */
#define PASSED_PER_STEP 16u

/* Counts before it is done; false: it is not to be done. */
static bool charge(struct walk *w, uint64_t n) {
    *w->steps = *w->steps > n && !sl_arena_full(w->arena) ? *w->steps - n : 0;
    return *w->steps > 0;
}

static void push(struct walk *w, struct set *to, yyjson_val *v) {
    if (!charge(w, 1))
        return;
    if (to->n == to->room) {
        size_t room = to->room ? 2 * to->room : 8;
        yyjson_val **more = sl_arena_alloc(w->arena, room * sizeof(yyjson_val *));
        if (to->n)
            memcpy(more, to->v, to->n * sizeof(yyjson_val *));
        to->v = more;
        to->room = room;
    }
    to->v[to->n++] = v;
}

/* All that a value has directly below it; of a text, its bytes as numbers. */
static void push_all(struct walk *w, struct set *to, yyjson_val *v) {
    yyjson_val *key, *item;
    size_t i, n;

    sl_obj_foreach (v, i, n, key, item) {
        push(w, to, item);
    }
    yyjson_arr_foreach (v, i, n, item) {
        push(w, to, item);
    }
    const struct sl_text t = sl_json_view(v);
    for (i = 0; i < t.n && charge(w, 1); i++) {
        yyjson_val *byte = sl_arena_alloc0(w->arena, 1, sizeof(*byte));
        byte->tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT;
        byte->uni.i64 = (unsigned char)t.s[i];
        push(w, to, byte);
    }
}

static yyjson_val *field_of(struct walk *w, yyjson_val *v, const struct api_jp_node *n) {
    if (!charge(w, sl_json_size(v) / PASSED_PER_STEP + 1))
        return NULL;
    return yyjson_obj_getn(v, n->s, n->len);
}

/* The value, and all below it that have something below themselves. */
static void descend(struct walk *w, struct set *to, yyjson_val *v, uint32_t depth) {
    yyjson_val *key, *item;
    size_t i, n;

    if (yyjson_is_null(v) || (!sl_json_size(v) && !sl_json_view(v).n))
        return;
    if (depth == SL_JSONPATH_DESCENT) {
        w->failed = true;
        return;
    }
    push(w, to, v);
    sl_obj_foreach (v, i, n, key, item) {
        if (charge(w, 1))
            descend(w, to, item, depth + 1);
    }
    yyjson_arr_foreach (v, i, n, item) {
        if (charge(w, 1))
            descend(w, to, item, depth + 1);
    }
}

/* Items from a to b, each one of so many. False: there are no such ones. */
static bool slice(struct walk *w, struct set *to, yyjson_val *v,
                  const struct api_jp_bound bounds[3], bool *ret_none) {
    int64_t len = (int64_t)yyjson_arr_size(v), from = bounds[0].known ? bounds[0].n : 0;
    int64_t upto = bounds[1].known ? bounds[1].n : len, step = bounds[2].known ? bounds[2].n : 1;
    yyjson_val *item;
    size_t i, n;

    if (from < 0)
        from += len;
    if (upto < 0 || (upto == 0 && bounds[1].derived))
        upto += len;
    *ret_none = from == upto;
    if (from == upto)
        return true;
    if (from < 0 || from >= len || upto < 0 || upto > len || from > upto || step <= 0 ||
        !charge(w, (uint64_t)len / PASSED_PER_STEP + 1))
        return false;
    yyjson_arr_foreach (v, i, n, item) {
        int64_t at = (int64_t)i - from;
        if (at >= 0 && (int64_t)i < upto && at % step == 0)
            push(w, to, item);
    }
    return true;
}

static struct set run(struct walk *w, const struct api_jp_node *n, struct set in);

/* The one value of a side; NULL: none. Several cannot be compared. */
static yyjson_val *side(struct walk *w, const struct api_jp_node *path, yyjson_val *item) {
    struct set found = run(w, path, (struct set){.v = &item, .n = 1, .room = 1});

    w->failed = w->failed || found.n > 1;
    return found.n == 1 ? found.v[0] : NULL;
}

enum basic { B_NONE, B_BOOL, B_INT, B_REAL, B_TEXT };
static enum basic basic_of(const yyjson_val *v) {
    switch (yyjson_get_type((yyjson_val *)v)) {
    case YYJSON_TYPE_BOOL:
        return B_BOOL;
    case YYJSON_TYPE_NUM:
        return yyjson_is_real((yyjson_val *)v) ? B_REAL : B_INT;
    case YYJSON_TYPE_STR:
        return B_TEXT;
    default:
        return B_NONE;
    }
}

/* Only values of one type can be compared, and truth values have no order. */
static bool compares(struct walk *w, enum api_jp_compare op, yyjson_val *a, yyjson_val *b) {
    enum basic type = basic_of(a);
    int c = 0;

    if (type == B_NONE || type != basic_of(b) || op == JP_UNKNOWN ||
        (type == B_BOOL && op > JP_NE)) {
        w->failed = true;
        return false;
    }
    switch (type) {
    case B_BOOL:
        c = yyjson_get_bool(a) - yyjson_get_bool(b);
        break;
    case B_INT:
        c = (yyjson_get_sint(a) > yyjson_get_sint(b)) - (yyjson_get_sint(a) < yyjson_get_sint(b));
        break;
    case B_REAL:
        c = (yyjson_get_real(a) > yyjson_get_real(b)) - (yyjson_get_real(a) < yyjson_get_real(b));
        break;
    default:
        if (charge(w, sl_json_view(a).n / 16))
            c = sl_text_cmp(sl_json_view(a), sl_json_view(b));
    }
    switch (op) {
    case JP_EQ:
        return c == 0;
    case JP_NE:
        return c != 0;
    case JP_LT:
        return c < 0;
    case JP_LE:
        return c <= 0;
    case JP_GT:
        return c > 0;
    default:
        return c >= 0;
    }
}

static bool passes(struct walk *w, const struct api_jp_node *f, yyjson_val *item) {
    if (f->op == JP_EXISTS) {
        struct set found = run(w, f->paths[0], (struct set){.v = &item, .n = 1, .room = 1});
        w->failed = false; /* what it came to before the error counts */
        return found.n > 0;
    }
    yyjson_val *a = side(w, f->paths[0], item);
    if (w->failed || !a)
        return false;
    yyjson_val *b = side(w, f->paths[1], item);
    return !w->failed && b && compares(w, f->op, a, b);
}

static void filter(struct walk *w, const struct api_jp_node *f, yyjson_val *v, struct set *to) {
    yyjson_val *item;
    size_t i, n;

    if (!yyjson_is_arr(v)) {
        w->failed = true;
        return;
    }
    yyjson_arr_foreach (v, i, n, item) {
        if (w->failed || !charge(w, 1))
            return;
        if (passes(w, f, item))
            push(w, to, item);
    }
}

/* One step from one value; true: the rest of the values is left out. */
static bool step(struct walk *w, const struct api_jp_node *n, yyjson_val *v, struct set *to) {
    yyjson_val *found;
    bool none = false;

    switch (n->kind) {
    case JP_FIELD:
        found = field_of(w, v, n);
        if (found)
            push(w, to, found);
        break;
    case JP_ALL:
        push_all(w, to, v);
        break;
    case JP_DESCENT:
        descend(w, to, v, 0);
        break;
    case JP_SLICE:
        if (!yyjson_is_null(v) && (!yyjson_is_arr(v) || !slice(w, to, v, n->bounds, &none)))
            w->failed = true;
        return none;
    case JP_FILTER:
        filter(w, n, v, to);
        break;
    case JP_VALUE:
        push(w, to, (yyjson_val *)&n->value);
        break;
    default:
        w->failed = true;
    }
    return false;
}

/* Where it fails, what the failing step began with is left. */
static struct set run(struct walk *w, const struct api_jp_node *n, struct set in) {
    for (; n && !w->failed && *w->steps; n = n->next) {
        struct set out = {0};
        for (uint32_t p = 0; n->kind == JP_UNION && p < n->n_paths && !w->failed; p++) {
            struct set some = run(w, n->paths[p], in);
            for (size_t i = 0; i < some.n; i++)
                push(w, &out, some.v[i]);
        }
        for (size_t i = 0; n->kind != JP_UNION && i < in.n && !w->failed && *w->steps; i++)
            if (step(w, n, in.v[i], &out))
                break;
        if (!w->failed)
            in = out;
    }
    return in;
}

yyjson_val *api_jsonpath_first(const struct api_jsonpath *p, yyjson_val *root,
                               struct sl_arena *arena, uint64_t *steps) {
    struct walk w = {.arena = arena, .steps = steps};

    if (p->fields) {
        for (const struct api_jp_node *n = p->first; n && root; n = n->next)
            root = field_of(&w, root, n);
        return root;
    }
    struct set found = run(&w, p->first, (struct set){.v = &root, .n = 1, .room = 1});
    return w.failed || !found.n ? NULL : found.v[0];
}
