/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of writing a jobspec. Private to src/manager/fluxqueue. */
#ifndef SL_MANAGER_FLUXQUEUE_JOBSPEC_JOBSPEC_INT_H
#define SL_MANAGER_FLUXQUEUE_JOBSPEC_JOBSPEC_INT_H

#include "core/base/collection/vec.h"
#include "core/model/specs.h"
#include "lib/doc/doc.h"
#include "manager/fluxqueue/jobspec/jobspec.h"

/* ---- universe.c ---- */

/* Different names, sorted. They are not copied. */
struct fq_names {
    SL_VEC(const char *) v;
};
/* False: it was there. */
bool fq_names_add(struct fq_names *n, const char *name);
bool fq_names_has(const struct fq_names *n, const char *name);
/* All properties KEY=VALUE of nodes with this key, sorted, and perhaps some that a node had before:
 * any number of requests compare any number of labels, and may not walk all nodes for each. */
uint32_t fq_universe_values(const struct fq_universe *u, const struct sl_graph *g, const char *key,
                            const char *const **ret);
/* Is it a type of GPUs? Of these there are at most FQ_MAX_GPU_TYPES. */
bool fq_is_gpu(const char *type);

/* ---- compile.c ---- */

/* A jobspec of at most FQ_MAX_JOBSPEC bytes, YAML or JSON, and the document it was read from if
 * ret_doc is not NULL. */
int fq_jobspec_parse(const char *file, const char *text, size_t len, struct sl_doc **ret_doc,
                     struct sl_jobspec **ret, struct sl_err *err) _must_check_;

/* ---- constraint.c ---- */

/* Changes the constraint of a jobspec to what it is on this graph, in the arena; names of taints
 * stay those of the index. */
int fq_constraint_compile(const struct sl_graph *g, const struct fq_universe *u,
                          const struct sl_toleration *tolerations, uint32_t n_tolerations,
                          struct sl_arena *a, struct sl_constraint *t,
                          struct sl_err *err) _must_check_;

/* ---- shape.c: how pods are spread ---- */

struct fq_tier {
    const char *type, *label;
    uint32_t exact, most; /* pods in each; 0: any number */
    bool together;        /* exact, since all of them have to be in one */
    uint32_t each;        /* the answer: so many in each of those that are used */
};
struct fq_shape {
    uint32_t pods;
    uint32_t n_levels;
    struct fq_tier tiers[FQ_MAX_LEVELS + 1]; /* levels, top first, then the node */
    uint32_t first;                          /* the answer: the first tier in the jobspec */
    bool nodes;                              /* the answer: the node is in it */
};
void fq_shape_init(struct fq_shape *s, uint32_t pods, const struct fq_jobspec_options *o);
/* A tier by its type or label; NULL: there is none. */
struct fq_tier *fq_shape_tier(struct fq_shape *s, const char *name);
/* The names of all tiers, for messages. */
void fq_shape_names(const struct fq_shape *s, struct sl_buf *out);
/* Exactly so many pods in each. 'why' is what says so, for messages. */
int fq_shape_exact(struct fq_tier *t, uint32_t pods, const char *why,
                   struct sl_err *err) _must_check_;
/* All of them in one. */
int fq_shape_together(struct fq_shape *s, struct fq_tier *t, const char *why,
                      struct sl_err *err) _must_check_;
/* Affinity between pods, and topology spread. */
int fq_shape_read(struct fq_shape *s, yyjson_val *spec, yyjson_val *labels, const char *ns,
                  struct sl_err *err) _must_check_;
/* Finds the answer. */
int fq_shape_solve(struct fq_shape *s, struct sl_err *err) _must_check_;

/* ---- where.c: which nodes ---- */

/* The constraint of a pod, in the arena; p is what was decoded of spec. */
int fq_where_read(yyjson_val *spec, const struct sl_podset_spec *p, struct sl_arena *a,
                  struct sl_constraint *ret, struct sl_err *err) _must_check_;

/* ---- terms.c ---- */

/* The constraint of the spec of a pod, in the arena: its node selector and required affinity. */
int fq_where_pod(yyjson_val *spec, struct sl_arena *a, struct sl_constraint *ret,
                 struct sl_err *err) _must_check_;
/* That of a list of node selector terms. */
int fq_where_terms(yyjson_val *terms, struct sl_arena *a, struct sl_constraint *ret,
                   struct sl_err *err) _must_check_;
/* Is a node with these labels one of them? Not for what fq_constraint_compile has made of it. */
bool fq_where_holds(const struct sl_constraint *c, const char *node, const struct sl_labels *l);

#endif
