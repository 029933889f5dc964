/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second matcher: the rules of docs/graph.md by plain search, for comparison with
 * src/core/graph. It keeps a list of who holds it at each vertex, looks at everything anew for each
 * question, and has no index of any kind. It reads graphs through graph.h and takes requests as
 * jobspecs; everything else is its own.
 *
 * Calls are those of match.h; where that says SL_EINVAL, SL_ENOENT or SL_EEXIST, so does this one.
 */
#ifndef SL_TESTS_CORE_GRAPH_NAIVE_NAIVE_H
#define SL_TESTS_CORE_GRAPH_NAIVE_NAIVE_H

#include "core/graph/match/match.h"

struct naive;

/* Copies the graph. */
struct naive *naive_new(const struct sl_graph *g, const struct sl_match_options *o);
struct naive *naive_clone(const struct naive *n);
void naive_free(struct naive *n);
/* Another policy, for naive_use. */
void naive_also(struct naive *n, const struct sl_match_policy *p);
/* Which one counts from now on: 0 or 1. */
void naive_use(struct naive *n, uint32_t policy);
const struct sl_graph *naive_graph(const struct naive *n);

/* What compiling such a request must answer: 0, SL_EINVAL or SL_ELIMIT. */
int naive_check(const struct naive *n, const struct sl_jobspec *j);
int naive_run(struct naive *n, const struct sl_jobspec *j, enum sl_match_op op, int64_t jobid,
              int64_t now, enum sl_match_verdict *ret_verdict, struct sl_grant *ret);

uint32_t naive_n_jobs(const struct naive *n);
/* The i-th job, in the order of coming. */
struct sl_match_job_info naive_nth_job(const struct naive *n, uint32_t i);
bool naive_job(const struct naive *n, int64_t jobid, struct sl_match_job_info *ret);
int naive_grant(const struct naive *n, int64_t jobid, struct sl_grant *ret);
int naive_cancel(struct naive *n, int64_t jobid);
int naive_cancel_part(struct naive *n, int64_t jobid, const sl_vtx *v, uint32_t n_v, bool *ret_all);
int naive_update(struct naive *n, int64_t jobid, enum sl_match_job_state state,
                 const struct sl_pick *v, uint32_t n_v, int64_t at, int64_t duration);
int naive_grow_job(struct naive *n, int64_t jobid, const struct sl_jobspec *j, int64_t now,
                   enum sl_match_verdict *ret_verdict, struct sl_grant *ret);
int naive_begin(struct naive *n, int64_t jobid);

int naive_shrink(struct naive *n, const sl_vtx *v, uint32_t n_v);
/* The graph to be added to, and the word that it has been. */
struct sl_graph *naive_grow(struct naive *n);
int naive_regraph(struct naive *n);
void naive_set_down(struct naive *n, sl_vtx v, bool down);
int naive_resize(struct naive *n, sl_vtx v, int64_t size);
int naive_set_prop(struct naive *n, sl_vtx v, const char *key, const char *value);
bool naive_del_prop(struct naive *n, sl_vtx v, const char *key);
uint32_t naive_sums(const struct naive *n, sl_vtx v, int64_t at, int64_t jobid,
                    struct sl_match_filter_sum *ret, uint32_t max);

/* The largest allowed number that is at most q; 0 if there is none. */
uint32_t naive_take(const struct sl_req_count *c, uint64_t q);

#endif
