/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/cel/tree.h"
#include "lib/json/json.h"
#include "lib/json/seek.h"
#include "lib/pattern/pattern.h"

/* ---- values ---- */

enum kind { V_ERROR, V_NULL, V_BOOL, V_INT, V_REAL, V_STR, V_JSON, V_LIST };

struct value {
    enum kind kind;
    union {
        bool yes;
        int64_t num;
        double real;
        struct {
            const char *s;
            size_t len;
        };
        yyjson_val *json; /* a list or an object */
        struct {
            const struct value *items;
            size_t n;
        };
    };
};

struct run {
    yyjson_val *self, *old;
    struct value vars[SL_CEL_MAX_DEPTH];
    uint32_t n_vars;
    uint64_t steps, max;   /* so far, and allowed */
    struct sl_arena arena; /* lists that are made on the way */
    struct sl_err *err;
};

static struct value error(struct run *x, const char *what) {
    (void)sl_err_set(x->err, SL_EINVAL, "%s", what);
    return (struct value){.kind = V_ERROR};
}

/* Counts before it is done; false: it is not to be done. */
static bool charge_steps(struct run *x, uint64_t steps) {
    x->steps += steps;
    return x->steps <= x->max;
}

static struct value too_costly(struct run *x) {
    x->steps = x->max + 1; /* and nothing more is */
    return error(x, "the rule exceeds the cost that rules may have");
}

static struct value of_bool(bool yes) {
    return (struct value){.kind = V_BOOL, .yes = yes};
}
static struct value of_int(int64_t n) {
    return (struct value){.kind = V_INT, .num = n};
}

static struct value of_text(struct sl_text t) {
    return (struct value){.kind = V_STR, .s = t.s, .len = t.n};
}

static struct value of_json(yyjson_val *v) {
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_BOOL:
        return of_bool(yyjson_get_bool(v));
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(v))
            return (struct value){.kind = V_REAL, .real = yyjson_get_real(v)};
        return of_int(yyjson_is_uint(v) && yyjson_get_uint(v) > INT64_MAX ? INT64_MAX
                                                                          : yyjson_get_sint(v));
    case YYJSON_TYPE_STR:
        return of_text(sl_json_view(v));
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ:
        return (struct value){.kind = V_JSON, .json = v};
    default:
        return (struct value){.kind = V_NULL};
    }
}

static bool is_list(const struct value *v) {
    return v->kind == V_LIST || (v->kind == V_JSON && yyjson_is_arr(v->json));
}

/* A walk over a list, or over the keys of a map. */
struct walk {
    const struct value *list;
    yyjson_arr_iter in_list;
    yyjson_obj_iter in_map;
    size_t at;
};

static bool walk_begin(struct walk *w, const struct value *list) {
    *w = (struct walk){.list = list};
    if (list->kind == V_JSON && yyjson_is_arr(list->json))
        w->in_list = yyjson_arr_iter_with(list->json);
    else if (list->kind == V_JSON)
        w->in_map = yyjson_obj_iter_with(list->json);
    else if (list->kind != V_LIST)
        return false;
    return true;
}

static bool walk_next(struct walk *w, struct value *ret) {
    yyjson_val *v;

    if (w->list->kind == V_LIST) {
        if (w->at == w->list->n)
            return false;
        *ret = w->list->items[w->at++];
        return true;
    }
    v = yyjson_is_arr(w->list->json) ? yyjson_arr_iter_next(&w->in_list)
                                     : yyjson_obj_iter_next(&w->in_map);
    if (!v)
        return false;
    *ret = of_json(v);
    return true;
}

static size_t value_size(const struct value *v) {
    return v->kind == V_LIST        ? v->n
           : yyjson_is_arr(v->json) ? yyjson_arr_size(v->json)
                                    : yyjson_obj_size(v->json);
}

static bool values_equal(struct run *x, const struct value *a, const struct value *b);

static bool same_lists(struct run *x, const struct value *a, const struct value *b) {
    struct walk in_a, in_b;
    struct value item, other;

    if (!is_list(a) || !is_list(b) || value_size(a) != value_size(b))
        return false;
    walk_begin(&in_a, a);
    walk_begin(&in_b, b);
    while (walk_next(&in_a, &item) && walk_next(&in_b, &other))
        if (!values_equal(x, &item, &other))
            return false;
    return true;
}

/* The caller checks afterwards whether the budget was exceeded. */

static bool values_equal(struct run *x, const struct value *a, const struct value *b) {
    if (!charge_steps(x, 1))
        return false;
    if ((a->kind == V_INT || a->kind == V_REAL) && (b->kind == V_INT || b->kind == V_REAL)) {
        if (a->kind == V_INT && b->kind == V_INT)
            return a->num == b->num;
        return (a->kind == V_INT ? (double)a->num : a->real) ==
               (b->kind == V_INT ? (double)b->num : b->real);
    }
    if (is_list(a) || is_list(b))
        return same_lists(x, a, b);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case V_BOOL:
        return a->yes == b->yes;
    case V_STR:
        return a->len == b->len && charge_steps(x, a->len / 16) && memcmp(a->s, b->s, a->len) == 0;
    case V_JSON:
        return sl_json_equal(a->json, b->json, &x->steps);
    default:
        return a->kind == V_NULL;
    }
}

/* ---- evaluation ---- */

static struct value eval(struct run *x, const struct api_cel_node *n);

static struct value eval_field(struct run *x, const struct api_cel_node *n, bool presence) {
    struct value of = eval(x, n->a);
    yyjson_val *v;

    if (of.kind == V_ERROR)
        return of;
    if (of.kind != V_JSON || !yyjson_is_obj(of.json))
        return error(x, "no such overload");
    if (!charge_steps(x, yyjson_obj_size(of.json) / 4))
        return too_costly(x);
    v = yyjson_obj_get(of.json, n->s);
    if (presence)
        return of_bool(v && !yyjson_is_null(v));
    if (!v) {
        (void)sl_err_set(x->err, SL_EINVAL, "no such key: %.100s", n->s);
        return (struct value){.kind = V_ERROR};
    }
    return of_json(v);
}

static struct value eval_index(struct run *x, const struct api_cel_node *n) {
    struct value of = eval(x, n->a), at = eval(x, n->b);

    if (of.kind == V_ERROR || at.kind == V_ERROR)
        return (struct value){.kind = V_ERROR};
    if (is_list(&of) && at.kind == V_INT) {
        if (at.num < 0 || (uint64_t)at.num >= value_size(&of))
            return error(x, "index out of bounds");
        if (!charge_steps(x, of.kind == V_LIST ? 0 : (uint64_t)at.num / 4))
            return too_costly(x);
        return of.kind == V_LIST ? of.items[at.num]
                                 : of_json(yyjson_arr_get(of.json, (size_t)at.num));
    }
    if (of.kind == V_JSON && yyjson_is_obj(of.json) && at.kind == V_STR) {
        if (!charge_steps(x, yyjson_obj_size(of.json) / 4))
            return too_costly(x);
        yyjson_val *v = yyjson_obj_getn(of.json, at.s, at.len);
        return v ? of_json(v) : error(x, "no such key");
    }
    return error(x, "no such overload");
}

/* false && error is false, as is error && false; likewise ||. */
static struct value eval_logic(struct run *x, const struct api_cel_node *n) {
    bool decides = n->op == OP_OR;
    struct value a = eval(x, n->a), b;

    if (a.kind == V_BOOL && a.yes == decides)
        return a;
    b = eval(x, n->b);
    if (b.kind == V_BOOL && b.yes == decides)
        return b;
    if (a.kind == V_BOOL && b.kind == V_BOOL)
        return of_bool(!decides);
    return a.kind == V_ERROR || b.kind == V_ERROR ? (struct value){.kind = V_ERROR}
                                                  : error(x, "no such overload");
}

static struct value eval_macro(struct run *x, const struct api_cel_node *n) {
    struct value list = eval(x, n->a), item, *made = NULL;
    size_t found = 0, length;
    struct walk w;
    bool failed = false;

    if (list.kind == V_ERROR)
        return list;
    if (!walk_begin(&w, &list))
        return error(x, "no such overload");
    length = value_size(&list);
    if (n->op == OP_MAP || n->op == OP_FILTER) {
        if (!charge_steps(x, length / 4) ||
            x->arena.used + (length + 1) * sizeof(*made) > API_CEL_MADE)
            return too_costly(x);
        made = sl_arena_alloc(&x->arena, (length + 1) * sizeof(*made));
    }
    sl_assert(x->n_vars < SL_CEL_MAX_DEPTH);
    while (walk_next(&w, &item)) {
        struct value v;
        x->vars[x->n_vars++] = item;
        v = eval(x, n->b);
        x->n_vars--;
        if (x->steps > x->max)
            return too_costly(x);
        if (n->op == OP_MAP) {
            if (v.kind == V_ERROR)
                return v;
            made[found++] = v;
            continue;
        }
        if (v.kind != V_BOOL) {
            if (v.kind != V_ERROR)
                (void)error(x, "no such overload");
            failed = true; /* another item may still decide */
            continue;
        }
        if (n->op == OP_ALL && !v.yes)
            return v;
        if (n->op == OP_EXISTS && v.yes)
            return v;
        if (n->op == OP_FILTER && v.yes)
            made[found] = item;
        found += v.yes;
    }
    if (failed)
        return (struct value){.kind = V_ERROR};
    if (made)
        return (struct value){.kind = V_LIST, .items = made, .n = found};
    return of_bool(n->op == OP_ALL ? true : n->op == OP_ONE && found == 1);
}

static size_t characters(const char *s, size_t len) {
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += (s[i] & 0xc0) != 0x80;
    return n;
}

#define PATTERN_STEPS 1000u /* of making one, and as many for some letters of it */

static struct value eval_matches(struct run *x, const struct api_cel_node *n, const struct value *a,
                                 const struct value *b) {
    struct sl_pattern *made = NULL;

    if (!n->pattern && !charge_steps(x, PATTERN_STEPS + b->len * PATTERN_STEPS / 16))
        return too_costly(x);
    if (!n->pattern && sl_pattern_new(b->s, &made, x->err) < 0)
        return (struct value){.kind = V_ERROR};
    uint64_t left = x->max - x->steps + 1, before = left;
    bool yes = sl_pattern_matches(n->pattern ? n->pattern : made, a->s, a->len, &left);
    sl_pattern_free(made);
    return charge_steps(x, before - left + a->len / 2 + 8) ? of_bool(yes) : too_costly(x);
}

static struct value eval_text(struct run *x, const struct api_cel_node *n) {
    struct value a = eval(x, n->a), b = eval(x, n->b);

    if (a.kind == V_ERROR || b.kind == V_ERROR)
        return (struct value){.kind = V_ERROR};
    if (a.kind != V_STR || b.kind != V_STR)
        return error(x, "no such overload");
    if (!charge_steps(x, n->op == OP_CONTAINS ? (a.len + b.len) / 4 : b.len / 16))
        return too_costly(x);
    switch (n->op) {
    case OP_CONTAINS:
        return of_bool(b.len == 0 || memmem(a.s, a.len, b.s, b.len));
    case OP_STARTS:
        return of_bool(a.len >= b.len && memcmp(a.s, b.s, b.len) == 0);
    case OP_ENDS:
        return of_bool(a.len >= b.len && memcmp(a.s + a.len - b.len, b.s, b.len) == 0);
    default:
        return eval_matches(x, n, &a, &b);
    }
}

static struct value eval_of_one(struct run *x, const struct api_cel_node *n) {
    struct value a = eval(x, n->a);
    char *end;

    if (a.kind == V_ERROR)
        return a;
    switch (n->op) {
    case OP_NOT:
        return a.kind == V_BOOL ? of_bool(!a.yes) : error(x, "no such overload");
    case OP_NEGATE:
        if (a.kind == V_REAL)
            return (struct value){.kind = V_REAL, .real = -a.real};
        return a.kind == V_INT && a.num != INT64_MIN ? of_int(-a.num)
                                                     : error(x, "no such overload");
    case OP_SIZE:
        if (a.kind == V_STR)
            return charge_steps(x, a.len / 16) ? of_int((int64_t)characters(a.s, a.len))
                                               : too_costly(x);
        return a.kind == V_JSON || a.kind == V_LIST ? of_int((int64_t)value_size(&a))
                                                    : error(x, "no such overload");
    case OP_INTEGER:
        if (a.kind == V_INT)
            return a;
        if (a.kind != V_STR)
            return error(x, "no such overload");
        if (!charge_steps(x, a.len / 16))
            return too_costly(x);
        errno = 0;
        a.num = strtoll(a.s, &end, 10);
        return errno || *end || end == a.s ? error(x, "type conversion error") : of_int(a.num);
    default: /* OP_STRING */
        if (a.kind == V_INT && x->arena.used < API_CEL_MADE) {
            const char *s = sl_arena_printf(&x->arena, "%lld", (long long)a.num);
            return (struct value){.kind = V_STR, .s = s, .len = strlen(s)};
        }
        return a.kind == V_STR ? a : error(x, "no such overload");
    }
}

static struct value compare(struct run *x, enum api_cel_op op, const struct value *a,
                            const struct value *b) {
    int c;

    if (a->kind == V_INT && b->kind == V_INT) {
        c = (a->num > b->num) - (a->num < b->num);
    } else if ((a->kind == V_INT || a->kind == V_REAL) && (b->kind == V_INT || b->kind == V_REAL)) {
        double l = a->kind == V_INT ? (double)a->num : a->real,
               r = b->kind == V_INT ? (double)b->num : b->real;
        c = (l > r) - (l < r);
    } else if (a->kind == V_STR && b->kind == V_STR) {
        size_t len = a->len < b->len ? a->len : b->len;
        if (!charge_steps(x, len / 16))
            return too_costly(x);
        c = memcmp(a->s, b->s, len);
        c = c ? c : (a->len > b->len) - (a->len < b->len);
    } else {
        return error(x, "no such overload");
    }
    return of_bool(op == OP_LT ? c < 0 : op == OP_LE ? c <= 0 : op == OP_GT ? c > 0 : c >= 0);
}

static struct value add_texts(struct run *x, const struct value *a, const struct value *b) {
    char *s;

    if (!charge_steps(x, (a->len + b->len) / 16) ||
        x->arena.used + a->len + b->len + 1 > API_CEL_MADE)
        return too_costly(x);
    s = sl_arena_alloc(&x->arena, a->len + b->len + 1);
    memcpy(s, a->s, a->len);
    memcpy(s + a->len, b->s, b->len);
    s[a->len + b->len] = '\0';
    return (struct value){.kind = V_STR, .s = s, .len = a->len + b->len};
}

static struct value arithmetic(struct run *x, enum api_cel_op op, const struct value *a,
                               const struct value *b) {
    int64_t n = 0;
    bool over = false;

    if (op == OP_ADD && a->kind == V_STR && b->kind == V_STR)
        return add_texts(x, a, b);
    if (a->kind != V_INT || b->kind != V_INT)
        return error(x, "no such overload");
    if ((op == OP_DIV || op == OP_MOD) && (b->num == 0 || (a->num == INT64_MIN && b->num == -1)))
        return error(x, b->num == 0 ? "divide by zero" : "integer overflow");
    if (op == OP_ADD)
        over = __builtin_add_overflow(a->num, b->num, &n);
    else if (op == OP_SUB)
        over = __builtin_sub_overflow(a->num, b->num, &n);
    else if (op == OP_MUL)
        over = __builtin_mul_overflow(a->num, b->num, &n);
    else
        n = op == OP_DIV ? a->num / b->num : a->num % b->num;
    return over ? error(x, "integer overflow") : of_int(n);
}

static struct value eval_in(struct run *x, const struct value *a, const struct value *b) {
    struct walk w;
    struct value item;
    bool found = false;

    if (!walk_begin(&w, b))
        return error(x, "no such overload");
    while (!found && x->steps <= x->max && walk_next(&w, &item))
        found = values_equal(x, a, &item);
    return x->steps > x->max ? too_costly(x) : of_bool(found);
}

static struct value eval_same(struct run *x, const struct value *a, const struct value *b,
                              bool wanted) {
    bool yes = values_equal(x, a, b);

    return x->steps > x->max ? too_costly(x) : of_bool(yes == wanted);
}

static struct value eval_two(struct run *x, const struct api_cel_node *n) {
    struct value a = eval(x, n->a), b = eval(x, n->b);

    if (a.kind == V_ERROR || b.kind == V_ERROR)
        return (struct value){.kind = V_ERROR};
    switch (n->op) {
    case OP_EQ:
        return eval_same(x, &a, &b, true);
    case OP_NE:
        return eval_same(x, &a, &b, false);
    case OP_IN:
        return eval_in(x, &a, &b);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        return compare(x, n->op, &a, &b);
    default:
        return arithmetic(x, n->op, &a, &b);
    }
}

static struct value eval_list(struct run *x, const struct api_cel_node *n) {
    struct value *items;
    size_t len = 0, i = 0;

    for (const struct api_cel_node *e = n->next; e; e = e->next)
        len++;
    if (x->arena.used + (len + 1) * sizeof(*items) > API_CEL_MADE)
        return too_costly(x);
    items = sl_arena_alloc(&x->arena, (len + 1) * sizeof(*items));
    for (const struct api_cel_node *e = n->next; e; e = e->next) {
        items[i] = eval(x, e->a);
        if (items[i++].kind == V_ERROR)
            return (struct value){.kind = V_ERROR};
    }
    return (struct value){.kind = V_LIST, .items = items, .n = len};
}

static struct value eval_name(struct run *x, const struct api_cel_node *n) {
    return n->num == -2 ? of_json(x->self) : n->num == -3 ? of_json(x->old) : x->vars[n->num];
}

static struct value eval(struct run *x, const struct api_cel_node *n) {
    struct value v;

    if (!charge_steps(x, 1))
        return too_costly(x);
    switch (n->op) {
    case OP_NULL:
        return (struct value){.kind = V_NULL};
    case OP_BOOL:
        return of_bool(n->num);
    case OP_INT:
        return of_int(n->num);
    case OP_REAL:
        return (struct value){.kind = V_REAL, .real = n->real};
    case OP_STR:
        return (struct value){.kind = V_STR, .s = n->s, .len = n->len};
    case OP_LIST:
        return eval_list(x, n);
    case OP_NAME:
        return eval_name(x, n);
    case OP_FIELD:
        return eval_field(x, n, false);
    case OP_HAS:
        return eval_field(x, n->a, true);
    case OP_INDEX:
        return eval_index(x, n);
    case OP_AND:
    case OP_OR:
        return eval_logic(x, n);
    case OP_IF:
        v = eval(x, n->a);
        if (v.kind != V_BOOL)
            return v.kind == V_ERROR ? v : error(x, "no such overload");
        return eval(x, v.yes ? n->b : n->c);
    case OP_ALL:
    case OP_EXISTS:
    case OP_ONE:
    case OP_MAP:
    case OP_FILTER:
        return eval_macro(x, n);
    case OP_CONTAINS:
    case OP_STARTS:
    case OP_ENDS:
    case OP_MATCHES:
        return eval_text(x, n);
    case OP_NOT:
    case OP_NEGATE:
    case OP_SIZE:
    case OP_STRING:
    case OP_INTEGER:
        return eval_of_one(x, n);
    default:
        return eval_two(x, n);
    }
}

#define ALWAYS_STEPS 8u /* of an evaluation by itself */

int api_cel_holds(const struct api_cel *c, yyjson_val *self, yyjson_val *old, uint64_t *budget,
                  bool *ret, struct sl_err *err) {
    struct run x = {.self = self,
                    .old = old,
                    .err = err,
                    .steps = ALWAYS_STEPS,
                    .max = *budget < SL_CEL_MAX_STEPS ? *budget : SL_CEL_MAX_STEPS};
    struct value v;

    sl_arena_init(&x.arena, 2 * API_CEL_MADE);
    v = eval(&x, c->root);
    const bool full = sl_arena_full(&x.arena);
    sl_arena_done(&x.arena);
    *budget = x.steps > x.max ? 0 : *budget - x.steps;
    if (v.kind == V_ERROR)
        return SL_EINVAL;
    if (full)
        return sl_err_set(err, SL_ELIMIT, "the rule makes more than %zu bytes", API_CEL_MADE);
    if (v.kind != V_BOOL)
        return sl_err_set(err, SL_EINVAL, "the rule does not say yes or no");
    *ret = v.yes;
    return 0;
}
