/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of an expression: read.c makes it, check.c finds its types, cel.c evaluates it. */
#ifndef SL_CLUSTER_APISERVER_CEL_TREE_H
#define SL_CLUSTER_APISERVER_CEL_TREE_H

#include "cluster/apiserver/cel/functions.h"
#include "cluster/apiserver/cel/value.h"
#include "lib/pattern/pattern.h"

enum api_cel_op {
    OP_CONST, /* value */
    OP_LIST,  /* items are a chain from a: item in a, 'maybe' if it is optional */
    OP_MAP,   /* entries likewise, with key in a and value in b */
    OP_ENTRY,
    OP_VAR,   /* number at */
    OP_FIELD, /* a.s, a.?s if maybe */
    OP_INDEX, /* a[b], a[?b] */
    OP_HAS,   /* has(a.s) */
    OP_NOT,
    OP_NEGATE,
    OP_AND,
    OP_OR,
    OP_IF, /* a ? b : c */
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_FOLD, /* a macro over a list or map a: filter in b, expression in c */
    OP_OPT_MAP,
    OP_CALL, /* arguments are a chain from a */
    OP_NAME, /* one that is not known (yet): s */
};

enum api_cel_fold {
    FOLD_ALL,
    FOLD_EXISTS,
    FOLD_ONE,
    FOLD_MAP, /* a list of results, also transformList */
    FOLD_FILTER,
    FOLD_TO_MAP,  /* transformMap */
    FOLD_ENTRIES, /* transformMapEntry */
    FOLD_SORT,    /* sortBy */
    FOLD_OPT_MAP, /* of optionals */
    FOLD_OPT_FLAT,
};

struct api_cel_node {
    enum api_cel_op op;
    enum api_cel_fold fold;
    uint32_t pos;   /* in the text */
    uint32_t depth; /* levels below, this one included */
    bool maybe;
    struct api_cel_node *a, *b, *c, *next;
    const char *s;
    size_t len;
    uint32_t at;                          /* of a variable; of a fold, its first one */
    bool two;                             /* of a fold: it has two variables */
    const struct api_cel_function *first; /* of a call: the functions of its name */
    uint32_t n_args;
    bool member;
    const struct sl_pattern *pattern; /* of one with a literal as its pattern; NULL: it has none */
    struct api_value value;
};

struct api_cel {
    struct api_cel_node *root;
    const struct api_cel_type *result;
    bool uses[SL_CEL_INPUTS];
    const struct api_cel_type *types[SL_CEL_INPUTS]; /* of the variables; NULL: there are no more */
};

/* What is wrong, with the place, as messages show it: once. */
struct api_cel_trouble {
    const char *text; /* of the expression */
    struct sl_arena *arena;
    const char *why; /* NULL: nothing */
};
void api_cel_trouble(struct api_cel_trouble *t, uint32_t pos, const char *fmt, ...) _printf_(3, 4);

struct api_cel_node *api_cel_read(const char *text, const struct api_cel_env *env,
                                  struct api_cel_trouble *trouble, bool uses[SL_CEL_INPUTS]);
/* A literal at *p, which is moved behind it; NULL: there is none, or it is wrong. */
struct api_cel_node *api_cel_read_literal(const char **p, struct api_cel_trouble *trouble);
/* The type of the whole; trouble if something does not fit. */
const struct api_cel_type *api_cel_check(struct api_cel_node *root, const struct api_cel_env *env,
                                         struct api_cel_trouble *trouble);
/* operators.c: a + b and its kin, a in b, a < b and its kin. */
struct api_value api_cel_arithmetic(struct api_run *x, enum api_cel_op op,
                                    const struct api_value *a, const struct api_value *b);
struct api_value api_cel_is_in(struct api_run *x, const struct api_value *a,
                               const struct api_value *b);
struct api_value api_cel_in_order(struct api_run *x, enum api_cel_op op, const struct api_value *a,
                                  const struct api_value *b);
/* fold.c */
struct api_value api_cel_eval(struct api_run *x, const struct api_cel_node *n);
struct api_value api_cel_eval_fold(struct api_run *x, const struct api_cel_node *n);

#endif
