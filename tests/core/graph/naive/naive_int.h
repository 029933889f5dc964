/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the naive matcher share. */
#ifndef SL_TESTS_CORE_GRAPH_NAIVE_NAIVE_INT_H
#define SL_TESTS_CORE_GRAPH_NAIVE_NAIVE_INT_H

#include "naive.h"

/* That a job has a vertex. */
struct hold {
    int64_t job, from, to, amount;
    bool exclusive;
    bool whole;   /* with all that contains it: the amount is the size, also when that changes */
    sl_vtx above; /* the parent that it was found through; SL_VTX_NONE: it has none */
};

struct holds {
    SL_VEC(struct hold) list;
};

struct filter {
    char *high; /* NULL: ALL */
    char *low;
};

struct njob {
    struct sl_match_job_info info;
    uint32_t n_slots;
};

struct naive {
    struct sl_graph *g;
    struct sl_graph *before;                    /* while it grows */
    struct sl_match_policy policies[2], policy; /* that are given, and the one that counts now */
    SL_VEC(struct filter) filters;              /* as the text says */
    SL_VEC(char *) subsystems;
    int64_t start, end;
    bool fluxion;
    SL_VEC(struct njob) jobs;
    SL_VEC(struct holds) at; /* by vertex */
    SL_VEC(bool) visited;    /* by vertex: it was in a result */
    SL_VEC(bool) whole;      /* by vertex: what was chosen last takes it with what contains it */
};

static inline const struct sl_vertex *vertex_of(const struct naive *n, sl_vtx v) {
    return sl_graph_vertex(n->g, v);
}

static inline const char *type_of(const struct naive *n, sl_vtx v) {
    return sl_sym_str(sl_graph_syms(n->g), vertex_of(n, v)->type);
}

/* Of the tree of first parents. */
static inline sl_vtx kid_of(const struct naive *n, sl_vtx v, uint32_t i) {
    return sl_graph_kids(n->g)[vertex_of(n, v)->kids + i];
}

/* With those that it is a further parent of; they come last. */
static inline uint32_t count_kids(const struct naive *n, sl_vtx v) {
    const sl_vtx *more;
    return vertex_of(n, v)->n_kids + sl_graph_more_kids(n->g, v, &more);
}

static inline sl_vtx any_kid(const struct naive *n, sl_vtx v, uint32_t i) {
    const sl_vtx *more;
    (void)sl_graph_more_kids(n->g, v, &more);
    return i < vertex_of(n, v)->n_kids ? kid_of(n, v, i) : more[i - vertex_of(n, v)->n_kids];
}

/* The first one, then the further ones; SL_VTX_NONE: there are no more. */
static inline sl_vtx any_parent(const struct naive *n, sl_vtx v, uint32_t i) {
    const sl_vtx *more;
    uint32_t n_more = sl_graph_more_parents(n->g, v, &more);
    return i == 0 ? vertex_of(n, v)->parent : i <= n_more ? more[i - 1] : SL_VTX_NONE;
}

bool is_divisible(const struct naive *n, sl_vtx v);
bool is_below(const struct naive *n, sl_vtx v, sl_vtx top); /* or top itself */
const struct sl_match_job_info *job_of(const struct naive *n, int64_t jobid);

/* ---- naive_request.c ---- */

/* A request as the walk wants it: slots that belong together are one want with several shapes. */
struct want;
struct wants {
    const struct want **v;
    uint32_t n;
};
struct want {
    const char *type; /* NULL: a slot */
    struct sl_req_count count;
    enum sl_req_tristate exclusive;
    struct wants inside;  /* of a resource */
    struct wants *shapes; /* of a slot */
    uint32_t n_shapes;
    bool mixed; /* or_slots, even if there is only one */
};

/* How many alternatives there are because of xor_slots; 1 without them. */
uint32_t alternatives(const struct sl_jobspec *j);
/* The request with one of them. */
struct wants wants_of(const struct sl_jobspec *j, uint32_t alternative, struct sl_arena *mem);
/* The least number of nodes that a request needs. */
uint64_t nodes_needed(const struct sl_jobspec *j);
bool constraint_allows(const struct naive *n, const struct sl_constraint *t, sl_vtx v);

/* ---- naive_order.c ---- */

int64_t score_of(const struct naive *n, sl_vtx v);
/* How much there is of a type below a vertex, and how much of it jobs that are allocated hold. */
int64_t total_below(const struct naive *n, sl_vtx v, const char *type);
struct question;
int64_t weight_of(const struct question *q, sl_vtx v);
/* What a match gave counts as visited; 'kept': a job has it. */
void note_visited(struct naive *n, const struct sl_grant *g, bool kept);

/* ---- a question ---- */

enum when {
    PRESENT, /* allocated jobs last for ever */
    FUTURE,  /* times alone */
    AT_END,  /* the same, and everything is up */
    ANYTIME, /* everything is up and free */
};

/* The way of the walk to a vertex. */
struct way {
    sl_vtx v;
    const struct way *up; /* NULL: it has no parent */
};

/* A vertex that a match took. */
struct taken {
    sl_vtx v;
    int64_t amount;
    bool exclusive;
    bool all; /* with everything below it */
    const struct way *way;
};
typedef SL_VEC(struct taken) taken_list;

struct question {
    const struct naive *n;
    enum when when;
    int64_t from, to;
    const struct sl_constraint *constraint;
    struct sl_arena *mem;
    const struct njob *except; /* what it has does not count */
    /* Auxiliary subsystems are asked: what was chosen so far, which then counts as taken. */
    bool aux;
    taken_list chosen;
    uint32_t given;   /* so many of them are those of slots before this one */
    uint32_t n_slots; /* that the match is made of */
    sl_vtx *found_in; /* by vertex: the parent through which something was found; or SL_VTX_NONE */
};

/* ---- naive_time.c ---- */

/* How much of it is free in the whole window; of a pool that is not divisible all or nothing. */
int64_t free_of(const struct question *q, sl_vtx v);
/* Does anybody use it or something below it in the window? */
bool is_touched(const struct question *q, sl_vtx v);

/* ---- naive_walk.c ---- */

/* The whole walk. What was chosen, without the way to it and what is below. */
bool find_match(struct question *q, const struct wants *top, taken_list *ret);

#endif
