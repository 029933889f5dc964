/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the readers of src/lib/doc: a tree under construction. Finished nodes of open
 * collections wait on one stack and move into the document's arena when their collection closes.
 * Private.
 */
#ifndef SL_LIB_DOC_BUILD_H
#define SL_LIB_DOC_BUILD_H

#include "core/base/collection/vec.h"
#include "lib/doc/doc.h"

struct doc_build {
    struct sl_doc *doc;
    struct sl_err *err;
    SL_VEC(struct sl_doc_pair) stack; /* list items leave the key NULL */
    uint32_t nodes;                   /* so far, aliases counted with their content */
    uint32_t max_nodes;
};

struct sl_doc *sl_doc_new(const char *file);
/* "file:line: " and the rest; returns the code. */
int sl_doc_fail(const struct doc_build *b, int code, uint32_t line, const char *fmt, ...)
    _printf_(4, 5);
/* Counts n more nodes; fails past the ceiling. */
int doc_build_count(struct doc_build *b, uint32_t n, uint32_t line) _must_check_;
/* The entries of the stack from 'base' on become the items or pairs of a node. */
void doc_build_list(struct doc_build *b, uint32_t base, uint32_t line, struct sl_doc_node *ret);
int doc_build_map(struct doc_build *b, uint32_t base, uint32_t line,
                  struct sl_doc_node *ret) _must_check_;
/* All entries of the stack become the document's roots. */
void doc_build_roots(struct doc_build *b);
/* A number as written in decimal (JSON's form, or what YAML resolved to it): INT if it is whole and
 * fits, else FLOAT. The text must outlive it. */
void doc_build_number(const char *text, uint32_t line, struct sl_doc_node *ret);

#endif
