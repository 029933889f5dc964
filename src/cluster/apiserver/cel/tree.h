/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of an expression: read.c makes it, cel.c evaluates it. */
#ifndef SL_CLUSTER_APISERVER_CEL_TREE_H
#define SL_CLUSTER_APISERVER_CEL_TREE_H

#include "cluster/apiserver/cel/cel.h"
#include "lib/pattern/pattern.h"

enum api_cel_op {
    OP_NULL,
    OP_BOOL,
    OP_INT,
    OP_REAL,
    OP_STR,
    OP_LIST, /* literals; items of a list are a chain from a */
    OP_NAME, /* self, oldSelf, a variable of a macro */
    OP_FIELD,
    OP_INDEX,
    OP_HAS, /* a.s, a[b], has(a.s) */
    OP_NOT,
    OP_NEGATE,
    OP_AND,
    OP_OR,
    OP_IF,
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
    OP_ALL,
    OP_EXISTS,
    OP_ONE,
    OP_MAP,
    OP_FILTER, /* a.all(s, b) */
    OP_SIZE,
    OP_STRING,
    OP_INTEGER, /* of a */
    OP_CONTAINS,
    OP_STARTS,
    OP_ENDS,
    OP_MATCHES, /* a.contains(b) */
};

struct api_cel_node {
    enum api_cel_op op;
    const struct api_cel_node *a, *b, *c, *next; /* next: of a list */
    const char *s;
    size_t len;
    const struct sl_pattern *pattern; /* of matches() with a literal; NULL: it is not one */
    int64_t num;
    double real;
};

struct api_cel {
    const struct api_cel_node *root;
    bool uses_old;
};

#endif
