/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R, version 1 (RFC 20), as it is written. Texts are those of the JSON or live in the arena.
 */
#ifndef SL_LIB_GRAPHIO_RV1_READ_H
#define SL_LIB_GRAPHIO_RV1_READ_H

#include "core/graph/hostlist.h"
#include "lib/graphio/idset.h"
#include "lib/graphio/json_in.h"
#include "lib/graphio/stage.h"

struct graphio_rv1_child {
    const char *type;
    struct sl_idset ids;
};

struct graphio_rv1_entry {
    yyjson_val *at;
    struct sl_idset ranks;
    uint32_t children, n_children; /* of graphio_rv1.children */
};

struct graphio_rv1_prop {
    const char *name, *value;
    const char *child; /* the part behind '@': the type that has the property as well; NULL: none */
    const char *bare;  /* the part before it */
    struct sl_idset ranks;
};

struct graphio_rv1 {
    const struct graphio_jin *j;
    struct sl_arena arena;
    SL_VEC(struct graphio_rv1_entry) entries;
    SL_VEC(struct graphio_rv1_child) children;
    SL_VEC(struct graphio_rv1_prop) props;
    struct sl_idset ranks;    /* of all entries */
    SL_VEC(uint64_t) before;  /* by range of ranks: how many ranks come before it */
    bool repeated;            /* a rank is in several entries */
    struct sl_hostlist hosts; /* in the order of the ranks; none if the text has no nodelist */
    struct sl_graphio_time time;
    yyjson_val *scheduling; /* NULL: none */
};
/* More ranks than 'max' are refused: each is a vertex. */
int graphio_rv1_read(struct graphio_rv1 *x, const struct graphio_jin *j, uint32_t max) _must_check_;
void graphio_rv1_done(struct graphio_rv1 *x);
/* The host of a rank, NULL if the text has no nodelist. */
const char *graphio_rv1_host(const struct graphio_rv1 *x, int64_t rank);
/* What "scheduling" has: a JGF that stands for the whole, or NULL (also if it is a shorthand). */
int graphio_rv1_jgf(const struct graphio_rv1 *x, yyjson_val **ret,
                    bool *ret_shorthand) _must_check_;

/* To stage it for g, NULL for a new graph. */
int graphio_stage_rv1(struct graphio_rv1 *x, const struct sl_graph *g,
                      const struct sl_graphio_text *t, struct graphio_stage *s) _must_check_;

#endif
