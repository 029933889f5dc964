/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a path: jsonpath_read.c makes them, jsonpath.c walks along them. */
#ifndef SL_CLUSTER_APISERVER_TABLE_JSONPATH_INT_H
#define SL_CLUSTER_APISERVER_TABLE_JSONPATH_INT_H

#include "cluster/apiserver/table/jsonpath.h"

enum api_jp_kind {
    JP_FIELD,
    JP_ALL,
    JP_DESCENT,
    JP_SLICE,
    JP_UNION,
    JP_FILTER,
    JP_VALUE, /* a text, number or truth value in place of each value */
    JP_WORD,  /* "range", "end" and others: no path of an object ends well with them */
};

enum api_jp_compare { JP_EXISTS, JP_EQ, JP_NE, JP_LT, JP_LE, JP_GT, JP_GE, JP_UNKNOWN };

struct api_jp_bound {
    bool known, derived; /* derived: of an index, which is a slice of one */
    int64_t n;
};

struct api_jp_node {
    enum api_jp_kind kind;
    struct api_jp_node *next; /* the next step */
    const char *s;
    size_t len; /* a field */
    struct api_jp_bound bounds[3];
    struct api_jp_node **paths; /* of a union; left and right of a filter */
    uint32_t n_paths;
    enum api_jp_compare op;
    yyjson_val value;
};

struct api_jsonpath {
    struct api_jp_node *first; /* NULL: the value itself */
    bool fields;               /* nothing but fields */
};

#endif
