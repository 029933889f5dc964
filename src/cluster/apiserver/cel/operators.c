/* SPDX-License-Identifier: Apache-2.0 */
/* Operators with two sides: sums, order, what is in what. */
#include <string.h>

#include "cluster/apiserver/cel/tree.h"
#include "core/base/time.h"

static struct api_value join_texts(struct api_run *x, const struct api_value *a,
                                   const struct api_value *b) {
    char *s = api_cel_make(x, a->len + b->len + 1);

    if (!s)
        return api_cel_too_costly(x);
    if (a->len)
        memcpy(s, a->s, a->len);
    if (b->len)
        memcpy(s + a->len, b->s, b->len);
    s[a->len + b->len] = '\0';
    struct api_value ret = api_cel_text(s, a->len + b->len);
    ret.kind = a->kind;
    return ret;
}

/* The index of an item of a set that is the same, or of a list of objects with the same keys. */
static size_t same_item(struct api_run *x, const struct api_cel_type *type,
                        const struct api_value *items, size_t n, const struct api_value *like) {
    for (size_t i = 0; i < n && x->steps <= x->max; i++) {
        bool same = type->list == LIST_SET
                        ? api_cel_equal(x, &items[i], like)
                        : type->n_keys > 0 && api_cel_is_map(&items[i]) && api_cel_is_map(like);
        for (uint32_t k = 0; same && type->list == LIST_MAP && k < type->n_keys; k++) {
            struct api_value key = api_cel_text(type->keys[k], strlen(type->keys[k])), a, b;
            bool in_a = api_cel_find(x, &items[i], &key, &a),
                 in_b = api_cel_find(x, like, &key, &b);
            same = in_a == in_b && (!in_a || api_cel_equal(x, &a, &b));
        }
        if (same)
            return i;
    }
    return n;
}

/* What is in both of two sets is there once; of objects with keys, the second replaces the first.
 */
static struct api_value join_lists(struct api_run *x, const struct api_value *a,
                                   const struct api_value *b) {
    struct api_value *items = api_cel_make(x, (api_cel_size(a) + api_cel_size(b)) * sizeof(*items)),
                     key, v;
    const struct api_cel_type *type = a->type;
    bool merges = type && type->kind == T_LIST && type->list != LIST_ATOMIC;
    struct api_walk w;
    size_t n = 0;

    if (!items)
        return api_cel_too_costly(x);
    (void)api_cel_walk_begin(&w, a);
    while (api_cel_walk_next(x, &w, &key, &v))
        items[n++] = v;
    (void)api_cel_walk_begin(&w, b);
    while (x->steps <= x->max && api_cel_walk_next(x, &w, &key, &v)) {
        size_t at = merges ? same_item(x, type, items, n, &v) : n;
        items[at] = v;
        n += at == n;
    }
    if (x->steps > x->max)
        return api_cel_too_costly(x);
    for (size_t i = 0; i < n; i++)
        if (items[i].kind == V_ERROR)
            return (struct api_value){.kind = V_ERROR};
    struct api_value ret = api_cel_list(items, n);
    ret.type = type;
    return ret;
}

static struct api_value overflow(struct api_run *x, const char *what) {
    return api_cel_error(x, "%s overflow", what);
}

static struct api_value arithmetic_int(struct api_run *x, enum api_cel_op op, int64_t a,
                                       int64_t b) {
    int64_t n = 0;
    bool over = false;

    if ((op == OP_DIV || op == OP_MOD) && b == 0)
        return api_cel_error(x, op == OP_DIV ? "division by zero" : "modulus by zero");
    if ((op == OP_DIV || op == OP_MOD) && a == INT64_MIN && b == -1)
        return overflow(x, "integer");
    if (op == OP_ADD)
        over = __builtin_add_overflow(a, b, &n);
    else if (op == OP_SUB)
        over = __builtin_sub_overflow(a, b, &n);
    else if (op == OP_MUL)
        over = __builtin_mul_overflow(a, b, &n);
    else
        n = op == OP_DIV ? a / b : a % b;
    return over ? overflow(x, "integer") : api_cel_int(n);
}

static struct api_value arithmetic_uint(struct api_run *x, enum api_cel_op op, uint64_t a,
                                        uint64_t b) {
    uint64_t n = 0;
    bool over = false;

    if ((op == OP_DIV || op == OP_MOD) && b == 0)
        return api_cel_error(x, op == OP_DIV ? "division by zero" : "modulus by zero");
    if (op == OP_ADD)
        over = __builtin_add_overflow(a, b, &n);
    else if (op == OP_SUB)
        over = __builtin_sub_overflow(a, b, &n);
    else if (op == OP_MUL)
        over = __builtin_mul_overflow(a, b, &n);
    else
        n = op == OP_DIV ? a / b : a % b;
    return over ? overflow(x, "unsigned integer") : api_cel_uint(n);
}

#define TIME_FIRST INT64_C(-62135596800) /* the year 1 */
#define TIME_LAST INT64_C(253402300799)  /* the year 9999 */

static struct api_value move_time(struct api_run *x, const struct api_value *t, int64_t ns,
                                  bool back) {
    const __int128 whole =
        (__int128)t->sec * SL_SEC + t->nsec + (back ? -(__int128)ns : (__int128)ns);
    __int128 sec = whole / SL_SEC, rest = whole % SL_SEC;

    if (rest < 0) {
        rest += SL_SEC;
        sec--;
    }
    if (sec < TIME_FIRST || sec > TIME_LAST)
        return overflow(x, "timestamp");
    return (struct api_value){.kind = V_TIME, .sec = (int64_t)sec, .nsec = (int32_t)rest};
}

static struct api_value between_times(struct api_run *x, const struct api_value *a,
                                      const struct api_value *b) {
    const __int128 ns = (__int128)(a->sec - b->sec) * SL_SEC + (a->nsec - b->nsec);

    return ns > INT64_MAX || ns < INT64_MIN ? overflow(x, "timestamp") : api_cel_span((int64_t)ns);
}

static struct api_value arithmetic_time(struct api_run *x, enum api_cel_op op,
                                        const struct api_value *a, const struct api_value *b) {
    int64_t n;

    if (a->kind == V_DURATION && b->kind == V_DURATION && (op == OP_ADD || op == OP_SUB)) {
        bool over = op == OP_ADD ? __builtin_add_overflow(a->num, b->num, &n)
                                 : __builtin_sub_overflow(a->num, b->num, &n);
        return over ? overflow(x, "duration") : api_cel_span(n);
    }
    if (a->kind == V_TIME && b->kind == V_DURATION && (op == OP_ADD || op == OP_SUB))
        return move_time(x, a, b->num, op == OP_SUB);
    if (a->kind == V_DURATION && b->kind == V_TIME && op == OP_ADD)
        return move_time(x, b, a->num, false);
    if (a->kind == V_TIME && b->kind == V_TIME && op == OP_SUB)
        return between_times(x, a, b);
    return api_cel_no_overload(x);
}

struct api_value api_cel_arithmetic(struct api_run *x, enum api_cel_op op,
                                    const struct api_value *a, const struct api_value *b) {
    if (op == OP_ADD && a->kind == b->kind && (a->kind == V_STR || a->kind == V_BYTES))
        return join_texts(x, a, b);
    if (op == OP_ADD && api_cel_is_list(a) && api_cel_is_list(b))
        return join_lists(x, a, b);
    if (a->kind == V_INT && b->kind == V_INT)
        return arithmetic_int(x, op, a->num, b->num);
    if (a->kind == V_UINT && b->kind == V_UINT)
        return arithmetic_uint(x, op, a->unum, b->unum);
    if (a->kind == V_REAL && b->kind == V_REAL && op != OP_MOD)
        return api_cel_real(op == OP_ADD   ? a->real + b->real
                            : op == OP_SUB ? a->real - b->real
                            : op == OP_MUL ? a->real * b->real
                                           : a->real / b->real);
    return arithmetic_time(x, op, a, b);
}

struct api_value api_cel_is_in(struct api_run *x, const struct api_value *a,
                               const struct api_value *b) {
    struct api_value key, item;
    struct api_walk w;
    bool found = false;

    if (api_cel_is_map(b)) {
        found = api_cel_find(x, b, a, &item);
        return found && (x->steps > x->max || (b->kind == V_JSON && a->kind != V_STR))
                   ? item
                   : api_cel_bool(found);
    }
    if (!api_cel_is_list(b))
        return api_cel_no_overload(x);
    (void)api_cel_walk_begin(&w, b);
    while (!found && x->steps <= x->max && api_cel_walk_next(x, &w, &key, &item))
        found = api_cel_equal(x, a, &item);
    return x->steps > x->max ? api_cel_too_costly(x) : api_cel_bool(found);
}

struct api_value api_cel_in_order(struct api_run *x, enum api_cel_op op, const struct api_value *a,
                                  const struct api_value *b) {
    int c;

    if (!api_cel_compare(x, a, b, &c))
        return api_cel_no_overload(x);
    if (x->steps > x->max)
        return api_cel_too_costly(x);
    if (c == 2)
        return api_cel_bool(false);
    return api_cel_bool(op == OP_LT ? c < 0 : op == OP_LE ? c <= 0 : op == OP_GT ? c > 0 : c >= 0);
}
