/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of an expression, as far as they are known before it is evaluated: fields that a schema
 * does not have and functions for other types are refused where a definition is created, with
 * kube-apiserver's words.
 */
#include <string.h>

#include "cluster/apiserver/cel/tree.h"
#include "core/base/buf.h"

typedef const struct api_cel_type *type;

struct checking {
    struct api_cel_trouble *t;
    const struct api_cel_env *env;
    type vars[SL_CEL_VARS];
    bool any_items; /* of arguments of format(): lists of any types */
};

#define PLAIN(kind_) (&api_cel_types[kind_])

static type check(struct checking *c, struct api_cel_node *n);

static type made(struct checking *c, enum api_cel_kind kind, type elem, type key) {
    struct api_cel_type *t = sl_arena_alloc0(c->t->arena, 1, sizeof(*t));

    t->kind = kind;
    t->elem = elem;
    t->key = key;
    return t;
}

static bool is_dyn(type t) {
    return t->kind == T_DYN;
}

/* Can the two be of one type? Parts of what is empty are of any. */
static bool compatible(type a, type b) {
    if (a == b || is_dyn(a) || is_dyn(b))
        return true;
    if (a->kind == T_NULL || b->kind == T_NULL) {
        const type other = a->kind == T_NULL ? b : a;
        return other->kind == T_NULL || other->kind == T_OBJECT || other->kind == T_DURATION ||
               other->kind == T_TIME || other->kind >= T_OPTIONAL;
    }
    if (a->kind == T_OBJECT && b->kind == T_OBJECT)
        return a->names == b->names;
    if (a->kind != b->kind)
        return false;
    if (a->kind == T_LIST || a->kind == T_OPTIONAL)
        return compatible(a->elem, b->elem);
    if (a->kind == T_MAP)
        return compatible(a->elem, b->elem) &&
               compatible(a->key ? a->key : PLAIN(T_STR), b->key ? b->key : PLAIN(T_STR));
    return true;
}

static type joined(type a, type b) {
    if (a->kind == T_NULL && b->kind != T_NULL)
        return b;
    return compatible(a, b) ? (is_dyn(a) ? b : a) : PLAIN(T_DYN);
}

static type no_overload(struct checking *c, const struct api_cel_node *n, const char *name,
                        const type *args, uint32_t n_args, bool member) {
    _cleanup_(sl_buf_done) struct sl_buf b = SL_BUF_SHORT(2048);

    for (uint32_t i = 0; i < n_args; i++) {
        if (i == 0 && !member)
            sl_buf_putc(&b, '(');
        sl_buf_printf(&b, "%s%s", i > (uint32_t)member ? ", " : "",
                      api_cel_type_name(args[i], c->t->arena));
        if (i == 0 && member)
            sl_buf_puts(&b, ".(");
    }
    sl_buf_puts(&b, n_args ? ")" : "()");
    api_cel_trouble(c->t, n->pos, "found no matching overload for '%s' applied to '%s'", name,
                    sl_buf_str(&b));
    return PLAIN(T_DYN);
}

/* ---- parts ---- */

static type check_field(struct checking *c, const struct api_cel_node *n) {
    type of = check(c, n->a), ret = PLAIN(T_DYN);
    bool optional = n->maybe && n->op == OP_FIELD;

    if (of->kind == T_OPTIONAL) {
        of = of->elem;
        optional = true;
    }
    if (of->kind == T_MAP) {
        ret = of->elem;
    } else if (of->kind == T_OBJECT) {
        int32_t at = api_cel_type_shown(of, n->s, n->len);
        if (at < 0)
            api_cel_trouble(c->t, n->pos, "undefined field '%s'", n->s);
        else
            ret = of->fields[at];
    } else if (!is_dyn(of)) {
        api_cel_trouble(c->t, n->pos, "type '%s' does not support field selection",
                        api_cel_type_name(of, c->t->arena));
    }
    return n->op == OP_HAS ? PLAIN(T_BOOL) : optional ? made(c, T_OPTIONAL, ret, NULL) : ret;
}

static type check_index(struct checking *c, const struct api_cel_node *n) {
    type of = check(c, n->a), at = check(c, n->b), ret = PLAIN(T_DYN);
    const type args[] = {of, at};
    bool optional = n->maybe;

    if (of->kind == T_OPTIONAL) {
        of = of->elem;
        optional = true;
    }
    const bool number = at->kind == T_INT || is_dyn(at);
    if ((of->kind == T_LIST && number) ||
        (of->kind == T_MAP && compatible(of->key ? of->key : PLAIN(T_STR), at)))
        ret = of->elem;
    else if (!is_dyn(of))
        (void)no_overload(c, n, n->maybe ? "_[?_]" : "_[_]", args, 2, false);
    return optional ? made(c, T_OPTIONAL, ret, NULL) : ret;
}

/* Items of one list are of one type, and so are keys and values of a map. */
static type same_type(struct checking *c, const struct api_cel_node *at, type before, type now) {
    if (before && !c->any_items && !compatible(before, now))
        api_cel_trouble(c->t, at->pos, "expected type '%s' but found '%s'",
                        api_cel_type_name(before, c->t->arena),
                        api_cel_type_name(now, c->t->arena));
    return before ? joined(before, now) : now;
}

static type check_entries(struct checking *c, const struct api_cel_node *n) {
    type key = NULL, elem = NULL;

    for (struct api_cel_node *e = n->a; e; e = e->next) {
        type a = check(c, e->a), b = n->op == OP_MAP ? check(c, e->b) : a;
        if (e->maybe && b->kind == T_OPTIONAL)
            b = b->elem;
        elem = same_type(c, n->op == OP_MAP ? e->b : e->a, elem, b);
        key = n->op == OP_MAP ? same_type(c, e->a, key, a) : NULL;
    }
    elem = elem ? elem : PLAIN(T_DYN);
    return n->op == OP_MAP ? made(c, T_MAP, elem, key ? key : PLAIN(T_DYN))
                           : made(c, T_LIST, elem, NULL);
}

/* ---- operators ---- */

static const char *symbol_of(enum api_cel_op op) {
    static const char *const symbols[] = {
        [OP_NOT] = "!_",   [OP_NEGATE] = "-_", [OP_AND] = "_&&_", [OP_OR] = "_||_",
        [OP_IF] = "_?_:_", [OP_EQ] = "_==_",   [OP_NE] = "_!=_",  [OP_LT] = "_<_",
        [OP_LE] = "_<=_",  [OP_GT] = "_>_",    [OP_GE] = "_>=_",  [OP_IN] = "@in",
        [OP_ADD] = "_+_",  [OP_SUB] = "_-_",   [OP_MUL] = "_*_",  [OP_DIV] = "_/_",
        [OP_MOD] = "_%_",
    };
    return symbols[op];
}

static bool is_number(type t) {
    return t->kind == T_INT || t->kind == T_UINT || t->kind == T_REAL;
}

static bool comparable(type a, type b) {
    if (is_dyn(a) || is_dyn(b))
        return true;
    return (is_number(a) && is_number(b)) ||
           (a->kind == b->kind && (a->kind == T_STR || a->kind == T_BYTES || a->kind == T_BOOL ||
                                   a->kind == T_TIME || a->kind == T_DURATION));
}

/* NULL: there is none for these. */
static type arithmetic(enum api_cel_op op, type a, type b) {
    const bool sums = op == OP_ADD || op == OP_SUB;

    if (is_dyn(a) || is_dyn(b))
        return PLAIN(T_DYN);
    if (sums && a->kind == T_TIME && b->kind == T_DURATION)
        return a;
    if (op == OP_ADD && a->kind == T_DURATION && b->kind == T_TIME)
        return b;
    if (op == OP_SUB && a->kind == T_TIME && b->kind == T_TIME)
        return PLAIN(T_DURATION);
    if (a->kind != b->kind)
        return NULL;
    if (is_number(a))
        return op == OP_MOD && a->kind == T_REAL ? NULL : a;
    if (sums && a->kind == T_DURATION)
        return a;
    if (op == OP_ADD && (a->kind == T_STR || a->kind == T_BYTES))
        return a;
    return op == OP_ADD && a->kind == T_LIST && compatible(a, b) ? joined(a, b) : NULL;
}

static type check_two(struct checking *c, const struct api_cel_node *n) {
    const type args[] = {check(c, n->a), check(c, n->b)}, a = args[0], b = args[1];
    type ret = PLAIN(T_BOOL);
    bool fits;

    switch (n->op) {
    case OP_AND:
    case OP_OR:
        fits = (a->kind == T_BOOL || is_dyn(a)) && (b->kind == T_BOOL || is_dyn(b));
        break;
    case OP_EQ:
    case OP_NE:
        fits = compatible(a, b);
        break;
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        fits = comparable(a, b);
        break;
    case OP_IN:
        fits = is_dyn(b) || (b->kind == T_LIST && compatible(a, b->elem)) ||
               (b->kind == T_MAP && compatible(a, b->key ? b->key : PLAIN(T_STR)));
        break;
    default:
        ret = arithmetic(n->op, a, b);
        fits = ret;
    }
    return fits ? ret : no_overload(c, n, symbol_of(n->op), args, 2, false);
}

static type check_if(struct checking *c, const struct api_cel_node *n) {
    const type args[] = {check(c, n->a), check(c, n->b), check(c, n->c)};

    if ((args[0]->kind != T_BOOL && !is_dyn(args[0])) || !compatible(args[1], args[2]))
        return no_overload(c, n, symbol_of(OP_IF), args, 3, false);
    return joined(args[1], args[2]);
}

static type check_one(struct checking *c, const struct api_cel_node *n) {
    const type a = check(c, n->a);
    bool fits =
        is_dyn(a) || (n->op == OP_NOT ? a->kind == T_BOOL : a->kind == T_INT || a->kind == T_REAL);
    return fits ? a : no_overload(c, n, symbol_of(n->op), &a, 1, false);
}

/* ---- macros ---- */

static type check_fold(struct checking *c, const struct api_cel_node *n) {
    type of = check(c, n->a), key = PLAIN(T_INT), elem = PLAIN(T_DYN);
    bool optional = n->fold == FOLD_OPT_MAP || n->fold == FOLD_OPT_FLAT;

    if (optional ? of->kind == T_OPTIONAL : of->kind == T_LIST || of->kind == T_MAP)
        elem = of->elem;
    else if (!is_dyn(of))
        api_cel_trouble(c->t, n->a->pos,
                        "expression of type '%s' cannot be range of a comprehension (must be list, "
                        "map, or dynamic)",
                        api_cel_type_name(of, c->t->arena));
    if (of->kind == T_MAP)
        key = of->key ? of->key : PLAIN(T_STR);
    else if (is_dyn(of))
        key = PLAIN(T_DYN);
    c->vars[n->at] = n->two || of->kind == T_MAP ? key : elem;
    if (n->two)
        c->vars[n->at + 1] = elem;
    if (n->b)
        (void)check(c, n->b);
    type v = check(c, n->c);
    switch (n->fold) {
    case FOLD_MAP:
        return made(c, T_LIST, v, NULL);
    case FOLD_FILTER:
        return of->kind == T_MAP ? made(c, T_LIST, key, NULL) : of;
    case FOLD_SORT:
        return of;
    case FOLD_TO_MAP:
        return made(c, T_MAP, v, key);
    case FOLD_ENTRIES:
    case FOLD_OPT_FLAT:
        return v;
    case FOLD_OPT_MAP:
        return made(c, T_OPTIONAL, v, NULL);
    default:
        if (v->kind != T_BOOL && !is_dyn(v))
            api_cel_trouble(c->t, n->c->pos, "expected type 'bool' but found '%s'",
                            api_cel_type_name(v, c->t->arena));
        return PLAIN(T_BOOL);
    }
}

/* ---- calls ---- */

static type result_of(struct checking *c, char letter, const type *args) {
    switch (letter) {
    case '*':
        return PLAIN(T_DYN);
    case 'L':
        return made(c, T_LIST, PLAIN(T_STR), NULL);
    case 'N':
        return made(c, T_LIST, PLAIN(T_INT), NULL);
    case 'M':
        return made(c, T_MAP, made(c, T_LIST, PLAIN(T_STR), NULL), PLAIN(T_STR));
    case '0':
        return args[0];
    case 'e':
    case 'v':
        return args[0]->elem ? args[0]->elem : PLAIN(T_DYN);
    case 'O':
        return made(c, T_OPTIONAL, args[0], NULL);
    case 'f':
        return made(c, T_OPTIONAL, PLAIN(T_FORMAT), NULL);
    case 'q':
        return made(c, T_OPTIONAL, made(c, T_LIST, PLAIN(T_STR), NULL), NULL);
    default:
        break;
    }
    for (int k = T_NULL; k < T_KINDS; k++)
        if (k != T_OBJECT && api_cel_letter_fits(letter, (enum api_cel_kind)k))
            return PLAIN(k);
    return PLAIN(T_DYN);
}

#define ARGS_MAX 4u

/* A pattern that is written in the expression is read once. */
static void make_pattern(struct checking *c, struct api_cel_node *n) {
    const struct api_cel_node *arg = n->a ? n->a->next : NULL;
    struct sl_err err = {0};

    if (!arg || arg->op != OP_CONST || arg->value.kind != V_STR ||
        (strcmp(n->s, "matches") != 0 && strcmp(n->s, "find") != 0 && strcmp(n->s, "findAll") != 0))
        return;
    if (sl_pattern_new_in(c->t->arena, arg->value.s, &n->pattern, &err) < 0)
        api_cel_trouble(c->t, arg->pos, "invalid matches argument");
}

/* Does what a clause of format() prints have the type for it? */
static bool clause_fits(char letter, type t) {
    const bool whole = t->kind == T_INT || t->kind == T_UINT;

    if (is_dyn(t))
        return true;
    switch (letter) {
    case 's':
        return t->kind != T_OPTIONAL && t->kind < T_URL && t->kind != T_OBJECT;
    case 'd':
    case 'o':
        return whole;
    case 'f':
    case 'e':
        return t->kind == T_REAL;
    case 'b':
        return whole || t->kind == T_BOOL;
    case 'x':
    case 'X':
        return whole || t->kind == T_STR || t->kind == T_BYTES;
    default:
        return false;
    }
}

/* 'TEXT'.format([ITEMS]) with both written in the expression. */
static void check_format(struct checking *c, const struct api_cel_node *n) {
    const struct api_cel_node *list = n->n_args == 2 ? n->a->next : NULL, *item;
    uint32_t k = 0;

    if (!list || !n->member || strcmp(n->s, "format") != 0 || n->a->op != OP_CONST ||
        n->a->value.kind != V_STR || list->op != OP_LIST)
        return;
    item = list->a;
    for (const char *p = n->a->value.s; *p; p++, k++) {
        while (*p && (*p != '%' || p[1] == '%'))
            p += 1 + (*p == '%');
        if (!*p)
            return;
        p++;
        if (*p == '.')
            p += 1 + strspn(p + 1, "0123456789");
        if (!item) {
            api_cel_trouble(c->t, n->pos, "index %u out of range", k);
            return;
        }
        const type t = check(c, item->a);
        if (!*p || !clause_fits(*p, t)) {
            api_cel_trouble(c->t, item->a->pos, "error during formatting: %s, was given %s",
                            api_cel_clause_words(*p), api_cel_kind_name(t->kind));
            return;
        }
        item = item->next;
    }
}

/* Conversions of what is written in the expression are tried at once. */
static void try_conversion(struct checking *c, const struct api_cel_node *n) {
    static const char *const names[] = {"int",    "uint",  "double",   "bool",
                                        "string", "bytes", "duration", "timestamp"};
    struct sl_err err = {0};
    struct api_run x = {.err = &err, .max = 1000, .arena = SL_ARENA(65536)};
    size_t i = 0;

    while (i < SL_LEN(names) && strcmp(names[i], n->s) != 0)
        i++;
    if (n->member || n->n_args != 1 || n->a->op != OP_CONST || i == SL_LEN(names))
        return;
    struct api_value v = api_cel_eval(&x, n);
    if (sl_arena_full(&x.arena)) /* never: the budget is smaller */
        v = (struct api_value){.kind = V_ERROR};
    sl_arena_done(&x.arena);
    if (v.kind == V_ERROR && i >= SL_LEN(names) - 2 && n->a->value.kind == V_STR)
        api_cel_trouble(c->t, n->a->pos, "invalid %s argument", n->s);
    else if (v.kind == V_ERROR)
        api_cel_trouble(c->t, n->pos, "program instantiation failed: %s", err.text);
}

/* What the items of a list have to be for a function. */
static bool items_fit(const struct api_cel_node *n, type list) {
    static const char *const ordered[] = {"min", "max", "isSorted", "sort"};
    type e = list->elem;

    if (!n->member || list->kind != T_LIST || is_dyn(e))
        return true;
    if (strcmp(n->s, "join") == 0)
        return e->kind == T_STR;
    if (strcmp(n->s, "sum") == 0)
        return is_number(e) || e->kind == T_DURATION;
    for (size_t i = 0; i < SL_LEN(ordered); i++)
        if (strcmp(n->s, ordered[i]) == 0)
            return comparable(e, e);
    return true;
}

static type check_call(struct checking *c, struct api_cel_node *n) {
    type args[ARGS_MAX], ret = NULL;
    uint32_t k = 0, fitting = 0;
    const bool any_items = c->any_items;

    for (struct api_cel_node *a = n->a; a; a = a->next) {
        c->any_items = any_items || (n->member && a != n->a && strcmp(n->s, "format") == 0);
        type t = check(c, a);
        c->any_items = any_items;
        if (k < ARGS_MAX)
            args[k] = t;
        k++;
    }
    for (const struct api_cel_function *f = n->first; f && k <= ARGS_MAX;
         f = api_cel_function_next(n->s, n->member, f)) {
        bool fits = strlen(f->args) == k;
        for (uint32_t i = 0; fits && i < k; i++)
            fits = api_cel_letter_fits(f->args[i], args[i]->kind);
        if (!fits)
            continue;
        type here = result_of(c, f->result, args);
        ret = !fitting++ || compatible(ret, here) ? here : PLAIN(T_DYN);
    }
    if (!fitting || (k && !items_fit(n, args[0])))
        return no_overload(c, n, n->s, args, k < ARGS_MAX ? k : ARGS_MAX, n->member);
    if (c->t->why)
        return ret;
    make_pattern(c, n);
    check_format(c, n);
    try_conversion(c, n);
    if (n->member && k == 2 && strcmp(n->s, "orValue") == 0 && args[0]->kind == T_OPTIONAL &&
        !compatible(args[0]->elem, args[1]))
        return no_overload(c, n, n->s, args, k, true);
    return ret;
}

static type type_of_const(const struct api_value *v) {
    return PLAIN(api_cel_kind(v));
}

static type check(struct checking *c, struct api_cel_node *n) {
    if (c->t->why)
        return PLAIN(T_DYN);
    switch (n->op) {
    case OP_CONST:
        return type_of_const(&n->value);
    case OP_VAR:
        return c->vars[n->at];
    case OP_NAME:
        api_cel_trouble(c->t, n->pos, "undeclared reference to '%s' (in container '')", n->s);
        return PLAIN(T_DYN);
    case OP_LIST:
    case OP_MAP:
        return check_entries(c, n);
    case OP_FIELD:
    case OP_HAS:
        return check_field(c, n);
    case OP_INDEX:
        return check_index(c, n);
    case OP_NOT:
    case OP_NEGATE:
        return check_one(c, n);
    case OP_IF:
        return check_if(c, n);
    case OP_FOLD:
        return check_fold(c, n);
    case OP_CALL:
        return check_call(c, n);
    default:
        return check_two(c, n);
    }
}

type api_cel_check(struct api_cel_node *root, const struct api_cel_env *env,
                   struct api_cel_trouble *trouble) {
    struct checking c = {.t = trouble, .env = env};

    for (uint32_t i = 0; i < SL_CEL_INPUTS && env->names[i]; i++)
        c.vars[i] = env->types[i] ? env->types[i] : PLAIN(T_DYN);
    return check(&c, root);
}
