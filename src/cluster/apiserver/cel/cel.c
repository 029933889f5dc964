/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation: fields, lists, logic, calls. */
#include "cluster/apiserver/cel/cel.h"

#include <math.h>
#include <string.h>

#include "cluster/apiserver/ceilings.h"
#include "cluster/apiserver/cel/tree.h"

static const struct api_value failed = {.kind = V_ERROR};

/* ---- fields and items ---- */

static struct api_value no_such_key(struct api_run *x, const struct api_value *key) {
    if (key->kind == V_STR)
        return api_cel_error(x, "no such key: %.*s", (int)(key->len < 100 ? key->len : 100),
                             key->s);
    return key->kind == V_INT ? api_cel_error(x, "no such key: %lld", (long long)key->num)
                              : api_cel_error(x, "no such key");
}

/* Of a map or object; false: it is not there. */
static bool select_key(struct api_run *x, const struct api_value *of, const struct api_value *key,
                       struct api_value *ret) {
    if (api_cel_is_map(of))
        return api_cel_find(x, of, key, ret);
    *ret = api_cel_no_overload(x);
    return true;
}

/* Of a list or map, by index or key; false: it is not there. */
static bool select_index(struct api_run *x, const struct api_value *of, const struct api_value *at,
                         struct api_value *ret) {
    int64_t n = at->num;

    if (!api_cel_is_list(of))
        return select_key(x, of, at, ret);
    if (at->kind == V_REAL && at->real == floor(at->real) && fabs(at->real) < 0x1p53)
        n = (int64_t)at->real;
    else if (at->kind != V_INT && at->kind != V_UINT) {
        *ret = api_cel_no_overload(x);
        return true;
    }
    if (n < 0 || (uint64_t)n >= api_cel_size(of))
        return false;
    *ret = api_cel_item(x, of, (size_t)n);
    return true;
}

/* a.b, a.?b, a[b], a[?b]: where the question is, or a is optional, the result is one. */
static struct api_value eval_select(struct api_run *x, const struct api_cel_node *n) {
    struct api_value of = api_cel_eval(x, n->a), ret;
    struct api_value at = n->op == OP_INDEX ? api_cel_eval(x, n->b) : api_cel_text(n->s, n->len);

    if (of.kind == V_ERROR || at.kind == V_ERROR)
        return failed;
    const bool optional = n->maybe || of.kind == V_OPTIONAL;
    if (of.kind == V_OPTIONAL) {
        if (!of.some)
            return of;
        of = *of.some;
    }
    const bool found =
        n->op == OP_INDEX ? select_index(x, &of, &at, &ret) : select_key(x, &of, &at, &ret);
    if (found)
        return optional && ret.kind != V_ERROR ? api_cel_optional(x, &ret) : ret;
    if (optional)
        return api_cel_optional(x, NULL);
    if (api_cel_is_list(&of))
        return api_cel_error(x, "index out of bounds: %lld", (long long)at.num);
    return no_such_key(x, &at);
}

static struct api_value eval_has(struct api_run *x, const struct api_cel_node *n) {
    struct api_value of = api_cel_eval(x, n->a), key = api_cel_text(n->s, n->len), ret;

    if (of.kind == V_ERROR)
        return of;
    if (of.kind == V_OPTIONAL) {
        if (!of.some)
            return api_cel_bool(false);
        of = *of.some;
    }
    if (!api_cel_is_map(&of))
        return api_cel_no_overload(x);
    if (!api_cel_find(x, &of, &key, &ret))
        return api_cel_bool(false);
    return x->steps > x->max ? ret : api_cel_bool(true);
}

/* ---- lists and maps ---- */

static struct api_value eval_list(struct api_run *x, const struct api_cel_node *n) {
    struct api_value *items = api_cel_make(x, n->n_args * sizeof(*items));
    size_t len = 0;

    if (!items)
        return api_cel_too_costly(x);
    for (const struct api_cel_node *e = n->a; e; e = e->next) {
        struct api_value v = api_cel_eval(x, e->a);
        if (e->maybe && v.kind == V_OPTIONAL) {
            if (!v.some)
                continue;
            v = *v.some;
        } else if (e->maybe && v.kind != V_ERROR) {
            return api_cel_no_overload(x);
        }
        if (v.kind == V_ERROR)
            return v;
        items[len++] = v;
    }
    return api_cel_list(items, len);
}

static struct api_value eval_map(struct api_run *x, const struct api_cel_node *n) {
    struct api_value *items = api_cel_make(x, 2 * n->n_args * sizeof(*items));
    struct api_value made = {.kind = V_MAP, .items = items};

    if (!items)
        return api_cel_too_costly(x);
    for (const struct api_cel_node *e = n->a; e; e = e->next) {
        struct api_value key = api_cel_eval(x, e->a), v = api_cel_eval(x, e->b);
        if (key.kind == V_ERROR || v.kind == V_ERROR)
            return failed;
        if (key.kind != V_STR && key.kind != V_INT && key.kind != V_UINT && key.kind != V_BOOL)
            return api_cel_error(x, "unsupported key type");
        if (e->maybe && v.kind == V_OPTIONAL) {
            if (!v.some)
                continue;
            v = *v.some;
        }
        size_t at = 0;
        while (at < made.n && !api_cel_equal(x, &items[2 * at], &key))
            at++;
        if (x->steps > x->max)
            return api_cel_too_costly(x);
        items[2 * at] = key;
        items[2 * at + 1] = v; /* of two of one name the last counts */
        made.n += at == made.n;
    }
    return made;
}

/* ---- operators ---- */

/* false && error is false, as is error && false; likewise ||. */
static struct api_value eval_logic(struct api_run *x, const struct api_cel_node *n) {
    bool decides = n->op == OP_OR;
    struct api_value a = api_cel_eval(x, n->a), b;

    if (a.kind == V_BOOL && a.yes == decides)
        return a;
    if (x->steps > x->max)
        return failed;
    struct sl_err first = *x->err;
    b = api_cel_eval(x, n->b);
    if (b.kind == V_BOOL && b.yes == decides)
        return b;
    if (a.kind == V_BOOL && b.kind == V_BOOL)
        return api_cel_bool(!decides);
    if (a.kind == V_ERROR && x->steps <= x->max)
        *x->err = first; /* of two errors the first is told */
    return a.kind == V_ERROR || b.kind == V_ERROR ? failed : api_cel_no_overload(x);
}

static struct api_value eval_two(struct api_run *x, const struct api_cel_node *n) {
    struct api_value a = api_cel_eval(x, n->a), b = api_cel_eval(x, n->b);

    if (a.kind == V_ERROR || b.kind == V_ERROR)
        return failed;
    switch (n->op) {
    case OP_EQ:
    case OP_NE: {
        bool same = api_cel_equal(x, &a, &b);
        return x->steps > x->max ? api_cel_too_costly(x) : api_cel_bool(same == (n->op == OP_EQ));
    }
    case OP_IN:
        return api_cel_is_in(x, &a, &b);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        return api_cel_in_order(x, n->op, &a, &b);
    default:
        return api_cel_arithmetic(x, n->op, &a, &b);
    }
}

static struct api_value eval_one(struct api_run *x, const struct api_cel_node *n) {
    struct api_value a = api_cel_eval(x, n->a);

    if (a.kind == V_ERROR)
        return a;
    if (n->op == OP_NOT)
        return a.kind == V_BOOL ? api_cel_bool(!a.yes) : api_cel_no_overload(x);
    if (a.kind == V_REAL)
        return api_cel_real(-a.real);
    if (a.kind != V_INT)
        return api_cel_no_overload(x);
    return a.num == INT64_MIN ? api_cel_error(x, "integer overflow") : api_cel_int(-a.num);
}

/* ---- calls ---- */

#define CALL_ARGS 4u

/* What is in an optional, or else something other: that is evaluated only if need be. */
static struct api_value eval_or(struct api_run *x, const struct api_cel_node *n,
                                const struct api_value *of) {
    if (of->kind != V_OPTIONAL)
        return api_cel_no_overload(x);
    if (!of->some)
        return api_cel_eval(x, n->a->next);
    return strcmp(n->s, "or") == 0 ? *of : *of->some;
}

/* Those that values have themselves, without a table of the language's. */
static bool is_plain_name(const char *name) {
    return strcmp(name, "contains") == 0 || strcmp(name, "startsWith") == 0 ||
           strcmp(name, "endsWith") == 0 || strcmp(name, "matches") == 0;
}

static struct api_value eval_call(struct api_run *x, const struct api_cel_node *n) {
    struct api_value args[CALL_ARGS];
    uint32_t k = 0;

    if (n->n_args > CALL_ARGS)
        return api_cel_no_overload(x);
    for (const struct api_cel_node *a = n->a; a; a = a->next) {
        args[k] = api_cel_eval(x, a);
        if (args[k].kind == V_ERROR)
            return args[k];
        if (k == 0 && n->n_args == 2 && n->member &&
            (strcmp(n->s, "orValue") == 0 || strcmp(n->s, "or") == 0))
            return eval_or(x, n, &args[0]);
        k++;
    }
    for (const struct api_cel_function *f = n->first; f;
         f = api_cel_function_next(n->s, n->member, f)) {
        bool fits = strlen(f->args) == k;
        for (uint32_t i = 0; fits && i < k; i++)
            fits = api_cel_letter_fits(f->args[i], api_cel_kind(&args[i]));
        if (fits)
            return f->call(
                &(struct api_cel_call){.run = x, .args = args, .n = k, .node = n, .how = f->how});
    }
    return n->member && k && is_plain_name(n->s)
               ? api_cel_no_overload(x)
               : api_cel_error(x, "no such overload: %.60s", n->s);
}

struct api_value api_cel_eval(struct api_run *x, const struct api_cel_node *n) {
    struct api_value v;

    if (!api_cel_charge(x, 1))
        return api_cel_too_costly(x);
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
        v = api_cel_eval(x, n->a);
        if (v.kind != V_BOOL)
            return v.kind == V_ERROR ? v : api_cel_no_overload(x);
        return api_cel_eval(x, v.yes ? n->b : n->c);
    case OP_FOLD:
        return api_cel_eval_fold(x, n);
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
    struct api_cel_trouble trouble = {.text = text, .arena = arena};
    struct api_cel *c = sl_arena_alloc0(arena, 1, sizeof(*c));

    if (strlen(text) > SL_CEL_MAX_BYTES) {
        *ret_why = sl_arena_printf(arena, "longer than %u bytes", SL_CEL_MAX_BYTES);
        return SL_ELIMIT;
    }
    for (uint32_t i = 0; i < SL_CEL_INPUTS && env->names[i]; i++)
        c->types[i] = env->types[i] ? env->types[i] : &api_cel_types[T_DYN];
    c->root = api_cel_read(text, env, &trouble, c->uses);
    if (c->root)
        c->result = api_cel_check(c->root, env, &trouble);
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

static void take_inputs(struct api_run *x, const struct api_cel *c,
                        const struct api_cel_input *in) {
    for (; x->n_vars < SL_CEL_INPUTS && c->types[x->n_vars]; x->n_vars++) {
        uint32_t i = x->n_vars;
        const struct api_cel_type *type = c->types[i]->kind == T_DYN ? NULL : c->types[i];
        if (!c->uses[i])
            continue;
        if (in->optional[i]) {
            struct api_value v = {.kind = V_ERROR};
            if (in->v[i])
                v = api_cel_of_json(x, in->v[i], type);
            x->vars[i] = api_cel_optional(x, in->v[i] ? &v : NULL);
        } else {
            x->vars[i] = api_cel_of_json(x, in->v[i], type);
        }
    }
}

static struct api_value evaluate(struct api_run *x, const struct api_cel *c,
                                 const struct api_cel_input *in, uint64_t *budget) {
    x->steps = ALWAYS_STEPS;
    x->max = *budget < SL_CEL_MAX_STEPS ? *budget : SL_CEL_MAX_STEPS;
    sl_arena_init(&x->arena, 2 * API_CEL_MADE);
    take_inputs(x, c, in);
    struct api_value v = api_cel_eval(x, c->root);
    if (sl_arena_full(&x->arena))
        v = api_cel_too_costly(x);
    *budget = x->steps > x->max ? 0 : *budget - x->steps;
    return v;
}

int api_cel_holds(const struct api_cel *c, const struct api_cel_input *in, uint64_t *budget,
                  bool *ret, struct sl_err *err) {
    struct api_run x = {.err = err};
    struct api_value v = evaluate(&x, c, in, budget);

    sl_arena_done(&x.arena);
    if (v.kind == V_ERROR)
        return SL_EINVAL;
    if (v.kind != V_BOOL)
        return sl_err_set(err, SL_EINVAL, "cel expression must evaluate to a bool");
    *ret = v.yes;
    return 0;
}

int api_cel_message(const struct api_cel *c, const struct api_cel_input *in, uint64_t *budget,
                    struct sl_arena *arena, struct sl_text *ret, struct sl_err *err) {
    struct api_run x = {.err = err};
    struct api_value v = evaluate(&x, c, in, budget);

    if (v.kind == V_STR)
        *ret = (struct sl_text){sl_arena_strndup(arena, v.s, v.len), v.len};
    sl_arena_done(&x.arena);
    if (v.kind == V_ERROR)
        return SL_EINVAL;
    return v.kind == V_STR
               ? 0
               : sl_err_set(err, SL_EINVAL, "messageExpression failed to convert to string");
}
