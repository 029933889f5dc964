/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matcher: which vertices a request gets, and when (docs/graph.md has the rules). It owns a
 * graph, tracks allocations and reservations of jobs, and has indices so that a match costs in
 * proportion to what it takes, not to the size of the graph.
 *
 * Time is whole seconds and arrives with each call. "Does not fit" is a result, not an error. Equal
 * calls give equal results. Pure; not thread-safe.
 */
#ifndef SL_CORE_GRAPH_MATCH_MATCH_H
#define SL_CORE_GRAPH_MATCH_MATCH_H

#include "core/graph/request.h"

struct sl_match;

struct sl_match_policy {
    bool low;
    bool node_centric, node_exclusive, stop_early;
    bool locality, variation;
};
/* A name from the table in docs/graph.md, or "policy=high node_centric=true …". Terms before an
 * invalid one are applied. */
int sl_match_policy_parse(const char *text, struct sl_match_policy *ret,
                          struct sl_err *err) _must_check_;

/* Filters as "ALL:core,node:gpu": the types with sums, and at which vertices. */
#define SL_MATCH_FILTERS "ALL:core,ALL:node"

struct sl_match_options {
    struct sl_match_policy policy;
    const char *filters;           /* NULL: SL_MATCH_FILTERS */
    const char *const *subsystems; /* that are matched besides containment */
    uint32_t n_subsystems;
    int64_t start, end; /* of the graph's time, seconds; end 0: as far as numbers go */
    bool fluxion;       /* which refusals are busy and which never, and which of equal ones locality
                           takes: as Fluxion has it */
};

/* Takes over the graph, also on failure. The graph is sealed. */
int sl_match_new(struct sl_graph *g, const struct sl_match_options *o, struct sl_match **ret,
                 struct sl_err *err) _must_check_;
/* A copy of everything, to try things on. */
struct sl_match *sl_match_clone(const struct sl_match *m);
void sl_match_free(struct sl_match *m);
/* To read; it changes only through the calls below. */
const struct sl_graph *sl_match_graph(const struct sl_match *m);

/* Another policy for the same graph and jobs: *ret is its number for sl_match_run_by, 0 that of the
 * first. Equal ones have equal numbers. Each costs the memory of a layout and the time to keep it
 * true. One that stops early goes by results since it was added. SL_ELIMIT. */
#define SL_MATCH_MAX_POLICIES 32u
int sl_match_add_policy(struct sl_match *m, const struct sl_match_policy *p, uint32_t *ret,
                        struct sl_err *err) _must_check_;
uint32_t sl_match_n_policies(const struct sl_match *m);

/* ---- matching ---- */

enum sl_match_op {
    SL_MATCH_ALLOCATE,
    SL_MATCH_ALLOCATE_SATISFIABLE,
    SL_MATCH_ALLOCATE_OR_RESERVE, /* a job that overruns is assumed to end in the next second */
    SL_MATCH_SATISFIABILITY,
    SL_MATCH_WITHOUT,
    SL_MATCH_WITHOUT_FUTURE,
};

enum sl_match_verdict {
    SL_MATCHED,     /* grant is filled */
    SL_SATISFIABLE, /* positive result of SATISFIABILITY */
    SL_BUSY,        /* not now */
    SL_NEVER,       /* not even if everything were up and free; or see 'fluxion' above */
    SL_BAD_TIME,    /* the duration is negative or longer than the graph's time */
};

enum sl_match_job_state { SL_JOB_ALLOCATED, SL_JOB_RESERVED, SL_JOB_MATCHED };

/* One vertex of a result. */
struct sl_pick {
    sl_vtx v;
    int64_t needs; /* how much of it */
    bool exclusive;
};

/* Of a vertex with several parents in containment: the one through which it was found. */
struct sl_grant_way {
    sl_vtx v, parent;
};

/* Of a job, or of a match that took nothing. */
struct sl_grant {
    enum sl_match_job_state state;
    int64_t at, duration;
    uint32_t n_slots; /* that were made; 0 if the request has none */
    /* Depth-first, parents before their children, the root first. A vertex with several parents is
     * among the children of the one through which it was found. */
    SL_VEC(struct sl_pick) picks;
    SL_VEC(struct sl_grant_way) ways; /* where that is not the first; ascending */
};
void sl_grant_done(struct sl_grant *g);
/* The parent of one of its vertices; SL_VTX_NONE: it has none. */
sl_vtx sl_grant_parent(const struct sl_graph *g, const struct sl_grant *a, sl_vtx v);

/* ret may be NULL; it must be zeroed or have been used before. A jobid that is in use is an error,
 * SL_EEXIST, and so is a request of another graph; and SL_ELIMIT, if there were too many
 * combinations of or_slots to prove that there is none. All leave everything unchanged. The id of a
 * match that allocates nothing is not used. */
int sl_match_run(struct sl_match *m, const struct sl_match_request *r, enum sl_match_op op,
                 int64_t jobid, int64_t now, enum sl_match_verdict *ret_verdict,
                 struct sl_grant *ret, struct sl_err *err) _must_check_;
/* The same by one of several policies. */
int sl_match_run_by(struct sl_match *m, uint32_t policy, const struct sl_match_request *r,
                    enum sl_match_op op, int64_t jobid, int64_t now,
                    enum sl_match_verdict *ret_verdict, struct sl_grant *ret,
                    struct sl_err *err) _must_check_;

/* ---- jobs ---- */

struct sl_match_job_info {
    int64_t id, at, duration;
    enum sl_match_job_state state;
};
uint32_t sl_match_n_jobs(const struct sl_match *m);
/* False if there is no such job. */
bool sl_match_job(const struct sl_match *m, int64_t jobid, struct sl_match_job_info *ret);
/* Ids of the jobs that have a reservation from this time on, or later; at most max of them. Returns
 * how many there are. O(jobs). */
uint32_t sl_match_reservations(const struct sl_match *m, int64_t from, int64_t *ret, uint32_t max);
/* What it has. */
int sl_match_grant(const struct sl_match *m, int64_t jobid, struct sl_grant *ret) _must_check_;
/* SL_ENOENT if there is no such job. */
int sl_match_cancel(struct sl_match *m, int64_t jobid) _must_check_;
/* Takes the listed vertices, and what is below them, from an allocated job. *ret_all: nothing is
 * left, and the job is gone. A vertex that the job does not have is an error and nothing changes.
 */
int sl_match_cancel_part(struct sl_match *m, int64_t jobid, const sl_vtx *v, uint32_t n,
                         bool *ret_all, struct sl_err *err) _must_check_;
/* Restores an allocation of these vertices: after a restart, or by another scheduler. Fails if one
 * is allocated. Amounts: 'needs' of the picks; shared picks only give the path. */
int sl_match_update(struct sl_match *m, int64_t jobid, const struct sl_pick *v, uint32_t n,
                    int64_t at, int64_t duration, struct sl_err *err) _must_check_;
/* The same as a reservation: only times are checked. */
int sl_match_update_later(struct sl_match *m, int64_t jobid, const struct sl_pick *v, uint32_t n,
                          int64_t at, int64_t duration, struct sl_err *err) _must_check_;
/* The same for a job that is there: it has these as well, for as long as it runs. */
int sl_match_grow_job(struct sl_match *m, int64_t jobid, const struct sl_match_request *r,
                      int64_t now, enum sl_match_verdict *ret_verdict, struct sl_grant *ret,
                      struct sl_err *err) _must_check_;
/* Matches the request of a reservation again, while what it has counts as free. It keeps what it
 * has, and its time, if the result would be the same or later (*ret_moved is false). SL_ENOENT;
 * SL_EINVAL: it is no reservation. */
int sl_match_again(struct sl_match *m, uint32_t policy, const struct sl_match_request *r,
                   int64_t jobid, int64_t now, bool *ret_moved) _must_check_;
/* Turns a reservation whose time has come into an allocation, of the same vertices and until the
 * same time. SL_ENOENT; SL_EINVAL: it is no reservation; SL_ESTALE: a part of it is still allocated
 * to another job, which overruns. Failure changes nothing. */
int sl_match_begin(struct sl_match *m, int64_t jobid) _must_check_;

/* ---- the graph changes ---- */

/* Gives the graph out to be added to; sl_match_regraph must follow. If it fails, 'before' (a clone
 * that the caller made) is put in its place. */
struct sl_graph *sl_match_grow(struct sl_match *m);
int sl_match_regraph(struct sl_match *m, struct sl_graph *before, struct sl_err *err) _must_check_;
/* Takes a subtree out; jobs lose what they had there. */
int sl_match_shrink(struct sl_match *m, const sl_vtx *v, uint32_t n,
                    struct sl_err *err) _must_check_;
void sl_match_set_down(struct sl_match *m, sl_vtx v, bool down);
/* The size of a divisible pool, from 0 on, also below what jobs have of it: then nothing of it is
 * free until enough was given back. No job loses anything. O(depth), and nothing is laid out again.
 * SL_EINVAL: it is not divisible, or no such size. */
int sl_match_resize(struct sl_match *m, sl_vtx v, int64_t size, struct sl_err *err) _must_check_;
int sl_match_set_prop(struct sl_match *m, sl_vtx v, const char *key, const char *value,
                      struct sl_err *err) _must_check_;
bool sl_match_del_prop(struct sl_match *m, sl_vtx v, const char *key);

/* ---- queries ---- */

/* The filter of a vertex for one of its types, at a time: for 'agfilter'. */
struct sl_match_filter_sum {
    sl_sym type;
    int64_t used, total;
};
/* Puts at most max sums, returns how many the vertex has. jobid < 0: of all jobs. */
uint32_t sl_match_sums(const struct sl_match *m, sl_vtx v, int64_t at, int64_t jobid,
                       struct sl_match_filter_sum *ret, uint32_t max);

/* The expression language of 'find': predicates joined by and, or, or nothing (which is and), from
 * left to right, with parentheses. */
struct sl_find;
int sl_find_parse(const char *text, struct sl_find **ret, struct sl_err *err) _must_check_;
void sl_find_free(struct sl_find *f);
void sl_find_freep(struct sl_find **f);
/* Whether it uses filters' sums (agfilter=true), and of which job (-1: of all). */
bool sl_find_sums(const struct sl_find *f, int64_t *ret_jobid);
/* Vertices that it is true of, and the way to them, depth-first, each exclusive at full size. If it
 * uses sums, those that have none (of the job) are left out. */
void sl_match_find(const struct sl_match *m, const struct sl_find *f, struct sl_grant *ret);

/* How many vertices Fluxion's walk enters and how many of them succeed: what sl_match_run would do
 * without indices, pruned by the filters alone. Called before that. As Fluxion's, the numbers are
 * of the last walk that found something, to which later ones that did not are added: 'v' is what
 * they were before. O(vertices) for each time that is tried. */
struct sl_match_visits {
    uint64_t entered, succeeded;
};
void sl_match_count_visits(struct sl_match *m, const struct sl_match_request *r,
                           enum sl_match_op op, int64_t now, struct sl_match_visits *v);
/* Statistics since creation: vertices visited and vertices taken. */
struct sl_match_stats {
    uint64_t visited, taken, matches, failures, cached_failures;
};
void sl_match_stats(const struct sl_match *m, struct sl_match_stats *ret);
/* Bytes that the graph and the matcher hold. */
size_t sl_match_bytes(const struct sl_match *m);

#endif
