/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents: a read-only tree of nulls, booleans, numbers, strings, lists and maps, each with its
 * line, read from YAML (with Kubernetes' scalar rules, see yaml.c) or JSON. Maps preserve the order
 * of the text; a duplicate key is an error.
 *
 * A document owns its memory; nodes and strings are valid as long as it is. The limits below bound
 * every input: nothing read here can use more memory or time than they allow. Not thread-safe.
 */
#ifndef SL_LIB_DOC_DOC_H
#define SL_LIB_DOC_DOC_H

#include "core/base/arena.h"
#include "core/base/err.h"
#include "lib/json/writer.h"

#define SL_DOC_MAX_BYTES ((size_t)64 << 20)
#define SL_DOC_MAX_DEPTH 64u
#define SL_DOC_MAX_NODES (UINT32_C(4) << 20) /* aliases count with their content */
#define SL_DOC_MAX_DOCUMENTS 65536u

enum sl_doc_node_kind {
    SL_DOC_NODE_NULL,
    SL_DOC_NODE_BOOL,
    SL_DOC_NODE_INT,
    SL_DOC_NODE_FLOAT, /* any number that is not an int64; 'text' has its digits */
    SL_DOC_NODE_STR,
    SL_DOC_NODE_LIST,
    SL_DOC_NODE_MAP,
};

struct sl_doc_pair;

struct sl_doc_node {
    enum sl_doc_node_kind kind;
    uint32_t line; /* first line is 1 */
    uint32_t n;    /* bytes of text, items, or pairs */
    bool truth;    /* BOOL */
    bool quoted;   /* STR: in quotes or a block; always so in JSON */
    union {
        int64_t num; /* INT */
        const struct sl_doc_node *items;
        const struct sl_doc_pair *pairs;
        const char *text; /* STR, FLOAT, BOOL as written: NUL-terminated, no NUL inside */
    };
};

struct sl_doc_pair {
    const char *key;
    uint32_t line; /* of the key */
    struct sl_doc_node value;
};

struct sl_doc {
    const char *file; /* as given, for messages */
    const struct sl_doc_node *roots;
    uint32_t n; /* documents; an empty text has none */
    struct sl_arena arena;
};

/* 'file' is only used in messages and not copied. Numbering starts at first_line (1 for a whole
 * file). */
int sl_doc_yaml(const char *file, const char *text, size_t len, struct sl_doc **ret,
                struct sl_err *err) _must_check_;
/* The same with a lower ceiling on the number of values. */
int sl_doc_yaml_within(const char *file, const char *text, size_t len, uint32_t max_nodes,
                       struct sl_doc **ret, struct sl_err *err) _must_check_;
int sl_doc_json(const char *file, uint32_t first_line, const char *text, size_t len,
                struct sl_doc **ret, struct sl_err *err) _must_check_;
int sl_doc_json_within(const char *file, const char *text, size_t len, uint32_t max_nodes,
                       struct sl_doc **ret, struct sl_err *err) _must_check_;
/* Reads a file ("-" is standard input): JSON when it begins with '{' or '[' and reads as such, else
 * YAML. */
int sl_doc_load(const char *path, struct sl_doc **ret, struct sl_err *err) _must_check_;
void sl_doc_free(struct sl_doc *d);
void sl_doc_freep(struct sl_doc **d);

/* The value under key, NULL if the node is no map or has no such key. */
const struct sl_doc_node *sl_doc_node_get(const struct sl_doc_node *map, const char *key);
/* The node as JSON, until the buffer is full. YAML has spellings of numbers, and infinities, that
 * JSON has not: they are put as they stand, or, with 'respell', as numbers and strings of JSON. */
void sl_doc_node_json(struct sl_jw *w, const char *key, const struct sl_doc_node *n, bool respell);
/* "a string", "a list" ... for messages. */
const char *sl_doc_node_kind_name(enum sl_doc_node_kind k);

/* A whole file in memory, at most max_bytes. *ret is NUL-terminated and freed with sl_freep. */
int sl_file_read(const char *path, size_t max_bytes, char **ret, size_t *ret_len,
                 struct sl_err *err) _must_check_;

#endif
