/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation: operators, fields, calls. */
#include "cluster/apiserver/cel/cel.h"

#include <math.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/cel/tree.h"
#include "core/base/time.h"

static const struct value failed = {.kind = V_ERROR};

/* ---- fields and items ---- */

static struct value no_such_key(struct run *x, const struct value *key) {
    if (key->kind == V_STR)
        return cel_error(x, "no such key: %.*s", (int)(key->len < 100 ? key->len : 100), key->s);
    return key->kind == V_INT ? cel_error(x, "no such key: %lld", (long long)key->num)
                              : cel_error(x, "no such key");
}

/* Of a map or object; false: it is not there. */
static bool select_key(struct run *x, const struct value *of, const struct value *key,
                       struct value *ret) {
    if (cel_is_map(of))
        return cel_find(x, of, key, ret);
    *ret = cel_no_overload(x);
    return true;
}

/* Of a list or map, by index or key; false: it is not there. */
static bool select_index(struct run *x, const struct value *of, const struct value *at,
                         struct value *ret) {
    int64_t n = at->num;

    if (!cel_is_list(of))
        return select_key(x, of, at, ret);
    if (at->kind == V_REAL && at->real == floor(at->real) && fabs(at->real) < 0x1p53)
        n = (int64_t)at->real;
    else if (at->kind != V_INT && at->kind != V_UINT) {
        *ret = cel_no_overload(x);
        return true;
    }
    if (n < 0 || (uint64_t)n >= cel_size(of))
        return false;
    *ret = cel_item(x, of, (size_t)n);
    return true;
}

/* a.b, a.?b, a[b], a[?b]: where the question is, or a is optional, the result is one. */
static struct value eval_select(struct run *x, const struct api_cel_node *n) {
    struct value of = cel_eval(x, n->a), ret;
    struct value at = n->op == OP_INDEX ? cel_eval(x, n->b) : cel_text(n->s, n->len);

    if (of.kind == V_ERROR || at.kind == V_ERROR)
        return failed;
    const bool optional = n->maybe || of.kind == V_OPTIONAL;
    if (of.kind == V_OPTIONAL) {
        if (!of.some)
            return of;
        of = *of.some;
    }
    const bool found = n->op == OP_INDEX ? select_index(x, &of, &at, &ret)
                                         : select_key(x, &of, &at, &ret);
    if (found)
        return optional && ret.kind != V_ERROR ? cel_optional(x, &ret) : ret;
    if (optional)
        return cel_optional(x, NULL);
    if (cel_is_list(&of))
        return cel_error(x, "index out of bounds: %lld", (long long)at.num);
    return no_such_key(x, &at);
}

static struct value eval_has(struct run *x, const struct api_cel_node *n) {
    struct value of = cel_eval(x, n->a), key = cel_text(n->s, n->len), ret;

    if (of.kind == V_ERROR)
        return of;
    if (of.kind == V_OPTIONAL) {
        if (!of.some)
            return cel_bool(false);
        of = *of.some;
    }
    if (!cel_is_map(&of))
        return cel_no_overload(x);
    if (!cel_find(x, &of, &key, &ret))
        return cel_bool(false);
    return x->steps > x->max ? ret : cel_bool(true);
}

/* ---- lists and maps ---- */

static struct value eval_list(struct run *x, const struct api_cel_node *n) {
    struct value *items = cel_make(x, n->n_args * sizeof(*items));
    size_t len = 0;

    if (!items)
        return cel_too_costly(x);
    for (const struct api_cel_node *e = n->a; e; e = e->next) {
        struct value v = cel_eval(x, e->a);
        if (e->maybe && v.kind == V_OPTIONAL) {
            if (!v.some)
                continue;
            v = *v.some;
        } else if (e->maybe && v.kind != V_ERROR) {
            return cel_no_overload(x);
        }
        if (v.kind == V_ERROR)
            return v;
        items[len++] = v;
    }
    return cel_list(items, len);
}

static struct value eval_map(struct run *x, const struct api_cel_node *n) {
    struct value *items = cel_make(x, 2 * n->n_args * sizeof(*items));
    struct value made = {.kind = V_MAP, .items = items}, before;

    if (!items)
        return cel_too_costly(x);
    for (const struct api_cel_node *e = n->a; e; e = e->next) {
        struct value key = cel_eval(x, e->a), v = cel_eval(x, e->b);
        if (key.kind == V_ERROR || v.kind == V_ERROR)
            return failed;
        if (key.kind != V_STR && key.kind != V_INT && key.kind != V_UINT && key.kind != V_BOOL)
            return cel_error(x, "unsupported key type");
        if (e->maybe && v.kind == V_OPTIONAL) {
            if (!v.some)
                continue;
            v = *v.some;
        }
        if (cel_find(x, &made, &key, &before))
            return x->steps > x->max ? before : cel_error(x, "duplicate key in map");
        items[2 * made.n] = key;
        items[2 * made.n + 1] = v;
        made.n++;
    }
    return made;
}

/* ---- operators ---- */

/* false && error is false, as is error && false; likewise ||. */
static struct value eval_logic(struct run *x, const struct api_cel_node *n) {
    bool decides = n->op == OP_OR;
    struct value a = cel_eval(x, n->a), b;

    if (a.kind == V_BOOL && a.yes == decides)
        return a;
    if (x->steps > x->max)
        return failed;
    struct sl_err first = *x->err;
    b = cel_eval(x, n->b);
    if (b.kind == V_BOOL && b.yes == decides)
        return b;
    if (a.kind == V_BOOL && b.kind == V_BOOL)
        return cel_bool(!decides);
    if (a.kind == V_ERROR && x->steps <= x->max)
        *x->err = first; /* of two errors the first is told */
    return a.kind == V_ERROR || b.kind == V_ERROR ? failed : cel_no_overload(x);
}

static struct value join_texts(struct run *x, const struct value *a, const struct value *b) {
    char *s = cel_make(x, a->len + b->len + 1);

    if (!s)
        return cel_too_costly(x);
    if (a->len)
        memcpy(s, a->s, a->len);
    if (b->len)
        memcpy(s + a->len, b->s, b->len);
    s[a->len + b->len] = '\0';
    struct value ret = cel_text(s, a->len + b->len);
    ret.kind = a->kind;
    return ret;
}

/* The index of an item of a set that is the same, or of a list of objects with the same keys. */
static size_t same_item(struct run *x, const struct api_cel_type *type, const struct value *items,
                        size_t n, const struct value *like) {
    for (size_t i = 0; i < n && x->steps <= x->max; i++) {
        bool same = type->list == LIST_SET ? cel_equal(x, &items[i], like)
                                           : type->n_keys > 0 && cel_is_map(&items[i]) &&
                                                 cel_is_map(like);
        for (uint32_t k = 0; same && type->list == LIST_MAP && k < type->n_keys; k++) {
            struct value key = cel_text(type->keys[k], strlen(type->keys[k])), a, b;
            bool in_a = cel_find(x, &items[i], &key, &a), in_b = cel_find(x, like, &key, &b);
            same = in_a == in_b && (!in_a || cel_equal(x, &a, &b));
        }
        if (same)
            return i;
    }
    return n;
}

/* What is in both of two sets is there once; of objects with keys, the second replaces the first. */
static struct value join_lists(struct run *x, const struct value *a, const struct value *b) {
    struct value *items = cel_make(x, (cel_size(a) + cel_size(b)) * sizeof(*items)), key, v;
    const struct api_cel_type *type = a->type;
    bool merges = type && type->kind == T_LIST && type->list != LIST_ATOMIC;
    struct walk w;
    size_t n = 0;

    if (!items)
        return cel_too_costly(x);
    (void)cel_walk_begin(&w, a);
    while (cel_walk_next(x, &w, &key, &v))
        items[n++] = v;
    (void)cel_walk_begin(&w, b);
    while (x->steps <= x->max && cel_walk_next(x, &w, &key, &v)) {
        size_t at = merges ? same_item(x, type, items, n, &v) : n;
        items[at] = v;
        n += at == n;
    }
    if (x->steps > x->max)
        return cel_too_costly(x);
    for (size_t i = 0; i < n; i++)
        if (items[i].kind == V_ERROR)
            return failed;
    struct value ret = cel_list(items, n);
    ret.type = type;
    return ret;
}

static struct value overflow(struct run *x, const char *what) {
    return cel_error(x, "%s overflow", what);
}

static struct value arithmetic_int(struct run *x, enum api_cel_op op, int64_t a, int64_t b) {
    int64_t n = 0;
    bool over = false;

    if ((op == OP_DIV || op == OP_MOD) && b == 0)
        return cel_error(x, op == OP_DIV ? "division by zero" : "modulus by zero");
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
    return over ? overflow(x, "integer") : cel_int(n);
}

static struct value arithmetic_uint(struct run *x, enum api_cel_op op, uint64_t a, uint64_t b) {
    uint64_t n = 0;
    bool over = false;

    if ((op == OP_DIV || op == OP_MOD) && b == 0)
        return cel_error(x, op == OP_DIV ? "division by zero" : "modulus by zero");
    if (op == OP_ADD)
        over = __builtin_add_overflow(a, b, &n);
    else if (op == OP_SUB)
        over = __builtin_sub_overflow(a, b, &n);
    else if (op == OP_MUL)
        over = __builtin_mul_overflow(a, b, &n);
    else
        n = op == OP_DIV ? a / b : a % b;
    return over ? overflow(x, "unsigned integer") : cel_uint(n);
}

#define TIME_FIRST INT64_C(-62135596800) /* the year 1 */
#define TIME_LAST INT64_C(253402300799)  /* the year 9999 */

static struct value move_time(struct run *x, const struct value *t, int64_t ns, bool back) {
    const __int128 whole =
        (__int128)t->sec * SL_SEC + t->nsec + (back ? -(__int128)ns : (__int128)ns);
    __int128 sec = whole / SL_SEC, rest = whole % SL_SEC;

    if (rest < 0) {
        rest += SL_SEC;
        sec--;
    }
    if (sec < TIME_FIRST || sec > TIME_LAST)
        return overflow(x, "timestamp");
    return (struct value){.kind = V_TIME, .sec = (int64_t)sec, .nsec = (int32_t)rest};
}

static struct value between_times(struct run *x, const struct value *a, const struct value *b) {
    const __int128 ns = (__int128)(a->sec - b->sec) * SL_SEC + (a->nsec - b->nsec);

    return ns > INT64_MAX || ns < INT64_MIN ? overflow(x, "timestamp") : cel_span((int64_t)ns);
}

static struct value arithmetic_time(struct run *x, enum api_cel_op op, const struct value *a,
                                    const struct value *b) {
    int64_t n;

    if (a->kind == V_DURATION && b->kind == V_DURATION && (op == OP_ADD || op == OP_SUB)) {
        bool over = op == OP_ADD ? __builtin_add_overflow(a->num, b->num, &n)
                                 : __builtin_sub_overflow(a->num, b->num, &n);
        return over ? overflow(x, "duration") : cel_span(n);
    }
    if (a->kind == V_TIME && b->kind == V_DURATION && (op == OP_ADD || op == OP_SUB))
        return move_time(x, a, b->num, op == OP_SUB);
    if (a->kind == V_DURATION && b->kind == V_TIME && op == OP_ADD)
        return move_time(x, b, a->num, false);
    if (a->kind == V_TIME && b->kind == V_TIME && op == OP_SUB)
        return between_times(x, a, b);
    return cel_no_overload(x);
}

static struct value arithmetic(struct run *x, enum api_cel_op op, const struct value *a,
                               const struct value *b) {
    if (op == OP_ADD && a->kind == b->kind && (a->kind == V_STR || a->kind == V_BYTES))
        return join_texts(x, a, b);
    if (op == OP_ADD && cel_is_list(a) && cel_is_list(b))
        return join_lists(x, a, b);
    if (a->kind == V_INT && b->kind == V_INT)
        return arithmetic_int(x, op, a->num, b->num);
    if (a->kind == V_UINT && b->kind == V_UINT)
        return arithmetic_uint(x, op, a->unum, b->unum);
    if (a->kind == V_REAL && b->kind == V_REAL && op != OP_MOD)
        return cel_real(op == OP_ADD   ? a->real + b->real
                        : op == OP_SUB ? a->real - b->real
                        : op == OP_MUL ? a->real * b->real
                                       : a->real / b->real);
    return arithmetic_time(x, op, a, b);
}

static struct value eval_in(struct run *x, const struct value *a, const struct value *b) {
    struct value key, item;
    struct walk w;
    bool found = false;

    if (cel_is_map(b)) {
        found = cel_find(x, b, a, &item);
        return found && (x->steps > x->max || (b->kind == V_JSON && a->kind != V_STR))
                   ? item
                   : cel_bool(found);
    }
    if (!cel_is_list(b))
        return cel_no_overload(x);
    (void)cel_walk_begin(&w, b);
    while (!found && x->steps <= x->max && cel_walk_next(x, &w, &key, &item))
        found = cel_equal(x, a, &item);
    return x->steps > x->max ? cel_too_costly(x) : cel_bool(found);
}

static struct value compare(struct run *x, enum api_cel_op op, const struct value *a,
                            const struct value *b) {
    int c;

    if (!cel_compare(x, a, b, &c))
        return cel_no_overload(x);
    if (x->steps > x->max)
        return cel_too_costly(x);
    if (c == 2)
        return cel_bool(false);
    return cel_bool(op == OP_LT ? c < 0 : op == OP_LE ? c <= 0 : op == OP_GT ? c > 0 : c >= 0);
}

static struct value eval_two(struct run *x, const struct api_cel_node *n) {
    struct value a = cel_eval(x, n->a), b = cel_eval(x, n->b);

    if (a.kind == V_ERROR || b.kind == V_ERROR)
        return failed;
    switch (n->op) {
    case OP_EQ:
    case OP_NE: {
        bool same = cel_equal(x, &a, &b);
        return x->steps > x->max ? cel_too_costly(x) : cel_bool(same == (n->op == OP_EQ));
    }
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

static struct value eval_one(struct run *x, const struct api_cel_node *n) {
    struct value a = cel_eval(x, n->a);

    if (a.kind == V_ERROR)
        return a;
    if (n->op == OP_NOT)
        return a.kind == V_BOOL ? cel_bool(!a.yes) : cel_no_overload(x);
    if (a.kind == V_REAL)
        return cel_real(-a.real);
    if (a.kind != V_INT)
        return cel_no_overload(x);
    return a.num == INT64_MIN ? overflow(x, "integer") : cel_int(-a.num);
}

/* ---- calls ---- */

#define CALL_ARGS 4u

/* What is in an optional, or else something other: that is evaluated only if need be. */
static struct value eval_or(struct run *x, const struct api_cel_node *n, const struct value *of) {
    if (of->kind != V_OPTIONAL)
        return cel_no_overload(x);
    if (!of->some)
        return cel_eval(x, n->a->next);
    return strcmp(n->s, "or") == 0 ? *of : *of->some;
}

static struct value eval_call(struct run *x, const struct api_cel_node *n) {
    struct value args[CALL_ARGS];
    uint32_t k = 0;

    if (n->n_args > CALL_ARGS)
        return cel_no_overload(x);
    for (const struct api_cel_node *a = n->a; a; a = a->next) {
        args[k] = cel_eval(x, a);
        if (args[k].kind == V_ERROR)
            return args[k];
        if (k == 0 && n->n_args == 2 && n->member &&
            (strcmp(n->s, "orValue") == 0 || strcmp(n->s, "or") == 0))
            return eval_or(x, n, &args[0]);
        k++;
    }
    for (const struct cel_function *f = n->first; f; f = cel_function_next(n->s, n->member, f)) {
        bool fits = strlen(f->args) == k;
        for (uint32_t i = 0; fits && i < k; i++)
            fits = cel_letter_fits(f->args[i], cel_kind(&args[i]));
        if (fits)
            return f->call(&(struct cel_call){.run = x, .args = args, .n = k, .node = n,
                                              .how = f->how});
    }
    return cel_no_overload(x);
}

struct value cel_eval(struct run *x, const struct api_cel_node *n) {
    struct value v;

    if (!cel_charge(x, 1))
        return cel_too_costly(x);
    switch (n->op) {
    case OP_CONST:
        return n->value;
    case OP_VAR:
        return x->vars[n->at];
    case OP_LIST:
        return eval_list(x, n);
    case OP_MAP:
        return eval_map(x, n);
    case OP_FIELD:
    case OP_INDEX:
        return eval_select(x, n);
    case OP_HAS:
        return eval_has(x, n);
    case OP_AND:
    case OP_OR:
        return eval_logic(x, n);
    case OP_IF:
        v = cel_eval(x, n->a);
        if (v.kind != V_BOOL)
            return v.kind == V_ERROR ? v : cel_no_overload(x);
        return cel_eval(x, v.yes ? n->b : n->c);
    case OP_FOLD:
        return cel_eval_fold(x, n);
    case OP_CALL:
        return eval_call(x, n);
    case OP_NOT:
    case OP_NEGATE:
        return eval_one(x, n);
    default:
        return eval_two(x, n);
    }
}

/* ---- the whole ---- */

#define ALWAYS_STEPS 8u /* of an evaluation by itself */

int api_cel_compile(const char *text, const struct api_cel_env *env, struct sl_arena *arena,
                    struct api_cel **ret, const char **ret_why) {
    struct cel_trouble trouble = {.text = text, .arena = arena};
    struct api_cel *c = sl_arena_alloc0(arena, 1, sizeof(*c));

    if (strlen(text) > SL_CEL_MAX_BYTES) {
        *ret_why = sl_arena_printf(arena, "longer than %u bytes", SL_CEL_MAX_BYTES);
        return SL_ELIMIT;
    }
    for (uint32_t i = 0; i < SL_CEL_INPUTS && env->names[i]; i++)
        c->types[i] = env->types[i] ? env->types[i] : &api_cel_types[T_DYN];
    c->root = cel_read(text, env, &trouble, c->uses);
    if (c->root)
        c->result = cel_check(c->root, env, &trouble);
    if (trouble.why) {
        *ret_why = trouble.why;
        return SL_EINVAL;
    }
    *ret = c;
    return 0;
}

bool api_cel_uses(const struct api_cel *c, uint32_t input) {
    return c->uses[input];
}

const struct api_cel_type *api_cel_result(const struct api_cel *c) {
    return c->result;
}

static void take_inputs(struct run *x, const struct api_cel *c, const struct api_cel_input *in) {
    for (; x->n_vars < SL_CEL_INPUTS && c->types[x->n_vars]; x->n_vars++) {
        uint32_t i = x->n_vars;
        const struct api_cel_type *type = c->types[i]->kind == T_DYN ? NULL : c->types[i];
        if (!c->uses[i])
            continue;
        if (in->optional[i]) {
            struct value v = {.kind = V_ERROR};
            if (in->v[i])
                v = cel_of_json(x, in->v[i], type);
            x->vars[i] = cel_optional(x, in->v[i] ? &v : NULL);
        } else {
            x->vars[i] = cel_of_json(x, in->v[i], type);
        }
    }
}

static struct value evaluate(struct run *x, const struct api_cel *c,
                             const struct api_cel_input *in, uint64_t *budget) {
    x->steps = ALWAYS_STEPS;
    x->max = *budget < SL_CEL_MAX_STEPS ? *budget : SL_CEL_MAX_STEPS;
    sl_arena_init(&x->arena, 2 * API_CEL_MADE);
    take_inputs(x, c, in);
    struct value v = cel_eval(x, c->root);
    *budget = x->steps > x->max ? 0 : *budget - x->steps;
    return v;
}

int api_cel_holds(const struct api_cel *c, const struct api_cel_input *in, uint64_t *budget,
                  bool *ret, struct sl_err *err) {
    struct run x = {.err = err};
    struct value v = evaluate(&x, c, in, budget);

    sl_arena_done(&x.arena);
    if (v.kind == V_ERROR)
        return SL_EINVAL;
    if (v.kind != V_BOOL)
        return sl_err_set(err, SL_EINVAL, "cel expression must evaluate to a bool");
    *ret = v.yes;
    return 0;
}

int api_cel_text(const struct api_cel *c, const struct api_cel_input *in, uint64_t *budget,
                 struct sl_arena *arena, struct sl_text *ret, struct sl_err *err) {
    struct run x = {.err = err};
    struct value v = evaluate(&x, c, in, budget);

    if (v.kind == V_STR)
        *ret = (struct sl_text){sl_arena_strndup(arena, v.s, v.len), v.len};
    sl_arena_done(&x.arena);
    if (v.kind == V_ERROR)
        return SL_EINVAL;
    return v.kind == V_STR
               ? 0
               : sl_err_set(err, SL_EINVAL, "messageExpression failed to convert to string");
}
